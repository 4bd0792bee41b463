/* recurrent.c - LSTM and GRU: loops over time (fg_scan), one for each layer and direction.
 *
 * Within the layer, sequences are [T, B, features]. The products with the weights of the input are
 * one matmul for all time steps; the loop adds those with the hidden state. Gates and cell states
 * are computed in f32 (f64 for f64 inputs).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nn/layer.h"
#include "op/op.h"
#include "trace/graph.h"

enum { INPUT, HIDDEN, MOST_LOOPS = FG_LOOP_VALUES };

/* What the loop of one layer and direction has. */
typedef struct pass {
    fg_variable *weight[2], *bias[2]; /* by INPUT and HIDDEN; bias: NULL if there is none */
} pass;

struct fg_recurrent {
    fg_module *module;
    fg_recurrent_options o; /* with defaults */
    int directions, count;  /* passes: `directions` for each layer */
    pass of[MOST_LOOPS];
};

static const char *const titles[] = {"lstm", "gru"};

static int gates_of(const fg_recurrent_options *o) { return o->kind == FG_LSTM ? 4 : 3; }

/* ---- creation -------------------------------------------------------------------------------- */

static bool check(fg_module *module, const fg_recurrent_options *o)
{
    const char *name = fg_module_name(module);
    if ((unsigned)o->kind > FG_GRU)
        (void)fgi_module_fail(module, FG_EINVAL, "recurrent '%s': unknown kind %d", name,
                              (int)o->kind);
    else if (o->in < 1 || o->hidden < 1)
        (void)fgi_module_fail(module, FG_EINVAL,
                              "%s '%s': in %" PRId64 ", hidden %" PRId64 "; both must be given",
                              titles[o->kind], name, o->in, o->hidden);
    else if (o->layers < 1 || o->layers > MOST_LOOPS / (o->bidirectional ? 2 : 1) ||
             !(o->dropout >= 0 && o->dropout < 1))
        (void)fgi_module_fail(module, FG_EINVAL,
                              "%s '%s': layers %" PRId64 ", dropout %g: expected 1 to %d layers, "
                              "of both directions together, and dropout of at least 0 and below 1",
                              titles[o->kind], name, o->layers, o->dropout, (int)MOST_LOOPS);
    return fg_module_error(module, NULL) == FG_OK;
}

/* Variables with PyTorch's names, such as weight_hh_l0_reverse. */
static void make_pass(fg_recurrent *layer, int index)
{
    static const char *const sources[] = {"ih", "hh"};
    const fg_recurrent_options *o = &layer->o;
    const int64_t gates = gates_of(o) * o->hidden;
    const int number = index / layer->directions;
    const int64_t in[] = {number == 0 ? o->in : layer->directions * o->hidden, o->hidden};
    const char *suffix = index % layer->directions == 1 ? "_reverse" : "";
    fg_variable_options init = fgi_init_fan_in(o->hidden);
    for (int i = 0; i < 2; i++) {
        char name[48];
        const fg_type type = {FG_F32, 2, {in[i], gates}};
        (void)snprintf(name, sizeof name, "weight_%s_l%d%s", sources[i], number, suffix);
        init.file_axis[0] = 1;
        layer->of[index].weight[i] = fg_module_variable(layer->module, name, &type, &init);
        init.file_axis[0] = 0;
        (void)snprintf(name, sizeof name, "bias_%s_l%d%s", sources[i], number, suffix);
        if (!o->no_bias)
            layer->of[index].bias[i] = fgi_layer_vector(layer->module, name, gates, &init);
    }
}

fg_recurrent *fg_recurrent_create(fg_module *parent, const char *name,
                                  const fg_recurrent_options *options)
{
    fg_recurrent_options o = options != NULL ? *options : (fg_recurrent_options){0};
    fg_module *module = fg_module_child(parent, name);
    o.layers = o.layers != 0 ? o.layers : 1;
    if (module == NULL ||
        !fgi_module_check_reserved(module, FGI_RESERVED(fg_recurrent_options, options)) ||
        !check(module, &o))
        return NULL;
    char detail[64];
    (void)snprintf(detail, sizeof detail, "%" PRId64 " -> %" PRId64 ", %" PRId64 " layer%s%s", o.in,
                   o.hidden, o.layers, o.layers > 1 ? "s" : "",
                   o.bidirectional ? ", bidirectional" : "");
    fg_module_describe(module, titles[o.kind], detail);
    fg_recurrent *layer = fgi_layer_create(module, sizeof *layer);
    if (layer == NULL)
        return NULL;
    layer->module = module;
    layer->o = o;
    layer->directions = o.bidirectional ? 2 : 1;
    layer->count = (int)o.layers * layer->directions;
    for (int i = 0; i < layer->count; i++)
        make_pass(layer, i);
    return fg_module_error(module, NULL) == FG_OK ? layer : NULL;
}

/* ---- a time step ----------------------------------------------------------------------------- */

/* What the steps of a loop share. */
typedef struct cell {
    fg_tensor weight, bias; /* of the hidden state; bias: empty for an LSTM, which has it in x */
    fg_dtype dtype;         /* of gates and cell states */
    bool is_masked;         /* x[1] is bool[B, 1]: false where the state stays */
} cell;

static fg_tensor gate(fg_tensor all, int index, int count)
{
    const fg_type *type = fg_tensor_type(all);
    const int64_t size = type->dim[1] / count;
    return fg_slice(all, (const int64_t[]){0, index * size},
                    (const int64_t[]){type->dim[0], (index + 1) * size}, NULL);
}

static fg_tensor hidden_matmul(const cell *c, fg_tensor h)
{
    return fg_dot(
        h, c->weight,
        &(fg_dot_options){
            .contract_count = 1, .a_contract = {1}, .b_contract = {0}, .result = c->dtype});
}

/* The new state, or the old one where there is no element; y is 0 there. */
static void finish(const cell *c, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                   int count, fg_tensor *y)
{
    next[0] = fg_cast(next[0], fg_tensor_type(carry[0])->dtype);
    y[0] = next[0];
    if (!c->is_masked)
        return;
    for (int i = 0; i < count; i++)
        next[i] = fg_where(x[1], next[i], carry[i]);
    y[0] = fg_where(x[1], y[0], fgi_full_like(y[0], 0));
}

/* Gates in PyTorch's order: input, forget, cell, output. */
static void lstm_step(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                      fg_tensor *y)
{
    const cell *c = self;
    const fg_tensor all = fg_add(x[0], hidden_matmul(c, carry[0]));
    const fg_tensor kept = fg_mul(fg_sigmoid(gate(all, 1, 4)), carry[1]);
    next[1] = fg_add(kept, fg_mul(fg_sigmoid(gate(all, 0, 4)), fg_tanh(gate(all, 2, 4))));
    next[0] = fg_mul(fg_sigmoid(gate(all, 3, 4)), fg_tanh(next[1]));
    finish(c, carry, x, next, 2, y);
}

/* Gates in PyTorch's order: reset, update, new. */
static void gru_step(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                     fg_tensor *y)
{
    const cell *c = self;
    const fg_tensor old = fg_cast(carry[0], c->dtype);
    fg_tensor h = hidden_matmul(c, carry[0]);
    if (c->bias.handle != 0)
        h = fg_add(h, c->bias);
    const fg_tensor reset = fg_sigmoid(fg_add(gate(x[0], 0, 3), gate(h, 0, 3)));
    const fg_tensor update = fg_sigmoid(fg_add(gate(x[0], 1, 3), gate(h, 1, 3)));
    const fg_tensor fresh = fg_tanh(fg_add(gate(x[0], 2, 3), fg_mul(reset, gate(h, 2, 3))));
    next[0] = fg_add(fresh, fg_mul(update, fg_sub(old, fresh)));
    finish(c, carry, x, next, 1, y);
}

/* ---- application ----------------------------------------------------------------------------- */

/* Products of x [T, B, features] with the weights of the input, and the biases that can be added
 * to them. */
static fg_tensor input_matmuls(const fg_recurrent *layer, const pass *p, fg_tensor x,
                               fg_dtype dtype)
{
    fg_tensor y =
        fg_dot(x, fgi_layer_value(x, p->weight[INPUT], fg_tensor_type(x)->dtype),
               &(fg_dot_options){
                   .contract_count = 1, .a_contract = {2}, .b_contract = {0}, .result = dtype});
    for (int i = INPUT; i <= (layer->o.kind == FG_LSTM ? HIDDEN : INPUT); i++)
        if (p->bias[i] != NULL)
            y = fg_add(y, fg_cast(fg_variable_value(fg_tensor_trace(x), p->bias[i]), dtype));
    return y;
}

/* Runs a loop over x [T, B, features] from state[0..1], which becomes the last one. */
static fg_tensor run(const fg_recurrent *layer, int index, fg_tensor x, fg_tensor valid,
                     fg_tensor *state)
{
    const pass *p = &layer->of[index];
    const fg_dtype own = fg_tensor_type(x)->dtype, dtype = fgi_is_half(own) ? FG_F32 : own;
    const bool is_lstm = layer->o.kind == FG_LSTM;
    cell c = {.weight = fgi_layer_value(x, p->weight[HIDDEN], own),
              .dtype = dtype,
              .is_masked = valid.handle != 0};
    if (!is_lstm && p->bias[HIDDEN] != NULL)
        c.bias = fg_cast(fg_variable_value(fg_tensor_trace(x), p->bias[HIDDEN]), dtype);
    const fg_tensor in[] = {input_matmuls(layer, p, x, dtype), valid};
    fg_tensor last[2], y;
    fg_scan(&(fg_scan_options){.carry_count = is_lstm ? 2 : 1,
                               .x_count = c.is_masked ? 2 : 1,
                               .y_count = 1,
                               .reverse = index % layer->directions == 1,
                               .body = is_lstm ? lstm_step : gru_step,
                               .self = &c},
            state, in, last, &y);
    memcpy(state, last, (is_lstm ? 2 : 1) * sizeof *state);
    return y;
}

/* The part of an initial state [passes, B, hidden] for one of the passes. */
static fg_tensor part(fg_tensor all, int index, fg_dtype dtype)
{
    const int64_t *dim = fg_tensor_type(all)->dim;
    const fg_tensor one = fg_slice(all, (const int64_t[]){index, 0, 0},
                                   (const int64_t[]){index + 1, dim[1], dim[2]}, NULL);
    return fg_cast(fg_reshape(one, 2, dim + 1), dtype);
}

/* All layers over x [T, B, in]; the states h and c of all passes are read and written. */
static fg_tensor run_layers(const fg_recurrent *layer, fg_tensor x, fg_tensor valid,
                            fg_tensor *states)
{
    const fg_dtype own = fg_tensor_type(x)->dtype, wide = fgi_is_half(own) ? FG_F32 : own;
    fg_tensor last[2][MOST_LOOPS];
    for (int i = 0; i < layer->count; i += layer->directions) {
        fg_tensor y[2] = {x, x};
        for (int k = 0; k < layer->directions; k++) {
            fg_tensor state[2] = {part(states[0], i + k, own), part(states[1], i + k, wide)};
            y[k] = run(layer, i + k, x, valid, state);
            last[0][i + k] = state[0];
            last[1][i + k] = state[1];
        }
        x = layer->directions == 2 ? fg_concat(y, 2, 2) : y[0];
        if (i + layer->directions < layer->count)
            x = fg_dropout(x, layer->o.dropout);
    }
    for (int i = 0; i < 2; i++)
        states[i] = fg_stack(last[i], layer->count, 0);
    return x;
}

/* What is kept between calls: states T[passes, B, hidden], which sampling keeps in its cache. */
typedef struct memory {
    fg_type type;
    fg_tensor value[2];   /* h and c */
    fg_variable *kept[2]; /* NULL: no cache is in use */
} memory;

/* The initial states: those of the caller, of the cache after its first position, or 0. */
static void begin(const fg_recurrent *layer, fg_tensor x, const fg_recurrent_state *state,
                  memory *m)
{
    fg_trace *trace = fg_tensor_trace(x);
    const fg_dtype own = fg_tensor_type(x)->dtype;
    fg_tensor position;
    fg_kv_cache *cache = fgi_kv_cache_in_use(layer->module, &position);
    m->type = (fg_type){
        fgi_is_half(own) ? FG_F32 : own, 3, {layer->count, fg_tensor_dim(x, 0), layer->o.hidden}};
    for (int i = 0; i < 2; i++) {
        const fg_tensor given = state == NULL ? (fg_tensor){0} : i == 0 ? state->h : state->c;
        m->value[i] = given.handle != 0 ? given : fg_zeros(trace, m->type.dtype, 3, m->type.dim);
        m->kept[i] =
            cache != NULL ? fgi_kv_cache_variable(cache, layer->module, i, trace, &m->type) : NULL;
        if (m->kept[i] != NULL)
            m->value[i] = fg_where(fg_gt(position, fgi_full_like(position, 0)),
                                   fg_variable_value(trace, m->kept[i]), m->value[i]);
    }
}

static bool has_type(fg_tensor a, bool is_float, int rank, const int64_t *dim)
{
    if (a.handle == 0)
        return true;
    const fg_type *type = fg_tensor_type(a);
    return (is_float ? fg_dtype_is_float(type->dtype) : type->dtype == FG_BOOL) &&
           type->rank == rank && memcmp(type->dim, dim, (size_t)rank * sizeof *dim) == 0;
}

static bool check_input(const fg_recurrent *layer, fg_tensor x, const fg_recurrent_state *state)
{
    const fg_type *type = fg_tensor_type(x);
    const fg_recurrent_options *o = &layer->o;
    const int64_t all[] = {layer->count, type->dim[0], o->hidden};
    if (type->rank != 3 || type->dim[2] != o->in || !fg_dtype_is_float(type->dtype))
        (void)fgi_layer_fail(layer->module, x,
                             "expected floating-point sequences [B, T, %" PRId64 "]", o->in);
    else if (state != NULL &&
             (!has_type(state->h, true, 3, all) || !has_type(state->c, true, 3, all) ||
              !has_type(state->valid, false, 2, type->dim) ||
              (state->c.handle != 0 && o->kind != FG_LSTM)))
        (void)fgi_layer_fail(layer->module, x,
                             "expected a state h (and, for an LSTM, c) of T[%d, %" PRId64
                             ", %" PRId64 "], and valid bool[B, T]",
                             layer->count, type->dim[0], o->hidden);
    return fg_trace_error(fg_tensor_trace(x), NULL) == FG_OK;
}

fg_tensor fg_recurrent_apply(const fg_recurrent *layer, fg_tensor x, fg_recurrent_state *state)
{
    fg_tensor y, valid = state != NULL ? state->valid : (fg_tensor){0};
    memory m;
    if (!fgi_layer_enter(layer, "recurrent", x, &y))
        return y;
    fg_trace *trace = fg_tensor_trace(x);
    if (!fgi_trace_check_reserved(trace, FGI_RESERVED(fg_recurrent_state, state)) ||
        !check_input(layer, x, state))
        return fgi_poison(trace);
    fg_scope_push(trace, fg_module_name(layer->module));
    begin(layer, x, state, &m);
    if (valid.handle != 0)
        valid =
            fg_reshape(fg_transpose(valid), FG_DIMS(fg_tensor_dim(x, 1), fg_tensor_dim(x, 0), 1));
    y = run_layers(layer, fg_permute(x, (const int[]){1, 0, 2}), valid, m.value);
    for (int i = 0; i < 2; i++)
        if (m.kept[i] != NULL)
            fg_assign(m.kept[i], fg_cast(m.value[i], m.type.dtype));
    if (state != NULL) {
        state->h = m.value[0];
        state->c = layer->o.kind == FG_LSTM ? m.value[1] : (fg_tensor){0};
    }
    return fgi_layer_leave(layer->module, fg_permute(y, (const int[]){1, 0, 2}));
}
