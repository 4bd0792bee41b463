/* step_times.c - the time of a step by operation.
 *
 * Steps are recorded one at a time: ticks when units (hlo_clocks.h) begin and end, from the kernel
 * FGI_KERNEL_CLOCK or from the plugin's profiler.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "plan/bench.h"
#include "plan/hlo_clocks.h"
#include "profile/profile_files.h"

enum { MOST_TICKS = 1 << 20, PROGRAMS = 2 };

/* ---- kinds of operations --------------------------------------------------------------------- */

/* A fusion is of the first kind that one of its operations is of. */
typedef enum kind {
    CONV,
    MATMUL,
    COLLECTIVE,
    KERNEL,
    REDUCTION,
    REST,
    POINTWISE,
    COPY,
    OPTIMIZER,
    KINDS
} kind;
static const char *const kind_names[] = {
    "convolutions", "matmuls",     "collectives",    "kernels",  "normalization, reductions",
    "rest",         "elementwise", "copies, layout", "optimizer"};

static const struct {
    kind kind;
    const char *opcodes;
} kinds[] = {
    {REDUCTION, "reduce|reduce-window|select-and-scatter"},
    {REDUCTION, "batch-norm-training|batch-norm-inference|batch-norm-grad"},
    {COPY, "parameter|constant|tuple|get-tuple-element|bitcast|copy|copy-start|copy-done|iota"},
    {COPY, "transpose|reshape|broadcast|concatenate|pad|reverse"},
    {COPY, "slice|dynamic-slice|dynamic-update-slice|async-start|async-update|async-done"},
    {REST, "gather|scatter|sort|fft|cholesky|triangular-solve|call|while|conditional"},
    {REST, "rng|rng-bit-generator|rng-get-and-update-state"},
};

static kind kind_alone(const fgi_hlo_op *op)
{
    const fgi_hlo_matmul matmul = fgi_hlo_matmul_kind(op);
    if (matmul != FGI_HLO_NONE)
        return matmul == FGI_HLO_CONV ? CONV : MATMUL;
    for (int k = 0; k < FG_COLLECTIVES; k++) { /* or the start or end of one */
        const char *name = fg_collective_name((fg_collective)k);
        if (strncmp(op->opcode, name, strlen(name)) == 0)
            return COLLECTIVE;
    }
    if (strcmp(op->opcode, "custom-call") == 0) /* a library's, or a kernel */
        return strstr(op->target, "matmul") != NULL ? MATMUL
               : strstr(op->target, "conv") != NULL ? CONV
                                                    : KERNEL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (fgi_is_one_of(op->opcode, kinds[i].opcodes))
            return kinds[i].kind;
    return POINTWISE;
}

/* The kind, and the arithmetic of matmuls in it. */
static kind kind_of(const fgi_hlo_index *index, const fgi_hlo_computation *in, const fgi_hlo_op *op,
                    double *flops)
{
    fgi_hlo_arithmetic a;
    const fgi_hlo_computation *body = fgi_hlo_body(index, op, "fusion");
    kind first = body != NULL ? COPY : kind_alone(op);
    *flops += fgi_hlo_arithmetic_of(index, op, &a) ? a.flops : fgi_hlo_kernel_flops(op);
    for (size_t i = 0; body != NULL && i < body->n_instruction; i++) {
        const kind one = kind_of(index, body, body->instruction[i], flops);
        first = one < first ? one : first;
    }
    return first;
}

/* ---- a step, by unit ------------------------------------------------------------------------- */

/* A program of the step: of its batches, or the update after several. */
typedef struct program {
    fgi_step_program *step;
    fgi_executable *timed; /* the other one of the step: with clocks, or, meanwhile, without */
    fgi_hlo *hlo;
    fgi_hlo_units units;
    size_t first; /* number of its first unit */
} program;

typedef struct unit_name {
    const char *name; /* of the instruction */
    size_t unit;
} unit_name;

typedef struct recorder {
    fg_client *client;
    fgi_trial *trial;
    program program[PROGRAMS];
    size_t program_count, unit_count;
    fgi_unit_times sum; /* over all steps */
    fgi_tick *ticks;    /* of a step */
    size_t tick_count;
    unit_name *names; /* sorted; for the plugin's profiler */
} recorder;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const unit_name *)a)->name, ((const unit_name *)b)->name);
}

static void take_event(void *self, const char *name, int64_t begin_ns, int64_t end_ns)
{
    recorder *r = self;
    const unit_name key = {.name = name + (name[0] == '%')};
    const unit_name *found = bsearch(&key, r->names, r->unit_count, sizeof key, by_name);
    if (found != NULL && r->tick_count + 2 <= MOST_TICKS) {
        r->ticks[r->tick_count++] = (fgi_tick){begin_ns, (uint32_t)(2 * found->unit)};
        r->ticks[r->tick_count++] = (fgi_tick){end_ns, (uint32_t)(2 * found->unit + 1)};
    }
}

static fg_status record_by_plugin(recorder *r, fg_error *err)
{
    double loss;
    fgi_profiler *profiler = NULL;
    unsigned char *data = NULL;
    size_t size = 0;
    FGI_TRY(fgi_profiler_start(r->client, &profiler, err));
    fg_status status = fgi_trial_step(r->trial, &loss, err);
    if (status == FG_OK)
        status = fgi_profiler_stop(profiler, &data, &size, err);
    if (status == FG_OK)
        status = fgi_xspace_read(data, size, take_event, r, err);
    if (status == FG_OK && r->tick_count == 0)
        status = fgi_fail(err, FG_EUNSUPPORTED,
                          "the plugin's profiler recorded no operations of the devices\non GPUs, "
                          "it requires CUPTI of the CUDA toolkit");
    fgi_profiler_destroy(profiler);
    fgi_free(data);
    return status;
}

static fg_status record_by_clock(recorder *r, fg_error *err)
{
    double loss;
    if (!fgi_clock_start(r->ticks, MOST_TICKS))
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "the operations of another program of this process are being timed");
    const fg_status status = fgi_trial_step(r->trial, &loss, err);
    r->tick_count = fgi_clock_stop();
    if (status == FG_OK && r->tick_count > MOST_TICKS)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "a step runs %zu operations: expected at most %d\nuse smaller samples, "
                        "such as shorter sequences",
                        r->tick_count / 2, MOST_TICKS / 2);
    return status;
}

static fg_status record(recorder *r, int64_t steps, fg_error *err)
{
    const bool has_clock = fgi_client_has_clock(r->client);
    for (int64_t i = -1; i < steps; i++) {
        r->tick_count = 0;
        FGI_TRY(has_clock ? record_by_clock(r, err) : record_by_plugin(r, err));
        if (i >= 0) /* the first one warms up */
            fgi_ticks_add(r->ticks, r->tick_count, &r->sum);
    }
    return FG_OK;
}

/* ---- preparing ------------------------------------------------------------------------------- */

/* The program with clocks. */
static fg_status recompile(recorder *r, program *p, const fgi_executable *plain, fg_error *err)
{
    fgi_buf module = {0};
    size_t flag_count;
    const fgi_flag *flags = fgi_cpu_flags(r->client, &flag_count);
    fg_status status = fgi_hlo_put_clocks(&p->units, p->first, &module, err);
    if (status == FG_OK)
        status = fgi_recompile(plain, module.data, module.size, flags, flag_count, &p->timed, err);
    fgi_buf_fini(&module);
    if (status == FG_OK)
        fgi_step_program_swap(p->step, &p->timed);
    return status;
}

static fg_status add_program(recorder *r, fgi_step_program *step, fg_error *err)
{
    char *data = NULL;
    size_t size = 0;
    program *p = &r->program[r->program_count++];
    const fgi_executable *plain = fgi_step_program_executable(step);
    *p = (program){.step = step, .first = r->unit_count};
    FGI_TRY(fgi_executable_optimized(plain, &data, &size, err));
    fg_status status = fgi_hlo_read(data, size, &p->hlo, err);
    fgi_free(data);
    if (status == FG_OK)
        status = fgi_hlo_units_make(p->hlo, &p->units, err);
    r->unit_count += p->units.count;
    return status == FG_OK && fgi_client_has_clock(r->client) ? recompile(r, p, plain, err)
                                                              : status;
}

static fg_status prepare(recorder *r, fg_error *err)
{
    const fgi_stage *stage = fgi_trial_stage(r->trial);
    FGI_TRY(add_program(r, stage->program, err));
    if (stage->accumulator != NULL)
        FGI_TRY(add_program(r, stage->accumulator->update, err));
    r->sum.ns = fgi_calloc(r->unit_count + 1, sizeof *r->sum.ns);
    r->sum.begins = fgi_calloc(r->unit_count + 1, sizeof *r->sum.begins);
    r->names = fgi_calloc(r->unit_count + 1, sizeof *r->names);
    r->ticks = fgi_alloc(MOST_TICKS * sizeof *r->ticks);
    if (r->sum.ns == NULL || r->sum.begins == NULL || r->names == NULL || r->ticks == NULL)
        return fgi_no_memory(err);
    for (size_t p = 0, i = 0; p < r->program_count; p++)
        for (size_t k = 0; k < r->program[p].units.count; k++, i++)
            r->names[i] = (unit_name){r->program[p].units.unit[k].op->name, i};
    qsort(r->names, r->unit_count, sizeof *r->names, by_name);
    return FG_OK;
}

static void fini(recorder *r)
{
    for (size_t i = 0; i < r->program_count; i++) {
        program *p = &r->program[i];
        if (p->timed != NULL)
            fgi_step_program_swap(p->step, &p->timed);
        fgi_executable_destroy(p->timed);
        fgi_hlo_units_fini(&p->units);
        fgi_hlo_free(p->hlo);
    }
    fgi_free(r->sum.ns);
    fgi_free(r->sum.begins);
    fgi_free(r->names);
    fgi_free(r->ticks);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Units of the same kind, name and place. */
typedef struct row {
    kind kind;
    const char *name, *layer, *file; /* layer and file NULL: not known */
    int line;
    double ns, begins, flops; /* over all steps */
} row;

typedef struct table {
    fgi_arena texts;
    row *row;
    size_t count, capacity;
    row kinds[KINDS];
} table;

/* "conv1/conv_dk" -> "conv_dk"; a kernel by its name. */
static const char *name_of(fgi_arena *texts, const fgi_hlo_op *op)
{
    const char *path = op->place != NULL ? op->place->op_name : "";
    if (strcmp(op->opcode, "custom-call") == 0)
        return op->target;
    if (path[0] == '(') /* several, "(fc1/sum:fc2/sum)": the first one */
        path = fgi_arena_printf(texts, "%.*s", (int)strcspn(path + 1, ":)"), path + 1);
    const char *tail = path != NULL ? strrchr(path, '/') : NULL;
    return tail != NULL ? tail + 1 : path != NULL && path[0] != '\0' ? path : op->opcode;
}

static bool has_scope(const fgi_hlo_op *op)
{
    return op->place != NULL && strchr(op->place->op_name, '/') != NULL;
}

/* The operation whose place a unit has: of a fusion outside modules, the last one in a module.
 * NULL: it has a name, but no place. */
static const fgi_hlo_op *placed(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    const fgi_hlo_computation *body = fgi_hlo_body(index, op, "fusion");
    for (size_t i = body != NULL && !has_scope(op) ? body->n_instruction : 0; i-- > 0;)
        if (has_scope(body->instruction[i]))
            return body->instruction[i];
    const bool is_lost = op->place != NULL && op->place->op_name[0] != '\0';
    return is_lost && !fgi_hlo_has_name(index, op) ? NULL : op;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void add(row *to, const row *one)
{
    to->kind = one->kind;
    to->ns += one->ns;
    to->begins += one->begins;
    to->flops += one->flops;
}

static row describe(table *t, const recorder *r, const program *p, size_t i)
{
    char layer[512];
    const fgi_hlo_op *op = p->units.unit[i].op;
    const fgi_hlo_op *from = placed(&p->units.index, op);
    row one = {.name = name_of(&t->texts, op),
               .ns = r->sum.ns[p->first + i],
               .begins = r->sum.begins[p->first + i]};
    double flops = 0;
    one.kind = kind_of(&p->units.index, p->units.unit[i].in, op, &flops);
    one.flops = flops * one.begins;
    if (from == NULL)
        return one;
    (void)fgi_hlo_layer(&p->units.index, from, layer, sizeof layer, &one.file, &one.line);
    if (strcmp(layer, "elsewhere") != 0)
        one.layer = fgi_arena_strdup(&t->texts, layer);
    if (one.kind > COLLECTIVE && one.layer != NULL && strncmp(layer, "optimizer", 9) == 0)
        one.kind = OPTIMIZER;
    return one;
}

static fg_status add_unit(table *t, const recorder *r, const program *p, size_t i, fg_error *err)
{
    const row one = describe(t, r, p, i);
    size_t at = 0;
    while (at < t->count &&
           !(t->row[at].kind == one.kind && t->row[at].line == one.line &&
             is_same(t->row[at].name, one.name) && is_same(t->row[at].layer, one.layer) &&
             is_same(t->row[at].file, one.file)))
        at++;
    if (at == t->count) {
        FGI_TRY_GROW(t->row, t->count, t->capacity, err);
        t->row[t->count] = one;
        t->row[t->count++].ns = t->row[at].begins = t->row[at].flops = 0;
    }
    add(&t->row[at], &one);
    add(&t->kinds[one.kind], &one);
    return FG_OK;
}

static int longest_first(const void *a, const void *b)
{
    const row *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static json_t *row_json(const recorder *r, const row *one, int64_t steps)
{
    const double calls = (double)steps * fg_client_info_of(r->client)->device_count;
    return json_pack("{s:s, s:f, s:f, s:f, s:o}", "kind", kind_names[one->kind], "fraction",
                     r->sum.step_ns > 0 ? one->ns / r->sum.step_ns : 0, "ms",
                     one->ns / 1e6 / (double)steps, "calls", one->begins / calls, "gflops",
                     one->flops > 0 && one->ns > 0 ? json_real(one->flops / one->ns) : json_null());
}

static json_t *rows_json(const recorder *r, row *rows, size_t count, int64_t steps)
{
    json_t *list = json_array();
    qsort(rows, count, sizeof *rows, longest_first);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].begins == 0)
            continue;
        json_t *one = row_json(r, &rows[i], steps);
        if (rows[i].name != NULL)
            (void)json_object_update_new(
                one, json_pack("{s:s, s:s?, s:s?, s:o}", "operation", rows[i].name, "layer",
                               rows[i].layer, "file", rows[i].file, "line",
                               rows[i].file != NULL ? json_integer(rows[i].line) : json_null()));
        (void)json_array_append_new(list, one);
    }
    return list;
}

static fg_status put(const recorder *r, int64_t steps, json_t *out, fg_error *err)
{
    table t = {.count = 0};
    fgi_arena_init(&t.texts);
    fg_status status = FG_OK;
    for (size_t p = 0; p < r->program_count; p++)
        for (size_t i = 0; status == FG_OK && i < r->program[p].units.count; i++)
            status = add_unit(&t, r, &r->program[p], i, err);
    if (status == FG_OK)
        (void)json_object_set_new(
            out, "profile",
            json_pack("{s:s, s:f, s:f, s:f, s:o, s:o}", "source",
                      fgi_client_has_clock(r->client) ? "clocks" : "plugin", "step_ms",
                      r->sum.step_ns / 1e6 / (double)steps, "between_ms",
                      r->sum.between_ns / 1e6 / (double)steps, "between_fraction",
                      r->sum.step_ns > 0 ? r->sum.between_ns / r->sum.step_ns : 0, "kinds",
                      rows_json(r, t.kinds, KINDS, steps), "operations",
                      rows_json(r, t.row, t.count, steps)));
    fgi_free(t.row);
    fgi_arena_fini(&t.texts);
    return status;
}

fg_status fgi_step_times_put(fgi_trial *trial, fg_client *client, int64_t steps, json_t *out,
                             fg_error *err)
{
    recorder r = {.client = client, .trial = trial};
    fg_status status = prepare(&r, err);
    if (status == FG_OK)
        status = record(&r, steps, err);
    if (status == FG_OK)
        status = put(&r, steps, out, err);
    fini(&r);
    return status;
}
