/* test_pjrt_fake.c - executing programs on the fake plugin: all failures and delays of a plugin,
 * without leaks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <unistd.h>
#include "fake_step.h"

/* ---- running --------------------------------------------------------------------------------- */

static void run_gives_outputs_and_consumes(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_step f = fake_step_begin(3);
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
    const fg_client_stats stats = fg_client_stats_of(f.client);
    assert_int_equal(stats.executions, 1);
    assert_int_equal(stats.host_reads, 2);
    assert_int_equal(stats.uploaded_bytes, 2 * 16 * 3);
    fgi_event_destroy(done);
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    fake_step_end(&f);
}

/* The places that no longer fit in the table are counted together in its last row. */
static void reads_of_more_places_than_fit(void **state)
{
    (void)state;
    fake_step f = fake_step_begin(1);
    fg_host_read read[FG_MAX_HOST_READS + 1];
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < FG_MAX_HOST_READS + 2; i++) {
            char at[32];
            (void)snprintf(at, sizeof at, "a.c:%d", i);
            fgi_client_count_read(f.client, at, i, 0);
        }
    assert_int_equal(fg_client_host_reads(f.client, read, FG_MAX_HOST_READS + 1),
                     FG_MAX_HOST_READS);
    for (int i = 0; i < FG_MAX_HOST_READS - 1; i++) {
        assert_int_equal(read[i].count, 2);
        assert_int_equal(read[i].bytes, 2 * i);
    }
    assert_string_equal(read[0].at, "a.c:0");
    assert_string_equal(read[FG_MAX_HOST_READS - 1].at, "other places");
    assert_int_equal(read[FG_MAX_HOST_READS - 1].count, 2 * 3);
    assert_int_equal(read[FG_MAX_HOST_READS - 1].bytes, 2 * (3 * FG_MAX_HOST_READS));
    fake_step_end(&f);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_step f = fake_step_begin(1), other = fake_step_begin(1);
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
    fgt_message_is(err.message,
                   "running a program on cpu:0 (fakepjrt.so): INVALID_ARGUMENT: f(donate(a), a)");
    fake_step_end(&f);
    fake_step_end(&other);
}

static void failed_launch_has_consumed(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_step f = fake_step_begin(2);
    fg_array *outs[2] = {f.args[0], f.args[0]};
    fgi_event *done = (fgi_event *)&err;
    fake_plugin.set("execute_error", 13);
    assert_int_equal(fgi_execute(f.step, f.args, 2, outs, &done, &err), FG_EDEVICE);
    assert_string_equal(err.message,
                        "running a program on cpu (fakepjrt.so): INTERNAL: the device caught fire");
    assert_null(outs[0]);
    assert_null(outs[1]);
    assert_null(done);
    assert_true(fgi_array_is_donated(f.args[0]));
    assert_false(fgi_array_is_donated(f.args[1]));
    fake_plugin.set("execute_error", 0);
    assert_int_equal(fgi_execute(f.step, f.args, 2, outs, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "argument 0 of the program, f32[4], was already donated to a program");
    assert_int_equal(fg_client_stats_of(f.client).executions, 0);
    fake_step_end(&f);
}

static void memory_runs_out_while_running(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_step f = fake_step_begin(1);
    fg_array *outs[2], *more;
    fake_plugin.set("memory_limit_bytes", fake_plugin.get("bytes") + 3);
    assert_int_equal(fgi_execute(f.step, f.args, 2, outs, NULL, &err), FG_EDEVMEM);
    assert_string_equal(err.message, "running a program on cpu:0 (fakepjrt.so): "
                                     "RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes.");
    assert_false(fgi_array_is_donated(f.args[0]));
    assert_int_equal(fg_array_create(f.client, &vec4, numbers, &more, &err), FG_EDEVMEM);
    assert_string_equal(err.message, "uploading an array on cpu:0 (fakepjrt.so): "
                                     "RESOURCE_EXHAUSTED: Out of memory allocating 16 bytes.");
    assert_null(more);
    fake_step_end(&f);
}

static void late_failure_reaches_event_and_outputs(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_step f = fake_step_begin(2);
    fg_array *outs[2], *next[2];
    fgi_event *done;
    fake_plugin.set("hold", 1);
    fake_plugin.set("execute_late_error", 13);
    fgt_ok(fgi_execute(f.step, f.args, 2, outs, &done, &err));
    fake_plugin.set("execute_late_error", 0);
    /* the failure propagates through a program that was launched meanwhile */
    fgt_ok(fgi_execute(f.step, (fg_array *[]){outs[0], f.args[1]}, 2, next, NULL, &err));
    assert_false(fgi_event_is_ready(done));
    fake_plugin.set("hold", 0);
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
    fake_step_end(&f);
}

/* Handles of donated arrays are released without waiting, although the plugin's call waits for the
 * program that they were donated to. */
static void chain_of_late_steps_is_launched_ahead(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    fg_error err = {0};
    fake_step f = fake_step_begin(2);
    fake_plugin.set("hold", 1);
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
    fake_plugin.set("hold", 0);
    fgt_ok(fgi_event_wait(ready, &err));
    fgi_event_destroy(ready);
    float got[4];
    fgt_ok(fg_array_read(f.args[0], got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got);
    fake_step_end(&f);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void failing_transfers_are_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fake_step f = fake_step_begin(3);
    fg_array *a;
    fgi_event *done;
    float got[4];
    fake_plugin.set("upload_error", 14);
    fake_plugin.set("upload_skip", 2); /* fails on the third device */
    assert_int_equal(fg_array_create(f.client, &vec4, numbers, &a, &err), FG_EDEVICE);
    assert_string_equal(err.message, "uploading an array on cpu:2 (fakepjrt.so): UNAVAILABLE: the "
                                     "bus is on strike");
    fake_plugin.set("upload_skip", 1);
    assert_int_equal(
        fgi_array_upload(f.client, &vec4, NULL, numbers, FGI_UPLOAD_ASYNC, &a, &done, &err),
        FG_EDEVICE);
    assert_null(a);
    assert_null(done);
    fake_plugin.reset();
    fake_plugin.set("upload_late_error", 14);
    fgt_ok(fg_array_create(f.client, &vec4, numbers, &a, &err));
    assert_int_equal(fg_array_read(a, got, sizeof got, &err), FG_EDEVICE);
    fgt_message_is(
        err.message,
        "reading an array on cpu:0 (fakepjrt.so): UNAVAILABLE: the bus broke down on the way");
    fg_array_release(a);
    fake_plugin.reset();
    fake_plugin.set("download_error", 14);
    assert_int_equal(fg_array_read(f.args[0], got, sizeof got, &err), FG_EDEVICE);
    fake_plugin.reset();
    fake_plugin.set("download_late_error", 14);
    assert_int_equal(fg_array_read(f.args[0], got, sizeof got, &err), FG_EDEVICE);
    assert_string_equal(err.message, "reading an array on cpu:0 (fakepjrt.so): UNAVAILABLE: the "
                                     "bus broke down on the way");
    fake_plugin.reset();
    fake_plugin.set("ready_error", 13);
    fake_plugin.set("ready_skip", 1);
    assert_int_equal(fg_array_wait(f.args[0], &err), FG_EDEVICE);
    fake_step_end(&f);
}

static void odd_types_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client = fake_step_client(1);
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
    fg_client *client = fake_step_client(2);
    float *data = fgi_alloc_aligned(sizeof numbers + 64);
    float got[4];
    fg_array *a;
    fgi_event *done;
    fake_plugin.set("delay_ms", 2);
    /* 64-byte aligned: used in place until the array is destroyed */
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
    fake_plugin.set("hold", 1);
    fgt_ok(fgi_array_upload(client, &vec4, NULL, data + 1, FGI_UPLOAD_ASYNC, &a, &done, &err));
    assert_false(fgi_event_is_ready(done));
    fake_plugin.set("hold", 0);
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
    fake_step f = fake_step_begin(1);
    float got[4] = {0};
    fgi_event *done;
    fake_plugin.set("hold", 1);
    fgt_ok(fgi_array_download(f.args[0], got, sizeof got, &done, &err));
    assert_false(fgi_event_is_ready(done));
    assert_true(got[0] == 0);
    fake_plugin.set("hold", 0);
    fgt_ok(fgi_event_wait(done, &err));
    assert_memory_equal(got, numbers, sizeof got);
    assert_int_equal(fg_client_stats_of(f.client).host_reads, 0);
    fgi_event_destroy(done);
    assert_int_equal(fgi_array_download(f.args[0], got, 3, &done, &err), FG_EINVAL);
    assert_null(done);
    fake_step_end(&f);
}

/* ---- host callbacks -------------------------------------------------------------------------- */

typedef struct heard {
    _Atomic int calls;
    fg_status status;
    char message[sizeof((fg_error *)0)->message];
} heard;

static void listen(void *self, const fg_error *failed)
{
    heard *h = self;
    h->status = failed != NULL ? failed->status : FG_OK;
    snprintf(h->message, sizeof h->message, "%s", failed != NULL ? failed->message : "");
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
    fake_step f = fake_step_begin(3);
    fg_array *outs[2];
    fgi_event *done;
    heard late = {0}, at_once = {0}, failed = {0}, refused = {0};
    fake_plugin.set("hold", 1);
    fgt_ok(fgi_execute(f.step, f.args, 2, outs, &done, &err));
    fgt_ok(fgi_event_on_ready(done, NULL, listen, &late, &err));
    assert_int_equal(atomic_load(&late.calls), 0);
    fake_plugin.set("hold", 0);
    wait_for(&late);
    assert_int_equal(late.status, FG_OK);
    assert_string_equal(late.message, "");
    fgt_ok(fgi_event_wait(done, &err));
    fgt_ok(fgi_event_on_ready(done, NULL, listen, &at_once, &err));
    assert_int_equal(atomic_load(&at_once.calls), 1);
    fake_plugin.set("on_ready_error", 13);
    fake_plugin.set("on_ready_skip", 2);
    fgt_ok(fgi_event_on_ready(done, NULL, listen, &refused, &err));
    wait_for(&refused);
    assert_int_equal(refused.status, FG_EDEVICE);
    assert_non_null(strstr(refused.message, "no listeners today"));
    fake_plugin.set("on_ready_error", 0);
    fgi_event_destroy(done);
    fg_array_release(f.args[0]);
    f.args[0] = outs[0];
    fg_array_release(outs[1]);
    fake_plugin.set("execute_late_error", 13);
    fgt_ok(fgi_execute(f.step, f.args, 2, outs, &done, &err));
    fgt_ok(fgi_event_on_ready(done, NULL, listen, &failed, &err));
    fgi_event_destroy(done); /* it is called nevertheless */
    wait_for(&failed);
    assert_int_equal(failed.status, FG_EDEVICE);
    assert_non_null(strstr(failed.message, "a cosmic ray"));
    fg_array_release(outs[0]);
    fg_array_release(outs[1]);
    fake_step_end(&f);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { LAUNCHES = 200 };

/* Launches on a separate state; the program and the second argument are shared. */
static void *launch_often(void *self)
{
    const fake_step *f = self;
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
    fake_step f = fake_step_begin(2);
    fgi_thread threads[4];
    for (int i = 0; i < 4; i++)
        fgt_ok(fgi_thread_start(&threads[i], launch_often, &f, &err));
    for (int i = 0; i < 4; i++) {
        void *failure;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
    assert_int_equal(fg_client_stats_of(f.client).executions, 4 * LAUNCHES);
    fake_step_end(&f);
}

/* ---- allocation failures --------------------------------------------------------------------- */

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
    FGI_DONE(fgi_compile(client, fake_step_text, strlen(fake_step_text), NULL, 0, &opt, &e, err));
    FGI_DONE(fg_array_create(client, &vec4, numbers, &args[0], err));
    FGI_DONE(
        fgi_array_upload(client, &mat22, NULL, numbers, FGI_UPLOAD_ASYNC, &args[1], &host, err));
    FGI_DONE(fgi_execute(e, args, 2, outs, &done, err));
    FGI_DONE(fgi_event_on_ready(done, NULL, listen, &h, err));
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

static const struct CMUnitTest tests[] = {
    FAKE_CASE(run_gives_outputs_and_consumes),
    FAKE_CASE(reads_of_more_places_than_fit),
    FAKE_CASE(bad_arguments_are_refused),
    FAKE_CASE(failed_launch_has_consumed),
    FAKE_CASE(memory_runs_out_while_running),
    FAKE_CASE(late_failure_reaches_event_and_outputs),
    FAKE_CASE(chain_of_late_steps_is_launched_ahead),
    FAKE_CASE(failing_transfers_are_reported),
    FAKE_CASE(odd_types_are_refused),
    FAKE_CASE(asynchronous_upload_says_when_data_is_free),
    FAKE_CASE(download_does_not_wait),
    FAKE_CASE(listener_is_called_once_for_all_devices),
    FAKE_CASE(threads_share_a_program),
    FAKE_CASE(every_allocation_may_fail),
};

int main(void)
{
    if (!fake_open(&fake_plugin)) {
        print_error("%s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
