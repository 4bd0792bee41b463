/* view.c - datasets whose samples are those of another one, their parent: which ones they are, or
 * what is done with them, is a function of the dataset.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "data/dataset.h"

enum { AT_ONCE = 256 };

/* Up to AT_ONCE samples of the parent. Returns how many. */
static size_t pick(const fgi_view *v, int64_t epoch, const int64_t *indices, size_t n,
                   int64_t out[AT_ONCE])
{
    const size_t count = n < AT_ONCE ? n : AT_ONCE;
    for (size_t i = 0; i < count; i++)
        out[i] = v->pick(v, epoch, indices[i]);
    return count;
}

static fg_status view_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                             void *const *out_fields, fg_error *err)
{
    const fgi_view *v = self;
    int64_t samples[AT_ONCE];
    void *rows[FG_MAX_FIELDS];
    for (size_t done = 0; done < n;) {
        const size_t count = pick(v, epoch, indices + done, n - done, samples);
        fgi_dataset_row(v->parent, out_fields, done, rows);
        FGI_TRY(fgi_dataset_gather(v->parent, epoch, samples, count, rows, err));
        done += count;
    }
    return FG_OK;
}

static void view_prefetch(void *self, int64_t epoch, const int64_t *indices, size_t n)
{
    const fgi_view *v = self;
    int64_t samples[AT_ONCE];
    if (v->pick == NULL)
        fgi_dataset_prefetch(v->parent, epoch, indices, n);
    for (size_t done = 0; v->pick != NULL && done < n;) {
        const size_t count = pick(v, epoch, indices + done, n - done, samples);
        fgi_dataset_prefetch(v->parent, epoch, samples, count);
        done += count;
    }
}

static int64_t sample_at(const fgi_view *v, int64_t index)
{
    return v->pick != NULL ? v->pick(v, 0, index) : index;
}

/* The parent's labels, in the order of the samples. */
static fg_status view_labels(void *self, int32_t *out_labels, fg_error *err)
{
    const fgi_view *v = self;
    int32_t *labels = fgi_calloc((size_t)v->parent->count, sizeof(*labels));
    if (labels == NULL)
        return fgi_no_memory(err);
    const fg_status status = fg_dataset_labels(v->parent, labels, err);
    for (int64_t i = 0; status == FG_OK && i < v->count; i++)
        out_labels[i] = labels[sample_at(v, i)];
    fgi_free(labels);
    return status;
}

static fg_status view_groups(void *self, int64_t *out_groups, fg_error *err)
{
    const fgi_view *v = self;
    int64_t *groups = fgi_calloc((size_t)v->parent->count, sizeof(*groups));
    if (groups == NULL)
        return fgi_no_memory(err);
    const fg_status status = v->parent->groups(v->parent->self, groups, err);
    for (int64_t i = 0; status == FG_OK && i < v->count; i++)
        out_groups[i] = groups[sample_at(v, i)];
    fgi_free(groups);
    return status;
}

static fg_status view_target(void *self, int64_t index, void *out, fg_error *err)
{
    const fgi_view *v = self;
    return v->parent->target(v->parent->self, sample_at(v, index), out, err);
}

static const char *view_name(void *self, int64_t index)
{
    const fgi_view *v = self;
    return fg_dataset_sample_name(v->parent, sample_at(v, index));
}

void fgi_view_destroy(void *self)
{
    fgi_view *v = self;
    if (v->destroy != NULL)
        v->destroy(v);
    fg_dataset_destroy(v->parent);
    fgi_free(v);
}

/* Samples that are read in another way have the parent's labels, even if it reads every sample. */
fg_status fgi_view_create(fgi_view *take_view, fg_dataset **out, fg_error *err)
{
    fgi_view *v = take_view;
    const fg_dataset *parent = fgi_dataset_retain(v->parent);
    const bool is_fixed = !v->is_drawn, has_labels = parent->ops.labels != NULL || v->pick == NULL;
    const fgi_gathered functions = {
        .name = is_fixed && parent->ops.name != NULL ? view_name : NULL,
        .gather_epoch = v->gather_epoch != NULL ? v->gather_epoch : view_gather,
        .prefetch = parent->prefetch != NULL ? view_prefetch : NULL,
        .labels = is_fixed && has_labels ? view_labels : NULL,
        .groups = is_fixed && parent->groups != NULL ? view_groups : NULL,
        .target = is_fixed && parent->target != NULL ? view_target : NULL,
        .destroy = fgi_view_destroy};
    FGI_TRY(fgi_dataset_derive(&functions, v, parent, v->count, out, err));
    (*out)->is_drawn = (*out)->is_drawn || v->is_drawn;
    return FG_OK;
}
