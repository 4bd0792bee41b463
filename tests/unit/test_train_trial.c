/* test_train_trial.c - trial runs: validation before training (sanity_val_steps), the same few
 * batches in every epoch (overfit_batches), one batch of each (fast_dev_run). On the fake plugin; a
 * dataset records which samples are read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "base/alloc.h"
#include "base/file.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"
#include "train/trainer.h"

enum { MOST_READS = 256 };

/* The samples of one dataset in the order in which they were read; one of them may fail. */
typedef struct reads {
    int64_t index[MOST_READS];
    int count;
    int64_t bad; /* -1: none */
    struct reads *other;
    int other_count; /* number of reads of `other` when the first sample of this dataset was read */
} reads;

static fake_control fake;
static fg_client *client;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
static reads train_reads, val_reads;
static fg_dataset *train_data, *val_data;

static fg_status read_sample(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    reads *r = self;
    if (r->count == 0)
        r->other_count = r->other->count;
    if (r->count < MOST_READS)
        r->index[r->count++] = index;
    *(int32_t *)out_fields[1] = toy_sample(index, 1, out_fields[0]);
    if (index != r->bad)
        return FG_OK;
    (void)snprintf(err->message, sizeof err->message, "sample %d is damaged", (int)index);
    return FG_EFORMAT;
}

static fg_dataset *make_data(reads *r, int64_t count)
{
    static const fg_dataset_ops ops = {.read = read_sample};
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = count, .fields = fields, .field_count = 2, .class_count = TOY_CLASSES};
    fg_dataset *data = NULL;
    fg_error err = {0};
    fgt_ok(fg_dataset_create(&ops, r, &spec, &data, &err));
    return data;
}

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    if (!fake_open(&fake))
        return 1;
    train_data = make_data(&train_reads, 20);
    val_data = make_data(&val_reads, 12);
    return fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .plugin_path = FAKE_PATH,
                                               .cache_dir = ""},
                          &client, &err) != FG_OK;
}

static int close_all(void **state)
{
    (void)state;
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(val_data);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

/* Fits in batches of 4; train_reads and val_reads record the reads. */
static fg_status fit(const fg_trainer_options *options, int64_t bad_val, recorder *r,
                     fg_result *out, fg_error *out_err)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = *options;
    o.devices.client = client;
    train_reads = (reads){.bad = -1, .other = &val_reads};
    val_reads = (reads){.bad = bad_val, .other = &train_reads};
    *r = (recorder){0};
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, r, &err));
    const fg_fit_data data = {
        .train = train_data, .val = val_data, .batch_size = 4, .workers = FG_NONE};
    const fg_status status = fg_trainer_fit(trainer, &task, &data, out_err);
    *out = *fg_trainer_result(trainer);
    fg_trainer_destroy(trainer);
    return status;
}

static void validation_before_training(void **state)
{
    fg_error err = {0};
    recorder with, without;
    fg_result result;
    (void)state;
    const fg_trainer_options two = {.limits.max_epochs = 1,
                                    .validation.sanity_val_steps = 2,
                                    .validation.val_every_epochs = FG_NONE};
    fgt_ok(fit(&two, -1, &with, &result, &err));
    assert_int_equal(val_reads.count, 8); /* two batches of 4, before the first training sample */
    assert_int_equal(val_reads.other_count, 0);
    assert_int_equal(train_reads.other_count, 8);
    for (size_t i = 0; i < result.metric_count; i++)
        assert_true(strncmp(result.metrics[i].name, "val_", 4) != 0); /* not reported */
    assert_int_equal(result.steps, 5);
    const fg_trainer_options none = {.limits.max_epochs = 1,
                                     .validation.val_every_epochs = FG_NONE};
    fgt_ok(fit(&none, -1, &without, &result, &err));
    assert_int_equal(val_reads.count, 0);
    assert_string_equal(with.text, without.text); /* and no callback is called for it */
    const fg_trainer_options all = {.limits.max_epochs = 1,
                                    .validation.sanity_val_steps = -1,
                                    .validation.val_every_epochs = FG_NONE};
    fgt_ok(fit(&all, -1, &with, &result, &err));
    assert_int_equal(val_reads.count, 12);
    const fg_trainer_options limited = {.limits.max_epochs = 1,
                                        .validation.sanity_val_steps = 2,
                                        .limits.limit_val_batches.count = 1,
                                        .validation.val_every_epochs = FG_NONE};
    fgt_ok(fit(&limited, -1, &with, &result, &err));
    assert_int_equal(val_reads.count, 4);
}

static fg_tensor classify(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor logits = toy_forward(self, fg_batch_field(batch, "x"));
    const fg_tensor label = fg_batch_field(batch, "y");
    fg_step_log_classification(st, logits, label);
    return fg_cross_entropy(logits, label, NULL);
}

/* Batches that only look for mistakes are no evaluation. */
static void a_trial_leaves_no_evaluation(void **state)
{
    (void)state;
    for (int validates = 0; validates < 2; validates++) {
        fg_error err = {0};
        const fg_evaluation *e = NULL;
        fg_task_ops ops = toy_ops;
        ops.val_step = classify;
        const fg_task classifying = {.name = "toy", .self = &model, .ops = &ops};
        const fg_fit_data data = {
            .train = train_data, .val = val_data, .batch_size = 4, .workers = FG_NONE};
        fg_trainer *trainer = toy_trainer(
            client,
            &(fg_trainer_options){.limits.max_epochs = 1,
                                  .validation = {.sanity_val_steps = 2,
                                                 .val_every_epochs = validates ? 1 : FG_NONE}});
        fgt_ok(fg_trainer_fit(trainer, &classifying, &data, &err));
        fgt_ok(fg_trainer_evaluation(trainer, false, &e, &err));
        assert_int_equal(e != NULL ? e->samples : 0, validates ? 12 : 0);
        fg_trainer_destroy(trainer);
    }
}

static void a_bad_validation_sample_is_found_at_once(void **state)
{
    fg_error err = {0};
    recorder r;
    fg_result result;
    (void)state;
    const fg_trainer_options options = {.limits.max_epochs = 1, .validation.sanity_val_steps = 2};
    assert_int_equal(fit(&options, 5, &r, &result, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "validation before training (sanity_val_steps): sample 5 is damaged");
    assert_int_equal(train_reads.count, 0);
    assert_int_equal(recorder_count(&r, "batch_end"), 0);
}

/* Every epoch uses the first batches of the data in order, and as many of the validation data. */
static void overfitting_a_few_batches(void **state)
{
    fg_error err = {0};
    recorder r;
    fg_result result;
    (void)state;
    const fg_trainer_options count = {.limits.max_epochs = 3, .limits.overfit_batches.count = 2};
    fgt_ok(fit(&count, -1, &r, &result, &err));
    assert_int_equal(train_reads.count, 24);
    for (int i = 0; i < 24; i++)
        assert_int_equal(train_reads.index[i], i % 8);
    assert_int_equal(val_reads.count, 24);
    for (int i = 0; i < 24; i++)
        assert_int_equal(val_reads.index[i], i % 8);
    const fg_trainer_options share = {
        .limits.max_epochs = 1, .limits.overfit_batches.fraction = 0.4}; /* out of 5 and out of 3 */
    fgt_ok(fit(&share, -1, &r, &result, &err));
    assert_int_equal(train_reads.count, 8);
    assert_int_equal(val_reads.count, 4);
    const fg_trainer_options whole = {.limits.max_epochs = 1, .limits.overfit_batches.fraction = 1};
    fgt_ok(fit(&whole, -1, &r, &result, &err));
    assert_int_equal(train_reads.count, 20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(train_reads.index[i], i); /* not shuffled */
    const fg_trainer_options both = {.limits.overfit_batches.count = 2,
                                     .limits.overfit_batches.fraction = 0.5};
    fg_trainer *trainer = NULL;
    assert_int_equal(toy_create(&both, &trainer, &err), FG_EINVAL);
}

static void one_batch_of_each(void **state)
{
    fg_error err = {0};
    recorder r;
    fg_result result;
    (void)state;
    const char *folder = fgt_path(fgt_temp_folder(), "run");
    const fg_trainer_options options = {.limits.max_epochs = 30,
                                        .limits.max_steps = 1000,
                                        .validation.val_every_epochs = 5,
                                        .validation.sanity_val_steps = 2,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.resume = "auto",
                                        .limits.fast_dev_run = true};
    fgt_ok(fit(&options, -1, &r, &result, &err));
    assert_int_equal(recorder_count(&r, "batch_end"), 1);
    assert_int_equal(recorder_count(&r, "val_end"), 1);
    assert_int_equal(recorder_count(&r, "saved"), 0);
    assert_int_equal(train_reads.count, 4);
    assert_int_equal(val_reads.count, 4);
    assert_int_equal(result.steps, 1);
    assert_false(fgi_file_exists(folder)); /* nothing is written */
}

/* A run that continues has passed it. */
static void a_resumed_run_is_not_checked(void **state)
{
    fg_error err = {0};
    recorder r;
    fg_result result;
    (void)state;
    fg_trainer_options options = {
        .limits.max_epochs = 1,
        .validation = {.sanity_val_steps = 2, .val_every_epochs = FG_NONE},
        .checkpoints.run_dir = fgt_temp_folder()};
    for (int i = 0; i < 2; i++) {
        options.limits.max_epochs = i + 1;
        options.checkpoints.resume = i > 0 ? "last" : NULL;
        fgt_ok(fit(&options, -1, &r, &result, &err));
        assert_int_equal(result.steps, 5 * (i + 1));
        assert_int_equal(val_reads.count, i == 0 ? 8 : 0);
    }
}

/* What fast_dev_run replaces: everything that limits a run or writes files. */
static void a_trial_replaces_options(void **state)
{
    static const char *const resume[] = {"last", "best", "auto", "some/checkpoint"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        fg_error err = {0};
        fg_trainer *trainer = NULL;
        const fg_trainer_options given = {.limits = {.max_epochs = 30,
                                                     .max_steps = 1000,
                                                     .limit_train_batches.fraction = 0.5,
                                                     .limit_val_batches.fraction = 0.25,
                                                     .fast_dev_run = true},
                                          .validation = {.val_every_epochs = FG_NONE,
                                                         .val_every_steps = 2,
                                                         .sanity_val_steps = 2},
                                          .output = {.log_every = 9, .profile = {2, 3}},
                                          .checkpoints = {.run_dir = "run", .resume = resume[i]}};
        fgt_ok(toy_create(&given, &trainer, &err));
        const fg_trainer_options *o = &trainer->options;
        assert_true(o->limits.max_epochs == 1 && o->limits.max_steps == -1);
        assert_int_equal(o->limits.limit_train_batches.count, 1);
        assert_int_equal(o->limits.limit_val_batches.count, 1);
        assert_true(o->limits.limit_train_batches.fraction == 0);
        assert_true(o->limits.limit_val_batches.fraction == 0);
        assert_int_equal(o->validation.val_every_epochs, 1);
        assert_int_equal(o->validation.val_every_steps, 0);
        assert_int_equal(o->validation.sanity_val_steps, 0);
        assert_true(o->output.log_every == 1 && o->output.profile[0] == 0);
        assert_null(o->checkpoints.run_dir);
        assert_true((o->checkpoints.resume != NULL) == (i == 3));
        fg_trainer_destroy(trainer);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_resumed_run_is_not_checked),
    cmocka_unit_test(a_trial_replaces_options),
    cmocka_unit_test(validation_before_training),
    cmocka_unit_test(a_trial_leaves_no_evaluation),
    cmocka_unit_test(a_bad_validation_sample_is_found_at_once),
    cmocka_unit_test(overfitting_a_few_batches),
    cmocka_unit_test(one_batch_of_each),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
