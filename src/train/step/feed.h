/* feed.h - uploads and asynchronous dispatch; and windows of steps, between two reads of the sums
 * of metrics.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_FEED_H
#define FGI_TRAIN_FEED_H

#include <fulgurite/train.h>

#include "train/state/cursor.h"
#include "train/step/stage.h"
#include "train/watch/call.h"
#include "train/watch/watch.h"

/* ---- launches (feed.c) ----------------------------------------------------------------------- */

/* Batch buffers of a loader; the most that it has of small batches. */
enum { FGI_SLOTS = FGI_IN_FLIGHT + 3, FGI_MOST_SLOTS = 64 };

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
/* Adds a batch of training to the launch that fgi_feed_launch_added starts; if the program has no
 * loop, launches it at once. The batch is returned to its loader. */
fg_status fgi_feed_add(fgi_feed *feed, fgi_stage *stage, const fg_host_batch *batch, fg_error *err);
fg_status fgi_feed_launch_added(fgi_feed *feed, fgi_stage *stage, fg_error *err);
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

/* ---- reading metrics from the device (windows.c) --------------------------------------------- */

enum { FGI_WINDOWS = 4 }; /* reads under way */

/* Why sums of training arrive. */
typedef enum fgi_window_end {
    FGI_WINDOW_CLOSED, /* their window was closed */
    FGI_WINDOW_FIRST,  /* they are those of the first step, and the window remains open */
    FGI_WINDOW_OPEN    /* they were asked for (fgi_windows_peek), and the window remains open */
} fgi_window_end;

/* Parts of the Trainer, and who takes the sums of training. */
typedef struct fgi_windows_uses {
    fgi_stage *stage;
    fgi_feed *feed;
    fgi_spans *spans;
    const fgi_cursor *cursor;
    /* `at` is when the window was closed, without metrics; with FGI_WINDOW_OPEN, only the step. May
     * be NULL, as in an evaluation. */
    fg_status (*take)(void *self, fgi_window_end end, const float *sums, const fg_progress *at,
                      fg_error *err);
    void *self;
} fgi_windows_uses;

/* What a checkpoint contains of the metrics of training. */
typedef struct fgi_saved_windows {
    size_t metric_count;
    char metric[FG_MAX_METRICS][48];
    double epoch_sums[2 * FG_MAX_METRICS]; /* (sum, weight) of each metric */
    bool is_open;                          /* the window was, with these sums: */
    float sums[FGI_MOST_SUMS];
} fgi_saved_windows;

/* The sums of one window on their way to the host. */
typedef struct fgi_sums_window {
    float *sums; /* as many as the stage has */
    size_t capacity;
    fgi_event *arrived; /* NULL: free */
    fg_progress at;     /* when it was closed */
    bool remains_open;  /* it was not closed, but only read */
} fgi_sums_window;

/* All zero but `of`: nothing has run. */
typedef struct fgi_windows {
    fgi_windows_uses of;
    fgi_sums_window window[FGI_WINDOWS]; /* a ring of `count`, starting at `first` */
    int first, count;
    /* (sum, weight) of each metric, of the closed windows of the epoch or evaluation */
    double epoch_sums[2 * FG_MAX_METRICS];
    double *class_sum;          /* of the evaluation, NULL: none */
    double ranked[2];           /* area under the ROC curve, average precision */
    bool is_open;               /* steps have run since the last window was closed */
    int64_t start_ns, samples;  /* of the current window */
    fgi_saved_windows restored; /* metric_count 0: nothing to continue */
} fgi_windows;

/* Waits for reads under way. */
void fgi_windows_fini(fgi_windows *windows);
/* A batch of that many samples was launched: the current window is open. */
void fgi_windows_add(fgi_windows *windows, int64_t samples);
/* Rates of training are measured from now on. */
void fgi_windows_start_clock(fgi_windows *windows);

/* Closes the current window, at this position: starts reading the stage's sums, without waiting;
 * the next step starts new ones. */
fg_status fgi_windows_close(fgi_windows *windows, const fg_progress *at, fg_error *err);
/* After the first step of a run: starts reading its loss, the reference of divergence.c, unless the
 * window was closed. It remains open. */
fg_status fgi_windows_read_first(fgi_windows *windows, const fg_progress *at, fg_error *err);
/* Processes the windows that have arrived, and waits until at most `keep` are being read: adds them
 * to the sums of the epoch and, in training, calls `take`. */
fg_status fgi_windows_collect(fgi_windows *windows, int keep, fg_error *err);
/* Values for the epoch or evaluation so far, under the stage's prefix; returns how many.
 * open_sums, as returned by peek, are included; NULL: none. */
size_t fgi_windows_means(const fgi_windows *windows, const float *open_sums, fg_metric *out);
/* Sets the sums of the epoch to 0. */
void fgi_windows_clear(fgi_windows *windows);
/* After a failure: waits for reads under way, and clears everything. */
void fgi_windows_abandon(fgi_windows *windows);
/* Reads the sums of the current window, which remains open; waits. Does nothing if it is not open.
 */
fg_status fgi_windows_peek(const fgi_windows *windows, float *out_sums, fg_error *err);

/* ---- in a checkpoint ------------------------------------------------------------------------- */

/* Sets the sums of the epoch; the open window is kept until fgi_windows_continue. */
void fgi_windows_restore(fgi_windows *windows, const fgi_saved_windows *saved);
/* Continues the restored epoch and window if the stage logs the same metrics, else drops them. */
fg_status fgi_windows_continue(fgi_windows *windows, fg_error *err);

#endif
