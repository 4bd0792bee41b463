/* cursor.c - the loop's position in state.json: each member is named here, once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "train/state/cursor.h"

/* The integers: key, offset, minimum, and whether a checkpoint must contain it. */
static const struct {
    const char *key;
    size_t offset;
    int64_t least;
    bool is_needed;
} numbers[] = {
    {"step", offsetof(fgi_cursor, step), 0, true},
    {"epoch", offsetof(fgi_cursor, epoch), 0, true},
    {"position", offsetof(fgi_cursor, position), 0, true},
    {"epoch_batches", offsetof(fgi_cursor, epoch_batches), 0, true},
    {"samples", offsetof(fgi_cursor, sample_count), -1, false},
    {"batch_size", offsetof(fgi_cursor, batch_size), 0, false},
    {"shuffle_buffer", offsetof(fgi_cursor, shuffle_buffer), 0, false},
    {"validated_step", offsetof(fgi_cursor, validated_step), -1, false},
    {"total_steps", offsetof(fgi_cursor, total_steps), 0, false},
    {"log_lines", offsetof(fgi_cursor, log_lines), -1, false},
};

static const struct {
    const char *key;
    size_t offset;
} flags[] = {
    {"owes_validation", offsetof(fgi_cursor, owes_validation)},
    {"has_read_epoch", offsetof(fgi_cursor, has_read_epoch)},
};

enum { NUMBERS = sizeof numbers / sizeof numbers[0], FLAGS = sizeof flags / sizeof flags[0] };

fgi_cursor fgi_cursor_start(void) { return (fgi_cursor){.validated_step = -1, .log_lines = -1}; }

bool fgi_cursor_save(const fgi_cursor *cursor, const fgi_best_rule *rule, json_t *object)
{
    bool ok = true;
    for (size_t i = 0; i < NUMBERS; i++) {
        const int64_t value = *(const int64_t *)((const char *)cursor + numbers[i].offset);
        ok = ok && json_object_set_new(object, numbers[i].key, json_integer(value)) == 0;
    }
    for (size_t i = 0; i < FLAGS; i++)
        if (*(const bool *)((const char *)cursor + flags[i].offset))
            ok = ok && json_object_set_new(object, flags[i].key, json_true()) == 0;
    return ok && fgi_best_list_save(&cursor->top, rule, object);
}

/* Whether the object has a valid number; if the key is missing, *out is unchanged. */
static bool get_number(const json_t *object, size_t i, int64_t *out)
{
    const json_t *value = json_object_get(object, numbers[i].key);
    if (value == NULL)
        return !numbers[i].is_needed;
    if (!json_is_integer(value) || json_integer_value(value) < numbers[i].least)
        return false;
    *out = json_integer_value(value);
    return true;
}

fg_status fgi_cursor_load(fgi_cursor *cursor, const json_t *object, const fgi_best_rule *rule,
                          const char *path, fg_error *err)
{
    fgi_cursor loaded = fgi_cursor_start();
    for (size_t i = 0; i < NUMBERS; i++)
        if (!get_number(object, i, (int64_t *)((char *)&loaded + numbers[i].offset)))
            return fgi_fail(
                err, FG_EFORMAT,
                "%s: '%s' in its state.json is missing or not an integer of at least %lld", path,
                numbers[i].key, (long long)numbers[i].least);
    for (size_t i = 0; i < FLAGS; i++)
        *(bool *)((char *)&loaded + flags[i].offset) =
            json_is_true(json_object_get(object, flags[i].key));
    fgi_best_list_load(&loaded.top, rule, object);
    *cursor = loaded;
    return FG_OK;
}

/* ---- the position in the data ---------------------------------------------------------------- */

/* Checks that the position within the epoch refers to these data. */
static fg_status check_place(const fgi_cursor *c, int64_t count, int64_t buffer, fg_error *err)
{
    if (c->position == 0)
        return FG_OK;
    if (c->sample_count != count && (c->sample_count < 0 || count < 0))
        return fgi_fail(err, FG_EINVAL,
                        "the checkpoint is %lld sample%s into an epoch of other data\n"
                        "to train on other data, start from the weights instead",
                        (long long)c->position, fgi_s(c->position));
    if (c->sample_count != count)
        return fgi_fail(err, FG_EINVAL,
                        "the checkpoint is %lld sample%s into an epoch of %lld, but the data have "
                        "%lld\nto train on other data, start from the weights instead",
                        (long long)c->position, fgi_s(c->position), (long long)c->sample_count,
                        (long long)count);
    if (c->shuffle_buffer != buffer)
        return fgi_fail(err, FG_EINVAL,
                        "the checkpoint is within an epoch shuffled with shuffle_buffer "
                        "%lld, not %lld: the sample order would differ",
                        (long long)c->shuffle_buffer, (long long)buffer);
    return FG_OK;
}

int64_t fgi_shuffle_buffer(const fg_fit_data *data)
{
    if (data->train == NULL || !fg_dataset_is_source(data->train) || data->no_shuffle)
        return 0;
    return data->shuffle_buffer > 1 ? data->shuffle_buffer : 0;
}

fg_status fgi_cursor_place(fgi_cursor *c, const fg_fit_data *data, int64_t batch_size,
                           const char *checkpoint, fg_error *err)
{
    const int64_t count = fg_dataset_count(data->train), buffer = fgi_shuffle_buffer(data);
    FGI_TRY(check_place(c, count, buffer, err));
    if (checkpoint[0] != '\0' && c->batch_size > 0 && c->batch_size != batch_size)
        fgi_log(FG_LOG_WARNING,
                "%s was trained with batches of %lld, but the run has batches of %lld", checkpoint,
                (long long)c->batch_size, (long long)batch_size);
    if (c->position > 0 && c->batch_size != batch_size)
        c->epoch_batches = (c->position + batch_size - 1) / batch_size;
    c->sample_count = count;
    c->batch_size = batch_size;
    c->shuffle_buffer = buffer;
    return FG_OK;
}

bool fgi_cursor_ends_epoch(const fgi_cursor *c, int64_t limit, bool drop_last)
{
    const int64_t left = c->sample_count - c->position;
    if (limit > 0 && c->epoch_batches >= limit)
        return true;
    if (c->sample_count < 0)
        return c->has_read_epoch;
    return left <= 0 || (drop_last && left < c->batch_size);
}

fgi_cursor fgi_cursor_after(const fgi_cursor *cursor, const fg_host_batch *batch)
{
    fgi_cursor next = *cursor;
    next.has_read_epoch = batch->is_last;
    next.position = batch->next_position;
    next.epoch_batches++;
    return next;
}
