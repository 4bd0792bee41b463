/* image_workers.h - the memory in which threads decode and resize images, and a limit of it.
 *
 * Some formats need memory for all pixels of an image: progressive JPEGs, interlaced PNGs, and each
 * format if a large part of the image is decoded at full size. So a thread says how much a file and
 * its image need, and waits while the others use too much. Images that need little, which is the
 * usual case, never wait. What a sample is does not depend on it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_IMAGE_WORKERS_H
#define FGI_DATA_IMAGE_WORKERS_H

#include <fulgurite/catalog.h>
#include <fulgurite/image.h>
#include "base/thread.h"

struct fgi_image_workers;

/* The memory of one thread while it makes samples. */
typedef struct fgi_image_worker {
    struct fgi_image_worker *next; /* in the list of idle ones */
    struct fgi_image_workers *all; /* that it belongs to */
    fg_image_decoder *decoder;
    fg_catalog_bytes bytes; /* of a file */
    fg_image image;         /* decoded */
    size_t file, reserved;  /* counted for its file and for decoding; 0: small */
} fgi_image_worker;

/* Memory of all workers for one purpose. */
typedef struct fgi_image_use {
    size_t bytes;
    int large_count; /* of workers that need much */
    size_t largest;  /* of one worker so far */
} fgi_image_use;

/* The workers of a dataset, as many as threads have used it at once. They are kept, so that nothing
 * is allocated once every thread has had its largest image. Zero-initialize it. */
typedef struct fgi_image_workers {
    bool has_monitor;
    pthread_mutex_t mutex; /* protects all below */
    pthread_cond_t freed;  /* signaled when a worker releases what it has reserved */
    fgi_image_worker *idle;
    int count; /* of workers */
    size_t limit;
    fgi_image_use files, decoding;
} fgi_image_workers;

/* limit: bytes for the large files and images of all workers; 0: 1/8 of the machine's memory, at
 * least 64 MiB. */
fg_status fgi_image_workers_init(fgi_image_workers *workers, uint64_t limit, fg_error *err);
/* All workers must have been given back. */
void fgi_image_workers_fini(fgi_image_workers *workers);
fg_status fgi_image_workers_take(fgi_image_workers *workers, fgi_image_worker **out, fg_error *err);
void fgi_image_workers_give_back(fgi_image_workers *workers, fgi_image_worker *worker);

/* Before a file of this size is read to worker->bytes: waits until it fits. */
void fgi_image_worker_hold_file(fgi_image_worker *worker, uint64_t bytes);
/* Before an image is decoded whose decoder needs this many bytes: waits until they fit. */
void fgi_image_worker_reserve(fgi_image_worker *worker, size_t bytes);
/* Ends both, after the image has been resized; giving a worker back does it, too. */
void fgi_image_worker_release(fgi_image_worker *worker);

#endif
