/* cursor.c - the loop's position in state.json: each member is named here, once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "train/state/cursor.h"

#define INT(key, member, ...)                                                                      \
    {                                                                                              \
        key, offsetof(fgi_cursor, member), FGI_MEMBER_INT, __VA_ARGS__                             \
    }
#define FLAG(member)                                                                               \
    {                                                                                              \
#member, offsetof(fgi_cursor, member), FGI_MEMBER_FLAG, 0, false                           \
    }
static const fgi_member members[] = {
    INT("step", step, 0, true),
    INT("epoch", epoch, 0, true),
    INT("position", position, 0, true),
    INT("epoch_batches", epoch_batches, 0, true),
    INT("samples", sample_count, -1, false),
    INT("batch_size", batch_size, 0, false),
    INT("shuffle_buffer", shuffle_buffer, 0, false),
    INT("validated_step", validated_step, -1, false),
    INT("total_steps", total_steps, 0, false),
    INT("log_lines", log_lines, -1, false),
    FLAG(owes_validation),
    FLAG(has_read_epoch),
};
enum { MEMBERS = sizeof members / sizeof members[0] };

/* ---- members of a struct in JSON ------------------------------------------------------------- */

bool fgi_members_save(const fgi_member *rows, size_t count, const void *from, json_t *object)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const void *at = (const char *)from + rows[i].offset;
        json_t *value = rows[i].kind == FGI_MEMBER_INT    ? json_integer(*(const int64_t *)at)
                        : rows[i].kind == FGI_MEMBER_REAL ? json_real(*(const double *)at)
                        : *(const bool *)at               ? json_true()
                                                          : NULL;
        if (value != NULL || rows[i].kind != FGI_MEMBER_FLAG)
            ok = json_object_set_new(object, rows[i].key, value) == 0;
    }
    return ok;
}

/* A member whose key is missing is unchanged, but for a flag. */
static bool load_member(const fgi_member *row, const json_t *value, void *at)
{
    if (row->kind == FGI_MEMBER_FLAG)
        *(bool *)at = json_is_true(value);
    else if (value == NULL)
        return !row->is_needed;
    else if (row->kind == FGI_MEMBER_REAL && json_is_number(value))
        *(double *)at = json_number_value(value);
    else if (row->kind == FGI_MEMBER_INT && json_is_integer(value) &&
             json_integer_value(value) >= row->least)
        *(int64_t *)at = json_integer_value(value);
    else
        return false;
    return true;
}

const fgi_member *fgi_members_load(const fgi_member *rows, size_t count, const json_t *object,
                                   void *out)
{
    for (size_t i = 0; i < count; i++)
        if (!load_member(&rows[i], json_object_get(object, rows[i].key),
                         (char *)out + rows[i].offset))
            return &rows[i];
    return NULL;
}

/* ---- the cursor ------------------------------------------------------------------------------ */

fgi_cursor fgi_cursor_start(void) { return (fgi_cursor){.validated_step = -1, .log_lines = -1}; }

bool fgi_cursor_save(const fgi_cursor *cursor, const fgi_best_rule *rule, json_t *object)
{
    return fgi_members_save(members, MEMBERS, cursor, object) &&
           fgi_best_list_save(&cursor->top, rule, object);
}

fg_status fgi_cursor_load(fgi_cursor *cursor, const json_t *object, const fgi_best_rule *rule,
                          const char *path, fg_error *err)
{
    fgi_cursor loaded = fgi_cursor_start();
    const fgi_member *wrong = fgi_members_load(members, MEMBERS, object, &loaded);
    if (wrong != NULL)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: '%s' in its state.json is missing or not an integer of at least %lld",
                        path, wrong->key, (long long)wrong->least);
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
