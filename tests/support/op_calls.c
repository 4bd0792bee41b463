/* op_calls.c - rows of the battery that are more than an expression.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define FG_NO_HERE /* messages have the lines of the rows */
#include "op_calls.h"

static void chain_body(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y)
{
    (void)self;
    next[0] = fg_tanh(fg_add(fg_mul(carry[0], x[0]), carry[0]));
    y[0] = fg_mul(next[0], x[0]);
}

fg_tensor fgt_loop_chain(fg_tensor x, fg_tensor s, bool reverse)
{
    fg_tensor last, y;
    const fg_scan_options options = {
        .carry_count = 1, .x_count = 1, .y_count = 1, .reverse = reverse, .body = chain_body};
    fg_scan(&options, &s, &x, &last, &y);
    const fg_tensor row = fg_reshape(last, FG_DIMS(1, fg_tensor_dim(s, 0)));
    return fg_concat((const fg_tensor[]){y, row}, 2, 0);
}

static void recurrent_body(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                           fg_tensor *y)
{
    const fg_tensor *weight = self;
    next[0] = y[0] = fg_tanh(fg_add(fg_matmul(x[0], weight[0]), fg_matmul(carry[0], weight[1])));
}

fg_tensor fgt_loop_recurrent(fg_tensor x, fg_tensor w, fg_tensor u)
{
    fg_tensor last, y, weight[2] = {w, u};
    const fg_tensor h = fg_zeros(fg_tensor_trace(x), fg_tensor_type(x)->dtype,
                                 FG_DIMS(fg_tensor_dim(x, 1), fg_tensor_dim(u, 0)));
    fg_scan(
        &(fg_scan_options){
            .carry_count = 1, .x_count = 1, .y_count = 1, .body = recurrent_body, .self = weight},
        &h, &x, &last, &y);
    return y;
}

static void inner_body(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y)
{
    const fg_tensor *c = self;
    (void)y;
    next[0] = fg_mul(fg_sin(fg_add(carry[0], x[0])), *c);
}

static void outer_body(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y)
{
    fg_tensor c = fg_cos(carry[0]);
    (void)self;
    fg_scan(&(fg_scan_options){.carry_count = 1, .x_count = 1, .body = inner_body, .self = &c},
            carry, x, next, NULL);
    y[0] = next[0];
}

fg_tensor fgt_loop_nested(fg_tensor x, fg_tensor s)
{
    fg_tensor last, y;
    const fg_scan_options options = {
        .carry_count = 1, .x_count = 1, .y_count = 1, .body = outer_body};
    fg_scan(&options, &s, &x, &last, &y);
    return y;
}

static fg_tensor is_small(void *self, const fg_tensor *carry)
{
    const double *most = self;
    const fg_tensor sum = fg_sum(fg_square(carry[0]), 0, NULL);
    return fg_lt(sum, fg_full(fg_tensor_trace(sum), fg_tensor_type(sum)->dtype, *most, FG_SCALAR));
}

static void grow(void *self, const fg_tensor *carry, fg_tensor *next)
{
    (void)self;
    next[0] = fg_add(fg_mul_scalar(carry[0], 1.5), fg_sin(carry[0]));
}

fg_tensor fgt_loop_while(fg_tensor s, double most)
{
    fg_tensor last;
    fg_while(
        &(fg_while_options){
            .carry_count = 1, .limit = 9, .condition = is_small, .body = grow, .self = &most},
        &s, &last);
    return last;
}

static fg_tensor is_left(void *self, const fg_tensor *carry)
{
    (void)self;
    return fg_gt(carry[1], fg_zeros(fg_tensor_trace(carry[1]), FG_S32, FG_SCALAR));
}

static void multiply(void *self, const fg_tensor *carry, fg_tensor *next)
{
    const fg_tensor *s = self;
    next[0] = fg_mul(carry[0], *s);
    next[1] = fg_add_scalar(carry[1], -1);
}

fg_tensor fgt_loop_power(fg_tensor s, fg_tensor power)
{
    fg_tensor last[2];
    const fg_tensor carry[2] = {s, power};
    fg_while(
        &(fg_while_options){
            .carry_count = 2, .limit = 5, .condition = is_left, .body = multiply, .self = &s},
        carry, last);
    return last[0];
}

fg_tensor fgt_sorted(fg_tensor a, int axis, bool descending)
{
    fg_tensor out;
    fg_sort(a, axis, descending, &out, NULL);
    return out;
}

fg_tensor fgt_order(fg_tensor a, int axis, bool descending)
{
    fg_tensor out;
    fg_sort(a, axis, descending, NULL, &out);
    return out;
}

fg_tensor fgt_largest(fg_tensor a, int64_t k)
{
    fg_tensor out;
    fg_top_k(a, k, &out, NULL);
    return out;
}

/* ---- mistakes -------------------------------------------------------------------------------- */

fg_tensor fgt_loop_of(const fg_scan_options *options, fg_tensor carry, fg_tensor x)
{
    static fg_tensor out[FG_LOOP_VALUES + 1];
    fg_scan(options, &carry, &x, out, NULL);
    return out[0];
}

void fgt_body_narrow(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                     fg_tensor *y)
{
    (void)self, (void)x, (void)y;
    next[0] = fg_cast(carry[0], FG_F32);
}

void fgt_body_reshaped(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y)
{
    (void)self, (void)x, (void)y;
    next[0] = fg_reshape(carry[0], FG_DIMS(-1));
}

static void keep_body(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                      fg_tensor *y)
{
    (void)x, (void)y;
    *(fg_tensor *)self = next[0] = fg_tanh(carry[0]);
}

fg_tensor fgt_loop_leak(fg_tensor carry)
{
    fg_tensor last, kept = {0};
    fg_scan(&(fg_scan_options){.carry_count = 1, .length = 2, .body = keep_body, .self = &kept},
            &carry, NULL, &last, NULL);
    return fg_add(last, kept);
}

fg_tensor fgt_loop_endless(fg_tensor carry)
{
    double most = 9;
    fg_tensor last, d;
    fg_while(
        &(fg_while_options){.carry_count = 1, .condition = is_small, .body = grow, .self = &most},
        &carry, &last);
    fg_grad(fg_sum(last, 0, NULL), &carry, 1, &d);
    return d;
}
