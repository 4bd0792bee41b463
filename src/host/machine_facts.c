/* machine_facts.c - processors, memory, disks and kernel settings of the host, within the limits of
 * a container's cgroup.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/resources.h"
#include "host/doctor.h"

enum { CPUINFO_BYTES = 1 << 18, MOUNTS_BYTES = 1 << 17 };

/* The text after "name:" at the start of a line, up to the end of the line, or NULL. */
static char *field(char *text, const char *name)
{
    const size_t size = strlen(name);
    for (char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, size) != 0)
            continue;
        char *value = line + size + strspn(line + size, " \t");
        return *value == ':' ? value + 1 + strspn(value + 1, " \t") : NULL;
    }
    return NULL;
}

/* A file that contains one number; -1 if it does not ("max", no file). */
static int64_t number_in(const fg_host *host, const char *path)
{
    char text[64], *end;
    if (!fgi_host_read(&host->source, path, text, sizeof text))
        return -1;
    const long long value = strtoll(text, &end, 10);
    return end != text && value >= 0 ? value : -1;
}

static void find_cpus(fg_host *host)
{
    char *text = fgi_calloc(1, CPUINFO_BYTES);
    host->info.cpu_name = "";
    if (!text) {
        host->has_failed = true;
        return;
    }
    if (fgi_host_read(&host->source, "/proc/cpuinfo", text, CPUINFO_BYTES)) {
        for (char *at = strstr(text, "processor"); at; at = strstr(at + 1, "\nprocessor"))
            host->info.cpus++;
        char *name = field(text, "model name");
        if (name) {
            name[strcspn(name, "\n")] = '\0';
            host->info.cpu_name = fgi_doctor_keep(host, name);
        }
    }
    if (!host->source.root)
        host->info.cpus = fgi_cpu_affinity();
    const int quota = fgi_cpu_quota(host->source.root ? host->source.root : "");
    if (quota > 0 && (host->info.cpus == 0 || quota < host->info.cpus))
        host->info.cpus = quota;
    fgi_free(text);
}

static int64_t kilobytes(char *text, const char *name)
{
    const char *value = field(text, name);
    return value ? strtoll(value, NULL, 10) * 1024 : -1;
}

static void find_memory(fg_host *host)
{
    char text[8192];
    fg_host_info *info = &host->info;
    info->memory_bytes = info->memory_free_bytes = -1;
    if (fgi_host_read(&host->source, "/proc/meminfo", text, sizeof text)) {
        info->memory_bytes = kilobytes(text, "MemTotal");
        info->memory_free_bytes = kilobytes(text, "MemAvailable");
    }
    int64_t limit = number_in(host, "/sys/fs/cgroup/memory.max");
    int64_t used = number_in(host, "/sys/fs/cgroup/memory.current");
    if (limit < 0) {
        limit = number_in(host, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
        used = number_in(host, "/sys/fs/cgroup/memory/memory.usage_in_bytes");
    }
    if (limit < 0 || (info->memory_bytes >= 0 && limit >= info->memory_bytes))
        return;
    info->memory_bytes = limit;
    if (used >= 0 && limit - used < info->memory_free_bytes)
        info->memory_free_bytes = limit > used ? limit - used : 0;
}

static int64_t disk_bytes(const fg_host *host, const char *path, bool is_free)
{
    char whole[FGI_HOST_PATH_MAX];
    struct statvfs disk;
    fgi_host_path(&host->source, path, whole);
    if (statvfs(whole, &disk) != 0)
        return -1;
    return (int64_t)((is_free ? disk.f_bavail : disk.f_blocks) * disk.f_frsize);
}

/* Bytes in the mount option "size=65536k". */
static int64_t size_option(const char *options)
{
    char *end;
    const char *at = strstr(options, "size=");
    if (!at)
        return -1;
    const long long value = strtoll(at + 5, &end, 10);
    const int64_t unit = *end == 'k' ? 1 << 10 : *end == 'm' ? 1 << 20 : *end == 'g' ? 1 << 30 : 1;
    return value * unit;
}

/* As the mount option says, else as the file system reports; -1 if it does not exist. */
static int64_t shm_bytes(fg_host *host)
{
    int64_t bytes = -1;
    bool is_there = false;
    char *text = fgi_calloc(1, MOUNTS_BYTES), *rest = text;
    if (!text)
        host->has_failed = true;
    else if (fgi_host_read(&host->source, "/proc/mounts", text, MOUNTS_BYTES)) {
        for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
            const char *at = strstr(line, " /dev/shm ");
            if (at) {
                is_there = true;
                bytes = size_option(at);
            }
        }
    }
    fgi_free(text);
    return bytes < 0 && (is_there || !host->source.root) ? disk_bytes(host, "/dev/shm", false)
                                                         : bytes;
}

/* The word in brackets of "always [madvise] never". */
static void find_hugepages(fg_host *host)
{
    char text[128];
    host->info.hugepages = "";
    if (!fgi_host_read(&host->source, "/sys/kernel/mm/transparent_hugepage/enabled", text,
                       sizeof text))
        return;
    char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;
    if (end) {
        *end = '\0';
        host->info.hugepages = fgi_doctor_keep(host, begin + 1);
    }
}

void fgi_doctor_machine(fg_host *host)
{
    find_cpus(host);
    find_memory(host);
    find_hugepages(host);
    host->info.shm_bytes = shm_bytes(host);
    host->info.temp_free_bytes = disk_bytes(host, "/tmp", true);
}
