/* watchdog.h - reports a run that hangs.
 *
 * The Trainer's thread announces each operation that may block; the watchdog's thread checks
 * regularly how long it has taken. What a watchdog holds is private to watchdog.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_WATCHDOG_H
#define FGI_TRAIN_WATCHDOG_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"

/* What the Trainer's thread is doing. */
typedef enum fgi_doing {
    FGI_DOING_NOTHING, /* that is watched; callbacks, for example */
    FGI_DOING_INPUT,
    FGI_DOING_UPLOAD,
    FGI_DOING_LAUNCH,
    FGI_DOING_STEP, /* waiting for one to finish */
    FGI_DOING_READ,
    FGI_DOING_CHECKPOINT,
    FGI_DOING_COMPILE
} fgi_doing;

typedef struct fgi_watch {
    fgi_doing doing;
    int stage;        /* fgi_stage_kind */
    int64_t step;     /* counted per stage, starting at 1; 0: not a single step */
    fgi_event *event; /* being waited for, or NULL */
    int64_t since_ns;
} fgi_watch;

typedef struct fgi_watchdog fgi_watchdog;

fg_status fgi_watchdog_create(const fg_trainer_options *options, fgi_watchdog **out, fg_error *err);
void fgi_watchdog_destroy(fgi_watchdog *dog); /* NULL is allowed; it is not running */
/* Starts the thread, for the duration of a public call of the Trainer. */
fg_status fgi_watchdog_start(fgi_watchdog *dog, fg_error *err);
void fgi_watchdog_stop(fgi_watchdog *dog); /* does nothing if it is not running */
/* How long a compilation may take before it is reported, in nanoseconds; it is not running. */
void fgi_watchdog_limit_compiling(fgi_watchdog *dog, int64_t limit_ns);

/* Announces what the Trainer's thread does next (since_ns is filled in). Returns what it did
 * before, to be set again afterwards. Does nothing while the watchdog does not run. */
fgi_watch fgi_watch_set(fgi_watchdog *dog, fgi_watch next);
/* A step has finished. */
void fgi_watch_done(fgi_watchdog *dog, int stage, int64_t step);
/* Facts for the report. */
void fgi_watch_client(fgi_watchdog *dog, const fg_client *client);
void fgi_watch_checkpoint(fgi_watchdog *dog, const char *path);

#endif
