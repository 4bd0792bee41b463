/* hlo_matmul.c - the arithmetic of matmuls and convolutions: the useful part, and with padded
 * tiles.
 *
 * Each dimension of a matmul occurs in two of its three arrays. It counts with the larger of the
 * two padded sizes, because the matrix units process whole tiles of both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hlo_work.h"

typedef struct matmul {
    const fgi_hlo_shape *lhs, *rhs, *out;
    fgi_hlo_arithmetic *to;
} matmul;

static int64_t size_of(const fgi_hlo_shape *shape, int64_t i)
{
    return i >= 0 && (size_t)i < shape->n_dimension ? shape->dimension[i] : 1;
}

static void add_dim(matmul *p, const fgi_hlo_shape *a, int64_t i, const fgi_hlo_shape *b, int64_t k)
{
    fgi_plan_dim one = fgi_hlo_padded_dim(a, i);
    const fgi_plan_dim other = fgi_hlo_padded_dim(b, k);
    if (one.size < other.size || (one.size == other.size && one.padded < other.padded))
        one = other;
    if (p->to->dim_count < FGI_HLO_MATMUL_DIMS && one.size > 0)
        p->to->dim[p->to->dim_count++] = one;
}

/* ---- dot ------------------------------------------------------------------------------------- */

static bool is_among(int64_t value, const int64_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

/* The dimensions of one operand that the result keeps, in order, starting at its dimension `at`. */
static int64_t add_kept(matmul *p, const fgi_hlo_shape *from, const int64_t *batch,
                        size_t batch_count, const int64_t *contracting, size_t count, int64_t at)
{
    for (int64_t i = 0; i < (int64_t)from->n_dimension; i++)
        if (!is_among(i, batch, batch_count) && !is_among(i, contracting, count))
            add_dim(p, from, i, p->out, at++);
    return at;
}

static double dot_flops(matmul *p, const Fgi__Hlo__DotDimensions *d)
{
    double flops = 2;
    int64_t at = 0;
    for (size_t i = 0; i < d->n_lhs_batch && i < d->n_rhs_batch; i++)
        add_dim(p, p->lhs, d->lhs_batch[i], p->rhs, d->rhs_batch[i]);
    for (size_t i = 0; i < d->n_lhs_contracting && i < d->n_rhs_contracting; i++)
        add_dim(p, p->lhs, d->lhs_contracting[i], p->rhs, d->rhs_contracting[i]);
    at = add_kept(p, p->lhs, d->lhs_batch, d->n_lhs_batch, d->lhs_contracting, d->n_lhs_contracting,
                  (int64_t)d->n_lhs_batch);
    (void)add_kept(p, p->rhs, d->rhs_batch, d->n_rhs_batch, d->rhs_contracting,
                   d->n_rhs_contracting, at);
    for (int i = 0; i < p->to->dim_count; i++)
        flops *= (double)p->to->dim[i].size;
    return flops;
}

/* ---- convolution ----------------------------------------------------------------------------- */

/* Greatest common divisor of a > 0 and b > 0, and x with a x = gcd (mod b). */
static int64_t invert(int64_t a, int64_t b, int64_t *x)
{
    int64_t x0 = 1, x1 = 0;
    while (b != 0) {
        const int64_t q = a / b, r = a % b, x2 = x0 - q * x1;
        a = b, b = r, x0 = x1, x1 = x2;
    }
    *x = x0;
    return a;
}

/* Number of o in [0, count) with 0 <= o * stride + shift <= last, at a multiple of `dilation`. */
static int64_t count_hits(int64_t count, int64_t stride, int64_t shift, int64_t last,
                          int64_t dilation)
{
    int64_t x, low = 0, high = count - 1;
    if (shift < 0)
        low = (-shift + stride - 1) / stride;
    if (last < shift)
        return 0;
    if ((last - shift) / stride < high)
        high = (last - shift) / stride;
    const int64_t divisor = invert(stride, dilation, &x);
    if (high < low || shift % divisor != 0)
        return 0;
    const int64_t period = dilation / divisor;
    int64_t first = (-shift / divisor % period) * (x % period) % period;
    first = (first + period) % period;
    if (first < low)
        first += (low - first + period - 1) / period * period;
    return high < first ? 0 : (high - first) / period + 1;
}

/* Pairs of an output position and a window position that access an element of the input: without
 * padding and the gaps of dilation. */
static double window_pairs(const Fgi__Hlo__WindowDimension *w, int64_t in, int64_t out)
{
    const int64_t stride = w->stride > 0 ? w->stride : 1;
    const int64_t dilation = w->base_dilation > 0 ? w->base_dilation : 1;
    const int64_t step = w->window_dilation > 0 ? w->window_dilation : 1;
    double pairs = 0;
    for (int64_t k = 0; k < w->size; k++)
        pairs += (double)count_hits(out, stride, k * step - w->padding_low, (in - 1) * dilation,
                                    dilation);
    return pairs;
}

static double conv_flops(matmul *p, const fgi_hlo_op *op)
{
    const Fgi__Hlo__ConvDimensions *d = op->conv;
    const int64_t groups = op->batch_groups > 1 ? op->batch_groups : 1;
    double flops = 2.0 * (double)size_of(p->rhs, d->kernel_input) *
                   (double)size_of(p->out, d->output_feature) *
                   (double)size_of(p->lhs, d->input_batch) / (double)groups;
    add_dim(p, p->lhs, d->input_batch, p->out, d->output_batch);
    add_dim(p, p->lhs, d->input_feature, p->rhs, d->kernel_input);
    add_dim(p, p->rhs, d->kernel_output, p->out, d->output_feature);
    for (size_t i = 0; i < d->n_input_spatial && i < d->n_output_spatial; i++) {
        const int64_t in = size_of(p->lhs, d->input_spatial[i]);
        const int64_t out = size_of(p->out, d->output_spatial[i]);
        add_dim(p, p->out, d->output_spatial[i], p->out, d->output_spatial[i]);
        if (op->window != NULL && i < op->window->n_dimension)
            flops *= window_pairs(op->window->dimension[i], in, out);
    }
    return flops;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int bits_of(fg_dtype dtype) { return (int)fg_dtype_size(dtype) * 8; }

bool fgi_hlo_arithmetic_of(const fgi_hlo_index *index, const fgi_hlo_op *op,
                           fgi_hlo_arithmetic *out)
{
    *out = (fgi_hlo_arithmetic){0};
    const fgi_hlo_op *lhs = fgi_hlo_in(index, op, 0), *rhs = fgi_hlo_in(index, op, 1);
    if (lhs == NULL || rhs == NULL || lhs->shape == NULL || rhs->shape == NULL || op->shape == NULL)
        return false;
    matmul p = {.lhs = lhs->shape, .rhs = rhs->shape, .out = op->shape, .to = out};
    if (strcmp(op->opcode, "dot") == 0 && op->dot != NULL)
        out->flops = dot_flops(&p, op->dot);
    else if (strcmp(op->opcode, "convolution") == 0 && op->conv != NULL)
        out->flops = conv_flops(&p, op);
    else
        return false;
    const fg_dtype a = fgi_hlo_dtype(p.lhs), b = fgi_hlo_dtype(p.rhs);
    out->dtype = bits_of(a) >= bits_of(b) ? a : b;
    for (size_t i = 0; op->precision != NULL && i < op->precision->n_operand; i++)
        out->is_precise = out->is_precise || op->precision->operand[i] > 0;
    out->padded_flops = out->flops;
    for (int i = 0; i < out->dim_count; i++)
        out->padded_flops *= (double)out->dim[i].padded / (double)out->dim[i].size;
    return true;
}
