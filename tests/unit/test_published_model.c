/* test_published_model.c - which model, and which options, a published config.json gives: rows of
 * models that transformers and timm have too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>

#include "recipe/published/published.h"

static void keep_line(void *self, const char *line) { (void)snprintf(self, 512, "%s", line); }

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
};

static void a_configuration_names_a_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[512] = "", key[512];
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_configuration_names_a_model),
};
FGT_MAIN(tests)
