/* test_train_hooks.c - the order in which callbacks are called, compared with docs/hooks.md, and
 * the effect of their statuses. On the fake plugin, where all events complete immediately.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "toy_place.h"
#include "train/trainer.h"

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

static void a_fit_is_as_docs_say(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = two_epochs;
    options.checkpoints.run_dir = fgt_temp_folder();
    fg_trainer *trainer = create_recorded(&options, &r);
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
    fg_trainer *trainer = create_recorded(&options, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_as_written("accumulate", r.text);
    fg_trainer_destroy(trainer);
}

/* ---- validations ----------------------------------------------------------------------------- */

static struct {
    char steps[128];
    int starts, count, at_epoch; /* at_epoch: when the last epoch ended */
    int64_t expected;
} validated;

static fg_status note_expected(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    validated.steps[0] = '\0';
    validated.starts = validated.count = validated.at_epoch = 0;
    validated.expected = at->trainer->fit.validations;
    return FG_OK;
}

static fg_status note_start(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at, (void)err;
    validated.starts++;
    return FG_OK;
}

static fg_status note_epoch(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at, (void)err;
    validated.at_epoch = validated.count;
    return FG_OK;
}

static fg_status note_validation(void *self, const fg_progress *at, fg_error *err)
{
    const size_t used = strlen(validated.steps);
    (void)self, (void)err;
    (void)snprintf(validated.steps + used, sizeof validated.steps - used, "%lld ",
                   (long long)at->step);
    validated.count++;
    return FG_OK;
}

static const struct {
    int64_t epochs, by_steps, max_epochs, max_steps, more; /* more: epochs of a resumed run */
    const char *steps, *resumed;
} schedules[] = {{1, 0, 2, 0, 0, "3 6 ", ""},     {2, 0, 3, 0, 0, "6 9 ", ""},
                 {2, 0, 4, 0, 0, "6 12 ", ""},    {7, 0, 3, 0, 5, "9 ", "15 "},
                 {-1, 4, 3, 0, 0, "4 8 9 ", ""},  {-1, 3, 3, 0, 0, "3 6 9 ", ""},
                 {1, 2, 2, 0, 0, "2 3 4 6 ", ""}, {5, 0, 9, 4, 0, "4 ", ""},
                 {5, 0, 9, 6, 0, "6 ", ""},       {-1, 0, 2, 0, 3, "", ""},
                 {1, 0, -1, 5, 0, "3 5 ", ""},    {3, 4, 6, 0, 7, "4 8 9 12 16 18 ", "20 21 "}};

/* Three steps an epoch. The last weights are validated, once, unless validation is off, also of a
 * complete run that has not done so; their number is known before the first step. */
static void the_last_weights_are_validated(void **state)
{
    static const fg_callback_ops ops = {
        .fit_start = note_expected, .val_end = note_validation, .epoch_end = note_epoch};
    (void)state;
    const fg_fit_data data = the_data();
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        const char *folder = fgt_temp_folder();
        for (int again = 0; again <= (schedules[i].more > 0); again++) {
            fg_error err = {0};
            fg_trainer *trainer = toy_trainer(
                client,
                &(fg_trainer_options){.limits.max_epochs =
                                          again ? schedules[i].more : schedules[i].max_epochs,
                                      .limits.max_steps = schedules[i].max_steps,
                                      .validation.val_every_epochs =
                                          schedules[i].epochs < 0 ? FG_NONE : schedules[i].epochs,
                                      .validation.val_every_steps = schedules[i].by_steps,
                                      .checkpoints.run_dir = folder,
                                      .checkpoints.resume = again ? "last" : NULL});
            fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
            fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
            fg_trainer_destroy(trainer);
            assert_string_equal(validated.steps, again ? schedules[i].resumed : schedules[i].steps);
            assert_int_equal(validated.expected, validated.count);
            if (schedules[i].max_steps == 6) /* the end of an epoch, of whose line it is a part */
                assert_int_equal(validated.at_epoch, validated.count);
        }
    }
}

/* A run that was complete without validation is validated when it resumes with it. */
static void a_complete_run_is_validated_if_it_was_not(void **state)
{
    static const fg_callback_ops ops = {.fit_start = note_expected, .val_end = note_validation};
    static const char *const expected[] = {"", "6 ", ""};
    (void)state;
    const fg_fit_data data = the_data();
    const char *folder = fgt_temp_folder();
    for (int i = 0; i < 3; i++) {
        fg_error err = {0};
        fg_trainer *trainer = toy_trainer(
            client, &(fg_trainer_options){.limits.max_epochs = 2,
                                          .validation.val_every_epochs = i == 0 ? FG_NONE : 1,
                                          .checkpoints.run_dir = folder,
                                          .checkpoints.resume = "auto"});
        fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(fg_trainer_result(trainer)->nothing_to_do, i == 2);
        fg_trainer_destroy(trainer);
        assert_string_equal(validated.steps, expected[i]);
    }
}

static void a_fit_that_a_hook_ends_is_as_docs_say(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){
        .at_event = "batch_end", .at_count = 1, .status = FG_ESTOPPED, .message = "done"};
    fg_trainer_options options = two_epochs;
    options.checkpoints.run_dir = fgt_temp_folder();
    fg_trainer *trainer = create_recorded(&options, &r);
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_as_written("limit", r.text);
    fg_trainer_destroy(trainer);
}

/* ---- a limit that ends a fit ----------------------------------------------------------------- */

/* How a fit ends at a step. */
typedef struct ending {
    int64_t step;
    int signal; /* 0: a limit; negative: a limit, too */
} ending;

static fg_status end_there(void *self, const fg_progress *at, fg_error *err)
{
    const ending *e = self;
    if (at->step != e->step)
        return FG_OK;
    if (e->signal != 0)
        (void)raise(abs(e->signal));
    if (e->signal <= 0)
        return fgi_fail(err, FG_ESTOPPED, "a limit of the test");
    return FG_OK;
}

/* A fit of three steps an epoch that ends by itself (step 0) or so; returns its last step. */
static int64_t fit_until(const fg_trainer_options *options, ending end)
{
    static const fg_callback_ops notes = {
        .fit_start = note_expected, .val_start = note_start, .val_end = note_validation};
    static const fg_callback_ops ends = {.batch_end = end_there};
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = toy_trainer(client, options);
    fgt_ok(fg_trainer_add_callback(trainer, &notes, NULL, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &ends, &end, &err));
    fgt_ok(fg_trainer_add_named_callback(trainer, "early_stop: {patience: 2, check_finite: false}",
                                         &err));
    const fg_status status = fg_trainer_fit(trainer, &task, &data, &err);
    assert_int_equal(status, end.signal > 0 ? FG_ESTOPPED : FG_OK);
    assert_int_equal(validated.starts, validated.count);
    const int64_t steps = fg_trainer_result(trainer)->steps;
    fg_trainer_destroy(trainer);
    return steps;
}

/* Losses are NaN here, so that early_stop ends the fit after two validations that are due: at step
 * 6, or at step 3 with validations every 2 steps, too. */
static const struct {
    ending end;
    int64_t by_steps, last;      /* last: step of the whole run */
    const char *steps, *resumed; /* validated */
} endings[] = {{{2, 0}, 0, 6, "2 ", "3 6 "},     {{3, 0}, 0, 6, "3 ", "6 "},
               {{4, 0}, 0, 6, "3 4 ", "6 "},     {{2, 0}, 2, 3, "2 ", "3 "},
               {{2, SIGTERM}, 0, 6, "", "3 6 "}, {{3, SIGTERM}, 0, 6, "", "3 6 "},
               {{2, SIGTERM}, 2, 3, "", "2 3 "}, {{3, -SIGTERM}, 0, 6, "", "3 6 "}};

/* The last weights are validated once after a limit, and not after a signal; the run that resumes
 * validates and ends as without the interruption. */
static void a_limit_validates_and_a_signal_does_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        fg_trainer_options options = {.limits.max_epochs = 9,
                                      .validation.val_every_steps = endings[i].by_steps,
                                      .checkpoints.run_dir = fgt_temp_folder(),
                                      .handle_signals = true};
        assert_int_equal(fit_until(&options, endings[i].end), endings[i].end.step);
        assert_string_equal(validated.steps, endings[i].steps);
        options.checkpoints.resume = "last";
        assert_int_equal(fit_until(&options, (ending){0}), endings[i].last);
        assert_string_equal(validated.steps, endings[i].resumed);
    }
}

/* At the end of an epoch that is not validated otherwise. */
static void a_limit_between_validations_counts_as_none(void **state)
{
    (void)state;
    fg_trainer_options options = {.limits.max_epochs = 9,
                                  .validation.val_every_epochs = 2,
                                  .checkpoints.run_dir = fgt_temp_folder()};
    assert_int_equal(fit_until(&options, (ending){3, 0}), 3);
    assert_string_equal(validated.steps, "3 ");
    options.checkpoints.resume = "last";
    assert_int_equal(fit_until(&options, (ending){0}), 12);
    assert_string_equal(validated.steps, "6 12 ");
}

/* Nothing is validated where validation is off, and a run that owes one resumes without it. */
static void a_validation_that_is_off_is_not_owed(void **state)
{
    (void)state;
    fg_trainer_options options = {
        .limits.max_epochs = 2, .checkpoints.run_dir = fgt_temp_folder(), .handle_signals = true};
    assert_int_equal(fit_until(&options, (ending){3, SIGTERM}), 3);
    options.checkpoints.resume = "last";
    options.validation.val_every_epochs = FG_NONE;
    assert_int_equal(fit_until(&options, (ending){5, 0}), 5);
    assert_string_equal(validated.steps, "");
    assert_int_equal(fit_until(&options, (ending){0}), 6);
    assert_string_equal(validated.steps, "");
}

/* Owed after step 1, and no more after step 2, before which validation was off. */
static void a_step_forgets_a_validation_that_is_off(void **state)
{
    (void)state;
    fg_trainer_options options = {.limits.max_epochs = 2,
                                  .validation = {.val_every_epochs = FG_NONE, .val_every_steps = 1},
                                  .checkpoints.run_dir = fgt_temp_folder(),
                                  .handle_signals = true};
    assert_int_equal(fit_until(&options, (ending){1, SIGTERM}), 1);
    options.checkpoints.resume = "last";
    options.validation.val_every_steps = 0;
    assert_int_equal(fit_until(&options, (ending){2, 0}), 2);
    assert_string_equal(validated.steps, "");
    options.validation.val_every_steps = 1;
    assert_int_equal(fit_until(&options, (ending){0}), 4);
    assert_string_equal(validated.steps, "3 4 ");
}

static fg_status raise_there(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    if (at->step == *(const int64_t *)self)
        (void)raise(SIGTERM);
    return FG_OK;
}

/* A signal during the validation at the end of an epoch; the resumed run is without validations. A
 * signal after the last step of an epoch leaves its end to the resumed run. */
static void the_end_of_an_epoch_may_be_left_over(void **state)
{
    static const fg_callback_ops ends[] = {
        {.val_start = raise_there}, {.batch_end = raise_there}, {.batch_end = raise_there}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        fg_trainer_options options = {.limits.max_epochs = 2,
                                      .validation.val_every_epochs = i == 2 ? FG_NONE : 1,
                                      .checkpoints.run_dir = fgt_temp_folder(),
                                      .handle_signals = true};
        for (int64_t at = 3; at >= 0; at -= 3) {
            fg_error err = {0};
            static recorder r;
            const fg_fit_data data = the_data();
            r = (recorder){.at_event = NULL};
            fg_trainer *trainer = create_recorded(&options, &r);
            fgt_ok(fg_trainer_add_callback(trainer, &ends[i], &at, &err));
            assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err),
                             at > 0 ? FG_ESTOPPED : FG_OK);
            assert_int_equal(fg_trainer_result(trainer)->steps, at > 0 ? 3 : 6);
            assert_int_equal(recorder_count(&r, "epoch_end"), at > 0 ? 0 : 2);
            assert_int_equal(recorder_count(&r, "val_end"), 0);
            fg_trainer_destroy(trainer);
            options.checkpoints.resume = "last";
            options.validation.val_every_epochs = FG_NONE;
        }
    }
}

/* Of a run that ends within an epoch. */
static void a_stop_in_the_last_validation_counts(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){.at_event = "val_end", .at_count = 1, .status = FG_ESTOPPED};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = create_recorded(&(fg_trainer_options){.limits.max_steps = 2}, &r);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_string_equal(err.message, "stopped at step 2");
    fg_trainer_destroy(trainer);
}

/* One callback reaches its limit, and another one fails at the same step. */
static void an_error_beside_a_limit_does_not_validate(void **state)
{
    static const fg_callback_ops notes = {.fit_start = note_expected, .val_end = note_validation};
    static const fg_callback_ops ends = {.batch_end = end_there};
    static recorder r = {.at_event = "batch_end", .at_count = 2, .status = FG_EIO};
    ending end = {2, 0};
    fg_error err = {0};
    const fg_fit_data data = the_data();
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 2});
    (void)state;
    fgt_ok(fg_trainer_add_callback(trainer, &notes, NULL, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &ends, &end, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EIO);
    assert_string_equal(err.message, "a callback ended the run");
    assert_string_equal(fg_trainer_result(trainer)->stop_reason, "a limit of the test");
    assert_string_equal(validated.steps, "");
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
    fg_trainer *trainer = create_recorded(&(fg_trainer_options){0}, &r);
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
    fg_trainer *trainer = create_recorded(&options, &first);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    fgt_message_is(err.message, "stopped at step 2; saved in ~/checkpoints/step-000000002");
    fg_trainer_destroy(trainer);
    trainer = create_recorded(&options, &second);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    (void)snprintf(all, sizeof all, "%s\n%s", first.text, second.text);
    assert_as_written("stop, resume", all);
}

/* ---- statuses -------------------------------------------------------------------------------- */

/* The first occurrence of each event, and the step of the checkpoint that an error there leaves; 0:
 * none, because no step was done; -1: the fit has already saved its last one. */
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
        other = (recorder){.at_event = "fit_end", .at_count = 1, .status = FG_EFORMAT}; /* later */
        fg_trainer_options options = two_epochs;
        options.checkpoints.run_dir = fgt_temp_folder();
        fg_trainer *trainer = create_recorded(&options, &r);
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
        /* only fit_end is called */
        assert_int_equal(recorder_count(&r, all_events[i].name), 1);
        assert_int_equal(recorder_count(&r, "fit_end"), 1);
        /* later callbacks are not called for the failed event, only for the end */
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
    fg_trainer *trainer = create_recorded(&two_epochs, &r);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EFORMAT);
    assert_string_equal(err.message, "a callback ended the run");
    const int steps = recorder_count(&r, "batch_end"); /* the next fit calls it again */
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(recorder_count(&r, "batch_end"), 6);
    assert_true(steps < 6);
    fg_trainer_destroy(trainer);
}

static void a_stop_from_any_hook_saves(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int count;
        int64_t step; /* the step at which the run stopped */
    } rows[] = {{"fit_start", 1, 0}, {"epoch_start", 2, 3}, {"batch_end", 5, 5},
                {"log", 1, 2},       {"val_start", 2, 3},   {"val_end", 2, 3},
                {"saved", 2, 4},     {"epoch_end", 1, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        static recorder r;
        r = (recorder){.at_event = rows[i].event, .at_count = rows[i].count, .status = FG_ESTOPPED};
        fg_trainer_options options = two_epochs;
        options.checkpoints.run_dir = fgt_temp_folder();
        fg_trainer *trainer = create_recorded(&options, &r);
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
    fg_trainer *trainer = create_recorded(&two_epochs, &r);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_string_equal(err.message, "stopped at step 2");
    /* and continues from there */
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 6);
    assert_int_equal(recorder_count(&r, "batch_end"), 6);
    fg_trainer_destroy(trainer);
}

static fg_status count_rows(void *self, const fg_progress *at, const fg_predictions *rows,
                            fg_error *err)
{
    (void)at, (void)rows, (void)err;
    ++*(int *)self;
    return FG_OK;
}

/* Hooks receive the rows that the function does, and the end of complete passes only. */
static void a_stop_ends_evaluations(void **state)
{
    (void)state;
    static const char *const at[] = {"eval_start", "batch_end", "eval_end"};
    static const fg_callback_ops counts = {.predicted = count_rows};
    for (int i = 0; i < 3; i++) {
        fg_error err = {0};
        static recorder r;
        int calls = 0, passed = 0;
        r = (recorder){.at_event = at[i], .at_count = 1, .status = FG_ESTOPPED};
        fg_trainer *trainer = create_recorded(&(fg_trainer_options){0}, &r);
        fgt_ok(fg_trainer_add_callback(trainer, &counts, &passed, &err));
        const fg_fit_data data = the_data();
        assert_int_equal(fg_trainer_validate(trainer, &task, &data, &err), FG_ESTOPPED);
        assert_string_equal(err.message, "stopped by a callback");
        assert_int_equal(recorder_count(&r, "batch_end"), i == 0 ? 0 : i == 1 ? 1 : 2);
        assert_int_equal(fg_trainer_result(trainer)->metric_count > 0, i == 2); /* of all data */
        assert_int_equal(recorder_count(&r, "eval_end"), i == 2 ? 1 : 0);
        r = (recorder){.at_event = at[i], .at_count = 1, .status = FG_ESTOPPED};
        assert_int_equal(fg_trainer_predict(trainer, &task, &data, no_rows, &calls, &err),
                         FG_ESTOPPED);
        assert_int_equal(calls, i);
        assert_int_equal(passed, i);
        assert_int_equal(recorder_count(&r, "eval_end"), i == 2 ? 1 : 0);
        fg_trainer_destroy(trainer);
    }
}

static fg_status take_none(void *self, const fg_type *type, const void *rows, int64_t first,
                           fg_error *err)
{
    (void)self, (void)type, (void)rows, (void)first, (void)err;
    return FG_EIO;
}

/* Neither has a pass that fails an end. */
static void a_function_without_words_is_given_some(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){.at_event = NULL};
    fg_trainer *trainer = create_recorded(&(fg_trainer_options){0}, &r);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_predict(trainer, &task, &data, take_none, NULL, &err), FG_EIO);
    assert_string_equal(err.message, "the function that receives the predictions failed");
    assert_int_equal(recorder_count(&r, "eval_end"), 0);
    fg_trainer_destroy(trainer);
}

/* The device fails, too, but that is noticed later. */
static void the_first_error_of_an_evaluation_counts(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){
        .at_event = "batch_end", .at_count = 1, .status = FG_EFORMAT, .message = "the dog ate it"};
    fg_trainer *trainer = create_recorded(&(fg_trainer_options){0}, &r);
    const fg_fit_data data = the_data();
    fake.set("execute_late_error", 13);
    assert_int_equal(fg_trainer_validate(trainer, &task, &data, &err), FG_EFORMAT);
    fake.set("execute_late_error", 0);
    assert_string_equal(err.message, "the dog ate it");
    fg_trainer_destroy(trainer);
}

/* A source tells no number of batches: those that there were are in the last event. */
static void an_evaluation_ends_with_its_batches(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        static recorder r;
        r = (recorder){.at_event = NULL};
        fg_dataset *val = toy_source(9, 2, false);
        fg_trainer *trainer = create_recorded(
            &(fg_trainer_options){.limits.max_steps = 1, .validation.val_every_steps = 1}, &r);
        fg_fit_data data = the_data();
        data.val = val;
        if (i == 0)
            fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        else
            fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_non_null(strstr(r.text, i == 0 ? "eval_end     step 0  epoch 0  batch 3/-1\n"
                                              : "val_end      step 1  epoch 0  batch 3/-1\n"));
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(val);
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
    fg_trainer *trainer = create_recorded(&two_epochs, &r);
    n.trainer = trainer;
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &n, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(n.status, FG_EINVAL);
    assert_string_equal(n.message, "the Trainer is running: a callback must not start it again");
    fg_trainer_destroy(trainer);
}

static void count_step(void *self, const fg_progress *at, fg_optimizer *optimizer)
{
    (void)at, (void)optimizer;
    ++*(int *)self;
}

/* step_start is part of a fit: a callback that follows the epochs must not see those of a search.
 */
static void a_search_starts_no_steps_of_callbacks(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    int steps = 0;
    static const fg_callback_ops ops = {.step_start = count_step};
    fg_trainer *trainer = create_recorded(&two_epochs, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &steps, &err));
    const fg_fit_data data = the_data();
    fg_lr_curve *curve = NULL;
    fgt_ok(fg_tuner_lr_find(trainer, &task, &data,
                            &(fg_lr_find_options){.steps = 20, .segments = 1}, &curve, &err));
    assert_non_null(curve);
    fg_lr_curve_destroy(curve);
    assert_int_equal(steps, 0);
    const int before = recorder_count(&r, "batch_end");
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err)); /* the search is over */
    assert_true(recorder_count(&r, "batch_end") > before);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(steps, 6);
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_fit_is_as_docs_say),
    cmocka_unit_test(an_accumulating_fit_is_as_docs_say),
    cmocka_unit_test(the_last_weights_are_validated),
    cmocka_unit_test(a_complete_run_is_validated_if_it_was_not),
    cmocka_unit_test(a_fit_that_a_hook_ends_is_as_docs_say),
    cmocka_unit_test(a_limit_validates_and_a_signal_does_not),
    cmocka_unit_test(a_validation_that_is_off_is_not_owed),
    cmocka_unit_test(a_step_forgets_a_validation_that_is_off),
    cmocka_unit_test(an_error_beside_a_limit_does_not_validate),
    cmocka_unit_test(a_limit_between_validations_counts_as_none),
    cmocka_unit_test(the_end_of_an_epoch_may_be_left_over),
    cmocka_unit_test(a_stop_in_the_last_validation_counts),
    cmocka_unit_test(evaluations_are_as_docs_say),
    cmocka_unit_test(a_stop_and_a_resume_are_as_docs_say),
    cmocka_unit_test(any_hook_may_end_the_run_with_an_error),
    cmocka_unit_test(a_hook_without_words_is_given_some),
    cmocka_unit_test(a_stop_from_any_hook_saves),
    cmocka_unit_test(a_stop_without_a_folder_is_reported),
    cmocka_unit_test(a_stop_ends_evaluations),
    cmocka_unit_test(a_function_without_words_is_given_some),
    cmocka_unit_test(the_first_error_of_an_evaluation_counts),
    cmocka_unit_test(an_evaluation_ends_with_its_batches),
    cmocka_unit_test(a_hook_may_not_start_its_own_trainer),
    cmocka_unit_test(a_search_starts_no_steps_of_callbacks),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_with_signals, close_all) == 0 ? 0 : 1;
}
