/* sampling.h - datasets that draw their samples from others: by weight, balanced by class, or mixed
 * from several datasets.
 *
 * Such a dataset has a fixed number of samples per epoch. Which samples these are is a pure
 * function of (seed, epoch): the same for any number of threads, devices and processes, and after
 * resuming at any position. Loaders and the Trainer accept it like any other dataset; use it for
 * training only. The new dataset keeps the ones it draws from alive. Handles are thread-safe, like
 * all datasets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_SAMPLING_H
#define FULGURITE_SAMPLING_H

#include <fulgurite/base.h>
#include <fulgurite/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of a dataset that draws its samples; NULL: the defaults in []. */
typedef struct fg_sampling_options {
    int64_t count; /* samples per epoch             [as many as the datasets that it draws from] */
    uint64_t seed; /* keys the draws, together with the epoch                               [0] */
    uint64_t reserved[2];
} fg_sampling_options;

/* Draws samples with probabilities proportional to weights[0..count of parent), which are finite,
 * not negative, not all 0, and copied. In each epoch, sample i is drawn
 * n * weights[i] / sum(weights) times, rounded down or up at random, where n is the number of
 * samples per epoch: systematic sampling, whose counts vary less than those of independent draws.
 * Errors: FG_EINVAL, FG_EUNSUPPORTED (a source), FG_ENOMEM.
 * Source: Madow and Madow 1944, "On the theory of systematic sampling, I". */
FG_API FG_MUST_USE fg_status fg_dataset_weighted(fg_dataset *parent, const double *weights,
                                                 const fg_sampling_options *options,
                                                 fg_dataset **out, fg_error *err);

/* Draws samples such that every class that has samples is equally frequent: fg_dataset_weighted
 * with weight 1 / (number of samples of the class). Errors: those of fg_dataset_weighted and
 * fg_dataset_labels; FG_EINVAL if a label is not a class. */
FG_API FG_MUST_USE fg_status fg_dataset_balanced(fg_dataset *parent,
                                                 const fg_sampling_options *options,
                                                 fg_dataset **out, fg_error *err);

/* Maximum number of datasets of a mix. */
#define FG_MAX_MIXED 64

/* Options of a mix; NULL: the defaults in []. */
typedef struct fg_mix_options {
    const double *weights; /* one for each dataset                 [their numbers of samples] */
    int64_t count;         /* samples per epoch            [the total count of the datasets] */
    uint64_t seed;         /* keys the draws, together with the epoch                    [0] */
    uint64_t reserved[2];
} fg_mix_options;

/* Mixes count datasets with the same fields and classes: in each epoch, n * weights[i] /
 * sum(weights) samples are from datasets[i], rounded by the method of the largest remainder, where
 * n is the number of samples per epoch. From each dataset, every sample is drawn once before any is
 * drawn again, over all epochs. A weight may be 0; a dataset of weight above 0 must have samples.
 * If a dataset's own samples vary by epoch, its epoch is the number of times that it has been drawn
 * completely. Errors: FG_EINVAL, FG_EUNSUPPORTED (a source), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_mix(fg_dataset *const *datasets, size_t count,
                                            const fg_mix_options *options, fg_dataset **out,
                                            fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
