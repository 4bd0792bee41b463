/* reduce_cpu.c - sums over leading dimensions for XLA's CPU backend.
 *
 * The backend adds up the rows of a tall matrix column after column: 29 ms for 131,072 rows of 64
 * numbers. Adding blocks of sixteen rows, many of them side by side, takes 1.5 ms, including the
 * computation of the rows. But the backend merges a sum with the sum of its results, and then
 * processes columns again; barriers have been removed by then. It never merges sums over windows,
 * so the stages after the first are such sums. It widens bf16 one number at a time: a kernel adds
 * up what is in memory in bf16.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "op/kernel_call.h"
#include "op/lowerings.h"
#include "op/op.h"
#include "op/reduce.h"

static const char rule[] = "staged-sum";

enum { ROWS = 16, LEAST_ROWS = 4, WIDE = 16, WIDE_ELEMENTS = 1024, LEAST_ELEMENTS = 1 << 15 };

/* The largest divisor of n that is at most `most`. */
static int64_t divisor(int64_t n, int64_t most)
{
    for (int64_t d = most < n ? most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

/* How many rows the first stage adds up at a time, so that the second stage has some left. */
static int64_t first_rows(int64_t rows) { return divisor(rows, rows / 2 < ROWS ? rows / 2 : ROWS); }

/* The type of a viewed as [lead, rows, columns]. The first dimension is sharded as a's is: it is
 * that of a, or, if too few rows remain, the number of devices. */
static fg_type as_rows(const fgi_emit *e, const fg_type *a, int count)
{
    fg_type r = {a->dtype, 3, {a->dim[0], 1, 1}};
    for (int i = 1; i < a->rank; i++)
        r.dim[i < count ? 1 : 2] *= a->dim[i];
    if (first_rows(r.dim[1]) < LEAST_ROWS) {
        const int64_t lead = a->dim[0] % e->batch_shards == 0 ? e->batch_shards : 1;
        r.dim[1] *= a->dim[0] / lead;
        r.dim[0] = lead;
    }
    return r;
}

/* a [lead, rows, columns] with fewer rows: each is the sum of `rows` rows. */
static fgi_value add_rows(fgi_builder *b, fgi_value a, int64_t rows)
{
    const int64_t *d = a.type.dim, lead = d[0], left = d[1] / rows, columns = d[2];
    const int64_t most =
        columns > 0 && WIDE_ELEMENTS / columns > WIDE ? WIDE_ELEMENTS / columns : WIDE;
    const int64_t wide = divisor(left, most);
    a = fgi_build_reshape(b, a, 4, (int64_t[]){lead, left / wide, rows, wide * columns});
    a = fgi_build_sum(b, a, 1, (const int64_t[]){2});
    return fgi_build_reshape(b, a, 3, (int64_t[]){lead, left, columns});
}

static bool has_stages(const fgi_emit *e, const fg_type *a, int count)
{
    return fg_type_count(a) >= LEAST_ELEMENTS &&
           first_rows(as_rows(e, a, count).dim[1]) >= LEAST_ROWS;
}

static const int64_t axes[FG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};

/* How many rows a window of a later stage has: without one, all stages would be merged. */
static int64_t window_rows(int64_t rows)
{
    const int64_t even = divisor(rows, ROWS);
    return even >= LEAST_ROWS || rows <= ROWS ? even : ROWS;
}

/* Sums over the first `count` axes in stages. */
static fgi_value sum_in_stages(const fgi_emit *e, fgi_builder *b, fgi_value a, int count)
{
    const int rank = a.type.rank;
    const fg_type matrix = as_rows(e, &a.type, count);
    fgi_value r = fgi_build_reshape(b, a, 3, matrix.dim);
    r = add_rows(b, r, first_rows(matrix.dim[1]));
    do {
        r = fgi_build_sum_windows(b, r, (int64_t[]){1, window_rows(r.type.dim[1]), 1});
    } while (fg_type_count(&r.type) >= LEAST_ELEMENTS && window_rows(r.type.dim[1]) >= LEAST_ROWS);
    r = fgi_build_sum(b, r, 2, axes);
    return rank - count == 1 ? r : fgi_build_reshape(b, r, rank - count, &a.type.dim[count]);
}

fgi_value fgi_sum_leading_cpu(const fgi_emit *e, fgi_builder *b, fgi_value a, int count)
{
    if (!fgi_rule_is_on(e->client, rule) || !has_stages(e, &a.type, count))
        return fgi_build_sum(b, a, count, axes);
    return sum_in_stages(e, b, a, count);
}

static bool is_leading(const fgi_emit *e)
{
    const fgi_reduce_attr *attr = e->node->attr;
    for (int i = 0; i < attr->count; i++)
        if (attr->axis[i] != i)
            return false;
    return has_stages(e, &e->node->in[0]->type, (int)attr->count);
}

static void emit_sum(fgi_emit *e)
{
    const fgi_reduce_attr *attr = e->node->attr;
    fgi_emit_become(e, sum_in_stages(e, &e->b, fgi_emit_in(e, 0), (int)attr->count));
}

const fgi_lowering fgi_sum_stages_cpu = {
    .op = &fgi_sum_op, .platform = FGI_CPU, .rule = rule, .applies = is_leading, .emit = emit_sum};

/* ---- kernel ---------------------------------------------------------------------------------- */

/* Of all axes but the last one of what was widened from bf16. */
static bool is_widened(const fgi_emit *e)
{
    const fgi_node *in = e->node->in[0]->first;
    const fgi_reduce_attr *attr = e->node->attr;
    return in->op == &fgi_cast_op && in->region == e->node->region &&
           in->in[0]->type.dtype == FG_BF16 && in->type.dtype == FG_F32 &&
           fgi_client_has_kernels(e->client) && fgi_client_has_shards(e->client, in->type.dim[0]) &&
           attr->count == in->type.rank - 1 && is_leading(e);
}

static void call_columns(fgi_emit *e, const fgi_value *in, fgi_value *out)
{
    const int64_t columns = in->type.dim[in->type.rank - 1];
    const int64_t memory =
        fgi_kernel_column_sums_memory(fg_type_count(&in->type) / columns, columns);
    *out = fgi_build_value(&e->b, &out->type);
    const fgi_value all[] = {*out, fgi_build_value(&e->b, &(fg_type){FG_F32, 1, {memory}})};
    fgi_emit_kernel(e, &(fgi_kernel_call){FGI_KERNEL_COLUMN_SUMS, 1, 2, in, all, 0, NULL});
}

static void emit_columns(fgi_emit *e)
{
    static const fgi_shard_kind by_rows = FGI_BY_ROWS, sum = FGI_SUM_OF_PARTS;
    const fgi_node *from = e->node->in[0]->first->in[0]->first;
    const fgi_value x = {e->value[from->id], from->type};
    const fgi_shard_call call = {1, 1, &x, &by_rows, &e->node->type, &sum};
    fgi_value y;
    fgi_emit_each_shard(e, &call, call_columns, &y);
    fgi_emit_become(e, y);
}

const fgi_lowering fgi_sum_columns_cpu = {.op = &fgi_sum_op,
                                          .platform = FGI_CPU,
                                          .rule = "sum-kernel",
                                          .applies = is_widened,
                                          .emit = emit_columns};
