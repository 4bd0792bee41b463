/* test_train_mxu.c - the MXU utilization of a fit, on the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>

#include "fakepjrt/fake_control.h"
#include "toy.h"

enum { BATCH = 8 };

/* The matmuls of a batch: both layers forward, the gradients of both weights, and the gradient of
 * the second layer's input. */
static const double toy_flops =
    2.0 * BATCH * (2 * TOY_FEATURES * TOY_HIDDEN + 3 * TOY_HIDDEN * TOY_CLASSES);

static fg_result fit(bool is_v5e, int accumulate, int devices)
{
    fg_error err = {0};
    fake_control fake = {0};
    toy model = {0};
    fg_client *client;
    fg_trainer *trainer;
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    assert_true(fake_open(&fake));
    fake.reset();
    fake.set("kind", is_v5e ? 3 : 0);
    fake.set("devices", devices);
    fake.set("delay_ms", 1);
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &client, &err));
    fg_dataset *data = toy_data(64, 1);
    const fg_fit_data fit_data = {.train = data, .batch_size = BATCH, .workers = -1};
    fgt_ok(fg_trainer_create(&(fg_trainer_options){.limits.max_epochs = 2,
                                                   .devices.client = client,
                                                   .numerics.accumulate_grad_batches = accumulate},
                             &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fit_data, &err));
    const fg_result result = *fg_trainer_result(trainer);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_client_close(client);
    fake.reset();
    return result;
}

static void fraction_of_peak_is_flops_by_rate(void **state)
{
    (void)state;
    const fg_result r = fit(true, 0, 1);
    fgt_close("flops", r.step_flops, toy_flops, 0, 0);
    assert_true(r.mxu_use > 0 && r.mxu_use < 1);
    /* 197 TFLOP/s, the published peak of a v5e */
    fgt_close("use", r.mxu_use, r.samples_per_s / BATCH * toy_flops / 197e12, 0, 1e-9);
}

static void batches_of_a_step_count_alike(void **state)
{
    (void)state;
    const fg_result r = fit(true, 4, 1);
    fgt_close("flops", r.step_flops, toy_flops, 0, 0);
    fgt_close("use", r.mxu_use, r.samples_per_s / BATCH * toy_flops / 197e12, 0, 1e-9);
}

/* A batch on each of two devices, which have the peak rate twice. */
static void the_peak_is_that_of_all_devices(void **state)
{
    (void)state;
    const fg_result r = fit(true, 0, 2);
    fgt_close("flops", r.step_flops, 2 * toy_flops, 0, 0);
    fgt_close("use", r.mxu_use, r.samples_per_s / BATCH * toy_flops / (2 * 197e12), 0, 1e-9);
}

static void unknown_peak_is_no_number(void **state)
{
    (void)state;
    const fg_result r = fit(false, 0, 1);
    fgt_close("flops", r.step_flops, toy_flops, 0, 0);
    assert_true(isnan(r.mxu_use));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fraction_of_peak_is_flops_by_rate),
    cmocka_unit_test(batches_of_a_step_count_alike),
    cmocka_unit_test(the_peak_is_that_of_all_devices),
    cmocka_unit_test(unknown_peak_is_no_number),
};
FGT_MAIN(tests)
