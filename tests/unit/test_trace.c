/* test_trace.c - traces without a plugin: the first error and its place, common subexpressions,
 * structural hashes, what the program text says.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "op_calls.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "trace/program.h"

static const fg_type f32_34 = {.dtype = FG_F32, .rank = 2, .dim = {3, 4}};
static const fg_type f32_56 = {.dtype = FG_F32, .rank = 2, .dim = {5, 6}};
static const fg_type f32_4 = {.dtype = FG_F32, .rank = 1, .dim = {4}};
static const fg_type f64_34 = {.dtype = FG_F64, .rank = 2, .dim = {3, 4}};
static const fg_type s32_3 = {.dtype = FG_S32, .rank = 1, .dim = {3}};
static const fg_type u8_34 = {.dtype = FG_U8, .rank = 2, .dim = {3, 4}};
static const fg_type bool_34 = {.dtype = FG_BOOL, .rank = 2, .dim = {3, 4}};
static const fg_type image_type = {.dtype = FG_F32, .rank = 4, .dim = {2, 8, 6, 3}};
static const fg_type kernel_type = {.dtype = FG_F32, .rank = 4, .dim = {3, 3, 3, 4}};
static const fg_type scalar_type = {.dtype = FG_F32};

static fg_trace *trace_of(fg_client *client)
{
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    return trace;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* What the rows of the table use. */
typedef struct operands {
    fg_trace *t;
    fg_tensor m, n, v, d, i, u, b, x, k, s; /* of the types above, in their order */
} operands;

static operands operands_of(fg_trace *t)
{
    const fg_type *types[] = {&f32_34, &f32_56,  &f32_4,      &f64_34,      &s32_3,
                              &u8_34,  &bool_34, &image_type, &kernel_type, &scalar_type};
    fg_tensor made[10];
    for (int i = 0; i < 10; i++)
        made[i] = fgi_trace_feed(t, i, types[i]);
    return (operands){t,       made[0], made[1], made[2], made[3], made[4],
                      made[5], made[6], made[7], made[8], made[9]};
}

/* What fails, how, and the message: the rows of op_cases.h. The location is the row's own line. */
static fg_tensor fgt_part[4]; /* of fg_split */

#define FAILS(expression, code, text)                                                              \
    {                                                                                              \
        fg_trace *trace = trace_of(NULL);                                                          \
        const operands o = operands_of(trace);                                                     \
        const fg_tensor failed = (expression);                                                     \
        check_error(trace, failed, #expression, __FILE__, __LINE__, code, text);                   \
        (void)o;                                                                                   \
    }

static void check_error(fg_trace *trace, fg_tensor failed, const char *what, const char *file,
                        int line, fg_status status, const char *text)
{
    fg_error err = {0};
    if (fg_trace_error(trace, &err) != status)
        fail_msg("%s: %s: %s", what, fg_status_name(err.status), err.message);
    if (strcmp(err.message, text) != 0)
        fail_msg("%s:\nsays  %s\nnot   %s", what, err.message, text);
    if (err.file == NULL || strcmp(err.file, file) != 0 || err.line != line)
        fail_msg("%s: the place is %s:%d, not %s:%d", what, err.file, err.line, file, line);
    assert_int_equal(err.status, status);

    /* It stays the first error; later operations do nothing; the next eager call returns it. */
    const size_t nodes = trace->node_count;
    const fg_tensor later = fg_add(fg_relu(failed), fg_zeros(trace, FG_F64, FG_SCALAR));
    assert_int_equal(fg_tensor_type(later)->dtype, FG_DTYPE_NONE);
    assert_int_equal(fg_tensor_dim(later, 0), 0);
    assert_ptr_equal(fg_tensor_trace(later), trace);
    assert_int_equal(trace->node_count, nodes);
    fg_array *array = (fg_array *)&err;
    fg_error again = {0};
    char *program = (char *)&err;
    assert_int_equal(fg_trace_text(trace, &later, 1, &program, &again), status);
    assert_null(program);
    assert_string_equal(again.message, text);
    assert_int_equal(fg_run(trace, &later, 1, &array, &again), status);
    assert_null(array);
    assert_string_equal(again.message, text);
    assert_int_equal(again.line, line);
    assert_int_equal(fg_trace_error(trace, NULL), FG_OK); /* the run has emptied the trace */
    fg_trace_destroy(trace);
}

#define ROW(id, checks, inputs, expression, reference)
static void errors_of_operations(void **state)
{
    (void)state;
#include "op_cases.h"
}
#undef ROW

static void scalars_of_unsupported_dtypes(void **state)
{
    (void)state;
    FAILS(fg_scalar_value(o.t, &(fg_scalar){.dtype = FG_F64}), FG_EDTYPE,
          "scalar: dtype is f64: expected f32, s32 or u32")
}

/* Steps that are larger than what they step over. */
static void large_strides_take_the_first(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const int64_t start = 1, limit = 4, stride = INT64_MAX;
    const fg_tensor one = fg_slice(o.v, &start, &limit, &stride);
    assert_int_equal(fg_tensor_dim(one, 0), 1);
    fg_tensor d;
    fg_grad(fg_sum(one, 0, NULL), &o.v, 1, &d);
    assert_int_equal(fg_tensor_dim(fg_slice(o.v, &start, &start, &stride), 0), 0);
    fgt_ok(fg_trace_error(trace, &err));
    assert_int_equal(fg_tensor_dim(d, 0), 4);
    fg_trace_destroy(trace);
}

static void many_operands_do_not_run_over(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    enum { MOST = FGI_MAX_INPUTS };
    fg_tensor in[MOST + 1];
    for (int i = 0; i <= MOST; i++)
        in[i] = fgi_trace_feed(trace, i, i < MOST - 1 ? &image_type : &f32_34);
    (void)fg_concat(in, MOST, 0);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_true(strlen(err.message) < sizeof err.message - 1);
    fg_trace_reset(trace);
    for (int i = 0; i <= MOST; i++)
        in[i] = fgi_trace_feed(trace, i, &f32_34);
    assert_int_equal(fg_tensor_dim(fg_concat(in, MOST, 0), 0), 3 * MOST);
    (void)fg_concat(in, MOST + 1, 0);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_string_equal(err.message, "concat: 257 inputs: expected at most 256");
    fg_trace_destroy(trace);
}

static void later_errors_change_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const int line = __LINE__ + 1;
    (void)fg_transpose(o.v);
    (void)fg_reshape(o.m, 9, NULL); /* of an operand that is none the worse */
    (void)fg_full(trace, FG_F32, 0, 9, NULL);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message, "transpose: rank is 1: expected at least 2");
    assert_int_equal(err.line, line);
    fg_trace_destroy(trace);
}

static void gradient_of_what_has_none(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    fg_tensor d;
    const int line = __LINE__ + 1;
    fg_grad(o.m, &o.m, 1, &d);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "grad: the loss is f32[3,4]: expected a floating-point scalar");
    assert_int_equal(err.line, line);
    assert_true(fgi_is_poison(d));
    fg_trace_reset(trace);
    const operands p = operands_of(trace);
    fg_grad(fg_sum(p.i, 0, NULL), &p.m, 1, &d);
    assert_int_equal(fg_trace_error(trace, &err), FG_EDTYPE);
    assert_string_equal(err.message, "grad: the loss is s32[]: expected a floating-point scalar");
    fg_trace_reset(trace);
    const operands q = operands_of(trace);
    fg_grad(fg_sum(q.m, 0, NULL), &q.i, 1, &d);
    assert_int_equal(fg_trace_error(trace, &err), FG_EDTYPE);
    assert_string_equal(
        err.message,
        "grad: tensor 0 is s32[3]: expected a floating-point tensor of the same trace");
    fg_trace_destroy(trace);
}

/* ---- tensors that are not alive -------------------------------------------------------------- */

#define DEAD                                                                                       \
    "a tensor was used after its trace was run, reset or destroyed\n"                              \
    "compute it again, or keep the array that fg_run returns"

static void assert_refused(fg_trace *trace, int line, const char *message)
{
    fg_error err = {0};
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_string_equal(err.message, message);
    assert_int_equal(err.line, line);
    fg_trace_reset(trace);
}

static void tensors_of_an_earlier_generation_are_refused(void **state)
{
    (void)state;
    fg_trace *trace = trace_of(NULL);
    const fg_tensor kept = fg_exp(operands_of(trace).m);
    for (int i = 0; i < 3; i++) { /* also where the memory has long been used again */
        fg_trace_reset(trace);
        operands o = operands_of(trace);
        assert_true(fgi_is_poison(fg_relu(kept)));
        assert_refused(trace, __LINE__ - 1, DEAD);
        o = operands_of(trace);
        assert_true(fgi_is_poison(fg_add(o.m, kept)));
        assert_refused(trace, __LINE__ - 1, DEAD);
        assert_int_equal(fg_tensor_type(kept)->dtype, FG_DTYPE_NONE);
        fg_trace_reset(trace);
    }
    fg_trace_destroy(trace);
}

static void tensors_of_a_destroyed_trace_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    fg_trace *gone = trace_of(NULL);
    const fg_tensor kept = fg_exp(operands_of(gone).m);
    fg_trace_destroy(gone);
    assert_true(fgi_is_poison(fg_relu(kept))); /* no trace at all: nothing to keep an error in */
    fg_trace *trace = trace_of(NULL);
    assert_true(fgi_is_poison(fg_relu(kept)));
    assert_refused(trace, __LINE__ - 1, DEAD);
    assert_int_equal(fg_trace_text(trace, &kept, 1, &text, &err), FG_EINVAL);
    assert_string_equal(err.message, "output 0: " DEAD);
    fg_trace_destroy(trace);
}

static void empty_tensors_are_refused(void **state)
{
    (void)state;
    const fg_tensor empty = {0};
    fg_trace *trace = trace_of(NULL);
    operands o = operands_of(trace);
    (void)fg_matmul(o.m, empty);
    assert_refused(trace, __LINE__ - 1, "an empty tensor was used: it has no value");
    o = operands_of(trace);
    fg_tensor d = o.m;
    fg_grad(fg_sum(o.m, 0, NULL), &empty, 1, &d);
    assert_refused(trace, __LINE__ - 1, "an empty tensor was used: it has no value");
    (void)fg_sum(empty, 0, NULL);
    assert_refused(trace, __LINE__ - 1, "an empty tensor was used: it has no value");
    fg_trace_destroy(trace);
}

static void places_of_traces_are_used_again(void **state)
{
    (void)state;
    enum { AT_MOST = 4095 };
    fg_error err = {0};
    static fg_trace *traces[AT_MOST];
    size_t count = 0;
    while (count < AT_MOST && fg_trace_create(NULL, &traces[count], &err) == FG_OK)
        count++;
    assert_int_equal(count, AT_MOST);
    fg_trace *more;
    assert_int_equal(fg_trace_create(NULL, &more, &err), FG_EUNSUPPORTED);
    assert_null(more);
    fg_trace_destroy(traces[7]);
    traces[7] = trace_of(NULL);
    while (count > 0)
        fg_trace_destroy(traces[--count]);
}

static void values_of_two_traces_do_not_mix(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *one = trace_of(NULL), *two = trace_of(NULL);
    const fg_tensor a = fgi_trace_feed(one, 0, &f32_34), b = fgi_trace_feed(two, 0, &f32_34);
    const int line = __LINE__ + 1;
    (void)fg_mul(a, b);
    assert_int_equal(fg_trace_error(one, &err), FG_EINVAL);
    assert_string_equal(err.message, "mul: input 1 belongs to another trace");
    assert_int_equal(err.line, line);
    assert_int_equal(fg_trace_error(two, &err), FG_OK);
    char *text;
    assert_int_equal(fg_trace_text(two, &a, 1, &text, &err), FG_EINVAL);
    assert_string_equal(err.message, "output 0 belongs to another trace");
    fg_trace_destroy(one);
    fg_trace_destroy(two);
}

/* A function of a library that is compiled with FG_NO_HERE: the parentheses prevent the macro. */
static fg_tensor library_layer(fg_tensor a, fg_tensor b) { return (fg_matmul)(a, b); }
#define library_layer(...) FG_HERE(library_layer(__VA_ARGS__))

static void lines_of_library_calls_are_the_callers(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const int line = __LINE__ + 1;
    (void)library_layer(o.m, o.m);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.file, "test_trace.c"));
    fg_trace_destroy(trace);
}

static void steps_are_not_run_by_hand(void **state)
{
    (void)state;
    fg_error err = {0};
    float value;
    fg_array *array = (fg_array *)&err;
    fg_trace *trace = trace_of(NULL);
    trace->is_step = true;
    const fg_tensor a = fgi_trace_feed(trace, 0, &f32_34);
    assert_int_equal(fg_run(trace, &a, 1, &array, &err), FG_EINVAL);
    assert_null(array);
    fgt_message_is(err.message, "the values of a step are not available while it is traced\nto see "
                                "one, log it with fg_step_log");
    assert_int_equal(fg_run_f32(trace, a, &value, &err), FG_EINVAL);
    fgt_message_is(err.message, "the values of a step are not available while it is traced\nto see "
                                "one, log it with fg_step_log");
    assert_int_equal(fg_trace_error(trace, &err), FG_OK); /* tracing the step continues */
    assert_int_equal(trace->node_count, 1);
    trace->is_step = false;
    assert_int_equal(fg_run(trace, &a, 1, &array, &err), FG_EINVAL);
    assert_string_equal(err.message, "the trace was created without a client: it cannot run");
    fg_trace_destroy(trace);
}

static void loss_that_is_no_number(void **state)
{
    (void)state;
    fg_error err = {0};
    float value;
    fg_trace *trace = trace_of(NULL);
    const fg_tensor a = fgi_trace_feed(trace, 0, &f32_34);
    assert_int_equal(fg_run_f32(trace, a, &value, &err), FG_EDTYPE);
    assert_string_equal(err.message, "run: the output is f32[3,4]: expected f32[]");
    assert_int_equal(fg_run_f32(trace, fg_zeros(trace, FG_F32, FG_DIMS(1)), &value, &err),
                     FG_EDTYPE);
    assert_string_equal(err.message, "run: the output is f32[1]: expected f32[]");
    assert_int_equal(fg_run_f32(trace, fg_zeros(trace, FG_S32, FG_SCALAR), &value, &err),
                     FG_EDTYPE);
    assert_string_equal(err.message, "run: the output is s32[]: expected f32[]");
    fg_trace_destroy(trace);
}

static void masks_are_one_number_a_sample(void **state)
{
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    operands o = operands_of(trace);
    fg_tensor mask;
    assert_false(fg_trace_mask(trace, &mask));
    fg_trace_set_mask(trace, o.v);
    assert_true(fg_trace_mask(trace, &mask));
    assert_true(mask.handle == o.v.handle);
    (void)fg_cross_entropy(o.m, o.i, NULL);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "batch_axis: dimension 0 has 3 elements, but the trace's mask has 4 rows");
    fg_trace_reset(trace);
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(2)));
    (void)fg_cross_entropy(fg_zeros(trace, FG_F32, FG_DIMS(3, 4)),
                           fg_zeros(trace, FG_S32, FG_DIMS(3)), NULL);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "batch_axis: dimension 0 has 3 elements, but the trace's mask has 2 rows");
    fg_trace_reset(trace);
    assert_false(fg_trace_mask(trace, &mask)); /* it was part of that iteration */
    o = operands_of(trace);
    fg_trace_set_mask(trace, o.m);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message, "mask(f32[3,4]): expected f32[B], one number per sample");
    fg_trace_reset(trace);
    fg_trace_set_mask(trace, operands_of(trace).i);
    assert_int_equal(fg_trace_error(trace, &err), FG_EDTYPE);
    fg_trace_destroy(trace);
}

static void masks_are_f32_and_not_of_steps(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    fg_trace_set_mask(trace, fg_cast(operands_of(trace).v, FG_F64));
    assert_int_equal(fg_trace_error(trace, &err), FG_EDTYPE);
    assert_string_equal(err.message, "mask(f64[4]): expected f32[B], one number per sample");
    fg_trace_reset(trace);
    trace->is_step = true;
    fg_trace_set_mask(trace, operands_of(trace).v);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_string_equal(
        err.message, "mask: the Trainer masks padding rows itself\nto exclude more, pass weights "
                     "to the loss and the metrics (fg_weighted_mean, fg_cross_entropy, "
                     "fg_step_log_weighted)");
    fg_trace_destroy(trace);
}

/* ---- structure ------------------------------------------------------------------------------- */

/* Two nodes, of which one program computes one. */
static bool equal(fg_tensor a, fg_tensor b)
{
    assert_true(a.handle != b.handle);
    const bool same = fgi_hash_equal(fgi_node_of(a)->hash, fgi_node_of(b)->hash);
    assert_int_equal(same, fgi_node_of(a)->first == fgi_node_of(b)->first);
    return same;
}

static void equal_applications_have_one_structure(void **state)
{
    (void)state;
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    assert_true(equal(fg_exp(o.m), fg_exp(o.m)));
    assert_true(equal(fg_add(o.m, o.v), fg_add(o.v, o.m)));
    assert_true(equal(fg_maximum(o.m, o.v), fg_maximum(o.v, o.m)));
    assert_false(equal(fg_sub(o.m, o.v), fg_sub(o.v, o.m)));
    assert_false(equal(fg_lt(o.m, o.v), fg_lt(o.v, o.m)));
    assert_true(equal(fg_mul_scalar(o.m, 0.5), fg_mul_scalar(o.m, 0.5)));
    assert_false(equal(fg_mul_scalar(o.m, 0.5), fg_mul_scalar(o.m, 0.25)));
    assert_false(equal(fg_mul_scalar(o.m, -1), o.m));
    assert_false(equal(fg_mul_scalar(o.m, 0), o.m));
    assert_false(
        equal(fg_full(trace, FG_F32, 0.0, FG_SCALAR), fg_full(trace, FG_F32, -0.0, FG_SCALAR)));
    assert_true(
        equal(fg_full(trace, FG_S32, 0.0, FG_SCALAR), fg_full(trace, FG_S32, -0.0, FG_SCALAR)));
    assert_false(
        equal(fg_zeros(trace, FG_F32, FG_DIMS(2, 3)), fg_zeros(trace, FG_F32, FG_DIMS(3, 2))));
    assert_false(equal(fg_sum(o.m, 1, (const int[]){0}), fg_sum(o.m, 1, (const int[]){1})));
    assert_true(equal(fg_sum(o.m, 1, (const int[]){-1}), fg_sum(o.m, 1, (const int[]){1})));
    assert_false(equal(fg_random_bits(trace, FG_DIMS(4)), fg_random_bits(trace, FG_DIMS(4))));
    fg_trace_destroy(trace);
}

static void negative_axes_count_from_the_end(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const fg_tensor a[] = {o.x, o.x}, at = fg_zeros(trace, FG_S32, FG_DIMS(2, 3));
    assert_true(equal(fg_iota(trace, FG_S32, -3, FG_DIMS(2, 3, 2, 5)),
                      fg_iota(trace, FG_S32, 1, FG_DIMS(2, 3, 2, 5))));
    assert_true(equal(fg_concat(a, 2, -3), fg_concat(a, 2, 1)));
    assert_true(equal(fg_flatten(o.x, -3), fg_flatten(o.x, 1)));
    assert_true(equal(fg_permute(o.x, (const int[]){-3, -4, -1, -2}),
                      fg_permute(o.x, (const int[]){1, 0, 3, 2})));
    assert_true(
        equal(fg_reverse(o.x, 2, (const int[]){-3, 3}), fg_reverse(o.x, 2, (const int[]){1, -1})));
    assert_true(equal(fg_max(o.x, 2, (const int[]){-4, -2}), fg_max(o.x, 2, (const int[]){0, 2})));
    assert_true(equal(fg_gather(o.x, at, -2, 1), fg_gather(o.x, at, 2, 1)));
    const fg_dot_options negative = {
        .batch_count = 1, .a_batch = {-1}, .b_batch = {-2}, .contract_count = 0};
    const fg_dot_options positive = {.batch_count = 1, .a_batch = {3}, .b_batch = {0}};
    assert_true(equal(fg_dot(o.x, o.m, &negative), fg_dot(o.x, o.m, &positive)));
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

static void have_dtype(const fg_tensor *tensors, size_t count, fg_dtype dtype)
{
    for (size_t i = 0; i < count; i++)
        if (fg_tensor_type(tensors[i])->dtype != dtype)
            fail_msg("%zu: %s, not %s", i, fg_dtype_name(fg_tensor_type(tensors[i])->dtype),
                     fg_dtype_name(dtype));
}

/* Half precision is kept, except by losses. */
static void results_have_the_dtype_of_their_operands(void **state)
{
    (void)state;
    static const fg_dtype dtypes[] = {FG_BF16, FG_F16, FG_F32, FG_F64};
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const fg_tensor box = fg_ones(trace, FG_F32, FG_DIMS(2, 4));
    const fg_tensor map = fg_ones(trace, FG_F32, FG_DIMS(2, 2, 3));
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        const fg_tensor x = fg_cast(o.x, dtypes[i]), m = fg_cast(o.m, dtypes[i]);
        const fg_tensor of_m[] = {
            fg_sum(m, 0, NULL), fg_mean(m, 0, NULL), fg_max(m, 0, NULL),           fg_softmax(m),
            fg_log_softmax(m),  fg_logsumexp(m),     fg_matmul(m, fg_transpose(m))};
        const fg_tensor of_x[] = {fg_max_pool(x, NULL), fg_avg_pool(x, NULL), fg_global_avg_pool(x),
                                  fg_crop_resize(x, box, 2, 2, NULL),
                                  fg_affine_sample(x, map, NULL)};
        const fg_tensor losses[] = {fg_mse(m, m), fg_cross_entropy(m, o.i, NULL),
                                    fg_cross_entropy(m, m, NULL), fg_weighted_mean(m, m)};
        const fg_tensor correct = fg_accuracy(m, o.i), index = fg_argmax(m);
        have_dtype(of_m, sizeof of_m / sizeof *of_m, dtypes[i]);
        have_dtype(of_x, sizeof of_x / sizeof *of_x, dtypes[i]);
        have_dtype(losses, 4, dtypes[i] == FG_F64 ? FG_F64 : FG_F32);
        have_dtype(&correct, 1, FG_F32);
        have_dtype(&index, 1, FG_S32);
    }
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

/* Of two floating dtypes, the wider one, or f32 if neither can represent the other. */
static void mixed_precision_widens_the_narrower_operand(void **state)
{
    static const fg_dtype rows[][3] = {{FG_F32, FG_BF16, FG_F32},
                                       {FG_BF16, FG_F32, FG_F32},
                                       {FG_BF16, FG_F16, FG_F32},
                                       {FG_F16, FG_BF16, FG_F32}};
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    fgt_ok(fg_trace_set_precision(trace, "bf16-mixed", &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_tensor sum =
            fg_add(fg_ones(trace, rows[i][0], FG_SCALAR), fg_ones(trace, rows[i][1], FG_SCALAR));
        fgt_ok(fg_trace_error(trace, &err));
        assert_int_equal(fg_tensor_type(sum)->dtype, rows[i][2]);
    }
    fg_trace_destroy(trace);
}

/* Also of contracted axes that have another order in the other operand. */
static void gradients_have_the_types_of_what_they_belong_to(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const fg_type types[] = {{.dtype = FG_F32, .rank = 4, .dim = {2, 3, 4, 5}},
                             {.dtype = FG_F32, .rank = 4, .dim = {5, 6, 3, 4}}};
    const fg_tensor in[] = {fgi_trace_feed(trace, 0, &types[0]),
                            fgi_trace_feed(trace, 1, &types[1])};
    const fg_dot_options three = {
        .contract_count = 3, .a_contract = {3, 1, 2}, .b_contract = {0, 2, 3}};
    const fg_dot_options swapped = {
        .contract_count = 3, .a_contract = {2, 3, 1}, .b_contract = {3, 0, 2}};
    for (int k = 0; k < 2; k++) {
        fg_tensor d[2];
        fg_grad(fg_sum(fg_dot(in[0], in[1], k == 0 ? &three : &swapped), 0, NULL), in, 2, d);
        fgt_ok(fg_trace_error(trace, &err));
        for (int i = 0; i < 2; i++)
            assert_true(fg_type_equal(fg_tensor_type(d[i]), &types[i]));
    }
    fg_trace_destroy(trace);
}

/* What is exactly as large as allowed; a side of affine_sample that is given alone. */
static void limits_are_included(void **state)
{
    (void)state;
    static const float table[16384];
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {16384}};
    const fg_tensor map = fg_zeros(trace, FG_F32, FG_DIMS(2, 2, 3));
    const int64_t rows[] = {3, 2}, none[] = {0, 0};
    assert_int_equal(fg_tensor_dim(fg_constant(trace, &type, table), 0), 16384);
    assert_int_equal(fg_tensor_dim(fg_one_hot(o.i, 0, FG_F32), 1), 0);
    assert_int_equal(fg_tensor_dim(fg_slice(o.m, none, rows, (const int64_t[]){2, 5}), 0), 2);
    assert_int_equal(fg_tensor_dim(fg_slice(o.m, none, rows, (const int64_t[]){3, 5}), 0), 1);
    assert_int_equal(fg_tensor_type(fg_reshape(o.m, FG_DIMS(1, 1, 1, 1, 1, 1, 3, 4)))->rank, 8);
    (void)fg_cross_entropy(o.m, o.i, &(fg_cross_entropy_options){.ignore_index = INT32_MIN});
    (void)fg_cross_entropy(o.m, o.i, &(fg_cross_entropy_options){.ignore_index = INT32_MAX});
    (void)fg_cross_entropy(o.m, o.i, &(fg_cross_entropy_options){.label_smoothing = 1});
    (void)fg_conv2d(o.x, fg_zeros(trace, FG_F32, FG_DIMS(8, 6, 3, 1)), NULL);
    (void)fg_conv2d(o.x, o.k, &(fg_conv2d_options){.stride = 1 << 30});
    (void)fg_max_pool(o.x, &(fg_pool_options){.size = 6, .pad = 5});
    (void)fg_max_pool(o.x, &(fg_pool_options){.size = 6});
    (void)fg_crop_resize(o.x, fg_ones(trace, FG_F32, FG_DIMS(2, 4)), 1 << 30, 1, NULL);
    (void)fg_gather(o.x, fg_zeros(trace, FG_S32, FG_DIMS(2, 8, 1, 1, 1, 1, 1)), 2, 2);
    const fg_tensor high = fg_affine_sample(o.x, map, &(fg_affine_options){.height = 3});
    const fg_tensor wide = fg_affine_sample(o.x, map, &(fg_affine_options){.width = 9});
    assert_true(fg_tensor_dim(high, 1) == 3 && fg_tensor_dim(high, 2) == 6);
    assert_true(fg_tensor_dim(wide, 1) == 8 && fg_tensor_dim(wide, 2) == 9);
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

static void what_does_nothing_makes_no_node(void **state)
{
    (void)state;
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const int64_t none[2] = {0, 0};
    const size_t nodes = trace->node_count;
    assert_true(fg_cast(o.m, FG_F32).handle == o.m.handle);
    assert_true(fg_reshape(o.m, FG_DIMS(3, -1)).handle == o.m.handle);
    assert_true(fg_permute(o.m, (const int[]){0, 1}).handle == o.m.handle);
    assert_true(fg_broadcast_to(o.m, FG_DIMS(3, 4)).handle == o.m.handle);
    assert_true(fg_pad(o.m, 1, none, none, NULL).handle == o.m.handle);
    assert_true(fg_reverse(o.m, 0, NULL).handle == o.m.handle);
    assert_true(fg_concat(&o.m, 1, 0).handle == o.m.handle);
    assert_true(fg_sum(o.s, 0, NULL).handle == o.s.handle);
    assert_true(fg_mul_scalar(o.m, 1).handle == o.m.handle);
    assert_true(fg_dropout(o.m, 0.5).handle == o.m.handle); /* not training */
    fg_trace_set_training(trace, true);
    assert_true(fg_dropout(o.m, 0).handle == o.m.handle);
    assert_int_equal(trace->node_count, nodes);
    assert_true(fg_dropout(o.m, 0.5).handle != o.m.handle);
    fg_trace_destroy(trace);
}

static fgi_hash model(fg_trace *trace, const fg_type *type, double factor)
{
    const fg_tensor a = fgi_trace_feed(trace, 0, type);
    fg_tensor d;
    const fg_tensor loss = fg_sum(fg_tanh(fg_mul_scalar(a, factor)), 0, NULL);
    fg_grad(loss, &a, 1, &d);
    return fgi_node_of(d)->hash;
}

static void structure_alone_makes_the_hash(void **state)
{
    (void)state;
    fg_trace *one = trace_of(NULL), *two = trace_of(NULL);
    fg_scope_push(two, "elsewhere");
    const fgi_hash a = model(one, &f32_34, 0.5), b = model(two, &f32_34, 0.5);
    assert_true(fgi_hash_equal(a, b));
    assert_false(fgi_hash_equal(a, model(one, &f32_34, 0.75)));
    assert_false(fgi_hash_equal(a, model(one, &f64_34, 0.5)));
    fg_trace_reset(one);
    assert_true(fgi_hash_equal(b, model(one, &f32_34, 0.5)));
    fg_trace_destroy(one);
    fg_trace_destroy(two);
}

/* More adjacent slices than can be concatenated. */
static void gradients_of_many_slices(void **state)
{
    (void)state;
    enum { SLICES = 130 };
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const fg_type type = {.dtype = FG_F32, .rank = 1, .dim = {SLICES}};
    const fg_tensor a = fgi_trace_feed(trace, 0, &type);
    fg_tensor loss = fg_zeros(trace, FG_F32, FG_SCALAR), d;
    for (int64_t i = 0; i < SLICES; i++) {
        const int64_t limit = i + 1;
        loss = fg_add(loss, fg_reshape(fg_exp(fg_slice(a, &i, &limit, NULL)), FG_SCALAR));
    }
    fg_grad(loss, &a, 1, &d);
    fgt_ok(fg_trace_error(trace, &err));
    assert_int_equal(fg_tensor_dim(d, 0), SLICES);
    fg_trace_destroy(trace);
}

static void gradients_of_what_is_not_reached_are_zeros(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const fg_tensor wrt[4] = {o.m, o.v, o.d, o.n};
    const fg_tensor whole = fg_cast(fg_cast(o.n, FG_S32), FG_F32); /* integers have no gradient */
    const fg_tensor stopped =
        fg_mul(fg_add(fg_stop_gradient(o.n), whole), fg_cast(fg_gt(o.n, o.n), FG_F32));
    const fg_tensor loss = fg_add(fg_sum(fg_add(o.m, o.v), 0, NULL), fg_sum(stopped, 0, NULL));
    fg_tensor d[4];
    fg_grad(loss, wrt, 4, d);
    fgt_ok(fg_trace_error(trace, &err));
    assert_int_equal(fg_tensor_dim(d[0], 1), 4);
    assert_int_equal(fg_tensor_type(d[1])->rank, 1);
    assert_true(equal(d[2], fg_zeros(trace, FG_F64, FG_DIMS(3, 4))));
    assert_true(equal(d[3], fg_zeros(trace, FG_F32, FG_DIMS(5, 6))));
    fg_trace_destroy(trace);
}

/* ---- resets ---------------------------------------------------------------------------------- */

/* Scopes that are open are closed, also those beyond the deepest that is kept. */
static void resets_close_scopes(void **state)
{
    (void)state;
    fg_trace *trace = trace_of(NULL);
    for (int i = 0; i < FGI_SCOPE_DEPTH + 2; i++)
        fg_scope_push(trace, "deep");
    fg_trace_reset(trace);
    assert_null(fgi_node_of(fg_exp(operands_of(trace).m))->scope);
    fg_scope_push(trace, "one");
    const fg_tensor inside = fg_exp(operands_of(trace).m);
    assert_string_equal(fgi_node_of(inside)->scope, "one");
    fg_scope_pop(trace);
    assert_null(fgi_node_of(fg_exp(operands_of(trace).m))->scope);
    fg_scope_pop(trace); /* nothing to close */
    for (int i = 0; i < FGI_SCOPE_DEPTH + 2; i++)
        fg_scope_push(trace, "deep");
    for (int i = 0; i < FGI_SCOPE_DEPTH + 1; i++)
        fg_scope_pop(trace);
    assert_string_equal(fgi_node_of(fg_exp(operands_of(trace).m))->scope, "deep");
    fg_trace_destroy(trace);
}

static void resets_keep_settings(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    assert_false(fg_trace_training(trace));
    assert_string_equal(fg_trace_precision(trace), "32-true");
    assert_int_equal(fg_trace_float(trace), FG_F32);
    fg_trace_set_training(trace, true);
    fg_trace_set_seed(trace, 7, 8);
    fgt_ok(fg_trace_set_precision(trace, "64-true", &err));
    const uint32_t key[] = {trace->key[0].value.u32, trace->key[1].value.u32};
    fg_trace_reset(trace);
    assert_true(fg_trace_training(trace));
    assert_string_equal(fg_trace_precision(trace), "64-true");
    assert_int_equal(fg_trace_float(trace), FG_F64);
    assert_true(trace->key[0].value.u32 == key[0] && trace->key[1].value.u32 == key[1]);
    fgt_ok(fg_trace_set_precision(trace, "", &err));
    assert_string_equal(fg_trace_precision(trace), "32-true");
    assert_int_equal(fg_trace_set_precision(trace, "bf16-mixd", &err), FG_EINVAL);
    assert_string_equal(err.message, "unknown precision 'bf16-mixd': did you mean 'bf16-mixed'? "
                                     "expected 32-true, bf16-mixed, bf16-true, 16-mixed, 16-true "
                                     "or 64-true");
    fg_trace_destroy(trace);
}

static void dimensions_out_of_range_are_zero(void **state)
{
    static const int64_t dims[] = {0, 2, 8, 6, 3, 2, 8, 6, 3, 0};
    (void)state;
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    for (int axis = -5; axis <= 4; axis++)
        assert_int_equal(fg_tensor_dim(o.x, axis), dims[axis + 5]);
    assert_int_equal(fg_tensor_dim(o.s, 0), 0);
    assert_int_equal(fg_tensor_dim(o.s, -1), 0);
    fg_trace_destroy(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(errors_of_operations),
    cmocka_unit_test(scalars_of_unsupported_dtypes),
    cmocka_unit_test(large_strides_take_the_first),
    cmocka_unit_test(many_operands_do_not_run_over),
    cmocka_unit_test(later_errors_change_nothing),
    cmocka_unit_test(gradient_of_what_has_none),
    cmocka_unit_test(tensors_of_an_earlier_generation_are_refused),
    cmocka_unit_test(tensors_of_a_destroyed_trace_are_refused),
    cmocka_unit_test(empty_tensors_are_refused),
    cmocka_unit_test(places_of_traces_are_used_again),
    cmocka_unit_test(values_of_two_traces_do_not_mix),
    cmocka_unit_test(lines_of_library_calls_are_the_callers),
    cmocka_unit_test(steps_are_not_run_by_hand),
    cmocka_unit_test(loss_that_is_no_number),
    cmocka_unit_test(masks_are_one_number_a_sample),
    cmocka_unit_test(masks_are_f32_and_not_of_steps),
    cmocka_unit_test(equal_applications_have_one_structure),
    cmocka_unit_test(negative_axes_count_from_the_end),
    cmocka_unit_test(results_have_the_dtype_of_their_operands),
    cmocka_unit_test(gradients_have_the_types_of_what_they_belong_to),
    cmocka_unit_test(mixed_precision_widens_the_narrower_operand),
    cmocka_unit_test(limits_are_included),
    cmocka_unit_test(what_does_nothing_makes_no_node),
    cmocka_unit_test(structure_alone_makes_the_hash),
    cmocka_unit_test(gradients_of_many_slices),
    cmocka_unit_test(gradients_of_what_is_not_reached_are_zeros),
    cmocka_unit_test(resets_close_scopes),
    cmocka_unit_test(resets_keep_settings),
    cmocka_unit_test(dimensions_out_of_range_are_zero),
};
FGT_MAIN(tests)
