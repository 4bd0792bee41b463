/* test_nn_resnet_devices.c - a ResNet-18 trains equally on 1 and 8 devices, and a block of
 * convolutions with batch norm on 1, 2 and 4: batch norm uses the statistics of the global batch,
 * and kernels (src/kernel) compute the convolutions of a device's rows. Narrow, on images of 16x16
 * pixels.
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
#include <stdio.h>

#include "base/rng.h"

#ifdef __SANITIZE_ADDRESS__
enum { STEPS = 20 }; /* the time is spent in the plugin, which is not instrumented */
#else
enum { STEPS = 50 };
#endif
enum { FIRST = 10, SAMPLES = 128, SIDE = 16, CLASSES = 4 };

typedef struct curve {
    const struct how *how;
    fg_model *model;
    fg_conv *conv[3];
    fg_batch_norm *norm[3];
    fg_linear *fc;
    double loss[STEPS];
    int count;
} curve;

/* What is trained. The block has a smooth activation and no such inputs of relu. */
typedef struct how {
    bool is_block;
    int steps, batch;
    double lr;
    const char *precision;
    double first, all; /* limits of the relative differences between losses */
} how;

static const how resnet = {false, STEPS, 64, 5e-4, "f32", 1e-5, 1e-3};
static const how block = {true, 2 * FIRST, 16, 0.05, "f32", 1e-5, 1e-5};
static const how bf16_block = {true, FIRST, 16, 0.05, "bf16-mixed", 1e-3, 1e-3};

enum { CHANNELS = 32 };

/* Winograd's kernel computes the last convolution, and oneDNN's, if it is there, the second. */
static void build_block(curve *c, fg_module *root)
{
    for (int i = 0; i < 3; i++) {
        const fg_conv_options options = {.in = i == 0 ? 3 : CHANNELS,
                                         .out = CHANNELS,
                                         .kernel = 3,
                                         .stride = i == 1 ? 2 : 1,
                                         .pad = 1};
        c->conv[i] = fg_conv_create(root, (const char *[]){"conv1", "conv2", "conv3"}[i], &options);
        c->norm[i] = fg_batch_norm_create(root, (const char *[]){"bn1", "bn2", "bn3"}[i],
                                          &(fg_batch_norm_options){.channels = CHANNELS});
    }
    c->fc = fg_linear_create(root, "fc", &(fg_linear_options){.in = CHANNELS, .out = CLASSES});
}

static void build(void *self, fg_module *root)
{
    curve *c = self;
    if (c->how->is_block) {
        build_block(c, root);
        return;
    }
    c->model = fg_model_create(root, &(fg_model_options){.name = "resnet18",
                                                         .input = {FG_F32, 3, {SIDE, SIDE, 3}},
                                                         .outputs = CLASSES,
                                                         .options = "{stem: small, width: 8}"});
}

static fg_tensor logits(const curve *c, fg_tensor x)
{
    if (!c->how->is_block)
        return fg_model_apply(c->model, x);
    for (int i = 0; i < 3; i++)
        x = fg_tanh(fg_batch_norm_apply(c->norm[i], fg_conv_apply(c->conv[i], x)));
    return fg_linear_apply(c->fc, fg_global_avg_pool(x));
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    (void)st;
    const fg_tensor y = logits(self, fg_batch_field(batch, "x"));
    return fg_cross_entropy(y, fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    const curve *c = self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = c->how->lr});
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

static void train(const how *h, int device_count, const char *strategy, curve *c)
{
    char devices[8];
    fg_error err = {0};
    fg_dataset *data = images();
    fg_trainer *trainer = NULL;
    const fg_task task = {.name = "resnet18", .self = c, .ops = &task_ops};
    (void)snprintf(devices, sizeof devices, "%d", device_count);
    *c = (curve){.how = h};
    fgt_ok(fg_trainer_create(&(fg_trainer_options){.devices.accelerator = "cpu",
                                                   .devices.devices = devices,
                                                   .devices.strategy = strategy,
                                                   .devices.cache_dir = fgt_cache(""),
                                                   .numerics.precision = h->precision,
                                                   .limits.max_steps = h->steps,
                                                   .output.log_every = 1,
                                                   .seed = 3},
                             &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &callback_ops, c, &err));
    fgt_ok(fg_trainer_fit(trainer, &task,
                          &(fg_fit_data){.train = data, .global_batch_size = h->batch}, &err));
    assert_int_equal(fg_client_info_of(fg_trainer_client(trainer))->device_count, device_count);
    assert_int_equal(c->count, h->steps);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

/* Trains on one device, and on each of these numbers of them: on four, with sharded parameters. */
static void check(const how *h, const int *devices, size_t count)
{
    static curve one, some;
    train(h, 1, NULL, &one);
    print_message("1 device: loss %.4f, %.4f after 10 steps, %.4f at the end\n", one.loss[0],
                  one.loss[FIRST - 1], one.loss[h->steps - 1]);
    for (size_t i = 0; i < count; i++) {
        double first = 0, all = 0;
        train(h, devices[i], devices[i] == 4 ? "fsdp" : NULL, &some);
        for (int k = 0; k < h->steps; k++) {
            const double off = fabs(some.loss[k] / one.loss[k] - 1);
            all = fmax(all, off);
            if (k < FIRST)
                first = fmax(first, off);
        }
        print_message("%d devices: within %.2g over 10 steps, %.2g over all\n", devices[i], first,
                      all);
        assert_true(first <= h->first);
        assert_true(all <= h->all);
    }
    assert_true(one.loss[h->steps - 1] < one.loss[0] - 0.001 * h->steps); /* it learns */
}

static void losses_do_not_depend_on_the_number_of_devices(void **state)
{
    (void)state;
    check(&resnet, (const int[]){8}, 1);
}

/* What differs between numbers of devices is the sum of a layer's statistics. */
static void batch_norm_uses_the_global_batch(void **state)
{
    (void)state;
    check(&block, (const int[]){2, 4}, 2);
    check(&bf16_block, (const int[]){2, 4}, 2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(losses_do_not_depend_on_the_number_of_devices),
    cmocka_unit_test(batch_norm_uses_the_global_batch),
};

FGT_MAIN(tests)
