/* best_list.c - a short sorted list of metrics and the checkpoints that they belong to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/cursor.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "ckpt/manifest.h"
#include "input/json_file.h"

enum { STATE_LIMIT = 16 << 20 }; /* bytes of a state.json */

/* ---- the list -------------------------------------------------------------------------------- */

/* Of equal values, the earlier one counts as better. */
static bool is_as_good(const fgi_best_rule *rule, double a, double b)
{
    return rule->is_max ? a >= b : a <= b;
}

/* Removes `count` entries, starting with the i-th. */
static void drop(fgi_best_entry *entries, int *all, int i, int count)
{
    *all -= count;
    memmove(entries + i, entries + i + count, (size_t)(*all - i) * sizeof *entries);
}

/* The index of a step's entry; count: there is none. */
static int find(const fgi_best_entry *entries, int count, int64_t step)
{
    int i = 0;
    while (i < count && entries[i].step != step)
        i++;
    return i;
}

bool fgi_best_list_is_best(const fgi_best_list *list, const fgi_best_rule *rule, double value)
{
    bool is_best = list->count == 0 || is_as_good(rule, value, list->entry[0].value);
    for (int i = 0; i < list->waiting_count; i++)
        is_best = is_best && is_as_good(rule, value, list->waiting[i].value);
    return is_best && list->count + list->waiting_count > 0;
}

fgi_rank fgi_best_list_offer(fgi_best_list *list, const fgi_best_rule *rule, double value,
                             int64_t step)
{
    int better = 0;
    fgi_best_list_forget(list, step);
    for (int i = list->waiting_count - 1; i >= 0; i--)
        if (list->waiting[i].has_no_rank)
            drop(list->waiting, &list->waiting_count, i, 1);
    for (int i = 0; i < list->count; i++)
        better += list->entry[i].step != step && is_as_good(rule, list->entry[i].value, value);
    for (int i = 0; i < list->waiting_count; i++)
        better += is_as_good(rule, list->waiting[i].value, value);
    if (list->waiting_count == FGI_BEST_WAITING)
        drop(list->waiting, &list->waiting_count, 0, 1);
    list->waiting[list->waiting_count++] =
        (fgi_best_entry){.value = value, .step = step, .has_no_rank = better >= rule->most};
    if (better >= rule->most)
        return FGI_RANK_NONE;
    return better == 0 ? FGI_RANK_BEST : FGI_RANK_TOP;
}

static void add(fgi_best_list *list, const fgi_best_rule *rule, const fgi_best_entry *entry)
{
    int at = 0;
    while (at < list->count && is_as_good(rule, list->entry[at].value, entry->value))
        at++;
    if (at >= rule->most)
        return;
    if (list->count >= rule->most)
        list->count = rule->most - 1;
    memmove(&list->entry[at + 1], &list->entry[at],
            (size_t)(list->count - at) * sizeof list->entry[0]);
    list->entry[at] = *entry;
    list->count++;
}

void fgi_best_list_enter(fgi_best_list *list, const fgi_best_rule *rule, int64_t step,
                         const char *name)
{
    fgi_best_entry entry = {.step = step};
    const int i = find(list->entry, list->count, step);
    const int waiting = find(list->waiting, list->waiting_count, step);
    (void)snprintf(entry.name, sizeof entry.name, "%s", name);
    if (i < list->count) { /* the same state again, perhaps under another name */
        entry.value = list->entry[i].value;
        list->entry[i] = entry;
    }
    if (waiting < list->waiting_count) {
        if (i < list->count)
            drop(list->entry, &list->count, i, 1);
        entry.value = list->waiting[waiting].value;
        add(list, rule, &entry);
    }
    int done = 0;
    while (done < list->waiting_count && list->waiting[done].step <= step)
        done++;
    drop(list->waiting, &list->waiting_count, 0, done);
}

void fgi_best_list_forget(fgi_best_list *list, int64_t step)
{
    const int i = find(list->waiting, list->waiting_count, step);
    if (i < list->waiting_count)
        drop(list->waiting, &list->waiting_count, i, 1);
}

/* ---- in checkpoints -------------------------------------------------------------------------- */

/* Appends an object with these members; name NULL: without it. */
static bool put(json_t *array, const char *name, int64_t step, double value)
{
    json_t *row = json_object();
    return json_array_append_new(array, row) == 0 &&
           (name == NULL || json_object_set_new(row, "name", json_string(name)) == 0) &&
           json_object_set_new(row, "step", json_integer(step)) == 0 &&
           json_object_set_new(row, "value", json_real(value)) == 0;
}

bool fgi_best_list_save(const fgi_best_list *list, const fgi_best_rule *rule, json_t *object)
{
    json_t *top = json_array(), *waiting = json_array();
    json_t *monitor = json_string(rule->monitor); /* also NULL if it is not UTF-8 */
    bool ok =
        json_object_set_new(object, "monitor", monitor != NULL ? monitor : json_string("")) == 0 &&
        json_object_set_new(object, "mode", json_string(rule->is_max ? "max" : "min")) == 0;
    for (int i = 0; ok && i < list->count; i++)
        ok = put(top, list->entry[i].name, list->entry[i].step, list->entry[i].value);
    for (int i = 0; ok && i < list->waiting_count; i++)
        ok = put(waiting, NULL, list->waiting[i].step, list->waiting[i].value);
    ok = ok && (list->count == 0 || json_object_set(object, "top", top) == 0) &&
         (list->waiting_count == 0 || json_object_set(object, "waiting", waiting) == 0);
    json_decref(top);
    json_decref(waiting);
    return ok;
}

static bool is_of_rule(const fgi_best_rule *rule, const json_t *object)
{
    const char *monitor = json_string_value(json_object_get(object, "monitor"));
    const char *mode = json_string_value(json_object_get(object, "mode"));
    return monitor != NULL && strcmp(monitor, rule->monitor) == 0 &&
           (mode == NULL || (strcmp(mode, "max") == 0) == rule->is_max);
}

/* Whether a row has a step and a value. */
static bool get(const json_t *row, double *out_value, int64_t *out_step)
{
    const json_t *step = json_object_get(row, "step"), *value = json_object_get(row, "value");
    *out_value = json_number_value(value);
    *out_step = json_integer_value(step);
    return json_is_integer(step) && json_is_number(value);
}

void fgi_best_list_load(fgi_best_list *list, const fgi_best_rule *rule, const json_t *object)
{
    size_t i;
    const json_t *row;
    *list = (fgi_best_list){.count = 0};
    if (!is_of_rule(rule, object))
        return;
    json_array_foreach(json_object_get(object, "top"), i, row)
    {
        fgi_best_entry entry = {.step = 0};
        const char *name = json_string_value(json_object_get(row, "name"));
        if (name == NULL || strlen(name) >= sizeof entry.name || strchr(name, '/') != NULL ||
            !get(row, &entry.value, &entry.step))
            continue;
        (void)snprintf(entry.name, sizeof entry.name, "%s", name);
        add(list, rule, &entry);
    }
    json_array_foreach(json_object_get(object, "waiting"), i, row)
    {
        double value;
        int64_t step;
        if (get(row, &value, &step))
            (void)fgi_best_list_offer(list, rule, value, step);
    }
}

/* Whether the checkpoint is that of the entry. Its value is not known if it was not finite. */
static bool is_entry(const fgi_best_entry *entry, const char *monitor, const json_t *state)
{
    const json_t *step = json_object_get(state, "step");
    const json_t *value = json_object_get(json_object_get(state, FGI_RESULTS_KEY), monitor);
    const double difference = json_number_value(value) - entry->value;
    return json_is_integer(step) && json_integer_value(step) == entry->step &&
           (!json_is_number(value) || !(fabs(difference) > 0));
}

static fg_status look(const fgi_best_entry *entry, const char *monitor, const char *folder,
                      bool *out, fg_error *err)
{
    char path[FGI_PATH_BYTES], file[FGI_PATH_BYTES], *text = NULL;
    json_t *state = NULL;
    fg_error why = {0};
    size_t size = 0;
    fg_status status;
    *out = false;
    FGI_DONE(fgi_path_put(folder, entry->name, path, &why));
    FGI_DONE(fgi_path_put(path, FGI_CKPT_JSON_FILE, file, &why));
    FGI_DONE(fgi_file_read(file, STATE_LIMIT, &text, &size, &why));
    FGI_DONE(fgi_json_parse(file, 0, text, size, &state, &why));
    *out = is_entry(entry, monitor, state);
done:
    json_decref(state);
    fgi_free(text);
    return status == FG_ENOMEM ? fgi_no_memory(err) : FG_OK;
}

fg_status fgi_best_list_verify(fgi_best_list *list, const fgi_best_rule *rule, const char *folder,
                               fg_error *err)
{
    for (int i = list->count - 1; i >= 0; i--) {
        bool is_there;
        FGI_TRY(look(&list->entry[i], rule->monitor, folder, &is_there, err));
        if (!is_there)
            drop(list->entry, &list->count, i, 1);
    }
    return FG_OK;
}
