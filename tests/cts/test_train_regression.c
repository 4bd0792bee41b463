/* test_train_regression.c - metrics that follow from sums, as the Trainer logs them: MAE, RMSE and
 * R^2 compared with values computed by hand, with padding rows, on several devices, in another
 * unit, far from zero, and with all targets equal; F1, precision and recall compared with scikit-
 * learn's.
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
    bool is_wrong, is_scalar, is_deep; /* what is logged is the mean, or T[B,1,1] */
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
    if (f->is_scalar)
        fg_step_log_regression(st, fg_mean(p, 0, NULL), fg_mean(y, 0, NULL), NULL);
    if (f->is_deep)
        fg_step_log_regression(st, fg_reshape(p, FG_DIMS(-1, 1, 1)),
                               fg_reshape(y, FG_DIMS(-1, 1, 1)), NULL);
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
    fgt_ok(toy_create(&(fg_trainer_options){.devices.accelerator = "cpu",
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

/* The samples with the largest errors are known, the largest first. */
static void check_worst(fg_trainer *trainer, const float *p, const float *y, int count)
{
    const fg_evaluation *e;
    fg_error err;
    float most = 0;
    for (int i = 0; i < count; i++)
        most = fmaxf(most, fabsf(p[i] - y[i]));
    fgt_ok(fg_trainer_evaluation(trainer, false, &e, &err));
    assert_true(e->samples == count && e->class_count == 0 && e->worst_count > 0);
    assert_true(e->worst[0].loss == most);
    for (size_t i = 0; i < e->worst_count; i++) {
        const fg_sample_row *row = &e->worst[i];
        assert_true(row->target == y[row->index] && row->prediction == p[row->index]);
        assert_true(row->loss == fabsf(p[row->index] - y[row->index]));
        assert_true(i == 0 || row->loss <= row[-1].loss);
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
        check_worst(trainer, p, y, rows[i].count);
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
    const fg_evaluation *e;
    fgt_ok(fg_trainer_evaluation(trainer, false, &e, &err));
    assert_null(e); /* rows have one target */
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
        {{.options = {.unit = (double)INFINITY}}, "log_regression: unit inf and center 0"},
        {{.is_scalar = true}, "log_regression(f32[], f32[]): expected two tensors [B] or [B, K]"},
        {{.is_deep = true},
         "log_regression(f32[8,1,1], f32[8,1,1]): expected two tensors [B] or [B, K]"},
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

/* ---- classes --------------------------------------------------------------------------------- */

enum { CLASSES = 3 };

static fg_tensor class_step(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor logits = fg_batch_at(batch, 0), label = fg_batch_at(batch, 1);
    const fixed *f = self;
    fg_step_log_classification(st, f->is_wrong ? label : logits, label);
    return fg_cross_entropy(logits, label, NULL);
}

static const fg_task_ops class_ops = {.build = build, .val_step = class_step};

/* A validation of `count` samples whose largest logits are those of `guess`. */
static fg_dataset *classes_of(const int *actual, const int *guess, int count)
{
    static float logits[MOST][CLASSES];
    static int32_t label[MOST];
    static const fg_field fields[] = {{"x", {FG_F32, 1, {CLASSES}}}, {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = count, .fields = fields, .field_count = 2};
    fg_dataset *dataset;
    fg_error err;
    for (int i = 0; i < count; i++) {
        label[i] = actual[i];
        for (int k = 0; k < CLASSES; k++)
            logits[i][k] = k == guess[i] ? 2 : 0;
    }
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){logits, label}, FG_BORROW, &dataset,
                                  &err));
    return dataset;
}

static fg_trainer *classified(const char *devices, const int *actual, const int *guess, int count,
                              int64_t batch, fixed *f, fg_dataset **out_data)
{
    const fg_task task = {.name = "fixed", .self = f, .ops = &class_ops};
    fg_trainer *trainer;
    fg_error err;
    *out_data = classes_of(actual, guess, count);
    const fg_fit_data val = {.val = *out_data, .global_batch_size = batch};
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = devices,
                                        .numerics.precision = "bf16-mixed",
                                        .devices.cache_dir = fgt_cache(fgt_temp_folder())};
    fgt_ok(toy_create(&options, &trainer, &err));
    assert_int_equal(fg_trainer_validate(trainer, &task, &val, &err),
                     f->is_wrong ? FG_ESHAPE : FG_OK);
    return trainer;
}

/* Each sample counts once; those that are wrong have the largest loss. */
static void check_evaluation(const fg_evaluation *e, const int *actual, const int *guess, int count)
{
    int64_t counts[CLASSES * CLASSES] = {0}, wrong = 0;
    bool is_seen[MOST] = {false};
    assert_non_null(e);
    assert_int_equal(e->samples, count);
    assert_int_equal(e->class_count, CLASSES);
    for (int k = 0; k < count; k++) {
        counts[actual[k] * CLASSES + guess[k]]++;
        wrong += actual[k] != guess[k];
    }
    assert_memory_equal(e->confusion, counts, sizeof counts);
    assert_int_equal(e->worst_count, count < 12 ? count : 12);
    for (size_t i = 0; i < e->worst_count; i++) {
        const fg_sample_row *row = &e->worst[i];
        assert_in_range(row->index, 0, count - 1);
        assert_false(is_seen[row->index]);
        is_seen[row->index] = true;
        assert_int_equal(row->target, actual[row->index]);
        assert_int_equal(row->prediction, guess[row->index]);
        assert_int_equal(row->target != row->prediction, (int64_t)i < wrong);
        fgt_close("loss", (double)row->loss, log(exp(2) + 2) - 2 + ((int64_t)i < wrong ? 2 : 0),
                  1e-5, 0);
    }
}

static void check_rows(fg_trainer *trainer, const int *actual, const int *guess, int expected)
{
    const fg_evaluation *e;
    fg_error err;
    fgt_ok(fg_trainer_evaluation(trainer, false, &e, &err));
    check_evaluation(e, actual, guess, expected);
    fgt_ok(fg_trainer_evaluation(trainer, true, &e, &err));
    assert_null(e); /* there was no test */
}

static fg_status stop(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at, (void)err;
    return FG_ESTOPPED;
}

/* Each evaluation replaces the rows of the one before, and one that is stopped has none; a test has
 * its own. */
static void check_again(fg_trainer *trainer, fixed *f, fg_dataset *data, const int *actual,
                        const int *guess, int count)
{
    const fg_task task = {.name = "fixed", .self = f, .ops = &class_ops};
    const fg_fit_data again = {.val = data, .test = data, .global_batch_size = 4};
    static const fg_callback_ops stops = {.batch_end = stop};
    const fg_evaluation *e;
    fg_error err;
    fgt_ok(fg_trainer_validate(trainer, &task, &again, &err));
    check_rows(trainer, actual, guess, count);
    fgt_ok(fg_trainer_test(trainer, &task, &again, &err));
    fgt_ok(fg_trainer_evaluation(trainer, true, &e, &err));
    check_evaluation(e, actual, guess, count);
    fgt_ok(fg_trainer_add_callback(trainer, &stops, NULL, &err));
    assert_int_equal(fg_trainer_validate(trainer, &task, &again, &err), FG_ESTOPPED);
    fgt_ok(fg_trainer_evaluation(trainer, false, &e, &err));
    assert_null(e);
}

/* 91, 10 and 0 of the classes; 81, 15 and 5 predicted. */
static void make_many(int out[2][MOST])
{
    for (int i = 0; i < MOST; i++) {
        out[0][i] = i >= 91;
        out[1][i] = i < 76 ? 0 : i < 86 ? 1 : i < 91 ? 2 : i < 96;
    }
}

/* The example of scikit-learn's precision_recall_fscore_support, average "macro"; one class that is
 * predicted but has no sample, and one that is neither; 101 samples in batches with padding rows,
 * and in more batches than wait on the device.
 */
static void classes_have_the_values_of_scikit_learn(void **state)
{
    static const int example[2][6] = {{0, 1, 2, 0, 1, 2}, {0, 2, 1, 0, 0, 1}};
    static const int other[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 1}};
    static int many[2][MOST];
    make_many(many);
    static const struct {
        const char *devices;
        const int *actual, *guess;
        int count;
        int64_t batch;
        double f1, precision, recall;
    } rows[] = {
        {"1", example[0], example[1], 6, 4, 0.26666667, 0.22222222, 0.33333333},
        {"2", example[0], example[1], 6, 8, 0.26666667, 0.22222222, 0.33333333},
        {"1", other[0], other[1], 4, 4, 0.42857143, 0.5, 0.375},
        {"3", many[0], many[1], MOST, 12, (2 * 76 / 172.0 + 2 * 5 / 25.0) / 3,
         (76 / 81.0 + 5 / 15.0) / 3, (76 / 91.0 + 0.5) / 3},
        {"1", many[0], many[1], MOST, 1, (2 * 76 / 172.0 + 2 * 5 / 25.0) / 3,
         (76 / 81.0 + 5 / 15.0) / 3, (76 / 91.0 + 0.5) / 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixed f = {.is_wrong = false};
        fg_dataset *data;
        fg_trainer *trainer = classified(rows[i].devices, rows[i].actual, rows[i].guess,
                                         rows[i].count, rows[i].batch, &f, &data);
        fgt_close("val_f1", toy_metric(trainer, "val_f1"), rows[i].f1, 0, 1e-6);
        fgt_close("val_precision", toy_metric(trainer, "val_precision"), rows[i].precision, 0,
                  1e-6);
        fgt_close("val_recall", toy_metric(trainer, "val_recall"), rows[i].recall, 0, 1e-6);
        check_rows(trainer, rows[i].actual, rows[i].guess, rows[i].count);
        if (i == 0)
            check_again(trainer, &f, data, rows[i].actual, rows[i].guess, rows[i].count);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

static void labels_are_no_logits(void **state)
{
    static const int none[6];
    fixed wrong = {.is_wrong = true};
    fg_dataset *data;
    fg_trainer_destroy(classified("1", none, none, 6, 4, &wrong, &data));
    fg_dataset_destroy(data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(classes_have_the_values_of_scikit_learn),
    cmocka_unit_test(labels_are_no_logits),
    cmocka_unit_test(they_are_those_of_all_samples),
    cmocka_unit_test(equal_targets_have_no_r2),
    cmocka_unit_test(several_outputs_have_errors_and_no_r2),
    cmocka_unit_test(what_does_not_fit_is_refused),
};
FGT_MAIN(tests)
