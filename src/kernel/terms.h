/* terms.h - what a matmul adds to its result, and relu.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_TERMS_H
#define FGI_KERNEL_TERMS_H

#include "kernel/kernel.h"
#include "kernel/pack.h"

/* Each is added to y; one whose rows have no distance is a row, added to each of y. */
typedef struct fgi_terms {
    int count;
    fgi_operand term[FGI_KERNEL_MATMUL_TERMS];
    bool is_relu; /* of the sum; NaN stays */
} fgi_terms;

/* A part of the result: rows and columns from there, in f32, `step` numbers from row to row; padded
 * to a multiple of 16 columns. */
typedef struct fgi_part {
    int64_t row, column, rows, columns;
    float *y;
    int64_t step;
} fgi_part;

INLINED void fgi_add_term(const fgi_operand *t, bool is_half, bool is_full, const fgi_part *to)
{
    for (int64_t r = 0; r < to->rows; r++) {
        const char *from = t->data + ((to->row + r) * t->row + to->column) * (is_half ? 2 : 4);
        for (int64_t c = 0; c < to->columns; c += FGI_WIDE) {
            fgi_wide term;
            fgi_load_few(&term, from + c * (is_half ? 2 : 4), is_full ? FGI_WIDE : to->columns - c,
                         is_half);
            *(fgi_wide *)(void *)(to->y + r * to->step + c) += term;
        }
    }
}

INLINED void fgi_add_terms(const fgi_terms *terms, const fgi_part *to)
{
    for (int i = 0; i < terms->count; i++)
        if (to->columns % FGI_WIDE != 0)
            fgi_add_term(&terms->term[i], terms->term[i].is_half, false, to);
        else if (terms->term[i].is_half)
            fgi_add_term(&terms->term[i], true, true, to);
        else
            fgi_add_term(&terms->term[i], false, true, to);
    for (int64_t r = 0; r < to->rows && terms->is_relu; r++)
        for (int64_t c = 0; c < to->columns; c += FGI_WIDE) {
            fgi_wide *y = (fgi_wide *)(void *)(to->y + r * to->step + c);
            const fgi_wide_bits is_kept = ~(fgi_wide_bits)(*y <= 0);
            fgi_keep(&is_kept, y, 0);
        }
}

/* Those of a call of FGI_KERNEL_MATMUL. */
INLINED fgi_terms fgi_terms_of(const fgi_ffi_call *call, const fgi_kernel_matmul_numbers *n)
{
    fgi_terms terms = {.is_relu = n->is_relu != 0};
    for (int64_t i = 2; i < call->in.count; i++) {
        const fgi_ffi_buffer *in = call->in.buffer[i];
        terms.term[terms.count++] =
            (fgi_operand){.data = in->data,
                          .row = fgi_ffi_count(in) == n->columns ? 0 : n->columns,
                          .column = 1,
                          .is_half = in->dtype == FGI_FFI_BF16};
    }
    return terms;
}

#endif
