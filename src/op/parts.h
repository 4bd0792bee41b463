/* parts.h - emissions of several lines: values with their types, and a function for each kind of
 * line. Shapes are the caller's to get right; what is out of memory shows in the text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_PARTS_H
#define FGI_OP_PARTS_H

#include "trace/graph.h"

/* A value of the program that is being written. */
typedef struct fgi_part {
    uint32_t id;
    fg_type type;
} fgi_part;

/* The node's input i; and a part as the node's result, which must be of its type. */
fgi_part fgi_part_in(const fgi_emit *e, int i);
void fgi_part_become(fgi_emit *e, fgi_part part);

/* %r = "stablehlo.name"(in...) {attributes} -> type; attributes may be NULL. */
fgi_part fgi_part_line(fgi_emit *e, const fg_type *type, const char *name, const char *attributes,
                       int in_count, const fgi_part *in);
/* name(a, b): of a's type. */
fgi_part fgi_part_pair(fgi_emit *e, const char *name, fgi_part a, fgi_part b);
fgi_part fgi_part_reshape(fgi_emit *e, fgi_part a, int rank, const int64_t *dim);
fgi_part fgi_part_transpose(fgi_emit *e, fgi_part a, const int64_t *axis);
fgi_part fgi_part_reverse(fgi_emit *e, fgi_part a, int count, const int64_t *axis);
/* stride NULL: 1 in every dimension. */
fgi_part fgi_part_slice(fgi_emit *e, fgi_part a, const int64_t *start, const int64_t *limit,
                        const int64_t *stride);
/* `value` around and between elements; interior NULL: none between. */
fgi_part fgi_part_pad(fgi_emit *e, fgi_part a, double value, const int64_t *low,
                      const int64_t *high, const int64_t *interior);
fgi_part fgi_part_concatenate(fgi_emit *e, int count, const fgi_part *in, int axis);
/* a repeated to `type`: its dimension i is axis[i] there. */
fgi_part fgi_part_broadcast(fgi_emit *e, fgi_part a, const fg_type *type, const int64_t *axis);
fgi_part fgi_part_convert(fgi_emit *e, fgi_part a, fg_dtype dtype);
/* Sums over axes, in ascending order. */
fgi_part fgi_part_sum(fgi_emit *e, fgi_part a, int count, const int64_t *axis);
/* Sums of blocks that lie side by side: size[i], which divides dimension i, in each. */
fgi_part fgi_part_sum_windows(fgi_emit *e, fgi_part a, const int64_t *size);
/* Whether the sum over the first `count` axes is better made in stages (reduce_cpu.c). */
bool fgi_sum_has_stages(const fgi_emit *e, const fg_type *a, int count);
/* Sums over the first `count` axes; in stages where these are better. */
fgi_part fgi_part_sum_leading(fgi_emit *e, fgi_part a, int count);

#endif
