/* Datasets that draw from others: counts of systematic sampling, balance of classes, mixes, the
 * same samples for any split of the work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/data.h>
#include <fulgurite/sampling.h>
#include <math.h>
#include "base/alloc.h"
#include "data/dataset.h"
#include "data/encoding.h"

enum { SIZE = 50, MOST = 4096 };
static fg_error err;

static const char *const names[] = {"a", "b", "c"};
static const fg_field fields[] = {{"x", {FG_S32, 0, {0}}}, {"y", {FG_S32, 0, {0}}}};
static int32_t values[SIZE], classes[SIZE];

/* x of sample i is base + i; its class is i % 3, except that only the last one has class 2. */
static fg_dataset *numbers(int32_t base, int64_t count)
{
    for (int i = 0; i < SIZE; i++) {
        values[i] = base + i;
        classes[i] = i + 1 == count ? 2 : i % 2;
    }
    const fg_dataset_spec spec = {
        .count = count, .fields = fields, .field_count = 2, .class_count = 3, .class_names = names};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){values, classes}, FG_COPY, &dataset,
                                  &err));
    return dataset;
}

/* All x of an epoch, in the order in which a loader delivers them; returns how many. */
static int64_t draw(fg_dataset *dataset, const fg_loader_options *options, int64_t epoch,
                    int32_t out[MOST])
{
    fg_loader *loader;
    const fg_host_batch *batch;
    int64_t n = 0;
    fgt_ok(fg_loader_create(dataset, options, &loader, &err));
    fgt_ok(fg_loader_start_epoch(loader, epoch, 0, &err));
    for (;;) {
        fgt_ok(fg_loader_next(loader, &batch, &err));
        if (batch == NULL)
            break;
        for (int64_t i = 0; i < batch->valid; i++)
            out[n++] = ((const int32_t *)batch->data[0])[i];
        fg_loader_recycle(loader, batch);
    }
    fg_loader_destroy(loader);
    return n;
}

static void count_draws(const int32_t *drawn, int64_t n, int32_t base, int counts[SIZE])
{
    memset(counts, 0, SIZE * sizeof(counts[0]));
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(drawn[i] - base, 0, SIZE - 1);
        counts[drawn[i] - base]++;
    }
}

/* ---- by weight ------------------------------------------------------------------------------- */

static void every_sample_is_drawn_its_share_rounded_up_or_down(void **state)
{
    double weights[SIZE], total = 0;
    int32_t drawn[MOST];
    int counts[SIZE], sums[SIZE] = {0};
    enum { EPOCHS = 40, COUNT = 333 };
    for (int i = 0; i < SIZE; i++)
        total += weights[i] = i % 5 == 4 ? 0 : 0.1 + i % 7;
    fg_dataset *parent = numbers(100, SIZE), *dataset;
    fgt_ok(fg_dataset_weighted(parent, weights, &(fg_sampling_options){.count = COUNT, .seed = 3},
                               &dataset, &err));
    fg_dataset_destroy(parent); /* it is kept alive */
    assert_int_equal(fg_dataset_count(dataset), COUNT);
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        assert_int_equal(draw(dataset, &(fg_loader_options){.batch_size = 7}, epoch, drawn), COUNT);
        count_draws(drawn, COUNT, 100, counts);
        for (int i = 0; i < SIZE; i++) {
            const double share = COUNT * weights[i] / total;
            assert_in_range(counts[i], (int)floor(share), (int)ceil(share));
            sums[i] += counts[i];
        }
    }
    /* rounding is right on average: the deviation of a mean of 40 is at most 0.5 / sqrt(40) */
    for (int i = 0; i < SIZE; i++)
        assert_true(fabs((double)sums[i] / EPOCHS - COUNT * weights[i] / total) < 0.32);
    fg_dataset_destroy(dataset);
}

static void the_order_is_random_and_a_function_of_seed_and_epoch(void **state)
{
    double weights[SIZE];
    int32_t a[MOST], b[MOST];
    for (int i = 0; i < SIZE; i++)
        weights[i] = 1;
    fg_dataset *parent = numbers(0, SIZE), *one, *two;
    fgt_ok(fg_dataset_weighted(parent, weights, NULL, &one, &err));
    fgt_ok(fg_dataset_weighted(parent, weights, &(fg_sampling_options){.seed = 1}, &two, &err));
    const fg_loader_options threads = {.batch_size = 8, .workers = 3};
    const fg_loader_options alone = {.batch_size = 8, .workers = FG_NONE};
    assert_int_equal(draw(one, &threads, 5, a), SIZE);
    assert_int_equal(draw(one, &alone, 5, b), SIZE);
    assert_memory_equal(a, b, SIZE * sizeof a[0]);
    int in_place = 0, ascending = 0;
    for (int i = 0; i < SIZE; i++) {
        in_place += a[i] == i;
        ascending += i > 0 && a[i] == a[i - 1] + 1;
    }
    assert_true(in_place < 10 && ascending < 10);
    (void)draw(one, &alone, 6, b);
    assert_memory_not_equal(a, b, SIZE * sizeof a[0]);
    (void)draw(two, &alone, 5, b);
    assert_memory_not_equal(a, b, SIZE * sizeof a[0]);
    fg_dataset_destroy(one);
    fg_dataset_destroy(two);
    fg_dataset_destroy(parent);
}

/* Two ranks deliver together what one delivers, also after a resume in the middle of an epoch. */
static void ranks_and_resuming_change_nothing(void **state)
{
    double weights[SIZE];
    int32_t whole[MOST];
    for (int i = 0; i < SIZE; i++)
        weights[i] = 1 + i;
    fg_dataset *parent = numbers(0, SIZE), *dataset;
    fgt_ok(fg_dataset_weighted(parent, weights, NULL, &dataset, &err));
    (void)draw(dataset, &(fg_loader_options){.batch_size = 10, .shuffle = true}, 2, whole);
    for (int rank = 0; rank < 2; rank++) {
        const fg_loader_options options = {.batch_size = 10,
                                           .shuffle = true,
                                           .rank = rank,
                                           .world = 2,
                                           .epoch = 2,
                                           .position = 20};
        fg_loader *loader;
        const fg_host_batch *batch;
        fgt_ok(fg_loader_create(dataset, &options, &loader, &err));
        fgt_ok(fg_loader_next(loader, &batch, &err));
        assert_memory_equal(batch->data[0], whole + 20 + 5 * rank, 5 * sizeof whole[0]);
        fg_loader_recycle(loader, batch);
        fg_loader_destroy(loader);
    }
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(parent);
}

static void wrong_weights_are_refused(void **state)
{
    double weights[SIZE] = {1};
    fg_dataset *parent = numbers(0, SIZE), *empty = numbers(0, 0), *dataset;
    const struct {
        double weight;
        const char *message;
    } cases[] = {
        {-1, "the weight of sample 7 is -1: expected 0 or a positive number"},
        {(double)INFINITY, "the weight of sample 7 is inf: expected 0 or a positive number"},
        {(double)NAN, "the weight of sample 7 is "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weights[7] = cases[i].weight;
        assert_int_equal(fg_dataset_weighted(parent, weights, NULL, &dataset, &err), FG_EINVAL);
        assert_memory_equal(err.message, cases[i].message, strlen(cases[i].message));
        assert_null(dataset);
    }
    memset(weights, 0, sizeof weights);
    assert_int_equal(fg_dataset_weighted(parent, weights, NULL, &dataset, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "the sum of the weights is 0: expected a positive, finite number");
    assert_int_equal(fg_dataset_weighted(empty, weights, NULL, &dataset, &err), FG_EINVAL);
    assert_string_equal(err.message, "cannot draw from a dataset without samples");
    weights[0] = 1;
    assert_int_equal(
        fg_dataset_weighted(parent, weights, &(fg_sampling_options){.count = -1}, &dataset, &err),
        FG_EINVAL);
    assert_int_equal(fg_dataset_weighted(parent, weights, &(fg_sampling_options){.reserved = {1}},
                                         &dataset, &err),
                     FG_EINVAL);
    fg_dataset_destroy(parent);
    fg_dataset_destroy(empty);
}

/* ---- by class -------------------------------------------------------------------------------- */

static void classes_become_equally_frequent(void **state)
{
    enum { COUNT = 300 };
    int32_t drawn[MOST];
    int counts[SIZE], last = 0, even = 0;
    fg_dataset *parent = numbers(0, SIZE), *subset, *dataset;
    const int64_t part[] = {49, 0, 2, 4, 6, 1, 3}; /* classes 2, 0, 0, 0, 0, 1, 1 */
    fgt_ok(fg_dataset_balanced(parent, &(fg_sampling_options){.count = COUNT}, &dataset, &err));
    (void)draw(dataset, &(fg_loader_options){.batch_size = 25}, 0, drawn);
    count_draws(drawn, COUNT, 0, counts);
    for (int i = 0; i < SIZE; i++) {
        last += i == SIZE - 1 ? counts[i] : 0;
        even += i != SIZE - 1 && i % 2 == 0 ? counts[i] : 0;
    }
    assert_in_range(last, 99, 101); /* the only sample of its class */
    assert_in_range(even, 99, 101);
    fg_dataset_destroy(dataset);
    fgt_ok(fg_dataset_subset(parent, part, 7, &subset, &err));
    fgt_ok(fg_dataset_balanced(subset, &(fg_sampling_options){.count = 30}, &dataset, &err));
    (void)draw(dataset, &(fg_loader_options){.batch_size = 30}, 0, drawn);
    count_draws(drawn, 30, 0, counts);
    assert_in_range(counts[49], 9, 11);
    assert_in_range(counts[1] + counts[3], 9, 11);
    assert_true(fg_dataset_has_labels(subset) && !fg_dataset_has_labels(dataset));
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(subset);
    fg_dataset_destroy(parent);
}

static fg_status read_label(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    *(int32_t *)out_fields[0] = (int32_t)index;
    *(int32_t *)out_fields[1] = *(const int32_t *)self + (int32_t)(index % 2);
    return FG_OK;
}

static void labels_are_read_one_by_one_where_there_is_no_other_way(void **state)
{
    const fg_dataset_ops ops = {.read = read_label};
    fg_dataset_spec spec = {.count = 4, .fields = fields, .field_count = 2, .class_count = 3};
    int32_t first = 1, labels[4];
    fg_dataset *dataset, *drawn;
    fgt_ok(fg_dataset_create(&ops, &first, &spec, &dataset, &err));
    assert_false(fg_dataset_has_labels(dataset));
    fgt_ok(fg_dataset_labels(dataset, labels, &err));
    assert_memory_equal(labels, ((const int32_t[]){1, 2, 1, 2}), sizeof labels);
    first = 2; /* labels 2 and 3 */
    assert_int_equal(fg_dataset_balanced(dataset, NULL, &drawn, &err), FG_EINVAL);
    assert_string_equal(err.message, "the label of sample 1 is 3: expected 0 to 2");
    first = 0;
    fgt_ok(fg_dataset_balanced(dataset, NULL, &drawn, &err));
    assert_int_equal(fg_dataset_labels(drawn, labels, &err), FG_EUNSUPPORTED);
    fg_dataset_destroy(drawn);
    fg_dataset_destroy(dataset);
    spec.class_count = 0;
    fgt_ok(fg_dataset_create(&ops, &first, &spec, &dataset, &err));
    assert_int_equal(fg_dataset_balanced(dataset, NULL, &drawn, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "the dataset has no class indices: expected classes, and s32[] as field 1");
    fg_dataset_destroy(dataset);
}

/* ---- mixes ----------------------------------------------------------------------------------- */

static void a_mix_has_each_part_s_share_and_goes_through_it_evenly(void **state)
{
    enum { COUNT = 40, EPOCHS = 25 };
    int32_t drawn[MOST];
    int small[10] = {0}, large[50] = {0};
    fg_dataset *parts[] = {numbers(0, 10), numbers(100, 50), numbers(900, 7)}, *mix;
    const double weights[] = {1, 3, 0};
    fgt_ok(fg_dataset_mix(
        parts, 3, &(fg_mix_options){.weights = weights, .count = COUNT, .seed = 9}, &mix, &err));
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int from_small = 0;
        assert_int_equal(draw(mix, &(fg_loader_options){.batch_size = 8}, epoch, drawn), COUNT);
        for (int i = 0; i < COUNT; i++) {
            assert_in_range(drawn[i], 0, 149);
            from_small += drawn[i] < 10;
            (*(drawn[i] < 10 ? &small[drawn[i]] : &large[drawn[i] - 100]))++;
        }
        assert_int_equal(from_small, COUNT / 4);
    }
    for (int i = 0; i < 10; i++) /* 25 passes over the small one, 15 over the large one */
        assert_int_equal(small[i], 25);
    for (int i = 0; i < 50; i++)
        assert_int_equal(large[i], 15);
    fg_dataset_destroy(mix);
    for (int i = 0; i < 3; i++)
        fg_dataset_destroy(parts[i]);
}

/* Half of the samples per epoch: the halves of the second pass are not those of the first. */
static void each_pass_has_another_order(void **state)
{
    int32_t drawn[MOST];
    int first[SIZE], later[SIZE];
    fg_dataset *all = numbers(0, SIZE), *mix;
    fgt_ok(fg_dataset_mix(&all, 1, &(fg_mix_options){.count = SIZE / 2}, &mix, &err));
    count_draws(drawn, draw(mix, &(fg_loader_options){.batch_size = 5}, 0, drawn), 0, first);
    count_draws(drawn, draw(mix, &(fg_loader_options){.batch_size = 5}, 2, drawn), 0, later);
    assert_memory_not_equal(first, later, sizeof first);
    fg_dataset_destroy(mix);
    fg_dataset_destroy(all);
}

/* Two samples of `ours`, drawn by weight, for one of `theirs`. */
static fg_status mix(fg_dataset *ours, const double *weights, fg_dataset *theirs, fg_dataset **out,
                     fg_error *e)
{
    fg_dataset *drawn;
    const fg_mix_options options = {.weights = (const double[]){2, 1}, .count = 300, .seed = 1};
    if (fg_dataset_weighted(ours, weights, NULL, &drawn, e) != FG_OK)
        return e->status;
    fg_dataset *const parts[] = {drawn, theirs};
    const fg_status status = fg_dataset_mix(parts, 2, &options, out, e);
    fg_dataset_destroy(drawn); /* the mix keeps it */
    return status;
}

/* The function above is in docs/howto/custom-dataset.md. */
static void parts_of_a_mix_may_be_drawn_by_weight(void **state)
{
    double weights[SIZE];
    int32_t drawn[MOST];
    int counts[2] = {0};
    for (int i = 0; i < SIZE; i++)
        weights[i] = i < 10 ? 1 : 0;
    fg_dataset *ours = numbers(100, SIZE), *theirs = numbers(1000, SIZE), *dataset;
    fgt_ok(mix(ours, weights, theirs, &dataset, &err));
    const int64_t n = draw(dataset, &(fg_loader_options){.batch_size = 16}, 0, drawn);
    assert_int_equal(n, 300);
    for (int64_t i = 0; i < n; i++) {
        counts[drawn[i] >= 1000]++;
        assert_true(drawn[i] < 110 || drawn[i] >= 1000);
    }
    assert_true(counts[0] == 200 && counts[1] == 100);
    fg_dataset_destroy(dataset);
    fg_dataset_destroy(theirs);
    fg_dataset_destroy(ours);
}

static void a_mix_without_weights_has_every_sample_once_per_epoch(void **state)
{
    int32_t drawn[MOST];
    int counts[SIZE];
    fg_dataset *parts[] = {numbers(0, 10), numbers(10, 33)}, *mix;
    fgt_ok(fg_dataset_mix(parts, 2, NULL, &mix, &err));
    assert_int_equal(draw(mix, &(fg_loader_options){.batch_size = 8}, 3, drawn), 43);
    count_draws(drawn, 43, 0, counts);
    for (int i = 0; i < 43; i++)
        assert_int_equal(counts[i], 1);
    fg_dataset_destroy(mix);
    fg_dataset_destroy(parts[0]);
    fg_dataset_destroy(parts[1]);
}

static void parts_of_equal_size_have_different_orders(void **state)
{
    enum { EACH = 20 };
    int32_t drawn[MOST], order[2][EACH];
    int counts[2] = {0};
    fg_dataset *parts[] = {numbers(0, EACH), numbers(100, EACH)}, *mix;
    fgt_ok(fg_dataset_mix(parts, 2, NULL, &mix, &err));
    assert_int_equal(draw(mix, &(fg_loader_options){.batch_size = 8}, 0, drawn), 2 * EACH);
    for (int i = 0; i < 2 * EACH; i++)
        order[drawn[i] / 100][counts[drawn[i] / 100]++] = drawn[i] % 100;
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    fg_dataset_destroy(mix);
    fg_dataset_destroy(parts[0]);
    fg_dataset_destroy(parts[1]);
}

static void remainders_are_apportioned(void **state)
{
    int32_t drawn[MOST];
    int from[3] = {0};
    fg_dataset *parts[] = {numbers(0, 5), numbers(100, 5), numbers(200, 5)}, *mix;
    const double weights[] = {1, 1, 1.5}; /* of 10: 2.86, 2.86, 4.29 -> 3, 3, 4 */
    fgt_ok(
        fg_dataset_mix(parts, 3, &(fg_mix_options){.weights = weights, .count = 10}, &mix, &err));
    (void)draw(mix, &(fg_loader_options){.batch_size = 8}, 0, drawn);
    for (int i = 0; i < 10; i++)
        from[drawn[i] / 100]++;
    assert_memory_equal(from, ((const int[]){3, 3, 4}), sizeof from);
    fg_dataset_destroy(mix);
    for (int i = 0; i < 3; i++)
        fg_dataset_destroy(parts[i]);
}

static void parts_that_do_not_fit_are_refused(void **state)
{
    const fg_field renamed[] = {{"x", {FG_S32, 0, {0}}}, {"z", {FG_S32, 0, {0}}}};
    const fg_dataset_spec other = {
        .count = 2, .fields = renamed, .field_count = 2, .class_count = 3, .class_names = names};
    const fg_dataset_spec fewer = {
        .count = 2, .fields = fields, .field_count = 2, .class_count = 2, .class_names = names};
    fg_dataset *parts[] = {numbers(0, 5), NULL}, *mix;
    const void *const arrays[] = {values, classes};
    fgt_ok(fg_dataset_from_arrays(&other, arrays, FG_COPY, &parts[1], &err));
    assert_int_equal(fg_dataset_mix(parts, 2, NULL, &mix, &err), FG_EINVAL);
    assert_string_equal(err.message, "dataset 1 of the mix has different fields from dataset 0: "
                                     "expected the same names and types");
    fg_dataset_destroy(parts[1]);
    fgt_ok(fg_dataset_from_arrays(&fewer, arrays, FG_COPY, &parts[1], &err));
    assert_int_equal(fg_dataset_mix(parts, 2, NULL, &mix, &err), FG_EINVAL);
    assert_string_equal(err.message, "dataset 1 of the mix has different classes from dataset 0: "
                                     "expected the same class names in the same order");
    fg_dataset_destroy(parts[1]);
    parts[1] = numbers(0, 0);
    assert_int_equal(
        fg_dataset_mix(parts, 2, &(fg_mix_options){.weights = (const double[]){1, 1}}, &mix, &err),
        FG_EINVAL);
    assert_string_equal(err.message, "dataset 1 of the mix has no samples: expected weight 0");
    assert_int_equal(
        fg_dataset_mix(parts, 2, &(fg_mix_options){.weights = (const double[]){0, 0}}, &mix, &err),
        FG_EINVAL);
    assert_int_equal(
        fg_dataset_mix(parts, 2, &(fg_mix_options){.weights = (const double[]){-1, 0}}, &mix, &err),
        FG_EINVAL);
    assert_int_equal(fg_dataset_mix(parts, 0, NULL, &mix, &err), FG_EINVAL);
    assert_int_equal(fg_dataset_mix(parts, 2, &(fg_mix_options){.count = -1}, &mix, &err),
                     FG_EINVAL);
    assert_null(mix);
    fg_dataset_destroy(parts[0]);
    fg_dataset_destroy(parts[1]);
}

static void expect_other_classes(const char *const *class_names)
{
    const fg_dataset_spec other = {.count = 2,
                                   .fields = fields,
                                   .field_count = 2,
                                   .class_count = 3,
                                   .class_names = class_names};
    fg_dataset *parts[] = {numbers(0, 5), NULL}, *mix;
    fgt_ok(fg_dataset_from_arrays(&other, (const void *const[]){values, classes}, FG_COPY,
                                  &parts[1], &err));
    assert_int_equal(fg_dataset_mix(parts, 2, NULL, &mix, &err), FG_EINVAL);
    assert_string_equal(err.message, "dataset 1 of the mix has different classes from dataset 0: "
                                     "expected the same class names in the same order");
    fg_dataset_destroy(parts[0]);
    fg_dataset_destroy(parts[1]);
}

/* The same number of classes with other names, or without; 64 datasets, but not 65. */
static void a_mix_has_limits(void **state)
{
    fg_dataset *parts[FG_MAX_MIXED + 1], *mix;
    expect_other_classes((const char *const[]){names[0], names[1], "other"});
    expect_other_classes((const char *const[]){names[0], names[2], names[1]});
    expect_other_classes(NULL);
    for (int i = 0; i <= FG_MAX_MIXED; i++)
        parts[i] = numbers(i, 1);
    fgt_ok(fg_dataset_mix(parts, 64, NULL, &mix, &err));
    assert_int_equal(fg_dataset_count(mix), 64);
    fg_dataset_destroy(mix);
    assert_int_equal(fg_dataset_mix(parts, 65, NULL, &mix, &err), FG_EINVAL);
    assert_string_equal(err.message, "a mix of 65 datasets: expected 1 to 64");
    for (int i = 0; i <= FG_MAX_MIXED; i++)
        fg_dataset_destroy(parts[i]);
}

/* Images whose encodings differ in one member. */
static void encodings_are_compared_whole(void **state)
{
    const fg_image_encoding given = {.coding = FG_IMAGE_DCT,
                                     .height = 16,
                                     .width = 24,
                                     .channels = 3,
                                     .components = 3,
                                     .high = 1};
    const fg_image_encoding like = {.coding = FG_IMAGE_DCT, .height = 16, .width = 24};
    fg_image_encoding other[] = {like, like, like, like, like, like, like, like, like};
    other[0].coding = FG_IMAGE_YCC420;
    other[1].height = 17;
    other[2].width = 16;
    other[3].channels = 1;
    other[4].components = 1;
    other[5].high = 2;
    other[6].h[2] = 2;
    other[7].v[2] = 2;
    other[8].coding = FG_IMAGE_PIXELS;
    assert_true(fgi_encoding_equal(&given, &like)); /* the defaults */
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        if (fgi_encoding_equal(&given, &other[i]) || fgi_encoding_equal(&other[i], &given))
            fail_msg("encoding %zu", i);
        assert_true(fgi_encoding_equal(&other[i], &other[i]));
    }
    assert_true(fgi_encoding_equal(&other[8], NULL));
    assert_false(fgi_encoding_equal(&given, NULL));
}

/* ---- samples that vary by epoch -------------------------------------------------------------- */

static fg_status read_epoch(void *self, int64_t epoch, int64_t index, void *const *out_fields,
                            fg_error *e)
{
    *(int32_t *)out_fields[0] = (int32_t)(1000 * epoch + index);
    *(int32_t *)out_fields[1] = (int32_t)(index % 3);
    return FG_OK;
}

static int asked[2][4]; /* how often a sample of a pass was asked for in advance */

static void note(void *self, int64_t epoch, const int64_t *indices, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_in_range(epoch, 1, 2);
        asked[epoch - 1][indices[i]]++;
    }
}

/* Epoch 1 of the mix has the second half of pass 1 over the dataset and all of pass 2: the same
 * samples are asked for that are read. */
static void check_prefetch(fg_dataset *dataset)
{
    static const int64_t all[] = {0, 1, 2, 3, 4, 5};
    int32_t x[6], y[6];
    fg_dataset *mix;
    dataset->prefetch = note;
    fgt_ok(fg_dataset_mix(&dataset, 1, &(fg_mix_options){.count = 6}, &mix, &err));
    fgi_dataset_prefetch(mix, 1, all, 6);
    fgt_ok(fgi_dataset_gather(mix, 1, all, 6, (void *const[]){x, y}, &err));
    for (int i = 0; i < 6; i++)
        assert_int_equal(asked[x[i] / 1000 - 1][x[i] % 1000]--, 1);
    fg_dataset_destroy(mix);
}

static void samples_may_vary_by_epoch(void **state)
{
    const fg_dataset_ops ops = {.read_epoch = read_epoch};
    const fg_dataset_ops both = {.read_epoch = read_epoch, .read = read_label};
    const fg_dataset_spec spec = {.count = 4, .fields = fields, .field_count = 2};
    int32_t drawn[MOST], row[2];
    fg_dataset *dataset, *subset, *mix;
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    fgt_ok(fg_dataset_subset(dataset, (const int64_t[]){3, 1}, 2, &subset, &err));
    assert_int_equal(draw(subset, &(fg_loader_options){.batch_size = 2}, 7, drawn), 2);
    assert_memory_equal(drawn, ((const int32_t[]){7003, 7001}), 2 * sizeof drawn[0]);
    fgt_ok(fg_dataset_read(dataset, 2, (void *const[]){&row[0], &row[1]}, &err));
    assert_int_equal(row[0], 2); /* of epoch 0 */
    /* the epoch of a part of a mix is its number of passes */
    fgt_ok(fg_dataset_mix(&dataset, 1, &(fg_mix_options){.count = 8}, &mix, &err));
    (void)draw(mix, &(fg_loader_options){.batch_size = 8}, 3, drawn);
    for (int i = 0; i < 8; i++)
        assert_in_range(drawn[i] / 1000, 6, 7);
    check_prefetch(dataset);
    fg_dataset_destroy(mix);
    fg_dataset_destroy(subset);
    fg_dataset_destroy(dataset);
    assert_int_equal(fg_dataset_create(&both, NULL, &spec, &dataset, &err), FG_EINVAL);
    assert_string_equal(err.message, "the dataset has a read_epoch function and read or gather: "
                                     "expected read_epoch alone");
}

static fg_status make_all(void *self, fg_error *e)
{
    fg_dataset *parent = self, *balanced = NULL, *mix = NULL;
    fg_status status = fg_dataset_balanced(parent, NULL, &balanced, e);
    if (status == FG_OK)
        status = fg_dataset_mix((fg_dataset *const[]){parent, balanced}, 2, NULL, &mix, e);
    fg_dataset_destroy(balanced);
    fg_dataset_destroy(mix);
    return status;
}

static void allocation_failures_leak_nothing(void **state)
{
    fg_dataset *parent = numbers(0, 20);
    fgt_fault_loop(make_all, parent);
    fg_dataset_destroy(parent);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_sample_is_drawn_its_share_rounded_up_or_down),
    cmocka_unit_test(the_order_is_random_and_a_function_of_seed_and_epoch),
    cmocka_unit_test(ranks_and_resuming_change_nothing),
    cmocka_unit_test(wrong_weights_are_refused),
    cmocka_unit_test(classes_become_equally_frequent),
    cmocka_unit_test(labels_are_read_one_by_one_where_there_is_no_other_way),
    cmocka_unit_test(a_mix_has_each_part_s_share_and_goes_through_it_evenly),
    cmocka_unit_test(each_pass_has_another_order),
    cmocka_unit_test(parts_of_a_mix_may_be_drawn_by_weight),
    cmocka_unit_test(a_mix_without_weights_has_every_sample_once_per_epoch),
    cmocka_unit_test(parts_of_equal_size_have_different_orders),
    cmocka_unit_test(remainders_are_apportioned),
    cmocka_unit_test(parts_that_do_not_fit_are_refused),
    cmocka_unit_test(a_mix_has_limits),
    cmocka_unit_test(encodings_are_compared_whole),
    cmocka_unit_test(samples_may_vary_by_epoch),
    cmocka_unit_test(allocation_failures_leak_nothing),
};
FGT_MAIN(tests)
