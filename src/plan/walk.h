/* walk.h - shared by the parts of the analysis during the walk over a program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_WALK_H
#define FGI_PLAN_WALK_H

#include "plan/hlo_work.h"

typedef struct fgi_plan_walk {
    fgi_hlo_index index;
    fgi_plan_analysis *out;
    size_t layer_capacity, collective_capacity;
    bool failed; /* out of memory */
} fgi_plan_walk;

/* Adds a collective that runs `times` times. */
void fgi_plan_add_collective(fgi_plan_walk *w, const fgi_hlo_op *op, fg_collective kind,
                             const fgi_hlo_config *config, double times);
/* Adds the collectives in a fusion. */
void fgi_plan_add_fused_collectives(fgi_plan_walk *w, const fgi_hlo_op *op, double times);

/* Whether a matmul, or the dtype of an instruction's result, is slow on the chip. */
bool fgi_plan_matmul_is_slow(const fgi_plan_machine *machine, const fgi_hlo_arithmetic *matmul,
                             fgi_plan_slow_kind *out);
bool fgi_plan_format_is_slow(const fgi_plan_machine *machine, const fgi_hlo_index *index,
                             const fgi_hlo_op *op, fgi_plan_slow_kind *out);

/* Computes the times from the sums. */
void fgi_plan_estimate(fgi_plan_analysis *out);

#endif
