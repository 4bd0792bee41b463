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
    const char *label;       /* "epoch 3/30" */
    const char *train, *val; /* "  loss 0.12  acc 0.9"; "" */
    const char *rate, *time; /* "2,345", "00:12"; "": unknown */
    const char *left;        /* "12:40" until the end of the run; "": unknown */
} fgi_epoch_view;

/* One line of less than `columns` characters: "epoch 3/30  train loss 0.5 acc 0.9  val loss 0.6
 * 2,345 samples/s  00:12, run 12:40 left". *level says how many of the least important parts are
 * omitted; it is raised until `spare` more characters fit, so that later lines look the same. */
void fgi_progress_epoch_line(const fgi_epoch_view *view, size_t columns, size_t spare, int *level,
                             char *out, size_t size);

/* "00:12", "1:02:03" */
void fgi_progress_time(double seconds, char *out, size_t size);
/* "1,234,567" */
void fgi_progress_count(int64_t count, char *out, size_t size);
/* "  loss 0.12  acc 0.9": losses first; `prefix` is omitted from names that start with it. */
void fgi_progress_metrics(const fg_metric *metrics, size_t count, const char *prefix, char *out,
                          size_t size);

#endif
