/* program_cache.c - the compilation cache: compiled programs on disk, one file each, named after a
 * hash of all inputs of the compilation. If a file is missing, damaged or rejected by the plugin,
 * the program is compiled again; nothing here is an error for the caller.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/resources.h"
#include "base/thread.h"
#include "pjrt/plugin.h"

enum { HEADER_VERSION = 1 };
#define FOLDER_LIMIT_BYTES                                                                         \
    (1LL << 30) /* the oldest files are removed when the folder exceeds this size */
#define FILE_LIMIT_BYTES ((size_t)1 << 30)

typedef struct header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    fgi_hash key;
    uint64_t size;     /* of what follows */
    uint64_t checksum; /* fgi_checksum64 of the following bytes */
} header;

static const char magic[8] = {'F', 'G', 'P', 'R', 'O', 'G', '\n', '\0'};

/* ---- the key --------------------------------------------------------------------------------- */

static fgi_hash more_text(fgi_hash hash, const char *text)
{
    return fgi_hash_more(hash, text ? text : "", text ? strlen(text) + 1 : 0);
}

static fgi_hash more_int(fgi_hash hash, int64_t value)
{
    return fgi_hash_more(hash, &value, sizeof value);
}

/* The instruction sets of the processor: native code compiled for more of them would crash. */
static fgi_hash more_processor(fgi_hash hash)
{
    char line[4096];
    FILE *in = fopen("/proc/cpuinfo", "re");
    while (in && fgets(line, sizeof line, in)) {
        if (line[0] == '\n') /* end of the first processor */
            break;
        if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0 ||
            strncmp(line, "model", 5) == 0 || strncmp(line, "CPU ", 4) == 0)
            hash = more_text(hash, line);
    }
    if (in)
        fclose(in);
    /* The CPU compiler partitions loops by the number of threads. */
    hash = more_text(hash, getenv("PJRT_NPROC"));
    hash = more_text(hash, getenv("NPROC"));
    return more_int(hash, fgi_cpu_affinity());
}

static fgi_hash more_settings(fgi_hash hash, const fg_client *c)
{
    hash = more_text(hash, c->info.platform_version);
    hash = more_text(hash, getenv("XLA_FLAGS"));
    return more_text(hash, getenv("LIBTPU_INIT_ARGS"));
}

fgi_hash fgi_cache_circumstances(const fg_client *c, fgi_hash hash)
{
    hash = more_settings(hash, c);
    return c->platform == FGI_CPU ? more_processor(hash) : hash;
}

static fgi_hash seed_of(const fg_client *c)
{
    fgi_hash hash = fgi_hash_bytes(magic, sizeof magic);
    hash = more_text(hash, c->plugin.path);
    hash = more_int(hash, c->plugin.file_size);
    hash = more_int(hash, c->plugin.file_time_ns);
    hash = more_settings(hash, c);
    for (int i = 0; i < c->info.device_count; i++) {
        hash = more_int(hash, c->devices[i].id);
        hash = more_text(hash, c->devices[i].kind);
    }
    return c->platform == FGI_CPU ? more_processor(hash) : hash;
}

/* The default folder; NULL: no home folder, no cache. */
static char *default_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (cache && *cache)
        return fgi_path_join(cache, "fulgurite");
    return home && *home ? fgi_path_join(home, ".cache/fulgurite") : NULL;
}

fg_status fgi_cache_open(fg_client *client, const char *cache_dir, fg_error *err)
{
    const char *flags = getenv("XLA_FLAGS");
    const bool is_off = cache_dir && !*cache_dir, is_named = cache_dir && *cache_dir;
    char *base = is_named ? fgi_strdup(cache_dir) : default_folder();
    if (!base)
        return is_named ? fgi_no_memory(err) : FG_OK;
    /* If the user requests dumps of the compiler, it must run. */
    const bool has_programs = !is_off && !(flags && strstr(flags, "xla_dump"));
    client->cache_dir = has_programs ? fgi_path_join(base, "programs") : NULL;
    client->verdict_dir = fgi_path_join(base, "checks");
    fgi_free(base);
    if ((has_programs && !client->cache_dir) || !client->verdict_dir)
        return fgi_no_memory(err);
    if (has_programs)
        client->cache_seed = seed_of(client);
    return FG_OK;
}

fgi_hash fgi_cache_key(const fg_client *client, const void *options, size_t options_size,
                       const char *text, size_t text_size)
{
    fgi_hash key = more_int(client->cache_seed, (int64_t)options_size);
    key = fgi_hash_more(key, options, options_size);
    return fgi_hash_more(key, text, text_size);
}

static char *path_of(const fg_client *client, fgi_hash key)
{
    char name[33];
    fgi_hash_format(key, name);
    return fgi_path_join(client->cache_dir, name);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Only files owned by the user: their content is executed. */
bool fgi_cache_is_own_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

static bool is_whole(const char *data, size_t size, fgi_hash key)
{
    header h;
    if (size < sizeof h)
        return false;
    memcpy(&h, data, sizeof h);
    return memcmp(h.magic, magic, sizeof magic) == 0 && h.version == HEADER_VERSION &&
           h.header_size == sizeof h && fgi_hash_equal(h.key, key) && h.size == size - sizeof h &&
           h.checksum == fgi_checksum64(data + sizeof h, size - sizeof h);
}

fgi_executable *fgi_cache_load(fg_client *client, fgi_hash key, const fgi_compile_options *options)
{
    fgi_executable *e = NULL;
    fg_error why = {0};
    char *data = NULL;
    size_t size = 0;
    char *path = client->cache_dir ? path_of(client, key) : NULL;
    if (path && fgi_cache_is_own_file(path) &&
        fgi_file_read(path, FILE_LIMIT_BYTES, &data, &size, &why) == FG_OK) {
        if (!is_whole(data, size, key))
            fgi_log(FG_LOG_INFO, "recompiling: the cached program '%s' is damaged", path);
        else if (fgi_executable_load(client, data + sizeof(header), size - sizeof(header), options,
                                     &e, &why) != FG_OK)
            fgi_log(FG_LOG_INFO, "compiling again: %s", why.message);
        else
            (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now: the last one to be removed */
    }
    fgi_free(data);
    fgi_free(path);
    return e;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Removes the least recently used files until the folder is within its limit. */
static void prune(const char *folder)
{
    for (;;) {
        long long total = 0;
        struct timespec oldest_time = {0};
        char oldest[256] = "", path[FGI_PATH_MAX + 256];
        DIR *dir = opendir(folder);
        for (const struct dirent *e; (e = fgi_folder_next(&dir)) != NULL;) {
            struct stat st;
            if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISREG(st.st_mode))
                continue;
            total += st.st_size;
            if (!oldest[0] || st.st_mtim.tv_sec < oldest_time.tv_sec) {
                snprintf(oldest, sizeof oldest, "%s", e->d_name);
                oldest_time = st.st_mtim;
            }
        }
        snprintf(path, sizeof path, "%s/%s", folder, oldest);
        if (total <= FOLDER_LIMIT_BYTES || unlink(path) != 0)
            return;
    }
}

/* Writes and renames without waiting for the disk as fgi_file_write_atomic does: the checksum
 * detects what a power failure leaves, and compiling again costs little. */
static fg_status write_file(const char *path, const header *h, const void *data, fg_error *err)
{
    char temporary[FGI_PATH_MAX + 16];
    const int n = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof temporary)
        return fgi_fail(err, FG_EIO, "the path '%s' is too long", path);
    const int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fgi_fail(err, FG_EIO, "cannot write '%s'", temporary);
    fg_status status = fgi_write_all(fd, temporary, h, sizeof *h, err);
    if (status == FG_OK)
        status = fgi_write_all(fd, temporary, data, h->size, err);
    close(fd);
    if (status == FG_OK && rename(temporary, path) != 0)
        status = fgi_fail(err, FG_EIO, "cannot rename '%s'", temporary);
    if (status != FG_OK)
        (void)unlink(temporary);
    return status;
}

void fgi_cache_store(fg_client *client, fgi_hash key, const fgi_executable *executable)
{
    fg_error why = {0};
    char *data = NULL;
    size_t size = 0;
    char *path = client->cache_dir ? path_of(client, key) : NULL;
    fg_status status = path ? fgi_folder_make(client->cache_dir, &why) : FG_ENOMEM;
    if (status == FG_OK)
        status = fgi_executable_serialize(executable, &data, &size, &why);
    if (status == FG_OK && size <= FILE_LIMIT_BYTES - sizeof(header)) {
        header h = {.version = HEADER_VERSION,
                    .header_size = sizeof h,
                    .key = key,
                    .size = size,
                    .checksum = fgi_checksum64(data, size)};
        memcpy(h.magic, magic, sizeof magic);
        status = write_file(path, &h, data, &why);
        prune(client->cache_dir);
    }
    if (status != FG_OK && client->cache_dir)
        fgi_log(FG_LOG_INFO, "could not write to the compilation cache: %s", why.message);
    fgi_free(data);
    fgi_free(path);
}
