/* each_shard.c - computations that each device does with its part of the rows, and that the
 * partitioner does not look into: Shardy's manual computations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "trace/trace.h"

bool fgi_emit_has_shards(const fgi_emit *e, int64_t rows)
{
    const int devices = e->client != NULL ? fg_client_info_of(e->client)->device_count : 1;
    return devices == e->batch_shards && rows % devices == 0;
}

static void put_shardings(const fgi_emit *e, const char *name, int count, const fgi_value *value,
                          const bool *has_rows)
{
    fgi_buf *out = e->b.out;
    fgi_buf_printf(out, "%s = #sdy.sharding_per_value<[", name);
    for (int i = 0; i < count; i++) {
        fgi_buf_puts(out, i == 0 ? "<@mesh, [" : ", <@mesh, [");
        for (int d = 0; d < value[i].type.rank; d++) {
            fgi_buf_puts(out, d == 0 ? "" : ", ");
            fgi_emit_axes(e->node->trace, out,
                          d == 0 && has_rows[i] ? fgi_client_mesh(e->client)->batch : 0);
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

/* The part of a device. */
static fgi_value part_of(fgi_emit *e, const fgi_value *value, bool has_rows)
{
    fg_type type = value->type;
    if (has_rows)
        type.dim[0] /= e->batch_shards;
    return fgi_build_value(&e->b, &type);
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

/* The computation on several devices; `part` is the type of a device's result. */
static fgi_value emit_parts(fgi_emit *e, const fgi_shard_call *call, const fg_type *part,
                            fgi_shard_body body)
{
    static const bool has_rows = true;
    fgi_value in[FGI_MAX_INPUTS];
    fgi_buf *out = e->b.out;
    const int count = call->in_count;
    const fgi_value result = fgi_build_value(&e->b, &call->result);
    fgi_buf_printf(out, "    %%%" PRIu32 " = \"sdy.manual_computation\"(", result.id);
    for (int i = 0; i < count; i++)
        fgi_buf_printf(out, "%s%%%" PRIu32, i == 0 ? "" : ", ", call->in[i].id);
    fgi_buf_puts(out, ") <{");
    put_shardings(e, "in_shardings", count, call->in, call->has_rows);
    put_shardings(e, "out_shardings", 1, &result, &has_rows);
    fgi_buf_puts(out, "manual_axes = #sdy<manual_axes");
    fgi_emit_axes(e->node->trace, out, fgi_client_mesh(e->client)->batch);
    fgi_buf_puts(out, ">}> ({\n");
    for (int i = 0; i < count; i++)
        in[i] = part_of(e, &call->in[i], call->has_rows[i]);
    put_arguments(out, count, in);
    const fg_type share = part_of(e, &result, true).type;
    fgi_value inner = body(e, in, part);
    if (part->rank != share.rank)
        inner = fgi_build_reshape(&e->b, inner, share.rank, share.dim);
    fgi_buf_printf(out, "      \"sdy.return\"(%%%" PRIu32 ") : (", inner.id);
    put_types(out, 1, &inner);
    fgi_buf_puts(out, ") -> ()\n    }) : (");
    put_types(out, count, call->in);
    fgi_buf_puts(out, ") -> ");
    put_types(out, 1, &result);
    fgi_build_end(&e->b);
    return result;
}

fgi_value fgi_emit_each_shard(fgi_emit *e, const fgi_shard_call *call, fgi_shard_body body)
{
    fgi_shard_call all = *call;
    fg_type part = call->result;
    if (e->batch_shards == 1)
        return body(e, call->in, &part);
    if (!call->is_sum) {
        part.dim[0] /= e->batch_shards;
        return emit_parts(e, call, &part, body);
    }
    part.dtype = (part.dtype == FG_BF16 || part.dtype == FG_F16) ? FG_F32 : part.dtype;
    all.result = (fg_type){.dtype = part.dtype, .rank = part.rank + 1, .dim = {e->batch_shards}};
    for (int i = 0; i < part.rank; i++)
        all.result.dim[i + 1] = part.dim[i];
    const fgi_value parts = emit_parts(e, &all, &part, body);
    const fgi_value sum = fgi_build_sum(&e->b, parts, 1, (const int64_t[]){0});
    return fgi_build_convert(&e->b, sum, call->result.dtype);
}
