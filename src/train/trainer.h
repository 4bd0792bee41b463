/* trainer.h (internal) - what the files of the Trainer share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_TRAINER_H
#define FGI_TRAIN_TRAINER_H

#include <pthread.h>
#include <stdatomic.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/train.h>
#include "base/arena.h"
#include "pjrt/pjrt.h"
#include "trace/precision.h"
#include "trace/program.h"
#include "train/cursor.h"
#include "train/progress.h"
#include "train/watchdog.h"

enum {
    FGI_IN_FLIGHT = 3,             /* steps under way; the host waits beyond that */
    FGI_SLOTS = FGI_IN_FLIGHT + 3, /* batches of a loader */
    FGI_HEALTH_SIZE = 6,           /* numbers that the optimizer tells of an update */
    FGI_MOST_SUMS = 2 * FG_MAX_METRICS + FGI_HEALTH_SIZE,
    FGI_HEALTH_METRICS = 3, /* that may come of them */
    FGI_STEP_TIMES = 4096   /* finished steps whose times are kept for the median */
};

/* ---- stages: a step function as a program (stage.c) ------------------------------------------ */

typedef enum fgi_stage_kind { FGI_TRAIN, FGI_VAL, FGI_TEST, FGI_PREDICT } fgi_stage_kind;

typedef struct fgi_accumulator fgi_accumulator;

/* How a metric follows from the means of what was logged (regression.c). */
typedef struct fgi_metric_rule {
    enum {
        FGI_MEAN,          /* the mean itself */
        FGI_SCALED,        /* times factor */
        FGI_ROOT,          /* its square root, times factor */
        FGI_DETERMINATION, /* R^2, from the means before, here and behind */
        FGI_HIDDEN         /* only for the one before */
    } kind;
    double factor;
} fgi_metric_rule;

typedef struct fgi_stage {
    fgi_stage_kind kind;
    fg_trace *trace; /* kept for its scalars; holds no nodes after tracing */
    fgi_step_program *program;
    fgi_accumulator *accumulator; /* of a training whose steps are of several batches, or NULL */
    fg_loader *loader;
    fg_dataset *dataset;        /* that the loader reads, which holds it */
    bool no_shuffle, drop_last; /* as the loader was made with */
    const fg_host_batch *first; /* of the coming pass, read ahead; NULL: not yet */
    int64_t shuffle_buffer;     /* likewise; 0: not a source, or not shuffled */
    int workers;
    bool has_tail; /* the program masks the last batch */
    int64_t batch_size;
    int field_count;
    fg_type field_type[FG_MAX_FIELDS];
    uint64_t trainable; /* of a training: which variables the program was traced to change */
    fg_scalar valid;    /* s32: rows of the batch that count */
    fg_scalar fresh;    /* u32: 1 when the sums begin anew at this step */
    size_t metric_count;
    char metric[FG_MAX_METRICS][48]; /* without the stage's prefix */
    fgi_metric_rule rule[FG_MAX_METRICS];
    fg_array *sums; /* f32[fgi_stage_sums]: sum, count of each metric; in training
                       followed by the update's health */
} fgi_stage;

/* The value of metric i of a stage from (sum, weight) of each; false where it is not shown. */
bool fgi_metric_value(const fgi_stage *stage, size_t i, const double *sum, const double *weight,
                      double *out);
fgi_stage *fgi_step_stage(const fg_step *step);

/* Of the Trainer's mesh: the first dimension over its batch axes. */
fgi_sharding fgi_batch_sharding(const fg_trainer *trainer);
/* Shards of a batch. */
int fgi_batch_shards(const fg_trainer *trainer);

/* "train_", "val_", "test_", "". */
const char *fgi_stage_prefix(fgi_stage_kind kind);

/* ---- launching ahead (feed.c) ---------------------------------------------------------------- */

/* A step under way. */
typedef struct fgi_flight {
    struct fgi_feed *feed;
    int open; /* events that have not happened: its end, and batches that have not arrived */
    fgi_stage_kind kind;
    bool is_step;   /* of what is being measured: not a validation within fit */
    bool is_part;   /* a batch of such a step, whose update is yet to come */
    int64_t number; /* of the step in its kind, from 1 */
    int64_t samples;
    int64_t launch_ns, inputs_ns, done_ns;
    fgi_event *done; /* its end, until it is retired */
    fg_error error;
} fgi_flight;

typedef struct fgi_feed {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_init;
    int64_t launched, retired;        /* steps */
    int64_t uploads_open;             /* batches whose host memory devices still read */
    fgi_flight flight[FGI_IN_FLIGHT]; /* by number modulo FGI_IN_FLIGHT */
    int64_t wait_ns;                  /* that the host waited for flights, reads and batches */
} fgi_feed;

/* ---- where time goes (ledger.c) -------------------------------------------------------------- */

typedef enum fgi_activity {
    FGI_INPUT,
    FGI_UPLOAD,
    FGI_COMPILE,
    FGI_READ,
    FGI_CHECKPOINT,
    FGI_ACTIVITIES
} fgi_activity;

enum { FGI_SPANS = 16 };

typedef struct fgi_span {
    fgi_activity activity;
    int64_t begin_ns, end_ns;
} fgi_span;

/* What the host did before a launch. */
typedef struct fgi_spans {
    int count;
    fgi_span span[FGI_SPANS];
} fgi_spans;

typedef struct fgi_ledger {
    int64_t start_ns, first_done_ns, last_done_ns;
    int64_t launches, steps; /* finished; steps are those that are measured */
    fgi_spans pending, of_flight[FGI_IN_FLIGHT];
    int64_t busy_ns, idle_ns, activity_ns[FGI_ACTIVITIES];
    int64_t timed_ns, timed_samples;   /* of steps that came after another launch */
    int64_t part_ns, part_samples;     /* of the step whose batches are accumulated ... */
    bool part_is_first;                /* ... and came after no launch */
    int64_t work_steps, work_measured; /* steps so far, and those that were measured */
    int64_t work_ns, plugin_ns;        /* of the latter: the Trainer's own, in the plugin's calls */
    float step_s[FGI_STEP_TIMES];
    int64_t step_count;
} fgi_ledger;

/* ---- metrics (windows.c) --------------------------------------------------------------------- */

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

/* ---- saving (state_save.c, saver.c) ---------------------------------------------------------- */

/* The state of training between two steps, copied to the host. */
typedef struct fgi_snapshot fgi_snapshot;

typedef struct fgi_snapshot_info {
    const char *path; /* of its folder; lives as long as the snapshot */
    fg_progress at;   /* when it was taken */
    bool is_best;
    double best; /* the monitored metric's best then */
} fgi_snapshot_info;

enum { FGI_SAVES_FAILED = 3 }; /* in a row, after which a run ends */

/* Writes one snapshot at a time while training goes on. */
typedef struct fgi_saver {
    fgi_snapshot *snapshot; /* being written, or NULL */
    fgi_thread thread;
    bool has_thread;
    atomic_bool is_written; /* set by the thread as its last act */
    fg_error error;         /* the thread's until then */
    int failures;           /* in a row */
    bool has_given_up;      /* its error has ended the fit */
    bool is_ending;         /* the fit is at its end, which counts failures itself */
    bool failed_best;       /* the last failure was that of a best state ... */
    int64_t failed_step;    /* ... of this step, ... */
    double failed_value;    /* ... and its metric */
    bool has_best;          /* a best checkpoint is on the disk ... */
    double best;            /* ... and its metric */
} fgi_saver;

/* ---- the Trainer ----------------------------------------------------------------------------- */

typedef struct fgi_callback {
    const fg_callback_ops *ops;
    void *self;
    bool has_failed; /* in this fit: it is told of nothing but the end */
} fgi_callback;

typedef struct fgi_logger fgi_logger;

struct fg_trainer {
    fg_trainer_options options; /* strings, and the schedule, in `strings` */
    fgi_arena strings;
    const fgi_precision *precision;
    fg_client *client;
    bool owns_client;
    fg_task task;
    fg_module *root;
    fg_optimizer *optimizer;
    fg_load_report load_report; /* of options.checkpoints.weights */
    bool is_restored;           /* resume and weights have been looked at */
    fgi_stage stage[4];
    fgi_feed feed;
    fgi_watchdog watchdog;
    fgi_ledger ledger;
    fgi_saver saver;
    fgi_windows train_windows;
    fgi_callback *callbacks;
    size_t callback_count, callback_capacity;
    fgi_logger *logger;
    int run_lock;           /* descriptor of the run's lock, -1: not held */
    fgi_progress *progress; /* one of the callbacks; NULL: none */
    fgi_cursor cursor;      /* where training stands */
    bool has_warned;        /* of a monitored metric that is not there */
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

/* trainer.c: client, module and, for fit, optimizer; made on first use. */
fg_status fgi_trainer_prepare(fg_trainer *trainer, const fg_task *task, bool with_optimizer,
                              fg_error *err);
/* Samples within which the training source is shuffled; 0 where there is none, or no shuffling. */
int64_t fgi_shuffle_buffer(const fg_fit_data *data);

/* strategy.c: which devices, and how they share the work. */
fg_status fgi_strategy_check(const fg_trainer_options *o, fg_error *err);
/* Opens the client that the options ask for, once. */
fg_status fgi_strategy_open(fg_trainer *trainer, fg_error *err);
/* The strategy in force, once the client is open: "single", "ddp" or "fsdp". */
const char *fgi_strategy_name(const fg_trainer *trainer);
/* Copies options.devices.sharding_rules into the Trainer's memory; false: out of memory. */
bool fgi_sharding_keep(fg_trainer *trainer);
/* Shards a module's parameters over the client's mesh as the options say. */
fg_status fgi_sharding_apply(const fg_trainer *trainer, fg_module *root, fg_error *err);

/* fit_settings.c: in which steps. The client is open. */
fg_status fgi_settings_check(const fg_trainer_options *o, fg_error *err);
/* Samples of a batch on all devices together. */
fg_status fgi_batch_size(const fg_trainer *trainer, const fg_fit_data *data, int64_t *out,
                         fg_error *err);
/* A share of a source that does not tell its length is refused; name: "limit_val". */
fg_status fgi_fraction_check(const char *name, double fraction, const fg_dataset *dataset,
                             fg_error *err);
/* Batches that a limit leaves of `all`; 0: no limit. */
int64_t fgi_limit(int64_t batches, double fraction, int64_t all);
/* Sizes of a fit before anything is compiled or restored; gives the optimizer its schedule. */
fg_status fgi_settings_make(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* The same once it is known where training stands: what is left of it, and its learning rates. */
fg_status fgi_settings_settle(fg_trainer *trainer, fg_error *err);

/* result.c: a public call begins: checks its arguments, clears the result. */
fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err);
/* Figures of the call, whose steps were this stage's. */
void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind);
/* It ends with this status; *error goes to err unless that is FG_OK. */
fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err);
/* Sets or replaces metrics in the result. */
void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count);

/* stage.c: the stage's loader and program for these data, made on first use. */
fg_status fgi_stage_prepare(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
/* Traces the training's programs anew where variables have been frozen or made trainable since. */
fg_status fgi_stage_refresh(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
/* Its program alone. */
fg_status fgi_stage_compile(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                            fg_error *err);
void fgi_stage_fini(fgi_stage *stage);
/* Gives back a batch that was read ahead. */
void fgi_stage_drop_first(fgi_stage *stage);
/* The next step begins new sums; there are some to begin from. */
fg_status fgi_stage_clear_sums(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
bool fgi_same_type(const fg_type *a, const fg_type *b);
/* How many batches of a pass the options want, of a stage that is prepared; 0: no limit. */
int64_t fgi_stage_limit(const fg_trainer *trainer, fgi_stage_kind kind);
/* Batches of a pass over the stage's data, -1 if not known; limit 0: no limit. */
int64_t fgi_stage_batches(const fgi_stage *stage, int64_t limit);

/* Numbers in the stage's sums. */
size_t fgi_stage_sums(const fgi_stage *stage);

/* health.c: the optimizer made ready for the options; its numbers as a tensor; as they arrive (an
 * anomaly is an error); at the end of a run, when all is done; as metrics, at most
 * FGI_HEALTH_METRICS; in the result. */
fg_status fgi_health_prepare(fg_trainer *trainer, fg_error *err);
fg_tensor fgi_health_value(fg_trainer *trainer, fg_trace *trace);
fg_status fgi_health_take(fg_trainer *trainer, const float *health, int64_t step, fg_error *err);
fg_status fgi_health_end(fg_trainer *trainer, fg_error *err);
size_t fgi_health_metrics(const fg_trainer *trainer, fg_metric *out);
void fgi_health_result(const fg_trainer *trainer, fg_result *out);

/* accumulate.c: sums of gradients over the batches of a step. The optimizer is borrowed. */
fg_status fgi_accumulator_create(fg_optimizer *optimizer, fgi_accumulator **out, fg_error *err);
void fgi_accumulator_destroy(fgi_accumulator *accumulator); /* NULL is allowed */
/* Whether a launch that failed has consumed sums. */
bool fgi_accumulator_is_lost(const fgi_accumulator *accumulator);
/* Writes a batch's part into its program's trace: weight is f32[], what the loss was divided by. */
void fgi_accumulate(fgi_accumulator *accumulator, fg_tensor loss, fg_tensor weight);
/* Makes the program of the update. */
fg_status fgi_accumulator_compile(fgi_accumulator *accumulator, fg_client *client, fg_error *err);
/* A step begins; NULL is allowed. */
void fgi_accumulator_begin(fgi_accumulator *accumulator);
/* Sets the scalars of the next batch. */
void fgi_accumulator_add(fgi_accumulator *accumulator);
/* Batches of the step so far; 0 for NULL. */
int64_t fgi_accumulator_batches(const fgi_accumulator *accumulator);
/* The update's program, with its scalars set; what it draws is keyed by seed and step. */
fgi_step_program *fgi_accumulator_update(fgi_accumulator *accumulator, uint64_t seed, int64_t step);

/* compile.c: the program of a step for these data, compiled by the way of training and not run: the
 * Trainer's client may be one of a topology. Borrowed: lives until the stage gets another one.
 * Errors: as fit's before its first step. */
fg_status fgi_trainer_compile(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                              const fg_fit_data *data, const fgi_executable **out, fg_error *err);
/* What stays on one device from step to step, in bytes as the types say, without padding. */
typedef struct fgi_state_bytes {
    int64_t parameters, buffers, optimizer;
} fgi_state_bytes;
fgi_state_bytes fgi_trainer_state_bytes(const fg_trainer *trainer);

/* feed.c */
fg_status fgi_feed_init(fgi_feed *feed, fg_error *err);
void fgi_feed_fini(fgi_feed *feed);
/* Uploads a batch and launches the stage's program on it; waits while FGI_IN_FLIGHT steps are
 * under way. The batch goes back to its loader by itself, also on failure. out_prediction may be
 * NULL. */
fg_status fgi_feed_launch(fg_trainer *trainer, fgi_stage *stage, const fg_host_batch *batch,
                          fg_array **out_prediction, fg_error *err);
/* Launches the update of a step whose batches have been launched. */
fg_status fgi_feed_update(fg_trainer *trainer, fgi_stage *stage, fg_error *err);
/* Waits for everything launched and for host memory to be free again. */
fg_status fgi_feed_drain(fg_trainer *trainer, fg_error *err);
/* The next batch of a stage's loader, with the time it took in the ledger. */
fg_status fgi_feed_next(fg_trainer *trainer, fgi_stage *stage, const fg_host_batch **out,
                        fg_error *err);

/* ledger.c */
void fgi_ledger_start(fgi_ledger *ledger, int64_t now_ns);
void fgi_ledger_add(fgi_ledger *ledger, fgi_activity activity, int64_t begin_ns, int64_t end_ns);
/* Around a step on the Trainer's thread: every 16th is measured, in processor time, for the clocks
 * cost system calls. begin gives a time, or -1 for a step that is not measured. */
int64_t fgi_work_begin(fg_trainer *trainer);
void fgi_work_end(fg_trainer *trainer, int64_t begin);
/* A step was launched: what the host did so far belongs before it. */
void fgi_ledger_launched(fgi_ledger *ledger, int64_t number);
/* Flight `number` has finished. */
void fgi_ledger_retired(fgi_ledger *ledger, int64_t number, const fgi_flight *flight);
void fgi_ledger_result(const fgi_ledger *ledger, fg_result *out);

/* windows.c */
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

/* evaluate.c: reads the first batch of the coming pass. */
fg_status fgi_evaluate_ahead(fg_trainer *trainer, fgi_stage_kind kind, fg_error *err);
/* A pass over the data of a stage that is prepared; the means go to out_metrics, which
 * has room for FG_MAX_METRICS, and to the result. A stop cuts it short: then is_stopping is set,
 * and they count for nothing. */
fg_status fgi_evaluate(fg_trainer *trainer, fgi_stage_kind kind, int64_t limit,
                       fg_metric *out_metrics, size_t *out_count, fg_error *err);

/* sanity.c: options.validation.sanity_val_steps batches of validation, before a fit that starts
 * anew. */
fg_status fgi_sanity_check(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* What fast_dev_run and overfit_batches mean for the other options. */
void fgi_trial_settle(fg_trainer_options *o);

/* state_save.c: copies the state; no step may be half done. */
fg_status fgi_snapshot_take(fg_trainer *trainer, bool is_best, fgi_snapshot **out, fg_error *err);
/* Writes it and lets `last`, and `best`, name it; once, on any thread. */
fg_status fgi_snapshot_write(fgi_snapshot *snapshot, fg_error *err);
const fgi_snapshot_info *fgi_snapshot_get_info(const fgi_snapshot *snapshot);
void fgi_snapshot_destroy(fgi_snapshot *snapshot); /* NULL is allowed */
/* Takes one and writes it at once. */
fg_status fgi_state_save(fg_trainer *trainer, bool is_best, fg_error *err);

/* run_folder.c: makes the run's folder and takes its lock, for the time of a fit. Errors:
 * FG_EINVAL, which names the holder, when another process has it. */
fg_status fgi_run_claim(fg_trainer *trainer, fg_error *err);
void fgi_run_release(fg_trainer *trainer); /* also when it is not held */
/* Refuses a folder with the checkpoints of a run that is neither resumed nor to be overwritten; the
 * state has been restored. */
fg_status fgi_run_check(const fg_trainer *trainer, fg_error *err);
/* Deletes these checkpoints, where options.checkpoints.overwrite says so. */
fg_status fgi_run_clear(const fg_trainer *trainer, fg_error *err);

/* saver.c: the run's last checkpoint is this one: result, watchdog. */
void fgi_checkpoint_remember(fg_trainer *trainer, const char *path);
/* Begins to save the present state, after the save before it has ended. */
fg_status fgi_saver_begin(fg_trainer *trainer, bool is_best, fg_error *err);
/* Takes note of a save that has ended: `saved` is called, or a warning is given. An error when
 * FGI_SAVES_FAILED have failed in a row. wait: also of one that has not ended yet. */
fg_status fgi_saver_collect(fg_trainer *trainer, bool wait, fg_error *err);
/* At the end of a fit: saves the state unless that has been done, and waits. What cannot be written
 * is tried once more before it is an error. */
fg_status fgi_saver_finish(fg_trainer *trainer, bool is_best, fg_error *err);
/* After a failure that has left the weights whole: saves them where that makes sense, and adds to
 * the error where they are. */
void fgi_saver_rescue(fg_trainer *trainer, fg_error *err);
/* After a failure: waits for the save under way, and forgets what became of it but for its path. */
void fgi_saver_abandon(fg_trainer *trainer);
/* state_load.c: loads options.checkpoints.weights and .resume, once. */
fg_status fgi_state_restore(fg_trainer *trainer, fg_error *err);

/* callbacks.c */
typedef enum fgi_event_kind {
    FGI_ON_FIT_START,
    FGI_ON_EPOCH_START,
    FGI_ON_BATCH_END,
    FGI_ON_LOG,
    FGI_ON_VAL_START,
    FGI_ON_VAL_END,
    FGI_ON_SAVED,
    FGI_ON_EPOCH_END,
    FGI_ON_FIT_END,
    FGI_ON_EVAL_START,
    FGI_ON_EVAL_END
} fgi_event_kind;
/* Calls all callbacks; FG_ESTOPPED from one sets is_stopping and is no failure. Within a fit, from
 * its first epoch on, another status sets is_stopping too, and is kept in trainer->failure. */
fg_status fgi_notify(fg_trainer *trainer, fgi_event_kind kind, const fg_progress *at,
                     fg_error *err);
/* A fit begins: those of callbacks and of saves count anew. */
void fgi_forget_failures(fg_trainer *trainer);
/* Where training stands, for a callback. */
fg_progress fgi_progress_at(const fg_trainer *trainer);

/* logger.c: metrics.csv and metrics.jsonl of a run; a callback. Of rows that are there already,
 * those after from_step, and after the first `lines` unless that is -1, are dropped: a run that
 * went on past the checkpoint now resumed from has left them. The first process writes: for others
 * *out is NULL, which has no rows and needs no sync. */
fg_status fgi_logger_create(const char *run_dir, int process_index, int64_t from_step,
                            int64_t lines, fgi_logger **out, fg_error *err);
/* Rows in metrics.jsonl. */
int64_t fgi_logger_lines(const fgi_logger *logger);
/* Writes the rows that could not be written before; fails while that is so. NULL: there are none.
 */
fg_status fgi_logger_catch_up(fgi_logger *logger, fg_error *err);
/* Brings what is written to the disk. Any thread. */
fg_status fgi_logger_sync(const fgi_logger *logger, fg_error *err);
extern const fg_callback_ops fgi_logger_ops;

/* signals.c: SIGINT, SIGTERM and SIGHUP while fits run that want them, and SIGPIPE ignored. One
 * that the program ignores stays ignored. Every catch wants one release. */
void fgi_signals_catch(const fg_trainer *trainer);
void fgi_signals_release(void);
/* A fit begins or ends to compile a program: the first signal says so. */
void fgi_signals_compiling(bool is_begin);
/* Whether a callback, or a signal while a fit handles them, asked for the end. */
bool fgi_stop_requested(fg_trainer *trainer);

#endif
