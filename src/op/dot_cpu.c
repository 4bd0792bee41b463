/* dot_cpu.c - matmuls with a transposed matrix for XLA's CPU backend.
 *
 * The backend packs both operands into blocks before it multiplies. For a b' it reads b across its
 * rows, which for a large b takes as long as the multiplication itself: in training, the gradient
 * of each linear layer's input. b a' is the transpose of the same result and reads a across its
 * rows instead, so it is written where a and the result are smaller than b. The compiler would
 * swap the operands back if it saw both the matmul and the transpose, so the matmul is a function
 * of its own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "op/parts.h"

enum { LEAST_ELEMENTS = 1 << 15 };

bool fgi_dot_is_swapped(const fgi_emit *e, const fg_type *a, const fg_type *b)
{
    const double matrix = (double)fg_type_count(b);
    const double others = (double)fg_type_count(a) + (double)fg_type_count(&e->node->type);
    return fgi_emit_has(e, FGI_LOWER_SWAP_DOTS) && a->dtype == FG_F32 && a->rank > 1 &&
           matrix >= LEAST_ELEMENTS && others * 3 <= matrix * 2;
}

static fgi_part b_by_a(fgi_emit *e, const void *context, const fgi_part *in)
{
    char attributes[160];
    (void)snprintf(attributes, sizeof attributes,
                   "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
                   "rhs_contracting_dimensions = [%d]>",
                   in[1].type.rank - 1);
    return fgi_part_line(e, context, "dot_general", attributes, 2, in);
}

void fgi_dot_emit_swapped(fgi_emit *e)
{
    const fgi_part in[] = {fgi_part_in(e, 1), fgi_part_in(e, 0)};
    fg_type type = e->node->type;
    const int rank = type.rank;
    int64_t axis[FG_MAX_RANK] = {0};
    for (int i = rank - 1; i > 0; i--) {
        type.dim[i] = type.dim[i - 1];
        axis[i - 1] = i;
    }
    type.dim[0] = in[0].type.dim[0];
    const fgi_part product = fgi_part_isolated(e, &type, 2, in, b_by_a, &type);
    fgi_part_become(e, fgi_part_transpose(e, product, axis));
}
