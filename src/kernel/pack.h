/* pack.h - copies of parts of matrices to where they are adjacent, in f32, for the blocks of
 * multiply.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_PACK_H
#define FGI_KERNEL_PACK_H

#include <string.h>

#include "kernel/multiply.h"
#include "kernel/vector.h"

/* f32 or bf16; element (i, k) is at data + (i * row + k * column) * size. */
typedef struct fgi_operand {
    const char *data;
    int64_t row, column;
    bool is_half;
} fgi_operand;

INLINED int64_t fgi_least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINED int64_t fgi_blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

/* The next `count` numbers, up to 16; the other lanes are 0. */
INLINED void fgi_load_few(fgi_wide *to, const char *from, int64_t count, bool is_half)
{
    char part[sizeof *to] = {0};
    if (count < FGI_WIDE)
        memcpy(part, from, (size_t)(count * (is_half ? 2 : 4)));
    fgi_load(to, count < FGI_WIDE ? part : from, is_half);
}

/* The first `count` numbers, up to 16. */
INLINED void fgi_store_few(char *to, const fgi_wide *from, int64_t count, bool is_half)
{
    char part[sizeof *from];
    fgi_store(count < FGI_WIDE ? part : to, from, is_half);
    if (count < FGI_WIDE)
        memcpy(to, part, (size_t)(count * (is_half ? 2 : 4)));
}

/* `count` numbers that are adjacent. */
INLINED void fgi_pack_run(const char *from, bool is_half, int64_t count, float *to)
{
    int64_t i = 0;
    if (!is_half) {
        memcpy(to, from, (size_t)count * sizeof *to);
        return;
    }
    for (; i + FGI_WIDE <= count; i += FGI_WIDE)
        fgi_load((fgi_wide *)(void *)(to + i), from + i * 2, true);
    for (; i < count; i++) {
        const uint32_t bits = (uint32_t)((const uint16_t *)(const void *)from)[i] << 16;
        memcpy(&to[i], &bits, sizeof bits);
    }
}

/* A stage of a transposition: exchanges the halves of size `step` of pairs of rows. */
#define FGI_PACK_LOW_8  0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define FGI_PACK_HIGH_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define FGI_PACK_LOW_4  0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define FGI_PACK_HIGH_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define FGI_PACK_LOW_2  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define FGI_PACK_HIGH_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define FGI_PACK_LOW_1  0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define FGI_PACK_HIGH_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define FGI_PACK_EXCHANGE(row, step)                                                               \
    for (int i_ = 0; i_ < FGI_WIDE; i_++)                                                          \
        if ((i_ & (step)) == 0) {                                                                  \
            const fgi_wide a_ = (row)[i_], b_ = (row)[i_ + (step)];                                \
            (row)[i_] = __builtin_shufflevector(a_, b_, FGI_PACK_LOW_##step);                      \
            (row)[i_ + (step)] = __builtin_shufflevector(a_, b_, FGI_PACK_HIGH_##step);            \
        }

/* 16 rows of 16 elements of 4 bytes, numbers or pairs of them, transposed in place. */
INLINED void fgi_transpose(fgi_wide row[FGI_WIDE]){
#pragma GCC unroll 16
    FGI_PACK_EXCHANGE(row, 8)
#pragma GCC unroll 16
        FGI_PACK_EXCHANGE(row, 4)
#pragma GCC unroll 16
            FGI_PACK_EXCHANGE(row, 2)
#pragma GCC unroll 16
                FGI_PACK_EXCHANGE(row, 1)}

/* The first `count` of 16 runs of `length` numbers, `from` bytes apart, become columns of rows that
 * are `to` apart; the other columns are anything. */
INLINED void fgi_pack_transposed(const char *in, bool is_half, int64_t from, int64_t count,
                                 int64_t length, float *out, int64_t to)
{
    const int64_t size = is_half ? 2 : 4;
    int64_t k = 0;
    for (; k + FGI_WIDE <= length; k += FGI_WIDE, in += FGI_WIDE * size) {
        fgi_wide row[FGI_WIDE];
#pragma GCC unroll 16
        for (int i = 0; i < FGI_WIDE; i++)
            fgi_load(&row[i], in + fgi_least(i, count - 1) * from, is_half);
        fgi_transpose(row);
#pragma GCC unroll 16
        for (int i = 0; i < FGI_WIDE; i++)
            *(fgi_wide *)(void *)(out + (k + i) * to) = row[i];
    }
    for (; k < length; k++, in += size)
        for (int64_t i = 0; i < count; i++)
            fgi_pack_run(in + i * from, is_half, 1, out + k * to + i);
}

INLINED void fgi_pack_panel_of(const fgi_operand *b, int64_t k, int64_t inner, int64_t n,
                               int64_t count, int64_t panel, bool is_half, float *out)
{
    const int64_t size = is_half ? 2 : 4;
    const char *from = b->data + (k * b->row + n * b->column) * size;
    if (count < panel)
        memset(out, 0, (size_t)(inner * panel) * sizeof *out);
    if (b->column == 1) {
        for (int64_t i = 0; i < inner; i++)
            if (count == panel)
                fgi_pack_run(from + i * b->row * size, is_half, panel, out + i * panel);
            else
                fgi_pack_run(from + i * b->row * size, is_half, count, out + i * panel);
        return;
    }
    for (int64_t c = 0; c < count; c += FGI_WIDE)
        fgi_pack_transposed(from + c * b->column * size, is_half, b->column * size,
                            fgi_least(FGI_WIDE, count - c), inner, out + c, panel);
}

/* Rows and columns of b from (k, n) as [inner][panel], with zeros after the last column. */
INLINED void fgi_pack_panel(const fgi_operand *b, int64_t k, int64_t inner, int64_t n,
                            int64_t count, int64_t panel, float *out)
{
    if (b->is_half)
        fgi_pack_panel_of(b, k, inner, n, count, panel, true, out);
    else
        fgi_pack_panel_of(b, k, inner, n, count, panel, false, out);
}

#endif
