/* row_names.h - the names of the built-in rows, for messages that list them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_ROW_NAMES_H
#define FGT_ROW_NAMES_H

#include "fgt.h"

#include <fulgurite/registry.h>
#include <stdio.h>

/* "sgd|adam|adamw"; one of four rotating static buffers. */
static inline const char *row_names(fg_registry_kind kind)
{
    static char lists[4][512];
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

#endif
