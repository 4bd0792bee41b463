/* composite_tpu.c - composite operations on TPUs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"
#include "op/lowerings.h"

/* The compiler fuses the sum with the update of a parameter, and then writes the result to on-chip
 * memory and copies it from there, unless the sum is one of integers. */
static void in_integers(const fg_tensor *in, int unused, fg_tensor *out)
{
    static const int first[] = {0, 1, 2, 3, 4, 5, 6, 7}, last = 1;
    const int rank = fg_tensor_type(in[0])->rank;
    fg_tensor bad = fg_cast(fg_not(fg_is_finite(in[0])), FG_S32);
    if (rank == 0)
        bad = fg_reshape(bad, FG_DIMS(1));
    else if (rank > 1)
        bad = fg_sum(bad, rank - 1, rank == 2 ? &last : first);
    *out = fg_cast(bad, FG_F32);
}

const fgi_lowering fgi_nonfinite_tpu = {.op = &fgi_nonfinite_sums_op,
                                        .platform = FGI_TPU,
                                        .rule = "nonfinite-in-integers",
                                        .compose = in_integers};

static void rounded(const fg_tensor *in, int unused, fg_tensor *out)
{
    *out = fg_cast(in[0], FG_BF16);
}

const fgi_lowering fgi_operand_tpu = {
    .op = &fgi_operand_op, .platform = FGI_TPU, .rule = "rounded-operand", .compose = rounded};
