/* test_train_hooks.c - the order in which callbacks are called, compared with docs/hooks.md, and
 * what their statuses do. On the fake plugin, where everything arrives at once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "toy_place.h"

static int open_all(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) /* ignored in background jobs */
        if (sigaction(signals[i], &(struct sigaction){.sa_handler = SIG_DFL}, NULL) != 0)
            return -1;
    return open_place(10, 5);
}

static fg_trainer *create(const fg_trainer_options *options, recorder *r)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = *options;
    o.devices.client = client;
    fgt_ok(fg_trainer_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, r, &err));
    return trainer;
}

/* The list in docs/hooks.md under "<!-- recorded: NAME -->". */
static void assert_as_written(const char *name, const char *recorded)
{
    fg_error err = {0};
    char *text = NULL, mark[64];
    size_t size = 0;
    fgt_ok(fgi_file_read(FGT_SOURCE_DIR "/docs/hooks.md", 1 << 20, &text, &size, &err));
    (void)snprintf(mark, sizeof mark, "<!-- recorded: %s -->\n```\n", name);
    const char *begin = strstr(text, mark);
    assert_non_null(begin);
    begin += strlen(mark);
    const char *end = strstr(begin, "```\n");
    assert_non_null(end);
    if ((size_t)(end - begin) != strlen(recorded) ||
        memcmp(begin, recorded, strlen(recorded)) != 0) {
        print_error("docs/hooks.md, '%s': recorded is\n", name);
        for (const char *line = recorded; *line != '\0'; line += strcspn(line, "\n") + 1)
            print_error("%.*s\n", (int)strcspn(line, "\n"), line);
        fail();
    }
    fgi_free(text);
}

/* ---- order ----------------------------------------------------------------------------------- */

static const fg_trainer_options two_epochs = {.checkpoints.wait_for_saves = true,
                                              .limits.max_epochs = 2,
                                              .output.log_every = 2,
                                              .validation.val_every_steps = 2,
                                              .checkpoints.save_every_steps = 4};

static void a_fit_is_as_docs_say(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = two_epochs;
    options.checkpoints.run_dir = fgt_temp_folder();
    fg_trainer *trainer = create(&options, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_as_written("fit", r.text);
    fg_trainer_destroy(trainer);
    assert_true(r.is_destroyed);
}

static void an_accumulating_fit_is_as_docs_say(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = {.numerics.accumulate_grad_batches = 2, .output.log_every = 1};
    fg_trainer *trainer = create(&options, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_as_written("accumulate", r.text);
    fg_trainer_destroy(trainer);
}

static fg_status no_rows(void *self, const fg_type *type, const void *rows, int64_t first,
                         fg_error *err)
{
    (void)type, (void)rows, (void)first, (void)err;
    ++*(int *)self;
    return FG_OK;
}

static void evaluations_are_as_docs_say(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    int calls = 0;
    fg_trainer *trainer = create(&(fg_trainer_options){0}, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
    fgt_ok(fg_trainer_predict(trainer, &task, &data, no_rows, &calls, &err));
    assert_as_written("validate, predict", r.text);
    assert_int_equal(calls, 2);
    fg_trainer_destroy(trainer);
}

static void a_stop_and_a_resume_are_as_docs_say(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder first, second;
    char all[sizeof first.text + sizeof second.text];
    fg_trainer_options options = two_epochs;
    const fg_fit_data data = the_data();
    options.checkpoints.run_dir = fgt_temp_folder();
    options.checkpoints.resume = "auto";
    options.handle_signals = true;
    first = (recorder){.at_event = "val_start", .at_count = 1, .signal = SIGTERM};
    fg_trainer *trainer = create(&options, &first);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_non_null(strstr(err.message, "stopped at step 2; saved in "));
    assert_non_null(strstr(err.message, "/checkpoints/step-000000002"));
    fg_trainer_destroy(trainer);
    trainer = create(&options, &second);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    (void)snprintf(all, sizeof all, "%s\n%s", first.text, second.text);
    assert_as_written("stop, resume", all);
}

/* ---- statuses -------------------------------------------------------------------------------- */

/* Each event's first time, and the step of the checkpoint that an error there leaves; 0: none, for
 * nothing has been trained, or -1: the fit is over and has its own. */
static const struct {
    const char *name;
    int step;
} all_events[] = {{"fit_start", 0}, {"epoch_start", 0}, {"batch_end", 1},
                  {"log", 2},       {"val_start", 2},   {"val_end", 2},
                  {"saved", 3},     {"epoch_end", 3},   {"fit_end", -1}};
enum { ALL_EVENTS = sizeof all_events / sizeof all_events[0] };

static void any_hook_may_end_the_run_with_an_error(void **state)
{
    (void)state;
    for (int i = 0; i < ALL_EVENTS; i++) {
        fg_error err = {0};
        static recorder r, other;
        r = (recorder){.at_event = all_events[i].name,
                       .at_count = 1,
                       .status = FG_EIO,
                       .message = "the dog ate it"};
        other = (recorder){0};
        fg_trainer_options options = two_epochs;
        options.checkpoints.run_dir = fgt_temp_folder();
        fg_trainer *trainer = create(&options, &r);
        fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &other, &err));
        const fg_fit_data data = the_data();
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EIO);
        assert_int_equal(err.status, FG_EIO);
        char text[sizeof err.message];
        const char *path = fg_trainer_result(trainer)->checkpoint;
        if (all_events[i].step > 0)
            (void)snprintf(text, sizeof text,
                           "the dog ate it\nstopped at step %d; saved in %s/checkpoints/step-%09d",
                           all_events[i].step, options.checkpoints.run_dir, all_events[i].step);
        else
            (void)snprintf(text, sizeof text, "the dog ate it");
        assert_string_equal(err.message, text);
        if (all_events[i].step > 0)
            assert_true(fgi_file_exists(path));
        else
            assert_int_equal(path[0] != '\0', all_events[i].step < 0);
        assert_int_equal(fg_trainer_result(trainer)->status, FG_EIO);
        /* it is told of no more but the end */
        assert_int_equal(recorder_count(&r, all_events[i].name), 1);
        assert_int_equal(recorder_count(&r, "fit_end"), 1);
        /* those that come later are not told of the event that failed, but of the end */
        if (all_events[i].step >= 0)
            assert_int_equal(recorder_count(&other, all_events[i].name), 0);
        assert_int_equal(recorder_count(&other, "fit_end"), all_events[i].step < 0 ? 0 : 1);
        fg_trainer_destroy(trainer);
        assert_true(r.is_destroyed && other.is_destroyed);
    }
}

static void a_hook_without_words_is_given_some(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){.at_event = "log", .at_count = 2, .status = FG_EFORMAT};
    fg_trainer *trainer = create(&two_epochs, &r);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EFORMAT);
    assert_string_equal(err.message, "a callback ended the run");
    fg_trainer_destroy(trainer);
}

static void a_stop_from_any_hook_saves(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int count;
        int64_t step; /* where the run has stopped */
    } rows[] = {{"fit_start", 1, 0}, {"epoch_start", 2, 3}, {"batch_end", 5, 5},
                {"log", 1, 2},       {"val_start", 2, 3},   {"val_end", 2, 3},
                {"saved", 2, 4},     {"epoch_end", 1, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        static recorder r;
        r = (recorder){.at_event = rows[i].event, .at_count = rows[i].count, .status = FG_ESTOPPED};
        fg_trainer_options options = two_epochs;
        options.checkpoints.run_dir = fgt_temp_folder();
        fg_trainer *trainer = create(&options, &r);
        const fg_fit_data data = the_data();
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
        char name[64];
        (void)snprintf(name, sizeof name, "checkpoints/step-%09lld", (long long)rows[i].step);
        const fg_result *result = fg_trainer_result(trainer);
        if (result->steps != rows[i].step || !strstr(result->checkpoint, name))
            fail_msg("%s: stopped at step %lld, saved in '%s'", rows[i].event,
                     (long long)result->steps, result->checkpoint);
        assert_true(fgi_file_exists(result->checkpoint));
        assert_int_equal(result->status, FG_ESTOPPED);
        assert_int_equal(recorder_count(&r, "fit_end"), 1);
        fg_trainer_destroy(trainer);
    }
}

static void a_stop_without_a_folder_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){.at_event = "batch_end", .at_count = 2, .status = FG_ESTOPPED};
    fg_trainer *trainer = create(&two_epochs, &r);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_string_equal(err.message, "stopped at step 2");
    /* and continues from there */
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 6);
    assert_int_equal(recorder_count(&r, "batch_end"), 6);
    fg_trainer_destroy(trainer);
}

static void a_stop_ends_evaluations(void **state)
{
    (void)state;
    static const char *const at[] = {"eval_start", "batch_end", "eval_end"};
    for (int i = 0; i < 3; i++) {
        fg_error err = {0};
        static recorder r;
        int calls = 0;
        r = (recorder){.at_event = at[i], .at_count = 1, .status = FG_ESTOPPED};
        fg_trainer *trainer = create(&(fg_trainer_options){0}, &r);
        const fg_fit_data data = the_data();
        assert_int_equal(fg_trainer_validate(trainer, &task, &data, &err), FG_ESTOPPED);
        assert_string_equal(err.message, "stopped by a callback");
        assert_int_equal(recorder_count(&r, "batch_end"), i == 0 ? 0 : i == 1 ? 1 : 2);
        assert_int_equal(recorder_count(&r, "eval_end"), i == 2 ? 1 : 0);
        r = (recorder){.at_event = at[i], .at_count = 1, .status = FG_ESTOPPED};
        assert_int_equal(fg_trainer_predict(trainer, &task, &data, no_rows, &calls, &err),
                         FG_ESTOPPED);
        assert_int_equal(calls, i);
        fg_trainer_destroy(trainer);
    }
}

/* ---- a Trainer in a hook --------------------------------------------------------------------- */

typedef struct nested {
    fg_trainer *trainer;
    fg_status status;
    char message[128];
} nested;

static fg_status fit_again(void *self, const fg_progress *at, fg_error *err)
{
    nested *n = self;
    fg_error mine = {0};
    const fg_fit_data data = the_data();
    (void)at, (void)err;
    n->status = fg_trainer_validate(n->trainer, &task, &data, &mine);
    (void)snprintf(n->message, sizeof n->message, "%.127s", mine.message);
    return FG_OK;
}

static void a_hook_may_not_start_its_own_trainer(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    nested n = {0};
    static const fg_callback_ops ops = {.log = fit_again};
    fg_trainer *trainer = create(&two_epochs, &r);
    n.trainer = trainer;
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &n, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(n.status, FG_EINVAL);
    assert_string_equal(n.message, "the Trainer is running: a callback must not start it again");
    fg_trainer_destroy(trainer);
}

/* ---- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts;
static void count_interrupt(int number)
{
    (void)number;
    interrupts++;
}

/* A handler of the program's own is asleep during the fit, gets a second signal, and is back. */
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
    fg_trainer *trainer = create(&options, &r);
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
    fg_trainer *trainer = create(&options, &r);
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

/* A handler that somebody else installs while the fit runs is not taken away at its end. */
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
    fg_trainer *trainer = create(&options, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(sigaction(SIGHUP, &(struct sigaction){.sa_handler = SIG_DFL}, &now), 0);
    assert_true(now.sa_handler == count_interrupt);
    fg_trainer_destroy(trainer);
}

/* SIGPIPE, which a closed pipe raises, ends no fit, and is afterwards what it was. */
static void a_closed_pipe_ends_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = two_epochs;
    struct sigaction now;
    options.handle_signals = true;
    r = (recorder){.at_event = "batch_end", .at_count = 2, .signal = SIGPIPE};
    fg_trainer *trainer = create(&options, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 6);
    assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    fg_trainer_destroy(trainer);
    /* a handler of the program's own gets it */
    assert_int_equal(sigaction(SIGPIPE, &(struct sigaction){.sa_handler = count_interrupt}, NULL),
                     0);
    interrupts = 0;
    r = (recorder){.at_event = "batch_end", .at_count = 2, .signal = SIGPIPE};
    trainer = create(&options, &r);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(interrupts, 1);
    assert_int_equal(sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, &now), 0);
    assert_true(now.sa_handler == count_interrupt);
    fg_trainer_destroy(trainer);
}

/* The first signal says what happens now, once; without a folder it says that nothing is saved. */
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
        fg_trainer *trainer = create(&options, &r);
        const fg_fit_data data = the_data();
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
        fg_trainer_destroy(trainer);
        rewind(progress);
        text[fread(text, 1, sizeof text - 1, progress)] = '\0';
        (void)fclose(progress);
        if (folder != NULL)
            (void)snprintf(expected, sizeof expected,
                           "\n%s: finishing the current step, then saving to %s/checkpoints (%s "
                           "again: quit at once)\n",
                           name, folder, name);
        else
            (void)snprintf(expected, sizeof expected,
                           "\n%s: stopping after the current step; without a run_dir nothing is "
                           "saved (%s again: quit at once)\n",
                           name, name);
        const char *said = strstr(text, expected);
        if (said == NULL || strstr(said + 1, expected) != NULL)
            fail_msg("'%s' is not there once:\n%s", expected, text);
    }
}

static fg_tensor interrupted_step(void *self, fg_step *step, const fg_batch *batch)
{
    assert_int_equal(raise(SIGINT), 0); /* the step is traced while its program is made */
    return toy_ops.train_step(self, step, batch);
}

/* While a program is compiled, the first signal says that it waits for the compiler. */
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
    fg_trainer *trainer = create(&options, &r);
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
        fail_msg("'%s' is not there:\n%s", expected, text);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* One of two Trainers, each in a separate thread, on one client and the same data. */
typedef struct runner {
    toy model;
    recorder record;
    fg_status status;
    int64_t steps;
    fg_error err;
} runner;

static pthread_barrier_t barrier;

/* Both fits have begun. */
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
                                        .limits.max_steps = 100000,
                                        .handle_signals = true,
                                        .output.log_every = 7};
    const fg_fit_data data = the_data();
    r->status = fg_trainer_create(&options, &trainer, &r->err);
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

/* One signal stops both, and afterwards the handlers are gone. */
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
        assert_true(runners[i].steps < 100000);
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

/* Without the option the Trainer leaves signals alone. */
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
    fg_trainer *trainer = create(&two_epochs, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(interrupts, 1);
    assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_fit_is_as_docs_say),
    cmocka_unit_test(an_accumulating_fit_is_as_docs_say),
    cmocka_unit_test(evaluations_are_as_docs_say),
    cmocka_unit_test(a_stop_and_a_resume_are_as_docs_say),
    cmocka_unit_test(any_hook_may_end_the_run_with_an_error),
    cmocka_unit_test(a_hook_without_words_is_given_some),
    cmocka_unit_test(a_stop_from_any_hook_saves),
    cmocka_unit_test(a_stop_without_a_folder_is_reported),
    cmocka_unit_test(a_stop_ends_evaluations),
    cmocka_unit_test(a_hook_may_not_start_its_own_trainer),
    cmocka_unit_test(the_second_signal_is_the_program_s),
    cmocka_unit_test(an_ignored_signal_stays_ignored),
    cmocka_unit_test(signals_are_left_alone_by_default),
    cmocka_unit_test(a_handler_of_somebody_else_stays),
    cmocka_unit_test(a_closed_pipe_ends_nothing),
    cmocka_unit_test(a_signal_says_what_it_does),
    cmocka_unit_test(a_signal_while_compiling_says_so),
    cmocka_unit_test(two_trainers_at_once),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
