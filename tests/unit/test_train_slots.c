/* test_train_slots.c - the memory of batches while devices read it: a slot of the loader is not
 * filled again before the transfer has completed and the step that reads it in place has ended.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"
#include "train/step/feed.h"

enum { BATCH = 4, BATCHES = 100, COUNT = BATCH * BATCHES };

static fake_control fake;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

/* Where each sample was written. */
static float *_Atomic place_of[COUNT];
static atomic_int reads;

static fg_status read_sample(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    float *x = out_fields[0];
    *(int32_t *)out_fields[1] = toy_sample(index, 1, x);
    atomic_store(&place_of[index], x);
    atomic_fetch_add(&reads, 1);
    return FG_OK;
}

static fg_dataset *samples(void)
{
    static const fg_field fields[] = {{"x", {FG_F32, 1, {TOY_FEATURES}}}, {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = COUNT, .fields = fields, .field_count = 2, .class_count = TOY_CLASSES};
    const fg_dataset_ops ops = {.read = read_sample};
    fg_error err = {0};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    return dataset;
}

static void check_batch(int64_t batch)
{
    float want[TOY_FEATURES];
    for (int64_t i = batch * BATCH; i < (batch + 1) * BATCH; i++) {
        (void)toy_sample(i, 1, want);
        assert_memory_equal(atomic_load(&place_of[i]), want, sizeof want);
    }
}

static fg_status hold_at_the_start(void *self, const fg_progress *at, fg_error *err)
{
    if (at->step == 0)
        fake.set("hold", 1);
    return FG_OK;
}

/* Three steps are launched, and the device has not started. The loader fills all other slots, and
 * then waits. */
static fg_status check_what_the_device_reads(void *self, const fg_progress *at, fg_error *err)
{
    if (at->step != FGI_IN_FLIGHT)
        return FG_OK;
    while (atomic_load(&reads) < FGI_MOST_SLOTS * BATCH)
        (void)sched_yield();
    for (int i = 0; i < 2000; i++)
        (void)sched_yield(); /* a mistake would show up now, most of the time */
    assert_int_equal(atomic_load(&reads), FGI_MOST_SLOTS * BATCH);
    for (int64_t i = 0; i < FGI_MOST_SLOTS; i++)
        check_batch(i);
    fake.set("hold", 0);
    return FG_OK;
}

static void a_slot_is_not_reused_before_the_device_has_read_it(void **state)
{
    static const fg_callback_ops holder = {.epoch_start = hold_at_the_start,
                                           .batch_end = check_what_the_device_reads};
    fg_error err = {0};
    fg_client *client;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &client, &err));
    fg_dataset *dataset = samples();
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 1});
    fgt_ok(fg_trainer_add_callback(trainer, &holder, NULL, &err));
    const fg_fit_data data = {
        .train = dataset, .batch_size = BATCH, .workers = 2, .no_shuffle = true};
    const fg_client_stats before = fg_client_stats_of(client);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    /* the device reads the slots in place: both fields of each batch */
    const fg_client_stats after = fg_client_stats_of(client);
    assert_true(after.in_place_bytes - before.in_place_bytes ==
                (int64_t)COUNT * (TOY_FEATURES + 1) * 4);
    assert_true(atomic_load(&reads) >= COUNT);
    /* memory was used again: no more than the slots of one loader */
    int slots = 0;
    for (int64_t i = 0; i < COUNT; i += BATCH) {
        bool is_new = true;
        for (int64_t k = 0; k < i; k += BATCH)
            is_new &= atomic_load(&place_of[k]) != atomic_load(&place_of[i]);
        slots += is_new;
    }
    assert_true(slots <= FGI_MOST_SLOTS);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(dataset);
    fg_client_close(client);
}

static int open_fake(void **state) { return !fake_open(&fake); }
static int check_memory(void **state)
{
    fake.reset();
    return fgi_alloc_live() != 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_slot_is_not_reused_before_the_device_has_read_it),
};

int main(void) { return cmocka_run_group_tests(tests, open_fake, check_memory) == 0 ? 0 : 1; }
