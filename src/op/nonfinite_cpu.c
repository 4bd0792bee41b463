/* nonfinite_cpu.c - the search for infinite elements and NaNs for XLA's CPU backend, which is
 * fastest with one sum over everything, and with 0 times the element, which is NaN for such a one,
 * instead of a comparison.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/lowerings.h"
#include "op/composite.h"

static void by_matmul(const fg_tensor *in, fg_tensor *out)
{
    const fg_tensor zero =
        fg_zeros(fg_tensor_trace(in[0]), fg_tensor_type(in[0])->dtype, FG_SCALAR);
    const fg_tensor bad = fg_cast(fg_mul(in[0], zero), FG_F32);
    *out = fg_reshape(fg_sum(bad, 0, NULL), FG_DIMS(1));
}

const fgi_lowering fgi_nonfinite_cpu = {
    .op = &fgi_nonfinite_op, .platform = FGI_CPU, .rule = "summed-nonfinite", .compose = by_matmul};
