/* test_trace_run.c - executing traces: compiling once, variables, masks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>
#include "base/rng.h"
#include "trace_values.h"

/* ---- compiling ------------------------------------------------------------------------------- */

static float scaled_sum(fg_trace *trace, fg_array *array, double factor)
{
    fg_error err = {0};
    float out;
    fgt_ok(fg_run_f32(trace, fg_sum(fg_mul_scalar(fg_input(trace, array), factor), 0, NULL), &out,
                      &err));
    return out;
}

static void equal_programs_compile_once(void **client)
{
    fg_trace *trace = values_trace(*client), *other = values_trace(*client);
    fg_array *a = values_array(*client, &vec3, (float[]){1, 2, 3});
    fg_array *b = values_array(*client, &vec3, (float[]){4, 5, 6});
    const int64_t before = values_programs(*client);
    assert_true(scaled_sum(trace, a, 2) == 12);
    assert_true(scaled_sum(trace, b, 2) == 30); /* other arrays: the same program */
    assert_int_equal(values_programs(*client), before + 1);
    assert_true(scaled_sum(other, a, 2) == 12); /* the same in another trace */
    assert_int_equal(values_programs(*client), before + 1);
    assert_true(scaled_sum(trace, a, 3) == 18); /* another constant: another program */
    assert_int_equal(values_programs(*client), before + 2);
    fg_trace_destroy(trace);
    assert_true(scaled_sum(other, b, 2) == 30); /* the other trace still has a reference */
    assert_true(scaled_sum(other, b, 3) == 45); /* the last reference to that one is gone */
    assert_int_equal(values_programs(*client), before + 3);
    fg_trace_destroy(other);
    fg_array_release(a);
    fg_array_release(b);
}

static void another_shape_compiles_anew(void **client)
{
    fg_trace *trace = values_trace(*client);
    fg_array *a = values_array(*client, &vec3, (float[]){1, 2, 3});
    fg_array *b =
        values_array(*client, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {2}}, (float[]){4, 5});
    const int64_t before = values_programs(*client);
    assert_true(scaled_sum(trace, a, 5) == 30);
    assert_true(scaled_sum(trace, b, 5) == 45);
    assert_int_equal(values_programs(*client), before + 2);
    fg_trace_destroy(trace);
    fg_array_release(a);
    fg_array_release(b);
}

static void scalars_change_without_compiling(void **client)
{
    fg_error err = {0};
    float out;
    fg_trace *trace = values_trace(*client);
    fg_scalar rate = {.dtype = FG_F32}, count = {.dtype = FG_S32}, bits = {.dtype = FG_U32};
    const int64_t before = values_programs(*client);
    for (int i = 1; i <= 3; i++) {
        rate.value.f32 = 0.5F * (float)i;
        count.value.s32 = -i;
        bits.value.u32 = 0x80000000U + (uint32_t)i;
        const fg_tensor c = fg_cast(fg_scalar_value(trace, &count), FG_F32);
        const fg_tensor b = fg_cast(fg_scalar_value(trace, &bits), FG_F32);
        const fg_tensor sum =
            fg_add(fg_add(fg_scalar_value(trace, &rate), c), fg_mul_scalar(b, 0x1p-31));
        fgt_ok(fg_run_f32(trace, sum, &out, &err));
        assert_true(out == 1 - 0.5F * (float)i);
    }
    assert_int_equal(values_programs(*client), before + 1);
    fg_trace_destroy(trace);
}

static void outputs_may_be_anything(void **client)
{
    fg_error err = {0};
    fg_trace *trace = values_trace(*client);
    fg_array *a = values_array(*client, &vec3, (float[]){1, 2, 3}), *out[4];
    const fg_tensor x = fg_input(trace, a), y = fg_neg(x);
    /* an input, the same value twice, a constant */
    const fg_tensor outputs[4] = {x, y, y, fg_full(trace, FG_F32, 7, FG_DIMS(3))};
    fgt_ok(fg_run(trace, outputs, 4, out, &err));
    static const float want[4][3] = {{1, 2, 3}, {-1, -2, -3}, {-1, -2, -3}, {7, 7, 7}};
    for (int i = 0; i < 4; i++) {
        float got[3];
        fgt_ok(fg_array_read(out[i], got, sizeof got, &err));
        values_assert(got, want[i], 3);
        fg_array_release(out[i]);
    }
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err)); /* nothing to do is not an error */
    fg_array_release(a);
    fg_trace_destroy(trace);
}

/* ---- variables ------------------------------------------------------------------------------- */

static void assignment_stays_on_the_device(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_trace *trace = values_trace(*client);
    fg_variable *v = values_variable("v", &vec3, (float[]){1, 2, 3});
    const int64_t before = values_programs(*client), read = fg_client_stats_of(*client).host_reads;
    for (int i = 0; i < 4; i++) {
        const fg_tensor old = fg_variable_value(trace, v);
        fg_assign(v, fg_mul_scalar(old, 2));
        assert_true(fg_variable_value(trace, v).handle != old.handle); /* the new value */
        /* the last assignment applies */
        fg_assign(v, fg_add_scalar(fg_variable_value(trace, v), 1));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    assert_int_equal(values_programs(*client), before + 1);
    assert_int_equal(fg_client_stats_of(*client).host_reads, read);
    fgt_ok(fg_variable_read(v, got, sizeof got, &err));
    values_assert(got, (float[]){31, 47, 63}, 3);
    fgt_ok(fg_variable_set(v, (float[]){1, 1, 1}, sizeof got, &err));
    values_run(trace, fg_variable_value(trace, v), got, sizeof got);
    values_assert(got, (float[]){1, 1, 1}, 3);
    assert_int_equal(fg_variable_set(v, got, 8, &err), FG_EINVAL);
    assert_string_equal(err.message, "variable 'v' (f32[3]) has 12 bytes, but got 8");
    assert_int_equal(fg_variable_read(v, got, 16, &err), FG_EINVAL);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

static void variables_swap_without_a_copy_in_sight(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_trace *trace = values_trace(*client);
    fg_variable *a = values_variable("a", &vec3, (float[]){1, 2, 3});
    fg_variable *b = values_variable("b", &vec3, (float[]){4, 5, 6});
    for (int i = 0; i < 3; i++) {
        const fg_tensor x = fg_variable_value(trace, a), y = fg_variable_value(trace, b);
        fg_assign(a, y);
        fg_assign(b, x);
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    fgt_ok(fg_variable_read(a, got, sizeof got, &err));
    values_assert(got, (float[]){4, 5, 6}, 3);
    fgt_ok(fg_variable_read(b, got, sizeof got, &err));
    values_assert(got, (float[]){1, 2, 3}, 3);

    /* one value for both, and a run that also returns it and the old value */
    const fg_tensor old = fg_variable_value(trace, a),
                    sum = fg_add(old, fg_variable_value(trace, b));
    fg_assign(a, sum);
    fg_assign(b, sum);
    fg_array *out[2];
    fgt_ok(fg_run(trace, (const fg_tensor[]){sum, old}, 2, out, &err));
    fgt_ok(fg_array_read(out[0], got, sizeof got, &err));
    values_assert(got, (float[]){5, 7, 9}, 3);
    fgt_ok(fg_array_read(out[1], got, sizeof got, &err));
    values_assert(got, (float[]){4, 5, 6}, 3);
    fg_array_release(out[0]);
    fg_array_release(out[1]);
    fgt_ok(fg_variable_read(b, got, sizeof got, &err));
    values_assert(got, (float[]){5, 7, 9}, 3);
    fg_variable_destroy(a);
    fg_variable_destroy(b);
    fg_trace_destroy(trace);
}

static void assignment_wants_the_same_type(void **client)
{
    fg_error err = {0};
    fg_trace *trace = values_trace(*client);
    fg_variable *v = values_variable("fc.weight", &vec3, NULL);
    const int line = __LINE__ + 1;
    fg_assign(v, fg_zeros(trace, FG_F32, FG_DIMS(4)));
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "assign: variable 'fc.weight' is f32[3], but the value is f32[4]");
    assert_int_equal(err.line, line);
    fg_trace_reset(trace);
    fg_assign(v, fg_zeros(trace, FG_BF16, FG_DIMS(3)));
    assert_int_equal(fg_run(trace, NULL, 0, NULL, &err), FG_EDTYPE);
    assert_string_equal(err.message,
                        "assign: variable 'fc.weight' is f32[3], but the value is bf16[3]");
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

static void donated_arrays_are_not_read(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_array *array;
    fg_trace *trace = values_trace(*client);
    fg_variable *v = values_variable("v", &vec3, (float[]){1, 2, 3});
    /* hold a reference to the variable's array, which users cannot, then run a program that it is
     * donated to */
    fgt_ok(fgi_variable_array(v, *client, &array, &err));
    (void)fg_array_retain(array);
    fg_assign(v, fg_mul_scalar(fg_variable_value(trace, v), 3));
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    assert_int_equal(fg_array_read(array, got, sizeof got, &err), FG_EINVAL);
    const fg_tensor stale = fg_input(trace, array);
    fg_array *out;
    assert_int_equal(fg_run(trace, &stale, 1, &out, &err), FG_EINVAL);
    assert_non_null(
        strstr(err.message, "an array whose buffer was reused by the update of a variable"));
    fg_array_release(array);
    fgt_ok(fg_variable_read(v, got, sizeof got, &err));
    values_assert(got, (float[]){3, 6, 9}, 3);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

static fg_variable *started(const char *name, fg_init_kind kind, double a, uint64_t seed,
                            fg_dtype dtype)
{
    fg_error err = {0};
    fg_variable *v;
    const fg_type type = {.dtype = dtype, .rank = 2, .dim = {40, 50}};
    fgt_ok(fg_variable_create(name, &type, &(fg_variable_options){.init = {kind, a}, .seed = seed},
                              &v, &err));
    return v;
}

static void read_2000(const fg_variable *v, float *out)
{
    fg_error err = {0};
    fgt_ok(fg_variable_read(v, out, 2000 * sizeof *out, &err));
}

static void start_values_depend_on_seed_and_name_alone(void **client)
{
    static float a[2000], b[2000], c[2000], d[2000], e[2000];
    fg_trace *trace = values_trace(*client);
    fg_variable *first = started("fc1.weight", FG_INIT_UNIFORM, 0.25, 7, FG_F32);
    fg_variable *other = started("fc2.weight", FG_INIT_UNIFORM, 0.25, 7, FG_F32);
    fg_variable *reseeded = started("fc1.weight", FG_INIT_UNIFORM, 0.25, 8, FG_F32);
    fg_variable *again = started("fc1.weight", FG_INIT_UNIFORM, 0.25, 7, FG_F32);
    read_2000(first, a);
    read_2000(other, b);
    read_2000(reseeded, c);
    read_2000(again, d);
    values_run(trace, fg_variable_value(trace, again), e, sizeof e); /* through the device */
    assert_memory_equal(a, d, sizeof a);
    assert_memory_equal(a, e, sizeof a);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    const fgi_key key = fgi_key_fold_text(fgi_key_from_seed(7), "fc1.weight");
    double sum = 0, squares = 0;
    for (int i = 0; i < 2000; i++) {
        const float want = (float)(0.25 * (2.0 * (double)fgi_rng_uniform(key, (uint64_t)i) - 1.0));
        assert_true(a[i] == want && want >= -0.25F && want < 0.25F);
        sum += (double)a[i];
        squares += (double)a[i] * (double)a[i];
    }
    fgt_close("mean", sum / 2000, 0, 0.01, 0);
    fgt_close("variance", squares / 2000, 0.25 * 0.25 / 3, 0, 0.1);
    fg_variable_destroy(first);
    fg_variable_destroy(other);
    fg_variable_destroy(reseeded);
    fg_variable_destroy(again);
    fg_trace_destroy(trace);
}

static void start_values_of_every_kind(void **client)
{
    (void)client;
    static float f[2000];
    static uint16_t h[2000];
    fg_error err = {0};
    fg_variable *normal = started("n", FG_INIT_NORMAL, 2, 1, FG_F32);
    fg_variable *ones = started("c", FG_INIT_CONSTANT, 1, 1, FG_F16);
    fg_variable *none = started("z", FG_INIT_ZEROS, 5, 1, FG_F32);
    double sum = 0, squares = 0;
    read_2000(normal, f);
    for (int i = 0; i < 2000; i++) {
        sum += (double)f[i];
        squares += (double)f[i] * (double)f[i];
    }
    fgt_close("mean", sum / 2000, 0, 0.15, 0);
    fgt_close("deviation", sqrt(squares / 2000), 2, 0, 0.05);
    fgt_ok(fg_variable_read(ones, h, sizeof h, &err));
    assert_int_equal(h[0], 0x3C00);
    assert_int_equal(h[1999], 0x3C00);
    read_2000(none, f);
    assert_true(f[0] == 0 && f[1999] == 0);
    fg_variable_destroy(normal);
    fg_variable_destroy(ones);
    fg_variable_destroy(none);
    fg_variable *v;
    const fg_type counter = {.dtype = FG_S32};
    fgt_ok(fg_variable_create("k", &counter, &(fg_variable_options){.init = {FG_INIT_CONSTANT, -3}},
                              &v, &err));
    int32_t value;
    fgt_ok(fg_variable_read(v, &value, sizeof value, &err));
    assert_int_equal(value, -3);
    fg_variable_destroy(v);
    assert_int_equal(fg_variable_create("k", &counter,
                                        &(fg_variable_options){.init = {FG_INIT_NORMAL, 1}}, &v,
                                        &err),
                     FG_EINVAL);
    assert_null(v);
    assert_string_equal(err.message, "variable 'k': s32 does not support this initial value");
    assert_int_equal(fg_variable_create("", &counter, NULL, &v, &err), FG_EINVAL);
}

static void order_of_axes_in_files(void **client)
{
    (void)client;
    fg_error err = {0};
    fg_variable *v;
    const fg_type kernel = {.dtype = FG_F32, .rank = 4, .dim = {3, 3, 1, 8}};
    fgt_ok(fg_variable_create("conv.weight", &kernel,
                              &(fg_variable_options){.kind = FG_BUFFER, .file_axis = {3, 2, 0, 1}},
                              &v, &err));
    assert_int_equal(fg_variable_kind_of(v), FG_BUFFER);
    assert_string_equal(fg_variable_name(v), "conv.weight");
    assert_int_equal(fg_variable_type(v)->dim[3], 8);
    assert_memory_equal(fg_variable_file_axis(v), ((const int[]){3, 2, 0, 1}), 4 * sizeof(int));
    fg_variable_destroy(v);
    fgt_ok(fg_variable_create("conv.weight", &kernel, NULL, &v, &err));
    assert_null(fg_variable_file_axis(v));
    fg_variable_destroy(v);
    assert_int_equal(fg_variable_create("conv.weight", &kernel,
                                        &(fg_variable_options){.file_axis = {3, 2, 0, 3}}, &v,
                                        &err),
                     FG_EINVAL);
    assert_string_equal(err.message,
                        "variable 'conv.weight': file_axis is not a permutation of 0..3");
}

/* ---- gradients with respect to values
 * --------------------------------------------------------------------
 */

static void steps_are_launched_with_new_feeds(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_array *out;
    fgi_step_program *step;
    fg_trace *trace = values_trace(*client);
    trace->is_step = true;
    fg_variable *v = values_variable("v", &vec3, (float[]){0, 0, 0});
    fg_scalar rate = {.dtype = FG_F32};
    const fg_tensor x = fgi_trace_feed(trace, 0, &vec3), r = fg_scalar_value(trace, &rate);
    const fg_tensor sum = fg_add(fg_variable_value(trace, v), fg_mul(x, r));
    fg_assign(v, sum);
    const fg_tensor last = fg_sum(sum, 0, NULL);
    fgt_ok(fgi_step_program_create(trace, &last, 1, &step, &err));
    fg_trace_reset(trace);
    fg_array *a = values_array(*client, &vec3, (float[]){1, 2, 3});
    fg_array *b = values_array(*client, &vec3, (float[]){10, 20, 30});
    for (int i = 0; i < 3; i++) {
        rate.value.f32 = (float)(i + 1);
        fgt_ok(fgi_step_program_launch(step, i == 1 ? &b : &a, 1, &out, NULL, &err));
        if (i < 2)
            fg_array_release(out);
    }
    fgt_ok(fg_array_read(out, got, sizeof *got, &err));
    assert_true(got[0] == 6 + 120 + 18);
    fg_array_release(out);
    fgt_ok(fg_variable_read(v, got, sizeof got, &err));
    values_assert(got, (float[]){24, 48, 72}, 3);
    static const char *const texts[] = {"f32[]", "f32[2]", "f32[4]", "s32[3]"};
    static const fg_type types[] = {
        {FG_F32, 0, {0}}, {FG_F32, 1, {2}}, {FG_F32, 1, {4}}, {FG_S32, 1, {3}}};
    for (int i = 0; i < 4; i++) {
        char expected[64];
        fg_array *wrong = values_array(*client, &types[i], (float[]){1, 2, 3, 4});
        assert_int_equal(fgi_step_program_launch(step, &wrong, 1, &out, NULL, &err), FG_EINVAL);
        (void)snprintf(expected, sizeof expected, "is %s: expected f32[3], as traced", texts[i]);
        assert_non_null(strstr(err.message, expected));
        fg_array_release(wrong);
    }
    assert_int_equal(fgi_step_program_launch(step, NULL, 0, &out, NULL, &err), FG_EINTERNAL);
    fg_array_release(a);
    fg_array_release(b);
    fgi_step_program_destroy(step);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Losses of `rows` of the eight samples; the last three are padding and are masked out. */
static void losses(fg_client *client, int64_t rows, const float *mask, float out[2],
                   float *gradients)
{
    fg_error err = {0};
    static float logits[8 * 5];
    static const int32_t labels[8] = {0, 3, 4, 1, 1, 2, 0, 4};
    for (int i = 0; i < 8 * 5; i++)
        logits[i] = (float)((i * 37) % 23) / 8;
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {rows, 5}};
    const fg_type label_type = {.dtype = FG_S32, .rank = 1, .dim = {rows}};
    fg_array *x_array = values_array(client, &type, logits);
    fg_array *label_array = values_array(client, &label_type, labels);
    fg_trace *trace = values_trace(client);
    if (mask != NULL) {
        const fg_type mask_type = {.dtype = FG_F32, .rank = 1, .dim = {rows}};
        fg_array *mask_array = values_array(client, &mask_type, mask);
        fg_trace_set_mask(trace, fg_input(trace, mask_array));
        fg_array_release(mask_array);
    }
    const fg_tensor x = fg_input(trace, x_array), label = fg_input(trace, label_array);
    const fg_tensor loss[2] = {fg_cross_entropy(x, label, NULL), fg_mse(x, fg_tanh(x))};
    fg_tensor outputs[4] = {loss[0], loss[1]};
    fg_grad(loss[0], &x, 1, &outputs[2]);
    fg_grad(loss[1], &x, 1, &outputs[3]);
    fg_array *arrays[4];
    fgt_ok(fg_run(trace, outputs, 4, arrays, &err));
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_array_read(arrays[i], &out[i], sizeof *out, &err));
        fgt_ok(fg_array_read(arrays[i + 2], gradients + i * 40, (size_t)rows * 5 * sizeof(float),
                             &err));
    }
    for (int i = 0; i < 4; i++)
        fg_array_release(arrays[i]);
    fg_trace_destroy(trace);
    fg_array_release(x_array);
    fg_array_release(label_array);
}

/* Except for the last bit: the compiler sums in a different order. */
static void assert_same(const float *got, const float *want, int count)
{
    for (int i = 0; i < count; i++)
        fgt_close("masked", (double)got[i], (double)want[i], 1e-9, 3e-7);
}

static void masked_tail_is_the_batch_without_it(void **client)
{
    static const float mask[8] = {1, 1, 1, 1, 1, 0, 0, 0};
    static float plain_d[80], masked_d[80];
    float plain[2], masked[2];
    losses(*client, 5, NULL, plain, plain_d);
    losses(*client, 8, mask, masked, masked_d);
    assert_same(masked, plain, 2);
    for (int i = 0; i < 2; i++) {
        assert_same(masked_d + i * 40, plain_d + i * 40, 25);
        for (int k = 25; k < 40; k++)
            assert_true(masked_d[i * 40 + k] == 0);
    }
    static const float full[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    losses(*client, 8, NULL, plain, plain_d);
    losses(*client, 8, full, masked, masked_d);
    assert_same(masked, plain, 2);
    assert_same(masked_d, plain_d, 80);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_programs_compile_once),
    cmocka_unit_test(another_shape_compiles_anew),
    cmocka_unit_test(scalars_change_without_compiling),
    cmocka_unit_test(outputs_may_be_anything),
    cmocka_unit_test(assignment_stays_on_the_device),
    cmocka_unit_test(variables_swap_without_a_copy_in_sight),
    cmocka_unit_test(assignment_wants_the_same_type),
    cmocka_unit_test(donated_arrays_are_not_read),
    cmocka_unit_test(start_values_depend_on_seed_and_name_alone),
    cmocka_unit_test(start_values_of_every_kind),
    cmocka_unit_test(order_of_axes_in_files),
    cmocka_unit_test(steps_are_launched_with_new_feeds),
    cmocka_unit_test(masked_tail_is_the_batch_without_it),
};

int main(void)
{
    return cmocka_run_group_tests(tests, values_open_client, values_close_client) == 0 ? 0 : 1;
}
