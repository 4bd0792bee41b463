/* test_train_safety.c - how runs are protected: a folder belongs to one fit at a time and is not
 * overwritten unless requested; mistakes are found before the first step; later failures leave a
 * state to resume from. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/run_lock.h"
#include "base/temporary.h"
#include "ckpt/series.h"
#include "toy_place.h"
#include "train/save/divergence.h"
#include "train/trainer.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(12, 5); /* 3 steps an epoch */
}

static fg_fit_data in_order(void)
{
    fg_fit_data data = the_data();
    data.no_shuffle = true;
    return data;
}

/* Fits in the folder and destroys the Trainer; what was recorded is in *r. */
static fg_status fit(const fg_trainer_options *options, const fg_task *what,
                     const fg_fit_data *data, const char *folder, recorder *r, fg_error *err)
{
    fg_trainer_options o = *options;
    o.checkpoints.run_dir = folder;
    o.checkpoints.ckpt_every_epochs += o.checkpoints.ckpt_every_epochs == 0;
    *err = (fg_error){0};
    fg_trainer *trainer = toy_trainer(client, &o);
    assert_int_equal(fg_trainer_add_callback(trainer, &recorder_ops, r, err), FG_OK);
    const fg_status status = fg_trainer_fit(trainer, what, data, err);
    fg_trainer_destroy(trainer);
    return status;
}

static fg_status fit_epochs(int64_t epochs, const char *folder, const char *resume, bool overwrite,
                            fg_error *err)
{
    static recorder r;
    const fg_fit_data data = in_order();
    r = (recorder){0};
    return fit(&(fg_trainer_options){.limits.max_epochs = epochs,
                                     .checkpoints.resume = resume,
                                     .checkpoints.overwrite = overwrite},
               &task, &data, folder, &r, err);
}

static int last_step(const char *folder)
{
    fg_error err = {0};
    char *path = NULL;
    fgt_ok(fgi_ckpt_resolve(fgt_path(folder, "checkpoints"), "last", &path, &err));
    const int step = (int)strtol(strrchr(path, '-') + 1, NULL, 10);
    fgi_free(path);
    return step;
}

static void contains(const char *whole, const char *part)
{
    if (strstr(whole, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, whole);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void an_earlier_run_is_not_overwritten_unasked(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder(), *other = fgt_temp_folder();
    char theirs[512], *text = NULL;
    size_t size = 0;
    fgt_ok(fit_epochs(4, folder, NULL, false, &err));
    fgt_ok(fit_epochs(1, other, NULL, false, &err));
    assert_int_equal(fit_epochs(1, folder, NULL, false, &err), FG_EINVAL);
    contains(err.message, folder);
    contains(err.message, "holds the checkpoints of an earlier run, which are not deleted\n"
                          "set resume to continue it, overwrite to delete them");
    assert_int_equal(fit_epochs(1, other, NULL, false, &err), FG_EINVAL); /* even a single one */
    /* resuming from another folder does not permit deleting this one */
    (void)snprintf(theirs, sizeof theirs, "%s/checkpoints/step-000000003", other);
    assert_int_equal(fit_epochs(2, folder, theirs, false, &err), FG_EINVAL);
    assert_int_equal(last_step(folder), 12);
    fgt_ok(fgi_file_read(fgt_path(folder, "metrics.jsonl"), 1 << 20, &text, &size, &err));
    contains(text, "{\"step\": 12, ");
    fgi_free(text);
    fgt_ok(fit_epochs(5, folder, "last", false, &err));
    assert_int_equal(last_step(folder), 15);
    fgt_ok(fit_epochs(6, folder, fgt_path(folder, "checkpoints/step-000000015"), false, &err));
    assert_int_equal(last_step(folder), 18);
    fgt_ok(fit_epochs(1, folder, NULL, true, &err));
    assert_int_equal(last_step(folder), 3);
    assert_false(fgi_file_exists(fgt_path(folder, "checkpoints/step-000000018")));
    fgt_ok(fit_epochs(2, folder, theirs, true, &err));
    assert_int_equal(last_step(folder), 6);
}

/* A mistake that is found before the first step deletes nothing, overwrite or not. */
static void a_fit_that_does_not_begin_deletes_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    fgt_ok(fit_epochs(2, folder, NULL, false, &err));
    fake.set("compile_error", 13);
    r = (recorder){0};
    assert_int_equal(
        fit(&(fg_trainer_options){.checkpoints.overwrite = true}, &task, &data, folder, &r, &err),
        FG_ECOMPILE);
    fake.reset();
    assert_int_equal(last_step(folder), 6);
}

typedef struct nested {
    const char *folder;
    fg_status status;
    fg_error err;
} nested;

static fg_status fit_again(void *self, const fg_progress *at, fg_error *err)
{
    nested *n = self;
    (void)at, (void)err;
    n->status = fit_epochs(1, n->folder, "auto", false, &n->err);
    return FG_OK;
}

/* Two fits in one folder: the error of the second one names the first; afterwards the folder is
 * free. */
static void one_fit_at_a_time(void **state)
{
    (void)state;
    fg_error err = {0};
    nested inner = {0};
    char expected[128];
    static const fg_callback_ops ops = {.fit_start = fit_again};
    const fg_fit_data data = in_order();
    const char *folder = fgt_temp_folder();
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.checkpoints.run_dir = folder});
    inner.folder = folder;
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &inner, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(inner.status, FG_EINVAL);
    (void)snprintf(expected, sizeof expected, "is in use: process %ld on host '", (long)getpid());
    contains(inner.err.message, expected);
    contains(inner.err.message, "wait until it has finished, or choose another folder");
    fgt_ok(
        fit_epochs(2, folder, "last", false, &err)); /* although the first Trainer still exists */
    assert_int_equal(last_step(folder), 6);
    inner.status = FG_OK;
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err)); /* a second fit holds it as well */
    assert_int_equal(inner.status, FG_EINVAL);
    fg_trainer_destroy(trainer);
}

/* A damaged checkpoint is passed over; the state of the same step is saved next to it. */
static void a_damaged_checkpoint_is_not_in_the_way(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    const char *folder = fgt_temp_folder();
    static recorder r;
    const fg_fit_data data = in_order();
    r = (recorder){0};
    fgt_ok(
        fit(&(fg_trainer_options){.limits.max_epochs = 2, .checkpoints.keep_checkpoints = FG_NONE},
            &task, &data, folder, &r, &err));
    assert_int_equal(unlink(fgt_path(folder, "checkpoints/step-000000006/manifest.json")), 0);
    for (int i = 0; i < 2; i++) {
        fgt_ok(fit_epochs(2, folder, "auto", false, &err));
        fgt_ok(fgi_file_read(fgt_path(folder, "checkpoints/last"), 100, &text, &size, &err));
        assert_string_equal(text, "step-000000006-v1\n");
        fgi_free(text);
        assert_true(fgi_file_exists(fgt_path(folder, "checkpoints/step-000000006/state.json")));
    }
    fgt_ok(fit_epochs(3, folder, "auto", false, &err));
    assert_int_equal(last_step(folder), 9);
}

/* "auto" starts from the beginning only if there is nothing to continue. */
static void a_run_whose_checkpoints_are_damaged_does_not_start_again(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgt_ok(fit_epochs(1, folder, NULL, false, &err));
    assert_int_equal(unlink(fgt_path(folder, "checkpoints/step-000000003/state.json")), 0);
    assert_int_equal(fit_epochs(2, folder, "auto", false, &err), FG_EFORMAT);
    contains(err.message, "state.json is missing, but listed in manifest.json");
}

/* Neither of two damaged ones is replaced. */
static void a_second_damaged_checkpoint_is_kept_too(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    const char *folder = fgt_temp_folder();
    fgt_ok(fit_epochs(1, folder, NULL, false, &err));
    fgt_ok(fgi_folder_make(fgt_path(folder, "checkpoints/step-000000006"), &err));
    fgt_ok(fgi_folder_make(fgt_path(folder, "checkpoints/step-000000006-v1"), &err));
    fgt_ok(fit_epochs(2, folder, "last", false, &err));
    fgt_ok(fgi_file_read(fgt_path(folder, "checkpoints/last"), 100, &text, &size, &err));
    assert_string_equal(text, "step-000000006-v2\n");
    fgi_free(text);
}

/* The contents of the lock file of a killed process block no other fit. */
static void the_lock_of_a_dead_process_is_free(void **state)
{
    (void)state;
    fg_error err = {0};
    char text[128], machine[FGI_MACHINE_SIZE], *after = NULL;
    size_t size = 1;
    const char *folder = fgt_temp_folder();
    fgi_machine_name(machine);
    const int n = snprintf(text, sizeof text, "%ld %s here\n", (long)getppid(), machine);
    fgt_write(fgt_path(folder, "lock"), text, (size_t)n);
    fgt_ok(fit_epochs(1, folder, NULL, false, &err));
    fgt_ok(fgi_file_read(fgt_path(folder, "lock"), 1000, &after, &size, &err));
    assert_int_equal(size, 0);
    fgi_free(after);
}

/* A program that this one starts does not keep the lock. */
static void a_lock_ends_with_its_process(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    int fd = -1, why = 0;
    (void)state;
    fgt_ok(fgi_lock_take(folder, &fd, &why, &err));
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    fgi_lock_release(folder, fd);
}

/* ---- requests to stop ------------------------------------------------------------------------ */

/* Requests a stop after step 2, and makes a second pass, so that the folder is looked at again. */
static fg_status ask(void *self, const fg_progress *at, fg_error *err)
{
    const struct timespec second = {.tv_sec = 1, .tv_nsec = 50000000};
    if (at->step != 2)
        return FG_OK;
    (void)nanosleep(&second, NULL);
    return fgi_stop_ask(self, err);
}

/* A request ends a fit like a signal, also without handle_signals, and a resumed one continues. One
 * that was made before the fit has no effect. */
static void a_request_in_the_folder_stops_a_fit(void **state)
{
    (void)state;
    fg_error err = {0};
    char note[4096] = "";
    static const fg_callback_ops ops = {.batch_end = ask};
    const fg_fit_data data = in_order();
    const char *folder = fgt_temp_folder();
    FILE *out = fmemopen(note, sizeof note, "w");
    assert_non_null(out);
    fgt_ok(fgi_stop_ask(folder, &err));
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.checkpoints.run_dir = folder,
                                                                    .limits.max_epochs = 2,
                                                                    .output.progress = out});
    fgt_ok(fg_trainer_add_callback(trainer, &ops, (void *)folder, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    contains(err.message, "stopped at step 2 on request; saved in ");
    assert_string_equal(fg_trainer_result(trainer)->stop_reason, "");
    assert_false(fgi_stop_is_asked(folder));
    fg_trainer_destroy(trainer);
    (void)fclose(out);
    contains(note, "\nstop requested: saving to ");
    assert_int_equal(last_step(folder), 2);
    fgt_ok(fit_epochs(2, folder, "last", false, &err));
    assert_int_equal(last_step(folder), 6);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static fg_tensor bad_val_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    return fg_batch_field(batch, "z");
}

static void a_mistake_in_val_step_is_found_before_the_first_step(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_task_ops ops = toy_ops;
    const fg_task bad = {.name = "bad", .self = &model, .ops = &ops};
    const fg_fit_data data = in_order();
    ops.val_step = bad_val_step;
    for (int i = 0; i < 2; i++) {
        r = (recorder){0};
        const fg_trainer_options options = {.limits.max_epochs = 100,
                                            .validation.val_every_epochs = i == 0 ? 1 : 90};
        assert_int_equal(fit(&options, &bad, &data, fgt_temp_folder(), &r, &err), FG_ENOTFOUND);
        contains(err.message, "batch: no field 'z'; there are 'x', 'y'");
        assert_string_equal(r.text, "");
    }
    /* a step that is never used may be invalid */
    r = (recorder){0};
    fgt_ok(fit(&(fg_trainer_options){.validation.val_every_epochs = FG_NONE}, &bad, &data, NULL, &r,
               &err));
}

/* Data whose sample `bad` cannot be read. */
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

static fg_dataset *torn_data(int64_t count, atomic_int *bad)
{
    fg_error err = {0};
    fg_dataset *data = NULL;
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = count, .fields = fields, .field_count = 2};
    static const fg_dataset_ops ops = {.read = read_badly};
    fgt_ok(fg_dataset_create(&ops, bad, &spec, &data, &err));
    return data;
}

static void bad_validation_data_are_found_before_the_first_step(void **state)
{
    (void)state;
    for (int workers = -1; workers < 2; workers++) {
        fg_error err = {0};
        static recorder r;
        atomic_int bad = 1;
        fg_fit_data data = in_order();
        data.val = torn_data(6, &bad);
        data.workers = workers < 0 ? FG_NONE : workers;
        r = (recorder){0};
        assert_int_equal(fit(&(fg_trainer_options){0}, &task, &data, fgt_temp_folder(), &r, &err),
                         FG_EFORMAT);
        contains(err.message, "sample 1 is torn");
        assert_string_equal(r.text, "");
        fg_dataset_destroy(data.val);
    }
}

/* ---- later failures -------------------------------------------------------------------------- */

/* In training or in validation: the steps so far are saved, and a resumed run continues from
 * them. */
static void what_fails_later_leaves_its_state(void **state)
{
    (void)state;
    static const struct {
        bool in_val;
        int bad, accumulate, step; /* at which it ends; the last ones fail within a step */
        int limit;                 /* batches of an epoch, 0: none */
    } rows[] = {{false, 5, 1, 1, 0},
                {true, 5, 1, 3, 0},
                {false, 9, 2, 1, 0},
                {false, 13, 2, 1, 0},
                {false, 13, 2, 1, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        static recorder r;
        char saved[64];
        atomic_int bad = rows[i].bad;
        const char *folder = fgt_temp_folder();
        fg_fit_data data = in_order();
        fg_dataset *torn = torn_data(rows[i].in_val ? 6 : 20, &bad); /* 5 batches of training */
        if (rows[i].in_val)
            data.val = torn;
        else
            data.train = torn;
        const fg_trainer_options options = {.limits.max_epochs = 2,
                                            .limits.limit_train_batches.count = rows[i].limit,
                                            .numerics.accumulate_grad_batches = rows[i].accumulate,
                                            .checkpoints.resume = "auto"};
        r = (recorder){0};
        const fg_status status = fit(&options, &task, &data, folder, &r, &err);
        assert_int_equal(status, FG_EFORMAT);
        contains(err.message, "is torn");
        (void)snprintf(saved, sizeof saved, "\nstopped at step %d; saved in ", rows[i].step);
        contains(err.message, saved);
        assert_int_equal(last_step(folder), rows[i].step);
        assert_int_equal(recorder_count(&r, "fit_end"), 1);
        if (i == 0) { /* a run that gets no further has nothing to save */
            assert_int_equal(fit(&options, &task, &data, folder, &r, &err), FG_EFORMAT);
            assert_null(strstr(err.message, "stopped at step"));
        }
        atomic_store(&bad, -1);
        r = (recorder){0};
        fgt_ok(fit(&options, &task, &data, folder, &r, &err));
        const int batches = rows[i].in_val ? 3 : rows[i].limit > 0 ? rows[i].limit : 5;
        assert_int_equal(recorder_count(&r, "batch_end"),
                         2 * batches - rows[i].step * rows[i].accumulate);
        fg_dataset_destroy(torn);
    }
}

static fg_status fail_uploads(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 2)
        fake.set("upload_error", 13);
    return FG_OK;
}

/* The last batch of an epoch has been read, but not launched: it is in the rest of the epoch. */
static void a_batch_that_is_not_launched_is_not_over(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.batch_end = fail_uploads};
    static const fg_schedule constant = {.row = NULL};
    fg_error err = {0};
    char *json = NULL;
    size_t size = 0;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.checkpoints.run_dir = folder,
                                                                    .limits.max_epochs = 2,
                                                                    .lr.schedule = &constant});
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EDEVICE);
    fake.reset();
    fg_trainer_destroy(trainer);
    assert_int_equal(last_step(folder), 2);
    fgt_ok(fgi_file_read(fgt_path(folder, "checkpoints/step-000000002/state.json"), 1 << 16, &json,
                         &size, &err));
    contains(json, "\"epoch_batches\": 2");
    assert_null(strstr(json, "has_read_epoch"));
    contains(json, "\"total_steps\": 0"); /* no schedule depends on them */
    fgi_free(json);
}

static void weights_that_are_lost_are_not_saved(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    fake.set("execute_late_error", 13);
    fake.set("execute_late_skip", 7); /* 3 steps, 2 of validation, 2 steps */
    r = (recorder){0};
    assert_int_equal(
        fit(&(fg_trainer_options){.limits.max_epochs = 4}, &task, &data, folder, &r, &err),
        FG_EDEVICE);
    fake.reset();
    contains(err.message, "\nthe weights on the device are lost; the last saved are in ");
    assert_int_equal(last_step(folder), 3);
}

/* A line that a callback fails at has been logged. */
static void the_log_precedes_other_callbacks(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    char *text = NULL;
    size_t size = 0;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    r = (recorder){.at_event = "log", .at_count = 2, .status = FG_EIO, .message = "the dog ate it"};
    assert_int_equal(
        fit(&(fg_trainer_options){.output.log_every = 1}, &task, &data, folder, &r, &err), FG_EIO);
    contains(err.message, "the dog ate it");
    fgt_ok(fgi_file_read(fgt_path(folder, "metrics.jsonl"), 1 << 20, &text, &size, &err));
    contains(text, "{\"step\": 2, ");
    fgi_free(text);
}

/* Of sources whose length is not known before they are read. */
static void an_epoch_without_a_batch_is_an_error(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_dataset *train = toy_source(i == 0 ? 0 : 3, 1, false);
        fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_steps = 2});
        const fg_fit_data data = {
            .train = train, .batch_size = 4, .drop_last = i == 1, .workers = FG_NONE};
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EINVAL);
        assert_string_equal(err.message,
                            i == 0 ? "the training source returned no sample in epoch 0"
                                   : "the training source returned no whole batch in epoch 0");
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(train);
    }
}

/* ---- the samples of a step that diverged ----------------------------------------------------- */

static const struct {
    int64_t batch_size, accumulate;
    bool is_source;
    const char *samples;
} second_steps[] = {
    {1, 1, false, ": samples 1 of epoch 0"},
    {4, 1, false, ": samples 4, 5, 6, 7 of epoch 0"},
    {5, 1, false, ": samples 5, 6, 7, 8, 9 of epoch 0"},
    {6, 1, false, ": samples 6, 7, 8, 9, ... (6 in total) of epoch 0"},
    {3, 2, false, ": samples 6, 7, 8, 9, ... (6 in total) of epoch 0"},
    {4, 1, true, ": samples 4 to 7 of epoch 0 of the source"},
    {4, 2, true, ": samples 8 to 15 of epoch 0 of the source"},
    {70, 1, false, ": samples 70, 71, 72, 73, ... (70 in total) of epoch 0"},
};

/* All of them are in the file, to which each report adds a line. */
static void check_samples(const char *folder, int64_t count)
{
    char *text = NULL;
    size_t size = 0;
    fg_error err = {0};
    int64_t found = 0, lines = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, "divergence.jsonl"), 1 << 20, &text, &size, &err));
    for (const char *at = text; (at = strstr(at, "\"index\":")) != NULL; at++)
        found++;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 2);
    assert_int_equal(found, count);
    contains(text, "\"loss\":0.123456789,\"first_bad_step\":null");
    fgi_free(text);
}

static void the_samples_of_a_step_are_named(void **state)
{
    for (size_t i = 0; i < sizeof second_steps / sizeof second_steps[0]; i++) {
        fg_error err = {0};
        const char *folder = fgt_temp_folder();
        fg_dataset *train = second_steps[i].is_source ? toy_source(141, 1, true) : toy_data(141, 1);
        fg_trainer *trainer =
            toy_trainer(client, &(fg_trainer_options){.limits.max_steps = 3,
                                                      .divergence.on_divergence = "ignore",
                                                      .checkpoints.run_dir = folder,
                                                      .numerics.accumulate_grad_batches =
                                                          second_steps[i].accumulate});
        const fg_fit_data data = {.train = train,
                                  .batch_size = second_steps[i].batch_size,
                                  .workers = FG_NONE,
                                  .no_shuffle = true};
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        const fgi_diverged bad = {
            .reason = FGI_BAD_GRADIENT, .step = 3, .first_step = 2, .loss = (double)NAN};
        const fgi_diverged high = {.reason = FGI_HIGH_LOSS, .step = 3, .loss = 0.1234567891};
        assert_int_equal(fgi_divergence_describe(&trainer->divergence, &bad, &err), FG_ENUMERIC);
        contains(err.message, "training has diverged at step 2: gradients are not finite");
        contains(err.message, second_steps[i].samples);
        assert_int_equal(fgi_divergence_describe(&trainer->divergence, &high, &err), FG_ENUMERIC);
        assert_null(strstr(err.message, "samples"));
        check_samples(folder, second_steps[i].is_source
                                  ? 0
                                  : second_steps[i].batch_size * second_steps[i].accumulate);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(train);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_earlier_run_is_not_overwritten_unasked),
    cmocka_unit_test(a_fit_that_does_not_begin_deletes_nothing),
    cmocka_unit_test(one_fit_at_a_time),
    cmocka_unit_test(a_damaged_checkpoint_is_not_in_the_way),
    cmocka_unit_test(a_run_whose_checkpoints_are_damaged_does_not_start_again),
    cmocka_unit_test(a_second_damaged_checkpoint_is_kept_too),
    cmocka_unit_test(the_lock_of_a_dead_process_is_free),
    cmocka_unit_test(a_lock_ends_with_its_process),
    cmocka_unit_test(a_request_in_the_folder_stops_a_fit),
    cmocka_unit_test(a_mistake_in_val_step_is_found_before_the_first_step),
    cmocka_unit_test(bad_validation_data_are_found_before_the_first_step),
    cmocka_unit_test(what_fails_later_leaves_its_state),
    cmocka_unit_test(a_batch_that_is_not_launched_is_not_over),
    cmocka_unit_test(weights_that_are_lost_are_not_saved),
    cmocka_unit_test(the_log_precedes_other_callbacks),
    cmocka_unit_test(an_epoch_without_a_batch_is_an_error),
    cmocka_unit_test(the_samples_of_a_step_are_named),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
