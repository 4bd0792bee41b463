/* plot.h - charts with axes as SVG, drawn by gnuplot in a process of its own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_PLOT_H
#define FGI_REPORT_PLOT_H

#include "report/helpers.h"
#include "report/draw.h"

typedef struct fgi_plot_options {
    const char *title, *x_label; /* NULL: none */
    const char *y_format;        /* of numbers at the y axis, as gnuplot takes it; a constant */
    bool is_log_y;               /* else y begins at 0 */
    const char *limit_name;      /* NULL: no line is drawn at `limit`, and no legend */
    double limit;                /* of y */
} fgi_plot_options;

/* The series as lines with points over a logarithmic x axis (base 2); an SVG document of
 * its own, to be freed. Letters in names and labels that a plot need not have become '?'. NULL with
 * an error: gnuplot is not there (err->status is FG_ENOTFOUND), or fails. */
char *fgi_plot_svg(const fgi_draw_series *series, size_t count, const fgi_plot_options *options,
                   fg_error *err);

#endif
