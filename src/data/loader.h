/* loader.h (internal) - a loader's slots, workers and positions, which loader_create.c creates and
 * loader.c uses.
 *
 * One lock protects all of `fg_loader` below it; the rows and error of a slot belong to the workers
 * that claimed rows, until the last of them is done.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_LOADER_H
#define FGI_DATA_LOADER_H

#include "base/thread.h"
#include "data/sampler.h"
#include "data/stages.h"
#include "data/stream.h"

enum { FGI_MOST_WORKERS = 1024 };

typedef enum fgi_slot_state {
    FGI_SLOT_FREE,
    FGI_SLOT_FILLING,
    FGI_SLOT_READY,
    FGI_SLOT_HELD
} fgi_slot_state;

typedef struct fgi_loader_slot {
    fg_host_batch batch; /* first member: the address of a batch is that of its slot */
    fgi_slot_state state;
    bool
        is_stale; /* the loader was moved while rows were being read: discard the slot afterwards */
    bool is_end;  /* for a source: there is no batch, the epoch has ended */
    uint64_t number;       /* in the order of delivery */
    int64_t claimed, done; /* rows */
    int64_t error_row;     /* the first known row that failed; -1: none */
    fg_error error;
    fg_type types[FG_MAX_FIELDS];
    void *data[FG_MAX_FIELDS];
    int64_t *indices;
} fgi_loader_slot;

struct fg_loader {
    fg_dataset *dataset; /* held */
    fgi_sampler sampler;
    fgi_stream *stream; /* for a source, else NULL: owned by the worker that has set is_reading */
    bool is_reading, claims_ended, deliveries_ended; /* of a source */
    int64_t rows, chunk_rows;                        /* of this rank's batch; per claim */
    bool run_ahead, is_synchronous;
    int64_t slot_bytes;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* signaled when there are rows to claim, or when stopping */
    pthread_cond_t ready; /* signaled when the batch that the consumer waits for is ready */
    bool has_lock, has_work, has_ready;

    fgi_loader_slot *slots;
    int slot_count;
    fgi_loader_slot *
        *by_number; /* [slot_count], slots that are being filled or ready, at index % slot_count */
    fgi_loader_slot *opening;   /* the slot with rows to claim, or NULL */
    fgi_sample_position claims; /* the next batch to open */
    fgi_sample_position deliveries;
    uint64_t claim_number, delivery_number;
    int free_count, ready_count;
    bool is_stopping, is_awaited;
    int idle_workers;

    fgi_thread *threads;
    int thread_count;
    int started_workers;
    int64_t cpu_ns[FGI_MOST_WORKERS]; /* processor time of each, at its last chunk of rows */

    fg_loader_stats stats;
    int64_t ready_sum, next_calls, wait_ns, work_ns;
    int64_t rows_read;
    fgi_load_times times; /* sum to work_ns, or to wait_ns of a synchronous loader */
};

/* Sets the next batch to open. At the end of an epoch that is the first of the next epoch, unless
 * it would be empty. */
void fgi_loader_set_claims(fg_loader *loader, fgi_sample_position place);
/* The samples of the batch that starts at `place`, rows 0 to count-1 of this rank; not of a source.
 */
void fgi_loader_samples(const fg_loader *loader, fgi_sample_position place, size_t count,
                        int64_t *out_indices);
/* A worker thread: reads rows until the loader stops. self is the fg_loader; returns NULL. */
void *fgi_loader_work(void *self);
/* Writes the processor time of each worker so far, and returns their number. Any thread. */
int fgi_loader_cpu(fg_loader *loader, int64_t out_ns[FGI_MOST_WORKERS]);

#endif
