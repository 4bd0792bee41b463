/* test_pack_dataset.c - packs as datasets: samples against those of image files and against plain
 * C, variants, splits, labels, arrays, options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/images.h>
#include <fulgurite/pack_dataset.h>
#include <math.h>
#include <stdlib.h>
#include "base/print.h"
#include "data/pack_samples.h"
#include "photo_pack.h"

enum { SIDE = 32, BYTES = SIDE * SIDE * 3, COUNT = 6 };
static fg_error err;

static const char *in_folder(const char *name)
{
    static char folder[200];
    if (folder[0] == '\0')
        (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    return fgt_path(folder, name);
}

static fg_status try_open(const char *path, const fg_pack_dataset_options *options,
                          fg_dataset **out)
{
    fg_pack *pack;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    const fg_status status = fg_pack_dataset_create(pack, options, out, &err);
    fg_pack_close(pack); /* the dataset keeps it open */
    return status;
}

static fg_dataset *open_photos(const photo_spec *spec, const fg_pack_dataset_options *options)
{
    fg_dataset *dataset;
    char path[300];
    (void)snprintf(path, sizeof path, "%s", in_folder("photos.pack"));
    photo_pack_write(path, spec);
    if (spec->shard_bytes > 0)
        (void)snprintf(path, sizeof path, "%s", in_folder("photos-00000.pack"));
    fgt_ok(try_open(path, options, &dataset));
    return dataset;
}

/* Sample `index` of an epoch, by a loader. */
static void read_sample(fg_dataset *dataset, int64_t epoch, int64_t index, uint8_t *out)
{
    fg_loader *loader;
    const fg_host_batch *batch;
    fgt_ok(fg_loader_create(
        dataset,
        &(fg_loader_options){
            .batch_size = 1, .workers = FG_NONE, .epoch = epoch, .position = index},
        &loader, &err));
    fgt_ok(fg_loader_next(loader, &batch, &err));
    memcpy(out, batch->data[0], fg_type_bytes(&fg_dataset_field(dataset, 0)->type));
    fg_loader_recycle(loader, batch);
    fg_loader_destroy(loader);
}

/* ---- against files --------------------------------------------------------------------------- */

static int difference(const uint8_t *a, const uint8_t *b, size_t size)
{
    int largest = 0;
    for (size_t i = 0; i < size; i++)
        largest = abs(a[i] - b[i]) > largest ? abs(a[i] - b[i]) : largest;
    return largest;
}

/* All samples of two epochs: as fg_images_create gives them, within `bound`. */
static void compare(fg_dataset *a, fg_dataset *b, int bound)
{
    uint8_t x[BYTES], y[BYTES];
    for (int64_t epoch = 0; epoch < 2; epoch++)
        for (int64_t i = 0; i < COUNT; i++) {
            read_sample(a, epoch, i, x);
            read_sample(b, epoch, i, y);
            const int d = difference(x, y, fg_type_bytes(&fg_dataset_field(a, 0)->type));
            if (d > bound)
                fail_msg("epoch %d, sample %d: difference %d", (int)epoch, (int)i, d);
        }
}

static void samples_equal_those_of_files(void **state)
{
    static const struct {
        photo_spec spec;
        int bound;
    } cases[] = {
        {{.codec = FG_PACK_RAW_RGB, .count = COUNT}, 0},
        {{.codec = FG_PACK_FILE, .as_png = true, .count = COUNT}, 0},
        {{.codec = FG_PACK_JPEG, .count = COUNT}, 0},
        {{.codec = FG_PACK_JPEG_SEG, .count = COUNT}, 3},
    };
    static const fg_image_crop crops[] = {FG_IMAGE_CROP_CENTER, FG_IMAGE_CROP_RANDOM,
                                          FG_IMAGE_CROP_WINDOW};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int k = 0; k < 6; k++) {
            const fg_pack_dataset_options options = {.images = {.height = SIDE,
                                                                .width = SIDE - 4 * (k % 2),
                                                                .channels = k < 3 ? 3 : 1,
                                                                .crop = crops[k % 3],
                                                                .seed = 3}};
            char folder[300];
            fg_catalog *catalog;
            fg_dataset *files;
            (void)snprintf(folder, sizeof folder, "%s",
                           in_folder((const char *const[]){"raw", "png", "jpg", "seg"}[c]));
            photo_files_write(folder, &cases[c].spec);
            fg_dataset *packed = open_photos(&cases[c].spec, &options);
            fgt_ok(fg_catalog_open(folder, NULL, &catalog, &err));
            fgt_ok(fg_images_create(catalog, &options.images, &files, &err));
            compare(packed, files, cases[c].bound);
            fg_catalog_close(catalog);
            fg_dataset_destroy(files);
            fg_dataset_destroy(packed);
        }
}

/* A window larger than the image in one direction. */
static void a_window_of_a_small_image_is_resized(void **state)
{
    const photo_spec spec = {.codec = FG_PACK_RAW_RGB, .count = COUNT, .width = 40, .height = 16};
    const fg_pack_dataset_options options = {
        .images = {.height = SIDE, .width = SIDE, .crop = FG_IMAGE_CROP_WINDOW}};
    fg_dataset *dataset = open_photos(&spec, &options);
    uint8_t x[BYTES], y[BYTES];
    read_sample(dataset, 0, 0, x);
    read_sample(dataset, 1, 0, y);
    assert_memory_not_equal(x, y, BYTES); /* another place or mirrored */
    fg_dataset_destroy(dataset);
}

/* Every sample is a window of its image, mirrored or not, at a place that varies. */
static void windows_are_parts_of_the_image(void **state)
{
    enum { EPOCHS = 40 };
    const photo_spec spec = {.codec = FG_PACK_RAW_RGB, .count = 1};
    const fg_pack_dataset_options options = {
        .images = {.height = SIDE, .width = SIDE, .crop = FG_IMAGE_CROP_WINDOW}};
    fg_dataset *dataset = open_photos(&spec, &options);
    fg_image photo = {0};
    uint8_t sample[BYTES];
    int places = 0, mirrored = 0;
    bool seen[9][17] = {{false}};
    photo_make(&spec, 0, &photo);
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int found = 0;
        read_sample(dataset, epoch, 0, sample);
        for (int y0 = 0; y0 <= 8; y0++)
            for (int x0 = 0; x0 <= 16; x0++)
                for (int flip = 0; flip < 2; flip++) {
                    bool is_equal = true;
                    for (int i = 0; is_equal && i < SIDE * SIDE; i++) {
                        const int y = i / SIDE, x = flip ? SIDE - 1 - i % SIDE : i % SIDE;
                        is_equal = memcmp(&sample[3 * i],
                                          &photo.pixels[((y0 + y) * 48 + x0 + x) * 3], 3) == 0;
                    }
                    if (!is_equal)
                        continue;
                    found++;
                    mirrored += flip;
                    places += !seen[y0][x0];
                    seen[y0][x0] = true;
                }
        assert_int_equal(found, 1);
    }
    assert_in_range(mirrored, EPOCHS / 5, EPOCHS * 4 / 5);
    assert_true(places > EPOCHS / 2);
    fg_image_fini(&photo);
    fg_dataset_destroy(dataset);
}

/* JFIF's conversion in floating point, of chroma that is upsampled with a triangle filter. */
static void ycc_by_hand(const fg_image *photo, int x, int y, double rgb[3])
{
    double c[3] = {photo->pixels[(y * photo->width + x) * 3], 0, 0};
    for (int plane = 1; plane < 3; plane++)
        for (int k = 0; k < 4; k++) {
            int i = x / 2 + (k % 2 == 0 ? 0 : x % 2 == 0 ? -1 : 1);
            int j = y / 2 + (k / 2 == 0 ? 0 : y % 2 == 0 ? -1 : 1);
            i = i < 0 ? 0 : i > ((int)photo->width - 1) / 2 ? ((int)photo->width - 1) / 2 : i;
            j = j < 0 ? 0 : j > ((int)photo->height - 1) / 2 ? ((int)photo->height - 1) / 2 : j;
            const double weight = (k % 2 == 0 ? 0.75 : 0.25) * (k / 2 == 0 ? 0.75 : 0.25);
            c[plane] += weight * photo->pixels[(2 * j * photo->width + 2 * i) * 3 + plane];
        }
    const double cb = c[1] - 128, cr = c[2] - 128;
    rgb[0] = c[0] + 1.402 * cr;
    rgb[1] = c[0] - 0.344136 * cb - 0.714136 * cr;
    rgb[2] = c[0] + 1.772 * cb;
}

static void raw_ycc_becomes_rgb(void **state)
{
    const photo_spec spec = {
        .codec = FG_PACK_RAW_YCC420, .count = 2, .width = 2 * SIDE, .height = SIDE - 1};
    for (int i = 0; i < 2; i++) { /* an even and an odd width */
        const fg_pack_dataset_options options = {
            .images = {.height = SIDE - 1, .width = 2 * SIDE + i, .center_fraction = 1}};
        fg_dataset *dataset = open_photos(&spec, &options);
        fg_image photo = {0};
        static uint8_t sample[2 * BYTES + 3 * SIDE];
        photo_make(&spec, i, &photo);
        read_sample(dataset, 0, i, sample);
        for (int y = 0; y < SIDE - 1; y++)
            for (int x = 0; x < photo.width; x++) {
                double rgb[3];
                ycc_by_hand(&photo, x, y, rgb);
                for (int c = 0; c < 3; c++)
                    fgt_close("value", sample[(y * photo.width + x) * 3 + c],
                              fmin(fmax(rgb[c], 0), 255), 2, 0);
            }
        fg_image_fini(&photo);
        fg_dataset_destroy(dataset);
    }
}

/* ---- variants, splits, labels ---------------------------------------------------------------- */

/* Which photo a center sample of the whole height shows. */
static int photo_of(const photo_spec *spec, fg_dataset *dataset, int64_t epoch, int64_t index)
{
    uint8_t sample[BYTES];
    fg_image photo = {0};
    int found = -1;
    read_sample(dataset, epoch, index, sample);
    for (int i = 0; i < spec->count && found < 0; i++) {
        photo_make(spec, i, &photo);
        const int x0 = ((int)photo.width - SIDE) / 2;
        if ((photo.width - SIDE) % 2 == 0 && memcmp(sample, &photo.pixels[3 * x0], 3 * SIDE) == 0)
            found = i;
    }
    fg_image_fini(&photo);
    return found;
}

static void every_variant_occurs_once_in_a_round_of_epochs(void **state)
{
    enum { SAMPLES = 8 };
    const photo_spec spec = {.codec = FG_PACK_RAW_RGB,
                             .count = 2 * SAMPLES,
                             .variants = 2,
                             .width = SIDE,
                             .height = SIDE};
    fg_pack_dataset_options options = {
        .images = {.height = SIDE, .width = SIDE, .center_fraction = 1}};
    fg_dataset *dataset = open_photos(&spec, &options);
    int seconds[4] = {0};
    assert_int_equal(fg_dataset_count(dataset), SAMPLES);
    for (int64_t i = 0; i < SAMPLES; i++) {
        int even = 0;
        for (int64_t epoch = 0; epoch < 4; epoch++) {
            /* odd photos have an odd width, so photo_of does not find them */
            const int photo = photo_of(&spec, dataset, epoch, i);
            assert_true(photo == -1 || photo == 2 * i);
            even += photo >= 0;
            seconds[epoch] += photo < 0;
        }
        assert_int_equal(even, 2);
    }
    assert_in_range(seconds[0], 1, SAMPLES - 1); /* an epoch has samples of both variants */
    assert_true(seconds[0] == seconds[2] && seconds[1] == SAMPLES - seconds[0]);
    fg_dataset_destroy(dataset);
    options.first_variant = true;
    dataset = open_photos(&spec, &options);
    for (int64_t epoch = 0; epoch < 3; epoch++)
        assert_int_equal(photo_of(&spec, dataset, epoch, 5), 10);
    fg_dataset_destroy(dataset);
}

static void splits_and_labels_are_those_of_the_pack(void **state)
{
    const photo_spec spec = {.codec = FG_PACK_RAW_RGB,
                             .count = 18,
                             .variants = 2,
                             .classes = 4,
                             .has_splits = true,
                             .shard_bytes = 20000};
    static const uint8_t third[9] = {[2] = 7, [3] = 1};
    const fg_images_options small = {.height = 4, .width = 4};
    fg_pack_dataset_options options = {.images = small, .use_splits = true};
    int32_t labels[6], label;
    uint8_t image[48];
    options.images.split = FG_VAL;
    fg_dataset *dataset = open_photos(&spec, &options);
    assert_int_equal(fg_dataset_count(dataset), 3);
    assert_int_equal(fg_dataset_class_count(dataset), 4);
    assert_string_equal(fg_dataset_class_name(dataset, 3), "d");
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    assert_true(labels[0] == 2 && labels[1] == 5 % 4 && labels[2] == 8 % 4);
    fgt_ok(fg_dataset_read(dataset, 1, (void *const[]){image, &label}, &err));
    assert_int_equal(label, 1);
    fg_dataset_destroy(dataset);
    options = (fg_pack_dataset_options){.images = small};
    options.images.splits = third;
    options.images.split = 7;
    dataset = open_photos(&spec, &options);
    assert_int_equal(fg_dataset_count(dataset), 1);
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    assert_int_equal(labels[0], 2);
    fg_dataset_destroy(dataset);
}

/* A lost record has no label, and its codec is not known: it is reported when it is read. */
static void a_pack_with_a_lost_record_can_be_opened(void **state)
{
    static const uint8_t pixels[48];
    static const fg_pack_entry entries[2] = {
        {.name = "0", .codec = FG_PACK_RAW_RGB, .width = 4, .height = 4, .split = FG_TRAIN},
        {.name = "1", .label = FG_PACK_NO_LABEL, .split = FG_TRAIN, .flags = FG_PACK_LOST}};
    static const char *const classes[] = {"a"};
    const fg_pack_writer_options options = {.class_names = classes, .class_count = 1};
    const fg_pack_dataset_options small = {.images = {.height = 4, .width = 4}};
    fg_pack_writer *writer;
    fg_dataset *dataset;
    uint8_t image[48];
    int32_t label;
    fgt_ok(fg_pack_writer_create(in_folder("lost.pack"), &options, &writer, NULL, &err));
    fgt_ok(fg_pack_writer_add(writer, &entries[0], pixels, sizeof pixels, &err));
    fgt_ok(fg_pack_writer_add(writer, &entries[1], "", 0, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    fgt_ok(try_open(in_folder("lost.pack"), &small, &dataset));
    fgt_ok(fg_dataset_read(dataset, 0, (void *const[]){image, &label}, &err));
    assert_int_equal(fg_dataset_read(dataset, 1, (void *const[]){image, &label}, &err), FG_EFORMAT);
    fg_dataset_destroy(dataset);
}

/* The first records of a pack are too short for their size: the next 4096 are tried. */
static void a_damaged_record_has_a_limited_number_of_substitutes(void **state)
{
    static const uint8_t pixels[48];
    const fg_pack_writer_options options = {.replace = true};
    const fg_pack_dataset_options skip = {.images = {.height = 4, .width = 4},
                                          .bad = FG_PACK_BAD_SKIP};
    for (int damaged = 4096; damaged <= 4097; damaged++) {
        fg_pack_writer *writer;
        fg_dataset *dataset;
        uint8_t image[48];
        fgt_ok(fg_pack_writer_create(in_folder("short.pack"), &options, &writer, NULL, &err));
        for (int i = 0; i <= damaged; i++) {
            char name[16];
            (void)snprintf(name, sizeof name, "%d", i);
            const fg_pack_entry entry = {
                .name = name, .codec = FG_PACK_RAW_RGB, .width = 4, .height = 4};
            fgt_ok(fg_pack_writer_add(writer, &entry, pixels, i < damaged ? 1 : 48, &err));
        }
        fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
        fg_pack_writer_destroy(writer);
        fgt_ok(try_open(in_folder("short.pack"), &skip, &dataset));
        assert_int_equal(fg_dataset_read(dataset, 0, (void *const[]){image}, &err),
                         damaged == 4096 ? FG_OK : FG_EFORMAT);
        fg_dataset_destroy(dataset);
    }
}

static void samples_have_the_names_of_their_records(void **state)
{
    const photo_spec spec = {
        .codec = FG_PACK_RAW_RGB, .count = 6, .variants = 2, .classes = 2, .has_splits = true};
    fg_pack_dataset_options options = {.use_splits = true};
    fg_dataset *last;
    options.images.split = FG_VAL;
    fg_dataset *dataset = open_photos(&spec, &options);
    assert_int_equal(fg_dataset_count(dataset), 1); /* sample 2: records 4 and 5 */
    assert_string_equal(fg_dataset_sample_name(dataset, 0), photo_name(&spec, 4));
    assert_null(fg_dataset_sample_name(dataset, 1));
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){0}, 1, &last, &err));
    fg_dataset_destroy(dataset);
    assert_string_equal(fg_dataset_sample_name(last, 0), photo_name(&spec, 4));
    fg_dataset_destroy(last);
}

/* Samples 0 to 3 have the classes a, b, c, a of the pack. */
static void given_classes_define_the_labels(void **state)
{
    static const char *const names[] = {"c", "x", "a", "b"};
    static const uint8_t without_c[] = {1, 1, 0, 1};
    const photo_spec spec = {.codec = FG_PACK_RAW_RGB, .count = 4, .classes = 3};
    fg_pack_dataset_options options = {
        .images = {.height = 1, .width = 1}, .class_names = names, .class_count = 4};
    int32_t labels[4], label;
    uint8_t pixel[3];
    fg_dataset *dataset = open_photos(&spec, &options);
    assert_int_equal(fg_dataset_class_count(dataset), 4);
    assert_string_equal(fg_dataset_class_name(dataset, 1), "x");
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    assert_true(labels[0] == 2 && labels[1] == 3 && labels[2] == 0 && labels[3] == 2);
    fgt_ok(fg_dataset_read(dataset, 1, (void *const[]){pixel, &label}, &err));
    assert_int_equal(label, 3);
    fg_dataset_destroy(dataset);

    options.class_names =
        names + 1; /* without c, which only matters for the samples that are read */
    options.class_count = 3;
    assert_int_equal(try_open(in_folder("photos.pack"), &options, &dataset), FG_EFORMAT);
    fgt_message_is(err.message, "~/photos.pack: record 2 ('c/photo 002.png') has the class 'c': "
                                "expected one of 'x', 'a' and 'b'");
    options.images.splits = without_c;
    options.images.split = 1;
    fgt_ok(try_open(in_folder("photos.pack"), &options, &dataset));
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    assert_true(labels[0] == 1 && labels[1] == 2 && labels[2] == 1);
    fg_dataset_destroy(dataset);

    options = (fg_pack_dataset_options){.images = {.no_labels = true}, .class_names = names};
    assert_int_equal(try_open(in_folder("photos.pack"), &options, &dataset), FG_EINVAL);
    options.class_names = NULL;
    fgt_ok(try_open(in_folder("photos.pack"), &options, &dataset));
    assert_int_equal(fg_dataset_field_count(dataset), 1);
    assert_int_equal(fg_dataset_class_count(dataset), 0);
    fg_dataset_destroy(dataset);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static const fg_field xy[] = {{"x", {FG_F32, 1, {3}}}, {"label", {.dtype = FG_S32}}};

/* Records of `bytes` bytes, whose numbers count up. */
static const char *write_arrays(int fields, size_t bytes, int classes)
{
    static const char *const names[] = {"no", "yes"};
    static char path[300];
    (void)snprintf(path, sizeof path, "%s", in_folder("arrays.pack"));
    fg_pack_writer *writer;
    fgt_ok(fg_pack_writer_create(path,
                                 &(fg_pack_writer_options){.fields = xy,
                                                           .field_count = fields,
                                                           .class_names = names,
                                                           .class_count = classes,
                                                           .replace = true},
                                 &writer, NULL, &err));
    for (int i = 0; i < 4; i++) {
        struct {
            float x[3];
            int32_t label;
        } record = {{(float)i, 1, 2}, i % 2};
        fgt_ok(fg_pack_writer_add(
            writer,
            &(fg_pack_entry){.name = "row", .codec = FG_PACK_ARRAYS, .label = i > 0 ? 1 : 0},
            &record, bytes, &err));
    }
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    return path;
}

static void arrays_are_the_fields_of_the_pack(void **state)
{
    fg_dataset *dataset;
    float x[3];
    int32_t label;
    for (int fields = 1; fields <= 2; fields++) { /* the label is a column, or a field */
        fgt_ok(try_open(write_arrays(fields, fields == 1 ? 12 : 16, 2), NULL, &dataset));
        assert_int_equal(fg_dataset_field_count(dataset), 2);
        assert_string_equal(fg_dataset_field(dataset, 1)->name, "label");
        fgt_ok(fg_dataset_read(dataset, 2, (void *const[]){x, &label}, &err));
        assert_true(x[0] == 2 && x[1] == 1 && x[2] == 2);
        assert_int_equal(label, fields == 1 ? 1 : 0);
        fg_dataset_destroy(dataset);
    }
    fgt_ok(try_open(write_arrays(1, 12, 0), NULL, &dataset));
    assert_int_equal(fg_dataset_field_count(dataset), 1);
    fg_dataset_destroy(dataset);
    fgt_ok(try_open(write_arrays(2, 12, 0), NULL, &dataset));
    assert_int_equal(fg_dataset_read(dataset, 3, (void *const[]){x, &label}, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/arrays.pack: record 3 ('row') has 12 bytes, but its fields have 16");
    fg_dataset_destroy(dataset);
}

/* Given classes apply to the column of labels; the values of arrays are not changed. */
static void given_classes_do_not_change_arrays(void **state)
{
    static const char *const names[] = {"yes", "no"};
    const fg_pack_dataset_options options = {.class_names = names, .class_count = 2};
    for (int fields = 1; fields <= 2; fields++) {
        fg_dataset *dataset;
        float x[3];
        int32_t label;
        fgt_ok(try_open(write_arrays(fields, fields == 1 ? 12 : 16, 2), &options, &dataset));
        assert_string_equal(fg_dataset_class_name(dataset, 0), fields == 1 ? "yes" : "no");
        fgt_ok(fg_dataset_read(dataset, 3, (void *const[]){x, &label}, &err));
        assert_int_equal(label, fields == 1 ? 0 : 1); /* yes */
        fg_dataset_destroy(dataset);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* A pack of a record of raw pixels and one with this codec and label. */
static const char *write_two(fg_pack_codec codec, int32_t label, int classes)
{
    static const char *const names[] = {"no"};
    static char path[300];
    static const uint8_t pixels[12] = {0};
    (void)snprintf(path, sizeof path, "%s", in_folder("two.pack"));
    fg_pack_writer *writer;
    fgt_ok(fg_pack_writer_create(
        path,
        &(fg_pack_writer_options){.class_names = names, .class_count = classes, .replace = true},
        &writer, NULL, &err));
    for (int i = 0; i < 2; i++)
        fgt_ok(fg_pack_writer_add(writer,
                                  &(fg_pack_entry){.name = i == 0 ? "one" : "two",
                                                   .codec = i == 0 ? FG_PACK_RAW_RGB : codec,
                                                   .width = 2,
                                                   .height = 2,
                                                   .label = i == 0 ? 0 : label},
                                  pixels, 12, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    return path;
}

static void records_that_do_not_fit_are_named(void **state)
{
    fg_dataset *dataset;
    assert_int_equal(try_open(write_two(FG_PACK_RAW_RGB, -1, 1), NULL, &dataset), FG_EINVAL);
    fgt_message_is(err.message,
                   "~/two.pack: record 1 ('two') has no label, but the pack has classes: "
                   "expected a label for each sample\nif samples may have several labels, or none, "
                   "set task: multilabel");
    assert_int_equal(try_open(write_two(FG_PACK_RAW_RGB, 1, 1), NULL, &dataset), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/two.pack: record 1 ('two') has label 1, but the pack has 1 class");
    assert_int_equal(try_open(write_two(FG_PACK_ARRAYS, 0, 1), NULL, &dataset), FG_EINVAL);
    fgt_message_is(err.message,
                   "~/two.pack: record 1 ('two'): the pack has arrays, coefficients or "
                   "pixels: expected records of one kind");
    assert_null(dataset);
    uint8_t image[12];
    const fg_pack_dataset_options options = {.images = {.height = 2, .width = 2}};
    fgt_ok(try_open(write_two(FG_PACK_RAW_YCC420, 0, 0), &options, &dataset));
    fgt_ok(fg_dataset_read(dataset, 0, (void *const[]){image}, &err));
    assert_int_equal(fg_dataset_read(dataset, 1, (void *const[]){image}, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/two.pack: record 1 ('two'): 12 bytes are not the pixels of an image "
                   "of 2 x 2 pixels");
    fg_dataset_destroy(dataset);
    fgt_ok(try_open(write_two(FG_PACK_FILE, 0, 0), &options, &dataset));
    assert_int_equal(fg_dataset_read(dataset, 1, (void *const[]){image}, &err), FG_EUNSUPPORTED);
    fgt_message_is(err.message, "~/two.pack: record 1 ('two'): unsupported image format: the file "
                                "begins with the bytes 00 00 00 00 00 00 00 00");
    fg_dataset_destroy(dataset);
}

static void wrong_options_are_refused(void **state)
{
    static const uint8_t splits[2] = {0};
    static const struct {
        fg_pack_dataset_options options;
        const char *message;
    } cases[] = {
        {{.images = {.splits = splits}, .use_splits = true},
         "use_splits and images.splits are both set: expected one"},
        {{.bad = (fg_pack_bad)2}, "bad is 2: expected a value of fg_pack_bad"},
        {{.images = {.channels = 2}}, "channels is 2: expected 1 or 3"},
        {{.images = {.crop = (fg_image_crop)3}}, "crop is 3: expected a value of fg_image_crop"},
    };
    fg_dataset *dataset;
    const char *path = write_two(FG_PACK_RAW_RGB, 0, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(try_open(path, &cases[i].options, &dataset), FG_EINVAL);
        assert_string_equal(err.message, cases[i].message);
    }
}

static char warning[400];

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    if (level == FG_LOG_WARNING)
        (void)snprintf(warning, sizeof warning, "%s", line);
}

/* A pack that does not fit is read record by record, and that is said. */
static void a_pack_larger_than_memory_is_not_preloaded(void **state)
{
    fg_pack *pack;
    fg_dataset *dataset;
    photo_pack_write(in_folder("fit.pack"), &(photo_spec){.codec = FG_PACK_JPEG, .count = 3});
    fgt_ok(fg_pack_open(in_folder("fit.pack"), NULL, &pack, &err));
    const uint64_t size = fg_pack_info_of(pack)->size_bytes;
    for (int fits = 0; fits < 2; fits++) {
        assert_int_equal(fg_pack_populate(pack, size - 1 + (uint64_t)fits), fits);
        warning[0] = '\0';
        fg_log_set(keep_warning, NULL);
        fgt_ok(try_open(in_folder("fit.pack"),
                        &(fg_pack_dataset_options){.images = {.height = SIDE, .width = SIDE},
                                                   .preload_bytes = size - 1 + (uint64_t)fits},
                        &dataset));
        fg_log_set(NULL, NULL);
        char expected[256] = "";
        if (!fits)
            (void)fgi_snprintf(
                expected, sizeof expected,
                "'~/fit.pack': the pack is not preloaded, because it has %s, but only "
                "%s are available; records are read when they are needed",
                fgi_bytes_words((double)size), fgi_bytes_words((double)(size - 1)));
        fgt_message_is(warning, expected);
        fg_dataset_destroy(dataset);
    }
    fg_pack_close(pack);
    /* more than half of the memory: an epoch displaces what the next one begins with */
    assert_true(fgi_pack_is_large(5, 8) && !fgi_pack_is_large(4, 8));
    assert_false(fgi_pack_is_large(4, 0)); /* not known */
}

static fg_status create_and_read(void *self, fg_error *e)
{
    fg_dataset *dataset = NULL;
    uint8_t sample[BYTES];
    int32_t label;
    const fg_pack_dataset_options options = {.images = {.height = SIDE, .width = SIDE},
                                             .use_splits = true,
                                             .bad = FG_PACK_BAD_SKIP,
                                             .preload_bytes = UINT64_MAX};
    fg_status status = fg_pack_dataset_create(self, &options, &dataset, e);
    for (int i = 0; status == FG_OK && i < 2; i++)
        status = fg_dataset_read(dataset, i, (void *const[]){sample, &label}, e);
    fg_dataset_destroy(dataset);
    return status;
}

static void allocation_failures_leak_nothing(void **state)
{
    const photo_spec spec = {
        .codec = FG_PACK_JPEG_SEG, .count = 3, .classes = 2, .has_splits = true};
    fg_pack *pack;
    photo_pack_write(in_folder("fault.pack"), &spec);
    fgt_ok(fg_pack_open(in_folder("fault.pack"), NULL, &pack, &err));
    fgt_fault_loop(create_and_read, pack);
    fg_pack_close(pack);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(samples_equal_those_of_files),
    cmocka_unit_test(a_window_of_a_small_image_is_resized),
    cmocka_unit_test(windows_are_parts_of_the_image),
    cmocka_unit_test(raw_ycc_becomes_rgb),
    cmocka_unit_test(every_variant_occurs_once_in_a_round_of_epochs),
    cmocka_unit_test(splits_and_labels_are_those_of_the_pack),
    cmocka_unit_test(a_pack_with_a_lost_record_can_be_opened),
    cmocka_unit_test(a_damaged_record_has_a_limited_number_of_substitutes),
    cmocka_unit_test(samples_have_the_names_of_their_records),
    cmocka_unit_test(given_classes_define_the_labels),
    cmocka_unit_test(arrays_are_the_fields_of_the_pack),
    cmocka_unit_test(given_classes_do_not_change_arrays),
    cmocka_unit_test(records_that_do_not_fit_are_named),
    cmocka_unit_test(wrong_options_are_refused),
    cmocka_unit_test(a_pack_larger_than_memory_is_not_preloaded),
    cmocka_unit_test(allocation_failures_leak_nothing),
};
FGT_MAIN(tests)
