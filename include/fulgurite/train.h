/* train.h - the Trainer: a loop, checkpoints, metrics.
 *
 * A task (task.h) defines how to build the model and what one step computes; the Trainer does the
 * rest. Callbacks (callback.h) and loggers (logger.h) follow its progress.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_TRAIN_H
#define FULGURITE_TRAIN_H

#include <fulgurite/callback.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>
#include <fulgurite/device.h>
#include <fulgurite/dist.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>
#include <fulgurite/profile.h>
#include <fulgurite/result.h>
#include <fulgurite/task.h>
#include <fulgurite/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Trains one task. Not thread-safe: use it on one thread. */
typedef struct fg_trainer fg_trainer;

/* Describes a hang: what the Trainer has waited for longer than options.hang.watchdog_s.
 * Strings are borrowed for the call. */
typedef struct fg_hang {
    const char *doing;      /* "training step 12 has not finished on cpu:3 (1 of 8 devices)" */
    const char *stage;      /* "training", "validation", "test", "prediction" */
    int64_t step;           /* of that stage, starting at 1; 0: not a single step */
    const char *devices;    /* that are known not to have responded */
    const char *last_event; /* "training step 11 ended 600.3 s ago" */
    const char *checkpoint; /* folder of the last checkpoint, "": none */
    double seconds;         /* since the Trainer started waiting */
} fg_hang;
/* Called on the watchdog's thread while the Trainer's thread waits: it may report, or end the
 * process, but must not use the Trainer. When it returns, the run keeps waiting, and it is called
 * again each time another watchdog_s seconds have passed. */
typedef void fg_hang_fn(void *self, const fg_hang *hang);

/* The options of a Trainer are grouped. A member that is 0 means the default in []: FG_ZERO and
 * FG_NONE are 0, and NaN, FG_AUTO and NULL are auto. Members that a configuration has too, under
 * the same name in its section `trainer`, have the same values, defaults and ranges there
 * (docs/config.md). The library copies what they point to, except for the client. */

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
    /* The most training steps per launch of the program, 1 to 256, for models whose steps take less
     * time than their launches. The results are the same bits. A launch ends earlier where metrics
     * are logged, the model is validated or saved by steps, and at the end of an epoch; stops,
     * max_time, SIGUSR1 and requests to save are handled between launches. `step_start` is called
     * for all steps of a launch before it, `batch_end` after it. With accumulate_grad_batches, a
     * launch has at most the batches of one step, and its update another one. FG_AUTO: chosen from
     * the times of the first steps, and logged                                               [1] */
    int64_t steps_per_launch;
    const char *kernels; /* "auto", "own" or "none": functions in C that programs call on the CPU,
                            as in fg_client_options                                   ["auto"] */
    uint64_t reserved[1];
} fg_trainer_devices;

/* How long to train, and on which part of the data. */
typedef struct fg_trainer_limits {
    int64_t max_epochs;            /* -1: no limit           [10, or no limit with max_steps] */
    int64_t max_steps;             /* optimizer steps; -1: no limit                       [-1] */
    fg_amount limit_train_batches; /* of each epoch: a fraction or a count               [all] */
    fg_amount limit_val_batches;   /* of each validation; FG_NONE: do not validate       [all] */
    /* Train on the first batches only, in the same order in every epoch, and validate on as many
     * batches of val: a model that cannot overfit these has a bug. A count, or a fraction of all
     * batches. It overrides the limits above                                            [0: off] */
    fg_amount overfit_batches;
    /* Run one training batch and one validation batch without writing files, as a test. Overrides
     * the limits, run_dir and sanity_val_steps                                           [false] */
    bool fast_dev_run;
    /* End a fit this many seconds after it was called (a duration in configurations). The state is
     * saved as on a signal, but the last weights are validated, which takes further time, and the
     * fit ends normally, with a stop_reason. A run that resumes has this time again
     *                                                                           [auto: no limit] */
    double max_time;
    uint64_t reserved[1];
} fg_trainer_limits;

/* When to validate. The last weights of a fit are validated in any case, once, also after a limit
 * or a callback has ended it, unless both are never; but not after a signal, an error or a request
 * to stop. */
typedef struct fg_trainer_validation {
    int64_t val_every_epochs; /* 0 (FG_NONE): never                                           [1] */
    int64_t val_every_steps;  /* also within an epoch                                  [0: never] */
    /* Validation batches before the first step of a new run, to find mistakes early; their metrics
     * are discarded. 0 (FG_NONE): none; -1: all                                              [2] */
    int64_t sanity_val_steps;
    uint64_t reserved[2];
} fg_trainer_validation;

/* How the Trainer changes the optimizer's learning rate. */
typedef struct fg_trainer_lr {
    const char *lr_scaling;      /* scaling with the batch size: "none"; "linear": times k (Goyal et
                                    al. 2017); "sqrt": times sqrt(k) (Krizhevsky 2014), where k =
                                    samples per step / base_batch_size                   ["none"] */
    int64_t base_batch_size;     /* batch size that the optimizer's learning rate is meant for
                                    [auto: one device's: k is devices * accumulate_grad_batches] */
    const fg_schedule *schedule; /* learning-rate schedule over the steps of the run   [constant] */
    uint64_t reserved[2];
} fg_trainer_lr;

/* The run folder, what is saved to it, and what a run starts from. */
typedef struct fg_trainer_checkpoints {
    const char *run_dir;       /* folder for metrics.csv, metrics.jsonl and checkpoints/; locked
                                  during a fit, which saves and stops when the file `stop` appears
                                  in it; NULL: no files                                    [NULL] */
    int64_t ckpt_every_epochs; /* 0 (FG_NONE): only at the end                             [auto: 1,
                                  without those that end within a second after a save began] */
    int64_t ckpt_every_steps;  /* also within an epoch                                 [0: never] */
    int64_t keep_checkpoints;  /* how many recent checkpoints to keep in addition to last and best;
                                  0 (FG_NONE): all                                            [2] */
    int64_t save_top_k;        /* save and keep this many of the best checkpoints by `monitor`, 1 to
                                  16; of equal values the first                               [1] */
    double ckpt_every_time;    /* save when this many seconds have passed since the last save began,
                                  by the monotonic clock; a duration in configurations
                                                                                    [auto: never] */
    /* Names of checkpoints: a template with {step}, {epoch} (whole epochs done) and names of
     * metrics, with formats as in Python: "{epoch:02d}-{step}-{val_loss:.3f}". Other characters:
     * ASCII letters, digits, '.', '_', '=' and '-'. A metric without a value is "none". Without
     * {step}, "-{step}" is appended, so names are unique               ["step-{step:09d}"] */
    const char *ckpt_name;
    const char *monitor;         /* metric that selects the best checkpoint: "val_NAME" is compared
                            after each validation, "train_NAME", the mean over an epoch, after
                            each epoch. A metric that does not exist is an error of
                            the fit (FG_EINVAL), before the first step
                            [auto: "val_loss", or "train_loss" without validation] */
    fg_metric_mode monitor_mode; /* which values are better                 [FG_MODE_AUTO] */
    const char *resume;          /* "last", "best" or a path: continue from that checkpoint; "auto":
                            from last if there is one                                [NULL] */
    const char *weights; /* .safetensors file or checkpoint with starting weights    [NULL] */
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
    uint64_t reserved[1];
} fg_trainer_checkpoints;

/* Precision and gradients of a step. */
typedef struct fg_trainer_numerics {
    /* "32-true", "bf16-mixed", "bf16-true", "16-mixed", "16-true", "64-true":
     * see fg_trace_set_precision. TPUs do not support f16 and f64                    ["32-true"] */
    const char *precision;
    bool stochastic_rounding; /* round parameters stochastically; only with "bf16-true"   [false] */
    /* End the run with FG_ENUMERIC, or go back to a checkpoint (divergence.on_divergence), at the
     * first gradient that is not finite; the error names the step, the parameter and the samples,
     * and the update is skipped. Costs additional passes over gradients and weights. With loss
     * scaling, only applies once the scale has dropped to 1                              [false] */
    bool detect_anomaly;
    int64_t accumulate_grad_batches; /* batches per optimizer step: the gradient is that of the mean
                                        loss over all their samples or tokens, as for one large
                                        batch; the last step of an epoch may have fewer. Batch norm
                                        uses the statistics of each batch                     [1] */
    /* Limits the gradient of each step, before the update: to this L2 norm, of all parameters
     * together ("norm"), or each element to this absolute value ("value"), as
     * fg_optimizer_set_clip in optim.h. A task may also set it for its optimizer        [0: off] */
    double gradient_clip_val;
    const char *gradient_clip_algorithm; /* "norm", "value"                             ["norm"] */
    /* Other numbers of batches per step, by epoch: {0, 1}, {4, 2}, {8, 4} is 1 in epochs 0 to 3, 2
     * in 4 to 7, then 4. accumulate_grad_batches applies before the first of them. Epochs increase.
     * The same two programs run in all epochs                                            [none] */
    fg_int_map accumulate_schedule;
    uint64_t reserved[2];
} fg_trainer_numerics;

/* Progress output and logging. */
typedef struct fg_trainer_output {
    FILE *progress; /* where to write progress; NULL: nowhere                              [NULL] */
    /* "bar": a progress bar, and a line per epoch; "plain": a line per epoch, and one every few
     * seconds during an epoch; "auto": bar if `progress` is a terminal and TERM is not "dumb", else
     * plain                                                                             ["auto"] */
    const char *progress_style;
    bool progress_color; /* highlight the best value of the monitored metric             [false] */
    int64_t log_every; /* steps between lines of metrics                                     [50] */
    /* The built-in loggers (logger.h) that write to run_dir, with their options as in a
     * configuration: "csv", "tensorboard: {histograms: true}". None: an `at` that is not NULL, and
     * a count of 0 [csv, jsonl] */
    fg_strings loggers;
    /* First and last step of which to take a profile in run_dir/profile (profile.h), starting at 1.
     * {FG_AUTO}: ten steps after the first ten of a fit, or its last ten. If they begin with the
     * first step of the fit, compilation is included. After the last one, training waits until the
     * profile is written. A profile that cannot be taken or written is a warning         [none] */
    int64_t profile[2];
    uint64_t reserved[1];
} fg_trainer_output;

/* Detection of hangs. */
typedef struct fg_trainer_hang {
    double watchdog_s;  /* seconds without progress after which a hang is reported, by a warning and
                           by `report`; FG_ZERO: never. Long compilations have a separate warning,
                           after 300 s                                                     [1800] */
    fg_hang_fn *report; /* function to call; NULL: only log the warning                    [NULL] */
    void *report_self;
    uint64_t reserved[2];
} fg_trainer_hang;

/* What to do when training diverges: a loss or a gradient is not finite, or the loss has risen too
 * far. Divergence is detected without additional work on the device, when the metrics of the steps
 * are read (output.log_every), and before each checkpoint. Steps that loss scaling skips are not
 * divergence. Each case appends a line of JSON to RUN_DIR/divergence.jsonl: step, reason, loss,
 * parameter, and the samples of the first step with a gradient that is not finite. */
typedef struct fg_trainer_divergence {
    /* "stop": end the fit with FG_ENUMERIC; the state is not saved. "rollback": continue from the
     * last good checkpoint with a smaller learning rate; requires checkpoints.run_dir, and saves a
     * checkpoint before the first step. "ignore": continue                              ["stop"] */
    const char *on_divergence;
    /* The loss has risen too far if, in each of `divergence_patience` consecutive log lines, it is
     * above `divergence_factor` times the lowest smoothed loss, and above the middle between the
     * first and the lowest; or if in one it is above 25 divergence_factor times the loss of the
     * first step, or 1 if that is larger, and in none of divergence_patience lines starting there
     * back at it. Until it falls again, no checkpoints are saved within epochs or after them.
     * FG_ZERO: only values that are not finite count                                        [4] */
    double divergence_factor;
    int64_t divergence_patience; /* lines                                                    [5] */
    double rollback_lr_factor; /* of the learning rate, per rollback; above 0, at most 1   [0.5] */
    int64_t max_rollbacks;     /* of a run, including those before a resume; then it ends    [3] */
    uint64_t reserved[2];
} fg_trainer_divergence;

typedef struct fg_trainer_options {
    int64_t
        seed; /* 0 or more: for initial weights, sample order and dropout                     [0] */
    bool handle_signals; /* during a fit, save and stop on the first SIGINT, SIGTERM or SIGHUP, with
                            a note on output.progress; a second signal has its previous effect.
                            SIGUSR1 saves after the current step, and the fit continues. A SIGPIPE
                            that would end the process is ignored. Previous handlers are restored
                            after the fit. false: no handler is changed          [false] */
    bool stops_on_usr1;  /* with handle_signals: SIGUSR1 saves and stops too, as SIGTERM does
                            (fg_result.stop_signal), for jobs that are queued again [false] */
    fg_trainer_devices devices;
    fg_trainer_limits limits;
    fg_trainer_validation validation;
    fg_trainer_lr lr;
    fg_trainer_checkpoints checkpoints;
    fg_trainer_numerics numerics;
    fg_trainer_output output;
    fg_trainer_hang hang;
    fg_trainer_divergence divergence;
    uint64_t reserved[4];
} fg_trainer_options;

/* The options that a configuration has too, as rows. Constant, thread-safe. */
FG_API const fg_entry *fg_trainer_options_row(void);

/* Creates a Trainer: checks and copies the options, but opens nothing yet. options may be NULL.
 * Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_trainer_create(const fg_trainer_options *options, fg_trainer **out,
                                               fg_error *err);
/* Destroys the Trainer and its callbacks. NULL is allowed. */
FG_API void fg_trainer_destroy(fg_trainer *trainer);

/* Connects the Trainer to its devices before the first call of fit or an evaluation, so that
 * fg_trainer_client can be used. Does nothing if it is connected. If it opens the client, it also
 * checks the plugin (check.h). Errors: those of fg_client_open and fg_client_check;
 * FG_EINVAL if the strategy does not support the devices. */
FG_API FG_MUST_USE fg_status fg_trainer_connect(fg_trainer *trainer, fg_error *err);

/* Adds a callback. ops must outlive the Trainer; take_self is consumed, also on failure. Errors:
 * FG_ENOMEM, FG_EINVAL for save or load without the other or without a unique name; those of
 * `setup`. */
FG_API FG_MUST_USE fg_status fg_trainer_add_callback(fg_trainer *trainer,
                                                     const fg_callback_ops *ops, void *take_self,
                                                     fg_error *err);

/* Sets how many batches an optimizer step has in each epoch, as numerics.accumulate_schedule does:
 * for `setup` of callbacks, and before the first fit. Errors: FG_EINVAL (a schedule that is not
 * valid; the Trainer has one already, or has been used). */
FG_API FG_MUST_USE fg_status fg_trainer_set_accumulation(fg_trainer *trainer, fg_int_map schedule,
                                                         fg_error *err);

/* Adds a built-in callback as an element of trainer.callbacks in a configuration (docs/config.md):
 * "early_stop", or "early_stop: {patience: 3, monitor: val_loss}". Errors: FG_EINVAL (an unknown
 * name or option, an invalid value; the message says what is expected), those of
 * fg_trainer_add_callback. */
FG_API FG_MUST_USE fg_status fg_trainer_add_named_callback(fg_trainer *trainer,
                                                           const char *callback, fg_error *err);

/* Where the samples of training, validation and test are. */
typedef enum fg_resident {
    FG_RESIDENT_AUTO = 0, /* as TRUE if the dataset is in memory, its samples do not vary by epoch,
                             and they take at most an eighth of the memory of each device, which is
                             not a CPU; otherwise as FALSE */
    FG_RESIDENT_TRUE,     /* each device has all samples, and a batch is only their numbers. The
                             results are the same. FG_EUNSUPPORTED if the samples vary by epoch */
    FG_RESIDENT_FALSE     /* every batch is uploaded */
} fg_resident;

/* Data for fit, validate, test and predict: each uses its part, the others may be NULL. Datasets
 * are borrowed. A member that is 0 means the default in []. */
typedef struct fg_fit_data {
    fg_dataset *train;
    fg_dataset *val;     /* for fit and fg_trainer_validate; optional in fit */
    fg_dataset *test;    /* for fg_trainer_test */
    fg_dataset *predict; /* for fg_trainer_predict; only needs the fields that predict_step reads */
    int64_t batch_size;  /* samples per batch on each device (each row of the mesh); an optimizer
                            step has accumulate_grad_batches of these                        [32] */
    int64_t global_batch_size; /* samples per batch on all devices together, instead of batch_size;
                                  a multiple of the number of rows [auto: batch_size * rows] */
    int64_t workers;           /* loader threads; FG_NONE: the calling thread loads
                        [auto: as fg_loader_options] */
    bool no_shuffle; /* keep the dataset's order in training                        [false] */
    bool drop_last;  /* drop the incomplete batch at the end of an epoch            [false] */
    int64_t shuffle_buffer; /* a training source is shuffled within this many samples, as in
                               fg_loader_options                                           [1] */
    fg_resident resident;   /* keep the samples on the devices             [FG_RESIDENT_AUTO] */
    uint64_t reserved[2];
} fg_fit_data;

/* The members that a configuration has too, as rows. Constant, thread-safe. */
FG_API const fg_entry *fg_fit_data_row(void);

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

/* Evaluates the current weights (those of the last fit, or of options.checkpoints.resume or
 * .weights) in one pass over data->val (validate) or data->test (test). The metrics are in the
 * result. Errors: as fg_trainer_fit. */
FG_API FG_MUST_USE fg_status fg_trainer_validate(fg_trainer *trainer, const fg_task *task,
                                                 const fg_fit_data *data, fg_error *err);
FG_API FG_MUST_USE fg_status fg_trainer_test(fg_trainer *trainer, const fg_task *task,
                                             const fg_fit_data *data, fg_error *err);

/* Requests a checkpoint of the current state, and the fit continues: for callbacks (at->trainer).
 * It is taken before the next step; if requested by `saved`, after it. There is none without a
 * run_dir, if the current state is saved already, or while the loss has risen too far
 * (fg_trainer_divergence). */
FG_API void fg_trainer_request_save(const fg_trainer *trainer);

/* Receives rows of predictions in the dataset's order: type is T[count, ...]; data is row-major and
 * borrowed for the call; first is the index of row 0 in the dataset. A status other than FG_OK ends
 * the pass with that status. */
typedef fg_status fg_predict_fn(void *self, const fg_type *type, const void *data, int64_t first,
                                fg_error *err);
/* Makes one pass over data->predict and calls `write` with the predictions, in the order of the
 * samples, then `predicted` of the callbacks. write may be NULL if a callback has that function,
 * such as the row prediction_writer. Errors: as fg_trainer_fit, and those of `write`; FG_EINVAL if
 * nothing receives the predictions. */
FG_API FG_MUST_USE fg_status fg_trainer_predict(fg_trainer *trainer, const fg_task *task,
                                                const fg_fit_data *data, fg_predict_fn *write,
                                                void *self, fg_error *err);

/* Called for each batch size that fg_trainer_find_batch tries: samples per device, bytes of device
 * memory needed (-1: unknown, because compilation failed), and whether that fits. */
typedef void fg_batch_tried_fn(void *self, int64_t batch_size, int64_t need_bytes, bool fits);

typedef struct fg_batch_find_options {
    fg_batch_tried_fn *tried; /* [NULL: none] */
    void *self;               /* first argument of `tried` */
    uint64_t reserved[4];
} fg_batch_find_options;

typedef struct fg_batch_fit {
    int64_t batch_size;        /* the largest that fits, per device; 0: none fits */
    int64_t global_batch_size; /* on all devices together */
    int64_t need_bytes;        /* memory of one device, by the compiled program; -1: none fits */
    int64_t limit_bytes;       /* memory of one device; on the CPU, its part of the host's memory */
    bool all_fit;              /* the batch contains all training samples */
    bool was_run;              /* a training step was run with it (fg_tuner_try_batch, tuner.h) */
    uint64_t reserved[4];      /* set to 0 */
} fg_batch_fit;

/* Finds the largest batch size whose training step leaves 10 % of each device's memory free, to
 * within 1/16, by compiling the step for several sizes, starting with data->batch_size. Nothing is
 * executed. options may be NULL. Errors: those of fg_trainer_fit before its first step;
 * FG_EUNSUPPORTED if the amount of memory is unknown. */
FG_API FG_MUST_USE fg_status fg_trainer_find_batch(fg_trainer *trainer, const fg_task *task,
                                                   const fg_fit_data *data,
                                                   const fg_batch_find_options *options,
                                                   fg_batch_fit *out, fg_error *err);

/* Builds the task's model and loads its weights, as a prediction does, without running a step: for
 * computations of your own with fg_trainer_module and fg_trainer_client, such as sampling from a
 * language model. Errors: those of fg_trainer_predict before its first batch. */
FG_API FG_MUST_USE fg_status fg_trainer_restore(fg_trainer *trainer, const fg_task *task,
                                                fg_error *err);

/* Returns the module that the task built, borrowed; NULL before the first fit or evaluation. */
FG_API fg_module *fg_trainer_module(const fg_trainer *trainer);
/* Returns what was loaded from options.checkpoints.weights, borrowed; entry_count is 0 before
 * that. */
FG_API const fg_load_report *fg_trainer_load_report(const fg_trainer *trainer);
/* Returns the client, borrowed; NULL before fg_trainer_connect, a fit or an evaluation opens it. */
FG_API fg_client *fg_trainer_client(const fg_trainer *trainer);

/* Epochs with the same number of optimizer steps, up to the next part. */
typedef struct fg_epoch_part {
    int64_t epoch, step; /* the first epoch, and the number of steps before it */
    int64_t steps;       /* of each epoch */
} fg_epoch_part;
/* Those of accumulate_schedule, and the rest of an epoch after a resume. */
#define FG_MAX_EPOCH_PARTS 33

/* The effective settings of a fit: batches, steps and learning rates, derived from options, data
 * and devices. They are set before the first step, so callbacks can use them starting with
 * fit_start. Strings are constants. */
typedef struct fg_fit_settings {
    const char *strategy;      /* "single", "ddp", "fsdp" */
    int device_count;          /* all devices used */
    int batch_shards;          /* shards of a batch: devices along the batch axes of the mesh */
    int64_t batch_size;        /* samples per shard */
    int64_t global_batch_size; /* samples per batch */
    int64_t accumulate_grad_batches; /* batches per optimizer step, in the first epoch */
    int64_t steps_per_epoch;         /* optimizer steps in this epoch; -1: unknown (source) */
    int64_t total_steps;             /* including those before a resume; -1: no limit, or unknown */
    const char *lr_scaling;          /* "none", "linear", "sqrt" */
    int64_t base_batch_size;         /* that lr_given is meant for */
    double lr_given, lr_factor;      /* the optimizer's learning rate, and the scaling factor */
    double lr;                       /* lr_given * lr_factor: the peak of the schedule */
    double lr_at[5];                 /* the learning rate at 0, 25, 50, 75 and 100 % of the steps */
    int64_t total_epochs; /* of the run, the last of which max_steps may end; -1: no limit, or
                             unknown */
    int part_count;       /* 0: the steps of an epoch are not known */
    /* Starting with the current epoch, as if without a limit */
    fg_epoch_part part[FG_MAX_EPOCH_PARTS];
} fg_fit_settings;
/* Returns the settings of the current or last fit, borrowed; all zero before the first. */
FG_API const fg_fit_settings *fg_trainer_settings(const fg_trainer *trainer);

/* Returns the epoch in which the optimizer step `index` is, starting at 0, or -1 if it is not
 * known: of a source, or before the current epoch of a run that was resumed. Thread-safe. */
FG_API int64_t fg_fit_settings_epoch(const fg_fit_settings *settings, int64_t index);

/* Computes the settings that fg_trainer_fit would have for these options and data in a new run,
 * without compiling, and without reading samples. lr is the optimizer's learning rate. With
 * fg_schedule_lr and fg_schedule_momentum, they give the learning rate and the momentum of every
 * step. No device is opened if the options give their number: as a number or list in
 * devices.devices, by the sizes in devices.mesh, by the strategy "single", or by the accelerator
 * "cpu", whose default is one device. Otherwise, opens a client unless devices.client is set,
 * and closes it. options may be NULL. Errors: those of fg_trainer_create, fg_client_open, and of
 * fg_trainer_fit for options and data. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_trainer_preview(const fg_trainer_options *options,
                                                const fg_fit_data *data, double lr,
                                                fg_fit_settings *out, fg_error *err);

/* The same for a Trainer with its callbacks, some of which change settings (`setup`). It must not
 * have been used, and can then only be destroyed. Errors: those of fg_client_open, of the
 * callbacks, and of fg_trainer_fit for options and data. One thread at a time. */
FG_API FG_MUST_USE fg_status fg_trainer_preview_fit(fg_trainer *trainer, const fg_fit_data *data,
                                                    double lr, fg_fit_settings *out, fg_error *err);

/* The cost of the training step for one batch, counted from the graph when it was compiled. */
typedef struct fg_step_cost {
    int64_t samples;       /* of a full batch, on all devices */
    double flops;          /* multiplications and additions of its matmuls and convolutions, forward
                              and backward, on all devices */
    double seconds;        /* time of these at the devices' peak rates (chip.h); NaN if the peak is
                              not known, as for a CPU */
    double flops_16bit;    /* part of flops whose operands are 16-bit floats */
    double bytes;          /* of memory that the program reads and writes, on all devices, as the
                              compiler estimates them; NaN: unknown */
    double flops_emulated; /* part of flops whose dtype the devices' matrix units do not support, so
                              that it is emulated: f64 and integers of more than 8 bits on TPUs */
    uint64_t reserved[1];  /* set to 0 */
} fg_step_cost;
/* Returns the cost of the training step of the current or last fit, starting with fit_start;
 * before, `samples` is 0 and the others are NaN. Reads nothing from a device. */
FG_API fg_step_cost fg_trainer_step_cost(const fg_trainer *trainer);

/* A sample of an evaluation. */
typedef struct fg_sample_row {
    int64_t index;            /* in the dataset */
    float target, prediction; /* class indices, numbers of labels, or values as logged */
    float loss;               /* cross-entropy of the sample, or |prediction - target| */
} fg_sample_row;
/* What an evaluation says about classes and samples, for steps that call
 * fg_step_log_classification, fg_step_log_multilabel or, with targets [B],
 * fg_step_log_regression. */
typedef struct fg_evaluation {
    int64_t step, samples; /* of the weights; how many samples it had */
    /* The samples with the largest loss, at most 12, the largest first; NaN is the largest */
    const fg_sample_row *worst;
    size_t worst_count;
    /* [class_count, class_count]: how many samples of the first class were predicted as the second;
     * 0 and NULL for a regression, and for more than 2048 classes */
    int64_t class_count;
    const int64_t *confusion;
    /* Of several labels per sample, instead, [3, class_count]: how many samples have each class,
     * how many are predicted to have it, and how many of these have it */
    const double *label_sums;
} fg_evaluation;
/* Returns what the last test (is_test), or the last validation, also that of a fit, says about its
 * samples, each of which counts once, on any number of devices. Reads from the devices and waits.
 * Borrowed until the next call of the Trainer; NULL: there was none, its step logs neither, or it
 * was cut short. Owner thread only; not within a callback. Errors: FG_ENOMEM, FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_trainer_evaluation(fg_trainer *trainer, bool is_test,
                                                   const fg_evaluation **out, fg_error *err);

/* Returns the result of the last call, borrowed; all zero before the first. */
FG_API const fg_result *fg_trainer_result(const fg_trainer *trainer);
/* Fills in the times and counters of the fit that is running, so far: for callbacks. The windows
 * are borrowed until the callback returns. Reads nothing from a device. */
FG_API void fg_trainer_result_so_far(const fg_trainer *trainer, fg_result *out);

/* Returns the profile that the last fit has written (options.output.profile), borrowed until the
 * next fit; NULL: none. */
FG_API const fg_profile_info *fg_trainer_profile(const fg_trainer *trainer);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_trainer_fit(...)      FG_HERE(fg_trainer_fit(__VA_ARGS__))
#define fg_trainer_validate(...) FG_HERE(fg_trainer_validate(__VA_ARGS__))
#define fg_trainer_test(...)     FG_HERE(fg_trainer_test(__VA_ARGS__))
#define fg_trainer_predict(...)  FG_HERE(fg_trainer_predict(__VA_ARGS__))
#endif
#endif
