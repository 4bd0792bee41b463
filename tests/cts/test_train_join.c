/* test_train_join.c - several optimizers in one task: a GAN follows PyTorch's on one and on four
 * devices, with several batches or steps per launch, in 16 bits, and when it is stopped and
 * resumed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <fulgurite/tuner.h>

#include "record.h"
#include "toy.h"

enum { STEPS = 12, BATCH = 8, STOP = 7, MOST_VALUES = 256 };

static fg_ckpt *record;
static fg_dataset *points;
static char cache[512];

/* ---- the task -------------------------------------------------------------------------------- */

typedef struct net {
    fg_linear *fc1, *fc2;
} net;

typedef struct gan {
    net generator, discriminator;
} gan;

static void build_net(fg_module *root, const char *name, int64_t outputs, net *out)
{
    fg_module *m = fg_module_child(root, name);
    out->fc1 = fg_linear_create(m, "fc1", &(fg_linear_options){.in = 2, .out = 6});
    out->fc2 = fg_linear_create(m, "fc2", &(fg_linear_options){.in = 6, .out = outputs});
}

/* With the parameters of the record. */
static void build(void *self, fg_module *root)
{
    gan *g = self;
    fg_error err = {0};
    build_net(root, "generator", 2, &g->generator);
    build_net(root, "discriminator", 1, &g->discriminator);
    for (size_t i = 0; i < fg_module_variable_count(root); i++) {
        fg_variable *v = fg_module_variable_at(root, i);
        float values[MOST_VALUES];
        fgt_from_file_order(v, fgt_record_get(record, NULL, "first/%s", fg_variable_name(v)),
                            values);
        fgt_ok(fg_variable_set(v, values, fg_type_bytes(fg_variable_type(v)), &err));
    }
}

static fg_tensor forward(const net *n, fg_tensor x)
{
    return fg_linear_apply(n->fc2, fg_tanh(fg_linear_apply(n->fc1, x)));
}

static fg_tensor entropy(fg_tensor logits, double target)
{
    const fg_type *type = fg_tensor_type(logits);
    const fg_tensor targets =
        fg_full(fg_tensor_trace(logits), type->dtype, target, type->rank, type->dim);
    return fg_bce_with_logits(logits, targets, NULL);
}

/* Neither loss stops a gradient. */
static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const gan *g = self;
    const fg_tensor fake = forward(&g->generator, fg_batch_field(batch, "noise"));
    const fg_tensor on_fake = forward(&g->discriminator, fake);
    const fg_tensor on_real = forward(&g->discriminator, fg_batch_field(batch, "real"));
    fg_step_set_loss(st, "discriminator", fg_add(entropy(on_real, 1), entropy(on_fake, 0)));
    return entropy(on_fake, 1);
}

static const char *const of_discriminator[] = {"discriminator.*"};
static const fg_schedule cosine = {.name = "cosine"};

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    fg_error err = {0};
    fg_optimizer *sgd = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.3, .momentum = 0.5});
    const fg_optimizer_part parts[] = {
        {.name = "generator",
         .optimizer = fg_adam_create(root, &(fg_adam_options){.lr = 0.05, .betas = {0.5, 0.99}}),
         .every = 2,
         .schedule = &cosine},
        {.name = "discriminator", .optimizer = sgd, .parameters = {of_discriminator, 1}}};
    fgt_ok(fg_optimizer_set_clip(sgd, FG_CLIP_NORM, 0.2, &err));
    return fg_optimizer_join(root, parts, 2);
}

static const fg_task_ops ops = {
    .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};

/* ---- runs ------------------------------------------------------------------------------------ */

/* What a run logged, and the values of all variables at the end. */
typedef struct result {
    double loss[STEPS], discriminator_loss[STEPS], lr[STEPS], val_loss;
    size_t count;
    float values[1024];
} result;

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    result *r = self;
    const int64_t i = at->step - 1;
    (void)err;
    r->loss[i] = toy_logged(at, "train_loss");
    r->discriminator_loss[i] = toy_logged(at, "train_discriminator_loss");
    r->lr[i] = toy_logged(at, "lr/generator");
    assert_true(toy_logged(at, "lr/discriminator") == 0.3);
    return FG_OK;
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    ((result *)self)->val_loss = toy_logged(at, "val_discriminator_loss");
    return FG_OK;
}

static const fg_callback_ops result_ops = {.log = on_log, .val_end = on_val_end};

/* Kinds of runs. */
typedef struct kind {
    const char *name;
    fg_trainer_options options;
    double tolerance; /* of losses and parameters */
} kind;

static const kind kinds[] = {
    {"one device", {.devices.devices = "1"}, 2e-5},
    {"four devices", {.devices.devices = "4"}, 2e-5},
    {"five steps per launch", {.devices = {.devices = "1", .steps_per_launch = 5}}, 2e-5},
    {"two batches per step, in f16",
     {.devices.devices = "1", .numerics = {.precision = "16-mixed", .accumulate_grad_batches = 2}},
     2e-2},
};

static void read_values(fg_trainer *trainer, result *r)
{
    fg_error err = {0};
    fg_module *root = fg_trainer_module(trainer);
    for (size_t i = 0; i < fg_module_variable_count(root); i++) {
        fg_variable *v = fg_module_variable_at(root, i);
        const size_t size = fg_type_bytes(fg_variable_type(v));
        assert_true(r->count + size / sizeof(float) <= 1024);
        fgt_ok(fg_variable_read(v, r->values + r->count, size, &err));
        r->count += size / sizeof(float);
    }
}

/* Stops after `stop` steps; 0: at the end. With an average of the weights. */
static fg_trainer *fit(const kind *k, const char *folder, int64_t stop, result *r)
{
    fg_error err = {0};
    static gan model;
    const fg_task task = {.name = "gan", .self = &model, .ops = &ops};
    fg_trainer_options o = k->options;
    fg_trainer *trainer = NULL;
    static recorder stopper; /* the Trainer is destroyed before the next fit */
    const int64_t batches = o.numerics.accumulate_grad_batches > 0 ? 2 : 1;
    stopper = (recorder){.at_event = stop > 0 ? "batch_end" : NULL,
                         .at_count = (int)(stop * batches),
                         .status = FG_ESTOPPED};
    o.devices.accelerator = "cpu";
    o.devices.cache_dir = cache;
    o.limits.max_epochs = 1;
    o.output.log_every = 1;
    o.checkpoints.run_dir = folder;
    o.checkpoints.resume = "auto";
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &result_ops, r, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &stopper, &err));
    fgt_ok(fg_trainer_add_named_callback(trainer, "ema: {decay: 0.9}", &err));
    const fg_fit_data data = {
        .train = points, .val = points, .global_batch_size = BATCH / batches, .no_shuffle = true};
    const fg_status status = fg_trainer_fit(trainer, &task, &data, &err);
    if (status != (stop > 0 ? FG_ESTOPPED : FG_OK))
        fail_msg("%s: %s", k->name, err.message);
    return trainer;
}

static void follows(const kind *k, const result *r, fg_module *root)
{
    const float *loss = fgt_record_get(record, NULL, "loss");
    const float *other = fgt_record_get(record, NULL, "discriminator_loss");
    const float *lr = fgt_record_get(record, NULL, "lr");
    fg_error err = {0};
    for (int i = 0; i < STEPS; i++) {
        fgt_close(k->name, r->loss[i], (double)loss[i], k->tolerance, k->tolerance);
        fgt_close(k->name, r->discriminator_loss[i], (double)other[i], k->tolerance, k->tolerance);
        fgt_close("lr/generator", r->lr[i], (double)lr[i], 1e-6, 1e-9);
    }
    for (size_t i = 0; i < fg_module_variable_count(root); i++) {
        fg_variable *v = fg_module_variable_at(root, i);
        float values[MOST_VALUES], got[MOST_VALUES];
        if (fg_variable_kind_of(v) != FG_PARAMETER)
            continue;
        const float *expected = fgt_record_get(record, NULL, "last/%s", fg_variable_name(v));
        fgt_ok(fg_variable_read(v, values, fg_type_bytes(fg_variable_type(v)), &err));
        fgt_to_file_order(v, values, got);
        for (int64_t e = 0; e < fg_type_count(fg_variable_type(v)); e++)
            fgt_close(fg_variable_name(v), (double)got[e], (double)expected[e], k->tolerance,
                      5 * k->tolerance);
    }
}

static void gan_follows_torch_and_resumes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        result *whole = calloc(1, sizeof *whole), *resumed = calloc(1, sizeof *resumed);
        fg_trainer *trainer = fit(&kinds[i], fgt_temp_folder(), 0, whole);
        follows(&kinds[i], whole, fg_trainer_module(trainer));
        read_values(trainer, whole);
        fg_trainer_destroy(trainer);
        const char *folder = fgt_temp_folder();
        fg_trainer_destroy(fit(&kinds[i], folder, STOP, resumed));
        trainer = fit(&kinds[i], folder, 0, resumed);
        read_values(trainer, resumed);
        fg_trainer_destroy(trainer);
        assert_memory_equal(whole, resumed, sizeof *whole); /* also the losses, bit for bit */
        free(whole);
        free(resumed);
    }
}

/* ---- parts are independent ------------------------------------------------------------------- */

static double value_of(const fg_optimizer *o, const char *name)
{
    fg_error err = {0};
    for (size_t i = 0; i < fg_optimizer_variable_count(o); i++) {
        fg_variable *v = fg_optimizer_variable_at(o, i);
        union {
            float f32;
            int32_t s32;
        } value;
        if (strcmp(fg_variable_name(v), name) != 0)
            continue;
        fgt_ok(fg_variable_read(v, &value, sizeof value, &err));
        return fg_variable_type(v)->dtype == FG_F32 ? (double)value.f32 : value.s32;
    }
    fail_msg("no variable '%s'", name);
    return 0;
}

static double parameter(fg_module *root, const char *name)
{
    fg_error err = {0};
    float value;
    fgt_ok(fg_variable_read(fg_module_find(root, name), &value, sizeof value, &err));
    return (double)value;
}

/* Two parameters, whose joined optimizer updates b in every second step. */
static fg_optimizer *two_parts(fg_module *root)
{
    const fg_type scalar = {.dtype = FG_F32};
    const char *const of_b[] = {"b"};
    (void)fg_module_variable(root, "a", &scalar, NULL);
    (void)fg_module_variable(root, "b", &scalar, NULL);
    const fg_optimizer_part parts[] = {
        {.name = "first", .optimizer = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.5})},
        {.name = "second",
         .optimizer = fg_adam_create(root, &(fg_adam_options){.lr = 0.25}),
         .parameters = {of_b, 1},
         .every = 2}};
    return fg_optimizer_join(root, parts, 2);
}

/* Minimizes x a + b, with the whole or with one part after the other. */
static void minimize(fg_trace *trace, fg_module *root, fg_optimizer *o, float x, bool by_parts)
{
    fg_error err = {0};
    const fg_type scalar = {.dtype = FG_F32};
    const fg_tensor a = fg_variable_value(trace, fg_module_find(root, "a"));
    const fg_tensor b = fg_variable_value(trace, fg_module_find(root, "b"));
    const fg_tensor loss = fg_add(fg_mul(a, fg_constant(trace, &scalar, &x)), b);
    for (size_t k = 0; k < 2 && by_parts; k++)
        fg_optimizer_minimize(fg_optimizer_part_at(o, k), loss);
    if (!by_parts)
        fg_optimizer_minimize(o, loss);
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
}

/* The gradient of a is not finite in step 2; b is updated in steps 2 and 4. */
static void check_four_steps(fg_module *root, const fg_optimizer *o)
{
    assert_true(parameter(root, "a") == -1.5 && value_of(o, "optimizer.first.step") == 3);
    assert_true(value_of(o, "optimizer.first.loss_scale") == 4);
    fgt_close("b", parameter(root, "b"), -0.5, 1e-6, 1e-6);
    assert_true(value_of(o, "optimizer.second.step") == 2);
    assert_true(value_of(o, "optimizer.second.loss_scale") == 8);
    assert_true(value_of(o, "optimizer.second.loss_scale_streak") == 2);
}

static void a_part_skips_its_steps(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client = NULL;
    fg_trace *trace = NULL;
    fg_module *root = NULL;
    int64_t step = 0;
    const char *folder = fgt_path(fgt_temp_folder(), "ckpt");
    const fg_client_options options = {.accelerator = "cpu", .cache_dir = cache};
    fgt_ok(fg_client_open(&options, &client, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_optimizer *o = two_parts(root);
    fgt_ok(fg_module_error(root, &err));
    fgt_ok(fg_optimizer_set_loss_scale(o, &(fg_loss_scale_options){.init = 8}, &err));
    for (int i = 0; i < 3; i++)
        minimize(trace, root, o, i == 1 ? (float)HUGE_VAL : 1, i == 2);
    assert_true(value_of(o, "optimizer.second.step") == 1);
    fgt_ok(fg_training_save(folder, root, o, NULL, &err));
    minimize(trace, root, o, 1, true);
    check_four_steps(root, o);
    fgt_ok(fg_training_load(folder, root, o, &step, &err));
    assert_int_equal(step, 3);
    minimize(trace, root, o, 1, false);
    check_four_steps(root, o);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    fg_client_close(client);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static fg_tensor misspelt(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor loss = step(self, st, batch);
    fg_step_set_loss(st, "genrator", loss);
    return loss;
}

/* The root of a negative number: the gradient of all of the discriminator's parameters is NaN. */
static fg_tensor not_a_number(void *self, fg_step *st, const fg_batch *batch)
{
    const gan *g = self;
    const fg_tensor noise = forward(&g->generator, fg_batch_field(batch, "noise"));
    const fg_tensor fake = fg_square(forward(&g->discriminator, noise));
    fg_step_set_loss(st, "discriminator", fg_mean(fg_sqrt(fg_neg(fake)), 0, NULL));
    return fg_mean(fake, 0, NULL);
}

/* The gradients of both parts are NaN. */
static fg_tensor no_numbers(void *self, fg_step *st, const fg_batch *batch)
{
    const gan *g = self;
    const fg_tensor noise = forward(&g->generator, fg_batch_field(batch, "noise"));
    const fg_tensor fake = fg_square(forward(&g->discriminator, noise));
    const fg_tensor loss = fg_mean(fg_sqrt(fg_neg(fake)), 0, NULL);
    fg_step_set_loss(st, "discriminator", loss);
    return loss;
}

/* The generator is updated in every second step. */
static void a_bad_step_of_both_parts_is_counted_once(void **state)
{
    (void)state;
    fg_error err = {0};
    static gan model;
    const fg_task_ops bad = {.build = build, .train_step = no_numbers, .optimizer = optimizer};
    const fg_task task = {.name = "gan", .self = &model, .ops = &bad};
    const fg_fit_data data = {.train = points, .batch_size = BATCH};
    fg_trainer *trainer = NULL;
    const fg_trainer_options o = {
        .devices = {.accelerator = "cpu", .devices = "1", .cache_dir = cache},
        .divergence.on_divergence = "ignore",
        .limits.max_steps = 4};
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->nonfinite_steps, 4);
    fg_trainer_destroy(trainer);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    fg_error err = {0};
    static gan model;
    fg_task_ops wrong = {.build = build, .train_step = misspelt, .optimizer = optimizer};
    fg_task task = {.name = "gan", .self = &model, .ops = &wrong};
    const fg_fit_data data = {.train = points, .batch_size = BATCH};
    fg_trainer *trainer = NULL;
    fg_lr_curve *curve = NULL;
    fg_trainer_options o = {.devices = {.accelerator = "cpu", .devices = "1", .cache_dir = cache}};
    fgt_ok(toy_create(&o, &trainer, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "set_loss: the optimizer has no part 'genrator'"));
    assert_non_null(strstr(err.message, "'generator'"));
    fg_trainer_destroy(trainer);
    wrong.train_step = not_a_number;
    o.numerics.detect_anomaly = true;
    fgt_ok(toy_create(&o, &trainer, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ENUMERIC);
    assert_non_null(strstr(err.message, "step 1: the gradient of 'discriminator.fc1.weight' has"));
    fg_trainer_destroy(trainer);
    task.ops = &ops;
    fgt_ok(toy_create(&o, &trainer, &err));
    assert_int_equal(fg_tuner_lr_find(trainer, &task, &data, NULL, &curve, &err), FG_EINVAL);
    assert_non_null(
        strstr(err.message, "lr_find: the optimizer joins 'generator: adam, discriminator: sgd'"));
    fg_trainer_destroy(trainer);
}

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_field fields[] = {{"real", {.dtype = FG_F32, .rank = 1, .dim = {2}}},
                               {"noise", {.dtype = FG_F32, .rank = 1, .dim = {2}}}};
    const fg_dataset_spec spec = {.count = STEPS * BATCH, .fields = fields, .field_count = 2};
    record = fgt_record_open("optim/gan.safetensors");
    (void)snprintf(cache, sizeof cache, "%s", fgt_cache(fgt_temp_folder()));
    const void *arrays[] = {fgt_record_get(record, NULL, "real"),
                            fgt_record_get(record, NULL, "noise")};
    fgt_ok(fg_dataset_from_arrays(&spec, arrays, FG_COPY, &points, &err));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fg_dataset_destroy(points);
    fg_ckpt_close(record);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gan_follows_torch_and_resumes),
    cmocka_unit_test(a_part_skips_its_steps),
    cmocka_unit_test(a_bad_step_of_both_parts_is_counted_once),
    cmocka_unit_test(mistakes_are_named),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
