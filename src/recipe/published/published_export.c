/* published_export.c - writes a checkpoint as other libraries load it: the inverse of
 * published_model.c. The values of config.json follow from the rules of a form; an option that no
 * rule covers must have the value that the form implies.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "input/json_file.h"
#include "nn/published_names.h"
#include "recipe/published/published.h"
#include "recipe/published/published_rules.h"

typedef struct export
{
    const fgi_run_origin *origin;
    const fg_model_entry *row;
    const fg_published *form; /* NULL: tensors only */
    fg_option_values *values; /* of the row's options */
    json_t *config;
    const char *average; /* "module.ema.": averages that evaluations use; NULL: none */
}
export;

/* ---- options --------------------------------------------------------------------------------- */

enum { VALUE_BYTES = 256 };

/* The value of an option as text. */
static const char *value_text(const fg_option_values *values, const char *name,
                              char out[VALUE_BYTES])
{
    const fg_option *option = fg_option_find(values, name);
    if (fg_option_is_auto(values, name) && option->automatic != NULL)
        return option->automatic;
    return fg_option_format(values, name, out, VALUE_BYTES);
}

/* The same as JSON; a new reference. */
static json_t *option_value(const export *e, const char *name)
{
    char buffer[VALUE_BYTES];
    const char *text = value_text(e->values, name, buffer);
    json_t *value = fgi_published_parse(text);
    return value != NULL ? value : json_string(text);
}

static bool has_rule(const fg_published *form, const char *option)
{
    for (const fg_config_rule *r = form->rules; r != NULL && r->key != NULL; r++)
        if (r->option != NULL && strcmp(r->option, option) == 0)
            return true;
    return false;
}

/* An option, such as the stem, that the form cannot express. */
static fg_status check_option(const export *e, const fg_option_values *implied, const char *name,
                              fg_error *err)
{
    char one[VALUE_BYTES], other[VALUE_BYTES];
    if (has_rule(e->form, name) || fgi_is_one_of(name, "dropout|drop_path"))
        return FG_OK;
    const char *is = value_text(e->values, name, one), *want = value_text(implied, name, other);
    if (strcmp(is, want) == 0)
        return FG_OK;
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "model.%s is %s: expected %s, the only value that %s of %s has\n"
                    "--format=safetensors writes the tensors alone",
                    name, is, want, e->row->entry.name,
                    e->form->type != NULL ? "transformers" : "timm");
}

static fg_status check_options(const export *e, fg_error *err)
{
    const fg_entry *entry = &e->row->entry;
    fg_option_values *implied = NULL;
    FGI_TRY(
        fg_option_values_create(entry->name, entry->options, entry->option_count, &implied, err));
    fg_status status = fg_option_set_all(implied, e->form->options, NULL, err);
    for (size_t i = 0; i < entry->option_count && status == FG_OK; i++)
        status = check_option(e, implied, entry->options[i].name, err);
    fg_option_values_destroy(implied);
    return status;
}

static bool has_form(const fg_model_entry *row, bool is_timm)
{
    for (const fg_published *form = row->published; form != NULL && form->architecture != NULL;
         form++)
        if ((form->type == NULL) == is_timm)
            return true;
    return false;
}

/* The first form of the library that can express the options. */
static fg_status find_form(export *e, bool is_timm, fg_error *err)
{
    fg_status status = FG_OK;
    const fg_published *form = e->row->published;
    for (; form != NULL && form->architecture != NULL; form++) {
        if ((form->type == NULL) != is_timm)
            continue;
        e->form = form;
        status = check_options(e, err);
        if (status == FG_OK)
            return FG_OK;
    }
    if (e->form != NULL)
        return status;
    return fgi_fail(err, FG_EUNSUPPORTED, "%s has no model like %s\n--format=%ssafetensors or onnx",
                    is_timm ? "timm" : "transformers", e->row->entry.name,
                    !has_form(e->row, !is_timm) ? ""
                    : is_timm                   ? "hf, "
                                                : "timm, ");
}

/* ---- config.json ----------------------------------------------------------------------------- */

/* Sets "key" or "object.key". */
static void set(json_t *object, const char *key, json_t *take_value)
{
    const char *dot = strchr(key, '.');
    if (dot == NULL) {
        (void)json_object_set_new(object, key, take_value);
        return;
    }
    json_t *inner = json_object_getn(object, key, (size_t)(dot - key));
    if (inner == NULL) {
        inner = json_object();
        (void)json_object_setn_new(object, key, (size_t)(dot - key), inner);
    }
    set(inner, dot + 1, take_value);
}

static void set_rules(const export *e)
{
    for (const fg_config_rule *r = e->form->rules; r != NULL && r->key != NULL; r++) {
        json_t *value = r->option != NULL ? option_value(e, r->option)
                                          : fgi_published_expected(e->config, e->form, r);
        if (value == NULL && r->initial != NULL)
            value = fgi_published_parse(r->initial);
        set(e->config, r->key, value);
    }
}

static int64_t outputs_of(const export *e)
{
    return json_integer_value(json_object_get(e->origin->data, "outputs"));
}

/* The class names, as "0", "1" without them. */
static void set_classes(const export *e)
{
    const int64_t outputs = outputs_of(e);
    const json_t *names = json_object_get(e->origin->data, "class_names");
    json_t *by_id = json_object(), *by_label = json_object(), *list = json_array();
    for (int64_t i = 0; i < outputs; i++) {
        fgi_buf id = {0};
        fgi_buf_put_int(&id, i);
        const char *name = json_string_value(json_array_get(names, (size_t)i));
        name = name != NULL ? name : fgi_buf_text(&id);
        (void)json_object_set_new(by_id, fgi_buf_text(&id), json_string(name));
        (void)json_object_set_new(by_label, name, json_integer(i));
        (void)json_array_append_new(list, json_string(name));
        fgi_buf_fini(&id);
    }
    if (e->form->type == NULL) {
        set(e->config, "num_classes", json_integer(outputs));
        set(e->config, "label_names", json_incref(list));
    } else {
        set(e->config, "id2label", json_incref(by_id));
        set(e->config, "label2id", json_incref(by_label));
        if (strcmp(e->origin->c->task, "multilabel") == 0)
            set(e->config, "problem_type", json_string("multi_label_classification"));
    }
    json_decref(by_id);
    json_decref(by_label);
    json_decref(list);
}

/* One number for each channel, from a list of one or of all. */
static json_t *channels(const fg_floats *values, int64_t count, double initial)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < count; i++) {
        const size_t at = (int64_t)values->count == count ? (size_t)i : 0;
        (void)json_array_append_new(list, json_real(values->count > 0 ? values->at[at] : initial));
    }
    return list;
}

/* What the run did to its images. */
typedef struct image {
    int64_t height, width, channels;
    double fraction, scale;
    const fg_floats *mean, *std;
} image;

static image image_of(const export *e)
{
    const fgi_config *c = e->origin->c;
    const json_t *shape = json_object_get(json_object_get(e->origin->data, "input"), "shape");
    const double fraction = fg_option_float(c->values, "data.center_fraction");
    const int64_t depth = json_integer_value(json_array_get(shape, 2));
    return (image){.height = json_integer_value(json_array_get(shape, 0)),
                   .width = json_integer_value(json_array_get(shape, 1)),
                   .channels = depth > 0 ? depth : 1,
                   .fraction = fraction > 0 ? fraction : 1,
                   .scale =
                       fgi_json_number(json_object_get(e->origin->data, "preprocessing"), "scale"),
                   .mean = &c->data.mean,
                   .std = &c->data.std};
}

/* transformers' preprocessor_config.json: its ConvNextImageProcessor crops as this library does. */
static json_t *preprocessor(const image *in)
{
    json_t *size = in->height == in->width
                       ? json_pack("{s:I}", "shortest_edge", (json_int_t)in->height)
                       : json_pack("{s:I, s:I}", "height", (json_int_t)in->height, "width",
                                   (json_int_t)in->width);
    return json_pack("{s:s, s:b, s:o, s:f, s:i, s:b, s:f, s:b, s:o, s:o}", "image_processor_type",
                     "ConvNextImageProcessor", "do_resize", 1, "size", size, "crop_pct",
                     in->fraction, "resample", 2, "do_rescale", 1, "rescale_factor", in->scale,
                     "do_normalize", 1, "image_mean", channels(in->mean, in->channels, 0),
                     "image_std", channels(in->std, in->channels, 1));
}

static json_t *timm_preprocessing(const image *in)
{
    return json_pack("{s:[I,I,I], s:s, s:f, s:s, s:o, s:o}", "input_size", (json_int_t)in->channels,
                     (json_int_t)in->height, (json_int_t)in->width, "interpolation", "bilinear",
                     "crop_pct", in->fraction, "crop_mode", "center", "mean",
                     channels(in->mean, in->channels, 0), "std",
                     channels(in->std, in->channels, 1));
}

static fg_status write_json(const char *folder, const char *name, const json_t *value,
                            fg_error *err)
{
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    char *text = fgi_json_text(value, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    const fg_status status =
        text != NULL ? fgi_file_write_atomic(path, text, strlen(text), err) : fgi_no_memory(err);
    fgi_free(text);
    return status;
}

static fg_status write_config(export *e, const char *folder, fg_error *err)
{
    const image in = image_of(e);
    e->config = json_object();
    if (e->form->type != NULL) {
        set(e->config, "model_type", json_string(e->form->type));
        set(e->config, "architectures", json_pack("[s]", e->form->architecture));
        set(e->config, "torch_dtype", json_string("float32"));
    } else {
        set(e->config, "architecture", json_string(e->form->architecture));
    }
    set_rules(e);
    if (e->row->takes_tokens && json_object_get(e->config, "vocab_size") == NULL)
        set(e->config, "vocab_size", json_integer(outputs_of(e))); /* a language model */
    else
        set_classes(e);
    if (e->row->takes_images && e->form->type == NULL)
        set(e->config, "pretrained_cfg", timm_preprocessing(&in));
    else if (e->row->takes_images)
        set(e->config, "num_channels", json_integer(in.channels));
    if (json_object_get(e->config, "patch_size") != NULL) /* has positions for one size */
        set(e->config, "image_size", json_integer(in.height));
    FGI_TRY(write_json(folder, "config.json", e->config, err));
    if (!e->row->takes_images || e->form->type == NULL)
        return FG_OK;
    json_t *value = preprocessor(&in);
    const fg_status status = write_json(folder, "preprocessor_config.json", value, err);
    json_decref(value);
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The callback whose averages evaluations use instead of the parameters. */
static const char *average_of(const fg_ckpt *ckpt)
{
    static const char *const prefixes[] = {"module.ema.", "module.swa."};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        fgi_buf name = {0};
        size_t index = 0;
        int32_t taken = 0;
        fgi_buf_printf(&name, "%staken", prefixes[i]);
        if (!name.failed && fg_ckpt_find(ckpt, FG_CKPT_STATE, name.data, &index))
            memcpy(&taken, fg_ckpt_data(ckpt, index), sizeof taken);
        fgi_buf_fini(&name);
        if (taken > 0)
            return prefixes[i];
    }
    return NULL;
}

/* The rule of the form for a variable; NULL: none. */
static const fg_name_rule *rule_of(const export *e, const char *name)
{
    const fg_name_rule *r = e->form != NULL ? e->form->names : NULL;
    fgi_buf out = {0};
    while (r != NULL && r->ours != NULL && !fgi_rename(r->ours, r->theirs, name, &out))
        r++;
    fgi_buf_fini(&out);
    return r != NULL && r->ours != NULL ? r : NULL;
}

/* The name in the form, or that of part i; a new string. */
static char *published_name(const export *e, const fg_name_rule *rule, int i, const char *name)
{
    const char *prefix = e->form != NULL ? e->form->prefix : NULL;
    const bool is_head =
        e->row != NULL && e->row->head != NULL && fnmatch(e->row->head, name, FNM_EXTMATCH) == 0;
    fgi_buf out = {0};
    if (rule != NULL) {
        (void)fgi_rename(rule->ours, fgi_name_part(rule->theirs, i), name, &out);
        return fgi_buf_take(&out);
    }
    if (prefix != NULL && !is_head && strncmp(name, prefix, strlen(prefix)) != 0)
        fgi_buf_puts(&out, prefix);
    fgi_buf_puts(&out, name);
    return fgi_buf_take(&out);
}

/* The average of a tensor, or the tensor itself. */
static size_t averaged(const export *e, size_t index)
{
    const fg_ckpt *ckpt = e->origin->ckpt;
    fgi_buf name = {0};
    size_t found = index;
    if (e->average == NULL)
        return index;
    fgi_buf_printf(&name, "%s%s", e->average, fg_ckpt_info(ckpt, index)->name);
    if (name.failed || !fg_ckpt_find(ckpt, FG_CKPT_STATE, name.data, &found))
        found = index;
    fgi_buf_fini(&name);
    return found;
}

/* Adds a tensor of the checkpoint under its name in the form, as several if it has several. */
static fg_status add_tensor(const export *e, size_t index, fg_ckpt_tensor *tensors, size_t *count,
                            fg_error *err)
{
    const char *name = fg_ckpt_info(e->origin->ckpt, index)->name;
    const size_t from = averaged(e, index);
    const fg_name_rule *rule = rule_of(e, name);
    fg_type type = fg_ckpt_info(e->origin->ckpt, from)->type;
    const char *data = fg_ckpt_data(e->origin->ckpt, from);
    int parts = 1;
    while (rule != NULL && parts < FGI_NAME_PARTS && fgi_name_part(rule->theirs, parts) != NULL)
        parts++;
    if (parts > 1)
        type.dim[0] /= parts;
    for (int i = 0; i < parts; i++, data += fg_type_bytes(&type)) {
        fg_ckpt_tensor *t = &tensors[(*count)++];
        *t = (fg_ckpt_tensor){.name = published_name(e, rule, i, name), .type = type, .data = data};
        if (t->name == NULL)
            return fgi_no_memory(err);
    }
    return FG_OK;
}

static fg_status write_tensors(const export *e, const char *path, fg_error *err)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    const fg_ckpt *ckpt = e->origin->ckpt;
    const size_t most = fg_ckpt_count(ckpt);
    fg_ckpt_tensor *tensors = fgi_calloc(FGI_NAME_PARTS * most + 1, sizeof *tensors);
    size_t count = 0;
    fg_status status = tensors != NULL ? FG_OK : fgi_no_memory(err);
    for (size_t i = 0; status == FG_OK && i < most; i++)
        if (fg_ckpt_info(ckpt, i)->part == FG_CKPT_MODEL)
            status = add_tensor(e, i, tensors, &count, err);
    if (status == FG_OK)
        status = fg_safetensors_write(path, tensors, count, metadata, err);
    for (size_t i = 0; i < count; i++)
        fgi_free((void *)tensors[i].name);
    fgi_free(tensors);
    return status;
}

/* The tokenizer that the checkpoint contains; bytes have none. */
static fg_status write_tokenizer(const export *e, const char *folder, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    const char *text = json_string_value(json_object_get(e->origin->data, "tokenizer"));
    if (text == NULL || strcmp(text, "bytes") == 0)
        return FG_OK;
    FGI_TRY(fgi_path_put(folder, "tokenizer.json", path, err));
    return fgi_file_write_atomic(path, text, strlen(text), err);
}

/* ---- export ---------------------------------------------------------------------------------- */

static fg_status export_folder(export *e, bool is_timm, const char *folder, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    const fgi_run_origin *origin = e->origin;
    if (origin->c == NULL || origin->data == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "%s: contains no configuration, so its model is not known\n"
                        "--format=safetensors writes the tensors alone",
                        fg_ckpt_path(origin->ckpt));
    e->row =
        (const fg_model_entry *)fgi_config_entry(origin->c, FG_REGISTRY_MODEL, "model.name", err);
    if (e->row == NULL)
        return err->status;
    FGI_TRY(fgi_config_select(origin->c, "model", &e->row->entry, &e->values, err));
    FGI_TRY(find_form(e, is_timm, err));
    FGI_TRY(fgi_folder_make(folder, err));
    FGI_TRY(write_config(e, folder, err));
    FGI_TRY(write_tokenizer(e, folder, err));
    FGI_TRY(fgi_path_put(folder, "model.safetensors", path, err));
    return write_tensors(e, path, err);
}

static void say_average(const export *e, const fgi_published_say *say)
{
    if (e->average != NULL)
        say->line(say->self, "the weights are the averages of the callback, as in evaluations");
}

fg_status fgi_published_save(const fgi_run_origin *origin, const char *path,
                             const fgi_published_say *say, fg_error *err)
{
    const export e = {.origin = origin, .average = average_of(origin->ckpt)};
    FGI_TRY(write_tensors(&e, path, err));
    say_average(&e, say);
    return FG_OK;
}

fg_status fgi_published_export(const fgi_run_origin *origin, const char *format, const char *path,
                               const fgi_published_say *say, fg_error *err)
{
    export e = {.origin = origin, .average = average_of(origin->ckpt)};
    const json_t *prepared = json_object_get(origin->data, "preprocessing");
    fg_status status = strcmp(format, "safetensors") == 0
                           ? write_tensors(&e, path, err)
                           : export_folder(&e, strcmp(format, "timm") == 0, path, err);
    if (status == FG_OK)
        say_average(&e, say);
    if (status == FG_OK && json_object_get(prepared, "target_deviation") != NULL)
        say->line(say->self, "the model predicts the standardized target: multiply by "
                             "preprocessing.target_deviation of `fulgurite show --json` and add "
                             "target_mean");
    fg_option_values_destroy(e.values);
    json_decref(e.config);
    return status;
}
