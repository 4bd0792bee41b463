/* test_pack_arrays.c - packs of arrays: what the readers of datasets give, and windows of tokens.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <errno.h>
#include <fulgurite/pack_arrays.h>
#include <fulgurite/pack_dataset.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is written need not be on the disk. */
int fsync(int fd) { return fd < 0 ? -1 : 0; }

static const char *test_folder(void)
{
    static const char *folder;
    if (folder == NULL)
        folder = fgt_temp_folder();
    return folder;
}

/* A path that remains valid. */
static const char *path_of(const char *name)
{
    static char paths[32][4096];
    static size_t count;
    char *path = paths[count++ % 32];
    (void)snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static const char *new_folder(const char *name)
{
    const char *path = path_of(name);
    assert_int_equal(mkdir(path, 0777), 0);
    return path;
}

static void write_npy(const char *folder, const char *name, fg_dtype dtype, int rank,
                      const int64_t *dim, const void *data)
{
    fg_error err = {0};
    fg_type type = {.dtype = dtype, .rank = rank};
    memcpy(type.dim, dim, (size_t)rank * sizeof *dim);
    fgt_ok(fg_npy_write(fgt_path(folder, name), &type, data, &err));
}

static fg_pack *open_pack(const char *path)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    return pack;
}

static void check_record(fg_pack *pack, int64_t record, int split, int32_t label, const void *want,
                         size_t want_size)
{
    fg_error err = {0};
    fg_pack_entry entry;
    const void *data;
    size_t size;
    fgt_ok(fg_pack_entry_at(pack, record, &entry, &err));
    assert_int_equal(entry.codec, FG_PACK_ARRAYS);
    assert_int_equal(entry.split, split);
    assert_int_equal(entry.label, label);
    fgt_ok(fg_pack_record(pack, record, &data, &size, &err));
    assert_int_equal(size, want_size);
    assert_memory_equal(data, want, size);
}

/* ---- datasets -------------------------------------------------------------------------------- */

static void npy_files_become_records(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t count = 0;
    const char *folder = new_folder("npy");
    static const float x[] = {1, 2, 3, 4, 5, 6}, val_x[] = {7, 8}, test_x[] = {9, 10};
    static const int32_t y[] = {2, 0, 1}, one[] = {1};
    write_npy(folder, "x_train.npy", FG_F32, 2, (int64_t[]){3, 2}, x);
    write_npy(folder, "y_train.npy", FG_S32, 1, (int64_t[]){3}, y);
    write_npy(folder, "x_val.npy", FG_F32, 2, (int64_t[]){1, 2}, val_x);
    write_npy(folder, "y_val.npy", FG_S32, 1, (int64_t[]){1}, one);
    write_npy(folder, "x_test.npy", FG_F32, 2, (int64_t[]){1, 2}, test_x);
    write_npy(folder, "y_test.npy", FG_S32, 1, (int64_t[]){1}, one);
    const char *path = path_of("npy.pack");
    assert_true(fg_pack_arrays_accepts(folder));
    const fg_pack_arrays_options half = {.val_fraction = 0.5}; /* there are validation samples */
    fgt_ok(fg_pack_arrays(folder, path, &half, &count, &err));
    assert_int_equal(count, 5);
    fg_pack *pack = open_pack(path);
    const fg_pack_info *info = fg_pack_info_of(pack);
    assert_int_equal(info->field_count, 2);
    assert_string_equal(info->fields[0].name, "x");
    assert_int_equal(info->class_count, 3);
    assert_string_equal(fg_pack_class_name(pack, 2), "2");
    assert_non_null(strstr(info->metadata, "\"splits\":{\"train\":3,\"val\":1,\"test\":1}"));
    const struct {
        float x[2];
        int32_t y;
    } want[] = {{{1, 2}, 2}, {{3, 4}, 0}, {{5, 6}, 1}, {{7, 8}, 1}, {{9, 10}, 1}};
    for (int i = 0; i < 5; i++)
        check_record(pack, i,
                     i < 3    ? FG_TRAIN
                     : i == 3 ? FG_VAL
                              : FG_TEST,
                     want[i].y, &want[i], 12);
    fg_pack_close(pack);
}

/* One sample of each split, with a target of 4, 5 and 6. */
static void write_parts(const char *folder, const char *const names[3][2])
{
    for (int i = 0; i < 3; i++) {
        const int32_t y = 4 + i;
        const float x = (float)(10 + i);
        write_npy(folder, names[i][0], FG_F32, 1, (int64_t[]){1}, &x);
        write_npy(folder, names[i][1], FG_S32, 1, (int64_t[]){1}, &y);
    }
}

/* The targets are those of the split, with either kind of names; val_x.npy before x_val.npy. */
static void each_split_has_its_targets(void **state)
{
    static const char *const names[2][3][2] = {
        {{"x_train.npy", "y_train.npy"}, {"x_val.npy", "y_val.npy"}, {"x_test.npy", "y_test.npy"}},
        {{"x.npy", "y.npy"}, {"val_x.npy", "val_y.npy"}, {"test_x.npy", "test_y.npy"}}};
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        fg_error err = {0};
        const char *folder = new_folder(kind == 0 ? "long" : "short");
        const char *path = path_of(kind == 0 ? "long.pack" : "short.pack");
        write_parts(folder, names[kind]);
        fgt_ok(fg_pack_arrays(folder, path, NULL, NULL, &err));
        fg_pack *pack = open_pack(path);
        assert_int_equal(fg_pack_count(pack), 3);
        for (int i = 0; i < 3; i++) {
            const struct {
                float x;
                int32_t y;
            } expected = {(float)(10 + i), 4 + i};
            check_record(pack, i, i, 4 + i, &expected, 8);
        }
        fg_pack_close(pack);
    }
}

static const struct {
    const char *name;
    bool is_accepted;
} source_names[] = {{"train-images-idx3-ubyte", true},
                    {"train-images.idx3-ubyte", true},
                    {"train-images-idx3-ubyte.gz", true},
                    {"train-images.idx3-ubyte.gz", true},
                    {"t10k-images-idx3-ubyte", false},
                    {"data_batch_1.bin", true},
                    {"cifar-10-batches-bin/data_batch_1.bin", true},
                    {"data_batch_2.bin", false},
                    {"fine_label_names.txt", true},
                    {"cifar-100-binary/fine_label_names.txt", true},
                    {"x.npy", true},
                    {"x_train.npy", true},
                    {"val_x.npy", false},
                    {"y.npy", false},
                    {"train.npy", false}};

/* The names that a source of arrays is recognized by: nothing is opened. */
static void sources_are_recognized_by_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof source_names / sizeof *source_names; i++) {
        char name[32], inner[80];
        (void)snprintf(name, sizeof name, "named-%d", (int)i);
        const char *folder = new_folder(name), *slash = strchr(source_names[i].name, '/');
        (void)snprintf(inner, sizeof inner, "%s/%.*s", name,
                       slash != NULL ? (int)(slash - source_names[i].name) : 0,
                       source_names[i].name);
        if (slash != NULL)
            (void)new_folder(inner);
        fgt_write(fgt_path(folder, source_names[i].name), "", 0);
        if (fg_pack_arrays_accepts(folder) != source_names[i].is_accepted)
            fail_msg("%s", source_names[i].name);
    }
}

/* Two images of CIFAR-10: the bytes of the pack are those that the reader of the files gives. */
static void cifar_is_packed_and_read_as_a_dataset(void **state)
{
    (void)state;
    enum { IMAGE = 3073 };
    fg_error err = {0};
    static unsigned char file[5][2 * IMAGE];
    const char *folder = new_folder("cifar");
    for (int f = 0; f < 5; f++) {
        char name[32];
        for (int i = 0; i < 2 * IMAGE; i++)
            file[f][i] = (unsigned char)(i % IMAGE == 0 ? f + i / IMAGE : i * 7 + f);
        (void)snprintf(name, sizeof name, "data_batch_%d.bin", f + 1);
        fgt_write(fgt_path(folder, name), file[f], sizeof file[f]);
    }
    fgt_write(fgt_path(folder, "test_batch.bin"), file[2], sizeof file[2]);
    const char *path = path_of("cifar.pack");
    fgt_ok(fg_pack_arrays(folder, path, NULL, NULL, &err));
    fg_pack *pack = open_pack(path);
    assert_int_equal(fg_pack_count(pack), 12);
    assert_int_equal(fg_pack_info_of(pack)->class_count, 10);
    fg_pack_entry entry;
    fgt_ok(fg_pack_entry_at(pack, 11, &entry, &err));
    assert_int_equal(entry.width, 32);
    assert_int_equal(entry.height, 32);
    assert_int_equal(entry.split, FG_VAL);
    assert_int_equal(entry.label, 3);
    fg_dataset *packed = NULL, *plain = NULL;
    fgt_ok(fg_pack_dataset_create(pack, NULL, &packed, &err));
    fgt_ok(fg_cifar10_load(folder, FG_TRAIN, &plain, &err));
    static unsigned char a[IMAGE], b[IMAGE];
    for (int64_t i = 0; i < 10; i++) {
        int32_t label[2];
        fgt_ok(fg_dataset_read(packed, i, (void *[]){a, &label[0]}, &err));
        fgt_ok(fg_dataset_read(plain, i, (void *[]){b, &label[1]}, &err));
        assert_int_equal(label[0], label[1]);
        assert_memory_equal(a, b, 3072);
    }
    fg_dataset_destroy(packed);
    fg_dataset_destroy(plain);
    fg_pack_close(pack);
}

/* Of the two labels, the fine one; the folder is that of the archive, or the one above it. */
static void cifar100_has_its_fine_labels(void **state)
{
    (void)state;
    fg_error err = {0};
    static unsigned char file[3074] = {3, 7};
    char names[301];
    const char *folder = new_folder("hundred"), *inner = new_folder("hundred/cifar-100-binary");
    assert_false(fg_pack_arrays_accepts(folder));
    for (int i = 0; i < 100; i++)
        (void)snprintf(names + 3 * i, 4, "%02d\n", i);
    fgt_write(fgt_path(inner, "fine_label_names.txt"), names, 300);
    fgt_write(fgt_path(inner, "train.bin"), file, sizeof file);
    fgt_write(fgt_path(inner, "test.bin"), file, sizeof file);
    for (int i = 0; i < 2; i++) {
        const char *path = path_of(i == 0 ? "outer.pack" : "inner.pack");
        assert_true(fg_pack_arrays_accepts(i == 0 ? folder : inner));
        fgt_ok(fg_pack_arrays(i == 0 ? folder : inner, path, NULL, NULL, &err));
        fg_pack *pack = open_pack(path);
        fg_pack_entry entry;
        fgt_ok(fg_pack_entry_at(pack, 1, &entry, &err));
        assert_int_equal(fg_pack_count(pack), 2);
        assert_int_equal(entry.split, FG_VAL);
        assert_int_equal(entry.label, 7);
        assert_string_equal(fg_pack_class_name(pack, 99), "99");
        fg_pack_close(pack);
    }
}

static void idx_files_are_found(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = new_folder("idx");
    static const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0,
                                           0, 1, 0, 0, 0, 2, 1, 2, 3, 4};
    static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 1, 0};
    fgt_write(fgt_path(folder, "train-images-idx3-ubyte"), images, sizeof images);
    fgt_write(fgt_path(folder, "train-labels-idx1-ubyte"), labels, sizeof labels);
    const char *path = path_of("idx.pack");
    fgt_ok(fg_pack_arrays(folder, path, NULL, NULL, &err));
    fg_pack *pack = open_pack(path);
    assert_int_equal(fg_pack_count(pack), 2);
    fg_pack_entry entry;
    fgt_ok(fg_pack_entry_at(pack, 1, &entry, &err));
    assert_true(entry.height == 1 && entry.width == 2);
    check_record(pack, 1, FG_TRAIN, 0, (unsigned char[]){3, 4, 0, 0, 0, 0}, 6);
    fg_pack_close(pack);
    fgt_write(fgt_path(folder, "t10k-images-idx3-ubyte"), images, sizeof images - 1);
    fgt_write(fgt_path(folder, "t10k-labels-idx1-ubyte"), labels, sizeof labels);
    const fg_pack_arrays_options o = {.replace = true};
    assert_int_equal(fg_pack_arrays(folder, path, &o, NULL, &err), FG_EFORMAT);
}

static void validation_samples_are_held_out(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = new_folder("split");
    static const int32_t x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    write_npy(folder, "x.npy", FG_S32, 1, (int64_t[]){10}, x);
    const char *path = path_of("split.pack");
    const fg_pack_arrays_options o = {.val_fraction = 0.3, .seed = 5};
    fgt_ok(fg_pack_arrays(fgt_path(folder, "x.npy"), path, &o, NULL, &err));
    fg_pack *pack = open_pack(path);
    int seen = 0;
    for (int64_t i = 0; i < 10; i++) {
        fg_pack_entry entry;
        const void *data;
        size_t size;
        fgt_ok(fg_pack_entry_at(pack, i, &entry, &err));
        fgt_ok(fg_pack_record(pack, i, &data, &size, &err));
        assert_int_equal(entry.split, i < 7 ? FG_TRAIN : FG_VAL);
        assert_int_equal(entry.label, FG_PACK_NO_LABEL);
        seen |= 1 << *(const int32_t *)data;
    }
    assert_int_equal(seen, 1023);
    fg_pack_close(pack);
}

/* 15 samples for training, 5 for validation and one for the test. */
static void check_held_out(const char *path, fg_dataset *const parts[2], uint64_t seed)
{
    fg_error err = {0};
    char expected[64];
    fg_pack *pack = open_pack(path);
    assert_int_equal(fg_pack_count(pack), 21);
    for (int64_t i = 0; i < 20; i++) {
        int32_t value;
        fgt_ok(fg_dataset_read(parts[i >= 15], i % 15, (void *[]){&value}, &err));
        check_record(pack, i, i < 15 ? FG_TRAIN : FG_VAL, FG_PACK_NO_LABEL, &value, 4);
    }
    check_record(pack, 20, FG_TEST, FG_PACK_NO_LABEL, (int32_t[]){-1}, 4);
    (void)snprintf(expected, sizeof expected, "/seeds, val_fraction 0.25, seed %d\",", (int)seed);
    assert_non_null(strstr(fg_pack_info_of(pack)->metadata, expected));
    fg_pack_close(pack);
}

/* The samples that are held out are those of fg_dataset_split; test samples do not change that. */
static void held_out_samples_depend_on_the_seed(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = new_folder("seeds");
    static const int32_t x[20] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                  10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    write_npy(folder, "x.npy", FG_S32, 1, (int64_t[]){20}, x);
    write_npy(folder, "test_x.npy", FG_S32, 1, (int64_t[]){1}, (int32_t[]){-1});
    fg_dataset *whole = NULL;
    fgt_ok(fg_npy_load(fgt_path(folder, "x.npy"), NULL, NULL, &whole, &err));
    for (uint64_t seed = 0; seed < 4; seed++) {
        const char *path = path_of("seeds.pack");
        const fg_pack_arrays_options o = {.val_fraction = 0.25, .seed = seed, .replace = true};
        const fg_pack_build_options same = {.val_fraction = 0.25, .seed = seed, .replace = true};
        fg_dataset *parts[2] = {NULL, NULL};
        if (seed % 2 == 0)
            fgt_ok(fg_pack_arrays(folder, path, &o, NULL, &err));
        else
            fgt_ok(fg_pack_build(folder, path, &same, NULL, &err));
        fgt_ok(fg_dataset_split(whole, &(fg_split_options){.val_fraction = 0.25, .seed = seed},
                                &parts[0], &parts[1], &err));
        check_held_out(path, parts, seed);
        fg_dataset_destroy(parts[0]);
        fg_dataset_destroy(parts[1]);
    }
    fg_dataset_destroy(whole);
}

static const struct {
    fg_field fields[2];
    int field_count;
    int64_t classes;
    int32_t label;
    uint32_t height, width;
} field_rows[] = {
    {{{"x", {FG_U8, 3, {2, 3, 1}}}, {"y", {FG_S32, 0, {0}}}}, 2, 9, 7, 2, 3},
    {{{"x", {FG_U8, 3, {2, 3, 1}}}, {"y", {FG_S32, 0, {0}}}}, 2, 0, -1, 2, 3},
    {{{"x", {FG_U8, 3, {2, 3, 3}}}, {"y", {FG_U32, 0, {0}}}}, 2, 9, -1, 2, 3},
    {{{"x", {FG_U8, 3, {2, 3, 2}}}, {"y", {FG_S32, 1, {1}}}}, 2, 9, -1, 0, 0},
    {{{"x", {FG_U8, 3, {2, 3, 4}}}, {"y", {FG_S32, 0, {0}}}}, 2, 9, 7, 0, 0},
    {{{"x", {FG_S8, 3, {2, 3, 3}}}, {"y", {FG_S32, 0, {0}}}}, 2, 9, 7, 0, 0},
    {{{"x", {FG_U8, 2, {2, 3}}}, {"y", {FG_S32, 0, {0}}}}, 2, 9, 7, 0, 0},
    {{{"y", {FG_S32, 0, {0}}}}, 1, 9, -1, 0, 0},
};

/* The label is field 1 if it is s32[] and there are classes; width and height are those of images
 * of one or three channels. */
static void labels_and_sizes_of_fields(void **state)
{
    static const int32_t y[1] = {7};
    static const uint8_t x[24] = {0};
    const void *const values[] = {x, y};
    (void)state;
    for (size_t i = 0; i < sizeof field_rows / sizeof *field_rows; i++) {
        fg_error err = {0};
        fg_pack_entry entry;
        fg_dataset *all[3] = {NULL, NULL, NULL};
        const fg_dataset_spec spec = {.count = 1,
                                      .fields = field_rows[i].fields,
                                      .field_count = field_rows[i].field_count,
                                      .class_count = field_rows[i].classes};
        const char *path = path_of("labels.pack");
        fgt_ok(fg_dataset_from_arrays(&spec, values, FG_COPY, &all[FG_TEST], &err));
        fgt_ok(fg_pack_datasets(all, NULL, path, &(fg_pack_arrays_options){.replace = true}, NULL,
                                &err));
        fg_pack *pack = open_pack(path);
        fgt_ok(fg_pack_entry_at(pack, 0, &entry, &err));
        assert_int_equal(entry.label, field_rows[i].label);
        assert_true(entry.height == field_rows[i].height && entry.width == field_rows[i].width);
        assert_int_equal(entry.split, FG_TEST);
        assert_int_equal(fg_pack_info_of(pack)->class_count, field_rows[i].classes);
        assert_string_equal(entry.name, "");
        fg_pack_close(pack);
        fg_dataset_destroy(all[FG_TEST]);
    }
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void tokens_become_overlapping_windows(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = new_folder("tokens");
    static const uint16_t train[] = {0, 1000, 2, 3, 4, 5, 6, 7, 65535}; /* 2 windows of 4, 1 + 8 */
    static const uint16_t val[] = {9, 8, 7, 6, 5, 4, 3};                /* 1, and 2 are left */
    fgt_write(fgt_path(folder, "train.bin"), train, sizeof train);
    fgt_write(fgt_path(folder, "val.bin"), val, sizeof val);
    const char *path = path_of("tokens.pack");
    const fg_pack_arrays_options o = {.sequence = 4};
    fgt_ok(fg_pack_arrays(folder, path, &o, NULL, &err));
    fg_pack *pack = open_pack(path);
    assert_int_equal(fg_pack_count(pack), 3);
    const fg_field *field = fg_pack_info_of(pack)->fields;
    assert_string_equal(field->name, "tokens");
    assert_int_equal(field->type.dtype, FG_U16);
    assert_int_equal(field->type.dim[0], 5);
    check_record(pack, 0, FG_TRAIN, FG_PACK_NO_LABEL, train, 10);
    check_record(pack, 1, FG_TRAIN, FG_PACK_NO_LABEL, train + 4, 10);
    check_record(pack, 2, FG_VAL, FG_PACK_NO_LABEL, val, 10);
    fg_pack_close(pack);
}

static void tokens_of_other_files(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    const char *folder = new_folder("text");
    unsigned char text[4] = {0};
    int32_t wide[3] = {0};
    fgt_write(fgt_path(folder, "a.txt"), "\xef\xbb\xbfh\xc3\xa9llo",
              9); /* with a byte order mark */
    fgt_ok(fg_tokens_load(fgt_path(folder, "a.txt"), 3, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), 1);
    fgt_ok(fg_dataset_read(dataset, 0, (void *[]){text}, &err));
    assert_memory_equal(text, "h\xc3\xa9l", 4);
    fg_dataset_destroy(dataset);
    write_npy(folder, "wide.npy", FG_U32, 1, (int64_t[]){5}, (uint32_t[]){5, 100000, 7, 8, 9});
    fgt_ok(fg_tokens_load(fgt_path(folder, "wide.npy"), 2, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), 2);
    assert_int_equal(fg_dataset_field(dataset, 0)->type.dtype, FG_S32);
    fgt_ok(fg_dataset_read(dataset, 1, (void *[]){wide}, &err));
    assert_memory_equal(wide, ((int32_t[]){7, 8, 9}), 12);
    fg_dataset_destroy(dataset);

    write_npy(folder, "huge.npy", FG_U32, 1, (int64_t[]){2}, (uint32_t[]){5, 0x80000000});
    assert_int_equal(fg_tokens_load(fgt_path(folder, "huge.npy"), 1, &dataset, &err), FG_EFORMAT);
    write_npy(folder, "float.npy", FG_F32, 1, (int64_t[]){2}, (float[]){1, 2});
    assert_int_equal(fg_tokens_load(fgt_path(folder, "float.npy"), 1, &dataset, &err), FG_EDTYPE);
    write_npy(folder, "two.npy", FG_U8, 2, (int64_t[]){2, 2}, "abcd");
    assert_int_equal(fg_tokens_load(fgt_path(folder, "two.npy"), 1, &dataset, &err), FG_ESHAPE);
    fgt_write(fgt_path(folder, "odd.bin"), "abc", 3);
    assert_int_equal(fg_tokens_load(fgt_path(folder, "odd.bin"), 1, &dataset, &err), FG_EFORMAT);
    assert_int_equal(fg_tokens_load(fgt_path(folder, "a.txt"), 6, &dataset, &err), FG_EINVAL);
    fgt_message_is(
        err.message,
        "~/text/a.txt: 6 tokens: expected at least 7 for one sample of sequence length 6");
    fgt_write(fgt_path(folder, "empty.txt"), "", 0);
    assert_int_equal(fg_tokens_load(fgt_path(folder, "empty.txt"), 1, &dataset, &err), FG_EINVAL);
    assert_int_equal(fg_tokens_load(fgt_path(folder, "a.txt"), -1, &dataset, &err), FG_EINVAL);
    assert_int_equal(fg_tokens_load(fgt_path(folder, "none"), 1, &dataset, &err), FG_ENOTFOUND);
    assert_null(dataset);
}

/* As stored, or as s32; other elements are not tokens. */
static void tokens_have_a_type(void **state)
{
    static const struct {
        fg_dtype dtype, got; /* FG_DTYPE_NONE: refused */
    } rows[] = {{FG_U8, FG_U8},          {FG_U16, FG_U16},        {FG_S32, FG_S32},
                {FG_S8, FG_S32},         {FG_S16, FG_S32},        {FG_U32, FG_S32},
                {FG_U64, FG_S32},        {FG_S64, FG_S32},        {FG_BOOL, FG_DTYPE_NONE},
                {FG_F16, FG_DTYPE_NONE}, {FG_F32, FG_DTYPE_NONE}, {FG_F64, FG_DTYPE_NONE}};
    const char *folder = new_folder("types");
    static const uint64_t zeros[5];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fg_error err = {0};
        fg_dataset *dataset = NULL;
        char expected[120];
        write_npy(folder, "t.npy", rows[i].dtype, 1, (int64_t[]){5}, zeros);
        const fg_status status = fg_tokens_load(fgt_path(folder, "t.npy"), 2, &dataset, &err);
        assert_int_equal(status, rows[i].got == FG_DTYPE_NONE ? FG_EDTYPE : FG_OK);
        if (status == FG_OK) {
            assert_int_equal(fg_dataset_field(dataset, 0)->type.dtype, rows[i].got);
            fg_dataset_destroy(dataset);
            continue;
        }
        (void)snprintf(expected, sizeof expected,
                       "~/types/t.npy: expected integers as tokens, got %s",
                       fg_dtype_name(rows[i].dtype));
        fgt_message_is(err.message, expected);
    }
}

/* Of several files, .npy counts before .bin, and .bin before .txt. */
static void one_file_of_tokens_is_read(void **state)
{
    fg_error err = {0};
    const char *folder = new_folder("several");
    static const fg_pack_arrays_options o = {.sequence = 1, .replace = true};
    (void)state;
    fgt_write(fgt_path(folder, "train.txt"), "abc", 3);
    for (int files = 1; files <= 3; files++) {
        if (files == 2)
            fgt_write(fgt_path(folder, "train.bin"), (uint16_t[]){1, 2, 3, 4}, 8);
        if (files == 3)
            write_npy(folder, "train.npy", FG_S32, 1, (int64_t[]){5}, (int32_t[]){1, 2, 3, 4, 5});
        fgt_ok(fg_pack_arrays(folder, path_of("several.pack"), &o, NULL, &err));
        fg_pack *pack = open_pack(path_of("several.pack"));
        assert_int_equal(fg_pack_count(pack), 1 + files); /* 3, 4 or 5 tokens */
        assert_non_null(strstr(fg_pack_info_of(pack)->metadata, "/several, sequence 1\","));
        fg_pack_close(pack);
    }
}

/* ---- mistakes and interruptions -------------------------------------------------------------- */

static void mistakes_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t count = 7;
    const char *folder = new_folder("mistakes");
    const char *path = path_of("mistakes.pack");
    assert_false(fg_pack_arrays_accepts(folder));
    assert_int_equal(fg_pack_arrays(folder, path, NULL, &count, &err), FG_ENOTFOUND);
    assert_int_equal(count, 0);
    fgt_message_is(
        err.message,
        "'~/mistakes' has no arrays: expected a folder with the files of MNIST or CIFAR, with "
        "x.npy or x_train.npy, or a file .npy or .npz; for tokens, set the sequence length");
    write_npy(folder, "x.npy", FG_F32, 2, (int64_t[]){1, 2}, (float[]){1, 2});
    write_npy(folder, "val_x.npy", FG_F32, 2, (int64_t[]){1, 1}, (float[]){1});
    assert_int_equal(fg_pack_arrays(folder, path, NULL, &count, &err), FG_EINVAL);
    fgt_message_is(err.message, "~/mistakes: the training, validation and test samples differ in "
                                "their fields: expected the same names and types");
    fg_dataset *none[3] = {NULL, NULL, NULL};
    assert_int_equal(fg_pack_datasets(none, "none", path, NULL, &count, &err), FG_EINVAL);
    const fg_pack_arrays_options newer = {.reserved = {1}};
    assert_int_equal(fg_pack_arrays(folder, path, &newer, &count, &err), FG_EINVAL);
    assert_int_equal(fg_pack_datasets(none, "none", path, &newer, &count, &err), FG_EINVAL);
}

/* All parts have the same fields: another name, type or size is refused. */
static void other_fields_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    int64_t count;
    const char *path = path_of("fields.pack");
    for (int i = 0; i < 4; i++) {
        const fg_field fields[] = {{"x", {FG_F32, 1, {2}}},
                                   {"y", {FG_F32, 1, {2}}},
                                   {"x", {FG_S32, 1, {2}}},
                                   {"x", {FG_F32, 1, {3}}}};
        const void *const values[] = {(float[6]){0}};
        const fg_dataset_spec first = {.count = 2, .fields = &fields[0], .field_count = 1};
        const fg_dataset_spec second = {.count = 2, .fields = &fields[i], .field_count = 1};
        fg_dataset *two[3] = {NULL, NULL, NULL};
        fgt_ok(fg_dataset_from_arrays(&first, values, FG_COPY, &two[FG_TRAIN], &err));
        fgt_ok(fg_dataset_from_arrays(&second, values, FG_COPY, &two[FG_VAL], &err));
        assert_int_equal(fg_pack_datasets(two, "two", path, NULL, &count, &err),
                         i == 0 ? FG_OK : FG_EINVAL);
        fg_dataset_destroy(two[FG_TRAIN]);
        fg_dataset_destroy(two[FG_VAL]);
        (void)remove(path);
    }
}

/* Ends a build after *self samples. */
static bool stop_at(void *self, const fg_pack_progress *progress)
{
    return progress->done != *(const int64_t *)self;
}

static int64_t fails_at, added;
static fg_status read_counted(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    (void)self;
    (void)err;
    const int64_t value = index + added;
    memcpy(out_fields[0], &value, sizeof value);
    return index == fails_at ? FG_EIO : FG_OK;
}

static size_t read_all(const char *path, unsigned char *out, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(out, 1, capacity, file);
    assert_int_equal(fclose(file), 0);
    return size;
}

static void an_interrupted_pack_is_continued(void **state)
{
    (void)state;
    enum { LARGE = 1 << 17 };
    static unsigned char a[LARGE], b[LARGE];
    static const fg_dataset_ops ops = {.read = read_counted};
    const fg_field field = {.name = "x", .type = {.dtype = FG_S64}};
    const fg_dataset_spec spec = {.count = 600, .fields = &field, .field_count = 1};
    fg_error err = {0};
    fg_dataset *all[3] = {NULL, NULL, NULL};
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &all[FG_TRAIN], &err));
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &all[FG_TEST], &err));
    const char *whole = path_of("whole.pack");
    const char *path = path_of("parts.pack");
    fails_at = -1;
    fgt_ok(fg_pack_datasets(all, "counted", whole, NULL, NULL, &err));
    const int64_t stops[] = {300, 550};
    for (int i = 0; i < 2; i++) {
        fails_at = stops[i];
        assert_int_equal(fg_pack_datasets(all, "counted", path, NULL, NULL, &err), FG_EIO);
    }
    fails_at = 550; /* of the test samples, too */
    assert_int_equal(fg_pack_datasets(all, "counted", path, NULL, NULL, &err), FG_EIO);
    fails_at = -1;
    assert_int_equal(fg_pack_datasets(all, "other", path, NULL, NULL, &err), FG_EINVAL);
    added = 1; /* the same source with other contents */
    assert_int_equal(fg_pack_datasets(all, "counted", path, NULL, NULL, &err), FG_EINVAL);
    assert_non_null(strstr(err.message,
                           "record 0 of the partial pack is not the same as in "
                           "'counted', which has changed since packing was interrupted: "
                           "start over (restart, --restart)"));
    added = 0;
    int64_t count = 0, stop = 800; /* among the test samples */
    const fg_pack_arrays_options stopped = {
        .progress = stop_at, .progress_self = &stop, .progress_s = 1e-9};
    assert_int_equal(fg_pack_datasets(all, "counted", path, &stopped, NULL, &err), FG_ESTOPPED);
    fgt_ok(fg_pack_datasets(all, "counted", path, NULL, &count, &err));
    assert_int_equal(count, 1200);
    const size_t size = read_all(whole, a, LARGE);
    assert_int_equal(read_all(path, b, LARGE), size);
    assert_memory_equal(a, b, size);
    assert_int_equal(fg_pack_datasets(all, "counted", path, NULL, NULL, &err), FG_EINVAL);
    const fg_pack_arrays_options o = {.limit = 2, .replace = true};
    fgt_ok(fg_pack_datasets(all, "counted", path, &o, &count, &err));
    assert_int_equal(count, 4);
    const int64_t least = fg_dataset_count(all[FG_TRAIN]);
    const fg_pack_arrays_options more = {.limit = least + 1, .replace = true};
    fgt_ok(fg_pack_datasets(all, "counted", path, &more, &count, &err));
    assert_int_equal(count, 1200);
    fg_dataset_destroy(all[FG_TRAIN]);
    fg_dataset_destroy(all[FG_TEST]);
}

/* Samples of more than 4 KiB whose last byte alone has changed. */
static void all_of_a_sample_is_compared(void **state)
{
    enum { BYTES = 5000 };
    static uint8_t values[2 * BYTES];
    const fg_field field = {"x", {FG_U8, 1, {BYTES}}};
    const fg_dataset_spec spec = {.count = 2, .fields = &field, .field_count = 1};
    const char *path = path_of("end.pack");
    (void)state;
    for (int last = 0; last < 2; last++) {
        fg_error err = {0};
        fg_dataset *all[3] = {NULL, NULL, NULL};
        int64_t stop = 1 - last;
        values[2 * BYTES - 1] = values[BYTES - 1] = (uint8_t)last;
        fgt_ok(
            fg_dataset_from_arrays(&spec, (const void *const[]){values}, FG_COPY, &all[0], &err));
        const fg_pack_arrays_options o = {
            .progress = stop_at, .progress_self = &stop, .progress_s = FG_ZERO};
        assert_int_equal(fg_pack_datasets(all, "s", path, &o, NULL, &err),
                         last == 0 ? FG_ESTOPPED : FG_EINVAL);
        assert_string_equal(err.message,
                            last == 0
                                ? "stopped after 1 of 2 samples: start again to continue"
                                : "record 0 of the partial pack is not the same as in 's', which "
                                  "has changed since packing was interrupted: start over (restart, "
                                  "--restart)");
        fg_dataset_destroy(all[0]);
    }
}

/* ---- fg_pack_build --------------------------------------------------------------------------- */

/* Tokens go through fg_pack_build: an interrupted pack is continued or discarded. */
static void a_pack_of_tokens_is_started_again(void **state)
{
    fg_error err = {0};
    fg_pack_built built;
    int64_t stop = 2, never = 0;
    const char *path = path_of("again.pack");
    char text[512];
    (void)state;
    (void)snprintf(text, sizeof text, "%s/again.txt", test_folder());
    fgt_write(text, "0123456789", 10);
    fg_pack_build_options o = {
        .sequence = 3, .progress_s = FG_ZERO, .progress = stop_at, .progress_self = &stop};
    assert_int_equal(fg_pack_build(text, path, &o, &built, &err), FG_ESTOPPED);
    o.sequence = 2;
    o.progress_self = &never;
    assert_int_equal(fg_pack_build(text, path, &o, &built, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "again.pack.partial' was written from other inputs or with "
                                        "other options: restart (--restart) to discard it"));
    o.restart = true;
    fgt_ok(fg_pack_build(text, path, &o, &built, &err));
    assert_true(built.sample_count == 4 && built.record_count == 4 && !built.is_set);
    o.restart = false;
    assert_int_equal(fg_pack_build(text, path, &o, &built, &err), FG_EINVAL);
    fgt_message_is(err.message, "'~/again.pack' exists: remove it, replace it (--replace), or "
                                "choose another name");
}

/* The options that samples of any kind have. */
static void limits_and_shards_of_tokens(void **state)
{
    fg_error err = {0};
    fg_pack_built built;
    const char *path = path_of("limited.pack");
    char text[512];
    (void)state;
    (void)snprintf(text, sizeof text, "%s/limited.txt", test_folder());
    fgt_write(text, "0123456789", 10);
    fg_pack_build_options o = {.sequence = 2, .replace = true, .limit = 3};
    fgt_ok(fg_pack_build(text, path, &o, &built, &err));
    assert_int_equal(built.sample_count, 3);
    o.shard_bytes = 4180; /* 4096, a header of 80 bytes, and 3: one record each */
    fgt_ok(fg_pack_build(text, path, &o, &built, &err));
    assert_true(built.is_set && built.sample_count == 3);
    fg_pack *pack = open_pack(path);
    assert_int_equal(fg_pack_info_of(pack)->shard_count, 3);
    check_record(pack, 2, FG_TRAIN, FG_PACK_NO_LABEL, "456", 3);
    fg_pack_close(pack);
}

/* Each option of images alone is refused for arrays. */
static void options_of_images_are_refused(void **state)
{
    static const fg_pack_build_options rows[] = {
        {.codec = FG_PACK_CHOICE_RAW},
        {.presize = {.rule = FG_IMAGE_PRESIZE_SHORT, .size = 9}},
        {.variant_count = 2, .presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 9}},
        {.test_fraction = 0.1},
        {.val_fraction = 0.5, .stratify = true}};
    fg_error err = {0};
    const char *folder = new_folder("plain");
    (void)state;
    write_npy(folder, "x.npy", FG_F32, 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(fg_pack_build(folder, path_of("plain.pack"), &rows[i], NULL, &err),
                         FG_EINVAL);
        fgt_message_is(err.message, "'~/plain' has arrays: codec, presize, variants, a test split "
                                    "and stratify are for images");
    }
    const fg_pack_build_options good = {.variant_count = 1, .val_fraction = 0.5};
    fgt_ok(fg_pack_build(folder, path_of("plain.pack"), &good, NULL, &err));
    fg_pack *pack = open_pack(path_of("plain.pack"));
    fg_pack_entry entry;
    fgt_ok(fg_pack_entry_at(pack, 2, &entry, &err));
    assert_int_equal(entry.split, FG_VAL);
    fg_pack_close(pack);
}

typedef struct seen {
    int calls, stops_at;
    fg_pack_progress last;
} seen;

static bool see(void *self, const fg_pack_progress *progress)
{
    seen *s = self;
    s->last = *progress;
    return ++s->calls != s->stops_at;
}

/* Called after each sample, also of a pack that was stopped and continued. */
static void progress_is_reported(void **state)
{
    (void)state;
    char folder[4096], expected[4200], text[160];
    const char *path = path_of("seen.pack");
    fg_error err = {0};
    seen s = {.stops_at = 1};
    (void)snprintf(folder, sizeof folder, "%s", new_folder("progress"));
    write_npy(folder, "x.npy", FG_F32, 2, (int64_t[]){3, 2}, (float[]){1, 2, 3, 4, 5, 6});
    write_npy(folder, "val_x.npy", FG_F32, 2, (int64_t[]){1, 2}, (float[]){7, 8});
    const fg_pack_build_options o = {.progress_s = FG_ZERO, .progress = see, .progress_self = &s};
    assert_int_equal(fg_pack_build(folder, path, &o, NULL, &err), FG_ESTOPPED);
    assert_string_equal(err.message, "stopped after 1 of 4 samples: start again to continue");
    s = (seen){.stops_at = -1};
    fgt_ok(fg_pack_build(folder, path, &o, NULL, &err));
    assert_int_equal(s.calls, 3);
    assert_true(s.last.done == 4 && s.last.total == 4 && s.last.size_bytes == 24);
    assert_true(s.last.rate > 0 && s.last.remaining_s >= 0 && s.last.remaining_s < 1e-9);
    fg_pack *pack = NULL;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    (void)snprintf(expected, sizeof expected, "{\"source\":\"%s\",", folder);
    assert_non_null(strstr(fg_pack_info_of(pack)->metadata, expected));
    fg_pack_close(pack);
    s.last.rate = 12;
    assert_string_equal(fg_pack_progress_text(&s.last, text, sizeof text),
                        "4/4 samples, 12/s, 24 B");
}

static fg_status pack_again(void *self, fg_error *err)
{
    const fg_pack_arrays_options o = {.replace = true, .restart = true, .val_fraction = 0.5};
    char out[4096];
    (void)snprintf(out, sizeof out, "%s/out.pack", (const char *)self);
    return fg_pack_arrays(self, out, &o, NULL, err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s", new_folder("memory"));
    write_npy(folder, "x.npy", FG_F32, 2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4});
    write_npy(folder, "y.npy", FG_S64, 1, (int64_t[]){2}, (int64_t[]){0, 1});
    fgt_fault_loop(pack_again, folder);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(npy_files_become_records),
    cmocka_unit_test(each_split_has_its_targets),
    cmocka_unit_test(sources_are_recognized_by_names),
    cmocka_unit_test(cifar_is_packed_and_read_as_a_dataset),
    cmocka_unit_test(cifar100_has_its_fine_labels),
    cmocka_unit_test(idx_files_are_found),
    cmocka_unit_test(validation_samples_are_held_out),
    cmocka_unit_test(held_out_samples_depend_on_the_seed),
    cmocka_unit_test(labels_and_sizes_of_fields),
    cmocka_unit_test(tokens_have_a_type),
    cmocka_unit_test(one_file_of_tokens_is_read),
    cmocka_unit_test(tokens_become_overlapping_windows),
    cmocka_unit_test(tokens_of_other_files),
    cmocka_unit_test(mistakes_are_refused),
    cmocka_unit_test(other_fields_are_refused),
    cmocka_unit_test(an_interrupted_pack_is_continued),
    cmocka_unit_test(all_of_a_sample_is_compared),
    cmocka_unit_test(a_pack_of_tokens_is_started_again),
    cmocka_unit_test(limits_and_shards_of_tokens),
    cmocka_unit_test(options_of_images_are_refused),
    cmocka_unit_test(progress_is_reported),
    cmocka_unit_test(every_allocation_may_fail),
};
FGT_MAIN(tests)
