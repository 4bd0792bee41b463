/* host_reference.c - what the cases must compute, in plain C with f64: results and gradients.
 * Nothing here is fast, and nothing is shared with the operations that are checked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "trust/trust.h"

enum { LETTERS = 8, TERMS = FGI_CASE_OPERANDS + 1 };

/* ---- sums of products ------------------------------------------------------------------------ */

/* The indices of an equation: their sizes, and for each term how far one step of an index moves. */
typedef struct indices {
    int count, terms; /* the last term is the result */
    char letter[LETTERS];
    int64_t size[LETTERS], stride[TERMS][LETTERS];
} indices;

static int letter_at(indices *x, char letter)
{
    int i = 0;
    while (i < x->count && x->letter[i] != letter)
        i++;
    if (i == x->count)
        x->letter[x->count++] = letter;
    return i;
}

static void parse(const fgi_case *c, indices *x)
{
    const char *at = c->equation;
    *x = (indices){0};
    for (bool is_last = false; !is_last; x->terms++) {
        int list[FG_MAX_RANK], rank = 0;
        for (; *at >= 'a' && *at <= 'z'; at++)
            list[rank++] = letter_at(x, *at);
        is_last = *at == '\0';
        for (int i = 0; !is_last && *at != '\0' && i < rank && x->terms < FGI_CASE_OPERANDS; i++)
            if (c->dim[x->terms][i] > 0)
                x->size[list[i]] = c->dim[x->terms][i];
        int64_t stride = 1;
        for (int i = rank - 1; i >= 0; i--) {
            x->stride[x->terms][list[i]] = stride;
            stride *= x->size[list[i]];
        }
        at += *at == ',' ? 1 : *at == '-' ? 2 : 0;
    }
}

/* Adds the product of one combination of indices to the result, and to each gradient. */
static void add_terms(fgi_case_values *v, const int64_t *at, int operands)
{
    double factor[FGI_CASE_OPERANDS] = {0}, term = 1;
    for (int i = 0; i < operands && v->in[i]; i++) {
        factor[i] = v->in[i][at[i]];
        term *= factor[i];
    }
    if (v->y)
        v->y[at[operands]] += term;
    for (int i = 0; v->dy && i < operands; i++) {
        if (!v->gradient[i])
            continue;
        double others = v->dy[at[operands]];
        for (int k = 0; k < operands; k++)
            others *= k == i ? 1 : factor[k];
        v->gradient[i][at[i]] += others;
    }
}

bool fgi_host_einsum(const fgi_case *c, fgi_case_values *v)
{
    indices x;
    int64_t index[LETTERS] = {0}, at[TERMS] = {0};
    fgi_case_values used = *v;
    if (c->flags & FGI_CASE_NO_GRADIENT)
        used.dy = NULL;
    parse(c, &x);
    for (int i = 0; i >= 0;) {
        add_terms(&used, at, x.terms - 1);
        for (i = x.count - 1; i >= 0; i--) { /* the next combination */
            const bool wraps = ++index[i] == x.size[i];
            const int64_t steps = wraps ? 1 - x.size[i] : 1;
            for (int t = 0; t < x.terms; t++)
                at[t] += steps * x.stride[t][i];
            if (!wraps)
                break;
            index[i] = 0;
        }
    }
    return true;
}

bool fgi_host_squares(const fgi_case *c, fgi_case_values *v)
{
    const int64_t columns = c->dim[1][0], count = v->y_count * columns;
    fgi_case product = *c;
    product.equation = "bmk,nk->bmn";
    double *t = fgi_calloc((size_t)count, sizeof *t), *dt = fgi_calloc((size_t)count, sizeof *dt);
    const bool is_done = t && dt;
    if (is_done) {
        fgi_case_values inner = {.in = {v->in[0], v->in[1]}, .y = t};
        (void)fgi_host_einsum(&product, &inner);
        for (int64_t i = 0; i < count; i++) {
            v->y[i / columns] += t[i] * t[i];
            dt[i] = 2 * t[i] * v->dy[i / columns];
        }
        inner.y = NULL;
        inner.dy = dt;
        inner.gradient[0] = v->gradient[0];
        inner.gradient[1] = v->gradient[1];
        if (!(c->flags & FGI_CASE_NO_GRADIENT))
            (void)fgi_host_einsum(&product, &inner);
    }
    fgi_free(t);
    fgi_free(dt);
    return is_done;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* One output pixel: n, h, w and channel o. */
static void add_pixel(const fgi_case *c, fgi_case_values *v, const int64_t *at, int64_t y)
{
    const int64_t *x = c->dim[0], *k = c->dim[1];
    const int64_t group = at[3] / (k[3] / c->arg[3]);
    for (int64_t i = 0; i < k[0] * k[1] * k[2]; i++) {
        const int64_t row = at[1] * c->arg[0] - c->arg[1] + i / (k[1] * k[2]) * c->arg[2];
        const int64_t column = at[2] * c->arg[0] - c->arg[1] + i / k[2] % k[1] * c->arg[2];
        if (row < 0 || row >= x[1] || column < 0 || column >= x[2])
            continue;
        const int64_t a = ((at[0] * x[1] + row) * x[2] + column) * x[3] + group * k[2] + i % k[2];
        const int64_t b = i * k[3] + at[3];
        v->y[y] += v->in[0][a] * v->in[1][b];
        v->gradient[0][a] += v->dy[y] * v->in[1][b];
        v->gradient[1][b] += v->dy[y] * v->in[0][a];
    }
}

bool fgi_host_conv(const fgi_case *c, fgi_case_values *v)
{
    const int64_t *d = v->y_dim;
    for (int64_t y = 0; y < v->y_count; y++) {
        const int64_t at[] = {y / (d[1] * d[2] * d[3]), y / (d[2] * d[3]) % d[1], y / d[3] % d[2],
                              y % d[3]};
        add_pixel(c, v, at, y);
    }
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

bool fgi_host_move(const fgi_case *c, fgi_case_values *v)
{
    for (int64_t i = 0; i < v->y_count; i++) {
        const int64_t from = c->source(c, v, i);
        if (from < 0)
            continue;
        v->y[i] = v->in[0][from];
        v->gradient[0][from] += v->dy[i];
    }
    return true;
}

/* ---- rows of a matrix ------------------------------------------------------------------------ */

static double sum_of(const double *a, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i];
    return sum;
}

static double weighted_sum(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static double sum_of_exp(const double *a, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += exp(a[i]);
    return sum;
}

bool fgi_host_softmax(const fgi_case *c, fgi_case_values *v)
{
    const int64_t n = c->dim[0][1];
    for (int64_t row = 0; row < v->y_count; row += n) {
        const double *x = v->in[0] + row, *dy = v->dy + row, sum = sum_of_exp(x, n);
        double *y = v->y + row, *dx = v->gradient[0] + row;
        for (int64_t i = 0; i < n; i++)
            y[i] = exp(x[i]) / sum;
        const double mean = weighted_sum(y, dy, n);
        for (int64_t i = 0; i < n; i++)
            dx[i] = y[i] * (dy[i] - mean);
    }
    return true;
}

/* y = (x - mean) / sqrt(variance + eps) scale */
static void normalize_row(const double *x, const double *scale, const double *dy, int64_t n,
                          double *y, double *dx, double *dscale)
{
    const double mean = sum_of(x, n) / (double)n;
    double variance = 0, sum = 0, sum_of_hats = 0;
    for (int64_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    const double deviation = sqrt(variance + FGI_HOST_EPS);
    for (int64_t i = 0; i < n; i++) {
        const double hat = (x[i] - mean) / deviation;
        y[i] = hat * scale[i];
        dscale[i] += dy[i] * hat;
        sum += dy[i] * scale[i] / (double)n;
        sum_of_hats += dy[i] * scale[i] * hat / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        dx[i] = (dy[i] * scale[i] - sum - (x[i] - mean) / deviation * sum_of_hats) / deviation;
}

bool fgi_host_normalize(const fgi_case *c, fgi_case_values *v)
{
    const int64_t n = c->dim[0][1];
    for (int64_t row = 0; row < v->y_count; row += n)
        normalize_row(v->in[0] + row, v->in[1], v->dy + row, n, v->y + row, v->gradient[0] + row,
                      v->gradient[1]);
    return true;
}

bool fgi_host_argmax(const fgi_case *c, fgi_case_values *v)
{
    const int64_t n = c->dim[0][1];
    for (int64_t i = 0; i < v->y_count * n; i++)
        if (v->in[0][i] > v->in[0][i / n * n + (int64_t)v->y[i / n]])
            v->y[i / n] = (double)(i % n);
    return true;
}
