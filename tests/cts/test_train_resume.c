/* test_train_resume.c - a run that is stopped and resumed equals an uninterrupted one, bit for bit:
 * the log, the weights, the state. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ckpt/manifest.h"
#include "ckpt/series.h"
#include "optim/optimizer.h"
#include "toy.h"

static fg_client *client;
static fg_dataset *train_data, *val_data, *source, *val_source;

enum { SAMPLES = 101, BATCH = 8, EPOCH = 13, STEPS = 40 };

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    train_data = toy_data(SAMPLES, 1);
    val_data = toy_data(37, 2);
    source = toy_source(SAMPLES, 1, false);
    val_source = toy_source(37, 2, false);
    const fg_client_options options = {.accelerator = "cpu",
                                       .cache_dir = fgt_cache(fgt_temp_folder())};
    if (fg_client_open(&options, &client, &err) == FG_OK)
        return 0;
    print_error("%s\n", err.message);
    return 1;
}

static const fg_schedule onecycle = {.row = &fgi_onecycle_row};

/* Kinds of runs: what a step depends on, and when to validate and save. */
typedef struct kind {
    const char *name;
    toy model;
    fg_trainer_options options;
    int64_t buffer; /* for a source; 0: the data are in memory */
} kind;

static const kind kinds[] = {
    {.name = "adam, dropout, batch norm, onecycle",
     {.dropout = 0.3, .has_norm = true},
     {.limits.max_steps = STEPS, .output.log_every = 3, .lr.schedule = &onecycle}},
    {.name = "sgd, whose momentum the schedule makes",
     {.optimizer = "sgd"},
     {.limits.max_epochs = 3,
      .output.log_every = 1,
      .lr.schedule = &onecycle,
      .checkpoints.ckpt_every_steps = 4}},
    {.name = "adamw, validations within epochs",
     {.optimizer = "adamw", .dropout = 0.1},
     {.limits.max_steps = STEPS,
      .output.log_every = 7,
      .validation.val_every_steps = 5,
      .validation.val_every_epochs = 2,
      .checkpoints.ckpt_every_epochs = FG_NONE,
      .limits.limit_val_batches.count = 3}},
    {.name = "three batches a step, of which the last has one",
     {.dropout = 0.2},
     {.limits.max_epochs = 3,
      .output.log_every = 2,
      .lr.schedule = &onecycle,
      .validation.val_every_steps = 4,
      .numerics.accumulate_grad_batches = 3}},
    {.name = "a source of unknown length, shuffled",
     {.dropout = 0.2},
     {.limits.max_epochs = 3,
      .output.log_every = 3,
      .validation.val_every_steps = 5,
      .checkpoints.ckpt_every_steps = 6},
     .buffer = 20},
    {.name = "a source in its order, and steps of two batches",
     {.has_norm = true},
     {.limits.max_steps = 20,
      .lr.schedule = &onecycle,
      .output.log_every = 3,
      .numerics.accumulate_grad_batches = 2},
     .buffer = 1},
    {.name = "f16 with a scaled loss",
     {.dropout = 0.1, .loss_factor = 1e3},
     {.limits.max_steps = STEPS, .output.log_every = 4, .numerics.precision = "16-mixed"}},
    {.name = "bf16 rounded stochastically, two batches a step",
     {.has_norm = true},
     {.limits.max_epochs = 3,
      .output.log_every = 5,
      .numerics.precision = "bf16-true",
      .numerics.stochastic_rounding = true,
      .numerics.accumulate_grad_batches = 2}},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Batches of a run; with two batches per step, each epoch ends with a step of one batch. */
static int batches_of(int i)
{
    const fg_trainer_options *o = &kinds[i].options;
    if (o->limits.max_epochs == 3)
        return 3 * EPOCH;
    return o->numerics.accumulate_grad_batches == 2 ? EPOCH + EPOCH + 12 : STEPS;
}

/* Whether a run ends with its third epoch. */
static bool is_whole(int i) { return kinds[i].options.limits.max_epochs == 3; }

static bool validates_first; /* a Trainer that resumes */

/* One Trainer of each kind: while it lives, others share its programs instead of loading them. */
static struct {
    toy model;
    recorder record;
    fg_trainer *trainer;
} first[KINDS];

static void destroy_first(void)
{
    for (int i = 0; i < KINDS; i++) {
        fg_trainer_destroy(first[i].trainer);
        first[i].trainer = NULL;
    }
}

static int close_all(void **state)
{
    (void)state;
    destroy_first();
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(val_data);
    fg_dataset_destroy(source);
    fg_dataset_destroy(val_source);
    fg_client_close(client);
    return 0;
}

/* Fits in `folder`, with the recorder r and a Trainer for the caller to destroy. */
static fg_status fit_with(const kind *k, const char *folder, const char *resume, recorder *r,
                          toy *model, fg_trainer **out, fg_error *err)
{
    *model = k->model;
    const fg_task task = {.name = "toy", .self = model, .ops = &toy_ops};
    const fg_fit_data data = {.train = k->buffer > 0 ? source : train_data,
                              .val = k->buffer > 0 ? val_source : val_data,
                              .batch_size = BATCH,
                              .shuffle_buffer = k->buffer};
    fg_trainer_options options = k->options;
    fg_trainer *trainer = NULL;
    options.devices.client = client;
    options.checkpoints.run_dir = folder;
    options.checkpoints.resume = resume;
    options.handle_signals = r->signal != 0;
    options.seed = 5;
    fg_status status = toy_create(&options, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_add_callback(trainer, &recorder_ops, r, err);
    if (status == FG_OK && validates_first && resume != NULL)
        status = fg_trainer_validate(trainer, &task, &data, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, &data, err);
    *out = trainer;
    return status;
}

static fg_status fit(const kind *k, const char *folder, const char *resume, recorder *r,
                     fg_error *err)
{
    toy model;
    fg_trainer *trainer;
    const fg_status status = fit_with(k, folder, resume, r, &model, &trainer, err);
    fg_trainer_destroy(trainer);
    return status;
}

static void assert_same_file(const char *a, const char *b, const char *what)
{
    fg_error err = {0};
    char *left = NULL, *right = NULL;
    size_t left_size = 0, right_size = 0;
    fgt_ok(fgi_file_read(a, 1 << 24, &left, &left_size, &err));
    fgt_ok(fgi_file_read(b, 1 << 24, &right, &right_size, &err));
    if (left_size != right_size || memcmp(left, right, left_size) != 0) {
        size_t same = 0, line = 0; /* the start of the line that differs */
        for (; same < left_size && same < right_size && left[same] == right[same]; same++)
            line = left[same] == '\n' ? same + 1 : line;
        print_error("%.*s\n%.*s\n", (int)strcspn(left + line, "\n"), left + line,
                    (int)strcspn(right + line, "\n"), right + line);
        fail_msg("%s: %s and %s differ", what, a, b);
    }
    fgi_free(left);
    fgi_free(right);
}

/* Compares the first `count` files of the last checkpoints of two runs. */
static void assert_same_weights(const char *a, const char *b, int count, const char *what)
{
    static const char *const files[] = {FGI_CKPT_MODEL_FILE, FGI_CKPT_STATE_FILE,
                                        FGI_CKPT_JSON_FILE};
    fg_error err = {0};
    char *path[2] = {NULL, NULL};
    fgt_ok(fgi_ckpt_resolve(fgt_path(a, "checkpoints"), "last", &path[0], &err));
    fgt_ok(fgi_ckpt_resolve(fgt_path(b, "checkpoints"), "last", &path[1], &err));
    for (int f = 0; f < count; f++)
        assert_same_file(fgt_path(path[0], files[f]), fgt_path(path[1], files[f]), what);
    fgi_free(path[0]);
    fgi_free(path[1]);
}

/* Compares the logs and the last checkpoints of two runs. */
static void assert_same_run(const char *a, const char *b, const char *what)
{
    assert_same_file(fgt_path(a, "metrics.jsonl"), fgt_path(b, "metrics.jsonl"), what);
    assert_same_file(fgt_path(a, "metrics.csv"), fgt_path(b, "metrics.csv"), what);
    assert_same_file(fgt_path(a, "checkpoints/best"), fgt_path(b, "checkpoints/best"), what);
    assert_same_weights(a, b, 3, what);
}

static char whole[KINDS][512]; /* folders of runs that were never stopped */

static void runs_that_are_not_stopped(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        fg_error err = {0};
        recorder *r = &first[i].record;
        (void)snprintf(whole[i], sizeof whole[i], "%s", fgt_temp_folder());
        fgt_ok(fit_with(&kinds[i], whole[i], NULL, r, &first[i].model, &first[i].trainer, &err));
        assert_int_equal(recorder_count(r, "batch_end"), batches_of(i));
    }
}

/* Once stopped by a hook, once by a signal. */
static void stopped_after(int i, int step, int signal)
{
    char what[128];
    fg_error err = {0};
    recorder *r = calloc(1, sizeof *r);
    const char *folder = fgt_temp_folder();
    (void)snprintf(what, sizeof what, "%s, stopped after step %d", kinds[i].name, step);
    r->at_event = "batch_end";
    r->at_count = step;
    r->signal = signal;
    r->status = signal != 0 ? FG_OK : FG_ESTOPPED;
    if (fit(&kinds[i], folder, NULL, r, &err) != FG_ESTOPPED)
        fail_msg("%s: %s", what, err.message);
    *r = (recorder){0};
    validates_first = step == 7; /* an evaluation needs less of the checkpoint than the fit */
    fgt_ok(fit(&kinds[i], folder, "last", r, &err));
    validates_first = false;
    assert_same_run(whole[i], folder, what);
    free(r);
}

static void stopped_anywhere_once(void **state)
{
    (void)state;
    static const int steps[] = {1, 7, 13, 20, 39};
    for (int i = 0; i < KINDS; i++)
        for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++)
            if (steps[s] <= batches_of(i))
                stopped_after(i, steps[s], s % 2 == 0 ? 0 : SIGTERM);
}

/* Launches of up to five steps, and a resumed run with launches of one: the same bits. A stop that
 * is requested within a launch waits for its end. */
static void several_steps_per_launch(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        fg_error err = {0};
        recorder *r = calloc(1, sizeof *r);
        kind k = kinds[i];
        const char *folder = fgt_temp_folder(), *stopped = fgt_temp_folder();
        k.options.devices.steps_per_launch = 5;
        fgt_ok(fit(&k, folder, NULL, r, &err));
        assert_int_equal(recorder_count(r, "batch_end"), batches_of(i));
        assert_same_run(whole[i], folder, k.name);
        *r = (recorder){.at_event = "batch_end", .at_count = 8, .status = FG_ESTOPPED};
        assert_int_equal(fit(&k, stopped, NULL, r, &err), FG_ESTOPPED);
        *r = (recorder){0};
        fgt_ok(fit(&kinds[i], stopped, "last", r, &err));
        assert_same_run(whole[i], stopped, k.name);
        free(r);
    }
}

static char chosen[256];

static void keep_choice(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level;
    if (strstr(line, "steps_per_launch") != NULL)
        (void)snprintf(chosen, sizeof chosen, "%s", line);
}

/* Within the fit, whatever the times are: the same bits. The number of steps is unknown, so
 * compiling again is worth it. */
static void steps_per_launch_are_chosen(void **state)
{
    (void)state;
    fg_error err = {0};
    recorder *r = calloc(1, sizeof *r);
    kind k = kinds[4];
    char one[512];
    k.options.limits.max_epochs = 8;
    (void)snprintf(one, sizeof one, "%s", fgt_temp_folder());
    fgt_ok(fit(&k, one, NULL, r, &err));
    const char *folder = fgt_temp_folder();
    k.options.devices.steps_per_launch = FG_AUTO;
    fg_log_set(keep_choice, NULL);
    fgt_ok(fit(&k, folder, NULL, r, &err));
    fg_log_set(NULL, NULL);
    assert_true(strncmp(chosen, "steps_per_launch: ", 18) == 0);
    assert_non_null(strstr(chosen, " (auto: launching takes "));
    assert_same_run(one, folder, k.name);
    free(r);
}

/* The log without the line of the validation at a step. */
static void drop_validation(const char *folder, int step)
{
    fg_error err = {0};
    char *text = NULL, mark[32];
    size_t size = 0;
    const char *path = fgt_path(folder, "metrics.jsonl");
    (void)snprintf(mark, sizeof mark, "{\"step\": %d,", step);
    fgt_ok(fgi_file_read(path, 1 << 24, &text, &size, &err));
    char *line = strstr(text, mark);
    assert_non_null(line);
    char *end = strchr(line, '\n') + 1;
    assert_true(strstr(line, "val_loss") < end);
    memmove(line, end, strlen(end) + 1);
    fgt_write(path, text, strlen(text));
    fgi_free(text);
}

/* A limit in the middle of an epoch: the last weights are validated and can be the best. The
 * resumed run has the same weights and state as one that was not interrupted, and the same log but
 * for that validation. */
static void ended_by_a_limit(void **state)
{
    (void)state;
    for (int i = 0; i <= 2; i += 2) {
        fg_error err = {0};
        char *best = NULL;
        size_t size = 0;
        recorder *r = calloc(1, sizeof *r);
        const char *folder = fgt_temp_folder();
        *r = (recorder){.at_event = "batch_end",
                        .at_count = 8,
                        .status = FG_ESTOPPED,
                        .message = "a limit of the test"};
        fgt_ok(fit(&kinds[i], folder, NULL, r, &err));
        fgt_ok(fgi_file_read(fgt_path(folder, "checkpoints/best"), 64, &best, &size, &err));
        assert_string_equal(best, "step-000000008\n");
        *r = (recorder){0};
        fgt_ok(fit(&kinds[i], folder, "last", r, &err));
        assert_same_weights(whole[i], folder, 2, kinds[i].name);
        drop_validation(folder, 8);
        assert_same_file(fgt_path(whole[i], "metrics.jsonl"), fgt_path(folder, "metrics.jsonl"),
                         kinds[i].name);
        fgi_free(best);
        free(r);
    }
}

/* Alternates between stopping at the n-th event and resuming. */
static void stopped_many_times(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int count;
    } stops[] = {{"fit_start", 1},   {"batch_end", 2}, {"log", 1},       {"val_start", 1},
                 {"val_end", 1},     {"epoch_end", 1}, {"saved", 1},     {"epoch_start", 1},
                 {"batch_end", 13},  {"val_start", 1}, {"batch_end", 1}, {"fit_start", 1},
                 {"epoch_start", 1}, {"log", 2}};
    for (int i = 0; i < KINDS; i++) {
        const char *folder = fgt_temp_folder();
        recorder *r = calloc(1, sizeof *r);
        fg_error err = {0};
        for (size_t s = 0; s < sizeof stops / sizeof stops[0]; s++) {
            *r = (recorder){
                .at_event = stops[s].event, .at_count = stops[s].count, .status = FG_ESTOPPED};
            const fg_status status = fit(&kinds[i], folder, "auto", r, &err);
            if (status != FG_OK && status != FG_ESTOPPED)
                fail_msg("%s", err.message);
        }
        *r = (recorder){0};
        fgt_ok(fit(&kinds[i], folder, "auto", r, &err));
        assert_same_run(whole[i], folder, kinds[i].name);
        free(r);
    }
}

/* Ends a run after `count` batches. The resumed run takes the other `rest`, and both are like the
 * whole run. */
static void check_resumed(int which, int count, fg_status end, const char *from, int64_t rest)
{
    fg_error err = {0};
    recorder *r = calloc(1, sizeof *r);
    const char *folder = fgt_temp_folder();
    *r = (recorder){.at_event = "batch_end", .at_count = count, .status = end};
    assert_int_equal(fit(&kinds[which], folder, NULL, r, &err), end);
    *r = (recorder){0};
    fgt_ok(fit(&kinds[which], folder, from, r, &err));
    assert_int_equal(recorder_count(r, "batch_end"), rest);
    assert_same_run(whole[which], folder, kinds[which].name);
    free(r);
}

/* The validation that is due there, which the resumed run begins with, is logged before the metrics
 * of training, as without a stop. */
static void stopped_at_the_last_step(void **state)
{
    (void)state;
    check_resumed(2, STEPS, FG_ESTOPPED, "last", 0);
}

/* An error of a callback ends the run like a stop: the state is saved, and the resumed run equals
 * an uninterrupted one, wherever it stopped. */
static void failed_anywhere(void **state)
{
    (void)state;
    static const char *const events[] = {"batch_end", "log",       "val_start", "val_end",
                                         "epoch_end", "batch_end", "saved"};
    for (int i = 0; i < KINDS; i++) {
        const char *folder = fgt_temp_folder();
        recorder *r = calloc(1, sizeof *r);
        fg_error err = {0};
        for (size_t s = 0; s < sizeof events / sizeof events[0]; s++) {
            *r = (recorder){.at_event = events[s], .at_count = s == 0 ? 7 : 1, .status = FG_EIO};
            const fg_status status = fit(&kinds[i], folder, "auto", r, &err);
            if (status != FG_OK && status != FG_EIO)
                fail_msg("%s", err.message);
        }
        *r = (recorder){0};
        fgt_ok(fit(&kinds[i], folder, "auto", r, &err));
        assert_same_run(whole[i], folder, kinds[i].name);
        free(r);
    }
}

/* A run that ended with an error continues from there, not from the previous checkpoint. */
static void failed_between_checkpoints(void **state)
{
    (void)state;
    check_resumed(1, 22, FG_EIO, "auto", 3 * EPOCH - 22);
}

/* Resumes from best instead of last; here, best is from the first validation. The run continues
 * there, later rows are dropped, and it equals the uninterrupted one again. */
static void resumed_from_the_best(void **state)
{
    (void)state;
    fg_error err = {0};
    recorder *r = calloc(1, sizeof *r);
    char undisturbed[512];
    kind k = kinds[1];
    k.options.checkpoints.monitor_mode = FG_MODE_MAX;
    (void)snprintf(undisturbed, sizeof undisturbed, "%s", fgt_temp_folder());
    fgt_ok(fit(&k, undisturbed, NULL, r, &err));
    const char *folder = fgt_temp_folder();
    fgt_ok(fit(&k, folder, NULL, r, &err));
    *r = (recorder){0};
    fgt_ok(fit(&k, folder, "best", r, &err));
    assert_int_equal(recorder_count(r, "batch_end"), 2 * EPOCH);
    assert_same_run(undisturbed, folder, k.name);
    free(r);
}

/* Resuming a completed run changes nothing and compiles nothing. */
static void a_complete_run_stays(void **state)
{
    (void)state;
    destroy_first(); /* whose programs would be shared without loading them */
    for (int i = 0; i < KINDS; i++) {
        fg_error err = {0};
        recorder *r = calloc(1, sizeof *r);
        const char *folder = fgt_temp_folder();
        fgt_ok(fit(&kinds[i], folder, NULL, r, &err));
        const fg_client_stats before = fg_client_stats_of(client);
        *r = (recorder){0};
        fgt_ok(fit(&kinds[i], folder, "last", r, &err));
        const fg_client_stats after = fg_client_stats_of(client);
        assert_int_equal(recorder_count(r, "batch_end"), 0);
        assert_int_equal(recorder_count(r, "val_end"), 0);
        if (is_whole(i))
            assert_int_equal(after.compile_cache_hits, before.compile_cache_hits);
        assert_same_run(whole[i], folder, kinds[i].name);
        free(r);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(runs_that_are_not_stopped),  cmocka_unit_test(stopped_anywhere_once),
    cmocka_unit_test(several_steps_per_launch),   cmocka_unit_test(steps_per_launch_are_chosen),
    cmocka_unit_test(ended_by_a_limit),           cmocka_unit_test(stopped_many_times),
    cmocka_unit_test(stopped_at_the_last_step),   cmocka_unit_test(failed_anywhere),
    cmocka_unit_test(failed_between_checkpoints), cmocka_unit_test(resumed_from_the_best),
    cmocka_unit_test(a_complete_run_stays),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
