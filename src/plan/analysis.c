/* analysis.c - walks over the operations of a compiled step and sums them up by layer.
 *
 * The walk starts at the entry computation and descends into loops, branches and calls, but not
 * into fusions, which the device executes as a unit: only the matmuls inside are counted. A layer
 * is the scope in which the emitter wrote an operation (src/trace/emit.c); gradients belong to the
 * scope of their operation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/analysis.h"

#include <fulgurite/plan.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "input/json_file.h"
#include "plan/hlo_work.h"

enum { DEPTH_MAX = 16, NAMELESS_MAX = 6 };

static void visit(fgi_plan_walk *w, const fgi_hlo_computation *in, double times, int depth);

/* ---- slow dtypes ----------------------------------------------------------------------------- */

/* Smaller arrays, such as counters, have negligible cost. */
enum { ELEMENTS_MIN = 1024 };
enum { XLA_S64 = 5, XLA_U64 = 9, XLA_F64 = 12, XLA_C64 = 15, XLA_C128 = 18 };

const char *fgi_plan_slow_text(fgi_plan_slow_kind kind)
{
    static const char *const text[] = {
        [FGI_SLOW_F64] = "the device has no f64 units: use f32",
        [FGI_SLOW_INT64] = "64-bit integers are emulated with 32-bit ones: use 32 bits",
        [FGI_SLOW_COMPLEX] = "complex numbers are computed as pairs",
        [FGI_SLOW_PRECISION] = "matmuls at high precision take several passes: use the default",
        [FGI_SLOW_INT8] = "8-bit matmuls are no faster than bf16 on this generation",
        [FGI_SLOW_INT32] = "the matrix units do not support integers of more than 8 bits",
        [FGI_SLOW_F16] = "the matrix units do not support f16 natively: use bf16",
    };
    return kind >= 0 && kind < FGI_SLOW_KINDS ? text[kind] : "";
}

static bool is_tpu(const fg_chip *chip) { return chip != NULL && chip->generation != NULL; }

bool fgi_plan_matmul_is_slow(const fgi_plan_machine *machine, const fgi_hlo_arithmetic *matmul,
                             fgi_plan_slow_kind *out)
{
    if (!is_tpu(machine->chip))
        return false;
    const char *generation = machine->chip->generation;
    switch (matmul->dtype) {
    case FG_F32: *out = FGI_SLOW_PRECISION; return matmul->is_precise;
    case FG_S8:
    case FG_U8: *out = FGI_SLOW_INT8; return fgi_is_one_of(generation, "v2|v3|v4|7x");
    case FG_S16:
    case FG_U16:
    case FG_S32:
    case FG_U32: *out = FGI_SLOW_INT32; return true;
    case FG_F16: *out = FGI_SLOW_F16; return !fgi_is_one_of(generation, "v2|v3");
    default: return false;
    }
}

static bool is_slow(const fgi_hlo_shape *shape, fgi_plan_slow_kind *out)
{
    int64_t elements = 1;
    for (size_t i = 0; shape != NULL && i < shape->n_dimension; i++)
        elements *= shape->dimension[i];
    switch (elements >= ELEMENTS_MIN && shape != NULL ? shape->element : 0) {
    case XLA_F64: *out = FGI_SLOW_F64; return true;
    case XLA_S64:
    case XLA_U64: *out = FGI_SLOW_INT64; return true;
    case XLA_C64:
    case XLA_C128: *out = FGI_SLOW_COMPLEX; return true;
    default: return false;
    }
}

bool fgi_plan_format_is_slow(const fgi_plan_machine *machine, const fgi_hlo_index *index,
                             const fgi_hlo_op *op, fgi_plan_slow_kind *out)
{
    const fg_chip *chip = machine->chip;
    if (chip == NULL)
        return false;
    if (!is_tpu(chip)) /* graphics chips compute f64, some at a small fraction of the f32 rate */
        return is_slow(op->shape, out) && *out == FGI_SLOW_F64 && chip->f64 < chip->f32 / 8;
    if (is_slow(op->shape, out))
        return true;
    /* if the compiler splits an array of 64 bits in two, the result has 32 bits */
    const fgi_hlo_op *from = fgi_hlo_in(index, op, 0);
    return strcmp(op->opcode, "custom-call") == 0 && strncmp(op->target, "X64", 3) == 0 &&
           from != NULL && is_slow(from->shape, out);
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* The axes of a mesh that a collective is over. */
static int64_t mesh_group(const Fgi__Hlo__MeshGroups *groups)
{
    int64_t size = 1;
    for (size_t i = 0; i < groups->n_use; i++) {
        const Fgi__Hlo__AxisUse *use = groups->use[i];
        if (use->part != NULL && use->part->size > 0)
            size *= use->part->size;
        else if (groups->mesh != NULL && use->axis >= 0 && (size_t)use->axis < groups->mesh->n_axis)
            size *= groups->mesh->axis[use->axis]->size;
    }
    return size;
}

static int64_t group_of(const fgi_hlo_op *op, int devices)
{
    if (op->mesh_groups != NULL && op->mesh_groups->n_use > 0)
        return mesh_group(op->mesh_groups);
    if (op->groups != NULL && op->groups->counted != NULL && op->groups->counted->size > 0)
        return op->groups->counted->size;
    if (op->groups != NULL && op->groups->n_group > 0)
        return (int64_t)op->groups->group[0]->n_device;
    return op->n_group > 0 ? (int64_t)op->group[0]->n_device : devices;
}

/* The larger of input and output of a collective on one device. */
static int64_t bytes_of(const fgi_plan_walk *w, const fgi_hlo_op *op)
{
    int64_t in = 0, out = fgi_hlo_bytes(op->shape);
    const bool is_begun = strstr(op->opcode, "-start") != NULL;
    for (size_t i = 0; i < op->n_operand; i++) {
        const fgi_hlo_op *from = fgi_hlo_in(&w->index, op, i);
        in += from != NULL ? fgi_hlo_bytes(from->shape) : 0;
    }
    if (is_begun && op->shape != NULL && op->shape->n_part > 1)
        out = fgi_hlo_bytes(op->shape->part[1]);
    return in > out ? in : out;
}

/* Bytes that each device sends for a collective of `bytes` on a ring of n devices. */
static double sent(fg_collective kind, double bytes, int64_t n)
{
    const double others = n > 0 ? (double)(n - 1) / (double)n : 0;
    if (kind == FG_COLLECTIVE_PERMUTE)
        return bytes;
    return (kind == FG_ALL_REDUCE ? 2 : 1) * others * bytes;
}

/* Bandwidth of a ring in both directions together: one link of a chip in a two- or
 * three-dimensional torus. 0: not known. */
static double ring_rate(const fg_chip *chip)
{
    if (chip == NULL || chip->generation == NULL)
        return 0;
    return chip->ici_bandwidth / (fgi_is_one_of(chip->generation, "v4|v5p|7x") ? 6 : 4);
}

static fgi_plan_collective *find(fgi_plan_walk *w, fg_collective kind, int group,
                                 const char *algorithm)
{
    fgi_plan_analysis *out = w->out;
    for (size_t i = 0; i < out->collective_count; i++) {
        fgi_plan_collective *e = &out->collectives[i];
        if (e->kind == kind && e->group == group && strcmp(e->algorithm, algorithm) == 0)
            return e;
    }
    fgi_plan_collective *all =
        fgi_grow(out->collectives, out->collective_count, &w->collective_capacity, sizeof *all);
    if (all != NULL)
        out->collectives = all;
    char *own = fgi_arena_strdup(&out->texts, algorithm);
    if (all == NULL || own == NULL) {
        w->failed = true;
        return NULL;
    }
    all[out->collective_count] =
        (fgi_plan_collective){.kind = kind, .group = group, .algorithm = own};
    return &all[out->collective_count++];
}

void fgi_plan_add_collective(fgi_plan_walk *w, const fgi_hlo_op *op, fg_collective kind,
                             const fgi_hlo_config *config, double times)
{
    const int64_t group = group_of(op, w->out->machine.devices);
    const double rate = ring_rate(w->out->machine.chip);
    fgi_plan_collective *e = find(w, kind, (int)group, config->algorithm);
    if (e == NULL)
        return;
    const double bytes = times * (double)bytes_of(w, op);
    e->count += (int)times;
    e->bytes += (int64_t)bytes;
    if (rate > 0)
        e->seconds += sent(kind, bytes, group) / rate;
    else
        e->seconds = -1;
}

void fgi_plan_add_fused_collectives(fgi_plan_walk *w, const fgi_hlo_op *op, double times)
{
    fgi_hlo_config of_fusion, config;
    fg_collective kind;
    int64_t bytes;
    const fgi_hlo_computation *in = fgi_hlo_body(&w->index, op, "fusion");
    for (size_t i = 0; in != NULL && i < in->n_instruction; i++) {
        const fgi_hlo_op *inner = in->instruction[i];
        if (!fgi_hlo_collective_once(in, inner, &kind, &bytes))
            continue;
        fgi_hlo_config_read(inner, &config);
        fgi_hlo_config_read(op, &of_fusion);
        fgi_plan_add_collective(w, inner, kind, config.algorithm[0] != '\0' ? &config : &of_fusion,
                                times);
    }
}

/* ---- times ----------------------------------------------------------------------------------- */

/* The peak rate of the matrix units of one device. */
static double peak_of(const fgi_plan_machine *m)
{
    return m->chip != NULL ? fg_chip_matmul_rate(m->chip, FG_BF16) : 0;
}

static double compute_time(const fgi_plan_analysis *a)
{
    const fg_chip *chip = a->machine.chip;
    if (chip == NULL || a->total.cycles <= 0 || chip->clock_hz <= 0)
        return -1;
    return a->total.cycles / chip->clock_hz;
}

static double collective_time(const fgi_plan_analysis *a)
{
    double seconds = 0;
    for (size_t i = 0; i < a->collective_count; i++) {
        if (a->collectives[i].seconds < 0)
            return -1;
        seconds += a->collectives[i].seconds;
    }
    return seconds;
}

void fgi_plan_estimate(fgi_plan_analysis *out)
{
    const fg_chip *chip = out->machine.chip;
    const double peak = peak_of(&out->machine);
    out->compute_s = compute_time(out);
    out->memory_s = chip != NULL && chip->memory_bandwidth > 0
                        ? out->total.padded_bytes / (chip->memory_bandwidth / chip->devices)
                        : -1;
    out->collective_s = collective_time(out);
    out->step_s = out->epoch_s = out->mxu_fraction = -1;
    if (out->compute_s >= 0 && out->memory_s >= 0 && out->collective_s >= 0)
        out->step_s =
            (out->compute_s > out->memory_s ? out->compute_s : out->memory_s) + out->collective_s;
    if (out->step_s >= 0 && out->machine.steps_per_epoch > 0)
        out->epoch_s = out->step_s * (double)out->machine.steps_per_epoch;
    if (out->compute_s > 0 && peak > 0)
        out->mxu_fraction = out->total.flops / (out->compute_s * peak);
}

/* Cycles per sample; 0: not known. */
static double each_of(int64_t batch, double cycles)
{
    return batch > 0 && cycles > 0 ? cycles / (double)batch : 0;
}

int64_t fg_plan_saturation_batch(const int64_t *batches, const double *cycles, size_t count)
{
    double best = 0;
    int64_t from = 0;
    for (size_t i = 0; i < count; i++) {
        const double each = each_of(batches[i], cycles[i]);
        if (each > 0 && (best == 0 || each < best))
            best = each;
    }
    for (size_t i = 0; i < count; i++) {
        const double each = each_of(batches[i], cycles[i]);
        if (each > 0 && each <= 1.1 * best && (from == 0 || batches[i] < from))
            from = batches[i];
    }
    return from;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* The user's line of an operation: from its metadata, or from the module's table of stack frames.
 */
static const char *place_of(const fgi_hlo_index *index, const fgi_hlo_op *op, int *line)
{
    const Fgi__Hlo__Place *place = op->place;
    const Fgi__Hlo__StackFrames *frames = index->hlo->module->frames;
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

bool fgi_hlo_has_name(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    int line;
    const char *name = op->place != NULL ? op->place->op_name : "";
    return strchr(name, '/') != NULL || (name[0] != '\0' && place_of(index, op, &line) != NULL);
}

/* The operation whose layer an instruction belongs to: an instruction that the compiler added
 * belongs to the one that uses its result, or whose result it stores. */
static const fgi_hlo_op *named(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    const fgi_hlo_op *at = op;
    for (int i = 0; i < NAMELESS_MAX && at != NULL && !fgi_hlo_has_name(index, at); i++) {
        const fgi_hlo_entry *entry = fgi_hlo_find(index, at->id);
        at = entry != NULL ? entry->user : NULL;
    }
    if (at != NULL && fgi_hlo_has_name(index, at))
        return at;
    at = op;
    for (int i = 0; i < NAMELESS_MAX && at != NULL && !fgi_hlo_has_name(index, at); i++)
        at = fgi_hlo_in(index, at, 0);
    return at != NULL && fgi_hlo_has_name(index, at) ? at : op;
}

const fgi_hlo_op *fgi_hlo_layer(const fgi_hlo_index *index, const fgi_hlo_op *op, char *name,
                                size_t size, const char **file, int *line)
{
    const fgi_hlo_op *from = named(index, op);
    const char *path = fgi_hlo_has_name(index, from) ? from->place->op_name : "";
    int end = (int)strlen(path);
    *file = place_of(index, from, line);
    if (path[0] ==
        '(') /* several operations merged by the compiler, "(fc1/sum:fc2/sum)": the first one */
        end = (int)strcspn(++path, ":)");
    while (end > 0 && path[end] != '/')
        end--;
    if (end > 0)
        (void)snprintf(name, size, "%.*s", end, path);
    else if (*file != NULL)
        (void)snprintf(name, size, "%s:%d", *file, *line);
    else
        (void)snprintf(name, size, "elsewhere");
    return from;
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
    char name[512];
    int line;
    const char *file;
    (void)fgi_hlo_layer(&w->index, op, name, sizeof name, &file, &line);
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
    const fgi_hlo_computation *in = fgi_hlo_body(&w->index, op, "fusion");
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
    fg_collective kind;
    const fgi_hlo_computation *in = fgi_hlo_body(&w->index, op, "async-start");
    const fgi_hlo_op *root = in != NULL ? fgi_hlo_root(&w->index, in) : NULL;
    return root != NULL && strcmp(root->opcode, "fusion") != 0 && !fgi_hlo_collective(root, &kind);
}

static void visit_one(fgi_plan_walk *w, const fgi_hlo_op *op, double times, int depth)
{
    fgi_hlo_config config;
    fg_collective kind;
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

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *known(double value) { return value >= 0 ? json_real(value) : json_null(); }

static json_t *fraction(double part, double whole)
{
    return whole > 0 ? json_real(part / whole) : json_null();
}

static json_t *work_json(const fgi_plan_work *w)
{
    return json_pack("{s:f, s:f, s:f, s:o, s:f, s:f, s:o, s:o}", "cycles", w->cycles, "flops",
                     w->flops, "padded_flops", w->padded_flops, "useful_fraction",
                     fraction(w->flops, w->padded_flops), "hbm_bytes", w->bytes, "padded_hbm_bytes",
                     w->padded_bytes, "useful_bytes_fraction", fraction(w->bytes, w->padded_bytes),
                     "fraction_16bit", fraction(w->flops_16bit, w->flops));
}

static const char *kind_of(const fgi_plan_dim *d)
{
    if (!d->is_batch)
        return "width";
    return d->may_be_width ? "batch or width" : "batch";
}

static json_t *dim_json(const fgi_plan_dim *d)
{
    if (d->size == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:s}", "size", (json_int_t)d->size, "padded",
                     (json_int_t)d->padded, "unit", (json_int_t)d->unit, "kind", kind_of(d));
}

static json_t *layers_json(const fgi_plan_analysis *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->layer_count; i++) {
        const fgi_plan_layer *l = &a->layers[i];
        json_t *one = work_json(&l->work);
        (void)json_object_update_new(
            one,
            json_pack("{s:s, s:s?, s:i, s:o, s:o, s:o, s:f, s:o}", "name", l->name, "file", l->file,
                      "line", l->line, "cycles_fraction", fraction(l->work.cycles, a->total.cycles),
                      "flops_fraction", fraction(l->work.flops, a->total.flops), "bytes_fraction",
                      fraction(l->work.bytes, a->total.bytes), "lost_cycles", l->lost_cycles,
                      "worst_dimension", dim_json(&l->worst)));
        (void)json_array_append_new(list, one);
    }
    return list;
}

static json_t *collectives_json(const fgi_plan_analysis *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->collective_count; i++) {
        const fgi_plan_collective *e = &a->collectives[i];
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:i, s:I, s:s, s:o}", "kind", fg_collective_name(e->kind),
                            "count", e->count, "devices", e->group, "bytes", (json_int_t)e->bytes,
                            "algorithm", e->algorithm, "seconds", known(e->seconds)));
    }
    return list;
}

static json_t *slow_json(const fgi_plan_analysis *a)
{
    json_t *list = json_array();
    for (int k = 0; k < FGI_SLOW_KINDS; k++)
        if (a->slow[k].count > 0)
            (void)json_array_append_new(
                list,
                json_pack("{s:s, s:i, s:s}", "what", fgi_plan_slow_text((fgi_plan_slow_kind)k),
                          "count", a->slow[k].count, "layer",
                          a->slow[k].layer != NULL ? a->slow[k].layer : ""));
    return list;
}

void fgi_plan_put_json(const fgi_plan_analysis *a, fgi_buf *out)
{
    json_t *all = work_json(&a->total);
    const int64_t batch = a->machine.batch;
    (void)json_object_update_new(
        all, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "label",
                       "compiler estimate, not measured", "cycles_per_sample",
                       batch > 0 ? json_real(a->total.cycles / (double)batch) : json_null(),
                       "compute_s", known(a->compute_s), "memory_s", known(a->memory_s),
                       "collective_s", known(a->collective_s), "step_s", known(a->step_s),
                       "epoch_s", known(a->epoch_s), "mxu_fraction", known(a->mxu_fraction),
                       "unknown_loops", a->unknown_loops, "collectives", collectives_json(a),
                       "slow", slow_json(a), "layers", layers_json(a)));
    if (!fgi_json_write(all, JSON_COMPACT | JSON_REAL_PRECISION(9), out))
        out->failed = true;
    json_decref(all);
}
