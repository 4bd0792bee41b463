/* fulgurite fit: trains a model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_FIT}, .draw = "auto"};
static const cli_option options[] = {
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
    RUN_SUMMARY,
    RUN_PROGRESS,
    RUN_QUIET,
    CLI_END,
};

static int run(const cli_call *call) { return cli_run(call, &settings); }

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
    .options = options,
    .max_args = 1,
    .takes_config = true,
    .run = run,
};
