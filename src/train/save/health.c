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

#include "base/error.h"
#include "base/thread.h"
#include "base/log.h"
#include "base/text.h"
#include "optim/optimizer.h"
#include "trace/precision.h"
#include "trace/trace.h"
#include "train/save/divergence.h"

static const double WORTH_A_WARNING = 0.25; /* fraction of updates lost */

/* Warns of each problem once. */
static void advise(fgi_health *h, int64_t step)
{
    const float *health = h->value;
    const bool is_scaled = fgi_optimizer_scales_loss(*h->of.optimizer);
    const double lost = (double)health[FGI_HEALTH_LOST];
    const bool is_ignored = strcmp(h->of.options->divergence.on_divergence, "ignore") == 0;
    if (health[FGI_HEALTH_BAD] > 0 && is_ignored && !is_scaled && !h->has_warned_of_bad)
        fgi_log(
            FG_LOG_WARNING,
            "up to step %lld the gradients of %.0f step%s were not finite; detect_anomaly names "
            "the parameter",
            (long long)step, (double)health[FGI_HEALTH_BAD],
            fgi_s((int64_t)health[FGI_HEALTH_BAD]));
    if (lost > WORTH_A_WARNING && !h->has_warned_of_lost)
        fgi_log(FG_LOG_WARNING,
                "precision '%s': step %lld left %.0f %% of the elements that it updates unchanged, "
                "because the update was less than half a unit in the last place; use '%s', "
                "or stochastic_rounding",
                h->of.precision->name, (long long)step, 100 * lost,
                h->of.precision->matmul == FG_F16 ? "16-mixed" : "bf16-mixed");
    h->has_warned_of_bad |= health[FGI_HEALTH_BAD] > 0;
    h->has_warned_of_lost |= lost > WORTH_A_WARNING;
}

void fgi_health_take(fgi_health *h, const float *values, int64_t step)
{
    memcpy(h->value, values, sizeof h->value);
    h->is_known = true;
    if (!(values[FGI_HEALTH_CULPRIT] > 0)) /* else the fit ends */
        advise(h, step);
}

fg_status fgi_health_read(fgi_health *h, int64_t step, fg_error *err)
{
    float values[FGI_HEALTH];
    fgi_event *done = NULL;
    const fg_variable *variable = (*h->of.optimizer)->guard.health;
    FGI_TRY(fgi_variable_download(variable, values, sizeof values, &done, err));
    if (done != NULL) {
        const int64_t begin = fgi_now_ns();
        const fg_status status = fgi_event_wait(done, err);
        fgi_client_count_read(*h->of.client, "optimizer's report on the last update", sizeof values,
                              fgi_now_ns() - begin);
        fgi_event_destroy(done);
        if (status != FG_OK)
            return status;
    }
    fgi_health_take(h, values, step);
    return FG_OK;
}

const fg_variable *fgi_health_anomaly(const fgi_health *h, bool *out_is_nan, int64_t *out_step)
{
    const float culprit = h->value[FGI_HEALTH_CULPRIT];
    *out_is_nan = h->value[FGI_HEALTH_KIND] < 1.5f;
    *out_step = (int64_t)h->value[FGI_HEALTH_STEP];
    return culprit > 0 ? fg_optimizer_parameter_at(*h->of.optimizer, (size_t)culprit - 1) : NULL;
}

static bool counts_lost(const fgi_health *h)
{
    return fgi_precision_is_narrow(h->of.precision) && !h->of.options->numerics.stochastic_rounding;
}

static size_t put(fg_metric *out, size_t count, const char *name, float value)
{
    (void)snprintf(out[count].name, sizeof out[count].name, "%s", name);
    out[count].value = (double)value;
    return count + 1;
}

size_t fgi_health_metrics(const fgi_health *h, fg_metric *out)
{
    size_t count = 0;
    const float *health = h->value;
    if (health[FGI_HEALTH_BAD] > 0)
        count = put(out, count, "train_nonfinite_steps", health[FGI_HEALTH_BAD]);
    if (counts_lost(h))
        count = put(out, count, "train_lost_updates", health[FGI_HEALTH_LOST]);
    if (fgi_optimizer_scales_loss(*h->of.optimizer))
        count = put(out, count, "train_loss_scale", health[FGI_HEALTH_SCALE]);
    return count;
}

void fgi_health_result(const fgi_health *h, fg_result *out)
{
    const float *health = h->value;
    const bool is_known = h->is_known;
    out->nonfinite_steps = is_known ? (int64_t)health[FGI_HEALTH_BAD] : -1;
    out->lost_updates = is_known && counts_lost(h) ? (double)health[FGI_HEALTH_LOST] : (double)NAN;
    out->loss_scale = is_known && fgi_optimizer_scales_loss(*h->of.optimizer)
                          ? (double)health[FGI_HEALTH_SCALE]
                          : (double)NAN;
}
