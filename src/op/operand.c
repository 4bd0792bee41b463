/* operand.c - a value as matmuls read it: TPUs round operands in f32 to bf16.
 *
 * A value that only matmuls read is stored in bf16 there. An operation in f32 that reads it too
 * would double its memory, unless it reads the rounded value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"
#include "op/lowerings.h"

static void unrounded(const fg_tensor *in, fg_tensor *out) { *out = in[0]; }

static const fgi_op operand = {.name = "operand", .compose = unrounded};

static void rounded(const fg_tensor *in, fg_tensor *out) { *out = fg_cast(in[0], FG_BF16); }

const fgi_lowering fgi_operand_tpu = {
    .op = &operand, .platform = FGI_TPU, .rule = "rounded-operand", .compose = rounded};

fg_tensor fgi_as_operand(fg_tensor a)
{
    fg_tensor out;
    fgi_compose(&operand, &a, &out);
    return fgi_upcast(out);
}
