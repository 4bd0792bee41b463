/* host.c - reads files and variables of this machine, or of a simulated one in a test.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "host/tpu.h"

const char *fgi_host_variable(const fgi_host *host, const char *name)
{
    const size_t size = strlen(name);
    const char *value = NULL;
    if (!host || !host->environment) {
        value = getenv(name); /* NOLINT(concurrency-mt-unsafe): read only */
        return value && *value && !fgi_host_is_prepared(name) ? value : NULL;
    }
    for (const char *const *at = host->environment; *at && !value; at++) {
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            value = *at + size + 1;
    }
    return value && *value ? value : NULL;
}

void fgi_host_path(const fgi_host *host, const char *path, char out[FGI_HOST_PATH_MAX])
{
    (void)snprintf(out, FGI_HOST_PATH_MAX, "%s%s", host && host->root ? host->root : "", path);
}

bool fgi_host_has(const fgi_host *host, const char *path)
{
    char whole[FGI_HOST_PATH_MAX];
    struct stat info;
    fgi_host_path(host, path, whole);
    return stat(whole, &info) == 0;
}

bool fgi_host_read(const fgi_host *host, const char *path, char *out, size_t size)
{
    char whole[FGI_HOST_PATH_MAX];
    fgi_host_path(host, path, whole);
    out[0] = '\0';
    const int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used + 1 < size) {
        got = read(fd, out + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    while (used > 0 && (out[used - 1] == '\n' || out[used - 1] == '\r'))
        used--;
    out[used] = '\0';
    return got >= 0;
}

bool fgi_host_link(const fgi_host *host, const char *path, char *out, size_t size)
{
    char whole[FGI_HOST_PATH_MAX];
    fgi_host_path(host, path, whole);
    const ssize_t got = readlink(whole, out, size - 1);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

bool fgi_host_list(const fgi_host *host, const char *path, fgi_host_name_fn *each, void *self)
{
    char whole[FGI_HOST_PATH_MAX];
    fgi_host_path(host, path, whole);
    DIR *folder = opendir(whole);
    if (!folder)
        return false;
    bool goes_on = true;
    for (const struct dirent *e; (e = fgi_folder_next(&folder)) != NULL;)
        goes_on = goes_on && each(self, e->d_name);
    return true;
}

bool fgi_host_is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}
