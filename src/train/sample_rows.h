/* sample_rows.h - what an evaluation computed for each sample: counts of classes and the samples
 * with the largest loss.
 *
 * The rows of a batch stay on the device until they are counted: when there are many, those of the
 * older batches, which have arrived by then; the rest when someone asks for the result.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SAMPLE_ROWS_H
#define FGI_TRAIN_SAMPLE_ROWS_H

#include <fulgurite/train.h>

#include "pjrt/pjrt.h"

enum { FGI_ROW_VALUES = 3 };      /* of a row on the device: target, prediction, loss */
enum { FGI_ROWS_HELD = 64 };      /* batches whose rows are on the device */
enum { FGI_ROWS_WORST = 12 };     /* samples that are kept */
enum { FGI_ROWS_CLASSES = 2048 }; /* more are not counted: the matrix would be larger than 32 MiB */

/* Zero-initialize it. */
typedef struct fgi_sample_rows {
    fg_client *client;              /* borrowed */
    fg_array *array[FGI_ROWS_HELD]; /* f32[B, FGI_ROW_VALUES], owned */
    int64_t valid[FGI_ROWS_HELD];   /* rows of each batch */
    int held;
    int64_t step, samples; /* of the weights; counted so far */
    fg_sample_row worst[FGI_ROWS_WORST];
    size_t worst_count;
    int64_t class_count, *confusion; /* [class_count, class_count]; 0 and NULL: none */
    float *host;                     /* a batch that is being counted */
    size_t host_bytes;
} fgi_sample_rows;

/* Starts an evaluation. */
void fgi_sample_rows_clear(fgi_sample_rows *rows);
void fgi_sample_rows_fini(fgi_sample_rows *rows);
/* Makes room for those of a batch, and counts older ones if there are many; class_count 0: of a
 * regression. */
fg_status fgi_sample_rows_reserve(fgi_sample_rows *rows, int64_t class_count, fg_error *err);
/* Adds those of a batch, of which `valid` are not padding. */
void fgi_sample_rows_add(fgi_sample_rows *rows, fg_array *take_array, int64_t valid);
/* Counts all that were added. Waits. */
fg_status fgi_sample_rows_count(fgi_sample_rows *rows, fg_error *err);

#endif
