/* battery.h - proves operations, many at once: each row of op_cases.h is traced, all rows of a
 * group become one program, and results and gradients are compared with what PyTorch gave
 * (tests/golden/ops) or with differences of the results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_BATTERY_H
#define FGT_BATTERY_H

#include <fulgurite/ops.h>

enum {
    FGT_VALUE = 1, /* the result beside PyTorch's                              */
    FGT_GRAD = 2,  /* the gradients beside PyTorch's                           */
    FGT_DIFF = 4,  /* the gradients beside central differences of the results  */
    FGT_TWICE = 8, /* gradients of gradients beside differences of gradients   */
    FGT_HALF = 16, /* results and gradients in bf16 and f16 too                */
    FGT_ROUGH = 32 /* computed in f32 whatever T is                            */
};

typedef struct fgt_row {
    const char *id;
    int checks;
    const char *inputs; /* "T[2,3] s32[4]<5" */
    fg_tensor (*call)(fg_trace *trace, const fg_tensor *in);
} fgt_row;

/* The recorded results; opened on first use. */
void fgt_battery_close(void);
/* Rows whose inputs have no T are proved with dtype FG_F32 only. */
void fgt_battery_values(fg_client *client, const fgt_row *rows, size_t count, fg_dtype dtype);
/* In f64. Rows without FGT_DIFF are passed over. */
void fgt_battery_differences(fg_client *client, const fgt_row *rows, size_t count);

#endif
