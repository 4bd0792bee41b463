/* train_state.c - the Trainer's state in checkpoints: copied for a snapshot, and loaded again.
 *
 * A checkpoint of step s holds everything that the steps after s depend on: variables, the
 * optimizer's state, counters, the position in the data, the metrics' sums of a window and an
 * epoch that are not complete, and how many log lines belong to it. Randomness is a function
 * of (seed, step) and needs no state.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "ckpt/series.h"
#include "input/json_file.h"
#include "log/logger.h"
#include "train/weights/weight_files.h"
#include "train/trainer.h"

/* Alternating sums and weights of the metrics: of the open window, f32, followed by the last health
 * values of the optimizer; and of the closed windows of the epoch, f64. */
#define SUMS_NAME       "trainer.sums"
#define EPOCH_SUMS_NAME "trainer.epoch_sums"

/* ---- tensors --------------------------------------------------------------------------------- */

/* Adds the metrics' sums of the closed windows of this epoch, and of the open one. */
static fg_status add_sums(fg_trainer *trainer, fgi_snapshot *c, fg_error *err)
{
    fgi_stage *stage = trainer->stage[FGI_TRAIN];
    const fgi_windows *windows = &trainer->windows;
    const size_t count = stage->metrics.count;
    memcpy(c->epoch_sums, windows->epoch_sums, sizeof c->epoch_sums);
    fgi_host_copy_add(&c->copy, EPOCH_SUMS_NAME, FG_F64, 2 * count, c->epoch_sums);
    if (!windows->is_open)
        return FG_OK;
    FGI_TRY(fgi_windows_peek(windows, c->sums, err));
    fgi_host_copy_add(&c->copy, SUMS_NAME, FG_F32, fgi_stage_sum_count(stage), c->sums);
    return FG_OK;
}

static fg_status gather(fg_trainer *trainer, fgi_snapshot *c, fg_error *err)
{
    FGI_TRY(fgi_callback_states_save(trainer->callbacks, &c->memory, &c->callbacks,
                                     &c->callback_count, err));
    FGI_TRY(fgi_host_copy_init(&c->copy, trainer->model.root, trainer->model.optimizer,
                               2 + c->callback_count, err));
    FGI_TRY(fgi_host_copy_model(&c->copy, trainer->model.root, err));
    FGI_TRY(fgi_host_copy_optimizer(&c->copy, trainer->model.optimizer, err));
    FGI_TRY(fgi_host_copy_state(&c->copy, trainer->model.root, err));
    FGI_TRY(fgi_host_copy_await(&c->copy, err));
    for (size_t i = 0; i < c->callback_count; i++)
        if (c->callbacks[i].size > 0)
            fgi_host_copy_add(&c->copy, c->callbacks[i].name, FG_U8, c->callbacks[i].size,
                              c->callbacks[i].bytes);
    return add_sums(trainer, c, err);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text); /* also NULL if it is not UTF-8 */
    return json_object_set_new(object, key, value != NULL ? value : json_string("")) == 0;
}

/* The position of the loop, with the number of log lines that belong to it. */
static bool put_position(json_t *object, const fg_trainer *trainer, const fgi_best_list *top)
{
    const fgi_best_rule rule = fgi_best_rule_of(&trainer->options.checkpoints);
    fgi_cursor cursor = trainer->cursor;
    cursor.top = *top;
    const bool has_end = fgi_schedule_has_end(trainer->options.lr.schedule);
    const int64_t total = trainer->fit.settings.total_steps; /* -1: no end */
    cursor.total_steps = total > 0 && has_end ? total : 0;
    cursor.log_lines = fgi_logger_lines(fgi_run_logger(trainer->run));
    return json_object_set_new(object, "version", json_integer(1)) == 0 &&
           json_object_set_new(object, "seed", json_integer((int64_t)trainer->options.seed)) == 0 &&
           fgi_cursor_save(&cursor, &rule, object) &&
           fgi_divergence_save(&trainer->divergence, object);
}

static bool put_metrics(json_t *object, const fgi_metrics *metrics)
{
    json_t *list = json_array();
    bool ok = json_object_set_new(object, "metrics", list) == 0;
    for (size_t i = 0; ok && i < metrics->count; i++)
        ok &= json_array_append_new(list, json_string(metrics->name[i])) == 0;
    return ok;
}

/* The metrics of the result so far, in its order; those that are not finite are null. */
static bool put_results(json_t *object, const fg_result *result)
{
    json_t *metrics = json_object();
    bool ok = json_object_set_new(object, FGI_RESULTS_KEY, metrics) == 0;
    for (size_t i = 0; ok && i < result->metric_count; i++) {
        const fg_metric *metric = &result->metrics[i];
        json_t *value = isfinite(metric->value) ? json_real(metric->value) : json_null();
        ok = json_object_set_new(metrics, metric->name, value) == 0;
    }
    return ok;
}

/* "frozen": the names of the frozen parameters, if there are any. */
static bool put_frozen(json_t *object, const fg_module *root)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < fg_module_variable_count(root); i++) {
        const fg_variable *variable = fg_module_variable_at(root, i);
        if (fg_variable_kind_of(variable) == FG_PARAMETER && !fg_variable_is_trainable(variable))
            ok = json_array_append_new(list, json_string(fg_variable_name(variable))) == 0;
    }
    if (ok && json_array_size(list) > 0)
        ok = json_object_set(object, FGI_FROZEN_KEY, list) == 0;
    json_decref(list);
    return ok;
}

/* The text of state.json (free), NULL: out of memory. */
static char *state_text(const fg_trainer *trainer, const fgi_best_list *top)
{
    json_t *object = json_object();
    bool ok = put_text(object, "task", trainer->model.task.name);
    ok = ok && put_text(object, "optimizer", fg_optimizer_name(trainer->model.optimizer));
    ok = ok && put_position(object, trainer, top) &&
         put_metrics(object, &trainer->stage[FGI_TRAIN]->metrics);
    ok = ok && put_results(object, &trainer->call.result);
    ok = ok && put_frozen(object, trainer->model.root);
    fgi_buf text = {0};
    ok = ok && fgi_json_write(object, JSON_INDENT(1), &text);
    json_decref(object);
    char *result = ok ? fgi_buf_take(&text) : NULL;
    fgi_buf_fini(&text);
    return result;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Names the checkpoint, also in its list of the best. */
static fg_status name_it(const fg_trainer *trainer, fgi_snapshot *s, fg_error *err)
{
    const fgi_cursor *cursor = &trainer->cursor;
    const fgi_best_rule rule = fgi_best_rule_of(&trainer->options.checkpoints);
    const fg_result *result = &trainer->call.result;
    fgi_ckpt_name_make(trainer->options.checkpoints.ckpt_name, cursor->step, cursor->epoch,
                       result->metrics, result->metric_count, s->name, sizeof s->name - 16);
    FGI_TRY(fgi_path_put(trainer->options.checkpoints.run_dir, "checkpoints", s->folder, err));
    FGI_TRY(fgi_snapshot_place(s, err));
    s->top = cursor->top;
    fgi_best_list_enter(&s->top, &rule, cursor->step, s->name);
    if (strcmp(trainer->options.divergence.on_divergence, "rollback") == 0)
        s->before = cursor->top;
    return FG_OK;
}

static fg_status describe(fg_trainer *trainer, fgi_snapshot *s, fg_error *err)
{
    const fg_client_info *info = fg_client_info_of(trainer->client);
    FGI_TRY(name_it(trainer, s, err));
    (void)snprintf(s->step, sizeof s->step, "%lld", (long long)trainer->cursor.step);
    (void)snprintf(s->epoch, sizeof s->epoch, "%lld", (long long)trainer->cursor.epoch);
    s->json = state_text(trainer, &s->top);
    if (s->json == NULL)
        return fgi_no_memory(err);
    if (fgi_logger_flush(fgi_run_logger(trainer->run), &s->log_failure) == FG_ENOMEM)
        return fgi_no_memory(err);
    s->logger = fgi_run_logger(trainer->run);
    s->attachments = trainer->options.checkpoints.attachments;
    s->attachment_count = trainer->options.checkpoints.attachment_count;
    s->process_index = info->process_index;
    s->process_count = info->process_count;
    s->keep = fgi_divergence_keep(&trainer->divergence);
    s->at = fgi_progress_at(trainer);
    s->is_suspected = fgi_divergence_is_suspected(&trainer->divergence);
    return FG_OK;
}

fg_status fgi_state_take(void *self, fgi_snapshot **out, fg_error *err)
{
    fg_trainer *trainer = self;
    fg_status status = FG_OK;
    *out = NULL;
    fgi_snapshot *s = fgi_calloc(1, sizeof *s);
    if (s == NULL)
        return fgi_no_memory(err);
    if (trainer->stage[FGI_TRAIN]->accumulator != NULL) /* the last update is not known */
        FGI_DONE(fgi_divergence_read(&trainer->divergence, err));
    /* the log must contain the windows before this state */
    FGI_DONE(fgi_windows_collect(&trainer->windows, 0, err));
    FGI_DONE(gather(trainer, s, err));
    FGI_DONE(describe(trainer, s, err));
    *out = s;
    s = NULL;
done:
    fgi_snapshot_destroy(s);
    return status;
}

void fgi_state_prune(const fg_trainer *trainer)
{
    char folder[FGI_PATH_BYTES];
    const char *run_dir = trainer->options.checkpoints.run_dir;
    if (fgi_path_put(run_dir, "checkpoints", folder, NULL) == FG_OK && fgi_file_exists(folder))
        fgi_snapshot_prune(folder, fgi_divergence_keep(&trainer->divergence), &trainer->cursor.top,
                           &trainer->cursor.top);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Loads the model's variables; for starting weights, keeps the report. */
static fg_status load_model(fg_trainer *trainer, const fg_ckpt *ckpt, const char *path,
                            const fg_load_options *options, fg_error *err)
{
    fg_load_report report = {0};
    const fg_status status =
        fgi_weights_load(trainer->model.root, ckpt, path, options, &report, err);
    const size_t unexpected = report.counts[FG_LOAD_UNEXPECTED];
    const bool is_whole = options == NULL || (options->prefix == NULL && options->skip_count == 0 &&
                                              !options->allow_missing);
    if (status == FG_OK && unexpected > 0 && is_whole)
        fgi_log(FG_LOG_WARNING, "%s: %zu of its %zu tensors match no variable of the model", path,
                unexpected, unexpected + report.counts[FG_LOAD_DONE]);
    if (status == FG_OK && options != NULL) {
        fg_load_report_fini(&trainer->model.load_report);
        trainer->model.load_report = report;
        return FG_OK;
    }
    fg_load_report_fini(&report);
    return status;
}

/* ---- position -------------------------------------------------------------------------------- */

/* The data of a state tensor with `count` elements; NULL: there is none. */
static const void *find_sums(const fg_ckpt *ckpt, const char *name, fg_dtype dtype, size_t count)
{
    size_t index = 0;
    if (!fg_ckpt_find(ckpt, FG_CKPT_STATE, name, &index))
        return NULL;
    const fg_tensor_info *info = fg_ckpt_info(ckpt, index);
    return info->type.dtype == dtype && info->size_bytes == count * fg_dtype_size(dtype)
               ? fg_ckpt_data(ckpt, index)
               : NULL;
}

static void load_metrics(fg_trainer *trainer, const fg_ckpt *ckpt, const json_t *object)
{
    const json_t *list = json_object_get(object, "metrics");
    const size_t count = json_array_size(list);
    fgi_saved_windows saved = {0};
    const void *epoch =
        count <= FG_MAX_METRICS ? find_sums(ckpt, EPOCH_SUMS_NAME, FG_F64, 2 * count) : NULL;
    const size_t with_health = 2 * count + FGI_HEALTH;
    const void *open = epoch != NULL ? find_sums(ckpt, SUMS_NAME, FG_F32, with_health) : NULL;
    if (epoch != NULL) {
        memcpy(saved.epoch_sums, epoch, 2 * count * sizeof saved.epoch_sums[0]);
        saved.metric_count = count;
    }
    for (size_t i = 0; i < saved.metric_count; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        (void)snprintf(saved.metric[i], sizeof saved.metric[i], "%s", name != NULL ? name : "");
    }
    saved.is_open = open != NULL;
    if (open != NULL)
        memcpy(saved.sums, open, with_health * sizeof(float));
    fgi_windows_restore(&trainer->windows, &saved);
}

/* Loads the metrics of the result; those of this call replace them one by one. */
static void load_results(fg_trainer *trainer, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(object, FGI_RESULTS_KEY), name, value)
    {
        fg_metric metric = {.value =
                                json_is_number(value) ? json_number_value(value) : (double)NAN};
        (void)snprintf(metric.name, sizeof metric.name, "%s", name);
        fgi_result_put(&trainer->call.result, &metric, 1);
    }
}

/* Refuses a different optimizer; warns of a different seed. */
static fg_status compare_run(const fg_trainer *trainer, const json_t *object, const char *path,
                             fg_error *err)
{
    const char *had = json_string_value(json_object_get(object, "optimizer"));
    const char *have =
        trainer->model.optimizer != NULL ? fg_optimizer_name(trainer->model.optimizer) : NULL;
    const json_t *seed = json_object_get(object, "seed");
    if (had != NULL && have != NULL && strcmp(had, have) != 0)
        return fgi_fail(err, FG_EINVAL,
                        "%s was trained by '%s', not by '%s'\n"
                        "to change the optimizer, start from its weights instead",
                        path, had, have);
    if (have != NULL && json_is_integer(seed) && json_integer_value(seed) != trainer->options.seed)
        fgi_log(FG_LOG_WARNING, "%s was trained with seed %lld, but the run has seed %lld", path,
                (long long)json_integer_value(seed), (long long)trainer->options.seed);
    return FG_OK;
}

static fg_status load_position(fg_trainer *trainer, const fg_ckpt *ckpt, const char *path,
                               const json_t *object, fg_error *err)
{
    const fgi_best_rule rule = fgi_best_rule_of(&trainer->options.checkpoints);
    FGI_TRY(fgi_cursor_load(&trainer->cursor, object, &rule, path, err));
    FGI_TRY(fgi_divergence_load(&trainer->divergence, object, path, err));
    trainer->saver->is_current = true;
    load_metrics(trainer, ckpt, object);
    if (trainer->model.optimizer !=
        NULL) /* NULL: an evaluation, whose result has only its metrics */
        load_results(trainer, object);
    return FG_OK;
}

/* ---- whole checkpoints ----------------------------------------------------------------------- */

static fg_status load_state(fg_trainer *trainer, const fg_ckpt *ckpt, const char *path,
                            const json_t *object, fg_error *err)
{
    FGI_TRY(compare_run(trainer, object, path, err));
    if (trainer->model.optimizer != NULL) /* NULL: only an evaluation; it may freeze parameters */
        FGI_TRY(fgi_callback_states_load(trainer->callbacks, ckpt, path, err));
    if (trainer->model.optimizer != NULL)
        FGI_TRY(fgi_optimizer_load(trainer->model.optimizer, ckpt, path, FG_CKPT_STATE,
                                   json_object_get(object, FGI_FROZEN_KEY), err));
    FGI_TRY(fgi_module_state_load(trainer->model.root, ckpt, path, err));
    return load_position(trainer, ckpt, path, object, err);
}

fg_status fgi_state_go_back(fg_trainer *trainer, const char *path, fg_error *err)
{
    fg_ckpt *ckpt = NULL;
    json_t *object = NULL;
    fg_status status = FG_OK;
    FGI_TRY(fg_ckpt_open(path, NULL, &ckpt, err));
    const char *text = fg_ckpt_state_json(ckpt);
    if (text == NULL &&
        trainer->model.optimizer == NULL) { /* weights are enough for an evaluation */
        FGI_DONE(load_model(trainer, ckpt, path, NULL, err));
        fgi_saver_remember(trainer->saver, path);
        goto done;
    }
    if (text == NULL) {
        status = fgi_fail(err, FG_EINVAL,
                          "%s: is a file of weights, not a checkpoint to resume from\n"
                          "give it as the starting weights instead",
                          path);
        goto done;
    }
    FGI_DONE(fgi_json_parse(path, 0, text, strlen(text), &object, err));
    FGI_DONE(load_model(trainer, ckpt, path, NULL, err));
    FGI_DONE(load_state(trainer, ckpt, path, object, err));
    fgi_saver_remember(trainer->saver, path);
done:
    json_decref(object);
    fg_ckpt_close(ckpt);
    return status;
}

/* Finds and loads the checkpoint named by options.checkpoints.resume; "auto" may find none. */
static fg_status resume(fg_trainer *trainer, const char *which, fg_error *err)
{
    fg_error local = {0};
    const bool is_auto = strcmp(which, "auto") == 0;
    const char *run_dir = trainer->options.checkpoints.run_dir;
    char folder[FGI_PATH_BYTES], *path = NULL;
    if (run_dir != NULL)
        FGI_TRY(fgi_path_put(run_dir, "checkpoints", folder, err));
    fg_status status =
        fgi_ckpt_resolve(run_dir != NULL ? folder : NULL, is_auto ? "last" : which, &path, &local);
    if (is_auto && status == FG_ENOTFOUND)
        return FG_OK;
    if (status == FG_OK)
        status = fgi_state_go_back(trainer, path, &local);
    fgi_free(path);
    if (status != FG_OK && err != NULL)
        *err = local;
    return status;
}

static fg_status load_weights(fg_trainer *trainer, const char *path, fg_error *err)
{
    fg_ckpt *ckpt = NULL;
    FGI_TRY(fg_ckpt_open(path, NULL, &ckpt, err));
    const fg_status status =
        load_model(trainer, ckpt, path, &trainer->options.checkpoints.weights_options, err);
    fg_ckpt_close(ckpt);
    return status;
}

fg_status fgi_state_restore(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    if (trainer->model.is_restored)
        return FG_OK;
    if (o->checkpoints.weights != NULL)
        FGI_TRY(load_weights(trainer, o->checkpoints.weights, err));
    if (o->checkpoints.resume != NULL)
        FGI_TRY(resume(trainer, o->checkpoints.resume, err));
    /* an evaluation before the first fit loads no optimizer state: fit will load again */
    trainer->model.is_restored = trainer->model.optimizer != NULL || o->checkpoints.resume == NULL;
    return FG_OK;
}

/* ---- the past of a run ----------------------------------------------------------------------- */

/* Whether the result has the monitored metric of the current state; its value. */
static bool has_value(const fg_trainer *trainer, double *out)
{
    const fgi_cursor *cursor = &trainer->cursor;
    const fg_result *result = &trainer->call.result;
    const bool is_known = fgi_is_of_training(trainer->options.checkpoints.monitor)
                              ? cursor->epoch_batches == 0
                              : cursor->validated_step == cursor->step;
    const size_t i = fgi_metric_find(result->metrics, result->metric_count,
                                     trainer->options.checkpoints.monitor);
    if (!is_known || i == result->metric_count)
        return false;
    *out = result->metrics[i].value;
    return isfinite(*out);
}

/* The name of the checkpoint that was loaded, if it is in `folder`; "": elsewhere. */
static fg_status find_name(const fg_trainer *trainer, const char *folder, const char **out,
                           fg_error *err)
{
    bool is_there;
    const char *path = trainer->call.result.checkpoint, *slash = strrchr(path, '/');
    FGI_TRY(fgi_path_is_in(path, folder, &is_there, err));
    *out = is_there && slash != NULL ? slash + 1 : "";
    return FG_OK;
}

static fg_status settle(fg_trainer *trainer, const char *folder, fg_error *err)
{
    const fgi_best_rule rule = fgi_best_rule_of(&trainer->options.checkpoints);
    fgi_best_list *top = &trainer->cursor.top;
    const char *name;
    double value;
    FGI_TRY(find_name(trainer, folder, &name, err));
    FGI_TRY(fgi_best_list_verify(top, &rule, folder, err));
    if (*name != '\0' && has_value(trainer, &value)) {
        (void)fgi_best_list_offer(top, &rule, value, trainer->cursor.step);
        fgi_best_list_enter(top, &rule, trainer->cursor.step, name);
    }
    if (fg_client_info_of(trainer->client)->process_index != 0)
        return FG_OK;
    FGI_TRY(fgi_ckpt_repoint(folder, "best", top->count > 0 ? top->entry[0].name : NULL, err));
    return *name != '\0' ? fgi_ckpt_repoint(folder, "last", name, err) : FG_OK;
}

fg_status fgi_state_settle(fg_trainer *trainer, fg_error *err)
{
    const char *run_dir = trainer->options.checkpoints.run_dir;
    if (run_dir == NULL || trainer->call.result.checkpoint[0] == '\0')
        return FG_OK; /* not resumed */
    char folder[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(run_dir, "checkpoints", folder, err));
    if (fgi_file_exists(folder))
        return settle(trainer, folder, err);
    trainer->cursor.top = (fgi_best_list){.count = 0};
    return FG_OK;
}
