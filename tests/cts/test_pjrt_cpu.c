/* test_pjrt_cpu.c - the runtime on the real CPU plugin: compiling, running, donation, two devices,
 * errors of the compiler.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "pjrt/pjrt.h"

static const char matmul_text[] =
    "module @matmul {\n"
    "  func.func public @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> {\n"
    "    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
    "tensor<3x2xf32>) -> tensor<2x2xf32>\n"
    "    return %0 : tensor<2x2xf32>\n"
    "  }\n"
    "}\n";

/* counter + 1 in place, and twice the counter as a second output. */
static const char donate_text[] =
    "module @step {\n"
    "  func.func public @main(%s: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4xf32>) "
    "-> (tensor<4xf32>, tensor<4xf32>) {\n"
    "    %0 = stablehlo.add %s, %x : tensor<4xf32>\n"
    "    %1 = stablehlo.add %s, %s : tensor<4xf32>\n"
    "    return %0, %1 : tensor<4xf32>, tensor<4xf32>\n"
    "  }\n"
    "}\n";

static const fg_type vec4 = {.dtype = FG_F32, .rank = 1, .dim = {4}};

struct fixture {
    fg_client *client; /* two devices */
};

static int open_client(void **state)
{
    static struct fixture f;
    fg_error err = {0};
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cpu_devices = 2, .cache_dir = ""}, &f.client,
        &err));
    *state = &f;
    return 0;
}

static int close_client(void **state)
{
    struct fixture *f = *state;
    fg_client_close(f->client);
    return fgi_alloc_live() == 0 ? 0 : 1;
}

static fgi_executable *compile(fg_client *client, const char *text, int devices)
{
    fg_error err = {0};
    fgi_executable *e = NULL;
    fgt_ok(fgi_compile(client, text, strlen(text), NULL, 0,
                       &(fgi_compile_options){.device_count = devices}, &e, &err));
    assert_non_null(e);
    return e;
}

static fg_array *upload(fg_client *client, const fg_type *type, const void *data)
{
    fg_error err = {0};
    fg_array *a = NULL;
    fgt_ok(fg_array_create(client, type, data, &a, &err));
    return a;
}

static void client_reports_about_itself(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    const fg_client_info *info = fg_client_info_of(f->client);
    assert_string_equal(info->platform, "cpu");
    assert_int_equal(info->device_count, 2);
    assert_int_equal(info->api_major, 0);
    assert_int_equal(fgi_client_platform(f->client), FGI_CPU);
    fg_device_info device;
    fgt_ok(fg_device_info_at(f->client, 1, &device, &err));
    assert_int_equal(device.id, 1);
    assert_string_equal(device.kind, "cpu");
    assert_int_equal(device.memory_limit_bytes, -1);
    assert_int_equal(fg_device_info_at(f->client, 2, &device, &err), FG_EINVAL);
    assert_string_equal(err.message, "device 2 does not exist: the client has 2");
}

static void check_matmul(fg_client *client, int devices)
{
    fg_error err = {0};
    const fg_type ta = {.dtype = FG_F32, .rank = 2, .dim = {2, 3}};
    const fg_type tb = {.dtype = FG_F32, .rank = 2, .dim = {3, 2}};
    fgi_executable *e = compile(client, matmul_text, devices);
    fg_array *args[2] = {upload(client, &ta, (float[]){1, 2, 3, 4, 5, 6}),
                         upload(client, &tb, (float[]){1, 0, 0, 1, 2, 2})};
    fg_array *out = NULL;
    fgi_event *done = NULL;
    fgt_ok(fgi_execute(e, args, 2, &out, &done, &err));
    fgt_ok(fgi_event_wait(done, &err));
    assert_true(fgi_event_is_ready(done));
    const fg_type *type = fg_array_type(out);
    assert_int_equal(type->rank, 2);
    assert_int_equal(type->dim[0] * 10 + type->dim[1], 22);
    float got[4];
    const float want[4] = {7, 8, 16, 17};
    fgt_ok(fg_array_read(out, got, sizeof got, &err));
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(fg_array_read(out, got, 4, &err), FG_EINVAL);
    assert_string_equal(err.message, "array f32[2,2] has 16 bytes, but the buffer has 4");
    fgi_event_destroy(done);
    fg_array_release(out);
    fg_array_release(args[0]);
    fg_array_release(args[1]);
    fgi_executable_destroy(e);
}

static void matmul_on_one_device(void **state)
{
    const struct fixture *f = *state;
    check_matmul(f->client, 1);
}

static void matmul_on_two_devices(void **state)
{
    const struct fixture *f = *state;
    check_matmul(f->client, 2);
}

static void donated_argument_is_gone(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    fgi_executable *e = compile(f->client, donate_text, 2);
    fg_array *s = upload(f->client, &vec4, (float[]){1, 2, 3, 4});
    fg_array *x = upload(f->client, &vec4, (float[]){10, 10, 10, 10});
    fg_array *outs[2];
    fgt_ok(fgi_execute(e, (fg_array *[]){s, x}, 2, outs, NULL, &err));
    assert_true(fgi_array_is_donated(s));
    assert_false(fgi_array_is_donated(x));
    float got[4];
    fgt_ok(fg_array_read(outs[0], got, sizeof got, &err));
    assert_memory_equal(got, ((float[]){11, 12, 13, 14}), sizeof got);
    fgt_ok(fg_array_read(outs[1], got, sizeof got, &err));
    assert_memory_equal(got, ((float[]){2, 4, 6, 8}), sizeof got);
    assert_int_equal(fg_array_read(s, got, sizeof got, &err), FG_EINVAL);
    fg_array *again[2];
    assert_int_equal(fgi_execute(e, (fg_array *[]){s, x}, 2, again, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "argument 0 of the program, f32[4], was already donated to a program");
    assert_null(again[0]);
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    fg_array_release(s);
    fg_array_release(x);
    fgi_executable_destroy(e);
}

static void compiler_refusal_is_reported(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    fgi_executable *e;
    static const char bad[] = "module { func.func public @main() { stablehlo.nonsense } }";
    assert_int_equal(fgi_compile(f->client, bad, strlen(bad), NULL, 0, NULL, &e, &err),
                     FG_ECOMPILE);
    assert_null(e);
    assert_non_null(strstr(err.message, "compiling on cpu (xla_cpu_pjrt.so): "));
    assert_non_null(strstr(err.message, "nonsense"));
    const fgi_flag flag = {"xla_bogus", "1"};
    assert_int_equal(fgi_compile(f->client, matmul_text, strlen(matmul_text), NULL, 0,
                                 &(fgi_compile_options){.flags = &flag, .flag_count = 1}, &e, &err),
                     FG_ECOMPILE);
    assert_non_null(strstr(err.message, "xla_bogus"));
}

static void serialized_program_runs(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    fgi_executable *e = compile(f->client, donate_text, 2), *loaded = NULL;
    char *data = NULL;
    size_t size = 0;
    fgt_ok(fgi_executable_serialize(e, &data, &size, &err));
    fgi_executable_destroy(e);
    const fgi_compile_options two = {.device_count = 2};
    fgt_ok(fgi_executable_load(f->client, data, size, &two, &loaded, &err));
    fg_array *s = upload(f->client, &vec4, (float[]){1, 2, 3, 4});
    fg_array *x = upload(f->client, &vec4, (float[]){5, 5, 5, 5});
    fg_array *outs[2];
    fgt_ok(fgi_execute(loaded, (fg_array *[]){s, x}, 2, outs, NULL, &err));
    assert_true(fgi_array_is_donated(s));
    float got[4];
    fgt_ok(fg_array_read(outs[0], got, sizeof got, &err));
    assert_memory_equal(got, ((float[]){6, 7, 8, 9}), sizeof got);
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    fg_array_release(s);
    fg_array_release(x);
    fgi_executable_destroy(loaded);
    assert_int_equal(fgi_executable_load(f->client, data, size, NULL, &loaded, &err), FG_EINVAL);
    assert_string_equal(err.message, "the program is for 2 devices: expected 1");
    assert_int_equal(fgi_executable_load(f->client, data, size / 2, &two, &loaded, &err),
                     FG_EFORMAT);
    assert_null(loaded);
    fgi_free(data);
}

static void cost_is_reported(void **state)
{
    const struct fixture *f = *state;
    fgi_program_cost cost;
    fgi_executable *e = compile(f->client, matmul_text, 1);
    cost = fgi_executable_cost(e);
    fgi_executable_destroy(e);
    assert_int_equal(cost.argument_bytes, 48);
    assert_int_equal(cost.output_bytes, 16);
    assert_int_equal(cost.alias_bytes, 0);
    assert_true(cost.peak_bytes >= 64);
    fgt_close("flops", cost.flops, 24, 0, 0);
    e = compile(f->client, donate_text, 1);
    cost = fgi_executable_cost(e);
    fgi_executable_destroy(e);
    assert_int_equal(cost.alias_bytes, 16);
}

/* The batch is sharded over two devices inside the program; the sum is an all-reduce. */
static const char shardy_text[] =
    "module @shardy {\n"
    "  sdy.mesh @mesh = <[\"data\"=2]>\n"
    "  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) "
    "-> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {\n"
    "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %0 = sdy.sharding_constraint %x <@mesh, [{\"data\"}, {}]> : tensor<8x4xf32>\n"
    "    %1 = stablehlo.multiply %0, %0 : tensor<8x4xf32>\n"
    "    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : "
    "(tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>\n"
    "    return %2 : tensor<4xf32>\n"
    "  }\n"
    "}\n";

static void shardy_splits_work_over_devices(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {8, 4}};
    float x[32], got[4];
    for (int i = 0; i < 32; i++)
        x[i] = (float)(i % 5);
    fgi_executable *e = NULL;
    fgt_ok(fgi_compile(
        f->client, shardy_text, strlen(shardy_text), NULL, 0,
        &(fgi_compile_options){.device_count = 2, .out_types = &vec4, .out_count = 1}, &e, &err));
    fgi_program_cost cost;
    cost = fgi_executable_cost(e);
    assert_int_equal(cost.argument_bytes, 128);
    fg_array *arg = upload(f->client, &type, x), *out;
    fgt_ok(fgi_execute(e, &arg, 1, &out, NULL, &err));
    fgt_ok(fg_array_read(out, got, sizeof got, &err));
    for (int k = 0; k < 4; k++) {
        float want = 0;
        for (int i = 0; i < 8; i++)
            want += x[i * 4 + k] * x[i * 4 + k];
        fgt_close("sum", (double)got[k], (double)want, 0, 0);
    }
    fg_array_release(arg);
    fg_array_release(out);
    fgi_executable_destroy(e);
}

static void aligned_upload_is_used_in_place(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    fgt_ok(
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client, &err));
    const fg_type type = {.dtype = FG_S32, .rank = 2, .dim = {64, 64}};
    int32_t *data = fgi_alloc_aligned(64 * 64 * 4), got[64 * 64];
    for (int i = 0; i < 64 * 64; i++)
        data[i] = i;
    fg_array *a;
    fgi_event *done;
    fgt_ok(fgi_array_upload(client, &type, NULL, data, FGI_UPLOAD_ASYNC, &a, &done, &err));
    fgt_ok(fg_array_wait(a, &err));
    assert_false(fgi_event_is_ready(done));
    fgt_ok(fg_array_read(a, got, sizeof got, &err));
    assert_memory_equal(got, data, sizeof got);
    fg_array_release(a);
    fgt_ok(fgi_event_wait(done, &err));
    fgi_event_destroy(done);
    fgi_free_aligned(data);
    fg_client_close(client);
}

static void every_dtype_comes_back_as_it_went(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    unsigned char data[24 * 8], got[24 * 8];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i % 2);
    for (fg_dtype d = FG_BOOL; d <= FG_F64; d++) {
        const fg_type type = {.dtype = d, .rank = 3, .dim = {2, 3, 4}};
        fg_array *a = upload(f->client, &type, data);
        memset(got, 0xff, sizeof got);
        fgt_ok(fg_array_read(a, got, fg_type_bytes(&type), &err));
        assert_memory_equal(got, data, fg_type_bytes(&type));
        fg_array_release(a);
    }
}

static void device_out_of_memory_is_reported(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    fg_program *p;
    fg_array *out;
    static const char text[] = "func.func public @main() -> tensor<1099511627776x64xf32> {\n"
                               "  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
                               "  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) "
                               "-> tensor<1099511627776x64xf32>\n"
                               "  return %1 : tensor<1099511627776x64xf32>\n"
                               "}\n";
    fgt_ok(fg_program_compile(f->client, text, &p, &err));
    fg_status status = fg_program_run(p, &(fg_program_arrays){.outs = &out, .out_count = 1}, &err);
    if (status == FG_OK) {
        status = fg_array_wait(out, &err);
        fg_array_release(out);
    }
    assert_int_equal(status, FG_EDEVMEM);
    assert_non_null(strstr(err.message, " on cpu:0 (xla_cpu_pjrt.so): RESOURCE_EXHAUSTED: "));
    fg_program_destroy(p);
}

static fg_status run_once(fg_client *client, fg_error *err)
{
    fgi_executable *e = NULL;
    fg_array *args[2] = {NULL, NULL}, *outs[2] = {NULL, NULL};
    fgi_event *done = NULL;
    float got[4];
    fg_status status;
    const fgi_compile_options two = {.device_count = 2};
    FGI_DONE(fgi_compile(client, donate_text, strlen(donate_text), NULL, 0, &two, &e, err));
    FGI_DONE(fg_array_create(client, &vec4, (float[]){1, 2, 3, 4}, &args[0], err));
    FGI_DONE(fg_array_create(client, &vec4, (float[]){1, 2, 3, 4}, &args[1], err));
    FGI_DONE(fgi_execute(e, args, 2, outs, &done, err));
    FGI_DONE(fg_array_read(outs[0], got, sizeof(got), err));
done:
    fgi_event_destroy(done);
    for (int i = 0; i < 2; i++) {
        fg_array_release(args[i]);
        fg_array_release(outs[i]);
    }
    fgi_executable_destroy(e);
    return status;
}

static fg_status whole_life(void *self, fg_error *err)
{
    fg_client *client;
    const fg_client_options opt = {.accelerator = "cpu", .cpu_devices = 2, .cache_dir = self};
    FGI_TRY(fg_client_open(&opt, &client, err));
    const fg_status status = run_once(client, err);
    fg_client_close(client);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char cache[512];
    snprintf(cache, sizeof(cache), "%s", fgt_path(fgt_temp_folder(), "faults"));
    fgt_fault_loop(whole_life, cache);
}

static void program_by_hand(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    fg_program *p;
    fgt_ok(fg_program_compile(f->client, donate_text, &p, &err));
    assert_int_equal(fg_program_output_count(p), 2);
    assert_int_equal(fg_program_output_type(p, 1)->dim[0], 4);
    assert_null(fg_program_output_type(p, 2));
    fg_array *args[2] = {upload(f->client, &vec4, (float[]){1, 2, 3, 4}),
                         upload(f->client, &vec4, (float[]){1, 1, 1, 1})};
    fg_array *outs[2] = {args[0], args[0]};
    fg_program_arrays arrays = {.args = args, .arg_count = 2, .outs = outs, .out_count = 1};
    assert_int_equal(fg_program_run(p, &arrays, &err), FG_EINVAL);
    assert_string_equal(err.message, "the program has 2 outputs: got room for 1");
    assert_null(outs[0]);
    arrays.out_count = 2;
    fgt_ok(fg_program_run(p, &arrays, &err));
    fg_program_destroy(p);
    float got[4];
    fgt_ok(fg_array_read(outs[0], got, sizeof got, &err));
    assert_memory_equal(got, ((float[]){2, 3, 4, 5}), sizeof got);
    for (int i = 0; i < 2; i++) {
        fg_array_release(args[i]);
        fg_array_release(outs[i]);
    }
    assert_int_equal(fg_program_compile(f->client, "nonsense", &p, &err), FG_ECOMPILE);
    assert_null(p);
}

static void flags_reach_the_compiler(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    fgi_executable *e;
    const fgi_flag good[] = {{"xla_cpu_use_xnnpack", "False"},
                             {"xla_cpu_parallel_codegen_split_count", "4"}};
    fgt_ok(fgi_compile(f->client, matmul_text, strlen(matmul_text), NULL, 0,
                       &(fgi_compile_options){.flags = good, .flag_count = 2}, &e, &err));
    fgi_executable_destroy(e);
}

static void second_device_alone(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    const int only[] = {1};
    fgi_executable *e;
    fgt_ok(fgi_compile(f->client, donate_text, strlen(donate_text), NULL, 0,
                       &(fgi_compile_options){.device_count = 1, .device_index = only}, &e, &err));
    fg_array *s = upload(f->client, &vec4, (float[]){1, 2, 3, 4}), *outs[2], *more[2];
    fg_array *x = upload(f->client, &vec4, (float[]){1, 1, 1, 1});
    fgt_ok(fgi_execute(e, (fg_array *[]){s, x}, 2, outs, NULL, &err));
    float got[4];
    fgt_ok(fg_array_read(outs[0], got, sizeof got, &err));
    assert_memory_equal(got, ((float[]){2, 3, 4, 5}), sizeof got);
    fgi_executable *first = compile(f->client, donate_text, 1);
    assert_int_equal(fgi_execute(first, (fg_array *[]){outs[0], x}, 2, more, NULL, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "argument 0 of the program, f32[4], is not on cpu:0");
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    fg_array_release(s);
    fg_array_release(x);
    fgi_executable_destroy(first);
    fgi_executable_destroy(e);
}

/* ---- the cache on disk ----------------------------------------------------------------------- */

/* The only file in the cache folder; writes its name to `out`. */
static void cached_file(const char *cache, char *out, size_t size)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/programs", cache);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int files = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (e->d_name[0] != '.') {
            snprintf(out, size, "%s/%s", folder, e->d_name);
            files++;
        }
    }
    closedir(dir);
    assert_int_equal(files, 1);
}

/* Compiles the same program on a separate client and runs it; returns the client's counters. */
static fg_client_stats run_cached(const char *cache)
{
    fg_error err = {0};
    fg_client *client;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = cache}, &client,
                          &err));
    check_matmul(client, 1);
    const fg_client_stats stats = fg_client_stats_of(client);
    fg_client_close(client);
    return stats;
}

static void overwrite(const char *path, long at, int byte)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
}

static void second_start_does_not_compile(void **state)
{
    (void)state;
    char file[1024];
    const char *cache = fgt_path(fgt_temp_folder(), "cache");
    fg_client_stats stats = run_cached(cache);
    assert_int_equal(stats.compiles, 1);
    assert_int_equal(stats.compile_cache_hits, 0);
    stats = run_cached(cache);
    assert_int_equal(stats.compiles, 0);
    assert_int_equal(stats.compile_cache_hits, 1);
    assert_int_equal(stats.executions, 1);
    assert_int_equal(stats.host_reads, 1);
    assert_int_equal(stats.uploaded_bytes, 48);
    cached_file(cache, file, sizeof file);
    /* damage in magic, version, key, payload, and a missing tail: compiled and written again */
    static const long places[] = {0, 8, 20, 60, -9};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        overwrite(file, places[i], 0xa5);
        assert_int_equal(run_cached(cache).compiles, 1);
    }
    assert_int_equal(truncate(file, 200), 0);
    assert_int_equal(run_cached(cache).compiles, 1);
    assert_int_equal(truncate(file, 3), 0);
    assert_int_equal(run_cached(cache).compiles, 1);
    assert_int_equal(run_cached(cache).compile_cache_hits, 1);
}

static void compiler_environment_is_part_of_the_key(void **state)
{
    (void)state;
    const char *cache = fgt_path(fgt_temp_folder(), "cache2");
    assert_int_equal(run_cached(cache).compiles, 1);
    setenv("LIBTPU_INIT_ARGS", "--other", 1);
    assert_int_equal(run_cached(cache).compiles, 1);
    unsetenv("LIBTPU_INIT_ARGS");
    assert_int_equal(run_cached(cache).compiles, 0);
}

static void unwritable_cache_is_no_error(void **state)
{
    (void)state;
    const char *file = fgt_path(fgt_temp_folder(), "not-a-folder");
    fgt_write(file, "x", 1);
    assert_int_equal(run_cached(file).compiles, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(client_reports_about_itself),
    cmocka_unit_test(matmul_on_one_device),
    cmocka_unit_test(matmul_on_two_devices),
    cmocka_unit_test(donated_argument_is_gone),
    cmocka_unit_test(compiler_refusal_is_reported),
    cmocka_unit_test(serialized_program_runs),
    cmocka_unit_test(cost_is_reported),
    cmocka_unit_test(shardy_splits_work_over_devices),
    cmocka_unit_test(aligned_upload_is_used_in_place),
    cmocka_unit_test(every_dtype_comes_back_as_it_went),
    cmocka_unit_test(device_out_of_memory_is_reported),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(program_by_hand),
    cmocka_unit_test(flags_reach_the_compiler),
    cmocka_unit_test(second_device_alone),
    cmocka_unit_test(second_start_does_not_compile),
    cmocka_unit_test(compiler_environment_is_part_of_the_key),
    cmocka_unit_test(unwritable_cache_is_no_error),
};

int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
