/* run_cli.h - commands that run a recipe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_CLI_H
#define RUN_CLI_H

#include <fulgurite/recipe.h>

#include "cli.h"

/* What the commands' options say. */
typedef struct cli_run_options {
    fg_recipe_options recipe;
    const char *summary;      /* a file; NULL: none */
    const char *print_config; /* "" or "plain"; NULL: do not */
    const char *draw;         /* "auto", "always", "never" */
    const char *out;          /* a file for predictions; NULL: standard output */
    const char *progress;     /* "auto", "bar", "plain", "none"; NULL: auto */
    bool is_quiet, as_json;
} cli_run_options;

/* Runs what the command line says, prints the results; the exit status. */
int cli_run(const cli_call *call, const cli_run_options *options);

#endif
