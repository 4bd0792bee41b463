/* plot.h - SVG plots with axes, drawn by gnuplot in a separate process.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_PLOT_H
#define FGI_REPORT_PLOT_H

#include "report/helpers.h"
#include "report/draw.h"

typedef struct fgi_plot_options {
    const char *title, *x_label; /* NULL: none */
    const char *y_format;        /* gnuplot format of numbers on the y axis; a constant */
    bool is_log_y;               /* otherwise y starts at 0 */
    const char *limit_name;      /* NULL: no line is drawn at `limit`, and no legend */
    double limit;                /* of y */
} fgi_plot_options;

/* The series as lines with points over a logarithmic x axis (base 2), as an SVG document; free it.
 * Unsafe characters in names and labels are replaced by '?'. Returns NULL and an error if gnuplot
 * is not installed (err->status is FG_ENOTFOUND) or fails. */
char *fgi_plot_svg(const fgi_draw_series *series, size_t count, const fgi_plot_options *options,
                   fg_error *err);

#endif
