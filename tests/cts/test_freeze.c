/* test_freeze.c - which parameters an update changes: frozen parameters, those that the loss does
 * not depend on, those that are unfrozen later. Compared with Adam computed in double.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

static fg_client *client;
static fg_trace *trace;
static char warnings[2048];
static int warning_count;

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level != FG_LOG_WARNING)
        return;
    warning_count++;
    (void)snprintf(warnings, sizeof warnings, "%s", line);
}

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_client_options options = {.accelerator = "cpu",
                                       .cache_dir = fgt_cache(fgt_temp_folder())};
    fgt_ok(fg_client_open(&options, &client, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    fg_log_set(keep_warning, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    fg_trace_destroy(trace);
    fg_client_close(client);
    return fgi_alloc_live() == 0 ? 0 : 1;
}

/* ---- two parameters -------------------------------------------------------------------------- */

typedef struct pair {
    fg_module *root;
    fg_variable *a, *b; /* f32[], 1 and 2 */
    fg_optimizer *optimizer;
} pair;

static fg_variable *parameter(fg_module *root, const char *name, double value)
{
    const fg_variable_options options = {.init = {FG_INIT_CONSTANT, value}};
    return fg_module_variable(root, name, &(fg_type){.dtype = FG_F32}, &options);
}

static const double lr = 0.05, decay = 0.1;

/* kind: "sgd" with momentum, "adam" or "adamw". */
static pair pair_of(const char *kind, const char *frozen)
{
    fg_error err = {0};
    pair p;
    warning_count = 0;
    warnings[0] = '\0';
    fgt_ok(fg_module_create("net", 0, &p.root, &err));
    p.a = parameter(p.root, "a", 1);
    p.b = parameter(p.root, "b", 2);
    if (frozen != NULL)
        fgt_ok(fg_module_freeze(p.root, frozen, NULL, &err));
    if (strcmp(kind, "sgd") == 0)
        p.optimizer = fg_sgd_create(
            p.root, &(fg_sgd_options){.lr = lr, .momentum = 0.9, .weight_decay = decay});
    else if (strcmp(kind, "adam") == 0)
        p.optimizer = fg_adam_create(p.root, &(fg_adam_options){.lr = lr, .weight_decay = decay});
    else
        p.optimizer = fg_adamw_create(p.root, &(fg_adamw_options){.lr = lr, .weight_decay = decay});
    fgt_ok(fg_module_error(p.root, &err));
    return p;
}

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g, not %.9g", got, want);
}

static double value_of(const fg_variable *v)
{
    fg_error err = {0};
    float value = 0;
    fgt_ok(fg_variable_read(v, &value, sizeof value, &err));
    return (double)value;
}

/* 3 a + 0.5 b^2, where b only contributes if `with_b`; otherwise it is behind a stop_gradient. */
static fg_tensor loss_of(const pair *p, bool with_b)
{
    const fg_tensor a = fg_variable_value(trace, p->a), b = fg_variable_value(trace, p->b);
    const fg_tensor half = fg_mul_scalar(fg_square(b), 0.5);
    return fg_add(fg_mul_scalar(a, 3), with_b ? half : fg_stop_gradient(half));
}

static void step(const pair *p, bool with_b)
{
    fg_error err = {0};
    fg_optimizer_minimize(p->optimizer, loss_of(p, with_b));
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
}

/* Adam in double, as in PyTorch: t counts the updates of the parameter. */
typedef struct adam {
    double p, m, s;
    int t;
} adam;

static void adam_step(adam *x, double g)
{
    x->t++;
    g += decay * x->p;
    x->m = 0.9 * x->m + 0.1 * g;
    x->s = 0.999 * x->s + 0.001 * g * g;
    x->p -= lr * (x->m / (1 - pow(0.9, x->t))) / (sqrt(x->s / (1 - pow(0.999, x->t))) + 1e-8);
}

/* ---- no gradient ----------------------------------------------------------------------------- */

static void parameters_without_a_gradient_are_left_alone(void **state)
{
    (void)state;
    static const char *const kinds[] = {"sgd", "adam", "adamw"};
    for (int k = 0; k < 3; k++) {
        const pair p = pair_of(kinds[k], NULL);
        for (int i = 0; i < 4; i++)
            step(&p, false);
        assert_true(value_of(p.a) < 0.9);
        assert_true(value_of(p.b) == 2);
        assert_int_equal(warning_count, 1); /* not in every iteration */
        assert_non_null(strstr(warnings, "test_freeze.c:"));
        assert_non_null(strstr(warnings, "depend on 1 of 2 parameters, which are left unchanged: "
                                         "'net.b'"));
        fg_module_destroy(p.root);
    }
}

/* A gradient of 0 is a gradient: weight decay applies. */
static void gradients_of_zero_are_gradients(void **state)
{
    (void)state;
    fg_error err = {0};
    const pair p = pair_of("sgd", NULL);
    const fg_tensor b = fg_variable_value(trace, p.b);
    fg_optimizer_minimize(p.optimizer, fg_add(fg_variable_value(trace, p.a), fg_mul_scalar(b, 0)));
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    near(value_of(p.b), 2 - lr * decay * 2, 1e-6);
    assert_int_equal(warning_count, 0);
    fg_module_destroy(p.root);
}

/* b has a gradient in every second step: its bias correction only counts those. */
static void each_parameter_counts_its_own_updates(void **state)
{
    (void)state;
    const pair p = pair_of("adam", NULL);
    adam a = {.p = 1}, b = {.p = 2};
    for (int i = 0; i < 8; i++) {
        step(&p, i % 2 == 1);
        adam_step(&a, 3);
        if (i % 2 == 1)
            adam_step(&b, b.p);
    }
    near(value_of(p.a), a.p, 1e-5);
    near(value_of(p.b), b.p, 1e-5);
    fg_module_destroy(p.root);
}

static void losses_that_train_nothing_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    const pair p = pair_of("adam", NULL);
    const fg_tensor loss = fg_stop_gradient(loss_of(&p, true));
    const int line = __LINE__ + 1;
    fg_optimizer_minimize(p.optimizer, loss);
    assert_int_equal(fg_run(trace, NULL, 0, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "adam: the loss does not depend on any of the 2 parameters to "
                                     "be trained: 'net.a', 'net.b'");
    assert_int_equal(err.line, line);
    fgt_ok(fg_module_freeze(p.root, NULL, NULL, &err));
    fg_optimizer_minimize(p.optimizer, loss_of(&p, true));
    assert_int_equal(fg_run(trace, NULL, 0, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "adam: all 2 parameters are frozen");
    fg_module_destroy(p.root);
}

static void parameters_created_late_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    const pair p = pair_of("adam", NULL);
    const fg_variable_options buffer = {.kind = FG_BUFFER};
    (void)fg_module_variable(p.root, "seen", &(fg_type){.dtype = FG_F32}, &buffer);
    step(&p, true);
    fg_module *head = fg_module_child(p.root, "head");
    (void)parameter(head, "w", 1);
    const fg_tensor loss = loss_of(&p, true);
    const int line = __LINE__ + 1;
    fg_optimizer_minimize(p.optimizer, loss);
    assert_int_equal(fg_run(trace, NULL, 0, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "adam: parameter 'net.head.w' was created after the optimizer, which would "
                        "not train it\ncreate the optimizer after all layers");
    assert_int_equal(err.line, line);
    fg_module_destroy(p.root);
}

/* In the module's order, the new parameter comes before one that the optimizer has. */
static void parameters_created_late_in_an_early_layer_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    pair p = {0};
    fgt_ok(fg_module_create("net", 0, &p.root, &err));
    fg_module *early = fg_module_child(p.root, "early"), *late = fg_module_child(p.root, "late");
    p.a = parameter(early, "w", 1);
    p.b = parameter(late, "w", 2);
    p.optimizer = fg_adam_create(p.root, NULL);
    (void)parameter(early, "b", 3);
    fg_optimizer_minimize(p.optimizer, loss_of(&p, true));
    assert_int_equal(fg_run(trace, NULL, 0, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "adam: parameter 'net.early.b' was created after the "
                                     "optimizer, which would not train it\n"
                                     "create the optimizer after all layers");
    fg_module_destroy(p.root);
}

/* ---- freezing -------------------------------------------------------------------------------- */

static void frozen_parameters_have_no_moments_and_no_gradient(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text;
    const pair p = pair_of("adam", "*.b");
    assert_int_equal(fg_module_frozen_count(p.root), 1);
    assert_int_equal(fg_optimizer_variable_count(p.optimizer), 3); /* the step, a's two moments */
    fg_optimizer_minimize(p.optimizer, loss_of(&p, true));
    fgt_ok(fg_trace_text(trace, NULL, 0, &text, &err));
    assert_null(strstr(text, "square")); /* b is not even read */
    fg_free(text);
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    step(&p, true);
    assert_true(value_of(p.b) == 2);
    assert_int_equal(warning_count, 0);
    assert_int_equal(fg_optimizer_variable_count(p.optimizer), 3); /* nothing is missed */
    fg_module_destroy(p.root);
}

static void given_gradients_of_frozen_parameters_are_ignored(void **state)
{
    (void)state;
    fg_error err = {0};
    const pair p = pair_of("sgd", "*.b");
    const fg_tensor both[] = {fg_ones(trace, FG_F32, FG_SCALAR), fg_ones(trace, FG_F32, FG_SCALAR)};
    fg_optimizer_apply(p.optimizer, both, 2);
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    near(value_of(p.a), 1 - lr * (1 + decay), 1e-6);
    assert_true(value_of(p.b) == 2);
    const fg_tensor second[] = {{0}, fg_ones(trace, FG_F32, FG_SCALAR)};
    fgt_ok(fg_module_unfreeze(p.root, NULL, NULL, &err));
    fg_optimizer_apply(p.optimizer, second, 2);
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    near(value_of(p.a), 1 - lr * (1 + decay), 1e-6); /* an empty tensor skips a */
    near(value_of(p.b), 2 - lr * (1 + decay * 2), 1e-6);
    fg_module_destroy(p.root);
}

/* b is trained from the second step on: one step was missed. */
static void a_single_missed_step_counts(void **state)
{
    (void)state;
    fg_error err = {0};
    const pair p = pair_of("adam", "net.b");
    adam b = {.p = 2};
    step(&p, true);
    fgt_ok(fg_module_unfreeze(p.root, "net.b", NULL, &err));
    for (int i = 0; i < 3; i++) {
        step(&p, true);
        adam_step(&b, b.p);
    }
    near(value_of(p.b), b.p, 1e-5);
    fg_module_destroy(p.root);
}

/* The first momentum buffer of b is not dampened, however late it is: v = g, then
 * v = 0.9 v + g / 2. */
static void dampening_starts_after_the_first_update(void **state)
{
    (void)state;
    fg_error err = {0};
    pair p = {0};
    double b = 2, v = 0;
    fgt_ok(fg_module_create("net", 0, &p.root, &err));
    p.a = parameter(p.root, "a", 1);
    p.b = parameter(p.root, "b", 2);
    p.optimizer =
        fg_sgd_create(p.root, &(fg_sgd_options){.lr = lr, .momentum = 0.9, .dampening = 0.5});
    for (int i = 0; i < 4; i++) {
        step(&p, i > 0); /* the gradient of b is b */
        if (i > 0)
            v = i == 1 ? b : 0.9 * v + 0.5 * b;
        b -= lr * v;
    }
    near(value_of(p.b), b, 1e-5);
    fg_module_destroy(p.root);
}

/* If b is trained later, its Adam state starts then; if it is frozen in between, the state is kept.
 */
static void frozen_parameters_are_trained_later(void **state)
{
    (void)state;
    fg_error err = {0};
    const pair p = pair_of("adam", "net.b");
    adam a = {.p = 1}, b = {.p = 2};
    for (int i = 0; i < 12; i++) {
        const bool is_trained = i >= 5 && (i < 8 || i >= 10);
        if (is_trained)
            fgt_ok(fg_module_unfreeze(p.root, "*b", NULL, &err));
        else
            fgt_ok(fg_module_freeze(p.root, "*b", NULL, &err));
        step(&p, true);
        adam_step(&a, 3);
        if (is_trained)
            adam_step(&b, b.p);
    }
    assert_int_equal(b.t, 5);
    near(value_of(p.a), a.p, 1e-5);
    near(value_of(p.b), b.p, 1e-5);
    assert_int_equal(fg_optimizer_variable_count(p.optimizer), 6);
    fg_module_destroy(p.root);
}

static void patterns_that_match_nothing_name_what_is_near(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t count = -1;
    fg_module *root;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_linear_create(root, "encoder", &(fg_linear_options){.in = 3, .out = 2});
    (void)fg_linear_create(root, "head", &(fg_linear_options){.in = 2, .out = 4});
    assert_int_equal(fg_module_freeze(root, "encodr.*", &count, &err), FG_ENOTFOUND);
    assert_int_equal(count, 0);
    assert_non_null(strstr(err.message, "freeze 'encodr.*': matches no parameter or buffer"));
    assert_non_null(strstr(err.message, "nearest names are 'encoder.weight', 'encoder.bias'"));
    assert_int_equal(fg_module_frozen_count(root), 0);
    fgt_ok(fg_module_freeze(root, "encoder.*", &count, &err));
    assert_int_equal(count, 8);
    fgt_ok(fg_module_freeze(root, "*.bias", &count, &err));
    assert_int_equal(count, 6);
    assert_int_equal(fg_module_frozen_count(root), 12);
    fgt_ok(fg_module_unfreeze(root, NULL, &count, &err));
    assert_int_equal(count, 20);
    assert_int_equal(fg_module_frozen_count(root), 0);
    fg_module_destroy(root);
}

/* Buffers are frozen too, but are not counted. */
static void only_parameters_are_counted(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t count = -1;
    fg_module *root;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fgt_ok(fg_module_freeze(root, NULL, &count, &err)); /* nothing at all */
    assert_int_equal(count, 0);
    (void)fg_batch_norm_create(root, "norm", &(fg_batch_norm_options){.channels = 3});
    fgt_ok(fg_module_freeze(root, "norm.*", &count, &err));
    assert_int_equal(count, 6);
    assert_int_equal(fg_module_frozen_count(root), 6);
    fgt_ok(fg_module_freeze(root, "*.running_*", &count, &err));
    assert_int_equal(count, 0);
    assert_false(fg_variable_is_trainable(fg_module_find(root, "norm.running_var")));
    fg_module_destroy(root);
}

static void six_names_are_suggested(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    assert_int_equal(fg_module_freeze(root, "w", NULL, &err), FG_ENOTFOUND);
    assert_string_equal(err.message, "freeze 'w': matches no parameter or buffer of the module; "
                                     "the nearest names are none\n"
                                     "'layer1.*' matches everything below layer1");
    static const char *const names[] = {"w1", "w2", "w3", "w4", "v1", "v2", "v3"};
    for (int i = 0; i < 7; i++)
        (void)parameter(root, names[i], 1);
    assert_int_equal(fg_module_freeze(root, "w?.*", NULL, &err), FG_ENOTFOUND);
    assert_string_equal(err.message, "freeze 'w?.*': matches no parameter or buffer of the module; "
                                     "the nearest names are 'w1', 'w2', 'w3', 'w4', 'v1', 'v2'\n"
                                     "'layer1.*' matches everything below layer1");
    (void)parameter(root, "y0123456", 1);
    (void)parameter(root, "x5", 1);
    assert_int_equal(fg_module_freeze(root, "x?123456", NULL, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "the nearest names are 'x5', 'w1', ")); /* begin with x */
    fg_module_destroy(root);
}

/* Frozen ones are no reason for a warning, and not listed in it. */
static void frozen_parameters_are_not_listed(void **state)
{
    (void)state;
    fg_error err = {0};
    pair p = {0};
    warning_count = 0;
    fgt_ok(fg_module_create("net", 0, &p.root, &err));
    p.a = parameter(p.root, "a", 1);
    (void)parameter(p.root, "frozen", 1);
    p.b = parameter(p.root, "b", 2);
    fgt_ok(fg_module_freeze(p.root, "*.frozen", NULL, &err));
    p.optimizer = fg_sgd_create(p.root, NULL);
    step(&p, true);
    assert_int_equal(warning_count, 0);
    step(&p, false);
    assert_int_equal(warning_count, 1);
    if (strstr(warnings, "depend on 1 of 3 parameters, which are left unchanged: 'net.b'\n") ==
        NULL)
        fail_msg("%s", warnings);
    fg_module_destroy(p.root);
}

/* A warning lists four names. */
static void missing_gradients_are_listed(void **state)
{
    (void)state;
    for (int extra = 4; extra < 6; extra++) {
        fg_error err = {0};
        pair p = {0};
        char expected[256];
        warning_count = 0;
        fgt_ok(fg_module_create("net", 0, &p.root, &err));
        p.a = parameter(p.root, "a", 1);
        p.b = parameter(p.root, "b", 2);
        for (int i = 1; i < extra; i++)
            (void)parameter(p.root, (char[]){'c', (char)('0' + i), '\0'}, 1);
        p.optimizer = fg_sgd_create(p.root, NULL);
        step(&p, false);
        assert_int_equal(warning_count, 1);
        (void)snprintf(expected, sizeof expected,
                       "sgd: the loss does not depend on %d of %d parameters, which are left "
                       "unchanged: 'net.b', 'net.c1', 'net.c2', 'net.c3'%s\nfreeze them "
                       "(fg_module_freeze) if that is intended",
                       extra, extra + 1, extra > 4 ? ", ..." : "");
        if (strstr(warnings, expected) == NULL)
            fail_msg("%s", warnings);
        fg_module_destroy(p.root);
    }
}

static const struct {
    const char *pattern;
    bool is_frozen;
} norm_patterns[] = {{"norm.*", true},
                     {"norm.weight", false},
                     {"norm.running_mean", true},
                     {"norm.running_var", false}};

/* Frozen statistics are used and not updated: they are 0 and 1 initially, so y equals x. If only
 * the weights are frozen, statistics are updated as usual. */
static void frozen_batch_norm_keeps_its_statistics(void **state)
{
    (void)state;
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {2, 1}};
    fg_trace_set_training(trace, true);
    for (size_t i = 0; i < sizeof norm_patterns / sizeof norm_patterns[0]; i++) {
        fg_error err = {0};
        fg_module *root;
        float y[2], mean;
        fg_array *x, *out;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        const fg_batch_norm *norm =
            fg_batch_norm_create(root, "norm", &(fg_batch_norm_options){.channels = 1});
        fgt_ok(fg_module_freeze(root, norm_patterns[i].pattern, NULL, &err));
        fgt_ok(fg_array_create(client, &type, (float[]){4, 8}, &x, &err));
        const fg_tensor value = fg_batch_norm_apply(norm, fg_input(trace, x));
        fgt_ok(fg_run(trace, &value, 1, &out, &err));
        fgt_ok(fg_array_read(out, y, sizeof y, &err));
        fgt_ok(
            fg_variable_read(fg_module_find(root, "norm.running_mean"), &mean, sizeof mean, &err));
        near((double)y[0], norm_patterns[i].is_frozen ? 4 : -1, 1e-3);
        near((double)mean, norm_patterns[i].is_frozen ? 0 : 0.6, 1e-6);
        fg_array_release(out);
        fg_array_release(x);
        fg_module_destroy(root);
    }
    fg_trace_set_training(trace, false);
}

/* If a gradient is missing, the guard checks the others and reports the right one. */
static void bad_gradients_are_named_beside_missing_ones(void **state)
{
    (void)state;
    fg_error err = {0};
    const pair p = pair_of("adam", NULL);
    fg_optimizer *o = p.optimizer;
    fgt_ok(fg_optimizer_set_loss_scale(o, NULL, &err));
    const fg_tensor b = fg_variable_value(trace, p.b);
    fg_optimizer_minimize(o, fg_log(fg_mul_scalar(b, 0))); /* infinite; a has none */
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    assert_true(value_of(p.a) == 1 && value_of(p.b) == 2);
    for (size_t i = 0; i < fg_optimizer_variable_count(o); i++)
        if (strcmp(fg_variable_name(fg_optimizer_variable_at(o, i)), "optimizer.loss_scale") == 0)
            assert_true(value_of(fg_optimizer_variable_at(o, i)) == 32768);
    fg_module_destroy(p.root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parameters_without_a_gradient_are_left_alone),
    cmocka_unit_test(gradients_of_zero_are_gradients),
    cmocka_unit_test(each_parameter_counts_its_own_updates),
    cmocka_unit_test(losses_that_train_nothing_are_refused),
    cmocka_unit_test(parameters_created_late_are_refused),
    cmocka_unit_test(parameters_created_late_in_an_early_layer_are_refused),
    cmocka_unit_test(frozen_parameters_have_no_moments_and_no_gradient),
    cmocka_unit_test(frozen_parameters_are_trained_later),
    cmocka_unit_test(given_gradients_of_frozen_parameters_are_ignored),
    cmocka_unit_test(a_single_missed_step_counts),
    cmocka_unit_test(dampening_starts_after_the_first_update),
    cmocka_unit_test(patterns_that_match_nothing_name_what_is_near),
    cmocka_unit_test(only_parameters_are_counted),
    cmocka_unit_test(six_names_are_suggested),
    cmocka_unit_test(missing_gradients_are_listed),
    cmocka_unit_test(frozen_parameters_are_not_listed),
    cmocka_unit_test(frozen_batch_norm_keeps_its_statistics),
    cmocka_unit_test(bad_gradients_are_named_beside_missing_ones),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
