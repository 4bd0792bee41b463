/* test_pack_planes.c - packs of YCbCr planes that the device converts: when samples are planes, and
 * what is in them. The conversion: tests/cts/test_decode.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "open_format.h"

#include <fulgurite/pack_dataset.h>
#include "data/formats.h"
#include "photo_pack.h"

enum { H = 7, W = 10, PIXELS = H * W, PLANES = PIXELS + 2 * 4 * 5, COUNT = 4 };
static fg_error err;

static const photo_spec planes = {
    .codec = FG_PACK_RAW_YCC420, .is_equal = true, .count = COUNT, .width = W, .height = H};
static const fg_images_options whole = {
    .height = H, .width = W, .crop = FG_IMAGE_CROP_CENTER, .center_fraction = 1};

static const char *in_folder(const char *name)
{
    static char folder[200];
    if (folder[0] == '\0')
        (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    return fgt_path(folder, name);
}

static fg_dataset *open_planes(const photo_spec *spec, const fg_images_options *images, bool keep)
{
    fg_pack *pack;
    fg_dataset *dataset;
    photo_pack_write(in_folder("photos.pack"), spec);
    fgt_ok(fg_pack_open(in_folder("photos.pack"), NULL, &pack, &err));
    const fg_pack_dataset_options options = {.images = *images, .keep_planes = keep};
    fgt_ok(fg_pack_dataset_create(pack, &options, &dataset, &err));
    fg_pack_close(pack);
    return dataset;
}

/* The bytes of the pack, which are half of RGB's but for the rounding of odd sizes. */
static void samples_are_the_planes(void **state)
{
    fg_dataset *dataset = open_planes(&planes, &whole, true);
    const fg_image_encoding *e = fg_dataset_encoding(dataset);
    assert_non_null(e);
    assert_int_equal(e->coding, FG_IMAGE_YCC420);
    assert_int_equal(fg_type_bytes(&fg_dataset_field(dataset, 0)->type), PLANES);
    for (int i = 0; i < COUNT; i++) {
        uint8_t sample[PLANES];
        fg_image photo = {0};
        photo_make(&planes, i, &photo);
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){sample}, &err));
        for (int k = 0; k < PIXELS; k++)
            assert_int_equal(sample[k], photo.pixels[3 * k]);
        for (int k = 0; k < 20; k++)
            for (int c = 0; c < 2; c++)
                assert_int_equal(sample[PIXELS + 20 * c + k],
                                 photo.pixels[3 * (k / 5 * 2 * W + k % 5 * 2) + 1 + c]);
        fg_image_fini(&photo);
    }
    fg_dataset_destroy(dataset);
}

static void any_work_of_the_host_needs_pixels(void **state)
{
    static const struct {
        fg_images_options images;
        bool is_kept;
    } cases[] = {
        {{.height = H, .width = W, .center_fraction = 1}, true},
        {{.height = H, .width = W, .crop = FG_IMAGE_CROP_WINDOW, .flip_probability = FG_ZERO},
         true},
        {{.height = H, .width = W, .crop = FG_IMAGE_CROP_WINDOW}, false},
        {{.height = H, .width = W, .crop = FG_IMAGE_CROP_RANDOM}, false},
        {{.height = H, .width = W}, false}, /* 0.875 of the image */
        {{.height = H, .width = W, .center_fraction = 1, .channels = 1}, false},
        {{.height = H, .width = W + 1, .center_fraction = 1}, false},
        {{.height = H - 1, .width = W, .center_fraction = 1}, false},
    };
    photo_spec other = planes;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_dataset *dataset = open_planes(&planes, &cases[i].images, true);
        if ((fg_dataset_encoding(dataset) != NULL) != cases[i].is_kept)
            fail_msg("case %zu", i);
        fg_dataset_destroy(dataset);
    }
    for (int i = 0; i < 3; i++) {
        other.is_equal = i != 1; /* one has another size */
        other.codec = i == 2 ? FG_PACK_RAW_RGB : FG_PACK_RAW_YCC420;
        fg_dataset *dataset = open_planes(&other, &whole, i != 0);
        assert_null(fg_dataset_encoding(dataset));
        assert_int_equal(fg_dataset_field(dataset, 0)->type.rank, 3);
        fg_dataset_destroy(dataset);
    }
}

static void a_record_of_another_size_is_named(void **state)
{
    static const uint8_t bytes[PLANES];
    fg_pack_entry entry = {
        .name = "one", .codec = FG_PACK_RAW_YCC420, .width = W, .height = H, .label = -1};
    fg_pack_writer *writer;
    fg_pack *pack;
    fg_dataset *dataset;
    uint8_t sample[PLANES];
    fgt_ok(fg_pack_writer_create(in_folder("short.pack"), NULL, &writer, NULL, &err));
    fgt_ok(fg_pack_writer_add(writer, &entry, bytes, PLANES, &err));
    entry.name = "two";
    fgt_ok(fg_pack_writer_add(writer, &entry, bytes, PLANES - 1, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(fg_pack_open(in_folder("short.pack"), NULL, &pack, &err));
    const fg_pack_dataset_options options = {.images = whole, .keep_planes = true};
    fgt_ok(fg_pack_dataset_create(pack, &options, &dataset, &err));
    fg_pack_close(pack);
    fgt_ok(fg_dataset_read(dataset, 0, (void *const[]){sample}, &err));
    assert_int_equal(fg_dataset_read(dataset, 1, (void *const[]){sample}, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "record 1 ('two'): 109 bytes are not the pixels of an "
                                        "image of 10 x 7 pixels"));
    fg_dataset_destroy(dataset);
}

/* Whether a configuration's training samples are planes. */
static bool configured(const char *options)
{
    const fg_format_request request = {.part = FG_PART_TRAIN, .is_training = true};
    const fg_entry *entry = &fgi_pack_row.entry;
    fg_format_data data = {0};
    fg_option_values *values;
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    fgt_ok(fg_option_set_all(values, options, "here", &err));
    fgt_ok(fg_option_set(values, "train", in_folder("photos.pack"), "here", &err));
    fgt_ok(fgt_open_format(&fgi_pack_row, values, request, &data, &err));
    const bool is_encoded = fg_dataset_encoding(data.samples) != NULL;
    fg_dataset_destroy(data.samples);
    fg_dataset_destroy(data.val);
    fg_option_values_destroy(values);
    return is_encoded;
}

static void configurations_keep_planes(void **state)
{
    photo_spec square = planes;
    square.height = W;
    photo_pack_write(in_folder("photos.pack"), &square);
    assert_true(configured("{size: 10, crop: center, center_fraction: 1}"));
    assert_true(configured("{size: 10, crop: window, flip: 0}"));
    assert_false(configured("{size: 10, crop: window}"));
    assert_false(configured("{size: 10}"));
}

static fg_status create(void *self, fg_error *e)
{
    const fg_pack_dataset_options options = {.images = whole, .keep_planes = true};
    fg_dataset *dataset;
    const fg_status status = fg_pack_dataset_create(self, &options, &dataset, e);
    fg_dataset_destroy(dataset);
    return status;
}

static void allocation_failures_leak_nothing(void **state)
{
    fg_pack *pack;
    photo_pack_write(in_folder("photos.pack"), &planes);
    fgt_ok(fg_pack_open(in_folder("photos.pack"), NULL, &pack, &err));
    fgt_fault_loop(create, pack);
    fg_pack_close(pack);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(samples_are_the_planes),
    cmocka_unit_test(any_work_of_the_host_needs_pixels),
    cmocka_unit_test(a_record_of_another_size_is_named),
    cmocka_unit_test(configurations_keep_planes),
    cmocka_unit_test(allocation_failures_leak_nothing),
};
FGT_MAIN(tests)
