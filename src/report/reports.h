/* reports.h - everything that this folder writes: reports of runs and sweeps, plans, and curves of
 * the learning rate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_REPORTS_H
#define FGI_REPORT_REPORTS_H

#include <fulgurite/report.h>
#include <fulgurite/train.h>

#include "doc/doc.h"
#include "report/run_view.h"

/* ---- runs ------------------------------------------------------------------------------------ */

/* As lines of a terminal, as a page, or as the object that these are written from. */
void fgi_run_report_put(fgi_buf *out, const fgi_run_view *view, fg_report_form form);
/* The confusion matrix, the classes and the worst samples of the last validation. */
void fgi_run_doc_evaluation(fgi_doc *d, const json_t *report);

/* A table of the classes; of more than FGI_WORST_CLASSES, those with the lowest F1, the lowest
 * first. */
enum { FGI_WORST_CLASSES = 10 };
void fgi_doc_worst_classes(fgi_doc *d, const json_t *classes);

/* The lines that a fit ends with, from report.json: the time of a step, what the
 * devices waited for, and the most important verdicts. Nothing of what is unknown. */
void fgi_run_brief_put(fgi_buf *out, const json_t *report);

/* "finished after 2 min 5 s: 1000 steps, 5 epochs, 1234 samples/s" */
void fgi_run_state_words(fgi_buf *out, const fgi_run_view *view);
/* "would save up to 20 % of the time: from 120 to 150 samples/s"; nothing if it is unknown. */
void fgi_run_gain_words(fgi_buf *out, const json_t *verdict);

/* ---- sweeps and plans ------------------------------------------------------------------------ */

/* Appends the report of a sweep. */
fg_status fgi_sweep_report(const char *folder, fg_report_form form, fgi_buf *out, fg_error *err);

/* All machines as a page. Values that the object lacks are omitted. */
void fgi_plan_page_put(fgi_buf *out, const char *config_path, const json_t *root);
/* One machine's object as lines of a terminal. */
void fgi_plan_lines_put(fgi_buf *out, const json_t *machine);

/* The object of fgi_bench as lines of a terminal, with that many operations. */
void fgi_bench_lines_put(fgi_buf *out, const json_t *bench, size_t rows);

/* ---- curves of the learning rate, in a terminal and as CSV, JSON, SVG and PNG ---------------- */

/* The suggestions in the order in which they are printed. */
enum { FGI_LR_SUGGESTIONS = 4 };
extern const char *const fgi_lr_suggestion_names[FGI_LR_SUGGESTIONS];
double fgi_lr_suggestion(const fg_lr_suggestions *suggestions, size_t index);

/* {"valley": 0.003, "steep": null, ...}, a new reference; NULL: out of memory. */
json_t *fgi_lr_suggestions_json(const fg_lr_suggestions *suggestions);
/* The smoothed curve over the learning rate, and the suggestions. */
void fgi_lr_draw(const fg_lr_curve *curve, int columns, bool is_ascii, fgi_buf *out);
/* self: an fg_lr_curve, as one object (docs/formats.md), a new reference. */
json_t *fgi_lr_json(const void *self);

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
/* One object with the settings and the values of the steps, a new reference; NULL: out of memory.
 */
json_t *fgi_schedule_json(const fgi_schedule_view *view);
/* Writes a file; the end of its name, .csv, .json, .svg or .png, is the format. Errors: those of
 * fg_report_lr_write. */
fg_status fgi_schedule_write(const fgi_schedule_view *view, const char *path, fg_error *err);

#endif
