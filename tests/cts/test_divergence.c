/* test_divergence.c - training that diverges: what is noticed and reported, and going back to a
 * checkpoint, which equals a run that resumes from it, bit for bit. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ckpt/manifest.h"
#include "ckpt/series.h"
#include "optim/optimizer.h"
#include "toy.h"

enum { SAMPLES = 64, BATCH = 8, EPOCH = SAMPLES / BATCH };

static fg_client *client[2]; /* with one device, and with eight */
static char warnings[4096];

static void keep_warning(void *self, fg_log_level level, const char *message)
{
    (void)self;
    if (level == FG_LOG_WARNING)
        (void)snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n",
                       message);
}

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *cache = fgt_cache(fgt_temp_folder());
    const fg_client_options one = {.accelerator = "cpu", .cache_dir = cache},
                            eight = {.accelerator = "cpu", .devices = "8", .cache_dir = cache};
    fg_log_set(keep_warning, NULL);
    if (fg_client_open(&one, &client[0], &err) == FG_OK &&
        fg_client_open(&eight, &client[1], &err) == FG_OK)
        return 0;
    print_error("%s\n", err.message);
    return 1;
}

static int close_all(void **state)
{
    (void)state;
    fg_client_close(client[0]);
    fg_client_close(client[1]);
    fg_log_set(NULL, NULL);
    return 0;
}

/* ---- data with a bad sample ------------------------------------------------------------------ */

/* Sample `bad` of epoch `epoch` has a value that is not finite, the first `left` times it is read.
 */
static struct {
    int64_t bad, epoch;
    atomic_int left;
    float value;
} poison;

static fg_status read_sample(void *self, int64_t epoch, int64_t index, void *const *out,
                             fg_error *err)
{
    (void)self, (void)err;
    float *x = out[0];
    *(int32_t *)out[1] = toy_sample(index, 1, x);
    if (index == poison.bad && epoch == poison.epoch && atomic_fetch_sub(&poison.left, 1) > 0)
        x[2] = poison.value;
    return FG_OK;
}

static const char *name_of(void *self, int64_t index)
{
    static char names[SAMPLES][16];
    (void)self;
    (void)snprintf(names[index], sizeof names[index], "%02d.png", (int)index);
    return names[index];
}

static fg_dataset *bad_data(int times, float value)
{
    static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}}};
    static const fg_dataset_ops ops = {.read_epoch = read_sample, .name = name_of};
    const fg_dataset_spec spec = {
        .count = SAMPLES, .fields = fields, .field_count = 2, .class_count = TOY_CLASSES};
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    poison.bad = 13;
    poison.epoch = 1;
    poison.value = value;
    atomic_store(&poison.left, times);
    fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
    return dataset;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct job {
    int clients; /* index of the client */
    toy model;
    fg_trainer_options options;
    int times; /* the bad sample is bad */
    float value;
    const char *folder, *resume;
    bool no_shuffle, no_val;
    recorder *recorder;
} job;

static fg_status fit(const job *j, fg_result *out, fg_error *err)
{
    toy model = j->model;
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *data = bad_data(j->times, j->value != 0 ? j->value : NAN);
    const fg_fit_data fit_data = {.train = data,
                                  .val = j->no_val ? NULL : data,
                                  .global_batch_size = BATCH,
                                  .no_shuffle = j->no_shuffle};
    fg_trainer_options options = j->options;
    options.devices.client = client[j->clients];
    options.checkpoints.run_dir = j->folder;
    options.checkpoints.resume = j->resume;
    options.seed = 5;
    fg_trainer *trainer = NULL;
    warnings[0] = '\0';
    fg_status status = toy_create(&options, &trainer, err);
    if (status == FG_OK && j->recorder != NULL)
        status = fg_trainer_add_callback(trainer, &recorder_ops, j->recorder, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, &fit_data, err);
    if (out != NULL && trainer != NULL)
        *out = *fg_trainer_result(trainer);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
    return status;
}

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("expected '%s' in: %s", part, text);
}

static char *text_of(const char *folder, const char *name)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    fgt_ok(fgi_file_read(fgt_path(folder, name), 1 << 22, &text, &size, &err));
    return text;
}

static void assert_same_file(const char *a, const char *b, const char *name)
{
    fg_error err = {0};
    char *left = NULL, *right = NULL;
    size_t left_size = 0, right_size = 0;
    fgt_ok(fgi_file_read(fgt_path(a, name), 1 << 22, &left, &left_size, &err));
    fgt_ok(fgi_file_read(fgt_path(b, name), 1 << 22, &right, &right_size, &err));
    if (left_size != right_size || memcmp(left, right, left_size) != 0)
        fail_msg("%s differs:\n%s\n%s", name, left, right);
    fgi_free(left);
    fgi_free(right);
}

/* Compares the logs, and the weights and the state of the last checkpoints of two runs. */
static void assert_same_run(const char *a, const char *b)
{
    fg_error err = {0};
    const char *runs[] = {a, b};
    char *path[2], folder[512];
    assert_same_file(a, b, "metrics.jsonl");
    assert_same_file(a, b, "metrics.csv");
    for (int i = 0; i < 2; i++) {
        (void)snprintf(folder, sizeof folder, "%s/checkpoints", runs[i]);
        fgt_ok(fgi_ckpt_resolve(folder, "last", &path[i], &err));
    }
    assert_same_file(path[0], path[1], FGI_CKPT_MODEL_FILE);
    assert_same_file(path[0], path[1], FGI_CKPT_STATE_FILE);
    fgi_free(path[0]);
    fgi_free(path[1]);
}

/* ---- stop ------------------------------------------------------------------------------------ */

/* Without shuffling, sample 13 is in the second batch of the second epoch: batch 10. */
static const fg_trainer_options three_epochs = {.limits.max_epochs = 3, .output.log_every = 4};

static void the_step_and_the_samples_are_named(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        fg_error err = {0};
        char wanted[128];
        const int batches = i % 2 == 0 ? 1 : 3, step = batches == 1 ? 10 : 4;
        job j = {.clients = i / 4,
                 .options = three_epochs,
                 .times = 1000,
                 .value = i / 2 % 2 == 0 ? NAN : INFINITY,
                 .folder = fgt_temp_folder(),
                 .no_shuffle = true};
        j.options.numerics.accumulate_grad_batches = batches;
        assert_int_equal(fit(&j, NULL, &err), FG_ENUMERIC);
        (void)snprintf(wanted, sizeof wanted,
                       "diverged at step %d: gradients are not finite; the weight 'fc1.w", step);
        assert_says(err.message, wanted);
        assert_says(err.message, batches == 1 ? "samples 8 (08.png), 9 (09.png), 10 (10.png), 11 "
                                                "(11.png), ... (8 in total) of epoch 1"
                                              : "samples 0 (00.png), 1 (01.png), 2 (02.png), 3 "
                                                "(03.png), ... (24 in total) of epoch 1");
        assert_says(err.message, batches == 1 ? "checkpoint is" : "step-000000003");
        char *line = text_of(j.folder, "divergence.jsonl");
        assert_says(line, "\"reason\":\"gradient_not_finite\"");
        assert_says(line, "{\"index\":13,\"name\":\"13.png\"}");
        assert_null(strstr(line, batches == 1 ? "16.png" : "24.png"));
        fgi_free(line);
    }
}

/* No checkpoint contains weights that are not finite, however often it is saved. */
static void no_bad_state_is_saved(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        fg_error err = {0};
        fg_result result;
        char *path = NULL, folder[512];
        job j = {.options = three_epochs,
                 .times = 1000,
                 .folder = fgt_temp_folder(),
                 .no_shuffle = true};
        j.options.checkpoints.ckpt_every_steps = 1;
        j.options.output.log_every = 100; /* it is not noticed by the log */
        j.options.numerics.accumulate_grad_batches = i % 2 + 1;
        j.options.checkpoints.wait_for_saves = i / 2 == 0;
        assert_int_equal(fit(&j, &result, &err), FG_ENUMERIC);
        (void)snprintf(folder, sizeof folder, "%s/checkpoints", j.folder);
        fgt_ok(fgi_ckpt_resolve(folder, "last", &path, &err));
        assert_says(path, i % 2 == 0 ? "step-000000009" : "step-000000004");
        fgi_free(path);
    }
}

static void anomalies_name_the_samples(void **state)
{
    (void)state;
    fg_error err = {0};
    job j = {.options = three_epochs, .times = 1000, .no_shuffle = true};
    j.options.numerics.detect_anomaly = true;
    assert_int_equal(fit(&j, NULL, &err), FG_ENUMERIC);
    assert_string_equal(
        err.message,
        "training step 10: the gradient of 'fc1.weight' has NaN: samples 8 (08.png), 9 (09.png), "
        "10 (10.png), 11 (11.png), ... (8 in total) of epoch 1\nthe step was skipped, and so is "
        "any later step with such a gradient\nthere is no earlier checkpoint");
}

static void ignored_divergence_is_only_a_warning(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_result result;
    job j = {.options = three_epochs, .times = 1000, .folder = fgt_temp_folder()};
    j.options.divergence.on_divergence = "ignore";
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.steps, 3 * EPOCH);
    assert_says(warnings, "the gradients of");
    assert_null(strstr(warnings, "the loss is not finite")); /* one warning is enough */
    for (size_t i = 0; i < result.metric_count; i++)         /* prints "nan" */
        assert_false(isnan(result.metrics[i].value) && signbit(result.metrics[i].value));
    assert_int_not_equal(access(fgt_path(j.folder, "divergence.jsonl"), F_OK), 0);
    /* a run that resumes it and does not ignore it ends with its first line */
    j.options.divergence.on_divergence = NULL;
    j.options.limits.max_epochs = 4;
    j.resume = "last";
    assert_int_equal(fit(&j, &result, &err), FG_ENUMERIC);
    assert_int_equal(result.steps <= 3 * EPOCH + 8, true);
}

/* ---- rollback -------------------------------------------------------------------------------- */

static const fg_schedule onecycle = {.row = &fgi_onecycle_row};

/* After a sample was bad once, and without a smaller learning rate, the run equals one in which it
 * never was. */
static void going_back_leaves_no_trace(void **state)
{
    static const struct {
        int clients, batches, save_every, log_every;
        toy model;
        bool detects;
    } cases[] = {{0, 1, 0, 4, {.dropout = 0.3, .has_norm = true}, false},
                 {0, 1, 5, 3, {.optimizer = "sgd"}, false},
                 {0, 3, 0, 2, {.optimizer = "adamw"}, false},
                 {0, 2, 1, 1, {.dropout = 0.1}, false},
                 {1, 1, 3, 7, {.dropout = 0.3}, false},
                 {1, 2, 0, 1, {.has_norm = true}, false},
                 {0, 1, 2, 4, {.has_norm = true}, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_error err = {0};
        fg_result result;
        char clean[512];
        recorder *r = calloc(1, sizeof *r);
        (void)snprintf(clean, sizeof clean, "%s", fgt_temp_folder());
        job j = {.clients = cases[i].clients,
                 .model = cases[i].model,
                 .options = three_epochs,
                 .folder = clean};
        j.options.lr.schedule = &onecycle;
        j.options.output.log_every = cases[i].log_every;
        j.options.numerics.accumulate_grad_batches = cases[i].batches;
        j.options.numerics.detect_anomaly = cases[i].detects;
        j.options.checkpoints.ckpt_every_steps = cases[i].save_every;
        j.options.divergence =
            (fg_trainer_divergence){.on_divergence = "rollback", .rollback_lr_factor = 1};
        fgt_ok(fit(&j, &result, &err));
        assert_int_equal(result.rollbacks, 0);
        j.folder = fgt_temp_folder();
        j.times = 1;
        j.recorder = r;
        fgt_ok(fit(&j, &result, &err));
        assert_int_equal(result.rollbacks, 1);
        assert_says(warnings, "rollback 1 of at most 3: training continues from step ");
        assert_same_run(clean, j.folder);
        free(r);
    }
}

/* The lines of metrics.jsonl with this learning rate. */
static int lines_with(const char *folder, const char *lr)
{
    char wanted[64], *text = text_of(folder, "metrics.jsonl");
    int count = 0;
    (void)snprintf(wanted, sizeof wanted, "\"lr\": %s,", lr);
    for (const char *at = strstr(text, wanted); at != NULL; at = strstr(at + 1, wanted))
        count++;
    fgi_free(text);
    return count;
}

/* From the checkpoint on, the learning rate is smaller, and it stays so in a run that resumes,
 * wherever that was stopped: the run equals one that was not stopped. */
static void the_smaller_rate_survives_a_stop(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_result result;
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s", fgt_temp_folder());
    job j = {.model = {.optimizer = "sgd"}, .options = three_epochs, .times = 1, .folder = whole};
    j.options.divergence.on_divergence = "rollback";
    j.options.divergence.rollback_lr_factor = 0.25;
    j.options.output.log_every = 2;
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.rollbacks, 1);
    fgt_close("factor", result.rollback_lr_factor, 0.25, 0, 0);
    assert_int_equal(lines_with(whole, "0.1"), 4); /* of the first epoch */
    assert_int_equal(lines_with(whole, "0.025"), 8);
    /* stopped by a callback after n batches, of which eight were launched before the rollback */
    for (int n = 17; n < 4 * EPOCH; n += 5) {
        recorder *r = calloc(1, sizeof *r);
        *r = (recorder){.at_event = "batch_end", .at_count = n, .status = FG_ESTOPPED};
        job part = j;
        part.folder = fgt_temp_folder();
        part.recorder = r;
        assert_int_equal(fit(&part, &result, &err), FG_ESTOPPED);
        part.recorder = NULL;
        part.resume = "last";
        part.times = 0;
        assert_int_equal(result.rollbacks, 1);
        fgt_ok(fit(&part, &result, &err));
        assert_int_equal(result.rollbacks, 1);
        fgt_close("factor", result.rollback_lr_factor, 0.25, 0, 0);
        assert_same_run(whole, part.folder);
        free(r);
    }
}

/* A sample that stays bad: the run goes back as often as allowed, and ends with a good state. */
static void rollbacks_are_limited(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_result result;
        job j = {.clients = i,
                 .options = three_epochs,
                 .times = 1000,
                 .folder = fgt_temp_folder(),
                 .no_shuffle = true};
        j.options.divergence =
            (fg_trainer_divergence){.on_divergence = "rollback", .max_rollbacks = 2};
        assert_int_equal(fit(&j, &result, &err), FG_ENUMERIC);
        assert_says(err.message, "samples 8 (08.png)");
        assert_says(err.message, "the limit of rollbacks is reached (max_rollbacks=2)");
        assert_says(warnings, "rollback 2 of at most 2: training continues from step 0 (");
        assert_says(warnings, ") with 0.25 times the configured learning rate\n");
        assert_int_equal(result.rollbacks, 2);
        fgt_close("factor", result.rollback_lr_factor, 0.25, 0, 0);
        /* without the bad sample it resumes with the smaller rate */
        j.times = 0;
        j.resume = "last";
        fgt_ok(fit(&j, &result, &err));
        assert_int_equal(result.steps, 3 * EPOCH);
        fgt_close("factor", result.rollback_lr_factor, 0.25, 0, 0);
    }
}

/* It can diverge before the first checkpoint of an epoch, and in a run without one. */
static void it_goes_back_to_the_beginning(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_result result;
    recorder *r = calloc(1, sizeof *r);
    job j = {.options = three_epochs,
             .times = 1,
             .folder = fgt_temp_folder(),
             .no_val = true,
             .recorder = r};
    j.options.checkpoints.ckpt_every_epochs = FG_NONE;
    j.options.checkpoints.monitor = "val_loss"; /* no epoch is the best */
    j.options.divergence =
        (fg_trainer_divergence){.on_divergence = "rollback", .rollback_lr_factor = 1};
    fgt_ok(fit(&j, &result, &err));
    assert_says(warnings, "training continues from step 0 (");
    assert_int_equal(recorder_count(r, "saved"), 3); /* at first, after the rollback, at the end */
    free(r);
}

/* ---- a loss that rises ----------------------------------------------------------------------- */

/* The loss that the message says is that of the last line of the log. */
static void assert_says_last_loss(const char *message, const char *folder)
{
    static const char said[] = ": the loss is ", logged[] = "\"train_loss\": ";
    char *text = text_of(folder, "metrics.jsonl");
    const char *last = NULL, *loss = strstr(message, said);
    for (const char *at = strstr(text, logged); at != NULL; at = strstr(at + 1, logged))
        last = at;
    assert_true(loss != NULL && last != NULL);
    fgt_close("loss", strtod(loss + strlen(said), NULL), strtod(last + strlen(logged), NULL), 0,
              1e-3);
    fgi_free(text);
}

/* A learning rate that is far too large, which several rollbacks reduce. */
static void a_large_rate_is_reduced(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_result result;
    job j = {.model = {.optimizer = "sgd", .loss_factor = 100},
             .options = {.limits.max_epochs = 6, .output.log_every = 1},
             .folder = fgt_temp_folder()};
    j.options.divergence.divergence_patience = 3;
    assert_int_equal(fit(&j, &result, &err), FG_ENUMERIC);
    assert_says(err.message, "training has diverged at step ");
    assert_says(err.message, "too high for 3 log lines");
    assert_says_last_loss(err.message, j.folder);
    char *line = text_of(j.folder, "divergence.jsonl");
    assert_says(line, "\"reason\":\"loss_diverged\"");
    fgi_free(line);
    j.folder = fgt_temp_folder();
    j.options.divergence.on_divergence = "rollback";
    j.options.divergence.rollback_lr_factor = 0.01;
    fgt_ok(fit(&j, &result, &err));
    assert_true(result.rollbacks >= 1 && result.rollbacks <= 3);
    assert_true(result.metrics[1].value < 110); /* train_loss; chance is 110 */
    j.folder = fgt_temp_folder();
    j.options.divergence = (fg_trainer_divergence){.divergence_factor = FG_ZERO};
    fgt_ok(fit(&j, &result, &err)); /* only what is not finite counts */
}

/* The loss explodes before the first log line, which is far above the first step's loss. A
 * run that ends too early to be sure ends with a warning. */
static void an_explosion_precedes_the_first_line(void **state)
{
    static const char *const actions[] = {"stop", "ignore", "rollback"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        const bool is_long = i % 2 == 0;
        fg_error err = {0};
        fg_result result;
        job j = {.model = {.optimizer = "sgd", .loss_factor = 100},
                 .options = {.limits.max_epochs = is_long ? 4 : 2},
                 .folder = fgt_temp_folder()};
        j.options.divergence = (fg_trainer_divergence){
            .on_divergence = actions[i / 2], .divergence_patience = 3, .rollback_lr_factor = 1e-5};
        const fg_status status = fit(&j, &result, &err);
        assert_int_equal(status, is_long && i == 0 ? FG_ENUMERIC : FG_OK);
        assert_int_equal(result.rollbacks, i == 4);
        if (i == 2)
            assert_says(warnings, ": the loss has diverged (");
        if (i == 0)
            assert_says(err.message, "far above the loss of the first step, which was ");
        else
            assert_says(warnings, i == 2
                                      ? "); training continues, because on_divergence is 'ignore'"
                                  : i == 4 ? "rollback 1 of at most 3"
                                           : "has probably diverged");
    }
}

/* While the loss is too high, nothing is saved; a stop saves, and keeps the checkpoint to go back
 * to, also in a run that resumes. */
static void suspected_states_are_not_gone_back_to(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_result result;
    recorder *r = calloc(1, sizeof *r);
    char *path = NULL, folder[512];
    job j = {.model = {.optimizer = "sgd", .loss_factor = 100},
             .options = {.limits.max_epochs = 3, .output.log_every = 1},
             .folder = fgt_temp_folder(),
             .no_val = true, /* a best validation would be saved */
             .recorder = r};
    j.options.divergence = (fg_trainer_divergence){
        .on_divergence = "rollback", .divergence_patience = 12, .rollback_lr_factor = 1e-3};
    *r = (recorder){.at_event = "log", .at_count = 4, .status = FG_ESTOPPED};
    assert_int_equal(fit(&j, &result, &err), FG_ESTOPPED);
    (void)snprintf(folder, sizeof folder, "%s/checkpoints", j.folder);
    fgt_ok(fgi_ckpt_resolve(folder, "last", &path, &err));
    char *json = text_of(path, FGI_CKPT_JSON_FILE), *good = strstr(json, "\"good\": \"");
    assert_non_null(good);
    assert_non_null(strstr(json, "\"high\": "));
    assert_says(good, "\"good\": \"step-000000000\"");
    j.recorder = NULL;
    j.resume = "last";
    fgt_ok(fit(&j, &result, &err));
    assert_true(result.rollbacks >= 1);
    assert_says(warnings, "training continues from step 0 (");
    fgi_free(json);
    fgi_free(path);
    free(r);
}

/* Overflow that loss scaling skips is no divergence, also in the loss itself. */
static void skipped_steps_are_no_divergence(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_result result;
    job j = {.options = three_epochs, .times = 1, .folder = fgt_temp_folder()};
    j.options.numerics.precision = "16-mixed";
    j.options.output.log_every = 1;
    fgt_ok(fit(&j, &result, &err));
    assert_int_equal(result.steps, 3 * EPOCH);
    assert_true(result.nonfinite_steps >= 1);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes(void **state)
{
    static const struct {
        fg_trainer_options options;
        const char *says;
    } cases[] = {{{.divergence.on_divergence = "retry"},
                  "expected one of stop|rollback|ignore, got 'retry'"},
                 {{.divergence.on_divergence = "rollback"}, "needs a run_dir"},
                 {{.divergence.divergence_factor = 1}, "expected more than 1"},
                 {{.divergence.divergence_factor = (double)NAN}, "expected a number"},
                 {{.divergence.divergence_factor = -2}, "expected a number"},
                 {{.divergence.divergence_patience = -1},
                  "trainer.divergence_patience: expected an integer"},
                 {{.divergence.max_rollbacks = -1}, "trainer.max_rollbacks: expected an integer"},
                 {{.divergence.rollback_lr_factor = 2}, "a number from 1e-06 to 1"},
                 {{.divergence.on_divergence = "ignore", .numerics.detect_anomaly = true},
                  "set only one of them"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_error err = {0};
        fg_trainer *trainer = NULL;
        assert_int_equal(toy_create(&cases[i].options, &trainer, &err), FG_EINVAL);
        assert_says(err.message, cases[i].says);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_step_and_the_samples_are_named),
    cmocka_unit_test(no_bad_state_is_saved),
    cmocka_unit_test(anomalies_name_the_samples),
    cmocka_unit_test(ignored_divergence_is_only_a_warning),
    cmocka_unit_test(going_back_leaves_no_trace),
    cmocka_unit_test(the_smaller_rate_survives_a_stop),
    cmocka_unit_test(rollbacks_are_limited),
    cmocka_unit_test(it_goes_back_to_the_beginning),
    cmocka_unit_test(a_large_rate_is_reduced),
    cmocka_unit_test(an_explosion_precedes_the_first_line),
    cmocka_unit_test(suspected_states_are_not_gone_back_to),
    cmocka_unit_test(skipped_steps_are_no_divergence),
    cmocka_unit_test(mistakes),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
