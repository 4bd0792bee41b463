/* test_nn_refused.c - options of models and modules: defaults, limits, what replaces what.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <string.h>
#include <fulgurite/fulgurite.h>

static const fg_model *add_resnet(fg_module *module, const char *name, int64_t outputs,
                                  const char *options)
{
    return fg_model_create(module, &(fg_model_options){.name = name,
                                                       .input = {FG_F32, 3, {32, 32, 3}},
                                                       .outputs = outputs,
                                                       .options = options});
}

/* The count is that of torchvision's resnet18, whose images have 3 channels. */
static void resnet_has_the_defaults_of_the_reference(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    fg_module_info info;
    (void)state;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    assert_non_null(add_resnet(root, "resnet18", 1000, NULL));
    assert_int_equal(fg_module_parameter_count(root), 11689512);
    assert_true(fg_module_info_at(root, 0, &info));
    assert_string_equal(info.kind, "resnet18");
    assert_string_equal(info.detail, "imagenet");
    fg_module *small = fg_module_child(root, "small");
    assert_non_null(add_resnet(small, "resnet18", 2, "{width: 1, stem: small}"));
    assert_true(fg_module_info_at(small, 0, &info));
    assert_string_equal(info.detail, "small");
    fg_module_destroy(root);
}

/* The counts are those of timm and transformers, with 1,000 classes, or for these vocabularies. */
static const struct {
    const char *name, *options;
    int64_t outputs, side, count; /* side 0: tokens */
} published[] = {
    {"vit_tiny", NULL, 1000, 224, 5717416},
    {"vit_small", NULL, 1000, 224, 22050664},
    {"vit_base", NULL, 1000, 224, 86567656},
    {"vit_large", NULL, 1000, 224, 304326632},
    {"vit", NULL, 1000, 224, 86567656},
    {"convnext", NULL, 1000, 224, 28589128},
    {"convnext", "{depths: [3, 3, 27, 3]}", 1000, 224, 50223688},
    {"convnext", "{depths: [3, 3, 27, 3], widths: [128, 256, 512, 1024]}", 1000, 224, 88591464},
    {"convnext", "{depths: [3, 3, 27, 3], widths: [192, 384, 768, 1536]}", 1000, 224, 197767336},
    {"efficientnet", NULL, 1000, 224, 5288548},
    {"efficientnet", "{depth_factor: 1.1}", 1000, 224, 7794184},
    {"efficientnet", "{width_factor: 1.1, depth_factor: 1.2}", 1000, 224, 9109994},
    {"efficientnet", "{width_factor: 1.2, depth_factor: 1.4}", 1000, 224, 12233232},
    {"efficientnet", "{width_factor: 1.4, depth_factor: 1.8}", 1000, 224, 19341616},
    {"mobilenet_v3_large", NULL, 1000, 224, 5483032},
    {"mobilenet_v3_small", NULL, 1000, 224, 2542856},
    {"unet", NULL, 2 * 64 * 64, 64, 31037698},
    {"gpt2", NULL, 50257, 0, 124439808},
    {"bert", "{length: 512}", 2, 0, 109483778},
    {"llama", "{layers: 16, width: 2048, heads: 32, kv_heads: 8, intermediate: 8192, tied: true}",
     128256, 0, 1235814400},
};

static void models_have_the_sizes_of_published_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        fg_error err = {0};
        fg_module *root = NULL;
        const int64_t side = published[i].side;
        const fg_type images = {FG_F32, 3, {side, side, 3}}, tokens = {FG_S32, 1, {64}};
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        (void)fg_model_create(root, &(fg_model_options){.name = published[i].name,
                                                        .input = side > 0 ? images : tokens,
                                                        .outputs = published[i].outputs,
                                                        .options = published[i].options});
        fgt_ok(fg_module_error(root, &err));
        assert_int_equal(fg_module_parameter_count(root), published[i].count);
        fg_module_destroy(root);
    }
}

static const struct {
    const char *name, *options;
    fg_type input;
    const char *says;
} refused[] = {
    {"gpt2",
     "{length: 8}",
     {FG_S32, 1, {9}},
     "the samples have 9 tokens, but the model has 8 positions\n"
     "lower data.length, or raise model.length"},
    {"gpt2",
     "{heads: 5}",
     {FG_S32, 1, {8}},
     "attention 'h.0.attn': width 768, heads 5: both must be given, and heads must divide "
     "width"},
    {"llama",
     "{kv_heads: 5}",
     {FG_S32, 1, {8}},
     "attention 'model.layers.0.self_attn': kv_heads 5 do not divide heads 12"},
    {"llama",
     "{head_width: 3}",
     {FG_S32, 1, {8}},
     "attention 'model.layers.0.self_attn': rotary positions require an even head width, not "
     "3"},
    {"bert", NULL, {FG_F32, 1, {8}}, "bert on f32[8]: expected tokens s32[T]"},
    {"llama", NULL, {FG_S32, 2, {8, 8}}, "llama on s32[8,8]: expected tokens s32[T]"},
    {"lstm",
     NULL,
     {FG_F32, 3, {28, 28, 3}},
     "lstm on f32[28,28,3]: expected tokens s32[T], or numbers [T] or [T, F]\n"
     "for images, set model.name: resnet18, for example"},
    {"lstm",
     "{layers: 65}",
     {FG_F32, 1, {28}},
     "lstm 'lstm': layers 65, dropout 0: expected 1 to 64 layers, of both directions together, and "
     "dropout of at least 0 and below 1"},
    {"vit",
     NULL,
     {FG_F32, 3, {28, 28, 3}},
     "vit: images of 28x28 pixels: expected multiples of the patch size, 16\n"
     "set data.size, or model.patch"},
    {"unet",
     NULL,
     {FG_F32, 3, {32, 16, 3}},
     "unet: 2 outputs for images of 32x16 pixels: expected values for each pixel, as targets of "
     "the same height and width have\nfor a class or values of each image, set model.name: "
     "resnet18, for example"},
    {"unet",
     "{depth: 5}",
     {FG_F32, 3, {32, 16, 3}},
     "images of 32x16 pixels: expected at least 32\nset data.size"},
    {"convnext",
     NULL,
     {FG_F32, 3, {28, 28, 3}},
     "images of 28x28 pixels: expected at least 32\nset data.size"},
};

static void inputs_and_sizes_of_models_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        fg_error err = {0};
        fg_module *root = NULL;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        assert_null(fg_model_create(root, &(fg_model_options){.name = refused[i].name,
                                                              .input = refused[i].input,
                                                              .outputs = 2,
                                                              .options = refused[i].options}));
        assert_int_equal(fg_module_error(root, &err), FG_EINVAL);
        assert_string_equal(err.message, refused[i].says);
        fg_module_destroy(root);
    }
}

static void options_of_resnet_are_checked(void **state)
{
    static const struct {
        const char *name, *options;
        int64_t outputs;
        const char *says;
    } rows[] = {
        {"resnet18", NULL, 0, "model 'resnet18': outputs 0; must be given"},
        {"resnet18", NULL, -1, "model 'resnet18': outputs -1; must be given"},
        {"resnet50", "{width: -1}", 2,
         "resnet50.width: expected an integer from 1 to 65536, or auto (for example 32), got '-1'"},
        {"resnet19", NULL, 2, "unknown model 'resnet19': did you mean 'resnet18'?"},
        {"resnet34", "{stem: smaller}", 2,
         "resnet34.stem: expected one of imagenet|small, got 'smaller': did you mean 'small'?"},
        {"resnet34", "{stem: \"\"}", 2, "resnet34.stem: expected one of imagenet|small, got ''"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_module *root = NULL;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        assert_null(add_resnet(root, rows[i].name, rows[i].outputs, rows[i].options));
        assert_int_equal(fg_module_error(root, &err), FG_EINVAL);
        assert_string_equal(err.message, rows[i].says);
        fg_module_destroy(root);
    }
}

static void models_compute_the_activation_of_their_options(void **state)
{
    static const char *const names[] = {"mlp", "lenet"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        fg_error err = {0};
        fg_module *root = NULL;
        fg_trace *trace = NULL;
        char *text = NULL;
        const fg_model_options options = {.name = names[i / 2],
                                          .input = {FG_F32, 3, {8, 9, 1}},
                                          .outputs = 2,
                                          .options = i % 2 == 1 ? "{activation: tanh}" : NULL};
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        fgt_ok(fg_trace_create(NULL, &trace, &err));
        const fg_model *model = fg_model_create(root, &options);
        const fg_tensor y = fg_model_apply(model, fg_ones(trace, FG_F32, FG_DIMS(3, 8, 9, 1)));
        fgt_ok(fg_trace_text(trace, &y, 1, &text, &err));
        assert_int_equal(strstr(text, "stablehlo.tanh") != NULL, i % 2);
        fg_free(text);
        fg_trace_destroy(trace);
        fg_module_destroy(root);
    }
}

static void descriptions_and_outputs_are_replaced(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    fg_module_info info;
    (void)state;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fg_module *child = fg_module_child(fg_module_child(root, "a"), "b");
    assert_ptr_equal(fg_module_root(child), root);
    fg_module_describe(child, "first", "with a detail");
    fg_module_describe(child, "second", NULL);
    fg_module_note_output(child, fg_ones(trace, FG_F32, FG_DIMS(2)));
    fg_module_note_output(child, fg_ones(trace, FG_F32, FG_DIMS(3, 4)));
    assert_true(fg_module_info_at(child, 0, &info));
    assert_string_equal(info.kind, "second");
    assert_string_equal(info.detail, "");
    assert_int_equal(info.output.rank, 2);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* Only names that can be frozen are suggested; a tree keeps its first error. */
static void precisions_and_patterns_that_are_unknown(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    const fg_type scalar = {.dtype = FG_F64};
    (void)state;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_module_set_precision(root, "bf16-true");
    const fg_variable *wide = fg_module_variable(root, "head", &scalar, NULL);
    assert_int_equal(fg_variable_type(wide)->dtype, FG_F64); /* only f32 follows it */
    (void)fg_module_variable(root, "haed", &scalar, &(fg_variable_options){.kind = FG_STATE});
    assert_int_equal(fg_module_freeze(root, "haed", NULL, &err), FG_ENOTFOUND);
    assert_string_equal(err.message, "freeze 'haed': matches no parameter or buffer of the module; "
                                     "the nearest names are 'head'\n"
                                     "'layer1.*' matches everything below layer1");
    fg_module_set_precision(root, "32");
    assert_int_equal(fg_module_freeze(root, "head", NULL, &err), FG_EINVAL);
    assert_int_equal(strncmp(err.message, "unknown precision '32': ", 24), 0);
    fg_module_destroy(root);
}

/* Of five dimensions, the fourth is not that of the channels. */
static void a_convolution_refuses_volumes(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    (void)state;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_conv *conv = fg_conv_create(root, "c", &(fg_conv_options){.in = 2, .out = 3});
    (void)fg_conv_apply(conv, fg_ones(trace, FG_F32, FG_DIMS(1, 5, 5, 2, 4)));
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_non_null(strstr(err.message, "expected floating-point images [N, H, W, 2]"));
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* Another number of channels is refused by the net, not by one of its layers. */
static void resnet_refuses_other_images(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    (void)state;
    fgt_ok(fg_module_create("net", 0, &root, &err));
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_model *net = add_resnet(root, "resnet18", 2, "{width: 1}");
    (void)fg_model_apply(net, fg_ones(trace, FG_F32, FG_DIMS(1, 32, 32, 4)));
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_non_null(strstr(err.message, "'net'"));
    assert_non_null(strstr(err.message, "expected a batch of f32[32,32,3]"));
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(resnet_has_the_defaults_of_the_reference),
    cmocka_unit_test(models_have_the_sizes_of_published_ones),
    cmocka_unit_test(inputs_and_sizes_of_models_are_checked),
    cmocka_unit_test(options_of_resnet_are_checked),
    cmocka_unit_test(models_compute_the_activation_of_their_options),
    cmocka_unit_test(resnet_refuses_other_images),
    cmocka_unit_test(descriptions_and_outputs_are_replaced),
    cmocka_unit_test(precisions_and_patterns_that_are_unknown),
    cmocka_unit_test(a_convolution_refuses_volumes),
};
FGT_MAIN(tests)
