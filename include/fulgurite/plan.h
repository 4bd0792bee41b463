/* plan.h - what a training step needs and costs, told by the compiler of the machine that it is
 * for, without running it. With a client of a topology (device.h) that machine need not be there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PLAN_H
#define FULGURITE_PLAN_H

#include <fulgurite/chip.h>
#include <fulgurite/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Communication between devices, in the order of fg_plan's tables. */
typedef enum fg_collective {
    FG_ALL_REDUCE = 0,
    FG_ALL_GATHER = 1,
    FG_REDUCE_SCATTER = 2,
    FG_ALL_TO_ALL = 3,
    FG_COLLECTIVE_PERMUTE = 4
} fg_collective;
#define FG_COLLECTIVES 5
/* "all-reduce"; "" for other values. Thread-safe. */
FG_API const char *fg_collective_name(fg_collective kind);

/* A training step on one machine. Bytes are of one device; a figure that nobody gives is -1, or NaN
 * where it is a double. What is said of time is the compiler's estimate: nothing has been measured.
 */
typedef struct fg_plan {
    bool fits;                   /* the compiler found room for it in the device's memory */
    int64_t hbm_needed_bytes;    /* all of the following; of a step that does not fit, what the
                                    compiler says it would need */
    int64_t hbm_available_bytes; /* of a device */
    int64_t parameter_bytes;     /* with buffers, as their types say */
    int64_t optimizer_bytes;     /* likewise */
    int64_t batch_bytes;         /* the batch and sums of metrics, likewise */
    int64_t padding_bytes;       /* what the device's layouts add to these three */
    int64_t activation_bytes;    /* temporary values, and results that take no argument's place */
    int64_t program_bytes;       /* the program itself */
    int64_t batch_size, global_batch_size; /* samples of a step: of one device, of all */
    int64_t partitions;                    /* devices that the program is for */
    double flops;                          /* of one device, as the compiler counts them */
    double accessed_bytes;                 /* memory traffic, likewise */
    double cycles; /* the compiler's estimate for arithmetic and its loads; copies and
                      collectives are not in it */
    double step_s; /* by these cycles, memory traffic and collectives:
                      docs/plan-metrics.md */
    int collectives[FG_COLLECTIVES];
    int64_t collective_bytes[FG_COLLECTIVES]; /* of results, one device's */
    int matmuls, matmuls_16bit;               /* matmuls and convolutions; those of 16-bit operands
                                               */
    double compile_s;
    int64_t serialized_bytes; /* the compiled program in a file */
    char fingerprint[129];    /* the compiler's name of it, "" when it has none */
    char trouble[496];        /* why it does not fit, "" when it does */
    char *analysis_json;      /* where its work is, and is lost: an object, and ... */
    char *analysis_text;      /* ... lines for people; NULL where the compiler does not show it */
    uint64_t reserved[8];     /* set to 0 */
} fg_plan;

/* Compiles the training step for the Trainer's client (fg_trainer_options.client), by the way of
 * fg_trainer_fit, and fills *out, which wants
 * fg_plan_fini. That it does not fit is an answer, not an error. Errors: those of
 * fg_trainer_fit before its first step. */
FG_API FG_MUST_USE fg_status fg_plan_step(fg_trainer *trainer, const fg_task *task,
                                          const fg_fit_data *data, fg_plan *out, fg_error *err);
/* Frees what a plan owns; after a failure, too. */
FG_API void fg_plan_fini(fg_plan *plan);

/* Of plans for several batches: the smallest batch whose cycles per sample are within a tenth of
 * the least of all, from which on the matrix units are filled as well as they get. At most 64 are
 * looked at; NaN cycles are passed over. 0: none has cycles. Thread-safe. */
FG_API int64_t fg_plan_saturation_batch(const int64_t *batch_sizes, const double *cycles,
                                        size_t count);

#ifdef __cplusplus
}
#endif
#endif
