/* loader.c - batches prepared by threads. A ring of slots holds fixed-shape batches; a worker
 * claims some rows of the slot that is being filled, or opens the next free slot, and reads without
 * the lock. Batches are numbered in epoch order and delivered in that order, so the result does not
 * depend on the number or timing of threads. The loader owns slots and threads and has a reference
 * to the dataset.
 *
 * A source has one reader: each batch is read completely by one thread, one batch after the other,
 * and only then is the start of the next batch known. If an epoch has no batch at all, or a resume
 * is at its end, a slot without a batch marks that. loader_create.c creates and destroys loaders
 * (loader.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include "base/error.h"
#include "base/timeline.h"
#include "data/loader.h"

/* The rows that a worker has claimed. */
typedef struct chunk {
    fgi_loader_slot *slot;
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

static void wake_worker(fg_loader *loader)
{
    if (loader->idle_workers > 0 && has_claim(loader))
        (void)pthread_cond_signal(&loader->work);
}

static void free_slot(fg_loader *loader, fgi_loader_slot *s)
{
    if (s->state == FGI_SLOT_READY)
        loader->ready_count--;
    s->state = FGI_SLOT_FREE;
    s->is_stale = false;
    loader->free_count++;
    wake_worker(loader);
}

void fgi_loader_set_claims(fg_loader *loader, fgi_sample_position place)
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
static void set_source_claims(fg_loader *loader, const fgi_loader_slot *s)
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

static fgi_loader_slot *open_slot(fg_loader *loader)
{
    fgi_loader_slot *s = loader->slots;
    while (s->state != FGI_SLOT_FREE)
        s++;
    s->state = FGI_SLOT_FILLING;
    s->number = loader->claim_number++;
    s->claimed = s->done = 0;
    s->error_row = -1;
    describe_batch(loader, &s->batch);
    loader->free_count--;
    loader->by_number[s->number % (uint64_t)loader->slot_count] = s;
    if (loader->stream != NULL)
        loader->is_reading = true;
    else
        fgi_loader_set_claims(loader,
                              (fgi_sample_position){s->batch.epoch, s->batch.next_position});
    return s;
}

static chunk claim_chunk(fg_loader *loader)
{
    if (loader->opening == NULL)
        loader->opening = open_slot(loader);
    fgi_loader_slot *s = loader->opening;
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
    fgi_loader_slot *s = c->slot;
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
        s->state = FGI_SLOT_READY;
        loader->ready_count++;
        if (loader->is_awaited && s->number == loader->delivery_number)
            (void)pthread_cond_signal(&loader->ready);
    }
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Without the lock: reads a whole batch of a source. */
static fg_status read_source(const fg_loader *loader, fgi_loader_slot *s, fg_error *err)
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
    fgi_loader_slot *s = c->slot;
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

void *fgi_loader_work(void *self)
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
static fgi_loader_slot *fill_next(fg_loader *loader)
{
    if (loader->free_count == 0)
        return NULL;
    fg_error failure;
    fgi_load_times times;
    loader->opening = open_slot(loader);
    fgi_loader_slot *s = loader->opening;
    const chunk c = {.slot = s, .count = loader->rows};
    s->claimed = loader->rows;
    loader->opening = NULL;
    loader->wait_ns += read_chunk(loader, &c, &failure, &times);
    add_times(loader, &times);
    finish_chunk(loader, &c, &failure);
    return s;
}

static fgi_loader_slot *await_next(fg_loader *loader)
{
    fgi_loader_slot **place =
        &loader->by_number[loader->delivery_number % (uint64_t)loader->slot_count];
    int64_t begin = 0;
    for (;;) {
        fgi_loader_slot *s = *place;
        if (s != NULL && s->state == FGI_SLOT_READY && s->number == loader->delivery_number) {
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
static fg_status deliver(fg_loader *loader, fgi_loader_slot *s, const fg_host_batch **out,
                         fg_error *err)
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
    s->state = FGI_SLOT_HELD;
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
    fgi_loader_slot *s = loader->is_synchronous ? fill_next(loader) : await_next(loader);
    if (s == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "all %d batches of the synchronous loader are in use: release one first",
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

void fg_loader_release(fg_loader *loader, const fg_host_batch *batch)
{
    if (batch == NULL)
        return;
    fgi_loader_slot *s =
        &loader->slots[(const fgi_loader_slot *)(const void *)batch - loader->slots];
    (void)pthread_mutex_lock(&loader->lock);
    if (s->state == FGI_SLOT_HELD)
        free_slot(loader, s);
    (void)pthread_mutex_unlock(&loader->lock);
}

/* Discards prepared batches; does not wait for rows that are being read. */
static void drop_prepared(fg_loader *loader)
{
    loader->opening = NULL;
    for (int i = 0; i < loader->slot_count; i++) {
        fgi_loader_slot *s = &loader->slots[i];
        loader->by_number[i] = NULL;
        if (s->state == FGI_SLOT_READY || (s->state == FGI_SLOT_FILLING && s->done == s->claimed))
            free_slot(loader, s);
        else if (s->state == FGI_SLOT_FILLING)
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
    fgi_loader_set_claims(loader, place);
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
