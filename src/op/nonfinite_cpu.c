/* nonfinite_cpu.c - detects infinite elements and NaNs on XLA's CPU backend, which vectorizes sums
 * along all dimensions but the last. In a sum by rows, each addition waits for the previous one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/lowerings.h"
#include "op/composite.h"

static void by_column(const fg_tensor *in, fg_tensor *out)
{
    static const int axis[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int rank = fg_tensor_type(in[0])->rank;
    const fg_tensor bad = fg_cast(fg_not(fg_is_finite(in[0])), FG_F32);
    if (rank == 0)
        *out = fg_reshape(bad, FG_DIMS(1));
    else
        *out = rank > 1 ? fg_sum(bad, rank - 1, axis) : bad;
}

const fgi_lowering fgi_nonfinite_cpu = {.op = &fgi_nonfinite_op,
                                        .platform = FGI_CPU,
                                        .rule = "nonfinite-by-column",
                                        .compose = by_column};
