/* fulgurite predict [CONFIG|RUN|CKPT] [DATA] [--KEY=VALUE]...: run inference and write the
 * predictions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "run_cli.h"

static fgi_run_options settings = {.kind = FGI_RUN_PREDICT, .command = "predict", .draw = "never"};
static const cli_option options[] = {
    CLI_TEXT('c', "ckpt", &settings.ckpt, "best|last|PATH", "the weights to use"),
    CLI_TEXT('o', "out", &settings.out, "FILE",
             "write a .csv or .npy file (default, and -: CSV on standard output)"),
    CLI_OPTIONAL('p', "print-config", &settings.print_config, "comments|plain",
                 "print the merged configuration and exit"),
    CLI_TEXT('s', "summary", &settings.summary, "FILE",
             "write a summary of the run as one JSON object"),
    CLI_TEXT(0, "progress", &settings.progress, "auto|bar|plain|none",
             "how to report progress (auto: a bar on a terminal, otherwise plain lines)"),
    CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, no warnings"),
    CLI_END,
};

static int run_it(const cli_call *call) { return cli_run(call, &settings); }

const cli_command cli_predict = {
    .name = "predict",
    .arguments = "[CONFIG|RUN|CKPT] [DATA]",
    .summary = "run inference and write the predictions",
    .details = "For classification, each row has the most likely class and the probability of each "
               "class; for\n"
               "regression, the predicted values. Without data.predict and test data, the "
               "validation data are used.\n"
               "Targets are not read.\n"
               "\n"
               "The first argument is a configuration or a trained model: a run's folder, `last` "
               "or `best` (of the\n"
               "newest run in runs/), a checkpoint's folder, or a .safetensors file. A trained "
               "model includes its\n"
               "configuration and preprocessing, so the training data are not needed. DATA is the "
               "file (CSV, .npy)\n"
               "or folder to read; short for --data.predict.\n"
               "\n"
               "--ckpt selects the weights of a run: best, last, or the name or path of a "
               "checkpoint. Default:\n"
               "model.weights if set, otherwise best if there is one, otherwise last. A model, "
               "classes or a\n"
               "normalization that differ from the checkpoint's are an error.",
    .options = options,
    .min_args = 0,
    .max_args = 2,
    .takes_config = true,
    .run = run_it,
};
