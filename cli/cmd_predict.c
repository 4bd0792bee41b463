/* fulgurite predict [CONFIG] [--KEY=VALUE]...: write what a model makes of the test data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "run.h"

static run_options settings = {.kind = RUN_PREDICT, .command = "predict", .draw = "never"};
static const cli_option options[] = {
    CLI_TEXT('c', "ckpt", &settings.ckpt, "best|last|PATH", "the weights to take"),
    CLI_TEXT('o', "out", &settings.out, "FILE",
             "a .csv or .npy file (else CSV on standard output)"),
    CLI_OPTIONAL('p', "print-config", &settings.print_config, "comments|plain",
                 "print the merged configuration and end"),
    CLI_TEXT('s', "summary", &settings.summary, "FILE", "write one JSON object with what happened"),
    CLI_TEXT(0, "progress", &settings.progress, "auto|bar|plain|none",
             "how to report progress (auto: a bar on a terminal, else plain lines)"),
    CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, no warnings"),
    CLI_END,
};

static int run_it(const cli_call *call) { return run_command(call, &settings); }

const cli_command cli_predict = {
    .name = "predict",
    .arguments = "[CONFIG]",
    .summary = "write what a model makes of the test data",
    .details =
        "A classification gives each class's probability, in a CSV also the likeliest class; a\n"
        "regression gives numbers. Without test data (data.test, data.test_x), the validation\n"
        "data are taken.\n"
        "\n"
        "--ckpt names the weights: best or last of the run's folder, or the path of a checkpoint "
        "or\n"
        ".safetensors file. Without it they are model.weights where given, else best where\n"
        "there is one, else last.",
    .options = options,
    .min_args = 0,
    .max_args = 1,
    .takes_config = true,
    .run = run_it,
};
