/* cpu.c - what XLA's CPU backend (xla-cpu-pjrt 0.0.1) needs to be told.
 *
 * Variables are updated in place, and a weight is read by the backward pass too. Unless asked to
 * look at regions, the backend copies each such weight in every step: 5 % of a perceptron's step.
 *
 * Products of matrices through oneDNN are an option of the client. The backend then fuses a product
 * with the arithmetic around it and with other products, and kills the process at the first run
 * ("partition compile failed") when two products meet in a sum or a chain, or when a product's
 * operand is itself a sum or a product of elements. So every product is kept alone: its result, and
 * operands that are computed element by element, pass through an operation that changes nothing and
 * that oneDNN does not know. It costs nothing: other fusions take it in.
 *
 * What else it does badly is written in another form where it is emitted: the rules of graph.h, all
 * of which hold on the CPU and none elsewhere.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "trace/program.h"

static const fgi_flag flags[] = {
    {"xla_cpu_copy_insertion_use_region_analysis", "True"},
    /* those of oneDNN: the client's option turns them on, test_lowering.c compares */
    {"xla_cpu_use_onednn", "True"},
    {"xla_cpu_experimental_onednn_fusion_type", "LIBRARY_FUSION_TYPE_DOT"},
};
enum { FLAG_COUNT = sizeof flags / sizeof flags[0], WITHOUT_ONEDNN = 1 };

const fgi_flag *fgi_cpu_flags(const fg_client *client, size_t *out_count)
{
    *out_count = 0;
    if (fgi_client_platform(client) == FGI_CPU)
        *out_count = fgi_client_uses_onednn(client) ? FLAG_COUNT : WITHOUT_ONEDNN;
    return flags;
}

uint32_t fgi_cpu_rules(const fg_client *client)
{
    uint32_t all = (1u << FGI_LOWER_COUNT) - 1;
    if (client == NULL || fgi_client_platform(client) != FGI_CPU)
        return 0;
    /* oneDNN packs operands in its own way; how operands are sharded must show in the program */
    if (fgi_client_uses_onednn(client) || fgi_client_mesh_data(client) > 1 ||
        fgi_client_mesh_model(client) > 1)
        all &= ~(1u << FGI_LOWER_SWAP_DOTS);
    return all & ~fgi_client_plain(client);
}

bool fgi_trace_has(const fg_trace *trace, fgi_lowering rule)
{
    return (fgi_cpu_rules(trace->client) >> rule & 1) != 0;
}

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
                out[node->in[i]->first->id] = true;
        const bool is_onednn = node->type.dtype != FG_F64 && fg_dtype_is_float(node->type.dtype);
        out[id] = is_onednn && (role == FGI_PRODUCT || (role == FGI_POINTWISE && out[id]));
    }
}
