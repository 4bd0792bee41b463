/* rows.c - which dimensions of a value have the rows of a batch: the rules that operations share.
 *
 * The last batch of an epoch is padded. For each operation, a rule similar to the shape rule
 * determines which dimension of the result runs over the batch; src/op/padding.c defines where rows
 * are introduced and where they end. An operation that cannot determine which rows its result
 * belongs to is an error, because padding rows could affect training or metrics.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

bool fgi_rows_join(fgi_infer *c, int axis, int64_t step)
{
    int64_t *have = &c->rows.step[axis];
    if (step != 0 && *have != 0 && *have != step)
        return fgi_infer_fail(c, FG_EINVAL,
                              "along axis %d the operands have the samples of the batch in "
                              "different orders\npermute one of them so that the order is the same "
                              "before you merge the batch axis with another axis",
                              axis);
    if (step != 0)
        *have = step;
    return true;
}

bool fgi_rows_pointwise(fgi_infer *c)
{
    for (int i = 0; i < c->arity; i++)
        for (int d = 0; c->in_rows[i] != NULL && d < c->out.rank; d++)
            if (!fgi_rows_join(c, d, c->in_rows[i]->step[d]))
                return false;
    return true;
}

bool fgi_rows_never(fgi_infer *c)
{
    return fgi_infer_fail(c, FG_EINVAL, "an operand depends on the samples of the batch");
}

bool fgi_rows_mixed(fgi_infer *c, int axis, const char *instead)
{
    return fgi_infer_fail(
        c, FG_EINVAL,
        "axis %d is the batch axis, and the last batch of an epoch contains padding rows, which "
        "this operation would mix with samples\n%s; or drop the incomplete batch (drop_last)",
        axis, instead);
}
