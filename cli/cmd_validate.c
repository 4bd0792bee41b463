/* fulgurite validate: evaluates a model on the validation data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_VALIDATE}, .draw = "never"};
static const cli_option options[] = {
    RUN_CKPT, RUN_DRAW_CONFUSION, RUN_PRINT_CONFIG, RUN_SUMMARY, RUN_PROGRESS, RUN_QUIET, CLI_END,
};

static int run(const cli_call *call) { return cli_run(call, &settings); }

const cli_command cli_validate = {
    .name = "validate",
    .arguments = "[CONFIG|RUN|CKPT] [DATA]",
    .summary = "evaluate a model on the validation data",
    .details = "The metrics are written to standard output.\n\n" RUN_ARGUMENTS("--data.val"),
    .options = options,
    .max_args = 2,
    .takes_config = true,
    .run = run,
};
