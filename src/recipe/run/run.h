/* run.h - code shared by fit, validate, test and predict: creates datasets, a task and a Trainer
 * from a configuration, and metrics, plots and the summary from the Trainer's result.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_H
#define FGI_RECIPE_RUN_H

#include <fulgurite/plan.h>
#include <fulgurite/recipe.h>
#include <fulgurite/registry.h>
#include <fulgurite/train.h>
#include <jansson.h>

#include "callback/prediction_file.h"
#include "recipe/config/config.h"
#include "recipe/folder/run_dir.h"
#include "recipe/folder/run_origin.h"
#include "recipe/published/published.h"
#include "recipe/run/run_schema.h"
#include "report/reports.h"
#include "base/buf.h"

/* ---- data (run_data.c) ----------------------------------------------------------------------- */

/* Datasets of a run; val and test are NULL if there are none. */
typedef struct fgi_run_data {
    fg_dataset *train, *val, *test;
    fg_csv_schema *schema;                /* of a CSV, else NULL */
    fg_tokenizer *tokenizer;              /* of text, else NULL */
    double bytes_per_token;               /* of the training text; 0: not known */
    double target_mean, target_deviation; /* of a .npy regression's training targets, to standardize
                                             them on the device; deviation 0: do not */
    double largest;     /* fraction of the training samples in the largest class, 0: unknown */
    char inferred[256]; /* the task that was inferred from the targets, and why; "": none */
} fgi_run_data;

/* Opens the datasets of the configuration, and sets a task that is auto. Errors in the
 * configuration name the key's location. A fit says what was read and what was not; r may be NULL.
 */
fg_status fgi_run_data_open(fgi_config *c, const fg_recipe *r, fgi_run_data *out, fg_error *err);
void fgi_run_data_close(fgi_run_data *data);
/* Whether the configuration names data for evaluation, and does not limit them to none; does not
 * open files. */
fg_status fgi_run_data_check_eval(const fgi_config *c, fg_recipe_kind kind, fg_error *err);
/* Opens the samples for evaluating a checkpoint as out->val; reads and checks them according to the
 * checkpoint's description of its data (run_data_eval.c). */
fg_status fgi_run_data_open_eval(const fg_recipe *r, fgi_run_data *out, fg_error *err);

/* The task that the configuration names: its key, or the task that loss.name or model.classes
 * implies. "auto": none. */
const char *fgi_run_task_given(const fgi_config *c);
/* Whether the targets are class indices. */
bool fgi_run_has_classes(const fg_dataset *dataset);
/* Whether the samples are tokens, and the targets the tokens that follow them. */
bool fgi_run_has_tokens(const fg_dataset *dataset);
/* If task is auto, sets it to that of the training samples, and data->inferred to the reason. */
fg_status fgi_run_task_infer(fgi_config *c, const fg_format_entry *format, fgi_run_data *data,
                             fg_error *err);
/* FG_EINVAL if the classes of a classification are probably numbers or names: most of them occur
 * once, or there are too many. Giving model.classes turns the check off. */
fg_status fgi_run_task_check(const fgi_config *c, const fgi_run_data *data, fg_error *err);

/* ---- the task (run_task.c) ------------------------------------------------------------------- */

/* The configured model, loss and optimizer. */
typedef struct fgi_run_task {
    const fgi_config *c;
    const fg_recipe *owner;       /* receives messages; may be NULL */
    const fgi_run_schema *schema; /* borrowed */
    fg_type input;                /* of one sample, as the model gets it but for the dtype */
    fg_type target;               /* of one sample */
    int64_t outputs;
    double scale;                         /* of the inputs, on the device */
    double target_mean, target_deviation; /* of a standardized target, else 0 and 1 */
    double target_center;                 /* a value close to the dataset's targets */
    bool standardises; /* standardize on the device: the dataset's targets are raw */
    bool is_classification, is_multilabel, is_language;
    int64_t frozen;           /* parameters, by model.freeze */
    const char **class_names; /* of all outputs, NULL: no name; borrowed from the schema */
    const fg_loss_entry *loss;
    fg_option_values *loss_values;
    void *loss_options; /* the loss row's struct */
    const fg_model_entry *model_entry;
    const fg_optimizer_entry *optimizer_entry;
    fg_option_values *model_values, *optimizer_values; /* of the rows' options */
    fg_optimizer *optimizer; /* owned by the Trainer's module; NULL: not created yet */
    double found_lr;         /* to use instead of the optimizer's; NaN: none */
    fg_schedule schedule;
    void *schedule_options; /* its row's struct */
    fg_model *model;
    char *file; /* the file that names the model, for messages; NULL: none */
    int line;
    float *mean, *std; /* data.mean and data.std: one per channel, or one for all; NULL: none */
    int64_t image[3];  /* data.image; 0: not given */
    fgi_config_rows augment;        /* of data.augment */
    fg_image_encoding encodings[3]; /* of the datasets whose images the step decodes */
    int encoding_count;
    fg_task task; /* for the Trainer */
} fgi_run_task;

/* Fills *out, which must not be moved while the Trainer uses out->task; the schema is borrowed.
 */
fg_status fgi_run_task_init(const fgi_config *c, const fgi_run_schema *schema, fgi_run_task *out,
                            fg_error *err);
/* Checks tokens that no tokenizer has made; says it if a model could read a series instead. Errors:
 * FG_EINVAL (the model has no such token), those of reading. */
fg_status fgi_run_task_check_tokens(const fgi_run_task *task, const fgi_run_data *data,
                                    fg_error *err);
/* Reads some targets of a regression, so that their variance is not a difference of large sums. */
fg_status fgi_run_task_find_center(fgi_run_task *task, const fg_dataset *dataset, fg_error *err);
/* Computes loss.class_weight or loss.pos_weight balanced from the labels of the training samples
 * (NULL: there are none), says it, and checks the loss. */
fg_status fgi_run_task_balance(fgi_run_task *task, const fg_dataset *train, fg_error *err);
/* If the configuration chooses no metrics and the classes of the training samples are imbalanced,
 * chooses some in its place, and says so. */
fg_status fgi_run_task_choose_metrics(fgi_run_task *task, fgi_config *c, const fgi_run_data *data,
                                      fg_error *err);
/* The task's data.json, a new reference. */
json_t *fgi_run_task_describe(const fgi_run_task *task);
/* To be called only after the Trainer is destroyed: its programs refer to the model. */
void fgi_run_task_fini(fgi_run_task *task);
/* The learning rate of the optimizer, and its schedule. */
double fgi_run_task_lr(const fgi_run_task *task);

/* Tells the task how the datasets store images. */
void fgi_run_task_set_encodings(fgi_run_task *task, const fgi_run_data *data);

/* ---- augmentation (run_augment.c) ------------------------------------------------------------ */

/* Reads data.augment, and replaces the height and width of out->input by those of the results. */
fg_status fgi_run_augment_init(const fgi_config *c, fgi_run_task *out, fg_error *err);
/* Warns of images that are cropped or mirrored twice: on the host and on the device. */
void fgi_run_augment_note(const fg_recipe *r);
/* The images of a batch, scaled and floating-point, changed as configured: at random in training
 * only. *target is replaced by that of mixed samples; NULL outside training. */
fg_tensor fgi_run_augment(const fgi_run_task *task, fg_tensor image, const fg_batch *batch,
                          fg_tensor *target);
/* The images changed by each row, at random unless key is NULL, in evaluation; key->repeat is
 * replaced. Rows that mix samples have no effect if target is NULL. */
fg_tensor fgi_run_augment_rows(const fgi_config_rows *rows, fg_tensor image, fg_sample_key *key,
                               fg_tensor *target);
/* The targets of a batch as numbers that can be mixed, if an augmentation does so in this step:
 * class probabilities f32[B,C], or those of a regression, f32[B, ...]; else the targets. */
fg_tensor fgi_run_augment_target(const fgi_run_task *task, const fg_batch *batch);

/* ---- SLURM (run_requeue.c) ------------------------------------------------------------------- */

/* Whether SIGUSR1 is to stop the run, because its SLURM job will be queued again. */
bool fgi_run_requeues(const fg_recipe *r);
/* Refuses trainer.slurm_requeue without trainer.resume=auto. */
fg_status fgi_run_requeue_check(const fg_recipe *r, fg_error *err);
/* After a fit: queues the job again if SIGUSR1 has stopped it, and says so. */
void fgi_run_requeue(const fg_recipe *r);

/* ---- run ------------------------------------------------------------------------------------- */

/* The metrics of a fit, recorded for plots (run_report.c). */
typedef struct fgi_run_curve {
    double *x, *y;
    size_t count, capacity;
} fgi_run_curve;

enum { FGI_RUN_TRAIN_WINDOWS, FGI_RUN_TRAIN_EPOCHS, FGI_RUN_VAL, FGI_RUN_CURVES };

typedef struct fgi_run_record {
    const fg_recipe *owner;
    fgi_run_curve curves[FGI_RUN_CURVES];
    int64_t validations, bad; /* with a val_loss; of these, those where it was not finite */
} fgi_run_record;

/* Learning rates of a fit with the batch that was found: with the configured scaling, and with each
 * rule from base_batch_size, the batch that `given` is meant for. */
typedef struct fgi_batch_lr {
    double given, factor, used;
    int64_t base_batch_size; /* 0: not known, and neither are the others */
    double linear, sqrt;
} fgi_batch_lr;

/* Rows of predictions. */
typedef struct fgi_run_rows {
    float *data; /* [count, width] */
    size_t count, width, capacity;
    int rank; /* of the whole: 1 or 2 */
} fgi_run_rows;

/* A run. */
struct fg_recipe {
    fg_recipe_options options;
    fg_recipe_kind kind;
    const char *command; /* "fit" */
    fg_fit_options fit;  /* of the kind; those of other kinds are 0 */
    fg_evaluate_options evaluate;
    fg_plan_options plan_options;
    fg_bench_options bench_options;
    fg_recipe_result outcome;
    fg_error error;
    fgi_buf text; /* for fg_recipe_text_of and fg_recipe_draw */
    fgi_run_rows predictions;
    const char *data_format;  /* other than the checkpoint's, recognized; NULL: none */
    fg_dataset *readable;     /* to predict: fit_data.predict, with rows for unreadable samples */
    json_t *evaluation;       /* classes and worst samples of the last evaluation; NULL: none */
    const int64_t *confusion; /* [task.outputs, task.outputs]: actual, predicted; of the Trainer;
                                 NULL: none */
    const double *label_sums; /* of several labels: [3, task.outputs] */
    json_t *report_before;    /* of the part of the run that this fit continues; NULL: none */
    bool has_read_report;     /* report_before is set */
    json_t *plan;             /* result of FG_RECIPE_PLAN; NULL: none yet */
    json_t *bench;            /* result of FG_RECIPE_BENCH; NULL: none yet */
    bool was_run;
    fgi_config *c;
    const char *config_path; /* the YAML file; NULL: none */
    char *folder;            /* NULL: none */
    bool is_claimed;         /* created for this run */
    fgi_run_origin origin;   /* the checkpoint to evaluate, resume from, or initialize from */
    bool is_start;           /* the last of these: model.weights */
    bool is_adopted;         /* c is the configuration of `origin` */
    fgi_run_data data;
    fgi_run_schema schema;
    fgi_run_task task;
    char *attached_config, *attached_data,
        *attached_training; /* attachments of the run's checkpoints */
    fg_mesh_options mesh;
    fg_client *client; /* for a topology; NULL: the Trainer opens a client */
    fg_trainer *trainer;
    void *trainer_options; /* what the strings of its options belong to */
    fgi_run_record *record;
    fg_lr_curve *lr_curve;      /* of a search; NULL: none */
    fgi_batch_lr batch_lr;      /* of FG_RECIPE_FIND_BATCH */
    fgi_schedule_view schedule; /* result of FG_RECIPE_SCHEDULE; no name: none yet */
    fg_fit_data fit_data;
    double start_s; /* start time */
    double setup_s; /* from the start to the Trainer's call */
    bool has_result;
    bool is_complete;   /* a fit has come to its end */
    bool is_data_ready; /* later failures depend on the planned machine */
};

/* Creates data, task and Trainer from r->c (run_command.c); no Trainer for FG_RECIPE_SCHEDULE. */
fg_status fgi_run_set_up(fg_recipe *r, fg_error *err);
/* To evaluate image files with a run that used the images of a pack whole, in the size that they
 * have there: uses the whole height or width of a file, too, unless the command line gives
 * data.center_fraction. */
fg_status fgi_run_keep_geometry(const fg_recipe *r, fg_error *err);
/* Says which samples are predicted if the command names none. */
void fgi_run_note_default_data(const fg_recipe *r);
/* Whether the configuration says not to validate. */
bool fgi_run_validation_is_off(const fg_recipe *r);
/* The metric that selects the best checkpoint; borrowed. The data are open. */
const char *fgi_run_monitor(const fg_recipe *r);
bool fgi_run_monitor_is_max(const fg_recipe *r);
/* The limit of epochs as the Trainer gets it: -1: none, 0: max_steps is the only one. */
int64_t fgi_run_max_epochs(const fgi_config *c);
/* The options of the Trainer; their strings are valid until the next call. */
fg_status fgi_run_trainer_options(fg_recipe *r, const char *resume, fg_trainer_options *out,
                                  fg_error *err);
/* FG_RECIPE_SCHEDULE: fills r->schedule (run_schedule.c). */
fg_status fgi_run_schedule(fg_recipe *r, fg_error *err);

/* ---- checkpoints (run_model.c) --------------------------------------------------------------- */

/* Whether the run evaluates weights: validate, test, predict. */
bool fgi_run_is_evaluation(const fg_recipe *r);
/* If the command line names a run or a checkpoint instead of a configuration: opens it as
 * r->origin, and sets r->c to its configuration with the command line's overrides. */
fg_status fgi_run_adopt(fg_recipe *r, fg_error *err);
/* FG_EINVAL: the argument is a published model, a folder or hf:OWNER/NAME. */
fg_status fgi_run_name_published(const fg_recipe *r, const char *path, fg_error *err);
/* Sets r->folder, opens r->origin unless fgi_run_adopt has done so, and returns the checkpoint that
 * the Trainer resumes from (NULL: none; borrowed from the run). */
fg_status fgi_run_find_origin(fg_recipe *r, const char **out_resume, fg_error *err);
/* Rejects weights of a model or data other than r->c, r->task and r->data. */
fg_status fgi_run_check_origin(const fg_recipe *r, fg_error *err);
/* Creates the run's attachments and adds them to the options; `storage` has room for two. */
fg_status fgi_run_attach(fg_recipe *r, fg_attachment *storage, fg_trainer_options *options,
                         fg_error *err);
/* How to load model.weights. */
fg_load_options fgi_run_weights_options(const fg_recipe *r);
/* Reports what was loaded from model.weights, if anything. */
void fgi_run_say_weights(const fg_recipe *r);
/* Sets the key given by the command's second argument. */
fg_status fgi_run_set_data(const fg_recipe *r, const char *path, fg_error *err);
/* Image files and packs can be read by a model that was trained on the other: sets data.format to
 * that of the data named on the command line, unless the command line names it too. */
fg_status fgi_run_adopt_format(fg_recipe *r, fg_error *err);

/* ---- predictions (run_predict.c) ------------------------------------------------------------- */

/* Predicts fit_data.val into r->predictions. */
fg_status fgi_run_predict(fg_recipe *r, fg_error *err);
/* Appends the predictions that were kept. */
void fgi_run_put_predictions(const fg_recipe *r, fgi_prediction_format format, fgi_buf *out);
/* Whether predictions are written while they arrive. */
bool fgi_run_has_predict_file(const fg_recipe *r);

/* ---- ONNX (run_onnx.c) ----------------------------------------------------------------------- */

/* Writes the model of a checkpoint as an ONNX model, for prepared samples, with the weights that
 * evaluations use. Tensors of more than limit_bytes (0: 2 GB) together are written to
 * PATH.data. Errors: FG_EINVAL (no configuration), those of fg_module_save_onnx. */
fg_status fgi_run_export_onnx(const fgi_run_origin *origin, const char *path, size_t limit_bytes,
                              const fgi_published_say *say, fg_error *err);

/* ---- texts (run_sample.c) -------------------------------------------------------------------- */

/* Whether the run continues a text, for which no data are needed. */
bool fgi_run_is_sampling(const fg_recipe *r);
/* Refuses options of sampling that are out of range, a prompt for a model that is no language
 * model, and predictions of a language model without one. c->task is known. */
fg_status fgi_run_sample_check(const fg_recipe *r, fg_error *err);
/* Continues the prompt: sets r->outcome.text. */
fg_status fgi_run_sample(fg_recipe *r, fg_error *err);

/* ---- classes and samples (run_evaluation.c) -------------------------------------------------- */

/* After a run that ended with `status`: sets r->evaluation and r->confusion from its last
 * validation or test, if there are any, and notes classes that are never predicted. */
fg_status fgi_run_evaluation_make(fg_recipe *r, fg_status status, fg_error *err);
/* Append the confusion matrix, and a table of the classes, if there are any. */
void fgi_run_put_matrix(const fg_recipe *r, int columns, fgi_buf *out);
void fgi_run_put_classes(const fg_recipe *r, fgi_buf *out);

/* ---- the report (run_report.c, run_summary.c) ------------------------------------------------ */

/* After a fit: FG_ENUMERIC if val_loss was not finite in any validation of it. */
fg_status fgi_run_record_check(const fg_recipe *r, fg_error *err);
/* Records the metrics of a fit. A callback of the
 * Trainer, which destroys it. */
fg_status fgi_run_record_add(fg_recipe *r, fg_error *err);
/* Adds those of trainer.callbacks and trainer.loggers to the Trainer (run_callbacks.c). A failure
 * is one of setting up the run: a mistake in the configuration. */
fg_status fgi_run_callbacks_add(fg_recipe *r, fg_error *err);
/* Tells the Trainer of a fit what its loggers show of the configuration (run_info.c). */
fg_status fgi_run_info_set(const fg_recipe *r, fg_error *err);
/* Writes report.json into the run's folder after a fit that ended with `status`
 * (run_report_file.c). */
fg_status fgi_run_report_keep(fg_recipe *r, fg_status status, fg_error *err);
/* Its text in the state "running", "finished" ..., from r->outcome.train. */
fg_status fgi_run_report_text(fg_recipe *r, const char *state, fgi_buf *out, fg_error *err);
/* The array "history" of a report that has its other members, a new reference: the fits of the run,
 * the earlier ones from the current report.json of the folder. */
json_t *fgi_run_report_history(fg_recipe *r, const json_t *report);
/* Writes it during a fit: a callback of the Trainer, which destroys it. */
fg_status fgi_run_report_live_add(fg_recipe *r, fg_error *err);
/* Draws the recorded curves. */
void fgi_run_record_draw(const fg_recipe *r, int columns, bool is_ascii, fgi_buf *out);
/* The metrics of the result, one "name<tab>value" per line. */
void fgi_run_put_metrics(const fg_recipe *r, fgi_buf *out);
/* The metrics of a result as an object, null for values that are not finite. */
json_t *fgi_run_metrics_json(const fg_result *result);
/* Appends the summary of the run as one JSON object. False when out of memory. */
bool fgi_run_put_summary(fg_recipe *r, fgi_buf *out);

/* ---- the largest batch that fits (run_batch_find.c) ------------------------------------------ */

fg_status fgi_run_batch_find(fg_recipe *r, fg_error *err);
void fgi_run_batch_put_metrics(const fg_recipe *r, fgi_buf *out);
/* The result and its learning rates, a new reference; null if there is none. */
json_t *fgi_run_batch_json(const fg_recipe *r);

/* ---- the learning rate (run_lr_find.c) ------------------------------------------------------- */

/* Checks the range of learning rates. */
fg_status fgi_run_lr_check(const fgi_config *c, fg_error *err);
/* Searches for a learning rate: r->lr_curve. FG_ENUMERIC: the curve suggests none. */
fg_status fgi_run_lr_find(fg_recipe *r, fg_error *err);
/* Before a fit with tuner.lr_find: sets optimizer.lr to the result of a search, or of the search
 * that the run began with if it is resumed. Does nothing without tuner.lr_find. */
fg_status fgi_run_lr_apply(fg_recipe *r, fg_error *err);
/* Writes the result of the search into the run's folder, which is locked. */
fg_status fgi_run_lr_keep(const fg_recipe *r, fg_error *err);
/* The suggestions as lines, and as the summary's object or null. */
void fgi_run_lr_put_metrics(const fg_recipe *r, fgi_buf *out);
json_t *fgi_run_lr_suggestions(const fg_recipe *r);

/* ---- hangs (run_hang.c) ---------------------------------------------------------------------- */

/* An fg_hang_fn whose self is the run. Reports the hang, writes the stacks of all threads to
 * hang.txt in the run's folder, and calls the user's function. */
void fgi_run_hang(void *self, const fg_hang *hang);

/* ---- notes (run_notes.c) --------------------------------------------------------------------- */

/* Adds a hint to an error about a missing file: the folder that relative paths start from. */
void fgi_run_explain_paths(const fg_recipe *r, fg_error *err);
/* Adds a hint to an error about initial weights that do not match the model. */
void fgi_run_explain_weights(const fg_recipe *r, fg_error *err);
/* Prints a note if a batch is larger than the training data. The Trainer is open. */
void fgi_run_note_batch(const fg_recipe *r);
/* Warns if the batch grows with the number of devices, and no key says that this is intended. */
void fgi_run_warn_of_devices(const fg_recipe *r);
/* Prints a note if a fit will not validate, and why; warns if a validation metric is monitored. */
void fgi_run_note_validation(const fg_recipe *r);
/* How many training samples were replaced by others, and how many images were used although their
 * decoder had a warning: more than 0, and what is wrong with the first. */
void fgi_run_note_damaged(const fg_recipe *r, int64_t count, const char *first);
void fgi_run_note_flawed(const fg_recipe *r, int64_t count, const char *first);
/* A message for the user. */
void fgi_run_say(const fg_recipe *r, fg_log_level level, const char *format, ...) FG_PRINTF(3, 4);

/* Seconds since the start of the run. */
double fgi_run_seconds(const fg_recipe *r);

#endif
