/* best_list.c - a short sorted list of metrics and the checkpoints that they belong to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/best_list.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"

fgi_best_entry *fgi_best_list_find(fgi_best_list *list, int64_t step)
{
    for (int i = 0; i < list->count; i++)
        if (list->entry[i].step == step)
            return &list->entry[i];
    return NULL;
}

void fgi_best_list_remove(fgi_best_list *list, int64_t step)
{
    fgi_best_entry *entry = fgi_best_list_find(list, step);
    if (entry == NULL)
        return;
    const size_t after = (size_t)(list->entry + list->count - entry) - 1;
    memmove(entry, entry + 1, after * sizeof *entry);
    list->count--;
}

bool fgi_best_list_add(fgi_best_list *list, double value, int64_t step, int most, bool is_max)
{
    int at = 0;
    const int limit = most < FGI_BEST_MOST ? most : FGI_BEST_MOST;
    fgi_best_list_remove(list, step);
    if (list->count > limit) /* a run that resumes with a shorter list */
        list->count = limit;
    while (at < list->count &&
           (is_max ? list->entry[at].value >= value : list->entry[at].value <= value))
        at++;
    if (at >= limit)
        return false;
    const int kept = list->count < limit ? list->count : limit - 1;
    memmove(&list->entry[at + 1], &list->entry[at], (size_t)(kept - at) * sizeof list->entry[0]);
    list->entry[at] = (fgi_best_entry){.value = value, .step = step};
    list->count = kept + 1;
    return true;
}

bool fgi_best_list_save(const fgi_best_list *list, json_t *object)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (int i = 0; ok && i < list->count; i++) {
        const fgi_best_entry *entry = &list->entry[i];
        json_t *row = json_object();
        ok = json_array_append_new(array, row) == 0 &&
             json_object_set_new(row, "name", json_string(entry->name)) == 0 &&
             json_object_set_new(row, "step", json_integer(entry->step)) == 0 &&
             json_object_set_new(row, "value", json_real(entry->value)) == 0;
    }
    if (ok && list->count > 0)
        ok = json_object_set(object, "top", array) == 0;
    json_decref(array);
    return ok;
}

void fgi_best_list_load(fgi_best_list *list, const json_t *object)
{
    const json_t *array = json_object_get(object, "top");
    list->count = 0;
    for (size_t i = 0; i < json_array_size(array) && list->count < FGI_BEST_MOST; i++) {
        const json_t *row = json_array_get(array, i), *step = json_object_get(row, "step");
        const char *name = json_string_value(json_object_get(row, "name"));
        const json_t *value = json_object_get(row, "value");
        fgi_best_entry *entry = &list->entry[list->count];
        if (name == NULL || strlen(name) >= sizeof entry->name || !json_is_integer(step) ||
            !json_is_number(value))
            continue;
        *entry = (fgi_best_entry){json_number_value(value), json_integer_value(step), ""};
        (void)snprintf(entry->name, sizeof entry->name, "%s", name);
        list->count++;
    }
}
