/* lr_plot.h - the curve of a search for a learning rate: in a terminal, and as CSV, JSON, SVG and
 * PNG.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_LR_PLOT_H
#define FGI_REPORT_LR_PLOT_H

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
/* An fg_lr_curve as one object (docs/formats.md). False when out of memory. */
bool fgi_lr_put_json(const void *curve, fgi_buf *out);

/* Whether fg_report_lr_write supports the extension: FG_OK or FG_EINVAL. */
fg_status fgi_lr_plot_check(const char *path, fg_error *err);

#endif
