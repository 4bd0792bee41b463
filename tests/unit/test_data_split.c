/* test_data_split.c - which rows a random split chooses: how many, of which classes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "base/alloc.h"
#include "data/dataset.h"

static fg_error err;

static const struct {
    int64_t count;
    double fraction;
    size_t val; /* 0: an error */
} split_sizes[] = {{2, 0.01, 1},  {2, 0.99, 1},  {3, 0.5, 2},   {10, 0.25, 3},
                   {10, 0.24, 2}, {10, 0.04, 1}, {10, 0.96, 9}, {1, 0.5, 0},
                   {0, 0.5, 0},   {5, 0, 0},     {5, 1, 0}};
static const char *const size_errors[] = {
    "cannot split a dataset of 1 sample: expected at least 2",
    "cannot split a dataset of 0 samples: expected at least 2",
    "val_fraction is 0: expected a number between 0 and 1",
    "val_fraction is 1: expected a number between 0 and 1",
};

/* The number of validation rows: rounded, at least one, and one is left. */
static void a_split_has_a_size(void **state)
{
    for (size_t i = 0; i < sizeof(split_sizes) / sizeof(split_sizes[0]); i++) {
        fgi_split split;
        const fg_split_options options = {.val_fraction = split_sizes[i].fraction, .seed = 1};
        const fg_status status = fgi_split_rows(split_sizes[i].count, NULL, &options, &split, &err);
        const size_t val = split.val_count;
        int64_t *rows = split.rows;
        assert_int_equal(status, split_sizes[i].val > 0 ? FG_OK : FG_EINVAL);
        assert_int_equal(val, split_sizes[i].val);
        if (split_sizes[i].val == 0)
            assert_string_equal(err.message, size_errors[i - 7]);
        int64_t sum = 0; /* each row once, both parts ascending */
        for (int64_t k = 0; rows != NULL && k < split_sizes[i].count; k++) {
            sum += (int64_t)1 << rows[k];
            assert_true(k == 0 || k == (int64_t)val || rows[k] > rows[k - 1]);
        }
        assert_int_equal(sum, rows != NULL ? ((int64_t)1 << split_sizes[i].count) - 1 : 0);
        fgi_free(rows);
    }
}

/* The largest remainders get what is left, the first classes those of equals. */
static void remainders_decide_between_classes(void **state)
{
    static const struct {
        int samples[3];
        double fraction;
        int val[3];
    } cases[] = {
        {{10, 10, 10}, 0.15, {2, 2, 1}}, /* 4.5 rounds to 5 */
        {{10, 10, 10}, 0.1, {1, 1, 1}},
        {{14, 10, 6}, 0.25, {4, 3, 1}}, /* 3.5, 2.5 and 1.5 of 8 */
        {{11, 10, 3}, 0.25, {3, 2, 1}}, /* 2.75, 2.5, 0.75 of 6 */
        {{1, 1, 20}, 0.2, {0, 0, 4}},
        {{2, 2, 2}, 0.9, {1, 1, 1}}, /* each keeps a sample for training */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int32_t labels[60];
        int count = 0, val[3] = {0};
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < cases[i].samples[c]; k++)
                labels[count++] = c;
        fgi_split split;
        const fgi_strata classes = {.count = 3, .labels = labels};
        const fg_split_options options = {.val_fraction = cases[i].fraction, .seed = 5};
        fgt_ok(fgi_split_rows(count, &classes, &options, &split, &err));
        for (size_t k = 0; k < split.val_count; k++)
            val[labels[split.rows[k]]]++;
        for (int c = 0; c < 3; c++)
            if (val[c] != cases[i].val[c])
                fail_msg("case %zu, class %d: %d", i, c, val[c]);
        fgi_free(split.rows);
    }
}

/* They are treated as the first class. */
static void labels_without_a_class_are_divided(void **state)
{
    static const int32_t labels[] = {0, INT32_MAX, INT32_MIN, 2, 1, 1, 1, 1};
    for (uint64_t seed = 0; seed < 10; seed++) {
        fgi_split split;
        int64_t first = 0;
        const fgi_strata classes = {.count = 2, .labels = labels};
        const fg_split_options options = {.val_fraction = 0.5, .seed = seed};
        fgt_ok(fgi_split_rows(8, &classes, &options, &split, &err));
        assert_int_equal(split.val_count, 4);
        for (size_t k = 0; k < split.val_count; k++)
            first += split.rows[k] < 4;
        assert_int_equal(first, 2);
        fgi_free(split.rows);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(labels_without_a_class_are_divided),
    cmocka_unit_test(a_split_has_a_size),
    cmocka_unit_test(remainders_decide_between_classes),
};
FGT_MAIN(tests)
