/* report_run.c - the public functions for reports of runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/report.h>

#include "base/error.h"
#include "report/run_page.h"

fg_status fg_report_run(const char *folder, fg_report_form form, char **out, fg_error *err)
{
    static void (*const put[])(fgi_buf *, const fgi_run_view *) = {
        fgi_run_text_put, fgi_run_json_put, fgi_run_page_put};
    fgi_run_view view = {0};
    fgi_buf text = {0};
    *out = NULL;
    if ((size_t)form >= sizeof put / sizeof *put)
        return fgi_fail(err, FG_EINVAL, "form %d: expected one of fg_report_form", (int)form);
    fg_status status = fgi_run_view_open(folder, &view, err);
    if (status == FG_OK) {
        put[form](&text, &view);
        status = fgi_buf_status(&text, err);
    }
    if (status == FG_OK)
        *out = fgi_buf_take(&text);
    fgi_buf_fini(&text);
    fgi_run_view_close(&view);
    return status;
}
