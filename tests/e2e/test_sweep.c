/* test_sweep.c - `fulgurite fit --sweep`: each run equals one that is trained alone, a sweep that
 * is interrupted continues, runs that fail do not end it, and compiled programs are shared.
 * Requires the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fit_run.h"

#include <fcntl.h>
#include <fulgurite/recipe.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SHORT "--trainer.max_epochs=2 --model.dropout=0 "

static const json_t *run_at(const json_t *sweep, size_t run)
{
    return json_array_get(json_object_get(sweep, "runs"), run);
}

static const char *words(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text != NULL ? text : "(null)";
}

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* The runs are those that single commands train; the second one compiles nothing. */
static void runs_equal_single_ones(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    const outcome *o = program_gives(0, folder,
                                     "fit digits.yaml --sweep optimizer.lr=1e-3,1e-2 "
                                     "--summary=s.json " SHORT);
    contains(o->out, "finished: 2 of 2 runs; best val_loss 0.");
    contains(o->out, " with lr=1e-2\n\noptimizer.lr  state     epochs  best val_loss ");
    contains(o->out, "\n        1e-2  finished       2        0.");
    contains(o->err, "run 2 of 2: lr=1e-2\n");
    contains(o->err, "to see its curves: run/sweep.html\n");
    json_t *sweep = fit_json(folder, "s.json"), *file = fit_json(folder, "run/sweep.json");
    assert_true(json_equal(sweep, file));
    assert_string_equal(words(sweep, "state"), "finished");
    assert_string_equal(words(sweep, "best"), "lr=1e-2");
    assert_string_equal(words(json_object_get(run_at(sweep, 0), "settings"), "optimizer.lr"),
                        "1e-3");
    const json_t *second = run_at(sweep, 1);
    assert_true(number(run_at(sweep, 0), "compiles") +
                    number(run_at(sweep, 0), "compile_cache_hits") ==
                number(second, "compile_cache_hits"));
    assert_true(number(second, "compiles") == 0);
    (void)program_gives(0, folder,
                        "fit digits.yaml --optimizer.lr=1e-2 --trainer.run_dir=alone "
                        "--summary=a.json " SHORT);
    json_t *alone = fit_json(folder, "a.json");
    assert_true(fit_metric(alone, "val_loss") ==
                number(json_object_get(second, "metrics"), "val_loss"));
    contains(file_text(folder, "run/lr=1e-2/config.yaml"), "lr: 0.01\n");
    contains(file_text(folder, "run/sweep.html"), "best val_loss by optimizer.lr");
    o = program_gives(0, folder, "report run");
    contains(o->out, "finished: 2 of 2 runs; best val_loss");
    json_decref(alone);
    json_decref(file);
    json_decref(sweep);
}

/* Without trainer.run_dir, a sweep has a numbered folder; --resume finds the newest one. */
static void folders_are_numbered(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    static const char *const sweep =
        "fit digits.yaml --sweep optimizer.lr=1e-3,1e-2 --trainer.run_dir=auto --quiet " SHORT;
    char resumed[256];
    (void)program_gives(0, folder, sweep);
    (void)program_gives(0, folder, sweep);
    assert_true(is_there(folder, "runs/digits-sweep-1/lr=1e-3/checkpoints"));
    assert_true(is_there(folder, "runs/digits-sweep-2/lr=1e-2/checkpoints"));
    (void)snprintf(resumed, sizeof resumed, "%s --resume --sweep optimizer.weight_decay=0", sweep);
    (void)program_gives(0, folder, resumed);
    assert_true(is_there(folder, "runs/digits-sweep-2/lr=1e-2,weight_decay=0/checkpoints"));
    assert_false(is_there(folder, "runs/digits-sweep-3"));
}

/* A second sweep in the folder needs --resume or --overwrite, like a second run. */
static void more_values_are_added(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    (void)program_gives(0, folder, "fit digits.yaml --sweep optimizer.lr=1e-3 --quiet " SHORT);
    contains(
        program_gives(2, folder, "fit digits.yaml --sweep optimizer.lr=1e-3,1e-2 --quiet " SHORT)
            ->err,
        "'run' contains an earlier sweep\n--resume continues it (you can add values), --overwrite "
        "replaces it, and --trainer.run_dir=FOLDER puts the new one elsewhere\n");
    char *record = strdup(file_text(folder, "run/sweep.json"));
    contains(
        program_gives(2, folder, "fit digits.yaml --sweep model.hidden=[8] --quiet " SHORT)->err,
        "'run' contains an earlier sweep");
    (void)program_gives(1, folder,
                        "fit digits.yaml --sweep model.hidden=[8] --resume=auto --quiet "
                        "--data.path=nowhere.csv " SHORT);
    (void)program_gives(1, folder,
                        "fit digits.yaml --sweep model.hidden=[8] --overwrite --quiet "
                        "--data.path=nowhere.csv " SHORT);
    assert_string_equal(file_text(folder, "run/sweep.json"), record);
    free(record);
    json_t *first = fit_json(folder, "run/sweep.json");
    char *before = strdup(file_text(folder, "run/lr=1e-3/metrics.csv"));
    const outcome *o = program_gives(
        0, folder,
        "fit digits.yaml --sweep optimizer.lr=1e-3,1e-2 --resume --summary=s.json " SHORT);
    contains(o->err, "nothing left to do: the run is complete");
    contains(o->out, "finished: 2 of 2 runs");
    assert_string_equal(file_text(folder, "run/lr=1e-3/metrics.csv"), before);
    json_t *sweep = fit_json(folder, "s.json");
    assert_true(number(run_at(sweep, 0), "best") > number(run_at(sweep, 1), "best"));
    assert_true(json_equal(run_at(sweep, 0), run_at(first, 0)));
    assert_true(number(run_at(sweep, 0), "epochs") == 2);
    json_decref(first);
    json_decref(sweep);
    free(before);
    /* runs that are not repeated remain in the table */
    o = program_gives(0, folder,
                      "fit digits.yaml --sweep optimizer.lr=3e-3 --sweep model.hidden=[8] "
                      "--trainer.resume=last "
                      "--summary=s.json --quiet " SHORT);
    contains(o->out, "finished: 3 of 3 runs; best val_loss");
    contains(o->out, "\noptimizer.lr  model.hidden  state ");
    contains(o->out, "\n        1e-2             -  finished ");
}

#define SWEPT "runs/digits-sweep-1"

/* A signal saves the run and ends the sweep, which continues at the next sample. SIGUSR1 only
 * saves, and does not end the sweep between two runs. */
static void an_interrupted_sweep_continues(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    const char *const start[] = {"fit",
                                 "digits.yaml",
                                 "--sweep=optimizer.lr=1e-3,1e-2",
                                 "--trainer.max_epochs=60",
                                 "--model.dropout=0",
                                 "--trainer.run_dir=auto",
                                 "--summary=s.json",
                                 NULL};
    const int out = open(fgt_path(folder, "out"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const pid_t child = program_start(folder, out, out, start);
    (void)close(out);
    for (int i = 0; i < 30000 && !is_there(folder, SWEPT "/lr=1e-2/checkpoints/last"); i++) {
        if (strstr(file_text(folder, "out"), "run 2 of 2") != NULL)
            assert_int_equal(kill(child, SIGUSR1), 0);
        sleep_ms(2);
    }
    assert_int_equal(kill(child, SIGTERM), 0);
    const int status = program_wait(child);
    const char *text = file_text(folder, "out");
    if (status == 0)
        return; /* it had just ended */
    assert_int_equal(status, 143);
    contains(text, "stopped: 1 of 2 runs; best val_loss");
    contains(text, "\nto continue: the same command with --resume --trainer.run_dir=" SWEPT "\n");
    json_t *sweep = fit_json(folder, "s.json");
    assert_string_equal(words(run_at(sweep, 1), "state"), "stopped");
    json_decref(sweep);
    (void)program_gives(0, folder,
                        "fit digits.yaml --sweep=optimizer.lr=1e-3,1e-2 --trainer.max_epochs=60 "
                        "--model.dropout=0 --resume --trainer.run_dir=" SWEPT
                        " --summary=s.json --quiet");
    (void)program_gives(0, folder,
                        "fit digits.yaml --optimizer.lr=1e-2 --trainer.max_epochs=60 "
                        "--model.dropout=0 --trainer.run_dir=alone --summary=a.json --quiet");
    json_t *alone = fit_json(folder, "a.json");
    sweep = fit_json(folder, "s.json");
    assert_true(fit_metric(alone, "val_loss") ==
                number(json_object_get(run_at(sweep, 1), "metrics"), "val_loss"));
    json_decref(alone);
    json_decref(sweep);
}

/* A run that diverges is in the table, and the others are trained. */
static void failed_runs_do_not_end_the_sweep(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    const outcome *o = program_gives(1, folder,
                                     "fit digits.yaml --sweep optimizer.lr=1e30,1e29,1e-2 "
                                     "--optimizer.name=sgd --summary=s.json " SHORT);
    contains(o->out, "failed: 1 of 3 runs, 2 failed; best val_loss");
    contains(o->err, "warning: lr=1e30 failed, and the sweep continues: ");
    contains(o->err, "warning: lr=1e29 failed, and the sweep continues: ");
    contains(o->err, "fulgurite fit: lr=1e30: training has diverged"); /* the first failure */
    json_t *sweep = fit_json(folder, "s.json");
    assert_string_equal(words(run_at(sweep, 0), "state"), "failed");
    assert_true(strlen(words(run_at(sweep, 0), "error")) > 20);
    assert_string_equal(words(run_at(sweep, 2), "state"), "finished");
    assert_string_equal(words(sweep, "best"), "lr=1e-2");
    json_decref(sweep);
}

/* All configurations are checked before the first run; nothing is left behind. */
static void mistakes_are_found_before_the_first_run(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *says;
    } rows[] = {
        {"--sweep optimizer.lr=1e-3,much", "optimizer.lr"},
        {"--sweep optimizer.lrr=1e-3,1e-2", "did you mean"},
        {"--sweep model.name=mlp,resnet19", "resnet18"},
        {"--sweep optimizer.lr", "expected KEY=VALUE,VALUE..."},
        {"--sweep optimizer.lr=1 --fast-dev-run", "exclude each other"},
        {"--sweep optimizer.lr=1 --print-config", "cannot be combined"},
        {"--sweep optimizer.lr=1 --resume=best", "expected last or auto"},
        {"--sweep optimizer.lr=1 --data.path=nowhere.csv", "nowhere.csv"},
        {"--sweep optimizer.lr=1,2 --trainer.monitor=val_los", "did you mean 'val_loss'"},
    };
    const char *folder = fit_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "fit digits.yaml --trainer.run_dir=auto %s",
                       rows[i].arguments);
        const outcome *o = program(folder, line);
        if (o->status != 2 && o->status != 1)
            fail_msg("%s: exit status %d", line, o->status);
        contains(o->err, rows[i].says);
        assert_false(is_there(folder, "runs"));
    }
}

/* With the other values, a run has begun. That the page cannot be written comes last. */
static void a_value_that_a_fit_refuses_is_a_failed_run(void **state)
{
    const char *folder = fit_folder();
    (void)state;
    assert_int_equal(shell(folder, "mkdir -p sw/sweep.html"), 0);
    const outcome *o =
        program_gives(1, folder,
                      "fit digits.yaml -q --trainer.max_steps=1 --trainer.run_dir=sw "
                      "--sweep trainer.monitor=val_loss,val_los,val_acc");
    contains(o->err, "warning: monitor=val_los failed, and the sweep continues: ");
    contains(o->err, "\nfulgurite fit: cannot write 'sw/sweep.html': it is a folder\n");
    contains(o->out, "failed: 2 of 3 runs, 1 failed; ");
    assert_false(is_there(folder, "sw/monitor=val_los"));
}

/* Data that cannot be read end the sweep, whichever run has them; the folder was there before. */
static void data_that_cannot_be_read_end_the_sweep(void **state)
{
    const char *folder = fit_folder();
    (void)state;
    assert_int_equal(shell(folder, "mkdir mine"), 0);
    (void)program_gives(1, folder,
                        "fit digits.yaml -q --trainer.run_dir=mine --sweep data.path=nowhere.csv");
    assert_true(is_there(folder, "mine"));
    const outcome *o =
        program_gives(1, folder,
                      "fit digits.yaml -q --trainer.max_steps=1 --trainer.run_dir=mine --sweep "
                      "data.path=" FGT_SOURCE_DIR "/share/data/digits/digits.csv.gz,nowhere.csv,"
                      "elsewhere.csv");
    contains(o->err, "fulgurite fit: cannot open 'nowhere.csv': No such file or directory\n");
    assert_null(strstr(o->err, "the sweep continues"));
    assert_null(strstr(o->err, "elsewhere.csv"));
    contains(o->out, "failed: 1 of 3 runs");
}

static void another_process_in_the_folder(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    assert_int_equal(shell(folder, "mkdir -p run/lr=1e-3 && echo 1 >run/lr=1e-3/lock"), 0);
    const int lock = open(fgt_path(folder, "run/lr=1e-3/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    contains(program_gives(2, folder, "fit digits.yaml --sweep optimizer.lr=1e-2,1e-3")->err,
             "'run/lr=1e-3' is in use by another process that trains");
    assert_false(is_there(folder, "run/lr=1e-2"));
    (void)close(lock);
}

/* `fulgurite stop` with the folder of the sweep, or `last`. */
static void stop_ends_the_sweep(void **state)
{
    (void)state;
    static const char *const names[] = {"runs/digits-sweep-1", "last"};
    for (int i = 0; i < 2; i++) {
        const char *folder = fit_folder();
        const char *const start[] = {"fit",
                                     "digits.yaml",
                                     "--sweep=optimizer.lr=1e-3,1e-2",
                                     "--trainer.max_epochs=100000",
                                     "--trainer.run_dir=auto",
                                     NULL};
        char line[64];
        const int out = open(fgt_path(folder, "out"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        const pid_t child = program_start(folder, out, out, start);
        (void)close(out);
        while (!is_there(folder, "runs/digits-sweep-1/lr=1e-3/metrics.jsonl"))
            sleep_ms(5);
        contains(program_gives(0, folder, "report last")->out, "running: 0 of 2 runs");
        (void)snprintf(line, sizeof line, "stop %s --timeout=60s", names[i]);
        contains(program_gives(0, folder, line)->err, "'runs/digits-sweep-1/lr=1e-3' has stopped");
        assert_int_equal(program_wait(child), 143);
        contains(file_text(folder, "out"), "stopped: 0 of 2 runs");
        contains(program_gives(1, folder, line)->err,
                 i == 0 ? "no run of this sweep is training" : "no run in the folder 'runs'");
    }
}

/* From C, with messages and the folder. */
static void count_messages(void *self, fg_log_level level, const char *text)
{
    int *count = self;
    *count += level == FG_LOG_INFO && strncmp(text, "run ", 4) == 0;
}

static void a_program_can_sweep(void **state)
{
    fg_error err;
    char *sweep_folder = NULL, *report = NULL;
    int runs = 0;
    const char *folder = fit_folder();
    const char *const overrides[] = {"trainer.run_dir=run", "trainer.max_epochs=1"};
    const char *const keys[] = {"optimizer.lr=1e-3,1e-2", "model.hidden=[8],[16]"};
    const fg_recipe_options recipe = {.config = "digits.yaml",
                                      .overrides = overrides,
                                      .override_count = 2,
                                      .message = count_messages,
                                      .message_self = &runs};
    assert_int_equal(chdir(folder), 0);
    fgt_ok(fg_recipe_sweep(&recipe, &(fg_sweep_options){.keys = keys, .key_count = 2},
                           &sweep_folder, &err));
    assert_string_equal(sweep_folder, "run");
    assert_int_equal(runs, 4);
    fgt_ok(fg_report_run(sweep_folder, FG_REPORT_TEXT, &report, &err));
    contains(report, "finished: 4 of 4 runs");
    assert_true(is_there(folder, "run"));
    fg_free(report);
    fg_free(sweep_folder);
    const fg_sweep_options wrong = {.keys = keys, .key_count = 2, .fit.fast_dev_run = true};
    assert_int_equal(fg_recipe_sweep(&recipe, &wrong, &sweep_folder, &err), FG_EINVAL);
    assert_null(sweep_folder);
    const fg_sweep_options newer = {.keys = keys, .key_count = 2, .reserved = {0, 0, 0, 1}};
    assert_int_equal(fg_recipe_sweep(&recipe, &newer, &sweep_folder, &err), FG_EINVAL);
    contains(err.message, "fg_sweep_options");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(runs_equal_single_ones),
    cmocka_unit_test(folders_are_numbered),
    cmocka_unit_test(more_values_are_added),
    cmocka_unit_test(an_interrupted_sweep_continues),
    cmocka_unit_test(failed_runs_do_not_end_the_sweep),
    cmocka_unit_test(a_value_that_a_fit_refuses_is_a_failed_run),
    cmocka_unit_test(data_that_cannot_be_read_end_the_sweep),
    cmocka_unit_test(mistakes_are_found_before_the_first_run),
    cmocka_unit_test(another_process_in_the_folder),
    cmocka_unit_test(stop_ends_the_sweep),
    cmocka_unit_test(a_program_can_sweep),
};
TRAINING_MAIN(tests)
