/* hlo_clocks.c - a program that notes when each of its operations begins and ends.
 *
 * Each operation becomes a call of a computation of three: clock, operation, clock, in this order.
 * XLA's CPU backend runs computations of up to 8 operations in order, one at a time, and larger
 * ones as their data allow. So the calls run in parallel as the operations did. The program was
 * optimized already and is compiled as it is: code and buffers remain the same.
 *
 * The new messages are copies in an arena that point into the module, which stays unchanged.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hlo_clocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/text.h"

typedef Fgi__Hlo__Module Module;
typedef Fgi__Hlo__Computation Computation;
typedef Fgi__Hlo__Instruction Op;
typedef Fgi__Hlo__Shape Shape;

/* ---- units ----------------------------------------------------------------------------------- */

/* The first computations of an operation that are run as part of the program; 0: it is a unit. A
 * call that XLA makes for a small loop is compiled as one function. */
static size_t runs(const fgi_hlo_op *op)
{
    const Fgi__Hlo__Attributes *a = op->attributes;
    for (size_t i = 0; a != NULL && i < a->n_entry; i++)
        if (strcmp(a->entry[i]->key, "xla_cpu_small_call") == 0)
            return 0;
    if (strcmp(op->opcode, "while") == 0) /* followed by the condition */
        return 1;
    return fgi_is_one_of(op->opcode, "call|conditional") ? op->n_called : 0;
}

static bool is_unit(const fgi_hlo_op *op)
{
    return runs(op) == 0 &&
           !fgi_is_one_of(op->opcode, "parameter|constant|tuple|get-tuple-element|bitcast|while|"
                                      "after-all|partition-id|replica-id|opt-barrier");
}

static void mark_run(fgi_hlo_units *u, const fgi_hlo_computation *in)
{
    const fgi_hlo_module *m = u->hlo->module;
    size_t at = 0;
    while (at < m->n_computation && m->computation[at] != in)
        at++;
    if (at == m->n_computation || u->is_run[at])
        return;
    u->is_run[at] = true;
    for (size_t i = 0; i < in->n_instruction; i++)
        for (size_t k = 0; k < runs(in->instruction[i]); k++)
            mark_run(u, fgi_hlo_called(&u->index, in->instruction[i], k));
}

fg_status fgi_hlo_units_make(const fgi_hlo *hlo, fgi_hlo_units *out, fg_error *err)
{
    const fgi_hlo_module *m = hlo->module;
    *out = (fgi_hlo_units){.hlo = hlo};
    FGI_TRY(fgi_hlo_index_make(hlo, &out->index, err));
    out->is_run = fgi_calloc(m->n_computation + 1, sizeof *out->is_run);
    out->unit = fgi_calloc(out->index.count + 1, sizeof *out->unit);
    if (out->is_run == NULL || out->unit == NULL)
        return fgi_no_memory(err);
    mark_run(out, hlo->entry);
    for (size_t c = 0; c < m->n_computation; c++)
        for (size_t i = 0; out->is_run[c] && i < m->computation[c]->n_instruction; i++)
            if (is_unit(m->computation[c]->instruction[i]))
                out->unit[out->count++] =
                    (struct fgi_hlo_unit){m->computation[c]->instruction[i], m->computation[c]};
    return FG_OK;
}

void fgi_hlo_units_fini(fgi_hlo_units *units)
{
    fgi_hlo_index_fini(&units->index);
    fgi_free(units->is_run);
    fgi_free(units->unit);
    *units = (fgi_hlo_units){0};
}

/* ---- clocks ---------------------------------------------------------------------------------- */

enum { XLA_U32 = 8, XLA_TUPLE = 13, XLA_FFI = 4, AROUND = 4 }; /* two clocks and their numbers */

typedef struct maker {
    const fgi_hlo_units *units;
    fgi_arena arena;
    Module module;   /* the new one */
    int64_t next_id; /* of a computation */
    bool failed;     /* out of memory */
} maker;

/* Cleared memory; when there is none, such that can be written to. */
static void *get(maker *m, size_t size)
{
    static _Thread_local char nothing[4096];
    void *memory = fgi_arena_alloc(&m->arena, size);
    m->failed = m->failed || memory == NULL;
    return memory != NULL ? memory : nothing;
}

static int64_t *one(maker *m, int64_t value)
{
    int64_t *list = get(m, sizeof *list);
    *list = value;
    return list;
}

static Shape *shape(maker *m, int element)
{
    Shape *s = get(m, sizeof *s);
    fgi__hlo__shape__init(s);
    s->element = element;
    s->layout = get(m, sizeof *s->layout);
    fgi__hlo__layout__init(s->layout);
    return s;
}

/* Appends an operation to a computation. XLA requires that an id contains the computation's. */
static Op *add(maker *m, Computation *to, const char *opcode, Shape *of_shape)
{
    Op *op = get(m, sizeof *op);
    fgi__hlo__instruction__init(op);
    op->id = to->id << 32 | (int64_t)(to->n_instruction + 1);
    op->name = fgi_arena_printf(&m->arena, "%s.%s.%zu", to->name, opcode, to->n_instruction);
    op->opcode = fgi_arena_strdup(&m->arena, opcode);
    op->shape = of_shape;
    m->failed = m->failed || op->name == NULL || op->opcode == NULL;
    to->instruction[to->n_instruction++] = op;
    return op;
}

static Op *add_clock(maker *m, Computation *to, uint32_t mark)
{
    Op *number = add(m, to, "constant", shape(m, XLA_U32));
    number->literal = get(m, sizeof *number->literal);
    fgi__hlo__literal__init(number->literal);
    number->literal->shape = number->shape;
    number->literal->n_u32 = 1;
    number->literal->u32 = get(m, sizeof mark);
    number->literal->u32[0] = mark;
    Shape *nothing = shape(m, XLA_TUPLE);
    nothing->layout = NULL;
    Op *clock = add(m, to, "custom-call", nothing);
    clock->target = fgi_arena_strdup(&m->arena, FGI_KERNEL_CLOCK);
    clock->interface = XLA_FFI;
    clock->has_effect = true;
    clock->n_operand = 1;
    clock->operand = one(m, number->id);
    return clock;
}

static void run_after(maker *m, Op *op, const Op *before)
{
    op->n_after = 1;
    op->after = one(m, before->id);
}

/* A parameter for each operand. */
static void add_parameters(maker *m, Computation *to, const Op *op)
{
    Fgi__Hlo__Signature *s = get(m, sizeof *s);
    fgi__hlo__signature__init(s);
    s->parameter = get(m, (op->n_operand + 1) * sizeof(Shape *));
    s->name = get(m, (op->n_operand + 1) * sizeof(char *));
    s->result = op->shape;
    for (size_t i = 0; i < op->n_operand && !m->failed; i++) {
        const fgi_hlo_op *from = fgi_hlo_in(&m->units->index, op, i);
        Op *p = add(m, to, "parameter", from != NULL ? from->shape : NULL);
        p->parameter = (int64_t)i;
        s->parameter[s->n_parameter++] = p->shape;
        s->name[s->n_name++] = p->name;
    }
    to->signature = s;
}

/* The call that replaces a unit, under its id, and the computation that it calls. */
static Op *enclose(maker *m, const Op *op, size_t number)
{
    Computation *c = get(m, sizeof *c);
    fgi__hlo__computation__init(c);
    c->id = m->next_id++;
    c->name = fgi_arena_printf(&m->arena, "timed.%zu", number);
    c->instruction = get(m, (op->n_operand + AROUND + 2) * sizeof(Op *));
    add_parameters(m, c, op);
    Op *begin = add_clock(m, c, (uint32_t)(2 * number));
    Op *inner = add(m, c, op->opcode, op->shape), made = *inner;
    *inner = *op;
    inner->id = made.id;
    inner->operand = get(m, (op->n_operand + 1) * sizeof(int64_t));
    for (size_t i = 0; i < op->n_operand && !m->failed; i++)
        inner->operand[i] = c->instruction[i]->id;
    run_after(m, inner, begin);
    run_after(m, add_clock(m, c, (uint32_t)(2 * number + 1)), inner);
    c->root = inner->id;
    m->module.computation[m->module.n_computation++] = c;

    Op *call = get(m, sizeof *call);
    *call = made;
    call->id = op->id;
    call->name = fgi_arena_printf(&m->arena, "timed_call.%zu", number);
    call->opcode = fgi_arena_strdup(&m->arena, "call");
    call->n_operand = op->n_operand;
    call->operand = op->operand;
    call->n_after = op->n_after;
    call->after = op->after;
    call->n_called = 1;
    call->called = one(m, c->id);
    m->failed = m->failed || c->name == NULL || call->name == NULL || call->opcode == NULL;
    return call;
}

/* Computations come before those that call them. */
static void add_computations(maker *m, size_t first)
{
    const fgi_hlo_module *from = m->units->hlo->module;
    size_t number = first;
    for (size_t c = 0; c < from->n_computation && !m->failed; c++) {
        Computation *copy = from->computation[c];
        if (m->units->is_run[c]) {
            copy = get(m, sizeof *copy);
            *copy = *from->computation[c];
            copy->instruction = get(m, (copy->n_instruction + 1) * sizeof(Op *));
            for (size_t i = 0; i < copy->n_instruction && !m->failed; i++) {
                Op *op = from->computation[c]->instruction[i];
                copy->instruction[i] = is_unit(op) ? enclose(m, op, number++) : op;
            }
        }
        m->module.computation[m->module.n_computation++] = copy;
    }
}

static fg_status pack(const Module *module, fgi_buf *out, fg_error *err)
{
    const size_t size = fgi__hlo__module__get_packed_size(module);
    unsigned char *bytes = fgi_alloc(size + 1);
    if (bytes == NULL)
        return fgi_no_memory(err);
    (void)fgi__hlo__module__pack(module, bytes);
    fgi_buf_add(out, bytes, size);
    fgi_free(bytes);
    return fgi_buf_status(out, err);
}

fg_status fgi_hlo_put_clocks(const fgi_hlo_units *units, size_t first, fgi_buf *out, fg_error *err)
{
    const fgi_hlo_module *from = units->hlo->module;
    maker m = {.units = units, .module = *from};
    fgi_arena_init(&m.arena);
    for (size_t c = 0; c < from->n_computation; c++)
        if (from->computation[c]->id >= m.next_id)
            m.next_id = from->computation[c]->id + 1;
    m.module.schedule = (ProtobufCBinaryData){0}; /* of the other operations */
    m.module.n_computation = 0;
    m.module.computation =
        fgi_arena_alloc(&m.arena, (from->n_computation + units->count) * sizeof(Computation *));
    m.failed = m.module.computation == NULL;
    add_computations(&m, first);
    const fg_status status = m.failed ? fgi_no_memory(err) : pack(&m.module, out, err);
    fgi_arena_fini(&m.arena);
    return status;
}

/* ---- ticks ----------------------------------------------------------------------------------- */

enum { AT_ONCE = 256 }; /* units */

/* A unit that takes no time begins first. */
static int in_time(const void *a, const void *b)
{
    const fgi_tick *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? 1 : -1;
    return (int)(x->mark % 2) - (int)(y->mark % 2);
}

void fgi_ticks_add(fgi_tick *ticks, size_t count, fgi_unit_times *to)
{
    size_t running[AT_ONCE], runs = 0;
    qsort(ticks, count, sizeof *ticks, in_time);
    for (size_t i = 0; i < count; i++) {
        const double passed = i > 0 ? (double)(ticks[i].ns - ticks[i - 1].ns) : 0;
        const size_t unit = ticks[i].mark / 2;
        size_t at = 0;
        to->step_ns += passed;
        to->between_ns += runs == 0 ? passed : 0;
        for (size_t k = 0; k < runs; k++)
            to->ns[running[k]] += passed / (double)runs;
        while (at < runs && running[at] != unit)
            at++;
        if (ticks[i].mark % 2 == 1 && at < runs)
            running[at] = running[--runs];
        if (ticks[i].mark % 2 == 0 && runs < AT_ONCE) {
            running[runs++] = unit;
            to->begins[unit]++;
        }
    }
}
