/* fulgurite show RUN|CKPT: list the tensors of a checkpoint, or print its configuration and the
 * description of its data.
 *
 * Writes one line per tensor to standard output, name and type separated by a tab; the checkpoint,
 * its task and totals to standard error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/recipe.h>
#include <fulgurite/report.h>

#include "out_file.h"

static bool names_only, as_json, as_config;
static const char *which;
static const cli_option options[] = {
    CLI_TEXT('c', "ckpt", &which, "best|last|NAME",
             "checkpoint of a run (default: best, or else last)"),
    CLI_FLAG('y', "config", &as_config, "print the model's configuration as YAML instead"),
    CLI_FLAG('n', "names", &names_only, "print the names only"),
    CLI_FLAG('j', "json", &as_json,
             "print one JSON object, including state.json, config.yaml and data.json"),
    CLI_END,
};

static int print_lines(const fg_recipe_origin *origin)
{
    fg_error err = {0};
    char *lines = NULL, *totals = NULL;
    const fg_status found = fg_recipe_origin_lines(origin, names_only, &lines, &totals, &err);
    (void)fputs(found == FG_OK ? origin->description : "", stderr);
    const int status = out_text("show", found, &lines, NULL, &err);
    (void)fputs(found == FG_OK ? totals : "", stderr);
    fg_report_free(totals);
    return status;
}

static int print_config(const fg_recipe_origin *origin)
{
    const char *text = origin->config;
    if (text == NULL)
        return cli_complain(CLI_FAILED, "show", "%s contains no configuration",
                            fg_ckpt_path(origin->ckpt));
    (void)fputs(text, stdout);
    return CLI_DONE;
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    fg_recipe_origin origin = {0};
    char *text = NULL;
    int status = CLI_DONE;
    if (fg_recipe_origin_open(call->args[0], which, NULL, &origin, &err) != FG_OK) {
        status = cli_complain(CLI_FAILED, "show", "%s", err.message);
    } else if (as_json) {
        status = out_text("show", fg_recipe_origin_json(&origin, &text, &err), &text, NULL, &err);
    } else if (as_config) {
        status = print_config(&origin);
    } else {
        status = print_lines(&origin);
    }
    fg_recipe_origin_close(&origin);
    return status;
}

const cli_command cli_show = {
    .name = "show",
    .arguments = "RUN|CKPT",
    .summary = "list the tensors of a checkpoint",
    .details = "The argument is a run's folder, `last` or `best` (of the newest run in runs/), a "
               "checkpoint's folder, or a .safetensors file. The checksums of the files are "
               "verified; an error names a damaged file.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
