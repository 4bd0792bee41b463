/* test_train_decode.c - training on a pack of DCT coefficients that the step decodes: the same
 * pixels for any batch size and number of devices, and the same losses as on pixels. On virtual CPU
 * devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "coefficient_pack.h"

enum { H = 13, W = 18, BYTES = H * W * 3, SAMPLES = 10, EPOCHS = 2 };

static fgt_jpeg_spec specs[SAMPLES];
static uint8_t pixels[SAMPLES][BYTES]; /* of libjpeg */
static char pack_path[300], cache[512];
static fg_image_encoding encoding;

static void make_images(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        int width, height;
        size_t size;
        specs[i] = (fgt_jpeg_spec){.width = W, .height = H, .quality = 40 + 6 * i};
        uint8_t *jpeg = fgt_jpeg_make(&specs[i], &size);
        uint8_t *decoded = fgt_jpeg_pixels(jpeg, size, 1, &width, &height);
        memcpy(pixels[i], decoded, BYTES);
        free(decoded);
        free(jpeg);
    }
    coefficient_pack_write(pack_path, specs, SAMPLES, true);
}

static fg_dataset *of_pack(void)
{
    fg_error err = {0};
    fg_pack *pack;
    fg_dataset *dataset;
    fgt_ok(fg_pack_open(pack_path, NULL, &pack, &err));
    fgt_ok(fg_pack_dataset_create(pack, NULL, &dataset, &err));
    fg_pack_close(pack);
    encoding = *fg_dataset_encoding(dataset);
    return dataset;
}

static fg_dataset *of_pixels(void)
{
    static int32_t labels[SAMPLES];
    static const fg_field fields[] = {{"image", {FG_U8, 3, {H, W, 3}}},
                                      {"label", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = SAMPLES, .fields = fields, .field_count = 2, .class_count = 2};
    fg_error err = {0};
    fg_dataset *dataset;
    for (int i = 0; i < SAMPLES; i++)
        labels[i] = i % 2;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){pixels, labels}, FG_COPY, &dataset,
                                  &err));
    encoding = (fg_image_encoding){.coding = FG_IMAGE_PIXELS};
    return dataset;
}

/* ---- the task -------------------------------------------------------------------------------- */

static fg_linear *layer;

static void build(void *self, fg_module *root)
{
    (void)self;
    layer = fg_linear_create(root, "fc", &(fg_linear_options){.in = BYTES, .out = 2});
}

/* f32[B,BYTES], 0 to 1. */
static fg_tensor input(const fg_batch *batch)
{
    const fg_tensor x = fg_decode_images(fg_batch_field(batch, "image"), &encoding);
    return fg_mul_scalar(fg_cast(fg_flatten(x, 1), FG_F32), 1.0 / 255);
}

static fg_tensor train_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    const fg_tensor logits = fg_linear_apply(layer, input(batch));
    return fg_cross_entropy(logits, fg_batch_field(batch, "label"), NULL);
}

static fg_tensor predict_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    return fg_mul_scalar(input(batch), 255);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 1e-2});
}

static const fg_task_ops ops = {
    .build = build, .train_step = train_step, .predict_step = predict_step, .optimizer = optimizer};
static const fg_task task = {.name = "decode", .ops = &ops};

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct seen {
    double loss[EPOCHS];
    float pixels[SAMPLES][BYTES];
} seen;

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    seen *s = self;
    (void)err;
    for (size_t i = 0; i < at->metric_count; i++)
        if (strcmp(at->metrics[i].name, "train_loss") == 0)
            s->loss[at->epoch] = at->metrics[i].value;
    return FG_OK;
}

static const fg_callback_ops watch = {.epoch_end = on_epoch_end};

static fg_status keep(void *self, const fg_type *type, const void *data, int64_t first,
                      fg_error *err)
{
    seen *s = self;
    (void)err;
    memcpy(s->pixels[first], data, fg_type_bytes(type));
    return FG_OK;
}

static void run(fg_dataset *data, int64_t batch, const char *devices, seen *s)
{
    fg_error err = {0};
    fg_trainer *trainer;
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = devices,
                                        .devices.cache_dir = fgt_cache(cache),
                                        .limits.max_epochs = EPOCHS};
    *s = (seen){.loss = {0}};
    fgt_ok(fg_trainer_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &watch, s, &err));
    const fg_fit_data train = {.train = data, .global_batch_size = batch};
    fgt_ok(fg_trainer_fit(trainer, &task, &train, &err));
    const fg_fit_data pass = {.predict = data, .global_batch_size = batch};
    fgt_ok(fg_trainer_predict(trainer, &task, &pass, keep, s, &err));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static void any_batch_size_and_devices(void **state)
{
    static seen one, four;
    (void)state;
    run(of_pack(), 4, "1", &one);
    run(of_pack(), 8, "4", &four);
    assert_memory_equal(one.pixels, four.pixels, sizeof one.pixels);
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < BYTES; k++)
            sum += fabs((double)one.pixels[i][k] - pixels[i][k]);
    assert_true(sum / (SAMPLES * BYTES) < 0.1);
}

static void losses_are_those_of_pixels(void **state)
{
    static seen dct, raw;
    (void)state;
    run(of_pack(), 4, "1", &dct);
    run(of_pixels(), 4, "1", &raw);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        fgt_close("loss", dct.loss[epoch], raw.loss[epoch], 0, 2e-3);
    assert_true(dct.loss[0] > 0.1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_batch_size_and_devices),
    cmocka_unit_test(losses_are_those_of_pixels),
};

int main(void)
{
    (void)snprintf(pack_path, sizeof pack_path, "%s", fgt_path(fgt_temp_folder(), "images.pack"));
    (void)snprintf(cache, sizeof cache, "%s", fgt_temp_folder());
    make_images();
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
