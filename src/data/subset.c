/* subset.c - subsets of another dataset, by a list of indices. A subset owns its list; subsets of
 * subsets refer directly to the root dataset.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/dataset.h"

typedef struct subset {
    fgi_view view;
    int64_t *indices;
} subset;

static int64_t subset_pick(const void *self, int64_t epoch, int64_t index)
{
    (void)epoch;
    return ((const subset *)self)->indices[index];
}

static void subset_destroy(void *self) { fgi_free(((subset *)self)->indices); }

/* The subset that a dataset is; NULL: it is another one. */
static const subset *subset_of(const fg_dataset *dataset)
{
    const bool is_view = dataset->ops.destroy == fgi_view_destroy;
    const fgi_view *view = is_view ? dataset->self : NULL;
    return view != NULL && view->pick == subset_pick ? dataset->self : NULL;
}

/* The parent's indices, or the corresponding ones of the root dataset if it is a subset itself. */
static fg_status resolve(const fg_dataset *parent, const int64_t *indices, size_t count,
                         int64_t *out, fg_error *err)
{
    const subset *below = subset_of(parent);
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
        fgi_free(s->indices);
        fgi_free(s);
        return status;
    }
    const subset *below = subset_of(parent);
    s->view = (fgi_view){.parent = below == NULL ? parent : below->view.parent,
                         .count = (int64_t)count,
                         .pick = subset_pick,
                         .destroy = subset_destroy};
    return fgi_view_create(&s->view, out, err);
}
