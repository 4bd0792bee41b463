/* parts_loop.c - loops over blocks of arrays, and functions that are compiled by themselves: what
 * keeps a program short, and what its compiler may fuse limited.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "ir/mlir.h"
#include "op/parts.h"

static const fg_type index_type = {.dtype = FG_S32};

fgi_part fgi_part_index(fgi_emit *e, const char *name, fgi_part a, int64_t value)
{
    return fgi_part_pair(e, name, a, fgi_part_splat(e, &index_type, (double)value));
}

/* Where the block begins, along each of `rank` dimensions. */
static void starts(fgi_emit *e, const fgi_place *place, int rank, fgi_part *out)
{
    const fgi_part zero = fgi_part_splat(e, &index_type, 0);
    for (int i = 0; i < rank; i++)
        out[i] = zero;
    for (int i = 0; i < place->count; i++)
        out[place->axis[i]] = place->at[i];
}

fgi_part fgi_part_block(fgi_emit *e, fgi_part a, const fgi_place *place, const int64_t *size)
{
    fgi_buf text = {0};
    fgi_part in[1 + FG_MAX_RANK] = {a}, r = a;
    starts(e, place, a.type.rank, &in[1]);
    for (int i = 0; i < a.type.rank; i++)
        r.type.dim[i] = size[i];
    fgi_buf_puts(&text, "slice_sizes = ");
    fgi_mlir_array(&text, a.type.rank, size);
    r = fgi_part_line(e, &r.type, "dynamic_slice", text.failed ? NULL : text.data, 1 + a.type.rank,
                      in);
    if (text.failed)
        e->out->failed = true;
    fgi_buf_fini(&text);
    return r;
}

fgi_part fgi_part_put_block(fgi_emit *e, fgi_part a, fgi_part block, const fgi_place *place)
{
    fgi_part in[2 + FG_MAX_RANK] = {a, block};
    starts(e, place, a.type.rank, &in[2]);
    return fgi_part_line(e, &a.type, "dynamic_update_slice", NULL, 2 + a.type.rank, in);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* "%1, %2": what the parts are called. */
static void put_names(fgi_buf *out, int count, const fgi_part *part)
{
    for (int i = 0; i < count; i++)
        fgi_buf_printf(out, "%s%%%" PRIu32, i == 0 ? "" : ", ", part[i].id);
}

/* "tensor<s32>, tensor<4xf32>" */
static void put_types(fgi_buf *out, int count, const fgi_part *part)
{
    for (int i = 0; i < count; i++) {
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        fgi_mlir_type(out, &part[i].type);
    }
}

/* Begins a region with arguments of the parts' types, which the parts become. */
static void put_arguments(fgi_emit *e, int count, fgi_part *part)
{
    fgi_buf_puts(e->out, "    ^bb0(");
    for (int i = 0; i < count; i++) {
        part[i].id = fgi_emit_temp(e);
        fgi_buf_printf(e->out, "%s%%%" PRIu32 ": ", i == 0 ? "" : ", ", part[i].id);
        fgi_mlir_type(e->out, &part[i].type);
    }
    fgi_buf_puts(e->out, "):\n");
}

static void put_return(fgi_emit *e, int count, const fgi_part *part)
{
    fgi_buf_puts(e->out, "      \"stablehlo.return\"(");
    put_names(e->out, count, part);
    fgi_buf_puts(e->out, ") : (");
    put_types(e->out, count, part);
    fgi_buf_puts(e->out, ") -> ()\n");
}

/* The region that says whether there is another turn. */
static void put_condition(fgi_emit *e, int64_t turns, int count, const fgi_part *state)
{
    fgi_part argument[1 + FGI_MOST_STATE], pair[2];
    for (int i = 0; i < count; i++)
        argument[i] = state[i];
    put_arguments(e, count, argument);
    pair[0] = argument[0];
    pair[1] = fgi_part_splat(e, &index_type, (double)turns);
    const fgi_part is_more =
        fgi_part_line(e, &(fg_type){.dtype = FG_BOOL}, "compare",
                      "comparison_direction = #stablehlo<comparison_direction LT>", 2, pair);
    put_return(e, 1, &is_more);
}

void fgi_part_loop(fgi_emit *e, int64_t count, int state_count, fgi_part *state, fgi_part_turn turn,
                   const void *context)
{
    fgi_part all[1 + FGI_MOST_STATE] = {fgi_part_splat(e, &index_type, 0)},
                     result[1 + FGI_MOST_STATE];
    const int n = state_count + 1;
    for (int i = 0; i < state_count; i++)
        all[i + 1] = state[i];
    for (int i = 0; i < n; i++)
        result[i] = (fgi_part){fgi_emit_temp(e), all[i].type};
    fgi_buf_puts(e->out, "    ");
    put_names(e->out, n, result);
    fgi_buf_puts(e->out, " = \"stablehlo.while\"(");
    put_names(e->out, n, all);
    fgi_buf_puts(e->out, ") ({\n");
    put_condition(e, count, n, all);
    fgi_buf_puts(e->out, "    }, {\n");
    put_arguments(e, n, all);
    turn(e, context, all[0], &all[1]);
    all[0] = fgi_part_index(e, "add", all[0], 1);
    put_return(e, n, all);
    fgi_buf_puts(e->out, "    }) : (");
    put_types(e->out, n, result);
    fgi_buf_puts(e->out, ") -> (");
    put_types(e->out, n, result);
    fgi_buf_putc(e->out, ')');
    fgi_emit_end(e);
    for (int i = 0; i < state_count; i++)
        state[i] = result[i + 1];
}

/* ---- functions ------------------------------------------------------------------------------- */

fgi_part fgi_part_isolated(fgi_emit *e, const fg_type *type, int in_count, const fgi_part *in,
                           fgi_part_body body, const void *context)
{
    fgi_function f;
    fgi_part argument[FGI_MOST_STATE];
    uint32_t id[FGI_MOST_STATE];
    const fg_type *types[FGI_MOST_STATE];
    for (int i = 0; i < in_count; i++) {
        argument[i] = (fgi_part){(uint32_t)i, in[i].type};
        id[i] = in[i].id;
        types[i] = &in[i].type;
    }
    fgi_emit_function_begin(e, &f, in_count, types, type);
    const fgi_part result = body(e, context, argument);
    return (fgi_part){fgi_emit_function_end(e, &f, result.id, type, in_count, id, types), *type};
}
