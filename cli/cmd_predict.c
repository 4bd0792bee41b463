/* fulgurite predict: writes the predictions of a model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_PREDICT}, .draw = "never"};
static const cli_option options[] = {
    RUN_CKPT,
    CLI_TEXT('o', "out", &settings.out, "FILE",
             "write a .csv, .tsv, .json, .jsonl or .npy file, row by row (default, and -: CSV on "
             "standard output)"),
    CLI_FLAG(0, "allow-damaged", &settings.allows_damaged,
             "exit with status 0 even if samples could not be read; their rows contain the reason"),
    RUN_PRINT_CONFIG,
    RUN_SUMMARY,
    RUN_PROGRESS,
    RUN_QUIET,
    CLI_END,
};

static int run(const cli_call *call) { return cli_run(call, &settings); }

const cli_command cli_predict = {
    .name = "predict",
    .arguments = "[CONFIG|RUN|CKPT] [DATA]",
    .summary = "run inference and write the predictions",
    .details =
        "For classification, each row has the most likely class and the probability of each class; "
        "for regression, the predicted values. Without data.predict and test data, the validation "
        "data are used. Targets are not read. A sample that cannot be read does not end the run: "
        "its row contains the reason instead of a prediction, and the exit status is "
        "1.\n\n" RUN_ARGUMENTS("--data.predict"),
    .options = options,
    .max_args = 2,
    .takes_config = true,
    .run = run,
};
