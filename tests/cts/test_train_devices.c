/* test_train_devices.c - the Trainer's results on one, some and all devices are equal up to
 * rounding, also if the samples cannot be divided evenly. On virtual CPU devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "optim/optimizer.h"
#include "toy.h"
#include "trace/trace.h"

enum { STEPS = 15, TRAIN = 101, VAL = 5, ROWS = 13 };

/* What a fit logged, and its results. */
typedef struct history {
    int steps, validations;
    double loss[STEPS], lr[STEPS], val_loss, val_acc;
    float rows[ROWS * TOY_CLASSES];
} history;

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    history *h = self;
    (void)err;
    assert_true(h->steps < STEPS);
    h->lr[h->steps] = at->lr;
    h->loss[h->steps++] = toy_logged(at, "train_loss");
    return FG_OK;
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    history *h = self;
    (void)err;
    h->validations++;
    h->val_loss = toy_logged(at, "val_loss");
    h->val_acc = toy_logged(at, "val_acc");
    return FG_OK;
}

static const fg_callback_ops history_ops = {.log = on_log, .val_end = on_val_end};
static const fg_schedule onecycle = {.row = &fgi_onecycle_row};

static fg_status keep_rows(void *self, const fg_type *type, const void *data, int64_t first,
                           fg_error *err)
{
    history *h = self;
    (void)err;
    assert_true(first + type->dim[0] <= ROWS);
    memcpy(h->rows + first * TOY_CLASSES, data, fg_type_bytes(type));
    return FG_OK;
}

/* Three epochs of 5 batches of 24, the last with only 5 samples; then predictions. */
static void train(const char *devices, int device_count, history *h)
{
    fg_error err = {0};
    toy model = {.has_norm = true, .dropout = 0.2};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = devices,
                                        .devices.cache_dir = fgt_cache(fgt_temp_folder()),
                                        .limits.max_epochs = 3,
                                        .output.log_every = 1,
                                        .seed = 5,
                                        .lr.schedule = &onecycle};
    fg_dataset *train_data = toy_data(TRAIN, 1), *val = toy_data(VAL, 2), *rows = toy_data(ROWS, 3);
    fg_trainer *trainer = NULL;
    *h = (history){0};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &history_ops, h, &err));
    const fg_fit_data data = {.train = train_data, .val = val, .global_batch_size = 24};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_client_info_of(fg_trainer_client(trainer))->device_count, device_count);
    const fg_fit_data new_data = {.predict = rows, .global_batch_size = 24};
    fgt_ok(fg_trainer_predict(trainer, &task, &new_data, keep_rows, h, &err));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(val);
    fg_dataset_destroy(rows);
}

/* 101 is a prime: the last batch of an epoch has 5 samples and 24 rows, 3 on each of 8 devices, so
 * that most devices have only padding. The 5 validation samples are fewer than the devices. */
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

/* ---- without training ------------------------------------------------------------------------ */

/* The results of the passes over 13 samples. */
typedef struct passes {
    double val_loss, val_acc, test_loss, test_acc;
    history predicted;
    int split; /* number of sharded parameters */
} passes;

/* Three steps, then each pass alone, with parameters large enough to be sharded. */
static void evaluate(const char *devices, const char *strategy, passes *out)
{
    fg_error err = {0};
    toy model = {.has_norm = true, .hidden = 512, .optimizer = "sgd"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = devices,
                                        .devices.strategy = strategy,
                                        .devices.cache_dir = fgt_cache(fgt_temp_folder()),
                                        .limits.max_steps = 3,
                                        .seed = 5};
    fg_dataset *train_data = toy_data(TRAIN, 1), *rows = toy_data(ROWS, 3);
    const fg_fit_data data = {.train = train_data, .global_batch_size = 24};
    const fg_fit_data other = {.val = rows, .test = rows, .predict = rows, .global_batch_size = 8};
    fg_trainer *trainer = NULL;
    *out = (passes){0};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fgt_ok(fg_trainer_validate(trainer, &task, &other, &err));
    out->val_loss = toy_metric(trainer, "val_loss");
    out->val_acc = toy_metric(trainer, "val_acc");
    fgt_ok(fg_trainer_test(trainer, &task, &other, &err));
    out->test_loss = toy_metric(trainer, "test_loss");
    out->test_acc = toy_metric(trainer, "test_acc");
    fgt_ok(fg_trainer_predict(trainer, &task, &other, keep_rows, &out->predicted, &err));
    const fg_module *root = fg_trainer_module(trainer);
    for (size_t i = 0; i < fg_module_variable_count(root); i++)
        out->split +=
            !fgi_sharding_is_replicated(fgi_variable_sharding(fg_module_variable_at(root, i)));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(rows);
}

/* The passes use the parameters sharded as they are. The last batch has 5 of 8 samples: on four
 * devices 2, 2, 1 and 0. */
static void split_parameters_evaluate_alike(void **state)
{
    static passes one, four;
    (void)state;
    evaluate("1", NULL, &one);
    evaluate("4", "fsdp", &four);
    assert_int_equal(one.split, 0);
    assert_int_equal(four.split, 2); /* both layers' weights */
    assert_true(one.val_loss > 0 && one.val_acc > 0);
    fgt_close("val_loss", four.val_loss, one.val_loss, 0, 1e-5);
    fgt_close("test_loss", four.test_loss, one.test_loss, 0, 1e-5);
    assert_true(four.val_acc == one.val_acc && four.test_acc == one.test_acc);
    assert_true(one.test_acc == one.val_acc); /* for the same samples */
    for (int k = 0; k < ROWS * TOY_CLASSES; k++)
        fgt_close("prediction", (double)four.predicted.rows[k], (double)one.predicted.rows[k], 1e-5,
                  1e-5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(split_parameters_evaluate_alike),
    cmocka_unit_test(any_number_of_devices_trains_alike),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
