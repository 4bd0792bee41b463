/* test_train_options.c - what the Trainer rejects, with which errors, and the effect of its limits.
 * On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy_place.h"
#include "train/trainer_options.h"
#include "train/trainer.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

/* The fake plugin reports that it is a TPU. */
static void what_a_tpu_does_not_compute_in_is_refused(void **state)
{
    static const struct {
        const char *precision, *message;
    } cases[] = {
        {"16-mixed",
         "precision '16-mixed': TPUs do not support f16, which has no benefit on matrix units that "
         "compute in bf16 and loses small gradients\nuse 'bf16-mixed', or '32-true'"},
        {"16-true",
         "precision '16-true': TPUs do not support f16, which has no benefit on matrix units that "
         "compute in bf16 and loses small gradients\nuse 'bf16-mixed', or '32-true'"},
        {"64-true", "precision '64-true': TPUs do not support f64, which would be emulated and "
                    "many times slower\nuse '32-true', or 'bf16-mixed'"},
        {"bf16-mixed", NULL},
        {"bf16-true", NULL},
    };
    fg_error err = {0};
    fg_client *tpu = NULL;
    fg_trace *trace = NULL;
    const fg_client_options options = {
        .accelerator = "tpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    (void)state;
    fake.set("platform", 2);
    fgt_ok(fg_client_open(&options, &tpu, &err));
    fake.set("platform", 0);
    fgt_ok(fg_trace_create(tpu, &trace, &err));
    const fg_fit_data data = the_data();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_trainer *trainer = NULL;
        const fg_trainer_options o = {.devices.client = tpu,
                                      .numerics.precision = cases[i].precision};
        fgt_ok(toy_create(&o, &trainer, &err));
        const fg_status fitted = fg_trainer_fit(trainer, &task, &data, &err);
        assert_int_equal(fitted, cases[i].message != NULL ? FG_EUNSUPPORTED : FG_OK);
        if (cases[i].message != NULL)
            assert_string_equal(err.message, cases[i].message);
        const fg_status set = fg_trace_set_precision(trace, cases[i].precision, &err);
        assert_int_equal(set, fitted);
        assert_string_equal(fg_trace_precision(trace),
                            cases[i].message != NULL ? "32-true" : cases[i].precision);
        fg_trainer_destroy(trainer);
    }
    fg_trace_destroy(trace);
    fg_client_close(tpu);
}

static void missing_arguments_are_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
    const fg_fit_data data = the_data();
    const fg_task empty = {.name = "empty"};
    assert_int_equal(fg_trainer_fit(NULL, &task, &data, &err), FG_EINVAL);
    assert_string_equal(err.message, "no Trainer was given");
    assert_int_equal(fg_trainer_fit(trainer, NULL, &data, &err), FG_EINVAL);
    assert_string_equal(err.message, "no task, or one without ops, was given");
    assert_int_equal(fg_trainer_validate(trainer, &empty, &data, &err), FG_EINVAL);
    assert_string_equal(err.message, "no task, or one without ops, was given");
    assert_int_equal(fg_trainer_test(trainer, &task, NULL, NULL), FG_EINVAL);
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err)); /* it still works */
    fg_trainer_destroy(trainer);
}

static void wrong_data_are_refused(void **state)
{
    fg_dataset *few = toy_data(3, 1), *none = toy_data(0, 1);
    const struct {
        bool is_fit;
        fg_fit_data data;
        const char *says;
    } rows[] = {
        {true, {.val = val_data}, "no training data were given"},
        {false, {.train = train_data}, "no validation data were given: set val of fg_fit_data"},
        {true,
         {.train = train_data, .batch_size = -1},
         "fg_fit_data.batch_size: expected an integer from 1 to 16777216 (for example 64), got "
         "'-1'"},
        {false,
         {.val = val_data, .batch_size = -1},
         "fg_fit_data.batch_size: expected an integer from 1 to 16777216 (for example 64), got "
         "'-1'"},
        {true,
         {.train = few, .batch_size = 4, .drop_last = true},
         "an epoch has no step: 3 samples in batches of 4 (the incomplete one is dropped)"},
        {true, {.train = none, .batch_size = 4}, "an epoch has no step: 0 samples in batches of 4"},
        {false,
         {.val = none, .batch_size = 4},
         "the validation data have 0 samples: no batch of 4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
        assert_int_equal(rows[i].is_fit ? fg_trainer_fit(trainer, &task, &rows[i].data, &err)
                                        : fg_trainer_validate(trainer, &task, &rows[i].data, &err),
                         FG_EINVAL);
        assert_string_equal(err.message, rows[i].says);
        fg_trainer_destroy(trainer);
    }
    fg_dataset_destroy(few);
    fg_dataset_destroy(none);
}

/* A fit does not validate then; a validation that was asked for is not one of all batches. */
static void a_validation_of_no_batch_is_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_trainer_options options = {
        .limits = {.max_epochs = 1, .limit_val_batches.count = FG_NONE}};
    fg_trainer *trainer = toy_trainer(client, &options);
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_validate(trainer, &task, &data, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "trainer.limit_val_batches: expected at least one batch, got 0");
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
}

static void no_plugin_no_training(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    assert_int_equal(setenv("FULGURITE_PLUGIN", "/nowhere/plugin.so", 1), 0);
    fgt_ok(toy_create(&(fg_trainer_options){.devices.accelerator = "cuda"}, &trainer, &err));
    const fg_fit_data data = the_data();
    assert_int_not_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_OK);
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    assert_null(fg_trainer_client(trainer));
    assert_null(fg_trainer_module(trainer));
    assert_true(isnan(fg_trainer_result(trainer)->time_to_first_step_s));
    assert_true(isnan(fg_trainer_result(trainer)->samples_per_s));
    assert_int_equal(fg_trainer_result(trainer)->device_peak_bytes, -1);
    fg_trainer_destroy(trainer);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* For 10 samples in batches of 4. */
static const struct {
    fg_trainer_options options;
    bool drop_last;
    int steps, epochs, logs, validations, val_batches, saves;
} limited[] = {
    {{0}, false, 3, 1, 1, 1, 2, 1},
    {{.limits.max_epochs = 3}, false, 9, 3, 3, 3, 2, 3},
    {{.limits.max_epochs = 3}, true, 6, 3, 3, 3, 2, 3},
    {{.limits.max_steps = 7}, false, 7, 2, 3, 3, 2, 3},
    {{.limits.max_steps = 6}, false, 6, 2, 2, 2, 2, 2},
    {{.limits.max_steps = 7, .limits.max_epochs = 2}, false, 6, 2, 2, 2, 2, 2},
    {{.limits.max_steps = 5, .limits.max_epochs = 2}, false, 5, 1, 2, 2, 2, 2},
    {{.limits.max_steps = 5, .limits.max_epochs = -1}, false, 5, 1, 2, 2, 2, 2},
    {{.limits.max_epochs = 2, .validation.val_every_epochs = FG_NONE}, false, 6, 2, 2, 0, 0, 2},
    {{.limits.max_steps = 5, .validation.val_every_epochs = FG_NONE}, false, 5, 1, 2, 0, 0, 2},
    {{.limits.max_epochs = 3, .limits.limit_train_batches.count = 2}, false, 6, 3, 3, 3, 2, 3},
    {{.limits.max_epochs = 3, .limits.limit_train_batches.count = 9}, false, 9, 3, 3, 3, 2, 3},
    {{.limits.max_epochs = 2, .limits.limit_val_batches.count = 1}, false, 6, 2, 2, 2, 1, 2},
    {{.limits.max_epochs = 2, .limits.limit_val_batches.count = 9}, false, 6, 2, 2, 2, 2, 2},
    {{.limits.max_epochs = 5, .validation.val_every_epochs = 2}, false, 15, 5, 5, 3, 2, 5},
    {{.limits.max_epochs = 2, .validation = {9, 2, 0, {0}}}, false, 6, 2, 2, 3, 2, 2},
    {{.limits.max_epochs = 2, .output.log_every = 1}, false, 6, 2, 6, 2, 2, 2},
    {{.limits.max_epochs = 2, .output.log_every = 2}, false, 6, 2, 4, 2, 2, 2},
    {{.limits.max_epochs = 5, .checkpoints.ckpt_every_epochs = 2}, false, 15, 5, 5, 5, 2, 3},
    {{.limits.max_epochs = 5, .checkpoints.ckpt_every_epochs = FG_NONE}, false, 15, 5, 5, 5, 2, 1},
    {{.limits.max_epochs = 2, .checkpoints.ckpt_every_steps = 1}, false, 6, 2, 2, 2, 2, 6},
};

static void limits_end_the_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++) {
        fg_error err = {0};
        static recorder r;
        r = (recorder){0};
        fg_trainer_options options = limited[i].options;
        fg_fit_data data = the_data();
        options.checkpoints.run_dir = fgt_temp_folder();
        if (options.checkpoints.ckpt_every_epochs == 0)
            options.checkpoints.ckpt_every_epochs = 1;
        data.drop_last = limited[i].drop_last;
        fg_trainer *trainer = toy_trainer(client, &options);
        fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        char val[32];
        (void)snprintf(val, sizeof val, "batch %d/%d", limited[i].val_batches,
                       limited[i].val_batches);
        const char *val_end = strstr(r.text, "val_end");
        if (recorder_count(&r, "batch_end") != limited[i].steps ||
            recorder_count(&r, "epoch_end") != limited[i].epochs ||
            recorder_count(&r, "log") != limited[i].logs ||
            recorder_count(&r, "val_end") != limited[i].validations ||
            recorder_count(&r, "saved") != limited[i].saves ||
            fg_trainer_result(trainer)->steps != limited[i].steps ||
            fg_trainer_result(trainer)->epochs != limited[i].epochs ||
            (val_end == NULL) != (limited[i].validations == 0) ||
            (val_end != NULL && strstr(val_end, val) != strstr(val_end, "batch ")))
            fail_msg("row %zu:\n%s", i, r.text);
        fg_trainer_destroy(trainer);
    }
}

/* A run without a limit has no length, so a schedule that depends on the length is rejected. */
static int64_t order[64];
static int reads;

static fg_status note_read(void *self, int64_t index, void *const *out, fg_error *err)
{
    (void)self, (void)err;
    order[reads++ % 64] = index;
    *(int32_t *)out[1] = toy_sample(index, 1, out[0]);
    return FG_OK;
}

/* The first batches, whether they are given as a count or a fraction. */
static void overfitting_does_not_shuffle(void **state)
{
    (void)state;
    static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}}};
    static const fg_dataset_ops ops = {.read = note_read};
    static const fg_trainer_limits limits[] = {{.max_epochs = 1, .overfit_batches.count = 2},
                                               {.max_epochs = 1, .overfit_batches.fraction = 0.5}};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_dataset *data = NULL;
        const fg_dataset_spec spec = {
            .count = 16, .fields = fields, .field_count = 2, .class_count = TOY_CLASSES};
        fgt_ok(fg_dataset_create(&ops, NULL, &spec, &data, &err));
        fg_trainer *trainer = toy_trainer(
            client, &(fg_trainer_options){.devices.client = client, .limits = limits[i]});
        const fg_fit_data fits = {.train = data, .batch_size = 4, .workers = FG_NONE};
        reads = 0;
        fgt_ok(fg_trainer_fit(trainer, &task, &fits, &err));
        assert_int_equal(fg_trainer_result(trainer)->steps, 2);
        for (int k = 0; k < 8; k++)
            assert_int_equal(order[k], k);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

static void a_run_without_a_limit_ends_when_it_is_stopped(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    const fg_schedule onecycle = fg_onecycle(&(fg_onecycle_options){0});
    const fg_fit_data data = the_data();
    fg_trainer_options options = {.limits.max_epochs = -1};
    r = (recorder){.at_event = "epoch_end", .at_count = 3, .status = FG_ESTOPPED};
    fg_trainer *trainer = toy_trainer(client, &options);
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_int_equal(fg_trainer_result(trainer)->epochs, 3);
    assert_int_equal(fg_trainer_settings(trainer)->total_steps, -1);
    fg_trainer_destroy(trainer);
    options.lr.schedule = &onecycle;
    trainer = toy_trainer(client, &options);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EINVAL);
    fgt_message_is(err.message, "schedule 'onecycle': the number of steps is not known\nthe run "
                                "has no limit: set max_epochs or max_steps");
    fg_trainer_destroy(trainer);
}

/* At the limit, fit does nothing; a Trainer with a higher limit continues. */
static void a_second_fit_goes_on_up_to_the_limits(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){.at_event = "epoch_end", .at_count = 2, .status = FG_ESTOPPED};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 3});
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    const fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_int_equal(fg_trainer_result(trainer)->epochs, 2);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->epochs, 3);
    assert_int_equal(fg_trainer_result(trainer)->steps, 9);
    assert_int_equal(fg_trainer_result(trainer)->compiles, 0);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(recorder_count(&r, "batch_end"), 9);
    assert_int_equal(recorder_count(&r, "fit_end"), 3);
    fg_trainer_destroy(trainer);
}

/* In the middle of an epoch the data must be the same, but the batch size may differ; at the end of
 * an epoch, the data may differ too. */
static void other_data_in_the_middle_of_an_epoch(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_dataset *more = toy_data(20, 1);
    r = (recorder){.at_event = "batch_end", .at_count = 2, .status = FG_ESTOPPED};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 2});
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    fg_fit_data data = the_data();
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    data.train = more;
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "the checkpoint is 8 samples into an epoch of 10, but the data have 20\n"
                        "to train on other data, start from the weights instead");
    data.train = train_data;
    data.batch_size = 3; /* one batch of 2 is left; then 4 */
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(recorder_count(&r, "batch_end"), 2 + 1 + 4);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(more);
}

/* After the first sample. */
static void other_data_after_a_sample(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_dataset *other[] = {toy_data(1, 1), toy_source(10, 1, false)};
    r = (recorder){.at_event = "batch_end", .at_count = 1, .status = FG_ESTOPPED};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 2});
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    fg_fit_data data = {.train = train_data, .batch_size = 1, .workers = FG_NONE};
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    for (int i = 0; i < 2; i++) {
        data.train = other[i];
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EINVAL);
        assert_string_equal(
            err.message, i == 0 ? "the checkpoint is 1 sample into an epoch of 10, but the data "
                                  "have 1\nto train on other data, start from the weights instead"
                                : "the checkpoint is 1 sample into an epoch of other data\n"
                                  "to train on other data, start from the weights instead");
        fg_dataset_destroy(other[i]);
    }
    fg_trainer_destroy(trainer);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool logs_more;

static fg_tensor growing_step(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor loss = toy_ops.train_step(self, step, batch);
    char name[16];
    for (int i = 0; i < FG_MAX_METRICS - 2 && logs_more; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        fg_step_log(step, name, loss);
    }
    return loss;
}

/* A later fit with other batches, whose step logs more. */
static void a_later_step_may_log_more(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_task_ops ops = toy_ops;
    const fg_task growing = {.name = "toy", .self = &model, .ops = &ops};
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 2, .output.log_every = 1});
    fg_fit_data data = the_data();
    ops.train_step = growing_step;
    r = (recorder){.at_event = "epoch_end", .at_count = 1, .status = FG_ESTOPPED};
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    data.val = NULL;
    for (int i = 0; i < 2; i++) {
        logs_more = i == 1;
        data.batch_size = 4 - i;
        assert_int_equal(fg_trainer_fit(trainer, &growing, &data, &err),
                         i == 0 ? FG_ESTOPPED : FG_OK);
        assert_int_equal(fg_trainer_result(trainer)->metric_count, i == 0 ? 2 : FG_MAX_METRICS);
    }
    logs_more = false;
    fg_trainer_destroy(trainer);
}

static void bad_build(void *self, fg_module *root)
{
    (void)self;
    (void)fg_linear_create(root, "fc1", &(fg_linear_options){.in = 0, .out = 3});
}

static fg_optimizer *no_optimizer(void *self, fg_module *root)
{
    (void)self, (void)root;
    return NULL;
}

static fg_optimizer *bad_optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = -1});
}

/* A step that makes one mistake, selected by number. */
static int fault;
static void log_badly(fg_step *st, fg_tensor x, fg_tensor y)
{
    switch (fault) {
    case 18: fg_step_log_classification(st, x, x); break;
    case 19: fg_step_log_classification(st, fg_transpose(x), y); break;
    case 20: fg_step_log_classification(st, y, y); break;
    case 21: fg_step_log_classification(st, fg_cast(x, FG_S32), y); break;
    case 22: fg_step_log_classification(st, x, fg_cast(y, FG_F32)); break;
    case 23: fg_step_log_regression(st, x, y, NULL); break;
    case 24: fg_step_log_regression(st, y, x, NULL); break;
    case 25: fg_step_log_regression(st, fg_transpose(x), x, NULL); break;
    case 26: fg_step_log_weighted(st, "w", x, fg_cast(y, FG_F32)); break;
    case 27: fg_step_log_weighted(st, "w", fg_reshape(y, FG_DIMS(4, 1)), x); break;
    case 28: fg_step_set_weight(st, fg_gt(fg_sum(x, 0, NULL), fg_mean(x, 0, NULL))); break;
    default: /* the longest name, and two values of each sample */
        fg_step_log(st, "a_name_as_long_as_the_longest_name_of_a_metric1", fg_cast(y, FG_F32));
        fg_step_log(st, "pairs", fg_cast(fg_concat((const fg_tensor[]){y, y}, 2, 0), FG_F32));
        break;
    }
}

static fg_tensor kept; /* created by an earlier step, and used after its end */
static fg_tensor bad_step(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor x = fg_batch_at(batch, 0);
    const fg_tensor loss = fg_mean(toy_forward(self, x), 0, NULL);
    char name[32];
    switch (fault) {
    case 0: return x;
    case 1: return fg_cast(loss, FG_S32);
    case 2: return fg_mean(fg_batch_field(batch, "image"), 0, NULL);
    case 3: return fg_mean(fg_batch_at(batch, 7), 0, NULL);
    case 4: fg_step_log(st, "my loss", loss); break;
    case 5: fg_step_log(st, "", loss); break;
    case 6: fg_step_log(st, "n\xe9", loss); break;
    case 7: fg_step_log(st, "a_name_that_is_longer_than_any_name_of_a_metric_may_be", loss); break;
    case 8: fg_step_log(st, "x", fg_transpose(x)); break;
    case 9: fg_step_log(st, "x", fg_sum(x, 1, (const int[]){0})); break;
    case 10:
        fg_step_log(st, "twice", loss);
        fg_step_log(st, "twice", loss);
        break;
    case 11:
        for (int i = 0; i <= FG_MAX_METRICS; i++) {
            (void)snprintf(name, sizeof name, "m%d", i);
            fg_step_log(st, name, loss);
        }
        break;
    case 12:
        for (int i = 0; i < FG_MAX_METRICS; i++) {
            (void)snprintf(name, sizeof name, "m%d", i);
            fg_step_log(st, name, loss);
        }
        break;
    case 13: {
        float value = 0;
        fg_error err = {0};
        assert_int_equal(fg_run_f32(fg_step_trace(st), loss, &value, &err), FG_EINVAL);
        return fg_matmul(x, x); /* the error of the step itself comes first */
    }
    case 14: fg_step_log(st, "loss", x); break;
    case 15: return (fg_tensor){0};
    case 16: return kept;
    case 17: return fg_add(loss, kept);
    case 29: return fg_mean(fg_batch_at(batch, -1), 0, NULL);
    case 30: return fg_mean(fg_batch_at(batch, 2), 0, NULL);
    default: log_badly(st, x, fg_batch_at(batch, 1)); break;
    }
    kept = loss;
    return loss;
}

static void bad_steps_are_reported(void **state)
{
    (void)state;
    static const struct {
        fg_status status;
        const char *says;
    } rows[] = {
        {FG_ESHAPE, "the train_step returned f32[4,6]: expected its loss, a floating-point scalar"},
        {FG_ESHAPE, "the train_step returned s32[]: expected its loss, a floating-point scalar"},
        {FG_ENOTFOUND, "batch: no field 'image'; there are 'x', 'y'"},
        {FG_ENOTFOUND, "batch: no field 7; there are 2"},
        {FG_EINVAL, "log 'my loss': a name has 1 to 47 letters, digits, '_', '.', '/', '-'"},
        {FG_EINVAL, "log '': a name has 1 to 47"},
        {FG_EINVAL, "log 'n\xe9': a name has 1 to 47"},
        {FG_EINVAL, "log 'a_name_that_is_longer_than_any_name_of_a_metric_may_be': a name has"},
        {FG_ESHAPE, "log 'x': is f32[6,4], but must be a scalar or [B, ...] with B = 4"},
        {FG_ESHAPE, "log 'x': is f32[6], but must be a scalar or [B, ...] with B = 4"},
        {FG_EINVAL, "log 'twice': logged twice in one step"},
        {FG_EINVAL, "log 'm16': a step logs at most 16 names"},
        {FG_EINVAL, "log 'loss': a step logs at most 16 names"},
        {FG_ESHAPE, "matmul(f32[4,6], f32[4,6]): inner sizes differ: 6, 4"},
        {FG_EINVAL, "log 'loss': this is the name of the value that the step returns"},
        {FG_EINVAL, "what train_step returned: an empty tensor was used: it has no value"},
        {FG_EINVAL, "what train_step returned: a tensor was used after its trace was run, reset"},
        {FG_EINVAL, "a tensor was used after its trace was run, reset or destroyed"},
        {FG_ESHAPE,
         "log_classification(f32[4,6], f32[4,6]): expected logits [B, C] and labels [B]"},
        {FG_ESHAPE, "log_classification(f32[6,4], s32[4]): expected logits [B, C] and labels [B]"},
        {FG_ESHAPE, "log_classification(s32[4], s32[4]): expected logits [B, C] and labels [B]"},
        {FG_EDTYPE,
         "log_classification(s32[4,6], s32[4]): expected floating logits and s32 labels"},
        {FG_EDTYPE,
         "log_classification(f32[4,6], f32[4]): expected floating logits and s32 labels"},
        {FG_EDTYPE, "log_regression(f32[4,6], s32[4]): expected floating predictions and targets"},
        {FG_EDTYPE, "log_regression(s32[4], f32[4,6]): expected floating predictions and targets"},
        {FG_ESHAPE, "log_regression(f32[6,4], f32[4,6]): expected two tensors [B] or [B, K] of the "
                    "same shape"},
        {FG_ESHAPE, "log 'w': the weight is f32[4], but must broadcast to the value, f32[4,6]"},
        {FG_ESHAPE, "log 'w': the weight is f32[4,6], but must broadcast to the value, s32[4,1]"},
        {FG_ESHAPE, "set_weight: is bool[], but must be a number: the denominator of the loss"},
        {FG_ENOTFOUND, "batch: no field -1; there are 2"},
        {FG_ENOTFOUND, "batch: no field 2; there are 2"},
    };
    fg_task_ops ops = toy_ops;
    ops.train_step = bad_step;
    const fg_task bad = {.name = "bad", .self = &model, .ops = &ops};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
        const fg_fit_data data = the_data();
        fault = (int)i;
        const fg_status status = fg_trainer_fit(trainer, &bad, &data, &err);
        if (status != rows[i].status || !strstr(err.message, rows[i].says))
            fail_msg("%zu: %s: '%s'", i, fg_status_name(status), err.message);
        fault = -1; /* the next call traces it again */
        fgt_ok(fg_trainer_fit(trainer, &bad, &data, &err));
        fg_trainer_destroy(trainer);
    }
}

static int combination;
enum { COMBINATIONS = 12, FIRST_REFUSED = 7 };

/* A mean over the samples whose label is not 0, combined with other values. */
static fg_tensor combined_step(void *self, fg_step *st, const fg_batch *batch)
{
    fg_trace *trace = fg_step_trace(st);
    const fg_tensor y = fg_batch_at(batch, 1), logits = toy_forward(self, fg_batch_at(batch, 0));
    const fg_tensor two = fg_full(trace, FG_F32, 2, FG_SCALAR);
    const fg_tensor weight = fg_full(trace, FG_F32, 2, FG_DIMS(TOY_CLASSES));
    const fg_tensor a =
        fg_cross_entropy(logits, y, &(fg_cross_entropy_options){.ignore_index = FG_NONE});
    const fg_tensor b =
        fg_cross_entropy(logits, y, &(fg_cross_entropy_options){.class_weight = weight});
    switch (combination) {
    case 0: return a;
    case 1: return fg_mul_scalar(a, 0.5);
    case 2: return fg_mul(two, a);
    case 3: return fg_mul(a, two);
    case 4: return fg_div(a, two);
    case 5: return fg_add(a, two);
    case 6: return fg_add(a, fg_mul_scalar(a, 2));
    case FIRST_REFUSED: return fg_add(a, b);
    case 8: return fg_add(a, fg_mean(logits, 0, NULL));
    case 9: return fg_mul(a, a);
    case 10: return fg_div(two, a);
    default: return fg_exp(a);
    }
}

/* The batches of a step are weighted by the denominator of their loss, if it has one. */
static void means_that_cannot_be_weighted_are_refused(void **state)
{
    (void)state;
    fg_task_ops ops = toy_ops;
    ops.train_step = combined_step;
    const fg_task combined = {.name = "combined", .self = &model, .ops = &ops};
    const fg_fit_data data = the_data();
    for (combination = 0; combination < COMBINATIONS; combination++) {
        fg_error err = {0};
        fg_trainer *trainer =
            toy_trainer(client, &(fg_trainer_options){.numerics.accumulate_grad_batches = 2});
        const fg_status status = fg_trainer_fit(trainer, &combined, &data, &err);
        if (status != (combination < FIRST_REFUSED ? FG_OK : FG_EINVAL))
            fail_msg("combination %d: %s", combination, err.message);
        if (combination >= FIRST_REFUSED)
            assert_non_null(strstr(err.message, "the loss combines means with different "
                                                "denominators, such as the tokens and the samples "
                                                "of a batch, or is no longer linear in one: "));
        fg_trainer_destroy(trainer);
    }
}

static const struct {
    const char *text;
    bool is_good;
} schedules[] = {
    {"0=1048576", true},        {"0=1048577", false}, {"0=0", false},    {"999999999999=2", true},
    {"1000000000000=2", false}, {"5=2,5=3", false},   {"5=2,6=3", true}, {"0=1,4=2,0=3", false},
    {"0=1,4=2,4=3", false},     {"0=1,0=2", false},   {"-1=2", false}};

/* Of the limits: 31 epochs after the first, numbers of 12 digits, 2^20 batches. */
static void numbers_of_batches_by_epoch(void **state)
{
    fg_int_pair many[33] = {{1, 2}};
    fgi_accumulation parsed;
    fg_error err = {0};
    fg_trainer_numerics o = {.accumulate_schedule = {many, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        const fg_trainer_numerics one = {.accumulate_schedule = fgt_map(schedules[i].text)};
        const bool is_good = fgi_accumulation_init(&one, &parsed, &err) == FG_OK;
        if (is_good != schedules[i].is_good)
            fail_msg("%s", schedules[i].text);
    }
    for (int epoch = 2; epoch <= 32; epoch++) {
        fgt_ok(fgi_accumulation_init(&o, &parsed, &err));
        assert_int_equal(parsed.count, epoch);
        many[o.accumulate_schedule.count++] = (fg_int_pair){epoch, 2};
    }
    assert_int_equal(fgi_accumulation_init(&o, &parsed, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "at most 31 increasing epochs"));
}

static fg_tensor scalar_prediction(void *self, fg_step *st, const fg_batch *batch)
{
    (void)st;
    return fg_mean(toy_forward(self, fg_batch_at(batch, 0)), 0, NULL);
}

/* What a prediction logs has no effect, so that it may share code with other steps. */
static fg_tensor turned(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor logits = toy_forward(self, fg_batch_at(batch, 0));
    fg_step_log(st, "loss", fg_mean(logits, 0, NULL));
    return fg_transpose(logits);
}

static fg_status any_rows(void *self, const fg_type *type, const void *rows, int64_t first,
                          fg_error *err)
{
    (void)self, (void)type, (void)rows, (void)first, (void)err;
    return FG_OK;
}

static void bad_tables_are_reported(void **state)
{
    (void)state;
    enum { FIT, VALIDATE, TEST, PREDICT };
    fault = 0; /* of bad_step */
    const struct {
        int call;
        fg_task_ops ops;
        fg_status status;
        const char *says;
    } rows[] = {
        {FIT, {0}, FG_EINVAL, "task 'bad' has no build function"},
        {FIT, {.build = toy_ops.build}, FG_EINVAL, "task 'bad' has no optimizer function"},
        {FIT,
         {.build = toy_ops.build, .optimizer = toy_ops.optimizer},
         FG_EINVAL,
         "task 'bad' has no train_step"},
        {VALIDATE, {.build = toy_ops.build}, FG_EINVAL, "task 'bad' has no val_step"},
        {TEST, {.build = toy_ops.build}, FG_EINVAL, "task 'bad' has no test_step"},
        {PREDICT, {.build = toy_ops.build}, FG_EINVAL, "task 'bad' has no predict_step"},
        {PREDICT,
         {.build = toy_ops.build, .predict_step = scalar_prediction},
         FG_ESHAPE,
         "the predict step returned f32[]: expected one row per sample"},
        {PREDICT,
         {.build = toy_ops.build, .predict_step = turned},
         FG_ESHAPE,
         "the predict step returned f32[3,4]: expected one row per sample"},
        {TEST,
         {.build = toy_ops.build, .val_step = toy_ops.val_step, .test_step = bad_step},
         FG_ESHAPE,
         "the test_step returned f32[4,6]: expected its loss"},
        {FIT, {.build = bad_build}, FG_EINVAL, "linear 'fc1': "},
        {FIT,
         {.build = toy_ops.build, .train_step = toy_ops.train_step, .optimizer = no_optimizer},
         FG_EINVAL,
         "task 'bad': its optimizer function returned NULL"},
        {FIT,
         {.build = toy_ops.build, .train_step = toy_ops.train_step, .optimizer = bad_optimizer},
         FG_EINVAL,
         "adam.lr: expected a number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
        const fg_task bad = {.name = "bad", .self = &model, .ops = &rows[i].ops};
        const fg_fit_data data = the_data();
        for (int again = 0; again < 2; again++) { /* the same each time */
            fg_error err = {0};
            const fg_status status =
                rows[i].call == FIT        ? fg_trainer_fit(trainer, &bad, &data, &err)
                : rows[i].call == VALIDATE ? fg_trainer_validate(trainer, &bad, &data, &err)
                : rows[i].call == TEST
                    ? fg_trainer_test(trainer, &bad, &data, &err)
                    : fg_trainer_predict(trainer, &bad, &data, any_rows, NULL, &err);
            if (status != rows[i].status || !strstr(err.message, rows[i].says))
                fail_msg("%zu: %s: '%s'", i, fg_status_name(status), err.message);
        }
        fg_trainer_destroy(trainer);
    }
}

/* Without a val_step, fit does not validate; if the task has a test_step, test uses it. */
static void optional_steps(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_task_ops ops = toy_ops;
    ops.val_step = NULL;
    ops.test_step = toy_ops.train_step;
    const fg_task some = {.name = "some", .self = &model, .ops = &ops};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_fit(trainer, &some, &data, &err));
    assert_int_equal(recorder_count(&r, "val_start"), 0);
    fgt_ok(fg_trainer_test(trainer, &some, &data, &err));
    assert_int_equal(recorder_count(&r, "eval_end"), 1);
    assert_string_equal(r.metrics, "test_acc=nan test_loss=nan ");
    fg_trainer_destroy(trainer);
}

/* Each of several processes would train separately and overwrite the files of the others. */
static void one_of_several_processes_is_refused(void **state)
{
    fg_error err = {0};
    fg_client *part = NULL;
    fg_trainer *trainer = NULL;
    (void)state;
    fake.set("process", 1);
    fake.set("processes", 4);
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &part, &err));
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = part}, &trainer, &err));
    const fg_fit_data data = {.train = train_data, .val = val_data, .batch_size = 4};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(i == 0 ? fg_trainer_fit(trainer, &task, &data, &err)
                                : fg_trainer_validate(trainer, &task, &data, &err),
                         FG_EUNSUPPORTED);
        assert_string_equal(err.message,
                            "this is process 1 of 4: the Trainer supports one process only\n"
                            "restrict the plugin to this machine's devices");
    }
    fg_trainer_destroy(trainer);
    fg_client_close(part);
    fake.set("process", 0);
    fake.set("processes", 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_a_tpu_does_not_compute_in_is_refused),
    cmocka_unit_test(missing_arguments_are_refused),
    cmocka_unit_test(wrong_data_are_refused),
    cmocka_unit_test(a_validation_of_no_batch_is_refused),
    cmocka_unit_test(no_plugin_no_training),
    cmocka_unit_test(limits_end_the_run),
    cmocka_unit_test(overfitting_does_not_shuffle),
    cmocka_unit_test(a_run_without_a_limit_ends_when_it_is_stopped),
    cmocka_unit_test(a_second_fit_goes_on_up_to_the_limits),
    cmocka_unit_test(other_data_in_the_middle_of_an_epoch),
    cmocka_unit_test(other_data_after_a_sample),
    cmocka_unit_test(a_later_step_may_log_more),
    cmocka_unit_test(bad_steps_are_reported),
    cmocka_unit_test(means_that_cannot_be_weighted_are_refused),
    cmocka_unit_test(numbers_of_batches_by_epoch),
    cmocka_unit_test(bad_tables_are_reported),
    cmocka_unit_test(optional_steps),
    cmocka_unit_test(one_of_several_processes_is_refused),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
