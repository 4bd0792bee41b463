/* test_pjrt_open.c - opening a client and compiling on the fake plugin: all failures of a plugin,
 * without leaks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include "fake_step.h"

/* ---- opening --------------------------------------------------------------------------------- */

static void assert_not_opened(fg_status status, const char *says)
{
    fg_error err = {0};
    fg_client *client = (fg_client *)&err;
    const fg_client_options opt = {.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    assert_int_equal(fg_client_open(&opt, &client, &err), status);
    assert_null(client);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

static void failing_initialisation_is_reported(void **state)
{
    (void)state;
    fake_plugin.set("initialize_error", 10);
    assert_not_opened(FG_EPLUGIN, "initializing (fakepjrt.so): ABORTED: the lock file is held");
}

static void versions_are_checked(void **state)
{
    (void)state;
    fake_plugin.set("api_minor", 40);
    assert_not_opened(FG_EPLUGIN, "is too old: it implements PJRT 0.40: expected 0.75 or newer");
    fake_plugin.set("api_minor", 999);
    fg_client_close(fake_step_client(1));
    fake_plugin.set("api_major", 1);
    assert_not_opened(FG_EPLUGIN, "implements PJRT 1.999, this library uses PJRT 0");
    fake_plugin.set("api_is_null", 1);
    assert_not_opened(FG_EPLUGIN, "returned no PJRT function table");
}

static void failing_client_is_reported(void **state)
{
    (void)state;
    fake_plugin.set("client_error", 9);
    assert_not_opened(FG_EPLUGIN,
                      "making a client (fakepjrt.so): FAILED_PRECONDITION: No devices found.");
    fake_plugin.set("client_error", 0);
    fake_plugin.set("devices", -1);
    assert_not_opened(FG_EPLUGIN, "has 0 devices for this process");
}

static void plugin_for_something_else_is_refused(void **state)
{
    (void)state;
    fake_plugin.set("platform", 2);
    assert_not_opened(FG_EPLUGIN, "is for 'tpu', but 'cpu' was requested");
    fake_plugin.set("platform", 3);
    assert_not_opened(FG_EPLUGIN, "is for 'abacus', but 'cpu' was requested");
}

static void optional_client_options_are_dropped(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    const fg_client_options opt = {
        .accelerator = "cuda", .plugin_path = FAKE_PATH, .memory_fraction = 0.5, .cache_dir = ""};
    fake_plugin.set("platform", 1);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake_plugin.get("client_options"), 2);
    assert_string_equal(fg_client_info_of(client)->platform, "cuda");
    assert_int_equal(fgi_client_platform(client), FGI_CUDA);
    fg_client_close(client);
    fake_plugin.set("unknown_options", 1);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake_plugin.get("client_options"), 0);
    fg_client_close(client);
    fake_plugin.set("client_error", 13);
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_EPLUGIN);
    assert_non_null(
        strstr(err.message, "making a client (fakepjrt.so): INTERNAL: No visible GPU devices."));
}

/* The plugin sees only those devices, in ascending order; the client has them in the requested
 * order. */
/* In a slice of TPUs, the ids of a process have gaps. Devices are in the order of their ids; the
 * rows of a program are the requested devices, in the requested order. */
static void ids_with_gaps_keep_their_order(void **state)
{
    static const int64_t ids[2][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}};
    static const int backwards[] = {3, 2, 1, 0};
    (void)state;
    fake_plugin.set("processes", 2);
    fake_plugin.set("interleaved", 1);
    for (int process = 0; process < 2; process++) {
        fg_error err = {0};
        fg_device_info info;
        fake_plugin.set("process", process);
        fake_step f = fake_step_begin(4);
        fgi_executable *other;
        for (int i = 0; i < 4; i++) {
            fgt_ok(fg_device_info_at(f.client, i, &info, &err));
            assert_int_equal(info.id, ids[process][i]);
            assert_int_equal(f.step->device_index[i], i);
        }
        fgt_ok(fgi_compile(f.client, fake_step_text, strlen(fake_step_text), NULL, 0,
                           &(fgi_compile_options){.device_count = 4, .device_index = backwards},
                           &other, &err));
        for (int i = 0; i < 4; i++)
            assert_int_equal(other->device_index[i], backwards[i]);
        fgi_executable_destroy(other);
        fake_step_end(&f);
    }
}

static void only_the_chosen_gpus_are_opened(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    fg_client_options opt = {.accelerator = "cuda",
                             .plugin_path = FAKE_PATH,
                             .devices = "5,2",
                             .preallocate = true,
                             .cache_dir = ""};
    fake_plugin.set("platform", 1);
    fake_plugin.set("devices", 8);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake_plugin.get("visible_devices"), 36);
    assert_int_equal(fake_plugin.get("client_options"), 2);
    assert_int_equal(fg_client_info_of(client)->device_count, 2);
    assert_int_equal(client->devices[0].id, 1);
    assert_int_equal(client->devices[1].id, 0);
    fg_client_close(client);
    fake_plugin.set("devices", 3);
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_ENOTFOUND);
    assert_string_equal(err.message,
                        "devices '5,2' were requested, but only 1 of them are available; "
                        "`fulgurite devices` lists all");
    fake_plugin.set("devices", 8);
    opt.devices = "3";
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake_plugin.get("visible_devices"), 123);
    assert_int_equal(fg_client_info_of(client)->device_count, 3);
    fg_client_close(client);
    /* only options that the plugin does not support are omitted */
    fake_plugin.set("unknown_options", 2);
    fake_plugin.set("devices", 8);
    fake_plugin.set("visible_devices", 0);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake_plugin.get("visible_devices"), 123);
    assert_int_equal(fake_plugin.get("client_options"), 1);
    fg_client_close(client);
    /* a plugin that does not support the option shows all devices, which are then selected */
    fake_plugin.set("unknown_options", 1);
    fake_plugin.set("devices", 8);
    opt.devices = "5,2";
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(client->devices[0].id, 5);
    assert_int_equal(client->devices[1].id, 2);
    fg_client_close(client);
}

static void plugin_is_taken_from_the_environment(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    setenv("FULGURITE_PLUGIN", FAKE_PATH, 1);
    fgt_ok(fg_client_open(&(fg_client_options){.cache_dir = ""}, &client, &err));
    assert_string_equal(fg_client_info_of(client)->plugin_path, FAKE_PATH);
    fg_client_close(client);
    fgt_ok(
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client, &err));
    assert_string_equal(fg_client_info_of(client)->plugin_path, FAKE_PATH);
    fg_client_close(client);
    setenv("FULGURITE_PLUGIN", "/no/such/plugin.so", 1);
    assert_int_equal(fg_client_open(NULL, &client, &err), FG_EPLUGIN);
    assert_string_equal(err.message, "plugin '/no/such/plugin.so' does not exist");
    assert_int_equal(fg_client_open(&(fg_client_options){.accelerator = "cpu"}, &client, &err),
                     FG_EPLUGIN);
    unsetenv("FULGURITE_PLUGIN");
}

static void library_that_is_no_plugin_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    const char *path = FGT_BINARY_DIR "/libfulgurite.so";
    assert_int_equal(fg_client_open(&(fg_client_options){.plugin_path = path}, &client, &err),
                     FG_EPLUGIN);
    assert_non_null(strstr(err.message, "is not a PJRT plugin: it does not export GetPjrtApi"));
}

static void odd_device_counts_work(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_plugin.set("devices", 7);
    fake_plugin.set("memory_limit_bytes", 1000);
    fg_client *client = fake_step_client(1);
    assert_int_equal(fg_client_info_of(client)->device_count, 7);
    fg_array *a;
    fgt_ok(fg_array_create(client, &vec4, numbers, &a, &err));
    fg_device_info info;
    fgt_ok(fg_device_info_at(client, 6, &info, &err));
    assert_int_equal(info.id, 6); /* sorted, however the plugin lists them */
    assert_string_equal(info.kind, "fake device");
    assert_string_equal(info.description, "FakeDevice(id=6)");
    assert_int_equal(info.memory_used_bytes, 7 * 16);
    assert_int_equal(info.memory_limit_bytes, 1000);
    assert_int_equal(info.memory_peak_bytes, -1);
    fg_array_release(a);
    fg_client_close(client);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static void assert_not_compiled(fg_client *client, const char *text,
                                const fgi_compile_options *options, fg_status status,
                                const char *message)
{
    fg_error err = {0};
    fgi_executable *e;
    assert_int_equal(fgi_compile(client, text, strlen(text), NULL, 0, options, &e, &err), status);
    assert_null(e);
    assert_string_equal(err.message, message);
}

static void failing_compilation_is_reported(void **state)
{
    (void)state;
    fg_client *client = fake_step_client(2);
    fake_plugin.set("compile_error", 8);
    assert_not_compiled(client, fake_step_text, NULL, FG_EDEVMEM,
                        "compiling on cpu (fakepjrt.so): RESOURCE_EXHAUSTED: the compiler ran out "
                        "of memory");
    fake_plugin.set("compile_error", 13);
    assert_not_compiled(client, fake_step_text, NULL, FG_ECOMPILE,
                        "compiling on cpu (fakepjrt.so): INTERNAL: the compiler gave up");
    fake_plugin.set("compile_error", 12);
    assert_not_compiled(client, fake_step_text, NULL, FG_EUNSUPPORTED,
                        "compiling on cpu (fakepjrt.so): UNIMPLEMENTED: the compiler gave up");
    fake_plugin.set("compile_error", 0);
    fake_plugin.set("output_types_error", 13);
    assert_not_compiled(
        client, fake_step_text, NULL, FG_EDEVICE,
        "querying a program's outputs on cpu (fakepjrt.so): INTERNAL: the types are secret");
    assert_int_equal(fg_client_stats_of(client).compiles, 1);
    fg_client_close(client);
}

static void output_types_are_compared(void **state)
{
    (void)state;
    fg_client *client = fake_step_client(1);
    const fg_type one[] = {vec4};
    const fg_type two[] = {vec4, vec4};
    assert_not_compiled(client, fake_step_text,
                        &(fgi_compile_options){.out_types = one, .out_count = 1}, FG_EINVAL,
                        "the program has 2 outputs: expected 1");
    assert_not_compiled(client, fake_step_text,
                        &(fgi_compile_options){.out_types = two, .out_count = 2}, FG_EINVAL,
                        "output 1 of the program is f32[]: expected f32[4]");
    const int where[] = {1};
    assert_not_compiled(client, fake_step_text,
                        &(fgi_compile_options){.device_count = 1, .device_index = where}, FG_EINVAL,
                        "device 1 does not exist: cpu has 1");
    fg_client_close(client);
}

static void unreadable_cost_is_minus_one(void **state)
{
    (void)state;
    fake_step f = fake_step_begin(1);
    fgi_program_cost cost;
    cost = fgi_executable_cost(f.step);
    assert_int_equal(cost.argument_bytes, 32);
    assert_int_equal(cost.alias_bytes, 16);
    assert_int_equal(cost.peak_bytes, 36);
    fgt_close("flops", cost.flops, 1000, 0, 0);
    fgt_close("bytes", cost.bytes_accessed, 2000, 0, 0);
    fake_plugin.set("cost_error", 12);
    cost = fgi_executable_cost(f.step);
    assert_int_equal(cost.peak_bytes, -1);
    fgt_close("flops", cost.flops, -1, 0, 0);
    fake_step_end(&f);
}

static void program_that_cannot_be_serialized_still_runs(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    fgi_executable *e;
    char *data;
    size_t size;
    const char *cache = fgt_path(fgt_temp_folder(), "cache");
    const fg_client_options opt = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = cache};
    static const struct {
        const char *fault;
        int hits;
    } cases[] = {{"serialize_error", 0}, {NULL, 0}, {NULL, 1}, {"deserialize_error", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].fault)
            fake_plugin.set(cases[i].fault, 12);
        fgt_ok(fg_client_open(&opt, &client, &err));
        fgt_ok(
            fgi_compile(client, fake_step_text, strlen(fake_step_text), "key", 3, NULL, &e, &err));
        assert_int_equal(fg_client_stats_of(client).compile_cache_hits, cases[i].hits);
        assert_int_equal(fg_client_stats_of(client).compiles, 1 - cases[i].hits);
        if (i == 0) {
            assert_int_equal(fgi_executable_serialize(e, &data, &size, &err), FG_EUNSUPPORTED);
            assert_null(data);
        }
        fgi_executable_destroy(e);
        fg_client_close(client);
        fake_plugin.reset();
    }
}

static const struct CMUnitTest tests[] = {
    FAKE_CASE(failing_initialisation_is_reported), /* first, because a plugin is initialized once */
    FAKE_CASE(versions_are_checked),
    FAKE_CASE(failing_client_is_reported),
    FAKE_CASE(plugin_for_something_else_is_refused),
    FAKE_CASE(optional_client_options_are_dropped),
    FAKE_CASE(ids_with_gaps_keep_their_order),
    FAKE_CASE(only_the_chosen_gpus_are_opened),
    FAKE_CASE(plugin_is_taken_from_the_environment),
    FAKE_CASE(library_that_is_no_plugin_is_reported),
    FAKE_CASE(odd_device_counts_work),
    FAKE_CASE(failing_compilation_is_reported),
    FAKE_CASE(output_types_are_compared),
    FAKE_CASE(unreadable_cost_is_minus_one),
    FAKE_CASE(program_that_cannot_be_serialized_still_runs),
};

int main(void)
{
    if (!fake_open(&fake_plugin)) {
        print_error("%s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
