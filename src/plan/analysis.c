/* analysis.c - walks over the operations of a compiled step and sums them up by layer.
 *
 * The walk starts at the entry computation and descends into loops, branches and calls, but not
 * into fusions, which the device executes as a unit: only the matmuls inside are counted. A layer
 * is the scope in which the emitter wrote an operation (src/trace/emit.c); gradients belong to the
 * scope of their operation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/hlo_work.h"
#include "plan/walk.h"

enum { DEPTH_MAX = 16, NAMELESS_MAX = 6 };

static void visit(fgi_plan_walk *w, const fgi_hlo_computation *in, double times, int depth);

/* ---- layers ---------------------------------------------------------------------------------- */

/* The user's line of an operation: from its metadata, or from the module's table of stack frames.
 */
static const char *place_of(const fgi_plan_walk *w, const fgi_hlo_op *op, int *line)
{
    const Fgi__Hlo__Place *place = op->place;
    const Fgi__Hlo__StackFrames *frames = w->index.hlo->module->frames;
    *line = 0;
    if (place == NULL)
        return NULL;
    if (place->file[0] != '\0') {
        *line = place->line;
        return place->file;
    }
    if (frames == NULL || place->frame < 1 || (size_t)place->frame > frames->n_frame)
        return NULL;
    const int64_t at = frames->frame[place->frame - 1]->location;
    if (at < 1 || (size_t)at > frames->n_location)
        return NULL;
    const Fgi__Hlo__FileLocation *location = frames->location[at - 1];
    if (location->file < 1 || (size_t)location->file > frames->n_file)
        return NULL;
    *line = location->line;
    return frames->file[location->file - 1];
}

/* Whether our emitter wrote it. Operations added by the compiler have no name, or that of an
 * argument and no location. */
static bool has_name(const fgi_plan_walk *w, const fgi_hlo_op *op)
{
    int line;
    const char *name = op->place != NULL ? op->place->op_name : "";
    return strchr(name, '/') != NULL || (name[0] != '\0' && place_of(w, op, &line) != NULL);
}

/* The operation whose layer an instruction belongs to: an instruction that the compiler added
 * belongs to the one that uses its result, or whose result it stores. */
static const fgi_hlo_op *named(const fgi_plan_walk *w, const fgi_hlo_op *op)
{
    const fgi_hlo_op *at = op;
    for (int i = 0; i < NAMELESS_MAX && at != NULL && !has_name(w, at); i++) {
        const fgi_hlo_entry *entry = fgi_hlo_find(&w->index, at->id);
        at = entry != NULL ? entry->user : NULL;
    }
    if (at != NULL && has_name(w, at))
        return at;
    at = op;
    for (int i = 0; i < NAMELESS_MAX && at != NULL && !has_name(w, at); i++)
        at = fgi_hlo_in(&w->index, at, 0);
    return at != NULL && has_name(w, at) ? at : op;
}

static fgi_plan_layer *add_layer(fgi_plan_walk *w, const char *name, const char *file, int line)
{
    fgi_plan_analysis *out = w->out;
    for (size_t i = 0; i < out->layer_count; i++)
        if (strcmp(out->layers[i].name, name) == 0)
            return &out->layers[i];
    fgi_plan_layer *layers =
        fgi_grow(out->layers, out->layer_count, &w->layer_capacity, sizeof *layers);
    if (layers != NULL)
        out->layers = layers;
    char *own = fgi_arena_strdup(&out->texts, name);
    char *own_file = file != NULL ? fgi_arena_strdup(&out->texts, file) : NULL;
    if (layers == NULL || own == NULL || (file != NULL && own_file == NULL)) {
        w->failed = true;
        return NULL;
    }
    layers[out->layer_count] = (fgi_plan_layer){.name = own, .file = own_file, .line = line};
    return &layers[out->layer_count++];
}

static fgi_plan_layer *layer_of(fgi_plan_walk *w, const fgi_hlo_op *op)
{
    char name[512] = "elsewhere";
    int line;
    const fgi_hlo_op *from = named(w, op);
    const char *file = place_of(w, from, &line);
    const char *path = has_name(w, from) ? from->place->op_name : "";
    int end = (int)strlen(path);
    if (path[0] ==
        '(') /* several operations merged by the compiler, "(fc1/sum:fc2/sum)": the first one */
        end = (int)strcspn(++path, ":)");
    while (end > 0 && path[end] != '/')
        end--;
    if (end > 0)
        (void)snprintf(name, sizeof name, "%.*s", end, path);
    else if (file != NULL)
        (void)snprintf(name, sizeof name, "%s:%d", file, line);
    return add_layer(w, name, file, line);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void add_slow(fgi_plan_walk *w, fgi_plan_slow_kind kind, const fgi_hlo_op *op)
{
    fgi_plan_slow *slow = &w->out->slow[kind];
    const fgi_plan_layer *layer = slow->count++ == 0 ? layer_of(w, op) : NULL;
    if (layer != NULL)
        slow->layer = layer->name;
}

static void add_matmul(fgi_plan_walk *w, const fgi_hlo_op *op, double times)
{
    fgi_hlo_arithmetic a;
    if (!fgi_hlo_arithmetic_of(&w->index, op, &a))
        return;
    fgi_plan_slow_kind slow;
    if (fgi_plan_matmul_is_slow(&w->out->machine, &a, &slow))
        add_slow(w, slow, op);
    fgi_plan_layer *layer = layer_of(w, op);
    if (layer == NULL)
        return;
    layer->work.flops += times * a.flops;
    layer->work.padded_flops += times * a.padded_flops;
    if (a.dtype != FG_DTYPE_NONE && fg_dtype_size(a.dtype) <= 2)
        layer->work.flops_16bit += times * a.flops;
    for (int i = 0; i < a.dim_count; i++) {
        fgi_plan_dim dim = a.dim[i];
        const double lost = times * a.flops * ((double)dim.padded / (double)dim.size - 1);
        if (lost <= layer->worst_flops && layer->worst.size != 0)
            continue;
        dim.is_batch = dim.size == w->out->machine.batch;
        for (int k = 0; k < a.dim_count; k++)
            dim.may_be_width = dim.may_be_width || (k != i && a.dim[k].size == dim.size);
        layer->worst = dim;
        layer->worst_flops = lost;
    }
}

/* Counts matmuls, collectives and slow dtypes in an instruction and its parts. */
static void look_inside(fgi_plan_walk *w, const fgi_hlo_op *op, double times, int depth)
{
    fgi_plan_slow_kind slow;
    add_matmul(w, op, times);
    fgi_plan_add_fused_collectives(w, op, times);
    if (fgi_plan_format_is_slow(&w->out->machine, &w->index, op, &slow))
        add_slow(w, slow, op);
    const fgi_hlo_computation *in =
        strcmp(op->opcode, "fusion") == 0 ? fgi_hlo_called(&w->index, op, 0) : NULL;
    for (size_t i = 0; in != NULL && depth < DEPTH_MAX && i < in->n_instruction; i++)
        look_inside(w, in->instruction[i], times, depth + 1);
}

static void add_work(fgi_plan_walk *w, const fgi_hlo_op *op, const fgi_hlo_config *config,
                     double times)
{
    double bytes = 0, padded = 0;
    fgi_hlo_traffic(&w->index, op, &bytes, &padded);
    if (bytes <= 0 && config->cycles <= 0)
        return;
    fgi_plan_layer *layer = layer_of(w, op);
    if (layer == NULL)
        return;
    layer->work.cycles += config->cycles > 0 ? times * config->cycles : 0;
    layer->work.bytes += times * bytes;
    layer->work.padded_bytes += times * padded;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Descends into the computations that an instruction calls as part of the program; false if there
 * are none. */
static bool visit_called(fgi_plan_walk *w, const fgi_hlo_op *op, const fgi_hlo_config *config,
                         double times, int depth)
{
    const bool is_loop = strcmp(op->opcode, "while") == 0;
    if (!is_loop && strcmp(op->opcode, "call") != 0 && strcmp(op->opcode, "conditional") != 0 &&
        strcmp(op->opcode, "async-start") != 0)
        return false;
    if (is_loop) {
        const int64_t trips = config->trips >= 0 ? config->trips : fgi_hlo_trips(&w->index, op);
        w->out->unknown_loops += trips < 0;
        times *= trips < 0 ? 1 : (double)trips;
    }
    for (size_t i = 0; i < op->n_called; i++) {
        const fgi_hlo_computation *in = fgi_hlo_called(&w->index, op, i);
        if (in != NULL && depth < DEPTH_MAX)
            visit(w, in, times, depth + 1);
    }
    return true;
}

/* An asynchronous copy is an async-start of a slice or a copy: its bytes are counted where it
 * starts, not in the computation that it calls. */
static bool is_beside(const fgi_plan_walk *w, const fgi_hlo_op *op)
{
    fgi_collective kind;
    const fgi_hlo_computation *in =
        strcmp(op->opcode, "async-start") == 0 ? fgi_hlo_called(&w->index, op, 0) : NULL;
    const fgi_hlo_op *root = in != NULL ? fgi_hlo_root(&w->index, in) : NULL;
    return root != NULL && strcmp(root->opcode, "fusion") != 0 && !fgi_hlo_collective(root, &kind);
}

static void visit_one(fgi_plan_walk *w, const fgi_hlo_op *op, double times, int depth)
{
    fgi_hlo_config config;
    fgi_collective kind;
    fgi_hlo_config_read(op, &config);
    if (fgi_hlo_collective(op, &kind))
        fgi_plan_add_collective(w, op, kind, &config, times);
    if (!is_beside(w, op) && visit_called(w, op, &config, times, depth))
        return;
    add_work(w, op, &config, times);
    look_inside(w, op, times, depth);
}

static void visit(fgi_plan_walk *w, const fgi_hlo_computation *in, double times, int depth)
{
    for (size_t i = 0; i < in->n_instruction && !w->failed; i++)
        visit_one(w, in->instruction[i], times, depth);
}

/* ---- summing up ------------------------------------------------------------------------------ */

static int worst_first(const void *a, const void *b)
{
    const fgi_plan_layer *x = a, *y = b;
    if (x->lost_cycles != y->lost_cycles)
        return x->lost_cycles < y->lost_cycles ? 1 : -1;
    if (x->work.cycles != y->work.cycles)
        return x->work.cycles < y->work.cycles ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void sum_up(fgi_plan_analysis *out)
{
    for (size_t i = 0; i < out->layer_count; i++) {
        fgi_plan_layer *l = &out->layers[i];
        const fgi_plan_work *work = &l->work;
        if (work->padded_flops > 0)
            l->lost_cycles = work->cycles * (1 - work->flops / work->padded_flops);
        out->total.cycles += work->cycles;
        out->total.flops += work->flops;
        out->total.padded_flops += work->padded_flops;
        out->total.flops_16bit += work->flops_16bit;
        out->total.bytes += work->bytes;
        out->total.padded_bytes += work->padded_bytes;
    }
    if (out->layer_count > 0)
        qsort(out->layers, out->layer_count, sizeof *out->layers, worst_first);
    fgi_plan_estimate(out);
}

fg_status fgi_plan_analyze(const void *program, size_t size, const fgi_plan_machine *machine,
                           fgi_plan_analysis *out, fg_error *err)
{
    fgi_hlo *hlo = NULL;
    fgi_plan_walk w = {.out = out};
    *out = (fgi_plan_analysis){.machine = *machine};
    fgi_arena_init(&out->texts);
    FGI_TRY(fgi_hlo_read(program, size, &hlo, err));
    fg_status status = fgi_hlo_index_make(hlo, &w.index, err);
    if (status == FG_OK) {
        visit(&w, hlo->entry, 1, 0);
        status = w.failed ? fgi_no_memory(err) : FG_OK;
    }
    if (status == FG_OK)
        sum_up(out);
    fgi_hlo_index_fini(&w.index);
    fgi_hlo_free(hlo);
    return status;
}

void fgi_plan_analysis_fini(fgi_plan_analysis *analysis)
{
    fgi_free(analysis->layers);
    fgi_free(analysis->collectives);
    fgi_arena_fini(&analysis->texts);
    *analysis = (fgi_plan_analysis){0};
}
