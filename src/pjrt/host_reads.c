/* host_reads.c - who waits for values of the devices: reads by the line of the user's program, or
 * by what the library reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/here.h"
#include "base/print.h"
#include "base/thread.h"
#include "pjrt/plugin.h"

static _Thread_local fgi_read_watch watcher;

fgi_read_watch fgi_watch_reads(fgi_read_watch watch)
{
    const fgi_read_watch before = watcher;
    watcher = watch;
    return before;
}

/* The entry of a place, which may be new. The lock is held. */
static fg_host_read *entry_of(fg_client *c, const char *at)
{
    size_t i = 0;
    while (i < c->read_count && strcmp(c->read[i].at, at) != 0)
        i++;
    if (i == FG_MAX_HOST_READS)
        return &c->read[FG_MAX_HOST_READS - 1];
    if (i < c->read_count)
        return &c->read[i];
    if (i == FG_MAX_HOST_READS - 1)
        at = "other places";
    (void)fgi_snprintf(c->read[i].at, sizeof c->read[i].at, "%s", at);
    c->read_count++;
    return &c->read[i];
}

void fgi_client_count_read(fg_client *client, const char *name, int64_t bytes, int64_t wait_ns)
{
    if (client->is_checked)
        return;
    (void)pthread_mutex_lock(&client->lock);
    fg_host_read *entry = entry_of(client, name);
    entry->count++;
    entry->bytes += bytes;
    entry->wait_s += (double)wait_ns * 1e-9;
    (void)pthread_mutex_unlock(&client->lock);
}

void fgi_client_waited(fg_client *client, const char *name, int64_t bytes, int64_t begin_ns)
{
    const int64_t end_ns = fgi_now_ns();
    const char *file;
    int line;
    char at[sizeof client->read[0].at];
    fgi_here_get(&file, &line);
    if (name != NULL || file == NULL)
        (void)fgi_snprintf(at, sizeof at, "%s", name != NULL ? name : "an unknown line");
    else
        fgi_format_place(at, sizeof at, file, line);
    fgi_client_count_read(client, at, bytes, end_ns - begin_ns);
    if (watcher.fn != NULL)
        watcher.fn(watcher.self, begin_ns, end_ns);
}

size_t fg_client_host_reads(const fg_client *client, fg_host_read *out, size_t capacity)
{
    fg_client *c = (fg_client *)client;
    (void)pthread_mutex_lock(&c->lock);
    const size_t count = c->read_count, n = count < capacity ? count : capacity;
    if (n > 0)
        memcpy(out, c->read, n * sizeof *out);
    (void)pthread_mutex_unlock(&c->lock);
    return count;
}
