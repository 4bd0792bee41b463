/* test_pjrt_cpu.c - the runtime on the real CPU plugin: compiling, running, donation, two devices,
 * errors of the compiler.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>

#include "base/alloc.h"
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

static void client_tells_about_itself(void **state)
{
    const struct fixture *f = *state;
    fg_error err = {0};
    const fg_client_info *info = fg_client_get_info(f->client);
    assert_string_equal(info->platform, "cpu");
    assert_int_equal(info->device_count, 2);
    assert_int_equal(info->api_major, 0);
    assert_int_equal(fgi_client_platform(f->client), FGI_CPU);
    fg_device_info device;
    fgt_ok(fg_device_get_info(f->client, 1, &device, &err));
    assert_int_equal(device.id, 1);
    assert_string_equal(device.kind, "cpu");
    assert_int_equal(device.memory_limit_bytes, -1);
    assert_int_equal(fg_device_get_info(f->client, 2, &device, &err), FG_EINVAL);
    assert_string_equal(err.message, "device 2 does not exist: there are 2");
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
    assert_string_equal(err.message, "array f32[2,2] has 16 bytes, the room given 4");
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
                        "argument 0 of the program, f32[4], was donated to a program before");
    assert_null(again[0]);
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    fg_array_release(s);
    fg_array_release(x);
    fgi_executable_destroy(e);
}

static void compiler_refusal_is_told(void **state)
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(client_tells_about_itself), cmocka_unit_test(matmul_on_one_device),
    cmocka_unit_test(matmul_on_two_devices),     cmocka_unit_test(donated_argument_is_gone),
    cmocka_unit_test(compiler_refusal_is_told),
};

int main(void)
{
    return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1;
}
