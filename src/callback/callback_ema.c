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
#include "train/average.h"
#include "callback/callback_rows.h"

typedef struct ema {
    double decay;
    int64_t start_step, start_epoch, every;
    bool has_buffers, warms_up;
    fgi_average average;
} ema;

static fg_status on_build(void *self, fg_module *root, fg_error *err)
{
    ema *e = self;
    return fgi_average_build(&e->average, root, "ema", e->has_buffers, err);
}

/* 1 - decay; with warm-up, at least 1 - (1 + n) / (10 + n) = 9 / (10 + n). */
static fg_tensor weight(const void *self, fg_tensor taken, fg_dtype dtype)
{
    const ema *e = self;
    fg_trace *trace = fg_tensor_trace(taken);
    const fg_tensor rest = fg_full(trace, dtype, 1 - e->decay, FG_SCALAR);
    if (!e->warms_up)
        return rest;
    const fg_tensor nine = fg_full(trace, dtype, 9, FG_SCALAR);
    return fg_maximum(rest, fg_div(nine, fg_add_scalar(fg_cast(taken, dtype), 10)));
}

static void on_update(void *self, fg_trace *trace, fg_optimizer *optimizer)
{
    ema *e = self;
    fgi_average_update(&e->average, trace, optimizer, weight, e);
}

static void on_step_start(void *self, const fg_progress *at, fg_optimizer *optimizer)
{
    ema *e = self;
    (void)optimizer;
    e->average.due.value.u32 =
        at->step >= e->start_step && at->epoch >= e->start_epoch && (at->step + 1) % e->every == 0;
}

static fg_tensor on_value(void *self, fg_trace *trace, fg_variable *variable)
{
    const ema *e = self;
    return fgi_average_value(&e->average, trace, variable);
}

static void destroy(void *self)
{
    ema *e = self;
    fgi_average_fini(&e->average);
    fgi_free(e);
}

static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
{
    ema *e = fgi_calloc(1, sizeof *e);
    if (e == NULL)
        return fgi_no_memory(err);
    e->decay = fg_option_float(values, "decay");
    e->start_step = fg_option_int(values, "start_step");
    e->start_epoch = fg_option_int(values, "start_epoch");
    e->every = fg_option_int(values, "every_n_steps");
    e->has_buffers = fg_option_bool(values, "use_buffers");
    e->warms_up = fg_option_bool(values, "warmup");
    *out_self = e;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "decay",
     .kind = FG_OPTION_FLOAT,
     .initial = "0.999",
     .range = "0..<1",
     .example = "0.9999",
     .help = "Fraction of the average that each update keeps."},
    {.name = "start_step",
     .kind = FG_OPTION_INT,
     .initial = "0",
     .range = "0..",
     .example = "1000",
     .help = "Optimizer steps before the average starts. Until then, evaluations use the trained "
             "weights."},
    {.name = "start_epoch",
     .kind = FG_OPTION_INT,
     .initial = "0",
     .range = "0..",
     .example = "5",
     .help = "Epochs before the average starts."},
    {.name = "every_n_steps",
     .kind = FG_OPTION_INT,
     .initial = "1",
     .range = "1..",
     .example = "10",
     .help = "Update the average after every n-th optimizer step."},
    {.name = "use_buffers",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help = "Also average buffers, such as the running statistics of batch norm. false: "
             "evaluations use their current values."},
    {.name = "warmup",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "Use a smaller decay at first: min(decay, (1 + n) / (10 + n)) after n updates."},
};

static const fg_callback_ops ops = {.name = "ema",
                                    .destroy = destroy,
                                    .build = on_build,
                                    .update = on_update,
                                    .step_start = on_step_start,
                                    .value = on_value};

const fg_callback_entry fgi_ema_row = {
    .entry = {.name = "ema",
              .help = "evaluate with an exponential moving average of the weights",
              .spellings = "EMAWeightAveraging|exponential_moving_average",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
