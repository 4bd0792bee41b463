/* test_packer_choose.c - the automatic codec: how fast the loader reads each, how large the pack
 * will be, and whether it fits in memory and on the disk; also of builds that are resumed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
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

/* An fg_pack_measure_fn that opens the small pack: how fast it is depends on its codec only. */
static fg_status measure_known(void *self, const char *path, double *out_rate, fg_error *e)
{
    static const double rates[] = {[FG_PACK_JPEG] = 100,
                                   [FG_PACK_JPEG_SEG] = 200,
                                   [FG_PACK_DCT] = 400,
                                   [FG_PACK_RAW_RGB] = 300};
    fg_pack *pack = NULL;
    fg_pack_entry entry;
    int *calls = self;
    fgt_ok(fg_pack_open(path, NULL, &pack, e));
    const int64_t samples = fg_pack_count(pack) / fg_pack_info_of(pack)->variant_count;
    assert_true(samples == 8 || samples == 64); /* all, or the most that are tried */
    fgt_ok(fg_pack_entry_at(pack, 0, &entry, e));
    *out_rate = rates[entry.codec];
    (*calls)++;
    fg_pack_close(pack);
    return FG_OK;
}

/* An fg_pack_measure_fn that counts the records of the small pack. */
static fg_status count_records(void *self, const char *path, double *out_rate, fg_error *e)
{
    fg_pack *pack = NULL;
    fgt_ok(fg_pack_open(path, NULL, &pack, e));
    *(int64_t *)self = fg_pack_count(pack);
    fg_pack_close(pack);
    *out_rate = 1;
    return FG_OK;
}

static fg_status measure_at_once(void *self, const char *path, double *out_rate, fg_error *e)
{
    *out_rate = 1;
    return FG_OK;
}

/* The first codec that is fast enough is chosen, in the order jpeg, jpeg-seg, dct, raw; the next
 * ones are not measured. */
static const struct {
    const char *presize;
    int64_t variants;
    double rate;
    uint64_t space_bytes;
    bool host_crops;
    fg_pack_choice codec;
    int measured; /* codecs */
    const char *reason;
} choices[] = {
    {"none", 1, 100, 0, false, FG_PACK_CHOICE_JPEG, 1, "the model needs 100 images/s, and "},
    {"none", 1, 99, 0, false, FG_PACK_CHOICE_JPEG, 1, " read about 100/s from jpeg (measured); "},
    {"none", 1, 101, 0, false, FG_PACK_CHOICE_SEG, 2,
     "read about 200/s from jpeg-seg, and 100/s from jpeg (measured); "},
    {"none", 1, 201, 10000, false, FG_PACK_CHOICE_SEG, 2,
     "10.0 kB are free; this is too slow: images of equal size (for example, with presize "
     "square=256,upscale) could be stored with codec dct, which is usually faster"},
    {"none", 1, 201, 10000, true, FG_PACK_CHOICE_SEG, 2,
     "10.0 kB are free; this is too slow, and no codec that fits is faster: store smaller images "
     "(presize), or use more CPUs"},
    {"none", 1, 201, 0, false, FG_PACK_CHOICE_RAW, 3, "300/s from raw, and 100/s from jpeg"},
    {"square=64,upscale", 1, 400, 0, false, FG_PACK_CHOICE_DCT, 3, "about 400/s from dct"},
    {"square=64,upscale", 1, 401, 0, false, FG_PACK_CHOICE_DCT, 4, "this is too slow, and no"},
    {"square=64,upscale", 1, 300, 0, true, FG_PACK_CHOICE_RAW, 3,
     " are free; codec dct is not considered because the host crops or flips the images "
     "(data.augment does this on the device)"},
    {"square=64,upscale", 1, 300, 0, false, FG_PACK_CHOICE_DCT, 3, " are free"},
    {"square=64,upscale", 1, 400, 50000, false, FG_PACK_CHOICE_DCT, 3, "50.0 kB are free"},
    {"square=64,upscale", 1, 400, 50000, true, FG_PACK_CHOICE_SEG, 2,
     "50.0 kB are free; this is too slow: codec dct is not considered because the host crops or "
     "flips "
     "the images (data.augment does this on the device)"},
    /* sizes: of JPEGs that keep theirs, of those that are encoded, and of all variants */
    {"square=64,upscale", 1, 1, 0, false, FG_PACK_CHOICE_JPEG, 1, " needs about 12.3 kB, "},
    {"square=64,upscale", 4, 1, 0, false, FG_PACK_CHOICE_JPEG, 1, " needs about 49.2 kB, "},
    {"square=64,upscale", 4, 400, 50000, false, FG_PACK_CHOICE_SEG, 2, "this is too slow"},
};

static void the_codec_depends_on_rate_sizes_and_space(void **state)
{
    const char *source = photos_make();
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        int calls = 0;
        fg_pack_build_options o = {.rate = choices[i].rate,
                                   .space_bytes = choices[i].space_bytes,
                                   .host_crops = choices[i].host_crops,
                                   .variant_count = choices[i].variants,
                                   .measure = measure_known,
                                   .measure_self = &calls};
        fg_pack_built built;
        const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "p.pack");
        fgt_ok(fgi_pack_build_set(&o, "presize", choices[i].presize, &err));
        fgt_ok(fg_pack_build(source, path, &o, &built, &err));
        const char *reason = strstr(built.reason, choices[i].reason);
        if (built.codec != choices[i].codec || reason == NULL ||
            (strstr(choices[i].reason, " free") != NULL && strcmp(reason, choices[i].reason) != 0))
            fail_msg("row %zu: codec %d, %s", i, (int)built.codec, built.reason);
        assert_int_equal(calls, choices[i].measured);
        assert_int_equal(fgt_count_entries(folder), 1); /* no small pack remains */
        fg_pack_built_fini(&built);
    }
}

static const struct {
    const char *presize;
    int variants;
    double pixels; /* 0: the files */
} estimates[] = {{"none", 1, 0},        {"short=23", 1, 0},
                 {"max=37", 1, 0},      {"short=22", 1, 770},
                 {"square=23", 1, 529}, {"square=32,upscale", 1, 1024},
                 {"square=32", 1, 529}, {"square=32,upscale", 3, 3072}};

/* Of JPEGs that keep their size, that of the files; else by the pixels, also if only the width or
 * the height changes, and of all variants. */
static void the_size_of_a_pack_is_estimated(void **state)
{
    const char *source = fgt_temp_folder();
    size_t size;
    photos_put("baseline.jpg", source, "a.jpg");
    photos_put("baseline.jpg", source, "b.jpg");
    free(photos_read(fgt_path(source, "a.jpg"), &size));
    for (size_t i = 0; i < sizeof estimates / sizeof *estimates; i++) {
        char expected[64];
        fg_pack_built built;
        fg_pack_build_options o = {
            .rate = 1, .variant_count = estimates[i].variants, .measure = measure_at_once};
        fgt_ok(fgi_pack_build_set(&o, "presize", estimates[i].presize, &err));
        fgt_ok(fg_pack_build(source, fgt_path(fgt_temp_folder(), "p.pack"), &o, &built, &err));
        const double one = estimates[i].pixels > 0 ? 0.375 * estimates[i].pixels : (double)size;
        (void)snprintf(expected, sizeof expected, "; the pack needs about %s, and ",
                       fgi_bytes_words(2 * one));
        if (strstr(built.reason, expected) == NULL)
            fail_msg("row %zu: expected '%s', got '%s'", i, expected, built.reason);
        fg_pack_built_fini(&built);
    }
}

/* Without a function, the loader reads random crops of the small pack: of any codec, and of stored
 * augmentations. */
static void the_loader_measures_each_codec(void **state)
{
    const char *source = photos_make(), *unlabeled = fgt_path(fgt_temp_folder(), "unlabeled");
    photos_put("rgba.png", unlabeled, "a.png"); /* without a class */
    for (int variants = 1; variants <= 2; variants++) {
        fg_pack_build_options o = {.rate = 1e12, .variant_count = variants};
        fg_pack_built built;
        fgt_ok(fgi_pack_build_set(&o, "presize", "square=32,upscale", &err));
        fgt_ok(fg_pack_build(variants == 1 ? source : unlabeled,
                             fgt_path(fgt_temp_folder(), "p.pack"), &o, &built, &err));
        assert_non_null(strstr(built.reason, "/s from jpeg"));
        assert_null(strstr(built.reason, " 0/s from "));
        fg_pack_built_fini(&built);
    }
}

/* An fg_pack_measure_fn that fails, with this status, for codec dct. */
static fg_status cannot_measure(void *self, const char *path, double *out_rate, fg_error *e)
{
    int calls = 0;
    fgt_ok(measure_known(&calls, path, out_rate, e));
    if (*out_rate != 400)
        return FG_OK;
    (void)snprintf(e->message, sizeof(e->message), "no such model");
    return e->status = *(const fg_status *)self;
}

static fg_status never_measure(void *self, const char *path, double *out_rate, fg_error *e)
{
    (void)snprintf(e->message, sizeof(e->message), "no such model");
    return e->status = FG_EINVAL;
}

/* FG_EINVAL: training cannot read images of codec dct, so it is not considered. */
static void a_rate_that_cannot_be_measured_is_an_error(void **state)
{
    const char *source = photos_make(), *folder = fgt_temp_folder();
    const char *path = fgt_path(folder, "p.pack");
    fg_status status = FG_EUNSUPPORTED;
    fg_pack_built built;
    fg_pack_build_options o = {.rate = 250, .measure = cannot_measure, .measure_self = &status};
    fgt_ok(fgi_pack_build_set(&o, "presize", "square=64,upscale", &err));
    if (fg_pack_build(source, path, &o, NULL, &err) != FG_EUNSUPPORTED)
        fail_msg("%s", err.message);
    assert_string_equal(err.message, "measuring the speed of codec dct: no such model");
    assert_int_equal(fgt_count_entries(folder), 0);
    status = FG_EINVAL;
    fgt_ok(fg_pack_build(source, path, &o, &built, &err));
    assert_int_equal(built.codec, FG_PACK_CHOICE_RAW);
    fg_pack_built_fini(&built);
    o.measure = never_measure; /* of no codec */
    o.replace = true;
    assert_int_equal(fg_pack_build(source, path, &o, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "measuring the speed of codec jpeg: no such model");
}

/* The small packs leave damaged images out; then the build itself fails, or lists them. */
static void a_damaged_image_is_reported_as_with_a_given_codec(void **state)
{
    const char *source = photos_make(), *folder = fgt_temp_folder();
    const char *path = fgt_path(folder, "p.pack");
    int calls = 0;
    fg_pack_built built;
    fg_pack_build_options o = {.rate = 1, .measure = measure_known, .measure_self = &calls};
    fgt_write(fgt_path(source, "cat/damaged.jpg"), "\xff\xd8\xff", 3);
    assert_int_not_equal(fg_pack_build(source, path, &o, NULL, &err), FG_OK);
    assert_true(strncmp(err.message, "cat/damaged.jpg: ", 17) == 0);
    o.skip_bad = true;
    fgt_ok(fg_pack_build(source, path, &o, &built, &err));
    assert_int_equal(built.bad_count, 1);
    assert_int_equal(fgt_count_entries(folder), 2); /* and the list of the damaged one */
    fg_pack_built_fini(&built);
}

/* Of a folder with the name of that of the small packs, only these are removed. */
static void a_folder_of_the_user_stays(void **state)
{
    const char *source = photos_make(), *folder = fgt_temp_folder();
    int calls = 0;
    const fg_pack_build_options o = {
        .rate = 1, .measure = measure_known, .measure_self = &calls, .replace = true};
    const char *path = fgt_path(folder, "p.pack"), *trial = fgt_path(folder, "p.pack.trial");
    assert_int_equal(mkdir(trial, 0700), 0);
    fgt_write(fgt_path(trial, "trial.pack.partial"), "of a killed one", 15);
    fgt_write(fgt_path(trial, "trial.pack"), "of a killed one", 15);
    fgt_write(fgt_path(trial, "trial.pack.partial.jsonl"), "of a killed one", 15);
    fgt_write(fgt_path(trial, "trial.pack.bad.jsonl"), "of a killed one", 15);
    fgt_ok(fg_pack_build(source, path, &o, NULL, &err));
    assert_int_equal(fgt_count_entries(folder), 1);
    assert_int_equal(mkdir(trial, 0700), 0);
    fgt_write(fgt_path(trial, "mine"), "", 0);
    fgt_ok(fg_pack_build(source, path, &o, NULL, &err));
    assert_int_equal(fgt_count_entries(trial), 1);
}

/* Raw pixels are only chosen if they fit in memory: they are read again in every epoch. */
static void a_pack_larger_than_memory_has_another_codec(void **state)
{
    char reason[480];
    int calls = 0;
    fgi_packer_plan plan = {.count = 8};
    fg_catalog *catalog = NULL;
    const char *out = fgt_path(fgt_temp_folder(), "p.pack");
    const fg_pack_build_options o = {.rate = 1e9,
                                     .space_bytes = UINT64_MAX / 4,
                                     .host_crops = true,
                                     .variant_count = 1,
                                     .thread_count = 1,
                                     .quality = 90,
                                     .measure = measure_known,
                                     .measure_self = &calls};
    fgt_ok(fg_catalog_open(photos_make(), NULL, &catalog, &err));
    plan.o = o;
    plan.catalog = catalog;
    fgt_ok(fgi_packer_choose(&plan, out, reason, &err));
    assert_int_equal(plan.o.codec, FG_PACK_CHOICE_RAW);
    plan.o = o;
    plan.o.presize =
        (fg_image_presize){.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 8, .upscale = true};
    plan.count = INT64_C(1) << 40; /* 200 TB, of images that are read again and again */
    fgt_ok(fgi_packer_choose(&plan, out, reason, &err));
    assert_int_equal(plan.o.codec, FG_PACK_CHOICE_SEG);
    fg_catalog_close(catalog);
}

/* 70 links to two images in turn, and the bytes of each. */
static const char *make_links(size_t sizes[2])
{
    static const char *const images[] = {"baseline.jpg", "rgb16.png"};
    const char *source = fgt_temp_folder();
    for (int i = 0; i < 70; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%02d.jpg", i);
        photos_put(images[i % 2], source, name);
        free(photos_read(fgt_path(source, name), &sizes[i % 2]));
    }
    return source;
}

/* Variants of whole images, at least 64; of JPEGs also if their pack does not fit. */
static void the_small_pack_has_all_variants_of_an_image(void **state)
{
    static const int64_t counts[][2] = {{1, 64}, {3, 66}, {8, 64}};
    char reason[480];
    size_t sizes[2];
    fg_catalog *catalog = NULL;
    fgt_ok(fg_catalog_open(make_links(sizes), NULL, &catalog, &err));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        int64_t count = 0;
        fgi_packer_plan plan = {
            .count = 70,
            .catalog = catalog,
            .o = {.rate = 1,
                  .space_bytes = 1,
                  .variant_count = counts[i][0],
                  .thread_count = 1,
                  .quality = 90,
                  .presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 8, .upscale = true},
                  .measure = count_records,
                  .measure_self = &count}};
        fgt_ok(fgi_packer_choose(&plan, fgt_path(fgt_temp_folder(), "p.pack"), reason, &err));
        assert_int_equal(count, counts[i][1]);
        assert_int_equal(plan.o.codec, FG_PACK_CHOICE_JPEG);
    }
    fg_catalog_close(catalog);
}

static void a_pack_that_will_not_fit_is_an_error_before_it_is_written(void **state)
{
    size_t sizes[2];
    fg_pack_build_options o = jpeg;
    const char *source = make_links(sizes);
    o.space_bytes = 1000;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "p.pack");
    expect_failure(source, &o, FG_EIO, "70 samples need about ");
    assert_int_equal(fg_pack_build(source, path, &o, NULL, &err), FG_EIO);
    assert_int_equal(fgt_count_entries(folder), 0); /* so other options can be tried */
    expect_failure(source, &o, FG_EIO, "70 samples need about ");
    assert_non_null(strstr(err.message, "but only 1.0 kB are free for '"));
    assert_non_null(strstr(err.message, "p.pack': free some space, or choose a smaller presize, "
                                        "quality or number of variants"));
    o.limit = 64;
    expect_failure(source, &o, FG_EIO, "64 samples need about ");
    o.limit = 63; /* too few for an estimate */
    fg_pack_built built;
    fgt_ok(fg_pack_build(source, path, &o, &built, &err));
    int64_t others = 0; /* which are not JPEGs */
    for (int64_t i = 0; i < 63; i++)
        others += i * 70 / 63 % 2;
    assert_int_equal(built.encoded_count, others);
    assert_int_equal(built.sample_count, 63);
    fg_pack_built_fini(&built);
}

/* The size is estimated from 16 samples: a pack is only refused if it is larger than the free space
 * even by the mean minus two standard errors, here of one half of the difference. */
static void the_estimate_of_the_size_has_a_margin(void **state)
{
    size_t sizes[2];
    fg_pack_build_options o = {.codec = FG_PACK_CHOICE_FILE, .thread_count = 2};
    const char *source = make_links(sizes);
    const double mean = (double)(sizes[0] + sizes[1]) / 2;
    const double half = fabs((double)sizes[0] - (double)sizes[1]) / 2;
    assert_true(half > 100);
    o.space_bytes = (uint64_t)(70 * (mean - half * (2 / sqrt(15) + 0.01)));
    expect_failure(source, &o, FG_EIO, "70 samples need about ");
    o.space_bytes = (uint64_t)(70 * (mean - half * (2 / sqrt(15) - 0.01)));
    fgt_ok(fg_pack_build(source, fgt_path(fgt_temp_folder(), "p.pack"), &o, NULL, &err));
}

static bool stop_at(void *self, const fg_pack_progress *progress)
{
    return progress->done < *(const int64_t *)self;
}

/* Only what remains must fit; little is not estimated. */
static void the_space_of_a_resumed_build_is_that_of_the_rest(void **state)
{
    fg_pack_build_options o = {
        .codec = FG_PACK_CHOICE_FILE, .thread_count = 2, .progress_s = FG_ZERO};
    const char *source = fgt_temp_folder(), *path;
    size_t size = 0;
    int64_t last = 100;
    for (int i = 0; i < 170; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%03d.jpg", i);
        photos_put("baseline.jpg", source, name);
    }
    free(photos_read(fgt_path(source, "000.jpg"), &size));
    path = fgt_path(fgt_temp_folder(), "p.pack");
    assert_int_equal(fg_pack_build(source, path, photos_reported(&o, stop_at, &last), NULL, &err),
                     FG_ESTOPPED);
    assert_string_equal(err.message, "stopped after 100 of 170 samples: start again to continue");
    o.space_bytes = 70 * size - 1;
    assert_int_equal(fg_pack_build(source, path, &o, NULL, &err), FG_EIO);
    assert_non_null(strstr(err.message, "70 samples need about "));
    o.space_bytes = 70 * size;
    last = 107;
    assert_int_equal(fg_pack_build(source, path, photos_reported(&o, stop_at, &last), NULL, &err),
                     FG_ESTOPPED);
    o.space_bytes = 1;
    fgt_ok(fg_pack_build(source, path, &o, NULL, &err));
}

/* The codec is chosen once: later, another rate would lead to another one. */
static void a_resumed_build_keeps_its_codec(void **state)
{
    const char *source = photos_make();
    for (int is_set = 0; is_set < 2; is_set++) {
        int calls = 0;
        int64_t last = 3;
        fg_pack_built built;
        fg_pack_build_options o = {.rate = 101,
                                   .shard_bytes = is_set ? 1000000 : 0,
                                   .thread_count = 2,
                                   .progress_s = FG_ZERO,
                                   .measure = measure_known,
                                   .measure_self = &calls};
        const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "p.pack");
        assert_int_equal(
            fg_pack_build(source, path, photos_reported(&o, stop_at, &last), NULL, &err),
            FG_ESTOPPED);
        o.rate = 1;
        fgt_ok(fg_pack_build(source, path, &o, &built, &err));
        assert_int_equal(built.codec, FG_PACK_CHOICE_SEG);
        assert_int_equal(calls, 2);
        assert_int_equal(built.resumed_count, 3);
        assert_int_equal(built.record_count, 8);
        assert_non_null(strstr(built.reason, "the model needs 101 images/s"));
        assert_int_equal(fgt_count_entries(folder), 1);
        fg_pack_built_fini(&built);
    }
}

/* A codec that is given has no reason, also if an interrupted build has chosen it. */
static void a_given_codec_has_no_reason(void **state)
{
    int calls = 0;
    int64_t last = 3;
    char text[200];
    fg_pack_built built;
    fg_pack_build_options o = {.rate = 101,
                               .thread_count = 2,
                               .progress_s = FG_ZERO,
                               .measure = measure_known,
                               .measure_self = &calls};
    const char *source = photos_make(), *path = fgt_path(fgt_temp_folder(), "p.pack");
    assert_int_equal(fg_pack_build(source, path, photos_reported(&o, stop_at, &last), NULL, &err),
                     FG_ESTOPPED);
    o.codec = FG_PACK_CHOICE_SEG;
    fgt_ok(fg_pack_build(source, path, &o, &built, &err));
    assert_int_equal(built.resumed_count, 3);
    assert_string_equal(built.reason, "");
    assert_null(strstr(fgi_pack_built_text(&built, path, text, sizeof text), "the model needs"));
    fg_pack_built_fini(&built);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_codec_depends_on_rate_sizes_and_space),
    cmocka_unit_test(the_size_of_a_pack_is_estimated),
    cmocka_unit_test(the_loader_measures_each_codec),
    cmocka_unit_test(a_rate_that_cannot_be_measured_is_an_error),
    cmocka_unit_test(a_damaged_image_is_reported_as_with_a_given_codec),
    cmocka_unit_test(a_folder_of_the_user_stays),
    cmocka_unit_test(a_pack_larger_than_memory_has_another_codec),
    cmocka_unit_test(the_small_pack_has_all_variants_of_an_image),
    cmocka_unit_test(a_pack_that_will_not_fit_is_an_error_before_it_is_written),
    cmocka_unit_test(the_estimate_of_the_size_has_a_margin),
    cmocka_unit_test(the_space_of_a_resumed_build_is_that_of_the_rest),
    cmocka_unit_test(a_resumed_build_keeps_its_codec),
    cmocka_unit_test(a_given_codec_has_no_reason),
};
FGT_MAIN(tests)
