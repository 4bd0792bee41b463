/* test_pjrt_fake.c - the runtime on the fake plugin: every way in which a plugin can refuse, fail
 * or be late, and that nothing is leaked by any of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "fakepjrt/fake_control.h"
#include "pjrt/plugin.h"

static fake_control fake;

/* A state that is updated in place, an input, and a loss. */
static const char step_text[] =
    "module @step {\n"
    "  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc(\"w(\"), "
    "%arg1: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<4xf32> "
    "{jax.result_info = \"\"}, tensor<f32>) {\n";

static const fg_type vec4 = {.dtype = FG_F32, .rank = 1, .dim = {4}};
static const fg_type mat22 = {.dtype = FG_F32, .rank = 2, .dim = {2, 2}};
static const float numbers[4] = {1, 2, 3, 4};

/* A client, the step's program and its two arguments. */
typedef struct fixture {
    fg_client *client;
    fgi_executable *step;
    fg_array *args[2];
} fixture;

static fg_client *open_fake(int devices)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .plugin_path = FAKE_PATH,
                                               .cpu_devices = devices,
                                               .cache_dir = ""},
                          &client, &err));
    return client;
}

static fixture begin(int devices)
{
    fg_error err = {0};
    fixture f = {.client = open_fake(devices)};
    fgt_ok(fgi_compile(f.client, step_text, strlen(step_text), NULL, 0,
                       &(fgi_compile_options){.device_count = devices}, &f.step, &err));
    fgt_ok(fg_array_create(f.client, &vec4, numbers, &f.args[0], &err));
    fgt_ok(fg_array_create(f.client, &mat22, numbers, &f.args[1], &err));
    return f;
}

static void end(fixture *f)
{
    fg_array_release(f->args[0]);
    fg_array_release(f->args[1]);
    fgi_executable_destroy(f->step);
    fg_client_close(f->client);
}

/* Before and after each test no object of the plugin and no block of ours is alive. */
static int nothing_is_alive(void **state)
{
    (void)state;
    static const char *const counters[] = {"clients", "buffers", "events",  "states",
                                           "errors",  "bytes",   "programs"};
    int alive = fgi_alloc_live() != 0;
    if (alive)
        print_error("%ld blocks alive\n", fgi_alloc_live());
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        if (fake.get(counters[i]) != 0) {
            print_error("%ld %s alive\n", fake.get(counters[i]), counters[i]);
            alive = 1;
        }
    }
    fake.reset();
    return alive;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

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
    fake.set("initialize_error", 10);
    assert_not_opened(FG_EPLUGIN, "initialising (fakepjrt.so): ABORTED: the lock file is held");
}

static void versions_are_checked(void **state)
{
    (void)state;
    fake.set("api_minor", 40);
    assert_not_opened(FG_EPLUGIN, "is too old: it implements PJRT 0.40, at least 0.75 is needed");
    fake.set("api_minor", 999);
    fg_client_close(open_fake(1));
    fake.set("api_major", 1);
    assert_not_opened(FG_EPLUGIN, "implements PJRT 1.999, this library uses PJRT 0");
    fake.set("api_is_null", 1);
    assert_not_opened(FG_EPLUGIN, "returned no PJRT table");
}

static void failing_client_is_reported(void **state)
{
    (void)state;
    fake.set("client_error", 9);
    assert_not_opened(FG_EPLUGIN,
                      "making a client (fakepjrt.so): FAILED_PRECONDITION: No devices found.");
    fake.set("client_error", 0);
    fake.set("devices", -1);
    assert_not_opened(FG_EPLUGIN, "has 0 devices for this process");
}

static void plugin_for_something_else_is_refused(void **state)
{
    (void)state;
    fake.set("platform", 2);
    assert_not_opened(FG_EPLUGIN, "is for 'tpu', but 'cpu' was requested");
    fake.set("platform", 3);
    assert_not_opened(FG_EPLUGIN, "is for 'abacus', but 'cpu' was requested");
}

static void optional_client_options_are_dropped(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    const fg_client_options opt = {
        .accelerator = "cuda", .plugin_path = FAKE_PATH, .memory_fraction = 0.5, .cache_dir = ""};
    fake.set("platform", 1);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake.get("client_options"), 2);
    assert_string_equal(fg_client_get_info(client)->platform, "cuda");
    assert_int_equal(fgi_client_platform(client), FGI_CUDA);
    fg_client_close(client);
    fake.set("unknown_options", 1);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake.get("client_options"), 0);
    fg_client_close(client);
    fake.set("client_error", 13);
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_EPLUGIN);
    assert_non_null(
        strstr(err.message, "making a client (fakepjrt.so): INTERNAL: No visible GPU devices."));
}

/* The plugin sees those devices alone, smallest first; ours come in the order asked for. */
/* On a slice of TPUs the ids of a process have gaps. Devices are in the order of their ids; the
 * rows of a program are the devices that were named for them, in that order. */
static void ids_with_gaps_keep_their_order(void **state)
{
    static const int64_t ids[2][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}};
    static const int backwards[] = {3, 2, 1, 0};
    (void)state;
    fake.set("processes", 2);
    fake.set("interleaved", 1);
    for (int process = 0; process < 2; process++) {
        fg_error err = {0};
        fg_device_info info;
        fake.set("process", process);
        fixture f = begin(4);
        fgi_executable *other;
        for (int i = 0; i < 4; i++) {
            fgt_ok(fg_device_get_info(f.client, i, &info, &err));
            assert_int_equal(info.id, ids[process][i]);
            assert_int_equal(f.step->device_index[i], i);
        }
        fgt_ok(fgi_compile(f.client, step_text, strlen(step_text), NULL, 0,
                           &(fgi_compile_options){.device_count = 4, .device_index = backwards},
                           &other, &err));
        for (int i = 0; i < 4; i++)
            assert_int_equal(other->device_index[i], backwards[i]);
        fgi_executable_destroy(other);
        end(&f);
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
    fake.set("platform", 1);
    fake.set("devices", 8);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake.get("visible_devices"), 36);
    assert_int_equal(fake.get("client_options"), 2);
    assert_int_equal(fg_client_get_info(client)->device_count, 2);
    assert_int_equal(client->devices[0].id, 1);
    assert_int_equal(client->devices[1].id, 0);
    fg_client_close(client);
    fake.set("devices", 3);
    assert_int_equal(fg_client_open(&opt, &client, &err), FG_ENOTFOUND);
    assert_string_equal(err.message,
                        "devices '5,2' were requested, but only 1 of them are available; "
                        "`fulgurite devices` lists all");
    fake.set("devices", 8);
    opt.devices = "3";
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake.get("visible_devices"), 123);
    assert_int_equal(fg_client_get_info(client)->device_count, 3);
    fg_client_close(client);
    /* only what the plugin does not know is left out */
    fake.set("unknown_options", 2);
    fake.set("devices", 8);
    fake.set("visible_devices", 0);
    fgt_ok(fg_client_open(&opt, &client, &err));
    assert_int_equal(fake.get("visible_devices"), 123);
    assert_int_equal(fake.get("client_options"), 1);
    fg_client_close(client);
    /* a plugin that does not know the option shows all: they are chosen afterwards */
    fake.set("unknown_options", 1);
    fake.set("devices", 8);
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
    assert_string_equal(fg_client_get_info(client)->plugin_path, FAKE_PATH);
    fg_client_close(client);
    fgt_ok(
        fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = ""}, &client, &err));
    assert_string_equal(fg_client_get_info(client)->plugin_path, FAKE_PATH);
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
    assert_non_null(strstr(err.message, "is not a PJRT plugin: it has no GetPjrtApi"));
}

static void odd_device_counts_work(void **state)
{
    (void)state;
    fg_error err = {0};
    fake.set("devices", 7);
    fake.set("memory_limit_bytes", 1000);
    fg_client *client = open_fake(1);
    assert_int_equal(fg_client_get_info(client)->device_count, 7);
    fg_array *a;
    fgt_ok(fg_array_create(client, &vec4, numbers, &a, &err));
    fg_device_info info;
    fgt_ok(fg_device_get_info(client, 6, &info, &err));
    assert_int_equal(info.id, 6); /* sorted, however the plugin lists them */
    assert_string_equal(info.kind, "fake device");
    assert_string_equal(info.description, "FakeDevice(id=6)");
    assert_int_equal(info.memory_used_bytes, 7 * 16);
    assert_int_equal(info.memory_limit_bytes, 1000);
    assert_int_equal(info.memory_peak_bytes, -1);
    fg_array_release(a);
    fg_client_close(client);
}

/* ---- compiling --------------------------------------------------------------------------------
 */

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
    fg_client *client = open_fake(2);
    fake.set("compile_error", 8);
    assert_not_compiled(client, step_text, NULL, FG_EDEVMEM,
                        "compiling on cpu (fakepjrt.so): RESOURCE_EXHAUSTED: the compiler ran out "
                        "of memory");
    fake.set("compile_error", 13);
    assert_not_compiled(client, step_text, NULL, FG_ECOMPILE,
                        "compiling on cpu (fakepjrt.so): INTERNAL: the compiler gave up");
    fake.set("compile_error", 12);
    assert_not_compiled(client, step_text, NULL, FG_EUNSUPPORTED,
                        "compiling on cpu (fakepjrt.so): UNIMPLEMENTED: the compiler gave up");
    fake.set("compile_error", 0);
    fake.set("output_types_error", 13);
    assert_not_compiled(client, step_text, NULL, FG_EDEVICE,
                        "asking for a program's outputs on cpu (fakepjrt.so): INTERNAL: the types "
                        "are secret");
    assert_int_equal(fg_client_get_stats(client).compiles, 1);
    fg_client_close(client);
}

static void output_types_are_compared(void **state)
{
    (void)state;
    fg_client *client = open_fake(1);
    const fg_type one[] = {vec4};
    const fg_type two[] = {vec4, vec4};
    assert_not_compiled(client, step_text, &(fgi_compile_options){.out_types = one, .out_count = 1},
                        FG_EINVAL, "the program has 2 outputs, not 1");
    assert_not_compiled(client, step_text, &(fgi_compile_options){.out_types = two, .out_count = 2},
                        FG_EINVAL, "output 1 of the program is f32[], not f32[4]");
    const int where[] = {1};
    assert_not_compiled(client, step_text,
                        &(fgi_compile_options){.device_count = 1, .device_index = where}, FG_EINVAL,
                        "device 1 does not exist: cpu has 1");
    fg_client_close(client);
}

static void unreadable_cost_is_minus_one(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(1);
    fgi_program_cost cost;
    fgt_ok(fgi_executable_cost(f.step, &cost, &err));
    assert_int_equal(cost.argument_bytes, 32);
    assert_int_equal(cost.alias_bytes, 16);
    assert_int_equal(cost.peak_bytes, 36);
    fgt_close("flops", cost.flops, 1000, 0, 0);
    fgt_close("bytes", cost.bytes_accessed, 2000, 0, 0);
    fake.set("cost_error", 12);
    fgt_ok(fgi_executable_cost(f.step, &cost, &err));
    assert_int_equal(cost.peak_bytes, -1);
    fgt_close("flops", cost.flops, -1, 0, 0);
    end(&f);
}

static void program_that_cannot_be_serialised_still_runs(void **state)
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
            fake.set(cases[i].fault, 12);
        fgt_ok(fg_client_open(&opt, &client, &err));
        fgt_ok(fgi_compile(client, step_text, strlen(step_text), "key", 3, NULL, &e, &err));
        assert_int_equal(fg_client_get_stats(client).compile_cache_hits, cases[i].hits);
        assert_int_equal(fg_client_get_stats(client).compiles, 1 - cases[i].hits);
        if (i == 0) {
            assert_int_equal(fgi_executable_serialize(e, &data, &size, &err), FG_EUNSUPPORTED);
            assert_null(data);
        }
        fgi_executable_destroy(e);
        fg_client_close(client);
        fake.reset();
    }
}

/* ---- running ----------------------------------------------------------------------------------
 */

static void run_gives_outputs_and_consumes(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(3);
    fg_array *outs[2];
    fgi_event *done;
    fgt_ok(fgi_execute(f.step, f.args, 2, outs, &done, &err));
    fgt_ok(fgi_event_wait(done, &err));
    assert_true(fgi_array_is_donated(f.args[0]));
    assert_false(fgi_array_is_donated(f.args[1]));
    float got[4];
    fgt_ok(fg_array_read(outs[0], got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got); /* the fake's update changes nothing */
    fgt_ok(fg_array_read(outs[1], got, 4, &err));
    assert_true(got[0] == 0);
    assert_int_equal(fg_array_type(outs[1])->rank, 0);
    assert_ptr_equal(fg_array_client(outs[1]), f.client);
    assert_int_equal(fg_array_wait(f.args[0], &err), FG_EINVAL);
    const fg_client_stats stats = fg_client_get_stats(f.client);
    assert_int_equal(stats.executions, 1);
    assert_int_equal(stats.host_reads, 2);
    assert_int_equal(stats.uploaded_bytes, 2 * 16 * 3);
    fgi_event_destroy(done);
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    end(&f);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(1), other = begin(1);
    fg_array *outs[2];
    fg_array *const foreign[2] = {f.args[0], other.args[1]}, *const missing[2] = {f.args[0], NULL};
    assert_int_equal(fgi_execute(f.step, foreign, 2, outs, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "argument 1 of the program is an array of another client");
    assert_int_equal(fgi_execute(f.step, missing, 2, outs, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "argument 1 of the program is missing");
    assert_int_equal(fgi_execute(f.step, f.args, 1, outs, NULL, &err), FG_EDEVICE);
    assert_false(fgi_array_is_donated(f.args[0]));
    fg_array *const twice[2] = {f.args[0], f.args[0]};
    assert_int_equal(fgi_execute(f.step, twice, 2, outs, NULL, &err), FG_EDEVICE);
    assert_non_null(strstr(err.message, "f(donate(a), a)"));
    end(&f);
    end(&other);
}

static void failed_launch_has_consumed(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(2);
    fg_array *outs[2] = {f.args[0], f.args[0]};
    fgi_event *done = (fgi_event *)&err;
    fake.set("execute_error", 13);
    assert_int_equal(fgi_execute(f.step, f.args, 2, outs, &done, &err), FG_EDEVICE);
    assert_string_equal(err.message,
                        "running a program on cpu (fakepjrt.so): INTERNAL: the device caught fire");
    assert_null(outs[0]);
    assert_null(outs[1]);
    assert_null(done);
    assert_true(fgi_array_is_donated(f.args[0]));
    assert_false(fgi_array_is_donated(f.args[1]));
    fake.set("execute_error", 0);
    assert_int_equal(fgi_execute(f.step, f.args, 2, outs, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "argument 0 of the program, f32[4], was donated to a program before");
    assert_int_equal(fg_client_get_stats(f.client).executions, 0);
    end(&f);
}

static void memory_runs_out_while_running(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(1);
    fg_array *outs[2], *more;
    fake.set("memory_limit_bytes", fake.get("bytes") + 3);
    assert_int_equal(fgi_execute(f.step, f.args, 2, outs, NULL, &err), FG_EDEVMEM);
    assert_string_equal(err.message, "running a program on cpu:0 (fakepjrt.so): "
                                     "RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes.");
    assert_false(fgi_array_is_donated(f.args[0]));
    assert_int_equal(fg_array_create(f.client, &vec4, numbers, &more, &err), FG_EDEVMEM);
    assert_string_equal(err.message, "uploading an array on cpu:0 (fakepjrt.so): "
                                     "RESOURCE_EXHAUSTED: Out of memory allocating 16 bytes.");
    assert_null(more);
    end(&f);
}

static void late_failure_reaches_event_and_outputs(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(2);
    fg_array *outs[2], *next[2];
    fgi_event *done;
    fake.set("hold", 1);
    fake.set("execute_late_error", 13);
    fgt_ok(fgi_execute(f.step, f.args, 2, outs, &done, &err));
    fake.set("execute_late_error", 0);
    /* the failure travels through a program that was launched meanwhile */
    fgt_ok(fgi_execute(f.step, (fg_array *[]){outs[0], f.args[1]}, 2, next, NULL, &err));
    assert_false(fgi_event_is_ready(done));
    fake.set("hold", 0);
    assert_int_equal(fgi_event_wait(done, &err), FG_EDEVICE);
    assert_string_equal(err.message,
                        "running a program on cpu:0 (fakepjrt.so): INTERNAL: a cosmic ray");
    float got[4];
    assert_int_equal(fg_array_wait(outs[1], &err), FG_EDEVICE);
    assert_string_equal(err.message,
                        "computing an array on cpu:0 (fakepjrt.so): INTERNAL: a cosmic ray");
    assert_int_equal(fg_array_read(next[0], got, sizeof got, &err), FG_EDEVICE);
    assert_string_equal(err.message,
                        "reading an array on cpu:0 (fakepjrt.so): INTERNAL: a cosmic ray");
    fgi_event_destroy(done);
    for (int i = 0; i < 2; i++) {
        fg_array_release(outs[i]);
        fg_array_release(next[i]);
    }
    end(&f);
}

/* Also the handles of donated arrays are let go meanwhile, though the plugin's own call for that
 * waits for the program that took them. */
static void chain_of_late_steps_is_launched_ahead(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    fg_error err = {0};
    fixture f = begin(2);
    fake.set("hold", 1);
    for (int i = 0; i < STEPS; i++) {
        fg_array *outs[2];
        fgt_ok(fgi_execute(f.step, f.args, 2, outs, NULL, &err));
        fg_array_release(f.args[0]);
        fg_array_release(outs[1]);
        f.args[0] = outs[0];
    }
    fgi_event *ready;
    fgt_ok(fgi_array_ready(f.args[0], &ready, &err));
    assert_false(fgi_event_is_ready(ready));
    fake.set("hold", 0);
    fgt_ok(fgi_event_wait(ready, &err));
    fgi_event_destroy(ready);
    float got[4];
    fgt_ok(fg_array_read(f.args[0], got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got);
    end(&f);
}

/* ---- transfers --------------------------------------------------------------------------------
 */

static void failing_transfers_are_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(3);
    fg_array *a;
    fgi_event *done;
    float got[4];
    fake.set("upload_error", 14);
    fake.set("upload_skip", 2); /* fails on the third device */
    assert_int_equal(fg_array_create(f.client, &vec4, numbers, &a, &err), FG_EDEVICE);
    assert_string_equal(err.message, "uploading an array on cpu:2 (fakepjrt.so): UNAVAILABLE: the "
                                     "bus is on strike");
    fake.set("upload_skip", 1);
    assert_int_equal(
        fgi_array_upload(f.client, &vec4, NULL, numbers, FGI_UPLOAD_ASYNC, &a, &done, &err),
        FG_EDEVICE);
    assert_null(a);
    assert_null(done);
    fake.reset();
    fake.set("upload_late_error", 14);
    fgt_ok(fg_array_create(f.client, &vec4, numbers, &a, &err));
    assert_int_equal(fg_array_read(a, got, sizeof got, &err), FG_EDEVICE);
    assert_non_null(strstr(err.message, "the bus broke down on the way"));
    fg_array_release(a);
    fake.reset();
    fake.set("download_error", 14);
    assert_int_equal(fg_array_read(f.args[0], got, sizeof got, &err), FG_EDEVICE);
    fake.reset();
    fake.set("download_late_error", 14);
    assert_int_equal(fg_array_read(f.args[0], got, sizeof got, &err), FG_EDEVICE);
    assert_string_equal(err.message, "reading an array on cpu:0 (fakepjrt.so): UNAVAILABLE: the "
                                     "bus broke down on the way");
    fake.reset();
    fake.set("ready_error", 13);
    fake.set("ready_skip", 1);
    assert_int_equal(fg_array_wait(f.args[0], &err), FG_EDEVICE);
    end(&f);
}

static void odd_types_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client = open_fake(1);
    fg_array *a;
    fgi_event *done;
    static const fg_type bad[] = {
        {.dtype = FG_DTYPE_NONE, .rank = 1, .dim = {1}},
        {.dtype = FG_F32, .rank = FG_MAX_RANK + 1},
        {.dtype = FG_F32, .rank = 1, .dim = {-1}},
        {.dtype = FG_F64, .rank = 3, .dim = {1LL << 31, 1LL << 31, 8}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(fg_array_create(client, &bad[i], numbers, &a, &err), FG_EINVAL);
    assert_int_equal(fg_array_create(client, &vec4, NULL, &a, &err), FG_EINVAL);
    assert_int_equal(
        fgi_array_upload(client, &vec4, NULL, numbers, FGI_UPLOAD_COPY, &a, &done, &err),
        FG_EINVAL);
    const fg_type empty = {.dtype = FG_F32, .rank = 2, .dim = {0, 5}};
    fgt_ok(fg_array_create(client, &empty, NULL, &a, &err));
    fgt_ok(fg_array_read(a, NULL, 0, &err));
    fg_array_release(a);
    fg_client_close(client);
}

static void asynchronous_upload_says_when_data_is_free(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client = open_fake(2);
    float *data = fgi_alloc_aligned(sizeof numbers + 64);
    float got[4];
    fg_array *a;
    fgi_event *done;
    fake.set("delay_ms", 2);
    /* 64-byte aligned: used in place until the array is gone */
    memcpy(data, numbers, sizeof numbers);
    fgt_ok(fgi_array_upload(client, &vec4, NULL, data, FGI_UPLOAD_ASYNC, &a, &done, &err));
    fgt_ok(fg_array_read(a, got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got);
    assert_false(fgi_event_is_ready(done));
    fg_array_release(a);
    fgt_ok(fgi_event_wait(done, &err));
    fgi_event_destroy(done);
    /* not aligned: copied */
    memcpy(data + 1, numbers, sizeof numbers);
    fake.set("hold", 1);
    fgt_ok(fgi_array_upload(client, &vec4, NULL, data + 1, FGI_UPLOAD_ASYNC, &a, &done, &err));
    assert_false(fgi_event_is_ready(done));
    fake.set("hold", 0);
    fgt_ok(fgi_event_wait(done, &err));
    memset(data, 0, sizeof numbers + 4);
    fgt_ok(fg_array_read(a, got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got);
    fgi_event_destroy(done);
    fg_array_release(a);
    fg_client_close(client);
    fgi_free_aligned(data);
}

static void download_does_not_wait(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(1);
    float got[4] = {0};
    fgi_event *done;
    fake.set("hold", 1);
    fgt_ok(fgi_array_download(f.args[0], got, sizeof got, &done, &err));
    assert_false(fgi_event_is_ready(done));
    assert_true(got[0] == 0);
    fake.set("hold", 0);
    fgt_ok(fgi_event_wait(done, &err));
    assert_memory_equal(got, numbers, sizeof got);
    assert_int_equal(fg_client_get_stats(f.client).host_reads, 0);
    fgi_event_destroy(done);
    assert_int_equal(fgi_array_download(f.args[0], got, 3, &done, &err), FG_EINVAL);
    assert_null(done);
    end(&f);
}

/* ---- being called -----------------------------------------------------------------------------
 */

typedef struct heard {
    _Atomic int calls;
    fg_status status;
    char message[200];
} heard;

static void listen(void *self, fg_status status, const char *message)
{
    heard *h = self;
    h->status = status;
    snprintf(h->message, sizeof h->message, "%s", message);
    atomic_fetch_add(&h->calls, 1);
}

static void wait_for(heard *h)
{
    for (int i = 0; i < 2000 && atomic_load(&h->calls) == 0; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&h->calls), 1);
}

static void listener_is_called_once_for_all_devices(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(3);
    fg_array *outs[2];
    fgi_event *done;
    heard late = {0}, at_once = {0}, failed = {0}, refused = {0};
    fake.set("hold", 1);
    fgt_ok(fgi_execute(f.step, f.args, 2, outs, &done, &err));
    fgt_ok(fgi_event_on_ready(done, listen, &late, &err));
    assert_int_equal(atomic_load(&late.calls), 0);
    fake.set("hold", 0);
    wait_for(&late);
    assert_int_equal(late.status, FG_OK);
    assert_string_equal(late.message, "");
    fgt_ok(fgi_event_wait(done, &err));
    fgt_ok(fgi_event_on_ready(done, listen, &at_once, &err));
    assert_int_equal(atomic_load(&at_once.calls), 1);
    fake.set("on_ready_error", 13);
    fake.set("on_ready_skip", 2);
    fgt_ok(fgi_event_on_ready(done, listen, &refused, &err));
    wait_for(&refused);
    assert_int_equal(refused.status, FG_EDEVICE);
    assert_non_null(strstr(refused.message, "no listeners today"));
    fake.set("on_ready_error", 0);
    fgi_event_destroy(done);
    fg_array_release(f.args[0]);
    f.args[0] = outs[0];
    fg_array_release(outs[1]);
    fake.set("execute_late_error", 13);
    fgt_ok(fgi_execute(f.step, f.args, 2, outs, &done, &err));
    fgt_ok(fgi_event_on_ready(done, listen, &failed, &err));
    fgi_event_destroy(done); /* the call comes all the same */
    wait_for(&failed);
    assert_int_equal(failed.status, FG_EDEVICE);
    assert_non_null(strstr(failed.message, "a cosmic ray"));
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    end(&f);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

enum { LAUNCHES = 200 };

/* Launches on a state of its own; the program and the second argument are shared. */
static void *launch_often(void *self)
{
    const fixture *f = self;
    fg_error err = {0};
    fg_array *args[2] = {NULL, fg_array_retain(f->args[1])};
    const char *failure = NULL;
    if (fg_array_create(f->client, &vec4, numbers, &args[0], &err) != FG_OK)
        failure = "upload";
    for (int i = 0; i < LAUNCHES && !failure; i++) {
        fg_array *outs[2];
        fgi_event *done;
        if (fgi_execute(f->step, args, 2, outs, i % 7 ? NULL : &done, &err) != FG_OK) {
            failure = "launch";
            break;
        }
        if (i % 7 == 0) {
            if (fgi_event_wait(done, &err) != FG_OK)
                failure = "wait";
            fgi_event_destroy(done);
        }
        fg_array_release(args[0]);
        fg_array_release(outs[1]);
        args[0] = outs[0];
    }
    fg_array_release(args[0]);
    fg_array_release(args[1]);
    return (void *)(uintptr_t)failure;
}

static void threads_share_a_program(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(2);
    fgi_thread threads[4];
    for (int i = 0; i < 4; i++)
        fgt_ok(fgi_thread_start(&threads[i], launch_often, &f, &err));
    for (int i = 0; i < 4; i++) {
        void *failure;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
    assert_int_equal(fg_client_get_stats(f.client).executions, 4 * LAUNCHES);
    end(&f);
}

/* ---- allocation failures ----------------------------------------------------------------------
 */

static fg_status run_all(fg_client *client, fg_error *err)
{
    fgi_executable *e = NULL;
    fg_array *args[2] = {NULL, NULL}, *outs[2] = {NULL, NULL};
    fgi_event *done = NULL, *host = NULL;
    heard h = {0};
    float got[4];
    const fgi_flag flag = {"xla_anything", "1"};
    const fgi_compile_options opt = {.device_count = 2, .flags = &flag, .flag_count = 1};
    fg_status status;
    FGI_DONE(fgi_compile(client, step_text, strlen(step_text), NULL, 0, &opt, &e, err));
    FGI_DONE(fg_array_create(client, &vec4, numbers, &args[0], err));
    FGI_DONE(
        fgi_array_upload(client, &mat22, NULL, numbers, FGI_UPLOAD_ASYNC, &args[1], &host, err));
    FGI_DONE(fgi_execute(e, args, 2, outs, &done, err));
    FGI_DONE(fgi_event_on_ready(done, listen, &h, err));
    FGI_DONE(fgi_event_wait(done, err));
    FGI_DONE(fg_array_read(outs[0], got, sizeof got, err));
    FGI_DONE(fg_array_wait(outs[1], err));
done:
    fgi_event_destroy(done);
    fgi_event_destroy(host);
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
    const fg_client_options opt = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cpu_devices = 2, .cache_dir = self};
    FGI_TRY(fg_client_open(&opt, &client, err));
    const fg_status status = run_all(client, err);
    fg_client_close(client);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char cache[512];
    snprintf(cache, sizeof cache, "%s/faults", fgt_temp_folder());
    fgt_fault_loop(whole_life, cache);
    char none[] = "";
    fgt_fault_loop(whole_life, none);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, nothing_is_alive, nothing_is_alive)

static const struct CMUnitTest tests[] = {
    CASE(failing_initialisation_is_reported), /* first: a plugin is initialised once */
    CASE(versions_are_checked),
    CASE(failing_client_is_reported),
    CASE(plugin_for_something_else_is_refused),
    CASE(optional_client_options_are_dropped),
    CASE(ids_with_gaps_keep_their_order),
    CASE(only_the_chosen_gpus_are_opened),
    CASE(plugin_is_taken_from_the_environment),
    CASE(library_that_is_no_plugin_is_reported),
    CASE(odd_device_counts_work),
    CASE(failing_compilation_is_reported),
    CASE(output_types_are_compared),
    CASE(unreadable_cost_is_minus_one),
    CASE(program_that_cannot_be_serialised_still_runs),
    CASE(run_gives_outputs_and_consumes),
    CASE(bad_arguments_are_refused),
    CASE(failed_launch_has_consumed),
    CASE(memory_runs_out_while_running),
    CASE(late_failure_reaches_event_and_outputs),
    CASE(chain_of_late_steps_is_launched_ahead),
    CASE(failing_transfers_are_reported),
    CASE(odd_types_are_refused),
    CASE(asynchronous_upload_says_when_data_is_free),
    CASE(download_does_not_wait),
    CASE(listener_is_called_once_for_all_devices),
    CASE(threads_share_a_program),
    CASE(every_allocation_may_fail),
};

int main(void)
{
    if (!fake_open(&fake)) {
        print_error("%s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
