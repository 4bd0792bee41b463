/* plan.h - the machines of `fulgurite plan`, and their compilers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_H
#define PLAN_H

#include <fulgurite/plan.h>

#include "cli.h"

/* A machine named on the command line. */
typedef struct plan_machine {
    const char *name; /* as given by the user */
    fg_topology_info info;
    const struct plan_machine *same_as; /* an earlier name of it; NULL: none */
} plan_machine;

/* Splits "a,b" in place; names point into it. Returns their number, 0 after an error. */
size_t plan_machines_read(char *text, plan_machine *out, size_t capacity, fg_error *err);
/* On a terminal, offers to download the compilers that the machines need and that are not
 * installed; prints failures. */
void plan_offer_compilers(const plan_machine *machines, size_t count);

#endif
