/* gpt_bench.c - trains a GPT with the Trainer, including the loader, on 256 tokens, with AdamW.
 * usage: gpt_bench STEPS [PRECISION [124M]]
 *
 * 6 layers, width 384, 6 heads, a vocabulary of 256, batch size 12; or, with 124M, GPT-2's sizes
 * and batch size 2. Prints one JSON object; start_s is the time from the start of main to the end
 * of a first step, which is not one of STEPS. bench/gpt compares it with JAX.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <fulgurite/fulgurite.h>

enum { LENGTH = 256, SAMPLES = 48 };

static const struct size {
    const char *options;
    int64_t vocabulary, batch;
} sizes[] = {{"{layers: 6, width: 384, heads: 6, length: 256}", 256, 12},
             {"{layers: 12, width: 768, heads: 12, length: 256}", 50257, 2}};
static const struct size *size = &sizes[0];
static fg_model *model;

static void build(void *self, fg_module *root)
{
    (void)self;
    model = fg_model_create(root, &(fg_model_options){.name = "gpt2",
                                                      .input = {FG_S32, 1, {LENGTH}},
                                                      .outputs = size->vocabulary,
                                                      .options = size->options});
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
    return fg_adamw_create(root, &(fg_adamw_options){.lr = 3e-4});
}

static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};

/* Tokens from a small generator. */
static bool make_data(fg_dataset **out, fg_error *err)
{
    static int32_t x[SAMPLES * LENGTH], y[SAMPLES * LENGTH];
    const fg_field fields[] = {{"x", {FG_S32, 1, {LENGTH}}}, {"y", {FG_S32, 1, {LENGTH}}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    uint32_t state = 1;
    for (int i = 0; i < SAMPLES * LENGTH; i++) {
        state = state * 1664525 + 1013904223;
        x[i] = (int32_t)((state >> 8) % size->vocabulary);
        y[i > 0 ? i - 1 : SAMPLES * LENGTH - 1] = x[i];
    }
    return fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_BORROW, out, err) == FG_OK;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const double begin = now();
    const fg_task task = {.name = "gpt", .ops = &ops};
    const int64_t steps = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    fg_dataset *train = NULL;
    fg_trainer *trainer = NULL;
    fg_error err = {0};
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .limits.max_steps = 1 + steps,
                                        .numerics.precision =
                                            argc > 2 && argv[2][0] ? argv[2] : NULL,
                                        .devices.cache_dir = ""};
    size = &sizes[argc > 3 && strcmp(argv[3], "124M") == 0];
    const bool ok = make_data(&train, &err) && fg_trainer_create(&options, &trainer, &err) == FG_OK;
    const fg_fit_data data = {.train = train, .global_batch_size = size->batch};
    const double fit = now();
    if (!ok || fg_trainer_fit(trainer, &task, &data, &err) != FG_OK)
        return fg_error_print(&err, argv[0]);
    const fg_result *r = fg_trainer_result(trainer);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("{\"step_ms\": %.2f, \"p95_ms\": %.2f, \"compile_s\": %.2f, \"rss_mb\": %.0f, "
           "\"start_s\": %.2f, \"own_us\": %.1f, \"plugin_us\": %.1f}\n",
           r->step_median_s * 1e3, r->step_p95_s * 1e3, r->compile_s,
           (double)usage.ru_maxrss / 1024, fit - begin + r->time_to_first_step_s,
           r->host_overhead_s * 1e6, r->plugin_s * 1e6);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train);
    return 0;
}
