/* loop.c - loops: lowering to a StableHLO while, gradient, and the two public forms.
 *
 * The gradient of a loop is a loop in the opposite direction. Its body is the derivative of the
 * body: it receives the derivatives by the next carried values and by y, and computes those by the
 * carried values, x and captures; the latter are summed up. Values of the forward iterations become
 * further y of the forward loop (trace/body.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/here.h"
#include "op/op.h"
#include "trace/body.h"
#include "trace/trace.h"

/* ---- lowering -------------------------------------------------------------------------------- */

/* The state of the while: the number of iterations so far, the carried values, the y that are used,
 * and all other inputs of the node, which do not change. */
typedef struct loop {
    fgi_emit *e;
    const fgi_node *node;
    const fgi_region *r;
    int y_used, inputs; /* positions in the state: the first input after the y */
} loop;

static fgi_value value_of(const loop *l, const fgi_node *node)
{
    return (fgi_value){l->e->value[node->first->id], node->type};
}

/* Sets the values of the nodes that the state represents. */
static void enter(const loop *l, const fgi_value *state)
{
    const fgi_region *r = l->r;
    const fgi_value *x = state + l->inputs;
    for (int i = 0; i < r->carry_count; i++)
        l->e->value[r->carry[i]->id] = state[1 + i].id;
    for (int i = r->x_count; i < r->x_count + r->capture_count; i++)
        l->e->value[l->node->in[r->carry_count + i]->first->id] = x[i].id;
}

static fgi_value iterations(const loop *l, fgi_builder *b, const fgi_value *state)
{
    const fgi_region *r = l->r;
    return r->is_counted ? state[l->inputs + r->x_count + r->capture_count]
                         : fgi_build_splat(b, &state[0].type, (double)r->length);
}

static fgi_value is_more(fgi_builder *b, void *context, const fgi_value *state)
{
    const loop *l = context;
    const fgi_region *r = l->r;
    const bool has_end = r->length > 0 || r->is_counted;
    fgi_value below = {0};
    if (has_end)
        below = fgi_build_compare(b, "LT", state[0], iterations(l, b, state));
    if (r->condition == NULL)
        return below;
    enter(l, state);
    fgi_emit_region(l->e, r, r->condition);
    const fgi_value condition = value_of(l, r->condition);
    return has_end ? fgi_build_binary(b, "and", below, condition) : condition;
}

/* Row t of x. */
static fgi_value row_at(fgi_builder *b, fgi_value x, fgi_value t)
{
    int64_t size[FG_MAX_RANK] = {1};
    for (int i = 1; i < x.type.rank; i++)
        size[i] = x.type.dim[i];
    const fgi_block_start start = {.count = 1, .axis = {0}, .at = {t}};
    const fgi_value row = fgi_build_dynamic_slice(b, x, &start, size);
    return fgi_build_reshape(b, row, x.type.rank - 1, size + 1);
}

static fgi_value with_row(fgi_builder *b, fgi_value y, fgi_value row, fgi_value t)
{
    int64_t dim[FG_MAX_RANK] = {1};
    for (int i = 1; i < y.type.rank; i++)
        dim[i] = y.type.dim[i];
    const fgi_value block = fgi_build_reshape(b, row, y.type.rank, dim);
    return fgi_build_dynamic_update_slice(b, y, block,
                                          &(fgi_block_start){.count = 1, .axis = {0}, .at = {t}});
}

static void iterate(fgi_builder *b, void *context, fgi_value *state)
{
    const loop *l = context;
    const fgi_region *r = l->r;
    fgi_value t = state[0];
    if (r->is_reverse)
        t = fgi_build_binary(b, "subtract",
                             fgi_build_index(b, "subtract", iterations(l, b, state), 1), t);
    enter(l, state);
    for (int i = 0; i < r->x_count; i++)
        l->e->value[r->x[i]->first->id] = row_at(b, state[l->inputs + i], t).id;
    if (r->index != NULL)
        l->e->value[r->index->id] = t.id;
    fgi_emit_region(l->e, r, NULL);
    for (int i = 0; i < r->carry_count; i++)
        state[1 + i] = value_of(l, r->next[i]);
    fgi_value *y = state + 1 + r->carry_count;
    for (int i = 0; i < r->y_count; i++)
        if (fgi_emit_is_used(l->e, r->carry_count + 1 + i)) {
            *y = with_row(b, *y, value_of(l, r->y[i]), t);
            y++;
        }
    state[0] = fgi_build_index(b, "add", state[0], 1);
}

/* Writes the first values of the state; returns their number. */
static int first_state(loop *l, fgi_value *state)
{
    static const fg_type index = {.dtype = FG_S32};
    const fgi_region *r = l->r;
    int n = 0;
    state[n++] = fgi_build_splat(&l->e->b, &index, 0);
    for (int i = 0; i < r->carry_count; i++)
        state[n++] = fgi_emit_in(l->e, i);
    for (int i = r->carry_count + 1; i < l->node->results->count; i++)
        if (fgi_emit_is_used(l->e, i))
            state[n++] = fgi_build_splat(&l->e->b, &l->node->results->type[i], 0);
    l->inputs = n;
    for (int i = r->carry_count; i < l->node->arity; i++)
        state[n++] = fgi_emit_in(l->e, i);
    return n;
}

static void become_results(const loop *l, const fgi_value *state)
{
    const int carried = l->r->carry_count;
    int n = 0;
    fgi_emit_become_at(l->e, carried, state[n++]);
    for (int i = 0; i < carried; i++)
        fgi_emit_become_at(l->e, i, state[n++]);
    for (int i = carried + 1; i < l->node->results->count; i++)
        if (fgi_emit_is_used(l->e, i))
            fgi_emit_become_at(l->e, i, state[n++]);
}

/* Within the loop, the values of nodes from outside are those in its state. */
static void loop_emit(fgi_emit *e)
{
    loop l = {.e = e, .node = e->node, .r = e->node->body};
    const size_t size = e->node->trace->node_count * sizeof *e->value;
    const size_t most = (size_t)e->node->arity + (size_t)e->node->results->count + 1;
    uint32_t *outside = fgi_calloc(1, size);
    fgi_value *state = fgi_calloc(most, sizeof *state);
    if (outside == NULL || state == NULL) {
        e->b.out->failed = true;
    } else {
        const int count = first_state(&l, state);
        memcpy(outside, e->value, size);
        fgi_build_while(&e->b, &(fgi_while){is_more, iterate, &l}, count, state);
        memcpy(e->value, outside, size);
        become_results(&l, state);
    }
    fgi_free(outside);
    fgi_free(state);
}

/* ---- gradient -------------------------------------------------------------------------------- */

/* The loop of a gradient while it is made. */
typedef struct back {
    const fgi_vjp *v;
    fgi_node *node; /* the forward loop */
    fgi_region *r, *region;
    fg_trace *trace;
    fg_tensor init[FGI_MAX_INPUTS], x[FGI_MAX_INPUTS], dof[FGI_MAX_INPUTS];
    fgi_node *of[FGI_MAX_INPUTS], *wrt[FGI_MAX_INPUTS];
    fg_tensor by[FGI_MAX_INPUTS]; /* derivatives by wrt: carried values, x, captures */
    int of_count;
} back;

static fg_tensor zeros_of(fg_trace *trace, const fg_type *type)
{
    return fg_zeros(trace, type->dtype, type->rank, type->dim);
}

/* The derivatives by what an iteration computes. */
static void derivatives_by_results(back *k)
{
    const fgi_region *r = k->r;
    for (int i = 0; i < r->carry_count; i++) {
        const fgi_node *c = r->carry[i];
        if (!fg_dtype_is_float(c->type.dtype))
            continue;
        k->init[k->region->carry_count] =
            k->v->douts[i].handle != 0 ? k->v->douts[i] : zeros_of(k->trace, &c->type);
        k->of[k->of_count] = r->next[i];
        k->dof[k->of_count++] = fgi_region_carry(k->region, k->trace, &c->type, c->rows);
    }
    for (int i = 0; i < r->y_count; i++) {
        const fg_tensor dout = k->v->douts[r->carry_count + 1 + i];
        if (dout.handle == 0)
            continue;
        k->x[k->region->x_count] = dout;
        k->of[k->of_count] = r->y[i];
        k->dof[k->of_count++] = fgi_region_x(k->region, k->trace, &r->y[i]->type, r->y[i]->rows);
    }
}

static void differentiate(back *k)
{
    const fgi_region *r = k->r;
    const int count = r->carry_count + r->x_count + r->capture_count;
    for (int i = 0; i < count; i++)
        k->wrt[i] = i < r->carry_count                ? r->carry[i]
                    : i < r->carry_count + r->x_count ? r->x[i - r->carry_count]
                                                      : k->node->in[i];
    fgi_grad_path(
        k->trace,
        &(fgi_path){
            .of = k->of, .dof = k->dof, .of_count = k->of_count, .wrt = k->wrt, .wrt_count = count},
        k->by);
}

/* Adds up the derivatives by a capture: in f32 for narrower dtypes. */
static fg_tensor add_up(back *k, fg_tensor term)
{
    fg_type type = *fg_tensor_type(term);
    if (fgi_is_half(type.dtype))
        type.dtype = FG_F32;
    k->init[k->region->carry_count] = zeros_of(k->trace, &type);
    const fg_tensor sum = fgi_region_carry(k->region, k->trace, &type, NULL);
    return fg_add(sum, fg_cast(term, type.dtype));
}

/* What an iteration of the gradient computes; place[i] is the result for input i of the loop, as a
 * carried value (1 and up) or as a y (-1 and down). */
static bool collect_results(back *k, int *place)
{
    const fgi_region *r = k->r;
    fgi_region *g = k->region;
    int next = 0;
    bool is_good = true;
    for (int i = 0; is_good && i < r->carry_count; i++) {
        if (!fg_dtype_is_float(r->carry[i]->type.dtype))
            continue;
        const fg_tensor d =
            k->by[i].handle != 0 ? k->by[i] : zeros_of(k->trace, &r->carry[i]->type);
        is_good = fgi_region_push(k->trace, &g->next, &next, fgi_node_of(d));
        place[i] = next;
    }
    for (int i = r->carry_count; is_good && i < r->carry_count + r->x_count; i++)
        if (k->v->need[i] && k->by[i].handle != 0) {
            is_good = fgi_region_push(k->trace, &g->y, &g->y_count, fgi_node_of(k->by[i]));
            place[i] = -g->y_count;
        }
    const int captures = r->carry_count + r->x_count;
    for (int i = captures; is_good && i < captures + r->capture_count; i++)
        if (k->v->need[i] && k->by[i].handle != 0) {
            const fg_tensor sum = add_up(k, k->by[i]);
            is_good = fgi_region_push(k->trace, &g->next, &next, fgi_node_of(sum));
            place[i] = next;
        }
    return is_good && k->trace->error.status == FG_OK;
}

static const fgi_op loop_op;

static void run_back(back *k)
{
    const fgi_region *r = k->r;
    int place[FGI_MAX_INPUTS] = {0};
    fgi_node *made = NULL;
    derivatives_by_results(k);
    differentiate(k);
    const bool is_counted = r->condition != NULL || r->is_counted;
    const fg_tensor count = is_counted ? fgi_result(k->node, r->carry_count) : (fg_tensor){0};
    if (collect_results(k, place))
        made = fgi_region_finish(k->region, k->trace, &loop_op,
                                 &(fgi_loop_inputs){k->init, k->x, count});
    else
        fgi_region_close(k->trace, k->region);
    for (int i = 0; made != NULL && i < k->node->arity; i++)
        if (place[i] != 0 && k->v->need[i])
            k->v->din[i] =
                fgi_result(made, place[i] > 0 ? place[i] - 1 : k->region->carry_count - place[i]);
}

static void loop_vjp(fgi_vjp *v)
{
    fgi_node *node = fgi_node_of(v->out);
    fg_trace *trace = node->trace;
    back *k = fgi_calloc(1, sizeof *k);
    fgi_region *region = k != NULL ? fgi_region_open(trace, node->body) : NULL;
    if (region == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
    } else {
        region->length = node->body->length;
        region->is_reverse = !node->body->is_reverse;
        k->v = v;
        k->node = node;
        k->r = node->body;
        k->region = region;
        k->trace = trace;
        run_back(k);
    }
    fgi_free(k);
}

static const fgi_op loop_op = {
    .name = "loop", .arity = -1, .rows = fgi_rows_never, .emit = loop_emit, .vjp = loop_vjp};

/* ---- the public forms ------------------------------------------------------------------------ */

typedef struct definition {
    const char *name;
    int carry_count, x_count, y_count;
    int64_t length;
    bool reverse;
    const fg_scan_options *scan; /* one of both is NULL */
    const fg_while_options *repeat;
    const fg_tensor *carry, *x;
    fg_trace *trace;
    const fgi_rows *rows[FG_LOOP_VALUES]; /* of the carried values */
} definition;

static bool check_counts(const definition *d)
{
    const bool is_good = d->carry_count >= 0 && d->carry_count <= FG_LOOP_VALUES &&
                         d->x_count >= 0 && d->x_count <= FG_LOOP_VALUES && d->y_count >= 0 &&
                         d->y_count <= FG_LOOP_VALUES && d->length >= 0 && d->length <= INT32_MAX;
    const bool has_body = d->scan != NULL ? d->scan->body != NULL
                                          : d->repeat->body != NULL && d->repeat->condition != NULL;
    if (is_good && !has_body)
        (void)fgi_trace_fail(d->trace, FG_EINVAL, "%s: expected a function for the body%s", d->name,
                             d->repeat != NULL ? " and one for the condition" : "");
    if (!is_good)
        (void)fgi_trace_fail(d->trace, FG_EINVAL,
                             "%s: %d carried values, %d x, %d y, length %" PRId64
                             ": expected at most %d of each, and a length from 1 to 2^31 - 1",
                             d->name, d->carry_count, d->x_count, d->y_count, d->length,
                             (int)FG_LOOP_VALUES);
    return is_good && has_body;
}

/* Whether x can be read row by row; sets the length if it is not given. */
static bool check_x(definition *d, int i)
{
    const fg_tensor x = d->x[i];
    const fg_type *type = fg_tensor_type(x);
    const fgi_rows *rows = fgi_node_of(x)->rows;
    char text[96];
    if (d->length == 0 && type->rank > 0)
        d->length = type->dim[0];
    if (type->rank == 0 || type->dim[0] != d->length || d->length == 0) {
        (void)fgi_trace_fail(
            d->trace, FG_ESHAPE,
            "scan: x %d is %s: expected a first dimension of %" PRId64 ", the number of iterations",
            i, fg_type_format(type, text, sizeof text), d->length > 0 ? d->length : 1);
        return false;
    }
    if (rows != NULL && rows->step[0] != 0) {
        (void)fgi_trace_fail(d->trace, FG_EINVAL,
                             "scan: the first dimension of x %d is the batch axis: transpose it so "
                             "that the loop runs over another one",
                             i);
        return false;
    }
    return true;
}

static bool check(definition *d)
{
    if (!check_counts(d))
        return false;
    for (int i = 0; i < d->carry_count; i++)
        if (fgi_is_poison(d->carry[i]))
            return false;
        else
            d->rows[i] = fgi_node_of(d->carry[i])->rows;
    for (int i = 0; i < d->x_count; i++)
        if (fgi_is_poison(d->x[i]) || !check_x(d, i))
            return false;
    if (d->length > 0 || d->repeat != NULL)
        return true;
    (void)fgi_trace_fail(d->trace, FG_EINVAL, "scan: expected a length, because there is no x");
    return false;
}

static bool check_next(const definition *d, int i, fg_tensor next)
{
    const fg_type *want = fg_tensor_type(d->carry[i]), *have = fg_tensor_type(next);
    char a[96], b[96];
    if (fgi_is_poison(next))
        return false;
    if (fg_type_equal(want, have))
        return true;
    (void)fgi_trace_fail(d->trace, want->dtype != have->dtype ? FG_EDTYPE : FG_ESHAPE,
                         "%s: carried value %d is %s, but the body computes %s", d->name, i,
                         fg_type_format(want, a, sizeof a), fg_type_format(have, b, sizeof b));
    return false;
}

/* The arguments of the body. */
typedef struct values {
    fg_tensor carry[FG_LOOP_VALUES], x[FG_LOOP_VALUES], next[FG_LOOP_VALUES], y[FG_LOOP_VALUES];
} values;

static void make_arguments(const definition *d, fgi_region *region, values *of)
{
    for (int i = 0; i < d->carry_count; i++)
        of->carry[i] = fgi_region_carry(region, d->trace, fg_tensor_type(d->carry[i]), d->rows[i]);
    for (int i = 0; i < d->x_count; i++) {
        const fg_type *type = fg_tensor_type(d->x[i]);
        const fgi_rows *rows = fgi_node_of(d->x[i])->rows;
        fg_type row = {.dtype = type->dtype, .rank = type->rank - 1};
        fgi_rows row_rows = {{0}};
        for (int k = 0; k < row.rank; k++) {
            row.dim[k] = type->dim[k + 1];
            row_rows.step[k] = rows != NULL ? rows->step[k + 1] : 0;
        }
        of->x[i] = fgi_with_rows(fgi_region_x(region, d->trace, &row, NULL), &row_rows);
    }
}

/* Afterwards, the user's line is again that of the loop. */
static void call_body(const definition *d, fgi_region *region, values *of)
{
    const char *file;
    int line;
    fgi_here_get(&file, &line);
    if (d->scan != NULL) {
        d->scan->body(d->scan->self, of->carry, of->x, of->next, of->y);
        fg_here(file, line);
        return;
    }
    const fg_tensor more = d->repeat->condition(d->repeat->self, of->carry);
    const fg_type *type = fg_tensor_type(more);
    char text[96];
    if (!fgi_is_poison(more) && (type->dtype != FG_BOOL || type->rank != 0))
        (void)fgi_trace_fail(d->trace, type->rank != 0 ? FG_ESHAPE : FG_EDTYPE,
                             "while: the condition is %s: expected bool[]",
                             fg_type_format(type, text, sizeof text));
    region->condition = fgi_node_of(more);
    d->repeat->body(d->repeat->self, of->carry, of->next);
    fg_here(file, line);
}

/* Whether the next values have the rows of the carried ones; if only the next ones have some, notes
 * them for another attempt. */
static bool rows_agree(definition *d, values *of)
{
    bool agree = true;
    for (int i = 0; i < d->carry_count; i++) {
        const fgi_rows *next = fgi_node_of(of->next[i])->rows;
        if (next == NULL)
            of->next[i] = fgi_with_rows(of->next[i], d->rows[i]);
        else if (d->rows[i] == NULL)
            agree = false, d->rows[i] = next;
        else if (memcmp(next, d->rows[i], sizeof *next) != 0)
            (void)fgi_trace_fail(d->trace, FG_EINVAL,
                                 "%s: carried value %d has the samples of the batch along other "
                                 "axes after an iteration than before",
                                 d->name, i);
    }
    return agree;
}

/* Traces the body in an open region; false after an error. *out_agree: it is finished. */
static bool trace_body(definition *d, fgi_region *region, values *of, bool *out_agree)
{
    fg_trace *trace = d->trace;
    make_arguments(d, region, of);
    if (trace->error.status == FG_OK)
        call_body(d, region, of);
    if (trace->region != region)
        (void)fgi_trace_fail(trace, FG_EINVAL, "%s: the body has reset or run its trace", d->name);
    for (int i = 0; trace->error.status == FG_OK && i < d->carry_count; i++)
        if (!check_next(d, i, of->next[i]))
            return false;
    for (int i = 0; trace->error.status == FG_OK && i < d->y_count; i++)
        if (fgi_is_poison(of->y[i]))
            return false;
    *out_agree = trace->error.status == FG_OK && rows_agree(d, of);
    return trace->error.status == FG_OK;
}

static bool put_lists(const definition *d, fgi_region *region, const values *of)
{
    int next = 0;
    bool is_good = true;
    for (int i = 0; is_good && i < d->carry_count; i++)
        is_good = fgi_region_push(d->trace, &region->next, &next, fgi_node_of(of->next[i]));
    for (int i = 0; is_good && i < d->y_count; i++)
        is_good = fgi_region_push(d->trace, &region->y, &region->y_count, fgi_node_of(of->y[i]));
    return is_good;
}

static fgi_node *make_loop(definition *d)
{
    static const values empty;
    values of = empty;
    bool agree = false;
    fgi_region *region = NULL;
    while (!agree) { /* ends: each time, another carried value has rows */
        region = fgi_region_open(d->trace, NULL);
        if (region == NULL)
            return NULL;
        region->length = d->length;
        region->is_reverse = d->reverse;
        const bool is_good = trace_body(d, region, &of, &agree);
        if (!is_good || !agree)
            fgi_region_close(d->trace, region);
        if (!is_good)
            return NULL;
    }
    if (!put_lists(d, region, &of)) {
        fgi_region_close(d->trace, region);
        return NULL;
    }
    return fgi_region_finish(region, d->trace, &loop_op, &(fgi_loop_inputs){d->carry, d->x, {0}});
}

static void run(definition *d, fg_tensor *out_carry, fg_tensor *out_y)
{
    fg_trace *trace = d->trace;
    fgi_node *node = trace->error.status == FG_OK && check(d) ? make_loop(d) : NULL;
    for (int i = 0; i < d->carry_count; i++)
        out_carry[i] = node != NULL ? fgi_result(node, i) : fgi_poison(trace);
    for (int i = 0; i < d->y_count; i++)
        out_y[i] = node != NULL ? fgi_result(node, d->carry_count + 1 + i) : fgi_poison(trace);
}

void fg_scan(const fg_scan_options *options, const fg_tensor *carry, const fg_tensor *x,
             fg_tensor *out_carry, fg_tensor *out_y)
{
    const fg_tensor any = options->carry_count > 0 ? carry[0]
                          : options->x_count > 0   ? x[0]
                                                   : (fg_tensor){0};
    definition d = {.name = "scan",
                    .carry_count = options->carry_count,
                    .x_count = options->x_count,
                    .y_count = options->y_count,
                    .length = options->length,
                    .reverse = options->reverse,
                    .scan = options,
                    .carry = carry,
                    .x = x,
                    .trace = fg_tensor_trace(any)};
    if (fgi_trace_check_reserved(d.trace, FGI_RESERVED(fg_scan_options, options)))
        run(&d, out_carry, out_y);
}

void fg_while(const fg_while_options *options, const fg_tensor *carry, fg_tensor *out_carry)
{
    definition d = {.name = "while",
                    .carry_count = options->carry_count,
                    .length = options->limit,
                    .repeat = options,
                    .carry = carry,
                    .trace = fg_tensor_trace(options->carry_count > 0 ? carry[0] : (fg_tensor){0})};
    if (fgi_trace_check_reserved(d.trace, FGI_RESERVED(fg_while_options, options)))
        run(&d, out_carry, NULL);
}
