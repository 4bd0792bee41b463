/* upcast.c - dtypes under a trace's precision: the only place where operations query it.
 *
 * With any precision except 32-true, matmuls and convolutions convert floating operands to its
 * dtype; sums, softmax and losses compute in f32 and return f32; if operands have different
 * floating dtypes, the narrower one is widened. All of this is done with casts in the graph, so
 * that gradients have the dtypes of the values that they belong to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/op.h"
#include "trace/precision.h"

fg_tensor fgi_for_matmul(fg_tensor a)
{
    const fg_dtype product = fgi_trace_precision(fg_tensor_trace(a))->matmul;
    const bool is_float = fg_dtype_is_float(fg_tensor_type(a)->dtype);
    return product != FG_DTYPE_NONE && is_float ? fg_cast(a, product) : a;
}

fg_tensor fgi_upcast(fg_tensor a)
{
    return fgi_is_half(fg_tensor_type(a)->dtype) ? fg_cast(a, FG_F32) : a;
}

fg_tensor fgi_cast_back(fg_tensor wide, fg_tensor a)
{
    if (fgi_is_poison(wide) || fgi_is_poison(a) ||
        fgi_trace_precision(fg_tensor_trace(a))->matmul != FG_DTYPE_NONE)
        return wide;
    return fg_cast(wide, fg_tensor_type(a)->dtype);
}

void fgi_upcast_both(fg_tensor *a, fg_tensor *b)
{
    const fg_dtype x = fg_tensor_type(*a)->dtype, y = fg_tensor_type(*b)->dtype;
    if (x == y || !fg_dtype_is_float(x) || !fg_dtype_is_float(y) ||
        fgi_trace_precision(fg_tensor_trace(*a))->matmul == FG_DTYPE_NONE)
        return;
    fg_dtype wide = fg_dtype_size(x) > fg_dtype_size(y) ? x : y;
    if (fg_dtype_size(x) == fg_dtype_size(y)) /* bf16 and f16: neither can represent the other */
        wide = FG_F32;
    *a = fg_cast(*a, wide);
    *b = fg_cast(*b, wide);
}
