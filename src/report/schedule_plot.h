/* schedule_plot.h - learning rate and momentum of every step of a fit: in a terminal, and as CSV,
 * JSON, SVG and PNG.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_SCHEDULE_PLOT_H
#define FGI_REPORT_SCHEDULE_PLOT_H

#include <fulgurite/train.h>

#include "base/buf.h"

/* A schedule over the steps of a fit. */
typedef struct fgi_schedule_view {
    const char *name;            /* "onecycle" */
    const fg_schedule *schedule; /* borrowed */
    fg_fit_settings settings;
    double momentum; /* of the optimizer, for schedules that do not set it; NaN: not known */
} fgi_schedule_view;

/* A table of five steps and the highest learning rate, and what the steps are. */
void fgi_schedule_put_table(const fgi_schedule_view *view, fgi_buf *out);
/* The learning rate over the steps, and the momentum if it changes. */
void fgi_schedule_draw(const fgi_schedule_view *view, int columns, bool is_ascii, fgi_buf *out);
/* One object with the settings and the values of the steps. False when out of memory. */
bool fgi_schedule_put_json(const fgi_schedule_view *view, fgi_buf *out);
/* Writes a file; the end of its name, .csv, .json, .svg or .png, is the format. Errors: those of
 * fg_report_lr_write. */
fg_status fgi_schedule_write(const fgi_schedule_view *view, const char *path, fg_error *err);

#endif
