/* stream.h - a source being read: its samples in an order that is a function of (seed, epoch), as
 * the rows of one rank's batches. Remembers where the source stands, but any place can be gone to:
 * what was asked for last is the next place or one that is sought from the epoch's beginning.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_STREAM_H
#define FGI_DATA_STREAM_H

#include "data/dataset.h"
#include "data/sampler.h"

/* Used by one thread at a time. */
typedef struct fgi_stream fgi_stream;

/* Where a batch's rows go, and what is then told of them. */
typedef struct fgi_stream_batch {
    void *const *rows; /* of each field */
    int64_t *indices;  /* [batch / world] */
    int64_t valid;     /* rows that count; these come first */
    int64_t next_position;
    bool is_last; /* of its epoch */
    bool is_end;  /* there was no batch here: nothing is written */
} fgi_stream_batch;

/* sampler->count is not looked at. buffer: samples held in memory, of which each next one is drawn
 * where the sampler shuffles; at least 1. The dataset is borrowed. */
fg_status fgi_stream_create(fg_dataset *dataset, const fgi_sampler *sampler, int64_t buffer,
                            fgi_stream **out, fg_error *err);
void fgi_stream_destroy(fgi_stream *stream); /* NULL is allowed */
/* Reads the batch at `place`. After a failure any place can be asked for again. */
fg_status fgi_stream_read(fgi_stream *stream, fgi_sample_position place, fgi_stream_batch *batch,
                          fg_error *err);

#endif
