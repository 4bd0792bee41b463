/* slow.c - dtypes that a chip supports only slowly, although its compiler accepts them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "plan/walk.h"

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

static bool kind_of(const fgi_hlo_shape *shape, fgi_plan_slow_kind *out)
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
        return kind_of(op->shape, out) && *out == FGI_SLOW_F64 && chip->f64 < chip->f32 / 8;
    if (kind_of(op->shape, out))
        return true;
    /* if the compiler splits an array of 64 bits in two, the result has 32 bits */
    const fgi_hlo_op *from = fgi_hlo_in(index, op, 0);
    return strcmp(op->opcode, "custom-call") == 0 && strncmp(op->target, "X64", 3) == 0 &&
           from != NULL && kind_of(from->shape, out);
}
