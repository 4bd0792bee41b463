/* builder.c - single operations, with the types of their results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "hlo/builder.h"

#include "hlo/mlir.h"

static const fg_type index_type = {.dtype = FG_S32};

fgi_value fgi_build_value(fgi_builder *b, const fg_type *type)
{
    return (fgi_value){(*b->next)++, *type};
}

void fgi_build_end(fgi_builder *b)
{
    const fgi_location *at = &b->location;
    if (at->op != NULL) {
        fgi_buf_putc(b->out, ' ');
        fgi_mlir_location(b->out, at->scope, at->op, at->file, at->line);
    }
    fgi_buf_putc(b->out, '\n');
}

static void put_name(fgi_buf *out, uint32_t id)
{
    fgi_buf_putc(out, '%');
    fgi_buf_put_int(out, id);
}

static void put_names(fgi_buf *out, int count, const fgi_value *value)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            fgi_buf_puts(out, ", ");
        put_name(out, value[i].id);
    }
}

static void put_types(fgi_buf *out, int count, const fgi_value *value)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            fgi_buf_puts(out, ", ");
        fgi_mlir_type(out, &value[i].type);
    }
}

void fgi_build_results(fgi_builder *b, int count, const fgi_value *results,
                       const fgi_operation *operation)
{
    fgi_buf *out = b->out;
    fgi_buf_puts(out, "    ");
    put_names(out, count, results);
    fgi_buf_puts(out, " = \"stablehlo.");
    fgi_buf_puts(out, operation->name);
    fgi_buf_puts(out, "\"(");
    put_names(out, operation->in_count, operation->in);
    fgi_buf_putc(out, ')');
    if (operation->attributes != NULL) {
        fgi_buf_puts(out, " {");
        fgi_buf_puts(out, operation->attributes);
        fgi_buf_putc(out, '}');
    }
    fgi_buf_puts(out, " : (");
    put_types(out, operation->in_count, operation->in);
    fgi_buf_puts(out, count == 1 ? ") -> " : ") -> (");
    put_types(out, count, results);
    fgi_buf_puts(out, count == 1 ? "" : ")");
    fgi_build_end(b);
}

void fgi_build_into(fgi_builder *b, const fgi_value *result, const char *name,
                    const char *attributes, int in_count, const fgi_value *in)
{
    fgi_build_results(b, 1, result, &(fgi_operation){name, attributes, in_count, in});
}

fgi_value fgi_build(fgi_builder *b, const fg_type *type, const char *name, const char *attributes,
                    int in_count, const fgi_value *in)
{
    const fgi_value r = fgi_build_value(b, type);
    fgi_build_into(b, &r, name, attributes, in_count, in);
    return r;
}

void fgi_build_text_into(fgi_builder *b, const fgi_value *result, const char *name, fgi_buf *text,
                         int in_count, const fgi_value *in)
{
    if (text->failed)
        b->out->failed = true;
    else
        fgi_build_into(b, result, name, text->data, in_count, in);
    fgi_buf_fini(text);
}

fgi_value fgi_build_text(fgi_builder *b, const fg_type *type, const char *name, fgi_buf *text,
                         int in_count, const fgi_value *in)
{
    const fgi_value r = fgi_build_value(b, type);
    fgi_build_text_into(b, &r, name, text, in_count, in);
    return r;
}

void fgi_build_array(fgi_buf *text, const char *name, int count, const int64_t *values)
{
    fgi_buf_puts(text, text->size > 0 ? ", " : "");
    fgi_buf_puts(text, name);
    fgi_buf_puts(text, " = ");
    fgi_mlir_array(text, count, values);
}

/* ---- constants and arithmetic ---------------------------------------------------------------- */

void fgi_build_splat_into(fgi_builder *b, const fgi_value *result, double value)
{
    fgi_buf text = {0};
    fgi_buf_puts(&text, "value = ");
    fgi_mlir_splat(&text, &result->type, value);
    fgi_build_text_into(b, result, "constant", &text, 0, NULL);
}

fgi_value fgi_build_splat(fgi_builder *b, const fg_type *type, double value)
{
    const fgi_value r = fgi_build_value(b, type);
    fgi_build_splat_into(b, &r, value);
    return r;
}

fgi_value fgi_build_iota(fgi_builder *b, const fg_type *type, int axis)
{
    fgi_buf text = {0};
    fgi_buf_printf(&text, "iota_dimension = %d : i64", axis);
    return fgi_build_text(b, type, "iota", &text, 0, NULL);
}

fgi_value fgi_build_unary(fgi_builder *b, const char *name, fgi_value x)
{
    return fgi_build(b, &x.type, name, NULL, 1, &x);
}

fgi_value fgi_build_binary(fgi_builder *b, const char *name, fgi_value x, fgi_value y)
{
    return fgi_build(b, &x.type, name, NULL, 2, (const fgi_value[]){x, y});
}

fgi_value fgi_build_convert(fgi_builder *b, fgi_value x, fg_dtype dtype)
{
    fg_type type = x.type;
    type.dtype = dtype;
    return x.type.dtype == dtype ? x : fgi_build(b, &type, "convert", NULL, 1, &x);
}

fgi_value fgi_build_index(fgi_builder *b, const char *name, fgi_value x, int64_t constant)
{
    return fgi_build_binary(b, name, x, fgi_build_splat(b, &index_type, (double)constant));
}

fgi_value fgi_build_compare(fgi_builder *b, const char *direction, fgi_value x, fgi_value y)
{
    fgi_buf text = {0};
    fg_type type = x.type;
    type.dtype = FG_BOOL;
    fgi_buf_printf(&text, "comparison_direction = #stablehlo<comparison_direction %s>", direction);
    return fgi_build_text(b, &type, "compare", &text, 2, (const fgi_value[]){x, y});
}

fgi_value fgi_build_select(fgi_builder *b, fgi_value condition, fgi_value x, fgi_value y)
{
    return fgi_build(b, &x.type, "select", NULL, 3, (const fgi_value[]){condition, x, y});
}

/* ---- operations that move elements ----------------------------------------------------------- */

fgi_value fgi_build_reshape(fgi_builder *b, fgi_value x, int rank, const int64_t *dim)
{
    fg_type type = {.dtype = x.type.dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        type.dim[i] = dim[i];
    return fgi_build(b, &type, "reshape", NULL, 1, &x);
}

fgi_value fgi_build_transpose(fgi_builder *b, fgi_value x, const int64_t *permutation)
{
    fgi_buf text = {0};
    fg_type type = x.type;
    for (int i = 0; i < type.rank; i++)
        type.dim[i] = x.type.dim[permutation[i]];
    fgi_build_array(&text, "permutation", type.rank, permutation);
    return fgi_build_text(b, &type, "transpose", &text, 1, &x);
}

fgi_value fgi_build_reverse(fgi_builder *b, fgi_value x, int count, const int64_t *axis)
{
    fgi_buf text = {0};
    fgi_build_array(&text, "dimensions", count, axis);
    return fgi_build_text(b, &x.type, "reverse", &text, 1, &x);
}

fgi_value fgi_build_slice(fgi_builder *b, fgi_value x, const int64_t *start, const int64_t *limit,
                          const int64_t *stride)
{
    static const int64_t ones[FG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int64_t *step = stride != NULL ? stride : ones;
    fgi_buf text = {0};
    fg_type type = x.type;
    for (int i = 0; i < type.rank; i++)
        type.dim[i] = (limit[i] - start[i] + step[i] - 1) / step[i];
    fgi_build_array(&text, "start_indices", type.rank, start);
    fgi_build_array(&text, "limit_indices", type.rank, limit);
    fgi_build_array(&text, "strides", type.rank, step);
    return fgi_build_text(b, &type, "slice", &text, 1, &x);
}

fgi_value fgi_build_pad(fgi_builder *b, fgi_value x, double value, const int64_t *low,
                        const int64_t *high, const int64_t *interior)
{
    static const int64_t none[FG_MAX_RANK] = {0};
    const int64_t *gap = interior != NULL ? interior : none;
    fgi_buf text = {0};
    fg_type type = x.type;
    for (int i = 0; i < type.rank; i++) {
        const int64_t n = type.dim[i];
        type.dim[i] = low[i] + high[i] + (n > 0 ? (n - 1) * (gap[i] + 1) + 1 : 0);
    }
    fgi_build_array(&text, "edge_padding_low", type.rank, low);
    fgi_build_array(&text, "edge_padding_high", type.rank, high);
    fgi_build_array(&text, "interior_padding", type.rank, gap);
    const fgi_value fill = fgi_build_splat(b, &(fg_type){.dtype = type.dtype}, value);
    return fgi_build_text(b, &type, "pad", &text, 2, (const fgi_value[]){x, fill});
}

fgi_value fgi_build_broadcast(fgi_builder *b, fgi_value x, const fg_type *type, const int64_t *axis)
{
    fgi_buf text = {0};
    fgi_build_array(&text, "broadcast_dimensions", x.type.rank, axis);
    return fgi_build_text(b, type, "broadcast_in_dim", &text, 1, &x);
}

/* The start indices of the block, for each of `rank` dimensions. */
static void starts(fgi_builder *b, const fgi_block_start *start, int rank, fgi_value *out)
{
    const fgi_value zero = fgi_build_splat(b, &index_type, 0);
    for (int i = 0; i < rank; i++)
        out[i] = zero;
    for (int i = 0; i < start->count; i++)
        out[start->axis[i]] = start->at[i];
}

fgi_value fgi_build_dynamic_slice(fgi_builder *b, fgi_value x, const fgi_block_start *start,
                                  const int64_t *size)
{
    fgi_buf text = {0};
    fgi_value in[1 + FG_MAX_RANK] = {x};
    fg_type type = x.type;
    starts(b, start, x.type.rank, &in[1]);
    for (int i = 0; i < type.rank; i++)
        type.dim[i] = size[i];
    fgi_build_array(&text, "slice_sizes", type.rank, size);
    return fgi_build_text(b, &type, "dynamic_slice", &text, 1 + type.rank, in);
}

fgi_value fgi_build_dynamic_update_slice(fgi_builder *b, fgi_value x, fgi_value block,
                                         const fgi_block_start *start)
{
    fgi_value in[2 + FG_MAX_RANK] = {x, block};
    starts(b, start, x.type.rank, &in[2]);
    return fgi_build(b, &x.type, "dynamic_update_slice", NULL, 2 + x.type.rank, in);
}
