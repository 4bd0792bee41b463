/* doctor_probe.c - installed plugins, the compile cache, and read throughput.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checkup.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"

void checkup_find(checkup *d, fg_severity severity, const char *code, const char *command,
                  const char *format, ...)
{
    if (d->finding_count == DOCTOR_FINDINGS || d->text_count == 8)
        return;
    char *text = d->texts[d->text_count++];
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(text, sizeof(d->texts[0]), format, args);
    va_end(args);
    d->findings[d->finding_count++] = (fg_finding){severity, code, text, command};
}

bool checkup_is_wrong(const checkup *d)
{
    for (size_t i = 0; i < d->finding_count; i++)
        if (d->findings[i].severity == FG_WRONG)
            return true;
    return false;
}

enum { PLACES = 32, DEPTH = 4, MOST_FILES = 4000 };
#define MOST_BYTES (256LL << 20)

/* ---- plugins --------------------------------------------------------------------------------- */

/* The version, from the name of the package's folder next to it: libtpu-0.0.51.dist-info. */
static void find_version(checkup_plugin *p)
{
    char folder[1024];
    (void)fgi_snprintf(folder, sizeof(folder), "%s", p->path);
    char *packages = strstr(folder, "/libtpu/");
    if (packages == NULL)
        packages = strstr(folder, "/jax_plugins/");
    if (packages == NULL)
        packages = strstr(folder, "/xla_plugins/");
    if (packages == NULL)
        return;
    *packages = '\0';
    static const char *const names[] = {"libtpu-", "jax_cuda13_pjrt-", "jax_cuda12_pjrt-",
                                        "xla_cpu_pjrt-"};
    DIR *list = opendir(folder);
    for (const struct dirent *e; (e = fgi_folder_next(&list)) != NULL;)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            const size_t size = strlen(names[i]);
            const char *end = strstr(e->d_name, ".dist-info");
            const bool is_it = end != NULL && strncmp(e->d_name, names[i], size) == 0;
            /* the name contains the platform: tpu, cuda or cpu */
            if (is_it && strstr(names[i], p->accelerator) != NULL)
                (void)fgi_snprintf(p->version, sizeof(p->version), "%.*s",
                                   (int)(end - e->d_name - (ptrdiff_t)size), e->d_name + size);
        }
}

static void find_plugin(checkup_plugin *p, const char *accelerator)
{
    fg_error err;
    size_t count = 0;
    fg_plugin_candidate *places = fgi_calloc(PLACES, sizeof(*places));
    p->accelerator = accelerator;
    if (places == NULL || fg_plugin_search(&(fg_client_options){.accelerator = accelerator}, places,
                                           PLACES, &count, &err) != FG_OK)
        count = 0;
    for (size_t i = 0; i < count && i < PLACES && p->path[0] == '\0'; i++)
        if (places[i].exists) {
            (void)fgi_snprintf(p->path, sizeof(p->path), "%s", places[i].path);
            (void)fgi_snprintf(p->source, sizeof(p->source), "%s", places[i].source);
        }
    fgi_free(places);
    find_version(p);
}

static void find_plugins(checkup *d)
{
    static const char *const names[DOCTOR_PLUGINS] = {"tpu", "cuda", "cpu"};
    for (int i = 0; i < DOCTOR_PLUGINS; i++)
        find_plugin(&d->plugins[i], names[i]);
    if (fg_host_info_of(d->host)->tpu_chips > 0 && d->plugins[0].path[0] == '\0')
        checkup_find(d, FG_WRONG, "no-libtpu", "fulgurite setup tpu",
                     "there is a TPU, but libtpu is not installed");
    if (d->plugins[2].path[0] == '\0')
        checkup_find(d, d->plugins[0].path[0] || d->plugins[1].path[0] ? FG_NOTE : FG_WRONG,
                     "no-cpu-plugin", "fulgurite setup cpu", "the CPU plugin is not installed");
}

/* ---- the compile cache ----------------------------------------------------------------------- */

static void count_cache(checkup *d, const char *folder)
{
    DIR *list = opendir(folder);
    for (const struct dirent *e; (e = fgi_folder_next(&list)) != NULL;) {
        struct stat info;
        if (fstatat(dirfd(list), e->d_name, &info, 0) == 0 && S_ISREG(info.st_mode)) {
            d->cache_files++;
            d->cache_bytes += info.st_size;
        }
    }
}

/* The default folder of cached programs (fg_client_options.cache_dir). The folder, or its nearest
 * existing parent, must be writable. */
static void find_cache(checkup *d)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[1200];
    struct statvfs disk;
    if (cache != NULL && *cache != '\0')
        (void)fgi_snprintf(d->cache, sizeof(d->cache), "%.900s/fulgurite", cache);
    else if (home != NULL && *home != '\0')
        (void)fgi_snprintf(d->cache, sizeof(d->cache), "%.900s/.cache/fulgurite", home);
    else {
        checkup_find(
            d, FG_WARNING, "no-cache", "export HOME=FOLDER",
            "neither HOME nor XDG_CACHE_HOME is set: programs are recompiled at every start");
        return;
    }
    (void)fgi_snprintf(folder, sizeof(folder), "%s/programs", d->cache);
    count_cache(d, folder);
    while (access(folder, F_OK) != 0 && strrchr(folder, '/') > folder)
        *strrchr(folder, '/') = '\0';
    d->cache_is_writable = access(folder, W_OK) == 0;
    d->cache_free_bytes =
        statvfs(folder, &disk) == 0 ? (int64_t)(disk.f_bavail * disk.f_frsize) : -1;
    if (!d->cache_is_writable)
        checkup_find(d, FG_WARNING, "cache-not-writable", "export XDG_CACHE_HOME=FOLDER",
                     "cannot cache compiled programs in %.200s: they are recompiled at every start",
                     d->cache);
    else if (d->cache_free_bytes >= 0 && d->cache_free_bytes < 1LL << 30)
        checkup_find(d, FG_WARNING, "disk", NULL, "only %s are free in %.200s",
                     fgi_bytes_words((double)d->cache_free_bytes), folder);
}

/* ---- reading data ---------------------------------------------------------------------------- */

typedef struct reader {
    checkup_speed *speed;
    char *block;
    double begin;
} reader;

enum { BLOCK = 1 << 20 };

static bool has_enough(const reader *r)
{
    return r->speed->bytes >= MOST_BYTES || r->speed->files >= MOST_FILES ||
           fgi_now_s() - r->begin > (r->speed->most_seconds > 0 ? r->speed->most_seconds : 2);
}

/* Drops the file from the page cache, so that the disk is measured. */
static void read_file(reader *r, int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = 1;
    if (fd < 0)
        return;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (got > 0 && !has_enough(r)) {
        got = read(fd, r->block, BLOCK);
        r->speed->bytes += got > 0 ? got : 0;
    }
    (void)close(fd);
    r->speed->files++;
}

static void read_folder(reader *r, int parent, const char *name, int depth)
{
    DIR *list = fgi_folder_open_at(parent, name, 0);
    const int fd = list != NULL ? dirfd(list) : -1;
    for (const struct dirent *e; (e = fgi_folder_next(&list)) != NULL;) {
        struct stat info;
        if (has_enough(r) || fstatat(fd, e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(info.st_mode))
            read_file(r, fd, e->d_name);
        else if (S_ISDIR(info.st_mode) && depth < DEPTH)
            read_folder(r, fd, e->d_name, depth + 1);
    }
}

static void measure(checkup *d, const char *folder)
{
    reader r = {.speed = &d->speed, .block = fgi_calloc(BLOCK, 1), .begin = fgi_now_s()};
    if (r.block != NULL)
        read_folder(&r, AT_FDCWD, folder, 0);
    d->speed.seconds = fgi_now_s() - r.begin;
    d->speed.was_measured = d->speed.files > 0;
    fgi_free(r.block);
    if (!d->speed.was_measured)
        checkup_find(d, FG_WARNING, "data-empty", NULL, "no file could be read in %.200s", folder);
    else if (d->speed.files >= 1000 && d->speed.bytes / d->speed.files < 64 << 10)
        checkup_find(d, FG_WARNING, "many-files", NULL,
                     "%.200s has many small files (%lld bytes each): a few large files are "
                     "read faster, especially from data mounted in a notebook",
                     folder, (long long)(d->speed.bytes / d->speed.files));
}

void checkup_probe(checkup *d, const char *folder)
{
    find_plugins(d);
    find_cache(d);
    if (folder != NULL)
        measure(d, folder);
}
