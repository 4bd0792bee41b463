/* cases_move.c - operations that move elements: transposes, slices, gathers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>

#include "trust/trust.h"

static fg_tensor permute(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return fg_permute(in[0], (int[]){2, 0, 1});
}

/* c, a, b of a, b, c. */
static int64_t permute_from(const fgi_case *c, const fgi_case_values *v, int64_t i)
{
    const int64_t *d = c->dim[0];
    (void)v;
    return i % (d[0] * d[1]) * d[2] + i / (d[0] * d[1]);
}

static fg_tensor reverse(const fgi_case *c, const fg_tensor *in)
{
    const fg_tensor both[] = {fg_reverse(in[0], 1, (int[]){1}), in[0]};
    (void)c;
    return fg_concat(both, 2, 1);
}

/* Each row backwards, then forwards. */
static int64_t reverse_from(const fgi_case *c, const fgi_case_values *v, int64_t i)
{
    const int64_t n = c->dim[0][1], row = i / (2 * n), at = i % (2 * n);
    (void)v;
    return row * n + (at < n ? n - 1 - at : at - n);
}

static fg_tensor slice(const fgi_case *c, const fg_tensor *in)
{
    const int64_t *d = c->dim[0];
    const fg_tensor every_second =
        fg_slice(in[0], (int64_t[]){1, 0}, (int64_t[]){d[0], d[1]}, (int64_t[]){1, 2});
    return fg_pad(every_second, 0, (int64_t[]){1, 0}, (int64_t[]){0, 2}, NULL);
}

/* The rows but the first, and of them every second element; then padded. */
static int64_t slice_from(const fgi_case *c, const fgi_case_values *v, int64_t i)
{
    const int64_t n = c->dim[0][1], width = v->y_dim[1], row = i / width, column = i % width;
    return row == 0 || 2 * column >= n ? -1 : row * n + 2 * column;
}

static fg_tensor gather(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return fg_gather(in[0], in[1], 0, 0);
}

static int64_t gather_from(const fgi_case *c, const fgi_case_values *v, int64_t i)
{
    const int64_t n = c->dim[0][1];
    return (int64_t)v->in[1][i / n] * n + i % n;
}

static fg_tensor sort(const fgi_case *c, const fg_tensor *in)
{
    fg_tensor values, order;
    (void)c;
    fg_sort(in[0], 1, false, &values, &order);
    return values;
}

/* The element that as many elements of the row are smaller than. */
static int64_t sort_from(const fgi_case *c, const fgi_case_values *v, int64_t i)
{
    const int64_t n = c->dim[0][1], row = i / n * n;
    for (int64_t k = row; k < row + n; k++) {
        int64_t smaller = 0;
        for (int64_t j = row; j < row + n; j++)
            smaller += v->in[0][j] < v->in[0][k];
        if (smaller == i - row)
            return k;
    }
    return -1;
}

#define MOVE(words, function, ...)                                                                 \
    .name = (words), .dim = {__VA_ARGS__}, .trace = (function), .compute = fgi_host_move,          \
    .source = function##_from

const fgi_case fgi_cases_move[] = {
    {MOVE("transpose", permute, {5, 9, 11}), .flags = FGI_CASE_BF16 | FGI_CASE_F64},
    {MOVE("concatenation with the reverse", reverse, {6, 17})},
    {MOVE("slice and padding", slice, {8, 19}), .flags = FGI_CASE_BF16},
    {MOVE("gather", gather, {9, 13}, {21}), .flags = FGI_CASE_INDEX | FGI_CASE_F64},
    {MOVE("sort", sort, {9, 25}), .flags = FGI_CASE_DISTINCT | FGI_CASE_NO_GRADIENT, .low = -100,
     .step = 1, .steps = 225},
    {0},
};
