/* recurrent_bench.c - an LSTM or a GRU over many time steps (fg_recurrent): time to compile the
 * gradient by all weights, and time of a run.
 *
 * usage: recurrent_bench [lstm|gru [REPEATS]]: prints one line of JSON
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fulgurite/fulgurite.h>

enum { STEPS = 200, BATCH = 32, INPUTS = 64, HIDDEN = 128, MOST_REPEATS = 1000 };

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

typedef struct bench {
    fg_client *client;
    fg_trace *trace;
    fg_module *root;
    const fg_recurrent *layer;
    fg_array *x;
} bench;

static void stop_unless(bool is_good, const fg_error *err)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "%s\nusage: recurrent_bench [lstm|gru [1 to 1000]]\n", err->message);
    exit(1);
}

/* Without biases, as in peers/jax_recurrent.py, and with sequences [B, T, features]. */
static void create(bench *b, bool is_gru)
{
    static float x[BATCH * STEPS * INPUTS];
    const fg_type type = {FG_F32, 3, {BATCH, STEPS, INPUTS}};
    fg_error err = {0};
    for (int i = 0; i < BATCH * STEPS * INPUTS; i++)
        x[i] = 0.002F * (float)(i * 37 % 101 - 50);
    const fg_client_options options = {.accelerator = "cpu", .cache_dir = ""};
    stop_unless(fg_client_open(&options, &b->client, &err) == FG_OK &&
                    fg_trace_create(b->client, &b->trace, &err) == FG_OK &&
                    fg_module_create(NULL, 1, &b->root, &err) == FG_OK &&
                    fg_array_create(b->client, &type, x, &b->x, &err) == FG_OK,
                &err);
    b->layer = fg_recurrent_create(
        b->root, "layer",
        &(fg_recurrent_options){
            .in = INPUTS, .hidden = HIDDEN, .kind = is_gru ? FG_GRU : FG_LSTM, .no_bias = true});
    stop_unless(fg_module_error(b->root, &err) == FG_OK, &err);
}

/* The gradient of the mean square of all hidden states by both weights. */
static double run(const bench *b)
{
    fg_tensor out[2];
    fg_array *got[2] = {NULL};
    fg_variable *weights[2];
    fg_error err = {0};
    const double begin = now_ms();
    for (size_t i = 0; i < 2; i++)
        weights[i] = fg_module_variable_at(b->root, i);
    const fg_tensor y = fg_recurrent_apply(b->layer, fg_input(b->trace, b->x), NULL);
    fg_grad_variables(fg_mean(fg_square(y), 0, NULL), weights, 2, out);
    stop_unless(
        fg_run(b->trace, out, 2, got, &err) == FG_OK && fg_array_wait(got[0], &err) == FG_OK, &err);
    fg_array_release(got[0]);
    fg_array_release(got[1]);
    return now_ms() - begin;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const int repeats = argc > 2 ? atoi(argv[2]) : 20;
    double ms[MOST_REPEATS];
    bench b;
    stop_unless(repeats >= 1 && repeats <= MOST_REPEATS, &(fg_error){0});
    create(&b, argc > 1 && strcmp(argv[1], "gru") == 0);
    const double first = run(&b);
    for (int i = 0; i < repeats; i++)
        ms[i] = run(&b);
    qsort(ms, (size_t)repeats, sizeof ms[0], by_size);
    printf("{\"compile_ms\": %.1f, \"step_ms\": %.3f}\n", first - ms[repeats / 2], ms[repeats / 2]);
    fg_array_release(b.x);
    fg_trace_destroy(b.trace);
    fg_module_destroy(b.root);
    fg_client_close(b.client);
    return 0;
}
