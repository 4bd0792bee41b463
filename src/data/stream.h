/* stream.h - reads a source: its samples, in an order that is a function of (seed, epoch), as the
 * rows of one rank's batches. It keeps the position in the source; for any other position it
 * restarts at the beginning of the epoch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_STREAM_H
#define FGI_DATA_STREAM_H

#include "data/dataset.h"
#include "data/sampler.h"

/* Used by one thread at a time. */
typedef struct fgi_stream fgi_stream;

/* Destination of the rows of a batch, and information about them. */
typedef struct fgi_stream_batch {
    void *const *rows; /* of each field */
    int64_t *indices;  /* [batch / world] */
    int64_t valid;     /* number of valid rows; these come first */
    int64_t next_position;
    bool is_last; /* of its epoch */
    bool is_end;  /* there was no batch here: nothing was written */
} fgi_stream_batch;

/* sampler->count is ignored. buffer: samples held in memory, from which the next one is drawn if
 * the sampler shuffles; at least 1. The dataset is borrowed. */
fg_status fgi_stream_create(fg_dataset *dataset, const fgi_sampler *sampler, int64_t buffer,
                            fgi_stream **out, fg_error *err);
void fgi_stream_destroy(fgi_stream *stream); /* NULL is allowed */
/* Reads the batch at `place`. After a failure, any position can be requested again. */
fg_status fgi_stream_read(fgi_stream *stream, fgi_sample_position place, fgi_stream_batch *batch,
                          fg_error *err);

#endif
