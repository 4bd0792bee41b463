/* divergence.c - notices a loss or gradient that is not finite, and a loss that has diverged.
 *
 * It only looks at what has been read from the device for the log, so it costs nothing, and is
 * noticed at the end of the window of metrics in which it happened. Before each checkpoint, the
 * state is checked once more (saver.c), so none contains weights that are not finite.
 *
 * The loss has diverged if `patience` consecutive log lines are both above `factor` times the
 * lowest smoothed loss and above the middle between the first and the lowest: a loss that rises
 * from 0.001 to 0.01 has not lost its progress, and one that returns to its first value has. The
 * smoothed loss is an exponential moving average of the lines with bias correction (Kingma and Ba
 * 2015, section 3, with beta 0.9).
 *
 * A learning rate that is far too large makes the loss explode within the first steps, before the
 * first line. So the loss of the first step, before any update, is read too: a line far above it
 * counts as too high, as do the following ones until one is not above it.
 *
 * A gradient that is not finite has spoiled all weights that depend on it by the time it is
 * noticed, so the report names the first parameter with such a weight; detect_anomaly reports the
 * first gradient instead.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/print.h"
#include "base/text.h"
#include "data/loader.h"
#include "input/json_file.h"
#include "optim/optimizer.h"
#include "train/save/divergence.h"
#include "train/step/stage.h"

static const double SMOOTHING = 0.9;
static const double EXPLOSION = 25;   /* times `factor` times the loss of the first step */
static const double LEAST_WEIGHT = 8; /* samples or tokens whose mean loss is a reference */

static bool acts(const fgi_divergence *d, const char *action)
{
    return strcmp(d->of.options->divergence.on_divergence, action) == 0;
}

enum { MOST_SHOWN = 4 }; /* samples in the error; all are in the file */

/* ---- the parameter --------------------------------------------------------------------------- */

/* The first element that is not finite, or 0. */
static double find_bad(const fg_variable *variable, void *memory, size_t size)
{
    const fg_dtype dtype = fg_variable_type(variable)->dtype;
    if (fg_variable_read(variable, memory, size, NULL) != FG_OK)
        return 0; /* it is lost, which ends the fit with another error */
    for (size_t i = 0; i < size / fg_dtype_size(dtype); i++) {
        const double value = fgi_number_get(dtype, memory, i);
        if (!isfinite(value))
            return value;
    }
    return 0;
}

/* The first parameter with a weight that is not finite; NULL: none, or no memory to look. */
static const fg_variable *find_parameter(const fgi_divergence *d, bool *out_is_nan)
{
    const fg_optimizer *optimizer = *d->of.optimizer;
    for (size_t i = 0; i < fg_optimizer_parameter_count(optimizer); i++) {
        const fg_variable *variable = fg_optimizer_parameter_at(optimizer, i);
        const size_t size = fg_type_bytes(fg_variable_type(variable));
        void *memory = fgi_alloc(size + 1);
        const double bad = memory != NULL ? find_bad(variable, memory, size) : 0;
        fgi_free(memory);
        *out_is_nan = isnan(bad);
        if (!isfinite(bad))
            return variable;
    }
    return NULL;
}

/* ---- the samples ----------------------------------------------------------------------------- */

/* The samples of a step. */
typedef struct samples {
    int64_t *index; /* fgi_free; NULL: unknown */
    int64_t count, capacity;
    int64_t epoch, first, end; /* where they are in the order of the epoch; epoch -1: unknown */
} samples;

static bool add_batch(const fgi_divergence *d, const fgi_noted_batch *batch, samples *out)
{
    const fg_loader *loader = d->of.stage->loader;
    const int64_t size = batch->next_position - batch->position;
    out->first = out->epoch < 0 ? batch->position : out->first;
    out->end = batch->next_position;
    out->epoch = batch->epoch;
    if (loader == NULL || fg_dataset_is_source(d->of.stage->spec.dataset))
        return false;
    int64_t *grown = fgi_realloc(out->index, (size_t)(out->count + size) * sizeof *grown);
    if (grown == NULL)
        return false;
    out->index = grown;
    fgi_loader_samples(loader, (fgi_sample_position){batch->epoch, batch->position}, (size_t)size,
                       grown + out->count);
    out->count += size;
    return true;
}

static samples find_samples(const fgi_divergence *d, int64_t step)
{
    samples found = {.epoch = -1};
    const uint64_t kept =
        d->batch_count < FGI_NOTED_BATCHES ? d->batch_count : (uint64_t)FGI_NOTED_BATCHES;
    for (uint64_t i = d->batch_count - kept; i < d->batch_count; i++) {
        const fgi_noted_batch *batch = &d->batch[i % FGI_NOTED_BATCHES];
        if (batch->step == step && !add_batch(d, batch, &found) && found.index != NULL)
            break;
    }
    return found;
}

static const char *name_of_sample(const fgi_divergence *d, int64_t index)
{
    return fg_dataset_sample_name(d->of.stage->spec.dataset, index);
}

/* ": samples 5 (a.png), 12 (b.png), ... (64 in total) of epoch 0" */
static void put_samples(const fgi_divergence *d, const samples *s, fgi_buf *out)
{
    const bool is_long = s->count > MOST_SHOWN + 1;
    if (s->epoch >= 0 && s->count == 0)
        fgi_buf_printf(out,
                       ": samples %" PRId64 " to %" PRId64 " of epoch %" PRId64 " of the source",
                       s->first, s->end - 1, s->epoch);
    for (int64_t i = 0; i < (is_long ? MOST_SHOWN : s->count); i++) {
        char shown[44];
        const char *name = name_of_sample(d, s->index[i]);
        fgi_buf_printf(out, "%s%" PRId64, i == 0 ? ": samples " : ", ", s->index[i]);
        if (name != NULL && fgi_text_escape(fgi_str_of(name), shown, sizeof shown) > 0)
            fgi_buf_printf(out, " (%s)", shown);
    }
    if (is_long)
        fgi_buf_printf(out, ", ... (%" PRId64 " in total)", s->count);
    if (s->count > 0)
        fgi_buf_printf(out, " of epoch %" PRId64, s->epoch);
}

/* ---- the file -------------------------------------------------------------------------------- */

static const char *reason_of(const fgi_diverged *what)
{
    switch (what->reason) {
    case FGI_BAD_LOSS: return "loss_not_finite";
    case FGI_HIGH_LOSS: return "loss_diverged";
    case FGI_BAD_GRADIENT: return "gradient_not_finite";
    case FGI_ANOMALY: break;
    }
    return "anomaly";
}

static json_t *text(const char *value)
{
    json_t *string = value != NULL ? fgi_json_name(value) : NULL;
    return string != NULL ? string : json_null();
}

static json_t *list_samples(const fgi_divergence *d, const samples *s)
{
    json_t *list = s->count > 0 ? json_array() : json_null();
    for (int64_t i = 0; i < s->count; i++)
        (void)json_array_append_new(list, json_pack("{s:I, s:o}", "index", (json_int_t)s->index[i],
                                                    "name", text(name_of_sample(d, s->index[i]))));
    return list;
}

static json_t *describe(const fgi_divergence *d, const fgi_diverged *what, const samples *s)
{
    return json_pack(
        "{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:I}", "step", (json_int_t)what->step,
        "reason", reason_of(what), "loss", fgi_json_real(what->loss), "first_bad_step",
        fgi_json_count(what->first_step > 0 ? what->first_step : -1), "parameter",
        what->parameter != NULL ? text(fg_variable_name(what->parameter)) : json_null(), "epoch",
        fgi_json_count(s->epoch), "samples", list_samples(d, s), "action",
        d->of.options->divergence.on_divergence, "checkpoint",
        d->good[0] != '\0' ? text(d->good) : json_null(), "rollbacks", (json_int_t)d->at.rollbacks);
}

static fg_status append(const char *path, const fgi_buf *line, fg_error *err)
{
    FGI_TRY(fgi_buf_status(line, err));
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return fgi_fail_errno(err, "open", path);
    const fg_status status = fgi_write_all(fd, path, line->data, line->size, err);
    (void)close(fd);
    return status;
}

/* A failure is only a warning: the error itself is more important. */
static void write_line(const fgi_divergence *d, const fgi_diverged *what, const samples *s)
{
    const char *folder = d->of.options->checkpoints.run_dir;
    fg_error why = {0};
    fgi_buf line = {0};
    if (folder == NULL)
        return;
    char path[FGI_PATH_BYTES];
    fgi_json_put(&line, describe(d, what, s), JSON_COMPACT | JSON_REAL_PRECISION(9));
    fg_status status = fgi_path_put(folder, "divergence.jsonl", path, &why);
    if (status == FG_OK)
        status = append(path, &line, &why);
    if (status != FG_OK)
        fgi_log(FG_LOG_WARNING, "the samples could not be listed in a file: %s", why.message);
    fgi_buf_fini(&line);
}

/* ---- the error ------------------------------------------------------------------------------- */

static void put_what(const fgi_divergence *d, const fgi_diverged *what, const fg_variable *bad,
                     fgi_buf *out)
{
    const fgi_divergence_state *at = &d->at;
    const char *kind = what->is_nan ? "NaN" : "an infinite number";
    if (what->reason == FGI_ANOMALY)
        fgi_buf_printf(out, "training step %" PRId64 ": the gradient of '%s' has %s", what->step,
                       fg_variable_name(bad), kind);
    else if (what->reason == FGI_HIGH_LOSS)
        fgi_buf_printf(
            out,
            "training has diverged at step %" PRId64
            ": the loss is %.4g, and it has been too high for %" PRId64 " log line%s (%s was %.4g)",
            what->step, what->loss, at->high, fgi_s(at->high),
            at->exploded != 0 ? "it had risen far above the loss of the first step, which"
                              : "the lowest",
            at->exploded != 0 ? at->start : at->best);
    else if (what->reason == FGI_BAD_LOSS)
        fgi_buf_printf(out, "training has diverged at step %" PRId64 ": the loss is %s", what->step,
                       isnan(what->loss) ? "NaN" : "infinite");
    else
        fgi_buf_printf(out, "training has diverged at step %" PRId64 ": gradients are not finite",
                       what->first_step > 0 ? what->first_step : what->step);
    if (what->reason != FGI_ANOMALY && bad != NULL)
        fgi_buf_printf(out, "; the weight '%s' has %s", fg_variable_name(bad), kind);
}

/* Text that ends with the error: paths may be long. */
static void put_next(const fgi_divergence *d, const fgi_diverged *what, fgi_buf *out)
{
    const char *good = d->good;
    if (strcmp(d->of.options->divergence.on_divergence, "rollback") == 0)
        return; /* fit.c continues */
    if (what->reason == FGI_ANOMALY)
        fgi_buf_puts(out, "\nthe step was skipped, and so is any later step with such a gradient");
    if (good[0] != '\0')
        fgi_buf_printf(out, "\nthe last good checkpoint is %s", good);
    else
        fgi_buf_puts(out, "\nthere is no earlier checkpoint");
}

fg_status fgi_divergence_describe(fgi_divergence *d, const fgi_diverged *what, fg_error *err)
{
    fgi_diverged known = *what;
    const samples s =
        what->first_step > 0 ? find_samples(d, what->first_step) : (samples){.epoch = -1};
    if (what->reason != FGI_ANOMALY && what->reason != FGI_HIGH_LOSS)
        known.parameter = find_parameter(d, &known.is_nan);
    fgi_buf message = {0};
    put_what(d, &known, known.parameter, &message);
    put_samples(d, &s, &message);
    put_next(d, &known, &message);
    write_line(d, &known, &s);
    const fg_status status =
        message.failed ? fgi_no_memory(err) : fgi_fail(err, FG_ENUMERIC, "%s", message.data);
    fgi_buf_fini(&message);
    fgi_free(s.index);
    return status;
}

/* ---- noticing -------------------------------------------------------------------------------- */

void fgi_divergence_start(fgi_divergence *d)
{
    d->is_noticed = d->has_warned = false;
    d->batch_count = 0;
    if (d->of.cursor->step == 0)
        d->at.bad = 0;
    if (d->at.high >= d->of.options->divergence.divergence_patience)
        d->at.high = 0; /* the previous fit of this Trainer ended with it */
}

void fgi_divergence_note_batch(fgi_divergence *d, const fg_host_batch *batch)
{
    d->batch[d->batch_count++ % FGI_NOTED_BATCHES] =
        (fgi_noted_batch){.step = d->of.cursor->step + 1,
                          .epoch = batch->epoch,
                          .position = batch->position,
                          .next_position = batch->next_position};
}

/* Divergence is reported, or ignored with one warning. */
static fg_status notice(fgi_divergence *d, const fgi_diverged *what, fg_error *err)
{
    if (!d->of.call->is_running || d->of.call->is_search || d->is_noticed)
        return FG_OK;
    if (acts(d, "ignore")) {
        if (!d->has_warned && what->reason != FGI_BAD_GRADIENT) /* health.c warns of these */
            fgi_log(FG_LOG_WARNING,
                    "step %lld: the loss %s (%g); training continues, because on_divergence is "
                    "'ignore'",
                    (long long)what->step,
                    what->reason == FGI_BAD_LOSS ? "is not finite" : "has diverged", what->loss);
        d->has_warned = true;
        return FG_OK;
    }
    d->is_noticed = true;
    if (d->of.settle != NULL)
        d->of.settle(d->of.self);
    return fgi_divergence_describe(d, what, err);
}

/* Whether the loss has risen far above that of the first step, and has not been back since. A first
 * step whose loss is close to 0 may have had easy samples. */
static bool has_exploded(const fgi_divergence_state *at, double factor, double loss)
{
    if (at->has_start == 0 || !(factor > 0))
        return false;
    return loss > (at->exploded != 0 ? at->start : EXPLOSION * factor * fmax(1, fabs(at->start)));
}

bool fgi_divergence_add(fgi_divergence_state *at, const fg_trainer_divergence *o, double loss)
{
    at->exploded = has_exploded(at, o->divergence_factor, loss);
    if (!isfinite(loss) || at->exploded != 0)
        return ++at->high >= o->divergence_patience; /* not averaged */
    const double limit = fmax(at->best + (o->divergence_factor - 1) * fabs(at->best),
                              at->best + (at->first - at->best) / 2);
    const bool is_high = o->divergence_factor > 0 && at->lines > 0 && loss > limit;
    at->high = is_high ? at->high + 1 : 0;
    if (at->lines == 0)
        at->first = loss;
    at->mean = SMOOTHING * at->mean + (1 - SMOOTHING) * loss;
    at->lines++;
    const double smoothed = at->mean / (1 - pow(SMOOTHING, (double)at->lines));
    if (at->lines == 1 || smoothed < at->best)
        at->best = smoothed;
    return at->high >= o->divergence_patience;
}

void fgi_divergence_first(fgi_divergence *d, double sum, double weight)
{
    fgi_divergence_state *at = &d->at;
    at->has_start = weight >= LEAST_WEIGHT && isfinite(sum);
    at->start = at->has_start != 0 ? sum / weight : 0;
}

fg_status fgi_divergence_line(fgi_divergence *d, double loss, int64_t step, fg_error *err)
{
    const bool is_scaled = fgi_optimizer_scales_loss(*d->of.optimizer);
    fgi_diverged what = {.reason = FGI_HIGH_LOSS, .step = step};
    what.loss = isnan(loss) ? (double)NAN : loss; /* printed without the sign of a NaN */
    FGI_TRY(fgi_divergence_check(d, step, err));
    if (!isfinite(loss) && !acts(d, "ignore") && d->of.stage->accumulator != NULL)
        FGI_TRY(fgi_divergence_read(d, err)); /* the health is that of the step before */
    const bool is_high = fgi_divergence_add(&d->at, &d->of.options->divergence, loss);
    if (!isfinite(loss))
        what.reason = FGI_BAD_LOSS;
    if (!is_high && (isfinite(loss) || is_scaled))
        return FG_OK;
    return notice(d, &what, err);
}

void fgi_divergence_end(const fgi_divergence *d)
{
    if (d->at.exploded != 0 && !d->has_warned)
        fgi_log(FG_LOG_WARNING,
                "training has probably diverged: in the last %lld log line%s, the loss has not "
                "returned to its value at the first step (%.4g); use a smaller learning rate",
                (long long)d->at.high, fgi_s(d->at.high), d->at.start);
}

fg_status fgi_divergence_check(fgi_divergence *d, int64_t step, fg_error *err)
{
    const float *health = d->of.health->value;
    const int64_t bad = (int64_t)health[FGI_HEALTH_BAD], first = (int64_t)health[FGI_HEALTH_STEP];
    if (bad <= d->at.bad || fgi_optimizer_scales_loss(*d->of.optimizer) ||
        d->of.options->numerics.detect_anomaly)
        return FG_OK;
    /* the device keeps the first of all, which may be one that was ignored */
    const fgi_diverged what = {.reason = FGI_BAD_GRADIENT,
                               .step = step,
                               .first_step = d->at.bad == 0 ? first : 0,
                               .loss = (double)NAN};
    if (acts(d, "ignore"))
        d->at.bad = bad;
    return notice(d, &what, err);
}

/* The gradient of a parameter was not finite in a step, which was skipped. */
static fg_status check_anomaly(fgi_divergence *d, fg_error *err)
{
    fgi_diverged what = {.reason = FGI_ANOMALY, .loss = (double)NAN};
    what.parameter = fgi_health_anomaly(d->of.health, &what.is_nan, &what.step);
    if (what.parameter == NULL)
        return FG_OK;
    what.first_step = what.step;
    d->is_noticed = d->of.call->is_running;
    return fgi_divergence_describe(d, &what, err);
}

fg_status fgi_divergence_take(fgi_divergence *d, const float *values, int64_t step, fg_error *err)
{
    fgi_health_take(d->of.health, values, step);
    return check_anomaly(d, err);
}

fg_status fgi_divergence_read(fgi_divergence *d, fg_error *err)
{
    FGI_TRY(fgi_health_read(d->of.health, d->of.cursor->step, err));
    FGI_TRY(check_anomaly(d, err));
    return fgi_divergence_check(d, d->of.cursor->step, err);
}

bool fgi_divergence_wants_rollback(const fgi_divergence *d)
{
    return d->is_noticed && acts(d, "rollback");
}

bool fgi_divergence_is_suspected(const fgi_divergence *d)
{
    return d->at.high > 0 && !acts(d, "ignore");
}

int fgi_divergence_keep(const fgi_divergence *d)
{
    const int all = -1, asked = (int)d->of.options->checkpoints.keep_checkpoints;
    const int keep = asked > 0 ? asked : all;
    if (fgi_divergence_is_suspected(d) || d->at.returned != 0)
        return -1; /* a later checkpoint, which was not good, would count as recent */
    return acts(d, "rollback") && keep == 1 ? 2 : keep;
}

/* ---- going back ------------------------------------------------------------------------------ */

void fgi_divergence_note_checkpoint(fgi_divergence *d, const char *path, int64_t step,
                                    bool is_suspected)
{
    if (is_suspected || strcmp(path, d->good) == 0)
        return;
    if (step != d->good_step) { /* else the same state, under another name */
        memcpy(d->older, d->good, sizeof d->older);
        d->at.returned = 0;
    }
    d->good_step = step;
    (void)fgi_snprintf(d->good, sizeof d->good, "%s", path);
}

/* A checkpoint that training has returned to in vain was taken too late. */
const char *fgi_divergence_good(const fgi_divergence *d)
{
    return d->at.returned != 0 && d->older[0] != '\0' ? d->older : d->good;
}

void fgi_divergence_went_back(fgi_divergence *d, int64_t count, double factor)
{
    d->at.rollbacks = count + 1;
    d->at.returned = 1;
    d->at.lr_factor = factor * d->of.options->divergence.rollback_lr_factor;
    d->is_noticed = false;
    d->batch_count = 0;
}

/* ---- in a checkpoint ------------------------------------------------------------------------- */

/* Key in state.json, and its members. */
#define KEY "divergence"
#define ROW(key, member, kind)                                                                     \
    {                                                                                              \
        key, offsetof(fgi_divergence_state, member), kind, 0, false                                \
    }
static const fgi_member members[] = {ROW("start", start, FGI_MEMBER_REAL),
                                     ROW("first", first, FGI_MEMBER_REAL),
                                     ROW("mean", mean, FGI_MEMBER_REAL),
                                     ROW("best", best, FGI_MEMBER_REAL),
                                     ROW("lr_factor", lr_factor, FGI_MEMBER_REAL),
                                     ROW("has_start", has_start, FGI_MEMBER_INT),
                                     ROW("exploded", exploded, FGI_MEMBER_INT),
                                     ROW("lines", lines, FGI_MEMBER_INT),
                                     ROW("high", high, FGI_MEMBER_INT),
                                     ROW("nonfinite_steps", bad, FGI_MEMBER_INT),
                                     ROW("rollbacks", rollbacks, FGI_MEMBER_INT),
                                     ROW("returned", returned, FGI_MEMBER_INT)};
enum { MEMBERS = sizeof members / sizeof members[0] };

/* The good checkpoint before the one that is being saved, or, if that is not good, before the last
 * good one. */
static const char *find_older(const fgi_divergence *d)
{
    const bool is_again = d->good[0] != '\0' && d->good_step == d->of.cursor->step;
    return fgi_divergence_is_suspected(d) || is_again ? d->older : d->good;
}

bool fgi_divergence_save(const fgi_divergence *d, json_t *object)
{
    json_t *own = json_object();
    bool ok = own != NULL && fgi_members_save(members, MEMBERS, &d->at, own);
    if (ok && fgi_divergence_is_suspected(d) && d->good[0] != '\0')
        ok = json_object_set_new(own, "good", json_string(fgi_after_last(d->good, '/'))) == 0;
    const char *older = fgi_after_last(find_older(d), '/');
    if (ok && acts(d, "rollback") && older[0] != '\0')
        ok = json_object_set_new(own, "older", json_string(older)) == 0;
    return json_object_set_new(object, KEY, own) == 0 && ok;
}

/* A checkpoint that the one at `path` names: in the same folder. */
static void load_path(const json_t *own, const char *key, const char *path, char out[512])
{
    const char *name = json_string_value(json_object_get(own, key));
    out[0] = '\0';
    if (name != NULL && strchr(name, '/') == NULL)
        (void)fgi_snprintf(out, 512, "%.*s%s", (int)(fgi_after_last(path, '/') - path), path, name);
}

fg_status fgi_divergence_load(fgi_divergence *d, const json_t *object, const char *path,
                              fg_error *err)
{
    const json_t *own = json_object_get(object, KEY);
    fgi_divergence_state loaded = {.lr_factor = 1};
    if (fgi_members_load(members, MEMBERS, own, &loaded) != NULL || !(loaded.lr_factor > 0) ||
        loaded.lr_factor > 1)
        return fgi_fail(err, FG_EFORMAT, "%s: '" KEY "' in its state.json is not valid", path);
    d->at = loaded;
    d->good_step = loaded.high > 0 ? -1 : json_integer_value(json_object_get(object, "step"));
    load_path(own, "older", path, d->older);
    if (loaded.high > 0)
        load_path(own, "good", path, d->good);
    else
        (void)fgi_snprintf(d->good, sizeof d->good, "%s", path);
    return FG_OK;
}
