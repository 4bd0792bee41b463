/* onecycle.c - learning rate and momentum over one cycle.
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
#include "base/reserved.h"
#include "optim/optimizer.h"

static const char *const anneals[] = {"cos", "linear", "linear_cos"};
enum { COS, LINEAR, LINEAR_COS, ANNEALS };
enum { TORCH, FASTAI, KAGGLE, VARIANTS };
static const struct {
    const char *name;
    double pct_start, div_factor, final_div_factor;
    int anneal;
} variants[VARIANTS] = {
    [TORCH] = {"torch", 0.3, 25, 1e4, COS},
    [FASTAI] = {"fastai", 0.25, 25, 4e3, COS}, /* lr / 1e5 at the end */
    [KAGGLE] = {"kaggle", 0.4, 25, 1e4, LINEAR_COS},
};
_Static_assert(sizeof(fg_onecycle_options) <= sizeof(((fg_schedule *)NULL)->settings),
               "raise FG_SCHEDULE_WORDS");

/* Indices of names; the number of names if the name is unknown. NULL is the default. */
static int variant_of(const char *name)
{
    int i = TORCH;
    while (name != NULL && i < VARIANTS && strcmp(name, variants[i].name) != 0)
        i++;
    return i;
}

static int anneal_of(const char *name)
{
    int i = COS;
    while (i < ANNEALS && strcmp(name, anneals[i]) != 0)
        i++;
    return i;
}

/* With the library's strings, so that the caller's need not outlive the call. Unknown names are
 * kept for the check. */
static fg_onecycle_options with_own_names(fg_onecycle_options o)
{
    const int variant = variant_of(o.variant);
    if (variant < VARIANTS)
        o.variant = variants[variant].name;
    const int anneal = o.anneal != NULL ? anneal_of(o.anneal) : ANNEALS;
    if (anneal < ANNEALS)
        o.anneal = anneals[anneal];
    return o;
}

static fg_onecycle_options resolved(const void *settings)
{
    fg_onecycle_options o;
    memcpy(&o, settings, sizeof o);
    o = with_own_names(o);
    const int variant = variant_of(o.variant) % VARIANTS;
    if (o.anneal == NULL)
        o.anneal = anneals[variants[variant].anneal];
    o.pct_start = fgi_or_default(o.pct_start, variants[variant].pct_start);
    o.div_factor = fgi_or_default(o.div_factor, variants[variant].div_factor);
    o.final_div_factor = fgi_or_default(o.final_div_factor, variants[variant].final_div_factor);
    o.base_momentum = fgi_or_default(o.base_momentum, 0.85);
    o.max_momentum = fgi_or_default(o.max_momentum, 0.95);
    return o;
}

static fg_status check(const void *settings, fg_error *err)
{
    const fg_onecycle_options o = resolved(settings);
    FGI_TRY_RESERVED(fg_onecycle_options, &o, err);
    if (variant_of(o.variant) == VARIANTS)
        return fgi_fail(err, FG_EINVAL,
                        "unknown variant '%s': expected 'torch', 'fastai' or 'kaggle'", o.variant);
    if (anneal_of(o.anneal) == ANNEALS)
        return fgi_fail(err, FG_EINVAL,
                        "unknown anneal '%s': expected 'cos', 'linear' or 'linear_cos'", o.anneal);
    if (!(o.pct_start >= 0 && o.pct_start <= 1))
        return fgi_fail(err, FG_EINVAL, "pct_start is %g: expected a fraction of the steps, 0 to 1",
                        o.pct_start);
    if (!(o.div_factor > 0 && o.final_div_factor > 0))
        return fgi_fail(err, FG_EINVAL,
                        "div_factor is %g and final_div_factor %g: expected numbers greater than 0",
                        o.div_factor, o.final_div_factor);
    if (!(o.base_momentum >= 0 && o.base_momentum < 1 && o.max_momentum >= 0 && o.max_momentum < 1))
        return fgi_fail(err, FG_EINVAL,
                        "base_momentum is %g and max_momentum %g: expected 0 <= momentum < 1",
                        o.base_momentum, o.max_momentum);
    return FG_OK;
}

static double blend(bool is_linear, double from, double to, double share)
{
    if (share <= 0 || share >= 1)
        return share <= 0 ? from : to; /* exactly, without rounding */
    if (is_linear)
        return from + (to - from) * share;
    return to + (from - to) / 2 * (cos(3.14159265358979323846 * share) + 1);
}

/* The step of the peak; PyTorch counts it from all steps, the others from those before the last. */
static double peak(const fg_onecycle_options *s, double last)
{
    const int variant = variant_of(s->variant);
    if (variant == TORCH)
        return s->pct_start * (last + 1) - 1;
    return variant == KAGGLE ? floor(s->pct_start * last) : s->pct_start * last;
}

/* The value at a step: from `start` up to `top`, then down to `end`. */
static double cycle(const fg_onecycle_options *s, double start, double top, double end,
                    int64_t step, int64_t total)
{
    const double last = (double)(total > 1 ? total - 1 : 0), t = fmin((double)step, last);
    const double turn = total > 1 ? peak(s, last) : -1; /* a single step is the last one */
    const int anneal = anneal_of(s->anneal);
    const struct {
        double to, until; /* the phase's last step */
    } phase[] = {{top, turn}, {s->three_phase ? start : end, 2 * turn}, {end, last}};
    double from = start, since = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 1 && !s->three_phase)
            continue;
        if (t <= phase[i].until || i == 2) {
            const double length = phase[i].until - since;
            const double share = length > 0 ? (t - since) / length : 1;
            const bool is_linear = anneal == LINEAR || (anneal == LINEAR_COS && i == 0);
            return blend(is_linear, from, phase[i].to, share);
        }
        from = phase[i].to;
        since = phase[i].until;
    }
    return end;
}

static double lr_at(const void *settings, double lr, int64_t step, int64_t total_steps)
{
    const fg_onecycle_options o = resolved(settings);
    const double start = lr / o.div_factor;
    return cycle(&o, start, lr, start / o.final_div_factor, step, total_steps);
}

static double momentum_at(const void *settings, double momentum, int64_t step, int64_t total_steps)
{
    const fg_onecycle_options o = resolved(settings);
    (void)momentum;
    return cycle(&o, o.max_momentum, o.base_momentum, o.max_momentum, step, total_steps);
}

const fg_schedule_ops fgi_onecycle_ops = {
    .name = "onecycle", .check = check, .lr = lr_at, .momentum = momentum_at};
static const fg_schedule_ops without_momentum = {.name = "onecycle", .check = check, .lr = lr_at};

fg_schedule fg_onecycle(const fg_onecycle_options *options)
{
    fg_onecycle_options o = options != NULL ? *options : (fg_onecycle_options){0};
    fg_schedule schedule = {.ops = o.no_cycle_momentum ? &without_momentum : &fgi_onecycle_ops};
    o = with_own_names(o);
    memcpy(schedule.settings, &o, sizeof o);
    return schedule;
}

/* ---- row ------------------------------------------------------------------------------------- */

static fg_status create(const fg_option_values *values, fg_schedule *out, fg_error *err)
{
    *out = fg_onecycle(&(fg_onecycle_options){
        .variant = fg_option_string(values, "variant"),
        .pct_start = fg_option_number(values, "pct_start"),
        .anneal = fg_option_is_auto(values, "anneal") ? NULL : fg_option_string(values, "anneal"),
        .div_factor = fg_option_number(values, "div_factor"),
        .final_div_factor = fg_option_number(values, "final_div_factor"),
        .base_momentum = fg_option_number(values, "base_momentum"),
        .max_momentum = fg_option_number(values, "max_momentum"),
        .no_cycle_momentum = !fg_option_bool(values, "cycle_momentum"),
        .three_phase = fg_option_bool(values, "three_phase"),
    });
    return fg_schedule_check(out, err);
}

/* clang-format off */
static const fg_option options[] = {
    {.name = "variant", .kind = FG_OPTION_CHOICE, .initial = "torch", .range = "torch|fastai|kaggle",
     .example = "fastai",
     .help = "Variant of the one-cycle schedule: PyTorch's OneCycleLR, fastai's fit_one_cycle, or "
             "the TPU utility for Kaggle. Sets the defaults of pct_start, anneal and "
             "final_div_factor."},
    {.name = "pct_start", .kind = FG_OPTION_FLOAT, .initial = "auto", .range = "auto|0..<1", .example = "0.1",
     .help = "Fraction of the run in which the learning rate rises. auto: 0.3 for torch, 0.25 for "
             "fastai, 0.4 for kaggle."},
    {.name = "anneal", .kind = FG_OPTION_CHOICE, .initial = "auto", .range = "auto|cos|linear|linear_cos", .spellings = "cosine=cos", .example = "linear",
     .help = "Shape of the rise and the fall: cosine, linear, or a linear rise and a cosine fall. "
             "auto: linear_cos for kaggle, otherwise cos."},
    {.name = "div_factor", .kind = FG_OPTION_FLOAT, .initial = "25", .range = "1e-6..1e12", .example = "10", .help = "The initial learning rate is lr / div_factor."},
    {.name = "final_div_factor", .kind = FG_OPTION_FLOAT, .initial = "auto", .range = "auto|1e-6..1e15", .example = "1000",
     .help = "The final learning rate is lr / div_factor / final_div_factor. auto: 4000 for fastai "
             "(lr / 1e5), otherwise 10000."},
    {.name = "three_phase", .kind = FG_OPTION_BOOL, .initial = "false", .example = "true",
     .help = "Use three phases: warm up, cool down to the initial rate over the same number of "
             "steps, then anneal to the final rate."},
    {.name = "cycle_momentum", .kind = FG_OPTION_BOOL, .initial = "true", .example = "false",
     .help = "Cycle the momentum (adam: beta1) inversely to the learning rate, from max_momentum to "
             "base_momentum and back."},
    {.name = "base_momentum", .kind = FG_OPTION_FLOAT, .initial = "0.85", .range = "0..<1", .example = "0.8", .help = "The lowest momentum of the cycle."},
    {.name = "max_momentum", .kind = FG_OPTION_FLOAT, .initial = "0.95", .range = "0..<1", .example = "0.9", .help = "The highest momentum of the cycle."},
};
/* clang-format on */

const fg_schedule_entry fgi_onecycle_row = {
    .entry = {.name = "onecycle",
              .help = "it rises to optimizer.lr and then falls to almost 0 at the end of the run",
              .options = options,
              .option_count = sizeof options / sizeof options[0],
              .spellings = "1cycle|OneCycleLR"},
    .create = create};
