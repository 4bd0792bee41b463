/* loader_create.c - creates and destroys loaders: options, slots, lock and threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/resources.h"
#include "base/reserved.h"
#include "data/loader.h"

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
    if (o->workers < 0 || o->workers > FGI_MOST_WORKERS)
        return fgi_fail(err, FG_EINVAL, "workers is %d: expected 1 to %d", o->workers,
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
    loader->is_synchronous = o->synchronous;
    loader->slot_count = o->prefetch == 0 ? DEFAULT_SLOTS : o->prefetch;
    loader->deliveries = (fgi_sample_position){.epoch = o->epoch, .position = o->position};
    fgi_loader_set_claims(loader, loader->deliveries);
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

static fg_status make_slot(fg_loader *loader, fgi_loader_slot *s, fg_error *err)
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
    loader->by_number = fgi_calloc(count, sizeof(fgi_loader_slot *));
    if (loader->slots == NULL || loader->by_number == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++)
        FGI_TRY(make_slot(loader, &loader->slots[i], err));
    loader->free_count = loader->slot_count;
    return FG_OK;
}

static fg_status make_lock(fg_loader *loader, fg_error *err)
{
    FGI_TRY(fgi_mutex_init(&loader->lock, err));
    loader->has_lock = true;
    FGI_TRY(fgi_cond_init(&loader->work, err));
    loader->has_work = true;
    FGI_TRY(fgi_cond_init(&loader->ready, err));
    loader->has_ready = true;
    return FG_OK;
}

static fg_status start_workers(fg_loader *loader, int requested, fg_error *err)
{
    int workers = requested;
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
        FGI_TRY(
            fgi_thread_start(&loader->threads[loader->thread_count], fgi_loader_work, loader, err));
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
    if (loader->has_work)
        (void)pthread_cond_destroy(&loader->work);
    if (loader->has_lock)
        (void)pthread_mutex_destroy(&loader->lock);
    fg_dataset_destroy(loader->dataset);
    fgi_free(loader->threads);
    fgi_free((void *)loader->by_number);
    fgi_free(loader->slots);
    fgi_free(loader);
}
