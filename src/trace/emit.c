/* emit.c - prints the live part of a trace as a StableHLO module.
 *
 * Arguments are the array leaves in order, then one u32 vector with all scalars; results are the
 * outputs, then the assigned variables, each aliased to the argument it replaces. For several
 * devices each of them says how it is split over the mesh (Shardy annotations).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "ir/mlir.h"
#include "trace/program.h"

bool fgi_emit_has(const fgi_emit *e, fgi_lowering rule) { return (e->rules >> rule & 1) != 0; }

uint32_t fgi_emit_in(const fgi_emit *e, int i) { return e->value[e->node->in[i]->first->id]; }

uint32_t fgi_emit_result(const fgi_emit *e) { return e->value[e->node->id]; }

uint32_t fgi_emit_temp(fgi_emit *e) { return (*e->next_value)++; }

static void put_value(fgi_buf *out, uint32_t value)
{
    fgi_buf_putc(out, '%');
    fgi_buf_put_int(out, value);
}

void fgi_emit_end(fgi_emit *e)
{
    if (e->with_locations) {
        const fgi_node *n = e->node;
        fgi_buf_putc(e->out, ' ');
        fgi_mlir_location(e->out, n->scope, n->op->name, n->file, n->line);
    }
    fgi_buf_putc(e->out, '\n');
}

void fgi_emit_line(fgi_emit *e, uint32_t result, const fg_type *type, const char *stablehlo_name,
                   const char *attributes, int in_count, const uint32_t *in,
                   const fg_type *const *in_type)
{
    fgi_buf *out = e->out;
    fgi_buf_puts(out, "    ");
    put_value(out, result);
    fgi_buf_puts(out, " = \"stablehlo.");
    fgi_buf_puts(out, stablehlo_name);
    fgi_buf_puts(out, "\"(");
    for (int i = 0; i < in_count; i++) {
        if (i > 0)
            fgi_buf_puts(out, ", ");
        put_value(out, in[i]);
    }
    fgi_buf_putc(out, ')');
    if (attributes != NULL) {
        fgi_buf_puts(out, " {");
        fgi_buf_puts(out, attributes);
        fgi_buf_putc(out, '}');
    }
    fgi_buf_puts(out, " : (");
    for (int i = 0; i < in_count; i++) {
        if (i > 0)
            fgi_buf_puts(out, ", ");
        fgi_mlir_type(out, in_type[i]);
    }
    fgi_buf_puts(out, ") -> ");
    fgi_mlir_type(out, type);
    fgi_emit_end(e);
}

void fgi_emit_simple(fgi_emit *e, const char *stablehlo_name, const char *attributes)
{
    uint32_t in[64];
    const fg_type *types[64];
    for (int i = 0; i < e->node->arity; i++) {
        in[i] = fgi_emit_in(e, i);
        types[i] = &e->node->in[i]->type;
    }
    fgi_emit_line(e, fgi_emit_result(e), &e->node->type, stablehlo_name, attributes, e->node->arity,
                  in, types);
}

void fgi_emit_attributes(fgi_emit *e, const char *stablehlo_name, const char *format, ...)
{
    fgi_buf text = {0};
    va_list args;
    va_start(args, format);
    fgi_buf_vprintf(&text, format, args);
    va_end(args);
    if (text.failed)
        e->out->failed = true;
    else
        fgi_emit_simple(e, stablehlo_name, text.data);
    fgi_buf_fini(&text);
}

void fgi_emit_splat(fgi_emit *e, uint32_t result, const fg_type *type, double value)
{
    fgi_buf text = {0};
    fgi_buf_puts(&text, "value = ");
    fgi_mlir_splat(&text, type, value);
    if (text.failed)
        e->out->failed = true;
    else
        fgi_emit_line(e, result, type, "constant", text.data, 0, NULL, NULL);
    fgi_buf_fini(&text);
}

void fgi_emit_region(fgi_emit *e, const char *stablehlo_name, const char *body,
                     const fgi_region *region)
{
    const char *element = fgi_mlir_element(region->type->dtype);
    const uint32_t a = fgi_emit_temp(e), b = fgi_emit_temp(e), r = fgi_emit_temp(e);
    fgi_buf_printf(e->out,
                   "    %%%" PRIu32 " = \"stablehlo.%s\"(%%%" PRIu32 ", %%%" PRIu32 ") ({\n",
                   region->result, stablehlo_name, region->in, region->init);
    fgi_buf_printf(e->out, "    ^bb0(%%%" PRIu32 ": tensor<%s>, %%%" PRIu32 ": tensor<%s>):\n", a,
                   element, b, element);
    fgi_buf_printf(e->out,
                   "      %%%" PRIu32 " = \"stablehlo.%s\"(%%%" PRIu32 ", %%%" PRIu32
                   ") : (tensor<%s>, tensor<%s>) -> tensor<%s>\n",
                   r, body, a, b, element, element, element);
    fgi_buf_printf(e->out, "      \"stablehlo.return\"(%%%" PRIu32 ") : (tensor<%s>) -> ()\n    })",
                   r, element);
}

void fgi_emit_region_end(fgi_emit *e, const fgi_region *region)
{
    const fg_type scalar = {.dtype = region->type->dtype};
    fgi_buf_puts(e->out, " : (");
    fgi_mlir_type(e->out, region->in_type);
    fgi_buf_puts(e->out, ", ");
    fgi_mlir_type(e->out, &scalar);
    fgi_buf_puts(e->out, ") -> ");
    fgi_mlir_type(e->out, region->type);
    fgi_emit_end(e);
}

fgi_region fgi_emit_region_of_node(fgi_emit *e, double init)
{
    const fg_type scalar = {.dtype = e->node->type.dtype};
    const uint32_t first = fgi_emit_temp(e);
    fgi_emit_splat(e, first, &scalar, init);
    return (fgi_region){fgi_emit_result(e), fgi_emit_in(e, 0), first, &e->node->type,
                        &e->node->in[0]->type};
}

void fgi_emit_scalar_word(fgi_emit *e, uint32_t result)
{
    const fg_type word = {.dtype = FG_U32};
    const fg_type one = {.dtype = FG_U32, .rank = 1, .dim = {1}};
    const fg_type all = {.dtype = FG_U32, .rank = 1, .dim = {(int64_t)e->scalar_count}};
    const uint32_t i = e->scalar_word[fgi_leaf_index(e->node)];
    const uint32_t cut = fgi_emit_temp(e);
    char text[128];
    (void)snprintf(text, sizeof text,
                   "start_indices = array<i64: %" PRIu32 ">, limit_indices = array<i64: %" PRIu32
                   ">, strides = array<i64: 1>",
                   i, i + 1);
    fgi_emit_line(e, cut, &one, "slice", text, 1, &e->scalars, (const fg_type *const[]){&all});
    fgi_emit_line(e, result, &word, "reshape", NULL, 1, &cut, (const fg_type *const[]){&one});
}

/* ---- the module ------------------------------------------------------------------------------ */

typedef struct module {
    const fg_trace *trace;
    const fgi_layout *layout;
    const fg_tensor *outputs;
    uint32_t *value;       /* SSA number by node id */
    uint32_t *scalar_word; /* word by leaf index */
    bool *is_apart;        /* by node id: nothing may be fused across its result by oneDNN */
    bool *is_stored;       /* by node id: nothing may be fused across its result at all */
    fgi_functions functions;
    uint32_t next;
} module;

static void module_fini(module *m)
{
    fgi_free(m->value);
    fgi_free(m->scalar_word);
    fgi_free(m->is_apart);
    fgi_free(m->is_stored);
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
    return trace->client != NULL ? fg_client_get_info(trace->client)->device_count : 1;
}

/* An axis of one device splits nothing. */
void fgi_emit_split(const fg_trace *trace, fgi_buf *out, const fgi_split *split, int rank)
{
    const int length[] = {1, fgi_client_mesh_data(trace->client),
                          fgi_client_mesh_model(trace->client)};
    static const char *const name[] = {"", "\"data\"", "\"model\""};
    fgi_buf_puts(out, "#sdy.sharding<@mesh, [");
    for (int i = 0; i < rank; i++) {
        const int axis = split->axis[i];
        fgi_buf_puts(out, i == 0 ? "{" : ", {");
        fgi_buf_puts(out, length[axis] > 1 ? name[axis] : "");
        fgi_buf_putc(out, '}');
    }
    fgi_buf_puts(out, "]>");
}

static void put_split(const fg_trace *trace, fgi_buf *out, const fgi_split *split, int rank)
{
    fgi_buf_puts(out, "sdy.sharding = ");
    fgi_emit_split(trace, out, split, rank);
}

static void put_mesh(const fg_trace *trace, fgi_buf *out)
{
    if (device_count(trace) > 1)
        fgi_buf_printf(out, "  sdy.mesh @mesh = <[\"data\"=%d, \"model\"=%d]>\n",
                       fgi_client_mesh_data(trace->client), fgi_client_mesh_model(trace->client));
}

const fgi_split *fgi_result_split(const fg_trace *trace, const fgi_layout *layout, size_t i)
{
    if (i < layout->output_count)
        return &trace->result_split;
    return fgi_leaf_split(trace->leaves[layout->assigned_leaf[i - layout->output_count]].node);
}

/* {tf.aliasing_output = 2 : i32, sdy.sharding = ...}: what holds for argument `leaf`. */
static void put_argument_attributes(const module *m, size_t leaf, fgi_buf *out)
{
    const fgi_layout *layout = m->layout;
    const fgi_node *node = m->trace->leaves[leaf].node;
    const bool is_split = device_count(m->trace) > 1;
    const char *before = " {";
    for (size_t k = 0; k < layout->assigned_count; k++)
        if (layout->assigned_leaf[k] == leaf) {
            fgi_buf_printf(out, "%stf.aliasing_output = %zu : i32", before,
                           layout->output_count + k);
            before = ", ";
        }
    if (is_split) {
        fgi_buf_puts(out, before);
        before = ", ";
        put_split(m->trace, out, fgi_leaf_split(node), node->type.rank);
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
        if (device_count(m->trace) > 1) {
            fgi_buf_puts(out, " {");
            put_split(m->trace, out, &(fgi_split){{0}}, 1);
            fgi_buf_putc(out, '}');
        }
    }
}

static void put_result_types(const module *m, bool with_splits, fgi_buf *out)
{
    for (size_t i = 0; i < result_count(m); i++) {
        const fg_type *type = &result_node(m, i)->type;
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        fgi_mlir_type(out, type);
        if (with_splits && device_count(m->trace) > 1) {
            fgi_buf_puts(out, " {");
            put_split(m->trace, out, fgi_result_split(m->trace, m->layout, i), type->rank);
            fgi_buf_putc(out, '}');
        }
    }
}

/* Hides a value from the compiler's fusing without changing it: rounds to more digits than the
 * format has. Returns the number of the result. */
static uint32_t put_apart(fgi_emit *e, uint32_t value)
{
    const fg_type *type = &e->node->type;
    const uint32_t apart = fgi_emit_temp(e);
    fgi_emit_line(e, apart, type, "reduce_precision",
                  "exponent_bits = 11 : i32, mantissa_bits = 52 : i32", 1, &value, &type);
    return apart;
}

/* Passes a value through a function that returns its argument: the call is not inlined, its operand
 * is stored, and its result is the same memory. Returns the number of the result. */
static uint32_t put_stored(fgi_emit *e, uint32_t value)
{
    const fg_type *type = &e->node->type;
    fgi_function f;
    fgi_emit_function_begin(e, &f, 1, &type, type);
    return fgi_emit_function_end(e, &f, 0, type, 1, &value, &type);
}

static void put_body(module *m, bool with_locations, fgi_buf *out)
{
    fgi_emit e = {.out = out,
                  .with_locations = with_locations,
                  .rules = fgi_cpu_rules(m->trace->client),
                  .data_devices =
                      m->trace->client != NULL ? fgi_client_mesh_data(m->trace->client) : 1,
                  .value = m->value,
                  .next_value = &m->next,
                  .functions = &m->functions,
                  .scalars = m->next - 1,
                  .scalar_word = m->scalar_word,
                  .scalar_count = m->layout->scalar_count};
    for (size_t i = 0; i < m->layout->scalar_count; i++)
        m->scalar_word[m->layout->scalar_leaf[i]] = (uint32_t)i;
    for (size_t id = 0; id < m->trace->node_count; id++) {
        fgi_node *node = m->trace->nodes[id];
        if (!m->layout->is_live[id])
            continue;
        const bool is_argument = node->op == &fgi_leaf_op &&
                                 m->trace->leaves[fgi_leaf_index(node)].kind != FGI_LEAF_SCALAR;
        if (is_argument)
            continue;
        e.node = node;
        m->value[id] = node->op->emit == NULL ? m->value[node->in[0]->first->id] : m->next++;
        if (node->op->emit != NULL)
            node->op->emit(&e);
        if (m->is_apart[id])
            m->value[id] = put_apart(&e, m->value[id]);
        if (m->is_stored[id])
            m->value[id] = put_stored(&e, m->value[id]);
    }
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

/* Which values the platform's compiler must not fuse; false when out of memory. */
static bool mark_values(module *m)
{
    const fg_trace *trace = m->trace;
    const bool *is_live = m->layout->is_live;
    m->is_apart = fgi_calloc(trace->node_count + 1, sizeof *m->is_apart);
    m->is_stored = fgi_calloc(trace->node_count + 1, sizeof *m->is_stored);
    if (m->is_apart == NULL || m->is_stored == NULL)
        return false;
    if (trace->client != NULL && fgi_client_uses_onednn(trace->client))
        fgi_cpu_keep_apart(trace, is_live, m->is_apart);
    return !fgi_trace_has(trace, FGI_LOWER_STORES) || fgi_cpu_stored(trace, is_live, m->is_stored);
}

fg_status fgi_emit_module(const fg_trace *trace, const fgi_layout *layout, const fg_tensor *outputs,
                          bool with_locations, fgi_buf *out, fg_error *err)
{
    module m = {.trace = trace, .layout = layout, .outputs = outputs};
    m.value = fgi_calloc(trace->node_count + 1, sizeof *m.value);
    m.scalar_word = fgi_calloc(trace->leaf_count + 1, sizeof *m.scalar_word);
    if (m.value == NULL || m.scalar_word == NULL || !mark_values(&m)) {
        module_fini(&m);
        return fgi_no_memory(err);
    }
    fgi_buf_puts(out, "module @fulgurite {\n");
    put_mesh(trace, out);
    fgi_buf_puts(out, "  func.func public @main(");
    put_arguments(&m, out);
    fgi_buf_puts(out, ") -> (");
    put_result_types(&m, true, out);
    fgi_buf_puts(out, ") {\n");
    put_body(&m, with_locations, out);
    put_return(&m, out);
    fgi_buf_puts(out, "  }\n");
    fgi_functions_put(&m.functions, out);
    fgi_buf_puts(out, "}\n");
    module_fini(&m);
    return fgi_buf_status(out, err);
}
