/* adjoin.c - sums of gradients with respect to slices of the same value.
 *
 * The gradient of a slice is padded with zeros to the value's shape. Adding n of these would read
 * and write the whole value n times; gradients of adjacent slices are concatenated instead.
 * Intermediate results that are no longer used are never emitted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "op/op.h"
#include "op/shape.h"

enum { MOST_PIECES = 64 };

/* Position of the elements in a padded value: first to limit along one axis, all along the others.
 */
typedef struct span {
    const fgi_node *inside;
    int axis;
    int64_t first, limit;
} span;

static bool is_zero(const fgi_node *node)
{
    return node->op->number != NULL && node->op->number(node->attr) == 0;
}

/* False if the node is anything else than a value padded with zeros along one axis. */
static bool span_of(const fgi_node *node, span *out)
{
    const fgi_pad_attr *attr = node->attr;
    int count = 0;
    if (node->op != &fgi_pad_op || !is_zero(node->in[1]))
        return false;
    for (int i = 0; i < node->type.rank; i++) {
        const int64_t low = attr->low[i], high = attr->high[i];
        if (low < 0 || high < 0 || attr->interior[i] != 0)
            return false;
        if (low == 0 && high == 0)
            continue;
        if (node->rows != NULL && node->rows->step[i] != 0) /* slices of the batch */
            return false;
        *out = (span){node->in[0], i, low, low + node->in[0]->type.dim[i]};
        count++;
    }
    return count == 1;
}

/* Appends the slices that make up a span to `piece`; returns the new count, or -1 if there are too
 * many. */
static int add_pieces(const span *s, int count, fg_tensor *piece)
{
    const bool is_concat = s->inside->op == &fgi_concat_op &&
                           ((const fgi_axis_attr *)s->inside->attr)->axis == s->axis;
    const int more = is_concat ? s->inside->arity : 1;
    if (count < 0 || count + more > MOST_PIECES)
        return -1;
    for (int i = 0; i < more; i++)
        piece[count + i] = fgi_tensor_of(is_concat ? s->inside->in[i] : s->inside);
    return count + more;
}

static bool adjoin(const fgi_node *x, const fgi_node *y, fg_tensor *out)
{
    span a, b;
    fg_tensor piece[MOST_PIECES];
    int64_t low[FG_MAX_RANK] = {0}, high[FG_MAX_RANK] = {0};
    if (!span_of(x, &a) || !span_of(y, &b) || a.axis != b.axis || x->type.dtype != y->type.dtype)
        return false;
    const bool is_before = a.limit == b.first;
    if (!is_before && b.limit != a.first)
        return false;
    const span *const one = is_before ? &a : &b, *const other = is_before ? &b : &a;
    const int count = add_pieces(other, add_pieces(one, 0, piece), piece);
    if (count < 0)
        return false;
    low[a.axis] = one->first;
    high[a.axis] = x->type.dim[a.axis] - other->limit;
    *out = fg_pad(fg_concat(piece, count, a.axis), 0, low, high, NULL);
    return true;
}

fg_tensor fgi_add_derivatives(fg_tensor a, fg_tensor b)
{
    fg_tensor joined;
    if (fgi_is_poison(a) || fgi_is_poison(b) || !adjoin(fgi_node_of(a), fgi_node_of(b), &joined))
        return fg_add(a, b);
    return joined;
}
