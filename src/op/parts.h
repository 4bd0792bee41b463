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
/* `value` everywhere. */
fgi_part fgi_part_splat(fgi_emit *e, const fg_type *type, double value);
/* Sums over axes, in ascending order. */
fgi_part fgi_part_sum(fgi_emit *e, fgi_part a, int count, const int64_t *axis);
/* Sums of blocks that lie side by side: size[i], which divides dimension i, in each. */
fgi_part fgi_part_sum_windows(fgi_emit *e, fgi_part a, const int64_t *size);
/* name(a, value), of s32 without dimensions. */
fgi_part fgi_part_index(fgi_emit *e, const char *name, fgi_part a, int64_t value);
/* The block of a, size[i] long in dimension i, that begins at `at` in dimension `axis` and at 0 in
 * all others; and a with the block in its place. More than one axis: at[i] is along axis[i]. */
typedef struct fgi_place {
    int count, axis[2];
    fgi_part at[2]; /* s32 without dimensions */
} fgi_place;
fgi_part fgi_part_block(fgi_emit *e, fgi_part a, const fgi_place *place, const int64_t *size);
fgi_part fgi_part_put_block(fgi_emit *e, fgi_part a, fgi_part block, const fgi_place *place);
/* A loop of `count` turns (parts_loop.c). Turn i (s32 without dimensions) gets the values of
 * `state` and leaves the next ones there, of the same types; nothing else may be used in it but
 * what it writes itself. Afterwards `state` has the last ones. */
enum { FGI_MOST_STATE = 8 };
typedef void (*fgi_part_turn)(fgi_emit *e, const void *context, fgi_part i, fgi_part *state);
void fgi_part_loop(fgi_emit *e, int64_t count, int state_count, fgi_part *state, fgi_part_turn turn,
                   const void *context);
/* body(in...), of `type`, as a function of its own (fgi_emit_function_begin). */
typedef fgi_part (*fgi_part_body)(fgi_emit *e, const void *context, const fgi_part *in);
fgi_part fgi_part_isolated(fgi_emit *e, const fg_type *type, int in_count, const fgi_part *in,
                           fgi_part_body body, const void *context);
/* Whether the sum over the first `count` axes is better made in stages (reduce_cpu.c). */
bool fgi_sum_has_stages(const fgi_emit *e, const fg_type *a, int count);
/* Sums over the first `count` axes; in stages where these are better. */
fgi_part fgi_part_sum_leading(fgi_emit *e, fgi_part a, int count);
/* Whether the node, a[..., k] b[n, k]' with one contracted axis, is better written as the transpose
 * of b a' (dot_cpu.c); and writes it so. */
bool fgi_dot_is_swapped(const fgi_emit *e, const fg_type *a, const fg_type *b);
void fgi_dot_emit_swapped(fgi_emit *e);

#endif
