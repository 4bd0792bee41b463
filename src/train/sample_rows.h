/* sample_rows.h - what an evaluation computed for each sample: kept on the device until the next
 * evaluation of the stage, and copied to the host only if someone asks for it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SAMPLE_ROWS_H
#define FGI_TRAIN_SAMPLE_ROWS_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"

enum { FGI_ROW_VALUES = sizeof(fg_sample_row) / sizeof(float) };
enum { FGI_MOST_ROWS = 1 << 20 }; /* further samples have none */

/* Zero-initialize it. */
typedef struct fgi_sample_rows {
    fg_array **array; /* f32[B, FGI_ROW_VALUES] of each batch, owned */
    int64_t *valid;   /* rows of each batch */
    size_t count, capacity;
    int64_t rows, step; /* rows of all; the step after which they were computed */
} fgi_sample_rows;

/* Adds those of a batch. When out of memory, none are kept. */
void fgi_sample_rows_add(fgi_sample_rows *rows, fg_array *take_array, int64_t valid);
void fgi_sample_rows_clear(fgi_sample_rows *rows);
void fgi_sample_rows_fini(fgi_sample_rows *rows);
/* Copies them to the host, in the order of the samples: rows->rows of them (fgi_free), NULL if
 * there are none. Waits. */
fg_status fgi_sample_rows_read(const fgi_sample_rows *rows, fg_client *client, fg_sample_row **out,
                               fg_error *err);

#endif
