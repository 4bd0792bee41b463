/* body.c - the bodies of loops: which node belongs to which, what a body uses from outside, and
 * what a loop stores for its gradient.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/body.h"

#include <string.h>

#include "base/alloc.h"
#include "trace/trace.h"

bool fgi_region_push(fg_trace *trace, fgi_node ***list, int *count, fgi_node *node)
{
    enum { STEP = 8 };
    if (*count % STEP == 0) {
        fgi_node **grown =
            fgi_arena_alloc(&trace->arena, ((size_t)*count + STEP) * sizeof(fgi_node *));
        if (grown == NULL) {
            (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
            return false;
        }
        if (*count > 0)
            memcpy(grown, *list, (size_t)*count * sizeof(fgi_node *));
        *list = grown;
    }
    (*list)[(*count)++] = node;
    return true;
}

fgi_region *fgi_region_open(fg_trace *trace, fgi_region *source)
{
    fgi_region *region = fgi_arena_alloc(&trace->arena, sizeof *region);
    if (region == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return NULL;
    }
    *region = (fgi_region){.outer = trace->region,
                           .source = source,
                           .serial = trace->region_count++,
                           .first_id = trace->node_count,
                           .depth = trace->region != NULL ? trace->region->depth + 1 : 1,
                           .is_open = true};
    trace->region = region;
    return region;
}

void fgi_region_close(fg_trace *trace, fgi_region *region)
{
    region->is_open = false;
    trace->region = region->outer;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const fgi_op argument_op = {.name = "loop_value"};

static fg_tensor argument(fgi_region *region, fg_trace *trace, const fg_type *type,
                          const fgi_rows *rows)
{
    fgi_node *node = trace->error.status == FG_OK ? fgi_node_create(trace, &argument_op, 0) : NULL;
    if (node == NULL)
        return fgi_poison(trace);
    const uint64_t word[] = {(uint64_t)(uintptr_t)&argument_op, region->serial,
                             trace->node_count - region->first_id};
    node->hash = fgi_hash_bytes(word, sizeof word);
    node->type = *type;
    node->rows = rows;
    node->region = region;
    return fgi_node_enter(trace, node);
}

static fg_tensor listed(fgi_node ***list, int *count, fg_tensor tensor)
{
    fg_trace *trace = fg_tensor_trace(tensor);
    if (fgi_is_poison(tensor) || !fgi_region_push(trace, list, count, fgi_node_of(tensor)))
        return fgi_poison(trace);
    return tensor;
}

fg_tensor fgi_region_carry(fgi_region *region, fg_trace *trace, const fg_type *type,
                           const fgi_rows *rows)
{
    return listed(&region->carry, &region->carry_count, argument(region, trace, type, rows));
}

fg_tensor fgi_region_x(fgi_region *region, fg_trace *trace, const fg_type *type,
                       const fgi_rows *rows)
{
    return listed(&region->x, &region->x_count, argument(region, trace, type, rows));
}

fg_tensor fgi_region_index(fgi_region *region, fg_trace *trace)
{
    if (region->index == NULL) {
        const fg_tensor index = argument(region, trace, &(fg_type){.dtype = FG_S32}, NULL);
        if (fgi_is_poison(index))
            return index;
        region->index = fgi_node_of(index);
    }
    return fgi_tensor_of(region->index);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Whether the body may use values of the closed region `of`. */
static bool reads(const fgi_region *region, const fgi_region *of)
{
    const fgi_region *s = region->source;
    while (s != NULL && s != of)
        s = s->source;
    return s != NULL;
}

/* The open region in which values of `of` can be used; NULL: none. */
static fgi_region *reader_of(fg_trace *trace, fgi_region *of)
{
    if (of->is_open)
        return of;
    for (fgi_region *r = trace->region; r != NULL; r = r->outer)
        if (reads(r, of))
            return r;
    (void)fgi_trace_fail(trace, FG_EINVAL,
                         "a value that was computed in the body of a loop is used outside it: "
                         "return it from the body");
    return NULL;
}

bool fgi_region_place(fg_trace *trace, fgi_node *const *in, int count, fgi_region **out,
                      fgi_hash *hash)
{
    bool is_moved = false;
    *out = NULL;
    for (int i = 0; i < count; i++) {
        if (in[i]->region == NULL)
            continue;
        fgi_region *region = reader_of(trace, in[i]->region);
        if (region == NULL)
            return false;
        is_moved |= region != in[i]->region;
        if (*out == NULL || region->depth > (*out)->depth)
            *out = region;
    }
    if (is_moved)
        *hash = fgi_hash_more(*hash, &(*out)->serial, sizeof(*out)->serial);
    return true;
}

bool fgi_region_is_outside(const fgi_node *node, const char *user)
{
    if (node->region == NULL)
        return true;
    (void)fgi_trace_fail(node->trace, FG_EINVAL,
                         "%s: the value was computed in the body of a loop: return it from the "
                         "body, and use the loop's result",
                         user);
    return false;
}

double fgi_region_repeats(const fgi_node *node)
{
    double repeats = 1;
    for (const fgi_region *r = node->region; r != NULL && r->loop != NULL; r = r->loop->region)
        repeats *= r->length > 0 ? (double)r->length : 1;
    return repeats;
}

/* ---- values of all iterations ---------------------------------------------------------------- */

static int index_in(fgi_node *const *list, int count, const fgi_node *node)
{
    for (int i = 0; i < count; i++)
        if (list[i]->first == node->first)
            return i;
    return -1;
}

static fg_type stacked_type(const fgi_region *region, const fg_type *row)
{
    fg_type type = {.dtype = row->dtype, .rank = row->rank + 1, .dim = {region->length}};
    for (int i = 0; i < row->rank; i++)
        type.dim[i + 1] = row->dim[i];
    return type;
}

static const fgi_rows *stacked_rows(fg_trace *trace, const fgi_rows *row)
{
    fgi_rows rows = {{0}};
    if (row == NULL)
        return NULL;
    for (int i = 0; i + 1 < FG_MAX_RANK; i++)
        rows.step[i + 1] = row->step[i];
    return fgi_arena_copy(&trace->arena, &rows, sizeof rows);
}

/* Room for `count` results, with those that there are. */
static bool grow_results(fg_trace *trace, fgi_results *results, int count)
{
    const size_t n = (size_t)count;
    const fgi_results grown = {.count = count,
                               .type = fgi_arena_alloc(&trace->arena, n * sizeof(fg_type)),
                               .rows = fgi_arena_alloc(&trace->arena, n * sizeof(fgi_rows *)),
                               .node = fgi_arena_alloc(&trace->arena, n * sizeof(fgi_node *))};
    if (grown.type == NULL || grown.rows == NULL || grown.node == NULL) {
        (void)fgi_trace_fail(trace, FG_ENOMEM, "out of memory");
        return false;
    }
    const size_t have = (size_t)results->count;
    if (have > 0) {
        memcpy(grown.type, results->type, have * sizeof(fg_type));
        memcpy(grown.rows, results->rows, have * sizeof(fgi_rows *));
        memcpy(grown.node, results->node, have * sizeof(fgi_node *));
    }
    *results = grown;
    return true;
}

/* Result i, which is y of this row. */
static bool set_y(fgi_node *loop, int i, const fgi_node *row)
{
    fgi_results *results = loop->results;
    results->type[i] = stacked_type(loop->body, &row->type);
    results->rows[i] = stacked_rows(loop->trace, row->rows);
    results->node[i] = NULL;
    return !fgi_is_poison(fgi_result(loop, i));
}

fg_tensor fgi_region_stack(fgi_node *node)
{
    fg_trace *trace = node->trace;
    fgi_region *region = node->region;
    fgi_node *loop = region->loop;
    const int x = index_in(region->x, region->x_count, node);
    if (x >= 0)
        return fgi_tensor_of(loop->in[region->carry_count + x]);
    int y = index_in(region->y, region->y_count, node);
    const int before = region->carry_count + 1;
    if (y < 0) {
        if (region->length == 0)
            return fgi_trace_fail(trace, FG_EUNSUPPORTED,
                                  "the gradient of fg_while needs the values of each iteration: "
                                  "set the largest number of iterations (limit)");
        y = region->y_count;
        if (node->type.rank == FG_MAX_RANK)
            return fgi_trace_fail(trace, FG_ESHAPE,
                                  "a value in the body of the loop has rank %d: its gradient "
                                  "supports at most %d",
                                  FG_MAX_RANK, FG_MAX_RANK - 1);
        if (!fgi_region_push(trace, &region->y, &region->y_count, node) ||
            !grow_results(trace, loop->results, before + region->y_count) ||
            !set_y(loop, before + y, node))
            return fgi_poison(trace);
    }
    return fgi_result(loop, before + y);
}

/* ---- finishing ------------------------------------------------------------------------------- */

/* Constants are cheaper to compute again than to pass through a loop. */
static bool is_constant(const fgi_node *node)
{
    if (node->arity == 0)
        return node->op != &fgi_leaf_op && node->op != &argument_op;
    return node->op->role == FGI_MOVES && node->arity == 1 && is_constant(node->in[0]);
}

typedef struct walk {
    fgi_region *region;
    fg_trace *trace;
    bool *is_used; /* by node id */
    fgi_node **capture, **import;
    int capture_count, import_count;
} walk;

/* Values from outside the region: constants, values of other bodies, others. */
static bool meet(walk *w, fgi_node *node)
{
    if (node->region == w->region)
        return true;
    if (node->region == NULL && is_constant(node))
        return fgi_region_push(w->trace, &w->region->constant, &w->region->constant_count, node);
    return node->region != NULL && reads(w->region, node->region)
               ? fgi_region_push(w->trace, &w->import, &w->import_count, node)
               : fgi_region_push(w->trace, &w->capture, &w->capture_count, node);
}

static void use(walk *w, fgi_node *const *list, int count)
{
    for (int i = 0; i < count; i++)
        w->is_used[list[i]->id] = true;
}

/* Finds what the results of the region are computed from. */
static bool find_outside(walk *w)
{
    const fgi_region *region = w->region;
    w->is_used = fgi_calloc(w->trace->node_count + 1, sizeof *w->is_used);
    if (w->is_used == NULL) {
        (void)fgi_trace_fail(w->trace, FG_ENOMEM, "out of memory");
        return false;
    }
    use(w, region->next, region->carry_count);
    use(w, region->y, region->y_count);
    if (region->condition != NULL)
        use(w, &region->condition, 1);
    bool is_good = true;
    for (size_t id = w->trace->node_count; is_good && id-- > 0;) {
        fgi_node *node = w->trace->nodes[id];
        if (!w->is_used[id])
            continue;
        is_good = meet(w, node);
        if (node->region == region)
            use(w, node->in, node->arity);
    }
    fgi_free(w->is_used);
    return is_good;
}

/* Adds the stored values of other bodies to x. */
static bool import_values(walk *w, fgi_node ***more)
{
    int count = 0;
    for (int i = 0; i < w->import_count; i++) {
        const fg_tensor stacked = fgi_region_stack(w->import[i]);
        if (fgi_is_poison(stacked) ||
            !fgi_region_push(w->trace, more, &count, fgi_node_of(stacked)) ||
            !fgi_region_push(w->trace, &w->region->x, &w->region->x_count, w->import[i]))
            return false;
    }
    return true;
}

static void put_tensors(fgi_node *node, int *at, const fg_tensor *list, int count)
{
    for (int i = 0; i < count; i++)
        node->in[(*at)++] = fgi_node_of(list[i]);
}

static void put_nodes(fgi_node *node, int *at, fgi_node *const *list, int count)
{
    for (int i = 0; i < count; i++)
        node->in[(*at)++] = list[i];
}

static fgi_hash loop_hash(const fgi_node *loop)
{
    const fgi_region *r = loop->body;
    const uint64_t word[] = {(uint64_t)(uintptr_t)loop->op, r->serial, r->is_reverse, r->is_counted,
                             (uint64_t)r->length};
    fgi_hash hash = fgi_hash_bytes(word, sizeof word);
    for (int i = 0; i < loop->arity; i++)
        hash = fgi_hash_more(hash, &loop->in[i]->hash, sizeof hash);
    for (int i = 0; i < r->carry_count; i++)
        hash = fgi_hash_more(hash, &r->next[i]->hash, sizeof hash);
    for (int i = 0; i < r->y_count; i++)
        hash = fgi_hash_more(hash, &r->y[i]->hash, sizeof hash);
    return r->condition != NULL ? fgi_hash_more(hash, &r->condition->hash, sizeof hash) : hash;
}

static bool put_results(fgi_node *loop)
{
    const fgi_region *r = loop->body;
    const int before = r->carry_count + 1;
    loop->results = fgi_arena_alloc(&loop->trace->arena, sizeof *loop->results);
    if (loop->results == NULL || !grow_results(loop->trace, loop->results, before + r->y_count))
        return false;
    for (int i = 0; i < before; i++) {
        const fgi_node *of = i < r->carry_count ? r->carry[i] : NULL;
        loop->results->type[i] = of != NULL ? of->type : (fg_type){.dtype = FG_S32};
        loop->results->rows[i] = of != NULL ? of->rows : NULL;
        loop->results->node[i] = NULL;
        if (fgi_is_poison(fgi_result(loop, i)))
            return false;
    }
    for (int i = 0; i < r->y_count; i++)
        if (!set_y(loop, before + i, r->y[i]))
            return false;
    return true;
}

fgi_node *fgi_region_finish(fgi_region *region, fg_trace *trace, const fgi_op *op,
                            const fgi_loop_inputs *inputs)
{
    walk w = {.region = region, .trace = trace};
    fgi_node **more = NULL;
    const int x_count = region->x_count;
    fgi_region_close(trace, region);
    if (!find_outside(&w) || !import_values(&w, &more))
        return NULL;
    region->capture_count = w.capture_count;
    region->is_counted = inputs->count.handle != 0;
    const int arity =
        region->carry_count + region->x_count + w.capture_count + (region->is_counted ? 1 : 0);
    fgi_node *loop = arity <= FGI_MAX_INPUTS ? fgi_node_create(trace, op, arity) : NULL;
    if (loop == NULL) {
        (void)fgi_trace_fail(trace, FG_EUNSUPPORTED,
                             "the body of the loop uses %d values: expected at most %d", arity,
                             (int)FGI_MAX_INPUTS);
        return NULL;
    }
    int at = 0;
    put_tensors(loop, &at, inputs->init, region->carry_count);
    put_tensors(loop, &at, inputs->x, x_count);
    put_nodes(loop, &at, more, w.import_count);
    put_nodes(loop, &at, w.capture, w.capture_count);
    put_tensors(loop, &at, &inputs->count, region->is_counted ? 1 : 0);
    loop->body = region;
    loop->hash = loop_hash(loop);
    if (!fgi_region_place(trace, loop->in, arity, &loop->region, &loop->hash) ||
        fgi_is_poison(fgi_node_enter(trace, loop)))
        return NULL;
    region->loop = loop;
    return put_results(loop) ? loop : NULL;
}
