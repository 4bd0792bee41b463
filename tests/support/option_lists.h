/* option_lists.h - lists, maps and names with options for tests, from short texts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_OPTION_LISTS_H
#define FGT_OPTION_LISTS_H

#include <fulgurite/option.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The results are valid until the same function is called eight times. */
enum { FGT_LISTS = 8, FGT_LIST_PARTS = 40 };

/* "csv, jsonl"; "": an empty list, NULL: not given. */
static inline fg_strings fgt_list(const char *text)
{
    static char texts[FGT_LISTS][256];
    static const char *parts[FGT_LISTS][FGT_LIST_PARTS];
    static int next;
    const int at = next++ % FGT_LISTS;
    fg_strings out = {.at = text != NULL ? parts[at] : NULL};
    (void)snprintf(texts[at], sizeof texts[at], "%s", text != NULL ? text : "");
    for (char *rest = texts[at], *part; *rest != '\0' && (part = strsep(&rest, ",")) != NULL;) {
        parts[at][out.count++] = part + strspn(part, " ");
        if (rest == NULL)
            break;
    }
    return out;
}

/* "0=1,4=2"; NULL and "": none. */
static inline fg_int_map fgt_map(const char *text)
{
    static fg_int_pair parts[FGT_LISTS][FGT_LIST_PARTS];
    static int next;
    fg_int_pair *own = parts[next++ % FGT_LISTS];
    fg_int_map out = {.at = own};
    while (text != NULL && *text != '\0') {
        char *end;
        own[out.count].key = strtoll(text, &end, 10);
        own[out.count++].value = strtoll(end + 1, &end, 10);
        text = end + strspn(end, ", ");
    }
    return out.count > 0 ? out : (fg_int_map){.at = NULL};
}

/* "NAME: {OPTION: VALUE, ...}"; options: NULL or "": the name alone. */
static inline const char *fgt_entry(const char *name, const char *options)
{
    static char texts[FGT_LISTS][1024];
    static int next;
    char *out = texts[next++ % FGT_LISTS];
    const bool has_options = options != NULL && *options != '\0';
    (void)snprintf(out, sizeof texts[0], "%s%s%s", name, has_options ? ": " : "",
                   has_options ? options : "");
    return out;
}

#endif
