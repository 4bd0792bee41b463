/* plan.h - the parts of `fulgurite plan`: each machine's compiler runs in a separate process,
 * and its results are a JSON object.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_H
#define PLAN_H

#include <fulgurite/plan.h>
#include <jansson.h>

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

/* What a process that compiles may use. */
typedef struct plan_limits {
    double seconds;
    double bytes; /* resident */
} plan_limits;

/* How such a process ended. */
typedef struct plan_outcome {
    char *text;        /* its standard output, to be freed */
    int status;        /* its exit status, -1 when it did not exit by itself */
    char trouble[160]; /* what ended it otherwise, "" for nothing */
} plan_outcome;

/* Runs this program again with these arguments (NULL-terminated; argv[0] is put before them), its
 * standard error being ours. False only when it cannot be started. */
bool plan_child_run(const char *const *arguments, const plan_limits *limits, plan_outcome *out,
                    fg_error *err);

#endif
