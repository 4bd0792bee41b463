/* adafactor.c - Adam's second moment of a matrix from the means of its rows and columns, and steps
 * relative to the parameter's size. Source: Shazeer and Stern 2018, "Adafactor: adaptive learning
 * rates with sublinear memory cost", in the form of PyTorch's Adafactor.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <float.h>

#include "base/number.h"
#include "optim/optimizer.h"

typedef struct adafactor {
    double lr, weight_decay, eps;
} adafactor;

enum { ROW, COLUMN, VARIANCE };

/* The mean over an axis, which stays with size 1. */
static fg_tensor mean_over(fg_tensor a, int axis)
{
    fg_type type = *fg_tensor_type(a);
    type.dim[axis] = 1;
    return fg_reshape(fg_mean(a, 1, &axis), type.rank, type.dim);
}

static fg_tensor rms(fg_tensor a) { return fg_sqrt(fg_mean(fg_square(a), 0, NULL)); }

static fg_tensor at_least(fg_tensor a, double limit)
{
    const fg_tensor least = fg_full(fg_tensor_trace(a), fg_tensor_type(a)->dtype, limit, FG_SCALAR);
    return fg_maximum(a, least);
}

/* The estimate of the second moment; rest: t^-0.8. */
static fg_tensor variance(const fg_update *u, fg_tensor g, fg_tensor rest, double eps)
{
    const int rank = fg_tensor_type(g)->rank;
    const fg_tensor square = fg_square(g);
    if (rank < 2)
        return fgi_move_moment(u, VARIANCE, square, rest);
    const fg_tensor row = fgi_move_moment(u, ROW, mean_over(square, rank - 1), rest);
    const fg_tensor column = fgi_move_moment(u, COLUMN, mean_over(square, rank - 2), rest);
    return fg_mul(fg_div(row, at_least(mean_over(row, rank - 2), eps)), column);
}

static fg_tensor update(const fg_update *u, fg_tensor p, fg_tensor g)
{
    const adafactor *o = fg_update_options(u);
    const double eps = fg_tensor_type(p)->dtype == FG_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const fg_tensor t = fgi_update_number(u);
    const fg_tensor rest = fg_exp(fg_mul_scalar(fg_log(t), -0.8));
    const fg_tensor v = variance(u, g, rest, eps);
    const fg_tensor step = fg_mul(g, fg_rsqrt(at_least(v, eps * eps)));
    const fg_tensor rate = fgi_times(at_least(rms(p), o->eps), fg_minimum(u->lr, fg_rsqrt(t)));
    return fg_sub(fgi_decay(u, p), fg_mul(step, fg_div(rate, at_least(rms(step), 1))));
}

/* Of the last two axes: a matrix's, or a convolution's channels. */
static bool moment_type(const void *options, int moment, fg_type *type)
{
    (void)options;
    if (type->rank >= 2 && moment != VARIANCE)
        type->dim[moment == ROW ? type->rank - 1 : type->rank - 2] = 1;
    return (type->rank >= 2) == (moment != VARIANCE);
}

static const fg_option options[] = {
    FGI_OPTION_LR(adafactor, "0.01"),
    FGI_OPTION_WEIGHT_DECAY(adafactor, "0", FGI_DECAY_DECOUPLED),
    FG_OPTION(adafactor, eps, FLOAT, "auto", "auto|0..1", "1e-6",
              "The least root mean square of a parameter that its steps are relative to.",
              .automatic = "1e-3"),
};

const fg_optimizer_entry fgi_adafactor_row = {
    .entry = {.name = "adafactor",
              .help = "Adam's second moment from the means of rows and columns",
              FG_OPTIONS(options, adafactor)},
    .moments = {"row_var", "col_var", "variance"},
    .moment_type = moment_type,
    .counts_updates = fgi_always_counts,
    .update = update};
