/* fulgurite lr-find: finds a learning rate by short trials.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_FIND_LR}, .draw = "auto"};
static const cli_option options[] = {
    CLI_TEXT('d', "draw", &settings.draw, "auto|always|never",
             "plot the curve as text (auto: on a terminal)"),
    CLI_TEXT('o', "out", &settings.out, "FILE[,FILE]",
             "write the curve to files that end in .csv, .json, .svg or .png"),
    CLI_FLAG(0, "schedule", &settings.is_schedule,
             "show the learning rate and momentum of the steps of fit instead; nothing is trained"),
    RUN_PRINT_CONFIG,
    RUN_SUMMARY,
    RUN_QUIET,
    CLI_END,
};

static int run(const cli_call *call) { return cli_run(call, &settings); }

const cli_command cli_lr_find = {
    .name = "lr-find",
    .arguments = "[CONFIG]",
    .summary = "find a learning rate",
    .details =
        "Trains a few steps at rising learning rates, with the program, batch, devices and scaling "
        "that fit uses, and suggests learning rates from the curve of the loss. Several sweeps "
        "from the same weights show how certain they are. Writes valley, steep, slide and minimum, "
        "values of optimizer.lr, to standard output. If the loss does not fall clearly, no "
        "learning rate is suggested and the exit status is 1. Nothing is saved. The keys of "
        "section "
        "tuner are the settings; tuner.lr_find: true searches before a fit.",
    .options = options,
    .max_args = 1,
    .takes_config = true,
    .run = run,
};
