/* fulgurite fit, validate, test, predict and batch-find: runs of a recipe. Each uses a part of one
 * table of options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "run_cli.h"

static cli_run_options settings;

/* Rows that several commands use. */
#define CKPT CLI_TEXT('c', "ckpt", &settings.recipe.ckpt, "best|last|PATH", "the weights to use")
#define DRAW_CONFUSION                                                                             \
    CLI_TEXT('d', "draw", &settings.draw, "auto|always|never",                                     \
             "print the confusion matrix (auto: on a terminal)")
#define PRINT_CONFIG                                                                               \
    CLI_OPTIONAL('p', "print-config", &settings.print_config, "comments|plain",                    \
                 "print the merged configuration and exit")
#define SUMMARY                                                                                    \
    CLI_TEXT('s', "summary", &settings.summary, "FILE",                                            \
             "write a summary of the run as one JSON object")
#define PROGRESS                                                                                   \
    CLI_TEXT(0, "progress", &settings.progress, "auto|bar|plain|none",                             \
             "how to report progress (auto: a bar on a terminal, otherwise plain lines)")
#define QUIET CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, no warnings")

/* The first two arguments of an evaluation. */
#define ARGUMENTS(key)                                                                             \
    "The first argument is a configuration or a trained model: a run's folder, `last` or `best` "  \
    "(of the\n"                                                                                    \
    "newest run in runs/), a checkpoint's folder, or a .safetensors file. A trained model "        \
    "includes its\n"                                                                               \
    "configuration and preprocessing, so the training data are not needed. DATA is the file "      \
    "(CSV, .npy)\n"                                                                                \
    "or folder to read; short for " key ".\n"                                                      \
    "\n"                                                                                           \
    "--ckpt selects the weights of a run: best, last, or the name or path of a checkpoint. "       \
    "Default:\n"                                                                                   \
    "model.weights if set, otherwise best if there is one, otherwise last. A model, classes or "   \
    "a\n"                                                                                          \
    "normalization that differ from the checkpoint's are an error."

static int run(const cli_call *call, fg_recipe_kind kind, const char *draw)
{
    settings.recipe.kind = kind;
    if (settings.draw == NULL)
        settings.draw = draw;
    return cli_run(call, &settings);
}

static int run_fit(const cli_call *call) { return run(call, FG_RECIPE_FIT, "auto"); }
static int run_validate(const cli_call *call) { return run(call, FG_RECIPE_VALIDATE, "never"); }
static int run_test(const cli_call *call) { return run(call, FG_RECIPE_TEST, "never"); }
static int run_predict(const cli_call *call) { return run(call, FG_RECIPE_PREDICT, "never"); }
static int run_batch_find(const cli_call *call) { return run(call, FG_RECIPE_FIND_BATCH, "never"); }

/* ---- options --------------------------------------------------------------------------------- */

static const cli_option fit_options[] = {
    CLI_TEXT('d', "draw", &settings.draw, "auto|always|never",
             "plot the loss and print the confusion matrix (auto: on a terminal)"),
    PRINT_CONFIG,
    CLI_FLAG(0, "fast-dev-run", &settings.recipe.fast_dev_run,
             "run one training and one validation batch to find errors; write no files"),
    CLI_OPTIONAL(
        'r', "resume", &settings.recipe.resume, "last|best|auto|PATH",
        "resume an earlier run (default: its last checkpoint; auto: only if there is one)"),
    CLI_FLAG(0, "overwrite", &settings.recipe.overwrite,
             "delete the checkpoints of an earlier run in the same folder"),
    SUMMARY,
    PROGRESS,
    CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, no warnings except failed saves"),
    CLI_END,
};
static const cli_option evaluation_options[] = {
    CKPT, DRAW_CONFUSION, PRINT_CONFIG, SUMMARY, PROGRESS, QUIET, CLI_END,
};
static const cli_option predict_options[] = {
    CKPT,
    CLI_TEXT('o', "out", &settings.out, "FILE",
             "write a .csv or .npy file (default, and -: CSV on standard output)"),
    PRINT_CONFIG,
    SUMMARY,
    PROGRESS,
    QUIET,
    CLI_END,
};
static const cli_option batch_find_options[] = {PRINT_CONFIG, SUMMARY, QUIET, CLI_END};

/* ---- commands -------------------------------------------------------------------------------- */

const cli_command cli_fit = {
    .name = "fit",
    .arguments = "[CONFIG]",
    .summary = "train a model",
    .details =
        "CONFIG is a YAML file. --section.key=value overrides a key of the file. config.yaml (the "
        "merged\n"
        "configuration), metrics.csv, metrics.jsonl and checkpoints are written to the run's "
        "folder. Each run\n"
        "creates a new folder unless trainer.run_dir is set; the checkpoints of an earlier run in "
        "that folder\n"
        "are only deleted with --overwrite. The final metrics are written to standard output.\n"
        "\n"
        "SIGINT (Ctrl-C), SIGTERM and SIGHUP save the state and stop, with exit status 143; a "
        "second one ends\n"
        "the program immediately. --resume continues at the next sample.",
    .options = fit_options,
    .max_args = 1,
    .takes_config = true,
    .run = run_fit,
};

const cli_command cli_validate = {
    .name = "validate",
    .arguments = "[CONFIG|RUN|CKPT] [DATA]",
    .summary = "evaluate a model on the validation data",
    .details = "The metrics are written to standard output.\n"
               "\n" ARGUMENTS("--data.val"),
    .options = evaluation_options,
    .max_args = 2,
    .takes_config = true,
    .run = run_validate,
};

const cli_command cli_test = {
    .name = "test",
    .arguments = "[CONFIG|RUN|CKPT] [DATA]",
    .summary = "evaluate a model on the test data",
    .details = "Without test data (data.test, data.test_x), the validation data are used. The "
               "metrics are written to\n"
               "standard output.\n"
               "\n" ARGUMENTS("--data.test"),
    .options = evaluation_options,
    .max_args = 2,
    .takes_config = true,
    .run = run_test,
};

const cli_command cli_predict = {
    .name = "predict",
    .arguments = "[CONFIG|RUN|CKPT] [DATA]",
    .summary = "run inference and write the predictions",
    .details = "For classification, each row has the most likely class and the probability of each "
               "class; for\n"
               "regression, the predicted values. Without data.predict and test data, the "
               "validation data are used.\n"
               "Targets are not read.\n"
               "\n" ARGUMENTS("--data.predict"),
    .options = predict_options,
    .max_args = 2,
    .takes_config = true,
    .run = run_predict,
};

const cli_command cli_batch_find = {
    .name = "batch-find",
    .arguments = "[CONFIG]",
    .summary = "find the largest batch size that fits into device memory",
    .details =
        "Compiles the training step for several batch sizes, starting at trainer.batch_size, and "
        "reads\n"
        "the memory requirements that the compiler reports; nothing is executed. The result leaves "
        "a tenth of\n"
        "each device's memory free. On the CPU, the limit is the host's memory divided by the "
        "number of\n"
        "devices. Writes batch_size, global_batch_size and the bytes needed to standard output.",
    .options = batch_find_options,
    .max_args = 1,
    .takes_config = true,
    .run = run_batch_find,
};
