/* test_train_source.c - training and evaluation on sources, and which samples the devices get: each
 * one once per epoch, on any number of devices, with and without accumulation. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "optim/optimizer.h"
#include "toy.h"

static fg_client *client;
static char cache[512];

static int make_cache(void **state)
{
    (void)state;
    (void)snprintf(cache, sizeof cache, "%s", fgt_cache(fgt_temp_folder()));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    return fgi_alloc_live() != 0;
}

static void open_client(int devices)
{
    fg_error err = {0};
    const fg_client_options options = {
        .accelerator = "cpu", .cpu_devices = devices, .cache_dir = cache};
    fgt_ok(fg_client_open(&options, &client, &err));
}

/* ---- which samples the devices get ----------------------------------------------------------- */

enum { PRIME = 127, BATCH = 24 }; /* divisible by 1, 2, 3 and 8 devices */

/* The samples are numbers i; the step logs the means of i and of i * i. */
static fg_tensor watch(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor i = fg_cast(fg_batch_field(batch, "y"), FG_F32);
    const fg_linear *layer = *(fg_linear **)self;
    fg_step_log(step, "i", i);
    fg_step_log(step, "square", fg_mul(i, i));
    return fg_mean(fg_linear_apply(layer, fg_batch_field(batch, "x")), 0, NULL);
}

static void build(void *self, fg_module *root)
{
    *(fg_linear **)self = fg_linear_create(root, "fc", &(fg_linear_options){.in = 2, .out = 1});
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.01});
}

/* A sample of the source of numbers. */
static fg_status next_number(void *self, void *const *out_fields, bool *out_end, fg_error *err)
{
    int64_t *next = self;
    (void)err;
    *out_end = *next == PRIME;
    if (!*out_end && out_fields != NULL) {
        ((float *)out_fields[0])[0] = (float)*next;
        ((float *)out_fields[0])[1] = 1;
        *(int32_t *)out_fields[1] = (int32_t)*next;
    }
    *next += !*out_end;
    return FG_OK;
}

static fg_status open_numbers(void *self, int64_t epoch, void **out_reader, fg_error *err)
{
    (void)self, (void)epoch, (void)err;
    *out_reader = calloc(1, sizeof(int64_t));
    return FG_OK;
}

static fg_status read_number(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    bool has_ended;
    (void)self;
    return next_number(&index, out_fields, &has_ended, err);
}

static fg_dataset *numbers(bool is_source)
{
    static const fg_field fields[] = {{"x", {FG_F32, 1, {2}}}, {"y", {.dtype = FG_S32}}};
    static const fg_source_ops ops = {.open = open_numbers, .next = next_number, .close = free};
    const fg_dataset_spec spec = {
        .count = is_source ? FG_UNKNOWN_COUNT : PRIME, .fields = fields, .field_count = 2};
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    if (is_source)
        fgt_ok(fg_dataset_from_source(&ops, NULL, &spec, &dataset, &err));
    else
        fgt_ok(
            fg_dataset_create(&(fg_dataset_ops){.read = read_number}, NULL, &spec, &dataset, &err));
    return dataset;
}

static void assert_each_seen_once(const fg_trainer *trainer, const char *prefix)
{
    char name[32];
    const int64_t n = PRIME - 1; /* sums of integers below 2^24 are exact in f32 */
    (void)snprintf(name, sizeof name, "%si", prefix);
    assert_true(toy_metric(trainer, name) == (double)(n * (n + 1) / 2) / PRIME);
    (void)snprintf(name, sizeof name, "%ssquare", prefix);
    assert_true(toy_metric(trainer, name) == (double)(n * (n + 1) * (2 * n + 1) / 6) / PRIME);
}

static void any_number_of_devices_sees_each_sample_once(void **state)
{
    static const int devices[] = {1, 2, 3, 8};
    static const fg_task_ops ops = {
        .build = build, .train_step = watch, .val_step = watch, .optimizer = optimizer};
    fg_linear *layer = NULL;
    const fg_task task = {.name = "numbers", .self = &layer, .ops = &ops};
    fg_error err = {0};
    double loss[2][2][4];
    (void)state;
    for (int d = 0; d < 4; d++) {
        open_client(devices[d]);
        for (int kind = 0; kind < 4; kind++) {
            const bool is_source = kind % 2 == 1, accumulates = kind / 2 == 1;
            fg_dataset *data = numbers(is_source);
            fg_trainer *trainer =
                toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 2,
                                                          .numerics.accumulate_grad_batches =
                                                              accumulates ? 4 : 1});
            fgt_ok(fg_trainer_fit(
                trainer, &task,
                &(fg_fit_data){
                    .train = data, .val = data, .global_batch_size = BATCH, .shuffle_buffer = 50},
                &err));
            assert_int_equal(fg_trainer_result(trainer)->steps, accumulates ? 4 : 12);
            assert_each_seen_once(trainer, "train_");
            assert_each_seen_once(trainer, "val_");
            loss[is_source][accumulates][d] = toy_metric(trainer, "train_loss");
            fgt_close("loss", toy_metric(trainer, "train_loss"), loss[is_source][accumulates][0], 0,
                      1e-5);
            fg_trainer_destroy(trainer);
            fg_dataset_destroy(data);
        }
        fg_client_close(client);
    }
}

/* ---- a source compared with the same data in memory ------------------------------------------ */

static double fit_toy(fg_dataset *take_train, fg_dataset *take_val, int64_t accumulate)
{
    fg_error err = {0};
    toy model = {.has_norm = true, .dropout = 0.3};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_trainer *trainer =
        toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 3,
                                                  .seed = 2,
                                                  .numerics.accumulate_grad_batches = accumulate});
    const fg_fit_data data = {
        .train = take_train, .val = take_val, .batch_size = 8, .no_shuffle = true};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->epochs, 3);
    const double loss = toy_metric(trainer, "train_loss") + toy_metric(trainer, "val_loss");
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(take_train);
    fg_dataset_destroy(take_val);
    return loss;
}

/* 101 and 96 samples: with a partial batch, and without. A source of unknown length has the program
 * with a mask in both cases. */
static void a_source_is_its_samples(void **state)
{
    (void)state;
    open_client(1);
    for (int64_t count = 96; count <= 101; count += 5)
        for (int64_t accumulate = 1; accumulate <= 5; accumulate += 4) {
            const double memory = fit_toy(toy_data(count, 1), toy_data(37, 2), accumulate);
            const double known =
                fit_toy(toy_source(count, 1, true), toy_source(37, 2, true), accumulate);
            const double unknown =
                fit_toy(toy_source(count, 1, false), toy_source(37, 2, false), accumulate);
            assert_true(known == memory);
            fgt_close("loss", unknown, memory, 0, count == 101 ? 0 : 1e-5);
        }
    fg_client_close(client);
}

/* The samples of a source have no numbers, only places in an epoch. */
static void divergence_names_places_in_the_source(void **state)
{
    fg_error err = {0};
    toy model = {.loss_factor = (double)NAN};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_fit_data data = {
        .train = toy_source(96, 1, false), .batch_size = 8, .no_shuffle = true};
    (void)state;
    open_client(1);
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 1});
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ENUMERIC);
    assert_string_equal(err.message,
                        "training has diverged at step 1: gradients are not finite; the weight "
                        "'fc1.weight' has NaN: samples 0 to 7 of epoch 0 of the source\n"
                        "there is no earlier checkpoint");
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.train);
    fg_client_close(client);
}

typedef struct table {
    float row[101][TOY_CLASSES];
    int64_t next;
} table;

static fg_status keep_rows(void *self, const fg_type *type, const void *rows, int64_t first,
                           fg_error *err)
{
    table *t = self;
    (void)err;
    assert_int_equal(first, t->next); /* in order, without gaps */
    assert_true(first + type->dim[0] <= 101);
    memcpy(t->row[first], rows, (size_t)type->dim[0] * sizeof t->row[0]);
    t->next += type->dim[0];
    return FG_OK;
}

static void evaluations_take_sources(void **state)
{
    fg_error err = {0};
    static table rows[2];
    static recorder r;
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    double loss[2][2];
    (void)state;
    open_client(2);
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.seed = 2});
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, &r, &err));
    for (int i = 0; i < 2; i++) {
        fg_dataset *set = i == 0 ? toy_data(101, 1) : toy_source(101, 1, false);
        const fg_fit_data data = {.val = set, .test = set, .predict = set, .global_batch_size = 16};
        fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        loss[i][0] = toy_metric(trainer, "val_loss");
        fgt_ok(fg_trainer_test(trainer, &task, &data, &err));
        loss[i][1] = toy_metric(trainer, "test_loss");
        fgt_ok(fg_trainer_predict(trainer, &task, &data, keep_rows, &rows[i], &err));
        assert_int_equal(rows[i].next, 101);
        fg_dataset_destroy(set);
    }
    assert_true(loss[0][0] == loss[1][0] && loss[0][1] == loss[1][1]);
    assert_memory_equal(rows[0].row, rows[1].row, sizeof rows[0].row);
    assert_non_null(strstr(r.text, "eval_start   step 0  epoch 0  batch 0/-1\n"));
    assert_non_null(strstr(r.text, "eval_end     step 0  epoch 0  batch 7/-1\n"));
    fg_trainer_destroy(trainer);
    fg_client_close(client);
}

/* ---- lengths --------------------------------------------------------------------------------- */

static const fg_schedule onecycle = {.row = &fgi_onecycle_row};

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    *(int64_t *)self = at->total_steps;
    return FG_OK;
}
static const fg_callback_ops total_ops = {.fit_start = on_fit_start};

static fg_status fit_source(const fg_trainer_options *options, fg_dataset *take_source,
                            int64_t *out_total, fg_result *out, fg_error *err)
{
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_trainer *trainer = toy_trainer(client, options);
    assert_int_equal(fg_trainer_add_callback(trainer, &total_ops, out_total, err), FG_OK);
    const fg_fit_data data = {.train = take_source, .batch_size = 8};
    const fg_status status = fg_trainer_fit(trainer, &task, &data, err);
    *out = *fg_trainer_result(trainer);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(take_source);
    return status;
}

static void an_unknown_length_is_reported_as_such(void **state)
{
    fg_error err = {0};
    fg_result result;
    int64_t total = 0;
    (void)state;
    open_client(1);
    fgt_ok(fit_source(&(fg_trainer_options){.limits.max_epochs = 2}, toy_source(101, 1, false),
                      &total, &result, &err));
    assert_int_equal(total, -1);
    assert_int_equal(result.steps, 26);
    assert_int_equal(result.epochs, 2);

    fg_trainer_options scheduled = {.limits.max_epochs = 2, .lr.schedule = &onecycle};
    assert_int_equal(fit_source(&scheduled, toy_source(101, 1, false), &total, &result, &err),
                     FG_EINVAL);
    assert_string_equal(err.message,
                        "schedule 'onecycle': the number of steps is not known\n"
                        "the training source does not report its length: set max_steps");
    fgt_ok(fit_source(&scheduled, toy_source(101, 1, true), &total, &result, &err));
    assert_int_equal(total, 26);
    scheduled.limits.limit_train_batches.fraction = 0.5;
    assert_int_equal(fit_source(&scheduled, toy_source(101, 1, false), &total, &result, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "limit_train_batches is 0.5, but the source does not report "
                                     "its length: set a number of batches");
    scheduled.limits.limit_train_batches.fraction = 0;
    scheduled.limits.limit_train_batches.count = 5;
    fgt_ok(fit_source(&scheduled, toy_source(101, 1, false), &total, &result, &err));
    assert_int_equal(total, 10);
    assert_int_equal(result.steps, 10);
    scheduled = (fg_trainer_options){.limits.max_steps = 30, .lr.schedule = &onecycle};
    fgt_ok(fit_source(&scheduled, toy_source(101, 1, false), &total, &result, &err));
    assert_int_equal(total, 30);
    assert_int_equal(result.steps, 30);
    assert_int_equal(result.epochs, 2);
    fg_client_close(client);
}

static void a_source_of_nothing_is_an_error(void **state)
{
    fg_error err = {0};
    fg_result result;
    int64_t total = 0;
    (void)state;
    open_client(1);
    assert_int_equal(fit_source(&(fg_trainer_options){.limits.max_steps = 9},
                                toy_source(0, 1, false), &total, &result, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "the training source returned no sample in epoch 0");
    fg_client_close(client);
}

/* In the middle of an epoch, the order must be that of its start. */
static void another_buffer_is_refused_within_an_epoch(void **state)
{
    fg_error err = {0};
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const char *folder = fgt_temp_folder();
    (void)state;
    open_client(1);
    fg_dataset *source = toy_source(101, 1, false), *memory = toy_data(101, 1);
    fg_fit_data data = {.train = source, .batch_size = 8, .shuffle_buffer = 30};
    fg_trainer_options options = {.limits.max_steps = 5, .checkpoints.run_dir = folder};
    fg_trainer *trainer = toy_trainer(client, &options);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    options.limits.max_steps = 8;
    options.checkpoints.resume = "last";
    for (int i = 0; i < 3; i++) {
        data.shuffle_buffer = i == 0 ? 31 : 30;
        data.train = i == 1 ? memory : source;
        trainer = toy_trainer(client, &options);
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), i == 2 ? FG_OK : FG_EINVAL);
        if (i == 0)
            assert_string_equal(err.message,
                                "the checkpoint is within an epoch shuffled with "
                                "shuffle_buffer 30, not 31: the sample order would differ");
        else if (i == 1)
            assert_string_equal(err.message,
                                "the checkpoint is 40 samples into an epoch of other data\n"
                                "to train on other data, start from the weights instead");
        fg_trainer_destroy(trainer);
    }
    fg_dataset_destroy(source);
    fg_dataset_destroy(memory);
    fg_client_close(client);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_number_of_devices_sees_each_sample_once),
    cmocka_unit_test(a_source_is_its_samples),
    cmocka_unit_test(divergence_names_places_in_the_source),
    cmocka_unit_test(evaluations_take_sources),
    cmocka_unit_test(an_unknown_length_is_reported_as_such),
    cmocka_unit_test(a_source_of_nothing_is_an_error),
    cmocka_unit_test(another_buffer_is_refused_within_an_epoch),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, make_cache, close_all) == 0 ? 0 : 1;
}
