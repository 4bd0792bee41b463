/* test_trace_grad.c - gradients with respect to values and variables, on a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include "trace_values.h"

/* ---- gradients with respect to values
 * --------------------------------------------------------------------
 */

static void assert_scalars(fg_trace *trace, const fg_tensor *values, const float *want,
                           size_t count)
{
    fg_error err = {0};
    fg_array *array[8] = {NULL};
    assert_true(count <= 8);
    fgt_ok(fg_run(trace, values, count, array, &err));
    for (size_t i = 0; i < count; i++) {
        float got;
        fgt_ok(fg_array_read(array[i], &got, sizeof got, &err));
        values_assert(&got, &want[i], 1);
        fg_array_release(array[i]);
    }
}

/* loss = 2 h1 + 3 h2^2 at h1 = h2 = relu(2): with respect to each of them, and to the value that
 * both are computed from. */
static void equal_values_have_derivatives_of_their_own(void **client)
{
    fg_trace *trace = values_trace(*client);
    fg_array *two = values_array(*client, &scalar, (float[]){2});
    const fg_tensor a = fg_input(trace, two), h1 = fg_relu(a), h2 = fg_relu(a);
    const fg_tensor loss = fg_add(fg_mul_scalar(h1, 2), fg_mul_scalar(fg_square(h2), 3));
    const fg_tensor wrt[] = {h1, h2, a};
    fg_tensor d[3];
    fg_grad(loss, wrt, 3, d);
    assert_scalars(trace, d, (float[]){2, 12, 14}, 3);
    fg_array_release(two);
    fg_trace_destroy(trace);
}

/* The same further up: (h1 + a)^2 and (a + h2)^2 are equal too. */
static void what_equal_values_lead_to_is_kept_apart(void **client)
{
    fg_trace *trace = values_trace(*client);
    fg_array *two = values_array(*client, &scalar, (float[]){2});
    const fg_tensor a = fg_input(trace, two), h1 = fg_relu(a), h2 = fg_relu(a);
    const fg_tensor s1 = fg_square(fg_add(h1, a)), s2 = fg_square(fg_add(a, h2));
    const fg_tensor loss = fg_add(s1, fg_mul_scalar(s2, 10)), wrt[] = {h1, h2, s1, s2, a};
    fg_tensor d[5];
    fg_grad(loss, wrt, 5, d);
    assert_scalars(trace, d, (float[]){8, 80, 1, 10, 176}, 5);
    fg_array_release(two);
    fg_trace_destroy(trace);
}

static void constants_have_derivatives(void **client)
{
    fg_trace *trace = values_trace(*client);
    const fg_tensor one = fg_ones(trace, FG_F32, FG_SCALAR);
    const fg_tensor same = fg_ones(trace, FG_F32, FG_SCALAR), wrt[] = {one, same};
    const fg_tensor loss = fg_add(fg_mul_scalar(one, 5), fg_mul(same, same));
    fg_tensor d[2], second;
    fg_grad(loss, wrt, 2, d);
    fg_grad(d[1], &same, 1, &second);
    assert_scalars(trace, (fg_tensor[]){d[0], d[1], second}, (float[]){5, 2, 2}, 3);
    fg_trace_destroy(trace);
}

static size_t count_in(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

/* Equal applications are computed and differentiated once. */
static void equal_values_are_computed_once(void **client)
{
    fg_error err = {0};
    char *text;
    fg_trace *trace = values_trace(*client);
    fg_array *two = values_array(*client, &scalar, (float[]){2});
    const fg_tensor a = fg_input(trace, two);
    const fg_tensor loss = fg_mul(fg_tanh(a), fg_mul_scalar(fg_tanh(a), 3));
    fg_tensor d;
    fg_grad(loss, &a, 1, &d);
    fgt_ok(fg_trace_text(trace, (fg_tensor[]){loss, d}, 2, &text, &err));
    assert_int_equal(count_in(text, "stablehlo.tanh"), 1);
    assert_int_equal(count_in(text, "stablehlo.subtract"), 1); /* 1 - tanh^2 */
    fg_free(text);
    fg_array_release(two);
    fg_trace_destroy(trace);
}

/* With respect to the value of v that the loss was computed from: v is 3, then 6; `twice`, which
 * was assigned to it, is also used. */
static void gradients_by_variables_follow_assignments(void **client)
{
    fg_trace *trace = values_trace(*client);
    fg_variable *v = values_variable("v", &scalar, (float[]){3});
    const fg_tensor first = fg_variable_value(trace, v), twice = fg_mul_scalar(first, 2);
    fg_assign(v, twice);
    const fg_tensor now = fg_variable_value(trace, v), wrt[] = {first, twice, now};
    const fg_tensor loss = fg_add(fg_square(now), fg_mul_scalar(twice, 100));
    fg_tensor d[4];
    fg_grad_variables(loss, &v, 1, d);
    fg_grad(loss, wrt, 3, d + 1);
    assert_scalars(trace, d, (float[]){12, 224, 112, 12}, 4);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

static void gradients_by_variables_are_taken_at_the_start(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_tensor d;
    fg_trace *trace = values_trace(*client);
    fg_variable *v = values_variable("v", &vec3, (float[]){1, 2, 3});
    const fg_tensor loss = fg_sum(fg_square(fg_variable_value(trace, v)), 0, NULL);
    fg_assign(v, fg_zeros(trace, FG_F32, FG_DIMS(3)));
    fg_grad_variables(loss, &v, 1, &d);
    values_run(trace, d, got, sizeof got);
    values_assert(got, (float[]){2, 4, 6}, 3);
    fgt_ok(fg_variable_read(v, got, sizeof got, &err));
    values_assert(got, (float[]){0, 0, 0}, 3);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

/* The derivatives of a^b at a = 0, by a: 0 for b = 0, 1 for b = 1, 0 for b = 2; by b: 0. */
static void powers_of_zero_have_derivatives(void **client)
{
    static const float bases[] = {0, 0, 0, 2}, exponents[] = {0, 1, 2, 3};
    static const float expected[2][4] = {{0, 1, 0, 12}, {0, 0, 0, 8 * 0.6931472F}};
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {4}};
    for (int k = 0; k < 2; k++) {
        fg_trace *trace = values_trace(*client);
        const fg_tensor x[] = {fg_constant(trace, &type, bases),
                               fg_constant(trace, &type, exponents)};
        fg_tensor d;
        float got[4];
        fg_grad(fg_sum(fg_pow(x[0], x[1]), 0, NULL), &x[k], 1, &d);
        values_run(trace, d, got, sizeof got);
        values_assert(got, expected[k], 4);
        fg_trace_destroy(trace);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(powers_of_zero_have_derivatives),
    cmocka_unit_test(equal_values_have_derivatives_of_their_own),
    cmocka_unit_test(what_equal_values_lead_to_is_kept_apart),
    cmocka_unit_test(constants_have_derivatives),
    cmocka_unit_test(equal_values_are_computed_once),
    cmocka_unit_test(gradients_by_variables_follow_assignments),
    cmocka_unit_test(gradients_by_variables_are_taken_at_the_start),
};

int main(void)
{
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
