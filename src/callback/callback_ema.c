/* callback_ema.c - the callback ema: an exponential moving average of the weights, which
 * validation, test and prediction use.
 *
 * Sources: Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging"; the
 * update is that of PyTorch's torch.optim.swa_utils.get_ema_multi_avg_fn, the warm-up that of
 * TensorFlow's ExponentialMovingAverage with num_updates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include "base/alloc.h"
#include "base/error.h"
#include "callback/average.h"
#include "callback/callback_rows.h"

typedef struct ema {
    fgi_average average;
    double decay;
    int64_t start_step, start_epoch, every_n_steps;
    bool warmup;
} ema;

/* 1 - decay; with warm-up, at least 1 - (1 + n) / (10 + n) = 9 / (10 + n). */
static fg_tensor weight(const void *self, fg_tensor taken, fg_dtype dtype)
{
    const ema *e = self;
    fg_trace *trace = fg_tensor_trace(taken);
    const fg_tensor rest = fg_full(trace, dtype, 1 - e->decay, FG_SCALAR);
    if (!e->warmup)
        return rest;
    const fg_tensor nine = fg_full(trace, dtype, 9, FG_SCALAR);
    return fg_maximum(rest, fg_div(nine, fg_add_scalar(fg_cast(taken, dtype), 10)));
}

static void on_step_start(void *self, const fg_progress *at, fg_optimizer *optimizer)
{
    ema *e = self;
    e->average.due.value.u32 = at->step >= e->start_step && at->epoch >= e->start_epoch &&
                               (at->step + 1) % e->every_n_steps == 0;
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    ema *e = self;
    e->average.name = "ema";
    e->average.weight = weight;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(ema, decay, FLOAT, "0.999", "0..<1", "0.9999",
              "Fraction of the average that each update keeps."),
    FG_OPTION(ema, start_step, INT, "0", "0..", "1000",
              "Optimizer steps before the average starts. Until then, evaluations use the trained "
              "weights."),
    FG_OPTION(ema, start_epoch, INT, "0", "0..", "5", "Epochs before the average starts."),
    FG_OPTION(ema, every_n_steps, INT, "1", "1..", "10",
              "Update the average after every n-th optimizer step."),
    FGI_OPTION_USE_BUFFERS(ema),
    FG_OPTION(ema, warmup, BOOL, "false", NULL, "true",
              "Use a smaller decay at first: min(decay, (1 + n) / (10 + n)) after n updates."),
};

static const fg_callback_ops ops = {.name = "ema",
                                    .destroy = fgi_average_destroy,
                                    .build = fgi_average_build,
                                    .update = fgi_average_update,
                                    .step_start = on_step_start,
                                    .value = fgi_average_value};

const fg_callback_entry fgi_ema_row = {
    .entry = {.name = "ema",
              .help = "evaluate with an exponential moving average of the weights",
              .spellings = "EMAWeightAveraging|exponential_moving_average",
              FG_OPTIONS(options, ema)},
    .ops = &ops,
    .init = init};
