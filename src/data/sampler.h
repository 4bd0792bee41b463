/* sampler.h - which samples a batch contains: pure functions of (seed, epoch, position). There is
 * no state, so resuming needs only two numbers, and each rank computes its rows independently.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_SAMPLER_H
#define FGI_DATA_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include "base/rng.h"

typedef struct fgi_sampler {
    int64_t count; /* samples per epoch */
    int64_t batch; /* samples per global batch, at least 1, a multiple of world */
    bool shuffle, drop_last;
    uint64_t seed;
    int rank, world;
} fgi_sampler;

/* A position in the infinite sequence of epochs: the complete state. */
typedef struct fgi_sample_position {
    int64_t epoch, position; /* samples of the epoch before this position */
} fgi_sample_position;

/* Whether there is a batch at this position; otherwise the epoch ends here. */
bool fgi_sampler_has_batch(const fgi_sampler *sampler, int64_t position);
/* The position after the batch at `position`. */
int64_t fgi_sampler_after(const fgi_sampler *sampler, int64_t position);
/* How many of this rank's batch / world rows are valid; these come first. */
int64_t fgi_sampler_valid(const fgi_sampler *sampler, int64_t position);
/* Number of batches per epoch. */
int64_t fgi_sampler_batches(const fgi_sampler *sampler);
/* The samples of rows first..first+n-1 of this rank in the batch at `place`. A row past the last
 * sample repeats the first row of the global batch. */
void fgi_sampler_rows(const fgi_sampler *sampler, fgi_sample_position place, int64_t first,
                      size_t n, int64_t *out_indices);

#endif
