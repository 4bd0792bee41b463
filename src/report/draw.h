/* draw.h - text plots: curves, a confusion matrix, and a table of classes. They use braille and box
 * characters if the terminal's locale is UTF-8, and ASCII otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_DRAW_H
#define FGI_REPORT_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* One line of a plot; NaN values are omitted. */
typedef struct fgi_draw_series {
    const char *name;
    const double *x, *y;
    size_t count;
} fgi_draw_series;

enum { FGI_DRAW_MAX_SERIES = 5 };

typedef struct fgi_draw_options {
    const char *title;   /* NULL: none */
    const char *x_label; /* NULL: none */
    int columns, rows;   /* of the whole plot [80, 16] */
    bool is_ascii;
} fgi_draw_options;

/* The range of an axis: of logarithms to base 10, if is_log. */
typedef struct fgi_draw_range {
    double low, high;
    bool is_log;
    size_t above, below; /* values that are larger or smaller */
} fgi_draw_range;

/* The range of finite values, at least one. It is logarithmic if all are positive and the largest
 * is over log_ratio times the smallest. It leaves out outliers: at most one in 20 values, or one.
 * Sorts the values, and replaces them by their logarithms. */
void fgi_draw_find_range(double *values, size_t count, double log_ratio, fgi_draw_range *out);
/* Appends " (log scale; 1 value above the plot)", or nothing. */
void fgi_draw_put_notes(fgi_buf *out, const fgi_draw_range *range);

/* Draws up to FGI_DRAW_MAX_SERIES series into one chart with axes and a legend. The first is a fine
 * line (2 x 4 dots per character), each of the others has a mark. */
void fgi_draw_curves(fgi_buf *out, const fgi_draw_series *series, size_t count,
                     const fgi_draw_options *options);

/* Draws counts[class_count * class_count], row: true class, column: predicted; names may be NULL.
 * If there are not enough columns, lists the most frequent confusions instead. */
void fgi_draw_confusion(fgi_buf *out, const int64_t *counts, size_t class_count,
                        const char *const *names, const fgi_draw_options *options);

/* A class of an evaluation; a fraction that is NaN is unknown. */
typedef struct fgi_draw_class {
    const char *name;
    int64_t samples;
    double precision, recall, f1;
} fgi_draw_class;

enum { FGI_DRAW_MAX_CLASSES = 10 };

/* Draws a table of the classes; of more than FGI_DRAW_MAX_CLASSES, those with the lowest F1, the
 * lowest first. */
void fgi_draw_classes(fgi_buf *out, const fgi_draw_class *classes, size_t count,
                      const fgi_draw_options *options);

#endif
