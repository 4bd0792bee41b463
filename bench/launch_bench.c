/* launch_bench.c - steps per second of a small MLP, by the steps per launch, with batches that are
 * uploaded and with data that stay on the device (resident).
 * usage: launch_bench [STEPS [STEPS_PER_LAUNCH...]]
 *
 * 64-32-10 units, batch size 32, Adam, f32, 1,797 shuffled samples in memory: the size of
 * scikit-learn's digits. cpu_us: processor time of a step, of all threads. One JSON object a line.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include <fulgurite/fulgurite.h>

enum { SAMPLES = 1797, PIXELS = 64, UNITS = 32, CLASSES = 10 };

struct mlp {
    fg_linear *fc1, *fc2;
};

static void build(void *self, fg_module *root)
{
    struct mlp *m = self;
    m->fc1 = fg_linear_create(root, "fc1", &(fg_linear_options){.in = PIXELS, .out = UNITS});
    m->fc2 = fg_linear_create(root, "fc2", &(fg_linear_options){.in = UNITS, .out = CLASSES});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const struct mlp *m = self;
    (void)st;
    const fg_tensor h = fg_relu(fg_linear_apply(m->fc1, fg_batch_field(batch, "x")));
    return fg_cross_entropy(fg_linear_apply(m->fc2, h), fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 1e-3});
}

static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};

static fg_status make_data(fg_dataset **out, fg_error *err)
{
    static float x[SAMPLES * PIXELS];
    static int32_t y[SAMPLES];
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {PIXELS}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        x[i] = (float)(i * 7919 % 17);
    for (int i = 0; i < SAMPLES; i++)
        y[i] = i % CLASSES;
    return fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_BORROW, out, err);
}

static double now(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time of all threads, and time of a fit after its first step. */
typedef struct times {
    double cpu_s, wall_s;
} times;

static fg_status train(fg_client *client, const fg_fit_data *data, int64_t steps,
                       int64_t per_launch, times *out, fg_error *err)
{
    struct mlp model;
    const fg_task task = {.name = "digits", .self = &model, .ops = &ops};
    const fg_trainer_options options = {
        .devices = {.client = client, .steps_per_launch = per_launch}, .limits.max_steps = steps};
    fg_trainer *trainer = NULL;
    fg_status status = fg_trainer_create(&options, &trainer, err);
    const times begin = {now(CLOCK_PROCESS_CPUTIME_ID), now(CLOCK_MONOTONIC)};
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, data, err);
    if (status == FG_OK) {
        out->cpu_s = now(CLOCK_PROCESS_CPUTIME_ID) - begin.cpu_s;
        out->wall_s =
            now(CLOCK_MONOTONIC) - begin.wall_s - fg_trainer_result(trainer)->time_to_first_step_s;
    }
    fg_trainer_destroy(trainer);
    return status;
}

/* Trains for a few steps, which compiles, and then for the steps that are measured. */
static fg_status measure(fg_client *client, const fg_fit_data *data, int64_t steps,
                         int64_t per_launch, fg_error *err)
{
    times t = {0, 0};
    fg_status status = train(client, data, 2, per_launch, &t, err);
    if (status == FG_OK)
        status = train(client, data, steps, per_launch, &t, err);
    if (status == FG_OK)
        printf("{\"steps_per_launch\": %lld, \"resident\": %s, \"steps_per_s\": %.0f, "
               "\"cpu_us\": %.1f}\n",
               (long long)per_launch, data->resident == FG_RESIDENT_TRUE ? "true" : "false",
               (double)steps / t.wall_s, t.cpu_s / (double)steps * 1e6);
    return status;
}

int main(int argc, char **argv)
{
    const int64_t steps = argc > 1 ? strtoll(argv[1], NULL, 10) : 20000;
    const char *const defaults[] = {"1", "8", "32"};
    fg_client *client = NULL;
    fg_fit_data data = {.global_batch_size = 32};
    fg_error err = {0};
    fg_status status =
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .devices = "1"}, &client, &err);
    if (status == FG_OK)
        status = make_data(&data.train, &err);
    const int count = argc > 2 ? argc - 2 : 3;
    for (int i = 0; i < 2 * count && status == FG_OK; i++) {
        data.resident = i % 2 == 0 ? FG_RESIDENT_FALSE : FG_RESIDENT_TRUE;
        status = measure(client, &data, steps,
                         strtoll(argc > 2 ? argv[2 + i / 2] : defaults[i / 2], NULL, 10), &err);
    }
    fg_dataset_destroy(data.train);
    fg_client_close(client);
    return status == FG_OK ? 0 : fg_error_print(&err, argv[0]);
}
