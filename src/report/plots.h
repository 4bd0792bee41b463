/* plots.h - curves of the learning rate, in a terminal and as CSV, JSON, SVG and PNG: that of a
 * search, and learning rate and momentum of every step of a fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_PLOTS_H
#define FGI_REPORT_PLOTS_H

#include <fulgurite/train.h>
#include <fulgurite/tuner.h>
#include <jansson.h>

#include "base/buf.h"

/* The suggestions in the order in which they are printed. */
enum { FGI_LR_SUGGESTIONS = 4 };
extern const char *const fgi_lr_suggestion_names[FGI_LR_SUGGESTIONS];
double fgi_lr_suggestion(const fg_lr_suggestions *suggestions, size_t index);

/* {"valley": 0.003, "steep": null, ...}, a new reference; NULL: out of memory. */
json_t *fgi_lr_suggestions_json(const fg_lr_suggestions *suggestions);
/* The smoothed curve over the learning rate, and the suggestions. */
void fgi_lr_draw(const fg_lr_curve *curve, int columns, bool is_ascii, fgi_buf *out);
/* An fg_lr_curve as one object (docs/formats.md), a new reference. */
json_t *fgi_lr_json(const void *curve);

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
/* An object with the settings and the values of the steps, a new reference; NULL: out of memory. */
json_t *fgi_schedule_json(const fgi_schedule_view *view);
/* Writes a file; the end of its name, .csv, .json, .svg or .png, is the format. Errors: those of
 * fg_report_lr_write. */
fg_status fgi_schedule_write(const fgi_schedule_view *view, const char *path, fg_error *err);

#endif
