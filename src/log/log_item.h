/* log_item.h - texts, images, histograms and graphs for loggers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_LOG_ITEM_H
#define FGI_LOG_LOG_ITEM_H

#include <fulgurite/logger.h>

#include "base/arena.h"

enum { FGI_LOG_BINS = 64 };

/* A histogram, and what its item refers to. Zero-initialize it. */
typedef struct fgi_histogram {
    double edges[FGI_LOG_BINS + 1], counts[FGI_LOG_BINS];
    double minimum, maximum, sum, sum_squares, count;
} fgi_histogram;

/* Counts `count` values in memory, which need not be aligned. False if the dtype is not a
 * floating-point one, or if no value is finite: *out is then empty. */
bool fgi_histogram_make(fg_dtype dtype, const void *data, size_t count, fgi_histogram *out);
/* An item that refers to it and to `name`. */
fg_log_item fgi_histogram_item(const fgi_histogram *histogram, const char *name);

/* Copies everything that `from` refers to into the arena; false when out of memory. */
bool fgi_log_item_copy(const fg_log_item *from, fgi_arena *arena, fg_log_item *out);

#endif
