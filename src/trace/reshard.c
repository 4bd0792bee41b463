/* reshard.c - changes the sharding of a value.
 *
 * Gathers a parameter that is sharded by strategy fsdp where a layer uses it, and shards its
 * gradient, a sum over the devices, again: XLA converts that to a reduce-scatter (or, in the CPU's
 * compiler, an all-reduce and a slice).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "trace/trace.h"

typedef struct reshard_attr {
    fgi_sharding from, to;
} reshard_attr;

static bool reshard_infer(fgi_infer *c)
{
    c->out = *c->in[0];
    return true;
}

static void reshard_emit(fgi_emit *e)
{
    const reshard_attr *attr = e->node->attr;
    const fg_type *type = &e->node->type;
    fgi_buf *out = e->b.out;
    fgi_buf_printf(out,
                   "    %%%" PRIu32 " = \"sdy.sharding_constraint\"(%%%" PRIu32 ") <{sharding = ",
                   fgi_emit_result(e).id, fgi_emit_in(e, 0).id);
    fgi_emit_sharding(e->node->trace, out, &attr->to, type->rank);
    fgi_buf_puts(out, "}> : (");
    fgi_mlir_type(out, type);
    fgi_buf_puts(out, ") -> ");
    fgi_mlir_type(out, type);
    fgi_build_end(&e->b);
}

static void reshard_vjp(fgi_vjp *v)
{
    const reshard_attr *attr = v->attr;
    v->din[0] = fgi_reshard(v->dout, &attr->to, &attr->from);
}

static const fgi_op reshard_op = {.name = "reshard",
                                  .arity = 1,
                                  .role = FGI_MOVES,
                                  .infer = reshard_infer,
                                  .rows = fgi_rows_pointwise,
                                  .emit = reshard_emit,
                                  .vjp = reshard_vjp};

fg_tensor fgi_reshard(fg_tensor value, const fgi_sharding *from, const fgi_sharding *to)
{
    const fg_client *client = fg_trace_client(fg_tensor_trace(value));
    const reshard_attr attr = {*from, *to};
    if (client == NULL || fg_client_info_of(client)->device_count == 1)
        return value;
    return fgi_apply(&reshard_op, &value, 1, &attr, sizeof attr);
}
