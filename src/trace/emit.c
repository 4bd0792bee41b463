/* emit.c - writes the live part of a trace as a StableHLO module.
 *
 * Arguments are the array leaves in order, then one u32 vector with all scalars. Results are the
 * outputs, then the assigned variables, each aliased to the argument it replaces. For several
 * devices, each argument and result has its sharding over the mesh (Shardy annotations).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "hlo/mlir.h"
#include "trace/lowering.h"
#include "trace/program.h"
#include "trace/body.h"

fgi_value fgi_emit_in(const fgi_emit *e, int i)
{
    const fgi_node *in = e->node->in[i];
    return (fgi_value){e->value[in->first->id], in->type};
}

fgi_value fgi_emit_result(const fgi_emit *e)
{
    return (fgi_value){e->value[e->node->id], e->node->type};
}

void fgi_emit_become(fgi_emit *e, fgi_value value) { e->value[e->node->id] = value.id; }

fgi_value fgi_emit_result_at(const fgi_emit *e, int i)
{
    const fgi_node *result = e->node->results->node[i];
    return (fgi_value){e->value[result->id], result->type};
}

void fgi_emit_become_at(fgi_emit *e, int i, fgi_value value)
{
    e->value[e->node->results->node[i]->id] = value.id;
}

static void put_value(fgi_buf *out, uint32_t value)
{
    fgi_buf_putc(out, '%');
    fgi_buf_put_int(out, value);
}

void fgi_emit_simple(fgi_emit *e, const char *stablehlo_name, const char *attributes)
{
    fgi_value in[FGI_MAX_INPUTS];
    const fgi_value result = fgi_emit_result(e);
    for (int i = 0; i < e->node->arity; i++)
        in[i] = fgi_emit_in(e, i);
    fgi_build_into(&e->b, &result, stablehlo_name, attributes, e->node->arity, in);
}

void fgi_emit_text(fgi_emit *e, const char *stablehlo_name, fgi_buf *text)
{
    if (text->failed)
        e->b.out->failed = true;
    else
        fgi_emit_simple(e, stablehlo_name, text->data);
    fgi_buf_fini(text);
}

void fgi_emit_attributes(fgi_emit *e, const char *stablehlo_name, const char *format, ...)
{
    fgi_buf text = {0};
    va_list args;
    va_start(args, format);
    fgi_buf_vprintf(&text, format, args);
    va_end(args);
    fgi_emit_text(e, stablehlo_name, &text);
}

void fgi_emit_reduction(fgi_emit *e, const char *stablehlo_name, const char *body, double init,
                        fgi_buf *attributes)
{
    const fgi_value result = fgi_emit_result(e);
    const fgi_value first = fgi_build_splat(&e->b, &(fg_type){.dtype = e->node->type.dtype}, init);
    fgi_build_reduction(&e->b, &result, stablehlo_name, body, fgi_emit_in(e, 0), first, attributes);
}

void fgi_emit_scalar_word(fgi_emit *e, const fgi_value *result)
{
    const fgi_value all = {e->scalars,
                           {.dtype = FG_U32, .rank = 1, .dim = {(int64_t)e->scalar_count}}};
    const int64_t start = e->scalar_word[fgi_leaf_index(e->node)], limit = start + 1;
    const fgi_value word = fgi_build_slice(&e->b, all, &start, &limit, NULL);
    fgi_build_into(&e->b, result, "reshape", NULL, 1, &word);
}

/* ---- the module ------------------------------------------------------------------------------ */

typedef struct fgi_module {
    const fg_trace *trace;
    const fgi_layout *layout;
    const fg_tensor *outputs;
    uint32_t *value;       /* SSA number by node id */
    uint32_t *scalar_word; /* index in the packed scalars, by leaf index */
    bool *is_stored;       /* by node id: nothing must be fused across the node's result */
    uint8_t *readers;      /* by node id, at most 2 */
    bool *only;            /* by node id: what is emitted of the live nodes; NULL: all */
    bool with_locations;
    fgi_hash before; /* of the operations up to this one */
    fgi_functions functions;
    uint32_t next;
} module;

static void module_fini(module *m)
{
    fgi_free(m->value);
    fgi_free(m->scalar_word);
    fgi_free(m->is_stored);
    fgi_free(m->readers);
    fgi_functions_fini(&m->functions);
}

static const fgi_node *result_node(const module *m, size_t i)
{
    if (i < m->layout->output_count)
        return fgi_node_of(m->outputs[i])->first;
    return m->trace->leaves[m->layout->assigned_leaf[i - m->layout->output_count]].assigned->first;
}

static size_t result_count(const module *m)
{
    return m->layout->output_count + m->layout->assigned_count;
}

static int device_count(const fg_trace *trace)
{
    return trace->client != NULL ? fg_client_info_of(trace->client)->device_count : 1;
}

void fgi_emit_axes(const fg_trace *trace, fgi_buf *out, fgi_axis_set axes)
{
    const fgi_mesh *mesh = fgi_client_mesh(trace->client);
    const char *before = "";
    fgi_buf_putc(out, '{');
    for (int i = 0; i < mesh->axis_count; i++)
        if ((axes >> i & 1) != 0 && mesh->axes[i].size > 1) {
            fgi_buf_printf(out, "%s\"%s\"", before, mesh->axes[i].name);
            before = ", ";
        }
    fgi_buf_putc(out, '}');
}

void fgi_emit_sharding(const fg_trace *trace, fgi_buf *out, const fgi_sharding *sharding, int rank)
{
    fgi_buf_puts(out, "#sdy.sharding<@mesh, [");
    for (int i = 0; i < rank; i++) {
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        fgi_emit_axes(trace, out, sharding->axes[i]);
    }
    fgi_buf_puts(out, "]>");
}

static void put_sharding(const fg_trace *trace, fgi_buf *out, const fgi_sharding *sharding,
                         int rank)
{
    fgi_buf_puts(out, "sdy.sharding = ");
    fgi_emit_sharding(trace, out, sharding, rank);
}

static void put_mesh(const fg_trace *trace, fgi_buf *out)
{
    if (device_count(trace) == 1)
        return;
    const fgi_mesh *mesh = fgi_client_mesh(trace->client);
    fgi_buf_puts(out, "  sdy.mesh @mesh = <[");
    for (int i = 0; i < mesh->axis_count; i++)
        fgi_buf_printf(out, "%s\"%s\"=%d", i == 0 ? "" : ", ", mesh->axes[i].name,
                       mesh->axes[i].size);
    fgi_buf_puts(out, "]>\n");
}

const fgi_sharding *fgi_result_sharding(const fg_trace *trace, const fgi_layout *layout, size_t i)
{
    if (i < layout->output_count)
        return &trace->result_sharding;
    return fgi_leaf_sharding(trace->leaves[layout->assigned_leaf[i - layout->output_count]].node);
}

/* {tf.aliasing_output = 2 : i32, sdy.sharding = ...}: the attributes of argument `leaf`. */
static void put_argument_attributes(const module *m, size_t leaf, fgi_buf *out)
{
    const fgi_layout *layout = m->layout;
    const fgi_node *node = m->trace->leaves[leaf].node;
    const bool is_sharded = device_count(m->trace) > 1;
    const char *before = " {";
    if (m->trace->launch.steps > 0) /* those of @main, which calls it */
        return;
    for (size_t k = 0; k < layout->assigned_count; k++)
        if (layout->assigned_leaf[k] == leaf) {
            fgi_buf_printf(out, "%stf.aliasing_output = %zu : i32", before,
                           layout->output_count + k);
            before = ", ";
        }
    if (is_sharded) {
        fgi_buf_puts(out, before);
        before = ", ";
        put_sharding(m->trace, out, fgi_leaf_sharding(node), node->type.rank);
    }
    if (before[0] == ',')
        fgi_buf_putc(out, '}');
}

static void put_arguments(module *m, fgi_buf *out)
{
    const fgi_layout *layout = m->layout;
    for (size_t i = 0; i < layout->argument_count; i++) {
        const size_t leaf = layout->argument_leaf[i];
        const fgi_node *node = m->trace->leaves[leaf].node;
        m->value[node->id] = m->next;
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        put_value(out, m->next++);
        fgi_buf_puts(out, ": ");
        fgi_mlir_type(out, &node->type);
        put_argument_attributes(m, leaf, out);
    }
    if (layout->scalar_count > 0) {
        fgi_buf_puts(out, layout->argument_count == 0 ? "" : ", ");
        put_value(out, m->next++);
        fgi_buf_printf(out, ": tensor<%zuxui32>", layout->scalar_count);
        if (device_count(m->trace) > 1 && m->trace->launch.steps == 0) {
            fgi_buf_puts(out, " {");
            put_sharding(m->trace, out, &(fgi_sharding){{0}}, 1);
            fgi_buf_putc(out, '}');
        }
    }
}

static void put_result_types(const module *m, bool with_shardings, fgi_buf *out)
{
    for (size_t i = 0; i < result_count(m); i++) {
        const fg_type *type = &result_node(m, i)->type;
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        fgi_mlir_type(out, type);
        if (with_shardings && device_count(m->trace) > 1) {
            fgi_buf_puts(out, " {");
            put_sharding(m->trace, out, fgi_result_sharding(m->trace, m->layout, i), type->rank);
            fgi_buf_putc(out, '}');
        }
    }
}

static fgi_value argument_itself(fgi_builder *b, const void *context, const fgi_value *in)
{
    (void)b, (void)context;
    return in[0];
}

/* Passes a value through a function that returns its argument: the call is not inlined, its operand
 * is stored, and its result is the same memory. */
static fgi_value put_stored(fgi_builder *b, fgi_value value)
{
    return fgi_build_call(b, &value.type, 1, &value, argument_itself, NULL);
}

static fgi_location location_of(const fgi_node *node)
{
    return (fgi_location){node->scope, node->op->name, node->file, node->line};
}

bool fgi_emit_is_used(const fgi_emit *e, int i)
{
    return e->module->layout->is_live[e->node->results->node[i]->id];
}

bool fgi_emit_has_one_reader(const fgi_emit *e, const fgi_node *node)
{
    return e->module->readers[node->first->id] == 1;
}

static bool is_argument(const fgi_node *node)
{
    if (node->op == &fgi_leaf_op)
        return node->trace->leaves[fgi_leaf_index(node)].kind != FGI_LEAF_SCALAR;
    return node->op == &fgi_result_op || (node->op->emit == NULL && node->arity == 0);
}

/* The nodes whose values are set when something else is emitted: arguments, results. */
static void reserve(fgi_emit *e, const fgi_node *node)
{
    if (node->results == NULL)
        e->value[node->id] = (*e->b.next)++;
    for (int i = 0; node->results != NULL && i < node->results->count; i++)
        e->value[node->results->node[i]->id] = (*e->b.next)++;
}

/* Operations and shapes: neither addresses nor locations. */
static void add_to_hash(module *m, const fgi_node *node)
{
    const fg_type *type = &node->type;
    const int64_t head[] = {node->arity, type->dtype, type->rank};
    m->before = fgi_hash_more(m->before, node->op->name, strlen(node->op->name) + 1);
    m->before = fgi_hash_more(m->before, head, sizeof head);
    m->before = fgi_hash_more(m->before, type->dim, (size_t)type->rank * sizeof type->dim[0]);
}

int64_t fgi_emit_call(fgi_emit *e)
{
    const module *m = e->module;
    const fgi_node *node = e->node;
    const uint64_t number = m->before.lo >> 1;
    if (m->with_locations && e->client != NULL) {
        fgi_call_site site = {.file = node->file, .line = node->line};
        const char *scope = node->scope != NULL ? node->scope : "";
        (void)fgi_snprintf(site.operation, sizeof site.operation / 2, "%s%s", scope,
                           scope[0] != '\0' ? "/" : "");
        const size_t used = strlen(site.operation);
        fgi_node_format(node, site.operation + used, sizeof site.operation - used);
        fgi_client_add_call(e->client, number, &site);
    }
    return (int64_t)number;
}

static void put_node(fgi_emit *e, const fgi_node *node)
{
    module *m = e->module;
    if (is_argument(node))
        return;
    e->node = node;
    add_to_hash(m, node);
    if (m->with_locations)
        e->b.location = location_of(node);
    if (node->op->emit != NULL) {
        reserve(e, node);
        fgi_lower_node(e);
    } else {
        e->value[node->id] = e->value[node->in[0]->first->id];
    }
    if (m->is_stored[node->id])
        fgi_emit_become(e, put_stored(&e->b, fgi_emit_result(e)));
}

/* The nodes of one region, NULL: those outside all, with ids from `begin` to before `end`. */
static void put_nodes(fgi_emit *e, const fgi_region *region, size_t begin, size_t end)
{
    const module *m = e->module;
    for (size_t id = begin; id < end; id++)
        if (m->trace->nodes[id]->region == region && m->layout->is_live[id] &&
            (m->only == NULL || m->only[id]))
            put_node(e, m->trace->nodes[id]);
}

static void put_constant(fgi_emit *e, const fgi_node *node)
{
    if (node->arity > 0)
        put_constant(e, node->in[0]->first);
    put_node(e, node);
}

static void mark_only(const fgi_node *of, size_t begin, bool *only)
{
    const fg_trace *trace = of->trace;
    only[of->first->id] = true;
    for (size_t id = (size_t)of->first->id + 1; id-- > begin;)
        for (int i = 0; only[id] && i < trace->nodes[id]->arity; i++)
            only[trace->nodes[id]->in[i]->first->id] = true;
}

void fgi_emit_region(fgi_emit *e, const fgi_region *region, const fgi_node *only)
{
    module *m = e->module;
    bool *outer = m->only;
    const fgi_node *node = e->node;
    const fgi_location location = e->b.location;
    if (only != NULL) {
        m->only = fgi_calloc(m->trace->node_count + 1, sizeof *m->only);
        e->b.out->failed |= m->only == NULL;
        if (m->only != NULL)
            mark_only(only, region->first_id, m->only);
    }
    for (int i = 0; i < region->constant_count; i++)
        put_constant(e, region->constant[i]->first);
    put_nodes(e, region, region->first_id, region->loop->id);
    if (only != NULL)
        fgi_free(m->only);
    m->only = outer;
    e->node = node;
    e->b.location = location;
}

static void put_body(module *m, bool with_locations, fgi_buf *out)
{
    m->with_locations = with_locations;
    fgi_emit e = {.b = {.out = out, .next = &m->next, .functions = &m->functions},
                  .module = m,
                  .client = m->trace->client,
                  .batch_shards = m->trace->client != NULL
                                      ? fgi_client_mesh(m->trace->client)->batch_shards
                                      : 1,
                  .value = m->value,
                  .scalars = m->next - 1,
                  .scalar_word = m->scalar_word,
                  .scalar_count = m->layout->scalar_count};
    for (size_t i = 0; i < m->layout->scalar_count; i++)
        m->scalar_word[m->layout->scalar_leaf[i]] = (uint32_t)i;
    put_nodes(&e, NULL, 0, m->trace->node_count);
}

static void put_return(const module *m, fgi_buf *out)
{
    fgi_buf_puts(out, result_count(m) > 0 ? "    func.return " : "    func.return");
    for (size_t i = 0; i < result_count(m); i++) {
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        put_value(out, m->value[result_node(m, i)->id]);
    }
    if (result_count(m) > 0)
        fgi_buf_puts(out, " : ");
    put_result_types(m, false, out);
    fgi_buf_puts(out, "\n");
}

/* The values that the platform's compiler must not fuse; false when out of memory. */
static bool mark_values(module *m)
{
    m->is_stored = fgi_calloc(m->trace->node_count + 1, sizeof *m->is_stored);
    return m->is_stored != NULL && fgi_cpu_stored(m->trace, m->layout->is_live, m->is_stored);
}

static void read_by_one_more(module *m, const fgi_node *node)
{
    uint8_t *readers = &m->readers[node->first->id];
    *readers = *readers == 0 ? 1 : 2;
}

/* False when out of memory. */
static bool count_readers(module *m)
{
    const fg_trace *trace = m->trace;
    m->readers = fgi_calloc(trace->node_count + 1, sizeof *m->readers);
    for (size_t id = 0; m->readers != NULL && id < trace->node_count; id++)
        for (int i = 0; m->layout->is_live[id] && i < trace->nodes[id]->arity; i++)
            read_by_one_more(m, trace->nodes[id]->in[i]);
    for (size_t i = 0; m->readers != NULL && i < result_count(m); i++)
        read_by_one_more(m, result_node(m, i));
    return m->readers != NULL;
}

fg_status fgi_emit_module(const fg_trace *trace, const fgi_layout *layout, const fg_tensor *outputs,
                          bool with_locations, fgi_buf *out, fg_error *err)
{
    module m = {.trace = trace, .layout = layout, .outputs = outputs};
    m.value = fgi_calloc(trace->node_count + 1, sizeof *m.value);
    m.scalar_word = fgi_calloc(trace->leaf_count + 1, sizeof *m.scalar_word);
    if (m.value == NULL || m.scalar_word == NULL || !mark_values(&m) || !count_readers(&m)) {
        module_fini(&m);
        return fgi_no_memory(err);
    }
    fgi_buf_puts(out, "module @fulgurite {\n");
    put_mesh(trace, out);
    const bool is_loop = trace->launch.steps > 0;
    fgi_buf_puts(out, is_loop ? "  func.func private @step(" : "  func.func public @main(");
    put_arguments(&m, out);
    fgi_buf_puts(out, ") -> (");
    put_result_types(&m, !is_loop, out);
    fgi_buf_puts(out, ") {\n");
    put_body(&m, with_locations, out);
    put_return(&m, out);
    fgi_buf_puts(out, "  }\n");
    fgi_functions_put(&m.functions, out);
    const fg_status status =
        is_loop ? fgi_emit_launch_loop(trace, layout, outputs, out, err) : FG_OK;
    fgi_buf_puts(out, "}\n");
    module_fini(&m);
    return status == FG_OK ? fgi_buf_status(out, err) : status;
}
