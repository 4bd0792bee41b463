/* cpu.c - whole programs for XLA's CPU backend (xla-cpu-pjrt 0.0.1): compiler options, and values
 * that must not be fused. Single operations have their own lowerings (lowering.h).
 *
 * Variables are updated in place, and a weight is also read by the backward pass. Unless region
 * analysis is enabled, the backend copies each such weight in every step: 5 % of the step time of
 * an MLP.
 *
 * The backend fuses a value into each loop that uses it, and recomputes it there for each use, with
 * everything that was fused into it before. So a chain of layers without matmuls in between becomes
 * loops of quadratic length, or of exponential length if each layer reads the previous one in two
 * orders (x + reverse(x)): 16 such layers took 26 s to compile, others ran for minutes. Therefore a
 * value is stored if recomputing it for each use would cost more than a fixed number of operations:
 * the length of the compiled program is then linear in that of the trace. Tests disable this as the
 * rule "stored-values".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "trace/lowering.h"
#include "trace/program.h"

static const fgi_flag flags[] = {
    {"xla_cpu_copy_insertion_use_region_analysis", "True"},
    /* On some processors (seen on an AMD EPYC without AVX-512), the backend calls XNNPACK for
     * matmuls. XNNPACK packs a weight when it first sees its address and never again. After a
     * weight was updated in place, it multiplies by the old values: the forward pass of a training
     * step never saw an update. */
    {"xla_cpu_use_xnnpack", "False"},
};
/* More operations per element, repeated in each loop that uses a value, cost more than the two
 * passes over memory that storing it takes. Reading a number in bf16 counts as LOAD of them: the
 * backend stores sums in f32 that are used several times, but not in bf16, where a conversion
 * follows, and would add up the gradient of residual connections again in each layer. */
enum { MOST_REPEATED = 256, LOAD = 64 };

const fgi_flag *fgi_cpu_flags(const fg_client *client, size_t *out_count)
{
    *out_count = fgi_client_platform(client) == FGI_CPU ? sizeof flags / sizeof flags[0] : 0;
    return flags;
}

bool fgi_cpu_isolates(const fg_trace *trace)
{
    return trace->client != NULL && fgi_client_platform(trace->client) == FGI_CPU;
}

/* How many operations a loop computes per element of this value if everything possible is fused
 * into it; 0 for a value that the backend stores anyway. */
static int64_t fused_operations(const fgi_node *node, const int64_t *operations)
{
    int64_t sum = 1;
    if (node->op->role != FGI_POINTWISE && node->op->role != FGI_MOVES)
        return 0;
    for (int i = 0; i < node->arity; i++) {
        const int64_t before = operations[node->in[i]->first->id];
        const fg_type *type = &node->in[i]->type;
        const bool is_read = before == 0 && type->dtype == FG_BF16 && fg_type_count(type) > 1;
        sum += is_read ? LOAD : before;
    }
    return sum;
}

/* uses and operations: by node id, initially zero. */
static void mark_stored(const fg_trace *trace, const bool *is_live, int64_t *uses,
                        int64_t *operations, bool *out)
{
    for (size_t id = 0; id < trace->node_count; id++)
        for (int i = 0; is_live[id] && i < trace->nodes[id]->arity; i++)
            uses[trace->nodes[id]->in[i]->first->id]++;
    for (size_t id = 0; id < trace->node_count; id++) {
        if (!is_live[id])
            continue;
        operations[id] = fused_operations(trace->nodes[id], operations);
        out[id] = uses[id] > 1 && operations[id] > MOST_REPEATED / (uses[id] - 1);
        if (out[id])
            operations[id] = 0;
    }
}

bool fgi_cpu_stored(const fg_trace *trace, const bool *is_live, bool *out)
{
    const fg_client *client = trace->client;
    const size_t count = trace->node_count + 1;
    if (client == NULL || fgi_client_platform(client) != FGI_CPU ||
        !fgi_rule_is_on(client, "stored-values"))
        return true;
    int64_t *uses = fgi_calloc(count, sizeof *uses);
    int64_t *operations = fgi_calloc(count, sizeof *operations);
    const bool is_done = uses != NULL && operations != NULL;
    if (is_done)
        mark_stored(trace, is_live, uses, operations, out);
    fgi_free(uses);
    fgi_free(operations);
    return is_done;
}
