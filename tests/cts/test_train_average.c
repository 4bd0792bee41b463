/* test_train_average.c - averaged weights: the averages follow from the weights of each step,
 * evaluations use them, and a run that resumes has the same. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "row.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/number.h"
#include "toy.h"
#include "callback/callback_rows.h"
#include "base/alloc.h"
#include "callback/average.h"

enum { MOST = 4096, STEPS = 12, SAMPLES = 90, BATCH = 24, EPOCH = 4 };

static fg_client *client;
static fg_dataset *data, *val;
static char runs[512], cache[512]; /* folders */

static int begin(void **state)
{
    fg_error err = {0};
    (void)state;
    toy_use_memory();
    (void)snprintf(cache, sizeof cache, "%s", fgt_cache(fgt_temp_folder()));
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = cache}, &client,
                          &err));
    (void)snprintf(runs, sizeof runs, "%s", fgt_temp_folder());
    data = toy_data(SAMPLES, 1);
    val = toy_data(31, 2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fg_dataset_destroy(data);
    fg_dataset_destroy(val);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

/* A callback of a row, with options as in a configuration. */
static void add_row(fg_trainer *trainer, const fg_callback_entry *row, const char *options)
{
    fg_error err = {0};
    void *self = NULL;
    fgt_ok(FGT_ROW_BEGIN(row, options, &self, &err));
    fgt_ok(fg_trainer_add_callback(trainer, row->ops, self, &err));
}

/* All elements of the variables whose names start with `prefix`, or of the model for "". */
static size_t read_all(const fg_module *root, const char *prefix, bool has_buffers, double *out)
{
    fg_error err = {0};
    static float block[MOST];
    size_t count = 0;
    for (size_t i = 0; i < fg_module_variable_count(root); i++) {
        fg_variable *v = fg_module_variable_at(root, i);
        const char *name = fg_variable_name(v);
        const bool is_model = fg_variable_kind_of(v) != FG_STATE &&
                              fg_dtype_is_float(fg_variable_type(v)->dtype) &&
                              (has_buffers || fg_variable_kind_of(v) == FG_PARAMETER);
        if (*prefix == '\0'
                ? !is_model
                : strncmp(name, prefix, strlen(prefix)) != 0 || strstr(name, ".taken") != NULL)
            continue;
        const fg_type *type = fg_variable_type(v);
        const size_t elements = (size_t)fg_type_count(type);
        assert_true(count + elements <= MOST);
        fgt_ok(fg_variable_read(v, block, fg_type_bytes(type), &err));
        for (size_t k = 0; k < elements; k++)
            out[count++] = fgi_number_get(type->dtype, block, k);
    }
    return count;
}

static int32_t taken_of(const fg_module *root, const char *name)
{
    fg_error err = {0};
    int32_t taken = -1;
    fgt_ok(fg_variable_read(fg_module_find(root, name), &taken, sizeof taken, &err));
    return taken;
}

/* ---- the weights of each step ---------------------------------------------------------------- */

typedef struct history {
    fg_trainer *trainer;
    bool has_buffers;
    int steps;
    int64_t epoch[STEPS + 1];
    double lr[STEPS + 1];
    double at[STEPS + 1][MOST]; /* after that many steps */
    size_t count;
} history;

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    history *h = self;
    (void)err;
    if (at->step <= h->steps) /* a batch that is not the last of its step */
        return FG_OK;
    h->steps = (int)at->step;
    assert_true(h->steps <= STEPS);
    h->epoch[h->steps] = at->epoch;
    h->lr[h->steps] = at->lr;
    h->count = read_all(fg_trainer_module(h->trainer), "", h->has_buffers, h->at[h->steps]);
    return FG_OK;
}

static const fg_callback_ops history_ops = {.batch_end = on_batch_end};

typedef struct setting {
    const char *options;
    int64_t accumulate;
    const char *precision, *devices, *strategy, *scaling;
    bool has_norm, leaves_buffers;
    int64_t hidden, max_epochs;
} setting;

static fg_trainer_options options_of(const setting *s)
{
    return (fg_trainer_options){.devices.client = s->devices == NULL ? client : NULL,
                                .devices.accelerator = "cpu",
                                .devices.devices = s->devices,
                                .devices.strategy = s->strategy,
                                .devices.cache_dir = cache,
                                .limits = {.max_steps = STEPS, .max_epochs = s->max_epochs},
                                .numerics.precision = s->precision,
                                .lr.lr_scaling = s->scaling,
                                .lr.base_batch_size = s->scaling != NULL ? BATCH / 2 : 0,
                                .numerics.accumulate_grad_batches = s->accumulate};
}

static fg_trainer *fit(const setting *s, const fg_callback_entry *row, toy *model, history *h)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = options_of(s);
    *model = (toy){.has_norm = s->has_norm, .hidden = s->hidden, .optimizer = "sgd"};
    const fg_task task = {.name = "toy", .self = model, .ops = &toy_ops};
    const fg_fit_data fits = {
        .train = data, .val = val, .global_batch_size = s->accumulate > 1 ? BATCH / 2 : BATCH};
    fgt_ok(toy_create(&options, &trainer, &err));
    h->trainer = trainer;
    h->steps = 0;
    h->has_buffers = !s->leaves_buffers;
    if (row != NULL)
        add_row(trainer, row, s->options);
    fgt_ok(fg_trainer_add_callback(trainer, &history_ops, h, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fits, &err));
    assert_int_equal(h->steps, STEPS);
    return trainer;
}

/* ---- exponential averages -------------------------------------------------------------------- */

static history h;

/* The average of the recorded weights as the options describe it; returns the number of values. */
static int expected_ema(double decay, int start, int start_epoch, int every, bool warms_up,
                        double *mean)
{
    int taken = 0;
    for (int step = 1; step <= STEPS; step++) {
        if (step <= start || h.epoch[step] < start_epoch || step % every != 0)
            continue;
        const double first = (1.0 + taken) / (10.0 + taken);
        const double kept = taken == 0 ? 0 : warms_up && first < decay ? first : decay;
        for (size_t k = 0; k < h.count; k++)
            mean[k] = taken == 0 ? h.at[step][k] : kept * mean[k] + (1 - kept) * h.at[step][k];
        taken++;
    }
    return taken;
}

static const struct {
    setting s;
    double decay;
    int start, start_epoch, every;
    bool warms_up;
} expected_averages[] = {
    {{"{decay: 0.9}", .has_norm = true}, .decay = 0.9, .every = 1},
    {{"{decay: 0.75, start_step: 3, every_n_steps: 2}", .accumulate = 2},
     .decay = 0.75,
     .start = 3,
     .every = 2},
    /* warm-up: 2/11 after one update, 3/12 after two, and so on up to decay */
    {{"{decay: 0.4, start_epoch: 1, warmup: true, use_buffers: false}", .has_norm = true,
      .leaves_buffers = true},
     .decay = 0.4,
     .start_epoch = 1,
     .every = 1,
     .warms_up = true},
    {{"{decay: 0.9}", .precision = "bf16-true"}, .decay = 0.9, .every = 1},
    {{"{decay: 0.9}", .devices = "8", .strategy = "fsdp", .hidden = 256}, .decay = 0.9, .every = 1},
};

static void averages_follow_from_the_weights(void **state)
{
    static double mean[MOST], got[MOST];
    (void)state;
    for (size_t i = 0; i < sizeof expected_averages / sizeof expected_averages[0]; i++) {
        toy model;
        fg_trainer *trainer = fit(&expected_averages[i].s, &fgi_ema_row, &model, &h);
        const int taken = expected_ema(expected_averages[i].decay, expected_averages[i].start,
                                       expected_averages[i].start_epoch, expected_averages[i].every,
                                       expected_averages[i].warms_up, mean);
        const fg_module *root = fg_trainer_module(trainer);
        assert_true(taken > 2);
        assert_int_equal(taken_of(root, "ema.taken"), taken);
        assert_int_equal(read_all(root, "ema.", true, got), h.count);
        for (size_t k = 0; k < h.count; k++)
            fgt_close(expected_averages[i].s.options, got[k], mean[k], 2e-6, 1e-5);
        fg_trainer_destroy(trainer);
    }
}

/* ---- what evaluations use -------------------------------------------------------------------- */

static fg_status first_rows(void *self, const fg_type *type, const void *rows, int64_t first,
                            fg_error *err)
{
    (void)err;
    if (first == 0)
        memcpy(self, rows, (size_t)type->dim[1] * sizeof(float));
    return FG_OK;
}

/* The loss and the first prediction of a model whose own weights are the averages. */
static void evaluate_with(const setting *s, const fg_module *from, double *out_loss, float *out_row)
{
    fg_error err = {0};
    toy model = {.has_norm = s->has_norm, .optimizer = "sgd"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = options_of(s);
    const fg_fit_data fits = {.val = val, .predict = val, .global_batch_size = BATCH};
    static float block[MOST];
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_validate(trainer, &task, &fits, &err)); /* builds the model */
    const fg_module *root = fg_trainer_module(trainer);
    for (size_t i = 0; i < fg_module_variable_count(root); i++) {
        char name[128];
        fg_variable *v = fg_module_variable_at(root, i);
        (void)snprintf(name, sizeof name, "ema.%s", fg_variable_name(v));
        fg_variable *mean = fg_module_find(from, name);
        mean = mean != NULL ? mean : fg_module_find(from, fg_variable_name(v));
        fgt_ok(fg_variable_read(mean, block, fg_type_bytes(fg_variable_type(v)), &err));
        fgt_ok(fg_variable_set(v, block, fg_type_bytes(fg_variable_type(v)), &err));
    }
    fgt_ok(fg_trainer_validate(trainer, &task, &fits, &err));
    *out_loss = toy_metric(trainer, "val_loss");
    fgt_ok(fg_trainer_predict(trainer, &task, &fits, first_rows, out_row, &err));
    fg_trainer_destroy(trainer);
}

static void evaluations_use_the_averages(void **state)
{
    static const setting rows[] = {
        {"{decay: 0.9}", .has_norm = true},
        {"{decay: 0.9, use_buffers: false}", .has_norm = true, .leaves_buffers = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        toy model;
        double loss = 0;
        float row[TOY_CLASSES], own_row[TOY_CLASSES];
        fg_trainer *trainer = fit(&rows[i], &fgi_ema_row, &model, &h);
        const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
        const fg_fit_data fits = {.val = val, .predict = val, .global_batch_size = BATCH};
        evaluate_with(&rows[i], fg_trainer_module(trainer), &loss, row);
        fgt_close("val_loss of fit", toy_metric(trainer, "val_loss"), loss, 0, 1e-6);
        fgt_ok(fg_trainer_validate(trainer, &task, &fits, &err));
        fgt_close("val_loss", toy_metric(trainer, "val_loss"), loss, 0, 1e-6);
        fgt_ok(fg_trainer_predict(trainer, &task, &fits, first_rows, own_row, &err));
        for (int k = 0; k < TOY_CLASSES; k++)
            fgt_close("prediction", (double)own_row[k], (double)row[k], 1e-6, 1e-6);
        fg_trainer_destroy(trainer);
    }
}

/* Before the average starts, evaluations use the model itself: the loss is that without a
 * callback. */
static void until_the_start_the_model_is_used(void **state)
{
    static const struct {
        const fg_callback_entry *row;
        setting s;
    } late[] = {{&fgi_ema_row, {.options = "{start_step: 1000}"}},
                {&fgi_ema_row, {.options = "{start_epoch: 1000}"}},
                {&fgi_swa_row, {.options = "{swa_epoch_start: 1000}"}}};
    toy model;
    (void)state;
    fg_trainer *trainer = fit(&(setting){0}, NULL, &model, &h);
    const double own = toy_metric(trainer, "val_loss");
    fg_trainer_destroy(trainer);
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        trainer = fit(&late[i].s, late[i].row, &model, &h);
        fgt_close(late[i].s.options, toy_metric(trainer, "val_loss"), own, 0, 1e-6);
        fg_trainer_destroy(trainer);
    }
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Trains in a folder up to a step, from the last checkpoint; reads everything. */
static double train_to(const setting *s, const char *folder, const fg_callback_entry *row,
                       int64_t steps, bool resumes, double *out, size_t *out_count)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    toy model = {.has_norm = true, .dropout = 0.2, .optimizer = "adamw"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_trainer_options options = options_of(s);
    const fg_fit_data fits = {.train = data, .val = val, .global_batch_size = BATCH / 2};
    options.limits.max_steps = steps;
    options.limits.max_epochs = 3;
    options.checkpoints.run_dir = folder;
    options.checkpoints.resume = resumes ? "last" : NULL;
    fgt_ok(toy_create(&options, &trainer, &err));
    add_row(trainer, row, s->options);
    fgt_ok(fg_trainer_fit(trainer, &task, &fits, &err));
    const double loss = toy_metric(trainer, "val_loss");
    *out_count = read_all(fg_trainer_module(trainer), "", true, out);
    *out_count += read_all(fg_trainer_module(trainer), row->entry.name, true, out + *out_count);
    fg_trainer_destroy(trainer);
    return loss;
}

static void check_resume(const setting *s, const fg_callback_entry *row, const char *name)
{
    static double whole[MOST], parts[MOST];
    char folder[576];
    size_t count = 0, same = 0;
    (void)snprintf(folder, sizeof folder, "%s/%s", runs, name);
    const double loss = train_to(s, folder, row, STEPS, false, whole, &count);
    for (int64_t at = 2; at <= STEPS; at += 5) { /* within an epoch, at its end, at the end */
        char part[640];
        (void)snprintf(part, sizeof part, "%s-%d", folder, (int)at);
        (void)train_to(s, part, row, at, false, parts, &same);
        const double resumed = train_to(s, part, row, STEPS, true, parts, &same);
        assert_int_equal(same, count);
        assert_memory_equal(parts, whole, count * sizeof *whole);
        assert_true(resumed == loss);
    }
}

/* An evaluation of the checkpoint uses the averages too. */
static void check_checkpoint(const setting *s, const fg_callback_entry *row, const char *name)
{
    fg_error err = {0};
    char path[640];
    fg_trainer *trainer = NULL;
    double expected[2] = {0};
    static double all[MOST];
    size_t count;
    toy model = {.has_norm = true, .dropout = 0.2, .optimizer = "adamw"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_fit_data fits = {.val = val, .global_batch_size = BATCH / 2};
    (void)snprintf(path, sizeof path, "%s/%s", runs, name);
    expected[0] = train_to(s, path, row, STEPS, true, all, &count); /* nothing to do */
    for (int has_row = 0; has_row < 2; has_row++) {
        fg_trainer_options options = options_of(s);
        options.checkpoints.run_dir = path;
        options.checkpoints.resume = "last";
        fgt_ok(toy_create(&options, &trainer, &err));
        if (has_row)
            add_row(trainer, row, s->options);
        fgt_ok(fg_trainer_validate(trainer, &task, &fits, &err));
        const double loss = toy_metric(trainer, "val_loss");
        assert_true((loss == expected[0]) == has_row);
        fg_trainer_destroy(trainer);
    }
}

static void resumed_averages_are_the_same(void **state)
{
    static const setting plain = {.options = "{decay: 0.9}"},
                         accumulated = {.options = "{decay: 0.8, every_n_steps: 2}",
                                        .accumulate = 3};
    (void)state;
    check_resume(&plain, &fgi_ema_row, "plain");
    check_resume(&accumulated, &fgi_ema_row, "accumulated");
    check_checkpoint(&plain, &fgi_ema_row, "plain");
}

/* ---- means of the last epochs ---------------------------------------------------------------- */

static const struct {
    setting s;
    int start;
    double lr[3];
} expected_equal_averages[] = {
    {{"{swa_epoch_start: 0.34}", .has_norm = true}, .start = 1, .lr = {0.1, 0.1, 0.1}},
    {{"{swa_epoch_start: 0.34}", .max_epochs = 100}, .start = 1, .lr = {0.1, 0.1, 0.1}},
    {{"{swa_epoch_start: 1, swa_lrs: 0.02, annealing_epochs: 3}", .accumulate = 2},
     .start = 1,
     .lr = {0.1, 0.1, 0.08}},
    {{.options =
          "{swa_epoch_start: 0.0, swa_lrs: 0.02, annealing_epochs: 4, annealing_strategy: linear}"},
     .start = 0,
     .lr = {0.1, 0.08, 0.06}},
    {{.options =
          "{swa_epoch_start: 0.0, swa_lrs: 0.02, annealing_epochs: 1, annealing_strategy: linear}"},
     .start = 0,
     .lr = {0.1, 0.02, 0.02}},
    /* both rates are for half the batch: 2 (0.1 + 0.02) / 2 in the middle */
    {{.options =
          "{swa_epoch_start: 1, swa_lrs: 0.02, annealing_epochs: 2, annealing_strategy: linear}",
      .scaling = "linear"},
     .start = 1,
     .lr = {0.2, 0.2, 0.12}},
    {{.options = "{swa_epoch_start: 2, swa_lrs: 0.02, annealing_epochs: 0}"},
     .start = 2,
     .lr = {0.1, 0.1, 0.02}},
};

/* The learning rate is 0.1; three epochs of four steps. The values of swa_lrs=0.02 are those of
 * torch.optim.swa_utils.SWALR (PyTorch 2.15), in the epochs since the start. */
static void equal_averages_follow_from_the_weights(void **state)
{
    static double got[MOST];
    (void)state;
    for (size_t i = 0; i < sizeof expected_equal_averages / sizeof expected_equal_averages[0];
         i++) {
        toy model;
        const double ends =
            STEPS / EPOCH - expected_equal_averages[i].start; /* epochs that are averaged */
        fg_trainer *trainer = fit(&expected_equal_averages[i].s, &fgi_swa_row, &model, &h);
        const fg_module *root = fg_trainer_module(trainer);
        assert_int_equal(taken_of(root, "swa.taken"), (int)ends);
        assert_int_equal(read_all(root, "swa.", true, got), h.count);
        for (int step = 1; step <= STEPS; step++)
            fgt_close(expected_equal_averages[i].s.options, h.lr[step],
                      expected_equal_averages[i].lr[(step - 1) / EPOCH], 1e-12, 1e-9);
        for (size_t k = 0; k < h.count; k++) {
            double sum = 0;
            for (int epoch = expected_equal_averages[i].start; epoch < STEPS / EPOCH; epoch++)
                sum += h.at[(epoch + 1) * EPOCH][k];
            fgt_close(expected_equal_averages[i].s.options, got[k], sum / ends, 2e-6, 1e-5);
        }
        fg_trainer_destroy(trainer);
    }
}

static void resumed_means_are_the_same(void **state)
{
    static const setting accumulated = {
        .options = "{swa_epoch_start: 1, swa_lrs: 0.03, annealing_epochs: 2}", .accumulate = 2};
    (void)state;
    check_resume(&accumulated, &fgi_swa_row, "means");
    check_checkpoint(&accumulated, &fgi_swa_row, "means");
}

/* ---- skipped steps, mistakes ----------------------------------------------------------------- */

static fg_optimizer *scaled(void *self, fg_module *root)
{
    fg_error err = {0};
    (void)self;
    fg_optimizer *sgd = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
    fgt_ok(fg_optimizer_set_loss_scale(sgd, NULL, &err));
    return sgd;
}

/* Every gradient of one of four batches is NaN. */
static void a_skipped_step_adds_nothing(void **state)
{
    fg_error err = {0};
    fg_task_ops ops = toy_ops;
    toy model = {0};
    float x[4 * BATCH][TOY_FEATURES];
    int32_t y[4 * BATCH];
    static const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {
        .count = 4 * BATCH, .fields = fields, .field_count = 2, .class_count = TOY_CLASSES};
    fg_dataset *bad = NULL;
    fg_trainer *trainer = NULL;
    (void)state;
    for (int i = 0; i < 4 * BATCH; i++) {
        y[i] = toy_sample(i, 3, x[i]);
        if (i / BATCH == 2)
            x[i][1] = NAN;
    }
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *[]){x, y}, FG_COPY, &bad, &err));
    ops.optimizer = scaled;
    const fg_task task = {.name = "toy", .self = &model, .ops = &ops};
    const fg_fit_data fits = {.train = bad, .batch_size = BATCH, .no_shuffle = true};
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client}, &trainer, &err));
    add_row(trainer, &fgi_ema_row, "{decay: 0.5}");
    h.trainer = trainer;
    h.steps = 0;
    fgt_ok(fg_trainer_add_callback(trainer, &history_ops, &h, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &fits, &err));
    static double got[MOST];
    assert_int_equal(taken_of(fg_trainer_module(trainer), "ema.taken"), 3);
    assert_int_equal(read_all(fg_trainer_module(trainer), "ema.", true, got), h.count);
    for (size_t k = 0; k < h.count; k++)
        fgt_close("average", got[k], 0.25 * h.at[1][k] + 0.25 * h.at[2][k] + 0.5 * h.at[4][k], 1e-6,
                  1e-5);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(bad);
}

/* By default, the last fifth of the epochs, of which one that max_steps cuts short is none. */
static void an_epoch_that_is_cut_short_does_not_count(void **state)
{
    fg_error err = {0};
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_fit_data fits = {.train = data, .batch_size = BATCH};
    fg_trainer *trainer = NULL;
    (void)state;
    fgt_ok(
        toy_create(&(fg_trainer_options){.devices.client = client, .limits.max_steps = EPOCH + 2},
                   &trainer, &err));
    add_row(trainer, &fgi_swa_row, "");
    fgt_ok(fg_trainer_fit(trainer, &task, &fits, &err));
    assert_int_equal(taken_of(fg_trainer_module(trainer), "swa.taken"), 1);
    fg_trainer_destroy(trainer);
}

static char warnings[4096];

static void keep_warning(void *self, fg_log_level level, const char *message)
{
    (void)self;
    if (level == FG_LOG_WARNING)
        (void)snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n",
                       message);
}

/* Three epochs: an average from the third one on has a value, a later one has none. */
static void a_start_after_the_end_is_reported(void **state)
{
    static const char says[] =
        "swa has no effect: it starts after 3 epochs, but the run has only 3";
    (void)state;
    for (int start = 2; start <= 3; start++) {
        toy model;
        const setting late = {.options =
                                  start == 2 ? "{swa_epoch_start: 2}" : "{swa_epoch_start: 3}"};
        warnings[0] = '\0';
        fg_log_set(keep_warning, NULL);
        fg_trainer *trainer = fit(&late, &fgi_swa_row, &model, &h);
        fg_log_set(NULL, NULL);
        assert_int_equal(taken_of(fg_trainer_module(trainer), "swa.taken"), 3 - start);
        assert_int_equal(strstr(warnings, says) != NULL, start == 3);
        fg_trainer_destroy(trainer);
    }
}

static void a_fraction_of_unknown_epochs_is_refused(void **state)
{
    fg_error err = {0};
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    fg_dataset *endless = toy_source(SAMPLES, 1, false);
    const fg_fit_data fits = {.train = endless, .batch_size = BATCH};
    fg_trainer *trainer = NULL;
    (void)state;
    fgt_ok(toy_create(&(fg_trainer_options){.devices.client = client, .limits.max_steps = EPOCH},
                      &trainer, &err));
    add_row(trainer, &fgi_swa_row, "");
    assert_int_equal(fg_trainer_fit(trainer, &task, &fits, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "swa: swa_epoch_start is a fraction of all epochs, whose "
                                        "number is not known: set max_epochs, or swa_epoch_start "
                                        "to an epoch"));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(endless);
}

/* Averages are f32, also of 16-bit weights, in which small changes would be lost; f64 of f64. */
static void averages_have_at_least_24_bits(void **state)
{
    static const fg_dtype dtypes[][2] = {
        {FG_BF16, FG_F32}, {FG_F16, FG_F32}, {FG_F32, FG_F32}, {FG_F64, FG_F64}};
    static const char *const names[] = {"a", "b", "c", "d"};
    fg_error err = {0};
    fg_module *root = NULL;
    (void)state;
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    for (int i = 0; i < 4; i++)
        (void)fg_module_variable(root, names[i], &(fg_type){.dtype = dtypes[i][0]}, NULL);
    (void)fg_module_variable(root, "turned", &(fg_type){FG_F32, 2, {2, 3}},
                             &(fg_variable_options){.file_axis = {1, 0}});
    (void)fg_module_variable(root, "count", &(fg_type){.dtype = FG_S32},
                             &(fg_variable_options){.kind = FG_BUFFER});
    (void)fg_module_variable(root, "mean", &(fg_type){.dtype = FG_F32},
                             &(fg_variable_options){.kind = FG_BUFFER});
    for (int has_buffers = 0; has_buffers < 2; has_buffers++) {
        fgi_average *average = fgi_calloc(1, sizeof *average);
        assert_non_null(average);
        *average =
            (fgi_average){.name = has_buffers ? "with" : "without", .use_buffers = has_buffers};
        fgt_ok(fgi_average_build(average, root, &err));
        assert_int_equal(average->count, 5 + has_buffers);
        assert_int_equal(fg_variable_file_axis(average->mean[4])[0], 1); /* as the parameter's */
        for (int i = 0; i < 4; i++)
            assert_int_equal(fg_variable_type(average->mean[i])->dtype, dtypes[i][1]);
        fgi_average_destroy(average);
    }
    fg_module_destroy(root);
}

static fg_tensor wrong_value(void *self, fg_trace *trace, fg_variable *variable)
{
    (void)self, (void)variable;
    return fg_zeros(trace, FG_F32, FG_DIMS(7));
}

static fg_status build_fails(void *self, fg_module *root, fg_error *err)
{
    (void)self;
    (void)fg_module_child(root, "fc1"); /* the model has it */
    return fg_module_error(root, err);
}

static void mistakes_are_reported(void **state)
{
    static const fg_callback_ops wrong = {.name = "wrong", .value = wrong_value};
    static const fg_callback_ops failing = {.name = "failing", .build = build_fails};
    fg_error err = {0};
    toy model = {0};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const fg_fit_data fits = {.val = val, .batch_size = BATCH};
    fg_trainer *trainer = NULL;
    (void)state;
    const fg_trainer_options options = {.devices.client = client};
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &wrong, NULL, &err));
    assert_int_equal(fg_trainer_validate(trainer, &task, &fits, &err), FG_ESHAPE);
    assert_non_null(strstr(err.message, "the value of a callback for 'fc1.weight' is f32[7]"));
    assert_int_equal(fg_trainer_add_callback(trainer, &failing, NULL, &err), FG_EINVAL);
    assert_string_equal(err.message, "callback 'failing' changes the model: add it before the "
                                     "first fit or evaluation");
    fg_trainer_destroy(trainer);
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &failing, NULL, &err));
    assert_int_equal(fg_trainer_validate(trainer, &task, &fits, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "callback 'failing': "));
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(averages_follow_from_the_weights),
    cmocka_unit_test(evaluations_use_the_averages),
    cmocka_unit_test(until_the_start_the_model_is_used),
    cmocka_unit_test(resumed_averages_are_the_same),
    cmocka_unit_test(equal_averages_follow_from_the_weights),
    cmocka_unit_test(resumed_means_are_the_same),
    cmocka_unit_test(a_skipped_step_adds_nothing),
    cmocka_unit_test(an_epoch_that_is_cut_short_does_not_count),
    cmocka_unit_test(a_start_after_the_end_is_reported),
    cmocka_unit_test(a_fraction_of_unknown_epochs_is_refused),
    cmocka_unit_test(averages_have_at_least_24_bits),
    cmocka_unit_test(mistakes_are_reported),
};

int main(void) { return cmocka_run_group_tests(tests, begin, end) == 0 ? 0 : 1; }
