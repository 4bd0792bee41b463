/* plan_step.c - compiles one training step for one machine: a breakdown of its memory, its matmuls
 * and collectives, and the compiler's estimate of its time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/plan.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "plan/analysis.h"
#include "plan/hlo_counts.h"
#include "base/print.h"
#include "train/trial.h"

static int64_t least0(int64_t a) { return a > 0 ? a : 0; }

/* ---- a step that does not fit ---------------------------------------------------------------- */

/* Parses "20.61G" after `words`; -1 if it is not found. */
static int64_t read_size(const char *text, const char *words)
{
    static const char units[] = "KMGT";
    const char *at = strstr(text, words);
    if (at == NULL)
        return -1;
    char *end;
    double value = fgi_strtod(at + strlen(words), &end);
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    for (int i = 0; unit != NULL && i <= (int)(unit - units); i++)
        value *= 1024;
    return value > 0 && value < 1e18 ? (int64_t)value : -1;
}

/* libtpu reports the required and available memory, in one of two formats depending on its version.
 */
static void read_shortage(const fg_error *why, fg_plan *out)
{
    out->hbm_needed_bytes = read_size(why->message, "required for HLO temporaries (");
    if (out->hbm_needed_bytes < 0)
        out->hbm_needed_bytes = read_size(why->message, "Used ");
    const int64_t available = read_size(why->message, "exceeds available HBM (");
    if (out->hbm_available_bytes < 0)
        out->hbm_available_bytes = available;
    const int64_t need = out->hbm_needed_bytes, limit = out->hbm_available_bytes;
    (void)snprintf(out->reason, sizeof out->reason,
                   "the step requires %s of device memory, but only %s is available",
                   need > 0 ? fgi_bytes_words((double)need) : "more",
                   limit > 0 ? fgi_bytes_words((double)limit) : "it has");
}

/* ---- a step that fits ------------------------------------------------------------------------ */

static fg_status analyze(const fg_trainer *trainer, const fg_fit_data *data, const char *program,
                         size_t size, fg_plan *out, fg_error *err)
{
    fg_device_info device;
    fgi_plan_analysis analysis;
    const int64_t samples = fg_dataset_count(data->train);
    fgi_plan_machine machine = {.devices = (int)out->partitions, .batch = out->batch_size};
    if (fg_device_info_at(fg_trainer_client(trainer), 0, &device, NULL) == FG_OK)
        machine.chip = fg_chip_find(device.kind);
    if (samples > 0)
        machine.steps_per_epoch = (samples + out->global_batch_size - 1) / out->global_batch_size;
    fgi_buf json = {0};
    fg_status status = fgi_plan_analyze(program, size, &machine, &analysis, err);
    if (status == FG_OK && analysis.total.cycles > 0) {
        out->cycles = analysis.total.cycles;
        out->step_s = analysis.step_s >= 0 ? analysis.step_s : (double)NAN;
        fgi_plan_put_json(&analysis, &json);
        status = fgi_buf_status(&json, err);
        out->analysis_json = fgi_buf_take(&json);
    }
    fgi_buf_fini(&json);
    fgi_plan_analysis_fini(&analysis);
    return status;
}

/* Counts of the program: matmuls, collectives, and the compiler's cycles. */
static fg_status read_program(const fg_trainer *trainer, const fg_fit_data *data,
                              const fgi_executable *executable, fgi_hlo_counts *counts,
                              fg_plan *out, fg_error *err)
{
    char *program = NULL;
    size_t size = 0;
    fgi_hlo *hlo = NULL;
    FGI_TRY(fgi_executable_optimized(executable, &program, &size, err));
    fg_status status = fgi_hlo_read(program, size, &hlo, err);
    if (status == FG_OK) {
        fgi_hlo_count(hlo, counts);
        status = analyze(trainer, data, program, size, out, err);
    }
    fgi_hlo_free(hlo);
    fgi_free(program);
    return status;
}

static void put_memory(const fgi_memory *m, const fgi_hlo_counts *counts,
                       const fgi_program_cost *cost, fg_plan *out)
{
    out->parameter_bytes = m->parameters;
    out->optimizer_bytes = m->optimizer;
    out->batch_bytes = least0(counts->parameter_bytes - m->parameters - m->optimizer);
    out->padding_bytes = least0(cost->argument_bytes - counts->parameter_bytes);
    out->activation_bytes = m->activations;
    out->program_bytes = m->program;
    out->hbm_needed_bytes = m->need;
    out->fits = out->hbm_available_bytes < 0 || m->need <= out->hbm_available_bytes;
}

static void put_operations(const fgi_hlo_counts *counts, fg_plan *out)
{
    for (int k = 0; k < FG_COLLECTIVES; k++) {
        out->collectives[k] = counts->collectives[k];
        out->collective_bytes[k] = counts->collective_bytes[k];
    }
    for (int d = 0; d < FGI_DTYPES; d++) {
        const int here = counts->dots[d] + counts->convs[d];
        out->matmuls += here;
        if (d == FG_BF16 || d == FG_F16)
            out->matmuls_16bit += here;
    }
}

static fg_status read_numbers(const fg_trainer *trainer, const fg_fit_data *data,
                              const fgi_executable *executable, fg_plan *out, fg_error *err)
{
    int64_t replicas;
    fgi_memory memory;
    fgi_hlo_counts counts;
    const fgi_program_cost cost = fgi_executable_cost(executable);
    char *serialized = NULL;
    size_t size = 0;
    FGI_TRY(fgi_trainer_memory(trainer, &memory, err));
    FGI_TRY(fgi_executable_counts(executable, &replicas, &out->partitions, err));
    FGI_TRY(read_program(trainer, data, executable, &counts, out, err));
    put_memory(&memory, &counts, &cost, out);
    put_operations(&counts, out);
    const bool has_flops = cost.flops >= 0 || counts.kernel_flops > 0;
    out->flops = has_flops ? fmax(cost.flops, 0) + counts.kernel_flops : (double)NAN;
    out->accessed_bytes = cost.bytes_accessed >= 0 ? cost.bytes_accessed : (double)NAN;
    (void)fgi_executable_fingerprint(executable, out->fingerprint);
    if (fgi_executable_serialize(executable, &serialized, &size, NULL) == FG_OK)
        out->serialized_bytes = (int64_t)size;
    fgi_free(serialized);
    if (!out->fits)
        (void)snprintf(
            out->reason, sizeof out->reason,
            "it compiles, but arguments, outputs and program together exceed the device memory");
    return FG_OK;
}

fg_status fg_plan_step(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                       fg_plan *out, fg_error *err)
{
    fg_error why = {0};
    fg_device_info device;
    const fgi_executable *executable = NULL;
    *out = (fg_plan){.hbm_needed_bytes = -1,
                     .hbm_available_bytes = -1,
                     .parameter_bytes = -1,
                     .optimizer_bytes = -1,
                     .batch_bytes = -1,
                     .padding_bytes = -1,
                     .activation_bytes = -1,
                     .program_bytes = -1,
                     .partitions = -1,
                     .flops = (double)NAN,
                     .accessed_bytes = (double)NAN,
                     .cycles = (double)NAN,
                     .step_s = (double)NAN,
                     .serialized_bytes = -1};
    FGI_TRY(fg_trainer_connect(trainer, err));
    const fg_client *client = fg_trainer_client(trainer);
    const double before = fg_client_stats_of(client).compile_s;
    FGI_TRY(fgi_batch_size(trainer, data, &out->global_batch_size, err));
    out->batch_size = out->global_batch_size / fgi_client_mesh(client)->batch_shards;
    if (fg_device_info_at(client, 0, &device, NULL) == FG_OK)
        out->hbm_available_bytes = device.memory_limit_bytes;
    const fg_status status = fgi_trainer_compile(trainer, task, FGI_TRAIN, data, &executable, &why);
    out->compile_s = fg_client_stats_of(client).compile_s - before;
    if (status == FG_EDEVMEM) {
        read_shortage(&why, out);
        return FG_OK;
    }
    if (status != FG_OK) {
        if (err != NULL)
            *err = why;
        return status;
    }
    return read_numbers(trainer, data, executable, out, err);
}

void fg_plan_fini(fg_plan *plan)
{
    fgi_free(plan->analysis_json);
    plan->analysis_json = NULL;
}
