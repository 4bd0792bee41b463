/* hlo_clocks.h - the operations that a device runs one after the other, and a form of the program
 * that notes when each begins and ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_HLO_CLOCKS_H
#define FGI_PLAN_HLO_CLOCKS_H

#include "base/buf.h"
#include "kernel/kernel.h"
#include "plan/hlo_work.h"

/* The operations of a module's entry, and of what its loops, branches and calls run; a fusion is
 * one. Without those that take no time, such as tuples. */
typedef struct fgi_hlo_units {
    const fgi_hlo *hlo;
    fgi_hlo_index index;
    bool *is_run; /* by computation of the module: its operations are units */
    struct fgi_hlo_unit {
        const fgi_hlo_op *op;
        const fgi_hlo_computation *in;
    } * unit;
    size_t count;
} fgi_hlo_units;

/* The module is borrowed. Always free out. */
fg_status fgi_hlo_units_make(const fgi_hlo *hlo, fgi_hlo_units *out, fg_error *err);
void fgi_hlo_units_fini(fgi_hlo_units *units);

/* The module for fgi_recompile, with a call of FGI_KERNEL_CLOCK before unit i, of the mark
 * 2 (first + i), and one after it, of the next mark. */
fg_status fgi_hlo_put_clocks(const fgi_hlo_units *units, size_t first, fgi_buf *out, fg_error *err);

typedef struct fgi_unit_times {
    double *ns, *begins;        /* by unit; how often it began */
    double step_ns, between_ns; /* all time, and that in which no unit runs */
} fgi_unit_times;

/* Adds the ticks of a step, and sorts them. Units that run at the same time, on one device or
 * several, share that time equally: all parts, and the time in between, add up to the time from the
 * first to the last tick. */
void fgi_ticks_add(fgi_tick *ticks, size_t count, fgi_unit_times *to);

#endif
