/* fulgurite bench: how long a training step takes, and where its time goes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_BENCH}, .draw = "never"};
static const cli_option options[] = {
    CLI_FLAG(0, "profile", &settings.command.bench.profile,
             "show the time of the step by operation and source line"),
    CLI_NUMBER('n', "steps", &settings.command.bench.steps, INT, "1..100000", "N",
               "number of steps (default 10)"),
    CLI_NUMBER(0, "rows", &settings.command.bench.rows, INT, "1..1000000", "N",
               "with --profile: show this many operations (default 20)"),
    CLI_FLAG('j', "json", &settings.as_json, "print one JSON object, with all operations"),
    RUN_PRINT_CONFIG,
    RUN_QUIET,
    CLI_END,
};

static int run(const cli_call *call) { return cli_run(call, &settings); }

const cli_command cli_bench = {
    .name = "bench",
    .arguments = "[CONFIG]",
    .summary = "measure a training step, by operation",
    .details =
        "Runs training steps with the program, batch and devices that fit uses, each after the "
        "previous one has ended, and prints the median time. Nothing is saved.\n\n"
        "--profile compiles the step's operations once more, with a clock before and after each "
        "(on the CPU), or uses the profiler of the plugin (TPU, GPU). It prints the kinds of "
        "operations and the longest operations: fraction of the step, time per step, calls per "
        "step and device, the rate of matmuls and convolutions in GFLOP/s, and the layer, or file "
        "and line, that the operation comes from. A fusion is listed under its last operation, "
        "gradients under the operation that they are of.",
    .options = options,
    .max_args = 1,
    .takes_config = true,
    .run = run,
};
