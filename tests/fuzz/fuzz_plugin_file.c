/* fuzz_plugin_file.c - any bytes as a plugin file: accepted, or rejected with a message.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/file.h"
#include "pjrt/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fg_error err = {0};
    char path[64];
    const int fd = memfd_create("plugin", MFD_CLOEXEC);
    if (fd < 0 || fgi_write_all(fd, "plugin", data, size, &err) != FG_OK)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const fg_status status = fgi_plugin_check_file(path, &err);
    if (status != FG_OK && (status != FG_EPLUGIN || strstr(err.message, path) == NULL))
        abort();
    if (status == FG_OK && (size < 64 || memcmp(data, "\177ELF", 4) != 0))
        abort();
    close(fd);
    return 0;
}
