/* body.h - the bodies of loops: nodes that are computed once in each iteration.
 *
 * While a region is open, its arguments represent values that change from one iteration to the
 * next. A node belongs to the innermost region that one of its inputs belongs to; what does not
 * depend on an argument stays outside and is computed once. A value of a region can only be used in
 * it, with one exception: the body of a loop's gradient may use values of the loop's own body. It
 * then reads what the loop has stored in each iteration.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_BODY_H
#define FGI_TRACE_BODY_H

#include "trace/graph.h"

/* A loop's node has the inputs: initial values of the carried values, x, captures, and the number
 * of iterations if it is computed. Its results: the last carried values, the number of iterations
 * (s32[]), y. Iteration t reads row t of each x and writes row t of each y. */
struct fgi_region {
    fgi_region *outer;  /* the region that was open before; NULL: none */
    fgi_region *source; /* of a gradient: the body that it differentiates; NULL: none */
    fgi_node *loop;     /* NULL: the region is open or was abandoned */
    uint32_t serial;
    size_t first_id; /* its nodes have at least this id, and less than its loop */
    int depth;
    bool is_open;
    bool is_reverse; /* from the last row to the first */
    bool is_counted; /* the last input is the number of iterations */
    int64_t length;  /* rows of x and y, the largest number of iterations; 0: no limit */
    int carry_count, x_count, y_count, capture_count, constant_count;
    fgi_node **carry, **x; /* arguments; for values of `source`, x has the value itself */
    fgi_node **next, **y;  /* what an iteration computes */
    fgi_node *condition;   /* bool[] of the carried values; NULL: always true */
    fgi_node *index;       /* t, s32[]; NULL: not used */
    fgi_node **constant;   /* constants from outside, emitted again in each iteration */
};

/* Opens a region in the open one; NULL after keeping FG_ENOMEM. */
fgi_region *fgi_region_open(fg_trace *trace, fgi_region *source);
void fgi_region_close(fg_trace *trace, fgi_region *region);
/* Arguments of an open region: a carried value, a row of an x, the index of the iteration. */
fg_tensor fgi_region_carry(fgi_region *region, fg_trace *trace, const fg_type *type,
                           const fgi_rows *rows);
fg_tensor fgi_region_x(fgi_region *region, fg_trace *trace, const fg_type *type,
                       const fgi_rows *rows);
fg_tensor fgi_region_index(fgi_region *region, fg_trace *trace);
/* Adds a node to a list of the region; false after keeping FG_ENOMEM. */
bool fgi_region_push(fg_trace *trace, fgi_node ***list, int *count, fgi_node *node);

/* The region that a new node with these inputs belongs to; changes its hash if it uses values of
 * another loop's body. Returns false after keeping an error. */
bool fgi_region_place(fg_trace *trace, fgi_node *const *in, int count, fgi_region **out,
                      fgi_hash *hash);
/* Whether the value can be used outside loops; otherwise keeps an error that names `user`. */
bool fgi_region_is_outside(const fgi_node *node, const char *user);
/* How often a node is computed in one run, at most. */
double fgi_region_repeats(const fgi_node *node);

/* Closes a region and adds the node of its loop. `init` and `x` have carry_count and x_count
 * tensors, count is the number of iterations or an empty tensor. Values of other bodies, which the
 * loops of these store, become further x. NULL after keeping an error. */
typedef struct fgi_loop_inputs {
    const fg_tensor *init, *x;
    fg_tensor count;
} fgi_loop_inputs;
fgi_node *fgi_region_finish(fgi_region *region, fg_trace *trace, const fgi_op *op,
                            const fgi_loop_inputs *inputs);
/* The values that a node of a closed region had in all iterations: T[length, ...]. */
fg_tensor fgi_region_stack(fgi_node *node);

#endif
