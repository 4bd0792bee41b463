/* resnet_bench.c - trains ResNet-18 on 32x32 images with the Trainer, including the loader: batch
 * size 128, SGD with momentum and weight decay. usage: resnet_bench STEPS [PRECISION|"" [DEVICES]]
 *
 * The global batch is sharded across DEVICES virtual devices. Prints one JSON object; a first step
 * is not one of STEPS. bench/resnet and bench/sharded compare it with other systems.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <fulgurite/fulgurite.h>

enum { BATCH = 128, SIDE = 32, CLASSES = 10, MOST_STEPS = 100000 };

static fg_model *model;

static void build(void *self, fg_module *root)
{
    (void)self;
    model = fg_model_create(root, &(fg_model_options){.name = "resnet18",
                                                      .input = {FG_F32, 3, {SIDE, SIDE, 3}},
                                                      .outputs = CLASSES,
                                                      .options = "{stem: small}"});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    (void)self, (void)st;
    return fg_cross_entropy(fg_model_apply(model, fg_batch_field(batch, "x")),
                            fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1, .momentum = 0.9, .weight_decay = 5e-4});
}

static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};

/* Four batches of noise from a small generator. */
static bool make_data(fg_dataset **out, fg_error *err)
{
    static float x[4 * BATCH * SIDE * SIDE * 3];
    static int32_t y[4 * BATCH];
    const fg_field fields[] = {{"x", {FG_F32, 3, {SIDE, SIDE, 3}}}, {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = 4 * BATCH, .fields = fields, .field_count = 2};
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        state = state * 1664525 + 1013904223;
        x[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
    for (int i = 0; i < 4 * BATCH; i++)
        y[i] = i * 7 % CLASSES;
    return fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_BORROW, out, err) == FG_OK;
}

int main(int argc, char **argv)
{
    const fg_task task = {.name = "resnet18", .ops = &ops};
    const int64_t steps = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    fg_dataset *train = NULL;
    fg_trainer *trainer = NULL;
    fg_error err = {0};
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .limits.max_steps = 1 + steps,
                                        .numerics.precision =
                                            argc > 2 && argv[2][0] ? argv[2] : NULL,
                                        .devices.devices = argc > 3 ? argv[3] : NULL,
                                        .devices.cache_dir = ""};
    const bool ok = make_data(&train, &err) && fg_trainer_create(&options, &trainer, &err) == FG_OK;
    if (!ok ||
        fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = train, .global_batch_size = BATCH},
                       &err) != FG_OK)
        return fg_error_print(&err, argv[0]);
    const fg_result *r = fg_trainer_result(trainer);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("{\"step_ms\": %.2f, \"p95_ms\": %.2f, \"compile_s\": %.2f, \"rss_mb\": %.0f, "
           "\"own_us\": %.1f, \"plugin_us\": %.1f}\n",
           r->step_median_s * 1e3, r->step_p95_s * 1e3, r->compile_s,
           (double)usage.ru_maxrss / 1024, r->host_overhead_s * 1e6, r->plugin_s * 1e6);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train);
    return 0;
}
