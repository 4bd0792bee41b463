/* run_cli.h - commands that are runs of a recipe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_CLI_H
#define RUN_CLI_H

#include "cli.h"
#include "recipe/run.h"

/* Runs what the command line says; the exit status. */
int cli_run(const cli_call *call, const fgi_run_options *options);

#endif
