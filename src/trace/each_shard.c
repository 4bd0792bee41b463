/* each_shard.c - computations that each device does with its part of the rows, and that the
 * partitioner does not look into: Shardy's manual computations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "trace/trace.h"

bool fgi_client_has_shards(const fg_client *client, int64_t rows)
{
    const int devices = client != NULL ? fg_client_info_of(client)->device_count : 1;
    return devices == 1 ||
           (devices == fgi_client_mesh(client)->batch_shards && rows % devices == 0);
}

static void put_shardings(const fgi_emit *e, const char *name, int count, const fgi_value *value,
                          const fgi_shard_kind *kind)
{
    fgi_buf *out = e->b.out;
    fgi_buf_printf(out, "%s = #sdy.sharding_per_value<[", name);
    for (int i = 0; i < count; i++) {
        fgi_buf_puts(out, i == 0 ? "<@mesh, [" : ", <@mesh, [");
        for (int d = 0; d < value[i].type.rank; d++) {
            fgi_buf_puts(out, d == 0 ? "" : ", ");
            fgi_emit_axes(e->node->trace, out,
                          d == 0 && kind[i] != FGI_WHOLE ? fgi_client_mesh(e->client)->batch : 0);
        }
        fgi_buf_puts(out, "]>");
    }
    fgi_buf_puts(out, "]>, ");
}

static void put_types(fgi_buf *out, int count, const fgi_value *value)
{
    for (int i = 0; i < count; i++) {
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        fgi_mlir_type(out, &value[i].type);
    }
}

static void put_names(fgi_buf *out, int count, const fgi_value *value)
{
    for (int i = 0; i < count; i++)
        fgi_buf_printf(out, "%s%%%" PRIu32, i == 0 ? "" : ", ", value[i].id);
}

static void put_arguments(fgi_buf *out, int count, const fgi_value *value)
{
    fgi_buf_puts(out, "    ^bb0(");
    for (int i = 0; i < count; i++) {
        fgi_buf_printf(out, "%s%%%" PRIu32 ": ", i == 0 ? "" : ", ", value[i].id);
        fgi_mlir_type(out, &value[i].type);
    }
    fgi_buf_puts(out, "):\n");
}

static fg_type rows_of_device(const fgi_emit *e, fg_type type)
{
    type.dim[0] /= e->batch_shards;
    return type;
}

/* A device's part of a result; of a sum, its summand. */
static fg_type part_of(const fgi_emit *e, const fgi_shard_call *call, int i)
{
    fg_type type = call->out[i];
    if (call->out_kind[i] == FGI_BY_ROWS)
        return rows_of_device(e, type);
    type.dtype = type.dtype == FG_BF16 || type.dtype == FG_F16 ? FG_F32 : type.dtype;
    return type;
}

/* What all devices return: of a sum, the summands as rows. */
static fg_type returned(const fgi_emit *e, const fgi_shard_call *call, int i)
{
    const fg_type part = part_of(e, call, i);
    if (call->out_kind[i] == FGI_BY_ROWS)
        return call->out[i];
    fg_type all = {.dtype = part.dtype, .rank = part.rank + 1, .dim = {e->batch_shards}};
    for (int k = 0; k < part.rank; k++)
        all.dim[k + 1] = part.dim[k];
    return all;
}

/* The computation of a device. */
static void put_body(fgi_emit *e, const fgi_shard_call *call, fgi_shard_body body)
{
    fgi_value in[FGI_MAX_INPUTS], out[FGI_MAX_INPUTS];
    for (int i = 0; i < call->in_count; i++) {
        const fg_type whole = call->in[i].type;
        const fg_type type = call->in_kind[i] == FGI_WHOLE ? whole : rows_of_device(e, whole);
        in[i] = fgi_build_value(&e->b, &type);
    }
    put_arguments(e->b.out, call->in_count, in);
    for (int i = 0; i < call->out_count; i++)
        out[i].type = part_of(e, call, i);
    body(e, in, out);
    for (int i = 0; i < call->out_count; i++)
        if (call->out_kind[i] != FGI_BY_ROWS) {
            const fg_type row = rows_of_device(e, returned(e, call, i));
            out[i] = fgi_build_reshape(&e->b, out[i], row.rank, row.dim);
        }
    fgi_buf_puts(e->b.out, "      \"sdy.return\"(");
    put_names(e->b.out, call->out_count, out);
    fgi_buf_puts(e->b.out, ") : (");
    put_types(e->b.out, call->out_count, out);
    fgi_buf_puts(e->b.out, ") -> ()\n");
}

/* The computation on several devices. */
static void emit_parts(fgi_emit *e, const fgi_shard_call *call, fgi_shard_body body, fgi_value *out)
{
    fgi_buf *text = e->b.out;
    for (int i = 0; i < call->out_count; i++) {
        const fg_type type = returned(e, call, i);
        out[i] = fgi_build_value(&e->b, &type);
    }
    fgi_buf_puts(text, "    ");
    put_names(text, call->out_count, out);
    fgi_buf_puts(text, " = \"sdy.manual_computation\"(");
    put_names(text, call->in_count, call->in);
    fgi_buf_puts(text, ") <{");
    put_shardings(e, "in_shardings", call->in_count, call->in, call->in_kind);
    put_shardings(e, "out_shardings", call->out_count, out, call->out_kind);
    fgi_buf_puts(text, "manual_axes = #sdy<manual_axes");
    fgi_emit_axes(e->node->trace, text, fgi_client_mesh(e->client)->batch);
    fgi_buf_puts(text, ">}> ({\n");
    put_body(e, call, body);
    fgi_buf_puts(text, "    }) : (");
    put_types(text, call->in_count, call->in);
    fgi_buf_puts(text, call->out_count == 1 ? ") -> " : ") -> (");
    put_types(text, call->out_count, out);
    fgi_buf_puts(text, call->out_count == 1 ? "" : ")");
    fgi_build_end(&e->b);
}

void fgi_emit_each_shard(fgi_emit *e, const fgi_shard_call *call, fgi_shard_body body,
                         fgi_value *out)
{
    for (int i = 0; i < call->out_count && e->batch_shards == 1; i++)
        out[i].type = call->out[i];
    if (e->batch_shards == 1) {
        body(e, call->in, out);
        return;
    }
    emit_parts(e, call, body, out);
    for (int i = 0; i < call->out_count; i++)
        if (call->out_kind[i] != FGI_BY_ROWS) {
            const fgi_value sum = fgi_build_sum(&e->b, out[i], 1, (const int64_t[]){0});
            out[i] = fgi_build_convert(&e->b, sum, call->out[i].dtype);
        }
}

void fgi_emit_node_of_shards(fgi_emit *e, const fgi_shard_kind *in_kind, int out_count,
                             const fgi_shard_kind *out_kind, fgi_shard_body body)
{
    const fgi_node *node = e->node;
    fgi_value in[FGI_MAX_INPUTS], out[FGI_MAX_INPUTS];
    fg_type type[FGI_MAX_INPUTS];
    for (int i = 0; i < node->arity; i++)
        in[i] = fgi_emit_in(e, i);
    for (int i = 0; i < out_count; i++)
        type[i] = node->results != NULL ? fgi_emit_result_at(e, i).type : node->type;
    const fgi_shard_call call = {node->arity, out_count, in, in_kind, type, out_kind};
    fgi_emit_each_shard(e, &call, body, out);
    for (int i = 0; i < out_count; i++)
        if (node->results != NULL)
            fgi_emit_become_at(e, i, out[i]);
        else
            fgi_emit_become(e, out[i]);
}
