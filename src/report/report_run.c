/* report_run.c - the public function for reports of runs and sweeps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/report.h>

#include "base/error.h"
#include "base/buf.h"
#include "input/json_file.h"
#include "report/run_doc.h"
#include "report/sweep_view.h"

static fg_status put_run(const char *folder, fg_report_form form, fgi_buf *out, fg_error *err)
{
    fgi_run_view view = {0};
    const fg_status status = fgi_run_view_open(folder, &view, err);
    if (status == FG_OK && form == FG_REPORT_JSON)
        fgi_run_json_put(out, &view);
    else if (status == FG_OK)
        fgi_run_doc_put(out, &view, form == FG_REPORT_HTML);
    fgi_run_view_close(&view);
    return status;
}

static fg_status put_sweep(const char *folder, fg_report_form form, fgi_buf *out, fg_error *err)
{
    fgi_sweep_view view = {0};
    const fg_status status = fgi_sweep_view_open(folder, &view, err);
    if (status == FG_OK && form != FG_REPORT_JSON) {
        fgi_sweep_doc_put(out, &view, form == FG_REPORT_HTML);
    } else if (status == FG_OK) {
        fgi_json_print(out, view.record, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        fgi_buf_putc(out, '\n');
    }
    fgi_sweep_view_close(&view);
    return status;
}

fg_status fg_report_run(const char *folder, fg_report_form form, char **out, fg_error *err)
{
    fgi_buf text = {0};
    bool is_sweep = false;
    *out = NULL;
    if ((unsigned)form > FG_REPORT_HTML)
        return fgi_fail(err, FG_EINVAL, "form %d: expected one of fg_report_form", (int)form);
    FGI_TRY(fgi_sweep_view_look(folder, &is_sweep, err));
    fg_status status =
        is_sweep ? put_sweep(folder, form, &text, err) : put_run(folder, form, &text, err);
    if (status == FG_OK)
        status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        *out = fgi_buf_take(&text);
    fgi_buf_fini(&text);
    return status;
}
