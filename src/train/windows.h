/* windows.h - metrics: windows of steps, sums of an epoch or an evaluation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_WINDOWS_H
#define FGI_TRAIN_WINDOWS_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"
#include "train/stage.h"

/* A window's sums on their way to the host. */
typedef struct fgi_window {
    float sums[FGI_MOST_SUMS];
    fgi_event *arrived; /* NULL: free */
    int64_t step, epoch, batch;
    double lr, samples_per_s;
} fgi_window;

enum { FGI_WINDOWS = 4 };

typedef struct fgi_windows {
    fgi_window window[FGI_WINDOWS];
    int first, count;
    double sum[FG_MAX_METRICS], weight[FG_MAX_METRICS]; /* of the epoch or evaluation */
    bool is_open; /* steps have run since the last window was closed */
} fgi_windows;

/* Starts reading the stage's sums, without waiting; the next step begins new ones. */
fg_status fgi_windows_close(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage,
                            fg_error *err);
/* Takes what has arrived, and waits until at most `keep` windows are on their way: adds to the
 * epoch's sums and, in training, calls log. */
fg_status fgi_windows_collect(fg_trainer *trainer, fgi_windows *windows, fgi_stage *stage, int keep,
                              fg_error *err);
/* Means over the epoch or evaluation so far, under the stage's prefix; returns their number.
 * open_sums, as peek gives them, are added; NULL: none. */
size_t fgi_windows_means(const fgi_windows *windows, const fgi_stage *stage, const float *open_sums,
                         fg_metric *out);
void fgi_windows_clear(fgi_windows *windows);
/* After a failure: waits for reads under way, which write into `windows`, and forgets all. */
void fgi_windows_abandon(fgi_windows *windows);
/* Reads the sums of the steps since the last window, which stays open; waits. Nothing is done when
 * there are none. */
fg_status fgi_windows_peek(fg_trainer *trainer, const fgi_windows *windows, fgi_stage *stage,
                           float *out_sums, fg_error *err);

#endif
