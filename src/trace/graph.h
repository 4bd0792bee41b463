/* graph.h - nodes of a trace, the table that describes an operation, and how to apply one.
 *
 * An operation is a constant fgi_op with its shape rule, lowering and gradient; all are in src/op.
 * A node is one application, immutable, in the arena of its trace.
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
typedef struct fgi_region fgi_region; /* the body of a loop (body.h) */

/* Which elements of a value belong to which row, that is sample, of a batch of B rows with padding.
 * step[i] is 0 if dimension i does not depend on the batch. Otherwise the dimension has n * B *
 * step[i] elements, and element e of it belongs to row e / step[i] % B: so [B, T] keeps its rows
 * when it becomes [B * T], and [B, C] concatenated with [B, C] when they become [2 * B, C]. An
 * element is valid if all the rows that it belongs to are valid.
 *
 * Invariant: valid elements, and values without rows, do not depend on the content of padding rows.
 * It is maintained by rows.c (the rules) and src/op/padding.c (the only operation that removes
 * rows). */
typedef struct fgi_rows {
    int64_t step[FG_MAX_RANK];
} fgi_rows;

/* The results of an operation with several of them. Each is a separate node, whose only input is
 * the operation's node. */
typedef struct fgi_results {
    int count;
    fg_type *type;
    const fgi_rows **rows; /* NULL: none */
    fgi_node **node;
} fgi_results;

struct fg_node {
    const fgi_op *op; /* NULL for the poison node */
    fg_trace *trace;
    fgi_node *first; /* the first node with this hash, which is emitted for all of them */
    fgi_node **in;
    const void *attr; /* the op's own struct, or NULL */
    const char *scope;
    const char *file;
    int line;
    uint32_t id; /* in order of creation: inputs have smaller ids */
    int arity;
    uint32_t attr_size;
    fgi_hash hash; /* of the structure up to and including this node */
    fg_type type;
    const fgi_rows *rows;  /* NULL: none */
    fgi_node *denominator; /* for a weighted mean of rank 0: the sum of weights; else NULL */
    fgi_results *results;  /* NULL: the node is its own result, of type `type` */
    fgi_region *region;    /* the body that it is part of; NULL: none */
    fgi_region *body;      /* of a loop; else NULL */
};

/* ---- shape rules ----------------------------------------------------------------------------- */

typedef struct fgi_infer {
    fg_trace *trace;
    const fgi_op *op;
    const fg_type *const *in;
    int arity;
    const void *attr;
    fg_type out;
    const fgi_rows *const *in_rows; /* for row rules, which run after shape rules */
    int64_t batch;                  /* number of rows of the batch: B */
    bool is_derivative;             /* the operation is part of a gradient */
    fgi_rows rows;                  /* rows of the result; initially zero */
    fgi_results *results;           /* NULL: one result */
} fgi_infer;

/* Sets the type of the result; returns true. */
bool fgi_infer_ok(fgi_infer *c, fg_dtype dtype, int rank, const int64_t *dim);
/* Several results, whose types the caller sets in c->results->type; returns false when out of
 * memory. Row rules set c->results->rows with fgi_rows_of_result. */
bool fgi_infer_results(fgi_infer *c, int count);
/* Keeps "op(f32[3,4], ...): text" as the trace's first error and returns false. */
bool fgi_infer_fail(fgi_infer *c, fg_status status, const char *format, ...) FG_PRINTF(3, 4);

/* Whether the product of any of the nonzero dimensions, times the size of an element, fits int64_t:
 * so nothing computed from them overflows, also if one of them is 0. */
bool fgi_type_is_countable(const fg_type *type);

/* ---- row rules (rows.c) ---------------------------------------------------------------------- */

/* Computes the rows of the result, given that at least one operand has some; writes c->rows, or
 * returns false after an error. In a gradient the elements of padding rows are 0 and may be added
 * up. */
/* Operands and result have the same shape: the result has rows wherever an operand has rows. */
bool fgi_rows_pointwise(fgi_infer *c);
/* Adds a step along dimension `axis`; false if the result has a different one there. */
bool fgi_rows_join(fgi_infer *c, int axis, int64_t step);
/* The rows of result i of several; false when out of memory. */
bool fgi_rows_of_result(fgi_infer *c, int i, const fgi_rows *rows);
/* No operand can have rows. */
bool fgi_rows_never(fgi_infer *c);
/* The error of an operation that would mix samples with padding rows along `axis` of an operand.
 * `instead` suggests an alternative, "take means over the batch axis with fg_mean". Returns false.
 */
bool fgi_rows_mixed(fgi_infer *c, int axis, const char *instead);

/* ---- emission -------------------------------------------------------------------------------- */

/* One operation of a trace being emitted: the operands and the result of `node` as values of the
 * program, and the builder (hlo/builder.h) that writes to it. */
typedef struct fgi_emit {
    fgi_builder b;
    const fgi_node *node;
    const fg_client *client;     /* NULL: none */
    int batch_shards;            /* of the mesh */
    uint32_t *value;             /* SSA number by node id */
    uint32_t scalars;            /* SSA number of the packed scalars */
    const uint32_t *scalar_word; /* for each leaf: its index in the packed scalars */
    size_t scalar_count;
    struct fgi_module *module; /* of emit.c */
} fgi_emit;

/* Operand i of the node; its result, whose SSA number is reserved. */
fgi_value fgi_emit_in(const fgi_emit *e, int i);
fgi_value fgi_emit_result(const fgi_emit *e);
/* Makes another value of the same type the result of the node. */
void fgi_emit_become(fgi_emit *e, fgi_value value);
/* The same for result i of several. */
fgi_value fgi_emit_result_at(const fgi_emit *e, int i);
void fgi_emit_become_at(fgi_emit *e, int i, fgi_value value);
/* Whether result i of several is used. */
bool fgi_emit_is_used(const fgi_emit *e, int i);
/* Whether the value of this node has one reader in the program, which may then include it. */
bool fgi_emit_has_one_reader(const fgi_emit *e, const fgi_node *node);
/* Emits the live nodes of a region; with `only`, those that this node is computed from. */
void fgi_emit_region(fgi_emit *e, const fgi_region *region, const fgi_node *only);
/* Emits the node as one StableHLO operation on its operands. attributes may be NULL, a format
 * string, or collected in `text`, which is freed. */
void fgi_emit_simple(fgi_emit *e, const char *stablehlo_name, const char *attributes);
void fgi_emit_attributes(fgi_emit *e, const char *stablehlo_name, const char *format, ...)
    FG_PRINTF(3, 4);
void fgi_emit_text(fgi_emit *e, const char *stablehlo_name, fgi_buf *text);
/* Emits the node as a reduction of its operand 0 (fgi_build_reduction). */
void fgi_emit_reduction(fgi_emit *e, const char *stablehlo_name, const char *body, double init,
                        fgi_buf *attributes);
/* For leaves: the word of the packed scalars for this node, as ui32. */
void fgi_emit_scalar_word(fgi_emit *e, const fgi_value *result);
/* #sdy.sharding<@mesh, [{"data"}, {}]>: the sharding of a value of that rank. */
void fgi_emit_sharding(const fg_trace *trace, fgi_buf *out, const fgi_sharding *sharding, int rank);
/* A number for a call of the node's that may fail, which depends on the program up to the node, not
 * on locations. Errors with it (FGI_KERNEL_CALL_MARK) become those of the user's line. */
int64_t fgi_emit_call(fgi_emit *e);
/* {"data"}: the axes of a dimension, without those of size 1. */
void fgi_emit_axes(const fg_trace *trace, fgi_buf *out, fgi_axis_set axes);

/* How the devices share an operand or a result: each has all of it, or its rows of the first
 * dimension; a result may also be the sum over the devices, of f32. */
typedef enum fgi_shard_kind { FGI_WHOLE, FGI_BY_ROWS, FGI_SUM_OF_PARTS } fgi_shard_kind;

/* each_shard.c: a computation that each device does with its part of the operands. On one device:
 * the body alone. Only for rows that fgi_client_has_shards: a multiple of the devices, which shard
 * nothing else. */
typedef struct fgi_shard_call {
    int in_count, out_count;
    const fgi_value *in;
    const fgi_shard_kind *in_kind;  /* not a sum */
    const fg_type *out;             /* of all devices */
    const fgi_shard_kind *out_kind; /* not whole */
} fgi_shard_call;
/* Emits the computation of a device: out[i] has the type of its part, and gets a value. */
typedef void (*fgi_shard_body)(fgi_emit *e, const fgi_value *in, fgi_value *out);
bool fgi_client_has_shards(const fg_client *client, int64_t rows);
/* out[i]: of the types of call->out. */
void fgi_emit_each_shard(fgi_emit *e, const fgi_shard_call *call, fgi_shard_body body,
                         fgi_value *out);
/* The same of the node's inputs, for the first out_count of its results. */
void fgi_emit_node_of_shards(fgi_emit *e, const fgi_shard_kind *in_kind, int out_count,
                             const fgi_shard_kind *out_kind, fgi_shard_body body);

/* ---- gradients ------------------------------------------------------------------------------- */

typedef struct fgi_vjp {
    const void *attr;
    int arity;
    const fg_tensor *in;    /* the node's inputs, in[arity] */
    fg_tensor out;          /* the node itself */
    fg_tensor dout;         /* derivative by it */
    const fg_tensor *douts; /* by each of several results; empty tensors mean zero */
    const bool *need;       /* need[i]: din[i] is needed */
    fg_tensor *din;         /* to be set where needed; not set means zero */
} fgi_vjp;

/* For optimizers, implemented in src/grad: gradients with respect to the parameters' current
 * values. out[i] is an empty tensor if the loss does not depend differentiably on parameter i.
 * Errors, kept in the trace: those of fg_grad; FG_EINVAL if the loss was computed from a value that
 * has been assigned since. */
void fgi_grad_parameters(fg_tensor loss, fg_variable *const *parameters, size_t count,
                         fg_tensor *out);

/* Derivatives by nodes of a trace: out[i] by wrt[i], given those by `of`, over all paths that pass
 * through no other node of `wrt`. Empty tensors mean zero. */
typedef struct fgi_path {
    fgi_node *const *of;
    const fg_tensor *dof; /* may be empty tensors */
    int of_count;
    fgi_node *const *wrt;
    int wrt_count;
} fgi_path;
void fgi_grad_path(fg_trace *trace, const fgi_path *path, fg_tensor *out);

/* ---- operations ------------------------------------------------------------------------------ */

/* How an operation treats elements, which determines what compilers fuse and move. */
typedef enum fgi_role {
    FGI_PLAIN = 0,
    FGI_POINTWISE, /* each element is computed from the operands' elements at the same position */
    FGI_MOVES      /* elements are only moved: reshape, permute, slice */
} fgi_role;

struct fgi_op {
    const char *name; /* as in messages and locations */
    int arity;        /* -1: any number */
    fgi_role role;
    bool is_commutative;
    bool (*infer)(fgi_infer *c);
    bool (*rows)(fgi_infer *c); /* row rule; required unless arity is 0 */
    bool makes_rows;            /* call the row rule also if no operand has rows */
    /* The lowering to StableHLO, for platforms without a specific one (lowering.h). NULL: emits
     * nothing, the value is that of the first input */
    void (*emit)(fgi_emit *e);
    void (*vjp)(fgi_vjp *v); /* NULL: not differentiable (comparisons, integers) */
    /* Matmuls and convolutions: number of multiplications and additions, without those with padding
     * and with the gaps of dilation. NULL: negligible */
    double (*flops)(const fgi_node *node);
    /* For constants filled with one number: that number. NULL: not such a constant. */
    double (*number)(const void *attr);
    /* Composite operations, which have only this and a name: applies other operations to `in`
     * (fgi_compose) */
    void (*compose)(const fg_tensor *in, int count, fg_tensor *out);
};

/* At most this many inputs of an operation. */
enum { FGI_MAX_INPUTS = 256 };

/* Applies an operation to `count` >= 1 tensors of one trace. attr is copied; its padding bytes must
 * be zero, because it is hashed. Each application is a separate node, with respect to which one can
 * differentiate; of equal ones only the first is emitted. */
fg_tensor fgi_apply(const fgi_op *op, const fg_tensor *in, int count, const void *attr,
                    size_t attr_size);
/* The same for an operation without inputs. */
fg_tensor fgi_apply_source(fg_trace *trace, const fgi_op *op, const void *attr, size_t attr_size);

/* The same for an operation with several results: out[count]. */
typedef struct fgi_operands {
    const fg_tensor *in;
    int count;
    const void *attr;
    size_t attr_size;
} fgi_operands;
void fgi_apply_results(const fgi_op *op, const fgi_operands *on, fg_tensor *out, int out_count);
/* Result i of a node with several. */
fg_tensor fgi_result(fgi_node *node, int i);
extern const fgi_op fgi_result_op;

#define FGI_APPLY1(op, a)       fgi_apply(&(op), &(a), 1, NULL, 0)
#define FGI_APPLY2(op, a, b)    fgi_apply(&(op), (const fg_tensor[]){a, b}, 2, NULL, 0)
#define FGI_APPLY3(op, a, b, c) fgi_apply(&(op), (const fg_tensor[]){a, b, c}, 3, NULL, 0)

/* Tensors and nodes (handle.c). A tensor's handle consists, from the top, of its trace's index in a
 * table, the trace's generation, and the node's index plus 1 (0: the poison node). The tensor is
 * alive if everything but the node is equal to the `base` of that table entry. */
enum { FGI_PLACE_SHIFT = 52, FGI_GENERATION_SHIFT = 28, FGI_TRACE_LIMIT = 4096 };
#define FGI_NODE_MASK (((uint64_t)1 << FGI_GENERATION_SHIFT) - 1)
typedef struct fgi_handle_entry {
    _Atomic(uint64_t) base; /* 0: the entry has no trace */
    fgi_node **nodes;       /* nodes of the trace, by id */
    fg_trace *trace;
    uint64_t generation; /* the last base used in this entry, also by earlier traces */
} fgi_handle_entry;
extern fgi_handle_entry fgi_handle_table[FGI_TRACE_LIMIT];
/* fgi_node_of for poison values and tensors that are no longer alive. */
fgi_node *fgi_node_of_unusual(fg_tensor tensor);
/* The node of a tensor. If the tensor is no longer alive: the poison node of the trace that the
 * thread is recording, which then has an error. */
static inline fgi_node *fgi_node_of(fg_tensor tensor)
{
    const uint64_t id = tensor.handle & FGI_NODE_MASK, base = tensor.handle - id;
    const fgi_handle_entry *e = &fgi_handle_table[base >> FGI_PLACE_SHIFT];
    if (id == 0 || base == 0 || atomic_load_explicit(&e->base, memory_order_acquire) != base)
        return fgi_node_of_unusual(tensor);
    return e->nodes[id - 1];
}
fg_tensor fgi_tensor_of(const fgi_node *node);
/* The poison value of a trace; sets an error in it unless there is one. */
fg_tensor fgi_poison(fg_trace *trace);
bool fgi_is_poison(fg_tensor tensor);
/* Keeps an error in a trace unless it has one, with the user's location, and returns the poison
 * value. */
fg_tensor fgi_trace_fail(fg_trace *trace, fg_status status, const char *format, ...)
    FG_PRINTF(3, 4);
/* False after keeping an error: `reserved` of an operation's options is not zero. */
bool fgi_trace_check_reserved(fg_trace *trace, fgi_reserved reserved);
/* Another node with the tensor's value: its gradient counts only what was computed from it, not
 * other uses of the tensor. Nothing is emitted for it. */
fg_tensor fgi_alias(fg_tensor tensor);
extern const fgi_op fgi_alias_op;
/* An index for the next random operation of this trace, which distinguishes its bits from those of
 * others. */
uint32_t fgi_trace_next_random_id(fg_trace *trace);
/* The two words of the key derived from (seed, step), as inputs of the program. */
const fg_scalar *fgi_trace_key(const fg_trace *trace);

/* The number of rows of a batch with padding, 0 if the trace has no mask. */
int64_t fgi_trace_batch(const fg_trace *trace);
/* fg_trace_set_mask, with the number of valid rows, f32[], if it is known. */
void fgi_trace_set_mask(fg_trace *trace, fg_tensor mask, const fg_tensor *count);
/* That number; false if it has to be counted. */
bool fgi_trace_valid_count(const fg_trace *trace, fg_tensor *out);
/* The user marks the batch axis: setting a mask later would be too late. */
void fgi_trace_note_mark(fg_trace *trace);
/* Whether a mask is set but no batch axis was marked: losses and layers then use dimension 0 of
 * their operands as the batch axis. */
bool fgi_trace_assumes_rows(const fg_trace *trace);
/* Whether gradients are being recorded. */
bool fgi_trace_is_derivative(const fg_trace *trace);

/* While > 0, new operations inherit the location of `node` (for gradients). */
void fgi_trace_borrow_location(fg_trace *trace, const fgi_node *node);

#endif
