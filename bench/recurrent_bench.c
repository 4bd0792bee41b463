/* recurrent_bench.c - an LSTM or a GRU over many time steps as one loop (fg_scan): time to compile
 * the gradient by all weights, and time of a run.
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

/* The weights of a step, and how many gates there are. */
typedef struct cell {
    fg_tensor hidden;
    int gates;
} cell;

static fg_tensor gate(fg_tensor all, int i)
{
    return fg_slice(all, (const int64_t[]){0, (int64_t)i * HIDDEN},
                    (const int64_t[]){BATCH, (int64_t)(i + 1) * HIDDEN}, NULL);
}

/* x has the products with the input weights. */
static void lstm(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                 fg_tensor *y)
{
    const cell *c = self;
    const fg_tensor all = fg_add(x[0], fg_matmul(carry[0], c->hidden));
    const fg_tensor kept = fg_mul(fg_sigmoid(gate(all, 1)), carry[1]);
    next[1] = fg_add(kept, fg_mul(fg_sigmoid(gate(all, 0)), fg_tanh(gate(all, 2))));
    y[0] = next[0] = fg_mul(fg_sigmoid(gate(all, 3)), fg_tanh(next[1]));
}

static void gru(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                fg_tensor *y)
{
    const cell *c = self;
    const fg_tensor h = fg_matmul(carry[0], c->hidden);
    const fg_tensor reset = fg_sigmoid(fg_add(gate(x[0], 0), gate(h, 0)));
    const fg_tensor update = fg_sigmoid(fg_add(gate(x[0], 1), gate(h, 1)));
    const fg_tensor fresh = fg_tanh(fg_add(gate(x[0], 2), fg_mul(reset, gate(h, 2))));
    y[0] = next[0] = fg_add(fresh, fg_mul(update, fg_sub(carry[0], fresh)));
}

static fg_array *array(fg_client *client, int rank, const int64_t *dim)
{
    fg_type type = {.dtype = FG_F32, .rank = rank};
    fg_error err = {0};
    fg_array *out = NULL;
    memcpy(type.dim, dim, (size_t)rank * sizeof *dim);
    const int64_t count = fg_type_count(&type);
    float *data = malloc((size_t)count * sizeof *data);
    for (int64_t i = 0; data != NULL && i < count; i++)
        data[i] = 0.002F * (float)(i * 37 % 101 - 50);
    if (data == NULL || fg_array_create(client, &type, data, &out, &err) != FG_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    free(data);
    return out;
}

/* The gradient of the mean square of all hidden states by both weights. */
static void trace_step(fg_trace *trace, fg_array *const *arrays, int gates, fg_tensor *out)
{
    const fg_tensor x = fg_input(trace, arrays[0]),
                    wrt[2] = {fg_input(trace, arrays[1]), fg_input(trace, arrays[2])};
    const fg_tensor flat = fg_reshape(x, FG_DIMS((int64_t)STEPS * BATCH, INPUTS));
    const fg_tensor products =
        fg_reshape(fg_matmul(flat, wrt[0]), FG_DIMS(STEPS, BATCH, (int64_t)gates * HIDDEN));
    const fg_tensor zero = fg_zeros(trace, FG_F32, FG_DIMS(BATCH, HIDDEN));
    const fg_tensor first[2] = {zero, zero};
    cell c = {.hidden = wrt[1], .gates = gates};
    fg_tensor last[2], y;
    fg_scan(&(fg_scan_options){.carry_count = gates == 4 ? 2 : 1,
                               .x_count = 1,
                               .y_count = 1,
                               .body = gates == 4 ? lstm : gru,
                               .self = &c},
            first, &products, last, &y);
    fg_grad(fg_mean(fg_square(y), 0, NULL), wrt, 2, out);
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static double run(fg_trace *trace, fg_array *const *arrays, int gates)
{
    fg_tensor out[2];
    fg_array *got[2] = {NULL};
    fg_error err = {0};
    const double begin = now_ms();
    trace_step(trace, arrays, gates, out);
    if (fg_run(trace, out, 2, got, &err) != FG_OK || fg_array_wait(got[0], &err) != FG_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
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
    const int gates = argc > 1 && strcmp(argv[1], "gru") == 0 ? 3 : 4;
    const int repeats = argc > 2 ? atoi(argv[2]) : 20;
    double ms[MOST_REPEATS];
    fg_error err = {0};
    fg_client *client;
    fg_trace *trace;
    if (repeats < 1 || repeats > MOST_REPEATS ||
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client,
                       &err) != FG_OK ||
        fg_trace_create(client, &trace, &err) != FG_OK) {
        (void)fprintf(stderr, "usage: recurrent_bench [lstm|gru [1 to 1000]] %s\n", err.message);
        return 1;
    }
    fg_array *arrays[] = {array(client, 3, (const int64_t[]){STEPS, BATCH, INPUTS}),
                          array(client, 2, (const int64_t[]){INPUTS, (int64_t)gates * HIDDEN}),
                          array(client, 2, (const int64_t[]){HIDDEN, (int64_t)gates * HIDDEN})};
    const double first = run(trace, arrays, gates);
    for (int i = 0; i < repeats; i++)
        ms[i] = run(trace, arrays, gates);
    qsort(ms, (size_t)repeats, sizeof ms[0], by_size);
    printf("{\"compile_ms\": %.1f, \"step_ms\": %.3f}\n", first - ms[repeats / 2], ms[repeats / 2]);
    for (int i = 0; i < 3; i++)
        fg_array_release(arrays[i]);
    fg_trace_destroy(trace);
    fg_client_close(client);
    return 0;
}
