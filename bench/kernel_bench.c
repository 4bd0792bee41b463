/* kernel_bench.c - kernels for the CPU (src/kernel) and the code of XLA's backend for the same, in
 * loops of a program, by size: the limits of the lowerings in src/op. One JSON object a line, times
 * in us; ratio: below 1, the kernel is faster. kernel_bench [NAME]: only problems with this name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "op/composite.h"
#include "pjrt/pjrt.h"
#include "trace/lowering.h"

enum { ITERATIONS = 200, SLOW_ITERATIONS = 4, ROUNDS = 12, MOST = 5 };

/* A loop whose iterations depend on each other; carries f32 tensors. */
typedef struct problem {
    const char *name, *rule;
    void (*body)(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                 fg_tensor *y);
    int a_axis, b_axis; /* contracted */
    int which;          /* of y, and the gradients of x and kernel, of a convolution; of y, and
                           the gradients, of a norm */
    fg_conv2d_options conv;
    int iterations; /* 0: ITERATIONS */
    bool is_half;   /* in bf16, with results in f32 */
    fg_type types[MOST];
    int count;
} problem;

/* a with its first element moved a little. */
static fg_tensor moved(fg_tensor a, fg_tensor by)
{
    static const int64_t zeros[FG_MAX_RANK] = {0}, ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const int rank = fg_tensor_type(a)->rank;
    const fg_tensor first = fg_slice(a, zeros, ones, NULL);
    const fg_tensor next = fg_add(first, fg_mul_scalar(fg_reshape(by, rank, ones), 1e-9));
    return fg_dynamic_update_slice(a, next, fg_zeros(fg_tensor_trace(a), FG_S32, FG_DIMS(rank)));
}

static void multiply(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                     fg_tensor *y)
{
    static const int64_t zeros[] = {0, 0}, ones[] = {1, 1};
    const problem *p = self;
    const fg_dot_options o = {
        .contract_count = 1, .a_contract = {p->a_axis}, .b_contract = {p->b_axis}};
    const fg_dtype dtype = p->is_half ? FG_BF16 : FG_F32;
    const fg_tensor product =
        fg_cast(fg_dot(fg_cast(carry[0], dtype), fg_cast(carry[1], dtype), &o), FG_F32);
    (void)x, (void)y;
    next[0] = moved(carry[0], fg_slice(product, zeros, ones, NULL));
    next[1] = carry[1];
}

/* types: x, kernel, y; for the gradient of x: y, kernel, x. */
static void convolve(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                     fg_tensor *y)
{
    static const int64_t zeros[] = {0, 0, 0, 0}, ones[] = {1, 1, 1, 1};
    const problem *p = self;
    const bool is_dx = p->which == 1;
    fg_tensor out = fg_conv2d(carry[is_dx ? 2 : 0], carry[1], &p->conv);
    if (p->which > 0)
        fg_grad(fg_sum(fg_mul(out, carry[is_dx ? 0 : 2]), 0, NULL), &carry[is_dx ? 2 : 1], 1, &out);
    (void)x, (void)y;
    for (int i = 0; i < p->count; i++)
        next[i] = carry[i];
    next[0] = moved(carry[0], fg_slice(out, zeros, ones, NULL));
}

/* types: x [rows, C], weight, bias, the derivative by y. */
static void norm(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                 fg_tensor *y)
{
    static const int64_t zeros[] = {0, 0}, ones[] = {1, 1};
    const problem *p = self;
    const fg_dtype dtype = p->is_half ? FG_BF16 : FG_F32;
    const fg_tensor eps = fg_full(fg_tensor_trace(carry[0]), FG_F32, 1e-5, FG_SCALAR);
    const fg_tensor in[] = {fg_cast(carry[0], dtype), eps, carry[1], carry[2]};
    fg_tensor out, d[3];
    fgi_compose(&fgi_layer_norm_op, in, 4, &out);
    out = fg_cast(out, FG_F32);
    (void)x, (void)y;
    for (int i = 0; i < p->count; i++)
        next[i] = carry[i];
    if (p->which > 0) {
        fg_grad(fg_sum(fg_mul(out, carry[3]), 0, NULL), carry, 3, d);
        out = d[0];
        next[1] = fg_add(carry[1], fg_mul_scalar(d[1], 1e-9));
        next[2] = fg_add(carry[2], fg_mul_scalar(d[2], 1e-9));
    }
    next[0] = moved(carry[0], fg_slice(out, zeros, ones, NULL));
}

static void look(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                 fg_tensor *y)
{
    (void)self, (void)x, (void)y;
    next[0] = moved(carry[0], fgi_nonfinite(carry, 1));
}

static void adam(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                 fg_tensor *y)
{
    fg_trace *trace = fg_tensor_trace(carry[0]);
    const fg_tensor small = fg_full(trace, FG_F32, 0.001, FG_SCALAR);
    const fg_tensor large = fg_full(trace, FG_F32, 0.999, FG_SCALAR);
    const fgi_adam_operands on = {.p = carry[0],
                                  .m = carry[1],
                                  .s = carry[2],
                                  .g = carry[3],
                                  .rest = small,
                                  .beta2 = large,
                                  .rest2 = small,
                                  .widen = large,
                                  .eps = small,
                                  .rate = fg_mul(small, carry[4])};
    fgi_adam_results now;
    fgi_adam_update(&on, 1, &now);
    (void)self, (void)x, (void)y;
    next[0] = now.p, next[1] = now.m, next[2] = now.s, next[3] = carry[3];
    next[4] = fg_add_scalar(carry[4], 1);
}

/* Batch norm in training with relu, and the gradient by x: types x, weight, dy. The next dy is y.
 */
static void batch_norm(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y)
{
    static const int axes[] = {0, 1, 2, 3};
    const problem *p = self;
    const fg_tensor weight = carry[1], in = fg_cast(carry[0], p->is_half ? FG_BF16 : FG_F32);
    const fg_tensor n = fgi_count_valid(in, fg_tensor_type(in)->rank - 1, axes, FG_F32);
    fg_tensor mean, var;
    fgi_mean_variance(fg_cast(in, FG_F32), weight, n, &mean, &var);
    const fg_tensor rstd = fg_rsqrt(fg_add_scalar(var, 1e-5));
    const fg_tensor out = fg_cast(
        fg_relu(fgi_normalize_batch((const fg_tensor[]){in, weight, weight, mean, rstd, n})),
        FG_F32);
    (void)x, (void)y;
    fg_grad(fg_sum(fg_mul(out, carry[2]), 0, NULL), &carry[0], 1, &next[0]);
    next[1] = weight;
    next[2] = out;
}

static void check(fg_status status, const fg_error *err)
{
    if (status == FG_OK)
        return;
    (void)fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int iterations_of(const problem *p)
{
    return p->iterations > 0 ? p->iterations : ITERATIONS;
}

static double run_once(const problem *p, fg_trace *trace, fg_array *const *in, float *values)
{
    fg_error err = {0};
    fg_tensor carry[MOST], last[MOST];
    fg_array *out = NULL;
    for (int i = 0; i < p->count; i++)
        carry[i] = fg_input(trace, in[i]);
    fg_scan(&(fg_scan_options){.self = (void *)p,
                               .carry_count = p->count,
                               .length = iterations_of(p),
                               .body = p->body},
            carry, NULL, last, NULL);
    const double begin = now();
    check(fg_run(trace, last, 1, &out, &err), &err);
    check(fg_array_read(out, values, fg_type_bytes(&p->types[0]), &err), &err);
    const double seconds = now() - begin;
    fg_array_release(out);
    fg_trace_reset(trace);
    return seconds;
}

/* The shortest time of an iteration, us. */
static double measure(const problem *p, fg_client *client, const char *off)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_array *in[MOST];
    double best = 1e9;
    fgi_client_set_plain(client, off);
    check(fg_trace_create(client, &trace, &err), &err);
    float *values = NULL;
    for (int i = 0; i < p->count; i++) {
        values = realloc(values, fg_type_bytes(&p->types[i]) + fg_type_bytes(&p->types[0]));
        for (int64_t k = 0; values != NULL && k < fg_type_count(&p->types[i]); k++)
            values[k] = (float)(k % 13) / 100;
        check(fg_array_create(client, &p->types[i], values, &in[i], &err), &err);
    }
    for (int i = 0; i < ROUNDS; i++) {
        const double seconds = run_once(p, trace, in, values);
        best = i > 0 && seconds < best ? seconds : best;
    }
    for (int i = 0; i < p->count; i++)
        fg_array_release(in[i]);
    fg_trace_destroy(trace);
    free(values);
    return best / iterations_of(p) * 1e6;
}

static const char *only;

static void print(const problem *p, fg_client *client)
{
    if (only != NULL && strcmp(only, p->name) != 0)
        return;
    char type[2][96] = {"", ""};
    for (int i = 0; i < 2 && i < p->count; i++)
        (void)fg_type_format(&p->types[i], type[i], sizeof type[i]);
    const double kernel = measure(p, client, NULL), backend = measure(p, client, p->rule);
    (void)printf("{\"name\": \"%s\", \"in\": \"%s %s\", %s\"kernel\": %.2f, \"xla\": "
                 "%.2f, \"ratio\": %.2f}\n",
                 p->name, type[0], type[1], p->is_half ? "\"bf16\": true, " : "", kernel, backend,
                 kernel / backend);
}

static void print_matmuls(fg_client *client)
{
    static const int64_t sizes[][3] = {{2, 64, 64},    {4, 64, 64},   {4, 256, 64},
                                       {32, 32, 10},   {32, 64, 32},  {64, 64, 64},
                                       {16, 128, 128}, {256, 64, 16}, {32, 512, 16},
                                       {64, 10, 400},  {64, 128, 64}, {128, 128, 128}};
    static const char *const names[] = {"a b", "a b'", "a' b"};
    for (int form = 0; form < 3; form++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
            problem p = {.name = names[form],
                         .rule = "matmul-kernel",
                         .body = multiply,
                         .a_axis = form == 2 ? 0 : 1,
                         .b_axis = form == 1 ? 1 : 0,
                         .types = {{FG_F32, 2, {m, k}}, {FG_F32, 2, {k, n}}},
                         .count = 2};
            if (form > 0) {
                int64_t *dim = p.types[form == 1 ? 1 : 0].dim, kept = dim[0];
                dim[0] = dim[1];
                dim[1] = kept;
            }
            print(&p, client);
        }
}

/* Matmuls of MLPs and transformers, forward and of both gradients. */
static void print_large_matmuls(fg_client *client)
{
    static const int64_t sizes[][3] = {{128, 128, 128},   {32, 784, 64},     {128, 784, 512},
                                       {128, 512, 512},   {784, 128, 512},   {3072, 384, 1536},
                                       {3072, 1536, 384}, {384, 3072, 1536}, {1024, 1024, 1024}};
    static const char *const names[] = {"large a b", "large a b'", "large a' b"};
    for (int form = 0; form < 3; form++)
        for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t *size = sizes[i / 2], m = size[0], k = size[1], n = size[2];
            problem p = {.name = names[form],
                         .rule = "matmul-kernel",
                         .body = multiply,
                         .is_half = i % 2 == 1,
                         .a_axis = form == 2 ? 0 : 1,
                         .b_axis = form == 1 ? 1 : 0,
                         .iterations = 20,
                         .types = {{FG_F32, 2, {form == 2 ? k : m, form == 2 ? m : k}},
                                   {FG_F32, 2, {form == 1 ? n : k, form == 1 ? k : n}}},
                         .count = 2};
            print(&p, client);
        }
}

static void print_convs(fg_client *client)
{
    static const struct {
        int64_t n, size, k, from, to, stride;
    } sizes[] = {{128, 32, 3, 64, 64, 1},  {128, 16, 3, 128, 128, 1}, {128, 8, 3, 256, 256, 1},
                 {128, 4, 3, 512, 512, 1}, {128, 32, 3, 32, 32, 1},   {128, 32, 3, 16, 16, 1},
                 {32, 7, 3, 512, 512, 1},  {1, 32, 3, 64, 64, 1},     {8, 4, 3, 64, 64, 1},
                 {128, 32, 3, 3, 64, 1},   {128, 32, 3, 64, 128, 2},  {128, 32, 1, 64, 128, 2},
                 {16, 56, 1, 64, 256, 1},  {16, 224, 7, 3, 64, 2},    {128, 28, 5, 1, 6, 1}};
    static const char *const names[] = {"conv", "conv dx", "conv dk"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int which = 0; which < 3; which++) {
            const int64_t n = sizes[i].n, h = sizes[i].size, k = sizes[i].k;
            const int64_t out = (h + k / 2 * 2 - k) / sizes[i].stride + 1;
            problem p = {.name = names[which],
                         .rule = "conv-kernel",
                         .body = convolve,
                         .which = which,
                         .conv = {.stride = sizes[i].stride, .pad = k / 2},
                         .iterations = SLOW_ITERATIONS,
                         .count = 3};
            p.types[which == 1 ? 2 : 0] = (fg_type){FG_F32, 4, {n, h, h, sizes[i].from}};
            p.types[1] = (fg_type){FG_F32, 4, {k, k, sizes[i].from, sizes[i].to}};
            p.types[which == 1 ? 0 : 2] = (fg_type){FG_F32, 4, {n, out, out, sizes[i].to}};
            print(&p, client);
        }
}

static void print_norms(fg_client *client)
{
    static const int64_t sizes[][2] = {{32, 32},    {32, 128},   {128, 128},  {64, 512},
                                       {512, 128},  {1024, 128}, {197, 768},  {4096, 96},
                                       {3152, 192}, {3072, 384}, {4096, 1024}};
    static const char *const names[] = {"norm", "norm dx"};
    for (int i = 0; i < 4 * (int)(sizeof sizes / sizeof sizes[0]); i++) {
        const fg_type x = {FG_F32, 2, {sizes[i / 4][0], sizes[i / 4][1]}},
                      weight = {FG_F32, 1, {x.dim[1]}};
        print(&(problem){.name = names[i / 2 % 2],
                         .rule = "norm-kernel",
                         .body = norm,
                         .which = i / 2 % 2,
                         .is_half = i % 2 == 1,
                         .iterations = 20,
                         .types = {x, weight, weight, x},
                         .count = 4},
              client);
    }
}

static void print_batch_norms(fg_client *client)
{
    static const int64_t sizes[][2] = {{128, 16},   {512, 16},   {512, 64},    {4096, 32},
                                       {8192, 256}, {50176, 64}, {12544, 512}, {784, 2048}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        const int64_t rows = sizes[i / 2][0], channels = sizes[i / 2][1];
        print(&(problem){.name = "batch norm",
                         .rule = "batch-norm-kernel",
                         .body = batch_norm,
                         .is_half = i % 2 == 1,
                         .iterations = 10,
                         .types = {{FG_F32, 2, {rows, channels}},
                                   {FG_F32, 1, {channels}},
                                   {FG_F32, 2, {rows, channels}}},
                         .count = 3},
              client);
    }
}

int main(int argc, char **argv)
{
    only = argc > 1 ? argv[1] : NULL;
    fg_error err = {0};
    fg_client *client = NULL;
    check(fg_client_open(&(fg_client_options){.accelerator = "cpu"}, &client, &err), &err);
    print_matmuls(client);
    print_large_matmuls(client);
    print_convs(client);
    print_norms(client);
    print_batch_norms(client);
    for (int64_t count = 256; count <= 1 << 22; count *= 4) {
        const fg_type t = {FG_F32, 1, {count}}, number = {.dtype = FG_F32};
        print(&(problem){.name = "adam",
                         .rule = "adam-kernel",
                         .body = adam,
                         .types = {t, t, t, t, number},
                         .count = 5},
              client);
        print(&(problem){.name = "nonfinite",
                         .rule = "nonfinite-kernel",
                         .body = look,
                         .types = {t},
                         .count = 1},
              client);
    }
    fg_client_close(client);
    return 0;
}
