/* test_train_gap.c - saves that no option asks for are at least a second apart; what is the best
 * and the last state at the end does not depend on it. On the fake plugin, with the clock stopped:
 * the gap is never over, or always.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "toy_place.h"
#include "train/save/saver.h"
#include "train/trainer.h"

/* What a run does at its steps: three in each of four epochs. */
typedef struct story {
    fg_trainer *trainer;
    int over_at;      /* after this step, a second has passed since the last save; 0: never */
    int stop_at;      /* asks to stop after this step; 0: does not */
    int fail_at;      /* the weights are lost after this step; 0: they are not */
    int request_at;   /* requests a save after this step; 0: does not */
    int written_from; /* nothing waits from this step on; 0: the best state does until the end */
    bool is_plain;    /* the Trainer alone offers states, of which it does not know the rank */
} story;

/* The thread of a save has written it, however slow the machine is. */
static void await(fgi_saver *saver)
{
    while (saver->snapshot != NULL && !atomic_load(&saver->is_written))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static fg_status on_batch(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    const story *s = self;
    const int step = (int)at->step;
    fgi_saver *saver = s->trainer->saver;
    await(saver);
    saver->begun_ns = step == s->over_at ? 0 : INT64_MAX / 2;
    if (step > 6 && (s->written_from == 0 || step < s->written_from))
        assert_non_null(saver->waiting);
    if (s->written_from != 0 && step >= s->written_from)
        assert_null(saver->waiting);
    if (step == s->request_at)
        fg_trainer_request_save(s->trainer);
    if (step == s->fail_at)
        fake.set("execute_late_error", 13);
    return step == s->stop_at ? FG_ESTOPPED : FG_OK;
}

/* Ranks the state as a validation would, and offers it. */
static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    static const double losses[] = {5, 4, 7, 6}; /* the first one is saved at once */
    const story *s = self;
    fgi_saver *saver = s->trainer->saver;
    const fgi_best_rule rule = fgi_best_rule_of(&s->trainer->options.checkpoints);
    const fgi_rank rank = fgi_rank_metrics(&s->trainer->cursor.top, &rule, s->trainer->cursor.step,
                                           &(fg_metric){"val_loss", losses[(at->step - 1) / 3]}, 1,
                                           saver->snapshot != NULL || saver->waiting != NULL);
    return rank == FGI_RANK_NONE || s->is_plain ? FG_OK : fgi_saver_offer(saver, rank, err);
}

/* The steps of the folder's checkpoints. */
static const char *kept(const char *folder)
{
    static char text[128];
    bool is_there[100] = {false};
    DIR *stream = opendir(fgt_path(folder, "checkpoints"));
    assert_non_null(stream);
    for (const struct dirent *each; (each = readdir(stream)) != NULL;)
        if (strncmp(each->d_name, "step-", 5) == 0)
            is_there[strtol(each->d_name + 5, NULL, 10)] = true;
    (void)closedir(stream);
    text[0] = '\0';
    for (int i = 0; i < 100; i++)
        if (is_there[i])
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d",
                           text[0] != '\0' ? " " : "", i);
    return text;
}

static int named(const char *folder, const char *pointer)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size;
    fgt_ok(
        fgi_file_read(fgt_path(fgt_path(folder, "checkpoints"), pointer), 100, &text, &size, &err));
    const int step = (int)strtol(text + strlen("step-"), NULL, 10);
    fgi_free(text);
    return step;
}

static const struct {
    story story;
    fg_trainer_checkpoints o;
    const char *action; /* on_divergence [stop] */
    fg_status status;
    int said; /* how often it said that not every epoch is saved */
    const char *kept;
    int best, last;
} rows[] = {
    {.said = 1, .kept = "3 6 12", .best = 6, .last = 12}, /* that of step 6 is written at the end */
    {.story = {.over_at = 8, .written_from = 9},
     .said = 1,
     .kept = "3 6 12",
     .best = 6,
     .last = 12},
    {.story.stop_at = 8, .status = FG_ESTOPPED, .kept = "3 6 8", .best = 6, .last = 8},
    {.story.fail_at = 8, .status = FG_EDEVICE, .kept = "3 6", .best = 6, .last = 6},
    {.story = {.request_at = 8, .written_from = 9},
     .said = 1,
     .kept = "3 6 8 12",
     .best = 6,
     .last = 12},
    {.o.ckpt_every_epochs = FG_NONE, .kept = "3 6 12", .best = 6, .last = 12},
    {.story.written_from = 1, .o.ckpt_every_epochs = 1, .kept = "3 6 9 12", .best = 6, .last = 12},
    {.story.written_from = 1,
     .o.save_top_k = 2,
     .said = 1,
     .kept = "3 6 12",
     .best = 6,
     .last = 12},
    {.story = {.written_from = 1, .is_plain = true},
     .o.wait_for_saves = true,
     .kept = "3 6 9 12",
     .best = 6,
     .last = 12},
    {.story = {.written_from = 1, .is_plain = true},
     .action = "rollback",
     .kept = "0 3 6 9 12",
     .best = 6,
     .last = 12},
};

static void count_skipped(void *self, fg_log_level level, const char *text)
{
    int *count = self;
    *count +=
        level == FG_LOG_INFO && strstr(text, "trainer.ckpt_every_epochs=1 saves each") != NULL;
}

static void what_waits_is_written_in_time(void **state)
{
    static const fg_callback_ops ops = {.batch_end = on_batch, .epoch_end = on_epoch_end};
    const fg_fit_data data = the_data();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        const char *folder = fgt_temp_folder();
        fg_trainer_options o = {.limits.max_epochs = 4,
                                .checkpoints = rows[i].o,
                                .divergence.on_divergence = rows[i].action};
        o.checkpoints.run_dir = folder;
        o.checkpoints.keep_checkpoints = FG_NONE;
        story s = rows[i].story;
        int said = 0;
        fg_log_set(count_skipped, &said);
        s.trainer = toy_trainer(client, &o);
        fgt_ok(fg_trainer_add_callback(s.trainer, &ops, &s, &err));
        assert_int_equal(fg_trainer_fit(s.trainer, &task, &data, &err), rows[i].status);
        fg_trainer_destroy(s.trainer);
        fake.reset();
        fg_log_set(NULL, NULL);
        assert_int_equal(said, rows[i].said);
        if (strcmp(kept(folder), rows[i].kept) != 0 || named(folder, "best") != rows[i].best ||
            named(folder, "last") != rows[i].last)
            fail_msg("row %zu: %s, best %d, last %d", i, kept(folder), named(folder, "best"),
                     named(folder, "last"));
    }
}

/* For batches of 4: three steps per epoch. */
static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_waits_is_written_in_time),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
