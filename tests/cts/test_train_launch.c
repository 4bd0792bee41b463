/* test_train_launch.c - several steps per launch, and data that stay on the devices, of a model
 * with convolutions and augmentation: the same bits, on one device and on two. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "base/alloc.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"
#include "train/step/stage.h"

enum { SAMPLES = 27, SIDE = 10, CHANNELS = 6, OUT = 16, KERNEL = 5, STEPS = 9 };
enum { FEATURES = OUT * SIDE * SIDE };

typedef struct model {
    fg_conv *conv1, *conv2;
    fg_linear *fc;
} model;

static void build(void *self, fg_module *root)
{
    model *m = self;
    const fg_conv_options first = {.in = 1, .out = CHANNELS, .kernel = KERNEL, .pad = KERNEL / 2},
                          second = {
                              .in = CHANNELS, .out = OUT, .kernel = KERNEL, .pad = KERNEL / 2};
    m->conv1 = fg_conv_create(root, "conv1", &first);
    m->conv2 = fg_conv_create(root, "conv2", &second);
    m->fc = fg_linear_create(root, "fc", &(fg_linear_options){.in = FEATURES, .out = TOY_CLASSES});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const model *m = self;
    const fg_sample_key key = fg_batch_key(batch);
    fg_tensor x = fg_aug_random_flip(fg_batch_field(batch, "image"), &key, NULL);
    (void)st;
    x = fg_relu(fg_conv_apply(m->conv1, x));
    x = fg_relu(fg_conv_apply(m->conv2, x));
    const fg_tensor logits = fg_linear_apply(m->fc, fg_flatten(x, 1));
    return fg_cross_entropy(logits, fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 0.01});
}

static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};

static fg_dataset *images(void)
{
    static float image[SAMPLES][SIDE * SIDE];
    static int32_t label[SAMPLES];
    const fg_field fields[] = {{"image", {.dtype = FG_F32, .rank = 3, .dim = {SIDE, SIDE, 1}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    fg_dataset *data = NULL;
    fg_error err = {0};
    for (int i = 0; i < SAMPLES; i++) {
        label[i] = i % TOY_CLASSES;
        for (int p = 0; p < SIDE * SIDE; p++)
            image[i][p] = (float)((i * 31 + p * 17) % 23) / 23;
    }
    fgt_ok(
        fg_dataset_from_arrays(&spec, (const void *const[]){image, label}, FG_BORROW, &data, &err));
    return data;
}

typedef struct weights {
    float conv1[KERNEL * KERNEL * CHANNELS], fc[FEATURES * TOY_CLASSES];
} weights;

static weights train(fg_client *client, fg_dataset *data, int64_t steps_per_launch,
                     fg_resident resident)
{
    model m;
    fg_error err = {0};
    static weights w;
    const fg_task task = {.name = "images", .self = &m, .ops = &ops};
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.devices.steps_per_launch = steps_per_launch,
                                                  .limits.max_steps = STEPS});
    const fg_fit_data fit_data = {.train = data, .global_batch_size = 8, .resident = resident};
    fgt_ok(fg_trainer_fit(trainer, &task, &fit_data, &err));
    fg_module *root = fg_trainer_module(trainer);
    fgt_ok(fg_variable_read(fg_module_find(root, "conv1.weight"), w.conv1, sizeof w.conv1, &err));
    fgt_ok(fg_variable_read(fg_module_find(root, "fc.weight"), w.fc, sizeof w.fc, &err));
    fg_trainer_destroy(trainer);
    return w;
}

static void images_have_the_same_bits(void **state)
{
    (void)state;
    fg_dataset *data = images();
    for (int devices = 1; devices <= 2; devices++) {
        fg_client *client = NULL;
        fg_error err = {0};
        const fg_client_options options = {.accelerator = "cpu",
                                           .cpu_devices = devices,
                                           .cache_dir = fgt_cache(fgt_temp_folder())};
        fgt_ok(fg_client_open(&options, &client, &err));
        const weights one = train(client, data, 1, FG_RESIDENT_AUTO),
                      several = train(client, data, 3, FG_RESIDENT_FALSE),
                      resident = train(client, data, 3, FG_RESIDENT_TRUE);
        assert_memory_equal(one.conv1, several.conv1, sizeof one.conv1);
        assert_memory_equal(one.fc, several.fc, sizeof one.fc);
        assert_memory_equal(&one, &resident, sizeof one);
        fg_client_close(client);
    }
    fg_dataset_destroy(data);
    assert_int_equal(fgi_alloc_live(), 0);
}

/* auto: on an accelerator with eight times as much memory, if reading samples costs nothing. */
static void data_stay_where_they_fit(void **state)
{
    static const int64_t bytes = SAMPLES * (SIDE * SIDE + 1) * 4;
    static const struct {
        long platform, memory;
        fg_resident wanted, expected;
        int64_t others;
    } cases[] = {{2, 8 * bytes, FG_RESIDENT_AUTO, true, 0},
                 {2, 8 * bytes, FG_RESIDENT_AUTO, false, 1},
                 {2, 8 * bytes + 8, FG_RESIDENT_AUTO, true, 1},
                 {2, 8 * bytes - 8, FG_RESIDENT_AUTO, false, 0},
                 {2, 8 * bytes - 8, FG_RESIDENT_TRUE, true, 0},
                 {2, 8 * bytes, FG_RESIDENT_FALSE, false, 0},
                 {1, 8 * bytes, FG_RESIDENT_AUTO, true, 0},
                 {0, 8 * bytes, FG_RESIDENT_AUTO, false, 0},
                 {2, 0, FG_RESIDENT_AUTO, false, 0}};
    static const char *const accelerators[] = {"cpu", "cuda", "tpu"};
    fake_control fake = {0};
    fg_dataset *data = images();
    (void)state;
    assert_true(fake_open(&fake));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_client *client;
        bool is_resident;
        fg_error err = {0};
        fake.reset();
        fake.set("devices", 1);
        fake.set("platform", cases[i].platform);
        fake.set("memory_limit_bytes", cases[i].memory);
        const fg_client_options options = {.accelerator = accelerators[cases[i].platform],
                                           .plugin_path = FAKE_PATH,
                                           .cache_dir = ""};
        fgt_ok(fg_client_open(&options, &client, &err));
        fgt_ok(fgi_resident_choose(client, data, cases[i].wanted, cases[i].others, &is_resident,
                                   &err));
        assert_int_equal(is_resident, cases[i].expected);
        fg_client_close(client);
    }
    fake.reset();
    fg_dataset_destroy(data);
    assert_int_equal(fgi_alloc_live(), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(data_stay_where_they_fit),
    cmocka_unit_test(images_have_the_same_bits),
};
FGT_MAIN(tests)
