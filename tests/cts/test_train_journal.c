/* test_train_journal.c - everything that a Trainer reports about small runs, compared as a whole
 * with tests/golden/train/journal.txt: every event with all of its numbers, the settings, the
 * result, warnings and errors. FGT_WRITE_GOLDEN=1 writes the file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "golden.h"
#include "toy.h"

enum { CALLS = 5 };

/* The calls of one Trainer; a later run of the same row is another Trainer with the same folder. */
typedef struct run {
    enum { NONE, FIT, VALIDATE, TEST, PREDICT } call;
    fg_trainer_options options;
    fg_fit_data data;   /* without datasets */
    int64_t train, val; /* samples; 0: 10 and 5, -1: none */
    enum {
        ARRAYS,
        SOURCE,
        STREAM
    } kind;      /* of the training data; the length of a STREAM is unknown */
    int stop_at; /* requests a stop at that batch */
    bool again;  /* with the Trainer of the previous call */
} run;

typedef struct row {
    const char *name;
    toy model;
    int devices;
    bool has_folder;
    run runs[CALLS];
} row;

static fg_client *clients[2]; /* of one device, and of two */
static FILE *out;
static const char *folder;

/* ---- recording ------------------------------------------------------------------------------- */

/* A text with the folder's name removed. */
static void put_text(FILE *file, const char *text)
{
    const size_t size = strlen(folder);
    for (const char *at; (at = strstr(text, folder)) != NULL; text = at + size)
        (void)fprintf(file, "%.*sHERE", (int)(at - text), text);
    (void)fputs(text, file);
}

/* Four digits; NaN without its sign, which depends on the processor. */
static void put_number(FILE *file, double value)
{
    char text[32] = "nan";
    if (!isnan(value))
        (void)snprintf(text, sizeof text, "%.4g", value);
    (void)fprintf(file, "=%s", text);
}

static void put_metrics(FILE *file, const fg_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(file, " %s", metrics[i].name);
        put_number(file, metrics[i].value);
    }
}

typedef struct journal {
    FILE *events, *logs; /* log events can occur between any two other events */
    int batches, stop_at;
} journal;

static fg_status note(journal *j, const char *event, const fg_progress *at)
{
    FILE *file = strcmp(event, "log") == 0 ? j->logs : j->events;
    (void)fprintf(file,
                  "  %-11s step %" PRId64 "/%" PRId64 " epoch %" PRId64 " batch %" PRId64
                  "/%" PRId64 " lr %.4g",
                  event, at->step, at->total_steps, at->epoch, at->batch, at->batches, at->lr);
    if (strcmp(event, "log") == 0)
        assert_true(at->samples_per_s > 0 || at->samples == 0); /* 0: no step of this fit */
    else
        assert_true(at->samples_per_s >= 0);
    put_metrics(file, at->metrics, at->metric_count);
    if (at->path != NULL) {
        (void)fputc(' ', file);
        put_text(file, at->path);
    }
    (void)fputc('\n', file);
    if (strcmp(event, "batch_end") == 0 && ++j->batches == j->stop_at)
        return FG_ESTOPPED;
    return FG_OK;
}

#define EVENT(name)                                                                                \
    static fg_status on_##name(void *self, const fg_progress *at, fg_error *err)                   \
    {                                                                                              \
        (void)err;                                                                                 \
        return note(self, #name, at);                                                              \
    }
TOY_EVENTS(EVENT)

static const fg_callback_ops ops = {TOY_EVENTS(TOY_EVENT_ROW)};

static void on_line(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level < FG_LOG_WARNING)
        return;
    (void)fputs("  warning: ", out);
    put_text(out, line);
    (void)fputc('\n', out);
}

static fg_status on_rows(void *self, const fg_type *type, const void *data, int64_t first,
                         fg_error *err)
{
    char text[96];
    const journal *j = self;
    (void)err;
    (void)fprintf(j->events, "  rows        from %" PRId64 ": %s, %.4g ...\n", first,
                  fg_type_format(type, text, sizeof text), (double)*(const float *)data);
    return FG_OK;
}

static void put_settings(const fg_fit_settings *p)
{
    if (p->device_count == 0)
        return;
    (void)fprintf(out,
                  "  settings: %s on %d, %d rows of %" PRId64 ", %" PRId64 " in total, %" PRId64
                  " per step, %" PRId64 " steps per epoch, %" PRId64 " steps; %s of base %" PRId64
                  ": %.4g * %.4g = %.4g; at",
                  p->strategy, p->device_count, p->batch_shards, p->batch_size,
                  p->global_batch_size, p->accumulate_grad_batches, p->steps_per_epoch,
                  p->total_steps, p->lr_scaling, p->base_batch_size, p->lr_given, p->lr_factor,
                  p->lr);
    for (int i = 0; i < 5; i++)
        (void)fprintf(out, " %.4g", p->lr_at[i]);
    (void)fputc('\n', out);
}

static void put_result(const fg_result *r)
{
    (void)fprintf(out, "  result: %s, %" PRId64 " steps, %" PRId64 " epochs",
                  fg_status_name(r->status), r->steps, r->epochs);
    put_metrics(out, r->metrics, r->metric_count);
    (void)fprintf(out, "; flops %.4g, nonfinite %" PRId64 ", lost %.4g, scale %.4g%s; ",
                  r->step_flops, r->nonfinite_steps, r->lost_updates, r->loss_scale,
                  r->nothing_to_do ? ", nothing to do" : "");
    put_text(out, r->checkpoint[0] != '\0' ? r->checkpoint : "no checkpoint");
    (void)fputc('\n', out);
    assert_true(isnan(r->mxu_use)); /* the peak of a CPU is not known */
    assert_true(r->status != FG_OK || r->nothing_to_do || r->device_peak_bytes > 0);
}

/* ---- running --------------------------------------------------------------------------------- */

static fg_dataset *training_data(const run *r)
{
    const int64_t count = r->train != 0 ? r->train : 10;
    if (r->train < 0)
        return NULL;
    return r->kind == ARRAYS ? toy_data(count, 1) : toy_source(count, 1, r->kind == SOURCE);
}

static fg_trainer *trainer; /* of the previous call, or NULL */
static journal notes;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

static fg_status call(const run *r, fg_error *err)
{
    fg_fit_data data = r->data;
    data.train = training_data(r);
    data.val = r->val < 0 ? NULL : toy_data(r->val != 0 ? r->val : 5, 2);
    data.test = data.predict = data.val;
    data.workers = FG_NONE;
    fg_status status = FG_EINVAL;
    switch (r->call) {
    case NONE: break;
    case FIT: status = fg_trainer_fit(trainer, &task, &data, err); break;
    case VALIDATE: status = fg_trainer_validate(trainer, &task, &data, err); break;
    case TEST: status = fg_trainer_test(trainer, &task, &data, err); break;
    case PREDICT: status = fg_trainer_predict(trainer, &task, &data, on_rows, &notes, err); break;
    }
    put_settings(fg_trainer_settings(trainer));
    put_result(fg_trainer_result(trainer));
    fg_dataset_destroy(data.train);
    fg_dataset_destroy(data.val);
    return status;
}

static fg_status create(const row *at, const run *r, fg_error *err)
{
    fg_trainer_options options = r->options;
    options.devices.client = clients[at->devices > 1];
    options.checkpoints.run_dir = at->has_folder ? folder : NULL;
    options.checkpoints.wait_for_saves = true;
    if (options.checkpoints.weights != NULL)
        options.checkpoints.weights = fgt_path(folder, options.checkpoints.weights);
    fg_trainer_destroy(trainer);
    trainer = NULL;
    model = at->model;
    const fg_status status = toy_create(&options, &trainer, err);
    return status == FG_OK ? fg_trainer_add_callback(trainer, &ops, &notes, err) : status;
}

static void do_run(const row *at, const run *r)
{
    static const char *const names[] = {"", "fit", "validate", "test", "predict"};
    fg_error err = {0};
    char *texts[2] = {NULL};
    size_t sizes[2];
    notes = (journal){.events = open_memstream(&texts[0], &sizes[0]),
                      .logs = open_memstream(&texts[1], &sizes[1]),
                      .stop_at = r->stop_at};
    assert_true(notes.events != NULL && notes.logs != NULL);
    (void)fprintf(out, " %s%s\n", names[r->call], r->again ? " again" : "");
    fg_status status = r->again ? FG_OK : create(at, r, &err);
    if (status == FG_OK)
        status = call(r, &err);
    assert_int_equal(fclose(notes.events) + fclose(notes.logs), 0);
    (void)fprintf(out, "%s%s", texts[0], texts[1]);
    if (status != FG_OK) {
        (void)fprintf(out, "  error %s: ", fg_status_name(status));
        put_text(out, err.message);
        (void)fputc('\n', out);
    }
    free(texts[0]);
    free(texts[1]);
}

static fg_schedule onecycle; /* the rate rises in 40 % of it; created in main */

#define NORMAL .data = {.batch_size = 4}

static const fg_int_pair by_epoch[] = {{0, 3}, {1, 1}, {2, 2}};

static const row rows[] = {
    {"as it is", .runs = {{FIT, NORMAL}}},
    {"many things in every epoch", .has_folder = true,
     .runs = {{FIT,
               {.limits.max_epochs = 2,
                .output.log_every = 2,
                .validation.val_every_steps = 2,
                .checkpoints.ckpt_every_steps = 4,
                .checkpoints.keep_checkpoints = 2,
                .validation.sanity_val_steps = 1},
               NORMAL}}},
    {"accumulated, on a source, scaled by the root", .model = {.optimizer = "sgd"},
     .runs = {{FIT,
               {.limits.max_epochs = 2,
                .numerics.accumulate_grad_batches = 2,
                .lr.lr_scaling = "sqrt",
                .lr.base_batch_size = 2,
                .output.log_every = 1},
               {.batch_size = 3, .shuffle_buffer = 4},
               .kind = SOURCE}}},
    {"a schedule by steps, on a source of unknown length", .model = {.optimizer = "adamw"},
     .runs = {{FIT,
               {.limits.max_steps = 7,
                .lr.schedule = &onecycle,
                .output.log_every = 3,
                .validation.val_every_epochs = 2},
               NORMAL,
               .kind = STREAM}}},
    {"a schedule without an end",
     .runs = {{FIT, {.limits.max_epochs = 2, .lr.schedule = &onecycle}, NORMAL, .kind = STREAM}}},
    {"limits and whole batches", .model = {.dropout = 0.5},
     .runs = {{FIT,
               {.limits.max_epochs = 2,
                .limits.limit_train_batches.count = 2,
                .limits.limit_val_batches.fraction = 0.5,
                .output.log_every = 1,
                .seed = 3},
               {.batch_size = 3, .drop_last = true, .no_shuffle = true}}}},
    {"the same batches again and again",
     .runs = {{FIT,
               {.limits.max_epochs = 2, .limits.overfit_batches.count = 1, .output.log_every = 1},
               NORMAL}}},
    {"tried out", .has_folder = true,
     .runs =
         {{FIT,
           {.limits.max_epochs = 9, .limits.fast_dev_run = true, .validation.sanity_val_steps = -1},
           NORMAL}}},
    {"the best by a metric of training", .model = {.has_norm = true}, .has_folder = true,
     .runs = {{FIT,
               {.limits.max_epochs = 4,
                .checkpoints.monitor = "train_acc",
                .checkpoints.monitor_mode = FG_MODE_MAX,
                .checkpoints.ckpt_every_epochs = 2,
                .checkpoints.keep_checkpoints = FG_NONE},
               NORMAL,
               .val = -1}}},
    {"a metric that does not exist", .has_folder = true,
     .runs = {{FIT, {.limits.max_epochs = 2, .checkpoints.monitor = "val_nothing"}, NORMAL}}},
    {"stopped, continued in other batches, complete", .has_folder = true,
     .runs = {{FIT, {.limits.max_epochs = 2, .output.log_every = 3}, NORMAL, .stop_at = 2},
              {FIT,
               {.limits.max_epochs = 2, .output.log_every = 3, .checkpoints.resume = "last"},
               {.batch_size = 3}},
              {FIT, {.limits.max_epochs = 2, .checkpoints.resume = "auto"}, {.batch_size = 3}}}},
    {"continued with other data", .has_folder = true,
     .runs = {{FIT, {.limits.max_epochs = 2}, NORMAL, .stop_at = 2},
              {FIT, {.limits.max_epochs = 2, .checkpoints.resume = "best"}, NORMAL},
              {FIT, {.limits.max_epochs = 2, .checkpoints.resume = "last"}, NORMAL, .train = 11}}},
    {"a checkpoint is loaded once", .has_folder = true,
     .runs = {{FIT, {.limits.max_epochs = 2, .checkpoints.keep_checkpoints = FG_NONE}, NORMAL},
              {VALIDATE, {.limits.max_epochs = 3, .checkpoints.resume = "step-000000003"}, NORMAL},
              {FIT, NORMAL, .again = true},
              {VALIDATE, NORMAL, .again = true},
              {FIT, NORMAL, .again = true}}},
    {"weights are loaded once", .has_folder = true,
     .runs = {{FIT, NORMAL},
              {FIT,
               {.checkpoints.overwrite = true,
                .limits.max_epochs = 2,
                .checkpoints.weights = "checkpoints/step-000000003"},
               NORMAL},
              {VALIDATE, NORMAL, .again = true}}},
    {"one Trainer on other data and other batches", .model = {.has_norm = true},
     .runs = {{FIT, {.limits.max_steps = 3, .output.log_every = 1}, NORMAL},
              {VALIDATE, {0}, {.batch_size = 5}, .val = 10, .again = true},
              {VALIDATE, NORMAL, .val = 3, .again = true},
              {PREDICT, NORMAL, .val = 6, .again = true}}},
    {"a folder that is used", .has_folder = true,
     .runs = {{FIT, NORMAL}, {FIT, NORMAL}, {FIT, {.checkpoints.overwrite = true}, NORMAL}}},
    {"evaluations", .runs = {{VALIDATE, NORMAL},
                             {TEST, {.limits.limit_val_batches.count = 1}, NORMAL},
                             {PREDICT, NORMAL}}},
    {"an evaluation after one that was stopped", .runs = {{VALIDATE, {0}, NORMAL, .stop_at = 1},
                                                          {VALIDATE, NORMAL, .again = true},
                                                          {VALIDATE, NORMAL, .again = true}}},
    {"parameters in bf16",
     .runs = {{FIT, {.numerics.precision = "bf16-true", .output.log_every = 1}, NORMAL}}},
    {"matmuls in f16",
     .runs = {{FIT, {.numerics.precision = "16-mixed", .output.log_every = 1}, NORMAL}}},
    {"all in f64",
     .runs = {{FIT, {.numerics.precision = "64-true", .output.log_every = 1}, NORMAL}}},
    {"gradients that are not finite", .model = {.loss_factor = (double)INFINITY},
     .runs = {{FIT, {.output.log_every = 1, .divergence.on_divergence = "ignore"}, NORMAL},
              {FIT, {.numerics.detect_anomaly = true, .output.log_every = 1}, NORMAL, .train = 4}}},
    {"two devices", .devices = 2,
     .runs = {{FIT,
               {.devices.strategy = "ddp", .lr.lr_scaling = "linear", .output.log_every = 1},
               {.batch_size = 2}},
              {FIT, {.devices.strategy = "fsdp", .output.log_every = 1}, {.global_batch_size = 4}},
              {FIT, NORMAL, .train = 1},
              {FIT, NORMAL, .train = 2, .val = -1}}},
    {"the smallest sizes",
     .runs = {{FIT, {.output.log_every = 1}, {.batch_size = 1}, .train = 1, .val = 1},
              {FIT, {.limits.max_epochs = 2}, {.batch_size = 10}, .train = 3, .val = 1},
              {PREDICT, {0}, {.batch_size = 8}, .val = 1}}},
    {"more batches per step than an epoch has, and by epoch", .model = {.optimizer = "sgd"},
     .runs = {{FIT,
               {.limits.max_epochs = 2,
                .numerics.accumulate_grad_batches = 8,
                .lr.lr_scaling = "linear",
                .output.log_every = 1},
               NORMAL},
              {FIT,
               {.limits.max_epochs = 3,
                .numerics.accumulate_schedule = {by_epoch, 3},
                .output.log_every = 1},
               NORMAL}}},
    {"whole batches of sources",
     .runs = {{FIT,
               {.limits.max_epochs = 2, .output.log_every = 1},
               {.batch_size = 4, .drop_last = true, .shuffle_buffer = 3},
               .kind = STREAM},
              {FIT,
               {.limits.max_epochs = 2,
                .limits.limit_train_batches.fraction = 0.7,
                .output.log_every = 1},
               {.batch_size = 3, .drop_last = true},
               .kind = SOURCE}}},
    {"at the limit", .has_folder = true,
     .runs = {{FIT, {.limits.max_steps = 3}, NORMAL, .stop_at = 3},
              {FIT, {.limits.max_steps = 3, .checkpoints.resume = "auto"}, NORMAL},
              {FIT,
               {.limits.max_steps = 4,
                .limits.limit_val_batches.count = 1,
                .checkpoints.resume = "auto"},
               NORMAL}}},
    {"clipped", .runs = {{FIT, {.numerics.gradient_clip_val = 0.01, .output.log_every = 1}, NORMAL},
                         {FIT,
                          {.numerics.gradient_clip_val = 0.01,
                           .numerics.gradient_clip_algorithm = "value",
                           .output.log_every = 1},
                          NORMAL}}},
    {"partial batches on two devices", .devices = 2,
     .runs = {{FIT,
               {.limits.max_epochs = 2, .output.log_every = 1},
               {.global_batch_size = 4},
               .train = 7,
               .val = 3},
              {TEST, {0}, {.global_batch_size = 4}, .val = 5, .again = true},
              {PREDICT, {0}, {.global_batch_size = 4}, .val = 5, .again = true}}},
    {"sizes that cannot be", .devices = 2,
     .runs = {{FIT, .data = {.global_batch_size = 5}},
              {FIT, .data = {.global_batch_size = 1}},
              {FIT, .data = {.global_batch_size = 4, .batch_size = 2}}}},
    {"more sizes that cannot be", .runs = {{FIT, .data = {.batch_size = -1}},
                                           {FIT, .data = {.batch_size = 4, .shuffle_buffer = -1}},
                                           {FIT, .data = {.batch_size = 11, .drop_last = true}}}},
    {"options that cannot be",
     .runs = {{FIT, {.lr.lr_scaling = "cubic"}, NORMAL},
              {FIT,
               {.limits.overfit_batches.count = 2, .limits.overfit_batches.fraction = 0.5},
               NORMAL},
              {FIT, {.limits.limit_train_batches.fraction = 1.5}, NORMAL}}},
    {"shares of an unknown length",
     .runs = {{FIT, {.limits.limit_train_batches.fraction = 0.5}, NORMAL, .kind = STREAM},
              {FIT, NORMAL, .train = -1},
              {VALIDATE, NORMAL, .val = -1}}},
};

static void runs_report_what_they_did(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    assert_non_null(out = open_memstream(&text, &size));
    fg_log_set(on_line, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        folder = fgt_temp_folder();
        (void)fprintf(out, "%s\n", rows[i].name);
        for (int k = 0; k < CALLS && rows[i].runs[k].call != NONE; k++)
            do_run(&rows[i], &rows[i].runs[k]);
        fg_trainer_destroy(trainer);
        trainer = NULL;
    }
    fg_log_set(NULL, NULL);
    assert_int_equal(fclose(out), 0);
    fgt_golden("train/journal.txt", text);
    free(text);
}

static int open_all(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *cache = fgt_cache(fgt_temp_folder());
    return fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = cache},
                          &clients[0], &err) != FG_OK ||
           fg_client_open(
               &(fg_client_options){.accelerator = "cpu", .cpu_devices = 2, .cache_dir = cache},
               &clients[1], &err) != FG_OK;
}

static int close_all(void **state)
{
    (void)state;
    fg_client_close(clients[0]);
    fg_client_close(clients[1]);
    return fgi_alloc_live() != 0;
}

int main(void)
{
    onecycle = fg_onecycle(&(fg_onecycle_options){.pct_start = 0.4});
    toy_use_memory();
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_report_what_they_did)};
    return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1;
}
