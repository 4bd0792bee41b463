/* test_train_delays.c - where the time of the devices goes: delays of known length, each of another
 * kind and in another window, must appear in their columns. On the fake plugin, whose steps take no
 * time; this file overrides fsync.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "toy_place.h"

/* Of 100 ms at first, so that 5 % are longer than a machine needs for a step; longer in each
 * further attempt, for machines that are busy. */
static int delay_ms = 100;
enum { BATCH = 4, EPOCH_STEPS = 8, WINDOW_STEPS = 4, WINDOWS = 7, ATTEMPTS = 20 };
enum { IN_OTHER, IN_INPUT, IN_READ, IN_CHECKPOINT, IN_COMPILE, IN_UPLOAD, COLUMNS };
/* The delay of each window; that of the last one is a read by a callback. */
static const int delayed[WINDOWS] = {IN_OTHER,   IN_INPUT,  IN_READ, IN_CHECKPOINT,
                                     IN_COMPILE, IN_UPLOAD, IN_READ};
static const char *const names[COLUMNS] = {"other",      "input",   "read",
                                           "checkpoint", "compile", "upload"};

static atomic_bool is_sync_slow, is_save_slow;
static double rate; /* in the window with the checkpoint: samples per second, without its time */

/* Sleeps; the time may be longer than asked for, so the caller learns how long it was. */
static double delay(void)
{
    const int64_t begin = fgi_now_ns();
    const struct timespec time = {.tv_nsec = delay_ms * 1000000L};
    (void)nanosleep(&time, NULL);
    return (double)(fgi_now_ns() - begin) * 1e-9;
}

/* What one run injects and where: sleeping functions record how long they slept, the fake plugin
 * is assumed to be exact. */
static _Atomic double slept[COLUMNS];

static fg_array *value; /* of the user's, on the device */

int fsync(int fd)
{
    (void)fd; /* what is saved is not read again */
    if (atomic_exchange(&is_sync_slow, false))
        atomic_store(&slept[IN_CHECKPOINT], atomic_load(&slept[IN_CHECKPOINT]) + delay());
    return 0;
}

/* The state of the callback, of which there is none. */
static size_t save(void *self, void *bytes, size_t size)
{
    (void)self, (void)bytes, (void)size;
    if (atomic_exchange(&is_save_slow, false))
        atomic_store(&slept[IN_CHECKPOINT], delay());
    return 0;
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    (void)self, (void)bytes, (void)size, (void)err;
    return FG_OK;
}

static fg_status read_sample(void *self, int64_t epoch, int64_t index, void *const *out_fields,
                             fg_error *err)
{
    (void)self, (void)err;
    if (epoch == 0 && index == 5 * BATCH) /* of step 6 */
        atomic_store(&slept[IN_INPUT], delay());
    *(int32_t *)out_fields[1] = toy_sample(index, 1, out_fields[0]);
    return FG_OK;
}

static fg_dataset *slow_data(void)
{
    static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}}};
    static const fg_dataset_ops ops = {.read_epoch = read_sample};
    const fg_dataset_spec spec = {
        .count = EPOCH_STEPS * BATCH, .fields = fields, .field_count = 2, .class_count = 3};
    fg_dataset *dataset = NULL;
    fg_error err = {0};
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    return dataset;
}

/* Sets the delays of the plugin, and removes them a step later. */
static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)self;
    fake.set("compile_ms", 0);
    fake.set("upload_ms", at->step == 21 ? delay_ms : 0);
    fake.set("download_ms", at->step == EPOCH_STEPS ? delay_ms : 0);
    if (at->step == 2)
        atomic_store(&slept[IN_OTHER], delay());
    if (at->step == 13) {
        atomic_store(&is_save_slow, true);
        atomic_store(&is_sync_slow, true);
    }
    if (at->step != 26)
        return FG_OK;
    float number;
    fake.set("download_ms", delay_ms);
    return fg_array_read(value, &number, sizeof number, err);
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 16)
        rate = at->samples_per_s;
    return FG_OK;
}

/* The program of training is compiled once more, without the gradient of a bias. */
static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    fake.set("download_ms", 0);
    if (at->step != 2 * EPOCH_STEPS)
        return FG_OK;
    fake.set("compile_ms", delay_ms);
    return fg_module_freeze(fg_trainer_module(self), "fc1.bias", NULL, err);
}

static double part_of(const fg_idle *time, int column)
{
    const double parts[COLUMNS] = {time->other_s,      time->input_s,   time->read_s,
                                   time->checkpoint_s, time->compile_s, time->upload_s};
    return parts[column];
}

static double sum_of(const fg_idle *time)
{
    double sum = 0;
    for (int i = 0; i < COLUMNS; i++)
        sum += part_of(time, i);
    return sum;
}

/* Whether the column has this length within 5 %; says so otherwise. */
static bool has(const char *where, int column, const fg_idle *time, double expected)
{
    const bool is_good = fabs(part_of(time, column) - expected) <= 0.05 * delay_ms * 1e-3;
    if (!is_good)
        print_message("%s: %s is %.1f ms, not %.1f\n", where, names[column],
                      1e3 * part_of(time, column), 1e3 * expected);
    return is_good;
}

/* Window k has delay k and no other; the call has all. */
static bool is_right(const fg_result *r)
{
    bool is_good = true;
    char name[32];
    for (int k = 0; k < WINDOWS; k++) {
        (void)snprintf(name, sizeof name, "window %d", k);
        for (int i = 0; i < COLUMNS; i++)
            is_good &= has(name, i, &r->windows[k].time, i == delayed[k] ? slept[i] : 0);
    }
    for (int i = 0; i < COLUMNS; i++)
        is_good &= has("call", i, &r->idle, (i == IN_READ ? 2 : 1) * slept[i]);
    const double with_delay = WINDOW_STEPS * BATCH / (delay_ms * 1e-3);
    if (rate < 2 * with_delay)
        print_message("%g samples/s without the delays, not more than %g\n", rate, 2 * with_delay);
    is_good &= rate > 2 * with_delay;
    return is_good;
}

static void check_sums(const fg_result *r)
{
    double all = 0, busy = 0;
    int64_t samples = BATCH; /* the first launch is not timed */
    assert_int_equal(r->window_count, WINDOWS);
    for (int k = 0; k < WINDOWS; k++) {
        const fg_time_window *w = &r->windows[k];
        assert_int_equal(w->step, WINDOW_STEPS * (k + 1));
        for (int i = 0; i < COLUMNS; i++)
            assert_true(part_of(&w->time, i) >= 0);
        fgt_close("idle of a window", sum_of(&w->time), w->time.idle_s, 1e-9, 0);
        all += w->time.idle_s;
        busy += w->time.busy_s;
        samples += w->samples;
    }
    fgt_close("idle", all, r->idle.idle_s, 1e-9, 0);
    fgt_close("busy", busy, r->idle.busy_s, 1e-9, 0);
    fgt_close("steps", r->step_times.mean_s * (double)r->step_times.count, all + busy, 1e-6, 0);
    assert_true(r->step_times.max_s > 0.9e-3 * delay_ms);
    assert_int_equal(samples, WINDOWS * WINDOW_STEPS * BATCH);
}

static bool run(void)
{
    static const fg_callback_ops ops = {.name = "slow",
                                        .batch_end = on_batch_end,
                                        .log = on_log,
                                        .epoch_end = on_epoch_end,
                                        .save = save,
                                        .load = load};
    fg_error err = {0};
    const fg_trainer_options options = {.limits.max_steps = WINDOWS * WINDOW_STEPS,
                                        .output.log_every = WINDOW_STEPS,
                                        .checkpoints.run_dir = fgt_temp_folder(),
                                        .checkpoints.ckpt_every_epochs = FG_NONE,
                                        .checkpoints.ckpt_every_steps = 14,
                                        .checkpoints.wait_for_saves = true};
    fg_trainer *trainer = toy_trainer(client, &options);
    const fg_fit_data data = {
        .train = train_data, .batch_size = BATCH, .workers = FG_NONE, .no_shuffle = true};
    fgt_ok(fg_trainer_add_callback(trainer, &ops, trainer, &err));
    for (int i = 0; i < COLUMNS; i++)
        slept[i] = 1e-3 * delay_ms;
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fake.reset();
    const fg_result *r = fg_trainer_result(trainer);
    check_sums(r);
    const bool is_good = is_right(r);
    fg_trainer_destroy(trainer);
    return is_good;
}

/* Another process can take the processor for a while: one of several runs must be right. */
static void delays_are_in_their_columns(void **state)
{
    (void)state;
    for (int i = 0; i < ATTEMPTS; i++) {
        if (run())
            return;
        delay_ms += 40;
    }
    fail_msg("no run attributed all delays within 5 %%");
}

/* A read by its place; its waits are seconds. */
static const fg_host_read *find(const fg_host_read *reads, size_t count, const char *at)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(reads[i].at, at) == 0) {
            assert_true(reads[i].wait_s >= 0 && reads[i].wait_s < 10);
            return &reads[i];
        }
    fail_msg("no read at '%s'", at);
    return NULL;
}

/* The lines of this file, what the Trainer reads, and the time that they wait. */
static void reads_have_places(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *own = NULL;
    fg_array *array = NULL;
    fg_host_read reads[FG_MAX_HOST_READS];
    float number;
    char at[120];
    const fg_type type = {.dtype = FG_F32};
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""}, &own,
        &err));
    assert_int_equal(fg_client_host_reads(own, reads, FG_MAX_HOST_READS), 0);
    fgt_ok(fg_array_create(own, &type, &(float){1}, &array, &err));
    fake.set("download_ms", 20);
    const int line = __LINE__ + 2;
    for (int i = 0; i < 3; i++)
        fgt_ok(fg_array_read(array, &number, sizeof number, &err));
    fake.reset();
    fgt_ok(fg_array_wait(array, &err));
    fg_trainer *trainer =
        toy_trainer(own, &(fg_trainer_options){.limits.max_epochs = 1,
                                               .output.log_every = 4,
                                               .checkpoints.run_dir = fgt_temp_folder()});
    const fg_fit_data data = {
        .train = train_data, .val = train_data, .batch_size = BATCH, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    const size_t count = fg_client_host_reads(own, reads, FG_MAX_HOST_READS);
    assert_int_equal(fg_client_host_reads(own, reads, 1), count);
    (void)snprintf(at, sizeof at, "%s:%d", __FILE__, line);
    const fg_host_read *r = find(reads, count, at);
    assert_true(r == reads && r->count == 3 && r->bytes == 12);
    assert_true(r->wait_s >= 0.060);
    (void)snprintf(at, sizeof at, "%s:%d", __FILE__, line + 2);
    r = find(reads, count, at);
    assert_true(r == reads + 1 && r->count == 1 && r->bytes == 0);
    /* loss and accuracy, each with its weight, and six numbers of the update */
    r = find(reads, count, "metrics");
    assert_true(r->count == 3 && r->bytes == 3 * (4 + 6) * 4); /* of steps 1, 4 and 6 */
    r = find(reads, count, "validation metrics");
    assert_true(r->count == 1 && r->bytes == 4 * 4);
    r = find(reads, count, "checkpoint");
    assert_true(r->count == 1 && r->bytes > (6 * 8 + 8 + 8 * 3 + 3) * 4);
    r = find(reads, count, "optimizer's report on the last update");
    assert_true(r->count == 1 && r->bytes == 6 * 4);
    fg_trainer_destroy(trainer);
    fg_array_release(array);
    fg_client_close(own);
}

static int open_all(void **state)
{
    (void)state;
    toy_use_memory();
    const int status = open_place(1, 1);
    fg_dataset_destroy(train_data);
    train_data = slow_data();
    const fg_type type = {.dtype = FG_F32};
    fg_error err = {0};
    return status != 0 || fg_array_create(client, &type, &(float){1}, &value, &err) != FG_OK;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(delays_are_in_their_columns),
    cmocka_unit_test(reads_have_places),
};
static int release(void **state)
{
    fg_array_release(value);
    return close_all(state);
}

int main(void) { return cmocka_run_group_tests(tests, open_all, release) == 0 ? 0 : 1; }
