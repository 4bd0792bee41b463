/* device_list.c - the parser of `devices` options: "auto", "all", a number, a list.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "mesh/mesh.h"

bool fgi_next_word(const char **text, const char *end, char separator, fgi_str *out)
{
    if (*text == NULL)
        return false;
    const char *stop = memchr(*text, separator, (size_t)(end - *text));
    *out = fgi_str_trim((fgi_str){*text, (size_t)((stop != NULL ? stop : end) - *text)});
    *text = stop != NULL ? stop + 1 : NULL;
    return true;
}

static fg_status bad(const char *text, const char *why, fg_error *err)
{
    return fgi_fail(
        err, FG_EINVAL,
        "devices '%.80s' %s\n"
        "\"auto\" or \"-1\" selects all, \"4\" the first four, \"[1]\" only the second, "
        "\"0,2\" those two; `fulgurite devices` lists them",
        text, why);
}

static bool is_in(const fgi_device_list *list, int device)
{
    for (int i = 0; i < list->count; i++)
        if (list->index[i] == device)
            return true;
    return false;
}

/* "0,2,5": numbers separated by commas. */
static fg_status parse_list(const char *text, fgi_str rest, fgi_device_list *out, fg_error *err)
{
    const char *at = rest.data, *end = rest.data + rest.size;
    fgi_str word;
    while (fgi_next_word(&at, end, ',', &word)) {
        int64_t device;
        if (!fgi_parse_i64(word, &device))
            return bad(text, "is not a list of integers", err);
        if (device < 0 || device >= FGI_DEVICES_MAX)
            return bad(text, "has a negative number: device indices start at 0", err);
        if (is_in(out, (int)device))
            return bad(text, "names a device twice", err);
        if (out->count == FGI_DEVICES_MAX)
            return bad(text, "has too many devices", err);
        out->index[out->count++] = (int)device;
    }
    return FG_OK;
}

fg_status fgi_device_list_parse(const char *text, fgi_device_list *out, fg_error *err)
{
    *out = (fgi_device_list){0};
    if (text == NULL)
        return FG_OK;
    const fgi_str all = fgi_str_trim(fgi_str_of(text));
    int64_t count;
    if (fgi_str_equal(all, "auto") || fgi_str_equal(all, "all") || fgi_str_equal(all, "-1"))
        return FG_OK;
    if (all.size >= 2 && all.data[0] == '[' && all.data[all.size - 1] == ']')
        return parse_list(text, (fgi_str){all.data + 1, all.size - 2}, out, err);
    if (memchr(all.data, ',', all.size) != NULL)
        return parse_list(text, all, out, err);
    if (!fgi_parse_i64(all, &count))
        return bad(text, "is neither a number nor a list", err);
    if (count < 1 || count > FGI_DEVICES_MAX)
        return bad(text, count < 1 ? "selects no device" : "selects too many devices", err);
    out->first = (int)count;
    return FG_OK;
}

int fgi_device_list_needed(const fgi_device_list *list)
{
    int needed = list->first;
    for (int i = 0; i < list->count; i++)
        needed = list->index[i] >= needed ? list->index[i] + 1 : needed;
    return needed;
}

int fgi_device_list_size(const fgi_device_list *list)
{
    return list->count > 0 ? list->count : list->first;
}

/* How many elements of the list are smaller than `device`. */
static int smaller(const fgi_device_list *list, int device)
{
    int count = 0;
    for (int i = 0; i < list->count; i++)
        count += list->index[i] < device;
    return count;
}

size_t fgi_device_list_ascending(const fgi_device_list *list, int64_t *out)
{
    for (int i = 0; i < list->first; i++)
        out[i] = i;
    for (int i = 0; i < list->count; i++)
        out[smaller(list, list->index[i])] = list->index[i];
    return (size_t)list->first + (size_t)list->count;
}

void fgi_device_list_renumber(fgi_device_list *list)
{
    const fgi_device_list before = *list;
    for (int i = 0; i < list->count; i++)
        list->index[i] = smaller(&before, before.index[i]);
}

/* Moves the listed items to the front, in the order of the list. */
static fg_status gather(const fgi_device_list *list, char *items, size_t size, fg_error *err)
{
    char *chosen = fgi_alloc((size_t)list->count * size + 1);
    if (chosen == NULL)
        return fgi_no_memory(err);
    for (int i = 0; i < list->count; i++)
        memcpy(chosen + (size_t)i * size, items + (size_t)list->index[i] * size, size);
    memcpy(items, chosen, (size_t)list->count * size);
    fgi_free(chosen);
    return FG_OK;
}

fg_status fgi_device_list_choose(const fgi_device_list *list, const char *platform, void *items,
                                 size_t size, int *count, fg_error *err)
{
    const int needed = fgi_device_list_needed(list);
    if (needed > *count && list->count > 0)
        return fgi_fail(
            err, FG_ENOTFOUND,
            "device %d was requested, but %s has only %d (indices start at 0); `fulgurite devices` "
            "lists %s\nuse devices=[%d] for the last one, or devices=auto for all",
            needed - 1, platform, *count, *count == 1 ? "it" : "them", *count - 1);
    if (needed > *count)
        return fgi_fail(
            err, FG_ENOTFOUND,
            "%d devices were requested, but %s has only %d; `fulgurite devices` lists %s\n"
            "use devices=%d or devices=auto",
            needed, platform, *count, *count == 1 ? "it" : "them", *count);
    if (list->count > 0)
        FGI_TRY(gather(list, items, size, err));
    *count = needed > 0 ? fgi_device_list_size(list) : *count;
    return FG_OK;
}

fg_status fg_devices_format(const char *text, char *out, size_t size, fg_error *err)
{
    fgi_device_list list;
    FGI_TRY(fgi_device_list_parse(text, &list, err));
    const int all = list.first > 0 ? list.first : -1;
    int used = snprintf(out, size, list.count > 0 ? "[" : "%d", all);
    for (int i = 0; i < list.count && used >= 0 && (size_t)used < size; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%d%s", i > 0 ? ", " : "",
                         list.index[i], i == list.count - 1 ? "]" : "");
    if (used < 0 || (size_t)used >= size)
        return bad(text, "has too many devices", err);
    return FG_OK;
}
