/* respread.c - a value split over the devices in another way.
 *
 * A parameter that strategy fsdp splits is gathered by it where a layer uses the parameter; its
 * gradient, a sum over the devices, is split by it again, for which XLA sends each device only the
 * part that it updates (or all, and cuts, as the CPU's compiler does).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "hlo/mlir.h"
#include "trace/trace.h"

typedef struct respread_attr {
    fgi_split from, to;
} respread_attr;

static bool respread_infer(fgi_infer *c)
{
    c->out = *c->in[0];
    return true;
}

static void respread_emit(fgi_emit *e)
{
    const respread_attr *attr = e->node->attr;
    const fg_type *type = &e->node->type;
    fgi_buf *out = e->b.out;
    fgi_buf_printf(out,
                   "    %%%" PRIu32 " = \"sdy.sharding_constraint\"(%%%" PRIu32 ") <{sharding = ",
                   fgi_emit_result(e).id, fgi_emit_in(e, 0).id);
    fgi_emit_split(e->node->trace, out, &attr->to, type->rank);
    fgi_buf_puts(out, "}> : (");
    fgi_mlir_type(out, type);
    fgi_buf_puts(out, ") -> ");
    fgi_mlir_type(out, type);
    fgi_build_end(&e->b);
}

static void respread_vjp(fgi_vjp *v)
{
    const respread_attr *attr = v->attr;
    v->din[0] = fgi_respread(v->dout, &attr->to, &attr->from);
}

static const fgi_op respread_op = {.name = "respread",
                                   .arity = 1,
                                   .role = FGI_MOVES,
                                   .infer = respread_infer,
                                   .rows = fgi_rows_pointwise,
                                   .emit = respread_emit,
                                   .vjp = respread_vjp};

fg_tensor fgi_respread(fg_tensor value, const fgi_split *from, const fgi_split *to)
{
    const fg_client *client = fg_trace_client(fg_tensor_trace(value));
    const respread_attr attr = {*from, *to};
    if (client == NULL || fg_client_get_info(client)->device_count == 1)
        return value;
    return fgi_apply(&respread_op, &value, 1, &attr, sizeof attr);
}
