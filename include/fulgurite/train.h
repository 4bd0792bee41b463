/* train.h - the Trainer: a task, a loop, checkpoints, metrics.
 *
 * A task says how to build the model and what one step computes; the Trainer does the rest. Each
 * step function is called once for each shape of batch, to be traced; after that its program is
 * launched again and again. It must be free of side effects: what it wants seen it logs.
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

/* A step while it is traced, and its batch. Both live for the call of the step function only. */
typedef struct fg_step fg_step;
typedef struct fg_batch fg_batch;

/* A field of the batch by name, T[B, ...]; poison, and an error in the trace that lists the names,
 * when there is none. */
FG_API fg_tensor fg_batch_get(const fg_batch *batch, const char *name);
/* The same by number: in every reader 0 is the input and 1 the target. */
FG_API fg_tensor fg_batch_at(const fg_batch *batch, int index);
/* How many of its B rows are samples: f32[]. Fewer than B in the last batch of an epoch. Divide by
 * this, never by B as a number of the host, which counts padding rows too. */
FG_API fg_tensor fg_batch_count(const fg_batch *batch);
FG_API int fg_batch_field_count(const fg_batch *batch);

/* Logs a metric of this step under "train_NAME", "val_NAME" or "test_NAME". value is floating or
 * integer:
 *
 *   T[B, ...] or T[B * T]   numbers of samples or tokens, which are averaged
 *   T[]                     a mean over the batch
 *
 * What is reported is the mean over all batches since the last line, or of the epoch or evaluation:
 * the Trainer keeps (sum, sum of weights) on the device and reads it every log_every steps without
 * waiting. Padding rows are left out. A scalar weighs by what it was divided by, if it comes from a
 * loss of ops.h, fg_mean or fg_weighted_mean, also when it was scaled: the mean loss by token is
 * exact, and so is the perplexity, exp of the reported loss. Otherwise it weighs by the samples of
 * the batch. The loss that a step returns is logged as "loss" by itself: logging another value
 * under that name is an error (FG_EINVAL, kept in the trace). At most FG_MAX_METRICS names. */
#define FG_MAX_METRICS 16
FG_API void fg_step_log(fg_step *step, const char *name, fg_tensor value);
/* The same with weights: sum(weight * value) / sum(weight) over all batches. weight is numeric or
 * bool and broadcasts to value's shape; where it is 0, value may be anything. For the accuracy of
 * tokens some of which are ignored:
 *     fg_step_log_weighted(step, "acc", fg_accuracy(logits, label), fg_ne(label, padding)); */
FG_API void fg_step_log_weighted(fg_step *step, const char *name, fg_tensor value,
                                 fg_tensor weight);
/* What the returned loss was divided by: f32[] or an integer scalar. The losses of several batches
 * are averaged, and gradients accumulated (accumulate_grad_batches), by this weight. Only needed
 * where the graph doesn't say it: a loss that you divide by a sum of weights yourself, or one that
 * combines means with different denominators. */
FG_API void fg_step_set_weight(fg_step *step, fg_tensor weight);
/* For fg_step_log_regression. */
typedef struct fg_regression_options {
    double
        unit; /* mae and rmse are multiplied by this: the deviation of a standardised target [1] */
    double center; /* a number near the targets, so that r2 is not a difference of large sums [0] */
    uint64_t reserved[2];
} fg_regression_options;

/* Logs how far predictions are from their targets, both floating T[B] or T[B, K]:
 *
 *   mae    mean of |p - y|
 *   rmse   square root of the mean of (p - y)^2
 *   r2     1 - sum of (p - y)^2 / sum of (y - mean of y)^2, the coefficient of determination; NaN
 *          where all targets are equal; not for T[B, K]
 *
 * over all samples that count of an epoch, or of the steps of a log line: they follow from sums, so
 * neither batches nor devices nor padding rows change them. Takes the names above and "r2_squares",
 * which is not shown. opt may be NULL. Errors, kept in the trace: FG_ESHAPE, FG_EDTYPE, FG_EINVAL.
 */
FG_API void fg_step_log_regression(fg_step *step, fg_tensor prediction, fg_tensor target,
                                   const fg_regression_options *opt);
/* The trace that the step is written into. */
FG_API fg_trace *fg_step_trace(const fg_step *step);

/* The last batch of an epoch is filled up with padding rows, unless drop_last is set or the batches
 * come out even. What a step computes from its batch leaves them out by itself: fg_mean, fg_sum,
 * fg_max, losses and batch norm count valid rows only, and an operation that would mix
 * samples with padding rows is an error (ops.h, "batches with padding rows";
 * docs/howto/padding.md).
 */
typedef struct fg_task_ops {
    /* Makes the layers, in root. Called once. Errors stay in the module. */
    void (*build)(void *self, fg_module *root);
    /* The loss, f32[], of a training batch. */
    fg_tensor (*train_step)(void *self, fg_step *step, const fg_batch *batch);
    /* The loss of a validation batch; the trace is not in training mode. NULL: no validation. */
    fg_tensor (*val_step)(void *self, fg_step *step, const fg_batch *batch);
    /* The loss of a test batch. NULL: val_step. */
    fg_tensor (*test_step)(void *self, fg_step *step, const fg_batch *batch);
    /* What is to be predicted, T[B, ...]. NULL: no prediction. */
    fg_tensor (*predict_step)(void *self, fg_step *step, const fg_batch *batch);
    /* Makes the optimizer of root's parameters. Called once, before fit. */
    fg_optimizer *(*optimizer)(void *self, fg_module *root);
    void (*reserved[4])(void); /* must be NULL */
} fg_task_ops;

/* A model and what is done with it: a table of functions and what they are called with. */
typedef struct fg_task {
    const char *name;
    void *self;
    const fg_task_ops *ops;
    uint64_t reserved[2]; /* must be 0 */
} fg_task;

/* ---- callbacks ------------------------------------------------------------------------------- */

/* One logged number. */
typedef struct fg_metric {
    char name[64]; /* "train_loss" */
    double value;  /* mean over the samples since the last line; NaN when none counted */
} fg_metric;

/* What a callback is told. Plain numbers: no callback can read a device by accident. */
typedef struct fg_progress {
    int64_t step;             /* optimizer steps done */
    int64_t epoch;            /* from 0 */
    int64_t batch, batches;   /* of this epoch or evaluation: done, and all (-1 if not known) */
    int64_t total_steps;      /* that this fit will run, -1 if not known */
    double lr;                /* of the last step */
    double samples_per_s;     /* over the last window, 0 when not known yet */
    const fg_metric *metrics; /* what this event brings; NULL when nothing */
    size_t metric_count;
    const char *path; /* a checkpoint's folder, for `saved` */
} fg_progress;

/* Called on the thread that called fit, in this order (docs/hooks.md has it in full); any may be
 * NULL. A status other than FG_OK ends the run soon, after the state is saved: FG_ESTOPPED without
 * being an error, any other as the run's error, for which err->message may be filled in; from
 * fit_start it ends the fit at once. They may not start their own Trainer again.
 *
 *   fit_start
 *     epoch_start
 *       batch_end ...      after each batch's launch, whose results are not known yet; the step is
 *                          counted at the last batch of those that are accumulated for it
 *       log ...            when the metrics of a window have arrived; with them, where they say
 *                          something: train_nonfinite_steps (so far), and of the last step
 *                          train_lost_updates and train_loss_scale
 *       val_start  val_end every validation
 *       saved              every checkpoint, when it is on the disk: some steps after it was
 *                          taken, unless checkpoints.wait_for_saves. step, epoch and batch are
 *                          the checkpoint's
 *     epoch_end            metrics of the whole epoch
 *   fit_end                for every fit_start, also after a failure
 *
 * Validation, test and prediction outside of fit:
 *
 *   eval_start  batch_end ...  eval_end
 */
typedef struct fg_callback_ops {
    const char
        *name; /* of its state in checkpoints; needed by save and load, unique in a Trainer */
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
    /* The callback's own state, as part of each checkpoint: both, with a name, or none. save is
     * called between two steps whenever a checkpoint is taken: it returns the size of the state in
     * bytes, and writes them to `bytes` if `size`, the room there, is enough. Called first with
     * room 0, then with the size that it returned. 0: nothing to save. The format is the callback's
     * own.
     */
    size_t (*save)(void *self, void *bytes, size_t size);
    /* Gets them back before fit_start of a fit that resumes; an error ends the fit. Not called
     * where the checkpoint has no state of this name, which a warning says. */
    fg_status (*load)(void *self, const void *bytes, size_t size, fg_error *err);
    void (*destroy)(void *self); /* when the Trainer is destroyed */
    void (*reserved[4])(void);   /* must be NULL */
} fg_callback_ops;

/* ---- the Trainer ----------------------------------------------------------------------------- */

/* Owner thread only; one task for its life. */
typedef struct fg_trainer fg_trainer;

/* A run that hangs: what the Trainer has waited for longer than options.hang.watchdog_s.
 * Strings are borrowed for the call. */
typedef struct fg_hang {
    const char *doing;      /* "training step 12 does not end on cpu:3 (1 of 8 devices)" */
    const char *stage;      /* "training", "validation", "test", "prediction" */
    int64_t step;           /* of that stage, from 1 */
    const char *devices;    /* those that have not answered, as far as is known */
    const char *last_event; /* "training step 11 ended 600.3 s ago" */
    const char *checkpoint; /* folder of the last one, "" when there is none */
    double seconds;         /* that it has lasted */
} fg_hang;
/* Called on a thread of the Trainer's while its own thread waits: it may report, and end the
 * process, but not use the Trainer. When it returns, the run waits on, and it is called again each
 * time that watchdog_s have passed. */
typedef void fg_hang_fn(void *self, const fg_hang *hang);

/* The options of a Trainer come in groups; a member left 0 takes the default in []. The library
 * copies what they point to, except for the client. */

/* On which devices, and how they share the work. */
typedef struct fg_trainer_devices {
    const char *accelerator; /* "auto": a TPU, then CUDA, then the CPU; "tpu", "cuda", "cpu": that
                                and no other                                             ["auto"] */
    const char *devices;     /* which of its devices, as in fg_client_options: "auto", "-1": all (of
                                the CPU's: one); "8"; "0,2"; "[1]": the second alone. A number makes
                                so many virtual devices of the CPU                       ["auto"] */
    const char *strategy;    /* "single": one device; "ddp": each device has the whole model and a
                                shard of every batch; "fsdp": parameters are sharded as well
                                (dist.h); "auto": by the number of devices               ["auto"] */
    fg_mesh_options mesh;    /* how the devices are arranged, as in fg_client_options */
    const fg_sharding_rule *sharding_rules; /* how parameters are sharded, by name; the first that
                                               matches applies                            [none] */
    size_t sharding_rule_count;
    fg_client *client;     /* an open client to use instead, borrowed                      [NULL] */
    const char *cache_dir; /* of compiled programs, as in fg_client_options            [NULL: on] */
    uint64_t reserved[2];
} fg_trainer_devices;

/* How long to train, and on how much of the data. */
typedef struct fg_trainer_limits {
    int64_t max_epochs;          /* [1 when max_steps is 0 too, else no limit]                    */
    int64_t max_steps;           /* optimizer steps                                    [no limit] */
    int64_t limit_train_batches; /* of each epoch                                      [no limit] */
    int64_t limit_val_batches;   /* of each validation                                 [no limit] */
    double limit_train_fraction; /* the same as a fraction of all batches, 0 to 1; at least one
                                    batch                                              [no limit] */
    double limit_val_fraction;   /* a fraction of val                                  [no limit] */
    /* Train on the first batches only, the same ones in the same order in every epoch, and validate
     * on as many of val: a model that cannot learn these has a mistake. A count, or a fraction of
     * all batches. They replace the limits above                                         [0: off]
     */
    int64_t overfit_batches;
    double overfit_fraction;
    /* One training and one validation batch, no files: does everything work? Replaces the limits,
     * run_dir and sanity_val_steps                                                       [false] */
    bool fast_dev_run;
    uint64_t reserved[2];
} fg_trainer_limits;

/* When to validate. */
typedef struct fg_trainer_validation {
    int64_t val_every_epochs; /*                                                              [1] */
    int64_t val_every_steps;  /* also within an epoch                                        [no] */
    /* Validation batches before the first step of a fit that starts anew, to find mistakes early;
     * their metrics are dropped. -1: all                                               [0: none] */
    int64_t sanity_val_steps;
    uint64_t reserved[2];
} fg_trainer_validation;

/* What the Trainer does to the optimizer's learning rate. */
typedef struct fg_trainer_lr {
    const char *lr_scaling;  /* how the learning rate follows the batch: "none"; "linear": times k
                                (Goyal et al. 2017); "sqrt": times sqrt(k) (Krizhevsky 2014).
                                k: samples of a step / base_batch_size               ["none"] */
    int64_t base_batch_size; /* the batch that the optimizer's learning rate is meant for
                                [one device's batch: k is devices * accumulate_grad_batches]  */
    const fg_schedule *schedule; /* of the learning rate, sized by the steps that will run
                                                                                       [constant] */
    uint64_t reserved[2];
} fg_trainer_lr;

/* The run's folder, what is saved there, and what a run starts from. */
typedef struct fg_trainer_checkpoints {
    const char *run_dir;       /* metrics.csv, metrics.jsonl, checkpoints/; NULL: no files. One fit
                                  at a time writes there                                          */
    int64_t save_every_epochs; /* [1 with a run_dir]; -1: only at the end                         */
    int64_t save_every_steps;  /* also within an epoch                                       [no] */
    int keep_checkpoints;      /* newest that stay, beside last and best; -1: all             [1] */
    const char *monitor;       /* the metric that decides which checkpoint is "best": "val_NAME" is
                                  compared after each validation, "train_NAME", the mean over an
                                  epoch, after each whole epoch                      ["val_loss"] */
    bool monitor_max;          /* more is better                                          [false] */
    const char *resume;        /* "last", "best", a path: go on from there; "auto": from last where
                                  there is one                                             [NULL] */
    const char *weights;       /* .safetensors or checkpoint with starting weights         [NULL] */
    /* How `weights` are loaded (weights.h): all of the model by default. What was loaded is in
     * fg_trainer_load_report. */
    fg_load_options weights_options;
    /* A fit whose run_dir holds the checkpoints of an earlier run, which it does not resume, is
     * refused. true: it deletes these checkpoints before its first step                  [false] */
    bool overwrite;
    /* A checkpoint is copied to the host between two steps and written by a thread while training
     * goes on; `saved` is called when it is on the disk. true: training waits for that   [false] */
    bool wait_for_saves;
    /* Texts that every checkpoint carries under names of your own, and fg_ckpt_attachment reads
     * back (ckpt.h): configuration, description of the data                               [none] */
    const fg_attachment *attachments;
    size_t attachment_count;
    uint64_t reserved[2];
} fg_trainer_checkpoints;

/* In which numbers a step computes. */
typedef struct fg_trainer_numerics {
    /* "32-true", "bf16-mixed", "bf16-true", "16-mixed", "16-true", "64-true":
     * fg_trace_set_precision says what each means; f16 and f64 do not go on TPUs     ["32-true"] */
    const char *precision;
    bool stochastic_rounding; /* of "bf16-true": parameters are rounded stochastically    [false] */
    /* A gradient that is not finite ends the run with FG_ENUMERIC: step, parameter, NaN or
     * infinite; no update is made of it. It costs some passes over the gradients and weights. Under
     * a scaled loss only when the scale has come down to 1                               [false] */
    bool detect_anomaly;
    int64_t accumulate_grad_batches; /* batches of a step: the optimizer gets the gradient of the
                                        mean loss over all their samples, or tokens: as of one large
                                        batch; the last step of an epoch may have fewer. Batch norm
                                        goes by each batch's own statistics                   [1] */
    uint64_t reserved[2];
} fg_trainer_numerics;

/* What people see of a run. */
typedef struct fg_trainer_output {
    FILE *progress; /* where to report progress; NULL: nowhere                             [NULL] */
    /* "bar": one line that is redrawn, and a line that stays per epoch (of epochs shorter than a
     * second, one a second); "plain": a line per epoch, and some within long ones; "auto": a bar
     * where `progress` is a terminal and TERM is not "dumb", otherwise plain            ["auto"] */
    const char *progress_style;
    int64_t log_every; /* steps from one line of metrics to the next                         [50] */
    uint64_t reserved[2];
} fg_trainer_output;

/* What to do about a run that hangs. */
typedef struct fg_trainer_hang {
    double watchdog_s;  /* seconds without an answer after which a run is said to hang, by a warning
                           and by `report`; compilation has a warning of its own, after 300
                                                                                        [0: never] */
    fg_hang_fn *report; /* called then                                                     [NULL] */
    void *report_self;
    uint64_t reserved[2];
} fg_trainer_hang;

typedef struct fg_trainer_options {
    uint64_t seed;       /* of weights, order and dropout                                     [0] */
    bool handle_signals; /* while a fit runs, the first SIGINT, SIGTERM or SIGHUP saves and stops,
                            and says so on output.progress; a second one does what it did before. A
                            SIGPIPE that would end the process is ignored. Afterwards the process's
                            own handlers are back. false: no handler is touched           [false] */
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

/* Checks and copies the options; opens nothing yet. options may be NULL. Errors: FG_EINVAL,
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_trainer_create(const fg_trainer_options *options, fg_trainer **out,
                                               fg_error *err);
/* NULL is allowed. Destroys its callbacks. */
FG_API void fg_trainer_destroy(fg_trainer *trainer);

/* Opens the client now and not in the first call, so that fg_trainer_client tells the devices.
 * Nothing is done when it is open. Errors: those of fg_client_open; FG_EINVAL where the devices do
 * not go with the strategy. */
FG_API FG_MUST_USE fg_status fg_trainer_open(fg_trainer *trainer, fg_error *err);

/* Adds a callback; ops must outlive the Trainer, take_self is consumed, also on failure. Errors:
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_trainer_add_callback(fg_trainer *trainer,
                                                     const fg_callback_ops *ops, void *take_self,
                                                     fg_error *err);

/* Data of fit, validate, test and predict: each takes its own part, the others may be NULL.
 * Datasets are borrowed. */
typedef struct fg_fit_data {
    fg_dataset *train;
    fg_dataset *val;     /* of fit and fg_trainer_validate; fit may do without: NULL */
    fg_dataset *test;    /* of fg_trainer_test */
    fg_dataset *predict; /* of fg_trainer_predict: only the fields that predict_step reads matter */
    int64_t batch_size;  /* samples that each device (row of the mesh) takes in a batch; a step of
                            the optimizer has accumulate_grad_batches of these                [32] */
    int64_t global_batch_size; /* samples of all devices together, instead of batch_size; they
                                  divide it evenly                       [batch_size * rows] */
    int workers;     /* loader threads          [as fg_loader_options; -1: none, in line] */
    bool no_shuffle; /* keep the dataset's order in training                        [false] */
    bool drop_last;  /* leave out the incomplete batch at an epoch's end            [false] */
    int64_t shuffle_buffer; /* a training source is shuffled within so many samples, as in
                               fg_loader_options                                           [1] */
    uint64_t reserved[2];
} fg_fit_data;

/* Trains. Again after an earlier fit it goes on from where that one ended, up to the limits. Epochs
 * of a source end with it; where it does not tell its length, a schedule needs max_steps or
 * limit_train_batches.
 * FG_ESTOPPED when a signal or a callback ended it; the state is then saved (with a run_dir) and
 * the result is whole. Mistakes in validation are looked for before the first step; after it an
 * error leaves the state saved where that is possible, and says where. run_dir is locked against
 * other fits; FG_EINVAL when one of another process has it, or when it holds the checkpoints of an
 * earlier run that is neither resumed nor to be overwritten. Errors: those of client, data,
 * compiler and device. */
FG_API FG_MUST_USE fg_status fg_trainer_fit(fg_trainer *trainer, const fg_task *task,
                                            const fg_fit_data *data, fg_error *err);

/* One pass over data->val (validate) or data->test (test) with the present weights: those of the
 * last fit, or of options.checkpoints.resume or .weights. Metrics are in the result. */
FG_API FG_MUST_USE fg_status fg_trainer_validate(fg_trainer *trainer, const fg_task *task,
                                                 const fg_fit_data *data, fg_error *err);
FG_API FG_MUST_USE fg_status fg_trainer_test(fg_trainer *trainer, const fg_task *task,
                                             const fg_fit_data *data, fg_error *err);

/* Receives rows of predictions in the dataset's order: type is T[count, ...], data row-major and
 * borrowed for the call, first is the dataset's number of row 0. */
typedef fg_status fg_predict_fn(void *self, const fg_type *type, const void *data, int64_t first,
                                fg_error *err);
/* One pass over data->predict; `write` receives the predictions of its samples in their order. */
FG_API FG_MUST_USE fg_status fg_trainer_predict(fg_trainer *trainer, const fg_task *task,
                                                const fg_fit_data *data, fg_predict_fn *write,
                                                void *self, fg_error *err);

/* Told of each batch that fg_trainer_find_batch tries: samples of each device, bytes it needs of
 * one
 * (-1: the compiler gave up before it knew), and whether that is little enough. */
typedef void fg_batch_tried_fn(void *self, int64_t batch_size, int64_t need_bytes, bool fits);

typedef struct fg_batch_fit {
    int64_t batch_size;        /* the largest that fits, of each device; 0: none does */
    int64_t global_batch_size; /* of all */
    int64_t need_bytes;        /* of one device, by the compiled program; -1: none fits */
    int64_t limit_bytes;       /* what one has; of the CPU's devices, their share of the host's */
    bool all_fit;              /* it is all the training samples: larger ones make no sense */
    uint64_t reserved[4];      /* set to 0 */
} fg_batch_fit;

/* Finds the largest batch whose training step leaves a tenth of each device's memory free, to
 * within a sixteenth, by compiling the step for several: nothing is run. It begins with
 * data->batch_size. tried may be NULL. Errors: those of fg_trainer_fit before its first step,
 * FG_EUNSUPPORTED where nobody knows how much memory there is. */
FG_API FG_MUST_USE fg_status fg_trainer_find_batch(fg_trainer *trainer, const fg_task *task,
                                                   const fg_fit_data *data,
                                                   fg_batch_tried_fn *tried, void *self,
                                                   fg_batch_fit *out, fg_error *err);

/* The module that the task built, borrowed; NULL before the first fit or evaluation. */
FG_API fg_module *fg_trainer_module(const fg_trainer *trainer);
/* What loading options.checkpoints.weights did, borrowed; entry_count is 0 before that. */
FG_API const fg_load_report *fg_trainer_load_report(const fg_trainer *trainer);
/* NULL before fg_trainer_open, the first fit or evaluation, unless one was given. */
FG_API fg_client *fg_trainer_client(const fg_trainer *trainer);

/* The effective settings of a fit: its batches, steps and learning rates as they follow from
 * options, data and devices. They are set before the first step: callbacks may ask for them from
 * fit_start on. Texts are constants. */
typedef struct fg_fit_settings {
    const char *strategy;      /* "single", "ddp", "fsdp" */
    int device_count;          /* all that take part */
    int batch_shards;          /* that a batch is cut into: devices along the mesh's batch axes */
    int64_t batch_size;        /* samples of each of these in a batch */
    int64_t global_batch_size; /* of all */
    int64_t accumulate_grad_batches; /* batches of a step of the optimizer */
    int64_t steps_per_epoch;         /* of the optimizer; -1: a source does not tell */
    int64_t total_steps;             /* those before a resume included; -1: no limit, or unknown */
    const char *lr_scaling;          /* "none", "linear", "sqrt" */
    int64_t base_batch_size;         /* that lr_given is meant for */
    double lr_given, lr_factor;      /* the optimizer's, and what the rule makes of it */
    double lr;                       /* lr_given * lr_factor: the schedule's peak */
    double lr_at[5];                 /* the schedule at 0, 25, 50, 75 and 100 % of the steps */
} fg_fit_settings;
/* Of the last fit; all zero before the first. */
FG_API const fg_fit_settings *fg_trainer_settings(const fg_trainer *trainer);

/* Where the time of the device went, in seconds from the end of the first step of the last call to
 * the end of its last, validations included. The device is idle from the end of a step until the
 * next one could begin: launched, and its batch there. The parts, which say what the host did
 * meanwhile, are not negative and sum to idle_s. */
typedef struct fg_idle {
    double busy_s, idle_s;
    double input_s;  /* waited for the loader */
    double upload_s; /* sent a batch, or the device waited for it to arrive */
    double compile_s;
    double read_s; /* waited for a value */
    double checkpoint_s;
    double other_s;       /* launches, callbacks, everything else */
    uint64_t reserved[2]; /* set to 0 */
} fg_idle;

/* Metrics of a result, at most. */
#define FG_MAX_RESULTS (3 * FG_MAX_METRICS)

/* What happened in the last fit, validate, test or predict. A figure that is not known is NaN, or
 * -1 where it is an integer. Steps are those of the call: in fit, of training alone. */
typedef struct fg_result {
    fg_status status;
    int64_t epochs, steps; /* done, those before a resume included */
    size_t metric_count;
    fg_metric metrics[FG_MAX_RESULTS]; /* the last of each name, over a whole epoch or evaluation */
    double time_to_first_step_s;       /* from the call to the first finished step */
    double step_median_s, step_p95_s;  /* from the end of what ran before to the step's own */
    double samples_per_s;              /* over the same time */
    double host_overhead_s;            /* the Trainer's own work for a step: processor time of its
                                          thread, the plugin's calls not counted; every 16th step
                                          is measured */
    double plugin_s;                   /* the plugin's calls for a step, too: launch, upload */
    int64_t compiles, compile_cache_hits;
    double compile_s;
    int64_t host_reads; /* blocking ones */
    fg_idle idle;
    int64_t device_peak_bytes; /* memory of the train program, as the compiler says */
    double step_flops; /* of a batch: multiplications and additions of the train program's products
                          of matrices and convolutions, counted from the graph, all devices */
    double mxu_use; /* the share of the devices' peak rate (chip.h) that they make at samples_per_s
                       with whole batches, 0 to 1: what the model needs, not what a counter of the
                       device says. NaN where the peak is not known, as for a CPU */
    char checkpoint[512]; /* folder of the last one saved, "" when none */

    /* Steps with a gradient that is not finite, those before a resume included. */
    int64_t nonfinite_steps;
    /* "bf16-true", "16-true": share of the elements that the last step was to change and rounding
     * kept as they were. */
    double lost_updates;
    double loss_scale; /* of the last step, where the loss is scaled */

    /* The run was complete before this fit, by max_epochs or max_steps: nothing was trained, and
     * the metrics are those that it ended with. */
    bool nothing_to_do;
} fg_result;
FG_API const fg_result *fg_trainer_result(const fg_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
