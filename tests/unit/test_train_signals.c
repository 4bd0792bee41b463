/* test_train_signals.c - signals during a fit: what is saved and printed, which handlers are
 * called, and two Trainers at the same time. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "toy_place.h"
#include "train/progress/progress.h"
#include "train/watch/call.h"
#include "train/trainer.h"

static volatile sig_atomic_t interrupts;
static void count_interrupt(int number)
{
    (void)number;
    interrupts++;
}

/* The program's own handler is replaced during the fit, gets a second signal, and is restored. */
static void the_second_signal_is_the_program_s(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r, second;
    fg_trainer_options options = two_epochs;
    options.handle_signals = true;
    struct sigaction mine = {.sa_handler = count_interrupt}, old, now;
    assert_int_equal(sigaction(SIGINT, &mine, &old), 0);
    interrupts = 0;
    r = (recorder){.at_event = "batch_end", .at_count = 1, .signal = SIGINT};
    second = r;
    fg_trainer *trainer = create_recorded(&options, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &second, &err));
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_int_equal(interrupts, 1);
    assert_int_equal(fg_trainer_result(trainer)->steps, 1);
    assert_int_equal(sigaction(SIGINT, &old, &now), 0);
    assert_true(now.sa_handler == count_interrupt);
    fg_trainer_destroy(trainer);
}

static void an_ignored_signal_stays_ignored(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = two_epochs;
    options.handle_signals = true;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old, now;
    assert_int_equal(sigaction(SIGINT, &ignore, &old), 0);
    r = (recorder){.at_event = "batch_end", .at_count = 1, .signal = SIGINT};
    fg_trainer *trainer = create_recorded(&options, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(sigaction(SIGINT, &old, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
    fg_trainer_destroy(trainer);
}

static fg_status install_mine(void *self, const fg_progress *at, fg_error *err)
{
    const struct sigaction mine = {.sa_handler = count_interrupt};
    (void)self, (void)at, (void)err;
    assert_int_equal(sigaction(SIGHUP, &mine, NULL), 0);
    return FG_OK;
}

/* A handler that other code installs during the fit is not removed at its end. */
static void a_handler_of_somebody_else_stays(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    static const fg_callback_ops ops = {.batch_end = install_mine};
    fg_trainer_options options = two_epochs;
    struct sigaction now;
    options.handle_signals = true;
    r = (recorder){0};
    fg_trainer *trainer = create_recorded(&options, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(sigaction(SIGHUP, &(struct sigaction){.sa_handler = SIG_DFL}, &now), 0);
    assert_true(now.sa_handler == count_interrupt);
    fg_trainer_destroy(trainer);
}

/* SIGPIPE, which a closed pipe raises, does not end a fit; its handler is restored afterwards. */
static void a_closed_pipe_ends_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = two_epochs;
    struct sigaction now;
    options.handle_signals = true;
    r = (recorder){.at_event = "batch_end", .at_count = 2, .signal = SIGPIPE};
    fg_trainer *trainer = create_recorded(&options, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 6);
    assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    fg_trainer_destroy(trainer);
    /* the program's own handler receives it */
    assert_int_equal(sigaction(SIGPIPE, &(struct sigaction){.sa_handler = count_interrupt}, NULL),
                     0);
    interrupts = 0;
    r = (recorder){.at_event = "batch_end", .at_count = 2, .signal = SIGPIPE};
    trainer = create_recorded(&options, &r);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(interrupts, 1);
    assert_int_equal(sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, &now), 0);
    assert_true(now.sa_handler == count_interrupt);
    fg_trainer_destroy(trainer);
}

/* The note of a signal in the second step; the steps may have finished. */
static void put_note(const char *text, const char *name, const char *folder, char *expected,
                     size_t size)
{
    int steps = 0; /* both may have finished */
    char work[64];
    const char *said = strstr(text, ": finishing ");
    if (said != NULL)
        assert_int_equal(sscanf(said, ": finishing %d step", &steps), 1);
    assert_in_range(steps, 0, 2);
    (void)snprintf(work, sizeof work, "finishing %d step%s%s", steps, steps == 1 ? "" : "s",
                   folder != NULL ? ", then saving" : "");
    if (steps == 0)
        (void)snprintf(work, sizeof work, "%s", folder != NULL ? "saving" : "stopping");
    if (folder != NULL)
        (void)snprintf(expected, size, "\n%s: %s to %s/checkpoints (%s again: quit at once)\n",
                       name, work, folder, name);
    else
        (void)snprintf(expected, size,
                       "\n%s: %s; without a run_dir nothing is saved (%s again: quit at once)\n",
                       name, work, name);
}

/* After the first signal, a message explains once what happens now; without a folder, that nothing
 * is saved. */
static void a_signal_says_what_it_does(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    static const char *const names[] = {"Ctrl-C", "SIGTERM", "SIGHUP"};
    for (int i = 0; i < 6; i++) {
        fg_error err = {0};
        static recorder r;
        char expected[512], text[8192] = "";
        const char *folder = i % 2 == 0 ? fgt_temp_folder() : NULL, *name = names[i / 2];
        FILE *progress = tmpfile();
        assert_non_null(progress);
        fg_trainer_options options = two_epochs;
        options.handle_signals = true;
        options.checkpoints.run_dir = folder;
        options.output.progress = progress;
        r = (recorder){.at_event = "batch_end", .at_count = 2, .signal = numbers[i / 2]};
        fg_trainer *trainer = create_recorded(&options, &r);
        const fg_fit_data data = the_data();
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
        fg_trainer_destroy(trainer);
        rewind(progress);
        text[fread(text, 1, sizeof text - 1, progress)] = '\0';
        (void)fclose(progress);
        put_note(text, name, folder, expected, sizeof expected);
        const char *said = strstr(text, expected);
        if (said == NULL || strstr(said + strlen(expected), "quit at once") != NULL)
            fail_msg("'%s' was not found once:\n%s", expected, text);
    }
}

typedef struct watcher {
    char *text;
    size_t size;
    FILE *out;
    bool has_looked;
} watcher;

static int64_t later_ns(void)
{
    static _Atomic int64_t now;
    return atomic_fetch_add(&now, 1000000000) + 1000000000;
}

/* The device holds the last two steps of the epoch: they were launched, and are not shown as
 * done. */
static fg_status look(void *self, const fg_progress *at, fg_error *err)
{
    watcher *w = self;
    char done[32], launched[32];
    (void)err;
    if (at->epoch == 0 && at->batch == at->batches - 2) {
        fake.set("hold", 1);
    } else if (at->epoch == 0 && at->batch == at->batches) {
        (void)fflush(w->out);
        (void)snprintf(done, sizeof done, "] %d/%d ", (int)at->batches - 2, (int)at->batches);
        (void)snprintf(launched, sizeof launched, "] %d/%d ", (int)at->batches, (int)at->batches);
        w->has_looked = strstr(w->text, done) != NULL && strstr(w->text, launched) == NULL;
        fake.set("hold", 0);
    }
    return FG_OK;
}

static void progress_counts_finished_steps(void **state)
{
    static const fg_callback_ops ops = {.batch_end = look};
    static recorder r;
    watcher w = {.text = NULL};
    fg_error err = {0};
    (void)state;
    w.out = open_memstream(&w.text, &w.size);
    assert_non_null(w.out);
    /* nothing waits for the device within an epoch */
    const fg_trainer_options options = {.limits.max_epochs = 1,
                                        .output.log_every = 100,
                                        .output.progress = w.out,
                                        .output.progress_style = "bar",
                                        .validation.val_every_epochs = FG_NONE,
                                        .validation.sanity_val_steps = 0};
    r = (recorder){0};
    fg_trainer *trainer = create_recorded(&options, &r);
    fgi_progress_set_clock(trainer->progress, later_ns);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &w, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    (void)fclose(w.out);
    if (!w.has_looked)
        fail_msg("%s", w.text);
    free(w.text);
}

/* Ctrl-C while the device has more steps to finish than are ever under way; another, in the next
 * fit, at step 3. */
static fg_status interrupt_many(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    for (int i = 0; i < 20 && at->step == 1; i++)
        fgi_signals_steps(1);
    if (at->step == 1 || at->step == 3)
        assert_int_equal(raise(SIGINT), 0);
    return FG_OK;
}

static void at_most_eight_steps_are_counted(void **state)
{
    static const fg_callback_ops ops = {.batch_end = interrupt_many};
    fg_error err = {0};
    static recorder r;
    char text[8192] = "";
    FILE *progress = tmpfile();
    fg_trainer_options options = two_epochs;
    const fg_fit_data data = the_data();
    (void)state;
    assert_non_null(progress);
    options.output.progress = progress;
    options.handle_signals = true;
    r = (recorder){0};
    fg_trainer *trainer = create_recorded(&options, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    fg_trainer_destroy(trainer);
    rewind(progress);
    (void)fread(text, 1, sizeof text - 1, progress);
    (void)fclose(progress);
    const char *first =
        strstr(text, "\nCtrl-C: finishing 8 steps; without a run_dir nothing is saved");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "\nCtrl-C: "));
    assert_null(strstr(first + 1, "\nCtrl-C: finishing 8 steps"));
}

/* The note of a signal, by the number of steps that have begun and not finished. */
static const struct {
    int steps;
    const char *work;
} unfinished[] = {{-1, "stopping"},         {0, "stopping"},          {1, "finishing 1 step"},
                  {2, "finishing 2 steps"}, {8, "finishing 8 steps"}, {9, "finishing 8 steps"}};

static void notes_count_unfinished_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
        char text[512] = "", expected[512];
        FILE *progress = tmpfile();
        assert_non_null(progress);
        fgi_call call = {.is_running = true};
        fgi_signals_catch(&(fg_trainer_options){.output.progress = progress}, &call);
        for (int k = 0; k < abs(unfinished[i].steps); k++)
            fgi_signals_steps(unfinished[i].steps > 0 ? 1 : -1);
        assert_int_equal(raise(SIGINT), 0);
        fgi_signals_release();
        rewind(progress);
        text[fread(text, 1, sizeof text - 1, progress)] = '\0';
        (void)fclose(progress);
        (void)snprintf(expected, sizeof expected,
                       "\nCtrl-C: %s; without a run_dir nothing is saved (Ctrl-C again: quit at "
                       "once)\n",
                       unfinished[i].work);
        assert_string_equal(text, expected);
    }
}

/* Of several fits at the same time, the last one that ends restores the handlers. */
static void the_last_fit_restores_handlers(void **state)
{
    (void)state;
    struct sigaction now;
    fgi_call calls[2] = {{.is_running = true}, {.is_running = true}};
    for (int i = 0; i < 2; i++)
        fgi_signals_catch(&(fg_trainer_options){.seed = 1}, &calls[i]);
    for (int users = 2; users-- > 0;) {
        fgi_signals_release();
        assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
        assert_int_equal(now.sa_handler != SIG_DFL, users > 0);
    }
}

/* Only those fits save that handle signals, and each once. */
static void a_request_is_for_fits_that_handle_signals(void **state)
{
    (void)state;
    for (int handles = 0; handles < 2; handles++) {
        const fg_trainer_options o = {.handle_signals = handles != 0};
        fgi_call call = {.is_running = true};
        fgi_signals_catch(&o, &call);
        assert_false(fgi_save_requested(&o, &call));
        assert_int_equal(raise(SIGUSR1), 0);
        assert_int_equal(fgi_save_requested(&o, &call), handles);
        assert_false(fgi_save_requested(&o, &call));
        fgi_signals_release();
    }
}

static fg_status is_ignored(void *self, const fg_progress *at, fg_error *err)
{
    struct sigaction now;
    (void)self, (void)at, (void)err;
    assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
    return FG_OK;
}

/* Also the signal that requests a save. */
static void an_ignored_request_stays_ignored(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.batch_end = is_ignored};
    fg_error err = {0};
    fg_trainer_options options = two_epochs;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    const fg_fit_data data = the_data();
    options.handle_signals = true;
    assert_int_equal(sigaction(SIGUSR1, &ignore, &old), 0);
    fg_trainer *trainer = toy_trainer(client, &options);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
}

static fg_tensor interrupted_step(void *self, fg_step *step, const fg_batch *batch)
{
    assert_int_equal(raise(SIGINT), 0); /* the step is traced as a part of compilation */
    return toy_ops.train_step(self, step, batch);
}

/* During compilation, the message after the first signal says that fit waits for the compiler. */
static void a_signal_while_compiling_says_so(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    char text[8192] = "", expected[512];
    fg_task_ops ops = toy_ops;
    ops.train_step = interrupted_step;
    const fg_task compiling = {.name = "toy", .self = &model, .ops = &ops};
    const char *folder = fgt_temp_folder();
    FILE *progress = tmpfile();
    assert_non_null(progress);
    fg_trainer_options options = two_epochs;
    options.handle_signals = true;
    options.checkpoints.run_dir = folder;
    options.output.progress = progress;
    r = (recorder){0};
    fg_trainer *trainer = create_recorded(&options, &r);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &compiling, &data, &err), FG_ESTOPPED);
    fg_trainer_destroy(trainer);
    rewind(progress);
    text[fread(text, 1, sizeof text - 1, progress)] = '\0';
    (void)fclose(progress);
    (void)snprintf(expected, sizeof expected,
                   "\nCtrl-C: finishing the current compilation, then saving to %s/checkpoints "
                   "(Ctrl-C again: quit at once)\n",
                   folder);
    if (strstr(text, expected) == NULL)
        fail_msg("'%s' was not found:\n%s", expected, text);
}

/* SIGUSR1 saves after the step in which it arrives, and nothing else changes. */
static void sigusr1_saves_and_goes_on(void **state)
{
    (void)state;
    static const int64_t raised_at[] = {2, 3}; /* within an epoch, and in its last step */
    for (size_t i = 0; i < 2; i++) {
        fg_error err = {0};
        static recorder r;
        char name[64];
        const char *folder = fgt_temp_folder();
        struct sigaction now;
        fg_trainer_options options = two_epochs;
        options.handle_signals = true;
        options.checkpoints.run_dir = folder;
        options.checkpoints.ckpt_every_epochs = FG_NONE;
        options.checkpoints.ckpt_every_steps = 0;
        options.checkpoints.keep_checkpoints = FG_NONE;
        r = (recorder){.at_event = "batch_end", .at_count = (int)raised_at[i], .signal = SIGUSR1};
        fg_trainer *trainer = create_recorded(&options, &r);
        const fg_fit_data data = the_data();
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(fg_trainer_result(trainer)->steps, 6);
        for (int64_t step = 1; step <= 6; step++) {
            (void)snprintf(name, sizeof name, "checkpoints/step-%09lld", (long long)step);
            const bool is_saved = access(fgt_path(folder, name), F_OK) == 0;
            if (is_saved != (step == raised_at[i] || step == 6))
                fail_msg("step %lld: saved %d", (long long)step, is_saved);
        }
        assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
        assert_true(now.sa_handler == SIG_DFL);
        fg_trainer_destroy(trainer);
    }
}

/* As a stop, if the options say so; a second fit is not stopped by it again. */
static void sigusr1_may_stop_a_fit(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = two_epochs;
    options.handle_signals = options.stops_on_usr1 = true;
    options.checkpoints.run_dir = fgt_temp_folder();
    r = (recorder){.at_event = "batch_end", .at_count = 2, .signal = SIGUSR1};
    fg_trainer *trainer = create_recorded(&options, &r);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_int_equal(fg_trainer_result(trainer)->stop_signal, SIGUSR1);
    assert_int_equal(fg_trainer_result(trainer)->steps, 2);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->stop_signal, 0);
    assert_int_equal(fg_trainer_result(trainer)->steps, 6);
    fg_trainer_destroy(trainer);
}

static fg_status wait_long(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at, (void)err;
    (void)nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    return FG_OK;
}

/* A time limit ends a fit normally between two steps; a fit that resumes has it again. */
static void a_time_limit_ends_a_fit(void **state)
{
    fg_error err = {0};
    static recorder r;
    static const fg_callback_ops waiting = {.batch_end = wait_long};
    fg_trainer_options options = two_epochs;
    options.limits.max_time = 0.25;
    options.checkpoints.run_dir = fgt_temp_folder();
    r = (recorder){0};
    fg_trainer *trainer = create_recorded(&options, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &waiting, NULL, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_in_range(fg_trainer_result(trainer)->steps, 0, 1);
    assert_string_equal(fg_trainer_result(trainer)->stop_reason,
                        "max_time: the time limit of 0.25 s is reached");
    if (fg_trainer_result(trainer)->steps > 0) {
        assert_true(fg_trainer_result(trainer)->checkpoint[0] != '\0');
        assert_non_null(strstr(r.text, "val_end"));
    }
    fg_trainer_destroy(trainer);
    options.checkpoints.resume = "auto";
    options.limits.max_time = 1e6;
    trainer = create_recorded(&options, &r);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 6);
    assert_string_equal(fg_trainer_result(trainer)->stop_reason, "");
    fg_trainer_destroy(trainer);
    options.limits.max_time = -1;
    assert_int_equal(toy_create(&options, &trainer, &err), FG_EINVAL);
    fgt_message_is(
        err.message,
        "trainer.max_time: expected a duration such as 90s, 8h30m or 00:08:30:00, got '-1s'");
}

static fg_status limit_soon(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 2)
        ((fg_trainer *)at->trainer)->call.deadline_ns = fgi_now_ns() + 200000000;
    return FG_OK;
}

static fg_status wait_for_limit(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    while (fgi_now_ns() < at->trainer->call.deadline_ns)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return FG_OK;
}

/* A validation that has begun is completed, and not repeated. */
static void a_time_limit_does_not_end_a_validation(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    static const fg_callback_ops limits = {.batch_end = limit_soon, .val_start = wait_for_limit};
    fg_trainer *trainer = create_recorded(&two_epochs, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &limits, NULL, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 2);
    assert_int_equal(recorder_count(&r, "val_start"), 1);
    assert_int_equal(recorder_count(&r, "val_end"), 1);
    fg_trainer_destroy(trainer);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* One of two Trainers, in separate threads, with one client and the same data. */
typedef struct runner {
    toy model;
    recorder record;
    fg_status status;
    int64_t steps;
    fg_error err;
} runner;

static pthread_barrier_t barrier;

/* Both fits have started. */
static fg_status meet(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at, (void)err;
    (void)pthread_barrier_wait(&barrier);
    return FG_OK;
}

static void *run_in_thread(void *self)
{
    runner *r = self;
    static const fg_callback_ops meeting = {.fit_start = meet};
    const fg_task mine = {.name = "toy", .self = &r->model, .ops = &toy_ops};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_steps = 100000000,
                                        .handle_signals = true,
                                        .output.log_every = 7};
    const fg_fit_data data = the_data();
    r->status = toy_create(&options, &trainer, &r->err);
    if (r->status == FG_OK)
        r->status = fg_trainer_add_callback(trainer, &recorder_ops, &r->record, &r->err);
    if (r->status == FG_OK)
        r->status = fg_trainer_add_callback(trainer, &meeting, NULL, &r->err);
    if (r->status == FG_OK)
        r->status = fg_trainer_fit(trainer, &mine, &data, &r->err);
    if (trainer != NULL)
        r->steps = fg_trainer_result(trainer)->steps;
    fg_trainer_destroy(trainer);
    return NULL;
}

/* One signal stops both; afterwards the handlers are removed. */
static void two_trainers_at_once(void **state)
{
    (void)state;
    static runner runners[2];
    pthread_t threads[2];
    struct sigaction now;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    /* the second one raises it, in its 300th step */
    runners[1].record = (recorder){.at_event = "batch_end", .at_count = 300, .signal = SIGTERM};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_in_thread, &runners[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(runners[i].status, FG_ESTOPPED);
        assert_true(runners[i].steps < 100000000);
    }
    assert_int_equal(runners[1].steps, 300);
    assert_int_equal(pthread_barrier_destroy(&barrier), 0);
    assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
}

static fg_status find_defaults(void *self, const fg_progress *at, fg_error *err)
{
    static const int numbers[] = {SIGINT, SIGHUP, SIGPIPE};
    struct sigaction now;
    (void)self, (void)at, (void)err;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sigaction(numbers[i], NULL, &now), 0);
        assert_true(now.sa_handler == SIG_DFL);
    }
    return FG_OK;
}

/* Without the option, the Trainer does not handle signals. */
static void signals_are_left_alone_by_default(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    struct sigaction mine = {.sa_handler = count_interrupt}, old;
    assert_int_equal(sigaction(SIGTERM, &mine, &old), 0);
    interrupts = 0;
    r = (recorder){.at_event = "batch_end", .at_count = 1, .signal = SIGTERM};
    static const fg_callback_ops ops = {.batch_end = find_defaults};
    fg_trainer *trainer = create_recorded(&two_epochs, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(interrupts, 1);
    assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_second_signal_is_the_program_s),
    cmocka_unit_test(an_ignored_signal_stays_ignored),
    cmocka_unit_test(an_ignored_request_stays_ignored),
    cmocka_unit_test(notes_count_unfinished_steps),
    cmocka_unit_test(the_last_fit_restores_handlers),
    cmocka_unit_test(a_request_is_for_fits_that_handle_signals),
    cmocka_unit_test(signals_are_left_alone_by_default),
    cmocka_unit_test(a_handler_of_somebody_else_stays),
    cmocka_unit_test(a_closed_pipe_ends_nothing),
    cmocka_unit_test(a_signal_says_what_it_does),
    cmocka_unit_test(progress_counts_finished_steps),
    cmocka_unit_test(at_most_eight_steps_are_counted),
    cmocka_unit_test(a_signal_while_compiling_says_so),
    cmocka_unit_test(sigusr1_saves_and_goes_on),
    cmocka_unit_test(sigusr1_may_stop_a_fit),
    cmocka_unit_test(a_time_limit_ends_a_fit),
    cmocka_unit_test(a_time_limit_does_not_end_a_validation),
    cmocka_unit_test(two_trainers_at_once),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_with_signals, close_all) == 0 ? 0 : 1;
}
