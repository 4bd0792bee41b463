/* plot.h - SVG and PNG plots with axes, drawn by gnuplot in a separate process.
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
    int x_base;                  /* of the logarithmic x axis [2] */
    bool is_linear_x;            /* instead of a logarithmic one */
    const char *y_label;         /* NULL: none */
    const char *y2_label;        /* of a second y axis for the last series; NULL: there is none */
    bool has_marks; /* the first series is a line without points, the others are single points;
                       y does not start at 0 */
    bool is_png;    /* 1120 x 640 pixels, instead of an SVG document */
} fgi_plot_options;

/* The series as lines with points over a logarithmic x axis, as an SVG document; free it. Unsafe
 * characters in names and labels are replaced by '?'. Returns NULL and an error if gnuplot is not
 * installed (err->status is FG_ENOTFOUND) or fails. */
char *fgi_plot_svg(const fgi_draw_series *series, size_t count, const fgi_plot_options *options,
                   fg_error *err);
/* The same as an SVG document or a PNG file of *out_size bytes. */
char *fgi_plot(const fgi_draw_series *series, size_t count, const fgi_plot_options *options,
               size_t *out_size, fg_error *err);

#endif
