/* windows.h - reading metrics from the device: windows of steps, and the sums of an epoch.
 *
 * A window is the steps between two reads of the sums. What windows hold is private to windows.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_WINDOWS_H
#define FGI_TRAIN_WINDOWS_H

#include <fulgurite/train.h>

#include "train/cursor.h"
#include "train/feed.h"
#include "train/stage.h"

enum { FGI_WINDOWS = 4 }; /* reads under way */

typedef struct fgi_windows fgi_windows;

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
    /* `at` is when the window was closed, without metrics; with FGI_WINDOW_OPEN, NULL. May be NULL,
     * as in an evaluation. */
    fg_status (*take)(void *self, fgi_window_end end, const float *sums, const fg_progress *at,
                      fg_error *err);
    void *self;
} fgi_windows_uses;

fg_status fgi_windows_create(const fgi_windows_uses *uses, fgi_windows **out, fg_error *err);
/* NULL is allowed. Waits for reads under way. */
void fgi_windows_destroy(fgi_windows *windows);

/* A batch of that many samples was launched: the current window is open. */
void fgi_windows_add(fgi_windows *windows, int64_t samples);
/* Whether steps have run since the last window was closed. */
bool fgi_windows_is_open(const fgi_windows *windows);
/* Rates of training are measured from now on. */
void fgi_windows_start_clock(fgi_windows *windows);
/* Excludes so much time, which was not spent on training, from the rate of the current window. */
void fgi_windows_exclude(fgi_windows *windows, int64_t ns);

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

/* What a checkpoint contains of the metrics of training. */
typedef struct fgi_saved_windows {
    size_t metric_count;
    char metric[FG_MAX_METRICS][48];
    double epoch_sums[2 * FG_MAX_METRICS]; /* (sum, weight) of each metric */
    bool is_open;                          /* the window was, with these sums: */
    float sums[FGI_MOST_SUMS];
} fgi_saved_windows;

/* The sums of the epoch, as (sum, weight) of `count` metrics. */
void fgi_windows_epoch_sums(const fgi_windows *windows, size_t count, double *out);
/* Sets the sums of the epoch; the open window is kept until fgi_windows_continue. */
void fgi_windows_restore(fgi_windows *windows, const fgi_saved_windows *saved);
/* Whether a window was restored that was open and has not been continued yet. */
bool fgi_windows_is_pending(const fgi_windows *windows);
/* Continues the restored epoch and window if the stage logs the same metrics, else drops them. */
fg_status fgi_windows_continue(fgi_windows *windows, fg_error *err);

#endif
