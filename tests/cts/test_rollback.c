/* test_rollback.c - a fit that goes back to a checkpoint, with callbacks and loggers: their state
 * is that of the checkpoint, the smaller learning rate also applies to those that set it, and all
 * logs have each step once. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"
#include "row.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "ckpt/manifest.h"
#include "ckpt/series.h"
#include "event_text.h"
#include "toy.h"
#include "callback/callback_rows.h"
#include "train/save/divergence.h"
#include "log/logger.h"
#include "train/trainer.h"

enum { SAMPLES = 64, BATCH = 8, EPOCHS = 4, EPOCH = SAMPLES / BATCH, STEPS = EPOCHS * EPOCH };

static fg_client *client;

static int open_all(void **state)
{
    fg_error err = {0};
    (void)state;
    const fg_client_options options = {.accelerator = "cpu",
                                       .cache_dir = fgt_cache(fgt_temp_folder())};
    if (fg_client_open(&options, &client, &err) == FG_OK)
        return 0;
    print_error("%s\n", err.message);
    return 1;
}

static int close_all(void **state)
{
    (void)state;
    fg_client_close(client);
    return 0;
}

/* ---- a loss that is not finite, with finite gradients ---------------------------------------- */

/* Sample 13 adds this to the loss in epoch 2, the first `left` times it is read. */
static struct {
    atomic_int left;
    float value;
    atomic_bool is_high;   /* all samples of epochs 2 and 3 do */
    atomic_int wrong_from; /* the epoch from which the labels of training are wrong */
} poison = {.wrong_from = INT_MAX};

static fg_status read_sample(void *self, int64_t epoch, int64_t index, void *const *out,
                             fg_error *err)
{
    const bool *is_train = self;
    (void)err;
    *(int32_t *)out[1] = toy_sample(index, 1, out[0]);
    if (*is_train && epoch >= atomic_load(&poison.wrong_from))
        *(int32_t *)out[1] = (*(int32_t *)out[1] + 1) % TOY_CLASSES;
    *(float *)out[2] = atomic_load(&poison.is_high) && epoch >= 2 ? poison.value : 0;
    if (index == 13 && epoch == 2 && atomic_fetch_sub(&poison.left, 1) > 0)
        *(float *)out[2] = poison.value;
    return FG_OK;
}

static fg_dataset *bad_data(bool is_train)
{
    static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}},
                                      {"more", {.dtype = FG_F32}}};
    static const fg_dataset_ops ops = {.read_epoch = read_sample};
    static bool kinds[] = {false, true};
    const fg_dataset_spec spec = {
        .count = SAMPLES, .fields = fields, .field_count = 3, .class_count = TOY_CLASSES};
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    fgt_ok(fg_dataset_create(&ops, &kinds[is_train], &spec, &dataset, &err));
    return dataset;
}

/* The gradient does not depend on `more`. */
static fg_tensor train_step(void *self, fg_step *st, const fg_batch *batch)
{
    return fg_add(toy_ops.train_step(self, st, batch), fg_mean(fg_batch_at(batch, 2), 0, NULL));
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct job {
    const char *folder, *action;
    double lr_factor;
    int times; /* the sample is bad */
    float value;
    bool has_all; /* callbacks, and the logger for TensorBoard */
    const char *resume;
    const fg_callback_ops *watcher;
    int64_t epochs, patience;
} job;

static void add_parts(fg_trainer *trainer)
{
    static const struct {
        const fg_callback_entry *row;
        const char *options;
    } rows[] = {{&fgi_ema_row, "{decay: 0.8}"},
                {&fgi_swa_row, "{swa_epoch_start: 1, swa_lrs: 0.02, annealing_epochs: 3}"},
                {&fgi_early_stop_row, "{patience: 20}"}};
    fg_error err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *self = NULL;
        fgt_ok(FGT_ROW_BEGIN(rows[i].row, rows[i].options, &self, &err));
        fgt_ok(fg_trainer_add_callback(trainer, rows[i].row->ops, self, &err));
    }
}

static fg_status fit(const job *j, fg_result *out, fg_error *err)
{
    toy model = {.optimizer = "sgd"};
    fg_task_ops ops = toy_ops;
    ops.train_step = train_step;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    fg_dataset *data = bad_data(true), *val = bad_data(false);
    const fg_fit_data fit_data = {.train = data, .val = val, .global_batch_size = BATCH};
    const fg_trainer_options options = {
        .devices.client = client,
        .limits.max_epochs = j->epochs > 0 ? j->epochs : EPOCHS,
        .output = {.log_every = 4,
                   .loggers = fgt_list(j->has_all ? "csv,jsonl,tensorboard" : NULL)},
        .checkpoints = {.run_dir = j->folder,
                        .ckpt_every_epochs = 1,
                        .resume = j->resume,
                        .keep_checkpoints = j->watcher != NULL ? FG_NONE : 1},
        .divergence = {.on_divergence = j->action,
                       .rollback_lr_factor = j->lr_factor,
                       .divergence_patience = j->patience},
        .seed = 5};
    atomic_store(&poison.left, j->times);
    poison.value = j->value;
    fg_trainer *trainer = toy_trainer(client, &options);
    if (j->has_all)
        add_parts(trainer);
    if (j->watcher != NULL)
        assert_int_equal(fg_trainer_add_callback(trainer, j->watcher, (void *)j->folder, err),
                         FG_OK);
    const fg_status status = fg_trainer_fit(trainer, &task, &fit_data, err);
    *out = *fg_trainer_result(trainer);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_dataset_destroy(val);
    return status;
}

static char *text_of(const char *folder, const char *name, size_t *out_size)
{
    fg_error err = {0};
    char *text = NULL;
    fgt_ok(fgi_file_read(fgt_path(folder, name), 1 << 22, &text, out_size, &err));
    return text;
}

static void assert_same_file(const char *a, const char *b, const char *name)
{
    size_t left_size = 0, right_size = 0;
    char *left = text_of(a, name, &left_size), *right = text_of(b, name, &right_size);
    if (left_size != right_size || memcmp(left, right, left_size) != 0)
        fail_msg("%s differs:\n%s\n%s", name, left, right);
    fgi_free(left);
    fgi_free(right);
}

/* ---- what is noticed ------------------------------------------------------------------------- */

static void a_loss_that_is_not_finite_is_divergence(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        fg_error err = {0};
        fg_result result;
        size_t size = 0;
        job j = {.folder = fgt_temp_folder(),
                 .action = i / 2 == 0 ? "stop" : "rollback",
                 .times = 1,
                 .value = i % 2 == 0 ? NAN : INFINITY};
        assert_int_equal(fit(&j, &result, &err), i / 2 == 0 ? FG_ENUMERIC : FG_OK);
        if (i / 2 == 0 &&
            strstr(err.message, i == 0 ? "the loss is NaN" : "the loss is inf") == NULL)
            fail_msg("%s", err.message);
        assert_int_equal(result.nonfinite_steps, 0);
        assert_int_equal(result.rollbacks, i / 2);
        char *line = text_of(j.folder, "divergence.jsonl", &size);
        assert_non_null(strstr(line, "\"reason\":\"loss_not_finite\""));
        fgi_free(line);
        if (i / 2 == 1)
            assert_int_equal(result.steps, STEPS);
    }
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* With the same learning rate, the run equals one that did not diverge: the averages, the counters
 * and the logs. */
static void callbacks_go_back_too(void **state)
{
    fg_error err = {0};
    fg_result result;
    char clean[512], folder[600], *path[2];
    (void)state;
    (void)snprintf(clean, sizeof clean, "%s", fgt_temp_folder());
    job j = {.folder = clean, .action = "rollback", .lr_factor = 1, .has_all = true};
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.rollbacks, 0);
    j.folder = fgt_temp_folder();
    j.times = 1;
    j.value = NAN;
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.rollbacks, 1);
    assert_same_file(clean, j.folder, "metrics.jsonl");
    assert_same_file(clean, j.folder, "metrics.csv");
    for (int i = 0; i < 2; i++) {
        (void)snprintf(folder, sizeof folder, "%s/checkpoints", i == 0 ? clean : j.folder);
        fgt_ok(fgi_ckpt_resolve(folder, "last", &path[i], &err));
    }
    assert_same_file(path[0], path[1], FGI_CKPT_MODEL_FILE);
    assert_same_file(path[0], path[1], FGI_CKPT_STATE_FILE);
    fgi_free(path[0]);
    fgi_free(path[1]);
}

typedef struct row {
    int step;
    double lr, loss;
} row;

/* The lines of training in metrics.jsonl. */
static int rows_of(const char *folder, row *out)
{
    size_t size = 0;
    int count = 0;
    char *text = text_of(folder, "metrics.jsonl", &size), *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        json_t *json = json_loads(line, 0, NULL);
        const json_t *lr = json_object_get(json, "lr");
        assert_true(count < STEPS);
        if (lr != NULL)
            out[count++] = (row){
                .step = (int)json_integer_value(json_object_get(json, "step")),
                .lr = json_number_value(lr),
                .loss = json_number_value(json_object_get(json, "train_loss")),
            };
        json_decref(json);
    }
    fgi_free(text);
    return count;
}

/* Also while `swa` sets the learning rate, which anneals from 0.1 in epoch 1. */
static void the_smaller_rate_is_that_of_swa_too(void **state)
{
    fg_error err = {0};
    fg_result result;
    row rows[STEPS];
    (void)state;
    job j = {.folder = fgt_temp_folder(),
             .action = "rollback",
             .lr_factor = 0.25,
             .times = 1,
             .value = NAN,
             .has_all = true};
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.rollbacks, 1);
    assert_int_equal(rows_of(j.folder, rows), STEPS / 4);
    for (int i = 0; i < STEPS / 4; i++) {
        const int epoch = (rows[i].step - 1) / EPOCH;
        const double part = epoch == 0 ? 0 : (1 - cos(acos(-1.0) * (epoch - 1) / 3)) / 2;
        const double lr = 0.02 * part + 0.1 * (1 - part);
        fgt_close("lr", rows[i].lr, epoch < 2 ? lr : lr / 4, 0, 1e-7);
    }
}

/* ---- loggers --------------------------------------------------------------------------------- */

/* The next value of this tag: "8 train/loss 1.2, "; NULL: none. */
static const char *next_event(const char *events, const char *tag, int *out_step, double *out)
{
    const char *at = strstr(events, tag);
    const char *first = at;
    if (at == NULL)
        return NULL;
    for (first--; first > events && first[-1] != ' ';)
        first--;
    *out_step = atoi(first);
    *out = fgi_strtod(at + strlen(tag), NULL);
    return at + 1;
}

/* metrics.csv has the steps of the lines of training, in this order, and nothing else but lines of
 * validation. */
static void assert_csv_has(const char *folder, const row *rows, int count)
{
    size_t size = 0;
    int found = 0, lines = 0;
    char *text = text_of(folder, "metrics.csv", &size), *rest = text;
    (void)strsep(&rest, "\n");
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        char *end = NULL;
        const int step = (int)strtol(line, &end, 10);
        lines += end != line;
        if (found < count && step == rows[found].step && end != line)
            found++;
    }
    assert_int_equal(found, count);
    assert_int_equal(lines, count + EPOCHS);
    fgi_free(text);
}

/* All have each step once, with the values that are valid, although the events of the run before
 * the rollback were written. */
static void all_loggers_agree(void **state)
{
    fg_error err = {0};
    fg_result result;
    row rows[STEPS];
    int step = 0, count = 0;
    double value = 0;
    (void)state;
    job j = {.folder = fgt_temp_folder(),
             .action = "rollback",
             .times = 1,
             .value = INFINITY,
             .has_all = true};
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.rollbacks, 1);
    count = rows_of(j.folder, rows);
    assert_int_equal(count, STEPS / 4);
    assert_csv_has(j.folder, rows, count);
    const char *at = events_of(j.folder);
    for (int i = 0; i < count; i++) {
        assert_int_equal(rows[i].step, 4 * (i + 1));
        at = next_event(at, " train/loss ", &step, &value);
        assert_non_null(at);
        assert_int_equal(step, rows[i].step);
        fgt_close("loss", value, rows[i].loss, 0, 1e-5);
    }
    assert_null(next_event(at, " train/loss ", &step, &value));
}

/* ---- which checkpoint ------------------------------------------------------------------------ */

/* A checkpoint saved again under another name, such as one with a metric in it, is no later one. */
static void another_name_is_not_another_checkpoint(void **state)
{
    const fg_trainer_options options = {.divergence.rollback_lr_factor = 0.5};
    fgi_divergence divergence = {.of.options = &options, .good_step = -1};
    (void)state;
    fgi_divergence_note_checkpoint(&divergence, "a", 8, false);
    fgi_divergence_note_checkpoint(&divergence, "b", 16, false);
    fgi_divergence_note_checkpoint(&divergence, "c", 24, true);
    assert_string_equal(fgi_divergence_good(&divergence), "b");
    fgi_divergence_went_back(&divergence, 0, 1);
    fgi_divergence_note_checkpoint(&divergence, "b-0.5", 16, false);
    assert_string_equal(fgi_divergence_good(&divergence), "a");
    fgi_divergence_note_checkpoint(&divergence, "d", 24, false);
    assert_string_equal(fgi_divergence_good(&divergence), "d");
}

/* ---- one story ------------------------------------------------------------------------------- */

/* The value of a metric in a checkpoint's state.json, and its step. */
static double value_in(const char *path, const char *metric, int64_t *out_step)
{
    size_t size = 0;
    char *text = text_of(path, "state.json", &size);
    json_t *state = json_loads(text, 0, NULL);
    assert_non_null(state);
    const double value =
        json_number_value(json_object_get(json_object_get(state, "results"), metric));
    *out_step = json_integer_value(json_object_get(state, "step"));
    json_decref(state);
    fgi_free(text);
    return value;
}

/* `best` names a checkpoint that holds the lowest val_loss of the log, `last` one of its end. */
static fg_status assert_one_story(void *folder, const fg_progress *at, fg_error *err)
{
    char *best = NULL, *last = NULL, *rest = NULL;
    size_t size = 0;
    double lowest = HUGE_VAL;
    int64_t step = 0, lowest_step = 0, last_step = 0;
    const char *checkpoints = fgt_path(folder, "checkpoints");
    char *text = text_of(folder, "metrics.jsonl", &size);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *logged = json_loads(line, 0, NULL);
        const json_t *loss = json_object_get(logged, "val_loss");
        if (json_is_number(loss) && json_number_value(loss) < lowest) {
            lowest = json_number_value(loss);
            lowest_step = json_integer_value(json_object_get(logged, "step"));
        }
        json_decref(logged);
    }
    assert_int_equal(fgi_ckpt_resolve(checkpoints, "best", &best, err), FG_OK);
    assert_int_equal(fgi_ckpt_resolve(checkpoints, "last", &last, err), FG_OK);
    fgt_close("best", value_in(best, "val_loss", &step), lowest, 0, 1e-7);
    assert_int_equal(step, lowest_step);
    (void)value_in(last, "val_loss", &last_step);
    assert_int_equal(last_step, at->step);
    fgi_free(text);
    fgi_free(best);
    fgi_free(last);
    return FG_OK;
}

static fg_status recover(void *folder, const fg_progress *at, fg_error *err)
{
    atomic_store(&poison.is_high, false);
    return assert_one_story(folder, at, err);
}

/* Epoch 2 has the best validation, but training seems to diverge, and the run goes back to before
 * it. */
static void a_rollback_leaves_no_best_behind(void **state)
{
    static const fg_callback_ops watcher = {.rolled_back = recover, .fit_end = assert_one_story};
    const job j = {.folder = fgt_temp_folder(),
                   .action = "rollback",
                   .lr_factor = 1e-6,
                   .value = 1000,
                   .patience = 3,
                   .watcher = &watcher};
    fg_error err = {0};
    fg_result result;
    (void)state;
    atomic_store(&poison.is_high, true);
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.rollbacks, 1);
}

/* From epoch 2 on, training seems to diverge, but its validations are the best: those states are
 * saved. */
static void the_best_is_saved_although_training_seems_to_diverge(void **state)
{
    static const fg_callback_ops watcher = {.fit_end = assert_one_story};
    const job j = {.folder = fgt_temp_folder(),
                   .action = "stop",
                   .value = 1000,
                   .epochs = 5,
                   .patience = 100,
                   .watcher = &watcher};
    fg_error err = {0};
    fg_result result;
    int64_t step = 0;
    char *best = NULL;
    (void)state;
    atomic_store(&poison.is_high, true);
    atomic_store(&poison.wrong_from, 4); /* the last one */
    fgt_ok(fit(&j, &result, &err));
    atomic_store(&poison.is_high, false);
    atomic_store(&poison.wrong_from, INT_MAX);
    fgt_ok(fgi_ckpt_resolve(fgt_path(j.folder, "checkpoints"), "best", &best, &err));
    (void)value_in(best, "val_loss", &step);
    assert_int_equal(step, 4 * EPOCH);
    fgi_free(best);
}

/* A run that goes back with --resume, and gets worse, writes over checkpoints of its former
 * future; so does one that then returns to that future. */
static void a_fork_leaves_no_best_behind(void **state)
{
    static const fg_callback_ops watcher = {.fit_start = assert_one_story,
                                            .fit_end = assert_one_story};
    static const fg_callback_ops first = {.fit_end = assert_one_story};
    char folder[512];
    fg_error err = {0};
    fg_result result;
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    job j = {.folder = folder, .action = "ignore", .watcher = &first};
    fgt_ok(fit(&j, &result, &err));
    j.watcher = &watcher;
    j.resume = fgt_path(folder, "checkpoints/step-000000008");
    j.epochs = 3;
    atomic_store(&poison.wrong_from, 0);
    fgt_ok(fit(&j, &result, &err));
    j.resume = fgt_path(folder, "checkpoints/step-000000032"); /* whose best was written over */
    j.epochs = 5;
    j.watcher = &(fg_callback_ops){.rolled_back = assert_one_story};
    fgt_ok(fit(&j, &result, &err));
    atomic_store(&poison.wrong_from, INT_MAX);
    int64_t step = 0;
    char *best = NULL;
    fgt_ok(fgi_ckpt_resolve(fgt_path(folder, "checkpoints"), "best", &best, &err));
    (void)value_in(best, "val_loss", &step);
    assert_true(step == 32 || step == 8);
    fgi_free(best);
}

/* A fit that has nothing to do changes no file, also if it resumes from an earlier checkpoint. */
static void nothing_to_do_changes_nothing(void **state)
{
    static const fg_callback_ops watcher = {.fit_start = NULL};
    char folder[512];
    fg_error err = {0};
    fg_result result;
    size_t before = 0, after = 0;
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    job j = {.folder = folder, .action = "ignore", .watcher = &watcher};
    fgt_ok(fit(&j, &result, &err));
    char *log = text_of(folder, "metrics.jsonl", &before);
    char *last = text_of(folder, "checkpoints/last", &after);
    j.resume = fgt_path(folder, "checkpoints/step-000000008");
    j.epochs = 1;
    fgt_ok(fit(&j, &result, &err));
    assert_true(result.nothing_to_do);
    char *same = text_of(folder, "metrics.jsonl", &after);
    assert_string_equal(same, log);
    char *same_last = text_of(folder, "checkpoints/last", &after);
    assert_string_equal(same_last, last);
    fgi_free(log);
    fgi_free(last);
    fgi_free(same);
    fgi_free(same_last);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(another_name_is_not_another_checkpoint),
    cmocka_unit_test(a_loss_that_is_not_finite_is_divergence),
    cmocka_unit_test(callbacks_go_back_too),
    cmocka_unit_test(the_smaller_rate_is_that_of_swa_too),
    cmocka_unit_test(all_loggers_agree),
    cmocka_unit_test(a_rollback_leaves_no_best_behind),
    cmocka_unit_test(the_best_is_saved_although_training_seems_to_diverge),
    cmocka_unit_test(a_fork_leaves_no_best_behind),
    cmocka_unit_test(nothing_to_do_changes_nothing),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
