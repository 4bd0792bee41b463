/* toy.c - the helpers of toy.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "toy.h"

#include "fgt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"

void toy_use_memory(void)
{
    if (access("/dev/shm", W_OK | X_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
}

/* ---- the task -------------------------------------------------------------------------------- */

static void build(void *self, fg_module *root)
{
    toy *t = self;
    /* a bias before batch norm would have no gradient but rounding, which Adam makes large */
    const int64_t hidden = t->hidden != 0 ? t->hidden : TOY_HIDDEN;
    const fg_linear_options first = {.in = TOY_FEATURES, .out = hidden, .no_bias = t->has_norm};
    t->fc1 = fg_linear_create(root, "fc1", &first);
    t->norm = NULL;
    if (t->has_norm)
        t->norm = fg_batch_norm_create(root, "norm", &(fg_batch_norm_options){.channels = hidden});
    t->fc2 = fg_linear_create(root, "fc2", &(fg_linear_options){.in = hidden, .out = TOY_CLASSES});
}

fg_tensor toy_forward(const toy *model, fg_tensor x)
{
    fg_tensor h = fg_linear_apply(model->fc1, x);
    if (model->has_norm)
        h = fg_batch_norm_apply(model->norm, h);
    h = fg_relu(h);
    if (model->dropout > 0)
        h = fg_dropout(h, model->dropout);
    return fg_linear_apply(model->fc2, h);
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor label = fg_batch_field(batch, "y");
    const fg_tensor logits = toy_forward(self, fg_batch_field(batch, "x"));
    fg_step_log(st, "acc", fg_accuracy(logits, label));
    const fg_tensor loss = fg_cross_entropy(logits, label, NULL);
    const double factor = ((const toy *)self)->loss_factor;
    return factor != 0 ? fg_mul_scalar(loss, factor) : loss;
}

static fg_tensor predict(void *self, fg_step *st, const fg_batch *batch)
{
    (void)st;
    return toy_forward(self, fg_batch_at(batch, 0));
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    const toy *t = self;
    if (t->optimizer != NULL && strcmp(t->optimizer, "sgd") == 0)
        return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
    if (t->optimizer != NULL && strcmp(t->optimizer, "adamw") == 0)
        return fg_adamw_create(root, &(fg_adamw_options){.lr = 0.01});
    if (t->optimizer != NULL)
        return fg_optimizer_named(root, t->optimizer, "{lr: 1e-9}");
    return fg_adam_create(root, &(fg_adam_options){.lr = 0.01});
}

const fg_task_ops toy_ops = {.build = build,
                             .train_step = step,
                             .val_step = step,
                             .predict_step = predict,
                             .optimizer = optimizer};

/* ---- the data -------------------------------------------------------------------------------- */

int32_t toy_sample(int64_t index, uint64_t seed, float out_x[TOY_FEATURES])
{
    const fgi_key key = fgi_key_from_seed(seed);
    const int32_t label = (int32_t)(fgi_rng_uniform(key, (uint64_t)index * 8 + 7) * TOY_CLASSES);
    for (int i = 0; i < TOY_FEATURES; i++)
        out_x[i] = fgi_rng_normal(key, (uint64_t)index * 8 + (uint64_t)i) +
                   (i % TOY_CLASSES == label ? 1.5f : 0.f);
    return label;
}

static const fg_field toy_fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}},
                                      {"y", {.dtype = FG_S32}}};

fg_dataset *toy_data(int64_t count, uint64_t seed)
{
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    const fg_dataset_spec spec = {
        .count = count, .fields = toy_fields, .field_count = 2, .class_count = TOY_CLASSES};
    float(*x)[TOY_FEATURES] = calloc((size_t)count + 1, sizeof *x);
    int32_t *y = calloc((size_t)count + 1, sizeof *y);
    assert_true(x != NULL && y != NULL);
    for (int64_t i = 0; i < count; i++)
        y[i] = toy_sample(i, seed, x[i]);
    const void *arrays[] = {x, y};
    fgt_ok(fg_dataset_from_arrays(&spec, arrays, FG_COPY, &dataset, &err));
    free(x);
    free(y);
    return dataset;
}

typedef struct source {
    int64_t count;
    uint64_t seed;
} source;

typedef struct reader {
    const source *source;
    int64_t next;
} reader;

static fg_status open_reader(void *self, int64_t epoch, void **out_reader, fg_error *err)
{
    (void)epoch, (void)err;
    reader *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->source = self;
    *out_reader = r;
    return FG_OK;
}

static fg_status read_next(void *self, void *const *out_fields, bool *out_end, fg_error *err)
{
    reader *r = self;
    (void)err;
    *out_end = r->next == r->source->count;
    if (!*out_end && out_fields != NULL)
        *(int32_t *)out_fields[1] = toy_sample(r->next, r->source->seed, out_fields[0]);
    r->next += !*out_end;
    return FG_OK;
}

fg_dataset *toy_source(int64_t count, uint64_t seed, bool is_known)
{
    static const fg_source_ops ops = {
        .open = open_reader, .next = read_next, .close = free, .destroy = free};
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    source *s = calloc(1, sizeof *s);
    assert_non_null(s);
    *s = (source){count, seed};
    const fg_dataset_spec spec = {.count = is_known ? count : FG_UNKNOWN_COUNT,
                                  .fields = toy_fields,
                                  .field_count = 2,
                                  .class_count = TOY_CLASSES};
    fgt_ok(fg_dataset_from_source(&ops, s, &spec, &dataset, &err));
    return dataset;
}

/* ---- the Trainer ----------------------------------------------------------------------------- */

fg_status toy_create(const fg_trainer_options *options, fg_trainer **out, fg_error *err)
{
    fg_trainer_options o = options != NULL ? *options : (fg_trainer_options){0};
    if (o.limits.max_epochs == 0 && o.limits.max_steps == 0)
        o.limits.max_epochs = 1;
    if (o.validation.sanity_val_steps == 0)
        o.validation.sanity_val_steps = FG_NONE;
    if (o.checkpoints.keep_checkpoints == 0)
        o.checkpoints.keep_checkpoints = 1;
    if (o.hang.watchdog_s == 0)
        o.hang.watchdog_s = FG_ZERO;
    return fg_trainer_create(&o, out, err);
}

fg_trainer *toy_trainer(fg_client *client, const fg_trainer_options *options)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = *options;
    o.devices.client = client;
    fgt_ok(toy_create(&o, &trainer, &err));
    return trainer;
}

const char *toy_callback_options(const char *name)
{
    return strcmp(name, "freeze") == 0                  ? "{parameters: [fc1.*]}"
           : strcmp(name, "timer") == 0                 ? "{duration: 1h}"
           : strcmp(name, "gradient_accumulation") == 0 ? "{schedule: {100: 2}}"
                                                        : "";
}

static double find(const fg_metric *metrics, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return metrics[i].value;
    fail_msg("no metric %s", name);
    return 0;
}

double toy_metric(const fg_trainer *trainer, const char *name)
{
    const fg_result *result = fg_trainer_result(trainer);
    return find(result->metrics, result->metric_count, name);
}

double toy_logged(const fg_progress *at, const char *name)
{
    return find(at->metrics, at->metric_count, name);
}

/* ---- the callback ---------------------------------------------------------------------------- */

#define NAME(name) #name,
static const char *const events[] = {TOY_EVENTS(NAME)};
#define NUMBER(name) EVENT_##name,
enum { TOY_EVENTS(NUMBER) EVENTS };

int recorder_count(const recorder *r, const char *event)
{
    for (int i = 0; i < EVENTS; i++)
        if (strcmp(events[i], event) == 0)
            return r->count[i];
    fail_msg("no event %s", event);
    return 0;
}

static void keep_metrics(char *out, size_t size, const fg_progress *at)
{
    size_t used = 0;
    for (size_t i = 0; i < at->metric_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s=%.9g ", at->metrics[i].name,
                                 at->metrics[i].value);
}

static fg_status record(recorder *r, int event, const fg_progress *at, fg_error *err)
{
    r->count[event]++;
    const int n =
        snprintf(r->text + r->used, sizeof r->text - r->used,
                 "%-11s  step %" PRId64 "  epoch %" PRId64 "  batch %" PRId64 "/%" PRId64 "\n",
                 events[event], at->step, at->epoch, at->batch, at->batches);
    r->used += (size_t)n < sizeof r->text - r->used ? (size_t)n : 0;
    if (at->metric_count > 0)
        keep_metrics(r->metrics, sizeof r->metrics, at);
    if (strcmp(events[event], "log") == 0)
        keep_metrics(r->logged, sizeof r->logged, at);
    if (r->at_event == NULL || strcmp(r->at_event, events[event]) != 0 ||
        r->count[event] != r->at_count)
        return FG_OK;
    if (r->signal != 0)
        (void)raise(r->signal);
    if (r->message != NULL)
        (void)snprintf(err->message, sizeof err->message, "%s", r->message);
    return r->status;
}

/* One function per event, as the table requires. */
#define EVENT(name)                                                                                \
    static fg_status on_##name(void *self, const fg_progress *at, fg_error *err)                   \
    {                                                                                              \
        return record(self, EVENT_##name, at, err);                                                \
    }
TOY_EVENTS(EVENT)

static void on_destroy(void *self) { ((recorder *)self)->is_destroyed = true; }

const fg_callback_ops recorder_ops = {TOY_EVENTS(TOY_EVENT_ROW).destroy = on_destroy};
