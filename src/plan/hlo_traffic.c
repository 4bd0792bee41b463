/* hlo_traffic.c - traffic between a device's main memory and its units.
 *
 * The layout of an array names its memory; memory close to the units is not counted. A fusion reads
 * its arguments completely, except those of which it only reads a slice.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "plan/hlo_work.h"

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
    const fgi_hlo_computation *fused =
        strcmp(op->opcode, "fusion") == 0 ? fgi_hlo_called(index, op, 0) : NULL;
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
    const fgi_hlo_computation *fused =
        strcmp(op->opcode, "fusion") == 0 ? fgi_hlo_called(index, op, 0) : NULL;
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
