/* operand.c - a value as matmuls read it: TPUs round operands in f32 to bf16.
 *
 * A value that only matmuls read is stored in bf16 there. An operation in f32 that reads it too
 * would double its memory, unless it reads the rounded value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"
#include "trace/lowering.h"

static void unrounded(const fg_tensor *in, int unused, fg_tensor *out) { *out = in[0]; }

const fgi_op fgi_operand_op = {.name = "operand", .compose = unrounded};

fg_tensor fgi_as_operand(fg_tensor a)
{
    fg_tensor out;
    fgi_compose(&fgi_operand_op, &a, 1, &out);
    return fgi_upcast(out);
}
