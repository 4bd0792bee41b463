/* file_open.c - see file_open.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file_open.h"

#include <fcntl.h>

#include "base/thread.h"

static _Thread_local fgi_opened opened;

fgi_opened fgi_opened_here(void) { return opened; }

int fgi_open_counted(int folder, const char *name)
{
    const int64_t begin = fgi_now_ns();
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    opened.ns += fgi_now_ns() - begin;
    opened.count++;
    return fd;
}
