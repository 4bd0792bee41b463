/* draw.h - text plots: curves and a confusion matrix. They use braille and box characters if the
 * terminal's locale is UTF-8, and ASCII otherwise.
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

/* Draws up to FGI_DRAW_MAX_SERIES series into one chart with axes and a legend. The first is a fine
 * line (2 x 4 dots per character), each of the others has a mark. */
void fgi_draw_curves(fgi_buf *out, const fgi_draw_series *series, size_t count,
                     const fgi_draw_options *options);

/* Draws counts[class_count * class_count], row: true class, column: predicted; names may be NULL.
 * If there are not enough columns, lists the most frequent confusions instead. */
void fgi_draw_confusion(fgi_buf *out, const int64_t *counts, size_t class_count,
                        const char *const *names, const fgi_draw_options *options);

#endif
