/* onnx_graph.h - an ONNX graph under construction. The first error is kept; after it, nodes are
 * NULL, names "", and nothing else happens.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_ONNX_GRAPH_H
#define FGI_ONNX_GRAPH_H

#include "base/arena.h"
#include "onnx/onnx.h"
#include "onnx/onnx.pb-c.h"

typedef Fulgurite__Onnx__Node fgi_onnx_node;

/* A value of the program. Broadcasts are only carried out where the next node needs it, because the
 * operands of most nodes are broadcast anyway: `stored` is the type of the tensor `name`, with
 * dimensions of 1 in place of those. */
typedef struct fgi_onnx_value {
    const char *name;
    fg_type type, stored;
} fgi_onnx_value;

typedef struct fgi_onnx_list {
    void **item;
    size_t count, capacity;
} fgi_onnx_list;

/* The graph of the model, or one within: the body of a loop, which may use all values of its outer
 * one. */
typedef struct fgi_onnx_body {
    struct fgi_onnx_body *outer; /* NULL: the model's */
    fgi_onnx_list nodes, inputs, outputs;
} fgi_onnx_body;

typedef struct fgi_onnx_graph {
    fgi_arena arena;
    fgi_onnx_value *values; /* by SSA number */
    size_t value_count;
    fgi_onnx_body main, *body;  /* the one to which nodes are added */
    fgi_onnx_list initializers; /* Tensor */
    size_t node_count;          /* of all bodies, for their names */
    const char *place;          /* of the operation, in the names of its nodes */
    const char *size[2];        /* of the batch and a sequence, s64[1]; NULL: not computed yet */
    bool has_length;            /* sequences may have any length */
    fg_status status;
    fg_error *err;
} fgi_onnx_graph;

void fgi_onnx_graph_init(fgi_onnx_graph *g, fg_error *err);
void fgi_onnx_graph_fini(fgi_onnx_graph *g);
/* Keeps the error, unless there is one. */
void fgi_onnx_fail(fgi_onnx_graph *g, fg_status status, const char *format, ...) FG_PRINTF(3, 4);

/* A node with one result, node->output[0], named after the place. */
fgi_onnx_node *fgi_onnx_add(fgi_onnx_graph *g, const char *op_type, int count,
                            const char *const *in);
/* The same without attributes; returns the result. */
const char *fgi_onnx_put(fgi_onnx_graph *g, const char *op_type, int count, const char *const *in);
const char *fgi_onnx_result(const fgi_onnx_node *node);
void fgi_onnx_set_integer(fgi_onnx_graph *g, fgi_onnx_node *node, const char *name, int64_t value);
void fgi_onnx_set_integers(fgi_onnx_graph *g, fgi_onnx_node *node, const char *name, int count,
                           const int64_t *values);
void fgi_onnx_set_text(fgi_onnx_graph *g, fgi_onnx_node *node, const char *name, const char *text);

/* A tensor of the file; `data`, in row-major order, is borrowed until the file is written. */
const char *fgi_onnx_initializer(fgi_onnx_graph *g, const char *name, const fg_type *type,
                                 const void *data);
/* The same with a copy of the data and a new name. */
const char *fgi_onnx_constant(fgi_onnx_graph *g, const fg_type *type, const void *data);
/* s64[count] */
const char *fgi_onnx_integers(fgi_onnx_graph *g, int count, const int64_t *values);
/* The shape with these dimensions, s64[rank], where free ones are computed. */
const char *fgi_onnx_shape(fgi_onnx_graph *g, int rank, const int64_t *dim);
bool fgi_onnx_is_free(const fgi_onnx_graph *g, int64_t dim);
/* The element type: TensorProto.DataType. */
int32_t fgi_onnx_dtype(fg_dtype dtype);

/* The value of an SSA number. */
fgi_onnx_value fgi_onnx_value_at(fgi_onnx_graph *g, uint32_t id);
void fgi_onnx_set(fgi_onnx_graph *g, uint32_t id, const char *name, const fg_type *type,
                  const fg_type *stored);
/* The name of a tensor with all of the value's elements. */
const char *fgi_onnx_whole(fgi_onnx_graph *g, uint32_t id);
/* x with its dimensions in another order; x itself if it is the same. */
const char *fgi_onnx_transpose(fgi_onnx_graph *g, const char *x, int rank, const int64_t *order);

/* An input of the graph or body, with a new name unless one is given; returns it. */
const char *fgi_onnx_add_input(fgi_onnx_graph *g, const char *name, const fg_type *type);
/* Makes x a result of the graph or body, in the same way. */
void fgi_onnx_add_output(fgi_onnx_graph *g, const char *name, const char *x, const fg_type *type);

/* Begins the body of a loop. */
void fgi_onnx_begin_loop(fgi_onnx_graph *g, fgi_onnx_body *body);
/* Ends it: a node with a result for each output of the body but the first one, which is whether
 * another iteration follows. */
fgi_onnx_node *fgi_onnx_end_loop(fgi_onnx_graph *g, int count, const char *const *in);

/* Adds an argument of @main. */
void fgi_onnx_add_argument(fgi_onnx_graph *g, uint32_t id, const fgi_onnx_argument *argument);
/* Writes the model whose result is the value `id`. */
fg_status fgi_onnx_save(fgi_onnx_graph *g, uint32_t id, const char *path,
                        const fgi_onnx_model *model, size_t *out_data_bytes);

/* onnx_file.c: writes the model, with large tensors in a second file if need be. */
fg_status fgi_onnx_write_files(fgi_arena *arena, Fulgurite__Onnx__Model *model, const char *path,
                               size_t limit_bytes, size_t *out_data_bytes, fg_error *err);

#endif
