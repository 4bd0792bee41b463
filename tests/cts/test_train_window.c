/* test_train_window.c - a NaN logged in a window that is still open when the run is stopped: the
 * resumed run logs it in the same line, and later lines are not affected; also the best checkpoint
 * and the means of epochs. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "toy.h"
#include "train/save/divergence.h"
#include "train/trainer.h"

enum { SAMPLES = 12, BATCH = 2, STEPS = 12 }; /* two epochs of six steps */

static fg_client *client;
static fg_dataset *data;

/* Fields x and m of one number; m of samples 4 and 5, in the third step of an epoch, is NaN. */
static int open_all(void **state)
{
    (void)state;
    static float x[SAMPLES], m[SAMPLES];
    fg_error err = {0};
    for (int i = 0; i < SAMPLES; i++) {
        x[i] = (float)i;
        m[i] = i / BATCH == 2 ? NAN : (float)i;
    }
    static const fg_field fields[] = {{"x", {.dtype = FG_F32}}, {"m", {.dtype = FG_F32}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x, m}, FG_BORROW, &data, &err));
    const fg_client_options options = {.accelerator = "cpu",
                                       .cache_dir = fgt_cache(fgt_temp_folder())};
    return fg_client_open(&options, &client, &err) != FG_OK;
}

static int close_all(void **state)
{
    (void)state;
    fg_dataset_destroy(data);
    fg_client_close(client);
    return 0;
}

/* ---- the task: one weight, a loss that is always finite, and m as it is ---------------------- */

static fg_variable *weight;

static void build(void *self, fg_module *root)
{
    static const fg_type scalar = {.dtype = FG_F32};
    (void)self;
    weight = fg_module_variable(root, "weight", &scalar, NULL);
}

static fg_tensor step(void *self, fg_step *at, const fg_batch *batch)
{
    (void)self;
    const fg_tensor x = fg_batch_field(batch, "x");
    fg_step_log(at, "m", fg_batch_field(batch, "m"));
    const fg_tensor w = fg_variable_value(fg_step_trace(at), weight);
    return fg_mse(fg_mul(x, w), x);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 1e-4});
}

static const fg_task_ops ops = {
    .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};
static const fg_task task = {.name = "window", .ops = &ops};

/* The mean of m in the epoch so far: also of steps whose window is open. */
static void check_means(const fg_result *result, int64_t steps)
{
    const int64_t samples = BATCH * ((steps - 1) % (SAMPLES / BATCH) + 1);
    double mean = (double)NAN;
    for (size_t i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].name, "train_m") == 0)
            mean = result->metrics[i].value;
    if (samples > 2 * BATCH) /* sample 4 is NaN */
        assert_true(isnan(mean));
    else
        fgt_close("m", mean, (double)(samples - 1) / 2, 1e-6, 0);
}

/* Trains until the limit or the event, in `folder`. */
static void train(const char *folder, int64_t stop_at, const char *resume, const char *monitor)
{
    static recorder r;
    fg_error err = {0};
    const fg_trainer_options options = {.limits.max_steps = STEPS,
                                        .output.log_every = 4,
                                        .validation.val_every_epochs = 1,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.monitor = monitor,
                                        .checkpoints.keep_checkpoints = FG_NONE,
                                        .checkpoints.resume = resume};
    fg_trainer *trainer = toy_trainer(client, &options);
    r = (recorder){.at_event = "batch_end", .at_count = (int)stop_at, .status = FG_ESTOPPED};
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    const fg_fit_data fit = {.train = data, .val = data, .batch_size = BATCH, .no_shuffle = true};
    assert_int_equal(fg_trainer_fit(trainer, &task, &fit, &err), stop_at > 0 ? FG_ESTOPPED : FG_OK);
    check_means(fg_trainer_result(trainer), stop_at > 0 ? stop_at : STEPS);
    /* the first step has too few samples for its loss to be a reference; no other step counts */
    assert_int_equal(trainer->divergence.at.has_start, 0);
    fg_trainer_destroy(trainer);
}

static char *read_log(const char *folder)
{
    fg_error err = {0};
    char *text;
    size_t size;
    fgt_ok(fgi_file_read(fgt_path(folder, "metrics.jsonl"), 1 << 20, &text, &size, &err));
    return text;
}

/* Whether train_m is null in the line of a step. */
static void assert_null_at(const char *log, int step, bool is_null)
{
    char head[32];
    (void)snprintf(head, sizeof(head), "{\"step\": %d,", step);
    const char *line = strstr(log, head);
    assert_non_null(line);
    const char *value = strstr(line, "\"train_m\": ");
    assert_non_null(value);
    assert_int_equal(strncmp(value + strlen("\"train_m\": "), "null", 4) == 0, is_null);
}

/* Windows end after steps 4, 6 (the end of the epoch), 8 and 12; NaN is in steps 3 and 9. */
static void it_stays_in_its_window(void **state)
{
    (void)state;
    const char *whole = fgt_temp_folder();
    train(whole, 0, NULL, NULL);
    char *expected = read_log(whole);
    assert_null_at(expected, 4, true);
    assert_null_at(expected, 6, false);
    assert_null_at(expected, 8, false);
    assert_null_at(expected, 12, true);
    for (int stop = 1; stop < STEPS; stop++) { /* with the window open, before and after the NaN */
        const char *parts = fgt_temp_folder();
        train(parts, stop, NULL, NULL);
        train(parts, 0, "last", NULL);
        char *log = read_log(parts);
        assert_string_equal(log, expected);
        fgi_free(log);
    }
    fgi_free(expected);
}

/* NaN is never the best value, and does not hide a better value after it. */
static void it_is_never_the_best(void **state)
{
    (void)state;
    const char *folder = fgt_temp_folder();
    train(folder, 0, NULL, "val_m");
    assert_false(fgi_file_exists(fgt_path(folder, "checkpoints/best")));
    folder = fgt_temp_folder();
    train(folder, 0, NULL, "val_loss");
    assert_true(fgi_file_exists(fgt_path(folder, "checkpoints/best")));
    folder = fgt_temp_folder();
    train(folder, 0, NULL, "train_loss");
    assert_true(fgi_file_exists(fgt_path(folder, "checkpoints/best")));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_stays_in_its_window),
    cmocka_unit_test(it_is_never_the_best),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
