/* run_cli.h - commands that run a recipe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_CLI_H
#define RUN_CLI_H

#include <fulgurite/recipe.h>

#include "cli.h"

/* The options of the commands. */
typedef struct cli_run_options {
    fg_recipe_command command;
    const char *summary;          /* summary file; NULL: none */
    const char *print_config;     /* "" or "plain"; NULL: do not */
    const char *draw;             /* "auto", "always", "never"; NULL: auto for curves */
    const char *resume, *profile; /* of fit, as the keys; "": the usual value, NULL: not given */
    const char *out;      /* file of predictions, NULL: standard output; files of the curve of
                                 lr-find */
    const char *progress; /* "auto", "bar", "plain", "none"; NULL: auto */
    bool allows_damaged;  /* of predict */
    bool is_quiet, as_json, is_schedule; /* is_schedule: the kind is FG_RECIPE_SCHEDULE */
    cli_list sweep;                      /* of fit: settings to compare */
} cli_run_options;

/* Options of several commands, which have a static variable `settings`. */
#define RUN_CKPT                                                                                   \
    CLI_TEXT('c', "ckpt", &settings.command.evaluate.ckpt, "best|last|PATH", "the weights to use")
#define RUN_DRAW_CONFUSION                                                                         \
    CLI_TEXT('d', "draw", &settings.draw, "auto|always|never",                                     \
             "print the confusion matrix and the classes (auto: on a terminal)")
#define RUN_PRINT_CONFIG                                                                           \
    CLI_OPTIONAL('p', "print-config", &settings.print_config, "comments|plain",                    \
                 "print the merged configuration and exit")
#define RUN_SUMMARY                                                                                \
    CLI_TEXT('s', "summary", &settings.summary, "FILE",                                            \
             "write a summary of the run as one JSON object")
#define RUN_PROGRESS                                                                               \
    CLI_TEXT(0, "progress", &settings.progress, "auto|bar|plain|none",                             \
             "how to report progress (auto: a bar on a terminal, otherwise plain lines)")
#define RUN_QUIET                                                                                  \
    CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, only warnings and errors")

/* Details: the first two arguments of an evaluation. */
#define RUN_ARGUMENTS(key)                                                                         \
    "The first argument is a configuration or a trained model: a run's folder, `last` or `best` "  \
    "(of the newest run in runs/), a checkpoint's folder, or a .safetensors file. A trained "      \
    "model "                                                                                       \
    "includes its configuration and preprocessing, so the training data are not needed. DATA is "  \
    "the file (CSV, .npy) or folder to read; short for " key ".\n\n"                               \
    "--ckpt selects the weights of a run: best, last, or the name or path of a checkpoint. "       \
    "Default: model.weights if set, otherwise best if there is one, otherwise last. A model, "     \
    "classes or a normalization that differ from the checkpoint's are an error."

/* Runs the command, or a sweep, prints the results and returns the exit status. */
int cli_run(const cli_call *call, const cli_run_options *options);

#endif
