/* test_train_cursor.c - what survives one call and one process: the state of callbacks in
 * checkpoints, also after a kill; the metrics of a completed run; the checkpoint named in the
 * report of a hang; and which part of the data each call uses. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "toy_place.h"
#include "train/trainer.h"
#include "train/trainer_options.h"
#include "train/watch/watch.h"

static fgi_buf talk;

static void listen(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level >= FG_LOG_WARNING)
        fgi_buf_printf(&talk, "%s\n", line);
}

/* 10 samples in batches of 4: 3 steps per epoch. */
static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

static int begin(void **state)
{
    (void)state;
    talk = (fgi_buf){0};
    fg_log_set(listen, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    fgi_buf_fini(&talk);
    return 0;
}

/* ---- a callback with state ------------------------------------------------------------------- */

/* Counts batches; the count is its state. */
typedef struct counter {
    int64_t count, at_start; /* when fit_start was called */
    int loads;
    bool grows, shrinks, refuses; /* saves another size the second time; rejects what it loads */
} counter;

static size_t save_count(void *self, void *bytes, size_t size)
{
    const counter *c = self;
    if (c->count == 0)
        return 0;
    if (size >= sizeof c->count)
        memcpy(bytes, &c->count, sizeof c->count);
    return sizeof c->count + (c->grows && bytes != NULL) - (c->shrinks && bytes != NULL);
}

static fg_status load_count(void *self, const void *bytes, size_t size, fg_error *err)
{
    counter *c = self;
    c->loads++;
    if (c->refuses || size != sizeof c->count) {
        (void)snprintf(err->message, sizeof err->message, "not a count");
        return FG_EFORMAT;
    }
    memcpy(&c->count, bytes, size);
    return FG_OK;
}

static fg_status on_start(void *self, const fg_progress *at, fg_error *err)
{
    counter *c = self;
    c->at_start = c->count;
    return FG_OK;
}

static fg_status on_batch(void *self, const fg_progress *at, fg_error *err)
{
    counter *c = self;
    c->count++;
    return FG_OK;
}

static const fg_callback_ops counter_ops = {.name = "counter",
                                            .fit_start = on_start,
                                            .batch_end = on_batch,
                                            .save = save_count,
                                            .load = load_count};
static const fg_callback_ops other_ops = {.name = "other",
                                          .fit_start = on_start,
                                          .batch_end = on_batch,
                                          .save = save_count,
                                          .load = load_count};

/* A fit in `folder` by a new Trainer, with up to two counters. */
static fg_status fit(const char *folder, const char *resume, int64_t epochs,
                     const fg_callback_ops *ops[2], counter *counters, fg_error *err)
{
    const fg_trainer_options options = {.limits.max_epochs = epochs,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.ckpt_every_epochs = 1,
                                        .checkpoints.keep_checkpoints = FG_NONE,
                                        .checkpoints.resume = resume};
    fg_trainer *trainer = toy_trainer(client, &options);
    for (int i = 0; i < 2 && ops[i] != NULL; i++)
        assert_int_equal(fg_trainer_add_callback(trainer, ops[i], &counters[i], err), FG_OK);
    const fg_fit_data data = the_data();
    const fg_status status = fg_trainer_fit(trainer, &task, &data, err);
    fg_trainer_destroy(trainer);
    return status;
}

/* Only its name is that of a counter. */
static const fg_callback_ops stateless_ops = {.name = "counter", .batch_end = on_batch};
static const fg_callback_ops *one[2] = {&counter_ops, NULL}, *none[2] = {NULL, NULL},
                             *named[2] = {&stateless_ops, NULL},
                             *both[2] = {&counter_ops, &other_ops};

/* A checkpoint does not contain later changes: a run that resumes from the middle of another one
 * has the state of that step. */
static void state_comes_back(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    counter c[2] = {{.count = 0}};
    fgt_ok(fit(folder, NULL, 3, one, c, &err));
    assert_int_equal(c[0].count, 9);
    assert_int_equal(c[0].loads, 0);
    c[0] = (counter){.count = 77};
    fgt_ok(fit(folder, fgt_path(folder, "checkpoints/step-000000003"), 2, one, c, &err));
    assert_int_equal(c[0].loads, 1);
    assert_int_equal(c[0].at_start, 3);
    assert_int_equal(c[0].count, 6);
    assert_int_equal(talk.size, 0);
}

static void missing_and_unclaimed_states_are_warned_of(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    counter c[2] = {{.count = 0}};
    fgt_ok(fit(folder, NULL, 1, one, c, &err));
    c[0] = c[1] = (counter){.count = 0};
    fgt_ok(fit(folder, "last", 2, both, c, &err));
    assert_int_equal(c[0].at_start, 3);
    assert_int_equal(c[1].at_start, 0);
    assert_int_equal(c[1].loads, 0);
    assert_non_null(strstr(
        talk.data, "contains no state of callback 'other', which starts from its initial state"));
    assert_null(strstr(talk.data, "'counter'"));
    fgi_buf_clear(&talk);
    fgt_ok(fit(folder, "last", 3, named, c, &err));
    assert_non_null(
        strstr(talk.data, "the state of callback 'counter', which this run does not have"));
    assert_non_null(
        strstr(talk.data, "the state of callback 'other', which this run does not have"));
    fgi_buf_clear(&talk);
    fgt_ok(fit(folder, "last", 4, none, c, &err)); /* it has been dropped */
    assert_int_equal(talk.size, 0);
}

static void states_that_do_not_fit_end_the_fit(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    counter c[2] = {{.grows = true}};
    assert_int_equal(fit(folder, NULL, 1, one, c, &err), FG_EINVAL);
    fgt_message_is(err.message, "callback 'counter': save returned 8 bytes, then 9: its state must "
                                "not change in between");
    c[0] = (counter){.shrinks = true};
    assert_int_equal(fit(fgt_temp_folder(), NULL, 1, one, c, &err), FG_EINVAL);
    fgt_message_is(err.message, "callback 'counter': save returned 8 bytes, then 7: its state must "
                                "not change in between");
    folder = fgt_temp_folder();
    c[0] = (counter){.count = 0};
    fgt_ok(fit(folder, NULL, 1, one, c, &err));
    c[0] = (counter){.refuses = true};
    assert_int_equal(fit(folder, "last", 2, one, c, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/checkpoints/step-000000003: the state of callback 'counter': not a count");
    assert_int_equal(c[0].count, 0); /* no step was executed */
}

static fg_status build_nothing(void *self, fg_module *root, fg_error *err)
{
    (void)self, (void)root, (void)err;
    return FG_OK;
}

static void half_of_the_functions_are_refused(void **state)
{
    (void)state;
    const fg_callback_ops rows[] = {{.name = "a", .save = save_count},
                                    {.name = "a", .load = load_count},
                                    {.save = save_count, .load = load_count},
                                    {.name = "", .save = save_count, .load = load_count}};
    fg_error err = {0};
    counter c = {.count = 0};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fg_trainer_add_callback(trainer, &rows[i], &c, &err), FG_EINVAL);
        assert_non_null(strstr(err.message, "expected all of name, save and load"));
    }
    fgt_ok(fg_trainer_add_callback(trainer, &counter_ops, &c, &err));
    assert_int_equal(fg_trainer_add_callback(trainer, &counter_ops, &c, &err), FG_EINVAL);
    fgt_message_is(err.message, "there already is a callback 'counter': callbacks with state or "
                                "variables require unique names");
    const fg_callback_ops builds[] = {{.build = build_nothing},
                                      {.build = build_nothing}, /* neither has a name */
                                      {.name = "b", .build = build_nothing},
                                      {.name = "b", .build = build_nothing},
                                      {.name = "counter", .build = build_nothing},
                                      {.name = "counter", .batch_end = on_batch}};
    for (int i = 0; i < 6; i++)
        assert_int_equal(fg_trainer_add_callback(trainer, &builds[i], &c, &err),
                         i == 3 || i == 4 ? FG_EINVAL : FG_OK);
    fg_trainer_destroy(trainer);
}

/* ---- a killed process ------------------------------------------------------------------------ */

enum { START = 1000, LIVES = 8, LAST_STEP = 400, MISMATCH = 3 };
static const char *program; /* this test, started again as the process to be killed */

/* The count must equal that in the checkpoint that the run resumed from. */
static fg_status check_count(void *self, const fg_progress *at, fg_error *err)
{
    const counter *c = self;
    if (c->count == START + at->step)
        return FG_OK;
    (void)snprintf(err->message, sizeof err->message, "count %lld at step %lld",
                   (long long)c->count, (long long)at->step);
    return FG_EINVAL;
}

static fg_status count_slowly(void *self, const fg_progress *at, fg_error *err)
{
    (void)usleep(500);
    return on_batch(self, at, err);
}

/* Starts or resumes the run, which saves after each step. */
static fg_status fit_killable(const char *folder, counter *c, fg_error *err)
{
    static const fg_callback_ops ops = {.name = "counter",
                                        .fit_start = check_count,
                                        .batch_end = count_slowly,
                                        .save = save_count,
                                        .load = load_count};
    const fg_trainer_options options = {.limits.max_steps = LAST_STEP,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.ckpt_every_steps = 1,
                                        .checkpoints.resume = "auto"};
    const fg_fit_data data = {.train = train_data, .batch_size = 4, .workers = FG_NONE};
    fg_trainer *trainer = toy_trainer(client, &options);
    assert_int_equal(fg_trainer_add_callback(trainer, &ops, c, err), FG_OK);
    const fg_status status = fg_trainer_fit(trainer, &task, &data, err);
    fg_trainer_destroy(trainer);
    return status;
}

/* The main function of the process that will be killed. */
static int live(const char *folder)
{
    fg_error err = {0};
    counter c = {.count = START};
    if (open_all(NULL) != 0)
        return 2;
    const fg_status status = fit_killable(folder, &c, &err);
    if (status != FG_OK)
        (void)fprintf(stderr, "%s\n", err.message);
    return status == FG_OK && close_all(NULL) == 0 ? 0 : MISMATCH;
}

/* Changes with every save, because `last` is a new file each time. */
static ino_t last_pointer(const char *folder)
{
    struct stat info;
    return stat(fgt_path(folder, "checkpoints/last"), &info) == 0 ? info.st_ino : 0;
}

/* Starts the run and kills it some time after its first save. */
static void live_and_die(const char *folder, int number)
{
    const ino_t before = last_pointer(folder);
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        (void)execl(program, program, folder, (char *)NULL);
        _exit(127);
    }
    assert_true(child > 0);
    for (int ms = 0; last_pointer(folder) == before; ms++) {
        assert_int_equal(waitpid(child, &status, WNOHANG), 0); /* it has not ended */
        assert_true(ms < 60000);
        (void)usleep(1000);
    }
    (void)usleep((useconds_t)(1700 * number));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

/* Whenever the process is killed, the callback continues with the state of the checkpoint's step
 * and ends as in a run that was never killed. */
static void a_killed_run_resumes_with_its_callbacks_state(void **state)
{
    (void)state;
    fg_error err = {0};
    char folder[512];
    counter c = {.count = START};
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    for (int i = 0; i < LIVES; i++)
        live_and_die(folder, i);
    fgt_ok(fit_killable(folder, &c, &err));
    assert_int_equal(c.loads, 1);
    assert_int_equal(c.count, START + LAST_STEP);
    assert_int_equal(talk.size, 0);
}

/* ---- from one call to the next --------------------------------------------------------------- */

static void a_complete_run_keeps_its_metrics(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 1});
    const fg_result *result = fg_trainer_result(trainer);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    const size_t count = result->metric_count;
    const fgi_read_watch watch = fgi_watch_reads((fgi_read_watch){.fn = NULL});
    assert_null(watch.fn); /* what this thread reads afterwards is not the fit's */
    const double loss = toy_metric(trainer, "val_loss");
    assert_int_equal(count, 4); /* loss and acc, for training and validation */
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
    for (int i = 0; i < 2; i++) {
        const fg_fit_data empty = {.batch_size = 4}; /* a fit that does not start changes nothing */
        assert_int_equal(fg_trainer_fit(trainer, &task, &empty, &err), FG_EINVAL);
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_true(result->nothing_to_do);
        assert_int_equal(result->metric_count, count);
        assert_memory_equal(&(double){toy_metric(trainer, "val_loss")}, &loss, sizeof loss);
    }
    fg_trainer_destroy(trainer);
}

/* The result of an evaluation of a checkpoint has no metrics of its run. */
static void an_evaluation_has_its_own_metrics(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    const char *folder = fgt_temp_folder();
    counter c[2] = {{.count = 0}};
    fgt_ok(fit(folder, NULL, 1, none, c, &err));
    fg_trainer *trainer = toy_trainer(
        client, &(fg_trainer_options){.checkpoints = {.run_dir = folder, .resume = "last"}});
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->metric_count, 2);
    fg_trainer_destroy(trainer);
}

enum { STALLED_STEP = 999 };

typedef struct seen {
    fg_trainer *trainer;
    char checkpoint[512];
    atomic_bool is_reported;
} seen;

static void keep_checkpoint(void *self, const fg_hang *hang)
{
    seen *s = self;
    if (hang->step != STALLED_STEP || atomic_load(&s->is_reported))
        return; /* a slow machine's step, or the second report */
    (void)snprintf(s->checkpoint, sizeof s->checkpoint, "%s", hang->checkpoint);
    atomic_store(&s->is_reported, true);
}

/* Stalls until the hang is reported. */
static fg_status stall(void *self, const fg_progress *at, fg_error *err)
{
    seen *s = self;
    atomic_store(&s->is_reported, false);
    fgi_span span = {FGI_READ, .number = STALLED_STEP};
    fgi_span_begin(&s->trainer->spans, &span);
    while (!atomic_load(&s->is_reported))
        (void)usleep(500);
    fgi_span_end(&span);
    return FG_OK;
}

/* Until this fit has saved anything, the report of a hang names the checkpoint that it resumed
 * from; in a later fit of the same Trainer, the one that the earlier fit saved. */
static void a_hang_names_the_checkpoint_before(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.fit_start = stall};
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    counter c[2] = {{.count = 0}};
    fgt_ok(fit(folder, NULL, 1, none, c, &err));
    seen s = {.trainer = NULL};
    const fg_trainer_options options = {.limits.max_epochs = 2,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.resume = "last",
                                        .hang.watchdog_s = 0.01,
                                        .hang.report = keep_checkpoint,
                                        .hang.report_self = &s};
    s.trainer = toy_trainer(client, &options);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_add_callback(s.trainer, &ops, &s, &err));
    fgt_ok(fg_trainer_fit(s.trainer, &task, &data, &err));
    assert_non_null(strstr(s.checkpoint, "step-000000003"));
    fgt_ok(fg_trainer_fit(s.trainer, &task, &data, &err));
    assert_non_null(strstr(s.checkpoint, "step-000000006"));
    fg_trainer_destroy(s.trainer);
}

/* ---- parts of the data ----------------------------------------------------------------------- */

static fg_status count_rows(void *self, const fg_type *type, const void *data, int64_t first,
                            fg_error *err)
{
    *(int64_t *)self += type->dim[0];
    return FG_OK;
}

static void each_call_takes_its_part(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    int64_t rows = 0;
    fg_dataset *test = toy_data(9, 3), *predict = toy_data(13, 4);
    const fg_fit_data parts[] = {{.val = val_data, .batch_size = 4, .workers = FG_NONE},
                                 {.test = test, .batch_size = 4, .workers = FG_NONE},
                                 {.predict = predict, .batch_size = 4, .workers = FG_NONE}};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
    r = (recorder){0};
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    fgt_ok(fg_trainer_validate(trainer, &task, &parts[0], &err));
    assert_int_equal(recorder_count(&r, "batch_end"), 2);
    assert_int_equal(fg_trainer_test(trainer, &task, &parts[0], &err), FG_EINVAL);
    assert_string_equal(err.message, "no test data were given: set test of fg_fit_data");
    fgt_ok(fg_trainer_test(trainer, &task, &parts[1], &err));
    assert_int_equal(recorder_count(&r, "batch_end"), 2 + 3);
    assert_int_equal(fg_trainer_predict(trainer, &task, &parts[1], count_rows, &rows, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "no prediction data were given: set predict of fg_fit_data");
    fgt_ok(fg_trainer_predict(trainer, &task, &parts[2], count_rows, &rows, &err));
    assert_int_equal(rows, 13);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(test);
    fg_dataset_destroy(predict);
}

/* ---- the position ---------------------------------------------------------------------------- */

static const fgi_best_rule rule = {"val_loss", false, 1};

static const char position_text[] = "{\"step\":1,\"epoch\":2,\"position\":3,\"epoch_batches\":4,"
                                    "\"samples\":5,\"batch_size\":6,\"shuffle_buffer\":7,"
                                    "\"validated_step\":8,\"total_steps\":9,\"log_lines\":10,"
                                    "\"owes_validation\":true,\"has_read_epoch\":true,"
                                    "\"monitor\":\"val_loss\",\"mode\":\"min\"}";
static const fgi_cursor position = {.step = 1,
                                    .epoch = 2,
                                    .position = 3,
                                    .epoch_batches = 4,
                                    .sample_count = 5,
                                    .batch_size = 6,
                                    .shuffle_buffer = 7,
                                    .validated_step = 8,
                                    .total_steps = 9,
                                    .log_lines = 10,
                                    .owes_validation = true,
                                    .has_read_epoch = true};

/* Every member is in state.json, under its name; those of earlier versions have defaults. */
static void the_position_is_read_as_it_was_written(void **state)
{
    fg_error err = {0};
    fgi_cursor read = {.step = 99};
    (void)state;
    json_t *object = json_object();
    assert_true(fgi_cursor_save(&position, &rule, object));
    char *saved = json_dumps(object, JSON_COMPACT);
    assert_string_equal(saved, position_text);
    free(saved);
    fgt_ok(fgi_cursor_load(&read, object, &rule, "x", &err));
    assert_memory_equal(&read, &position, sizeof position);
    json_decref(object);
    object =
        json_pack("{s:i, s:i, s:i, s:i}", "step", 0, "epoch", 0, "position", 0, "epoch_batches", 0);
    fgt_ok(fgi_cursor_load(&read, object, &rule, "x", &err));
    const fgi_cursor start = {.validated_step = -1, .log_lines = -1};
    assert_memory_equal(&read, &start, sizeof start);
    json_decref(object);
}

static const struct {
    const char *key;
    int least;
} least_numbers[] = {{"step", 0},           {"epoch", 0},           {"position", 0},
                     {"epoch_batches", 0},  {"samples", -1},        {"batch_size", 0},
                     {"shuffle_buffer", 0}, {"validated_step", -1}, {"total_steps", 0},
                     {"log_lines", -1}};

/* The least number of each, and one below it. */
static void numbers_of_a_position_have_a_least(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof least_numbers / sizeof least_numbers[0]; i++) {
        fg_error err = {0};
        fgi_cursor read = fgi_cursor_start();
        char expected[128];
        json_t *object = json_object();
        assert_true(fgi_cursor_save(&read, &rule, object));
        assert_int_equal(
            json_object_set_new(object, least_numbers[i].key, json_integer(least_numbers[i].least)),
            0);
        fgt_ok(fgi_cursor_load(&read, object, &rule, "x", &err));
        assert_int_equal(json_object_set_new(object, least_numbers[i].key,
                                             json_integer(least_numbers[i].least - 1)),
                         0);
        read.step = 7;
        assert_int_equal(fgi_cursor_load(&read, object, &rule, "x", &err), FG_EFORMAT);
        (void)snprintf(expected, sizeof expected,
                       "x: '%s' in its state.json is missing or not an integer of at least %d",
                       least_numbers[i].key, least_numbers[i].least);
        assert_string_equal(err.message, expected);
        assert_int_equal(read.step, 7);
        json_decref(object);
    }
}

/* By the samples, the limit of batches, or the last batch of a source. */
static void an_epoch_ends_at_its_last_batch(void **state)
{
    static const struct {
        int64_t limit, batches, samples, position;
        bool drop_last, has_read, ends; /* batches of 4 */
    } rows[] = {{0, 2, 10, 8, false, false, false}, {0, 3, 10, 10, false, false, true},
                {0, 3, 10, 12, false, false, true}, {0, 2, 10, 8, true, false, true},
                {0, 1, 8, 4, true, false, false},   {0, 2, 8, 8, true, false, true},
                {2, 2, 10, 8, false, false, true},  {2, 1, 10, 4, false, false, false},
                {2, 3, 10, 8, false, false, true},  {0, 9, -1, 36, false, false, false},
                {0, 9, -1, 36, false, true, true},  {9, 9, -1, 36, false, false, true},
                {0, 2, 10, 8, false, true, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fgi_cursor cursor = {.epoch_batches = rows[i].batches,
                                   .sample_count = rows[i].samples,
                                   .position = rows[i].position,
                                   .batch_size = 4,
                                   .has_read_epoch = rows[i].has_read};
        assert_int_equal(fgi_cursor_ends_epoch(&cursor, rows[i].limit, rows[i].drop_last),
                         rows[i].ends);
    }
    const fgi_cursor before = {.step = 5, .epoch_batches = 2, .position = 8};
    const fg_host_batch batch = {.is_last = true, .next_position = 10, .position = 8};
    const fgi_cursor after = fgi_cursor_after(&before, &batch);
    const fgi_cursor expected = {
        .step = 5, .epoch_batches = 3, .position = 10, .has_read_epoch = true};
    assert_memory_equal(&after, &expected, sizeof expected);
}

static const struct {
    int64_t samples, position, batch_size, batches; /* of the checkpoint */
    int64_t size;                                   /* of the run's batches */
    int64_t found;                                  /* batches; -1: an error */
    const char *says;
} places[] = {
    {10, 8, 4, 2, 4, 2, ""},
    {10, 8, 4, 2, 3, 3, "run/a was trained with batches of 4, but the run has batches of 3\n"},
    {10, 8, 4, 2, 8, 1, "run/a was trained with batches of 4, but the run has batches of 8\n"},
    {10, 8, 0, 2, 8, 1, ""},
    {10, 0, 4, 0, 8, 0, "run/a was trained with batches of 4, but the run has batches of 8\n"},
    {20, 0, 4, 0, 4, 0, ""},
    {20, 8, 4, 2, 4, -1,
     "the checkpoint is 8 samples into an epoch of 20, but the data have 10\nto train on other "
     "data, start from the weights instead"},
    {-1, 1, 4, 1, 4, -1,
     "the checkpoint is 1 sample into an epoch of other data\nto train on other data, start "
     "from the weights instead"}};

/* Where a checkpoint continues in these data, or why it cannot; the dataset has 10 samples. */
static void a_position_is_found_in_the_data(void **state)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        fg_error err = {0};
        const fg_fit_data data = the_data();
        fgi_cursor cursor = {.sample_count = places[i].samples,
                             .position = places[i].position,
                             .batch_size = places[i].batch_size,
                             .epoch_batches = places[i].batches};
        const fg_status status = fgi_cursor_place(&cursor, &data, places[i].size, "run/a", &err);
        assert_int_equal(status, places[i].found < 0 ? FG_EINVAL : FG_OK);
        assert_string_equal(status == FG_OK ? (talk.size > 0 ? talk.data : "") : err.message,
                            places[i].says);
        fgi_buf_clear(&talk);
        if (status != FG_OK)
            continue;
        assert_int_equal(cursor.epoch_batches, places[i].found);
        assert_int_equal(cursor.sample_count, 10);
        assert_int_equal(cursor.batch_size, places[i].size);
        assert_int_equal(cursor.shuffle_buffer, 0);
        cursor.batch_size++; /* another fit of a Trainer without files */
        fgt_ok(fgi_cursor_place(&cursor, &data, places[i].size, "", &err));
        assert_int_equal(talk.size, 0);
    }
}

/* fast_dev_run and overfitting replace the other limits. */
static void a_trial_has_its_own_limits(void **state)
{
    static const struct {
        const char *resume;
        bool stays;
    } rows[] = {{"last", false}, {"best", false}, {"auto", false}, {"run/a", true}, {NULL, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_trainer_options o = {
            .limits = {.fast_dev_run = true,
                       .max_epochs = 7,
                       .max_steps = 9,
                       .limit_train_batches.fraction = 0.5,
                       .limit_val_batches.fraction = 0.5},
            .validation = {.val_every_epochs = 3, .val_every_steps = 4, .sanity_val_steps = 2},
            .output = {.log_every = 50, .profile = {2, 3}},
            .divergence.on_divergence = "rollback",
            .checkpoints = {.run_dir = "r", .resume = rows[i].resume}};
        fgi_trainer_options_settle(&o);
        assert_int_equal(o.limits.max_epochs, 1);
        assert_int_equal(o.limits.max_steps, -1);
        assert_int_equal(o.limits.limit_train_batches.count, 1);
        assert_int_equal(o.limits.limit_val_batches.count, 1);
        assert_true(o.limits.limit_train_batches.fraction == 0);
        assert_true(o.limits.limit_val_batches.fraction == 0);
        assert_int_equal(o.validation.val_every_epochs, 1);
        assert_int_equal(o.validation.val_every_steps + o.validation.sanity_val_steps, 0);
        assert_int_equal(o.output.log_every, 1);
        assert_string_equal(o.divergence.on_divergence, "stop");
        assert_true(o.checkpoints.run_dir == NULL && o.output.profile[0] == 0);
        assert_true((o.checkpoints.resume == rows[i].resume) == rows[i].stays);
    }
}

static void overfitting_is_on_the_same_batches(void **state)
{
    (void)state;
    fg_trainer_options o = {.limits = {.overfit_batches.count = 3,
                                       .limit_val_batches.count = 9,
                                       .limit_train_batches.fraction = 0.5}};
    fgi_trainer_options_settle(&o);
    assert_int_equal(o.limits.limit_train_batches.count, 3);
    assert_int_equal(o.limits.limit_val_batches.count, 3);
    assert_true(o.limits.limit_train_batches.fraction == 0);
    o = (fg_trainer_options){
        .limits = {.overfit_batches.fraction = 0.25, .limit_val_batches.count = 9}};
    fgi_trainer_options_settle(&o);
    assert_int_equal(o.limits.limit_val_batches.count, 0);
    assert_true(o.limits.limit_train_batches.fraction == 0.25);
    assert_true(o.limits.limit_val_batches.fraction == 0.25);
    o = (fg_trainer_options){.limits.limit_val_batches.count = 9, .output.log_every = 50};
    fgi_trainer_options_settle(&o);
    assert_int_equal(o.limits.limit_val_batches.count, 9);
    assert_int_equal(o.output.log_every, 50);
}

/* ---- what a resumed run starts with ---------------------------------------------------------- */

/* Lines, saves and the learning rate at the start, of one fit. */
typedef struct noted_fit {
    double lr_at_start;
    int64_t lines, saves, stop_at; /* stop_at: a step; 0: never */
    int64_t first_saved;           /* step of the first save; -1: none */
} noted_fit;

static fg_status note_start(void *self, const fg_progress *at, fg_error *err)
{
    ((noted_fit *)self)->lr_at_start = at->lr;
    return FG_OK;
}

static fg_status note_line(void *self, const fg_progress *at, fg_error *err)
{
    ((noted_fit *)self)->lines++;
    return FG_OK;
}

static fg_status note_save(void *self, const fg_progress *at, fg_error *err)
{
    noted_fit *noted = self;
    if (noted->saves++ == 0)
        noted->first_saved = at->step;
    return FG_OK;
}

static fg_status stop_there(void *self, const fg_progress *at, fg_error *err)
{
    return at->step == ((const noted_fit *)self)->stop_at ? FG_ESTOPPED : FG_OK;
}

/* A fit of at most 5 steps with a learning rate that changes at each. */
static fg_status noted_run(const char *folder, const char *resume, const char *divergence,
                           noted_fit *noted, fg_error *err)
{
    static const fg_callback_ops ops = {
        .fit_start = note_start, .batch_end = stop_there, .log = note_line, .saved = note_save};
    const fg_schedule onecycle = fg_onecycle(NULL);
    const fg_trainer_options options = {.limits.max_steps = 5,
                                        .lr.schedule = &onecycle,
                                        .output.log_every = 50,
                                        .divergence.on_divergence = divergence,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.ckpt_every_epochs = FG_NONE,
                                        .checkpoints.resume = resume};
    const fg_fit_data data = {.train = train_data, .batch_size = 4, .workers = FG_NONE};
    fg_trainer *trainer = toy_trainer(client, &options);
    *noted = (noted_fit){.stop_at = noted->stop_at, .first_saved = -1};
    assert_int_equal(fg_trainer_add_callback(trainer, &ops, noted, err), FG_OK);
    const fg_status status = fg_trainer_fit(trainer, &task, &data, err);
    fg_trainer_destroy(trainer);
    return status;
}

/* Until its first step, the learning rate is that of the last one. */
static void the_learning_rate_is_that_of_the_last_step(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_schedule onecycle = fg_onecycle(NULL);
    const char *folder = fgt_temp_folder();
    noted_fit noted = {.stop_at = 2};
    assert_int_equal(noted_run(folder, NULL, NULL, &noted, &err), FG_ESTOPPED);
    noted.stop_at = 0;
    fgt_ok(noted_run(folder, "last", NULL, &noted, &err));
    fgt_close("lr", noted.lr_at_start, fg_schedule_lr(&onecycle, 0.01, 1, 5), 1e-12, 0);
}

/* A run that was stopped after its last step has all steps, but not its last log line. */
static void a_stop_after_the_last_step_leaves_a_line(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    noted_fit noted = {.stop_at = 5};
    assert_int_equal(noted_run(folder, NULL, NULL, &noted, &err), FG_ESTOPPED);
    assert_int_equal(noted.lines, 1); /* of the first epoch */
    noted.stop_at = 0;
    fgt_ok(noted_run(folder, "last", NULL, &noted, &err));
    assert_int_equal(noted.lines, 1);
    fgt_ok(noted_run(folder, "last", NULL, &noted, &err)); /* nothing is left to do */
    assert_int_equal(noted.lines, 0);
}

/* A rollback needs a checkpoint from the first step on; a resumed run has one. */
static void a_resumed_run_has_a_checkpoint_to_go_back_to(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    noted_fit noted = {.stop_at = 2};
    assert_int_equal(noted_run(folder, NULL, "rollback", &noted, &err), FG_ESTOPPED);
    assert_int_equal(noted.first_saved, 0);
    noted.stop_at = 0;
    fgt_ok(noted_run(folder, "last", "rollback", &noted, &err));
    assert_int_equal(noted.first_saved, 5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_learning_rate_is_that_of_the_last_step),
    cmocka_unit_test(a_stop_after_the_last_step_leaves_a_line),
    cmocka_unit_test(a_resumed_run_has_a_checkpoint_to_go_back_to),
    cmocka_unit_test(the_position_is_read_as_it_was_written),
    cmocka_unit_test(numbers_of_a_position_have_a_least),
    cmocka_unit_test(an_epoch_ends_at_its_last_batch),
    cmocka_unit_test_setup_teardown(a_position_is_found_in_the_data, begin, end),
    cmocka_unit_test(a_trial_has_its_own_limits),
    cmocka_unit_test(overfitting_is_on_the_same_batches),
    cmocka_unit_test_setup_teardown(state_comes_back, begin, end),
    cmocka_unit_test_setup_teardown(missing_and_unclaimed_states_are_warned_of, begin, end),
    cmocka_unit_test_setup_teardown(states_that_do_not_fit_end_the_fit, begin, end),
    cmocka_unit_test(half_of_the_functions_are_refused),
    cmocka_unit_test_setup_teardown(a_killed_run_resumes_with_its_callbacks_state, begin, end),
    cmocka_unit_test(a_complete_run_keeps_its_metrics),
    cmocka_unit_test(an_evaluation_has_its_own_metrics),
    cmocka_unit_test(a_hang_names_the_checkpoint_before),
    cmocka_unit_test(each_call_takes_its_part),
};

/* With an argument, executes the run to be killed in that folder. */
int main(int argc, char **argv)
{
    toy_use_memory();
    program = argv[0];
    return argc > 1 ? live(argv[1]) : cmocka_run_group_tests(tests, open_all, close_all);
}
