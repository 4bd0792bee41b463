/* test_image_parts.c - which samples of image files and packs are in a part, and which replace
 * others: groups are not divided, damaged images are replaced in training only, several labels are
 * reported.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/images.h>
#include <fulgurite/pack_dataset.h>
#include <fulgurite/packer.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "data/damaged.h"
#include "data/format_crop.h"
#include "data/formats.h"
#include "data/image_check.h"
#include "data/image_sample.h"
#include "base/alloc.h"
#include "base/file.h"
#include "image_files.h"
#include "open_format.h"

enum { SIDE = 12, BYTES = SIDE * SIDE * 3 };
static fg_error err;
/* A given codec: none has to be measured. */
static const fg_pack_build_options as_files = {.codec = FG_PACK_CHOICE_FILE};

/* ---- groups ---------------------------------------------------------------------------------- */

enum { ROWS = 24, NO_GROUP = 4 };

/* A list of ROWS images: row i is of group "g<i mod 5>", or of none if that is NO_GROUP. */
static void write_groups(const char *path)
{
    char text[ROWS * 60] = "path,label,group,name\n";
    for (int i = 0; i < ROWS; i++) {
        char group[16] = "";
        const size_t used = strlen(text);
        if (i % 5 != NO_GROUP)
            (void)snprintf(group, sizeof group, "g%d", i % 5);
        (void)snprintf(text + used, sizeof text - used, "photos/cat/a.jpg,x,%s,%02d\n", group, i);
    }
    fgt_write(path, text, strlen(text));
}

/* Which part has row i, by the names of the samples: 'v' or 't'. */
static void parts_of(fg_dataset *dataset, uint64_t seed, char out[ROWS + 1])
{
    fg_dataset *parts[2];
    fgt_ok(fg_dataset_split(dataset, &(fg_split_options){.val_fraction = 0.3, .seed = seed},
                            &parts[0], &parts[1], &err));
    assert_int_equal(fg_dataset_count(parts[0]) + fg_dataset_count(parts[1]), ROWS);
    memset(out, '-', ROWS);
    out[ROWS] = '\0';
    for (int p = 0; p < 2; p++) {
        for (int64_t i = 0; i < fg_dataset_count(parts[p]); i++)
            out[atoi(fg_dataset_sample_name(parts[p], i))] = p == 0 ? 't' : 'v';
        fg_dataset_destroy(parts[p]);
    }
}

static void check_parts(const char *parts)
{
    int val = 0;
    for (int i = 0; i < ROWS; i++) {
        val += parts[i] == 'v';
        if (i >= 5 && i % 5 != NO_GROUP)
            assert_int_equal(parts[i], parts[i - 5]);
    }
    assert_in_range(val, 5, 9); /* 7.2 samples, and the groups have 5 */
}

static void a_split_does_not_divide_groups(void **state)
{
    char list[300], packed[300], parts[ROWS + 1], again[ROWS + 1];
    fg_catalog *catalog;
    fg_pack *pack;
    fg_dataset *dataset, *of_pack, *half, *a, *b;
    (void)fgt_photos();
    (void)snprintf(list, sizeof list, "%s", fgt_path(fgt_image_folder(), "groups.csv"));
    (void)snprintf(packed, sizeof packed, "%s", fgt_path(fgt_image_folder(), "groups.pack"));
    write_groups(list);
    fgt_ok(fg_catalog_open(list, NULL, &catalog, &err));
    fgt_ok(fg_images_create(catalog, NULL, &dataset, &err));
    fgt_ok(fg_pack_build(list, packed, &as_files, NULL, &err));
    fgt_ok(fg_pack_open(packed, NULL, &pack, &err));
    fgt_ok(fg_pack_dataset_create(pack, NULL, &of_pack, &err));
    for (uint64_t seed = 0; seed < 20; seed++) {
        parts_of(dataset, seed, parts);
        check_parts(parts);
        parts_of(of_pack, seed, again);
        assert_string_equal(parts, again);
    }
    /* a subset has the groups of its samples */
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){0, 5, 10, 1, 6}, 5, &half, &err));
    fgt_ok(fg_dataset_split(half, &(fg_split_options){.val_fraction = 0.1}, &a, &b, &err));
    assert_int_equal(fg_dataset_count(b), 2); /* the smaller group */
    fg_dataset_destroy(a);
    fg_dataset_destroy(b);
    fg_dataset_destroy(half);
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){0, 5, 10}, 3, &half, &err));
    assert_int_equal(fg_dataset_split(half, &(fg_split_options){.val_fraction = 0.5}, &a, &b, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "cannot split the dataset: all 3 samples are in one group, "
                                     "which is not divided: expected at least 2 groups");
    fg_dataset_destroy(half);
    fg_dataset_destroy(of_pack);
    fg_dataset_destroy(dataset);
    fg_pack_close(pack);
    fg_catalog_close(catalog);
}

/* ---- options --------------------------------------------------------------------------------- */

static const char *const crop_options[][2] = {
    {"decode_memory", "7"}, /* MiB */
    {"crop_scale", "[0.5, 0.5]"},
    {"crop_ratio", "[0.75, 1.5]"},
    {"center_fraction", "0.625"},
    {"flip", "0.25"},
    {"crop_seed", "9"},
    {"size", "40"},
    {"channels", "1"},
    {"crop", "window"},
    {"tolerate_corruption", "true"},
};

/* Each option sets its own member; the input of a model overrides size and channels. */
static void options_of_crops_have_units(void **state)
{
    fg_option_values *values;
    void *own;
    const fg_entry *entry = &fgi_images_row.entry;
    const fg_type input = {FG_U8, 3, {20, 30, 3}}, vector = {FG_U8, 1, {20}};
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    for (size_t i = 0; i < sizeof crop_options / sizeof crop_options[0]; i++)
        fgt_ok(fg_option_set(values, crop_options[i][0], crop_options[i][1], NULL, &err));
    fgt_ok(fgi_row_create(entry, values, &own, &err));
    fgi_crop *crop = own; /* the first member */
    fgt_ok(fgi_crop_check(crop, values, &err));
    fg_images_options o = fgi_crop_options(crop, &vector, true);
    assert_int_equal(o.decode_bytes, 7 << 20);
    assert_true(o.scale_min == 0.5 && o.scale_max == 0.5 && o.ratio_min == 0.75);
    assert_true(o.ratio_max == 1.5 && o.center_fraction == 0.625 && o.flip_probability == 0.25);
    assert_true(o.seed == 9 && o.height == 40 && o.width == 40 && o.channels == 1);
    assert_true(o.crop == FG_IMAGE_CROP_WINDOW && o.tolerate_corruption);
    o = fgi_crop_options(crop, &input, false);
    assert_true(o.height == 20 && o.width == 30 && o.channels == 3);
    assert_int_equal(o.crop, FG_IMAGE_CROP_CENTER);
    crop->crop_ratio[1] = 0.5;
    assert_int_equal(fgi_crop_check(crop, values, &err), FG_EINVAL);
    fgt_message_is(err.message, "data.crop_ratio: expected two ascending numbers");
    fgi_free(own);
    fg_option_values_destroy(values);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Opens a part of a list; `more` are further options, "a=b|c=d". */
static fg_status open_request(fg_format_request request, const char *path, const char *more,
                              fg_format_data *out)
{
    static const char *const names[] = {[FG_PART_TRAIN] = "train",
                                        [FG_PART_VAL] = "val",
                                        [FG_PART_TEST] = "test",
                                        [FG_PART_PREDICT] = "predict"};
    char text[400];
    fg_option_values *values;
    const fg_entry *entry = &fgi_images_row.entry;
    *out = (fg_format_data){0};
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    fgt_ok(fg_option_set(values, names[request.part], path, NULL, &err));
    (void)snprintf(text, sizeof text, "%s", more);
    for (char *rest = text, *word; *more != '\0' && (word = strsep(&rest, "|")) != NULL;) {
        char *value = strchr(word, '=');
        *value = '\0';
        fgt_ok(fg_option_set(values, word, value + 1, NULL, &err));
    }
    const fg_status status = fgt_open_format(&fgi_images_row, values, request, out, &err);
    fg_option_values_destroy(values);
    return status;
}

static fg_status open_list(const char *path, fg_data_part part, bool needs_target, const char *more,
                           fg_format_data *out)
{
    return open_request((fg_format_request){.part = part, .needs_target = needs_target}, path, more,
                        out);
}

static const struct {
    const char *list;
    fg_data_part part;
    bool needs_target;
    const char *more, *text; /* the names of the samples, or the end of an error */
} part_cases[] = {
    {"ab", FG_PART_TRAIN, true, "val=x", "1 4 "},
    {"ab", FG_PART_VAL, true, "", "2 "},
    {"ab", FG_PART_TEST, true, "", "3 "},
    {"ab", FG_PART_PREDICT, false, "", "1 2 3 4 "},
    {"ab", FG_PART_TRAIN, true, "",
     "data.train: '~/ab.csv' also contains validation samples\nset data.val to the same path to "
     "use them"},
    {"ab", FG_PART_TRAIN, true, "val=",
     "data.train: '~/ab.csv' also contains validation samples\nset data.val to the same path to "
     "use them"},
    {"none", FG_PART_TRAIN, true, "", "1 2 "},
    {"none", FG_PART_TEST, true, "", "1 2 "},
    {"one", FG_PART_TEST, true, "",
     "'~/one.csv' has samples of other splits, but none of split test"},
    {"one", FG_PART_VAL, true, "",
     "'~/one.csv' has samples of other splits, but none of split val"},
    {"one", FG_PART_TRAIN, true, "", "1 "},
    {"one", FG_PART_TRAIN, true, "split_column=name",
     "~/one.csv:2: unknown split '1': expected train, val or test"},
    {"one", FG_PART_TRAIN, true, "path_column=path|source_options={path_column: path}",
     "data.path_column: it is also in data.source_options: set only one of them"},
    {"missing", FG_PART_TRAIN, true, "damaged=skip", "1 "},
    {"missing", FG_PART_TEST, true, "damaged=skip", "1 "},
    {"missing", FG_PART_TEST, true, "",
     "~/missing.csv:3: 'photos/cat/none.jpg' in '~': no such file\nadd the file, or remove the "
     "row; to leave such rows out, set data.damaged to skip (fulgurite pack --bad=skip)"},
    {"missing", FG_PART_PREDICT, false, "", "1 2 "},
    {"missing", FG_PART_PREDICT, false, "damaged=skip", "1 2 "}, /* each row has a prediction */
};

static void write_lists(void)
{
    static const char *const lists[][2] = {
        {"ab.csv", "path,label,split,name\nphotos/cat/a.jpg,x,train,1\nphotos/cat/a.jpg,y,val,2\n"
                   "photos/cat/a.jpg,x,test,3\nphotos/cat/a.jpg,y,train,4\n"},
        {"none.csv", "path,label,name\nphotos/cat/a.jpg,x,1\nphotos/cat/a.jpg,y,2\n"},
        {"one.csv", "path,label,split,name\nphotos/cat/a.jpg,x,train,1\n"},
        {"missing.csv", "path,label,name\nphotos/cat/a.jpg,x,1\nphotos/cat/none.jpg,y,2\n"}};
    (void)fgt_photos();
    for (int i = 0; i < 4; i++)
        fgt_write(fgt_path(fgt_image_folder(), lists[i][0]), lists[i][1], strlen(lists[i][1]));
}

static void parts_have_their_samples(void **state)
{
    (void)state;
    write_lists();
    for (size_t i = 0; i < sizeof part_cases / sizeof part_cases[0]; i++) {
        char path[300], names[100] = "";
        fg_format_data data;
        (void)snprintf(path, sizeof path, "%s/%s.csv", fgt_image_folder(), part_cases[i].list);
        if (open_list(path, part_cases[i].part, part_cases[i].needs_target, part_cases[i].more,
                      &data) == FG_OK)
            for (int64_t k = 0; k < fg_dataset_count(data.samples); k++)
                (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s ",
                               fg_dataset_sample_name(data.samples, k));
        const char *text = data.samples != NULL ? names : err.message;
        fgt_message_is(text, part_cases[i].text);
        fg_dataset_destroy(data.samples);
    }
}

/* A list with validation samples: nothing else is held out. */
static void parts_of_a_list_are_not_divided(void **state)
{
    fg_format_data held;
    const fg_format_request request = {
        .part = FG_PART_TRAIN, .needs_target = true, .is_training = true, .val_fraction = 0.5};
    (void)state;
    write_lists();
    assert_int_equal(open_request(request, fgt_path(fgt_image_folder(), "ab.csv"), "", &held),
                     FG_EINVAL);
    fgt_message_is(err.message, "data.train: '~/ab.csv' also contains validation samples\n"
                                "set data.val to the same path to use them");
}

/* The same for a pack. */
static void parts_of_a_pack_are_not_divided(void **state)
{
    static const char *const vals[] = {NULL, ""};
    const fg_entry *entry = &fgi_pack_row.entry;
    const fg_format_request request = {.part = FG_PART_TRAIN, .is_training = true};
    char pack[300];
    (void)state;
    write_lists();
    (void)snprintf(pack, sizeof pack, "%s", fgt_path(fgt_image_folder(), "ab.pack"));
    fgt_ok(fg_pack_build(fgt_path(fgt_image_folder(), "ab.csv"), pack, &as_files, NULL, &err));
    for (int i = 0; i < 2; i++) {
        fg_option_values *values;
        fg_format_data data = {0};
        fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
        fgt_ok(fg_option_set(values, "train", pack, NULL, &err));
        if (vals[i] != NULL)
            fgt_ok(fg_option_set(values, "val", vals[i], NULL, &err));
        assert_int_equal(fgt_open_format(&fgi_pack_row, values, request, &data, &err), FG_EINVAL);
        fgt_message_is(err.message, "data.train: '~/ab.pack' also contains validation samples\n"
                                    "set data.val to the same path to use them");
        fg_option_values_destroy(values);
    }
}

static const struct {
    const char *train, *val, *more, *message; /* NULL: no error */
    double held_out;
} checked_fits[] = {
    {"bad", "", "",
     "'~/bad.csv': bad.jpg: byte 12: truncated JPEG: the file ends within its headers\n1 of the 2 "
     "files that were checked is damaged\nremove or repair them, or set data.damaged to skip; "
     "'fulgurite pack --check' lists all",
     0},
    {"heic", "", "",
     "'~/heic.csv': heic.jpg: unsupported image format: this is a HEIC image\n1 of the 2 files "
     "that were checked is damaged\nremove or "
     "repair them, or set data.damaged to skip; 'fulgurite pack --check' lists all",
     0},
    {"good", "bad", "",
     "'~/bad.csv': bad.jpg: byte 12: truncated JPEG: the file ends within its headers\n1 of the 2 "
     "files that were checked is damaged\nremove or repair them: validation samples are not "
     "skipped",
     0},
    {"bad", "", "check=never", NULL, 0},
    {"bad", "", "damaged=skip", NULL, 0},
    {"good", "good", "", NULL, 0},
    {"bad", "", "damaged=skip", NULL, 0.5}, /* of the samples for training */
    {"bad", "", "damaged=skip|check=decode", NULL, 0.5},
};

static void write_checked(void)
{
    static const char *const files[] = {"bad", "heic", "good"};
    (void)fgt_photos();
    fgt_write(fgt_path(fgt_image_folder(), "bad.jpg"), "\xff\xd8\xff nonsense", 12);
    fgt_write(fgt_path(fgt_image_folder(), "heic.jpg"),
              "\0\0\0\x18"
              "ftypheic\0\0\0\0",
              16);
    for (int i = 0; i < 3; i++) {
        char text[200], name[20];
        (void)snprintf(name, sizeof name, "%s.csv", files[i]);
        (void)snprintf(text, sizeof text, "path,label\nphotos/cat/a.jpg,x\n%s,x\n",
                       i == 0   ? "bad.jpg"
                       : i == 1 ? "heic.jpg"
                                : "photos/dog/d.jpg");
        fgt_write(fgt_path(fgt_image_folder(), name), text, strlen(text));
    }
}

/* What a fit says of damaged files, before it trains. */
static void a_fit_checks_its_files(void **state)
{
    write_checked();
    for (size_t i = 0; i < sizeof checked_fits / sizeof checked_fits[0]; i++) {
        char more[400];
        fg_format_data data;
        (void)snprintf(more, sizeof more, "%s%s%s/%s.csv", checked_fits[i].more,
                       *checked_fits[i].more != '\0' ? "|val=" : "val=", fgt_image_folder(),
                       checked_fits[i].val);
        if (*checked_fits[i].val == '\0')
            (void)snprintf(more, sizeof more, "%s", checked_fits[i].more);
        char path[300];
        (void)snprintf(path, sizeof path, "%s/%s.csv", fgt_image_folder(), checked_fits[i].train);
        const fg_format_request request = {
            .is_training = true, .needs_target = true, .val_fraction = checked_fits[i].held_out};
        const fg_status status = open_request(request, path, more, &data);
        assert_int_equal(status == FG_OK, checked_fits[i].message == NULL);
        if (status != FG_OK)
            fgt_message_is(err.message, checked_fits[i].message);
        fg_dataset_destroy(data.samples);
        fg_dataset_destroy(data.val);
    }
}

/* Without training: crops of the middle, no replacements; and new images are not in splits. */
static void parts_that_are_not_trained_on_are_read_plainly(void **state)
{
    uint8_t sample[2][BYTES];
    int32_t label;
    fg_format_data data;
    char path[300];
    write_checked();
    (void)snprintf(path, sizeof path, "%s/bad.csv", fgt_image_folder());
    for (int i = 0; i < 2; i++) {
        fgt_ok(open_list(path, i == 0 ? FG_PART_TRAIN : FG_PART_TEST, true,
                         "size=12|crop=random|damaged=skip", &data));
        fgt_ok(fg_dataset_read(data.samples, 0, (void *const[]){sample[i], &label}, &err));
        assert_int_equal(fg_dataset_read(data.samples, 1, (void *const[]){sample[1], &label}, &err),
                         FG_EFORMAT);
        fgt_ok(fg_dataset_read(data.samples, 0, (void *const[]){sample[i], &label}, &err));
        fg_dataset_destroy(data.samples);
    }
    assert_memory_equal(sample[0], sample[1], BYTES);
    fgt_ok(fgi_folder_make(fgt_path(fgt_image_folder(), "new/test"), &err));
    fgt_image_put("baseline.jpg", fgt_image_folder(), "new/test/a.jpg");
    fgt_image_put("baseline.jpg", fgt_image_folder(), "new/b.jpg");
    fgt_ok(open_list(fgt_path(fgt_image_folder(), "new"), FG_PART_PREDICT, false, "", &data));
    assert_int_equal(fg_dataset_count(data.samples), 2);
    assert_string_equal(fg_dataset_sample_name(data.samples, 0), "b.jpg");
    fg_dataset_destroy(data.samples);
}

/* ---- several labels -------------------------------------------------------------------------- */

static char heard[2000];

static void hear(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level != FG_LOG_WARNING)
        return;
    assert_true(strlen(heard) + strlen(line) + 1 < sizeof heard);
    (void)snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s\n", line);
}

/* Opens the training samples of a data format; returns its warnings. */
static const char *heard_of(const fg_format_entry *format, const char *path, bool needs_target)
{
    fg_option_values *values;
    const fg_entry *entry = &format->entry;
    const fg_format_request request = {
        .is_training = true, .needs_target = needs_target, .task = "classification", .say = hear};
    fg_format_data data = {0};
    heard[0] = '\0';
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    fgt_ok(fg_option_set(values, "train", path, NULL, &err));
    fgt_ok(fgt_open_format(format, values, request, &data, &err));
    fg_option_values_destroy(values);
    fg_dataset_destroy(data.samples);
    return heard;
}

static void several_labels_are_a_warning(void **state)
{
    static const char list[] = "path,labels,split,name\n"
                               "photos/cat/a.jpg,x;y,train,1\nphotos/cat/a.jpg,y,train,2\n"
                               "photos/cat/a.jpg,y;x,test,3\nphotos/cat/a.jpg,y;z;x,train,4\n";
    static const char says[] = "': 2 samples have several labels: only the first label of each is "
                               "used; to predict all, set task: multilabel\n";
    char csv[300], packed[300];
    (void)fgt_photos();
    (void)snprintf(csv, sizeof csv, "%s", fgt_path(fgt_image_folder(), "several.csv"));
    (void)snprintf(packed, sizeof packed, "%s", fgt_path(fgt_image_folder(), "several.pack"));
    fgt_write(csv, list, sizeof list - 1);
    fgt_ok(fg_pack_build(csv, packed, &as_files, NULL, &err));
    assert_non_null(strstr(heard_of(&fgi_images_row, csv, true), says));
    assert_string_equal(heard_of(&fgi_images_row, csv, false), "");
    assert_non_null(strstr(heard_of(&fgi_pack_row, packed, true), says));
    assert_string_equal(heard_of(&fgi_pack_row, packed, false), "");
    assert_string_equal(heard_of(&fgi_images_row, fgt_photos(), true), "");
    fgt_write(csv, list, (size_t)(strstr(list, "photos/cat/a.jpg,y;x") - list));
    assert_non_null(strstr(heard_of(&fgi_images_row, csv, true),
                           "': 1 sample has several labels: only the first label of each is used"));
}

/* Each variant of an image is the same sample; without training, the first one is read. */
static void variants_of_a_pack_are_one_sample(void **state)
{
    static const char list[] = "path,labels,name\nphotos/cat/a.jpg,x;y,1\n"
                               "photos/dog/d.jpg,y,2\n";
    const fg_entry *entry = &fgi_pack_row.entry;
    const fg_pack_build_options options = {
        .codec = FG_PACK_CHOICE_RAW,
        .variant_count = 2,
        .presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = SIDE}};
    uint8_t sample[2][BYTES];
    char csv[300], packed[300];
    int32_t label;
    fg_option_values *values;
    fg_format_data data = {0};
    (void)fgt_photos();
    (void)snprintf(csv, sizeof csv, "%s", fgt_path(fgt_image_folder(), "two.csv"));
    (void)snprintf(packed, sizeof packed, "%s", fgt_path(fgt_image_folder(), "variants.pack"));
    fgt_write(csv, list, sizeof list - 1);
    fgt_ok(fg_pack_build(csv, packed, &options, NULL, &err));
    assert_non_null(strstr(heard_of(&fgi_pack_row, packed, true), "': 1 sample has several"));
    fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
    fgt_ok(fg_option_set(values, "train", packed, NULL, &err));
    fgt_ok(fg_option_set(values, "size", "12", NULL, &err));
    fgt_ok(fgt_open_format(&fgi_pack_row, values, (fg_format_request){.needs_target = true}, &data,
                           &err));
    for (int64_t epoch = 0; epoch < 2; epoch++)
        fgt_ok(fgi_dataset_gather(data.samples, epoch, (const int64_t[]){1}, 1,
                                  (void *const[]){sample[epoch], &label}, &err));
    assert_memory_equal(sample[0], sample[1], BYTES);
    fg_dataset_destroy(data.samples);
    fg_option_values_destroy(values);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Each record once, of which the first 20 are logged; flawed ones are counted apart. */
static void damage_is_logged_up_to_a_limit(void **state)
{
    fgi_damaged d = {0};
    char message[16];
    int lines = 0;
    fgt_ok(fgi_damaged_init(&d, 64, true, &err));
    heard[0] = '\0';
    fg_log_set(hear, NULL);
    for (int i = 0; i < 44; i++) {
        const int record = 63 - i / 2;
        (void)snprintf(message, sizeof message, "r%d", record);
        const bool is_new = fgi_damaged_begin(&d, record, message);
        if (is_new)
            fgi_damaged_end(&d);
        assert_int_equal(is_new, i % 2 == 0);
        assert_int_equal(fgi_damaged_can_read(&d, record, record, 0), false);
        fgi_damaged_flaw(&d, 63 - record, message, "odd");
    }
    fg_log_set(NULL, NULL);
    for (const char *c = heard; (c = strchr(c, '\n')) != NULL; c++)
        lines++;
    assert_int_equal(lines, 20);
    assert_non_null(strstr(heard, "damaged, so the next sample is used instead: r44\n"));
    assert_int_equal(d.noted.count, 22);
    assert_string_equal(d.noted.first.message, "r63");
    assert_int_equal(d.noted.flawed, 22);
    assert_string_equal(d.noted.first_flawed.message, "r63: odd");
    assert_true(fgi_damaged_can_read(&d, 41, 41, 0));
    fgi_damaged_fini(&d);
}

/* By the next one, if that is an option; files that cannot be read are not damaged ones. */
static void a_damaged_image_is_replaced(void **state)
{
    uint8_t sample[BYTES], next[BYTES];
    int32_t label;
    const char *first;
    fg_images_options options = {.height = SIDE, .width = SIDE, .skip_damaged = true};
    fg_dataset *dataset = fgt_photos_open(&options);
    fgt_write(fgt_path(fgt_image_folder(), "photos/cat/b c.jpg"), "\xff\xd8\xff nonsense", 12);
    fgt_ok(fg_dataset_read(dataset, 2, (void *const[]){next, &label}, &err));
    heard[0] = '\0';
    fg_log_set(hear, NULL);
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_dataset_read(dataset, 1, (void *const[]){sample, &label}, &err));
        assert_memory_equal(sample, next, BYTES);
        assert_int_equal(label, 1);
        assert_int_equal(fg_dataset_damaged(dataset, &first), 1);
        assert_non_null(strstr(first, "/photos': cat/b c.jpg: "));
    }
    fg_log_set(NULL, NULL);
    assert_non_null(strstr(heard, "damaged, so the next sample is used instead: '"));
    assert_non_null(strstr(heard, "cat/b c.jpg: "));
    assert_ptr_equal(strchr(heard, '\n'), heard + strlen(heard) - 1); /* once */
    assert_int_equal(unlink(fgt_path(fgt_image_folder(), "photos/cat/a.jpg")), 0);
    assert_int_equal(fg_dataset_read(dataset, 0, (void *const[]){sample, &label}, &err),
                     FG_ENOTFOUND);
    fgt_write(fgt_path(fgt_image_folder(), "photos/cat/a.jpg"), "nonsense", 8);
    fgt_write(fgt_path(fgt_image_folder(), "photos/dog/d.jpg"), "", 0);
    assert_int_equal(fg_dataset_read(dataset, 2, (void *const[]){sample, &label}, &err),
                     FG_EFORMAT);
    fgt_message_is(err.message, "'~/photos': dog/d.jpg: byte 0: the file is empty");
    assert_int_equal(fg_dataset_damaged(dataset, &first), 3);
    assert_non_null(strstr(first, "/photos': cat/b c.jpg: ")); /* still the first */
    fg_dataset_destroy(dataset);
}

/* Any number is counted; the first 20 are logged. */
static void many_damaged_images_are_not_all_logged(void **state)
{
    enum { COUNT = 22 };
    fgi_damaged d = {.has_mutex = false};
    int lines = 0;
    fgt_ok(fgi_damaged_init(&d, COUNT, true, &err));
    heard[0] = '\0';
    fg_log_set(hear, NULL);
    for (int i = 0; i < 2 * COUNT; i++)
        if (fgi_damaged_begin(&d, i % COUNT, "x"))
            fgi_damaged_end(&d);
    fg_log_set(NULL, NULL);
    for (const char *c = heard; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 20);
    assert_int_equal(d.noted.count, COUNT);
    fgi_damaged_fini(&d);
}

/* The label of row i is class i, and every second image is damaged. */
static fg_dataset *half_damaged(bool skip)
{
    fg_catalog *catalog;
    fg_dataset *dataset;
    char list[ROWS * 40] = "path,label,name\n";
    const fg_images_options options = {.height = SIDE, .width = SIDE, .skip_damaged = skip};
    (void)fgt_photos();
    fgt_write(fgt_path(fgt_image_folder(), "bad.jpg"), "\xff\xd8\xff nonsense", 12);
    for (int i = 0; i < ROWS; i++) {
        const size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, "%s,%d,%d\n",
                       i % 2 == 0 ? "bad.jpg" : "photos/dog/d.jpg", i, i);
    }
    fgt_write(fgt_path(fgt_image_folder(), "half.csv"), list, strlen(list));
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "half.csv"), NULL, &catalog, &err));
    fgt_ok(fg_images_create(catalog, &options, &dataset, &err));
    fg_catalog_close(catalog);
    return dataset;
}

static void validation_samples_neither_replace_nor_are_replaced(void **state)
{
    uint8_t sample[BYTES];
    int32_t label;
    fg_dataset *varied = half_damaged(true), *middle = half_damaged(false);
    bool is_val[ROWS] = {false};
    const fg_format_request request = {.val_fraction = 0.5};
    fg_format_data parts = {0};
    fgt_ok(fgi_crop_hold_out(&request, varied, middle, &parts, &err));
    for (int64_t i = 0; i < fg_dataset_count(parts.val); i++) {
        const int row = atoi(fg_dataset_sample_name(parts.val, i));
        is_val[row] = true;
        assert_int_equal(fg_dataset_read(parts.val, i, (void *const[]){sample, &label}, &err),
                         row % 2 == 0 ? FG_EFORMAT : FG_OK);
    }
    for (int64_t i = 0; i < fg_dataset_count(parts.samples); i++) {
        fgt_ok(fg_dataset_read(parts.samples, i, (void *const[]){sample, &label}, &err));
        assert_true(label % 2 == 1 && !is_val[label]);
    }
    assert_true(fg_dataset_damaged(parts.samples, NULL) > 0);
    assert_int_equal(fg_dataset_damaged(parts.val, NULL), 0);
    fg_dataset_destroy(parts.samples);
    fg_dataset_destroy(parts.val);
    fg_dataset_destroy(varied);
    fg_dataset_destroy(middle);
}

/* The rows that are held out, as "3 5 ...". */
static void held_out(const fg_format_request *request, char out[200])
{
    char list[ROWS * 40] = "path,label,name\n";
    fg_catalog *catalog;
    fg_dataset *dataset;
    fg_format_data parts = {0};
    for (int i = 0; i < ROWS; i++)
        (void)snprintf(list + strlen(list), 40, "photos/dog/d.jpg,%d,%d\n", i % 6 == 0, i);
    fgt_write(fgt_path(fgt_image_folder(), "rare.csv"), list, strlen(list));
    fgt_ok(fg_catalog_open(fgt_path(fgt_image_folder(), "rare.csv"), NULL, &catalog, &err));
    fgt_ok(fg_images_create(catalog, NULL, &dataset, &err));
    fg_catalog_close(catalog);
    fgt_ok(fgi_crop_hold_out(request, dataset, dataset, &parts, &err));
    out[0] = '\0';
    for (int64_t i = 0; i < fg_dataset_count(parts.val); i++)
        (void)snprintf(out + strlen(out), 200 - strlen(out), "%s ",
                       fg_dataset_sample_name(parts.val, i));
    fg_dataset_destroy(parts.samples);
    fg_dataset_destroy(parts.val);
    fg_dataset_destroy(dataset);
}

/* The first record of a pack is damaged: the next one replaces it in training, but nowhere else. */
static void damaged_records_are_replaced_in_training_only(void **state)
{
    static const char *const names[] = {[FG_PART_TRAIN] = "train", [FG_PART_TEST] = "test"};
    const fg_entry *entry = &fgi_pack_row.entry;
    uint8_t sample[224 * 224 * 3];
    char csv[300], packed[300];
    int32_t label;
    write_lists();
    (void)snprintf(csv, sizeof csv, "%s", fgt_path(fgt_image_folder(), "none.csv"));
    (void)snprintf(packed, sizeof packed, "%s", fgt_path(fgt_image_folder(), "damaged.pack"));
    fgt_ok(fg_pack_build(csv, packed, &as_files, NULL, &err));
    fg_pack *pack;
    fg_pack_entry first;
    fgt_ok(fg_pack_open(packed, NULL, &pack, &err));
    fgt_ok(fg_pack_entry_at(pack, 0, &first, &err));
    FILE *file = fopen(packed, "r+b");
    assert_true(file != NULL && fseek(file, (long)first.offset_bytes, SEEK_SET) == 0);
    assert_int_equal(fwrite("nonsense", 1, 8, file), 8);
    (void)fclose(file);
    fg_pack_close(pack);
    for (int part = FG_PART_TRAIN; part <= FG_PART_TEST; part += FG_PART_TEST - FG_PART_TRAIN) {
        fg_option_values *values;
        fg_format_data data = {0};
        const fg_format_request request = {
            .part = (fg_data_part)part, .needs_target = true, .is_training = true};
        fgt_ok(fg_option_values_create("data", entry->options, entry->option_count, &values, &err));
        fgt_ok(fg_option_set(values, names[part], packed, NULL, &err));
        fgt_ok(fg_option_set(values, "damaged", "skip", NULL, &err));
        fgt_ok(fgt_open_format(&fgi_pack_row, values, request, &data, &err));
        assert_int_equal(fg_dataset_read(data.samples, 0, (void *const[]){sample, &label}, &err),
                         part == FG_PART_TRAIN ? FG_OK : FG_EFORMAT);
        fg_dataset_destroy(data.samples);
        fg_option_values_destroy(values);
    }
}

/* Samples are read by one worker: a warning is about its own record only, not about the pixels that
 * follow, which need no decoder. */
static void a_warning_belongs_to_one_record(void **state)
{
    static const uint8_t pixels[48];
    uint8_t samples[2][BYTES];
    fg_pack *pack;
    fg_pack_writer *writer;
    fg_dataset *dataset;
    const char *first, *path = fgt_path(fgt_temp_folder(), "flawed.pack");
    fgt_file file = fgt_file_read("large.jpg");
    uint8_t *bytes = calloc(1, file.size + 40); /* zeros before the last marker */
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.size - 2);
    memcpy(bytes + file.size + 38, file.data + file.size - 2, 2);
    const fg_pack_entry flawed = {.name = "flawed.jpg", .codec = FG_PACK_FILE};
    const fg_pack_entry raw = {.name = "raw", .codec = FG_PACK_RAW_RGB, .width = 4, .height = 4};
    fgt_ok(fg_pack_writer_create(path, NULL, &writer, NULL, &err));
    fgt_ok(fg_pack_writer_add(writer, &flawed, bytes, file.size + 40, &err));
    fgt_ok(fg_pack_writer_add(writer, &raw, pixels, sizeof pixels, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    free(bytes);
    fgt_file_free(&file);
    const fg_pack_dataset_options small = {
        .images = {.height = SIDE, .width = SIDE, .center_fraction = 1}};
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    fgt_ok(fg_pack_dataset_create(pack, &small, &dataset, &err));
    fg_pack_close(pack);
    fgt_ok(
        fgi_dataset_gather(dataset, 0, (const int64_t[]){0, 1}, 2, (void *const[]){samples}, &err));
    assert_int_equal(fg_dataset_flawed(dataset, &first), 1);
    assert_non_null(strstr(first, "record 0 ('flawed.jpg'): Corrupt JPEG data"));
    fg_dataset_destroy(dataset);
}

/* The middle of 13 pixels is between two of them, in each direction. */
static void a_crop_may_begin_between_pixels(void **state)
{
    enum { PIXELS = 12 * 13 };
    const fg_images_options small = {
        .height = 12, .width = 12, .channels = 1, .center_fraction = 1, .no_labels = true};
    for (int is_high = 0; is_high < 2; is_high++) {
        uint8_t sample[12][12], file[13 + PIXELS];
        fg_catalog *catalog;
        fg_dataset *dataset;
        memcpy(file, is_high ? "P5\n12 13\n255\n" : "P5\n13 12\n255\n", 13);
        for (int i = 0; i < PIXELS; i++)
            file[13 + i] = (uint8_t)(10 * (is_high ? i / 12 : i % 13));
        const char *path = fgt_path(fgt_image_folder(), "ramp.pgm");
        fgt_write(path, file, sizeof file);
        fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
        fgt_ok(fg_images_create(catalog, &small, &dataset, &err));
        fgt_ok(fg_dataset_read(dataset, 0, (void *const[]){sample}, &err));
        for (int i = 1; i < 11; i++)
            assert_int_equal(is_high ? sample[i][4] : sample[4][i], 10 * i + 5);
        fg_dataset_destroy(dataset);
        fg_catalog_close(catalog);
    }
}

/* The ends of the ranges are valid. */
static void limits_of_crops(void **state)
{
    static const struct {
        fg_images_options o;
        const char *message;
    } rows[] = {
        {{.height = 65536, .width = 65536, .ratio_min = 0.001, .ratio_max = 1000}, NULL},
        {{.scale_min = 1, .center_fraction = 1, .flip_probability = 1}, NULL},
        {{.width = 65537},
         "samples of 224 x 65537 pixels: expected a height and width of 1 to 65536"},
        {{.ratio_max = 1000.5}, "ratio is 0.75 to 1000.5: expected two numbers from 0.001 to 1000"},
        {{.ratio_min = 0.0005},
         "ratio is 0.0005 to 1.33333: expected two numbers from 0.001 to 1000"},
        {{.scale_max = 1.5}, "scale is 0.08 to 1.5: expected two numbers from 0 to 1"},
        {{.center_fraction = 1.5}, "center_fraction is 1.5: expected a number above 0, at most 1"},
        {{.flip_probability = 1.5}, "flip_probability is 1.5: expected 0 to 1"},
        {{.crop = (fg_image_crop)3}, "crop is 3: expected a value of fg_image_crop"}};
    fgi_image_rule rule;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_status status = fgi_image_rule_init(&rule, &rows[i].o, &err);
        assert_int_equal(status, rows[i].message == NULL ? FG_OK : FG_EINVAL);
        if (rows[i].message != NULL)
            assert_string_equal(err.message, rows[i].message);
    }
}

/* The last row of the first 20 that are checked. */
static fg_status note_last(void *self, int64_t row, fg_error *e)
{
    static atomic_int calls;
    if (atomic_fetch_add(&calls, 1) < 20 && row > atomic_load((atomic_llong *)self))
        atomic_store((atomic_llong *)self, row);
    return FG_OK;
}

/* A check that ends early has seen rows of all parts. */
static void rows_are_checked_at_distances(void **state)
{
    atomic_llong last = 0;
    int64_t checked;
    const fgi_image_check_options o = {.count = 1000, .decode = note_last, .self = &last};
    fgt_ok(fgi_image_check_files(&o, &checked, &err));
    assert_in_range(last, 500, 999);
}

/* Classes without names, too, are those of the training samples. */
static void numbered_classes_of_another_list(void **state)
{
    static const char train[] = "path,label\nphotos/cat/a.jpg,0\nphotos/dog/d.jpg,2\n";
    static const char val[] = "path,label\nphotos/cat/a.jpg,1\n";
    const fg_format_request request = {.needs_target = true, .is_training = true};
    char list[300], more[320];
    fg_format_data data;
    (void)fgt_photos();
    (void)snprintf(list, sizeof list, "%s", fgt_path(fgt_image_folder(), "numbers.csv"));
    (void)snprintf(more, sizeof more, "val=%s", fgt_path(fgt_image_folder(), "others.csv"));
    fgt_write(list, train, sizeof train - 1);
    fgt_write(more + 4, val, sizeof val - 1);
    fgt_ok(open_request(request, list, more, &data));
    assert_int_equal(fg_dataset_class_count(data.samples), 3);
    assert_int_equal(fg_dataset_count(data.val), 1);
    fg_dataset_destroy(data.samples);
    fg_dataset_destroy(data.val);
}

static void a_regression_is_not_stratified(void **state)
{
    char plain[200], regression[200], stratified[200];
    (void)fgt_photos();
    fg_format_request request = {.task = "regression", .val_fraction = 0.5};
    held_out(&request, plain);
    request.stratify = true;
    held_out(&request, regression);
    assert_string_equal(plain, regression);
    request.task = "auto";
    held_out(&request, stratified);
    assert_string_not_equal(plain, stratified);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(damage_is_logged_up_to_a_limit),
    cmocka_unit_test(options_of_crops_have_units),
    cmocka_unit_test(parts_have_their_samples),
    cmocka_unit_test(parts_of_a_list_are_not_divided),
    cmocka_unit_test(parts_of_a_pack_are_not_divided),
    cmocka_unit_test(a_split_does_not_divide_groups),
    cmocka_unit_test(several_labels_are_a_warning),
    cmocka_unit_test(variants_of_a_pack_are_one_sample),
    cmocka_unit_test(a_damaged_image_is_replaced),
    cmocka_unit_test(many_damaged_images_are_not_all_logged),
    cmocka_unit_test(damaged_records_are_replaced_in_training_only),
    cmocka_unit_test(a_warning_belongs_to_one_record),
    cmocka_unit_test(a_crop_may_begin_between_pixels),
    cmocka_unit_test(limits_of_crops),
    cmocka_unit_test(rows_are_checked_at_distances),
    cmocka_unit_test(numbered_classes_of_another_list),
    cmocka_unit_test(a_regression_is_not_stratified),
    cmocka_unit_test(a_fit_checks_its_files),
    cmocka_unit_test(parts_that_are_not_trained_on_are_read_plainly),
    cmocka_unit_test(validation_samples_neither_replace_nor_are_replaced),
};
FGT_MAIN(tests)
