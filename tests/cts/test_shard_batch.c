/* test_shard_batch.c - a batch on its way from a dataset to 1 and to 8 devices: how often its bytes
 * are copied, and that each device reads its rows from the loader's memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdatomic.h>
#include <fulgurite/fulgurite.h>
#include "base/alloc.h"
#include "pjrt/plugin.h"

enum { BATCH = 2048, WIDTH = 75, SAMPLES = 5003 };

static atomic_llong gathered; /* bytes that the dataset has written into batches */

static fg_status gather(void *self, const int64_t *indices, size_t n, void *const *out_fields,
                        fg_error *err)
{
    (void)self, (void)err;
    for (size_t i = 0; i < n; i++) {
        memset((unsigned char *)out_fields[0] + i * WIDTH, (int)(indices[i] % 251), WIDTH);
        ((int32_t *)out_fields[1])[i] = (int32_t)indices[i];
    }
    atomic_fetch_add(&gathered, (long long)n * (WIDTH + 4));
    return FG_OK;
}

static fg_dataset *samples(void)
{
    static const fg_field fields[] = {{"x", {FG_U8, 1, {WIDTH}}}, {"y", {.dtype = FG_S32}}};
    const fg_dataset_ops ops = {.gather = gather};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    return dataset;
}

/* The address of device d's shard of the array, which is known on the CPU. */
static const void *address_of(const fg_array *array, int d)
{
    fg_error err = {0};
    FGI_ARGS(PJRT_Buffer_UnsafePointer_Args, args, .buffer = array->buffer[d]);
    const fgi_pjrt_call place = {array->client, "cpu", "asking for an address", FG_EDEVICE};
    fgt_ok(fgi_check(array->client->plugin.api->PJRT_Buffer_UnsafePointer(&args), &place, &err));
    const void *address;
    const uintptr_t number = (uintptr_t)args.buffer_pointer;
    memcpy(&address, &number, sizeof address);
    return address;
}

/* Uploads a field of the batch to all devices: each uses its rows in place. */
static void shard_field(fg_client *client, const fg_host_batch *batch, int f, int devices)
{
    fg_error err = {0};
    fg_array *array = NULL;
    fgi_event *done = NULL;
    const fgi_sharding split = {{FGT_DATA}};
    const size_t size = fg_type_bytes(&batch->types[f]);
    fgt_ok(fgi_array_upload(client, &batch->types[f], &split, batch->data[f], FGI_UPLOAD_ASYNC,
                            &array, &done, &err));
    for (int d = 0; d < devices; d++)
        assert_ptr_equal(address_of(array, d),
                         (const char *)batch->data[f] + size / (size_t)devices * (size_t)d);
    unsigned char *back = fgi_alloc_aligned(size);
    fgt_ok(fg_array_read(array, back, size, &err));
    assert_memory_equal(back, batch->data[f], size);
    fgi_free_aligned(back);
    fg_array_release(array);
    fgt_ok(fgi_event_wait(done, &err));
    fgi_event_destroy(done);
}

static void a_batch_is_copied_as_often_for_eight_devices_as_for_one(void **state)
{
    long long copied[2], uploaded[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        const int devices = i == 0 ? 1 : 8;
        fg_error err = {0};
        fg_client *client = NULL;
        fg_loader *loader = NULL;
        const fg_host_batch *batch = NULL;
        fg_dataset *dataset = samples();
        fgt_ok(fg_client_open(
            &(fg_client_options){.accelerator = "cpu", .cpu_devices = devices, .cache_dir = ""},
            &client, &err));
        atomic_store(&gathered, 0); /* its workers begin at once */
        fgt_ok(fg_loader_create(
            dataset, &(fg_loader_options){.batch_size = BATCH, .shuffle = true, .prefetch = 1},
            &loader, &err));
        const fg_client_stats before = fg_client_stats_of(client);
        for (int k = 0; k < 3; k++) { /* the last one is padded */
            fgt_ok(fg_loader_next(loader, &batch, &err));
            for (int f = 0; f < 2; f++)
                shard_field(client, batch, f, devices);
            if (k < 2)
                fg_loader_recycle(loader, batch);
        }
        const fg_client_stats after = fg_client_stats_of(client);
        uploaded[i] = after.uploaded_bytes - before.uploaded_bytes;
        copied[i] =
            atomic_load(&gathered) + uploaded[i] - (after.in_place_bytes - before.in_place_bytes);
        fg_loader_destroy(loader);
        fg_dataset_destroy(dataset);
        fg_client_close(client);
    }
    assert_int_equal(uploaded[0], 3 * BATCH * (WIDTH + 4));
    assert_int_equal(uploaded[1], uploaded[0]);
    assert_int_equal(copied[1], copied[0]);
    assert_int_equal(copied[0], 3 * BATCH * (WIDTH + 4)); /* once: into the batch */
}

/* Shards that do not start at a multiple of 64 bytes are copied by the plugin and counted. */
static void odd_addresses_are_copied(void **state)
{
    static const fg_type type = {.dtype = FG_U8, .rank = 2, .dim = {8, 100}};
    fg_error err = {0};
    fg_client *client = NULL;
    fg_array *array = NULL;
    fgi_event *done = NULL;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cpu_devices = 8, .cache_dir = ""}, &client,
        &err));
    unsigned char *rows = fgi_alloc_aligned(800);
    memset(rows, 7, 800);
    fgt_ok(fgi_array_upload(client, &type, &(fgi_sharding){{FGT_DATA}}, rows, FGI_UPLOAD_ASYNC,
                            &array, &done, &err));
    const fg_client_stats stats = fg_client_stats_of(client);
    assert_int_equal(stats.uploaded_bytes, 800);
    assert_int_equal(stats.in_place_bytes, 100); /* the first row is aligned */
    fg_array_release(array);
    fgt_ok(fgi_event_wait(done, &err));
    fgi_event_destroy(done);
    fgi_free_aligned(rows);
    fg_client_close(client);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_batch_is_copied_as_often_for_eight_devices_as_for_one),
    cmocka_unit_test(odd_addresses_are_copied),
};
FGT_MAIN(tests)
