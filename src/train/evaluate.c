/* evaluate.c - passes over data without training: validate, test, predict.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "train/trainer.h"

/* Sums in f32 on the device are exact enough for so many batches; then they move to the host. */
enum { WINDOW_BATCHES = 64 };

void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < result->metric_count && strcmp(result->metrics[k].name, metrics[i].name) != 0)
            k++;
        if (k == FG_MAX_RESULTS)
            continue;
        result->metrics[k] = metrics[i];
        if (k == result->metric_count)
            result->metric_count++;
    }
}

static fg_status pass(fg_trainer *trainer, fgi_stage *stage, fgi_windows *windows, int64_t limit,
                      bool tells_batches, fg_error *err)
{
    fg_progress at = fgi_progress_at(trainer);
    at.batches = fg_loader_batch_count(stage->loader);
    if (limit > 0 && limit < at.batches)
        at.batches = limit;
    FGI_TRY(fg_loader_start_epoch(stage->loader, 0, 0, err));
    stage->fresh.value.u32 = 1;
    for (at.batch = 0; at.batch < at.batches;) {
        const fg_host_batch *batch = NULL;
        FGI_TRY(fgi_feed_next(trainer, stage, &batch, err));
        if (batch == NULL)
            break;
        FGI_TRY(fgi_feed_launch(trainer, stage, batch, NULL, err));
        windows->is_open = true;
        if (++at.batch % WINDOW_BATCHES == 0)
            FGI_TRY(fgi_windows_close(trainer, windows, stage, err));
        FGI_TRY(fgi_windows_collect(trainer, windows, stage, false, err));
        if (tells_batches)
            FGI_TRY(fgi_notify(trainer, FGI_ON_BATCH_END, &at, err));
    }
    FGI_TRY(fgi_windows_close(trainer, windows, stage, err));
    return fgi_windows_collect(trainer, windows, stage, true, err);
}

fg_status fgi_evaluate(fg_trainer *trainer, fgi_stage_kind kind, const fg_fit_data *data,
                       int64_t limit, fg_metric *into, size_t *out_count, fg_error *err)
{
    fgi_stage *stage = &trainer->stage[kind];
    fg_metric metrics[FG_MAX_METRICS];
    fgi_windows windows = {0};
    FGI_TRY(fgi_stage_prepare(trainer, kind, data, err));
    const fg_status status = pass(trainer, stage, &windows, limit, !trainer->is_running, err);
    if (status != FG_OK) { /* reads under way write into `windows`: let them end */
        for (int i = 0; i < FGI_WINDOWS; i++)
            if (windows.window[i].arrived != NULL) {
                const fg_status late = fgi_event_wait(windows.window[i].arrived, NULL);
                (void)late; /* the pass has failed already */
                fgi_event_destroy(windows.window[i].arrived);
            }
        return status;
    }
    const size_t count = fgi_windows_means(&windows, stage, metrics);
    fgi_result_put(&trainer->result, metrics, count);
    if (into != NULL) {
        memcpy(into, metrics, count * sizeof *into);
        *out_count = count;
    }
    return FG_OK;
}

/* ---- outside of fit -------------------------------------------------------------------------- */

/* A fresh result, with the client's counters so far to be subtracted at the end. */
static void begin(fg_trainer *trainer)
{
    trainer->result = (fg_result){.epochs = trainer->epoch, .steps = trainer->step};
    fgi_ledger_start(&trainer->ledger, fgi_now_ns());
}

static void end(fg_trainer *trainer, const fg_client_stats *before, fg_status status)
{
    fg_result *result = &trainer->result;
    fgi_ledger_result(&trainer->ledger, result);
    result->status = status;
    result->device_peak_bytes = -1;
    if (trainer->client == NULL)
        return;
    const fg_client_stats now = fg_client_get_stats(trainer->client);
    result->compiles = now.compiles - before->compiles;
    result->compile_cache_hits = now.compile_cache_hits - before->compile_cache_hits;
    result->compile_s = now.compile_s - before->compile_s;
    result->host_reads = now.host_reads - before->host_reads;
}

static fg_client_stats stats_of(const fg_trainer *trainer)
{
    return trainer->client != NULL ? fg_client_get_stats(trainer->client) : (fg_client_stats){0};
}

static fg_status evaluate(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                          const fg_fit_data *data, fg_error *err)
{
    fg_metric metrics[FG_MAX_METRICS];
    size_t count = 0;
    const int64_t limit = kind == FGI_VAL ? trainer->options.limit_val_batches : 0;
    FGI_TRY(fgi_trainer_prepare(trainer, task, false, err));
    fg_progress at = fgi_progress_at(trainer);
    FGI_TRY(fgi_notify(trainer, FGI_ON_EVAL_START, &at, err));
    FGI_TRY(fgi_evaluate(trainer, kind, data, limit, metrics, &count, err));
    at.metrics = metrics;
    at.metric_count = count;
    return fgi_notify(trainer, FGI_ON_EVAL_END, &at, err);
}

static fg_status run(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                     const fg_fit_data *data, fg_error *err)
{
    const fg_client_stats before = stats_of(trainer);
    begin(trainer);
    fg_error first = {0}, later = {0};
    fg_status status = evaluate(trainer, task, kind, data, &first);
    const fg_status drained = fgi_feed_drain(trainer, &later);
    if (status == FG_OK && drained != FG_OK) {
        status = drained;
        first = later;
    }
    end(trainer, &before, status);
    if (status != FG_OK && err != NULL)
        *err = first;
    return status;
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

/* ---- predict --------------------------------------------------------------------------------- */

typedef struct prediction {
    fg_array *array; /* of the batch before, still to be read */
    int64_t first, valid;
    void *host;
} prediction;

static fg_status write_rows(prediction *p, fg_predict_fn *write, void *self, fg_error *err)
{
    if (p->array == NULL)
        return FG_OK;
    fg_type type = *fg_array_type(p->array);
    fg_status status = FG_OK;
    if (p->host == NULL)
        p->host = fgi_alloc(fg_type_bytes(&type));
    status = p->host == NULL ? fgi_no_memory(err)
                             : fg_array_read(p->array, p->host, fg_type_bytes(&type), err);
    fg_array_release(p->array);
    p->array = NULL;
    if (status != FG_OK)
        return status;
    type.dim[0] = p->valid;
    return write(self, &type, p->host, p->first, err);
}

/* Reads each batch's rows while the next one runs. */
static fg_status predict_pass(fg_trainer *trainer, fgi_stage *stage, fg_predict_fn *write,
                              void *self, fg_error *err)
{
    prediction p = {0};
    fg_progress at = fgi_progress_at(trainer);
    fg_status status = FG_OK;
    at.batches = fg_loader_batch_count(stage->loader);
    FGI_DONE(fg_loader_start_epoch(stage->loader, 0, 0, err));
    for (at.batch = 0;;) {
        const fg_host_batch *batch = NULL;
        fg_array *array = NULL;
        FGI_DONE(fgi_feed_next(trainer, stage, &batch, err));
        if (batch == NULL)
            break;
        const int64_t first = batch->position, valid = batch->valid;
        FGI_DONE(fgi_feed_launch(trainer, stage, batch, &array, err));
        status = write_rows(&p, write, self, err);
        p.array = array;
        p.first = first;
        p.valid = valid;
        if (status != FG_OK)
            goto done;
        at.batch++;
        FGI_DONE(fgi_notify(trainer, FGI_ON_BATCH_END, &at, err));
    }
    FGI_DONE(write_rows(&p, write, self, err));
    FGI_DONE(fgi_notify(trainer, FGI_ON_EVAL_END, &at, err));
done:
    fg_array_release(p.array);
    fgi_free(p.host);
    return status;
}

static fg_status predict(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                         fg_predict_fn *write, void *self, fg_error *err)
{
    FGI_TRY(fgi_trainer_prepare(trainer, task, false, err));
    FGI_TRY(fgi_stage_prepare(trainer, FGI_PREDICT, data, err));
    const fg_progress at = fgi_progress_at(trainer);
    FGI_TRY(fgi_notify(trainer, FGI_ON_EVAL_START, &at, err));
    return predict_pass(trainer, &trainer->stage[FGI_PREDICT], write, self, err);
}

fg_status fg_trainer_predict(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                             fg_predict_fn *write, void *self, fg_error *err)
{
    const fg_client_stats before = stats_of(trainer);
    fg_error local = {0};
    begin(trainer);
    const fg_status status = predict(trainer, task, data, write, self, err);
    const fg_status drained = fgi_feed_drain(trainer, &local);
    end(trainer, &before, status != FG_OK ? status : drained);
    if (status == FG_OK && drained != FG_OK && err != NULL)
        *err = local;
    return trainer->result.status;
}
