/* saver.h - checkpoints written while training continues. What a saver holds is private to saver.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SAVER_H
#define FGI_TRAIN_SAVER_H

#include <fulgurite/train.h>

#include "train/callbacks.h"
#include "train/divergence.h"
#include "train/snapshot.h"
#include "train/watchdog.h"
#include "train/windows.h"

enum { FGI_SAVES_FAILED = 3 }; /* in a row, after which a run ends */

typedef struct fgi_saver fgi_saver;

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

fg_status fgi_saver_create(const fgi_saver_uses *uses, fgi_saver **out, fg_error *err);
void fgi_saver_destroy(fgi_saver *saver); /* NULL is allowed */
/* A fit starts: resets the count of failures. */
void fgi_saver_reset(fgi_saver *saver);
/* Whether a save is under way. */
bool fgi_saver_is_busy(const fgi_saver *saver);
/* Whether the current state is in the last checkpoint, or being written to it. */
bool fgi_saver_is_current(const fgi_saver *saver);
void fgi_saver_set_current(fgi_saver *saver, bool is_current);
/* The checkpoint last saved or loaded by this Trainer, in any call; "": none. */
const char *fgi_saver_last(const fgi_saver *saver);
/* Records the last checkpoint: for fgi_saver_last, the result and the watchdog. */
void fgi_saver_remember(fgi_saver *saver, const char *path);
/* Whether ckpt_every_time have passed since the last save began, or the fit. */
bool fgi_saver_is_due(const fgi_saver *saver);
/* Sets whether a callback requests a save. */
void fgi_saver_request(fgi_saver *saver, bool is_requested);
bool fgi_saver_is_requested(const fgi_saver *saver);
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
