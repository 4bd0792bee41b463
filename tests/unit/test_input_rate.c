/* test_input_rate.c - the loader's rate, on datasets that sleep for each sample: no reader can be
 * faster than its sleep, so an upper bound holds on any machine. The only lower bound is that some
 * samples are counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>
#include <fulgurite/data.h>

static fg_error err;

enum { WIDTH = 6, SLEEP_MS = 2, SAMPLE_BYTES = WIDTH * 2 + 4 };

static const fg_field fields[] = {{"x", {FG_F16, 1, {WIDTH}}}, {"y", {FG_S32, 0, {0}}}};

/* Input and output of the reader below. */
typedef struct reader {
    int64_t failing; /* a sample, or -1 */
    atomic_long reads;
} reader;

static fg_status read_asleep(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    reader *r = self;
    const struct timespec time = {.tv_nsec = SLEEP_MS * 1000000L};
    (void)nanosleep(&time, NULL);
    (void)atomic_fetch_add(&r->reads, 1);
    if (index == r->failing) {
        (void)snprintf(e->message, sizeof e->message, "sample %d is damaged", (int)index);
        return FG_EFORMAT;
    }
    memset(out_fields[0], 0, WIDTH * 2);
    *(int32_t *)out_fields[1] = (int32_t)index;
    return FG_OK;
}

static fg_dataset *asleep(reader *r, int64_t count)
{
    const fg_dataset_ops ops = {.read = read_asleep};
    const fg_dataset_spec spec = {.count = count, .fields = fields, .field_count = 2};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_create(&ops, r, &spec, &dataset, &err));
    return dataset;
}

/* Each worker reads at most one sample per SLEEP_MS. Samples read before the measurement that still
 * count are in the slots: at most `slots` batches. */
static void check_bound(const fg_input_rate *rate, int workers, int64_t slots, int64_t batch)
{
    const double most =
        (double)workers * (rate->seconds / (SLEEP_MS * 1e-3) + 1) + (double)(slots * batch);
    assert_true(rate->samples > 0);
    assert_true((double)rate->samples <= most);
    assert_true(fabs(rate->samples_per_s * rate->seconds - (double)rate->samples) < 1e-6);
    assert_int_equal(rate->sample_bytes, SAMPLE_BYTES);
    assert_true(fabs(rate->bytes_per_s - rate->samples_per_s * SAMPLE_BYTES) < 1e-6);
}

static void no_worker_reads_faster_than_it_sleeps(void **state)
{
    for (int workers = 1; workers <= 2; workers++) {
        reader r = {.failing = -1};
        fg_dataset *dataset = asleep(&r, 1000);
        fg_input_rate rate;
        const fg_loader_options options = {.batch_size = 4, .workers = workers, .prefetch = 2};
        fgt_ok(fg_input_rate_measure(dataset, &options, 0.2, &rate, &err));
        assert_true(rate.seconds >= 0.2);
        check_bound(&rate, workers, 2, 4);
        assert_true(rate.samples <= atomic_load(&r.reads)); /* nothing is counted twice */
        fg_dataset_destroy(dataset);
    }
}

/* An epoch of five samples in batches of four: padding rows are not counted as samples. */
static void short_epochs_follow_one_another(void **state)
{
    reader r = {.failing = -1};
    fg_dataset *dataset = asleep(&r, 5);
    fg_input_rate rate;
    fgt_ok(fg_input_rate_measure(
        dataset, &(fg_loader_options){.batch_size = 4, .workers = 1, .shuffle = true}, 0.1, &rate,
        &err));
    check_bound(&rate, 1, 4, 4);
    fg_dataset_destroy(dataset);
}

/* A batch that takes longer than the measurement is completed. */
static void one_batch_at_least(void **state)
{
    reader r = {.failing = -1};
    fg_dataset *dataset = asleep(&r, 100);
    fg_input_rate rate;
    fgt_ok(fg_input_rate_measure(
        dataset, &(fg_loader_options){.batch_size = 20, .workers = FG_NONE}, 1e-3, &rate, &err));
    assert_int_equal(rate.samples, 20);
    assert_true(rate.seconds >= 20 * SLEEP_MS * 1e-3);
    fg_dataset_destroy(dataset);
    dataset = asleep(&r, 3); /* and five padding rows */
    fgt_ok(fg_input_rate_measure(dataset, &(fg_loader_options){.batch_size = 8, .workers = FG_NONE},
                                 1e-9, &rate, &err));
    assert_int_equal(rate.samples, 3);
    fg_dataset_destroy(dataset);
}

static void what_cannot_be_measured_is_said(void **state)
{
    reader r = {.failing = 3};
    fg_dataset *dataset = asleep(&r, 8);
    fg_input_rate rate;
    assert_int_equal(fg_input_rate_measure(dataset, NULL, 0, &rate, &err), FG_EINVAL);
    assert_int_equal(fg_input_rate_measure(dataset, NULL, (double)NAN, &rate, &err), FG_EINVAL);
    assert_int_equal(fg_input_rate_measure(dataset, NULL, (double)INFINITY, &rate, &err),
                     FG_EINVAL);
    assert_int_equal(
        fg_input_rate_measure(dataset, &(fg_loader_options){.batch_size = -1}, 1, &rate, &err),
        FG_EINVAL);
    const fg_loader_options whole = {.batch_size = 9, .drop_last = true};
    assert_int_equal(fg_input_rate_measure(dataset, &whole, 0.05, &rate, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "no batch"));
    assert_int_equal(fg_input_rate_measure(dataset, NULL, 0.05, &rate, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "sample 3 is damaged"));
    assert_true(rate.samples_per_s == 0);
    fg_dataset_destroy(dataset);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_worker_reads_faster_than_it_sleeps),
    cmocka_unit_test(short_epochs_follow_one_another),
    cmocka_unit_test(one_batch_at_least),
    cmocka_unit_test(what_cannot_be_measured_is_said),
};
FGT_MAIN(tests)
