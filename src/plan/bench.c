/* bench.c - the time of a training step: a trial, whose steps are waited for one by one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/bench.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/thread.h"
#include "input/json_file.h"

enum { WARM_UP = 2, STEPS = 10 };

typedef struct bench {
    fg_trainer *trainer;
    const fg_fit_data *data;
    int64_t steps;
    bool has_profile;
    json_t *out;
} bench;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static fg_status time_steps(fgi_trial *trial, int64_t steps, double *out_median_s, fg_error *err)
{
    double loss, *seconds = fgi_calloc((size_t)steps, sizeof *seconds);
    fg_status status = seconds != NULL ? FG_OK : fgi_no_memory(err);
    for (int64_t i = -WARM_UP; status == FG_OK && i < steps; i++) {
        const double start = fgi_now_s();
        status = fgi_trial_step(trial, &loss, err);
        if (i >= 0)
            seconds[i] = fgi_now_s() - start;
    }
    if (status == FG_OK) {
        qsort(seconds, (size_t)steps, sizeof *seconds, ascending);
        *out_median_s = seconds[steps / 2];
    }
    fgi_free(seconds);
    return status;
}

static double flops_of(const fgi_stage *stage)
{
    const fgi_matmul_flops *flops = fgi_step_program_flops(stage->program);
    double sum = 0;
    for (size_t i = 0; i < sizeof flops->of / sizeof flops->of[0]; i++)
        sum += flops->of[i];
    return sum;
}

static fg_status run(void *self, fgi_trial *trial, fg_error *err)
{
    bench *b = self;
    double median_s;
    fg_device_info device;
    fg_client *client = fg_trainer_client(b->trainer);
    FGI_TRY(fgi_trial_start(trial, b->data, 1, err));
    FGI_TRY(time_steps(trial, b->steps, &median_s, err));
    const fgi_stage *stage = fgi_trial_stage(trial);
    const int64_t batches =
        stage->accumulator != NULL ? stage->accumulator->batches : 1; /* of the last step */
    const double samples = (double)(stage->spec.batch_size * batches);
    const double flops = flops_of(stage) * (double)batches;
    FGI_TRY(fg_device_info_at(client, 0, &device, err));
    b->out = json_pack("{s:s, s:i, s:I, s:f, s:f, s:f, s:o}", "device", device.kind, "devices",
                       fg_client_info_of(client)->device_count, "steps", (json_int_t)b->steps,
                       "step_ms", median_s * 1e3, "samples_per_s", samples / median_s, "gflops",
                       flops / median_s * 1e-9, "profile", json_null());
    if (b->out == NULL)
        return fgi_no_memory(err);
    return b->has_profile ? fgi_step_times_put(trial, client, b->steps, b->out, err) : FG_OK;
}

static fg_status check(const fg_bench_options *o, fg_error *err)
{
    FGI_TRY_RESERVED(fg_bench_options, o, err);
    if (o->steps < 0 || o->rows < 0)
        return fgi_fail(err, FG_EINVAL,
                        "bench: expected steps and rows of 0 (the default) or more");
    return FG_OK;
}

fg_status fg_bench_step(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                        const fg_bench_options *options, char **out_json, fg_error *err)
{
    static const fg_bench_options defaults;
    const fg_bench_options *o = options != NULL ? options : &defaults;
    fgi_buf text = {0};
    bench b = {.trainer = trainer,
               .data = data,
               .steps = o->steps > 0 ? o->steps : STEPS,
               .has_profile = o->profile};
    *out_json = NULL;
    FGI_TRY(check(o, err));
    fg_status status = fgi_trial_run(trainer, task, data, true, run, &b, err);
    if (status == FG_OK && !fgi_json_write(b.out, JSON_INDENT(2) | JSON_REAL_PRECISION(9), &text))
        status = fgi_no_memory(err);
    if (status == FG_OK)
        *out_json = fgi_buf_take(&text);
    json_decref(b.out);
    fgi_buf_fini(&text);
    return status;
}
