/* plan_program.h - optimized programs for the analysis of src/plan: compiled by an installed
 * plugin, or recorded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_PLAN_PROGRAM_H
#define FGT_PLAN_PROGRAM_H

#include <fulgurite/fulgurite.h>

#include "pjrt/pjrt.h"
#include "plan/analysis.h"

/* An optimized program, and the compiler's data about it. */
typedef struct plan_program {
    char *data; /* fgi_free */
    size_t size;
    fgi_program_cost cost;
} plan_program;

/* An MLP with 784 features and 10 classes, trained with Adam. */
typedef struct plan_mlp {
    int64_t hidden[2];
    int64_t batch; /* on each device */
    const char *precision, *strategy;
} plan_mlp;

/* Compiles StableHLO text for one device of a machine that is not present. */
void plan_compile_text(const char *topology, const char *text, plan_program *out);
/* Compiles a training step for all devices of the machine, or for the first `devices`. */
void plan_compile_mlp(const char *topology, const char *devices, const plan_mlp *mlp,
                      plan_program *out);

#endif
