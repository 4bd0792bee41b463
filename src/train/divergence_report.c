/* divergence_report.c - what is said about divergence: the step, the parameter, and the samples, in
 * the error, and in a line of divergence.jsonl in the run folder, which names all samples.
 *
 * A gradient that is not finite has spoiled all weights that depend on it by the time it is
 * noticed, so the parameter is the first with such a weight; detect_anomaly reports the first
 * gradient instead.
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
#include "base/text.h"
#include "data/loader.h"
#include "input/json_file.h"
#include "train/divergence_parts.h"
#include "train/feed.h"
#include "train/stage.h"
#include "train/trainer.h"

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
static const fg_variable *find_parameter(const fg_trainer *trainer, bool *out_is_nan)
{
    const fg_optimizer *optimizer = trainer->model.optimizer;
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

static bool add_batch(const fg_trainer *trainer, const fgi_noted_batch *batch, samples *out)
{
    const fg_loader *loader = fgi_stage_loader(trainer->stage[FGI_TRAIN]);
    const int64_t size = batch->next_position - batch->position;
    out->first = out->epoch < 0 ? batch->position : out->first;
    out->end = batch->next_position;
    out->epoch = batch->epoch;
    if (loader == NULL || fg_dataset_is_source(fgi_stage_dataset(trainer->stage[FGI_TRAIN])))
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

static samples find_samples(const fg_trainer *trainer, int64_t step)
{
    const fgi_divergence *d = trainer->divergence;
    samples found = {.epoch = -1};
    const uint64_t kept =
        d->batch_count < FGI_NOTED_BATCHES ? d->batch_count : (uint64_t)FGI_NOTED_BATCHES;
    for (uint64_t i = d->batch_count - kept; i < d->batch_count; i++) {
        const fgi_noted_batch *batch = &d->batch[i % FGI_NOTED_BATCHES];
        if (batch->step == step && !add_batch(trainer, batch, &found) && found.index != NULL)
            break;
    }
    return found;
}

static const char *name_of_sample(const fg_trainer *trainer, int64_t index)
{
    return fg_dataset_sample_name(fgi_stage_dataset(trainer->stage[FGI_TRAIN]), index);
}

/* ": samples 5 (a.png), 12 (b.png), ... (64 in total) of epoch 0" */
static void put_samples(const fg_trainer *trainer, const samples *s, fgi_buf *out)
{
    const bool is_long = s->count > MOST_SHOWN + 1;
    if (s->epoch >= 0 && s->count == 0)
        fgi_buf_printf(out,
                       ": samples %" PRId64 " to %" PRId64 " of epoch %" PRId64 " of the source",
                       s->first, s->end - 1, s->epoch);
    for (int64_t i = 0; i < (is_long ? MOST_SHOWN : s->count); i++) {
        char shown[44];
        const char *name = name_of_sample(trainer, s->index[i]);
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

static json_t *list_samples(const fg_trainer *trainer, const samples *s)
{
    json_t *list = s->count > 0 ? json_array() : json_null();
    for (int64_t i = 0; i < s->count; i++)
        (void)json_array_append_new(list,
                                    json_pack("{s:I, s:o}", "index", (json_int_t)s->index[i],
                                              "name", text(name_of_sample(trainer, s->index[i]))));
    return list;
}

static json_t *describe(const fg_trainer *trainer, const fgi_diverged *what, const samples *s)
{
    const bool has_step = what->first_step > 0, has_loss = isfinite(what->loss);
    return json_pack(
        "{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:I}", "step", (json_int_t)what->step,
        "reason", reason_of(what), "loss", has_loss ? json_real(what->loss) : json_null(),
        "first_bad_step", has_step ? json_integer(what->first_step) : json_null(), "parameter",
        what->parameter != NULL ? text(fg_variable_name(what->parameter)) : json_null(), "epoch",
        s->epoch >= 0 ? json_integer(s->epoch) : json_null(), "samples", list_samples(trainer, s),
        "action", trainer->options.divergence.action, "checkpoint",
        trainer->divergence->good[0] != '\0' ? text(trainer->divergence->good) : json_null(),
        "rollbacks", (json_int_t)trainer->divergence->at.rollbacks);
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
static void write_line(const fg_trainer *trainer, const fgi_diverged *what, const samples *s)
{
    const char *folder = trainer->options.checkpoints.run_dir;
    fg_error why = {0};
    fgi_buf line = {0};
    if (folder == NULL)
        return;
    char *path = fgi_path_join(folder, "divergence.jsonl");
    json_t *object = describe(trainer, what, s);
    bool ok = path != NULL && object != NULL &&
              fgi_json_write(object, JSON_COMPACT | JSON_REAL_PRECISION(9), &line);
    if (ok && (line.size == 0 || line.data[line.size - 1] != '\n'))
        fgi_buf_puts(&line, "\n");
    const fg_status status = ok ? append(path, &line, &why) : fgi_no_memory(&why);
    if (status != FG_OK)
        fgi_log(FG_LOG_WARNING, "the samples could not be listed in a file: %s", why.message);
    json_decref(object);
    fgi_free(path);
    fgi_buf_fini(&line);
}

/* ---- the error ------------------------------------------------------------------------------- */

static void put_what(const fg_trainer *trainer, const fgi_diverged *what, const fg_variable *bad,
                     fgi_buf *out)
{
    const fgi_divergence_state *at = &trainer->divergence->at;
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
static void put_next(const fg_trainer *trainer, const fgi_diverged *what, fgi_buf *out)
{
    const char *good = trainer->divergence->good;
    if (strcmp(trainer->options.divergence.action, "rollback") == 0)
        return; /* rollback.c continues */
    if (what->reason == FGI_ANOMALY)
        fgi_buf_puts(out, "\nthe step was skipped, and so is any later step with such a gradient");
    if (good[0] != '\0')
        fgi_buf_printf(out, "\nthe last good checkpoint is %s", good);
    else
        fgi_buf_puts(out, "\nthere is no earlier checkpoint");
}

fg_status fgi_divergence_describe(fg_trainer *trainer, const fgi_diverged *what, fg_error *err)
{
    fgi_diverged known = *what;
    const samples s =
        what->first_step > 0 ? find_samples(trainer, what->first_step) : (samples){.epoch = -1};
    if (what->reason != FGI_ANOMALY && what->reason != FGI_HIGH_LOSS)
        known.parameter = find_parameter(trainer, &known.is_nan);
    fgi_buf message = {0};
    put_what(trainer, &known, known.parameter, &message);
    put_samples(trainer, &s, &message);
    put_next(trainer, &known, &message);
    write_line(trainer, &known, &s);
    const fg_status status =
        message.failed ? fgi_no_memory(err) : fgi_fail(err, FG_ENUMERIC, "%s", message.data);
    fgi_buf_fini(&message);
    fgi_free(s.index);
    return status;
}
