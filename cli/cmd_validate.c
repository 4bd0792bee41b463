/* fulgurite validate [CONFIG] [--KEY=VALUE]...: evaluate a model on the validation data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "run.h"

static run_options settings = {.kind = RUN_VALIDATE, .command = "validate", .draw = "never"};
static const cli_option options[] = {
    CLI_TEXT('c', "ckpt", &settings.ckpt, "best|last|PATH", "the weights to take"),
    CLI_TEXT('d', "draw", &settings.draw, "auto|always|never",
             "draw the confusion matrix (auto: on a terminal)"),
    CLI_OPTIONAL('p', "print-config", &settings.print_config, "comments|plain",
                 "print the merged configuration and end"),
    CLI_TEXT('s', "summary", &settings.summary, "FILE", "write one JSON object with what happened"),
    CLI_TEXT(0, "progress", &settings.progress, "auto|bar|plain|none",
             "how to report progress (auto: a bar on a terminal, else plain lines)"),
    CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, no warnings"),
    CLI_END,
};

static int run_it(const cli_call *call) { return run_command(call, &settings); }

const cli_command cli_validate = {
    .name = "validate",
    .arguments = "[CONFIG]",
    .summary = "evaluate a model on the validation data",
    .details = "--ckpt names the weights: best or last of the run's folder, or the path of a "
               "checkpoint or\n"
               ".safetensors file. Without it they are model.weights where given, else best where\n"
               "there is one, else last. The metrics go to\n"
               "standard output.",
    .options = options,
    .min_args = 0,
    .max_args = 1,
    .takes_config = true,
    .run = run_it,
};
