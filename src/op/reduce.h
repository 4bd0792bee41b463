/* reduce.h - reductions: shared by reduce.c and the lowerings for XLA's CPU backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_REDUCE_H
#define FGI_OP_REDUCE_H

#include "op/op.h"

typedef struct fgi_reduce_attr {
    int64_t count;
    int64_t axis[FG_MAX_RANK];
} fgi_reduce_attr;

extern const fgi_op fgi_sum_op;

/* Sums over the first `count` axes, in stages if that is faster (reduce_cpu.c). */
fgi_value fgi_sum_leading_cpu(const fgi_emit *e, fgi_builder *b, fgi_value a, int count);

#endif
