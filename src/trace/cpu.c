/* cpu.c - what XLA's CPU backend needs to be told.
 *
 * Where the client asks for it, matrix products go to oneDNN: 5 to 40 % faster on some processors,
 * and their bits do not depend on the number of threads. Such programs cannot be serialised, so it
 * is not the default. And the backend (xla-cpu-pjrt 0.0.1) fuses a product with the arithmetic
 * around it and with other products, and then kills the process at the first run ("partition
 * compile failed") when two products meet in a sum or a chain, or when a product's operand is
 * itself a sum or a product of elements. So every product is kept alone: its result, and operands
 * that are computed element by element, pass through an operation that changes nothing and that
 * oneDNN does not know. Other fusions take it in.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "trace/program.h"

const fgi_flag fgi_cpu_flags[] = {
    {"xla_cpu_use_onednn", "True"},
    {"xla_cpu_experimental_onednn_fusion_type", "LIBRARY_FUSION_TYPE_DOT"},
};
const size_t fgi_cpu_flag_count = sizeof fgi_cpu_flags / sizeof fgi_cpu_flags[0];

/* Goes from users to what they use, so that the mark on operands of products passes through
 * operations that only move elements, down to what computes them. */
void fgi_cpu_keep_apart(const fg_trace *trace, const bool *is_live, bool *out)
{
    for (size_t id = trace->node_count; id-- > 0;) {
        const fgi_node *node = trace->nodes[id];
        const fgi_role role = node->op->role;
        if (!is_live[id])
            continue;
        if (role == FGI_PRODUCT || (role == FGI_MOVES && out[id]))
            for (int i = 0; i < node->arity; i++)
                out[node->in[i]->id] = true;
        const bool is_onednn = node->type.dtype != FG_F64 && fg_dtype_is_float(node->type.dtype);
        out[id] = is_onednn && (role == FGI_PRODUCT || (role == FGI_POINTWISE && out[id]));
    }
}
