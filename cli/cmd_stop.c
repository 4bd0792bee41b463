/* fulgurite stop RUN: asks a run to save and stop.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "other_run.h"

static stop_options how;
static const cli_option options[] = {
    CLI_FLAG(0, "no-wait", &how.no_wait, "don't wait until the run has ended"),
    CLI_NUMBER(0, "timeout", &how.timeout_s, DURATION, NULL, "DURATION",
               "longest time to wait, for example 90s [no limit]"),
    CLI_END,
};

static int run(const cli_call *call)
{
    fg_error err = {0};
    how.talk = stderr;
    return stop_run(call->args[0], &how, &err) == FG_OK
               ? CLI_DONE
               : cli_complain(CLI_FAILED, "stop", "%s", err.message);
}

const cli_command cli_stop = {
    .name = "stop",
    .arguments = "RUN",
    .summary = "save the state of a run and stop it",
    .details = "RUN is a run's folder, or `last`: the newest run in runs/ that is training. The "
               "run may be in another container or on another host that shares the folder.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
