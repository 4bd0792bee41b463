/* loader.h (internal) - a loader's slots, workers and positions, which loader_create.c makes and
 * loader.c runs.
 *
 * One lock guards all of `fg_loader` below it; each slot's rows and error belong to the workers
 * that claimed rows until the last of them reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_LOADER_H
#define FGI_DATA_LOADER_H

#include "base/thread.h"
#include "data/sampler.h"
#include "data/stream.h"

typedef enum fgi_slot_state {
    FGI_SLOT_FREE,
    FGI_SLOT_FILLING,
    FGI_SLOT_READY,
    FGI_SLOT_HELD
} fgi_slot_state;

typedef struct fgi_loader_slot {
    fg_host_batch batch; /* first: a batch's address is its slot's */
    fgi_slot_state state;
    bool is_stale;         /* a jump came while rows were being read: drop it when they are */
    bool is_end;           /* of a source: there is no batch, the epoch has ended */
    uint64_t number;       /* in the order of delivery */
    int64_t claimed, done; /* rows */
    int64_t error_row;     /* the first row that failed, of those known; -1: none */
    fg_error error;
    fg_type types[FG_MAX_FIELDS];
    void *data[FG_MAX_FIELDS];
    int64_t *indices;
} fgi_loader_slot;

struct fg_loader {
    fg_dataset *dataset; /* held */
    fgi_sampler sampler;
    fgi_stream *stream; /* of a source, else NULL: the worker's that has is_reading set */
    bool is_reading, claims_ended, deliveries_ended; /* of a source */
    int64_t rows, chunk_rows;                        /* of this rank's batch; of one claim */
    bool run_ahead, is_synchronous;
    int64_t slot_bytes;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* rows to claim, or stopping */
    pthread_cond_t ready; /* the batch that the consumer waits for */
    bool has_lock, has_work, has_ready;

    fgi_loader_slot *slots;
    int slot_count;
    fgi_loader_slot **by_number; /* [slot_count], slots filling or ready, at number % slot_count */
    fgi_loader_slot *opening;    /* the slot with rows to claim, or NULL */
    fgi_sample_position claims;  /* the next batch to be opened */
    fgi_sample_position deliveries;
    uint64_t claim_number, delivery_number;
    int free_count, ready_count;
    bool is_stopping, is_awaited;
    int idle_workers;

    fgi_thread *threads;
    int thread_count;

    fg_loader_stats stats;
    int64_t ready_sum, next_calls, wait_ns, work_ns;
};

/* Sets the next batch to be opened. At an epoch's end that is the first of the next epoch, unless
 * this would be empty. */
void fgi_loader_set_claims(fg_loader *loader, fgi_sample_position place);
/* A worker's thread: reads rows until the loader stops. self is the fg_loader; returns NULL. */
void *fgi_loader_work(void *self);

#endif
