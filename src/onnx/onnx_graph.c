/* onnx_graph.c - builds the messages of onnx.proto in an arena.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_graph.h"

#include <fulgurite/base.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"

enum { IR_VERSION = 8, OPSET = 18 };
enum { TYPE_INTEGER = 2, TYPE_STRING = 3, TYPE_GRAPH = 5, TYPE_INTEGERS = 7 };

typedef Fulgurite__Onnx__Graph graph_message;

void fgi_onnx_graph_init(fgi_onnx_graph *g, fg_error *err)
{
    *g = (fgi_onnx_graph){.err = err};
    g->body = &g->main;
}

static void body_fini(fgi_onnx_body *body)
{
    fgi_free(body->nodes.item);
    fgi_free(body->inputs.item);
    fgi_free(body->outputs.item);
    *body = (fgi_onnx_body){.outer = NULL};
}

void fgi_onnx_graph_fini(fgi_onnx_graph *g)
{
    body_fini(&g->main);
    fgi_free(g->values);
    fgi_free(g->initializers.item);
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

static void append(fgi_onnx_graph *g, fgi_onnx_list *list, void *item)
{
    void **grown = fgi_grow(list->item, list->count, &list->capacity, sizeof *grown);
    if (grown == NULL) {
        fgi_onnx_fail(g, FG_ENOMEM, "out of memory");
        return;
    }
    list->item = grown;
    grown[list->count++] = item;
}

/* A name that no other value has: that of an operation, and a number. */
static char *new_name(fgi_onnx_graph *g)
{
    char *name = g->status == FG_OK
                     ? fgi_arena_printf(&g->arena, "%s_%zu", g->place, g->node_count++)
                     : NULL;
    if (name == NULL)
        fgi_onnx_fail(g, FG_ENOMEM, "out of memory");
    return name;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

fgi_onnx_node *fgi_onnx_add(fgi_onnx_graph *g, const char *op_type, int count,
                            const char *const *in)
{
    fgi_onnx_node *node = room(g, sizeof *node);
    char **names = room(g, ((size_t)count + 1) * sizeof *names);
    char *name = new_name(g);
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
    append(g, &g->body->nodes, node);
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
    append(g, &g->initializers, t);
    return name;
}

const char *fgi_onnx_constant(fgi_onnx_graph *g, const fg_type *type, const void *data)
{
    const void *own = copy(g, data, fg_type_bytes(type));
    char *name = g->status == FG_OK
                     ? fgi_arena_printf(&g->arena, "constant_%zu", g->initializers.count)
                     : NULL;
    return own != NULL && name != NULL ? fgi_onnx_initializer(g, name, type, own) : "";
}

const char *fgi_onnx_integers(fgi_onnx_graph *g, int count, const int64_t *values)
{
    return fgi_onnx_constant(g, &(fg_type){FG_S64, 1, {count}}, values);
}

static const struct {
    int64_t marker;
    const char *name;
} free_sizes[] = {{FGI_ONNX_BATCH, "batch"}, {FGI_ONNX_LENGTH, "length"}};

/* How many of them the model has. */
static int free_count(const fgi_onnx_graph *g) { return g->has_length ? 2 : 1; }

bool fgi_onnx_is_free(const fgi_onnx_graph *g, int64_t dim)
{
    for (int i = 0; i < free_count(g); i++)
        if (dim > 0 && dim % free_sizes[i].marker == 0)
            return true;
    return false;
}

/* The dimension of the input that has this name. */
static int64_t axis_of(const Fulgurite__Onnx__ValueInfo *input, const char *name)
{
    const Fulgurite__Onnx__Shape *shape = input->type->tensor_type->shape;
    for (size_t i = 0; i < shape->n_dim; i++)
        if (shape->dim[i]->dim_param != NULL && strcmp(shape->dim[i]->dim_param, name) == 0)
            return (int64_t)i;
    return 0;
}

/* A size that is not fixed, s64[1]: that of the model's input. Computed before any loop. */
static const char *free_size(fgi_onnx_graph *g, int i)
{
    if (g->size[i] == NULL && g->main.inputs.count > 0 && g->status == FG_OK) {
        const Fulgurite__Onnx__ValueInfo *input = g->main.inputs.item[0];
        const int64_t axis = axis_of(input, free_sizes[i].name);
        fgi_onnx_body *const body = g->body;
        g->body = &g->main;
        fgi_onnx_node *node = fgi_onnx_add(g, "Shape", 1, (const char *const *)&input->name);
        fgi_onnx_set_integer(g, node, "start", axis);
        fgi_onnx_set_integer(g, node, "end", axis + 1);
        g->size[i] = fgi_onnx_result(node);
        g->body = body;
    }
    return g->size[i] != NULL ? g->size[i] : "";
}

/* One dimension, s64[1]: the product of free sizes and a number. */
static const char *size_of(fgi_onnx_graph *g, int64_t dim)
{
    const char *product = NULL;
    for (int i = 0; i < free_count(g); i++)
        for (; dim > 0 && dim % free_sizes[i].marker == 0; dim /= free_sizes[i].marker) {
            const char *size = free_size(g, i);
            product =
                product == NULL ? size : fgi_onnx_put(g, "Mul", 2, (const char *[]){product, size});
        }
    if (product != NULL && dim == 1)
        return product;
    const char *number = fgi_onnx_integers(g, 1, &dim);
    return product == NULL ? number : fgi_onnx_put(g, "Mul", 2, (const char *[]){product, number});
}

const char *fgi_onnx_shape(fgi_onnx_graph *g, int rank, const int64_t *dim)
{
    const char *part[FG_MAX_RANK];
    bool is_fixed = true;
    for (int i = 0; i < rank; i++)
        is_fixed &= !fgi_onnx_is_free(g, dim[i]);
    if (is_fixed)
        return fgi_onnx_integers(g, rank, dim);
    for (int i = 0; i < rank; i++)
        part[i] = size_of(g, dim[i]);
    if (rank == 1)
        return part[0];
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
    if (g->body->outer == NULL) /* the result of another body is not visible later */
        fgi_onnx_set(g, id, whole, &v.type, &v.type);
    return whole;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static Fulgurite__Onnx__Dimension *dimension(fgi_onnx_graph *g, int64_t size)
{
    Fulgurite__Onnx__Dimension *d = room(g, sizeof *d);
    if (d == NULL)
        return NULL;
    fulgurite__onnx__dimension__init(d);
    for (int i = 0; i < free_count(g); i++)
        if (size == free_sizes[i].marker)
            d->dim_param = (char *)free_sizes[i].name;
    d->has_dim_value = !fgi_onnx_is_free(g, size);
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

const char *fgi_onnx_add_input(fgi_onnx_graph *g, const char *name, const fg_type *type)
{
    name = name != NULL ? name : new_name(g);
    append(g, &g->body->inputs, described(g, name, type));
    return name != NULL ? name : "";
}

void fgi_onnx_add_output(fgi_onnx_graph *g, const char *name, const char *x, const fg_type *type)
{
    fgi_onnx_node *node = fgi_onnx_add(g, "Identity", 1, &x);
    if (node != NULL && name != NULL)
        node->output[0] = (char *)name;
    append(g, &g->body->outputs, described(g, fgi_onnx_result(node), type));
}

/* The body as a message; its outer one is the graph's body again. */
static graph_message *end_body(fgi_onnx_graph *g, const char *name)
{
    fgi_onnx_body *b = g->body;
    const size_t size = sizeof(void *);
    graph_message *out = room(g, sizeof *out);
    if (out != NULL) {
        fulgurite__onnx__graph__init(out);
        out->name = (char *)name;
        out->n_node = b->nodes.count;
        out->node = copy(g, b->nodes.item, b->nodes.count * size);
        out->n_input = b->inputs.count;
        out->input = copy(g, b->inputs.item, b->inputs.count * size);
        out->n_output = b->outputs.count;
        out->output = copy(g, b->outputs.item, b->outputs.count * size);
    }
    g->body = b->outer;
    body_fini(b);
    return g->status == FG_OK ? out : NULL;
}

void fgi_onnx_begin_loop(fgi_onnx_graph *g, fgi_onnx_body *body)
{
    *body = (fgi_onnx_body){.outer = g->body};
    g->body = body;
}

fgi_onnx_node *fgi_onnx_end_loop(fgi_onnx_graph *g, int count, const char *const *in)
{
    graph_message *body = end_body(g, "body");
    fgi_onnx_node *node = fgi_onnx_add(g, "Loop", count, in);
    Fulgurite__Onnx__Attribute *a = attribute(g, node, "body", TYPE_GRAPH);
    char **names = a != NULL ? room(g, body->n_output * sizeof *names) : NULL;
    if (names == NULL)
        return NULL;
    a->g = body;
    node->output = names;
    node->n_output = body->n_output - 1;
    for (size_t i = 0; i < node->n_output; i++)
        names[i] = new_name(g);
    return g->status == FG_OK ? node : NULL;
}

/* ---- the model ------------------------------------------------------------------------------- */

void fgi_onnx_add_argument(fgi_onnx_graph *g, uint32_t id, const fgi_onnx_argument *argument)
{
    const char *name = argument->name;
    if (argument->data == NULL) {
        (void)fgi_onnx_add_input(g, name, &argument->type);
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

static bool is_used(const graph_message *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const fgi_onnx_node *node = graph->node[i];
        for (size_t k = 0; k < node->n_input; k++)
            if (node->input[k] == name)
                return true;
        for (size_t k = 0; k < node->n_attribute; k++)
            if (node->attribute[k]->g != NULL && is_used(node->attribute[k]->g, name))
                return true;
    }
    return false;
}

/* The initializers but for unused ones, such as the first values of sums: ONNX's have none. */
static void set_initializers(fgi_onnx_graph *g, graph_message *graph)
{
    graph->initializer = room(g, (g->initializers.count + 1) * sizeof *graph->initializer);
    for (size_t i = 0; i < g->initializers.count && graph->initializer != NULL; i++) {
        Fulgurite__Onnx__Tensor *t = g->initializers.item[i];
        if (is_used(graph, t->name))
            graph->initializer[graph->n_initializer++] = t;
    }
}

fg_status fgi_onnx_save(fgi_onnx_graph *g, uint32_t id, const char *path,
                        const fgi_onnx_model *model, size_t *out_data_bytes)
{
    const fg_type type = fgi_onnx_value_at(g, id).type;
    Fulgurite__Onnx__Model file = FULGURITE__ONNX__MODEL__INIT;
    Fulgurite__Onnx__OperatorSet opset = FULGURITE__ONNX__OPERATOR_SET__INIT, *sets = &opset;
    fgi_onnx_add_output(g, model->output, fgi_onnx_whole(g, id), &type);
    file.graph = end_body(g, "fulgurite");
    set_metadata(g, model->metadata, &file);
    if (file.graph != NULL)
        set_initializers(g, file.graph);
    if (g->status != FG_OK)
        return g->status;
    opset.domain = (char *)"";
    opset.has_version = true;
    opset.version = OPSET;
    file.has_ir_version = true;
    file.ir_version = IR_VERSION;
    file.producer_name = (char *)"fulgurite";
    file.n_opset_import = 1;
    file.opset_import = &sets;
    return fgi_onnx_write_files(&g->arena, &file, path, model->limit_bytes, out_data_bytes, g->err);
}
