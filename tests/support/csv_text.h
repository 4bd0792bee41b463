/* csv_text.h - CSV files written from text and opened, for the tests of src/data/csv*.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CSV_TEXT_H
#define CSV_TEXT_H

#include "fgt.h"

#include "data/dataset.h"

extern fg_error err;

fg_status csv_open_text(const char *text, const fg_csv_options *options, fg_csv_parts *out);

void csv_destroy(fg_csv_parts *parts);

/* The features of one row, and its class or number. */
enum { CSV_MOST_FEATURES = 32 };
typedef struct csv_sample {
    float x[CSV_MOST_FEATURES];
    union {
        int32_t s32;
        float f32;
    } y;
} csv_sample;

csv_sample csv_read_row(const fg_dataset *dataset, int64_t row);

void csv_expect_row(const fg_dataset *dataset, int64_t row, int count, const double *x);

void csv_expect_error(const char *text, const fg_csv_options *options, fg_status status,
                      const char *message);

static const fg_csv_options csv_plain = {.no_normalize = true, .task = "regression"};

void csv_write_text(const char *path, const char *text);

#endif
