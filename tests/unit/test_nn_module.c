/* test_nn_module.c - the tree of modules: names, order, errors, ownership, summary; models.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/nn.h>
#include <jansson.h>
#include "base/error.h"
#include "nn/model.h"
#include "nn/published_names.h"

static fg_module *root_of(uint64_t seed)
{
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, seed, &root, &err));
    return root;
}

static const char *error_of(const fg_module *module, fg_status want)
{
    static fg_error err;
    err = (fg_error){0};
    assert_int_equal(fg_module_error(module, &err), want);
    return err.message;
}

static void names_are_paths_and_order_is_pytorchs(void **state)
{
    fg_module *root = root_of(0);
    fg_module *a = fg_module_child(root, "a"), *b = fg_module_child(root, "b.0");
    const fg_type type = {FG_F32, 1, {3}};
    fg_variable *deep = fg_module_variable(fg_module_child(b, "c"), "weight", &type, NULL);
    fg_variable *second = fg_module_variable(a, "weight", &type, NULL);
    fg_variable *own =
        fg_module_variable(root, "scale", &type, &(fg_variable_options){.kind = FG_BUFFER});
    assert_int_equal(fg_module_error(root, NULL), FG_OK);
    assert_string_equal(fg_variable_name(deep), "b.0.c.weight");
    assert_string_equal(fg_module_name(b), "b.0");
    assert_ptr_equal(fg_module_root(b), root);
    /* A module's variables come first, then those of its children in the order of creation. */
    assert_int_equal(fg_module_variable_count(root), 3);
    assert_ptr_equal(fg_module_variable_at(root, 0), own);
    assert_ptr_equal(fg_module_variable_at(root, 1), second);
    assert_ptr_equal(fg_module_variable_at(root, 2), deep);
    assert_null(fg_module_variable_at(root, 3));
    assert_int_equal(fg_module_variable_count(b), 1);
    assert_ptr_equal(fg_module_variable_at(b, 0), deep);
    assert_ptr_equal(fg_module_find(root, "b.0.c.weight"), deep);
    assert_ptr_equal(fg_module_find(b, "b.0.c.weight"), deep);
    assert_null(fg_module_find(a, "b.0.c.weight"));
    assert_null(fg_module_find(root, "b.0.c"));
    assert_int_equal(fg_module_parameter_count(root), 6); /* the buffer is not trained */
    fg_module_destroy(root);
}

static void root_name_goes_before_all(void **state)
{
    fg_module *root = NULL;
    fg_error err;
    fgt_ok(fg_module_create("encoder", 1, &root, &err));
    assert_non_null(fg_linear_create(root, "fc1", &(fg_linear_options){.in = 2, .out = 3}));
    assert_non_null(fg_module_find(root, "encoder.fc1.weight"));
    assert_null(fg_module_find(root, "fc1.weight"));
    fg_module_destroy(root);
}

static void first_error_is_kept_and_stops_building(void **state)
{
    fg_module *root = root_of(0);
    fg_module *a = fg_module_child(root, "a");
    assert_null(fg_module_child(root, "a"));
    assert_string_equal(error_of(a, FG_EINVAL), "there is a module 'a' already");
    assert_null(fg_module_child(root, "b")); /* nothing more is built */
    assert_null(fg_linear_create(root, "fc", &(fg_linear_options){.in = 1, .out = 1}));
    assert_null(fg_model_create(root, &(fg_model_options){.name = "linear"}));
    assert_string_equal(error_of(root, FG_EINVAL), "there is a module 'a' already");
    fg_module_destroy(root);

    root = root_of(0);
    const fg_type type = {FG_F32, 1, {3}};
    a = fg_module_child(root, "a");
    (void)fg_module_variable(fg_module_child(a, "b"), "w", &type, NULL);
    assert_null(fg_module_variable(a, "b.w", &type, NULL)); /* the same path written differently */
    assert_string_equal(error_of(root, FG_EINVAL), "there is a variable 'a.b.w' already");
    assert_int_equal(fg_module_variable_count(root), 1);
    fg_module_destroy(root);

    root = root_of(0);
    assert_null(fg_module_child(root, ""));
    assert_string_equal(error_of(root, FG_EINVAL), "a module of module '' needs a name");
    fg_module_destroy(root);
    assert_null(fg_module_child(NULL, "a"));
    assert_int_equal(fg_module_error(NULL, NULL), FG_EINVAL);
}

static const struct {
    fg_conv_options options;
    const char *message;
} convolutions[] = {
    {{.in = 4}, "conv 'c': in 4, out 0; both must be given"},
    {{.out = 6}, "conv 'c': in 0, out 6; both must be given"},
    {{.in = 4, .out = 6, .groups = 4}, "conv 'c': groups 4 do not divide in 4 and out 6"},
    {{.in = 4, .out = 6, .groups = 3}, "conv 'c': groups 3 do not divide in 4 and out 6"},
    {{.in = 4, .out = 6, .groups = -1}, "conv 'c': groups -1 do not divide in 4 and out 6"},
    {{.in = 4, .out = 6, .kernel = -1},
     "conv 'c': kernel -1, stride 1, dilation 1, pad 0: negative"},
    {{.in = 4, .out = 6, .kernel = 3, .stride = -2},
     "conv 'c': kernel 3, stride -2, dilation 1, pad 0: negative"},
    {{.in = 4, .out = 6, .kernel = 3, .dilation = -2},
     "conv 'c': kernel 3, stride 1, dilation -2, pad 0: negative"},
    {{.in = 4, .out = 6, .kernel = 3, .pad = -2},
     "conv 'c': kernel 3, stride 1, dilation 1, pad -2: negative"},
};

static void convolutions_refuse_bad_options(void **state)
{
    for (size_t i = 0; i < sizeof convolutions / sizeof convolutions[0]; i++) {
        fg_module *root = root_of(0);
        assert_null(fg_conv_create(root, "c", &convolutions[i].options));
        assert_string_equal(error_of(root, FG_EINVAL), convolutions[i].message);
        fg_module_destroy(root);
    }
}

static void layers_refuse_bad_options(void **state)
{
    fg_module *root = root_of(0);
    assert_null(fg_linear_create(root, "fc1", &(fg_linear_options){.in = 5}));
    assert_string_equal(error_of(root, FG_EINVAL), "linear 'fc1': in 5, out 0; both must be given");
    fg_module_destroy(root);
    root = root_of(0);
    assert_null(fg_batch_norm_create(root, "bn", NULL));
    assert_string_equal(error_of(root, FG_EINVAL),
                        "batch_norm 'bn': channels 0, momentum 0, eps 0; channels must be given, "
                        "momentum is 0 to 1");
    fg_module_destroy(root);
}

static void norms_refuse_bad_options(void **state)
{
    static const struct {
        fg_batch_norm_options options;
        const char *text;
    } rows[] = {{{.channels = -1}, "channels -1, momentum 0, eps 0"},
                {{.channels = 4, .momentum = 1.5}, "channels 4, momentum 1.5, eps 0"},
                {{.channels = 4, .momentum = -0.5}, "channels 4, momentum -0.5, eps 0"},
                {{.channels = 4, .eps = -1}, "channels 4, momentum 0, eps -1"}};
    char expected[128];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_module *root = root_of(0);
        assert_null(fg_batch_norm_create(root, "bn", &rows[i].options));
        (void)snprintf(expected, sizeof expected,
                       "batch_norm 'bn': %s; channels must be given, momentum is 0 to 1",
                       rows[i].text);
        assert_string_equal(error_of(root, FG_EINVAL), expected);
        fg_module_destroy(root);
    }
    fg_module *root = root_of(0);
    assert_non_null(fg_batch_norm_create(
        root, "bn", &(fg_batch_norm_options){.channels = 1, .momentum = 1, .eps = 1}));
    assert_null(fg_linear_create(root, "fc", &(fg_linear_options){.out = 5}));
    assert_string_equal(error_of(root, FG_EINVAL), "linear 'fc': in 0, out 5; both must be given");
    fg_module_destroy(root);
}

/* Names that begin like the module's are not below it. */
static void names_of_other_modules_are_not_found(void **state)
{
    fg_module *root = root_of(0);
    fg_module *a = fg_module_child(root, "a"), *ab = fg_module_child(root, "ab");
    const fg_type type = {FG_F32, 1, {3}};
    fg_variable *weight = fg_module_variable(ab, "w", &type, NULL);
    fg_variable *dotted = fg_module_variable(root, "a.w", &type, NULL);
    assert_null(fg_module_find(a, "ab.w"));
    assert_null(fg_module_find(ab, "a.w"));
    assert_null(fg_module_find(ab, "ab"));
    assert_ptr_equal(fg_module_find(ab, "ab.w"), weight);
    assert_ptr_equal(fg_module_find(root, "a.w"), dotted);
    assert_int_equal(fg_module_error(root, NULL), FG_OK);
    const fg_error first = {.status = FG_EFORMAT, .message = "first"};
    const fg_error second = {.status = FG_EINVAL, .message = "second"};
    fg_module_fail(ab, &first);
    fg_module_fail(root, &second);
    assert_string_equal(error_of(a, FG_EFORMAT), "first");
    fg_module_destroy(root);
    root = root_of(0);
    assert_null(fg_module_variable(root, "", &type, NULL));
    assert_string_equal(error_of(root, FG_EINVAL), "a variable of module '' needs a name");
    fg_module_destroy(root);
    root = root_of(0);
    assert_null(fg_module_child(fg_module_child(root, "a"), ""));
    assert_string_equal(error_of(root, FG_EINVAL), "a module of module 'a' needs a name");
    fg_module_destroy(root);
}

static int order[4], destroyed;
static void note_destroyed(void *object) { order[destroyed++] = *(int *)object; }

static void attached_objects_go_newest_first(void **state)
{
    static int object[] = {1, 2, 3};
    fg_module *root = root_of(0);
    destroyed = 0;
    assert_ptr_equal(fg_module_attach(root, &object[0], note_destroyed), &object[0]);
    assert_ptr_equal(fg_module_attach(root, &object[1], note_destroyed), &object[1]);
    const fg_error mine = {.status = FG_EFORMAT, .message = "a layer of my own"};
    fg_module_fail(root, &mine);
    assert_string_equal(error_of(root, FG_EFORMAT), "a layer of my own");
    assert_null(fg_module_attach(root, &object[2], note_destroyed)); /* freed at once */
    assert_int_equal(destroyed, 1);
    fg_module_destroy(root);
    assert_int_equal(destroyed, 3);
    assert_int_equal(order[0], 3);
    assert_int_equal(order[1], 2);
    assert_int_equal(order[2], 1);
}

static void conv_files_are_oihw(void **state)
{
    fg_module *root = root_of(0);
    (void)fg_conv_create(root, "c",
                         &(fg_conv_options){.in = 4, .out = 6, .kernel = 5, .groups = 2});
    fg_variable *weight = fg_module_find(root, "c.weight");
    const fg_type *type = fg_variable_type(weight);
    const int *axis = fg_variable_file_axis(weight);
    const int64_t want[] = {6, 2, 5, 5}; /* out, in/groups, kh, kw */
    for (int i = 0; i < 4; i++)
        assert_int_equal(type->dim[axis[i]], want[i]);
    assert_int_not_equal(axis[2], axis[3]);
    assert_true(axis[2] < axis[3]); /* rows, then columns */
    assert_null(fg_variable_file_axis(fg_module_find(root, "c.bias")));
    fg_module_destroy(root);
}

static void summary_walks_depth_first(void **state)
{
    fg_module *root = root_of(0);
    fg_module *block = fg_module_child(root, "block");
    (void)fg_conv_create(block, "conv",
                         &(fg_conv_options){.in = 3, .out = 8, .stride = 2, .pad = 1});
    (void)fg_batch_norm_create(block, "bn", &(fg_batch_norm_options){.channels = 8});
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 8, .out = 2});
    static const struct {
        const char *name, *kind, *detail;
        int depth, variables, parameters;
    } want[] = {{"", "", "", 0, 0, 0},
                {"block", "", "", 1, 0, 0},
                {"block.conv", "conv", "3 -> 8, 3x3, stride 2, pad 1", 2, 2, 224},
                {"block.bn", "batch_norm", "8", 2, 5, 16},
                {"fc", "linear", "8 -> 2", 1, 2, 18}};
    fg_module_info info;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        assert_true(fg_module_info_at(root, i, &info));
        assert_string_equal(info.name, want[i].name);
        assert_string_equal(info.kind, want[i].kind);
        assert_string_equal(info.detail, want[i].detail);
        assert_int_equal(info.depth, want[i].depth);
        assert_int_equal(info.variable_count, want[i].variables);
        assert_int_equal(info.parameter_count, want[i].parameters);
        assert_int_equal(info.output.dtype, FG_DTYPE_NONE);
    }
    assert_false(fg_module_info_at(root, sizeof want / sizeof want[0], &info));
    assert_true(fg_module_info_at(block, 1, &info));
    assert_string_equal(info.name, "block.conv");
    fg_module_destroy(root);
}

/* ---- application without a device: types and errors
 * ----------------------------------------------
 */

static fg_trace *trace_of(void)
{
    fg_trace *trace = NULL;
    fg_error err = {0};
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    return trace;
}

static void applied(const char *name, fg_type input, fg_dtype dtype, const char *output)
{
    const char *options = strcmp(name, "mlp") == 0 ? "{dropout: 0.5}" : NULL;
    fg_module *root = root_of(0);
    fg_trace *trace = trace_of();
    fg_error err = {0};
    char text[96];
    fg_model *model = fg_model_create(
        root, &(fg_model_options){.name = name, .input = input, .outputs = 10, .options = options});
    if (fg_module_error(root, &err) != FG_OK)
        fail_msg("%s", err.message);
    fg_type batch = {dtype, input.rank + 1, {7}};
    for (int i = 0; i < input.rank; i++)
        batch.dim[i + 1] = input.dim[i];
    fg_trace_set_training(trace, true);
    const fg_tensor y = fg_model_apply(model, fg_zeros(trace, dtype, batch.rank, batch.dim));
    if (fg_trace_error(trace, &err) != FG_OK)
        fail_msg("%s", err.message);
    assert_string_equal(fg_type_format(fg_tensor_type(y), text, sizeof text), output);
    fg_module_info info;
    for (size_t i = 0; fg_module_info_at(root, i, &info); i++)
        assert_int_equal(info.output.dim[0], 7);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static void models_take_their_inputs(void **state)
{
    const fg_type flat = {FG_F32, 1, {64}}, digits = {FG_U8, 2, {8, 8}},
                  mnist = {FG_U8, 2, {28, 28}}, cifar = {FG_U8, 3, {32, 32, 3}},
                  wide = {FG_U8, 3, {9, 40, 2}};
    static const char *const names[] = {"linear",   "mlp",      "lenet",
                                        "resnet18", "resnet34", "resnet50"};
    for (int i = 0; i < 6; i++) {
        applied(names[i], flat, FG_F32, "f32[7,10]");
        applied(names[i], flat, FG_BF16, "bf16[7,10]");
        applied(names[i], digits, FG_U8, "f32[7,10]");
        applied(names[i], mnist, FG_U8, "f32[7,10]");
        applied(names[i], cifar, FG_U8, "f32[7,10]");
        applied(names[i], wide, FG_S32, "f32[7,10]");
    }
}

static int64_t parameters_of(const fg_model_options *options)
{
    fg_module *root = root_of(0);
    assert_non_null(fg_model_create(root, options));
    const int64_t count = fg_module_parameter_count(root);
    fg_module_destroy(root);
    return count;
}

static void models_have_the_papers_sizes(void **state)
{
    const fg_type mnist = {FG_U8, 2, {28, 28}}, flat = {FG_F32, 1, {784}};
    assert_int_equal(
        parameters_of(&(fg_model_options){.name = "linear", .input = mnist, .outputs = 10}), 7850);
    assert_int_equal(
        parameters_of(&(fg_model_options){.name = "mlp", .input = flat, .outputs = 10}), 669706);
    assert_int_equal(parameters_of(&(fg_model_options){
                         .name = "mlp", .input = flat, .outputs = 10, .options = "{hidden: 300}"}),
                     238510);
    assert_int_equal(
        parameters_of(&(fg_model_options){.name = "lenet", .input = mnist, .outputs = 10}), 61706);
    assert_int_equal(
        parameters_of(&(fg_model_options){.name = "lenet", .input = flat, .outputs = 10}), 61706);
}

/* With 10 classes: convolutions, fc1 with 16 times the pixels that are left, and 11,014 of fc2 and
 * fc3. Large kernels have 156 and 2,416 parameters, those of a side below 16 pixels 60 and 880. */
static void lenet_adapts_to_small_sides(void **state)
{
    static const struct {
        int64_t height, width, pixels;
        bool is_small;
    } rows[] = {{16, 16, 2 * 2, false}, {15, 16, 3 * 4, true},  {16, 15, 4 * 3, true},
                {20, 28, 3 * 5, false}, {28, 20, 5 * 3, false}, {4, 5, 1, true},
                {9, 40, 2 * 10, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_model_options o = {
            .name = "lenet", .input = {FG_U8, 2, {rows[i].height, rows[i].width}}, .outputs = 10};
        const int64_t kernels = rows[i].is_small ? 60 + 880 : 156 + 2416;
        assert_int_equal(parameters_of(&o),
                         kernels + 16 * rows[i].pixels * 120 + 120 + 10164 + 850);
    }
}

/* Of the module and of those below it; a description may lose its detail. */
static void parameters_are_counted_at_all_levels(void **state)
{
    const fg_type type = {FG_F32, 1, {3}};
    fg_module_info info;
    fg_module *root = root_of(0);
    fg_module *a = fg_module_child(root, "a"), *b = fg_module_child(a, "b");
    (void)fg_module_variable(root, "w", &type, NULL);
    (void)fg_module_variable(a, "w", &type, NULL);
    (void)fg_module_variable(b, "w", &type, NULL);
    assert_int_equal(fg_module_parameter_count(root), 9);
    assert_int_equal(fg_module_parameter_count(a), 6);
    assert_int_equal(fg_module_parameter_count(b), 3);
    fg_module_describe(b, "first", "a detail");
    fg_module_describe(b, "second", NULL);
    assert_true(fg_module_info_at(b, 0, &info));
    assert_string_equal(info.kind, "second");
    assert_string_equal(info.detail, "");
    fg_module_destroy(root);
}

/* torchvision's networks with 1000 classes have 11,689,512, 21,797,672 and 25,557,032. */
static void residual_nets_are_as_large_as_torchvisions(void **state)
{
    const fg_type photo = {FG_U8, 3, {224, 224, 3}}, flat = {FG_F32, 1, {64}};
    fg_model_options o = {.name = "resnet18", .input = photo, .outputs = 1000};
    assert_int_equal(parameters_of(&o), 11689512);
    o.name = "resnet34";
    assert_int_equal(parameters_of(&o), 21797672);
    o.name = "resnet50";
    assert_int_equal(parameters_of(&o), 25557032);
    o = (fg_model_options){
        .name = "resnet18", .input = photo, .outputs = 10, .options = "{stem: small}"};
    assert_int_equal(parameters_of(&o), 11689512 - 990 * 513 - 64 * 3 * (49 - 9));
    o.input = flat; /* 8x8 pixels of one channel */
    assert_int_equal(parameters_of(&o), 11689512 - 990 * 513 - 64 * (147 - 9));
    o.options = "{stem: small, width: 1}";
    assert_in_range(parameters_of(&o), 2000, 4000);
}

static const char *refused(const fg_model_options *options)
{
    static char message[512];
    fg_module *root = root_of(0);
    assert_null(fg_model_create(root, options));
    (void)snprintf(message, sizeof message, "%s", error_of(root, FG_EINVAL));
    fg_module_destroy(root);
    return message;
}

static void models_refuse_what_does_not_go(void **state)
{
    const fg_type flat = {FG_F32, 1, {64}}, odd = {FG_F32, 1, {63}}, tiny = {FG_U8, 2, {3, 9}};
    assert_string_equal(refused(NULL), "a model needs a name");
    assert_string_equal(refused(&(fg_model_options){.name = "lenett", .input = flat, .outputs = 2}),
                        "unknown model 'lenett': did you mean 'lenet'?");
    assert_string_equal(
        refused(&(fg_model_options){
            .name = "mlp", .input = flat, .outputs = 2, .options = "{activation: zzzzzzzz}"}),
        "mlp.activation: expected one of " FGI_ACTIVATIONS ", got 'zzzzzzzz'");
    assert_string_equal(refused(&(fg_model_options){
                            .name = "mlp", .input = flat, .outputs = 2, .options = "{hiden: [3]}"}),
                        "mlp: unknown option 'hiden': did you mean 'hidden'?");
    assert_string_equal(refused(&(fg_model_options){
                            .name = "mlp", .input = flat, .outputs = 2, .options = "{hidden: []}"}),
                        "mlp.hidden: expected a list of 1 to 16 integers from 1 to 1048576 (for "
                        "example [256, 64]), got 0 elements");
    assert_string_equal(refused(&(fg_model_options){.name = "mlp", .input = flat}),
                        "model 'mlp': outputs 0; must be given");
    assert_string_equal(refused(&(fg_model_options){.name = "mlp", .input = flat, .outputs = -2}),
                        "model 'mlp': outputs -2; must be given");
    assert_string_equal(
        refused(&(fg_model_options){
            .name = "mlp", .input = flat, .outputs = 2, .options = "{dropout: 1}"}),
        "mlp.dropout: expected a number from 0 to less than 1 (for example 0.1), got '1'");
    assert_string_equal(
        refused(&(fg_model_options){.name = "mlp", .input = {.dtype = FG_F32}, .outputs = 2}),
        "model 'mlp': inputs of type f32[] are not supported: expected at least one "
        "dimension\nreshape a vector data.x to [N, 1]");
    assert_string_equal(
        refused(&(fg_model_options){.name = "lenet", .input = odd, .outputs = 2}),
        "lenet on f32[63]: expected images [H,W] or [H,W,C], or flat ones with their "
        "height, width and channels given\nset data.image, or, for samples that are not images, "
        "model.name: mlp");
    assert_string_equal(
        refused(&(fg_model_options){
            .name = "resnet18", .input = flat, .outputs = 2, .options = "{stem: tiny}"}),
        "resnet18.stem: expected one of imagenet|small, got 'tiny'");
    assert_string_equal(
        refused(&(fg_model_options){.name = "resnet50", .input = odd, .outputs = 2}),
        "resnet50 on f32[63]: expected images [H,W] or [H,W,C], or flat ones with their height, "
        "width and channels given\nset data.image, or, for samples that are not images, "
        "model.name: mlp");
    assert_string_equal(
        refused(&(fg_model_options){
            .name = "resnet18", .input = flat, .outputs = 2, .options = "{width: -1}"}),
        "resnet18.width: expected an integer from 1 to 65536, or auto (for example 32), got '-1'");
    assert_string_equal(refused(&(fg_model_options){.name = "lenet", .input = tiny, .outputs = 2}),
                        "images of 3x9 pixels: expected at least 4\nset data.size");
    assert_string_equal(
        refused(&(fg_model_options){.name = "lenet", .input = {FG_U8, 2, {9, 3}}, .outputs = 2}),
        "images of 9x3 pixels: expected at least 4\nset data.size");
    assert_string_equal(
        refused(
            &(fg_model_options){.name = "lenet", .input = odd, .outputs = 2, .image = {7, 8, 1}}),
        "lenet on f32[63]: expected images [H,W] or [H,W,C], or flat ones with their "
        "height, width and channels given\nset data.image, or, for samples that are not images, "
        "model.name: mlp");
    assert_int_equal(parameters_of(&(fg_model_options){
                         .name = "lenet", .input = odd, .outputs = 2, .image = {7, 9, 1}}) > 0,
                     1);
}

static void applying_wrongly_is_kept_in_the_trace(void **state)
{
    fg_module *root = root_of(0);
    fg_trace *trace = trace_of();
    fg_error err;
    fg_linear *fc = fg_linear_create(root, "fc", &(fg_linear_options){.in = 4, .out = 2});
    fg_batch_norm *bn = fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 4});
    fg_tensor y = fg_linear_apply(fc, fg_zeros(trace, FG_F32, FG_DIMS(2, 3)));
    assert_int_equal(fg_tensor_type(y)->dtype, FG_DTYPE_NONE);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "linear 'fc' on f32[2,3]: expected a floating-point tensor whose last "
                        "dimension is 4");
    fg_trace_reset(trace);
    y = fg_relu(fg_linear_apply(NULL, fg_zeros(trace, FG_F32, FG_DIMS(2, 4))));
    assert_int_equal(fg_tensor_type(y)->dtype, FG_DTYPE_NONE);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    fgt_message_is(
        err.message,
        "linear: the layer is NULL: it could not be built\nfg_module_error of its root says why");
    fg_trace_reset(trace);
    fg_trace_set_training(trace, true);
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(3)));
    (void)fg_batch_norm_apply(bn, fg_zeros(trace, FG_F32, FG_DIMS(2, 4)));
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message, "batch_norm 'bn' on f32[2,4]: the mask has 3 samples");
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* The first dimension is the batch, the others are those of the model. */
static void inputs_of_another_shape_are_refused(void **state)
{
    static const struct {
        fg_type type;
        const char *text;
    } rows[] = {{{FG_F32, 2, {2, 65}}, "f32[2,65]"},
                {{FG_F32, 2, {2, 63}}, "f32[2,63]"},
                {{FG_F32, 1, {64}}, "f32[64]"},
                {{FG_F32, 3, {2, 8, 8}}, "f32[2,8,8]"}};
    const fg_type flat = {FG_F32, 1, {64}};
    fg_module *root = root_of(0);
    fg_trace *trace = trace_of();
    const fg_model *model =
        fg_model_create(root, &(fg_model_options){.name = "linear", .input = flat, .outputs = 2});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        char expected[96];
        (void)fg_model_apply(model, fg_zeros(trace, FG_F32, rows[i].type.rank, rows[i].type.dim));
        assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
        (void)snprintf(expected, sizeof expected, "linear '' on %s: expected a batch of f32[64]",
                       rows[i].text);
        assert_string_equal(err.message, expected);
        fg_trace_reset(trace);
    }
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

#define IMAGES "expected floating-point images [N, H, W, 3]"
#define ROWS   "expected a floating-point tensor [N, ..., 4]"

static const struct {
    bool is_conv;
    fg_type type;
    const char *message;
} other_inputs[] = {{true, {FG_F32, 3, {2, 8, 3}}, "conv 'c' on f32[2,8,3]: " IMAGES},
                    {true, {FG_F32, 4, {2, 8, 8, 4}}, "conv 'c' on f32[2,8,8,4]: " IMAGES},
                    {true, {FG_S32, 4, {2, 8, 8, 3}}, "conv 'c' on s32[2,8,8,3]: " IMAGES},
                    {false, {FG_F32, 1, {4}}, "batch_norm 'bn' on f32[4]: " ROWS},
                    {false, {FG_F32, 2, {2, 3}}, "batch_norm 'bn' on f32[2,3]: " ROWS},
                    {false, {FG_S32, 2, {2, 4}}, "batch_norm 'bn' on s32[2,4]: " ROWS}};

static void layers_refuse_other_inputs(void **state)
{
    fg_module *root = root_of(0);
    fg_trace *trace = trace_of();
    fg_error err = {0};
    const fg_conv *conv = fg_conv_create(root, "c", &(fg_conv_options){.in = 3, .out = 2});
    const fg_batch_norm *bn =
        fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 4});
    for (size_t i = 0; i < sizeof other_inputs / sizeof other_inputs[0]; i++) {
        const fg_type *type = &other_inputs[i].type;
        const fg_tensor x = fg_zeros(trace, type->dtype, type->rank, type->dim);
        (void)(other_inputs[i].is_conv ? fg_conv_apply(conv, x) : fg_batch_norm_apply(bn, x));
        assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
        assert_string_equal(err.message, other_inputs[i].message);
        fg_trace_reset(trace);
    }
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* A single sample without a batch dimension is an input of a linear layer. A mask is as long as the
 * batch. */
static void first_dimensions_of_inputs(void **state)
{
    fg_module *root = root_of(0);
    fg_trace *trace = trace_of();
    fg_error err = {0};
    const fg_batch_norm *bn =
        fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 4});
    const fg_linear *fc = fg_linear_create(root, "fc", &(fg_linear_options){.in = 4, .out = 2});
    assert_int_equal(fg_tensor_dim(fg_linear_apply(fc, fg_zeros(trace, FG_F32, FG_DIMS(4))), 0), 2);
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_reset(trace);
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(3)));
    (void)fg_batch_norm_apply(bn, fg_zeros(trace, FG_F32, FG_DIMS(4, 4)));
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message, "batch_norm 'bn' on f32[4,4]: the mask has 3 samples");
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

/* ---- initial values -------------------------------------------------------------------------- */

static void read_all(const fg_variable *variable, float *out, size_t count)
{
    fg_error err = {0};
    fgt_ok(fg_variable_read(variable, out, count * sizeof *out, &err));
}

static void first_values_are_pytorchs_distributions(void **state)
{
    enum { IN = 400, OUT = 300, COUNT = IN * OUT };
    static float weight[COUNT], bias[OUT], kernel[5 * 5 * 16 * 64];
    fg_module *root = root_of(12);
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = IN, .out = OUT});
    (void)fg_conv_create(root, "c",
                         &(fg_conv_options){.in = 32, .out = 64, .kernel = 5, .groups = 2});
    read_all(fg_module_find(root, "fc.weight"), weight, COUNT);
    read_all(fg_module_find(root, "fc.bias"), bias, OUT);
    read_all(fg_module_find(root, "c.weight"), kernel, sizeof kernel / sizeof kernel[0]);
    fg_module_destroy(root);
    /* Uniform in +-a: mean 0 within 5 a/sqrt(3 n), mean square a^2/3, nothing outside, near ends.
     */
    const struct {
        const float *value;
        int count;
        double a;
    } drawn[] = {{weight, COUNT, 1 / 20.0}, {bias, OUT, 1 / 20.0}, {kernel, 25600, 1 / 20.0}};
    for (int k = 0; k < 3; k++) {
        double sum = 0, square = 0, least = 0, most = 0;
        int below[4] = {0};
        const double a = drawn[k].a, n = drawn[k].count;
        for (int i = 0; i < drawn[k].count; i++) {
            const double v = (double)drawn[k].value[i];
            sum += v;
            square += v * v;
            least = v < least ? v : least;
            most = v > most ? v : most;
            for (int q = 0; q < 4; q++)
                below[q] += v < a * (q - 1) / 2 - a * 0.25;
        }
        fgt_close("mean", sum / n, 0, 5 * a / __builtin_sqrt(3 * n), 0);
        fgt_close("mean square", square / n, a * a / 3, 0, 5 * 0.9 / __builtin_sqrt(n));
        assert_true(least >= -a && most < a);
        assert_true(least < -a * (1 - 20 / n) && most > a * (1 - 20 / n));
        for (int q = 0; q < 4; q++) /* the cumulative distribution function at four points */
            fgt_close("share below", below[q] / n, (0.25 + 0.5 * q) / 2, 2.5 / __builtin_sqrt(n),
                      0);
    }
}

static void first_values_depend_on_seed_and_name_only(void **state)
{
    float one[12], two[12];
    const fg_linear_options options = {.in = 4, .out = 3};
    fg_module *root = root_of(7);
    (void)fg_linear_create(root, "first", &options);
    (void)fg_linear_create(root, "fc", &options);
    read_all(fg_module_find(root, "fc.weight"), one, 12);
    read_all(fg_module_find(root, "first.weight"), two, 12);
    assert_memory_not_equal(one, two, sizeof one);
    fg_module_destroy(root);
    root = root_of(3);
    fg_module_set_seed(root, 7);
    assert_int_equal(fg_module_seed(root), 7);
    (void)fg_linear_create(root, "fc", &options);
    read_all(fg_module_find(root, "fc.weight"), two, 12);
    assert_memory_equal(one, two, sizeof one);
    fg_module_destroy(root);
    root = root_of(8);
    (void)fg_linear_create(root, "fc", &options);
    read_all(fg_module_find(root, "fc.weight"), two, 12);
    assert_memory_not_equal(one, two, sizeof one);
    fg_module_destroy(root);
}

/* Variance 2 / (3 * 3 * 64): 27 * 64 kernels numbers of the stem. */
static void kernels_of_residual_nets_are_scaled_by_their_outputs(void **state)
{
    enum { COUNT = 3 * 3 * 3 * 64 };
    float kernel[COUNT];
    double square = 0;
    fg_module *root = root_of(1);
    (void)fg_model_create(root, &(fg_model_options){.name = "resnet18",
                                                    .input = {FG_F32, 3, {32, 32, 3}},
                                                    .outputs = 10,
                                                    .options = "{stem: small}"});
    read_all(fg_module_find(root, "conv1.weight"), kernel, COUNT);
    for (int i = 0; i < COUNT; i++)
        square += (double)kernel[i] * (double)kernel[i];
    fgt_close("variance", square / COUNT, 2.0 / (9 * 64), 0, 5 * __builtin_sqrt(2.0 / COUNT));
    fg_module_destroy(root);
}

/* An initial value that is given is that of the weight only. */
static void biases_of_convolutions_stay_uniform(void **state)
{
    float weight[3 * 3 * 2 * 8], bias[8];
    bool differ = false;
    fg_module *root = root_of(1);
    (void)fg_conv_create(root, "c",
                         &(fg_conv_options){.in = 2, .out = 8, .init = {FG_INIT_CONSTANT, 5}});
    read_all(fg_module_find(root, "c.weight"), weight, sizeof weight / sizeof *weight);
    read_all(fg_module_find(root, "c.bias"), bias, 8);
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++)
        assert_true(weight[i] == 5);
    for (int i = 0; i < 8; i++) { /* within 1 / sqrt(3 * 3 * 2) */
        assert_true(bias[i] >= -0.2358F && bias[i] < 0.2358F);
        differ = differ || bias[i] != bias[0];
    }
    assert_true(differ);
    fg_module_destroy(root);
}

/* Only f32 variables follow the precision, and only parameters become narrower. */
static void variables_follow_the_precision(void **state)
{
    static const struct {
        const char *name;
        fg_dtype parameter, buffer;
    } rows[] = {{"32-true", FG_F32, FG_F32},  {"bf16-mixed", FG_F32, FG_F32},
                {"16-mixed", FG_F32, FG_F32}, {"bf16-true", FG_BF16, FG_F32},
                {"16-true", FG_F16, FG_F32},  {"64-true", FG_F64, FG_F64}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_module *root = root_of(0);
        fg_module_set_precision(root, rows[i].name);
        (void)fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 2});
        const fg_dtype weight = fg_variable_type(fg_module_find(root, "bn.weight"))->dtype;
        const fg_dtype mean = fg_variable_type(fg_module_find(root, "bn.running_mean"))->dtype;
        const fg_variable *count = fg_module_find(root, "bn.num_batches_tracked");
        assert_int_equal(weight, rows[i].parameter);
        assert_int_equal(mean, rows[i].buffer);
        assert_int_equal(fg_variable_type(count)->dtype, FG_S64);
        fg_module_destroy(root);
    }
    fg_module *root = root_of(0);
    fg_module_set_precision(root, "16-tru");
    assert_string_equal(error_of(root, FG_EINVAL),
                        "unknown precision '16-tru': did you mean '16-true'? expected 32-true, "
                        "bf16-mixed, bf16-true, 16-mixed, 16-true or 64-true");
    fg_module_destroy(root);
}

/* ---- allocation failures --------------------------------------------------------------------- */

static fg_status build_and_trace(void *self, fg_error *err)
{
    const char *const *name = self;
    const char *options = strncmp(*name, "resnet", 6) == 0 ? "{width: 1}" : NULL;
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    const fg_type input = {FG_U8, 3, {12, 12, 2}};
    fg_status status = fg_module_create(NULL, 1, &root, err);
    if (status == FG_OK)
        status = fg_trace_create(NULL, &trace, err);
    if (status == FG_OK) {
        fg_model *model = fg_model_create(
            root,
            &(fg_model_options){.name = *name, .input = input, .outputs = 3, .options = options});
        fg_batch_norm *bn = fg_batch_norm_create(fg_module_child(root, "head"), "bn",
                                                 &(fg_batch_norm_options){.channels = 3});
        status = fg_module_error(root, err);
        if (status == FG_OK) {
            fg_trace_set_training(trace, true);
            fg_tensor x = fg_zeros(trace, FG_U8, FG_DIMS(2, 12, 12, 2));
            fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(2)));
            (void)fg_batch_norm_apply(bn, fg_model_apply(model, x));
            status = fg_trace_error(trace, err);
        }
    }
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    return status;
}

static void building_survives_failing_allocations(void **state)
{
    static const char *names[] = {"linear", "lenet", "resnet18"};
    for (int i = 0; i < 3; i++)
        fgt_fault_loop(build_and_trace, &names[i]);
}

/* ---- published names ------------------------------------------------------------------------- */

static void names_are_written_both_ways(void **state)
{
    static const struct {
        const char *ours, *theirs, *name, *expected;
    } rows[] = {
        {"layer#1.#.conv#1.*", "stages.#.layers.#.layer.#.*", "layer1.0.conv2.weight",
         "stages.0.layers.0.layer.1.weight"},
        {"h.#.*", "transformer.h.#.*", "h.12.attn.bias", "transformer.h.12.attn.bias"},
        {"fc.*", "classifier.1.*", "fc.weight", "classifier.1.weight"},
        {"a.#", "b.#1", "a.9", "b.10"},
        {"layer#1.*", "stages.#.*", "layer0.x", NULL}, /* counted from 1 */
        {"layer#.*", "stages.#.*", "layerx.x", NULL},
        {"a.#", "b.#", "a.1.x", NULL},
        {"fc.*", "head.*", "fc", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_buf out = {0}, back = {0};
        const bool is_found = fgi_rename(rows[i].ours, rows[i].theirs, rows[i].name, &out);
        assert_int_equal(is_found, rows[i].expected != NULL);
        if (is_found) {
            assert_string_equal(out.data, rows[i].expected);
            assert_true(fgi_rename(rows[i].theirs, rows[i].ours, out.data, &back));
            assert_string_equal(back.data, rows[i].name);
        }
        fgi_buf_fini(&out);
        fgi_buf_fini(&back);
    }
}

/* In the first of several names. */
static size_t count_of(const char *text, char c)
{
    size_t count = 0;
    for (; *text != '\0' && *text != '|'; text++)
        count += *text == c;
    return count;
}

static bool is_json(const char *text)
{
    json_t *value = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    json_decref(value);
    return text == NULL || value != NULL;
}

static void check_form(const fg_entry *row, const fg_published *form)
{
    fg_error err = {0};
    fg_option_values *values = NULL;
    fgt_ok(fg_option_values_create(row->name, row->options, row->option_count, &values, &err));
    fgt_ok(fg_option_set_all(values, form->options, NULL, &err));
    for (const fg_config_rule *r = form->rules; r != NULL && r->key != NULL; r++) {
        assert_true(r->option == NULL || fg_option_find(values, r->option) != NULL);
        assert_true(is_json(r->expected) && is_json(r->initial));
        bool has_factor = r->times == NULL;
        for (const fg_config_rule *f = form->rules; f->key != NULL; f++)
            has_factor |= r->times != NULL && strcmp(f->key, r->times) == 0;
        assert_true(has_factor);
    }
    for (const fg_name_rule *n = form->names; n != NULL && n->ours != NULL; n++) {
        int parts = 0;
        for (const char *part; (part = fgi_name_part(n->theirs, parts)) != NULL; parts++) {
            assert_int_equal(count_of(n->ours, '#'), count_of(part, '#'));
            assert_int_equal(count_of(n->ours, '*'), count_of(part, '*'));
        }
        assert_in_range(parts, 1, FGI_NAME_PARTS);
    }
    fg_option_values_destroy(values);
}

/* Rules name options of their row, and keys that have a rule; names have as many numbers. */
static void published_forms_are_consistent(void **state)
{
    for (size_t i = 0; i < fgi_model_row_count; i++) {
        const fg_published *form = ((const fg_model_entry *)fgi_model_rows[i])->published;
        for (; form != NULL && form->architecture != NULL; form++)
            check_form(fgi_model_rows[i], form);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_are_written_both_ways),
    cmocka_unit_test(published_forms_are_consistent),
    cmocka_unit_test(names_are_paths_and_order_is_pytorchs),
    cmocka_unit_test(root_name_goes_before_all),
    cmocka_unit_test(first_error_is_kept_and_stops_building),
    cmocka_unit_test(convolutions_refuse_bad_options),
    cmocka_unit_test(layers_refuse_bad_options),
    cmocka_unit_test(norms_refuse_bad_options),
    cmocka_unit_test(names_of_other_modules_are_not_found),
    cmocka_unit_test(attached_objects_go_newest_first),
    cmocka_unit_test(conv_files_are_oihw),
    cmocka_unit_test(summary_walks_depth_first),
    cmocka_unit_test(models_take_their_inputs),
    cmocka_unit_test(models_have_the_papers_sizes),
    cmocka_unit_test(lenet_adapts_to_small_sides),
    cmocka_unit_test(parameters_are_counted_at_all_levels),
    cmocka_unit_test(models_refuse_what_does_not_go),
    cmocka_unit_test(residual_nets_are_as_large_as_torchvisions),
    cmocka_unit_test(applying_wrongly_is_kept_in_the_trace),
    cmocka_unit_test(inputs_of_another_shape_are_refused),
    cmocka_unit_test(layers_refuse_other_inputs),
    cmocka_unit_test(first_dimensions_of_inputs),
    cmocka_unit_test(first_values_are_pytorchs_distributions),
    cmocka_unit_test(first_values_depend_on_seed_and_name_only),
    cmocka_unit_test(kernels_of_residual_nets_are_scaled_by_their_outputs),
    cmocka_unit_test(biases_of_convolutions_stay_uniform),
    cmocka_unit_test(variables_follow_the_precision),
    cmocka_unit_test(building_survives_failing_allocations),
};
FGT_MAIN(tests)
