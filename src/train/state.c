/* state.c - checkpoints: what training stands on, written whole and read back exactly.
 *
 * A checkpoint of step s holds everything that the steps after s depend on: variables, the
 * optimizer's state, counters, the position in the data, and the metrics' sums of a window and an
 * epoch that are not complete. Randomness is a function of (seed, step) and needs no state.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "ckpt/json_file.h"
#include "ckpt/series.h"
#include "train/trainer.h"

#define SUMS_NAME "trainer.sums"

/* ---- variables to tensors of files and back -------------------------------------------------- */

/* The variable's type as files have it: dimension i is dimension axis[i] of the variable. */
static fg_type file_type(const fg_variable *variable)
{
    fg_type type = *fg_variable_type(variable);
    const int *axis = fg_variable_file_axis(variable);
    for (int i = 0; axis != NULL && i < type.rank; i++)
        type.dim[i] = fg_variable_type(variable)->dim[axis[i]];
    return type;
}

/* Copies all elements from row-major `from`, of type `type`, so that dimension i of the result is
 * dimension axis[i]. */
static void permute(const fg_type *type, const int *axis, const unsigned char *from,
                    unsigned char *to)
{
    const size_t size = fg_dtype_size(type->dtype);
    int64_t stride[FG_MAX_RANK], index[FG_MAX_RANK] = {0};
    int64_t step = 1;
    for (int i = type->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= type->dim[i];
    }
    const int64_t count = fg_type_count(type);
    for (int64_t n = 0; n < count; n++) {
        int64_t at = 0;
        for (int i = 0; i < type->rank; i++)
            at += index[i] * stride[axis[i]];
        memcpy(to + (size_t)n * size, from + (size_t)at * size, size);
        for (int i = type->rank - 1; i >= 0; i--) {
            if (++index[i] < type->dim[axis[i]])
                break;
            index[i] = 0;
        }
    }
}

/* Reads a variable into a fresh block in the files' order. */
static fg_status to_file(const fg_variable *variable, void **out, fg_error *err)
{
    const size_t size = fg_type_bytes(fg_variable_type(variable));
    const int *axis = fg_variable_file_axis(variable);
    *out = NULL;
    void *data = fgi_alloc(size + 1);
    if (data == NULL)
        return fgi_no_memory(err);
    fg_status status = fg_variable_read(variable, data, size, err);
    if (status == FG_OK && axis != NULL) {
        void *turned = fgi_alloc(size + 1);
        if (turned != NULL)
            permute(fg_variable_type(variable), axis, data, turned);
        else
            status = fgi_no_memory(err);
        fgi_free(data);
        data = turned;
    }
    if (status != FG_OK) {
        fgi_free(data);
        return status;
    }
    *out = data;
    return FG_OK;
}

static fg_status from_file(fg_variable *variable, const void *data, fg_error *err)
{
    const size_t size = fg_type_bytes(fg_variable_type(variable));
    const int *axis = fg_variable_file_axis(variable);
    if (axis == NULL)
        return fg_variable_set(variable, data, size, err);
    int back[FG_MAX_RANK];
    const fg_type type = file_type(variable);
    for (int i = 0; i < type.rank; i++)
        back[axis[i]] = i;
    void *turned = fgi_alloc(size + 1);
    if (turned == NULL)
        return fgi_no_memory(err);
    permute(&type, back, data, turned);
    const fg_status status = fg_variable_set(variable, turned, size, err);
    fgi_free(turned);
    return status;
}

/* ---- saving ---------------------------------------------------------------------------------- */

typedef struct content {
    fg_ckpt_tensor *tensors; /* the model's, then the state's */
    void **blocks;           /* each tensor's memory */
    size_t count, model_count;
    float sums[2 * FG_MAX_METRICS];
} content;

static void content_fini(content *c)
{
    for (size_t i = 0; c->blocks != NULL && i < c->count; i++)
        fgi_free(c->blocks[i]);
    fgi_free(c->blocks);
    fgi_free(c->tensors);
}

static fg_status add_variable(content *c, const fg_variable *variable, fg_error *err)
{
    FGI_TRY_CTX(to_file(variable, &c->blocks[c->count], err), err, "saving '%s'",
                fg_variable_name(variable));
    c->tensors[c->count] = (fg_ckpt_tensor){.name = fg_variable_name(variable),
                                            .type = file_type(variable),
                                            .data = c->blocks[c->count]};
    c->count++;
    return FG_OK;
}

/* The sums of a window that is not complete. */
static fg_status add_sums(fg_trainer *trainer, content *c, fg_error *err)
{
    const fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    if (!trainer->train_windows.is_open)
        return FG_OK;
    const size_t size = 2 * stage->metric_count * sizeof(float);
    FGI_TRY(fg_array_read(stage->sums, c->sums, size, err));
    c->tensors[c->count] =
        (fg_ckpt_tensor){.name = SUMS_NAME, .type = *fg_array_type(stage->sums), .data = c->sums};
    c->blocks[c->count++] = NULL;
    return FG_OK;
}

static fg_status gather(fg_trainer *trainer, content *c, fg_error *err)
{
    const size_t model = fg_module_variable_count(trainer->root);
    const size_t state = fg_optimizer_variable_count(trainer->optimizer);
    c->tensors = fgi_calloc(model + state + 1, sizeof *c->tensors);
    c->blocks = fgi_calloc(model + state + 1, sizeof *c->blocks);
    if (c->tensors == NULL || c->blocks == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < model; i++) {
        const fg_variable *variable = fg_module_variable_at(trainer->root, i);
        if (fg_variable_get_kind(variable) != FG_STATE)
            FGI_TRY(add_variable(c, variable, err));
    }
    c->model_count = c->count;
    for (size_t i = 0; i < state; i++)
        FGI_TRY(add_variable(c, fg_optimizer_variable_at(trainer->optimizer, i), err));
    return add_sums(trainer, c, err);
}

static json_t *metrics_json(const fg_trainer *trainer)
{
    const fgi_stage *stage = &trainer->stage[FGI_TRAIN];
    const fgi_windows *w = &trainer->train_windows;
    json_t *list = json_array();
    for (size_t i = 0; i < stage->metric_count; i++)
        (void)json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "name", stage->metric[i],
                                                    "sum", w->sum[i], "count", w->weight[i]));
    return list;
}

/* Non-finite numbers have no JSON: they are left out, and then count as not there. */
static char *state_text(const fg_trainer *trainer)
{
    json_t *object = json_pack(
        "{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:o*}", "version", 1, "task",
        trainer->task.name != NULL ? trainer->task.name : "", "optimizer",
        fg_optimizer_name(trainer->optimizer), "step", (json_int_t)trainer->step, "epoch",
        (json_int_t)trainer->epoch, "position", (json_int_t)trainer->position, "epoch_batches",
        (json_int_t)trainer->epoch_batches, "monitor", trainer->options.monitor, "seed",
        (json_int_t)trainer->options.seed, "metrics", metrics_json(trainer));
    if (object == NULL)
        return NULL;
    if (trainer->has_best)
        (void)json_object_set_new(object, "best", json_real(trainer->best));
    char *text = json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(object);
    return text;
}

static fg_status write_checkpoint(fg_trainer *trainer, const char *folder, const char *name,
                                  const content *c, fg_error *err)
{
    fg_status status = FG_OK;
    char *path = fgi_path_join(folder, name);
    char *json = state_text(trainer);
    if (path == NULL || json == NULL) {
        status = fgi_no_memory(err);
        goto done;
    }
    const fg_ckpt_content files = {.model = c->tensors,
                                   .model_count = c->model_count,
                                   .state = c->tensors + c->model_count,
                                   .state_count = c->count - c->model_count,
                                   .state_json = json};
    FGI_DONE(fg_ckpt_save(path, &files, err));
    (void)snprintf(trainer->result.checkpoint, sizeof trainer->result.checkpoint, "%s", path);
done:
    free(json); /* jansson's */
    fgi_free(path);
    return status;
}

fg_status fgi_state_save(fg_trainer *trainer, bool is_best, fg_error *err)
{
    content c = {0};
    char name[40];
    fg_status status = FG_OK;
    char *folder = fgi_path_join(trainer->options.run_dir, "checkpoints");
    if (folder == NULL)
        return fgi_no_memory(err);
    /* what is on its way must be in the log before the state that comes after it */
    FGI_DONE(fgi_windows_collect(trainer, &trainer->train_windows, &trainer->stage[FGI_TRAIN], true,
                                 err));
    FGI_DONE(gather(trainer, &c, err));
    (void)snprintf(name, sizeof name, "step-%09lld", (long long)trainer->step);
    FGI_DONE(write_checkpoint(trainer, folder, name, &c, err));
    FGI_DONE(fgi_ckpt_point(folder, "last", name, err));
    if (is_best)
        FGI_DONE(fgi_ckpt_point(folder, "best", name, err));
    if (trainer->options.keep_checkpoints > 0)
        FGI_DONE(fgi_ckpt_prune(folder, trainer->options.keep_checkpoints, err));
done:
    content_fini(&c);
    fgi_free(folder);
    return status;
}

/* ---- restoring ------------------------------------------------------------------------------- */

static bool same_type(const fg_type *a, const fg_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

static fg_status load_variable(const fg_ckpt *ckpt, const char *path, fg_ckpt_part part,
                               fg_variable *variable, fg_error *err)
{
    size_t index = 0;
    char want[96], have[96];
    const fg_type type = file_type(variable);
    const char *name = fg_variable_name(variable);
    if (!fg_ckpt_find(ckpt, part, name, &index))
        return fgi_fail(err, FG_EFORMAT, "%s: has no '%s', which is %s in the model", path, name,
                        fg_type_format(&type, want, sizeof want));
    const fg_tensor_info *info = fg_ckpt_info(ckpt, index);
    if (!same_type(&info->type, &type))
        return fgi_fail(err, FG_ESHAPE, "%s: '%s' is %s, but %s in the model", path, name,
                        fg_type_format(&info->type, have, sizeof have),
                        fg_type_format(&type, want, sizeof want));
    return from_file(variable, fg_ckpt_data(ckpt, index), err);
}

static fg_status load_model(fg_trainer *trainer, const fg_ckpt *ckpt, const char *path,
                            fg_error *err)
{
    size_t taken = 0, there = 0;
    for (size_t i = 0; i < fg_module_variable_count(trainer->root); i++) {
        fg_variable *variable = fg_module_variable_at(trainer->root, i);
        if (fg_variable_get_kind(variable) == FG_STATE)
            continue;
        FGI_TRY(load_variable(ckpt, path, FG_CKPT_MODEL, variable, err));
        taken++;
    }
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++)
        there += fg_ckpt_info(ckpt, i)->part == FG_CKPT_MODEL;
    if (there > taken)
        fgi_log(FG_LOG_WARNING, "%s: %zu of its %zu tensors have no place in the model", path,
                there - taken, there);
    return FG_OK;
}

static void load_metrics(fg_trainer *trainer, const fg_ckpt *ckpt, const json_t *object)
{
    size_t index = 0, i = 0;
    const json_t *entry = NULL;
    json_array_foreach(json_object_get(object, "metrics"), i, entry)
    {
        if (i >= FG_MAX_METRICS)
            break;
        trainer->train_windows.sum[i] = json_number_value(json_object_get(entry, "sum"));
        trainer->train_windows.weight[i] = json_number_value(json_object_get(entry, "count"));
        trainer->restored.metric_count = i + 1;
    }
    if (!fg_ckpt_find(ckpt, FG_CKPT_STATE, SUMS_NAME, &index))
        return;
    const fg_tensor_info *info = fg_ckpt_info(ckpt, index);
    if (info->type.dtype != FG_F32 ||
        info->size_bytes != 2 * trainer->restored.metric_count * sizeof(float))
        return;
    memcpy(trainer->restored.sums, fg_ckpt_data(ckpt, index), info->size_bytes);
    trainer->restored.is_open = true;
}

static fg_status load_counters(fg_trainer *trainer, const fg_ckpt *ckpt, const char *path,
                               fg_error *err)
{
    json_t *object = NULL;
    const char *text = fg_ckpt_state_json(ckpt);
    if (text == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "%s: is a file of weights, not a checkpoint to resume from\n"
                        "give it as the starting weights instead",
                        path);
    FGI_TRY(fgi_json_parse(path, 0, text, strlen(text), &object, err));
    const json_t *step = json_object_get(object, "step"), *epoch = json_object_get(object, "epoch");
    const json_t *position = json_object_get(object, "position");
    const json_t *batches = json_object_get(object, "epoch_batches");
    if (!json_is_integer(step) || !json_is_integer(epoch) || !json_is_integer(position) ||
        !json_is_integer(batches) || json_integer_value(step) < 0 ||
        json_integer_value(epoch) < 0 || json_integer_value(position) < 0 ||
        json_integer_value(batches) < 0) {
        json_decref(object);
        return fgi_fail(err, FG_EFORMAT, "%s: its state.json has no step, epoch and position",
                        path);
    }
    trainer->step = trainer->saved_step = json_integer_value(step);
    trainer->epoch = json_integer_value(epoch);
    trainer->position = json_integer_value(position);
    trainer->epoch_batches = json_integer_value(batches);
    const json_t *best = json_object_get(object, "best");
    trainer->has_best = json_is_number(best);
    trainer->best = json_number_value(best);
    load_metrics(trainer, ckpt, object);
    json_decref(object);
    return FG_OK;
}

static fg_status load_checkpoint(fg_trainer *trainer, const char *path, fg_error *err)
{
    fg_ckpt *ckpt = NULL;
    fg_status status = FG_OK;
    FGI_TRY(fg_ckpt_open(path, &ckpt, err));
    FGI_DONE(load_model(trainer, ckpt, path, err));
    if (trainer->optimizer == NULL)
        goto done; /* an evaluation needs no more */
    for (size_t i = 0; i < fg_optimizer_variable_count(trainer->optimizer); i++)
        FGI_DONE(load_variable(ckpt, path, FG_CKPT_STATE,
                               fg_optimizer_variable_at(trainer->optimizer, i), err));
    FGI_DONE(load_counters(trainer, ckpt, path, err));
    (void)snprintf(trainer->result.checkpoint, sizeof trainer->result.checkpoint, "%s", path);
done:
    fg_ckpt_close(ckpt);
    return status;
}

/* Finds and loads what options.resume names; "auto" may find nothing. */
static fg_status resume(fg_trainer *trainer, const char *which, fg_error *err)
{
    fg_error local = {0};
    const bool is_auto = strcmp(which, "auto") == 0;
    char *folder = NULL, *path = NULL;
    if (trainer->options.run_dir != NULL) {
        folder = fgi_path_join(trainer->options.run_dir, "checkpoints");
        if (folder == NULL)
            return fgi_no_memory(err);
    }
    fg_status status = fgi_ckpt_resolve(folder, is_auto ? "last" : which, &path, &local);
    fgi_free(folder);
    if (is_auto && status == FG_ENOTFOUND)
        return FG_OK;
    if (status == FG_OK)
        status = load_checkpoint(trainer, path, &local);
    fgi_free(path);
    if (status != FG_OK && err != NULL)
        *err = local;
    return status;
}

static fg_status load_weights(fg_trainer *trainer, const char *path, fg_error *err)
{
    fg_ckpt *ckpt = NULL;
    FGI_TRY(fg_ckpt_open(path, &ckpt, err));
    const fg_status status = load_model(trainer, ckpt, path, err);
    fg_ckpt_close(ckpt);
    return status;
}

fg_status fgi_state_restore(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    if (trainer->is_restored)
        return FG_OK;
    if (o->weights != NULL)
        FGI_TRY(load_weights(trainer, o->weights, err));
    if (o->resume != NULL)
        FGI_TRY(resume(trainer, o->resume, err));
    /* an evaluation before the first fit reads no optimizer state: fit will look again */
    trainer->is_restored = trainer->optimizer != NULL || o->resume == NULL;
    return FG_OK;
}
