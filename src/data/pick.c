/* pick.c - the samples of a dataset that come from another one, its parent: which ones they are is
 * a function of the dataset.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "data/dataset.h"

enum { AT_ONCE = 256 };

/* Up to AT_ONCE samples of the parent. Returns how many. */
static size_t pick(const fgi_picked *picked, int64_t epoch, const int64_t *indices, size_t n,
                   int64_t out[AT_ONCE])
{
    const size_t count = n < AT_ONCE ? n : AT_ONCE;
    for (size_t i = 0; i < count; i++)
        out[i] = picked->pick(picked->self, epoch, indices[i]);
    return count;
}

fg_status fgi_picked_gather(const fgi_picked *picked, int64_t epoch, const int64_t *indices,
                            size_t n, void *const *out_fields, fg_error *err)
{
    const fg_dataset *parent = picked->parent;
    int64_t samples[AT_ONCE];
    void *rows[FG_MAX_FIELDS];
    for (size_t done = 0; done < n;) {
        const size_t count = pick(picked, epoch, indices + done, n - done, samples);
        for (int f = 0; f < parent->field_count; f++)
            rows[f] = (char *)out_fields[f] + done * parent->row_bytes[f];
        FGI_TRY(fgi_dataset_gather(parent, epoch, samples, count, rows, err));
        done += count;
    }
    return FG_OK;
}

void fgi_picked_prefetch(const fgi_picked *picked, int64_t epoch, const int64_t *indices, size_t n)
{
    int64_t samples[AT_ONCE];
    for (size_t done = 0; done < n;) {
        const size_t count = pick(picked, epoch, indices + done, n - done, samples);
        fgi_dataset_prefetch(picked->parent, epoch, samples, count);
        done += count;
    }
}
