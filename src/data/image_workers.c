/* image_workers.c - workers, and the limit of their memory.
 *
 * A thread with a large image decodes it if, with it, the files of all threads and the reservations
 * of those that decode large ones stay below the limit, or if no other thread decodes a large one.
 * Buffers keep their pages from image to image only if those of all threads fit together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/image_workers.h"

#include "base/alloc.h"
#include "base/error.h"
#include "image/decoder.h"

enum {
    WORKER_BYTES = 13 << 20,
    LEAST_WORKERS = 4,
    LARGE = 2 << 20 /* what needs less is not counted */
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

fg_status fgi_image_workers_init(fgi_image_workers *workers, fg_error *err)
{
    workers->idle = NULL;
    FGI_TRY(fgi_mutex_init(&workers->mutex, err));
    workers->has_mutex = true;
    FGI_TRY(fgi_cond_init(&workers->freed, err));
    workers->has_freed = true;
    return FG_OK;
}

void fgi_image_workers_fini(fgi_image_workers *workers)
{
    while (workers->idle != NULL) {
        fgi_image_worker *w = workers->idle;
        workers->idle = w->next;
        worker_destroy(w);
    }
    if (workers->has_freed)
        (void)pthread_cond_destroy(&workers->freed);
    if (workers->has_mutex)
        (void)pthread_mutex_destroy(&workers->mutex);
    workers->has_mutex = workers->has_freed = false;
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
    (void)pthread_mutex_lock(&workers->mutex);
    worker->next = workers->idle;
    workers->idle = worker;
    (void)pthread_mutex_unlock(&workers->mutex);
}

/* ---- the limit ------------------------------------------------------------------------------- */

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* With the small buffers of four threads, less than 64 MiB. */
static size_t limit_of(const fgi_image_workers *all)
{
    return (size_t)(all->count > LEAST_WORKERS ? all->count : LEAST_WORKERS) * WORKER_BYTES;
}

void fgi_image_worker_reserve(fgi_image_worker *w, size_t bytes)
{
    fgi_image_workers *all = w->all;
    if (bytes < LARGE)
        return;
    (void)pthread_mutex_lock(&all->mutex);
    all->largest_file = max_size(all->largest_file, w->bytes.size);
    all->largest = max_size(all->largest, bytes);
    while (all->reserved > 0 &&
           (size_t)all->count * all->largest_file + all->reserved + bytes > limit_of(all))
        (void)pthread_cond_wait(&all->freed, &all->mutex);
    all->reserved += bytes;
    w->reserved = bytes;
    (void)pthread_mutex_unlock(&all->mutex);
}

void fgi_image_worker_release(fgi_image_worker *w)
{
    fgi_image_workers *all = w->all;
    if (w->reserved == 0)
        return;
    (void)pthread_mutex_lock(&all->mutex);
    const bool is_kept = (size_t)all->count * (all->largest_file + all->largest) <= limit_of(all);
    (void)pthread_mutex_unlock(&all->mutex);
    if (!is_kept) {
        fgi_pages_drop(w->bytes.data, w->bytes.capacity);
        fgi_pages_drop(w->image.pixels, w->image.capacity);
        fgi_image_decoder_drop(w->decoder);
    }
    (void)pthread_mutex_lock(&all->mutex);
    all->reserved -= w->reserved;
    w->reserved = 0;
    (void)pthread_cond_broadcast(&all->freed);
    (void)pthread_mutex_unlock(&all->mutex);
}
