/* log_model.c - the model for loggers: a summary as text, and its graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/thread.h"
#include "trace/trace.h"
#include "train/log_model.h"
#include "log/logger.h"

/* ---- the summary ----------------------------------------------------------------------------- */

static void put_module(fgi_buf *out, const fg_module_info *info)
{
    char type[96] = "";
    if (info->output.dtype != FG_DTYPE_NONE)
        (void)fg_type_format(&info->output, type, sizeof type);
    fgi_buf_printf(out, "%-32s %-12s %-28s %-24s %12" PRId64 "\n", info->name, info->kind,
                   info->detail, type, info->parameter_count);
}

static void put_summary(fgi_buf *out, fg_module *root)
{
    fg_module_info info;
    fgi_buf_printf(out, "%-32s %-12s %-28s %-24s %12s\n", "module", "kind", "", "output",
                   "parameters");
    for (size_t i = 0; fg_module_info_at(root, i, &info); i++)
        if (info.kind[0] != '\0' || info.parameter_count > 0)
            put_module(out, &info);
    fgi_buf_printf(out, "%-32s %-12s %-28s %-24s %12" PRId64 "\n", "total", "", "", "",
                   fg_module_parameter_count(root));
}

/* ---- the graph ------------------------------------------------------------------------------- */

typedef struct graph {
    fgi_arena memory;
    uint32_t *index; /* of each node of the trace, plus 1; 0: it does not lead to the loss */
    fg_log_node *nodes;
    size_t count;
    bool has_failed; /* out of memory */
} graph;

/* Marks what the loss depends on. Inputs have smaller ids. */
static void mark(graph *g, const fg_trace *trace, const fgi_node *loss)
{
    g->index[loss->id] = 1;
    for (uint32_t id = loss->id + 1; id-- > 0;) {
        const fgi_node *node = trace->nodes[id];
        for (int i = 0; g->index[id] != 0 && i < node->arity; i++)
            g->index[node->in[i]->id] = 1;
    }
}

/* The module path of nested scopes, whose names are full names: "layer1/layer1.0/layer1.0.conv1"
 * is "layer1/0/conv1". Other scopes are appended. */
static void put_scope(fgi_buf *out, const char *scope)
{
    fgi_buf path = {0}; /* with dots, as in names of modules */
    while (scope != NULL && *scope != '\0') {
        const size_t size = strcspn(scope, "/");
        const bool is_deeper = path.size > 0 && size > path.size &&
                               strncmp(scope, path.data, path.size) == 0 && scope[path.size] == '.';
        if (is_deeper)
            fgi_buf_clear(&path);
        else if (path.size > 0)
            fgi_buf_putc(&path, '.');
        fgi_buf_add(&path, scope, size);
        scope += size + (scope[size] == '/');
    }
    for (size_t i = 0; i < path.size; i++)
        fgi_buf_putc(out, (char)(path.data[i] == '.' ? '/' : path.data[i]));
    if (path.size > 0)
        fgi_buf_putc(out, '/');
    out->failed |= path.failed;
    fgi_buf_fini(&path);
}

/* The name of a parameter or of a field of the batch; NULL: of neither. */
static const char *leaf_name(const fgi_node *node, const char **out_op)
{
    if (node->op != &fgi_leaf_op)
        return NULL;
    const fgi_leaf *leaf = &node->trace->leaves[fgi_leaf_index(node)];
    *out_op = leaf->kind == FGI_LEAF_VARIABLE ? "parameter" : "input";
    if (leaf->kind == FGI_LEAF_VARIABLE)
        return fg_variable_name(leaf->of.variable);
    return leaf->kind == FGI_LEAF_FEED ? node->trace->feed_name[leaf->of.feed] : NULL;
}

/* "layer1/0/conv1/conv_12", "layer1/0/conv1/weight", "image" */
static const char *name_node(graph *g, const fgi_node *node, const char **out_op)
{
    fgi_buf text = {0};
    const char *leaf = leaf_name(node, out_op);
    if (leaf != NULL) {
        fgi_buf_puts(&text, leaf);
        for (size_t i = 0; i < text.size; i++)
            text.data[i] = (char)(text.data[i] == '.' ? '/' : text.data[i]);
    } else {
        put_scope(&text, node->scope);
        fgi_buf_printf(&text, "%s_%" PRIu32, node->op->name, node->id);
    }
    const char *name = text.failed ? NULL : fgi_arena_strdup(&g->memory, text.data);
    fgi_buf_fini(&text);
    return name;
}

static void add_node(graph *g, const fgi_node *node)
{
    const char *op = node->op->name;
    const char *name = name_node(g, node, &op);
    uint32_t *inputs = fgi_arena_alloc(&g->memory, ((size_t)node->arity + 1) * sizeof *inputs);
    g->has_failed |= name == NULL || inputs == NULL;
    for (int i = 0; !g->has_failed && i < node->arity; i++)
        inputs[i] = g->index[node->in[i]->id] - 1;
    g->nodes[g->count] = (fg_log_node){.name = name,
                                       .op = op,
                                       .type = node->type,
                                       .inputs = inputs,
                                       .input_count = (size_t)node->arity};
    g->index[node->id] = (uint32_t)++g->count;
}

/* False when out of memory. */
static bool make_graph(graph *g, const fg_trace *trace, const fgi_node *loss)
{
    g->index = fgi_calloc(loss->id + (size_t)1, sizeof *g->index);
    g->nodes = fgi_calloc(loss->id + (size_t)1, sizeof *g->nodes);
    if (g->index == NULL || g->nodes == NULL)
        return false;
    mark(g, trace, loss);
    for (uint32_t id = 0; id <= loss->id && !g->has_failed; id++)
        if (g->index[id] != 0)
            add_node(g, trace->nodes[id]);
    return !g->has_failed;
}

static void log_item(fgi_logger *logger, int64_t step, fg_log_item item)
{
    item.name = "model";
    item.step = step;
    item.wall_time = fgi_wall_time();
    fgi_logger_item(logger, &item);
}

void fgi_log_model(fgi_logger *logger, fg_module *root, int64_t step, fg_tensor loss)
{
    fgi_buf summary = {0};
    graph g = {.count = 0};
    if (!fgi_logger_lacks_graph(logger))
        return;
    put_summary(&summary, root);
    if (!summary.failed)
        log_item(logger, step, (fg_log_item){.kind = FG_LOG_TEXT, .text = summary.data});
    if (make_graph(&g, fg_tensor_trace(loss), fgi_node_of(loss)))
        log_item(logger, step,
                 (fg_log_item){.kind = FG_LOG_GRAPH, .nodes = g.nodes, .node_count = g.count});
    fgi_free(g.nodes);
    fgi_free(g.index);
    fgi_arena_fini(&g.memory);
    fgi_buf_fini(&summary);
}
