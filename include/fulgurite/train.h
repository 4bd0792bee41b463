/* train.h - the Trainer: a task, a loop, checkpoints, metrics.
 *
 * A task defines how to build the model and what one step computes; the Trainer does the rest. Each
 * step function is called once for each batch shape, to be traced; after that, its program is
 * launched repeatedly. It must have no side effects; log any value you want to see.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_TRAIN_H
#define FULGURITE_TRAIN_H

#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>
#include <fulgurite/device.h>
#include <fulgurite/dist.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>
#include <fulgurite/trace.h>
#include <fulgurite/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tasks ----------------------------------------------------------------------------------- */

/* A step while it is traced, and its batch. Both are only valid during the call of the step
 * function. */
typedef struct fg_step fg_step;
typedef struct fg_batch fg_batch;

/* Returns a field of the batch by name, T[B, ...]. If there is none, returns poison and stores an
 * error in the trace that lists the names. */
FG_API fg_tensor fg_batch_get(const fg_batch *batch, const char *name);
/* Returns a field by index: in every reader, 0 is the input and 1 the target. */
FG_API fg_tensor fg_batch_at(const fg_batch *batch, int index);
/* Returns the number of valid rows, f32[]: fewer than B in a partial last batch. Divide by this,
 * not by B, which includes padding rows. */
FG_API fg_tensor fg_batch_count(const fg_batch *batch);
FG_API int fg_batch_field_count(const fg_batch *batch);
/* Returns the key of random numbers that depend on the sample, not on its row (ops/random.h,
 * aug.h): of options.seed, the epoch, and the index of each sample in the dataset, modulo 2^32; in
 * a dataset that draws its samples (sampling.h), the index of the draw. In evaluation the epoch is
 * 0. A resumed run continues with the same numbers. */
FG_API fg_sample_key fg_batch_key(const fg_batch *batch);

/* Logs a metric of this step under "train_NAME", "val_NAME" or "test_NAME". value has a
 * floating-point or integer dtype:
 *
 *   T[B, ...] or T[B * T]   values of samples or tokens, which are averaged
 *   T[]                     a mean over the batch
 *
 * The reported value is the mean over all batches since the last line, or over the epoch or
 * evaluation: the Trainer keeps (sum, sum of weights) on the device and reads it every log_every
 * steps without waiting. Padding rows are masked out. A scalar is weighted by its denominator if it
 * comes from a loss in ops.h, fg_mean or fg_weighted_mean, even if it was scaled: the mean loss per
 * token is exact, and so is the perplexity, exp of the reported loss. Otherwise it is weighted by
 * the number of samples in the batch. The loss that a step returns is logged as "loss"
 * automatically: logging another value under that name is an error (FG_EINVAL, stored in the
 * trace). At most FG_MAX_METRICS names. */
#define FG_MAX_METRICS 16
FG_API void fg_step_log(fg_step *step, const char *name, fg_tensor value);
/* Logs a weighted mean: sum(weight * value) / sum(weight) over all batches. weight is numeric or
 * bool and broadcasts to the shape of value; where it is 0, value has no effect. For example, the
 * accuracy over tokens except padding:
 *     fg_step_log_weighted(step, "acc", fg_accuracy(logits, label), fg_ne(label, padding)); */
FG_API void fg_step_log_weighted(fg_step *step, const char *name, fg_tensor value,
                                 fg_tensor weight);
/* Sets the denominator of the returned loss: f32[] or an integer scalar. It is the weight of this
 * batch when losses are averaged and gradients accumulated (accumulate_grad_batches). Only needed
 * if the graph does not show it: for a loss that you divide by a sum of weights yourself, or one
 * that combines means with different denominators. */
FG_API void fg_step_set_weight(fg_step *step, fg_tensor weight);
/* Options of fg_step_log_regression; 0 is the default in []. */
typedef struct fg_regression_options {
    double unit;   /* mae and rmse are multiplied by this: for a standardized target, its standard
                      deviation                                                               [1] */
    double center; /* a value near the targets, so that r2 is not a difference of large sums [0] */
    uint64_t reserved[2];
} fg_regression_options;

/* Logs regression metrics of predictions and targets, both floating-point T[B] or T[B, K]:
 *
 *   mae    mean of |p - y|
 *   rmse   square root of the mean of (p - y)^2
 *   r2     1 - sum of (p - y)^2 / sum of (y - mean of y)^2, the coefficient of determination; NaN
 *          if all targets are equal; not for T[B, K]
 *
 * over all valid rows of an epoch, or of the steps of a log line: they follow from sums, so neither
 * batches nor devices nor padding rows change them. Uses the names above and "r2_squares", which is
 * not shown. opt may be NULL. Errors, stored in the trace: FG_ESHAPE, FG_EDTYPE, FG_EINVAL. */
FG_API void fg_step_log_regression(fg_step *step, fg_tensor prediction, fg_tensor target,
                                   const fg_regression_options *opt);
/* Returns the trace of the step, borrowed. */
FG_API fg_trace *fg_step_trace(const fg_step *step);

/* The functions of a task.
 *
 * The last batch of an epoch is padded, unless drop_last is set or the batch size divides the
 * number of samples. Steps ignore padding rows automatically: fg_mean, fg_sum, fg_max, losses and
 * batch norm only use valid rows, and an operation that would mix samples with padding rows is an
 * error (ops/padding.h; docs/howto/padding.md). */
typedef struct fg_task_ops {
    /* Creates the layers, in root. Called once. Errors are stored in the module. */
    void (*build)(void *self, fg_module *root);
    /* Returns the loss, f32[], of a training batch. */
    fg_tensor (*train_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Returns the loss of a validation batch; the trace is not in training mode. NULL: no
     * validation. */
    fg_tensor (*val_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Returns the loss of a test batch. NULL: val_step is used. */
    fg_tensor (*test_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Returns the predictions, T[B, ...]. NULL: no prediction. */
    fg_tensor (*predict_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Creates the optimizer of root's parameters. Called once, before the first fit. */
    fg_optimizer *(*optimizer)(void *self, fg_module *root);
    void (*reserved[4])(void); /* must be NULL */
} fg_task_ops;

/* A task: a table of functions, and the argument that they are called with. */
typedef struct fg_task {
    const char *name;
    void *self;
    const fg_task_ops *ops;
    uint64_t reserved[2]; /* must be 0 */
} fg_task;

/* ---- callbacks ------------------------------------------------------------------------------- */

/* One logged value. */
typedef struct fg_metric {
    char name[64]; /* "train_loss" */
    double value;  /* mean over the samples since the last line; NaN if there were none */
} fg_metric;

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
    const char *path; /* a checkpoint's folder, for `saved` */
} fg_progress;

/* The functions of a callback. They are called on the thread that called fit, in this order
 * (docs/hooks.md describes it in full); any may be NULL. A status other than FG_OK ends the run
 * after the state is saved. FG_ESTOPPED requests a stop and is not an error: if err->message gives
 * a reason, the fit ends normally, with FG_OK and the reason in fg_result.stop_reason; otherwise it
 * is interrupted, and returns FG_ESTOPPED. Any other status is the run's error, for which
 * err->message may be filled in; from fit_start it ends the fit at once. Callbacks must not call
 * fit, validate, test or predict of their Trainer.
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
 *   fit_end                once for each fit_start, also after a failure
 *
 * Validation, test and prediction outside of fit:
 *
 *   eval_start  batch_end ...  eval_end
 */
typedef struct fg_callback_ops {
    const char
        *name; /* of its state in checkpoints; required by save and load, unique in a Trainer */
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
    /* Receives these bytes before fit_start of a fit that resumes; an error ends the fit. If the
     * checkpoint has no state of this name, a warning is logged and load is not called. */
    fg_status (*load)(void *self, const void *bytes, size_t size, fg_error *err);
    void (*destroy)(void *self); /* when the Trainer is destroyed */
    void (*reserved[4])(void);   /* must be NULL */
} fg_callback_ops;

/* ---- the Trainer ----------------------------------------------------------------------------- */

/* Trains one task. Not thread-safe: use it on one thread. */
typedef struct fg_trainer fg_trainer;

/* Describes a hang: what the Trainer has waited for longer than options.hang.watchdog_s.
 * Strings are borrowed for the call. */
typedef struct fg_hang {
    const char *doing;      /* "training step 12 has not finished on cpu:3 (1 of 8 devices)" */
    const char *stage;      /* "training", "validation", "test", "prediction" */
    int64_t step;           /* of that stage, starting at 1; 0: not a single step */
    const char *devices;    /* that have not answered, as far as is known */
    const char *last_event; /* "training step 11 ended 600.3 s ago" */
    const char *checkpoint; /* folder of the last checkpoint, "": none */
    double seconds;         /* since the Trainer started waiting */
} fg_hang;
/* Called on the watchdog's thread while the Trainer's thread waits: it may report, or end the
 * process, but must not use the Trainer. When it returns, the run keeps waiting, and it is called
 * again each time another watchdog_s seconds have passed. */
typedef void fg_hang_fn(void *self, const fg_hang *hang);

/* The options of a Trainer are grouped; a member that is 0 means the default in []. The library
 * copies what they point to, except for the client. */

/* Which devices to use, and how to distribute the work. */
typedef struct fg_trainer_devices {
    const char *accelerator; /* "auto": the first available of TPU, CUDA and CPU; "tpu", "cuda",
                                "cpu": only that                                         ["auto"] */
    const char *devices;     /* which of its devices, as in fg_client_options: "auto" or "-1": all
                                (on the CPU: one); "8": the first 8; "0,2" or "[1]": by index. A
                                number creates that many virtual devices on the CPU      ["auto"] */
    const char *strategy;    /* "single": one device; "ddp": model replicated, batch sharded;
                                "fsdp": parameters sharded as well (dist.h); "auto": depends on the
                                number of devices                                        ["auto"] */
    fg_mesh_options mesh;    /* the mesh of the devices, as in fg_client_options */
    const fg_sharding_rule *sharding_rules; /* how parameters are sharded, by name; the first rule
                                               that matches applies                       [none] */
    size_t sharding_rule_count;
    fg_client *client;     /* an open client to use instead, borrowed                      [NULL] */
    const char *cache_dir; /* folder for compiled programs, as in fg_client_options    [NULL: on] */
    uint64_t reserved[2];
} fg_trainer_devices;

/* How long to train, and on which part of the data. */
typedef struct fg_trainer_limits {
    int64_t max_epochs;          /* -1: no limit           [1 if max_steps is 0, else no limit] */
    int64_t max_steps;           /* optimizer steps                                    [no limit] */
    int64_t limit_train_batches; /* of each epoch                                      [no limit] */
    int64_t limit_val_batches;   /* of each validation                                 [no limit] */
    double limit_train_fraction; /* the same as a fraction of all batches, 0 to 1; at least one
                                    batch                                              [no limit] */
    double limit_val_fraction;   /* the same for validation                            [no limit] */
    /* Train on the first batches only, in the same order in every epoch, and validate on as many
     * batches of val: a model that cannot overfit these has a bug. A number, or a fraction of all
     * batches. They override the limits above                                            [0: off]
     */
    int64_t overfit_batches;
    double overfit_fraction;
    /* Run one training batch and one validation batch without writing files, as a test. Overrides
     * the limits, run_dir and sanity_val_steps                                           [false] */
    bool fast_dev_run;
    uint64_t reserved[2];
} fg_trainer_limits;

/* When to validate. */
typedef struct fg_trainer_validation {
    int64_t val_every_epochs; /* -1: never                                                    [1] */
    int64_t val_every_steps;  /* also within an epoch                                     [never] */
    /* Validation batches before the first step of a new run, to find mistakes early; their metrics
     * are discarded. -1: all                                                           [0: none] */
    int64_t sanity_val_steps;
    uint64_t reserved[2];
} fg_trainer_validation;

/* How the Trainer changes the optimizer's learning rate. */
typedef struct fg_trainer_lr {
    const char *lr_scaling;      /* scaling with the batch size: "none"; "linear": times k (Goyal et
                                    al. 2017); "sqrt": times sqrt(k) (Krizhevsky 2014), where k =
                                    samples per step / base_batch_size                   ["none"] */
    int64_t base_batch_size;     /* batch size that the optimizer's learning rate is meant for
                                    [that of one device: k is devices * accumulate_grad_batches]  */
    const fg_schedule *schedule; /* learning-rate schedule over the steps of the run   [constant] */
    uint64_t reserved[2];
} fg_trainer_lr;

/* The run folder, what is saved to it, and what a run starts from. */
typedef struct fg_trainer_checkpoints {
    const char *run_dir;       /* folder for metrics.csv, metrics.jsonl and checkpoints/; locked
                                  during a fit; NULL: no files                             [NULL] */
    int64_t save_every_epochs; /* -1: only at the end                          [1 with a run_dir] */
    int64_t save_every_steps;  /* also within an epoch                                    [never] */
    int keep_checkpoints;      /* how many recent checkpoints to keep in addition to last and best;
                                  -1: all                                                     [1] */
    const char *monitor;       /* metric that selects the best checkpoint: "val_NAME" is compared
                                  after each validation, "train_NAME", the mean over an epoch, after
                                  each epoch                                         ["val_loss"] */
    bool monitor_max;          /* larger values are better                                [false] */
    const char *resume;        /* "last", "best" or a path: continue from that checkpoint; "auto":
                                  from last if there is one                                [NULL] */
    const char *weights;       /* .safetensors file or checkpoint with starting weights    [NULL] */
    /* How to load `weights` (weights.h); by default, the whole model must match.
     * fg_trainer_load_report returns what was loaded. */
    fg_load_options weights_options;
    /* Delete the checkpoints of an earlier run in run_dir before the first step. By default, a fit
     * that does not resume them is refused                                               [false] */
    bool overwrite;
    /* Wait until each checkpoint is on the disk. By default, it is copied to the host between two
     * steps and written while training continues; `saved` is called later                [false] */
    bool wait_for_saves;
    /* Text to store in every checkpoint under names that you choose, such as a configuration or a
     * description of the data; fg_ckpt_attachment (ckpt.h) reads it                       [none] */
    const fg_attachment *attachments;
    size_t attachment_count;
    uint64_t reserved[2];
} fg_trainer_checkpoints;

/* Precision and gradients of a step. */
typedef struct fg_trainer_numerics {
    /* "32-true", "bf16-mixed", "bf16-true", "16-mixed", "16-true", "64-true":
     * see fg_trace_set_precision. TPUs do not support f16 and f64                    ["32-true"] */
    const char *precision;
    bool stochastic_rounding; /* round parameters stochastically; only with "bf16-true"   [false] */
    /* End the run with FG_ENUMERIC at the first gradient that is not finite; the error names the
     * step and the parameter, and the update is skipped. Costs additional passes over gradients and
     * weights. With loss scaling, only applies once the scale has dropped to 1           [false] */
    bool detect_anomaly;
    int64_t accumulate_grad_batches; /* batches per optimizer step: the gradient is that of the mean
                                        loss over all their samples or tokens, as for one large
                                        batch; the last step of an epoch may have fewer. Batch norm
                                        uses the statistics of each batch                     [1] */
    uint64_t reserved[2];
} fg_trainer_numerics;

/* Progress output and logging. */
typedef struct fg_trainer_output {
    FILE *progress; /* where to write progress; NULL: nowhere                              [NULL] */
    /* "bar": a progress bar, and a line per epoch (at most one per second); "plain": a line per
     * epoch, and more during long epochs; "auto": bar if `progress` is a terminal and TERM is not
     * "dumb", else plain                                                                ["auto"] */
    const char *progress_style;
    int64_t log_every; /* steps between lines of metrics                                     [50] */
    const char *loggers; /* which files of metrics to write to run_dir: "csv", "jsonl" or both; "":
                            none (logger.h)                                        ["csv, jsonl"] */
    uint64_t reserved[2];
} fg_trainer_output;

/* Detection of hangs. */
typedef struct fg_trainer_hang {
    double watchdog_s;  /* seconds without progress after which a hang is reported, by a warning and
                           by `report`. Long compilations have a separate warning, after 300 s
                                                                                        [0: never] */
    fg_hang_fn *report; /* function to call; NULL: only log the warning                    [NULL] */
    void *report_self;
    uint64_t reserved[2];
} fg_trainer_hang;

typedef struct fg_trainer_options {
    uint64_t seed;       /* for initial weights, sample order and dropout                     [0] */
    bool handle_signals; /* during a fit, save and stop on the first SIGINT, SIGTERM or SIGHUP, with
                            a note on output.progress; a second signal has its previous effect. A
                            SIGPIPE that would end the process is ignored. Previous handlers are
                            restored after the fit. false: no handler is changed          [false] */
    fg_trainer_devices devices;
    fg_trainer_limits limits;
    fg_trainer_validation validation;
    fg_trainer_lr lr;
    fg_trainer_checkpoints checkpoints;
    fg_trainer_numerics numerics;
    fg_trainer_output output;
    fg_trainer_hang hang;
    uint64_t reserved[4];
} fg_trainer_options;

/* Creates a Trainer: checks and copies the options, but opens nothing yet. options may be NULL.
 * Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_trainer_create(const fg_trainer_options *options, fg_trainer **out,
                                               fg_error *err);
/* Destroys the Trainer and its callbacks. NULL is allowed. */
FG_API void fg_trainer_destroy(fg_trainer *trainer);

/* Opens the client before the first call of fit or an evaluation, so that fg_trainer_client can
 * be used. Does nothing if it is open. Errors: those of fg_client_open; FG_EINVAL if the strategy
 * does not support the devices. */
FG_API FG_MUST_USE fg_status fg_trainer_open(fg_trainer *trainer, fg_error *err);

/* Adds a callback. ops must outlive the Trainer; take_self is consumed, also on failure. Errors:
 * FG_ENOMEM, FG_EINVAL for save or load without the other or without a unique name. */
FG_API FG_MUST_USE fg_status fg_trainer_add_callback(fg_trainer *trainer,
                                                     const fg_callback_ops *ops, void *take_self,
                                                     fg_error *err);

/* Data for fit, validate, test and predict: each uses its part, the others may be NULL. Datasets
 * are borrowed. Members that are 0 mean the default in []. */
typedef struct fg_fit_data {
    fg_dataset *train;
    fg_dataset *val;     /* for fit and fg_trainer_validate; optional in fit */
    fg_dataset *test;    /* for fg_trainer_test */
    fg_dataset *predict; /* for fg_trainer_predict; only needs the fields that predict_step reads */
    int64_t batch_size;  /* samples per batch on each device (each row of the mesh); an optimizer
                            step has accumulate_grad_batches of these                         [32] */
    int64_t global_batch_size; /* samples per batch on all devices together, instead of batch_size;
                                  a multiple of the number of rows       [batch_size * rows] */
    int workers;     /* loader threads; -1: load on the calling thread [as fg_loader_options] */
    bool no_shuffle; /* keep the dataset's order in training                        [false] */
    bool drop_last;  /* drop the incomplete batch at the end of an epoch            [false] */
    int64_t shuffle_buffer; /* a training source is shuffled within this many samples, as in
                               fg_loader_options                                           [1] */
    uint64_t reserved[2];
} fg_fit_data;

/* Trains. A second fit continues where the previous one ended, up to the limits. An epoch of a
 * source ends when the source does; if its length is unknown, a schedule requires max_steps or
 * limit_train_batches.
 *
 * Returns FG_ESTOPPED if a signal, or a callback without a reason, stopped the fit; the state is
 * then saved (with a run_dir) and the result is complete. The validation step is compiled before
 * the first training step, to find mistakes early. If a later error leaves the weights intact, the
 * state is saved, and the message contains the path. run_dir is locked during the fit.
 *
 * Errors: FG_EINVAL if another process has locked run_dir, or if it contains the checkpoints of an
 * earlier run that is neither resumed nor overwritten; those of client, data, compiler and
 * device. */
FG_API FG_MUST_USE fg_status fg_trainer_fit(fg_trainer *trainer, const fg_task *task,
                                            const fg_fit_data *data, fg_error *err);

/* Evaluates the present weights (those of the last fit, or of options.checkpoints.resume or
 * .weights) in one pass over data->val (validate) or data->test (test). The metrics are in the
 * result. Errors: as fg_trainer_fit. */
FG_API FG_MUST_USE fg_status fg_trainer_validate(fg_trainer *trainer, const fg_task *task,
                                                 const fg_fit_data *data, fg_error *err);
FG_API FG_MUST_USE fg_status fg_trainer_test(fg_trainer *trainer, const fg_task *task,
                                             const fg_fit_data *data, fg_error *err);

/* Receives rows of predictions in the dataset's order: type is T[count, ...]; data is row-major and
 * borrowed for the call; first is the index of row 0 in the dataset. A status other than FG_OK ends
 * the pass with that status. */
typedef fg_status fg_predict_fn(void *self, const fg_type *type, const void *data, int64_t first,
                                fg_error *err);
/* Makes one pass over data->predict and calls `write` with the predictions, in the order of the
 * samples. Errors: as fg_trainer_fit, and those of `write`. */
FG_API FG_MUST_USE fg_status fg_trainer_predict(fg_trainer *trainer, const fg_task *task,
                                                const fg_fit_data *data, fg_predict_fn *write,
                                                void *self, fg_error *err);

/* Called for each batch size that fg_trainer_find_batch tries: samples per device, bytes of device
 * memory needed (-1: unknown, because compilation failed), and whether that fits. */
typedef void fg_batch_tried_fn(void *self, int64_t batch_size, int64_t need_bytes, bool fits);

typedef struct fg_batch_fit {
    int64_t batch_size;        /* the largest that fits, per device; 0: none fits */
    int64_t global_batch_size; /* on all devices together */
    int64_t need_bytes;        /* memory of one device, by the compiled program; -1: none fits */
    int64_t limit_bytes;       /* memory of one device; on the CPU, its part of the host's memory */
    bool all_fit;              /* the batch contains all training samples */
    uint64_t reserved[4];      /* set to 0 */
} fg_batch_fit;

/* Finds the largest batch size whose training step leaves 10 % of each device's memory free, to
 * within 1/16, by compiling the step for several sizes, starting with data->batch_size. Nothing is
 * executed. tried may be NULL. Errors: those of fg_trainer_fit before its first step;
 * FG_EUNSUPPORTED if the amount of memory is unknown. */
FG_API FG_MUST_USE fg_status fg_trainer_find_batch(fg_trainer *trainer, const fg_task *task,
                                                   const fg_fit_data *data,
                                                   fg_batch_tried_fn *tried, void *self,
                                                   fg_batch_fit *out, fg_error *err);

/* Returns the module that the task built, borrowed; NULL before the first fit or evaluation. */
FG_API fg_module *fg_trainer_module(const fg_trainer *trainer);
/* Returns what was loaded from options.checkpoints.weights, borrowed; entry_count is 0 before
 * that. */
FG_API const fg_load_report *fg_trainer_load_report(const fg_trainer *trainer);
/* Returns the client, borrowed; NULL before fg_trainer_open, fit or an evaluation opens it. */
FG_API fg_client *fg_trainer_client(const fg_trainer *trainer);

/* The effective settings of a fit: batches, steps and learning rates, derived from options, data
 * and devices. They are set before the first step, so callbacks can use them starting with
 * fit_start. Strings are constants. */
typedef struct fg_fit_settings {
    const char *strategy;      /* "single", "ddp", "fsdp" */
    int device_count;          /* all devices used */
    int batch_shards;          /* shards of a batch: devices along the batch axes of the mesh */
    int64_t batch_size;        /* samples per shard */
    int64_t global_batch_size; /* samples per batch */
    int64_t accumulate_grad_batches; /* batches per optimizer step */
    int64_t steps_per_epoch;         /* optimizer steps; -1: unknown (source) */
    int64_t total_steps;             /* including those before a resume; -1: no limit, or unknown */
    const char *lr_scaling;          /* "none", "linear", "sqrt" */
    int64_t base_batch_size;         /* that lr_given is meant for */
    double lr_given, lr_factor;      /* the optimizer's learning rate, and the scaling factor */
    double lr;                       /* lr_given * lr_factor: the peak of the schedule */
    double lr_at[5];                 /* the learning rate at 0, 25, 50, 75 and 100 % of the steps */
} fg_fit_settings;
/* Returns the settings of the present or last fit, borrowed; all zero before the first. */
FG_API const fg_fit_settings *fg_trainer_settings(const fg_trainer *trainer);

/* What the device spent its time on, in seconds between the end of the first and the last step of a
 * call, including validation. The device is idle from the end of a step until the next one can
 * start, which requires that it was launched and its batch has arrived. The parts, by what the host
 * did meanwhile, are not negative and sum to idle_s. */
typedef struct fg_idle {
    double busy_s, idle_s;
    double input_s;       /* waiting for the loader */
    double upload_s;      /* uploading a batch, or waiting for its arrival on the device */
    double compile_s;     /* compiling */
    double read_s;        /* waiting for a value from the device */
    double checkpoint_s;  /* saving */
    double other_s;       /* launches, callbacks, everything else */
    uint64_t reserved[2]; /* set to 0 */
} fg_idle;

/* How well the input pipeline kept up with the device, and which part of the run limits its rate.
 * On a CPU, loader and device compete for the same processors, so each makes the other slower. */
typedef struct fg_input_report {
    fg_loader_stages stages; /* time of the loader's threads */
    int64_t samples;         /* that they read in this time, including prefetched ones */
    int workers;             /* their number; 0: the Trainer's thread reads the samples itself */
    double delivered_samples_per_s; /* rate of the loader if its threads never have to wait: samples
                                       times threads, divided by the time of all threads */
    double required_samples_per_s;  /* rate of the device if it never has to wait: samples, divided
                                       by the time in which it was busy */
    double waited; /* fraction of the time that the device waited for the loader or for uploads */
    /* "device" if it hardly waits (5 % of the time at most); "host" if it mostly waits for
     * launches, callbacks, checkpoints or compilation; "upload"; or the slowest stage of the
     * loader: "read", "decode", "resize", "copy". NULL: not known, for example after a single step.
     */
    const char *bound_by;
    uint64_t reserved[4]; /* set to 0 */
} fg_input_report;

/* Writes a sentence with the numbers of a report to `out`, as snprintf does, and returns `out`:
 * "bound by decode: the loader delivers 0.37x the required rate and spends 83 % of its time on
 * decode; the device waits for input 63 % of the time". "" if bound_by is NULL. */
FG_API const char *fg_input_report_format(const fg_input_report *report, char *out, size_t size);

/* The largest number of metrics in a result. */
#define FG_MAX_RESULTS (3 * FG_MAX_METRICS)

/* The result of the last fit, validate, test or predict. Values that are not known are NaN, or -1
 * for integers. Times per step are those of the call; in fit, of training steps only. */
typedef struct fg_result {
    fg_status status;
    int64_t epochs, steps; /* done, including those before a resume */
    size_t metric_count;
    fg_metric metrics[FG_MAX_RESULTS]; /* the last of each name, over an epoch or evaluation */
    double time_to_first_step_s;       /* from the call to the first finished step */
    double step_median_s, step_p95_s;  /* from the end of the previous step to its end */
    double samples_per_s;              /* over the same time */
    double host_overhead_s;            /* per step: processor time of the Trainer's thread, without
                                          calls of the plugin; every 16th step is measured */
    double plugin_s;                   /* per step: calls of the plugin (launch, upload) */
    int64_t compiles, compile_cache_hits;
    double compile_s;
    int64_t host_reads; /* blocking reads of device values */
    fg_idle idle;
    int64_t device_peak_bytes; /* memory of the train program, as reported by the compiler */
    double step_flops; /* per batch: multiplications and additions of the matmuls and convolutions
                          of the train program, counted from the graph, on all devices */
    double mxu_use; /* fraction of the devices' peak rate (chip.h) that these need at samples_per_s
                       with full batches, 0 to 1: model FLOP utilization, not a hardware counter.
                       NaN if the peak is not known, as for a CPU */
    char checkpoint[512]; /* folder of the last checkpoint saved or resumed from, "": none */

    int64_t nonfinite_steps; /* with a gradient that was not finite, including before a resume */
    double lost_updates;     /* "bf16-true", "16-true": fraction of the elements whose last update
                                was lost to rounding */
    double loss_scale;       /* of the last step, if the loss is scaled */

    /* The run was complete before this fit, by max_epochs or max_steps: nothing was trained, and
     * the metrics are those that it ended with. */
    bool nothing_to_do;
    char stop_reason[256]; /* why a callback ended the fit before its limits, "": none did */

    fg_input_report input;
} fg_result;
/* Returns the result of the last call, borrowed; all zero before the first. */
FG_API const fg_result *fg_trainer_result(const fg_trainer *trainer);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_batch_get(...)           FG_HERE(fg_batch_get(__VA_ARGS__))
#define fg_batch_at(...)            FG_HERE(fg_batch_at(__VA_ARGS__))
#define fg_batch_count(...)         FG_HERE(fg_batch_count(__VA_ARGS__))
#define fg_step_log(...)            FG_HERE(fg_step_log(__VA_ARGS__))
#define fg_step_log_weighted(...)   FG_HERE(fg_step_log_weighted(__VA_ARGS__))
#define fg_step_set_weight(...)     FG_HERE(fg_step_set_weight(__VA_ARGS__))
#define fg_step_log_regression(...) FG_HERE(fg_step_log_regression(__VA_ARGS__))
#endif
#endif
