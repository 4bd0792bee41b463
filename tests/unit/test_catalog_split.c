/* Splits: targets, groups, classes, and independence of the order of the source.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/data.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/file.h"
#include "catalog/class_counts.h"
#include "catalog/draft.h"
#include "catalog_text.h"

enum { COUNT = 400 };

static fg_error err;
static const char *root;

/* One file is enough: the samples have separate names. */
static int make_file(void **state)
{
    (void)state;
    root = fgt_temp_folder();
    fgt_write(fgt_path(root, "a.jpg"), "A", 1);
    return 0;
}

/* Sample i has class i % classes and, with group_size > 0, group i / group_size. */
static fg_catalog *make(int count, int classes, int group_size, bool reverse)
{
    fgi_buf text = {0};
    fg_catalog *catalog = NULL;
    fgi_buf_puts(&text, "path,name,label,group,split\n");
    for (int k = 0; k < count; k++) {
        const int i = reverse ? count - 1 - k : k;
        fgi_buf_printf(&text, "a.jpg,s%d,%d,", i, i % classes);
        if (group_size > 0)
            fgi_buf_printf(&text, "g%d", i / group_size);
        fgi_buf_puts(&text, ",\n");
    }
    const char *path = fgt_path(root, "m.csv");
    fgt_write(path, text.data, text.size);
    fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
    fgi_buf_fini(&text);
    return catalog;
}

static void count_splits(const uint8_t *splits, int count, int out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < count; i++)
        out[splits[i]]++;
}

static void targets_are_met_exactly(void **state)
{
    (void)state;
    uint8_t splits[COUNT], other[COUNT];
    int counts[3];
    fg_catalog *catalog = make(COUNT, 3, 0, false);
    fg_catalog_split_options options = {.val_fraction = 0.1, .test_fraction = 0.0263};
    fgt_ok(fg_catalog_split(catalog, &options, splits, &err));
    count_splits(splits, COUNT, counts);
    assert_int_equal(counts[FG_VAL], 40);
    assert_int_equal(counts[FG_TEST], 11); /* of 10.52 */
    fgt_ok(fg_catalog_split(catalog, &options, other, &err));
    assert_memory_equal(splits, other, COUNT);
    options.seed = 1;
    fgt_ok(fg_catalog_split(catalog, &options, other, &err));
    assert_true(memcmp(splits, other, COUNT) != 0);
    fgt_ok(fg_catalog_split(catalog, NULL, other, &err));
    count_splits(other, COUNT, counts);
    assert_int_equal(counts[FG_TRAIN], COUNT);
    fg_catalog_close(catalog);
}

static void the_order_of_the_source_has_no_influence(void **state)
{
    (void)state;
    uint8_t splits[COUNT], reversed[COUNT];
    const fg_catalog_split_options options = {
        .val_fraction = 0.2, .test_fraction = 0.1, .seed = 5, .stratify = true};
    fg_catalog *catalog = make(COUNT, 4, 3, false), *other = make(COUNT, 4, 3, true);
    fgt_ok(fg_catalog_split(catalog, &options, splits, &err));
    fgt_ok(fg_catalog_split(other, &options, reversed, &err));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(splits[i], reversed[COUNT - 1 - i]);
    fg_catalog_close(catalog);
    fg_catalog_close(other);
}

static void groups_stay_together(void **state)
{
    (void)state;
    uint8_t splits[COUNT];
    int counts[3];
    fg_catalog *catalog = make(COUNT, 5, 7, false);
    const fg_catalog_split_options options = {.val_fraction = 0.25, .test_fraction = 0.25};
    fgt_ok(fg_catalog_split(catalog, &options, splits, &err));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(splits[i], splits[i / 7 * 7]);
    count_splits(splits, COUNT, counts);
    assert_in_range(counts[FG_VAL], 97, 103); /* within half a group of 100 */
    assert_in_range(counts[FG_TEST], 97, 103);
    fg_catalog_close(catalog);
}

static void classes_have_the_same_fractions(void **state)
{
    (void)state;
    uint8_t splits[COUNT];
    int64_t all[7], val[7], train[7];
    fg_catalog *catalog = make(COUNT, 7, 0, false);
    const fg_catalog_split_options options = {.val_fraction = 0.3, .stratify = true};
    fgt_ok(fg_catalog_split(catalog, &options, splits, &err));
    assert_int_equal(fg_catalog_class_counts(catalog, NULL, -1, all), 0);
    assert_int_equal(fg_catalog_class_counts(catalog, splits, FG_VAL, val), 0);
    (void)fg_catalog_class_counts(catalog, splits, FG_TRAIN, train);
    int64_t total = 0;
    for (int k = 0; k < 7; k++) {
        fgt_close("class", (double)val[k], 0.3 * (double)all[k], 1, 0);
        assert_int_equal(all[k], val[k] + train[k]);
        total += val[k];
    }
    assert_int_equal(total, 120);
    fg_catalog_close(catalog);
}

/* The class of a group is that of most of its samples: one of b and c, one of a and d is held out.
 */
static void groups_are_of_the_class_of_most_samples(void **state)
{
    (void)state;
    static const int labels[4][3] = {{0, 0, 0}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}};
    char text[512] = "path,name,label,group\n";
    fg_catalog *catalog = NULL;
    uint8_t splits[12];
    for (int i = 0; i < 12; i++)
        (void)snprintf(text + strlen(text), 32, "a.jpg,%d,%d,%c\n", i, labels[i / 3][i % 3],
                       "abcd"[i / 3]);
    fgt_write(fgt_path(root, "c.csv"), text, strlen(text));
    fgt_ok(fg_catalog_open(fgt_path(root, "c.csv"), NULL, &catalog, &err));
    for (uint64_t seed = 0; seed < 8; seed++) {
        const fg_catalog_split_options options = {
            .val_fraction = 0.5, .seed = seed, .stratify = true};
        fgt_ok(fg_catalog_split(catalog, &options, splits, &err));
        assert_true((splits[0] == FG_VAL) + (splits[9] == FG_VAL) == 1);
        assert_true((splits[3] == FG_VAL) + (splits[6] == FG_VAL) == 1);
    }
    fg_catalog_close(catalog);
}

/* Opens a manifest, splits it and compares the splits, a digit each. */
static void check(const char *text, const fg_catalog_split_options *options, const char *expected)
{
    const char *path = fgt_path(root, "c.csv");
    fg_catalog *catalog = NULL;
    uint8_t splits[64];
    char found[65] = "";
    fgt_write(path, text, strlen(text));
    fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
    fgt_ok(fg_catalog_split(catalog, options, splits, &err));
    for (int64_t i = 0; i < fg_catalog_count(catalog); i++)
        found[i] = (char)('0' + splits[i]);
    assert_string_equal(found, expected);
    fg_catalog_close(catalog);
}

static void existing_splits_are_kept(void **state)
{
    (void)state;
    const char *text = "path,name,split,group\na.jpg,a,val,\na.jpg,b,test,g\na.jpg,c,train,\n"
                       "a.jpg,d,,g\na.jpg,e,,\n";
    check(text, NULL, "12020");
    const char *path = fgt_path(root, "c.csv");
    fg_catalog *catalog = NULL;
    uint8_t splits[8];
    text = "path,name,split,group\na.jpg,a,val,g\na.jpg,b,test,g\n";
    fgt_write(path, text, strlen(text));
    fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
    assert_int_equal(fg_catalog_split(catalog, NULL, splits, &err), FG_EINVAL);
    fgt_message_is(err.message, "fg_catalog_split: group 'g' is in val and in test");
    fg_catalog_close(catalog);
}

/* Units in the order of XXH3-128 of "\0\0\0\0\0\0\0\0" and the name, computed with python-xxhash
 * 4.1.0: sorted(names, key=lambda n: xxhash.xxh3_128_intdigest(bytes(8) + n.encode())). */
static void the_documented_formula_is_used(void **state)
{
    (void)state;
    check("path,name\na.jpg,a\na.jpg,b\na.jpg,c\na.jpg,d\na.jpg,e\na.jpg,f\na.jpg,g\na.jpg,h\n",
          &(fg_catalog_split_options){.test_fraction = 0.25, .val_fraction = 0.375}, "21001210");
}

static void impossible_splits_are_refused(void **state)
{
    (void)state;
    uint8_t splits[4];
    fg_catalog *catalog = make(4, 2, 4, false);
    static const struct {
        fg_catalog_split_options options;
        const char *part;
    } cases[] = {
        {{.val_fraction = 0.25},
         "fg_catalog_split: the split val would be empty: the 4 samples form only 1 group, "
         "counting samples without a group"},
        {{.test_fraction = 0.1},
         "fg_catalog_split: the split test would be empty: the 4 samples form only 1 group, "
         "counting samples without a group"},
        {{.val_fraction = 0.9},
         "fg_catalog_split: the split train would be empty: the 4 samples form only 1 group, "
         "counting samples without a group"},
        {{.val_fraction = -0.1},
         "fg_catalog_split: expected fractions of at least 0 whose sum is below 1"},
        {{.val_fraction = 0.5, .test_fraction = 0.5},
         "fg_catalog_split: expected fractions of at least 0 whose sum is below 1"},
        {{.val_fraction = 1},
         "fg_catalog_split: expected fractions of at least 0 whose sum is below 1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(fg_catalog_split(catalog, &cases[i].options, splits, &err), FG_EINVAL);
        fgt_message_is(err.message, cases[i].part);
    }
    fg_catalog_close(catalog);
}

/* The message counts samples and groups. */
static void one_group_is_not_divided(void **state)
{
    static const fg_catalog_split_options half = {.val_fraction = 0.25};
    uint8_t splits[2];
    (void)state;
    for (int count = 1; count <= 2; count++) {
        fg_catalog *catalog = make(count, 1, 2, false);
        assert_int_equal(fg_catalog_split(catalog, &half, splits, &err), FG_EINVAL);
        fgt_message_is(err.message,
                       count == 1 ? "fg_catalog_split: the split val would be empty: the 1 sample "
                                    "forms only 1 group, counting samples without a group"
                                  : "fg_catalog_split: the split val would be empty: the 2 samples "
                                    "form only 1 group, counting samples without a group");
        fg_catalog_close(catalog);
    }
}

static fg_status split(void *catalog, fg_error *error)
{
    uint8_t splits[COUNT];
    return fg_catalog_split(catalog, &(fg_catalog_split_options){.val_fraction = 0.5}, splits,
                            error);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fg_catalog *catalog = make(6, 2, 2, false);
    fgt_fault_loop(split, catalog);
    fg_catalog_close(catalog);
}

/* ---- counts in words ------------------------------------------------------------------------- */

static void hear(void *self, fg_log_level level, const char *line)
{
    fgi_buf_printf(self, "%s%s\n", level == FG_LOG_WARNING ? "!" : "", line);
}

/* What is said of counts, a digit for each class: names "a", "b" ..., if there are any. */
static void counts_say(const char *train, const char *val, const char *test, const char *names,
                       const char *expected)
{
    fgi_class_counts c;
    fgi_buf text = {0};
    char name[20][2];
    const int64_t n = (int64_t)strlen(train);
    fgt_ok(fgi_class_counts_init(&c, "image", n, &err));
    for (int64_t i = 0; i < n; i++) {
        name[i][0] = names[i];
        name[i][1] = '\0';
        c.names[i] = names[i] != '-' ? name[i] : NULL;
        c.train[i] = train[i] - '0';
        c.val[i] = *val != '\0' ? val[i] - '0' : 0;
        c.test[i] = *test != '\0' ? test[i] - '0' : 0;
    }
    fgi_class_counts_say(&c, hear, &text);
    assert_string_equal(text.data, expected);
    fgi_buf_fini(&text);
    fgi_class_counts_fini(&c);
}

static void classes_are_counted_in_words(void **state)
{
    (void)state;
    counts_say("75", "", "", "cd", "12 training images of 2 classes: c 7, d 5\n");
    counts_say("1", "", "", "c",
               "1 training image of 1 class: c 1\n!all images are of one class, c\n");
    counts_say("32", "10", "01", "c-",
               "5 training images of 2 classes: c 3, 1 2\n1 validation image: c 1, 1 0\n"
               "1 test image: c 0, 1 1\n"
               "!no validation images of class 1: validation does not measure it\n");
    counts_say("300", "000", "111", "c,e",
               "3 training images of 3 classes: c 3, ',' 0, e 0\n3 test images: c 1, ',' 1, e 1\n"
               "!all images are of one class, c\n"
               "!no training images of the classes ',', e: the model cannot learn them\n");
}

static void classes_that_lack_samples_are_named(void **state)
{
    (void)state;
    /* a class that is not learned needs no validation; one that only validation has is another */
    counts_say("30", "01", "", "cd",
               "3 training images of 2 classes: c 3, d 0\n1 validation image: c 0, d 1\n"
               "!no training images of class d: the model cannot learn it\n"
               "!no validation images of class c: validation does not measure it\n");
    counts_say("00", "20", "", "cd",
               "0 training images of 2 classes: c 0, d 0\n2 validation images: c 2, d 0\n"
               "!all images are of one class, c\n");
    counts_say("123456789111", "", "", "abcdefghijkl",
               "48 training images of 12 classes: a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j "
               "1, k 1, l 1\n");
    counts_say("2123456789119", "", "", "abcdefghijklm",
               "58 training images of 13 classes: from 1 (b) to 9 (j)\n");
    counts_say("1000000", "", "", "abcdefg",
               "1 training image of 7 classes: a 1, b 0, c 0, d 0, e 0, f 0, g 0\n"
               "!all images are of one class, a\n"
               "!no training images of the classes b, c, d, e, f, g: the model cannot learn "
               "them\n");
    counts_say("10000000", "", "", "abcdefgh",
               "1 training image of 8 classes: a 1, b 0, c 0, d 0, e 0, f 0, g 0, h 0\n"
               "!all images are of one class, a\n"
               "!no training images of the classes b, c, d, e, f, g and 1 more: the model cannot "
               "learn them\n");
}

/* The first name is shown as far as there is room. */
static void names_are_shown_with_limits(void **state)
{
    (void)state;
    char shown[40];
    static const char *const names[] = {"0123456789012345678901234567890123456789", "b"};
    static const char *const words[] = {"ab", "cd", "ef", "gh", "ij"};
    assert_string_equal(fgi_shown_names(names, 2, shown, sizeof(shown)),
                        "'01234567890123456789012345678901234567");
    assert_string_equal(fgi_shown_names(words, 5, shown, sizeof(shown)),
                        "'ab', 'cd', 'ef' and 2 more");
    assert_string_equal(fgi_shown_names(words, 2, shown, sizeof(shown)), "'ab' and 'cd'");
}

/* By the first label; a sample without a split is for training. */
/* A group with as many samples of class 1 as of class 0 is of class 0: one of the groups a and b is
 * for validation, and one of c and d. */
static void a_group_of_two_classes_is_of_the_smaller(void **state)
{
    const char *text = "path,name,label,group\na.jpg,1,1,a\na.jpg,2,0,a\na.jpg,3,0,b\n"
                       "a.jpg,4,0,b\na.jpg,5,1,c\na.jpg,6,1,c\na.jpg,7,1,d\na.jpg,8,1,d\n";
    fg_catalog *catalog = NULL;
    uint8_t splits[8];
    (void)state;
    fgt_write(fgt_path(root, "t.csv"), text, strlen(text));
    fgt_ok(fg_catalog_open(fgt_path(root, "t.csv"), NULL, &catalog, &err));
    for (uint64_t seed = 0; seed < 8; seed++) {
        const fg_catalog_split_options options = {
            .val_fraction = 0.5, .seed = seed, .stratify = true};
        fgt_ok(fg_catalog_split(catalog, &options, splits, &err));
        assert_int_equal((splits[0] == FG_VAL) + (splits[2] == FG_VAL), 1);
        assert_int_equal((splits[4] == FG_VAL) + (splits[6] == FG_VAL), 1);
    }
    fg_catalog_close(catalog);
}

static void classes_of_a_catalog_are_counted(void **state)
{
    (void)state;
    const char *text = "path,name,labels,split\na.jpg,1,x;y,\na.jpg,2,y,train\na.jpg,3,y,val\n"
                       "a.jpg,4,x,test\na.jpg,5,,train\n";
    const uint8_t splits[5] = {FG_TEST, FG_VAL, FG_VAL, FG_TRAIN, FG_TRAIN};
    fg_catalog *catalog = NULL;
    fgi_class_counts c;
    fgt_write(fgt_path(root, "k.csv"), text, strlen(text));
    fgt_ok(fg_catalog_open(fgt_path(root, "k.csv"), NULL, &catalog, &err));
    for (int k = 0; k < 2; k++) {
        static const int64_t expected[2][6] = {{1, 1, 0, 1, 1, 0}, {1, 0, 0, 2, 1, 0}};
        fgt_ok(fgi_class_counts_of(catalog, k == 0 ? NULL : splits, &c, &err));
        assert_string_equal(c.unit, "image");
        assert_string_equal(c.names[1], "y");
        for (int i = 0; i < 2; i++) {
            assert_int_equal(c.train[i], expected[k][i]);
            assert_int_equal(c.val[i], expected[k][2 + i]);
            assert_int_equal(c.test[i], expected[k][4 + i]);
        }
        assert_int_equal(fgi_class_counts_only(&c), -1);
        fgi_class_counts_fini(&c);
    }
    int64_t counts[2]; /* of all labels of a sample */
    assert_int_equal(fg_catalog_class_counts(catalog, NULL, -1, counts), 1);
    assert_true(counts[0] == 2 && counts[1] == 3);
    assert_int_equal(fg_catalog_class_counts(catalog, splits, FG_TEST, counts), 0);
    assert_true(counts[0] == 1 && counts[1] == 1);
    assert_int_equal(fg_catalog_class_counts(catalog, splits, FG_TRAIN, counts), 1);
    assert_true(counts[0] == 1 && counts[1] == 0);
    fg_catalog_close(catalog);
}

enum { NO = FG_CATALOG_NO_SPLIT };

static const struct {
    const char *name;
    int is, has; /* the split that it is, or has as a word */
} split_names[] = {{"train", FG_TRAIN, FG_TRAIN},
                   {"TRAINING", FG_TRAIN, FG_TRAIN},
                   {"val", FG_VAL, FG_VAL},
                   {"Valid", FG_VAL, FG_VAL},
                   {"validation", FG_VAL, FG_VAL},
                   {"test", FG_TEST, FG_TEST},
                   {"testing", FG_TEST, FG_TEST},
                   {"tests", NO, NO},
                   {"trai", NO, NO},
                   {"", NO, NO},
                   {"seg_train", NO, FG_TRAIN},
                   {"my test", NO, FG_TEST},
                   {"a.val.b", NO, FG_VAL},
                   {"x-testing-0", NO, FG_TEST},
                   {"train_val", NO, FG_TRAIN},
                   {"contest", NO, NO},
                   {"_train", NO, FG_TRAIN},
                   {"a__b", NO, NO},
                   {"train-00.tar", NO, FG_TRAIN},
                   {"dev", NO, NO}};
static const char *const image_names[] = {"a.jpg", "a.jpeg", "a.jfif", "a.png",  "a.ppm",
                                          "a.bmp", "a.pgm",  "a.tif",  "a.tiff", "a.webp",
                                          "a.gif", "A.JPG",  "a.b.Gif"},
                         *const foreign[] = {"heic", "heif", "avif", "jxl", "jp2", "j2k",
                                             "dng",  "cr2",  "cr3",  "nef", "arw", "orf",
                                             "rw2",  "raf",  "psd",  "tga", "ico", "svg",
                                             "exr",  "hdr",  "dcm",  "pcx", "xcf"},
                         *const others[] = {".jpg", "jpg", "a.jpg ", "a.jp", "a.", "", "a.txt"},
                         *const systems[] = {
                             "__MACOSX",     "@eaDir",    "#recycle",   "@Recycle",
                             "$RECYCLE.BIN", "#snapshot", "lost+found", "System Volume Information",
                             "__pycache__"};

/* ---- names ----------------------------------------------------------------------------------- */

static void names_have_meanings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof split_names / sizeof split_names[0]; i++)
        if (fgi_split_of_name(fgi_str_of(split_names[i].name)) != split_names[i].is ||
            fgi_split_in_name(split_names[i].name) != split_names[i].has)
            fail_msg("%s", split_names[i].name);
    for (size_t i = 0; i < sizeof image_names / sizeof image_names[0]; i++)
        assert_true(fgi_is_image_name(fgi_str_of(image_names[i])) &&
                    !fgi_foreign_image(image_names[i]));
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "x.%s", foreign[i]);
        name[2] = (char)(name[2] - 'a' + 'A'); /* of any case */
        assert_string_equal(fgi_foreign_image(name), foreign[i]);
        assert_false(fgi_is_image_name(fgi_str_of(name)));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(fgi_is_image_name(fgi_str_of(others[i])) || fgi_foreign_image(others[i]));
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        assert_true(fgi_is_system_folder(systems[i]));
    assert_false(fgi_is_system_folder("__macosx") || fgi_is_system_folder("eaDir"));
}

/* As many as there is room for, and the first in any case. */
static void lists_of_names_have_a_limit(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c\n"};
    char shown[200];
    assert_string_equal(fgi_shown_names(names, 0, shown, sizeof shown), "");
    assert_string_equal(fgi_shown_names(names, 1, shown, sizeof shown), "'a'");
    assert_string_equal(fgi_shown_names(names, 2, shown, sizeof shown), "'a' and 'b'");
    assert_string_equal(fgi_shown_names(names, 3, shown, sizeof shown), "'a', 'b' and 'c\\n'");
    assert_string_equal(fgi_shown_names(names, 3, shown, 39), "'a', 'b' and 'c\\n'");
    assert_string_equal(fgi_shown_names(names, 3, shown, 38), "'a', 'b' and 1 more");
    assert_string_equal(fgi_shown_names(names, 3, shown, 29), "'a', 'b' and 1 more");
    assert_string_equal(fgi_shown_names(names, 3, shown, 28), "'a' and 2 more");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(classes_are_counted_in_words),
    cmocka_unit_test(classes_that_lack_samples_are_named),
    cmocka_unit_test(names_are_shown_with_limits),
    cmocka_unit_test(a_group_of_two_classes_is_of_the_smaller),
    cmocka_unit_test(classes_of_a_catalog_are_counted),
    cmocka_unit_test(names_have_meanings),
    cmocka_unit_test(lists_of_names_have_a_limit),
    cmocka_unit_test(targets_are_met_exactly),
    cmocka_unit_test(the_order_of_the_source_has_no_influence),
    cmocka_unit_test(groups_stay_together),
    cmocka_unit_test(classes_have_the_same_fractions),
    cmocka_unit_test(groups_are_of_the_class_of_most_samples),
    cmocka_unit_test(existing_splits_are_kept),
    cmocka_unit_test(the_documented_formula_is_used),
    cmocka_unit_test(impossible_splits_are_refused),
    cmocka_unit_test(one_group_is_not_divided),
    cmocka_unit_test(every_allocation_may_fail),
};

int main(void) { return cmocka_run_group_tests(tests, make_file, NULL) == 0 ? 0 : 1; }
