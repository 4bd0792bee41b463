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

static fg_step_cost cost; /* of the last fit */
static long cost_error;   /* the plugin does not say how many bytes a program has */

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
    fake.set("cost_error", cost_error);
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &client, &err));
    fg_dataset *data = toy_data(64, 1);
    const fg_fit_data fit_data = {.train = data, .batch_size = BATCH, .workers = FG_NONE};
    fgt_ok(toy_create(&(fg_trainer_options){.limits.max_epochs = 2,
                                            .devices.client = client,
                                            .numerics.accumulate_grad_batches = accumulate},
                      &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fit_data, &err));
    const fg_result result = *fg_trainer_result(trainer);
    cost = fg_trainer_step_cost(trainer);
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
    fgt_close("seconds", cost.seconds, toy_flops / 197e12, 0, 1e-9);
    fgt_close("bytes", cost.bytes, 2 * 2000, 0, 0); /* the fake plugin's number for each */
    assert_int_equal(cost.samples, 2 * BATCH);
}

static void unknown_bytes_are_no_number(void **state)
{
    (void)state;
    cost_error = 12;
    const fg_result r = fit(true, 0, 1);
    cost_error = 0;
    assert_true(isnan(cost.bytes));
    assert_int_equal(r.device_peak_bytes, -1);
}

static void unknown_peak_is_no_number(void **state)
{
    (void)state;
    const fg_result r = fit(false, 0, 1);
    fgt_close("flops", r.step_flops, toy_flops, 0, 0);
    assert_true(isnan(r.mxu_use));
}

/* The dtype of another matmul of the step, of 8 x 6 by 6 x 8 elements. */
static const struct {
    fg_dtype dtype;
    double emulated, in_16bit; /* of its 768 FLOPs, on a TPU */
} matmuls[] = {{FG_F32, 0, 0},   {FG_BF16, 0, 768}, {FG_F16, 0, 768}, {FG_F64, 768, 0},
               {FG_S8, 0, 0},    {FG_U8, 0, 0},     {FG_S16, 768, 0}, {FG_U16, 768, 0},
               {FG_S32, 768, 0}, {FG_U32, 768, 0},  {FG_S64, 768, 0}, {FG_U64, 768, 0}};
static fg_dtype dtype;

static fg_tensor step_with_matmul(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor x = fg_cast(fg_batch_field(batch, "x"), dtype);
    const fg_tensor product = fg_cast(fg_matmul(x, fg_transpose(x)), FG_F32);
    return fg_add(toy_ops.train_step(self, step, batch), fg_mean(product, 0, NULL));
}

static void matmuls_by_their_dtype(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_control fake = {0};
    toy model = {0};
    fg_client *client;
    fg_task_ops ops = toy_ops;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    fg_dataset *data = toy_data(BATCH, 1);
    assert_true(fake_open(&fake));
    ops.train_step = step_with_matmul;
    for (size_t i = 0; i < 2 * (sizeof matmuls / sizeof matmuls[0]); i++) {
        const bool is_tpu = i % 2 == 0;
        const double emulated = is_tpu ? matmuls[i / 2].emulated : 0;
        dtype = matmuls[i / 2].dtype;
        fake.reset();
        fake.set("kind", is_tpu ? 3 : 0);
        fgt_ok(fg_client_open(
            &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
            &client, &err));
        fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
        fgt_ok(fg_trainer_fit(
            trainer, &task, &(fg_fit_data){.train = data, .batch_size = BATCH, .workers = FG_NONE},
            &err));
        cost = fg_trainer_step_cost(trainer);
        fgt_close("flops", cost.flops, toy_flops + 768, 0, 0);
        fgt_close("emulated", cost.flops_emulated, emulated, 0, 0);
        fgt_close("16 bits", cost.flops_16bit, matmuls[i / 2].in_16bit, 0, 0);
        fg_trainer_destroy(trainer);
        fg_client_close(client);
    }
    fake.reset();
    fg_dataset_destroy(data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(matmuls_by_their_dtype),
    cmocka_unit_test(fraction_of_peak_is_flops_by_rate),
    cmocka_unit_test(batches_of_a_step_count_alike),
    cmocka_unit_test(the_peak_is_that_of_all_devices),
    cmocka_unit_test(unknown_bytes_are_no_number),
    cmocka_unit_test(unknown_peak_is_no_number),
};
FGT_MAIN(tests)
