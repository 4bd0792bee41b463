/* fulgurite plan [CONFIG] --topology=NAME[,NAME...] [--KEY=VALUE]...: estimates memory and time of
 * the training step on machines that are not present, with their compilers.
 *
 * Each machine's plan is made by this program again, with --in-process, so that a compiler that
 * crashes only ends that process.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "plan.h"
#include "out_file.h"
#include "run_cli.h"
#include <fulgurite/report.h>
#include <jansson.h>

enum { TOPOLOGIES_MAX = 64 };

static cli_run_options settings = {.recipe = {.kind = FG_RECIPE_PLAN}, .draw = "never"};
static bool is_in_process;
static const char *topologies, *page, *time_limit = "900", *memory_limit = "12";
static const cli_option options[] = {
    CLI_TEXT('t', "topology", &topologies, "NAME[,NAME]",
             "machines: v5e-8, v3-8, v4:2x2x1, kaggle, colab, h100:8 ..."),
    CLI_FLAG('j', "json", &settings.as_json, "print one JSON object"),
    CLI_TEXT('s', "summary", &settings.summary, "FILE", "also write that object to a file"),
    CLI_TEXT(0, "html", &page, "FILE", "write an HTML report with tables and plots"),
    CLI_FLAG('n', "no-search", &settings.recipe.no_search,
             "do not search for the largest batch that fits"),
    CLI_OPTIONAL('w', "sweep", &settings.recipe.sweep, "8,64|BATCHES",
                 "compare batch sizes: memory, cycles per sample, and when the MXU is saturated"),
    CLI_TEXT(0, "time-limit", &time_limit, "SECONDS", "time limit of each compiler process [900]"),
    CLI_TEXT(0, "memory-limit", &memory_limit, "GB", "memory limit of each compiler process [12]"),
    CLI_FLAG(0, "in-process", &is_in_process, "compile in this process, which can crash it"),
    CLI_FLAG('q', "quiet", &settings.is_quiet, "no progress, no warnings"),
    CLI_END,
};

static bool read_limit(const char *name, const char *text, double unit, double *out, fg_error *err)
{
    char *end;
    const double value = strtod(text, &end);
    *out = value * unit;
    if (end != text && *end == '\0' && value > 0 && isfinite(value))
        return true;
    return cli_fail(err, "--%s=%s: expected a positive number", name, text);
}

static fg_recipe_options recipe_of(const cli_call *call)
{
    fg_recipe_options recipe = settings.recipe;
    recipe.config = call->count > 0 ? call->args[0] : NULL;
    recipe.overrides = call->overrides;
    recipe.override_count = (size_t)call->override_count;
    return recipe;
}

/* What the process for one machine has found; NULL after an error, which has been printed. */
static json_t *plan_one(const cli_call *call, const char *topology, const fg_plan_process *process,
                        bool *out_is_common)
{
    fg_error err = {0};
    char *text = NULL;
    fg_recipe_options recipe = recipe_of(call);
    recipe.topology = topology;
    const fg_status status = fg_recipe_plan_process(&recipe, process, &text, &err);
    if (status != FG_OK && status != FG_EINVAL) /* the process has printed what is invalid */
        (void)fg_error_print(&err, "fulgurite plan");
    if (status != FG_OK)
        return NULL;
    json_t *root = json_loads(text, 0, NULL);
    json_t *found = json_incref(json_array_get(json_object_get(root, "topologies"), 0));
    *out_is_common = json_is_true(json_object_get(root, "every_machine"));
    json_decref(root);
    fg_report_free(text);
    return found;
}

static bool write_summary(const json_t *root, fg_error *err)
{
    char *text = settings.summary != NULL ? json_dumps(root, JSON_INDENT(2)) : NULL;
    const bool is_good = text != NULL ? out_file_write(settings.summary, text, strlen(text), err)
                                      : settings.summary == NULL || cli_fail(err, "out of memory");
    free(text);
    return is_good;
}

static bool write_page(const json_t *root, const char *config_path, fg_error *err)
{
    char *text = page != NULL ? json_dumps(root, 0) : NULL, *html = NULL;
    if (text == NULL)
        return page == NULL || cli_fail(err, "out of memory");
    const bool is_good = fg_report_plan_page(text, config_path, &html, err) == FG_OK &&
                         out_file_write(page, html, strlen(html), err);
    fg_report_free(html);
    free(text);
    return is_good;
}

/* Prints the result for a machine, unless all results are printed as JSON at the end. */
static void print_one(const json_t *one)
{
    if (settings.as_json)
        return;
    fg_error err = {0};
    char *text = json_dumps(one, 0), *lines = NULL;
    if (text != NULL && fg_report_plan_lines(text, &lines, &err) == FG_OK)
        (void)fputs(lines, stdout);
    (void)fflush(stdout);
    fg_report_free(lines);
    free(text);
}

/* The summary, the page and JSON of all; returns the exit status. */
static int finish(json_t *found, const char *config_path)
{
    fg_error err = {0};
    int status = CLI_DONE;
    size_t i;
    json_t *one, *root = json_pack("{s:s, s:O}", "status", "done", "topologies", found);
    json_array_foreach(found, i, one) if (json_object_get(one, "error") != NULL) status =
        CLI_FAILED;
    if (status != CLI_DONE)
        (void)json_object_set_new(root, "status", json_string("failed"));
    if (settings.as_json) {
        (void)json_dumpf(root, stdout, JSON_INDENT(2));
        (void)putchar('\n');
    }
    if (!write_summary(root, &err) || !write_page(root, config_path, &err))
        status = cli_complain(CLI_FAILED, "plan", "%s", err.message);
    json_decref(root);
    return status;
}

/* What was found, under the name of another machine. */
static json_t *renamed(const json_t *found, const char *name)
{
    json_t *one = json_deep_copy(found);
    (void)json_object_set_new(one, "name", json_string(name));
    return one;
}

/* The result for the same machine under its first name, with this name. */
static json_t *same_again(const plan_machine *m, const plan_machine *machines, const json_t *found)
{
    json_t *one = renamed(json_array_get(found, (size_t)(m->same_as - machines)), m->name);
    (void)json_object_set_new(one, "same_as", json_string(m->same_as->name));
    return one;
}

/* A failure that does not depend on the machine, such as an error in the data, is printed once and
 * is the result for all machines. */
static void fail_all(const plan_machine *machines, size_t count, const json_t *one, json_t *found)
{
    if (!settings.as_json)
        (void)cli_complain(CLI_FAILED, "plan", "%s",
                           json_string_value(json_object_get(one, "error")));
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(found, renamed(one, machines[i].name));
}

/* Compiles for one machine after another, and prints each result when it is available. */
static int plan_all(const cli_call *call, const fg_plan_process *process,
                    const plan_machine *machines, size_t count)
{
    int status = CLI_USAGE;
    size_t done = 0;
    json_t *found = json_array();
    for (; done < count; done++) {
        const plan_machine *m = &machines[done];
        bool is_common = false;
        if (m->same_as == NULL && !settings.is_quiet)
            (void)fprintf(stderr, "%s: compiling the training step\n", m->name);
        json_t *one = m->same_as != NULL ? same_again(m, machines, found)
                                         : plan_one(call, m->name, process, &is_common);
        if (one == NULL)
            break;
        if (is_common) {
            fail_all(machines, count, one, found);
            json_decref(one);
            done = count;
            break;
        }
        print_one(one);
        (void)json_array_append_new(found, one);
    }
    if (done == count)
        status = finish(found, call->count > 0 ? call->args[0] : NULL);
    json_decref(found);
    return status;
}

/* Checks options and configuration before a process is started for each machine. */
static bool check(const cli_call *call, fg_error *err)
{
    fg_recipe *recipe = NULL;
    const fg_recipe_options opening = recipe_of(call);
    const bool is_good = fg_recipe_open(&opening, &recipe, err) == FG_OK;
    fg_recipe_close(recipe);
    return is_good;
}

static int run_plans(const cli_call *call)
{
    fg_error err = {0};
    fg_plan_process process = {.quiet = settings.is_quiet};
    plan_machine machines[TOPOLOGIES_MAX];
    if (topologies == NULL)
        return cli_complain(
            CLI_USAGE, "plan",
            "no machine is named: add --topology=NAME[,NAME], such as --topology=v5e-8");
    if (!read_limit("time-limit", time_limit, 1, &process.time_limit_s, &err) ||
        !read_limit("memory-limit", memory_limit, 1e9, &process.memory_limit_bytes, &err) ||
        !out_file_check("--html", page, &err) ||
        !out_file_check("--summary", settings.summary, &err))
        return cli_complain(CLI_USAGE, "plan", "%s", err.message);
    settings.recipe.topology = topologies;
    if (is_in_process && page != NULL)
        return cli_complain(CLI_USAGE, "plan", "--html=%s cannot be used with --in-process", page);
    if (is_in_process)
        return cli_run(call, &settings);
    if (!check(call, &err))
        return cli_complain(CLI_USAGE, "plan", "%s", err.message);
    char *text = cli_strdup(topologies);
    const size_t count = plan_machines_read(text, machines, TOPOLOGIES_MAX, &err);
    int status = CLI_USAGE;
    if (count == 0)
        (void)cli_complain(CLI_USAGE, "plan", "--topology=%s: %s", topologies, err.message);
    else {
        plan_offer_compilers(machines, count);
        status = plan_all(call, &process, machines, count);
    }
    free(text);
    return status;
}

const cli_command cli_plan = {
    .name = "plan",
    .arguments = "[CONFIG]",
    .summary = "estimate memory, time and cost of training on hardware you don't have",
    .details =
        "Compiles the training step for each named machine, with that machine's own compiler "
        "(install with\n"
        "fulgurite setup tpu, fulgurite setup --compile-only cuda13). Reports whether it fits, "
        "what uses how\n"
        "much memory, the largest batch size that leaves a tenth free, and the communication "
        "between devices.\n"
        "Nothing is executed on a device. Times are the compiler's estimates, not measurements.\n"
        "\n"
        "TPUs are named by generation and shape in chips (v5e:2x4, v4:2x2x1) or by Google Cloud "
        "accelerator\n"
        "type (v2-8, v3-32, v4-8, v5litepod-8, v5p-8, v6e-8, tpu7x-8). kaggle and colab are the "
        "TPUs of these\n"
        "services. GPUs are a100, h100, h200, b200; several GPUs: h100:8.",
    .options = options,
    .min_args = 0,
    .max_args = 1,
    .takes_config = true,
    .run = run_plans,
};
