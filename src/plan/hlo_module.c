/* hlo_module.c - parses XLA's HLO and counts its operations: donated arguments, collectives between
 * devices, matmuls by dtype.
 *
 * Compilers represent the same operation in several ways: for TPUs, matmuls are convolutions
 * without a window; for GPUs, custom calls to libraries. All are counted the same way.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hlo_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/kernel.h"

/* ---- reading --------------------------------------------------------------------------------- */

fg_status fgi_hlo_read(const void *data, size_t size, fgi_hlo **out, fg_error *err)
{
    *out = NULL;
    fgi_hlo *hlo = fgi_calloc(1, sizeof *hlo);
    if (hlo == NULL)
        return fgi_no_memory(err);
    bool has_failed = false;
    ProtobufCAllocator allocator = {
        .alloc = fgi_alloc_for, .free = fgi_free_for, .allocator_data = &has_failed};
    hlo->whole = fgi__hlo__module_with_config__unpack(&allocator, size, data);
    if (has_failed) {
        fgi_hlo_free(hlo);
        return fgi_no_memory(err);
    }
    hlo->module = hlo->whole != NULL ? hlo->whole->module : NULL;
    for (size_t i = 0; hlo->module != NULL && i < hlo->module->n_computation; i++)
        if (hlo->module->computation[i]->id == hlo->module->entry)
            hlo->entry = hlo->module->computation[i];
    if (hlo->entry == NULL) {
        fgi_hlo_free(hlo);
        return fgi_fail(err, FG_EFORMAT, "cannot parse the optimized program as an HLO module");
    }
    *out = hlo;
    return FG_OK;
}

void fgi_hlo_free(fgi_hlo *hlo)
{
    if (hlo == NULL)
        return;
    ProtobufCAllocator allocator = {.free = fgi_free_for};
    if (hlo->whole != NULL)
        fgi__hlo__module_with_config__free_unpacked(hlo->whole, &allocator);
    fgi_free(hlo);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* XLA's PrimitiveType, as far as arrays support the dtype; and its bits. */
static const struct {
    fg_dtype dtype;
    int bits;
} elements[] = {
    [1] = {FG_BOOL, 8},         [2] = {FG_S8, 8},          [3] = {FG_S16, 16},
    [4] = {FG_S32, 32},         [5] = {FG_S64, 64},        [6] = {FG_U8, 8},
    [7] = {FG_U16, 16},         [8] = {FG_U32, 32},        [9] = {FG_U64, 64},
    [10] = {FG_F16, 16},        [11] = {FG_F32, 32},       [12] = {FG_F64, 64},
    [15] = {FG_DTYPE_NONE, 64}, [16] = {FG_BF16, 16},      [18] = {FG_DTYPE_NONE, 128},
    [19] = {FG_DTYPE_NONE, 8},  [20] = {FG_DTYPE_NONE, 8},
};
enum { ELEMENTS = sizeof elements / sizeof elements[0] };

fg_dtype fgi_hlo_dtype(const fgi_hlo_shape *shape)
{
    const bool known = shape != NULL && shape->element > 0 && shape->element < ELEMENTS;
    return known ? elements[shape->element].dtype : FG_DTYPE_NONE;
}

int64_t fgi_hlo_bytes(const fgi_hlo_shape *shape)
{
    int64_t bytes = 0;
    if (shape == NULL)
        return 0;
    for (size_t i = 0; i < shape->n_part; i++)
        bytes += fgi_hlo_bytes(shape->part[i]);
    if (shape->n_part > 0 || shape->element <= 0 || shape->element >= ELEMENTS)
        return bytes;
    bytes = elements[shape->element].bits / 8;
    for (size_t i = 0; i < shape->n_dimension; i++)
        bytes *= shape->dimension[i];
    return bytes;
}

/* ---- instructions ---------------------------------------------------------------------------- */

const fgi_hlo_op *fgi_hlo_operand(const fgi_hlo_computation *in, const fgi_hlo_op *op, size_t index)
{
    if (index >= op->n_operand)
        return NULL;
    for (size_t i = 0; i < in->n_instruction; i++)
        if (in->instruction[i]->id == op->operand[index])
            return in->instruction[i];
    return NULL;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

fgi_hlo_matmul fgi_hlo_matmul_kind(const fgi_hlo_op *op)
{
    if (strcmp(op->opcode, "dot") == 0)
        return FGI_HLO_DOT;
    if (strcmp(op->opcode, "convolution") == 0)
        return op->conv != NULL && op->conv->n_input_spatial > 0 ? FGI_HLO_CONV : FGI_HLO_DOT;
    if (strcmp(op->opcode, "custom-call") != 0)
        return FGI_HLO_NONE;
    if (starts(op->target, "__cublas$") || starts(op->target, FGI_KERNEL_MATMUL_PREFIX))
        return FGI_HLO_DOT;
    return starts(op->target, "__cudnn$conv") || starts(op->target, FGI_KERNEL_CONV_PREFIX)
               ? FGI_HLO_CONV
               : FGI_HLO_NONE;
}

const char *fg_collective_name(fg_collective kind)
{
    static const char *const name[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                       "collective-permute"};
    return kind >= 0 && kind < FG_COLLECTIVES ? name[kind] : "";
}

bool fgi_hlo_collective(const fgi_hlo_op *op, fg_collective *out)
{
    for (int k = 0; k < FG_COLLECTIVES; k++) {
        const char *name = fg_collective_name((fg_collective)k);
        const char *rest = op->opcode + strlen(name);
        if (starts(op->opcode, name) && (*rest == '\0' || strcmp(rest, "-start") == 0)) {
            *out = (fg_collective)k;
            return true;
        }
    }
    return false;
}

/* A collective that overlaps with matmuls is part of several fusions; it starts in one of them. */
static bool is_begun_elsewhere(const fgi_hlo_computation *in, const fgi_hlo_op *op)
{
    fgi_hlo_config config;
    fgi_hlo_config_read(op, &config);
    for (size_t i = 0; config.is_beside && i < in->n_instruction; i++) {
        const fgi_hlo_op *user = in->instruction[i];
        if (strcmp(user->target, "AsyncCollectiveStart") == 0 && fgi_hlo_operand(in, user, 0) == op)
            return false;
    }
    return config.is_beside;
}

/* Bytes that are sliced from a result, or from elements of it. */
static int64_t cut_bytes(const fgi_hlo_computation *in, const fgi_hlo_op *op)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < in->n_instruction; i++) {
        const fgi_hlo_op *cut = in->instruction[i], *from = fgi_hlo_operand(in, cut, 0);
        if (from != NULL && strcmp(from->opcode, "get-tuple-element") == 0)
            from = fgi_hlo_operand(in, from, 0);
        if (from == op && strcmp(cut->opcode, "dynamic-slice") == 0)
            bytes += fgi_hlo_bytes(cut->shape);
    }
    return bytes;
}

/* The result of a collective; for one that only starts, the last element of a pair. */
static const fgi_hlo_shape *result_of(const fgi_hlo_op *op)
{
    const fgi_hlo_shape *shape = op->shape;
    const bool is_begun = strstr(op->opcode, "-start") != NULL && !starts(op->opcode, "all-reduce");
    return is_begun && shape != NULL && shape->n_part > 1 ? shape->part[1] : shape;
}

bool fgi_hlo_collective_once(const fgi_hlo_computation *in, const fgi_hlo_op *op,
                             fg_collective *out, int64_t *out_bytes)
{
    if (!fgi_hlo_collective(op, out) || (in->is_fused && is_begun_elsewhere(in, op)))
        return false;
    *out_bytes = fgi_hlo_bytes(result_of(op));
    const int64_t cut = in->is_fused && *out == FG_ALL_REDUCE ? cut_bytes(in, op) : 0;
    if (cut > 0) {
        *out = FG_REDUCE_SCATTER;
        *out_bytes = cut;
    }
    return true;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void count_parameters(const fgi_hlo *hlo, fgi_hlo_counts *out)
{
    const Fgi__Hlo__Aliases *alias = hlo->module->alias;
    for (size_t i = 0; i < hlo->entry->n_instruction; i++) {
        const fgi_hlo_op *op = hlo->entry->instruction[i];
        if (strcmp(op->opcode, "parameter") != 0)
            continue;
        const int64_t bytes = fgi_hlo_bytes(op->shape);
        out->parameters++;
        out->parameter_bytes += bytes;
        for (size_t k = 0; alias != NULL && k < alias->n_entry; k++)
            if (alias->entry[k]->parameter == op->parameter &&
                alias->entry[k]->n_parameter_index == 0) {
                out->donated++;
                out->donated_bytes += bytes;
            }
    }
}

double fgi_hlo_kernel_flops(const fgi_hlo_op *op)
{
    static const char before[] = FGI_KERNEL_NUMBERS " = array<i64: ";
    const char *config = (const char *)op->config.data;
    if (!starts(op->target, FGI_KERNEL_PREFIX) || config == NULL)
        return 0;
    const char *at = memmem(config, op->config.len, before, sizeof before - 1);
    double flops = 0;
    for (at = at != NULL ? at + sizeof before - 1 : config + op->config.len;
         at < config + op->config.len && *at >= '0' && *at <= '9'; at++)
        flops = 10 * flops + (*at - '0');
    return flops;
}

static void count_one(const fgi_hlo_computation *in, const fgi_hlo_op *op, fgi_hlo_counts *out)
{
    int64_t bytes;
    fg_collective kind;
    const fgi_hlo_matmul matmul = fgi_hlo_matmul_kind(op);
    out->custom_calls += strcmp(op->opcode, "custom-call") == 0;
    if (fgi_hlo_collective_once(in, op, &kind, &bytes)) {
        out->collectives[kind]++;
        out->collective_bytes[kind] += bytes;
    }
    if (matmul == FGI_HLO_NONE)
        return;
    const fgi_hlo_op *first = fgi_hlo_operand(in, op, 0);
    const fg_dtype dtype = first != NULL ? fgi_hlo_dtype(first->shape) : FG_DTYPE_NONE;
    out->kernel_flops += fgi_hlo_kernel_flops(op);
    if (matmul == FGI_HLO_DOT)
        out->dots[dtype]++;
    else
        out->convs[dtype]++;
}

void fgi_hlo_count(const fgi_hlo *hlo, fgi_hlo_counts *out)
{
    *out = (fgi_hlo_counts){0};
    count_parameters(hlo, out);
    for (size_t c = 0; c < hlo->module->n_computation; c++) {
        const fgi_hlo_computation *in = hlo->module->computation[c];
        for (size_t i = 0; i < in->n_instruction; i++)
            count_one(in, in->instruction[i], out);
    }
}
