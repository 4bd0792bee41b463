/* run_cli.c - runs a recipe: messages go to standard error, results to standard output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "doc/chart.h"
#include "out_file.h"

static void put_message(bool is_warning, const char *text)
{
    if (is_warning)
        cli_put_colored(CLI_WARNING, "warning:");
    (void)fprintf(stderr, "%s%s\n", is_warning ? " " : "", text);
}

/* Prints a recipe's messages; with --quiet, only warnings and errors. */
static void on_message(void *self, fg_log_level level, const char *text)
{
    const cli_run_options *o = self;
    if (!o->is_quiet || level >= FG_LOG_WARNING)
        put_message(level == FG_LOG_WARNING, text);
}

/* Prints the library's log. */
static void on_log(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level >= FG_LOG_WARNING)
        put_message(true, line);
}

/* During a fit, SIGUSR1 saves. At other times, it must not end the program. */
static void on_usr1(int number) { (void)number; }

static void on_hang(void *self, const fg_hang *hang)
{
    (void)self, (void)hang;
    _exit(CLI_HUNG); /* destructors would wait for the hanging device */
}

static bool has_progress(const cli_run_options *o)
{
    return !o->is_quiet && (o->progress == NULL || strcmp(o->progress, "none") != 0);
}

/* Completes the command by the arguments. */
static void complete_command(const cli_call *call, cli_run_options *o)
{
    if (o->is_schedule)
        o->command.kind = FG_RECIPE_SCHEDULE;
    o->command.fit.handle_signals = o->command.kind == FG_RECIPE_FIT;
    o->command.evaluate.data = call->count > 1 ? call->args[1] : NULL;
    o->command.evaluate.out = o->out;
    if (o->command.evaluate.sample.temperature == 0)
        o->command.evaluate.sample.temperature = FG_ZERO;
}

/* The overrides of the command line, and the keys that --resume and --profile are short for. */
typedef struct overrides {
    const char *at[CLI_MAX_OVERRIDES + 2];
    size_t count;
    fgi_buf keys[2];
} override_list;

static void add_key(override_list *all, size_t index, const char *key, const char *value,
                    const char *usual)
{
    if (value == NULL)
        return;
    fgi_buf_printf(&all->keys[index], "%s=%s", key, *value != '\0' ? value : usual);
    all->at[all->count++] = cli_need(all->keys[index].data);
}

static void find_overrides(const cli_call *call, const cli_run_options *o, override_list *out)
{
    for (; out->count < (size_t)call->override_count; out->count++)
        out->at[out->count] = call->overrides[out->count];
    add_key(out, 0, "trainer.resume", o->resume, "last");
    add_key(out, 1, "trainer.profile", o->profile, "auto");
}

static fg_recipe_options recipe_options(const cli_call *call, const override_list *overrides,
                                        cli_run_options *o)
{
    return (fg_recipe_options){.config = call->count > 0 ? call->args[0] : NULL,
                               .overrides = overrides->at,
                               .override_count = overrides->count,
                               .message = on_message,
                               .message_self = o,
                               .progress = has_progress(o) ? stderr : NULL,
                               .progress_style = has_progress(o) ? o->progress : NULL,
                               .progress_color = cli_has_color(stderr),
                               .hang = on_hang,
                               .stacks = stderr};
}

/* ---- results --------------------------------------------------------------------------------- */

static fg_status print_text(fg_recipe *recipe, fg_recipe_text which, fg_error *err)
{
    const char *text;
    FGI_TRY(fg_recipe_text_of(recipe, which, &text, err));
    (void)fputs(text, stdout);
    return FG_OK;
}

static bool has_curve(const cli_run_options *o)
{
    return o->command.kind == FG_RECIPE_FIND_LR || o->command.kind == FG_RECIPE_SCHEDULE;
}

static bool is_drawing(const cli_run_options *o)
{
    const bool has_plot = o->command.kind == FG_RECIPE_FIT || has_curve(o);
    const char *draw = o->draw != NULL ? o->draw : has_plot ? "auto" : "never";
    if (o->command.kind == FG_RECIPE_PREDICT || o->command.fit.fast_dev_run)
        return false;
    return strcmp(draw, "always") == 0 || (strcmp(draw, "auto") == 0 && isatty(STDOUT_FILENO) == 1);
}

/* A failed plot is not a failure of the run. */
static void draw(fg_recipe *recipe)
{
    fg_error err = {0};
    const char *text;
    if (fg_recipe_draw(recipe, cli_columns(stdout), !cli_is_utf8(), &text, &err) == FG_OK)
        (void)fputs(text, stdout);
    else
        put_message(true, err.message);
}

/* Writes the curve of a recipe to the files of a list, "a.csv,b.svg"; recipe NULL: checks their
 * names. list NULL: none. */
static fg_status put_curves(fg_recipe *recipe, const char *list, fg_error *err)
{
    fg_status status = FG_OK;
    char *names = list != NULL ? cli_strdup(list) : NULL, *rest = names, *name;
    while (status == FG_OK && (name = strsep(&rest, ",")) != NULL) {
        status = recipe != NULL ? fg_recipe_write_curve(recipe, name, err)
                                : fgi_chart_file_check(name, err);
        if (status == FG_OK && recipe == NULL)
            status = out_file_check("--out", name, err);
    }
    free(names);
    return status;
}

static fg_status check_files(const cli_run_options *o, fg_error *err)
{
    FGI_TRY(out_file_check("--summary", o->summary, err));
    return has_curve(o) ? put_curves(NULL, o->out, err) : out_file_check("--out", o->out, err);
}

/* Writes the outputs of a run other than its metrics. */
static fg_status print_special(fg_recipe *recipe, const cli_run_options *o, fg_error *err)
{
    if (has_curve(o))
        return put_curves(recipe, o->out, err);
    if (o->command.kind == FG_RECIPE_PLAN)
        return print_text(recipe, o->as_json ? FG_RECIPE_PLAN_JSON : FG_RECIPE_PLAN_LINES, err);
    if (o->command.kind == FG_RECIPE_BENCH)
        return print_text(recipe, o->as_json ? FG_RECIPE_BENCH_JSON : FG_RECIPE_BENCH_LINES, err);
    return o->command.kind == FG_RECIPE_PREDICT ? print_text(recipe, FG_RECIPE_PREDICTIONS, err)
                                                : FG_OK;
}

static fg_status write_summary(fg_recipe *recipe, const char *path, fg_error *err)
{
    const char *text;
    if (path == NULL)
        return FG_OK;
    FGI_TRY(fg_recipe_text_of(recipe, FG_RECIPE_SUMMARY, &text, err));
    return out_file_write(path, text, strlen(text), err);
}

static int exit_status(const fg_recipe *recipe, fg_status status)
{
    const bool is_usage = status == FG_EINVAL && !fg_recipe_result_of(recipe)->was_set_up;
    const int failed = is_usage ? CLI_USAGE : CLI_FAILED;
    return status == FG_OK ? CLI_DONE : status == FG_ESTOPPED ? CLI_STOPPED : failed;
}

/* Whether there is a result: also a curve that suggests nothing. */
static bool has_result(const fg_recipe *recipe, const cli_run_options *o, fg_status status)
{
    return status == FG_OK ||
           (o->command.kind == FG_RECIPE_FIND_LR && fg_recipe_lr_curve(recipe) != NULL);
}

/* Reports the samples without a prediction, which are a failure unless they are allowed. */
static int check_damaged(const fg_recipe *recipe, const cli_run_options *o)
{
    const fg_recipe_result *result = fg_recipe_result_of(recipe);
    if (result->damaged == 0)
        return CLI_DONE;
    if (!o->allows_damaged)
        return cli_complain(CLI_FAILED, result->command,
                            "%lld sample%s could not be read; the first one: %s\nthe other rows "
                            "are complete (--allow-damaged: exit with status 0)",
                            (long long)result->damaged, fgi_s(result->damaged),
                            result->damaged_error);
    (void)fprintf(stderr, "warning: %lld sample%s could not be read; the first one: %s\n",
                  (long long)result->damaged, fgi_s(result->damaged), result->damaged_error);
    return CLI_DONE;
}

static int report(fg_recipe *recipe, const cli_run_options *o, fg_status status, fg_error *err)
{
    const char *command = fg_recipe_result_of(recipe)->command;
    const bool is_plan = o->command.kind == FG_RECIPE_PLAN,
               is_known = has_result(recipe, o, status);
    const fg_status printed = is_known ? print_special(recipe, o, err) : FG_OK;
    status = printed != FG_OK ? printed : status;
    if (is_known && is_drawing(o))
        draw(recipe);
    if ((is_known || status == FG_ESTOPPED) && o->command.kind != FG_RECIPE_PREDICT && !is_plan)
        (void)print_text(recipe, FG_RECIPE_METRICS, err);
    int result = exit_status(recipe, status);
    if (is_plan && o->as_json && result == CLI_FAILED) /* its object contains the reason */
        (void)print_text(recipe, FG_RECIPE_PLAN_JSON, err);
    else if (result != CLI_DONE)
        (void)cli_complain(result, command, "%s", err->message);
    else
        result = check_damaged(recipe, o);
    if (write_summary(recipe, o->summary, err) != FG_OK)
        result = cli_complain(CLI_FAILED, command, "%s", err->message);
    return result;
}

/* ---- run ------------------------------------------------------------------------------------- */

static int print_config(fg_recipe *recipe, const char *how, fg_error *err)
{
    const bool is_plain = strcmp(how, "plain") == 0;
    return print_text(recipe, is_plain ? FG_RECIPE_CONFIG : FG_RECIPE_CONFIG_COMMENTED, err) ==
                   FG_OK
               ? CLI_DONE
               : cli_complain(CLI_FAILED, NULL, "%s", err->message);
}

/* Trains a sweep, and prints its report, also if it was interrupted or runs have failed. */
static int sweep(const fg_recipe_options *recipe, const cli_run_options *o)
{
    fg_error err = {0}, why = {0};
    char *folder = NULL, *text = NULL;
    const fg_sweep_options options = {
        .keys = o->sweep.at, .key_count = o->sweep.count, .fit = o->command.fit};
    if (o->print_config != NULL || o->is_schedule)
        return cli_complain(CLI_USAGE, "fit",
                            "--sweep cannot be combined with --print-config or --print-schedule");
    const fg_status status = fg_recipe_sweep(recipe, &options, &folder, &err);
    int result = status == FG_ESTOPPED ? CLI_STOPPED : status == FG_OK ? CLI_DONE : CLI_FAILED;
    if (folder == NULL)
        return cli_complain(status == FG_EINVAL ? CLI_USAGE : result, "fit", "%s", err.message);
    if (out_text("fit", fg_report_run(folder, FG_REPORT_TEXT, &text, &why), &text, NULL, &why) ||
        (o->summary != NULL && out_text("fit", fg_report_run(folder, FG_REPORT_JSON, &text, &why),
                                        &text, o->summary, &why)))
        result = CLI_FAILED;
    if (status != FG_OK)
        (void)cli_complain(result, "fit", "%s", err.message);
    fg_free(folder);
    return result;
}

/* A recipe that is open. */
static int run_recipe(fg_recipe *recipe, const cli_run_options *o)
{
    fg_error err = {0};
    if (o->print_config != NULL)
        return print_config(recipe, o->print_config, &err);
    return report(recipe, o, fg_recipe_run(recipe, &err), &err);
}

int cli_run(const cli_call *call, const cli_run_options *options)
{
    fg_error err = {0};
    cli_run_options o = *options;
    fg_recipe *recipe = NULL;
    int result;
    complete_command(call, &o);
    override_list overrides = {.count = 0};
    find_overrides(call, &o, &overrides);
    const fg_recipe_options recipe_of = recipe_options(call, &overrides, &o);
    if (o.command.kind == FG_RECIPE_FIT) /* a closed pipe must not end training */
        (void)signal(SIGPIPE, SIG_IGN);
    if (signal(SIGUSR1, on_usr1) == SIG_IGN)
        (void)signal(SIGUSR1, SIG_IGN);
    if (check_files(&o, &err) != FG_OK)
        return cli_complain(CLI_USAGE, call->command, "%s", err.message);
    fg_log_set(on_log, NULL);
    if (o.sweep.count > 0) {
        result = sweep(&recipe_of, &o);
    } else {
        const fg_status opened = fg_recipe_open(&recipe_of, &o.command, &recipe, &err);
        result = opened == FG_OK ? run_recipe(recipe, &o)
                                 : cli_complain(opened == FG_EINVAL ? CLI_USAGE : CLI_FAILED,
                                                call->command, "%s", err.message);
    }
    fg_recipe_close(recipe);
    fgi_buf_fini(&overrides.keys[0]);
    fgi_buf_fini(&overrides.keys[1]);
    fg_log_set(NULL, NULL);
    return result;
}
