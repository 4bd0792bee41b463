/* run_cli.h - commands that run a recipe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_CLI_H
#define RUN_CLI_H

#include <fulgurite/recipe.h>

#include "cli.h"

/* The options of the commands. */
typedef struct cli_run_options {
    fg_recipe_options recipe;
    const char *summary;      /* summary file; NULL: none */
    const char *print_config; /* "" or "plain"; NULL: do not */
    const char *draw;         /* "auto", "always", "never" */
    const char *out;          /* file of predictions; NULL: standard output */
    const char *progress;     /* "auto", "bar", "plain", "none"; NULL: auto */
    bool is_quiet, as_json;
} cli_run_options;

/* Runs the command, prints the results and returns the exit status. */
int cli_run(const cli_call *call, const cli_run_options *options);

#endif
