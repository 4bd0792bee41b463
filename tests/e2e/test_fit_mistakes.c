/* test_fit_mistakes.c - errors of fulgurite fit: invalid configurations, failures, a device that
 * does not respond.
 *
 * SPDX-License-Identifier: Apache-2.0 */

#include <sys/stat.h>
#include "fit_run.h"
#include "row_names.h"

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes_name_the_place(void **state)
{
    const struct {
        int status;
        const char *arguments, *message;
    } cases[] = {
        {2, "fit", "fulgurite fit: data.format must be given: "},
        {2, "fit", row_names(FG_REGISTRY_FORMAT)},
        {2, "fit nosuch.yaml",
         "fulgurite fit: cannot open 'nosuch.yaml': No such file or directory\n"},
        {2, "fit digits.yaml --trainer.max_epoch=3",
         "fulgurite fit: unknown option '--trainer.max_epoch': did you mean "
         "'--trainer.max_epochs'?"},
        {2, "fit bad.yaml",
         "fulgurite fit: bad.yaml:2:3: unknown key 'trainer.epochs': did you mean "
         "'trainer.max_epochs'?\n"},
        {2, "fit digits.yaml --trainer.global_batch_size=8",
         "fulgurite fit: --trainer.global_batch_size: "
         "trainer.batch_size is "
         "given too: set only one of them\n"},
        {2, "fit digits.yaml --trainer.loggers=[wandb]",
         "unknown logger 'wandb': expected one of csv|jsonl|tensorboard|mlflow\n"},
        {2, "fit digits.yaml --model.hidden=[]",
         "fulgurite fit: --model.hidden: expected a list of 1 to 16 integers"},
        {2, "fit digits.yaml --model.classes=3",
         "fulgurite fit: --model.classes is 3, but the data have 10 classes\n"},
        {2, "fit digits.yaml --trainer.max_epochs=-1 --schedule.name=onecycle",
         "a schedule requires trainer.max_epochs or trainer.max_steps\n"},
        {2, "validate digits.yaml --data.val_fraction=0",
         "fulgurite validate: no data to validate: set data.val or "
         "data.val_fraction\n"},
        {2, "validate digits.yaml --data.val_fraction=0 '--data.val=\"\"'",
         "fulgurite validate: no data to validate: set data.val or "
         "data.val_fraction\n"},
        {2, "test digits.yaml --data.val_fraction=0",
         "fulgurite test: no data to test: set data.test or data.val_fraction\n"},
        {1, "validate digits.yaml",
         "fulgurite validate: no 'last' checkpoint: 'run/checkpoints' "
         "does not exist\n"},
        {1, "fit digits.yaml --data.path=/nope", "fulgurite fit: cannot open '/nope'"},
        {1, "fit digits.yaml --trainer.resume=/nope", "fulgurite fit: no checkpoint '/nope'"},
        {2, "validate digits.yaml --trainer.run_dir=auto",
         "fulgurite validate: no weights: give a run's folder or a checkpoint, --ckpt=PATH, or "
         "model.weights\n"},
        {2, "fit digits.yaml --trainer.callbacks=timer",
         "trainer.callbacks.timer.duration: expected a duration such as 90s"},
        {2, "fit digits.yaml --trainer.callbacks=[ema,ema]",
         "fulgurite fit: --trainer.callbacks: there already is a callback 'ema'"},
        {2, "fit digits.yaml --print-schedule --trainer.callbacks=gradient_accumulation",
         "trainer.callbacks.gradient_accumulation.schedule: expected batches for some epochs"},
        {2, "fit digits.yaml '--trainer.loggers=mlflow: {uri: ftp://x}'",
         "fulgurite fit: --trainer.loggers: expected the address of an MLflow server"},
        {2, "validate digits.yaml --draw=perhaps",
         "fulgurite validate: --draw is 'perhaps': expected auto|always|never\n"},
    };
    const char *folder = fit_folder();
    fgt_write(fgt_path(folder, "bad.yaml"), "trainer:\n  epochs: 3\n", 21);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        contains(program_gives(cases[i].status, folder, cases[i].arguments)->err, cases[i].message);
}

/* Metrics that no step logs are found before the first step, and nothing is trained. */
static void metrics_that_do_not_exist(void **state)
{
    static const struct {
        int status;
        const char *arguments, *message;
    } cases[] = {
        {2, "fit digits.yaml --trainer.monitor=val_los",
         "fulgurite fit: trainer: monitor: expected a metric of the validation, one of "
         "val_acc|val_loss|val_f1|val_precision|val_recall, got 'val_los': did you mean "
         "'val_loss'?\n"},
        {2, "fit digits.yaml '--trainer.ckpt_name={epoch}-{val/loss}'",
         "got 'val/loss': did you mean 'val_loss'?\n"},
        {2, "fit digits.yaml '--trainer.callbacks=early_stop: {monitor: val_los}'",
         "fulgurite fit: early_stop: monitor: expected a metric of the validation, one of "},
        {2, "fit digits.yaml '--trainer.callbacks=checkpoint: {monitor: train_f1}'",
         "fulgurite fit: checkpoint: monitor: expected a metric of training, one of "},
    };
    const char *folder = fit_folder();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        contains(program_gives(cases[i].status, folder, cases[i].arguments)->err, cases[i].message);
    assert_false(is_there(folder, "run/checkpoints/last"));
}

#define ONE  "fit digits.yaml --trainer.max_epochs=1 --trainer.limit_train_batches=2 "
#define MORE "fit digits.yaml --resume --trainer.limit_train_batches=2 "
#define OTHERS                                                                                     \
    "--schedule.name=onecycle --optimizer.lr=0.02 --loss.label_smoothing=0.1 "                     \
    "--trainer.precision=bf16-mixed --trainer.batch_size=32 --data.augment=random_flip "           \
    "--model.dropout=0.2 "

/* Settings that may have been changed by mistake; the same again are not. */
static void what_differs_at_a_resume_is_noted(void **state)
{
    const char *folder = fit_folder();
    (void)program_gives(0, folder, ONE "--schedule.name=onecycle");
    const outcome *o = program_gives(0, folder, MORE OTHERS "--trainer.max_epochs=2");
    contains(o->err, "run/checkpoints/step-000000002 was trained with different settings:\n"
                     "  model.dropout: 0.1 in the checkpoint, 0.2 by --model.dropout\n"
                     "  loss.label_smoothing: 0 in the checkpoint, 0.1 by --loss.label_smoothing\n"
                     "  data.augment: [] in the checkpoint, [random_flip] by --data.augment\n"
                     "  optimizer.lr: 0.01 in the checkpoint, 0.02 by --optimizer.lr\n"
                     "  trainer.precision: 32-true in the checkpoint, bf16-mixed by "
                     "--trainer.precision\n");
    contains(o->err, "step-000000002 was trained with batches of 64, but the run has batches of "
                     "32\n");
    contains(o->err, "warning: the learning-rate schedule was planned for 2 steps and now has 4: "
                     "training continues with a learning rate of ");
    o = program_gives(0, folder, MORE OTHERS "--trainer.max_epochs=3 --trainer.callbacks=[ema]");
    assert_null(strstr(o->err, "was trained with"));
    contains(
        o->err,
        "state variables of the module that it does not contain keep their initial values: 'ema.");
}

static char screen[32768]; /* what a terminal shows */

static void set_terminal(const char *term, const char *no_color)
{
    assert_int_equal(setenv("TERM", term, 1), 0);
    assert_int_equal(setenv("NO_COLOR", no_color, 1), 0);
}

/* Where the terminal has colors, unless the user says otherwise. */
static void errors_are_red_on_a_terminal(void **state)
{
    static const struct {
        const char *term, *no_color, *arguments;
        bool has_color;
    } rows[] = {{"xterm", "", "", true},
                {"xterm", "1", "", false},
                {"xterm", "", "--color=never", false},
                {"xterm", "1", "--color=always", true},
                {"dumb", "", "", false},
                {"dumb", "", "--color=always", true}};
    char arguments[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_terminal(rows[i].term, rows[i].no_color);
        (void)snprintf(arguments, sizeof arguments, "fit --trainer.epochs=3 %s", rows[i].arguments);
        assert_int_equal(program_on_terminal(NULL, 80, "", arguments, screen, sizeof screen), 2);
        assert_int_equal(strstr(screen, "\x1b[1;31mfulgurite fit:\x1b[0m ") != NULL,
                         rows[i].has_color);
        assert_int_equal(strchr(screen, '\x1b') != NULL, rows[i].has_color);
    }
    set_terminal("", "");
}

/* Also where little has room. */
static void the_best_value_is_green_on_a_terminal(void **state)
{
    const char *folder = fit_folder(), *arguments = ONE "--overwrite --trainer.monitor=val_acc";
    (void)state;
    set_terminal("xterm", "");
    assert_int_equal(program_on_terminal(folder, 100, "", arguments, screen, sizeof screen), 0);
    contains(screen, "\x1b[1;32macc 0.");
    set_terminal("xterm", "1");
    assert_int_equal(program_on_terminal(folder, 20, "", arguments, screen, sizeof screen), 0);
    contains(screen, "epoch 1/1");
    assert_null(strchr(screen, '\x1b'));
    set_terminal("", "");
}

static void any_path_in_checkpoints_is_a_checkpoint(void **state)
{
    const char *folder = fit_folder();
    (void)program_gives(0, folder, ONE "'--trainer.callbacks=checkpoint: {monitor: val_acc}'");
    const outcome *o = program_gives(0, folder, "validate run/checkpoints/best-val_acc");
    contains(o->err, "checkpoint: run/checkpoints/step-000000002 (run run, best-val_acc, step 2, ");
    o = program_gives(1, folder, "validate run/checkpoints/step-77");
    contains(o->err, "'run/checkpoints/step-77'");
    o = program_gives(2, folder,
                      "validate old-checkpoints/step-77"); /* is read as a configuration */
    contains(o->err, "cannot open 'old-checkpoints/step-77'");
}

static void a_fit_without_validation_is_noted(void **state)
{
    const char *folder = fit_folder();
    const char *none = "note: there will be no validation, although there are data for it: ";
    const outcome *o = program_gives(0, folder, ONE "--trainer.val_every_epochs=0");
    contains(o->err, none);
    contains(o->err, "trainer.val_every_epochs and trainer.val_every_steps are 0\n");
    assert_true(is_there(folder, "run/checkpoints/best")); /* by train_loss */
    o = program_gives(0, folder,
                      ONE "--overwrite --trainer.limit_val_batches=0 --trainer.monitor=val_loss "
                          "--trainer.callbacks=early_stop");
    contains(o->err, none);
    contains(o->err, "trainer.limit_val_batches is 0\n");
    contains(o->err, "--trainer.monitor: val_loss is a validation metric, but there will be no "
                     "validation, so there will be no best checkpoint\n");
    contains(o->err, "warning: early_stop cannot end this run: it has no validation\n");
}

static void a_failure_has_a_summary_too(void **state)
{
    const char *folder = fit_folder();
    (void)program_gives(1, folder, "fit digits.yaml --data.path=/nope --summary=s.json");
    json_t *s = fit_json(folder, "s.json");
    assert_string_equal(json_string_value(json_object_get(s, "status")), "failed");
    contains(json_string_value(json_object_get(s, "error")), "/nope");
    assert_true(json_is_null(json_object_get(s, "device")));
    assert_true(json_is_null(json_object_get(json_object_get(s, "step_ms"), "median")));
    json_decref(s);
}

/* Relative paths start at the working directory; the error explains that. */
static void where_relative_paths_start(void **state)
{
    const char *folder = fit_folder();
    const char rows[] = "a,b,y\n1,2,0\n2,1,1\n3,4,0\n4,3,1\n5,6,0\n6,5,1\n";
    assert_int_equal(mkdir(fgt_path(folder, "sub"), 0777), 0);
    fgt_write(fgt_path(folder, "sub/rows.csv"), rows, strlen(rows));
    const char config[] = "data: {format: csv, path: rows.csv}\ntrainer: {batch_size: 32}\n";
    fgt_write(fgt_path(folder, "sub/run.yaml"), config, strlen(config));
    const outcome *o = program_gives(1, folder, "fit sub/run.yaml --fast-dev-run");
    contains(o->err, "\ndata.path is relative to the working directory, /");
    contains(o->err, ", not to the configuration's folder: use --data.path=sub/rows.csv\n");
    o = program_gives(0, folder, "fit sub/run.yaml --fast-dev-run --data.path=sub/rows.csv");
    contains(o->err, "note: a batch has room for 32 samples, but there are only 6 for training: ");
    o = program_gives(0, folder,
                      "fit sub/run.yaml --fast-dev-run --data.path=sub/rows.csv "
                      "--trainer.batch_size=6");
    assert_null(strstr(o->err, "note: a batch"));
    o = program_gives(1, folder, "fit sub/run.yaml --data.path=sub/nowhere.csv");
    assert_null(strstr(o->err, "configuration's folder"));
}

static void trying_a_run_out(void **state)
{
    const char *folder = fit_folder();
    const outcome *o = program_gives(
        0, folder,
        "fit digits.yaml --fast-dev-run --trainer.callbacks='checkpoint: {every_n_steps: 1}'");
    contains(o->err, "fast dev run: no error; nothing was saved\n");
    contains(o->out, "val_loss\t");
    assert_false(is_there(folder, "run"));
    o = program_gives(0, folder, "fit digits.yaml --trainer.overfit_batches=3 --progress=none");
    assert_null(strstr(o->err, "epoch 1"));
    (void)program_gives(0, folder,
                        "fit digits.yaml --trainer.overfit_batches=3 --summary=s.json "
                        "--trainer.run_dir=over --progress=plain");
    json_t *s = fit_json(folder, "s.json");
    assert_int_equal(json_integer_value(json_object_get(s, "steps")), 9);
    json_decref(s);
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.sanity_val_steps=0 "
                        "--trainer.run_dir=none --trainer.max_epochs=1");
    char *without = file_text(folder, "none/metrics.jsonl");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.sanity_val_steps=-1 "
                        "--trainer.run_dir=all --trainer.max_epochs=1");
    char *with = file_text(folder, "all/metrics.jsonl");
    assert_string_equal(with, without); /* it creates no folder */
}

static void print_config_shows_all(void **state)
{
    const char *folder = fit_folder();
    const outcome *o = program_gives(0, folder, "fit digits.yaml --print-config --trainer.seed=9");
    contains(o->out, "\n  # Seed of the initial weights, the order of samples and dropout");
    contains(o->out, "\n  seed: 9\n");
    contains(o->out, "\n  hidden: [32]\n");
    fgt_write(fgt_path(folder, "all.yaml"), o->out, strlen(o->out));
    char *plain = strdup(program_gives(0, folder, "fit all.yaml --print-config=plain")->out);
    assert_null(strchr(plain, '#'));
    o = program_gives(0, folder, "test digits.yaml --print-config=plain --trainer.seed=9");
    assert_string_equal(o->out, plain);
    free(plain);
}

/* ---- a device that does not respond ---------------------------------------------------------- */

/* A run on the fake plugin that ends as a hang. */
static const outcome *hangs(const char *folder, const char *fake, const char *arguments)
{
    assert_int_equal(setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1), 0);
    assert_int_equal(setenv("FAKEPJRT", fake, 1), 0);
    const outcome *o = program_gives(3, folder, arguments);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN") + unsetenv("FAKEPJRT"), 0);
    return o;
}

/* The next line, without its end; NULL: there is none. */
static char *next_line(char **rest)
{
    char *line = strsep(rest, "\n");
    return line != NULL && (*line != '\0' || (*rest != NULL && **rest != '\0')) ? line : NULL;
}

/* "thread ID (NAME)" or "thread ID (NAME), in the kernel: WHERE". */
static void check_thread(const char *line)
{
    char name[64] = "", where[64] = "";
    int id, end = 0;
    const int parts =
        sscanf(line, "thread %d (%63[^)])%n, in the kernel: %63s%n", &id, name, &end, where, &end);
    assert_true(parts == 2 || parts == 3);
    assert_int_equal(line[end], '\0');
    assert_string_equal(name, "fulgurite");
    assert_true(parts == 2 || strcmp(where, "0") != 0);
}

/* After an empty line and the line of a thread come its frames, or one line that says that there
 * are none: some of a plugin's threads block all signals. Returns how many threads have frames. */
static int check_stacks(char *text)
{
    int threads = 0, stacks = 0, frames = 0, notes = 0;
    for (char *rest = text, *line; (line = next_line(&rest)) != NULL;) {
        if (*line == '\0') {
            check_thread(next_line(&rest));
            assert_true(threads == 0 || (frames > 0) + notes == 1);
            stacks += frames > 0;
            frames = notes = 0;
            threads++;
        } else if (strchr(line, '[') != NULL) {
            frames++;
        } else {
            assert_string_equal(line,
                                "  (its stack could not be read: it does not respond to signals)");
            notes++;
        }
    }
    assert_int_equal((frames > 0) + notes, 1);
    return stacks + (frames > 0);
}

/* The fake plugin blocks all work. */
static void a_run_that_stands_still_ends(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    const outcome *o = hangs(folder, "hold=1", "fit digits.yaml --trainer.watchdog_s=0.3");
    contains(o->err, "fulgurite fit: no progress for ");
    contains(file_text(folder, "run/hang.txt"), " s: validation: reading metrics\n");
    contains(o->err, "\n  no step has finished yet\n  waiting for: ");
    contains(o->err, "\n  last checkpoint: none\n  stacks of all threads: run/hang.txt\n");
    char *text = file_text(folder, "run/hang.txt"),
         *end = strstr(text, "  last checkpoint: none\n");
    assert_memory_equal(text, "fulgurite fit: no progress for ", 31);
    assert_non_null(end);
    contains(text, "fg_trainer_fit"); /* in the stack of the thread that waits */
    assert_null(strstr(text, "does not respond to signals")); /* the library's threads do, too */
    assert_true(check_stacks(strchr(end, '\n') + 1) >= 2);
}

/* The device stops after some steps, with a checkpoint; then the report cannot be written because
 * there is no folder. */
static void a_hang_says_how_to_continue(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    const outcome *o =
        hangs(folder, "hold_from=40",
              "fit digits.yaml --trainer.watchdog_s=3 " /* more than any save needs */
              "--trainer.ckpt_every_steps=2");
    contains(o->err, "\n  training step ");
    contains(o->err, "\n  waiting for: cpu");
    contains(o->err, "\n  last checkpoint: run/");
    contains(o->err, "\n  continue from it with --trainer.resume=last\n"
                     "  stacks of all threads: run/hang.txt\n");
    o = hangs(folder, "hold=1", "fit digits.yaml --trainer.watchdog_s=0.3 --fast-dev-run");
    contains(o->err, "\n  last checkpoint: none\n\nthread ");
    contains(o->err, "fg_trainer_fit");
    assert_null(strstr(o->err, "stacks of all threads"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mistakes_name_the_place),
    cmocka_unit_test(metrics_that_do_not_exist),
    cmocka_unit_test(what_differs_at_a_resume_is_noted),
    cmocka_unit_test(errors_are_red_on_a_terminal),
    cmocka_unit_test(the_best_value_is_green_on_a_terminal),
    cmocka_unit_test(any_path_in_checkpoints_is_a_checkpoint),
    cmocka_unit_test(a_fit_without_validation_is_noted),
    cmocka_unit_test(a_failure_has_a_summary_too),
    cmocka_unit_test(where_relative_paths_start),
    cmocka_unit_test(trying_a_run_out),
    cmocka_unit_test(print_config_shows_all),
    cmocka_unit_test(a_run_that_stands_still_ends),
    cmocka_unit_test(a_hang_says_how_to_continue),
};

/* Compiled programs are shared by the runs of this test and go with it. */
TRAINING_MAIN(tests)
