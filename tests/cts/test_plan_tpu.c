/* test_plan_tpu.c - the analysis of programs compiled by the installed libtpu; values recorded for
 * one version are only compared with that version. Nothing is run on a TPU.
 *
 * "record FOLDER" writes the recordings of tests/golden/plan.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <zlib.h>

#include "aot.h"
#include "base/alloc.h"
#include "base/file.h"
#include "plan_program.h"

static fgi_plan_analysis analyze(const plan_program *program, const char *kind, int devices,
                                 int64_t batch)
{
    fg_error err = {0};
    fgi_plan_analysis analysis;
    const fgi_plan_machine machine = {
        .chip = fg_chip_find(kind), .devices = devices, .batch = batch, .steps_per_epoch = 10};
    fgt_ok(fgi_plan_analyze(program->data, program->size, &machine, &analysis, &err));
    return analysis;
}

static const fgi_plan_layer *layer(const fgi_plan_analysis *a, const char *name)
{
    for (size_t i = 0; i < a->layer_count; i++)
        if (strcmp(a->layers[i].name, name) == 0)
            return &a->layers[i];
    fail_msg("no layer '%s' among %zu", name, a->layer_count);
    return NULL;
}

static double lost(const fgi_plan_work *work) { return 1 - work->flops / work->padded_flops; }

static void one_unit_more_than_a_tile_is_lost_work(void **state)
{
    double share[2], flops[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        const int64_t width = 128 + i;
        const plan_mlp mlp = {.hidden = {512, width}, .batch = 128};
        plan_program program = {0};
        plan_compile_mlp("v5e-1", NULL, &mlp, &program);
        fgi_plan_analysis a = analyze(&program, "TPU v5 lite", 1, mlp.batch);
        const fgi_plan_layer *l = layer(&a, "fc2");
        share[i] = lost(&l->work);
        flops[i] = l->work.flops;
        /* forward, and both gradients */
        fgt_close("flops", flops[i], 3.0 * 2 * 128 * 512 * (double)width, 0, 0);
        assert_string_equal(l->file, "perceptron.c");
        assert_true(l->line > 0 && l->work.cycles > 0);
        assert_int_equal(l->worst.size < l->worst.padded, i);
        assert_true(a.step_s > 0 && a.step_s < 1 && a.epoch_s == 10 * a.step_s);
        assert_int_equal(a.collective_count + (size_t)a.unknown_loops, 0);
        fgi_plan_analysis_fini(&a);
        fgi_free(program.data);
    }
    fgt_close("lost of 128", share[0], 0, 0, 0);
    assert_true(share[1] > 0.03);
}

/* The minimum of a step: its arguments are read, its results written. */
static void bytes_are_those_of_arguments_and_results_at_least(void **state)
{
    (void)state;
    const plan_mlp mlp = {.hidden = {512, 512}, .batch = 128};
    plan_program program = {0};
    plan_compile_mlp("v3:1x1", "1", &mlp, &program);
    fgi_plan_analysis a = analyze(&program, "TPU v3", 1, mlp.batch);
    const double least = (double)(program.cost.argument_bytes + program.cost.output_bytes) * 0.99;
    if (a.total.padded_bytes < least || a.total.padded_bytes > 4 * least)
        fail_msg("%g bytes where %g are the least", a.total.padded_bytes, least);
    /* the compiler's count, which includes other arithmetic */
    assert_true(a.total.flops <= program.cost.flops && a.total.flops > 0.9 * program.cost.flops);
    fgi_plan_analysis_fini(&a);
    fgi_free(program.data);
}

static void gradients_are_exchanged_among_all_devices(void **state)
{
    (void)state;
    const plan_mlp mlp = {.hidden = {512, 512}, .batch = 32};
    plan_program program = {0};
    plan_compile_mlp("v5e-8", NULL, &mlp, &program);
    fgi_plan_analysis a = analyze(&program, "TPU v5 lite", 8, mlp.batch);
    const int64_t weights = 4 * (784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
    int64_t bytes = 0;
    for (size_t i = 0; i < a.collective_count; i++) {
        assert_int_equal(a.collectives[i].kind, FG_ALL_REDUCE);
        assert_int_equal(a.collectives[i].group, 8);
        bytes += a.collectives[i].bytes;
    }
    assert_in_range(bytes, weights, weights + 64);
    assert_true(a.step_s > a.collective_s && a.collective_s > 0);
    fgi_plan_analysis_fini(&a);
    fgi_free(program.data);
}

/* The version of the installed libtpu. */
static const char *version(void)
{
    static char text[256];
    fg_error err = {0};
    fg_client *client = NULL;
    fgt_ok(fg_client_open(&(fg_client_options){.topology = "v5e-1"}, &client, &err));
    (void)snprintf(text, sizeof text, "%s", fg_client_info_of(client)->platform_version);
    fg_client_close(client);
    return text;
}

/* A version's estimates are the same on every machine. [4096,4096] by [4096,N] in bf16 on one core
 * of a v2: 129 columns cost 6 % more than 128, and 256 almost twice as much. */
static void estimates_are_those_of_the_version(void **state)
{
    static const struct {
        const char *version, *topology, *kind;
        int columns;
        double cycles;
    } rows[] = {
        {"1003875606", "v2:1x1", "TPU v2", 4096, 4284063},
        {"1003875606", "v2:1x1", "TPU v2", 129, 151560},
        {"1003875606", "v5e-1", "TPU v5 lite", 4096, 1082356},
        {"1014260217", "v2:1x1", "TPU v2", 4096, 4291711},
        {"1014260217", "v2:1x1", "TPU v2", 128, 143057},
        {"1014260217", "v2:1x1", "TPU v2", 129, 151560},
        {"1014260217", "v2:1x1", "TPU v2", 256, 276880},
        {"1014260217", "v5e-1", "TPU v5 lite", 4096, 1083068},
    };
    const char *here = version();
    int known = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        const int n = rows[i].columns;
        plan_program program = {0};
        if (strstr(here, rows[i].version) == NULL)
            continue;
        (void)snprintf(
            text, sizeof text,
            "module @dot { func.func public @main(%%a: tensor<4096x4096xbf16>, "
            "%%b: tensor<4096x%dxbf16>) -> tensor<4096x%dxbf16> {\n"
            "%%r = \"stablehlo.dot_general\"(%%a, %%b) {dot_dimension_numbers = "
            "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} "
            ": (tensor<4096x4096xbf16>, tensor<4096x%dxbf16>) -> tensor<4096x%dxbf16>\n"
            "func.return %%r : tensor<4096x%dxbf16> } }",
            n, n, n, n, n);
        plan_compile_text(rows[i].topology, text, &program);
        fgi_plan_analysis a = analyze(&program, rows[i].kind, 1, 0);
        fgt_close(rows[i].topology, a.total.cycles, rows[i].cycles, 0, 0);
        fgi_plan_analysis_fini(&a);
        fgi_free(program.data);
        known++;
    }
    if (known == 0) {
        print_message("no expected values for %s\n", here);
        skip();
    }
}

/* ---- recording ------------------------------------------------------------------------------- */

static void write_recording(const char *folder, const char *name, plan_program *program)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s.pb.gz", folder, name);
    gzFile file = gzopen(path, "wb9");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, program->data, (unsigned)program->size), program->size);
    assert_int_equal(gzclose(file), Z_OK);
    fgi_free(program->data);
    *program = (plan_program){0};
}

static int record(const char *folder)
{
    static const char *const texts[][2] = {{"dot_128", "v2:1x1"},
                                           {"dot_129", "v2:1x1"},
                                           {"loop", "v5e-1"},
                                           {"wide_integers", "v5e-1"}};
    fg_error err = {0};
    plan_program program = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char path[512], *text = NULL;
        size_t size;
        (void)snprintf(path, sizeof path, "%s/%s.mlir", folder, texts[i][0]);
        fgt_ok(fgi_file_read(path, SIZE_MAX, &text, &size, &err));
        plan_compile_text(texts[i][1], text, &program);
        write_recording(folder, texts[i][0], &program);
        fgi_free(text);
    }
    plan_compile_mlp("v5e-8", NULL, &(plan_mlp){.hidden = {512, 129}, .batch = 128}, &program);
    write_recording(folder, "mlp_x8", &program);
    plan_compile_mlp("v5e-8", NULL,
                     &(plan_mlp){.hidden = {512, 512}, .batch = 32, .strategy = "fsdp"}, &program);
    write_recording(folder, "mlp_fsdp", &program);
    return 0;
}

/* Google Cloud, "TPU configurations": four chips per host, but eight for v5e and v6e slices that
 * are no larger; a chip of v2, v3 and 7x is two devices. */
static void pods_have_the_hosts_that_are_documented(void **state)
{
    static const struct {
        const char *name;
        int devices, hosts;
    } rows[] = {{"v2-8", 8, 1},    {"v3-32", 32, 4},           {"v4-64", 32, 8},
                {"v5e-8", 8, 1},   {"v5litepod-256", 256, 64}, {"v5p-64", 32, 8},
                {"v6e-16", 16, 4}, {"7x:2x2x2", 16, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_client *client = NULL;
        fgt_ok(fg_client_open(&(fg_client_options){.topology = rows[i].name}, &client, &err));
        assert_int_equal(fg_client_info_of(client)->device_count, rows[i].devices);
        assert_int_equal(fg_client_info_of(client)->host_count, rows[i].hosts);
        fg_client_close(client);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_unit_more_than_a_tile_is_lost_work),
        cmocka_unit_test(bytes_are_those_of_arguments_and_results_at_least),
        cmocka_unit_test(gradients_are_exchanged_among_all_devices),
        cmocka_unit_test(estimates_are_those_of_the_version),
        cmocka_unit_test(pods_have_the_hosts_that_are_documented),
    };
    aot_need("tpu");
    if (argc == 3 && strcmp(argv[1], "record") == 0)
        return record(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
