/* test_report.c - the output at the end of a run: the confusion matrix compared with one counted
 * here, the numbers of the summary compared with each other and the clock, and outputs that cannot
 * be written. Needs the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

/* One line per true class: " 1 | . 3 2   40.0 %". */
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
    (void)snprintf(head, sizeof(head), "confusion matrix: %d of %d correct  %5.1f %%", right,
                   data->rows, 100.0 * right / data->rows);
    contains(out, head);
    const char *at = strstr(out, "true |");
    assert_non_null(at);
    for (int k = 0; k < CLASSES; k++) {
        char line[128] = {0}, *cell = line;
        int sum = 0;
        at = strchr(at, '\n') + 1;
        (void)memcpy(line, at, strcspn(at, "\n") < 127 ? strcspn(at, "\n") : 127);
        assert_int_equal(strtol(line, &cell, 10), k);
        cell = strchr(cell, '|') + 1;
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

/* The axes range from the smallest to the largest loss, of training and validation, and from the
 * first step to the last. */
static void the_curve_is_of_losses(void **state)
{
    (void)state;
    char line[1024], text[64];
    double least = 1e9, most = -1e9;
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
    (void)snprintf(text, sizeof(text), "%8.4g |", most);
    contains(out, text);
    (void)snprintf(text, sizeof(text), "%8.4g |", least);
    contains(out, text);
    contains(out, "9 steps\n          * train_loss   o val_loss\n");
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
    cmocka_unit_test(a_full_device_is_a_failure),
};
TRAINING_MAIN(tests)
