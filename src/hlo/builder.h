/* builder.h - writes StableHLO operations on typed SSA values: a function for each kind of
 * operation, regions, and functions other than @main. Result types follow from the operands, which
 * the caller has checked. Running out of memory marks the output buffer as failed. Source:
 * StableHLO specification 1.13.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HLO_BUILDER_H
#define FGI_HLO_BUILDER_H

#include <fulgurite/dtype.h>
#include "base/buf.h"

/* Location of an operation: loc("scope/op"("file":line:0)). */
typedef struct fgi_location {
    const char *scope, *op, *file; /* scope and file may be NULL */
    int line;
} fgi_location;

/* The functions of a module other than @main: argument types and body, without the name. */
typedef struct fgi_functions {
    fgi_buf *body;
    size_t count;
} fgi_functions;

typedef struct fgi_builder {
    fgi_buf *out;
    uint32_t *next; /* the next unused SSA number */
    fgi_functions *functions;
    fgi_location location; /* location of the operations written; op NULL: none */
} fgi_builder;

typedef struct fgi_value {
    uint32_t id; /* SSA number */
    fg_type type;
} fgi_value;

/* A value with a new number. Writes nothing. */
fgi_value fgi_build_value(fgi_builder *b, const fg_type *type);

/* %result = "stablehlo.name"(%in...) {attributes} : (types) -> type loc(...); attributes may be
 * NULL. */
void fgi_build_into(fgi_builder *b, const fgi_value *result, const char *name,
                    const char *attributes, int in_count, const fgi_value *in);
/* The same with several results. */
typedef struct fgi_operation {
    const char *name, *attributes;
    int in_count;
    const fgi_value *in;
} fgi_operation;
void fgi_build_results(fgi_builder *b, int count, const fgi_value *results,
                       const fgi_operation *operation);
/* The same, with a new result. */
fgi_value fgi_build(fgi_builder *b, const fg_type *type, const char *name, const char *attributes,
                    int in_count, const fgi_value *in);
/* The same, with attributes collected in `text`, which is freed. */
fgi_value fgi_build_text(fgi_builder *b, const fg_type *type, const char *name, fgi_buf *text,
                         int in_count, const fgi_value *in);
void fgi_build_text_into(fgi_builder *b, const fgi_value *result, const char *name, fgi_buf *text,
                         int in_count, const fgi_value *in);
/* Appends "name = array<i64: ...>" to attributes. */
void fgi_build_array(fgi_buf *text, const char *name, int count, const int64_t *values);
/* " loc(...)" and the newline: ends an operation that was written manually. */
void fgi_build_end(fgi_builder *b);

/* ---- operations ------------------------------------------------------------------------------ */

/* A constant with all elements equal to `value`. */
fgi_value fgi_build_splat(fgi_builder *b, const fg_type *type, double value);
void fgi_build_splat_into(fgi_builder *b, const fgi_value *result, double value);
fgi_value fgi_build_iota(fgi_builder *b, const fg_type *type, int axis);
/* name(x), name(x, y): of the type of x. */
fgi_value fgi_build_unary(fgi_builder *b, const char *name, fgi_value x);
fgi_value fgi_build_binary(fgi_builder *b, const char *name, fgi_value x, fgi_value y);
/* x in another dtype; x itself if it has that. */
fgi_value fgi_build_convert(fgi_builder *b, fgi_value x, fg_dtype dtype);
/* name(x, constant): both s32[]. */
fgi_value fgi_build_index(fgi_builder *b, const char *name, fgi_value x, int64_t constant);
/* bool with the shape of x; direction: "EQ", "LT" ... */
fgi_value fgi_build_compare(fgi_builder *b, const char *direction, fgi_value x, fgi_value y);
/* Selects x where condition is true, else y. */
fgi_value fgi_build_select(fgi_builder *b, fgi_value condition, fgi_value x, fgi_value y);
fgi_value fgi_build_reshape(fgi_builder *b, fgi_value x, int rank, const int64_t *dim);
fgi_value fgi_build_transpose(fgi_builder *b, fgi_value x, const int64_t *permutation);
fgi_value fgi_build_reverse(fgi_builder *b, fgi_value x, int count, const int64_t *axis);
/* stride NULL: 1 in every dimension. */
fgi_value fgi_build_slice(fgi_builder *b, fgi_value x, const int64_t *start, const int64_t *limit,
                          const int64_t *stride);
/* Pads with `value` around and between elements; interior NULL: none between. */
fgi_value fgi_build_pad(fgi_builder *b, fgi_value x, double value, const int64_t *low,
                        const int64_t *high, const int64_t *interior);
/* Broadcasts x to `type`: dimension i of x is dimension axis[i] of the result. */
fgi_value fgi_build_broadcast(fgi_builder *b, fgi_value x, const fg_type *type,
                              const int64_t *axis);
/* The start of a block: at[i] (s32[]) along dimension axis[i], 0 in the other dimensions. */
typedef struct fgi_block_start {
    int count, axis[FG_MAX_RANK];
    fgi_value at[FG_MAX_RANK];
} fgi_block_start;
/* The block of x with these sizes; x with the block replaced. */
fgi_value fgi_build_dynamic_slice(fgi_builder *b, fgi_value x, const fgi_block_start *start,
                                  const int64_t *size);
fgi_value fgi_build_dynamic_update_slice(fgi_builder *b, fgi_value x, fgi_value block,
                                         const fgi_block_start *start);

/* ---- regions (region.c) ---------------------------------------------------------------------- */

/* %result = "stablehlo.name"(in, init) ({ body of two scalars }) {attributes}: reduce and
 * reduce_window. body: "add", "maximum". init: a scalar. `attributes` is freed. */
void fgi_build_reduction(fgi_builder *b, const fgi_value *result, const char *name,
                         const char *body, fgi_value in, fgi_value init, fgi_buf *attributes);
/* Sums over axes, in ascending order. */
fgi_value fgi_build_sum(fgi_builder *b, fgi_value x, int count, const int64_t *axis);
/* Sums of adjacent blocks; the last one along dimension i is smaller if size[i] is no divisor. */
fgi_value fgi_build_sum_windows(fgi_builder *b, fgi_value x, const int64_t *size);
/* select_and_scatter: in each window of x, the first largest element receives the window's element
 * of `source`; they are added up. `attributes` is freed. */
void fgi_build_scatter_to_max(fgi_builder *b, const fgi_value *result, fgi_value x,
                              fgi_value source, fgi_value init, fgi_buf *attributes);
/* scatter: x, whose elements at the positions `index` are combined with those of `source`: by
 * `body`, "add", or replaced if it is NULL. `attributes` is freed. */
void fgi_build_scatter(fgi_builder *b, const fgi_value *result, const char *body, fgi_value x,
                       fgi_value index, fgi_value source, fgi_buf *attributes);
/* The positions of the elements of x u32[n] in ascending order, s32[n]. */
fgi_value fgi_build_order(fgi_builder *b, fgi_value x);
/* sort along `axis`, keeping the order of equal elements: all operands in the order of the first,
 * ascending or descending, with NaN as the largest element. */
void fgi_build_sort(fgi_builder *b, int count, const fgi_value *results, const fgi_value *in,
                    int axis, bool descending);
/* while: `state` has the first values, and the last ones afterwards. condition returns bool[] for
 * the values of an iteration; body replaces them by the next ones. Both may use values from outside
 * only through the state. */
typedef struct fgi_while {
    fgi_value (*condition)(fgi_builder *b, void *context, const fgi_value *state);
    void (*body)(fgi_builder *b, void *context, fgi_value *state);
    void *context;
} fgi_while;
void fgi_build_while(fgi_builder *b, const fgi_while *loop, int count, fgi_value *state);
/* A loop of `count` iterations. Iteration i (s32[]) receives the values of `state` and leaves the
 * next values there, of the same types; it may use no other values except those that it creates.
 * Afterwards `state` has the final values. */
enum { FGI_LOOP_STATE_MAX = 8 };
typedef void (*fgi_loop_body)(fgi_builder *b, const void *context, fgi_value i, fgi_value *state);
void fgi_build_loop(fgi_builder *b, int64_t count, int state_count, fgi_value *state,
                    fgi_loop_body body, const void *context);

/* ---- functions (function.c) ------------------------------------------------------------------ */

/* Calls a function with this body, which uses only its arguments, and returns the result of type
 * `type`. The compiler compiles it separately: nothing is fused across the call. Functions have no
 * side effects, so identical ones are written only once. */
typedef fgi_value (*fgi_function_body)(fgi_builder *b, const void *context, const fgi_value *in);
fgi_value fgi_build_call(fgi_builder *b, const fg_type *type, int in_count, const fgi_value *in,
                         fgi_function_body body, const void *context);
/* Writes the functions and frees them. */
void fgi_functions_put(const fgi_functions *functions, fgi_buf *out);
void fgi_functions_fini(fgi_functions *functions);

#endif
