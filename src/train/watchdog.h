/* watchdog.h (internal) - notices when a run stands still.
 *
 * The Trainer's thread says what it begins that may not end; a thread of the watchdog looks at it
 * now and then.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_WATCHDOG_H
#define FGI_TRAIN_WATCHDOG_H

#include <pthread.h>
#include <fulgurite/train.h>
#include "base/thread.h"
#include "pjrt/pjrt.h"

/* What the Trainer's thread is at. */
typedef enum fgi_doing {
    FGI_DOING_NOTHING, /* that is watched: callbacks, for one */
    FGI_DOING_INPUT,
    FGI_DOING_UPLOAD,
    FGI_DOING_LAUNCH,
    FGI_DOING_STEP, /* waits for the end of one */
    FGI_DOING_READ,
    FGI_DOING_CHECKPOINT,
    FGI_DOING_COMPILE
} fgi_doing;

typedef struct fgi_watch {
    fgi_doing doing;
    int stage;        /* fgi_stage_kind */
    int64_t step;     /* in its kind, from 1; 0: not one step */
    fgi_event *event; /* that it waits for, or NULL */
    int64_t since_ns;
} fgi_watch;

typedef struct fgi_watchdog {
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    fgi_thread thread;
    bool is_running, is_ending;
    int64_t limit_ns, compile_limit_ns; /* 0: none */
    fg_hang_fn *hang;
    void *hang_self;
    const fg_client *client; /* NULL until there is one */
    fgi_watch now;
    int told;            /* times that the present one was told of */
    fgi_watch last_done; /* the last step that ended; since_ns: when */
    char checkpoint[512];
} fgi_watchdog;

/* Starts watching: for the time of a public call of the Trainer. */
fg_status fgi_watchdog_start(fgi_watchdog *dog, const fg_trainer_options *options, fg_error *err);
void fgi_watchdog_stop(fgi_watchdog *dog); /* also one that was not started */

/* What the Trainer's thread does from now on (since_ns is filled in); returns what it did before,
 * to be given back when this has ended. No call at all while the watchdog does not run. */
fgi_watch fgi_watch_set(fgi_watchdog *dog, fgi_watch next);
/* A step has ended. */
void fgi_watch_done(fgi_watchdog *dog, int stage, int64_t step);
/* Facts for the report. */
void fgi_watch_client(fgi_watchdog *dog, const fg_client *client);
void fgi_watch_checkpoint(fgi_watchdog *dog, const char *path);

#endif
