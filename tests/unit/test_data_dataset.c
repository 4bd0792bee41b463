/* Datasets: validation of specs, reading, ownership, subsets and splits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/data.h>
#include <fulgurite/sampling.h>
#include "base/alloc.h"
#include "data/dataset.h"

static fg_error err;

static const fg_field pair_fields[] = {{"x", {FG_F32, 1, {3}}}, {"y", {FG_S32, 0, {0}}}};
static const char *const pair_classes[] = {"cat", "dog"};

static fg_dataset_spec pair_spec(int64_t count)
{
    return (fg_dataset_spec){.count = count,
                             .fields = pair_fields,
                             .field_count = 2,
                             .class_count = 2,
                             .class_names = pair_classes};
}

/* Sample i is x = {3i, 3i+1, 3i+2}, y = i. */
static float pair_x[60][3];
static int32_t pair_y[60];

static fg_dataset *pair_dataset(fg_storage storage)
{
    for (int i = 0; i < 60; i++) {
        pair_y[i] = i;
        for (int k = 0; k < 3; k++)
            pair_x[i][k] = (float)(3 * i + k);
    }
    const fg_dataset_spec spec = pair_spec(60);
    fg_dataset *dataset;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){pair_x, pair_y}, storage, &dataset,
                                  &err));
    return dataset;
}

static void check_sample(const fg_dataset *dataset, int64_t index, int32_t expected)
{
    float x[3];
    int32_t y;
    fgt_ok(fg_dataset_read(dataset, index, (void *const[]){x, &y}, &err));
    assert_int_equal(y, expected);
    for (int k = 0; k < 3; k++)
        assert_true(x[k] == (float)(3 * expected + k));
}

static void arrays_become_samples(void **state)
{
    fg_dataset *dataset = pair_dataset(FG_BORROW);
    assert_int_equal(fg_dataset_count(dataset), 60);
    assert_int_equal(fg_dataset_field_count(dataset), 2);
    assert_string_equal(fg_dataset_field(dataset, 0)->name, "x");
    assert_int_equal(fg_dataset_field(dataset, 0)->type.dim[0], 3);
    assert_null(fg_dataset_field(dataset, 2));
    assert_null(fg_dataset_field(dataset, -1));
    assert_int_equal(fg_dataset_find_field(dataset, "y"), 1);
    assert_int_equal(fg_dataset_find_field(dataset, "z"), -1);
    assert_int_equal(fg_dataset_class_count(dataset), 2);
    assert_string_equal(fg_dataset_class_name(dataset, 1), "dog");
    assert_null(fg_dataset_class_name(dataset, 2));
    check_sample(dataset, 0, 0);
    check_sample(dataset, 59, 59);
    fg_dataset_destroy(dataset);
}

static void a_copy_does_not_follow_the_array(void **state)
{
    fg_dataset *copied = pair_dataset(FG_COPY), *borrowed = pair_dataset(FG_BORROW);
    pair_y[7] = 1000;
    int32_t y;
    float x[3];
    fgt_ok(fg_dataset_read(copied, 7, (void *const[]){x, &y}, &err));
    assert_int_equal(y, 7);
    fgt_ok(fg_dataset_read(borrowed, 7, (void *const[]){x, &y}, &err));
    assert_int_equal(y, 1000);
    fg_dataset_destroy(copied);
    fg_dataset_destroy(borrowed);
}

static void reading_outside_is_refused(void **state)
{
    fg_dataset *dataset = pair_dataset(FG_BORROW);
    float x[3];
    int32_t y;
    assert_int_equal(fg_dataset_read(dataset, 60, (void *const[]){x, &y}, &err), FG_EINVAL);
    assert_string_equal(err.message, "sample 60 does not exist: the dataset has 60");
    assert_int_equal(fg_dataset_read(dataset, -1, (void *const[]){x, &y}, NULL), FG_EINVAL);
    fg_dataset_destroy(dataset);
}

static int destroyed;
static void count_destroy(void *self) { destroyed += *(int *)self; }

static fg_status read_nothing(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    return FG_OK;
}

static const fg_dataset_ops nothing_ops = {.read = read_nothing, .destroy = count_destroy};

static void expect_refused(const fg_dataset_spec *spec, const char *message)
{
    int one = 1;
    fg_dataset *dataset = (fg_dataset *)&one;
    const int before = destroyed;
    assert_int_equal(fg_dataset_create(&nothing_ops, &one, spec, &dataset, &err), FG_EINVAL);
    assert_string_equal(err.message, message);
    assert_null(dataset);
    assert_int_equal(destroyed, before + 1); /* consumed nevertheless */
}

static void arrays_of_up_to_eight_fields(void **state)
{
    fg_field fields[8];
    const float values[8] = {0};
    const void *arrays[8];
    fg_dataset *dataset;
    for (int i = 0; i < 8; i++) {
        fields[i] = (fg_field){(const char *[]){"a", "b", "c", "d", "e", "f", "g", "h"}[i],
                               {FG_F32, 0, {0}}};
        arrays[i] = &values[i];
    }
    for (int count = 7; count <= 9; count++) {
        const fg_dataset_spec spec = {.count = 1, .fields = fields, .field_count = count};
        assert_int_equal(fg_dataset_from_arrays(&spec, arrays, FG_BORROW, &dataset, &err),
                         count < 9 ? FG_OK : FG_EINVAL);
        fg_dataset_destroy(dataset);
    }
    assert_string_equal(err.message, "the dataset has 9 fields: expected 1 to 8");
}

static void a_wrong_spec_is_named(void **state)
{
    fg_field fields[2] = {{"x", {FG_F32, 1, {3}}}, {"y", {FG_S32, 0, {0}}}};
    fg_dataset_spec spec = {.count = 1, .fields = fields, .field_count = 2};
    spec.field_count = 0;
    expect_refused(&spec, "the dataset has 0 fields: expected 1 to 8");
    spec.field_count = 9;
    expect_refused(&spec, "the dataset has 9 fields: expected 1 to 8");
    spec.field_count = 2;
    spec.count = -1;
    expect_refused(&spec, "the dataset has a count of -1: expected 0 or more");
    spec.count = 1;
    fields[1].name = "x";
    expect_refused(&spec, "two fields of the dataset are named 'x'");
    fields[1].name = "";
    expect_refused(&spec, "field 1 of the dataset has no name");
    fields[1].name = "y";
    fields[0].type.dim[0] = 0;
    expect_refused(&spec, "field 'x' has a dimension of 0: expected 1 or more");
    fields[0].type = (fg_type){FG_F32, 2, {INT64_MAX, INT64_MAX}};
    expect_refused(&spec, "a sample of field 'x' is larger than 1099511627776 bytes");
    fields[0].type = (fg_type){FG_F32, FG_MAX_RANK, {1, 1, 1, 1, 1, 1, 1, 1}};
    expect_refused(&spec, "field 'x' has rank 8: expected 0 to 7");
    fields[0].type = (fg_type){FG_DTYPE_NONE, 0, {0}};
    expect_refused(&spec, "field 'x' has no dtype");
}

/* Limits that are allowed: a sample of 2^40 bytes, no arrays of no samples. */
static void a_spec_may_be_extreme(void **state)
{
    int one = 1;
    fg_dataset *dataset;
    fg_field field = {"x", {FG_U8, 2, {INT64_C(1) << 20, INT64_C(1) << 20}}};
    fg_dataset_spec spec = {.fields = &field, .field_count = 1};
    fgt_ok(fg_dataset_create(&nothing_ops, &one, &spec, &dataset, &err));
    fg_dataset_destroy(dataset);
    field.type.dim[1]++;
    expect_refused(&spec, "a sample of field 'x' is larger than 1099511627776 bytes");
    spec = pair_spec(0);
    fgt_ok(
        fg_dataset_from_arrays(&spec, (const void *const[]){NULL, NULL}, FG_COPY, &dataset, &err));
    assert_int_equal(fg_dataset_count(dataset), 0);
    fg_dataset_destroy(dataset);
    spec.class_count = -1;
    expect_refused(&spec, "the dataset has -1 classes: expected 0 or more");
}

static void arrays_must_be_there(void **state)
{
    fg_dataset_spec spec = pair_spec(60);
    fg_dataset *dataset;
    assert_int_equal(
        fg_dataset_from_arrays(&spec, (const void *const[]){pair_x, NULL}, FG_COPY, &dataset, &err),
        FG_EINVAL);
    assert_string_equal(err.message, "the array of field 1 is NULL");
    assert_null(dataset);
    spec.count = INT64_MAX;
    assert_int_equal(fg_dataset_from_arrays(&spec, (const void *const[]){pair_x, pair_y}, FG_COPY,
                                            &dataset, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "the size of the array of field 0 is too large");
    int one = 1;
    spec.count = 1;
    const fg_dataset_ops nothing = {.destroy = count_destroy};
    assert_int_equal(fg_dataset_create(&nothing, &one, &spec, &dataset, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "the dataset has no read, gather or read_epoch function: expected "
                        "one");
}

/* A reader that fails on sample 3 with a message, on 4 without one, on 6 and 7 like a file of an
 * unsupported format and a missing one, and on 8 for lack of memory. */
static fg_status read_failing(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    if (index == 3)
        (void)snprintf(e->message, sizeof(e->message), "tape broke");
    *(int32_t *)out_fields[0] = (int32_t)index;
    if (index == 6)
        (void)snprintf(e->message, sizeof(e->message), "a HEIC file\nconvert it to JPEG");
    static const fg_status results[10] = {
        [3] = FG_EIO, [4] = FG_EFORMAT, [6] = FG_EUNSUPPORTED, [7] = FG_ENOTFOUND, [8] = FG_ENOMEM};
    return results[index];
}

static fg_status gather_failing(void *self, const int64_t *indices, size_t n,
                                void *const *out_fields, fg_error *e)
{
    return FG_EIO;
}

static fg_status read_in_epoch(void *self, int64_t epoch, int64_t index, void *const *out_fields,
                               fg_error *e)
{
    return FG_OK;
}

/* read_epoch is alone: with read or with gather, it is refused. */
static void a_reader_is_of_one_kind(void **state)
{
    const fg_field field = {"n", {FG_S32, 0, {0}}};
    const fg_dataset_spec spec = {.count = 10, .fields = &field, .field_count = 1};
    fg_dataset_ops ops = {.read_epoch = read_in_epoch, .gather = gather_failing};
    fg_dataset *dataset;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fg_dataset_create(&ops, NULL, &spec, &dataset, &err), FG_EINVAL);
        assert_string_equal(err.message, "the dataset has a read_epoch function and read or "
                                         "gather: expected read_epoch alone");
        ops = (fg_dataset_ops){.read_epoch = read_in_epoch, .read = read_failing};
    }
}

/* Labels are s32[] and those of every epoch. */
static void labels_are_single_and_fixed(void **state)
{
    static const char no_indices[] =
        "the dataset has no class indices: expected classes, and s32[] as field 1";
    const fg_field pairs[] = {{"x", {FG_F32, 1, {3}}}, {"y", {FG_S32, 1, {1}}}};
    fg_dataset_spec spec = pair_spec(2);
    fg_dataset *dataset, *drawn, *subset;
    int32_t labels[2] = {0};
    spec.fields = pairs;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){pair_x, pair_y}, FG_COPY, &dataset,
                                  &err));
    assert_int_equal(fg_dataset_labels(dataset, labels, &err), FG_EINVAL);
    assert_string_equal(err.message, no_indices);
    assert_false(fg_dataset_has_labels(dataset));
    fg_dataset_destroy(dataset);
    const fg_field three[] = {pairs[0], {"y", {.dtype = FG_S32}}, {"w", {.dtype = FG_S32}}};
    spec.fields = three;
    spec.field_count = 3;
    fgt_ok(fg_dataset_from_arrays(
        &spec, (const void *const[]){pair_x, (int32_t[]){1, 0}, (int32_t[]){7, 8}}, FG_COPY,
        &dataset, &err));
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    assert_true(labels[0] == 1 && labels[1] == 0);
    fg_dataset_destroy(dataset);
    spec = pair_spec(2);
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){pair_x, labels}, FG_COPY, &dataset,
                                  &err));
    fgt_ok(fg_dataset_weighted(dataset, (const double[]){1, 1}, NULL, &drawn, &err));
    fgt_ok(fg_dataset_subset(drawn, (const int64_t[]){1, 0}, 2, &subset, &err));
    assert_int_equal(fg_dataset_labels(subset, labels, &err), FG_EUNSUPPORTED);
    assert_string_equal(err.message, "the samples of this dataset are drawn again in each epoch, "
                                     "so they have no fixed labels");
    fg_dataset_destroy(subset);
    fg_dataset_destroy(drawn);
    fg_dataset_destroy(dataset);
}

/* What is damaged is counted once, however its samples are reached; the first message is that of
 * the first dataset with damage. */
static void damage_is_summed(void **state)
{
    const char *first;
    fg_dataset *own[3] = {pair_dataset(FG_COPY), pair_dataset(FG_COPY), pair_dataset(FG_COPY)};
    fg_dataset *halves[2], *mix;
    fgi_damage damage[3] = {{.count = 0, .flawed = 4, .first_flawed = {.message = "d"}},
                            {.count = 2, .flawed = 0, .first = {.message = "b"}},
                            {.count = 3, .flawed = 1, .first = {.message = "c"}}};
    (void)snprintf(damage[2].first_flawed.message, 2, "e");
    for (int i = 0; i < 3; i++)
        fgt_ok(fgi_dataset_has_damage(own[i], &damage[i], &err));
    for (int64_t i = 0; i < 2; i++)
        fgt_ok(fg_dataset_subset(own[1], &i, 1, &halves[i], &err));
    fg_dataset *parts[] = {own[0], halves[0], halves[1], own[2]};
    fgt_ok(fg_dataset_mix(parts, 4, NULL, &mix, &err));
    assert_int_equal(fg_dataset_damaged(mix, &first), 5);
    assert_string_equal(first, "b");
    assert_int_equal(fg_dataset_flawed(mix, &first), 5);
    assert_string_equal(first, "d");
    fg_dataset_destroy(mix);
    for (int i = 0; i < 3; i++)
        fg_dataset_destroy(own[i]);
    for (int i = 0; i < 2; i++)
        fg_dataset_destroy(halves[i]);
}

static void a_users_reader_may_fail(void **state)
{
    const fg_field field = {"n", {FG_S32, 0, {0}}};
    const fg_dataset_spec spec = {.count = 10, .fields = &field, .field_count = 1};
    const fg_dataset_ops ops = {.read = read_failing};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    int32_t n;
    fgt_ok(fg_dataset_read(dataset, 9, (void *const[]){&n}, &err));
    assert_int_equal(n, 9);
    assert_int_equal(fg_dataset_read(dataset, 3, (void *const[]){&n}, &err), FG_EIO);
    assert_string_equal(err.message, "tape broke");
    assert_int_equal(err.status, FG_EIO);
    assert_int_equal(fg_dataset_read(dataset, 4, (void *const[]){&n}, &err), FG_EFORMAT);
    assert_string_equal(err.message, "sample 4: the dataset's reader returned FG_EFORMAT");
    fg_dataset_destroy(dataset);
    const fg_dataset_ops at_once = {.gather = gather_failing};
    fgt_ok(fg_dataset_create(&at_once, NULL, &spec, &dataset, &err));
    assert_int_equal(fg_dataset_read(dataset, 5, (void *const[]){&n}, &err), FG_EIO);
    assert_string_equal(err.message, "sample 5: the dataset's reader returned FG_EIO");
    fg_dataset_destroy(dataset);
}

static const char *name_sample(void *self, int64_t index)
{
    static char name[8];
    (void)snprintf(name, sizeof(name), "s%d", (int)index);
    return name;
}

/* All fields are zeros, and samples keep their names. */
static void tolerant_datasets_are_like_their_parents(void **state)
{
    const fg_field fields[2] = {{"n", {FG_S32, 0, {0}}}, {"m", {FG_S32, 1, {2}}}};
    const fg_dataset_spec spec = {.count = 10, .fields = fields, .field_count = 2};
    const fg_dataset_ops ops = {.read = read_failing, .name = name_sample};
    fg_dataset *strict, *dataset;
    int32_t n[2] = {7, 7}, m[4] = {7, 7, 7, 7};
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &strict, &err));
    fgt_ok(fg_dataset_tolerate(strict, &dataset, &err));
    fg_dataset_destroy(strict);
    fgt_ok(fgi_dataset_gather(dataset, 0, (const int64_t[]){3, 5}, 2, (void *const[]){n, m}, &err));
    assert_true(n[0] == 0 && n[1] == 5 && m[0] == 0 && m[1] == 0 && m[2] == 7 && m[3] == 7);
    assert_string_equal(fg_dataset_sample_name(dataset, 3), "s3");
    const char *reason = fg_dataset_sample_error(dataset, 3); /* is kept */
    fgt_ok(fgi_dataset_gather(dataset, 0, (const int64_t[]){3}, 1, (void *const[]){n, m}, &err));
    assert_ptr_equal(fg_dataset_sample_error(dataset, 3), reason);
    fg_dataset_destroy(dataset);
}

/* Samples that cannot be read are zeros with a reason; also when many are read at once. */
static void unreadable_samples_are_tolerated(void **state)
{
    const long before = fgi_alloc_live();
    const fg_field field = {"n", {FG_S32, 0, {0}}};
    const fg_dataset_spec spec = {.count = 10, .fields = &field, .field_count = 1};
    const fg_dataset_ops ops = {.read = read_failing};
    fg_dataset *strict, *dataset, *memory = pair_dataset(FG_COPY), *same;
    int32_t n[4] = {7, 7, 7, 7};
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &strict, &err));
    fgt_ok(fg_dataset_tolerate(strict, &dataset, &err));
    assert_null(fg_dataset_sample_error(strict, 3));
    assert_string_equal(fg_dataset_sample_error(dataset, 3), "");
    assert_null(fg_dataset_sample_error(dataset, 10));
    fg_dataset_destroy(strict);
    fgt_ok(
        fgi_dataset_gather(dataset, 0, (const int64_t[]){2, 3, 4, 5}, 4, (void *const[]){n}, &err));
    assert_int_equal(n[0], 2);
    assert_int_equal(n[1], 0);
    assert_int_equal(n[2], 0);
    assert_int_equal(n[3], 5);
    assert_string_equal(fg_dataset_sample_error(dataset, 3), "tape broke");
    assert_string_equal(fg_dataset_sample_error(dataset, 4),
                        "sample 4: the dataset's reader returned FG_EFORMAT");
    assert_string_equal(fg_dataset_sample_error(dataset, 5), "");
    fgt_ok(fgi_dataset_gather(dataset, 0, (const int64_t[]){7, 6, 9}, 3, (void *const[]){n}, &err));
    assert_true(n[0] == 0 && n[1] == 0 && n[2] == 9);
    assert_string_equal(fg_dataset_sample_error(dataset, 6), "a HEIC file; convert it to JPEG");
    assert_string_equal(fg_dataset_sample_error(dataset, 7),
                        "sample 7: the dataset's reader returned FG_ENOTFOUND");
    err = (fg_error){0}; /* too little memory is no fault of a sample */
    assert_int_equal(
        fgi_dataset_gather(dataset, 0, (const int64_t[]){3, 8}, 2, (void *const[]){n}, &err),
        FG_ENOMEM);
    fgt_message_is(err.message, "sample 8: the dataset's reader returned FG_ENOMEM");
    assert_string_equal(fg_dataset_sample_error(dataset, 8), "");
    assert_int_equal(fg_dataset_read(dataset, 10, (void *const[]){n}, &err), FG_EINVAL);
    fg_dataset_destroy(dataset);
    fgt_ok(fg_dataset_tolerate(memory, &same, &err)); /* cannot fail for single samples */
    assert_ptr_equal(same, memory);
    assert_null(fg_dataset_sample_error(same, 0));
    fg_dataset_destroy(same);
    fg_dataset_destroy(memory);
    assert_int_equal(fgi_alloc_live(), before);
}

static void a_subset_outlives_its_parent(void **state)
{
    const long before = fgi_alloc_live();
    fg_dataset *dataset = pair_dataset(FG_COPY), *subset, *second;
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){5, 50, 5, 9}, 4, &subset, &err));
    fgt_ok(fg_dataset_subset(subset, (const int64_t[]){3, 1}, 2, &second, &err));
    fg_dataset_destroy(dataset);
    assert_int_equal(fg_dataset_count(subset), 4);
    check_sample(subset, 1, 50);
    check_sample(subset, 2, 5);
    fg_dataset_destroy(subset);
    check_sample(second, 0, 9);
    check_sample(second, 1, 50);
    assert_string_equal(fg_dataset_class_name(second, 0), "cat");
    fg_dataset_destroy(second);
    assert_int_equal(fgi_alloc_live(), before);
}

static void a_subset_names_a_wrong_index(void **state)
{
    fg_dataset *dataset = pair_dataset(FG_BORROW), *subset;
    assert_int_equal(fg_dataset_subset(dataset, (const int64_t[]){0, 60}, 2, &subset, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "index 1 of the subset is 60, but the dataset has 60 samples");
    assert_null(subset);
    fg_dataset_destroy(dataset);
}

static void gathering_many_rows_of_a_subset(void **state)
{
    enum { ROWS = 700 }; /* more indices than a subset translates at once */
    fg_dataset *dataset = pair_dataset(FG_BORROW), *subset;
    int64_t indices[ROWS];
    static float x[ROWS][3];
    static int32_t y[ROWS];
    for (int i = 0; i < ROWS; i++)
        indices[i] = (i * 7) % 60;
    fgt_ok(fg_dataset_subset(dataset, indices, ROWS, &subset, &err));
    for (int i = 0; i < ROWS; i++)
        indices[i] = ROWS - 1 - i;
    fgt_ok(fgi_dataset_gather(subset, 0, indices, ROWS, (void *const[]){x, y}, &err));
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(y[i], ((ROWS - 1 - i) * 7) % 60);
        assert_true(x[i][2] == (float)(3 * y[i] + 2));
    }
    fg_dataset_destroy(subset);
    fg_dataset_destroy(dataset);
}

static fg_status split(fg_dataset *all, double fraction, uint64_t seed, fg_dataset **train,
                       fg_dataset **val)
{
    const fg_split_options options = {.val_fraction = fraction, .seed = seed};
    return fg_dataset_split(all, &options, train, val, &err);
}

static void a_split_is_complete_and_repeatable(void **state)
{
    fg_dataset *dataset = pair_dataset(FG_BORROW), *train, *val, *train2, *val2;
    fgt_ok(split(dataset, 0.2, 11, &train, &val));
    fgt_ok(split(dataset, 0.2, 11, &train2, &val2));
    assert_int_equal(fg_dataset_count(train), 48);
    assert_int_equal(fg_dataset_count(val), 12);
    int seen[60] = {0};
    for (int part = 0; part < 2; part++) {
        fg_dataset *now = part == 0 ? train : val, *again = part == 0 ? train2 : val2;
        int32_t last = -1;
        for (int64_t i = 0; i < fg_dataset_count(now); i++) {
            float x[3];
            int32_t y, y2;
            fgt_ok(fg_dataset_read(now, i, (void *const[]){x, &y}, &err));
            fgt_ok(fg_dataset_read(again, i, (void *const[]){x, &y2}, &err));
            assert_int_equal(y, y2);
            assert_true(y > last);
            last = y;
            assert_int_equal(seen[y]++, 0);
        }
    }
    fg_dataset_destroy(train2);
    fg_dataset_destroy(val2);
    fgt_ok(split(dataset, 0.2, 12, &train2, &val2));
    int same = 0;
    for (int64_t i = 0; i < 12; i++) {
        float x[3];
        int32_t y, y2;
        fgt_ok(fg_dataset_read(val, i, (void *const[]){x, &y}, &err));
        fgt_ok(fg_dataset_read(val2, i, (void *const[]){x, &y2}, &err));
        same += y == y2;
    }
    assert_true(same < 12);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
    fg_dataset_destroy(train2);
    fg_dataset_destroy(val2);
    fg_dataset_destroy(dataset);
}

/* Samples per class in a set. */
static void count_labels(const fg_dataset *dataset, int counts[4])
{
    int32_t labels[64];
    memset(counts, 0, 4 * sizeof(counts[0]));
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    for (int64_t i = 0; i < fg_dataset_count(dataset); i++)
        counts[labels[i]]++;
}

static fg_dataset *labeled_dataset(const int32_t *labels, int64_t count)
{
    static int32_t x[60];
    const fg_field fields[2] = {{"x", {.dtype = FG_S32}}, {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = count, .fields = fields, .field_count = 2, .class_count = 4};
    fg_dataset *out;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x, labels}, FG_BORROW, &out, &err));
    return out;
}

/* The validation set, and its samples per class. */
static fg_dataset *hold_out(fg_dataset *all, double fraction, int counts[4])
{
    fg_dataset *train, *val;
    int kept[4], whole[4];
    fgt_ok(fg_dataset_split(
        all, &(fg_split_options){.val_fraction = fraction, .seed = 3, .stratify = true}, &train,
        &val, &err));
    count_labels(val, counts);
    count_labels(train, kept);
    count_labels(all, whole);
    for (int c = 0; c < 4; c++)
        assert_int_equal(counts[c] + kept[c], whole[c]);
    fg_dataset_destroy(train);
    return val;
}

/* 40, 15, 4 samples and 1 sample of four classes. */
static void a_stratified_split_divides_each_class(void **state)
{
    static const struct {
        double fraction;
        int val[4];
    } cases[] = {
        {0.2, {8, 3, 1, 0}}, {0.25, {10, 4, 1, 0}}, {0.01, {1, 0, 0, 0}}, {0.99, {39, 14, 3, 0}}};
    static const int ends[] = {1, 5, 20, 60};
    int32_t y[60], labels[2][60];
    int counts[4];
    for (int i = 0, c = 0; i < 60; i++) {
        c += i == ends[c];
        y[(i * 7) % 60] = 3 - c;
    }
    fg_dataset *all = labeled_dataset(y, 60);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int k = 0; k < 2; k++) { /* the same twice */
            fg_dataset *val = hold_out(all, cases[i].fraction, counts);
            fgt_ok(fg_dataset_labels(val, labels[k], &err));
            fg_dataset_destroy(val);
        }
        assert_memory_equal(counts, cases[i].val, sizeof(counts));
        for (int k = 0; k < counts[0] + counts[1] + counts[2]; k++)
            assert_int_equal(labels[0][k], labels[1][k]);
    }
    fg_dataset_destroy(all);
}

/* If no class can spare a sample, some are held out anyway. */
static void a_split_of_single_samples(void **state)
{
    int counts[4];
    fg_dataset *few = labeled_dataset((const int32_t[]){0, 1, 2, 3}, 4);
    fg_dataset *val = hold_out(few, 0.5, counts);
    assert_int_equal(fg_dataset_count(val), 2);
    fg_dataset_destroy(val);
    fg_dataset_destroy(few);
}

/* A class that cannot spare its sample leaves its share to another. */
static void a_class_of_one_takes_no_place(void **state)
{
    int counts[4];
    fg_dataset *all = labeled_dataset((const int32_t[]){1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 11);
    fg_dataset *val = hold_out(all, 0.55, counts);
    assert_int_equal(counts[0], 6);
    fg_dataset_destroy(val);
    fg_dataset_destroy(all);
}

static const int64_t *groups_of;
static int64_t grouped;

static fg_status give_groups(void *self, int64_t *out, fg_error *e)
{
    memcpy(out, groups_of, (size_t)grouped * sizeof(*out));
    return FG_OK;
}

/* Whatever the order that the seed gives, both parts have samples, and so has each class for
 * training. */
static void groups_leave_something_to_train_on(void **state)
{
    static const struct {
        int64_t groups[8], count;
        int32_t labels[8];
        double fraction;
        int most_val, least_train[2]; /* of each class, if the split is by class */
        bool by_class;
    } cases[] = {
        {{1, 1, 1, 1, 1, 2}, 6, {0}, 0.99, 5, {1}, false},
        {{1, 1, 2, 2, 3}, 5, {0}, 0.25, 1, {4}, false},       /* the one that is near enough */
        {{1, 1, 1, 1, 1, 2, 2}, 7, {0}, 0.01, 2, {5}, false}, /* the smallest, if none is */
        {{1, 1, 1, 1, 1, 2, 3, 3}, 8, {0, 0, 0, 0, 0, 0, 1, 1}, 0.75, 5, {1, 2}, true},
        {{1, 1, 2, 2, 3, 4, 5, 6}, 8, {0, 0, 0, 0, 1, 1, 1, 1}, 0.25, 1, {4, 3}, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            int counts[4];
            fg_dataset *all = labeled_dataset(cases[i].labels, cases[i].count), *train, *val;
            groups_of = cases[i].groups;
            grouped = cases[i].count;
            all->groups = give_groups;
            const fg_split_options options = {
                .val_fraction = cases[i].fraction, .seed = seed, .stratify = cases[i].by_class};
            fgt_ok(fg_dataset_split(all, &options, &train, &val, &err));
            assert_in_range(fg_dataset_count(val), 1, cases[i].most_val);
            count_labels(train, counts);
            assert_true(counts[0] >= cases[i].least_train[0]);
            assert_true(counts[1] >= cases[i].least_train[1]);
            fg_dataset_destroy(train);
            fg_dataset_destroy(val);
            fg_dataset_destroy(all);
        }
}

/* The samples of a patient may have several labels: the first one is that of the group. */
static void a_group_is_of_the_class_of_its_first_sample(void **state)
{
    static const int64_t groups[] = {1, 1, 2, 2, 3, 3, 4, 4};
    groups_of = groups;
    grouped = 8;
    for (uint64_t seed = 0; seed < 10; seed++) {
        fg_dataset *train, *val;
        fg_dataset *all = labeled_dataset((const int32_t[]){1, 0, 1, 1, 0, 0, 0, 0}, 8);
        all->groups = give_groups;
        fgt_ok(fg_dataset_split(
            all, &(fg_split_options){.val_fraction = 0.5, .seed = seed, .stratify = true}, &train,
            &val, &err));
        assert_int_equal(fg_dataset_count(val), 4); /* a group of each class */
        fg_dataset_destroy(train);
        fg_dataset_destroy(val);
        fg_dataset_destroy(all);
    }
}

static void a_split_refuses_what_it_cannot_do(void **state)
{
    fg_dataset *dataset = pair_dataset(FG_BORROW), *one, *train, *val;
    assert_int_equal(split(dataset, 0, 1, &train, &val), FG_EINVAL);
    assert_int_equal(split(dataset, 1, 1, &train, &val), FG_EINVAL);
    assert_int_equal(split(dataset, -0.5, 1, &train, &val), FG_EINVAL);
    assert_null(train);
    assert_null(val);
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){0}, 1, &one, &err));
    assert_int_equal(fg_dataset_subset(one, (const int64_t[]){0, 1}, 2, &val, &err), FG_EINVAL);
    assert_string_equal(err.message, "index 1 of the subset is 1, but the dataset has 1 sample");
    assert_int_equal(split(one, 0.5, 1, &train, &val), FG_EINVAL);
    fgt_ok(split(dataset, 1e-9, 1, &train, &val));
    assert_int_equal(fg_dataset_count(val), 1);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
    fgt_ok(split(dataset, 0.9999, 1, &train, &val));
    assert_int_equal(fg_dataset_count(train), 1);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
    fg_dataset_destroy(one);
    fg_dataset_destroy(dataset);
}

static fg_status make_and_split(void *self, fg_error *e)
{
    const fg_dataset_spec spec = pair_spec(60);
    fg_dataset *dataset = NULL, *train = NULL, *val = NULL;
    fg_status status =
        fg_dataset_from_arrays(&spec, (const void *const[]){pair_x, pair_y}, FG_COPY, &dataset, e);
    if (status == FG_OK)
        status = fg_dataset_split(dataset, &(fg_split_options){.val_fraction = 0.25, .seed = 3},
                                  &train, &val, e);
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
    return status;
}

static void every_allocation_may_fail(void **state) { fgt_fault_loop(make_and_split, NULL); }

/* ---- images that the device decodes ---------------------------------------------------------- */

/* 9 x 10 pixels: planes of 90, 25 and 25 bytes. */
static const fg_image_encoding planes = {.coding = FG_IMAGE_YCC420, .height = 9, .width = 10};

static fg_dataset *encoded(const fg_image_encoding *encoding, fg_dtype dtype, int64_t bytes)
{
    static const uint8_t data[4][2000];
    fg_dataset *dataset = NULL;
    const fg_field field = {"image", {dtype, 1, {bytes}}};
    const fg_dataset_spec spec = {
        .count = 2, .fields = &field, .field_count = 1, .encoding = encoding};
    const fg_status status =
        fg_dataset_from_arrays(&spec, (const void *const[]){data}, FG_COPY, &dataset, &err);
    assert_int_equal(status, dataset != NULL ? FG_OK : FG_EINVAL);
    return dataset;
}

static void the_encoding_of_images_is_kept(void **state)
{
    fg_dataset *dataset = encoded(&planes, FG_U8, 140), *subset, *mix;
    assert_non_null(dataset);
    assert_int_equal(fg_dataset_encoding(dataset)->height, 9);
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){1}, 1, &subset, &err));
    assert_int_equal(fg_dataset_encoding(subset)->coding, FG_IMAGE_YCC420);
    fgt_ok(fg_dataset_mix((fg_dataset *[]){dataset, subset}, 2, NULL, &mix, &err));
    assert_int_equal(fg_dataset_encoding(mix)->width, 10);
    fg_dataset_destroy(mix);
    fg_image_encoding gray = planes;
    gray.channels = 1; /* the same bytes, but other pixels */
    fg_dataset *other = encoded(&gray, FG_U8, 140);
    assert_int_equal(fg_dataset_mix((fg_dataset *[]){dataset, other}, 2, NULL, &mix, &err),
                     FG_EINVAL);
    fgt_message_is(err.message,
                   "dataset 1 of the mix stores its images differently from dataset 0");
    fg_dataset_destroy(other);
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(subset);
    dataset = encoded(NULL, FG_U8, 140);
    assert_null(fg_dataset_encoding(dataset));
    fg_dataset_destroy(dataset);
}

static void encodings_must_match_the_field(void **state)
{
    fg_image_encoding dct = {.coding = FG_IMAGE_DCT, .height = 9, .width = 10, .high = 3};
    assert_null(encoded(&planes, FG_U8, 139));
    fgt_message_is(err.message, "field 'image' is u8[139]: expected u8[140] for its encoding");
    assert_null(encoded(&planes, FG_S8, 140));
    assert_null(encoded(&dct, FG_S8, 1187));
    fgt_message_is(
        err.message,
        "field 'image' is s8[1187]: expected s8[1188] for its encoding"); /* 67 * 12 + 384 */
    fg_dataset_destroy(encoded(&dct, FG_S8, 1188));
    dct.width = 65536;
    assert_null(encoded(&dct, FG_S8, 1188));
    fgt_message_is(err.message, "encoded images of 9 x 65536 pixels: expected 1 to 65535");
    dct.height = 65536;
    dct.width = 9;
    assert_null(encoded(&dct, FG_S8, 1188));
    fgt_message_is(err.message, "encoded images of 65536 x 9 pixels: expected 1 to 65535");
    dct.height = 9;
    dct.high = 65;
    assert_null(encoded(&dct, FG_S8, 1188));
    fgt_message_is(err.message, "65 coefficients with high bytes: expected 1 to 64");
    dct.high = 64;
    assert_int_equal(fg_image_encoding_type(&dct).dim[0], 1920);
    const fg_image_encoding most = {.coding = FG_IMAGE_YCC420, .height = 65535, .width = 65535};
    assert_true(fg_image_encoding_type(&most).dim[0] == 65535LL * 65535 + 2LL * 32768 * 32768);
    for (dct.high = 0; dct.high <= 1; dct.high++) { /* 0 is 1 */
        assert_null(encoded(&dct, FG_S8, 5));
        fgt_message_is(err.message, "field 'image' is s8[5]: expected s8[1164] for its encoding");
    }
}

static void pixels_are_not_decoded(void **state)
{
    uint8_t rgb[9 * 10 * 3];
    const uint8_t entry[140] = {0};
    fgt_ok(fg_image_encoding_decode(&planes, entry, rgb, &err));
    fg_image_encoding other = planes;
    other.coding = FG_IMAGE_PIXELS;
    assert_int_equal(fg_image_encoding_decode(&other, entry, rgb, &err), FG_EINVAL);
    fgt_message_is(err.message, "pixels need no decoding");
    other = planes;
    other.height = 0;
    assert_int_equal(fg_image_encoding_decode(&other, entry, rgb, &err), FG_EINVAL);
    fgt_message_is(err.message, "encoded images of 0 x 10 pixels: expected 1 to 65535");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(arrays_become_samples),
    cmocka_unit_test(a_copy_does_not_follow_the_array),
    cmocka_unit_test(reading_outside_is_refused),
    cmocka_unit_test(arrays_of_up_to_eight_fields),
    cmocka_unit_test(a_wrong_spec_is_named),
    cmocka_unit_test(a_spec_may_be_extreme),
    cmocka_unit_test(arrays_must_be_there),
    cmocka_unit_test(a_reader_is_of_one_kind),
    cmocka_unit_test(labels_are_single_and_fixed),
    cmocka_unit_test(damage_is_summed),
    cmocka_unit_test(a_users_reader_may_fail),
    cmocka_unit_test(unreadable_samples_are_tolerated),
    cmocka_unit_test(tolerant_datasets_are_like_their_parents),
    cmocka_unit_test(a_subset_outlives_its_parent),
    cmocka_unit_test(a_subset_names_a_wrong_index),
    cmocka_unit_test(gathering_many_rows_of_a_subset),
    cmocka_unit_test(a_split_is_complete_and_repeatable),
    cmocka_unit_test(a_stratified_split_divides_each_class),
    cmocka_unit_test(a_class_of_one_takes_no_place),
    cmocka_unit_test(groups_leave_something_to_train_on),
    cmocka_unit_test(a_group_is_of_the_class_of_its_first_sample),
    cmocka_unit_test(a_split_of_single_samples),
    cmocka_unit_test(a_split_refuses_what_it_cannot_do),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(the_encoding_of_images_is_kept),
    cmocka_unit_test(encodings_must_match_the_field),
    cmocka_unit_test(pixels_are_not_decoded),
};
FGT_MAIN(tests)
