/* tuner.h - finds a learning rate by a few steps of training at increasing learning rates.
 *
 *     fg_lr_curve *curve;
 *     status = fg_tuner_lr_find(trainer, &task, &data, NULL, &curve, &err);
 *     if (status == FG_OK && isfinite(fg_lr_curve_suggestions(curve)->valley))
 *         fg_optimizer_set_lr(optimizer, fg_lr_curve_suggestions(curve)->valley);
 *     fg_lr_curve_destroy(curve);
 *
 * Source of the range test: Smith 2017, "Cyclical learning rates for training neural networks",
 * section 3.3.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_TUNER_H
#define FULGURITE_TUNER_H

#include <fulgurite/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Learning rates that a curve suggests, as values of the optimizer's lr: before the factor of the
 * Trainer's lr_scaling. NaN: the curve has none. The loss below is the smoothed one, and x the
 * logarithm of the learning rate. */
typedef struct fg_lr_suggestions {
    double valley;  /* the middle, in x, of the part in which the loss falls from 25 % to 75 % of
                       the way to its minimum */
    double steep;   /* where the loss falls fastest in this part: the lowest d loss / d x */
    double slide;   /* the left end of an interval of 15 % of the curve that slides from the minimum
                       to the left until the loss changes by nearly the same from point to point at
                       both ends, as in fastai: before the fall, or early in it */
    double minimum; /* a tenth of the learning rate with the lowest loss */
    /* The smallest and the largest valley of single segments, and how many segments have one. */
    double valley_low, valley_high;
    int usable_segments;
    double fall;          /* of the loss, from its level at the start to its minimum */
    double noise;         /* standard error of the fall */
    char note[256];       /* why there are no suggestions, or which limit to change; "": neither */
    uint64_t reserved[4]; /* set to 0 */
} fg_lr_suggestions;

/* Losses that were measured at increasing learning rates. */
typedef struct fg_lr_losses {
    const double *lr;   /* [count], positive and increasing */
    const double *loss; /* [segments][count]: of the step at each learning rate; NaN after a segment
                           has stopped */
    size_t count;
    int segments;
    double smoothing; /* width of the fit that smooths the losses, as a fraction of the range of x,
                         above 0 to 1                                                    [0.2] */
    uint64_t reserved[2];
} fg_lr_losses;

/* Suggests learning rates from losses that were measured elsewhere. out_smoothed, f64[count] or
 * NULL, is the mean of the segments, smoothed by a local linear fit over x with tricube weights;
 * losses above the level at the start by more than the fall count as that much above it, so that
 * divergence does not hide the minimum.
 *
 * A curve has suggestions if the loss falls by more than 6 times its noise and by 0.1 % of its
 * level. Errors: FG_EINVAL, FG_ENOMEM. Thread-safe. Source: Cleveland 1979, "Robust locally
 * weighted regression and smoothing scatterplots" (the fit). */
FG_API FG_MUST_USE fg_status fg_lr_suggest(const fg_lr_losses *losses, double *out_smoothed,
                                           fg_lr_suggestions *out, fg_error *err);

/* Called after each step of a sweep, on the calling thread; segment and step start at 0, lr is that
 * of the optimizer, before scaling. */
typedef void fg_lr_step_fn(void *self, int segment, int64_t step, double lr, double loss);

/* A member that is 0 is not given. */
typedef struct fg_lr_find_options {
    double min_lr;     /* > 0                                                             [1e-7] */
    double max_lr;     /* > min_lr                                                          [10] */
    int64_t steps;     /* optimizer steps of a sweep, 10 to 10000                          [100] */
    const char *sweep; /* how the learning rate increases: exponential, linear     [exponential] */
    int64_t segments;  /* sweeps from the same weights, each with samples in a different order,
                          whose losses are averaged; at most 100                             [3] */
    double diverged;   /* a sweep stops when the running mean of the loss exceeds its lowest value
                          by this many times its fall, or a tenth of its level if that is more; or
                          when the loss is not finite. FG_ZERO: only then                    [4] */
    double smoothing;  /* as for fg_lr_suggest                                             [0.2] */
    fg_lr_step_fn *step; /* NULL: none */
    void *self;
    uint64_t reserved[4];
} fg_lr_find_options;

/* The row that describes these options, as in the section `tuner` of a configuration. */
FG_API const fg_entry *fg_lr_find_options_row(void);

/* Runs one training step with the batch of `fit`, which fg_trainer_find_batch has found by
 * compiling, because a device may have less free memory than the compiler assumes. If a device runs
 * out of memory, the next smaller batch is tried, about 1/16 less, until a step succeeds: then
 * fit->was_run is true, and the other members describe that batch. fit->batch_size is 0 if not even
 * a batch of 1 per device can run. All state is restored exactly; no callbacks are called, and no
 * files are written. options may be NULL; `tried` is called after each step, on the calling thread.
 * Errors: FG_EINVAL and those of fg_trainer_fit except for FG_EDEVMEM. */
FG_API FG_MUST_USE fg_status fg_tuner_try_batch(fg_trainer *trainer, const fg_task *task,
                                                const fg_fit_data *data,
                                                const fg_batch_find_options *options,
                                                fg_batch_fit *fit, fg_error *err);

/* A curve of the loss over the learning rate. Immutable. */
typedef struct fg_lr_curve fg_lr_curve;

/* Measures the curve. Every step is that of fg_trainer_fit with the same Trainer, task and data:
 * the same program, batch, devices, accumulation, momentum and lr_scaling; only the learning rate
 * differs. Starts from the current weights, or those of options.checkpoints.resume or .weights; in
 * the end, all state is restored exactly, so that a fit that follows gives the same result as
 * without the search. Calls no callbacks and writes no files. Data of a source are read from the
 * beginning of an epoch.
 *
 * options may be NULL. *out is destroyed with fg_lr_curve_destroy. With handle_signals, a signal
 * stops the search: FG_ESTOPPED. Other errors: FG_EINVAL, FG_ENOMEM and those of fg_trainer_fit. */
FG_API FG_MUST_USE fg_status fg_tuner_lr_find(fg_trainer *trainer, const fg_task *task,
                                              const fg_fit_data *data,
                                              const fg_lr_find_options *options, fg_lr_curve **out,
                                              fg_error *err);
FG_API void fg_lr_curve_destroy(fg_lr_curve *curve); /* NULL is allowed */

/* Number of learning rates of the curve, without those after the last segment stopped. */
FG_API size_t fg_lr_curve_count(const fg_lr_curve *curve);
FG_API int fg_lr_curve_segments(const fg_lr_curve *curve);
/* f64[count], borrowed: the learning rates, before scaling; the losses of a segment (NULL if there
 * is no such segment), NaN after it stopped; the smoothed loss. */
FG_API const double *fg_lr_curve_lr(const fg_lr_curve *curve);
FG_API const double *fg_lr_curve_loss(const fg_lr_curve *curve, int segment);
FG_API const double *fg_lr_curve_smoothed(const fg_lr_curve *curve);
/* The factor by which lr_scaling multiplies a learning rate; 1: no scaling. */
FG_API double fg_lr_curve_factor(const fg_lr_curve *curve);
/* Borrowed. */
FG_API const fg_lr_suggestions *fg_lr_curve_suggestions(const fg_lr_curve *curve);

#ifdef __cplusplus
}
#endif
#endif
