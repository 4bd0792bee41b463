/* graph.h - nodes of a trace, the table that describes an operation, and how one is applied.
 *
 * An operation is a constant fgi_op with its shape rule, emission and gradient; src/op holds them
 * all. A node is one application, immutable, in the arena of its trace.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_GRAPH_H
#define FGI_TRACE_GRAPH_H

#include <stdatomic.h>

#include <fulgurite/trace.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/reserved.h"
#include "hlo/builder.h"
#include "pjrt/pjrt.h"

typedef struct fgi_op fgi_op;
typedef struct fg_node fgi_node;

/* Which elements of a value belong to which row, that is sample, of a batch of B rows with padding.
 * step[i] is 0 where dimension i has nothing to do with the batch. Otherwise the dimension has
 * n * B * step[i] elements, and element e of it belongs to row e / step[i] % B: so [B, T] keeps
 * its rows when it becomes [B * T], and [B, C] after [B, C] when they become [2 * B, C]. An element
 * is valid when all the rows that it belongs to are.
 *
 * Invariant: valid elements, and values without rows, do not depend on what padding rows contain.
 * rows.c (the rules) and src/op/padding.c (the only operation that takes rows away) keep it. */
typedef struct fgi_rows {
    int64_t step[FG_MAX_RANK];
} fgi_rows;

struct fg_node {
    const fgi_op *op; /* NULL for the poison node */
    fg_trace *trace;
    fgi_node *first; /* of the nodes with this hash: the one that is emitted for all of them */
    fgi_node **in;
    const void *attr; /* the op's own struct, or NULL */
    const char *scope;
    const char *file;
    int line;
    uint32_t id; /* ascending in creation order: inputs have smaller ids */
    int arity;
    uint32_t attr_size;
    fgi_hash hash; /* of the structure below and including this node */
    fg_type type;
    const fgi_rows *rows;  /* NULL: none */
    fgi_node *denominator; /* of a weighted mean of rank 0: the sum of weights; else NULL */
};

/* ---- shape rules ----------------------------------------------------------------------------- */

typedef struct fgi_infer {
    fg_trace *trace;
    const fgi_op *op;
    const fg_type *const *in;
    int arity;
    const void *attr;
    fg_type out;
    const fgi_rows *const *in_rows; /* for row rules, which come after shape rules */
    int64_t batch;                  /* rows of the batch: B */
    bool is_derivative;             /* the operation is part of a gradient */
    fgi_rows rows;                  /* of the result; zero at first */
} fgi_infer;

/* The result's type; returns true. */
bool fgi_infer_ok(fgi_infer *c, fg_dtype dtype, int rank, const int64_t *dim);
/* Keeps "op(f32[3,4], ...): text" as the trace's first error and returns false. */
bool fgi_infer_fail(fgi_infer *c, fg_status status, const char *format, ...) FG_PRINTF(3, 4);

/* Whether the product of any of the dimensions that are not 0, times the size of an element, is an
 * int64_t: so nothing that is computed from them runs over, also where one of them is 0. */
bool fgi_type_is_countable(const fg_type *type);

/* ---- row rules (rows.c) -----------------------------------------------------------------------
 */

/* Where the result has rows, given that at least one operand has some; writes c->rows, or returns
 * false after an error. In a gradient the elements of padding rows are 0 and may be added up. */
/* Operands and result have one shape: wherever any operand has rows. */
bool fgi_rows_pointwise(fgi_infer *c);
/* Takes over a step along dimension `axis`; false where the result has another one there. */
bool fgi_rows_join(fgi_infer *c, int axis, int64_t step);
/* No operand can have rows. */
bool fgi_rows_never(fgi_infer *c);
/* The error of an operation that would mix samples with padding rows along `axis` of an operand:
 * `instead` says what to write, "take means over the batch axis with fg_mean". Returns false. */
bool fgi_rows_mixed(fgi_infer *c, int axis, const char *instead);

/* ---- emission -------------------------------------------------------------------------------- */

/* One operation of a trace being written: the operands and the result of `node` as values of the
 * program, and the builder (hlo/builder.h) that writes to it. */
typedef struct fgi_emit {
    fgi_builder b;
    const fgi_node *node;
    const fg_client *client;     /* NULL: none */
    int batch_shards;            /* of the mesh */
    uint32_t *value;             /* SSA number of each node id */
    uint32_t scalars;            /* SSA number of the packed scalars */
    const uint32_t *scalar_word; /* of each leaf: its word there */
    size_t scalar_count;
} fgi_emit;

/* Operand i of the node; its result, whose SSA number is reserved. */
fgi_value fgi_emit_in(const fgi_emit *e, int i);
fgi_value fgi_emit_result(const fgi_emit *e);
/* Makes another value of the same type the node's result. */
void fgi_emit_become(fgi_emit *e, fgi_value value);
/* The node as one StableHLO operation on its operands; attributes may be NULL, are formatted, or
 * are collected in `text`, which is freed. */
void fgi_emit_simple(fgi_emit *e, const char *stablehlo_name, const char *attributes);
void fgi_emit_attributes(fgi_emit *e, const char *stablehlo_name, const char *format, ...)
    FG_PRINTF(3, 4);
void fgi_emit_text(fgi_emit *e, const char *stablehlo_name, fgi_buf *text);
/* The node as a reduction of its operand 0 (fgi_build_reduction). */
void fgi_emit_reduction(fgi_emit *e, const char *stablehlo_name, const char *body, double init,
                        fgi_buf *attributes);
/* For leaves: the word of the packed scalars that this node stands for, as ui32. */
void fgi_emit_scalar_word(fgi_emit *e, const fgi_value *result);
/* #sdy.sharding<@mesh, [{"data"}, {}]>: the sharding of a value of that rank. */
void fgi_emit_sharding(const fg_trace *trace, fgi_buf *out, const fgi_sharding *sharding, int rank);

/* ---- gradients ------------------------------------------------------------------------------- */

typedef struct fgi_vjp {
    const void *attr;
    int arity;
    const fg_tensor *in; /* the node's inputs, in[arity] */
    fg_tensor out;       /* the node itself */
    fg_tensor dout;      /* derivative by it */
    const bool *need;    /* need[i]: din[i] is wanted */
    fg_tensor *din;      /* to be filled where wanted; left alone means zero */
} fgi_vjp;

/* For optimizers, written in src/grad: derivatives by the parameters' values in force. out[i] is an
 * empty tensor where the loss does not depend on parameter i in a way that can be differentiated.
 * Errors, kept in the trace: those of fg_grad; FG_EINVAL when the loss was computed from a value
 * that has been assigned anew since. */
void fgi_grad_parameters(fg_tensor loss, fg_variable *const *parameters, size_t count,
                         fg_tensor *out);

/* ---- operations ------------------------------------------------------------------------------ */

/* How an operation treats elements: what compilers fuse and move around depends on it. */
typedef enum fgi_role {
    FGI_PLAIN = 0,
    FGI_POINTWISE, /* each element is computed from the operands' elements at its place */
    FGI_MOVES,     /* elements are only moved: reshape, permute, slice                  */
    FGI_MATMUL     /* a matmul                                                  */
} fgi_role;

struct fgi_op {
    const char *name; /* as in messages and locations */
    int arity;        /* -1: any number */
    fgi_role role;
    bool is_commutative;
    bool (*infer)(fgi_infer *c);
    bool (*rows)(fgi_infer *c); /* row rule; required unless arity is 0 */
    bool makes_rows;            /* the row rule is asked also when no operand has rows */
    /* The lowering to StableHLO, for platforms without one of their own (lowering.h). NULL: prints
     * nothing, the value is the first input's */
    void (*emit)(fgi_emit *e);
    void (*vjp)(fgi_vjp *v); /* NULL: no gradient flows through (comparisons, integers) */
    /* Products and convolutions: multiplications and additions that count, those with padding and
     * with the gaps of dilation left out. NULL: none worth counting */
    double (*flops)(const fgi_node *node);
    /* Constants of one number: which. NULL: not one. */
    double (*number)(const void *attr);
    /* Composite operations, which have only this and a name: applies other operations to `in`
     * (fgi_compose) */
    void (*compose)(const fg_tensor *in, fg_tensor *out);
};

/* Applies an operation to `count` >= 1 tensors of one trace. attr is copied; its padding must be
 * zero, for it is hashed. Each application is a node of its own, by which one can differentiate;
 * of equal ones only the first is emitted. */
fg_tensor fgi_apply(const fgi_op *op, const fg_tensor *in, int count, const void *attr,
                    size_t attr_size);
/* The same for an operation without inputs. */
fg_tensor fgi_apply_source(fg_trace *trace, const fgi_op *op, const void *attr, size_t attr_size);

#define FGI_APPLY1(op, a)       fgi_apply(&(op), &(a), 1, NULL, 0)
#define FGI_APPLY2(op, a, b)    fgi_apply(&(op), (const fg_tensor[]){a, b}, 2, NULL, 0)
#define FGI_APPLY3(op, a, b, c) fgi_apply(&(op), (const fg_tensor[]){a, b, c}, 3, NULL, 0)

/* Tensors and nodes (handle.c). A tensor's handle has, from the top, its trace's place in a table,
 * the trace's generation, and the node's number and 1 (0: the poison node). The tensor is alive
 * when all but the number is the `base` of that place. */
enum { FGI_PLACE_SHIFT = 52, FGI_GENERATION_SHIFT = 28, FGI_TRACE_LIMIT = 4096 };
#define FGI_NODE_MASK (((uint64_t)1 << FGI_GENERATION_SHIFT) - 1)
typedef struct fgi_handle_entry {
    _Atomic(uint64_t) base; /* 0: no trace is here */
    fgi_node **nodes;       /* the trace's, by id */
    fg_trace *trace;
    uint64_t generation; /* the last one in use here, also by traces before */
} fgi_handle_entry;
extern fgi_handle_entry fgi_handle_table[FGI_TRACE_LIMIT];
/* fgi_node_of for poison and for what is no longer alive. */
fgi_node *fgi_node_of_unusual(fg_tensor tensor);
/* The node of a tensor; of one that is no longer alive, the poison node of the trace that the
 * thread is writing, which then has an error. */
static inline fgi_node *fgi_node_of(fg_tensor tensor)
{
    const uint64_t id = tensor.handle & FGI_NODE_MASK, base = tensor.handle - id;
    const fgi_handle_entry *e = &fgi_handle_table[base >> FGI_PLACE_SHIFT];
    if (id == 0 || base == 0 || atomic_load_explicit(&e->base, memory_order_acquire) != base)
        return fgi_node_of_unusual(tensor);
    return e->nodes[id - 1];
}
fg_tensor fgi_tensor_of(const fgi_node *node);
/* The poison value of a trace; makes an error in it unless there is one. */
fg_tensor fgi_poison(fg_trace *trace);
bool fgi_is_poison(fg_tensor tensor);
/* Keeps an error in a trace unless it has one, blames the user's place, and returns poison. */
fg_tensor fgi_trace_fail(fg_trace *trace, fg_status status, const char *format, ...)
    FG_PRINTF(3, 4);
/* False after keeping an error: `reserved` of an operation's options is not zero. */
bool fgi_trace_check_reserved(fg_trace *trace, fgi_reserved reserved);
/* Another node with the tensor's value: a derivative by it counts only what was computed from it,
 * not other uses of the tensor. Nothing is emitted for it. */
fg_tensor fgi_alias(fg_tensor tensor);
extern const fgi_op fgi_alias_op;
/* A number for the next random operation of this trace, by which its bits differ from others'. */
uint32_t fgi_trace_next_random_id(fg_trace *trace);
/* The two words of the key that (seed, step) make, as inputs of the program. */
const fg_scalar *fgi_trace_key(const fg_trace *trace);

/* The rows of a batch with padding, 0 where the trace has no mask. */
int64_t fgi_trace_batch(const fg_trace *trace);
/* fg_trace_set_mask, with the number of valid rows, f32[], where that is known. */
void fgi_trace_set_mask(fg_trace *trace, fg_tensor mask, const fg_tensor *count);
/* That number; false where it has to be counted. */
bool fgi_trace_valid_count(const fg_trace *trace, fg_tensor *out);
/* The user says which axis is the batch: a mask that is set later would come too late. */
void fgi_trace_note_mark(fg_trace *trace);
/* Whether a mask is set and nothing else is known: losses and layers then take dimension 0 of their
 * operands for the batch axis. */
bool fgi_trace_assumes_rows(const fg_trace *trace);
/* Whether gradients are being written down. */
bool fgi_trace_is_derivative(const fg_trace *trace);

/* While > 0 the operations made inherit the place of `node` (gradients do). */
void fgi_trace_borrow_location(fg_trace *trace, const fgi_node *node);

#endif
