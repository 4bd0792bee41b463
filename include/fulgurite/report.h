/* report.h - results as human-readable text, JSON and HTML: part of libfulgurite_recipe.
 *
 * Each function returns a separate string, which the caller frees with fg_free. All are
 * thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_REPORT_H
#define FULGURITE_REPORT_H

#include <fulgurite/base.h>
#include <fulgurite/tuner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- runs ------------------------------------------------------------------------------------ */

/* The forms of a report. The values are stable. */
typedef enum fg_report_form {
    FG_REPORT_TEXT = 0, /* lines for a terminal */
    FG_REPORT_JSON = 1, /* one object: run, report (report.json or null), metrics, config */
    FG_REPORT_HTML = 2  /* a page with plots that needs no script, other file or network */
} fg_report_form;

/* The report of the run in `folder`: verdicts, where the time of its devices went, metrics, step
 * times, data loader, compiled programs, host reads, machine and configuration. Reads report.json,
 * metrics.jsonl and config.yaml; unknown parts are left out. The run may be in progress. For a
 * sweep (fg_recipe_sweep in recipe.h): a table and a plot of its runs, sweep.json, or a page with
 * the curves of the best ones. Errors: FG_ENOTFOUND (no run), FG_EFORMAT (a file is damaged; the
 * message has its path and byte), FG_EUNSUPPORTED (report.json of a newer version), FG_EIO,
 * FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_report_run(const char *folder, fg_report_form form, char **out,
                                           fg_error *err);

/* Runs side by side, 1 to 8: results, the last and best value of each metric, the fractions of the
 * time, and the keys of config.yaml that differ. The object has "runs" and "rows", each with
 * "section", "name" and one of "values" for each run (null: not known); the page has the curves of
 * all runs in the same plots. Errors: those of fg_report_run; FG_EINVAL (count). */
FG_API FG_MUST_USE fg_status fg_report_compare(const char *const *folders, size_t count,
                                               fg_report_form form, char **out, fg_error *err);

/* ---- learning rates -------------------------------------------------------------------------- */

/* Writes a curve to a file, which is replaced atomically. The extension is the format: .csv
 * (lr, smoothed, loss_1 and so on of each segment, and suggestion: the names of those nearest to
 * the row, separated by spaces), .json (docs/formats.md), or .svg and .png: a plot with the
 * suggestions. Errors: FG_EINVAL (another extension), FG_ENOTFOUND (.png needs librsvg), FG_ENOMEM
 * and those of fg_file_write. */
FG_API FG_MUST_USE fg_status fg_report_lr_write(const fg_lr_curve *curve, const char *path,
                                                fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
