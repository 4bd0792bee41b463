/* saver.h - checkpoints written while training continues: which states are saved, as snapshots.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SAVER_H
#define FGI_TRAIN_SAVER_H

#include <fulgurite/train.h>
#include <stdatomic.h>

#include "base/file.h"
#include "base/thread.h"
#include "train/save/divergence.h"
#include "train/state/cursor.h"
#include "train/step/feed.h"
#include "train/step/stage.h"
#include "train/watch/call.h"
#include "train/watch/watch.h"
#include "train/weights/weight_files.h"

/* ---- how good a state is (rank.c) ------------------------------------------------------------ */

/* The metrics that a step logs, without values; returns how many, 0 before it is compiled, and for
 * NULL. Those of a fit are known when it starts, those of the validation if there will be one. */
size_t fgi_known_metrics(const fgi_stage *stage, fg_metric out[FG_MAX_METRICS]);
/* Refuses a metric that the steps of this kind do not log: "WHAT: expected a metric of the
 * validation, one of val_acc|val_loss, got 'val_los': did you mean 'val_loss'?". Before they are
 * compiled, no name is refused; in a fit without validation, its metrics are, except the default,
 * val_loss. stages: those of a Trainer, by kind. */
fg_status fgi_metric_check(fgi_stage *const *stages, const char *what, const char *name,
                           fgi_stage_kind kind, fg_error *err);
/* Refuses, before the first step, a monitored metric that does not exist, and one in a template of
 * checkpoint names. */
fg_status fgi_rank_check(fgi_stage *const *stages, const fg_trainer_checkpoints *o, fg_error *err);

/* The rule of the options. */
fgi_best_rule fgi_best_rule_of(const fg_trainer_checkpoints *o);
/* Compares the metric of the rule with those so far; the list records it. A value that is not
 * finite has no rank. is_saving: a save is under way, otherwise the states of those that wait for
 * one are gone. */
fgi_rank fgi_rank_metrics(fgi_best_list *list, const fgi_best_rule *rule, int64_t step,
                          const fg_metric *metrics, size_t count, bool is_saving);

/* ---- the state on the host (snapshot.c) ------------------------------------------------------ */

struct fgi_logger;

/* The state of training between two steps. */
typedef struct fgi_snapshot {
    fg_progress at;    /* when it was taken */
    bool is_suspected; /* training may be diverging: not a checkpoint to go back to */
    fgi_host_copy copy;
    float sums[FGI_MOST_SUMS]; /* of the open window */
    double epoch_sums[2 * FG_MAX_METRICS];
    fgi_arena memory; /* of the callbacks' states */
    fgi_callback_state *callbacks;
    size_t callback_count;
    char *json;                                         /* state.json */
    char folder[FGI_PATH_BYTES], path[FGI_PATH_BYTES];  /* of the checkpoints, of this one */
    char name[FGI_CKPT_NAME_SIZE], step[24], epoch[24]; /* the last part of the path */
    fgi_best_list top;               /* whose checkpoints are kept: with this one, ... */
    fgi_best_list before;            /* ... and without it, if training may go back to before it */
    const struct fgi_logger *logger; /* whose rows so far belong to the checkpoint; borrowed */
    fg_error log_failure;            /* why some of them could not be written, or FG_OK */
    const fg_attachment *attachments;
    size_t attachment_count;
    int process_index, process_count, keep;
} fgi_snapshot;

/* Sets the path by folder and name. A damaged checkpoint with the same name is not replaced:
 * "NAME-v1", "NAME-v2" ... */
fg_status fgi_snapshot_place(fgi_snapshot *snapshot, fg_error *err);
/* Writes it and updates `last` and `best`; once, on any thread. */
fg_status fgi_snapshot_write(fgi_snapshot *snapshot, fg_error *err);
void fgi_snapshot_destroy(fgi_snapshot *snapshot); /* NULL is allowed */
/* Removes old checkpoints but the last `keep` and those of the lists; a failure is a warning. */
void fgi_snapshot_prune(const char *folder, int keep, const fgi_best_list *top,
                        const fgi_best_list *before);

/* ---- saving (saver.c) ------------------------------------------------------------------------ */

enum {
    FGI_SAVES_FAILED = 3,        /* in a row, after which a run ends */
    FGI_SAVE_GAP_NS = 1000000000 /* after a save began, before others that no option asks for */
};

/* Parts of the Trainer, and how the state is copied. */
typedef struct fgi_saver_uses {
    const fg_trainer_checkpoints *o;
    fgi_cursor *cursor;
    fgi_call *call;
    fgi_spans *spans;
    fgi_windows *windows;
    fgi_watchdog *watchdog;
    fgi_callbacks *callbacks;
    fgi_divergence *divergence;
    fg_status (*take)(void *self, fgi_snapshot **out, fg_error *err);
    void *self;
} fgi_saver_uses;

typedef struct fgi_saver {
    fgi_saver_uses of;
    fgi_snapshot *snapshot; /* being written, or NULL */
    fgi_snapshot *waiting;  /* the best state so far, to be written next, or NULL */
    fgi_thread thread;
    bool has_thread;
    atomic_bool is_written; /* set by the thread when it is done */
    fg_error error;         /* owned by the thread until then */
    int failures;           /* in a row */
    bool has_given_up;      /* its error has ended the fit */
    bool is_ending;         /* the fit is ending, which counts failures itself */
    int64_t begun_ns;       /* when the last save, or the fit, began; monotonic */
    bool has_begun;         /* a save, in this fit */
    bool has_skipped;       /* in this fit, a state that was offered and is not the best */
    bool is_current;        /* the current state is in the last checkpoint, or is the one to come */
    bool is_requested;      /* by a callback, since the last save */
    char last[512];         /* saved or loaded by this Trainer; "": none */
} fgi_saver;

fg_status fgi_saver_create(const fgi_saver_uses *uses, fgi_saver **out, fg_error *err);
/* A fit starts: resets the count of failures. */
void fgi_saver_reset(fgi_saver *saver);
/* Records the last checkpoint: for `last`, the result and the watchdog. */
void fgi_saver_remember(fgi_saver *saver, const char *path);
/* Whether ckpt_every_time have passed since the last save began, or the fit. */
bool fgi_saver_is_due(const fgi_saver *saver);
/* Starts saving the current state, after the previous save has finished. */
fg_status fgi_saver_begin(fgi_saver *saver, fg_error *err);
/* The same for a state that no option asks to save now. Within FGI_SAVE_GAP_NS after the last save
 * began, the best state waits in memory, if there is only one best checkpoint, and others are not
 * saved; neither are they while one is being written. */
fg_status fgi_saver_offer(fgi_saver *saver, fgi_rank rank, fg_error *err);
/* Handles a save that has finished: calls `saved`, or logs the failure. An error when
 * FGI_SAVES_FAILED have failed in a row. A state that waits is written when the gap is over. wait:
 * waits until all states that were taken are written. */
fg_status fgi_saver_collect(fgi_saver *saver, bool wait, fg_error *err);
/* At the end of a fit: saves the state if it is not saved yet, and waits. A failed save is retried
 * once before it is an error. */
fg_status fgi_saver_finish(fgi_saver *saver, fg_error *err);
/* After a failure with this status: whether there is a state that can be saved and is worth it. */
bool fgi_saver_can_rescue(fgi_saver *saver, fg_status status);
/* Saves it, and adds the path to the error. */
void fgi_saver_rescue(fgi_saver *saver, fg_error *err);
/* After a failure: waits until all states that were taken are written, and only records the path.
 */
void fgi_saver_abandon(fgi_saver *saver);

#endif
