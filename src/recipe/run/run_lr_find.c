/* run_lr_find.c - the search for a learning rate: alone, or before a fit.
 *
 * A fit uses the result of the search as optimizer.lr: it is in config.yaml of the run's folder,
 * and in lr_find.json, from which a resumed run reads it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "recipe/run/run.h"
#include "report/reports.h"

#define RESULT "lr_find.json"

enum { MOST_BYTES = 1 << 24 };

/* ---- the search ------------------------------------------------------------------------------ */

/* What the found value is meant for. */
static void say_scaling(const fg_recipe *r)
{
    char factor[32];
    const double scale = fg_lr_curve_factor(r->lr_curve);
    if (scale == 1)
        return;
    (void)fgi_snprintf(factor, sizeof(factor), "%.4g", scale);
    fgi_run_say(r, FG_LOG_INFO,
                "these are values of optimizer.lr: trainer.lr_scaling=%s multiplies them by %s",
                r->c->trainer.lr.lr_scaling, factor);
}

static void say_result(const fg_recipe *r)
{
    char low[32], high[32];
    const fg_lr_suggestions *s = fg_lr_curve_suggestions(r->lr_curve);
    (void)fgi_snprintf(low, sizeof(low), "%.3g", s->valley_low);
    (void)fgi_snprintf(high, sizeof(high), "%.3g", s->valley_high);
    if (isfinite(s->valley) && s->usable_segments > 1)
        fgi_run_say(r, FG_LOG_INFO, "valley of the %d of %d sweeps that have one: %s to %s",
                    s->usable_segments, fg_lr_curve_segments(r->lr_curve), low, high);
    if (isfinite(s->valley) && s->note[0] != '\0')
        fgi_run_say(r, FG_LOG_INFO, "note: %s", s->note);
    say_scaling(r);
}

fg_status fgi_run_lr_check(const fgi_config *c, fg_error *err)
{
    if (c->tuner.min_lr < c->tuner.max_lr)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "%s: expected a number greater than tuner.min_lr, got %s",
                    fgi_config_where(c, "tuner.max_lr"), fgi_config_format(c, "tuner.max_lr"));
}

fg_status fgi_run_lr_find(fg_recipe *r, fg_error *err)
{
    fg_lr_find_options options = r->c->tuner;
    options.diverged = options.diverged > 0 ? options.diverged : FG_ZERO;
    fgi_run_say(r, FG_LOG_INFO, "finding a learning rate: %lld sweep%s of up to %lld steps",
                (long long)options.segments, fgi_s(options.segments), (long long)options.steps);
    FGI_TRY(fg_tuner_lr_find(r->trainer, &r->task.task, &r->fit_data, &options, &r->lr_curve, err));
    const fg_lr_suggestions *s = fg_lr_curve_suggestions(r->lr_curve);
    if (!isfinite(s->valley))
        return fgi_fail(err, FG_ENUMERIC, "no learning rate is suggested: %s", s->note);
    say_result(r);
    return FG_OK;
}

/* Adds what to do to an error. */
static fg_status advise(fg_error *err, const char *what)
{
    const fg_error why = *err;
    return fgi_fail(err, why.status, "%s\n%s", why.message, what);
}

/* ---- before a fit ---------------------------------------------------------------------------- */

static double chosen(const fg_recipe *r)
{
    const char *name = r->c->lr_suggestion;
    size_t i = 0;
    while (i + 1 < FGI_LR_SUGGESTIONS && strcmp(name, fgi_lr_suggestion_names[i]) != 0)
        i++;
    return fgi_lr_suggestion(fg_lr_curve_suggestions(r->lr_curve), i);
}

/* Sets optimizer.lr of the configuration and of the optimizer, rounded to what is written. */
static fg_status use(fg_recipe *r, double lr, fg_error *err)
{
    char text[32];
    (void)fgi_snprintf(text, sizeof(text), "%.4g", lr);
    FGI_TRY(fgi_config_set(r->c, "optimizer.lr", text, RESULT, err));
    r->task.found_lr = fg_option_float(r->c->values, "optimizer.lr");
    if (r->task.optimizer != NULL)
        fg_optimizer_set_lr(r->task.optimizer, r->task.found_lr);
    return FG_OK;
}

static fg_status search(fg_recipe *r, fg_error *err)
{
    const fg_status status = fgi_run_lr_find(r, err);
    if (status == FG_ENUMERIC)
        return advise(err, "set optimizer.lr, and tuner.lr_find to false");
    FGI_TRY(status);
    const double lr = chosen(r);
    if (!isfinite(lr))
        return fgi_fail(err, FG_ENUMERIC,
                        "%s: the curve has no %s, but a valley: use tuner.suggestion=valley",
                        fgi_config_where(r->c, "tuner.suggestion"), r->c->lr_suggestion);
    FGI_TRY(use(r, lr, err));
    fgi_run_say(r, FG_LOG_INFO, "optimizer.lr: %s (%s)", fgi_config_format(r->c, "optimizer.lr"),
                r->c->lr_suggestion);
    return FG_OK;
}

/* The learning rate in the folder of the run that is resumed. */
static fg_status read_result(const char *path, double *out, fg_error *err)
{
    char *text = NULL;
    size_t size;
    json_t *root = NULL;
    FGI_TRY(fgi_file_read(path, MOST_BYTES, &text, &size, err));
    const fg_status status = fgi_json_parse(path, 0, text, size, &root, err);
    const json_t *lr = json_object_get(root, "optimizer_lr");
    *out = json_is_number(lr) ? json_number_value(lr) : (double)NAN;
    json_decref(root);
    fgi_free(text);
    if (status != FG_OK || (isfinite(*out) && *out > 0))
        return status;
    return fgi_fail(err, FG_EFORMAT, "%s: expected \"optimizer_lr\", a number greater than 0",
                    path);
}

static fg_status resume(fg_recipe *r, fg_error *err)
{
    double lr;
    char *path = r->folder != NULL ? fgi_path_join(r->folder, RESULT) : NULL;
    if (path == NULL)
        return fgi_no_memory(err);
    const fg_status status = read_result(path, &lr, err);
    fgi_free(path);
    if (status != FG_OK)
        return advise(err, "the resumed run did not begin with a search: set "
                           "tuner.lr_find to false, and optimizer.lr to its learning rate");
    return use(r, lr, err);
}

fg_status fgi_run_lr_apply(fg_recipe *r, fg_error *err)
{
    if (!r->c->lr_find || r->fit.fast_dev_run)
        return FG_OK;
    return r->origin.ckpt != NULL && !r->is_start ? resume(r, err) : search(r, err);
}

/* ---- results --------------------------------------------------------------------------------- */

fg_status fgi_run_lr_keep(const fg_recipe *r, fg_error *err)
{
    fgi_buf text = {0};
    if (r->lr_curve == NULL)
        return FG_OK;
    char *path = fgi_path_join(r->folder, RESULT);
    json_t *root = fgi_lr_json(r->lr_curve);
    (void)json_object_set_new(root, "optimizer_lr", json_real(r->task.found_lr));
    fgi_json_put(&text, root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    fg_status status = path != NULL ? fgi_buf_status(&text, err) : fgi_no_memory(err);
    if (status == FG_OK)
        status = fg_file_write(path, text.data, text.size, err);
    fgi_buf_fini(&text);
    fgi_free(path);
    return status;
}

void fgi_run_lr_put_metrics(const fg_recipe *r, fgi_buf *out)
{
    for (size_t i = 0; r->lr_curve != NULL && i < FGI_LR_SUGGESTIONS; i++) {
        const double lr = fgi_lr_suggestion(fg_lr_curve_suggestions(r->lr_curve), i);
        fgi_buf_printf(out, "%s\t", fgi_lr_suggestion_names[i]);
        if (isfinite(lr))
            fgi_buf_printf(out, "%.4g\n", lr);
        else
            fgi_buf_puts(out, "none\n");
    }
}

json_t *fgi_run_lr_suggestions(const fg_recipe *r)
{
    return r->lr_curve != NULL ? fgi_lr_suggestions_json(fg_lr_curve_suggestions(r->lr_curve))
                               : json_null();
}
