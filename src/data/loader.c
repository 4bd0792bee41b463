/* loader.c - batches prepared by threads. A ring of slots holds fixed-shape batches; a worker
 * claims some rows of the slot that is being filled, or opens the next free slot, and reads without
 * the lock. Batches are numbered in epoch order and delivered in that order, so the result does not
 * depend on the number or timing of threads. The loader owns slots and threads and has a reference
 * to the dataset.
 *
 * A source has one reader: each batch is read completely by one thread, one batch after the other,
 * and only then is the start of the next batch known. If an epoch has no batch at all, or a resume
 * is at its end, a slot without a batch marks that.
 *
 * One lock protects all of `fg_loader` below it; the rows and error of a slot belong to the workers
 * that claimed rows, until the last of them is done.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/loader.h"

#include <inttypes.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/resources.h"
#include "base/thread.h"
#include "base/timeline.h"
#include "data/stages.h"
#include "data/stream.h"

enum { MANY_SLOTS = 16 };

typedef enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_HELD } slot_state;

typedef struct slot {
    fg_host_batch batch; /* first member: the address of a batch is that of its slot */
    slot_state state;
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
} slot;

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
    bool has_lock, has_ready;

    slot *slots;
    int slot_count;
    slot *
        *by_number; /* [slot_count], slots that are being filled or ready, at index % slot_count */
    slot *opening;  /* the slot with rows to claim, or NULL */
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

/* The rows that a worker has claimed. */
typedef struct chunk {
    slot *slot;
    int64_t first, count;
} chunk;

/* ---- slots, with the lock held --------------------------------------------------------------- */

static bool has_claim(const fg_loader *loader)
{
    if (loader->stream != NULL)
        return loader->free_count > 0 && !loader->is_reading && !loader->claims_ended;
    return loader->opening != NULL ||
           (loader->free_count > 0 &&
            fgi_sampler_has_batch(&loader->sampler, loader->claims.position));
}

/* With many slots, whose batches are small, one wake-up is for many batches. */
static void wake_worker(fg_loader *loader)
{
    const bool is_enough = loader->opening == NULL && loader->slot_count >= MANY_SLOTS &&
                           loader->ready_count > loader->slot_count / 2;
    if (loader->idle_workers > 0 && has_claim(loader) && !is_enough)
        (void)pthread_cond_signal(&loader->work);
}

static void free_slot(fg_loader *loader, slot *s)
{
    if (s->state == SLOT_READY)
        loader->ready_count--;
    s->state = SLOT_FREE;
    s->is_stale = false;
    loader->free_count++;
    wake_worker(loader);
}

/* Sets the next batch to open. At the end of an epoch that is the first of the next epoch, unless
 * it would be empty. */
static void set_claims(fg_loader *loader, fgi_sample_position place)
{
    fgi_sample_position *at = &loader->claims;
    *at = place;
    if (fg_dataset_is_source(loader->dataset))
        return; /* its end is not known before it is read */
    if (loader->run_ahead && !fgi_sampler_has_batch(&loader->sampler, at->position) &&
        fgi_sampler_has_batch(&loader->sampler, 0))
        *at = (fgi_sample_position){.epoch = at->epoch + 1};
}

/* After a batch of a source was read: the position of the next one. An error ends the epoch. */
static void set_source_claims(fg_loader *loader, const slot *s)
{
    const bool is_last = s->batch.is_last || s->error_row >= 0;
    loader->claims_ended = is_last && !loader->run_ahead;
    loader->claims.position = s->batch.next_position;
    if (is_last && loader->run_ahead)
        loader->claims = (fgi_sample_position){.epoch = s->batch.epoch + 1};
}

/* What is known about a batch before it is read: for a source, where it begins. */
static void describe_batch(const fg_loader *loader, fg_host_batch *batch)
{
    const fgi_sampler *sampler = &loader->sampler;
    const int64_t position = loader->claims.position;
    batch->epoch = loader->claims.epoch;
    batch->position = position;
    batch->index = position / sampler->batch;
    if (loader->stream != NULL)
        return;
    batch->next_position = fgi_sampler_after(sampler, position);
    batch->valid = fgi_sampler_valid(sampler, position);
    batch->is_last = !fgi_sampler_has_batch(sampler, batch->next_position);
}

static slot *open_slot(fg_loader *loader)
{
    slot *s = loader->slots;
    while (s->state != SLOT_FREE)
        s++;
    s->state = SLOT_FILLING;
    s->number = loader->claim_number++;
    s->claimed = s->done = 0;
    s->error_row = -1;
    describe_batch(loader, &s->batch);
    loader->free_count--;
    loader->by_number[s->number % (uint64_t)loader->slot_count] = s;
    if (loader->stream != NULL)
        loader->is_reading = true;
    else
        set_claims(loader, (fgi_sample_position){s->batch.epoch, s->batch.next_position});
    return s;
}

static chunk claim_chunk(fg_loader *loader)
{
    if (loader->opening == NULL)
        loader->opening = open_slot(loader);
    slot *s = loader->opening;
    const int64_t left = loader->rows - s->claimed;
    const chunk c = {.slot = s,
                     .first = s->claimed,
                     .count = left < loader->chunk_rows ? left : loader->chunk_rows};
    s->claimed += c.count;
    if (s->claimed == loader->rows)
        loader->opening = NULL;
    return c;
}

static void finish_chunk(fg_loader *loader, const chunk *c, const fg_error *failure)
{
    slot *s = c->slot;
    s->done += c->count;
    if (failure->status == FG_OK)
        loader->rows_read += loader->stream != NULL ? s->batch.valid : c->count;
    if (failure->status != FG_OK && (s->error_row < 0 || c->first < s->error_row)) {
        s->error = *failure;
        s->error_row = c->first;
    }
    if (loader->stream != NULL) {
        loader->is_reading = false;
        if (!s->is_stale)
            set_source_claims(loader, s);
    }
    if (s->is_stale) {
        if (s->done == s->claimed)
            free_slot(loader, s);
    } else if (s->done == loader->rows) {
        s->state = SLOT_READY;
        loader->ready_count++;
        if (loader->is_awaited && s->number == loader->delivery_number)
            (void)pthread_cond_signal(&loader->ready);
    }
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Without the lock: reads a whole batch of a source. */
static fg_status read_source(const fg_loader *loader, slot *s, fg_error *err)
{
    fgi_stream_batch b = {.rows = s->data, .indices = s->indices};
    const fg_status status = fgi_stream_read(
        loader->stream, (fgi_sample_position){s->batch.epoch, s->batch.position}, &b, err);
    if (status != FG_OK)
        b = (fgi_stream_batch){.next_position = s->batch.position, .is_last = true};
    s->batch.valid = b.valid;
    s->batch.next_position = b.next_position;
    s->batch.is_last = b.is_last;
    s->is_end = b.is_end;
    return status;
}

/* Without the lock: asks for the same rows of the next batch, which will be read while the others
 * are in use. */
static void prefetch_next(const fg_loader *loader, const chunk *c)
{
    int64_t indices[64];
    const int64_t most = (int64_t)(sizeof indices / sizeof indices[0]);
    const fg_host_batch *batch = &c->slot->batch;
    fgi_sample_position next = {.epoch = batch->epoch, .position = batch->next_position};
    if (loader->dataset->prefetch == NULL)
        return;
    if (!fgi_sampler_has_batch(&loader->sampler, next.position)) {
        if (!loader->run_ahead)
            return;
        next = (fgi_sample_position){.epoch = batch->epoch + 1};
    }
    for (int64_t done = 0; done < c->count; done += most) {
        const int64_t count = c->count - done < most ? c->count - done : most;
        fgi_sampler_rows(&loader->sampler, next, c->first + done, (size_t)count, indices);
        fgi_dataset_prefetch(loader->dataset, next.epoch, indices, (size_t)count);
    }
}

/* Without the lock: the rows of a claimed chunk belong to this thread. */
static void read_rows(const fg_loader *loader, const chunk *c, fg_error *out_failure)
{
    slot *s = c->slot;
    *out_failure = (fg_error){0};
    if (loader->stream != NULL) {
        out_failure->status = read_source(loader, s, out_failure);
        return;
    }
    prefetch_next(loader, c);
    const fgi_sample_position place = {.epoch = s->batch.epoch, .position = s->batch.position};
    int64_t *indices = s->indices + c->first;
    fgi_sampler_rows(&loader->sampler, place, c->first, (size_t)c->count, indices);
    void *rows[FG_MAX_FIELDS];
    for (int f = 0; f < loader->dataset->field_count; f++)
        rows[f] = (char *)s->data[f] + (size_t)c->first * loader->dataset->row_bytes[f];
    const fg_status status = fgi_dataset_gather(loader->dataset, place.epoch, indices,
                                                (size_t)c->count, rows, out_failure);
    out_failure->status = status;
}

/* The same, with the time of each stage; returns their sum. What a dataset that reads row by row
 * does is only known to itself: it is counted as reading until the dataset enters another stage. */
static int64_t read_chunk(const fg_loader *loader, const chunk *c, fg_error *out_failure,
                          fgi_load_times *out_times)
{
    fgi_load_clock clock;
    const bool is_copied = loader->stream == NULL && !loader->dataset->reads_rows;
    const int64_t begin = fgi_timeline_begin();
    fgi_load_begin(&clock, is_copied ? FGI_LOAD_COPY : FGI_LOAD_READ);
    read_rows(loader, c, out_failure);
    const int64_t spent = fgi_load_end(&clock);
    fgi_timeline_end(begin, "loader", "load", c->slot->batch.index);
    *out_times = clock.times;
    return spent;
}

/* With the lock held. */
static void add_times(fg_loader *loader, const fgi_load_times *times)
{
    for (int i = 0; i < FGI_LOAD_STAGES; i++)
        loader->times.ns[i] += times->ns[i];
    loader->times.opened.count += times->opened.count;
    loader->times.opened.ns += times->opened.ns;
}

/* A worker thread: reads rows until the loader stops. */
static void *work(void *self)
{
    fg_loader *loader = self;
    fg_error failure;
    fgi_load_times times;
    fgi_timeline_name_thread("loader worker");
    (void)pthread_mutex_lock(&loader->lock);
    const int me = loader->started_workers++;
    while (!loader->is_stopping) {
        if (!has_claim(loader)) {
            loader->idle_workers++;
            (void)pthread_cond_wait(&loader->work, &loader->lock);
            loader->idle_workers--;
            continue;
        }
        const chunk c = claim_chunk(loader);
        wake_worker(loader); /* there may be work for another thread */
        (void)pthread_mutex_unlock(&loader->lock);
        const int64_t spent = read_chunk(loader, &c, &failure, &times);
        const int64_t cpu_ns = fgi_thread_cpu_ns();
        (void)pthread_mutex_lock(&loader->lock);
        loader->cpu_ns[me] = cpu_ns;
        loader->work_ns += spent;
        add_times(loader, &times);
        finish_chunk(loader, &c, &failure);
    }
    (void)pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* ---- the consumer ---------------------------------------------------------------------------- */

/* The next batch, read by this thread. NULL if the caller holds every slot. */
static slot *fill_next(fg_loader *loader)
{
    if (loader->free_count == 0)
        return NULL;
    fg_error failure;
    fgi_load_times times;
    loader->opening = open_slot(loader);
    slot *s = loader->opening;
    const chunk c = {.slot = s, .count = loader->rows};
    s->claimed = loader->rows;
    loader->opening = NULL;
    loader->wait_ns += read_chunk(loader, &c, &failure, &times);
    add_times(loader, &times);
    finish_chunk(loader, &c, &failure);
    return s;
}

static slot *await_next(fg_loader *loader)
{
    slot **place = &loader->by_number[loader->delivery_number % (uint64_t)loader->slot_count];
    int64_t begin = 0;
    for (;;) {
        slot *s = *place;
        if (s != NULL && s->state == SLOT_READY && s->number == loader->delivery_number) {
            if (begin != 0)
                loader->wait_ns += fgi_now_ns() - begin;
            return s;
        }
        if (begin == 0) {
            begin = fgi_now_ns();
            loader->stats.waits++;
        }
        loader->is_awaited = true;
        (void)pthread_cond_wait(&loader->ready, &loader->lock);
        loader->is_awaited = false;
    }
}

/* Removes the batch from the queue: it is then held by the caller, or free immediately if it
 * failed. */
static fg_status deliver(fg_loader *loader, slot *s, const fg_host_batch **out, fg_error *err)
{
    loader->delivery_number++;
    loader->deliveries.position = s->batch.next_position;
    loader->deliveries_ended = loader->stream != NULL && s->batch.is_last;
    if (s->error_row >= 0) {
        if (err != NULL)
            *err = s->error;
        const fg_status status = s->error.status;
        free_slot(loader, s);
        return status;
    }
    loader->ready_count--;
    s->state = SLOT_HELD;
    wake_worker(loader);
    loader->stats.batches++;
    *out = &s->batch;
    return FG_OK;
}

/* Whether all batches of the epoch have been delivered, as far as is known. */
static bool is_at_end(const fg_loader *loader)
{
    return loader->stream != NULL
               ? loader->deliveries_ended
               : !fgi_sampler_has_batch(&loader->sampler, loader->deliveries.position);
}

static void end_deliveries(fg_loader *loader)
{
    loader->deliveries_ended = !loader->run_ahead;
    if (loader->run_ahead)
        loader->deliveries = (fgi_sample_position){.epoch = loader->deliveries.epoch + 1};
}

static fg_status next_locked(fg_loader *loader, const fg_host_batch **out, fg_error *err)
{
    if (is_at_end(loader)) {
        end_deliveries(loader);
        return FG_OK;
    }
    loader->next_calls++;
    loader->ready_sum += loader->ready_count;
    slot *s = loader->is_synchronous ? fill_next(loader) : await_next(loader);
    if (s == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "all %d batches of the synchronous loader are in use: recycle one first",
                        loader->slot_count);
    if (s->error_row < 0 && s->is_end) {
        loader->delivery_number++;
        free_slot(loader, s);
        end_deliveries(loader);
        return FG_OK;
    }
    return deliver(loader, s, out, err);
}

fg_status fg_loader_next(fg_loader *loader, const fg_host_batch **out, fg_error *err)
{
    *out = NULL;
    (void)pthread_mutex_lock(&loader->lock);
    const fg_status status = next_locked(loader, out, err);
    (void)pthread_mutex_unlock(&loader->lock);
    return status;
}

void fg_loader_recycle(fg_loader *loader, const fg_host_batch *batch)
{
    if (batch == NULL)
        return;
    slot *s = &loader->slots[(const slot *)(const void *)batch - loader->slots];
    (void)pthread_mutex_lock(&loader->lock);
    if (s->state == SLOT_HELD)
        free_slot(loader, s);
    (void)pthread_mutex_unlock(&loader->lock);
}

/* Discards prepared batches; does not wait for rows that are being read. */
static void drop_prepared(fg_loader *loader)
{
    loader->opening = NULL;
    for (int i = 0; i < loader->slot_count; i++) {
        slot *s = &loader->slots[i];
        loader->by_number[i] = NULL;
        if (s->state == SLOT_READY || (s->state == SLOT_FILLING && s->done == s->claimed))
            free_slot(loader, s);
        else if (s->state == SLOT_FILLING)
            s->is_stale = true;
    }
}

static void go_to(fg_loader *loader, fgi_sample_position place)
{
    fgi_sample_position *at = &loader->deliveries;
    if (loader->run_ahead && is_at_end(loader) && place.epoch == at->epoch + 1 &&
        place.position == 0) {
        *at = place;
        loader->deliveries_ended = false;
    }
    if (at->epoch == place.epoch && at->position == place.position && !loader->deliveries_ended)
        return;
    loader->claim_number = loader->delivery_number;
    loader->deliveries = place;
    loader->deliveries_ended = loader->claims_ended = false;
    set_claims(loader, place);
    drop_prepared(loader);
    wake_worker(loader);
}

fg_status fg_loader_start_epoch(fg_loader *loader, int64_t epoch, int64_t position, fg_error *err)
{
    if (epoch < 0 || position < 0)
        return fgi_fail(err, FG_EINVAL,
                        "epoch %" PRId64 ", position %" PRId64 ": expected nonnegative integers",
                        epoch, position);
    (void)pthread_mutex_lock(&loader->lock);
    go_to(loader, (fgi_sample_position){.epoch = epoch, .position = position});
    (void)pthread_mutex_unlock(&loader->lock);
    return FG_OK;
}

void fgi_loader_samples(const fg_loader *loader, fgi_sample_position place, size_t count,
                        int64_t *out_indices)
{
    fgi_sampler_rows(&loader->sampler, place, 0, count, out_indices);
}

int64_t fg_loader_batch_count(const fg_loader *loader)
{
    return loader->sampler.count < 0 ? -1 : fgi_sampler_batches(&loader->sampler);
}

fg_loader_stats fg_loader_stats_of(fg_loader *loader)
{
    (void)pthread_mutex_lock(&loader->lock);
    fg_loader_stats stats = loader->stats;
    stats.wait_s = (double)loader->wait_ns * 1e-9;
    stats.work_s = (double)loader->work_ns * 1e-9;
    stats.stages = fgi_load_seconds(&loader->times);
    stats.rows = loader->rows_read;
    stats.ready = loader->ready_count;
    if (loader->next_calls > 0)
        stats.ready_mean = (double)loader->ready_sum / (double)loader->next_calls;
    stats.memory_bytes = loader->slot_bytes * loader->slot_count;
    stats.workers = loader->thread_count;
    (void)pthread_mutex_unlock(&loader->lock);
    return stats;
}

int fgi_loader_cpu(fg_loader *loader, int64_t out_ns[FGI_MOST_WORKERS])
{
    (void)pthread_mutex_lock(&loader->lock);
    const int count = loader->thread_count;
    for (int i = 0; i < count; i++)
        out_ns[i] = loader->cpu_ns[i];
    (void)pthread_mutex_unlock(&loader->lock);
    return count;
}

/* ---- creating and destroying ----------------------------------------------------------------- */

enum {
    DEFAULT_BATCH = 32,
    DEFAULT_SLOTS = 4,
    MOST_SLOTS = 1024,
    CHUNK_BYTES = 256 * 1024, /* number of rows in memory that justify another thread */
    CHUNKS_A_WORKER = 2       /* number of rows that are read one by one, which may take any time */
};

static fg_status check_options(const fg_loader_options *o, fg_error *err)
{
    if (o->batch_size < 0 || o->batch_size > INT32_MAX)
        return fgi_fail(err, FG_EINVAL,
                        "batch_size is %" PRId64 ": expected a number greater than 0",
                        o->batch_size);
    if (o->shuffle_buffer < 0 || o->shuffle_buffer > INT32_MAX)
        return fgi_fail(err, FG_EINVAL,
                        "shuffle_buffer is %" PRId64 ": expected a number greater than 0",
                        o->shuffle_buffer);
    if (o->prefetch < 0 || o->prefetch > MOST_SLOTS)
        return fgi_fail(err, FG_EINVAL, "prefetch is %d: expected 1 to %d", o->prefetch,
                        MOST_SLOTS);
    if (o->workers != FG_NONE && (o->workers < 0 || o->workers > FGI_MOST_WORKERS))
        return fgi_fail(err, FG_EINVAL, "workers is %" PRId64 ": expected 1 to %d", o->workers,
                        FGI_MOST_WORKERS);
    const int world = o->world == 0 ? 1 : o->world;
    const int64_t batch = o->batch_size == 0 ? DEFAULT_BATCH : o->batch_size;
    if (world < 1 || o->rank < 0 || o->rank >= world)
        return fgi_fail(err, FG_EINVAL, "rank is %d, world is %d: expected 0 <= rank < world",
                        o->rank, o->world);
    if (batch % world != 0)
        return fgi_fail(err, FG_EINVAL, "batch_size %" PRId64 " is not a multiple of world %d",
                        batch, world);
    if (o->epoch < 0 || o->position < 0)
        return fgi_fail(err, FG_EINVAL,
                        "epoch %" PRId64 ", position %" PRId64 ": expected nonnegative integers",
                        o->epoch, o->position);
    return FG_OK;
}

static void take_options(fg_loader *loader, const fg_loader_options *o)
{
    loader->sampler = (fgi_sampler){.count = loader->dataset->count,
                                    .batch = o->batch_size == 0 ? DEFAULT_BATCH : o->batch_size,
                                    .shuffle = o->shuffle,
                                    .drop_last = o->drop_last,
                                    .seed = o->seed,
                                    .rank = o->rank,
                                    .world = o->world == 0 ? 1 : o->world};
    if (fg_dataset_is_source(loader->dataset))
        loader->sampler.shuffle &= o->shuffle_buffer > 1;
    loader->rows = loader->sampler.batch / loader->sampler.world;
    loader->run_ahead = o->run_ahead;
    loader->is_synchronous = o->workers == FG_NONE;
    loader->slot_count = o->prefetch == 0 ? DEFAULT_SLOTS : o->prefetch;
    loader->deliveries = (fgi_sample_position){.epoch = o->epoch, .position = o->position};
    set_claims(loader, loader->deliveries);
}

/* How many rows a worker takes at a time: all where they are only copied and few, so that small
 * batches cost one claim; else enough pieces to keep every worker busy. */
static int64_t choose_chunk(const fg_loader *loader, int workers)
{
    int64_t pieces = (int64_t)workers * CHUNKS_A_WORKER;
    if (!loader->dataset->reads_rows) {
        const int64_t worth = loader->slot_bytes / CHUNK_BYTES;
        pieces = worth < workers ? worth : workers;
    }
    if (pieces < 1 || workers <= 1)
        pieces = 1;
    return (loader->rows + pieces - 1) / pieces;
}

static fg_status make_slot(fg_loader *loader, slot *s, fg_error *err)
{
    const fg_dataset *dataset = loader->dataset;
    s->batch = (fg_host_batch){.field_count = dataset->field_count,
                               .fields = dataset->fields,
                               .types = s->types,
                               .data = (const void *const *)s->data,
                               .size = loader->rows};
    s->batch.indices = s->indices = fgi_calloc((size_t)loader->rows, sizeof(*s->indices));
    if (s->indices == NULL)
        return fgi_no_memory(err);
    loader->slot_bytes = 0;
    for (int f = 0; f < dataset->field_count; f++) {
        const fg_type *sample = &dataset->fields[f].type;
        s->types[f] = (fg_type){.dtype = sample->dtype, .rank = sample->rank + 1};
        s->types[f].dim[0] = loader->rows;
        memcpy(&s->types[f].dim[1], sample->dim, (size_t)sample->rank * sizeof(sample->dim[0]));
        size_t bytes;
        if (__builtin_mul_overflow(dataset->row_bytes[f], (size_t)loader->rows, &bytes) ||
            bytes > INT64_MAX / MOST_SLOTS / FG_MAX_FIELDS ||
            (s->data[f] = fgi_alloc_aligned(bytes)) == NULL)
            return fgi_no_memory(err);
        loader->slot_bytes += (int64_t)bytes;
    }
    return FG_OK;
}

static fg_status make_slots(fg_loader *loader, fg_error *err)
{
    if (loader->stream == NULL && !fgi_sampler_has_batch(&loader->sampler, 0))
        loader->slot_count = 0; /* no batch will ever come: a sample of any size costs nothing */
    const size_t count = (size_t)loader->slot_count;
    loader->slots = fgi_calloc(count, sizeof(*loader->slots));
    loader->by_number = fgi_calloc(count, sizeof(slot *));
    if (loader->slots == NULL || loader->by_number == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++)
        FGI_TRY(make_slot(loader, &loader->slots[i], err));
    loader->free_count = loader->slot_count;
    return FG_OK;
}

static fg_status make_lock(fg_loader *loader, fg_error *err)
{
    FGI_TRY(fgi_monitor_init(&loader->lock, &loader->work, err));
    loader->has_lock = true;
    FGI_TRY(fgi_cond_init(&loader->ready, err));
    loader->has_ready = true;
    return FG_OK;
}

static fg_status start_workers(fg_loader *loader, int64_t requested, fg_error *err)
{
    int workers = requested == FG_NONE ? 1 : (int)requested;
    if (workers == 0) {
        workers = fgi_cpu_count();
        workers = workers < loader->slot_count ? workers : loader->slot_count;
    }
    if (loader->stream != NULL)
        workers = 1; /* a source has one reader */
    loader->chunk_rows = choose_chunk(loader, workers);
    if (loader->is_synchronous || loader->slot_count == 0)
        return FG_OK; /* nothing to do for a thread */
    loader->threads = fgi_calloc((size_t)workers, sizeof(*loader->threads));
    if (loader->threads == NULL)
        return fgi_no_memory(err);
    for (; loader->thread_count < workers; loader->thread_count++)
        FGI_TRY(fgi_thread_start(&loader->threads[loader->thread_count], work, loader, err));
    return FG_OK;
}

fg_status fg_loader_create(fg_dataset *dataset, const fg_loader_options *options, fg_loader **out,
                           fg_error *err)
{
    *out = NULL;
    const fg_loader_options defaults = {0};
    const fg_loader_options *o = options == NULL ? &defaults : options;
    FGI_TRY_RESERVED(fg_loader_options, options, err);
    FGI_TRY(check_options(o, err));
    fg_loader *loader = fgi_calloc(1, sizeof(*loader));
    if (loader == NULL)
        return fgi_no_memory(err);
    loader->dataset = fgi_dataset_retain(dataset);
    take_options(loader, o);
    fg_status status = make_lock(loader, err);
    if (status == FG_OK && fg_dataset_is_source(dataset))
        status = fgi_stream_create(dataset, &loader->sampler,
                                   loader->sampler.shuffle ? o->shuffle_buffer : 1, &loader->stream,
                                   err);
    if (status == FG_OK)
        status = make_slots(loader, err);
    if (status == FG_OK)
        status = start_workers(loader, o->workers, err);
    if (status != FG_OK) {
        fg_loader_destroy(loader);
        return status;
    }
    *out = loader;
    return FG_OK;
}

static void join_workers(fg_loader *loader)
{
    if (loader->thread_count == 0)
        return;
    (void)pthread_mutex_lock(&loader->lock);
    loader->is_stopping = true;
    (void)pthread_cond_broadcast(&loader->work);
    (void)pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->thread_count; i++)
        fgi_thread_join(loader->threads[i]);
}

void fg_loader_destroy(fg_loader *loader)
{
    if (loader == NULL)
        return;
    join_workers(loader);
    for (int i = 0; loader->slots != NULL && i < loader->slot_count; i++) {
        for (int f = 0; f < loader->dataset->field_count; f++)
            fgi_free_aligned(loader->slots[i].data[f]);
        fgi_free(loader->slots[i].indices);
    }
    fgi_stream_destroy(loader->stream);
    if (loader->has_ready)
        (void)pthread_cond_destroy(&loader->ready);
    if (loader->has_lock)
        fgi_monitor_fini(&loader->lock, &loader->work);
    fg_dataset_destroy(loader->dataset);
    fgi_free(loader->threads);
    fgi_free((void *)loader->by_number);
    fgi_free(loader->slots);
    fgi_free(loader);
}
