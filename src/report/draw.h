/* draw.h - a confusion matrix and a table of classes in a terminal. They use box characters if its
 * locale is UTF-8, and ASCII otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_DRAW_H
#define FGI_REPORT_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

typedef struct fgi_draw_options {
    const char *title; /* NULL: "confusion matrix" */
    int columns;       /* of the whole table [80] */
    bool is_ascii;
} fgi_draw_options;

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
