/* test_report.c - the output at the end of a run: the confusion matrix compared with one counted
 * here, the numbers of the summary compared with each other and the clock, and outputs that cannot
 * be written. Needs the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/thread.h"
#include "effects.h"

enum { CLASSES = REFERENCE_CLASSES };

/* A folder with the samples' files and a run whose weights are reference_start's. */
static const char *workplace(void)
{
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    (void)effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL EFFECTS_VAL "--trainer.batch_size=5");
    return folder;
}

/* ---- the confusion matrix -------------------------------------------------------------------- */

/* How many rows of a true class are predicted as each class. */
static void count(const reference_data *data, int out[CLASSES][CLASSES])
{
    const reference_model model = reference_start(2);
    for (int i = 0; i < data->rows; i++) {
        double p[CLASSES];
        int best = 0;
        reference_predict(&model, data, i, p);
        for (int k = 1; k < CLASSES; k++)
            best = p[k] > p[best] ? k : best;
        out[data->label[i]][best]++;
    }
}

/* One line per true class: "1     .  3  2   40.0 %". */
static void rows_are_true_and_columns_predicted(void **state)
{
    (void)state;
    char head[64];
    int counts[CLASSES][CLASSES] = {{0}}, right = 0;
    const reference_data *data = effects_samples();
    count(data, counts);
    for (int k = 0; k < CLASSES; k++)
        right += counts[k][k];
    assert_true(counts[0][1] != counts[1][0] || counts[0][2] != counts[2][0]);
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    const char *out =
        program_gives(0, workplace(),
                      "validate run --data.val_x=x.npy --data.val_y=y.npy --draw=always "
                      "--quiet")
            ->out;
    (void)snprintf(head, sizeof(head), "confusion matrix: %d of %d correct  %.1f %%", right,
                   data->rows, 100.0 * right / data->rows);
    contains(out, head);
    const char *at = strstr(out, "\ntrue ") + 1;
    for (int k = 0; k < CLASSES; k++) {
        char line[128] = {0}, *cell = line;
        int sum = 0;
        at = strchr(at, '\n') + 1;
        (void)memcpy(line, at, strcspn(at, "\n") < 127 ? strcspn(at, "\n") : 127);
        assert_int_equal(strtol(line, &cell, 10), k);
        for (int c = 0; c < CLASSES; c++) {
            cell += strspn(cell, " ");
            const long is = *cell == '.' ? 0 : strtol(cell, NULL, 10);
            cell += strcspn(cell, " ");
            assert_int_equal(is, counts[k][c]);
            sum += counts[k][c];
        }
        fgt_close("right", strtod(cell, NULL), sum > 0 ? 100.0 * counts[k][k] / sum : 0, 0.05, 0);
    }
}

/* ---- the curve ------------------------------------------------------------------------------- */

/* The values of the highest and of the lowest row of a plot that have marks, by the labels of
 * others; returns the height of a row. */
static double read_plot(const char *out, double *most, double *least)
{
    int row = 0, labels = 0, at[2] = {0}, high = -1, low = -1;
    double values[2] = {0};
    const char *line = strstr(out, "          loss\n");
    assert_non_null(line);
    line = strchr(line, '\n') + 1;
    for (; strspn(line + 10, "-+") < 10; row++) {
        const size_t size = strcspn(line, "\n");
        if (line[9] == '+') {
            at[labels > 0] = row;
            values[labels++ > 0] = fgi_strtod(line, NULL);
        }
        high = high < 0 && size > 10 ? row : high;
        low = size > 10 ? row : low;
        line += size + 1;
    }
    assert_true(labels > 1);
    const double step = (values[0] - values[1]) / (at[1] - at[0]);
    *most = values[0] - step * (high - at[0]);
    *least = values[0] - step * (low - at[0]);
    return step;
}

/* The curve ranges from the smallest to the largest loss, of training and validation. */
static void the_curve_is_of_losses(void **state)
{
    (void)state;
    char line[1024];
    double least = 1e9, most = -1e9, high, low;
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    const char *out = program_gives(0, folder,
                                    "fit -q --draw=always --trainer.run_dir=run "
                                    "--trainer.max_epochs=3 --trainer.batch_size=4 "
                                    "--trainer.log_every=1 " EFFECTS_NPY EFFECTS_VAL)
                          ->out;
    FILE *file = fopen(fgt_path(folder, "run/metrics.jsonl"), "rb");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        json_t *row = json_loads(line, 0, NULL);
        const json_t *train = json_object_get(row, "train_loss");
        const double loss =
            json_number_value(train != NULL ? train : json_object_get(row, "val_loss"));
        least = fmin(least, loss);
        most = fmax(most, loss);
        json_decref(row);
    }
    (void)fclose(file);
    const double step = read_plot(out, &high, &low);
    assert_true(fabs(high - most) < step && fabs(low - least) < step);
    contains(out, " steps\n          * train_loss  o val_loss\n");
}

/* ---- the summary ----------------------------------------------------------------------------- */

/* Of two steps only the second is timed: its time, its rate, busy and idle are one time. */
static void times_and_rates_agree(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    const int64_t begin = fgi_now_ns();
    const json_t *s =
        effects_fit(0, folder, EFFECTS_NPY "--trainer.max_steps=2 --trainer.batch_size=6");
    const double wall = (double)(fgi_now_ns() - begin) * 1e-9;
    const double step_s = effects_number(s, "step_ms.median") * 1e-3;
    assert_true(effects_number(s, "step_ms.p95") == effects_number(s, "step_ms.median"));
    fgt_close("rate", effects_number(s, "samples_per_s"), 6 / step_s, 0, 1e-6);
    fgt_close("busy and idle", effects_number(s, "busy_s") + effects_number(s, "idle_s"), step_s,
              1e-9, 1e-6);
    double parts = 0;
    static const char *const names[] = {"input", "upload",     "compile",
                                        "read",  "checkpoint", "other"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "idle.%s", names[i]);
        assert_true(effects_number(s, path) >= 0);
        parts += effects_number(s, path);
    }
    fgt_close("parts", parts, effects_number(s, "idle_s"), 1e-8, 0);
    const double first = effects_number(s, "time_to_first_step_s");
    assert_true(first > 1e-3 && first + step_s < wall);
    assert_true(effects_number(s, "compile_s") > 1e-5 && effects_number(s, "compile_s") < first);
    const double rss = effects_number(s, "peak_rss_bytes");
    assert_true(rss > 8e6 && rss < 8e9); /* a program with a compiler in it */
    assert_true(effects_number(s, "device_peak_bytes") < 1e6);
}

/* Of every 16th step; in microseconds, of which a second has a million. */
static void host_time_of_a_step(void **state)
{
    (void)state;
    enum { STEPS = 48 };
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    const int64_t begin = fgi_now_ns();
    const json_t *s = effects_fit(0, folder,
                                  EFFECTS_NPY "--trainer.max_steps=%d --trainer.batch_size=12 "
                                              "--trainer.ckpt_every_epochs=0",
                                  STEPS);
    const double wall_us = (double)(fgi_now_ns() - begin) * 1e-3;
    const double host = effects_number(s, "host_overhead_us_per_step");
    const double plugin = effects_number(s, "plugin_us_per_step");
    assert_true(host > 0.5 && plugin > 0.5); /* no step on this machine is faster than that */
    assert_true(STEPS / 16 * (host + plugin) < wall_us);
}

static void a_run_names_what_it_was(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    const json_t *s =
        effects_fit(0, folder,
                    EFFECTS_NPY EFFECTS_VAL "--trainer.max_epochs=2 --trainer.batch_size=4 "
                                            "--trainer.lr_scaling=linear "
                                            "--trainer.base_batch_size=2");
    static const char *const texts[][2] = {
        {"status", "done"},       {"command", "fit"},
        {"device", "cpu"},        {"strategy", "single"},
        {"run_dir", "run"},       {"lr_scaling", "linear"},
        {"precision", "32-true"}, {"checkpoint", "run/checkpoints/step-000000006"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_string_equal(json_string_value(json_object_get(s, texts[i][0])), texts[i][1]);
    assert_true(json_is_null(json_object_get(s, "error")));
    assert_int_equal((int)effects_number(s, "devices"), 1);
    assert_int_equal((int)effects_number(s, "epochs"), 2);
    assert_int_equal((int)effects_number(s, "steps"), 6);
    assert_int_equal((int)effects_number(s, "global_batch_size"), 4);
    assert_int_equal((int)effects_number(s, "nonfinite_steps"), 0);
    fgt_close("lr", effects_number(s, "lr"), 0.2, 1e-12, 0);
    /* Forward, and backward to the weights: 2 x 4 x 2 x 3 each; inputs need no gradient. */
    assert_int_equal((int)effects_number(s, "step_flops"), 2 * 2 * 4 * 2 * 3);
}

/* ---- report.json ----------------------------------------------------------------------------- */

static double value(const json_t *root, const char *part, const char *name)
{
    const json_t *object = part != NULL ? json_object_get(root, part) : root;
    const json_t *number = json_object_get(object, name);
    if (!json_is_number(number))
        fail_msg("%s.%s is not a number", part != NULL ? part : "", name);
    return json_number_value(number);
}

static void check_times(const json_t *root)
{
    static const char *const order[] = {"p5_s", "p50_s", "p90_s", "p95_s", "p99_s", "max_s"};
    static const char *const parts[] = {"busy_s", "input_s",      "upload_s", "compile_s",
                                        "read_s", "checkpoint_s", "other_s"};
    size_t i;
    json_t *window;
    double all = 0;
    for (i = 1; i < sizeof order / sizeof order[0]; i++)
        assert_true(value(root, "step_time", order[i - 1]) <= value(root, "step_time", order[i]));
    assert_int_equal((int)value(root, "step_time", "count"), 8);
    json_array_foreach(json_object_get(root, "windows"), i, window)
    {
        double sum = 0;
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
            sum += value(window, NULL, parts[k]);
        fgt_close("window", sum, value(window, NULL, "seconds"), 1e-8, 0);
        assert_int_equal((int)value(window, NULL, "step"), 3 * ((int)i + 1)); /* by epoch */
        all += sum;
    }
    assert_int_equal(i, 3);
    fgt_close("windows", all, value(root, "time", "wall_s"), 1e-6, 0);
}

/* The parts of the time sum up; the numbers are those of the summary, and `report` shows them. */
static void the_report_of_a_run(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder(), *name;
    json_t *part, *idle;
    double sum = 0;
    effects_write_files(folder);
    const json_t *summary = effects_fit(
        0, folder, EFFECTS_NPY EFFECTS_VAL "--trainer.max_epochs=3 --trainer.batch_size=4");
    json_t *root = json_loads(file_text(folder, "run/report.json"), 0, NULL);
    assert_non_null(root);
    assert_int_equal((int)value(root, NULL, "version"), 1);
    assert_int_equal((int)value(root, NULL, "steps"), 9);
    assert_int_equal((int)value(root, "device", "count"), 1);
    assert_string_equal(json_string_value(json_object_get(root, "state")), "finished");
    idle = json_object_get(json_object_get(root, "time"), "idle");
    json_object_foreach(idle, name, part) sum += json_number_value(part);
    fgt_close("idle", sum, value(root, "time", "idle_s"), 1e-6, 0);
    fgt_close("wall", value(root, "time", "busy_s") + value(root, "time", "idle_s"),
              value(root, "time", "wall_s"), 1e-6, 0);
    fgt_close("busy", value(root, "time", "busy_s"), effects_number(summary, "busy_s"), 1e-6, 0);
    check_times(root);
    /* 2 x 4 x 2 x 3 multiplications and additions of a batch of 4, forward and backward */
    const double rate = value(root, "utilization", "flops_per_second");
    fgt_close("FLOP/s", rate, 2 * 2 * 4 * 2 * 3 * value(root, NULL, "samples_per_s") / 4, 0, 1e-6);
    fgt_close("intensity", value(root, "utilization", "intensity"),
              rate / value(root, "utilization", "bytes_per_second"), 0, 1e-6);
    assert_true(value(root, "utilization", "sixteen_bit") == 0);
    assert_true(json_is_null(json_object_get(json_object_get(root, "utilization"), "roofline")));
    const double all_s = value(root, NULL, "seconds") * value(root, "host", "cpus");
    fgt_close("CPU", value(root, "host", "cpu_fraction"), value(root, "host", "cpu_s") / all_s, 0,
              0.25); /* of a moment later */
    assert_int_equal((int64_t)value(root, "host", "peak_rss_bytes") % 1024, 0);
    assert_true(value(root, "loader", "queue_empty") >= 0 &&
                value(root, "loader", "queue_empty") <= 1);
    assert_true(value(root, "loader", "queue_mean") >= 0);
    const json_t *compile = json_array_get(json_object_get(root, "compiles"), 0);
    assert_string_equal(json_string_value(json_object_get(compile, "program")), "train_step");
    assert_true(json_is_null(json_object_get(compile, "cause")));
    assert_int_equal((int)value(compile, NULL, "step"), 0);
    const json_t *settings = json_object_get(json_object_get(root, "settings"), "compile");
    size_t i, cached = 0;
    json_array_foreach(json_object_get(root, "compiles"), i, compile) cached +=
        json_is_true(json_object_get(compile, "cached"));
    assert_int_equal(cached, (int)value(settings, NULL, "cache_hits"));
    const json_t *read = json_array_get(json_object_get(root, "host_reads"), 0);
    assert_true(*json_string_value(json_object_get(read, "at")) != '\0');
    assert_true(value(read, NULL, "count") >= 1 && value(read, NULL, "bytes") > 0);
    json_decref(root);
    const outcome *o = program_gives(0, folder, "report run");
    contains(o->out, "finished after ");
    contains(o->out, ", 9 steps, 3 epochs");
    contains(o->out, "\n  busy ");
    contains(program_gives(0, folder, "report run --html=-")->out, "Where the time goes");
}

/* A resumed run keeps what its earlier fits wrote; a new run in the same folder does not. */
static void the_parts_of_a_run(void **state)
{
    (void)state;
    static const char *const more[] = {
        "--overwrite --trainer.max_epochs=1", "--resume --trainer.max_epochs=2",
        "--resume --trainer.max_epochs=3", "--overwrite --trainer.max_epochs=1"};
    static const size_t parts[] = {1, 2, 3, 1};
    char arguments[1024];
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(arguments, sizeof arguments,
                       "fit -q --trainer.run_dir=run --trainer.batch_size=4 %s " EFFECTS_NPY,
                       more[i]);
        (void)program_gives(0, folder, arguments);
        json_t *root = json_loads(file_text(folder, "run/report.json"), 0, NULL);
        const json_t *history = json_object_get(root, "history");
        assert_int_equal(json_array_size(history), parts[i]);
        for (size_t k = 0; k < parts[i]; k++) {
            const json_t *part = json_array_get(history, k);
            assert_int_equal((int)value(part, NULL, "steps"), 3 * (int)(k + 1));
            assert_string_equal(json_string_value(json_object_get(part, "state")), "finished");
        }
        json_decref(root);
        if (parts[i] == 3)
            contains(program_gives(0, folder, "report run")->out, "Parts of the run\n");
    }
}

/* A fit ends with its times, unless it is quiet. */
static void the_end_of_a_fit(void **state)
{
    (void)state;
    static const char *const fit = "fit --trainer.run_dir=run --overwrite --trainer.max_epochs=3 "
                                   "--trainer.batch_size=4 " EFFECTS_NPY;
    char arguments[1024];
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    const outcome *o = program_gives(0, folder, fit);
    contains(o->err, "\ntime: ");
    contains(o->err, " per step (p95 ");
    contains(o->err, "; devices busy ");
    (void)snprintf(arguments, sizeof arguments, "%s -q", fit);
    o = program_gives(0, folder, arguments);
    assert_null(strstr(o->err, "time: "));
    assert_null(strstr(program_gives(0, folder,
                                     "fit --trainer.run_dir=run --resume "
                                     "--trainer.max_epochs=3 "
                                     "--trainer.batch_size=4 " EFFECTS_NPY)
                           ->err,
                       "time: ")); /* nothing was left to do */
}

/* A run that is killed has a report, and the run that continues it knows that it was killed. */
static void the_report_of_a_killed_run(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    static const char arguments[] =
        "fit -q --trainer.run_dir=run --trainer.batch_size=4 --trainer.log_every=1 "
        "--trainer.ckpt_every_steps=5 " EFFECTS_NPY;
    char command[2048];
    (void)snprintf(
        command, sizeof command,
        "fulgurite %s --trainer.max_epochs=100000000 >/dev/null 2>&1 & pid=$!; "
        "for i in $(seq 6000); do [ -s run/report.json ] && "
        "[ -e run/checkpoints/last ] && break; sleep 0.05; done; kill -9 $pid; wait $pid",
        arguments);
    (void)shell(folder, command);
    json_t *root = json_loads(file_text(folder, "run/report.json"), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "state")), "running");
    assert_true(value(root, NULL, "steps") >= 1 && value(root, NULL, "seconds") > 0);
    assert_true(json_array_size(json_object_get(root, "compiles")) >= 1);
    assert_true(json_array_size(json_object_get(root, "history")) == 1);
    json_decref(root);
    contains(program_gives(0, folder, "report run")->out, "killed; last report after ");
    contains(program_gives(2, folder, "report run --serve=abc")->err, "expected a port from 0");
    (void)program_gives(0, folder,
                        "fit -q --trainer.run_dir=run --resume=last --trainer.max_epochs=-1 "
                        "--trainer.batch_size=4 --trainer.max_time=2s " EFFECTS_NPY);
    root = json_loads(file_text(folder, "run/report.json"), 0, NULL);
    const json_t *history = json_object_get(root, "history");
    assert_int_equal(json_array_size(history), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(history, 0), "state")),
                        "killed");
    assert_string_equal(json_string_value(json_object_get(json_array_get(history, 1), "state")),
                        "finished");
    json_decref(root);
}

/* ---- following a run ------------------------------------------------------------------------- */

/* Starts a fit and follows it, beginning with its first metrics; when it has shown some and more
 * have come, `then` is done to it, as $pid. The exit status is that of `report`; its output is in
 * `out` and `err`. */
static void follow(int status, const char *folder, const char *arguments, const char *then)
{
    char command[2048];
    (void)snprintf(
        command, sizeof command,
        "rm -rf run; fulgurite fit -q --trainer.run_dir=run --trainer.batch_size=4 "
        "--trainer.log_every=100 %s " EFFECTS_NPY ">/dev/null 2>&1 & pid=$!; "
        "for i in $(seq 6000); do [ -s run/metrics.jsonl ] && break; sleep 0.05; done; "
        "wc -l <run/metrics.jsonl >before; (for i in $(seq 6000); do [ -s out ] && "
        "[ $(wc -l <run/metrics.jsonl) -gt $(cat before) ] && break; sleep 0.05; "
        "done; %s) & timeout 600 fulgurite report run --follow >out 2>err; status=$?; wait; "
        "exit $status",
        arguments, then);
    const int found = shell(folder, command);
    if (found != status)
        fail_msg("report --follow, %s: %d instead of %d", then, found, status);
}

/* The steps of all lines of metrics.jsonl are shown, more than there were when it began. */
static void all_steps_are_shown(const char *folder)
{
    const char *at = file_text(folder, "out");
    const long before = strtol(file_text(folder, "before"), NULL, 10);
    long lines = 0;
    while ((at = strstr(at, "train_loss")) != NULL) {
        at++;
        lines++;
    }
    if (before < 1 || lines <= before)
        fail_msg("%ld lines of metrics at first, %ld shown", before, lines);
}

static void following_ends_with_the_status_of_the_run(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    static const char endless[] = "--trainer.max_epochs=100000000";
    effects_write_files(folder);
    follow(0, folder, "--trainer.max_epochs=-1 --trainer.max_time=2s", "true");
    all_steps_are_shown(folder);
    follow(143, folder, endless, "kill -TERM $pid");
    all_steps_are_shown(folder);
    contains(file_text(folder, "err"), "the run was stopped");
    follow(1, folder, endless, "kill -KILL $pid");
    all_steps_are_shown(folder);
    contains(file_text(folder, "err"), "the run was killed");
}

/* ---- outputs that cannot be written ---------------------------------------------------------- */

static int status_of(const char *folder, const char *arguments)
{
    char command[1024];
    (void)snprintf(command, sizeof(command), "fulgurite %s >/dev/full 2>err", arguments);
    return shell(folder, command);
}

static void a_full_device_is_a_failure(void **state)
{
    (void)state;
    static const char *const to_stdout[] = {
        "predict run -q --data.predict=x.npy",
        "validate run -q --data.val_x=x.npy --data.val_y=y.npy",
        "show run/checkpoints/last",
        "devices --json",
        "help",
        "help --config-reference",
        "completion bash",
        "fit --print-config",
    };
    static const char *const to_files[] = {
        "predict run -q --data.predict=x.npy --out=/dev/full",
        "validate run -q --data.val_x=x.npy --data.val_y=y.npy --summary=/dev/full",
    };
    const char *folder = workplace();
    for (size_t i = 0; i < sizeof(to_stdout) / sizeof(to_stdout[0]); i++)
        if (status_of(folder, to_stdout[i]) != 1)
            fail_msg("fulgurite %s: a full standard output is no failure", to_stdout[i]);
    for (size_t i = 0; i < sizeof(to_files) / sizeof(to_files[0]); i++)
        contains(program_gives(1, folder, to_files[i])->err,
                 "cannot write '/dev/full': No space left on device");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_are_true_and_columns_predicted),
    cmocka_unit_test(the_curve_is_of_losses),
    cmocka_unit_test(times_and_rates_agree),
    cmocka_unit_test(host_time_of_a_step),
    cmocka_unit_test(a_run_names_what_it_was),
    cmocka_unit_test(the_report_of_a_run),
    cmocka_unit_test(the_report_of_a_killed_run),
    cmocka_unit_test(the_parts_of_a_run),
    cmocka_unit_test(the_end_of_a_fit),
    cmocka_unit_test(following_ends_with_the_status_of_the_run),
    cmocka_unit_test(a_full_device_is_a_failure),
};
TRAINING_MAIN(tests)
