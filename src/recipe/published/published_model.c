/* published_model.c - finds the model that a published config.json describes. The rows of models
 * list the forms in which they are published (fg_published); the first form whose keys all have the
 * expected values is the model, and its other keys are the options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/hub.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/alloc.h"
#include "base/text.h"
#include "input/json_file.h"
#include "recipe/published/published.h"
#include "recipe/published/published_rules.h"

#define BRIEF (JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15))
enum { MOST_JSON_BYTES = 64 << 20, MOST_FORMS = 256 };

fg_status fgi_published_read(const char *folder, const char *name, char path[FGI_PATH_BYTES],
                             json_t **out, fg_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *out = NULL;
    FGI_TRY(fgi_path_put(folder, name, path, err));
    if (!fgi_file_exists(path))
        return FG_OK;
    FGI_TRY(fgi_file_read(path, MOST_JSON_BYTES, &text, &size, err));
    fg_status status = fgi_json_parse(path, 0, text, size, out, err);
    fgi_free(text);
    if (status == FG_OK && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        status = fgi_fail(err, FG_EFORMAT, "%s: expected a JSON object", path);
    }
    return status;
}

/* ---- rules ----------------------------------------------------------------------------------- */

json_t *fgi_published_parse(const char *text)
{
    return fgi_json_load(text, strlen(text), JSON_DECODE_ANY, NULL);
}

/* The value of a key, "a.b" of nested objects; null is as good as none: NULL. Borrowed. */
static json_t *lookup(json_t *config, const char *key)
{
    const char *dot;
    for (; (dot = strchr(key, '.')) != NULL; key = dot + 1)
        config = json_object_getn(config, key, (size_t)(dot - key));
    config = json_object_get(config, key);
    return json_is_null(config) ? NULL : config;
}

static const fg_config_rule *rule_of(const fg_published *form, const char *key)
{
    for (const fg_config_rule *r = form->rules; r != NULL && r->key != NULL; r++)
        if (strcmp(r->key, key) == 0)
            return r;
    return NULL;
}

/* The value of the rule's key; NULL: the file must have it and does not. A new reference. */
static json_t *value_of(json_t *config, const fg_config_rule *rule)
{
    json_t *value = lookup(config, rule->key);
    return value != NULL || rule->initial == NULL ? json_incref(value)
                                                  : fgi_published_parse(rule->initial);
}

/* Multiplies the numbers in a value, which is replaced. */
static json_t *multiplied(json_t *take_value, double factor)
{
    const double product = json_number_value(take_value) * factor;
    json_t *out = json_is_array(take_value)   ? json_array()
                  : product == trunc(product) ? json_integer((json_int_t)product)
                                              : json_real(product);
    for (size_t i = 0; i < json_array_size(take_value); i++)
        (void)json_array_append_new(out,
                                    multiplied(json_incref(json_array_get(take_value, i)), factor));
    json_decref(take_value);
    return out;
}

json_t *fgi_published_expected(json_t *config, const fg_published *form, const fg_config_rule *rule)
{
    json_t *expected = rule->expected != NULL ? fgi_published_parse(rule->expected) : NULL;
    const fg_config_rule *times = rule->times != NULL ? rule_of(form, rule->times) : NULL;
    if (expected == NULL || times == NULL)
        return expected;
    json_t *factor = value_of(config, times);
    expected = multiplied(expected, json_number_value(factor));
    json_decref(factor);
    return expected;
}

/* Whether two values are equal; 1 and 1.0 are. */
static bool is_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (!json_is_array(a) || json_array_size(a) != json_array_size(b))
        return json_equal(a, b);
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!is_same(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

/* Whether the value, if it is not 0, divides that of the rule's other key. */
static bool divides(json_t *config, const fg_published *form, const fg_config_rule *rule,
                    const json_t *value)
{
    const fg_config_rule *of = rule->divides != NULL ? rule_of(form, rule->divides) : NULL;
    json_t *whole = of != NULL ? value_of(config, of) : NULL;
    const json_int_t part = json_integer_value(value), all = json_integer_value(whole);
    json_decref(whole);
    return part == 0 || all % part == 0;
}

static bool fits(json_t *config, const fg_published *form, const fg_config_rule *rule)
{
    json_t *value = value_of(config, rule), *expected = fgi_published_expected(config, form, rule);
    const bool is_good = value != NULL && divides(config, form, rule, value) &&
                         (expected == NULL || json_is_null(value) || is_same(value, expected));
    json_decref(value);
    json_decref(expected);
    return is_good;
}

/* The first rule that does not fit; one without a key if all do. */
static const fg_config_rule *misfit(json_t *config, const fg_published *form)
{
    static const fg_config_rule none;
    const fg_config_rule *rule = form->rules != NULL ? form->rules : &none;
    while (rule->key != NULL && fits(config, form, rule))
        rule++;
    return rule;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* A row and one of its forms. */
typedef struct choice {
    const fg_entry *row;
    const fg_published *form;
    const fg_config_rule *misfit;
} choice;

/* What the file calls its model. */
typedef struct label {
    const char *key, *value;
    size_t size; /* without timm's tag: "resnet18" of "resnet18.a1_in1k" */
} label;

static label label_of(json_t *config)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    const char *architecture = json_string_value(json_object_get(config, "architecture"));
    if (type != NULL)
        return (label){"model_type", type, strlen(type)};
    return (label){"architecture", architecture,
                   architecture != NULL ? strcspn(architecture, ".") : 0};
}

/* How the forms of the file's library are named. */
static const char *name_of(const fg_published *form, const label *l)
{
    const bool is_timm = strcmp(l->key, "architecture") == 0;
    return is_timm && form->type != NULL ? NULL : is_timm ? form->architecture : form->type;
}

/* Model types that are not supported, and the one that is like them. */
static const struct {
    const char *types, *nearest;
} families[] = {
    {"@(mistral|mixtral|ministral|qwen|gemma|phi|olmo|granite|cohere|smollm|deepseek|starcoder|"
     "stablelm|falcon|mpt)*",
     "llama"},
    {"@(gpt_neo*|gptj|gpt_bigcode|openai-gpt|opt|bloom|codegen|xglm|ctrl)", "gpt2"},
    {"@(roberta*|xlm-roberta*|distilbert|electra|albert|camembert|deberta*|modernbert|mpnet)",
     "bert"},
    {"@(deit|beit|dinov2*|dinov3*|vit_*|swin*|clip*|siglip*)", "vit"},
    {"convnextv2", "convnext"},
};

static fg_status unknown(const fgi_config *c, const char *path, const label *l, fg_error *err)
{
    const char *names[MOST_FORMS] = {NULL};
    char known[400], value[128];
    size_t count = 0;
    for (size_t i = 0; i < fg_registry_count(c->registry, FG_REGISTRY_MODEL); i++) {
        const fg_published *form =
            ((const fg_model_entry *)fg_registry_at(c->registry, FG_REGISTRY_MODEL, i))->published;
        for (; form != NULL && form->architecture != NULL && count < MOST_FORMS; form++) {
            const char *name = name_of(form, l);
            if (name != NULL && (count == 0 || strcmp(names[count - 1], name) != 0))
                names[count++] = name;
        }
    }
    (void)fgi_text_escape((fgi_str){l->value, l->size}, value, sizeof value);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (fnmatch(families[i].types, value, FNM_EXTMATCH) == 0)
            return fgi_fail(err, FG_EFORMAT,
                            "%s: %s '%s' is not supported, but the similar '%s' is", path, l->key,
                            value, families[i].nearest);
    return fgi_fail(err, FG_EFORMAT, "%s: %s '%s' is not supported%s", path, l->key, value,
                    fgi_suggest(value, names, count, known, sizeof known));
}

/* The form of the file; if none fits, the one that fits best. */
static choice choose(const fgi_config *c, json_t *config, const label *l)
{
    choice best = {.row = NULL};
    for (size_t i = 0; i < fg_registry_count(c->registry, FG_REGISTRY_MODEL); i++) {
        const fg_entry *row = fg_registry_at(c->registry, FG_REGISTRY_MODEL, i);
        const fg_published *form = ((const fg_model_entry *)row)->published;
        for (; form != NULL && form->architecture != NULL; form++) {
            const char *name = name_of(form, l);
            if (name == NULL || strlen(name) != l->size || strncmp(name, l->value, l->size) != 0)
                continue;
            const choice found = {row, form, misfit(config, form)};
            if (found.misfit->key == NULL)
                return found;
            if (best.row == NULL ||
                found.misfit - found.form->rules > best.misfit - best.form->rules)
                best = found;
        }
    }
    return best;
}

/* "config.json: 'depths' is [1,1,1,1]: expected [2,2,2,2] for resnet18" */
static fg_status refuse(const choice *found, json_t *config, const char *path, fg_error *err)
{
    const fg_config_rule *rule = found->misfit;
    json_t *value = value_of(config, rule),
           *expected = fgi_published_expected(config, found->form, rule);
    char *is = value != NULL ? fgi_json_text(value, BRIEF) : NULL;
    char *right = expected != NULL ? fgi_json_text(expected, BRIEF) : NULL;
    const char *of = right == NULL && rule->divides != NULL ? rule->divides : "";
    const char *other = of[0] != '\0' ? "a divisor of " : "a value";
    const fg_status status = fgi_fail(
        err, FG_EFORMAT, "%s: '%s' is %.100s: expected %.100s%s for model %s", path, rule->key,
        is != NULL ? is : "missing", right != NULL ? right : other, of, found->row->name);
    fgi_free(is);
    fgi_free(right);
    json_decref(value);
    json_decref(expected);
    return status;
}

/* Options of transformers that no model here has, with the values that they have without effect. */
static const fg_config_rule unsupported[] = {
    {.key = "quantization_config", .expected = "null", .initial = "null"},
    {.key = "is_encoder_decoder", .expected = "false", .initial = "false"},
    {.key = "add_cross_attention", .expected = "false", .initial = "false"},
    {.key = "pruned_heads", .expected = "{}", .initial = "{}"},
    {.key = "rope_scaling", .expected = "null", .initial = "null"},
    {.key = "sliding_window", .expected = "null", .initial = "null"},
    {.key = "partial_rotary_factor", .expected = "1", .initial = "1"},
    {.key = "rope_parameters.partial_rotary_factor", .expected = "1", .initial = "1"},
    {.key = NULL},
};

/* Keys of transformers that do not change what a model computes; "vocab_size" and "num_channels"
 * are those of the data. */
static const char no_effect[] =
    "@(architectures|model_type|torch_dtype|dtype|transformers_version|_*|name_or_path|auto_map|"
    "id2label|label2id|num_labels|problem_type|finetuning_task|task_specific_params|use_cache|"
    "use_return_dict|return_dict*|output_*|torchscript|use_bfloat16|tf_legacy_loss|*_token_id|"
    "tokenizer_class|prefix|vocab_size|initializer_*|layer_scale_init_value|gradient_checkpointing|"
    "chunk_size_feed_forward|num_channels|image_size|attn_implementation|*max_length|min_length|"
    "do_sample|early_stopping|num_beam*|temperature|top_k|top_p|typical_p|*_penalty|no_repeat_*|"
    "encoder_no_repeat_*|bad_words_ids|num_return_sequences|remove_invalid_values|*suppress_tokens|"
    "n_ctx|summary_*|reorder_and_upcast_attn|max_position_embeddings|directionality|pooler_*|"
    "encoder_stride|num_stages|out_features|out_indices|stage_names|use_sliding_window|"
    "max_window_layers|layer_types|rope_theta|pretraining_tp|"
    "tie_word_embeddings)";

static bool has_key(const fg_config_rule *rules, const char *key)
{
    const size_t size = strlen(key);
    for (const fg_config_rule *r = rules; r != NULL && r->key != NULL; r++)
        if (strncmp(r->key, key, size) == 0 && (r->key[size] == '\0' || r->key[size] == '.'))
            return true;
    return false;
}

fg_status fgi_published_say_unused(json_t *config, const fgi_published_unused *u, const char *path,
                                   const fgi_published_say *say, fg_error *err)
{
    fgi_buf line = {0};
    const char *key;
    json_t *value;
    json_object_foreach(config, key, value)
    {
        const bool is_off = json_is_null(value) || (json_is_false(value) && key[0] == 'd') ||
                            (json_is_number(value) && json_number_value(value) == 0);
        if (is_off || has_key(u->rules, key) || has_key(unsupported, key) ||
            fnmatch(u->no_effect, key, FNM_EXTMATCH) == 0)
            continue;
        char *text = fgi_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        const bool is_usual = text != NULL && fgi_is_one_of(text, u->usual);
        if (!is_usual)
            fgi_buf_printf(&line, "%s %s %.40s", line.size > 0 ? "," : "not used:", key,
                           text != NULL ? text : "");
        fgi_free(text);
    }
    fg_status status = FG_OK;
    if (line.size > 0)
        status = fgi_published_say_line(path, fgi_buf_text(&line), u->instead, say, err);
    fgi_buf_fini(&line);
    return status;
}

/* What changes the computation in a way that the model does not have. */
static fg_status check_unsupported(choice found, json_t *config, const char *path, fg_error *err)
{
    for (const fg_config_rule *r = unsupported; r->key != NULL; r++) {
        found.misfit = r;
        if (!has_key(found.form->rules, r->key) && !fits(config, found.form, r))
            return refuse(&found, config, path, err);
    }
    return FG_OK;
}

/* timm's arguments of the model, of which a form must list each, except those that the data
 * determine, and one that is also outside. */
static fg_status check_arguments(const choice *found, json_t *config, const char *path,
                                 fg_error *err)
{
    static const char section[] = "model_args";
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(config, section), name, value)
    {
        fgi_buf key = {0};
        fgi_buf_printf(&key, "%s.%s", section, name);
        fg_status status = fgi_buf_status(&key, err);
        const bool is_known = fgi_is_one_of(name, "num_classes|in_chans|img_size|global_pool") ||
                              rule_of(found->form, fgi_buf_text(&key)) != NULL;
        if (status == FG_OK && !is_known)
            status = fgi_fail(err, FG_EFORMAT, "%s: '%s': model %s does not have this argument",
                              path, key.data, found->row->name);
        fgi_buf_fini(&key);
        FGI_TRY(status);
    }
    return FG_OK;
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Sets a key that the configuration must not give. */
static fg_status set_key(fgi_config *c, const char *key, const char *text, const char *path,
                         fg_error *err)
{
    const char *place = fg_option_place(c->values, key);
    if (place != NULL && strcmp(place, path) != 0)
        return fgi_fail(err, FG_EINVAL, "%s: model.hf sets it, from %s: leave one of them out",
                        fgi_config_where(c, key), path);
    return fgi_config_set(c, key, text, path, err);
}

static fg_status set_option(fgi_config *c, const char *option, const char *text, const char *path,
                            fgi_buf *line, fg_error *err)
{
    fgi_buf key = {0};
    fgi_buf_printf(&key, "model.%s", option);
    fg_status status = fgi_buf_status(&key, err);
    if (status == FG_OK)
        status = set_key(c, key.data, text, path, err);
    fgi_buf_fini(&key);
    fgi_buf_printf(line, ", %s %s", option, text);
    return status;
}

/* The options of the form itself. */
static fg_status set_fixed(fgi_config *c, const choice *found, const char *path, fgi_buf *line,
                           fg_error *err)
{
    char text[256];
    fg_option_values *values = NULL;
    const fg_entry *row = found->row;
    FGI_TRY(fg_option_values_create(row->name, row->options, row->option_count, &values, err));
    fg_status status = fg_option_set_all(values, found->form->options, path, err);
    for (size_t i = 0; i < row->option_count && status == FG_OK; i++) {
        const char *name = row->options[i].name;
        if (fg_option_is_given(values, name))
            status = set_option(c, name, fg_option_format(values, name, text, sizeof text), path,
                                line, err);
    }
    fg_option_values_destroy(values);
    return status;
}

static fg_status set_options(fgi_config *c, const choice *found, json_t *config, const char *path,
                             fgi_buf *line, fg_error *err)
{
    FGI_TRY(set_key(c, "model.name", found->row->name, path, err));
    FGI_TRY(set_fixed(c, found, path, line, err));
    for (const fg_config_rule *r = found->form->rules; r != NULL && r->key != NULL; r++) {
        if (r->option == NULL)
            continue;
        json_t *value = value_of(config, r);
        char *text = fgi_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        fg_status status =
            text != NULL ? set_option(c, r->option, text, path, line, err) : fgi_no_memory(err);
        if (status == FG_EINVAL && strncmp(err->message, "model.", 6) == 0)
            status = fgi_context(err, status, "%s: '%s'", path, r->key);
        fgi_free(text);
        json_decref(value);
        FGI_TRY(status);
    }
    return FG_OK;
}

static fg_status set_model(fgi_config *c, json_t *config, const char *path,
                           const fgi_published_say *say, fg_error *err)
{
    fgi_buf line = {0};
    const label l = label_of(config);
    if (l.value == NULL)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: expected the key model_type (transformers) or architecture (timm)",
                        path);
    const choice found = choose(c, config, &l);
    if (found.row == NULL)
        return unknown(c, path, &l, err);
    if (found.misfit->key != NULL)
        return refuse(&found, config, path, err);
    FGI_TRY(check_arguments(&found, config, path, err));
    if (found.form->type != NULL)
        FGI_TRY(check_unsupported(found, config, path, err));
    fgi_buf_printf(&line, "%s: model %s", path, found.row->name);
    fg_status status = set_options(c, &found, config, path, &line, err);
    if (status == FG_OK)
        status = fgi_buf_status(&line, err);
    if (status == FG_OK)
        say->line(say->self, line.data);
    const fgi_published_unused unused = {found.form->rules, no_effect, "",
                                         "set model.* options instead"};
    if (status == FG_OK && found.form->type != NULL)
        status = fgi_published_say_unused(config, &unused, path, say, err);
    fgi_buf_fini(&line);
    return status;
}

fg_status fgi_published_fetch(fgi_config *c, const fgi_published_say *say, fg_error *err)
{
    const fg_hub_options options = {.say = say->line, .self = say->self};
    static const char *const keys[] = {"model.hf", "model.weights", "data.tokenizer"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char *folder = NULL;
        const char *name = fg_option_string(c->values, keys[i]);
        if (!fg_hub_is_name(name))
            continue;
        FGI_TRY(fg_hub_fetch(name, &options, &folder, err));
        const fg_status status = fgi_config_set(c, keys[i], folder, name, err);
        fg_free(folder);
        FGI_TRY(status);
    }
    return FG_OK;
}

static fg_status without_config(const fgi_config *c, const char *folder, fg_error *err)
{
    static const char hub[] = "huggingface.co/";
    const char *where = fgi_config_where(c, "model.hf"), *url = strstr(folder, hub);
    const char *name = url != NULL ? url + strlen(hub) : folder, *slash = strchr(name, '/');
    if (fgi_file_exists(folder) && !fgi_is_folder(folder))
        return fgi_fail(err, FG_ENOTFOUND, "%s: '%s' is a file: expected the folder that has it",
                        where, folder);
    if (slash != NULL && slash != name && strchr(slash + 1, '/') == NULL &&
        !fgi_file_exists(folder))
        return fgi_fail(err, FG_ENOTFOUND,
                        "%s: there is no folder '%s'\na model of a hub is written hf:%s", where,
                        folder, name);
    return fgi_fail(err, FG_ENOTFOUND,
                    "%s: '%s' has no config.json: expected a folder that transformers or timm has "
                    "written",
                    where, folder);
}

/* A configuration alone is a model with random weights; files with other names are a mistake. */
static fg_status without_weights(const char *folder, const fgi_published_say *say, fg_error *err)
{
    const struct dirent *entry;
    fg_status status = FG_OK;
    fgi_buf line = {0};
    DIR *files = opendir(folder);
    while (files != NULL && (entry = fgi_folder_next(&files)) != NULL)
        if (status == FG_OK &&
            fgi_ends_in_one_of(entry->d_name, ".safetensors|.bin|.pt|.pth|.h5|.msgpack|.gguf"))
            status = fgi_fail(err, FG_ENOTFOUND,
                              "%s: has '%.80s', but no model.safetensors or "
                              "model.safetensors.index.json\nmodel.weights=PATH loads another "
                              "file, model.weights=\"\" starts with random weights",
                              folder, entry->d_name);
    FGI_TRY(status);
    fgi_buf_printf(&line, "%s: no weights: they are random (model.weights gives some)", folder);
    if (!line.failed)
        say->line(say->self, line.data);
    fgi_buf_fini(&line);
    return FG_OK;
}

fg_status fgi_published_model(fgi_config *c, const fgi_published_say *say, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    json_t *config = NULL;
    const char *folder = c->model.hf;
    if (folder == NULL || *folder == '\0')
        return FG_OK;
    FGI_TRY(fgi_published_read(folder, "config.json", path, &config, err));
    if (config == NULL)
        return without_config(c, folder, err);
    const fg_status status = set_model(c, config, path, say, err);
    json_decref(config);
    FGI_TRY(status);
    if (c->model.weights != NULL)
        return FG_OK;
    if (!fg_ckpt_is_published(folder))
        return without_weights(folder, say, err);
    return fgi_config_set(c, "model.weights", folder, path, err);
}
