/* test_nn_options.c - options of models and losses as in a configuration, and the defaults of
 * models.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/nn.h>
#include <stdio.h>

#include "base/alloc.h"
#include "nn/model.h"
#include "option/option.h"
#include "trace/graph.h"

static fg_module *root_of(uint64_t seed)
{
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, seed, &root, &err));
    return root;
}

static fg_trace *trace_of(void)
{
    fg_trace *trace = NULL;
    fg_error err = {0};
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    return trace;
}

/* ResNet-18 of torchvision has 11,689,512 parameters with 1000 classes. */
static void residual_nets_have_18_layers(void **state)
{
    (void)state;
    fg_module *root = root_of(0);
    fg_module_info info;
    assert_non_null(fg_model_create(root, &(fg_model_options){.name = "resnet18",
                                                              .input = {FG_U8, 3, {32, 32, 3}},
                                                              .outputs = 1000}));
    assert_int_equal(fg_module_parameter_count(root), 11689512);
    assert_true(fg_module_info_at(root, 0, &info));
    assert_string_equal(info.kind, "resnet18");
    assert_string_equal(info.detail, "imagenet");
    fg_module_destroy(root);
}

/* A row is used instead of a name, also if both are given. */
static void models_are_those_of_their_row(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "lenet", "no such model"};
    for (int i = 0; i < 3; i++) {
        fg_module *root = root_of(0);
        const fg_model_options o = {
            .name = names[i], .entry = &fgi_linear_row, .input = {FG_F32, 1, {5}}, .outputs = 2};
        assert_non_null(fg_model_create(root, &o));
        assert_int_equal(fg_module_parameter_count(root), 5 * 2 + 2);
        fg_module_destroy(root);
    }
}

static char *text_of_mlp(const char *options, bool is_training)
{
    fg_error err = {0};
    char *text = NULL;
    fg_module *root = root_of(0);
    fg_trace *trace = trace_of();
    const fg_model *model = fg_model_create(
        root, &(fg_model_options){
                  .name = "mlp", .input = {FG_F32, 1, {4}}, .outputs = 2, .options = options});
    assert_non_null(model);
    fg_trace_set_training(trace, is_training);
    const fg_tensor y = fg_model_apply(model, fg_zeros(trace, FG_F32, FG_DIMS(3, 4)));
    fgt_ok(fg_trace_text(trace, &y, 1, &text, &err));
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    return text;
}

static void options_of_the_mlp_have_an_effect(void **state)
{
    static const struct {
        const char *options, *operation;
        bool is_training, is_there;
    } rows[] = {{"{hidden: 3}", "stablehlo.maximum", true, true},
                {"{hidden: 3, activation: tanh}", "stablehlo.tanh", true, true},
                {"{hidden: 3, activation: sigmoid}", "stablehlo.logistic", true, true},
                {"{hidden: 3, activation: sigmoid}", "stablehlo.tanh", true, false},
                {"{hidden: 3, activation: tanh}", "stablehlo.maximum", true, false},
                {"{hidden: 3, dropout: 0.5}", "stablehlo.select", true, true},
                {"{hidden: 3, dropout: 0.5}", "stablehlo.select", false, false},
                {"{hidden: 3}", "stablehlo.select", true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = text_of_mlp(rows[i].options, rows[i].is_training);
        if ((strstr(text, rows[i].operation) != NULL) != rows[i].is_there)
            fail_msg("%s: %s", rows[i].options, rows[i].operation);
        fg_free(text);
    }
}

static fg_tensor elu(fg_tensor x) { return fg_elu(x, 1); }
static fg_tensor leaky_relu(fg_tensor x) { return fg_leaky_relu(x, 0.01); }

/* The words are in the order of the enum, and each is the operation with that name. */
static void activations_are_the_operations_with_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        fg_tensor (*apply)(fg_tensor x);
    } rows[] = {{"relu", fg_relu},           {"tanh", fg_tanh},
                {"sigmoid", fg_sigmoid},     {"gelu", fg_gelu},
                {"gelu_tanh", fg_gelu_tanh}, {"silu", fg_silu},
                {"softplus", fg_softplus},   {"elu", elu},
                {"leaky_relu", leaky_relu},  {"mish", fg_mish},
                {"hardswish", fg_hardswish}};
    char words[256] = "";
    fg_trace *trace = trace_of();
    const fg_tensor x = fg_iota(trace, FG_F32, 0, FG_DIMS(3));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_tensor y = fgi_activate((fgi_activation)i, x), want = rows[i].apply(x);
        assert_memory_equal(&fgi_node_of(y)->hash, &fgi_node_of(want)->hash, sizeof(fgi_hash));
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s",
                       i > 0 ? "|" : "", rows[i].name);
    }
    assert_string_equal(words, FGI_ACTIVATIONS);
    fg_trace_destroy(trace);
}

/* The struct of the row; free it with fgi_free. */
static void *loss_options(const fg_loss_entry *row, const char *text)
{
    fg_error err = {0};
    void *options = NULL;
    const fg_entry *entry = &row->entry;
    fg_option_values *values = NULL;
    fgt_ok(fg_option_values_create("loss", entry->options, entry->option_count, &values, &err));
    fgt_ok(fg_option_set_all(values, text, NULL, &err));
    fgt_ok(fgi_row_create(entry, values, &options, &err));
    fg_option_values_destroy(values);
    return options;
}

static fg_tensor loss_by_row(const fg_loss_entry *row, fg_tensor logits, fg_tensor label,
                             const char *text)
{
    void *options = loss_options(row, text);
    const fg_tensor loss = row->apply(logits, label, options);
    fgi_free(options);
    return loss;
}

/* The same computation as in C; without weights in evaluation. */
static void options_of_the_cross_entropy(void **state)
{
    static const float weights[] = {1, 2, 0, 0.5F};
    fg_error err = {0};
    fg_trace *trace = trace_of();
    const fg_tensor logits = fg_zeros(trace, FG_F32, FG_DIMS(3, 4));
    const fg_tensor label = fg_zeros(trace, FG_S32, FG_DIMS(3));
    const fg_type type = {FG_F32, 1, {4}};
    for (int is_training = 0; is_training < 2; is_training++) {
        fg_trace_set_training(trace, is_training);
        const fg_tensor by_row =
            loss_by_row(&fgi_cross_entropy_row, logits, label,
                        "{label_smoothing: 0.25, class_weight: [1, 2, 0, 0.5]}");
        fg_cross_entropy_options o = {.label_smoothing = 0.25};
        if (is_training)
            o.class_weight = fg_constant(trace, &type, weights);
        const fg_tensor by_call = fg_cross_entropy(logits, label, &o);
        assert_true(fgi_hash_equal(fgi_node_of(by_row)->hash, fgi_node_of(by_call)->hash));
    }
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

static void wrong_class_weights_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"{class_weight: [1, -1, 1, 1]}", ": expected balanced or numbers of at least 0, got '-1'"},
        {"{class_weight: [1, inf, 1, 1]}",
         ": expected balanced or numbers of at least 0, got 'inf'"},
        {"{class_weight: [1, x, 1, 1]}", ": expected balanced or numbers of at least 0, got 'x'"},
        {"{class_weight: [1, 1, 1]}",
         ": expected balanced or one weight for each of the 4 classes, got 3"},
        {"{class_weight: [1, 1, 1, 1, 1]}",
         ": expected balanced or one weight for each of the 4 classes, got 5"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        void *options = loss_options(&fgi_cross_entropy_row, rows[i][0]);
        assert_int_equal(fgi_cross_entropy_row.check(options, 4, &err), FG_EINVAL);
        assert_int_equal(strncmp(err.message, "class_weight", 12), 0);
        assert_string_equal(err.message + 12, rows[i][1]);
        fgi_free(options);
    }
}

static bool is_same(fg_tensor a, fg_tensor b)
{
    return fgi_hash_equal(fgi_node_of(a)->hash, fgi_node_of(b)->hash);
}

typedef struct loss_case {
    const fg_loss_entry *row;
    const char *options;
    fg_tensor target, expected;
} loss_case;

/* The row computes what its function does with the same options. */
static void check_losses(fg_tensor y, const loss_case *cases, size_t count)
{
    fg_error err = {0};
    for (size_t i = 0; i < count; i++)
        assert_true(is_same(loss_by_row(cases[i].row, y, cases[i].target, cases[i].options),
                            cases[i].expected));
    fgt_ok(fg_trace_error(fg_tensor_trace(y), &err));
}

static void losses_of_classes_are_their_functions(void **state)
{
    static const float weights[] = {1, 2, 0, 0.5F};
    fg_trace *trace = trace_of();
    fg_trace_set_training(trace, true);
    const fg_type four = {FG_F32, 1, {4}};
    const fg_tensor y = fg_iota(trace, FG_F32, 1, FG_DIMS(3, 4));
    const fg_tensor label = fg_zeros(trace, FG_S32, FG_DIMS(3));
    const fg_tensor weight = fg_constant(trace, &four, weights);
    const loss_case cases[] = {
        {&fgi_focal_row, "{}", label, fg_focal_loss(y, label, NULL)},
        {&fgi_focal_row, "{gamma: 0, class_weight: [1, 2, 0, 0.5]}", label,
         fg_focal_loss(y, label, &(fg_focal_options){.gamma = FG_ZERO, .class_weight = weight})},
    };
    (void)state;
    check_losses(y, cases, sizeof cases / sizeof cases[0]);
    fg_trace_destroy(trace);
}

static void losses_of_numbers_are_their_functions(void **state)
{
    static const double quantiles[] = {0.1, 0.5, 0.9, 0.95};
    fg_trace *trace = trace_of();
    const fg_tensor y = fg_iota(trace, FG_F32, 1, FG_DIMS(3, 4));
    const fg_tensor one = fg_ones(trace, FG_F32, FG_DIMS(3, 4));
    const fg_tensor value = fg_zeros(trace, FG_F32, FG_DIMS(3));
    const loss_case cases[] = {
        {&fgi_l1_row, "{}", one, fg_l1(y, one)},
        {&fgi_huber_row, "{delta: 0.5}", one, fg_huber(y, one, 0.5)},
        {&fgi_smooth_l1_row, "{beta: 0.5}", one, fg_mul_scalar(fg_huber(y, one, 0.5), 2)},
        {&fgi_quantile_row, "{quantiles: [0.1, 0.5, 0.9, 0.95]}", value,
         fg_quantile_loss(y, value, quantiles, 4)},
        {&fgi_kl_div_row, "{}", one, fg_kl_div(y, one)},
    };
    (void)state;
    check_losses(y, cases, sizeof cases / sizeof cases[0]);
    fg_trace_destroy(trace);
}

static void wrong_options_of_losses_are_refused(void **state)
{
    static const struct {
        const fg_loss_entry *row;
        const char *options;
        int64_t outputs;
        const char *message;
    } rows[] = {
        {&fgi_focal_row, "{gamma: 0.5}", 4, "gamma: expected 0 or at least 1, got 0.5"},
        {&fgi_quantile_row, "{quantiles: []}", 0, "quantiles: expected 1 to 64 numbers, got 0"},
        {&fgi_quantile_row, "{}", 6, "quantiles: expected a target with one value"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        void *options = loss_options(rows[i].row, rows[i].options);
        assert_int_equal(rows[i].row->check(options, rows[i].outputs, &err), FG_EINVAL);
        assert_string_equal(err.message, rows[i].message);
        fgi_free(options);
    }
}

/* The outputs are all quantiles; metrics use the one closest to the median. */
static void quantiles_are_outputs(void **state)
{
    fg_error err = {0};
    fg_trace *trace = trace_of();
    const fg_tensor y = fg_iota(trace, FG_F32, 1, FG_DIMS(5, 3));
    void *options = loss_options(&fgi_quantile_row, "{quantiles: [0.1, 0.9, 0.4]}");
    (void)state;
    assert_int_equal(fgi_quantile_row.outputs(options, 1), 3);
    assert_true(is_same(fgi_quantile_row.predict(y, false, options), y));
    const fg_tensor column = fg_slice(y, (const int64_t[]){0, 2}, (const int64_t[]){5, 3}, NULL);
    assert_true(
        is_same(fgi_quantile_row.predict(y, true, options), fg_reshape(column, FG_DIMS(-1))));
    assert_true(is_same(fgi_kl_div_row.predict(y, false, NULL), fg_softmax(y)));
    fgt_ok(fg_trace_error(trace, &err));
    fgi_free(options);
    fg_trace_destroy(trace);
}

/* As in PyTorch's modules; running statistics are buffers, which are saved with the model. */
static void names_and_kinds_of_variables(void **state)
{
    static const struct {
        const char *model, *options;
        const char *names[11];
    } rows[] = {{"linear", NULL, {"fc.weight", "fc.bias"}},
                {"mlp",
                 "{hidden: [3, 4]}",
                 {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"}},
                {"lenet",
                 NULL,
                 {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc1.weight",
                  "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_module *root = root_of(0);
        const fg_model_options o = {.name = rows[i].model,
                                    .options = rows[i].options,
                                    .input = {FG_U8, 2, {8, 8}},
                                    .outputs = 2};
        size_t count = 0;
        assert_non_null(fg_model_create(root, &o));
        for (; rows[i].names[count] != NULL; count++)
            assert_string_equal(fg_variable_name(fg_module_variable_at(root, count)),
                                rows[i].names[count]);
        assert_int_equal(fg_module_variable_count(root), count);
        fg_module_destroy(root);
    }
}

static void statistics_of_norms_are_buffers(void **state)
{
    static const char *const names[] = {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
                                        "bn.num_batches_tracked"};
    (void)state;
    fg_module *root = root_of(0);
    (void)fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 2});
    for (size_t i = 0; i < 5; i++) {
        const fg_variable *v = fg_module_variable_at(root, i);
        assert_string_equal(fg_variable_name(v), names[i]);
        assert_int_equal(fg_variable_kind_of(v), i < 2 ? FG_PARAMETER : FG_BUFFER);
    }
    fg_module_destroy(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_and_kinds_of_variables),
    cmocka_unit_test(statistics_of_norms_are_buffers),
    cmocka_unit_test(residual_nets_have_18_layers),
    cmocka_unit_test(models_are_those_of_their_row),
    cmocka_unit_test(options_of_the_mlp_have_an_effect),
    cmocka_unit_test(activations_are_the_operations_with_their_names),
    cmocka_unit_test(options_of_the_cross_entropy),
    cmocka_unit_test(wrong_class_weights_are_refused),
    cmocka_unit_test(losses_of_classes_are_their_functions),
    cmocka_unit_test(losses_of_numbers_are_their_functions),
    cmocka_unit_test(wrong_options_of_losses_are_refused),
    cmocka_unit_test(quantiles_are_outputs),
};
FGT_MAIN(tests)
