/* run_predict.c - predictions into a CSV or .npy file, and the confusion matrix, which is made of
 * predictions too.
 *
 *   classification  CSV: index,prediction,p_CLASS,...   .npy: probabilities f32[N,C]
 *   regression      CSV: index,prediction (or y0,y1,..) .npy: f32[N] or f32[N,K]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/out_file.h"
#include "recipe/run.h"
#include "base/print.h"
#include "base/alloc.h"

/* All rows, as they have come. */
typedef struct rows {
    float *data; /* [count, width] */
    size_t count, width, capacity;
    int rank; /* of the whole: 1 or 2 */
} rows;

static fg_status collect(void *self, const fg_type *type, const void *data, int64_t first,
                         fg_error *err)
{
    rows *all = self;
    const size_t count = (size_t)type->dim[0];
    (void)first;
    if (type->dtype != FG_F32 || count == 0) {
        (void)fgi_refuse(err, "predictions are %s: expected f32", fg_dtype_name(type->dtype));
        return FG_EINTERNAL;
    }
    all->rank = type->rank;
    all->width = (size_t)fg_type_count(type) / count;
    if (all->count + count > all->capacity) {
        all->capacity = 2 * (all->count + count);
        all->data = fgi_must_realloc(all->data, all->capacity * all->width, sizeof(float));
    }
    memcpy(all->data + all->count * all->width, data, count * all->width * sizeof(float));
    all->count += count;
    return FG_OK;
}

static size_t largest(const float *row, size_t width)
{
    size_t best = 0;
    for (size_t i = 1; i < width; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* A cell, in quotes where it must be (RFC 4180). */
static void put_cell(FILE *out, const char *prefix, const char *cell)
{
    if (strpbrk(cell, ",\"\r\n") == NULL) {
        (void)fgi_fprintf(out, "%s%s", prefix, cell);
        return;
    }
    (void)fgi_fprintf(out, "\"%s", prefix);
    for (; *cell != '\0'; cell++) {
        if (*cell == '"')
            (void)fputc('"', out);
        (void)fputc(*cell, out);
    }
    (void)fputc('"', out);
}

static void put_header(FILE *out, const fgi_run_task *task, const rows *all)
{
    (void)fputs("index", out);
    if (task->is_classification || all->rank == 1)
        (void)fputs(",prediction", out);
    for (size_t i = 0; i < all->width && all->rank == 2; i++) {
        (void)fputc(',', out);
        if (task->is_classification)
            put_cell(out, "p_", fgi_run_class_name(task, (int64_t)i));
        else
            (void)fgi_fprintf(out, "y%zu", i);
    }
    (void)fputc('\n', out);
}

static void put_csv(FILE *out, const fgi_run_task *task, const rows *all)
{
    put_header(out, task, all);
    for (size_t i = 0; i < all->count; i++) {
        const float *row = all->data + i * all->width;
        (void)fgi_fprintf(out, "%zu", i);
        if (task->is_classification) {
            (void)fputc(',', out);
            put_cell(out, "", fgi_run_class_name(task, (int64_t)largest(row, all->width)));
        }
        for (size_t k = 0; k < all->width; k++)
            (void)fgi_fprintf(out, ",%.9g", (double)row[k]);
        (void)fputc('\n', out);
    }
}

static fg_status write_csv(const char *path, const fgi_run_task *task, const rows *all,
                           fg_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out != NULL)
        put_csv(out, task, all);
    const bool is_whole = out != NULL && fclose(out) == 0;
    const bool is_written =
        is_whole ? fgi_out_file_write(path, text, size, err) : fgi_refuse_errno(err, "write", path);
    free(text);
    if (!is_written)
        err->status = FG_EIO;
    return is_written ? FG_OK : FG_EIO;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);
    return size > end_size && strcmp(text + size - end_size, end) == 0;
}

static fg_status write_rows(const fgi_run *r, const rows *all, fg_error *err)
{
    const char *path = r->options->out;
    const fg_type type = {.dtype = FG_F32,
                          .rank = all->rank,
                          .dim = {(int64_t)all->count, all->rank == 2 ? (int64_t)all->width : 0}};
    if (path == NULL) {
        put_csv(stdout, &r->task, all);
        return FG_OK;
    }
    if (ends_with(path, ".npy"))
        return fg_npy_write(path, &type, all->data, err);
    return write_csv(path, &r->task, all, err);
}

fg_status fgi_run_predict(fgi_run *r, fg_error *err)
{
    rows all = {0};
    fg_status status =
        fg_trainer_predict(r->trainer, &r->task.task, &r->fit_data, collect, &all, err);
    if (status == FG_OK && all.rank != 1 && all.rank != 2)
        all.rank = 1; /* no sample, no rows */
    if (status == FG_OK)
        status = write_rows(r, &all, err);
    fgi_free(all.data);
    return status;
}

/* ---- confusion matrix ------------------------------------------------------------------------ */

/* The classes of all samples; the other fields are read and dropped. */
static fg_status read_labels(fg_dataset *dataset, int32_t *out, fg_error *err)
{
    void *fields[FG_MAX_FIELDS];
    const int field_count = fg_dataset_field_count(dataset);
    fg_status status = FG_OK;
    for (int f = 0; f < field_count; f++)
        fields[f] = fgi_must_alloc(1, fg_type_bytes(&fg_dataset_field(dataset, f)->type));
    for (int64_t i = 0; i < fg_dataset_count(dataset) && status == FG_OK; i++) {
        status = fg_dataset_read(dataset, i, fields, err);
        memcpy(&out[i], fields[1], sizeof(out[i]));
    }
    for (int f = 0; f < field_count; f++)
        fgi_free(fields[f]);
    return status;
}

int64_t *fgi_run_confusion(fgi_run *r, fg_error *err)
{
    rows all = {0};
    int64_t *counts = NULL;
    int32_t *labels = fgi_must_alloc((size_t)fg_dataset_count(r->fit_data.val), sizeof(*labels));
    fg_status status = read_labels(r->fit_data.val, labels, err);
    if (status == FG_OK)
        status = fg_trainer_predict(r->trainer, &r->task.task, &r->fit_data, collect, &all, err);
    const size_t classes = (size_t)r->task.outputs;
    if (status == FG_OK)
        counts = fgi_must_alloc(classes * classes, sizeof(*counts));
    for (size_t i = 0; i < all.count && counts != NULL; i++)
        if (labels[i] >= 0 && (size_t)labels[i] < classes)
            counts[(size_t)labels[i] * classes + largest(all.data + i * all.width, all.width)]++;
    fgi_free(labels);
    fgi_free(all.data);
    return counts;
}
