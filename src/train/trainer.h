/* trainer.h (internal) - the Trainer: its options, its devices, its model and its parts.
 *
 * Each part has its own header, and is private to its file. What lives for one fit or one call is
 * in fgi_fit and fgi_call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAINER_H
#define FGI_TRAIN_TRAINER_H

#include <fulgurite/train.h>

#include "base/arena.h"
#include "base/span.h"
#include "train/accumulation.h"
#include "train/call.h"
#include "train/cursor.h"
#include "train/divergence.h"
#include "train/ledger.h"
#include "train/windows.h"

struct fgi_precision;

/* What the task built; lives as long as the Trainer. */
typedef struct fgi_model {
    fg_task task;
    fg_module *root;            /* NULL until the first call */
    fg_optimizer *optimizer;    /* owned by root; NULL until the first fit */
    fg_load_report load_report; /* of options.checkpoints.weights */
    bool is_restored;           /* resume and weights have been handled */
    int64_t lost_step;          /* training step whose failure destroyed the weights, 0: none */
} fgi_model;

/* One fit: set to zeros when it starts, readable until the next one starts. */
typedef struct fgi_fit {
    fg_fit_settings settings;
    int64_t total_steps, batches_per_epoch;
    int64_t train_limit; /* batches of an epoch, 0: no limit */
    bool drop_last;
    bool has_started;    /* fit_start was called */
    int64_t validations; /* from its start to its end; -1: unknown */
    bool is_extra;       /* the validation would not be due without the limit that ended the fit */
    bool ends_epoch;     /* the step that is launched is the last of its epoch */
    bool is_in_step;     /* whose first batch was launched from this position: */
    fgi_cursor step_start;
} fgi_fit;

/* The metrics that the last fit ended with. */
typedef struct fgi_last_fit {
    fg_metric metrics[FG_MAX_RESULTS];
    size_t count;
} fgi_last_fit;

/* What fg_trainer_preview knows instead of a client and an optimizer; all zero otherwise. */
typedef struct fgi_preview {
    int device_count, batch_shards;
    double lr;
} fgi_preview;

struct fg_trainer {
    fg_trainer_options options;
    fg_trainer_options *own_options; /* owns the strings of the table's rows */
    fgi_arena strings;               /* other strings, and the schedule */
    void *schedule_options;          /* those of the schedule, unless they are borrowed */
    const struct fgi_precision *precision;
    fgi_accumulation accumulation; /* batches of a step */
    fg_client *client;             /* closed with the Trainer unless it is options.devices.client */
    fgi_model model;
    struct fgi_stage *stage[4]; /* by fgi_stage_kind */
    struct fgi_feed *feed;
    struct fgi_windows *windows; /* of training */
    fgi_health health;
    fgi_divergence divergence;
    fgi_ledger ledger;
    struct fgi_saver *saver;
    struct fgi_step_profile *step_profile;
    struct fgi_run *run;
    struct fgi_watchdog *watchdog;
    fgi_spans spans; /* what the thread of a call does */
    struct fgi_callbacks *callbacks;
    struct fgi_progress *progress; /* one of the callbacks; NULL: none */
    fgi_cursor cursor;             /* the position of training */
    fgi_fit fit;
    fgi_call call;
    fgi_last_fit last_fit;
    fg_evaluation evaluation; /* that the user has asked for */
    fgi_preview preview;
};

/* Creates what is missing of client, module and, for fit, optimizer. */
fg_status fgi_trainer_prepare(fg_trainer *trainer, const fg_task *task, bool with_optimizer,
                              fg_error *err);

/* Takes the sums of training (windows.h): calls `log`, and looks for divergence. self: the
 * Trainer. */
fg_status fgi_fit_take(void *self, fgi_window_end end, const float *sums, const fg_progress *at,
                       fg_error *err);
/* Whether the call is to end early: a callback, a signal, a request, or the end of its time. */
bool fgi_trainer_stops(fg_trainer *trainer);
/* The current position of training, for a callback. */
fg_progress fgi_progress_at(const fg_trainer *trainer);
/* Calls `step_start` of all callbacks, in a fit. */
void fgi_trainer_step_start(fg_trainer *trainer);

#endif
