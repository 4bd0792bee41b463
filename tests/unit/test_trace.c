/* test_trace.c - traces without a plugin: the first error and its place, common subexpressions,
 * structural hashes, what the program text says.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

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

/* Each row: what fails, how, and the message. The location is the row's own line: each expression
 * is on one line, so that the innermost operation is too. */
#define FAILS(expression, code, text)                                                              \
    {                                                                                              \
        fg_trace *trace = trace_of(NULL);                                                          \
        const operands o = operands_of(trace);                                                     \
        const fg_tensor failed = (expression);                                                     \
        check_error(trace, failed, #expression, __LINE__, code, text);                             \
        (void)o;                                                                                   \
    }

static void check_error(fg_trace *trace, fg_tensor failed, const char *what, int line,
                        fg_status status, const char *text)
{
    fg_error err = {0};
    if (fg_trace_error(trace, &err) != status)
        fail_msg("%s: %s: %s", what, fg_status_name(err.status), err.message);
    if (strcmp(err.message, text) != 0)
        fail_msg("%s:\nsays  %s\nnot   %s", what, err.message, text);
    if (err.file == NULL || strcmp(err.file, __FILE__) != 0 || err.line != line)
        fail_msg("%s: the place is %s:%d, not line %d", what, err.file, err.line, line);
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

/* clang-format off */
static void operands_that_do_not_agree(void **state)
{
    (void)state;
    FAILS(fg_matmul(o.m, o.n), FG_ESHAPE, "matmul(f32[3,4], f32[5,6]): inner sizes differ: 4, 5")
    FAILS(fg_relu(fg_matmul(o.m, o.d)), FG_EDTYPE, "matmul(f32[3,4], f64[3,4]): the dtypes differ: cast one of them")
    FAILS(fg_matmul(o.m, o.v), FG_ESHAPE, "matmul(f32[3,4], f32[4]): expected two tensors of the same rank, at least 2")
    FAILS(fg_matmul(o.b, o.b), FG_EDTYPE, "matmul(bool[3,4], bool[3,4]): expected a numeric dtype, not bool: cast it first")
    FAILS(fg_add(o.m, o.n), FG_ESHAPE, "add(f32[3,4], f32[5,6]): the shapes cannot be broadcast")
    FAILS(fg_sub(o.m, o.d), FG_EDTYPE, "sub(f32[3,4], f64[3,4]): the dtypes differ: cast one of them")
    FAILS(fg_mul(o.b, o.b), FG_EDTYPE, "mul(bool[3,4], bool[3,4]): expected a numeric dtype, not bool: cast it first")
    
    FAILS(fg_pow(o.i, o.i), FG_EDTYPE, "pow(s32[3], s32[3]): expected a floating-point dtype: cast it first")
    FAILS(fg_exp(o.u), FG_EDTYPE, "exp(u8[3,4]): expected a floating-point dtype: cast it first")
    FAILS(fg_neg(o.b), FG_EDTYPE, "neg(bool[3,4]): expected a numeric dtype, not bool: cast it first")
    FAILS(fg_abs(o.u), FG_EDTYPE, "abs(u8[3,4]): expected a signed dtype: cast it first")
    FAILS(fg_sign(o.u), FG_EDTYPE, "sign(u8[3,4]): expected a signed dtype: cast it first")
    FAILS(fg_and(o.m, o.m), FG_EDTYPE, "and(f32[3,4], f32[3,4]): expected bool or an integer dtype")
    FAILS(fg_or(o.b, o.u), FG_EDTYPE, "or(bool[3,4], u8[3,4]): the dtypes differ: cast one of them")
    FAILS(fg_not(o.m), FG_EDTYPE, "not(f32[3,4]): expected bool or an integer dtype")
    FAILS(fg_is_finite(o.i), FG_EDTYPE, "is_finite(s32[3]): expected a floating-point dtype: cast it first")
    FAILS(fg_lt(o.m, o.d), FG_EDTYPE, "lt(f32[3,4], f64[3,4]): the dtypes differ: cast one of them")
    FAILS(fg_eq(o.m, o.n), FG_ESHAPE, "eq(f32[3,4], f32[5,6]): the shapes cannot be broadcast")
    FAILS(fg_where(o.m, o.m, o.m), FG_EDTYPE, "where(f32[3,4], f32[3,4], f32[3,4]): expected a bool condition as the first operand")
    FAILS(fg_where(o.b, o.m, o.d), FG_EDTYPE, "where(bool[3,4], f32[3,4], f64[3,4]): the dtypes differ: cast one of them")
    FAILS(fg_where(o.b, o.n, o.n), FG_ESHAPE, "where(bool[3,4], f32[5,6], f32[5,6]): the shapes cannot be broadcast")
    FAILS(fg_cast(o.m, (fg_dtype)99), FG_EDTYPE, "cast(f32[3,4]): unknown dtype 99")
    FAILS(fg_mul_scalar(o.i, 0.5), FG_EINVAL, "full: s32 cannot represent 0.5")
    FAILS(fg_add_scalar(o.u, 256), FG_EINVAL, "full: u8 cannot represent 256")
}

static void shapes_that_do_not_exist(void **state)
{
    (void)state;
    FAILS(fg_reshape(o.m, FG_DIMS(5, -1)), FG_ESHAPE, "reshape(f32[3,4]): 12 elements cannot be reshaped to f32[5,2]")
    FAILS(fg_reshape(o.m, FG_DIMS(-1, -1)), FG_EINVAL, "reshape: only one dimension may be -1")
    FAILS(fg_reshape(o.m, FG_DIMS(-3, -4)), FG_ESHAPE, "reshape(f32[3,4]): dimension 0 of the result would be negative")
    FAILS(fg_reshape(o.m, FG_DIMS(INT64_MAX, 4)), FG_ESHAPE, "reshape: the shape has more than 2^63 - 1 elements")
    FAILS(fg_reshape(o.m, 9, NULL), FG_ESHAPE, "reshape: rank is 9: expected 0 to 8")
    FAILS(fg_flatten(o.m, 2), FG_EINVAL, "flatten: axis 2 is out of range for rank 2")
    FAILS(fg_permute(o.m, (const int[]){0, 2}), FG_EINVAL, "permute(f32[3,4]): axis 2 is out of range for rank 2")
    FAILS(fg_permute(o.m, (const int[]){1, 1}), FG_EINVAL, "permute(f32[3,4]): an axis is given twice")
    FAILS(fg_transpose(o.v), FG_ESHAPE, "transpose: rank is 1: expected at least 2")
    FAILS(fg_broadcast_to(o.v, FG_DIMS(4, 3)), FG_ESHAPE, "broadcast(f32[4]): cannot be broadcast to that shape")
    FAILS(fg_broadcast_to(o.m, FG_DIMS(4)), FG_ESHAPE, "broadcast(f32[3,4]): cannot be broadcast to that shape")
    FAILS(fg_broadcast_to(o.s, FG_DIMS(INT64_MAX, 2)), FG_ESHAPE, "broadcast(f32[]): the result would have more than 2^63 - 1 elements")
    FAILS(fg_slice(o.v, (const int64_t[]){1}, (const int64_t[]){5}, NULL), FG_ESHAPE, "slice(f32[4]): dimension 0: 1 to 5 by 1 is outside 0 to 4")
    FAILS(fg_slice(o.v, (const int64_t[]){0}, (const int64_t[]){4}, (const int64_t[]){0}), FG_ESHAPE, "slice(f32[4]): dimension 0: 0 to 4 by 0 is outside 0 to 4")
    FAILS(fg_pad(o.v, 0, (const int64_t[]){-3}, (const int64_t[]){-2}, NULL), FG_ESHAPE, "pad(f32[4], f32[]): dimension 0 of the result would be negative")
    FAILS(fg_pad(o.v, 0, (const int64_t[]){0}, (const int64_t[]){0}, (const int64_t[]){-1}), FG_EINVAL, "pad(f32[4], f32[]): interior of dimension 0 is negative")
    FAILS(fg_pad(o.v, 0, (const int64_t[]){INT64_MAX}, (const int64_t[]){0}, NULL), FG_ESHAPE, "pad(f32[4], f32[]): dimension 0 of the result would have more than 2^63 - 1 elements")
    FAILS(fg_pad(o.v, 0, (const int64_t[]){INT64_MAX}, (const int64_t[]){INT64_MAX}, NULL), FG_ESHAPE, "pad(f32[4], f32[]): dimension 0 of the result would have more than 2^63 - 1 elements")
    FAILS(fg_pad(o.v, 0, (const int64_t[]){0}, (const int64_t[]){0}, (const int64_t[]){INT64_MAX / 2}), FG_ESHAPE, "pad(f32[4], f32[]): dimension 0 of the result would have more than 2^63 - 1 elements")
    FAILS(fg_pad(o.v, 0, (const int64_t[]){INT64_MAX}, (const int64_t[]){INT64_MIN}, NULL), FG_ESHAPE, "pad(f32[4], f32[]): the padding of dimension 0 is too large")
    FAILS(fg_pad(o.v, 0, (const int64_t[]){INT64_MAX / 8}, (const int64_t[]){INT64_MAX / 4}, NULL), FG_ESHAPE, "pad(f32[4], f32[]): the result would have more than 2^63 - 1 elements")
    FAILS(fg_conv2d(o.x, o.k, &(fg_conv2d_options){.groups = INT64_MAX / 2}), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,3,3,4]): 3 input channels in 4611686018427387903 groups do not match a kernel with 3 input and 4 output channels")
    FAILS(fg_zeros(o.t, FG_F32, FG_DIMS(0, INT64_MAX, INT64_MAX)), FG_ESHAPE, "full: its size overflows 64 bits")
    FAILS(fg_broadcast_to(o.s, FG_DIMS(INT64_MAX, 0, 4)), FG_ESHAPE, "broadcast(f32[]): the result would have more than 2^63 - 1 elements")
    FAILS(fg_iota(o.t, FG_S32, 0, FG_DIMS(INT64_MAX)), FG_ESHAPE, "iota: its size overflows 64 bits")
    FAILS(fg_random_bits(o.t, FG_DIMS(INT64_MAX)), FG_ESHAPE, "random_bits: its size overflows 64 bits")
    FAILS(fg_concat((const fg_tensor[]){o.m, o.n}, 2, 0), FG_ESHAPE, "concat(f32[3,4], f32[5,6]): the shapes differ in dimensions other than axis 0")
    FAILS(fg_concat((const fg_tensor[]){o.m, o.d}, 2, 0), FG_EDTYPE, "concat(f32[3,4], f64[3,4]): the dtypes differ")
    FAILS(fg_concat((const fg_tensor[]){o.m, o.m}, 2, 2), FG_EINVAL, "concat: axis 2 is out of range for rank 2 or given twice")
    FAILS(fg_reverse(o.m, 2, (const int[]){0, -2}), FG_EINVAL, "reverse: axis -2 is out of range for rank 2 or given twice")
    FAILS(fg_sum(o.m, 1, (const int[]){-3}), FG_EINVAL, "sum: axis -3 is out of range for rank 2 or given twice")
    FAILS(fg_sum(o.b, 0, NULL), FG_EDTYPE, "sum(bool[3,4]): expected a numeric dtype, not bool: cast it first")
    FAILS(fg_mean(o.i, 0, NULL), FG_EDTYPE, "mean: expected a floating-point dtype, got s32: cast it first")
    FAILS(fg_max(o.m, 2, (const int[]){1, 1}), FG_EINVAL, "max: axis 1 is out of range for rank 2 or given twice")
    FAILS(fg_softmax(o.s), FG_ESHAPE, "softmax: expected at least one dimension")
    FAILS(fg_log_softmax(o.s), FG_ESHAPE, "log_softmax: expected at least one dimension")
    FAILS(fg_logsumexp(o.s), FG_ESHAPE, "logsumexp: expected at least one dimension")
    FAILS(fg_argmax(o.s), FG_ESHAPE, "argmax: expected at least one dimension")
    FAILS(fg_zeros(o.t, FG_F32, FG_DIMS(2, -1)), FG_ESHAPE, "full: dimension 1 is negative")
    FAILS(fg_zeros(o.t, FG_U8, FG_DIMS(INT64_MAX, 2)), FG_ESHAPE, "full: its size overflows 64 bits")
    FAILS(fg_full(o.t, FG_F32, 0, 9, NULL), FG_ESHAPE, "full: rank is 9: expected 0 to 8")
    FAILS(fg_ones(o.t, FG_DTYPE_NONE, FG_SCALAR), FG_EDTYPE, "full: unknown dtype 0")
    FAILS(fg_full(o.t, FG_S8, (double)NAN, FG_SCALAR), FG_EINVAL, "full: s8 cannot represent nan")
    FAILS(fg_iota(o.t, FG_F32, 1, FG_DIMS(3)), FG_EINVAL, "iota: axis 1 is out of range for rank 1, or dtype f32 is not arithmetic")
    FAILS(fg_iota(o.t, FG_BOOL, 0, FG_DIMS(3)), FG_EINVAL, "iota: axis 0 is out of range for rank 1, or dtype bool is not arithmetic")
    FAILS(fg_constant(o.t, &bool_34, "abcdefghijkl"), FG_EDTYPE, "constant: bool is not supported: pass u8 and cast it")
    FAILS(fg_constant(o.t, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {20000}}, NULL), FG_EINVAL, "constant: 80000 bytes would be embedded in the program: expected at most 65536; use an input or a variable")
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

static void layers_that_do_not_fit(void **state)
{
    (void)state;
    const fg_conv2d_options two_groups = {.groups = 2}, wide = {.dilation = 4}, back = {.stride = -1};
    const fg_dot_options no_axis = {.contract_count = 1, .a_contract = {2}}, f64_sum = {.result = FG_F64};
    const fg_dot_options twice = {.contract_count = 2, .a_contract = {0, 0}, .b_contract = {0, 1}};
    const fg_dot_options batch = {.batch_count = 1, .a_batch = {0}, .b_batch = {1}};
    const fg_cross_entropy_options smooth = {.label_smoothing = 1.5};
    FAILS(fg_conv2d(o.m, o.k, NULL), FG_ESHAPE, "conv2d(f32[3,4], f32[3,3,3,4]): expected x [N,H,W,C] and a kernel [kh,kw,C/groups,Co]")
    FAILS(fg_conv2d(o.x, fg_cast(o.k, FG_BF16), NULL), FG_EDTYPE, "conv2d(f32[2,8,6,3], bf16[3,3,3,4]): expected two operands of one floating-point dtype")
    FAILS(fg_conv2d(o.x, o.k, &two_groups), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,3,3,4]): 3 input channels in 2 groups do not match a kernel with 3 input and 4 output channels")
    FAILS(fg_conv2d(o.x, o.k, &wide), FG_ESHAPE, "conv2d(f32[2,8,6,3], f32[3,3,3,4]): the kernel is larger than the padded image")
    FAILS(fg_conv2d(o.x, o.k, &back), FG_EINVAL, "conv2d: stride -1, pad 0, dilation 0, groups 0: expected 0 or more")
    FAILS(fg_max_pool(o.m, NULL), FG_ESHAPE, "max_pool(f32[3,4]): expected [N,H,W,C]")
    FAILS(fg_max_pool(o.x, &(fg_pool_options){.size = 7}), FG_ESHAPE, "max_pool(f32[2,8,6,3]): the window is larger than the padded image")
    FAILS(fg_max_pool(fg_cast(o.x, FG_S32), NULL), FG_EDTYPE, "max_pool(s32[2,8,6,3]): expected a floating-point dtype: cast it first")
    FAILS(fg_avg_pool(o.x, &(fg_pool_options){.size = 2, .pad = 2}), FG_EINVAL, "avg_pool: size 2, stride 2, pad 2: expected 0 or more, and pad less than size")
    FAILS(fg_global_avg_pool(o.m), FG_ESHAPE, "global_avg_pool: expected [N,H,W,C], got rank 2")
    FAILS(fg_dot(o.m, o.m, &no_axis), FG_EINVAL, "dot(f32[3,4], f32[3,4]): inner axis 0 is out of range")
    FAILS(fg_dot(o.m, o.m, &twice), FG_EINVAL, "dot(f32[3,4], f32[3,4]): inner axis 1 is given twice")
    FAILS(fg_dot(o.m, o.m, &batch), FG_ESHAPE, "dot(f32[3,4], f32[3,4]): batch sizes differ: 3, 4")
    FAILS(fg_dot(o.m, o.m, &f64_sum), FG_EDTYPE, "dot(f32[3,4], f32[3,4]): cannot be accumulated in f64")
    FAILS(fg_one_hot(o.m, 3, FG_F32), FG_EDTYPE, "one_hot: expected s32 indices, got f32")
    FAILS(fg_one_hot(o.i, -1, FG_F32), FG_ESHAPE, "one_hot: depth -1 is not valid for indices of rank 1")
    FAILS(fg_cross_entropy(o.m, o.v, NULL), FG_ESHAPE, "cross_entropy(f32[3,4], f32[4]): expected logits T[B, ..., C] and labels s32[B, ...]")
    FAILS(fg_cross_entropy(o.u, o.i, NULL), FG_EDTYPE, "cross_entropy(u8[3,4], s32[3]): expected logits T[B, ..., C] and labels s32[B, ...]")
    FAILS(fg_cross_entropy(o.m, o.i, &smooth), FG_EINVAL, "cross_entropy: label_smoothing is 1.5: expected 0 to 1")
    FAILS(fg_accuracy(o.n, o.i), FG_ESHAPE, "accuracy(f32[5,6], s32[3]): expected logits T[B, ..., C] and labels s32[B, ...]")
    FAILS(fg_mse(o.m, o.n), FG_ESHAPE, "mse(f32[3,4], f32[5,6]): expected two tensors T[B, ...] of the same type")
    FAILS(fg_mse(o.m, o.d), FG_EDTYPE, "mse(f32[3,4], f64[3,4]): expected two tensors T[B, ...] of the same type")
    FAILS(fg_mse(o.s, o.s), FG_ESHAPE, "mse(f32[], f32[]): expected two tensors T[B, ...] of the same type")
    FAILS(fg_dropout(o.m, 1), FG_EINVAL, "dropout: rate is 1: expected 0 <= rate < 1")
    FAILS(fg_random_uniform(o.t, FG_DIMS(-2)), FG_ESHAPE, "random_bits: dimension 0 is negative")
    FAILS(fg_scalar_value(o.t, &(fg_scalar){.dtype = FG_F64}), FG_EDTYPE, "scalar: dtype is f64: expected f32, s32 or u32")
}
/* clang-format on */

static void many_operands_do_not_run_over(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    fg_tensor in[65];
    for (int i = 0; i < 65; i++)
        in[i] = fgi_trace_feed(trace, i, i < 63 ? &image_type : &f32_34);
    (void)fg_concat(in, 64, 0);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_true(strlen(err.message) < sizeof err.message - 1);
    fg_trace_reset(trace);
    for (int i = 0; i < 65; i++)
        in[i] = fgi_trace_feed(trace, i, &f32_34);
    assert_int_equal(fg_tensor_dim(fg_concat(in, 64, 0), 0), 192);
    (void)fg_concat(in, 65, 0);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_string_equal(err.message, "concat: 65 inputs: expected at most 64");
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
    assert_non_null(strstr(err.message, "fg_step_log"));
    assert_int_equal(fg_run_f32(trace, a, &value, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "fg_step_log"));
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
    fg_trace_destroy(trace);
}

static void masks_are_one_number_a_sample(void **state)
{
    (void)state;
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
    assert_false(
        equal(fg_full(trace, FG_F32, 0.0, FG_SCALAR), fg_full(trace, FG_F32, -0.0, FG_SCALAR)));
    assert_false(
        equal(fg_zeros(trace, FG_F32, FG_DIMS(2, 3)), fg_zeros(trace, FG_F32, FG_DIMS(3, 2))));
    assert_false(equal(fg_sum(o.m, 1, (const int[]){0}), fg_sum(o.m, 1, (const int[]){1})));
    assert_true(equal(fg_sum(o.m, 1, (const int[]){-1}), fg_sum(o.m, 1, (const int[]){1})));
    assert_false(equal(fg_random_bits(trace, FG_DIMS(4)), fg_random_bits(trace, FG_DIMS(4))));
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

static void gradients_of_what_is_not_reached_are_zeros(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace = trace_of(NULL);
    const operands o = operands_of(trace);
    const fg_tensor wrt[4] = {o.m, o.v, o.d, o.n};
    const fg_tensor stopped = fg_mul(fg_stop_gradient(o.n), fg_cast(fg_gt(o.n, o.n), FG_F32));
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(operands_that_do_not_agree),
    cmocka_unit_test(shapes_that_do_not_exist),
    cmocka_unit_test(large_strides_take_the_first),
    cmocka_unit_test(layers_that_do_not_fit),
    cmocka_unit_test(many_operands_do_not_run_over),
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
    cmocka_unit_test(equal_applications_have_one_structure),
    cmocka_unit_test(what_does_nothing_makes_no_node),
    cmocka_unit_test(structure_alone_makes_the_hash),
    cmocka_unit_test(gradients_of_what_is_not_reached_are_zeros),
};
FGT_MAIN(tests)
