/* region.c - operations with regions: reductions and loops.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "hlo/builder.h"
#include "hlo/mlir.h"

static const fg_type index_type = {.dtype = FG_S32};

/* "%1, %2" */
static void put_names(fgi_buf *out, int count, const fgi_value *value)
{
    for (int i = 0; i < count; i++)
        fgi_buf_printf(out, "%s%%%" PRIu32, i == 0 ? "" : ", ", value[i].id);
}

/* "tensor<i32>, tensor<4xf32>" */
static void put_types(fgi_buf *out, int count, const fgi_value *value)
{
    for (int i = 0; i < count; i++) {
        fgi_buf_puts(out, i == 0 ? "" : ", ");
        fgi_mlir_type(out, &value[i].type);
    }
}

/* "    %1, %2 = "stablehlo.name"(%3, %4) ({" */
static void put_head(fgi_builder *b, int result_count, const fgi_value *result, const char *name,
                     int in_count, const fgi_value *in)
{
    fgi_buf_puts(b->out, "    ");
    put_names(b->out, result_count, result);
    fgi_buf_printf(b->out, " = \"stablehlo.%s\"(", name);
    put_names(b->out, in_count, in);
    fgi_buf_puts(b->out, ") ({\n");
}

/* Begins a region with arguments of the values' types; the values are replaced by the arguments. */
static void put_arguments(fgi_builder *b, int count, fgi_value *value)
{
    fgi_buf_puts(b->out, "    ^bb0(");
    for (int i = 0; i < count; i++) {
        value[i] = fgi_build_value(b, &value[i].type);
        fgi_buf_printf(b->out, "%s%%%" PRIu32 ": ", i == 0 ? "" : ", ", value[i].id);
        fgi_mlir_type(b->out, &value[i].type);
    }
    fgi_buf_puts(b->out, "):\n");
}

static void put_return(fgi_builder *b, int count, const fgi_value *value)
{
    fgi_buf_puts(b->out, "      \"stablehlo.return\"(");
    put_names(b->out, count, value);
    fgi_buf_puts(b->out, ") : (");
    put_types(b->out, count, value);
    fgi_buf_puts(b->out, ") -> ()\n");
}

/* " {attributes} : (types) -> type": ends the operation; `attributes` is freed. */
static void put_tail(fgi_builder *b, const fgi_value *result, int in_count, const fgi_value *in,
                     fgi_buf *attributes)
{
    if (attributes->failed)
        b->out->failed = true;
    else
        fgi_buf_printf(b->out, " {%s}", attributes->data);
    fgi_buf_puts(b->out, " : (");
    put_types(b->out, in_count, in);
    fgi_buf_puts(b->out, ") -> ");
    fgi_mlir_type(b->out, &result->type);
    fgi_build_end(b);
    fgi_buf_fini(attributes);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* A region with one operation on two scalars, whose result has this dtype. Without locations. */
static void put_scalar_body(fgi_builder *b, fg_dtype dtype, const char *name,
                            const char *attributes, fg_dtype result_dtype)
{
    const fg_type scalar = {.dtype = dtype};
    fgi_value in[2] = {{.type = scalar}, {.type = scalar}};
    put_arguments(b, 2, in);
    const fgi_value r = fgi_build_value(b, &(fg_type){.dtype = result_dtype});
    fgi_buf_printf(b->out, "      %%%" PRIu32 " = \"stablehlo.%s\"(", r.id, name);
    put_names(b->out, 2, in);
    fgi_buf_printf(b->out, ")%s : (", attributes);
    put_types(b->out, 2, in);
    fgi_buf_puts(b->out, ") -> ");
    fgi_mlir_type(b->out, &r.type);
    fgi_buf_putc(b->out, '\n');
    put_return(b, 1, &r);
}

void fgi_build_reduction(fgi_builder *b, const fgi_value *result, const char *name,
                         const char *body, fgi_value in, fgi_value init, fgi_buf *attributes)
{
    const fgi_value all[] = {in, init};
    put_head(b, 1, result, name, 2, all);
    put_scalar_body(b, init.type.dtype, body, "", init.type.dtype);
    fgi_buf_puts(b->out, "    })");
    put_tail(b, result, 2, all, attributes);
}

void fgi_build_scatter_to_max(fgi_builder *b, const fgi_value *result, fgi_value x,
                              fgi_value source, fgi_value init, fgi_buf *attributes)
{
    const fgi_value all[] = {x, source, init};
    const fg_dtype dtype = init.type.dtype;
    put_head(b, 1, result, "select_and_scatter", 3, all);
    put_scalar_body(b, dtype, "compare",
                    " {comparison_direction = #stablehlo<comparison_direction GE>}", FG_BOOL);
    fgi_buf_puts(b->out, "    }, {\n");
    put_scalar_body(b, dtype, "add", "", dtype);
    fgi_buf_puts(b->out, "    })");
    put_tail(b, result, 3, all, attributes);
}

/* A region that returns the second of two scalars. */
static void put_second(fgi_builder *b, fg_dtype dtype)
{
    fgi_value in[2] = {{.type.dtype = dtype}, {.type.dtype = dtype}};
    put_arguments(b, 2, in);
    put_return(b, 1, &in[1]);
}

void fgi_build_scatter(fgi_builder *b, const fgi_value *result, const char *body, fgi_value x,
                       fgi_value index, fgi_value source, fgi_buf *attributes)
{
    const fgi_value all[] = {x, index, source};
    put_head(b, 1, result, "scatter", 3, all);
    if (body != NULL)
        put_scalar_body(b, x.type.dtype, body, "", x.type.dtype);
    else
        put_second(b, x.type.dtype);
    fgi_buf_puts(b->out, "    })");
    put_tail(b, result, 3, all, attributes);
}

/* The sum of x, with the attributes in `text`, which is freed. */
static fgi_value sum(fgi_builder *b, const fg_type *type, const char *name, fgi_value x,
                     fgi_buf *text)
{
    const fgi_value zero = fgi_build_splat(b, &(fg_type){.dtype = type->dtype}, 0);
    const fgi_value r = fgi_build_value(b, type);
    fgi_build_reduction(b, &r, name, "add", x, zero, text);
    return r;
}

fgi_value fgi_build_sum(fgi_builder *b, fgi_value x, int count, const int64_t *axis)
{
    fgi_buf text = {0};
    fg_type type = {.dtype = x.type.dtype};
    int taken = 0;
    for (int i = 0; i < x.type.rank; i++) {
        if (taken < count && axis[taken] == i)
            taken++;
        else
            type.dim[type.rank++] = x.type.dim[i];
    }
    fgi_build_array(&text, "dimensions", count, axis);
    return sum(b, &type, "reduce", x, &text);
}

fgi_value fgi_build_sum_windows(fgi_builder *b, fgi_value x, const int64_t *size)
{
    fgi_buf text = {0};
    fg_type type = x.type;
    bool is_partial = false;
    for (int i = 0; i < type.rank; i++) {
        type.dim[i] = (type.dim[i] + size[i] - 1) / size[i];
        is_partial = is_partial || type.dim[i] * size[i] != x.type.dim[i];
    }
    fgi_build_array(&text, "window_dimensions", type.rank, size);
    fgi_build_array(&text, "window_strides", type.rank, size);
    for (int i = 0; i < type.rank && is_partial; i++)
        fgi_buf_printf(&text, "%s[0, %" PRId64 "]", i == 0 ? ", padding = dense<[" : ", ",
                       type.dim[i] * size[i] - x.type.dim[i]);
    if (is_partial)
        fgi_buf_printf(&text, "]> : tensor<%dx2xi64>", type.rank);
    return sum(b, &type, "reduce_window", x, &text);
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* x < y, or only y is NaN. */
static fgi_value is_before(fgi_builder *b, fgi_value x, fgi_value y)
{
    const fgi_value less = fgi_build_compare(b, "LT", x, y);
    if (!fg_dtype_is_float(x.type.dtype))
        return less;
    const fgi_value x_is = fgi_build_compare(b, "EQ", x, x);
    const fgi_value y_is_not = fgi_build_compare(b, "NE", y, y);
    return fgi_build_binary(b, "or", less, fgi_build_binary(b, "and", x_is, y_is_not));
}

void fgi_build_sort(fgi_builder *b, int count, const fgi_value *results, const fgi_value *in,
                    int axis, bool descending)
{
    fgi_value pairs[2 * FGI_LOOP_STATE_MAX];
    for (int i = 0; i < count; i++)
        pairs[2 * i].type = pairs[2 * i + 1].type = (fg_type){.dtype = in[i].type.dtype};
    put_head(b, count, results, "sort", count, in);
    put_arguments(b, 2 * count, pairs);
    const fgi_value first =
        descending ? is_before(b, pairs[1], pairs[0]) : is_before(b, pairs[0], pairs[1]);
    put_return(b, 1, &first);
    fgi_buf_printf(b->out, "    }) {dimension = %d : i64, is_stable = true} : (", axis);
    put_types(b->out, count, in);
    fgi_buf_puts(b->out, ") -> (");
    put_types(b->out, count, results);
    fgi_buf_putc(b->out, ')');
    fgi_build_end(b);
}

fgi_value fgi_build_order(fgi_builder *b, fgi_value x)
{
    fg_type type = x.type;
    type.dtype = FG_S32;
    const fgi_value all[2] = {x, fgi_build_iota(b, &type, 0)};
    const fgi_value result[2] = {fgi_build_value(b, &x.type), fgi_build_value(b, &type)};
    fgi_build_sort(b, 2, result, all, 0, false);
    return result[1];
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Writes the loop; `argument` and `result` have room for `count` values. */
static void put_while(fgi_builder *b, const fgi_while *loop, int count, fgi_value *state,
                      fgi_value *argument, fgi_value *result)
{
    const size_t size = (size_t)count * sizeof *state;
    for (int i = 0; i < count; i++)
        result[i] = fgi_build_value(b, &state[i].type);
    put_head(b, count, result, "while", count, state);
    memcpy(argument, state, size);
    put_arguments(b, count, argument);
    const fgi_value is_more = loop->condition(b, loop->context, argument);
    put_return(b, 1, &is_more);
    fgi_buf_puts(b->out, "    }, {\n");
    memcpy(argument, state, size);
    put_arguments(b, count, argument);
    loop->body(b, loop->context, argument);
    put_return(b, count, argument);
    fgi_buf_puts(b->out, "    }) : (");
    put_types(b->out, count, result);
    fgi_buf_puts(b->out, ") -> (");
    put_types(b->out, count, result);
    fgi_buf_putc(b->out, ')');
    fgi_build_end(b);
    memcpy(state, result, size);
}

void fgi_build_while(fgi_builder *b, const fgi_while *loop, int count, fgi_value *state)
{
    fgi_value *both = fgi_calloc((size_t)count * 2, sizeof *both);
    if (both == NULL)
        b->out->failed = true;
    else
        put_while(b, loop, count, state, both, both + count);
    fgi_free(both);
}

typedef struct counted {
    int64_t count;
    fgi_loop_body body;
    const void *context;
} counted;

static fgi_value is_below(fgi_builder *b, void *context, const fgi_value *state)
{
    const counted *c = context;
    return fgi_build_compare(b, "LT", state[0], fgi_build_splat(b, &index_type, (double)c->count));
}

static void iterate(fgi_builder *b, void *context, fgi_value *state)
{
    const counted *c = context;
    c->body(b, c->context, state[0], &state[1]);
    state[0] = fgi_build_index(b, "add", state[0], 1);
}

void fgi_build_loop(fgi_builder *b, int64_t count, int state_count, fgi_value *state,
                    fgi_loop_body body, const void *context)
{
    counted c = {count, body, context};
    fgi_value all[1 + FGI_LOOP_STATE_MAX] = {fgi_build_splat(b, &index_type, 0)};
    memcpy(&all[1], state, (size_t)state_count * sizeof *state);
    fgi_build_while(b, &(fgi_while){is_below, iterate, &c}, state_count + 1, all);
    memcpy(state, &all[1], (size_t)state_count * sizeof *state);
}
