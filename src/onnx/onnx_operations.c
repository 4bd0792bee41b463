/* onnx_operations.c - a row for each StableHLO operation: the ONNX nodes that compute it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/print.h"
#include "base/text.h"
#include "onnx/onnx_rule.h"

typedef fgi_onnx_graph graph;
typedef fgi_statement statement;
typedef fgi_onnx_rule rule;

#define FREE_AXIS " of more than one element of an axis whose size is not fixed"

void fgi_onnx_refuse(graph *g, const statement *s, const char *why)
{
    fgi_onnx_fail(g, FG_EUNSUPPORTED, "%s: ONNX export does not support the operation '%s'%s%s",
                  s->place[0] != '\0' ? s->place : "the model", s->name,
                  s->body[0] != '\0' ? " of " : why, s->body[0] != '\0' ? s->body : "");
}

int fgi_onnx_fixed_integers(graph *g, const statement *s, const char *key, int most, int64_t *out)
{
    const int count = fgi_statement_integers(s, key, most, out);
    for (int i = 0; i < count; i++)
        if (fgi_onnx_is_free(g, out[i]))
            fgi_onnx_refuse(g, s, " by a size that is not fixed");
    return count;
}

void fgi_onnx_set_result(graph *g, const statement *s, const char *name)
{
    fgi_onnx_set(g, s->result, name, &s->type, &s->type);
}

const char *fgi_onnx_in_whole(graph *g, const statement *s, int i)
{
    return fgi_onnx_whole(g, s->in[i]);
}

static fgi_onnx_value in(graph *g, const statement *s, int i)
{
    return fgi_onnx_value_at(g, s->in[i]);
}

/* Names the next nodes after the statement. */
static void enter(graph *g, const statement *s)
{
    g->place = s->place[0] != '\0' ? s->place : s->name;
}

/* ---- element-wise operations ----------------------------------------------------------------- */

/* ONNX broadcasts, so only the dimensions that an operand has are stored. */
static void pointwise(graph *g, const statement *s, const rule *row)
{
    const char *name[FGI_STATEMENT_INPUTS];
    fg_type stored = s->type;
    for (int k = 0; k < stored.rank; k++)
        stored.dim[k] = s->type.dim[k] == 0 ? 0 : 1;
    for (int i = 0; i < s->in_count; i++) {
        const fgi_onnx_value v = in(g, s, i);
        name[i] = v.name;
        for (int k = 0; k < stored.rank && v.stored.rank == stored.rank; k++)
            stored.dim[k] = v.stored.dim[k] > stored.dim[k] ? v.stored.dim[k] : stored.dim[k];
    }
    const char *result = fgi_onnx_put(g, row->op_type, s->in_count, name);
    if (row->then != NULL)
        result = fgi_onnx_put(g, row->then, 1, &result);
    fgi_onnx_set(g, s->result, result, &s->type, &stored);
}

/* The second operator is for integers. */
static void logical(graph *g, const statement *s, const rule *row)
{
    const bool is_bool = s->type.dtype == FG_BOOL;
    pointwise(g, s, &(rule){.op_type = is_bool ? row->op_type : row->then});
}

static void compare(graph *g, const statement *s, const rule *unused)
{
    static const rule directions[] = {
        {"EQ", NULL, "Equal", NULL},          {"NE", NULL, "Equal", "Not"},
        {"GE", NULL, "GreaterOrEqual", NULL}, {"GT", NULL, "Greater", NULL},
        {"LE", NULL, "LessOrEqual", NULL},    {"LT", NULL, "Less", NULL},
    };
    const char *direction = strstr(s->attributes, "<comparison_direction ");
    for (size_t i = 0; i < sizeof directions / sizeof directions[0] && direction != NULL; i++)
        if (strncmp(direction + 22, directions[i].name, 2) == 0)
            pointwise(g, s, &directions[i]);
}

static const char *cast(graph *g, const char *x, fg_dtype dtype)
{
    fgi_onnx_node *node = fgi_onnx_add(g, "Cast", 1, &x);
    fgi_onnx_set_integer(g, node, "to", fgi_onnx_dtype(dtype));
    return fgi_onnx_result(node);
}

static const char *integer(graph *g, int64_t value)
{
    return fgi_onnx_constant(g, &(fg_type){.dtype = FG_S64}, &value);
}

static void convert(graph *g, const statement *s, const rule *unused)
{
    fgi_onnx_value v = in(g, s, 0);
    v.stored.dtype = s->type.dtype;
    fgi_onnx_set(g, s->result, cast(g, v.name, s->type.dtype), &s->type, &v.stored);
}

/* op_type(x, 1) before or after another operation: log(1 + x), exp(x) - 1. */
static const char *with_one(graph *g, const statement *s, const char *op_type, const char *x)
{
    double room;
    fgi_number_put(s->type.dtype, &room, 0, 1);
    const char *in[] = {x, fgi_onnx_constant(g, &(fg_type){.dtype = s->type.dtype}, &room)};
    return fgi_onnx_put(g, op_type, 2, in);
}

static void log_plus_one(graph *g, const statement *s, const rule *unused)
{
    const char *sum = with_one(g, s, "Add", fgi_onnx_in_whole(g, s, 0));
    fgi_onnx_set_result(g, s, fgi_onnx_put(g, "Log", 1, &sum));
}

static void exponential_minus_one(graph *g, const statement *s, const rule *unused)
{
    const char *x = fgi_onnx_in_whole(g, s, 0);
    fgi_onnx_set_result(g, s, with_one(g, s, "Sub", fgi_onnx_put(g, "Exp", 1, &x)));
}

static void custom_call(graph *g, const statement *s, const rule *unused)
{
    static const rule erf = {"erf", pointwise, "Erf", NULL};
    const char *target = fgi_statement_value(s, "call_target_name");
    if (target != NULL && strncmp(target, "\"mhlo.erf\"", 10) == 0)
        pointwise(g, s, &erf);
    else
        fgi_onnx_refuse(g, s, "");
}

/* ---- constants ------------------------------------------------------------------------------- */

static int digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

/* dense<"0x0123..."> */
static void dense(graph *g, const statement *s, const char *hex)
{
    const size_t size = fg_type_bytes(&s->type);
    unsigned char *data = fgi_arena_alloc(&g->arena, size + 1);
    if (data == NULL || strspn(hex, "0123456789ABCDEFabcdef") < 2 * size) {
        fgi_onnx_fail(g, data == NULL ? FG_ENOMEM : FG_EINTERNAL, "constant of %zu bytes", size);
        return;
    }
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    fgi_onnx_set_result(g, s, fgi_onnx_constant(g, &s->type, data));
}

/* A size that is not fixed, as a tensor with one element. */
static const char *free_number(graph *g, int64_t size, const fg_type *one)
{
    const char *in[] = {fgi_onnx_shape(g, 1, &size), fgi_onnx_integers(g, one->rank, one->dim)};
    return cast(g, fgi_onnx_put(g, "Reshape", 2, in), one->dtype);
}

/* Whether the number that a constant repeats is such a size, as that of a loop's iterations. */
static bool is_free_number(const graph *g, const statement *s, const char *text)
{
    return !fg_dtype_is_float(s->type.dtype) && fgi_onnx_is_free(g, strtoll(text, NULL, 10));
}

/* dense<1.5>: stored as one element. */
static void constant(graph *g, const statement *s, const rule *unused)
{
    const char *text = fgi_statement_value(s, "value");
    fg_type one = s->type;
    double room = 0;
    text = text != NULL ? text + 6 : "";
    if (*text == '"') {
        dense(g, s, text + 3);
        return;
    }
    for (int i = 0; i < one.rank; i++)
        one.dim[i] = 1;
    if (is_free_number(g, s, text)) {
        const char *number = free_number(g, strtoll(text, NULL, 10), &one);
        fgi_onnx_set(g, s->result, number, &s->type, &one);
        return;
    }
    if (strncmp(text, "0x", 2) == 0) {
        const uint64_t bits = strtoull(text, NULL, 16);
        memcpy(&room, &bits, sizeof bits);
    } else {
        fgi_number_put(one.dtype, &room, 0,
                       *text == 't'   ? 1
                       : *text == 'f' ? 0
                                      : fgi_strtod(text, NULL));
    }
    fgi_onnx_set(g, s->result, fgi_onnx_constant(g, &one, &room), &s->type, &one);
}

/* 0, 1 ... along an axis that is free. */
static void free_iota(graph *g, const statement *s, int64_t axis, const fg_type *line)
{
    const fg_type scalar = {.dtype = FG_S64};
    int64_t others[FG_MAX_RANK];
    int count = 0;
    for (int i = 0; i < line->rank; i++)
        if (i != axis)
            others[count++] = i;
    const char *ends[] = {integer(g, 0), free_number(g, s->type.dim[axis], &scalar), integer(g, 1)};
    const char *in[] = {cast(g, fgi_onnx_put(g, "Range", 3, ends), s->type.dtype),
                        fgi_onnx_integers(g, count, others)};
    const char *name = count > 0 ? fgi_onnx_put(g, "Unsqueeze", 2, in) : in[0];
    fgi_onnx_set(g, s->result, name, &s->type, line);
}

static void iota(graph *g, const statement *s, const rule *unused)
{
    int64_t axis = 0;
    fg_type line = s->type;
    (void)fgi_statement_integers(s, "iota_dimension", 1, &axis);
    const int64_t count = s->type.dim[axis];
    for (int i = 0; i < line.rank; i++)
        line.dim[i] = i == axis ? count : 1;
    if (fgi_onnx_is_free(g, count)) {
        free_iota(g, s, axis, &line);
        return;
    }
    double *data = fgi_arena_alloc(&g->arena, (size_t)(count + 1) * sizeof *data);
    if (data == NULL)
        fgi_onnx_fail(g, FG_ENOMEM, "out of memory");
    for (int64_t i = 0; i < count && data != NULL; i++)
        fgi_number_put(s->type.dtype, data, (size_t)i, (double)i);
    if (data != NULL)
        fgi_onnx_set(g, s->result, fgi_onnx_constant(g, &line, data), &s->type, &line);
}

/* ---- operations that move elements ----------------------------------------------------------- */

static void broadcast(graph *g, const statement *s, const rule *unused)
{
    int64_t axis[FG_MAX_RANK], added[FG_MAX_RANK];
    const fgi_onnx_value x = in(g, s, 0);
    const int rank = fgi_statement_integers(s, "broadcast_dimensions", FG_MAX_RANK, axis);
    fg_type stored = s->type;
    int added_count = 0;
    for (int i = 0, k = 0; i < s->type.rank; i++) {
        const bool is_given = k < rank && axis[k] == i;
        stored.dim[i] = is_given ? x.stored.dim[k++] : 1;
        if (!is_given)
            added[added_count++] = i;
    }
    if (added_count + rank != s->type.rank || rank != x.type.rank) {
        fgi_onnx_refuse(g, s, " with its dimensions in another order");
        return;
    }
    const char *name = x.name;
    if (added_count > 0)
        name = fgi_onnx_put(g, "Unsqueeze", 2,
                            (const char *[]){name, fgi_onnx_integers(g, added_count, added)});
    fgi_onnx_set(g, s->result, name, &s->type, &stored);
}

static void reshape(graph *g, const statement *s, const rule *unused)
{
    int64_t dim[FG_MAX_RANK];
    int count = 0;
    for (int i = 0; i < s->type.rank; i++) {
        const bool is_free = fgi_onnx_is_free(g, s->type.dim[i]);
        count += is_free ? 1 : 0;
        dim[i] = is_free ? -1 : s->type.dim[i];
    }
    const char *shape = count > 1 ? fgi_onnx_shape(g, s->type.rank, s->type.dim)
                                  : fgi_onnx_integers(g, s->type.rank, dim);
    fgi_onnx_set_result(
        g, s, fgi_onnx_put(g, "Reshape", 2, (const char *[]){fgi_onnx_in_whole(g, s, 0), shape}));
}

static void transpose(graph *g, const statement *s, const rule *unused)
{
    int64_t order[FG_MAX_RANK] = {0};
    const fgi_onnx_value x = in(g, s, 0);
    const int rank = fgi_statement_integers(s, "permutation", FG_MAX_RANK, order);
    fg_type stored = s->type;
    for (int i = 0; i < rank; i++)
        stored.dim[i] = x.stored.dim[order[i]];
    fgi_onnx_set(g, s->result, fgi_onnx_transpose(g, x.name, rank, order), &s->type, &stored);
}

static void concatenate(graph *g, const statement *s, const rule *unused)
{
    const char *name[FGI_STATEMENT_INPUTS];
    int64_t axis = 0;
    (void)fgi_statement_integers(s, "dimension", 1, &axis);
    for (int i = 0; i < s->in_count; i++)
        name[i] = fgi_onnx_in_whole(g, s, i);
    fgi_onnx_node *node = fgi_onnx_add(g, "Concat", s->in_count, name);
    fgi_onnx_set_integer(g, node, "axis", axis);
    fgi_onnx_set_result(g, s, fgi_onnx_result(node));
}

static const char *slice_of(graph *g, const char *x, int count, int64_t *const part[4])
{
    const char *in[5] = {x}; /* x, start, end, axis, step */
    for (int i = 0; i < 4; i++)
        in[1 + i] = fgi_onnx_integers(g, count, part[i]);
    return count > 0 ? fgi_onnx_put(g, "Slice", 5, in) : x;
}

static void slice(graph *g, const statement *s, const rule *unused)
{
    int64_t start[FG_MAX_RANK], end[FG_MAX_RANK], axis[FG_MAX_RANK], step[FG_MAX_RANK];
    int count = 0;
    (void)fgi_statement_integers(s, "start_indices", FG_MAX_RANK, start);
    (void)fgi_statement_integers(s, "limit_indices", FG_MAX_RANK, end);
    (void)fgi_statement_integers(s, "strides", FG_MAX_RANK, step);
    for (int i = 0; i < s->type.rank; i++) { /* those that are not taken whole */
        if (s->type.dim[i] == s->in_type[0].dim[i])
            continue;
        if (fgi_onnx_is_free(g, s->in_type[0].dim[i]) && (start[i] != 0 || end[i] != 1))
            fgi_onnx_refuse(g, s, FREE_AXIS);
        start[count] = start[i];
        end[count] = end[i];
        step[count] = step[i];
        axis[count++] = i;
    }
    fgi_onnx_set_result(
        g, s,
        slice_of(g, fgi_onnx_in_whole(g, s, 0), count, (int64_t *[]){start, end, axis, step}));
}

const char *fgi_onnx_reverse(graph *g, const char *x, int count, int64_t *axis)
{
    int64_t start[FG_MAX_RANK], end[FG_MAX_RANK], step[FG_MAX_RANK];
    for (int i = 0; i < count; i++) {
        start[i] = -1;
        end[i] = INT64_MIN;
        step[i] = -1;
    }
    return slice_of(g, x, count, (int64_t *[]){start, end, axis, step});
}

static void reverse(graph *g, const statement *s, const rule *unused)
{
    int64_t axis[FG_MAX_RANK];
    const int count = fgi_statement_integers(s, "dimensions", FG_MAX_RANK, axis);
    fgi_onnx_set_result(g, s, fgi_onnx_reverse(g, fgi_onnx_in_whole(g, s, 0), count, axis));
}

static void pad(graph *g, const statement *s, const rule *unused)
{
    int64_t amount[2 * FG_MAX_RANK], gap[FG_MAX_RANK];
    const int rank = fgi_onnx_fixed_integers(g, s, "edge_padding_low", FG_MAX_RANK, amount);
    (void)fgi_onnx_fixed_integers(g, s, "edge_padding_high", FG_MAX_RANK, amount + rank);
    (void)fgi_onnx_fixed_integers(g, s, "interior_padding", FG_MAX_RANK, gap);
    for (int i = 0; i < rank; i++)
        if (gap[i] != 0)
            fgi_onnx_refuse(g, s, " between elements");
    const char *in[] = {fgi_onnx_in_whole(g, s, 0), fgi_onnx_integers(g, 2 * rank, amount),
                        fgi_onnx_in_whole(g, s, 1)};
    fgi_onnx_set_result(g, s, fgi_onnx_put(g, "Pad", 3, in));
}

/* ---- blocks at computed places --------------------------------------------------------------- */

/* A block of an array: where it begins and ends along the axes along which it is not whole. */
typedef struct block {
    int count;
    int64_t axis[FG_MAX_RANK];
    const char *start[FG_MAX_RANK], *end[FG_MAX_RANK]; /* s64[1] */
} block;

/* The last place where a block of `size` can begin along an axis. */
static const char *last_start(graph *g, const statement *s, int64_t dim, int64_t size)
{
    if (!fgi_onnx_is_free(g, dim))
        return integer(g, dim - size);
    if (size != 1)
        fgi_onnx_refuse(g, s, FREE_AXIS);
    const char *in[] = {free_number(g, dim, &(fg_type){.dtype = FG_S64}), integer(g, size)};
    return fgi_onnx_put(g, "Sub", 2, in);
}

/* A block of `size` from the scalars start[dimension], moved into the bounds as StableHLO says. */
static block read_block(graph *g, const statement *s, const fg_type *size, const char *const *start)
{
    const char *one = fgi_onnx_integers(g, 1, (int64_t[]){1});
    block b = {.count = 0};
    for (int i = 0; i < size->rank; i++) {
        if (size->dim[i] == s->in_type[0].dim[i])
            continue;
        const char *most = last_start(g, s, s->in_type[0].dim[i], size->dim[i]);
        const char *moved[] = {cast(g, start[i], FG_S64), integer(g, 0), most};
        const char *at[] = {fgi_onnx_put(g, "Clip", 3, moved), one};
        const char *first[] = {fgi_onnx_put(g, "Reshape", 2, at),
                               fgi_onnx_integers(g, 1, &size->dim[i])};
        b.start[b.count] = first[0];
        b.end[b.count] = fgi_onnx_put(g, "Add", 2, first);
        b.axis[b.count++] = i;
    }
    return b;
}

static const char *cut(graph *g, const char *x, const char *start, const char *end, int64_t axis)
{
    const char *in[] = {x, start, end, fgi_onnx_integers(g, 1, &axis)};
    return fgi_onnx_put(g, "Slice", 4, in);
}

static void put_block(graph *g, const statement *s, const char *const *start)
{
    const block b = read_block(g, s, &s->type, start);
    const char *x = fgi_onnx_in_whole(g, s, 0);
    for (int i = 0; i < b.count; i++)
        x = cut(g, x, b.start[i], b.end[i], b.axis[i]);
    fgi_onnx_set_result(g, s, x);
}

static void dynamic_slice(graph *g, const statement *s, const rule *unused)
{
    const char *start[FG_MAX_RANK] = {NULL};
    for (int i = 0; i < s->type.rank; i++)
        start[i] = fgi_onnx_in_whole(g, s, 1 + i);
    put_block(g, s, start);
}

/* x with the block y: what is before it along an axis, x with the block along the others, and what
 * is after it. */
static const char *with_block(graph *g, const char *x, const char *y, const block *b, int i)
{
    if (i == b->count)
        return y;
    const char *start = b->start[i], *end = b->end[i];
    const char *from = fgi_onnx_integers(g, 1, (int64_t[]){0}),
               *to = fgi_onnx_integers(g, 1, (int64_t[]){INT64_MAX});
    const char *within = i + 1 < b->count ? cut(g, x, start, end, b->axis[i]) : x;
    const char *part[] = {cut(g, x, from, start, b->axis[i]), with_block(g, within, y, b, i + 1),
                          cut(g, x, end, to, b->axis[i])};
    fgi_onnx_node *node = fgi_onnx_add(g, "Concat", 3, part);
    fgi_onnx_set_integer(g, node, "axis", b->axis[i]);
    return fgi_onnx_result(node);
}

/* x with one row, of which ONNX Runtime copies less. */
static const char *with_row(graph *g, const char *x, const char *row, const char *start)
{
    const char *at[] = {start, fgi_onnx_integers(g, 2, (int64_t[]){1, 1})};
    const char *in[] = {x, fgi_onnx_put(g, "Reshape", 2, at), row};
    return fgi_onnx_put(g, "ScatterND", 3, in);
}

static void dynamic_update_slice(graph *g, const statement *s, const rule *unused)
{
    const char *start[FG_MAX_RANK] = {NULL};
    for (int i = 0; i < s->type.rank; i++)
        start[i] = fgi_onnx_in_whole(g, s, 2 + i);
    const block b = read_block(g, s, &s->in_type[1], start);
    const char *x = fgi_onnx_in_whole(g, s, 0), *y = fgi_onnx_in_whole(g, s, 1);
    const bool is_row = b.count == 1 && b.axis[0] == 0 && s->in_type[1].dim[0] == 1;
    fgi_onnx_set_result(g, s, is_row ? with_row(g, x, y, b.start[0]) : with_block(g, x, y, &b, 0));
}

/* Rows of one axis, for each index: those of an embedding. */
static void gather_rows(graph *g, const statement *s)
{
    const fg_type *x = &s->in_type[0], *index = &s->in_type[1];
    int64_t axis = -1, map = -1, vector = -1, offset[FG_MAX_RANK], size[FG_MAX_RANK];
    const int collapsed = fgi_statement_integers(s, "collapsed_slice_dims", 1, &axis);
    const int mapped = fgi_statement_integers(s, "start_index_map", 1, &map);
    const int offsets = fgi_statement_integers(s, "offset_dims", FG_MAX_RANK, offset);
    (void)fgi_statement_integers(s, "index_vector_dim", 1, &vector);
    (void)fgi_statement_integers(s, "slice_sizes", FG_MAX_RANK, size);
    bool is_rows = collapsed == 1 && mapped == 1 && axis == map && offsets == x->rank - 1 &&
                   vector == index->rank;
    for (int i = 0, k = 0; i < x->rank && is_rows; i++)
        if (i != axis)
            is_rows = size[i] == x->dim[i] && offset[k++] == (i < axis ? i : i - 1 + index->rank);
    if (!is_rows) {
        fgi_onnx_refuse(g, s, " of single elements");
        return;
    }
    fgi_onnx_node *node = fgi_onnx_add(
        g, "Gather", 2, (const char *[]){fgi_onnx_in_whole(g, s, 0), fgi_onnx_in_whole(g, s, 1)});
    fgi_onnx_set_integer(g, node, "axis", axis);
    fgi_onnx_set_result(g, s, fgi_onnx_result(node));
}

/* One block, whose start is a vector, or rows. */
static void gather(graph *g, const statement *s, const rule *unused)
{
    const fg_type *x = &s->in_type[0], *index = &s->in_type[1];
    const char *start[FG_MAX_RANK] = {NULL};
    int64_t map[FG_MAX_RANK];
    const int count = fgi_statement_integers(s, "start_index_map", FG_MAX_RANK, map);
    if (index->rank != 1 || index->dim[0] != x->rank || s->type.rank != x->rank ||
        count != x->rank) {
        gather_rows(g, s);
        return;
    }
    for (int i = 0; i < x->rank; i++)
        start[map[i]] = fgi_onnx_put(g, "Gather", 2,
                                     (const char *[]){fgi_onnx_in_whole(g, s, 1), integer(g, i)});
    put_block(g, s, start);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void put_statements(graph *g, const char *at, statement *last);

/* Translates a region with these arguments; *last is its return. */
static void put_region(graph *g, const char *at, int count, const fgi_onnx_value *argument,
                       statement *last)
{
    (void)fgi_statement_next(&at, last);
    for (int i = 0; i < count; i++)
        fgi_onnx_set(g, last->result + (uint32_t)i, argument[i].name, &argument[i].type,
                     &argument[i].stored);
    put_statements(g, at, last);
}

/* Which arguments of a region it returns as they are. */
static void find_constant(const char *at, int count, bool *out)
{
    statement s;
    (void)fgi_statement_next(&at, &s);
    const uint32_t first = s.result;
    while (strcmp(s.name, "return") != 0 && fgi_statement_next(&at, &s)) {
    }
    for (int i = 0; i < count; i++)
        out[i] = i < s.in_count && s.in[i] == first + (uint32_t)i;
}

/* The inputs of the body, for the arguments that change: after the number of the iteration and
 * whether there is another one. */
static void begin_body(graph *g, int count, const bool *is_constant, fgi_onnx_value *value)
{
    (void)fgi_onnx_add_input(g, NULL, &(fg_type){.dtype = FG_S64});
    (void)fgi_onnx_add_input(g, NULL, &(fg_type){.dtype = FG_BOOL});
    for (int i = 0; i < count; i++)
        if (!is_constant[i]) {
            value[i].stored = value[i].type;
            value[i].name = fgi_onnx_add_input(g, NULL, &value[i].type);
        }
}

/* An iteration, which ends with the condition for the next one. */
static void put_body(graph *g, const statement *s, const bool *is_constant, fgi_onnx_value *value)
{
    statement last;
    begin_body(g, s->in_count, is_constant, value);
    put_region(g, s->region[1], s->in_count, value, &last);
    for (int i = 0; i < s->in_count; i++)
        if (!is_constant[i])
            value[i].name = fgi_onnx_in_whole(g, &last, i);
    put_region(g, s->region[0], s->in_count, value, &last);
    fgi_onnx_add_output(g, NULL, fgi_onnx_in_whole(g, &last, 0), &(fg_type){.dtype = FG_BOOL});
    for (int i = 0; i < s->in_count; i++)
        if (!is_constant[i])
            fgi_onnx_add_output(g, NULL, value[i].name, &value[i].type);
}

/* ONNX's loop has the condition before the first iteration as an input. */
static void loop(graph *g, const statement *s, const rule *unused)
{
    fgi_onnx_value value[FGI_STATEMENT_INPUTS];
    bool is_constant[FGI_STATEMENT_INPUTS] = {false};
    const char *init[2 + FGI_STATEMENT_INPUTS] = {""}; /* no limit of iterations */
    int count = 2;
    statement last;
    fgi_onnx_body body;
    find_constant(s->region[1], s->in_count, is_constant);
    for (int i = 0; i < s->in_count; i++)
        value[i] = in(g, s, i);
    put_region(g, s->region[0], s->in_count, value, &last);
    init[1] = fgi_onnx_in_whole(g, &last, 0);
    for (int i = 0; i < s->in_count; i++)
        if (!is_constant[i])
            init[count++] = fgi_onnx_in_whole(g, s, i);
    fgi_onnx_begin_loop(g, &body);
    put_body(g, s, is_constant, value);
    enter(g, s);
    const fgi_onnx_node *node = fgi_onnx_end_loop(g, count, init);
    for (int i = 0, k = 0; i < s->in_count && node != NULL; i++) {
        value[i].name = is_constant[i] ? value[i].name : node->output[k++];
        fgi_onnx_set(g, s->result + (uint32_t)i, value[i].name, &value[i].type, &value[i].stored);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rule rules[] = {
    {"abs", pointwise, "Abs", NULL},
    {"add", pointwise, "Add", NULL},
    {"and", logical, "And", "BitwiseAnd"},
    {"broadcast_in_dim", broadcast, NULL, NULL},
    {"ceil", pointwise, "Ceil", NULL},
    {"compare", compare, NULL, NULL},
    {"concatenate", concatenate, NULL, NULL},
    {"constant", constant, NULL, NULL},
    {"convert", convert, NULL, NULL},
    {"convolution", fgi_onnx_convolve, NULL, NULL},
    {"cosine", pointwise, "Cos", NULL},
    {"custom_call", custom_call, NULL, NULL},
    {"divide", pointwise, "Div", NULL},
    {"dot_general", fgi_onnx_dot_general, NULL, NULL},
    {"dynamic_slice", dynamic_slice, NULL, NULL},
    {"dynamic_update_slice", dynamic_update_slice, NULL, NULL},
    {"exponential", pointwise, "Exp", NULL},
    {"exponential_minus_one", exponential_minus_one, NULL, NULL},
    {"floor", pointwise, "Floor", NULL},
    {"gather", gather, NULL, NULL},
    {"iota", iota, NULL, NULL},
    {"log", pointwise, "Log", NULL},
    {"log_plus_one", log_plus_one, NULL, NULL},
    {"logistic", pointwise, "Sigmoid", NULL},
    {"maximum", pointwise, "Max", NULL},
    {"minimum", pointwise, "Min", NULL},
    {"multiply", pointwise, "Mul", NULL},
    {"negate", pointwise, "Neg", NULL},
    {"not", logical, "Not", "BitwiseNot"},
    {"or", logical, "Or", "BitwiseOr"},
    {"pad", pad, NULL, NULL},
    {"power", pointwise, "Pow", NULL},
    {"reduce", fgi_onnx_reduce, NULL, NULL},
    {"reduce_window", fgi_onnx_reduce_window, NULL, NULL},
    {"reshape", reshape, NULL, NULL},
    {"reverse", reverse, NULL, NULL},
    {"round_nearest_even", pointwise, "Round", NULL},
    {"rsqrt", pointwise, "Sqrt", "Reciprocal"},
    {"select", pointwise, "Where", NULL},
    {"sign", pointwise, "Sign", NULL},
    {"sine", pointwise, "Sin", NULL},
    {"slice", slice, NULL, NULL},
    {"sqrt", pointwise, "Sqrt", NULL},
    {"subtract", pointwise, "Sub", NULL},
    {"tanh", pointwise, "Tanh", NULL},
    {"transpose", transpose, NULL, NULL},
    {"while", loop, NULL, NULL},
    {"xor", logical, "Xor", "BitwiseXor"},
};

static void put_statement(graph *g, const statement *s)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(s->name, rules[i].name) == 0) {
            enter(g, s);
            rules[i].put(g, s, &rules[i]);
            return;
        }
    fgi_onnx_refuse(g, s, "");
}

static void put_statements(graph *g, const char *at, statement *last)
{
    do {
        if (!fgi_statement_next(&at, last))
            fgi_onnx_refuse(g, last, "");
        else if (strcmp(last->name, "return") != 0)
            put_statement(g, last);
    } while (g->status == FG_OK && strcmp(last->name, "return") != 0);
}

fg_status fgi_onnx_write(const char *path, const fgi_onnx_model *model, size_t *out_data_bytes,
                         fg_error *err)
{
    graph g;
    statement last = {.name = ""};
    fgi_onnx_graph_init(&g, err);
    g.has_length = model->other_text != NULL;
    if (g.has_length && !fgi_statements_agree(model->text, FGI_ONNX_LENGTH, model->other_text,
                                              FGI_ONNX_OTHER_LENGTH))
        fgi_onnx_fail(
            &g, FG_EUNSUPPORTED,
            "the input dimension of -1 must be fixed for ONNX export: the program depends "
            "on it by more than shapes, positions and the number of iterations");
    const char *at = strstr(model->text, "@main(");
    at = at != NULL ? strchr(at, '\n') : NULL;
    if (at == NULL)
        fgi_onnx_fail(&g, FG_EINTERNAL, "the program has no function @main");
    for (size_t i = 0; i < model->argument_count; i++)
        fgi_onnx_add_argument(&g, (uint32_t)i, &model->arguments[i]);
    if (at != NULL)
        put_statements(&g, at, &last);
    if (last.in_count != 1)
        fgi_onnx_refuse(&g, &last, " of several results");
    fg_status status = g.status;
    if (status == FG_OK)
        status = fgi_onnx_save(&g, last.in[0], path, model, out_data_bytes);
    fgi_onnx_graph_fini(&g);
    return status;
}
