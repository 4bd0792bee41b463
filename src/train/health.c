/* health.c - what the device reports about updates in addition to the metrics: gradients that are
 * not finite, updates lost to rounding, the loss scale.
 *
 * The optimizer keeps these values in a variable (src/optim/guard.c); the training program appends
 * them to the metrics' sums, so that they need no extra read. If a step has several batches, the
 * update is a separate program, and the values are those of the previous step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "base/log.h"
#include "base/text.h"
#include "optim/optimizer.h"
#include "trace/precision.h"
#include "train/divergence.h"
#include "train/health.h"
#include "train/trainer.h"

static const double WORTH_A_WARNING = 0.25; /* fraction of updates lost */

_Static_assert((int)FGI_HEALTH == (int)FGI_HEALTH_SIZE, "memory for the optimizer's report");

struct fgi_health {
    float value[FGI_HEALTH]; /* as last read; zeros if !is_known */
    bool is_known, has_warned_of_bad, has_warned_of_lost;
};

fg_status fgi_health_create(fgi_health **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

void fgi_health_destroy(fgi_health *health) { fgi_free(health); }

static fg_clip clip_of(const fg_trainer_options *o)
{
    const char *algorithm = o->numerics.gradient_clip_algorithm;
    return algorithm != NULL && strcmp(algorithm, "value") == 0 ? FG_CLIP_VALUE : FG_CLIP_NORM;
}

fg_status fgi_health_prepare(fg_trainer *trainer, fg_error *err)
{
    fg_optimizer *optimizer = trainer->model.optimizer;
    if (trainer->precision->scales_loss && !fgi_optimizer_scales_loss(optimizer))
        FGI_TRY(fg_optimizer_set_loss_scale(optimizer, NULL, err));
    if (trainer->options.numerics.stochastic_rounding)
        fg_optimizer_set_stochastic_rounding(optimizer, true);
    if (trainer->options.numerics.gradient_clip_val > 0)
        FGI_TRY(fg_optimizer_set_clip(optimizer, clip_of(&trainer->options),
                                      trainer->options.numerics.gradient_clip_val, err));
    return fgi_optimizer_watch(optimizer, trainer->options.numerics.detect_anomaly, err);
}

fg_tensor fgi_health_value(fg_trainer *trainer, fg_trace *trace)
{
    return fg_variable_value(trace, fgi_optimizer_health(trainer->model.optimizer));
}

static fg_status anomaly(fg_trainer *trainer, const float *health, fg_error *err)
{
    const size_t culprit = (size_t)health[FGI_HEALTH_CULPRIT];
    const fg_variable *parameter =
        fg_optimizer_parameter_at(trainer->model.optimizer, culprit > 0 ? culprit - 1 : 0);
    return fgi_divergence_anomaly(trainer, parameter, health[FGI_HEALTH_KIND] < 1.5f,
                                  (int64_t)health[FGI_HEALTH_STEP], err);
}

/* Warns of each problem once. */
static void advise(fg_trainer *trainer, const float *health, int64_t step)
{
    const bool is_scaled = fgi_optimizer_scales_loss(trainer->model.optimizer);
    const double lost = (double)health[FGI_HEALTH_LOST];
    const bool is_ignored = strcmp(trainer->options.divergence.action, "ignore") == 0;
    if (health[FGI_HEALTH_BAD] > 0 && is_ignored && !is_scaled &&
        !trainer->health->has_warned_of_bad)
        fgi_log(
            FG_LOG_WARNING,
            "up to step %lld the gradients of %.0f step%s were not finite; detect_anomaly names "
            "the parameter",
            (long long)step, (double)health[FGI_HEALTH_BAD],
            fgi_s((int64_t)health[FGI_HEALTH_BAD]));
    if (lost > WORTH_A_WARNING && !trainer->health->has_warned_of_lost)
        fgi_log(FG_LOG_WARNING,
                "precision '%s': step %lld left %.0f %% of the elements that it updates unchanged, "
                "because the update was less than half a unit in the last place; use '%s', "
                "or stochastic_rounding",
                trainer->precision->name, (long long)step, 100 * lost,
                trainer->precision->matmul == FG_F16 ? "16-mixed" : "bf16-mixed");
    trainer->health->has_warned_of_bad |= health[FGI_HEALTH_BAD] > 0;
    trainer->health->has_warned_of_lost |= lost > WORTH_A_WARNING;
}

fg_status fgi_health_take(fg_trainer *trainer, const float *values, int64_t step, fg_error *err)
{
    for (int i = 0; i < FGI_HEALTH; i++)
        trainer->health->value[i] = values[i];
    trainer->health->is_known = true;
    if (values[FGI_HEALTH_CULPRIT] > 0)
        return anomaly(trainer, values, err);
    advise(trainer, values, step);
    return FG_OK;
}

fg_status fgi_health_end(fg_trainer *trainer, fg_error *err)
{
    float health[FGI_HEALTH];
    fgi_event *done = NULL;
    const fg_variable *variable = fgi_optimizer_health(trainer->model.optimizer);
    FGI_TRY(fgi_variable_download(variable, health, sizeof health, &done, err));
    if (done != NULL) {
        const int64_t begin = fgi_now_ns();
        const fg_status status = fgi_event_wait(done, err);
        fgi_client_count_read(trainer->client, "optimizer's report on the last update",
                              sizeof health, fgi_now_ns() - begin);
        fgi_event_destroy(done);
        if (status != FG_OK)
            return status;
    }
    FGI_TRY(fgi_health_take(trainer, health, trainer->cursor.step, err));
    return fgi_divergence_check(trainer, trainer->cursor.step, err);
}

int64_t fgi_health_bad(const fg_trainer *trainer, int64_t *out_first)
{
    const float *health = trainer->health->value;
    *out_first = (int64_t)health[FGI_HEALTH_STEP];
    return (int64_t)health[FGI_HEALTH_BAD];
}

static bool counts_lost(const fg_trainer *trainer)
{
    return fgi_precision_is_narrow(trainer->precision) &&
           !trainer->options.numerics.stochastic_rounding;
}

static size_t put(fg_metric *out, size_t count, const char *name, float value)
{
    (void)snprintf(out[count].name, sizeof out[count].name, "%s", name);
    out[count].value = (double)value;
    return count + 1;
}

size_t fgi_health_metrics(const fg_trainer *trainer, fg_metric *out)
{
    size_t count = 0;
    const float *health = trainer->health->value;
    if (health[FGI_HEALTH_BAD] > 0)
        count = put(out, count, "train_nonfinite_steps", health[FGI_HEALTH_BAD]);
    if (counts_lost(trainer))
        count = put(out, count, "train_lost_updates", health[FGI_HEALTH_LOST]);
    if (fgi_optimizer_scales_loss(trainer->model.optimizer))
        count = put(out, count, "train_loss_scale", health[FGI_HEALTH_SCALE]);
    return count;
}

void fgi_health_result(const fg_trainer *trainer, fg_result *out)
{
    const float *health = trainer->health->value;
    const bool is_known = trainer->health->is_known;
    out->nonfinite_steps = is_known ? (int64_t)health[FGI_HEALTH_BAD] : -1;
    out->lost_updates =
        is_known && counts_lost(trainer) ? (double)health[FGI_HEALTH_LOST] : (double)NAN;
    out->loss_scale = is_known && fgi_optimizer_scales_loss(trainer->model.optimizer)
                          ? (double)health[FGI_HEALTH_SCALE]
                          : (double)NAN;
}
