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

/* Reads "10:20", "10" (one step), "auto", or "" and NULL (none); false for anything else. */
bool fgi_profile_steps_parse(const char *text, fgi_profile_steps *out);
/* The steps that "auto" means for a fit that starts after step `done`, of `total` steps (-1:
 * unknown): ten steps after the first ten, or the last ten. */
fgi_profile_steps fgi_profile_steps_choose(int64_t done, int64_t total);

#endif
