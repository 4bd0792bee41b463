/* fulgurite batch-find [CONFIG] [--KEY=VALUE]...: the largest batch that fits into the devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "run_cli.h"

static fgi_run_options settings = {
    .kind = FGI_RUN_BATCH_FIND, .command = "batch-find", .draw = "never"};
static const cli_option options[] = {
    CLI_OPTIONAL('p', "print-config", &settings.print_config, "comments|plain",
                 "print the merged configuration and exit"),
    CLI_TEXT('s', "summary", &settings.summary, "FILE",
             "write a summary of the run as one JSON object"),
    CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, no warnings"),
    CLI_END,
};

static int run_it(const cli_call *call) { return cli_run(call, &settings); }

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
    .options = options,
    .min_args = 0,
    .max_args = 1,
    .takes_config = true,
    .run = run_it,
};
