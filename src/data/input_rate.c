/* input_rate.c - measures the samples per second that a loader delivers to a consumer that never
 * delays it. It uses the real loader, so its threads, slots and reader cost the same as in
 * training.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/error.h"
#include "base/reserved.h"
#include "base/thread.h"
#include "data/dataset.h"

/* The fraction of the time during which the first batches may be excluded. */
static const double warm_up_part = 0.25;
enum { USUAL_SLOTS = 4 };

/* Counts since `begin_ns`. */
typedef struct tally {
    int64_t begin_ns, batches, samples;
    double seconds;
} tally;

static void begin(tally *t) { *t = (tally){.begin_ns = fgi_now_ns()}; }

/* Takes the next batch and releases it; at the end of an epoch, continues with the next one. */
static fg_status take(fg_loader *loader, int64_t *out_valid, fg_error *err)
{
    const fg_host_batch *batch = NULL;
    FGI_TRY(fg_loader_next(loader, &batch, err));
    if (batch == NULL)
        FGI_TRY(fg_loader_next(loader, &batch, err));
    if (batch == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "the dataset has no batch to deliver: expected at least one sample, or a "
                        "full batch with drop_last");
    *out_valid = batch->valid;
    fg_loader_recycle(loader, batch);
    return FG_OK;
}

static fg_status take_counted(fg_loader *loader, tally *t, fg_error *err)
{
    int64_t valid = 0;
    FGI_TRY(take(loader, &valid, err));
    t->samples += valid;
    t->batches++;
    t->seconds = (double)(fgi_now_ns() - t->begin_ns) * 1e-9;
    return FG_OK;
}

/* Measures for `seconds`. Once each slot has been filled, if that is early enough, it restarts
 * without the batches that are ready at that moment, because they were read before. */
static fg_status count(fg_loader *loader, int64_t slots, double seconds, tally *t, fg_error *err)
{
    begin(t);
    do {
        FGI_TRY(take_counted(loader, t, err));
    } while (t->batches < slots && t->seconds < seconds * warm_up_part);
    if (t->seconds < seconds * warm_up_part) {
        const int64_t ready = fg_loader_stats_of(loader).ready;
        int64_t valid = 0;
        begin(t);
        for (int64_t i = 0; i < ready; i++)
            FGI_TRY(take(loader, &valid, err));
    }
    while (t->seconds < seconds)
        FGI_TRY(take_counted(loader, t, err));
    return FG_OK;
}

fg_status fg_input_rate_measure(fg_dataset *dataset, const fg_loader_options *options,
                                double seconds, fg_input_rate *out, fg_error *err)
{
    fg_loader *loader = NULL;
    tally t;
    *out = (fg_input_rate){0};
    FGI_TRY_RESERVED(fg_loader_options, options, err);
    if (!(seconds > 0) || !isfinite(seconds))
        return fgi_fail(err, FG_EINVAL, "seconds is %g: expected a number greater than 0", seconds);
    fg_loader_options endless = {0};
    if (options != NULL)
        endless = *options;
    endless.run_ahead = true;
    FGI_TRY(fg_loader_create(dataset, &endless, &loader, err));
    const int64_t slots = endless.prefetch > 0 ? endless.prefetch : USUAL_SLOTS;
    const fg_status status = count(loader, slots, seconds, &t, err);
    const fg_loader_stages stages = fg_loader_stats_of(loader).stages;
    fg_loader_destroy(loader);
    if (status != FG_OK)
        return status;
    int64_t sample_bytes = 0;
    for (int f = 0; f < dataset->field_count; f++)
        sample_bytes += (int64_t)dataset->row_bytes[f];
    const double rate = (double)t.samples / t.seconds;
    *out = (fg_input_rate){.samples_per_s = rate,
                           .bytes_per_s = rate * (double)sample_bytes,
                           .sample_bytes = sample_bytes,
                           .samples = t.samples,
                           .seconds = t.seconds,
                           .stages = stages};
    return FG_OK;
}
