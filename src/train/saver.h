/* saver.h - checkpoints written while training continues.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SAVER_H
#define FGI_TRAIN_SAVER_H

#include <stdatomic.h>

#include <fulgurite/train.h>

#include "base/thread.h"
#include "train/callbacks.h"
#include "train/divergence.h"
#include "train/snapshot.h"
#include "train/watchdog.h"
#include "train/windows.h"

enum { FGI_SAVES_FAILED = 3 }; /* in a row, after which a run ends */

/* Parts of the Trainer, and how the state is copied. */
typedef struct fgi_saver_uses {
    const fg_trainer_checkpoints *o;
    fgi_cursor *cursor;
    fgi_call *call;
    fgi_spans *spans;
    fgi_windows *windows;
    fgi_watchdog *watchdog;
    fgi_callbacks *callbacks;
    fgi_divergence *divergence;
    fg_status (*take)(void *self, fgi_snapshot **out, fg_error *err);
    void *self;
} fgi_saver_uses;

typedef struct fgi_saver {
    fgi_saver_uses of;
    fgi_snapshot *snapshot; /* being written, or NULL */
    fgi_thread thread;
    bool has_thread;
    atomic_bool is_written; /* set by the thread when it is done */
    fg_error error;         /* owned by the thread until then */
    int failures;           /* in a row */
    bool has_given_up;      /* its error has ended the fit */
    bool is_ending;         /* the fit is ending, which counts failures itself */
    int64_t begun_ns;       /* when the last save, or the fit, began; monotonic */
    bool is_current;        /* the current state is in the last checkpoint */
    bool is_requested;      /* by a callback, since the last save */
    char last[512];         /* saved or loaded by this Trainer; "": none */
} fgi_saver;

fg_status fgi_saver_create(const fgi_saver_uses *uses, fgi_saver **out, fg_error *err);
/* A fit starts: resets the count of failures. */
void fgi_saver_reset(fgi_saver *saver);
/* Records the last checkpoint: for `last`, the result and the watchdog. */
void fgi_saver_remember(fgi_saver *saver, const char *path);
/* Whether ckpt_every_time have passed since the last save began, or the fit. */
bool fgi_saver_is_due(const fgi_saver *saver);
/* Starts saving the current state, after the previous save has finished. */
fg_status fgi_saver_begin(fgi_saver *saver, fg_error *err);
/* Handles a save that has finished: calls `saved`, or logs the failure. An error when
 * FGI_SAVES_FAILED have failed in a row. wait: waits for a save under way. */
fg_status fgi_saver_collect(fgi_saver *saver, bool wait, fg_error *err);
/* At the end of a fit: saves the state if it is not saved yet, and waits. A failed save is retried
 * once before it is an error. */
fg_status fgi_saver_finish(fgi_saver *saver, fg_error *err);
/* After a failure with this status: whether there is a state that can be saved and is worth it. */
bool fgi_saver_can_rescue(fgi_saver *saver, fg_status status);
/* Saves it, and adds the path to the error. */
void fgi_saver_rescue(fgi_saver *saver, fg_error *err);
/* After a failure: waits for the save under way, and only records its path. */
void fgi_saver_abandon(fgi_saver *saver);

#endif
