/* test_fit.c - fulgurite fit: what it learns, writes and continues.
 *
 * SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <unistd.h>
#include <fulgurite/ckpt.h>
#include "fit_run.h"

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
    static const char *const of_input[] = {"delivered_samples_per_s",
                                           "required_samples_per_s",
                                           "waited",
                                           "workers",
                                           "read_s",
                                           "entropy_s",
                                           "decode_s",
                                           "resize_s",
                                           "copy_s"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!json_is_number(json_object_get(s, numbers[i])))
            fail_msg("the summary's %s is not a number", numbers[i]);
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
        assert_true(json_is_number(json_object_get(json_object_get(s, "idle"), idle[i])));
    const json_t *input = json_object_get(s, "input");
    for (size_t i = 0; i < sizeof(of_input) / sizeof(of_input[0]); i++)
        assert_true(json_is_number(json_object_get(input, of_input[i])));
    assert_true(json_is_string(json_object_get(input, "bound_by")));
    assert_true(json_is_number(json_object_get(json_object_get(s, "step_ms"), "median")));
    assert_true(json_is_number(json_object_get(json_object_get(s, "step_ms"), "p95")));
    assert_true(json_is_null(json_object_get(s, "mxu_use"))); /* the peak of a CPU is not known */
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
    const char *folder = fit_folder();
    const outcome *o = program_gives(0, folder, "fit digits.yaml --summary=s.json --draw=always");
    contains(o->err, "adam, lr 0.01 (no learning-rate scaling), batches of 64, 69 steps\n"
                     "lr at 0, 25, 50, 75, 100 %: 0.01 0.01 0.01 0.01 0.01\n");
    contains(o->err, "the run's folder: run\n");
    contains(o->out, "train_loss  o val_loss\n");
    contains(o->out, "confusion matrix: ");
    assert_null(strstr(o->out, "precision   recall")); /* that table is printed by validate */
    contains(o->out, "val_acc\t0.9");
    json_t *summary = fit_json(folder, "s.json");
    check_summary(summary);
    assert_true(fit_metric(summary, "val_acc") > 0.9);
    assert_true(fit_metric(summary, "train_loss") < 0.5);
    json_decref(summary);
    check_files(folder);
}

/* Trains in other precisions, and reports problems with them. */
static void number_formats(void **state)
{
    const char *folder = fit_folder();
    const outcome *o =
        program_gives(0, folder, "fit --print-config --trainer.precision=bf16-mixed");
    contains(o->out, "  precision: bf16-mixed");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --summary=s.json --trainer.precision=bf16-mixed");
    json_t *s = fit_json(folder, "s.json");
    assert_string_equal(json_string_value(json_object_get(s, "precision")), "bf16-mixed");
    assert_int_equal(json_integer_value(json_object_get(s, "nonfinite_steps")), 0);
    assert_true(json_is_null(json_object_get(s, "loss_scale")));
    assert_true(json_is_null(json_object_get(s, "lost_updates")));
    assert_true(fit_metric(s, "val_acc") > 0.9);
    json_decref(s);
    o = program_gives(0, folder,
                      "fit digits.yaml --summary=t.json --trainer.precision=16-mixed "
                      "--trainer.max_steps=4 --trainer.run_dir=half");
    contains(o->err, "warning: precision '16-mixed': the device rounds to f16");
    s = fit_json(folder, "t.json");
    assert_true(json_number_value(json_object_get(s, "loss_scale")) >= 1024);
    json_decref(s);
    o = program_gives(1, folder,
                      "fit digits.yaml --trainer.detect_anomaly=true --optimizer.name=sgd "
                      "--optimizer.lr=1e30 --trainer.run_dir=bad");
    contains(o->err, "training step 2: the gradient of 'fc");
}

/* The same batches on eight virtual devices as on one: the same results up to rounding. */
static void eight_devices_give_what_one_gives(void **state)
{
    const char *folder = fit_folder();
    (void)program_gives(0, folder, "fit digits.yaml -q --summary=s.json --model.dropout=0");
    const outcome *o = program_gives(0, folder,
                                     "fit digits.yaml --summary=t.json --model.dropout=0 "
                                     "--trainer.batch_size=8 --trainer.devices=8 "
                                     "--trainer.accelerator=cpu --trainer.run_dir=eight");
    contains(o->err, "on 8 virtual devices of the CPU, for development (ddp)\n"
                     "adam, lr 0.01 (no learning-rate scaling), batches of 64 (8 x 8), 69 steps\n");
    json_t *one = fit_json(folder, "s.json"), *eight = fit_json(folder, "t.json");
    assert_int_equal(json_integer_value(json_object_get(one, "devices")), 1);
    assert_int_equal(json_integer_value(json_object_get(eight, "devices")), 8);
    assert_string_equal(json_string_value(json_object_get(eight, "strategy")), "ddp");
    assert_int_equal(json_integer_value(json_object_get(eight, "global_batch_size")), 64);
    assert_true(json_real_value(json_object_get(eight, "lr")) == 0.01);
    assert_true(fabs(fit_metric(one, "train_loss") / fit_metric(eight, "train_loss") - 1) < 1e-3);
    assert_true(fabs(fit_metric(one, "val_loss") / fit_metric(eight, "val_loss") - 1) < 1e-3);
    json_decref(one);
    json_decref(eight);
    contains(program_gives(0, folder,
                           "fit digits.yaml --trainer.devices=[1] --trainer.max_steps=1 "
                           "--trainer.run_dir=second --trainer.accelerator=cpu")
                 ->err,
             "parameters in total; on cpu");
}

/* A TPU that is not present: the old spelling is accepted, there is no fallback, no folder remains.
 */
static void a_named_accelerator_or_none(void **state)
{
    const char *folder = fit_folder();
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

/* The first command in the README gives the promised result. */
static void the_example_gets_98_percent(void **state)
{
    const char *folder = fgt_temp_folder();
    assert_int_equal(symlink(FGT_SOURCE_DIR "/share", fgt_path(folder, "share")), 0);
    (void)program_gives(0, folder,
                        "fit " FGT_SOURCE_DIR "/examples/digits.yaml -q --summary=s.json");
    json_t *summary = fit_json(folder, "s.json");
    assert_true(fit_metric(summary, "val_acc") >= 0.98);
    json_decref(summary);
    assert_true(is_there(folder, "runs/digits-1/checkpoints/best"));
}

/* The merged configuration reproduces the run bit for bit. */
static void the_written_config_repeats_the_run(void **state)
{
    const char *folder = fit_folder();
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
    const char *folder = fit_folder();
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=40");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.max_steps=30 "
                        "--trainer.run_dir=parts --trainer.ckpt_every_steps=17 "
                        "--trainer.keep_checkpoints=0");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.max_steps=40 "
                        "--trainer.run_dir=parts --trainer.resume=step-000000017");
    json_t *whole = fit_json(folder, "run/checkpoints/step-000000040/manifest.json");
    json_t *parts = fit_json(folder, "parts/checkpoints/step-000000040/manifest.json");
    const json_t *model = json_array_get(json_object_get(whole, "files"), 0);
    assert_string_equal(json_string_value(json_object_get(model, "name")), "model.safetensors");
    assert_true(json_equal(model, json_array_get(json_object_get(parts, "files"), 0)));
    assert_true(json_equal(json_array_get(json_object_get(whole, "files"), 1),
                           json_array_get(json_object_get(parts, "files"), 1)));
    json_decref(whole);
    json_decref(parts);
}

/* Resuming a complete run is not an error: it trains, compiles and writes nothing, and prints the
 * final metrics. This holds within an epoch and at its end. */
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
        const char *folder = fit_folder();
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
            json_t *summary = fit_json(folder, "s.json");
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

/* SIGTERM: the state is saved, the exit status is 143, and a resume completes the run. */
static void a_signal_saves_and_stops(void **state)
{
    char command[1024];
    const char *folder = fit_folder();
    const char *stopped = "fulgurite fit digits.yaml --summary=s.json "
                          "--trainer.max_epochs=100000 --trainer.val_every_epochs=0 "
                          "--trainer.ckpt_every_epochs=0 >out 2>err & "
                          "while ! [ -s run/metrics.jsonl ]; do sleep 0.02; kill -0 $! || exit 1; "
                          "done; kill -TERM $!; wait $!";
    assert_int_equal(shell(folder, stopped), 143);
    json_t *summary = fit_json(folder, "s.json");
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
    summary = fit_json(folder, "t.json");
    assert_int_equal(json_integer_value(json_object_get(summary, "steps")), steps + 3);
    json_decref(summary);
}

static void folders_of_runs_are_numbered(void **state)
{
    const char *folder = fit_folder();
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

/* Classes and confusions are the same in 90 batches of 4 devices, the last one of 3 samples, as in
 * large batches of one. The table of classes has the numbers of the summary. */
static void classes_are_exact(const char *folder)
{
    char row[128];
    (void)program_gives(0, folder, "validate digits.yaml -q --ckpt=last --summary=one.json");
    const outcome *o = program_gives(0, folder,
                                     "validate digits.yaml -q --ckpt=last --summary=four.json "
                                     "--draw=always --trainer.batch_size=1 --trainer.devices=4 "
                                     "--trainer.accelerator=cpu");
    json_t *one = fit_json(folder, "one.json"), *four = fit_json(folder, "four.json");
    const json_t *a = json_object_get(one, "evaluation"), *b = json_object_get(four, "evaluation");
    const json_t *first = json_array_get(json_object_get(b, "classes"), 0);
    assert_int_equal(json_integer_value(json_object_get(b, "samples")), 359);
    assert_true(json_equal(json_object_get(a, "confusion"), json_object_get(b, "confusion")));
    assert_true(json_equal(json_object_get(a, "classes"), json_object_get(b, "classes")));
    assert_int_equal(json_array_size(json_object_get(b, "worst")), 12);
    (void)snprintf(row, sizeof row, "\n0 %12lld%9.1f %%%7.1f %%%7.1f %%\n",
                   (long long)json_integer_value(json_object_get(first, "samples")),
                   100 * json_number_value(json_object_get(first, "precision")),
                   100 * json_number_value(json_object_get(first, "recall")),
                   100 * json_number_value(json_object_get(first, "f1")));
    contains(o->out, "\nclass  samples  precision   recall       F1\n");
    contains(o->out, row);
    json_decref(one);
    json_decref(four);
}

static void evaluation_and_predictions(void **state)
{
    char fitted[64];
    const char *folder = fit_folder();
    (void)program_gives(0, folder, "fit digits.yaml -q --summary=s.json");
    json_t *summary = fit_json(folder, "s.json");
    (void)snprintf(fitted, sizeof(fitted), "val_loss\t%.6g\n", fit_metric(summary, "val_loss"));
    json_decref(summary);
    contains(program_gives(0, folder, "validate digits.yaml -q --ckpt=last")->out, fitted);
    classes_are_exact(folder);
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
    const char *folder = fit_folder();
    (void)program_gives(0, folder, "fit digits.yaml -q --trainer.max_steps=3");
    (void)program_gives(0, folder,
                        "fit digits.yaml -q --trainer.run_dir=more --trainer.max_steps=1 "
                        "--optimizer.lr=1e-30 "
                        "--model.weights=run/checkpoints/step-000000003/model.safetensors");
    fgt_ok(fg_ckpt_open(fgt_path(folder, "run/checkpoints/step-000000003"), NULL, &given, &err));
    fgt_ok(fg_ckpt_open(fgt_path(folder, "more/checkpoints/step-000000001"), NULL, &after, &err));
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
    contains(
        program_gives(0, folder,
                      "fit digits.yaml --trainer.run_dir=shape --trainer.max_steps=1 "
                      "--model.hidden=[32,8] --model.weights_partial=true "
                      "--model.weights=run/checkpoints/step-000000003")
            ->err,
        "step-000000003: 2 of 6 variables loaded\n  not in the file: fc3.weight, fc3.bias\n"
        "  with a different shape in the file: fc2.weight (f32[10,32], not f32[8,32]), fc2.bias "
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
                           "fit digits.yaml -q --trainer.run_dir=other --model.hidden=[32,10] "
                           "--model.weights=run/checkpoints/last")
                 ->err,
             "has no 'fc3.weight', which is f32[10,10] in the model\nto load the rest: ");
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
    const char *folder = fit_folder();
    const outcome *p = program_gives(0, folder,
                                     "fit digits.yaml --trainer.max_steps=4 "
                                     "--trainer.ckpt_every_steps=1 --trainer.keep_checkpoints=9 "
                                     "--model.freeze=[fc1.w*,fc1.bias]");
    contains(p->err, "are frozen (model.freeze); ");
    contains(program_gives(0, folder,
                           "fit digits.yaml --fast-dev-run "
                           "'--trainer.callbacks=[freeze: {parameters: [fc1.*]}]'")
                 ->err,
             "are frozen (trainer.callbacks); ");
    fgt_ok(fg_ckpt_open(fgt_path(folder, "run/checkpoints/step-000000001"), NULL, &first, &err));
    fgt_ok(fg_ckpt_open(fgt_path(folder, "run/checkpoints/step-000000004"), NULL, &last, &err));
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

static const struct CMUnitTest tests[] = {
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
};

/* Compiled programs are shared by the runs of this test and go with it. */
TRAINING_MAIN(tests)
