/* batch_try.c - one training step with the batch that was found by compiling, or with the next
 * smaller one that the devices can run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/tuner.h>

#include "base/error.h"
#include "base/reserved.h"
#include "pjrt/pjrt.h"
#include "train/trial.h"

/* The next smaller size: a sixteenth less, above 16 a multiple of 8, as fg_trainer_find_batch. */
static int64_t smaller(int64_t batch)
{
    const int64_t less = batch - (batch >= 32 ? batch / 16 : 1);
    return less > 16 ? less / 8 * 8 : less;
}

typedef struct attempt {
    const fg_trainer *trainer;
    const fg_fit_data *data;
    const fg_batch_find_options *options; /* may be NULL */
    fg_batch_fit *fit;
} attempt;

/* Runs the step with the batch that was found, and with smaller ones while the devices run out of
 * memory. */
static fg_status run_largest(void *self, fgi_trial *trial, fg_error *err)
{
    const attempt *a = self;
    fg_batch_fit *fit = a->fit;
    fg_fit_data own = *a->data;
    const int shards = fgi_client_mesh(fg_trainer_client(a->trainer))->batch_shards;
    double loss;
    own.global_batch_size = 0;
    while (fit->batch_size > 0 && !fit->was_run) {
        fgi_memory memory = {.need = -1};
        own.batch_size = fit->batch_size;
        fg_status status = fgi_trial_start(trial, &own, 0, err);
        if (status == FG_OK)
            status = fgi_trial_step(trial, &loss, err);
        if (status != FG_OK && status != FG_EDEVMEM)
            return status;
        fit->was_run = status == FG_OK;
        if (fit->was_run && fgi_trainer_memory(a->trainer, &memory, NULL) == FG_OK)
            fit->need_bytes = memory.need;
        if (a->options != NULL && a->options->tried != NULL)
            a->options->tried(a->options->self, fit->batch_size, memory.need, fit->was_run);
        if (fit->was_run)
            return FG_OK;
        fit->batch_size = smaller(fit->batch_size);
        fit->global_batch_size = fit->batch_size * shards;
        fit->need_bytes = -1;
        fit->all_fit = false;
    }
    return FG_OK;
}

fg_status fg_tuner_try_batch(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                             const fg_batch_find_options *options, fg_batch_fit *fit, fg_error *err)
{
    attempt a = {.trainer = trainer, .data = data, .options = options, .fit = fit};
    FGI_TRY_RESERVED(fg_batch_find_options, options, err);
    if (fit->batch_size < 1)
        return fgi_fail(err, FG_EINVAL, "batch_size is %lld: expected at least 1",
                        (long long)fit->batch_size);
    fit->was_run = false;
    return fgi_trial_run(trainer, task, data, false, run_largest, &a, err);
}
