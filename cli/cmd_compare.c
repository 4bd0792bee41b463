/* fulgurite compare RUN RUN...: several runs side by side.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/report.h>

#include "out_file.h"
#include "recipe/folder/run_dir.h"

enum { RUNS_MAX = 8 };

static bool as_json;
static const char *page;
static const cli_option options[] = {
    CLI_FLAG('j', "json", &as_json, "print one JSON object"),
    CLI_TEXT(0, "html", &page, "FILE", "write an HTML page with overlaid curves instead"),
    CLI_END,
};

static fg_status compare(const cli_call *call, char **out, fg_error *err)
{
    char *folders[RUNS_MAX] = {NULL};
    const fg_report_form form = page != NULL ? FG_REPORT_HTML
                                : as_json    ? FG_REPORT_JSON
                                             : FG_REPORT_TEXT;
    fg_status status = FG_OK;
    for (int i = 0; status == FG_OK && i < call->count; i++)
        status = fgi_run_find(call->args[i], &folders[i], err);
    if (status == FG_OK)
        status =
            fg_report_compare((const char *const *)folders, (size_t)call->count, form, out, err);
    for (int i = 0; i < call->count; i++)
        fg_free(folders[i]);
    return status;
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    char *text = NULL;
    if (as_json && page != NULL)
        return cli_complain(CLI_USAGE, "compare", "--json and --html cannot be combined");
    if (out_file_check("--html", page, &err) != FG_OK)
        return cli_complain(CLI_USAGE, "compare", "%s", err.message);
    return out_text("compare", compare(call, &text, &err), &text, page, &err);
}

const cli_command cli_compare = {
    .name = "compare",
    .arguments = "RUN RUN...",
    .summary = "compare the results, times and settings of runs",
    .details = "Compares up to eight run folders; `last` is the newest run. Lists the last and "
               "best value of each "
               "metric, where the time went, and the keys of the configuration that differ. Runs "
               "may have different lengths and metrics.",
    .options = options,
    .min_args = 2,
    .max_args = RUNS_MAX,
    .run = run,
};
