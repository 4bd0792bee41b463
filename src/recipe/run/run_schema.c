/* run_schema.c - the description of a model's data: created from datasets, written to and read from
 * data.json.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/run/run_schema.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "input/json_file.h"

#define FORMAT_NAME "fulgurite-data"
enum { FORMAT_VERSION = 1, MOST_CLASSES = 1 << 24 };

/* ---- from data ------------------------------------------------------------------------------- */

static fg_status take_names(const fg_dataset *dataset, fgi_run_schema *out, fg_error *err)
{
    const size_t count = (size_t)fg_dataset_class_count(dataset);
    if (count == 0 || fg_dataset_class_name(dataset, 0) == NULL ||
        (int64_t)count != out->class_count)
        return FG_OK;
    out->class_names = fgi_calloc(count, sizeof(*out->class_names));
    for (size_t i = 0; out->class_names != NULL && i < count; i++) {
        out->class_names[i] = fgi_strdup(fg_dataset_class_name(dataset, (int64_t)i));
        if (out->class_names[i] == NULL)
            return fgi_no_memory(err);
    }
    return out->class_names != NULL ? FG_OK : fgi_no_memory(err);
}

fg_type fgi_run_input_type(const fg_dataset *dataset)
{
    const fg_image_encoding *e = fg_dataset_encoding(dataset);
    if (e == NULL)
        return fg_dataset_field(dataset, 0)->type;
    const int64_t channels = e->channels != 0 ? e->channels : 3;
    return (fg_type){.dtype = FG_U8, .rank = 3, .dim = {e->height, e->width, channels}};
}

fg_status fgi_run_schema_of_data(const char *format, const fg_dataset *train, const fg_dataset *val,
                                 const fg_csv_schema *csv, fgi_run_schema *out, fg_error *err)
{
    *out = (fgi_run_schema){0};
    if (fg_dataset_field_count(train) < 2)
        return fgi_fail(err, FG_EINVAL, "the training data have no target");
    out->format = fgi_strdup(format);
    if (out->format == NULL)
        return fgi_no_memory(err);
    out->input = fgi_run_input_type(train);
    out->target = fg_dataset_field(train, 1)->type;
    out->class_count = fg_dataset_class_count(train);
    if (val != NULL && fg_dataset_class_count(val) > out->class_count)
        out->class_count = fg_dataset_class_count(val);
    FGI_TRY(take_names(train, out, err));
    if (csv != NULL)
        out->csv = fgi_json_load(fg_csv_schema_json(csv), strlen(fg_csv_schema_json(csv)), 0, NULL);
    return FG_OK;
}

fg_status fgi_run_schema_keep_tokenizer(fgi_run_schema *schema, const fg_tokenizer *tokenizer,
                                        fg_error *err)
{
    if (tokenizer == NULL)
        return FG_OK;
    const char *json = fg_tokenizer_json(tokenizer, NULL);
    schema->vocabulary = fg_tokenizer_size(tokenizer);
    schema->tokenizer = fgi_strdup(json != NULL ? json : "bytes");
    return schema->tokenizer != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_run_schema_tokenizer(const fgi_run_schema *schema, const char *path,
                                   fg_tokenizer **out, fg_error *err)
{
    const char *text = schema->tokenizer;
    *out = NULL;
    if (text == NULL)
        return FG_OK;
    return strcmp(text, "bytes") == 0 ? fg_tokenizer_open(text, out, err)
                                      : fg_tokenizer_parse(path, text, strlen(text), out, err);
}

void fgi_run_schema_fini(fgi_run_schema *schema)
{
    for (int64_t i = 0; schema->class_names != NULL && i < schema->class_count; i++)
        fgi_free(schema->class_names[i]);
    fgi_free(schema->class_names);
    fgi_free((void *)schema->format);
    fgi_free(schema->tokenizer);
    json_decref(schema->csv);
    *schema = (fgi_run_schema){0};
}

/* ---- to JSON --------------------------------------------------------------------------------- */

static void put(json_t *object, const char *key, json_t *take_value)
{
    (void)json_object_set_new(object, key, take_value);
}

static json_t *type_to_json(const fg_type *type)
{
    json_t *shape = json_array();
    for (int i = 0; i < type->rank; i++)
        (void)json_array_append_new(shape, json_integer(type->dim[i]));
    json_t *object = json_pack("{s:s, s:o}", "dtype", fg_dtype_name(type->dtype), "shape", shape);
    if (type->rank == 3)
        put(object, "layout", json_string("HWC"));
    return object;
}

static json_t *floats(const float *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_real((double)values[i]));
    return list;
}

static json_t *names_to_json(const fgi_run_schema *schema)
{
    if (schema->class_names == NULL)
        return json_null();
    json_t *list = json_array();
    for (int64_t i = 0; i < schema->class_count; i++)
        (void)json_array_append_new(list, json_string(schema->class_names[i]));
    return list;
}

static json_t *preprocessing(const fgi_run_schema *schema, const fgi_run_preparation *p)
{
    json_t *object = json_object(), *image = json_array();
    for (int i = 0; i < 3 && p->image[0] > 0; i++)
        (void)json_array_append_new(image, json_integer(p->image[i]));
    put(object, "image", image);
    put(object, "scale", json_real(p->scale));
    put(object, "mean", floats(p->mean, p->mean_count));
    put(object, "std", floats(p->std, p->std_count));
    if (schema->is_stratified)
        put(object, "stratify", json_true());
    if (schema->target_deviation > 0) {
        put(object, "target_mean", json_real(schema->target_mean));
        put(object, "target_deviation", json_real(schema->target_deviation));
    }
    return object;
}

json_t *fgi_run_schema_describe(const fgi_run_schema *schema,
                                const fgi_run_preparation *preparation)
{
    json_t *root = json_object();
    const bool has_classes = fgi_is_one_of(preparation->task, "classification|multilabel");
    put(root, "format", json_string(FORMAT_NAME));
    put(root, "version", json_integer(FORMAT_VERSION));
    put(root, "task", json_string(preparation->task));
    put(root, "data_format", json_string(schema->format));
    put(root, "input", type_to_json(&schema->input));
    put(root, "target", type_to_json(&schema->target));
    put(root, "outputs", json_integer(preparation->outputs));
    put(root, "class_names", has_classes ? names_to_json(schema) : json_null());
    put(root, "preprocessing", preprocessing(schema, preparation));
    if (schema->tokenizer != NULL)
        put(root, "tokenizer", json_string(schema->tokenizer));
    if (schema->bytes_per_token > 0)
        put(root, "bytes_per_token", json_real(schema->bytes_per_token));
    if (schema->csv != NULL)
        put(root, "csv", json_incref(schema->csv));
    return root;
}

/* ---- from JSON ------------------------------------------------------------------------------- */

static fg_dtype dtype_named(const char *name)
{
    for (int d = 0; name != NULL && d <= (int)FG_F64; d++)
        if (strcmp(fg_dtype_name((fg_dtype)d), name) == 0)
            return (fg_dtype)d;
    return FG_DTYPE_NONE;
}

static bool type_from_json(const json_t *object, fg_type *out)
{
    const json_t *shape = json_object_get(object, "shape");
    *out = (fg_type){.dtype = dtype_named(json_string_value(json_object_get(object, "dtype"))),
                     .rank = (int)json_array_size(shape)};
    if (out->dtype == FG_DTYPE_NONE || !json_is_array(shape) ||
        json_array_size(shape) > FG_MAX_RANK - 1)
        return false;
    for (int i = 0; i < out->rank; i++) {
        out->dim[i] = json_integer_value(json_array_get(shape, (size_t)i));
        if (out->dim[i] < 1)
            return false;
    }
    return true;
}

static bool names_from_json(const json_t *list, fgi_run_schema *out)
{
    if (list == NULL || json_is_null(list))
        return true;
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || (int64_t)count > out->class_count)
        return false;
    out->class_count = (int64_t)count;
    out->class_names = fgi_calloc(count + 1, sizeof(*out->class_names));
    for (size_t i = 0; out->class_names != NULL && i < count; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        out->class_names[i] = name != NULL ? fgi_strdup(name) : NULL;
        if (out->class_names[i] == NULL)
            return false;
    }
    return out->class_names != NULL;
}

fg_status fgi_run_schema_of_json(const char *path, const json_t *root, fgi_run_schema *out,
                                 fg_error *err)
{
    *out = (fgi_run_schema){0};
    const char *format = json_string_value(json_object_get(root, "format"));
    const char *data = json_string_value(json_object_get(root, "data_format"));
    const json_t *version = json_object_get(root, "version");
    const int64_t outputs = json_integer_value(json_object_get(root, "outputs"));
    const char *task = json_string_value(json_object_get(root, "task"));
    if (format == NULL || strcmp(format, FORMAT_NAME) != 0)
        return fgi_fail(err, FG_EFORMAT, "%s: data.json does not describe data", path);
    if (json_integer_value(version) != FORMAT_VERSION)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: data.json has version %" JSON_INTEGER_FORMAT ": expected %d", path,
                        json_integer_value(version), (int)FORMAT_VERSION);
    bool ok = data != NULL && task != NULL && outputs >= 1 && outputs <= MOST_CLASSES &&
              type_from_json(json_object_get(root, "input"), &out->input) &&
              type_from_json(json_object_get(root, "target"), &out->target);
    if (ok && fgi_is_one_of(task, "classification|multilabel|language"))
        out->class_count = outputs;
    ok = ok && names_from_json(json_object_get(root, "class_names"), out);
    if (!ok)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: data.json: expected task, data_format, input, target, outputs and "
                        "class_names",
                        path);
    out->format = fgi_strdup(data);
    if (out->format == NULL)
        return fgi_no_memory(err);
    const json_t *preparation = json_object_get(root, "preprocessing");
    out->target_mean = json_number_value(json_object_get(preparation, "target_mean"));
    out->target_deviation = json_number_value(json_object_get(preparation, "target_deviation"));
    out->is_stratified = json_is_true(json_object_get(preparation, "stratify"));
    out->csv = json_incref(json_object_get(root, "csv"));
    out->bytes_per_token = json_number_value(json_object_get(root, "bytes_per_token"));
    const char *tokenizer = json_string_value(json_object_get(root, "tokenizer"));
    out->tokenizer = tokenizer != NULL ? fgi_strdup(tokenizer) : NULL;
    return tokenizer == NULL || out->tokenizer != NULL ? FG_OK : fgi_no_memory(err);
}

static const json_t *target_column(const fgi_run_schema *schema)
{
    size_t i;
    const json_t *column;
    json_array_foreach(json_object_get(schema->csv, "columns"), i, column)
    {
        const char *kind = json_string_value(json_object_get(column, "kind"));
        if (kind != NULL && strcmp(kind, "target") == 0)
            return column;
    }
    return NULL;
}

const char *fgi_run_schema_target(const fgi_run_schema *schema)
{
    const char *name = json_string_value(json_object_get(target_column(schema), "name"));
    return name != NULL ? name : "";
}

void fgi_run_schema_target_scale(const fgi_run_schema *schema, double *out_mean,
                                 double *out_deviation)
{
    const json_t *mean = json_object_get(target_column(schema), "mean");
    const json_t *deviation = json_object_get(target_column(schema), "deviation");
    const bool is_plain = schema->target_deviation > 0;
    *out_mean = is_plain ? schema->target_mean : json_number_value(mean);
    *out_deviation = is_plain                    ? schema->target_deviation
                     : json_is_number(deviation) ? json_number_value(deviation)
                                                 : 1;
}
