/* mean_variance.c - mean and variance of each channel.
 *
 * One pass over the batch: sums of differences from a value near the mean, and of their squares. An
 * accelerator's compiler fuses both sums with the loop that computes x, and all-reduces them in one
 * collective. Source: Chan, Golub and LeVeque 1983, "Algorithms for computing the sample variance",
 * of shifted data: the closer the shift is to the mean, the less precision is lost in the
 * difference.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"

#include "trace/lowering.h"

fg_tensor fgi_mean_by_channel(fg_tensor x, fg_tensor n)
{
    static const int every_axis[FG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return fg_div(fg_sum(x, fg_tensor_type(x)->rank - 1, every_axis), n);
}

static void one_pass(const fg_tensor *in, int unused, fg_tensor *out)
{
    const fg_tensor x = in[FGI_BY_CHANNEL_X], shift = in[FGI_BY_CHANNEL_SHIFT],
                    n = in[FGI_BY_CHANNEL_N];
    const fg_tensor away = fg_sub(x, shift), mean = fgi_mean_by_channel(away, n);
    const fg_tensor var = fg_sub(fgi_mean_by_channel(fg_square(away), n), fg_square(mean));
    out[FGI_BY_CHANNEL_MEAN] = fg_add(shift, mean);
    out[FGI_BY_CHANNEL_VAR] =
        fg_maximum(var, fgi_full_like(var, 0)); /* rounding must not make it negative */
}

const fgi_op fgi_mean_variance_op = {.name = "mean_variance", .compose = one_pass};

void fgi_mean_variance(fg_tensor x, fg_tensor shift, fg_tensor n, fg_tensor *out_mean,
                       fg_tensor *out_var)
{
    fg_tensor out[2];
    fgi_compose(&fgi_mean_variance_op, (const fg_tensor[]){x, shift, n}, 3, out);
    *out_mean = out[FGI_BY_CHANNEL_MEAN];
    *out_var = out[FGI_BY_CHANNEL_VAR];
}
