/* reduce_cpu.c - sums over leading dimensions for XLA's CPU backend.
 *
 * The backend adds up the rows of a tall matrix column after column, on one thread: 29 ms for
 * 131,072 rows of 64 numbers. Sixteen rows at a time, many of these beside each other, it takes
 * 1.5 ms. A barrier keeps it from joining the stages again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/parts.h"

enum { ROWS = 16, LEAST_ROWS = 4, WIDE = 16, WIDE_ELEMENTS = 1024, LEAST_ELEMENTS = 1 << 15 };

/* The largest divisor of n that is at most `most`. */
static int64_t divisor(int64_t n, int64_t most)
{
    for (int64_t d = most < n ? most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

/* a [lead, rows, columns] with fewer rows: each is the sum of some. */
static fgi_part add_rows(fgi_emit *e, fgi_part a, int64_t rows)
{
    const int64_t *d = a.type.dim, lead = d[0], left = d[1] / rows, columns = d[2];
    const int64_t most =
        columns > 0 && WIDE_ELEMENTS / columns > WIDE ? WIDE_ELEMENTS / columns : WIDE;
    const int64_t wide = divisor(left, most);
    a = fgi_part_reshape(e, a, 4, (int64_t[]){lead, left / wide, rows, wide * columns});
    a = fgi_part_barrier(e, fgi_part_sum(e, a, 1, (const int64_t[]){2}));
    return fgi_part_reshape(e, a, 3, (int64_t[]){lead, left, columns});
}

/* Elements of the dimensions behind the first that are summed over, on each device. */
static int64_t rows_of(const fgi_emit *e, const fg_type *a, int count)
{
    int64_t rows = 1;
    if (count == 1)
        return a->dim[0] % e->data_devices == 0 ? a->dim[0] / e->data_devices : a->dim[0];
    for (int i = 1; i < count; i++)
        rows *= a->dim[i];
    return rows;
}

/* a as [lead, rows, columns], whose first dimension is split over devices as a's is. */
static fgi_part as_rows(fgi_emit *e, fgi_part a, int count)
{
    const int64_t rows = rows_of(e, &a.type, count);
    int64_t lead = count == 1 ? a.type.dim[0] / rows : a.type.dim[0], columns = 1;
    for (int i = count; i < a.type.rank; i++)
        columns *= a.type.dim[i];
    return fgi_part_reshape(e, a, 3, (int64_t[]){lead, rows, columns});
}

bool fgi_sum_has_stages(const fgi_emit *e, const fg_type *a, int count)
{
    return fgi_emit_has(e, FGI_LOWER_SUMS) && fg_type_count(a) >= LEAST_ELEMENTS &&
           divisor(rows_of(e, a, count), ROWS) >= LEAST_ROWS;
}

fgi_part fgi_part_sum_leading(fgi_emit *e, fgi_part a, int count)
{
    static const int64_t axes[FG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int rank = a.type.rank;
    int64_t kept[FG_MAX_RANK] = {0};
    for (int i = count; i < rank; i++)
        kept[i - count] = a.type.dim[i];
    if (!fgi_sum_has_stages(e, &a.type, count))
        return fgi_part_sum(e, a, count, axes);
    fgi_part r = as_rows(e, a, count);
    for (int64_t rows = 0; fg_type_count(&r.type) >= LEAST_ELEMENTS &&
                           (rows = divisor(r.type.dim[1], ROWS)) >= LEAST_ROWS;)
        r = add_rows(e, r, rows);
    r = fgi_part_sum(e, r, 2, axes);
    return rank - count == 1 ? r : fgi_part_reshape(e, r, rank - count, kept);
}
