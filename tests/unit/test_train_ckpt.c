/* test_train_ckpt.c - which checkpoints a run writes and keeps: names, the best ones, by time. On
 * the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <dlfcn.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "toy_place.h"
#include "train/save/saver.h"
#include "train/state/cursor.h"
#include "train/trainer.h"

/* ---- a clock that is set back ---------------------------------------------------------------- */

static bool is_set_back; /* each look at the wall clock is a day before the last one */
static time_t seconds_back;

int clock_gettime(clockid_t which, struct timespec *out)
{
    typedef int real_fn(clockid_t, struct timespec *);
    real_fn *real;
    void *object = dlsym(RTLD_NEXT, "clock_gettime");
    memcpy(&real, &object, sizeof real);
    const int result = real(which, out);
    if (is_set_back && which == CLOCK_REALTIME)
        out->tv_sec -= seconds_back += 86400;
    return result;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const fg_metric metrics[] = {{"train_loss", 1e12},
                                    {"val_acc", -0.5},
                                    {"val_loss", 0.123456789},
                                    {"val_nan", (double)NAN},
                                    {"val_most", 1e9}};

static void names_follow_the_template(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
    } rows[] = {
        {FGI_CKPT_NAME_DEFAULT, "step-000000042"},
        {"{epoch:02d}-{step}-{val_loss:.3f}", "07-42-0.123"},
        {"epoch={epoch}", "epoch=7-42"},
        {"best", "best-42"},
        {"{step:d}", "42"},
        {"{step:6d}", "42"}, /* no spaces in names */
        {"a{val_loss}_{step}", "a0.123457_42"},
        {"a{val_loss:.1e}_{step}", "a1.2e-01_42"},
        {"a{val_loss:08.3f}_{step}", "a0000.123_42"},
        {"a{train_loss:.2f}_{step}", "a1e12_42"}, /* no long numbers, no plus sign */
        {"a{val_most:.1f}_{step}", "a1e09_42"},
        {"a{val_loss:f}-{step}", "a0.123457-42"},
        {"{step}-{epoch:03}", "42-007"},
        {"a{val_acc:.2g}.{step}", "a-0.5.42"},
        {"a{val_nan}-{step}", "anan-42"},
        {"a{val_f1:.3f}-{step}", "anone-42"},
        {"0123456789012345678901234567890123456789012345-{step}",
         "0123456789012345678901234567890123456789012345-42"},
    };
    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        char name[FGI_CKPT_NAME_SIZE];
        fgt_ok(fgi_ckpt_name_check(rows[i].pattern, &err));
        fgi_ckpt_name_make(rows[i].pattern, 42, 7, metrics, 5, name, sizeof name);
        assert_string_equal(name, rows[i].name);
    }
    (void)setlocale(LC_ALL, "C");
}

/* The longest name that a template can give is not cut. */
static void the_longest_name_fits(void **state)
{
    fg_error err = {0};
    char name[FGI_CKPT_NAME_SIZE];
    const fg_metric large = {"m", -999999999.999999999};
    static const char pattern[] = "012345678901234567890123456789012345678901234567"
                                  "{m:12.9f}{m:12.9f}{m:12.9f}{m:12.9f}{m:12.9f}";
    (void)state;
    fgt_ok(fgi_ckpt_name_check(pattern, &err));
    fgi_ckpt_name_make(pattern, INT64_MAX, 0, &large, 1, name, sizeof name);
    assert_string_equal(name + strlen(name) - 20, "-9223372036854775807");
    fgi_ckpt_name_make("best", 42, 0, NULL, 0, name, sizeof "best-42");
    assert_string_equal(name, "best-42");
}

static void bad_templates_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *at;
    } rows[] = {
        {"", "at '': expected a letter, a digit, {step} or {epoch} at the beginning"},
        {"../a", "at '../a': expected a letter"},
        {".a", "at '.a': expected a letter"},
        {"-a", "at '-a': expected a letter"},
        {"=a", "at '=a': expected a letter"},
        {"a{step:.0}", "at '{step:.0}': expected a field"},
        {"a{epoch:.0d}", "at '{epoch:.0d}': expected a field"},
        {"{val_loss}", "at '{val_loss}': expected a letter"},
        {"a/b", "at '/b': expected letters, digits"},
        {"a b", "at ' b': expected letters"},
        {"a\xc3\xa4", "at '\xc3\xa4': expected letters"},
        {"a}", "at '}': expected letters"},
        {"a{", "at '{': expected a field"},
        {"a{}", "at '{}': expected a field"},
        {"a{step", "at '{step': expected a field"},
        {"a{step:}x{{", "at '{{': expected a field"},
        {"a{step:.3f}", "at '{step:.3f}': expected a field"},
        {"a{val_loss:3d}", "at '{val_loss:3d}': expected a field"},
        {"a{val_loss:13f}", "at '{val_loss:13f}': expected a field"},
        {"a{val_loss:.10f}", "at '{val_loss:.10f}': expected a field"},
        {"a{val_loss:.99f}", "at '{val_loss:.99f}': expected a field"},
        {"a{val_loss:s}", "at '{val_loss:s}': expected a field"},
        {"a{step:99999999999999999999d}", "expected a field"},
        {"a.tmp.b", "expected a name without '.tmp.' and '.old.'"},
        {"a.old.b", "expected a name without '.tmp.' and '.old.'"},
        {"{step}{step}{step}{step}{step}{step}", "expected at most 5 fields"},
        {"0123456789012345678901234567890123456789012345678", "expected at most 5 fields and 48"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        assert_int_equal(fgi_ckpt_name_check(rows[i].pattern, &err), FG_EINVAL);
        if (strstr(err.message, rows[i].at) == NULL)
            fail_msg("'%s' is not in: %s", rows[i].at, err.message);
    }
}

/* ---- the best -------------------------------------------------------------------------------- */

static void list_is(const fgi_best_list *list, const char *expected)
{
    char text[256] = "";
    for (int i = 0; i < list->count; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i > 0 ? " " : "",
                       (int)list->entry[i].step);
    assert_string_equal(text, expected);
}

static const fgi_best_rule lowest = {.monitor = "val_loss", .most = 3};

/* A value whose checkpoint is on the disk; returns its rank. */
static fgi_rank put(fgi_best_list *list, const fgi_best_rule *rule, double value, int64_t step)
{
    char name[32];
    const fgi_rank rank = fgi_best_list_offer(list, rule, value, step);
    (void)snprintf(name, sizeof name, "at-%d", (int)step);
    fgi_best_list_enter(list, rule, step, name);
    return rank;
}

static void the_best_are_sorted(void **state)
{
    fgi_best_list list = {.count = 0}, loaded = {.count = 5};
    (void)state;
    assert_int_equal(put(&list, &lowest, 5, 1), FGI_RANK_BEST);
    assert_int_equal(put(&list, &lowest, 7, 2), FGI_RANK_TOP);
    assert_int_equal(put(&list, &lowest, 4, 3), FGI_RANK_BEST);
    list_is(&list, "3 1 2");
    assert_int_equal(put(&list, &lowest, 7, 4), FGI_RANK_NONE); /* of equal values, the first */
    list_is(&list, "3 1 2");
    assert_int_equal(put(&list, &lowest, 5, 5), FGI_RANK_TOP);
    list_is(&list, "3 1 5");
    assert_int_equal(put(&list, &lowest, 1, 1), FGI_RANK_BEST); /* the same step again */
    list_is(&list, "1 3 5");
    fgi_best_list_enter(&list, &lowest, 5, "five"); /* the same state under another name */
    assert_int_equal(fgi_best_list_offer(&list, &lowest, 0, 6), FGI_RANK_BEST);
    json_t *object = json_object();
    assert_true(fgi_best_list_save(&list, &lowest, object));
    fgi_best_list_load(&loaded, &lowest, object);
    list_is(&loaded, "1 3 5");
    assert_string_equal(loaded.entry[2].name, "five");
    assert_true(loaded.entry[2].value == 5);
    fgi_best_list_enter(&loaded, &lowest, 6, "six"); /* has waited in the checkpoint */
    list_is(&loaded, "6 1 3");
    fgi_best_list_load(&loaded, &(fgi_best_rule){.monitor = "val_loss", .most = 1}, object);
    list_is(&loaded, "1"); /* a shorter list */
    fgi_best_list_load(&loaded, &(fgi_best_rule){.monitor = "val_acc", .most = 3}, object);
    list_is(&loaded, "");
    fgi_best_list_load(&loaded, &(fgi_best_rule){.monitor = "val_loss", .is_max = true, .most = 3},
                       object);
    list_is(&loaded, "");
    assert_int_equal(loaded.waiting_count, 0);
    json_decref(object);
    fgi_best_list up = {.count = 0};
    const fgi_best_rule highest = {.monitor = "acc", .is_max = true, .most = FGI_BEST_MOST};
    for (int step = 0; step < 40; step++)
        assert_int_equal(put(&up, &highest, step, step), FGI_RANK_BEST);
    assert_int_equal(up.count, FGI_BEST_MOST);
    assert_int_equal(up.entry[0].step, 39);
    assert_int_equal(up.entry[FGI_BEST_MOST - 1].step, 24);
}

/* A value is compared with those that wait, and enters the list with its checkpoint. */
static void a_value_waits_for_its_checkpoint(void **state)
{
    fgi_best_list list = {.count = 0};
    (void)state;
    assert_int_equal(fgi_best_list_offer(&list, &lowest, 2, 1), FGI_RANK_BEST);
    assert_int_equal(fgi_best_list_offer(&list, &lowest, 3, 2), FGI_RANK_TOP);
    assert_int_equal(fgi_best_list_offer(&list, &lowest, 1, 3), FGI_RANK_BEST);
    fgi_best_list_forget(&list, 3); /* will not be saved */
    list_is(&list, "");
    fgi_best_list_enter(&list, &lowest, 2, "two"); /* the first one could not be saved */
    list_is(&list, "2");
    fgi_best_list_enter(&list, &lowest, 1, "one");
    list_is(&list, "2");
    assert_int_equal(fgi_best_list_offer(&list, &lowest, 1, 3), FGI_RANK_BEST);
    assert_int_equal(fgi_best_list_offer(&list, &lowest, 1.5, 4), FGI_RANK_TOP);
    for (int step = 5; step < 20; step++) /* while the two are being saved */
        assert_int_equal(fgi_best_list_offer(&list, &lowest, 9, step), FGI_RANK_NONE);
    fgi_best_list_enter(&list, &lowest, 4, "four"); /* the third could not be */
    fgi_best_list_enter(&list, &lowest, 19, "nineteen");
    list_is(&list, "4 2 19");
    list.count = 1;
    for (int step = 10; step < 20; step++) /* more than can wait */
        assert_int_equal(fgi_best_list_offer(&list, &lowest, -step, step), FGI_RANK_BEST);
    fgi_best_list_enter(&list, &lowest, 11, "eleven");
    fgi_best_list_enter(&list, &lowest, 19, "nineteen");
    list_is(&list, "19 4");
    assert_int_equal(list.waiting_count, 0);
}

static void a_damaged_list_is_read_as_far_as_it_is_whole(void **state)
{
    fgi_best_list list;
    (void)state;
    json_t *object = json_loads(
        "{\"monitor\": \"val_loss\", \"top\": [7, {\"name\": 3}, {\"name\": \"a\", \"step\": 1.5},"
        " {\"name\": \"b\", \"step\": 2, \"value\": 3}, {},"
        " {\"name\": \"../c\", \"step\": 3, \"value\": 1},"
        " {\"name\": \"d\", \"step\": 4, \"value\": \"1\"}],"
        " \"waiting\": [{\"step\": 5}, {\"step\": 6, \"value\": 7}]}",
        0, NULL);
    assert_non_null(object);
    fgi_best_list_load(&list, &lowest, object);
    list_is(&list, "2"); /* names are those of folders in checkpoints/ */
    assert_int_equal(list.waiting_count, 1);
    json_decref(object);
    object = json_object();
    fgi_best_list_load(&list, &lowest, object);
    list_is(&list, "");
    json_decref(object);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int open_all(void **state)
{
    (void)state;
    return open_place(12, 4); /* 3 steps an epoch */
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The names in checkpoints/, without `best` and `last`. */
static const char *kept(const char *folder)
{
    static char text[1024];
    struct dirent **entries = NULL;
    const int count = scandir(fgt_path(folder, "checkpoints"), &entries, NULL, by_name);
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.' && strcmp(name, "best") != 0 && strcmp(name, "last") != 0)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                           text[0] != '\0' ? " " : "", name);
        free(entries[i]);
    }
    free(entries);
    return text;
}

static void fit(const fg_trainer_options *options, const char *folder, recorder *r)
{
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer_options o = *options;
    o.checkpoints.run_dir = folder;
    o.checkpoints.wait_for_saves = true;
    *r = (recorder){0};
    fg_trainer *trainer = create_recorded(&o, r);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
}

/* The fake plugin has no metrics: ranks steps 3 and 6 as a validation would. */
static fg_status rank(void *self, const fg_progress *at, fg_error *err)
{
    fg_trainer *const *trainer = self;
    const fgi_best_rule rule = fgi_best_rule_of(&(*trainer)->options.checkpoints);
    (void)err;
    if (at->step == 3 || at->step == 6)
        (void)fgi_best_list_offer(&(*trainer)->cursor.top, &rule, (double)at->step, at->step);
    return FG_OK;
}

/* A run that resumes: `best` names the first of the list. */
static fg_status best_is_the_first(void *self, const fg_progress *at, fg_error *err)
{
    const fg_trainer *trainer = *(fg_trainer *const *)self;
    char *name = NULL;
    size_t size;
    if (at->step == 0)
        return FG_OK;
    const char *path = fgt_path(trainer->options.checkpoints.run_dir, "checkpoints/best");
    assert_int_equal(fgi_file_read(path, 100, &name, &size, err), FG_OK);
    name[strcspn(name, "\n")] = '\0';
    assert_int_equal(trainer->cursor.top.count, 2);
    assert_string_equal(name, trainer->cursor.top.entry[0].name);
    fgi_free(name);
    return FG_OK;
}

/* NaN and infinite values have no rank. Without a save between them, only the last one waits. */
static void values_have_a_rank(void **state)
{
    (void)state;
    static const struct {
        fg_metric metric;
        fgi_rank rank;
        int waiting;
    } rows[] = {
        {{"val_loss", (double)INFINITY}, FGI_RANK_NONE, 0},
        {{"val_loss", (double)NAN}, FGI_RANK_NONE, 0},
        {{"val_loss", -(double)INFINITY}, FGI_RANK_NONE, 0},
        {{"val_los", 0.5}, FGI_RANK_NONE, 0},
        {{"val_loss", 0.5}, FGI_RANK_BEST, 1},
        {{"val_loss", 0.25}, FGI_RANK_BEST, 1},
        {{"val_loss", 0.75}, FGI_RANK_BEST, 1},
    };
    const fgi_best_rule rule = {.monitor = "val_loss", .most = 3};
    fgi_best_list list = {.count = 0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fgi_rank_metrics(&list, &rule, (int64_t)i + 1, &rows[i].metric, 1, false),
                         rows[i].rank);
        assert_int_equal(list.waiting_count, rows[i].waiting);
    }
}

static fg_tensor only_loss(void *self, fg_step *step, const fg_batch *batch)
{
    (void)step;
    return fg_cross_entropy(toy_forward(self, fg_batch_field(batch, "x")),
                            fg_batch_field(batch, "y"), NULL);
}

/* The metrics of a validation that logs its loss only. */
static void a_metric_of_another_name_is_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_task_ops ops = toy_ops;
    ops.val_step = only_loss;
    const fg_task one = {.name = "toy", .self = &model, .ops = &ops};
    const fg_fit_data data = the_data();
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.checkpoints.monitor = "val_acc",
                                                  .checkpoints.run_dir = fgt_temp_folder()});
    assert_int_equal(fg_trainer_fit(trainer, &one, &data, &err), FG_EINVAL);
    fgt_message_is(err.message, "trainer: monitor: expected a metric of the validation, one of "
                                "val_loss, got 'val_acc'");
    fg_trainer_destroy(trainer);
}

static void best_is(const char *folder, const char *expected)
{
    fg_error err = {0};
    char *name = NULL;
    size_t size;
    fgt_ok(fgi_file_read(fgt_path(folder, "checkpoints/best"), 100, &name, &size, &err));
    assert_string_equal(name, expected);
    fgi_free(name);
}

/* In addition to the newest, also by a resumed run. */
static void the_best_are_kept(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    static const fg_callback_ops ops = {.fit_start = best_is_the_first, .batch_end = rank};
    static const char *const expected[] = {"step-000000003 step-000000006 step-000000012",
                                           "step-000000003 step-000000006 step-000000015"};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        const fg_fit_data data = the_data();
        fg_trainer *trainer =
            toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 4 + i,
                                                      .checkpoints.run_dir = folder,
                                                      .checkpoints.ckpt_every_epochs = 1,
                                                      .checkpoints.save_top_k = 2,
                                                      .checkpoints.resume = i > 0 ? "last" : NULL});
        fgt_ok(fg_trainer_add_callback(trainer, &ops, &trainer, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        fg_trainer_destroy(trainer);
        assert_string_equal(kept(folder), expected[i]);
        best_is(folder, "step-000000003\n");
    }
}

/* Each epoch is better than the one before. */
static fg_status improve(void *self, const fg_progress *at, fg_error *err)
{
    fg_trainer *const *trainer = self;
    const fgi_best_rule rule = fgi_best_rule_of(&(*trainer)->options.checkpoints);
    (void)err;
    if (at->step % 3 == 0)
        (void)fgi_best_list_offer(&(*trainer)->cursor.top, &rule, -(double)at->step, at->step);
    return FG_OK;
}

/* The longest list: each further checkpoint replaces the worst one. */
static void at_most_sixteen_are_kept(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.batch_end = improve};
    const char *folder = fgt_temp_folder();
    char expected[512] = "";
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 18,
                                                  .checkpoints.run_dir = folder,
                                                  .checkpoints.wait_for_saves = true,
                                                  .checkpoints.save_top_k = FGI_BEST_MOST});
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    for (int step = 9; step <= 54; step += 3)
        (void)snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                       "%sstep-%09d", step > 9 ? " " : "", step);
    assert_string_equal(kept(folder), expected);
    best_is(folder, "step-000000054\n");
}

static void a_run_uses_its_template(void **state)
{
    (void)state;
    static recorder r;
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    const char *folder = fgt_temp_folder();
    fg_trainer_options options = {.limits.max_epochs = 2,
                                  .checkpoints.keep_checkpoints = FG_NONE,
                                  .checkpoints.ckpt_name = "e{epoch:02d}"};
    fit(&options, folder, &r);
    assert_string_equal(kept(folder), "e01-3 e02-6");
    fgt_ok(fg_ckpt_open(fgt_path(folder, "checkpoints/e02-6"), NULL, &ckpt, &err));
    assert_string_equal(fg_ckpt_metadata(ckpt, "fulgurite.step"), "6");
    assert_string_equal(fg_ckpt_metadata(ckpt, "fulgurite.epoch"), "2");
    fg_ckpt_close(ckpt);
    options.limits.max_epochs = 3; /* another template continues the same run */
    options.checkpoints.resume = "last";
    options.checkpoints.ckpt_name = NULL;
    fit(&options, folder, &r);
    assert_int_equal(recorder_count(&r, "batch_end"), 3);
    assert_string_equal(kept(folder), "e01-3 e02-6 step-000000009");
}

static fg_status rest(void *self, const fg_progress *at, fg_error *err)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    (void)self, (void)at, (void)err;
    (void)nanosleep(&pause, NULL);
    return FG_OK;
}

/* After each step, as each is longer than the interval, also while the clock is set back; and
 * never, as the interval is longer than the fit. */
static void a_run_saves_by_time(void **state)
{
    (void)state;
    static const fg_callback_ops slow = {.batch_end = rest};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        static recorder r;
        const char *folder = fgt_temp_folder();
        const fg_fit_data data = the_data();
        r = (recorder){0};
        is_set_back = true;
        fg_trainer *trainer = create_recorded(
            &(fg_trainer_options){.limits.max_epochs = 2,
                                  .limits.max_time = 3600,
                                  .checkpoints.run_dir = folder,
                                  .checkpoints.wait_for_saves = true,
                                  .checkpoints.ckpt_every_epochs = FG_NONE,
                                  .checkpoints.ckpt_every_time = i == 0 ? 0.015 : 1500,
                                  .checkpoints.keep_checkpoints = FG_NONE},
            &r);
        fgt_ok(fg_trainer_add_callback(trainer, &slow, NULL, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        is_set_back = false;
        assert_int_equal(recorder_count(&r, "batch_end"), 6);
        assert_int_equal(recorder_count(&r, "saved"), i == 0 ? 7 : 1); /* step 3 twice: with the end
                                                                        * of its epoch */
        fg_trainer_destroy(trainer);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_follow_the_template),
    cmocka_unit_test(the_longest_name_fits),
    cmocka_unit_test(bad_templates_are_refused),
    cmocka_unit_test(the_best_are_sorted),
    cmocka_unit_test(a_value_waits_for_its_checkpoint),
    cmocka_unit_test(a_damaged_list_is_read_as_far_as_it_is_whole),
    cmocka_unit_test(values_have_a_rank),
    cmocka_unit_test(a_metric_of_another_name_is_refused),
    cmocka_unit_test(the_best_are_kept),
    cmocka_unit_test(at_most_sixteen_are_kept),
    cmocka_unit_test(a_run_uses_its_template),
    cmocka_unit_test(a_run_saves_by_time),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
