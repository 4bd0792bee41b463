/* plan_program.c - the helpers of plan_program.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan_program.h"

#include "fgt.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "train/step/stage.h"
#include "train/trainer.h"

enum { FEATURES = 784, CLASSES = 10 };

static void take(const fgi_executable *executable, plan_program *out)
{
    fg_error err = {0};
    out->cost = fgi_executable_cost(executable);
    fgt_ok(fgi_executable_optimized(executable, &out->data, &out->size, &err));
}

void plan_compile_text(const char *topology, const char *text, plan_program *out)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fgi_executable *executable = NULL;
    const fg_client_options options = {.topology = topology, .devices = "1"};
    fgt_ok(fg_client_open(&options, &client, &err));
    fgt_ok(fgi_compile(client, text, strlen(text), NULL, 0, NULL, &executable, &err));
    take(executable, out);
    fgi_executable_destroy(executable);
    fg_client_close(client);
}

/* ---- a training step ---------------------------------------------------------------------------
 * The lines below are in the compiled program, and in the recorded ones; so is the file's name,
 * which must not depend on where the tree lies. */
#line 100 "perceptron.c"

typedef struct perceptron {
    const plan_mlp *sizes;
    fg_model *model;
} perceptron;

static void build(void *self, fg_module *root)
{
    perceptron *p = self;
    char options[64];
    (void)snprintf(options, sizeof options, "{hidden: [%d, %d]}", (int)p->sizes->hidden[0],
                   (int)p->sizes->hidden[1]);
    p->model = fg_model_create(
        root, &(fg_model_options){.name = "mlp",
                                  .input = {.dtype = FG_F32, .rank = 1, .dim = {FEATURES}},
                                  .outputs = CLASSES,
                                  .options = options});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const perceptron *p = self;
    (void)st;
    const fg_tensor logits = fg_model_apply(p->model, fg_batch_at(batch, 0));
    return fg_cross_entropy(logits, fg_batch_at(batch, 1), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 0.001});
}

static fg_dataset *make_data(int64_t count)
{
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {FEATURES}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = count, .fields = fields, .field_count = 2, .class_count = CLASSES};
    float *x = calloc((size_t)count * FEATURES, sizeof *x);
    int32_t *y = calloc((size_t)count, sizeof *y);
    assert_true(x != NULL && y != NULL);
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_COPY, &dataset, &err));
    free(x);
    free(y);
    return dataset;
}

void plan_compile_mlp(const char *topology, const char *devices, const plan_mlp *mlp,
                      plan_program *out)
{
    static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};
    fg_error err = {0};
    perceptron self = {.sizes = mlp};
    const fg_task task = {.name = "perceptron", .self = &self, .ops = &ops};
    fg_client *client = NULL;
    fg_trainer *trainer = NULL;
    const fgi_executable *executable = NULL;
    const fg_client_options options = {.topology = topology, .devices = devices};
    fgt_ok(fg_client_open(&options, &client, &err));
    fg_dataset *data = make_data(mlp->batch * fg_client_info_of(client)->device_count);
    fgt_ok(fg_trainer_create(&(fg_trainer_options){.devices.client = client,
                                                   .numerics.precision = mlp->precision,
                                                   .devices.strategy = mlp->strategy},
                             &trainer, &err));
    fgt_ok(fgi_trainer_compile(trainer, &task, FGI_TRAIN,
                               &(fg_fit_data){.train = data, .batch_size = mlp->batch}, &executable,
                               &err));
    take(executable, out);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_client_close(client);
}
