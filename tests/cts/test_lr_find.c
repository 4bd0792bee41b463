/* test_lr_find.c - the search for a learning rate leaves no trace: a fit after it equals a fit
 * without it, bit for bit, and runs the same program; one and eight devices find the same. On the
 * CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

#include "optim/optimizer.h"
#include "toy.h"

enum { SAMPLES = 101, STEPS = 30, SWEEP = 40, MOST_BYTES = 1 << 16 };

static const fg_schedule onecycle = {.row = &fgi_onecycle_row};
static fg_dataset *train_data, *val_data, *source;
static const char *cache; /* of compiled programs, for all tests */

static int open_all(void **state)
{
    (void)state;
    cache = fgt_cache(fgt_temp_folder());
    train_data = toy_data(SAMPLES, 1);
    val_data = toy_data(37, 2);
    source = toy_source(SAMPLES, 1, false);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(val_data);
    fg_dataset_destroy(source);
    return 0;
}

/* Kinds of runs: what steps depend on. */
typedef struct kind {
    const char *name;
    toy model;
    fg_trainer_options options;
    bool has_source;
} kind;

static const kind kinds[] = {
    {.name = "adam, dropout, batch norm, onecycle, two devices",
     .model = {.dropout = 0.3, .has_norm = true},
     .options = {.limits.max_steps = STEPS,
                 .output.log_every = 3,
                 .lr = {.schedule = &onecycle, .lr_scaling = "linear"},
                 .devices.devices = "2"}},
    {.name = "f16 with a scaled loss, two batches a step",
     .model = {.loss_factor = 100},
     .options = {.limits.max_steps = STEPS,
                 .output.log_every = 4,
                 .numerics = {.precision = "16-mixed", .accumulate_grad_batches = 2}}},
    {.name = "a source of unknown length, sgd",
     .model = {.optimizer = "sgd"},
     .options = {.limits.max_steps = STEPS, .output.log_every = 1},
     .has_source = true},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static fg_fit_data data_of(const kind *k)
{
    return (fg_fit_data){.train = k->has_source ? source : train_data,
                         .val = val_data,
                         .global_batch_size = 16,
                         .shuffle_buffer = k->has_source ? 20 : 0};
}

static fg_trainer *open_trainer(const kind *k)
{
    fg_trainer *trainer = NULL;
    fg_error err = {0};
    fg_trainer_options options = k->options;
    options.seed = 5;
    options.devices.accelerator = "cpu";
    options.devices.cache_dir = cache;
    fgt_ok(toy_create(&options, &trainer, &err));
    return trainer;
}

/* The variables of the model and the optimizer, in order; returns the size. */
static size_t read_all(const fg_trainer *trainer, const fg_optimizer *optimizer, char *out)
{
    const fg_module *root = fg_trainer_module(trainer);
    const size_t own = fg_module_variable_count(root);
    fg_error err = {0};
    size_t used = 0;
    for (size_t i = 0; i < own + fg_optimizer_variable_count(optimizer); i++) {
        const fg_variable *v =
            i < own ? fg_module_variable_at(root, i) : fg_optimizer_variable_at(optimizer, i - own);
        const size_t size = fg_type_bytes(fg_variable_type(v));
        assert_true(used + size <= MOST_BYTES);
        fgt_ok(fg_variable_read(v, out + used, size, &err));
        used += size;
    }
    return used;
}

/* The toy's table, which also keeps the optimizer. */
static fg_optimizer *last_optimizer;
static fg_optimizer *make_optimizer(void *self, fg_module *root)
{
    last_optimizer = toy_ops.optimizer(self, root);
    return last_optimizer;
}

static fg_task_ops ops(void)
{
    fg_task_ops table = toy_ops;
    table.optimizer = make_optimizer;
    return table;
}

static fg_lr_curve *find(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data)
{
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    const fg_lr_find_options options = {
        .min_lr = 1e-5, .max_lr = 100, .steps = SWEEP, .segments = 2};
    fgt_ok(fg_tuner_lr_find(trainer, task, data, &options, &curve, &err));
    return curve;
}

/* Instead of searches for a learning rate: steps with other batches. */
static bool tries_batches;

static void search(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data)
{
    fg_error err = {0};
    fg_batch_fit fit = {.batch_size = 12};
    if (!tries_batches) {
        fg_lr_curve_destroy(find(trainer, task, data));
        return;
    }
    fgt_ok(fg_tuner_try_batch(trainer, task, data, NULL, &fit, &err));
    assert_true(fit.was_run && fit.batch_size == 12 && fit.need_bytes > 0);
}

/* Fits in two parts; `before` and `between`: searches before each. Returns the size of the state.
 */
static size_t fit(const kind *k, bool before, bool between, char *out, fg_result *out_result)
{
    fg_error err = {0};
    toy model = k->model;
    const fg_task_ops table = ops();
    const fg_task task = {.name = "toy", .self = &model, .ops = &table};
    const fg_fit_data data = data_of(k);
    fg_trainer *trainer = open_trainer(k);
    int stop = 26; /* within the last epoch and a window of metrics */
    recorder *r = calloc(1, sizeof *r);
    *r = (recorder){.at_event = "batch_end", .at_count = stop, .status = FG_ESTOPPED};
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, r, &err));
    if (before)
        search(trainer, &task, &data);
    assert_int_equal(r->used, 0); /* a search calls no callback */
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    if (before && !tries_batches) /* the search compiled the train program */
        assert_int_equal(fg_trainer_result(trainer)->compiles +
                             fg_trainer_result(trainer)->compile_cache_hits,
                         1); /* validation */
    if (between)
        search(trainer, &task, &data);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    *out_result = *fg_trainer_result(trainer);
    const size_t size = read_all(trainer, last_optimizer, out);
    fg_trainer_destroy(trainer);
    free(r);
    return size;
}

static void leaves_no_trace(void **state)
{
    (void)state;
    static char expected[MOST_BYTES], found[MOST_BYTES];
    for (int i = 0; i < KINDS; i++) {
        fg_result a, b;
        const size_t size = fit(&kinds[i], false, false, expected, &a);
        assert_int_equal(fit(&kinds[i], true, true, found, &b), size);
        if (memcmp(expected, found, size) != 0)
            fail_msg("%s: the weights differ", kinds[i].name);
        assert_int_equal(a.metric_count, b.metric_count);
        for (size_t m = 0; m < a.metric_count; m++) {
            assert_string_equal(a.metrics[m].name, b.metrics[m].name);
            assert_true(a.metrics[m].value == b.metrics[m].value);
        }
    }
}

/* ---- the curve ------------------------------------------------------------------------------- */

typedef struct steps {
    int64_t count;
    int last_segment;
    double last_lr;
} steps;

static void steps_with_other_batches_leave_no_trace(void **state)
{
    tries_batches = true;
    leaves_no_trace(state);
    tries_batches = false;
}

static void on_step(void *self, int segment, int64_t step, double lr, double loss)
{
    steps *s = self;
    assert_true(segment >= s->last_segment && step >= 0 && lr > 0);
    assert_true(segment > s->last_segment || lr > s->last_lr);
    assert_true(isnan(loss) || loss >= 0);
    *s = (steps){s->count + 1, segment, lr};
}

/* Every device count has the same batches of 16 samples, so the curves are equal up to rounding. */
static fg_lr_curve *curve_of(const char *devices, const char *scaling)
{
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    toy model = {0};
    steps s = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const kind k = {.options = {.limits.max_steps = STEPS,
                                .devices.devices = devices,
                                .lr = {.lr_scaling = scaling, .base_batch_size = 4}}};
    const fg_fit_data data = data_of(&k);
    fg_trainer *trainer = open_trainer(&k);
    const fg_lr_find_options options = {
        .min_lr = 1e-5, .max_lr = 100, .steps = 60, .segments = 3, .step = on_step, .self = &s};
    fgt_ok(fg_tuner_lr_find(trainer, &task, &data, &options, &curve, &err));
    assert_true(s.count > 100 && s.count <= 180 && s.last_segment == 2);
    assert_int_equal(fg_trainer_settings(trainer)->total_steps, 0); /* of a fit; there was none */
    fg_trainer_destroy(trainer);
    return curve;
}

static void one_and_eight_devices_agree(void **state)
{
    (void)state;
    fg_lr_curve *one = curve_of("1", "none"), *eight = curve_of("8", "none");
    const fg_lr_suggestions *a = fg_lr_curve_suggestions(one);
    const fg_lr_suggestions *b = fg_lr_curve_suggestions(eight);
    assert_int_equal(fg_lr_curve_segments(one), 3);
    assert_null(fg_lr_curve_loss(one, 3));
    assert_null(fg_lr_curve_loss(one, -1));
    assert_true(a->valley > 1e-3 && a->valley < 1);
    assert_true(fabs(log(a->valley / b->valley)) < 0.01);
    assert_true(fabs(log(a->steep / b->steep)) < 0.01);
    assert_true(fabs(log(a->minimum / b->minimum)) < 0.01);
    assert_true(a->valley_low <= a->valley_high);
    for (size_t i = 0; i < 20; i++) { /* beyond, rounding errors have grown */
        const double x = fg_lr_curve_loss(one, 1)[i], y = fg_lr_curve_loss(eight, 1)[i];
        assert_true(fabs(x - y) < 1e-5 * fabs(x));
        assert_true(fg_lr_curve_lr(one)[i] == fg_lr_curve_lr(eight)[i]);
    }
    fg_lr_curve_destroy(one);
    fg_lr_curve_destroy(eight);
}

/* The Trainer multiplies the learning rate by 4, so the suggestion is a quarter. */
static void suggests_before_scaling(void **state)
{
    (void)state;
    fg_lr_curve *plain = curve_of("1", "none"), *scaled = curve_of("1", "linear");
    const double ratio =
        fg_lr_curve_suggestions(plain)->valley / fg_lr_curve_suggestions(scaled)->valley;
    assert_true(fg_lr_curve_factor(plain) == 1);
    assert_true(fg_lr_curve_factor(scaled) == 4);
    assert_true(ratio > 2.5 && ratio < 6);
    fg_lr_curve_destroy(plain);
    fg_lr_curve_destroy(scaled);
}

/* The losses of two sweeps before the first change of the weights. */
static void first_losses(int64_t batch, int64_t batches, double out[2])
{
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const kind k = {
        .options = {.limits.max_steps = STEPS, .numerics.accumulate_grad_batches = batches}};
    fg_fit_data data = data_of(&k);
    data.global_batch_size = batch;
    fg_trainer *trainer = open_trainer(&k);
    const fg_lr_find_options options = {.steps = 10, .segments = 2};
    fgt_ok(fg_tuner_lr_find(trainer, &task, &data, &options, &curve, &err));
    for (int i = 0; i < 2; i++)
        out[i] = fg_lr_curve_loss(curve, i)[0];
    fg_lr_curve_destroy(curve);
    fg_trainer_destroy(trainer);
}

/* A step has the batches that are accumulated, and each sweep begins with other samples. */
static void samples_of_a_step(void **state)
{
    (void)state;
    double whole[2], half[2], halves[2];
    first_losses(16, 1, whole);
    first_losses(8, 1, half);
    first_losses(8, 2, halves);
    assert_true(fabs(whole[0] - halves[0]) < 1e-5 * fabs(whole[0]));
    assert_true(fabs(whole[0] - half[0]) > 1e-4 * fabs(whole[0]));
    assert_true(fabs(whole[0] - whole[1]) > 1e-4 * fabs(whole[0]));
}

/* A sweep that starts where training diverges. */
static void a_curve_that_is_too_short(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    toy model = {.optimizer = "sgd", .loss_factor = 1e4};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const kind k = {.options = {.limits.max_steps = STEPS, .divergence.on_divergence = "ignore"}};
    const fg_fit_data data = data_of(&k);
    fg_trainer *trainer = open_trainer(&k);
    const fg_lr_find_options options = {.min_lr = 1e3, .max_lr = 1e9, .steps = 20};
    fgt_ok(fg_tuner_lr_find(trainer, &task, &data, &options, &curve, &err));
    assert_true(fg_lr_curve_count(curve) < 10);
    assert_true(isnan(fg_lr_curve_suggestions(curve)->valley));
    assert_non_null(strstr(fg_lr_curve_suggestions(curve)->note, "lower min_lr"));
    fg_lr_curve_destroy(curve);
    fgt_ok(fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = train_data, .batch_size = 16},
                          &err)); /* the weights are good again */
    fg_trainer_destroy(trainer);
}

/* Sweeps up to learning rates at which plain gradient descent diverges, but which are too few
 * steps for the losses to become infinite. */
static fg_lr_curve *wild_curve(double diverged, int64_t most)
{
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    toy model = {.optimizer = "sgd"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const kind k = {.options = {.limits.max_steps = STEPS, .divergence.on_divergence = "ignore"}};
    const fg_fit_data data = data_of(&k);
    fg_trainer *trainer = open_trainer(&k);
    const fg_lr_find_options options = {
        .min_lr = 1e-4, .max_lr = 30, .steps = most, .segments = 2, .diverged = diverged};
    fgt_ok(fg_tuner_lr_find(trainer, &task, &data, &options, &curve, &err));
    fg_trainer_destroy(trainer);
    return curve;
}

static bool all_finite(const fg_lr_curve *curve, int segment)
{
    size_t i = 0;
    while (i < fg_lr_curve_count(curve) && isfinite(fg_lr_curve_loss(curve, segment)[i]))
        i++;
    return i == fg_lr_curve_count(curve);
}

/* How many losses a sweep has: it ends when their running mean is above its lowest value by
 * `diverged` times its fall, which counts as at least a tenth of the loss of the first steps. */
static size_t end_of(const double *loss, size_t count, double diverged)
{
    double mean = 0, weight = 0, lowest = 0, start = 0;
    for (size_t i = 0; i < count; i++) {
        mean = 0.8 * mean + 0.2 * loss[i];
        weight = 0.8 * weight + 0.2;
        const double now = mean / weight;
        if (i < 5)
            start = lowest = now;
        lowest = fmin(lowest, now);
        if (i >= 5 && now > lowest + diverged * fmax(start - lowest, 0.1 * fabs(start)))
            return i + 1;
    }
    return count + 1; /* not yet */
}

/* Each sweep, of at most `most` steps, ends there. */
static void assert_ends(const fg_lr_curve *curve, double diverged, size_t most)
{
    for (int k = 0; k < 2; k++) {
        const double *loss = fg_lr_curve_loss(curve, k);
        size_t known = 0;
        while (known < fg_lr_curve_count(curve) && !isnan(loss[known]))
            known++;
        assert_int_equal(end_of(loss, known, diverged), known < most ? known : most + 1);
    }
}

/* Divergence ends a sweep although each loss is finite, unless it is off. */
static void finite_losses_that_diverge(void **state)
{
    (void)state;
    fg_lr_curve *early = wild_curve(0, 60), *late = wild_curve(20, 60);
    fg_lr_curve *whole = wild_curve(FG_ZERO, 60), *fine = wild_curve(0, 400);
    const size_t count = fg_lr_curve_count(early);
    assert_true(count > 10 && count < fg_lr_curve_count(late));
    assert_true(fg_lr_curve_count(late) < 60);
    assert_true(all_finite(early, 0) || all_finite(early, 1));
    assert_int_equal(fg_lr_curve_count(whole), 60);
    assert_true(all_finite(whole, 0) && all_finite(whole, 1));
    for (size_t i = 0; i < count && !isnan(fg_lr_curve_loss(early, 0)[i]); i++)
        assert_true(fg_lr_curve_loss(early, 0)[i] == fg_lr_curve_loss(whole, 0)[i]);
    assert_ends(early, 4, 60);
    assert_ends(fine, 4, 400);
    assert_ends(late, 20, 60);
    fg_lr_curve_destroy(early);
    fg_lr_curve_destroy(late);
    fg_lr_curve_destroy(whole);
    fg_lr_curve_destroy(fine);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void raise_signal(void *self, int segment, int64_t step, double lr, double loss)
{
    (void)self, (void)segment, (void)lr, (void)loss;
    if (step == 4)
        (void)raise(SIGTERM);
}

static void a_signal_stops_it(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const kind k = {.options = {.limits.max_steps = STEPS, .handle_signals = true}};
    const fg_fit_data data = data_of(&k);
    fg_trainer *trainer = open_trainer(&k);
    const fg_lr_find_options options = {.steps = 20, .step = raise_signal};
    assert_int_equal(fg_tuner_lr_find(trainer, &task, &data, &options, &curve, &err), FG_ESTOPPED);
    assert_null(curve);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, STEPS);
    fg_trainer_destroy(trainer);
}

/* Three sweeps of 100 steps from 1e-7 to 10; ten steps are the least. */
static void options_have_defaults(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const kind k = {.options = {.limits.max_steps = STEPS}};
    const fg_fit_data data = data_of(&k);
    fg_trainer *trainer = open_trainer(&k);
    fgt_ok(fg_tuner_lr_find(trainer, &task, &data, NULL, &curve, &err));
    const double *lr = fg_lr_curve_lr(curve);
    assert_in_range(fg_lr_curve_count(curve), 11, 100);
    assert_int_equal(fg_lr_curve_segments(curve), 3);
    fgt_close("lr", lr[0], 1e-7, 0, 1e-12);
    fgt_close("lr", lr[10], 1e-7 * pow(1e8, 10.0 / 99), 0, 1e-12);
    fg_lr_curve_destroy(curve);
    const fg_lr_find_options shortest = {.steps = 10, .segments = 1};
    fgt_ok(fg_tuner_lr_find(trainer, &task, &data, &shortest, &curve, &err));
    fg_lr_curve_destroy(curve);
    fg_trainer_destroy(trainer);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const fg_lr_find_options bad[] = {
        {.min_lr = -1},   {.min_lr = 20},     {.max_lr = (double)NAN}, {.max_lr = (double)INFINITY},
        {.steps = 9},     {.steps = 1 << 20}, {.segments = -1},        {.diverged = -2},
        {.smoothing = 2}, {.reserved = {1}},  {.smoothing = -0.5},     {.max_lr = 1e-7},
        {.steps = 10001}, {.diverged = -0.5}, {.segments = 101},
    };
    static const fg_lr_find_options most = {.steps = 10000, .segments = 100, .smoothing = 1};
    fg_error err = {0};
    fg_lr_curve *curve = NULL;
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const kind k = {.options = {.limits.max_steps = STEPS}};
    fg_fit_data data = data_of(&k);
    fg_trainer *trainer = open_trainer(&k);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(fg_tuner_lr_find(trainer, &task, &data, &bad[i], &curve, &err), FG_EINVAL);
    assert_string_equal(
        err.message,
        "tuner.segments: expected an integer from 1 to 100 (for example 5), got '101'");
    data.train = NULL;
    assert_int_equal(fg_tuner_lr_find(trainer, &task, &data, NULL, &curve, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "no training data"));
    assert_int_equal(fg_tuner_lr_find(trainer, &task, &data, &most, &curve, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "no training data")); /* the options are good */
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(leaves_no_trace),
    cmocka_unit_test(steps_with_other_batches_leave_no_trace),
    cmocka_unit_test(one_and_eight_devices_agree),
    cmocka_unit_test(suggests_before_scaling),
    cmocka_unit_test(samples_of_a_step),
    cmocka_unit_test(a_curve_that_is_too_short),
    cmocka_unit_test(finite_losses_that_diverge),
    cmocka_unit_test(a_signal_stops_it),
    cmocka_unit_test(options_have_defaults),
    cmocka_unit_test(what_is_refused),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all); }
