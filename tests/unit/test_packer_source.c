/* test_packer_source.c - what becomes of sources: bad images, names, links, splits, limits,
 * variants, metadata; options, and failing allocations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "image_files.h"
#include "input/json_file.h"
#include "base/print.h"
#include "packer/packer.h"
#include "photos.h"

static fg_error err;
static const fg_pack_build_options jpeg = {.codec = FG_PACK_CHOICE_JPEG, .thread_count = 2};

static void expect_failure(const char *source, const fg_pack_build_options *options,
                           fg_status expected, const char *message)
{
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    const fg_status got = fg_pack_build(source, path, options, NULL, &err);
    if (got != expected || strstr(err.message, message) == NULL)
        fail_msg("expected '%s', got %s: %s", message, fg_status_name(got), err.message);
    assert_int_not_equal(access(path, F_OK), 0);
}

static fg_pack *open_pack(const char *source, const fg_pack_build_options *options)
{
    fg_pack *pack = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    photos_pack(source, path, options);
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    return pack;
}

static json_t *metadata_of(const fg_pack *pack)
{
    json_t *root = fgi_json_load(fg_pack_info_of(pack)->metadata,
                                 strlen(fg_pack_info_of(pack)->metadata), 0, NULL);
    assert_non_null(root);
    return root;
}

/* The integer at "a.b". */
static int number_at(const json_t *root, const char *key, const char *member)
{
    const json_t *at = json_object_get(root, key);
    return (int)json_integer_value(member != NULL ? json_object_get(at, member) : at);
}

/* ---- bad images ------------------------------------------------------------------------------ */

/* A JPEG that is cut, one with 12 bits per sample, a text. */
static void put_bad(const char *folder)
{
    fgt_file file = fgt_file_read("baseline.jpg");
    fgt_write(fgt_path(folder, "cat/cut.jpg"), file.data, file.size - 100);
    uint8_t *sof = memmem(file.data, file.size, "\xff\xc0", 2);
    assert_non_null(sof);
    sof[4] = 12;
    fgt_write(fgt_path(folder, "cat/deep.jpg"), file.data, file.size);
    fgt_write(fgt_path(folder, "dog/text.png"), "no image", 8);
    fgt_write(fgt_path(folder, "dog/notes.txt"), "notes", 5);
    fgt_file_free(&file);
}

static void a_bad_image_is_an_error_by_default(void **state)
{
    const char *source = photos_make();
    put_bad(source);
    expect_failure(source, &jpeg, FG_EFORMAT, "cat/cut.jpg: ");
    fgt_message_is(
        err.message,
        "cat/cut.jpg: byte 839: truncated JPEG: the file ends before the image does\nsample 3 of "
        "11; to skip bad images, use bad=skip (fulgurite pack --bad skip)");
}

static void bad_images_are_left_out_and_listed(void **state)
{
    static const struct {
        const char *name, *reason;
    } rows[] = {{"cat/cut.jpg", "byte "}, {"cat/deep.jpg", "12"}, {"dog/text.png", "format"}};
    const char *source = photos_make();
    fg_pack_build_options o = jpeg;
    fg_pack_built built;
    char path[512], list[600], text[1024];
    size_t size;
    (void)snprintf(path, sizeof(path), "%s", fgt_path(fgt_temp_folder(), "p.pack"));
    o.skip_bad = true;
    put_bad(source);
    memset(&built, 0xff, sizeof(built));
    fgt_ok(fg_pack_build(source, path, &o, &built, &err));
    assert_int_equal(built.sample_count, 8);
    assert_int_equal(built.bad_count, 3);
    assert_int_equal(built.skip_count, 1);
    assert_int_equal(built.reserved[0], 0);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(built.bad[i].name, rows[i].name);
        if (strstr(built.bad[i].reason, rows[i].reason) == NULL)
            fail_msg("%s: %s", rows[i].name, built.bad[i].reason);
    }
    assert_non_null(strstr(fgi_pack_built_text(&built, path, text, sizeof(text)),
                           "3 bad images and 1 other file are not in the pack"));
    fg_pack_built_fini(&built);
    (void)snprintf(list, sizeof(list), "%s.bad.jsonl", path);
    char *lines = photos_read(list, &size);
    lines[size] = '\0';
    assert_non_null(strstr(lines, "{\"name\":\"dog/notes.txt\",\"reason\":\"not an image"));
    assert_non_null(strstr(lines, "{\"name\":\"cat/cut.jpg\",\"reason\":\"cat/cut.jpg: byte "));
    free(lines);
    o.replace = true; /* a pack without bad images has no list */
    assert_int_equal(unlink(fgt_path(source, "dog/notes.txt")), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(unlink(fgt_path(source, rows[i].name)), 0);
    fgt_ok(fg_pack_build(source, path, &o, NULL, &err));
    assert_int_not_equal(access(list, F_OK), 0);
}

static void a_source_without_good_images_is_an_error(void **state)
{
    const char *source = fgt_temp_folder();
    fg_pack_build_options o = jpeg;
    fgt_write(fgt_path(source, "a.jpg"), "text", 4);
    o.skip_bad = true;
    expect_failure(source, &o, FG_EFORMAT, "no sample is an image that can be packed\na.jpg: ");
    o.codec = FG_PACK_CHOICE_AUTO;
    expect_failure(source, &o, FG_EFORMAT,
                   "none of 1 sample can be read as an image, so no codec can be chosen: a.jpg: "
                   "unsupported");
    fgt_write(fgt_path(source, "b.jpg"), "text", 4);
    expect_failure(source, &o, FG_EFORMAT,
                   "none of 2 samples can be read as an image, so no codec can be chosen: a.jpg: ");
    expect_failure("/nowhere", &jpeg, FG_ENOTFOUND, "/nowhere");
}

/* Of 1 x 1100 pixels: enlarged, it is longer than a JPEG can be. */
static void an_image_that_is_too_long_for_a_jpeg_is_named(void **state)
{
    unsigned char pixels[3 * 1100] = {0};
    const fg_image image = {.pixels = pixels, .width = 1, .height = 1100, .channels = 3};
    fg_image_bytes png = {0};
    fg_pack_build_options o = jpeg;
    const char *source = fgt_temp_folder();
    fgt_ok(fg_image_encode_png(&image, NULL, &png, &err));
    fgt_write(fgt_path(source, "tall.png"), png.data, png.size);
    fg_image_bytes_fini(&png);
    fgt_ok(fgi_pack_build_set(&o, "presize", "short=64,upscale", &err));
    expect_failure(source, &o, FG_EUNSUPPORTED,
                   "tall.png: the image would be stored with 64x70400 pixels, but codec jpeg is "
                   "limited to 65500 per side: set presize, such as square=256 or max=1024, or use "
                   "codec raw");
}

static void a_source_of_text_needs_a_sequence(void **state)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "train.txt"), "text", 4);
    expect_failure(folder, &jpeg, FG_ENOTFOUND, "set sequence (--sequence)");
    expect_failure(fgt_path(folder, "train.txt"), &jpeg, FG_EINVAL, "set sequence (--sequence)");
    fgt_write(fgt_path(folder, "a.bin"), "text", 4);
    expect_failure(fgt_path(folder, "a.bin"), &jpeg, FG_EINVAL, "set sequence (--sequence)");
}

static void rows_without_a_file_are_left_out_like_bad_images(void **state)
{
    static const char rows[] = "file;class\na.jpg;cat\nno.jpg;dog\n";
    fg_pack_build_options o = jpeg;
    fg_pack_built built;
    char csv[512];
    const char *folder = fgt_temp_folder();
    photos_put("gray.jpg", folder, "a.jpg");
    (void)snprintf(csv, sizeof(csv), "%s/list.csv", folder);
    fgt_write(csv, rows, sizeof(rows) - 1);
    expect_failure(csv, &o, FG_EFORMAT, "");
    o.catalog =
        &(fg_catalog_options){.delimiter = ';', .path_column = "file", .label_column = "class"};
    expect_failure(csv, &o, FG_ENOTFOUND, "'no.jpg' in '");
    fgt_ok(fgi_pack_build_set(&o, "bad", "skip", &err));
    fgt_ok(fg_pack_build(csv, fgt_path(fgt_temp_folder(), "p.pack"), &o, &built, &err));
    assert_int_equal(built.sample_count, 1);
    assert_int_equal(built.skip_count, 1);
    fg_pack_built_fini(&built);
}

static void a_list_is_read_as_its_options_say(void **state)
{
    static const char rows[] = "file;class;kind\na.jpg;cat;x\nb.jpg;cat;y\nno.jpg;cat;x\n";
    fg_catalog_options catalog = {
        .delimiter = ';', .path_column = "file", .label_column = "kind", .skip_missing = true};
    fg_pack_build_options o = jpeg;
    char csv[512];
    const char *folder = fgt_temp_folder();
    photos_put("gray.jpg", folder, "a.jpg");
    photos_put("gray.jpg", folder, "b.jpg");
    (void)snprintf(csv, sizeof(csv), "%s/list.csv", folder);
    fgt_write(csv, rows, sizeof(rows) - 1);
    o.catalog = &catalog;
    for (int is_class = 0; is_class < 2; is_class++) {
        catalog.label_column = is_class ? "class" : "kind";
        fg_pack *pack = open_pack(csv, &o);
        json_t *root = metadata_of(pack);
        assert_int_equal(fg_pack_count(pack), 2);
        assert_int_equal(number_at(root, "skipped", NULL), 1);
        assert_int_equal(number_at(root, "bad", NULL), 0);
        assert_int_equal(fg_pack_info_of(pack)->class_count, 2 - is_class);
        assert_string_equal(fg_pack_class_name(pack, 0), is_class ? "cat" : "x");
        json_decref(root);
        fg_pack_close(pack);
    }
}

/* Removes images 60 to 169 but for one while they are packed, as a disk does that fails. */
typedef struct vanishing {
    const char *source;
    int kept;     /* -1: none */
    bool is_text; /* the one that is kept becomes a text */
} vanishing;

static void name_image(int i, char out[16]) { (void)snprintf(out, 16, "%03d.jpg", i); }

static bool remove_some(void *self, const fg_pack_progress *progress)
{
    const vanishing *v = self;
    for (int i = 60; i < 170 && progress->done == 1; i++) {
        char name[16];
        name_image(i, name);
        if (i != v->kept || v->is_text)
            assert_int_equal(unlink(fgt_path(v->source, name)), 0);
        if (i == v->kept && v->is_text)
            fgt_write(fgt_path(v->source, name), "text", 4);
    }
    return true;
}

/* A folder with 170 images. */
static const char *make_grays(void)
{
    const char *folder = fgt_temp_folder();
    for (int i = 0; i < 170; i++) {
        char name[16];
        name_image(i, name);
        photos_put("gray.jpg", folder, name);
    }
    return folder;
}

/* Single missing images are skipped, but not a disk that is gone. */
static void many_missing_images_in_a_row_are_an_error(void **state)
{
    const fg_pack_build_options o = {
        .codec = FG_PACK_CHOICE_FILE, .thread_count = 1, .skip_bad = true, .progress_s = FG_ZERO};
    for (int kept = 115; kept >= -1; kept -= 116) {
        fg_pack_built built;
        vanishing v = {.source = make_grays(), .kept = kept};
        const fg_status status = fg_pack_build(v.source, fgt_path(fgt_temp_folder(), "p.pack"),
                                               photos_reported(&o, remove_some, &v), &built, &err);
        if (kept < 0) {
            assert_int_equal(status, FG_ENOTFOUND);
            assert_non_null(
                strstr(err.message, "\n64 samples in a row cannot be read: is the disk"));
            continue;
        }
        fgt_ok(status);
        assert_int_equal(built.sample_count, 61);
        assert_int_equal(built.bad_count, 109);
        fg_pack_built_fini(&built);
        v.source = make_grays();
        fgt_ok(fg_pack_check_source(v.source, photos_reported(&o, remove_some, &v), &built, &err));
        assert_int_equal(built.sample_count, 61);
        assert_int_equal(built.bad_count, 109);
        fg_pack_built_fini(&built);
    }
}

/* A file that is there but no image ends a row of missing ones, too: 55 before it, 54 after it. */
static void a_bad_image_ends_a_row_of_missing_ones(void **state)
{
    const fg_pack_build_options o = {
        .codec = FG_PACK_CHOICE_FILE, .thread_count = 1, .skip_bad = true, .progress_s = FG_ZERO};
    fg_pack_built built;
    vanishing v = {.source = make_grays(), .kept = 115, .is_text = true};
    fgt_ok(fg_pack_build(v.source, fgt_path(fgt_temp_folder(), "p.pack"),
                         photos_reported(&o, remove_some, &v), &built, &err));
    assert_int_equal(built.sample_count, 60);
    assert_int_equal(built.bad_count, 110);
    fg_pack_built_fini(&built);
}

/* ---- names and links ------------------------------------------------------------------------- */

static void names_may_have_any_bytes(void **state)
{
    static const char *const names[] = {"cat/a b.jpg", "cat/b\nc.jpg", "cat/c\xff.jpg",
                                        "cat/d\xc3\xa9.jpg"};
    char source[512];
    (void)snprintf(source, sizeof(source), "%s//", photos_make());
    for (size_t i = 0; i < 4; i++)
        photos_put("gray.jpg", fgt_path(source, "cat"), names[i] + 4);
    assert_int_equal(symlink("..", fgt_path(source, "cat/loop")), 0);
    fg_pack *pack = open_pack(source, &jpeg);
    assert_int_equal(fg_pack_count(pack), 12);
    for (size_t i = 0; i < 4; i++)
        (void)photos_find(pack, names[i]);
    assert_string_equal(fg_pack_class_name(pack, 1), "dog");
    json_t *root = metadata_of(pack);
    source[strlen(source) - 2] = '\0';
    assert_string_equal(json_string_value(json_object_get(json_object_get(root, "source"), "name")),
                        strrchr(source, '/') + 1);
    json_decref(root);
    fg_pack_close(pack);
}

/* ---- splits, limits, labels ------------------------------------------------------------------ */

/* 40 rows, two for each of 20 groups. */
static const char *make_list(void)
{
    static char path[512];
    char text[4096] = "path,name,label,group\n";
    const char *folder = fgt_temp_folder();
    photos_put("gray.jpg", folder, "a.jpg");
    for (int i = 0; i < 40; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "a.jpg,n%d,%d,g%d\n", i,
                       i % 4, i / 2);
    (void)snprintf(path, sizeof(path), "%s/list.csv", folder);
    fgt_write(path, text, strlen(text));
    return path;
}

static void splits_keep_groups_together(void **state)
{
    fg_pack_build_options o = jpeg;
    fg_pack_entry a, b;
    int count[3] = {0};
    fgt_ok(fgi_pack_build_set(&o, "split", "val=0.2,test=0.1", &err));
    fg_pack *pack = open_pack(make_list(), &o);
    json_t *root = metadata_of(pack);
    for (int64_t i = 0; i < 40; i += 2) {
        fgt_ok(fg_pack_entry_at(pack, i, &a, &err));
        fgt_ok(fg_pack_entry_at(pack, i + 1, &b, &err));
        assert_int_equal(a.group, b.group);
        assert_int_equal(a.split, b.split);
        assert_in_range(a.split, 0, 2);
        count[a.split] += 2;
    }
    assert_int_equal(count[1], 8);
    assert_int_equal(count[2], 4);
    assert_int_equal(number_at(root, "splits", "train"), 28);
    assert_int_equal(number_at(root, "splits", "val"), 8);
    const json_t *classes = json_object_get(json_object_get(root, "class_counts"), "train");
    assert_int_equal(json_array_size(classes), 4);
    assert_string_equal(fg_pack_class_name(pack, 3), "3");
    json_decref(root);
    fg_pack_close(pack);
}

static void a_limit_packs_evenly_spaced_samples(void **state)
{
    fg_pack_build_options o = jpeg;
    fg_pack_entry entry;
    o.limit = 4;
    fg_pack *pack = open_pack(make_list(), &o);
    assert_int_equal(fg_pack_count(pack), 4);
    for (int64_t i = 0; i < 4; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n%d", (int)(10 * i));
        fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
        assert_string_equal(entry.name, name);
        assert_int_equal(entry.label, 10 * i % 4);
    }
    fg_pack_close(pack);
}

/* If a sample has two labels, all have a list; otherwise none has. */
static void lists_of_labels(void **state)
{
    static const char *const rows[] = {
        "{\"path\":\"a.jpg\",\"labels\":[\"x\"]}\n{\"path\":\"b.jpg\",\"labels\":[\"y\"]}\n",
        "{\"path\":\"a.jpg\",\"labels\":[\"x\"]}\n{\"path\":\"b.jpg\",\"labels\":[\"y\",\"x\"]}\n"};
    const char *folder = fgt_temp_folder();
    photos_put("gray.jpg", folder, "a.jpg");
    photos_put("gray.jpg", folder, "b.jpg");
    for (uint32_t two = 0; two < 2; two++) {
        fg_pack_entry entry;
        const char *list = fgt_path(folder, "list.jsonl");
        fgt_write(list, rows[two], strlen(rows[two]));
        fg_pack *pack = open_pack(list, &jpeg);
        fgt_ok(fg_pack_entry_at(pack, 0, &entry, &err));
        assert_int_equal(entry.label_count, two);
        assert_int_equal(entry.label, 0);
        fgt_ok(fg_pack_entry_at(pack, 1, &entry, &err));
        assert_int_equal(entry.label_count, 2 * two);
        if (two == 1)
            assert_true(entry.labels[0] == 1 && entry.labels[1] == 0);
        fg_pack_close(pack);
    }
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* Mean and deviation of pixels that are decoded here, each image with the same weight. */
static void the_metadata_has_mean_and_deviation(void **state)
{
    static const char *const files[] = {"baseline.jpg", "gray.jpg"};
    char source[512];
    double mean[3] = {0}, square[3] = {0};
    fg_image_decoder *decoder;
    (void)snprintf(source, sizeof(source), "%s", fgt_temp_folder());
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    for (size_t i = 0; i < 2; i++) {
        fg_image image = {0};
        fgt_file file = fgt_file_read(files[i]);
        photos_put(files[i], source, files[i]);
        fgt_ok(fgt_decode(decoder, &file, NULL, &image, &err));
        const size_t count = (size_t)(image.width * image.height);
        for (size_t k = 0; k < 3 * count; k++) {
            const double value = image.pixels[k] / 255.0;
            mean[k % 3] += value / (double)count / 2;
            square[k % 3] += value * value / (double)count / 2;
        }
        fg_image_fini(&image);
        fgt_file_free(&file);
    }
    fg_image_decoder_destroy(decoder);
    fgt_write(fgt_path(source, "bad.jpg"), "text", 4);
    fg_pack_build_options o = jpeg;
    o.skip_bad = true;
    fg_pack *pack = open_pack(source, &o);
    json_t *root = metadata_of(pack);
    for (size_t c = 0; c < 3; c++) {
        const double got = json_real_value(json_array_get(json_object_get(root, "mean"), c));
        const double std = json_real_value(json_array_get(json_object_get(root, "std"), c));
        fgt_close("mean", got, mean[c], 1e-6, 0);
        fgt_close("std", std, sqrt(square[c] - mean[c] * mean[c]), 1e-6, 0);
    }
    assert_int_equal(number_at(root, "source", "samples"), 3);
    assert_int_equal(number_at(root, "samples", NULL), 2);
    json_decref(root);
    fg_pack_close(pack);
}

/* ---- variants -------------------------------------------------------------------------------- */

static void variants_differ_and_depend_on_the_seed(void **state)
{
    fg_pack_build_options o = {.codec = FG_PACK_CHOICE_RAW, .variant_count = 3};
    const void *data[3], *other;
    size_t size;
    fg_pack_entry entry;
    const char *source = photos_make();
    fgt_ok(fgi_pack_build_set(&o, "presize", "square=24", &err));
    fg_pack *pack = open_pack(source, &o);
    assert_int_equal(fg_pack_count(pack), 24);
    assert_int_equal(fg_pack_info_of(pack)->variant_count, 3);
    for (int64_t v = 0; v < 3; v++) {
        fgt_ok(fg_pack_record(pack, 3 + v, &data[v], &size, &err));
        assert_int_equal(size, 24 * 24 * 3);
        fgt_ok(fg_pack_entry_at(pack, 3 + v, &entry, &err));
        assert_string_equal(entry.name, "cat/cmyk.jpg");
        assert_int_equal(entry.width, 24); /* also of images that are smaller */
        assert_true(v == 0 || memcmp(data[v], data[v - 1], size) != 0);
    }
    o.seed = 1;
    fg_pack *seeded = open_pack(source, &o);
    fgt_ok(fg_pack_record(seeded, 3, &other, &size, &err));
    assert_memory_not_equal(other, data[0], size);
    fg_pack_close(seeded);
    fg_pack_close(pack);
}

/* ---- options --------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text, *message; /* NULL: correct */
} bad_options[] = {
    {"codec", "jpeg-seg", NULL},
    {"codec", "png",
     "codec: expected one of auto|file|jpeg|jpeg-seg|raw|ycc|dct, got 'png': did you mean 'jpeg'?"},
    {"presize", "short=0",
     "presize: expected 'none' or a rule such as 'short=256', 'max=400', 'square=224' or "
     "'square=224,upscale', with a size of 1 to 65535, got 'short=0'"},
    {"quality", "101", "quality: expected an integer from 1 to 100 (for example 80), got '101'"},
    {"variants", "0", "variants: expected an integer from 1 to 1024 (for example 4), got '0'"},
    {"seed", "-1", "seed: expected an integer, 0 or greater (for example 42), got '-1'"},
    {"workers", "x", "workers: expected an integer from 1 to 1024 (for example 8), got 'x'"},
    {"limit", "0", "limit: expected an integer, 1 or greater (for example 1000), got '0'"},
    {"rate", "nan", "rate: expected a number greater than 0 (for example 500), got 'nan'"},
    {"bad", "ignore", "bad: expected fail or skip, got 'ignore'"},
    {"shard-size", "1.5GiB", NULL},
    {"shard-size", "1XB", "shard-size: expected a size such as 1GB or 256MiB, got '1XB'"},
    {"split", "val=0.1,test=0.1,stratify", NULL},
    {"split", "stratify", "split: expected fractions such as val=0.1,test=0.1, got 'stratify'"},
    {"split", "val=1", "split: expected fractions such as val=0.1,test=0.1, got 'val=1'"},
    {"split", "train=0.5", "split: expected fractions such as val=0.1,test=0.1, got 'train=0.5'"},
    {"seed", "18446744073709551615",
     "seed: expected an integer, 0 or greater (for example 42), got "
     "'18446744073709551615'"},
    {"split", "val=0.1,val=0.2",
     "split: expected fractions such as val=0.1,test=0.1, got 'val=0.1,val=0.2'"},
    {"colour", "1", "'colour' is not an option of fg_pack_build"},
    {"quality", "0", "quality: expected an integer from 1 to 100 (for example 80), got '0'"},
    {"quality", "1", NULL},
    {"quality", "100", NULL},
    {"variants", "1", NULL},
    {"variants", "1024", NULL},
    {"variants", "1025",
     "variants: expected an integer from 1 to 1024 (for example 4), got '1025'"},
    {"workers", "1", NULL},
    {"workers", "0", "workers: expected an integer from 1 to 1024 (for example 8), got '0'"},
    {"workers", "1024", NULL},
    {"workers", "1025", "workers: expected an integer from 1 to 1024 (for example 8), got '1025'"},
    {"seed", "0", NULL},
    {"seed", "9223372036854775807", NULL},
    {"limit", "1", NULL},
    {"limit", "x", "limit: expected an integer, 1 or greater (for example 1000), got 'x'"},
    {"limit", "9223372036854775808",
     "limit: expected an integer, 1 or greater (for example 1000), got "
     "'9223372036854775808'"},
    {"sequence", "1", NULL},
    {"sequence", "0",
     "sequence: expected an integer from 1 to 2147483647 (for example 128), got '0'"},
    {"sequence", "2147483648",
     "sequence: expected an integer from 1 to 2147483647 (for example 128), got '2147483648'"},
    {"sequence", "2147483647", NULL},
    {"rate", "0", "rate: expected a number greater than 0 (for example 500), got '0'"},
    {"rate", "inf",
     "rate: expected a number greater than 0 (for example 500), got 'inf': the largest value is "
     "1e+30"},
    {"rate", "0.5", NULL},
    {"bad", "skip", NULL},
    {"shard-size", "0.9", "shard-size: expected a size such as 1GB or 256MiB, got '0.9'"},
    {"shard-size", "1000000TB",
     "shard-size: expected a size such as 1GB or 256MiB, got '1000000TB'"},
    {"shard-size", "GB", "shard-size: expected a size such as 1GB or 256MiB, got 'GB'"},
};

static const struct {
    const char *text;
    uint64_t bytes;
} shard_sizes[] = {{"1", 1},
                   {"7B", 7},
                   {"2kB", 2000},
                   {"2MB", 2000000},
                   {"2GB", 2000000000},
                   {"2TB", 2000000000000},
                   {"3KiB", 3072},
                   {"3MiB", 3145728},
                   {"3GiB", 3221225472},
                   {"3TiB", 3298534883328},
                   {"999999TB", 999999000000000000},
                   {"1.5GiB", 1610612736}};

static const struct {
    fg_pack_build_options o;
    const char *message; /* NULL: correct */
} option_ranges[] = {
    {{.codec = FG_PACK_CHOICE_DCT}, NULL},
    {{.codec = (fg_pack_choice)7},
     "codec: expected one of auto|file|jpeg|jpeg-seg|raw|ycc|dct, got '7'"},
    {{.quality = 100}, NULL},
    {{.quality = 1}, NULL},
    {{.quality = 101}, "quality: expected an integer from 1 to 100 (for example 80), got '101'"},
    {{.quality = -1}, "quality: expected an integer from 1 to 100 (for example 80), got '-1'"},
    {{.variant_count = 1024, .presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 8}}, NULL},
    {{.variant_count = 1025},
     "variants: expected an integer from 1 to 1024 (for example 4), got '1025'"},
    {{.variant_count = -1},
     "variants: expected an integer from 1 to 1024 (for example 4), got '-1'"},
    {{.variant_count = 2, .presize = {.rule = FG_IMAGE_PRESIZE_SHORT, .size = 8}},
     "2 variants are stored as squares: set their size, such as presize square=224"},
    {{.thread_count = 1024}, NULL},
    {{.thread_count = 1025},
     "workers: expected an integer from 1 to 1024 (for example 8), got '1025'"},
    {{.thread_count = -1}, "workers: expected an integer from 1 to 1024 (for example 8), got '-1'"},
    {{.limit = -1}, "limit: expected an integer, 1 or greater (for example 1000), got '-1'"},
    {{.rate = -1}, "rate: expected a number greater than 0 (for example 500), got '-1'"},
    {{.codec = FG_PACK_CHOICE_FILE}, NULL},
    {{.codec = FG_PACK_CHOICE_FILE, .presize = {.rule = FG_IMAGE_PRESIZE_MAX, .size = 8}},
     "codec file stores files as they are: presize and variants require another codec, such as "
     "jpeg"},
};

/* Of the structure, which the text need not have set. */
static void ranges_and_defaults_of_options(void **state)
{
    fg_pack_build_options out;
    (void)state;
    for (size_t i = 0; i < sizeof option_ranges / sizeof option_ranges[0]; i++) {
        const fg_status status = fgi_packer_options(&option_ranges[i].o, &out, &err);
        assert_int_equal(status, option_ranges[i].message == NULL ? FG_OK : FG_EINVAL);
        if (status != FG_OK)
            assert_string_equal(err.message, option_ranges[i].message);
    }
    for (size_t i = 0; i < sizeof shard_sizes / sizeof shard_sizes[0]; i++) {
        fgt_ok(fgi_pack_build_set(&out, "shard-size", shard_sizes[i].text, &err));
        assert_true(out.shard_bytes == shard_sizes[i].bytes);
    }
    fgt_ok(fgi_packer_options(NULL, &out, &err));
    assert_int_equal(out.codec, FG_PACK_CHOICE_AUTO);
    assert_int_equal(out.quality, 90);
    assert_int_equal(out.variant_count, 1);
    assert_true(out.thread_count >= 1);
    fgt_close("rate", out.rate, 2000, 0, 0);
    fgt_close("seconds", out.progress_s, 0.1, 0, 0);
    assert_true(out.limit == 0 && out.shard_bytes == 0 && out.sequence == 0 && !out.skip_bad);
    fgt_ok(fgi_packer_options(&(fg_pack_build_options){.progress_s = FG_ZERO}, &out, &err));
    fgt_close("seconds", out.progress_s, 0, 0, 0);
}

static void options_are_checked(void **state)
{
    fg_pack_build_options o = {0};
    for (size_t i = 0; i < sizeof(bad_options) / sizeof(bad_options[0]); i++) {
        const fg_status status =
            fgi_pack_build_set(&o, bad_options[i].name, bad_options[i].text, &err);
        assert_int_equal(status, bad_options[i].message == NULL ? FG_OK : FG_EINVAL);
        if (bad_options[i].message == NULL && strcmp(bad_options[i].name, "split") == 0)
            assert_true(o.val_fraction == 0.1 && o.test_fraction == 0.1 && o.stratify);
        if (bad_options[i].message != NULL && strcmp(err.message, bad_options[i].message) != 0)
            fail_msg("expected '%s', got '%s'", bad_options[i].message, err.message);
    }
    assert_int_equal(o.codec, FG_PACK_CHOICE_SEG);
    assert_int_equal(o.quality, 100);
    assert_int_equal(o.variant_count, 1024);
    assert_int_equal(o.thread_count, 1024);
    assert_true(o.seed == INT64_MAX && o.limit == 1 && o.sequence == INT32_MAX && o.skip_bad);
    fgt_ok(fgi_pack_build_set(&o, "bad", "fail", &err));
    assert_false(o.skip_bad);
    fgt_ok(
        fgi_pack_build_set(&o, "split", "test=0.25", &err)); /* nothing is left of the last one */
    assert_true(o.val_fraction == 0 && o.test_fraction == 0.25 && !o.stratify);
    expect_failure("x", &(fg_pack_build_options){.quality = 101}, FG_EINVAL, "quality: expected");
    expect_failure("x", &(fg_pack_build_options){.variant_count = 2}, FG_EINVAL,
                   "2 variants are stored as squares");
    fg_pack_build_options file = {.codec = FG_PACK_CHOICE_FILE};
    fgt_ok(fgi_pack_build_set(&file, "presize", "short=9", &err));
    expect_failure("x", &file, FG_EINVAL, "codec file stores files as they are");
    expect_failure(photos_make(), &(fg_pack_build_options){.codec = FG_PACK_CHOICE_DCT}, FG_EINVAL,
                   "codec dct requires images of equal size\nset presize, such as square=256");
}

static void progress_is_one_line(void **state)
{
    char text[160];
    const fg_pack_progress early = {.done = 12800,
                                    .total = 50000,
                                    .bad = 3,
                                    .size_bytes = 412345678,
                                    .rate = 1830.4,
                                    .remaining_s = 20.3};
    const fg_pack_progress late = {.done = 5, .total = 5, .rate = 2.5, .remaining_s = 0};
    assert_string_equal(fg_pack_progress_text(&early, text, sizeof(text)),
                        "12,800/50,000 images, 1,830/s, 412.3 MB, 20 s left, 3 bad");
    assert_string_equal(fg_pack_progress_text(&late, text, sizeof(text)), "5/5 images, 2.5/s, 0 B");
    static const struct {
        double remaining_s;
        const char *text;
    } times[] = {{0, ", 0 s left"},
                 {0.4, ", 0 s left"},
                 {99.4, ", 99 s left"},
                 {99.5, ", 1 min 40 s left"},
                 {3599.4, ", 59 min 59 s left"},
                 {3599.5, ", 1 h 0 min left"},
                 {36059, ", 10 h 0 min left"}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        fg_pack_progress some = early;
        some.remaining_s = times[i].remaining_s;
        assert_non_null(strstr(fg_pack_progress_text(&some, text, sizeof(text)), times[i].text));
    }

    FILE *log = tmpfile(); /* no terminal: lines, and none at the end */
    assert_non_null(log);
    for (int i = 0; i < 2; i++)
        assert_true(fg_pack_progress_draw(log, &early));
    assert_true(fg_pack_progress_draw(log, &late));
    rewind(log);
    const size_t size = fread(text, 1, sizeof(text) - 1, log);
    text[size] = '\0';
    assert_int_equal(fclose(log), 0);
    assert_string_equal(text, "12,800/50,000 images, 1,830/s, 412.3 MB, 20 s left, 3 bad\n"
                              "12,800/50,000 images, 1,830/s, 412.3 MB, 20 s left, 3 bad\n");
}

static bool report(void *self, const fg_pack_progress *progress)
{
    *(fg_pack_progress *)self = *progress;
    return progress->bad == 0;
}

/* The last sample is always reported; the rate is that of this build. */
static void a_meter_reports_now_and_then(void **state)
{
    fg_pack_progress seen = {.done = -1};
    fgi_packer_meter m = {.progress = report, .self = &seen, .unit = "files", .every_s = 1e9};
    (void)state;
    fgi_packer_meter_start(&m, 2, 6);
    m.begin_ns -= 10000000000;
    assert_true(fgi_packer_meter_report(&m, 5, 0, 7));
    assert_int_equal(seen.done, -1);
    assert_true(fgi_packer_meter_report(&m, 6, 0, 7));
    assert_true(seen.done == 6 && seen.total == 6 && seen.size_bytes == 7);
    assert_string_equal(seen.unit, "files");
    assert_true(seen.elapsed_s >= 10 && seen.rate > 0 && seen.rate <= 0.4);
    fgt_close("remaining", seen.remaining_s, 0, 0, 0);
    m.every_s = 0;
    assert_true(fgi_packer_meter_report(&m, 4, 0, 7)); /* as long again: half is left */
    fgt_close("remaining", seen.remaining_s, seen.elapsed_s, 0, 1e-9);
    assert_true(fgi_packer_meter_report(&m, 2, 0, 7)); /* nothing was done yet */
    fgt_close("rate", seen.rate, 0, 0, 0);
    fgt_close("remaining", seen.remaining_s, -1, 0, 0);
    assert_false(fgi_packer_meter_report(&m, 6, 1, 7)); /* as the function says */
    m.progress = NULL;
    assert_true(fgi_packer_meter_report(&m, 6, 1, 7));
}

static void numbers_are_short(void **state)
{
    static const struct {
        double value;
        const char *count;
    } cases[] = {{0, "0"},
                 {2.5, "2.5"},
                 {9.94, "9.9"},
                 {9.96, "10"},
                 {10.5, "10"},
                 {999.4, "999"},
                 {999.5, "1,000"},
                 {999.4e3, "999,400"},
                 {1234567, "1,234,567"},
                 {2e15, "1,000,000,000,000,000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(fgi_count_words(cases[i].value), cases[i].count);
}

static const struct {
    fg_pack_built built;
    const char *text;
} results[] = {
    {{.sample_count = 2}, ""},
    {{.bad_count = 1, .skip_count = 2},
     "1 bad image and 2 other files are not in the pack: see p.pack.bad.jsonl\n"},
    {{.bad_count = 2},
     "2 bad images and 0 other files are not in the pack: see p.pack.bad.jsonl\n"},
    {{.skip_count = 1},
     "0 bad images and 1 other file are not in the pack: see p.pack.bad.jsonl\n"},
    {{.flawed_count = 1, .codec = FG_PACK_CHOICE_RAW, .reason = "why"},
     "1 image was decoded with warnings\ncodec raw: why\n"},
    {{.flawed_count = 2}, "2 images were decoded with warnings\n"},
    {{.encoded_count = 1, .sample_count = 1, .codec = FG_PACK_CHOICE_JPEG},
     "1 of 1 image was encoded with the quality of the pack: codec jpeg keeps only JPEGs that "
     "are not resized, rotated by EXIF or CMYK\n"},
    {{.encoded_count = 1, .sample_count = 2, .codec = FG_PACK_CHOICE_SEG},
     "1 of 2 images was encoded with the quality of the pack: codec jpeg-seg keeps only JPEGs that "
     "are not resized, rotated by EXIF or CMYK\n"},
    {{.encoded_count = 2, .sample_count = 3, .codec = FG_PACK_CHOICE_DCT, .is_set = true},
     "2 of 3 images were encoded with the quality of the pack: codec dct keeps only JPEGs that "
     "are not resized, rotated by EXIF or CMYK, and have the chroma sampling of the pack "
     "(4:2:0, unless all images share a different one)\np.pack is a set of files: "
     "p-00000.pack and so on\n"},
};

static void results_are_reported(void **state)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        char text[1024];
        assert_string_equal(fgi_pack_built_text(&results[i].built, "p.pack", text, sizeof text),
                            results[i].text);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static fg_status build(void *self, fg_error *error)
{
    const fg_pack_build_options o = {.codec = FG_PACK_CHOICE_SEG,
                                     .thread_count = 1,
                                     .val_fraction = 0.5,
                                     .skip_bad = true,
                                     .restart = true,
                                     .replace = true};
    const char *const *paths = self;
    fg_pack_built built;
    const fg_status status = fg_pack_build(paths[0], paths[1], &o, &built, error);
    fg_pack_built_fini(&built);
    return status;
}

static void allocations_may_fail(void **state)
{
    char source[512], path[512];
    (void)snprintf(source, sizeof(source), "%s/s", fgt_temp_folder());
    (void)snprintf(path, sizeof(path), "%s/p.pack", fgt_temp_folder());
    photos_put("gray.jpg", source, "a.jpg");
    photos_put("rgba.png", source, "b.png");
    fgt_write(fgt_path(source, "c.jpg"), "text", 4);
    const char *paths[] = {source, path};
    fgt_fault_loop(build, paths);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_meter_reports_now_and_then),
    cmocka_unit_test(numbers_are_short),
    cmocka_unit_test(results_are_reported),
    cmocka_unit_test(a_bad_image_is_an_error_by_default),
    cmocka_unit_test(bad_images_are_left_out_and_listed),
    cmocka_unit_test(a_source_without_good_images_is_an_error),
    cmocka_unit_test(an_image_that_is_too_long_for_a_jpeg_is_named),
    cmocka_unit_test(a_source_of_text_needs_a_sequence),
    cmocka_unit_test(rows_without_a_file_are_left_out_like_bad_images),
    cmocka_unit_test(a_list_is_read_as_its_options_say),
    cmocka_unit_test(many_missing_images_in_a_row_are_an_error),
    cmocka_unit_test(a_bad_image_ends_a_row_of_missing_ones),
    cmocka_unit_test(names_may_have_any_bytes),
    cmocka_unit_test(splits_keep_groups_together),
    cmocka_unit_test(a_limit_packs_evenly_spaced_samples),
    cmocka_unit_test(lists_of_labels),
    cmocka_unit_test(the_metadata_has_mean_and_deviation),
    cmocka_unit_test(variants_differ_and_depend_on_the_seed),
    cmocka_unit_test(options_are_checked),
    cmocka_unit_test(ranges_and_defaults_of_options),
    cmocka_unit_test(progress_is_one_line),
    cmocka_unit_test(allocations_may_fail),
};
FGT_MAIN(tests)
