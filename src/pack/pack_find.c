/* pack_find.c - from a path to the files of a pack: a file, any file of a set, the NAME.pack of a
 * set, a pattern, a folder.
 *
 * The header of one file says how many there are; the others are found by name, so that no folder
 * has to be listed when the path of a file is given.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "pack/pack_file.h"

static const char suffix[] = ".pack";
enum { SUFFIX = sizeof suffix - 1, MOST_SHARDS = 100000 };

char *fgi_pack_shard_path(const char *path, uint32_t shard)
{
    const size_t stem = strlen(path) - SUFFIX, size = stem + 32;
    char *out = fgi_alloc(size);
    if (out != NULL)
        (void)fgi_snprintf(out, size, "%.*s-%05" PRIu32 "%s", (int)stem, path, shard, suffix);
    return out;
}

/* ---- the first file -------------------------------------------------------------------------- */

/* The files of a folder whose names match: the first by name, and their number. */
static fg_status search(const char *folder, const char *pattern, char **out_first, int *out_count,
                        fg_error *err)
{
    DIR *listed = opendir(folder);
    if (listed == NULL)
        return fgi_fail_errno(err, "open", folder);
    char *first = NULL;
    bool is_failed = false;
    const struct dirent *entry;
    while (!is_failed && (entry = readdir(listed)) != NULL) { /* used by this thread only */
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) != 0)
            continue;
        ++*out_count;
        if (first != NULL && strcmp(first, entry->d_name) <= 0)
            continue;
        fgi_free(first);
        first = fgi_strdup(entry->d_name);
        is_failed = first == NULL;
    }
    (void)closedir(listed);
    *out_first = first != NULL ? fgi_path_join(folder, first) : NULL;
    is_failed = is_failed || (first != NULL && *out_first == NULL);
    fgi_free(first);
    if (is_failed)
        return fgi_no_memory(err);
    return *out_first != NULL
               ? FG_OK
               : fgi_fail(err, FG_ENOTFOUND, "the folder '%s' has no file '%s'", folder, pattern);
}

static fg_status search_pattern(const char *path, char **out_first, int *out_count, fg_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = fgi_path_parent(path);
    if (folder == NULL)
        return fgi_no_memory(err);
    const fg_status status =
        search(folder, slash != NULL ? slash + 1 : path, out_first, out_count, err);
    fgi_free(folder);
    return status;
}

/* NAME-00000.pack, the first file of a set, as a new string: NULL if the path is not NAME.pack, or
 * there is no such file. */
static char *first_of_set(const char *path)
{
    const size_t size = strlen(path);
    const bool is_name = size > SUFFIX && strcmp(path + size - SUFFIX, suffix) == 0;
    char *first = is_name ? fgi_pack_shard_path(path, 0) : NULL;
    if (first != NULL && fgi_file_exists(first))
        return first;
    fgi_free(first);
    return NULL;
}

/* *out_count is 0 if the path names one file, or one set. */
static fg_status find_first(const char *path, char **out_first, int *out_count, fg_error *err)
{
    struct stat info;
    *out_first = NULL;
    *out_count = 0;
    const bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return search(path, "*.pack", out_first, out_count, err);
    if (!exists && errno == ENOENT && strpbrk(path, "*?[") != NULL)
        return search_pattern(path, out_first, out_count, err);
    *out_first = exists ? NULL : first_of_set(path);
    if (*out_first == NULL)
        *out_first = fgi_strdup(path);
    return *out_first != NULL ? FG_OK : fgi_no_memory(err);
}

/* ---- the others ------------------------------------------------------------------------------ */

static fg_status read_page(const char *path, fgi_pack_page *page, fg_error *err)
{
    struct stat info;
    fg_status status = FG_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a pipe */
    if (fd < 0)
        return fgi_fail_errno(err, "open", path);
    if (fstat(fd, &info) != 0)
        status = fgi_fail_errno(err, "access", path);
    else if (!S_ISREG(info.st_mode))
        status =
            fgi_fail(err, FG_EFORMAT, "'%s': expected a pack, but it is not a regular file", path);
    else if (pread(fd, page, sizeof *page, 0) < 0)
        status = fgi_fail_errno(err, "read", path);
    else
        status = fgi_file_refuse(path, page, sizeof *page, (uint64_t)info.st_size, err);
    (void)close(fd);
    return status == FG_OK ? fgi_pack_page_check(page, path, 0, err) : status;
}

/* NAME.pack of the set's file NAME-00003.pack: a new string. */
static fg_status base_path(const char *path, uint32_t shard, char **out, fg_error *err)
{
    char ending[32];
    const int size = fgi_snprintf(ending, sizeof ending, "-%05" PRIu32 "%s", shard, suffix);
    const size_t length = strlen(path);
    *out = NULL;
    if (length <= (size_t)size || strcmp(path + length - (size_t)size, ending) != 0)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte 88: the file is number %" PRIu32
                        " of a set, so its name must end in '%s': was it renamed?",
                        path, shard, ending);
    char *base = fgi_strdup(path);
    if (base == NULL)
        return fgi_no_memory(err);
    memcpy(base + length - (size_t)size, suffix, SUFFIX + 1);
    *out = base;
    return FG_OK;
}

static fg_status list_set(const char *first, const fgi_pack_page *page, char **paths, fg_error *err)
{
    char *base = NULL;
    FGI_TRY(base_path(first, page->shard, &base, err));
    bool is_full = true;
    for (uint32_t i = 0; i < page->shard_count; i++) {
        paths[i] = fgi_pack_shard_path(base, i);
        is_full = is_full && paths[i] != NULL;
    }
    fgi_free(base);
    return is_full ? FG_OK : fgi_no_memory(err);
}

static fg_status list(char **take_first, int matches, const char *path, char ***out_paths,
                      int *out_count, fg_error *err)
{
    fgi_pack_page page = {0};
    FGI_TRY(read_page(*take_first, &page, err));
    const uint32_t count = page.is_finished != 0 ? page.shard_count : 1;
    if (count == 0 || count > MOST_SHARDS)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 92: invalid number of shards: %" PRIu32,
                        *take_first, count);
    if (matches > (int)count)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' has %d packs or files of several sets: name one of them, such as "
                        "'%s'",
                        path, matches, *take_first);
    *out_paths = fgi_calloc(count, sizeof **out_paths);
    if (*out_paths == NULL)
        return fgi_no_memory(err);
    *out_count = (int)count;
    if (count > 1)
        return list_set(*take_first, &page, *out_paths, err);
    (*out_paths)[0] = *take_first;
    *take_first = NULL;
    return FG_OK;
}

fg_status fgi_pack_find(const char *path, char ***out_paths, int *out_count, fg_error *err)
{
    char *first = NULL;
    int matches = 0;
    *out_paths = NULL;
    *out_count = 0;
    fg_status status = find_first(path, &first, &matches, err);
    if (status == FG_OK && first != NULL)
        status = list(&first, matches, path, out_paths, out_count, err);
    fgi_free(first);
    if (status != FG_OK) {
        fgi_pack_find_free(*out_paths, *out_count);
        *out_paths = NULL;
        *out_count = 0;
    }
    return status;
}

void fgi_pack_find_free(char **paths, int count)
{
    for (int i = 0; paths != NULL && i < count; i++)
        fgi_free(paths[i]);
    fgi_free(paths);
}
