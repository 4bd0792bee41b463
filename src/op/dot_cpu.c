/* dot_cpu.c - lowerings of contractions for XLA's CPU backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "op/dot.h"
#include "op/lowerings.h"

/* ---- matmuls with a transposed matrix ---------------------------------------------------------
 * The backend packs both operands into blocks before it multiplies. For a b' it reads b across its
 * rows, which for a large b takes as long as the multiplication itself: in training, the gradient
 * of each linear layer's input. b a' is the transpose of the same result and reads a across its
 * rows instead, so it is written where a and the result are smaller than b. The compiler would
 * swap the operands back if it saw both the matmul and the transpose, so the matmul is a
 * separate function. */

enum { LEAST_ELEMENTS = 1 << 15 };

/* a b': one contracted axis, the last of a and of a matrix b, whose rows are the result's last. */
static bool is_by_transposed(const fgi_node *node)
{
    const fgi_dot_attr *attr = node->attr;
    const fg_type *a = &node->in[0]->type, *b = &node->in[1]->type;
    return attr->batch_count == 0 && attr->contract_count == 1 && b->rank == 2 &&
           attr->contract[0][0] == a->rank - 1 && attr->contract[1][0] == 1;
}

/* On several devices, the program must show how operands are sharded. */
static bool is_swapped(const fgi_emit *e)
{
    const fg_type *a = &e->node->in[0]->type, *b = &e->node->in[1]->type;
    const double matrix = (double)fg_type_count(b);
    const double others = (double)fg_type_count(a) + (double)fg_type_count(&e->node->type);
    return is_by_transposed(e->node) && a->dtype == FG_F32 && a->rank > 1 &&
           matrix >= LEAST_ELEMENTS && others * 3 <= matrix * 2 &&
           fg_client_info_of(e->client)->device_count == 1;
}

static fgi_value b_by_a(fgi_builder *b, const void *context, const fgi_value *in)
{
    char attributes[160];
    (void)snprintf(attributes, sizeof attributes,
                   "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
                   "rhs_contracting_dimensions = [%d]>",
                   in[1].type.rank - 1);
    return fgi_build(b, context, "dot_general", attributes, 2, in);
}

static void emit_swapped(fgi_emit *e)
{
    const fgi_value in[] = {fgi_emit_in(e, 1), fgi_emit_in(e, 0)};
    fg_type type = e->node->type;
    const int rank = type.rank;
    int64_t axis[FG_MAX_RANK] = {0};
    for (int i = rank - 1; i > 0; i--) {
        type.dim[i] = type.dim[i - 1];
        axis[i - 1] = i;
    }
    type.dim[0] = in[0].type.dim[0];
    const fgi_value product = fgi_build_call(&e->b, &type, 2, in, b_by_a, &type);
    fgi_emit_become(e, fgi_build_transpose(&e->b, product, axis));
}

#define SWAPPED                                                                                    \
    .platform = FGI_CPU, .rule = "swapped-matmul", .applies = is_swapped, .emit = emit_swapped
const fgi_lowering fgi_dot_swapped_cpu = {.op = &fgi_dot, SWAPPED};
const fgi_lowering fgi_matmul_swapped_cpu = {.op = &fgi_matmul, SWAPPED};

/* ---- matmuls of 16-bit floats -----------------------------------------------------------------
 * The backend has a fast matmul of bf16 with an f32 result, and none with a bf16 result. So the
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
