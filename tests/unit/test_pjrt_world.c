/* test_pjrt_world.c - a client that is one of several processes: the order of all their devices,
 * which of them are its own, and programs that run on all of them. The fake plugin simulates the
 * processes, with ids that are not in the order of the processes, and lists devices backwards.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fakepjrt/fake_control.h"
#include "pjrt/plugin.h"

enum { DEVICES_MAX = 8, BYTES_MAX = 64 };

static fake_control fake;

/* Devices of several processes, sorted by (process, id) by hand. */
typedef struct world {
    int processes, each, interleaved;
    int64_t id[DEVICES_MAX];
    const char *assignment; /* their DeviceAssignmentProto: tests/golden/pjrt */
} world;

static const world worlds[] = {
    {2,
     4,
     1,
     {0, 1, 4, 5, 2, 3, 6, 7},
     "080110081a030a01001a030a01011a030a01041a030a01051a030a01021a030a01031a030a01061a030a0107"},
    {4,
     2,
     2,
     {3, 7, 2, 6, 1, 5, 0, 4},
     "080110081a030a01031a030a01071a030a01021a030a01061a030a01011a030a01051a030a01001a030a0104"},
};
enum { WORLDS = sizeof worlds / sizeof worlds[0] };

static const char text[] = "module @step {\n"
                           "  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 "
                           ": i32}) -> (tensor<4xf32>, tensor<f32>) {\n";
static const fg_type vec4 = {.dtype = FG_F32, .rank = 1, .dim = {4}};
static const fg_type types[2] = {{.dtype = FG_F32, .rank = 1, .dim = {4}}, {.dtype = FG_F32}};

/* The client of one of the processes. */
static fg_client *join(const world *w, int process, const char *devices, const char *cache)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fake.set("processes", w->processes);
    fake.set("devices", w->each);
    fake.set("interleaved", w->interleaved);
    fake.set("process", process);
    fgt_ok(fg_client_open(
        &(fg_client_options){
            .accelerator = "cpu", .plugin_path = FAKE_PATH, .devices = devices, .cache_dir = cache},
        &client, &err));
    return client;
}

static fgi_executable *compile(fg_client *client, const fgi_compile_options *options)
{
    fg_error err = {0};
    fgi_executable *program = NULL;
    fgt_ok(fgi_compile(client, text, strlen(text), NULL, 0, options, &program, &err));
    return program;
}

/* Every process computes the same order, in which its devices are consecutive. */
static void devices_are_ordered_by_process_and_id(void **state)
{
    (void)state;
    for (int k = 0; k < WORLDS; k++) {
        const world *w = &worlds[k];
        const int all = w->processes * w->each;
        for (int process = 0; process < w->processes; process++) {
            fg_error err = {0};
            fg_device_info device;
            fg_client *client = join(w, process, NULL, "");
            const fg_client_info *info = fg_client_info_of(client);
            assert_int_equal(info->process_index, process);
            assert_int_equal(info->process_count, w->processes);
            assert_int_equal(info->host_count, w->processes);
            assert_int_equal(info->device_count, w->each);
            assert_int_equal(info->global_device_count, all);
            for (int i = 0; i < all; i++) {
                assert_int_equal(client->world[i].id, w->id[i]);
                assert_int_equal(client->world[i].process, i / w->each);
                assert_int_equal(client->world[i].local_index >= 0, i / w->each == process);
            }
            for (int i = 0; i < w->each; i++) {
                fgt_ok(fg_device_info_at(client, i, &device, &err));
                assert_int_equal(device.id, w->id[process * w->each + i]);
                assert_int_equal(client->devices[i].process, process);
            }
            fg_client_close(client);
        }
    }
}

/* Decodes hexadecimal digits; returns the number of bytes. */
static size_t bytes_of(const char *digits, unsigned char out[BYTES_MAX])
{
    size_t count = 0;
    unsigned byte;
    while (count < BYTES_MAX && sscanf(digits + 2 * count, "%2x", &byte) == 1)
        out[count++] = (unsigned char)byte;
    return count;
}

/* All processes pass identical compile options, with the same device assignment as JAX's for this
 * order. */
static void the_assignment_follows_that_order(void **state)
{
    (void)state;
    for (int k = 0; k < WORLDS; k++) {
        unsigned char wanted[BYTES_MAX], *packed[DEVICES_MAX];
        size_t size[DEVICES_MAX];
        const size_t wanted_size = bytes_of(worlds[k].assignment, wanted);
        assert_int_equal(wanted_size, 4 + 8 * 5);
        for (int process = 0; process < worlds[k].processes; process++) {
            fg_error err = {0};
            fg_client *client = join(&worlds[k], process, NULL, "");
            const fgi_compile_options options = {.all_processes = true};
            fgt_ok(
                fgi_compile_options_pack(client, &options, &packed[process], &size[process], &err));
            assert_non_null(memmem(packed[process], size[process], wanted, wanted_size));
            assert_int_equal(size[process], size[0]);
            assert_memory_equal(packed[process], packed[0], size[0]);
            fg_client_close(client);
        }
        for (int process = 0; process < worlds[k].processes; process++)
            fgi_free(packed[process]);
    }
}

/* A process launches its part: a row of arguments for each of its devices. */
static void a_program_of_all_processes_runs_here_too(void **state)
{
    static const float numbers[4] = {1, 2, 3, 4};
    (void)state;
    for (int process = 0; process < 4; process++) {
        float back[4] = {0};
        int64_t replicas, partitions;
        fg_error err = {0};
        fg_array *argument, *outs[2];
        fg_client *client = join(&worlds[1], process, NULL, "");
        fgi_executable *program = compile(
            client,
            &(fgi_compile_options){.all_processes = true, .out_types = types, .out_count = 2});
        fgt_ok(fgi_executable_counts(program, &replicas, &partitions, &err));
        assert_int_equal(partitions, 8);
        assert_int_equal(program->device_count, 2);
        for (int i = 0; i < 2; i++)
            assert_int_equal(program->device_index[i], i);
        fgt_ok(fg_array_create(client, &vec4, numbers, &argument, &err));
        fgt_ok(fgi_execute(program, &argument, 1, outs, NULL, &err));
        fgt_ok(fg_array_read(outs[0], back, sizeof back, &err));
        assert_memory_equal(back, numbers, sizeof back);
        assert_true(fgi_array_is_donated(argument));
        for (int i = 0; i < 2; i++)
            fg_array_release(outs[i]);
        fg_array_release(argument);
        fgi_executable_destroy(program);
        /* another program runs only in this process */
        program = compile(client, &(fgi_compile_options){.device_count = 2});
        fgt_ok(fgi_executable_counts(program, &replicas, &partitions, &err));
        assert_int_equal(partitions, 2);
        fgi_executable_destroy(program);
        fg_client_close(client);
    }
}

/* One device per process: a program of all processes still has several devices. */
static void lone_devices_make_a_world(void **state)
{
    static const world three = {.processes = 3, .each = 1, .id = {0, 1, 2}};
    static const fg_type split[2] = {{.dtype = FG_F32, .rank = 1, .dim = {12}}, {.dtype = FG_F32}};
    (void)state;
    fg_client *client = join(&three, 2, NULL, "");
    /* the types are those of whole arrays, which one device's output need not have */
    fgi_executable *program = compile(
        client, &(fgi_compile_options){.all_processes = true, .out_types = split, .out_count = 2});
    assert_int_equal(program->partition_count, 3);
    assert_int_equal(program->device_count, 1);
    fgi_executable_destroy(program);
    fg_client_close(client);
}

static void not_compiled(fg_client *client, const fgi_compile_options *options, fg_status status,
                         const char *message)
{
    fg_error err = {0};
    fgi_executable *program;
    assert_int_equal(fgi_compile(client, text, strlen(text), NULL, 0, options, &program, &err),
                     status);
    assert_null(program);
    assert_string_equal(err.message, message);
}

static void what_cannot_span_processes_is_refused(void **state)
{
    (void)state;
    const fgi_sharding splits[2] = {{{FGT_DATA}}, {{0}}};
    fg_client *client = join(&worlds[0], 1, "2", "");
    not_compiled(
        client, &(fgi_compile_options){.all_processes = true}, FG_EINVAL,
        "a program of all processes requires all of their devices, but of this process's 4 devices "
        "only 2 are selected");
    fg_client_close(client);
    client = join(&worlds[0], 1, NULL, "");
    not_compiled(
        client,
        &(fgi_compile_options){
            .all_processes = true, .out_types = types, .out_shardings = splits, .out_count = 2},
        FG_EUNSUPPORTED, "output 0 of a program of all processes is sharded");
    fg_client_close(client);
}

/* A compiled program is cached for the process that it was compiled in. */
static void each_process_has_its_own_cache_entry(void **state)
{
    static const struct {
        int process, hits;
    } starts[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    const char *cache = fgt_path(fgt_temp_folder(), "cache");
    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        fg_client *client = join(&worlds[1], starts[i].process, NULL, cache);
        fgi_executable *program = compile(client, &(fgi_compile_options){.all_processes = true});
        assert_int_equal(fg_client_stats_of(client).compile_cache_hits, starts[i].hits);
        assert_int_equal(program->partition_count, 8);
        assert_int_equal(program->device_count, 2);
        fgi_executable_destroy(program);
        fg_client_close(client);
    }
}

static int nothing_is_alive(void **state)
{
    (void)state;
    fake.reset();
    return fgi_alloc_live() != 0 || fake.get("clients") != 0 || fake.get("programs") != 0 ||
           fake.get("buffers") != 0;
}

static int load_fake(void **state)
{
    (void)state;
    return fake_open(&fake) ? 0 : 1;
}

#define WORLD_TEST(f) cmocka_unit_test_teardown(f, nothing_is_alive)
static const struct CMUnitTest tests[] = {
    WORLD_TEST(devices_are_ordered_by_process_and_id),
    WORLD_TEST(the_assignment_follows_that_order),
    WORLD_TEST(a_program_of_all_processes_runs_here_too),
    WORLD_TEST(lone_devices_make_a_world),
    WORLD_TEST(what_cannot_span_processes_is_refused),
    WORLD_TEST(each_process_has_its_own_cache_entry),
};

int main(void) { return cmocka_run_group_tests(tests, load_fake, NULL) == 0 ? 0 : 1; }
