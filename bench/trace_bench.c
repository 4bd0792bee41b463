/* trace_bench.c - measures tracing: nanoseconds per operation for one training step of an MLP and
 * of a CNN, including gradients and optimizer; the overhead of an iteration of a custom loop; and a
 * breakdown of the time to the first step.
 *
 *     trace_bench [SECONDS per measurement, default 1]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct net {
    const char *name;
    fg_module *root;
    fg_model *model;
    fg_optimizer *optimizer;
    fg_variable *x, *label;
} net;

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* x is the model's input with `batch` samples. */
static fg_status net_create(net *n, const char *name, const fg_model_options *options,
                            int64_t batch, fg_error *err)
{
    fg_type x = {.dtype = options->input.dtype, .rank = options->input.rank + 1, .dim = {batch}};
    const fg_type label = {.dtype = FG_S32, .rank = 1, .dim = {batch}};
    for (int i = 0; i < options->input.rank; i++)
        x.dim[i + 1] = options->input.dim[i];
    n->name = name;
    fg_status status = fg_module_create("", 1, &n->root, err);
    if (status != FG_OK)
        return status;
    n->model = fg_model_create(n->root, options);
    n->optimizer = fg_adam_create(n->root, NULL);
    status = fg_module_error(n->root, err);
    if (status == FG_OK)
        status = fg_variable_create("x", &x, NULL, &n->x, err);
    if (status == FG_OK)
        status = fg_variable_create("label", &label, NULL, &n->label, err);
    return status;
}

static void net_destroy(net *n)
{
    fg_variable_destroy(n->x);
    fg_variable_destroy(n->label);
    fg_module_destroy(n->root);
}

/* One training step written down: forward, loss, gradients, Adam. */
static fg_tensor trace_step(const net *n, fg_trace *trace)
{
    const fg_tensor x = fg_variable_value(trace, n->x);
    const fg_tensor label = fg_variable_value(trace, n->label);
    const fg_tensor loss = fg_cross_entropy(fg_model_apply(n->model, x), label, NULL);
    fg_optimizer_minimize(n->optimizer, loss);
    return loss;
}

static size_t operations(const char *text)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, " = \"stablehlo.")) != NULL; at++)
        count++;
    return count;
}

static fg_status measure_tracing(const net *n, double seconds, fg_error *err)
{
    fg_trace *trace;
    char *text = NULL;
    long steps = 0;
    fg_status status = fg_trace_create(NULL, &trace, err);
    if (status != FG_OK)
        return status;
    fg_trace_set_training(trace, true);
    double start = now_s();
    do {
        fg_trace_reset(trace);
        (void)trace_step(n, trace);
        steps++;
    } while (now_s() < start + seconds);
    const double traced = (now_s() - start) / (double)steps;
    fg_trace_reset(trace);
    fg_tensor loss = trace_step(n, trace);
    status = fg_trace_text(trace, &loss, 1, &text, err);
    if (status == FG_OK) {
        start = now_s();
        fg_free(text);
        status = fg_trace_text(trace, &loss, 1, &text, err);
    }
    if (status == FG_OK) {
        const size_t count = operations(text);
        printf("%-8s %4zu operations  %6.1f us per step  %4.0f ns per operation  text %zu bytes in "
               "%.2f ms\n",
               n->name, count, 1e6 * traced, 1e9 * traced / (double)count, strlen(text),
               1e3 * (now_s() - start));
        fg_free(text);
    }
    fg_trace_destroy(trace);
    return status;
}

/* A custom loop on the device: trace, look the program up, launch, read the loss. */
static fg_status measure_loop(const net *n, fg_client *client, double seconds, fg_error *err)
{
    fg_trace *trace;
    float loss;
    long steps = 0;
    double first = now_s();
    fg_status status = fg_trace_create(client, &trace, err);
    if (status != FG_OK)
        return status;
    fg_trace_set_training(trace, true);
    status = fg_run_f32(trace, trace_step(n, trace), &loss, err);
    first = now_s() - first;
    const double start = now_s();
    while (status == FG_OK && now_s() < start + seconds) {
        status = fg_run_f32(trace, trace_step(n, trace), &loss, err);
        steps++;
    }
    if (status == FG_OK)
        printf("%-8s first step %.0f ms, then %.1f us per iteration, reading the loss\n", n->name,
               1e3 * first, 1e6 * (now_s() - start) / (double)steps);
    fg_trace_destroy(trace);
    return status;
}

/* The perceptron's first step, from nothing compiled. */
static fg_status measure_first(const net *n, fg_client *client, double opened_s, fg_error *err)
{
    fg_trace *trace;
    float loss;
    const double start = now_s();
    fg_status status = fg_trace_create(client, &trace, err);
    if (status != FG_OK)
        return status;
    fg_trace_set_training(trace, true);
    const fg_tensor traced = trace_step(n, trace);
    const double written = now_s();
    status = fg_run_f32(trace, traced, &loss, err);
    const fg_client_stats stats = fg_client_stats_of(client);
    if (status == FG_OK)
        printf("%-8s first step: plugin %.0f ms, tracing %.2f ms, compiling %.0f ms, start values "
               "and run %.0f ms\n",
               n->name, 1e3 * opened_s, 1e3 * (written - start), 1e3 * stats.compile_s,
               1e3 * (now_s() - written - stats.compile_s));
    fg_trace_destroy(trace);
    return status;
}

static fg_status measure(net *mlp, net *lenet, net *tiny, double seconds, fg_error *err)
{
    const fg_model_options options[] = {
        {.name = "mlp", .input = {.dtype = FG_U8, .rank = 1, .dim = {784}}, .outputs = 10},
        {.name = "lenet", .input = {.dtype = FG_U8, .rank = 3, .dim = {28, 28, 1}}, .outputs = 10},
        {.name = "mlp",
         .input = {.dtype = FG_F32, .rank = 1, .dim = {4}},
         .outputs = 2,
         .options = "{hidden: [4, 4]}"},
    };
    const double start = now_s();
    fg_client *client = NULL;
    fg_status status =
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client, err);
    const double opened_s = now_s() - start;
    if (status == FG_OK)
        status = net_create(mlp, "mlp", &options[0], 128, err);
    if (status == FG_OK)
        status = net_create(lenet, "lenet", &options[1], 128, err);
    if (status == FG_OK)
        status = net_create(tiny, "tiny", &options[2], 2, err);
    if (status == FG_OK)
        status = measure_first(mlp, client, opened_s, err);
    if (status == FG_OK)
        status = measure_tracing(mlp, seconds, err);
    if (status == FG_OK)
        status = measure_tracing(lenet, seconds, err);
    if (status == FG_OK)
        status = measure_loop(tiny, client, seconds, err);
    net_destroy(mlp);
    net_destroy(lenet);
    net_destroy(tiny);
    fg_client_close(client);
    return status;
}

int main(int argc, char **argv)
{
    net mlp = {0}, lenet = {0}, tiny = {0};
    fg_error err = {0};
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    if (measure(&mlp, &lenet, &tiny, seconds, &err) != FG_OK)
        return fg_error_print(&err, argv[0]);
    return 0;
}
