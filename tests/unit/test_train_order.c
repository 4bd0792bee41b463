/* test_train_order.c - two callbacks that have all functions: each function of the first is called
 * directly before that of the second, for every hook. The order of samples in a second fit whose
 * data options are others. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <string.h>

#include "toy_place.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

/* The calls so far, as "fit_start1 fit_start2 ...". */
static char calls[16384];

static void note(const char *hook, const void *self)
{
    const size_t used = strlen(calls);
    (void)snprintf(calls + used, sizeof calls - used, "%s%s ", hook, (const char *)self);
}

#define FUNCTION(name)                                                                             \
    static fg_status on_##name(void *self, const fg_progress *at, fg_error *err)                   \
    {                                                                                              \
        (void)at, (void)err;                                                                       \
        note(#name, self);                                                                         \
        return FG_OK;                                                                              \
    }
TOY_EVENTS(FUNCTION)

static fg_status on_measure(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    (void)at, (void)values, (void)err;
    note("measure", self);
    return FG_OK;
}

static size_t on_save(void *self, void *bytes, size_t size)
{
    if (size >= 1) { /* the second call */
        note("save", self);
        memcpy(bytes, self, 1);
    }
    return 1;
}

static fg_status on_load(void *self, const void *bytes, size_t size, fg_error *err)
{
    (void)err;
    assert_int_equal(size, 1);
    assert_memory_equal(bytes, self, 1); /* its own state */
    note("load", self);
    return FG_OK;
}

static void on_destroy(void *self) { note("destroy", self); }

#define ROW(event) .event = on_##event,
#define ALL                                                                                        \
    TOY_EVENTS(ROW).measure = on_measure, .save = on_save, .load = on_load, .destroy = on_destroy
static const fg_callback_ops first_ops = {.name = "first", ALL};
static const fg_callback_ops second_ops = {.name = "second", ALL};

static fg_trainer *create(const char *run_dir, const char *resume)
{
    static char one[] = "1", two[] = "2";
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options options = two_epochs;
    options.devices.client = client;
    options.checkpoints.run_dir = run_dir;
    options.checkpoints.resume = resume;
    options.limits.max_epochs = resume != NULL ? 2 : 1;
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &first_ops, one, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &second_ops, two, &err));
    return trainer;
}

/* Each call of the first is followed by the same one of the second. */
static void check_pairs(void)
{
    char *rest = calls;
    for (char *a, *b; (a = strsep(&rest, " ")) != NULL && *a != '\0';) {
        b = strsep(&rest, " ");
        const size_t size = strlen(a) - 1;
        if (b == NULL || strlen(b) != size + 1 || memcmp(a, b, size) != 0 || a[size] != '1' ||
            b[size] != '2')
            fail_msg("%s is followed by %s", a, b != NULL ? b : "nothing");
    }
}

#define IS_CALLED(event) assert_non_null(strstr(calls, #event "1 " #event "2 "));

static void callbacks_are_called_in_the_order_they_were_added(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    const char *folder = fgt_temp_folder();
    fg_trainer *trainer = create(folder, NULL);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    trainer = create(folder, "last");
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    TOY_EVENTS(IS_CALLED)
    IS_CALLED(measure)
    IS_CALLED(save)
    IS_CALLED(load)
    IS_CALLED(destroy)
    /* values are added before anyone reads the line; state is loaded before the fit starts */
    assert_non_null(strstr(calls, "measure1 measure2 log1 log2 "));
    assert_non_null(strstr(calls, "load1 load2 fit_start1 fit_start2 "));
    check_pairs();
}

/* ---- the order of samples -------------------------------------------------------------------- */

static int64_t order[64]; /* indices of the samples, as they were read */
static int read_count;

static fg_status read_index(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    (void)self, (void)err;
    assert_true(read_count < 64);
    order[read_count++] = index;
    memset(out_fields[0], 0, TOY_FEATURES * sizeof(float));
    *(int32_t *)out_fields[1] = 0;
    return FG_OK;
}

static fg_dataset *noting_data(void)
{
    static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}}};
    static const fg_dataset_ops ops = {.read = read_index};
    const fg_dataset_spec spec = {
        .count = 10, .fields = fields, .field_count = 2, .class_count = TOY_CLASSES};
    fg_dataset *dataset = NULL;
    fg_error err = {0};
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    return dataset;
}

/* Ends a fit after its epoch. */
static fg_status end_fit(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at;
    return fg_error_set(err, FG_ESTOPPED, "one epoch");
}

static bool is_sorted(int count)
{
    for (int i = 0; i < count; i++)
        if (order[i] != i)
            return false;
    return true;
}

/* With one Trainer, an epoch of 10 samples in batches of 4 for each row; some repeat the last. */
static const struct {
    bool no_shuffle, drop_last;
    int64_t steps;
} fits[] = {{false, false, 3}, {true, false, 3},  {true, true, 2}, {false, true, 2},
            {false, false, 3}, {false, false, 3}, {true, false, 3}};

static void a_later_fit_may_have_another_order(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.epoch_end = end_fit};
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    int64_t steps = 0;
    fg_dataset *dataset = noting_data();
    const fg_trainer_options options = {.devices.client = client, .limits.max_epochs = 9};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++) {
        const fg_fit_data data = {.train = dataset,
                                  .batch_size = 4,
                                  .workers = FG_NONE,
                                  .no_shuffle = fits[i].no_shuffle,
                                  .drop_last = fits[i].drop_last};
        read_count = 0;
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        steps += fits[i].steps;
        assert_int_equal(fg_trainer_result(trainer)->steps, steps);
        assert_int_equal(read_count, 4 * fits[i].steps); /* the last batch is padded */
        assert_int_equal(fg_trainer_result(trainer)->input.samples, read_count);
        assert_int_equal(is_sorted(8), fits[i].no_shuffle);
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(dataset);
}

/* An epoch for each row, with one Trainer: of the data that note what is read, or of others. */
static const struct {
    bool is_other;
    int64_t workers, threads;
} later[] = {{false, FG_NONE, 0}, {true, FG_NONE, 0}, {true, 2, 2},
             {true, 2, 2},        {true, 1, 1},       {true, 0, -1}};

static void a_later_fit_may_have_other_data_and_threads(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.epoch_end = end_fit};
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_dataset *dataset = noting_data();
    const fg_trainer_options options = {.devices.client = client, .limits.max_epochs = 9};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        const fg_fit_data data = {.train = later[i].is_other ? train_data : dataset,
                                  .batch_size = 4,
                                  .workers = later[i].workers};
        read_count = 0;
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        const int threads = fg_trainer_result(trainer)->input.workers;
        assert_int_equal(read_count, later[i].is_other ? 0 : 12);
        assert_true(later[i].threads < 0 ? threads > 0 : threads == later[i].threads);
        for (int k = 0; k < threads; k++)
            assert_true(fg_trainer_result(trainer)->input.worker_cpu_s[k] >= 0);
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(dataset);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_later_fit_may_have_another_order),
    cmocka_unit_test(a_later_fit_may_have_other_data_and_threads),
    cmocka_unit_test(callbacks_are_called_in_the_order_they_were_added),
};
int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
