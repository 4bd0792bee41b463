/* loop.h - loops that are one operation of the program: it is traced and compiled once, whatever
 * the number of iterations.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_LOOP_H
#define FULGURITE_OPS_LOOP_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* At most this many carried values, x and y of a loop. */
enum { FG_LOOP_VALUES = 64 };

/* Calls `body` to trace one iteration, more than once if carried values turn out to depend on the
 * batch. It computes next[carry_count], of the same types as carry[carry_count], and y[y_count],
 * from the carried values and from x[x_count], row t of each x. It may use other tensors of the
 * trace and variables, whose gradients are summed over the iterations, but must not assign
 * variables; tensors that it computes must not be used after it. Random numbers differ from
 * iteration to iteration. */
typedef struct fg_scan_options {
    int carry_count, x_count, y_count;
    int64_t length; /* number of iterations; may be 0 with an x [its first dimension] */
    bool reverse;   /* from the last row of x and y to the first [false] */
    void (*body)(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                 fg_tensor *y);
    void *self; /* the first argument of body */
    uint64_t reserved[4];
} fg_scan_options;

/* A loop over the first dimension of tensors, which passes values from one iteration to the next:
 * recurrent networks, layers with stacked weights, sums over blocks.
 *
 *   carry[i]      T, any dtype: the initial values
 *   x[i]          T[length, ...], any dtype; the first dimension must not be a batch axis
 *   out_carry[i]  the values after the last iteration
 *   out_y[i]      T[length, ...]: y of each iteration
 *
 * Gradient: to carry, x, and everything that the body uses. The values that it needs are stored in
 * each iteration; fg_remat_begin in the body stores less. Errors: FG_EINVAL (a count or length is
 * out of range, a value of the body is used outside), FG_ESHAPE and FG_EDTYPE (a value of next
 * differs from carry in its type). Source: JAX, "jax.lax.scan"; StableHLO specification, "while".
 */
FG_API void fg_scan(const fg_scan_options *options, const fg_tensor *carry, const fg_tensor *x,
                    fg_tensor *out_carry, fg_tensor *out_y);

/* condition returns bool[], computed from the carried values, whether there is another iteration;
 * the rules for body are those of fg_scan_options. */
typedef struct fg_while_options {
    int carry_count;
    int64_t limit; /* the largest number of iterations; required for gradients [no limit] */
    fg_tensor (*condition)(void *self, const fg_tensor *carry);
    void (*body)(void *self, const fg_tensor *carry, fg_tensor *next);
    void *self;
    uint64_t reserved[4];
} fg_while_options;

/* Repeats body as long as condition is true, and not more often than limit. carry[i] are the
 * initial values, out_carry[i] the last ones. Gradient: as for fg_scan; memory for `limit`
 * iterations is reserved. Errors: those of fg_scan; FG_EUNSUPPORTED (a gradient without a limit).
 * Source: StableHLO specification, "while". */
FG_API void fg_while(const fg_while_options *options, const fg_tensor *carry, fg_tensor *out_carry);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_scan(...)  FG_HERE(fg_scan(__VA_ARGS__))
#define fg_while(...) FG_HERE(fg_while(__VA_ARGS__))
#endif
#endif
