/* watchdog.h - reports a run that hangs.
 *
 * The Trainer's thread begins a span for each operation that may block (activity.h); the watchdog's
 * thread checks regularly how long it has taken. What a watchdog holds is private to watchdog.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_WATCHDOG_H
#define FGI_TRAIN_WATCHDOG_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"
#include "train/activity.h"

typedef struct fgi_watchdog fgi_watchdog;

fg_status fgi_watchdog_create(const fg_trainer_options *options, fgi_watchdog **out, fg_error *err);
void fgi_watchdog_destroy(fgi_watchdog *dog); /* NULL is allowed; it is not running */
/* Starts the thread, for the duration of a public call of the Trainer. */
fg_status fgi_watchdog_start(fgi_watchdog *dog, fg_error *err);
void fgi_watchdog_stop(fgi_watchdog *dog); /* does nothing if it is not running */
/* How long a compilation may take before it is reported, in nanoseconds; it is not running. */
void fgi_watchdog_limit_compiling(fgi_watchdog *dog, int64_t limit_ns);

/* Watches the spans of the Trainer's thread while it runs. */
fgi_span_listener fgi_watchdog_listener(fgi_watchdog *dog);
/* A step of this stage has finished. */
void fgi_watch_done(fgi_watchdog *dog, fgi_stage_kind stage, int64_t step);
/* Facts for the report. */
void fgi_watch_client(fgi_watchdog *dog, const fg_client *client);
void fgi_watch_checkpoint(fgi_watchdog *dog, const char *path);

#endif
