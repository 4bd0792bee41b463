/* weighted.c - a dataset that draws samples from another one by weight: systematic sampling. The n
 * samples of an epoch are n points at equal distances on a line, on which sample i covers an
 * interval of length weights[i]; a random offset moves all points of an epoch. A permutation keyed
 * by the epoch then removes the order of the points.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/sampling.h>
#include <inttypes.h>
#include <math.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/rng.h"
#include "data/dataset.h"

typedef struct weighted {
    fgi_view view;
    double *ends; /* [parent's count] where the interval of each sample ends */
    fgi_key order, offset;
} weighted;

/* The sample whose interval contains the point: the first one that ends after it. Intervals of
 * length 0 contain no point. */
static int64_t find(const weighted *w, double point)
{
    int64_t low = 0, high = w->view.parent->count - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (w->ends[middle] > point)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int64_t draw(const void *self, int64_t epoch, int64_t index)
{
    const weighted *w = self;
    const fgi_key order = fgi_key_fold(w->order, (uint64_t)epoch);
    const double place = (double)fgi_permute(order, (uint64_t)w->view.count, (uint64_t)index);
    const double offset = (double)fgi_rng_uniform(w->offset, (uint64_t)epoch);
    const double total = w->ends[w->view.parent->count - 1];
    const double point = (place + offset) / (double)w->view.count * total;
    return find(w, point < total ? point : nextafter(total, 0));
}

static void weighted_destroy(void *self) { fgi_free(((weighted *)self)->ends); }

/* ---- creation -------------------------------------------------------------------------------- */

static fg_status add_weights(weighted *w, const double *weights, fg_error *err)
{
    double end = 0;
    for (int64_t i = 0; i < w->view.parent->count; i++) {
        if (!isfinite(weights[i]) || weights[i] < 0)
            return fgi_fail(err, FG_EINVAL,
                            "the weight of sample %" PRId64
                            " is %g: expected 0 or a positive number",
                            i, weights[i]);
        w->ends[i] = end += weights[i];
    }
    if (!(end > 0 && isfinite(end)))
        return fgi_fail(err, FG_EINVAL,
                        "the sum of the weights is %g: expected a positive, finite number", end);
    return FG_OK;
}

static fg_status check(const fg_dataset *parent, const fg_sampling_options *options, fg_error *err)
{
    FGI_TRY_RESERVED(fg_sampling_options, options, err);
    FGI_TRY(fgi_dataset_check_random(parent, err));
    if (options != NULL && options->count < 0)
        return fgi_fail(err, FG_EINVAL,
                        "count is %" PRId64 ": expected the number of samples per epoch",
                        options->count);
    if (parent->count == 0)
        return fgi_fail(err, FG_EINVAL, "cannot draw from a dataset without samples");
    return FG_OK;
}

fg_status fg_dataset_weighted(fg_dataset *parent, const double *weights,
                              const fg_sampling_options *options, fg_dataset **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY(check(parent, options, err));
    weighted *w = fgi_calloc(1, sizeof(*w));
    double *ends = fgi_calloc((size_t)parent->count, sizeof(*ends));
    if (w == NULL || ends == NULL) {
        fgi_free(w);
        fgi_free(ends);
        return fgi_no_memory(err);
    }
    const fg_sampling_options o = options != NULL ? *options : (fg_sampling_options){0};
    const fgi_key key = fgi_key_from_seed(o.seed);
    *w = (weighted){.view = {.parent = parent,
                             .count = o.count > 0 ? o.count : parent->count,
                             .is_drawn = true,
                             .pick = draw,
                             .destroy = weighted_destroy},
                    .ends = ends,
                    .order = fgi_key_fold_text(key, "data.weighted.order"),
                    .offset = fgi_key_fold_text(key, "data.weighted.offset")};
    const fg_status status = add_weights(w, weights, err);
    if (status == FG_OK)
        return fgi_view_create(&w->view, out, err);
    fgi_free(ends);
    fgi_free(w);
    return status;
}

/* ---- balanced by class ----------------------------------------------------------------------- */

/* weights[i] = 1 / (number of samples of the class of sample i). */
static fg_status class_weights(const fg_dataset *parent, const int32_t *labels, double *sizes,
                               double *weights, fg_error *err)
{
    for (int64_t i = 0; i < parent->count; i++) {
        if (labels[i] < 0 || labels[i] >= parent->class_count)
            return fgi_fail(err, FG_EINVAL,
                            "the label of sample %" PRId64 " is %d: expected 0 to %" PRId64, i,
                            labels[i], parent->class_count - 1);
        sizes[labels[i]]++;
    }
    for (int64_t i = 0; i < parent->count; i++)
        weights[i] = 1 / sizes[labels[i]];
    return FG_OK;
}

fg_status fg_dataset_balanced(fg_dataset *parent, const fg_sampling_options *options,
                              fg_dataset **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY(check(parent, options, err));
    const size_t count = (size_t)parent->count;
    int32_t *labels = fgi_calloc(count, sizeof(*labels));
    double *sizes = fgi_calloc((size_t)parent->class_count + 1, sizeof(*sizes));
    double *weights = fgi_calloc(count, sizeof(*weights));
    fg_status status = FG_OK;
    if (labels == NULL || sizes == NULL || weights == NULL)
        status = fgi_no_memory(err);
    if (status == FG_OK)
        status = fg_dataset_labels(parent, labels, err);
    if (status == FG_OK)
        status = class_weights(parent, labels, sizes, weights, err);
    if (status == FG_OK)
        status = fg_dataset_weighted(parent, weights, options, out, err);
    fgi_free(labels);
    fgi_free(sizes);
    fgi_free(weights);
    return status;
}
