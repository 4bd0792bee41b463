/* test_published_model.c - which model, and which options, a published config.json gives: rows of
 * models that transformers and timm have too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>

#include "recipe/published/published.h"

enum { LINES = 1024 };

static void keep_line(void *self, const char *line)
{
    (void)snprintf((char *)self + strlen(self), LINES - strlen(self), "%s\n", line);
}

#define GPT2 "{\"model_type\": \"gpt2\", "

static const struct {
    const char *config, *says;
} rows[] = {
    {"{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 8, \"n_head\": 4, \"n_positions\": "
     "16}",
     "model gpt2, layers 2, width 8, heads 4, length 16"},
    {"{\"model_type\": \"gpt2\", \"activation_function\": \"relu\"}",
     "'activation_function' is \"relu\": expected \"gelu_new\" for model gpt2"},
    {"{\"model_type\": \"llama\", \"rms_norm_eps\": 0.5, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 4,"
     " \"tie_word_embeddings\": true, \"rope_parameters\": {\"rope_theta\": 5e5}}",
     "model llama, layers 2, width 4096, heads 32, kv_heads 4, head_width 0, intermediate 11008, "
     "eps 0.5, tied true, rotary_base 500000.0"},
    {"{\"model_type\": \"llama\", \"rms_norm_eps\": 0.5, \"rope_theta\": 2e4, \"rope_scaling\": "
     "null}",
     "model llama, layers 32, width 4096, heads 32, kv_heads 0, head_width 0, intermediate 11008, "
     "eps 0.5, tied false, rotary_base 20000.0"},
    {"{\"model_type\": \"llama\", \"rms_norm_eps\": 0.5, \"rope_scaling\": {\"rope_type\": "
     "\"llama3\"}}",
     "'rope_scaling' is {\"rope_type\":\"llama3\"}: expected null for model llama"},
    {"{\"model_type\": \"llama\", \"rms_norm_eps\": 0.5, \"rope_parameters\": {\"rope_type\": "
     "\"yarn\", \"rope_theta\": "
     "1}}",
     "expected "},
    {"{\"model_type\": \"bert\", \"num_hidden_layers\": 4, \"vocab_size\": 99}",
     "model bert, vocabulary 99, layers 4, width 768, heads 12, intermediate 3072, length 512, "
     "padding 0"},
    {"{\"model_type\": \"convnext\", \"depths\": [1, 1, 2, 1], \"hidden_sizes\": [8, 12, 16, 20]}",
     "model convnext, depths [1,1,2,1], widths [8,12,16,20]"},
    {"{\"architecture\": \"convnext_tiny\"}", "model convnext"},
    {"{\"architecture\": \"efficientnet_b1.ft_in1k\"}", "model efficientnet, depth_factor 1.1"},
    {"{\"architecture\": \"mobilenetv3_small_100\"}", "model mobilenet_v3_small"},
    {"{\"architecture\": \"vit_tiny_patch16_224\"}", "model vit_tiny, patch 16"},
    {"{\"architecture\": \"vit_tiny_patch16_224\", \"model_args\": {\"img_size\": 64}}",
     "model vit_tiny, patch 16"},
    {"{\"model_type\": \"vit\", \"num_hidden_layers\": 2}",
     "model vit, layers 2, width 768, heads 12, patch 16, norm_eps 1e-12"},
    {"{\"model_type\": \"vit\", \"qkv_bias\": false}",
     "'qkv_bias' is false: expected true for model vit"},
    {"{\"architecture\": \"vit_base_patch8_224\", \"global_pool\": \"avg\"}",
     "'global_pool' is \"avg\": expected \"token\" for model vit_base"},
    {GPT2 "\"n_inner\": 7}", "config.json: 'n_inner' is 7: expected 3072 for model gpt2"},
    {GPT2 "\"n_inner\": null}", "model gpt2, layers 12, width 768"},
    {GPT2 "\"n_inner\": 40, \"n_embd\": 10, \"n_head\": 2}", "model gpt2, layers 12, width 10"},
    {GPT2 "\"n_head\": 5}", "'n_head' is 5: expected a divisor of n_embd for model gpt2"},
    {GPT2 "\"n_layer\": \"2\"}", "config.json: 'n_layer': model.layers: expected an integer"},
    {GPT2 "\"n_layers\": 3, \"attn_pdrop\": 0.1, \"resid_pdrop\": 0, \"use_cache\": true}",
     "config.json: not used: n_layers 3, attn_pdrop 0.1 (set model.* options instead)"},
    {GPT2 "\"quantization_config\": {\"bits\": 4}}",
     "'quantization_config' is {\"bits\":4}: expected null for model gpt2"},
    {"{\"model_type\": \"llama\", \"num_key_value_heads\": 5}",
     "'num_key_value_heads' is 5: expected a divisor of num_attention_heads"},
    {"{\"model_type\": \"llama\", \"rope_parameters\": {\"rope_theta\": 1}, \"rope_scaling\": {}}",
     "'rope_scaling' is {}: expected null for model llama"},
    {"{\"model_type\": \"llama\", \"rope_parameters\": {\"rope_theta\": 1, "
     "\"partial_rotary_factor\": 0.5}}",
     "'rope_parameters.partial_rotary_factor' is 0.5: expected 1 for model llama"},
    {"{\"model_type\": \"llama\", \"sliding_window\": 64}",
     "'sliding_window' is 64: expected null"},
    {"{\"model_type\": \"bert\", \"is_decoder\": true}", "'is_decoder' is true: expected false"},
    {"{\"model_type\": \"convnext\", \"layer_norm_eps\": 0.1}",
     "'layer_norm_eps' is 0.1: expected"},
    {"{\"model_type\": \"qwen2\"}",
     "model_type 'qwen2' is not supported, but the similar 'llama' is"},
    {"{\"model_type\": \"distilbert\"}", "but the similar 'bert' is"},
    {"{\"model_type\": \"t5\"}", "model_type 't5' is not supported: expected one of "},
};

static void a_configuration_names_a_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[LINES] = "", key[512];
        fg_error err = {0};
        const char *folder = fgt_temp_folder();
        fgi_config *c = fgi_config_create(NULL, NULL);
        fgt_write(fgt_path(folder, "config.json"), rows[i].config, strlen(rows[i].config));
        (void)snprintf(key, sizeof key, "model.hf=%s", folder);
        fgt_ok(fgi_config_override(c, key, &err));
        const fgi_published_say say = {keep_line, line};
        const char *text = fgi_published_model(c, &say, &err) == FG_OK ? line : err.message;
        if (strstr(text, rows[i].says) == NULL)
            fail_msg("%s: expected '%s', got '%s'", rows[i].config, rows[i].says, text);
        fgi_config_destroy(c);
    }
}

/* Without weights they are random, which is said; files with other names are a mistake. */
static void a_folder_without_weights_is_noted(void **state)
{
    static const struct {
        const char *file, *weights, *says;
    } files[] = {
        {"vocab.txt", NULL, ": no weights: they are random (model.weights gives some)"},
        {"a.safetensors", NULL, "has 'a.safetensors', but no model.safetensors or "},
        {"a.safetensors", "model.weights=", "model gpt2, layers 12"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char line[LINES] = "", key[512];
        fg_error err = {0};
        const char *folder = fgt_temp_folder();
        fgi_config *c = fgi_config_create(NULL, NULL);
        fgt_write(fgt_path(folder, "config.json"), GPT2 "\"n_layer\": 12}", 37);
        fgt_write(fgt_path(folder, files[i].file), "", 0);
        (void)snprintf(key, sizeof key, "model.hf=%s", folder);
        fgt_ok(fgi_config_override(c, key, &err));
        if (files[i].weights != NULL)
            fgt_ok(fgi_config_override(c, files[i].weights, &err));
        const fgi_published_say say = {keep_line, line};
        const char *text = fgi_published_model(c, &say, &err) == FG_OK ? line : err.message;
        if (strstr(text, files[i].says) == NULL)
            fail_msg("%s: expected '%s', got '%s'", files[i].file, files[i].says, text);
        fgi_config_destroy(c);
    }
}

/* ---- images and texts ------------------------------------------------------------------------ */

#define PREPROCESSOR                                                                               \
    "preprocessor_config.json", "{\"image_mean\": [0.1], \"image_std\": [0.2], \"size\": 16, "
#define CAN        " (the configuration can give other values)"
#define FOR_IMAGES " (images are resized with a bilinear filter, and cropped in the center)"

static const struct {
    const char *file, *content, *arguments, *says;
} inputs[] = {
    {PREPROCESSOR "\"do_resize\": true, \"resample\": 2}", NULL,
     "data.size 16, data.center_fraction 1.0, data.mean [0.1], data.std [0.2]" CAN},
    {PREPROCESSOR "\"resample\": 3, \"do_flip_channel_order\": true}", NULL,
     "not used: resample 3, do_flip_channel_order true" FOR_IMAGES},
    {PREPROCESSOR "\"crop_pct\": \"x\"}", NULL,
     "'crop_pct' is \"x\": expected a number\ndata.center_fraction can be given instead"},
    {PREPROCESSOR "\"crop_pct\": \"x\"}", "data.center_fraction=1", "data.size 16, data.mean"},
    {PREPROCESSOR "\"do_center_crop\": true, \"crop_size\": 32}", NULL,
     "'crop_size' is too large: expected the side of squares, at most that of 'size'"},
    {"preprocessor_config.json", "{\"size\": {\"height\": 3, \"width\": 4}}", NULL,
     "'size' is {\"height\":3,\"width\":4}: expected the side of squares"},
    {"preprocessor_config.json", "{\"size\": 16}", NULL,
     "'image_mean' is missing: expected a list of numbers\ndata.mean can be given instead"},
    {"preprocessor_config.json", "{\"size\": 16, \"do_normalize\": false}", NULL,
     "data.size 16, data.center_fraction 1.0" CAN},
    {"config.json",
     "{\"pretrained_cfg\": {\"input_size\": [3, 8, 8], \"mean\": [0], \"std\": [1], "
     "\"interpolation\": \"bicubic\", \"crop_mode\": \"center\", \"num_classes\": 5}}",
     NULL, "config.json: not used: interpolation \"bicubic\"" FOR_IMAGES},
    {"config.json",
     "{\"pretrained_cfg\": {\"input_size\": [3, 8, 9], \"mean\": [0], \"std\": [1]}}", NULL,
     "'input_size' is [3,8,9]: expected [channels, side, side]"},
    {"config.json", "{}", NULL, "no preprocessor_config.json: how images are normalized is not "},
    {"tokenizer.json", "{}", "data.format=text", "/tokenizer.json: data.tokenizer \"/"},
};

/* The files next to weights say how images and texts are read. */
static void files_next_to_weights_describe_the_input(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        char line[LINES] = "", key[512];
        fg_error err = {0};
        const char *folder = fgt_temp_folder();
        fgi_config *c = fgi_config_create(NULL, NULL);
        fgt_write(fgt_path(folder, inputs[i].file), inputs[i].content, strlen(inputs[i].content));
        fgt_write(fgt_path(folder, "model.safetensors"), "", 0);
        (void)snprintf(key, sizeof key, "model.weights=%s", folder);
        fgt_ok(fgi_config_override(c, key, &err));
        fgt_ok(fgi_config_override(c, "model.name=resnet18", &err));
        fgt_ok(fgi_config_override(c, "data.format=images", &err));
        if (inputs[i].arguments != NULL)
            fgt_ok(fgi_config_override(c, inputs[i].arguments, &err));
        const fgi_published_say say = {keep_line, line};
        const char *text = fgi_published_input(c, &say, &err) == FG_OK ? line : err.message;
        if (strstr(text, inputs[i].says) == NULL)
            fail_msg("%s: expected '%s', got '%s'", inputs[i].content, inputs[i].says, text);
        fgi_config_destroy(c);
    }
}

/* transformers leaves out the names of two classes that have none. */
static void the_classes_of_a_published_model(void **state)
{
    static const struct {
        const char *config, *name; /* of class 1 */
        int64_t count;
    } classes[] = {
        {"{\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}", "b", 3},
        {"{\"architectures\": [\"ViTForImageClassification\"]}", "LABEL_1", 2},
        {"{\"architectures\": [\"ViTModel\"]}", NULL, 0},
        {"{\"num_classes\": 4}", NULL, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        char key[512];
        fg_error err = {0};
        json_t *data = NULL;
        const char *folder = fgt_temp_folder();
        fgi_config *c = fgi_config_create(NULL, NULL);
        fgt_write(fgt_path(folder, "config.json"), classes[i].config, strlen(classes[i].config));
        (void)snprintf(key, sizeof key, "model.weights=%s", folder);
        fgt_ok(fgi_config_override(c, key, &err));
        fgt_ok(fgi_config_override(c, "data.format=images", &err));
        fgt_ok(fgi_config_override(c, "data.size=8", &err));
        fgt_ok(fgi_published_data(c, &data, &err));
        assert_int_equal(json_integer_value(json_object_get(data, "outputs")), classes[i].count);
        const json_t *name = json_array_get(json_object_get(data, "class_names"), 1);
        assert_int_equal(name != NULL, classes[i].name != NULL);
        if (name != NULL)
            assert_string_equal(json_string_value(name), classes[i].name);
        json_decref(data);
        fgi_config_destroy(c);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_classes_of_a_published_model),
    cmocka_unit_test(a_folder_without_weights_is_noted),
    cmocka_unit_test(files_next_to_weights_describe_the_input),
    cmocka_unit_test(a_configuration_names_a_model),
};
FGT_MAIN(tests)
