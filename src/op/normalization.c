/* normalization.c - the normalization of batch norm in training.
 *
 * Its value is that of a scale and a shift. The gradient with respect to x includes the dependence
 * of the statistics on x. It is written in closed form: differentiating each operation would read
 * the whole batch three more times. normalization_cpu.c: the same by kernels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "op/composite.h"
#include "trace/lowering.h"

/* Inputs of the operation below: those of fgi_normalize_batch, and in batches with padding rows the
 * mask of valid values, bool with the shape of x. */
enum { VALID = FGI_BATCH_NORM_INPUTS, MOST_INPUTS };

static const int every_axis[FG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

fg_tensor fgi_batch_norm_value(const fg_tensor *in)
{
    const fg_tensor scale = fg_mul(in[FGI_BATCH_NORM_RSTD], in[FGI_BATCH_NORM_WEIGHT]);
    return fg_add(fg_mul(fg_sub(in[FGI_BATCH_NORM_X], in[FGI_BATCH_NORM_MEAN]), scale),
                  in[FGI_BATCH_NORM_BIAS]);
}

static void forward(const void *options, const fg_tensor *in, int in_count, fg_tensor *out)
{
    (void)options, (void)in_count;
    *out = fgi_batch_norm_value(in);
}

/* With z = (x - mean) rstd:  dbias = sum dy,  dweight = sum dy z,
 *   dx = weight rstd (dy - (dbias + z dweight) / n)
 * Source: Ioffe and Szegedy 2015, section 3. */
static void differentiate(const fg_tensor *in, int in_count, fg_tensor dy, fg_tensor *din)
{
    const int axes = fg_tensor_type(dy)->rank - 1;
    const fg_tensor n = in[FGI_BATCH_NORM_COUNT];
    const fg_tensor z =
        fg_mul(fg_sub(in[FGI_BATCH_NORM_X], in[FGI_BATCH_NORM_MEAN]), in[FGI_BATCH_NORM_RSTD]);
    const fg_tensor dbias = fg_sum(dy, axes, every_axis);
    const fg_tensor dweight = fg_sum(fg_mul(dy, z), axes, every_axis);
    fg_tensor shared = fg_add(fg_mul(z, fg_div(dweight, n)), fg_div(dbias, n));
    if (in_count > VALID)
        shared = fg_where(in[VALID], shared, fgi_full_like(shared, 0));
    din[FGI_BATCH_NORM_WEIGHT] = dweight;
    din[FGI_BATCH_NORM_BIAS] = dbias;
    din[FGI_BATCH_NORM_X] =
        fg_mul(fg_sub(dy, shared), fg_mul(in[FGI_BATCH_NORM_WEIGHT], in[FGI_BATCH_NORM_RSTD]));
}

static void backward(const fg_backward *g)
{
    differentiate(g->in, g->in_count, g->dout[0], g->din);
}

static const fg_operation trained = {
    .name = "batch_norm", .output_count = 1, .forward = forward, .backward = backward};

/* The inputs with x in the dtype of the statistics, and the mask; returns their number. */
static int widened(const fg_tensor *in, fg_tensor out[MOST_INPUTS])
{
    const fg_tensor x =
        fg_cast(in[FGI_BATCH_NORM_X], fg_tensor_type(in[FGI_BATCH_NORM_MEAN])->dtype);
    const unsigned with_rows = fgi_row_axes(x, fg_tensor_type(x)->rank - 1, every_axis);
    memcpy(out, in, FGI_BATCH_NORM_INPUTS * sizeof *in);
    out[FGI_BATCH_NORM_X] = x;
    if (with_rows != 0)
        out[VALID] = fgi_valid_elements(x, with_rows);
    return with_rows != 0 ? MOST_INPUTS : FGI_BATCH_NORM_INPUTS;
}

static void plain(const fg_tensor *in, int unused, fg_tensor *out)
{
    fg_tensor wide[MOST_INPUTS];
    const int count = widened(in, wide);
    (void)unused;
    fg_apply(&trained, wide, count, NULL, out);
    *out = fg_cast(*out, fg_tensor_type(in[FGI_BATCH_NORM_X])->dtype);
}

void fgi_normalize_batch_dx(const fg_tensor *in, fg_tensor dy, fg_tensor *din)
{
    fg_tensor wide[MOST_INPUTS];
    const int count = widened(in, wide);
    differentiate(wide, count, fg_cast(dy, fg_tensor_type(wide[FGI_BATCH_NORM_X])->dtype), din);
}

const fgi_op fgi_normalize_op = {.name = "batch_norm", .compose = plain};

fg_tensor fgi_normalize_batch(const fg_tensor *in)
{
    fg_tensor y;
    fgi_compose(&fgi_normalize_op, in, FGI_BATCH_NORM_INPUTS, &y);
    return y;
}
