/* sampler.c - the order of samples. Position p of an epoch is sample permute(p), with a permutation
 * keyed by (seed, epoch) and computed one index at a time. Global batch rows are consecutive
 * positions, divided into `world` equal slices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/sampler.h"

bool fgi_sampler_has_batch(const fgi_sampler *sampler, int64_t position)
{
    if (position >= sampler->count)
        return false;
    return !sampler->drop_last || sampler->count - position >= sampler->batch;
}

int64_t fgi_sampler_after(const fgi_sampler *sampler, int64_t position)
{
    const int64_t left = sampler->count - position;
    return position + (left < sampler->batch ? left : sampler->batch);
}

int64_t fgi_sampler_valid(const fgi_sampler *sampler, int64_t position)
{
    const int64_t rows = sampler->batch / sampler->world;
    const int64_t left = sampler->count - position - rows * sampler->rank;
    return left < 0 ? 0 : left < rows ? left : rows;
}

int64_t fgi_sampler_batches(const fgi_sampler *sampler)
{
    const int64_t whole = sampler->count / sampler->batch;
    return whole + (!sampler->drop_last && sampler->count % sampler->batch != 0);
}

void fgi_sampler_rows(const fgi_sampler *sampler, fgi_sample_position place, int64_t first,
                      size_t n, int64_t *out_indices)
{
    const int64_t slice = place.position + sampler->batch / sampler->world * sampler->rank + first;
    const int64_t left = slice < sampler->count ? sampler->count - slice : 0;
    const size_t real = (uint64_t)left < n ? (size_t)left : n;
    uint64_t *out = (uint64_t *)out_indices; /* the same bits: no index is larger than INT64_MAX */
    const fgi_key seed = fgi_key_fold_text(fgi_key_from_seed(sampler->seed), "data.order");
    const fgi_key key = fgi_key_fold(seed, (uint64_t)place.epoch);
    const uint64_t count = (uint64_t)sampler->count;
    uint64_t filler = (uint64_t)place.position;
    if (sampler->shuffle) {
        fgi_permute_range(key, count, (uint64_t)slice, real, out);
        filler = real < n ? fgi_permute(key, count, filler) : 0;
    } else {
        for (size_t i = 0; i < real; i++)
            out[i] = (uint64_t)slice + i;
    }
    for (size_t i = real; i < n; i++)
        out[i] = filler;
}
