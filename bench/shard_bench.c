/* shard_bench.c - sends batches of 2,048 samples from the loader to 1 and to 8 virtual CPU devices:
 * measures milliseconds per batch until every device has its shard, and the number of copied bytes.
 * Usage: shard_bench [SECONDS per case, 2]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <fulgurite/fulgurite.h>
#include "base/error.h"
#include "base/thread.h"
#include "pjrt/pjrt.h"

enum { ROWS = 20000, BATCH = 2048, HEIGHT = 32 };

static fg_status open_images(unsigned char *memory, fg_dataset **out, fg_error *err)
{
    static const fg_field field = {"image", {FG_U8, 3, {HEIGHT, HEIGHT, 3}}};
    const fg_dataset_spec spec = {.count = ROWS, .fields = &field, .field_count = 1};
    return fg_dataset_from_arrays(&spec, (const void *const[]){memory}, FG_BORROW, out, err);
}

/* One batch from the loader onto the devices, and back to the loader. */
static fg_status deal(fg_client *client, fg_loader *loader, fg_error *err)
{
    const fgi_sharding sharding = fgi_sharding_of_batch(fgi_client_mesh(client));
    const fg_host_batch *batch = NULL;
    fg_array *array = NULL;
    fgi_event *done = NULL;
    FGI_TRY(fg_loader_next(loader, &batch, err));
    fg_status status = fgi_array_upload(client, &batch->types[0], &sharding, batch->data[0],
                                        FGI_UPLOAD_ASYNC, &array, &done, err);
    if (status == FG_OK)
        status = fg_array_wait(array, err);
    fg_array_release(array);
    if (status == FG_OK)
        status = fgi_event_wait(done, err);
    fgi_event_destroy(done);
    fg_loader_recycle(loader, batch);
    return status;
}

static fg_status measure(fg_dataset *dataset, int devices, double seconds, fg_error *err)
{
    fg_client *client = NULL;
    fg_loader *loader = NULL;
    int64_t batches = 0;
    const fg_client_options options = {
        .accelerator = "cpu", .cpu_devices = devices, .cache_dir = ""};
    const fg_loader_options order = {
        .batch_size = BATCH, .shuffle = true, .run_ahead = true, .drop_last = true, .workers = 1};
    fg_status status = fg_client_open(&options, &client, err);
    if (status == FG_OK)
        status = fg_loader_create(dataset, &order, &loader, err);
    const int64_t begin = fgi_now_ns();
    int64_t now = begin;
    for (; status == FG_OK && (double)(now - begin) < seconds * 1e9; now = fgi_now_ns()) {
        status = deal(client, loader, err);
        batches++;
        if (status == FG_OK && batches % (ROWS / BATCH) == 0) { /* the epoch's end is a NULL */
            const fg_host_batch *end = NULL;
            status = fg_loader_next(loader, &end, err);
        }
    }
    if (status == FG_OK) {
        const fg_client_stats stats = fg_client_stats_of(client);
        const double n = (double)batches;
        printf("%d devices  %8.3f ms per batch  gathered %8.0f bytes  uploaded %8.0f  "
               "copied by the plugin %8.0f\n",
               devices, (double)(now - begin) * 1e-6 / n, (double)BATCH * HEIGHT * HEIGHT * 3,
               (double)stats.uploaded_bytes / n,
               (double)(stats.uploaded_bytes - stats.in_place_bytes) / n);
    }
    fg_loader_destroy(loader);
    fg_client_close(client);
    return status;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    unsigned char *memory = calloc(ROWS, (size_t)HEIGHT * HEIGHT * 3);
    fg_status status = memory != NULL ? open_images(memory, &dataset, &err) : FG_ENOMEM;
    for (int round = 0; round < 2 && status == FG_OK; round++)
        for (int devices = 1; devices <= 8 && status == FG_OK; devices *= 8)
            status = measure(dataset, devices, seconds, &err);
    fg_dataset_destroy(dataset);
    free(memory);
    return status == FG_OK ? 0 : fg_error_print(&err, argv[0]);
}
