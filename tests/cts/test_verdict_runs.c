/* test_verdict_runs.c - each verdict of report.json, triggered on purpose by a fit: slow data,
 * saves after each step, a slow callback and so on. A healthy run has none. Times are those of the
 * fake plugin, which takes a given time for each step; real ones are those of the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/recipe.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../fakepjrt/fake_control.h"
#include "verdict/verdict.h"
#include "toy.h"

static fake_control fake;
static fg_registry *registry;
static json_t *report; /* of the last fit */

static void sleep_us(int64_t us)
{
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    (void)nanosleep(&time, NULL);
}

/* ---- data that can be slow ------------------------------------------------------------------- */

enum { FEATURES = 64 };
static int64_t sample_us; /* that each sample takes */

static fg_status read_sample(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    float *x = out_fields[0];
    (void)self;
    (void)err;
    for (int i = 0; i < FEATURES; i++)
        x[i] = (float)((index * 7 + i) % 13) / 13;
    *(int32_t *)out_fields[1] = (int32_t)(index % 3);
    if (sample_us > 0)
        sleep_us(sample_us);
    return FG_OK;
}

typedef struct slow_options {
    int64_t count;
    double preload;
} slow_options;

static fg_status load_part(const void *own, const fg_format_request *request, fg_format_data *out,
                           fg_error *err)
{
    const slow_options *o = own;
    static const fg_dataset_ops ops = {.read = read_sample};
    static const fg_field fields[] = {{"x", {FG_F32, 1, {FEATURES}}}, {"y", {FG_S32, 0, {0}}}};
    const fg_dataset_spec spec = {
        .count = o->count, .fields = fields, .field_count = 2, .class_count = 3};
    return request->part == FG_PART_TRAIN ? fg_dataset_create(&ops, NULL, &spec, &out->samples, err)
                                          : FG_OK;
}

static const fg_option slow_rows[] = {
    FG_OPTION(slow_options, count, INT, "100000", "1..1000000", "20", "Number of samples."),
    FG_OPTION(slow_options, preload, FLOAT, "0", "0..1", "0.5", "Has no effect."),
};
static const fg_format_entry slow = {
    .entry = {.name = "slow", .help = "slow data", FG_OPTIONS(slow_rows, slow_options)},
    .load = load_part};

/* ---- a callback that is slow ----------------------------------------------------------------- */

static fg_status dawdle(void *self, const fg_progress *at, fg_error *err)
{
    (void)self;
    (void)at;
    (void)err;
    sleep_us(20000);
    return FG_OK;
}

static const fg_callback_ops dawdle_ops = {.batch_end = dawdle, .destroy = fg_free};
static const fg_callback_entry dawdle_row = {.entry = {.name = "dawdle", .help = "sleeps"},
                                             .ops = &dawdle_ops};

/* ---- a callback that reads a device value after each step ------------------------------------ */

static int peek_line; /* of the read */

static fg_status peek(void *self, const fg_progress *at, fg_error *err)
{
    const fg_type type = {.dtype = FG_F32};
    fg_array *array = NULL;
    float value = 1;
    (void)self;
    fg_status status = fg_array_create(fg_trainer_client(at->trainer), &type, &value, &array, err);
    peek_line = __LINE__ + 2;
    if (status == FG_OK)
        status = fg_array_read(array, &value, sizeof value, err);
    fg_array_release(array);
    return status;
}

static const fg_callback_ops peek_ops = {.batch_end = peek, .destroy = fg_free};
static const fg_callback_entry peek_row = {.entry = {.name = "peek", .help = "reads"},
                                           .ops = &peek_ops};

/* ---- running --------------------------------------------------------------------------------- */

static const char yaml[] =
    "model: {name: mlp, hidden: [8]}\n"
    "data: {format: slow}\n"
    "trainer: {max_steps: 25, batch_size: 16, log_every: 25, watchdog_s: 0,\n"
    "          ckpt_every_epochs: 0, run_dir: run, precision: bf16-mixed}\n";

static int begin(void **state)
{
    fg_error err = {0};
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", fgt_path(".", "cache"), 1), 0);
    fgt_write("run.yaml", yaml, strlen(yaml));
    if (!fake_open(&fake))
        return 1;
    fgt_ok(fg_registry_create(&registry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_FORMAT, &slow.entry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &dawdle_row.entry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &peek_row.entry, &err));
    return 0;
}

static int end(void **state)
{
    (void)state;
    fg_registry_destroy(registry);
    json_decref(report);
    return 0;
}

static void run_once(const fg_recipe_options *o)
{
    const fg_recipe_command fit = {.fit.overwrite = true};
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    fgt_ok(fg_recipe_open(o, &fit, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    fg_recipe_close(recipe);
}

/* Fits with these overrides, on the fake plugin as it is set, or on the CPU; reads report.json. */
static void fit(bool is_fake, const char *const *overrides)
{
    fg_recipe_options o = {.config = "run.yaml", .registry = registry, .overrides = overrides};
    json_error_t fault;
    while (overrides[o.override_count] != NULL)
        o.override_count++;
    if (is_fake)
        assert_int_equal(setenv("FULGURITE_PLUGIN", FAKE_PATH, 1), 0);
    run_once(&o);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    fake.reset();
    sample_us = 0;
    json_decref(report);
    report = json_load_file("run/report.json", 0, &fault);
    if (report == NULL)
        fail_msg("%s", fault.text);
}
#define FAKE_FIT(...) fit(true, (const char *const[]){__VA_ARGS__, NULL})
#define CPU_FIT(...)  fit(false, (const char *const[]){__VA_ARGS__, NULL})

static const char *member(const json_t *verdict, const char *name)
{
    const char *text = json_string_value(json_object_get(verdict, name));
    return text != NULL ? text : "";
}

static const json_t *find(const char *id)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(report, "verdicts"), i, one)
    {
        if (strcmp(member(one, "id"), id) == 0)
            return one;
    }
    return NULL;
}

static void has_verdict(const char *id, const char *detail, const char *action)
{
    const json_t *verdict = find(id);
    char *all = json_dumps(report, JSON_INDENT(1));
    if (verdict == NULL || strstr(member(verdict, "detail"), detail) == NULL ||
        strstr(member(verdict, "action"), action) == NULL)
        fail_msg("expected the verdict %s with '%s' and '%s' in:\n%s", id, detail, action, all);
    free(all);
}

/* The verdict's gain is a part of the time of the steps. */
static void gains(const char *id, const char *part)
{
    const json_t *time = json_object_get(report, "time");
    const json_t *seconds = json_object_get(json_object_get(time, "idle"), part);
    fgt_close(id, json_number_value(json_object_get(find(id), "gain")),
              json_number_value(seconds) / json_number_value(json_object_get(time, "wall_s")), 1e-6,
              0);
}

static void has_none(void)
{
    char *all = json_dumps(report, JSON_INDENT(1));
    if (json_array_size(json_object_get(report, "verdicts")) != 0)
        fail_msg("expected no verdict in:\n%s", all);
    free(all);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_healthy_run_has_none(void **state)
{
    (void)state;
    fake.set("device_ms", 20);
    FAKE_FIT("trainer.seed=1");
    has_none();
    static const char *const steps[] = {"trainer.max_steps=1", "trainer.max_steps=12"};
    for (int i = 0; i < 2; i++) /* the second run finds its programs in the cache */
        CPU_FIT("model.hidden=[1024, 1024]", "trainer.batch_size=256", "trainer.precision=32-true",
                steps[i]);
    has_none();
}

static void slow_data(void **state)
{
    (void)state;
    sample_us = 2000;
    fake.set("device_ms", 5);
    FAKE_FIT("trainer.workers=1");
    has_verdict("input", "of its time on reading", "data.preload=0.8");
    assert_string_equal(member(find("input"), "severity"), "high");
}

static void slow_uploads(void **state)
{
    (void)state;
    fake.set("delay_ms", 20);
    FAKE_FIT("trainer.seed=1");
    has_verdict("input", "upload", "u8 images");
}

static void saves_after_each_step(void **state)
{
    (void)state; /* steps take no time, so that saves are most of it on any disk */
    FAKE_FIT("trainer.ckpt_every_steps=1", "trainer.max_steps=10");
    has_verdict("checkpoint", "saved after each step", "trainer.ckpt_every_steps=");
    gains("checkpoint", "checkpoint_s");
}

static void reads_after_each_step(void **state)
{
    (void)state;
    fake.set("delay_ms", 5); /* also of copies to the host */
    FAKE_FIT("data.count=16",
             "trainer.log_every=1"); /* the end of an epoch waits for its metrics */
    has_verdict("host_reads", "reads per step; most time at ", "trainer.log_every=50 instead of 1");
    gains("host_reads", "read_s");
}

/* The line of the user's code is named. */
static void a_callback_that_reads(void **state)
{
    char evidence[300];
    (void)state;
    fake.set("device_ms", 5);
    fake.set("download_ms", 10);
    FAKE_FIT("trainer.callbacks=[peek]");
    (void)snprintf(evidence, sizeof evidence, "reads per step; most time at %s:%d, 25 reads",
                   __FILE__, peek_line);
    has_verdict("host_reads", evidence, "");
    gains("host_reads", "read_s");
}

static void a_slow_callback(void **state)
{
    (void)state;
    fake.set("device_ms", 5);
    FAKE_FIT("trainer.callbacks=[dawdle]");
    has_verdict("host", "for callbacks, loggers", "only every few steps");
    assert_string_equal(member(find("host"), "severity"), "high");
}

static void slow_compilation(void **state)
{
    (void)state;
    fake.set("compile_ms", 1200);
    fake.set("device_ms", 5);
    FAKE_FIT("model.hidden=[9]");
    has_verdict("compile", "0 more came from the cache", "keep the compile cache");
}

/* A fit and a validation whose batches differ: what report.json would say of them. */
static void shapes_that_change(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client = NULL;
    fg_compile_event all[FG_MAX_COMPILE_EVENTS];
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &client, &err));
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 1});
    fg_dataset *data = toy_data(24, 1);
    fgt_ok(fg_trainer_fit(trainer, &task,
                          &(fg_fit_data){.train = data, .val = data, .batch_size = 8}, &err));
    fgt_ok(fg_trainer_validate(trainer, &task, &(fg_fit_data){.val = data, .batch_size = 6}, &err));
    const size_t count = fg_client_compiles(client, all, FG_MAX_COMPILE_EVENTS);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:f, s:{s:s, s:s, s:s, s:s}}", "program", all[i].program,
                            "seconds", all[i].seconds, "cause", "what", all[i].what, "name",
                            all[i].name, "old", all[i].old_value, "new", all[i].new_value));
    json_decref(report);
    report = json_pack("{s:f, s:o}", "seconds", 1.0, "compiles", list);
    (void)json_object_set_new(report, "verdicts", fgi_run_verdicts(report));
    has_verdict("shapes", "was f32[8,6], is f32[6,6]", "give all batches the same shape");
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_client_close(client);
}

/* A TPU that computes for 10 ms what takes a few microseconds. */
static void a_small_batch(void **state)
{
    (void)state;
    fake.set("platform", 2);
    fake.set("kind", 2);
    fake.set("device_ms", 20);
    FAKE_FIT("trainer.seed=1");
    has_verdict("batch", "16 samples per device: the matrix units reach 0.0 %",
                "trainer.batch_size=1024");
    assert_null(find("16bit"));
}

/* A device that takes no time waits for launches. */
static void launches_take_longest(void **state)
{
    (void)state;
    FAKE_FIT("trainer.max_steps=400");
    has_verdict("batch", "launching it takes", "trainer.batch_size=");
}

static void f32_on_a_tpu(void **state)
{
    (void)state;
    fake.set("platform", 2);
    fake.set("kind", 2);
    fake.set("device_ms", 5);
    FAKE_FIT("trainer.precision=32-true");
    has_verdict("16bit", "precision 32-true", "--trainer.precision=bf16-mixed");
}

static void fp16_overflows(void **state)
{
    (void)state;
    CPU_FIT("trainer.precision=16-mixed", "data.scale=3e4", "trainer.max_steps=20");
    has_verdict("fp16", "were skipped", "bf16-mixed");
}

static void many_devices(void **state)
{
    (void)state;
    fake.set("devices", 4);
    fake.set("device_ms", 5);
    FAKE_FIT("optimizer.lr=0.02");
    has_verdict("lr", "4 devices share a batch of 64 samples; lr 0.02, scaling none", "lr_scaling");
    fake.set("devices", 4);
    fake.set("device_ms", 5);
    FAKE_FIT("optimizer.lr=0.02", "trainer.lr_scaling=linear");
    has_verdict("lr", "lr 0.02, scaling linear: the peak is 0.08, 4 times as high", "warm-up");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_healthy_run_has_none), cmocka_unit_test(slow_data),
    cmocka_unit_test(slow_uploads),           cmocka_unit_test(saves_after_each_step),
    cmocka_unit_test(reads_after_each_step),  cmocka_unit_test(a_callback_that_reads),
    cmocka_unit_test(a_slow_callback),        cmocka_unit_test(slow_compilation),
    cmocka_unit_test(shapes_that_change),     cmocka_unit_test(a_small_batch),
    cmocka_unit_test(launches_take_longest),  cmocka_unit_test(f32_on_a_tpu),
    cmocka_unit_test(fp16_overflows),         cmocka_unit_test(many_devices),
};
int main(void) { return cmocka_run_group_tests(tests, begin, end); }
