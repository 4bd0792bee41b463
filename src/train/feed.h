/* feed.h - uploads and launches, ahead of the device. What a feed holds is known to feed.c alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FEED_H
#define FGI_TRAIN_FEED_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"
#include "train/stage.h"

enum {
    FGI_IN_FLIGHT = 3,            /* steps under way; the host waits beyond that */
    FGI_SLOTS = FGI_IN_FLIGHT + 3 /* batches of a loader */
};

typedef struct fgi_feed fgi_feed;

/* A step under way. */
typedef struct fgi_flight {
    struct fgi_feed *feed;
    int open; /* events that have not happened: its end, and batches that have not arrived */
    fgi_stage_kind kind;
    bool is_step;   /* of what is being measured: not a validation within fit */
    bool is_part;   /* a batch of such a step, whose update is yet to come */
    int64_t number; /* of the step in its kind, from 1 */
    int64_t samples;
    int64_t launch_ns, inputs_ns, done_ns;
    fgi_event *done; /* its end, until it is retired */
    fg_error error;
} fgi_flight;

fg_status fgi_feed_create(fgi_feed **out, fg_error *err);
void fgi_feed_destroy(fgi_feed *feed); /* NULL is allowed */
/* Notes that the host has waited so long for the devices. */
void fgi_feed_waited(fgi_feed *feed, int64_t ns);
/* Uploads a batch and launches the stage's program on it; waits while FGI_IN_FLIGHT steps are
 * under way. The batch goes back to its loader by itself, also on failure. out_prediction may be
 * NULL. */
fg_status fgi_feed_launch(fg_trainer *trainer, fgi_stage *stage, const fg_host_batch *batch,
                          fg_array **out_prediction, fg_error *err);
/* Launches the update of a step whose batches have been launched. */
fg_status fgi_feed_update(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
/* Waits for everything launched and for host memory to be free again. */
fg_status fgi_feed_drain(fg_trainer *trainer, fg_error *err);
/* The next batch of a stage's loader, with the time it took in the ledger. */
fg_status fgi_feed_next(fg_trainer *trainer, fgi_stage *stage, const fg_host_batch **out,
                        fg_error *err);

#endif
