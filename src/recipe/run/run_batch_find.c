/* run_batch_find.c - finds the largest batch that fits, with a message for each batch that is
 * tried; runs a step with it, and computes the learning rates of a fit with it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/tuner.h>
#include <inttypes.h>
#include <math.h>

#include "recipe/run/run.h"
#include "base/error.h"
#include "base/print.h"

static void on_tried(void *self, int64_t batch_size, int64_t need_bytes, bool fits)
{
    const fg_recipe *r = self;
    if (need_bytes >= 0)
        fgi_run_say(r, FG_LOG_INFO, "batch_size %" PRId64 ": needs %s per device, %s", batch_size,
                    fgi_bytes_words((double)need_bytes), fits ? "fits" : "too much");
    else
        fgi_run_say(r, FG_LOG_INFO, "batch_size %" PRId64 ": the compiler runs out of memory",
                    batch_size);
}

static void on_run(void *self, int64_t batch_size, int64_t need_bytes, bool fits)
{
    const fg_recipe *r = self;
    (void)need_bytes;
    fgi_run_say(r, FG_LOG_INFO, "batch_size %" PRId64 ": %s", batch_size,
                fits ? "ran one training step"
                     : "the devices ran out of memory in a training step: trying a smaller one");
}

/* ---- the learning rate ----------------------------------------------------------------------- */

/* The learning rate of a fit with these data and options; NaN if there is none. */
static double lr_of(const fg_recipe *r, const fg_trainer_options *options, const fg_fit_data *data,
                    fg_fit_settings *out)
{
    const double lr = fgi_run_task_lr(&r->task);
    return fg_trainer_preview(options, data, lr, out, NULL) == FG_OK ? out->lr : (double)NAN;
}

static fgi_batch_lr compare_lr(fg_recipe *r)
{
    fg_trainer_options options;
    fg_fit_data data = r->fit_data;
    fg_fit_settings before, now, other;
    if (fgi_run_trainer_options(r, NULL, &options, NULL) != FG_OK)
        return (fgi_batch_lr){0};
    options.devices = (fg_trainer_devices){.client = fg_trainer_client(r->trainer)};
    options.limits.max_epochs = 1; /* a schedule requires a limit, which has no effect here */
    if (isnan(lr_of(r, &options, &data, &before)))
        return (fgi_batch_lr){0};
    data.global_batch_size = 0;
    data.batch_size = r->outcome.batch.batch_size;
    if (isnan(lr_of(r, &options, &data, &now)))
        return (fgi_batch_lr){0};
    fgi_batch_lr lr = {.given = now.lr_given,
                       .factor = now.lr_factor,
                       .used = now.lr,
                       .base_batch_size = before.base_batch_size};
    options.lr.base_batch_size = before.base_batch_size;
    options.lr.lr_scaling = "linear";
    lr.linear = lr_of(r, &options, &data, &other);
    options.lr.lr_scaling = "sqrt";
    lr.sqrt = lr_of(r, &options, &data, &other);
    return lr;
}

static void say_lr(const fg_recipe *r)
{
    char text[4][32];
    const fgi_batch_lr *lr = &r->batch_lr;
    const double values[4] = {lr->given, lr->used, lr->linear, lr->sqrt};
    if (lr->base_batch_size == 0)
        return;
    for (int i = 0; i < 4; i++)
        (void)fgi_snprintf(text[i], sizeof text[i], "%.4g", values[i]);
    fgi_run_say(r, FG_LOG_INFO, "optimizer.lr: %s; with this batch, fit uses %s (lr_scaling=%s)",
                text[0], text[1], r->c->trainer.lr.lr_scaling);
    fgi_run_say(r, FG_LOG_INFO,
                "if it is meant for trainer.base_batch_size=%" PRId64
                ": %s with lr_scaling=linear, %s with sqrt",
                lr->base_batch_size, text[2], text[3]);
}

/* ---- the search ------------------------------------------------------------------------------ */

static fg_status nothing_fits(const fg_recipe *r, fg_error *err)
{
    return fgi_fail(err, FG_EDEVMEM,
                    "not even a batch of 1 per device fits in %s: use a smaller model, "
                    "trainer.strategy=fsdp or a 16-bit precision",
                    fgi_bytes_words((double)r->outcome.batch.limit_bytes));
}

fg_status fgi_run_batch_find(fg_recipe *r, fg_error *err)
{
    fg_batch_fit *fit = &r->outcome.batch;
    const fg_task *task = &r->task.task;
    FGI_TRY(fg_trainer_find_batch(r->trainer, task, &r->fit_data,
                                  &(fg_batch_find_options){.tried = on_tried, .self = r}, fit,
                                  err));
    if (fit->batch_size == 0)
        return nothing_fits(r, err);
    if (fit->all_fit)
        fgi_run_say(r, FG_LOG_INFO, "all training samples fit in one batch");
    FGI_TRY(fg_tuner_try_batch(r->trainer, task, &r->fit_data,
                               &(fg_batch_find_options){.tried = on_run, .self = r}, fit, err));
    if (fit->batch_size == 0)
        return nothing_fits(r, err);
    r->batch_lr = compare_lr(r);
    say_lr(r);
    return FG_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

void fgi_run_batch_put_metrics(const fg_recipe *r, fgi_buf *out)
{
    const fg_batch_fit *fit = &r->outcome.batch;
    const fgi_batch_lr *lr = &r->batch_lr;
    fgi_buf_printf(out,
                   "batch_size\t%" PRId64 "\nglobal_batch_size\t%" PRId64 "\nneed_bytes\t%" PRId64
                   "\nlimit_bytes\t%" PRId64 "\n",
                   fit->batch_size, fit->global_batch_size, fit->need_bytes, fit->limit_bytes);
    if (lr->base_batch_size > 0)
        fgi_buf_printf(
            out, "lr_given\t%.6g\nlr_factor\t%.6g\nlr\t%.6g\nlr_linear\t%.6g\nlr_sqrt\t%.6g\n",
            lr->given, lr->factor, lr->used, lr->linear, lr->sqrt);
}

json_t *fgi_run_batch_json(const fg_recipe *r)
{
    const fg_batch_fit *fit = &r->outcome.batch;
    const fgi_batch_lr *lr = &r->batch_lr;
    if (fit->batch_size == 0)
        return json_null();
    json_t *scaled =
        lr->base_batch_size == 0
            ? json_null()
            : json_pack("{s:f, s:f, s:f, s:I, s:f, s:f}", "given", lr->given, "factor", lr->factor,
                        "used", lr->used, "base_batch_size", (json_int_t)lr->base_batch_size,
                        "linear", lr->linear, "sqrt", lr->sqrt);
    return json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:o}", "batch_size",
                     (json_int_t)fit->batch_size, "global_batch_size",
                     (json_int_t)fit->global_batch_size, "need_bytes", (json_int_t)fit->need_bytes,
                     "limit_bytes", (json_int_t)fit->limit_bytes, "all_fit", fit->all_fit,
                     "was_run", fit->was_run, "lr", scaled);
}
