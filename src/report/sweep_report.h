/* sweep_report.h - sweeps: their record, and their report.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_SWEEP_REPORT_H
#define FGI_REPORT_SWEEP_REPORT_H

#include <fulgurite/report.h>
#include <jansson.h>

#include "base/buf.h"

/* Whether a folder is that of a sweep. Errors: FG_ENOMEM. */
fg_status fgi_sweep_look(const char *folder, bool *out_is_sweep, fg_error *err);
/* Reads sweep.json; *out is NULL if there is none. Errors: those of fgi_run_view_open. */
fg_status fgi_sweep_read(const char *folder, json_t **out, fg_error *err);
/* Appends the report of a sweep. */
fg_status fgi_sweep_report(const char *folder, fg_report_form form, fgi_buf *out, fg_error *err);

#endif
