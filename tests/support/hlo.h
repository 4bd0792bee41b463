/* hlo.h - reads the program that a plugin has compiled: its products and convolutions, and in which
 * formats they compute.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_HLO_H
#define FGT_HLO_H

#include "fgt.h"

#include <fulgurite/dtype.h>

#include "pjrt/pjrt.h"

/* One instruction of the optimised program, inside fusions too. */
typedef struct fgt_hlo_op {
    char opcode[48]; /* "dot", "convolution", "fusion" ... */
    fg_dtype result; /* FG_DTYPE_NONE for tuples and formats that we do not have */
    fg_dtype in[2];  /* of the first operands, likewise */
    int in_count;
} fgt_hlo_op;

/* Calls each(self, op) for all instructions of the optimised program, or fails the test. */
void fgt_hlo_each(const fgi_executable *executable, void (*each)(void *self, const fgt_hlo_op *op),
                  void *self);

/* How many products and convolutions there are: all, and those of two operands in `dtype`. */
typedef struct fgt_hlo_count {
    fg_dtype dtype; /* to be set */
    int dots, dots_so, convs, convs_so, custom_calls;
} fgt_hlo_count;
void fgt_hlo_products(const fgi_executable *executable, fgt_hlo_count *count);

#endif
