/* test_stored.c - values that XLA's CPU backend would recompute in many loops are stored: results
 * are the same, the compiled program grows linearly with layers and slices, and networks with a
 * matrix multiplication in each layer are unchanged.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/ops.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "pjrt/pjrt.h"
#include "plan/hlo_module.h"
#include "trace/graph.h"
#include "trace/program.h"

enum { ROWS = 4, COLUMNS = 64, INPUTS = 2 };

static fg_client *client;

/* x f32[ROWS, COLUMNS], weight f32[COLUMNS] -> f32[ROWS, COLUMNS], `layers` times. */
typedef struct problem {
    const char *name;
    fg_tensor (*layer)(const struct problem *p, fg_tensor x, fg_tensor weight);
    int layers, pieces;
    bool in_floats; /* sums are not exact */
    fg_client *client;
    const char *plain;
} problem;

static fg_tensor columns(fg_tensor x, int64_t first, int64_t limit)
{
    return fg_slice(x, (const int64_t[]){0, first}, (const int64_t[]){ROWS, limit}, NULL);
}

static fg_tensor reversed(const problem *p, fg_tensor x, fg_tensor weight)
{
    (void)p;
    const int axis[] = {1};
    return fg_add(fg_mul(x, weight), fg_reverse(x, 1, axis));
}

static fg_tensor gated(const problem *p, fg_tensor x, fg_tensor weight)
{
    (void)p;
    const int axis[] = {1};
    const fg_tensor other = fg_reverse(fg_mul(x, weight), 1, axis);
    return fg_add(fg_mul(fg_sigmoid(x), x), fg_mul(fg_tanh(other), other));
}

static fg_tensor normalized(const problem *p, fg_tensor x, fg_tensor weight)
{
    (void)p;
    const int axis[] = {1};
    const fg_tensor off = fg_sub(x, fg_reshape(fg_mean(x, 1, axis), FG_DIMS(ROWS, 1)));
    const fg_tensor variance = fg_reshape(fg_mean(fg_square(off), 1, axis), FG_DIMS(ROWS, 1));
    return fg_mul(fg_mul(off, fg_rsqrt(fg_add_scalar(variance, 1))), weight);
}

/* Each slice is multiplied by its slice of the weight; the results are concatenated. */
static fg_tensor in_pieces(const problem *p, fg_tensor x, fg_tensor weight)
{
    fg_tensor piece[COLUMNS];
    const int64_t each = COLUMNS / p->pieces;
    for (int64_t i = 0; i < p->pieces; i++) {
        const int64_t first = i * each, limit = first + each;
        piece[i] = fg_mul(columns(x, first, limit), fg_slice(weight, &first, &limit, NULL));
    }
    return fg_relu(fg_concat(piece, p->pieces, 1));
}

static fg_tensor product(const problem *p, fg_tensor x, fg_tensor weight)
{
    (void)p;
    const fg_tensor square = fg_mul(fg_ones(fg_tensor_trace(x), FG_F32, FG_DIMS(COLUMNS, COLUMNS)),
                                    fg_reshape(weight, FG_DIMS(COLUMNS, 1)));
    return fg_relu(fg_add(fg_matmul(x, square), weight));
}

/* x in bf16, and its columns in the opposite order, by a matmul: small integers. */
static fg_tensor residual(const problem *p, fg_tensor x, fg_tensor weight)
{
    fg_trace *trace = fg_tensor_trace(x);
    const int64_t dim[] = {COLUMNS, COLUMNS};
    const fg_tensor sum =
        fg_add(fg_iota(trace, FG_S32, 0, 2, dim), fg_iota(trace, FG_S32, 1, 2, dim));
    const fg_tensor opposite = fg_eq(sum, fg_full(trace, FG_S32, COLUMNS - 1, 2, dim));
    (void)p, (void)weight;
    x = fg_cast(x, FG_BF16);
    return fg_add(x, fg_matmul(x, fg_cast(opposite, FG_BF16)));
}

/* Integers from -1 to 1. */
static fg_tensor input(const problem *p, fg_trace *trace, int which)
{
    const fg_type type[INPUTS] = {{FG_F32, 2, {ROWS, COLUMNS}}, {FG_F32, 1, {COLUMNS}}};
    float values[ROWS * COLUMNS];
    fg_error err = {0};
    fg_array *array = NULL;
    uint32_t state = 12345 + 77 * (uint32_t)which;
    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = (float)((int)(state >> 24) % 3 - 1);
    }
    if (which == 0 && fg_client_info_of(p->client)->device_count > 1)
        fgt_ok(fg_array_create_sharded(p->client, &type[which], values,
                                       &(fg_array_options){.spec = "data"}, &array, &err));
    else
        fgt_ok(fg_array_create(p->client, &type[which], values, &array, &err));
    const fg_tensor tensor = fg_input(trace, array);
    fg_array_release(array);
    return tensor;
}

/* The layers' result, and the derivatives of its sum. */
enum { OUTPUTS = 1 + INPUTS };
static fg_trace *write(const problem *p, fg_tensor *out)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fgi_client_set_plain(p->client, p->plain);
    fgt_ok(fg_trace_create(p->client, &trace, &err));
    const fg_tensor in[INPUTS] = {input(p, trace, 0), input(p, trace, 1)};
    out[0] = in[0];
    for (int i = 0; i < p->layers; i++)
        out[0] = p->layer(p, out[0], in[1]);
    out[0] = fg_cast(out[0], FG_F32);
    fg_grad(fg_sum(out[0], 0, NULL), in, INPUTS, &out[1]);
    return trace;
}

/* ---- same results ---------------------------------------------------------------------------- */

typedef struct result {
    char *text; /* fg_free */
    float value[ROWS * COLUMNS + ROWS * COLUMNS + COLUMNS];
} result;

static result *run(const problem *p)
{
    fg_error err = {0};
    fg_tensor out[OUTPUTS];
    fg_array *arrays[OUTPUTS];
    result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    fg_trace *trace = write(p, out);
    fgt_ok(fg_trace_text(trace, out, OUTPUTS, &r->text, &err));
    fgt_ok(fg_run(trace, out, OUTPUTS, arrays, &err));
    float *at = r->value;
    for (int i = 0; i < OUTPUTS; i++) {
        const size_t size = fg_type_bytes(fg_array_type(arrays[i]));
        fgt_ok(fg_array_read(arrays[i], at, size, &err));
        at += size / sizeof *at;
        fg_array_release(arrays[i]);
    }
    fg_trace_destroy(trace);
    fgi_client_set_plain(p->client, NULL);
    return r;
}

static void result_free(result *r)
{
    fg_free(r->text);
    free(r);
}

static void check_same_values(const problem *p, const result *a, const result *b)
{
    for (size_t i = 0; i < sizeof a->value / sizeof a->value[0]; i++) {
        const double x = (double)a->value[i], y = (double)b->value[i];
        fgt_close(p->name, x, y, p->in_floats ? 1e-6 : 0, p->in_floats ? 1e-4 : 0);
    }
}

static void stored_values_change_no_result(void **state)
{
    const problem rows[] = {
        {.name = "reversed", .layer = reversed, .layers = 10, .client = client},
        {.name = "gated", .layer = gated, .layers = 6, .in_floats = true, .client = client},
        {.name = "normalized",
         .layer = normalized,
         .layers = 6,
         .in_floats = true,
         .client = client},
        {.name = "pieces", .layer = in_pieces, .layers = 2, .pieces = 16, .client = client},
        {.name = "residual in bf16", .layer = residual, .layers = 6, .client = client},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem plain = rows[i];
        plain.plain = "stored-values";
        result *stored = run(&rows[i]), *fused = run(&plain);
        if (strcmp(stored->text, fused->text) == 0)
            fail_msg("%s: nothing is stored", rows[i].name);
        check_same_values(&rows[i], stored, fused);
        result_free(stored);
        result_free(fused);
    }
}

static void values_split_over_devices_are_stored(void **state)
{
    const problem rows[] = {
        {.name = "reversed", .layer = reversed, .layers = 10, .client = client},
        {.name = "pieces", .layer = in_pieces, .layers = 2, .pieces = 16, .client = client},
    };
    fg_error err = {0};
    fg_client *two = NULL;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cpu_devices = 2, .cache_dir = fgt_cache("")},
        &two, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem split = rows[i];
        split.client = two;
        result *one = run(&rows[i]), *other = run(&split);
        check_same_values(&rows[i], one, other);
        result_free(one);
        result_free(other);
    }
    fg_client_close(two);
}

/* A layer with a matrix multiplication ends every loop there. */
static void networks_of_matmuls_are_left_alone(void **state)
{
    const problem ruled = {.name = "product", .layer = product, .layers = 12, .client = client};
    problem plain = ruled;
    char *text[2];
    (void)state;
    plain.plain = "stored-values";
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_tensor out[OUTPUTS];
        fg_trace *trace = write(i == 0 ? &ruled : &plain, out);
        fgt_ok(fg_trace_text(trace, out, OUTPUTS, &text[i], &err));
        fg_trace_destroy(trace);
        fgi_client_set_plain(client, NULL);
    }
    assert_string_equal(text[0], text[1]);
    fg_free(text[0]);
    fg_free(text[1]);
}

/* ---- the length of loops --------------------------------------------------------------------- */

/* The number of operations of the computation's result if every use recomputes its operands. */
static double operations(const fgi_hlo_computation *in)
{
    double *count = calloc(in->n_instruction + 1, sizeof *count), most = 0;
    assert_non_null(count);
    for (size_t i = 0; i < in->n_instruction; i++) { /* operands come before their uses */
        const fgi_hlo_op *op = in->instruction[i];
        count[i] = 1;
        for (size_t k = 0; k < op->n_operand; k++)
            for (size_t j = 0; j < i; j++)
                if (in->instruction[j]->id == op->operand[k])
                    count[i] += count[j];
        most = count[i] > most ? count[i] : most;
    }
    free(count);
    return most;
}

/* The operations of all loops of the compiled program. */
static double operations_of_loops(const problem *p)
{
    fg_error err = {0};
    fg_tensor out[OUTPUTS];
    fgi_program *program = NULL;
    char *data = NULL;
    size_t size = 0;
    fgi_hlo *hlo = NULL;
    double sum = 0;
    fg_trace *trace = write(p, out);
    fgt_ok(fgi_program_get(trace, out, OUTPUTS, &program, &err));
    fgt_ok(fgi_executable_optimized(fgi_program_executable(program), &data, &size, &err));
    fgt_ok(fgi_hlo_read(data, size, &hlo, &err));
    for (size_t i = 0; i < hlo->module->n_computation; i++) {
        const fgi_hlo_computation *in = hlo->module->computation[i];
        sum += strncmp(in->name, "fused", 5) == 0 ? operations(in) : 0;
    }
    fgi_hlo_free(hlo);
    fgi_free(data);
    fg_trace_destroy(trace);
    return sum;
}

/* The number of instructions and operations for n, 2n and 4n layers or slices: it grows
 * linearly. */
static void check_adds_evenly(const problem *one, const problem *two, const problem *four)
{
    const double count[3] = {operations_of_loops(one), operations_of_loops(two),
                             operations_of_loops(four)};
    const double first = count[1] - count[0], second = count[2] - count[1];
    if (count[0] <= 0 || second > 2.5 * first)
        fail_msg("%s: %g operations, %g for twice as much, %g for four times", one->name, count[0],
                 count[1], count[2]);
}

static void depth_adds_evenly(void **state)
{
    const problem rows[] = {
        {.name = "reversed", .layer = reversed, .layers = 4, .client = client},
        {.name = "gated", .layer = gated, .layers = 4, .client = client},
        {.name = "normalized", .layer = normalized, .layers = 5, .client = client},
        {.name = "pieces", .layer = in_pieces, .layers = 2, .pieces = 32, .client = client},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem two = rows[i], four = rows[i];
        two.layers *= 2;
        four.layers *= 4;
        check_adds_evenly(&rows[i], &two, &four);
    }
}

static void pieces_add_evenly(void **state)
{
    const problem row = {
        .name = "pieces", .layer = in_pieces, .layers = 3, .pieces = 16, .client = client};
    problem two = row, four = row;
    (void)state;
    two.pieces *= 2;
    four.pieces *= 4;
    check_adds_evenly(&row, &two, &four);
}

static int open_all(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fg_client_close(client);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(stored_values_change_no_result),
    cmocka_unit_test(values_split_over_devices_are_stored),
    cmocka_unit_test(networks_of_matmuls_are_left_alone),
    cmocka_unit_test(depth_adds_evenly),
    cmocka_unit_test(pieces_add_evenly),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
