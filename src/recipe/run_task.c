/* run_task.c - the task of a configuration: a ready model, its loss and its optimizer.
 *
 * Inputs come as the files have them and become f32 on the device, scaled and normalised there. A
 * classification has cross-entropy and accuracy; a regression has the mean squared error of the
 * standardised target, and MAE, RMSE and R^2 in the target's unit. The targets of a CSV are
 * standardised by its dataset, those of .npy files here, on the device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/run.h"
#include "base/print.h"
#include "base/alloc.h"

enum { MOST_CHANNELS = 4096 };

/* ---- the model ------------------------------------------------------------------------------- */

/* By the patterns of model.freeze; a mistake is the tree's. */
static void freeze(const fgi_run_task *t, fg_module *root)
{
    static const char key[] = "model.freeze";
    fg_error err = {0}, named = {0};
    for (size_t i = 0; i < fgi_config_count(t->c, key) && fg_module_error(root, NULL) == FG_OK;
         i++) {
        const fg_status status =
            fg_module_freeze(root, fgi_config_text_at(t->c, key, i), NULL, &err);
        if (status == FG_OK)
            continue;
        (void)fgi_refuse(&named, "%s: %s", fgi_config_where(t->c, key), err.message);
        named.status = status;
        fg_module_fail(root, &named);
    }
}

static void build(void *self, fg_module *root)
{
    fgi_run_task *t = self;
    int64_t hidden[16];
    const size_t count = fgi_config_count(t->c, "model.hidden");
    fg_model_options options = {
        .name = fgi_config_text(t->c, "model.name"),
        .input = t->input,
        .outputs = t->outputs,
        .activation = fgi_config_text(t->c, "model.activation"),
        .dropout = fgi_config_float(t->c, "model.dropout"),
        .hidden = hidden,
        .hidden_count = (int)count,
        .stem = fgi_config_text(t->c, "model.stem"),
        .width = fgi_config_int(t->c, "model.width"),
    };
    for (size_t i = 0; i < count; i++)
        hidden[i] = fgi_config_int_at(t->c, "model.hidden", i);
    for (size_t i = 0; i < fgi_config_count(t->c, "data.image") && i < 3; i++)
        options.image[i] = fgi_config_int_at(t->c, "data.image", i);
    fg_here(t->file, t->line);
    options.input.dtype = FG_F32; /* what `prepare` makes of it */
    t->model = fg_model_create(root, &options);
    freeze(t, root);
}

/* T[B, ...] as stored to f32[B, ...], scaled and normalised. */
static fg_tensor prepare(const fgi_run_task *t, fg_tensor x)
{
    fg_trace *trace = fg_tensor_trace(x);
    x = fg_cast(x, fg_trace_float(trace));
    if (t->scale != 1)
        x = fg_mul_scalar(x, t->scale);
    const fg_type mean = {.dtype = FG_F32, .rank = 1, .dim = {t->mean_count}};
    const fg_type std = {.dtype = FG_F32, .rank = 1, .dim = {t->std_count}};
    if (t->mean_count > 0)
        x = fg_sub(x, fg_constant(trace, &mean, t->mean));
    if (t->std_count > 0)
        x = fg_div(x, fg_constant(trace, &std, t->std));
    return x;
}

/* Logits f32[B, C], or what is predicted: f32[B] or f32[B, K]. */
static fg_tensor forward(const fgi_run_task *t, const fg_batch *batch)
{
    fg_here(t->file, t->line);
    const fg_tensor y = fg_model_apply(t->model, prepare(t, fg_batch_at(batch, 0)));
    if (t->is_classification || t->target.rank != 0)
        return y;
    return fg_reshape(y, FG_DIMS(-1));
}

static fg_tensor loss(void *self, fg_step *step, const fg_batch *batch)
{
    const fgi_run_task *t = self;
    const fg_tensor y = forward(t, batch);
    fg_tensor target = fg_batch_at(batch, 1);
    if (t->is_classification) {
        fg_step_log(step, "acc", fg_accuracy(y, target));
        return fg_cross_entropy(y, target, NULL);
    }
    if (t->target.rank > 1)
        target = fg_flatten(target, 1);
    target = fg_cast(target, FG_F32);
    if (t->standardises)
        target = fg_mul_scalar(fg_add_scalar(target, -t->target_mean), 1 / t->target_deviation);
    fg_step_log_regression(
        step, y, target,
        &(fg_regression_options){.unit = t->target_deviation, .center = t->target_center});
    return fg_mse(y, fg_cast(target, fg_trace_float(fg_step_trace(step))));
}

static fg_tensor predict(void *self, fg_step *step, const fg_batch *batch)
{
    const fgi_run_task *t = self;
    (void)step;
    const fg_tensor y = forward(t, batch);
    if (t->is_classification)
        return fg_cast(fg_softmax(y), FG_F32);
    return fg_add_scalar(fg_mul_scalar(fg_cast(y, FG_F32), t->target_deviation), t->target_mean);
}

/* ---- the optimizer --------------------------------------------------------------------------- */

/* An option that is 0 means its default, so a 0 that is meant is passed as almost 0. */
static double meant(double value) { return value == 0 ? DBL_MIN : value; }

double fgi_run_task_lr(const fgi_config *c)
{
    if (!fgi_config_is_auto(c, "optimizer.lr"))
        return fgi_config_float(c, "optimizer.lr");
    return strcmp(fgi_config_text(c, "optimizer.name"), "sgd") == 0 ? 0.01 : 0.001;
}

fg_schedule fgi_run_task_schedule(const fgi_config *c)
{
    return (fg_schedule){
        .name = fgi_config_text(c, "schedule.name"),
        .pct_start = meant(fgi_config_float(c, "schedule.pct_start")),
        .anneal = fgi_config_text(c, "schedule.anneal"),
        .div_factor = fgi_config_float(c, "schedule.div_factor"),
        .final_div_factor = fgi_config_float(c, "schedule.final_div_factor"),
        .base_momentum = meant(fgi_config_float(c, "schedule.base_momentum")),
        .max_momentum = meant(fgi_config_float(c, "schedule.max_momentum")),
        .no_cycle_momentum = !fgi_config_bool(c, "schedule.cycle_momentum"),
        .three_phase = fgi_config_bool(c, "schedule.three_phase"),
    };
}

static void report_frozen(const fg_module *root)
{
    const int64_t frozen = fg_module_frozen_count(root), all = fg_module_parameter_count(root);
    if (frozen > 0)
        (void)fgi_fprintf(stderr,
                          "note: %" PRId64 " of %" PRId64
                          " parameters are frozen (model.freeze); %" PRId64 " are trained\n",
                          frozen, all, all - frozen);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    report_frozen(root);
    const fgi_config *c = ((fgi_run_task *)self)->c;
    const char *name = fgi_config_text(c, "optimizer.name");
    const double lr = fgi_run_task_lr(c), decay = fgi_config_float(c, "optimizer.weight_decay");
    const double beta1 = meant(fgi_config_float_at(c, "optimizer.betas", 0));
    const double beta2 = meant(fgi_config_float_at(c, "optimizer.betas", 1));
    const double eps = meant(fgi_config_float(c, "optimizer.eps"));
    if (strcmp(name, "sgd") == 0)
        return fg_sgd_create(
            root, &(fg_sgd_options){.lr = lr,
                                    .momentum = fgi_config_float(c, "optimizer.momentum"),
                                    .nesterov = fgi_config_bool(c, "optimizer.nesterov"),
                                    .weight_decay = decay});
    if (strcmp(name, "adam") == 0)
        return fg_adam_create(
            root, &(fg_adam_options){
                      .lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = decay});
    const bool is_auto = fgi_config_is_auto(c, "optimizer.weight_decay");
    return fg_adamw_create(root,
                           &(fg_adamw_options){.lr = lr,
                                               .beta1 = beta1,
                                               .beta2 = beta2,
                                               .eps = eps,
                                               .weight_decay = is_auto ? 0.01 : meant(decay)});
}

/* ---- what follows from the data -------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static fg_status find_classes(const fgi_config *c, fgi_run_task *t, fg_error *err)
{
    int64_t classes = t->schema->class_count;
    if (t->target.dtype != FG_S32 || t->target.rank != 0 || classes < 1) {
        char type[96];
        (void)fgi_refuse(err,
                         "task classification: the target is %s : expected integer class indices, "
                         "s32[], starting at 0 (for numbers, set task: regression)",
                         fg_type_format(&t->target, type, sizeof(type)));
        return FG_EINVAL;
    }
    if (!fgi_config_is_auto(c, "model.classes") && fgi_config_int(c, "model.classes") < classes) {
        (void)fgi_refuse(err, "%s is %" PRId64 ", but the data have %" PRId64 " classes",
                         fgi_config_where(c, "model.classes"), fgi_config_int(c, "model.classes"),
                         classes);
        return FG_EINVAL;
    }
    if (!fgi_config_is_auto(c, "model.classes"))
        classes = fgi_config_int(c, "model.classes");
    t->outputs = larger(classes, 2);
    return FG_OK;
}

/* data.mean or data.std: one number, or one for each channel. */
static fg_status read_channels(const fgi_config *c, const char *key, const fg_type *input,
                               float *out, int64_t *out_count, fg_error *err)
{
    const int64_t channels = input->rank > 0 ? input->dim[input->rank - 1] : 1;
    const size_t count = fgi_config_count(c, key);
    if (count > 1 && ((int64_t)count != channels || count > MOST_CHANNELS)) {
        char each[64] = ", for the only channel";
        if (channels > 1)
            (void)fgi_snprintf(each, sizeof(each), " or %" PRId64 ", one for each channel",
                               channels);
        (void)fgi_refuse(err, "%s has %zu numbers: expected 1%s", fgi_config_where(c, key), count,
                         each);
        return FG_EINVAL;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = (float)fgi_config_float_at(c, key, i);
    *out_count = (int64_t)count;
    return FG_OK;
}

static fg_status check_config(const fgi_config *c, fg_error *err)
{
    const bool is_mlp = strcmp(fgi_config_text(c, "model.name"), "mlp") == 0;
    const size_t hidden = fgi_config_count(c, "model.hidden");
    if (is_mlp && (hidden < 1 || hidden > 16))
        (void)fgi_refuse(err, "%s has %zu layers: expected 1 to 16 (model.name linear has none)",
                         fgi_config_where(c, "model.hidden"), hidden);
    else if (fgi_config_count(c, "optimizer.betas") != 2)
        (void)fgi_refuse(err, "%s: expected two numbers", fgi_config_where(c, "optimizer.betas"));
    else
        return FG_OK;
    return FG_EINVAL;
}

/* data.scale, which by itself follows from how the samples are stored. */
static double scale_of(const fgi_config *c, const fg_type *input)
{
    if (!fgi_config_is_auto(c, "data.scale"))
        return fgi_config_float(c, "data.scale");
    return fg_dtype_is_float(input->dtype) ? 1 : 1.0 / 255;
}

fg_status fgi_run_task_init(const fgi_config *c, const fgi_run_schema *schema, fgi_run_task *out,
                            fg_error *err)
{
    static const fg_task_ops ops = {.build = build,
                                    .train_step = loss,
                                    .val_step = loss,
                                    .predict_step = predict,
                                    .optimizer = optimizer};
    *out = (fgi_run_task){.c = c, .schema = schema};
    out->file = fgi_config_file(c, "model.name", &out->line);
    if (check_config(c, err) != FG_OK)
        return FG_EINVAL;
    out->input = schema->input;
    out->target = schema->target;
    out->scale = scale_of(c, &out->input);
    fgi_run_schema_target_scale(schema, &out->target_mean, &out->target_deviation);
    out->standardises = schema->target_deviation > 0;
    out->is_classification = strcmp(fgi_config_text(c, "task"), "classification") == 0;
    out->outputs = fg_type_count(&out->target);
    out->task = (fg_task){.name = fgi_config_text(c, "model.name"), .self = out, .ops = &ops};
    if (out->is_classification && find_classes(c, out, err) != FG_OK)
        return FG_EINVAL;
    if (read_channels(c, "data.mean", &out->input, out->mean, &out->mean_count, err) != FG_OK)
        return FG_EINVAL;
    return read_channels(c, "data.std", &out->input, out->std, &out->std_count, err);
}

fg_status fgi_run_task_find_center(fgi_run_task *task, const fg_dataset *dataset, fg_error *err)
{
    enum { SAMPLES = 64 };
    void *rows[FG_MAX_FIELDS] = {NULL};
    const int64_t count = fg_dataset_count(dataset);
    fg_status status = FG_OK;
    if (task->is_classification || task->standardises || task->target.rank != 0 ||
        task->target.dtype != FG_F32 || fg_dataset_field_count(dataset) < 2)
        return FG_OK;
    for (int i = 0; i < fg_dataset_field_count(dataset); i++)
        rows[i] = fgi_must_alloc(1, fg_type_bytes(&fg_dataset_field(dataset, i)->type));
    for (int64_t i = 0; i < SAMPLES && i < count && status == FG_OK; i++) {
        status = fg_dataset_read(dataset, i, rows, err);
        const double value = status == FG_OK ? (double)*(const float *)rows[1] : 0;
        task->target_center +=
            isfinite(value) ? value / (double)(count < SAMPLES ? count : SAMPLES) : 0;
    }
    for (int i = 0; i < fg_dataset_field_count(dataset); i++)
        fgi_free(rows[i]);
    return status;
}

json_t *fgi_run_task_describe(const fgi_run_task *task)
{
    fgi_run_preparation p = {.task = fgi_config_text(task->c, "task"),
                             .outputs = task->outputs,
                             .scale = task->scale,
                             .mean = task->mean,
                             .std = task->std,
                             .mean_count = (size_t)task->mean_count,
                             .std_count = (size_t)task->std_count};
    for (size_t i = 0; i < fgi_config_count(task->c, "data.image") && i < 3; i++)
        p.image[i] = fgi_config_int_at(task->c, "data.image", i);
    return fgi_run_schema_describe(task->schema, &p);
}

void fgi_run_task_fini(fgi_run_task *task)
{
    fg_here(NULL, 0);
    fgi_free(task->file);
    task->file = NULL;
}

const char *fgi_run_class_name(const fgi_run_task *task, int64_t index)
{
    static _Thread_local char number[24];
    if (task->schema->class_names != NULL && index < task->schema->class_count)
        return task->schema->class_names[index];
    (void)fgi_snprintf(number, sizeof(number), "%" PRId64, index);
    return number;
}
