/* run_cli.c - see run_cli.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

int cli_run(const cli_call *call, const fgi_run_options *options)
{
    const fgi_run_input input = {call->args, call->count, call->overrides, call->override_count};
    return fgi_run_command(&input, options);
}
