/* cases_reduce.c - sums, means, maxima, softmax and normalization, with their gradients.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include <string.h>

#include "trust/trust.h"

/* ---- sums ------------------------------------------------------------------------------------ */

/* The axes of the operand that the result does not have. */
static int summed_axes(const fgi_case *c, int *out)
{
    const char *result = strchr(c->equation, '>');
    int count = 0;
    for (int i = 0; c->equation[i] != '-'; i++)
        if (strchr(result, c->equation[i]) == NULL)
            out[count++] = i;
    return count;
}

static fg_tensor sum(const fgi_case *c, const fg_tensor *in)
{
    int axes[FG_MAX_RANK];
    const int count = summed_axes(c, axes);
    return fg_sum(in[0], count, axes);
}

static fg_tensor weighted_sum(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return fg_sum(fg_mul(in[0], in[1]), 1, (int[]){1});
}

/* ---- maxima ---------------------------------------------------------------------------------- */

static fg_tensor largest(const fgi_case *c, const fg_tensor *in)
{
    return fg_max(in[0], 1, (int[]){(int)c->arg[0]});
}

static fg_tensor smallest(const fgi_case *c, const fg_tensor *in)
{
    return fg_min(in[0], 1, (int[]){(int)c->arg[0]});
}

/* The largest element, or with arg[1] = -1 the smallest, of a row or with arg[0] = 0 a column. */
static int64_t largest_at(const fgi_case *c, const fgi_case_values *v, int64_t element)
{
    const int64_t columns = c->dim[0][1];
    const int64_t step = c->arg[0] == 0 ? columns : 1, count = c->dim[0][c->arg[0]];
    const int64_t first = c->arg[0] == 0 ? element : element * columns;
    const double sign = c->arg[1] < 0 ? -1 : 1;
    int64_t best = first;
    for (int64_t i = first; i < first + count * step; i += step)
        if (sign * v->in[0][i] > sign * v->in[0][best])
            best = i;
    return best;
}

static fg_tensor max_pool(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return fg_max_pool(in[0], NULL);
}

/* Of a window of 2 x 2 pixels. */
static int64_t largest_in_window(const fgi_case *c, const fgi_case_values *v, int64_t element)
{
    const int64_t *x = c->dim[0], *y = v->y_dim;
    const int64_t n = element / (y[1] * y[2] * y[3]), h = element / (y[2] * y[3]) % y[1];
    const int64_t w = element / y[3] % y[2], channel = element % y[3];
    int64_t best = -1;
    for (int64_t i = 0; i < 4; i++) {
        const int64_t at = ((n * x[1] + 2 * h + i / 2) * x[2] + 2 * w + i % 2) * x[3] + channel;
        if (best < 0 || v->in[0][at] > v->in[0][best])
            best = at;
    }
    return best;
}

static fg_tensor argmax(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return fg_argmax(in[0]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static fg_tensor softmax(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return fg_softmax(in[0]);
}

/* Layer normalization, in f32 or f64. */
static fg_tensor normalize(const fgi_case *c, const fg_tensor *in)
{
    const fg_dtype dtype = fg_tensor_type(in[0])->dtype;
    const fg_tensor x = fg_cast(in[0], dtype == FG_F64 ? FG_F64 : FG_F32);
    const fg_tensor scale = fg_cast(in[1], dtype == FG_F64 ? FG_F64 : FG_F32);
    const int axis[] = {1};
    const fg_tensor centered = fg_sub(x, fg_unsqueeze(fg_mean(x, 1, axis), 1, axis));
    const fg_tensor variance = fg_unsqueeze(fg_mean(fg_square(centered), 1, axis), 1, axis);
    const fg_tensor factor = fg_rsqrt(fg_add_scalar(variance, FGI_HOST_EPS));
    (void)c;
    return fg_cast(fg_mul(fg_mul(centered, factor), scale), dtype);
}

#define SUM(words, letters, more, ...)                                                             \
    {                                                                                              \
        .name = (words), .equation = (letters), .dim = {{__VA_ARGS__}},                            \
        .flags = FGI_CASE_NO_GRADIENT | (more), .trace = sum, .compute = fgi_host_einsum           \
    }
#define EXTREME(words, function, axis, sign, more)                                                 \
    {                                                                                              \
        .name = (words), .dim = {{14, 18}}, .flags = FGI_CASE_DISTINCT | (more), .low = -100,      \
        .step = 1, .steps = 252, .trace = (function), .compute = fgi_host_move,                    \
        .source = largest_at, .arg = {                                                             \
            axis,                                                                                  \
            sign                                                                                   \
        }                                                                                          \
    }
#define ROWS(words, function, host, more, ...)                                                     \
    {                                                                                              \
        .name = (words), .dim = {__VA_ARGS__}, .flags = (more), .low = -1, .step = 0.125,          \
        .steps = 24, .trace = (function), .compute = (host)                                        \
    }

const fgi_case fgi_cases_reduce[] = {
    SUM("sum of all elements", "ab->", 0, 70, 130),
    SUM("sum over the first axis", "ab->b", 0, 130, 21),
    SUM("sum over the last axis", "ab->a", FGI_CASE_BF16 | FGI_CASE_F64, 21, 130),
    SUM("sum over the middle axis", "abc->ac", 0, 6, 50, 7),
    SUM("sum over two axes", "abcd->bd", 0, 3, 9, 8, 5),
    {.name = "sum of products",
     .equation = "ab,ab->a",
     .dim = {{40, 90}, {40, 90}},
     .flags = FGI_CASE_NO_GRADIENT,
     .trace = weighted_sum,
     .compute = fgi_host_einsum},
    EXTREME("maximum of rows", largest, 1, 1, FGI_CASE_NO_GRADIENT),
    EXTREME("minimum of columns", smallest, 0, -1, FGI_CASE_NO_GRADIENT),
    {.name = "max pooling",
     .dim = {{2, 6, 8, 2}},
     .flags = FGI_CASE_DISTINCT,
     .low = -90,
     .step = 1,
     .steps = 192,
     .trace = max_pool,
     .compute = fgi_host_move,
     .source = largest_in_window},
    {.name = "argmax",
     .dim = {{23, 10}},
     .flags = FGI_CASE_DISTINCT | FGI_CASE_NO_GRADIENT,
     .low = -100,
     .step = 1,
     .steps = 230,
     .trace = argmax,
     .compute = fgi_host_argmax},
    ROWS("softmax", softmax, fgi_host_softmax, 0, {17, 19}),
    ROWS("normalization", normalize, fgi_host_normalize, 0, {15, 34}, {34}),
    {0},
};
