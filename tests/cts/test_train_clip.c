/* test_train_clip.c - gradient clipping in the Trainer: the size of an update is the limit, on any
 * number of devices, however parameters are sharded, with accumulation and loss scaling; steps that
 * are not finite stay skipped. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "toy.h"

enum { HIDDEN = 512, COUNT = TOY_FEATURES * HIDDEN + HIDDEN + HIDDEN * TOY_CLASSES + TOY_CLASSES };

static char cache[512];

static int begin(void **state)
{
    (void)state;
    toy_use_memory();
    (void)snprintf(cache, sizeof cache, "%s", fgt_cache(fgt_temp_folder()));
    return 0;
}

static int end(void **state)
{
    (void)state;
    return fgi_alloc_live() != 0;
}

typedef struct setting {
    const char *devices, *strategy, *algorithm;
    double limit;
    int64_t batch, accumulate, steps;
    bool scales;  /* the loss */
    float bad;    /* replaces the first feature of the second batch, unless 0 */
    bool is_less; /* the second batch is left out */
} setting;

/* The parameters before and after. */
typedef struct outcome {
    float before[COUNT], after[COUNT];
    int64_t compiles, hits, nonfinite;
} outcome;

static double factor_of_scale; /* 0: the loss is not scaled */

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    fg_error err = {0};
    (void)self;
    fg_optimizer *sgd = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
    if (factor_of_scale > 0)
        fgt_ok(fg_optimizer_set_loss_scale(sgd, &(fg_loss_scale_options){.init = factor_of_scale},
                                           &err));
    return sgd;
}

static void read_all(fg_trainer *trainer, float *out)
{
    fg_error err = {0};
    fg_module *root = fg_trainer_module(trainer);
    size_t at = 0;
    for (size_t i = 0; i < fg_module_variable_count(root); i++) {
        const fg_variable *v = fg_module_variable_at(root, i);
        const size_t bytes = fg_type_bytes(fg_variable_type(v));
        assert_true(at + bytes / sizeof *out <= COUNT);
        fgt_ok(fg_variable_read(v, out + at, bytes, &err));
        at += bytes / sizeof *out;
    }
    assert_int_equal(at, COUNT);
}

typedef struct reader {
    fg_trainer *trainer;
    outcome *out;
} reader;

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    const reader *r = self;
    (void)at, (void)err;
    read_all(r->trainer, r->out->before);
    return FG_OK;
}

static const fg_callback_ops reader_ops = {.fit_start = on_fit_start};

/* The samples in order; 24 a batch of all devices. */
static fg_dataset *samples(const setting *s)
{
    fg_error err = {0};
    enum { ALL = 72, BATCH = 24 };
    static float x[ALL][TOY_FEATURES];
    static int32_t y[ALL];
    int count = 0;
    fg_dataset *dataset = NULL;
    static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}}};
    for (int i = 0; i < ALL; i++) {
        if (s->is_less && i / BATCH == 1)
            continue;
        y[count] = toy_sample(i, 3, x[count]);
        if (s->bad != 0 && i / BATCH == 1)
            x[count][0] = s->bad;
        count++;
    }
    const fg_dataset_spec spec = {
        .count = count, .fields = fields, .field_count = 2, .class_count = TOY_CLASSES};
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *[]){x, y}, FG_COPY, &dataset, &err));
    return dataset;
}

static void train(const setting *s, outcome *out)
{
    fg_error err = {0};
    toy model = {.hidden = HIDDEN};
    fg_task_ops ops = toy_ops;
    ops.optimizer = optimizer;
    factor_of_scale = s->scales ? 1024 : 0;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    fg_dataset *data = samples(s);
    const fg_fit_data fit = {
        .train = data, .global_batch_size = s->batch != 0 ? s->batch : 24, .no_shuffle = true};
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = s->devices,
                                        .devices.strategy = s->strategy,
                                        .devices.cache_dir = cache,
                                        .limits.max_steps = s->steps,
                                        .limits.max_epochs = 1,
                                        .numerics.accumulate_grad_batches = s->accumulate,
                                        .numerics.gradient_clip_val = s->limit,
                                        .numerics.gradient_clip_algorithm = s->algorithm};
    fg_trainer *trainer = NULL;
    fgt_ok(toy_create(&options, &trainer, &err));
    reader r = {.trainer = trainer, .out = out};
    fgt_ok(fg_trainer_add_callback(trainer, &reader_ops, &r, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
    read_all(trainer, out->after);
    out->compiles = fg_trainer_result(trainer)->compiles;
    out->hits = fg_trainer_result(trainer)->compile_cache_hits;
    out->nonfinite = fg_trainer_result(trainer)->nonfinite_steps;
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static double norm_of_change(const outcome *o)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += pow((double)o->after[i] - (double)o->before[i], 2);
    return sqrt(sum);
}

static double largest_change(const outcome *o)
{
    double most = 0;
    for (int i = 0; i < COUNT; i++)
        most = fmax(most, fabs((double)o->after[i] - (double)o->before[i]));
    return most;
}

static const setting forms[] = {
    {.devices = "1", .steps = 1},
    {.devices = "8", .strategy = "ddp", .steps = 1},
    {.devices = "8", .strategy = "fsdp", .steps = 1},
    {.devices = "4", .strategy = "fsdp", .batch = 8, .accumulate = 3, .steps = 1},
    {.devices = "1", .scales = true, .steps = 1},
    {.devices = "2", .batch = 12, .accumulate = 2, .scales = true, .steps = 1},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

/* SGD moves all parameters together by lr * limit, if the gradient is larger than the limit. */
static void a_step_is_as_long_as_the_limit(void **state)
{
    static outcome plain, one, o;
    (void)state;
    train(&forms[0], &plain);
    const double whole = norm_of_change(&plain) / 0.1; /* the norm of the gradient */
    assert_true(whole > 0.5);
    for (size_t i = 0; i < FORMS; i++) {
        setting s = forms[i];
        s.limit = 0.25;
        train(&s, &o);
        fgt_close("length of the step", norm_of_change(&o), 0.1 * 0.25, 0, 1e-4);
        if (i == 0)
            one = o;
        for (int k = 0; k < COUNT; k++)
            fgt_close("parameter", (double)o.after[k], (double)one.after[k], 1e-6, 1e-5);
        s.limit = 2 * whole; /* not reached */
        train(&s, &o);
        fgt_close("length of the step", norm_of_change(&o), 0.1 * whole, 0, 1e-4);
    }
}

static void no_element_moves_further_than_the_limit(void **state)
{
    static outcome plain, one, o;
    (void)state;
    train(&forms[0], &plain);
    assert_true(largest_change(&plain) > 0.1 * 0.02);
    for (size_t i = 0; i < FORMS; i += 2) {
        setting s = forms[i];
        s.limit = 0.02;
        s.algorithm = "value";
        train(&s, &o);
        if (i == 0)
            one = o;
        for (int k = 0; k < COUNT; k++) {
            const double change = (double)plain.after[k] - (double)plain.before[k];
            fgt_close("change", (double)o.after[k] - (double)o.before[k],
                      fmax(-0.002, fmin(change, 0.002)), 1e-6, 0);
            fgt_close("parameter", (double)o.after[k], (double)one.after[k], 1e-6, 1e-5);
        }
    }
}

/* The second of three steps has gradients that are not finite: the run is that without it. */
static void a_step_that_is_not_finite_is_skipped(void **state)
{
    static const struct {
        float bad;
        const char *algorithm;
    } rows[] = {{NAN, "norm"}, {INFINITY, "norm"}, {NAN, "value"}, {INFINITY, "value"}};
    static outcome with, without;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setting s = {.devices = "1", .scales = true, .limit = 0.02, .algorithm = rows[i].algorithm};
        s.bad = rows[i].bad;
        train(&s, &with);
        s.bad = 0;
        s.is_less = true;
        train(&s, &without);
        assert_int_equal(with.nonfinite, 1);
        assert_int_equal(without.nonfinite, 0);
        assert_memory_equal(with.after, without.after, sizeof with.after);
        assert_true(norm_of_change(&with) > 0);
    }
}

/* The limit is passed at each launch: another one needs no other program. */
static void another_limit_is_the_same_program(void **state)
{
    static outcome o;
    (void)state;
    setting s = forms[0];
    s.limit = 0.125;
    train(&s, &o);
    s.limit = 0.375;
    train(&s, &o);
    assert_int_equal(o.compiles, 0);
    assert_int_equal(o.hits, 1);
    fgt_close("length of the step", norm_of_change(&o), 0.1 * 0.375, 0, 1e-4);
}

static void check_refused(const fg_trainer_numerics *numerics, const char *message)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.numerics = *numerics};
    assert_int_equal(toy_create(&options, &trainer, &err), FG_EINVAL);
    assert_string_equal(err.message, message);
}

static void bad_limits_are_refused(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    (void)state;
    check_refused(
        &(fg_trainer_numerics){.gradient_clip_val = -1},
        "trainer.gradient_clip_val: expected a number, 0 or greater (for example 1), got '-1'");
    check_refused(&(fg_trainer_numerics){.gradient_clip_val = HUGE_VAL},
                  "trainer.gradient_clip_val: expected a number, 0 or greater (for example 1), got "
                  "'inf': the largest value is 1e+30");
    check_refused(&(fg_trainer_numerics){.gradient_clip_val = 1, .gradient_clip_algorithm = "l2"},
                  "trainer.gradient_clip_algorithm: expected one of norm|value, got 'l2'");
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 2, .out = 2});
    fg_optimizer *sgd = fg_sgd_create(root, NULL);
    assert_int_equal(fg_optimizer_set_clip(sgd, FG_CLIP_NORM, 0, &err), FG_EINVAL);
    assert_string_equal(err.message, "gradient clipping: the limit is 0: expected more than 0");
    assert_int_equal(fg_optimizer_set_clip(sgd, (fg_clip)7, 1, &err), FG_EINVAL);
    fgt_ok(fg_optimizer_set_clip(sgd, FG_CLIP_NONE, 0, &err));
    fg_module_destroy(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_step_is_as_long_as_the_limit),
    cmocka_unit_test(no_element_moves_further_than_the_limit),
    cmocka_unit_test(a_step_that_is_not_finite_is_skipped),
    cmocka_unit_test(another_limit_is_the_same_program),
    cmocka_unit_test(bad_limits_are_refused),
};

int main(void) { return cmocka_run_group_tests(tests, begin, end) == 0 ? 0 : 1; }
