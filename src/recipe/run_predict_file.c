/* run_predict_file.c - predictions as CSV, JSONL or .npy, also while they arrive: the memory does
 * not depend on the number of samples, and the file gets its name when it is complete.
 *
 *   classification  CSV: index,prediction,p_CLASS,...   .npy: probabilities f32[N,C]
 *                   JSONL: {"index": 0, "prediction": "CLASS", "p": [0.1, ...]}
 *   regression      CSV: index,prediction (or y0,y1,..) .npy: f32[N] or f32[N,K]
 *                   JSONL: {"index": 0, "prediction": 1.5}, or a list
 *
 * If samples have names, as image files have, they come after the index, as `name`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/output.h"
#include "base/text.h"
#include "input/json_file.h"
#include "recipe/run.h"

typedef enum format { FORMAT_CSV, FORMAT_JSONL, FORMAT_NPY } format;

static format format_of(const char *path)
{
    return fgi_ends_with(path, ".npy")     ? FORMAT_NPY
           : fgi_ends_with(path, ".jsonl") ? FORMAT_JSONL
                                           : FORMAT_CSV;
}

size_t fgi_run_largest(const float *row, size_t width)
{
    size_t best = 0;
    for (size_t i = 1; i < width; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

/* The name of a sample; NULL: samples have no names. */
static const char *name_of(const fg_recipe *r, size_t index)
{
    const fg_dataset *samples = r->fit_data.predict;
    return samples != NULL ? fg_dataset_sample_name(samples, (int64_t)index) : NULL;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* A cell, quoted if necessary (RFC 4180). */
static void put_cell(fgi_buf *out, const char *prefix, const char *cell)
{
    if (strpbrk(cell, ",\"\r\n") == NULL) {
        fgi_buf_printf(out, "%s%s", prefix, cell);
        return;
    }
    fgi_buf_printf(out, "\"%s", prefix);
    for (; *cell != '\0'; cell++) {
        if (*cell == '"')
            fgi_buf_putc(out, '"');
        fgi_buf_putc(out, *cell);
    }
    fgi_buf_putc(out, '"');
}

static void put_header(const fg_recipe *r, const fgi_run_rows *rows, fgi_buf *out)
{
    const fgi_run_task *task = &r->task;
    fgi_buf_puts(out, name_of(r, 0) != NULL ? "index,name" : "index");
    if (task->is_classification || rows->rank == 1)
        fgi_buf_puts(out, ",prediction");
    for (size_t i = 0; i < rows->width && rows->rank == 2; i++) {
        fgi_buf_putc(out, ',');
        if (task->is_classification)
            put_cell(out, "p_", fgi_run_class_name(task, (int64_t)i));
        else
            fgi_buf_printf(out, "y%zu", i);
    }
    fgi_buf_putc(out, '\n');
}

static void put_csv_row(const fg_recipe *r, size_t index, const float *row, size_t width,
                        bool has_names, fgi_buf *out)
{
    const char *name = has_names ? name_of(r, index) : NULL;
    fgi_buf_printf(out, "%zu", index);
    if (has_names) {
        fgi_buf_putc(out, ',');
        put_cell(out, "", name != NULL ? name : "");
    }
    if (r->task.is_classification) {
        fgi_buf_putc(out, ',');
        put_cell(out, "", fgi_run_class_name(&r->task, (int64_t)fgi_run_largest(row, width)));
    }
    for (size_t k = 0; k < width; k++)
        fgi_buf_printf(out, ",%.9g", (double)row[k]);
    fgi_buf_putc(out, '\n');
}

/* ---- JSONL ----------------------------------------------------------------------------------- */

/* A string, or null if it is not UTF-8. */
static void put_string(fgi_buf *out, const char *text)
{
    json_t *string = json_string(text);
    if (string == NULL)
        fgi_buf_puts(out, "null");
    else if (!fgi_json_write(string, JSON_ENCODE_ANY, out))
        out->failed = true;
    json_decref(string);
}

static void put_value(fgi_buf *out, float value)
{
    if (isfinite(value))
        fgi_buf_printf(out, "%.9g", (double)value);
    else
        fgi_buf_puts(out, "null");
}

static void put_json_row(const fg_recipe *r, size_t index, const float *row, size_t width, int rank,
                         fgi_buf *out)
{
    const bool is_classification = r->task.is_classification;
    const char *name = name_of(r, index);
    fgi_buf_printf(out, "{\"index\": %zu", index);
    if (name != NULL) {
        fgi_buf_puts(out, ", \"name\": ");
        put_string(out, name);
    }
    fgi_buf_puts(out, ", \"prediction\": ");
    if (is_classification) {
        put_string(out, fgi_run_class_name(&r->task, (int64_t)fgi_run_largest(row, width)));
        fgi_buf_puts(out, ", \"p\": ");
    }
    if (rank == 2)
        fgi_buf_putc(out, '[');
    for (size_t k = 0; k < width; k++) {
        fgi_buf_puts(out, k > 0 ? ", " : "");
        put_value(out, row[k]);
    }
    fgi_buf_puts(out, rank == 2 ? "]}\n" : "}\n");
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows as text; `first` is the index of the first. */
static void put_rows(const fg_recipe *r, format form, const fgi_run_rows *rows, size_t first,
                     fgi_buf *out)
{
    const bool has_names = name_of(r, 0) != NULL;
    if (first == 0 && form == FORMAT_CSV)
        put_header(r, rows, out);
    for (size_t i = 0; i < rows->count; i++) {
        const float *row = rows->data + i * rows->width;
        if (form == FORMAT_CSV)
            put_csv_row(r, first + i, row, rows->width, has_names, out);
        else
            put_json_row(r, first + i, row, rows->width, rows->rank, out);
    }
}

void fgi_run_put_predictions(const fg_recipe *r, const char *path, fgi_buf *out)
{
    const format form = path != NULL ? format_of(path) : FORMAT_CSV;
    put_rows(r, form, &r->predictions, 0, out);
}

/* ---- while they arrive ----------------------------------------------------------------------- */

typedef struct writer {
    const fg_recipe *r;
    const char *path;
    format form;
    fgi_output file;
    fgi_buf text;   /* of the present batch */
    size_t written; /* rows */
    bool has_begun;
} writer;

/* The header of a .npy file, version 1.0, padded to a multiple of 64 bytes (NEP 1). */
static void put_npy_header(const fgi_run_rows *rows, int64_t count, fgi_buf *out)
{
    fgi_buf dict = {0};
    fgi_buf_printf(&dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRId64 ",", count);
    if (rows->rank == 2)
        fgi_buf_printf(&dict, " %zu", rows->width);
    fgi_buf_puts(&dict, "), }");
    while ((10 + dict.size + 1) % 64 != 0 && !dict.failed)
        fgi_buf_putc(&dict, ' ');
    fgi_buf_add(out, "\x93NUMPY\x01\x00", 8);
    fgi_buf_putc(out, (char)((dict.size + 1) & 0xff));
    fgi_buf_putc(out, (char)((dict.size + 1) >> 8));
    fgi_buf_add(out, dict.data, dict.size);
    fgi_buf_putc(out, '\n');
    out->failed |= dict.failed;
    fgi_buf_fini(&dict);
}

static fg_status put_npy(writer *w, const fgi_run_rows *rows, fg_error *err)
{
    const int64_t count = fg_dataset_count(w->r->fit_data.predict);
    if (count < 0)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "'%s': the number of samples is not known: write .jsonl or .csv", w->path);
    if (!w->has_begun)
        put_npy_header(rows, count, &w->text);
    fgi_buf_add(&w->text, (const char *)rows->data, rows->count * rows->width * sizeof(float));
    return FG_OK;
}

static fg_status write_rows(writer *w, const fgi_run_rows *rows, fg_error *err)
{
    fgi_buf_clear(&w->text);
    if (w->form == FORMAT_NPY)
        FGI_TRY(put_npy(w, rows, err));
    else
        put_rows(w->r, w->form, rows, w->written, &w->text);
    w->has_begun = true;
    w->written += rows->count;
    FGI_TRY(fgi_buf_status(&w->text, err));
    return fgi_write_all(w->file.fd, w->path, w->text.data, w->text.size, err);
}

static fg_status on_rows(void *self, const fg_type *type, const void *data, int64_t first,
                         fg_error *err)
{
    const size_t count = (size_t)type->dim[0];
    (void)first;
    if (type->dtype != FG_F32 || count == 0)
        return fgi_fail(err, FG_EINTERNAL, "predictions are %s: expected f32",
                        fg_dtype_name(type->dtype));
    const fgi_run_rows rows = {.data = (float *)data,
                               .count = count,
                               .width = (size_t)fg_type_count(type) / count,
                               .rank = type->rank};
    return write_rows(self, &rows, err);
}

bool fgi_run_has_predict_file(const fg_recipe *r)
{
    const char *path = r->options->predictions;
    return r->options->kind == FG_RECIPE_PREDICT && path != NULL && strcmp(path, "-") != 0;
}

fg_status fgi_run_predict_file(fg_recipe *r, fg_error *err)
{
    const char *path = r->options->predictions;
    const fgi_run_rows none = {.rank = 1};
    writer w = {.r = r, .path = path, .form = format_of(path)};
    FGI_TRY(fgi_output_open(path, &w.file, err));
    fg_status status =
        fg_trainer_predict(r->trainer, &r->task.task, &r->fit_data, on_rows, &w, err);
    if (status == FG_OK && !w.has_begun)
        status = write_rows(&w, &none, err); /* no sample: the header */
    if (status == FG_OK && w.form == FORMAT_NPY &&
        (int64_t)w.written != fg_dataset_count(r->fit_data.predict))
        status = fgi_fail(err, FG_EINTERNAL, "%zu predictions of %" PRId64 " samples", w.written,
                          fg_dataset_count(r->fit_data.predict));
    fgi_buf_fini(&w.text);
    return fgi_output_close(&w.file, status, err);
}
