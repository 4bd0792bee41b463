/* result.c - the result of a call of the Trainer: cleared when it starts, filled in when it ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include <fulgurite/chip.h>

#include "base/error.h"
#include "base/here.h"
#include "base/reserved.h"
#include "base/thread.h"
#include "train/feed.h"
#include "train/health.h"
#include "train/divergence.h"
#include "train/ledger.h"
#include "train/progress.h"
#include "train/result.h"
#include "train/saver.h"
#include "train/stage.h"
#include "train/trainer.h"
#include "train/watchdog.h"

/* The index of a metric: that of its name, or else after those of its kind. Training precedes
 * validation, so that the order does not depend on where a run was interrupted. */
static size_t place_of(const fg_result *result, const char *name)
{
    const bool is_train = strncmp(name, "train_", 6) == 0;
    size_t first_val = result->metric_count;
    for (size_t k = 0; k < result->metric_count; k++) {
        if (strcmp(result->metrics[k].name, name) == 0)
            return k;
        if (first_val == result->metric_count && strncmp(result->metrics[k].name, "val_", 4) == 0)
            first_val = k;
    }
    return is_train ? first_val : result->metric_count;
}

void fgi_result_put(fg_result *result, const fg_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t k = place_of(result, metrics[i].name);
        fg_metric *at = &result->metrics[k];
        if (k == result->metric_count || strcmp(at->name, metrics[i].name) != 0) {
            if (result->metric_count == FG_MAX_RESULTS)
                continue;
            memmove(at + 1, at, (result->metric_count - k) * sizeof *at);
            result->metric_count++;
        }
        *at = metrics[i];
    }
}

/* The counters of the client, which may not be open yet. */
static fg_client_stats stats_of(const fg_trainer *trainer)
{
    const fg_client *client =
        trainer->client != NULL ? trainer->client : trainer->options.devices.client;
    return client != NULL ? fg_client_get_stats(client) : (fg_client_stats){0};
}

/* A callback, or whoever else runs on this thread, waited for a value. */
static void on_read(void *ledger, int64_t begin_ns, int64_t end_ns)
{
    fgi_ledger_add(ledger, FGI_READ, begin_ns, end_ns);
}

fg_status fgi_trainer_enter(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                            fg_error *err)
{
    if (trainer == NULL || task == NULL || task->ops == NULL || data == NULL)
        return fgi_fail(err, FG_EINVAL, "no %s given",
                        trainer == NULL ? "Trainer was"
                        : data == NULL  ? "data were"
                                        : "task, or one without ops, was");
    FGI_TRY_RESERVED(fg_task, task, err);
    FGI_TRY_RESERVED(fg_task_ops, task->ops, err);
    FGI_TRY_RESERVED(fg_fit_data, data, err);
    if (trainer->call.is_busy)
        return fgi_fail(err, FG_EINVAL,
                        "the Trainer is running: a callback must not start it again");
    FGI_TRY(fgi_watchdog_start(trainer->watchdog, err));
    fgi_watch_checkpoint(trainer->watchdog, fgi_saver_last(trainer->saver));
    trainer->call = (fgi_call){.is_busy = true, .stats_before = stats_of(trainer)};
    fgi_here_take(&trainer->call.file, &trainer->call.line);
    trainer->call.reads_before =
        fgi_watch_reads((fgi_read_watch){.fn = on_read, .self = trainer->ledger});
    fgi_ledger_start(trainer->ledger, fgi_now_ns());
    return FG_OK;
}

/* Google Cloud, "System architecture of Cloud TPU": matrix units multiply bf16 and, of some
 * generations, int8; f32 takes several passes. */
static bool is_emulated(const fg_chip *chip, fg_dtype dtype)
{
    static const fg_dtype list[] = {FG_F64, FG_S16, FG_S32, FG_S64, FG_U16, FG_U32, FG_U64};
    bool is_listed = false;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        is_listed = is_listed || dtype == list[i];
    return is_listed && chip != NULL && chip->generation != NULL;
}

static fg_step_cost cost_of(const fg_trainer *trainer, const fgi_stage *stage)
{
    const double unknown = (double)NAN;
    fg_step_cost cost = {
        .flops = unknown, .seconds = unknown, .flops_16bit = unknown, .bytes = unknown};
    fgi_program_cost reported;
    fg_device_info device = {0};
    if (fgi_stage_program(stage) == NULL ||
        fg_device_get_info(trainer->client, 0, &device, NULL) != FG_OK)
        return cost;
    const fgi_matmul_flops *flops = fgi_step_program_flops(fgi_stage_program(stage));
    const int count = fg_client_get_info(trainer->client)->device_count;
    cost.samples = fgi_stage_batch_size(stage);
    cost.flops = cost.seconds = 0;
    const fg_chip *chip = fg_chip_find(device.kind);
    for (int i = 0; i <= FG_F64; i++) {
        const double rate = fg_chip_matmul_rate(chip, (fg_dtype)i);
        cost.flops += flops->of[i];
        if (is_emulated(chip, (fg_dtype)i))
            cost.flops_emulated += flops->of[i];
        if (flops->of[i] > 0)
            cost.seconds += rate > 0 ? flops->of[i] / (rate * count) : (double)NAN;
    }
    cost.flops_16bit = flops->of[FG_BF16] + flops->of[FG_F16];
    if (fgi_step_program_cost(fgi_stage_program(stage), &reported, NULL) == FG_OK &&
        reported.bytes_accessed > 0)
        cost.bytes = reported.bytes_accessed * count;
    return cost;
}

fg_step_cost fg_trainer_step_cost(const fg_trainer *trainer)
{
    return cost_of(trainer, trainer->stage[FGI_TRAIN]);
}

/* Compares the FLOPs of the train program with the peak rate of the devices. */
static void count_mxu(const fg_trainer *trainer, const fgi_stage *stage, fg_result *result)
{
    const fg_step_cost cost = cost_of(trainer, stage);
    result->step_flops = cost.flops;
    result->mxu_use = cost.seconds * result->samples_per_s / (double)cost.samples;
}

static void fill(const fg_trainer *trainer, fgi_stage_kind kind, fg_result *result)
{
    const fg_client_stats now = stats_of(trainer), before = trainer->call.stats_before;
    const fgi_stage *stage = trainer->stage[kind];
    fgi_program_cost cost;
    fgi_stage_report_input(stage, &result->input);
    fgi_ledger_result(trainer->ledger, result);
    result->epochs = trainer->cursor.epoch;
    result->steps = trainer->cursor.step;
    fgi_health_result(trainer, result);
    fgi_divergence_result(trainer, result);
    result->device_peak_bytes = -1;
    const fgi_step_program *program = fgi_stage_program(stage);
    if (program != NULL && fgi_step_program_cost(program, &cost, NULL) == FG_OK)
        result->device_peak_bytes = cost.peak_bytes;
    count_mxu(trainer, stage, result);
    result->compiles = now.compiles - before.compiles;
    result->compile_cache_hits = now.compile_cache_hits - before.compile_cache_hits;
    result->compile_s = now.compile_s - before.compile_s;
    result->host_reads = now.host_reads - before.host_reads;
}

void fgi_result_end(fg_trainer *trainer, fgi_stage_kind kind)
{
    (void)fgi_plugin_unwatch(); /* a step that failed did not reset it */
    if (kind == FGI_TRAIN)
        fgi_feed_close_window(trainer, trainer->cursor.step);
    fill(trainer, kind, &trainer->call.result);
}

void fg_trainer_result_so_far(const fg_trainer *trainer, fg_result *out)
{
    *out = trainer->call.result;
    fill(trainer, FGI_TRAIN, out);
}

fg_status fgi_trainer_leave(fg_trainer *trainer, fg_status status, const fg_error *error,
                            fg_error *err)
{
    (void)fgi_watch_reads(trainer->call.reads_before);
    fgi_watchdog_stop(trainer->watchdog);
    fgi_progress_stop(trainer->progress);
    trainer->call.result.status = status;
    trainer->call.is_busy = false;
    if (status != FG_OK && err != NULL)
        *err = *error;
    return status;
}
