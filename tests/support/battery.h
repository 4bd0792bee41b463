/* battery.h - tests many operations at once: each row of op_cases.h is traced, all rows of a group
 * become one program, and results and gradients are compared with PyTorch's (tests/golden/ops) and
 * with finite differences.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_BATTERY_H
#define FGT_BATTERY_H

#include <fulgurite/ops.h>

enum {
    FGT_VALUE = 1,  /* the result, compared with PyTorch's                     */
    FGT_GRAD = 2,   /* the gradients, compared with PyTorch's                  */
    FGT_DIFF = 4,   /* gradients, compared with central differences        */
    FGT_TWICE = 8,  /* second derivatives, compared with finite differences           */
    FGT_BF16 = 16,  /* in bf16 too                                             */
    FGT_F16 = 32,   /* in f16 too                                              */
    FGT_ROUGH = 64, /* computed in f32 whatever T is                           */
    FGT_SHARP = 128 /* large numbers cancel: f32 keeps fewer digits            */
};

typedef struct fgt_row {
    const char *id;
    const char *family; /* its record is tests/golden/ops/FAMILY.safetensors */
    int checks;
    const char *inputs; /* "T[2,3] s32[4]<5" */
    fg_tensor (*call)(fg_trace *trace, const fg_tensor *in);
} fgt_row;

/* The parts of fg_split, at most 4, concatenated in reverse order. */
static inline fg_tensor fgt_split(fg_tensor a, int axis, int count, const int64_t *size)
{
    fg_tensor part[4], reversed[4];
    fg_split(a, axis, count, size, part);
    for (int i = 0; i < count; i++)
        reversed[i] = part[count - 1 - i];
    return fg_concat(reversed, count, axis);
}

/* Compares the rows, with T as dtype, with the record; for FG_F64 also with finite differences.
 * Rows whose inputs have no T are only tested with FG_F32. Prints all failures, then fails. The
 * environment variable FGT_ROW selects the rows whose names start with its value. */
void fgt_battery(fg_client *client, const fgt_row *rows, size_t count, fg_dtype dtype);
/* Closes the record that fgt_battery opened. */
void fgt_battery_close(void);

#endif
