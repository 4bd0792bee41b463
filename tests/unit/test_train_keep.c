/* test_train_keep.c - the callback checkpoint and the file `kept`: which checkpoints are saved and
 * not removed, by a metric with chosen values. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"
#include "row.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"
#include "ckpt/series.h"
#include "input/json_file.h"
#include "toy_place.h"
#include "train/state/cursor.h"
#include "train/save/saver.h"
#include "train/trainer.h"
#include "callback/callback_rows.h"

/* 10 samples in batches of 4: 3 steps per epoch. */
#define BY_ACC "{monitor: val_acc}"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

static const double *values; /* of val_acc and train_acc after each epoch */

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    fg_progress other = *at;
    const fg_metric metric = {"val_acc", values[at->epoch]};
    other.metrics = &metric;
    other.metric_count = 1;
    return fgi_checkpoint_row.ops->val_end(self, &other, err);
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    fg_progress other = *at;
    const fg_metric metric = {"train_acc", values[at->epoch]};
    other.metrics = &metric;
    other.metric_count = 1;
    return fgi_checkpoint_row.ops->epoch_end(self, &other, err);
}

static void *create_self(const char *options)
{
    fg_error err = {0};
    void *self = NULL;
    fgt_ok(FGT_ROW_BEGIN(&fgi_checkpoint_row, options, &self, &err));
    return self;
}

/* The Trainer itself saves at the end only: its metrics are NaN, so it has no best. */
static fg_trainer *create(const char *folder, const char *resume, const char *options,
                          fg_trainer_options o)
{
    static fg_callback_ops ops;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    ops = *fgi_checkpoint_row.ops;
    ops.val_end = on_val_end;
    ops.epoch_end = on_epoch_end;
    o.devices.client = client;
    o.checkpoints.run_dir = folder;
    o.checkpoints.resume = resume;
    o.checkpoints.ckpt_every_epochs = FG_NONE;
    if (o.limits.max_epochs == 0)
        o.limits.max_epochs = 4;
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &ops, create_self(options), &err));
    return trainer;
}

static void fit(fg_trainer *trainer)
{
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
}

/* The steps of the folder's checkpoints are these. */
static void checkpoints_are(const char *folder, const char *expected)
{
    bool has[100] = {false};
    char text[256] = "";
    DIR *stream = opendir(fgt_path(folder, "checkpoints"));
    assert_non_null(stream);
    for (const struct dirent *each; (each = readdir(stream)) != NULL;)
        if (strncmp(each->d_name, "step-", 5) == 0)
            has[strtol(each->d_name + 5, NULL, 10)] = true;
    (void)closedir(stream);
    for (int i = 0; i < 100; i++)
        if (has[i])
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", i);
    assert_string_equal(text, expected);
}

static void file_is(const char *folder, const char *name, const char *expected)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    const char *path = fgt_path(fgt_path(folder, "checkpoints"), name);
    if (expected == NULL) {
        assert_false(fgi_file_exists(path));
        return;
    }
    fgt_ok(fgi_file_read(path, 4096, &text, &size, &err));
    assert_string_equal(text, expected);
    fgi_free(text);
}

/* ---- the best -------------------------------------------------------------------------------- */

static const struct {
    const char *options;
    double values[4];
    const char *checkpoints, *kept, *best;
} kept_after[] = {
    {"{monitor: val_acc, save_top_k: 2}",
     {0.5, 0.9, 0.7, 0.1},
     "6 9 12 ",
     "step-000000006 best\nstep-000000009 best\n",
     "step-000000006\n"},
    {BY_ACC, {0.5, 0.9, 0.7, 0.1}, "6 12 ", "step-000000006 best\n", "step-000000006\n"},
    {"{monitor: val_acc, mode: min}",
     {0.5, 0.9, 0.4, 0.4}, /* of equal ones, the first */
     "9 12 ",
     "step-000000009 best\n",
     "step-000000009\n"},
    {BY_ACC, {0.1, 0.1, 0.1, 0.1}, "3 12 ", "step-000000003 best\n", "step-000000003\n"},
    {"{monitor: val_acc, save_top_k: 0}", {0.5, 0.9, 0.7, 0.1}, "12 ", NULL, NULL},
    {BY_ACC,
     {0.5, (double)NAN, 0.7, (double)INFINITY},
     "9 12 ",
     "step-000000009 best\n",
     "step-000000009\n"},
};

static void the_best_are_saved_and_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kept_after / sizeof kept_after[0]; i++) {
        const char *folder = fgt_temp_folder();
        values = kept_after[i].values;
        fit(create(folder, NULL, kept_after[i].options, (fg_trainer_options){0}));
        checkpoints_are(folder, kept_after[i].checkpoints);
        file_is(folder, "kept", kept_after[i].kept);
        file_is(folder, "best-val_acc", kept_after[i].best);
    }
}

static char warning[256];

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level == FG_LOG_WARNING)
        (void)snprintf(warning, sizeof warning, "%s", line);
}

static void one_that_keeps_nothing_is_warned_of(void **state)
{
    (void)state;
    fg_log_set(keep_warning, NULL);
    fit(create(fgt_temp_folder(), NULL, "{monitor: val_f1, save_top_k: 0}",
               (fg_trainer_options){0}));
    assert_string_equal(warning, "checkpoint keeps nothing: save_top_k, every_n_steps and "
                                 "every_n_epochs are 0");
    const fg_trainer_options blind = {.validation.val_every_epochs = FG_NONE};
    fit(create(fgt_temp_folder(), NULL, "{monitor: val_loss}", blind));
    assert_string_equal(warning, "checkpoint keeps nothing: monitor is val_loss, a validation "
                                 "metric, but the run has no validation");
    warning[0] = '\0';
    fit(create(fgt_temp_folder(), NULL, "{monitor: val_loss, every_n_steps: 4}", blind));
    fit(create(fgt_temp_folder(), NULL, "{save_top_k: 0, every_n_epochs: 4}", blind));
    fg_log_set(NULL, NULL);
    assert_string_equal(warning, "");
}

/* The pointer is a name of a checkpoint. */
static void the_best_is_found_by_its_metric(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    const char *folder = fgt_temp_folder();
    values = (const double[]){0.5, 0.9, 0.7, 0.1};
    fit(create(folder, NULL, BY_ACC, (fg_trainer_options){0}));
    fgt_ok(fg_ckpt_open_run(folder, "best-val_acc", NULL, &ckpt, &err));
    assert_non_null(strstr(fg_ckpt_path(ckpt), "/checkpoints/step-000000006"));
    fg_ckpt_close(ckpt);
    assert_int_equal(fg_ckpt_open_run(folder, "best-val_f1", NULL, &ckpt, &err), FG_ENOTFOUND);
}

/* Names of metrics may contain slashes, names of pointers may not. */
static void a_slash_in_a_metric_is_no_folder(void **state)
{
    (void)state;
    fg_error err = {0};
    char path[512];
    const fg_metric metric = {"val_f1/cat", 0.5};
    const fg_callback_ops *ops = fgi_checkpoint_row.ops;
    const fg_fit_data data = the_data();
    const char *folder = fgt_temp_folder();
    void *self = create_self("{monitor: val_f1/cat}");
    fg_trainer *trainer = create(folder, NULL, "{save_top_k: 0}", (fg_trainer_options){0});
    values = (const double[]){0, 0, 0, 0};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    (void)snprintf(path, sizeof path, "%s/checkpoints/step-000000012", folder);
    const fg_progress at = {
        .trainer = trainer, .step = 12, .metrics = &metric, .metric_count = 1, .path = path};
    fgt_ok(ops->val_end(self, &at, &err));
    fgt_ok(ops->saved(self, &at, &err));
    file_is(folder, "best-val_f1_cat", "step-000000012\n");
    ops->destroy(self);
    fg_trainer_destroy(trainer);
}

/* A metric of training is compared after each epoch. */
static void a_metric_of_training_is_compared_too(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    values = (const double[]){0.5, 0.4, 0.9, 0.8};
    fit(create(folder, NULL, "{monitor: train_acc}", (fg_trainer_options){0}));
    checkpoints_are(folder, "9 12 ");
    file_is(folder, "best-train_acc", "step-000000009\n");
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* With all 17 digits of its values: the first of two equal ones is better. */
static void a_resumed_run_continues_the_list(void **state)
{
    (void)state;
    static const double all[] = {0.25, 0.1 + 0.2, 0.1 + 0.2, 0.95, 0.2};
    const char *folder = fgt_temp_folder(), *options = "{monitor: val_acc, save_top_k: 2}";
    values = all;
    fit(create(folder, NULL, options, (fg_trainer_options){.limits.max_epochs = 2}));
    file_is(folder, "kept", "step-000000006 best\nstep-000000003 best\n");
    fit(create(folder, "last", options, (fg_trainer_options){0}));
    file_is(folder, "kept", "step-000000012 best\nstep-000000006 best\n");
    checkpoints_are(folder, "6 12 ");
    fit(create(folder, "last", "{monitor: val_acc, save_top_k: 1}",
               (fg_trainer_options){.limits.max_epochs = 5}));
    file_is(folder, "kept", "step-000000012 best\n");
}

/* Values of another metric are not compared with these. */
static void another_metric_has_a_list_of_its_own(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    values = (const double[]){0.5, 0.9, 0.7, 0.8, 0.6};
    fit(create(folder, NULL, BY_ACC, (fg_trainer_options){.limits.max_epochs = 2}));
    fit(create(folder, "last", "{monitor: val_acc, mode: min}", (fg_trainer_options){0}));
    file_is(folder, "kept", "step-000000009 best\n");
    fit(create(folder, "last", "{monitor: train_acc}",
               (fg_trainer_options){.limits.max_epochs = 5}));
    file_is(folder, "best-val_acc", "step-000000009\n");
    file_is(folder, "best-train_acc", "step-000000015\n");
    file_is(folder, "kept", "step-000000015 best\n");
}

/* The process was killed between a checkpoint and its entry in the list. */
static void a_checkpoint_without_an_entry_gets_it_on_resume(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder(), *options = "{monitor: val_acc, every_n_epochs: 2}";
    values = (const double[]){0.5, 0.9, 0.7, 0.1};
    fit(create(folder, NULL, options, (fg_trainer_options){.limits.max_epochs = 2}));
    file_is(folder, "kept", "step-000000006 best\nstep-000000006\n");
    assert_int_equal(unlink(fgt_path(folder, "checkpoints/kept")), 0);
    assert_int_equal(unlink(fgt_path(folder, "checkpoints/best-val_acc")), 0);
    fit(create(folder, "last", options, (fg_trainer_options){0}));
    file_is(folder, "kept", "step-000000006\nstep-000000006 best\nstep-000000012\n");
    file_is(folder, "best-val_acc", "step-000000006\n");
    checkpoints_are(folder, "6 12 ");
}

/* The entries of the steps that are repeated are replaced. */
static void a_run_that_goes_back_forgets_later_ones(void **state)
{
    (void)state;
    char path[512];
    const char *folder = fgt_temp_folder(), *options = "{monitor: val_acc, save_top_k: 3}";
    values = (const double[]){0.5, 0.9, 0.7, 0.1};
    fit(create(folder, NULL, options, (fg_trainer_options){0}));
    (void)snprintf(path, sizeof path, "%s/checkpoints/step-000000003", folder);
    values = (const double[]){0.5, 0.1, 0.2, 0.3};
    fit(create(folder, path, options, (fg_trainer_options){0}));
    file_is(folder, "kept", "step-000000003 best\nstep-000000012 best\nstep-000000009 best\n");
    checkpoints_are(folder, "3 9 12 ");
}

/* A checkpoint that somebody has removed has no place among the best. */
static void a_checkpoint_that_is_gone_has_no_rank(void **state)
{
    (void)state;
    char path[512];
    const char *folder = fgt_temp_folder(), *options = "{monitor: val_acc, save_top_k: 2}";
    values = (const double[]){0.5, 0.9, 0.4, 0.3};
    fit(create(folder, NULL, options, (fg_trainer_options){.limits.max_epochs = 2}));
    (void)snprintf(path, sizeof path, "%s/checkpoints/step-000000003", folder);
    assert_int_equal(rename(path, fgt_path(folder, "gone")), 0);
    fit(create(folder, "last", options, (fg_trainer_options){0}));
    file_is(folder, "kept", "step-000000006 best\nstep-000000009 best\n");
}

/* A run that starts from a checkpoint of another one changes nothing there. */
static void the_list_of_another_run_stays_as_it_is(void **state)
{
    (void)state;
    char first[256], path[512];
    const char *options = "{monitor: val_acc, save_top_k: 2}";
    (void)snprintf(first, sizeof first, "%s", fgt_temp_folder());
    values = (const double[]){0.5, 0.9, 0.95, 0.1};
    fit(create(first, NULL, options, (fg_trainer_options){.limits.max_epochs = 2}));
    (void)snprintf(path, sizeof path, "%s/checkpoints/step-000000006", first);
    fit(create(fgt_temp_folder(), path, options, (fg_trainer_options){0}));
    file_is(first, "kept", "step-000000006 best\nstep-000000003 best\n");
}

static void nothing_to_do_removes_nothing(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    values = (const double[]){0.5, 0.9, 0.7, 0.1};
    fit(create(folder, NULL, BY_ACC,
               (fg_trainer_options){.limits.max_epochs = 1,
                                    .checkpoints.ckpt_every_steps = 1,
                                    .checkpoints.keep_checkpoints = FG_NONE}));
    fit(create(folder, "last", BY_ACC,
               (fg_trainer_options){.limits.max_epochs = 1, .checkpoints.keep_checkpoints = 1}));
    checkpoints_are(folder, "1 2 3 ");
}

/* After going back, the steps of every n are saved again. */
static void repeated_steps_are_saved_again(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_callback_ops *ops = fgi_checkpoint_row.ops;
    const fg_fit_data data = the_data();
    void *self = create_self("{save_top_k: 0, every_n_steps: 4}");
    fg_trainer *trainer = create(fgt_temp_folder(), NULL, "", (fg_trainer_options){0});
    fg_progress at = {.trainer = trainer, .step = 4};
    values = (const double[]){0, 0, 0, 0};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    for (int i = 0; i < 3; i++) {
        trainer->saver->is_requested = false;
        if (i == 2) {
            at.step = 3;
            fgt_ok(ops->rolled_back(self, &at, &err));
            at.step = 4;
        }
        fgt_ok(ops->batch_end(self, &at, &err));
        assert_int_equal(trainer->saver->is_requested, i != 1);
    }
    ops->destroy(self);
    fg_trainer_destroy(trainer);
}

/* ---- for good -------------------------------------------------------------------------------- */

static void those_of_every_n_are_kept(void **state)
{
    (void)state;
    static const double none[] = {0, 0, 0, 0};
    const char *folder = fgt_temp_folder();
    values = none;
    fit(create(folder, NULL, "{save_top_k: 0, every_n_steps: 4}", (fg_trainer_options){0}));
    checkpoints_are(folder, "4 8 12 ");
    file_is(folder, "kept", "step-000000004\nstep-000000008\nstep-000000012\n");
    folder = fgt_temp_folder();
    fit(create(folder, NULL, "{save_top_k: 0, every_n_epochs: 2}", (fg_trainer_options){0}));
    checkpoints_are(folder, "6 12 ");
    file_is(folder, "kept", "step-000000006\nstep-000000012\n");
    folder = fgt_temp_folder(); /* those that are saved within an epoch are not kept */
    fit(create(folder, NULL, "{save_top_k: 0, every_n_epochs: 2}",
               (fg_trainer_options){.checkpoints.ckpt_every_steps = 1}));
    file_is(folder, "kept", "step-000000006\nstep-000000012\n");
    folder = fgt_temp_folder(); /* nor the state before the first step, for going back */
    fit(create(
        folder, NULL, "{save_top_k: 0, every_n_steps: 3, every_n_epochs: 2}",
        (fg_trainer_options){.divergence.on_divergence = "rollback", .limits.max_epochs = 1}));
    file_is(folder, "kept", "step-000000003\n");
}

/* Two batches per step, two steps per epoch; a run that resumes at such a step saves none extra. */
static void a_step_of_several_batches_is_saved_once(void **state)
{
    (void)state;
    static const double none[] = {0, 0, 0, 0};
    const char *folder = fgt_temp_folder(), *options = "{save_top_k: 0, every_n_steps: 3}";
    const fg_trainer_options two = {.numerics.accumulate_grad_batches = 2,
                                    .limits.max_epochs = 4,
                                    .checkpoints.keep_checkpoints = FG_NONE};
    fg_trainer_options first = two;
    values = none;
    first.limits.max_steps = 3;
    fit(create(folder, NULL, options, first));
    checkpoints_are(folder, "3 ");
    fit(create(folder, "last", options, two));
    checkpoints_are(folder, "3 6 8 ");
    file_is(folder, "kept", "step-000000003\nstep-000000006\n");
}

static void lines_of_others_remain(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder(), *options = BY_ACC;
    static const char lines[] = "  step-000000006\t\r\n\nstep-000000099 mine too\n";
    values = (const double[]){0.5, 0.9, 0.7, 0.95};
    fit(create(folder, NULL, options, (fg_trainer_options){.limits.max_epochs = 2}));
    fgt_ok(fg_file_write(fgt_path(folder, "checkpoints/kept"), lines, strlen(lines), &err));
    fit(create(folder, "last", options, (fg_trainer_options){0}));
    checkpoints_are(folder, "6 12 ");
    file_is(folder, "kept", "step-000000006\nstep-000000099 mine\nstep-000000012 best\n");
    fit(create(folder, NULL, options,
               (fg_trainer_options){.checkpoints.overwrite = true, .limits.max_epochs = 1}));
    checkpoints_are(folder, "3 ");
    file_is(folder, "kept", "step-000000003 best\n");
}

/* A list that cannot be read: nothing is removed, and a warning says so. */
static void a_list_that_cannot_be_read_protects_all(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder(), *options = BY_ACC;
    values = (const double[]){0.5, 0.9, 0.7, 0.95};
    fit(create(folder, NULL, options, (fg_trainer_options){.limits.max_epochs = 2}));
    const char *path = fgt_path(folder, "checkpoints/kept");
    assert_int_equal(unlink(path), 0);
    fgt_ok(fgi_folder_make(path, &err));
    fit(create(folder, "last", options, (fg_trainer_options){0}));
    checkpoints_are(folder, "6 12 ");
    assert_int_not_equal(fgi_ckpt_prune(fgt_path(folder, "checkpoints"), 1, NULL, 0, &err), FG_OK);
    checkpoints_are(folder, "6 12 ");
}

static fg_status keep_some(void *folder, fg_error *err)
{
    static const char *const names[] = {"a", "b"};
    fg_status status = fgi_ckpt_keep(folder, "best", names, 2, err);
    if (status == FG_OK)
        status = fgi_ckpt_keep_for_good(folder, "c", err);
    return status;
}

static void lists_survive_failing_allocations(void **state)
{
    (void)state;
    fg_error err = {0};
    char folder[512], *text = NULL;
    size_t size;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    fgt_fault_loop(keep_some, folder);
    fgt_ok(fgi_file_read(fgt_path(folder, "kept"), 100, &text, &size, &err));
    assert_string_equal(text, "c\na best\nb best\n");
    fgi_free(text);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The entries, best first, as "VALUE@STEP:NAME ". */
static void list_is(const fgi_best_list *list, const char *expected)
{
    char text[512] = "";
    for (int i = 0; i < list->count; i++)
        (void)fgi_snprintf(text + strlen(text), sizeof text - strlen(text), "%g@%d:%s ",
                           list->entry[i].value, (int)list->entry[i].step, list->entry[i].name);
    assert_string_equal(text, expected);
}

static const fgi_best_rule two_least = {"val_loss", false, 2};

/* A value has its rank among those that are on the disk or on their way to it. */
static void only_states_that_are_saved_have_a_rank(void **state)
{
    fgi_best_list list = {.count = 0};
    (void)state;
    for (int i = 0; i < 2; i++) /* the same state is validated again */
        assert_int_equal(fgi_best_list_offer(&list, &two_least, 5, 1), FGI_RANK_BEST);
    list_is(&list, "");
    fgi_best_list_enter(&list, &two_least, 1, "a");
    list_is(&list, "5@1:a ");
    assert_int_equal(list.waiting_count, 0);
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 5, 1), FGI_RANK_BEST); /* once more */
    fgi_best_list_forget(&list, 1);
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 6, 2), FGI_RANK_TOP);
    fgi_best_list_forget(&list, 2); /* it could not be saved */
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 6, 3), FGI_RANK_TOP);
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 7, 4), FGI_RANK_NONE);
    fgi_best_list_forget(&list, 3);
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 8, 5), FGI_RANK_TOP);
    fgi_best_list_enter(&list, &two_least, 5, "b");
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 9, 6), FGI_RANK_NONE);
    fgi_best_list_enter(&list, &two_least, 6, "c"); /* saved for another reason */
    list_is(&list, "5@1:a 8@5:b ");
    fgi_best_list_enter(&list, &two_least, 1, "d"); /* the same state, under another name */
    list_is(&list, "5@1:d 8@5:b ");
}

/* A worse one that is saved anyway is in the list if a better one could not be saved. */
static void a_worse_one_takes_the_place_of_one_that_failed(void **state)
{
    fgi_best_list list = {.count = 0};
    const fgi_best_rule many = {"val_acc", true, FGI_BEST_MOST};
    (void)state;
    (void)fgi_best_list_offer(&list, &two_least, 5, 1);
    fgi_best_list_enter(&list, &two_least, 1, "a");
    (void)fgi_best_list_offer(&list, &two_least, 6, 2);
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 7, 3), FGI_RANK_NONE);
    fgi_best_list_forget(&list, 2);
    fgi_best_list_enter(&list, &two_least, 3, "b");
    list_is(&list, "5@1:a 7@3:b ");
    list = (fgi_best_list){.count = 0};
    for (int step = 1; step <= FGI_BEST_WAITING; step++) /* all on their way at once */
        assert_int_equal(fgi_best_list_offer(&list, &many, step, step), FGI_RANK_BEST);
    fgi_best_list_enter(&list, &many, 1, "a");
    list_is(&list, "1@1:a ");
}

/* In a checkpoint; another metric or mode has no list. */
static void a_list_is_resumed_with_its_metric_only(void **state)
{
    static const fgi_best_rule others[] = {{"val_acc", false, 2}, {"val_loss", true, 2}};
    fgi_best_list list = {.count = 0}, read;
    json_t *object = json_object();
    (void)state;
    (void)fgi_best_list_offer(&list, &two_least, 5, 1);
    fgi_best_list_enter(&list, &two_least, 1, "a");
    (void)fgi_best_list_offer(&list, &two_least, 4, 2);
    assert_true(fgi_best_list_save(&list, &two_least, object));
    fgi_best_list_load(&read, &two_least, object);
    list_is(&read, "5@1:a ");
    fgi_best_list_enter(&read, &two_least, 2, "b"); /* it was on its way */
    list_is(&read, "4@2:b 5@1:a ");
    for (int i = 0; i < 2; i++) {
        fgi_best_list_load(&read, &others[i], object);
        assert_int_equal(read.count + read.waiting_count, 0);
    }
    json_decref(object);
}

static void load_list(fgi_best_list *out, const fgi_best_rule *rule, const char *text)
{
    json_t *object = fgi_json_load(text, strlen(text), 0, NULL);
    assert_non_null(object);
    fgi_best_list_load(out, rule, object);
    json_decref(object);
}

static const char json_rows[] =
    "\"top\": [{\"name\": \"a\", \"step\": 1, \"value\": 5},"
    "{\"name\": \"b/c\", \"step\": 2, \"value\": 1}, {\"step\": 3, \"value\": 1},"
    "{\"name\": \"d\", \"step\": \"4\", \"value\": 1}, {\"name\": \"e\", \"step\": 5},"
    "{\"name\": \"f\", \"step\": 6, \"value\": null}, {\"name\": 7, \"step\": 7, \"value\": 1},"
    "{\"name\": \"g\", \"step\": 8, \"value\": 6.5}, {\"name\": \"h\", \"step\": 9, \"value\": "
    "4}],"
    "\"waiting\": [{\"step\": 10, \"value\": \"x\"}, {\"step\": 11, \"value\": 3}]}";

/* As JSON: what is saved, and which rows are read. */
static void rows_of_a_list(void **state)
{
    char text[1200];
    fgi_best_list list = {.count = 0};
    json_t *object = json_object();
    (void)state;
    assert_true(fgi_best_list_save(&list, &two_least, object));
    assert_int_equal(json_object_size(object), 2);
    (void)fgi_best_list_offer(&list, &two_least, 5, 1);
    fgi_best_list_enter(&list, &two_least, 1, "a");
    (void)fgi_best_list_offer(&list, &two_least, 4, 2);
    assert_true(fgi_best_list_save(&list, &two_least, object));
    fgi_buf saved = {0};
    assert_true(fgi_json_write(object, JSON_COMPACT, &saved));
    assert_string_equal(saved.data, "{\"monitor\":\"val_loss\",\"mode\":\"min\","
                                    "\"top\":[{\"name\":\"a\",\"step\":1,\"value\":5.0}],"
                                    "\"waiting\":[{\"step\":2,\"value\":4.0}]}");
    fgi_buf_fini(&saved);
    json_decref(object);
    (void)snprintf(text, sizeof text, "{\"monitor\": \"val_loss\", %s", json_rows); /* no mode */
    load_list(&list, &two_least, text);
    list_is(&list, "4@9:h 5@1:a ");
    assert_int_equal(list.waiting_count, 1);
    assert_int_equal(list.waiting[0].step, 11);
    (void)snprintf(text, sizeof text, "{\"mode\": \"min\", %s", json_rows);
    load_list(&list, &two_least, text);
    assert_int_equal(list.count + list.waiting_count, 0);
}

static void a_name_of_a_list_may_be_too_long(void **state)
{
    char text[400], name[FGI_CKPT_NAME_SIZE + 1];
    fgi_best_list list;
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        memset(name, 'n', sizeof name);
        name[FGI_CKPT_NAME_SIZE - 1 + longer] = '\0';
        (void)snprintf(text, sizeof text,
                       "{\"monitor\": \"val_loss\", \"mode\": \"min\", \"top\": [{\"name\": "
                       "\"%s\", \"step\": 1, \"value\": 1}]}",
                       name);
        load_list(&list, &two_least, text);
        assert_int_equal(list.count, longer == 0);
    }
}

/* A value waits until its state or a later one is saved, or too many wait. */
static void values_wait_for_their_checkpoints(void **state)
{
    fgi_best_list list = {.count = 0};
    const fgi_best_rule many = {"val_acc", true, FGI_BEST_MOST};
    (void)state;
    for (int step = 1; step <= FGI_BEST_WAITING + 1; step++)
        (void)fgi_best_list_offer(&list, &many, step, step);
    assert_int_equal(list.waiting_count, FGI_BEST_WAITING);
    fgi_best_list_enter(&list, &many, 1, "a");
    list_is(&list, "");
    fgi_best_list_enter(&list, &many, 3, "b");
    list_is(&list, "3@3:b ");
    assert_int_equal(list.waiting_count, FGI_BEST_WAITING - 2);
    assert_int_equal(list.waiting[0].step, 4);
}

static void a_value_without_a_rank_waits_for_the_next(void **state)
{
    fgi_best_list list = {.count = 0};
    (void)state;
    for (int step = 1; step <= 2; step++) {
        (void)fgi_best_list_offer(&list, &two_least, 5, step);
        fgi_best_list_enter(&list, &two_least, step, step == 1 ? "a" : "b");
    }
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 5, 2), FGI_RANK_TOP); /* once more */
    fgi_best_list_forget(&list, 2);
    for (int step = 3; step <= 5; step++) {
        assert_int_equal(fgi_best_list_offer(&list, &two_least, 5, step), FGI_RANK_NONE);
        assert_int_equal(list.waiting_count, 1);
        assert_int_equal(list.waiting[0].step, step);
    }
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 4.5, 6), FGI_RANK_BEST);
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 4.7, 6), FGI_RANK_BEST); /* again */
    assert_int_equal(fgi_best_list_offer(&list, &two_least, 4.8, 7), FGI_RANK_TOP);
    fgi_best_list_enter(&list, &two_least, 7, "c"); /* 6 was not saved */
    list_is(&list, "4.8@7:c 5@1:a ");
    assert_int_equal(list.waiting_count, 0);
}

static const char *const states[][2] = {
    {"same", "{\"step\": 1, \"results\": {\"val_loss\": 5}}"},
    {"whole", "{\"step\": 1, \"results\": {\"val_loss\": 5.0, \"val_acc\": 1}}"},
    {"no-number", "{\"step\": 1, \"results\": {\"val_loss\": null}}"},
    {"no-metric", "{\"step\": 1, \"results\": {\"val_acc\": 4}}"},
    {"other-step", "{\"step\": 2, \"results\": {\"val_loss\": 5}}"},
    {"no-step", "{\"results\": {\"val_loss\": 5}}"},
    {"smaller", "{\"step\": 1, \"results\": {\"val_loss\": 4.9}}"},
    {"larger", "{\"step\": 1, \"results\": {\"val_loss\": 5.1}}"},
    {"damaged", "{"},
    {"missing", NULL}};

/* Each is in the list as step 1 with the value 5. */
static void a_list_has_only_what_is_on_the_disk(void **state)
{
    enum { ROWS = sizeof states / sizeof states[0] };
    fg_error err = {0};
    char folder[512], path[600];
    const fgi_best_rule many = {"val_loss", false, FGI_BEST_MOST};
    fgi_best_list list = {.count = ROWS};
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    for (int i = 0; i < ROWS; i++) {
        list.entry[i] = (fgi_best_entry){.value = 5, .step = 1};
        (void)snprintf(list.entry[i].name, sizeof list.entry[i].name, "%s", states[i][0]);
        if (states[i][1] == NULL)
            continue;
        fgt_ok(fgi_folder_make(fgt_path(folder, states[i][0]), &err));
        (void)snprintf(path, sizeof path, "%s/%s/state.json", folder, states[i][0]);
        fgt_write(path, states[i][1], strlen(states[i][1]));
    }
    fgt_ok(fgi_best_list_verify(&list, &many, folder, &err));
    list_is(&list, "5@1:same 5@1:whole 5@1:no-number 5@1:no-metric ");
}

/* ---- validations ----------------------------------------------------------------------------- */

/* Those that a fit begins with expecting, less those that it has had. */
static fg_status expect_validations(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    *(int64_t *)self += at->trainer->fit.validations;
    return FG_OK;
}

static fg_status count_validation(void *self, const fg_progress *at, fg_error *err)
{
    (void)at;
    (void)err;
    --*(int64_t *)self;
    return FG_OK;
}

/* Also when it resumes. early_stop uses the number before the first step. */
static void the_number_of_validations_is_known(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.fit_start = expect_validations,
                                        .val_end = count_validation};
    static const struct {
        int64_t max_steps, every_epochs, every_steps;
    } rows[] = {{12, 1, 0}, {12, 3, 0}, {12, FG_NONE, 5}, {12, 2, 4}, {12, 1, 3},
                {7, 2, 0},  {8, 1, 4},  {12, 5, 0},       {12, 4, 0}, {5, FG_NONE, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *folder = fgt_temp_folder();
        for (int64_t steps = 4; steps <= rows[i].max_steps; steps += rows[i].max_steps - 4) {
            fg_error err = {0};
            fg_trainer *trainer = NULL;
            const fg_fit_data data = the_data();
            int64_t count = 0;
            const fg_trainer_options o = {.devices.client = client,
                                          .limits.max_epochs = 4,
                                          .limits.max_steps = steps,
                                          .validation.val_every_epochs = rows[i].every_epochs,
                                          .validation.val_every_steps = rows[i].every_steps,
                                          .checkpoints.run_dir = folder,
                                          .checkpoints.resume = "auto"};
            fgt_ok(toy_create(&o, &trainer, &err));
            fgt_ok(fg_trainer_add_callback(trainer, &ops, &count, &err));
            fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
            assert_int_equal(count, 0);
            fg_trainer_destroy(trainer);
        }
    }
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void a_run_without_a_folder_is_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = create(NULL, NULL, "", (fg_trainer_options){0});
    values = (const double[]){0, 0, 0, 0};
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "checkpoint: without a run_dir, there are no checkpoints to keep");
    fg_trainer_destroy(trainer);
}

/* has_val: there is validation. is_warning: the run continues. */
static const struct {
    const char *monitor, *name, *callback, *options;
    bool has_val, is_warning;
    const char *message;
} names[] = {
    {.monitor = "val_los",
     .has_val = true,
     .message = "trainer: monitor: expected a metric of the validation, one of "
                "val_acc|val_loss, got 'val_los': did you mean 'val_loss'?"},
    {.monitor = "train_f1",
     .has_val = true,
     .message = "trainer: monitor: expected a metric of training, one of "
                "train_acc|train_loss, got 'train_f1'"},
    {.monitor = "trian_loss",
     .message = "trainer: monitor: expected a metric of training, as there is no validation, "
                "one of train_acc|train_loss, got 'trian_loss': did you mean 'train_loss'?"},
    {.monitor = "val_acc", .message = "as there is no validation, one of train_acc|train_loss"},
    {.name = "{epoch}-{step:04d}-{val/loss:.3f}",
     .has_val = true,
     .message = "trainer: checkpoint names: expected a metric, one of train_acc|train_loss|"
                "val_acc|val_loss, got 'val/loss': did you mean 'val_loss'?"},
    {.name = "{epoch}-{train_acc}-{val_loss}",
     .message = "one of train_acc|train_loss, got 'val_loss'"},
    {.callback = "early_stop",
     .options = "{monitor: val_los}",
     .has_val = true,
     .message = "early_stop: monitor: expected a metric of the validation, one of "
                "val_acc|val_loss, got 'val_los': did you mean 'val_loss'?"},
    {.callback = "early_stop",
     .options = "{monitor: val_los, strict: false}",
     .has_val = true,
     .is_warning = true,
     .message = "val_acc|val_loss, got 'val_los': did you mean 'val_loss'?; validations without it "
                "are ignored"},
    {.callback = "checkpoint",
     .options = "{monitor: val_los}",
     .has_val = true,
     .message = "checkpoint: monitor: expected a metric of the validation, one of "},
    {.callback = "checkpoint",
     .options = BY_ACC,
     .message = "checkpoint: monitor: expected a metric of training, as there is no"},
    {.callback = "throughput",
     .options = "{tokens_metric: n}",
     .has_val = true,
     .message = "throughput: tokens_metric: expected a metric of training, one of "
                "train_acc|train_loss, got 'n'"},
    {.name = "{epoch}-{train_acc}-{val_loss}", .has_val = true},
    {.monitor = "val_loss"}};

/* Every name of a metric, before the first step. */
static void names_of_metrics_that_do_not_exist_are_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fg_error err = {0};
        fg_trainer *trainer = NULL;
        fg_fit_data data = the_data();
        data.val = names[i].has_val ? data.val : NULL;
        fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client,
                                                .checkpoints.run_dir = fgt_temp_folder(),
                                                .checkpoints.monitor = names[i].monitor,
                                                .checkpoints.ckpt_name = names[i].name},
                          &trainer, &err));
        if (names[i].callback != NULL)
            fgt_ok(fg_trainer_add_named_callback(
                trainer, fgt_entry(names[i].callback, names[i].options), &err));
        fg_log_set(keep_warning, NULL);
        const fg_status status = fg_trainer_fit(trainer, &task, &data, &err);
        fg_log_set(NULL, NULL);
        const char *message = names[i].message, *said = names[i].is_warning ? warning : err.message;
        assert_int_equal(status, message == NULL || names[i].is_warning ? FG_OK : FG_EINVAL);
        if (message != NULL && strstr(said, message) == NULL)
            fail_msg("'%s' is not in '%s'", message, said);
        assert_int_equal(fg_trainer_result(trainer)->steps, status == FG_OK ? 3 : 0);
        fg_trainer_destroy(trainer);
    }
}

static void a_damaged_state_is_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_callback_ops *ops = fgi_checkpoint_row.ops;
    void *self = create_self("");
    const size_t size = ops->save(self, NULL, 0);
    unsigned char *bytes = calloc(1, size);
    assert_non_null(bytes);
    assert_int_equal(ops->save(self, bytes, size), size);
    fgt_ok(ops->load(self, bytes, size, &err));
    assert_int_equal(ops->load(self, bytes, size - 1, &err), FG_EFORMAT);
    memset(bytes, 255, size);
    assert_int_equal(ops->load(self, bytes, size, &err), FG_EFORMAT);
    free(bytes);
    ops->destroy(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_saved_and_kept),
        cmocka_unit_test(one_that_keeps_nothing_is_warned_of),
        cmocka_unit_test(the_best_is_found_by_its_metric),
        cmocka_unit_test(a_slash_in_a_metric_is_no_folder),
        cmocka_unit_test(a_metric_of_training_is_compared_too),
        cmocka_unit_test(a_resumed_run_continues_the_list),
        cmocka_unit_test(another_metric_has_a_list_of_its_own),
        cmocka_unit_test(a_checkpoint_without_an_entry_gets_it_on_resume),
        cmocka_unit_test(a_run_that_goes_back_forgets_later_ones),
        cmocka_unit_test(a_checkpoint_that_is_gone_has_no_rank),
        cmocka_unit_test(the_list_of_another_run_stays_as_it_is),
        cmocka_unit_test(nothing_to_do_removes_nothing),
        cmocka_unit_test(repeated_steps_are_saved_again),
        cmocka_unit_test(those_of_every_n_are_kept),
        cmocka_unit_test(a_step_of_several_batches_is_saved_once),
        cmocka_unit_test(lines_of_others_remain),
        cmocka_unit_test(a_list_that_cannot_be_read_protects_all),
        cmocka_unit_test(lists_survive_failing_allocations),
        cmocka_unit_test(only_states_that_are_saved_have_a_rank),
        cmocka_unit_test(a_worse_one_takes_the_place_of_one_that_failed),
        cmocka_unit_test(a_list_is_resumed_with_its_metric_only),
        cmocka_unit_test(rows_of_a_list),
        cmocka_unit_test(a_name_of_a_list_may_be_too_long),
        cmocka_unit_test(a_value_without_a_rank_waits_for_the_next),
        cmocka_unit_test(values_wait_for_their_checkpoints),
        cmocka_unit_test(a_list_has_only_what_is_on_the_disk),
        cmocka_unit_test(the_number_of_validations_is_known),
        cmocka_unit_test(a_run_without_a_folder_is_refused),
        cmocka_unit_test(names_of_metrics_that_do_not_exist_are_errors),
        cmocka_unit_test(a_damaged_state_is_refused),
    };
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all);
}
