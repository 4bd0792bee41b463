/* tolerant.c - datasets whose unreadable samples are zeros, with the reason, instead of errors: to
 * predict, where a damaged file must not affect the other rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "data/dataset.h"

typedef struct tolerant {
    fgi_view view;
    fg_dataset *own; /* the dataset itself, whose arena has the reasons */
    pthread_mutex_t mutex;
    bool has_mutex;
} tolerant;

/* Of one sample or its file; out of memory, for example, is not. */
static bool is_damage(fg_status status)
{
    return status == FG_EFORMAT || status == FG_EUNSUPPORTED || status == FG_ENOTFOUND ||
           status == FG_EIO;
}

/* A padding row may have read the same sample before. */
static fg_status remember(tolerant *t, int64_t index, const fg_error *why, fg_error *err)
{
    (void)pthread_mutex_lock(&t->mutex);
    if (t->own->errors[index] == NULL)
        t->own->errors[index] = fgi_error_line(&t->own->arena, why);
    const bool is_kept = t->own->errors[index] != NULL;
    (void)pthread_mutex_unlock(&t->mutex);
    return is_kept ? FG_OK : fgi_no_memory(err);
}

static fg_status read_one(tolerant *t, int64_t epoch, int64_t index, void *const *row,
                          fg_error *err)
{
    fg_error why = {0};
    const fg_dataset *parent = t->view.parent;
    const fg_status status = fgi_dataset_gather(parent, epoch, &index, 1, row, &why);
    if (status == FG_OK)
        return FG_OK;
    if (!is_damage(status)) {
        *err = why;
        return status;
    }
    for (int f = 0; f < parent->field_count; f++)
        memset(row[f], 0, parent->row_bytes[f]);
    return remember(t, index, &why, err);
}

/* All at once if they can be read, else one by one. */
static fg_status tolerant_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                                 void *const *out_fields, fg_error *err)
{
    tolerant *t = self;
    void *row[FG_MAX_FIELDS];
    const fg_status status = fgi_dataset_gather(t->view.parent, epoch, indices, n, out_fields, err);
    if (status == FG_OK || !is_damage(status))
        return status;
    *err = (fg_error){0};
    for (size_t i = 0; i < n; i++) {
        fgi_dataset_row(t->view.parent, out_fields, i, row);
        FGI_TRY(read_one(t, epoch, indices[i], row, err));
    }
    return FG_OK;
}

static void tolerant_destroy(void *self)
{
    tolerant *t = self;
    if (t->has_mutex)
        (void)pthread_mutex_destroy(&t->mutex);
}

/* Room for the reasons. */
static fg_status add_errors(tolerant *t, fg_dataset *dataset, fg_error *err)
{
    const size_t count = (size_t)dataset->count + 1;
    t->own = dataset;
    FGI_TRY(fgi_mutex_init(&t->mutex, err));
    t->has_mutex = true;
    dataset->errors = fgi_arena_alloc(&dataset->arena, count * sizeof *dataset->errors);
    return dataset->errors != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fg_dataset_tolerate(fg_dataset *parent, fg_dataset **out, fg_error *err)
{
    *out = NULL;
    if (!parent->reads_rows) { /* a source never does */
        *out = fgi_dataset_retain(parent);
        return FG_OK;
    }
    tolerant *t = fgi_calloc(1, sizeof *t);
    if (t == NULL)
        return fgi_no_memory(err);
    t->view = (fgi_view){.parent = parent,
                         .count = parent->count,
                         .gather_epoch = tolerant_gather,
                         .destroy = tolerant_destroy};
    FGI_TRY(fgi_view_create(&t->view, out, err));
    return fgi_dataset_finish(out, add_errors(t, *out, err));
}

const char *fg_dataset_sample_error(const fg_dataset *dataset, int64_t index)
{
    if (dataset->errors == NULL || index < 0 || index >= dataset->count)
        return NULL;
    return dataset->errors[index] != NULL ? dataset->errors[index] : "";
}
