/* callback.h - callbacks: functions that the Trainer calls while it trains.
 *
 * A callback is a table of functions and the argument that they are called with, which a program
 * adds to a Trainer with fg_trainer_add_callback (train.h). A row gives it a name and options, like
 * a model (registry.h), so that a configuration can list it: `trainer.callbacks:
 * [early_stop: {patience: 3}]`.
 *
 *     typedef struct counter {
 *         int64_t every, batches;
 *     } counter;
 *     static const fg_option options[] = {
 *         FG_OPTION(counter, every, INT, "1", "1..", "10", "Count every n-th batch."),
 *     };
 *     static const fg_callback_ops ops = {
 *         .name = "counter", .batch_end = count, .destroy = fg_free};
 *     static const fg_callback_entry row = {
 *         .entry = {.name = "counter", .help = "count", FG_OPTIONS(options, counter)},
 *         .ops = &ops};
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_CALLBACK_H
#define FULGURITE_CALLBACK_H

#include <fulgurite/data.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>
#include <fulgurite/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One logged value. */
typedef struct fg_metric {
    char name[64]; /* "train_loss" */
    double value;  /* mean over the samples since the last line; NaN if there were none */
} fg_metric;

/* Which values of a metric are better. */
typedef enum fg_metric_mode {
    FG_MODE_AUTO = 0, /* larger ones of accuracies, F1, precision, recall and R^2; else smaller */
    FG_MODE_MIN = 1,
    FG_MODE_MAX = 2
} fg_metric_mode;

struct fg_trainer; /* train.h */

/* What a callback receives. Plain numbers: no callback can read a device by accident. */
typedef struct fg_progress {
    int64_t step;             /* optimizer steps done */
    int64_t epoch;            /* starting at 0 */
    int64_t batch, batches;   /* of this epoch or evaluation: done, and in total (-1: unknown) */
    int64_t total_steps;      /* of the run, including those before a resume; -1: unknown */
    double lr;                /* of the last step */
    double samples_per_s;     /* over the last window, 0: not known yet */
    const fg_metric *metrics; /* of this event, borrowed for the call; NULL: none */
    size_t metric_count;
    const char *path;    /* a checkpoint's folder, for `saved` */
    double momentum;     /* of the last step: SGD's momentum or Adam's beta1; NaN: no optimizer */
    double weight_decay; /* NaN: no optimizer */
    int64_t samples;     /* of the window that `measure` and `log` are about; else 0 */
    /* Borrowed, for fg_trainer_settings, fg_trainer_step_cost and fg_trainer_client. */
    const struct fg_trainer *trainer;
    bool is_epoch_end;             /* for `step_start`: this step is the last of its epoch */
    double part_lr[FG_MOST_PARTS]; /* learning rates of the parts of a joined optimizer */
} fg_progress;

/* The values that `measure` adds with fg_log_values_add. Borrowed for the call, on its thread. */
typedef struct fg_log_values fg_log_values;

/* Rows of predictions, for `predicted`; borrowed for the call. */
typedef struct fg_predictions {
    fg_type type;                   /* T[count, ...]; count is 0 if there is no sample */
    const void *data;               /* row-major, on the host */
    int64_t first;                  /* the index of row 0 in the dataset */
    fg_dataset *dataset;            /* of the samples: fg_dataset_count, fg_dataset_sample_name */
    const char *const *class_names; /* those of the task; NULL: none */
    int64_t class_count;            /* of the task; 0: not a classification */
    bool is_multilabel;             /* of the task: data are probabilities of each class */
} fg_predictions;

/* The functions of a callback. They are called on the thread that called fit, in this order
 * (docs/hooks.md describes it in full); any may be NULL. A status other than FG_OK ends the run
 * after the state is saved. FG_ESTOPPED requests a stop and is not an error: if err->message gives
 * a reason, the fit ends normally, with FG_OK and the reason in fg_result.stop_reason; otherwise it
 * is interrupted, and returns FG_ESTOPPED. Any other status is the run's error, for which
 * err->message may be filled in; from fit_start it ends the fit immediately. Callbacks must not
 * call fit, validate, test or predict of their Trainer.
 *
 *   fit_start
 *     epoch_start
 *       batch_end ...      after the launch of each batch, before its results are known; with
 *                          accumulation, `step` increases at the last batch of a step
 *       log ...            when the metrics of a window have arrived; may include
 *                          train_nonfinite_steps (so far), and train_lost_updates and
 *                          train_loss_scale (of the last step)
 *       val_start  val_end around each validation
 *       saved              when a checkpoint is on the disk: some steps after it was taken, unless
 *                          checkpoints.wait_for_saves is set. step, epoch and batch are those of
 *                          the checkpoint
 *     epoch_end            with the metrics of the whole epoch
 *   rolled_back            after divergence: training continues from an earlier checkpoint, at the
 *                          step of `at`; what was logged after that step is removed from the log
 *   fit_end                once for each fit_start, also after a failure
 *
 * Validation, test and prediction outside fit:
 *
 *   eval_start  batch_end ...  eval_end
 *
 * Prediction also calls `predicted`, with the rows of each batch.
 */
typedef struct fg_callback_ops {
    /* Name of its state in checkpoints; required by save and load, unique in a Trainer. */
    const char *name;
    fg_status (*fit_start)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*epoch_start)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*batch_end)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*log)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*val_start)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*val_end)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*saved)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*epoch_end)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*fit_end)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*eval_start)(void *self, const fg_progress *at, fg_error *err);
    fg_status (*eval_end)(void *self, const fg_progress *at, fg_error *err);
    /* Saves the state of the callback as part of each checkpoint. Set both save and load, with a
     * name, or neither. save is called between two steps when a checkpoint is taken: it returns the
     * size of the state in bytes, and writes the state to `bytes` if `size`, the capacity, is
     * sufficient. It is called with size 0 first, then with the size that it returned. 0: there is
     * no state. The callback chooses the format. */
    size_t (*save)(void *self, void *bytes, size_t size);
    /* Receives these bytes before fit_start of a fit that resumes, and when a fit returns to a
     * checkpoint after divergence; an error ends the fit. If the checkpoint has no state of
     * this callback, a warning is logged and load is not called. */
    fg_status (*load)(void *self, const void *bytes, size_t size, fg_error *err);
    void (*destroy)(void *self); /* when the Trainer is destroyed */
    /* Before `log` of any callback: adds values to its line, with fg_log_values_add. */
    fg_status (*measure)(void *self, const fg_progress *at, fg_log_values *values, fg_error *err);
    /* After `load` of all callbacks, when the fit has returned to a checkpoint. */
    fg_status (*rolled_back)(void *self, const fg_progress *at, fg_error *err);

    /* The functions below change what programs compute; docs/hooks.md has an example. */

    /* After the task has built the model, before weights are loaded and anything is traced, in fits
     * and in evaluations: creates variables of kind FG_STATE in a child module of root, which
     * checkpoints then contain, or freezes parameters. root may be kept. An error ends the call. A
     * callback with this function must be added before the model is built, that is, before the
     * first fit or evaluation. */
    fg_status (*build)(void *self, fg_module *root, fg_error *err);
    /* While the update of a training step is traced, after that of the optimizer: adds operations.
     * fg_variable_value returns the new value of a parameter, fg_assign sets that of a variable,
     * fg_scalar_value reads a number that step_start sets. With accumulate_grad_batches, this is
     * the program that runs once per step. A step that is skipped (fg_optimizer_skipped) should
     * change nothing. Errors are kept in the trace. */
    void (*update)(void *self, fg_trace *trace, fg_optimizer *optimizer);
    /* In a fit, before the launch of each update: sets the numbers that `update` reads
     * (fg_scalar), and may change the step's learning rate (fg_optimizer_set_step_lr). at->step is
     * the number of steps before this one. */
    void (*step_start)(void *self, const fg_progress *at, fg_optimizer *optimizer);
    /* While a program of validation, test or prediction is traced: the value that it uses for a
     * parameter or buffer of the model, of the same type; (fg_tensor){0}: its own value. The first
     * callback that returns one decides. During the call, fg_variable_value returns the variable's
     * own value. */
    fg_tensor (*value)(void *self, fg_trace *trace, fg_variable *variable);

    /* In fg_trainer_predict: receives the predictions of a batch, in the order of the samples; once
     * without rows if there is no sample. An error ends the pass. A configuration's callback with
     * this function only applies to `predict`. */
    fg_status (*predicted)(void *self, const fg_progress *at, const fg_predictions *rows,
                           fg_error *err);
    /* When the callback is added to a Trainer: may change settings of its fits
     * (fg_trainer_set_accumulation). An error refuses the callback. */
    fg_status (*setup)(void *self, struct fg_trainer *trainer, fg_error *err);
    void (*reserved[2])(void); /* must be NULL */
} fg_callback_ops;

/* ---- by name --------------------------------------------------------------------------------- */

/* A registered callback (registry.h): a constant row. */
typedef struct fg_callback_entry {
    fg_entry entry;
    /* The functions. If they save state, ops->name must be the name of the row. */
    const fg_callback_ops *ops;
    /* Completes the struct of the row that the functions are called with, of entry.size bytes,
     * after its options have been written to it; NULL: nothing is left to do. ops->destroy frees it
     * with fg_free when the Trainer is destroyed, and after a failure. values, which are only valid
     * during the call, say where an option was given. Errors: FG_EINVAL for options that contradict
     * each other (fg_option_fail), FG_ENOMEM, and those of what it opens. */
    fg_status (*init)(void *self, const fg_option_values *values, fg_error *err);
    void (*reserved[4])(void); /* must be NULL */
} fg_callback_entry;

/* Values that callbacks can add to a log line, in total. */
#define FG_MAX_LOG_VALUES 32

/* Adds a value to the log line, for fg_callback_ops.measure: loggers, and `log` of all
 * callbacks, receive it after the metrics of the steps. A value that is not known, NaN, is left
 * out. `values` is valid during the call of `measure`. Errors, which end the run when `measure`
 * returns: FG_EINVAL for a name that the line already has, that does not consist of 1 to 63
 * letters, digits, '_', '.', '/' and '-', or that is "step", "epoch", "lr" or "wall_time", and for
 * more than FG_MAX_LOG_VALUES values. */
FG_API void fg_log_values_add(fg_log_values *values, const char *name, double value);

#ifdef __cplusplus
}
#endif
#endif
