/* test_lowering_dot.c - matmuls with a lowering for XLA's CPU backend, or run by oneDNN, compute
 * the same as their default form (lowering_check.h). Matmuls through oneDNN are also compared where
 * sums are not exact.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "lowering_check.h"
#include "trace/program.h"

/* ---- several devices ------------------------------------------------------------------------- */

static void matmuls_in_16_bits(void **state)
{
    const lowering_problem row = {.name = "bf16",
                                  .rule = "f32-matmul",
                                  .in = {{FG_BF16, 2, {9, 20}}, {FG_BF16, 2, {20, 7}}},
                                  .in_count = 2,
                                  .write = lowering_dot};
    (void)state;
    lowering_check(&row);
}

/* ---- matmuls with a transposed matrix -------------------------------------------------------- */

static size_t contraction(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    out[0] = fg_dot(in[0], in[1], &p->dot);
    return 1;
}

/* A linear layer: y, and the gradients of sum(y y). */
static size_t linear(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    (void)p;
    out[0] = fg_relu(fg_matmul(in[0], in[1]));
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    return 3;
}

#define SWAP(label, a_axis, b_axis, ...)                                                           \
    {                                                                                              \
        .name = (label), .rule = "swapped-matmul", .in = {__VA_ARGS__}, .in_count = 2,             \
        .write = contraction, .dot = {                                                             \
            .contract_count = 1,                                                                   \
            .a_contract = {a_axis},                                                                \
            .b_contract = {b_axis}                                                                 \
        }                                                                                          \
    }

static void transposed_matrices(void **state)
{
    const lowering_problem swapped[] = {
        SWAP("a b'", 1, 1, {FG_F32, 2, {16, 160}}, {FG_F32, 2, {256, 160}}),
        SWAP("one row", 1, 1, {FG_F32, 2, {1, 300}}, {FG_F32, 2, {200, 300}}),
        SWAP("several axes", 3, 1, {FG_F32, 4, {2, 3, 5, 256}}, {FG_F32, 2, {200, 256}}),
        {.name = "a linear layer",
         .rule = "swapped-matmul",
         .in = {{FG_F32, 2, {24, 256}}, {FG_F32, 2, {256, 128}}},
         .in_count = 2,
         .write = linear},
    };
    lowering_problem same[] = {
        SWAP("a b", 1, 0, {FG_F32, 2, {16, 160}}, {FG_F32, 2, {160, 256}}),
        SWAP("a' b'", 0, 1, {FG_F32, 2, {160, 16}}, {FG_F32, 2, {256, 160}}),
        SWAP("a vector", 0, 1, {FG_F32, 1, {256}}, {FG_F32, 2, {200, 256}}),
        SWAP("many rows", 1, 1, {FG_F32, 2, {200, 160}}, {FG_F32, 2, {256, 160}}),
        SWAP("a small matrix", 1, 1, {FG_F32, 2, {4, 64}}, {FG_F32, 2, {64, 64}}),
        SWAP("f64", 1, 1, {FG_F64, 2, {16, 160}}, {FG_F64, 2, {256, 160}}),
    };
    (void)state;
    for (size_t i = 0; i < sizeof swapped / sizeof swapped[0]; i++)
        lowering_check(&swapped[i]);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        same[i].is_same = true;
        lowering_check(&same[i]);
    }
}

/* The backend would swap the operands back if it saw the transpose next to the matmul. */
static void transposed_matrices_stay_swapped(void **state)
{
    const lowering_problem p = SWAP("a b'", 1, 1, {FG_F32, 2, {16, 160}}, {FG_F32, 2, {256, 160}});
    fg_error err = {0};
    fg_trace *trace = NULL;
    fg_tensor in[2], out;
    fgi_program *program = NULL;
    size_t dots = 0;
    (void)state;
    fgt_ok(fg_trace_create(lowering_client, &trace, &err));
    for (int i = 0; i < 2; i++) {
        fg_array *array = lowering_numbers(&p, lowering_client, i);
        in[i] = fg_input(trace, array);
        fg_array_release(array);
    }
    (void)p.write(&p, in, &out);
    fgt_ok(fgi_program_get(trace, &out, 1, &program, &err));
    fgi_hlo *hlo = lowering_optimized(fgi_program_executable(program));
    for (size_t i = 0; i < hlo->module->n_computation; i++)
        for (size_t k = 0; k < hlo->module->computation[i]->n_instruction; k++) {
            const fgi_hlo_op *op = hlo->module->computation[i]->instruction[k];
            if (strcmp(op->opcode, "dot") == 0) {
                dots++;
                assert_int_equal(op->shape->n_dimension, 2);
                assert_int_equal(op->shape->dimension[0], 256);
                assert_int_equal(op->shape->dimension[1], 16);
            }
        }
    assert_int_equal(dots, 1);
    fgi_hlo_free(hlo);
    fg_trace_destroy(trace);
}

/* ---- matmuls through oneDNN ------------------------------------------------------------------ */

/* y, and one gradient descent step on sum(y y) for both operands. */
static size_t dot_step(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    out[0] = fg_dot(in[0], in[1], &p->dot);
    fg_grad(fg_sum(fg_square(out[0]), 0, NULL), in, 2, &out[1]);
    for (int i = 0; i < 2; i++)
        out[1 + i] = fg_sub(in[i], fg_mul_scalar(out[1 + i], 0.125));
    return 3;
}

/* Two matmuls with arithmetic around them, whose gradients have four more: the backend would fuse
 * them. */
static size_t two_layers(const lowering_problem *p, const fg_tensor *in, fg_tensor *out)
{
    (void)p;
    out[0] = fg_matmul(fg_relu(fg_matmul(in[0], in[1])), fg_transpose(in[1]));
    fg_grad(fg_sum(fg_add(out[0], in[0]), 0, NULL), in, 2, &out[1]);
    for (int i = 0; i < 2; i++)
        out[1 + i] = fg_sub(in[i], fg_mul_scalar(out[1 + i], 0.125));
    return 3;
}

#define DOT(label, a, b, a_axis, b_axis, in_thirds)                                                \
    {                                                                                              \
        .name = (label), .in = {a, b}, .in_count = 2, .write = dot_step, .thirds = (in_thirds),    \
        .dot = {                                                                                   \
            .contract_count = 1,                                                                   \
            .a_contract = {a_axis},                                                                \
            .b_contract = {b_axis}                                                                 \
        }                                                                                          \
    }
#define MATRIX(m, n)                                                                               \
    {                                                                                              \
        FG_F32, 2, { m, n }                                                                        \
    }

static void matmuls_through_onednn(void **state)
{
    const lowering_problem rows[] = {
        DOT("a b", MATRIX(9, 20), MATRIX(20, 7), 1, 0, false),
        DOT("a' b", MATRIX(20, 9), MATRIX(20, 7), 0, 0, false),
        DOT("a b'", MATRIX(9, 20), MATRIX(7, 20), 1, 1, false),
        DOT("a' b'", MATRIX(20, 9), MATRIX(7, 20), 0, 1, false),
        DOT("large a b", MATRIX(64, 96), MATRIX(96, 80), 1, 0, true),
        DOT("large a' b", MATRIX(96, 64), MATRIX(96, 80), 0, 0, true),
        DOT("large a b'", MATRIX(64, 96), MATRIX(80, 96), 1, 1, true),
        DOT("large a' b'", MATRIX(96, 64), MATRIX(80, 96), 0, 1, true),
        DOT("a row", MATRIX(1, 50), MATRIX(50, 30), 1, 0, false),
        {.name = "batches",
         .in = {{FG_F32, 3, {3, 8, 10}}, {FG_F32, 3, {3, 10, 6}}},
         .in_count = 2,
         .write = dot_step,
         .dot = {.batch_count = 1,
                 .a_batch = {0},
                 .b_batch = {0},
                 .contract_count = 1,
                 .a_contract = {2},
                 .b_contract = {1}}},
        {.name = "two layers",
         .in = {MATRIX(24, 12), MATRIX(12, 16)},
         .in_count = 2,
         .write = two_layers,
         .thirds = true},
    };
    fg_error err = {0};
    fg_client *other = NULL;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache(""), .cpu_onednn = true},
        &other, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lowering_compare(&rows[i], &(lowering_form){other, NULL},
                         &(lowering_form){lowering_client, NULL});
    fg_client_close(other);
}

/* ---- selection of lowerings ------------------------------------------------------------------ */

static void forms_are_as_they_were(void **state)
{
    (void)state;
    lowering_check_forms("text/lowering_dot.txt");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(matmuls_in_16_bits),     cmocka_unit_test(matmuls_through_onednn),
    cmocka_unit_test(transposed_matrices),    cmocka_unit_test(transposed_matrices_stay_swapped),
    cmocka_unit_test(forms_are_as_they_were),
};

int main(void) { return cmocka_run_group_tests(tests, lowering_open, lowering_close) == 0 ? 0 : 1; }
