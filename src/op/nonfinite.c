/* nonfinite.c - whether a tensor has infinite elements or NaNs.
 *
 * Compilers fuse a sum along all dimensions but the last with the loop that computes the tensor (or
 * updates a parameter with it), but not a full reduction.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"
#include "trace/lowering.h"

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

const fgi_op fgi_nonfinite_op = {.name = "nonfinite", .compose = by_column};

fg_tensor fgi_nonfinite(fg_tensor a)
{
    fg_tensor out;
    fgi_compose(&fgi_nonfinite_op, &a, &out);
    return out;
}
