/* test_batch_find.c - `fulgurite batch-find` on the fake plugin, whose devices have a configurable
 * amount of memory: the batches tried, the result, and the error if nothing fits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fulgurite/data.h>

#include "run_program.h"

enum { SAMPLES = 1000 };

#define ARGUMENTS                                                                                  \
    "batch-find --data.format=npy --data.x=x.npy --data.y=y.npy --model.hidden=[8] "               \
    "--trainer.accelerator=cpu --trainer.run_dir=run "

static const char *workplace(void)
{
    static float x[SAMPLES][4];
    static int32_t y[SAMPLES];
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    const fg_type x_type = {FG_F32, 2, {SAMPLES, 4}}, y_type = {FG_S32, 1, {SAMPLES}};
    for (int i = 0; i < SAMPLES; i++)
        y[i] = i % 3;
    fgt_ok(fg_npy_write(fgt_path(folder, "x.npy"), &x_type, x, &err));
    fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &y_type, y, &err));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0); /* nothing is compiled yet */
    return folder;
}

static const outcome *find(int status, const char *folder, const char *fake, const char *more)
{
    char line[512];
    (void)snprintf(line, sizeof(line), ARGUMENTS "%s", more);
    assert_int_equal(setenv("FAKEPJRT", fake, 1), 0);
    const outcome *o = program_gives(status, folder, line);
    assert_int_not_equal(access(fgt_path(folder, "run"), F_OK), 0); /* it creates no folder */
    return o;
}

static long number(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    if (at == NULL)
        fail_msg("'%s' is not in:\n%s", name, text);
    return strtol(at + strlen(name), NULL, 10);
}

/* Each line of standard error is of a batch, the bytes it needs in kB, and whether they are nine
 * tenths of `limit` or less; returns the largest batch that was, and its kB. */
static long check_tries(char *lines, double limit, double *out_kilobytes)
{
    long best = 0;
    for (char *rest = lines, *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
        long batch;
        double kilobytes;
        char verdict[32];
        if (sscanf(line, "batch_size %ld: needs %lf kB per device, %31[a-z ]", &batch, &kilobytes,
                   verdict) != 3)
            continue;
        const bool fits = strcmp(verdict, "fits") == 0;
        assert_true(fits || strcmp(verdict, "too much") == 0);
        if (fabs(kilobytes * 1e3 - 0.9 * limit) > 50) /* one decimal */
            assert_int_equal(fits, kilobytes * 1e3 < 0.9 * limit);
        if (fits && batch > best) {
            best = batch;
            *out_kilobytes = kilobytes;
        }
    }
    return best;
}

static void the_largest_batch_is_printed(void **state)
{
    (void)state;
    enum { LIMIT = 12000 };
    double kilobytes = 0;
    const char *folder = workplace();
    const outcome *o =
        find(0, folder, "memory_limit_bytes=12000", "--trainer.batch_size=16 --summary=s.json");
    const long batch = number(o->out, "batch_size\t");
    assert_int_equal(number(o->out, "\nglobal_batch_size\t"), batch);
    assert_int_equal(number(o->out, "\nlimit_bytes\t"), LIMIT);
    const double need = (double)number(o->out, "\nneed_bytes\t");
    assert_true(need > 0.8 * LIMIT && need <= 0.9 * LIMIT);
    contains(o->err, "batch_size 16: ");
    contains(o->err, ": ran one training step\n");
    assert_null(strstr(o->err, "all training samples"));
    char *lines = strdup(o->err);
    assert_int_equal(check_tries(lines, LIMIT, &kilobytes), batch);
    assert_true(fabs(kilobytes * 1e3 - need) <= 50);
    free(lines);
    json_t *summary = json_load_file(fgt_path(folder, "s.json"), 0, NULL);
    assert_true(json_is_false(json_object_get(json_object_get(summary, "batch"), "all_fit")));
    assert_true(json_is_true(json_object_get(json_object_get(summary, "batch"), "was_run")));
    json_decref(summary);
}

static double json_at(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* The learning rate that fit would use, and those of the scaling rules from the batch before. */
static void the_effect_on_the_learning_rate(void **state)
{
    (void)state;
    const char *folder = workplace();
    const outcome *o =
        find(0, folder, "memory_limit_bytes=1073741824,devices=2",
             "--trainer.devices=2 --trainer.global_batch_size=20 --optimizer.lr=0.01 "
             "--trainer.lr_scaling=linear --trainer.accumulate_grad_batches=3 "
             "--summary=s.json");
    contains(o->out, "\nlr_given\t0.01\nlr_factor\t6\nlr\t0.06\nlr_linear\t3\nlr_sqrt\t0.173205\n");
    contains(o->err, "optimizer.lr: 0.01; with this batch, fit uses 0.06 (lr_scaling=linear)\n");
    contains(o->err,
             "if it is meant for trainer.base_batch_size=10: 3 with lr_scaling=linear, 0.1732 "
             "with sqrt\n");
    json_t *summary = json_load_file(fgt_path(folder, "s.json"), 0, NULL);
    const json_t *batch = json_object_get(summary, "batch"), *lr = json_object_get(batch, "lr");
    assert_true(json_is_true(json_object_get(batch, "was_run")));
    assert_int_equal((int)json_at(batch, "batch_size"), SAMPLES / 2);
    fgt_close("used", json_at(lr, "used"), 0.06, 0, 1e-9);
    /* 1000 samples in each of three batches, for a rate that is meant for 10 */
    fgt_close("linear", json_at(lr, "linear"), 0.01 * 300, 0, 1e-8);
    fgt_close("sqrt", json_at(lr, "sqrt"), 0.01 * sqrt(300), 0, 1e-8);
    json_decref(summary);
}

static void a_step_that_runs_out_of_memory(void **state)
{
    (void)state;
    const outcome *o = find(1, workplace(), "memory_limit_bytes=1073741824,execute_error=8", "");
    contains(o->err, "batch_size 1000: the devices ran out of memory in a training step: trying a "
                     "smaller one\nbatch_size 936: ");
    contains(o->err, "not even a batch of 1 per device fits in 1.1 GB: ");
    assert_string_equal(o->out, "");
}

/* Each of two devices has at most half of the samples; nothing larger is tried. */
static void all_samples_in_one_batch(void **state)
{
    (void)state;
    const char *folder = workplace();
    const outcome *o =
        find(0, folder, "memory_limit_bytes=1073741824,devices=2", "--trainer.devices=2");
    assert_int_equal(number(o->out, "batch_size\t"), SAMPLES / 2);
    assert_int_equal(number(o->out, "global_batch_size\t"), SAMPLES);
    contains(o->err, "all training samples fit in one batch\n");
    o = find(0, folder, "memory_limit_bytes=1073741824", "--quiet");
    assert_int_equal(number(o->out, "batch_size\t"), SAMPLES);
    assert_string_equal(o->err, "");
}

static void nothing_fits(void **state)
{
    (void)state;
    const char *folder = workplace();
    const outcome *o = find(1, folder, "memory_limit_bytes=700", "");
    contains(o->err, "not even a batch of 1 per device fits in 700 B: ");
    assert_string_equal(o->out, "");
    o = find(1, workplace(), "memory_limit_bytes=60000,compile_error=8", "");
    contains(o->err, ": the compiler runs out of memory\n");
    contains(o->err, "not even a batch of 1 per device fits in 60.0 kB: ");
}

static void large_memories_are_reported_in_gigabytes(void **state)
{
    static const struct {
        const char *fake, *words;
    } rows[] = {{"memory_limit_bytes=1500000000,compile_error=8", " fits in 1.5 GB: "},
                {"memory_limit_bytes=1000000000,compile_error=8", " fits in 1.0 GB: "},
                {"memory_limit_bytes=999900000,compile_error=8", " fits in 999.9 MB: "}};
    const char *folder = workplace();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        contains(find(1, folder, rows[i].fake, "")->err, rows[i].words);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_largest_batch_is_printed),
    cmocka_unit_test(the_effect_on_the_learning_rate),
    cmocka_unit_test(a_step_that_runs_out_of_memory),
    cmocka_unit_test(all_samples_in_one_batch),
    cmocka_unit_test(nothing_fits),
    cmocka_unit_test(large_memories_are_reported_in_gigabytes),
};

int main(void)
{
    if (setenv("FULGURITE_PLUGIN", FGT_BINARY_DIR "/fakepjrt.so", 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
