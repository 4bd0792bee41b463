/* test_train_reads.c - which values a Trainer reads from its devices: how many times, and how many
 * bytes. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>

#include "toy_place.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

/* The reads between two calls, with a line for each name. */
static void put_reads(const fg_client *of, fg_host_read *old, char *out, size_t size)
{
    fg_host_read now[FG_MAX_HOST_READS];
    const size_t count = fg_client_host_reads(of, now, FG_MAX_HOST_READS);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (now[i].count > old[i].count)
            used += (size_t)snprintf(out + used, size - used, "%s: %lld of %lld bytes\n", now[i].at,
                                     (long long)(now[i].count - old[i].count),
                                     (long long)(now[i].bytes - old[i].bytes));
        old[i] = now[i];
    }
}

static fg_status drop(void *self, const fg_type *type, const void *data, int64_t first,
                      fg_error *err)
{
    (void)self, (void)type, (void)data, (void)first, (void)err;
    return FG_OK;
}

/* The step of the test: in addition to its loss, an accuracy, counts of classes, rows. */
static fg_tensor classify(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor logits = toy_forward(self, fg_batch_field(batch, "x"));
    fg_step_log_classification(step, logits, fg_batch_field(batch, "y"));
    return fg_cross_entropy(logits, fg_batch_field(batch, "y"), NULL);
}

static fg_trainer *trainer;
static fg_host_read before[FG_MAX_HOST_READS];

static void reads_are(const char *expected)
{
    char got[512];
    put_reads(client, before, got, sizeof got);
    assert_string_equal(got, expected);
}

/* Two metrics in 6 steps with a line every 2, at the end of an epoch, and for the loss of the first
 * step; 4 validations; 3 checkpoints of 83 parameters. Then 5 samples in 2 batches. */
static void each_read_is_counted_by_what_it_reads(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_evaluation *evaluation = NULL;
    fg_task_ops ops = toy_ops;
    const fg_task classifies = {.name = "toy", .self = &model, .ops = &ops};
    fg_trainer_options options = two_epochs;
    const fg_fit_data data = the_data();
    ops.test_step = classify;
    options.checkpoints.run_dir = fgt_temp_folder();
    trainer = toy_trainer(client, &options);
    fgt_ok(fg_trainer_fit(trainer, &classifies, &data, &err));
    reads_are("metrics: 5 of 200 bytes\n"
              "validation metrics: 4 of 64 bytes\n"
              "checkpoint: 3 of 3072 bytes\n"
              "optimizer's report on the last update: 1 of 24 bytes\n");
    fgt_ok(fg_trainer_validate(trainer, &classifies, &data, &err));
    reads_are("validation metrics: 1 of 16 bytes\n");
    fgt_ok(fg_trainer_test(trainer, &classifies, &data, &err));
    reads_are("test metrics: 1 of 52 bytes\n");
    fgt_ok(fg_trainer_evaluation(trainer, true, &evaluation, &err));
    reads_are("rows of samples: 1 of 96 bytes\n");
    fgt_ok(fg_trainer_predict(trainer, &classifies, &data, drop, NULL, &err));
    reads_are("predictions: 2 of 60 bytes\n");
    fg_trainer_destroy(trainer);
}

/* The device takes longer than the host. */
static void waiting_for_values_is_counted(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_host_read reads[FG_MAX_HOST_READS];
    const fg_fit_data data = the_data();
    const double waited_s = before[1].wait_s;
    trainer = toy_trainer(client, &(fg_trainer_options){0});
    fake.set("delay_ms", 20);
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
    fake.reset();
    assert_true(fg_client_host_reads(client, reads, FG_MAX_HOST_READS) > 1);
    assert_string_equal(reads[1].at, "validation metrics");
    assert_true(reads[1].wait_s > waited_s);
    fg_trainer_destroy(trainer);
}

/* Not what the client did before: the second Trainer finds the program in the cache, and its second
 * call needs none. */
static void a_result_is_of_one_call(void **state)
{
    (void)state;
    static const int64_t compiles[] = {1, 0, 0}, hits[] = {0, 1, 0};
    fg_error err = {0};
    fg_client *cached = NULL;
    float bias[TOY_CLASSES];
    const fg_fit_data data = the_data();
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .plugin_path = FAKE_PATH,
                                               .cache_dir = fgt_temp_folder()},
                          &cached, &err));
    trainer = toy_trainer(cached, &(fg_trainer_options){0});
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            fg_trainer_destroy(trainer);
            trainer = toy_trainer(cached, &(fg_trainer_options){0});
        }
        fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        const fg_result *r = fg_trainer_result(trainer);
        assert_int_equal(r->compiles, compiles[i]);
        assert_int_equal(r->compile_cache_hits, hits[i]);
        assert_true((r->compile_s > 0) == (i < 2)); /* loading is compiling too */
        assert_int_equal(r->host_reads, 0);
        fgt_ok(fg_variable_read(fg_module_find(fg_trainer_module(trainer), "fc2.bias"), bias,
                                sizeof bias, &err));
    }
    assert_int_equal(fg_client_stats_of(cached).host_reads, 3);
    fg_trainer_destroy(trainer);
    fg_client_close(cached);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_read_is_counted_by_what_it_reads),
    cmocka_unit_test(waiting_for_values_is_counted),
    cmocka_unit_test(a_result_is_of_one_call),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
