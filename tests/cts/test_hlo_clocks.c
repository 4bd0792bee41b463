/* test_hlo_clocks.c - a program with clocks computes the same bits, in place as before, and notes
 * each of its operations as often as it runs; a bench of a step in C names lines and leaves no
 * trace.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <stdlib.h>

#include <fulgurite/plan.h>

#include "base/alloc.h"
#include "kernel/kernel.h"
#include "pjrt/pjrt.h"
#include "plan/hlo_clocks.h"
#include "toy.h"

enum { N = 32, ROUNDS = 5, TICKS = 4096 };

/* Replaces a row of w, which is donated, in each round of a loop. */
static const char program[] =
    "func.func @main(%w: tensor<32x32xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<32x32xf32>)\n"
    "    -> (tensor<32x32xf32>, tensor<f32>) {\n"
    "  %i = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %l:2 = stablehlo.while(%k = %i, %v = %w) : tensor<i32>, tensor<32x32xf32>\n"
    "  cond {\n"
    "    %n = stablehlo.constant dense<5> : tensor<i32>\n"
    "    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %o = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "    %p = stablehlo.dot_general %v, %x, contracting_dims = [1] x [0]\n"
    "        : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>\n"
    "    %t = stablehlo.tanh %p : tensor<32x32xf32>\n"
    "    %s = stablehlo.slice %t [3:4, 0:32] : (tensor<32x32xf32>) -> tensor<1x32xf32>\n"
    "    %u = stablehlo.dynamic_update_slice %v, %s, %k, %zero\n"
    "        : (tensor<32x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>)\n"
    "        -> tensor<32x32xf32>\n"
    "    %m = stablehlo.add %k, %o : tensor<i32>\n"
    "    stablehlo.return %m, %u : tensor<i32>, tensor<32x32xf32>\n"
    "  }\n"
    "  %r = stablehlo.reduce(%l#1 init: %z) applies stablehlo.add across dimensions = [0, 1]\n"
    "      : (tensor<32x32xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %l#1, %r : tensor<32x32xf32>, tensor<f32>\n"
    "}\n";

static fg_array *upload(fg_client *client, int seed)
{
    fg_error err = {0};
    float data[N * N];
    fg_array *array = NULL;
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {N, N}};
    for (int i = 0; i < N * N; i++)
        data[i] = (float)((i * seed) % 101 - 50) * 0.01F;
    fgt_ok(fgi_array_upload(client, &type, NULL, data, FGI_UPLOAD_COPY, &array, NULL, &err));
    return array;
}

static void run(fg_client *client, fgi_executable *executable, float *out)
{
    fg_error err = {0};
    fg_array *in[2] = {upload(client, 7), upload(client, 13)}, *outs[2];
    fgt_ok(fgi_execute(executable, in, 2, outs, NULL, &err));
    fgt_ok(fg_array_read(outs[0], out, N * N * sizeof *out, &err));
    fgt_ok(fg_array_read(outs[1], out + N * N, sizeof *out, &err));
    assert_true(fgi_array_is_donated(in[0]));
    for (int i = 0; i < 2; i++) {
        fg_array_release(in[i]);
        fg_array_release(outs[i]);
    }
}

static fgi_executable *with_clocks(const fgi_executable *plain, fgi_hlo **hlo, fgi_hlo_units *units)
{
    fg_error err = {0};
    char *data;
    size_t size;
    fgi_buf module = {0};
    fgi_executable *timed;
    fgt_ok(fgi_executable_optimized(plain, &data, &size, &err));
    fgt_ok(fgi_hlo_read(data, size, hlo, &err));
    fgt_ok(fgi_hlo_units_make(*hlo, units, &err));
    fgt_ok(fgi_hlo_put_clocks(units, 0, &module, &err));
    fgt_ok(fgi_recompile(plain, module.data, module.size, NULL, 0, &timed, &err));
    fgi_buf_fini(&module);
    fgi_free(data);
    return timed;
}

/* Begins and ends alternate: this program's operations depend on each other. */
static void check_ticks(const fgi_hlo_units *units, const fgi_tick *ticks, size_t count)
{
    int runs[TICKS] = {0}, dots = 0;
    for (size_t i = 0; i < count; i += 2) {
        assert_int_equal(ticks[i].mark % 2, 0);
        assert_int_equal(ticks[i + 1].mark, ticks[i].mark + 1);
        assert_true(ticks[i + 1].ns >= ticks[i].ns);
        assert_in_range(ticks[i].mark / 2, 0, units->count - 1);
        runs[ticks[i].mark / 2]++;
    }
    for (size_t i = 0; i < units->count; i++) {
        const bool is_dot = strcmp(units->unit[i].op->opcode, "dot") == 0;
        assert_int_equal(runs[i], units->unit[i].in == units->hlo->entry ? 1 : ROUNDS);
        dots += is_dot ? runs[i] : 0;
    }
    assert_int_equal(dots, ROUNDS);
}

static void the_same_bits_with_clocks(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    fgi_executable *plain;
    fgi_hlo *hlo;
    fgi_hlo_units units;
    float expected[N * N + 1], got[N * N + 1] = {0};
    static fgi_tick ticks[TICKS];
    if (fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                       &client, &err) != FG_OK)
        skip();
    assert_true(fgi_client_has_clock(client));
    fgt_ok(fgi_compile(client, program, sizeof program - 1, NULL, 0, NULL, &plain, &err));
    fgi_executable *timed = with_clocks(plain, &hlo, &units);
    run(client, plain, expected);
    run(client, timed, got); /* nothing is recorded */
    assert_memory_equal(got, expected, sizeof got);
    memset(got, 0, sizeof got);
    assert_true(fgi_clock_start(ticks, TICKS));
    assert_false(fgi_clock_start(ticks, TICKS));
    run(client, timed, got);
    check_ticks(&units, ticks, fgi_clock_stop());
    assert_memory_equal(got, expected, sizeof got);
    fgi_hlo_units_fini(&units);
    fgi_hlo_free(hlo);
    fgi_executable_destroy(timed);
    fgi_executable_destroy(plain);
    fg_client_close(client);
}

/* ---- a step in C ----------------------------------------------------------------------------- */

/* The matmuls of the first layer are applied in toy.c. */
static void check_places(const char *text)
{
    size_t i;
    double calls = 0;
    json_t *row, *root = json_loads(text, 0, NULL);
    json_array_foreach(json_object_get(json_object_get(root, "profile"), "operations"), i, row)
    {
        const char *layer = json_string_value(json_object_get(row, "layer"));
        if (layer == NULL || strcmp(layer, "fc1") != 0 ||
            strcmp(json_string_value(json_object_get(row, "kind")), "matmuls") != 0)
            continue;
        assert_non_null(strstr(json_string_value(json_object_get(row, "file")), "toy.c"));
        assert_true(json_integer_value(json_object_get(row, "line")) > 0);
        calls += json_number_value(json_object_get(row, "calls"));
    }
    assert_true(calls == 2); /* forward, and the gradient to the kernel */
    json_decref(root);
}

static void fit(fg_client *client, const fg_dataset *dataset, bool has_bench, double *out_loss)
{
    fg_error err = {0};
    char *text;
    toy model = {0};
    const fg_task toy_task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_fit_data data = {.train = (fg_dataset *)dataset, .batch_size = 16};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_steps = 4});
    const fg_bench_options options = {.profile = true, .steps = 3};
    if (has_bench) {
        fgt_ok(fg_bench_step(trainer, &toy_task, &data, &options, &text, &err));
        check_places(text);
        fg_free(text);
        assert_int_equal(
            fg_bench_step(trainer, &toy_task, &data, &(fg_bench_options){.steps = -1}, &text, &err),
            FG_EINVAL);
        assert_null(text);
    }
    fgt_ok(fg_trainer_fit(trainer, &toy_task, &data, &err));
    *out_loss = toy_metric(trainer, "train_loss");
    fg_trainer_destroy(trainer);
}

static void a_bench_names_lines_and_leaves_no_trace(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    double with, without;
    if (fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                       &client, &err) != FG_OK)
        skip();
    fg_dataset *dataset = toy_data(64, 1);
    fit(client, dataset, false, &without);
    fit(client, dataset, true, &with);
    assert_true(with == without);
    fg_dataset_destroy(dataset);
    fg_client_close(client);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_bits_with_clocks),
    cmocka_unit_test(a_bench_names_lines_and_leaves_no_trace),
};
FGT_MAIN(tests)
