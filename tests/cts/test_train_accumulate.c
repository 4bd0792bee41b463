/* test_train_accumulate.c - steps of several batches: the gradient is that of one large batch, on
 * any number of devices, also if the last batch or the last step of an epoch is partial. On the CPU
 * plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "optim/optimizer.h"
#include "toy.h"

static fg_client *client;

/* All tests but one share a compile cache. */
static char cache[512];

static int make_cache(void **state)
{
    (void)state;
    (void)snprintf(cache, sizeof cache, "%s", fgt_cache(fgt_temp_folder()));
    return 0;
}

static void open_client(int devices, const char *cache_dir)
{
    fg_error err = {0};
    const fg_client_options options = {
        .accelerator = "cpu", .cpu_devices = devices, .cache_dir = cache_dir};
    fgt_ok(fg_client_open(&options, &client, &err));
}

static int close_all(void **state)
{
    (void)state;
    return fgi_alloc_live() != 0;
}

/* ---- loss curves ----------------------------------------------------------------------------- */

enum { EPOCHS = 4, POINTS = 64 };

/* The loss of every step, and the number of batch_end events. */
typedef struct curve {
    double loss[POINTS];
    int64_t steps, batches, last_step;
} curve;

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    curve *c = self;
    (void)err;
    assert_string_equal(at->metrics[1].name, "train_loss");
    assert_int_equal(at->step, c->steps + 1);
    c->loss[c->steps++] = at->metrics[1].value;
    return FG_OK;
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    curve *c = self;
    (void)err;
    c->batches++;
    c->last_step = at->step;
    return FG_OK;
}

static const fg_callback_ops curve_ops = {.log = on_log, .batch_end = on_batch_end};
static const fg_schedule onecycle = {.row = &fgi_onecycle_row};

typedef struct setting {
    const char *optimizer;
    int64_t samples, batch, accumulate;
    bool drop_last;
    const char *precision;
} setting;

static void train(const setting *s, curve *out, fg_result *out_result)
{
    fg_error err = {0};
    toy model = {.optimizer = s->optimizer};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *data = toy_data(s->samples, 3);
    const fg_fit_data fit = {
        .train = data, .global_batch_size = s->batch, .drop_last = s->drop_last};
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = EPOCHS,
                                        .output.log_every = 1,
                                        .seed = 11,
                                        .lr.schedule = &onecycle,
                                        .numerics.precision = s->precision,
                                        .numerics.accumulate_grad_batches = s->accumulate};
    fg_trainer *trainer = NULL;
    *out = (curve){0};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &curve_ops, out, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
    *out_result = *fg_trainer_result(trainer);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

/* Four batches of 8 per step compared with one of 32. The sample counts are primes, so that the
 * last step of an epoch has 5 samples in one batch, 15 in two or 29 in four. */
static void small_batches_add_up_to_a_large_one(void **state)
{
    static const int64_t samples[] = {101, 47, 61};
    static const char *const optimizers[] = {"sgd", "adamw"};
    static curve whole, parts;
    fg_result result;
    (void)state;
    for (int devices = 1; devices <= 8; devices = devices == 1 ? 2 : devices * 4) {
        open_client(devices, cache);
        for (int i = devices == 8 ? 2 : 0; i < 3; i++) {
            setting s = {.optimizer = optimizers[i % 2], .samples = samples[i], .batch = 32};
            train(&s, &whole, &result);
            assert_int_equal(whole.batches, whole.steps);
            s.batch = 8;
            s.accumulate = 4;
            train(&s, &parts, &result);
            assert_int_equal(parts.steps, EPOCHS * ((samples[i] + 31) / 32));
            assert_int_equal(parts.steps, whole.steps);
            assert_int_equal(parts.last_step, parts.steps);
            assert_int_equal(result.steps, parts.steps);
            assert_int_equal(parts.batches, EPOCHS * ((samples[i] + 7) / 8));
            for (int64_t k = 0; k < parts.steps; k++)
                fgt_close("loss", parts.loss[k], whole.loss[k], 0, 1e-5);
            if (i == 0) /* and the loss decreases */
                assert_true(parts.loss[parts.steps - 1] < 0.9 * parts.loss[0]);
        }
        fg_client_close(client);
    }
}

/* With 16-bit matmuls, each batch's gradient is rounded before it is accumulated in f32 (in bf16
 * with a relative error of up to 2^-9), so the curves differ by that. */
static void small_batches_add_up_in_16_bits(void **state)
{
    static const struct {
        const char *precision, *optimizer;
        double near; /* relative */
    } rows[] = {{"bf16-mixed", "adamw", 0.005}, {"16-mixed", "sgd", 0.001}};
    static curve whole, parts;
    fg_result one, four;
    (void)state;
    open_client(1, cache);
    for (int i = 0; i < 2; i++) {
        setting s = {.optimizer = rows[i].optimizer,
                     .samples = 101,
                     .batch = 32,
                     .precision = rows[i].precision};
        train(&s, &whole, &one);
        s.batch = 8;
        s.accumulate = 4;
        train(&s, &parts, &four);
        assert_int_equal(parts.steps, whole.steps);
        for (int64_t k = 0; k < parts.steps; k++)
            fgt_close(s.precision, parts.loss[k], whole.loss[k], 0, rows[i].near);
        assert_true(parts.loss[parts.steps - 1] < 0.9 * parts.loss[0]);
        assert_int_equal(four.nonfinite_steps, one.nonfinite_steps);
        if (i == 1)
            fgt_close("scale", four.loss_scale, one.loss_scale, 0, 0);
    }
    fg_client_close(client);
}

/* A scale that doubles after every two good steps. */
static fg_optimizer *scaled(void *self, fg_module *root)
{
    fg_error err = {0};
    (void)self;
    fg_optimizer *sgd = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.05});
    fgt_ok(fg_optimizer_set_loss_scale(
        sgd, &(fg_loss_scale_options){.init = 256, .growth_interval = 2}, &err));
    return sgd;
}

/* The sixth step of four batches each uses a scale that has doubled twice: scaling counts steps,
 * not batches. */
static void the_loss_scale_goes_by_steps(void **state)
{
    fg_error err = {0};
    toy model = {0};
    fg_task_ops ops = toy_ops;
    fg_trainer *trainer = NULL;
    (void)state;
    ops.optimizer = scaled;
    open_client(1, cache);
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    fg_dataset *data = toy_data(96, 3);
    const fg_trainer_options options = {.devices.client = client,
                                        .numerics.precision = "16-mixed",
                                        .limits.max_epochs = 2,
                                        .numerics.accumulate_grad_batches = 4};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .batch_size = 8}, &err));
    const fg_result *result = fg_trainer_result(trainer);
    assert_int_equal(result->steps, 6);
    assert_int_equal(result->nonfinite_steps, 0);
    fgt_close("scale", result->loss_scale, 256 * 4, 0, 0);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    fg_client_close(client);
}

/* drop_last drops a partial batch, not a partial step: 101 samples are 12 batches of 8. */
static void drop_last_drops_a_batch_not_a_step(void **state)
{
    static curve parts;
    fg_result result;
    (void)state;
    open_client(1, cache);
    const setting s = {
        .optimizer = "sgd", .samples = 101, .batch = 8, .accumulate = 5, .drop_last = true};
    train(&s, &parts, &result);
    assert_int_equal(parts.batches, EPOCHS * 12);
    assert_int_equal(parts.steps, EPOCHS * 3);
    fg_client_close(client);
}

/* One program accumulates and one updates, also for partial batches; only metrics are read. */
static void tails_compile_and_read_nothing(void **state)
{
    static curve parts;
    fg_result result;
    (void)state;
    open_client(1, "");
    const setting s = {.optimizer = "adamw", .samples = 101, .batch = 8, .accumulate = 4};
    train(&s, &parts, &result);
    assert_int_equal(result.compiles, 2);
    assert_int_equal(result.host_reads, 0);
    fg_client_close(client);
}

/* ---- what differs between batches ------------------------------------------------------------ */

static fg_optimizer *standing_still(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 1e-30});
}

static void statistics(int64_t accumulate, float out[2][TOY_HIDDEN])
{
    fg_error err = {0};
    toy model = {.has_norm = true};
    fg_task_ops ops = toy_ops;
    ops.optimizer = standing_still;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    fg_dataset *data = toy_data(101, 3);
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_epochs = 2,
                                        .numerics.accumulate_grad_batches = accumulate};
    fg_trainer *trainer = NULL;
    int found = 0;
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .batch_size = 8}, &err));
    fg_module *root = fg_trainer_module(trainer);
    for (size_t i = 0; i < fg_module_variable_count(root); i++) {
        fg_variable *v = fg_module_variable_at(root, i);
        if (fg_variable_kind_of(v) == FG_BUFFER && fg_variable_type(v)->rank == 1)
            fgt_ok(fg_variable_read(v, out[found++], sizeof out[0], &err));
    }
    assert_int_equal(found, 2);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static void batch_norm_goes_by_each_batch(void **state)
{
    float plain[2][TOY_HIDDEN], accumulated[2][TOY_HIDDEN];
    (void)state;
    open_client(1, cache);
    statistics(1, plain);
    statistics(4, accumulated);
    for (int i = 0; i < TOY_HIDDEN; i++) {
        fgt_close("mean", (double)accumulated[0][i], (double)plain[0][i], 1e-7, 0);
        fgt_close("variance", (double)accumulated[1][i], (double)plain[1][i], 0, 1e-6);
    }
    fg_client_close(client);
}

/* The losses of steps that leave the weights as they are, with dropout 0.5: each batch is the same,
 * so only its random bits make the difference. */
static void train_with_dropout(int64_t accumulate, curve *out)
{
    fg_error err = {0};
    toy model = {.optimizer = "sgd", .dropout = 0.5};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    static const int64_t twice[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
    fg_dataset *data = toy_data(8, 3), *copies = NULL;
    fgt_ok(fg_dataset_subset(data, twice, accumulate == 2 ? 16 : 8, &copies, &err));
    const fg_trainer_options options = {
        .devices.client = client,
        .limits.max_steps = accumulate == 2 ? 2 : 4,
        .output.log_every = 1,
        .seed = 4,
        .lr = {.lr_scaling = "linear", .base_batch_size = (int64_t)1 << 52},
        .numerics.accumulate_grad_batches = accumulate};
    fg_trainer *trainer = NULL;
    const fg_fit_data fit = {.train = copies, .batch_size = 8, .no_shuffle = true};
    *out = (curve){0};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &curve_ops, out, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fit, &err));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(copies);
    fg_dataset_destroy(data);
}

/* The k-th batch of a run has the same random bits however many make up a step, and no other batch
 * has them. */
static void batches_of_a_step_draw_their_own_bits(void **state)
{
    static curve one, two;
    (void)state;
    open_client(1, cache);
    train_with_dropout(1, &one);
    train_with_dropout(2, &two);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_true(fabs(one.loss[i] - one.loss[k]) > 1e-3);
    for (int i = 0; i < 2; i++)
        fgt_close("loss", two.loss[i], (one.loss[2 * i] + one.loss[2 * i + 1]) / 2, 0, 1e-5);
    fg_client_close(client);
}

static void a_negative_number_is_refused(void **state)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    (void)state;
    assert_int_equal(
        toy_create(&(fg_trainer_options){.numerics.accumulate_grad_batches = -2}, &trainer, &err),
        FG_EINVAL);
    assert_string_equal(err.message, "trainer.accumulate_grad_batches: expected an integer from 1 "
                                     "to 1048576 (for example 4), got '-2'");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(small_batches_add_up_to_a_large_one),
    cmocka_unit_test(small_batches_add_up_in_16_bits),
    cmocka_unit_test(the_loss_scale_goes_by_steps),
    cmocka_unit_test(drop_last_drops_a_batch_not_a_step),
    cmocka_unit_test(tails_compile_and_read_nothing),
    cmocka_unit_test(batch_norm_goes_by_each_batch),
    cmocka_unit_test(batches_of_a_step_draw_their_own_bits),
    cmocka_unit_test(a_negative_number_is_refused),
};

int main(void) { return cmocka_run_group_tests(tests, make_cache, close_all) == 0 ? 0 : 1; }
