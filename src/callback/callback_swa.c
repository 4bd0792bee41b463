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
#include "callback/average.h"
#include "callback/callback_rows.h"

/* In checkpoints. */
typedef struct start {
    int64_t epoch;   /* in which it started; -1: it has not */
    double first_lr; /* of the first step of this epoch, without the factor of the settings */
} start;

typedef struct swa {
    fgi_average average;
    fg_amount swa_epoch_start; /* a fraction of all epochs, or epochs, after which it starts */
    double swa_lrs;            /* NaN: that of the schedule */
    int64_t annealing_epochs;
    enum { COS, LINEAR } annealing_strategy;
    int64_t start_epoch; /* of this fit */
    start at;
} swa;

/* 1 / (n + 1): all values have the same weight. */
static fg_tensor weight(const void *self, fg_tensor taken, fg_dtype dtype)
{
    const fg_tensor one = fg_ones(fg_tensor_trace(taken), dtype, FG_SCALAR);
    return fg_div(one, fg_add(fg_cast(taken, dtype), one));
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
    const double fraction = s->swa_epoch_start.fraction;
    if (fraction > 0 && all < 0)
        return fgi_fail(err, FG_EINVAL,
                        "swa: swa_epoch_start is a fraction of all epochs, whose number is not "
                        "known: set max_epochs, or swa_epoch_start to an epoch");
    s->start_epoch = fraction > 0 ? (int64_t)(fraction * (double)all) : s->swa_epoch_start.count;
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
    const double done = s->annealing_epochs > 0 ? (double)epoch / (double)s->annealing_epochs : 1;
    const double t = fmin(done, 1);
    const double part = s->annealing_strategy == LINEAR ? t : (1 - cos(acos(-1.0) * t)) / 2;
    return s->swa_lrs * part + s->at.first_lr * (1 - part);
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
    if (!isnan(s->swa_lrs))
        fg_optimizer_set_step_lr(optimizer, annealed(s, at->epoch - s->at.epoch) * factor);
}

/* ---- state ----------------------------------------------------------------------------------- */

static size_t save(void *self, void *bytes, size_t size)
{
    const swa *s = self;
    return fgi_state_save(&s->at, sizeof s->at, bytes, size);
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    swa *s = self;
    return fgi_state_load(&s->at, sizeof s->at, bytes, size, err);
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    swa *s = self;
    s->average.name = "swa";
    s->average.weight = weight;
    s->at.epoch = -1;
    return FG_OK;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(swa, swa_epoch_start, AMOUNT, "0.8", "0..", "0.75",
              "Start after this many epochs: a fraction of all (0.8) or a count (40)."),
    FG_OPTION(swa, swa_lrs, FLOAT, "auto", "auto|0..", "0.05",
              "Learning rate while weights are averaged, instead of the schedule's; scaled as "
              "optimizer.lr is. auto: that of the schedule."),
    FG_OPTION(swa, annealing_epochs, INT, "10", "0..", "5",
              "Epochs over which the learning rate changes to swa_lrs; 0: at once."),
    FG_OPTION_ENUM(swa, annealing_strategy, "cos", "cos|linear", "linear",
                   "How it changes: along a half cosine, or linearly."),
    FGI_OPTION_USE_BUFFERS(swa),
};

static const fg_callback_ops ops = {.name = "swa",
                                    .fit_start = on_fit_start,
                                    .save = save,
                                    .load = load,
                                    .destroy = fgi_average_destroy,
                                    .build = fgi_average_build,
                                    .update = fgi_average_update,
                                    .step_start = on_step_start,
                                    .value = fgi_average_value};

const fg_callback_entry fgi_swa_row = {
    .entry = {.name = "swa",
              .help = "evaluate with the mean of the weights of the last epochs",
              .spellings = "StochasticWeightAveraging",
              FG_OPTIONS(options, swa)},
    .ops = &ops,
    .init = init};
