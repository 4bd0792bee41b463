/* run_task.c - creates the task of a configuration: model, loss and optimizer.
 *
 * Inputs are uploaded in the dtype of the files, and cast to f32, scaled and normalized on the
 * device. Classification uses cross-entropy and accuracy; several labels per sample use binary
 * cross-entropy and F1; regression uses the mean squared error of
 * the standardized target, and MAE, RMSE and R^2 in the target's unit. The targets of a CSV are
 * standardized by its dataset, those of .npy files here, on the device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fulgurite/decode.h>

#include "recipe/run/run.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "nn/model.h"
#include "option/option.h"
#include "train/state/metrics.h"
#include "train/step/stage.h"

/* ---- model ----------------------------------------------------------------------------------- */

/* Freezes by the patterns of model.freeze; an error is recorded in the module. */
static void freeze(const fgi_run_task *t, fg_module *root)
{
    const fg_strings *patterns = &t->c->model.freeze;
    fg_error err = {0};
    for (size_t i = 0; i < patterns->count && fg_module_error(root, NULL) == FG_OK; i++) {
        const fg_status status = fg_module_freeze(root, patterns->at[i], NULL, &err);
        if (status == FG_OK)
            continue;
        (void)fgi_context(&err, status, "%s", fgi_config_where(t->c, "model.freeze"));
        fg_module_fail(root, &err);
    }
}

static void build(void *self, fg_module *root)
{
    fgi_run_task *t = self;
    fg_model_options options = {
        .entry = t->model_entry,
        .values = t->model_values,
        .input = t->input,
        .outputs = t->outputs,
        .per_token = t->is_language,
    };
    if (t->image[0] > 0)
        memcpy(options.image, t->augment.count > 0 ? t->input.dim : t->image, sizeof t->image);
    fg_here(t->file, t->line);
    options.input.dtype = fgi_is_tokens(t->model_entry, &t->input) ? FG_S32 : FG_F32;
    t->model = fg_model_create(root, &options);
    freeze(t, root);
    t->frozen = fg_module_frozen_count(root);
}

/* The input of a batch as stored; encoded images of any of the datasets as pixels. */
static fg_tensor decoded(const fgi_run_task *t, fg_tensor x)
{
    const fg_type *type = fg_tensor_type(x);
    for (int i = 0; i < t->encoding_count; i++) {
        const fg_type stored = fg_image_encoding_type(&t->encodings[i]);
        if (type->rank == 2 && type->dtype == stored.dtype && type->dim[1] == stored.dim[0])
            return fg_decode_images(x, &t->encodings[i]);
    }
    return x;
}

void fgi_run_task_set_encodings(fgi_run_task *task, const fgi_run_data *data)
{
    const fg_dataset *const datasets[] = {data->train, data->val, data->test};
    for (size_t i = 0; i < sizeof(datasets) / sizeof(datasets[0]); i++) {
        const fg_image_encoding *e = datasets[i] != NULL ? fg_dataset_encoding(datasets[i]) : NULL;
        if (e != NULL)
            task->encodings[task->encoding_count++] = *e;
    }
}

/* The input of a batch, T[B, ...] as stored -> f32[B, ...]: decoded, scaled, augmented and
 * normalized. Mixing samples replaces *target, which may be NULL. */
static fg_tensor prepare(const fgi_run_task *t, const fg_batch *batch, fg_tensor *target)
{
    fg_tensor x = decoded(t, fg_batch_at(batch, 0));
    fg_trace *trace = fg_tensor_trace(x);
    if (fgi_is_tokens(t->model_entry, &t->input))
        return fg_cast(x, FG_S32);
    x = fg_cast(x, fg_trace_float(trace));
    if (t->scale != 1)
        x = fg_mul_scalar(x, t->scale);
    x = fgi_run_augment(t, x, batch, target);
    const fg_type mean = {.dtype = FG_F32, .rank = 1, .dim = {(int64_t)t->c->data.mean.count}};
    const fg_type std = {.dtype = FG_F32, .rank = 1, .dim = {(int64_t)t->c->data.std.count}};
    if (t->mean != NULL)
        x = fg_sub(x, fg_constant(trace, &mean, t->mean));
    if (t->std != NULL)
        x = fg_div(x, fg_constant(trace, &std, t->std));
    return x;
}

/* Logits f32[B, C], or predicted values: f32[B] or f32[B, K]. */
static fg_tensor forward(const fgi_run_task *t, const fg_batch *batch, fg_tensor *target)
{
    fg_here(t->file, t->line);
    const fg_tensor y = fg_model_apply(t->model, prepare(t, batch, target));
    if (t->outputs > 1 || t->is_classification || t->is_multilabel || t->target.rank != 0)
        return y;
    return fg_reshape(y, FG_DIMS(-1));
}

/* The token at the end of documents; -1: samples are not divided. */
static int64_t document_end(const fgi_run_task *t)
{
    const bool has_option = fg_option_find(t->model_values, "document_end") != NULL;
    return has_option ? fg_option_int(t->model_values, "document_end") : -1;
}

/* The tokens that follow each position, s32[B, T], or FGI_NO_LABEL after the end of a document. */
static fg_tensor next_tokens(const fgi_run_task *t, const fg_batch *batch)
{
    const fg_tensor tokens = fg_batch_at(batch, 0), next = fg_batch_at(batch, 1);
    fg_trace *trace = fg_tensor_trace(tokens);
    const int64_t end = document_end(t);
    if (end < 0)
        return next;
    return fg_where(fg_eq(tokens, fg_full(trace, FG_S32, (double)end, FG_SCALAR)),
                    fg_full(trace, FG_S32, FGI_NO_LABEL, FG_SCALAR), next);
}

/* Of the tokens that are predicted, f32[]; empty: not known. */
static fg_tensor bytes_per_token(const fgi_run_task *t, const fg_batch *batch, fg_tensor next)
{
    fg_trace *trace = fg_tensor_trace(next);
    const double average = t->schema->bytes_per_token;
    if (batch->field_count < 3)
        return average > 0 ? fg_full(trace, FG_F32, average, FG_SCALAR) : (fg_tensor){0};
    const fg_tensor ignored = fg_full(trace, FG_S32, FGI_NO_LABEL, FG_SCALAR);
    const fg_tensor predicted = fg_cast(fg_ne(next, ignored), FG_F32);
    const fg_tensor bytes = fg_sum(fg_mul(fg_batch_at(batch, 2), predicted), 0, NULL);
    return fg_div(bytes, fg_sum(predicted, 0, NULL));
}

/* Of logits T[B, T, V]. The metrics are those of the cross-entropy, whatever the loss is. */
static fg_tensor next_token_loss(const fgi_run_task *t, fg_step *step, const fg_batch *batch)
{
    const fg_tensor logits = forward(t, batch, NULL), next = next_tokens(t, batch);
    const fg_tensor entropy =
        fg_cross_entropy(logits, next, &(fg_cross_entropy_options){.ignore_index = FGI_NO_LABEL});
    fg_step_log_language(step, entropy, bytes_per_token(t, batch, next));
    return t->loss->apply(logits, next, t->loss_options);
}

/* What the outputs of a regression predict. */
static fg_tensor prediction_of(const fgi_run_task *t, fg_tensor y, bool is_point)
{
    return t->loss->predict != NULL ? t->loss->predict(y, is_point, t->loss_options) : y;
}

/* Targets with the dtype of the logits. */
static fg_tensor labels_of(fg_tensor target, fg_tensor logits)
{
    return fg_cast(target, fg_tensor_type(logits)->dtype);
}

static fg_tensor loss(void *self, fg_step *step, const fg_batch *batch)
{
    const fgi_run_task *t = self;
    if (t->is_language)
        return next_token_loss(t, step, batch);
    fg_tensor target = fgi_run_augment_target(t, batch);
    const fg_tensor y = forward(t, batch, &target);
    if (t->is_classification) { /* of mixed samples, the label of the first */
        fg_step_log_classification(step, y, fg_batch_at(batch, 1));
        return t->loss->apply(y, target, t->loss_options);
    }
    if (t->is_multilabel) { /* of mixed samples, the labels of the first */
        fg_step_log_multilabel(step, y, labels_of(fg_batch_at(batch, 1), y));
        return t->loss->apply(y, labels_of(target, y), t->loss_options);
    }
    if (t->target.rank > 1)
        target = fg_flatten(target, 1);
    target = fg_cast(target, FG_F32);
    if (t->standardises)
        target = fg_mul_scalar(fg_add_scalar(target, -t->target_mean), 1 / t->target_deviation);
    fg_step_log_regression(
        step, prediction_of(t, y, true), target,
        &(fg_regression_options){.unit = t->target_deviation, .center = t->target_center});
    return t->loss->apply(y, fg_cast(target, fg_trace_float(fg_step_trace(step))), t->loss_options);
}

static fg_tensor predict(void *self, fg_step *step, const fg_batch *batch)
{
    const fgi_run_task *t = self;
    (void)step;
    const fg_tensor y = forward(t, batch, NULL);
    if (t->is_classification || t->is_multilabel)
        return fg_cast(t->is_multilabel ? fg_sigmoid(y) : fg_softmax(y), FG_F32);
    const fg_tensor value = fg_cast(prediction_of(t, y, false), FG_F32);
    return fg_add_scalar(fg_mul_scalar(value, t->target_deviation), t->target_mean);
}

/* ---- optimizer ------------------------------------------------------------------------------- */

double fgi_run_task_lr(const fgi_run_task *task)
{
    return fabs(fg_option_number(task->optimizer_values, "lr"));
}

static void say_frozen(const fgi_run_task *task, const fg_module *root)
{
    const int64_t frozen = fg_module_frozen_count(root), all = fg_module_parameter_count(root);
    const char *by = frozen == task->frozen ? "model.freeze"
                     : task->frozen == 0    ? "trainer.callbacks"
                                            : "model.freeze, trainer.callbacks";
    if (frozen > 0 && task->owner != NULL)
        fgi_run_say(task->owner, FG_LOG_INFO,
                    "note: %" PRId64 " of %" PRId64 " parameters are frozen (%s); %" PRId64
                    " are trained",
                    frozen, all, by, all - frozen);
}

/* Sets the groups of parameters, and says how many each has. */
static void set_groups(const fgi_run_task *t, fg_module *root)
{
    const fg_optimizer_groups *groups = &t->c->optimizer.groups;
    const bool has_decay = strcmp(groups->no_decay, "none") != 0;
    fg_error err = {0};
    char text[1024];
    if (groups->groups.count == 0 && !has_decay && groups->layer_decay == 1)
        return;
    if (fg_optimizer_set_groups(t->optimizer, groups, &err) != FG_OK) {
        (void)fgi_context(&err, err.status, "%s",
                          fgi_config_where(t->c, groups->groups.count > 0
                                                     ? "optimizer.groups"
                                                     : "optimizer.layer_decay"));
        fg_module_fail(root, &err);
        return;
    }
    if (t->owner != NULL)
        fgi_run_say(t->owner, FG_LOG_INFO, "note: optimizer groups: %s",
                    fg_optimizer_describe_groups(t->optimizer, groups, text, sizeof(text)));
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    fgi_run_task *t = self;
    say_frozen(t, root);
    t->optimizer = fg_optimizer_create_with(root, t->optimizer_entry, t->optimizer_values);
    if (t->optimizer != NULL)
        set_groups(t, root);
    if (t->optimizer != NULL && isfinite(t->found_lr))
        fg_optimizer_set_lr(t->optimizer, t->found_lr);
    return t->optimizer;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The task's default loss unless the configuration names one. */
static fg_status find_loss(fgi_run_task *t, fg_error *err)
{
    const fgi_config *c = t->c;
    const fg_registry *registry = c->registry;
    const char *task =
        strcmp(c->task, "language") == 0 ? "classification" : c->task; /* of tokens */
    const bool is_auto = strcmp(c->loss.name, "auto") == 0;
    for (size_t i = 0; i < fg_registry_count(registry, FG_REGISTRY_LOSS) && is_auto; i++) {
        t->loss = (const fg_loss_entry *)fg_registry_at(registry, FG_REGISTRY_LOSS, i);
        if (strcmp(t->loss->task, task) == 0)
            break;
    }
    if (!is_auto)
        t->loss = (const fg_loss_entry *)fgi_config_entry(c, FG_REGISTRY_LOSS, "loss.name", err);
    if (t->loss == NULL)
        return err->status;
    if (strcmp(t->loss->task, task) != 0)
        return fgi_fail(err, FG_EINVAL, "%s: '%s' is for task %s: expected a loss for task %s",
                        fgi_config_where(c, "loss.name"), t->loss->entry.name, t->loss->task, task);
    FGI_TRY(fgi_config_select(c, "loss", &t->loss->entry, &t->loss_values, err));
    return fgi_row_create(&t->loss->entry, t->loss_values, &t->loss_options, err);
}

static fg_status fill_schedule(fgi_run_task *t, const fg_schedule_entry *row, fg_error *err)
{
    fg_option_values *values = NULL;
    FGI_TRY(fgi_config_select(t->c, "schedule", &row->entry, &values, err));
    fg_status status = fgi_row_create(&row->entry, values, &t->schedule_options, err);
    if (status == FG_OK && row->check != NULL && row->check(t->schedule_options, err) != FG_OK)
        status = fgi_option_add_place(values, err->status, err);
    fg_option_values_destroy(values);
    t->schedule = (fg_schedule){.row = row,
                                .options = t->schedule_options,
                                .is_complete = true,
                                .warmup = t->c->schedule.warmup};
    return status;
}

static fg_status find_rows(fgi_run_task *t, fg_error *err)
{
    const fgi_config *c = t->c;
    t->model_entry =
        (const fg_model_entry *)fgi_config_entry(c, FG_REGISTRY_MODEL, "model.name", err);
    t->optimizer_entry = (const fg_optimizer_entry *)fgi_config_entry(c, FG_REGISTRY_OPTIMIZER,
                                                                      "optimizer.name", err);
    const fg_schedule_entry *schedule =
        (const fg_schedule_entry *)fgi_config_entry(c, FG_REGISTRY_SCHEDULE, "schedule.name", err);
    if (t->model_entry == NULL || t->optimizer_entry == NULL || schedule == NULL)
        return err->status;
    FGI_TRY(find_loss(t, err));
    FGI_TRY(fgi_config_select(c, "model", &t->model_entry->entry, &t->model_values, err));
    FGI_TRY(
        fgi_config_select(c, "optimizer", &t->optimizer_entry->entry, &t->optimizer_values, err));
    return fill_schedule(t, schedule, err);
}

/* ---- settings derived from the data ---------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* The model may have more outputs than the data have classes. */
static fg_status name_classes(fgi_run_task *t, fg_error *err)
{
    const fgi_run_schema *schema = t->schema;
    t->task.class_count = t->outputs;
    if (schema->class_names == NULL)
        return FG_OK;
    t->class_names = fgi_calloc((size_t)t->outputs, sizeof(char *));
    if (t->class_names == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < schema->class_count && i < t->outputs; i++)
        t->class_names[i] = schema->class_names[i];
    t->task.class_names = t->class_names;
    return FG_OK;
}

static fg_status find_classes(const fgi_config *c, fgi_run_task *t, fg_error *err)
{
    int64_t classes = t->schema->class_count;
    if (t->target.dtype != FG_S32 || t->target.rank != 0 || classes < 1) {
        char type[96];
        return fgi_fail(err, FG_EINVAL,
                        "task classification: the target is %s: expected integer class indices, "
                        "s32[], starting at 0 (for numbers, set task: regression)",
                        fg_type_format(&t->target, type, sizeof(type)));
    }
    if (c->model.classes != FG_AUTO && c->model.classes < classes)
        return fgi_fail(err, FG_EINVAL, "%s is %" PRId64 ", but the data have %" PRId64 " classes",
                        fgi_config_where(c, "model.classes"), c->model.classes, classes);
    if (c->model.classes != FG_AUTO)
        classes = c->model.classes;
    t->outputs = larger(classes, 2);
    return name_classes(t, err);
}

/* model.document_end is a token, and the loss can leave out positions. */
static fg_status check_documents(const fgi_run_task *t, fg_error *err)
{
    const int64_t end = document_end(t);
    if (!t->is_language || end < 0)
        return FG_OK;
    if (end >= t->schema->class_count)
        return fgi_fail(err, FG_EINVAL,
                        "%s is %" PRId64 ", but the tokens of the data are below %" PRId64,
                        fgi_config_where(t->c, "model.document_end"), end, t->schema->class_count);
    if (strcmp(t->loss->entry.name, "cross_entropy") != 0)
        return fgi_fail(err, FG_EINVAL,
                        "%s: '%s' cannot leave out the first tokens of documents, as "
                        "model.document_end requires: expected cross_entropy",
                        fgi_config_where(t->c, "loss.name"), t->loss->entry.name);
    return FG_OK;
}

/* One output for each label. */
static fg_status find_labels(const fgi_config *c, fgi_run_task *t, fg_error *err)
{
    char type[96];
    const fg_dtype dtype = t->target.dtype;
    const bool is_known = dtype == FG_U8 || dtype == FG_BOOL || dtype == FG_S32 || dtype == FG_F32;
    if (t->target.rank != 1 || !is_known)
        return fgi_fail(err, FG_EINVAL,
                        "%s is multilabel, but the target is %s: expected one value from 0 to 1 "
                        "for each label, or lists of labels (data.labels_column, "
                        "data.label_columns)",
                        fgi_config_where(c, "task"),
                        fg_type_format(&t->target, type, sizeof(type)));
    t->outputs = t->target.dim[0];
    return name_classes(t, err);
}

/* The models that read tokens, and only predict the next one, or can do something else. */
static const char *token_models(const fg_registry *registry, bool per_token, char out[200])
{
    out[0] = '\0';
    for (size_t i = 0; i < fg_registry_count(registry, FG_REGISTRY_MODEL); i++) {
        const fg_model_entry *m =
            (const fg_model_entry *)fg_registry_at(registry, FG_REGISTRY_MODEL, i);
        const bool fits = m->takes_series || (m->takes_tokens && m->per_token == per_token);
        if (fits)
            (void)fgi_snprintf(out + strlen(out), 200 - strlen(out), "%s%s",
                               out[0] != '\0' ? ", " : "", m->entry.name);
    }
    return out;
}

/* Language models and the task language require each other. */
static fg_status check_language(const fgi_config *c, const fgi_run_task *t, fg_error *err)
{
    char names[200];
    const fg_model_entry *m = t->model_entry;
    if (t->is_language && !m->takes_tokens && !m->takes_series)
        return fgi_fail(err, FG_EINVAL,
                        "%s: '%s' does not take tokens, which task language requires: expected one "
                        "of %s",
                        fgi_config_where(c, "model.name"), m->entry.name,
                        token_models(c->registry, true, names));
    if (m->per_token && !t->is_language)
        return fgi_fail(err, FG_EINVAL,
                        "%s: '%s' predicts the next token, but the task is %s: expected one of %s\n"
                        "for task: language, pass data.format text, or a pack of tokens "
                        "(fulgurite pack FILE.npy tokens.pack --sequence=LENGTH)",
                        fgi_config_where(c, "model.name"), m->entry.name, c->task,
                        token_models(c->registry, false, names));
    return FG_OK;
}

/* Models of tokens and tokens require each other. */
static fg_status check_tokens(const fgi_config *c, const fgi_run_task *t, fg_error *err)
{
    char type[96], target[96];
    const bool has_tokens = t->input.rank == 1 && t->input.dtype == FG_S32;
    const bool has_next = fg_type_equal(&t->target, &t->input) && t->schema->class_count > 0;
    const bool has_option = fg_option_find(t->model_values, "vocabulary") != NULL;
    const int64_t vocabulary =
        has_option ? (int64_t)fg_option_number(t->model_values, "vocabulary") : INT64_MAX;
    if (!t->is_language && vocabulary < t->schema->vocabulary)
        return fgi_fail(err, FG_EINVAL,
                        "model.vocabulary is %" PRId64 ", but the tokenizer has %" PRId64 " tokens",
                        vocabulary, t->schema->vocabulary);
    FGI_TRY(check_documents(t, err));
    if (has_tokens && has_next && !t->is_language)
        return fgi_fail(err, FG_EINVAL,
                        "%s is %s, but the targets are the tokens that follow each token: expected "
                        "language\nfor classes or values of texts, set data.target",
                        fgi_config_where(c, "task"), c->task);
    if (has_tokens || t->is_language)
        FGI_TRY(check_language(c, t, err));
    if (has_tokens && t->is_language && !has_next)
        return fgi_fail(
            err, FG_EINVAL,
            "%s: the samples are %s with targets %s: expected tokens and the next token "
            "of each, as data.format text and packs of tokens have",
            fgi_config_where(c, "task"), fg_type_format(&t->input, type, sizeof type),
            fg_type_format(&t->target, target, sizeof target));
    if (!has_tokens && (t->is_language || t->model_entry->takes_tokens))
        return fgi_fail(err, FG_EINVAL,
                        "%s: the samples are %s: expected tokens, such as those of data.format "
                        "text",
                        fgi_config_where(c, t->is_language ? "task" : "model.name"),
                        fg_type_format(&t->input, type, sizeof type));
    return FG_OK;
}

/* data.mean or data.std: one number, or one for each channel. */
static fg_status read_channels(const fgi_run_task *t, const char *key, const fg_floats *given,
                               float **out, fg_error *err)
{
    const fg_type *input = &t->input;
    const int64_t channels = input->rank > 0 ? input->dim[input->rank - 1] : 1;
    if (given->count > 1 && (int64_t)given->count != channels) {
        char each[64] = ", for the only channel";
        if (channels > 1)
            (void)fgi_snprintf(each, sizeof(each), " or %" PRId64 ", one for each channel",
                               channels);
        return fgi_fail(err, FG_EINVAL, "%s has %zu numbers: expected 1%s",
                        fgi_config_where(t->c, key), given->count, each);
    }
    if (given->count > 0 && (*out = fgi_calloc(given->count, sizeof **out)) == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < given->count; i++)
        (*out)[i] = (float)given->at[i];
    return FG_OK;
}

/* data.scale; auto depends on the dtype of the stored samples. */
static double scale_of(const fgi_config *c, const fg_type *input)
{
    if (!isnan(c->data.scale))
        return c->data.scale;
    return fg_dtype_is_float(input->dtype) ? 1 : 1.0 / 255;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static const char metrics_key[] = "metrics";

static fg_status check_metrics(const fgi_run_task *t, fg_error *err)
{
    const unsigned task = t->is_classification ? FGI_CLASSIFICATION
                          : t->is_multilabel   ? FGI_MULTILABEL
                          : t->is_language     ? FGI_LANGUAGE
                                               : FGI_REGRESSION;
    fg_error why;
    if (fgi_metrics_check(t->c->metrics, task, &why) == FG_OK)
        return FG_OK;
    return fg_option_fail(t->c->values, metrics_key, FG_EINVAL, err, "%s",
                          why.message + strlen("metrics: "));
}

fg_status fgi_run_task_choose_metrics(fgi_run_task *t, fgi_config *c, const fgi_run_data *data,
                                      fg_error *err)
{
    static const char imbalanced[] = "acc, balanced_acc, f1, precision, recall";
    const bool is_imbalanced = data->largest >= 0.7 || data->largest * (double)t->outputs >= 3;
    if (!t->is_classification || c->metrics.count > 0 || !is_imbalanced)
        return FG_OK;
    FGI_TRY(fgi_config_set(c, metrics_key, imbalanced, NULL, err));
    t->task.metrics = c->metrics;
    if (t->owner != NULL)
        fgi_run_say(t->owner, FG_LOG_INFO,
                    "metrics: %s, because one class has %.0f %% of the samples, so accuracy alone "
                    "says little (metrics chooses others)",
                    imbalanced, 100 * data->largest);
    return FG_OK;
}

/* ---- the task -------------------------------------------------------------------------------- */

fg_status fgi_run_task_init(const fgi_config *c, const fgi_run_schema *schema, fgi_run_task *out,
                            fg_error *err)
{
    static const fg_task_ops ops = {.build = build,
                                    .train_step = loss,
                                    .val_step = loss,
                                    .predict_step = predict,
                                    .optimizer = optimizer};
    *out = (fgi_run_task){.c = c, .schema = schema, .found_lr = (double)NAN};
    out->file = fgi_config_file(c, "model.name", &out->line);
    FGI_TRY(find_rows(out, err));
    out->input = schema->input;
    out->target = schema->target;
    out->scale = scale_of(c, &out->input);
    FGI_TRY(fgi_run_augment_init(c, out, err));
    fgi_run_schema_target_scale(schema, &out->target_mean, &out->target_deviation);
    out->standardises = schema->target_deviation > 0 && !out->loss->is_unscaled;
    if (schema->target_deviation > 0 && !out->standardises) {
        out->target_mean = 0;
        out->target_deviation = 1;
    }
    out->is_classification = strcmp(c->task, "classification") == 0;
    out->is_multilabel = strcmp(c->task, "multilabel") == 0;
    out->is_language = strcmp(c->task, "language") == 0;
    FGI_TRY(check_tokens(c, out, err));
    out->outputs = out->is_language ? schema->class_count : fg_type_count(&out->target);
    if (out->loss->outputs != NULL)
        out->outputs = out->loss->outputs(out->loss_options, out->outputs);
    out->task = (fg_task){.name = c->model.name, .self = out, .ops = &ops};
    out->task.is_multilabel = out->is_multilabel;
    if (out->is_classification && find_classes(c, out, err) != FG_OK)
        return err->status;
    if (out->is_multilabel)
        FGI_TRY(find_labels(c, out, err));
    FGI_TRY(check_metrics(out, err));
    out->task.metrics = c->metrics;
    for (size_t i = 0; i < 3; i++)
        out->image[i] = fg_option_int_at(c->values, "data.image", i);
    FGI_TRY(read_channels(out, "data.mean", &c->data.mean, &out->mean, err));
    return read_channels(out, "data.std", &c->data.std, &out->std, err);
}

/* Room for a sample: free_rows, also after a failure. */
static fg_status make_rows(const fg_dataset *dataset, void *rows[FG_MAX_FIELDS], fg_error *err)
{
    for (int i = 0; i < fg_dataset_field_count(dataset); i++)
        if ((rows[i] = fgi_calloc(1, fg_type_bytes(&fg_dataset_field(dataset, i)->type))) == NULL)
            return fgi_no_memory(err);
    return FG_OK;
}

static void free_rows(void *rows[FG_MAX_FIELDS])
{
    for (int i = 0; i < FG_MAX_FIELDS; i++)
        fgi_free(rows[i]);
}

/* Whether the tokens of a dataset, of which 64 million are read, are less than `limit`: the model
 * would read others as the last one. */
static fg_status check_dataset(const fgi_run_task *t, const fg_dataset *dataset, int64_t limit,
                               fg_error *err)
{
    enum { MOST = 1 << 26 };
    void *rows[FG_MAX_FIELDS] = {NULL};
    const int64_t length = t->input.dim[0];
    const int64_t count = dataset != NULL ? fg_dataset_count(dataset) : 0;
    fg_status status = count > 0 ? make_rows(dataset, rows, err) : FG_OK;
    for (int64_t i = 0; i < count && i * length < MOST && status == FG_OK; i++) {
        status = fg_dataset_read(dataset, i, rows, err);
        for (int64_t k = 0; k < length && status == FG_OK; k++) {
            const int32_t token = ((const int32_t *)rows[0])[k];
            if (token < 0 || token >= limit)
                status = fgi_fail(err, FG_EINVAL,
                                  "sample %" PRId64 " has token %d: expected 0 to %" PRId64
                                  " (model.vocabulary)",
                                  i, (int)token, limit - 1);
        }
    }
    free_rows(rows);
    return status;
}

fg_status fgi_run_task_check_tokens(const fgi_run_task *t, const fgi_run_data *data, fg_error *err)
{
    char type[96];
    const bool has_option = fg_option_find(t->model_values, "vocabulary") != NULL;
    const bool is_text = t->c->data.format != NULL && strcmp(t->c->data.format, "text") == 0;
    if (is_text || t->is_language || !has_option || !fgi_is_tokens(t->model_entry, &t->input))
        return FG_OK;
    const int64_t limit = (int64_t)fg_option_number(t->model_values, "vocabulary");
    if (t->model_entry->takes_series)
        fgi_run_say(t->owner, FG_LOG_INFO,
                    "model %s reads the samples, %s, as indices of %" PRId64
                    " tokens (model.vocabulary); a series of numbers is f32[steps, values]",
                    t->model_entry->entry.name, fg_type_format(&t->input, type, sizeof type),
                    limit);
    FGI_TRY(check_dataset(t, data->train, limit, err));
    FGI_TRY(check_dataset(t, data->val, limit, err));
    return check_dataset(t, data->test, limit, err);
}

fg_status fgi_run_task_find_center(fgi_run_task *task, const fg_dataset *dataset, fg_error *err)
{
    enum { SAMPLES = 64 };
    void *rows[FG_MAX_FIELDS] = {NULL};
    const int64_t count = fg_dataset_count(dataset);
    if (task->is_classification || task->is_multilabel || task->standardises ||
        task->target.rank != 0 || task->target.dtype != FG_F32 ||
        fg_dataset_field_count(dataset) < 2)
        return FG_OK;
    fg_status status = make_rows(dataset, rows, err);
    for (int64_t i = 0; i < SAMPLES && i < count && status == FG_OK; i++) {
        status = fg_dataset_read(dataset, i, rows, err);
        const double value = status == FG_OK ? (double)*(const float *)rows[1] : 0;
        task->target_center +=
            isfinite(value) ? value / (double)(count < SAMPLES ? count : SAMPLES) : 0;
    }
    free_rows(rows);
    return status;
}

/* ---- class weights --------------------------------------------------------------------------- */

/* The option of the loss that may be balanced, and its key. */
static const char *weight_option(const fgi_run_task *t)
{
    return t->is_multilabel ? "pos_weight" : "class_weight";
}

static const char *weight_key(const fgi_run_task *t)
{
    return t->is_multilabel ? "loss.pos_weight" : "loss.class_weight";
}

/* Replaces counts by samples / (classes x samples of the class), as in scikit-learn; of labels, by
 * samples without the label / samples with it; 1 for a class without samples. */
static void balance(const fgi_run_task *t, double samples, double *counts)
{
    double present = 0;
    for (int64_t i = 0; i < t->outputs; i++)
        present += counts[i] > 0;
    for (int64_t i = 0; i < t->outputs; i++) {
        const double part = t->is_multilabel ? samples - counts[i] : samples / present;
        counts[i] = counts[i] > 0 && part > 0 ? part / counts[i] : 1;
    }
}

/* "class weights of the training loss (loss.class_weight): cat 0.6, dog 3" */
static void say_weights(const fgi_run_task *t, const double *weights)
{
    enum { MOST = 10 };
    fgi_buf text = {0};
    for (int64_t i = 0; i < t->outputs && i < MOST; i++) {
        const char *name = t->class_names != NULL ? t->class_names[i] : NULL;
        fgi_buf_printf(&text, "%s", i > 0 ? ", " : "");
        if (name != NULL)
            fgi_buf_puts(&text, name);
        else
            fgi_buf_printf(&text, "%" PRId64, i);
        fgi_buf_printf(&text, " %.3g", weights[i]);
    }
    if (t->owner != NULL && !text.failed)
        fgi_run_say(t->owner, FG_LOG_INFO, "class weights of the training loss (%s): %s%s",
                    weight_key(t), text.data, t->outputs > MOST ? ", ..." : "");
    fgi_buf_fini(&text);
}

/* The samples of each label, as floating-point numbers. */
static fg_status count_multilabel(const fgi_run_task *t, const fg_dataset *train, double *counts,
                                  fg_error *err)
{
    int64_t *labels = fgi_calloc((size_t)t->outputs, sizeof *labels);
    if (labels == NULL)
        return fgi_no_memory(err);
    const fg_status status = fg_dataset_label_counts(train, labels, err);
    for (int64_t i = 0; i < t->outputs; i++)
        counts[i] = (double)labels[i];
    fgi_free(labels);
    return status;
}

/* Counts the samples of each class, and all that have one. */
static fg_status count_labels(const fgi_run_task *t, const fg_dataset *train, double *counts,
                              double *out_samples, fg_error *err)
{
    const int64_t samples = fg_dataset_count(train);
    *out_samples = (double)samples;
    if (t->is_multilabel)
        return count_multilabel(t, train, counts, err);
    if (strcmp(t->c->data.sampling, "balanced") == 0)
        return fgi_fail(err, FG_EINVAL,
                        "data.sampling balanced has the same purpose: set only one of them");
    int32_t *labels = fgi_calloc((size_t)(samples > 0 ? samples : 0) + 1, sizeof *labels);
    if (labels == NULL)
        return fgi_no_memory(err);
    fg_status status = fg_dataset_labels(train, labels, err);
    *out_samples = 0;
    for (int64_t i = 0; i < samples && status == FG_OK; i++)
        if (labels[i] >= 0 && labels[i] < t->outputs) {
            counts[labels[i]]++;
            ++*out_samples;
        }
    fgi_free(labels);
    return status;
}

/* Replaces balanced weights by numbers. */
static fg_status weigh(fgi_run_task *t, const fg_dataset *train, fg_error *err)
{
    fgi_buf list = {0};
    double samples, *weights = fgi_calloc((size_t)t->outputs, sizeof *weights);
    if (weights == NULL)
        return fgi_no_memory(err);
    fg_status status = count_labels(t, train, weights, &samples, err);
    if (status != FG_OK)
        status = fgi_context(err, status, "%s", fgi_config_where(t->c, weight_key(t)));
    if (status == FG_OK) {
        balance(t, samples, weights);
        say_weights(t, weights);
        for (int64_t i = 0; i < t->outputs; i++)
            fgi_buf_printf(&list, "%s%.9g", i > 0 ? "," : "", weights[i]);
        status = fgi_buf_status(&list, err);
    }
    if (status == FG_OK)
        status = fg_option_set(t->loss_values, weight_option(t), list.data, NULL, err);
    fgi_free(weights);
    fgi_buf_fini(&list);
    if (status != FG_OK)
        return status;
    fgi_free(t->loss_options);
    return fgi_row_create(&t->loss->entry, t->loss_values, &t->loss_options, err);
}

fg_status fgi_run_task_balance(fgi_run_task *t, const fg_dataset *train, fg_error *err)
{
    const bool has_option = fg_option_find(t->loss_values, weight_option(t)) != NULL;
    const bool is_balanced =
        has_option && fg_option_count(t->loss_values, weight_option(t)) == 1 &&
        strcmp(fg_option_string_at(t->loss_values, weight_option(t), 0), "balanced") == 0;
    if (train == NULL)
        return FG_OK;
    if (is_balanced)
        FGI_TRY(weigh(t, train, err));
    if (t->loss->check == NULL)
        return FG_OK;
    const fg_status status = t->loss->check(t->loss_options, t->outputs, err);
    return status != FG_OK ? fgi_option_add_place(t->loss_values, status, err) : FG_OK;
}

json_t *fgi_run_task_describe(const fgi_run_task *task)
{
    fgi_run_preparation p = {.task = task->c->task,
                             .outputs = task->outputs,
                             .scale = task->scale,
                             .mean = task->mean,
                             .std = task->std,
                             .mean_count = task->c->data.mean.count,
                             .std_count = task->c->data.std.count};
    memcpy(p.image, task->image, sizeof p.image);
    return fgi_run_schema_describe(task->schema, &p);
}

void fgi_run_task_fini(fgi_run_task *task)
{
    fg_here(NULL, 0);
    fgi_free(task->file);
    fgi_free(task->class_names);
    fgi_config_rows_free(&task->augment);
    fg_option_values_destroy(task->model_values);
    fg_option_values_destroy(task->optimizer_values);
    fg_option_values_destroy(task->loss_values);
    fgi_free(task->loss_options);
    fgi_free(task->schedule_options);
    fgi_free(task->mean);
    fgi_free(task->std);
    *task = (fgi_run_task){.c = NULL};
}
