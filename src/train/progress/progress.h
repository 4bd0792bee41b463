/* progress.h - the progress display: a table of the model, then a line per epoch and, on a
 * terminal, one line that is redrawn, otherwise plain lines every few seconds. It counts finished
 * steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_PROGRESS_H
#define FGI_TRAIN_PROGRESS_H

#include <fulgurite/train.h>

#include "train/watch/watch.h"
#include "train/state/cursor.h"
#include "train/step/feed.h"

typedef struct fgi_progress fgi_progress;

/* Whether `style` is one of fg_trainer_output.progress_style. */
bool fgi_progress_is_style(const char *style);
/* What is shown: a Trainer by its public functions, and parts of it. */
typedef struct fgi_progress_sources {
    const fg_trainer *trainer;
    const fgi_cursor *cursor;
    const fgi_feed *feed; /* NULL: a batch is finished when it is launched */
    const fgi_stage *val; /* NULL: its metrics are not known */
    const fg_trainer_checkpoints *checkpoints;
} fgi_progress_sources;
/* Creates the callback, which writes to o->progress only. */
fg_status fgi_progress_create(const fg_trainer_output *o, const fgi_progress_sources *sources,
                              fgi_progress **out, fg_error *err);
extern const fg_callback_ops fgi_progress_ops;

/* Shows compilations. */
fgi_span_listener fgi_progress_listener(fgi_progress *progress);
/* A call of the Trainer has ended, possibly with an error: nothing more is drawn. NULL is
 * allowed. */
void fgi_progress_stop(fgi_progress *progress);
/* A batch of a validation within a fit was launched. NULL is allowed. */
void fgi_progress_validating(fgi_progress *progress, const fg_progress *at);
/* Logs a line, and prints it so that it stays. NULL: only logs it. */
void fgi_progress_say(fgi_progress *progress, const char *line);
/* Draws what is due, as a thread does every half second while a call runs. */
void fgi_progress_tick(fgi_progress *progress);
/* Replaces CLOCK_MONOTONIC, for tests. */
void fgi_progress_set_clock(fgi_progress *progress, int64_t (*now_ns)(void));

/* Prints the model's layers, the devices, the optimizer and its learning rates
 * (progress_table.c). */
void fgi_progress_table(FILE *out, const fg_trainer *trainer, const fg_progress *at);

#endif
