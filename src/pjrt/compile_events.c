/* compile_events.c - the list of a client's compilations, of which the first and the latest are
 * kept.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "pjrt/plugin.h"

enum { FIRST_KEPT = FG_MAX_COMPILE_EVENTS / 2 };

void fgi_client_add_compile(fg_client *client, const fg_compile_event *event)
{
    (void)pthread_mutex_lock(&client->lock);
    fg_compile_event *all = client->compile;
    if (client->compile_count == FG_MAX_COMPILE_EVENTS) {
        memmove(all + FIRST_KEPT, all + FIRST_KEPT + 1,
                (FG_MAX_COMPILE_EVENTS - FIRST_KEPT - 1) * sizeof *all);
        client->compile_count--;
    }
    all[client->compile_count++] = *event;
    (void)pthread_mutex_unlock(&client->lock);
}

size_t fg_client_compiles(const fg_client *client, fg_compile_event *out, size_t capacity)
{
    fg_client *c = (fg_client *)client;
    (void)pthread_mutex_lock(&c->lock);
    const size_t count = c->compile_count, n = count < capacity ? count : capacity;
    if (n > 0)
        memcpy(out, c->compile, n * sizeof *out);
    (void)pthread_mutex_unlock(&c->lock);
    return count;
}
