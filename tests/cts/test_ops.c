/* test_ops.c - every operation: result and gradients beside PyTorch's, in every floating format;
 * gradients and gradients of gradients beside differences. The rows are in support/op_cases.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "battery.h"

enum { VALUE = FGT_VALUE, GRAD = FGT_GRAD, DIFF = FGT_DIFF, TWICE = FGT_TWICE };
enum { BF16 = FGT_BF16, F16 = FGT_F16, ROUGH = FGT_ROUGH, SHARP = FGT_SHARP };
enum { ALL = VALUE + GRAD + DIFF };

#define ROW(id, checks, inputs, expression, reference)                                             \
    static fg_tensor id##_row(fg_trace *trace, const fg_tensor *in)                                \
    {                                                                                              \
        const fg_tensor a = in[0], b = in[1], c = in[2];                                           \
        (void)trace, (void)a, (void)b, (void)c;                                                    \
        return expression;                                                                         \
    }
#include "op_cases.h"
#undef ROW

#define ROW(id, checks, inputs, expression, reference) {#id, checks, inputs, id##_row},
static const fgt_row rows[] = {
#include "op_cases.h"
};
#undef ROW
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static int open_client(void **state)
{
    static fg_client *client;
    fg_error err = {0};
    fgt_ok(
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client, &err));
    *state = client;
    return 0;
}

static int close_client(void **state)
{
    fg_client_close(*state);
    fgt_battery_close();
    return fgi_alloc_live() == 0 ? 0 : 1;
}

static void rows_in_f32(void **client) { fgt_battery(*client, rows, ROW_COUNT, FG_F32); }
static void rows_in_f64(void **client) { fgt_battery(*client, rows, ROW_COUNT, FG_F64); }
static void rows_in_bf16(void **client) { fgt_battery(*client, rows, ROW_COUNT, FG_BF16); }
static void rows_in_f16(void **client) { fgt_battery(*client, rows, ROW_COUNT, FG_F16); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_in_f32),
    cmocka_unit_test(rows_in_f64),
    cmocka_unit_test(rows_in_bf16),
    cmocka_unit_test(rows_in_f16),
};

int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
