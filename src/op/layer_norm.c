/* layer_norm.c - values with mean 0 and variance 1 over some axes; layer norm and RMS norm.
 *
 * Statistics are computed in f32 (f64 for f64 inputs). The gradient is written in closed form:
 * differentiating each operation would read x several times more, and would lose precision in
 * differences of large numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"

/* Inputs of the operation below. Its value is that of z; it depends on x through z, rstd and mean,
 * and its derivative includes all three paths. Without a mean it is 0. */
enum { Z, X, RSTD, MEAN };

typedef struct normalize_attr {
    int64_t count, axis[2];
} normalize_attr;

static bool normalize_infer(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[Z]->dtype, c->in[Z]->rank, c->in[Z]->dim);
}

static bool normalize_rows(fgi_infer *c)
{
    if (c->in_rows[Z] != NULL)
        c->rows = *c->in_rows[Z];
    return true;
}

/* The mean of a over the normalized axes, repeated along them. */
static fg_tensor mean_over(fg_tensor a, const normalize_attr *attr)
{
    int axis[2] = {(int)attr->axis[0], (int)attr->axis[1]};
    const int count = (int)attr->count;
    return fgi_expand(fg_mean(a, count, axis), count, axis, fg_tensor_type(a));
}

/* dx = rstd (dz - mean(dz) - z mean(dz z)). Source: Ba et al. 2016, section 3, differentiated. */
static void normalize_vjp(fgi_vjp *v)
{
    const fg_tensor *in = v->in, dz = v->dout;
    const bool has_mean = v->arity > MEAN;
    const fg_tensor z = fg_mul(has_mean ? fg_sub(in[X], in[MEAN]) : in[X], in[RSTD]);
    fg_tensor rest = fg_sub(dz, fg_mul(z, mean_over(fg_mul(dz, z), v->attr)));
    if (has_mean)
        rest = fg_sub(rest, mean_over(dz, v->attr));
    if (v->need[X])
        v->din[X] = fg_mul(rest, in[RSTD]);
}

static const fgi_op normalize_op = {.name = "normalize",
                                    .arity = -1,
                                    .infer = normalize_infer,
                                    .rows = normalize_rows,
                                    .vjp = normalize_vjp};

fg_tensor fgi_norm_over(fg_tensor x, int count, const int *axis, bool has_mean, double eps)
{
    normalize_attr attr = {.count = count};
    for (int i = 0; i < count; i++)
        attr.axis[i] = axis[i];
    x = fg_cast(x, fg_tensor_type(x)->dtype == FG_F64 ? FG_F64 : FG_F32);
    const fg_tensor mean = has_mean ? mean_over(x, &attr) : x;
    const fg_tensor away = has_mean ? fg_sub(x, mean) : x;
    const fg_tensor rstd = fg_rsqrt(fg_add_scalar(mean_over(fg_square(away), &attr), eps));
    const fg_tensor in[] = {fg_mul(away, rstd), x, rstd, mean};
    return fgi_apply(&normalize_op, in, has_mean ? 4 : MEAN, &attr, sizeof attr);
}

fg_tensor fgi_scale_and_shift(fg_tensor y, fg_tensor weight, fg_tensor bias)
{
    const fg_dtype dtype = fg_tensor_type(y)->dtype;
    if (weight.handle != 0)
        y = fg_mul(y, fg_cast(weight, dtype));
    if (bias.handle != 0)
        y = fg_add(y, fg_cast(bias, dtype));
    return y;
}

/* ---- over the last axis ---------------------------------------------------------------------- */

double fgi_norm_eps(fg_tensor eps)
{
    const fgi_node *node = fgi_node_of(eps);
    return fgi_is_poison(eps) ? 0 : node->op->number(node->attr);
}

static fg_tensor over_last(const fg_tensor *in, int count, bool has_mean)
{
    const fg_tensor x = in[FGI_NORM_X], none = {0};
    const fg_type *type = fg_tensor_type(x);
    const int last = type->rank - 1;
    const fg_tensor z = fgi_norm_over(x, 1, &last, has_mean, fgi_norm_eps(in[FGI_NORM_EPS]));
    return fg_cast(fgi_scale_and_shift(z, count > FGI_NORM_WEIGHT ? in[FGI_NORM_WEIGHT] : none,
                                       count > FGI_NORM_BIAS ? in[FGI_NORM_BIAS] : none),
                   type->dtype);
}

static void layer_norm(const fg_tensor *in, int count, fg_tensor *out)
{
    *out = over_last(in, count, true);
}

static void rms_norm(const fg_tensor *in, int count, fg_tensor *out)
{
    *out = over_last(in, count, false);
}

const fgi_op fgi_layer_norm_op = {.name = "layer_norm", .compose = layer_norm};
const fgi_op fgi_rms_norm_op = {.name = "rms_norm", .compose = rms_norm};
