/* evaluate.c - passes over data without training: validate, test, predict.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "train/progress/progress.h"
#include "train/trainer.h"

/* After this many batches, the f32 sums are read from the device and added up in double. */
enum { WINDOW_BATCHES = 64 };

/* Launches the next batch; *out_more is false at the end of the data. */
static fg_status launch_next(fg_trainer *trainer, fgi_stage *stage, fgi_windows *windows,
                             fg_progress *at, bool *out_more, fg_error *err)
{
    const fg_host_batch *batch = stage->first;
    stage->first = NULL;
    if (batch == NULL)
        FGI_TRY(fgi_feed_next(trainer->feed, stage, &batch, err));
    *out_more = batch != NULL;
    if (batch == NULL)
        return FG_OK;
    const int64_t samples = batch->valid;
    FGI_TRY(fgi_feed_launch(trainer->feed, stage, batch, NULL, err));
    fgi_windows_add(windows, samples);
    if (++at->batch % WINDOW_BATCHES == 0)
        FGI_TRY(fgi_windows_close(windows, at, err));
    FGI_TRY(fgi_windows_collect(windows, FGI_WINDOWS, err));
    if (!trainer->call.is_running)
        return fgi_notify(trainer->callbacks, FGI_ON_BATCH_END, at, err);
    fgi_progress_validating(trainer->progress, at);
    return FG_OK;
}

static fg_status pass(fg_trainer *trainer, fgi_stage *stage, fgi_windows *windows, int64_t limit,
                      fg_error *err)
{
    bool has_more = true;
    fg_progress at = fgi_progress_at(trainer);
    at.batch = 0;
    at.batches = fgi_stage_batches(stage, limit);
    if (stage->first == NULL)
        FGI_TRY(fg_loader_start_epoch(stage->loader, 0, 0, err));
    FGI_TRY(fgi_stage_clear_sums(stage, err));
    while (has_more && (at.batches < 0 || at.batch < at.batches) && !fgi_trainer_stops(trainer)) {
        const int64_t watch = fgi_work_begin(&trainer->ledger);
        FGI_TRY(launch_next(trainer, stage, windows, &at, &has_more, err));
        if (!trainer->call.is_running)
            fgi_work_end(&trainer->ledger, watch, 1);
    }
    trainer->call.evaluated_batches = at.batch;
    FGI_TRY(fgi_windows_close(windows, &at, err));
    return fgi_windows_collect(windows, 0, err);
}

/* The metrics that follow from the scores of all samples. */
static fg_status rank(fgi_stage *stage, fgi_windows *windows, fg_error *err)
{
    FGI_TRY(fgi_sample_rows_count(&stage->rows, err));
    return fgi_sample_rows_rank(&stage->rows, stage->metrics.is_multilabel, windows->ranked, err);
}

/* Moves the counts of labels to the rows of the evaluation. */
static void keep_label_sums(fgi_stage *stage, fgi_windows *windows)
{
    fgi_free(stage->rows.label_sums);
    stage->rows.label_sums = windows->class_sum;
    stage->rows.label_count = windows->class_sum != NULL ? stage->metrics.classes : 0;
    windows->class_sum = NULL;
}

fg_status fgi_evaluate_ahead(fg_trainer *trainer, fgi_stage_kind kind, fg_error *err)
{
    fgi_stage *stage = trainer->stage[kind];
    if (stage->first != NULL)
        return FG_OK;
    FGI_TRY(fg_loader_start_epoch(stage->loader, 0, 0, err));
    return fgi_feed_next(trainer->feed, stage, &stage->first, err);
}

fg_status fgi_evaluate(fg_trainer *trainer, fgi_stage_kind kind, int64_t limit,
                       fg_metric *out_metrics, size_t *out_count, fg_error *err)
{
    fgi_stage *stage = trainer->stage[kind];
    fgi_windows windows = {.of = {.stage = stage,
                                  .feed = trainer->feed,
                                  .spans = &trainer->spans,
                                  .cursor = &trainer->cursor}};
    fg_status status = pass(trainer, stage, &windows, limit, err);
    if (status == FG_OK && fgi_metrics_rank(&stage->metrics))
        status = rank(stage, &windows, err);
    if (status == FG_OK)
        *out_count = fgi_windows_means(&windows, NULL, out_metrics);
    else
        fgi_stage_drop_sums(stage);
    if (status != FG_OK || trainer->call.is_stopping)
        fgi_sample_rows_clear(&stage->rows);
    else if (stage->metrics.is_multilabel)
        keep_label_sums(stage, &windows);
    stage->rows.step = trainer->cursor.step;
    fgi_windows_fini(&windows);
    if (status == FG_OK && !trainer->call.is_stopping)
        fgi_result_put(&trainer->call.result, out_metrics, *out_count);
    return status;
}

/* ---- outside fit ----------------------------------------------------------------------------- */

/* Ends a call: waits for launches under way, and completes the result. */
static fg_status finish(fg_trainer *trainer, fgi_stage_kind kind, fg_status status, fg_error *first,
                        fg_error *err)
{
    fg_error later = {0};
    const fg_status drained = fgi_feed_drain(trainer->feed, &later);
    if (status == FG_OK && drained != FG_OK) {
        status = drained;
        *first = later;
    }
    if (status == FG_OK && trainer->call.is_stopping)
        status = fgi_fail(first, FG_ESTOPPED, "stopped by a callback");
    fgi_result_end(trainer, kind);
    return fgi_trainer_leave(trainer, status, first, err);
}

/* Prepares a pass; *out_at is its start. */
static fg_status begin(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                       const fg_fit_data *data, fg_progress *out_at, fg_error *err)
{
    FGI_TRY(fgi_trainer_prepare(trainer, task, false, err));
    FGI_TRY(fgi_state_restore(trainer, err));
    FGI_TRY(fgi_stage_prepare(trainer, kind, data, err));
    *out_at = fgi_progress_at(trainer);
    out_at->batch = 0;
    out_at->batches = fgi_stage_batches(trainer->stage[kind], fgi_stage_limit(trainer, kind));
    return fgi_notify(trainer->callbacks, FGI_ON_EVAL_START, out_at, err);
}

fg_status fg_trainer_restore(fg_trainer *trainer, const fg_task *task, fg_error *err)
{
    fg_error first = {0};
    FGI_TRY(fgi_trainer_enter(trainer, task, &(fg_fit_data){0}, err));
    fg_status status = fgi_trainer_prepare(trainer, task, false, &first);
    if (status == FG_OK)
        status = fgi_state_restore(trainer, &first);
    return fgi_trainer_leave(trainer, status, &first, err);
}

static fg_status evaluate(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                          const fg_fit_data *data, fg_error *err)
{
    fg_metric metrics[FG_MAX_METRICS];
    fg_progress at;
    FGI_TRY(begin(trainer, task, kind, data, &at, err));
    at.metrics = metrics;
    FGI_TRY(fgi_evaluate(trainer, kind, fgi_stage_limit(trainer, kind), metrics, &at.metric_count,
                         err));
    if (trainer->call.is_stopping)
        return FG_OK;
    at.batch = trainer->call.evaluated_batches;
    return fgi_notify(trainer->callbacks, FGI_ON_EVAL_END, &at, err);
}

static fg_status run(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                     const fg_fit_data *data, fg_error *err)
{
    fg_error first = {0};
    FGI_TRY(fgi_trainer_enter(trainer, task, data, err));
    const fg_status status = evaluate(trainer, task, kind, data, &first);
    return finish(trainer, kind, status, &first, err);
}

fg_status fg_trainer_validate(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                              fg_error *err)
{
    return run(trainer, task, FGI_VAL, data, err);
}

fg_status fg_trainer_test(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                          fg_error *err)
{
    return run(trainer, task, FGI_TEST, data, err);
}

fg_status fg_trainer_evaluation(fg_trainer *trainer, bool is_test, const fg_evaluation **out,
                                fg_error *err)
{
    fgi_sample_rows *rows = &trainer->stage[is_test ? FGI_TEST : FGI_VAL]->rows;
    *out = NULL;
    FGI_TRY(fgi_sample_rows_count(rows, err));
    trainer->evaluation = (fg_evaluation){.step = rows->step,
                                          .samples = rows->samples,
                                          .worst = rows->worst,
                                          .worst_count = rows->worst_count,
                                          .class_count = rows->label_count > 0 ? rows->label_count
                                                                               : rows->class_count,
                                          .confusion = rows->confusion,
                                          .label_sums = rows->label_sums};
    *out = rows->samples > 0 ? &trainer->evaluation : NULL;
    return FG_OK;
}

/* ---- predict --------------------------------------------------------------------------------- */

/* Rows that are copied to the host: one batch is read while the next one runs. */
typedef struct rows {
    fg_array *array;
    fgi_event *arrived; /* NULL: none */
    fg_type type;
    int64_t first, number;
    void *host;
} rows;

typedef struct prediction {
    fg_trainer *trainer;
    const fg_task *task;
    fg_dataset *dataset;
    fg_predict_fn *write; /* NULL: callbacks only */
    void *self;
    rows batch[2];
    int64_t count; /* batches launched */
} prediction;

static fg_status start_rows(prediction *p, fg_array *take_array, int64_t first, int64_t valid,
                            fg_error *err)
{
    rows *r = &p->batch[p->count % 2];
    const size_t size = fg_type_bytes(fg_array_type(take_array));
    r->array = take_array;
    r->type = *fg_array_type(take_array);
    r->type.dim[0] = valid;
    r->first = first;
    r->number = ++p->count;
    if (r->host == NULL)
        r->host = fgi_alloc_aligned(size > 0 ? size : 1);
    if (r->host == NULL)
        return fgi_no_memory(err);
    return fgi_array_download(r->array, r->host, size, &r->arrived, err);
}

static fg_status await_rows(prediction *p, rows *r, fg_error *err)
{
    fg_error cause = {0};
    fgi_span span = {FGI_READ, FGI_PREDICT, -1, "trainer", .name = "read predictions"};
    fgi_span_begin(&p->trainer->spans, &span);
    const fg_status status = fgi_event_wait(r->arrived, err);
    fgi_client_count_read(p->trainer->client, "predictions", (int64_t)fg_type_bytes(&r->type),
                          fgi_span_end(&span));
    if (status == FG_OK)
        return FG_OK;
    const fg_status drained = fgi_feed_drain(p->trainer->feed, &cause);
    if (drained == FG_OK)
        return fgi_context(err, status, "reading the predictions of batch %lld",
                           (long long)r->number);
    *err = cause; /* the step failed, which is the cause */
    return drained;
}

static void drop_rows(rows *r)
{
    if (r->arrived != NULL) {
        const fg_status late = fgi_event_wait(r->arrived, NULL);
        (void)late; /* it writes to r->host until then */
    }
    fgi_event_destroy(r->arrived);
    fg_array_release(r->array);
    r->arrived = NULL;
    r->array = NULL;
}

/* Of samples that could not be read, makes every float NaN, and every integer -1. */
static void clear_damaged(const prediction *p, const rows *r)
{
    const int64_t count = r->type.dim[0];
    const size_t row_bytes = count > 0 ? fg_type_bytes(&r->type) / (size_t)count : 0;
    for (int64_t i = 0; i < count && p->dataset != NULL; i++) {
        const char *error = fg_dataset_sample_error(p->dataset, r->first + i);
        if (error != NULL && *error != '\0')
            memset((char *)r->host + (size_t)i * row_bytes, 0xff, row_bytes);
    }
}

/* Passes rows to the callbacks; those of a batch also to the caller's function. */
static fg_status pass_rows(const prediction *p, const rows *r, const fg_progress *at, fg_error *err)
{
    const fg_predictions predictions = {.type = r->type,
                                        .data = r->host,
                                        .first = r->first,
                                        .dataset = p->dataset,
                                        .class_names = p->task->class_names,
                                        .class_count = p->task->class_count,
                                        .is_multilabel = p->task->is_multilabel};
    if (p->write != NULL && r->type.dim[0] > 0) {
        fg_error local = {0};
        const fg_status status = p->write(p->self, &r->type, r->host, r->first, &local);
        if (status != FG_OK)
            return fgi_fail(err, status, "%s",
                            local.message[0] != '\0'
                                ? local.message
                                : "the function that receives the predictions failed");
    }
    return fgi_notify_predicted(p->trainer->callbacks, at, &predictions, err);
}

/* Passes on the rows of the last but one batch, or of the last if `is_end`. */
static fg_status write_rows(prediction *p, bool is_end, const fg_progress *at, fg_error *err)
{
    rows *r = &p->batch[(p->count + (is_end ? 1 : 0)) % 2];
    if (r->arrived == NULL)
        return FG_OK;
    fg_status status = await_rows(p, r, err);
    clear_damaged(p, r);
    if (status == FG_OK)
        status = pass_rows(p, r, at, err);
    drop_rows(r);
    return status;
}

/* Launches another batch, and passes the rows of the previous one to the caller. */
static fg_status predict_next(prediction *p, fgi_stage *stage, fg_progress *at, bool *out_more,
                              fg_error *err)
{
    const fg_host_batch *batch = NULL;
    fg_array *array = NULL;
    FGI_TRY(fgi_feed_next(p->trainer->feed, stage, &batch, err));
    *out_more = batch != NULL;
    if (batch == NULL)
        return FG_OK;
    const int64_t first = batch->position, valid = batch->valid;
    FGI_TRY(fgi_feed_launch(p->trainer->feed, stage, batch, &array, err));
    FGI_TRY(start_rows(p, array, first, valid, err));
    FGI_TRY(write_rows(p, false, at, err));
    at->batch++;
    return fgi_notify(p->trainer->callbacks, FGI_ON_BATCH_END, at, err);
}

static fg_status predict_batches(prediction *p, fgi_stage *stage, fg_progress *at, fg_error *err)
{
    fg_trainer *trainer = p->trainer;
    bool has_more = true;
    FGI_TRY(fg_loader_start_epoch(stage->loader, 0, 0, err));
    while (has_more && !fgi_trainer_stops(trainer)) {
        const int64_t watch = fgi_work_begin(&trainer->ledger);
        FGI_TRY(predict_next(p, stage, at, &has_more, err));
        fgi_work_end(&trainer->ledger, watch, 1);
    }
    if (p->count == 0 && !trainer->call.is_stopping) {
        const rows none = {.type = {.dtype = FG_F32, .rank = 1}};
        return pass_rows(p, &none, at, err);
    }
    return write_rows(p, true, at, err);
}

static fg_status predict(prediction *p, const fg_fit_data *data, fg_error *err)
{
    fg_trainer *trainer = p->trainer;
    fg_progress at;
    FGI_TRY(begin(trainer, p->task, FGI_PREDICT, data, &at, err));
    const fg_status status = predict_batches(p, trainer->stage[FGI_PREDICT], &at, err);
    for (int i = 0; i < 2; i++) {
        drop_rows(&p->batch[i]);
        fgi_free_aligned(p->batch[i].host);
    }
    if (status != FG_OK || trainer->call.is_stopping)
        return status;
    return fgi_notify(trainer->callbacks, FGI_ON_EVAL_END, &at, err);
}

fg_status fg_trainer_predict(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                             fg_predict_fn *write, void *self, fg_error *err)
{
    fg_error first = {0};
    prediction p = {.trainer = trainer,
                    .task = task,
                    .dataset = data != NULL ? data->predict : NULL,
                    .write = write,
                    .self = self};
    if (write == NULL &&
        (trainer == NULL || !fgi_callbacks_receive_predictions(trainer->callbacks)))
        return fgi_fail(err, FG_EINVAL, "predict: no function to receive the rows was given");
    FGI_TRY(fgi_trainer_enter(trainer, task, data, err));
    const fg_status status = predict(&p, data, &first);
    return finish(trainer, FGI_PREDICT, status, &first, err);
}

/* ---- before training ------------------------------------------------------------------------- */

fg_status fgi_sanity_check(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const int64_t requested = trainer->options.validation.sanity_val_steps;
    if (requested == 0 || trainer->cursor.step > 0 || trainer->cursor.position > 0 ||
        data->val == NULL || trainer->model.task.ops->val_step == NULL)
        return FG_OK;
    fg_metric metrics[FG_MAX_METRICS];
    size_t count = 0;
    fg_status status = fgi_stage_prepare(trainer, FGI_VAL, data, err);
    if (status == FG_OK) {
        const bool was_off = trainer->ledger.is_off;
        trainer->ledger.is_off = true;
        const fg_result result = trainer->call.result;
        const int64_t limit = fgi_stage_limit(trainer, FGI_VAL);
        const bool is_fewer = requested > 0 && (limit == 0 || requested < limit);
        status = fgi_evaluate(trainer, FGI_VAL, is_fewer ? requested : limit, metrics, &count, err);
        const fg_status drained = fgi_feed_drain(trainer->feed, status == FG_OK ? err : NULL);
        status = status == FG_OK ? drained : status;
        fgi_sample_rows_clear(&trainer->stage[FGI_VAL]->rows);
        trainer->call.result = result;
        trainer->ledger.is_off = was_off;
    }
    fgi_windows_start_clock(&trainer->windows);
    return status == FG_OK
               ? FG_OK
               : fgi_context(err, status, "validation before training (sanity_val_steps)");
}
