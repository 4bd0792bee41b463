/* plan.h - estimate the memory and time of a training step by compiling it for a machine, without
 * running it. With a topology client (device.h), you don't need to have that machine. On this one,
 * measure the step's operations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PLAN_H
#define FULGURITE_PLAN_H

#include <fulgurite/chip.h>
#include <fulgurite/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective operations, in the order of the arrays in fg_plan. */
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

/* Estimated memory and cost of a training step on one machine. Bytes are per device. A value that
 * is not available is -1, or NaN for a double. Times are estimates by the compiler, not
 * measurements. */
typedef struct fg_plan {
    bool fits;                   /* the step fits in the device's memory */
    int64_t hbm_needed_bytes;    /* total of the following; if the step does not fit, the
                                    requirement that the compiler reports */
    int64_t hbm_available_bytes; /* memory of the device */
    int64_t parameter_bytes;     /* parameters and buffers, without padding */
    int64_t optimizer_bytes;     /* optimizer state, without padding */
    int64_t batch_bytes;         /* the batch and the sums of metrics, without padding */
    int64_t padding_bytes;       /* padding that the device's layouts add to these three */
    int64_t activation_bytes;    /* temporary buffers, and outputs that alias no argument */
    int64_t program_bytes;       /* code of the program */
    int64_t batch_size, global_batch_size; /* samples per step: of one device, of all devices */
    int64_t partitions;                    /* number of devices that the program is compiled for */
    double flops;          /* per device, as counted by the compiler; and those of kernels */
    double accessed_bytes; /* memory traffic per device, as counted by it */
    double cycles; /* the compiler's estimate for arithmetic and its loads, without copies and
                      collectives */
    double step_s; /* step time from these cycles, memory traffic and collectives:
                      docs/plan-metrics.md */
    int collectives[FG_COLLECTIVES];          /* number of operations of each kind */
    int64_t collective_bytes[FG_COLLECTIVES]; /* bytes of their results, per device */
    int matmuls, matmuls_16bit; /* matmuls and convolutions; those with 16-bit operands */
    double compile_s;           /* time to compile the step */
    int64_t serialized_bytes;   /* size of the serialized executable */
    char fingerprint[129];      /* the compiler's fingerprint of the program; "": none */
    char reason[496];           /* why the step does not fit; "" if it does */
    char *analysis_json;        /* where the cost arises, as a JSON object; NULL: not available */
    uint64_t reserved[8];       /* set to 0 */
} fg_plan;

/* Compiles the training step for the Trainer's client (fg_trainer_devices.client) exactly as
 * fg_trainer_fit does, and fills *out. Free it with fg_plan_fini. A step that does not fit is a
 * result, not an error. Errors: those of fg_trainer_fit before its first step. */
FG_API FG_MUST_USE fg_status fg_plan_step(fg_trainer *trainer, const fg_task *task,
                                          const fg_fit_data *data, fg_plan *out, fg_error *err);
/* Frees the memory of a plan; also after a failure. */
FG_API void fg_plan_fini(fg_plan *plan);

/* The smallest batch size that saturates the matrix units: the smallest of the given ones whose
 * cycles per sample are within 10 % of the minimum. Ignores NaN cycles. Returns 0 if no entry has
 * cycles. Thread-safe. */
FG_API int64_t fg_plan_saturation_batch(const int64_t *batch_sizes, const double *cycles,
                                        size_t count);

/* How a step is measured. A member that is 0 means the default in []. */
typedef struct fg_bench_options {
    bool profile;  /* measure also each operation of the step                          [false] */
    int64_t steps; /* steps that are measured, after two others                           [10] */
    int64_t rows;  /* of a recipe: operations that FG_RECIPE_BENCH_LINES has (recipe.h)   [20] */
    uint64_t reserved[2];
} fg_bench_options;

/* Runs training steps on the Trainer's devices, waits for each, and restores all state. *out_json
 * is an object with their median time and, with `profile`, the time of the step by kind of
 * operation, and by operation with its layer, file and line (docs/formats.md, "Times of a step");
 * free it with fg_free. On the CPU, operations are timed in a copy of the program with clocks;
 * elsewhere, by the plugin's profiler. options may be NULL. Errors: those of a fit's first steps;
 * FG_EUNSUPPORTED (the plugin has no profiler, or it recorded no operations). */
FG_API FG_MUST_USE fg_status fg_bench_step(fg_trainer *trainer, const fg_task *task,
                                           const fg_fit_data *data, const fg_bench_options *options,
                                           char **out_json, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
