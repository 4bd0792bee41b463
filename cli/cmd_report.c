/* fulgurite report RUN: what a run did, where its time went, and what to change.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/report.h>
#include <string.h>
#include <unistd.h>

#include "other_run.h"
#include "out_file.h"
#include "recipe/folder/run_dir.h"

static bool as_json, follows;
static const char *page, *port;
static const cli_option options[] = {
    CLI_FLAG('j', "json", &as_json, "print one JSON object"),
    CLI_TEXT(0, "html", &page, "FILE", "write an HTML page with plots instead"),
    CLI_FLAG('f', "follow", &follows, "show new results until the run ends, with its exit status"),
    CLI_OPTIONAL(0, "serve", &port, "PORT",
                 "serve the page on this machine (default: any free port) until Ctrl-C"),
    CLI_END,
};

static bool show(void *self, const char *text)
{
    const bool *is_screen = self;
    (void)fputs(*is_screen ? "\033[H\033[2J" : "", stdout);
    (void)fputs(text, stdout);
    return fflush(stdout) == 0;
}

static int follow(const char *folder)
{
    fg_error err = {0};
    const char *state;
    bool is_screen = isatty(STDOUT_FILENO) == 1;
    const follow_options how = {.show = show, .self = &is_screen, .whole = is_screen};
    if (follow_run(folder, &how, &state, &err) != FG_OK)
        return cli_complain(CLI_FAILED, "report", "%s", err.message);
    const bool is_stopped = strcmp(state, "stopped") == 0;
    if (is_stopped || strcmp(state, "killed") == 0)
        return cli_complain(is_stopped ? CLI_STOPPED : CLI_FAILED, "report", "the run was %s",
                            state);
    return strcmp(state, "failed") == 0 ? cli_complain(CLI_FAILED, "report", "the run has failed")
                                        : CLI_DONE;
}

static int print(const char *folder)
{
    fg_error err = {0};
    char *text = NULL;
    bool is_screen = false;
    const fg_report_form form = page != NULL ? FG_REPORT_HTML
                                : as_json    ? FG_REPORT_JSON
                                             : FG_REPORT_TEXT;
    const fg_status status = port != NULL ? serve_run(folder, port, show, &is_screen, &err)
                                          : fg_report_run(folder, form, &text, &err);
    return out_text("report", status, &text, page, &err);
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    char *folder = NULL;
    if (as_json + follows + (page != NULL) + (port != NULL) > 1)
        return cli_complain(CLI_USAGE, "report",
                            "--json, --html, --follow and --serve cannot be combined");
    if (out_file_check("--html", page, &err) != FG_OK)
        return cli_complain(CLI_USAGE, "report", "%s", err.message);
    if (fgi_run_find(call->args[0], &folder, &err) != FG_OK)
        return cli_complain(CLI_FAILED, "report", "%s", err.message);
    const int status = follows ? follow(folder) : print(folder);
    fg_free(folder);
    return status;
}

const cli_command cli_report = {
    .name = "report",
    .arguments = "RUN",
    .summary = "show what a run did, where its time went, and what to change",
    .details =
        "RUN is a run's folder, or `last`, the newest run in runs/. Reads report.json, "
        "metrics.jsonl and config.yaml; the run may still be in progress. The HTML page is one "
        "file that needs no network.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
