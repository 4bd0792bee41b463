/* test_train_faults.c - the Trainer on a plugin that fails, is slow, or is out of memory: errors,
 * what is kept, and that nothing leaks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ckpt/series.h"
#include "data/dataset.h"
#include "fakepjrt/fake_control.h"
#include "optim/optimizer.h"
#include "pjrt/plugin.h"
#include "toy.h"

static fake_control fake;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

/* A Trainer of 4 epochs of 3 steps on 10 samples, with a separate client. */
typedef struct fixture {
    fg_client *client;
    fg_dataset *train, *val;
    fg_trainer *trainer;
    fg_fit_data data;
    recorder record;
} fixture;

static fixture begin(const fg_trainer_options *options, int workers)
{
    fg_error err = {0};
    fixture f = {.train = toy_data(10, 1), .val = toy_data(5, 2)};
    const fg_client_options client = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    fgt_ok(fg_client_open(&client, &f.client, &err));
    fg_trainer_options o = *options;
    o.devices.client = f.client;
    o.limits.max_epochs = o.limits.max_epochs != 0 ? o.limits.max_epochs : 4;
    fgt_ok(toy_create(&o, &f.trainer, &err));
    f.data = (fg_fit_data){.train = f.train,
                           .val = f.val,
                           .predict = f.val,
                           .batch_size = 4,
                           .workers = workers < 0 ? FG_NONE : workers};
    return f;
}

/* The recorder is in the fixture, whose address is only known now. */
static void record(fixture *f)
{
    fg_error err = {0};
    fgt_ok(fg_trainer_add_callback(f->trainer, &recorder_ops, &f->record, &err));
}

static void end(fixture *f)
{
    fake.reset();
    fg_trainer_destroy(f->trainer);
    fg_dataset_destroy(f->train);
    fg_dataset_destroy(f->val);
    fg_client_close(f->client);
}

/* Before and after each test, no object of the plugin and no heap block of the library exists. */
static int nothing_is_alive(void **state)
{
    (void)state;
    static const char *const counters[] = {"clients", "buffers", "events",  "states",
                                           "errors",  "bytes",   "programs"};
    int alive = fgi_alloc_live() != 0;
    if (alive)
        print_error("%ld blocks alive\n", fgi_alloc_live());
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (fake.get(counters[i]) != 0) {
            print_error("%ld %s alive\n", fake.get(counters[i]), counters[i]);
            alive = 1;
        }
    fake.reset();
    return alive;
}

static int open_fake(void **state)
{
    (void)state;
    return fake_open(&fake) ? 0 : 1;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* A fault that the plugin injects after `skip` calls, and the error that fit then returns. */
typedef struct fault_row {
    const char *fault;
    int skip, code;
    fg_status status;
    const char *says;
    bool is_lost;
} fault_row;

static const fault_row rows[] = {
    {"compile", 0, 8, FG_EDEVMEM,
     "compiling on cpu:0 (fakepjrt.so): RESOURCE_EXHAUSTED: the compiler ran out of memory", false},
    {"compile", 0, 13, FG_ECOMPILE,
     "compiling on cpu:0 (fakepjrt.so): INTERNAL: the compiler gave up", false},
    {"compile", 1, 13, FG_ECOMPILE,
     "compiling on cpu:0 (fakepjrt.so): INTERNAL: the compiler gave up",
     false}, /* of validation, after the first epoch */
    {"execute", 0, 8, FG_EDEVMEM,
     "training step 1: running a program on cpu:0 (fakepjrt.so): RESOURCE_EXHAUSTED: the device "
     "caught fire",
     true},
    {"execute", 7, 13, FG_EDEVICE,
     "training step 6: running a program on cpu:0 (fakepjrt.so): INTERNAL: the device caught fire",
     true},
    {"execute", 4, 13, FG_EDEVICE,
     "validation step 2: running a program on cpu:0 (fakepjrt.so): INTERNAL: the device caught "
     "fire",
     false},
    {"execute_late", 1, 13, FG_EDEVICE,
     "training step 2: running a program on cpu:0 (fakepjrt.so): INTERNAL: a cosmic ray", true},
    {"execute_late", 3, 8, FG_EDEVMEM,
     "validation step 1: running a program on cpu:0 (fakepjrt.so): RESOURCE_EXHAUSTED: a cosmic "
     "ray",
     false},
    {"upload", 3, 13, FG_EDEVICE, "uploading", false}, /* somewhere among the variables */
    {"upload", 25, 13, FG_EDEVICE, "on cpu:0 (fakepjrt.so): INTERNAL:", false},
    {"download", 0, 13, FG_EDEVICE, "reading an array on cpu:0 (fakepjrt.so): INTERNAL", false},
    {"download_late", 0, 13, FG_EDEVICE,
     "reading the train_metrics of step 1: reading an array on cpu:0 (fakepjrt.so): INTERNAL",
     false},
    {"download_late", 1, 13, FG_EDEVICE,
     "reading the train_metrics of step 2: reading an array on cpu:0 (fakepjrt.so): INTERNAL",
     false},
    {"download_late", 3, 13, FG_EDEVICE, "reading the val_metrics of step 3: reading an array",
     false},
    {"ready", 0, 13, FG_EDEVICE, "computing an array on cpu:0 (fakepjrt.so): INTERNAL", false},
    {"ready", 7, 13, FG_EDEVICE, "computing an array on cpu:0 (fakepjrt.so): INTERNAL", false},
};

static void set_fault(const fault_row *row)
{
    char name[48];
    (void)snprintf(name, sizeof name, "%s_error", row->fault);
    fake.set(name, row->code);
    (void)snprintf(name, sizeof name, "%s_skip", row->fault);
    fake.set(name, row->skip);
}

/* After a failure that left the weights intact, the run continues; after one that lost them, an
 * error says so. */
static void assert_what_is_left(fixture *f, const fault_row *row, fg_error *err)
{
    const bool says_lost = strstr(err->message, "the weights on the device are lost") != NULL;
    if (says_lost != row->is_lost)
        fail_msg("%s, skip %d: '%s'", row->fault, row->skip, err->message);
    fake.reset();
    const fg_status again = fg_trainer_fit(f->trainer, &task, &f->data, err);
    if (again != (row->is_lost ? FG_EDEVICE : FG_OK))
        fail_msg("%s, skip %d: again: '%s'", row->fault, row->skip, err->message);
    if (row->is_lost) {
        assert_non_null(strstr(err->message, "the weights were lost when training step"));
        assert_int_equal(fg_trainer_validate(f->trainer, &task, &f->data, err), FG_EDEVICE);
    } else {
        assert_int_equal(fg_trainer_result(f->trainer)->steps, 12);
    }
}

static void a_fault_is_reported_and_the_run_ends(int delay_ms, int workers)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fault_row *row = &rows[i];
        fg_error err = {0};
        fixture f = begin(&(fg_trainer_options){.output.log_every = 2}, workers);
        record(&f);
        fake.set("delay_ms", delay_ms);
        set_fault(row);
        const fg_status status = fg_trainer_fit(f.trainer, &task, &f.data, &err);
        if (status != row->status || err.status != status || !strstr(err.message, row->says))
            fail_msg("%s, skip %d: %s: '%s'", row->fault, row->skip, fg_status_name(status),
                     err.message);
        assert_int_equal(fg_trainer_result(f.trainer)->status, status);
        assert_int_equal(recorder_count(&f.record, "fit_end"),
                         recorder_count(&f.record, "fit_start"));
        assert_what_is_left(&f, row, &err);
        end(&f);
        assert_int_equal(nothing_is_alive(NULL), 0);
    }
}

static void faults_at_once(void **state)
{
    (void)state;
    a_fault_is_reported_and_the_run_ends(0, -1);
}

/* With loader threads, and all events slightly delayed. */
static void faults_while_everything_is_late(void **state)
{
    (void)state;
    a_fault_is_reported_and_the_run_ends(1, 2);
}

static void the_last_checkpoint_is_named_after_a_loss(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(&(fg_trainer_options){.checkpoints = {.run_dir = fgt_temp_folder(),
                                                            .ckpt_every_epochs = 1}},
                      -1);
    fake.set("execute_late_error", 13);
    fake.set("execute_late_skip", 6); /* 3 steps, 2 of validation, 1 step */
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVICE);
    fgt_message_is(
        err.message,
        "training step 5: running a program on cpu:0 (fakepjrt.so): INTERNAL: a cosmic ray\nthe "
        "weights on the device are lost; the last saved are in ~/checkpoints/step-000000003");
    fake.set("execute_late_error", 0);
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVICE);
    assert_non_null(strstr(err.message, "the weights were lost when training step 5 failed: "));
    end(&f);
    fake.reset();
    f = begin(&(fg_trainer_options){.output.log_every = 50}, -1); /* without a folder */
    fake.set("execute_late_error", 13);
    fake.set("execute_late_skip", 6);
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVICE);
    assert_non_null(
        strstr(err.message, "\nthe weights on the device are lost; this fit saved none"));
    end(&f);
}

/* The second batch of a step, whose sums are lost, or its update, which is named like the step. */
static void a_part_of_a_step_that_fails_is_named(void **state)
{
    (void)state;
    for (int launched = 1; launched <= 2; launched++) {
        fg_error err = {0};
        fixture f = begin(&(fg_trainer_options){.numerics.accumulate_grad_batches = 2}, -1);
        fake.set("execute_error", 13);
        fake.set("execute_skip", launched);
        assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVICE);
        fgt_message_is(
            err.message,
            "training step 1: running a program on cpu:0 (fakepjrt.so): INTERNAL: the "
            "device caught fire\nthe weights on the device are lost; this fit saved none");
        fake.set("execute_error", 0);
        assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVICE);
        assert_non_null(strstr(err.message, "the weights were lost when training step 1 failed: "));
        end(&f);
        fake.reset();
    }
}

/* Too little memory for a step loses nothing: with more memory, the run continues. */
static void out_of_memory_at_run_keeps_the_weights(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f = begin(&(fg_trainer_options){0}, -1);
    record(&f);
    f.record.at_event = "batch_end";
    f.record.at_count = 4;
    f.record.status = FG_ESTOPPED;
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_ESTOPPED);
    fake.set("memory_limit_bytes", fake.get("bytes") + 8);
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVMEM);
    fgt_message_is(
        err.message,
        "training step 5: uploading an array on cpu:0 (fakepjrt.so): RESOURCE_EXHAUSTED: Out of "
        "memory allocating 96 bytes.\nnot even a batch of 1 per device fits in 1.1 kB: parameters "
        "332 B, optimizer 692 B, batch 176 B, activations 40 B, program 0 B");
    assert_null(strstr(err.message, "lost"));
    fake.set("memory_limit_bytes", 0);
    fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err));
    assert_int_equal(fg_trainer_result(f.trainer)->steps, 12);
    end(&f);
}

/* A failed upload of any field or of the scalars returns the batch to the loader exactly once: the
 * loader's few slots survive any number of failures. */
static void failed_uploads_give_batches_back(int delay_ms, int workers)
{
    fg_error err = {0};
    fixture f = begin(&(fg_trainer_options){0}, workers);
    record(&f);
    f.record.at_event = "batch_end";
    f.record.at_count = 1;
    f.record.status = FG_ESTOPPED; /* the variables are on the device from now on */
    assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_ESTOPPED);
    for (int i = 0; i < 30; i++) {
        fake.set("delay_ms", delay_ms);
        set_fault(&(fault_row){.fault = "upload", .skip = i % 3, .code = 13});
        assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EDEVICE);
        assert_non_null(strstr(err.message, i % 3 < 2 ? "training step 2: uploading an array on"
                                                      : "uploading the step's scalars"));
        assert_null(strstr(err.message, "lost"));
    }
    fake.reset();
    fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err));
    assert_int_equal(fg_trainer_result(f.trainer)->steps, 12);
    end(&f);
}

static void failed_uploads(void **state)
{
    (void)state;
    failed_uploads_give_batches_back(0, -1);
    failed_uploads_give_batches_back(1, 2);
}

/* ---- delays ---------------------------------------------------------------------------------- */

static fg_status hold_before_the_first(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 0)
        fake.set("hold", 1);
    return FG_OK;
}

static fg_status release_after_three(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 3)
        fake.set("hold", 0);
    return FG_OK;
}

static const fg_callback_ops holder = {.epoch_start = hold_before_the_first,
                                       .batch_end = release_after_three};

/* Metrics are read asynchronously: those of step 1 arrive after further steps have been launched.
 * The device executes nothing until the third launch. */
static void metrics_arrive_behind_the_running_step(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f =
        begin(&(fg_trainer_options){.output.log_every = 1, .validation.val_every_epochs = 4}, 1);
    record(&f);
    fgt_ok(fg_trainer_add_callback(f.trainer, &holder, NULL, &err));
    fake.set("delay_ms", 3);
    fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err));
    const char *log = strstr(f.record.text, "log          step 1 ");
    const char *later = strstr(f.record.text, "batch_end    step 3 ");
    assert_true(log != NULL && later != NULL && later < log);
    assert_int_equal(recorder_count(&f.record, "log"), 12);
    fg_host_read reads[FG_MAX_HOST_READS];
    const size_t count = fg_client_host_reads(f.client, reads, FG_MAX_HOST_READS);
    for (size_t i = 0; i < count; i++)
        if (strcmp(reads[i].at, "metrics") == 0)
            assert_int_equal(reads[i].count, 12); /* the first step's only once */
    const fg_result *r = fg_trainer_result(f.trainer);
    assert_int_equal(r->host_reads, 0);
    assert_true(r->idle.busy_s + r->idle.idle_s > 0.003);
    assert_true(r->idle.read_s >= 0 && r->idle.other_s >= 0);
    end(&f);
}

/* If a batch arrives late, the device's idle time is attributed to the upload. */
static void a_late_batch_is_upload_time(void **state)
{
    (void)state;
    fg_error err = {0};
    fixture f =
        begin(&(fg_trainer_options){.limits.max_epochs = 2, .validation.val_every_epochs = 2}, -1);
    fake.set("delay_ms", 3);
    fgt_ok(fg_trainer_validate(f.trainer, &task, &f.data, &err));
    const fg_idle idle = fg_trainer_result(f.trainer)->idle;
    const double parts = idle.input_s + idle.upload_s + idle.compile_s + idle.read_s +
                         idle.checkpoint_s + idle.other_s;
    fgt_close("idle", parts, idle.idle_s, 1e-9, 0);
    assert_true(idle.upload_s > 0);
    end(&f);
}

/* ---- predict --------------------------------------------------------------------------------- */

typedef struct receiver {
    int64_t rows, fail_at;
} receiver;

static fg_status receive(void *self, const fg_type *type, const void *data, int64_t first,
                         fg_error *err)
{
    receiver *r = self;
    (void)err;
    assert_non_null(data);
    assert_int_equal(first, r->rows);
    r->rows += type->dim[0];
    return r->fail_at > 0 && r->rows >= r->fail_at ? FG_EIO : FG_OK;
}

static void faults_of_a_prediction(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int skip;
        const char *says;
    } faults[] = {
        {"execute_late", 1, "prediction step 2: running a program on cpu:0 (fakepjrt.so)"},
        {"execute", 1, "prediction step 2: running a program on cpu:0 (fakepjrt.so)"},
        {"download_late", 0, "reading the predictions of batch 1: reading an array on cpu:0"},
        {"download", 1, "reading an array on cpu:0 (fakepjrt.so)"},
    };
    for (int delay = 0; delay < 2; delay++)
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
            fg_error err = {0};
            receiver r = {0};
            fixture f = begin(&(fg_trainer_options){0}, delay - 1);
            fake.set("delay_ms", delay);
            set_fault(&(fault_row){.fault = faults[i].name, .skip = faults[i].skip, .code = 13});
            assert_int_equal(fg_trainer_predict(f.trainer, &task, &f.data, receive, &r, &err),
                             FG_EDEVICE);
            if (!strstr(err.message, faults[i].says))
                fail_msg("%s: '%s'", faults[i].name, err.message);
            assert_null(strstr(err.message, "lost"));
            fake.reset();
            r = (receiver){0};
            fgt_ok(fg_trainer_predict(f.trainer, &task, &f.data, receive, &r, &err));
            assert_int_equal(r.rows, 5);
            end(&f);
        }
}

/* Sets the bits of the rows that are not numbers. */
static fg_status note_rows(void *self, const fg_type *type, const void *data, int64_t first,
                           fg_error *err)
{
    const int64_t width = fg_type_count(type) / type->dim[0];
    (void)err;
    for (int64_t i = 0; i < type->dim[0]; i++)
        if (isnan(((const float *)data)[i * width]))
            *(int *)self |= 1 << (first + i);
    return FG_OK;
}

/* The last of five samples, which is in the second batch. */
static void a_sample_that_is_damaged_has_no_prediction(void **state)
{
    static const char *errors[] = {"", "", "", "", "torn"};
    int damaged = 0;
    fg_error err = {0};
    fixture f = begin(&(fg_trainer_options){0}, -1);
    (void)state;
    f.val->errors = errors;
    fgt_ok(fg_trainer_predict(f.trainer, &task, &f.data, note_rows, &damaged, &err));
    assert_int_equal(damaged, 1 << 4);
    end(&f);
}

static void a_receiver_may_give_up(void **state)
{
    (void)state;
    for (int64_t at = 4; at <= 5; at++) {
        fg_error err = {0};
        receiver r = {.fail_at = at};
        fixture f = begin(&(fg_trainer_options){0}, -1);
        assert_int_equal(fg_trainer_predict(f.trainer, &task, &f.data, receive, &r, &err), FG_EIO);
        assert_string_equal(err.message, "the function that receives the predictions failed");
        assert_int_equal(fg_trainer_predict(f.trainer, &task, &f.data, NULL, NULL, &err),
                         FG_EINVAL);
        end(&f);
    }
}

/* Nothing draws progress any more when an evaluation has failed. */
static void a_failed_evaluation_leaves_no_thread(void **state)
{
    static const char tasks[] = "/proc/self/task";
    (void)state;
    fg_error err = {0};
    FILE *progress = fopen("/dev/null", "w");
    fixture f =
        begin(&(fg_trainer_options){.output = {.progress = progress, .progress_style = "bar"}}, -1);
    fgt_ok(fg_trainer_validate(f.trainer, &task, &f.data, &err));
    const int count = fgt_count_entries(tasks);
    set_fault(&(fault_row){.fault = "execute", .code = 13});
    assert_int_equal(fg_trainer_validate(f.trainer, &task, &f.data, &err), FG_EDEVICE);
    const time_t begun = time(NULL); /* a thread that was joined may end a moment later */
    while (fgt_count_entries(tasks) > count && time(NULL) < begun + 60)
        (void)sched_yield();
    assert_in_range(fgt_count_entries(tasks), 1, count);
    end(&f);
    (void)fclose(progress);
}

/* ---- data that fail -------------------------------------------------------------------------- */

static fg_status read_badly(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const int bad = atomic_load((atomic_int *)self);
    if (index == bad) {
        (void)snprintf(err->message, sizeof err->message, "sample %d is torn", bad);
        return FG_EFORMAT;
    }
    *(int32_t *)out_fields[1] = toy_sample(index, 1, out_fields[0]);
    return FG_OK;
}

static void a_sample_that_cannot_be_read(void **state)
{
    (void)state;
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = 10, .fields = fields, .field_count = 2};
    const fg_dataset_ops ops = {.read = read_badly};
    for (int workers = -1; workers < 3; workers++) {
        fg_error err = {0};
        atomic_int bad = 6;
        fixture f = begin(&(fg_trainer_options){0}, workers);
        fg_dataset *data = NULL;
        fgt_ok(fg_dataset_create(&ops, &bad, &spec, &data, &err));
        f.data.train = data;
        f.data.no_shuffle = true;
        assert_int_equal(fg_trainer_fit(f.trainer, &task, &f.data, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, "sample 6 is torn"));
        assert_int_equal(fg_trainer_result(f.trainer)->steps, 1);
        atomic_store(&bad, -1); /* fixed: the batch is read again */
        f.data.workers = FG_NONE;
        fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err));
        assert_int_equal(fg_trainer_result(f.trainer)->steps, 12);
        fg_dataset_destroy(data);
        end(&f);
    }
}

/* ---- many calls ------------------------------------------------------------------------------ */

static void a_hundred_trainers(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        fg_error err = {0};
        fixture f = begin(&(fg_trainer_options){.limits.max_epochs = 1}, i % 3);
        fgt_ok(fg_trainer_fit(f.trainer, &task, &f.data, &err));
        assert_int_equal(fg_trainer_result(f.trainer)->steps, 3);
        end(&f);
    }
}

/* ---- no memory on the host ------------------------------------------------------------------- */

/* The client caches freed memory for later launches; not in this test. */
static void destroy(const fixture *f, fg_trainer *trainer)
{
    fg_trainer_destroy(trainer);
    fgi_donated_free(f->client, true);
}

static fg_status fit_once(void *self, fg_error *err)
{
    const fixture *f = self;
    const fg_schedule schedule = {.row = &fgi_onecycle_row};
    const fg_trainer_options options = {.devices.client = f->client,
                                        .limits.max_steps = 2,
                                        .output.log_every = 1,
                                        .validation.val_every_steps = 1,
                                        .lr.schedule = &schedule,
                                        .checkpoints.monitor = "val_acc"};
    fg_trainer *trainer = NULL;
    fg_status status = toy_create(&options, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, &f->data, err);
    destroy(f, trainer);
    return status;
}

static fg_status predict_once(void *self, fg_error *err)
{
    const fixture *f = self;
    receiver r = {0};
    fg_trainer *trainer = NULL;
    fg_status status =
        toy_create(&(fg_trainer_options){.devices.client = f->client}, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_predict(trainer, &task, &f->data, receive, &r, err);
    destroy(f, trainer);
    return status;
}

static fg_status fit_in_folder(const fixture *f, int64_t steps, const char *resume, fg_error *err)
{
    const fg_trainer_options options = {.devices.client = f->client,
                                        .checkpoints.run_dir = f->record.text,
                                        .limits.max_steps = steps,
                                        .checkpoints.overwrite = resume == NULL,
                                        .checkpoints.keep_checkpoints = 2, /* the first one too */
                                        .checkpoints.resume = resume};
    const fg_fit_data data = {.train = f->train, .batch_size = 4, .workers = FG_NONE};
    fg_trainer *trainer = NULL;
    fg_status status = toy_create(&options, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, &data, err);
    destroy(f, trainer);
    return status;
}

static fg_status save_once(void *self, fg_error *err) { return fit_in_folder(self, 1, NULL, err); }

/* After save_once: without what it saved the time before. */
static fg_status resume_once(void *self, fg_error *err)
{
    const fixture *f = self;
    const char *second = fgt_path(f->record.text, "checkpoints/step-000000002");
    fg_status status = fgi_folder_remove(second, err);
    if (status == FG_OK)
        status =
            fgi_ckpt_point(fgt_path(f->record.text, "checkpoints"), "last", "step-000000001", err);
    if (status == FG_OK)
        status = fit_in_folder(f, 2, "auto", err);
    if (status == FG_OK)
        assert_true(fgi_file_exists(second));
    return status;
}

static void allocations_may_fail(void **state)
{
    (void)state;
    fixture f = begin(&(fg_trainer_options){0}, -1);
    fgt_fault_loop(fit_once, &f);
    fgt_fault_loop(predict_once, &f);
    end(&f);
}

static void allocations_may_fail_while_saving(void **state)
{
    (void)state;
    fixture f = begin(&(fg_trainer_options){0}, -1);
    (void)snprintf(f.record.text, sizeof f.record.text, "%s", fgt_temp_folder());
    fgt_fault_loop(save_once, &f);
    fgt_fault_loop(resume_once, &f);
    end(&f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, nothing_is_alive, nothing_is_alive)
static const struct CMUnitTest tests[] = {
    TEST(faults_at_once),
    TEST(faults_while_everything_is_late),
    TEST(the_last_checkpoint_is_named_after_a_loss),
    TEST(a_part_of_a_step_that_fails_is_named),
    TEST(out_of_memory_at_run_keeps_the_weights),
    TEST(failed_uploads),
    TEST(metrics_arrive_behind_the_running_step),
    TEST(a_late_batch_is_upload_time),
    TEST(faults_of_a_prediction),
    TEST(a_sample_that_is_damaged_has_no_prediction),
    TEST(a_receiver_may_give_up),
    TEST(a_failed_evaluation_leaves_no_thread),
    TEST(a_sample_that_cannot_be_read),
    TEST(a_hundred_trainers),
    TEST(allocations_may_fail),
    TEST(allocations_may_fail_while_saving),
};

/* The tests that walk through all allocations take the longest: ctest runs them separately. */
int main(int argc, char **argv)
{
    toy_use_memory();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    else
        cmocka_set_skip_filter("allocations_may_fail*");
    return cmocka_run_group_tests(tests, open_fake, NULL) == 0 ? 0 : 1;
}
