/* signature.c - see signature.h.
 *
 * A signature lists the live leaves with their names and types, and the live nodes. Leaves are
 * compared first: what else differs usually follows from them.
 *
 * A custom loop whose graph contains a number that changes compiles a program in each iteration: if
 * several of the last programs differ only in attributes, the user is warned once, with the
 * operation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/signature.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/here.h"
#include "base/log.h"
#include "base/print.h"
#include "base/text.h"
#include "trace/program.h"

typedef struct leaf_row {
    fgi_leaf_kind kind;
    char name[sizeof((fg_compile_event *)0)->name];
    fg_type type;
    bool is_trainable;
} leaf_row;

typedef struct node_row {
    const fgi_op *op;
    uint64_t wiring, attr;
    uint64_t type; /* of a leaf, all that its program depends on */
    double number; /* of a constant */
} node_row;

typedef struct fgi_signature {
    leaf_row *leaf;
    node_row *node;
    size_t leaf_count, node_count;
    int variants; /* compiled programs that differ from it only in attributes, and itself */
} fgi_signature;

enum { WARN_AFTER = 3 }; /* variants: two may well be intended */

static void destroy(fgi_signature *s)
{
    if (s == NULL)
        return;
    fgi_free(s->leaf);
    fgi_free(s->node);
    fgi_free(s);
}

void fgi_history_fini(fgi_history *history)
{
    for (int i = 0; i < FGI_SIGNATURES; i++)
        destroy(history->of[i]);
    *history = (fgi_history){0};
}

/* ---- making one ------------------------------------------------------------------------------ */

static void name_leaf(const fg_trace *trace, const fgi_leaf *leaf, size_t number, leaf_row *out)
{
    const int feed = leaf->kind == FGI_LEAF_FEED ? leaf->of.feed : 0;
    const char *field =
        leaf->kind == FGI_LEAF_FEED && feed < FG_MAX_FIELDS ? trace->feed_name[feed] : NULL;
    if (leaf->kind == FGI_LEAF_VARIABLE)
        (void)fgi_snprintf(out->name, sizeof out->name, "%s", fg_variable_name(leaf->of.variable));
    else if (field != NULL)
        (void)fgi_snprintf(out->name, sizeof out->name, "%s", field);
    else
        (void)fgi_snprintf(out->name, sizeof out->name, "input %zu", number);
}

static void put_leaves(fgi_signature *s, const fg_trace *trace, const fgi_layout *layout)
{
    size_t arrays = 0;
    for (size_t i = 0; i < layout->argument_count; i++) {
        const fgi_leaf *leaf = &trace->leaves[layout->argument_leaf[i]];
        leaf_row *row = &s->leaf[s->leaf_count++];
        row->kind = leaf->kind;
        row->type = leaf->node->type;
        row->is_trainable =
            leaf->kind == FGI_LEAF_VARIABLE && fg_variable_is_trainable(leaf->of.variable);
        arrays += leaf->kind != FGI_LEAF_VARIABLE;
        name_leaf(trace, leaf, arrays, row);
    }
}

static node_row row_of(const fgi_node *node, const uint32_t *place)
{
    fgi_hash wiring = {0, (uint64_t)node->arity};
    for (int i = 0; i < node->arity; i++)
        wiring = fgi_hash_more(wiring, &place[node->in[i]->first->id], sizeof place[0]);
    node_row row = {.op = node->op, .wiring = wiring.lo};
    if (node->op == &fgi_leaf_op) {
        row.type = fgi_hash_bytes(node->attr, node->attr_size).lo;
        return row;
    }
    const fgi_hash rank = {(uint64_t)node->type.dtype, (uint64_t)node->type.rank};
    row.type =
        fgi_hash_more(rank, node->type.dim, (size_t)node->type.rank * sizeof node->type.dim[0]).lo;
    if (node->attr_size > 0)
        row.attr = fgi_hash_bytes(node->attr, node->attr_size).lo;
    if (node->op->number != NULL)
        row.number = node->op->number(node->attr);
    return row;
}

static fgi_signature *make(const fg_trace *trace, const fgi_layout *layout)
{
    uint32_t *place = fgi_calloc(trace->node_count + 1, sizeof *place);
    fgi_signature *s = fgi_calloc(1, sizeof *s);
    if (s != NULL) {
        s->leaf = fgi_calloc(layout->argument_count + 1, sizeof *s->leaf);
        s->node = fgi_calloc(trace->node_count + 1, sizeof *s->node);
    }
    if (place == NULL || s == NULL || s->leaf == NULL || s->node == NULL) {
        fgi_free(place);
        destroy(s);
        return NULL;
    }
    s->variants = 1;
    put_leaves(s, trace, layout);
    for (size_t id = 0; id < trace->node_count; id++)
        if (layout->is_live[id]) {
            place[id] = (uint32_t)s->node_count;
            s->node[s->node_count++] = row_of(trace->nodes[id], place);
        }
    fgi_free(place);
    return s;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool has_same_operations(const fgi_signature *a, const fgi_signature *b)
{
    if (a->node_count != b->node_count || a->leaf_count != b->leaf_count)
        return false;
    for (size_t i = 0; i < a->node_count; i++)
        if (a->node[i].op != b->node[i].op || a->node[i].wiring != b->node[i].wiring)
            return false;
    for (size_t i = 0; i < a->leaf_count; i++)
        if (a->leaf[i].kind != b->leaf[i].kind)
            return false;
    return true;
}

static void put_place(fg_compile_event *out, const char *file, int line)
{
    if (file != NULL)
        fgi_format_place(out->at, sizeof out->at, file, line);
}

/* The leaf with that name and kind; NULL: there is none. */
static const leaf_row *find(const fgi_signature *s, const leaf_row *like)
{
    for (size_t i = 0; i < s->leaf_count; i++)
        if (s->leaf[i].kind == like->kind && strcmp(s->leaf[i].name, like->name) == 0)
            return &s->leaf[i];
    return NULL;
}

static void describe_leaf(const fg_trace *trace, const fgi_layout *layout, size_t i,
                          const leaf_row *was, const leaf_row *is, fg_compile_event *out)
{
    const fgi_leaf *leaf = &trace->leaves[layout->argument_leaf[i]];
    const bool is_other_dtype = was->type.dtype != is->type.dtype;
    (void)fgi_snprintf(out->name, sizeof out->name, "%s", is->name);
    if (!fg_type_equal(&was->type, &is->type)) {
        (void)fgi_snprintf(out->what, sizeof out->what, "%s", is_other_dtype ? "dtype" : "shape");
        (void)fg_type_format(&was->type, out->old_value, sizeof out->old_value);
        (void)fg_type_format(&is->type, out->new_value, sizeof out->new_value);
        put_place(out, leaf->node->file, leaf->node->line);
        return;
    }
    (void)fgi_snprintf(out->what, sizeof out->what, "trainable");
    (void)fgi_snprintf(out->old_value, sizeof out->old_value, "%s",
                       was->is_trainable ? "trained" : "frozen");
    (void)fgi_snprintf(out->new_value, sizeof out->new_value, "%s",
                       is->is_trainable ? "trained" : "frozen");
    (void)fgi_snprintf(out->at, sizeof out->at, "%s", fgi_variable_set_at(leaf->of.variable));
}

/* Describes the first leaf that differs, those that are fed before variables. */
static bool compare_leaves(const fg_trace *trace, const fgi_layout *layout,
                           const fgi_signature *before, const fgi_signature *now,
                           fg_compile_event *out)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < now->leaf_count; i++) {
            const leaf_row *is = &now->leaf[i], *was = find(before, is);
            if (was == NULL || (is->kind == FGI_LEAF_VARIABLE) != (pass == 1) ||
                (fg_type_equal(&was->type, &is->type) && was->is_trainable == is->is_trainable))
                continue;
            describe_leaf(trace, layout, i, was, is, out);
            return true;
        }
    return false;
}

/* The live node with this index. */
static const fgi_node *node_at(const fg_trace *trace, const fgi_layout *layout, size_t place)
{
    size_t id = 0;
    for (size_t seen = 0; !layout->is_live[id] || seen++ < place;)
        id++;
    return trace->nodes[id];
}

/* Number of nodes with other attributes, such as another constant, and the first of them. */
static int count_changes(const fgi_signature *a, const fgi_signature *b, size_t *out_first)
{
    int count = 0;
    for (size_t i = 0; i < a->node_count; i++)
        if (a->node[i].attr != b->node[i].attr && count++ == 0)
            *out_first = i;
    return count;
}

static void describe_node(const fgi_node *node, const node_row *was, const node_row *is,
                          fg_compile_event *out)
{
    const bool is_number = node->op->number != NULL;
    (void)fgi_snprintf(out->what, sizeof out->what, is_number ? "constant" : "attribute");
    (void)fgi_snprintf(out->name, sizeof out->name, "%s", node->op->name);
    if (is_number) {
        (void)fgi_snprintf(out->old_value, sizeof out->old_value, "%.9g", was->number);
        (void)fgi_snprintf(out->new_value, sizeof out->new_value, "%.9g", is->number);
    }
    put_place(out, node->file, node->line);
}

static void compare(const fg_trace *trace, const fgi_layout *layout, const fgi_signature *before,
                    const fgi_signature *now, fg_compile_event *out)
{
    if (compare_leaves(trace, layout, before, now, out))
        return;
    size_t first = 0;
    if (has_same_operations(before, now) && count_changes(before, now, &first) > 0) {
        describe_node(node_at(trace, layout, first), &before->node[first], &now->node[first], out);
        return;
    }
    (void)fgi_snprintf(out->what, sizeof out->what, "structure");
    (void)fgi_snprintf(out->old_value, sizeof out->old_value, "%zu operations", before->node_count);
    (void)fgi_snprintf(out->new_value, sizeof out->new_value, "%zu operations", now->node_count);
}

/* ---- numbers that change --------------------------------------------------------------------- */

static void warn(const fgi_node *node, const node_row *was, const node_row *is, int changes)
{
    char what[128], more[64] = "";
    if (node->op->number != NULL)
        (void)fgi_snprintf(what, sizeof what, "a constant changed from %.9g to %.9g", was->number,
                           is->number);
    else
        (void)fgi_snprintf(what, sizeof what, "an argument of %s changed", node->op->name);
    if (changes > 1)
        (void)fgi_snprintf(more, sizeof more, " (and %d other operation%s)", changes - 1,
                           fgi_s(changes - 1));
    fgi_log(FG_LOG_WARNING,
            "%s:%d: %s%s: %d programs were compiled that differ only in this value\npass a number "
            "that changes as an fg_scalar (fg_scalar_value), which is an input of the program",
            node->file != NULL ? node->file : "?", node->line, what, more, WARN_AFTER);
}

static bool has_same_types(const fgi_signature *a, const fgi_signature *b)
{
    for (size_t i = 0; i < a->node_count; i++)
        if (a->node[i].type != b->node[i].type)
            return false;
    return true;
}

/* Counts the variants of a program, of which `before` is the latest other one. */
static void count_variants(fgi_history *history, const fg_trace *trace, const fgi_layout *layout,
                           const fgi_signature *before, fgi_signature *now)
{
    size_t first = 0;
    const int changes = count_changes(before, now, &first);
    now->variants = before->variants + 1;
    if (now->variants < WARN_AFTER || history->has_warned)
        return;
    history->has_warned = true;
    warn(node_at(trace, layout, first), &before->node[first], &now->node[first], changes);
}

/* The latest program that has the same operations and, if `is_variant`, also the same types and
 * other attributes; NULL: there is none. */
static const fgi_signature *find_like(const fgi_history *history, const fgi_signature *now,
                                      bool is_variant)
{
    size_t first;
    for (unsigned k = 1; k <= FGI_SIGNATURES; k++) {
        const fgi_signature *s = history->of[(history->next + FGI_SIGNATURES - k) % FGI_SIGNATURES];
        if (s != NULL && has_same_operations(s, now) &&
            (!is_variant || (has_same_types(s, now) && count_changes(s, now, &first) > 0)))
            return s;
    }
    return NULL;
}

void fgi_history_add(fgi_history *history, const fg_trace *trace, const fgi_layout *layout,
                     fg_compile_event *out)
{
    fgi_signature *now = make(trace, layout);
    if (now == NULL)
        return;
    const fgi_signature *last = history->of[(history->next + FGI_SIGNATURES - 1) % FGI_SIGNATURES];
    const fgi_signature *before = trace->label != NULL ? last : find_like(history, now, false);
    const fgi_signature *variant = trace->is_step ? NULL : find_like(history, now, true);
    if (before != NULL)
        compare(trace, layout, before, now, out);
    if (variant != NULL)
        count_variants(history, trace, layout, variant, now);
    fgi_signature **at = &history->of[history->next++ % FGI_SIGNATURES];
    destroy(*at);
    *at = now;
}
