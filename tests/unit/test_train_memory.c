/* test_train_memory.c - a step that needs more memory than a device has is rejected before it runs;
 * the error lists what needs it and a batch size that fits. The largest such batch is found by
 * compiling.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include <fulgurite/tuner.h>

#include "base/alloc.h"
#include "fakepjrt/fake_control.h"
#include "golden.h"
#include "toy.h"
#include "train/step/stage.h"

enum { SAMPLES = 1000, LIMIT = 6000 };

static fake_control fake;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

typedef struct fixture {
    fg_client *client;
    fg_trainer *trainer;
    fg_dataset *train;
    fg_fit_data data;
} fixture;

static fixture begin(int64_t batch_size)
{
    fg_error err = {0};
    fixture f = {.train = toy_data(SAMPLES, 1)};
    const fg_client_options client = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    fgt_ok(fg_client_open(&client, &f.client, &err));
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = f.client, .limits.max_steps = 2},
                      &f.trainer, &err));
    f.data = (fg_fit_data){.train = f.train, .batch_size = batch_size, .workers = FG_NONE};
    return f;
}

static void end(fixture *f)
{
    fake.reset();
    fg_trainer_destroy(f->trainer);
    fg_dataset_destroy(f->train);
    fg_client_close(f->client);
}

/* Each batch size tried, and its message. */
typedef struct tries {
    int count;
    int64_t batch[64], need[64];
    bool fits[64];
} tries;

static void on_tried(void *self, int64_t batch_size, int64_t need_bytes, bool fits)
{
    tries *t = self;
    assert_in_range(t->count, 0, 63);
    t->batch[t->count] = batch_size;
    t->need[t->count] = need_bytes;
    t->fits[t->count++] = fits;
}

static void the_largest_batch_is_found(void **state)
{
    (void)state;
    static const int64_t starts[] = {1, 32, 900, 5000};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        fg_error err = {0};
        tries t = {0};
        fg_batch_fit fit;
        int64_t too_large = INT64_MAX;
        fixture f = begin(starts[i]);
        fake.set("memory_limit_bytes", LIMIT);
        const long runs = fake.get("executions");
        fgt_ok(fg_trainer_find_batch(f.trainer, &task, &f.data,
                                     &(fg_batch_find_options){.tried = on_tried, .self = &t}, &fit,
                                     &err));
        assert_int_equal(fake.get("executions"), runs); /* nothing was executed */
        assert_int_equal(fit.limit_bytes, LIMIT);
        assert_false(fit.all_fit);
        bool is_tried = false;
        for (int k = 0; k < t.count; k++) {
            assert_int_equal(t.fits[k], (double)t.need[k] <= 0.9 * LIMIT);
            if (!t.fits[k] && t.batch[k] < too_large)
                too_large = t.batch[k];
            assert_true(!t.fits[k] || t.batch[k] <= fit.batch_size);
            is_tried |= t.fits[k] && t.batch[k] == fit.batch_size && t.need[k] == fit.need_bytes;
        }
        assert_true(is_tried);
        assert_true(too_large > fit.batch_size);
        assert_true(too_large - fit.batch_size <= fit.batch_size / 16 + 8);
        end(&f);
    }
}

/* Searches for a batch: samples, devices, memory of each, the batch to start with (0: the default).
 */
static const struct {
    int64_t samples;
    long devices, limit;
    int64_t start;
} searches[] = {
    {1000, 1, 6000, 0},   {1000, 1, 6000, 1},  {1000, 1, 6000, 7},      {1000, 1, 6000, 900},
    {1000, 1, 6000, -5},  {1000, 2, 6000, 0},  {1000, 1, 12000, 16},    {1000, 1, 24000, 24},
    {1000, 1, 2000, 0},   {1000, 1, 1900, 0},  {1000, 1, 1800, 30},     {1000, 1, 1000, 0},
    {64, 1, 6000, 32},    {65, 1, 6000, 32},   {63, 1, 6000, 32},       {17, 1, 2100, 17},
    {100, 2, 1 << 20, 0}, {33, 2, 1 << 20, 8}, {1, 1, 1 << 20, 0},      {24, 1, 2400, 24},
    {25, 1, 2400, 25},    {64, 3, 3000, 5},    {1000, 1, 1 << 20, 250}, {1000, 1, 1 << 20, 251}};

static void put_search(size_t i, FILE *out)
{
    fg_error err = {0};
    tries t = {0};
    fg_batch_fit fit;
    fake.set("devices", searches[i].devices);
    fixture f = begin(searches[i].start);
    fg_dataset_destroy(f.train);
    f.data.train = f.train = toy_data(searches[i].samples, 1);
    fake.set("memory_limit_bytes", searches[i].limit);
    fgt_ok(fg_trainer_find_batch(f.trainer, &task, &f.data,
                                 &(fg_batch_find_options){.tried = on_tried, .self = &t}, &fit,
                                 &err));
    (void)fprintf(out, "%d samples, %ld x %ld bytes, starting at %d:", (int)searches[i].samples,
                  searches[i].devices, searches[i].limit, (int)searches[i].start);
    for (int k = 0; k < t.count; k++)
        (void)fprintf(out, " %d%s", (int)t.batch[k], t.fits[k] ? "" : "!");
    (void)fprintf(out, "\n  found %d, %d in all, %d bytes%s\n", (int)fit.batch_size,
                  (int)fit.global_batch_size, (int)fit.need_bytes, fit.all_fit ? ", all fit" : "");
    end(&f);
}

/* "!": does not fit. */
static void a_search_tries_few_batches(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < sizeof searches / sizeof searches[0]; i++)
        put_search(i, out);
    assert_int_equal(fclose(out), 0);
    fgt_golden("train/batches.txt", text);
    free(text);
}

/* The bytes that a batch needs, and whether the search takes it, with this memory. */
static int64_t need_of(int64_t batch_size, int64_t limit, bool *out_fits)
{
    fg_error err = {0};
    tries t = {0};
    fg_batch_fit fit;
    fixture f = begin(batch_size);
    fake.set("memory_limit_bytes", (long)limit);
    fgt_ok(fg_trainer_find_batch(f.trainer, &task, &f.data,
                                 &(fg_batch_find_options){.tried = on_tried, .self = &t}, &fit,
                                 &err));
    end(&f);
    *out_fits = t.fits[0];
    return t.need[0];
}

/* A search leaves a tenth of the memory free, exactly; a fit may use all of it. */
static void a_batch_may_need_all_that_there_is(void **state)
{
    fg_error err = {0};
    bool fits;
    int64_t batch_size = 1, need;
    (void)state;
    while ((need = need_of(batch_size, 1 << 20, &fits)) % 9 != 0)
        batch_size++;
    (void)need_of(batch_size, need / 9 * 10, &fits);
    assert_true(fits);
    (void)need_of(batch_size, need / 9 * 10 - 2, &fits);
    assert_false(fits);
    for (int i = 0; i < 2; i++) {
        fixture f = begin(batch_size);
        fake.set("memory_limit_bytes", (long)need - i);
        assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err),
                         i == 0 ? FG_OK : FG_EDEVMEM);
        end(&f);
    }
}

static void all_samples_fit(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_batch_fit fit;
    fixture f = begin(0);
    fake.set("memory_limit_bytes", 1 << 30);
    fgt_ok(fg_trainer_find_batch(f.trainer, &task, &f.data, NULL, &fit, &err));
    assert_true(fit.all_fit);
    assert_int_equal(fit.batch_size, SAMPLES);
    end(&f);
}

/* Each device needs a sample. */
static void few_samples(void **state)
{
    static const struct {
        int samples;
        const char *message; /* for two devices; "": it is found */
    } rows[] = {{1, "1 training sample is fewer than the 2 devices"}, {2, ""}, {3, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_batch_fit fit;
        fake.set("devices", 2);
        fixture f = begin(0);
        fg_dataset_destroy(f.train);
        f.data.train = f.train = toy_data(rows[i].samples, 1);
        fake.set("memory_limit_bytes", 1 << 30);
        const fg_status status = fg_trainer_find_batch(f.trainer, &task, &f.data, NULL, &fit, &err);
        assert_string_equal(status == FG_OK ? "" : err.message, rows[i].message);
        assert_int_equal(fit.batch_size, status == FG_OK ? 1 : 0);
        assert_true(fit.all_fit == (status == FG_OK));
        end(&f);
    }
}

/* The first step fails, at once or on the device; the next smaller batch runs. */
static void on_failed(void *self, int64_t batch_size, int64_t need_bytes, bool fits)
{
    on_tried(self, batch_size, need_bytes, fits);
    fake.set("execute_error", 0);
    fake.set("execute_late_error", 0);
}

static void a_batch_that_does_not_run_is_lowered(void **state)
{
    (void)state;
    static const char *const errors[] = {"execute_error", "execute_late_error"};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        tries t = {0};
        fg_batch_fit fit;
        fixture f = begin(32);
        fake.set("memory_limit_bytes", LIMIT);
        fgt_ok(fg_trainer_find_batch(f.trainer, &task, &f.data, NULL, &fit, &err));
        assert_false(fit.was_run);
        const int64_t found = fit.batch_size, need = fit.need_bytes;
        assert_true(found > 32);
        fake.set(errors[i], 8); /* RESOURCE_EXHAUSTED */
        fgt_ok(fg_tuner_try_batch(f.trainer, &task, &f.data,
                                  &(fg_batch_find_options){.tried = on_failed, .self = &t}, &fit,
                                  &err));
        assert_true(fit.was_run);
        assert_int_equal(t.count, 2);
        assert_true(t.batch[0] == found && !t.fits[0] && t.batch[1] == fit.batch_size && t.fits[1]);
        assert_true(fit.batch_size < found && fit.batch_size >= found - found / 16 - 8);
        assert_int_equal(fit.batch_size % 8, 0);
        assert_int_equal(fit.global_batch_size, fit.batch_size);
        assert_true(fit.need_bytes > 0 && fit.need_bytes < need);
        f.data.batch_size = fit.batch_size;
        fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err)); /* the weights are not lost */
        end(&f);
    }
}

static void without_a_batch_that_runs_it_is_0(void **state)
{
    (void)state;
    fg_error err = {0};
    tries t = {0};
    fg_batch_fit fit = {.batch_size = 3};
    fixture f = begin(2);
    fgt_ok(fg_trainer_find_batch(f.trainer, &task, &f.data, NULL, &fit, &err));
    fit = (fg_batch_fit){.batch_size = 3, .all_fit = true};
    fake.set("execute_error", 8);
    fgt_ok(fg_tuner_try_batch(f.trainer, &task, &f.data,
                              &(fg_batch_find_options){.tried = on_tried, .self = &t}, &fit, &err));
    assert_true(!fit.was_run && !fit.all_fit && fit.batch_size == 0 && fit.need_bytes == -1);
    assert_int_equal(t.count, 3);
    fake.set("execute_error", 13); /* INTERNAL is another error */
    fit.batch_size = 3;
    assert_int_equal(fg_tuner_try_batch(f.trainer, &task, &f.data, NULL, &fit, &err), FG_EDEVICE);
    fake.set("execute_error", 0);
    fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err));
    fit.batch_size = 0;
    assert_int_equal(fg_tuner_try_batch(f.trainer, &task, &f.data, NULL, &fit, &err), FG_EINVAL);
    assert_string_equal(err.message, "batch_size is 0: expected at least 1");
    end(&f);
}

/* Above 16, multiples of 8; then one less each time. */
static void batches_are_lowered_in_steps(void **state)
{
    static const int64_t expected[] = {41, 32, 24, 16, 15, 14, 13, 12};
    (void)state;
    fg_error err = {0};
    tries t = {0};
    fg_batch_fit fit = {.batch_size = 41};
    fixture f = begin(2);
    fake.set("execute_error", 8);
    fgt_ok(fg_tuner_try_batch(f.trainer, &task, &f.data,
                              &(fg_batch_find_options){.tried = on_tried, .self = &t}, &fit, &err));
    fake.set("execute_error", 0);
    assert_int_equal(t.count, 4 + 15);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(t.batch[i], expected[i]);
    end(&f);
}

/* Without memory statistics, the host's memory is the limit, which virtual devices share. */
static void the_hosts_memory_counts(void **state)
{
    (void)state;
    int64_t limits[2];
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_batch_fit fit;
        fake.set("devices", i + 1);
        fixture f = begin(0);
        fgt_ok(fg_trainer_find_batch(f.trainer, &task, &f.data, NULL, &fit, &err));
        limits[i] = fit.limit_bytes;
        end(&f);
    }
    assert_true(limits[0] > 1 << 26);
    assert_int_equal(limits[1], limits[0] / 2);
}

static void a_fit_is_refused_before_it_runs(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(500);
    fake.set("memory_limit_bytes", LIMIT);
    const long runs = fake.get("executions");
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVMEM);
    assert_int_equal(fake.get("executions"), runs);
    const char *text = strstr(err.message, "the train_step needs ");
    assert_non_null(text);
    /* 83 parameters; Adam's two moments for each, its step count and seven health values */
    static const char parts[] = "of each device's memory, which is 6.0 kB: parameters 332 B, "
                                "optimizer 692 B, batch 14.1 kB, activations 40 B, program 0 B\n";
    if (strstr(text, parts) == NULL)
        fail_msg("%s", text);
    long fits = 0;
    const char *advice = strstr(text, "\nbatch_size ");
    assert_non_null(advice);
    assert_int_equal(sscanf(advice, "\nbatch_size %ld fits: it needs ", &fits), 1);
    /* and it fits */
    f.data.batch_size = fits;
    fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err));
    assert_int_equal(fg_trainer_result(f.trainer)->steps, 2);
    end(&f);
}

/* Memory in use by others is counted and reported: 2,800 bytes, minus those of the model, which may
 * already be on the device. */
static void what_others_hold_is_named(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(120);
    fg_array *array = NULL;
    static const float numbers[700];
    fgt_ok(fg_trainer_connect(f.trainer, &err));
    fgt_ok(fg_array_create(fg_trainer_client(f.trainer), &(fg_type){FG_F32, 1, {700}}, numbers,
                           &array, &err));
    fake.set("memory_limit_bytes", LIMIT);
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVMEM);
    if (strstr(err.message,
               " which is 6.0 kB, of which other arrays use 1.8 kB: parameters 332 B") == NULL)
        fail_msg("%s", err.message);
    fg_array_release(array);
    end(&f);
}

/* Batch norm's statistics are counted too: 18 values in addition to 91 parameters. Adam has moments
 * only for the latter. */
static void buffers_count_with_parameters(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(500);
    model.has_norm = true;
    fake.set("memory_limit_bytes", LIMIT);
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVMEM);
    model.has_norm = false;
    if (strstr(err.message, "parameters 436 B, optimizer 756 B, batch 14.1 kB") == NULL)
        fail_msg("%s", err.message);
    end(&f);
}

/* If the compiler or the execution runs out of memory, the advice is the same, for each device. */
static void what_runs_out_later_is_explained(void **state)
{
    (void)state;
    static const char *const faults[] = {"execute_error", "execute_error", "compile_error"};
    for (int i = 0; i < 3; i++) {
        fg_error err = {0};
        fake.set("devices", i == 1 ? 2 : 1);
        fixture f = begin(40);
        fake.set("memory_limit_bytes", 1 << 20);
        fake.set(faults[i], 8);
        assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVMEM);
        assert_non_null(strstr(err.message, "RESOURCE_EXHAUSTED"));
        const char *advice =
            strstr(err.message, i < 2 ? "\nbatch_size 20 fits: it needs "
                                      : "\nnot even a batch of 1 per device fits in 1.0 MB");
        assert_non_null(advice);
        assert_true((strstr(advice, "; this one: parameters 332 B") != NULL) == (i < 2));
        assert_true(i < 2 || strlen(advice) == strlen("\nnot even a batch of 1 per device fits in "
                                                      "1.0 MB"));
        end(&f);
    }
}

static int nothing_is_alive(void **state)
{
    (void)state;
    const bool alive = fgi_alloc_live() != 0 || fake.get("events") != 0 || fake.get("buffers") != 0;
    fake.reset();
    return alive;
}

static int open_fake(void **state)
{
    (void)state;
    return fake_open(&fake) ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_largest_batch_is_found, nothing_is_alive),
        cmocka_unit_test_teardown(a_search_tries_few_batches, nothing_is_alive),
        cmocka_unit_test_teardown(a_batch_may_need_all_that_there_is, nothing_is_alive),
        cmocka_unit_test_teardown(a_batch_that_does_not_run_is_lowered, nothing_is_alive),
        cmocka_unit_test_teardown(without_a_batch_that_runs_it_is_0, nothing_is_alive),
        cmocka_unit_test_teardown(batches_are_lowered_in_steps, nothing_is_alive),
        cmocka_unit_test_teardown(all_samples_fit, nothing_is_alive),
        cmocka_unit_test_teardown(few_samples, nothing_is_alive),
        cmocka_unit_test_teardown(the_hosts_memory_counts, nothing_is_alive),
        cmocka_unit_test_teardown(a_fit_is_refused_before_it_runs, nothing_is_alive),
        cmocka_unit_test_teardown(what_others_hold_is_named, nothing_is_alive),
        cmocka_unit_test_teardown(buffers_count_with_parameters, nothing_is_alive),
        cmocka_unit_test_teardown(what_runs_out_later_is_explained, nothing_is_alive),
    };
    return cmocka_run_group_tests(tests, open_fake, NULL) == 0 ? 0 : 1;
}
