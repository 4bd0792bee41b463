/* chart.h - curves as inline SVG with the colors of the page (html.h), dark or light.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_CHART_H
#define FGI_REPORT_CHART_H

#include "base/buf.h"
#include "report/draw.h"

typedef struct fgi_chart_options {
    const char *title, *x_label;
    bool is_log;     /* both axes, whose values are positive */
    bool has_real_x; /* x has fractions; else it is steps */
    bool is_stacked; /* areas, each on top of those before it; all series have the same x */
    int color;       /* of the first series */
} fgi_chart_options;

/* A figure with a plot, its title and a legend; the words for those who cannot see it have the
 * first and last value of each curve. The y axis is logarithmic if all values are positive and
 * their range is over a factor of 100; outliers of curves are drawn at its edge (draw.h), and the
 * caption says both. Appends nothing if no value is finite. */
void fgi_chart_put(fgi_buf *out, const fgi_draw_series *series, size_t count,
                   const fgi_chart_options *options);

#endif
