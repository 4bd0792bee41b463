/* cursor.c - the loop's position in state.json: each member is named here, once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/cursor.h"

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

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
