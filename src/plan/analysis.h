/* analysis.h - what a compiled step costs and where: the compiler's own estimate of cycles by
 * layer, work lost to padding, bytes of main memory, communication between devices, and slow
 * formats.
 *
 * All of it is read from the optimized program; nothing is measured. docs/plan-metrics.md says how
 * each figure comes about.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_ANALYSIS_H
#define FGI_PLAN_ANALYSIS_H

#include <fulgurite/chip.h>

#include "base/arena.h"
#include "base/buf.h"
#include "plan/hlo_counts.h"

/* For what a program was compiled. */
typedef struct fgi_plan_machine {
    const fg_chip *chip;     /* NULL: not in the table, nothing is said in seconds */
    int devices;             /* that the program spans */
    int64_t batch;           /* samples of a step on one device; 0: not known */
    int64_t steps_per_epoch; /* 0: not known */
} fgi_plan_machine;

/* A dimension that products are computed with, and what the compiler makes of it. */
typedef struct fgi_plan_dim {
    int64_t size, padded; /* equal: nothing is lost; both 0: there are no products */
    int64_t unit;         /* it is padded to whole multiples of this */
    bool is_batch;        /* it is as long as the batch ... */
    bool may_be_width;    /* ... and so is another dimension of the product */
} fgi_plan_dim;

/* What work does, of one device and step. Loops are counted as often as they run. */
typedef struct fgi_plan_work {
    double cycles;              /* the compiler's estimate */
    double flops, padded_flops; /* of products: of their operands' sizes, and of these in tiles */
    double flops_16bit;         /* of `flops`: operands of 16 bits or less */
    double bytes, padded_bytes; /* to and from main memory: of elements, and of whole tiles */
} fgi_plan_work;

/* A part of the program: a module, or a line outside of modules. */
typedef struct fgi_plan_layer {
    const char *name; /* "layer1.0.conv1", "train.c:31" outside of modules, "elsewhere" */
    const char *file; /* the user's line where it is applied; NULL: not known */
    int line;
    fgi_plan_work work;
    double lost_cycles; /* of work.cycles, the share that products lose to padding */
    fgi_plan_dim worst; /* the dimension that loses most */
    double worst_flops; /* what it loses */
} fgi_plan_layer;

/* Communication between devices of one kind, one algorithm and one group size. */
typedef struct fgi_plan_collective {
    fgi_collective kind;
    int count, group;      /* so many a step, each among so many devices */
    int64_t bytes;         /* of one device, all together, before the collective or after it */
    double seconds;        /* as a ring along one axis of the links; -1: not known */
    const char *algorithm; /* the compiler's words, "" where it says nothing */
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
/* One line for people: what is slow and what would be fast. */
const char *fgi_plan_slow_text(fgi_plan_slow_kind kind);

/* Operations of a kind that the chip is slow at. */
typedef struct fgi_plan_slow {
    int count;
    const char *layer; /* of the first one; NULL: count is 0 */
} fgi_plan_slow;

/* Owns its texts; fgi_plan_analysis_fini. */
typedef struct fgi_plan_analysis {
    fgi_plan_machine machine;
    fgi_plan_work total;
    fgi_plan_layer *layers; /* in falling order of lost_cycles, then of cycles */
    size_t layer_count;
    fgi_plan_collective *collectives;
    size_t collective_count;
    fgi_plan_slow slow[FGI_SLOW_KINDS];
    int unknown_loops; /* loops whose number of rounds is not known, counted once */
    /* Estimates in seconds, -1: not known. A step is the longer of compute and memory, and the
     * collectives after it. */
    double compute_s, memory_s, collective_s, step_s, epoch_s;
    double
        mxu_fraction; /* useful work of the matrix units in these cycles over their peak; or -1 */
    fgi_arena texts;
} fgi_plan_analysis;

/* program: what fgi_executable_optimized gives. out is to be finished in any case. Errors:
 * FG_EFORMAT, FG_ENOMEM. */
fg_status fgi_plan_analyze(const void *program, size_t size, const fgi_plan_machine *machine,
                           fgi_plan_analysis *out, fg_error *err);
void fgi_plan_analysis_fini(fgi_plan_analysis *analysis);

/* Figures of one batch size among several. */
typedef struct fgi_plan_point {
    int64_t batch;
    double cycles; /* of a step */
} fgi_plan_point;
/* The smallest batch whose cycles per sample are within a tenth of the least of all: from there on
 * the matrix units are filled as well as they get. 0: there is no point with cycles. */
int64_t fgi_plan_saturation_batch(const fgi_plan_point *points, size_t count);

/* The analysis as an object of JSON, and as lines for people. */
void fgi_plan_put_json(const fgi_plan_analysis *analysis, fgi_buf *out);
void fgi_plan_put_text(const fgi_plan_analysis *analysis, fgi_buf *out);

#endif
