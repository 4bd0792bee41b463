/* stage.c - a step function as a program: its launches and its sums. What is needed to prepare it
 * is in prepare.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/step/stage.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "train/watch/watch.h"

/* ---- life ------------------------------------------------------------------------------------ */

fg_status fgi_stage_create(fgi_stage_kind kind, fgi_stage **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    if (*out == NULL)
        return fgi_no_memory(err);
    (*out)->kind = kind;
    return FG_OK;
}

void fgi_stage_set_loader(fgi_stage *stage, fg_loader *take_loader)
{
    if (stage->first != NULL)
        fg_loader_recycle(stage->loader, stage->first);
    stage->first = NULL;
    fg_loader_destroy(stage->loader);
    stage->loader = take_loader;
    stage->loaded = (fg_loader_stats){0};
    memset(stage->cpu_before_ns, 0, sizeof stage->cpu_before_ns);
}

void fgi_stage_drop_programs(fgi_stage *stage)
{
    fgi_step_program_destroy(stage->program);
    fgi_accumulator_destroy(stage->accumulator);
    fg_trace_destroy(stage->trace);
    fgi_stage_drop_stacks(stage);
    fgi_free(stage->samples);
    stage->samples = NULL;
    stage->program = NULL;
    stage->accumulator = NULL;
    stage->trace = NULL;
}

void fgi_stage_empty(fgi_stage *stage)
{
    fgi_stage_set_loader(stage, NULL);
    fgi_stage_drop_sums(stage);
    fgi_sample_rows_fini(&stage->rows);
    fgi_stage_drop_programs(stage);
    fgi_resident_destroy(stage->resident);
    stage->resident = NULL;
    stage->spec = (fgi_stage_spec){0};
    stage->metrics = (fgi_metrics){0};
}

void fgi_stage_destroy(fgi_stage *stage)
{
    if (stage == NULL)
        return;
    fgi_stage_empty(stage);
    fgi_history_fini(&stage->history);
    fgi_history_fini(&stage->update_history);
    fgi_free(stage);
}

/* ---- input ----------------------------------------------------------------------------------- */

int64_t fgi_stage_batches(const fgi_stage *stage, int64_t limit)
{
    const int64_t count = fg_loader_batch_count(stage->loader);
    return limit > 0 && (limit < count || count < 0) ? limit : count;
}

void fgi_stage_watch_input(fgi_stage *stage)
{
    stage->loaded = fg_loader_stats_of(stage->loader);
    (void)fgi_loader_cpu(stage->loader, stage->cpu_before_ns);
}

void fgi_stage_report_input(fgi_stage *stage, fg_input_report *out)
{
    const bool has_loader = stage->loader != NULL;
    const fg_loader_stats now = has_loader ? fg_loader_stats_of(stage->loader) : stage->loaded;
    int64_t now_ns[FGI_MOST_WORKERS];
    const int count = has_loader ? fgi_loader_cpu(stage->loader, now_ns) : 0;
    fgi_input_report_load(out, &stage->loaded, &now);
    for (int i = 0; i < count; i++)
        stage->cpu_s[i] = (double)(now_ns[i] - stage->cpu_before_ns[i]) * 1e-9;
    out->worker_cpu_s = count > 0 ? stage->cpu_s : NULL;
}

/* ---- sums ------------------------------------------------------------------------------------ */

size_t fgi_stage_sum_count(const fgi_stage *stage)
{
    return 2 * stage->metrics.count + FGI_CLASS_COUNTS * (size_t)stage->metrics.classes +
           (stage->kind == FGI_TRAIN ? FGI_HEALTH : 0);
}

fg_type fgi_stage_sums_type(const fgi_stage *stage)
{
    return (fg_type){.dtype = FG_F32, .rank = 1, .dim = {(int64_t)fgi_stage_sum_count(stage)}};
}

void fgi_stage_restart_sums(fgi_stage *stage) { stage->fresh.value.u32 = 1; }

fg_status fgi_stage_clear_sums(fgi_stage *stage, fg_error *err)
{
    fgi_stage_restart_sums(stage);
    fgi_sample_rows_clear(&stage->rows);
    stage->rows.client = stage->client;
    if (stage->kind == FGI_PREDICT || stage->sums != NULL)
        return FG_OK;
    const fg_type type = fgi_stage_sums_type(stage);
    float *zeros = fgi_calloc(fgi_stage_sum_count(stage), sizeof *zeros);
    if (zeros == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_array_upload(stage->client, &type, NULL, zeros, FGI_UPLOAD_COPY,
                                              &stage->sums, NULL, err);
    fgi_free(zeros);
    return status;
}

fg_status fgi_stage_set_sums(fgi_stage *stage, const float *sums, fg_error *err)
{
    const fg_type type = fgi_stage_sums_type(stage);
    fg_array *array = NULL;
    FGI_TRY(fgi_array_upload(stage->client, &type, NULL, sums, FGI_UPLOAD_COPY, &array, NULL, err));
    fgi_stage_drop_sums(stage);
    stage->sums = array;
    stage->fresh.value.u32 = 0;
    return FG_OK;
}

fg_status fgi_stage_read_sums(const fgi_stage *stage, float *out, fgi_event **out_arrived,
                              fg_error *err)
{
    return fgi_array_download(stage->sums, out, fgi_stage_sum_count(stage) * sizeof(float),
                              out_arrived, err);
}

void fgi_stage_drop_sums(fgi_stage *stage)
{
    fg_array_release(stage->sums);
    stage->sums = NULL;
}
/* ---- launching ------------------------------------------------------------------------------- */

fgi_sharding fgi_batch_sharding(const fg_client *client)
{
    return fgi_sharding_of_batch(fgi_client_mesh(client));
}

fgi_sharding fgi_stage_input_sharding(const fgi_stage *stage)
{
    const fgi_sharding batch = fgi_batch_sharding(stage->client);
    return stage->spec.launch_steps == 0 ? batch : fgi_sharding_stacked(&batch);
}

void fgi_stage_set_batch(fgi_stage *stage, const fg_host_batch *batch, uint64_t seed)
{
    const fgi_key run = fgi_key_fold_text(fgi_key_from_seed(seed), "samples");
    const fgi_key key = fgi_key_fold(run, (uint64_t)batch->epoch);
    stage->valid.value.s32 = (int32_t)batch->valid;
    for (int i = 0; i < 2; i++)
        stage->sample_key[i].value.u32 = key.word[i];
}

void fgi_stage_set_samples(fgi_stage *stage, int64_t number, const fg_host_batch *batch)
{
    const int64_t rows = stage->spec.batch_size;
    for (int64_t i = 0; stage->samples != NULL && i < rows; i++)
        stage->samples[number * rows + i] = (uint32_t)batch->indices[i];
}

fg_status fgi_stage_upload_samples(const fgi_stage *stage, fg_array **out, fg_error *err)
{
    const int64_t rows = stage->spec.batch_size, steps = stage->spec.launch_steps;
    const fg_type type = steps == 0 ? (fg_type){.dtype = FG_U32, .rank = 1, .dim = {rows}}
                                    : (fg_type){.dtype = FG_U32, .rank = 2, .dim = {steps, rows}};
    const fgi_sharding sharding = fgi_stage_input_sharding(stage);
    *out = NULL;
    if (stage->samples == NULL)
        return FG_OK;
    return fgi_array_upload(stage->client, &type, &sharding, stage->samples, FGI_UPLOAD_COPY, out,
                            NULL, err);
}
fg_status fgi_stage_launch(fgi_stage *stage, fg_array *const *fields, fg_array *samples,
                           fg_array **out_prediction, fgi_event **out_done, fg_error *err)
{
    fg_array *feeds[FG_MAX_FIELDS + 2] = {NULL}, *out[2] = {NULL};
    size_t count = (size_t)stage->spec.field_count;
    const bool has_sums = stage->kind != FGI_PREDICT;
    memcpy(feeds, fields, count * sizeof feeds[0]);
    if (has_sums)
        feeds[count++] = stage->sums;
    if (samples != NULL)
        feeds[count++] = samples;
    if (stage->has_rows)
        FGI_TRY(fgi_sample_rows_reserve(
            &stage->rows, stage->metrics.is_multilabel ? 0 : stage->metrics.classes, err));
    FGI_TRY(fgi_step_program_launch(stage->program, feeds, count, out, out_done, err));
    if (!has_sums) {
        *out_prediction = out[0];
        return FG_OK;
    }
    if (stage->has_rows)
        fgi_sample_rows_add(&stage->rows, out[1], stage->valid.value.s32);
    fgi_stage_drop_sums(stage);
    stage->sums = out[0];
    stage->fresh.value.u32 = 0;
    return FG_OK;
}
