/* rows.c - where a value has the rows of a batch: the rules that operations share.
 *
 * The last batch of an epoch is filled up with padding rows. Which dimension of a value runs over
 * the batch follows from operation to operation by a rule each, like its shape; src/op/padding.c
 * says where rows begin and end. An operation that can't say which rows its result belongs to is
 * an error: it would let padding leak into what is trained or reported.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

bool fgi_rows_join(fgi_infer *c, int axis, int64_t step)
{
    int64_t *have = &c->rows.step[axis];
    if (step != 0 && *have != 0 && *have != step)
        return fgi_infer_fail(c, FG_EINVAL,
                              "along axis %d the operands hold the samples of the batch in "
                              "different orders\npermute one of them so that the samples are in "
                              "the same order before the batch axis is merged with another one",
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
    return fgi_infer_fail(c, FG_EINVAL,
                          "axis %d is the batch axis, and the last batch of an epoch contains "
                          "padding rows, which this would mix with the samples\n%s; or leave the "
                          "incomplete batch out (drop_last)",
                          axis, instead);
}
