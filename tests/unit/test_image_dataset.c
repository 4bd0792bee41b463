/* The dataset of image files: boxes against their definition, samples against decoding and resizing
 * by hand, splits, labels, errors that name the file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/image.h>
#include <fulgurite/images.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "catalog/draft.h"
#include "data/dataset.h"
#include "data/image_boxes.h"
#include "data/image_check.h"
#include "data/image_sample.h"
#include "base/resources.h"
#include "base/text.h"
#include "data/image_workers.h"
#include "image_files.h"

enum { SIDE = 12, BYTES = SIDE * SIDE * 3 };
static fg_error err;

/* ---- boxes ----------------------------------------------------------------------------------- */

static void the_center_box_has_the_aspect_ratio(void **state)
{
    const fg_image_box wide = fgi_center_box(500, 375, 1, 0.875);
    fgt_close("width", wide.width, 328.125, 1e-9, 0);
    fgt_close("height", wide.height, 328.125, 1e-9, 0);
    fgt_close("x", wide.x, (500 - 328.125) / 2, 1e-9, 0);
    fgt_close("y", wide.y, (375 - 328.125) / 2, 1e-9, 0);
    const fg_image_box high = fgi_center_box(300, 400, 2, 1);
    fgt_close("width", high.width, 300, 1e-9, 0);
    fgt_close("height", high.height, 150, 1e-9, 0);
    fgt_close("y", high.y, 125, 1e-9, 0);
}

/* In a square image with ratio 1 and half of the area at most, every box fits: its area is uniform,
 * and so is its place. */
static void random_boxes_have_uniform_areas_and_places(void **state)
{
    enum { COUNT = 20000, WIDTH = 1000 };
    const fgi_box_limits limits = {0.1, 0.5, 1, 1};
    double area = 0, square = 0, place = 0, covariance = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const fg_image_box box =
            fgi_random_box(fgi_key_fold(fgi_key_from_seed(7), i), WIDTH, WIDTH, &limits);
        const double fraction = box.width * box.height / (WIDTH * WIDTH);
        assert_true(box.width == box.height && box.width == floor(box.width));
        assert_true(box.x >= 0 && box.x + box.width <= WIDTH);
        assert_true(box.y >= 0 && box.y + box.height <= WIDTH);
        assert_true(fraction > 0.099 && fraction < 0.501);
        area += fraction / COUNT;
        square += fraction * fraction / COUNT;
        const double x = box.x / (WIDTH - box.width), y = box.y / (WIDTH - box.height);
        place += x / COUNT;
        covariance += (x - 0.5) * (y - 0.5) / COUNT;
    }
    /* uniform on [0.1, 0.5): mean 0.3, variance 0.16 / 12; five deviations of the mean */
    fgt_close("mean of the area", area, 0.3, 5 * 0.1155 / sqrt(COUNT), 0);
    fgt_close("variance of the area", square - area * area, 0.16 / 12, 5e-4, 0);
    fgt_close("mean of the place", place, 0.5, 5 * 0.2887 / sqrt(COUNT), 1e-3);
    fgt_close("covariance of the place", covariance, 0, 5 / 12.0 / sqrt(COUNT), 0);
}

static void aspect_ratios_are_uniform_on_a_log_scale(void **state)
{
    enum { COUNT = 20000 };
    const fgi_box_limits limits = {0.1, 0.1, 0.5, 4}; /* always fits in 1000 x 1000 */
    double mean = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const fg_image_box box =
            fgi_random_box(fgi_key_fold(fgi_key_from_seed(8), i), 1000, 1000, &limits);
        const double ratio = box.width / box.height;
        assert_true(ratio > 0.498 && ratio < 4.02);
        mean += log(ratio) / COUNT;
    }
    fgt_close("mean of log(ratio)", mean, (log(0.5) + log(4)) / 2, 5 * log(8) / sqrt(12.0 * COUNT),
              1e-3);
}

static void a_box_that_never_fits_becomes_the_one_in_the_middle(void **state)
{
    const fgi_box_limits square = {0.5, 1, 1, 1}, wide = {0.9, 1, 2, 3};
    const fg_image_box narrow = fgi_random_box(fgi_key_from_seed(1), 10, 1000, &square);
    assert_true(narrow.width == 10 && narrow.height == 10 && narrow.x == 0 && narrow.y == 495);
    const fg_image_box flat = fgi_random_box(fgi_key_from_seed(1), 300, 300, &wide);
    assert_true(flat.width == 300 && flat.height == 150 && flat.x == 0 && flat.y == 75);
    for (int i = 0; i < 2; i++) { /* less than a pixel */
        const double ratio = i == 0 ? 9 : 1 / 9.0;
        const fg_image_box thin = fgi_random_box(fgi_key_from_seed(1), 90, 90,
                                                 &(fgi_box_limits){1e-4, 1e-4, ratio, ratio});
        assert_true(thin.width == (i == 0 ? 90 : 10) && thin.height == (i == 0 ? 10 : 90));
    }
}

/* If no box fits, the middle: of 1000 x 3 pixels, the width is 3 * 1.2 = 3.6, rounded. Windows are
 * placed in both directions apart. */
static void boxes_are_rounded_and_placed(void **state)
{
    const fgi_box_limits limits = {
        .scale_min = 1, .scale_max = 1, .ratio_min = 1, .ratio_max = 1.2};
    const fg_image_box flat = fgi_random_box(fgi_key_from_seed(1), 1000, 3, &limits);
    assert_true(flat.x == 498 && flat.y == 0 && flat.width == 4 && flat.height == 3);
    const fg_image_box tall = fgi_random_box(fgi_key_from_seed(1), 5, 1000, &limits);
    assert_true(tall.x == 0 && tall.y == 497 && tall.width == 5 && tall.height == 5);
    int apart = 0;
    for (uint64_t i = 0; i < 20; i++) {
        const fg_image_box window =
            fgi_window_box(fgi_key_fold(fgi_key_from_seed(3), i), 500, 500, 20, 10);
        assert_true(window.width == 20 && window.height == 10);
        assert_true(window.x >= 0 && window.x <= 480 && window.y >= 0 && window.y <= 490);
        apart += fabs(window.x - window.y) > 20;
    }
    assert_true(apart > 10);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* What the sample should be: the whole file is decoded, then the box is resized. */
static void by_hand(const char *image, double fraction, uint8_t out[BYTES])
{
    fgt_file file = fgt_file_read(image);
    fg_image_decoder *decoder;
    fg_image whole = {0};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgt_decode(decoder, &file, NULL, &whole, &err));
    const double width = (double)whole.width, height = (double)whole.height;
    const double side = fraction * (width < height ? width : height);
    const fg_image_resize_options options = {
        .box = {(width - side) / 2, (height - side) / 2, side, side}};
    fgt_ok(fg_image_resize(decoder, &whole, SIDE, SIDE, &options, out, &err));
    fg_image_decoder_destroy(decoder);
    fg_image_fini(&whole);
    fgt_file_free(&file);
}

static void samples_are_crops_of_the_middle(void **state)
{
    static const char *const images[] = {"baseline.jpg", "progressive.jpg"};
    uint8_t sample[BYTES], expected[BYTES];
    int32_t label;
    fg_dataset *dataset = fgt_photos_open(&(fg_images_options){.height = SIDE, .width = SIDE});
    assert_int_equal(fg_dataset_count(dataset), 3);
    assert_int_equal(fg_dataset_class_count(dataset), 2);
    assert_string_equal(fg_dataset_class_name(dataset, 1), "dog");
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_dataset_read(dataset, i, (void *const[]){sample, &label}, &err));
        by_hand(images[i], 0.875, expected);
        assert_memory_equal(sample, expected, BYTES);
        assert_int_equal(label, 0);
    }
    fgt_ok(fg_dataset_read(dataset, 2, (void *const[]){sample, &label}, &err));
    assert_int_equal(label, 1);
    fg_dataset_destroy(dataset);
}

/* All samples of an epoch, in order. */
static void load(fg_dataset *dataset, int workers, int64_t epoch, uint8_t out[3][BYTES])
{
    fg_loader *loader;
    const fg_host_batch *batch;
    const fg_loader_options options = {
        .batch_size = 3, .workers = workers == 0 ? FG_NONE : workers, .epoch = epoch};
    fgt_ok(fg_loader_create(dataset, &options, &loader, &err));
    fgt_ok(fg_loader_next(loader, &batch, &err));
    assert_int_equal(batch->valid, 3);
    memcpy(out, batch->data[0], (size_t)3 * BYTES);
    fg_loader_recycle(loader, batch);
    const fg_loader_stages times = fg_loader_stats_of(loader).stages;
    assert_true(times.read_s > 0 && times.resize_s > 0);
    assert_true(times.entropy_s > 0 && times.decode_s >= 0); /* the first is estimated, the second
                                                                what it leaves of the decoder */
    fg_loader_destroy(loader);
}

static void random_crops_are_a_function_of_seed_epoch_and_sample(void **state)
{
    uint8_t a[3][BYTES], b[3][BYTES];
    fg_images_options options = {
        .height = SIDE, .width = SIDE, .crop = FG_IMAGE_CROP_RANDOM, .seed = 4};
    fg_dataset *dataset = fgt_photos_open(&options), *other;
    options.seed = 5;
    other = fgt_photos_open(&options);
    load(dataset, 3, 2, a);
    load(dataset, 0, 2, b);
    assert_memory_equal(a, b, sizeof(a));
    load(dataset, 0, 3, b);
    for (int i = 0; i < 3; i++)
        assert_memory_not_equal(a[i], b[i], BYTES);
    load(other, 0, 2, b);
    for (int i = 0; i < 3; i++)
        assert_memory_not_equal(a[i], b[i], BYTES);
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(other);
}

/* With boxes of the whole image, a sample is either the resized image or its mirror image. */
static void half_of_the_samples_are_mirrored(void **state)
{
    enum { EPOCHS = 64 };
    const fg_images_options options = {.height = SIDE,
                                       .width = SIDE,
                                       .crop = FG_IMAGE_CROP_RANDOM,
                                       .scale_min = 1,
                                       .ratio_min = 37.0 / 23,
                                       .ratio_max = 37.0 / 23};
    fg_images_options never = options;
    never.flip_probability = FG_ZERO;
    fg_dataset *dataset = fgt_photos_open(&options), *straight = fgt_photos_open(&never);
    uint8_t samples[3][BYTES], plain[3][BYTES];
    int mirrored = 0;
    load(straight, 0, 0, plain);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        load(dataset, 0, epoch, samples);
        const bool is_plain = memcmp(samples[0], plain[0], BYTES) == 0;
        mirrored += !is_plain;
        for (int y = 0; y < SIDE && !is_plain; y++)
            for (int x = 0; x < SIDE; x++)
                assert_memory_equal(&samples[0][3 * (y * SIDE + x)],
                                    &plain[0][3 * (y * SIDE + SIDE - 1 - x)], 3);
    }
    assert_in_range(mirrored, EPOCHS / 4, EPOCHS * 3 / 4);
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(straight);
}

static void only_samples_of_the_split_are_read(void **state)
{
    static const uint8_t splits[] = {FG_VAL, FG_TEST, FG_VAL};
    int32_t labels[2];
    fg_dataset *dataset = fgt_photos_open(&(fg_images_options){
        .height = 1, .width = 1, .channels = 1, .splits = splits, .split = FG_VAL});
    assert_int_equal(fg_dataset_count(dataset), 2);
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    assert_true(labels[0] == 0 && labels[1] == 1);
    assert_int_equal(fg_type_bytes(&fg_dataset_field(dataset, 0)->type), 1);
    fg_dataset_destroy(dataset);
}

static void samples_have_the_names_of_their_files(void **state)
{
    static const uint8_t splits[] = {FG_VAL, FG_TRAIN, FG_VAL};
    fg_dataset *dataset = fgt_photos_open(&(fg_images_options){.splits = splits, .split = FG_VAL});
    fg_dataset *last, *again;
    assert_string_equal(fg_dataset_sample_name(dataset, 0), "cat/a.jpg");
    assert_string_equal(fg_dataset_sample_name(dataset, 1), "dog/d.jpg");
    assert_null(fg_dataset_sample_name(dataset, 2));
    assert_null(fg_dataset_sample_name(dataset, -1));
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){1}, 1, &last, &err));
    fgt_ok(fg_dataset_subset(last, (const int64_t[]){0, 0}, 2, &again, &err));
    fg_dataset_destroy(dataset);
    assert_string_equal(fg_dataset_sample_name(last, 0), "dog/d.jpg");
    assert_null(fg_dataset_sample_name(last, 1));
    assert_string_equal(fg_dataset_sample_name(again, 1), "dog/d.jpg");
    fg_dataset_destroy(again);
    fg_dataset_destroy(last);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_file_that_cannot_be_read_is_named(void **state)
{
    uint8_t sample[BYTES];
    int32_t label;
    void *const row[] = {sample, &label};
    fg_dataset *dataset = fgt_photos_open(&(fg_images_options){.height = SIDE, .width = SIDE});
    fgt_write(fgt_path(fgt_image_folder(), "photos/cat/a.jpg"), "\xff\xd8\xff nonsense", 12);
    assert_int_equal(fg_dataset_read(dataset, 0, row, &err), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "'~/photos': cat/a.jpg: byte 12: truncated JPEG: the file ends within its headers");
    assert_int_equal(unlink(fgt_path(fgt_image_folder(), "photos/cat/b c.jpg")), 0);
    assert_int_equal(fg_dataset_read(dataset, 1, row, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot open '~/photos/cat/b c.jpg': No such file or directory");
    fgt_ok(fg_dataset_read(dataset, 2, row, &err)); /* the others are still readable */
    assert_int_equal(
        rename(fgt_path(fgt_image_folder(), "photos"), fgt_path(fgt_image_folder(), "moved")), 0);
    fgt_ok(fg_dataset_read(dataset, 2, row, &err)); /* the folder is open */
    assert_int_equal(fg_dataset_read(dataset, 1, row, &err), FG_ENOTFOUND);
    fgt_message_is(
        err.message,
        "cannot open 'cat/b c.jpg': its folder '~/photos' was removed or is no longer mounted");
    assert_int_equal(
        rename(fgt_path(fgt_image_folder(), "moved"), fgt_path(fgt_image_folder(), "photos")), 0);
    fg_dataset_destroy(dataset);
}

/* The folder with photos, in which cat/a.jpg is a golden image without its last `cut` bytes, and
 * with `more` bytes in front of the last two. */
static fg_catalog *photos_with(const char *image, size_t cut, size_t more)
{
    fg_catalog *catalog;
    const char *folder = fgt_photos();
    fgt_file file = fgt_file_read(image);
    uint8_t *bytes = calloc(1, file.size + more);
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.size - 2);
    memcpy(bytes + file.size - 2 + more, file.data + file.size - 2, 2);
    fgt_write(fgt_path(folder, "cat/a.jpg"), bytes, file.size + more - cut);
    free(bytes);
    fgt_file_free(&file);
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "photos"), NULL, &catalog, &err));
    return catalog;
}

/* The verdict about a truncated file depends neither on the crop nor on its seed. */
static void truncated_files_have_one_verdict(void **state)
{
    uint8_t sample[BYTES];
    int32_t label;
    fg_images_options o = {.height = SIDE, .width = SIDE, .scale_max = 0.1};
    fg_catalog *catalog = photos_with("large.jpg", 200, 0);
    for (uint64_t seed = 0; seed < 12; seed++) {
        fg_dataset *dataset;
        o.seed = seed;
        o.crop = (fg_image_crop)(seed % 3);
        fgt_ok(fg_images_create(catalog, &o, &dataset, &err));
        assert_int_equal(fg_dataset_read(dataset, 0, (void *const[]){sample, &label}, &err),
                         FG_EFORMAT);
        fgt_message_is(err.message, "'~/photos': cat/a.jpg: byte 1138: truncated JPEG: the file "
                                    "ends before the image does");
        fg_dataset_destroy(dataset);
    }
    fg_catalog_close(catalog);
}

/* A check finds them ahead of reading. They are replaced then, but not those that are held out. */
static void a_check_finds_truncated_files(void **state)
{
    fg_dataset *dataset;
    const char *first;
    fg_images_options o = {.height = SIDE, .width = SIDE, .check = true};
    fg_catalog *catalog = photos_with("large.jpg", 200, 0);
    assert_int_equal(fg_images_create(catalog, &o, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "'~/photos': cat/a.jpg: byte 1138: truncated JPEG: the file ends before the "
                   "image does\n1 of the 3 files that were checked is damaged");
    o.skip_damaged = true;
    for (int64_t k = 0; k < 2; k++) { /* the first one, which is damaged, is held out, or not */
        const int64_t rows[2] = {1 - k, 2 - k};
        fgt_ok(fg_images_create(catalog, &o, &dataset, &err));
        assert_int_equal(fg_dataset_damaged(dataset, &first), 1);
        assert_non_null(strstr(first, "cat/a.jpg: byte "));
        assert_int_equal(dataset->limit_spares(dataset->self, rows, 2, &err),
                         k == 0 ? FG_EFORMAT : FG_OK);
        if (k == 0)
            assert_string_equal(err.message, "'cat/a.jpg' is damaged, and validation samples are "
                                             "not replaced: remove or repair the file");
        fg_dataset_destroy(dataset);
    }
    o.tolerate_corruption = true;
    for (int i = 0; i < 2; i++) {
        o.check_decodes = i == 1;
        fgt_ok(fg_images_create(catalog, &o, &dataset, &err));
        assert_int_equal(fg_dataset_damaged(dataset, NULL), 0);
        fg_dataset_destroy(dataset);
    }
    fg_catalog_close(catalog);
}

/* An image whose decoder warns is used, and counted once. */
static void flawed_images_are_counted(void **state)
{
    uint8_t sample[BYTES];
    int32_t label;
    fg_dataset *dataset;
    const char *first;
    const fg_images_options o = {
        .height = SIDE, .width = SIDE, .center_fraction = 1, .check = true};
    fg_catalog *catalog = photos_with("large.jpg", 0, 40);
    char other[300];
    (void)snprintf(other, sizeof(other), "%s", fgt_path(fgt_image_folder(), "photos/dog/d.jpg"));
    assert_int_equal(unlink(other), 0);
    assert_int_equal(link(fgt_path(fgt_image_folder(), "photos/cat/a.jpg"), other), 0);
    fgt_ok(fg_images_create(catalog, &o, &dataset, &err));
    assert_int_equal(fg_dataset_flawed(dataset, &first), 0);
    assert_string_equal(first, "");
    for (int i = 0; i < 6; i++)
        fgt_ok(fg_dataset_read(dataset, i % 3, (void *const[]){sample, &label}, &err));
    assert_int_equal(fg_dataset_flawed(dataset, &first), 2);
    fgt_message_is(first, "cat/a.jpg: Corrupt JPEG data: @ extraneous bytes before marker 0xd9");
    assert_int_equal(unlink(other), 0);
    fg_dataset_destroy(dataset);
    fg_catalog_close(catalog);
}

static void count_bad(void *self, int64_t row, const fg_error *why)
{
    assert_in_range(row, 0, 24);
    assert_int_equal(why->status, FG_EFORMAT);
    (*(int *)self)++;
}

static void note_row(void *self, int64_t row, const fg_error *why)
{
    (void)why;
    *(int64_t *)self = row;
}

/* Of a list in which every other image is truncated, the rows that are asked for. */
static void the_rows_of_a_check_are_chosen(void **state)
{
    enum { ROWS = 25 };
    char list[4096] = "path,name\n";
    int64_t good[ROWS], bad[ROWS], checked;
    int count = 0;
    fg_catalog_close(photos_with("large.jpg", 200, 0));
    for (int i = 0; i < ROWS; i++) {
        const size_t used = strlen(list);
        good[i] = 2 * i;
        bad[i] = 2 * i + 1;
        (void)snprintf(list + used, sizeof(list) - used,
                       "photos/dog/d.jpg,g%d\nphotos/cat/a.jpg,b%d\n", i, i);
    }
    fgt_write(fgt_path(fgt_image_folder(), "many.csv"), list, strlen(list));
    fg_catalog *catalog;
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "many.csv"), NULL, &catalog, &err));
    fgi_image_check_options o = {.catalog = catalog,
                                 .items = bad,
                                 .count = ROWS,
                                 .seconds = 10,
                                 .bad = count_bad,
                                 .self = &count};
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_true(checked == ROWS && count == ROWS);
    o.is_tolerant = true;
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_true(checked == ROWS && count == ROWS);
    o.is_tolerant = false;
    good[3] = bad[3]; /* one of them, named by its row in the list */
    o.items = good;
    o.bad = note_row;
    int64_t row = -1;
    o.self = &row;
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_true(checked == ROWS && row == 3);
    good[3] = 6;
    o.bad = count_bad;
    o.self = &count;
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_true(checked == ROWS && count == ROWS);
    fg_catalog_close(catalog);
}

/* Of files that take longer than the limit, some are checked; all are without a limit. */
static void a_check_ends_in_time(void **state)
{
    static const int64_t none[] = {0};
    int64_t checked;
    fg_catalog *catalog;
    (void)fgt_photos();
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "photos"), NULL, &catalog, &err));
    fgi_image_check_options o = {.catalog = catalog, .count = 3, .seconds = 1e-9};
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_in_range(checked, 0, 2);
    o.seconds = 0;
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_int_equal(checked, 3);
    o.items = none;
    o.count = 0;
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_int_equal(checked, 0);
    fg_catalog_close(catalog);
}

/* Of a file and of a member of an archive; a shorter one has none. */
static void ends_of_samples_are_read(void **state)
{
    const char *folder = fgt_temp_folder();
    const char *const paths[] = {folder, FGT_SOURCE_DIR "/tests/golden/catalog/gnu.tar"};
    fgt_write(fgt_path(folder, "a.jpg"), "first image", 11);
    for (int i = 0; i < 2; i++) {
        fg_catalog *catalog;
        fgt_ok(
            fg_catalog_open(paths[i], &(fg_catalog_options){.no_classes = true}, &catalog, &err));
        for (size_t n = 10; n <= 12; n++) {
            char first[12], last[12];
            uint64_t size;
            bool is_known;
            fgt_ok(fgi_catalog_read_ends(catalog, 0, first, last, n, &size, &is_known, &err));
            assert_true(is_known && size == (n <= 11 ? 11 : 0));
            if (n <= 11) {
                assert_memory_equal(first, "first image", n);
                assert_memory_equal(last, &"first image"[11 - n], n);
            }
        }
        fg_catalog_close(catalog);
    }
}

/* What a worker has held is free again, also after a smaller image, which is not counted. */
static void memory_of_workers_is_given_back_once(void **state)
{
    fgi_image_workers all = {0};
    fgi_image_worker *w;
    fgt_ok(fgi_image_workers_init(&all, 64 << 20, &err));
    fgt_ok(fgi_image_workers_take(&all, &w, &err));
    fgi_image_worker_hold_file(w, 3 << 20);
    fgi_image_worker_reserve(w, 9 << 20);
    assert_int_equal(all.files.bytes + all.decoding.bytes, 12 << 20);
    fgi_image_worker_release(w);
    fgi_image_worker_hold_file(w, 1000);
    fgi_image_worker_reserve(w, 1000);
    fgi_image_workers_give_back(&all, w);
    assert_int_equal(all.files.bytes, 0);
    assert_int_equal(all.decoding.bytes, 0);
    assert_int_equal(all.files.large_count + all.decoding.large_count, 0);
    fgi_image_workers_fini(&all);
    const size_t part = (size_t)(fgi_memory_bytes("") / 8), least = 64 << 20;
    all = (fgi_image_workers){0};
    fgt_ok(fgi_image_workers_init(&all, 0, &err)); /* the default */
    assert_int_equal(all.limit, part > least ? part : least);
    fgi_image_workers_fini(&all);
}

/* Nobody waits for memory that is free: up to half of it for files, and all of it together; the
 * first one may take more. What is small is not counted. */
static void memory_of_workers_has_limits(void **state)
{
    enum { MIB = 1 << 20, SMALL = 128 << 10, LARGE = 2 << 20 };
    static const struct {
        int bytes, counted, large;
    } cases[] = {{SMALL - 1, 0, 0},
                 {SMALL, SMALL, 0},
                 {LARGE - 1, LARGE - 1, 0},
                 {LARGE, LARGE, 1},
                 {99 * MIB, 99 * MIB, 1}};
    fgi_image_workers all = {0};
    fgi_image_worker *w[2];
    fgt_ok(fgi_image_workers_init(&all, 64 * MIB, &err));
    for (int i = 0; i < 2; i++)
        fgt_ok(fgi_image_workers_take(&all, &w[i], &err));
    assert_int_equal(all.count, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fgi_image_worker_hold_file(w[0], (uint64_t)cases[i].bytes);
        fgi_image_worker_reserve(w[0], (size_t)cases[i].bytes);
        assert_int_equal(all.files.bytes, cases[i].counted);
        assert_int_equal(all.decoding.bytes, cases[i].counted);
        assert_int_equal(all.files.large_count, cases[i].large);
        assert_int_equal(all.decoding.large_count, cases[i].large);
        fgi_image_worker_release(w[0]);
    }
    assert_int_equal(all.files.largest, 99 * MIB);
    assert_int_equal(all.decoding.largest, 99 * MIB);
    fgi_image_worker_hold_file(w[0], 12 * MIB);
    fgi_image_worker_hold_file(w[1], 20 * MIB);
    fgi_image_worker_reserve(w[0], 12 * MIB);
    fgi_image_worker_reserve(w[1], 20 * MIB);
    assert_int_equal(all.files.bytes + all.decoding.bytes, all.limit);
    for (int i = 0; i < 2; i++)
        fgi_image_workers_give_back(&all, w[i]);
    fgi_image_workers_fini(&all);
}

static void a_sample_without_a_label_is_named(void **state)
{
    fg_catalog *catalog;
    fg_dataset *dataset;
    static const char list[] = "path,label\nphotos/cat/a.jpg,x\nphotos/dog/d.jpg,\n";
    (void)fgt_photos();
    fgt_write(fgt_path(fgt_image_folder(), "list.csv"), list, sizeof(list) - 1);
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "list.csv"), NULL, &catalog, &err));
    assert_int_equal(fg_images_create(catalog, NULL, &dataset, &err), FG_EINVAL);
    assert_string_equal(err.message, "'photos/dog/d.jpg' has no label, but other samples have one: "
                                     "expected a label for each\nif samples may have several "
                                     "labels, or none, set task: multilabel");
    assert_null(dataset);
    fgt_ok(fg_images_create(catalog, &(fg_images_options){.no_labels = true}, &dataset, &err));
    assert_int_equal(fg_dataset_field_count(dataset), 1);
    assert_int_equal(fg_dataset_class_count(dataset), 0);
    fg_dataset_destroy(dataset);
    fg_catalog_close(catalog);
}

/* Also if the caller gives classes. */
static void images_without_labels_have_no_label_field(void **state)
{
    static const char *const names[] = {"cat", "dog"};
    const fg_catalog_options options = {.class_names = names, .class_count = 2};
    fg_catalog *catalog;
    fg_dataset *dataset;
    (void)fgt_photos();
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "photos/cat"), &options, &catalog, &err));
    fgt_ok(fg_images_create(catalog, NULL, &dataset, &err));
    assert_int_equal(fg_dataset_field_count(dataset), 1);
    assert_int_equal(fg_dataset_class_count(dataset), 0);
    fg_dataset_destroy(dataset);
    fg_catalog_close(catalog);
}

static void wrong_options_are_refused(void **state)
{
    static const struct {
        fg_images_options options;
        const char *message;
    } cases[] = {
        {{.height = -1}, "samples of -1 x 224 pixels: expected a height and width of 1 to 65536"},
        {{.channels = 2}, "channels is 2: expected 1 or 3"},
        {{.center_fraction = 1.5}, "center_fraction is 1.5: expected a number above 0, at most 1"},
        {{.scale_min = 0.5, .scale_max = 0.25},
         "scale is 0.5 to 0.25: expected two numbers from 0 to 1"},
        {{.ratio_max = -1}, "ratio is 0.75 to -1: expected two numbers from 0.001 to 1000"},
        {{.flip_probability = 2}, "flip_probability is 2: expected 0 to 1"},
        {{.flip_probability = -0.5}, "flip_probability is -0.5: expected 0 to 1"},
        {{.center_fraction = FG_ZERO},
         "center_fraction is 0: expected a number above 0, at most 1"},
        {{.scale_max = 1.5}, "scale is 0.08 to 1.5: expected two numbers from 0 to 1"},
        {{.ratio_max = 1001}, "ratio is 0.75 to 1001: expected two numbers from 0.001 to 1000"},
    };
    fg_catalog *catalog;
    fg_dataset *dataset;
    fgt_ok(fg_catalog_open(fgt_photos(), NULL, &catalog, &err));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(fg_images_create(catalog, &cases[i].options, &dataset, &err), FG_EINVAL);
        assert_string_equal(err.message, cases[i].message);
    }
    fg_catalog_close(catalog);
}

static void options_have_defaults(void **state)
{
    fgi_image_rule rule;
    fgt_ok(fgi_image_rule_init(&rule, NULL, &err));
    const fg_images_options *o = &rule.options;
    assert_true(o->height == 224 && o->width == 224 && o->channels == 3);
    assert_true(o->crop == FG_IMAGE_CROP_CENTER && o->center_fraction == 0.875);
    assert_true(o->scale_min == 0.08 && o->scale_max == 1);
    assert_true(o->ratio_min == 3.0 / 4 && o->ratio_max == 4.0 / 3);
    assert_true(o->flip_probability == 0.5 && o->seed == 0);
    fgt_ok(fgi_image_rule_init(
        &rule, &(fg_images_options){.height = 65536, .width = 65536, .center_fraction = 1}, &err));
    assert_int_equal(fgi_image_rule_init(&rule, &(fg_images_options){.width = 65537}, &err),
                     FG_EINVAL);
    assert_string_equal(err.message,
                        "samples of 224 x 65537 pixels: expected a height and width of 1 to 65536");
}

static fg_status create_read_and_split(void *self, fg_error *e)
{
    fg_catalog *catalog = self;
    fg_dataset *dataset, *train = NULL, *val = NULL;
    uint8_t sample[BYTES];
    int32_t label;
    fg_status status = fg_images_create(
        catalog, &(fg_images_options){.height = SIDE, .width = SIDE, .skip_damaged = true},
        &dataset, e);
    if (status == FG_OK)
        status = fg_dataset_read(dataset, 0, (void *const[]){sample, &label}, e);
    if (status == FG_OK)
        status =
            fg_dataset_split(dataset, &(fg_split_options){.val_fraction = 0.5}, &train, &val, e);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
    fg_dataset_destroy(dataset);
    return status;
}

static void allocation_failures_leak_nothing(void **state)
{
    fg_catalog *catalog;
    fgt_ok(fg_catalog_open(fgt_photos(), NULL, &catalog, &err));
    fgt_fault_loop(create_read_and_split, catalog);
    fg_catalog_close(catalog);
}

/* Rows that were decoded or found bad, by how often. */
typedef struct rows_seen {
    int decoded[200], bad[200];
    int64_t no_memory; /* the row that lacks it; -1: none */
} rows_seen;

static fg_status decode_badly(void *self, int64_t row, fg_error *e)
{
    rows_seen *seen = self;
    (void)__atomic_add_fetch(&seen->decoded[row], 1, __ATOMIC_RELAXED);
    (void)snprintf(e->message, sizeof e->message, "row %d", (int)row);
    return row == seen->no_memory ? FG_ENOMEM : row % 2 == 0 ? FG_EFORMAT : FG_OK;
}

static void see_bad(void *self, int64_t row, const fg_error *why)
{
    char expected[32];
    (void)snprintf(expected, sizeof expected, "row %d", (int)row);
    assert_string_equal(why->message, expected);
    ((rows_seen *)self)->bad[row]++;
}

/* Whatever their number is; lack of memory is no fault of a file. */
static void every_row_is_checked_once(void **state)
{
    int64_t checked;
    for (int64_t count = 1; count <= 200; count++) {
        rows_seen seen = {.no_memory = -1};
        const fgi_image_check_options o = {
            .count = count, .decode = decode_badly, .bad = see_bad, .self = &seen};
        fgt_ok(fgi_image_check_files(&o, &checked, &err));
        assert_int_equal(checked, count);
        for (int64_t i = 0; i < 200; i++)
            assert_true(seen.decoded[i] == (i < count) && seen.bad[i] == (i < count && i % 2 == 0));
    }
    rows_seen seen = {.no_memory = 4};
    const fgi_image_check_options o = {
        .count = 9, .decode = decode_badly, .bad = see_bad, .self = &seen};
    assert_int_equal(fgi_image_check_files(&o, &checked, &err), FG_ENOMEM);
    assert_int_equal(checked, 9);
    assert_true(seen.bad[4] == 0 && seen.bad[2] == 1);
}

static char said[600];

static void hear(void *self, fg_log_level level, const char *line)
{
    assert_int_equal(level, FG_LOG_INFO);
    (void)snprintf(said, sizeof said, "%s", line);
}

/* The caller's thread says a line about its first file; until then, the others have none done. */
typedef struct progress {
    pthread_t caller;
    int64_t begin_ns;
    atomic_int lines;
    char first[400];
} progress;

static fg_status decode_slowly(void *self, int64_t row, fg_error *e)
{
    progress *p = self;
    const bool is_caller = pthread_equal(pthread_self(), p->caller) != 0;
    while (is_caller ? fgi_now_ns() < p->begin_ns + 20000000 : atomic_load(&p->lines) == 0)
        (void)sched_yield();
    return FG_EFORMAT;
}

static void ignore_bad(void *self, int64_t row, const fg_error *why) {}

static void hear_progress(void *self, fg_log_level level, const char *line)
{
    progress *p = self;
    assert_int_equal(level, FG_LOG_INFO);
    if (atomic_fetch_add(&p->lines, 1) == 0)
        (void)snprintf(p->first, sizeof p->first, "%s", line);
}

/* Also the time that is left, of the files that are left at the present rate. */
static void progress_of_a_check_is_said(void **state)
{
    fg_catalog *catalog = photos_with("baseline.jpg", 0, 0);
    progress p = {.caller = pthread_self(), .begin_ns = fgi_now_ns()};
    fgi_image_check_options o = {.catalog = catalog,
                                 .count = 200,
                                 .say_every_s = 1e-9,
                                 .decode = decode_slowly,
                                 .bad = ignore_bad,
                                 .self = &p,
                                 .listener = {.say = hear_progress, .self = &p}};
    int64_t checked;
    double left = 0;
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    const double most = (double)(fgi_now_ns() - p.begin_ns) * 1e-9 * 199;
    char *end = strstr(p.first, ", about ");
    assert_non_null(end);
    assert_true(fgi_parse_f64((fgi_str){end + 8, strcspn(end + 8, " ")}, &left));
    assert_true(left >= 3 && left <= most + 1);
    assert_string_equal(end + 8 + strcspn(end + 8, " "), " s left");
    *end = '\0';
    fgt_message_is(p.first, "'~/photos': decoded 1 of 200 files, 1 damaged");
    p.lines = 0;
    o.count = 1; /* it is the last one */
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_int_equal(p.lines, 0);
    p.lines = 1; /* nobody waits */
    o.count = 200;
    o.say_every_s = 0; /* 5 s have not passed */
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_int_equal(p.lines, 1);
    fg_catalog_close(catalog);
}

/* What is said of a check. */
static void checks_are_said(void **state)
{
    static const struct {
        bool decodes;
        double seconds;
        const char *line; /* its end; "": nothing is said */
    } cases[] = {{true, 1e-9, "': decoded 3 files: 0 damaged"},
                 {false, 0, ""},
                 {false, 30, ""},
                 {false, 1e-9,
                  " of 3 files in 1e-09 s; to check all before training, set "
                  "data.check to all"}};
    const fgi_image_listener listener = {.say = hear};
    fg_dataset *dataset;
    fg_catalog *catalog = photos_with("baseline.jpg", 0, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const fg_images_options o = {.height = SIDE,
                                     .width = SIDE,
                                     .check = true,
                                     .check_decodes = cases[i].decodes,
                                     .check_seconds = cases[i].seconds};
        said[0] = '\0';
        fgt_ok(fgi_images_create(catalog, &o, &listener, &dataset, &err));
        assert_non_null(strstr(said, cases[i].line));
        assert_true((*said == '\0') == (*cases[i].line == '\0'));
        fg_dataset_destroy(dataset);
    }
    fg_catalog_close(catalog);
}

/* Of five files, the second and the fourth, which is checked before it. */
static void the_first_damaged_file_is_named(void **state)
{
    fg_dataset *dataset;
    fg_catalog *catalog;
    (void)fgt_photos();
    fgt_image_put("baseline.jpg", fgt_image_folder(), "photos/cat/c.jpg");
    fgt_write(fgt_path(fgt_image_folder(), "photos/cat/b c.jpg"), "\xff\xd8\xff nonsense", 12);
    fgt_write(fgt_path(fgt_image_folder(), "photos/cat/d.jpg"), "\xff\xd8\xff nonsense", 12);
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "photos"), NULL, &catalog, &err));
    const fg_images_options o = {.height = SIDE, .width = SIDE, .check = true};
    assert_int_equal(fg_images_create(catalog, &o, &dataset, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "'~/photos': cat/b c.jpg: byte 12: truncated JPEG: the file ends within its "
                   "headers\n2 of the 5 files that were checked are damaged");
    fg_catalog_close(catalog);
    assert_int_equal(unlink(fgt_path(fgt_image_folder(), "photos/cat/c.jpg")), 0);
    assert_int_equal(unlink(fgt_path(fgt_image_folder(), "photos/cat/d.jpg")), 0);
}

/* What is added to the error of a damaged file in a fit: unless all files were decoded. */
static void errors_of_a_fit_have_a_hint(void **state)
{
    uint8_t sample[BYTES];
    int32_t label;
    fg_catalog *catalog = photos_with("large.jpg", 200, 0);
    for (int i = 0; i < 2; i++) {
        fg_dataset *dataset;
        const fgi_image_listener listener = {.is_fit = i == 1};
        const fg_images_options o = {.height = SIDE, .width = SIDE};
        fgt_ok(fgi_images_create(catalog, &o, &listener, &dataset, &err));
        assert_int_equal(fg_dataset_read(dataset, 0, (void *const[]){sample, &label}, &err),
                         FG_EFORMAT);
        assert_int_equal(strstr(err.message, "\nto find all damaged files before training, set "
                                             "data.check to decode") != NULL,
                         i);
        assert_int_equal(rename(fgt_path(fgt_image_folder(), "photos/dog/d.jpg"),
                                fgt_path(fgt_image_folder(), "d.jpg")),
                         0);
        assert_int_equal(fg_dataset_read(dataset, 2, (void *const[]){sample, &label}, &err),
                         FG_ENOTFOUND); /* not damaged */
        fgt_message_is(err.message, "cannot open '~/photos/dog/d.jpg': No such file or directory");
        assert_int_equal(rename(fgt_path(fgt_image_folder(), "d.jpg"),
                                fgt_path(fgt_image_folder(), "photos/dog/d.jpg")),
                         0);
        fg_dataset_destroy(dataset);
    }
    fg_catalog_close(catalog);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_of_workers_has_limits),
    cmocka_unit_test(progress_of_a_check_is_said),
    cmocka_unit_test(every_row_is_checked_once),
    cmocka_unit_test(checks_are_said),
    cmocka_unit_test(the_first_damaged_file_is_named),
    cmocka_unit_test(errors_of_a_fit_have_a_hint),
    cmocka_unit_test(the_center_box_has_the_aspect_ratio),
    cmocka_unit_test(random_boxes_have_uniform_areas_and_places),
    cmocka_unit_test(aspect_ratios_are_uniform_on_a_log_scale),
    cmocka_unit_test(a_box_that_never_fits_becomes_the_one_in_the_middle),
    cmocka_unit_test(samples_are_crops_of_the_middle),
    cmocka_unit_test(random_crops_are_a_function_of_seed_epoch_and_sample),
    cmocka_unit_test(half_of_the_samples_are_mirrored),
    cmocka_unit_test(only_samples_of_the_split_are_read),
    cmocka_unit_test(samples_have_the_names_of_their_files),
    cmocka_unit_test(a_file_that_cannot_be_read_is_named),
    cmocka_unit_test(truncated_files_have_one_verdict),
    cmocka_unit_test(a_check_finds_truncated_files),
    cmocka_unit_test(flawed_images_are_counted),
    cmocka_unit_test(the_rows_of_a_check_are_chosen),
    cmocka_unit_test(a_check_ends_in_time),
    cmocka_unit_test(ends_of_samples_are_read),
    cmocka_unit_test(memory_of_workers_is_given_back_once),
    cmocka_unit_test(a_sample_without_a_label_is_named),
    cmocka_unit_test(images_without_labels_have_no_label_field),
    cmocka_unit_test(wrong_options_are_refused),
    cmocka_unit_test(options_have_defaults),
    cmocka_unit_test(boxes_are_rounded_and_placed),
    cmocka_unit_test(allocation_failures_leak_nothing),
};
FGT_MAIN(tests)
