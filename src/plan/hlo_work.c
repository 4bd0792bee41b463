/* hlo_work.c - the work of one instruction of an HLO module: its arrays in tiles, the arithmetic of
 * matmuls and convolutions, main memory traffic, trip counts of loops, and the compiler's
 * annotations.
 *
 * A layout orders the dimensions from fastest to slowest varying. Its first tile covers the fastest
 * ones, which are padded to whole tiles. Each further tile covers the previous tile in the same way
 * (XLA's documentation, "Tiled layout"). Each dimension of a matmul occurs in two of its three
 * arrays. It counts with the larger of the two padded sizes, because the matrix units process whole
 * tiles of both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hlo_work.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "input/json_file.h"

/* ---- finding instructions -------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const fgi_hlo_entry *)a)->id, y = ((const fgi_hlo_entry *)b)->id;
    return (x > y) - (x < y);
}

const fgi_hlo_entry *fgi_hlo_find(const fgi_hlo_index *index, int64_t id)
{
    const fgi_hlo_entry key = {.id = id};
    return bsearch(&key, index->entry, index->count, sizeof key, by_id);
}

static void note_users(fgi_hlo_index *index)
{
    const Fgi__Hlo__Module *module = index->hlo->module;
    for (size_t c = 0; c < module->n_computation; c++)
        for (size_t i = 0; i < module->computation[c]->n_instruction; i++) {
            const fgi_hlo_op *op = module->computation[c]->instruction[i];
            for (size_t k = 0; k < op->n_operand; k++) {
                const fgi_hlo_entry *found = fgi_hlo_find(index, op->operand[k]);
                if (found != NULL && found->user == NULL)
                    index->entry[found - index->entry].user = op;
            }
        }
}

fg_status fgi_hlo_index_make(const fgi_hlo *hlo, fgi_hlo_index *out, fg_error *err)
{
    const Fgi__Hlo__Module *module = hlo->module;
    size_t count = 0;
    *out = (fgi_hlo_index){.hlo = hlo};
    for (size_t c = 0; c < module->n_computation; c++)
        count += module->computation[c]->n_instruction;
    out->entry = fgi_calloc(count + 1, sizeof *out->entry);
    if (out->entry == NULL)
        return fgi_no_memory(err);
    for (size_t c = 0; c < module->n_computation; c++)
        for (size_t i = 0; i < module->computation[c]->n_instruction; i++) {
            const fgi_hlo_op *op = module->computation[c]->instruction[i];
            out->entry[out->count++] = (fgi_hlo_entry){.id = op->id, .op = op};
        }
    qsort(out->entry, out->count, sizeof *out->entry, by_id);
    note_users(out);
    return FG_OK;
}

void fgi_hlo_index_fini(fgi_hlo_index *index)
{
    fgi_free(index->entry);
    *index = (fgi_hlo_index){0};
}

const fgi_hlo_op *fgi_hlo_in(const fgi_hlo_index *index, const fgi_hlo_op *op, size_t operand)
{
    if (operand >= op->n_operand)
        return NULL;
    const fgi_hlo_entry *found = fgi_hlo_find(index, op->operand[operand]);
    return found != NULL ? found->op : NULL;
}

const fgi_hlo_computation *fgi_hlo_called(const fgi_hlo_index *index, const fgi_hlo_op *op,
                                          size_t i)
{
    const Fgi__Hlo__Module *module = index->hlo->module;
    for (size_t c = 0; i < op->n_called && c < module->n_computation; c++)
        if (module->computation[c]->id == op->called[i])
            return module->computation[c];
    return NULL;
}

const fgi_hlo_computation *fgi_hlo_body(const fgi_hlo_index *index, const fgi_hlo_op *op,
                                        const char *opcode)
{
    return strcmp(op->opcode, opcode) == 0 ? fgi_hlo_called(index, op, 0) : NULL;
}

const fgi_hlo_op *fgi_hlo_root(const fgi_hlo_index *index, const fgi_hlo_computation *in)
{
    const fgi_hlo_entry *found = fgi_hlo_find(index, in->root);
    return found != NULL ? found->op : NULL;
}

/* ---- arrays in tiles ------------------------------------------------------------------------- */

enum { EXTENT_MAX = FG_MAX_RANK * 4 };

static int64_t round_up(int64_t value, int64_t unit)
{
    return unit > 1 ? (value + unit - 1) / unit * unit : value;
}

/* Replaces the last dimensions, as many as the tile has, by the number of tiles and the tile. */
static size_t apply_tile(const Fgi__Hlo__Tile *tile, int64_t *extent, size_t count)
{
    while (count < tile->n_dimension &&
           count < EXTENT_MAX) { /* a scalar in a tile of one dimension */
        for (size_t i = count++; i > 0; i--)
            extent[i] = extent[i - 1];
        extent[0] = 1;
    }
    if (count < tile->n_dimension || count + tile->n_dimension > EXTENT_MAX)
        return count;
    int64_t *last = extent + count - tile->n_dimension;
    for (size_t i = 0; i < tile->n_dimension; i++) {
        const int64_t size = tile->dimension[i];
        if (size < 1)
            return count;
        last[tile->n_dimension + i] = size;
        last[i] = (last[i] + size - 1) / size;
    }
    return count + tile->n_dimension;
}

static int64_t padded_array(const fgi_hlo_shape *shape)
{
    int64_t extent[EXTENT_MAX];
    const Fgi__Hlo__Layout *layout = shape->layout;
    const size_t rank = shape->n_dimension;
    const int64_t elements = fgi_hlo_bytes(shape);
    size_t count = rank;
    if (layout == NULL || layout->n_tile == 0 || elements == 0 ||
        layout->n_minor_to_major != rank || rank > FG_MAX_RANK)
        return elements;
    int64_t whole = 1, padded = 1;
    for (size_t i = 0; i < rank; i++) {
        const int64_t d = layout->minor_to_major[rank - 1 - i];
        if (d < 0 || (size_t)d >= rank)
            return elements;
        extent[i] = shape->dimension[d];
        whole *= extent[i];
    }
    for (size_t i = 0; i < layout->n_tile; i++)
        count = apply_tile(layout->tile[i], extent, count);
    for (size_t i = 0; i < count; i++)
        padded *= extent[i];
    return elements / whole * padded;
}

int64_t fgi_hlo_padded_bytes(const fgi_hlo_shape *shape)
{
    int64_t bytes = 0;
    if (shape == NULL)
        return 0;
    for (size_t i = 0; i < shape->n_part; i++)
        bytes += fgi_hlo_padded_bytes(shape->part[i]);
    return shape->n_part > 0 ? bytes : padded_array(shape);
}

fgi_plan_dim fgi_hlo_padded_dim(const fgi_hlo_shape *shape, int64_t i)
{
    fgi_plan_dim dim = {.unit = 1};
    if (i < 0 || (size_t)i >= shape->n_dimension)
        return dim;
    const Fgi__Hlo__Layout *layout = shape->layout;
    dim.size = dim.padded = shape->dimension[i];
    if (layout == NULL || layout->n_tile == 0)
        return dim;
    const Fgi__Hlo__Tile *tile = layout->tile[0];
    for (size_t k = 0; k < layout->n_minor_to_major && k < tile->n_dimension; k++)
        if (layout->minor_to_major[k] == i)
            dim.unit = tile->dimension[tile->n_dimension - 1 - k];
    dim.unit = dim.unit > 0 ? dim.unit : 1;
    dim.padded = round_up(dim.size, dim.unit);
    return dim;
}

void fgi_hlo_main_bytes(const fgi_hlo_shape *shape, double *bytes, double *padded)
{
    if (shape == NULL)
        return;
    for (size_t i = 0; i < shape->n_part; i++)
        fgi_hlo_main_bytes(shape->part[i], bytes, padded);
    if (shape->n_part > 0 || (shape->layout != NULL && shape->layout->memory_space != 0))
        return;
    *bytes += (double)fgi_hlo_bytes(shape);
    *padded += (double)padded_array(shape);
}

/* ---- matmuls and convolutions ---------------------------------------------------------------- */

typedef struct matmul {
    const fgi_hlo_shape *lhs, *rhs, *out;
    fgi_hlo_arithmetic *to;
} matmul;

static int64_t size_of(const fgi_hlo_shape *shape, int64_t i)
{
    return i >= 0 && (size_t)i < shape->n_dimension ? shape->dimension[i] : 1;
}

static void add_dim(matmul *p, const fgi_hlo_shape *a, int64_t i, const fgi_hlo_shape *b, int64_t k)
{
    fgi_plan_dim one = fgi_hlo_padded_dim(a, i);
    const fgi_plan_dim other = fgi_hlo_padded_dim(b, k);
    if (one.size < other.size || (one.size == other.size && one.padded < other.padded))
        one = other;
    if (p->to->dim_count < FGI_HLO_MATMUL_DIMS && one.size > 0)
        p->to->dim[p->to->dim_count++] = one;
}

static bool is_among(int64_t value, const int64_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

/* The dimensions of one operand that the result keeps, in order, starting at its dimension `at`. */
static int64_t add_kept(matmul *p, const fgi_hlo_shape *from, const int64_t *batch,
                        size_t batch_count, const int64_t *contracting, size_t count, int64_t at)
{
    for (int64_t i = 0; i < (int64_t)from->n_dimension; i++)
        if (!is_among(i, batch, batch_count) && !is_among(i, contracting, count))
            add_dim(p, from, i, p->out, at++);
    return at;
}

static double dot_flops(matmul *p, const Fgi__Hlo__DotDimensions *d)
{
    double flops = 2;
    int64_t at = 0;
    for (size_t i = 0; i < d->n_lhs_batch && i < d->n_rhs_batch; i++)
        add_dim(p, p->lhs, d->lhs_batch[i], p->rhs, d->rhs_batch[i]);
    for (size_t i = 0; i < d->n_lhs_contracting && i < d->n_rhs_contracting; i++)
        add_dim(p, p->lhs, d->lhs_contracting[i], p->rhs, d->rhs_contracting[i]);
    at = add_kept(p, p->lhs, d->lhs_batch, d->n_lhs_batch, d->lhs_contracting, d->n_lhs_contracting,
                  (int64_t)d->n_lhs_batch);
    (void)add_kept(p, p->rhs, d->rhs_batch, d->n_rhs_batch, d->rhs_contracting,
                   d->n_rhs_contracting, at);
    for (int i = 0; i < p->to->dim_count; i++)
        flops *= (double)p->to->dim[i].size;
    return flops;
}

/* Greatest common divisor of a > 0 and b > 0, and x with a x = gcd (mod b). */
static int64_t invert(int64_t a, int64_t b, int64_t *x)
{
    int64_t x0 = 1, x1 = 0;
    while (b != 0) {
        const int64_t q = a / b, r = a % b, x2 = x0 - q * x1;
        a = b, b = r, x0 = x1, x1 = x2;
    }
    *x = x0;
    return a;
}

/* Number of o in [0, count) with 0 <= o * stride + shift <= last, at a multiple of `dilation`. */
static int64_t count_hits(int64_t count, int64_t stride, int64_t shift, int64_t last,
                          int64_t dilation)
{
    int64_t x, low = 0, high = count - 1;
    if (shift < 0)
        low = (-shift + stride - 1) / stride;
    if (last < shift)
        return 0;
    if ((last - shift) / stride < high)
        high = (last - shift) / stride;
    const int64_t divisor = invert(stride, dilation, &x);
    if (high < low || shift % divisor != 0)
        return 0;
    const int64_t period = dilation / divisor;
    int64_t first = (-shift / divisor % period) * (x % period) % period;
    first = (first + period) % period;
    if (first < low)
        first += (low - first + period - 1) / period * period;
    return high < first ? 0 : (high - first) / period + 1;
}

/* Pairs of an output position and a window position that access an element of the input: without
 * padding and the gaps of dilation. */
static double window_pairs(const Fgi__Hlo__WindowDimension *w, int64_t in, int64_t out)
{
    const int64_t stride = w->stride > 0 ? w->stride : 1;
    const int64_t dilation = w->base_dilation > 0 ? w->base_dilation : 1;
    const int64_t step = w->window_dilation > 0 ? w->window_dilation : 1;
    double pairs = 0;
    for (int64_t k = 0; k < w->size; k++)
        pairs += (double)count_hits(out, stride, k * step - w->padding_low, (in - 1) * dilation,
                                    dilation);
    return pairs;
}

static double conv_flops(matmul *p, const fgi_hlo_op *op)
{
    const Fgi__Hlo__ConvDimensions *d = op->conv;
    const int64_t groups = op->batch_groups > 1 ? op->batch_groups : 1;
    double flops = 2.0 * (double)size_of(p->rhs, d->kernel_input) *
                   (double)size_of(p->out, d->output_feature) *
                   (double)size_of(p->lhs, d->input_batch) / (double)groups;
    add_dim(p, p->lhs, d->input_batch, p->out, d->output_batch);
    add_dim(p, p->lhs, d->input_feature, p->rhs, d->kernel_input);
    add_dim(p, p->rhs, d->kernel_output, p->out, d->output_feature);
    for (size_t i = 0; i < d->n_input_spatial && i < d->n_output_spatial; i++) {
        const int64_t in = size_of(p->lhs, d->input_spatial[i]);
        const int64_t out = size_of(p->out, d->output_spatial[i]);
        add_dim(p, p->out, d->output_spatial[i], p->out, d->output_spatial[i]);
        if (op->window != NULL && i < op->window->n_dimension)
            flops *= window_pairs(op->window->dimension[i], in, out);
    }
    return flops;
}

static int bits_of(fg_dtype dtype) { return (int)fg_dtype_size(dtype) * 8; }

bool fgi_hlo_arithmetic_of(const fgi_hlo_index *index, const fgi_hlo_op *op,
                           fgi_hlo_arithmetic *out)
{
    *out = (fgi_hlo_arithmetic){0};
    const fgi_hlo_op *lhs = fgi_hlo_in(index, op, 0), *rhs = fgi_hlo_in(index, op, 1);
    if (lhs == NULL || rhs == NULL || lhs->shape == NULL || rhs->shape == NULL || op->shape == NULL)
        return false;
    matmul p = {.lhs = lhs->shape, .rhs = rhs->shape, .out = op->shape, .to = out};
    if (strcmp(op->opcode, "dot") == 0 && op->dot != NULL)
        out->flops = dot_flops(&p, op->dot);
    else if (strcmp(op->opcode, "convolution") == 0 && op->conv != NULL)
        out->flops = conv_flops(&p, op);
    else
        return false;
    const fg_dtype a = fgi_hlo_dtype(p.lhs), b = fgi_hlo_dtype(p.rhs);
    out->dtype = bits_of(a) >= bits_of(b) ? a : b;
    for (size_t i = 0; op->precision != NULL && i < op->precision->n_operand; i++)
        out->is_precise = out->is_precise || op->precision->operand[i] > 0;
    out->padded_flops = out->flops;
    for (int i = 0; i < out->dim_count; i++)
        out->padded_flops *= (double)out->dim[i].padded / (double)out->dim[i].size;
    return true;
}

/* ---- main memory traffic --------------------------------------------------------------------- */

/* The layout of an array names its memory; memory close to the units is not counted. A fusion reads
 * its arguments completely, except those of which it only reads a slice. */
typedef struct traffic {
    double bytes, padded;
} traffic;

static void add(traffic *t, const fgi_hlo_shape *shape)
{
    fgi_hlo_main_bytes(shape, &t->bytes, &t->padded);
}

/* No additional traffic: it only names or packs values, or was counted where it started. */
static bool is_free(const char *opcode)
{
    return fgi_is_one_of(opcode, "parameter|constant|tuple|get-tuple-element|bitcast|while|"
                                 "conditional|call|after-all|partition-id|replica-id") ||
           fgi_ends_in_one_of(opcode, "-done|-update");
}

static bool is_cut(const char *opcode)
{
    return fgi_is_one_of(opcode, "slice|dynamic-slice|gather");
}

/* Traffic of an asynchronous copy: the new array, from or to main memory. */
static void add_started(const fgi_hlo_index *index, const fgi_hlo_op *op, traffic *t)
{
    const bool is_copy = strcmp(op->opcode, "copy-start") == 0;
    const size_t at = is_copy ? 0 : 1;
    if (op->shape == NULL || op->shape->n_part <= at)
        return;
    const fgi_hlo_op *from = fgi_hlo_in(index, op, 0);
    const fgi_hlo_shape *moved = op->shape->part[at];
    add(t, moved);
    if (from != NULL && from->shape != NULL && from->shape->n_part == 0 &&
        (from->shape->layout == NULL || from->shape->layout->memory_space == 0)) {
        t->bytes += (double)fgi_hlo_bytes(moved);
        t->padded += (double)fgi_hlo_padded_bytes(moved);
    }
}

/* The parameter of a fused computation for operand i. */
static const fgi_hlo_op *parameter_of(const fgi_hlo_computation *in, int64_t number)
{
    for (size_t i = 0; i < in->n_instruction; i++)
        if (in->instruction[i]->parameter == number &&
            strcmp(in->instruction[i]->opcode, "parameter") == 0)
            return in->instruction[i];
    return NULL;
}

/* Adds the slices read from a parameter; false: something reads all of it. */
static bool add_cuts(const fgi_hlo_computation *in, const fgi_hlo_op *parameter, traffic *t)
{
    traffic cuts = {0};
    int count = 0;
    for (size_t i = 0; i < in->n_instruction; i++) {
        const fgi_hlo_op *op = in->instruction[i];
        for (size_t k = 0; k < op->n_operand; k++) {
            if (op->operand[k] != parameter->id)
                continue;
            if (k > 0 || !is_cut(op->opcode))
                return false;
            cuts.bytes += (double)fgi_hlo_bytes(op->shape);
            cuts.padded += (double)fgi_hlo_padded_bytes(op->shape);
            count++;
        }
    }
    if (count == 0)
        return false;
    t->bytes += cuts.bytes;
    t->padded += cuts.padded;
    return true;
}

static void add_operand(const fgi_hlo_index *index, const fgi_hlo_op *op, size_t i, traffic *t)
{
    const fgi_hlo_op *from = fgi_hlo_in(index, op, i);
    if (from == NULL || strcmp(from->opcode, "constant") == 0)
        return;
    traffic whole = {0}, part = {0};
    const fgi_hlo_computation *fused = fgi_hlo_body(index, op, "fusion");
    const fgi_hlo_op *parameter = fused != NULL ? parameter_of(fused, (int64_t)i) : NULL;
    add(&whole, from->shape);
    if (whole.bytes > 0 && parameter != NULL && add_cuts(fused, parameter, &part) &&
        part.padded < whole.padded)
        whole = part;
    t->bytes += whole.bytes;
    t->padded += whole.padded;
}

/* The array that an in-place update writes; NULL: the whole result is written. */
static const fgi_hlo_shape *updated(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    const fgi_hlo_computation *fused = fgi_hlo_body(index, op, "fusion");
    const fgi_hlo_op *root = fused != NULL ? fgi_hlo_root(index, fused) : op;
    if (root == NULL || strcmp(root->opcode, "dynamic-update-slice") != 0)
        return NULL;
    const fgi_hlo_op *update = fgi_hlo_in(index, root, 1);
    return update != NULL ? update->shape : NULL;
}

void fgi_hlo_traffic(const fgi_hlo_index *index, const fgi_hlo_op *op, double *bytes,
                     double *padded)
{
    traffic t = {0};
    const fgi_hlo_shape *update = updated(index, op);
    if (fgi_ends_with(op->opcode, "-start"))
        add_started(index, op, &t);
    else if (is_cut(op->opcode) && op->n_operand > 0) {
        add(&t, op->shape);
        add(&t, op->shape);
    } else if (update != NULL) {
        t.bytes = 2 * (double)fgi_hlo_bytes(update);
        t.padded = 2 * (double)fgi_hlo_padded_bytes(update);
    } else if (!is_free(op->opcode)) {
        add(&t, op->shape);
        for (size_t i = 0; i < op->n_operand; i++)
            add_operand(index, op, i, &t);
    }
    *bytes = t.bytes;
    *padded = t.padded;
}

/* ---- the compiler's annotations -------------------------------------------------------------- */

/* Their format is not stable: missing or unexpected entries are ignored. */

/* A number, or a string that contains one; -1 otherwise. */
static int64_t number(const json_t *value)
{
    int64_t result = -1;
    if (json_is_integer(value))
        return json_integer_value(value);
    if (json_is_string(value) && !fgi_parse_i64(fgi_str_of(json_string_value(value)), &result))
        return -1;
    return result;
}

static void read_algorithm(const json_t *config, fgi_hlo_config *out)
{
    const json_t *from = json_object_get(config, "collective_algorithm_config");
    const char *emitter = json_string_value(json_object_get(from, "emitter"));
    const char *strategy = json_string_value(json_object_get(from, "strategy"));
    (void)snprintf(out->algorithm, sizeof out->algorithm, "%s%s%s", emitter ? emitter : "",
                   emitter && strategy ? ", " : "", strategy ? strategy : "");
}

void fgi_hlo_config_read(const fgi_hlo_op *op, fgi_hlo_config *out)
{
    *out = (fgi_hlo_config){.cycles = -1, .trips = -1};
    if (op->config.len == 0)
        return;
    json_t *config = fgi_json_load((const char *)op->config.data, op->config.len, 0, NULL);
    const json_t *window = json_object_get(config, "window_config");
    const json_t *trips = json_object_get(config, "known_trip_count");
    const json_t *cycles = json_object_get(window, "estimated_cycles");
    out->cycles =
        (double)number(cycles != NULL ? cycles : json_object_get(config, "estimated_cycles"));
    out->trips = number(json_object_get(trips, "n"));
    out->is_beside = json_object_get(config, "async_collective_fusion_config") != NULL;
    read_algorithm(config, out);
    json_decref(config);
}

/* ---- loops: the usual counter is recognized, anything else is unknown ------------------------ */

enum { STEPS_MAX = 8 };

typedef struct loop {
    const fgi_hlo_index *index;
    const fgi_hlo_op *loop;
    const fgi_hlo_computation *body, *condition;
} loop;

static bool is(const fgi_hlo_op *op, const char *opcode)
{
    return op != NULL && strcmp(op->opcode, opcode) == 0;
}

/* Skips instructions that only pass a value on. */
static const fgi_hlo_op *origin(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    for (int i = 0; i < STEPS_MAX && (is(op, "copy") || is(op, "bitcast")); i++)
        op = fgi_hlo_in(index, op, 0);
    return op;
}

static bool constant(const fgi_hlo_op *op, int64_t *out)
{
    if (!is(op, "constant") || op->literal == NULL)
        return false;
    const Fgi__Hlo__Literal *l = op->literal;
    if (l->n_s32 == 1)
        *out = l->s32[0];
    else if (l->n_s64 == 1)
        *out = l->s64[0];
    else if (l->n_u32 == 1)
        *out = l->u32[0];
    return l->n_s32 == 1 || l->n_s64 == 1 || l->n_u32 == 1;
}

/* Whether it is element *out of the loop's state. */
static bool carried(const fgi_hlo_index *index, const fgi_hlo_op *op, int64_t *out)
{
    if (!is(op, "get-tuple-element") || !is(fgi_hlo_in(index, op, 0), "parameter"))
        return false;
    *out = op->part;
    return true;
}

/* The instruction that computes an element of the loop's initial or next state. */
static const fgi_hlo_op *part_of(const fgi_hlo_index *index, const fgi_hlo_op *tuple, int64_t part)
{
    return is(tuple, "tuple") ? origin(index, fgi_hlo_in(index, tuple, (size_t)part)) : NULL;
}

/* A number inside the loop: a constant, or an element of the state that is initially constant and
 * never changes. */
static bool fixed(const loop *l, const fgi_hlo_op *op, int64_t *out)
{
    int64_t part, kept;
    op = origin(l->index, op);
    if (constant(op, out))
        return true;
    if (!carried(l->index, op, &part))
        return false;
    const fgi_hlo_op *next = part_of(l->index, fgi_hlo_root(l->index, l->body), part);
    return carried(l->index, next, &kept) && kept == part &&
           constant(part_of(l->index, fgi_hlo_in(l->index, l->loop, 0), part), out);
}

/* The increment of the counter per iteration. */
static bool step_of(const loop *l, int64_t counter, int64_t *out)
{
    int64_t part;
    const fgi_hlo_op *next = part_of(l->index, fgi_hlo_root(l->index, l->body), counter);
    if (!is(next, "add"))
        return false;
    for (size_t i = 0; i < 2; i++)
        if (carried(l->index, origin(l->index, fgi_hlo_in(l->index, next, i)), &part) &&
            part == counter)
            return fixed(l, fgi_hlo_in(l->index, next, 1 - i), out);
    return false;
}

static int64_t rounds(const char *direction, int64_t from, int64_t to, int64_t step)
{
    const bool rises = step > 0;
    const int64_t way = rises ? to - from : from - to, size = rises ? step : -step;
    if (step == 0)
        return -1;
    if (strcmp(direction, rises ? "LT" : "GT") == 0)
        return way > 0 ? (way + size - 1) / size : 0;
    if (strcmp(direction, rises ? "LE" : "GE") == 0)
        return way >= 0 ? way / size + 1 : 0;
    return strcmp(direction, "NE") == 0 && way >= 0 && way % size == 0 ? way / size : -1;
}

int64_t fgi_hlo_trips(const fgi_hlo_index *index, const fgi_hlo_op *op)
{
    loop l = {.index = index, .loop = op};
    l.body = fgi_hlo_called(index, op, 0);
    l.condition = fgi_hlo_called(index, op, 1);
    if (l.body == NULL || l.condition == NULL)
        return -1;
    const fgi_hlo_op *test = fgi_hlo_root(index, l.condition);
    int64_t counter, from, to, step;
    if (!is(test, "compare") ||
        !carried(index, origin(index, fgi_hlo_in(index, test, 0)), &counter) ||
        !fixed(&l, fgi_hlo_in(index, test, 1), &to) || !step_of(&l, counter, &step) ||
        !constant(part_of(index, fgi_hlo_in(index, op, 0), counter), &from))
        return -1;
    return rounds(test->direction, from, to, step);
}
