/* nonfinite.c - whether tensors have infinite elements or NaNs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"
#include "trace/lowering.h"
#include "trace/trace.h"

/* Compilers fuse a sum along all dimensions but the last with the loop that computes the tensor (or
 * updates a parameter with it), but not a full reduction. */
static void by_column(const fg_tensor *in, int unused, fg_tensor *out)
{
    static const int axis[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int rank = fg_tensor_type(in[0])->rank;
    const fg_tensor bad = fg_cast(fg_not(fg_is_finite(in[0])), FG_F32);
    if (rank == 0)
        *out = fg_reshape(bad, FG_DIMS(1));
    else
        *out = rank > 1 ? fg_sum(bad, rank - 1, axis) : bad;
}

const fgi_op fgi_nonfinite_sums_op = {.name = "nonfinite_sums", .compose = by_column};

/* Sums of the same length are added, so that few need reducing. */
static void by_tensor(const fg_tensor *in, int count, fg_tensor *out)
{
    fg_tensor sums[FGI_NONFINITE_MOST] = {{0}}, one;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        int k = 0;
        fgi_compose(&fgi_nonfinite_sums_op, &in[i], 1, &one);
        while (k < kept && fg_tensor_type(sums[k])->dim[0] != fg_tensor_type(one)->dim[0])
            k++;
        sums[k] = k < kept ? fg_add(sums[k], one) : one;
        kept += k == kept;
    }
    *out = fg_sum(sums[0], 0, NULL);
    for (int k = 1; k < kept; k++)
        *out = fg_add(*out, fg_sum(sums[k], 0, NULL));
}

const fgi_op fgi_nonfinite_op = {.name = "nonfinite", .compose = by_tensor};

fg_tensor fgi_nonfinite(const fg_tensor *list, size_t count)
{
    fg_tensor all = {0}, part;
    for (size_t i = 0; i < count; i += FGI_NONFINITE_MOST) {
        const size_t left = count - i;
        fgi_compose(&fgi_nonfinite_op, list + i,
                    (int)(left < FGI_NONFINITE_MOST ? left : FGI_NONFINITE_MOST), &part);
        all = i == 0 ? part : fg_add(all, part);
    }
    return all;
}
