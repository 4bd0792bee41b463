/* row_names.h - the names of the built-in rows, for messages that list them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_ROW_NAMES_H
#define FGT_ROW_NAMES_H

#include "fgt.h"

#include <fulgurite/registry.h>
#include <stdio.h>
#include <string.h>

/* "sgd|adam|adamw"; one of four rotating static buffers. */
static inline const char *row_names(fg_registry_kind kind)
{
    static char lists[4][1024];
    static int next;
    char *list = lists[next++ % 4];
    fg_registry *registry = NULL;
    size_t used = 0;
    fg_error err = {0};
    fgt_ok(fg_registry_create(&registry, &err));
    for (size_t i = 0; i < fg_registry_count(registry, kind); i++)
        used += (size_t)snprintf(list + used, sizeof lists[0] - used, "%s%s", i > 0 ? "|" : "",
                                 fg_registry_at(registry, kind, i)->name);
    assert_true(used < sizeof lists[0]);
    fg_registry_destroy(registry);
    return list;
}

/* The same as an error lists them: a long list is replaced by the number of names. */
static inline const char *expected_names(fg_registry_kind kind, const char *path)
{
    static char text[512];
    const char *names = row_names(kind);
    int count = 1;
    for (const char *at = names; (at = strchr(at, '|')) != NULL; at++)
        count++;
    if (strlen(names) <= 200)
        (void)snprintf(text, sizeof text, "one of %s", names);
    else
        (void)snprintf(text, sizeof text, "one of %d names (`fulgurite help config %s` lists them)",
                       count, path);
    return text;
}

#endif
