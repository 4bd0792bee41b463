/* test_train_watchdog.c - a hang is reported, with the step, the device and what completed last;
 * the run continues when the device does.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"
#include "train/step/stage.h"
#include "train/trainer.h"
#include "train/watch/watch.h"

static fake_control fake;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

/* A copy of the report; its text must live longer than the call. */
typedef struct hang_copy {
    bool holds; /* stalls the device after three steps */
    int count;
    char doing[256], stage[32], devices[128], last_event[128], checkpoint[256];
    int64_t step;
    double seconds;
} hang_copy;

static void on_hang(void *self, const fg_hang *hang)
{
    hang_copy *t = self;
    if (t->count < 10 && fake.get("hold") == 0)
        return; /* steps may exceed the limit on a very slow machine */
    (void)snprintf(t->doing, sizeof t->doing, "%s", hang->doing);
    (void)snprintf(t->stage, sizeof t->stage, "%s", hang->stage);
    (void)snprintf(t->devices, sizeof t->devices, "%s", hang->devices);
    (void)snprintf(t->last_event, sizeof t->last_event, "%s", hang->last_event);
    (void)snprintf(t->checkpoint, sizeof t->checkpoint, "%s", hang->checkpoint);
    t->step = hang->step;
    t->seconds = hang->seconds;
    if (++t->count == 2)
        fake.set("hold", 0); /* the device recovers after the second time */
}

static fg_status hold_after_three(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 3)
        fake.set("hold", 1);
    return FG_OK;
}

static const fg_callback_ops holder = {.batch_end = hold_after_three};

static fg_client *fake_client(void)
{
    const fg_client_options options = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    fg_client *client = NULL;
    fg_error err = {0};
    fgt_ok(fg_client_open(&options, &client, &err));
    return client;
}

static void fit(const fg_trainer_options *options, int64_t compile_limit_ns, fg_result *out)
{
    const hang_copy *t = options->hang.report_self;
    fg_error err = {0};
    fg_client *client = fake_client();
    fg_trainer *trainer = NULL;
    fg_dataset *train = toy_data(40, 1);
    fg_dataset *val = compile_limit_ns > 0 ? toy_data(4, 2) : NULL;
    fg_trainer_options o = *options;
    o.devices.client = client;
    fgt_ok(toy_create(&o, &trainer, &err));
    if (compile_limit_ns > 0)
        fgi_watchdog_limit_compiling(trainer->watchdog, compile_limit_ns);
    if (t->holds)
        fgt_ok(fg_trainer_add_callback(trainer, &holder, NULL, &err));
    fgt_ok(fg_trainer_fit(
        trainer, &task,
        &(fg_fit_data){.train = train, .val = val, .batch_size = 4, .workers = FG_NONE}, &err));
    *out = *fg_trainer_result(trainer);
    fake.reset();
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train);
    fg_dataset_destroy(val);
    fg_client_close(client);
}

/* An epoch of ten steps; the device stops responding after the third launch. */
static void a_step_that_does_not_end(void **state)
{
    (void)state;
    hang_copy t = {.holds = true};
    fg_result result;
    const char *folder = fgt_temp_folder();
    fit(&(fg_trainer_options){.limits.max_epochs = 1,
                              .checkpoints.run_dir = folder,
                              .hang.watchdog_s = 0.5, /* longer than an upload under valgrind */
                              .hang.report = on_hang,
                              .hang.report_self = &t},
        0, &result);
    assert_int_equal(result.status, FG_OK);
    assert_int_equal(result.steps, 10);
    assert_true(t.count >= 2);
    assert_true(t.seconds >= 1); /* the second time: twice the limit */
    assert_non_null(strstr(t.devices, "cpu"));
    /* the first three may still have been in flight when the device stalled */
    char last[64], step[64];
    if (t.step == 1)
        (void)snprintf(last, sizeof last, "no step has finished yet");
    else
        (void)snprintf(last, sizeof last, "training step %d ended ", (int)t.step - 1);
    (void)snprintf(step, sizeof step, "training step %d has not finished on cpu:0 (1 of 1 device)",
                   (int)t.step);
    assert_in_range(t.step, 1, 4);
    assert_string_equal(t.doing, step);
    assert_memory_equal(t.last_event, last, strlen(last));
}

/* ---- a dataset that does not answer ---------------------------------------------------------- */

typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_closed; /* a sample waits at it */
    int reports;    /* since then; the second one opens it, the first may have been under way */
    char doing[128];
    int64_t step;
} gate;

static fg_status read_at_gate(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    gate *g = self;
    (void)err;
    if (index == 9) {
        (void)pthread_mutex_lock(&g->mutex);
        g->is_closed = true;
        while (g->reports < 2)
            (void)pthread_cond_wait(&g->changed, &g->mutex);
        g->is_closed = false;
        (void)pthread_mutex_unlock(&g->mutex);
    }
    *(int32_t *)out_fields[1] = toy_sample(index, 1, out_fields[0]);
    return FG_OK;
}

static void open_gate(void *self, const fg_hang *hang)
{
    gate *g = self;
    (void)pthread_mutex_lock(&g->mutex);
    if (g->is_closed) {
        (void)snprintf(g->doing, sizeof g->doing, "%s", hang->doing);
        g->step = hang->step;
        g->reports++;
        (void)pthread_cond_signal(&g->changed);
    }
    (void)pthread_mutex_unlock(&g->mutex);
}

/* The ninth sample is in the batch of the third step. */
static void a_sample_that_does_not_arrive(void **state)
{
    static const fg_dataset_ops ops = {.read = read_at_gate};
    static const fg_field fields[] = {{"x", {FG_F32, 1, {TOY_FEATURES}}}, {"y", {FG_S32, 0, {0}}}};
    const fg_dataset_spec spec = {.count = 40, .fields = fields, .field_count = 2};
    gate g = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    fg_error err = {0};
    fg_client *client = fake_client();
    fg_dataset *train;
    (void)state;
    fgt_ok(fg_dataset_create(&ops, &g, &spec, &train, &err));
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_steps = 4,
                                                                    .hang.watchdog_s = 0.05,
                                                                    .hang.report = open_gate,
                                                                    .hang.report_self = &g});
    fgt_ok(fg_trainer_fit(
        trainer, &task,
        &(fg_fit_data){.train = train, .batch_size = 4, .workers = FG_NONE, .no_shuffle = true},
        &err));
    assert_string_equal(g.doing, "training step 3 is waiting for the data loader");
    assert_int_equal(g.step, 3);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(train);
    fg_client_close(client);
}

static void nothing_is_reported_of_a_run_that_goes_on(void **state)
{
    (void)state;
    hang_copy t = {.count = 10}; /* so that it never releases a device by mistake */
    fg_result result;
    fit(&(fg_trainer_options){.limits.max_steps = 3,
                              .hang.watchdog_s = 3600,
                              .hang.report = on_hang,
                              .hang.report_self = &t},
        0, &result);
    assert_int_equal(t.count, 10);
}

static fg_status hold_at_once(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at, (void)err;
    fake.set("hold", 1);
    return FG_OK;
}

static const fg_callback_ops early_holder = {.eval_start = hold_at_once};

static fg_status drop(void *self, const fg_type *type, const void *data, int64_t first,
                      fg_error *err)
{
    (void)self, (void)type, (void)data, (void)first, (void)err;
    return FG_OK;
}

/* After a fit, one batch whose rows never arrive: that is monitored too. */
static void predictions_that_do_not_arrive(void **state)
{
    (void)state;
    hang_copy t = {.count = 0};
    fg_error err = {0};
    fg_client *client = fake_client();
    fg_trainer *trainer = NULL;
    fg_dataset *data = toy_data(4, 1);
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client,
                                            .checkpoints.run_dir = fgt_temp_folder(),
                                            .hang.watchdog_s = 0.05,
                                            .hang.report = on_hang,
                                            .hang.report_self = &t},
                      &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &early_holder, NULL, &err));
    fgt_ok(fg_trainer_fit(
        trainer, &task, &(fg_fit_data){.train = data, .batch_size = 4, .workers = FG_NONE}, &err));
    fgt_ok(fg_trainer_predict(trainer, &task,
                              &(fg_fit_data){.predict = data, .batch_size = 4, .workers = FG_NONE},
                              drop, NULL, &err));
    assert_true(t.count >= 2);
    assert_string_equal(t.stage, "prediction");
    assert_non_null(strstr(t.checkpoint, "/checkpoints/step-000000001")); /* of the fit before */
    fake.reset();
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_client_close(client);
}

/* ---- the report ------------------------------------------------------------------------------ */

typedef struct saying {
    pthread_mutex_t mutex;
    int count;
    double first_s; /* seconds of the first report */
    char text[1024], log[1024];
} saying;

static void keep_saying(void *self, const fg_hang *hang)
{
    saying *s = self;
    (void)pthread_mutex_lock(&s->mutex);
    (void)snprintf(s->text, sizeof s->text, "%s|%s|%lld|%s|%s|%s", hang->doing, hang->stage,
                   (long long)hang->step, hang->devices, hang->last_event, hang->checkpoint);
    assert_true(hang->seconds >= 0.001);
    if (s->count++ == 0)
        s->first_s = hang->seconds;
    (void)pthread_mutex_unlock(&s->mutex);
}

static void keep_log(void *self, fg_log_level level, const char *line)
{
    saying *s = self;
    if (level != FG_LOG_WARNING)
        return;
    (void)pthread_mutex_lock(&s->mutex);
    (void)snprintf(s->log, sizeof s->log, "%s", line);
    (void)pthread_mutex_unlock(&s->mutex);
}

static fgi_spans spans; /* of the thread that the watchdog watches */
static fgi_span span;

static void begin_span(fgi_watchdog *dog, fgi_span doing)
{
    spans = (fgi_spans){.listener_count = 1, .listener = {fgi_watchdog_listener(dog)}};
    span = doing;
    fgi_span_begin(&spans, &span);
}

/* The first report while the Trainer does `doing` in a step. The watchdog was idle before, so that
 * no earlier report can arrive here. */
static void said_of(fgi_watchdog *dog, saying *s, fgi_span doing, char *out, size_t size)
{
    bool is_said = false;
    begin_span(dog, doing);
    while (!is_said) {
        (void)pthread_mutex_lock(&s->mutex);
        is_said = s->count > 0;
        (void)snprintf(out, size, "%s", s->text);
        (void)pthread_mutex_unlock(&s->mutex);
        (void)usleep(500);
    }
}

/* A running watchdog that reports after a millisecond. */
static fgi_watchdog *quick_watchdog(saying *s)
{
    const fg_trainer_options options = {
        .hang.watchdog_s = 0.001, .hang.report = keep_saying, .hang.report_self = s};
    fgi_watchdog *dog = NULL;
    fg_error err = {0};
    fgt_ok(fgi_watchdog_create(&options, &dog, &err));
    fgt_ok(fgi_watchdog_start(dog, &err));
    return dog;
}

static void each_activity_has_its_words(void **state)
{
    (void)state;
    static const struct {
        fgi_span doing;
        const char *text;
    } rows[] = {
        {{FGI_INPUT, FGI_TRAIN, .number = 7},
         "training step 7 is waiting for the data loader|training|7"},
        {{FGI_INPUT, FGI_VAL, .number = -1},
         "validation is waiting for the data loader|validation|0"},
        {{FGI_UPLOAD, FGI_VAL, .number = 1}, "validation step 1: uploading its batch|validation|1"},
        {{FGI_LAUNCH, FGI_TEST, .number = 2}, "test step 2: launching its program|test|2"},
        {{FGI_STEP, FGI_PREDICT, .number = 3},
         "prediction step 3 has not finished on no device yet|prediction|3"},
        {{FGI_READ, FGI_TRAIN, .number = 4}, "training step 4: reading metrics|training|4"},
        {{FGI_CHECKPOINT, FGI_TRAIN, .number = 5},
         "training step 5: saving a checkpoint|training|5"},
    };
    char got[1024], want[1024];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        saying s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
        fgi_watchdog *dog = quick_watchdog(&s);
        said_of(dog, &s, rows[i].doing, got, sizeof got);
        fgi_watchdog_stop(dog);
        fgi_watchdog_destroy(dog);
        (void)snprintf(want, sizeof want, "%s|no device yet|no step has finished yet|",
                       rows[i].text);
        assert_string_equal(got, want);
    }
}

/* What the report and the log have of a hang on some devices. */
static void report_has_facts(int devices)
{
    saying s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    char got[1024], all[32], text[256];
    fake.set("devices", devices);
    fg_client *client = fake_client();
    (void)snprintf(all, sizeof all, "cpu, %d device%s", devices, devices == 1 ? "" : "s");
    fg_log_set(keep_log, &s);
    fgi_watchdog *dog = quick_watchdog(&s);
    fgi_watch_client(dog, client);
    fgi_watch_checkpoint(dog, "runs/a/last");
    fgi_watch_done(dog, FGI_VAL, 6);
    said_of(dog, &s, (fgi_span){FGI_STEP, FGI_TRAIN, .number = 9}, got, sizeof got);
    (void)snprintf(text, sizeof text,
                   "training step 9 has not finished on %s|training|9|%s|validation step 6 ended ",
                   all, all);
    assert_memory_equal(got, text, strlen(text));
    assert_non_null(strstr(got, " s ago|runs/a/last"));
    (void)pthread_mutex_lock(&s.mutex);
    assert_memory_equal(s.log, "the run has made no progress for ", 33);
    (void)snprintf(text, sizeof text,
                   " s: training step 9 has not finished on %s; validation step 6 ended ", all);
    assert_non_null(strstr(s.log, text));
    assert_non_null(strstr(s.log, " s ago; last checkpoint: runs/a/last"));
    (void)pthread_mutex_unlock(&s.mutex);
    fgi_watchdog_stop(dog);
    fgi_watchdog_destroy(dog);
    fg_log_set(NULL, NULL);
    fg_client_close(client);
}

/* The last completed step, the devices and the checkpoint are in the report and in the log. */
static void facts_of_the_report(void **state)
{
    (void)state;
    report_has_facts(1);
    report_has_facts(2);
}

/* Waits for this many reports. */
static void wait_for(saying *s, int count)
{
    for (int n = 0; n < count; (void)usleep(500)) {
        (void)pthread_mutex_lock(&s->mutex);
        n = s->count;
        (void)pthread_mutex_unlock(&s->mutex);
    }
}

/* The next hang is reported after one limit, however long the one before lasted. On a busy machine
 * a report may be late, so one of some hangs is enough. */
static void a_second_hang_is_reported_as_soon(void **state)
{
    enum { REPORTS = 200, TRIES = 50 };
    char got[1024];
    bool is_soon = false;
    (void)state;
    saying s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    fgi_watchdog *dog = quick_watchdog(&s);
    begin_span(dog, (fgi_span){FGI_STEP, FGI_TRAIN, .number = 1});
    wait_for(&s, REPORTS);
    for (int i = 0; i < TRIES && !is_soon; i++) {
        fgi_span_end(&span);
        (void)pthread_mutex_lock(&s.mutex);
        s.count = 0;
        (void)pthread_mutex_unlock(&s.mutex);
        said_of(dog, &s, (fgi_span){FGI_STEP, FGI_TRAIN, .number = 2}, got, sizeof got);
        is_soon = s.first_s < 0.001 * REPORTS;
    }
    assert_true(is_soon);
    fgi_watchdog_stop(dog);
    fgi_watchdog_destroy(dog);
}

/* What a watchdog has seen in one call of the Trainer is not in the reports of the next one. */
static void each_call_starts_anew(void **state)
{
    char got[1024];
    fg_error err = {0};
    (void)state;
    saying s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    fgi_watchdog *dog = quick_watchdog(&s);
    fgi_watch_checkpoint(dog, "runs/a/last");
    fgi_watch_done(dog, FGI_VAL, 6);
    begin_span(dog, (fgi_span){FGI_STEP, FGI_TRAIN, .number = 1});
    wait_for(&s, 1);
    fgi_watchdog_stop(dog);
    s.count = 0;
    fgt_ok(fgi_watchdog_start(dog, &err));
    said_of(dog, &s, (fgi_span){FGI_READ, FGI_TRAIN, .number = 2}, got, sizeof got);
    fgi_watchdog_stop(dog);
    fgi_watchdog_destroy(dog);
    assert_string_equal(got,
                        "training step 2: reading metrics|training|2|no device yet|no step has "
                        "finished yet|");
}

/* ---- compilation ----------------------------------------------------------------------------- */

typedef struct lines {
    int count;
    bool of_training, of_validation, of_other;
} lines;

static void on_log(void *self, fg_log_level level, const char *line)
{
    lines *l = self;
    if (level != FG_LOG_WARNING || strstr(line, "compiling the ") == NULL)
        return; /* on a slow machine, steps may be reported too */
    l->count++;
    if (strstr(line, "compiling the training step has taken ") != NULL)
        l->of_training = true;
    else if (strstr(line, "compiling the validation step has taken ") != NULL)
        l->of_validation = true;
    else
        l->of_other = true;
}

static void a_long_compilation_is_warned_of(void **state)
{
    (void)state;
    lines l = {0};
    hang_copy t = {.count = 10};
    fg_result result;
    fg_log_set(on_log, &l);
    fake.set("compile_ms", 400);
    const int64_t begin = fgi_now_ns();
    fit(&(fg_trainer_options){.limits.max_steps = 1,
                              .hang.watchdog_s = 0.02,
                              .hang.report = on_hang,
                              .hang.report_self = &t},
        100000000, &result);
    fg_log_set(NULL, NULL);
    assert_in_range(l.count, 1, (fgi_now_ns() - begin) / 100000000); /* once per limit */
    assert_true(l.of_training && l.of_validation && !l.of_other);
    assert_null(strstr(t.doing, "compil")); /* and is not a hang */
}

static void a_limit_that_is_none(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    assert_int_equal(toy_create(&(fg_trainer_options){.hang.watchdog_s = -1}, &trainer, &err),
                     FG_EINVAL);
    assert_string_equal(err.message,
                        "trainer.watchdog_s: expected a number from 0 to 1000000000 (for example "
                        "600), got '-1'");
}

static int nothing_is_alive(void **state)
{
    (void)state;
    const bool alive = fgi_alloc_live() != 0 || fake.get("events") != 0 || fake.get("buffers") != 0;
    fake.reset();
    return alive;
}

static int open_fake(void **state)
{
    (void)state;
    return fake_open(&fake) ? 0 : 1;
}

int main(void)
{
    toy_use_memory();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_step_that_does_not_end, nothing_is_alive),
        cmocka_unit_test_teardown(a_sample_that_does_not_arrive, nothing_is_alive),
        cmocka_unit_test_teardown(nothing_is_reported_of_a_run_that_goes_on, nothing_is_alive),
        cmocka_unit_test_teardown(predictions_that_do_not_arrive, nothing_is_alive),
        cmocka_unit_test_teardown(each_activity_has_its_words, nothing_is_alive),
        cmocka_unit_test(a_second_hang_is_reported_as_soon),
        cmocka_unit_test(each_call_starts_anew),
        cmocka_unit_test_teardown(facts_of_the_report, nothing_is_alive),
        cmocka_unit_test_teardown(a_long_compilation_is_warned_of, nothing_is_alive),
        cmocka_unit_test(a_limit_that_is_none),
    };
    return cmocka_run_group_tests(tests, open_fake, NULL) == 0 ? 0 : 1;
}
