/* battery.h - proves operations, many at once: each row of op_cases.h is traced, all rows of a
 * group become one program, and results and gradients are compared with what PyTorch gave
 * (tests/golden/ops) and with differences of the results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_BATTERY_H
#define FGT_BATTERY_H

#include <fulgurite/ops.h>

enum {
    FGT_VALUE = 1,  /* the result, compared with PyTorch's                     */
    FGT_GRAD = 2,   /* the gradients, compared with PyTorch's                  */
    FGT_DIFF = 4,   /* the gradients, compared with central differences        */
    FGT_TWICE = 8,  /* second derivatives, compared with differences           */
    FGT_BF16 = 16,  /* in bf16 too                                             */
    FGT_F16 = 32,   /* in f16 too                                              */
    FGT_ROUGH = 64, /* computed in f32 whatever T is                           */
    FGT_SHARP = 128 /* large numbers cancel: f32 keeps fewer digits            */
};

typedef struct fgt_row {
    const char *id;
    int checks;
    const char *inputs; /* "T[2,3] s32[4]<5" */
    fg_tensor (*call)(fg_trace *trace, const fg_tensor *in);
} fgt_row;

/* Tests the rows with T as dtype against the record; FG_F64 tests differences too. Rows whose
 * inputs have no T are proved with FG_F32 only. Tells every failure, then fails. FGT_ROW in the
 * environment picks the rows whose names begin so. */
void fgt_battery(fg_client *client, const fgt_row *rows, size_t count, fg_dtype dtype);
/* Closes the record, which fgt_battery opens. */
void fgt_battery_close(void);

#endif
