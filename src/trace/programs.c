/* programs.c - the cache of programs of a trace, by structure, and how two of them differ.
 *
 * The most recently used programs are kept. A custom loop whose graph contains a number that
 * changes compiles a program in each iteration. To detect that, an outline without attributes is
 * kept for the last few programs: if several consecutive programs differ only in attributes, the
 * user is warned once, with the operation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/print.h"
#include "base/text.h"
#include "trace/program.h"

enum { WARN_AFTER = 3 }; /* programs with the same outline: two may well be intended */

void fgi_programs_fini(fgi_programs *programs)
{
    for (size_t i = 0; i < programs->count; i++)
        fgi_program_release(programs->entry[i].program);
    for (int i = 0; i < FGI_OUTLINES; i++)
        fgi_free(programs->outline[i].nodes);
    *programs = (fgi_programs){0};
}

fgi_program *fgi_programs_find(fgi_programs *programs, fgi_hash hash)
{
    size_t at = 0;
    while (at < programs->count && !fgi_hash_equal(programs->entry[at].hash, hash))
        at++;
    if (at == programs->count)
        return NULL;
    const fgi_program_entry found = programs->entry[at];
    memmove(programs->entry + 1, programs->entry, at * sizeof programs->entry[0]);
    programs->entry[0] = found;
    return found.program;
}

void fgi_programs_add(fgi_programs *programs, fgi_hash hash, fgi_program *take_program)
{
    if (programs->count == FGI_PROGRAMS_KEPT)
        fgi_program_release(programs->entry[--programs->count].program);
    memmove(programs->entry + 1, programs->entry, programs->count * sizeof programs->entry[0]);
    programs->entry[0] = (fgi_program_entry){hash, take_program};
    programs->count++;
}

/* ---- outlines -------------------------------------------------------------------------------- */

/* Type and inputs of a node, as indexes of live nodes. */
static uint64_t wiring(const fgi_node *node, const uint32_t *place)
{
    fgi_hash hash = {0, (uint64_t)node->arity};
    const int64_t type[2] = {node->type.dtype, node->type.rank};
    hash = fgi_hash_more(hash, type, sizeof type);
    hash = fgi_hash_more(hash, node->type.dim, (size_t)node->type.rank * sizeof node->type.dim[0]);
    for (int i = 0; i < node->arity; i++)
        hash = fgi_hash_more(hash, &place[node->in[i]->first->id], sizeof place[0]);
    return hash.lo;
}

static fgi_outline_node outline_of(const fgi_node *node, const uint32_t *place)
{
    fgi_outline_node out = {.op = node->op, .wiring = wiring(node, place)};
    if (node->attr_size > 0)
        out.attr = fgi_hash_bytes(node->attr, node->attr_size).lo;
    if (node->op->number != NULL)
        out.number = node->op->number(node->attr);
    return out;
}

/* The live part of the trace; no nodes when out of memory. */
static fgi_outline make_outline(const fg_trace *trace, const fgi_layout *layout)
{
    fgi_outline out = {.variants = 1};
    uint32_t *place = fgi_calloc(trace->node_count + 1, sizeof *place);
    out.nodes = fgi_calloc(trace->node_count + 1, sizeof *out.nodes);
    for (size_t id = 0; place != NULL && out.nodes != NULL && id < trace->node_count; id++)
        if (layout->is_live[id]) {
            place[id] = (uint32_t)out.count;
            out.nodes[out.count++] = outline_of(trace->nodes[id], place);
        }
    fgi_free(place);
    return out;
}

/* Number of nodes whose attributes differ, with the first in *out_first; -1: the outlines differ.
 */
static int difference(const fgi_outline *a, const fgi_outline *b, size_t *out_first)
{
    int count = 0;
    if (a->count != b->count || a->count == 0)
        return -1;
    for (size_t i = 0; i < a->count; i++) {
        if (a->nodes[i].op != b->nodes[i].op || a->nodes[i].wiring != b->nodes[i].wiring)
            return -1;
        if (a->nodes[i].attr == b->nodes[i].attr)
            continue;
        if (a->nodes[i].op == &fgi_leaf_op)
            return -1;
        if (count++ == 0)
            *out_first = i;
    }
    return count;
}

/* The live node with this index. */
static const fgi_node *node_at(const fg_trace *trace, const fgi_layout *layout, size_t place)
{
    size_t id = 0;
    for (size_t seen = 0; id < trace->node_count; id++)
        if (layout->is_live[id] && seen++ == place)
            break;
    return trace->nodes[id];
}

static void tell(const fg_trace *trace, const fgi_layout *layout, const fgi_outline *before,
                 const fgi_outline *now, size_t first, int differences)
{
    const fgi_node *node = node_at(trace, layout, first);
    char what[128], more[64] = "";
    if (node->op->number != NULL)
        (void)fgi_snprintf(what, sizeof what, "a constant changed from %.9g to %.9g",
                           before->nodes[first].number, now->nodes[first].number);
    else
        (void)fgi_snprintf(what, sizeof what, "an argument of %s changed", node->op->name);
    if (differences > 1)
        (void)fgi_snprintf(more, sizeof more, " (and %d other operation%s)", differences - 1,
                           fgi_s(differences - 1));
    fgi_log(FG_LOG_WARNING,
            "%s:%d: %s%s: %d programs were compiled that differ only in this value\npass a number "
            "that changes as an fg_scalar (fg_scalar_value), which is an input of the program",
            node->file != NULL ? node->file : "?", node->line, what, more, now->variants);
}

void fgi_programs_compare(fg_trace *trace, const fgi_layout *layout)
{
    fgi_programs *p = &trace->programs;
    if (p->has_warned || trace->is_step) /* a step is traced once */
        return;
    fgi_outline now = make_outline(trace, layout);
    int place = -1;
    for (int i = 0; i < FGI_OUTLINES && now.nodes != NULL && place < 0; i++) {
        size_t first = 0;
        const int differences = difference(&p->outline[i], &now, &first);
        if (differences < 1)
            continue;
        place = i;
        now.variants = p->outline[i].variants + 1;
        p->has_warned = now.variants == WARN_AFTER;
        if (p->has_warned)
            tell(trace, layout, &p->outline[i], &now, first, differences);
    }
    if (place < 0)
        place = p->next_outline++ % FGI_OUTLINES;
    fgi_free(p->outline[place].nodes);
    p->outline[place] = now;
}
