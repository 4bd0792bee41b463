/* test_nn_resnet_devices.c - a ResNet-18 trains equally on 1, 2, 4 and 8 devices: batch norm uses
 * the statistics of the global batch. Narrow, on images of 16x16 pixels.
 *
 * Rounding differs with the number of devices, and training amplifies the difference: an input of
 * relu that is almost 0 changes its sign, and the following steps differ. The learning rate is so
 * small that the curves stay close: with 2e-3 and momentum, they diverge within 100 steps. The
 * first ten losses must agree within 1e-5, all within 1e-3.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>

#include "base/rng.h"

#ifdef __SANITIZE_ADDRESS__
enum { STEPS = 20 }; /* the time is spent in the plugin, which is not instrumented */
#else
enum { STEPS = 100 };
#endif
enum { FIRST = 10, BATCH = 64, SAMPLES = 128, SIDE = 16, CLASSES = 4 };

typedef struct curve {
    fg_model *model;
    double loss[STEPS];
    int count;
} curve;

static void build(void *self, fg_module *root)
{
    ((curve *)self)->model =
        fg_model_create(root, &(fg_model_options){.name = "resnet18",
                                                  .input = {FG_F32, 3, {SIDE, SIDE, 3}},
                                                  .outputs = CLASSES,
                                                  .options = "stem=small, width=8"});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    (void)st;
    const fg_tensor y = fg_model_apply(((curve *)self)->model, fg_batch_get(batch, "x"));
    return fg_cross_entropy(y, fg_batch_get(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 5e-4});
}

static const fg_task_ops task_ops = {.build = build, .train_step = step, .optimizer = optimizer};

static fg_status keep_loss(void *self, const fg_progress *at, fg_error *err)
{
    curve *c = self;
    (void)err;
    for (size_t i = 0; i < at->metric_count && c->count < STEPS; i++)
        if (strcmp(at->metrics[i].name, "train_loss") == 0)
            c->loss[c->count++] = at->metrics[i].value;
    return FG_OK;
}

static const fg_callback_ops callback_ops = {.log = keep_loss};

/* Noise around a pattern for each class. */
static fg_dataset *images(void)
{
    enum { PIXELS = SIDE * SIDE * 3 };
    static float x[SAMPLES * PIXELS];
    static int32_t y[SAMPLES];
    const fg_field fields[] = {{"x", {FG_F32, 3, {SIDE, SIDE, 3}}}, {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    const fgi_key pattern = fgi_key_from_seed(1), noise = fgi_key_from_seed(2);
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    for (int i = 0; i < SAMPLES; i++) {
        y[i] = i * 7 % CLASSES;
        for (int k = 0; k < PIXELS; k++)
            x[i * PIXELS + k] = fgi_rng_normal(pattern, (uint64_t)(y[i] * PIXELS + k)) +
                                fgi_rng_normal(noise, (uint64_t)(i * PIXELS + k));
    }
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_BORROW, &dataset, &err));
    return dataset;
}

static void train(const char *devices, int device_count, curve *c)
{
    fg_error err = {0};
    fg_dataset *data = images();
    fg_trainer *trainer = NULL;
    const fg_task task = {.name = "resnet18", .self = c, .ops = &task_ops};
    *c = (curve){.count = 0};
    fgt_ok(fg_trainer_create(&(fg_trainer_options){.devices.accelerator = "cpu",
                                                   .devices.devices = devices,
                                                   .devices.cache_dir = fgt_cache(""),
                                                   .limits.max_steps = STEPS,
                                                   .output.log_every = 1,
                                                   .seed = 3},
                             &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &callback_ops, c, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .global_batch_size = BATCH},
                          &err));
    assert_int_equal(fg_client_get_info(fg_trainer_client(trainer))->device_count, device_count);
    assert_int_equal(c->count, STEPS);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static void losses_do_not_depend_on_the_number_of_devices(void **state)
{
    static const char *const devices[] = {"2", "4", "8"};
    static curve one, some;
    (void)state;
    train("1", 1, &one);
    print_message("1 device: loss %.4f, %.4f after 10 steps, %.4f at the end\n", one.loss[0],
                  one.loss[FIRST - 1], one.loss[STEPS - 1]);
    assert_true(one.loss[STEPS - 1] < one.loss[0] - 0.001 * STEPS);
    for (int i = 0; i < 3; i++) {
        double first = 0, all = 0;
        train(devices[i], 2 << i, &some);
        for (int k = 0; k < STEPS; k++) {
            const double off = fabs(some.loss[k] / one.loss[k] - 1);
            all = fmax(all, off);
            if (k < FIRST)
                first = fmax(first, off);
        }
        print_message("%s devices: within %.2g over 10 steps, %.2g over all\n", devices[i], first,
                      all);
        assert_true(first <= 1e-5);
        assert_true(all <= 1e-3);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(losses_do_not_depend_on_the_number_of_devices),
};

FGT_MAIN(tests)
