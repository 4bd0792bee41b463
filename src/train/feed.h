/* feed.h - uploads and asynchronous dispatch. What a feed holds is private to feed.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FEED_H
#define FGI_TRAIN_FEED_H

#include <fulgurite/train.h>

#include "train/activity.h"
#include "train/call.h"
#include "train/cursor.h"
#include "train/activity.h"
#include "train/ledger.h"
#include "train/stage.h"
#include "train/step_profile.h"
#include "train/watchdog.h"

enum { FGI_SLOTS = FGI_IN_FLIGHT + 3 }; /* batch buffers of a loader */

typedef struct fgi_feed fgi_feed;

/* Parts of the Trainer, and what it does before each launch. */
typedef struct fgi_feed_uses {
    const fgi_cursor *cursor;
    const fgi_call *call;
    fgi_spans *spans;
    fgi_ledger *ledger;
    fgi_step_profile *profile;
    fgi_watchdog *watchdog;
    int64_t *lost_step; /* set to the training step whose failure destroyed the weights; 0: none */
    /* Sets the scalars of a launch (fgi_stage_begin_launch). */
    void (*begin)(void *self, fgi_stage *stage, const fg_host_batch *batch);
    void *self;
} fgi_feed_uses;

fg_status fgi_feed_create(const fgi_feed_uses *uses, fgi_feed **out, fg_error *err);
void fgi_feed_destroy(fgi_feed *feed); /* NULL is allowed */
/* Uploads a batch and launches the stage's program on it; waits while FGI_IN_FLIGHT steps are
 * under way. The batch is returned to its loader automatically, also on failure. out_prediction may
 * be NULL unless the stage predicts. */
fg_status fgi_feed_launch(fgi_feed *feed, fgi_stage *stage, const fg_host_batch *batch,
                          fg_array **out_prediction, fg_error *err);
/* Ends a window of the ledger with the last launch, which belongs to `step`. */
void fgi_feed_close_window(fgi_feed *feed, int64_t step);
/* Launches the update of a step, after its batches. */
fg_status fgi_feed_update(fgi_feed *feed, fgi_stage *stage, fg_error *err);
/* Batches of a stage that were launched and have not finished. Thread-safe; waits for nothing. feed
 * may be NULL. */
int fgi_feed_under_way(const fgi_feed *feed, fgi_stage_kind kind);
/* Waits for all launches and uploads to finish. */
fg_status fgi_feed_drain(fgi_feed *feed, fg_error *err);
/* Gets the next batch of a stage's loader; the ledger records how long it took. */
fg_status fgi_feed_next(fgi_feed *feed, fgi_stage *stage, const fg_host_batch **out, fg_error *err);

#endif
