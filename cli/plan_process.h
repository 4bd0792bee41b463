/* plan_process.h - plans for machines that are not present, each in a separate process.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_PROCESS_H
#define PLAN_PROCESS_H

#include <jansson.h>

#include "cli.h"

/* What is planned and how. All members may be 0. */
typedef struct plan_process {
    const char *program; /* NULL: the running one */
    const char *config;
    const char *const *overrides;
    size_t override_count;
    fg_plan_options options;   /* its topology is set for each machine */
    double time_limit_s;       /* of a process; 0: none */
    double memory_limit_bytes; /* that a process may have resident; 0: none */
    bool is_quiet;             /* no progress and no warnings of the process */
    FILE *talk;                /* a line as each process starts; NULL: none */
    FILE *results;             /* the plans as text as they are found; NULL: none */
} plan_process;

/* Plans for one machine. *out, which the caller releases, is {"topologies": [PLAN]}; if the process
 * can't be started, crashes or reaches a limit, the plan has this as "error". The process writes
 * messages to this process's standard error, and is killed if the calling thread ends. FG_EINVAL:
 * the process rejected the configuration or an option, and has said why. */
fg_status plan_process_one(const plan_process *plan, const char *topology, json_t **out,
                           fg_error *err);

/* Plans for each machine of "NAME[,NAME]", 1 to 64 names, one after the other. A machine that is
 * named twice is planned once; the plan under its second name has "same_as". The rate of the loader
 * is measured once. *out, which the caller releases, is {"status": "done" or "failed",
 * "topologies": [...]} with a plan for each name in their order. *out_is_common: planning failed
 * for a reason that does not depend on the machine, and is the error of all plans. Errors:
 * FG_EINVAL (a name, or as plan_process_one). */
fg_status plan_process_each(const plan_process *plan, const char *topologies, json_t **out,
                            bool *out_is_common, fg_error *err);

#endif
