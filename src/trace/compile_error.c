/* compile_error.c - see compile_error.h. Compilers repeat locations in two forms: that of MLIR,
 * loc("fc/dot"("train.c":31:0)), and as metadata of HLO, source_file="train.c" source_line=31.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/compile_error.h"

#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "trace/trace.h"

/* Whether the number at the end of a location does not continue: line 3 is not line 31. */
static bool contains(const char *message, const char *location)
{
    const size_t size = strlen(location);
    for (const char *at = strstr(message, location); at != NULL; at = strstr(at + 1, location))
        if (at[size] < '0' || at[size] > '9')
            return true;
    return false;
}

static bool is_about(const char *message, const fgi_node *node)
{
    char location[512];
    if (node->file == NULL)
        return false;
    (void)fgi_snprintf(location, sizeof location, "\"%s\":%d", node->file, node->line);
    if (contains(message, location))
        return true;
    (void)fgi_snprintf(location, sizeof location, "source_file=\"%s\" source_line=%d", node->file,
                       node->line);
    return contains(message, location);
}

/* "dot(f64[3,4], f64[4,5])" */
static void format_node(const fgi_node *node, char *out, size_t size)
{
    size_t used = (size_t)fgi_snprintf(out, size, "%s(", node->op->name);
    for (int i = 0; i < node->arity && used < size; i++) {
        char type[96];
        used += (size_t)fgi_snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                                     fg_type_format(&node->in[i]->type, type, sizeof type));
    }
    if (used < size)
        (void)fgi_snprintf(out + used, size - used, ")");
}

fg_status fgi_compile_explain(const fg_trace *trace, const struct fgi_layout *layout, fg_error *err)
{
    char operation[160];
    for (size_t id = 0; id < trace->node_count && err->file == NULL; id++) {
        const fgi_node *node = trace->nodes[id];
        if (!layout->is_live[id] || node->first != node || !is_about(err->message, node) ||
            strstr(err->message, node->op->name) == NULL)
            continue;
        format_node(node, operation, sizeof operation);
        err->file = node->file;
        err->line = node->line;
        return fgi_context(err, err->status, "%s is not supported by the device's compiler",
                           operation);
    }
    return err->status;
}
