/* lowering.c - finds the lowering of an operation for the platform of a trace.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/lowering.h"

#include <string.h>

#include "trace/trace.h"

bool fgi_rule_is_on(const fg_client *client, const char *rule)
{
    const char *off = client != NULL ? fgi_client_plain(client) : NULL;
    return off == NULL || strcmp(off, rule) != 0;
}

static bool is_for(const fgi_lowering *row, const fgi_op *op, const fg_client *client)
{
    return row->op == op && row->platform == fgi_client_platform(client) &&
           fgi_rule_is_on(client, row->rule);
}

void fgi_lower_node(fgi_emit *e)
{
    const fg_client *client = e->client;
    for (size_t i = 0; client != NULL && i < fgi_lowering_count; i++) {
        const fgi_lowering *row = fgi_lowerings[i];
        if (is_for(row, e->node->op, client) && (row->applies == NULL || row->applies(e))) {
            row->emit(e);
            return;
        }
    }
    e->node->op->emit(e);
}

void fgi_compose(const fgi_op *op, const fg_tensor *in, int count, fg_tensor *out)
{
    const fg_client *client = fg_tensor_trace(in[0])->client;
    for (size_t i = 0; client != NULL && i < fgi_lowering_count; i++) {
        const fgi_lowering *row = fgi_lowerings[i];
        if (is_for(row, op, client) && (row->composes == NULL || row->composes(in, count))) {
            row->compose(in, count, out);
            return;
        }
    }
    op->compose(in, count, out);
}
