/* recipe.h - runs described by YAML files: the library libfulgurite_recipe (link with
 * -lfulgurite_recipe; not part of fulgurite.h).
 *
 * A recipe is a configuration (docs/config.md), with overrides as on the command line of
 * `fulgurite`, and what to do with it (fg_recipe_kind): train, evaluate, predict, find the largest
 * batch size or a learning rate, compute the learning-rate schedule, plan, or measure a step.
 *
 *     fg_recipe *recipe = NULL;
 *     fg_error err = {0};
 *     const fg_recipe_options options = {.config = "digits.yaml"};
 *     if (fg_recipe_open(&options, NULL, &recipe, &err) != FG_OK ||
 *         fg_recipe_run(recipe, &err) != FG_OK)
 *         fg_error_print(&err, "digits");
 *     fg_recipe_close(recipe);
 *
 * The library prints nothing: messages go to a callback, results are strings and structs. A recipe
 * may be used by one thread at a time; several recipes may be used at the same time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_RECIPE_H
#define FULGURITE_RECIPE_H

#include <fulgurite/base.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/dtype.h>
#include <fulgurite/packer.h>
#include <fulgurite/plan.h>
#include <fulgurite/registry.h>
#include <fulgurite/report.h>
#include <fulgurite/train.h>
#include <fulgurite/tuner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A configuration and what is done with it. */
typedef struct fg_recipe fg_recipe;

/* What a recipe does. The values are stable. */
typedef enum fg_recipe_kind {
    FG_RECIPE_FIT = 0,        /* train */
    FG_RECIPE_VALIDATE = 1,   /* evaluate on the validation data */
    FG_RECIPE_TEST = 2,       /* evaluate on the test data; without any, on the validation data */
    FG_RECIPE_PREDICT = 3,    /* run inference */
    FG_RECIPE_FIND_BATCH = 4, /* find the largest batch that fits in the devices' memory */
    FG_RECIPE_PLAN = 5,       /* compile for `topology`, hardware that need not be available */
    FG_RECIPE_FIND_LR = 6,    /* find a learning rate by short trials (tuner.h) */
    FG_RECIPE_SCHEDULE = 7,   /* compute the learning rate and momentum of every step of `fit` */
    FG_RECIPE_BENCH = 8       /* measure a training step, by operation */
} fg_recipe_kind;

/* What a fit needs. Where it continues and which steps it takes a profile of are keys:
 * trainer.resume, trainer.profile. */
typedef struct fg_fit_options {
    bool overwrite;    /* delete an earlier run's checkpoints in the folder           [false] */
    bool fast_dev_run; /* one batch of each kind, nothing is saved                    [false] */
    /* SIGINT, SIGTERM and SIGHUP save the state and end the run (FG_ESTOPPED)        [false] */
    bool handle_signals;
    uint64_t reserved[2];
} fg_fit_options;

/* What an evaluation or a prediction needs. */
/* How FG_RECIPE_PREDICT continues a text with a language model. A member that is 0 means the
 * default in []. */
typedef struct fg_sample_options {
    const char *prompt; /* the text to continue                                    [NULL: none] */
    int64_t max_tokens; /* ends after this many tokens, or at the end of the document     [256] */
    double temperature; /* divides the logits; FG_ZERO: always the most likely token        [1] */
    int64_t top_k;      /* sample from this many of the most likely tokens             [0: all] */
    double top_p;       /* sample from the most likely tokens that together have at least this
                            probability: nucleus sampling                                    [1] */
    uint64_t seed;      /* of the random numbers                                            [0] */
    uint64_t reserved[2];
} fg_sample_options;

typedef struct fg_evaluate_options {
    /* The file or folder to read. It replaces data.val, data.test, data.predict or data.path of the
     * configuration                                                                   [NULL] */
    const char *data;
    /* The weights: "best", "last", the name of a checkpoint of the run, or a path. NULL:
     * model.weights if given, else the best if there is one, else the last            [NULL] */
    const char *ckpt;
    /* FG_RECIPE_PREDICT: write the predictions to this file while they arrive, instead of keeping
     * them in memory, in the format of fg_recipe_write_predictions. A regular file is renamed to
     * this path when it is complete; FG_RECIPE_PREDICTIONS is then empty. "-" is NULL [NULL] */
    const char *out;
    /* FG_RECIPE_PREDICT: a language model continues a text; no data are read. The result is
     * fg_recipe_result.text. Source of top_p: Holtzman et al. 2020, "The curious case of neural
     * text degeneration". */
    fg_sample_options sample;
    uint64_t reserved[2];
} fg_evaluate_options;

/* How fast the loader of a host is. */
typedef struct fg_loader_rate {
    double samples_per_s;
    const char *stage;     /* in which it spends the most time: "decode"            [not known] */
    double stage_fraction; /* of its time in that stage                                         */
} fg_loader_rate;

/* What a plan needs. */
typedef struct fg_plan_options {
    const char *topology;  /* "v5e-8", "h100:8" ..., as in fg_client_options        [required] */
    bool no_search;        /* don't search for the largest batch size                  [false] */
    fg_ints sweep;         /* batch sizes to compare, at most 32                        [none] */
    fg_loader_rate loader; /* of each host                            [measured on this host] */
    uint64_t reserved[2];
} fg_plan_options;

/* What is done with a configuration, and the options of this kind; those of others are not used.
 * Strings and lists are borrowed until fg_recipe_close. */
typedef struct fg_recipe_command {
    fg_recipe_kind kind;          /* [FG_RECIPE_FIT] */
    fg_fit_options fit;           /* FG_RECIPE_FIT; FG_RECIPE_SCHEDULE, that of such a fit */
    fg_evaluate_options evaluate; /* FG_RECIPE_VALIDATE, FG_RECIPE_TEST, FG_RECIPE_PREDICT */
    fg_plan_options plan;         /* FG_RECIPE_PLAN */
    fg_bench_options bench;       /* FG_RECIPE_BENCH */
    uint64_t reserved[2];
} fg_recipe_command;

/* The configuration, and who hears of the run. All members may be 0. Strings and the registry are
 * borrowed until fg_recipe_close. */
typedef struct fg_recipe_options {
    /* A YAML file; to evaluate or predict, also a trained model: a run's folder, "last" or
     * "best" (of the newest run in the folder "runs"), a checkpoint's folder, or a .safetensors
     * file that has its configuration. NULL: the defaults and the overrides only      [NULL] */
    const char *config;
    /* "section.key=value", as on the command line after the dashes                    [none] */
    const char *const *overrides;
    size_t override_count;
    /* The rows that the configuration can name, with those of your program (registry.h). A model
     * that your program has registered requires the same rows to resume, evaluate and predict. An
     * option of a row with the name of another key of its section (model.weights) is an error,
     * FG_EINVAL. NULL: the built-in rows                                              [NULL] */
    const fg_registry *registry;

    /* Receives the messages of the run, one at a time: notes (FG_LOG_INFO) and warnings
     * (FG_LOG_WARNING). A message may have several lines, and does not end with a newline. The
     * library's log is separate (fg_log_set)                                          [NULL] */
    fg_log_fn *message;
    void *message_self;
    /* The Trainer's progress, as in fg_trainer_options                          [NULL: none] */
    FILE *progress;
    const char *progress_style;
    bool progress_color;
    /* Called when a hang is detected, as in fg_trainer_options, after a report has been passed to
     * `message` as FG_LOG_ERROR and the stacks of all threads have been written to hang.txt in the
     * run's folder, or to `stacks` for a run that has no folder                       [NULL] */
    fg_hang_fn *hang;
    void *hang_self;
    FILE *stacks; /* [NULL: nowhere] */
    uint64_t reserved[5];
} fg_recipe_options;

/* Reads and checks the configuration, and opens the checkpoint that `config` names, if any. Reads
 * no data and uses no device. command: NULL: a fit. Errors: FG_EINVAL (the configuration or the
 * options are wrong; the message names file, line and key), FG_ENOTFOUND, FG_EFORMAT, FG_EIO,
 * FG_ENOMEM. On failure *out is NULL. */
FG_API FG_MUST_USE fg_status fg_recipe_open(const fg_recipe_options *options,
                                            const fg_recipe_command *command, fg_recipe **out,
                                            fg_error *err);

/* Executes the recipe as its kind specifies; only once per recipe. Errors: those of fg_recipe_open
 * and of the Trainer's functions (train.h); FG_ESTOPPED after a signal, with the state saved. After
 * a failure, the results contain what was known by then. */
FG_API FG_MUST_USE fg_status fg_recipe_run(fg_recipe *recipe, fg_error *err);

/* Frees the recipe and everything that is borrowed from it. The folder of a run that never started
 * is removed. recipe may be NULL. */
FG_API void fg_recipe_close(fg_recipe *recipe);

/* ---- results --------------------------------------------------------------------------------- */

/* The result of a run. Strings and arrays are borrowed from the recipe. */
typedef struct fg_recipe_result {
    fg_status status;    /* of fg_recipe_run; FG_OK before it */
    const char *error;   /* its message; "" if there was none */
    bool was_set_up;     /* data, task and Trainer were created, and the settings of a fit were not
                          refused (FG_EINVAL) before its first step: a later error is not a mistake
                          in the configuration */
    const char *folder;  /* of the run; NULL: none */
    const char *command; /* "fit", "validate", "test", "predict", "batch-find", "plan",
                            "lr-find", "schedule", "bench" */
    /* Metrics, checkpoint and times of the Trainer; all 0 if no run was started */
    fg_result train;
    /* FG_RECIPE_FIND_BATCH: what was found */
    fg_batch_fit batch;
    /* FG_RECIPE_PREDICT: one row per sample, of f32: probabilities f32[N,C] of the classes, or
     * values f32[N] or f32[N,K] of a regression; NULL in all other cases */
    const float *predictions;
    fg_type predictions_type;
    const char *text; /* of a language model: the prompt and its continuation; else NULL */
    /* FG_RECIPE_PREDICT: samples that could not be read. Their predictions are NaN, and have the
     * reason in files (docs/howto/predict.md); fg_recipe_run succeeds. The message about the first
     * one; "": none */
    int64_t damaged;
    const char *damaged_error;
} fg_recipe_result;

/* The result; valid until the recipe is closed, updated by fg_recipe_run. */
FG_API const fg_recipe_result *fg_recipe_result_of(const fg_recipe *recipe);

/* The curve of FG_RECIPE_FIND_LR, or of a fit with tuner.lr_find; borrowed, NULL: none. */
FG_API const fg_lr_curve *fg_recipe_lr_curve(const fg_recipe *recipe);

/* The texts that a recipe can produce. */
typedef enum fg_recipe_text {
    FG_RECIPE_SUMMARY = 0, /* one JSON object: status, metrics, times, folder, checkpoint; what is
                              not known is null (docs/formats.md) */
    FG_RECIPE_METRICS = 1, /* lines of name, tab, value */
    FG_RECIPE_CONFIG = 2,  /* all keys of the merged configuration as YAML */
    FG_RECIPE_CONFIG_COMMENTED = 3, /* the same with explanations */
    FG_RECIPE_PREDICTIONS = 4,      /* CSV: index, predicted class and probabilities, or values */
    FG_RECIPE_PLAN_JSON = 5,  /* the plan as one JSON object {"topologies": [...]}; also after a
                                failure, which it then contains */
    FG_RECIPE_PLAN_LINES = 6, /* the same as human-readable text */
    FG_RECIPE_BENCH_JSON = 7, /* times of the step as one JSON object (docs/formats.md) */
    FG_RECIPE_BENCH_LINES = 8 /* the same as human-readable text */
} fg_recipe_text;

/* Returns a text. *out is borrowed until the next call that returns a text of this recipe, or until
 * it is closed. Errors: FG_EINVAL (a text that this kind of recipe does not have, or not yet),
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_recipe_text_of(fg_recipe *recipe, fg_recipe_text which,
                                               const char **out, fg_error *err);

/* Draws as text, in ASCII or UTF-8, the curves of a training run, of a search for a learning rate
 * or of a schedule, and the confusion matrix of a classification; of a validation or test also a
 * table of its classes, of more than 10 those with the lowest F1. columns is the width of the
 * terminal, at least 30; 0 means 80. *out is borrowed as in fg_recipe_text_of; it is "" if there
 * is nothing to draw. Call it after fg_recipe_run has succeeded. Errors: FG_EINVAL (it has not),
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_recipe_draw(fg_recipe *recipe, int columns, bool is_ascii,
                                            const char **out, fg_error *err);

/* Writes the curve of FG_RECIPE_FIND_LR or FG_RECIPE_SCHEDULE to a file that ends in .csv, .json,
 * .svg or .png, as fg_report_lr_write (report.h). Errors: those of fg_report_lr_write; FG_EINVAL
 * (there is no curve). */
FG_API FG_MUST_USE fg_status fg_recipe_write_curve(fg_recipe *recipe, const char *path,
                                                   fg_error *err);

/* Writes the predictions to a file, in the format of its suffix: .csv, .tsv, .json (an array of
 * objects), .jsonl (an object per line) or .npy; CSV if it has none. Errors: FG_EINVAL (no
 * predictions; another suffix), FG_EIO, FG_ENOTFOUND, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_recipe_write_predictions(fg_recipe *recipe, const char *path,
                                                         fg_error *err);

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Which settings to compare. */
typedef struct fg_sweep_options {
    /* "optimizer.lr=1e-3,3e-3": a key and its values, separated by commas; commas within brackets,
     * parentheses and quotes belong to a value. At most 8 keys and 1000 combinations */
    const char *const *keys;
    size_t key_count;
    fg_fit_options fit; /* of each run */
    uint64_t reserved[4];
} fg_sweep_options;

/* Trains a configuration once for each combination of values, one run after the
 * other; the values of the last key change first. The folder of the sweep is trainer.run_dir, or a
 * new one, runs/NAME-sweep-N. Each run has a folder in it, such as "lr=0.003", and sweep.json has
 * the settings and results of all of them (docs/formats.md): fg_report_run makes a report of it.
 * sweep.html is written at the end. Runs share compiled programs through the cache on disk.
 *
 * trainer.resume (last or auto) continues a sweep: runs that are complete are not
 * repeated, one that was interrupted continues, and values may have been added. A run that fails,
 * for example because training diverges, does not end the sweep: the others are trained, and the
 * first failure is returned. A signal (fit.handle_signals) and an error before a run can be set up
 * end it.
 *
 * *out_folder is the folder, also after a failure once a run was set up, else NULL; free it with
 * fg_free. Errors: FG_EINVAL (a key, a value, or the options; also another process that
 * trains in the folder, and an earlier sweep in it without resume or overwrite), and those of
 * fg_recipe_open and fg_recipe_run. */
FG_API FG_MUST_USE fg_status fg_recipe_sweep(const fg_recipe_options *options,
                                             const fg_sweep_options *sweep, char **out_folder,
                                             fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
