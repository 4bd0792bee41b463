/* hlo_loop.c - trip counts of loops: the usual counter is recognized, anything else is unknown.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/hlo_work.h"

enum { STEPS_MAX = 8 };

typedef struct loop {
    const fgi_hlo_index *index;
    const fgi_hlo_op *loop;
    const fgi_hlo_computation *body, *condition;
} loop;

static bool is(const fgi_hlo_op *op, const char *opcode)
{
    return op != NULL && strcmp(op->opcode, opcode) == 0;
}

/* Skips instructions that only pass a value on. */
static const fgi_hlo_op *origin(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    for (int i = 0; i < STEPS_MAX && (is(op, "copy") || is(op, "bitcast")); i++)
        op = fgi_hlo_in(index, op, 0);
    return op;
}

static bool constant(const fgi_hlo_op *op, int64_t *out)
{
    if (!is(op, "constant") || op->literal == NULL)
        return false;
    const Fgi__Hlo__Literal *l = op->literal;
    if (l->n_s32 == 1)
        *out = l->s32[0];
    else if (l->n_s64 == 1)
        *out = l->s64[0];
    else if (l->n_u32 == 1)
        *out = l->u32[0];
    return l->n_s32 == 1 || l->n_s64 == 1 || l->n_u32 == 1;
}

/* Whether it is element *out of the loop's state. */
static bool carried(const fgi_hlo_index *index, const fgi_hlo_op *op, int64_t *out)
{
    if (!is(op, "get-tuple-element") || !is(fgi_hlo_in(index, op, 0), "parameter"))
        return false;
    *out = op->part;
    return true;
}

/* The instruction that computes an element of the loop's initial or next state. */
static const fgi_hlo_op *part_of(const fgi_hlo_index *index, const fgi_hlo_op *tuple, int64_t part)
{
    return is(tuple, "tuple") ? origin(index, fgi_hlo_in(index, tuple, (size_t)part)) : NULL;
}

/* A number inside the loop: a constant, or an element of the state that is initially constant and
 * never changes. */
static bool fixed(const loop *l, const fgi_hlo_op *op, int64_t *out)
{
    int64_t part, kept;
    op = origin(l->index, op);
    if (constant(op, out))
        return true;
    if (!carried(l->index, op, &part))
        return false;
    const fgi_hlo_op *next = part_of(l->index, fgi_hlo_root(l->index, l->body), part);
    return carried(l->index, next, &kept) && kept == part &&
           constant(part_of(l->index, fgi_hlo_in(l->index, l->loop, 0), part), out);
}

/* The increment of the counter per iteration. */
static bool step_of(const loop *l, int64_t counter, int64_t *out)
{
    int64_t part;
    const fgi_hlo_op *next = part_of(l->index, fgi_hlo_root(l->index, l->body), counter);
    if (!is(next, "add"))
        return false;
    for (size_t i = 0; i < 2; i++)
        if (carried(l->index, origin(l->index, fgi_hlo_in(l->index, next, i)), &part) &&
            part == counter)
            return fixed(l, fgi_hlo_in(l->index, next, 1 - i), out);
    return false;
}

static int64_t rounds(const char *direction, int64_t from, int64_t to, int64_t step)
{
    const bool rises = step > 0;
    const int64_t way = rises ? to - from : from - to, size = rises ? step : -step;
    if (step == 0)
        return -1;
    if (strcmp(direction, rises ? "LT" : "GT") == 0)
        return way > 0 ? (way + size - 1) / size : 0;
    if (strcmp(direction, rises ? "LE" : "GE") == 0)
        return way >= 0 ? way / size + 1 : 0;
    return strcmp(direction, "NE") == 0 && way >= 0 && way % size == 0 ? way / size : -1;
}

int64_t fgi_hlo_trips(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    loop l = {.index = index, .loop = op};
    l.body = fgi_hlo_called(index, op, 0);
    l.condition = fgi_hlo_called(index, op, 1);
    if (l.body == NULL || l.condition == NULL)
        return -1;
    const fgi_hlo_op *test = fgi_hlo_root(index, l.condition);
    int64_t counter, from, to, step;
    if (!is(test, "compare") ||
        !carried(index, origin(index, fgi_hlo_in(index, test, 0)), &counter) ||
        !fixed(&l, fgi_hlo_in(index, test, 1), &to) || !step_of(&l, counter, &step) ||
        !constant(part_of(index, fgi_hlo_in(index, op, 0), counter), &from))
        return -1;
    return rounds(test->direction, from, to, step);
}
