/* test_train_aug.c - a sample is augmented alike in batches of any size, on any number of devices,
 * in an epoch that was resumed, and in plain C. On virtual CPU devices.
 *
 * The pixels are small integers, which crops and flips only move: a weighted sum of them is exact
 * and depends on where each of them is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>

#include "aug_host.h"

enum { H = 5, W = 6, PIXELS = H * W, SAMPLES = 22, EPOCHS = 3, SEED = 11 };

static int pixel_of(int64_t sample, int place)
{
    return (int)(fgi_rng_u64((fgi_key){{3, 4}}, (uint64_t)(sample * PIXELS + place)) & 15);
}

static fg_dataset *images(void)
{
    static float pixels[SAMPLES][PIXELS];
    static const fg_field field = {"image", {.dtype = FG_F32, .rank = 3, .dim = {H, W, 1}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = &field, .field_count = 1};
    const void *arrays[] = {pixels};
    fg_error err = {0};
    fg_dataset *out;
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < PIXELS; k++)
            pixels[i][k] = (float)pixel_of(i, k);
    fgt_ok(fg_dataset_from_arrays(&spec, arrays, FG_COPY, &out, &err));
    return out;
}

/* ---- the task -------------------------------------------------------------------------------- */

static fg_linear *layer;
static char cache[512]; /* folder of compiled programs, of all runs */

static void build(void *self, fg_module *root)
{
    (void)self;
    layer = fg_linear_create(root, "fc", &(fg_linear_options){.in = PIXELS, .out = 1});
}

static fg_tensor augmented(const fg_batch *batch)
{
    const fg_sample_key key = fg_batch_key(batch);
    fg_tensor x = fg_batch_field(batch, "image");
    x = fg_aug_random_crop(x, &key, &(fg_aug_random_crop_options){.padding = 2});
    return fg_aug_random_flip(x, &key, NULL);
}

/* For each sample, the sum of place times pixel: f32[B]. */
static fg_tensor sum_of_places(fg_tensor x)
{
    const fg_tensor flat = fg_flatten(x, 1);
    const fg_tensor place = fg_iota(fg_tensor_trace(x), FG_F32, 1, FG_DIMS(1, PIXELS));
    return fg_sum(fg_mul(flat, fg_add_scalar(place, 1)), 1, (const int[]){1});
}

enum { TARGETS = 2, RESULT = 3 * PIXELS + TARGETS };
static const double cutmix_p = 0.75, mixup_alpha = 0.4;

/* Learns the indices of the samples from images that are mixed, as the indices are. */
static fg_tensor train_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self;
    const fg_sample_key key = fg_batch_key(batch);
    fg_tensor x = augmented(batch);
    fg_tensor target = fg_reshape(fg_cast(key.sample, FG_F32), FG_DIMS(-1, 1));
    fg_step_log(step, "places", sum_of_places(x));
    x = fg_aug_cutmix(x, &target, &key, &(fg_aug_cutmix_options){.p = cutmix_p});
    x = fg_aug_mixup(x, &target, &key, &(fg_aug_mixup_options){.alpha = mixup_alpha});
    fg_step_log(step, "target", fg_reshape(target, FG_DIMS(-1)));
    const fg_tensor y = fg_linear_apply(layer, fg_flatten(x, 1));
    return fg_mean(fg_square(fg_sub(y, target)), 0, NULL);
}

/* The augmented pixels; these after cutmix, and after mixup, with their targets, which are the
 * indices of the samples: f32[B,RESULT]. */
static fg_tensor predict_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    const fg_sample_key key = fg_batch_key(batch);
    const fg_tensor x = augmented(batch);
    const fg_tensor index = fg_reshape(fg_cast(key.sample, FG_F32), FG_DIMS(-1, 1));
    fg_tensor target[TARGETS] = {index, index};
    const fg_tensor cut =
        fg_aug_cutmix(x, &target[0], &key, &(fg_aug_cutmix_options){.p = cutmix_p});
    const fg_tensor mixed =
        fg_aug_mixup(x, &target[1], &key, &(fg_aug_mixup_options){.alpha = mixup_alpha});
    const fg_tensor all[] = {fg_flatten(x, 1), fg_flatten(cut, 1), fg_flatten(mixed, 1), target[0],
                             target[1]};
    return fg_concat(all, 5, 1);
}

/* The index of each sample. */
static fg_tensor index_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    return fg_reshape(fg_cast(fg_batch_key(batch).sample, FG_F32), FG_DIMS(-1, 1));
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 1e-4});
}

/* Logs what the train step logs first. */
static fg_tensor val_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self;
    fg_step_log(step, "places", sum_of_places(augmented(batch)));
    return fg_mean(fg_cast(fg_batch_key(batch).sample, FG_F32), 0, NULL);
}

static const fg_task_ops ops = {.build = build,
                                .train_step = train_step,
                                .val_step = val_step,
                                .predict_step = predict_step,
                                .optimizer = optimizer};
static const fg_task_ops index_ops = {.build = build, .predict_step = index_step};
static const fg_task index_task = {.name = "index", .ops = &index_ops};
static const fg_task task = {.name = "places", .ops = &ops};

/* ---- in plain C ------------------------------------------------------------------------------ */

static aug_image host_image(int64_t sample, int64_t epoch)
{
    const aug_draw d = {aug_host_key(SEED, epoch), (uint32_t)sample, 0};
    const aug_image x = aug_host_image(H, W, 1);
    for (int k = 0; k < PIXELS; k++)
        x.at[k] = (float)pixel_of(sample, k);
    const aug_image cropped = aug_host_crop(x, &d, H, W, 2, 'c', 0);
    const aug_image flipped = aug_host_flip(cropped, &d, 0.5F, false);
    aug_host_free(x);
    aug_host_free(cropped);
    return flipped;
}

static double host_places(int64_t epoch)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const aug_image x = host_image(i, epoch);
        for (int k = 0; k < PIXELS; k++)
            sum += (k + 1) * (double)x.at[k];
        aug_host_free(x);
    }
    return sum / SAMPLES;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* What a run did. */
typedef struct seen {
    double places[EPOCHS], targets[EPOCHS]; /* means of each epoch */
    int epochs, batches;
    int stop_after; /* batches; 0: none */
    float results[SAMPLES][RESULT];
    float weights[PIXELS]; /* after training */
} seen;

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    seen *s = self;
    (void)at, (void)err;
    return ++s->batches == s->stop_after ? FG_ESTOPPED : FG_OK;
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    seen *s = self;
    (void)err;
    assert_true(at->epoch < EPOCHS);
    for (size_t i = 0; i < at->metric_count; i++) {
        if (strcmp(at->metrics[i].name, "train_places") == 0)
            s->places[at->epoch] = at->metrics[i].value;
        if (strcmp(at->metrics[i].name, "train_target") == 0)
            s->targets[at->epoch] = at->metrics[i].value;
    }
    s->epochs++;
    return FG_OK;
}

static const fg_callback_ops watch = {.batch_end = on_batch_end, .epoch_end = on_epoch_end};

static fg_status keep(void *self, const fg_type *type, const void *data, int64_t first,
                      fg_error *err)
{
    seen *s = self;
    (void)err;
    assert_true(first + type->dim[0] <= SAMPLES);
    memcpy(s->results[first], data, fg_type_bytes(type));
    return FG_OK;
}

static fg_trainer *trainer_of(const char *devices, const char *folder, const char *resume, seen *s)
{
    fg_error err = {0};
    fg_trainer *trainer;
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = devices,
                                        .devices.cache_dir = fgt_cache(cache),
                                        .limits.max_epochs = EPOCHS,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.resume = resume,
                                        .seed = SEED};
    fgt_ok(fg_trainer_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &watch, s, &err));
    return trainer;
}

static void read_weights(const fg_trainer *trainer, seen *s)
{
    fg_error err = {0};
    const fg_variable *weight = fg_module_find(fg_trainer_module(trainer), "fc.weight");
    fgt_ok(fg_variable_read(weight, s->weights, sizeof s->weights, &err));
}

/* A sample of the pass, mixed with the next one of its batch. */
static void assert_mixed_like_the_host(const float *result, int sample, int batch)
{
    const int last = sample - sample % batch + batch - 1 < SAMPLES - 1
                         ? sample - sample % batch + batch - 1
                         : SAMPLES - 1;
    const int next = sample == last ? sample - sample % batch : sample + 1;
    const aug_draw draw = {aug_host_key(SEED, 0), (uint32_t)sample, 0};
    const aug_image x = host_image(sample, 0), y = host_image(next, 0);
    for (int i = 0; i < TARGETS; i++) {
        double weight;
        const aug_image mixed = aug_host_mix(x, y, &draw, i == 0, i == 0 ? 1 : mixup_alpha,
                                             i == 0 ? cutmix_p : 1, &weight);
        for (int k = 0; k < PIXELS; k++)
            fgt_close("mixed", (double)result[(i + 1) * PIXELS + k], (double)mixed.at[k], 2e-5, 0);
        fgt_close("target", (double)result[3 * PIXELS + i], weight * sample + (1 - weight) * next,
                  1e-5, 1e-5);
        aug_host_free(mixed);
    }
    aug_host_free(x);
    aug_host_free(y);
}

/* Each epoch, and each pixel of a pass with the numbers of epoch 0. */
static void assert_like_the_host(const seen *s, int batch)
{
    assert_int_equal(s->epochs, EPOCHS);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        fgt_close("places", s->places[epoch], host_places(epoch), 0, 1e-12);
    for (int i = 0; i < SAMPLES; i++) {
        const aug_image x = host_image(i, 0);
        for (int k = 0; k < PIXELS; k++)
            assert_true(s->results[i][k] == x.at[k]);
        aug_host_free(x);
        assert_mixed_like_the_host(s->results[i], i, batch);
    }
}

static seen uninterrupted; /* on one device, in batches of 4 */

/* Each evaluation draws the numbers of epoch 0. */
static void assert_validates_like_the_host(fg_trainer *trainer, fg_dataset *data, int64_t batch)
{
    fg_error err = {0};
    const fg_fit_data pass = {.val = data, .global_batch_size = batch};
    fgt_ok(fg_trainer_validate(trainer, &task, &pass, &err));
    const fg_result *result = fg_trainer_result(trainer);
    for (size_t i = 0; i < result->metric_count; i++)
        fgt_close(result->metrics[i].name, result->metrics[i].value,
                  strcmp(result->metrics[i].name, "val_places") == 0 ? host_places(0)
                                                                     : (SAMPLES - 1) / 2.0,
                  0, 1e-6);
}

static void any_batch_size_and_devices(void **state)
{
    static const struct {
        int64_t batch;
        const char *devices;
    } runs[] = {{4, "1"}, {8, "4"}};
    (void)state;
    assert_true(host_places(0) != host_places(1)); /* epochs differ */
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        static seen s;
        fg_error err = {0};
        fg_dataset *data = images();
        s = (seen){.stop_after = 0};
        fg_trainer *trainer = trainer_of(runs[i].devices, NULL, NULL, &s);
        const fg_fit_data train = {.train = data, .global_batch_size = runs[i].batch};
        fgt_ok(fg_trainer_fit(trainer, &task, &train, &err));
        const fg_fit_data pass = {.predict = data, .global_batch_size = runs[i].batch};
        fgt_ok(fg_trainer_predict(trainer, &task, &pass, keep, &s, &err));
        assert_like_the_host(&s, (int)runs[i].batch);
        assert_validates_like_the_host(trainer, data, runs[i].batch);
        read_weights(trainer, &s);
        if (i == 0)
            uninterrupted = s;
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

/* The weights are those of the uninterrupted run, to the last bit. */
static void a_resumed_epoch(void **state)
{
    static seen s;
    fg_error err = {0};
    fg_dataset *data = images();
    const char *folder = fgt_temp_folder();
    const fg_fit_data train = {.train = data, .global_batch_size = 4};
    (void)state;
    s = (seen){.stop_after = 9}; /* in the second epoch, which has 6 batches */
    fg_trainer *trainer = trainer_of("1", folder, NULL, &s);
    assert_int_equal(fg_trainer_fit(trainer, &task, &train, &err), FG_ESTOPPED);
    fg_trainer_destroy(trainer);
    s.stop_after = 0;
    trainer = trainer_of("1", folder, "last", &s);
    fgt_ok(fg_trainer_fit(trainer, &task, &train, &err));
    fgt_ok(fg_trainer_predict(trainer, &task, &(fg_fit_data){.predict = data, .batch_size = 4},
                              keep, &s, &err));
    assert_like_the_host(&s, 4);
    read_weights(trainer, &s);
    assert_memory_equal(s.weights, uninterrupted.weights, sizeof s.weights);
    assert_true(isfinite(s.weights[0]) && s.weights[0] != 0);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

/* The sample that follows in its batch of 4, the last of which has 2 samples. */
static int next_of(int sample)
{
    const int first = sample - sample % 4, size = SAMPLES - first < 4 ? SAMPLES - first : 4;
    return first + (sample + 1 - first) % size;
}

/* The mean target of an epoch whose samples are in order, after cutmix and mixup. */
static double host_target(int64_t epoch)
{
    double cut[SAMPLES], sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < SAMPLES; i++) {
            const aug_draw draw = {aug_host_key(SEED, epoch), (uint32_t)i, 0};
            const aug_image x = aug_host_image(H, W, 1);
            double weight;
            aug_host_free(aug_host_mix(x, x, &draw, pass == 0, pass == 0 ? 1 : mixup_alpha,
                                       pass == 0 ? cutmix_p : 1, &weight));
            aug_host_free(x);
            if (pass == 0)
                cut[i] = weight * i + (1 - weight) * next_of(i);
            else
                sum += weight * cut[i] + (1 - weight) * cut[next_of(i)];
        }
    return sum / SAMPLES;
}

/* Each of the batches of a step is mixed alone; the last step has two batches, of which one has
 * padding rows, and two without samples. */
static void accumulated_batches_are_mixed_alone(void **state)
{
    static seen s;
    fg_error err = {0};
    fg_dataset *data = images();
    fg_trainer *trainer;
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = "4", /* one sample each */
                                        .devices.cache_dir = fgt_cache(cache),
                                        .limits.max_epochs = EPOCHS,
                                        .numerics.accumulate_grad_batches = 4,
                                        .seed = SEED};
    (void)state;
    s = (seen){.stop_after = 0};
    fgt_ok(fg_trainer_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &watch, &s, &err));
    const fg_fit_data train = {.train = data, .global_batch_size = 4, .no_shuffle = true};
    fgt_ok(fg_trainer_fit(trainer, &task, &train, &err));
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        fgt_close("places", s.places[epoch], host_places(epoch), 0, 1e-12);
        fgt_close("target", s.targets[epoch], host_target(epoch), 0, 1e-5);
    }
    read_weights(trainer, &s);
    assert_true(isfinite(s.weights[0]) && s.weights[0] != 0);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static fg_status check_index(void *self, const fg_type *type, const void *data, int64_t first,
                             fg_error *err)
{
    (void)self, (void)err;
    for (int64_t i = 0; i < type->dim[0]; i++)
        assert_true(((const float *)data)[i] == (float)(first + i));
    return FG_OK;
}

/* The upload of indices, with each allocation failing in turn. */
static fg_status one_pass(void *self, fg_error *err)
{
    fg_trainer *trainer = NULL;
    fg_dataset *data = NULL;
    static const float zeros[2 * PIXELS];
    static const fg_field field = {"image", {.dtype = FG_F32, .rank = 3, .dim = {H, W, 1}}};
    const fg_dataset_spec spec = {.count = 2, .fields = &field, .field_count = 1};
    const void *arrays[] = {zeros};
    const fg_trainer_options options = {.devices.client = self, .seed = SEED};
    fg_status status = fg_trainer_create(&options, &trainer, err);
    if (status == FG_OK)
        status = fg_dataset_from_arrays(&spec, arrays, FG_COPY, &data, err);
    if (status == FG_OK)
        status = fg_trainer_predict(trainer, &index_task, &(fg_fit_data){.predict = data},
                                    check_index, NULL, err);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    return status;
}

static void out_of_memory_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = cache}, &client,
                          &err));
    fgt_ok(one_pass(client, &err)); /* compiled once */
    fgt_fault_loop(one_pass, client);
    fg_client_close(client);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_batch_size_and_devices),
    cmocka_unit_test(a_resumed_epoch),
    cmocka_unit_test(accumulated_batches_are_mixed_alone),
    cmocka_unit_test(out_of_memory_is_reported),
};

int main(void)
{
    (void)snprintf(cache, sizeof cache, "%s", fgt_temp_folder());
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
