/* resources.c - the processors and the memory that this process may use: those of the machine, its
 * affinity, and the limits of its cgroup and of those above it, as containers and systemd set them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/resources.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "base/text.h"

enum { PATH_BYTES = 4096 };

/* ---- cgroups --------------------------------------------------------------------------------- */

/* A limit that a cgroup can have. */
typedef struct limit {
    const char *folder;               /* of version 1: a slash and the controller's name */
    double (*of)(const char *folder); /* of one cgroup; 0: none */
} limit;

/* The first line of a small file; false if there is none. */
static bool read_line(const char *folder, const char *name, char *out, int size)
{
    char path[PATH_BYTES];
    const int length = fgi_snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = length < PATH_BYTES ? fopen(path, "re") : NULL;
    const bool has_line = in != NULL && fgets(out, size, in) != NULL;
    if (in != NULL)
        (void)fclose(in);
    return has_line;
}

/* A number in a file of the folder; 0 if there is none ("max", "-1"). */
static double number_in(const char *folder, const char *name)
{
    char text[64];
    const double value = read_line(folder, name, text, sizeof text) ? fgi_strtod(text, NULL) : 0;
    return value > 0 ? value : 0;
}

/* In processors. "200000 100000" is two. */
static double cpu_limit(const char *folder)
{
    char text[64], *end;
    double quota = number_in(folder, "cpu.cfs_quota_us");
    double period = number_in(folder, "cpu.cfs_period_us");
    if (read_line(folder, "cpu.max", text, sizeof text)) {
        quota = fgi_strtod(text, &end); /* 0 for "max" */
        period = fgi_strtod(end, NULL);
    }
    return period > 0 ? quota / period : 0;
}

/* In bytes. */
static double memory_limit(const char *folder)
{
    const double bytes = number_in(folder, "memory.max");
    return bytes > 0 ? bytes : number_in(folder, "memory.limit_in_bytes");
}

static void take_least(double *least, double value)
{
    if (value > 0 && (*least == 0 || value < *least))
        *least = value;
}

/* The least limit of the cgroup `path`, below the folder `mount`, and of those above it. A
 * container sees its own cgroup as `mount`, but perhaps the path that the host sees. */
static double least_above(const limit *kind, const char *mount, const char *path)
{
    char folder[PATH_BYTES];
    double least = kind->of(mount);
    const int size = fgi_snprintf(folder, sizeof folder, "%s%s", mount, path);
    char *const top = folder + strlen(mount);
    if (size < 0 || size >= PATH_BYTES)
        return least;
    for (char *end = folder + size; end > top; end--) {
        if (*end != '/' && *end != '\0')
            continue;
        *end = '\0';
        take_least(&least, kind->of(folder));
    }
    return least;
}

/* A line of /proc/self/cgroup: "0::/a/b" for version 2, "4:cpu,cpuacct:/a/b" for version 1. */
static double limit_of_line(const limit *kind, const char *root, char *line)
{
    char mount[PATH_BYTES];
    line[strcspn(line, "\n")] = '\0';
    char *names = strchr(line, ':'), *path = names != NULL ? strchr(names + 1, ':') : NULL;
    if (path == NULL)
        return 0;
    *path++ = '\0';
    bool is_it = names[1] == '\0';
    (void)fgi_snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, is_it ? "" : kind->folder);
    for (char *rest = names + 1, *name; !is_it && (name = strsep(&rest, ",")) != NULL;)
        is_it = strcmp(name, kind->folder + 1) == 0;
    return is_it ? least_above(kind, mount, path) : 0;
}

/* The least limit of all cgroups of this process; 0: none. */
static double cgroup_limit(const limit *kind, const char *root)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    (void)fgi_snprintf(path, sizeof path, "%s/sys/fs/cgroup", root);
    double least = kind->of(path);
    (void)fgi_snprintf(path, sizeof path, "%s/sys/fs/cgroup%s", root, kind->folder);
    take_least(&least, kind->of(path));
    (void)fgi_snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *in = fopen(path, "re");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        take_least(&least, limit_of_line(kind, root, line));
    if (in != NULL)
        (void)fclose(in);
    return least;
}

/* ---- processors and memory ------------------------------------------------------------------- */

int fgi_cpu_quota(const char *root)
{
    const double quota = cgroup_limit(&(limit){"/cpu", cpu_limit}, root);
    return quota == 0 ? 0 : quota < 1 ? 1 : quota > 1e6 ? 1000000 : (int)(quota + 0.5);
}

int fgi_cpu_affinity(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
    const long online =
        sysconf(_SC_NPROCESSORS_ONLN); /* more processors than cpu_set_t has room for */
    return online < 1 ? 1 : (int)online;
}

int fgi_cpu_count(void)
{
    const int allowed = fgi_cpu_affinity(), quota = fgi_cpu_quota("");
    return quota > 0 && quota < allowed ? quota : allowed;
}

uint64_t fgi_memory_bytes(const char *root)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    double least = cgroup_limit(&(limit){"/memory", memory_limit}, root);
    take_least(&least, (double)pages * (double)page);
    return (uint64_t)least;
}
