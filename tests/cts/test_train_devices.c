/* test_train_devices.c - one device, some, all: the Trainer's figures are the same but for
 * rounding, also where samples do not come out even. On virtual devices of the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

enum { STEPS = 15, TRAIN = 101, VAL = 5, ROWS = 13 };

/* What a fit logged, and what came of it. */
typedef struct history {
    int steps, validations;
    double loss[STEPS], lr[STEPS], val_loss, val_acc;
    float rows[ROWS * TOY_CLASSES];
} history;

static double metric(const fg_progress *at, const char *name)
{
    for (size_t i = 0; i < at->metric_count; i++)
        if (strcmp(at->metrics[i].name, name) == 0)
            return at->metrics[i].value;
    fail_msg("no metric %s", name);
    return 0;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    history *h = self;
    (void)err;
    assert_true(h->steps < STEPS);
    h->lr[h->steps] = at->lr;
    h->loss[h->steps++] = metric(at, "train_loss");
    return FG_OK;
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    history *h = self;
    (void)err;
    h->validations++;
    h->val_loss = metric(at, "val_loss");
    h->val_acc = metric(at, "val_acc");
    return FG_OK;
}

static const fg_callback_ops history_ops = {.log = on_log, .val_end = on_val_end};
static const fg_schedule onecycle = {.name = "onecycle"};

static fg_status keep_rows(void *self, const fg_type *type, const void *data, int64_t first,
                           fg_error *err)
{
    history *h = self;
    (void)err;
    assert_true(first + type->dim[0] <= ROWS);
    memcpy(h->rows + first * TOY_CLASSES, data, fg_type_bytes(type));
    return FG_OK;
}

/* Three epochs of 5 batches of 24, 5 samples short; then predictions. */
static void train(const char *devices, int device_count, history *h)
{
    fg_error err = {0};
    toy model = {.has_norm = true, .dropout = 0.2};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_trainer_options options = {.accelerator = "cpu",
                                        .devices = devices,
                                        .cache_dir = fgt_cache(fgt_temp_folder()),
                                        .max_epochs = 3,
                                        .log_every = 1,
                                        .seed = 5,
                                        .schedule = &onecycle};
    fg_dataset *train_data = toy_data(TRAIN, 1), *val = toy_data(VAL, 2), *rows = toy_data(ROWS, 3);
    fg_trainer *trainer = NULL;
    *h = (history){0};
    fgt_ok(fg_trainer_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &history_ops, h, &err));
    const fg_fit_data data = {.train = train_data, .val = val, .global_batch_size = 24};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_client_get_info(fg_trainer_client(trainer))->device_count, device_count);
    const fg_fit_data new_data = {.val = rows, .global_batch_size = 24};
    fgt_ok(fg_trainer_predict(trainer, &task, &new_data, keep_rows, h, &err));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(val);
    fg_dataset_destroy(rows);
}

/* 101 is a prime: the last batch of an epoch has 5 samples for 24 places, on 8 devices 3 each, so
 * that most of them have none. The 5 samples of the validation are fewer than the devices. */
static void any_number_of_devices_trains_alike(void **state)
{
    static const struct {
        const char *devices;
        int count;
    } rows[] = {{"0,2,5", 3}, {"8", 8}, {"[1]", 1}};
    static history one, some;
    (void)state;
    train("1", 1, &one);
    assert_int_equal(one.steps, STEPS);
    assert_int_equal(one.validations, 3);
    assert_true(one.loss[STEPS - 2] < one.loss[0]);
    assert_true(one.lr[STEPS - 1] == 0.01 / 25 / 1e4);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        train(rows[i].devices, rows[i].count, &some);
        assert_int_equal(some.steps, STEPS);
        assert_int_equal(some.validations, 3);
        for (int k = 0; k < STEPS; k++) {
            fgt_close("train_loss", some.loss[k], one.loss[k], 1e-6, 1e-4);
            assert_true(some.lr[k] == one.lr[k]);
        }
        fgt_close("val_loss", some.val_loss, one.val_loss, 1e-6, 1e-4);
        assert_true(some.val_acc == one.val_acc);
        for (int k = 0; k < ROWS * TOY_CLASSES; k++)
            fgt_close("prediction", (double)some.rows[k], (double)one.rows[k], 1e-3, 1e-3);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_number_of_devices_trains_alike),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
