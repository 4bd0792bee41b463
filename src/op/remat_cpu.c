/* remat_cpu.c - the barrier on XLA's CPU backend, which removes optimization barriers before it
 * looks for equal operations. A call that is not inlined stays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/lowerings.h"
#include "op/remat.h"

static fgi_value first_argument(fgi_builder *b, const void *context, const fgi_value *in)
{
    (void)b, (void)context;
    return in[0];
}

static void by_call(fgi_emit *e)
{
    const fgi_value in[2] = {fgi_emit_in(e, 0), fgi_emit_in(e, 1)};
    fgi_emit_become(e, fgi_build_call(&e->b, &in[0].type, 2, in, first_argument, NULL));
}

const fgi_lowering fgi_barrier_cpu = {
    .op = &fgi_barrier_op, .platform = FGI_CPU, .rule = "called-barrier", .emit = by_call};
