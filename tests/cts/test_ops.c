/* test_ops.c - every operation: result and gradients compared with PyTorch's, in every float dtype;
 * first and second derivatives compared with finite differences. The rows are in
 * support/cases.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "battery.h"
#include "op_calls.h"

enum { VALUE = FGT_VALUE, GRAD = FGT_GRAD, DIFF = FGT_DIFF, TWICE = FGT_TWICE };
enum { BF16 = FGT_BF16, F16 = FGT_F16, ROUGH = FGT_ROUGH, SHARP = FGT_SHARP };
enum { ALL = VALUE + GRAD + DIFF };

#define FAILS(expression, code, text) /* test_trace.c */

#define ROW(id, checks, inputs, expression, reference)                                             \
    static fg_tensor id##_row(fg_trace *trace, const fg_tensor *in)                                \
    {                                                                                              \
        const fg_tensor a = in[0], b = in[1], c = in[2];                                           \
        (void)trace, (void)a, (void)b, (void)c;                                                    \
        return expression;                                                                         \
    }
#include "op_cases.h"
#undef ROW

#define ROW(id, checks, inputs, expression, reference) {#id, FAMILY, checks, inputs, id##_row},
static const fgt_row rows[] = {
#include "op_cases.h"
};
#undef ROW
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static int open_client(void **state)
{
    static fg_client *client;
    fg_error err = {0};
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
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

/* 49 products of positive numbers: summed in bf16, the result would differ by 0.7 % from the exact
 * one, rounded once, by 0.15 %. */
static void depthwise_sums_are_in_f32(void **client)
{
    fg_error err = {0};
    fg_trace *trace;
    float square;
    fgt_ok(fg_trace_create(*client, &trace, &err));
    fg_trace_set_seed(trace, 1, 0);
    const fg_tensor x = fg_cast(fg_random_uniform(trace, FG_DIMS(1, 12, 12, 4)), FG_BF16);
    const fg_tensor k = fg_cast(fg_random_uniform(trace, FG_DIMS(7, 7, 1, 4)), FG_BF16);
    fg_tensor y[2], dk[2], off[2];
    for (int wide = 0; wide < 2; wide++) {
        const fg_dtype dtype = wide == 1 ? FG_F32 : FG_BF16;
        const fg_tensor kernel = fg_cast(k, dtype);
        y[wide] = fg_conv2d(fg_cast(x, dtype), kernel, &(fg_conv2d_options){.groups = 4});
        fg_grad(fg_sum(y[wide], 0, NULL), &kernel, 1, &dk[wide]);
    }
    off[0] = fg_div(fg_sub(fg_cast(y[0], FG_F32), y[1]), y[1]);
    off[1] = fg_div(fg_sub(fg_cast(dk[0], FG_F32), dk[1]), dk[1]);
    const fg_tensor mean =
        fg_maximum(fg_mean(fg_square(off[0]), 0, NULL), fg_mean(fg_square(off[1]), 0, NULL));
    fgt_ok(fg_run_f32(trace, mean, &square, &err));
    assert_true(square > 0 && square < 0.002F * 0.002F);
    fg_trace_destroy(trace);
}

/* Their values are tested in test_random.c, because PyTorch's differ. */
static const char *const elsewhere[] = {"fg_random_bits", "fg_random_uniform", "fg_dropout",
                                        "fg_drop_path"};

static bool is_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (strcmp(name, elsewhere[i]) == 0)
            return true;
    return false;
}

static char *text_of(const char *folder, const char *family, const char *ending)
{
    fg_error err = {0};
    char path[512], *text;
    size_t size;
    (void)snprintf(path, sizeof path, "%s/%s/%s%s", FGT_SOURCE_DIR, folder, family, ending);
    if (fgi_file_read(path, 1 << 20, &text, &size, &err) != FG_OK)
        return NULL;
    return text;
}

/* Counts the functions of a header that create a tensor; each must be in a row of its family. */
static int check_family(const char *family, int *missing)
{
    static const char declares[] = "FG_API fg_tensor ";
    char *header = text_of("include/fulgurite/ops", family, ".h");
    char *cases = text_of("tests/support/cases", family, "_cases.h");
    int count = 0;
    assert_non_null(header);
    for (const char *at = header; (at = strstr(at, declares)) != NULL; count++) {
        char name[64] = "";
        at += sizeof declares - 1;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "("), at);
        if (is_elsewhere(name))
            continue;
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), "(");
        if (cases == NULL || strstr(cases, name) == NULL) {
            print_error("no row for %s) in tests/support/cases/%s_cases.h\n", name, family);
            (*missing)++;
        }
    }
    fgi_free(header);
    fgi_free(cases);
    return count;
}

static void every_operation_has_a_row(void **client)
{
    (void)client;
    int count = 0, missing = 0;
    DIR *dir = opendir(FGT_SOURCE_DIR "/include/fulgurite/ops");
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char family[256];
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".h") != 0)
            continue;
        (void)snprintf(family, sizeof family, "%.*s", (int)(dot - entry->d_name), entry->d_name);
        count += check_family(family, &missing);
    }
    closedir(dir);
    assert_int_equal(missing, 0);
    assert_true(count > 60);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_operation_has_a_row),
    cmocka_unit_test(rows_in_f32),
    cmocka_unit_test(rows_in_f64),
    cmocka_unit_test(rows_in_bf16),
    cmocka_unit_test(rows_in_f16),
    cmocka_unit_test(depthwise_sums_are_in_f32),
};

/* An argument selects tests: "*" all of them. Without one, the rows in f64, which are a separate
 * test, are left out. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    else
        cmocka_set_skip_filter("rows_in_f64");
    return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1;
}
