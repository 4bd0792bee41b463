/* test_nn_curves.c - the loss curves of the MLP and of LeNet beside PyTorch's, from the same first
 * weights, update by update. Weights and batches come from counted randomness, as in
 * tests/golden/nn/record.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/optim.h>
#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "record.h"

enum { SEED = 2026, BATCH = 32, CLASSES = 10, MOST_PIXELS = 32 * 32 * 3, MOST = 512 * 784 };

static fg_client *client;
static fg_ckpt *record;

static fgi_key key_of(uint64_t tag) { return fgi_key_fold(fgi_key_from_seed(SEED), tag); }

static uint32_t word(fgi_key key, uint64_t i) { return (uint32_t)fgi_rng_u64(key, i); }

/* Elements that make one output: of the layer's weight, for a bias. Outputs come first in files. */
static double fan_in(const fg_module *root, size_t k)
{
    const fg_variable *v = fg_module_variable_at(root, k);
    const fg_type *type = fg_variable_type(v);
    if (type->rank == 1)
        return fan_in(root, k - 1);
    return (double)(fg_type_count(type) / type->dim[fg_variable_file_axis(v)[0]]);
}

static void set_weights(const fg_module *root)
{
    fg_error err = {0};
    static float file[MOST], own[MOST];
    for (size_t k = 0; k < fg_module_variable_count(root); k++) {
        fg_variable *v = fg_module_variable_at(root, k);
        const int64_t count = fg_type_count(fg_variable_type(v));
        const float bound = (float)(1 / sqrt(fan_in(root, k)));
        assert_true(count <= MOST);
        for (int64_t i = 0; i < count; i++)
            file[i] = (2 * fgi_rng_uniform(key_of(k), (uint64_t)i) - 1) * bound;
        fgt_from_file_order(v, file, own);
        fgt_ok(fg_variable_set(v, own, (size_t)count * sizeof(float), &err));
    }
}

/* An eighth of the pixels, those that the label's pattern names, lit at random. */
static void make_batch(int step, int pixels, uint8_t *image, int32_t *label)
{
    const fgi_key labels = key_of(1000 + (uint64_t)step), noise = key_of(2000 + (uint64_t)step);
    const fgi_key pattern = key_of(900);
    for (int b = 0; b < BATCH; b++) {
        label[b] = (int32_t)(word(labels, (uint64_t)b) % CLASSES);
        for (int i = 0; i < pixels; i++) {
            const int place = label[b] * pixels + i;
            const bool lit = word(pattern, (uint64_t)place) >> 24 < 32;
            const int k = b * pixels + i;
            image[k] = lit ? (uint8_t)(word(noise, (uint64_t)k) >> 24) : 0;
        }
    }
}

typedef struct curve {
    const char *name, *model;
    int side, channels;
    double tolerance;
    fg_sgd_options sgd; /* or, where its lr is 0: */
    fg_adam_options adam;
} curve;

static fg_array *upload(const fg_type *type, const void *data)
{
    fg_error err = {0};
    fg_array *array = NULL;
    fgt_ok(fg_array_create(client, type, data, &array, &err));
    return array;
}

static double one_update(fg_trace *trace, const fg_model *model, fg_optimizer *optimizer,
                         const curve *c, int step)
{
    fg_error err = {0};
    static uint8_t image[BATCH * MOST_PIXELS];
    static int32_t label[BATCH];
    float loss = 0;
    make_batch(step, c->side * c->side * c->channels, image, label);
    fg_array *x = upload(&(fg_type){FG_U8, 4, {BATCH, c->side, c->side, c->channels}}, image);
    fg_array *y = upload(&(fg_type){FG_S32, 1, {BATCH}}, label);
    const fg_tensor logits = fg_model_apply(model, fg_input(trace, x));
    const fg_tensor mean = fg_cross_entropy(logits, fg_input(trace, y), NULL);
    fg_optimizer_minimize(optimizer, mean);
    fgt_ok(fg_run_f32(trace, mean, &loss, &err));
    fg_array_release(x);
    fg_array_release(y);
    return (double)loss;
}

static void follows_pytorch(const curve *c)
{
    fg_error err = {0};
    fg_type type;
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    double worst = 0;
    const double *want = fgt_record_get(record, &type, "%s", c->name);
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_model *model = fg_model_create(
        root, &(fg_model_options){.name = c->model,
                                  .input = {FG_U8, 3, {c->side, c->side, c->channels}},
                                  .outputs = CLASSES});
    fg_optimizer *optimizer =
        c->sgd.lr > 0 ? fg_sgd_create(root, &c->sgd) : fg_adam_create(root, &c->adam);
    fgt_ok(fg_module_error(root, &err));
    set_weights(root);
    fg_trace_set_training(trace, true);
    for (int step = 0; step < type.dim[0]; step++) {
        char text[64];
        const double loss = one_update(trace, model, optimizer, c, step);
        worst = fmax(worst, fabs(loss - want[step]) / want[step]);
        (void)snprintf(text, sizeof text, "%s: loss of step %d", c->name, step);
        fgt_close(text, loss, want[step], 0, c->tolerance);
    }
    print_message("%s: %d losses within %.2g of PyTorch's\n", c->name, (int)type.dim[0], worst);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static void mlp_follows_pytorch(void **state)
{
    follows_pytorch(&(curve){"mlp_sgd", "mlp", 28, 1, 1e-3, .sgd = {.lr = 0.01, .momentum = 0.9}});
    follows_pytorch(&(curve){"mlp_adam", "mlp", 28, 1, 1e-3, .adam = {.lr = 2e-4}});
}

static void lenet_follows_pytorch(void **state)
{
    follows_pytorch(
        &(curve){"lenet_sgd", "lenet", 28, 1, 1e-3, .sgd = {.lr = 0.03, .momentum = 0.9}});
    follows_pytorch(&(curve){"lenet_adam", "lenet", 28, 1, 1e-3, .adam = {.lr = 1e-3}});
}

static void lenet_takes_colours_and_small_images(void **state)
{
    follows_pytorch(&(curve){"lenet_colour", "lenet", 32, 3, 1e-3, .adam = {.lr = 1e-3}});
    follows_pytorch(&(curve){"lenet_small", "lenet", 8, 1, 1e-3, .adam = {.lr = 2e-3}});
}

static int open_all(void **state)
{
    fg_error err = {0};
    fgt_ok(
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client, &err));
    record = fgt_record_open("nn/curves.safetensors");
    return 0;
}

static int close_all(void **state)
{
    fg_ckpt_close(record);
    fg_client_close(client);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mlp_follows_pytorch),
    cmocka_unit_test(lenet_follows_pytorch),
    cmocka_unit_test(lenet_takes_colours_and_small_images),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
