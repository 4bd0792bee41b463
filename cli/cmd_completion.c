/* fulgurite completion SHELL: print a script that completes the program's words.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

static int run(const cli_call *call)
{
    if (!cli_print_completion(stdout, call->args[0]))
        return cli_complain(CLI_USAGE, "completion", "unknown shell '%s': expected bash or zsh",
                            call->args[0]);
    return CLI_DONE;
}

const cli_command cli_completion = {
    .name = "completion",
    .arguments = "bash|zsh",
    .summary = "print a shell completion script",
    .details = "To enable completion in the current shell: source <(fulgurite completion bash)",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
