/* fulgurite show RUN|CKPT: list the tensors of a checkpoint, or print its configuration and the
 * description of its data.
 *
 * Writes one line per tensor to standard output, name and type separated by a tab; the checkpoint,
 * its task and totals to standard error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <fulgurite/ckpt.h>

#include <fulgurite/recipe.h>
#include <fulgurite/report.h>

#include "cli.h"

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

/* Names in a file may contain terminal escape sequences. */
static void print_name(const char *name)
{
    for (; *name != '\0'; name++)
        (void)fputc(iscntrl((unsigned char)*name) ? '?' : *name, stdout);
}

static const char *part_name(fg_ckpt_part part)
{
    return part == FG_CKPT_MODEL ? "model" : "state";
}

static void print_lines(const fg_ckpt *ckpt)
{
    double bytes = 0;
    int64_t parameters = 0;
    const bool is_folder = fg_ckpt_state_json(ckpt) != NULL;
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++) {
        char type[128];
        const fg_tensor_info *t = fg_ckpt_info(ckpt, i);
        bytes += (double)t->size_bytes;
        parameters += t->part == FG_CKPT_MODEL ? fg_type_count(&t->type) : 0;
        print_name(t->name);
        if (!names_only)
            (void)printf("\t%s", fg_type_format(&t->type, type, sizeof(type)));
        if (!names_only && is_folder)
            (void)printf("\t%s", part_name(t->part));
        (void)putchar('\n');
    }
    (void)fprintf(stderr, "%zu tensor%s, %s; %" PRId64 " element%s in the model\n",
                  fg_ckpt_count(ckpt), fg_ckpt_count(ckpt) == 1 ? "" : "s", cli_bytes(bytes),
                  parameters, parameters == 1 ? "" : "s");
}

static int print_json(const fg_recipe_origin *origin)
{
    fg_error err = {0};
    char *text = NULL;
    if (fg_recipe_origin_json(origin, &text, &err) != FG_OK)
        return fg_error_print(&err, "fulgurite show");
    (void)puts(text);
    fg_report_free(text);
    return CLI_DONE;
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
    int status = CLI_DONE;
    if (fg_recipe_origin_open(call->args[0], which, NULL, &origin, &err) != FG_OK) {
        status = fg_error_print(&err, "fulgurite show");
    } else if (as_json) {
        status = print_json(&origin);
    } else if (as_config) {
        status = print_config(&origin);
    } else {
        (void)fputs(origin.description, stderr);
        print_lines(origin.ckpt);
    }
    fg_recipe_origin_close(&origin);
    return status;
}

const cli_command cli_show = {
    .name = "show",
    .arguments = "RUN|CKPT",
    .summary = "list the tensors of a checkpoint",
    .details = "The argument is a run's folder, `last` or `best` (of the newest run in runs/), a "
               "checkpoint's folder,\n"
               "or a .safetensors file. The checksums of the files are verified; an error names a "
               "damaged file.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
