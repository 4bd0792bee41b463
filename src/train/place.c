/* place.c - the position within an epoch of the given data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/place.h"

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "train/fit_settings.h"
#include "train/trainer.h"

/* Checks that the position within the epoch refers to these data. */
static fg_status check_place(const fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const int64_t count = fg_dataset_count(data->train), buffer = fgi_shuffle_buffer(data);
    if (trainer->cursor.position == 0)
        return FG_OK;
    if (trainer->cursor.sample_count != count && (trainer->cursor.sample_count < 0 || count < 0))
        return fgi_fail(err, FG_EINVAL,
                        "the checkpoint is %lld sample%s into an epoch of other data\n"
                        "to train on other data, start from the weights instead",
                        (long long)trainer->cursor.position, fgi_s(trainer->cursor.position));
    if (trainer->cursor.sample_count != count)
        return fgi_fail(err, FG_EINVAL,
                        "the checkpoint is %lld sample%s into an epoch of %lld, but the data have "
                        "%lld\nto train on other data, start from the weights instead",
                        (long long)trainer->cursor.position, fgi_s(trainer->cursor.position),
                        (long long)trainer->cursor.sample_count, (long long)count);
    if (trainer->cursor.shuffle_buffer != buffer)
        return fgi_fail(err, FG_EINVAL,
                        "the checkpoint is within an epoch shuffled with shuffle_buffer "
                        "%lld, not %lld: the sample order would differ",
                        (long long)trainer->cursor.shuffle_buffer, (long long)buffer);
    return FG_OK;
}

/* Finds the position within the epoch in the given data, whose batch size may have changed. */
fg_status fgi_place_find(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    int64_t size = 0;
    FGI_TRY(fgi_batch_size(trainer, data, &size, err));
    FGI_TRY(check_place(trainer, data, err));
    if (trainer->call.result.checkpoint[0] != '\0' && trainer->cursor.batch_size > 0 &&
        trainer->cursor.batch_size != size)
        fgi_log(FG_LOG_WARNING,
                "%s was trained with batches of %lld, but the run has batches of %lld",
                trainer->call.result.checkpoint, (long long)trainer->cursor.batch_size,
                (long long)size);
    if (trainer->cursor.position > 0 && trainer->cursor.batch_size != size)
        trainer->cursor.epoch_batches = (trainer->cursor.position + size - 1) / size;
    trainer->cursor.sample_count = fg_dataset_count(data->train);
    trainer->cursor.batch_size = size;
    trainer->cursor.shuffle_buffer = fgi_shuffle_buffer(data);
    trainer->fit.drop_last = data->drop_last;
    return FG_OK;
}

/* Whether an epoch is over at this position. */
bool fgi_place_ends_epoch(const fg_trainer *trainer, const fgi_cursor *cursor)
{
    const int64_t limit = trainer->fit.train_limit;
    const int64_t left = cursor->sample_count - cursor->position;
    if (limit > 0 && cursor->epoch_batches >= limit)
        return true;
    if (cursor->sample_count < 0)
        return cursor->has_read_epoch;
    return left <= 0 || (trainer->fit.drop_last && left < cursor->batch_size);
}

/* The position after this batch. */
fgi_cursor fgi_place_after(const fgi_cursor *cursor, const fg_host_batch *batch)
{
    fgi_cursor next = *cursor;
    next.has_read_epoch = batch->is_last;
    next.position = batch->next_position;
    next.epoch_batches++;
    return next;
}
