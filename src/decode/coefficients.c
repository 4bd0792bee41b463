/* coefficients.c - dequantization and the inverse DCT, as one matmul for each component.
 *
 * DC is added after the matmul: a device that rounds the operands to bf16 would otherwise shift
 * whole blocks by up to half a gray level.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "decode/coefficients.h"

#include "decode/planes.h"
#include "op/op.h"

enum { AC = 63 };

/* [B,rows,columns] as [B, last - first rows, columns]. */
static fg_tensor rows_of(fg_tensor x, int64_t first, int64_t last)
{
    const fg_type *type = fg_tensor_type(x);
    const int64_t start[3] = {0, first, 0}, limit[3] = {type->dim[0], last, type->dim[2]};
    return fg_slice(x, start, limit, NULL);
}

/* The bytes from `offset` as f32[B,rows,columns]. */
static fg_tensor bytes_at(fg_tensor entry, int64_t offset, int64_t rows, int64_t columns)
{
    const int64_t batch = fg_tensor_dim(entry, 0);
    const int64_t start[2] = {0, offset}, limit[2] = {batch, offset + rows * columns};
    return fg_reshape(fg_slice(entry, start, limit, NULL), FG_DIMS(batch, rows, columns));
}

static fg_tensor joined(fg_tensor low, fg_tensor high)
{
    return fg_add(fg_cast(low, FG_F32), fg_mul_scalar(fg_cast(high, FG_F32), 256));
}

/* The quantization table of a component: f32[B,64,1]. */
static fg_tensor table_of(fg_tensor entry, const fgi_jpeg_coefficients *layout, int high, int index)
{
    const int64_t batch = fg_tensor_dim(entry, 0);
    const int64_t offset = (64 + high) * (int64_t)layout->blocks;
    const fg_tensor tables = bytes_at(entry, offset, 2, (int64_t)layout->components * 64);
    const fg_tensor all = joined(rows_of(tables, 0, 1), rows_of(tables, 1, 2));
    const int64_t start[3] = {0, 0, index * 64}, limit[3] = {batch, 1, index * 64 + 64};
    return fg_reshape(fg_slice(all, start, limit, NULL), FG_DIMS(batch, 64, 1));
}

/* f32[63,64]: the value of each pixel of a block for each coefficient but the first one. */
static fg_tensor basis_of(fg_trace *trace)
{
    float basis[64 * 64], ac[AC * 64];
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {AC, 64}};
    fgi_jpeg_coefficient_basis(basis);
    for (int z = 1; z < 64; z++) {
        for (int p = 0; p < 64; p++)
            ac[64 * (z - 1) + p] = basis[64 * p + z];
    }
    return fg_constant(trace, &type, ac);
}

/* Blocks f32[B,n,64] as a plane of the component's size. */
static fg_tensor side_by_side(fg_tensor blocks, const fgi_jpeg_component *c)
{
    const int64_t batch = fg_tensor_dim(blocks, 0), rows = c->rows, columns = c->columns;
    const fg_tensor parts = fg_reshape(blocks, FG_DIMS(batch, rows, columns, 8, 8));
    const fg_tensor lines = fg_permute(parts, (const int[]){0, 1, 3, 2, 4});
    const fg_tensor plane = fg_reshape(lines, FG_DIMS(batch, rows * 8, columns * 8));
    const int64_t limit[3] = {batch, c->height, c->width};
    return fg_slice(plane, (const int64_t[]){0, 0, 0}, limit, NULL);
}

/* Coefficients 1 to 63 of rows s8[B,64 + high,n]: f32[B,63,n]. */
static fg_tensor ac_of(fg_tensor rows, int high)
{
    const fg_tensor low = fg_cast(rows_of(rows, 2, 65), FG_F32);
    if (high == 1)
        return low;
    const fg_tensor bytes = fg_cast(rows_of(rows, 65, 64 + high), FG_F32);
    const int64_t none[3] = {0, 0, 0}, rest[3] = {0, 64 - high, 0};
    return fg_add(low, fg_pad(fg_mul_scalar(bytes, 256), 0, none, rest, NULL));
}

fg_tensor fgi_decode_component(fg_tensor entry, const fgi_jpeg_coefficients *layout, int high,
                               int index)
{
    const fgi_jpeg_component *c = &layout->component[index];
    const int64_t batch = fg_tensor_dim(entry, 0);
    const int64_t n = (int64_t)c->columns * c->rows, first = (int64_t)c->first;
    const int64_t start[3] = {0, 0, first}, limit[3] = {batch, 64 + high, first + n};
    const fg_tensor all = bytes_at(entry, 0, 64 + high, (int64_t)layout->blocks);
    const fg_tensor k = fg_slice(all, start, limit, NULL);
    const fg_tensor table = table_of(entry, layout, high, index);
    const fg_tensor dc = joined(rows_of(k, 0, 1), rows_of(k, 1, 2));
    const fg_tensor ac = ac_of(k, high);
    const fg_tensor pixels =
        fg_dot(fg_mul(ac, rows_of(table, 1, 64)), basis_of(fg_tensor_trace(entry)),
               &(fg_dot_options){.contract_count = 1,
                                 .a_contract = {1},
                                 .b_contract = {0},
                                 .result = FG_F32}); /* [B,n,64] */
    const fg_tensor means = fg_mul_scalar(fg_mul(dc, rows_of(table, 0, 1)), 0.125);
    const fg_tensor blocks = fg_add(pixels, fg_reshape(means, FG_DIMS(batch, n, 1)));
    return fgi_decode_round(side_by_side(blocks, c), -128);
}
