/* parts.c - lines of StableHLO with their types worked out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/parts.h"

#include "ir/mlir.h"

enum { MOST_PARTS = 256 };

fgi_part fgi_part_in(const fgi_emit *e, int i)
{
    return (fgi_part){fgi_emit_in(e, i), e->node->in[i]->type};
}

void fgi_part_become(fgi_emit *e, fgi_part part) { e->value[e->node->id] = part.id; }

fgi_part fgi_part_line(fgi_emit *e, const fg_type *type, const char *name, const char *attributes,
                       int in_count, const fgi_part *in)
{
    uint32_t id[MOST_PARTS];
    const fg_type *types[MOST_PARTS];
    const fgi_part r = {fgi_emit_temp(e), *type};
    if (in_count > MOST_PARTS)
        e->out->failed = true;
    for (int i = 0; i < in_count && i < MOST_PARTS; i++) {
        id[i] = in[i].id;
        types[i] = &in[i].type;
    }
    fgi_emit_line(e, r.id, type, name, attributes, in_count < MOST_PARTS ? in_count : MOST_PARTS,
                  id, types);
    return r;
}

/* The line with attributes that were put together in `text`, which is freed. */
static fgi_part finish(fgi_emit *e, const fg_type *type, const char *name, fgi_buf *text,
                       int in_count, const fgi_part *in)
{
    const bool failed = text->failed;
    const fgi_part r = fgi_part_line(e, type, name, failed ? NULL : text->data, in_count, in);
    if (failed)
        e->out->failed = true;
    fgi_buf_fini(text);
    return r;
}

static void put_array(fgi_buf *text, const char *name, int count, const int64_t *values)
{
    fgi_buf_puts(text, text->size > 0 ? ", " : "");
    fgi_buf_puts(text, name);
    fgi_buf_puts(text, " = ");
    fgi_mlir_array(text, count, values);
}

fgi_part fgi_part_pair(fgi_emit *e, const char *name, fgi_part a, fgi_part b)
{
    return fgi_part_line(e, &a.type, name, NULL, 2, (const fgi_part[]){a, b});
}

fgi_part fgi_part_reshape(fgi_emit *e, fgi_part a, int rank, const int64_t *dim)
{
    fg_type type = {.dtype = a.type.dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        type.dim[i] = dim[i];
    return fgi_part_line(e, &type, "reshape", NULL, 1, &a);
}

fgi_part fgi_part_transpose(fgi_emit *e, fgi_part a, const int64_t *axis)
{
    fgi_buf text = {0};
    fg_type type = a.type;
    for (int i = 0; i < type.rank; i++)
        type.dim[i] = a.type.dim[axis[i]];
    put_array(&text, "permutation", type.rank, axis);
    return finish(e, &type, "transpose", &text, 1, &a);
}

fgi_part fgi_part_reverse(fgi_emit *e, fgi_part a, int count, const int64_t *axis)
{
    fgi_buf text = {0};
    put_array(&text, "dimensions", count, axis);
    return finish(e, &a.type, "reverse", &text, 1, &a);
}

fgi_part fgi_part_slice(fgi_emit *e, fgi_part a, const int64_t *start, const int64_t *limit,
                        const int64_t *stride)
{
    static const int64_t ones[FG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int64_t *step = stride != NULL ? stride : ones;
    fgi_buf text = {0};
    fg_type type = a.type;
    for (int i = 0; i < type.rank; i++)
        type.dim[i] = (limit[i] - start[i] + step[i] - 1) / step[i];
    put_array(&text, "start_indices", type.rank, start);
    put_array(&text, "limit_indices", type.rank, limit);
    put_array(&text, "strides", type.rank, step);
    return finish(e, &type, "slice", &text, 1, &a);
}

fgi_part fgi_part_splat(fgi_emit *e, const fg_type *type, double value)
{
    const fgi_part r = {fgi_emit_temp(e), *type};
    fgi_emit_splat(e, r.id, type, value);
    return r;
}

static fgi_part number(fgi_emit *e, fg_dtype dtype, double value)
{
    return fgi_part_splat(e, &(fg_type){.dtype = dtype}, value);
}

fgi_part fgi_part_pad(fgi_emit *e, fgi_part a, double value, const int64_t *low,
                      const int64_t *high, const int64_t *interior)
{
    static const int64_t none[FG_MAX_RANK] = {0};
    const int64_t *gap = interior != NULL ? interior : none;
    fgi_buf text = {0};
    fg_type type = a.type;
    for (int i = 0; i < type.rank; i++) {
        const int64_t n = type.dim[i];
        type.dim[i] = low[i] + high[i] + (n > 0 ? (n - 1) * (gap[i] + 1) + 1 : 0);
    }
    put_array(&text, "edge_padding_low", type.rank, low);
    put_array(&text, "edge_padding_high", type.rank, high);
    put_array(&text, "interior_padding", type.rank, gap);
    return finish(e, &type, "pad", &text, 2, (const fgi_part[]){a, number(e, type.dtype, value)});
}

fgi_part fgi_part_concatenate(fgi_emit *e, int count, const fgi_part *in, int axis)
{
    fgi_buf text = {0};
    fg_type type = in[0].type;
    for (int i = 1; i < count; i++)
        type.dim[axis] += in[i].type.dim[axis];
    fgi_buf_printf(&text, "dimension = %d : i64", axis);
    return finish(e, &type, "concatenate", &text, count, in);
}

fgi_part fgi_part_broadcast(fgi_emit *e, fgi_part a, const fg_type *type, const int64_t *axis)
{
    fgi_buf text = {0};
    put_array(&text, "broadcast_dimensions", a.type.rank, axis);
    return finish(e, type, "broadcast_in_dim", &text, 1, &a);
}

fgi_part fgi_part_convert(fgi_emit *e, fgi_part a, fg_dtype dtype)
{
    fg_type type = a.type;
    type.dtype = dtype;
    return fgi_part_line(e, &type, "convert", NULL, 1, &a);
}

/* A sum of a's elements, with the attributes in `text`, which is freed. */
static fgi_part finish_sum(fgi_emit *e, const fg_type *type, const char *name, fgi_buf *text,
                           const fgi_part *a)
{
    const fgi_part init = number(e, type->dtype, 0), r = {fgi_emit_temp(e), *type};
    const fgi_region region = {r.id, a->id, init.id, type, &a->type};
    fgi_emit_region(e, name, "add", &region);
    if (text->failed)
        e->out->failed = true;
    else
        fgi_buf_printf(e->out, " {%s}", text->data);
    fgi_emit_region_end(e, &region);
    fgi_buf_fini(text);
    return r;
}

fgi_part fgi_part_sum(fgi_emit *e, fgi_part a, int count, const int64_t *axis)
{
    fgi_buf text = {0};
    fg_type type = {.dtype = a.type.dtype};
    int taken = 0;
    for (int i = 0; i < a.type.rank; i++) {
        if (taken < count && axis[taken] == i)
            taken++;
        else
            type.dim[type.rank++] = a.type.dim[i];
    }
    put_array(&text, "dimensions", count, axis);
    return finish_sum(e, &type, "reduce", &text, &a);
}

fgi_part fgi_part_sum_windows(fgi_emit *e, fgi_part a, const int64_t *size)
{
    fgi_buf text = {0};
    fg_type type = a.type;
    for (int i = 0; i < type.rank; i++)
        type.dim[i] /= size[i];
    put_array(&text, "window_dimensions", type.rank, size);
    put_array(&text, "window_strides", type.rank, size);
    return finish_sum(e, &type, "reduce_window", &text, &a);
}
