/* test_lowering_dot.c - matmuls with a lowering for XLA's CPU backend compute
 * the same as their default form (lowering_check.h).
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

#define DOT(label, which, a_axis, b_axis, ...)                                                     \
    {                                                                                              \
        .name = (label), .rule = (which), .in = {__VA_ARGS__}, .in_count = 2,                      \
        .write = contraction, .dot = {                                                             \
            .contract_count = 1,                                                                   \
            .a_contract = {a_axis},                                                                \
            .b_contract = {b_axis}                                                                 \
        }                                                                                          \
    }
#define SWAP(label, ...)  DOT(label, "swapped-matmul", __VA_ARGS__)
#define SMALL(label, ...) DOT(label, "small-matmul", __VA_ARGS__)

/* Rows to which their rule applies, and rows to which it does not. */
static void check_rows(const lowering_problem *rows, size_t count, lowering_problem *same,
                       size_t same_count)
{
    for (size_t i = 0; i < count; i++)
        lowering_check(&rows[i]);
    for (size_t i = 0; i < same_count; i++) {
        same[i].is_same = true;
        lowering_check(&same[i]);
    }
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
    check_rows(swapped, sizeof swapped / sizeof swapped[0], same, sizeof same / sizeof same[0]);
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

/* ---- small matmuls --------------------------------------------------------------------------- */

static void small_matrices(void **state)
{
    const lowering_problem small[] = {
        SMALL("small a b", 1, 0, {FG_F32, 2, {13, 31}}, {FG_F32, 2, {31, 37}}),
        SMALL("small a b'", 1, 1, {FG_F32, 2, {11, 33}}, {FG_F32, 2, {20, 33}}),
        SMALL("small a' b", 0, 0, {FG_F32, 2, {31, 9}}, {FG_F32, 2, {31, 48}}),
        SMALL("few rows", 1, 0, {FG_F32, 2, {4, 512}}, {FG_F32, 2, {512, 4}}),
        SMALL("nothing to add", 1, 0, {FG_F32, 2, {5, 0}}, {FG_F32, 2, {0, 6}}),
        {.name = "a small layer",
         .rule = "small-matmul",
         .in = {{FG_F32, 2, {32, 64}}, {FG_F32, 2, {64, 10}}},
         .in_count = 2,
         .write = linear},
    };
    lowering_problem same[] = {
        SMALL("one row", 1, 0, {FG_F32, 2, {3, 16}}, {FG_F32, 2, {16, 64}}),
        SMALL("one column", 1, 0, {FG_F32, 2, {16, 16}}, {FG_F32, 2, {16, 3}}),
        SMALL("a' b'", 0, 1, {FG_F32, 2, {16, 16}}, {FG_F32, 2, {8, 16}}),
        SMALL("a batch", 2, 0, {FG_F32, 3, {2, 8, 16}}, {FG_F32, 2, {16, 8}}),
        SMALL("long rows", 1, 0, {FG_F32, 2, {4, 513}}, {FG_F32, 2, {513, 4}}),
        SMALL("large", 1, 0, {FG_F32, 2, {65, 64}}, {FG_F32, 2, {64, 64}}),
        SMALL("f64", 1, 0, {FG_F64, 2, {16, 16}}, {FG_F64, 2, {16, 16}}),
    };
    (void)state;
    check_rows(small, sizeof small / sizeof small[0], same, sizeof same / sizeof same[0]);
}

/* ---- selection of lowerings ------------------------------------------------------------------ */

static void forms_are_as_they_were(void **state)
{
    (void)state;
    lowering_check_forms("text/lowering_dot.txt");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(matmuls_in_16_bits),
    cmocka_unit_test(transposed_matrices),
    cmocka_unit_test(transposed_matrices_stay_swapped),
    cmocka_unit_test(small_matrices),
    cmocka_unit_test(forms_are_as_they_were),
};

int main(void) { return cmocka_run_group_tests(tests, lowering_open, lowering_close) == 0 ? 0 : 1; }
