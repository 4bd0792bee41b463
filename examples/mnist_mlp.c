/* mnist_mlp.c - trains a two-layer MLP on MNIST.      usage: mnist_mlp [FOLDER]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>

struct mlp {
    fg_linear *fc1, *fc2;
};

static void build(void *self, fg_module *root)
{
    struct mlp *m = self;
    m->fc1 = fg_linear_create(root, "fc1", &(fg_linear_options){.in = 784, .out = 256});
    m->fc2 = fg_linear_create(root, "fc2", &(fg_linear_options){.in = 256, .out = 10});
}

/* image u8[B,28,28,1] -> logits f32[B,10] */
static fg_tensor forward(const struct mlp *m, fg_tensor image)
{
    fg_tensor x = fg_flatten(fg_mul_scalar(fg_cast(image, FG_F32), 1.0 / 255), 1);
    return fg_linear_apply(m->fc2, fg_relu(fg_linear_apply(m->fc1, x)));
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    fg_tensor label = fg_batch_field(batch, "label"); /* s32[B] */
    fg_tensor logits = forward(self, fg_batch_field(batch, "image"));
    fg_step_log(st, "acc", fg_accuracy(logits, label));
    return fg_cross_entropy(logits, label, NULL); /* logged as "loss" */
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    return fg_adamw_create(root, &(fg_adamw_options){.lr = 1e-3, .weight_decay = 0.01});
}

static const fg_task_ops ops = {
    .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "data/mnist";
    struct mlp model;
    const fg_task task = {.name = "mnist-mlp", .self = &model, .ops = &ops};
    const fg_trainer_options options = {.limits.max_epochs = 5, .output.progress = stdout};
    fg_dataset *train = NULL, *val = NULL;
    fg_trainer *trainer = NULL;
    fg_error err = {0};

    bool ok = fg_mnist_load(folder, FG_TRAIN, &train, &err) == FG_OK &&
              fg_mnist_load(folder, FG_VAL, &val, &err) == FG_OK &&
              fg_trainer_create(&options, &trainer, &err) == FG_OK;
    const fg_fit_data data = {.train = train, .val = val, .batch_size = 128};
    ok = ok && fg_trainer_fit(trainer, &task, &data, &err) == FG_OK;
    if (!ok)
        fg_error_print(&err, argv[0]);

    fg_trainer_destroy(trainer);
    fg_dataset_destroy(val);
    fg_dataset_destroy(train);
    return ok ? 0 : 1;
}
