/* dot_cpu.c - lowerings of contractions for XLA's CPU backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/dot.h"
#include "op/lowerings.h"

/* The backend has a fast matmul of bf16 with an f32 result, and none with a bf16 result. So the
 * result is rounded only at its end. */

static bool is_half(const fgi_emit *e) { return fgi_is_half(e->node->type.dtype); }

static void emit_wide(fgi_emit *e)
{
    const fgi_value in[] = {fgi_emit_in(e, 0), fgi_emit_in(e, 1)}, y = fgi_emit_result(e);
    fg_type wide = y.type;
    fgi_buf text = {0};
    wide.dtype = FG_F32;
    fgi_dot_put_numbers(&text, e->node->attr);
    const fgi_value product = fgi_build_text(&e->b, &wide, "dot_general", &text, 2, in);
    fgi_build_into(&e->b, &y, "convert", NULL, 1, &product);
}

#define WIDE .platform = FGI_CPU, .rule = "f32-matmul", .applies = is_half, .emit = emit_wide
const fgi_lowering fgi_dot_wide_cpu = {.op = &fgi_dot, WIDE};
const fgi_lowering fgi_matmul_wide_cpu = {.op = &fgi_matmul, WIDE};
