/* profile_steps.h - which steps to take a profile of.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_PROFILE_STEPS_H
#define FGI_TRAIN_PROFILE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* Steps of a run, starting at 1. */
typedef struct fgi_profile_steps {
    bool is_auto;        /* chosen when the fit starts */
    int64_t first, last; /* otherwise; 0: none */
} fgi_profile_steps;

/* Of fg_trainer_output.profile. */
fgi_profile_steps fgi_profile_steps_of(const int64_t given[2]);
/* The steps that "auto" means for a fit that starts after step `done`, of `total` steps (-1:
 * unknown): ten steps after the first ten, or the last ten. */
fgi_profile_steps fgi_profile_steps_choose(int64_t done, int64_t total);

#endif
