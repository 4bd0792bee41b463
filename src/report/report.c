/* report.c - the public functions of reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/report.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "input/json_file.h"
#include "base/reserved.h"
#include "report/checkup.h"
#include "report/chip_table.h"
#include "report/plan_page.h"

void fg_report_free(char *text) { fgi_free(text); }

static fg_status give(fgi_buf *text, char **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY(fgi_buf_status(text, err));
    *out = text->size > 0 ? fgi_buf_take(text) : fgi_strdup("");
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status read_plan(const char *json, json_t **out, fg_error *err)
{
    return fgi_json_parse("plan", 0, json, strlen(json), out, err);
}

fg_status fg_report_plan_lines(const char *json, char **out, fg_error *err)
{
    json_t *plan = NULL;
    fgi_buf text = {0};
    *out = NULL;
    FGI_TRY(read_plan(json, &plan, err));
    fgi_plan_print(&text, plan);
    json_decref(plan);
    const fg_status status = give(&text, out, err);
    fgi_buf_fini(&text);
    return status;
}

fg_status fg_report_plan_page(const char *json, const char *config_path, char **out, fg_error *err)
{
    json_t *plan = NULL;
    fgi_buf text = {0};
    *out = NULL;
    FGI_TRY(read_plan(json, &plan, err));
    fgi_plan_page_put(&text, config_path, plan);
    json_decref(plan);
    const fg_status status = give(&text, out, err);
    fgi_buf_fini(&text);
    return status;
}

fg_status fg_report_chips(bool as_json, char **out, fg_error *err)
{
    fgi_buf text = {0};
    fgi_chip_table_print(&text, as_json);
    const fg_status status = give(&text, out, err);
    fgi_buf_fini(&text);
    return status;
}

static void examine(fgi_checkup *d, const fg_checkup_options *o)
{
    for (size_t i = 0; i < fg_host_finding_count(o->host); i++)
        d->findings[d->finding_count++] = *fg_host_finding_at(o->host, i);
    if (!o->host_only)
        fgi_checkup_probe(d, o->data);
    if (!o->host_only && !o->skip_test)
        fgi_checkup_run_test(d, o->accelerator, o->devices, o->timeout_s);
}

fg_status fg_report_checkup(const fg_checkup_options *options, char **out, bool *out_is_wrong,
                            fg_error *err)
{
    fgi_buf text = {0};
    *out = NULL;
    *out_is_wrong = false;
    FGI_TRY_RESERVED(fg_checkup_options, options, err);
    if (options->host == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "fg_checkup_options.host is NULL: expected one of "
                        "fg_host_open");
    fgi_checkup *d = fgi_calloc(1, sizeof(*d));
    if (d == NULL)
        return fgi_no_memory(err);
    d->host = options->host;
    d->report = options->as_json ? fgi_checkup_print_json : fgi_checkup_print;
    d->hang = options->hang;
    d->hang_self = options->hang_self;
    examine(d, options);
    d->report(&text, d);
    *out_is_wrong = fgi_checkup_is_wrong(d);
    fgi_free(d);
    const fg_status status = give(&text, out, err);
    fgi_buf_fini(&text);
    return status;
}
