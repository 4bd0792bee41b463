/* test_fit.c - trains, stops, resumes, evaluates and predicts with the program, on the digits that
 * stand in the tree and on files made here. Wants the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>

static const char digits[] =
    "model: {name: mlp, hidden: [32], dropout: 0.1}\n" DIGITS "optimizer: {name: adam, lr: 0.01}\n"
    "trainer: {batch_size: 64, max_epochs: 3, seed: 7, log_every: 5, run_dir: run}\n";

/* A fresh folder with digits.yaml in it. */
static const char *workplace(void)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), digits, strlen(digits));
    return folder;
}

static json_t *load(const char *folder, const char *name)
{
    json_error_t fault;
    json_t *root = json_load_file(fgt_path(folder, name), 0, &fault);
    if (root == NULL)
        fail_msg("%s: line %d: %s", name, fault.line, fault.text);
    return root;
}

static double metric(const json_t *summary, const char *name)
{
    const json_t *value = json_object_get(json_object_get(summary, "metrics"), name);
    if (!json_is_number(value))
        fail_msg("the summary has no metric %s", name);
    return json_number_value(value);
}

/* ---- fit ------------------------------------------------------------------------------------- */

static void check_files(const char *folder)
{
    assert_true(is_there(folder, "run/config.yaml") && is_there(folder, "run/metrics.csv"));
    assert_true(is_there(folder, "run/checkpoints/last") &&
                is_there(folder, "run/checkpoints/best"));
    char *lines = file_text(folder, "run/metrics.jsonl");
    int train = 0, val = 0;
    for (char *rest = lines, *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
        json_t *object = json_loads(line, 0, NULL);
        assert_true(json_is_integer(json_object_get(object, "step")));
        assert_true(json_is_integer(json_object_get(object, "epoch")));
        train += json_is_number(json_object_get(object, "train_loss"));
        val += json_is_number(json_object_get(object, "val_loss"));
        json_decref(object);
    }
    assert_int_equal(train,
                     16); /* every 5 steps of 69, and the ends of epochs at 23 and 46 and 69 */
    assert_int_equal(val, 3);
}

static void check_summary(const json_t *s)
{
    static const char *const numbers[] = {"devices",
                                          "epochs",
                                          "steps",
                                          "time_to_first_step_s",
                                          "samples_per_s",
                                          "compiles",
                                          "compile_s",
                                          "host_reads",
                                          "host_overhead_us_per_step",
                                          "peak_rss_bytes",
                                          "step_flops",
                                          "device_peak_bytes"};
    static const char *const idle[] = {"input", "upload", "compile", "read", "checkpoint", "other"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!json_is_number(json_object_get(s, numbers[i])))
            fail_msg("the summary's %s is no number", numbers[i]);
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
        assert_true(json_is_number(json_object_get(json_object_get(s, "idle"), idle[i])));
    assert_true(json_is_number(json_object_get(json_object_get(s, "step_ms"), "median")));
    assert_true(json_is_number(json_object_get(json_object_get(s, "step_ms"), "p95")));
    assert_true(json_is_null(json_object_get(s, "mxu_use"))); /* of a CPU no peak is known */
    assert_string_equal(json_string_value(json_object_get(s, "mxu_use_source")), "model");
    assert_string_equal(json_string_value(json_object_get(s, "status")), "done");
    assert_string_equal(json_string_value(json_object_get(s, "device")), "cpu");
    assert_string_equal(json_string_value(json_object_get(s, "precision")), "32-true");
    assert_int_equal(json_integer_value(json_object_get(s, "epochs")), 3);
    assert_int_equal(json_integer_value(json_object_get(s, "steps")), 69);
    contains(json_string_value(json_object_get(s, "checkpoint")), "run/checkpoints/step-");
}

static void fit_learns_digits(void **state)
{
    const char *folder = workplace();
    const outcome *o = program_gives(0, folder, "fit digits.yaml --summary=s.json --draw=always");
    contains(o->err, "adam, lr 0.01 (scaling rule: none), batches of 64, 69 steps\n"
                     "lr at 0, 25, 50, 75, 100 %: 0.01 0.01 0.01 0.01 0.01\n");
    contains(o->err, "the run's folder: run\n");
    contains(o->out, "train_loss   o val_loss\n");
    contains(o->out, "confusion matrix: ");
    contains(o->out, "val_acc\t0.9");
    json_t *summary = load(folder, "s.json");
    check_summary(summary);
    assert_true(metric(summary, "val_acc") > 0.9);
    assert_true(metric(summary, "train_loss") < 0.5);
    json_decref(summary);
    check_files(folder);
}

/* Trains in other number formats, says so, and names what goes wrong. */
static void number_formats(void **state)
{
    const char *folder = workplace();
    const outcome *o =
        program_gives(0, folder, "fit --print-config --trainer.precision=bf16-mixed");
    contains(o->out, "  precision: bf16-mixed");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --summary=s.json --trainer.precision=bf16-mixed");
    json_t *s = load(folder, "s.json");
    assert_string_equal(json_string_value(json_object_get(s, "precision")), "bf16-mixed");
    assert_int_equal(json_integer_value(json_object_get(s, "nonfinite_steps")), 0);
    assert_true(json_is_null(json_object_get(s, "loss_scale")));
    assert_true(json_is_null(json_object_get(s, "lost_updates")));
    assert_true(metric(s, "val_acc") > 0.9);
    json_decref(s);
    o = program_gives(0, folder,
                      "fit digits.yaml --summary=t.json --trainer.precision=16-mixed "
                      "--trainer.max_steps=4 --trainer.run_dir=half");
    contains(o->err, "warning: precision '16-mixed': the CPU rounds to f16");
    s = load(folder, "t.json");
    assert_true(json_number_value(json_object_get(s, "loss_scale")) >= 1024);
    json_decref(s);
    o = program_gives(1, folder,
                      "fit digits.yaml --trainer.detect_anomaly=true --optimizer.name=sgd "
                      "--optimizer.lr=1e30 --trainer.run_dir=bad");
    contains(o->err, "training step 2: the gradient of 'fc");
}

/* The same batches on eight virtual devices as on one: the same figures but for rounding. */
static void eight_devices_give_what_one_gives(void **state)
{
    const char *folder = workplace();
    (void)program_gives(0, folder, "fit digits.yaml -q --summary=s.json --model.dropout=0");
    const outcome *o = program_gives(0, folder,
                                     "fit digits.yaml --summary=t.json --model.dropout=0 "
                                     "--trainer.batch_size=8 --trainer.devices=8 "
                                     "--trainer.accelerator=cpu --trainer.run_dir=eight");
    contains(o->err, "on 8 virtual devices of the CPU, for development (ddp)\n"
                     "adam, lr 0.01 (scaling rule: none), batches of 64 (8 x 8), 69 steps\n");
    json_t *one = load(folder, "s.json"), *eight = load(folder, "t.json");
    assert_int_equal(json_integer_value(json_object_get(one, "devices")), 1);
    assert_int_equal(json_integer_value(json_object_get(eight, "devices")), 8);
    assert_string_equal(json_string_value(json_object_get(eight, "strategy")), "ddp");
    assert_int_equal(json_integer_value(json_object_get(eight, "global_batch_size")), 64);
    assert_true(json_real_value(json_object_get(eight, "lr")) == 0.01);
    assert_true(fabs(metric(one, "train_loss") / metric(eight, "train_loss") - 1) < 1e-3);
    assert_true(fabs(metric(one, "val_loss") / metric(eight, "val_loss") - 1) < 1e-3);
    json_decref(one);
    json_decref(eight);
    contains(program_gives(0, folder,
                           "fit digits.yaml --trainer.devices=[1] --trainer.max_steps=1 "
                           "--trainer.run_dir=second --trainer.accelerator=cpu")
                 ->err,
             "parameters in all; on cpu\n");
}

/* A TPU that is not there: the old spelling is understood, nothing falls back, no folder is left.
 */
static void a_named_accelerator_or_none(void **state)
{
    const char *folder = workplace();
    assert_int_equal(setenv("FULGURITE_PLUGIN", "/nowhere/libtpu.so", 1), 0);
    const outcome *o = program_gives(1, folder, "fit digits.yaml --trainer.tpu_cores=[1]");
    contains(o->err, "note: trainer.tpu_cores is an old spelling: read as "
                     "--trainer.accelerator=tpu --trainer.devices=[1]\n");
    contains(o->err, "fulgurite fit: plugin '/nowhere/libtpu.so' does not exist");
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    assert_false(is_there(folder, "run"));
    contains(program_gives(2, folder,
                           "fit digits.yaml --trainer.strategy=single "
                           "--trainer.devices=8")
                 ->err,
             "strategy 'single' trains on one device, but 8 were chosen");
    assert_false(is_there(folder, "run"));
}

/* The first command of the README keeps its word. */
static void the_example_gets_98_percent(void **state)
{
    const char *folder = fgt_temp_folder();
    assert_int_equal(symlink(FGT_SOURCE_DIR "/share", fgt_path(folder, "share")), 0);
    (void)program_gives(0, folder,
                        "fit " FGT_SOURCE_DIR "/examples/digits.yaml -q --summary=s.json");
    json_t *summary = load(folder, "s.json");
    assert_true(metric(summary, "val_acc") >= 0.98);
    json_decref(summary);
    assert_true(is_there(folder, "runs/digits-1/checkpoints/best"));
}

/* The merged configuration makes the same run again, bit for bit. */
static void the_written_config_repeats_the_run(void **state)
{
    const char *folder = workplace();
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=12");
    (void)program_gives(0, folder, "fit run/config.yaml -q --trainer.run_dir=again");
    char *first = file_text(folder, "run/metrics.jsonl"),
         *second = file_text(folder, "again/metrics.jsonl");
    assert_string_equal(first, second);
    first = file_text(folder, "run/config.yaml");
    assert_string_equal(program_gives(0, folder, "fit run/config.yaml --print-config=plain")->out,
                        first);
}

static void resume_goes_on_at_the_next_sample(void **state)
{
    const char *folder = workplace();
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=40");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.max_steps=30 "
                        "--trainer.run_dir=parts --trainer.ckpt_every_steps=17 "
                        "--trainer.keep_checkpoints=0");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.max_steps=40 "
                        "--trainer.run_dir=parts --trainer.resume=step-000000017");
    json_t *whole = load(folder, "run/checkpoints/step-000000040/manifest.json");
    json_t *parts = load(folder, "parts/checkpoints/step-000000040/manifest.json");
    const json_t *model = json_array_get(json_object_get(whole, "files"), 0);
    assert_string_equal(json_string_value(json_object_get(model, "name")), "model.safetensors");
    assert_true(json_equal(model, json_array_get(json_object_get(parts, "files"), 0)));
    assert_true(json_equal(json_array_get(json_object_get(whole, "files"), 1),
                           json_array_get(json_object_get(parts, "files"), 1)));
    json_decref(whole);
    json_decref(parts);
}

/* Going on with a complete run is no mistake: it trains nothing, compiles nothing, writes nothing,
 * and prints what the run ended with. Within an epoch as at its end. */
static void a_complete_run_has_nothing_to_do(void **state)
{
    static const char *const limits[] = {"--trainer.max_epochs=2",
                                         "--trainer.max_epochs=-1 --trainer.max_steps=30"};
    static const char *const says[] = {
        "nothing left to do: the run is complete (step 46, epoch 2); "
        "to train longer, raise trainer.max_epochs\n",
        "nothing left to do: the run is complete (step 30, epoch 1); "
        "to train longer, raise trainer.max_steps\n"};
    for (int i = 0; i < 2; i++) {
        char command[256];
        const char *folder = workplace();
        (void)snprintf(command, sizeof(command), "fit digits.yaml -q %s", limits[i]);
        char *metrics = strdup(program_gives(0, folder, command)->out);
        char *log = file_text(folder, "run/metrics.jsonl");
        contains(metrics, "train_loss\t");
        contains(metrics, "val_acc\t0.");
        for (int again = 0; again < 2; again++) {
            (void)snprintf(command, sizeof(command),
                           "fit digits.yaml --summary=s.json --trainer.resume=%s %s",
                           again == 0 ? "last" : "auto", limits[i]);
            const outcome *o = program_gives(0, folder, command);
            contains(o->err, says[i]);
            assert_string_equal(o->out, metrics);
            json_t *summary = load(folder, "s.json");
            assert_string_equal(json_string_value(json_object_get(summary, "status")), "done");
            assert_int_equal(json_integer_value(json_object_get(summary, "compiles")), 0);
            assert_int_equal(json_integer_value(json_object_get(summary, "compile_cache_hits")), 0);
            json_decref(summary);
            char *log_now = file_text(folder, "run/metrics.jsonl");
            assert_string_equal(log_now, log);
        }
        free(metrics);
    }
    (void)state;
}

/* SIGTERM: the state is saved, exit status 143, and resume finishes what was begun. */
static void a_signal_saves_and_stops(void **state)
{
    char command[1024];
    const char *folder = workplace();
    const char *stopped = "fulgurite fit digits.yaml --summary=s.json "
                          "--trainer.max_epochs=100000 --trainer.val_every_epochs=0 "
                          "--trainer.ckpt_every_epochs=0 >out 2>err & "
                          "while ! [ -s run/metrics.jsonl ]; do sleep 0.02; kill -0 $! || exit 1; "
                          "done; kill -TERM $!; wait $!";
    assert_int_equal(shell(folder, stopped), 143);
    json_t *summary = load(folder, "s.json");
    assert_string_equal(json_string_value(json_object_get(summary, "status")), "stopped");
    const json_int_t steps = json_integer_value(json_object_get(summary, "steps"));
    assert_true(steps > 0);
    json_decref(summary);
    char *said = file_text(folder, "err");
    contains(said, "fulgurite fit: stopped at step ");
    (void)snprintf(command, sizeof(command),
                   "fit digits.yaml -q --summary=t.json --trainer.resume=last "
                   "--trainer.max_epochs=-1 --trainer.max_steps=%d",
                   (int)steps + 3);
    (void)program_gives(0, folder, command);
    summary = load(folder, "t.json");
    assert_int_equal(json_integer_value(json_object_get(summary, "steps")), steps + 3);
    json_decref(summary);
}

static void folders_of_runs_are_numbered(void **state)
{
    const char *folder = workplace();
    const char *fit = "fit digits.yaml --trainer.run_dir=auto --trainer.max_steps=2";
    contains(program_gives(0, folder, fit)->err, "the run's folder: runs/digits-1\n");
    contains(program_gives(0, folder, fit)->err, "the run's folder: runs/digits-2\n");
    contains(program_gives(0, folder,
                           "fit digits.yaml --trainer.run_dir=auto --trainer.max_steps=3 "
                           "--trainer.resume=last")
                 ->err,
             "the run's folder: runs/digits-2\n");
    assert_true(is_there(folder, "runs/digits-2/checkpoints/step-000000003"));
    const outcome *o = program_gives(2, folder,
                                     "fit digits.yaml --trainer.run_dir=runs/digits-1 "
                                     "--trainer.max_steps=1");
    contains(o->err, "'runs/digits-1' holds the checkpoints of an earlier run\n"
                     "--resume continues it, --overwrite deletes it");
    assert_true(is_there(folder, "runs/digits-1/checkpoints/step-000000002"));
    (void)program_gives(2, folder, "fit digits.yaml --resume --overwrite");
    (void)program_gives(0, folder,
                        "fit digits.yaml --trainer.run_dir=runs/digits-1 --resume "
                        "--trainer.max_steps=3");
    assert_true(is_there(folder, "runs/digits-1/checkpoints/step-000000003"));
    (void)program_gives(0, folder,
                        "fit digits.yaml --trainer.run_dir=runs/digits-1 "
                        "--trainer.max_steps=1 --overwrite");
    assert_true(is_there(folder, "runs/digits-1/checkpoints/step-000000001"));
    assert_false(is_there(folder, "runs/digits-1/checkpoints/step-000000003"));
}

/* ---- after fit ------------------------------------------------------------------------------- */

/* The probabilities of a row add up to 1, and the prediction is the class of the largest. */
static void check_row(const char *line, long index)
{
    char *at;
    double sum = 0, best = -1;
    long best_class = -1;
    assert_int_equal(strtol(line, &at, 10), index);
    const long predicted = strtol(at + 1, &at, 10);
    for (long k = 0; k < 10; k++) {
        const double p = strtod(at + 1, &at);
        sum += p;
        if (p > best) {
            best = p;
            best_class = k;
        }
    }
    assert_int_equal(*at, '\0');
    assert_true(fabs(sum - 1) < 1e-5);
    assert_int_equal(predicted, best_class);
}

static void evaluation_and_predictions(void **state)
{
    char fitted[64];
    const char *folder = workplace();
    (void)program_gives(0, folder, "fit digits.yaml -q --summary=s.json");
    json_t *summary = load(folder, "s.json");
    (void)snprintf(fitted, sizeof(fitted), "val_loss\t%.6g\n", metric(summary, "val_loss"));
    json_decref(summary);
    contains(program_gives(0, folder, "validate digits.yaml -q --ckpt=last")->out, fitted);
    contains(program_gives(0, folder, "test digits.yaml -q --ckpt=last")->out, "test_loss\t");
    contains(program_gives(0, folder,
                           "validate digits.yaml -q "
                           "--ckpt=run/checkpoints/step-000000069/model.safetensors")
                 ->out,
             fitted);
    const outcome *o = program_gives(0, folder, "predict digits.yaml -q");
    char *text = strdup(o->out), *rest = text;
    assert_string_equal(strsep(&rest, "\n"),
                        "index,prediction,p_0,p_1,p_2,p_3,p_4,p_5,p_6,p_7,p_8,p_9");
    long rows = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0'; rows++)
        check_row(line, rows);
    assert_int_equal(rows, 359);
    (void)program_gives(0, folder, "predict digits.yaml -q --out=p.csv");
    char *file = file_text(folder, "p.csv");
    assert_int_equal(strlen(file), strlen(program_gives(0, folder, "predict digits.yaml -q")->out));
    free(text);
}

static void weights_start_a_run(void **state)
{
    fg_error err = {0};
    fg_ckpt *given, *after;
    const char *folder = workplace();
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=3");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.run_dir=more --trainer.max_steps=1 "
                        "--optimizer.lr=1e-30 "
                        "--model.weights=run/checkpoints/step-000000003/model.safetensors");
    fgt_ok(fg_ckpt_open(fgt_path(folder, "run/checkpoints/step-000000003"), &given, &err));
    fgt_ok(fg_ckpt_open(fgt_path(folder, "more/checkpoints/step-000000001"), &after, &err));
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(fg_ckpt_info(given, i)->name, fg_ckpt_info(after, i)->name);
        assert_memory_equal(fg_ckpt_data(given, i), fg_ckpt_data(after, i),
                            fg_ckpt_info(given, i)->size_bytes);
    }
    fg_ckpt_close(given);
    fg_ckpt_close(after);
    /* parts of them */
    contains(program_gives(0, folder,
                           "fit digits.yaml --trainer.run_dir=head --trainer.max_steps=1 "
                           "--model.weights=run --model.weights_skip=fc2.*")
                 ->err,
             "step-000000003: 2 of 4 variables loaded\n  skipped: fc2.weight, fc2.bias\n");
    contains(program_gives(0, folder,
                           "fit digits.yaml --trainer.run_dir=shape --trainer.max_steps=1 "
                           "--model.hidden=[32,8] --model.weights_partial=true "
                           "--model.weights=run/checkpoints/step-000000003")
                 ->err,
             "step-000000003: 2 of 6 variables loaded\n  not in the file: fc3.weight, fc3.bias\n"
             "  with another shape in the file: fc2.weight (f32[10,32], not f32[8,32]), fc2.bias "
             "(f32[10], not f32[8])\n");
    contains(program_gives(1, folder,
                           "fit digits.yaml --trainer.run_dir=typo --trainer.max_steps=1 "
                           "--model.weights=run --model.weights_skip=head.*")
                 ->err,
             "skip 'head.*' matches no variable: the module has fc1.weight, fc1.bias, fc2.weight");
    contains(program_gives(1, folder,
                           "fit digits.yaml --trainer.run_dir=none --trainer.max_steps=1 "
                           "--model.weights=run --model.weights_prefix=net.")
                 ->err,
             "no tensor's name starts with 'net.': the file has fc1.bias, fc1.weight, fc2.bias, "
             "fc2.weight; the module has fc1.weight, ");
    contains(program_gives(1, folder,
                           "fit digits.yaml -q --trainer.run_dir=other --model.hidden=[16] "
                           "--model.weights=run/checkpoints/last")
                 ->err,
             "fulgurite fit: ");
    contains(program_gives(1, folder,
                           "fit digits.yaml -q --trainer.run_dir=other --model.hidden=[16] "
                           "--model.weights=run/checkpoints/step-000000003")
                 ->err,
             "'fc1.weight' is f32[32,64], but f32[16,64] in the model\n"
             "to load the rest: model.weights_skip leaves variables out by name, ");
}

static void frozen_parameters_keep_their_weights(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_ckpt *first, *last;
    const char *folder = workplace();
    const outcome *p = program_gives(0, folder,
                                     "fit digits.yaml -q --trainer.max_steps=4 "
                                     "--trainer.ckpt_every_steps=1 --trainer.keep_checkpoints=9 "
                                     "--model.freeze=[fc1.*]");
    contains(p->err, "are frozen (model.freeze); ");
    fgt_ok(fg_ckpt_open(fgt_path(folder, "run/checkpoints/step-000000001"), &first, &err));
    fgt_ok(fg_ckpt_open(fgt_path(folder, "run/checkpoints/step-000000004"), &last, &err));
    for (size_t i = 0; i < fg_ckpt_count(first); i++) {
        const fg_tensor_info *info = fg_ckpt_info(first, i);
        size_t other;
        if (info->part != FG_CKPT_MODEL)
            continue;
        assert_true(fg_ckpt_find(last, FG_CKPT_MODEL, info->name, &other));
        const bool same =
            memcmp(fg_ckpt_data(first, i), fg_ckpt_data(last, other), info->size_bytes) == 0;
        assert_int_equal(same, strncmp(info->name, "fc1.", 4) == 0);
    }
    assert_false(fg_ckpt_find(last, FG_CKPT_STATE, "optimizer.exp_avg.fc1.weight", &(size_t){0}));
    fg_ckpt_close(first);
    fg_ckpt_close(last);
    contains(program_gives(1, folder,
                           "fit digits.yaml -q --trainer.run_dir=other --model.freeze=[fc9.*]")
                 ->err,
             "--model.freeze: freeze 'fc9.*': matches no parameter or buffer of the "
             "module; the nearest names are 'fc1.weight'");
}

/* ---- other data ------------------------------------------------------------------------------ */

/* y = 2 a - b + 1 on a grid. */
static void a_regression_from_csv(void **state)
{
    const char *folder = fgt_temp_folder();
    FILE *out = fopen(fgt_path(folder, "line.csv"), "wb");
    assert_non_null(out);
    (void)fputs("a,b,y\n", out);
    for (int i = 0; i < 200; i++)
        (void)fprintf(out, "%g,%g,%g\n", i % 14 / 7.0, i % 10 / 5.0,
                      2 * (i % 14 / 7.0) - i % 10 / 5.0 + 1);
    (void)fclose(out);
    const char *fit = "fit -q --task=regression --model.name=linear --data.format=csv "
                      "--data.path=line.csv --data.target=y --data.val_fraction=0.25 "
                      "--optimizer.name=sgd --optimizer.lr=0.1 --trainer.max_epochs=40 "
                      "--trainer.run_dir=run --summary=s.json";
    (void)program_gives(0, folder, fit);
    json_t *summary = load(folder, "s.json");
    assert_true(metric(summary, "val_loss") < 1e-4);
    assert_true(metric(summary, "val_mae") < 1e-2);
    json_decref(summary);
    const outcome *o = program_gives(0, folder, "predict run/config.yaml -q --data.test=line.csv");
    contains(o->out, "index,prediction\n0,");
    assert_true(fabs(strtod(strchr(o->out, '\n') + 3, NULL) - 1) < 0.05); /* a = b = 0 */
}

/* Two outputs a sample, inputs of two dimensions, in .npy; predictions as .npy. */
static void a_regression_from_npy(void **state)
{
    float x[64][2][3], y[64][2];
    fg_error err = {0};
    fg_dataset *predicted;
    const char *folder = fgt_temp_folder();
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 6; k++)
            x[i][k / 3][k % 3] = (float)((i * 7 + k * 5) % 11) / 11;
        y[i][0] = x[i][0][0] - x[i][1][2];
        y[i][1] = x[i][0][1] + 0.5F;
    }
    const fg_type x_type = {.dtype = FG_F32, .rank = 3, .dim = {64, 2, 3}};
    const fg_type y_type = {.dtype = FG_F32, .rank = 2, .dim = {64, 2}};
    fgt_ok(fg_npy_write(fgt_path(folder, "x.npy"), &x_type, x, &err));
    fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &y_type, y, &err));
    (void)program_gives(0, folder,
                        "fit -q --task=regression --model.name=linear --data.format=npy "
                        "--data.x=x.npy --data.y=y.npy --data.val_x=x.npy "
                        "--data.val_y=y.npy --optimizer.lr=0.05 --trainer.max_epochs=60 "
                        "--trainer.run_dir=run --summary=s.json");
    json_t *summary = load(folder, "s.json");
    const double rmse = metric(summary, "val_rmse"); /* in the targets' unit */
    assert_true(rmse * rmse < 1e-3);
    json_decref(summary);
    (void)program_gives(0, folder, "predict run/config.yaml -q --data.test_x=x.npy --out=p.npy");
    fgt_ok(fg_npy_open(fgt_path(folder, "p.npy"), NULL, NULL, &predicted, &err));
    assert_int_equal(fg_dataset_count(predicted), 64);
    float row[2];
    fgt_ok(fg_dataset_read(predicted, 5, (void *const[]){row}, &err));
    fgt_close("y0", (double)row[0], (double)y[5][0], 0.1, 0);
    fgt_close("y1", (double)row[1], (double)y[5][1], 0.1, 0);
    fg_dataset_destroy(predicted);
    contains(program_gives(0, folder, "predict run/config.yaml -q")->out, "index,y0,y1\n0,");
}

/* MNIST's files in small: class = whether the left half is bright. */
static void write_idx(const char *folder, const char *images, const char *labels, int count)
{
    FILE *x = fopen(fgt_path(folder, images), "wb"), *y = fopen(fgt_path(folder, labels), "wb");
    assert_true(x != NULL && y != NULL);
    const unsigned char head_x[16] = {0, 0, 8, 3, 0, 0, 0, (unsigned char)count,
                                      0, 0, 0, 8, 0, 0, 0, 8};
    const unsigned char head_y[8] = {0, 0, 8, 1, 0, 0, 0, (unsigned char)count};
    (void)fwrite(head_x, 1, sizeof(head_x), x);
    (void)fwrite(head_y, 1, sizeof(head_y), y);
    for (int i = 0; i < count; i++) {
        (void)putc(i % 2, y);
        for (int p = 0; p < 64; p++)
            (void)putc((p % 8 < 4) == (i % 2) ? 200 + (i * p) % 50 : (i + p) % 40, x);
    }
    (void)fclose(x);
    (void)fclose(y);
}

static void a_convolutional_net_on_idx_files(void **state)
{
    const char *folder = fgt_temp_folder();
    write_idx(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 120);
    write_idx(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 30);
    (void)program_gives(0, folder,
                        "fit -q --model.name=lenet --data.format=idx --data.path=. "
                        "--data.mean=0.4 --data.std=[0.4] --trainer.max_epochs=4 "
                        "--trainer.batch_size=8 --trainer.run_dir=run --summary=s.json");
    json_t *summary = load(folder, "s.json");
    assert_true(metric(summary, "val_acc") == 1);
    json_decref(summary);
    contains(program_gives(0, folder, "test run/config.yaml -q")->out, "test_acc\t1\n");
    contains(
        program_gives(2, folder, "fit -q --data.format=idx --data.path=. --data.mean=1,2,3")->err,
        "fulgurite fit: --data.mean has 3 numbers: expected 1, for the only channel");
}

static void a_residual_net_on_idx_files(void **state)
{
    const char *folder = fgt_temp_folder();
    write_idx(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", 120);
    write_idx(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 30);
    const outcome *o =
        program_gives(0, folder,
                      "fit --model.name=resnet18 --model.stem=small --model.width=4 "
                      "--data.format=idx --data.path=. --optimizer.name=sgd --optimizer.lr=0.05 "
                      "--trainer.max_epochs=4 --trainer.batch_size=12 --trainer.run_dir=run");
    contains(o->err, "layer2.0.downsample.0");
    contains(o->err, "basic_block");
    contains(program_gives(0, folder, "validate run/config.yaml -q")->out, "val_acc\t1\n");
    contains(program_gives(0, folder, "predict run/config.yaml -q")->out, "\n29,");
}

/* CIFAR-10's files in small: the label is the plane that is bright. */
static void colours_from_cifar_files(void **state)
{
    const char *folder = fgt_temp_folder();
    for (int f = 0; f < 6; f++) {
        char name[32];
        (void)snprintf(name, sizeof(name), f < 5 ? "data_batch_%d.bin" : "test_batch.bin", f + 1);
        FILE *out = fopen(fgt_path(folder, name), "wb");
        assert_non_null(out);
        for (int i = 0; i < 24; i++) {
            (void)putc(i % 3, out);
            for (int p = 0; p < 3072; p++)
                (void)putc(p / 1024 == i % 3 ? 180 + (i + p) % 60 : (i * p) % 50, out);
        }
        (void)fclose(out);
    }
    (void)program_gives(0, folder,
                        "fit -q --model.name=linear --data.format=cifar10 --data.path=. "
                        "--data.mean=0.4,0.4,0.4 --data.std=0.3 --trainer.max_epochs=6 "
                        "--trainer.batch_size=16 --trainer.run_dir=run");
    const outcome *o = program_gives(0, folder, "test run/config.yaml -q --draw=always");
    contains(o->out, "confusion matrix: 24 of 24 right  100.0 %\n");
    contains(o->out, "test_acc\t1\n");
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes_name_the_place(void **state)
{
    static const struct {
        int status;
        const char *arguments, *message;
    } cases[] = {
        {2, "fit", "fulgurite fit: data.format must be given: csv|idx|cifar10|npy\n"},
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
        {2, "fit digits.yaml --model.hidden=[]",
         "fulgurite fit: --model.hidden has 0 layers: expected 1 to 16"},
        {2, "fit digits.yaml --model.classes=3",
         "fulgurite fit: --model.classes is 3, but the data have 10 classes\n"},
        {2, "fit digits.yaml --trainer.max_epochs=-1 --schedule.name=onecycle",
         "a schedule requires trainer.max_epochs or trainer.max_steps\n"},
        {2, "validate digits.yaml --data.val_fraction=0",
         "fulgurite validate: no data to validate: set data.val or "
         "data.val_fraction\n"},
        {1, "validate digits.yaml",
         "fulgurite validate: no 'last' checkpoint: 'run/checkpoints' "
         "does not exist\n"},
        {1, "fit digits.yaml --data.path=/nope", "fulgurite fit: cannot open '/nope'"},
        {1, "fit digits.yaml --trainer.resume=/nope", "fulgurite fit: no checkpoint '/nope'"},
        {2, "validate digits.yaml --trainer.run_dir=auto",
         "fulgurite validate: no weights: give a run's folder or a checkpoint, --ckpt=PATH, or "
         "model.weights\n"},
        {2, "validate digits.yaml --draw=perhaps",
         "fulgurite validate: --draw is 'perhaps': expected auto|always|never\n"},
    };
    const char *folder = workplace();
    fgt_write(fgt_path(folder, "bad.yaml"), "trainer:\n  epochs: 3\n", 21);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        contains(program_gives(cases[i].status, folder, cases[i].arguments)->err, cases[i].message);
}

static void a_failure_has_a_summary_too(void **state)
{
    const char *folder = workplace();
    (void)program_gives(1, folder, "fit digits.yaml --data.path=/nope --summary=s.json");
    json_t *s = load(folder, "s.json");
    assert_string_equal(json_string_value(json_object_get(s, "status")), "failed");
    contains(json_string_value(json_object_get(s, "error")), "/nope");
    assert_true(json_is_null(json_object_get(s, "device")));
    assert_true(json_is_null(json_object_get(json_object_get(s, "step_ms"), "median")));
    json_decref(s);
}

/* Relative paths start at the working directory; a mistake about that is explained. */
static void where_relative_paths_start(void **state)
{
    const char *folder = workplace();
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
    assert_null(strstr(o->err, "note:"));
    o = program_gives(1, folder, "fit sub/run.yaml --data.path=sub/nowhere.csv");
    assert_null(strstr(o->err, "configuration's folder"));
}

static void trying_a_run_out(void **state)
{
    const char *folder = workplace();
    const outcome *o = program_gives(0, folder, "fit digits.yaml --fast-dev-run");
    contains(o->err, "fast dev run: no error; nothing was saved\n");
    contains(o->out, "val_loss\t");
    assert_false(is_there(folder, "run"));
    o = program_gives(0, folder, "fit digits.yaml --trainer.overfit_batches=3 --progress=none");
    assert_null(strstr(o->err, "epoch"));
    (void)program_gives(0, folder,
                        "fit digits.yaml --trainer.overfit_batches=3 --summary=s.json "
                        "--trainer.run_dir=over --progress=plain");
    json_t *s = load(folder, "s.json");
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
    assert_string_equal(with, without); /* it leaves no trace */
}

static void print_config_shows_all(void **state)
{
    const char *folder = workplace();
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

/* ---- a device that does not answer ------------------------------------------------------------
 */

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

/* Behind an empty line and the line of a thread there are its frames, or one line that says that
 * there are none: the library's own threads block all signals. Returns how many threads have
 * frames. */
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
                                "  (its stack could not be read: it does not answer signals)");
            notes++;
        }
    }
    assert_int_equal((frames > 0) + notes, 1);
    return stacks + (frames > 0);
}

/* Nothing that the fake plugin is asked for ever happens. */
static void a_run_that_stands_still_ends(void **state)
{
    (void)state;
    const char *folder = workplace();
    const outcome *o = hangs(folder, "hold=1", "fit digits.yaml --trainer.watchdog_s=0.3");
    contains(o->err, "fulgurite fit: no progress for ");
    contains(o->err, "\n  no step has finished yet\n  waiting for: ");
    contains(o->err, "\n  last checkpoint: none\n  stacks of all threads: run/hang.txt\n");
    char *text = file_text(folder, "run/hang.txt"),
         *end = strstr(text, "  last checkpoint: none\n");
    assert_memory_equal(text, "fulgurite fit: no progress for ", 31);
    assert_non_null(end);
    contains(text, "fg_trainer_fit"); /* in the stack of the thread that waits */
    assert_true(check_stacks(strchr(end, '\n') + 1) >= 2);
}

/* The device stops after some steps, of which a checkpoint is there; then there is no folder to
 * write to. */
static void a_hang_says_how_to_continue(void **state)
{
    (void)state;
    const char *folder = workplace();
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
    cmocka_unit_test(a_failure_has_a_summary_too),
    cmocka_unit_test(where_relative_paths_start),
    cmocka_unit_test(trying_a_run_out),
    cmocka_unit_test(print_config_shows_all),
    cmocka_unit_test(fit_learns_digits),
    cmocka_unit_test(number_formats),
    cmocka_unit_test(eight_devices_give_what_one_gives),
    cmocka_unit_test(a_named_accelerator_or_none),
    cmocka_unit_test(the_example_gets_98_percent),
    cmocka_unit_test(the_written_config_repeats_the_run),
    cmocka_unit_test(resume_goes_on_at_the_next_sample),
    cmocka_unit_test(a_complete_run_has_nothing_to_do),
    cmocka_unit_test(a_signal_saves_and_stops),
    cmocka_unit_test(folders_of_runs_are_numbered),
    cmocka_unit_test(evaluation_and_predictions),
    cmocka_unit_test(weights_start_a_run),
    cmocka_unit_test(frozen_parameters_keep_their_weights),
    cmocka_unit_test(a_regression_from_csv),
    cmocka_unit_test(a_regression_from_npy),
    cmocka_unit_test(a_convolutional_net_on_idx_files),
    cmocka_unit_test(a_residual_net_on_idx_files),
    cmocka_unit_test(colours_from_cifar_files),
    cmocka_unit_test(a_run_that_stands_still_ends),
    cmocka_unit_test(a_hang_says_how_to_continue),
};

/* Compiled programs are shared by the runs of this test and go with it. */
TRAINING_MAIN(tests)
