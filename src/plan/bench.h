/* bench.h - how long a training step takes here, and which of its operations the time is spent in.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PLAN_BENCH_H
#define FGI_PLAN_BENCH_H

#include <fulgurite/train.h>
#include <jansson.h>

#include "train/trial.h"

/* Runs that many steps after two that warm up, and, if has_profile, as many by operation. The
 * Trainer's state is restored. *out: an object (docs/formats.md), NULL on failure. Errors: those of
 * fgi_trial_run and fgi_step_times_put. */
fg_status fgi_bench(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                    int64_t steps, bool has_profile, json_t **out, fg_error *err);

/* Within a trial: runs steps, and adds to an object the time on the devices of the kinds of
 * operations and of each operation. On the CPU, the operations are timed in a program of the same
 * operations with clocks; elsewhere, by the plugin's profiler. Errors: FG_EUNSUPPORTED (the plugin
 * has no profiler, or it records no operations), those of compiling and of a step. */
fg_status fgi_step_times_put(fgi_trial *trial, fg_client *client, int64_t steps, json_t *out,
                             fg_error *err);

#endif
