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
#include <unistd.h>

#include "base/error.h"
#include "input/json_file.h"
#include "out_file.h"
#include "plan_process.h"
#include "report/reports.h"
#include "run_cli.h"
#include "setup.h"

static cli_run_options settings = {.command = {.kind = FG_RECIPE_PLAN}, .draw = "never"};
static bool is_in_process;
static const char *page;
static cli_ints sweep;
static double time_limit_s = 900, memory_limit_gb = 12;
static const cli_option options[] = {
    CLI_TEXT('t', "topology", &settings.command.plan.topology, "NAME[,NAME]",
             "machines: v5e-8, v3-8, v4:2x2x1, kaggle, colab, h100:8 ..."),
    CLI_FLAG('j', "json", &settings.as_json, "print one JSON object"),
    CLI_TEXT('s', "summary", &settings.summary, "FILE", "also write that object to a file"),
    CLI_TEXT(0, "html", &page, "FILE", "write an HTML report with tables and plots"),
    CLI_FLAG('n', "no-search", &settings.command.plan.no_search,
             "do not search for the largest batch that fits"),
    CLI_INTS('w', "sweep", &sweep, "1..16777216", "8,16,32,64,128,256,512,1024", "8,64|BATCHES",
             "compare batch sizes: memory, cycles per sample, and when the MXU is saturated"),
    CLI_NUMBER(0, "input-rate", &settings.command.plan.loader.samples_per_s, FLOAT, "0<..", "N",
               "samples per second that the data loader delivers [measured on this host]"),
    CLI_TEXT(0, "input-stage", &settings.command.plan.loader.stage,
             "read|entropy|decode|resize|copy", "the stage in which it spends the most time"),
    CLI_NUMBER(0, "input-fraction", &settings.command.plan.loader.stage_fraction, FLOAT, "0..1",
               "FRACTION", "the fraction of its time that it spends there"),
    CLI_NUMBER(0, "time-limit", &time_limit_s, FLOAT, "0<..", "SECONDS",
               "time limit of each compiler process [900]"),
    CLI_NUMBER(0, "memory-limit", &memory_limit_gb, FLOAT, "0<..", "GB",
               "memory limit of each compiler process [12]"),
    CLI_FLAG(0, "in-process", &is_in_process, "compile in this process, which can crash it"),
    RUN_QUIET,
    CLI_END,
};

static fg_status write_files(const json_t *root, const char *config_path, fg_error *err)
{
    fgi_buf json = {0}, html = {0};
    fg_status status = FG_OK;
    (void)fgi_json_write(root, JSON_INDENT(2), &json);
    if (settings.as_json)
        (void)puts(cli_need(json.data));
    if (settings.summary != NULL)
        status = out_file_write(settings.summary, cli_need(json.data), json.size, err);
    if (status == FG_OK && page != NULL) {
        fgi_plan_page_put(&html, config_path, root);
        status = fgi_buf_status(&html, err);
        if (status == FG_OK)
            status = out_file_write(page, html.data, html.size, err);
    }
    fgi_buf_fini(&json);
    fgi_buf_fini(&html);
    return status;
}

static int plan_all(const plan_process *plan)
{
    fg_error err = {0};
    json_t *root = NULL;
    bool is_common;
    const fg_status status =
        plan_process_each(plan, plan->options.topology, &root, &is_common, &err);
    if (status != FG_OK && status != FG_EINVAL) /* the process has printed what is invalid */
        (void)cli_complain(CLI_FAILED, "plan", "%s", err.message);
    if (status != FG_OK)
        return CLI_USAGE;
    const json_t *first = json_array_get(json_object_get(root, "topologies"), 0);
    if (is_common && !settings.as_json)
        (void)cli_complain(CLI_FAILED, "plan", "%s",
                           json_string_value(json_object_get(first, "error")));
    int result = strcmp(json_string_value(json_object_get(root, "status")), "done") == 0
                     ? CLI_DONE
                     : CLI_FAILED;
    if (write_files(root, plan->config, &err) != FG_OK)
        result = cli_complain(CLI_FAILED, "plan", "%s", err.message);
    json_decref(root);
    return result;
}

/* Asks on the terminal whether to download a compiler; anything other than y is no. */
static bool is_wanted(const setup_missing *compiler)
{
    char answer[64] = "";
    (void)fprintf(stderr, "%s is not installed; `%s` downloads it.\nDownload it now? [y/N] ",
                  compiler->what, compiler->command);
    (void)fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        (void)fputc('\n', stderr); /* after Ctrl-D the cursor is still on the question's line */
    return answer[0] == 'y' || answer[0] == 'Y';
}

/* On a terminal, offers to download the compilers that are missing; prints failures. FG_EINVAL: a
 * name. */
static fg_status offer_compilers(const char *machines, fg_error *err)
{
    const setup_missing *missing[SETUP_COMPILERS];
    size_t count = 0;
    FGI_TRY_CTX(setup_find_missing(machines, missing, &count, err), err, "--topology=%s", machines);
    const bool is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    for (size_t i = 0; is_terminal && i < count; i++) {
        const setup_options how = {.compiler_only = missing[i]->compiler_only};
        if (!is_wanted(missing[i]))
            continue;
        fg_log_set(cli_print_log, NULL);
        if (setup_install(missing[i]->name, &how, NULL, err) != FG_OK)
            (void)cli_complain(CLI_FAILED, missing[i]->command + strlen("fulgurite "), "%s",
                               err->message);
        fg_log_set(NULL, NULL);
    }
    return FG_OK;
}

/* Checks options and configuration before a process is started for each machine. */
static fg_status check(const plan_process *plan, fg_error *err)
{
    fg_recipe *recipe = NULL;
    const fg_recipe_options opening = {.config = plan->config,
                                       .overrides = plan->overrides,
                                       .override_count = plan->override_count};
    const fg_status status = fg_recipe_open(&opening, &settings.command, &recipe, err);
    fg_recipe_close(recipe);
    return status;
}

static int run_plans(const cli_call *call)
{
    fg_error err = {0};
    settings.command.plan.sweep = (fg_ints){sweep.at, sweep.count};
    plan_process plan = {.config = call->count > 0 ? call->args[0] : NULL,
                         .overrides = call->overrides,
                         .override_count = (size_t)call->override_count,
                         .options = settings.command.plan,
                         .time_limit_s = time_limit_s,
                         .memory_limit_bytes = memory_limit_gb * 1e9,
                         .is_quiet = settings.is_quiet,
                         .talk = settings.is_quiet ? NULL : stderr,
                         .results = settings.as_json ? NULL : stdout};
    const char *topologies = plan.options.topology;
    if (topologies == NULL)
        return cli_complain(
            CLI_USAGE, "plan",
            "no machine was named: add --topology=NAME[,NAME], for example --topology=v5e-8");
    if (out_file_check("--html", page, &err) != FG_OK ||
        out_file_check("--summary", settings.summary, &err) != FG_OK)
        return cli_complain(CLI_USAGE, "plan", "%s", err.message);
    if (is_in_process && page != NULL)
        return cli_complain(CLI_USAGE, "plan", "--html=%s cannot be used with --in-process", page);
    if (is_in_process)
        return cli_run(call, &settings);
    if (check(&plan, &err) != FG_OK || offer_compilers(topologies, &err) != FG_OK)
        return cli_complain(CLI_USAGE, "plan", "%s", err.message);
    return plan_all(&plan);
}

const cli_command cli_plan = {
    .name = "plan",
    .arguments = "[CONFIG]",
    .summary = "estimate memory, time and cost of training on hardware you don't have",
    .details =
        "Compiles the training step for each named machine, with that machine's own "
        "compiler (install with fulgurite setup tpu, fulgurite setup --compile-only "
        "cuda13). Reports whether it fits, how much memory each part uses, the largest batch "
        "size that leaves a tenth free, and the communication between devices. Nothing is "
        "executed on a device. Times are the compiler's estimates, not measurements.\n\n"
        "TPUs are named by generation and shape in chips (v5e:2x4, v4:2x2x1) or by Google "
        "Cloud accelerator type (v2-8, v3-32, v4-8, v5litepod-8, v5p-8, v6e-8, tpu7x-8). "
        "kaggle and colab are the TPUs of these services. GPUs are a100, h100, h200, b200; "
        "several GPUs: h100:8.",
    .options = options,
    .max_args = 1,
    .takes_config = true,
    .run = run_plans,
};
