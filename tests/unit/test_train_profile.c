/* test_train_profile.c - the profile of a fit: which steps it has, that its spans are nested and in
 * order, that the devices' spans sum to what the ledger reports, and that nothing about a profile
 * can end a fit. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/timeline.h"
#include "toy_place.h"
#include "trace_file.h"
#include "train/watch/watch.h"
#include "wire.h"

static char said[2048]; /* by the library's log */

static void on_log(void *self, fg_log_level level, const char *line)
{
    (void)self;
    const size_t used = strlen(said);
    if (level >= FG_LOG_WARNING)
        (void)snprintf(said + used, sizeof said - used, "%s\n", line);
}

/* A client of that many devices, each of whose steps takes delay_ms. */
static fg_client *open_devices(long devices, long delay_ms, long profiler)
{
    fg_error err = {0};
    fg_client *opened = NULL;
    fake.reset();
    fake.set("devices", devices);
    fake.set("delay_ms", delay_ms);
    fake.set("profiler", profiler);
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &opened, &err));
    said[0] = '\0';
    return opened;
}

/* Two epochs of three steps, with validation and a checkpoint after each. */
static fg_trainer_options options_of(fg_client *opened, const char *folder, const char *profile)
{
    const fg_int_map steps =
        fgt_map(profile != NULL && strcmp(profile, "auto") != 0 ? profile : NULL);
    const int64_t first = profile == NULL ? 0 : steps.count > 0 ? steps.at->key : FG_AUTO;
    return (fg_trainer_options){.devices.client = opened,
                                .limits.max_epochs = 2,
                                .output.log_every = 1,
                                .output.profile = {first, steps.count > 0 ? steps.at->value : 0},
                                .checkpoints = {.run_dir = folder, .ckpt_every_epochs = 1}};
}

static fg_fit_data global_data(void)
{
    fg_fit_data data = the_data();
    data.batch_size = 0;
    data.global_batch_size = 8;
    data.workers = 1;
    return data;
}

/* ---- a whole fit ----------------------------------------------------------------------------- */

static void check_spans(const json_t *root, int64_t devices)
{
    static const char *const names[] = {
        "lower",           "compile",     "wait for input",     "upload",
        "launch",          "loggers.log", "progress.batch_end", "validation",
        "start checkpoint"};
    trace_expect_steps(root, "trainer", "train step", "1 2 3 4 5 6");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (trace_steps(root, "trainer", names[i])[0] == '\0')
            fail_msg("the trainer has no span '%s'", names[i]);
    trace_expect_steps(root, "checkpoint writer", "write checkpoint", "3 6");
    assert_true(trace_steps(root, "loader worker 1", "load")[0] != '\0');
    for (int64_t d = 0; d < devices; d++) {
        char label[32];
        (void)snprintf(label, sizeof label, "cpu:%d", (int)d);
        trace_expect_steps(root, label, "train step", "1 2 3 4 5 6");
        trace_expect_steps(root, label, "validation step", "1 1");
    }
}

static void a_whole_fit_agrees_with_the_ledger(void **state)
{
    (void)state;
    static const long devices[] = {1, 8};
    for (int k = 0; k < 2; k++) {
        fg_error err = {0};
        fg_client *opened = open_devices(devices[k], 10, 0);
        FILE *progress = fopen("/dev/null", "w");
        fg_trainer_options o = options_of(opened, fgt_temp_folder(), "1:1000");
        o.output.progress = progress;
        fg_trainer *trainer = NULL;
        const fg_fit_data data = global_data();
        fgt_ok(toy_create(&o, &trainer, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        json_t *root = trace_read(o.checkpoints.run_dir);
        trace_check_nesting(root);
        check_spans(root, devices[k]);
        const fg_profile_info *info = fg_trainer_profile(trainer);
        assert_non_null(info);
        assert_int_equal(info->first_step, 1);
        assert_int_equal(info->last_step, 6);
        assert_int_equal(info->lost, 0);
        trace_check_busy(root, (int)devices[k], fg_trainer_result(trainer)->idle.busy_s, 0.0005);
        assert_string_equal(said, "");
        json_decref(root);
        fg_trainer_destroy(trainer);
        fg_client_close(opened);
        (void)fclose(progress);
    }
}

/* ---- which steps ----------------------------------------------------------------------------- */

static void steps_are_given_or_chosen(void **state)
{
    (void)state;
    const fgi_profile_steps automatic = fgi_profile_steps_of((const int64_t[]){FG_AUTO, 0});
    const fgi_profile_steps given = fgi_profile_steps_of((const int64_t[]){10, 20});
    assert_true(automatic.is_auto && !given.is_auto && given.first == 10 && given.last == 20);
    static const int64_t chosen[][4] = {/* done, total, first, last */
                                        {0, 1000, 11, 20}, {500, 1000, 511, 520}, {0, -1, 11, 20},
                                        {0, 20, 11, 20},   {0, 15, 6, 15},        {0, 4, 1, 4},
                                        {0, 1, 1, 1},      {995, 1000, 996, 1000}};
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        const fgi_profile_steps steps = fgi_profile_steps_choose(chosen[i][0], chosen[i][1]);
        assert_int_equal(steps.first, chosen[i][2]);
        assert_int_equal(steps.last, chosen[i][3]);
    }
}

/* Runs a fit; returns the Trainer. */
static fg_trainer *fit(fg_client *opened, const char *folder, const char *profile,
                       const char *resume, int64_t max_epochs)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = options_of(opened, folder, profile);
    const fg_fit_data data = global_data();
    o.checkpoints.resume = resume;
    o.limits.max_epochs = max_epochs;
    said[0] = '\0';
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    return trainer;
}

static void only_these_steps_are_recorded(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fg_client *opened = open_devices(2, 0, 0);
    fg_trainer *trainer = fit(opened, folder, "4:5", NULL, 2);
    json_t *root = trace_read(folder);
    trace_expect_steps(root, "trainer", "train step", "4 5");
    trace_expect_steps(root, "trainer", "compile", "");
    assert_non_null(strstr(trace_steps(root, "cpu:1", "train step"), "4 5"));
    trace_check_nesting(root);
    json_decref(root);
    assert_true(fgi_file_exists(fgt_path(folder, "profile/plugins/profile/step-4")));
    fgt_ok(fg_trainer_fit(
        trainer, &task,
        &(fg_fit_data){.train = train_data, .val = val_data, .global_batch_size = 8}, &err));
    assert_null(fg_trainer_profile(trainer)); /* of the last fit, which had no step to do */
    fg_trainer_destroy(trainer);
    trainer = fit(opened, folder, "auto", "last", 4); /* 6 more: the last ten of them are all */
    assert_int_equal(fg_trainer_profile(trainer)->first_step, 7);
    assert_int_equal(fg_trainer_profile(trainer)->last_step, 12);
    root = trace_read(folder);
    trace_expect_steps(root, "trainer", "train step", "7 8 9 10 11 12");
    json_decref(root);
    assert_string_equal(said, "");
    fg_trainer_destroy(trainer);
    fg_client_close(opened);
}

static void steps_that_never_come_are_reported(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    fg_client *opened = open_devices(1, 0, 0);
    fg_trainer *trainer = fit(opened, folder, "100:110", NULL, 1);
    assert_string_equal(said, "no profile was taken: training ended at step 3, before the end of "
                              "step 100\n");
    assert_null(fg_trainer_profile(trainer));
    fg_trainer_destroy(trainer);
    trainer = fit(opened, folder, "2:3", "last", 2);
    assert_string_equal(said, "no profile is taken: steps 2 to 3 are done, training continues with "
                              "step 4\n");
    fg_trainer_destroy(trainer);
    trainer = fit(opened, folder, "5:8", "last", 3); /* in the middle */
    assert_int_equal(fg_trainer_profile(trainer)->first_step, 7);
    assert_int_equal(fg_trainer_profile(trainer)->last_step, 8);
    assert_string_equal(said, "");
    fg_trainer_destroy(trainer);
    trainer = fit(opened, folder, "1:3", "last", 3); /* nothing is left to do */
    assert_null(fg_trainer_profile(trainer));
    assert_string_equal(said, "");
    fg_trainer_destroy(trainer);
    trainer = fit(opened, folder, "12:14", "last", 4); /* the run ends after the first of them */
    assert_int_equal(fg_trainer_profile(trainer)->first_step, 12);
    assert_int_equal(fg_trainer_profile(trainer)->last_step, 12);
    assert_string_equal(said, "");
    fg_trainer_destroy(trainer);
    fg_client_close(opened);
}

/* The batches of an accumulated step, and the update that follows them. */
static void accumulated_batches_have_their_name(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_client *opened = open_devices(1, 2, 0);
    fg_trainer_options o = options_of(opened, fgt_temp_folder(), "1:100");
    const fg_fit_data data = global_data();
    o.numerics.accumulate_grad_batches = 2;
    o.limits.max_epochs = 1;
    o.output.log_every = 100; /* several steps are in flight */
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    json_t *root = trace_read(o.checkpoints.run_dir);
    trace_expect_steps(root, "cpu:0", "train batch", "1 1 2");
    trace_expect_steps(root, "cpu:0", "update", "1 2");
    trace_expect_steps(root, "cpu:0", "train step", "");
    trace_expect_steps(root, "cpu:0", "validation step", "1");
    trace_check_nesting(root);
    json_decref(root);
    fg_trainer_destroy(trainer);
    fg_client_close(opened);
}

static void the_plugins_profiler_is_used(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fg_client *opened = open_devices(1, 0, 1);
    fg_trainer *trainer = fit(opened, folder, "2:3", NULL, 1);
    const fg_profile_info *info = fg_trainer_profile(trainer);
    char *data = NULL;
    size_t size = 0;
    assert_true(info->has_device);
    assert_int_equal(fake.get("profilers"), 0);
    fgt_ok(fgi_file_read(info->xspace, 1 << 24, &data, &size, &err));
    const wire space = {(const unsigned char *)data, size};
    assert_true(wire_find(space, 1, 2, "/device:FAKE:0").size > 0);
    assert_true(wire_find(space, 1, 2, "/host:CPU").size > 0);
    fgi_free(data);
    fg_trainer_destroy(trainer);
    fg_client_close(opened);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void a_profile_that_fails_is_a_warning(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    fg_client *opened = open_devices(1, 0, 0);
    fgt_write(fgt_path(folder, "profile"), "x", 1);
    fg_trainer *trainer = fit(opened, folder, "2:3", NULL, 2);
    assert_non_null(strstr(said, "the profile could not be written: "));
    assert_null(fg_trainer_profile(trainer));
    assert_int_equal(fg_trainer_result(trainer)->steps, 6);
    fg_trainer_destroy(trainer);
    said[0] = '\0';
    fg_profile *other = NULL;
    fg_error err = {0};
    fgt_ok(fg_profile_start(NULL, &(fg_profile_options){.folder = folder}, &other, &err));
    trainer = fit(opened, fgt_temp_folder(), "2:3", NULL, 1);
    assert_non_null(strstr(said, "no profile is taken: a profile is in progress already"));
    fg_profile_drop(other);
    fg_trainer_destroy(trainer);
    fg_client_close(opened);
}

/* At the end of step 3, adds that many tracks of one span, in place of as many chunks of spans. */
static fg_status fill(void *self, const fg_progress *at, fg_error *err)
{
    char track[24];
    (void)err;
    fgi_timeline_add_to("cpu:0", "device", "first", -1, 1, 2); /* has its chunk */
    for (int i = 0; i < *(const int *)self && at->step == 3; i++) {
        (void)snprintf(track, sizeof track, "track %d", i);
        fgi_timeline_add_to(track, "device", "more", -1, 1, 2);
    }
    return FG_OK;
}

/* How many spans a fit has lost with that many tracks. */
static int lost_with(fg_client *opened, int tracks)
{
    static const fg_callback_ops ops = {.batch_end = fill};
    const fg_trainer_options o = options_of(opened, fgt_temp_folder(), "2:3");
    fg_fit_data data = global_data();
    fg_trainer *trainer = NULL;
    fg_error err = {0};
    data.workers = FG_NONE;
    said[0] = '\0';
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &tracks, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    const int lost = (int)fg_trainer_profile(trainer)->lost;
    fg_trainer_destroy(trainer);
    return lost;
}

/* Loses that many spans. How many tracks other threads have depends on their speed: the number of
 * tracks to add is found by trying. */
static void lose(fg_client *opened, int wanted, int *tracks)
{
    int lost = lost_with(opened, *tracks);
    for (int tries = 0; lost != wanted && tries < 100; tries++) {
        *tracks += wanted - lost;
        lost = lost_with(opened, *tracks);
    }
    assert_int_equal(lost, wanted);
}

static void lost_spans_are_counted(void **state)
{
    const int most = FGI_TIMELINE_MOST_SPANS / FGI_TIMELINE_CHUNK;
    fg_client *opened = open_devices(1, 0, 0);
    char says[128];
    (void)state;
    const int lost = lost_with(opened, most);
    assert_true(lost > 1 && lost < most);
    (void)snprintf(says, sizeof says, "the profile is incomplete, %d spans were", lost);
    assert_int_equal(strncmp(said, says, strlen(says)), 0);
    int tracks = most - lost + 1;
    lose(opened, 1, &tracks);
    assert_string_equal(said, "the profile is incomplete, 1 span was not recorded: profile fewer "
                              "steps\n");
    tracks--;
    lose(opened, 0, &tracks);
    assert_string_equal(said, "");
    fg_client_close(opened);
}

/* A step that fails on the device ends the fit; what was recorded is written. */
static void a_failing_step_leaves_a_whole_profile(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fg_client *opened = open_devices(1, 1, 1);
    fg_trainer_options o = options_of(opened, folder, "1:100");
    const fg_fit_data data = global_data();
    fg_trainer *trainer = NULL;
    fgt_ok(toy_create(&o, &trainer, &err));
    fake.set("execute_late_error", 13);
    fake.set("execute_late_skip", 2);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EDEVICE);
    json_t *root = trace_read(folder);
    trace_check_nesting(root);
    json_decref(root);
    fg_trainer_destroy(trainer);
    fake.reset();
    fake.set("compile_error", 13); /* before the first step: nothing is written, or said */
    said[0] = '\0';
    o.checkpoints.run_dir = fgt_temp_folder();
    fgt_ok(toy_create(&o, &trainer, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ECOMPILE);
    assert_false(fgi_file_exists(fgt_path(o.checkpoints.run_dir, "profile")));
    assert_string_equal(said, "");
    fg_trainer_destroy(trainer);
    fg_client_close(opened);
    assert_int_equal(fake.get("profilers"), 0);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = {.output.profile = {20, 10}, .checkpoints.run_dir = "x"};
    assert_int_equal(toy_create(&o, &trainer, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "trainer.profile: steps 20 to 10: expected the first one before the last");
    o = (fg_trainer_options){.output.profile = {1, 2}};
    assert_int_equal(toy_create(&o, &trainer, &err), FG_EINVAL);
    assert_string_equal(err.message, "trainer.profile is given, which needs a run_dir");
    o.limits.fast_dev_run = true; /* writes no files */
    fgt_ok(toy_create(&o, &trainer, &err));
    fg_trainer_destroy(trainer);
}

static fg_status fit_once(void *self, fg_error *err)
{
    const char *const *folder = self;
    fg_trainer *trainer = NULL;
    fg_client *opened = NULL;
    const fg_client_options options = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    fg_status status = fg_client_open(&options, &opened, err);
    if (status != FG_OK)
        return status;
    fg_trainer_options o = options_of(opened, *folder, "2:2");
    const fg_fit_data data = global_data();
    o.checkpoints.overwrite = true;
    o.checkpoints.ckpt_every_epochs = FG_NONE;
    o.output.loggers = fgt_list("");
    o.validation.val_every_epochs = FG_NONE;
    o.limits.max_epochs = 0;
    o.limits.max_steps = 2;
    status = toy_create(&o, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, &data, err);
    fg_trainer_destroy(trainer);
    fg_client_close(opened);
    return status;
}

static void allocations_may_fail(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    fake.reset();
    fake.set("devices", 2);
    fake.set("profiler", 1);
    fgt_fault_loop(fit_once, &folder);
    assert_int_equal(fake.get("profilers"), 0);
}

static int open_all(void **state)
{
    (void)state;
    toy_use_memory();
    fg_log_set(on_log, NULL);
    return open_place(24, 5);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_fit_agrees_with_the_ledger),
        cmocka_unit_test(steps_are_given_or_chosen),
        cmocka_unit_test(only_these_steps_are_recorded),
        cmocka_unit_test(steps_that_never_come_are_reported),
        cmocka_unit_test(accumulated_batches_have_their_name),
        cmocka_unit_test(the_plugins_profiler_is_used),
        cmocka_unit_test(a_profile_that_fails_is_a_warning),
        cmocka_unit_test(lost_spans_are_counted),
        cmocka_unit_test(a_failing_step_leaves_a_whole_profile),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
