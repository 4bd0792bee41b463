/* csv.c - CSV files as datasets: options, applying a schema to a table, and the public functions.
 * All rows are converted once and kept in memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/text.h"
#include "data/csv_schema.h"
#include "data/dataset.h"
#include "data/memory.h"

enum { DEFAULT_MAX_CATEGORIES = 1000 };

/* ---- schemas --------------------------------------------------------------------------------- */

void fg_csv_schema_destroy(fg_csv_schema *schema)
{
    if (schema == NULL)
        return;
    for (size_t i = 0; i < schema->column_count; i++)
        fgi_values_fini(&schema->columns[i].values);
    fgi_values_fini(&schema->classes);
    fgi_values_fini(&schema->na);
    fgi_arena_fini(&schema->arena);
    fgi_free(schema->columns);
    fgi_free(schema->json);
    fgi_free(schema->report);
    fgi_free(schema);
}

const char *fg_csv_schema_json(const fg_csv_schema *schema) { return schema->json; }

int64_t fg_csv_schema_feature_count(const fg_csv_schema *schema) { return schema->feature_count; }

static fg_status no_features(const fg_csv_schema *schema, fg_error *err)
{
    static const char what[] = "no feature columns are left: every column is the target or ignored";
    for (size_t i = 0; i < schema->column_count; i++) {
        const fgi_csv_column *c = &schema->columns[i];
        if (c->ignored_because == NULL)
            continue;
        if (c->image_advice != NULL)
            return fgi_fail(err, FG_EFORMAT, "%s; column '%.64s' is ignored because %s\n%s", what,
                            c->name, c->ignored_because, c->image_advice);
        return fgi_fail(err, FG_EFORMAT,
                        "%s; column '%.64s' is ignored because %s\nto train on it, list it in "
                        "data.%s; if it names image files, put the table next to them or their "
                        "folder",
                        what, c->name, c->ignored_because,
                        fgi_csv_may_be_numeric(c) ? "numeric" : "categorical");
    }
    return fgi_fail(err, FG_EFORMAT, "%s%s", what,
                    schema->column_count > 1 ? ""
                                             : "\nthe file has only one column: check "
                                               "data.delimiter, and delete a title above the "
                                               "header");
}

fg_status fgi_csv_schema_finish(fg_csv_schema *schema, fg_error *err)
{
    schema->feature_count = 0;
    bool all_numeric = true;
    for (size_t i = 0; i < schema->column_count; i++) {
        const fgi_csv_column *c = &schema->columns[i];
        if (c->kind == FGI_CSV_NUMERIC)
            schema->feature_count++;
        else if (c->kind == FGI_CSV_CATEGORICAL)
            schema->feature_count += (int64_t)c->values.count;
        all_numeric = all_numeric && c->kind != FGI_CSV_CATEGORICAL;
    }
    if (schema->feature_count == 0)
        return no_features(schema, err);
    if (fgi_csv_is_image(schema)) {
        const int64_t *image = schema->image;
        int64_t pixels;
        if (__builtin_mul_overflow(image[0], image[1], &pixels) ||
            __builtin_mul_overflow(pixels, image[2], &pixels) || pixels != schema->feature_count ||
            !all_numeric)
            return fgi_fail(err, FG_ESHAPE,
                            "the columns have %" PRId64 " feature%s, but an image of %" PRId64
                            " x %" PRId64 " x %" PRId64 " requires one numeric column per pixel",
                            schema->feature_count, fgi_s(schema->feature_count), image[0], image[1],
                            image[2]);
    }
    return fgi_csv_schema_write(schema, err);
}

/* ---- converting rows ------------------------------------------------------------------------- */

/* A table being converted. */
typedef struct converter {
    const fg_csv_schema *schema;
    const fgi_csv *csv;
    bool no_target, missing_is_mean, unknown_is_zero;
    bool has_target;      /* the file has the target, or all labels, and it is converted */
    fgi_arena *kept;      /* errors of rows are not errors: it has their messages; NULL: they are */
    const char **damaged; /* by row, in the arena; NULL: none */
    int64_t *sources;     /* for each column of the schema: its column in the file, or -1 */
    fgi_csv_row row;
    size_t at; /* the row */
    fgi_block blocks[2];
    fg_error *err;
} converter;

#define CONVERT_FAIL(c, column, ...)                                                               \
    fgi_csv_fail((c)->csv, (c)->at, (size_t)(c)->sources[column], (c)->err, __VA_ARGS__)

static bool is_u8_image(const fg_csv_schema *s)
{
    return fgi_csv_is_image(s) && !(s->image_scale > 0);
}

static fg_status store(const converter *c, size_t column, double value, float *out)
{
    *out = (float)value;
    if (!isfinite(*out))
        return CONVERT_FAIL(c, column, "%g is out of range for f32", value);
    return FG_OK;
}

static fgi_str cell_of(const converter *c, size_t column)
{
    return c->row.cells[c->sources[column]];
}

static fgi_content content(const converter *c, size_t column, double *out)
{
    return fgi_schema_cell(c->schema, column, &c->row, (size_t)c->sources[column], out);
}

static fg_status missing(const converter *c, size_t column)
{
    const fg_csv_schema *s = c->schema;
    const fgi_csv_kind kind = s->columns[column].kind;
    const bool is_target = kind == FGI_CSV_TARGET;
    const bool is_class = is_target && s->is_classification && !s->has_numeric_classes;
    return fgi_csv_missing(s, c->csv, c->at, (size_t)c->sources[column], cell_of(c, column),
                           is_target, kind != FGI_CSV_CATEGORICAL && !is_class, c->err);
}

static fg_status convert_number(const converter *c, size_t column, double *out)
{
    const fgi_csv_column *rule = &c->schema->columns[column];
    const fgi_str cell = cell_of(c, column);
    switch (content(c, column, out)) {
    case FGI_NUMBER: return FG_OK;
    case FGI_MISSING:
    case FGI_QUOTED_WORD:
        if (!c->missing_is_mean || rule->kind != FGI_CSV_NUMERIC)
            return missing(c, column);
        *out = rule->mean;
        return FG_OK;
    default: break;
    }
    return CONVERT_FAIL(
        c, column, "'%.*s' is not a finite number, but the column is numeric\n%s",
        cell.size > 64 ? 64 : (int)cell.size, cell.data,
        rule->kind == FGI_CSV_TARGET
            ? "correct it, or remove the row"
            : "correct it, or treat it as missing with data.na_values and data.missing: mean");
}

static fg_status convert_pixel(const converter *c, size_t column, int64_t index)
{
    double value;
    FGI_TRY(convert_number(c, column, &value));
    const int64_t place = (int64_t)c->at * c->schema->feature_count + index;
    if (!is_u8_image(c->schema))
        return store(c, column, value * c->schema->image_scale,
                     (float *)c->blocks[0].owned + place);
    if (!(value >= 0 && value <= 255) || value != trunc(value))
        return CONVERT_FAIL(c, column, "%g is not a pixel value: expected 0 to 255", value);
    ((unsigned char *)c->blocks[0].owned)[place] = (unsigned char)value;
    return FG_OK;
}

/* If the column is probably no category, that is reported. */
static fg_status unknown_category(const converter *c, size_t column)
{
    const fgi_csv_column *rule = &c->schema->columns[column];
    const fgi_csv_seen *seen = &rule->seen;
    const fgi_str cell = cell_of(c, column);
    const int size = cell.size > 64 ? 64 : (int)cell.size;
    if (fgi_csv_is_nearly_numeric(rule))
        return CONVERT_FAIL(
            c, column,
            "'%.*s' does not occur in the training data; the column is categorical only because of "
            "'%s' in row %zu of the training file\ncorrect that value, or treat it as missing with "
            "data.na_values and data.missing: mean",
            size, cell.data, seen->text, seen->text_row + 1);
    if (fgi_csv_is_spreadsheet(rule))
        return CONVERT_FAIL(c, column,
                            "'%.*s' does not occur in the training data; the column is categorical "
                            "because '%s' in row %zu of the training file is not a plain "
                            "number\n%s",
                            size, cell.data, seen->text, seen->text_row + 1,
                            seen->commas > seen->marks
                                ? "set data.decimal: \",\" to read a decimal comma"
                                : "list the column in data.numeric to read such numbers");
    return CONVERT_FAIL(c, column,
                        "'%.*s' does not occur in the training data, in which the column has %zu "
                        "categories\nif it is a name or an identifier, list it in data.ignore; "
                        "data.unknown: zero encodes unknown categories as zeros",
                        size, cell.data, rule->values.count);
}

static fg_status convert_category(const converter *c, size_t column, float *out)
{
    const fgi_csv_column *rule = &c->schema->columns[column];
    double number;
    const bool is_missing = content(c, column, &number) == FGI_MISSING;
    memset(out, 0, rule->values.count * sizeof(*out));
    if (is_missing && !c->missing_is_mean)
        return missing(c, column);
    const int64_t at = is_missing ? -1 : fgi_values_find(&rule->values, cell_of(c, column));
    if (at >= 0)
        out[at] = 1;
    else if (!is_missing && !c->unknown_is_zero)
        return unknown_category(c, column);
    return FG_OK;
}

static fg_status convert_target(const converter *c, size_t column)
{
    double value;
    const fgi_str cell = cell_of(c, column);
    if (content(c, column, &value) == FGI_MISSING)
        return missing(c, column);
    if (!c->schema->is_classification) {
        const fgi_csv_column *rule = &c->schema->columns[column];
        float *y = (float *)c->blocks[1].owned + c->at;
        FGI_TRY(convert_number(c, column, &value));
        FGI_TRY(store(c, column, value, y)); /* predictions are f32 in the unit of the target */
        if (c->schema->target_is_standardized)
            *y = (float)((value - rule->mean) / rule->deviation);
        return FG_OK;
    }
    char scratch[32];
    const int64_t class =
        fgi_values_find(&c->schema->classes,
                        fgi_class_text(c->schema, &c->row, (size_t)c->sources[column], scratch));
    if (class < 0)
        return CONVERT_FAIL(c, column, "'%.*s' is not one of the classes",
                            cell.size > 64 ? 64 : (int)cell.size, cell.data);
    ((int32_t *)c->blocks[1].owned)[c->at] = (int32_t) class;
    return FG_OK;
}

/* Sets the labels of a list. */
static fg_status convert_labels(const converter *c, size_t column)
{
    const fg_csv_schema *s = c->schema;
    uint8_t *y = (uint8_t *)c->blocks[1].owned + c->at * s->classes.count;
    double value;
    fgi_str rest = cell_of(c, column), label;
    memset(y, 0, s->classes.count);
    if (content(c, column, &value) == FGI_MISSING)
        return FG_OK; /* no label */
    while (fgi_str_next(&rest, s->label_separator, &label)) {
        const int64_t at = fgi_values_find(&s->classes, label);
        const int size = label.size > 64 ? 64 : (int)label.size;
        if (at < 0)
            return CONVERT_FAIL(c, column, "'%.*s' is not one of the labels", size, label.data);
        if (y[at] != 0)
            return CONVERT_FAIL(c, column, "the label '%.*s' occurs twice", size, label.data);
        y[at] = 1;
    }
    return FG_OK;
}

/* Sets the label of a column of 0 and 1. */
static fg_status convert_label(const converter *c, size_t column)
{
    const fg_csv_schema *s = c->schema;
    const int64_t at = fgi_values_find(&s->classes, fgi_str_of(s->columns[column].name));
    const fgi_str cell = cell_of(c, column);
    double value;
    if (content(c, column, &value) != FGI_NUMBER || (value != 0 && value != 1))
        return CONVERT_FAIL(c, column, "'%.*s' is neither 0 nor 1, but the column is a label",
                            cell.size > 64 ? 64 : (int)cell.size, cell.data);
    ((uint8_t *)c->blocks[1].owned)[c->at * s->classes.count + (size_t)at] = value == 1;
    return FG_OK;
}

static fg_status convert_row(const converter *c)
{
    const fg_csv_schema *s = c->schema;
    int64_t feature = 0;
    for (size_t i = 0; i < s->column_count; i++) {
        const fgi_csv_column *rule = &s->columns[i];
        if (c->sources[i] < 0)
            continue;
        float *x = (float *)c->blocks[0].owned + (int64_t)c->at * s->feature_count + feature;
        if (rule->kind == FGI_CSV_TARGET) {
            FGI_TRY(s->is_multilabel ? convert_labels(c, i) : convert_target(c, i));
        } else if (rule->kind == FGI_CSV_LABEL) {
            if (c->has_target)
                FGI_TRY(convert_label(c, i));
        } else if (rule->kind == FGI_CSV_CATEGORICAL) {
            FGI_TRY(convert_category(c, i, x));
            feature += (int64_t)rule->values.count;
        } else if (fgi_csv_is_image(s)) {
            FGI_TRY(convert_pixel(c, i, feature++));
        } else {
            double value;
            FGI_TRY(convert_number(c, i, &value));
            if (s->normalize)
                value = (value - rule->mean) / rule->deviation;
            FGI_TRY(store(c, i, value, x));
            feature++;
        }
    }
    return FG_OK;
}

static bool is_answer(const fgi_csv_column *column)
{
    return column->kind == FGI_CSV_TARGET || column->kind == FGI_CSV_LABEL;
}

/* Maps each column of the schema to the file. Only the target may be missing. */
static fg_status match_named(converter *c)
{
    const fg_csv_schema *s = c->schema;
    fgi_map places = {0};
    fg_status status = FG_OK;
    for (size_t i = 0; i < c->csv->column_count && status == FG_OK; i++) {
        const char *name = c->csv->columns[i];
        if (!fgi_map_put(&places, fgi_hash_text(name), (void *)&c->csv->columns[i]))
            status = fgi_no_memory(c->err);
    }
    for (size_t i = 0; i < s->column_count && status == FG_OK; i++) {
        const fgi_csv_column *rule = &s->columns[i];
        const char *const *place = fgi_map_get(&places, fgi_hash_text(rule->name));
        c->sources[i] =
            place == NULL || rule->kind == FGI_CSV_IGNORED ? -1 : place - c->csv->columns;
        if (place == NULL && rule->kind != FGI_CSV_IGNORED && !is_answer(rule))
            status =
                fgi_fail(c->err, FG_ENOTFOUND, "%s:1: no column '%s'", c->csv->name, rule->name);
    }
    fgi_map_fini(&places);
    return status;
}

/* Without a header, a file that only lacks the target has one column less. */
static fg_status match_numbered(converter *c)
{
    const fg_csv_schema *s = c->schema;
    const bool lacks_target = s->target >= 0 && c->csv->column_count + 1 == s->column_count;
    if (!lacks_target && c->csv->column_count != s->column_count)
        return fgi_fail(c->err, FG_EFORMAT,
                        "%s:1: the file has %zu column%s: expected %zu, as in the training file",
                        c->csv->name, c->csv->column_count, fgi_s(c->csv->column_count),
                        s->column_count);
    int64_t next = 0;
    for (size_t i = 0; i < s->column_count; i++) {
        const bool is_absent = lacks_target && (int64_t)i == s->target;
        c->sources[i] = is_absent || s->columns[i].kind == FGI_CSV_IGNORED ? -1 : next;
        next += !is_absent;
    }
    return FG_OK;
}

static fg_status alloc_blocks(converter *c)
{
    const fg_csv_schema *s = c->schema;
    const size_t number = is_u8_image(s) ? 1 : sizeof(float);
    const size_t target = s->is_multilabel ? s->classes.count : sizeof(int32_t);
    size_t bytes;
    if (!fgi_mul_size(s->feature_count, c->csv->row_count * number, &bytes))
        return fgi_no_memory(c->err);
    FGI_TRY(fgi_block_alloc(bytes, &c->blocks[0], c->err));
    if (!c->has_target)
        return FG_OK;
    if (!fgi_mul_size((int64_t)target, c->csv->row_count, &bytes))
        return fgi_no_memory(c->err);
    return fgi_block_alloc(bytes, &c->blocks[1], c->err);
}

/* Whether the file has the target, or all labels. */
static bool has_target(const converter *c)
{
    const fg_csv_schema *s = c->schema;
    bool has = fgi_csv_has_target(s) && !c->no_target;
    for (size_t i = 0; i < s->column_count; i++)
        has = has && (!is_answer(&s->columns[i]) || c->sources[i] >= 0);
    return has;
}

/* Makes the row zeros and keeps the message, which is in an arena. */
static fg_status keep(converter *c, const char *message)
{
    const size_t rows = c->csv->row_count, bytes = is_u8_image(c->schema) ? 1 : sizeof(float);
    const size_t width = (size_t)c->schema->feature_count * bytes;
    if (c->damaged == NULL)
        c->damaged = fgi_arena_alloc(c->kept, (rows + 1) * sizeof(*c->damaged));
    if (c->damaged == NULL || message == NULL)
        return fgi_no_memory(c->err);
    c->damaged[c->at] = message;
    memset((char *)c->blocks[0].owned + c->at * width, 0, width);
    *c->err = (fg_error){0};
    return FG_OK;
}

/* Copies the messages to the dataset. */
static fg_status add_errors(const converter *c, fg_dataset *dataset)
{
    const size_t count = c->csv->row_count;
    dataset->errors = fgi_arena_alloc(&dataset->arena, (count + 1) * sizeof(*dataset->errors));
    bool is_good = dataset->errors != NULL;
    for (size_t i = 0; is_good && i < count; i++) {
        const char *message = c->damaged[i];
        dataset->errors[i] = message != NULL ? fgi_arena_strdup(&dataset->arena, message) : NULL;
        is_good = message == NULL || dataset->errors[i] != NULL;
    }
    return is_good ? FG_OK : fgi_no_memory(c->err);
}

static fg_status make_dataset(converter *c, fg_dataset **out)
{
    const fg_csv_schema *s = c->schema;
    const bool is_image = fgi_csv_is_image(s);
    fg_field fields[2] = {{is_image ? "image" : "x", {.dtype = FG_F32, .rank = 1}},
                          {is_image ? "label" : "y", {.dtype = FG_F32}}};
    fields[0].type.dim[0] = s->feature_count;
    if (is_image) {
        fields[0].type.rank = 3;
        memcpy(fields[0].type.dim, s->image, sizeof(s->image));
    }
    if (is_u8_image(s))
        fields[0].type.dtype = FG_U8;
    if (s->is_classification)
        fields[1].type.dtype = FG_S32;
    if (s->is_multilabel)
        fields[1].type = (fg_type){FG_U8, 1, {(int64_t)s->classes.count}};
    const fg_dataset_spec spec = {.count = (int64_t)c->csv->row_count,
                                  .fields = fields,
                                  .field_count = c->has_target ? 2 : 1,
                                  .class_count = (int64_t)s->classes.count,
                                  .class_names = s->classes.texts};
    fg_status status = fgi_memory_create(&spec, c->blocks, out, c->err);
    if (status == FG_OK && c->damaged != NULL)
        status = add_errors(c, *out);
    return fgi_dataset_finish(out, status);
}

static fg_status convert(converter *c, fg_dataset **out)
{
    FGI_TRY(c->schema->has_header ? match_named(c) : match_numbered(c));
    if (c->no_target && c->schema->target >= 0)
        c->sources[c->schema->target] = -1;
    c->has_target = has_target(c);
    FGI_TRY(alloc_blocks(c));
    size_t fault = 0;
    for (c->at = 0; c->at < c->csv->row_count; c->at++) {
        if (fault < c->csv->fault_count && c->csv->faults[fault].row == c->at) {
            FGI_TRY(keep(c, c->csv->faults[fault++].message));
            continue;
        }
        fgi_csv_read(c->csv, c->at, &c->row);
        const fg_status status = convert_row(c);
        if (status == FG_EFORMAT && c->kept != NULL)
            FGI_TRY(keep(c, fgi_error_line(c->kept, c->err)));
        else
            FGI_TRY(status);
    }
    return make_dataset(c, out);
}

/* "error" is false, the other word true; NULL: as in the schema. */
static bool either(const char *word, const char *yes, bool otherwise)
{
    return word == NULL ? otherwise : strcmp(word, yes) == 0;
}

fg_status fgi_csv_convert(const fg_csv_schema *schema, const fgi_csv *csv,
                          const fg_csv_apply_options *options, fg_dataset **out, fg_error *err)
{
    static const fg_csv_apply_options none;
    const fg_csv_apply_options *o = options != NULL ? options : &none;
    fgi_arena kept;
    fg_error local;
    *out = NULL;
    err = err != NULL ? err : &local;
    converter c = {.schema = schema,
                   .csv = csv,
                   .no_target = o->no_target,
                   .missing_is_mean = either(o->missing, "mean", schema->missing_is_mean),
                   .unknown_is_zero = either(o->unknown, "zero", schema->unknown_is_zero),
                   .err = err};
    FGI_TRY(fgi_csv_row_init(csv, &c.row, err));
    fgi_arena_init(&kept);
    c.kept = o->keep_damaged ? &kept : NULL;
    c.sources = fgi_calloc(schema->column_count, sizeof(*c.sources));
    const fg_status status = c.sources == NULL ? fgi_no_memory(err) : convert(&c, out);
    fgi_arena_fini(&kept);
    fgi_csv_row_fini(&c.row);
    fgi_free(c.sources);
    fgi_block_fini(&c.blocks[0]);
    fgi_block_fini(&c.blocks[1]);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status check_delimiter(char delimiter, fg_error *err)
{
    if (strchr("\"\r\n", delimiter) != NULL || (unsigned char)delimiter >= 0x80)
        return fgi_fail(
            err, FG_EINVAL,
            "delimiter 0x%02x: expected an ASCII character other than a quote or a line "
            "break",
            (unsigned char)delimiter);
    return FG_OK;
}

static fg_status check_words(const char *missing, const char *unknown, fg_error *err)
{
    if (missing != NULL && !fgi_is_one_of(missing, "error|mean"))
        return fgi_fail(err, FG_EINVAL, "missing is '%s': expected 'error' or 'mean'", missing);
    if (unknown != NULL && !fgi_is_one_of(unknown, "error|zero"))
        return fgi_fail(err, FG_EINVAL, "unknown is '%s': expected 'error' or 'zero'", unknown);
    return FG_OK;
}

static fg_status check_labels(const fg_csv_options *o, fg_error *err)
{
    if (*o->label_separator == '\0')
        return fgi_fail(err, FG_EINVAL, "label_separator is empty: expected a character");
    if (o->label_columns.count == 0)
        return FG_OK;
    if (o->target != NULL && *o->target != '\0')
        return fgi_fail(err, FG_EINVAL,
                        "target and label_columns are both given: set only one of them");
    if (!fgi_is_one_of(o->task, "auto|multilabel"))
        return fgi_fail(err, FG_EINVAL,
                        "label_columns is given, but the task is %s: expected multilabel", o->task);
    return FG_OK;
}

/* Sets the defaults and checks everything that does not need the file. */
static fg_status complete_options(const fg_csv_options *given, fg_csv_options *o, fg_error *err)
{
    *o = given == NULL ? (fg_csv_options){0} : *given;
    if (o->delimiter == '\0')
        o->delimiter = ',';
    o->task = o->task == NULL ? "auto" : o->task;
    o->missing = o->missing == NULL ? "error" : o->missing;
    o->unknown = o->unknown == NULL ? "error" : o->unknown;
    o->max_categories = o->max_categories == 0 ? DEFAULT_MAX_CATEGORIES : o->max_categories;
    o->decimal = o->decimal == '\0' ? '.' : o->decimal;
    o->label_separator = o->label_separator == NULL ? ";|" : o->label_separator;
    FGI_TRY(check_delimiter(o->delimiter, err));
    if (!fgi_is_one_of(o->task, "auto|classification|multilabel|regression"))
        return fgi_fail(
            err, FG_EINVAL,
            "task is '%s': expected 'classification', 'multilabel', 'regression' or 'auto'",
            o->task);
    FGI_TRY(check_labels(o, err));
    FGI_TRY(check_words(o->missing, o->unknown, err));
    if (o->decimal != '.' && o->decimal != ',')
        return fgi_fail(err, FG_EINVAL, "decimal is '%c': expected '.' or ','", o->decimal);
    if (o->decimal == o->delimiter)
        return fgi_fail(err, FG_EINVAL,
                        "data.decimal and data.delimiter are both '%c': expected two characters",
                        o->decimal);
    if (o->max_categories < 1)
        return fgi_fail(err, FG_EINVAL,
                        "max_categories is %" PRId64 ": expected a number greater than 0",
                        o->max_categories);
    const int64_t *image = o->image;
    const bool is_image = image[0] != 0 || image[1] != 0 || image[2] != 0;
    if (is_image && (image[0] < 1 || image[1] < 1 || image[2] < 1))
        return fgi_fail(err, FG_EINVAL,
                        "image is %" PRId64 " x %" PRId64 " x %" PRId64
                        ": expected three numbers greater than 0",
                        image[0], image[1], image[2]);
    if (!(o->image_scale >= 0) || !isfinite(o->image_scale))
        return fgi_fail(err, FG_EINVAL, "image_scale is %g: expected a finite number",
                        o->image_scale);
    if (o->val_path != NULL && o->val_fraction != 0)
        return fgi_fail(err, FG_EINVAL, "val_path and val_fraction are both given: set only one");
    return FG_OK;
}

/* Fits and applies a schema; *out is complete, or its parts are destroyed by its owner. */
static fg_status open_table(const fgi_csv *csv, const fg_csv_options *o, fg_csv_parts *out,
                            fg_error *err)
{
    fgi_split split;
    fg_dataset *all = NULL;
    fg_status status = fgi_csv_fit(csv, o, &split, &out->schema, err);
    if (status == FG_OK)
        fgi_csv_warn(out->schema, csv);
    if (status == FG_OK)
        status = fgi_csv_convert(out->schema, csv, NULL, &all, err);
    if (status == FG_OK && split.rows == NULL) {
        out->train = all;
        all = NULL;
    } else if (status == FG_OK) {
        status = fgi_split_datasets(&split, all, all, &out->train, &out->val, err);
    }
    fg_dataset_destroy(all);
    fgi_free(split.rows);
    return status;
}

static fg_status open_val(const fg_csv_options *o, fg_csv_parts *out, fg_error *err)
{
    if (o->val_path == NULL)
        return FG_OK;
    FGI_TRY(fg_csv_apply(out->schema, o->val_path, NULL, &out->val, err));
    if (fg_dataset_field_count(out->val) != fg_dataset_field_count(out->train))
        return fgi_fail(err, FG_ENOTFOUND, "%s:1: target column '%s' does not exist", o->val_path,
                        fgi_csv_target_name(out->schema));
    return FG_OK;
}

static void destroy_parts(fg_csv_parts *parts)
{
    fg_dataset_destroy(parts->train);
    fg_dataset_destroy(parts->val);
    fg_csv_schema_destroy(parts->schema);
    *parts = (fg_csv_parts){0};
}

static fg_status parse(const char *path, fgi_block *take_block, const fg_csv_options *o,
                       fgi_csv *out, fg_error *err)
{
    const fgi_csv_layout layout = {
        .delimiter = o->delimiter,
        .no_header = o->header == FG_CSV_HEADER_NO,
        .delimiter_option = "data.delimiter",
        .header_option = o->header == FG_CSV_HEADER_CHECKED ? "data.no_header" : NULL};
    return fgi_csv_parse(path, take_block, &layout, out, err);
}

fg_status fg_csv_schema_fit(const char *path, const fg_csv_options *options, fg_csv_schema **out,
                            fg_error *err)
{
    fg_csv_options o;
    fgi_block block;
    fgi_csv csv;
    fgi_split split;
    *out = NULL;
    FGI_TRY_RESERVED(fg_csv_options, options, err);
    FGI_TRY(complete_options(options, &o, err));
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    FGI_TRY(parse(path, &block, &o, &csv, err));
    const fg_status status = fgi_csv_fit(&csv, &o, &split, out, err);
    fgi_free(split.rows);
    fgi_csv_fini(&csv);
    return status;
}

fg_status fg_csv_detect(const char *path, fg_csv_layout *out, fg_error *err)
{
    fgi_block block;
    *out = (fg_csv_layout){.delimiter = ','};
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    return fgi_csv_detect(path, &block, out, err);
}

fg_status fgi_csv_open_block(const char *name, fgi_block *take_block, const fg_csv_options *options,
                             fg_csv_parts *out, fg_error *err)
{
    *out = (fg_csv_parts){0};
    fg_csv_options o;
    fgi_csv csv = {0};
    fg_status status = complete_options(options, &o, err);
    if (status == FG_OK)
        status = parse(name, take_block, &o, &csv, err);
    if (status == FG_OK)
        status = open_table(&csv, &o, out, err);
    fgi_csv_fini(&csv);
    fgi_block_fini(take_block);
    if (status != FG_OK)
        destroy_parts(out);
    return status;
}

fg_status fg_csv_load(const char *path, const fg_csv_options *options, fg_csv_parts *out,
                      fg_error *err)
{
    *out = (fg_csv_parts){0};
    fg_csv_options o;
    fgi_block block;
    FGI_TRY_RESERVED(fg_csv_options, options, err);
    FGI_TRY(complete_options(options, &o, err));
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    FGI_TRY(fgi_csv_open_block(path, &block, &o, out, err));
    const fg_status status = open_val(&o, out, err);
    if (status != FG_OK)
        destroy_parts(out);
    return status;
}

fg_status fg_csv_apply(const fg_csv_schema *schema, const char *path,
                       const fg_csv_apply_options *options, fg_dataset **out, fg_error *err)
{
    *out = NULL;
    fgi_block block;
    fgi_csv csv;
    const fg_csv_apply_options o = options != NULL ? *options : (fg_csv_apply_options){0};
    const fgi_csv_layout layout = {.delimiter =
                                       o.delimiter != '\0' ? o.delimiter : schema->delimiter,
                                   .no_header = !schema->has_header,
                                   .delimiter_option = "data.delimiter",
                                   .column_count = schema->column_count,
                                   .keeps_faults = o.keep_damaged};
    FGI_TRY_RESERVED(fg_csv_apply_options, options, err);
    FGI_TRY(check_delimiter(layout.delimiter, err));
    FGI_TRY(check_words(o.missing, o.unknown, err));
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    FGI_TRY(fgi_csv_parse(path, &block, &layout, &csv, err));
    const fg_status status = fgi_csv_convert(schema, &csv, options, out, err);
    fgi_csv_fini(&csv);
    return status;
}
