/* planes.c - chroma upsampling and conversion from YCbCr to RGB.
 *
 * All values are small integers, or quarters of them after the columns are upsampled, so that they
 * are exact in f32; the operands of the only matmul are also exact in bf16, which TPUs use for it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "decode/planes.h"

#include "op/op.h"

fg_tensor fgi_decode_round(fg_tensor x, double low)
{
    const fg_tensor integers = fg_floor(fg_add_scalar(x, 0.5));
    return fg_minimum(fg_maximum(integers, fgi_full_like(integers, low)),
                      fgi_full_like(integers, low + 255));
}

/* ---- upsampling ------------------------------------------------------------------------------ */

/* f32[w,width]: the weights of w samples for twice as many columns: 3/4 of the nearest sample and
 * 1/4 of the next one, or all of it at the ends. Column j is at j / 2 - 1/4. */
static fg_tensor column_weights(fg_trace *trace, int64_t w, int64_t width)
{
    const fg_tensor i = fg_iota(trace, FG_F32, 0, FG_DIMS(w, width));
    const fg_tensor j = fg_iota(trace, FG_F32, 1, FG_DIMS(w, width));
    const fg_tensor place = fg_add_scalar(fg_mul_scalar(j, 0.5), -0.25);
    const fg_tensor inside = fg_minimum(fg_maximum(place, fgi_full_like(place, 0)),
                                        fgi_full_like(place, (double)(w - 1)));
    return fg_relu(fg_add_scalar(fg_neg(fg_abs(fg_sub(inside, i))), 1));
}

static fg_tensor double_columns(fg_tensor plane, int64_t width)
{
    const int64_t w = fg_tensor_dim(plane, 2);
    return fg_dot(plane, column_weights(fg_tensor_trace(plane), w, width),
                  &(fg_dot_options){
                      .contract_count = 1, .a_contract = {2}, .b_contract = {0}, .result = FG_F32});
}

/* Rows first to limit - 1. */
static fg_tensor rows_of(fg_tensor plane, int64_t first, int64_t limit)
{
    const fg_type *type = fg_tensor_type(plane);
    const int64_t start[3] = {0, first, 0}, end[3] = {type->dim[0], limit, type->dim[2]};
    return fg_slice(plane, start, end, NULL);
}

static fg_tensor double_rows(fg_tensor plane, int64_t height)
{
    const fg_type type = *fg_tensor_type(plane);
    const int64_t h = type.dim[1], width = type.dim[2];
    fg_tensor above = rows_of(plane, 0, 1), below = rows_of(plane, h - 1, h);
    if (h > 1) {
        above = fg_concat((const fg_tensor[]){above, rows_of(plane, 0, h - 1)}, 2, 1);
        below = fg_concat((const fg_tensor[]){rows_of(plane, 1, h), below}, 2, 1);
    }
    const fg_tensor near = fg_mul_scalar(plane, 0.75);
    const fg_tensor even = fg_add(near, fg_mul_scalar(above, 0.25));
    const fg_tensor odd = fg_add(near, fg_mul_scalar(below, 0.25));
    const fg_tensor both =
        fg_concat((const fg_tensor[]){fg_reshape(even, FG_DIMS(type.dim[0], h, 1, width)),
                                      fg_reshape(odd, FG_DIMS(type.dim[0], h, 1, width))},
                  2, 2);
    return rows_of(fg_reshape(both, FG_DIMS(type.dim[0], 2 * h, width)), 0, height);
}

/* f32[1,n,1] or f32[1,1,n] along `axis`: `even` for even positions, else `odd`. */
static fg_tensor alternate(fg_tensor like, int axis, int64_t n, double even, double odd)
{
    int64_t dim[3] = {1, 1, 1};
    dim[axis] = n;
    const fg_tensor half = fg_mul_scalar(fg_iota(fg_tensor_trace(like), FG_F32, axis, 3, dim), 0.5);
    const fg_tensor is_odd = fg_mul_scalar(fg_sub(half, fg_floor(half)), 2);
    return fg_add_scalar(fg_mul_scalar(is_odd, odd - even), even);
}

fg_tensor fgi_decode_upsample(fg_tensor plane, int columns, int rows, int64_t height, int64_t width)
{
    fg_tensor x = plane;
    if (columns == 2)
        x = double_columns(x, width);
    if (rows == 2)
        x = double_rows(x, height);
    if (columns == 2 && rows == 2)
        x = fg_add(x, alternate(x, 2, width, 0.5, 0.4375));
    else if (columns == 2)
        x = fg_add(x, alternate(x, 2, width, 0.25, 0.5));
    else if (rows == 2)
        x = fg_add(x, alternate(x, 1, height, 0.25, 0.5));
    else
        return x;
    return fg_floor(x);
}

/* ---- color ----------------------------------------------------------------------------------- */

static fg_tensor channel(fg_tensor x)
{
    const fg_type *type = fg_tensor_type(x);
    const fg_tensor bytes = fg_cast(fgi_decode_round(x, 0), FG_U8);
    return fg_reshape(bytes, FG_DIMS(type->dim[0], type->dim[1], type->dim[2], 1));
}

fg_tensor fgi_decode_rgb(fg_tensor y, fg_tensor cb, fg_tensor cr)
{
    const fg_tensor red = fg_add(y, fg_mul_scalar(cr, 1.402));
    const fg_tensor green =
        fg_sub(fg_sub(y, fg_mul_scalar(cb, 0.344136)), fg_mul_scalar(cr, 0.714136));
    const fg_tensor blue = fg_add(y, fg_mul_scalar(cb, 1.772));
    return fg_concat((const fg_tensor[]){channel(red), channel(green), channel(blue)}, 3, 3);
}

fg_tensor fgi_decode_gray(fg_tensor y, int channels)
{
    const fg_tensor one = channel(y);
    return channels == 1 ? one : fg_concat((const fg_tensor[]){one, one, one}, 3, 3);
}
