/* trainer.h (internal) - the Trainer: the parts that it owns, and what a fit and a call hold.
 *
 * Each part has a header of its own; those whose members nobody else knows are pointers here.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAINER_H
#define FGI_TRAIN_TRAINER_H

#include <fulgurite/train.h>

#include "base/arena.h"
#include "train/cursor.h"
#include "train/stage.h"
#include "train/watchdog.h"
#include "train/windows.h"

struct fgi_callback;

struct fg_trainer {
    fg_trainer_options options; /* strings, and the schedule, in `strings` */
    fgi_arena strings;
    const struct fgi_precision *precision;
    fg_client *client;
    bool owns_client;
    fg_task task;
    fg_module *root;
    fg_optimizer *optimizer;
    fg_load_report load_report; /* of options.checkpoints.weights */
    bool is_restored;           /* resume and weights have been looked at */
    fgi_stage stage[4];
    struct fgi_feed *feed;
    fgi_watchdog watchdog;
    struct fgi_ledger *ledger;
    struct fgi_saver *saver;
    fgi_windows train_windows;
    struct fgi_callback *callbacks;
    size_t callback_count, callback_capacity;
    struct fgi_logger *logger;
    int run_lock;                  /* descriptor of the run's lock, -1: not held */
    struct fgi_progress *progress; /* one of the callbacks; NULL: none */
    fgi_cursor cursor;             /* where training stands */
    bool has_warned;               /* of a monitored metric that is not there */
    struct {
        bool is_open;
        size_t metric_count;
        char metric[FG_MAX_METRICS][48];
        float sums[FGI_MOST_SUMS];
    } restored; /* from the checkpoint resumed from; the window that was open in it */
    float health[FGI_HEALTH_SIZE]; /* as last heard of */
    bool has_health, has_warned_of_bad, has_warned_of_lost;
    /* this fit */
    fg_fit_settings settings;
    int64_t total_steps, batches_per_epoch;
    int64_t train_limit; /* batches of an epoch, 0: no limit */
    bool drop_last;
    int64_t window_start_ns, window_samples;
    int64_t evaluated_batches; /* of the last evaluation */
    bool is_saved;             /* the present state is in the last checkpoint */
    bool has_started;          /* fit_start was told */
    int64_t lost_step; /* the training step that failed and took the weights with it, 0: none */
    /* this call */
    bool is_busy, is_running; /* inside a public call; inside fit */
    bool is_stopping;         /* a callback or a signal asked for the end */
    fg_error failure;         /* of a callback that did so by an error */
    bool is_in_step;          /* of several batches; it began at: */
    struct {
        int64_t position, batches;
        bool has_read_epoch;
    } step_start;
    fg_client_stats stats_before;
    fg_result result;
    char last_checkpoint[512]; /* saved or loaded by this Trainer, in whichever call; "" : none */
    fg_metric fit_metrics[FG_MAX_RESULTS]; /* that the last fit ended with */
    size_t fit_metric_count;
};

/* Client, module and, for fit, optimizer; made on first use. */
fg_status fgi_trainer_prepare(fg_trainer *trainer, const fg_task *task, bool with_optimizer,
                              fg_error *err);

#endif
