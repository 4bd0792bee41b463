/* bench.h - which of its operations the time of a training step is spent in.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_BENCH_H
#define FGI_PLAN_BENCH_H

#include <fulgurite/plan.h>
#include <jansson.h>

#include "train/trial.h"

/* Within a trial: runs steps, and adds to an object the time on the devices of the kinds of
 * operations and of each operation. On the CPU, the operations are timed in a program of the same
 * operations with clocks; elsewhere, by the plugin's profiler. Errors: FG_EUNSUPPORTED (the plugin
 * has no profiler, or it records no operations), those of compiling and of a step. */
fg_status fgi_step_times_put(fgi_trial *trial, fg_client *client, int64_t steps, json_t *out,
                             fg_error *err);

#endif
