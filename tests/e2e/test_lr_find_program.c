/* test_lr_find_program.c - `fulgurite lr-find` and `tuner.lr_find`: the suggestions, the files of
 * the curve, the fit with the result and its continuation, and a curve that suggests nothing; the
 * schedule compared with what a fit logs. Needs the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fit_run.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"

#define QUICK "--tuner.steps=60 --tuner.segments=2 --model.dropout=0 "

static const char *const names[] = {"valley", "steep", "slide", "minimum"};
enum { NAMES = 4 };

static double suggested(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(json_object_get(root, "suggestions"), name);
    return json_is_null(value) ? (double)NAN : json_number_value(value);
}

/* The row of the CSV file that names the suggestion is the one nearest to it. */
static void assert_marked(const char *csv, const char *name, double lr)
{
    size_t marked = 0;
    double nearest = HUGE_VAL, of_marked = 0;
    for (const char *row = strchr(csv, '\n') + 1; *row != '\0'; row = strchr(row, '\n') + 1) {
        char text[256];
        (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(row, "\n"), row);
        const double distance = fabs(log(fgi_strtod(row, NULL) / lr));
        const bool is_marked = strstr(strrchr(text, ','), name) != NULL;
        marked += is_marked;
        of_marked = is_marked ? distance : of_marked;
        nearest = fmin(nearest, distance);
    }
    assert_int_equal(marked, 1);
    assert_true(of_marked <= nearest + 1e-6); /* the file has nine digits */
}

/* A number of a list of the JSON file; NaN: null. */
static double number_of(const json_t *list, size_t index)
{
    const json_t *value = json_array_get(list, index);
    return json_is_null(value) ? (double)NAN : json_number_value(value);
}

/* The cells of a row are the numbers of the JSON file, and a cell is empty where that has null. */
static void assert_row(const char *row, const json_t *curve, size_t index)
{
    const json_t *loss = json_object_get(curve, "loss");
    const json_t *lists[] = {json_object_get(curve, "lr"), json_object_get(curve, "smoothed"),
                             json_array_get(loss, 0), json_array_get(loss, 1)};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const double value = number_of(lists[i], index);
        if (isnan(value))
            assert_int_equal(*row, ',');
        else
            fgt_close("cell", fgi_strtod(row, NULL), value, 1e-9, 1e-7);
        row = strchr(row, ',') + 1;
    }
}

static void assert_rows(const char *csv, const json_t *curve)
{
    size_t index = 0;
    for (const char *row = strchr(csv, '\n') + 1; *row != '\0'; row = strchr(row, '\n') + 1)
        assert_row(row, curve, index++);
    assert_int_equal(index, json_array_size(json_object_get(curve, "lr")));
}

/* Two numbers, "58.0,12.5" or with other text between them. */
static const char *read_pair(const char *at, const char *between, double out[2])
{
    char *end;
    out[0] = fgi_strtod(at, &end);
    at = strstr(end, between);
    assert_non_null(at);
    out[1] = fgi_strtod(at + strlen(between), &end);
    return end;
}

/* The height of the curve of a picture at x. */
static double height_at(const char *svg, double x)
{
    double last[2] = {0}, next[2];
    const char *at = strstr(svg, "points=\"");
    assert_non_null(at);
    at = read_pair(at + strlen("points=\""), ",", last);
    for (next[0] = last[0]; *at != '"' && next[0] < x; at++) {
        memcpy(last, next[0] > last[0] ? next : last, sizeof last);
        at = read_pair(at, ",", next);
    }
    return last[1] + (next[1] - last[1]) * (x - last[0]) / (next[0] - last[0]);
}

/* The mark of a suggestion is on the curve, where its learning rate is on the axis, and the legend
 * names it; `which`: of all. */
static void assert_point(const char *svg, int which, double lr)
{
    char begin[32], text[64];
    double mark[2], ticks[2], values[2];
    (void)snprintf(begin, sizeof begin, "<circle class=\"dot s%d\" cx=\"", 4 + which);
    const char *at = strstr(svg, begin);
    assert_non_null(at);
    (void)read_pair(at + strlen(begin), "cy=\"", mark);
    assert_true(fabs(mark[1] - height_at(svg, mark[0])) < 0.5);
    at = strstr(svg, "y2=\"212\"/><text x=\""); /* the first two labels of the x axis */
    for (int i = 0; i < 2; i++) {
        assert_non_null(at);
        ticks[i] = fgi_strtod(at + strlen("y2=\"212\"/><text x=\""), NULL);
        const char *label = strchr(strstr(at, "text-anchor"), '>') + 1;
        values[i] = fgi_strtod(label, NULL);
        at = strstr(label, "y2=\"212\"/><text x=\"");
    }
    const double place =
        ticks[0] + (ticks[1] - ticks[0]) * log(lr / values[0]) / log(values[1] / values[0]);
    assert_true(fabs(mark[0] - place) < 0.3);
    (void)fgi_snprintf(text, sizeof text, ">%s %.3g</text>", names[which], lr);
    contains(svg, text);
}

/* Of both sweeps, as the file has it. */
static void assert_range(const char *err, const json_t *curve)
{
    char line[96];
    const json_t *range = json_object_get(curve, "valley_range");
    const double low = json_number_value(json_array_get(range, 0));
    const double high = json_number_value(json_array_get(range, 1));
    assert_true(0 < low && low <= high);
    (void)fgi_snprintf(line, sizeof(line),
                       "\nvalley of the 2 of 2 sweeps that have one: %.3g to %.3g\n", low, high);
    contains(err, line);
}

/* What a search does not measure is null; what it knows is not. */
static void assert_known(const json_t *summary)
{
    static const char *const unknown[] = {
        "epochs", "steps",          "samples_per_s", "mxu_use", "device_peak_bytes",
        "busy_s", "nonfinite_steps"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_true(json_is_null(json_object_get(summary, unknown[i])));
    assert_true(json_is_null(json_object_get(json_object_get(summary, "step_ms"), "median")));
    assert_true(json_integer_value(json_object_get(summary, "compiles")) +
                    json_integer_value(json_object_get(summary, "compile_cache_hits")) >
                0);
    assert_true(json_integer_value(json_object_get(summary, "global_batch_size")) > 0);
    assert_true(json_number_value(json_object_get(summary, "lr")) > 0);
}

static void the_command_and_its_summary_agree(void **state)
{
    (void)state;
    char line[64];
    const char *folder = fit_folder();
    assert_int_equal(shell(folder, "mkdir -p run/checkpoints && : >run/checkpoints/last"), 0);
    const outcome *o = program_gives(0, folder,
                                     "lr-find digits.yaml --draw=always --summary=s.json "
                                     "--out=c.csv,c.json,c.svg " QUICK);
    json_t *summary = fit_json(folder, "s.json"), *curve = fit_json(folder, "c.json");
    assert_known(summary);
    contains(o->err, "finding a learning rate: 2 sweeps of up to 60 steps\n");
    assert_range(o->err, curve);
    for (int i = 0; i < NAMES; i++) {
        const double lr = suggested(summary, names[i]);
        assert_true(lr > 1e-6 && lr < 1);
        fgt_close(names[i], suggested(curve, names[i]), lr, 1e-8 * lr, 0);
        (void)snprintf(line, sizeof(line), "%s\t%.4g\n", names[i], lr);
        contains(o->out, line);
        (void)fgi_snprintf(line, sizeof(line), " %s %.3g", names[i], lr);
        contains(strstr(o->out, "learning rate\n"), line); /* the legend */
        assert_marked(file_text(folder, "c.csv"), names[i], lr);
        assert_point(file_text(folder, "c.svg"), i, lr);
    }
    contains(o->out, "smoothed loss by learning rate");
    const size_t count = json_array_size(json_object_get(curve, "lr"));
    assert_true(count > 30 && count <= 60);
    assert_rows(file_text(folder, "c.csv"), curve);
    contains(file_text(folder, "c.csv"), "lr,smoothed,loss_1,loss_2,suggestion\n1e-07,");
    /* a run that is there is not in the way, and remains as it was */
    assert_int_equal(shell(folder, "rm run/checkpoints/last && rmdir -p run/checkpoints"), 0);
    json_decref(curve);
    json_decref(summary);
}

/* Only PNG files need librsvg. */
static void the_plot_is_a_picture_too(void **state)
{
    (void)state;
    static const unsigned char png[] = {0x89, 'P', 'N', 'G'};
    const char *folder = fit_folder();
    const bool has_library = dlopen("librsvg-2.so.2", RTLD_LAZY) != NULL;
    const outcome *o =
        program_gives(has_library ? 0 : 1, folder, "lr-find digits.yaml --out=c.svg,c.png " QUICK);
    contains(file_text(folder, "c.svg"), "</svg>");
    if (has_library)
        assert_memory_equal(file_text(folder, "c.png"), png, sizeof(png));
    else
        contains(o->err, "librsvg");
}

/* With the same samples per step, the number of devices has no influence. */
static void devices_agree(void **state)
{
    double valley[2];
    const char *folder = fit_folder();
    static const char *const arguments[] = {
        "lr-find digits.yaml --summary=s.json --trainer.devices=1 --trainer.batch_size=64 " QUICK
        "--tuner.segments=1",
        "lr-find digits.yaml --summary=s.json --trainer.devices=8 --trainer.batch_size=8 " QUICK
        "--tuner.segments=1"};
    for (int i = 0; i < 2; i++) {
        const outcome *one = program_gives(0, folder, arguments[i]);
        contains(one->err, "finding a learning rate: 1 sweep of up to 60 steps\n");
        assert_null(strstr(one->err, "valley of the"));
        assert_null(strstr(one->err, "these are values of optimizer.lr"));
        json_t *summary = fit_json(folder, "s.json");
        valley[i] = suggested(summary, "valley");
        json_decref(summary);
    }
    fgt_close("valley", valley[1], valley[0], 1e-2 * valley[0], 0);
    const outcome *o = program_gives(0, folder,
                                     "lr-find digits.yaml --trainer.devices=8 "
                                     "--trainer.batch_size=8 --trainer.lr_scaling=linear "
                                     "--tuner.max_lr=1e-3 --out=c.json " QUICK);
    contains(o->err, "\nnote: the loss still falls at the highest learning rate, 0.001: a higher "
                     "max_lr shows where it rises\n");
    contains(o->err, "these are values of optimizer.lr: trainer.lr_scaling=linear multiplies them "
                     "by 8\n");
    json_t *curve = fit_json(folder, "c.json");
    fgt_close("factor", json_number_value(json_object_get(curve, "lr_factor")), 8, 0, 0);
    assert_non_null(strstr(o->err, json_string_value(json_object_get(curve, "note"))));
    json_decref(curve);
}

static void a_curve_without_a_descent(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    const outcome *o = program_gives(
        1, folder,
        "lr-find digits.yaml --tuner.max_lr=1e-6 --summary=s.json --out=c.json,c.csv " QUICK);
    contains(o->err, "no learning rate is suggested: the loss does not fall clearly");
    assert_string_equal(o->out, "valley\tnone\nsteep\tnone\nslide\tnone\nminimum\tnone\n");
    json_t *summary = fit_json(folder, "s.json");
    for (int i = 0; i < NAMES; i++)
        assert_true(isnan(suggested(summary, names[i])));
    json_decref(summary);
    json_t *curve = fit_json(folder, "c.json");
    assert_int_equal(json_integer_value(json_object_get(curve, "usable_segments")), 0);
    assert_rows(file_text(folder, "c.csv"), curve);
    json_decref(curve);
    o = program_gives(1, folder,
                      "fit digits.yaml --tuner.lr_find=true --tuner.max_lr=1e-6 --quiet " QUICK);
    contains(o->err, "set optimizer.lr, and tuner.lr_find to false");
    assert_false(is_there(folder, "run/config.yaml"));
}

/* The fit equals one whose configuration has the learning rate that was found. */
static void a_fit_uses_the_result(void **state)
{
    (void)state;
    char line[256];
    const char *folder = fit_folder();
    (void)program_gives(0, folder,
                        "fit digits.yaml --tuner.lr_find=true --summary=a.json "
                        "--trainer.max_epochs=2 " QUICK);
    json_t *found = fit_json(folder, "run/lr_find.json"), *a = fit_json(folder, "a.json");
    const double lr = json_number_value(json_object_get(found, "optimizer_lr"));
    fgt_close("lr", lr, suggested(a, "valley"), 1e-3 * lr, 0);
    (void)snprintf(line, sizeof(line), "lr: %.4g\n", lr);
    contains(file_text(folder, "run/config.yaml"), line);
    (void)snprintf(line, sizeof(line),
                   "fit digits.yaml --optimizer.lr=%.4g --summary=b.json --trainer.max_epochs=2 "
                   "--trainer.run_dir=other " QUICK,
                   lr);
    (void)program_gives(0, folder, line);
    json_t *b = fit_json(folder, "b.json");
    assert_true(json_is_null(json_object_get(b, "suggestions")));
    assert_true(fit_metric(a, "train_loss") == fit_metric(b, "train_loss"));
    assert_true(fit_metric(a, "val_loss") == fit_metric(b, "val_loss"));

    const outcome *o = program_gives(0, folder,
                                     "fit digits.yaml --tuner.lr_find=true --resume "
                                     "--trainer.max_epochs=3 --summary=c.json " QUICK);
    assert_null(strstr(o->err, "finding a learning rate"));
    json_t *c = fit_json(folder, "c.json");
    assert_true(json_number_value(json_object_get(c, "lr")) == lr);
    json_decref(c);
    json_decref(b);
    json_decref(a);
    json_decref(found);
}

static void a_run_without_a_search_cannot_be_resumed_with_one(void **state)
{
    (void)state;
    static const char negative[] = "{\"optimizer_lr\": -1}";
    const char *folder = fit_folder();
    (void)program_gives(0, folder, "fit digits.yaml --trainer.max_steps=2 --quiet");
    const outcome *o = program_gives(
        1, folder, "fit digits.yaml --trainer.max_steps=4 --resume --tuner.lr_find=true --quiet");
    contains(o->err, "run/lr_find.json");
    contains(o->err, "\nthe resumed run did not begin with a search: set tuner.lr_find to false, "
                     "and optimizer.lr to its learning rate\n");
    fgt_write(fgt_path(folder, "run/lr_find.json"), negative, strlen(negative));
    o = program_gives(1, folder,
                      "fit digits.yaml --trainer.max_steps=4 --resume --tuner.lr_find=true -q");
    contains(o->err, "run/lr_find.json: expected \"optimizer_lr\", a number greater than 0");
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static double number_at(const char *folder, const char *file, const char *key, size_t index)
{
    json_t *root = fit_json(folder, file);
    const json_t *list = json_object_get(root, key);
    const size_t count = json_array_size(list);
    const double value = json_number_value(json_array_get(list, index < count ? index : count - 1));
    json_decref(root);
    return value;
}

/* What is shown before is what the fit logs, on 8 devices, up to the last step. */
static void the_schedule_is_that_of_the_fit(void **state)
{
    (void)state;
    static const char *const variants[] = {"torch", "fastai", "kaggle"};
    const char *folder = fit_folder();
    for (int i = 0; i < 3; i++) {
        char line[512];
        const char *common = "--trainer.devices=8 --trainer.batch_size=8 --trainer.max_epochs=2 "
                             "--trainer.accumulate_grad_batches=3 --trainer.log_every=1 "
                             "--trainer.lr_scaling=linear --schedule.name=onecycle "
                             "--trainer.accelerator=cpu --trainer.callbacks=lr_monitor";
        (void)snprintf(line, sizeof(line),
                       "lr-find digits.yaml --schedule --out=p.json,p.csv %s "
                       "--schedule.variant=%s",
                       common, variants[i]);
        const outcome *o = program_gives(0, folder, line);
        contains(o->out, "schedule: onecycle over 16 steps, 8 per epoch\n");
        contains(o->out, "(8 shards of 8, 3 batches accumulated)\n");
        assert_null(strstr(o->err, "finding a learning rate"));
        (void)snprintf(line, sizeof(line),
                       "fit digits.yaml -q --overwrite %s --schedule.variant=%s", common,
                       variants[i]);
        (void)program_gives(0, folder, line);
        size_t step = 0;
        char *log = file_text(folder, "run/metrics.jsonl"), *rest = log, *each;
        while ((each = strsep(&rest, "\n")) != NULL && *each != '\0') {
            json_t *object = json_loads(each, 0, NULL);
            if (json_object_get(object, "lr") != NULL) {
                const double lr = json_number_value(json_object_get(object, "lr"));
                const double momentum = json_number_value(json_object_get(object, "momentum"));
                fgt_close("lr", lr, number_at(folder, "p.json", "lr_at", step), 0, 1e-8);
                fgt_close("momentum", momentum, number_at(folder, "p.json", "momentum_at", step), 0,
                          1e-8);
                step++;
            }
            json_decref(object);
        }
        assert_int_equal(step, 16);
        (void)snprintf(line, sizeof(line), "\n16,1,%.9g,0.95\n",
                       0.01 * 24 / 25 / (i == 1 ? 4e3 : 1e4));
        contains(file_text(folder, "p.csv"), line);
    }
}

/* Without a plugin: no device is needed if the configuration gives their number. */
static void a_schedule_needs_no_device(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    assert_int_equal(shell(folder, "FULGURITE_PLUGIN=/nowhere fulgurite fit digits.yaml "
                                   "--trainer.devices=4 --print-schedule --draw=always "
                                   "--schedule.name=onecycle --summary=s.json "
                                   "--trainer.max_epochs=4 '--trainer.accumulate_schedule={2: 3}' "
                                   "--trainer.callbacks='[swa: {swa_lrs: 0.1}]' "
                                   "--tuner.lr_find=true >out 2>err"),
                     0);
    contains(file_text(folder, "out"), "over 16 steps, 6 per epoch, 2 starting at epoch 2\n");
    contains(file_text(folder, "out"), "\n100 %      16      3 ");
    contains(file_text(folder, "err"),
             "the callback swa replaces the learning rates of the schedule by swa_lrs\n");
    contains(file_text(folder, "err"),
             "note: tuner.lr_find replaces optimizer.lr: the schedule has the same shape, with "
             "other learning rates\n");
    contains(file_text(folder, "s.json"), "\"total_epochs\": 4");
    contains(file_text(folder, "out"), "100 %");
    contains(file_text(folder, "out"), "highest");
    contains(file_text(folder, "out"), "momentum");
    contains(file_text(folder, "s.json"), "\"devices\": 4");
    assert_false(is_there(folder, "run"));
    const outcome *o = program_gives(0, folder,
                                     "lr-find digits.yaml --schedule --trainer.max_epochs=-1 "
                                     "--trainer.accelerator=cpu --out=c.csv --draw=always "
                                     "--trainer.callbacks=[swa]");
    assert_null(strstr(o->err, "note: after swa_epoch_start"));
    assert_null(strstr(o->err, "note: tuner.lr_find"));
    contains(o->out, "schedule: constant, no limit of steps, 23 per epoch\n");
    assert_string_equal(file_text(folder, "c.csv"), "step,epoch,lr,momentum\n1,0,0.01,0.9\n");
    (void)program_gives(0, folder,
                        "lr-find digits.yaml --schedule --trainer.accelerator=cpu "
                        "--schedule.name=onecycle --out=c.svg");
    contains(file_text(folder, "c.svg"), "momentum");
}

static void mistakes(void **state)
{
    (void)state;
    const char *folder = fit_folder();
    contains(program_gives(2, folder, "lr-find digits.yaml --out=curve.txt")->err,
             "'curve.txt': expected a file name that ends in .csv, .json, .svg or .png");
    contains(program_gives(2, folder, "lr-find digits.yaml --out=a.csv,no/b.csv")->err, "no/b.csv");
    contains(program_gives(2, folder, "lr-find digits.yaml --tuner.max_lr=1e-7")->err,
             "tuner.max_lr: expected a number greater than tuner.min_lr, got 1e-07\n");
    contains(program_gives(2, folder, "lr-find digits.yaml --tuner.steps=9")->err, "tuner.steps");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_command_and_its_summary_agree),
    cmocka_unit_test(the_plot_is_a_picture_too),
    cmocka_unit_test(devices_agree),
    cmocka_unit_test(a_curve_without_a_descent),
    cmocka_unit_test(a_fit_uses_the_result),
    cmocka_unit_test(a_run_without_a_search_cannot_be_resumed_with_one),
    cmocka_unit_test(the_schedule_is_that_of_the_fit),
    cmocka_unit_test(a_schedule_needs_no_device),
    cmocka_unit_test(mistakes),
};
TRAINING_MAIN(tests)
