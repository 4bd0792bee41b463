/* lr_find.c - trains a few steps at rising learning rates, and restores all state.
 *
 * A sweep replaces the schedule of the optimizer and nothing else: learning rate and momentum are
 * inputs of the train program, so the program is the one that a fit runs. trial.c restores what the
 * steps have changed, between sweeps and at the end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/tuner.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "base/reserved.h"
#include "optim/optimizer.h"
#include "option/option.h"
#include "train/trial.h"

enum { START_STEPS = 5 };

struct fg_lr_curve {
    size_t count;
    int segments;
    double factor;
    double *lr, *loss, *smoothed; /* [count], [segments][count], [count] */
    fg_lr_suggestions suggestions;
};

/* ---- the schedule of a sweep ----------------------------------------------------------------- */

/* Learning rates of a sweep; also the options of its schedule. */
typedef struct sweep {
    double min_lr, max_lr, factor;
    double momentum; /* that the fit would start with; NaN: the schedule of the fit sets none */
    int64_t steps;
    bool is_linear;
} sweep;

static double given_lr(const sweep *s, int64_t step)
{
    const double at = (double)(step % s->steps) / (double)(s->steps - 1);
    return s->is_linear ? s->min_lr + at * (s->max_lr - s->min_lr)
                        : s->min_lr * pow(s->max_lr / s->min_lr, at);
}

static double sweep_lr(const void *options, double lr, int64_t step, int64_t total_steps)
{
    const sweep *s = options;
    return given_lr(s, step) * s->factor;
}

static double sweep_momentum(const void *options, double momentum, int64_t step,
                             int64_t total_steps)
{
    return ((const sweep *)options)->momentum;
}

static const fg_schedule_entry sweep_row = {.entry = {.name = "lr_find", .size = sizeof(sweep)},
                                            .lr = sweep_lr,
                                            .momentum = sweep_momentum};

/* ---- the search ------------------------------------------------------------------------------ */

typedef struct search {
    const fg_fit_data *data;
    fgi_trial *trial;
    const fg_lr_find_options *options; /* with defaults */
    sweep sweep;
    fg_lr_curve *curve;
    int segment;
    /* Of this segment: the running mean of the loss, its lowest value, and that of its start. */
    double mean, weight, lowest, start;
} search;

/* In the order of --print-config. */
static const fg_option find_options[] = {
    FG_OPTION(fg_lr_find_options, min_lr, FLOAT, "1e-07", "0<..", "1e-6",
              "The lowest learning rate of a sweep."),
    FG_OPTION(fg_lr_find_options, max_lr, FLOAT, "10", "0<..", "1",
              "The highest learning rate of a sweep; it ends earlier if the loss diverges."),
    FG_OPTION(fg_lr_find_options, steps, INT, "100", "10..10000", "200",
              "Optimizer steps of a sweep."),
    FG_OPTION(fg_lr_find_options, sweep, CHOICE, "exponential", "exponential|linear", "linear",
              "How the learning rate increases from step to step."),
    FG_OPTION(
        fg_lr_find_options, segments, INT, "3", "1..100", "5",
        "Number of sweeps. Each starts from the same weights and reads the samples in a different "
        "order; their losses are averaged, and their spread is reported."),
    FG_OPTION(
        fg_lr_find_options, diverged, FLOAT, "4", "0..", "10",
        "End a sweep when the running mean of the loss exceeds its lowest value by this many times "
        "its fall (at least a tenth of the loss at the start). 0: only when the loss is not "
        "finite."),
    FG_OPTION(
        fg_lr_find_options, smoothing, FLOAT, "0.2", "1e-6..1", "0.3",
        "Width of the local fit that smooths the curve, as a fraction of the logarithmic range of "
        "learning rates."),
};

static const fg_entry find_row = {.name = "tuner",
                                  .help = "the search for a learning rate",
                                  FG_OPTIONS(find_options, fg_lr_find_options)};

const fg_entry *fg_lr_find_options_row(void) { return &find_row; }

/* The options with their defaults, checked; free them with fgi_free. */
static fg_status complete(const fg_lr_find_options *given, void **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY_RESERVED(fg_lr_find_options, given, err);
    FGI_TRY(fgi_row_of(&find_row, given, out, err));
    const fg_lr_find_options *o = *out;
    if (o->min_lr < o->max_lr)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "tuner.min_lr is %g, tuner.max_lr %g: expected a smaller min_lr", o->min_lr,
                    o->max_lr);
}

static fg_status create_curve(const fg_lr_find_options *o, fg_lr_curve **out, fg_error *err)
{
    const size_t steps = (size_t)o->steps, segments = (size_t)o->segments;
    fg_lr_curve *curve = fgi_calloc(1, sizeof *curve);
    if (curve == NULL)
        return fgi_no_memory(err);
    curve->lr = fgi_calloc((2 + segments) * steps, sizeof(double));
    if (curve->lr == NULL) {
        fgi_free(curve);
        return fgi_no_memory(err);
    }
    curve->smoothed = curve->lr + steps;
    curve->loss = curve->lr + 2 * steps;
    curve->segments = (int)o->segments;
    for (size_t i = 0; i < segments * steps; i++)
        curve->loss[i] = (double)NAN;
    *out = curve;
    return FG_OK;
}

/* Updates the running mean; whether the loss has diverged. */
static bool has_diverged(search *s, int64_t step, double loss)
{
    const double decay = 0.8;
    if (!isfinite(loss))
        return true;
    s->mean = decay * s->mean + (1 - decay) * loss;
    s->weight = decay * s->weight + (1 - decay);
    const double mean = s->mean / s->weight;
    if (step < START_STEPS) {
        s->start = s->lowest = mean;
        return false;
    }
    s->lowest = fmin(s->lowest, mean);
    const double fall = fmax(s->start - s->lowest, 0.1 * fabs(s->start));
    return s->options->diverged > 0 && mean > s->lowest + s->options->diverged * fall;
}

/* One sweep, from the current weights. */
static fg_status run_segment(search *s, fg_error *err)
{
    fg_lr_curve *curve = s->curve;
    const int64_t steps = s->options->steps;
    double *losses = curve->loss + s->segment * steps;
    bool is_over = false;
    s->mean = s->weight = 0;
    FGI_TRY(fgi_trial_start(s->trial, s->data, s->segment * steps, err));
    for (int64_t i = 0; i < steps && !is_over; i++) {
        FGI_TRY(fgi_trial_step(s->trial, &losses[i], err));
        is_over = has_diverged(s, i, losses[i]);
        if (is_over)
            losses[i] = isfinite(losses[i]) ? losses[i] : (double)NAN;
        curve->count = (size_t)i + 1 > curve->count ? (size_t)i + 1 : curve->count;
        if (s->options->step != NULL)
            s->options->step(s->options->self, s->segment, i, curve->lr[i], losses[i]);
    }
    return FG_OK;
}

/* Replaces the schedule; the momentum is that of the fit's first step. */
static fg_status set_sweep(search *s, fg_error *err)
{
    fg_optimizer *o = fgi_trial_optimizer(s->trial);
    const fg_lr_find_options *options = s->options;
    if (fg_optimizer_part_count(o) > 0)
        return fgi_fail(err, FG_EINVAL,
                        "lr_find: the optimizer joins '%s': a search compares values of one "
                        "learning rate by one loss; set the learning rate of each part",
                        fg_optimizer_name(o));
    s->sweep = (sweep){
        .min_lr = options->min_lr,
        .max_lr = options->max_lr,
        .factor = o->place.lr_factor,
        .steps = options->steps,
        .is_linear = strcmp(options->sweep, "linear") == 0,
        .momentum = fg_schedule_momentum(&o->place.schedule, (double)NAN, 0, o->place.total_steps)};
    const fg_schedule schedule = {.row = &sweep_row, .options = &s->sweep, .is_complete = true};
    for (int64_t i = 0; i < options->steps; i++)
        s->curve->lr[i] = given_lr(&s->sweep, i);
    s->curve->factor = o->place.lr_factor;
    return fg_optimizer_set_schedule(o, &schedule, options->steps * options->segments, err);
}

static fg_status run_segments(void *self, fgi_trial *trial, fg_error *err)
{
    search *s = self;
    s->trial = trial;
    FGI_TRY(set_sweep(s, err));
    for (s->segment = 0; s->segment < s->options->segments; s->segment++)
        FGI_TRY(run_segment(s, err));
    return FG_OK;
}

/* Removes the learning rates that no segment reached from the array of losses. */
static void pack_losses(fg_lr_curve *curve, size_t steps)
{
    for (int k = 1; k < curve->segments; k++)
        memmove(curve->loss + (size_t)k * curve->count, curve->loss + (size_t)k * steps,
                curve->count * sizeof curve->loss[0]);
}

static fg_status find(search *s, fg_trainer *trainer, const fg_task *task, fg_error *err)
{
    FGI_TRY(create_curve(s->options, &s->curve, err));
    fg_lr_curve *c = s->curve;
    FGI_TRY(fgi_trial_run(trainer, task, s->data, true, run_segments, s, err));
    pack_losses(c, (size_t)s->options->steps);
    const fg_lr_losses losses = {.lr = c->lr,
                                 .loss = c->loss,
                                 .count = c->count,
                                 .segments = c->segments,
                                 .smoothing = s->options->smoothing};
    return fg_lr_suggest(&losses, c->smoothed, &c->suggestions, err);
}

fg_status fg_tuner_lr_find(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                           const fg_lr_find_options *options, fg_lr_curve **out, fg_error *err)
{
    search s = {.data = data};
    void *own = NULL;
    fg_status status = complete(options, &own, err);
    s.options = own;
    if (status == FG_OK)
        status = find(&s, trainer, task, err);
    fgi_free(own);
    *out = status == FG_OK ? s.curve : NULL;
    if (status != FG_OK)
        fg_lr_curve_destroy(s.curve);
    return status;
}

/* ---- the curve ------------------------------------------------------------------------------- */

void fg_lr_curve_destroy(fg_lr_curve *curve)
{
    if (curve == NULL)
        return;
    fgi_free(curve->lr);
    fgi_free(curve);
}

size_t fg_lr_curve_count(const fg_lr_curve *curve) { return curve->count; }

int fg_lr_curve_segments(const fg_lr_curve *curve) { return curve->segments; }

const double *fg_lr_curve_lr(const fg_lr_curve *curve) { return curve->lr; }

const double *fg_lr_curve_loss(const fg_lr_curve *curve, int segment)
{
    return segment >= 0 && segment < curve->segments ? curve->loss + (size_t)segment * curve->count
                                                     : NULL;
}

const double *fg_lr_curve_smoothed(const fg_lr_curve *curve) { return curve->smoothed; }

double fg_lr_curve_factor(const fg_lr_curve *curve) { return curve->factor; }

const fg_lr_suggestions *fg_lr_curve_suggestions(const fg_lr_curve *curve)
{
    return &curve->suggestions;
}
