/* test_train_precision.c - precisions in the Trainer, on the CPU plugin: saving and loading, loss
 * scaling without reads, lost updates, non-finite gradients.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/number.h"
#include "toy.h"

static fg_client *client;
static fg_dataset *data;

enum { SAMPLES = 64, BATCH = 8, EPOCH = SAMPLES / BATCH };

static char warnings[2048];

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level == FG_LOG_WARNING && strlen(warnings) + strlen(line) + 2 < sizeof warnings)
        (void)strcat(strcat(warnings, line), "\n");
}

static int open_all(void **state)
{
    fg_error err = {0};
    (void)state;
    toy_use_memory();
    fg_log_set(keep_warning, NULL);
    data = toy_data(SAMPLES, 1);
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fg_log_set(NULL, NULL);
    fg_dataset_destroy(data);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

/* A fit of the toy; the Trainer is the caller's. */
static fg_trainer *fit(toy *model, const fg_trainer_options *options, recorder *r)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = *options;
    const fg_task task = {.name = "toy", .self = model, .ops = &toy_ops};
    o.devices.client = client;
    warnings[0] = '\0';
    fgt_ok(toy_create(&o, &trainer, &err));
    if (r != NULL)
        fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, r, &err));
    fgt_ok(
        fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .batch_size = BATCH}, &err));
    return trainer;
}

/* ---- every precision ------------------------------------------------------------------------- */

static void every_precision_learns(void **state)
{
    static const struct {
        const char *name;
        int batches; /* per step */
    } cases[] = {
        {"bf16-mixed", 1}, {"bf16-true", 2}, {"16-mixed", 2}, {"16-true", 1}, {"64-true", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bool is_scaled = cases[i].name[0] == '1';
        toy model = {.has_norm = i == 0};
        fg_trainer *trainer =
            fit(&model,
                &(fg_trainer_options){.numerics.precision = cases[i].name,
                                      .limits.max_epochs = 16,
                                      .numerics.accumulate_grad_batches = cases[i].batches},
                NULL);
        const fg_result *result = fg_trainer_result(trainer);
        if (!(toy_metric(trainer, "train_loss") < 0.7))
            fail_msg("%s: loss %g", cases[i].name, toy_metric(trainer, "train_loss"));
        assert_true(is_scaled ? result->nonfinite_steps < 3 : result->nonfinite_steps == 0);
        assert_int_equal(isnan(result->loss_scale) != 0, !is_scaled);
        fg_trainer_destroy(trainer);
    }
}

static void unknown_precisions_are_refused(void **state)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    (void)state;
    assert_int_equal(
        toy_create(&(fg_trainer_options){.numerics.precision = "bf16-mixd"}, &trainer, &err),
        FG_EINVAL);
    assert_string_equal(
        err.message,
        "trainer.precision: expected one of 32-true|bf16-mixed|bf16-true|16-mixed|16-true|64-true, "
        "got 'bf16-mixd': did you mean 'bf16-mixed'?");
    assert_int_equal(toy_create(&(fg_trainer_options){.numerics.precision = "bf16-mixed",
                                                      .numerics.stochastic_rounding = true},
                                &trainer, &err),
                     FG_EINVAL);
    assert_string_equal(err.message,
                        "trainer.stochastic_rounding is for precision bf16-true, not bf16-mixed");
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Dtype and first elements of a weight in the last checkpoint of a run. */
static fg_dtype saved(const fg_trainer *trainer, const char *name, double *out, size_t count)
{
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    size_t index = 0;
    double element[1];
    fgt_ok(fg_ckpt_open(fg_trainer_result(trainer)->checkpoint, NULL, &ckpt, &err));
    assert_true(fg_ckpt_find(ckpt, FG_CKPT_MODEL, name, &index));
    const fg_dtype dtype = fg_ckpt_info(ckpt, index)->type.dtype;
    const size_t size = fg_dtype_size(dtype);
    for (size_t i = 0; i < count; i++) {
        memcpy(element, (const char *)fg_ckpt_data(ckpt, index) + i * size, size);
        out[i] = fgi_number_get(dtype, element, 0);
    }
    fg_ckpt_close(ckpt);
    return dtype;
}

enum { SOME = TOY_FEATURES * TOY_HIDDEN };

/* A run in one precision, then one negligible step in another precision from its weights. */
static void convert(const char *from, fg_dtype saved_as, const char *to, fg_dtype then_as)
{
    toy model = {0};
    double before[SOME], after[SOME];
    const char *folder = fgt_temp_folder();
    char first[256], second[256], path[512];
    (void)snprintf(first, sizeof first, "%s/%s-a", folder, from);
    (void)snprintf(second, sizeof second, "%s/%s-b", folder, from);
    fg_trainer *trainer =
        fit(&model,
            &(fg_trainer_options){
                .numerics.precision = from, .limits.max_steps = 5, .checkpoints.run_dir = first},
            NULL);
    assert_int_equal(saved(trainer, "fc1.weight", before, SOME), saved_as);
    (void)snprintf(path, sizeof path, "%s", fg_trainer_result(trainer)->checkpoint);
    fg_trainer_destroy(trainer);
    model = (toy){.loss_factor = 1e-30, .optimizer = "sgd"};
    trainer = fit(&model,
                  &(fg_trainer_options){.numerics.precision = to,
                                        .limits.max_steps = 1,
                                        .checkpoints.run_dir = second,
                                        .checkpoints.weights = path},
                  NULL);
    assert_int_equal(saved(trainer, "fc1.weight", after, SOME), then_as);
    for (int i = 0; i < SOME; i++) {
        double wanted[1];
        fgi_number_put(then_as, wanted, 0, before[i]);
        fgt_close("converted weight", after[i], fgi_number_get(then_as, wanted, 0), 1e-20, 0);
    }
    fg_trainer_destroy(trainer);
}

static void checkpoints_hold_the_format_and_are_converted(void **state)
{
    (void)state;
    convert("bf16-mixed", FG_F32, "bf16-true", FG_BF16);
    convert("bf16-true", FG_BF16, "32-true", FG_F32);
    convert("64-true", FG_F64, "16-true", FG_F16);
    convert("32-true", FG_F32, "64-true", FG_F64);
}

/* A run can also be resumed in another precision, with its moments. */
static void runs_go_on_in_another_precision(void **state)
{
    static const char *const order[] = {"32-true", "16-mixed", "64-true", "bf16-true", "32-true"};
    const char *folder = fgt_temp_folder();
    double loss = (double)INFINITY;
    (void)state;
    for (int i = 0; i < 5; i++) {
        toy model = {0};
        fg_trainer *trainer =
            fit(&model,
                &(fg_trainer_options){.numerics.precision = order[i],
                                      .limits.max_epochs = 4 * (i + 1),
                                      .checkpoints.run_dir = folder,
                                      .checkpoints.resume = i > 0 ? "last" : NULL},
                NULL);
        assert_int_equal(fg_trainer_result(trainer)->steps, 4 * (i + 1) * EPOCH);
        assert_true(toy_metric(trainer, "train_loss") < loss);
        loss = toy_metric(trainer, "train_loss");
        fg_trainer_destroy(trainer);
    }
}

/* ---- loss scaling ---------------------------------------------------------------------------- */

/* How many programs a run made, whether they were compiled or found on disk. */
static int64_t programs(const fg_result *result)
{
    return result->compiles + result->compile_cache_hits;
}

/* The initial scale is too large for a loss of 1e4 and is halved until nothing overflows; this
 * needs no additional reads by the host, and nothing is compiled twice. */
static void the_scale_is_found_without_reads(void **state)
{
    toy model = {.loss_factor = 1e4, .optimizer = "adamw"};
    recorder r = {0};
    (void)state;
    fg_trainer *plain =
        fit(&model, &(fg_trainer_options){.limits.max_epochs = 6, .output.log_every = 4}, NULL);
    fg_trainer *scaled =
        fit(&model,
            &(fg_trainer_options){
                .numerics.precision = "16-mixed", .limits.max_epochs = 6, .output.log_every = 4},
            &r);
    const fg_result *result = fg_trainer_result(scaled);
    assert_true(result->nonfinite_steps > 3 && result->nonfinite_steps < 16);
    fgt_close("scale", result->loss_scale, ldexp(65536, -(int)result->nonfinite_steps), 0, 0);
    assert_int_equal(result->host_reads, fg_trainer_result(plain)->host_reads);
    assert_int_equal(programs(result), programs(fg_trainer_result(plain)));
    assert_true(toy_metric(scaled, "train_loss") < 0.8e4);
    assert_non_null(strstr(r.logged, "train_loss_scale"));
    assert_non_null(strstr(r.logged, "train_nonfinite_steps"));
    assert_non_null(strstr(warnings, "rounds to f16 but computes in f32"));
    assert_null(strstr(warnings, "not finite"));
    fg_trainer_destroy(plain);
    fg_trainer_destroy(scaled);
}

/* ---- lost updates ---------------------------------------------------------------------------- */

static void small_updates_are_reported(void **state)
{
    toy model = {.loss_factor = 1e-4, .optimizer = "sgd"};
    recorder r = {0};
    (void)state;
    fg_trainer *trainer =
        fit(&model,
            &(fg_trainer_options){
                .numerics.precision = "bf16-true", .limits.max_epochs = 1, .output.log_every = 4},
            &r);
    assert_in_range(1000 * fg_trainer_result(trainer)->lost_updates, 800, 1000);
    assert_non_null(strstr(r.logged, "train_lost_updates"));
    assert_non_null(strstr(warnings, "less than half a unit in the last place; use 'bf16-mixed'"));
    fg_trainer_destroy(trainer);
    model = (toy){.loss_factor = 100, .optimizer = "sgd"};
    trainer =
        fit(&model, &(fg_trainer_options){.numerics.precision = "bf16-true", .limits.max_steps = 3},
            NULL);
    assert_in_range(1000 * fg_trainer_result(trainer)->lost_updates, 0, 250);
    assert_string_equal(warnings, "");
    fg_trainer_destroy(trainer);
    trainer = fit(&model,
                  &(fg_trainer_options){.numerics.precision = "bf16-true",
                                        .limits.max_steps = 3,
                                        .numerics.stochastic_rounding = true},
                  NULL);
    assert_true(isnan(fg_trainer_result(trainer)->lost_updates));
    fg_trainer_destroy(trainer);
}

/* ---- non-finite gradients -------------------------------------------------------------------- */

/* loss = mean(x w) + mean(w b): the gradient of w is the mean of x, b's is finite. */
typedef struct line {
    fg_variable *b, *w;
} line;

static void build_line(void *self, fg_module *root)
{
    line *l = self;
    l->b = fg_module_variable(root, "first.b", &(fg_type){FG_F32, 1, {1}}, NULL);
    l->w = fg_module_variable(root, "second.w", &(fg_type){FG_F32, 1, {1}}, NULL);
}

static fg_tensor line_step(void *self, fg_step *step, const fg_batch *batch)
{
    const line *l = self;
    fg_trace *trace = fg_step_trace(step);
    const fg_tensor x = fg_batch_at(batch, 0), w = fg_variable_value(trace, l->w);
    const fg_tensor b = fg_variable_value(trace, l->b);
    return fg_add(fg_mean(fg_mul(x, w), 0, NULL), fg_mean(b, 0, NULL));
}

static fg_optimizer *line_optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.5});
}

static const fg_task_ops line_ops = {
    .build = build_line, .train_step = line_step, .optimizer = line_optimizer};

/* Twelve batches of two; the values of the 9th are `bad`. */
static fg_dataset *line_data(float bad)
{
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    float x[24], y[24] = {0};
    const fg_field fields[] = {{"x", {.dtype = FG_F32}}, {"y", {.dtype = FG_F32}}};
    const fg_dataset_spec spec = {.count = 24, .fields = fields, .field_count = 2};
    for (int i = 0; i < 24; i++)
        x[i] = i / 2 == 8 ? bad : 1;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *[]){x, y}, FG_COPY, &dataset, &err));
    return dataset;
}

static fg_status fit_line(float bad, bool detects, const char *precision, int batches,
                          fg_trainer **out, recorder *r, fg_error *out_err)
{
    fg_error err = {0};
    static line model;
    const fg_task task = {.name = "line", .self = &model, .ops = &line_ops};
    fg_dataset *dataset = line_data(bad);
    const fg_trainer_options options = {.devices.client = client,
                                        .numerics.precision = precision,
                                        .numerics.detect_anomaly = detects,
                                        .divergence.on_divergence = detects ? NULL : "ignore",
                                        .output.log_every = 4,
                                        .numerics.accumulate_grad_batches = batches};
    warnings[0] = '\0';
    fgt_ok(toy_create(&options, out, &err));
    if (r != NULL)
        fgt_ok(fg_trainer_add_callback(*out, &recorder_ops, r, &err));
    const fg_fit_data lines = {.train = dataset, .batch_size = 2, .no_shuffle = true};
    const fg_status status = fg_trainer_fit(*out, &task, &lines, out_err);
    fg_dataset_destroy(dataset);
    return status;
}

static const struct {
    float bad;
    int batches, step;
    const char *what, *samples;
} named_anomalies[] = {{NAN, 1, 9, "NaN", "16, 17"},
                       {-INFINITY, 1, 9, "an infinite number", "16, 17"},
                       {NAN, 2, 5, "NaN", "16, 17, 18, 19"},
                       {INFINITY, 3, 3, "an infinite number", "12, 13, 14, 15, ... (6 in total)"}};

static void anomalies_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof named_anomalies / sizeof named_anomalies[0]; i++) {
        fg_error err = {0};
        fg_trainer *trainer = NULL;
        char wanted[256];
        float w = 0, b = 0;
        assert_int_equal(fit_line(named_anomalies[i].bad, true, "32-true",
                                  named_anomalies[i].batches, &trainer, NULL, &err),
                         FG_ENUMERIC);
        (void)snprintf(wanted, sizeof wanted,
                       "training step %d: the gradient of 'second.w' has %s: samples %s of epoch "
                       "0\nthe step was skipped, and so is any later step with such a gradient\n"
                       "there is no earlier checkpoint",
                       named_anomalies[i].step, named_anomalies[i].what,
                       named_anomalies[i].samples);
        assert_string_equal(err.message, wanted);
        fg_module *root = fg_trainer_module(trainer);
        fgt_ok(fg_variable_read(fg_module_find(root, "second.w"), &w, sizeof w, &err));
        fgt_ok(fg_variable_read(fg_module_find(root, "first.b"), &b, sizeof b, &err));
        assert_true(isfinite(w) && w < 0 && w == b); /* the bad step changed neither */
        assert_int_equal(fg_trainer_result(trainer)->nonfinite_steps, 1);
        fg_trainer_destroy(trainer);
    }
}

static float second_w(const fg_trainer *trainer)
{
    float w;
    fg_error err = {0};
    fgt_ok(fg_variable_read(fg_module_find(fg_trainer_module(trainer), "second.w"), &w, sizeof w,
                            &err));
    return w;
}

static void steps_that_are_not_finite_are_counted(void **state)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    recorder r = {0};
    float w = 0;
    (void)state;
    fgt_ok(fit_line(NAN, false, "32-true", 1, &trainer, &r, &err));
    assert_int_equal(fg_trainer_result(trainer)->nonfinite_steps, 1);
    assert_non_null(strstr(r.logged, "train_nonfinite_steps"));
    assert_non_null(strstr(warnings, "up to step 12 the gradients of 1 step were not finite"));
    w = second_w(trainer);
    assert_true(isnan(w)); /* nothing was configured to skip it */
    fg_trainer_destroy(trainer);
    /* with a loss scale, the step is skipped; no anomaly while the scale is far above 1 */
    fgt_ok(fit_line(INFINITY, true, "16-mixed", 1, &trainer, NULL, &err));
    assert_int_equal(fg_trainer_result(trainer)->nonfinite_steps, 1);
    fgt_close("scale", fg_trainer_result(trainer)->loss_scale, 32768, 0, 0);
    w = second_w(trainer);
    fgt_close("w", (double)w, -0.5 * 11, 1e-3, 0);
    fg_trainer_destroy(trainer);
    /* a step of three batches, one of them bad, is skipped as a whole */
    fgt_ok(fit_line(INFINITY, true, "16-mixed", 3, &trainer, NULL, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 4);
    assert_int_equal(fg_trainer_result(trainer)->nonfinite_steps, 1);
    fgt_close("scale", fg_trainer_result(trainer)->loss_scale, 32768, 0, 0);
    w = second_w(trainer);
    fgt_close("w", (double)w, -0.5 * 3, 1e-3, 0);
    fg_trainer_destroy(trainer);
    /* which is how the scale is found, and no reason for a warning */
    fgt_ok(fit_line(INFINITY, false, "16-mixed", 1, &trainer, NULL, &err));
    assert_int_equal(fg_trainer_result(trainer)->nonfinite_steps, 1);
    assert_null(strstr(warnings, "not finite"));
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_precision_learns),
    cmocka_unit_test(unknown_precisions_are_refused),
    cmocka_unit_test(checkpoints_hold_the_format_and_are_converted),
    cmocka_unit_test(runs_go_on_in_another_precision),
    cmocka_unit_test(the_scale_is_found_without_reads),
    cmocka_unit_test(small_updates_are_reported),
    cmocka_unit_test(anomalies_are_named),
    cmocka_unit_test(steps_that_are_not_finite_are_counted),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
