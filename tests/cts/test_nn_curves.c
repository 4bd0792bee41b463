/* test_nn_curves.c - loss curves of the MLP and of LeNet, compared with PyTorch's from the same
 * initial weights, update by update. Weights and batches are counter-based random numbers, as in
 * tests/golden/nn/record.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/optim.h>
#include <math.h>
#include <stdio.h>

#include "counted.h"
#include "record.h"

enum { BATCH = 32, CLASSES = FGT_COUNTED_CLASSES, MOST_PIXELS = 32 * 32 * 3 };

static fg_client *client;
static fg_ckpt *record;

typedef struct curve {
    const char *name, *model;
    int side, channels;
    double tolerance;
    fg_sgd_options sgd; /* or, if its lr is 0: */
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
    fgt_counted_batch(step, BATCH, c->side * c->side * c->channels, image, label);
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
    fgt_counted_weights(root);
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
    (void)state;
    return fgt_record_begin("nn/curves.safetensors", &client, &record);
}

static int close_all(void **state)
{
    (void)state;
    return fgt_record_end(client, record);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mlp_follows_pytorch),
    cmocka_unit_test(lenet_follows_pytorch),
    cmocka_unit_test(lenet_takes_colours_and_small_images),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
