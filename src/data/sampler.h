/* sampler.h - which samples a batch holds: pure functions of (seed, epoch, position). Nothing is
 * remembered, so a resume is just a pair of numbers, and rank r of any world finds its rows alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_SAMPLER_H
#define FGI_DATA_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include "base/rng.h"

typedef struct fgi_sampler {
    int64_t count; /* samples of an epoch */
    int64_t batch; /* samples of a global batch, at least 1, a multiple of world */
    bool shuffle, drop_last;
    uint64_t seed;
    int rank, world;
} fgi_sampler;

/* A place in the endless sequence of epochs: all the state there is. */
typedef struct fgi_sample_position {
    int64_t epoch, position; /* samples of the epoch before this place */
} fgi_sample_position;

/* Is there a batch at this position, or does the epoch end here? */
bool fgi_sampler_has_batch(const fgi_sampler *sampler, int64_t position);
/* The position after the batch at `position`. */
int64_t fgi_sampler_after(const fgi_sampler *sampler, int64_t position);
/* How many of this rank's batch / world rows are real; these come first. */
int64_t fgi_sampler_valid(const fgi_sampler *sampler, int64_t position);
/* Number of batches from position 0 to the end. */
int64_t fgi_sampler_batches(const fgi_sampler *sampler);
/* The samples of this rank's rows first..first+n-1 of the batch at `place`. A row past the last
 * sample repeats the global batch's first one. */
void fgi_sampler_rows(const fgi_sampler *sampler, fgi_sample_position place, int64_t first,
                      size_t n, int64_t *out_indices);

#endif
