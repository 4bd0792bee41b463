/* fulgurite fit, validate, test, predict and batch-find: commands that run a recipe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

/* Of the command that runs. The temperature is not 0, so that 0 is what the user has given. */
static cli_run_options settings = {.command.evaluate.sample.temperature = 1};
#define SAMPLE settings.command.evaluate.sample

static int run(const cli_call *call, fg_recipe_kind kind)
{
    settings.command.kind = kind;
    return cli_run(call, &settings);
}

static int fit(const cli_call *call) { return run(call, FG_RECIPE_FIT); }
static int validate(const cli_call *call) { return run(call, FG_RECIPE_VALIDATE); }
static int test(const cli_call *call) { return run(call, FG_RECIPE_TEST); }
static int predict(const cli_call *call) { return run(call, FG_RECIPE_PREDICT); }
static int batch_find(const cli_call *call) { return run(call, FG_RECIPE_FIND_BATCH); }

#define RUN_OUTPUT RUN_SUMMARY, RUN_PROGRESS, RUN_QUIET
#define EVALUATED  .arguments = "[CONFIG|RUN|CKPT] [DATA]", .max_args = 2, .takes_config = true

static const cli_option fit_options[] = {
    CLI_TEXT('d', "draw", &settings.draw, "auto|always|never",
             "plot the loss and print the confusion matrix (auto: on a terminal)"),
    RUN_PRINT_CONFIG,
    CLI_FLAG(0, "print-schedule", &settings.is_schedule,
             "show the learning rate and momentum of the steps, and exit"),
    CLI_FLAG(0, "fast-dev-run", &settings.command.fit.fast_dev_run,
             "run one training and one validation batch to find errors; write no files"),
    CLI_OPTIONAL(
        'r', "resume", &settings.resume, "last|best|auto|PATH",
        "resume an earlier run (default: its last checkpoint; auto: only if there is one)"),
    CLI_FLAG(0, "overwrite", &settings.command.fit.overwrite,
             "delete the checkpoints of an earlier run in the same folder"),
    CLI_OPTIONAL(0, "profile", &settings.profile, "FIRST,LAST",
                 "take a profile of these steps (default: ten after the first ten)"),
    CLI_LIST(0, "sweep", &settings.sweep, "KEY=VALUE,VALUE",
             "train once for each value of a key; several --sweep: for each combination"),
    RUN_OUTPUT,
    CLI_END,
};
static const cli_option evaluation_options[] = {RUN_CKPT, RUN_DRAW_CONFUSION, RUN_PRINT_CONFIG,
                                                RUN_OUTPUT, CLI_END};
static const cli_option predict_options[] = {
    RUN_CKPT,
    CLI_TEXT('o', "out", &settings.out, "FILE",
             "write a .csv, .tsv, .json, .jsonl or .npy file, row by row (default, and -: CSV on "
             "standard output)"),
    CLI_TEXT('p', "prompt", &SAMPLE.prompt, "TEXT", "continue a text with a language model"),
    CLI_NUMBER(0, "max-tokens", &SAMPLE.max_tokens, INT, "1..1000000000", "N",
               "with --prompt: end after this many tokens (default 256)"),
    CLI_NUMBER(0, "temperature", &SAMPLE.temperature, FLOAT, "0..1000", "T",
               "with --prompt: divide the logits by this (default 1; 0: the most likely token)"),
    CLI_NUMBER(0, "top-k", &SAMPLE.top_k, INT, "0..16777216", "K",
               "with --prompt: sample from the K most likely tokens (default 0: all)"),
    CLI_NUMBER(0, "top-p", &SAMPLE.top_p, FLOAT, "0..1", "P",
               "with --prompt: sample from the most likely tokens that together have probability "
               "P (default 1)"),
    CLI_NUMBER(0, "seed", &SAMPLE.seed, INT, "0..", "N",
               "with --prompt: seed of the random numbers (default 0)"),
    CLI_FLAG(0, "allow-damaged", &settings.allows_damaged,
             "exit with status 0 even if samples could not be read; their rows contain the reason"),
    RUN_PRINT_CONFIG,
    RUN_OUTPUT,
    CLI_END,
};
static const cli_option batch_options[] = {RUN_PRINT_CONFIG, RUN_SUMMARY, RUN_QUIET, CLI_END};

const cli_command cli_fit = {
    .name = "fit",
    .arguments = "[CONFIG]",
    .summary = "train a model",
    .details =
        "CONFIG is a YAML file. --section.key=value overrides a key of the file. config.yaml (the "
        "merged configuration), metrics.csv, metrics.jsonl and checkpoints are written to the "
        "run's folder. Each run creates a new folder unless trainer.run_dir is set; the "
        "checkpoints of an earlier run in that folder are only deleted with --overwrite. The final "
        "metrics are written to standard output.\n\n"
        "SIGINT (Ctrl-C), SIGTERM and SIGHUP save the state and stop, with exit status 143; a "
        "second one ends the program immediately. --resume continues at the next sample.\n\n"
        "--sweep optimizer.lr=1e-3,3e-3 trains one run after the other, each in a separate "
        "folder, and prints a table and a plot of the best values of "
        "trainer.monitor; sweep.html in that folder has the curves. With --resume, an interrupted "
        "sweep continues; values can be added.",
    .options = fit_options,
    .max_args = 1,
    .takes_config = true,
    .run = fit,
};

const cli_command cli_validate = {
    .name = "validate",
    .summary = "evaluate a model on the validation data",
    .details = "The metrics are written to standard output.\n\n" RUN_ARGUMENTS("--data.val"),
    .options = evaluation_options,
    .run = validate,
    EVALUATED,
};

const cli_command cli_test = {
    .name = "test",
    .summary = "evaluate a model on the test data",
    .details = "Without test data (data.test, data.test_x), the validation data are used. The "
               "metrics are written to standard output.\n\n" RUN_ARGUMENTS("--data.test"),
    .options = evaluation_options,
    .run = test,
    EVALUATED,
};

const cli_command cli_predict = {
    .name = "predict",
    .summary = "run inference and write the predictions",
    .details =
        "For classification, each row has the most likely class and the probability of each class; "
        "for regression, the predicted values. A language model continues the text of --prompt: "
        "the text is written to standard output. --model.hf=FOLDER uses a published model. Without "
        "data.predict and test data, the validation data are used. Targets are not read. A sample "
        "that cannot be read does not end the run: its row contains the reason instead of a "
        "prediction, and the exit status is 1.\n\n" RUN_ARGUMENTS("--data.predict"),
    .options = predict_options,
    .run = predict,
    EVALUATED,
};

const cli_command cli_batch_find = {
    .name = "batch-find",
    .arguments = "[CONFIG]",
    .summary = "find the largest batch size that fits in device memory",
    .details =
        "Compiles the training step for several batch sizes, starting at trainer.batch_size, and "
        "reads the memory requirements that the compiler reports. The result leaves a tenth of "
        "each device's memory free, and one training step is run with it. On the CPU, the limit is "
        "the host's memory divided by the number of devices. Writes the batch size, the bytes "
        "needed and the learning rate of fit to standard output.",
    .options = batch_options,
    .max_args = 1,
    .takes_config = true,
    .run = batch_find,
};
