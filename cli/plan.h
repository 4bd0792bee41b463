/* plan.h - the machines of `fulgurite plan`, and their compilers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_H
#define PLAN_H

#include <fulgurite/plan.h>

#include "cli.h"

/* A machine named on the command line. */
typedef struct plan_machine {
    const char *name; /* as it was typed */
    fg_topology_info info;
    const struct plan_machine *same_as; /* the first of the same machine, NULL: this one is */
} plan_machine;

/* Cuts "a,b" apart in place; the names stay there. Returns how many, 0 after a mistake. */
size_t plan_machines_read(char *text, plan_machine *out, size_t capacity, fg_error *err);
/* On a terminal, asks whether to download the compilers that the machines need and that are not
 * installed, and does so; a failure is printed. */
void plan_offer_compilers(const plan_machine *machines, size_t count);

#endif
