/* test_optim_groups.c - the options of groups of parameters, and errors; updates of several
 * parameters at once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/optim.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "optim/optimizer.h"

/* A model with the names of a Transformer. */
static fg_module *blocks_of(void)
{
    static const char *const names[] = {"wte.weight",    "h.0.ln.weight",   "h.0.attn.weight",
                                        "h.1.ln.weight", "h.1.attn.weight", "ln_f.weight",
                                        "head.weight",   "head.bias"};
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const bool is_vector = strstr(names[i], "ln") != NULL || strstr(names[i], "bias") != NULL;
        const fg_type type = {FG_F32, is_vector ? 1 : 2, {3, is_vector ? 0 : 2}};
        assert_non_null(fg_module_variable(root, names[i], &type, NULL));
    }
    return root;
}

static const fg_string_pair patterns[] = {
    {"h.*", "{betas: [0.8, 0.9]}"}, {"head.*", "{lr: 1e-2}"}, {"*.ln.*", "{weight_decay: 0.3}"}};
static const struct {
    double lr, decay, beta1; /* lr before a layer decay of 0.5 */
    int above;
} expected[] = {{0.1, 0.2, 0.9, 3}, {0.1, 0.3, 0.8, 2}, {0.1, 0.2, 0.8, 2},  {0.1, 0.3, 0.8, 1},
                {0.1, 0.2, 0.8, 1}, {0.1, 0, 0.9, 0},   {0.01, 0.2, 0.9, 0}, {0.01, 0, 0.9, 0}};

static void groups_have_their_options(void **state)
{
    fg_error err = {0};
    fg_module *root = blocks_of();
    fg_optimizer *o = fg_optimizer_named(root, "adamw", "{lr: 0.1, weight_decay: 0.2}");
    fg_optimizer_groups groups = {
        .groups = {patterns, 3}, .no_decay = "bias_and_norm", .layer_decay = 0.5};
    fgt_ok(fg_optimizer_set_groups(o, &groups, &err));
    fg_optimizer_set_lr(o, 0.2); /* all are doubled */
    for (size_t i = 0; i < 8; i++) {
        const fgi_group *g = fgi_optimizer_group(o, i);
        const double lr = 2 * expected[i].lr * pow(0.5, expected[i].above);
        const fgi_number *now = &g->scalars.lr;
        fgt_close("lr", (double)now->high.value.f32 + (double)now->low.value.f32, lr, 0, 1e-12);
        assert_true(g->hyper.weight_decay == expected[i].decay);
        assert_true(g->hyper.momentum == expected[i].beta1);
    }
    char text[512];
    assert_string_equal(fg_optimizer_describe_groups(o, &groups, text, sizeof text),
                        "'h.*' {betas: [0.8, 0.9]}: 4 parameters (18 elements); 'head.*' {lr: "
                        "1e-2}: 2 parameters (9 elements); '*.ln.*' {weight_decay: 0.3}: 2 "
                        "parameters (6 elements); no weight decay: 4 parameters (12 elements); "
                        "layer_decay: learning rates from 0.125 to 1 times optimizer.lr");
    fg_module_destroy(root);
}

static const struct {
    const char *key, *value;
    double layer_decay;
    const char *lr, *says;
} wrong[] = {
    {"body.*", "{lr: 1}", 1, "0.1", "groups: 'body.*' matches no parameter"},
    {"h.*", "{lrr: 1}", 1, "0.1", "unknown option 'lrr'"},
    {"h.*", "{lr: -1}", 1, "0.1", "expected a number, 0 or greater, or auto"},
    {"h.*", "lr", 1, "0.1", "expected {OPTION: VALUE, ...}, got 'lr'"},
    {"h.*", "{lr: 1}", 1, "0", "the learning rate of a group is a multiple"},
    {"h.*", "{lr: 1}", 1.5, "0.1", "layer_decay: expected 0 < layer_decay <= 1, got 1.5"},
    {"h.*", "{nesterov: true}", 1, "0.1", "nesterov: requires momentum greater than 0"},
};

static void wrong_groups_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const fg_string_pair pair = {wrong[i].key, wrong[i].value};
        const fg_optimizer_groups groups = {.groups = {&pair, 1},
                                            .layer_decay = wrong[i].layer_decay};
        char options[32];
        fg_error err = {0};
        fg_module *root = blocks_of();
        (void)snprintf(options, sizeof options, "{lr: %s}", wrong[i].lr);
        fg_optimizer *o = fg_optimizer_named(root, "sgd", options);
        assert_int_not_equal(fg_optimizer_set_groups(o, &groups, &err), FG_OK);
        if (strstr(err.message, wrong[i].says) == NULL)
            fail_msg("%s", err.message);
        assert_true(fgi_optimizer_group(o, 0) == &o->base); /* as before */
        fg_module_destroy(root);
    }
}

static size_t updated_together;

/* Half of each parameter; the gradients become the moments. */
static void halves(const fg_update *const *updates, const fg_tensor *parameters,
                   const fg_tensor *gradients, size_t count, fg_tensor *out)
{
    updated_together = count;
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(fg_update_name(updates[i]), i == 0 ? "head.weight" : "head.bias");
        fg_update_set_moment(updates[i], 0, gradients[i]);
        out[i] = fg_mul_scalar(parameters[i], 0.5);
    }
}

static void parameters_can_be_updated_together(void **state)
{
    static const fg_optimizer_entry row = {.entry = {.name = "halves", .help = "halves them"},
                                           .moments = {"last"},
                                           .update_all = halves};
    fg_module *root = blocks_of();
    fg_optimizer *o = fg_optimizer_create(root, &row, NULL);
    fg_error err = {0};
    fg_trace *trace = NULL;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_tensor weight = fg_variable_value(trace, fg_module_find(root, "head.weight"));
    const fg_tensor bias = fg_variable_value(trace, fg_module_find(root, "head.bias"));
    fg_optimizer_minimize(o, fg_add(fg_sum(weight, 0, NULL), fg_sum(bias, 0, NULL)));
    fgt_ok(fg_trace_error(trace, &err));
    assert_int_equal(updated_together, 2);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(groups_have_their_options),
    cmocka_unit_test(wrong_groups_are_refused),
    cmocka_unit_test(parameters_can_be_updated_together),
};
FGT_MAIN(tests)
