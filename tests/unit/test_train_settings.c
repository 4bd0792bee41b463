/* test_train_settings.c - the steps of a fit on different numbers of devices: batches, strategies,
 * learning-rate scaling, and a schedule that reaches its last value in the last step. On the fake
 * plugin, which provides any number of devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fakepjrt/fake_control.h"
#include "optim/optimizer.h"
#include "toy.h"
#include "base/print.h"
#include "train/trainer.h"

static toy model = {.optimizer = "sgd"}; /* lr 0.1 */
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

/* The learning rates of the steps as passed to callbacks, and the settings at the first one. */
typedef struct watch {
    const fg_trainer *trainer;
    fg_fit_settings settings;
    int64_t start, steps; /* completed before this fit, and during it */
    double first, highest, last;
    int64_t stop_after; /* steps of this fit, 0: none */
} watch;

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    watch *w = self;
    (void)err;
    w->settings = *fg_trainer_settings(w->trainer);
    w->start = at->step;
    w->steps = 0;
    assert_int_equal(at->total_steps, w->settings.total_steps);
    return FG_OK;
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    watch *w = self;
    (void)err;
    if (at->step == w->start + w->steps) /* not the last batch of its step */
        return FG_OK;
    if (w->steps++ == 0)
        w->first = at->lr;
    w->highest = fmax(w->highest, at->lr);
    w->last = at->lr;
    return w->steps == w->stop_after ? FG_ESTOPPED : FG_OK;
}

static const fg_callback_ops watch_ops = {.fit_start = on_fit_start, .batch_end = on_batch_end};

static fg_trainer *create(const fg_trainer_options *options, watch *w)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = *options;
    o.devices.accelerator = "cpu";
    o.devices.cache_dir = "";
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &watch_ops, w, &err));
    *w = (watch){.trainer = trainer};
    return trainer;
}

static int find_fake(void **state)
{
    (void)state;
    return setenv("FULGURITE_PLUGIN", FAKE_PATH, 1);
}

static int nothing_is_left(void **state)
{
    (void)state;
    return fgi_alloc_live() != 0;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static const fg_schedule onecycle = {.row = &fgi_onecycle_row};

/* A fit on this many samples, and its expected steps and batch size. */
typedef struct length_row {
    int64_t samples;
    fg_fit_data data;
    fg_trainer_options options;
    int64_t steps, batch;
} length_row;

/* The settings of a preview, for which no plugin can be found. */
static fg_fit_settings preview(fg_trainer_options options, const fg_fit_data *data)
{
    fg_error err = {0};
    fg_fit_settings settings;
    options.devices.accelerator = "cpu";
    assert_int_equal(setenv("FULGURITE_PLUGIN", "/nowhere/plugin.so", 1), 0);
    fgt_ok(fg_trainer_preview(&options, data, 0.1, &settings, &err));
    assert_int_equal(setenv("FULGURITE_PLUGIN", FAKE_PATH, 1), 0);
    return settings;
}

static void check_length(size_t i, const length_row *row)
{
    fg_error err = {0};
    watch w;
    fg_trainer_options options = row->options;
    options.lr.schedule = &onecycle;
    fg_trainer *trainer = create(&options, &w);
    fg_fit_data data = row->data;
    data.train = toy_data(row->samples, 1);
    data.workers = FG_NONE;
    const fg_fit_settings before = preview(options, &data);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    if (memcmp(&before, &w.settings, sizeof before) != 0)
        fail_msg("row %zu: the preview differs from the fit: %lld steps, %d devices, lr %g", i,
                 (long long)before.total_steps, before.device_count, before.lr);
    if (w.steps != row->steps || w.settings.total_steps != row->steps ||
        w.settings.global_batch_size != row->batch || w.last != 0.1 / 25 / 1e4)
        fail_msg("row %zu: %lld of %lld steps, batch %lld, last lr %.17g", i, (long long)w.steps,
                 (long long)w.settings.total_steps, (long long)w.settings.global_batch_size,
                 w.last);
    assert_true(w.settings.lr_at[4] == w.last);
    if (w.steps > 2) {
        assert_true(w.first == 0.1 / 25 && w.settings.lr_at[0] == w.first);
        assert_true(w.highest > 0.09);
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.train);
}

/* Whatever limits the number of steps: this number is done, the settings announced it before the
 * first step, the peak is reached, and the last step has exactly the last value. */
static const length_row ends[] = {
    {100, {.batch_size = 10}, {.limits.max_epochs = 3}, 30, 10},
    {101, {.batch_size = 10}, {.limits.max_epochs = 3}, 33, 10},
    {101, {.batch_size = 10, .drop_last = true}, {.limits.max_epochs = 3}, 30, 10},
    {101, {.batch_size = 5}, {.limits.max_epochs = 3, .devices.devices = "2"}, 33, 10},
    {101, {.batch_size = 5}, {.limits.max_epochs = 3, .devices.devices = "0,3,5"}, 21, 15},
    {997, {.batch_size = 8}, {.limits.max_epochs = 5, .devices.devices = "8"}, 80, 64},
    {997, {.global_batch_size = 64}, {.limits.max_epochs = 5, .devices.devices = "8"}, 80, 64},
    {997,
     {.batch_size = 8, .drop_last = true},
     {.limits.max_epochs = 5, .devices.devices = "8"},
     75,
     64},
    {997,
     {.batch_size = 8},
     {.limits.max_epochs = 5,
      .devices.devices = "8",
      .devices.mesh = {.axes = {{"data", -1}, {"model", 4}}}},
     315,
     16},
    {997, {.batch_size = 8}, {.limits.max_steps = 17, .devices.devices = "8"}, 17, 64},
    {997,
     {.batch_size = 8},
     {.limits.max_steps = 500, .limits.max_epochs = 5, .devices.devices = "8"},
     80,
     64},
    {997,
     {.batch_size = 8},
     {.limits.max_epochs = 5, .limits.limit_train_batches.count = 7},
     35,
     8},
    {997,
     {.batch_size = 8},
     {.limits.max_epochs = 5, .limits.limit_train_batches.fraction = 0.5, .devices.devices = "4"},
     80, /* half of 32 */
     32},
    {997,
     {.batch_size = 8},
     {.limits.max_epochs = 2, .limits.limit_train_batches.fraction = 0.001, .devices.devices = "4"},
     2, /* at least one batch */
     32},
    {9, {.batch_size = 4}, {.limits.max_epochs = 2, .devices.devices = "8"}, 2, 32},
    {8, {.batch_size = 1}, {.limits.max_epochs = 2, .devices.devices = "8"}, 2, 8},
    /* 16 batches of 64 in steps of 3: 5 steps, and one with a single batch */
    {997,
     {.batch_size = 8},
     {.limits.max_epochs = 2, .devices.devices = "8", .numerics.accumulate_grad_batches = 3},
     12,
     64},
    {997,
     {.batch_size = 8},
     {.limits.max_epochs = 2,
      .devices.devices = "8",
      .numerics.accumulate_grad_batches = 3,
      .limits.limit_train_batches.count = 7},
     6,
     64},
};

static void the_schedule_ends_where_the_steps_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        check_length(i, &ends[i]);
}

/* Stopped on one device and resumed on four: fewer steps remain than planned, and the schedule
 * still ends with the last one. */
static void a_resume_on_other_devices_ends_exactly(void **state)
{
    fg_error err = {0};
    watch w;
    const char *folder = fgt_path(fgt_temp_folder(), "run");
    fg_fit_data data = {.train = toy_data(100, 1), .batch_size = 5, .workers = FG_NONE};
    fg_trainer *trainer = create(&(fg_trainer_options){.limits.max_epochs = 4,
                                                       .checkpoints.run_dir = folder,
                                                       .lr.schedule = &onecycle},
                                 &w);
    w.stop_after = 24; /* of 80: an epoch and a fifth */
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_int_equal(w.settings.total_steps, 80);
    fg_trainer_destroy(trainer);
    trainer = create(&(fg_trainer_options){.limits.max_epochs = 4,
                                           .checkpoints.run_dir = folder,
                                           .checkpoints.resume = "last",
                                           .devices.devices = "4",
                                           .lr.schedule = &onecycle},
                     &w);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(w.steps, 4 + 5 + 5); /* batches of 20 */
    assert_int_equal(w.settings.total_steps, 24 + 14);
    assert_int_equal(w.settings.total_epochs, 4);
    assert_int_equal(fg_fit_settings_epoch(&w.settings, 23), -1); /* before this fit */
    assert_int_equal(fg_fit_settings_epoch(&w.settings, 24 + 3), 1);
    assert_int_equal(fg_fit_settings_epoch(&w.settings, 24 + 4), 2);
    assert_int_equal(fg_fit_settings_epoch(&w.settings, 24 + 13), 3);
    assert_true(w.last == 0.1 / 25 / 1e4);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.train);
}

static char warning[512];

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level == FG_LOG_WARNING && strstr(line, "schedule") != NULL)
        (void)snprintf(warning, sizeof warning, "%s", line);
}

/* After the first 4 of 10 steps, of 2 epochs: the warning, and the number of all epochs. */
static void a_resume_with_other_limits(void **state)
{
    static const struct {
        fg_trainer_limits limits;
        int64_t epochs;
        const char *warning;
    } rows[] = {
        {{.max_epochs = 2}, 2, ""},
        {{.max_epochs = 4}, 4, "was planned for 10 steps and now has 20: training continues with"},
        {{.max_epochs = 2, .max_steps = 5}, 1, "was planned for 10 steps and now has 5: training"},
        {{.max_epochs = 2, .max_steps = 3}, 1, ""}, /* nothing is left to do */
    };
    char path[600];
    fg_error err = {0};
    watch w;
    (void)state;
    const char *folder = fgt_path(fgt_temp_folder(), "run");
    fg_fit_data data = {.train = toy_data(50, 1), .batch_size = 10, .workers = FG_NONE};
    fg_trainer_options o = {
        .limits.max_epochs = 2, .checkpoints.run_dir = folder, .lr.schedule = &onecycle};
    fg_trainer *trainer = create(&o, &w);
    w.stop_after = 4;
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    fg_trainer_destroy(trainer);
    (void)snprintf(path, sizeof path, "%s/checkpoints/step-000000004", folder);
    o.checkpoints = (fg_trainer_checkpoints){.resume = path};
    fg_log_set(keep_warning, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        o.limits = rows[i].limits;
        warning[0] = '\0';
        trainer = create(&o, &w);
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(w.settings.total_epochs, rows[i].epochs);
        if (strstr(warning, rows[i].warning) == NULL || (*rows[i].warning == '\0' && *warning))
            fail_msg("row %zu: '%s'", i, warning);
        fg_trainer_destroy(trainer);
    }
    fg_log_set(NULL, NULL);
    fg_dataset_destroy(data.train);
}

/* A count, or a fraction of all: at least one batch. 0: no limit. */
static void limits_of_batches(void **state)
{
    static const struct {
        fg_amount limit;
        int64_t all, batches;
    } rows[] = {{{0, 0}, 10, 0},   {{0, 3}, 10, 3},     {{1, 0}, 10, 0},
                {{0.5, 0}, 11, 5}, {{0.01, 0}, 10, 1},  {{0.1, 0}, 10, 1},
                {{0.2, 0}, 10, 2}, {{0.999, 0}, 10, 9}, {{0.999, 0}, 1000, 999}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(fgi_limit(rows[i].limit, rows[i].all), rows[i].batches);
}

/* The learning rates at 0, 25, 50, 75 and 100 % are those of these steps. */
static void learning_rates_are_those_of_steps(void **state)
{
    static const struct {
        int64_t steps, at[5];
    } rows[] = {{1, {0, 0, 0, 0, 0}},
                {2, {0, 0, 0, 0, 1}},
                {5, {0, 1, 2, 3, 4}},
                {7, {0, 1, 3, 4, 6}},
                {9, {0, 2, 4, 6, 8}}};
    (void)state;
    const fg_fit_data data = {.train = toy_data(64, 1)};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_fit_settings s = preview(
            (fg_trainer_options){.limits.max_steps = rows[i].steps, .lr.schedule = &onecycle},
            &data);
        assert_int_equal(s.batch_size, 32); /* the default */
        assert_int_equal(s.steps_per_epoch, 2);
        for (int k = 0; k < 5; k++)
            assert_true(s.lr_at[k] == fg_schedule_lr(&onecycle, 0.1, rows[i].at[k], rows[i].steps));
    }
    fg_dataset_destroy(data.train);
}

static const struct {
    int64_t had, have, step;
    bool is_warned;
} lengths[] = {{10, 20, 4, true}, {10, 10, 4, false}, {0, 20, 4, false}, {10, 4, 4, false},
               {10, 5, 4, true},  {10, -1, 4, false}, {1, 20, 4, true},  {10, 20, 0, false}};

/* A schedule that was planned for `had` steps and now has `have`, at this step. */
static void another_length_of_the_schedule_is_warned_of(void **state)
{
    (void)state;
    fg_log_set(keep_warning, NULL);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fg_trainer trainer = {.options.lr.schedule = &onecycle,
                              .fit.settings = {.lr = 0.1, .total_steps = lengths[i].have},
                              .cursor = {.step = lengths[i].step, .total_steps = lengths[i].had}};
        char expected[512] = "";
        if (lengths[i].is_warned)
            (void)fgi_snprintf(
                expected, sizeof expected,
                "the learning-rate schedule was planned for %d steps and now has %d: "
                "training continues with a learning rate of %.4g instead of %.4g; for a "
                "new cycle, start a run from these weights instead",
                (int)lengths[i].had, (int)lengths[i].have,
                fg_schedule_lr(&onecycle, 0.1, lengths[i].step, lengths[i].have),
                fg_schedule_lr(&onecycle, 0.1, lengths[i].step, lengths[i].had));
        warning[0] = '\0';
        fgi_settings_compare(&trainer);
        assert_string_equal(warning, expected);
        trainer.options.lr.schedule = NULL;
        warning[0] = '\0';
        fgi_settings_compare(&trainer);
        assert_string_equal(warning, "");
    }
    fg_log_set(NULL, NULL);
}

/* Of epochs of 5 steps: those that are due, and that of the last step. */
static void validations_that_are_to_come(void **state)
{
    static const struct {
        int64_t steps, epochs, epoch, step, every_epochs, every_steps, count;
    } rows[] = {{20, 4, 0, 0, 1, 0, 4},  {20, 4, 0, 0, 2, 0, 2},  {20, 4, 0, 0, 3, 0, 2},
                {20, 4, 0, 0, 4, 0, 1},  {20, 4, 0, 0, 5, 0, 1},  {20, 4, 0, 0, 0, 6, 4},
                {20, 4, 0, 0, -1, 5, 4}, {20, 4, 0, 0, 1, 5, 4},  {20, 4, 0, 0, 1, 4, 8},
                {12, 3, 0, 0, 1, 0, 3},  {12, 3, 0, 0, 3, 0, 1},  {20, 4, 1, 7, 1, 0, 3},
                {20, 4, 1, 7, -1, 4, 4}, {20, 4, 1, 8, -1, 4, 3}, {-1, -1, 0, 0, 1, 0, -1},
                {20, 4, 1, 7, 1, 4, 6},  {20, 4, 3, 15, 1, 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_trainer trainer = {.options.validation = {.val_every_epochs = rows[i].every_epochs,
                                                     .val_every_steps = rows[i].every_steps},
                              .fit.settings = {.total_steps = rows[i].steps,
                                               .total_epochs = rows[i].epochs,
                                               .part_count = 1,
                                               .part = {{0, 0, 5}}},
                              .cursor = {.epoch = rows[i].epoch, .step = rows[i].step}};
        const int64_t count = fgi_settings_validations(&trainer);
        if (count != rows[i].count)
            fail_msg("row %zu: %d", i, (int)count);
        trainer.fit.settings.part_count = 0; /* a source */
        assert_int_equal(fgi_settings_validations(&trainer), -1);
    }
    const fg_trainer parts = {/* ends of epochs: 5, 10, 13 and 16 */
                              .options.validation = {.val_every_epochs = 1, .val_every_steps = 13},
                              .fit.settings = {.total_steps = 16,
                                               .total_epochs = 4,
                                               .part_count = 2,
                                               .part = {{0, 0, 5}, {2, 10, 3}}}};
    assert_int_equal(fgi_settings_validations(&parts), 4);
}

/* A batch that was begun counts: the first 10 samples are one batch of 8, and a part of another. A
 * smaller limit has been reached already. */
static void a_limit_of_batches_counts_those_before_a_resume(void **state)
{
    fg_error err = {0};
    watch w;
    (void)state;
    for (int64_t limit = 3; limit >= 1; limit -= 2) {
        const char *folder = fgt_path(fgt_temp_folder(), "run");
        fg_fit_data data = {.train = toy_data(50, 1), .batch_size = 10, .workers = FG_NONE};
        fg_trainer_options o = {.limits = {.max_epochs = 1, .limit_train_batches.count = 3},
                                .checkpoints.run_dir = folder};
        fg_trainer *trainer = create(&o, &w);
        w.stop_after = 1;
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
        fg_trainer_destroy(trainer);
        o.checkpoints.resume = "last";
        o.limits.limit_train_batches.count = limit;
        data.batch_size = 8;
        trainer = create(&o, &w);
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(w.steps, limit == 3 ? 1 : 0);
        const fg_fit_settings *settings = fg_trainer_settings(trainer);
        assert_int_equal(settings->total_steps, limit == 3 ? 2 : 1);
        assert_int_equal(fg_fit_settings_epoch(settings, 1), limit == 3 ? 0 : 1);
        assert_int_equal(settings->part_count, limit == 3 ? 2 : 1); /* without an empty one */
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_true(fg_trainer_result(trainer)->nothing_to_do);
        assert_int_equal(settings->total_epochs, 1);
        fg_trainer_destroy(trainer);
        o.limits.max_steps = 1; /* fewer steps than there were */
        trainer = create(&o, &w);
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(fg_trainer_settings(trainer)->total_steps, limit == 3 ? 2 : 1);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data.train);
    }
}

/* The epochs of the steps, counted one by one, of epochs with 7 batches. */
static void steps_are_in_their_epochs(void **state)
{
    static const struct {
        const char *schedule;
        int64_t max_steps, epochs, batches[6];
    } rows[] = {
        {NULL, 0, 6, {1, 1, 1, 1, 1, 1}},         {"1=4", 0, 6, {1, 4, 4, 4, 4, 4}},
        {"0=2,3=1", 0, 6, {2, 2, 2, 1, 1, 1}},    {"2=3,4=7", 19, 4, {1, 1, 3, 3, 7, 7}},
        {"2=3,900000000=7", 17, 3, {1, 1, 3, 3}}, {"1=5,2=6", 0, 6, {1, 5, 6, 6, 6, 6}},
    };
    (void)state;
    const fg_fit_data data = {.train = toy_data(14, 1), .batch_size = 2};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_fit_settings s = preview(
            (fg_trainer_options){.limits = {.max_epochs = 6, .max_steps = rows[i].max_steps},
                                 .numerics.accumulate_schedule = fgt_map(rows[i].schedule)},
            &data);
        int64_t step = 0;
        assert_int_equal(s.total_epochs, rows[i].epochs);
        for (int epoch = 0; epoch < rows[i].epochs; epoch++)
            for (int64_t k = 0; k < 7 && step < s.total_steps; k += rows[i].batches[epoch])
                assert_int_equal(fg_fit_settings_epoch(&s, step++), epoch);
        assert_int_equal(step, s.total_steps);
    }
    const fg_fit_settings endless = preview((fg_trainer_options){.limits.max_epochs = -1}, &data);
    assert_int_equal(endless.total_epochs, -1);
    assert_int_equal(fg_fit_settings_epoch(&endless, 70), 10);
    fg_dataset_destroy(data.train);
}

/* ---- the learning rate ----------------------------------------------------------------------- */

static void the_learning_rate_follows_its_rule(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *devices;
        int64_t base;
        fg_fit_data data;
        double lr;
    } rows[] = {
        {NULL, "8", 0, {.batch_size = 4}, 0.1},
        {"none", "8", 0, {.batch_size = 4}, 0.1},
        {"linear", "1", 0, {.batch_size = 4}, 0.1},
        {"linear", "8", 0, {.batch_size = 4}, 0.8},
        {"sqrt", "4", 0, {.batch_size = 4}, 0.2},
        {"linear", "8", 0, {.global_batch_size = 16}, 0.8}, /* the base is 2 samples per device */
        {"linear", "2", 256, {.batch_size = 32}, 0.025},    /* smaller than the base */
        {"sqrt", "2", 16, {.batch_size = 32}, 0.2},
        {"linear", "[1]", 2, {.batch_size = 4}, 0.2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        watch w;
        fg_trainer *trainer = create(&(fg_trainer_options){.devices.devices = rows[i].devices,
                                                           .lr.lr_scaling = rows[i].rule,
                                                           .lr.base_batch_size = rows[i].base,
                                                           .limits.max_steps = 2},
                                     &w);
        fg_fit_data data = rows[i].data;
        data.train = toy_data(40, 1);
        data.workers = FG_NONE;
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        if (fabs(w.last / rows[i].lr - 1) > 1e-15 || w.settings.lr != w.last)
            fail_msg("row %zu: lr %.17g", i, w.last);
        assert_true(w.settings.lr_given == 0.1);
        assert_string_equal(w.settings.lr_scaling, rows[i].rule != NULL ? rows[i].rule : "none");
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data.train);
    }
}

/* The number of samples per update counts: several batches on one device are equivalent to several
 * devices. */
static void accumulated_batches_are_of_one_update(void **state)
{
    (void)state;
    fg_error err = {0};
    watch w;
    fg_trainer *trainer = create(&(fg_trainer_options){.devices.devices = "2",
                                                       .lr.lr_scaling = "linear",
                                                       .numerics.accumulate_grad_batches = 3,
                                                       .limits.max_epochs = 1},
                                 &w);
    fg_fit_data data = {.train = toy_data(64, 1), .batch_size = 4, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(w.steps, 3); /* 8 batches */
    assert_true(fabs(w.last / 0.6 - 1) < 1e-15);
    assert_true(w.settings.lr_factor == 6);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.train);
}

/* A second fit does not scale the learning rate again, unless the batch size changed; between fits,
 * the caller can set it. */
static void scaling_is_done_once(void **state)
{
    (void)state;
    fg_error err = {0};
    watch w;
    fg_trainer *trainer = create(&(fg_trainer_options){.devices.devices = "4",
                                                       .lr.lr_scaling = "linear",
                                                       .limits.max_epochs = 1},
                                 &w);
    fg_fit_data data = {.train = toy_data(64, 1), .batch_size = 4, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_true(w.last == 0.4);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_true(fg_trainer_settings(trainer)->lr == 0.4);
    fg_trainer_destroy(trainer);
    trainer = create(&(fg_trainer_options){.devices.devices = "4",
                                           .lr.lr_scaling = "linear",
                                           .lr.base_batch_size = 16,
                                           .limits.max_epochs = 1},
                     &w);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_true(w.last == 0.1);
    data.batch_size = 8;
    fgt_ok(fg_trainer_fit(trainer, &task, &data,
                          &err)); /* no steps are left, but the settings are reported */
    assert_true(fg_trainer_settings(trainer)->lr == 0.2);
    assert_true(fg_trainer_settings(trainer)->lr_factor == 2);
    fg_trainer_destroy(trainer);
    /* the user's value is preserved exactly: 0.1 * 3 / 3 is not 0.1 */
    trainer =
        create(&(fg_trainer_options){.devices.devices = "0,1,2", .lr.lr_scaling = "linear"}, &w);
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_true(fg_trainer_settings(trainer)->lr_given == 0.1);
        assert_true(fg_trainer_settings(trainer)->lr == 0.1 * 3);
        assert_true(fgi_optimizer_unscaled_lr(trainer->model.optimizer) == 0.1);
    }
    fg_optimizer_set_lr(trainer->model.optimizer, 0.5); /* the new base, scaled as before */
    assert_true(fg_optimizer_lr(trainer->model.optimizer) == 0.5 * 3);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_true(fg_trainer_settings(trainer)->lr_given == 0.5);
    assert_true(fg_trainer_settings(trainer)->lr == 0.5 * 3);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.train);
}

/* ---- reported settings ----------------------------------------------------------------------- */

static void the_settings_are_printed_before_the_first_step(void **state)
{
    (void)state;
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    watch w;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fg_trainer *trainer = create(&(fg_trainer_options){.devices.devices = "8",
                                                       .lr.lr_scaling = "linear",
                                                       .lr.schedule = &onecycle,
                                                       .limits.max_epochs = 1,
                                                       .numerics.accumulate_grad_batches = 2,
                                                       .output.progress = out},
                                 &w);
    fg_fit_data data = {.train = toy_data(320, 1), .batch_size = 4, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    assert_int_equal(fclose(out), 0);
    const char *settings = strstr(
        text, "83 parameters in total; on 8 virtual devices of the CPU, for development (ddp)\n"
              "sgd, lr 1.6 (linear scaling, 0.1 x 16), batches of 32 (8 x 4), 2 per step, 5 "
              "steps\nlr at 0, 25, 50, 75, 100 %: 0.064 ");
    if (settings == NULL)
        fail_msg("%s", text);
    assert_true(settings < strstr(text, "epoch 1/1"));
    assert_non_null(strstr(settings, " 6.4e-06\n"));
    free(text);
    fg_dataset_destroy(data.train);
}

/* ---- strategies ------------------------------------------------------------------------------ */

static void strategies_and_devices_go_together(void **state)
{
    (void)state;
    static const struct {
        const char *strategy, *devices, *is;
        int count, first;
    } rows[] = {
        {NULL, NULL, "single", 1, 0},       {"auto", "auto", "single", 1, 0},
        {"auto", "3", "ddp", 3, 0},         {"single", NULL, "single", 1, 0},
        {"single", "[5]", "single", 1, 5},  {"single", "1", "single", 1, 0},
        {"ddp", "1", "ddp", 1, 0},          {"ddp", "2,4", "ddp", 2, 2},
        {"single", "auto", "single", 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        watch w;
        fg_device_info device;
        fg_trainer *trainer = create(&(fg_trainer_options){.devices.strategy = rows[i].strategy,
                                                           .devices.devices = rows[i].devices,
                                                           .limits.max_steps = 1},
                                     &w);
        assert_null(fg_trainer_client(trainer));
        fgt_ok(fg_trainer_connect(trainer, &err));
        const fg_client *client = fg_trainer_client(trainer);
        fgt_ok(fg_trainer_connect(trainer, &err));
        assert_ptr_equal(fg_trainer_client(trainer), client);
        assert_int_equal(fg_client_info_of(client)->device_count, rows[i].count);
        fgt_ok(fg_device_info_at(client, 0, &device, &err));
        assert_int_equal(device.id, rows[i].first);
        fg_fit_data data = {.train = toy_data(20, 1), .batch_size = 4, .workers = FG_NONE};
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_string_equal(w.settings.strategy, rows[i].is);
        assert_int_equal(w.settings.device_count, rows[i].count);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data.train);
    }
}

static const struct {
    fg_trainer_options options;
    const char *says;
} wrong_choices[] = {
    {{.devices.strategy = "pdp"},
     "trainer.strategy: expected one of auto|single|ddp|fsdp, got 'pdp': did you mean 'ddp'?"},
    {{.devices.strategy = "single", .devices.devices = "8"},
     "trainer: strategy 'single' trains on one device, but 8 were chosen\nuse devices=1, "
     "devices=[0] for a particular one, or strategy=ddp for all"},
    {{.devices.strategy = "single", .devices.devices = "[0,1]"},
     "trainer: strategy 'single' trains on one device, but 2 were chosen\nuse devices=1, "
     "devices=[0] for a particular one, or strategy=ddp for all"},
    {{.devices.strategy = "single", .devices.mesh = {.axes = {{"data", -1}, {"model", 2}}}},
     "trainer: strategy 'single' trains on one device, but 2 were chosen\nuse devices=1, "
     "devices=[0] for a particular one, or strategy=ddp for all"},
    {{.devices.devices = "0"},
     "trainer.devices: devices '0' selects no device\n\"auto\" or \"-1\" selects all, \"4\" "
     "the first four, \"[1]\" only the second, \"0,2\" those two; `fulgurite devices` lists "
     "them"},
    {{.devices.devices = "[]"},
     "trainer.devices: devices '[]' is not a list of integers\n\"auto\" or \"-1\" selects all, "
     "\"4\" the first four, \"[1]\" only the second, \"0,2\" those two; `fulgurite devices` "
     "lists them"},
    {{.devices.devices = "many"},
     "trainer.devices: devices 'many' is neither a number nor a list\n\"auto\" or \"-1\" "
     "selects all, \"4\" the first four, \"[1]\" only the second, \"0,2\" those two; "
     "`fulgurite devices` lists them"},
    {{.devices.devices = "[1,1]"},
     "trainer.devices: devices '[1,1]' names a device twice\n\"auto\" or \"-1\" selects all, "
     "\"4\" the first four, \"[1]\" only the second, \"0,2\" those two; `fulgurite devices` "
     "lists them"},
    {{.lr.lr_scaling = "cubic"},
     "trainer.lr_scaling: expected one of none|linear|sqrt, got 'cubic'"},
    {{.lr.base_batch_size = -1},
     "trainer.base_batch_size: expected an integer, 1 or greater, or auto (for example 256), "
     "got '-1'"},
    {{.limits.limit_train_batches.fraction = 1.5},
     "trainer.limit_train_batches: expected a fraction (0.0 to 1.0) or a count (for example "
     "0.1), got '1.5'"},
    {{.limits.limit_val_batches.fraction = -0.5},
     "trainer.limit_val_batches: expected a fraction (0.0 to 1.0) or a count (for example 20), "
     "got '-0.5'"},
    {{.limits.limit_train_batches.fraction = 1.001},
     "trainer.limit_train_batches: expected a fraction (0.0 to 1.0) or a count (for example "
     "0.1), got '1.001'"},
    {{.limits.overfit_batches.fraction = 1.5},
     "trainer.overfit_batches: expected a fraction (0.0 to 1.0) or a count (for example 10), "
     "got '1.5'"},
    {{.limits.overfit_batches.fraction = -0.5},
     "trainer.overfit_batches: expected a fraction (0.0 to 1.0) or a count (for example 10), "
     "got '-0.5'"},
    {{.limits.overfit_batches.fraction = 0.5, .limits.overfit_batches.count = 1},
     "trainer.overfit_batches: expected a fraction (0.0 to 1.0) or a count (for example 10), "
     "got 'a fraction and a count'"},
};

static void wrong_choices_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_choices / sizeof wrong_choices[0]; i++) {
        fg_error err = {0};
        fg_trainer *trainer = NULL;
        assert_int_equal(toy_create(&wrong_choices[i].options, &trainer, &err), FG_EINVAL);
        assert_null(trainer);
        if (!strstr(err.message, wrong_choices[i].says))
            fail_msg("'%s' does not say '%s'", err.message, wrong_choices[i].says);
    }
}

/* Mistakes that can only be detected with an open client. */
static void a_client_that_does_not_go_with_the_strategy(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client = NULL;
    fg_trainer *trainer = NULL;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cpu_devices = 4, .cache_dir = ""}, &client,
        &err));
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client, .devices.strategy = "single"},
                      &trainer, &err));
    assert_int_equal(fg_trainer_connect(trainer, &err), FG_EINVAL);
    fgt_message_is(err.message,
                   "strategy 'single' trains on one device, but 4 were chosen\nuse devices=1, "
                   "devices=[0] for a particular one, or strategy=ddp for all");
    assert_null(fg_trainer_client(trainer));
    fg_trainer_destroy(trainer);
    assert_int_equal(
        toy_create(&(fg_trainer_options){.devices.client = client, .devices.devices = "2"},
                   &trainer, &err),
        FG_EINVAL);
    fgt_message_is(err.message, "trainer: devices and mesh apply only to a client that the Trainer "
                                "opens: the given client already has its devices");
    fg_client_close(client);
}

/* ---- unsuitable data ------------------------------------------------------------------------- */

static const struct {
    int64_t samples;
    fg_fit_data data;
    const char *says;
} unsuitable[] = {
    {100,
     {.batch_size = 4, .global_batch_size = 32},
     "batch_size 4 and global_batch_size 32 are both given: set only one"},
    {100,
     {.global_batch_size = 100},
     "global_batch_size 100 cannot be divided evenly among 8 devices: use 96 or 104"},
    {100,
     {.global_batch_size = 4},
     "global_batch_size 4 cannot be divided evenly among 8 devices: use 8 or 16"},
    {100,
     {.global_batch_size = -8},
     "fg_fit_data.global_batch_size: expected an integer from 1 to 16777216, or auto (for "
     "example 256), got '-8'"},
    {100,
     {.global_batch_size = INT64_C(2147483648)},
     "fg_fit_data.global_batch_size: expected an integer from 1 to 16777216, or auto (for "
     "example 256), got '2147483648'"},
    {100,
     {.global_batch_size = 9},
     "global_batch_size 9 cannot be divided evenly among 8 devices: use 8 or 16"},
    {100,
     {.batch_size = -1},
     "fg_fit_data.batch_size: expected an integer from 1 to 16777216 (for example 64), got "
     "'-1'"},
    {100, {.shuffle_buffer = -1}, "shuffle_buffer is -1: expected at least 0"},
    {100,
     {.shuffle_buffer = INT64_C(2147483648)},
     "shuffle_buffer is 2147483648: expected at least 0"},
    {1,
     {.batch_size = 4},
     "1 training sample is fewer than the 8 devices\n"
     "use devices=1 or fewer, or more data"},
    {100,
     {.batch_size = 4, .workers = 1025},
     "fg_fit_data.workers: expected an integer from 0 to 1024, or auto (for example 4), got "
     "'1025'"},
    {100,
     {.batch_size = FG_NONE},
     "fg_fit_data.batch_size: expected an integer from 1 to 16777216 (for example 64), got "
     "'0'"},
    {2,
     {.batch_size = 4},
     "2 training samples are fewer than the 8 devices\n"
     "use devices=2 or fewer, or more data"},
    {0, {.batch_size = 4}, "an epoch has no step: 0 samples in batches of 32"},
    {31,
     {.batch_size = 4, .drop_last = true},
     "an epoch has no step: 31 samples in batches of 32 (the incomplete one is dropped)"},
};

static void batches_that_cannot_be_sharded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unsuitable / sizeof unsuitable[0]; i++) {
        fg_error err = {0};
        watch w;
        fg_trainer *trainer = create(&(fg_trainer_options){.devices.devices = "8"}, &w);
        fg_fit_data data = unsuitable[i].data;
        data.train = toy_data(unsuitable[i].samples, 1);
        data.workers = data.workers != 0 ? data.workers : FG_NONE;
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EINVAL);
        assert_string_equal(err.message, unsuitable[i].says);
        assert_int_equal(w.steps, 0);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data.train);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_schedule_ends_where_the_steps_end),
    cmocka_unit_test(a_resume_on_other_devices_ends_exactly),
    cmocka_unit_test(a_resume_with_other_limits),
    cmocka_unit_test(limits_of_batches),
    cmocka_unit_test(learning_rates_are_those_of_steps),
    cmocka_unit_test(another_length_of_the_schedule_is_warned_of),
    cmocka_unit_test(validations_that_are_to_come),
    cmocka_unit_test(a_limit_of_batches_counts_those_before_a_resume),
    cmocka_unit_test(steps_are_in_their_epochs),
    cmocka_unit_test(the_learning_rate_follows_its_rule),
    cmocka_unit_test(accumulated_batches_are_of_one_update),
    cmocka_unit_test(scaling_is_done_once),
    cmocka_unit_test(the_settings_are_printed_before_the_first_step),
    cmocka_unit_test(strategies_and_devices_go_together),
    cmocka_unit_test(wrong_choices_are_refused),
    cmocka_unit_test(a_client_that_does_not_go_with_the_strategy),
    cmocka_unit_test(batches_that_cannot_be_sharded),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, find_fake, nothing_is_left) == 0 ? 0 : 1;
}
