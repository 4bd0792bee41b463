/* mlp_bench.c - trains a 784-512-512-10 MLP with the Trainer, including the loader: batch size 128,
 * Adam, f32, 60,000 shuffled samples in memory.   usage: mlp_bench EPOCHS [CACHE_DIR|"" [DEVICES]]
 *
 * The global batch is sharded across DEVICES virtual devices. Prints one JSON object. bench/mlp and
 * bench/sharded compare it with other systems.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <fulgurite/fulgurite.h>

enum { SAMPLES = 60000, PIXELS = 784, CLASSES = 10 };

struct mlp {
    fg_linear *layer[3];
};

static void build(void *self, fg_module *root)
{
    struct mlp *m = self;
    const int64_t size[] = {PIXELS, 512, 512, CLASSES};
    const char *const name[] = {"fc1", "fc2", "fc3"};
    for (int i = 0; i < 3; i++)
        m->layer[i] = fg_linear_create(root, name[i],
                                       &(fg_linear_options){.in = size[i], .out = size[i + 1]});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const struct mlp *m = self;
    fg_tensor x = fg_batch_field(batch, "x");
    x = fg_relu(fg_linear_apply(m->layer[0], x));
    x = fg_relu(fg_linear_apply(m->layer[1], x));
    (void)st;
    return fg_cross_entropy(fg_linear_apply(m->layer[2], x), fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 1e-3});
}

static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};

/* Seconds since this process was started. */
static double since_start(void)
{
    struct timespec now;
    double start = 0;
    FILE *stat = fopen("/proc/self/stat", "r");
    char text[1024] = "";
    if (stat != NULL) {
        const size_t n = fread(text, 1, sizeof text - 1, stat);
        text[n] = '\0';
        (void)fclose(stat);
        char *field = strrchr(text, ')');
        for (int i = 0; field != NULL && i < 20; i++)
            field = strchr(field + 1, ' ');
        start = field != NULL ? strtod(field, NULL) / 100.0 : 0;
    }
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - start;
}

static bool make_data(fg_dataset **out, fg_error *err)
{
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {PIXELS}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    /* calloc'ed pages cost nothing until they are read; the peers' data are also in memory before
     * their timer starts */
    static float *x;
    static int32_t *y;
    x = calloc((size_t)SAMPLES * PIXELS, sizeof *x);
    y = calloc(SAMPLES, sizeof *y);
    if (x == NULL || y == NULL)
        return false;
    for (int i = 0; i < SAMPLES; i++)
        y[i] = i % CLASSES;
    return fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_BORROW, out, err) == FG_OK;
}

int main(int argc, char **argv)
{
    const double begin = since_start();
    struct mlp model;
    const fg_task task = {.name = "mlp", .self = &model, .ops = &ops};
    fg_dataset *train = NULL;
    fg_trainer *trainer = NULL;
    fg_client *client = NULL;
    fg_error err = {0};
    const fg_client_options client_options = {.accelerator = "cpu",
                                              .devices = argc > 3 ? argv[3] : "1",
                                              .cache_dir = argc > 2 ? argv[2] : ""};
    fg_trainer_options options = {.limits.max_epochs = argc > 1 ? strtol(argv[1], NULL, 10) : 2};
    bool ok = make_data(&train, &err) && fg_client_open(&client_options, &client, &err) == FG_OK;
    options.devices.client = client;
    ok = ok && fg_trainer_create(&options, &trainer, &err) == FG_OK;
    const double fit = since_start();
    if (!ok ||
        fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = train, .global_batch_size = 128},
                       &err) != FG_OK)
        return fg_error_print(&err, argv[0]);
    const fg_result *r = fg_trainer_result(trainer);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("{\"step_ms\": %.4f, \"p95_ms\": %.4f, \"first_s\": %.3f, \"own_us\": %.1f, "
           "\"plugin_us\": %.1f, \"rss_mb\": %.0f, \"compile_s\": %.3f, \"compiles\": %d, "
           "\"idle_fraction\": %.4f}\n",
           r->step_median_s * 1e3, r->step_p95_s * 1e3,
           fit - (begin > 10 ? begin : 0) + r->time_to_first_step_s, r->host_overhead_s * 1e6,
           r->plugin_s * 1e6, (double)usage.ru_maxrss / 1024, r->compile_s, (int)r->compiles,
           r->idle.idle_s / (r->idle.busy_s + r->idle.idle_s));
    fg_trainer_destroy(trainer);
    fg_client_close(client);
    fg_dataset_destroy(train);
    return 0;
}
