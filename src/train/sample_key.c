/* sample_key.c - the key of random numbers that depend on the sample: of augmentation.
 *
 * The key of a run and an epoch is two scalars of the launch. The indices of the samples are
 * uploaded with the batch, as the last argument of the program, if the step uses them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "op/op.h"
#include "train/stage_parts.h"
#include "train/step.h"
#include "train/strategy.h"
#include "train/trainer.h"

static fg_type samples_type(const fgi_stage *stage)
{
    return (fg_type){.dtype = FG_U32, .rank = 1, .dim = {stage->spec.batch_size}};
}

static fg_tensor key_word(fg_step *step, int word)
{
    fg_scalar *scalar = &step->stage->sample_key[word];
    scalar->dtype = FG_U32;
    return fg_reshape(fg_scalar_value(step->trace, scalar), FG_DIMS(1));
}

fg_sample_key fg_batch_key(const fg_batch *batch)
{
    fg_step *step = batch->step;
    fgi_stage *stage = step->stage;
    const fg_type type = samples_type(stage);
    if (step->key.sample.handle != 0)
        return step->key;
    if (stage->samples == NULL)
        stage->samples = fgi_calloc((size_t)stage->spec.batch_size, sizeof *stage->samples);
    if (stage->samples == NULL) {
        const fg_tensor poison = fgi_trace_fail(step->trace, FG_ENOMEM, "out of memory");
        return (fg_sample_key){.key = poison, .sample = poison};
    }
    const int feed = stage->spec.field_count + (stage->kind != FGI_PREDICT ? 1 : 0);
    const fg_tensor words[] = {key_word(step, 0), key_word(step, 1)};
    step->key.key = fg_concat(words, 2, 0);
    step->key.sample =
        fg_batch_axis(fgi_trace_feed_sharded(step->trace, feed, &type, &step->sharding), 0);
    return step->key;
}

void fgi_stage_set_sample_key(fgi_stage *stage, uint64_t seed, int64_t epoch)
{
    const fgi_key run = fgi_key_fold_text(fgi_key_from_seed(seed), "samples");
    const fgi_key key = fgi_key_fold(run, (uint64_t)epoch);
    for (int i = 0; i < 2; i++)
        stage->sample_key[i].value.u32 = key.word[i];
}

fg_status fgi_stage_upload_samples(fg_trainer *trainer, fgi_stage *stage,
                                   const fg_host_batch *batch, fg_array **out, fg_error *err)
{
    const fg_type type = samples_type(stage);
    const fgi_sharding sharding = fgi_batch_sharding(trainer);
    *out = NULL;
    if (stage->samples == NULL)
        return FG_OK;
    for (int64_t i = 0; i < stage->spec.batch_size; i++)
        stage->samples[i] = (uint32_t)batch->indices[i];
    return fgi_array_upload(trainer->client, &type, &sharding, stage->samples, FGI_UPLOAD_COPY, out,
                            NULL, err);
}
