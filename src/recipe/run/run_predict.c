/* run_predict.c - runs inference: keeps the predictions, or writes them to a file while they
 * arrive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "recipe/run/run.h"
#include "base/error.h"
#include "base/print.h"
#include "base/alloc.h"

static fg_status collect(void *self, const fg_type *type, const void *data, int64_t first,
                         fg_error *err)
{
    fgi_run_rows *all = self;
    const size_t count = (size_t)type->dim[0];
    (void)first;
    if (type->dtype != FG_F32 || count == 0)
        return fgi_fail(err, FG_EINTERNAL, "predictions are %s: expected f32",
                        fg_dtype_name(type->dtype));
    all->rank = type->rank;
    all->width = (size_t)fg_type_count(type) / count;
    if (all->count + count > all->capacity) {
        const size_t capacity = 2 * (all->count + count);
        float *grown = fgi_realloc(all->data, capacity * all->width * sizeof(float));
        if (grown == NULL)
            return fgi_no_memory(err);
        all->data = grown;
        all->capacity = capacity;
    }
    memcpy(all->data + all->count * all->width, data, count * all->width * sizeof(float));
    all->count += count;
    return FG_OK;
}

static fg_status keep_all(fg_recipe *r, fg_error *err)
{
    fgi_run_rows *all = &r->predictions;
    FGI_TRY(fg_trainer_predict(r->trainer, &r->task.task, &r->fit_data, collect, all, err));
    if (all->rank != 1 && all->rank != 2)
        all->rank = 1; /* no sample, no rows */
    const int64_t width = all->rank == 2 ? (int64_t)all->width : 0;
    r->outcome.predictions = all->data;
    r->outcome.predictions_type =
        (fg_type){.dtype = FG_F32, .rank = all->rank, .dim = {(int64_t)all->count, width}};
    return FG_OK;
}

/* Rows with what a file of them shows of the data and the task. */
static fg_predictions rows_of(const fg_recipe *r, const fg_type *type, const void *data,
                              int64_t first)
{
    return (fg_predictions){.type = *type,
                            .data = data,
                            .first = first,
                            .dataset = r->fit_data.predict,
                            .class_names = r->task.task.class_names,
                            .class_count = r->task.task.class_count,
                            .is_multilabel = r->task.is_multilabel};
}

void fgi_run_put_predictions(const fg_recipe *r, fgi_prediction_format format, fgi_buf *out)
{
    const fg_predictions rows = rows_of(r, &r->outcome.predictions_type, r->predictions.data, 0);
    fgi_prediction_put(format, &rows, true, out);
    fgi_prediction_put_end(format, rows.type.dim[0], out);
}

/* ---- while they arrive ----------------------------------------------------------------------- */

typedef struct arriving {
    const fg_recipe *r;
    fgi_prediction_file file;
} arriving;

static fg_status on_rows(void *self, const fg_type *type, const void *data, int64_t first,
                         fg_error *err)
{
    arriving *a = self;
    const fg_predictions rows = rows_of(a->r, type, data, first);
    return fgi_prediction_file_write(&a->file, &rows, err);
}

bool fgi_run_has_predict_file(const fg_recipe *r)
{
    const char *path = r->evaluate.out;
    return r->kind == FG_RECIPE_PREDICT && path != NULL && strcmp(path, "-") != 0;
}

static fg_status write_file(fg_recipe *r, fg_error *err)
{
    const char *path = r->evaluate.out;
    fgi_prediction_format format;
    bool has_suffix;
    arriving a = {.r = r};
    FGI_TRY(fgi_prediction_format_of(path, &format, &has_suffix, err));
    FGI_TRY(fgi_prediction_file_open(path, format, &a.file, err));
    if (!has_suffix && a.file.file.temporary != NULL)
        fgi_run_say(r, FG_LOG_INFO, "note: '%s' has no suffix, so it is written as CSV", path);
    const fg_status status =
        fg_trainer_predict(r->trainer, &r->task.task, &r->fit_data, on_rows, &a, err);
    return fgi_prediction_file_close(&a.file, status, err);
}

static void count_damaged(fg_recipe *r)
{
    const fg_dataset *dataset = r->fit_data.predict;
    r->outcome.damaged_error = "";
    for (int64_t i = 0; i < fg_dataset_count(dataset); i++) {
        const char *error = fg_dataset_sample_error(dataset, i);
        if (error == NULL)
            return;
        if (*error != '\0' && r->outcome.damaged++ == 0)
            r->outcome.damaged_error = error;
    }
}

fg_status fgi_run_predict(fg_recipe *r, fg_error *err)
{
    FGI_TRY(fg_dataset_tolerate(r->fit_data.predict, &r->readable, err));
    r->fit_data.predict = r->readable;
    const fg_status status = fgi_run_has_predict_file(r) ? write_file(r, err) : keep_all(r, err);
    if (status == FG_OK)
        count_damaged(r);
    return status;
}
