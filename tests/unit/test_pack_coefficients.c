/* test_pack_coefficients.c - packs of DCT coefficients as datasets: entries of batches, their
 * encoding, and packs that cannot be in one batch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/pack_dataset.h>
#include <stdio.h>
#include <stdlib.h>

#include "coefficient_pack.h"
#include "image/jpeg_coefficients.h"

enum { COUNT = 5 };
static fg_error err;

/* Record 3 has coefficients of two bytes. */
static const fgt_jpeg_spec specs[COUNT] = {
    {.width = 37, .height = 21},
    {.width = 37, .height = 21, .quality = 80},
    {.width = 37, .height = 21, .quality = 50},
    {.width = 37, .height = 21, .quality = 100},
    {.width = 37, .height = 21, .quality = 30},
};

static const char *path_of_pack(void)
{
    static char path[300];
    if (path[0] == '\0')
        (void)snprintf(path, sizeof path, "%s", fgt_path(fgt_temp_folder(), "dct.pack"));
    return path;
}

static fg_status try_open(const fg_pack_dataset_options *options, fg_dataset **out)
{
    fg_pack *pack;
    fgt_ok(fg_pack_open(path_of_pack(), NULL, &pack, &err));
    const fg_status status = fg_pack_dataset_create(pack, options, out, &err);
    fg_pack_close(pack);
    return status;
}

static fg_dataset *open_specs(const fgt_jpeg_spec *wanted, bool has_flags,
                              const fg_pack_dataset_options *options)
{
    fg_dataset *dataset;
    coefficient_pack_write(path_of_pack(), wanted, COUNT, has_flags);
    fgt_ok(try_open(options, &dataset));
    return dataset;
}

/* The entry of a JPEG that was not in a pack. The caller calls free. */
static int8_t *entry_of(const fgt_jpeg_spec *spec, int high, size_t *out_bytes)
{
    size_t size;
    fgi_buf bytes = {0};
    fgi_jpeg_coefficients record;
    uint8_t *jpeg = fgt_jpeg_make(spec, &size);
    fgt_ok(fgi_jpeg_coefficients_write("made", jpeg, size, &bytes, &err));
    fgt_ok(fgi_jpeg_coefficients_open("made", bytes.data, bytes.size, &record, &err));
    *out_bytes = fgi_jpeg_entry_bytes(record.components, record.blocks, high);
    int8_t *entry = malloc(*out_bytes);
    assert_non_null(entry);
    fgt_ok(fgi_jpeg_coefficients_entry("made", &record, high, entry, &err));
    fgi_buf_fini(&bytes);
    free(jpeg);
    return entry;
}

static void check_samples(const fg_dataset *dataset)
{
    const fg_image_encoding *e = fg_dataset_encoding(dataset);
    int8_t *got = malloc(fg_type_bytes(&fg_dataset_field(dataset, 0)->type));
    assert_non_null(got);
    for (int i = 0; i < COUNT; i++) {
        int32_t label;
        size_t bytes;
        int8_t *want = entry_of(&specs[i], e->high, &bytes);
        assert_int_equal(fg_type_bytes(&fg_dataset_field(dataset, 0)->type), bytes);
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){got, &label}, &err));
        assert_memory_equal(got, want, bytes);
        assert_int_equal(label, i % 2);
        free(want);
    }
    free(got);
}

static void samples_are_entries(void **state)
{
    int high[2];
    for (int has_flags = 0; has_flags < 2; has_flags++) {
        fg_dataset *dataset = open_specs(specs, has_flags != 0, NULL);
        const fg_image_encoding *e = fg_dataset_encoding(dataset);
        assert_int_equal(fg_dataset_count(dataset), COUNT);
        assert_true(e->coding == FG_IMAGE_DCT && e->width == 37 && e->height == 21);
        assert_true(e->components == 3 && e->h[0] == 2 && e->v[0] == 2 && e->h[2] == 1);
        const fg_type type = fg_image_encoding_type(e);
        assert_true(fg_type_equal(&type, &fg_dataset_field(dataset, 0)->type));
        high[has_flags] = e->high;
        check_samples(dataset);
        fg_dataset_destroy(dataset);
    }
    assert_true(high[0] > 1 && high[0] == high[1]);
}

/* Record 3, which needs two bytes, is not in the validation samples. */
static void splits_have_the_same_encoding(void **state)
{
    const fg_pack_dataset_options train = {.use_splits = true, .images.split = FG_TRAIN};
    const fg_pack_dataset_options val = {.use_splits = true, .images.split = FG_VAL};
    fg_dataset *a = open_specs(specs, true, &train), *b;
    fgt_ok(try_open(&val, &b));
    assert_int_equal(fg_dataset_count(a), 4);
    assert_int_equal(fg_dataset_count(b), 1);
    assert_memory_equal(fg_dataset_encoding(a), fg_dataset_encoding(b), sizeof(fg_image_encoding));
    fg_dataset_destroy(a);
    fg_dataset_destroy(b);
}

static void images_must_have_one_layout(void **state)
{
    fgt_jpeg_spec other[COUNT];
    fg_dataset *dataset;
    memcpy(other, specs, sizeof other);
    other[4].width = 38;
    coefficient_pack_write(path_of_pack(), other, COUNT, true);
    assert_int_equal(try_open(NULL, &dataset), FG_EINVAL);
    fgt_message_is(err.message,
                   "~/dct.pack: record 4 ('photo 4.jpg') has 38 x 21 pixels, but the first record "
                   "has 37 x 21: all images of a pack of DCT coefficients must have the same size "
                   "and chroma sampling\nbuild the pack with one size for all images");
    other[4] = specs[4];
    for (int k = 0; k < 3; k++) { /* 4:4:4, 4:2:2 and 4:4:0 */
        other[4].h = k == 1 ? 2 : 1;
        other[4].v = k == 2 ? 2 : 1;
        dataset = open_specs(other, true, NULL);
        int8_t *entry = malloc(fg_type_bytes(&fg_dataset_field(dataset, 0)->type));
        int32_t label;
        assert_non_null(entry);
        fgt_ok(fg_dataset_read(dataset, 3, (void *const[]){entry, &label}, &err));
        assert_int_equal(fg_dataset_read(dataset, 4, (void *const[]){entry, &label}, &err),
                         FG_EINVAL);
        fgt_message_is(
            err.message,
            "~/dct.pack: record 4 ('photo 4.jpg') has 37 x 21 pixels, but the first "
            "record has 37 x 21: all images of a pack of DCT coefficients must have the "
            "same size and chroma sampling\nbuild the pack with one size for all images");
        free(entry);
        fg_dataset_destroy(dataset);
    }
}

static fg_status open_and_read(void *self, fg_error *error)
{
    fg_pack *pack = NULL;
    fg_dataset *dataset = NULL;
    int8_t *entry = self;
    int32_t label;
    fg_status status = fg_pack_open(path_of_pack(), NULL, &pack, error);
    if (status == FG_OK)
        status = fg_pack_dataset_create(pack, NULL, &dataset, error);
    if (status == FG_OK)
        status = fg_dataset_read(dataset, 1, (void *const[]){entry, &label}, error);
    fg_dataset_destroy(dataset);
    fg_pack_close(pack);
    return status;
}

static void allocations_may_fail(void **state)
{
    fg_dataset *dataset = open_specs(specs, false, NULL);
    int8_t *entry = malloc(fg_type_bytes(&fg_dataset_field(dataset, 0)->type));
    assert_non_null(entry);
    fg_dataset_destroy(dataset);
    fgt_fault_loop(open_and_read, entry);
    free(entry);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(samples_are_entries),
    cmocka_unit_test(splits_have_the_same_encoding),
    cmocka_unit_test(images_must_have_one_layout),
    cmocka_unit_test(allocations_may_fail),
};
FGT_MAIN(tests)
