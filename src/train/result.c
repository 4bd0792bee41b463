/* result.c - the figures of a call of the Trainer: cleared when it begins, filled in when it ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "train/trainer.h"

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

/* Counters of the client, which is opened when the first call needs it. */
static fg_client_stats stats_of(const fg_trainer *trainer)
{
    const fg_client *client = trainer->client != NULL ? trainer->client : trainer->options.client;
    return client != NULL ? fg_client_get_stats(client) : (fg_client_stats){0};
}

fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err)
{
    if (trainer == NULL || task == NULL || task->ops == NULL || data == NULL)
        return fgi_fail(err, FG_EINVAL, "no %s given",
                        trainer == NULL ? "Trainer was"
                        : data == NULL  ? "data were"
                                        : "task, or one without ops, was");
    if (trainer->is_busy)
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer is at work: a callback may not start it again");
    trainer->is_busy = true;
    trainer->is_stopping = false;
    trainer->result = (fg_result){0};
    trainer->stats_before = stats_of(trainer);
    fgi_ledger_start(&trainer->ledger, fgi_now_ns());
    return FG_OK;
}

void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind)
{
    fg_result *result = &trainer->result;
    const fg_client_stats now = stats_of(trainer), before = trainer->stats_before;
    const fgi_stage *stage = &trainer->stage[kind];
    fgi_program_cost cost;
    fgi_ledger_result(&trainer->ledger, result);
    result->epochs = trainer->epoch;
    result->steps = trainer->step;
    result->device_peak_bytes = -1;
    if (stage->program != NULL && fgi_step_program_cost(stage->program, &cost, NULL) == FG_OK)
        result->device_peak_bytes = cost.peak_bytes;
    result->compiles = now.compiles - before.compiles;
    result->compile_cache_hits = now.compile_cache_hits - before.compile_cache_hits;
    result->compile_s = now.compile_s - before.compile_s;
    result->host_reads = now.host_reads - before.host_reads;
}

fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err)
{
    trainer->result.status = status;
    trainer->is_busy = false;
    if (status != FG_OK && err != NULL)
        *err = *error;
    return status;
}
