/* test_trace_run.c - traces on the CPU plugin: what compiles and what does not, variables and their
 * updates in place, counted randomness beside the host's, losses under a mask.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "trace/program.h"

static const fg_type vec3 = {.dtype = FG_F32, .rank = 1, .dim = {3}};
static const fg_type scalar = {.dtype = FG_F32};

static int open_client(void **state)
{
    static fg_client *client;
    fg_error err = {0};
    fgt_ok(
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client, &err));
    *state = client;
    return 0;
}

static int close_client(void **state)
{
    fg_client_close(*state);
    return fgi_alloc_live() == 0 ? 0 : 1;
}

static fg_trace *trace_on(fg_client *client)
{
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    return trace;
}

static fg_array *array_of(fg_client *client, const fg_type *type, const void *data)
{
    fg_error err = {0};
    fg_array *array;
    fgt_ok(fg_array_create(client, type, data, &array, &err));
    return array;
}

static fg_variable *variable_of(const char *name, const fg_type *type, const void *data)
{
    fg_error err = {0};
    fg_variable *variable;
    fgt_ok(fg_variable_create(name, type, NULL, &variable, &err));
    if (data != NULL)
        fgt_ok(fg_variable_set(variable, data, fg_type_bytes(type), &err));
    return variable;
}

/* Runs for one output and reads it. */
static void run_into(fg_trace *trace, fg_tensor output, void *data, size_t size_bytes)
{
    fg_error err = {0};
    fg_array *array;
    fgt_ok(fg_run(trace, &output, 1, &array, &err));
    fgt_ok(fg_array_read(array, data, size_bytes, &err));
    fg_array_release(array);
}

static void assert_floats(const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("element %zu is %.9g, not %.9g", i, (double)got[i], (double)want[i]);
}

static int64_t compiles(fg_client *client) { return fg_client_get_stats(client).compiles; }

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
    fg_trace *trace = trace_on(*client), *other = trace_on(*client);
    fg_array *a = array_of(*client, &vec3, (float[]){1, 2, 3});
    fg_array *b = array_of(*client, &vec3, (float[]){4, 5, 6});
    const int64_t before = compiles(*client);
    assert_true(scaled_sum(trace, a, 2) == 12);
    assert_true(scaled_sum(trace, b, 2) == 30); /* other arrays: the same program */
    assert_int_equal(compiles(*client), before + 1);
    assert_true(scaled_sum(other, a, 2) == 12); /* another trace: likewise */
    assert_int_equal(compiles(*client), before + 1);
    assert_true(scaled_sum(trace, a, 3) == 18); /* another constant: another program */
    assert_int_equal(compiles(*client), before + 2);
    fg_trace_destroy(trace);
    assert_true(scaled_sum(other, b, 2) == 30); /* still held by the other */
    assert_true(scaled_sum(other, b, 3) == 45); /* nobody held that one any more */
    assert_int_equal(compiles(*client), before + 3);
    fg_trace_destroy(other);
    fg_array_release(a);
    fg_array_release(b);
}

static void another_shape_compiles_anew(void **client)
{
    fg_trace *trace = trace_on(*client);
    fg_array *a = array_of(*client, &vec3, (float[]){1, 2, 3});
    fg_array *b =
        array_of(*client, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {2}}, (float[]){4, 5});
    const int64_t before = compiles(*client);
    assert_true(scaled_sum(trace, a, 5) == 30);
    assert_true(scaled_sum(trace, b, 5) == 45);
    assert_int_equal(compiles(*client), before + 2);
    fg_trace_destroy(trace);
    fg_array_release(a);
    fg_array_release(b);
}

static void scalars_change_without_compiling(void **client)
{
    fg_error err = {0};
    float out;
    fg_trace *trace = trace_on(*client);
    fg_scalar rate = {.dtype = FG_F32}, count = {.dtype = FG_S32}, bits = {.dtype = FG_U32};
    const int64_t before = compiles(*client);
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
    assert_int_equal(compiles(*client), before + 1);
    fg_trace_destroy(trace);
}

static void outputs_may_be_anything(void **client)
{
    fg_error err = {0};
    fg_trace *trace = trace_on(*client);
    fg_array *a = array_of(*client, &vec3, (float[]){1, 2, 3}), *out[4];
    const fg_tensor x = fg_input(trace, a), y = fg_neg(x);
    /* an input itself, the same value twice, a constant */
    const fg_tensor outputs[4] = {x, y, y, fg_full(trace, FG_F32, 7, FG_DIMS(3))};
    fgt_ok(fg_run(trace, outputs, 4, out, &err));
    static const float want[4][3] = {{1, 2, 3}, {-1, -2, -3}, {-1, -2, -3}, {7, 7, 7}};
    for (int i = 0; i < 4; i++) {
        float got[3];
        fgt_ok(fg_array_read(out[i], got, sizeof got, &err));
        assert_floats(got, want[i], 3);
        fg_array_release(out[i]);
    }
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err)); /* nothing to do is no error */
    fg_array_release(a);
    fg_trace_destroy(trace);
}

/* ---- variables ------------------------------------------------------------------------------- */

static void assignment_stays_on_the_device(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_trace *trace = trace_on(*client);
    fg_variable *v = variable_of("v", &vec3, (float[]){1, 2, 3});
    const int64_t before = compiles(*client), read = fg_client_get_stats(*client).host_reads;
    for (int i = 0; i < 4; i++) {
        const fg_tensor old = fg_variable_value(trace, v);
        fg_assign(v, fg_mul_scalar(old, 2));
        assert_true(fg_variable_value(trace, v).handle != old.handle); /* the new value */
        fg_assign(v, fg_add_scalar(fg_variable_value(trace, v), 1));   /* the last one counts */
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    assert_int_equal(compiles(*client), before + 1);
    assert_int_equal(fg_client_get_stats(*client).host_reads, read);
    fgt_ok(fg_variable_read(v, got, sizeof got, &err));
    assert_floats(got, (float[]){31, 47, 63}, 3);
    fgt_ok(fg_variable_set(v, (float[]){1, 1, 1}, sizeof got, &err));
    run_into(trace, fg_variable_value(trace, v), got, sizeof got);
    assert_floats(got, (float[]){1, 1, 1}, 3);
    assert_int_equal(fg_variable_set(v, got, 8, &err), FG_EINVAL);
    assert_string_equal(err.message, "variable 'v' (f32[3]) takes 12 bytes, 8 were given");
    assert_int_equal(fg_variable_read(v, got, 16, &err), FG_EINVAL);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

static void variables_swap_without_a_copy_in_sight(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_trace *trace = trace_on(*client);
    fg_variable *a = variable_of("a", &vec3, (float[]){1, 2, 3});
    fg_variable *b = variable_of("b", &vec3, (float[]){4, 5, 6});
    for (int i = 0; i < 3; i++) {
        const fg_tensor x = fg_variable_value(trace, a), y = fg_variable_value(trace, b);
        fg_assign(a, y);
        fg_assign(b, x);
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    fgt_ok(fg_variable_read(a, got, sizeof got, &err));
    assert_floats(got, (float[]){4, 5, 6}, 3);
    fgt_ok(fg_variable_read(b, got, sizeof got, &err));
    assert_floats(got, (float[]){1, 2, 3}, 3);

    /* one value for both, and a run that also gives it out and the old one */
    const fg_tensor old = fg_variable_value(trace, a),
                    sum = fg_add(old, fg_variable_value(trace, b));
    fg_assign(a, sum);
    fg_assign(b, sum);
    fg_array *out[2];
    fgt_ok(fg_run(trace, (const fg_tensor[]){sum, old}, 2, out, &err));
    fgt_ok(fg_array_read(out[0], got, sizeof got, &err));
    assert_floats(got, (float[]){5, 7, 9}, 3);
    fgt_ok(fg_array_read(out[1], got, sizeof got, &err));
    assert_floats(got, (float[]){4, 5, 6}, 3);
    fg_array_release(out[0]);
    fg_array_release(out[1]);
    fgt_ok(fg_variable_read(b, got, sizeof got, &err));
    assert_floats(got, (float[]){5, 7, 9}, 3);
    fg_variable_destroy(a);
    fg_variable_destroy(b);
    fg_trace_destroy(trace);
}

static void assignment_wants_the_same_type(void **client)
{
    fg_error err = {0};
    fg_trace *trace = trace_on(*client);
    fg_variable *v = variable_of("fc.weight", &vec3, NULL);
    const int line = __LINE__ + 1;
    fg_assign(v, fg_zeros(trace, FG_F32, FG_DIMS(4)));
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message, "assign: variable 'fc.weight' is f32[3], the value is f32[4]");
    assert_int_equal(err.line, line);
    fg_trace_reset(trace);
    fg_assign(v, fg_zeros(trace, FG_BF16, FG_DIMS(3)));
    assert_int_equal(fg_run(trace, NULL, 0, NULL, &err), FG_EDTYPE);
    assert_string_equal(err.message,
                        "assign: variable 'fc.weight' is f32[3], the value is bf16[3]");
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

static void donated_arrays_are_not_read(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_array *array;
    fg_trace *trace = trace_on(*client);
    fg_variable *v = variable_of("v", &vec3, (float[]){1, 2, 3});
    /* hold the array of the variable itself, as nobody outside can, then let a run take it over */
    fgt_ok(fgi_variable_array(v, *client, &array, &err));
    (void)fg_array_retain(array);
    fg_assign(v, fg_mul_scalar(fg_variable_value(trace, v), 3));
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    assert_int_equal(fg_array_read(array, got, sizeof got, &err), FG_EINVAL);
    const fg_tensor stale = fg_input(trace, array);
    fg_array *out;
    assert_int_equal(fg_run(trace, &stale, 1, &out, &err), FG_EINVAL);
    assert_non_null(
        strstr(err.message, "an array whose memory a variable's update has taken over"));
    fg_array_release(array);
    fgt_ok(fg_variable_read(v, got, sizeof got, &err));
    assert_floats(got, (float[]){3, 6, 9}, 3);
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
    fg_trace *trace = trace_on(*client);
    fg_variable *first = started("fc1.weight", FG_INIT_UNIFORM, 0.25, 7, FG_F32);
    fg_variable *other = started("fc2.weight", FG_INIT_UNIFORM, 0.25, 7, FG_F32);
    fg_variable *reseeded = started("fc1.weight", FG_INIT_UNIFORM, 0.25, 8, FG_F32);
    fg_variable *again = started("fc1.weight", FG_INIT_UNIFORM, 0.25, 7, FG_F32);
    read_2000(first, a);
    read_2000(other, b);
    read_2000(reseeded, c);
    read_2000(again, d);
    run_into(trace, fg_variable_value(trace, again), e, sizeof e); /* by way of the device */
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
    assert_int_equal(fg_variable_get_kind(v), FG_BUFFER);
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

/* ---- derivatives by values --------------------------------------------------------------------
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
        assert_floats(&got, &want[i], 1);
        fg_array_release(array[i]);
    }
}

/* loss = 2 h1 + 3 h2^2 at h1 = h2 = relu(2): by each of them alone, by what both come from. */
static void equal_values_have_derivatives_of_their_own(void **client)
{
    fg_trace *trace = trace_on(*client);
    fg_array *two = array_of(*client, &scalar, (float[]){2});
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
    fg_trace *trace = trace_on(*client);
    fg_array *two = array_of(*client, &scalar, (float[]){2});
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
    fg_trace *trace = trace_on(*client);
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

/* Equal applications are computed once, and derivatives go back through them once. */
static void equal_values_are_computed_once(void **client)
{
    fg_error err = {0};
    char *text;
    fg_trace *trace = trace_on(*client);
    fg_array *two = array_of(*client, &scalar, (float[]){2});
    const fg_tensor a = fg_input(trace, two);
    const fg_tensor loss = fg_mul(fg_tanh(a), fg_mul_scalar(fg_tanh(a), 3));
    fg_tensor d;
    fg_grad(loss, &a, 1, &d);
    fgt_ok(fg_trace_text(trace, (fg_tensor[]){loss, d}, 2, &text, &err));
    assert_int_equal(count_in(text, "stablehlo.tanh"), 1);
    assert_int_equal(count_in(text, "stablehlo.subtract"), 1); /* 1 - tanh^2 */
    fg_text_free(text);
    fg_array_release(two);
    fg_trace_destroy(trace);
}

/* By the value in force where the loss was computed from that: v is 3, then 6; `twice`, which it
 * was assigned, is used beside it. */
static void gradients_by_variables_follow_assignments(void **client)
{
    fg_trace *trace = trace_on(*client);
    fg_variable *v = variable_of("v", &scalar, (float[]){3});
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
    fg_trace *trace = trace_on(*client);
    fg_variable *v = variable_of("v", &vec3, (float[]){1, 2, 3});
    const fg_tensor loss = fg_sum(fg_square(fg_variable_value(trace, v)), 0, NULL);
    fg_assign(v, fg_zeros(trace, FG_F32, FG_DIMS(3)));
    fg_grad_variables(loss, &v, 1, &d);
    run_into(trace, d, got, sizeof got);
    assert_floats(got, (float[]){2, 4, 6}, 3);
    fgt_ok(fg_variable_read(v, got, sizeof got, &err));
    assert_floats(got, (float[]){0, 0, 0}, 3);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

static void steps_are_launched_with_new_feeds(void **client)
{
    fg_error err = {0};
    float got[3];
    fg_array *out;
    fgi_step_program *step;
    fg_trace *trace = trace_on(*client);
    trace->is_step = true;
    fg_variable *v = variable_of("v", &vec3, (float[]){0, 0, 0});
    fg_scalar rate = {.dtype = FG_F32};
    const fg_tensor x = fgi_trace_feed(trace, 0, &vec3), r = fg_scalar_value(trace, &rate);
    const fg_tensor sum = fg_add(fg_variable_value(trace, v), fg_mul(x, r));
    fg_assign(v, sum);
    const fg_tensor last = fg_sum(sum, 0, NULL);
    fgt_ok(fgi_step_program_create(trace, &last, 1, &step, &err));
    fg_trace_reset(trace);
    fg_array *a = array_of(*client, &vec3, (float[]){1, 2, 3});
    fg_array *b = array_of(*client, &vec3, (float[]){10, 20, 30});
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
    assert_floats(got, (float[]){24, 48, 72}, 3);
    fg_array *wrong = array_of(*client, &scalar, (float[]){1});
    assert_int_equal(fgi_step_program_launch(step, &wrong, 1, &out, NULL, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "is f32[]; it was traced for f32[3]"));
    assert_int_equal(fgi_step_program_launch(step, NULL, 0, &out, NULL, &err), FG_EINTERNAL);
    fg_array_release(wrong);
    fg_array_release(a);
    fg_array_release(b);
    fgi_step_program_destroy(step);
    fg_variable_destroy(v);
    fg_trace_destroy(trace);
}

/* ---- randomness ------------------------------------------------------------------------------ */

/* What the host says: block (index over [..., ceil(n/2)], place), first words then second words. */
static void check_bits(const uint32_t *got, uint64_t seed, uint64_t step, uint32_t place,
                       uint32_t rows, uint32_t n)
{
    const fgi_key key = fgi_key_fold(fgi_key_from_seed(seed), step);
    const uint32_t half = (n + 1) / 2;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t block[2];
            fgi_threefry2x32(key, r * half + i % half, place, block);
            if (got[r * n + i] != block[i / half])
                fail_msg("place %u, row %u, element %u: %08x, the host has %08x", place, r, i,
                         got[r * n + i], block[i / half]);
        }
}

static void bits_are_the_hosts(void **client)
{
    fg_error err = {0};
    static uint32_t got[4][210];
    fg_array *out[4];
    fg_trace *trace = trace_on(*client);
    const int64_t before = compiles(*client);
    for (uint64_t step = 0; step < 3; step++) {
        const uint64_t seed = step == 2 ? 0xDEADBEEF12345678U : 99;
        fg_trace_set_seed(trace, seed, step << 33);
        const fg_tensor bits[4] = {
            fg_random_bits(trace, FG_DIMS(2, 3, 35)), fg_random_bits(trace, FG_DIMS(8)),
            fg_random_bits(trace, FG_SCALAR), fg_random_bits(trace, FG_DIMS(5, 1))};
        fgt_ok(fg_run(trace, bits, 4, out, &err));
        static const size_t sizes[4] = {210, 8, 1, 5};
        for (int i = 0; i < 4; i++) {
            fgt_ok(fg_array_read(out[i], got[i], sizes[i] * 4, &err));
            fg_array_release(out[i]);
        }
        check_bits(got[0], seed, step << 33, 0, 6, 35);
        check_bits(got[1], seed, step << 33, 1, 1, 8);
        check_bits(got[2], seed, step << 33, 2, 1, 1);
        check_bits(got[3], seed, step << 33, 3, 5, 1);
    }
    assert_int_equal(compiles(*client), before + 1); /* seed and step are inputs */
    fg_trace_destroy(trace);
}

/* A vector of Salmon et al. through the device; then a key and a place with all bits in use. */
static void bits_are_the_known_answers(void **client)
{
    fg_error err = {0};
    uint32_t got[2];
    fg_trace *trace = trace_on(*client);
    trace->key[0].value.u32 = trace->key[1].value.u32 = 0;
    run_into(trace, fg_random_bits(trace, FG_DIMS(2)), got, sizeof got);
    assert_int_equal(got[0], 0x6b200159);
    assert_int_equal(got[1], 0x99ba4efe);
    trace->key[0].value.u32 = 0x13198a2e;
    trace->key[1].value.u32 = 0x03707344;
    trace->random_ids = 0x85a308d3;
    uint32_t block[2];
    fgi_threefry2x32((fgi_key){{0x13198a2e, 0x03707344}}, 0, 0x85a308d3, block);
    run_into(trace, fg_random_bits(trace, FG_DIMS(2)), got, sizeof got);
    assert_memory_equal(got, block, sizeof got);
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

static void uniform_numbers(void **client)
{
    enum { N = 20000 };
    float *got = malloc(N * sizeof *got);
    uint32_t *bits = malloc(N * sizeof *bits);
    fg_trace *trace = trace_on(*client);
    fg_trace_set_seed(trace, 3, 4);
    run_into(trace, fg_random_uniform(trace, FG_DIMS(N)), got, N * sizeof *got);
    run_into(trace, fg_random_bits(trace, FG_DIMS(N)), bits, N * sizeof *bits);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        assert_true(got[i] == (float)(bits[i] >> 8) * 0x1p-24F && got[i] < 1);
        sum += (double)got[i];
    }
    fgt_close("mean", sum / N, 0.5, 0.01, 0);
    free(got);
    free(bits);
    fg_trace_destroy(trace);
}

static void dropout_drops_its_fraction_and_its_gradient(void **client)
{
    enum { N = 20000 };
    fg_error err = {0};
    float *y = malloc(N * sizeof *y), *d = malloc(N * sizeof *d), *z = malloc(N * sizeof *z);
    fg_array *out[3];
    fg_tensor gradient;
    fg_trace *trace = trace_on(*client);
    fg_trace_set_training(trace, true);
    const fg_scalar three = {.dtype = FG_F32, .value.f32 = 3};
    const fg_tensor x = fg_broadcast_to(fg_scalar_value(trace, &three), FG_DIMS(N));
    const fg_tensor dropped = fg_dropout(x, 0.25), again = fg_dropout(x, 0.25);
    fg_grad(fg_sum(dropped, 0, NULL), &x, 1, &gradient);
    fgt_ok(fg_run(trace, (const fg_tensor[]){dropped, gradient, again}, 3, out, &err));
    fgt_ok(fg_array_read(out[0], y, N * sizeof *y, &err));
    fgt_ok(fg_array_read(out[1], d, N * sizeof *d, &err));
    fgt_ok(fg_array_read(out[2], z, N * sizeof *z, &err));
    int kept = 0, differ = 0;
    for (int i = 0; i < N; i++) {
        assert_true(y[i] == 0 || y[i] == 4);
        fgt_close("gradient", (double)d[i], y[i] == 0 ? 0 : 4.0 / 3, 1e-6, 0);
        kept += y[i] != 0;
        differ += y[i] != z[i];
    }
    fgt_close("kept", (double)kept / N, 0.75, 0.01, 0);
    fgt_close("another place differs", (double)differ / N, 2 * 0.25 * 0.75, 0.02, 0);
    for (int i = 0; i < 3; i++)
        fg_array_release(out[i]);
    free(y);
    free(d);
    free(z);
    fg_trace_destroy(trace);
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Losses of `rows` of the eight samples; the last three are filling and weigh nothing. */
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
    fg_array *x_array = array_of(client, &type, logits);
    fg_array *label_array = array_of(client, &label_type, labels);
    fg_trace *trace = trace_on(client);
    if (mask != NULL) {
        const fg_type mask_type = {.dtype = FG_F32, .rank = 1, .dim = {rows}};
        fg_array *mask_array = array_of(client, &mask_type, mask);
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

/* But for the last bit: the compiler adds up in another order. */
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
    cmocka_unit_test(equal_values_have_derivatives_of_their_own),
    cmocka_unit_test(what_equal_values_lead_to_is_kept_apart),
    cmocka_unit_test(constants_have_derivatives),
    cmocka_unit_test(equal_values_are_computed_once),
    cmocka_unit_test(gradients_by_variables_follow_assignments),
    cmocka_unit_test(gradients_by_variables_are_taken_at_the_start),
    cmocka_unit_test(steps_are_launched_with_new_feeds),
    cmocka_unit_test(bits_are_the_hosts),
    cmocka_unit_test(bits_are_the_known_answers),
    cmocka_unit_test(uniform_numbers),
    cmocka_unit_test(dropout_drops_its_fraction_and_its_gradient),
    cmocka_unit_test(masked_tail_is_the_batch_without_it),
};

int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
