/* fulgurite test: evaluates a model on the test data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_TEST}, .draw = "never"};
static const cli_option options[] = {
    RUN_CKPT, RUN_DRAW_CONFUSION, RUN_PRINT_CONFIG, RUN_SUMMARY, RUN_PROGRESS, RUN_QUIET, CLI_END,
};

static int run(const cli_call *call) { return cli_run(call, &settings); }

const cli_command cli_test = {
    .name = "test",
    .arguments = "[CONFIG|RUN|CKPT] [DATA]",
    .summary = "evaluate a model on the test data",
    .details = "Without test data (data.test, data.test_x), the validation data are used. The "
               "metrics are written to standard output.\n\n" RUN_ARGUMENTS("--data.test"),
    .options = options,
    .max_args = 2,
    .takes_config = true,
    .run = run,
};
