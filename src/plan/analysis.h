/* analysis.h - cost of a compiled step by layer: the compiler's estimate of cycles, work lost to
 * padding, memory traffic, communication between devices, and slow dtypes.
 *
 * All of it is read from the optimized program; nothing is measured. docs/plan-metrics.md explains
 * each value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_ANALYSIS_H
#define FGI_PLAN_ANALYSIS_H

#include <fulgurite/chip.h>

#include "base/arena.h"
#include "base/buf.h"
#include "plan/hlo_counts.h"

/* The machine that a program was compiled for. */
typedef struct fgi_plan_machine {
    const fg_chip *chip;     /* NULL: not in the table, no times are estimated */
    int devices;             /* devices that the program spans */
    int64_t batch;           /* samples per step on one device; 0: not known */
    int64_t steps_per_epoch; /* 0: not known */
} fgi_plan_machine;

/* A dimension of matmuls, and the size that the compiler pads it to. */
typedef struct fgi_plan_dim {
    int64_t size, padded; /* equal: nothing is lost; both 0: there are no matmuls */
    int64_t unit;         /* it is padded to a multiple of this */
    bool is_batch;        /* it has the size of the batch ... */
    bool may_be_width;    /* ... and so does another dimension of the matmul */
} fgi_plan_dim;

/* Work of operations, per device and step. A loop counts as often as it runs. */
typedef struct fgi_plan_work {
    double cycles; /* the compiler's estimate */
    double flops,
        padded_flops;   /* of matmuls: for the sizes of their operands, and for the padded sizes */
    double flops_16bit; /* part of `flops` with operands of 16 bits or less */
    double bytes, padded_bytes; /* main memory traffic: of elements, and of padded tiles */
} fgi_plan_work;

/* A part of the program: a module, or a source line outside modules. */
typedef struct fgi_plan_layer {
    const char *name; /* "layer1.0.conv1", "train.c:31" outside modules, "elsewhere" */
    const char *file; /* the line in the user's source where it is applied; NULL: not known */
    int line;
    fgi_plan_work work;
    double lost_cycles; /* part of work.cycles that matmuls lose to padding */
    fgi_plan_dim worst; /* the dimension that loses most */
    double worst_flops; /* what it loses */
} fgi_plan_layer;

/* Collectives of one kind, algorithm and group size. */
typedef struct fgi_plan_collective {
    fg_collective kind;
    int count, group;      /* number per step, and number of devices of each */
    int64_t bytes;         /* per device, for all of them: the larger of input and output */
    double seconds;        /* estimate for a ring along one axis of the links; -1: not known */
    const char *algorithm; /* the compiler's description, "" if there is none */
} fgi_plan_collective;

typedef enum fgi_plan_slow_kind {
    FGI_SLOW_F64,
    FGI_SLOW_INT64,
    FGI_SLOW_COMPLEX,
    FGI_SLOW_PRECISION, /* matmuls in f32 in several passes */
    FGI_SLOW_INT8,
    FGI_SLOW_INT32,
    FGI_SLOW_F16,
    FGI_SLOW_KINDS
} fgi_plan_slow_kind;
/* A description in one line: what is slow and which alternative is fast. */
const char *fgi_plan_slow_text(fgi_plan_slow_kind kind);

/* Operations of one kind that are slow on the chip. */
typedef struct fgi_plan_slow {
    int count;
    const char *layer; /* name of the first one; NULL: count is 0 */
} fgi_plan_slow;

/* Owns its strings; free it with fgi_plan_analysis_fini. */
typedef struct fgi_plan_analysis {
    fgi_plan_machine machine;
    fgi_plan_work total;
    fgi_plan_layer *layers; /* sorted by descending lost_cycles, then cycles */
    size_t layer_count;
    fgi_plan_collective *collectives;
    size_t collective_count;
    fgi_plan_slow slow[FGI_SLOW_KINDS];
    int unknown_loops; /* loops with an unknown number of iterations, counted once */
    /* Estimates in seconds, -1: not known. A step takes the maximum of compute and memory, plus the
     * collectives. */
    double compute_s, memory_s, collective_s, step_s, epoch_s;
    double mxu_fraction; /* useful work of the matrix units in these cycles, relative to their peak;
                            or -1 */
    fgi_arena texts;
} fgi_plan_analysis;

/* program: the result of fgi_executable_optimized. Always free out. Errors: FG_EFORMAT, FG_ENOMEM.
 */
fg_status fgi_plan_analyze(const void *program, size_t size, const fgi_plan_machine *machine,
                           fgi_plan_analysis *out, fg_error *err);
void fgi_plan_analysis_fini(fgi_plan_analysis *analysis);

/* The analysis as a JSON object. */
void fgi_plan_put_json(const fgi_plan_analysis *analysis, fgi_buf *out);

#endif
