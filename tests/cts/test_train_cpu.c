/* test_train_cpu.c - the Trainer on the CPU plugin: metrics, partial batches, predictions and
 * weights compared with values computed by hand; and the results that it reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "optim/optimizer.h"
#include "toy.h"
#include "callback/callback_rows.h"

static fg_client *client, *cold; /* cold has no compile cache, so compilations can be counted */

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_client_options options = {.accelerator = "cpu", .cache_dir = fgt_cache("")};
    const fg_client_options keeps_none = {.accelerator = "cpu", .cache_dir = ""};
    if (fg_client_open(&options, &client, &err) == FG_OK &&
        fg_client_open(&keeps_none, &cold, &err) == FG_OK)
        return 0;
    print_error("%s\n", err.message);
    return 1;
}

static int close_all(void **state)
{
    (void)state;
    fg_client_close(cold);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

/* ---- predictions and metrics ----------------------------------------------------------------- */

enum { PRIME = 101 };

typedef struct table {
    float row[PRIME][TOY_CLASSES];
    int64_t next;
} table;

static fg_status keep_rows(void *self, const fg_type *type, const void *rows, int64_t first,
                           fg_error *err)
{
    table *t = self;
    (void)err;
    assert_int_equal(first, t->next); /* in order, without gaps */
    assert_int_equal(type->dtype, FG_F32);
    assert_int_equal(type->rank, 2);
    assert_int_equal(type->dim[1], TOY_CLASSES);
    assert_true(first + type->dim[0] <= PRIME);
    memcpy(t->row[first], rows, (size_t)type->dim[0] * sizeof t->row[0]);
    t->next = first + type->dim[0];
    return FG_OK;
}

/* Loss and accuracy over the rows, computed on the host in double. */
static void by_hand(const table *t, uint64_t seed, double *out_loss, double *out_acc)
{
    double loss = 0;
    int right = 0;
    for (int64_t i = 0; i < PRIME; i++) {
        float x[TOY_FEATURES];
        const int32_t label = toy_sample(i, seed, x);
        double sum = 0;
        int best = 0;
        for (int c = 0; c < TOY_CLASSES; c++) {
            sum += exp((double)t->row[i][c]);
            best = t->row[i][c] > t->row[i][best] ? c : best;
        }
        loss += log(sum) - (double)t->row[i][label];
        right += best == label;
    }
    *out_loss = loss / PRIME;
    *out_acc = (double)right / PRIME;
}

static void metrics_of_a_prime_number_of_samples(void **state)
{
    (void)state;
    static const int64_t sizes[] = {7, PRIME, 128};
    fg_error err = {0};
    toy model = {.has_norm = true, .dropout = 0.5};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *data = toy_data(PRIME, 3);
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 3});
    double loss = 0, acc = 0;
    fgt_ok(fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .batch_size = 16}, &err));
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        static table rows;
        rows.next = 0;
        const fg_fit_data passes = {
            .val = data, .test = data, .predict = data, .batch_size = sizes[s]};
        fgt_ok(fg_trainer_predict(trainer, &task, &passes, keep_rows, &rows, &err));
        assert_int_equal(rows.next, PRIME);
        by_hand(&rows, 3, &loss, &acc);
        fgt_ok(fg_trainer_validate(trainer, &task, &passes, &err));
        fgt_close("val_loss", toy_metric(trainer, "val_loss"), loss, 0, 2e-6);
        assert_true(toy_metric(trainer, "val_acc") == acc); /* sums of ones are exact */
        if (s != 1)
            continue;
        fgt_ok(fg_trainer_test(trainer, &task, &passes, &err)); /* by val_step */
        assert_true(toy_metric(trainer, "test_acc") == acc);
        fgt_close("test_loss", toy_metric(trainer, "test_loss"), loss, 0, 2e-6);
        assert_int_equal(fg_trainer_result(trainer)->metric_count, 2);
    }
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

/* With a negligible learning rate, the training metrics of an epoch equal those of validation. */
static fg_optimizer *standing_still(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 1e-30});
}

static void training_metrics_count_each_sample_once(void **state)
{
    (void)state;
    fg_error err = {0};
    toy model = {0};
    fg_task_ops ops = toy_ops;
    ops.optimizer = standing_still;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    fg_dataset *data = toy_data(PRIME, 3);
    for (int64_t size = 1; size < 128; size = size * 31) {
        fg_trainer *trainer = toy_trainer(
            client, &(fg_trainer_options){.limits.max_epochs = 2, .output.log_every = 3});
        const fg_fit_data fit = {.train = data, .val = data, .batch_size = size};
        fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
        fgt_close("loss", toy_metric(trainer, "train_loss"), toy_metric(trainer, "val_loss"), 0,
                  2e-6);
        assert_true(toy_metric(trainer, "train_acc") == toy_metric(trainer, "val_acc"));
        fg_trainer_destroy(trainer);
    }
    fg_dataset_destroy(data);
}

/* ---- partial batches ------------------------------------------------------------------------- */

enum { ROWS = 22, BATCH = 8, EPOCHS = 3 };

/* One step of a custom loop over rows first to first + count - 1, unchanged. */
static void own_step(fg_trace *trace, const toy *model, fg_optimizer *optimizer, int64_t first,
                     int64_t count)
{
    fg_error err = {0};
    float x[BATCH][TOY_FEATURES], loss = 0;
    int32_t y[BATCH];
    fg_array *xs = NULL, *ys = NULL;
    for (int64_t i = 0; i < count; i++)
        y[i] = toy_sample(first + i, 4, x[i]);
    const fg_type x_type = {.dtype = FG_F32, .rank = 2, .dim = {count, TOY_FEATURES}};
    const fg_type y_type = {.dtype = FG_S32, .rank = 1, .dim = {count}};
    fgt_ok(fg_array_create(client, &x_type, x, &xs, &err));
    fgt_ok(fg_array_create(client, &y_type, y, &ys, &err));
    const fg_tensor logits = toy_forward(model, fg_input(trace, xs));
    const fg_tensor value = fg_cross_entropy(logits, fg_input(trace, ys), NULL);
    fg_optimizer_minimize(optimizer, value);
    fgt_ok(fg_run_f32(trace, value, &loss, &err));
    fg_array_release(xs);
    fg_array_release(ys);
}

static void own_loop(const toy *model, fg_optimizer *optimizer)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fgt_ok(fg_trace_create(client, &trace, &err));
    fg_trace_set_training(trace, true);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int64_t first = 0; first < ROWS; first += BATCH)
            own_step(trace, model, optimizer, first, ROWS - first < BATCH ? ROWS - first : BATCH);
    fg_trace_destroy(trace);
}

static void assert_same_values(fg_variable *a, fg_variable *b)
{
    fg_error err = {0};
    float left[64], right[64];
    const size_t size = fg_type_bytes(fg_variable_type(a));
    const bool is_float = fg_variable_type(a)->dtype == FG_F32;
    assert_true(size <= sizeof left);
    assert_string_equal(fg_variable_name(a), fg_variable_name(b));
    fgt_ok(fg_variable_read(a, left, size, &err));
    fgt_ok(fg_variable_read(b, right, size, &err));
    if (!is_float)
        assert_memory_equal(left, right, size);
    for (size_t i = 0; is_float && i < size / sizeof left[0]; i++)
        fgt_close(fg_variable_name(a), (double)left[i], (double)right[i], 2e-5, 2e-4);
}

/* The Trainer pads the last batch and masks the padding: the result of each step, including batch
 * norm's statistics, must equal that of a program for the actual batch size. */
static void a_masked_tail_is_a_smaller_batch(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"sgd", "adam"};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        toy ours = {.has_norm = true, .optimizer = optimizers[i]}, theirs = ours;
        const fg_task task = {.name = "toy", .self = &ours, .ops = &toy_ops};
        fg_dataset *data = toy_data(ROWS, 4);
        fg_module *root = NULL;
        fg_trainer *trainer =
            toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = EPOCHS, .seed = 9});
        const fg_fit_data fit = {.train = data, .batch_size = BATCH, .no_shuffle = true};
        fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
        fgt_ok(fg_module_create(NULL, 9, &root, &err));
        toy_ops.build(&theirs, root);
        fg_optimizer *optimizer = toy_ops.optimizer(&theirs, root);
        fgt_ok(fg_module_error(root, &err));
        own_loop(&theirs, optimizer);
        fg_module *mine = fg_trainer_module(trainer);
        const size_t count = fg_module_variable_count(root);
        assert_int_equal(fg_module_variable_count(mine), count);
        for (size_t v = 0; v < count; v++)
            assert_same_values(fg_module_variable_at(mine, v), fg_module_variable_at(root, v));
        fg_module_destroy(root);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

/* ---- fit, validate, fit ---------------------------------------------------------------------- */

static void a_validation_between_changes_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_dataset *data = toy_data(50, 1), *other = toy_data(30, 2);
    toy models[2] = {{.dropout = 0.2, .has_norm = true}, {.dropout = 0.2, .has_norm = true}};
    fg_trainer *trainer[2];
    for (int i = 0; i < 2; i++) {
        const fg_task task = {.name = "toy", .self = &models[i], .ops = &toy_ops};
        const fg_fit_data fit = {.train = data, .val = other, .batch_size = 8};
        static recorder records[2];
        recorder *r = &records[i];
        trainer[i] = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 4});
        r->at_event = "batch_end";
        r->at_count = i == 0 ? 10 : -1;
        r->status = FG_ESTOPPED;
        fgt_ok(fg_trainer_add_callback(trainer[i], &recorder_ops, r, &err));
        const fg_status status = fg_trainer_fit(trainer[i], &task, &fit, &err);
        assert_int_equal(status, i == 0 ? FG_ESTOPPED : FG_OK);
        if (i == 0) { /* in the middle of the second epoch */
            fgt_ok(fg_trainer_validate(trainer[i], &task, &fit, &err));
            assert_true(toy_metric(trainer[i], "val_loss") > 0);
            fgt_ok(fg_trainer_fit(trainer[i], &task, &fit, &err));
        }
        assert_int_equal(fg_trainer_result(trainer[i])->steps, 28);
        assert_int_equal(fg_trainer_result(trainer[i])->epochs, 4);
    }
    assert_true(toy_metric(trainer[0], "train_loss") == toy_metric(trainer[1], "train_loss"));
    assert_true(toy_metric(trainer[0], "val_loss") == toy_metric(trainer[1], "val_loss"));
    for (size_t v = 0; v < fg_module_variable_count(fg_trainer_module(trainer[0])); v++) {
        unsigned char a[256], b[256];
        fg_variable *left = fg_module_variable_at(fg_trainer_module(trainer[0]), v);
        fg_variable *right = fg_module_variable_at(fg_trainer_module(trainer[1]), v);
        const size_t size = fg_type_bytes(fg_variable_type(left));
        fgt_ok(fg_variable_read(left, a, size, &err));
        fgt_ok(fg_variable_read(right, b, size, &err));
        assert_memory_equal(a, b, size);
    }
    fg_trainer_destroy(trainer[0]);
    fg_trainer_destroy(trainer[1]);
    fg_dataset_destroy(data);
    fg_dataset_destroy(other);
}

/* ---- starting weights ------------------------------------------------------------------------ */

static void weights_of_a_checkpoint_and_of_a_file(void **state)
{
    (void)state;
    fg_error err = {0};
    toy model = {.has_norm = true};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *data = toy_data(50, 1);
    const fg_fit_data fit = {.train = data, .val = data, .batch_size = 8};
    const char *folder = fgt_temp_folder();
    fg_trainer *trainer = toy_trainer(
        client, &(fg_trainer_options){.limits.max_epochs = 2, .checkpoints.run_dir = folder});
    fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
    const double loss = toy_metric(trainer, "val_loss");
    char paths[2][600];
    (void)snprintf(paths[0], sizeof paths[0], "%s", fg_trainer_result(trainer)->checkpoint);
    (void)snprintf(paths[1], sizeof paths[1], "%.512s/model.safetensors", paths[0]);
    fg_trainer_destroy(trainer);
    for (int i = 0; i < 2; i++) {
        trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 1,
                                                            .checkpoints.weights = paths[i],
                                                            .seed = 77});
        fgt_ok(fg_trainer_validate(trainer, &task, &fit, &err));
        assert_true(toy_metric(trainer, "val_loss") == loss);
        fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err)); /* from step 0 */
        assert_int_equal(fg_trainer_result(trainer)->steps, 7);
        assert_true(toy_metric(trainer, "val_loss") < loss);
        fg_trainer_destroy(trainer);
        /* resume requires the state too, evaluations do not */
        trainer = toy_trainer(
            client, &(fg_trainer_options){.limits.max_epochs = 3, .checkpoints.resume = paths[i]});
        fgt_ok(fg_trainer_validate(trainer, &task, &fit, &err));
        assert_true(toy_metric(trainer, "val_loss") == loss);
        const fg_status status = fg_trainer_fit(trainer, &task, &fit, &err);
        assert_int_equal(status, i == 0 ? FG_OK : FG_EINVAL);
        if (i == 1)
            assert_non_null(strstr(err.message, "is a file of weights, not a checkpoint"));
        fg_trainer_destroy(trainer);
    }
    fg_dataset_destroy(data);
}

/* ---- NaN ------------------------------------------------------------------------------------- */

static fg_tensor infinite_loss(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor loss = fg_mean(toy_forward(self, fg_batch_at(batch, 0)), 0, NULL);
    fg_step_log(st, "nan", fg_sqrt(fg_add_scalar(fg_mul_scalar(loss, 0), -1)));
    return fg_exp(fg_add_scalar(fg_mul_scalar(loss, 0), 1000));
}

/* A run that diverges is reported and saved like any other; it has no best checkpoint. */
static void infinity_is_no_best(void **state)
{
    (void)state;
    fg_error err = {0};
    toy model = {0};
    fg_task_ops ops = toy_ops;
    ops.val_step = infinite_loss;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    fg_dataset *data = toy_data(12, 1);
    const fg_fit_data fit = {.train = data, .val = data, .batch_size = 8};
    const char *monitors[] = {"val_loss", "val_nan"};
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        size_t size = 0;
        const fg_trainer_options options = {.limits.max_epochs = 2,
                                            .checkpoints.run_dir = fgt_temp_folder(),
                                            .checkpoints.monitor = monitors[i],
                                            .checkpoints.monitor_mode =
                                                i == 0 ? FG_MODE_MAX : FG_MODE_MIN};
        fg_trainer *trainer = toy_trainer(client, &options);
        fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
        assert_true(isinf(toy_metric(trainer, "val_loss")));
        assert_true(isnan(toy_metric(trainer, "val_nan")));
        assert_false(fgi_file_exists(fgt_path(options.checkpoints.run_dir, "checkpoints/best")));
        assert_true(fgi_file_exists(fgt_path(options.checkpoints.run_dir, "checkpoints/last")));
        fgt_ok(fgi_file_read(fgt_path(options.checkpoints.run_dir, "metrics.jsonl"), 1 << 16, &text,
                             &size, &err));
        assert_non_null(
            strstr(text, "{\"step\": 2, \"epoch\": 0, \"val_nan\": null, \"val_loss\": null}\n"));
        fgi_free(text);
        fg_trainer_destroy(trainer);
    }
    fg_dataset_destroy(data);
}

/* ---- results --------------------------------------------------------------------------------- */

static void assert_metrics(const fg_result *r, int64_t samples)
{
    const fg_idle *idle = &r->idle;
    const double parts[] = {idle->input_s, idle->upload_s,     idle->compile_s,
                            idle->read_s,  idle->checkpoint_s, idle->other_s};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_true(parts[i] >= 0);
        sum += parts[i];
    }
    fgt_close("idle", sum, idle->idle_s, 1e-9, 1e-9);
    assert_true(r->time_to_first_step_s > 0);
    assert_true(r->host_overhead_s > 0);
    assert_true(r->step_median_s >= 0 && r->step_median_s <= r->step_p95_s);
    if (r->step_times.max_s <= 0) /* the ends of all steps were noticed together */
        return;
    assert_true(idle->busy_s > 0);
    assert_true(r->samples_per_s > 0);
    /* all steps but the first, in less than busy plus idle time */
    assert_true((double)samples / r->samples_per_s < idle->busy_s + idle->idle_s + 1e-9);
}

static void results_of_a_run(void **state)
{
    (void)state;
    fg_error err = {0};
    toy model = {.has_norm = true, .dropout = 0.1};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *data = toy_data(203, 1), *val = toy_data(37, 2);
    const fg_schedule onecycle = {.row = &fgi_onecycle_row};
    const fg_trainer_options options = {.limits.max_epochs = 4,
                                        .output.log_every = 2,
                                        .lr.schedule = &onecycle,
                                        .checkpoints.run_dir = fgt_temp_folder(),
                                        .validation.val_every_steps = 11,
                                        .checkpoints.ckpt_every_steps = 5};
    const fg_fit_data fit = {.train = data, .val = val, .predict = val, .batch_size = 8};
    fg_trainer *trainer = toy_trainer(cold, &options);
    fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
    const fg_result *r = fg_trainer_result(trainer);
    /* partial batches, a schedule, dropout: one program for training and one for validation */
    assert_int_equal(r->compiles, 2);
    assert_int_equal(r->compile_cache_hits, 0);
    assert_true(r->compile_s > 0);
    /* values are not read one by one, neither metrics nor the values of a checkpoint */
    assert_int_equal(r->host_reads, 0);
    assert_int_equal(r->steps, 4 * 26);
    assert_int_equal(r->epochs, 4);
    assert_true(r->device_peak_bytes > 0);
    assert_true(r->idle.checkpoint_s > 0);
    assert_true(r->idle.compile_s == 0); /* both were compiled before the first step */
    assert_true(r->step_times.max_s > 0);
    assert_metrics(r, 4 * 203 - 8);
    /* nothing is compiled later, and evaluations have separate results */
    fgt_ok(fg_trainer_validate(trainer, &task, &fit, &err));
    assert_int_equal(r->compiles, 0);
    assert_metrics(r, 37 - 8);
    assert_true(r->idle.checkpoint_s == 0 && r->idle.compile_s == 0);
    static table rows;
    rows.next = 0;
    fgt_ok(fg_trainer_predict(trainer, &task, &fit, keep_rows, &rows, &err));
    assert_int_equal(r->compiles, 1);
    assert_int_equal(r->host_reads, 0);
    assert_metrics(r, 37 - 8);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_dataset_destroy(val);
}

/* Callbacks of all rows, with default options, or those that they require. */
static void add_all_rows(fg_trainer *trainer)
{
    fg_error err = {0};
    for (size_t i = 0; i < fgi_callback_row_count; i++) {
        const fg_callback_entry *row = (const fg_callback_entry *)fgi_callback_rows[i];
        void *self = NULL;
        fgt_ok(FGT_ROW_BEGIN(row, toy_callback_options(row->entry.name), &self, &err));
        fgt_ok(fg_trainer_add_callback(trainer, row->ops, self, &err));
    }
}

/* Callbacks read values of the device with the metrics only. */
static void callbacks_read_nothing(void **state)
{
    (void)state;
    fg_error err = {0};
    toy model = {.has_norm = true};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *data = toy_data(203, 1), *val = toy_data(37, 2);
    const fg_fit_data fit = {.train = data, .val = val, .batch_size = 8};
    const fg_trainer_options options = {.limits.max_epochs = 5,
                                        .output.log_every = 2,
                                        .checkpoints.run_dir = fgt_temp_folder(),
                                        .validation.val_every_steps = 11,
                                        .checkpoints.ckpt_every_steps = 5};
    fg_trainer *trainer = toy_trainer(client, &options);
    add_all_rows(trainer);
    fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 5 * 26);
    assert_int_equal(fg_trainer_result(trainer)->host_reads, 0);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_dataset_destroy(val);
}

/* Other data of the same shape use the same program. */
static void other_data_take_the_same_program(void **state)
{
    (void)state;
    fg_error err = {0};
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *data[3] = {toy_data(30, 1), toy_data(41, 2), toy_data(40, 3)};
    fg_trainer *trainer = toy_trainer(cold, &(fg_trainer_options){0});
    static const int64_t compiles[] = {1, 0, 1}; /* 40 samples need no mask */
    for (int i = 0; i < 3; i++) {
        fgt_ok(fg_trainer_validate(trainer, &task, &(fg_fit_data){.val = data[i], .batch_size = 8},
                                   &err));
        assert_int_equal(fg_trainer_result(trainer)->compiles, compiles[i]);
    }
    fg_trainer_destroy(trainer);
    for (int i = 0; i < 3; i++)
        fg_dataset_destroy(data[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(metrics_of_a_prime_number_of_samples),
    cmocka_unit_test(training_metrics_count_each_sample_once),
    cmocka_unit_test(a_masked_tail_is_a_smaller_batch),
    cmocka_unit_test(a_validation_between_changes_nothing),
    cmocka_unit_test(weights_of_a_checkpoint_and_of_a_file),
    cmocka_unit_test(infinity_is_no_best),
    cmocka_unit_test(results_of_a_run),
    cmocka_unit_test(callbacks_read_nothing),
    cmocka_unit_test(other_data_take_the_same_program),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
