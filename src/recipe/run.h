/* run.h - what fit, validate, test and predict share: out of a configuration come datasets, a task
 * and a Trainer; out of a Trainer's result come lines, pictures and the summary.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_RUN_H
#define FGI_RECIPE_RUN_H

#include <fulgurite/plan.h>
#include <fulgurite/recipe.h>
#include <fulgurite/registry.h>
#include <fulgurite/train.h>
#include <jansson.h>

#include "report/helpers.h"
#include "recipe/config.h"
#include "recipe/run_origin.h"
#include "recipe/run_schema.h"
#include "base/buf.h"

/* ---- data (run_data.c) ----------------------------------------------------------------------- */

/* Datasets of a run; val and test are NULL where there are none. */
typedef struct fgi_run_data {
    fg_dataset *train, *val, *test;
    fg_csv_schema *schema; /* of a CSV, else NULL */
    double target_mean,
        target_deviation; /* of a .npy regression's training targets, to be
                             standardised on the device; deviation 0: they are not */
} fgi_run_data;

/* Opens what the configuration names. Errors of the configuration name the key's place. */
fg_status fgi_run_data_open(const fgi_config *c, fgi_run_data *out, fg_error *err);
void fgi_run_data_close(fgi_run_data *data);
/* data.delimiter as one byte: "\\t" and "tab" are the tab. '\0' where it is more than one. */
char fgi_run_data_delimiter(const fgi_config *c);
/* Whether the configuration names anything to evaluate; before anything is opened. */
fg_status fgi_run_data_check_eval(const fgi_config *c, fg_recipe_kind kind, fg_error *err);
/* Opens the samples on which a checkpoint is evaluated, as out->val, by the checkpoint's rules and
 * checked against them (run_data_eval.c). */
fg_status fgi_run_data_open_eval(const fgi_config *c, fg_recipe_kind kind,
                                 const fgi_run_schema *schema, fgi_run_data *out, fg_error *err);

/* ---- the task (run_task.c) ------------------------------------------------------------------- */

/* A model, its loss and its optimizer, as the configuration says. */
typedef struct fgi_run_task {
    const fgi_config *c;
    const fg_recipe *owner;       /* hears what there is to say; may be NULL */
    const fgi_run_schema *schema; /* borrowed */
    fg_type input;                /* of one sample, as the dataset has it */
    fg_type target;               /* of one sample */
    int64_t outputs;
    double scale;                         /* of the inputs, on the device */
    double target_mean, target_deviation; /* of a standardised target, else 0 and 1 */
    double target_center;                 /* a number near the targets as the dataset has them */
    bool standardises;                    /* on the device: the dataset has plain targets */
    bool is_classification;
    const fg_loss_entry *loss;
    fg_option_values *loss_values;
    const fg_model_entry *model_entry;
    const fg_optimizer_entry *optimizer_entry;
    fg_option_values *model_values, *optimizer_values, *schedule_values; /* of the rows' options */
    fg_schedule schedule;
    fg_model *model;
    char *file; /* where the configuration names the model, told with its layers; NULL: nowhere */
    int line;
    float mean[4096], std[4096]; /* by channel, or one; mean_count 0: none */
    int64_t mean_count, std_count;
    fg_task task; /* what the Trainer takes */
} fgi_run_task;

/* Fills *out, which must stay where it is while the Trainer uses out->task; the schema is borrowed.
 */
fg_status fgi_run_task_init(const fgi_config *c, const fgi_run_schema *schema, fgi_run_task *out,
                            fg_error *err);
/* Looks at some targets of a regression, so that their variance is not a difference of large
 * sums. */
fg_status fgi_run_task_find_center(fgi_run_task *task, const fg_dataset *dataset, fg_error *err);
/* The task's data.json, a new reference. */
json_t *fgi_run_task_describe(const fgi_run_task *task);
/* Only after the Trainer: its programs know the model's place. */
void fgi_run_task_fini(fgi_run_task *task);
/* The learning rate of the optimizer, and its schedule. */
double fgi_run_task_lr(const fgi_run_task *task);
/* Name of a class, its number where it has none; in a static buffer, valid until the next call. */
const char *fgi_run_class_name(const fgi_run_task *task, int64_t index);

/* Rules of splitting parameters that a key has, to be freed (config_rules.c). */
/* trainer.mesh, or that of trainer.model_devices, after a check of trainer.sharding against it. */
bool fgi_config_mesh(const fgi_config *c, fg_mesh_options *out, fg_error *err);
/* Free *out also after a failure. */
fg_status fgi_config_rules(const fgi_config *c, const char *path, fg_sharding_rule **out,
                           size_t *out_count, fg_error *err);
void fgi_config_rules_free(fg_sharding_rule *rules, size_t count);

/* ---- the run's folder (run_dir.c) ------------------------------------------------------------ */

/* The folder for a new run of this configuration file (NULL: none), or of the newest one that is
 * there, NULL when there is none; the caller frees it. A numbered folder of a new run is made here,
 * which claims it: *out_is_claimed; NULL with an error when that fails. */
fg_status fgi_run_dir_new(const fgi_config *c, const char *config_path, bool *out_is_claimed,
                          char **out, fg_error *err);
fg_status fgi_run_dir_existing(const fgi_config *c, const char *config_path, char **out,
                               fg_error *err);
/* Removes a claimed folder again unless a run has begun in it. */
void fgi_run_dir_give_back(const char *folder);
/* True when there are checkpoints of an earlier run. */
bool fgi_run_dir_is_used(const char *folder);
/* True while a fit holds the folder's lock. */
bool fgi_run_dir_is_live(const char *folder);
/* Writes config.yaml into the folder. */
bool fgi_run_dir_begin(const fgi_config *c, const char *folder, fg_error *err);

/* ---- a run ------------------------------------------------------------------------------------
 */

typedef struct fgi_run_record fgi_run_record;

/* Rows of predictions. */
typedef struct fgi_run_rows {
    float *data; /* [count, width] */
    size_t count, width, capacity;
    int rank; /* of the whole: 1 or 2 */
} fgi_run_rows;

/* One run while it is under way. */
struct fg_recipe {
    fg_recipe_options options_copy;
    const fg_recipe_options *options; /* the copy */
    const char *command;              /* "fit" */
    fg_recipe_result outcome;
    fg_error error;
    fgi_buf text; /* of fg_recipe_get_text and fg_recipe_draw */
    fgi_run_rows predictions;
    json_t *plan; /* FG_RECIPE_PLAN's object; NULL: not yet */
    bool was_run;
    fgi_config *c;
    const char *config_path; /* the YAML file; NULL: none */
    char *folder;            /* NULL: none */
    bool is_claimed;         /* it was made for this run */
    fgi_run_origin origin;   /* what is evaluated, gone on from, or started from */
    bool is_start;           /* of the three the last: model.weights */
    fgi_run_data data;
    fgi_run_schema schema;
    fgi_run_task task;
    char *attached_config, *attached_data; /* texts that go into checkpoints */
    fg_mesh_options mesh;
    fg_client *client; /* of a topology, else NULL: the Trainer opens its own */
    fg_trainer *trainer;
    fgi_run_record *record;
    fg_fit_data fit_data;
    double start_s; /* of the clock */
    double setup_s; /* from there to the Trainer's call */
    bool has_result;
    bool is_data_ready; /* later failures depend on the machine that is planned for */
};

/* Data, task and Trainer of r->c (run_command.c). */
fg_status fgi_run_set_up(fg_recipe *r, fg_error *err);

/* ---- checkpoints (run_model.c) -----------------------------------------------------------------
 */

/* Whether the run evaluates weights: validate, test, predict. */
bool fgi_run_is_evaluation(const fg_recipe *r);
/* Where the command line names a run or a checkpoint instead of a configuration: opens it as
 * r->origin and makes its configuration, with the command line's overrides, r->c. */
fg_status fgi_run_adopt(fg_recipe *r, fg_error *err);
/* Sets r->folder, opens r->origin unless fgi_run_adopt has, and gives what the Trainer resumes from
 * (NULL: nothing; borrowed from the run). */
fg_status fgi_run_find_origin(fg_recipe *r, const char **out_resume, fg_error *err);
/* Refuses weights of another model, or of other data, than those of r->c, r->task and r->data. */
fg_status fgi_run_check_origin(const fg_recipe *r, fg_error *err);
/* Fills the run's attachments, and the options' with them; `storage` has room for two. */
fg_status fgi_run_attach(fg_recipe *r, fg_attachment *storage, fg_trainer_options *options,
                         fg_error *err);
/* How model.weights are loaded; free out->skip once the Trainer is made. */
fg_status fgi_run_weights_options(const fgi_config *c, fg_load_options *out, fg_error *err);
/* Says what was loaded of model.weights, unless that was nothing. */
void fgi_run_say_weights(const fg_recipe *r);
/* Sets the key that the command's second argument is for. */
bool fgi_run_set_data(const fg_recipe *r, const char *path, fg_error *err);

/* ---- predictions (run_predict.c) ------------------------------------------------------------- */

/* Predicts fit_data.val into r->predictions. */
fg_status fgi_run_predict(fg_recipe *r, fg_error *err);
/* Adds predictions as CSV: the header before row 0, then rows from `first` up to `end`. */
void fgi_run_put_csv(const fg_recipe *r, size_t first, size_t end, fgi_buf *out);
/* The confusion matrix of fit_data.val, class_count^2 numbers (fgi_free). */
fg_status fgi_run_confusion(fg_recipe *r, int64_t **out, fg_error *err);

/* ---- the report (run_report.c, run_summary.c) ------------------------------------------------ */

/* Records the metrics of a fit. A callback of the
 * Trainer, which destroys it. */
fg_status fgi_run_record_add(fg_recipe *r, fg_error *err);
/* The curves of what was remembered. */
void fgi_run_record_draw(const fg_recipe *r, int columns, bool is_ascii, fgi_buf *out);
/* The metrics of the result, "name<tab>value" a line. */
void fgi_run_put_metrics(const fg_recipe *r, fgi_buf *out);
/* Adds one JSON object with what happened. False when out of memory. */
bool fgi_run_put_summary(const fg_recipe *r, fgi_buf *out);

/* ---- the largest batch that fits (run_batch_find.c) ------------------------------------------ */

fg_status fgi_run_batch_find(fg_recipe *r, fg_error *err);

/* ---- a machine that is not there (run_plan.c) -------------------------------------------------
 */

/* Compiles for r->client; the result is r->plan, also after a failure. */
fg_status fgi_run_plan(fg_recipe *r, fg_error *err);
/* Measures the loader with the run's data for about a second, and adds its rate and the rates that
 * the plan's step requires, for all devices and for one host's, to the machine's object; nothing if
 * the step time is unknown. */
void fgi_plan_put_input(json_t *o, const fg_recipe *r, const fg_plan *plan);
/* Whether the options make sense. */
bool fgi_run_plan_check(const fg_recipe_options *options, fg_error *err);
/* Makes r->plan of what ended the run, unless there is one. */
void fgi_run_plan_fail(fg_recipe *r);
/* A plan of a machine about which only an error is known; every_machine: it would be the same for
 * any machine. NULL: out of memory. */
json_t *fgi_plan_failed(const char *topology, const char *why, bool every_machine);

/* ---- hangs (run_hang.c) ---------------------------------------------------------------------- */

/* An fg_hang_fn, whose self is the run: reports, writes the threads' stacks to hang.txt in the
 * run's folder, and calls the user's. */
void fgi_run_hang(void *self, const fg_hang *hang);

/* ---- notes (run_notes.c) --------------------------------------------------------------------- */

/* Adds to an error about a missing file where its relative path starts. */
void fgi_run_explain_paths(const fg_recipe *r, fg_error *err);
/* Adds to an error about starting weights that do not fit the model what to do. */
void fgi_run_explain_weights(const fg_recipe *r, fg_error *err);
/* Says it when a batch is larger than the training data. The Trainer is open. */
void fgi_run_note_batch(const fg_recipe *r);
/* A message for the user. */
void fgi_run_say(const fg_recipe *r, fg_log_level level, const char *format, ...) FG_PRINTF(3, 4);

/* Seconds since the run was begun. */
double fgi_run_seconds(const fg_recipe *r);

#endif
