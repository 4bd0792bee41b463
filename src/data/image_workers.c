/* image_workers.c - workers, and the limit of their memory.
 *
 * A thread with a large image decodes it if, with it, the files and the reservations of all threads
 * stay below the limit, or if no other thread decodes a large one. Before that, it reads a large
 * file if, with it, the files stay below half of the limit, or if no other thread has a large one.
 * So there is always a thread that need not wait: one that decodes, or else any that has a file.
 * Buffers keep their pages from image to image only if those of all threads fit together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/image_workers.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/resources.h"
#include "image/decoder.h"

enum {
    LEAST_LIMIT = 64 << 20,
    PART_OF_MEMORY = 8,
    LARGE = 2 << 20,  /* what needs less never waits */
    SMALL = 128 << 10 /* what needs less is not counted */
};

static void worker_destroy(fgi_image_worker *w)
{
    fg_image_decoder_destroy(w->decoder);
    fg_catalog_bytes_fini(&w->bytes);
    fg_image_fini(&w->image);
    fgi_free(w);
}

static fg_status worker_create(fgi_image_workers *all, fgi_image_worker **out, fg_error *err)
{
    fgi_image_worker *w = fgi_calloc(1, sizeof(*w));
    *out = w;
    if (w == NULL)
        return fgi_no_memory(err);
    w->all = all;
    const fg_status status = fg_image_decoder_create(&w->decoder, err);
    if (status != FG_OK) {
        fgi_free(w);
        *out = NULL;
        return status;
    }
    (void)pthread_mutex_lock(&all->mutex);
    all->count++;
    (void)pthread_mutex_unlock(&all->mutex);
    return FG_OK;
}

fg_status fgi_image_workers_init(fgi_image_workers *workers, uint64_t limit, fg_error *err)
{
    const uint64_t part = fgi_memory_bytes("") / PART_OF_MEMORY;
    workers->limit = limit != 0 ? (size_t)limit : part > LEAST_LIMIT ? (size_t)part : LEAST_LIMIT;
    workers->idle = NULL;
    const fg_status status = fgi_monitor_init(&workers->mutex, &workers->freed, err);
    workers->has_monitor = status == FG_OK;
    return status;
}

void fgi_image_workers_fini(fgi_image_workers *workers)
{
    while (workers->idle != NULL) {
        fgi_image_worker *w = workers->idle;
        workers->idle = w->next;
        worker_destroy(w);
    }
    if (workers->has_monitor)
        fgi_monitor_fini(&workers->mutex, &workers->freed);
    workers->has_monitor = false;
}

fg_status fgi_image_workers_take(fgi_image_workers *workers, fgi_image_worker **out, fg_error *err)
{
    (void)pthread_mutex_lock(&workers->mutex);
    *out = workers->idle;
    if (workers->idle != NULL)
        workers->idle = workers->idle->next;
    (void)pthread_mutex_unlock(&workers->mutex);
    return *out != NULL ? FG_OK : worker_create(workers, out, err);
}

void fgi_image_workers_give_back(fgi_image_workers *workers, fgi_image_worker *worker)
{
    fgi_image_worker_release(worker);
    (void)pthread_mutex_lock(&workers->mutex);
    worker->next = workers->idle;
    workers->idle = worker;
    (void)pthread_mutex_unlock(&workers->mutex);
}

/* ---- the limit ------------------------------------------------------------------------------- */

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static void add(fgi_image_use *use, size_t bytes)
{
    use->bytes += bytes;
    use->large_count += bytes >= LARGE;
    use->largest = max_size(use->largest, bytes);
}

static void subtract(fgi_image_use *use, size_t bytes)
{
    use->bytes -= bytes;
    use->large_count -= bytes >= LARGE;
}

void fgi_image_worker_hold_file(fgi_image_worker *w, uint64_t bytes)
{
    fgi_image_workers *all = w->all;
    if (bytes < SMALL || bytes > SIZE_MAX / 4)
        return;
    (void)pthread_mutex_lock(&all->mutex);
    while (bytes >= LARGE && all->files.large_count > 0 &&
           all->files.bytes + bytes > all->limit / 2)
        (void)pthread_cond_wait(&all->freed, &all->mutex);
    add(&all->files, (size_t)bytes);
    w->file = (size_t)bytes;
    (void)pthread_mutex_unlock(&all->mutex);
}

void fgi_image_worker_reserve(fgi_image_worker *w, size_t bytes)
{
    fgi_image_workers *all = w->all;
    if (bytes < SMALL)
        return;
    (void)pthread_mutex_lock(&all->mutex);
    while (bytes >= LARGE && all->decoding.large_count > 0 &&
           all->files.bytes + all->decoding.bytes + bytes > all->limit)
        (void)pthread_cond_wait(&all->freed, &all->mutex);
    add(&all->decoding, bytes);
    w->reserved = bytes;
    (void)pthread_mutex_unlock(&all->mutex);
}

/* Whether the buffers of all threads fit together. */
static bool can_keep(fgi_image_workers *all)
{
    (void)pthread_mutex_lock(&all->mutex);
    const size_t largest = all->files.largest + all->decoding.largest;
    const bool result = (size_t)all->count * largest <= all->limit;
    (void)pthread_mutex_unlock(&all->mutex);
    return result;
}

void fgi_image_worker_release(fgi_image_worker *w)
{
    fgi_image_workers *all = w->all;
    if (w->reserved == 0 && w->file == 0)
        return;
    if (!can_keep(all)) {
        fgi_pages_drop(w->bytes.data, w->bytes.capacity);
        fgi_pages_drop(w->image.pixels, w->image.capacity);
        fgi_image_decoder_drop(w->decoder);
    }
    (void)pthread_mutex_lock(&all->mutex);
    subtract(&all->files, w->file);
    subtract(&all->decoding, w->reserved);
    w->file = w->reserved = 0;
    (void)pthread_cond_broadcast(&all->freed);
    (void)pthread_mutex_unlock(&all->mutex);
}
