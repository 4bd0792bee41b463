/* subset.c - subsets of another dataset, by a list of indices. A subset owns its
 * list and has a reference to the underlying dataset; subsets of subsets refer directly to the root
 * dataset.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/dataset.h"

typedef struct subset {
    fg_dataset *parent; /* held */
    int64_t *indices;
    size_t count;
} subset;

static int64_t subset_pick(const void *self, int64_t epoch, int64_t index)
{
    (void)epoch;
    return ((const subset *)self)->indices[index];
}

static fg_status subset_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                               void *const *out_fields, fg_error *err)
{
    const fgi_picked picked = {((const subset *)self)->parent, subset_pick, self};
    return fgi_picked_gather(&picked, epoch, indices, n, out_fields, err);
}

static void subset_prefetch(void *self, int64_t epoch, const int64_t *indices, size_t n)
{
    const fgi_picked picked = {((const subset *)self)->parent, subset_pick, self};
    fgi_picked_prefetch(&picked, epoch, indices, n);
}

/* The parent's labels, in the order of the list. */
static fg_status subset_labels(void *self, int32_t *out_labels, fg_error *err)
{
    const subset *s = self;
    int32_t *labels = fgi_calloc((size_t)s->parent->count, sizeof(*labels));
    if (labels == NULL)
        return fgi_no_memory(err);
    const fg_status status = fg_dataset_labels(s->parent, labels, err);
    for (size_t i = 0; status == FG_OK && i < s->count; i++)
        out_labels[i] = labels[s->indices[i]];
    fgi_free(labels);
    return status;
}

static fg_status subset_groups(void *self, int64_t *out_groups, fg_error *err)
{
    const subset *s = self;
    int64_t *groups = fgi_calloc((size_t)s->parent->count, sizeof(*groups));
    if (groups == NULL)
        return fgi_no_memory(err);
    const fg_status status = s->parent->groups(s->parent->self, groups, err);
    for (size_t i = 0; status == FG_OK && i < s->count; i++)
        out_groups[i] = groups[s->indices[i]];
    fgi_free(groups);
    return status;
}

static const char *subset_name(void *self, int64_t index)
{
    const subset *s = self;
    return fg_dataset_sample_name(s->parent, s->indices[index]);
}

static void subset_destroy(void *self)
{
    subset *s = self;
    if (s == NULL)
        return;
    fg_dataset_destroy(s->parent);
    fgi_free(s->indices);
    fgi_free(s);
}

/* The parent's indices, or the corresponding ones of the root dataset if it is a subset itself. */
static fg_status resolve(const fg_dataset *parent, const int64_t *indices, size_t count,
                         int64_t *out, fg_error *err)
{
    const subset *below = parent->gather_epoch == subset_gather ? parent->self : NULL;
    for (size_t i = 0; i < count; i++) {
        if (indices[i] < 0 || indices[i] >= parent->count)
            return fgi_fail(err, FG_EINVAL,
                            "index %zu of the subset is %" PRId64 ", but the dataset has %" PRId64
                            " sample%s",
                            i, indices[i], parent->count, fgi_s(parent->count));
        out[i] = below == NULL ? indices[i] : below->indices[indices[i]];
    }
    return FG_OK;
}

fg_status fg_dataset_subset(fg_dataset *parent, const int64_t *indices, size_t count,
                            fg_dataset **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY(fgi_dataset_check_random(parent, err));
    subset *s = fgi_calloc(1, sizeof(*s));
    if (s == NULL || (s->indices = fgi_calloc(count, sizeof(*s->indices))) == NULL) {
        fgi_free(s);
        return fgi_no_memory(err);
    }
    const fg_status status = resolve(parent, indices, count, s->indices, err);
    if (status != FG_OK) {
        subset_destroy(s);
        return status;
    }
    const subset *below = parent->gather_epoch == subset_gather ? parent->self : NULL;
    s->parent = fgi_dataset_retain(below == NULL ? parent : below->parent);
    s->count = count;
    const fgi_derived derived = {.like = parent,
                                 .count = (int64_t)count,
                                 .name = subset_name,
                                 .gather_epoch = subset_gather,
                                 .prefetch = parent->prefetch != NULL ? subset_prefetch : NULL,
                                 .labels = parent->ops.labels != NULL ? subset_labels : NULL,
                                 .groups = parent->groups != NULL ? subset_groups : NULL,
                                 .destroy = subset_destroy};
    return fgi_dataset_derive(&derived, s, out, err);
}
