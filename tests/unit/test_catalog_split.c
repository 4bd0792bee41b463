/* Splits: targets, groups, classes, and independence of the order of the source.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/data.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/file.h"
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
    fg_catalog_destroy(catalog);
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
    fg_catalog_destroy(catalog);
    fg_catalog_destroy(other);
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
    fg_catalog_destroy(catalog);
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
    fg_catalog_destroy(catalog);
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
    fg_catalog_destroy(catalog);
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
    fg_catalog_destroy(catalog);
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
    assert_non_null(strstr(err.message, "group 'g' is in val and in test"));
    fg_catalog_destroy(catalog);
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
        {{.val_fraction = 0.25}, "the split val would be empty"},
        {{.test_fraction = 0.1}, "the split test would be empty"},
        {{.val_fraction = 0.9}, "the split train would be empty"},
        {{.val_fraction = -0.1}, "sum is below 1"},
        {{.val_fraction = 0.5, .test_fraction = 0.5}, "sum is below 1"},
        {{.val_fraction = 1}, "sum is below 1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(fg_catalog_split(catalog, &cases[i].options, splits, &err), FG_EINVAL);
        assert_non_null(strstr(err.message, cases[i].part));
    }
    fg_catalog_destroy(catalog);
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
    fg_catalog_destroy(catalog);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(targets_are_met_exactly),
    cmocka_unit_test(the_order_of_the_source_has_no_influence),
    cmocka_unit_test(groups_stay_together),
    cmocka_unit_test(classes_have_the_same_fractions),
    cmocka_unit_test(groups_are_of_the_class_of_most_samples),
    cmocka_unit_test(existing_splits_are_kept),
    cmocka_unit_test(the_documented_formula_is_used),
    cmocka_unit_test(impossible_splits_are_refused),
    cmocka_unit_test(every_allocation_may_fail),
};

int main(void) { return cmocka_run_group_tests(tests, make_file, NULL) == 0 ? 0 : 1; }
