/* fulgurite batch-find: finds the largest batch size that fits in device memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_FIND_BATCH}, .draw = "never"};
static const cli_option options[] = {RUN_PRINT_CONFIG, RUN_SUMMARY, RUN_QUIET, CLI_END};

static int run(const cli_call *call) { return cli_run(call, &settings); }

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
    .options = options,
    .max_args = 1,
    .takes_config = true,
    .run = run,
};
