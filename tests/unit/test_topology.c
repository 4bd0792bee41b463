/* test_topology.c - machines that are not present: their names, and clients that only compile for
 * them, on the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>

#include "base/alloc.h"
#include "fakepjrt/fake_control.h"
#include "pjrt/plugin.h"

static fake_control fake;

static int nothing_is_alive(void **state)
{
    (void)state;
    static const char *const counters[] = {"clients", "buffers",  "events",    "states",
                                           "errors",  "programs", "topologies"};
    int alive = fgi_alloc_live() != 0;
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        alive |= fake.get(counters[i]) != 0;
    fake.reset();
    return alive;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *plugin_name;
    int64_t chips;
} good_names[] = {
    {"v2-8", "v2:2x2", 4},          {"v3-8", "v3:2x2", 4},
    {"v3-32", "v3:4x4", 16},        {"v3-128", "v3:8x8", 64},
    {"v3-2048", "v3:32x32", 1024},  {"v4-8", "v4:2x2x1", 4},
    {"v4-16", "v4:2x2x2", 8},       {"v4-32", "v4:2x2x4", 16},
    {"v4-64", "v4:2x4x4", 32},      {"v4-512", "v4:4x8x8", 256},
    {"v5litepod-1", "v5e:1x1", 1},  {"v5litepod-4", "v5e:2x2", 4},
    {"v5litepod-8", "v5e:2x4", 8},  {"v5e-16", "v5e:4x4", 16},
    {"v5e-32", "v5e:4x8", 32},      {"v5litepod-256", "v5e:16x16", 256},
    {"v5p-8", "v5p:2x2x1", 4},      {"v5p-128", "v5p:4x4x4", 64},
    {"v6e-1", "v6e:1x1", 1},        {"v6e-8", "v6e:2x4", 8},
    {"v6e-256", "v6e:16x16", 256},  {"tpu7x-8", "tpu7x:2x2x1", 4},
    {"7x:2x2x1", "tpu7x:2x2x1", 4}, {"V5E:2x4", "v5e:2x4", 8},
    {"V5LITEPOD-8", "v5e:2x4", 8},  {"v5p:4x4x4", "v5p:4x4x4", 64},
    {"kaggle", "v5e:2x4", 8},       {"colab", "v5e:1x1", 1},
    {"h100", "1x1x1", 1},           {"h100:8", "1x1x8", 8},
    {"b200:4", "1x1x4", 4},         {"h100:64", "1x1x64", 64},
    {"v5lite-8", "v5e:2x4", 8},     {"v7x-8", "tpu7x:2x2x1", 4},
    {"7x-16", "tpu7x:2x2x2", 8},    {"v5p:16x24x24", "v5p:16x24x24", 9216},
};

/* Shapes and numbers as Google Cloud's pages on each generation list them. */
static void names_are_read_as_google_writes_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_names / sizeof good_names[0]; i++) {
        fg_error err = {0};
        fgi_topology_name name;
        fgt_ok(fgi_topology_parse(good_names[i].name, &name, &err));
        assert_string_equal(name.plugin_name, good_names[i].plugin_name);
        assert_int_equal(name.chip_count, good_names[i].chips);
        assert_string_equal(name.accelerator, name.gpu ? "cuda" : "tpu");
    }
}

static const struct {
    const char *name, *says;
} bad_names[] = {
    {"", "unknown name"},
    {"v1-8", "unknown name"},
    {"v5e", "the number of chips or the shape is missing"},
    {"v5e:0x0", "expected two positive numbers of chips, as in 2x4"},
    {"v5e:2", "two positive numbers"},
    {"v5e:2x2x2", "two positive numbers"},
    {"v5e:2x-2", "two positive numbers"},
    {"v5e:99999x99999", "two positive numbers"},
    {"v5e:9000x9000", "there is no slice of this size"},
    {"v4:2x2", "expected three positive numbers of chips, as in 2x2x1"},
    {"v4:2x2x", "three positive numbers"},
    {"v3-7", "there is no slice of this size"},
    {"v3-6", "there is no slice of this size"},
    {"v3-0", "expected a number of devices after '-'"},
    {"v3-", "expected a number of devices after '-'"},
    {"v3-99999999999999999999", "expected a number of devices after '-'"},
    {"h100:0", "a number of GPUs, 1 to 64"},
    {"h100:x", "a number of GPUs, 1 to 64"},
    {"h100:65", "expected a number of GPUs, 1 to 64, after ':'"},
    {"v5p:16x24x25", "there is no slice of this size"},
    {"v5e:13x709", "there is no slice of this size"}, /* 9217 chips */
    {"h100:", "unknown name"},
    {"h100-8", "unknown name"},
    {"v5e:1111111111111111111111111111111111111111111111111111111111111111111x1",
     "the name is too long: expected fewer than 64 characters"},
};

/* libtpu ends the process on v5e:0x0, so nothing of the kind may reach it. */
static void other_names_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++) {
        fg_error err = {0};
        fgi_topology_name name;
        assert_int_equal(fgi_topology_parse(bad_names[i].name, &name, &err), FG_EINVAL);
        if (!strstr(err.message, bad_names[i].says) || !strstr(err.message, "v5litepod-8"))
            fail_msg("'%s': '%s' does not say '%s'", bad_names[i].name, err.message,
                     bad_names[i].says);
    }
}

/* Names of one machine are distinguished from those of others, which may differ only in the chips
 * per host. */
static void names_of_the_same_machine(void **state)
{
    static const char *const same[][4] = {
        {"kaggle", "v5e-8", "v5litepod-8", "v5e:2x4"},
        {"v3-8", "v3:2x2", NULL},
        {"tpu7x-8", "7x-8", NULL},
        {"h100", "h100:1", NULL},
        {"h100:8", NULL},
        {"h200:8", NULL},
        {"v5e-4", NULL},
        {"v6e-8", NULL},
    };
    enum { COUNT = sizeof same / sizeof same[0] };
    fg_topology_info info[COUNT], other;
    fg_error err = {0};
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        fgt_ok(fg_topology_describe(same[i][0], &info[i], &err));
        assert_string_equal(info[i].accelerator, same[i][0][0] == 'h' ? "cuda" : "tpu");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(info[k].machine, info[i].machine);
        for (int k = 1; k < 4 && same[i][k] != NULL; k++) {
            fgt_ok(fg_topology_describe(same[i][k], &other, &err));
            assert_string_equal(other.machine, info[i].machine);
        }
    }
    assert_int_equal(fg_topology_describe("v9-8", &other, &err), FG_EINVAL);
    assert_string_equal(other.machine, "");
}

/* ---- clients --------------------------------------------------------------------------------- */

static fg_client *open_for(const char *topology, const char *accelerator)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fake.set("platform", strcmp(accelerator, "cuda") == 0 ? 1 : 2);
    fgt_ok(fg_client_open(&(fg_client_options){.topology = topology, .plugin_path = FAKE_PATH},
                          &client, &err));
    return client;
}

static void described_devices_are_the_clients(void **state)
{
    fg_error err = {0};
    fg_device_info device;
    (void)state;
    fg_client *client = open_for("v5litepod-8", "tpu");
    const fg_client_info *info = fg_client_info_of(client);
    assert_int_equal(info->device_count, 8);
    assert_string_equal(info->platform, "tpu");
    assert_string_equal(info->topology, "v5litepod-8");
    assert_int_equal(fake.get("topology_host"), 241); /* 2 x 4 x 1 chips on one host */
    assert_int_equal(fake.get("clients"), 0);
    for (int i = 0; i < 8; i++) {
        fgt_ok(fg_device_info_at(client, i, &device, &err));
        assert_int_equal(device.id, i);
        assert_int_equal(device.memory_limit_bytes, 1 << 30);
        assert_int_equal(device.memory_used_bytes, -1);
        assert_int_equal(client->world[i].id, i); /* the plugin lists them backwards */
        assert_int_equal(client->world[i].process, 0);
        assert_int_equal(client->world[i].local_index, i);
    }
    assert_true(fgi_client_is_compile_only(client));
    assert_int_equal(fgi_client_mesh(client)->batch_shards, 8);
    assert_int_equal(info->host_count, 1);
    fg_client_close(client);
    client = open_for("h100:2", "cuda");
    assert_int_equal(fg_client_info_of(client)->device_count, 2);
    assert_int_equal(fake.get("topology_target"), 100);
    fgt_ok(fg_device_info_at(client, 1, &device, &err));
    assert_int_equal(device.memory_limit_bytes, 84942979072);
    fg_client_close(client);
}

/* Sixteen devices of four hosts; of some, their hosts. */
static void hosts_are_counted(void **state)
{
    static const struct {
        const char *devices;
        int hosts;
    } rows[] = {{NULL, 4}, {"8", 2}, {"[5]", 1}, {"0,15,1,14", 2}, {"0,4,8,12,1", 4}};
    (void)state;
    fake.set("platform", 2);
    fake.set("processes", 4);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_client *client = NULL;
        fgt_ok(fg_client_open(&(fg_client_options){.topology = "v5litepod-16",
                                                   .plugin_path = FAKE_PATH,
                                                   .devices = rows[i].devices},
                              &client, &err));
        assert_int_equal(fg_client_info_of(client)->host_count, rows[i].hosts);
        assert_int_equal(fg_client_info_of(client)->process_count, 1);
        assert_int_equal(fg_client_info_of(client)->global_device_count, 16);
        fg_client_close(client);
    }
}

static void failures_to_describe_are_reported(void **state)
{
    fg_error err = {0};
    fg_client *client;
    fg_client_options opt = {.topology = "v5e:3x3", .plugin_path = FAKE_PATH};
    (void)state;
    fake.set("platform", 2);
    fake.set("topology_error", 3);
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_EINVAL);
    assert_string_equal(err.message, "describing the topology (fakepjrt.so): "
                                     "INVALID_ARGUMENT: no such layout");
    fake.set("topology_error", 0);
    opt.accelerator = "cuda";
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_EINVAL);
    assert_string_equal(err.message, "topology 'v5e:3x3' is for 'tpu', but 'cuda' was requested");
    opt.accelerator = NULL;
    fake.set("platform", 1);
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_EPLUGIN);
    assert_non_null(strstr(err.message, "is for 'cuda', but 'tpu' was requested"));
    opt.topology = "v9-8";
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_EINVAL);
    assert_null(client);
}

static const char text[] =
    "module @step {\n"
    "  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> "
    "tensor<4xf32> {\n";

static void programs_are_compiled_and_not_run(void **state)
{
    static const float numbers[4] = {1, 2, 3, 4};
    const fg_type vec4 = {.dtype = FG_F32, .rank = 1, .dim = {4}};
    char name[FGI_FINGERPRINT_MAX], *data = NULL;
    float back[4];
    size_t size = 0;
    int64_t replicas, partitions;
    fg_error err = {0};
    fgi_executable *program = NULL, *loaded = NULL;
    fg_array *array = NULL, *out = NULL;
    fgi_program_cost cost;
    (void)state;
    fg_client *client = open_for("v5e:2x2", "tpu");
    const fgi_compile_options options = {.device_count = 4, .out_types = &vec4, .out_count = 1};
    fgt_ok(fgi_compile(client, text, strlen(text), NULL, 0, &options, &program, &err));
    fgt_ok(fgi_executable_counts(program, &replicas, &partitions, &err));
    assert_int_equal(replicas, 1);
    assert_int_equal(partitions, 4);
    cost = fgi_executable_cost(program);
    assert_int_equal(cost.argument_bytes, 16);
    assert_true(fgi_executable_fingerprint(program, name));
    assert_string_equal(name, "01ab");
    fgt_ok(fgi_executable_optimized(program, &data, &size, &err));
    assert_int_equal(size, strlen(text));
    assert_memory_equal(data, text, size);
    fgi_free(data);
    fgt_ok(fgi_executable_serialize(program, &data, &size, &err));
    assert_int_equal(fgi_executable_load(client, data, size, &options, &loaded, &err),
                     FG_EUNSUPPORTED);
    fgi_free(data);
    fgt_ok(fg_array_create(client, &vec4, numbers, &array, &err));
    assert_int_equal(fake.get("buffers"), 0);
    assert_int_equal(fg_client_stats_of(client).uploaded_bytes, 0);
    assert_int_equal(fg_array_read(array, back, sizeof back, &err), FG_EUNSUPPORTED);
    assert_string_equal(err.message,
                        "reading an array: no device available: the client was opened for the "
                        "topology 'v5e:2x2', for which programs can only be compiled");
    assert_int_equal(fg_array_wait(array, &err), FG_EUNSUPPORTED);
    assert_int_equal(fgi_execute(program, &array, 1, &out, NULL, &err), FG_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "running a program: no device available"));
    assert_null(out);
    fg_array_release(array);
    fgi_executable_destroy(program);
    fg_client_close(client);
}

static void compilers_refusals_are_reported(void **state)
{
    fg_error err = {0};
    fgi_executable *program;
    (void)state;
    fg_client *client = open_for("v5e:1x1", "tpu");
    fake.set("compile_error", 8);
    assert_int_equal(fgi_compile(client, text, strlen(text), NULL, 0, NULL, &program, &err),
                     FG_EDEVMEM);
    assert_string_equal(err.message, "compiling on tpu:0 (fakepjrt.so): RESOURCE_EXHAUSTED: the "
                                     "compiler ran out of memory");
    fg_client_close(client);
}

static fg_status open_and_compile(void *self, fg_error *err)
{
    fg_client *client = NULL;
    fgi_executable *program = NULL;
    char *data = NULL;
    size_t size;
    (void)self;
    fg_status status = fg_client_open(
        &(fg_client_options){.topology = "v5e:1x1", .plugin_path = FAKE_PATH}, &client, err);
    if (status == FG_OK)
        status = fgi_compile(client, text, strlen(text), NULL, 0, NULL, &program, err);
    if (status == FG_OK)
        status = fgi_executable_optimized(program, &data, &size, err);
    fgi_free(data);
    fgi_executable_destroy(program);
    fg_client_close(client);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fake.set("platform", 2);
    fgt_fault_loop(open_and_compile, NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, nothing_is_alive, nothing_is_alive)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_of_the_same_machine),
    cmocka_unit_test(names_are_read_as_google_writes_them),
    cmocka_unit_test(other_names_are_refused),
    CASE(described_devices_are_the_clients),
    CASE(hosts_are_counted),
    CASE(failures_to_describe_are_reported),
    CASE(programs_are_compiled_and_not_run),
    CASE(compilers_refusals_are_reported),
    CASE(every_allocation_may_fail),
};

int main(void)
{
    if (!fake_open(&fake))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
