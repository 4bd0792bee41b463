/* test_train_preview.c - the steps and rates of a fit before anything is opened, and one-cycle
 * schedules that run to their end on 8 devices. On the fake plugin, which provides any number of
 * devices. What is printed of a model and of these settings before a fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "fakepjrt/fake_control.h"
#include "golden.h"
#include "toy.h"
#include "train/progress/progress.h"

static toy model = {.optimizer = "sgd"}; /* lr 0.1 */
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

static void hide_plugin(void)
{
    assert_int_equal(setenv("FULGURITE_PLUGIN", "/nowhere/plugin.so", 1), 0);
}

static void show_plugin(void) { assert_int_equal(setenv("FULGURITE_PLUGIN", FAKE_PATH, 1), 0); }

static fg_trainer_options with_fake(fg_trainer_options o)
{
    o.devices.accelerator = "cpu";
    o.devices.cache_dir = "";
    return o;
}

/* Learning rates and momentum of the steps as passed to callbacks. */
typedef struct watch {
    int64_t steps;
    double first, highest, last;
    double first_momentum, lowest_momentum, last_momentum;
} watch;

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    watch *w = self;
    (void)err;
    if (at->step == w->steps) /* not the last batch of its step */
        return FG_OK;
    if (w->steps++ == 0) {
        w->first = at->lr;
        w->first_momentum = w->lowest_momentum = at->momentum;
    }
    w->highest = fmax(w->highest, at->lr);
    w->last = at->lr;
    w->lowest_momentum = fmin(w->lowest_momentum, at->momentum);
    w->last_momentum = at->momentum;
    return FG_OK;
}

static const fg_callback_ops watch_ops = {.batch_end = on_batch_end};

/* ---- one cycle on 8 devices ------------------------------------------------------------------ */

/* A utility for TPUs counted the steps of one core, so that 12.5 % of the cycle ran on 8 cores: the
 * learning rate never reached its maximum, and the momentum never its minimum. Here every variant
 * runs to its end; the peak of torch and kaggle falls onto a step. */
static void every_variant_completes_its_cycle(void **state)
{
    static const struct {
        const char *variant;
        double final_div, tolerance;
    } rows[] = {{"torch", 1e4, 0}, {"fastai", 4e3, 1e-3}, {"kaggle", 1e4, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int accumulate = 1; accumulate <= 2; accumulate++) {
            fg_error err = {0};
            watch w;
            const fg_schedule schedule =
                fg_onecycle(&(fg_onecycle_options){.variant = rows[i].variant});
            const fg_trainer_options options = {.devices.devices = "8",
                                                .limits.max_epochs = 10 * accumulate,
                                                .numerics.accumulate_grad_batches = accumulate,
                                                .lr.lr_scaling = "sqrt",
                                                .lr.base_batch_size = 4 * accumulate,
                                                .lr.schedule = &schedule};
            fg_dataset *train = toy_data(127, 1);
            const fg_fit_data data = {.train = train, .batch_size = 2, .workers = FG_NONE};
            fg_fit_settings before;
            hide_plugin();
            fgt_ok(fg_trainer_preview(&options, &data, 0.1, &before, &err));
            show_plugin();
            const fg_trainer_options own = with_fake(options);
            fg_trainer *trainer = NULL;
            w = (watch){.steps = 0};
            fgt_ok(toy_create(&own, &trainer, &err));
            fgt_ok(fg_trainer_add_callback(trainer, &watch_ops, &w, &err));
            fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
            assert_int_equal(w.steps, 80);
            assert_int_equal(before.total_steps, 80);
            const double most = 0.1 * 2; /* 16 samples for a rate that is meant for 4 */
            fgt_close("first lr", w.first, most / 25, 0, 1e-12);
            fgt_close("highest lr", w.highest, most, rows[i].tolerance * most, 1e-12);
            fgt_close("last lr", w.last, most / 25 / rows[i].final_div, 0, 1e-12);
            assert_true(w.last == before.lr_at[4]);
            fgt_close("first momentum", w.first_momentum, 0.95, 0, 1e-12);
            fgt_close("lowest momentum", w.lowest_momentum, 0.85, rows[i].tolerance, 1e-12);
            fgt_close("last momentum", w.last_momentum, 0.95, 0, 1e-12);
            fg_trainer_destroy(trainer);
            fg_dataset_destroy(train);
        }
}

/* ---- previews -------------------------------------------------------------------------------- */

static void a_preview_of_an_unknown_number_of_devices_opens_them(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_fit_settings settings;
    fg_dataset *train = toy_data(64, 1);
    const fg_fit_data data = {.train = train, .batch_size = 2};
    const fg_trainer_options open = {
        .limits.max_epochs = 1, .devices.accelerator = "auto", .devices.cache_dir = ""};
    hide_plugin();
    assert_int_not_equal(fg_trainer_preview(&open, &data, 0.1, &settings, &err), FG_OK);
    assert_int_equal(settings.total_steps, 0);
    const fg_trainer_options single = {.limits.max_epochs = 1, .devices.strategy = "single"};
    fgt_ok(fg_trainer_preview(&single, &data, 0.1, &settings, &err));
    assert_int_equal(settings.total_steps, 32);
    assert_string_equal(settings.strategy, "single");
    const fg_trainer_options mesh = {.limits.max_epochs = 1,
                                     .devices.mesh = {.axes = {{"data", 4}, {"model", 2}}}};
    fgt_ok(fg_trainer_preview(&mesh, &data, 0.1, &settings, &err));
    assert_int_equal(settings.device_count, 8);
    assert_int_equal(settings.batch_shards, 4);
    assert_int_equal(settings.total_steps, 8);
    show_plugin();
    fgt_ok(fg_trainer_preview(&open, &data, 0.1, &settings, &err));
    assert_int_equal(settings.device_count, 1);
    fg_dataset_destroy(train);
}

/* Without a plugin: the devices that the options say, and the shards of a batch; 0: it depends on
 * the machine, whose plugin is not found. */
static const struct {
    fg_trainer_devices devices;
    int count, shards;
    const char *strategy;
} said[] = {
    {{.devices = "1"}, 1, 1, "single"},
    {{.devices = "[3]"}, 1, 1, "single"},
    {{.devices = "1", .strategy = "ddp"}, 1, 1, "ddp"},
    {{.devices = "1", .strategy = "fsdp"}, 1, 1, "fsdp"},
    {{.devices = "[0,2,5]"}, 3, 3, "ddp"},
    {{.strategy = "single"}, 1, 1, "single"},
    {{.mesh.axes = {{"data", 1}}}, 1, 1, "single"},
    {{.mesh.axes = {{"data", 2}, {"model", 3}}}, 6, 2, "ddp"},
    {{.mesh.axes = {{"data", 1024}}}, 1024, 1024, "ddp"},
    {{.mesh.axes = {{"data", 1025}}}, 0, 0, NULL},
    {{.mesh.axes = {{"data", 1024}, {"model", 2}}}, 0, 0, NULL},
    {{.mesh.axes = {{"data", -1}, {"model", 2}}}, 0, 0, NULL},
    {{.devices = "-1"}, 0, 0, NULL},
    {{.devices = NULL}, 0, 0, NULL},
};

static void the_devices_of_a_preview(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_fit_settings settings;
    fg_dataset *train = toy_data(4096, 1);
    const fg_fit_data data = {.train = train, .batch_size = 2};
    hide_plugin();
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        const fg_trainer_options options = {.devices = said[i].devices};
        const bool is_known = fg_trainer_preview(&options, &data, 0.1, &settings, &err) == FG_OK;
        if (is_known != (said[i].count > 0) || settings.device_count != said[i].count ||
            settings.batch_shards != said[i].shards)
            fail_msg("row %zu: %d devices, %d shards", i, settings.device_count,
                     settings.batch_shards);
        if (is_known)
            assert_string_equal(settings.strategy, said[i].strategy);
    }
    show_plugin();
    fg_dataset_destroy(train);
}

/* Its devices are those of a client that is given. */
static void a_preview_with_a_client(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_fit_settings settings;
    fg_client *two = NULL;
    fg_dataset *train = toy_data(64, 1);
    const fg_fit_data data = {.train = train, .batch_size = 2};
    fgt_ok(fg_client_open(
        &(fg_client_options){
            .accelerator = "cpu", .devices = "2", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &two, &err));
    fg_trainer_options options = {.devices.client = two};
    fgt_ok(fg_trainer_preview(&options, &data, 0.1, &settings, &err));
    assert_int_equal(settings.device_count, 2);
    options.devices.strategy = "single";
    assert_int_equal(fg_trainer_preview(&options, &data, 0.1, &settings, &err), FG_EINVAL);
    fgt_message_is(err.message, "strategy 'single' trains on one device, but 2 were chosen\nuse "
                                "devices=1, devices=[0] for a particular one, or strategy=ddp for "
                                "all");
    fg_client_close(two);
    fg_dataset_destroy(train);
}

static void a_preview_refuses_what_a_fit_refuses(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_fit_settings settings;
    fg_dataset *train = toy_data(64, 1);
    fg_fit_data data = {.train = train, .batch_size = 2};
    const fg_schedule onecycle = fg_onecycle(NULL);
    const fg_trainer_options endless = {
        .devices.devices = "8", .limits.max_epochs = -1, .lr.schedule = &onecycle};
    assert_int_equal(fg_trainer_preview(&endless, &data, 0.1, &settings, &err), FG_EINVAL);
    fgt_message_is(err.message, "schedule 'onecycle': the number of steps is not known\nthe run "
                                "has no limit: set max_epochs or max_steps");
    assert_int_equal(settings.device_count, 0);
    const fg_trainer_options many = {.devices.devices = "128"};
    assert_int_equal(fg_trainer_preview(&many, &data, 0.1, &settings, &err), FG_EINVAL);
    fgt_message_is(err.message, "64 training samples are fewer than the 128 devices\nuse "
                                "devices=64 or fewer, or more data");
    data.train = NULL;
    assert_int_equal(fg_trainer_preview(&many, &data, 0.1, &settings, &err), FG_EINVAL);
    fg_dataset_destroy(train);
}

/* Data and options whose settings are printed. */
typedef struct previewed {
    int64_t samples; /* negative: of a source that does not tell their number */
    int64_t batch_size, global_batch_size;
    bool drop_last;
    fg_trainer_limits limits;
    const char *devices, *accumulate;
    fg_trainer_lr lr; /* the schedule: a mark for onecycle */
    bool has_cycle;
} previewed;

#define UNSCALED                                                                                   \
    {                                                                                              \
        .lr_scaling = NULL                                                                         \
    }
static const previewed previews[] = {
    {64, 8, 0, false, {.max_epochs = 3}, "1", NULL, UNSCALED, true},
    {65, 8, 0, false, {.max_epochs = 3}, "1", NULL, UNSCALED, true},
    {65, 8, 0, true, {.max_epochs = 3}, "1", NULL, UNSCALED, true},
    {7, 8, 0, true, {.max_epochs = 3}, "1", NULL, UNSCALED, false},
    {7, 8, 0, false, {.max_epochs = 3}, "1", NULL, UNSCALED, false},
    {1, 1, 0, false, {.max_epochs = 1}, "1", NULL, UNSCALED, true},
    {1, 0, 0, false, {.max_steps = 2}, "1", NULL, UNSCALED, true},
    {1, 0, 0, false, {.max_steps = 3}, "2", NULL, UNSCALED, true},
    {2, 0, 0, false, {.max_steps = 3}, "2", NULL, UNSCALED, true},
    {64, 0, 10, false, {.max_steps = 4}, "4", NULL, UNSCALED, false},
    {64, 0, 3, false, {.max_steps = 4}, "4", NULL, UNSCALED, false},
    {64, 0, 12, false, {.max_steps = 4}, "4", NULL, UNSCALED, false},
    {64, -1, 0, false, {.max_steps = 4}, "1", NULL, UNSCALED, false},
    {64, 1 << 24, 0, false, {.max_steps = 4}, "1", NULL, UNSCALED, false},
    {64, 1 << 24, 0, false, {.max_steps = 4}, "128", NULL, UNSCALED, false},
    {64, INT64_C(1) << 31, 0, false, {.max_steps = 4}, "1", NULL, UNSCALED, false},
    {64, 0, -2, false, {.max_steps = 4}, "1", NULL, UNSCALED, false},
    {64, 4, 4, false, {.max_steps = 4}, "1", NULL, UNSCALED, false},
    /* limits */
    {64, 8, 0, false, {.max_epochs = 3, .max_steps = 20}, "1", NULL, UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = 3, .max_steps = 24}, "1", NULL, UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = 3, .max_steps = 25}, "1", NULL, UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = -1, .max_steps = 16}, "1", NULL, UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = -1, .max_steps = 17}, "1", NULL, UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = -1}, "1", NULL, UNSCALED, false},
    {64, 8, 0, false, {.max_epochs = INT64_MAX}, "1", NULL, UNSCALED, false},
    {64, 8, 0, false, {.max_steps = INT64_MAX}, "1", NULL, UNSCALED, false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.count = 3},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.count = 30},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.fraction = 0.3},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.fraction = 0.01},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.fraction = 1},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.fraction = 1.01},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_val_batches.fraction = -0.5},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.count = 3, .limit_train_batches.fraction = 0.75},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.count = 7, .limit_train_batches.fraction = 0.75},
     "1",
     NULL,
     UNSCALED,
     false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 2, .overfit_batches.count = 1, .overfit_batches.fraction = 0.5},
     "1",
     NULL,
     UNSCALED,
     false},
    /* of a source */
    {-1, 8, 0, false, {.max_epochs = 2}, "1", NULL, UNSCALED, false},
    {-1, 8, 0, false, {.max_epochs = 2}, "1", NULL, UNSCALED, true},
    {-1, 8, 0, false, {.max_steps = 5}, "1", NULL, UNSCALED, true},
    {-1, 8, 0, false, {.max_epochs = 2, .limit_train_batches.count = 5}, "1", NULL, UNSCALED, true},
    {-1,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.fraction = 1},
     "1",
     NULL,
     UNSCALED,
     false},
    {-1,
     8,
     0,
     false,
     {.max_epochs = 2, .limit_train_batches.fraction = 0.5},
     "1",
     NULL,
     UNSCALED,
     false},
    {-1, 8, 0, false, {.max_epochs = -1}, "1", NULL, UNSCALED, true},
    /* several batches a step */
    {64, 8, 0, false, {.max_epochs = 5}, "1", "0=1,1=2,3=3", UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = 5}, "1", "0=3,4=8", UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = 5}, "1", "2=3,3=1", UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = 5}, "1", "0=7,3=6", UNSCALED, true},
    {64, 8, 0, false, {.max_steps = 17}, "1", "0=1,2=8", UNSCALED, true},
    {64, 8, 0, false, {.max_steps = 17}, "1", "0=1,999999999999=8", UNSCALED, true},
    {64, 8, 0, false, {.max_epochs = 999999999999}, "1", "0=1,5=8", UNSCALED, false},
    /* learning rates */
    {64, 8, 0, false, {.max_epochs = 1}, "2", NULL, {.lr_scaling = "linear"}, false},
    {64, 8, 0, false, {.max_epochs = 1}, "2", NULL, {.lr_scaling = "sqrt"}, false},
    {64, 8, 0, false, {.max_epochs = 1}, "2", "0=2,1=4", {.lr_scaling = "linear"}, false},
    {64,
     8,
     0,
     false,
     {.max_epochs = 1},
     "1",
     NULL,
     {.lr_scaling = "linear", .base_batch_size = 32},
     true},
    {64, 8, 0, false, {.max_epochs = 1}, "1", NULL, {.lr_scaling = "square"}, false},
};

static void put_preview(const previewed *p, FILE *out)
{
    const fg_schedule onecycle = fg_onecycle(NULL);
    fg_error err = {0};
    fg_fit_settings s;
    fg_dataset *train = p->samples < 0 ? toy_source(64, 1, false) : toy_data(p->samples, 1);
    fg_trainer_options o = {.devices.devices = p->devices,
                            .limits = p->limits,
                            .numerics.accumulate_schedule = fgt_map(p->accumulate),
                            .lr = p->lr};
    const fg_fit_data data = {.train = train,
                              .batch_size = p->batch_size,
                              .global_batch_size = p->global_batch_size,
                              .drop_last = p->drop_last};
    o.lr.schedule = p->has_cycle ? &onecycle : NULL;
    const fg_status status = fg_trainer_preview(&o, &data, 0.1, &s, &err);
    (void)fprintf(out, "%ld:", (long)(p - previews));
    if (status == FG_OK) {
        (void)fprintf(out, " %d x %lld = %lld, base %lld; %lld steps (%lld an epoch), %lld epochs;",
                      s.batch_shards, (long long)s.batch_size, (long long)s.global_batch_size,
                      (long long)s.base_batch_size, (long long)s.total_steps,
                      (long long)s.steps_per_epoch, (long long)s.total_epochs);
        for (int i = 0; i < s.part_count; i++)
            (void)fprintf(out, " %lld:%lld+%lld", (long long)s.part[i].epoch,
                          (long long)s.part[i].step, (long long)s.part[i].steps);
        (void)fgi_fprintf(out, "; lr %.6g x %.6g (%s):", s.lr_given, s.lr_factor, s.lr_scaling);
        for (int i = 0; i < 5; i++)
            (void)fgi_fprintf(out, " %.6g", s.lr_at[i]);
        (void)fprintf(out, "; steps 0, 7, 8, 16, 999 in epochs");
        for (int i = 0; i < 5; i++)
            (void)fprintf(out, " %lld",
                          (long long)fg_fit_settings_epoch(&s, (const int[]){0, 7, 8, 16, 999}[i]));
    } else {
        (void)fprintf(out, " %s", err.message);
    }
    (void)fputc('\n', out);
    fg_dataset_destroy(train);
}

/* Numbered as above. */
static void settings_of_unusual_runs(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < sizeof previews / sizeof previews[0]; i++)
        put_preview(&previews[i], out);
    assert_int_equal(fclose(out), 0);
    fgt_golden("train/settings.txt", text);
    free(text);
}

static fg_status preview_scenario(void *self, fg_error *err)
{
    const fg_fit_data data = {.train = self, .batch_size = 2};
    fg_fit_settings settings;
    return fg_trainer_preview(&(fg_trainer_options){.devices.devices = "8"}, &data, 0.1, &settings,
                              err);
}

static void a_preview_loses_no_memory(void **state)
{
    (void)state;
    fg_dataset *train = toy_data(64, 1);
    fgt_fault_loop(preview_scenario, train);
    fg_dataset_destroy(train);
}

/* ---- the table of the model ------------------------------------------------------------------ */

static void describe(fg_module *parent, const char *name, const char *kind, const char *detail)
{
    fg_module_describe(fg_module_child(parent, name), kind, detail);
}

/* A block of two modules; the first has `size` parameters unless that is 0. */
static fg_module *add_block(fg_module *parent, const char *number, const char *kind, int64_t size)
{
    fg_module *block = fg_module_child(parent, number), *conv = fg_module_child(block, "conv");
    fg_module_describe(conv, kind, "stride 1");
    if (size > 0)
        (void)fg_module_variable(conv, "weight", &(fg_type){FG_F32, 1, {size}},
                                 &(fg_variable_options){.kind = FG_PARAMETER});
    describe(block, "norm", "batch_norm", "");
    return block;
}

/* Names that begin with another one, and blocks that differ in a kind, in a module or in a size. */
static void build_near_blocks(fg_module *root)
{
    fg_module *near = fg_module_child(root, "near");
    (void)add_block(near, "1", "conv2d", 0);
    (void)add_block(near, "10", "conv2d", 0);
    (void)add_block(near, "11", "conv1d", 0);
    describe(add_block(near, "12", "conv1d", 0), "relu", "relu", "");
    (void)add_block(near, "13", "conv1d", 2);
    (void)add_block(near, "14", "conv1d", 3);
    (void)add_block(fg_module_child(root, "same1"), "0", "conv2d", 0);
    (void)add_block(fg_module_child(root, "same2"), "1", "conv2d", 0);
    (void)fg_module_variable(fg_module_child(root, "bare"), "weight", &(fg_type){FG_F32, 1, {5}},
                             &(fg_variable_options){.kind = FG_PARAMETER});
}

/* Blocks that repeat each other and others that nearly do, after the toy's layers. */
static void build_blocks(void *self, fg_module *root)
{
    toy_ops.build(self, root);
    fg_module *a = fg_module_child(root, "stage1"), *b = fg_module_child(root, "stage2");
    for (int i = 0; i < 4; i++) {
        char number[4];
        (void)snprintf(number, sizeof number, "%d", i);
        fg_module *block = fg_module_child(i < 3 ? a : b, number);
        describe(block, "conv", "conv2d", i == 2 ? "stride 2" : "stride 1");
        describe(block, "norm", "batch_norm", "");
    }
    build_near_blocks(root);
    describe(root, "0", "relu", ""); /* no block: nothing is in it */
    describe(root, "a_rather_long_name_of_a_module", "a_kind_of_some_length",
             "a detail which is so long that it does not fit in a line of a terminal");
}

/* Fits of 16 samples; all of them are on two devices unless they say otherwise. */
static const struct {
    const char *devices, *strategy;
    fg_trainer_limits limits;
    fg_trainer_lr lr;
    int64_t accumulate, batch_size;
    bool has_blocks;
    fg_mesh_options mesh;
} printed[] = {
    {"1", NULL, {.max_epochs = 2}, {.lr_scaling = NULL}, 1, 4, true, {.batch_axes = 0}},
    {"2", NULL, {.max_epochs = 2}, {.lr_scaling = "linear"}, 1, 2, false, {.batch_axes = 0}},
    {"3",
     NULL,
     {.max_steps = 1},
     {.lr_scaling = "sqrt", .base_batch_size = 16},
     2,
     1,
     false,
     {.batch_axes = 0}},
    {"4", "fsdp", {.max_epochs = -1}, {.lr_scaling = "none"}, 1, 1, false, {.batch_axes = 0}},
    {"1",
     NULL,
     {.max_steps = 1},
     {.lr_scaling = "linear", .base_batch_size = 4},
     1,
     4,
     false,
     {.batch_axes = 0}},
    {"4", NULL, {.max_steps = 1}, {0}, 1, 2, false, {.axes = {{"data", 2}, {"model", 2}}}},
    {"2", NULL, {.max_steps = 1}, {0}, 1, 4, false, {.axes = {{"data", 1}, {"model", 2}}}},
};

static fg_status print_table(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    fgi_progress_table(self, at->trainer, at);
    return FG_OK;
}

static fg_status stop_fit(void *self, const fg_progress *at, fg_error *err)
{
    (void)self;
    return at->step == 1 ? fg_error_set(err, FG_ESTOPPED, "one step is enough") : FG_OK;
}

static void print_fit(size_t i, fg_dataset *train, FILE *out)
{
    static const fg_callback_ops printer = {.fit_start = print_table, .batch_end = stop_fit};
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_task_ops task_ops = toy_ops;
    task_ops.build = printed[i].has_blocks ? build_blocks : toy_ops.build;
    const fg_task own = {.name = "toy", .self = &model, .ops = &task_ops};
    const fg_trainer_options options = {.devices = {.devices = printed[i].devices,
                                                    .strategy = printed[i].strategy,
                                                    .mesh = printed[i].mesh},
                                        .limits = printed[i].limits,
                                        .lr = printed[i].lr,
                                        .numerics.accumulate_grad_batches = printed[i].accumulate};
    const fg_trainer_options chosen = with_fake(options);
    fgt_ok(toy_create(&chosen, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &printer, out, &err));
    const fg_fit_data data = {
        .train = train, .batch_size = printed[i].batch_size, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &own, &data, &err));
    if (printed[i].limits.max_epochs >= 0) /* the rest: steps are those in total */
        fgt_ok(fg_trainer_fit(trainer, &own, &data, &err));
    fg_trainer_destroy(trainer);
}

static void what_is_printed_before_a_fit(void **state)
{
    char *text = NULL;
    size_t size = 0;
    fg_dataset *train = toy_data(16, 1);
    FILE *out = open_memstream(&text, &size);
    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++)
        print_fit(i, train, out);
    assert_int_equal(fclose(out), 0);
    fgt_golden("train/tables.txt", text);
    free(text);
    fg_dataset_destroy(train);
}

static int find_fake(void **state)
{
    (void)state;
    show_plugin();
    return 0;
}

static int nothing_is_left(void **state)
{
    (void)state;
    return fgi_alloc_live() != 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_variant_completes_its_cycle),
    cmocka_unit_test(a_preview_of_an_unknown_number_of_devices_opens_them),
    cmocka_unit_test(the_devices_of_a_preview),
    cmocka_unit_test(a_preview_with_a_client),
    cmocka_unit_test(a_preview_refuses_what_a_fit_refuses),
    cmocka_unit_test(a_preview_loses_no_memory),
    cmocka_unit_test(settings_of_unusual_runs),
    cmocka_unit_test(what_is_printed_before_a_fit),
};
int main(void) { return cmocka_run_group_tests(tests, find_fake, nothing_is_left) == 0 ? 0 : 1; }
