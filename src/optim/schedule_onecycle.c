/* schedule_onecycle.c - learning rate and momentum over one cycle.
 * Source: Smith and Topin 2018, "Super-convergence"; PyTorch's OneCycleLR;
 * fastai's fit_one_cycle (combined_cos); OneCyclePolicy_TPU of Wabinab/TPU_utility ("kaggle").
 *
 * A cycle is a list of phases, each of which anneals from one value to another until its last step,
 * which may be fractional. A variant consists of defaults and of the step of the peak. fastai and
 * the utility would reach the final value one step after the last; here the last step has it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "optim/optimizer.h"

static const struct variant {
    const char *name;
    double pct_start, final_div_factor;
    const char *anneal;
} variants[] = {
    {"torch", 0.3, 1e4, "cos"},
    {"fastai", 0.25, 4e3, "cos"}, /* lr / 1e5 at the end */
    {"kaggle", 0.4, 1e4, "linear_cos"},
};

/* The options with the defaults of their variant. */
static fg_onecycle_options resolved(const void *options)
{
    fg_onecycle_options o = *(const fg_onecycle_options *)options;
    const struct variant *v = variants;
    while (strcmp(v->name, o.variant) != 0)
        v++;
    if (isnan(o.pct_start))
        o.pct_start = v->pct_start;
    if (isnan(o.final_div_factor))
        o.final_div_factor = v->final_div_factor;
    if (strcmp(o.anneal, "auto") == 0)
        o.anneal = v->anneal;
    return o;
}

static double blend(bool is_linear, double from, double to, double share)
{
    if (share <= 0 || share >= 1)
        return share <= 0 ? from : to; /* exactly, without rounding */
    if (is_linear)
        return from + (to - from) * share;
    return to + (from - to) / 2 * (cos(FGI_PI * share) + 1);
}

/* The step of the peak; PyTorch counts it from all steps, the others from those before the last. */
static double peak(const fg_onecycle_options *o, double last)
{
    if (strcmp(o->variant, "torch") == 0)
        return o->pct_start * (last + 1) - 1;
    return strcmp(o->variant, "kaggle") == 0 ? floor(o->pct_start * last) : o->pct_start * last;
}

/* The value at a step: from `start` up to `top`, then down to `end`. */
static double cycle(const fg_onecycle_options *o, double start, double top, double end,
                    int64_t step, int64_t total)
{
    const double last = (double)(total > 1 ? total - 1 : 0), t = fmin((double)step, last);
    const double turn = total > 1 ? peak(o, last) : -1; /* a single step is the last one */
    const bool rises_linearly = strcmp(o->anneal, "cos") != 0;
    const bool falls_linearly = strcmp(o->anneal, "linear") == 0;
    const struct {
        double to, until; /* the phase's last step */
    } phase[] = {{top, turn}, {o->three_phase ? start : end, 2 * turn}, {end, last}};
    double from = start, since = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 1 && !o->three_phase)
            continue;
        if (t <= phase[i].until || i == 2) {
            const double length = phase[i].until - since;
            const double share = length > 0 ? (t - since) / length : 1;
            return blend(i == 0 ? rises_linearly : falls_linearly, from, phase[i].to, share);
        }
        from = phase[i].to;
        since = phase[i].until;
    }
    return end;
}

static double lr_at(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const fg_onecycle_options o = resolved(options);
    const double start = lr / o.div_factor;
    return cycle(&o, start, lr, start / o.final_div_factor, step, total_steps);
}

static double momentum_at(const void *options, double momentum, int64_t step, int64_t total_steps)
{
    const fg_onecycle_options o = resolved(options);
    (void)momentum;
    if (o.no_cycle_momentum)
        return (double)NAN;
    return cycle(&o, o.max_momentum, o.base_momentum, o.max_momentum, step, total_steps);
}

static fg_status check(const void *options, fg_error *err)
{
    FGI_TRY_RESERVED(fg_onecycle_options, options, err);
    return FG_OK;
}

/* Options of a later version are left as they are, so that the check sees and refuses them. */
fg_schedule fg_onecycle(const fg_onecycle_options *options)
{
    return (fg_schedule){
        .row = &fgi_onecycle_row, .options = options, .is_complete = check(options, NULL) != FG_OK};
}

/* ---- row ------------------------------------------------------------------------------------- */

static const fg_option options[] = {
    FG_OPTION(fg_onecycle_options, variant, CHOICE, "torch", "torch|fastai|kaggle", "fastai",
              "Variant of the one-cycle schedule: PyTorch's OneCycleLR, fastai's fit_one_cycle, or "
              "the TPU utility for Kaggle. Sets the defaults of pct_start, anneal and "
              "final_div_factor."),
    FG_OPTION(fg_onecycle_options, pct_start, FLOAT, "auto", "auto|0..1", "0.1",
              "Fraction of the run in which the learning rate rises. auto: 0.3 for torch, 0.25 for "
              "fastai, 0.4 for kaggle."),
    FG_OPTION(fg_onecycle_options, anneal, CHOICE, "auto", "auto|cos|linear|linear_cos", "linear",
              "Shape of the rise and the fall: cosine, linear, or a linear rise and a cosine fall. "
              "auto: linear_cos for kaggle, otherwise cos.",
              .spellings = "cosine=cos"),
    FG_OPTION(fg_onecycle_options, div_factor, FLOAT, "25", "1e-6..1e12", "10",
              "The initial learning rate is lr / div_factor."),
    FG_OPTION(fg_onecycle_options, final_div_factor, FLOAT, "auto", "auto|1e-6..1e15", "1000",
              "The final learning rate is lr / div_factor / final_div_factor. auto: 4000 for "
              "fastai (lr / 1e5), otherwise 10000."),
    FG_OPTION(fg_onecycle_options, three_phase, BOOL, "false", NULL, "true",
              "Use three phases: warm up, cool down to the initial rate over the same number of "
              "steps, then anneal to the final rate."),
    FG_OPTION_NOT("cycle_momentum", fg_onecycle_options, no_cycle_momentum, "false",
                  "Cycle the momentum (adam: beta1) inversely to the learning rate, from "
                  "max_momentum to base_momentum and back."),
    FG_OPTION(fg_onecycle_options, base_momentum, FLOAT, "0.85", "0..<1", "0.8",
              "The lowest momentum of the cycle."),
    FG_OPTION(fg_onecycle_options, max_momentum, FLOAT, "0.95", "0..<1", "0.9",
              "The highest momentum of the cycle."),
};

const fg_schedule_entry fgi_onecycle_row = {
    .entry = {.name = "onecycle",
              .help = "it rises to optimizer.lr and then falls to almost 0 at the end of the run",
              .spellings = "1cycle|OneCycleLR",
              FG_OPTIONS(options, fg_onecycle_options)},
    .check = check,
    .lr = lr_at,
    .momentum = momentum_at};
