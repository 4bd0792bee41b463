/* test_pack_loading.c - packs behind a loader: order and resuming, threads, damaged records,
 * files that shrink.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/pack_dataset.h>
#include <fulgurite/sampling.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "data/dataset.h"
#include "photo_pack.h"

enum { SIDE = 16, BYTES = SIDE * SIDE * 3, COUNT = 23, BATCH = 5 };
static fg_error err;

static const char *in_folder(const char *name)
{
    static char folder[200];
    if (folder[0] == '\0')
        (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    return fgt_path(folder, name);
}

static const photo_spec raw = {.codec = FG_PACK_RAW_RGB, .count = COUNT, .classes = 3};
static const fg_images_options window = {
    .height = SIDE, .width = SIDE, .crop = FG_IMAGE_CROP_WINDOW, .seed = 2};

static fg_dataset *open_pack(const char *path, const fg_pack_dataset_options *options)
{
    fg_pack *pack;
    fg_dataset *dataset;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fgt_ok(fg_pack_dataset_create(pack, options, &dataset, &err));
    fg_pack_close(pack);
    return dataset;
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct epochs {
    uint8_t images[2 * COUNT][BYTES];
    int32_t labels[2 * COUNT];
    int count;
} epochs;

/* Two shuffled epochs from a position, one after the other. */
static fg_status load(fg_dataset *dataset, int workers, int64_t epoch, int64_t position,
                      epochs *out)
{
    fg_loader *loader;
    fg_status status = FG_OK;
    const fg_loader_options options = {.batch_size = BATCH,
                                       .shuffle = true,
                                       .seed = 9,
                                       .run_ahead = true,
                                       .workers = workers == 0 ? FG_NONE : workers,
                                       .epoch = epoch,
                                       .position = position};
    out->count = 0;
    fgt_ok(fg_loader_create(dataset, &options, &loader, &err));
    for (int ends = (int)epoch; ends < 2 && status == FG_OK;) {
        const fg_host_batch *batch;
        status = fg_loader_next(loader, &batch, &err);
        if (status != FG_OK || batch == NULL) {
            ends++;
            continue;
        }
        memcpy(out->images[out->count], batch->data[0], (size_t)batch->valid * BYTES);
        memcpy(&out->labels[out->count], batch->data[1], (size_t)batch->valid * sizeof(int32_t));
        out->count += (int)batch->valid;
        fg_loader_recycle(loader, batch);
    }
    fg_loader_destroy(loader);
    return status;
}

static void order_does_not_depend_on_threads_or_resuming(void **state)
{
    static epochs one, other;
    photo_pack_write(in_folder("raw.pack"), &raw);
    fg_dataset *dataset =
        open_pack(in_folder("raw.pack"), &(fg_pack_dataset_options){.images = window});
    fgt_ok(load(dataset, 0, 0, 0, &one));
    assert_int_equal(one.count, 2 * COUNT);
    for (int workers = 1; workers <= 4; workers += 3) {
        memset(&other, 0, sizeof other);
        fgt_ok(load(dataset, workers, 0, 0, &other));
        assert_memory_equal(&one, &other, sizeof one);
    }
    fgt_ok(load(dataset, 4, 1, 2 * BATCH, &other)); /* resumed in the second epoch */
    assert_int_equal(other.count, COUNT - 2 * BATCH);
    assert_memory_equal(other.images, one.images[COUNT + 2 * BATCH], (size_t)other.count * BYTES);
    assert_memory_equal(other.labels, &one.labels[COUNT + 2 * BATCH],
                        (size_t)other.count * sizeof(int32_t));
    fg_dataset_destroy(dataset);
}

/* ---- damage ---------------------------------------------------------------------------------- */

typedef struct faults {
    atomic_int count, record;
    char message[600], name[64];
} faults;

static void on_fault(void *self, const fg_pack_fault *fault)
{
    faults *f = self;
    atomic_fetch_add(&f->count, 1);
    atomic_store(&f->record, (int)fault->record);
    (void)snprintf(f->message, sizeof f->message, "%s", fault->message);
    (void)snprintf(f->name, sizeof f->name, "%s", fault->name);
}

/* Changes one byte of a record. */
static void damage(const char *path, int64_t record, uint64_t at)
{
    fg_pack *pack;
    fg_pack_entry entry;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fgt_ok(fg_pack_entry_at(pack, record, &entry, &err));
    const long place = (long)(entry.offset_bytes + at % entry.size_bytes);
    FILE *file = fopen(fg_pack_path(pack, entry.shard), "r+b");
    fg_pack_close(pack);
    assert_non_null(file);
    assert_int_equal(fseek(file, place, SEEK_SET), 0);
    const int value = fgetc(file);
    assert_int_equal(fseek(file, place, SEEK_SET), 0);
    assert_int_equal(fputc(value ^ (1 << at % 8), file), value ^ (1 << at % 8));
    assert_int_equal(fclose(file), 0);
}

/* Random records and bytes: with `fail`, the message has the name; with `skip`, only the samples of
 * that record are replaced, by the next one, for any number of threads. */
static void a_damaged_record_is_named_or_replaced(void **state)
{
    static const fg_pack_codec codecs[] = {FG_PACK_RAW_RGB, FG_PACK_JPEG, FG_PACK_JPEG_SEG};
    static epochs intact, damaged, again;
    fg_images_options images = window;
    images.crop = FG_IMAGE_CROP_CENTER; /* the same in each epoch */
    uint32_t random = 1;
    for (int round = 0; round < 6; round++) {
        photo_spec spec = raw;
        spec.codec = codecs[round % 3];
        char path[300];
        (void)snprintf(path, sizeof path, "%s", in_folder("damaged.pack"));
        photo_pack_write(path, &spec);
        fg_dataset *dataset = open_pack(path, &(fg_pack_dataset_options){.images = images});
        fgt_ok(load(dataset, 0, 0, 0, &intact));
        static uint8_t next[BYTES];
        int32_t label;
        random = random * 1664525 + 1013904223;
        const int record = (int)(random >> 8) % COUNT;
        fgt_ok(fg_dataset_read(dataset, (record + 1) % COUNT, (void *const[]){next, &label}, &err));
        static uint8_t lost[BYTES];
        fgt_ok(fg_dataset_read(dataset, record, (void *const[]){lost, &(int32_t){0}}, &err));
        fg_dataset_destroy(dataset);

        random = random * 1664525 + 1013904223;
        damage(path, record, random >> 4);
        dataset = open_pack(path, &(fg_pack_dataset_options){.images = images});
        assert_int_equal(load(dataset, round % 3, 0, 0, &damaged), FG_EFORMAT);
        assert_non_null(strstr(err.message, photo_name(&spec, record)));
        assert_non_null(strstr(err.message, "damaged.pack: byte "));
        fg_dataset_destroy(dataset);

        faults f = {0};
        dataset = open_pack(path, &(fg_pack_dataset_options){.images = images,
                                                             .bad = FG_PACK_BAD_SKIP,
                                                             .fault = on_fault,
                                                             .fault_self = &f});
        fgt_ok(load(dataset, 3, 0, 0, &damaged));
        fgt_ok(load(dataset, 0, 0, 0, &again));
        assert_memory_equal(&damaged, &again, sizeof damaged);
        assert_int_equal(atomic_load(&f.count), 1);
        assert_int_equal(atomic_load(&f.record), record);
        assert_string_equal(f.name, photo_name(&spec, record));
        assert_non_null(strstr(f.message, f.name));
        int replaced = 0;
        for (int i = 0; i < 2 * COUNT; i++) {
            const bool is_lost = memcmp(intact.images[i], lost, BYTES) == 0;
            replaced += is_lost;
            assert_memory_equal(damaged.images[i], is_lost ? next : intact.images[i], BYTES);
            assert_int_equal(damaged.labels[i], is_lost ? label : intact.labels[i]);
        }
        assert_int_equal(replaced, 2);
        fg_dataset_destroy(dataset);
    }
}

static void a_pack_without_an_intact_record_is_an_error(void **state)
{
    const photo_spec spec = {.codec = FG_PACK_RAW_RGB, .count = 2, .classes = 2};
    static epochs out;
    faults f = {0};
    photo_pack_write(in_folder("all.pack"), &spec);
    damage(in_folder("all.pack"), 0, 1);
    damage(in_folder("all.pack"), 1, 2);
    fg_dataset *dataset = open_pack(
        in_folder("all.pack"),
        &(fg_pack_dataset_options){
            .images = window, .bad = FG_PACK_BAD_SKIP, .fault = on_fault, .fault_self = &f});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load(dataset, 0, 0, 0, &out), FG_EFORMAT);
        fgt_message_is(
            err.message,
            "~/all.pack: byte 4224: record 0 ('a/photo 000.png') is damaged: its CRC-32C is @");
    }
    assert_int_equal(atomic_load(&f.count), 2);
    fg_dataset_destroy(dataset);
}

/* Neither zeros nor a skipped record: the file is not what it was. */
static void a_file_that_shrinks_is_an_error(void **state)
{
    static epochs out;
    for (int k = 0; k < 4; k++) {
        photo_spec spec = raw;
        spec.codec = k % 2 == 0 ? FG_PACK_RAW_RGB : FG_PACK_JPEG_SEG;
        const fg_pack_dataset_options options = {
            .images = window, .bad = k < 2 ? FG_PACK_BAD_SKIP : FG_PACK_BAD_FAIL};
        photo_pack_write(in_folder("cut.pack"), &spec);
        fg_dataset *dataset = open_pack(in_folder("cut.pack"), &options);
        if (k % 2 == 0)
            fgt_ok(load(dataset, 2, 0, 0, &out)); /* all checksums have been verified */
        assert_int_equal(truncate(in_folder("cut.pack"), 4096), 0);
        assert_int_equal(load(dataset, 2, 0, 0, &out), FG_EIO);
        fgt_message_is(err.message, "cannot read '~/cut.pack': the file has shrunk or its disk has "
                                    "failed since it was opened");
        fg_dataset_destroy(dataset);
    }
}

/* ---- prefetch -------------------------------------------------------------------------------- */

typedef struct asked {
    int reads[COUNT], requests[COUNT];
    int early; /* requests for samples that had not been read in their epoch */
} asked;

static fg_status asked_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                              void *const *out_fields, fg_error *e)
{
    asked *a = self;
    for (size_t i = 0; i < n; i++)
        a->reads[indices[i]]++;
    memset(out_fields[0], 0, n);
    return FG_OK;
}

static void asked_prefetch(void *self, int64_t epoch, const int64_t *indices, size_t n)
{
    asked *a = self;
    for (size_t i = 0; i < n; i++) {
        a->requests[indices[i]]++;
        a->early += a->reads[indices[i]] == (int)epoch;
    }
}

static void asked_destroy(void *self) {}

static fg_dataset *asking(asked *a)
{
    static const fgi_gathered ops = {
        .gather_epoch = asked_gather, .prefetch = asked_prefetch, .destroy = asked_destroy};
    static const fg_field field = {"x", {.dtype = FG_U8}};
    const fg_dataset_spec spec = {.count = COUNT, .fields = &field, .field_count = 1};
    fg_dataset *dataset;
    *a = (asked){.early = 0};
    fgt_ok(fgi_dataset_create_gathered(&ops, a, &spec, &dataset, &err));
    return dataset;
}

/* Loads `count` samples and expects that all but the first batch had been asked for; parts: those
 * of the dataset. Destroys the dataset. */
static void expect_requests(fg_dataset *take_dataset, int count, const asked *parts, int part_count)
{
    fg_loader *loader;
    const fg_host_batch *batch;
    int requests = 0, reads = 0, early = 0;
    fgt_ok(fg_loader_create(take_dataset,
                            &(fg_loader_options){.batch_size = BATCH,
                                                 .shuffle = true,
                                                 .drop_last = true,
                                                 .run_ahead = true,
                                                 .workers = FG_NONE},
                            &loader, &err));
    for (int i = 0; i < count / BATCH; i++) {
        fgt_ok(fg_loader_next(loader, &batch, &err));
        fg_loader_recycle(loader, batch);
    }
    for (int p = 0; p < part_count; p++) {
        for (int i = 0; i < COUNT; i++) {
            requests += parts[p].requests[i];
            reads += parts[p].reads[i];
        }
        early += parts[p].early;
    }
    assert_int_equal(reads, count / BATCH * BATCH);
    assert_int_equal(requests, reads); /* the last ones are of the next epoch */
    assert_true(early >= requests - BATCH);
    fg_loader_destroy(loader);
    fg_dataset_destroy(take_dataset);
}

/* Also through a subset, a draw by weight and a mix. */
static void the_next_batch_is_requested(void **state)
{
    static asked a[2];
    int64_t order[COUNT];
    double weights[COUNT];
    for (int i = 0; i < COUNT; i++) {
        order[i] = COUNT - 1 - i;
        weights[i] = 1;
    }
    fg_dataset *parts[] = {asking(&a[0]), NULL}, *dataset;
    fgt_ok(fg_dataset_subset(parts[0], order, COUNT, &dataset, &err));
    expect_requests(dataset, COUNT, a, 1);
    fg_dataset_destroy(parts[0]);
    parts[0] = asking(&a[0]);
    fgt_ok(fg_dataset_weighted(parts[0], weights, NULL, &dataset, &err));
    expect_requests(dataset, COUNT, a, 1);
    fg_dataset_destroy(parts[0]);
    for (int i = 0; i < 2; i++)
        parts[i] = asking(&a[i]);
    fgt_ok(fg_dataset_mix(parts, 2, NULL, &dataset, &err));
    expect_requests(dataset, 2 * COUNT, a, 2);
    for (int i = 0; i < 2; i++)
        fg_dataset_destroy(parts[i]);
}

/* ---- mixes ----------------------------------------------------------------------------------- */

typedef struct mixed_parts {
    fg_dataset *at[3];
} mixed_parts;

static fg_status make_mix(void *self, fg_error *e)
{
    fg_dataset *mix;
    const fg_status status = fg_dataset_mix(((mixed_parts *)self)->at, 3, NULL, &mix, e);
    fg_dataset_destroy(mix);
    return status;
}

/* Damage of any part is reported, and that of a dataset with two parts once. */
static void a_mix_reports_the_damage_of_all_parts(void **state)
{
    const fg_pack_dataset_options options = {.images = window, .bad = FG_PACK_BAD_SKIP};
    const int64_t both[] = {0, 1}, fine[] = {3};
    const char *message;
    mixed_parts parts;
    fg_dataset *mix, *pack;
    uint8_t image[BYTES];
    int32_t label;
    photo_pack_write(in_folder("first.pack"), &raw);
    photo_pack_write(in_folder("part.pack"), &raw);
    damage(in_folder("first.pack"), 2, 7);
    damage(in_folder("part.pack"), 1, 7);
    parts.at[0] = open_pack(in_folder("first.pack"), &options);
    pack = open_pack(in_folder("part.pack"), &options);
    fgt_ok(fg_dataset_subset(pack, both, 2, &parts.at[1], &err));
    fgt_ok(fg_dataset_subset(pack, fine, 1, &parts.at[2], &err));
    fg_dataset_destroy(pack);
    fgt_ok(fg_dataset_mix(parts.at, 3, NULL, &mix, &err));
    assert_int_equal(fg_dataset_damaged(mix, &message), 0);
    assert_string_equal(message, "");
    for (int64_t i = 0; i < fg_dataset_count(mix); i++)
        fgt_ok(fg_dataset_read(mix, i, (void *const[]){image, &label}, &err));
    assert_int_equal(fg_dataset_damaged(mix, &message), 2);
    fgt_message_is(message, "~/first.pack: byte @");
    fg_dataset_destroy(mix);
    fgt_fault_loop(make_mix, &parts);
    for (int i = 0; i < 3; i++)
        fg_dataset_destroy(parts.at[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(order_does_not_depend_on_threads_or_resuming),
    cmocka_unit_test(a_damaged_record_is_named_or_replaced),
    cmocka_unit_test(a_pack_without_an_intact_record_is_an_error),
    cmocka_unit_test(a_file_that_shrinks_is_an_error),
    cmocka_unit_test(the_next_batch_is_requested),
    cmocka_unit_test(a_mix_reports_the_damage_of_all_parts),
};
FGT_MAIN(tests)
