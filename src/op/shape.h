/* shape.h - attributes of the operations that move elements, and their row rules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_SHAPE_H
#define FGI_OP_SHAPE_H

#include "trace/graph.h"

/* reshape: the shape; permute: the axes; reverse: a list of axes. */
typedef struct fgi_shape_attr {
    int64_t rank;
    int64_t dim[FG_MAX_RANK];
} fgi_shape_attr;

/* Dimension i of the operand becomes dimension axis[i] of the result, ascending; it is broadcast
 * along the result's other dimensions and along its dimensions of size 1. */
typedef struct fgi_broadcast_attr {
    int64_t rank;
    int64_t dim[FG_MAX_RANK];
    int64_t axis[FG_MAX_RANK];
} fgi_broadcast_attr;

typedef struct fgi_slice_attr {
    int64_t start[FG_MAX_RANK], limit[FG_MAX_RANK], stride[FG_MAX_RANK];
} fgi_slice_attr;

typedef struct fgi_pad_attr {
    int64_t low[FG_MAX_RANK], high[FG_MAX_RANK], interior[FG_MAX_RANK];
} fgi_pad_attr;

typedef struct fgi_axis_attr {
    int64_t axis;
} fgi_axis_attr;

extern const fgi_op fgi_pad_op, fgi_concat_op, fgi_broadcast_op;

/* Row rules (shape_rows.c). */
bool fgi_reshape_rows(fgi_infer *c);
bool fgi_permute_rows(fgi_infer *c);
bool fgi_broadcast_rows(fgi_infer *c);
bool fgi_slice_rows(fgi_infer *c);
bool fgi_pad_rows(fgi_infer *c);
bool fgi_concat_rows(fgi_infer *c);
bool fgi_reverse_rows(fgi_infer *c);

#endif
