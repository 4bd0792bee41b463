/* test_train_regression.c - MAE, RMSE and R^2 as the Trainer logs them, compared with values
 * computed by hand: with padding rows, on several devices, in another unit, far from zero, and with
 * all targets equal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy.h"

enum { MOST = 101, OUTPUTS = 3 };

/* Predictions are a field of the data, so that the expected metrics are known. */
typedef struct fixed {
    fg_linear *unused;
    fg_regression_options options;
    bool is_wrong;
} fixed;

static void build(void *self, fg_module *root)
{
    fixed *f = self;
    f->unused = fg_linear_create(root, "fc", &(fg_linear_options){.in = 1, .out = 1});
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const fixed *f = self;
    const fg_tensor p = fg_batch_at(batch, 0), y = fg_batch_at(batch, 1);
    fg_step_log_regression(st, f->is_wrong ? fg_reshape(p, FG_DIMS(-1, 1)) : p, y, &f->options);
    return fg_mse(p, y);
}

static const fg_task_ops ops = {.build = build, .val_step = step};

/* Computed by hand, in double. */
typedef struct metrics {
    double mae, rmse, r2;
} metrics;

static metrics by_hand(const float *p, const float *y, int count, double unit)
{
    double far = 0, squares = 0, mean = 0, total = 0;
    for (int i = 0; i < count; i++) {
        far += fabs((double)p[i] - (double)y[i]) / count;
        squares += pow((double)p[i] - (double)y[i], 2);
        mean += (double)y[i] / count;
    }
    for (int i = 0; i < count; i++)
        total += pow((double)y[i] - mean, 2);
    return (metrics){far * unit, sqrt(squares / count) * unit, 1 - squares / total};
}

static fg_dataset *dataset_of(const float *p, const float *y, int count, int outputs)
{
    fg_error err;
    fg_dataset *dataset;
    fg_field fields[] = {{"p", {.dtype = FG_F32}}, {"y", {.dtype = FG_F32}}};
    for (int i = 0; i < 2 && outputs > 1; i++)
        fields[i].type = (fg_type){FG_F32, 1, {outputs}};
    const fg_dataset_spec spec = {.count = count, .fields = fields, .field_count = 2};
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){p, y}, FG_BORROW, &dataset, &err));
    return dataset;
}

/* *err receives the error of the validation. */
static fg_trainer *validated(const char *devices, fixed *f, fg_dataset *data, int64_t batch,
                             fg_error *out_err)
{
    const fg_task task = {.name = "fixed", .self = f, .ops = &ops};
    const fg_fit_data val = {.val = data, .global_batch_size = batch};
    fg_trainer *trainer;
    fg_error err;
    fgt_ok(
        fg_trainer_create(&(fg_trainer_options){.devices.accelerator = "cpu",
                                                .devices.devices = devices,
                                                .devices.cache_dir = fgt_cache(fgt_temp_folder())},
                          &trainer, &err));
    const fg_status status = fg_trainer_validate(trainer, &task, &val, out_err);
    assert_int_equal(status, out_err->status);
    return trainer;
}

static void make(float *p, float *y, int count, double scale, double offset)
{
    for (int i = 0; i < count; i++) {
        y[i] = (float)(offset + scale * (i * 37 % 101 - 50) / 50);
        p[i] = (float)((double)y[i] + scale * 0.2 * sin(i));
    }
}

static void they_are_those_of_all_samples(void **state)
{
    static const struct {
        const char *devices;
        int count;
        int64_t batch;
        double scale, offset, unit, center;
    } rows[] = {
        {"1", 101, 101, 1, 0, 1, 0},      {"1", 101, 8, 1, 0, 250000, 0},
        {"3", 101, 12, 1, 0, 1, 0},       {"8", 5, 24, 1, 0, 1, 0},
        {"2", 101, 16, 1e6, 3e6, 1, 3e6}, {"1", 101, 10, 1, 1e4, 1, 1e4},
    };
    fg_error err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float p[MOST], y[MOST];
        make(p, y, rows[i].count, rows[i].scale, rows[i].offset);
        const metrics wanted = by_hand(p, y, rows[i].count, rows[i].unit);
        fixed f = {.options = {.unit = rows[i].unit, .center = rows[i].center}};
        fg_dataset *data = dataset_of(p, y, rows[i].count, 1);
        fg_trainer *trainer = validated(rows[i].devices, &f, data, rows[i].batch, &err);
        fgt_close("val_mae", toy_metric(trainer, "val_mae"), wanted.mae, 0, 1e-5);
        fgt_close("val_rmse", toy_metric(trainer, "val_rmse"), wanted.rmse, 0, 1e-5);
        fgt_close("val_r2", toy_metric(trainer, "val_r2"), wanted.r2, 1e-5, 0);
        assert_int_equal(fg_trainer_result(trainer)->metric_count, 4); /* and val_loss */
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

static void equal_targets_have_no_r2(void **state)
{
    fg_error err = {0};
    float p[20], y[20];
    for (int i = 0; i < 20; i++) {
        p[i] = (float)i;
        y[i] = 7.3F;
    }
    for (int centered = 0; centered < 2; centered++) {
        fixed f = {.options = {.center = centered ? (double)y[0] : 0}};
        fg_dataset *data = dataset_of(p, y, 20, 1);
        fg_trainer *trainer = validated("1", &f, data, 8, &err);
        assert_true(isnan(toy_metric(trainer, "val_r2")));
        assert_true(toy_metric(trainer, "val_rmse") > 1);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

/* With several targets per sample, the errors are means over all of them. */
static void several_outputs_have_errors_and_no_r2(void **state)
{
    fg_error err = {0};
    float p[OUTPUTS * 30], y[OUTPUTS * 30];
    make(p, y, OUTPUTS * 30, 2, 1);
    const metrics wanted = by_hand(p, y, OUTPUTS * 30, 1);
    fixed f = {.is_wrong = false};
    fg_dataset *data = dataset_of(p, y, 30, OUTPUTS);
    fg_trainer *trainer = validated("2", &f, data, 8, &err);
    fgt_close("val_mae", toy_metric(trainer, "val_mae"), wanted.mae, 0, 1e-5);
    fgt_close("val_rmse", toy_metric(trainer, "val_rmse"), wanted.rmse, 0, 1e-5);
    assert_int_equal(fg_trainer_result(trainer)->metric_count, 3);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const struct {
        fixed f;
        const char *message;
    } rows[] = {
        {{.is_wrong = true},
         "log_regression(f32[8,1], f32[8]): expected two tensors [B] or [B, K]"},
        {{.options = {.unit = -1}},
         "log_regression: unit -1 and center 0: expected a unit above 0"},
        {{.options = {.center = (double)INFINITY}}, "log_regression: unit 1 and center inf"},
    };
    float p[20] = {0}, y[20] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fixed f = rows[i].f;
        fg_dataset *data = dataset_of(p, y, 20, 1);
        fg_trainer *trainer = validated("1", &f, data, 8, &err);
        assert_non_null(strstr(err.message, rows[i].message));
        assert_non_null(strstr(err.file, "test_train_regression.c"));
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(they_are_those_of_all_samples),
    cmocka_unit_test(equal_targets_have_no_r2),
    cmocka_unit_test(several_outputs_have_errors_and_no_r2),
    cmocka_unit_test(what_does_not_fit_is_refused),
};
FGT_MAIN(tests)
