/* progress_text.h - the text of the progress display, as pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_PROGRESS_TEXT_H
#define FGI_TRAIN_PROGRESS_TEXT_H

#include <fulgurite/train.h>

/* What the live line shows. */
typedef struct fgi_progress_view {
    const char *label;      /* "epoch 3/30" */
    int64_t batch, batches; /* finished, and in total; -1: unknown */
    double samples_per_s;   /* 0: unknown */
    double elapsed_s;       /* of this epoch or evaluation */
    double remaining_s;     /* negative: unknown */
    double run_s;           /* until the end of the run; negative: unknown, or the same */
    const char *metrics;    /* "  loss 0.12  acc 0.9", or "" */
    bool is_plain;          /* without a bar, for files */
} fgi_progress_view;

/* One line of less than `columns` characters: "epoch 3/30  [===>   ] 120/469  2,345 samples/s
 * 00:12<00:31, run 12:40 left  loss 0.1234". What does not fit is omitted, the least important
 * first. */
void fgi_progress_line(const fgi_progress_view *view, size_t columns, char *out, size_t size);

/* What the line of a finished epoch shows. */
typedef struct fgi_epoch_view {
    const char *label;   /* "epoch 3/30" */
    const char *longest; /* label of such a line: "epoch 30/30" */
    const fg_metric *train, *val;
    size_t train_count, val_count;
    const fg_metric *known; /* names of the metrics of validations, also if there is none here */
    size_t known_count;
    const char *rate, *time; /* "2,345", "00:12"; "": unknown */
    const char *left;        /* "12:40" until the end of the run; "": unknown */
} fgi_epoch_view;

/* How the lines of epochs look: chosen with the first one, so that all are alike. */
typedef struct fgi_epoch_style {
    size_t columns; /* that it is for; 0: not chosen */
    int omitted;    /* how many of the least important parts are left out */
    int digits;     /* significant ones of the last line's metrics */
} fgi_epoch_style;

/* One line of less than `columns` characters: "epoch 3/30  train loss 0.5 acc 0.9  val loss 0.6
 * 2,345 samples/s  00:12, run 12:40 left". If the style is for other columns, chooses the parts for
 * which there is room with the longest label and long numbers; numbers that need more room have
 * fewer digits. */
void fgi_progress_epoch_line(const fgi_epoch_view *view, size_t columns, fgi_epoch_style *style,
                             char *out, size_t size);

/* "00:12", "1:02:03" */
void fgi_progress_time(double seconds, char *out, size_t size);
/* "  loss 0.12  acc 0.9": losses first; `prefix` is omitted from names that start with it. digits:
 * significant ones; 0: instead of each value, the room that it may need. */
void fgi_progress_metrics(const fg_metric *metrics, size_t count, const char *prefix, int digits,
                          char *out, size_t size);

#endif
