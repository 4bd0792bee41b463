/* run_doc.h - the report of a run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_RUN_DOC_H
#define FGI_REPORT_RUN_DOC_H

#include <fulgurite/report.h>

#include "doc/doc.h"
#include "report/run_view.h"

/* As lines of a terminal, as a page, or as the object that these are written from. */
void fgi_run_report_put(fgi_buf *out, const fgi_run_view *view, fg_report_form form);
/* The confusion matrix, the classes and the worst samples of the last validation. */
void fgi_run_doc_evaluation(fgi_doc *d, const json_t *report);

/* Counts[count * count], row: true class, column: predicted; classes: objects with a `name`. In
 * lines, a matrix that is wider than the columns is a list of the most frequent confusions. */
typedef struct fgi_confusion {
    const int64_t *counts;
    size_t count;
    const json_t *classes;
} fgi_confusion;
void fgi_doc_confusion(fgi_doc *d, const fgi_confusion *confusion, int columns);
/* A table of the classes; of more than FGI_WORST_CLASSES, those with the lowest F1, the lowest
 * first. */
enum { FGI_WORST_CLASSES = 10 };
void fgi_doc_worst_classes(fgi_doc *d, const json_t *classes);

/* The lines that a fit ends with, from report.json (run_brief.c): the time of a step, what the
 * devices waited for, and the most important verdicts. Nothing of what is unknown. */
void fgi_run_brief_put(fgi_buf *out, const json_t *report);

/* ---- words (run_words.c) --------------------------------------------------------------------- */

/* "would save up to 20 % of the time: from 120 to 150 samples/s"; nothing if it is unknown. */
void fgi_run_gain_words(fgi_buf *out, const json_t *verdict);
/* "finished after 2 min 5 s: 1000 steps, 5 epochs, 1234 samples/s" */
void fgi_run_state_words(fgi_buf *out, const fgi_run_view *view);
/* "8 x TPU v3 (tpu)"; nothing if it is unknown. */
void fgi_run_device_words(fgi_buf *out, const fgi_run_view *view);
/* "high", "medium" or "note" of a verdict. */
const char *fgi_run_severity(const json_t *verdict);
/* The size of a loader stage's name in its key, "decode" in "decode_s". */
size_t fgi_run_stage_size(const char *key);

#endif
