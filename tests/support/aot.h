/* aot.h - training steps compiled by the Trainer for other hardware, and the resulting optimized
 * programs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_AOT_H
#define FGT_AOT_H

#include <fulgurite/fulgurite.h>

#include "plan/hlo_counts.h"
#include "train/step/stage.h"
#include "train/trainer.h"

typedef struct aot_case {
    const char *generation; /* "v5e", "h100" */
    int devices;            /* 1, 8 or 256; of GPUs any number */
    const char *model;      /* name of a model, "transformers", "augmented", "mixed"... */
    fgi_stage_kind kind;    /* FGI_TRAIN with momentum; FGI_VAL, FGI_PREDICT */
    bool has_tail;          /* the last batch of the data is not full */
    const char *precision;  /* NULL: "32-true" */
    const char *strategy;   /* NULL: "ddp", or "single" */
} aot_case;

typedef struct aot_result {
    int device_count;
    int64_t replicas, partitions;
    fgi_program_cost cost;
    fgi_hlo_counts counts;
    fgi_state_bytes state;
    size_t serialized_bytes;
    char fingerprint[FGI_FINGERPRINT_MAX];
    double compile_s;
} aot_result;

/* Ends the process as skipped, saying why, unless a plugin for the accelerator is installed. */
void aot_need(const char *accelerator);
/* Compiles; fails the test with the compiler's message. */
void aot_compile(const aot_case *wanted, aot_result *out);
/* Compiles, runs the checks that apply to every case, and prints one line to standard output. */
void aot_check(const aot_case *wanted);
/* Runs aot_check on each case as a separate test; returns main's result. */
int aot_run(const aot_case *cases, size_t count);

#endif
