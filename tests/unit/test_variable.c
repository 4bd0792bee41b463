/* test_variable.c - variables without a plugin: the values that a trace assigns, types, options,
 * initial values, places.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "trace/program.h"
#include "train/weights/weight_files.h"

static const fg_type f32_34 = {.dtype = FG_F32, .rank = 2, .dim = {3, 4}};
static const fg_type f32_4 = {.dtype = FG_F32, .rank = 1, .dim = {4}};

static fg_trace *trace_of(fg_client *client)
{
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    return trace;
}

static fg_variable *variable_of(void)
{
    fg_error err = {0};
    fg_variable *variable = NULL;
    fgt_ok(fg_variable_create("v", &f32_34, NULL, &variable, &err));
    return variable;
}

static bool has_value_of(fg_tensor a, fg_tensor b)
{
    return fgi_hash_equal(fgi_node_of(a)->hash, fgi_node_of(b)->hash);
}

/* Read or not in between. A gradient is that by the value which the loss was computed from. */
static void variables_have_the_value_assigned_last(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const fg_tensor m = fgi_trace_feed(trace, 0, &f32_34);
    fg_variable *v = variable_of(), *other = variable_of();
    const fg_tensor a = fg_exp(m), b = fg_tanh(m), c = fg_sin(m);
    (void)fg_variable_value(trace, v);
    fg_assign(v, a);
    const fg_tensor first = fg_variable_value(trace, v);
    assert_true(has_value_of(first, a));
    fg_assign(v, b);
    const fg_tensor second = fg_variable_value(trace, v);
    assert_true(has_value_of(second, b));
    fg_assign(v, c);
    fg_assign(v, a);
    fg_assign(v, c);
    assert_true(has_value_of(fg_variable_value(trace, v), c));
    assert_ptr_equal(fg_tensor_trace(fg_exp(fg_variable_value(trace, v))), trace); /* no loss */
    const fg_tensor losses[] = {fg_sum(fg_square(first), 0, NULL), fg_sum(fg_cos(second), 0, NULL)};
    const fg_tensor wrt[] = {first, second};
    for (int i = 0; i < 2; i++) {
        fg_tensor by_variable[2], by_value;
        fg_grad_variables(losses[i], (fg_variable *[]){v, other}, 2, by_variable);
        fg_grad(losses[i], &wrt[i], 1, &by_value);
        const fg_tensor zeros = fg_zeros(trace, FG_F32, FG_DIMS(3, 4));
        assert_true(has_value_of(by_variable[0], by_value));
        assert_true(has_value_of(by_variable[1], zeros) && !has_value_of(by_value, zeros));
    }
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
    fg_variable_destroy(v);
    fg_variable_destroy(other);
}

static void assigned_values_have_the_type_of_the_variable(void **state)
{
    static const struct {
        fg_type type;
        fg_status status;
        const char *text;
    } rows[] = {{{FG_F32, 2, {3, 5}}, FG_ESHAPE, "f32[3,5]"},
                {{FG_F32, 2, {2, 4}}, FG_ESHAPE, "f32[2,4]"},
                {{FG_F32, 3, {3, 4, 1}}, FG_ESHAPE, "f32[3,4,1]"},
                {{FG_F32, 1, {3}}, FG_ESHAPE, "f32[3]"},
                {{FG_F64, 2, {3, 4}}, FG_EDTYPE, "f64[3,4]"}};
    (void)state;
    fg_trace *trace = trace_of(NULL);
    fg_variable *v = variable_of();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        char expected[96];
        const fg_type *type = &rows[i].type;
        fg_assign(v, fg_zeros(trace, type->dtype, type->rank, type->dim));
        assert_int_equal(fg_trace_error(trace, &err), rows[i].status);
        (void)snprintf(expected, sizeof expected,
                       "assign: variable 'v' is f32[3,4], but the value is %s", rows[i].text);
        assert_string_equal(err.message, expected);
        fg_trace_reset(trace);
    }
    fg_trace_destroy(trace);
    fg_variable_destroy(v);
}

static const struct {
    fg_type type;
    fg_variable_options options;
    const char *message;
} bad_variables[] = {
    {{FG_F32, 2, {3, -1}}, {0}, "a variable requires a name, a dtype and a shape"},
    {{FG_DTYPE_NONE, 1, {3}}, {0}, "a variable requires a name, a dtype and a shape"},
    {{FG_F32, 9, {1}}, {0}, "a variable requires a name, a dtype and a shape"},
    {{FG_F32, 2, {INT64_MAX, 4}}, {0}, "a variable requires a name, a dtype and a shape"},
    {{FG_F32, 2, {3, 4}},
     {.file_axis = {1, 1}},
     "variable 'v': file_axis is not a permutation of 0..1"},
    {{FG_F32, 2, {3, 4}},
     {.file_axis = {2, 0}},
     "variable 'v': file_axis is not a permutation of 0..1"},
    {{FG_F32, 2, {3, 4}},
     {.file_axis = {1, -1}},
     "variable 'v': file_axis is not a permutation of 0..1"},
    {{FG_S32, 1, {3}},
     {.init = {FG_INIT_CONSTANT, 0.5}},
     "variable 'v': s32 does not support this initial value"},
    {{FG_S32, 1, {3}},
     {.init = {FG_INIT_UNIFORM, 1}},
     "variable 'v': s32 does not support this initial value"},
    {{FG_S32, 1, {3}},
     {.init = {FG_INIT_NORMAL, 1}},
     "variable 'v': s32 does not support this initial value"},
};

static void variables_refuse_bad_options(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_variable *v = NULL;
    for (size_t i = 0; i < sizeof bad_variables / sizeof bad_variables[0]; i++) {
        assert_int_equal(
            fg_variable_create("v", &bad_variables[i].type, &bad_variables[i].options, &v, &err),
            FG_EINVAL);
        assert_string_equal(err.message, bad_variables[i].message);
        assert_null(v);
    }
}

static void variables_need_a_name_and_all_bytes(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_variable *v = NULL;
    assert_int_equal(fg_variable_create("", &f32_34, NULL, &v, &err), FG_EINVAL);
    assert_int_equal(fg_variable_create(NULL, &f32_34, NULL, &v, &err), FG_EINVAL);
    float four[5];
    fgt_ok(fg_variable_create("v", &f32_4, NULL, &v, &err));
    assert_int_equal(fg_variable_read(v, four, 20, &err), FG_EINVAL);
    assert_string_equal(err.message, "variable 'v' (f32[4]) has 16 bytes, but got 20");
    assert_int_equal(fg_variable_set(v, four, 12, &err), FG_EINVAL);
    assert_string_equal(err.message, "variable 'v' (f32[4]) has 16 bytes, but got 12");
    fg_variable_destroy(v);
}

/* No value is repeated after 2^16 others, and each is a function of its index, whichever thread
 * draws it. */
static void uniform_values_are_not_repeated(void **state)
{
    enum { COUNT = 200017 };
    static float value[COUNT];
    const fg_type type = {FG_F32, 1, {COUNT}};
    const fg_variable_options options = {.init = {FG_INIT_UNIFORM, 2}};
    fg_error err = {0};
    fg_variable *v = NULL;
    (void)state;
    fgt_ok(fg_variable_create("v", &type, &options, &v, &err));
    fgt_ok(fg_variable_read(v, value, sizeof value, &err));
    fg_variable_destroy(v);
    int same = 0;
    for (int i = 65536; i < COUNT; i++)
        same += value[i] == value[i - 65536];
    assert_true(same < 20);
    const fgi_key key = fgi_key_fold_text(fgi_key_from_seed(0), "v");
    for (int i = 0; i < COUNT; i++) {
        assert_true(value[i] >= -2 && value[i] < 2);
        assert_true(value[i] == 2 * (2 * fgi_rng_uniform(key, (uint64_t)i) - 1));
    }
}

/* A variance of a^2, values that differ from each other, and by all bits of the seed. */
static void normal_values_have_their_deviation(void **state)
{
    enum { COUNT = 100000 };
    static float value[2][COUNT];
    (void)state;
    const fg_type type = {FG_F32, 1, {COUNT}};
    for (uint64_t i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_variable *v = NULL;
        const fg_variable_options options = {.init = {FG_INIT_NORMAL, 3}, .seed = 7 + (i << 32)};
        fgt_ok(fg_variable_create("v", &type, &options, &v, &err));
        fgt_ok(fg_variable_read(v, value[i], sizeof value[i], &err));
        fg_variable_destroy(v);
    }
    double sum = 0, square = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += (double)value[0][i];
        square += (double)value[0][i] * (double)value[0][i];
    }
    fgt_close("mean", sum / COUNT, 0, 5 * 3 / sqrt(COUNT), 0);
    fgt_close("variance", square / COUNT, 9, 5 * 9 * sqrt(2.0 / COUNT), 0);
    assert_memory_not_equal(value[0], value[1], sizeof value[0]);
    assert_memory_not_equal(value[0], value[0] + 65536, (COUNT - 65536) * sizeof(float));
}

/* The place of the last change; none if it was changed without one. */
static void places_of_freezing_are_kept(void **state)
{
    (void)state;
    char expected[32];
    fg_variable *v = variable_of();
    assert_string_equal(fgi_variable_set_at(v), "");
    const int line = __LINE__ + 1;
    fg_variable_set_trainable(v, false);
    fg_variable_set_trainable(v, false); /* no change */
    (void)snprintf(expected, sizeof expected, "test_variable.c:%d", line);
    assert_non_null(strstr(fgi_variable_set_at(v), expected));
    assert_false(fg_variable_is_trainable(v));
    fgi_variable_set_trainable_at(v, true, NULL, 0);
    assert_string_equal(fgi_variable_set_at(v), "");
    assert_true(fg_variable_is_trainable(v));
    fg_variable_destroy(v);
}

/* Dimensions 2, 3 and 4 of files are 4, 2 and 3 of the variable: an order that is not its own
 * inverse. */
static void files_have_another_order(void **state)
{
    (void)state;
    enum { A = 2, B = 3, C = 4, ALL = A * B * C };
    fg_error err = {0};
    fg_variable *v = NULL;
    double file[ALL], *value = fgi_alloc(sizeof file);
    float narrow[ALL];
    assert_non_null(value);
    const fg_type type = {.dtype = FG_F64, .rank = 3, .dim = {C, A, B}};
    fgt_ok(
        fg_variable_create("v", &type, &(fg_variable_options){.file_axis = {1, 2, 0}}, &v, &err));
    const fg_type expected = {.dtype = FG_F64, .rank = 3, .dim = {A, B, C}};
    const fg_type found = fgi_file_type(v);
    assert_true(fg_type_equal(&found, &expected));
    for (int i = 0; i < ALL; i++) {
        file[i] = i / 3.0;
        narrow[i] = (float)i;
    }
    for (int i = 0; i < 2; i++) {
        fgt_ok(fgi_set_from_file(v, i == 0 ? FG_F32 : FG_F64, i == 0 ? (const void *)narrow : file,
                                 &err));
        fgt_ok(fg_variable_read(v, value, sizeof file, &err));
        for (int a = 0; a < A; a++)
            for (int b = 0; b < B; b++)
                for (int c = 0; c < C; c++) {
                    const int at = (a * B + b) * C + c;
                    const double number = i == 0 ? (double)narrow[at] : file[at];
                    assert_true(value[(c * A + a) * B + b] == number);
                }
    }
    void *block = value;
    fgt_ok(fgi_to_file_order(v, &block, &err));
    assert_memory_equal(block, file, sizeof file);
    fgi_free(block);
    fg_variable_destroy(v);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_have_another_order),
    cmocka_unit_test(variables_have_the_value_assigned_last),
    cmocka_unit_test(assigned_values_have_the_type_of_the_variable),
    cmocka_unit_test(variables_refuse_bad_options),
    cmocka_unit_test(variables_need_a_name_and_all_bytes),
    cmocka_unit_test(normal_values_have_their_deviation),
    cmocka_unit_test(uniform_values_are_not_repeated),
    cmocka_unit_test(places_of_freezing_are_kept),
};
FGT_MAIN(tests)
