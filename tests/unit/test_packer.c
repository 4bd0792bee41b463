/* test_packer.c - packs built from images: what each codec stores, the same bytes with any number
 * of threads, names, labels, splits and metadata.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/print.h"
#include "image/codec.h"
#include "image/jpeg_coefficients.h"
#include "image/jpeg_segment_record.h"
#include "image/jpeg_segment_table.h"
#include "image/ycc420.h"
#include "image_files.h"
#include "made_jpeg.h"
#include "photos.h"

static fg_error err;
static const fg_image_presize square = {
    .rule = FG_IMAGE_PRESIZE_SQUARE, .size = 32, .upscale = true};

/* A pack of photos_make with one codec. */
typedef struct packed {
    fg_pack *pack;
    fg_pack_entry entry; /* of the last record */
    const uint8_t *data;
    size_t size;
} packed;

static packed pack_photos(const fg_pack_build_options *options)
{
    packed p = {0};
    const char *source = photos_make(), *path = fgt_path(fgt_temp_folder(), "p.pack");
    photos_pack(source, path, options);
    fgt_ok(fg_pack_open(path, NULL, &p.pack, &err));
    assert_int_equal(fg_pack_count(p.pack), 8 * fg_pack_info_of(p.pack)->variant_count);
    fgt_ok(fg_pack_verify(p.pack, NULL, NULL, NULL, &err));
    return p;
}

/* Reads a record and checks its codec and size. */
static void expect_record(packed *p, const char *name, fg_pack_codec codec, uint32_t width,
                          uint32_t height)
{
    const void *data;
    const int64_t i = photos_find(p->pack, name);
    fgt_ok(fg_pack_entry_at(p->pack, i, &p->entry, &err));
    fgt_ok(fg_pack_record(p->pack, i, &data, &p->size, &err));
    p->data = data;
    assert_int_equal(p->entry.codec, codec);
    assert_int_equal(p->entry.width, width);
    assert_int_equal(p->entry.height, height);
}

/* The golden image decoded with `presize`; the caller calls fg_image_fini. */
static fg_image decoded(const char *image, const fg_image_presize *presize)
{
    fg_image out = {0};
    fg_image_decoder *decoder;
    fgt_file file = fgt_file_read(image);
    const fg_image_decode_options options = {.presize = *presize};
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fgt_decode(decoder, &file, &options, &out, &err));
    fg_image_decoder_destroy(decoder);
    fgt_file_free(&file);
    return out;
}

/* Fails the test unless the bytes are a JPEG within `bound` of the image on average. */
static void check_jpeg(const uint8_t *jpeg, size_t size, const fg_image *image, double bound)
{
    int width, height;
    double sum = 0;
    uint8_t *pixels = fgt_jpeg_pixels(jpeg, size, 1, &width, &height);
    const size_t count = (size_t)(image->width * image->height) * 3;
    assert_int_equal(width, image->width);
    assert_int_equal(height, image->height);
    for (size_t i = 0; i < count; i++)
        sum += abs(pixels[i] - image->pixels[i]);
    if (sum > bound * (double)count)
        fail_msg("mean difference %.2f", sum / (double)count);
    free(pixels);
}

/* ---- codecs ---------------------------------------------------------------------------------- */

static void files_are_stored_as_they_are(void **state)
{
    static const struct {
        const char *file, *name;
        uint32_t width, height;
    } rows[] = {{"baseline.jpg", "cat/baseline.jpg", 37, 23},
                {"orient6.jpg", "cat/orient6.jpg", 23, 37}, /* after the orientation is applied */
                {"rgba.png", "dog/rgba.png", 37, 23}};
    packed p = pack_photos(&(fg_pack_build_options){.codec = FG_PACK_CHOICE_FILE});
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fgt_file file = fgt_file_read(rows[i].file);
        expect_record(&p, rows[i].name, FG_PACK_FILE, rows[i].width, rows[i].height);
        assert_int_equal(p.size, file.size);
        assert_memory_equal(p.data, file.data, file.size);
        fgt_file_free(&file);
    }
    fg_pack_close(p.pack);
}

static void jpegs_are_kept_and_others_encoded(void **state)
{
    static const char *const kept[] = {"baseline.jpg", "progressive.jpg", "gray.jpg"};
    static const char *const encoded[] = {"cat/orient6.jpg", "cat/cmyk.jpg", "dog/rgba.png",
                                          "dog/plain.gif", "dog/lossy.webp"};
    const fg_image_presize none = {.rule = FG_IMAGE_PRESIZE_NONE};
    packed p = pack_photos(&(fg_pack_build_options){.codec = FG_PACK_CHOICE_JPEG, .quality = 98});
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        fgt_file file = fgt_file_read(kept[i]);
        expect_record(&p, fgt_path("cat", kept[i]), FG_PACK_JPEG, 37, 23);
        assert_int_equal(p.size, file.size);
        assert_memory_equal(p.data, file.data, file.size);
        fgt_file_free(&file);
    }
    for (size_t i = 0; i < sizeof(encoded) / sizeof(encoded[0]); i++) {
        fg_image image = decoded(encoded[i] + 4, &none);
        expect_record(&p, encoded[i], FG_PACK_JPEG, (uint32_t)image.width, (uint32_t)image.height);
        check_jpeg(p.data, p.size, &image, 8); /* chroma has half of the resolution */
        fg_image_fini(&image);
    }
    fg_pack_close(p.pack);
}

/* Lossless: the coefficients are those of the source. */
static void jpegs_with_segments_have_their_coefficients(void **state)
{
    static const char *const kept[] = {"baseline.jpg", "progressive.jpg", "gray.jpg"};
    packed p = pack_photos(&(fg_pack_build_options){.codec = FG_PACK_CHOICE_SEG});
    for (int64_t i = 0; i < fg_pack_count(p.pack); i++) {
        const void *data;
        fgi_jpeg_record record;
        fgi_jpeg_segment_table table = {0};
        fgt_ok(fg_pack_record(p.pack, i, &data, &p.size, &err));
        fgt_ok(fgi_jpeg_record_split("r", data, p.size, &record, &err));
        fgt_ok(fgi_jpeg_segment_table_read(&table, "r", record.table, record.table_size,
                                           record.size, &err));
        fgi_jpeg_segment_table_fini(&table);
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        fgi_jpeg_record record;
        fgt_file file = fgt_file_read(kept[i]);
        expect_record(&p, fgt_path("cat", kept[i]), FG_PACK_JPEG_SEG, 37, 23);
        fgt_ok(fgi_jpeg_record_split(kept[i], p.data, p.size, &record, &err));
        fgt_jpeg_same_coefficients(file.data, file.size, record.bytes, record.size);
        fgt_file_free(&file);
    }
    fg_pack_close(p.pack);
}

static void raw_pixels_are_those_of_the_decoder(void **state)
{
    packed p =
        pack_photos(&(fg_pack_build_options){.codec = FG_PACK_CHOICE_RAW, .presize = square});
    fg_image image = decoded("orient6.jpg", &square);
    expect_record(&p, "cat/orient6.jpg", FG_PACK_RAW_RGB, 32, 32);
    assert_int_equal(p.size, 32 * 32 * 3);
    assert_memory_equal(p.data, image.pixels, p.size);
    fg_image_fini(&image);
    fg_pack_close(p.pack);
}

static void planes_and_coefficients_are_of_the_same_pixels(void **state)
{
    uint8_t planes[32 * 32 * 3 / 2];
    fgi_jpeg_coefficients record;
    fgi_buf encoded = {0};
    fg_image image = decoded("rgba.png", &square);
    packed p =
        pack_photos(&(fg_pack_build_options){.codec = FG_PACK_CHOICE_YCC, .presize = square});
    fgi_ycc420_from_rgb(image.pixels, 32, 32, planes);
    expect_record(&p, "dog/rgba.png", FG_PACK_RAW_YCC420, 32, 32);
    assert_int_equal(p.size, sizeof(planes));
    assert_memory_equal(p.data, planes, p.size);
    fg_pack_close(p.pack);

    p = pack_photos(&(fg_pack_build_options){.codec = FG_PACK_CHOICE_DCT, .presize = square});
    expect_record(&p, "dog/rgba.png", FG_PACK_DCT, 32, 32);
    fgt_ok(fgi_jpeg_coefficients_open("r", p.data, p.size, &record, &err));
    assert_int_equal(record.component[1].columns, 2); /* 4:2:0 */
    assert_int_equal(p.entry.flags, fgi_jpeg_coefficients_high(&record));
    fgt_ok(fgi_jpeg_coefficients_encode("r", &image, 90, (fgi_jpeg_sampling){3, 2, 2}, &encoded,
                                        &err));
    assert_int_equal(encoded.size, p.size);
    assert_memory_equal(encoded.data, p.data, p.size);
    fgi_buf_fini(&encoded);
    fgt_ok(fgi_jpeg_coefficients_encode("r", &image, 90, (fgi_jpeg_sampling){3, 2, 1}, &encoded,
                                        &err));
    fgt_ok(fgi_jpeg_coefficients_open("r", encoded.data, encoded.size, &record, &err));
    assert_true(record.component[1].columns == 2 && record.component[1].rows == 4);
    fgi_buf_fini(&encoded);
    fg_image_fini(&image);
    fg_pack_close(p.pack);
}

/* Writes JPEGs of the specs, all 64x48 pixels, and a PNG if that is asked for. */
static void write_sources(const char *folder, const fgt_jpeg_spec *specs, int count, bool has_png)
{
    char path[300];
    (void)mkdir(folder, 0777);
    for (int i = 0; i < count; i++) {
        size_t size;
        uint8_t *jpeg = fgt_jpeg_make(&specs[i], &size);
        (void)snprintf(path, sizeof(path), "%s/%d.jpg", folder, i);
        fgt_write(path, jpeg, size);
        free(jpeg);
    }
    if (!has_png)
        return;
    fg_image image = {0};
    fg_image_bytes png = {0};
    fgt_ok(fg_image_reserve(&image, 64, 48, 3, &err));
    memset(image.pixels, 99, 64 * 48 * 3);
    fgt_ok(fg_image_encode_png(&image, NULL, &png, &err));
    (void)snprintf(path, sizeof(path), "%s/9.png", folder);
    fgt_write(path, png.data, png.size);
    fg_image_bytes_fini(&png);
    fg_image_fini(&image);
}

/* Whether record i has the coefficients of the JPEG of the spec; its flags are those of its bytes.
 */
static bool has_own(fg_pack *pack, int64_t i, const fgt_jpeg_spec *spec)
{
    size_t size, record_size;
    const void *record;
    fgi_buf expected = {0};
    uint8_t *jpeg = fgt_jpeg_make(spec, &size);
    fgt_ok(fg_pack_record(pack, i, &record, &record_size, &err));
    fg_pack_entry entry;
    fgi_jpeg_coefficients read;
    fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
    fgt_ok(fgi_jpeg_coefficients_open("r", record, record_size, &read, &err));
    assert_int_equal(entry.flags, fgi_jpeg_coefficients_high(&read));
    fgt_ok(fgi_jpeg_coefficients_write("own", jpeg, size, &expected, &err));
    const bool is_own =
        record_size == expected.size && memcmp(record, expected.data, record_size) == 0;
    fgi_buf_fini(&expected);
    free(jpeg);
    return is_own;
}

/* Packs them. Returns how many images were encoded again; `own` is set for those whose records have
 * the coefficients of the file. */
static int64_t pack_coefficients(const char *name, const fgt_jpeg_spec *specs, int count,
                                 bool has_png, bool *own)
{
    char folder[256], path[300];
    fg_pack *pack;
    fg_pack_built built;
    (void)snprintf(folder, sizeof(folder), "%s", fgt_path(fgt_temp_folder(), name));
    (void)snprintf(path, sizeof(path), "%s.pack", folder);
    write_sources(folder, specs, count, has_png);
    fgt_ok(fg_pack_build(folder, path, &(fg_pack_build_options){.codec = FG_PACK_CHOICE_DCT},
                         &built, &err));
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    for (int i = 0; i < count; i++)
        own[i] = has_own(pack, i, &specs[i]);
    fg_pack_close(pack);
    const int64_t encoded = built.encoded_count;
    fg_pack_built_fini(&built);
    return encoded;
}

/* A JPEG that needs no other size has its own coefficients, whatever its quality. If all have
 * another sampling, so has the pack; if they differ, it is 4:2:0 and the others are encoded. */
static void coefficients_are_those_of_the_file(void **state)
{
    enum { W = 64, H = 48 };
    const fgt_jpeg_spec half[] = {{W, H, 3, 2, 2, .quality = 95, .progressive = true},
                                  {W, H, 3, 2, 2, .quality = 95, .restart = 2}};
    const fgt_jpeg_spec full[] = {{W, H, 3, 1, 1, .quality = 95},
                                  {W, H, 3, 1, 1, .quality = 95, .optimized = true}};
    const fgt_jpeg_spec mixed[] = {{W, H, 3, 1, 1, .quality = 95},
                                   {W, H, 3, 2, 2, .quality = 95},
                                   {W, H, 1, 2, 2, .quality = 95},
                                   {W, H, 3, 2, 1, .quality = 95},
                                   {W, H, 3, 1, 2, .quality = 95}};
    const fgt_jpeg_spec wide[] = {{W, H, 3, 1, 1, .quality = 95}, {W, H, 3, 2, 1, .quality = 95}};
    const fgt_jpeg_spec tall[] = {{W, H, 3, 1, 1, .quality = 95}, {W, H, 3, 1, 2, .quality = 95}};
    const fgt_jpeg_spec gray[] = {{W, H, 1, 2, 2, .quality = 95}, {W, H, 1, 1, 1, .quality = 95}};
    bool own[5];
    assert_int_equal(pack_coefficients("half", half, 2, true, own), 1);
    assert_true(own[0] && own[1]);
    assert_int_equal(pack_coefficients("full", full, 2, false, own), 0);
    assert_true(own[0] && own[1]);
    assert_int_equal(pack_coefficients("mixed", mixed, 5, false, own), 4);
    assert_true(!own[0] && own[1] && !own[2] && !own[3] && !own[4]);
    assert_int_equal(pack_coefficients("wide", wide, 2, false, own), 2);
    assert_int_equal(pack_coefficients("tall", tall, 2, false, own), 2);
    assert_int_equal(pack_coefficients("gray", gray, 2, false, own), 0);
    assert_true(own[0] && own[1]);
}

/* The first record of a pack of coefficients of the folder. */
static packed pack_folder(const char *folder, const fg_pack_build_options *options,
                          fgi_jpeg_coefficients *out)
{
    packed p = {0};
    const void *record;
    char path[300];
    (void)snprintf(path, sizeof(path), "%s.pack", folder);
    photos_pack(folder, path, options);
    fgt_ok(fg_pack_open(path, NULL, &p.pack, &err));
    fgt_ok(fg_pack_record(p.pack, 0, &record, &p.size, &err));
    fgt_ok(fgi_jpeg_coefficients_open("r", record, p.size, out, &err));
    return p;
}

/* 4:2:0: of chroma with sampling factors above 2, of stored augmentations, and of gray images if
 * there are more than those that are looked at. */
static void other_coefficients_have_half_of_the_chroma(void **state)
{
    static const fgt_jpeg_spec tall = {64, 48, 3, 1, 4, .quality = 95},
                               full = {64, 48, 3, 1, 1, .quality = 95},
                               gray = {64, 48, 1, 1, 1, .quality = 95};
    fg_pack_build_options o = {.codec = FG_PACK_CHOICE_DCT, .replace = true};
    fgi_jpeg_coefficients record;
    char folder[256], name[16];
    (void)snprintf(folder, sizeof(folder), "%s", fgt_path(fgt_temp_folder(), "chroma"));
    write_sources(folder, &tall, 1, false);
    fg_pack_close(pack_folder(folder, &o, &record).pack);
    assert_true(record.component[1].columns == 4 && record.component[1].rows == 3);
    write_sources(folder, &full, 1, false);
    fg_pack_close(pack_folder(folder, &o, &record).pack);
    assert_true(record.component[1].columns == 8 && record.component[1].rows == 6);
    o.variant_count = 2;
    o.presize = square;
    fg_pack_close(pack_folder(folder, &o, &record).pack);
    assert_true(record.component[1].columns == 2 && record.component[1].rows == 2);
    o = (fg_pack_build_options){.codec = FG_PACK_CHOICE_DCT, .replace = true};
    write_sources(folder, &gray, 1, false);
    for (int i = 1; i < 256; i++) {
        (void)snprintf(name, sizeof(name), "1%03d.jpg", i);
        assert_int_equal(symlink("0.jpg", fgt_path(folder, name)), 0);
    }
    fg_pack_close(pack_folder(folder, &o, &record).pack);
    assert_int_equal(record.components, 1);
    assert_int_equal(symlink("0.jpg", fgt_path(folder, "2.jpg")), 0);
    fg_pack_close(pack_folder(folder, &o, &record).pack);
    assert_int_equal(record.components, 3);
    /* among color images with the same factors, the gray one that is not looked at */
    write_sources(folder, &full, 1, false);
    size_t size;
    const void *data;
    uint8_t *jpeg = fgt_jpeg_make(&gray, &size);
    assert_int_equal(unlink(fgt_path(folder, "2.jpg")), 0);
    fgt_write(fgt_path(folder, "2.jpg"), jpeg, size);
    free(jpeg);
    const packed p = pack_folder(folder, &o, &record);
    fgt_ok(fg_pack_record(p.pack, 256, &data, &size, &err));
    fgt_ok(fgi_jpeg_coefficients_open("r", data, size, &record, &err));
    assert_int_equal(record.components, 3);
    fg_pack_close(p.pack);
}

/* As of files that are stored as they are: of all images, those that are not decoded too. */
static void coefficients_have_the_mean_of_the_images(void **state)
{
    static const fgt_jpeg_spec spec = {64, 48, 3, 2, 2, .quality = 95};
    static const fg_pack_choice choices[] = {FG_PACK_CHOICE_FILE, FG_PACK_CHOICE_DCT,
                                             FG_PACK_CHOICE_SEG};
    char folder[256], path[300], expected[128] = "";
    (void)snprintf(folder, sizeof(folder), "%s", fgt_path(fgt_temp_folder(), "mean"));
    write_sources(folder, &spec, 1, false);
    for (int i = 0; i < 3; i++) {
        fg_pack *pack = NULL;
        (void)snprintf(path, sizeof(path), "%s%d.pack", folder, i);
        photos_pack(folder, path, &(fg_pack_build_options){.codec = choices[i]});
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        const char *mean = strstr(fg_pack_info_of(pack)->metadata, "\"mean\":[0.");
        assert_non_null(mean);
        if (i == 0)
            (void)snprintf(expected, sizeof(expected), "%s", mean);
        assert_string_equal(mean, expected); /* to the end */
        fg_pack_close(pack);
    }
}

/* A folder with an image, half of one, and lists of both and of one that does not exist. */
static const char *half_folder(void)
{
    static char folder[256];
    static const char list[] = "path,label\na.jpg,x\nb.jpg,x\nnone.jpg,x\n";
    static const char lines[] = "{\"file_name\": \"none.jpg\", \"label\": \"x\"}\n"
                                "{\"file_name\": \"a.jpg\", \"label\": \"x\"}\n";
    (void)snprintf(folder, sizeof(folder), "%s", fgt_path(fgt_temp_folder(), "checked"));
    (void)mkdir(folder, 0777);
    fgt_file file = fgt_file_read("large.jpg");
    fgt_write(fgt_path(folder, "a.jpg"), file.data, file.size);
    fgt_write(fgt_path(folder, "b.jpg"), file.data, file.size / 2);
    fgt_file_free(&file);
    fgt_write(fgt_path(folder, "list.csv"), list, sizeof(list) - 1);
    fgt_write(fgt_path(folder, "list.jsonl"), lines, sizeof(lines) - 1);
    return folder;
}

static bool stop(void *self, const fg_pack_progress *progress)
{
    assert_string_equal(progress->unit, "images");
    assert_int_equal(progress->total, 2);
    return progress->done < *(const int64_t *)self;
}

/* Checking a source decodes its images and writes nothing. A truncated JPEG is bad. */
static void a_source_is_checked_without_packing(void **state)
{
    fg_pack_built built;
    const char *folder = half_folder();
    fgt_ok(fg_pack_check_source(folder, NULL, &built, &err));
    assert_int_equal(built.sample_count, 1);
    assert_int_equal(built.bad_count, 1);
    assert_int_equal(built.skip_count, 2); /* the lists */
    assert_non_null(strstr(built.bad[0].reason, "b.jpg: byte "));
    fg_pack_built_fini(&built);
    const fg_pack_build_options parts = {.val_fraction = 0.5,
                                         .test_fraction = 0.4,
                                         .codec = FG_PACK_CHOICE_RAW,
                                         .presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 8},
                                         .variant_count = 3}; /* ignored */
    fgt_ok(fg_pack_check_source(fgt_path(folder, "list.csv"), &parts, &built, &err));
    assert_int_equal(built.sample_count, 1);
    assert_int_equal(built.bad_count, 2);
    assert_string_equal(built.bad[1].reason, "none.jpg: row 3: no such file");
    assert_true(built.codec == FG_PACK_CHOICE_FILE && built.encoded_count == 0);
    fg_pack_built_fini(&built);
    fgt_ok(fg_pack_check_source(fgt_path(folder, "list.jsonl"), &parts, &built, &err));
    assert_int_equal(built.sample_count, 1);
    assert_int_equal(built.bad_count, 1);
    assert_string_equal(built.bad[0].reason, "none.jpg: line 1: no such file");
    fg_pack_built_fini(&built);
}

/* What a check of images refuses, and how it ends early. */
static void checks_can_be_stopped(void **state)
{
    fg_pack_built built;
    const char *folder = half_folder();
    const fg_pack_build_options often = {.thread_count = 1, .progress_s = FG_ZERO},
                                tokens = {.sequence = 4};
    assert_int_equal(
        fg_pack_check_source(folder, photos_reported(&often, stop, &(int64_t){1}), &built, &err),
        FG_ESTOPPED);
    assert_string_equal(err.message, "stopped after 1 of 2 images");
    assert_int_equal(fg_pack_check_source(folder, &tokens, &built, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "checked' has no image files to check"));
}

/* An image that is read with a warning; corrupt ones have too, if they are tolerated. */
static void images_with_warnings_are_counted(void **state)
{
    fg_pack_built built;
    const char *folder = half_folder();
    fgt_file file = fgt_file_read("large.jpg");
    uint8_t *flawed = calloc(1, file.size + 40);
    assert_non_null(flawed);
    memcpy(flawed, file.data, file.size - 2);
    memset(flawed + file.size - 2, 0x12, 40);
    memcpy(flawed + file.size + 38, "\xff\xd9", 2);
    fgt_write(fgt_path(folder, "c.jpg"), flawed, file.size + 40);
    for (int is_tolerant = 0; is_tolerant < 2; is_tolerant++) {
        const fg_pack_build_options o = {.tolerate_corruption = is_tolerant};
        fgt_ok(fg_pack_check_source(folder, &o, &built, &err));
        assert_int_equal(built.flawed_count, 1 + is_tolerant);
        assert_int_equal(built.sample_count, 2 + is_tolerant);
        assert_int_equal(built.bad_count, 1 - is_tolerant);
        assert_true(built.size_bytes ==
                    file.size + (file.size + 40) + (is_tolerant ? file.size / 2 : 0));
        assert_int_equal(built.encoded_count, 0);
        assert_int_equal(built.record_count, 0);
        fg_pack_built_fini(&built);
    }
    free(flawed);
    fgt_file_free(&file);
}

/* If corruption is tolerated, a corrupt JPEG is packed as what it is decoded to, so that reading
 * the pack needs no tolerance. */
static void tolerated_jpegs_are_encoded_again(void **state)
{
    fg_pack_built built;
    fg_pack *pack;
    const fg_pack_build_options tolerant = {.codec = FG_PACK_CHOICE_JPEG,
                                            .tolerate_corruption = true};
    const char *folder = half_folder();
    char *out = strdup(fgt_path(fgt_temp_folder(), "tolerant.pack"));
    fgt_ok(fg_pack_build(folder, out, &tolerant, &built, &err));
    assert_int_equal(built.flawed_count, 1);
    assert_int_equal(built.encoded_count, 1);
    fg_pack_built_fini(&built);
    fgt_ok(fg_pack_open(out, NULL, &pack, &err));
    for (int64_t i = 0; i < 2; i++) {
        const void *record;
        size_t size;
        fgt_ok(fg_pack_record(pack, i, &record, &size, &err));
        fgt_ok(fgi_image_check("record", record, size, false, &err));
    }
    fg_pack_close(pack);
    free(out);
}

static void tolerated_jpegs_have_any_codec(void **state)
{
    fg_pack_built built;
    fg_pack_build_options tolerant = {.tolerate_corruption = true, .replace = true};
    const char *folder = half_folder();
    char *out = strdup(fgt_path(fgt_temp_folder(), "tolerant.pack"));
    static const fg_pack_choice others[] = {FG_PACK_CHOICE_FILE, FG_PACK_CHOICE_SEG,
                                            FG_PACK_CHOICE_DCT};
    for (int i = 0; i < 3; i++) {
        tolerant.codec = others[i];
        fgt_ok(fg_pack_build(folder, out, &tolerant, &built, &err));
        assert_int_equal(built.flawed_count, 1);
        assert_int_equal(built.encoded_count, i > 0); /* a file remains as it is */
        fg_pack_built_fini(&built);
    }
    free(out);
}

/* Against the formula of JFIF in floating point. */
static void planes_follow_the_formula(void **state)
{
    enum { WIDTH = 5, HEIGHT = 3, COLUMNS = 3, ROWS = 2 };
    uint8_t rgb[HEIGHT][WIDTH][3], out[WIDTH * HEIGHT + 2 * COLUMNS * ROWS];
    uint32_t random = 1;
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++) {
        random = random * 1664525 + 1013904223;
        rgb[i / 3 / WIDTH][i / 3 % WIDTH][i % 3] = i < 9 ? 255 : (uint8_t)(random >> 24);
    }
    assert_int_equal(fgi_ycc420_bytes(WIDTH, HEIGHT), sizeof(out));
    fgi_ycc420_from_rgb(&rgb[0][0][0], WIDTH, HEIGHT, out);
    assert_int_equal(out[0], 255); /* white */
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const uint8_t *p = rgb[y][x];
            fgt_close("Y", out[y * WIDTH + x], 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 0.501,
                      0);
        }
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++) {
            double sum[3] = {0}, count = 0;
            for (int i = 2 * y; i < 2 * y + 2 && i < HEIGHT; i++)
                for (int j = 2 * x; j < 2 * x + 2 && j < WIDTH; j++, count++)
                    for (int c = 0; c < 3; c++)
                        sum[c] += rgb[i][j][c];
            const double r = sum[0] / count, g = sum[1] / count, b = sum[2] / count;
            const uint8_t *cb = out + WIDTH * HEIGHT + y * COLUMNS + x;
            fgt_close("Cb", cb[0], 128 - 0.168736 * r - 0.331264 * g + 0.5 * b, 0.502, 0);
            fgt_close("Cr", cb[COLUMNS * ROWS], 128 + 0.5 * r - 0.418688 * g - 0.081312 * b, 0.502,
                      0);
        }
}

/* ---- images of made pixels ------------------------------------------------------------------- */

/* An image whose red grows from left to right and whose green from top to bottom, to 255. */
static void put_ramp(const char *path, int64_t width, int64_t height, bool is_jpeg)
{
    fg_image image = {0};
    fg_image_bytes file = {0};
    fgt_ok(fg_image_reserve(&image, width, height, 3, &err));
    for (int64_t i = 0; i < width * height; i++) {
        image.pixels[3 * i] = (uint8_t)(i % width * 255 / (width - 1));
        image.pixels[3 * i + 1] = (uint8_t)(i / width * 255 / (height - 1));
        image.pixels[3 * i + 2] = 128;
    }
    fgt_ok(is_jpeg ? fg_image_encode_jpeg(&image, NULL, &file, &err)
                   : fg_image_encode_png(&image, NULL, &file, &err));
    fgt_write(path, file.data, file.size);
    fg_image_bytes_fini(&file);
    fg_image_fini(&image);
}

/* Packs a folder, or a list; NULL for the parts that are not needed. */
static fg_pack *build_folder(const char *source, const fg_pack_build_options *options,
                             fg_pack_built *built)
{
    fg_pack *pack = NULL;
    fg_pack_built unused;
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    fgt_ok(fg_pack_build(source, path, options, built != NULL ? built : &unused, &err));
    if (built == NULL)
        fg_pack_built_fini(&unused);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    return pack;
}

/* The box of a variant in an image of 256 x 256 pixels, as its ramps show; fg_pack_build_options:
 * 8 % to 100 % of the area, sides in the ratio 3:4 to 4:3, about half of them flipped. */
static void variants_are_random_boxes(void **state)
{
    enum { SIDE = 32, COUNT = 200, LAST = SIDE - 1 };
    const fg_pack_build_options o = {.codec = FG_PACK_CHOICE_RAW,
                                     .presize = {FG_IMAGE_PRESIZE_SQUARE, SIDE, false, {0}},
                                     .variant_count = COUNT,
                                     .thread_count = 1};
    const char *folder = fgt_temp_folder();
    int flipped = 0, wide = 0, tall = 0, small = 0, large = 0;
    put_ramp(fgt_path(folder, "a.png"), 256, 256, false);
    fg_pack *pack = build_folder(folder, &o, NULL);
    for (int64_t i = 0; i < COUNT; i++) {
        const void *data;
        size_t size;
        fgt_ok(fg_pack_record(pack, i, &data, &size, &err));
        const uint8_t *pixels = data, *end = pixels + 3 * (SIDE * SIDE - 1);
        /* from the center of the first pixel to that of the last */
        const double x = (double)(end[0] - pixels[0]) * SIDE / LAST;
        const double width = x < 0 ? -x : x;
        const double height = (double)(end[1] - pixels[1]) * SIDE / LAST;
        const double area = width * height / (256 * 256), ratio = width / height;
        flipped += x < 0;
        wide += ratio > 1.15;
        tall += ratio < 1 / 1.15;
        small += area < 0.3;
        large += area > 0.7;
        assert_true(area > 0.07 && area < 1.03 && ratio > 0.7 && ratio < 1.43);
    }
    assert_in_range(flipped, 70, 130); /* within 4 standard deviations of 7 */
    assert_true(wide > 10 && tall > 10 && small > 10 && large > 10);
    fg_pack_close(pack);
}

static const struct {
    int64_t width, height;
    fg_image_presize presize;
    int encoded;
    uint32_t stored_width, stored_height;
} presized[] = {
    {40, 60, {FG_IMAGE_PRESIZE_NONE, 0, false, {0}}, 0, 40, 60},
    {40, 60, {FG_IMAGE_PRESIZE_SQUARE, 40, false, {0}}, 1, 40, 40},
    {60, 40, {FG_IMAGE_PRESIZE_SQUARE, 40, false, {0}}, 1, 40, 40},
    {40, 40, {FG_IMAGE_PRESIZE_SQUARE, 40, true, {0}}, 0, 40, 40},
    {40, 60, {FG_IMAGE_PRESIZE_SHORT, 40, true, {0}}, 0, 40, 60},
    {40, 60, {FG_IMAGE_PRESIZE_SHORT, 50, false, {0}}, 0, 40, 60},
    {40, 60, {FG_IMAGE_PRESIZE_SHORT, 50, true, {0}}, 1, 50, 75},
    {40, 60, {FG_IMAGE_PRESIZE_MAX, 60, true, {0}}, 0, 40, 60},
    {40, 60, {FG_IMAGE_PRESIZE_MAX, 30, false, {0}}, 1, 20, 30},
};

/* A JPEG is only stored as it is if neither its size nor its orientation changes. */
static void only_jpegs_that_stay_the_same_are_kept(void **state)
{
    for (size_t i = 0; i < sizeof presized / sizeof presized[0]; i++) {
        fg_pack_built built;
        fg_pack_entry entry;
        const fg_pack_build_options o = {.codec = FG_PACK_CHOICE_JPEG,
                                         .presize = presized[i].presize};
        const char *folder = fgt_temp_folder();
        put_ramp(fgt_path(folder, "a.jpg"), presized[i].width, presized[i].height, true);
        fg_pack *pack = build_folder(folder, &o, &built);
        assert_int_equal(built.encoded_count, presized[i].encoded);
        fgt_ok(fg_pack_entry_at(pack, 0, &entry, &err));
        assert_int_equal(entry.width, presized[i].stored_width);
        assert_int_equal(entry.height, presized[i].stored_height);
        fg_pack_built_fini(&built);
        fg_pack_close(pack);
    }
}

/* Orientation 1 is upright; each of the others is decoded, turned and encoded. */
static void each_orientation_is_applied(void **state)
{
    const char *folder = fgt_temp_folder();
    fg_pack_built built;
    for (int i = 1; i <= 8; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "orient%d.jpg", i);
        photos_put(name, folder, name);
    }
    fg_pack *pack =
        build_folder(folder, &(fg_pack_build_options){.codec = FG_PACK_CHOICE_JPEG}, &built);
    assert_int_equal(built.encoded_count, 7);
    for (int i = 1; i <= 8; i++) {
        char name[16];
        packed p = {.pack = pack};
        (void)snprintf(name, sizeof name, "orient%d.jpg", i);
        fg_image image = decoded(name, &(fg_image_presize){0});
        expect_record(&p, name, FG_PACK_JPEG, (uint32_t)image.width, (uint32_t)image.height);
        if (i > 1)
            check_jpeg(p.data, p.size, &image, 6);
        fg_image_fini(&image);
    }
    fg_pack_built_fini(&built);
    fg_pack_close(pack);
}

/* The quality of what is encoded: 90 unless it is given. */
static void encoded_images_have_the_quality(void **state)
{
    static const fg_pack_choice codecs[] = {FG_PACK_CHOICE_JPEG, FG_PACK_CHOICE_SEG,
                                            FG_PACK_CHOICE_DCT};
    static const int qualities[] = {0, 90, 20, 100};
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    put_ramp(fgt_path(folder, "a.png"), 64, 48, false);
    for (size_t c = 0; c < 3; c++) {
        size_t sizes[4];
        for (size_t i = 0; i < 4; i++) {
            const void *data;
            const fg_pack_build_options o = {.codec = codecs[c], .quality = qualities[i]};
            fg_pack *pack = build_folder(folder, &o, NULL);
            fgt_ok(fg_pack_record(pack, 0, &data, &sizes[i], &err));
            fg_pack_close(pack);
        }
        assert_int_equal(sizes[0], sizes[1]);
        assert_true(sizes[2] < sizes[1] && sizes[1] < sizes[3]);
    }
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void expect_metadata(const fg_pack *pack, const char *part)
{
    if (strstr(fg_pack_info_of(pack)->metadata, part) == NULL)
        fail_msg("expected %s in %s", part, fg_pack_info_of(pack)->metadata);
}

/* Samples of each split and, of each of these, of each class; those without a split; by hand. */
static void the_metadata_counts_samples(void **state)
{
    static const char rows[] = "path,name,label,split\na.jpg,a,cat,train\na.jpg,b,cat,train\n"
                               "a.jpg,c,dog,train\na.jpg,d,dog,val\na.jpg,e,cat,test\n"
                               "a.jpg,f,dog,test\na.jpg,g,dog,test\na.jpg,h,cat,\n";
    const char *folder = fgt_temp_folder();
    const fg_pack_build_options o = {.codec = FG_PACK_CHOICE_FILE};
    char csv[300];
    photos_put("gray.jpg", folder, "a.jpg");
    (void)snprintf(csv, sizeof csv, "%s/my list.csv", folder);
    fgt_write(csv, rows, sizeof rows - 1);
    fg_pack *pack = build_folder(csv, &o, NULL);
    expect_metadata(pack, "{\"source\":{\"name\":\"my list.csv\",\"kind\":\"csv\",\"samples\":8},"
                          "\"options\":{\"codec\":\"file\",\"presize\":\"none\",\"quality\":90,"
                          "\"variants\":1,\"seed\":0},\"samples\":8,\"bad\":0,\"skipped\":0,"
                          "\"splits\":{\"train\":3,\"val\":1,\"test\":3,\"none\":1},"
                          "\"class_counts\":{\"train\":[2,1],\"val\":[0,1],\"test\":[1,2],"
                          "\"none\":[1,0]},\"mean\":[");
    fg_pack_close(pack);
}

static void the_metadata_has_the_options(void **state)
{
    const fg_pack_build_options o = {.codec = FG_PACK_CHOICE_RAW,
                                     .presize = {FG_IMAGE_PRESIZE_SQUARE, 24, true, {0}},
                                     .quality = 77,
                                     .variant_count = 2,
                                     .val_fraction = 0.25,
                                     .test_fraction = 0.125,
                                     .stratify = true,
                                     .seed = 5,
                                     .limit = 7};
    fg_pack *pack = build_folder(photos_make(), &o, NULL);
    expect_metadata(pack, "\"kind\":\"folder\",\"samples\":8},\"options\":{\"codec\":\"raw\","
                          "\"presize\":\"square=24,upscale\",\"quality\":77,\"variants\":2,"
                          "\"seed\":5,\"val_fraction\":0.25,\"test_fraction\":0.125,"
                          "\"stratify\":true,\"limit\":7},\"samples\":7,");
    fg_pack_close(pack);
}

/* The channels of an image that is stored as it is are measured at a shorter side of 256. */
static void large_files_are_measured_at_256_pixels(void **state)
{
    char path[300], expected[120];
    double sum[3] = {0}, square_sum[3] = {0}, std[3];
    const char *folder = fgt_temp_folder();
    fg_image image = {0};
    fg_image_decoder *decoder;
    const fg_image_decode_options options = {.presize = {FG_IMAGE_PRESIZE_SHORT, 256, false, {0}}};
    (void)snprintf(path, sizeof path, "%s/a.png", folder);
    put_ramp(path, 300, 511, false);
    size_t size;
    char *file = photos_read(path, &size);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, "a", file, size, &options, &image, &err));
    assert_true(image.width == 256 && image.height == 436); /* 511 * 256 / 300 = 436.05 */
    for (size_t i = 0; i < 3 * 256 * 436; i++) {
        const double value = image.pixels[i] / 255.0;
        sum[i % 3] += value / (256 * 436);
        square_sum[i % 3] += value * value / (256 * 436);
    }
    for (int c = 0; c < 3; c++)
        std[c] = sqrt(square_sum[c] - sum[c] * sum[c]);
    fg_pack *pack =
        build_folder(folder, &(fg_pack_build_options){.codec = FG_PACK_CHOICE_FILE}, NULL);
    (void)fgi_snprintf(expected, sizeof expected, "\"std\":[%.6g,%.6g,", std[0], std[1]);
    expect_metadata(pack, expected);
    fg_pack_close(pack);
    fg_image_fini(&image);
    fg_image_decoder_destroy(decoder);
    free(file);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    static const fg_pack_choice choices[] = {FG_PACK_CHOICE_FILE, FG_PACK_CHOICE_JPEG,
                                             FG_PACK_CHOICE_SEG,  FG_PACK_CHOICE_RAW,
                                             FG_PACK_CHOICE_YCC,  FG_PACK_CHOICE_DCT};
    char source[512], folder[256];
    (void)snprintf(source, sizeof(source), "%s", photos_make());
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        fg_pack_build_options o = {.codec = choices[i], .thread_count = 1};
        (void)snprintf(folder, sizeof(folder), "%s", fgt_temp_folder());
        if (o.codec != FG_PACK_CHOICE_FILE) {
            o.presize = square;
            o.variant_count = o.codec == FG_PACK_CHOICE_SEG ? 1 : 3;
        }
        photos_pack(source, fgt_path(folder, "one.pack"), &o);
        o.thread_count = 4;
        photos_pack(source, fgt_path(folder, "four.pack"), &o);
        photos_check_same(fgt_path(folder, "one.pack"), fgt_path(folder, "four.pack"));
        assert_int_equal(fgt_count_entries(folder), 2); /* no journal, no list */
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_are_stored_as_they_are),
    cmocka_unit_test(jpegs_are_kept_and_others_encoded),
    cmocka_unit_test(jpegs_with_segments_have_their_coefficients),
    cmocka_unit_test(raw_pixels_are_those_of_the_decoder),
    cmocka_unit_test(planes_and_coefficients_are_of_the_same_pixels),
    cmocka_unit_test(coefficients_are_those_of_the_file),
    cmocka_unit_test(other_coefficients_have_half_of_the_chroma),
    cmocka_unit_test(coefficients_have_the_mean_of_the_images),
    cmocka_unit_test(a_source_is_checked_without_packing),
    cmocka_unit_test(checks_can_be_stopped),
    cmocka_unit_test(images_with_warnings_are_counted),
    cmocka_unit_test(tolerated_jpegs_are_encoded_again),
    cmocka_unit_test(tolerated_jpegs_have_any_codec),
    cmocka_unit_test(planes_follow_the_formula),
    cmocka_unit_test(variants_are_random_boxes),
    cmocka_unit_test(only_jpegs_that_stay_the_same_are_kept),
    cmocka_unit_test(each_orientation_is_applied),
    cmocka_unit_test(encoded_images_have_the_quality),
    cmocka_unit_test(the_metadata_counts_samples),
    cmocka_unit_test(the_metadata_has_the_options),
    cmocka_unit_test(large_files_are_measured_at_256_pixels),
    cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
};
FGT_MAIN(tests)
