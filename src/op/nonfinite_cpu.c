/* nonfinite_cpu.c - detects infinite elements and NaNs on XLA's CPU backend, with a full sum of 0
 * times each element, which is NaN for these. Sums by columns are faster for small tensors, but
 * fused with the gradients, which are then rounded differently in a launch of several steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"
#include "op/lowerings.h"

static void summed(const fg_tensor *in, int unused, fg_tensor *out)
{
    const fg_tensor zero =
        fg_zeros(fg_tensor_trace(in[0]), fg_tensor_type(in[0])->dtype, FG_SCALAR);
    const fg_tensor bad = fg_cast(fg_mul(in[0], zero), FG_F32);
    *out = fg_reshape(fg_sum(bad, 0, NULL), FG_DIMS(1));
}

const fgi_lowering fgi_nonfinite_cpu = {.op = &fgi_nonfinite_sums_op,
                                        .platform = FGI_CPU,
                                        .rule = "summed-nonfinite",
                                        .compose = summed};
