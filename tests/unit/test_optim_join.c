/* test_optim_join.c - several optimizers as one: who trains what, the names of their variables,
 * their learning rates, and mistakes. Without a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <string.h>
#include <fulgurite/fulgurite.h>

#include "optim/optimizer.h"

static fg_module *model_of(void)
{
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 3, .out = 2});
    (void)fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 2});
    return root;
}

static const char *const of_norm[] = {"bn.*"}, *const of_layer[] = {"fc.weight", "fc.*"},
                         *const of_all[] = {"*"}, *const of_none[] = {"cf.*"};

/* An empty pattern trains the rest. */
static fg_optimizer *join_two(fg_module *root, fg_strings of_first, fg_strings of_second)
{
    const fg_schedule step = {.name = "step", .text = "{step_size: 5, gamma: 0.5}"};
    const fg_optimizer_part parts[] = {
        {.name = "norm",
         .optimizer = fg_adam_create(root, &(fg_adam_options){.lr = 0.5}),
         .parameters = of_first},
        {.name = "rest",
         .optimizer = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.25, .momentum = 0.5}),
         .parameters = of_second,
         .schedule = &step}};
    return fg_optimizer_join(root, parts, 2);
}

static void joined_optimizers_have_their_own_state(void **state)
{
    static const char *const names[] = {"optimizer.norm.step",
                                        "optimizer.norm.exp_avg.bn.weight",
                                        "optimizer.norm.exp_avg.bn.bias",
                                        "optimizer.norm.exp_avg_sq.bn.weight",
                                        "optimizer.norm.exp_avg_sq.bn.bias",
                                        "optimizer.rest.step",
                                        "optimizer.rest.momentum_buffer.fc.weight",
                                        "optimizer.rest.momentum_buffer.fc.bias"};
    fg_error err = {0};
    fg_module *root = model_of();
    fg_optimizer *o = join_two(root, (fg_strings){of_norm, 1}, (fg_strings){0});
    fgt_ok(fg_module_error(root, &err));
    assert_int_equal(fg_optimizer_variable_count(o), 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(fg_variable_name(fg_optimizer_variable_at(o, i)), names[i]);
    assert_null(fg_optimizer_variable_at(o, 8));
    assert_string_equal(fg_optimizer_name(o), "norm: adam, rest: sgd");
    assert_string_equal(fg_optimizer_name(fg_optimizer_part_at(o, 1)), "sgd");
    assert_string_equal(fg_optimizer_part_name(o, 1), "rest");
    assert_int_equal(fg_optimizer_part_count(o), 2);
    assert_null(fg_optimizer_part_at(o, 2));
    assert_int_equal(fg_optimizer_parameter_count(o), 4);
    assert_string_equal(fg_variable_name(fg_optimizer_parameter_at(o, 1)), "bn.bias");
    assert_string_equal(fg_variable_name(fg_optimizer_parameter_at(o, 2)), "fc.weight");
    assert_null(fg_optimizer_parameter_at(o, 4));
    fg_module_destroy(root);
}

static void joined_optimizers_keep_the_ratio_of_their_learning_rates(void **state)
{
    fg_error err = {0};
    fg_module *root = model_of();
    fg_optimizer *o = join_two(root, (fg_strings){of_norm, 1}, (fg_strings){of_layer, 2});
    fgt_ok(fg_module_error(root, &err));
    const fg_optimizer *norm = fg_optimizer_part_at(o, 0), *rest = fg_optimizer_part_at(o, 1);
    fgt_ok(fg_optimizer_set_schedule(o, NULL, 10, &err));
    fg_optimizer_begin_step(o, 5); /* the second has its own schedule */
    assert_true(fg_optimizer_lr(o) == 0.5 && fg_optimizer_lr(norm) == 0.5);
    assert_true(fg_optimizer_lr(rest) == 0.125);
    fg_optimizer_set_lr(o, 1);
    assert_true(fg_optimizer_lr(norm) == 1 && fg_optimizer_lr(rest) == 0.25);
    fgi_optimizer_scale_lr(o, 2);
    assert_true(fg_optimizer_lr(norm) == 2 && fg_optimizer_lr(rest) == 0.5);
    fg_optimizer_set_step_lr(o, 0.25);
    assert_true(fg_optimizer_lr(norm) == 0.25 && fg_optimizer_lr(rest) == 0.125);
    fgi_optimizer_keep_place(o);
    fg_optimizer_begin_step(o, 0);
    assert_true(fg_optimizer_lr(rest) == 1);
    fgi_optimizer_return(o);
    assert_true(fg_optimizer_lr(norm) == 2 && fg_optimizer_lr(rest) == 0.5);
    fgt_ok(fg_optimizer_set_momentum(o, 0.75, &err));
    assert_true(fg_optimizer_momentum(norm) == 0.75 && fg_optimizer_momentum(rest) == 0.75);
    assert_int_equal(fg_optimizer_set_groups(o, &(fg_optimizer_groups){0}, &err), FG_EINVAL);
    fgt_ok(fg_optimizer_set_groups(fg_optimizer_part_at(o, 1),
                                   &(fg_optimizer_groups){.no_decay = "bias_and_norm"}, &err));
    fg_module_destroy(root);
}

static void every_parameter_has_one_optimizer(void **state)
{
    static const struct {
        fg_strings first, second;
        const char *message;
    } rows[] = {
        {{of_norm, 1},
         {of_layer, 1},
         "join: no optimizer trains 'fc.bias': add a pattern that "
         "matches it, such as 'fc.*', or leave the patterns of one "
         "optimizer empty: it trains the rest"},
        {{of_norm, 1},
         {of_all, 1},
         "join: 'norm' and 'rest' both train 'bn.weight': narrow the "
         "patterns of one of them"},
        {{of_none, 1}, {0}, "join: 'cf.*' of 'norm' matches no parameter"},
        {{0}, {0}, "join: 'norm' and 'rest' have no patterns: only one can train the rest"},
        {{of_all, 1}, {0}, "join: 'rest' has no parameters left to train"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_module *root = model_of();
        assert_null(join_two(root, rows[i].first, rows[i].second));
        assert_int_not_equal(fg_module_error(root, &err), FG_OK);
        assert_true(strncmp(err.message, rows[i].message, strlen(rows[i].message)) == 0);
        fg_module_destroy(root);
    }
}

static void parts_are_checked(void **state)
{
    const char *const messages[] = {
        "join: 'a.b': a name has 1 to 32 letters, digits and '_'",
        "join: '': a name has 1 to 32 letters, digits and '_'",
        "join: 'a': expected a new optimizer of this root that is not joined yet",
        "join: 'a': every is -1: expected 1 or more",
        "join: 'a' and 'b' have the same name or optimizer",
        "join: 0 optimizers: expected 1 to 8"};
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        fg_error err = {0};
        fg_module *root = model_of(), *other = model_of();
        fg_optimizer *o = fg_sgd_create(i == 2 ? other : root, NULL);
        const fg_optimizer_part parts[] = {{.name = i == 0   ? "a.b"
                                                    : i == 1 ? NULL
                                                             : "a",
                                            .optimizer = o,
                                            .every = i == 3 ? -1 : 0},
                                           {.name = "b", .optimizer = o}};
        assert_null(fg_optimizer_join(root, parts, i == 5 ? 0 : 2));
        assert_int_equal(fg_module_error(root, &err), FG_EINVAL);
        assert_string_equal(err.message, messages[i]);
        fg_module_destroy(root);
        fg_module_destroy(other);
    }
}

static fg_status create_and_join(void *self, fg_error *err)
{
    fg_module *root = NULL;
    fg_status status = fg_module_create(NULL, 0, &root, err);
    (void)self;
    if (status != FG_OK)
        return status;
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 3, .out = 2});
    (void)fg_linear_create(root, "bn", &(fg_linear_options){.in = 3, .out = 2});
    (void)join_two(root, (fg_strings){of_norm, 1}, (fg_strings){0});
    status = fg_module_error(root, err);
    fg_module_destroy(root);
    return status;
}

static void joining_survives_failing_allocations(void **state)
{
    fgt_fault_loop(create_and_join, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(joined_optimizers_have_their_own_state),
    cmocka_unit_test(joined_optimizers_keep_the_ratio_of_their_learning_rates),
    cmocka_unit_test(every_parameter_has_one_optimizer),
    cmocka_unit_test(parts_are_checked),
    cmocka_unit_test(joining_survives_failing_allocations),
};
FGT_MAIN(tests)
