/* einsum.c - sums of products in index notation, composed of fg_dot, fg_sum and fg_permute.
 *
 * Operands are contracted from left to right. A letter that neither the result nor a later operand
 * contains is summed in the operand that contains it alone, or contracted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "op/op.h"
#include "base/text.h"

enum { MOST_OPERANDS = 8, LETTERS = 128 };

/* A value and the letters of its dimensions. fg_dot reports a result with too many. */
typedef struct term {
    fg_tensor value;
    char letter[2 * FG_MAX_RANK + 1];
} term;

typedef struct einsum {
    fg_trace *trace;
    const char *equation;
    int count;
    term in[MOST_OPERANDS];
    char out[FG_MAX_RANK + 1];
    int64_t size[LETTERS]; /* of each letter */
    int uses[LETTERS];
} einsum;

#define FAIL(e, format, ...)                                                                       \
    (fgi_trace_fail((e)->trace, FG_EINVAL, "einsum(\"%s\"): " format, (e)->equation, __VA_ARGS__), \
     false)

/* ---- the equation ---------------------------------------------------------------------------- */

static bool is_letter(char c) { return fgi_lower(c) >= 'a' && fgi_lower(c) <= 'z'; }
static void skip_blanks(const char **at) { *at += strspn(*at, " "); }

/* Reads the letters of a term. */
static bool read_term(const einsum *e, const char **at, char *letter)
{
    int n = 0;
    for (skip_blanks(at); is_letter(**at); skip_blanks(at)) {
        if (strchr(letter, **at) != NULL)
            return FAIL(e, "the letter '%c' occurs twice in a term: diagonals are not supported",
                        **at);
        if (n == FG_MAX_RANK)
            return FAIL(e, "a term has more than %d letters", FG_MAX_RANK);
        letter[n++] = *(*at)++;
    }
    return true;
}

/* The letters that occur once, in alphabetical order. */
static bool imply_result(einsum *e)
{
    int n = 0;
    for (int c = 0; c < LETTERS; c++) {
        if (e->uses[c] != 1)
            continue;
        if (n == FG_MAX_RANK)
            return FAIL(e, "the result has more than %d letters", FG_MAX_RANK);
        e->out[n++] = (char)c;
    }
    return true;
}

static bool read_equation(einsum *e)
{
    const char *at = e->equation;
    for (int i = 0; i < e->count; i++) {
        if (i > 0 && *at++ != ',')
            return FAIL(e, "expected %d terms separated by commas", e->count);
        if (!read_term(e, &at, e->in[i].letter))
            return false;
        for (const char *c = e->in[i].letter; *c != '\0'; c++)
            e->uses[(int)*c]++;
    }
    const bool has_result = strncmp(at, "->", 2) == 0;
    at += has_result ? 2 : 0;
    if (!(has_result ? read_term(e, &at, e->out) : imply_result(e)))
        return false;
    if (*at != '\0')
        return FAIL(e, "unexpected '%s' after %d terms: expected letters, ',' and '->'", at,
                    e->count);
    for (const char *c = e->out; *c != '\0'; c++)
        if (e->uses[(int)*c] == 0)
            return FAIL(e, "the letter '%c' of the result is in none of the operands", *c);
    return true;
}

static bool check_sizes(einsum *e)
{
    char text[96];
    memset(e->size, -1, sizeof e->size);
    for (int i = 0; i < e->count; i++) {
        const fg_type *type = fg_tensor_type(e->in[i].value);
        const char *letter = e->in[i].letter;
        if (type->rank != (int)strlen(letter))
            return FAIL(e, "operand %d is %s, but its term '%s' has %zu letters", i,
                        fg_type_format(type, text, sizeof text), letter, strlen(letter));
        for (int d = 0; d < type->rank; d++) {
            int64_t *size = &e->size[(int)letter[d]];
            if (*size >= 0 && *size != type->dim[d])
                return FAIL(e, "the letter '%c' has the sizes %" PRId64 " and %" PRId64, letter[d],
                            *size, type->dim[d]);
            *size = type->dim[d];
        }
    }
    return true;
}

/* ---- contraction ----------------------------------------------------------------------------- */

/* Whether the result or an operand starting at `next` has this letter. */
static bool is_needed(const einsum *e, int next, char letter)
{
    bool needed = strchr(e->out, letter) != NULL;
    for (int i = next; i < e->count; i++)
        needed |= strchr(e->in[i].letter, letter) != NULL;
    return needed;
}

/* Sums over the letters that neither `other` nor anything later has. */
static void sum_own(const einsum *e, term *t, const char *other, int next)
{
    int axis[2 * FG_MAX_RANK], count = 0, kept = 0;
    const int rank = (int)strlen(t->letter);
    for (int d = 0; d < rank; d++) {
        const char c = t->letter[d];
        if (strchr(other, c) != NULL || is_needed(e, next, c))
            t->letter[kept++] = c;
        else
            axis[count++] = d;
    }
    t->letter[kept] = '\0';
    if (count > 0)
        t->value = fg_sum(t->value, count, axis);
}

/* The product of two terms: letters of both are batch axes if they are needed later. */
static term contract(const einsum *e, const term *a, const term *b, int next)
{
    fg_dot_options o = {.batch_count = 0};
    char shared[FG_MAX_RANK + 1] = "", own[2 * FG_MAX_RANK + 1] = "";
    int own_count = 0;
    for (const char *c = a->letter; *c != '\0'; c++) {
        const char *in_b = strchr(b->letter, *c);
        if (in_b == NULL) {
            own[own_count++] = *c;
        } else if (is_needed(e, next, *c)) {
            shared[o.batch_count] = *c;
            o.a_batch[o.batch_count] = (int)(c - a->letter);
            o.b_batch[o.batch_count++] = (int)(in_b - b->letter);
        } else {
            o.a_contract[o.contract_count] = (int)(c - a->letter);
            o.b_contract[o.contract_count++] = (int)(in_b - b->letter);
        }
    }
    for (const char *c = b->letter; *c != '\0'; c++)
        if (strchr(a->letter, *c) == NULL)
            own[own_count++] = *c;
    term r = {.value = fg_dot(a->value, b->value, &o)};
    memcpy(r.letter, shared, (size_t)o.batch_count);
    memcpy(r.letter + o.batch_count, own, (size_t)own_count);
    return r;
}

fg_tensor fg_einsum(const char *equation, const fg_tensor *in, int count)
{
    einsum e = {.trace = fg_tensor_trace(in[0]), .equation = equation, .count = count};
    int axis[FG_MAX_RANK];
    if (count < 1 || count > MOST_OPERANDS)
        return fgi_trace_fail(e.trace, FG_EINVAL, "einsum: %d operands: expected 1 to %d", count,
                              MOST_OPERANDS);
    for (int i = 0; i < count; i++) {
        e.in[i].value = in[i];
        if (fgi_is_poison(in[i]))
            return fgi_poison(e.trace);
    }
    if (!read_equation(&e) || !check_sizes(&e))
        return fgi_poison(e.trace);
    term all = e.in[0];
    for (int i = 1; i < count && !fgi_is_poison(all.value); i++) {
        term next = e.in[i];
        sum_own(&e, &all, next.letter, i + 1);
        sum_own(&e, &next, all.letter, i + 1);
        all = contract(&e, &all, &next, i + 1);
    }
    if (fgi_is_poison(all.value))
        return all.value;
    sum_own(&e, &all, "", count);
    for (int d = 0; e.out[d] != '\0'; d++)
        axis[d] = (int)(strchr(all.letter, e.out[d]) - all.letter);
    return fg_permute(all.value, axis);
}
