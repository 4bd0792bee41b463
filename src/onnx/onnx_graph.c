/* onnx_graph.c - builds the messages of onnx.proto in an arena, and writes them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_graph.h"

#include <fulgurite/base.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"

enum { IR_VERSION = 8, OPSET = 18, TYPE_INTEGER = 2, TYPE_STRING = 3, TYPE_INTEGERS = 7 };

void fgi_onnx_graph_fini(fgi_onnx_graph *g)
{
    fgi_free(g->values);
    fgi_free(g->nodes);
    fgi_free(g->initializers);
    fgi_free(g->inputs);
    fgi_arena_fini(&g->arena);
}

void fgi_onnx_fail(fgi_onnx_graph *g, fg_status status, const char *format, ...)
{
    char message[sizeof g->err->message];
    va_list args;
    if (g->status != FG_OK)
        return;
    va_start(args, format);
    (void)fgi_vsnprintf(message, sizeof message, format, args);
    va_end(args);
    g->status = fgi_fail(g->err, status, "%s", message);
}

/* Memory of the arena, or NULL after an error. */
static void *room(fgi_onnx_graph *g, size_t size)
{
    void *memory = g->status == FG_OK ? fgi_arena_alloc(&g->arena, size) : NULL;
    if (memory == NULL)
        fgi_onnx_fail(g, FG_ENOMEM, "out of memory");
    return memory;
}

static void *copy(fgi_onnx_graph *g, const void *data, size_t size)
{
    void *memory = room(g, size > 0 ? size : 1);
    if (memory != NULL && size > 0)
        memcpy(memory, data, size);
    return memory;
}

static char *copy_text(fgi_onnx_graph *g, const char *text)
{
    return copy(g, text, strlen(text) + 1);
}

/* Appends to one of the graph's lists. */
#define APPEND(g, list, count, capacity, item)                                                     \
    do {                                                                                           \
        void *grown_ = fgi_grow((g)->list, (g)->count, &(g)->capacity, sizeof *(g)->list);         \
        if (grown_ == NULL) {                                                                      \
            fgi_onnx_fail((g), FG_ENOMEM, "out of memory");                                        \
        } else {                                                                                   \
            (g)->list = grown_;                                                                    \
            (g)->list[(g)->count++] = (item);                                                      \
        }                                                                                          \
    } while (0)

/* ---- nodes ----------------------------------------------------------------------------------- */

fgi_onnx_node *fgi_onnx_add(fgi_onnx_graph *g, const char *op_type, int count,
                            const char *const *in)
{
    fgi_onnx_node *node = room(g, sizeof *node);
    char **names = room(g, ((size_t)count + 1) * sizeof *names);
    char *name =
        g->status == FG_OK ? fgi_arena_printf(&g->arena, "%s_%zu", g->place, g->node_count) : NULL;
    if (node == NULL || names == NULL || name == NULL)
        return NULL;
    fulgurite__onnx__node__init(node);
    for (int i = 0; i < count; i++)
        names[i] = (char *)in[i];
    names[count] = name;
    node->n_input = (size_t)count;
    node->input = names;
    node->n_output = 1;
    node->output = &names[count];
    node->name = name;
    node->op_type = (char *)op_type;
    APPEND(g, nodes, node_count, node_capacity, node);
    return node;
}

const char *fgi_onnx_result(const fgi_onnx_node *node)
{
    return node != NULL ? node->output[0] : "";
}

const char *fgi_onnx_put(fgi_onnx_graph *g, const char *op_type, int count, const char *const *in)
{
    return fgi_onnx_result(fgi_onnx_add(g, op_type, count, in));
}

/* A new attribute of the node, which has room for few. */
static Fulgurite__Onnx__Attribute *attribute(fgi_onnx_graph *g, fgi_onnx_node *node,
                                             const char *name, int32_t type)
{
    enum { MOST = 6 };
    Fulgurite__Onnx__Attribute *a = node != NULL ? room(g, sizeof *a) : NULL;
    if (a != NULL && node->attribute == NULL)
        node->attribute = room(g, MOST * sizeof(void *));
    if (a == NULL || node->attribute == NULL || node->n_attribute == MOST)
        return NULL;
    fulgurite__onnx__attribute__init(a);
    a->name = (char *)name;
    a->has_type = true;
    a->type = type;
    node->attribute[node->n_attribute++] = a;
    return a;
}

void fgi_onnx_set_integer(fgi_onnx_graph *g, fgi_onnx_node *node, const char *name, int64_t value)
{
    Fulgurite__Onnx__Attribute *a = attribute(g, node, name, TYPE_INTEGER);
    if (a == NULL)
        return;
    a->has_i = true;
    a->i = value;
}

void fgi_onnx_set_integers(fgi_onnx_graph *g, fgi_onnx_node *node, const char *name, int count,
                           const int64_t *values)
{
    Fulgurite__Onnx__Attribute *a = attribute(g, node, name, TYPE_INTEGERS);
    int64_t *list = a != NULL ? copy(g, values, (size_t)count * sizeof *values) : NULL;
    if (list == NULL)
        return;
    a->n_ints = (size_t)count;
    a->ints = list;
}

void fgi_onnx_set_text(fgi_onnx_graph *g, fgi_onnx_node *node, const char *name, const char *text)
{
    Fulgurite__Onnx__Attribute *a = attribute(g, node, name, TYPE_STRING);
    char *own = a != NULL ? copy_text(g, text) : NULL;
    if (own == NULL)
        return;
    a->has_s = true;
    a->s = (ProtobufCBinaryData){strlen(text), (uint8_t *)own};
}

const char *fgi_onnx_transpose(fgi_onnx_graph *g, const char *x, int rank, const int64_t *order)
{
    bool is_same = true;
    for (int i = 0; i < rank; i++)
        is_same &= order[i] == i;
    if (is_same)
        return x;
    fgi_onnx_node *node = fgi_onnx_add(g, "Transpose", 1, &x);
    fgi_onnx_set_integers(g, node, "perm", rank, order);
    return fgi_onnx_result(node);
}

/* ---- tensors --------------------------------------------------------------------------------- */

int32_t fgi_onnx_dtype(fg_dtype dtype)
{
    switch (dtype) {
    case FG_F32: return 1;
    case FG_U8: return 2;
    case FG_S8: return 3;
    case FG_U16: return 4;
    case FG_S16: return 5;
    case FG_S32: return 6;
    case FG_S64: return 7;
    case FG_BOOL: return 9;
    case FG_F16: return 10;
    case FG_F64: return 11;
    case FG_U32: return 12;
    case FG_U64: return 13;
    case FG_BF16: return 16;
    case FG_DTYPE_NONE: break;
    }
    return 0;
}

const char *fgi_onnx_initializer(fgi_onnx_graph *g, const char *name, const fg_type *type,
                                 const void *data)
{
    Fulgurite__Onnx__Tensor *t = room(g, sizeof *t);
    int64_t *dims = copy(g, type->dim, (size_t)type->rank * sizeof *dims);
    if (t == NULL || dims == NULL)
        return "";
    fulgurite__onnx__tensor__init(t);
    t->n_dims = (size_t)type->rank;
    t->dims = dims;
    t->has_data_type = true;
    t->data_type = fgi_onnx_dtype(type->dtype);
    t->name = (char *)name;
    t->has_raw_data = true;
    t->raw_data = (ProtobufCBinaryData){fg_type_bytes(type), (uint8_t *)data};
    g->bytes += (double)t->raw_data.len;
    APPEND(g, initializers, initializer_count, initializer_capacity, t);
    return name;
}

const char *fgi_onnx_constant(fgi_onnx_graph *g, const fg_type *type, const void *data)
{
    const void *own = copy(g, data, fg_type_bytes(type));
    char *name = g->status == FG_OK
                     ? fgi_arena_printf(&g->arena, "constant_%zu", g->initializer_count)
                     : NULL;
    return own != NULL && name != NULL ? fgi_onnx_initializer(g, name, type, own) : "";
}

const char *fgi_onnx_integers(fgi_onnx_graph *g, int count, const int64_t *values)
{
    return fgi_onnx_constant(g, &(fg_type){FG_S64, 1, {count}}, values);
}

bool fgi_onnx_is_batch(int64_t dim) { return dim > 0 && dim % FGI_ONNX_BATCH == 0; }

/* The size of the batch: the first dimension of the model's input. */
static const char *batch_size(fgi_onnx_graph *g)
{
    if (g->batch == NULL && g->input_count > 0) {
        fgi_onnx_node *node = fgi_onnx_add(g, "Shape", 1, (const char *const *)&g->inputs[0]->name);
        fgi_onnx_set_integer(g, node, "start", 0);
        fgi_onnx_set_integer(g, node, "end", 1);
        g->batch = fgi_onnx_result(node);
    }
    return g->batch != NULL ? g->batch : "";
}

const char *fgi_onnx_shape(fgi_onnx_graph *g, int rank, const int64_t *dim)
{
    const char *part[FG_MAX_RANK];
    bool is_fixed = true;
    for (int i = 0; i < rank; i++)
        is_fixed &= !fgi_onnx_is_batch(dim[i]);
    if (is_fixed)
        return fgi_onnx_integers(g, rank, dim);
    for (int i = 0; i < rank; i++) {
        const bool is_batch = fgi_onnx_is_batch(dim[i]);
        const int64_t count = is_batch ? dim[i] / FGI_ONNX_BATCH : dim[i];
        part[i] = is_batch ? batch_size(g) : "";
        if (!is_batch || count > 1) {
            const char *times = fgi_onnx_integers(g, 1, &count);
            part[i] =
                is_batch ? fgi_onnx_put(g, "Mul", 2, (const char *[]){part[i], times}) : times;
        }
    }
    fgi_onnx_node *node = fgi_onnx_add(g, "Concat", rank, part);
    fgi_onnx_set_integer(g, node, "axis", 0);
    return fgi_onnx_result(node);
}

/* ---- values ---------------------------------------------------------------------------------- */

fgi_onnx_value fgi_onnx_value_at(fgi_onnx_graph *g, uint32_t id)
{
    if (g->status == FG_OK && id < g->value_count && g->values[id].name != NULL)
        return g->values[id];
    fgi_onnx_fail(g, FG_EINTERNAL, "the program uses %%%" PRIu32 " before it is defined", id);
    return (fgi_onnx_value){.name = ""};
}

void fgi_onnx_set(fgi_onnx_graph *g, uint32_t id, const char *name, const fg_type *type,
                  const fg_type *stored)
{
    if (g->status != FG_OK)
        return;
    if (id >= g->value_count) {
        const size_t count = 2 * ((size_t)id + 32);
        fgi_onnx_value *grown = fgi_realloc(g->values, count * sizeof *grown);
        if (grown == NULL) {
            fgi_onnx_fail(g, FG_ENOMEM, "out of memory");
            return;
        }
        memset(grown + g->value_count, 0, (count - g->value_count) * sizeof *grown);
        g->values = grown;
        g->value_count = count;
    }
    g->values[id] = (fgi_onnx_value){name, *type, *stored};
}

const char *fgi_onnx_whole(fgi_onnx_graph *g, uint32_t id)
{
    const fgi_onnx_value v = fgi_onnx_value_at(g, id);
    int64_t dim[FG_MAX_RANK]; /* 1: as stored */
    if (g->status != FG_OK || fg_type_equal(&v.type, &v.stored))
        return v.name;
    for (int i = 0; i < v.type.rank; i++)
        dim[i] = v.stored.dim[i] == v.type.dim[i] ? 1 : v.type.dim[i];
    const char *in[] = {v.name, fgi_onnx_shape(g, v.type.rank, dim)};
    const char *whole = fgi_onnx_put(g, "Expand", 2, in);
    fgi_onnx_set(g, id, whole, &v.type, &v.type);
    return whole;
}

/* ---- the model ------------------------------------------------------------------------------- */

static Fulgurite__Onnx__Dimension *dimension(fgi_onnx_graph *g, int64_t size)
{
    Fulgurite__Onnx__Dimension *d = room(g, sizeof *d);
    if (d == NULL)
        return NULL;
    fulgurite__onnx__dimension__init(d);
    d->dim_param = size == FGI_ONNX_BATCH ? (char *)"batch" : NULL;
    d->has_dim_value = size != FGI_ONNX_BATCH;
    d->dim_value = size;
    return d;
}

static Fulgurite__Onnx__ValueInfo *described(fgi_onnx_graph *g, const char *name,
                                             const fg_type *type)
{
    Fulgurite__Onnx__ValueInfo *info = room(g, sizeof *info);
    Fulgurite__Onnx__Type *of = room(g, sizeof *of);
    Fulgurite__Onnx__TensorType *tensor = room(g, sizeof *tensor);
    Fulgurite__Onnx__Shape *shape = room(g, sizeof *shape);
    Fulgurite__Onnx__Dimension **dim = room(g, (size_t)(type->rank + 1) * sizeof *dim);
    for (int i = 0; i < type->rank && dim != NULL; i++)
        dim[i] = dimension(g, type->dim[i]);
    if (g->status != FG_OK)
        return NULL;
    fulgurite__onnx__value_info__init(info);
    fulgurite__onnx__type__init(of);
    fulgurite__onnx__tensor_type__init(tensor);
    fulgurite__onnx__shape__init(shape);
    info->name = (char *)name;
    info->type = of;
    of->tensor_type = tensor;
    tensor->has_elem_type = true;
    tensor->elem_type = fgi_onnx_dtype(type->dtype);
    tensor->shape = shape;
    shape->n_dim = (size_t)type->rank;
    shape->dim = dim;
    return info;
}

void fgi_onnx_add_argument(fgi_onnx_graph *g, uint32_t id, const fgi_onnx_argument *argument)
{
    const char *name = argument->name;
    if (argument->data == NULL) {
        Fulgurite__Onnx__ValueInfo *info = described(g, name, &argument->type);
        APPEND(g, inputs, input_count, input_capacity, info);
    } else {
        const int rank = argument->type.rank;
        fg_type file = argument->type;
        int64_t order[FG_MAX_RANK];
        for (int i = 0; i < rank; i++) {
            const int axis = argument->file_axis != NULL ? argument->file_axis[i] : i;
            file.dim[i] = argument->type.dim[axis];
            order[axis] = i;
        }
        g->place = name;
        (void)fgi_onnx_initializer(g, name, &file, argument->data);
        name = fgi_onnx_transpose(g, name, rank, order);
    }
    fgi_onnx_set(g, id, name, &argument->type, &argument->type);
}

static void set_metadata(fgi_onnx_graph *g, const char *const *pairs, Fulgurite__Onnx__Model *out)
{
    size_t count = 0;
    while (pairs != NULL && pairs[2 * count] != NULL)
        count++;
    out->metadata_props = room(g, (count + 1) * sizeof *out->metadata_props);
    for (size_t i = 0; i < count && g->status == FG_OK; i++) {
        Fulgurite__Onnx__Entry *entry = room(g, sizeof *entry);
        if (entry == NULL)
            return;
        fulgurite__onnx__entry__init(entry);
        entry->key = (char *)pairs[2 * i];
        entry->value = (char *)pairs[2 * i + 1];
        out->metadata_props[out->n_metadata_props++] = entry;
    }
}

static fg_status write_model(const Fulgurite__Onnx__Model *model, const char *path, fg_error *err)
{
    const size_t size = fulgurite__onnx__model__get_packed_size(model);
    uint8_t *data = fgi_alloc(size);
    if (data == NULL)
        return fgi_no_memory(err);
    (void)fulgurite__onnx__model__pack(model, data);
    const fg_status status = fgi_file_write_atomic(path, data, size, err);
    fgi_free(data);
    return status;
}

static bool is_used(const fgi_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->n_input; k++)
            if (g->nodes[i]->input[k] == name)
                return true;
    return false;
}

/* Such as the first values of sums: ONNX's have none. */
static void drop_unused(fgi_onnx_graph *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->initializer_count; i++)
        if (is_used(g, g->initializers[i]->name))
            g->initializers[kept++] = g->initializers[i];
    g->initializer_count = kept;
}

fg_status fgi_onnx_save(fgi_onnx_graph *g, uint32_t id, const char *path,
                        const fgi_onnx_model *model)
{
    const char *last = fgi_onnx_whole(g, id);
    fgi_onnx_node *named = fgi_onnx_add(g, "Identity", 1, &last);
    const fg_type type = fgi_onnx_value_at(g, id).type;
    Fulgurite__Onnx__ValueInfo *output = described(g, model->output, &type);
    Fulgurite__Onnx__Model file = FULGURITE__ONNX__MODEL__INIT;
    Fulgurite__Onnx__Graph graph = FULGURITE__ONNX__GRAPH__INIT;
    Fulgurite__Onnx__OperatorSet opset = FULGURITE__ONNX__OPERATOR_SET__INIT, *sets = &opset;
    set_metadata(g, model->metadata, &file);
    if (g->bytes > 2e9)
        fgi_onnx_fail(g, FG_EUNSUPPORTED,
                      "the tensors have %.1f GB, but an ONNX file at most 2\n"
                      "safetensors files have no such limit",
                      g->bytes / 1e9);
    if (g->status != FG_OK)
        return g->status;
    named->output[0] = (char *)model->output;
    drop_unused(g);
    graph.n_node = g->node_count;
    graph.node = g->nodes;
    graph.name = (char *)"fulgurite";
    graph.n_initializer = g->initializer_count;
    graph.initializer = g->initializers;
    graph.n_input = g->input_count;
    graph.input = g->inputs;
    graph.n_output = 1;
    graph.output = &output;
    opset.domain = (char *)"";
    opset.has_version = true;
    opset.version = OPSET;
    file.has_ir_version = true;
    file.ir_version = IR_VERSION;
    file.producer_name = (char *)"fulgurite";
    file.graph = &graph;
    file.n_opset_import = 1;
    file.opset_import = &sets;
    return write_model(&file, path, g->err);
}
