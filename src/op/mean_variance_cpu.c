/* mean_variance_cpu.c - mean and variance for XLA's CPU backend, which is faster with two passes:
 * the mean, then the mean square distance from it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/lowerings.h"
#include "op/composite.h"

static void two_passes(const fg_tensor *in, int unused, fg_tensor *out)
{
    const fg_tensor x = in[FGI_BY_CHANNEL_X], n = in[FGI_BY_CHANNEL_N];
    const fg_tensor mean = fgi_mean_by_channel(x, n);
    out[FGI_BY_CHANNEL_MEAN] = mean;
    out[FGI_BY_CHANNEL_VAR] = fgi_mean_by_channel(fg_square(fg_sub(x, mean)), n);
}

const fgi_lowering fgi_mean_variance_cpu = {.op = &fgi_mean_variance_op,
                                            .platform = FGI_CPU,
                                            .rule = "two-pass-variance",
                                            .compose = two_passes};
