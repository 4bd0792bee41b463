/* callback_swa.c - the callback swa: stochastic weight averaging, the mean of the weights at the
 * ends of the last epochs, which validation, test and prediction use.
 *
 * Sources: Izmailov et al. 2018, "Averaging weights leads to wider optima and better
 * generalization"; the learning rate is that of PyTorch's torch.optim.swa_utils.SWALR.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/ops.h>
#include <fulgurite/train.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "optim/optimizer.h"
#include "train/average.h"
#include "callback/callback_rows.h"

/* In checkpoints. */
typedef struct start {
    int64_t epoch;   /* in which it started; -1: it has not */
    double first_lr; /* of the first step of this epoch, without the factor of the settings */
} start;

typedef struct swa {
    double fraction; /* of all epochs, after which it starts; -1: after `epochs` */
    int64_t epochs, annealing;
    double lr; /* NaN: that of the schedule */
    bool is_linear, has_buffers;
    int64_t start_epoch; /* of this fit */
    start at;
    fgi_average average;
} swa;

static fg_status on_build(void *self, fg_module *root, fg_error *err)
{
    swa *s = self;
    return fgi_average_build(&s->average, root, "swa", s->has_buffers, err);
}

/* 1 / (n + 1): all values have the same weight. */
static fg_tensor weight(const void *self, fg_tensor taken, fg_dtype dtype)
{
    (void)self;
    const fg_tensor one = fg_ones(fg_tensor_trace(taken), dtype, FG_SCALAR);
    return fg_div(one, fg_add(fg_cast(taken, dtype), one));
}

static void on_update(void *self, fg_trace *trace, fg_optimizer *optimizer)
{
    swa *s = self;
    fgi_average_update(&s->average, trace, optimizer, weight, s);
}

static fg_tensor on_value(void *self, fg_trace *trace, fg_variable *variable)
{
    const swa *s = self;
    return fgi_average_value(&s->average, trace, variable);
}

/* Epochs of the run without the last one if max_steps cuts it short, which adds nothing to the
 * average; -1: unknown. */
static int64_t whole_epochs(const fg_trainer *trainer)
{
    const fg_fit_settings *s = fg_trainer_settings(trainer);
    const bool is_cut =
        s->total_steps > 0 && fg_fit_settings_epoch(s, s->total_steps) == s->total_epochs - 1;
    return s->total_epochs - is_cut;
}

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    swa *s = self;
    const int64_t all = whole_epochs(at->trainer);
    if (s->fraction >= 0 && all < 0)
        return fgi_fail(err, FG_EINVAL,
                        "swa: swa_epoch_start is a fraction of all epochs, whose number is not "
                        "known: set max_epochs, or swa_epoch_start to an epoch");
    s->start_epoch = s->fraction >= 0 ? (int64_t)(s->fraction * (double)all) : s->epochs;
    if (s->at.epoch >= 0)
        s->start_epoch = s->at.epoch;
    if (all >= 0 && s->start_epoch >= all)
        fgi_log(FG_LOG_WARNING,
                "swa has no effect: it starts after %lld epoch%s, but the run has only %lld",
                (long long)s->start_epoch, fgi_s(s->start_epoch), (long long)all);
    return FG_OK;
}

/* From the learning rate at the start to swa_lrs, by epochs since then. */
static double annealed(const swa *s, int64_t epoch)
{
    const double done = s->annealing > 0 ? (double)epoch / (double)s->annealing : 1;
    const double t = fmin(done, 1);
    const double part = s->is_linear ? t : (1 - cos(acos(-1.0) * t)) / 2;
    return s->lr * part + s->at.first_lr * (1 - part);
}

static void on_step_start(void *self, const fg_progress *at, fg_optimizer *optimizer)
{
    swa *s = self;
    s->average.due.value.u32 = at->epoch >= s->start_epoch && at->is_epoch_end;
    if (at->epoch < s->start_epoch)
        return;
    /* the factor of the batch size and of rollbacks, which can be another after a resume */
    const double factor = fg_trainer_settings(at->trainer)->lr_factor;
    if (s->at.epoch < 0)
        s->at = (start){.epoch = at->epoch, .first_lr = fgi_optimizer_unscaled_lr(optimizer)};
    if (!isnan(s->lr))
        fg_optimizer_set_step_lr(optimizer, annealed(s, at->epoch - s->at.epoch) * factor);
}

/* ---- state ----------------------------------------------------------------------------------- */

static size_t save(void *self, void *bytes, size_t size)
{
    const swa *s = self;
    if (size >= sizeof s->at)
        memcpy(bytes, &s->at, sizeof s->at);
    return sizeof s->at;
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    swa *s = self;
    if (size != sizeof s->at)
        return fgi_fail(err, FG_EFORMAT, "expected %zu bytes, got %zu", sizeof s->at, size);
    memcpy(&s->at, bytes, sizeof s->at);
    return FG_OK;
}

static void destroy(void *self)
{
    swa *s = self;
    fgi_average_fini(&s->average);
    fgi_free(s);
}

static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
{
    swa *s = fgi_calloc(1, sizeof *s);
    if (s == NULL)
        return fgi_no_memory(err);
    s->fraction = fg_option_fraction(values, "swa_epoch_start");
    s->epochs = s->fraction < 0 ? fg_option_amount(values, "swa_epoch_start", INT64_MAX) : 0;
    s->lr = fg_option_is_auto(values, "swa_lrs") ? (double)NAN : fg_option_float(values, "swa_lrs");
    s->annealing = fg_option_int(values, "annealing_epochs");
    s->is_linear = strcmp(fg_option_string(values, "annealing_strategy"), "linear") == 0;
    s->has_buffers = fg_option_bool(values, "use_buffers");
    s->at.epoch = -1;
    *out_self = s;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    {.name = "swa_epoch_start",
     .kind = FG_OPTION_AMOUNT,
     .initial = "0.8",
     .min = 0,
     .max = FG_OPTION_UNLIMITED,
     .example = "0.75",
     .help = "Start after this many epochs: a fraction of all (0.8) or a count (40)."},
    {.name = "swa_lrs",
     .kind = FG_OPTION_FLOAT,
     .initial = "auto",
     .has_auto = true,
     .min = 0,
     .max = 1e30,
     .example = "0.05",
     .help = "Learning rate while weights are averaged, instead of the schedule's; scaled as "
             "optimizer.lr is. auto: that of the schedule."},
    {.name = "annealing_epochs",
     .kind = FG_OPTION_INT,
     .initial = "10",
     .min = 0,
     .max = FG_OPTION_UNLIMITED,
     .example = "5",
     .help = "Epochs over which the learning rate changes to swa_lrs; 0: at once."},
    {.name = "annealing_strategy",
     .kind = FG_OPTION_CHOICE,
     .initial = "cos",
     .choices = "cos|linear",
     .example = "linear",
     .help = "How it changes: along a half cosine, or linearly."},
    {.name = "use_buffers",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help = "Also average buffers, such as the running statistics of batch norm. false: "
             "evaluations use their current values."},
};

static const fg_callback_ops ops = {.name = "swa",
                                    .fit_start = on_fit_start,
                                    .save = save,
                                    .load = load,
                                    .destroy = destroy,
                                    .build = on_build,
                                    .update = on_update,
                                    .step_start = on_step_start,
                                    .value = on_value};

const fg_callback_entry fgi_swa_row = {
    .entry = {.name = "swa",
              .help = "evaluate with the mean of the weights of the last epochs",
              .spellings = "StochasticWeightAveraging",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
