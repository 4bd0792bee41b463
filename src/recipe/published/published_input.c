/* published_input.c - how a published model expects its images: transformers'
 * preprocessor_config.json, or pretrained_cfg in timm's config.json.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/tokenizer.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "recipe/published/published.h"
#include "recipe/published/published_rules.h"

/* NaN: not known. */
typedef struct input {
    double size, fraction, scale;
    const json_t *mean, *std;
} input;

/* The side of squares, from 224, {"height": 224, "width": 224} or {"shortest_edge": 224}. */
static double side_of(const json_t *size)
{
    if (json_is_number(size))
        return json_number_value(size);
    const double height = fgi_json_number(size, "height"), width = fgi_json_number(size, "width");
    return height == width ? height : fgi_json_number(size, "shortest_edge");
}

static bool is_off(const json_t *config, const char *key)
{
    return json_is_false(json_object_get(config, key));
}

/* A value of a file that is not what it must be; the key of the configuration that can be given
 * instead. */
static const struct {
    const char *key, *expected, *instead;
    bool is_list, is_needed;
} values[] = {
    {"size", "the side of squares, 224 or {\"height\": 224, \"width\": 224}", "data.size", false,
     true},
    {"crop_pct", "a number", "data.center_fraction", false, false},
    {"rescale_factor", "a number", "data.scale", false, false},
    {"image_mean", "a list of numbers", "data.mean", true, true},
    {"image_std", "a list of numbers", "data.std", true, true},
    {"mean", "a list of numbers", "data.mean", true, true},
    {"std", "a list of numbers", "data.std", true, true},
    {"input_size", "[channels, side, side]", "data.size", true, true},
};

static bool is_good(const json_t *value, size_t i)
{
    const bool is_size = strcmp(values[i].instead, "data.size") == 0;
    if (value == NULL || json_is_null(value))
        return !values[i].is_needed;
    if (!values[i].is_list)
        return is_size ? !isnan(side_of(value)) : json_is_number(value);
    for (size_t k = 0; k < json_array_size(value); k++)
        if (!json_is_number(json_array_get(value, k)))
            return false;
    return json_is_array(value) &&
           (!is_size || json_equal(json_array_get(value, 1), json_array_get(value, 2)));
}

static bool is_open(const fgi_config *c, const char *key)
{
    const fgi_config_key *row = fgi_config_find(c->table, key);
    return row != NULL && fgi_config_has_effect(c, row) && !fg_option_is_given(c->values, key);
}

/* Whether the values of a file that are used, a range of the table, are what they must be. */
static fg_status check_values(const fgi_config *c, const json_t *config, bool is_timm,
                              const char *path, fg_error *err)
{
    const bool is_plain = is_off(config, "do_normalize");
    for (size_t i = is_timm ? 5 : 0; i < (is_timm ? sizeof values / sizeof values[0] : 5); i++) {
        const json_t *value = json_object_get(config, values[i].key);
        if (is_good(value, i) || !is_open(c, values[i].instead) || (values[i].is_list && is_plain))
            continue;
        char *text = value != NULL ? fgi_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        const fg_status status = fgi_fail(
            err, FG_EFORMAT, "%s: '%s' is %.60s: expected %s\n%s can be given instead", path,
            values[i].key, text != NULL ? text : "missing", values[i].expected, values[i].instead);
        fgi_free(text);
        return status;
    }
    const double crop = side_of(json_object_get(config, "crop_size"));
    if (json_is_true(json_object_get(config, "do_center_crop")) && is_open(c, "data.size") &&
        !(crop <= side_of(json_object_get(config, "size"))))
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: 'crop_size' is %s: expected the side of squares, at most that of 'size'\n"
            "data.size can be given instead",
            path, isnan(crop) ? "missing or no square" : "too large");
    return FG_OK;
}

/* Keys of both libraries that are read, and those without effect. */
static const fgi_published_unused unused = {
    .no_effect = "@(size|crop_size|crop_pct|do_center_crop|do_rescale|rescale_factor|do_normalize|"
                 "image_mean|image_std|*_type|*_class|_*|*data_format|do_resize|do_convert_rgb|"
                 "return_tensors|device|disable_grouping|default_to_square|input_size|mean|std|"
                 "url|hf_hub*|tag|custom_load|*_file|num_classes|classifier|first_conv|license|"
                 "*origin*|paper*|fixed_input_size|pool_size|test_*|min_input_size|label*|source|"
                 "state_dict|architecture|notes)",
    .usual = "2|\"bilinear\"|\"center\"",
    .instead = "images are resized with a bilinear filter, and cropped in the center"};

/* Source: transformers' image processors. */
static input read_transformers(const json_t *config)
{
    input in = {.size = side_of(json_object_get(config, "size")),
                .fraction = fgi_json_number(config, "crop_pct"),
                .scale = fgi_json_number(config, "rescale_factor")};
    const double crop = side_of(json_object_get(config, "crop_size"));
    if (json_is_true(json_object_get(config, "do_center_crop")) && crop <= in.size) {
        in.fraction = crop / in.size;
        in.size = crop;
    } else if (isnan(in.fraction) && isfinite(in.size)) {
        in.fraction = 1;
    }
    if (is_off(config, "do_rescale"))
        in.scale = 1;
    if (!is_off(config, "do_normalize")) {
        in.mean = json_object_get(config, "image_mean");
        in.std = json_object_get(config, "image_std");
    }
    return in;
}

/* Source: timm's pretrained_cfg. */
static input read_timm(const json_t *config)
{
    const json_t *size = json_object_get(config, "input_size"); /* channels, height, width */
    const double height = json_number_value(json_array_get(size, 1));
    return (input){.size = height > 0 ? height : (double)NAN,
                   .fraction = fgi_json_number(config, "crop_pct"),
                   .scale = (double)NAN,
                   .mean = json_object_get(config, "mean"),
                   .std = json_object_get(config, "std")};
}

/* Sets a key that has an effect and is not given. take_value: NULL: not known. */
static fg_status set(fgi_config *c, const char *key, json_t *take_value, const char *path,
                     fgi_buf *line, fg_error *err)
{
    const fgi_config_key *row = fgi_config_find(c->table, key);
    fg_status status = FG_OK;
    if (take_value != NULL && row != NULL && fgi_config_has_effect(c, row) &&
        !fg_option_is_given(c->values, key)) {
        char *text = fgi_json_text(take_value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        status = text != NULL ? fgi_config_set(c, key, text, path, err) : fgi_no_memory(err);
        if (status == FG_EINVAL)
            (void)fgi_context(err, status, "%s", path);
        fgi_buf_printf(line, "%s%s %s", line->size > 0 ? ", " : "", key, text != NULL ? text : "");
        fgi_free(text);
    }
    json_decref(take_value);
    return status;
}

static json_t *known(double value) { return isnan(value) ? NULL : json_real(value); }

/* A list of the file; NULL for anything else. */
static json_t *list(const json_t *value)
{
    return json_is_array(value) ? json_incref((json_t *)value) : NULL;
}

fg_status fgi_published_say_line(const char *path, const char *line, const char *more,
                                 const fgi_published_say *say, fg_error *err)
{
    fgi_buf whole = {0};
    fgi_buf_printf(&whole, "%s: %s (%s)", path, line, more);
    const fg_status status = fgi_buf_status(&whole, err);
    if (status == FG_OK)
        say->line(say->self, whole.data);
    fgi_buf_fini(&whole);
    return status;
}

#define CAN_GIVE "the configuration can give other values"

static fg_status set_all(fgi_config *c, const input *in, const char *path,
                         const fgi_published_say *say, fg_error *err)
{
    fgi_buf line = {0};
    fg_status status;
    const bool is_usual = isnan(in->scale) || fabs(in->scale * 255 - 1) < 1e-6;
    FGI_DONE(set(c, "data.size", isnan(in->size) ? NULL : json_integer((json_int_t)in->size), path,
                 &line, err));
    FGI_DONE(set(c, "data.center_fraction", known(in->fraction), path, &line, err));
    FGI_DONE(set(c, "data.scale", is_usual ? NULL : json_real(in->scale), path, &line, err));
    FGI_DONE(set(c, "data.mean", list(in->mean), path, &line, err));
    FGI_DONE(set(c, "data.std", list(in->std), path, &line, err));
    FGI_DONE(fgi_buf_status(&line, err));
done:
    if (status == FG_OK && line.size > 0)
        status = fgi_published_say_line(path, fgi_buf_text(&line), CAN_GIVE, say, err);
    fgi_buf_fini(&line);
    return status;
}

/* Sets what the file says, after checking it. */
static fg_status use(fgi_config *c, json_t *config, const input *in, bool is_timm, const char *path,
                     const fgi_published_say *say, fg_error *err)
{
    const bool has_images =
        is_open(c, "data.center_fraction") || is_open(c, "data.size") || is_open(c, "data.mean");
    if (has_images)
        FGI_TRY(check_values(c, config, is_timm, path, err));
    FGI_TRY(set_all(c, in, path, say, err));
    return has_images ? fgi_published_say_unused(config, &unused, path, say, err) : FG_OK;
}

/* Images without a description are those of the configuration. */
static fg_status say_nothing_known(const fgi_config *c, const char *folder,
                                   const fgi_published_say *say, fg_error *err)
{
    const fg_entry *row = fgi_config_entry(c, FG_REGISTRY_MODEL, "model.name", NULL);
    static const char line[] =
        "no preprocessor_config.json: how images are normalized is not known";
    if (row == NULL || !((const fg_model_entry *)row)->takes_images || !is_open(c, "data.mean") ||
        !fg_ckpt_is_published(folder))
        return FG_OK;
    return fgi_published_say_line(folder, line, "set data.mean, data.std and data.size", say, err);
}

/* The folder of published weights, a new string; *out is NULL for weights that are not: files next
 * to those do not describe them. */
static fg_status folder_of(const fgi_config *c, char **out, fg_error *err)
{
    const char *weights = c->model.weights;
    const bool is_folder = weights != NULL && fgi_is_folder(weights);
    const bool is_file = !is_folder && weights != NULL &&
                         strcmp(fgi_after_last(weights, '/'), "model.safetensors") == 0;
    *out = is_folder ? fgi_strdup(weights) : is_file ? fgi_path_parent(weights) : NULL;
    return *out != NULL || (!is_folder && !is_file) ? FG_OK : fgi_no_memory(err);
}

/* The tokenizer of a model of texts, next to its weights. */
static fg_status set_tokenizer(fgi_config *c, const char *folder, const fgi_published_say *say,
                               fg_error *err)
{
    char path[FGI_PATH_BYTES];
    fgi_buf line = {0};
    FGI_TRY(fgi_path_put(folder, "tokenizer.json", path, err));
    if (!fgi_file_exists(path))
        return FG_OK;
    fg_status status = set(c, "data.tokenizer", json_string(folder), path, &line, err);
    if (status == FG_OK && line.size > 0)
        status = fgi_published_say_line(path, fgi_buf_text(&line), CAN_GIVE, say, err);
    fgi_buf_fini(&line);
    return status;
}

fg_status fgi_published_input(fgi_config *c, const fgi_published_say *say, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    json_t *config = NULL;
    char *folder = NULL;
    FGI_TRY(folder_of(c, &folder, err));
    if (folder == NULL)
        return FG_OK;
    fg_status status = fgi_published_read(folder, "preprocessor_config.json", path, &config, err);
    if (status == FG_OK && config != NULL) {
        const input in = read_transformers(config);
        status = use(c, config, &in, false, path, say, err);
    } else if (status == FG_OK) {
        status = fgi_published_read(folder, "config.json", path, &config, err);
        json_t *timm = json_object_get(config, "pretrained_cfg");
        const input in = read_timm(timm);
        if (status == FG_OK && timm != NULL)
            status = use(c, timm, &in, true, path, say, err);
        else if (status == FG_OK)
            status = say_nothing_known(c, folder, say, err);
    }
    if (status == FG_OK)
        status = set_tokenizer(c, folder, say, err);
    json_decref(config);
    fgi_free(folder);
    return status;
}

/* The names of the classes: a new reference, NULL without names. */
static json_t *names_of(const json_t *config)
{
    const json_t *by_id = json_object_get(config, "id2label");
    json_t *list = json_array();
    for (size_t i = 0; i < json_object_size(by_id); i++) {
        char key[24];
        (void)fgi_snprintf(key, sizeof key, "%zu", i);
        (void)json_array_append(list, json_object_get(by_id, key));
    }
    if (json_object_size(by_id) > 0 && json_array_size(list) == json_object_size(by_id))
        return list;
    const char *architecture =
        json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    const bool is_default =
        by_id == NULL && architecture != NULL && fgi_ends_with(architecture, "Classification");
    json_decref(list);
    return is_default ? json_pack("[ss]", "LABEL_0", "LABEL_1") /* transformers omits them */
                      : json_incref(json_object_get(config, "label_names"));
}

static json_t *described(const fgi_config *c, const json_t *config)
{
    const json_int_t size = fg_option_int(c->values, "data.size");
    json_t *names = names_of(config);
    const json_int_t count = names != NULL
                                 ? (json_int_t)json_array_size(names)
                                 : json_integer_value(json_object_get(config, "num_classes"));
    if (count < 1 || size < 1 || c->data.format == NULL) {
        json_decref(names);
        return NULL;
    }
    return json_pack("{s:s, s:i, s:s, s:s, s:{s:s, s:[I,I,i]}, s:{s:s, s:[]}, s:I, s:o*}", "format",
                     "fulgurite-data", "version", 1, "task", "classification", "data_format",
                     c->data.format, "input", "dtype", "u8", "shape", size, size, 3, "target",
                     "dtype", "s32", "shape", "outputs", count, "class_names", names);
}

/* The positions of the model, unless the configuration limits them. */
static json_int_t length_of(const fgi_config *c)
{
    const bool is_given = fg_option_is_given(c->values, "data.length");
    const fgi_config_key *row = fgi_config_find(c->table, "model.length");
    const bool has_positions = row != NULL && fgi_config_has_effect(c, row);
    return fg_option_int(c->values, has_positions && !is_given ? "model.length" : "data.length");
}

/* outputs: of the model; 0: those of the tokenizer. */
static fg_status describe_language(const fgi_config *c, json_int_t outputs, json_t **out,
                                   fg_error *err)
{
    fg_tokenizer *tokenizer = NULL;
    FGI_TRY(fg_tokenizer_open(fg_option_string(c->values, "data.tokenizer"), &tokenizer, err));
    const json_int_t size = fg_tokenizer_size(tokenizer), length = length_of(c);
    const char *text = fg_tokenizer_json(tokenizer, NULL);
    const bool fits = outputs == 0 || size == outputs || (size < outputs && text != NULL);
    if (fits)
        *out = json_pack("{s:s, s:i, s:s, s:s, s:{s:s, s:[I]}, s:{s:s, s:[I]}, s:I, s:s}", "format",
                         "fulgurite-data", "version", 1, "task", "language", "data_format", "text",
                         "input", "dtype", "s32", "shape", length, "target", "dtype", "s32",
                         "shape", length, "outputs", outputs != 0 ? outputs : size, "tokenizer",
                         text != NULL ? text : "bytes");
    fg_tokenizer_destroy(tokenizer);
    if (!fits)
        return fgi_fail(err, FG_EINVAL,
                        "%s: the tokenizer has %" JSON_INTEGER_FORMAT
                        " tokens, but the model has %" JSON_INTEGER_FORMAT
                        " (vocab_size)\nset data.tokenizer to the tokenizer.json of the model",
                        fgi_config_where(c, "data.tokenizer"), size, outputs);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

/* config.json next to the weights; NULL: there is none. */
static fg_status read_described(const fgi_config *c, json_t **out, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    char *folder = NULL;
    *out = NULL;
    FGI_TRY(folder_of(c, &folder, err));
    const fg_status status =
        folder != NULL ? fgi_published_read(folder, "config.json", path, out, err) : FG_OK;
    fgi_free(folder);
    return status;
}

fg_status fgi_published_language(const fgi_config *c, json_t **out, fg_error *err)
{
    json_t *config = NULL;
    *out = NULL;
    FGI_TRY(read_described(c, &config, err));
    const json_int_t outputs = json_integer_value(json_object_get(config, "vocab_size"));
    json_decref(config);
    return describe_language(c, outputs, out, err);
}

fg_status fgi_published_data(const fgi_config *c, json_t **out, fg_error *err)
{
    json_t *config = NULL;
    *out = NULL;
    FGI_TRY(read_described(c, &config, err));
    if (config != NULL)
        *out = described(c, config);
    json_decref(config);
    return FG_OK;
}
