/* csv_json.c - writes a schema as JSON and parses it, so that a model applies the encoding of its
 * training rows to new files. The input is validated like any file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "input/json_file.h"
#include "data/csv_schema.h"

#define FORMAT_NAME "fulgurite csv schema"
enum { FORMAT_VERSION = 1, MOST_COLUMNS = 1 << 24 };

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends or sets; takes ownership of the new reference. NULL, from an allocation failure, is
 * passed on. */
static bool set(json_t *object, const char *key, json_t *take_value)
{
    return json_object_set_new(object, key, take_value) == 0;
}

static json_t *texts_to_json(const fgi_values *values)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < values->count; i++)
        if (json_array_append_new(list, json_string(values->texts[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *column_to_json(const fgi_csv_column *c, bool is_standardized)
{
    json_t *object = json_object();
    bool ok = object != NULL && set(object, "name", json_string(c->name)) &&
              set(object, "kind", json_string(fgi_csv_kind_names[c->kind]));
    if (ok && (c->kind == FGI_CSV_NUMERIC || is_standardized))
        ok = set(object, "mean", json_real(c->mean)) &&
             set(object, "deviation", json_real(c->deviation));
    if (ok && c->is_number)
        ok = set(object, "spreadsheet", json_true());
    if (ok && c->kind == FGI_CSV_CATEGORICAL)
        ok = set(object, "values", texts_to_json(&c->values));
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static bool fill_root(json_t *root, const fg_csv_schema *s)
{
    json_t *columns = json_array();
    const char delimiter[2] = {s->delimiter, '\0'};
    bool ok = set(root, "columns", columns);
    for (size_t i = 0; ok && i < s->column_count; i++)
        ok = json_array_append_new(
                 columns, column_to_json(&s->columns[i], (int64_t)i == s->target &&
                                                             s->target_is_standardized)) == 0;
    ok = ok && json_object_update_new(
                   root, json_pack("{s:s, s:i, s:b, s:s, s:b, s:s, s:s}", "format", FORMAT_NAME,
                                   "version", FORMAT_VERSION, "header", s->has_header, "delimiter",
                                   delimiter, "normalize", s->normalize, "missing",
                                   s->missing_is_mean ? "mean" : "error", "unknown",
                                   s->unknown_is_zero ? "zero" : "error")) == 0;
    if (ok && s->no_default_na)
        ok = set(root, "default_na", json_false());
    if (ok && s->decimal == ',')
        ok = set(root, "decimal", json_string(","));
    if (ok && s->na.count > 0)
        ok = set(root, "na_values", texts_to_json(&s->na));
    if (ok && fgi_csv_is_image(s))
        ok = set(root, "image",
                 json_pack("[I, I, I]", (json_int_t)s->image[0], (json_int_t)s->image[1],
                           (json_int_t)s->image[2])) &&
             set(root, "image_scale", json_real(s->image_scale));
    if (ok && s->is_classification)
        ok = set(root, "classes", texts_to_json(&s->classes)) &&
             set(root, "numeric_classes", json_boolean(s->has_numeric_classes));
    if (ok && s->is_multilabel)
        ok = set(root, "labels", texts_to_json(&s->classes)) &&
             set(root, "label_separator", json_string(s->label_separator));
    return ok;
}

fg_status fgi_csv_schema_write(fg_csv_schema *schema, fg_error *err)
{
    fgi_buf text = {0};
    json_t *root = json_object();
    const bool is_made = root != NULL && fill_root(root, schema) &&
                         fgi_json_write(root, JSON_COMPACT | JSON_SORT_KEYS, &text);
    json_decref(root);
    fgi_free(schema->json);
    schema->json = is_made ? fgi_buf_take(&text) : NULL;
    fgi_buf_fini(&text);
    return schema->json == NULL ? fgi_no_memory(err) : FG_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static fg_status fail(fg_error *err, const char *what)
{
    return fgi_fail(err, FG_EFORMAT, "csv schema: %s", what);
}

/* Distinct strings, in the order of the list. */
static fg_status get_texts(const json_t *list, fg_csv_schema *s, fgi_values *values, fg_error *err)
{
    if (!json_is_array(list))
        return fail(err, "expected a list of strings");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_string(item))
            return fail(err, "expected a list of strings");
        const fgi_str text = {json_string_value(item), json_string_length(item)};
        if (fgi_values_add(values, &s->arena, text, SIZE_MAX) == FGI_NO_MEMORY)
            return fgi_no_memory(err);
        if (values->count != i + 1)
            return fail(err, "a list has a duplicate string");
    }
    return fgi_values_seal(values, FGI_AS_ADDED) ? FG_OK : fgi_no_memory(err);
}

static fg_status read_column(json_t *object, fg_csv_schema *s, size_t index, fg_error *err)
{
    fgi_csv_column *c = &s->columns[index];
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (name == NULL || kind == NULL)
        return fail(err, "a column has no name or kind");
    if ((c->name = fgi_arena_strdup(&s->arena, name)) == NULL)
        return fgi_no_memory(err);
    size_t k = 0;
    while (k <= FGI_CSV_LABEL && strcmp(kind, fgi_csv_kind_names[k]) != 0)
        k++;
    if (k > FGI_CSV_LABEL)
        return fail(err, "a column has an unknown kind");
    c->kind = (fgi_csv_kind)k;
    c->is_number = json_is_true(json_object_get(object, "spreadsheet"));
    if (c->kind == FGI_CSV_CATEGORICAL)
        return get_texts(json_object_get(object, "values"), s, &c->values, err);
    if (c->kind == FGI_CSV_TARGET) {
        if (s->target >= 0)
            return fail(err, "two targets");
        s->target = (int64_t)index;
        s->target_is_standardized = json_object_get(object, "mean") != NULL;
    }
    if (c->kind == FGI_CSV_NUMERIC || (c->kind == FGI_CSV_TARGET && s->target_is_standardized)) {
        if (json_unpack(object, "{s:F, s:F}", "mean", &c->mean, "deviation", &c->deviation) != 0 ||
            !(c->deviation > 0))
            return fail(err, "a numeric column has no mean or no positive deviation");
    }
    return FG_OK;
}

static fg_status read_columns(const json_t *root, fg_csv_schema *s, fg_error *err)
{
    const json_t *columns = json_object_get(root, "columns");
    const size_t count = json_array_size(columns);
    if (count == 0 || count > MOST_COLUMNS)
        return fail(err, "no columns");
    if ((s->columns = fgi_calloc(count, sizeof(*s->columns))) == NULL)
        return fgi_no_memory(err);
    s->column_count = count;
    s->target = -1;
    fgi_values names = {0};
    fg_status status = FG_OK;
    for (size_t i = 0; i < count && status == FG_OK; i++) {
        status = read_column(json_array_get(columns, i), s, i, err);
        if (status == FG_OK && fgi_values_add(&names, &s->arena, fgi_str_of(s->columns[i].name),
                                              SIZE_MAX) == FGI_NO_MEMORY)
            status = fgi_no_memory(err);
        if (status == FG_OK && names.count != i + 1)
            status = fail(err, "two columns have the same name");
    }
    fgi_values_fini(&names);
    return status;
}

static fg_status read_image(json_t *root, fg_csv_schema *s, fg_error *err)
{
    json_t *image = json_object_get(root, "image");
    json_int_t size[3];
    if (image == NULL)
        return FG_OK;
    if (json_unpack(image, "[I, I, I!]", &size[0], &size[1], &size[2]) != 0 || size[0] < 1 ||
        size[1] < 1 || size[2] < 1)
        return fail(err, "image: expected three sizes");
    for (size_t i = 0; i < 3; i++)
        s->image[i] = size[i];
    if (json_unpack(root, "{s:F}", "image_scale", &s->image_scale) != 0 || s->image_scale < 0)
        return fail(err, "image: expected three sizes and an image_scale");
    return FG_OK;
}

/* Lists in the target, or the columns of the labels. */
static fg_status read_labels(const json_t *root, fg_csv_schema *s, fg_error *err)
{
    const json_t *labels = json_object_get(root, "labels");
    const char *separator = json_string_value(json_object_get(root, "label_separator"));
    size_t columns = 0;
    for (size_t i = 0; i < s->column_count; i++)
        columns += s->columns[i].kind == FGI_CSV_LABEL;
    if (labels == NULL && columns == 0)
        return FG_OK;
    s->is_multilabel = true;
    if (separator == NULL || *separator == '\0' || s->is_classification)
        return fail(err, "labels: expected a label_separator, and no classes");
    if ((s->label_separator = fgi_arena_strdup(&s->arena, separator)) == NULL)
        return fgi_no_memory(err);
    FGI_TRY(get_texts(labels, s, &s->classes, err));
    if (s->classes.count == 0 || (s->target >= 0) == (columns > 0) || s->target_is_standardized ||
        (columns > 0 && columns != s->classes.count))
        return fail(err, "labels: expected a target, or a column for each label");
    for (size_t i = 0; i < s->column_count; i++)
        if (s->columns[i].kind == FGI_CSV_LABEL &&
            fgi_values_find(&s->classes, fgi_str_of(s->columns[i].name)) < 0)
            return fail(err, "labels: expected a target, or a column for each label");
    return FG_OK;
}

static fg_status read_root(json_t *root, fg_csv_schema *s, fg_error *err)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const char *missing, *unknown;
    int header, normalize, is_numeric;
    if (format == NULL || strcmp(format, FORMAT_NAME) != 0)
        return fail(err, "this is not a csv schema");
    if (json_integer_value(json_object_get(root, "version")) != FORMAT_VERSION)
        return fail(err, "unsupported schema version");
    const char *delimiter = json_string_value(json_object_get(root, "delimiter"));
    if (delimiter == NULL || strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL)
        return fail(err, "delimiter: expected one character");
    s->delimiter = delimiter[0];
    if (json_unpack(root, "{s:b, s:b, s:s, s:s}", "header", &header, "normalize", &normalize,
                    "missing", &missing, "unknown", &unknown) != 0 ||
        !fgi_is_one_of(missing, "error|mean") || !fgi_is_one_of(unknown, "error|zero"))
        return fail(err, "header, normalize, missing or unknown is missing or invalid");
    s->has_header = header != 0;
    s->normalize = normalize != 0;
    s->missing_is_mean = strcmp(missing, "mean") == 0;
    s->unknown_is_zero = strcmp(unknown, "zero") == 0;
    FGI_TRY(read_columns(root, s, err));
    FGI_TRY(read_image(root, s, err));
    const char *decimal = json_string_value(json_object_get(root, "decimal"));
    s->decimal = decimal != NULL && strcmp(decimal, ",") == 0 ? ',' : '.';
    s->no_default_na = json_is_false(json_object_get(root, "default_na"));
    const json_t *na = json_object_get(root, "na_values");
    if (na != NULL)
        FGI_TRY(get_texts(na, s, &s->na, err));
    const json_t *classes = json_object_get(root, "classes");
    if (classes != NULL && s->target_is_standardized)
        return fail(err, "a numeric target cannot have classes");
    if (classes != NULL) {
        s->is_classification = true;
        FGI_TRY(get_texts(classes, s, &s->classes, err));
        if (s->target < 0 || s->classes.count == 0 ||
            json_unpack(root, "{s:b}", "numeric_classes", &is_numeric) != 0)
            return fail(err, "expected classes and a target, or neither");
        s->has_numeric_classes = is_numeric != 0;
    }
    FGI_TRY(read_labels(root, s, err));
    return fgi_csv_schema_finish(s, err);
}

fg_status fg_csv_schema_parse(const char *json, size_t size, fg_csv_schema **out, fg_error *err)
{
    *out = NULL;
    json_t *root;
    FGI_TRY(fgi_json_parse("csv schema", 0, json, size, &root, err));
    fg_csv_schema *schema = fgi_calloc(1, sizeof(*schema));
    const fg_status status = schema == NULL ? fgi_no_memory(err) : read_root(root, schema, err);
    json_decref(root);
    if (status != FG_OK) {
        fg_csv_schema_destroy(schema);
        return status;
    }
    *out = schema;
    return FG_OK;
}
