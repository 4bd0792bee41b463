/* chart.h - one chart: curves over a common x axis, drawn into a terminal, a page, an SVG document
 * or a PNG file. All of them have the same axes with the same labels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DOC_CHART_H
#define FGI_DOC_CHART_H

#include <fulgurite/base.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A curve; one of a single point is a mark. Points with a NaN are left out. Without x, it is a
 * limit: a dashed line at y[0], from the left to the right. */
typedef struct fgi_series {
    const char *name;
    const double *x, *y;
    size_t count;
} fgi_series;

enum { FGI_CHART_SERIES = 8 }; /* with a color of their own */

typedef enum fgi_scale {
    FGI_SCALE_AUTO,   /* logarithmic, if all values are positive and their range is over a factor of
                       100. Few values that are far from all others are drawn at the edge */
    FGI_SCALE_LINEAR, /* shows all values, like */
    FGI_SCALE_LOG,    /* that of positive values */
} fgi_scale;

typedef struct fgi_chart {
    const char *title, *x_label; /* NULL: none */
    const char *y_unit;          /* of the labels, "B": "20 MB"; NULL: "20M" */
    const fgi_series *series;
    size_t count;
    fgi_scale y;
    bool is_log_x;   /* x is positive */
    bool has_real_x; /* labels of x may be fractions; of a logarithmic axis, they always may */
    bool is_stacked; /* areas, each on top of those before it; all series have the same x */
    int color;       /* of the first series */
} fgi_chart;

/* ---- renderers ------------------------------------------------------------------------------- */

/* As text: the first series is a fine line of braille characters (2 x 4 dots; of '*' in ASCII),
 * the others have marks, of which there are 4. columns, rows: of the whole chart [80, 16]. */
typedef struct fgi_chart_size {
    int columns, rows;
    bool is_ascii;
} fgi_chart_size;
void fgi_chart_put_text(fgi_buf *out, const fgi_chart *chart, fgi_chart_size size);

/* As a figure of a page (html.h); the words for those who cannot see it have the first and the last
 * value of each curve. Appends nothing if no value is finite. */
void fgi_chart_put_figure(fgi_buf *out, const fgi_chart *chart);
/* The rules for its colors, light and dark. */
extern const char fgi_chart_style[];

/* As an SVG document, one chart above the other. */
void fgi_chart_put_svg(fgi_buf *out, const fgi_chart *charts, size_t count);
/* The same as a PNG file, 1200 pixels wide. Errors: FG_ENOTFOUND (librsvg is not installed),
 * FG_ENOMEM. */
fg_status fgi_chart_put_png(fgi_buf *out, const fgi_chart *charts, size_t count, fg_error *err);

/* Writes charts, or the data they are drawn from, to a file, which is replaced atomically; the end
 * of its name is the form: .csv, .json, .svg or .png. Errors: FG_EINVAL (another name), FG_ENOMEM,
 * those of fgi_chart_put_png and fg_file_write. */
typedef struct fgi_chart_file {
    const fgi_chart *charts;
    size_t count;
    const void *self;
    void (*put_csv)(const void *self, fgi_buf *out);
    json_t *(*json)(const void *self); /* a new reference; NULL: out of memory */
} fgi_chart_file;
fg_status fgi_chart_file_write(const fgi_chart_file *file, const char *path, fg_error *err);
fg_status fgi_chart_file_check(const char *path, fg_error *err);

/* The range of finite values, at least one; of their logarithms, if is_log. It is logarithmic if
 * all are positive and the largest is over log_ratio times the smallest. It leaves out outliers: at
 * most one in 20 values, or one. Sorts the values, and replaces them by their logarithms. */
typedef struct fgi_range {
    double low, high;
    bool is_log;
    size_t above, below; /* values that are larger or smaller */
} fgi_range;
void fgi_chart_find_range(double *values, size_t count, double log_ratio, fgi_range *out);

#endif
