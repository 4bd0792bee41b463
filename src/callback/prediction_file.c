/* prediction_file.c - see prediction_file.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "callback/prediction_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "data/npy.h"
#include "input/json_file.h"

static const char *const suffixes[] = {[FGI_PREDICTION_CSV] = ".csv",
                                       [FGI_PREDICTION_TSV] = ".tsv",
                                       [FGI_PREDICTION_JSON] = ".json",
                                       [FGI_PREDICTION_JSONL] = ".jsonl",
                                       [FGI_PREDICTION_NPY] = ".npy"};

fg_status fgi_prediction_format_of(const char *path, fgi_prediction_format *out,
                                   bool *out_has_suffix, fg_error *err)
{
    const char *name = fgi_after_last(path, '/');
    const char *suffix = strrchr(name, '.');
    const bool has_suffix = suffix != NULL && suffix > name;
    if (out_has_suffix != NULL)
        *out_has_suffix = has_suffix;
    *out = FGI_PREDICTION_CSV;
    for (size_t i = 0; has_suffix && i < sizeof suffixes / sizeof *suffixes; i++)
        if (fgi_begins_nocase(suffix, suffixes[i]) && strlen(suffix) == strlen(suffixes[i])) {
            *out = (fgi_prediction_format)i;
            return FG_OK;
        }
    if (!has_suffix)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%.300s': predictions are written as .csv, .tsv, .json, .jsonl or .npy: "
                    "%.40s is not supported",
                    path, suffix);
}

/* The index of the largest of `width` values. */
static size_t largest(const float *row, size_t width)
{
    size_t best = 0;
    for (size_t i = 1; i < width; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

/* The name of a sample; NULL: samples have no names. */
static const char *name_of(const fg_predictions *rows, int64_t index)
{
    return rows->dataset != NULL ? fg_dataset_sample_name(rows->dataset, index) : NULL;
}

/* The name of a class, or its index. */
static const char *class_of(const fg_predictions *rows, size_t index, char number[24])
{
    const bool has_name = rows->class_names != NULL && (int64_t)index < rows->class_count &&
                          rows->class_names[index] != NULL;
    (void)fgi_snprintf(number, 24, "%zu", index);
    return has_name ? rows->class_names[index] : number;
}

/* Values of one row. */
static size_t width_of(const fg_predictions *rows)
{
    const int64_t count = rows->type.dim[0];
    return count > 0 ? (size_t)(fg_type_count(&rows->type) / count) : 0;
}

/* Why a sample could not be read; "": it could; NULL: samples of this dataset always can. */
static const char *error_of(const fg_predictions *rows, int64_t index)
{
    return rows->dataset != NULL ? fg_dataset_sample_error(rows->dataset, index) : NULL;
}

static void put_string(fgi_buf *out, const char *text)
{
    json_t *string = fgi_json_name(text);
    if (string == NULL || !fgi_json_write(string, JSON_ENCODE_ANY, out))
        out->failed = true;
    json_decref(string);
}

/* Appends the classes whose probability is above 1/2: "cat;dog", or ["cat", "dog"] if is_json. */
static void put_labels(const fg_predictions *rows, const float *row, size_t width, bool is_json,
                       fgi_buf *out)
{
    char number[24];
    bool is_first = true;
    for (size_t i = 0; i < width; i++) {
        if (!(row[i] > 0.5F))
            continue;
        fgi_buf_puts(out, is_first ? "" : is_json ? ", " : ";");
        if (is_json)
            put_string(out, class_of(rows, i, number));
        else
            fgi_buf_puts(out, class_of(rows, i, number));
        is_first = false;
    }
}

/* ---- CSV, TSV -------------------------------------------------------------------------------- */

static void put_quoted(fgi_buf *out, const char *prefix, const char *cell)
{
    fgi_buf_printf(out, "\"%s", prefix);
    for (; *cell != '\0'; cell++) {
        if (*cell == '"')
            fgi_buf_putc(out, '"');
        fgi_buf_putc(out, *cell);
    }
    fgi_buf_putc(out, '"');
}

/* A cell, quoted if necessary (RFC 4180), and escaped if it is not UTF-8. */
static void put_cell(fgi_buf *out, char separator, const char *prefix, const char *cell)
{
    char *escaped = NULL;
    if (!fgi_text_is_utf8(fgi_str_of(cell))) {
        const size_t size = 4 * strlen(cell) + 4;
        escaped = fgi_alloc(size);
        out->failed |= escaped == NULL;
        if (escaped != NULL)
            (void)fgi_text_escape(fgi_str_of(cell), escaped, size);
        cell = escaped != NULL ? escaped : "";
    }
    const char special[] = {separator, '"', '\r', '\n', '\0'};
    if (strpbrk(cell, special) == NULL)
        fgi_buf_printf(out, "%s%s", prefix, cell);
    else
        put_quoted(out, prefix, cell);
    fgi_free(escaped);
}

static void put_header(const fg_predictions *rows, char separator, fgi_buf *out)
{
    char number[24];
    const size_t width = width_of(rows);
    fgi_buf_puts(out, "index");
    if (name_of(rows, 0) != NULL)
        fgi_buf_printf(out, "%cname", separator);
    if (rows->class_count > 0 || rows->type.rank == 1)
        fgi_buf_printf(out, "%cprediction", separator);
    for (size_t i = 0; i < width && rows->type.rank == 2; i++) {
        fgi_buf_putc(out, separator);
        if (rows->class_count > 0)
            put_cell(out, separator, "p_", class_of(rows, i, number));
        else
            fgi_buf_printf(out, "y%zu", i);
    }
    if (error_of(rows, 0) != NULL)
        fgi_buf_printf(out, "%cerror", separator);
    fgi_buf_putc(out, '\n');
}

static void put_csv_row(const fg_predictions *rows, int64_t index, const float *row, size_t width,
                        char separator, fgi_buf *out)
{
    char number[24];
    const char *name = name_of(rows, index), *error = error_of(rows, index);
    const bool is_good = error == NULL || *error == '\0';
    fgi_buf_printf(out, "%" PRId64, index);
    if (name_of(rows, 0) != NULL) {
        fgi_buf_putc(out, separator);
        put_cell(out, separator, "", name != NULL ? name : "");
    }
    if (rows->class_count > 0 && rows->is_multilabel) {
        fgi_buf labels = {0};
        put_labels(rows, row, is_good ? width : 0, false, &labels);
        fgi_buf_putc(out, separator);
        put_cell(out, separator, "", labels.data != NULL ? labels.data : "");
        out->failed |= labels.failed;
        fgi_buf_fini(&labels);
    } else if (rows->class_count > 0) {
        fgi_buf_putc(out, separator);
        if (is_good)
            put_cell(out, separator, "", class_of(rows, largest(row, width), number));
    }
    for (size_t k = 0; k < width; k++)
        if (is_good)
            fgi_buf_printf(out, "%c%.9g", separator, (double)row[k]);
        else
            fgi_buf_putc(out, separator);
    if (error != NULL) {
        fgi_buf_putc(out, separator);
        put_cell(out, separator, "", error);
    }
    fgi_buf_putc(out, '\n');
}

/* ---- JSON, JSONL ----------------------------------------------------------------------------- */

static void put_value(fgi_buf *out, float value)
{
    if (isfinite(value))
        fgi_buf_printf(out, "%.9g", (double)value);
    else
        fgi_buf_puts(out, "null");
}

static void put_values(fgi_buf *out, const fg_predictions *rows, const float *row, size_t width)
{
    if (rows->type.rank == 2)
        fgi_buf_putc(out, '[');
    for (size_t k = 0; k < width; k++) {
        fgi_buf_puts(out, k > 0 ? ", " : "");
        put_value(out, row[k]);
    }
    if (rows->type.rank == 2)
        fgi_buf_putc(out, ']');
}

static void put_json_row(const fg_predictions *rows, int64_t index, const float *row, size_t width,
                         fgi_buf *out)
{
    char number[24];
    const char *name = name_of(rows, index), *error = error_of(rows, index);
    fgi_buf_printf(out, "{\"index\": %" PRId64, index);
    if (name != NULL) {
        fgi_buf_puts(out, ", \"name\": ");
        put_string(out, name);
    }
    fgi_buf_puts(out, ", \"prediction\": ");
    if (error != NULL && *error != '\0') {
        fgi_buf_puts(out, "null, \"error\": ");
        put_string(out, error);
    } else {
        if (rows->class_count > 0 && rows->is_multilabel) {
            fgi_buf_putc(out, '[');
            put_labels(rows, row, width, true, out);
            fgi_buf_putc(out, ']');
        } else if (rows->class_count > 0) {
            put_string(out, class_of(rows, largest(row, width), number));
        }
        if (rows->class_count > 0)
            fgi_buf_puts(out, ", \"p\": ");
        put_values(out, rows, row, width);
    }
    fgi_buf_putc(out, '}');
}

/* ---- rows ------------------------------------------------------------------------------------ */

void fgi_prediction_put(fgi_prediction_format format, const fg_predictions *rows, bool is_first,
                        fgi_buf *out)
{
    const size_t width = width_of(rows);
    const bool is_table = format == FGI_PREDICTION_CSV || format == FGI_PREDICTION_TSV;
    const char separator = format == FGI_PREDICTION_TSV ? '\t' : ',';
    if (is_first && is_table)
        put_header(rows, separator, out);
    for (int64_t i = 0; i < rows->type.dim[0]; i++) {
        const float *row = (const float *)rows->data + (size_t)i * width;
        if (is_table) {
            put_csv_row(rows, rows->first + i, row, width, separator, out);
            continue;
        }
        if (format == FGI_PREDICTION_JSON)
            fgi_buf_puts(out, is_first && i == 0 ? "[\n" : ",\n");
        put_json_row(rows, rows->first + i, row, width, out);
        if (format == FGI_PREDICTION_JSONL)
            fgi_buf_putc(out, '\n');
    }
}

void fgi_prediction_put_end(fgi_prediction_format format, int64_t count, fgi_buf *out)
{
    if (format == FGI_PREDICTION_JSON)
        fgi_buf_puts(out, count > 0 ? "\n]\n" : "[]\n");
}

/* ---- the file -------------------------------------------------------------------------------- */

static fg_status put_npy(fgi_prediction_file *f, const fg_predictions *rows, fg_error *err)
{
    if (f->expected < 0)
        return fgi_fail(
            err, FG_EUNSUPPORTED,
            "'%s': the number of samples is not known: write .csv, .tsv, .json or .jsonl", f->path);
    fg_type all = rows->type;
    all.dim[0] = f->expected;
    if (!f->has_begun)
        fgi_npy_put_header(&f->text, &all, "f4");
    fgi_buf_add(&f->text, (const char *)rows->data, fg_type_bytes(&rows->type));
    return FG_OK;
}

fg_status fgi_prediction_file_open(const char *path, fgi_prediction_format format,
                                   fgi_prediction_file *out, fg_error *err)
{
    *out = (fgi_prediction_file){.path = path, .format = format, .expected = -1};
    FGI_TRY(fgi_output_open(path, &out->file, err));
    out->is_open = true;
    return FG_OK;
}

static fg_status write_text(fgi_prediction_file *f, fg_error *err)
{
    FGI_TRY(fgi_buf_status(&f->text, err));
    return fgi_write_all(f->file.fd, f->path, f->text.data, f->text.size, err);
}

fg_status fgi_prediction_file_write(fgi_prediction_file *f, const fg_predictions *rows,
                                    fg_error *err)
{
    if (rows->type.dtype != FG_F32)
        return fgi_fail(err, FG_EUNSUPPORTED, "predictions are %s: expected f32",
                        fg_dtype_name(rows->type.dtype));
    fgi_buf_clear(&f->text);
    f->expected = rows->dataset != NULL ? fg_dataset_count(rows->dataset) : -1;
    if (f->format == FGI_PREDICTION_NPY)
        FGI_TRY(put_npy(f, rows, err));
    else
        fgi_prediction_put(f->format, rows, !f->has_begun, &f->text);
    f->has_begun = true;
    f->written += rows->type.dim[0];
    return write_text(f, err);
}

fg_status fgi_prediction_file_close(fgi_prediction_file *f, fg_status status, fg_error *err)
{
    if (!f->is_open)
        return status;
    if (status == FG_OK && f->format == FGI_PREDICTION_NPY && f->written != f->expected)
        status = fgi_fail(err, FG_EINTERNAL, "%" PRId64 " predictions of %" PRId64 " samples",
                          f->written, f->expected);
    fgi_buf_clear(&f->text);
    fgi_prediction_put_end(f->format, f->written, &f->text);
    if (status == FG_OK)
        status = write_text(f, err);
    fgi_buf_fini(&f->text);
    f->is_open = false;
    return fgi_output_close(&f->file, status, err);
}
