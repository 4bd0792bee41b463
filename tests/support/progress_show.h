/* progress_show.h - a progress display with a simulated clock, and what a run tells it. Included by
 * one file of a program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_PROGRESS_SHOW_H
#define FGT_PROGRESS_SHOW_H

#include <stdio.h>
#include <stdlib.h>

#include "fgt.h"
#include "train/progress/progress.h"
#include "train/step/stage.h"
#include "train/trainer.h"

static _Atomic int64_t now = 1000000000;
static inline int64_t clock_ns(void) { return now; }
static inline void pass(double seconds) { now += (int64_t)(seconds * 1e9); }

typedef struct show {
    fg_trainer trainer;
    fgi_progress *progress;
    FILE *out;
    char *text;
    size_t size;
} show;

/* Creates the display of s->trainer. */
static inline void create_display(show *s, const char *style, bool has_color)
{
    fg_error err = {0};
    const fg_trainer_output output = {
        .progress = s->out, .progress_style = style, .progress_color = has_color};
    const fgi_progress_sources sources = {.trainer = &s->trainer,
                                          .cursor = &s->trainer.cursor,
                                          .checkpoints = &s->trainer.options.checkpoints};
    fgt_ok(fgi_progress_create(&output, &sources, &s->progress, &err));
}

/* A display of a run of three epochs of 4 batches of 8 samples. */
static inline void open_show(show *s, const char *style)
{
    *s = (show){.out = NULL};
    s->out = open_memstream(&s->text, &s->size);
    assert_non_null(s->out);
    s->trainer.options.limits.max_epochs = 3;
    s->trainer.fit.settings = (fg_fit_settings){.total_epochs = 3};
    create_display(s, style, false);
    fgi_progress_set_clock(s->progress, clock_ns);
}

static inline void close_show(show *s)
{
    fgi_progress_ops.destroy(s->progress);
    (void)fclose(s->out);
    free(s->text);
}

static inline void tell(show *s, fg_status (*hook)(void *, const fg_progress *, fg_error *),
                        fg_progress at)
{
    fg_error err = {0};
    fgt_ok(hook(s->progress, &at, &err));
    (void)fflush(s->out);
}

/* An epoch of 4 batches and its validation; the time of each batch is in seconds. */
static inline void run_epoch(show *s, int64_t epoch, double batch_s)
{
    const fg_metric train[] = {{"train_acc", 0.75}, {"train_loss", 0.5}};
    const fg_metric val[] = {{"val_acc", 0.5}, {"val_loss", 0.25}};
    fg_progress at = {.epoch = epoch, .batches = 4};
    tell(s, fgi_progress_ops.epoch_start, at);
    for (at.batch = 1; at.batch <= 4; at.batch++) {
        pass(batch_s);
        s->trainer.cursor.position = 8 * at.batch;
        tell(s, fgi_progress_ops.batch_end, at);
    }
    at.batch = 4;
    tell(s, fgi_progress_ops.val_start, at);
    pass(3);
    at.metrics = val;
    at.metric_count = 2;
    tell(s, fgi_progress_ops.val_end, at);
    s->trainer.cursor.position = 0;
    at.metrics = train;
    tell(s, fgi_progress_ops.epoch_end, at);
}

/* The compilation of this stage begins and ends. */
static inline void compile_begins(fgi_progress *progress, fgi_stage_kind kind)
{
    const fgi_span span = {FGI_COMPILE, (int)kind, .number = -1};
    fgi_progress_listener(progress).begun(progress, &span);
}

static inline void compile_ends(fgi_progress *progress)
{
    const fgi_span span = {FGI_COMPILE, .number = -1};
    fgi_progress_listener(progress).ended(progress, &span, 0);
}

#endif
