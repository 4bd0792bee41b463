/* run.h - what fit, validate, test and predict share: out of a configuration come datasets, a task
 * and a Trainer; out of a Trainer's result come lines, pictures and the summary.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_H
#define RUN_H

#include <fulgurite/train.h>

#include "cli.h"
#include "config.h"
#include "run_origin.h"
#include "run_schema.h"

/* ---- kinds of runs --------------------------------------------------------------------------- */

typedef enum run_kind {
    RUN_FIT,
    RUN_VALIDATE,
    RUN_TEST,
    RUN_PREDICT,
    RUN_BATCH_FIND,
    RUN_PLAN
} run_kind;

/* ---- data (run_data.c) ----------------------------------------------------------------------- */

/* Datasets of a run; val and test are NULL where there are none. */
typedef struct run_data {
    fg_dataset *train, *val, *test;
    fg_csv_schema *schema; /* of a CSV, else NULL */
    double target_mean,
        target_deviation; /* of a .npy regression's training targets, to be
                             standardised on the device; deviation 0: they are not */
} run_data;

/* Opens what the configuration names. Errors of the configuration name the key's place. */
fg_status run_data_open(const config *c, run_data *out, fg_error *err);
void run_data_close(run_data *data);
/* data.delimiter as one byte: "\\t" and "tab" are the tab. '\0' where it is more than one. */
char run_data_delimiter(const config *c);
/* Whether the configuration names anything to evaluate; before anything is opened. */
fg_status run_data_check_eval(const config *c, run_kind kind, fg_error *err);
/* Opens the samples on which a checkpoint is evaluated, as out->val, by the checkpoint's rules and
 * checked against them (run_data_eval.c). */
fg_status run_data_open_eval(const config *c, run_kind kind, const run_schema *schema,
                             run_data *out, fg_error *err);

/* ---- the task (run_task.c) ------------------------------------------------------------------- */

/* A model, its loss and its optimizer, as the configuration says. */
typedef struct run_task {
    const config *c;
    const run_schema *schema; /* borrowed */
    fg_type input;            /* of one sample, as the dataset has it */
    fg_type target;           /* likewise */
    int64_t outputs;
    double scale;                         /* of the inputs, on the device */
    double target_mean, target_deviation; /* of a standardised target, else 0 and 1 */
    double target_center;                 /* a number near the targets as the dataset has them */
    bool standardises;                    /* on the device: the dataset has plain targets */
    bool is_classification;
    fg_model *model;
    char *file; /* where the configuration names the model, told with its layers; NULL: nowhere */
    int line;
    float mean[4096], std[4096]; /* by channel, or one; mean_count 0: none */
    int64_t mean_count, std_count;
    fg_task task; /* what the Trainer takes */
} run_task;

/* Fills *out, which must stay where it is while the Trainer uses out->task; the schema is borrowed.
 */
fg_status run_task_init(const config *c, const run_schema *schema, run_task *out, fg_error *err);
/* Looks at some targets of a regression, so that their variance is not a difference of large
 * sums. */
fg_status run_task_find_center(run_task *task, const fg_dataset *dataset, fg_error *err);
/* The task's data.json, a new reference. */
json_t *run_task_describe(const run_task *task);
/* Only after the Trainer: its programs know the model's place. */
void run_task_fini(run_task *task);
/* The learning rate of the optimizer, and its schedule. */
double run_task_lr(const config *c);
fg_schedule run_task_schedule(const config *c);
/* Name of a class, its number where it has none; in a static buffer, valid until the next call. */
const char *run_class_name(const run_task *task, int64_t index);

/* Rules of splitting parameters that a key has, to be freed (config_rules.c). */
/* trainer.mesh, or that of trainer.model_devices, after a check of trainer.sharding against it. */
bool config_mesh(const config *c, fg_mesh_options *out, fg_error *err);
fg_sharding_rule *config_rules(const config *c, const char *path, size_t *out_count);
void config_rules_free(fg_sharding_rule *rules, size_t count);

/* ---- the run's folder (run_dir.c) ------------------------------------------------------------ */

/* The folder for a new run of this configuration file (NULL: none), or of the newest one that is
 * there, NULL when there is none; the caller frees it. A numbered folder of a new run is made here,
 * which claims it: *out_is_claimed; NULL with an error when that fails. */
char *run_dir_new(const config *c, const char *config_path, bool *out_is_claimed, fg_error *err);
char *run_dir_existing(const config *c, const char *config_path);
/* Removes a claimed folder again unless a run has begun in it. */
void run_dir_give_back(const char *folder);
/* True when there are checkpoints of an earlier run. */
bool run_dir_is_used(const char *folder);
/* True while a fit holds the folder's lock. */
bool run_dir_is_live(const char *folder);
/* Writes config.yaml into the folder. */
bool run_dir_begin(const config *c, const char *folder, fg_error *err);

/* ---- a run (run_command.c)
 * --------------------------------------------------------------------------- */

/* What the commands' options say. */
typedef struct run_options {
    run_kind kind;
    const char *command;      /* "fit" */
    const char *ckpt;         /* "best", "last", a path; NULL: best, else last */
    const char *summary;      /* a file; NULL: none */
    const char *print_config; /* "" or "plain"; NULL: do not */
    const char *draw;         /* "auto", "always", "never" */
    const char *out;          /* a file for predictions; NULL: standard output */
    const char *progress;     /* "auto", "bar", "plain", "none"; NULL: auto */
    const char *resume; /* fit: "last", "best", "auto", a path, "" for last; NULL: see the key */
    bool overwrite;     /* fit: delete the checkpoints of an earlier run in the folder */
    bool is_quiet;
    bool fast_dev_run;    /* fit: a batch of each, nothing is saved */
    const char *topology; /* plan: the machine */
    bool topology_json;   /* plan: one JSON object instead of lines */
    bool no_search;       /* plan: not for the largest batch */
    const char *sweep;    /* plan: batches to compare, "" for the usual ones; NULL: none */
} run_options;

/* Does the whole: reads the configuration, runs, reports; the program's exit status. */
int run_command(const cli_call *call, const run_options *options);

typedef struct run_record run_record;

/* One run while it is under way. */
typedef struct run {
    const run_options *options;
    config *c;
    const char *config_path; /* NULL: none was given */
    char *folder;            /* NULL: none */
    bool is_claimed;         /* it was made for this run */
    run_origin origin;       /* what is evaluated, gone on from, or started from */
    bool is_start;           /* of the three the last: model.weights */
    run_data data;
    run_schema schema;
    run_task task;
    char *attached_config, *attached_data; /* texts that go into checkpoints */
    fg_mesh_options mesh;
    fg_client *client; /* of a topology, else NULL: the Trainer opens its own */
    fg_trainer *trainer;
    run_record *record;
    fg_fit_data fit_data;
    double setup_s; /* from the program's start to the Trainer's call */
    fg_result result;
    bool has_result, has_plan;
} run;

/* ---- checkpoints (run_model.c) -----------------------------------------------------------------
 */

/* Whether the run evaluates weights: validate, test, predict. */
bool run_is_evaluation(const run *r);
/* Where the command line names a run or a checkpoint instead of a configuration: opens it as
 * r->origin and makes its configuration, with the command line's overrides, r->c. */
fg_status run_adopt(run *r, const cli_call *call, fg_error *err);
/* Sets r->folder, opens r->origin unless run_adopt has, and gives what the Trainer resumes from
 * (NULL: nothing; borrowed from the run). */
fg_status run_find_origin(run *r, const char **out_resume, fg_error *err);
/* Refuses weights of another model, or of other data, than those of r->c, r->task and r->data. */
fg_status run_check_origin(const run *r, fg_error *err);
/* Fills the run's attachments, and the options' with them; `storage` has room for two. */
void run_attach(run *r, fg_attachment *storage, fg_trainer_options *options);
/* How model.weights are loaded; the list of patterns is to be freed once the Trainer is made. */
const char **run_weights_options(const config *c, fg_load_options *out);
/* Prints what was loaded of model.weights, unless that was nothing. */
void run_print_weights(const run *r, FILE *out);
/* Sets the key that the command's second argument is for. */
bool run_set_data(const run *r, const char *path, fg_error *err);

/* ---- predictions (run_predict.c) ------------------------------------------------------------- */

/* Predicts fit_data.val into options->out. */
fg_status run_predict(run *r, fg_error *err);
/* The confusion matrix of fit_data.val, class_count^2 numbers, to be freed; NULL with an error. */
int64_t *run_confusion(run *r, fg_error *err);

/* ---- the report (run_report.c, run_summary.c) ------------------------------------------------ */

/* Remembers the figures of a fit. A callback of the
 * Trainer, which destroys it. */
fg_status run_record_add(run *r, fg_error *err);
/* The curves of what was remembered. */
void run_record_draw(const run *r, FILE *out);
/* The metrics of the result, "name<tab>value" a line. */
void run_print_metrics(const run *r, FILE *out);
/* Writes options->summary; error is NULL or what ended the run. */
bool run_summary_write(const run *r, const fg_error *error, fg_error *err);

/* ---- the largest batch that fits (run_batch_find.c) ------------------------------------------ */

fg_status run_batch_find(run *r, fg_error *err);

/* ---- a machine that is not there (run_plan.c) -------------------------------------------------
 */

/* Compiles for r->client and prints what was found. */
fg_status run_plan(run *r, fg_error *err);
/* Whether the options make sense. */
bool run_plan_check(const run_options *options, fg_error *err);
/* Prints the object of a plan that failed, unless run_plan has. */
void run_plan_fail(const run *r, const fg_error *error);

/* ---- a run that stands still (run_hang.c) ---------------------------------------------------- */

/* An fg_hang_fn, whose self is the run: reports, writes the threads' stacks to hang.txt in the
 * run's folder, and ends the process with CLI_HUNG. */
void run_hang(void *self, const fg_hang *hang);

/* ---- notes (run_notes.c) --------------------------------------------------------------------- */

/* Adds to an error about a missing file where its relative path starts. */
void run_explain_paths(const run *r, fg_error *err);
/* Adds to an error about starting weights that do not fit the model what to do. */
void run_explain_weights(const run *r, fg_error *err);
/* Calls note when a batch is larger than the training data. The Trainer is open. */
void run_note_batch(const run *r, void (*note)(void *self, const char *line));

/* Seconds since cli_start_s. */
double run_seconds(void);

#endif
