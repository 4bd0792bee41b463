/* shards.c - expands patterns, checks that the set is complete, and reads parts of shards with
 * pread, so several threads can read at once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/shards.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/print.h"
#include "catalog/draft.h"
#include "input/block.h"

/* Descriptors that are kept open; a process may have 1024 by default. */
enum { OPEN_SHARDS = 256, SHARDS_MAX = 1 << 20, MOST_BRACES = 8 };

/* A gzip file that takes more than a moment. */
enum { SLOW_BYTES = 1 << 26 };

/* ---- gzip ------------------------------------------------------------------------------------ */

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

/* A temporary file that disappears when it is closed. */
static fg_status open_temporary(int *out, fg_error *err)
{
    const char *folder = temporary_folder();
    *out = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*out >= 0)
        return FG_OK;
    char *path = fgi_path_join(folder, "fulgurite-XXXXXX"); /* a file system without O_TMPFILE */
    if (path == NULL)
        return fgi_no_memory(err);
    *out = mkostemp(path, O_CLOEXEC);
    const fg_status status =
        *out >= 0 ? FG_OK : fgi_fail_errno(err, "create a temporary file in", folder);
    if (*out >= 0)
        (void)unlink(path);
    fgi_free(path);
    return status;
}

/* By the name as well: the length of a TFRecord can look like the start of a gzip file. */
static bool is_gzip(const char *name, int fd)
{
    unsigned char start[3];
    return (fgi_ends_with(name, ".gz") || fgi_ends_with(name, ".tgz")) &&
           pread(fd, start, sizeof(start), 0) == (ssize_t)sizeof(start) && start[0] == 0x1f &&
           start[1] == 0x8b && start[2] == 8;
}

/* Samples are read at their offset, so the shard becomes a part of the temporary file. */
static fg_status inflate_shard(fgi_shard_files *shards, fgi_shard_file *shard, fg_error *err)
{
    if (!shards->has_inflated)
        FGI_TRY(open_temporary(&shards->inflated, err));
    shards->has_inflated = true;
    fgi_log(shard->size < SLOW_BYTES ? FG_LOG_INFO : FG_LOG_WARNING,
            "'%s': decompressing to a temporary file in '%s'; to do it only once: gunzip -k '%s'",
            shard->path, temporary_folder(), shard->path);
    shard->base = shards->inflated_size;
    fg_error why;
    const fg_status status = fgi_inflate_file(shard->path, shards->inflated, &shard->size, &why);
    shards->inflated_size += shard->size;
    if (status != FG_OK)
        return fgi_fail(err, status, "%s%s", why.message,
                        status == FG_EIO ? "\ndecompress the file yourself (gunzip -k), or set "
                                           "TMPDIR to a folder with enough space"
                                         : "");
    shard->is_inflated = true;
    shard->fd = shards->inflated;
    return FG_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status look_at_shard(fgi_shard_file *shard, int fd, fg_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fgi_fail_errno(err, "access", shard->path);
    if (!S_ISREG(info.st_mode))
        return fgi_fail(err, FG_EIO, "cannot read '%s': not a regular file", shard->path);
    shard->size = (uint64_t)info.st_size;
    return fgi_file_refuse_open(shard->path, fd, shard->size, err);
}

static fg_status open_shard(fgi_shard_files *shards, fgi_shard_file *shard, bool keep,
                            fg_error *err)
{
    const int fd = open(shard->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fgi_fail_errno(err, "open", shard->path);
    fg_status status = look_at_shard(shard, fd, err);
    if (status == FG_OK && is_gzip(shard->name, fd))
        status = inflate_shard(shards, shard, err);
    if (status == FG_OK && keep && !shard->is_inflated)
        shard->fd = fd;
    else
        (void)close(fd);
    return status;
}

static fg_status add_shard(fgi_shard_files *shards, const char *path, fg_error *err)
{
    FGI_TRY_GROW(shards->list, shards->count, shards->capacity, err);
    fgi_shard_file *shard = &shards->list[shards->count];
    *shard = (fgi_shard_file){.path = fgi_strdup(path), .fd = -1};
    if (shard->path == NULL)
        return fgi_no_memory(err);
    const bool keep = shards->count++ < OPEN_SHARDS;
    shard->name = fgi_after_last(shard->path, '/');
    shard->split = fgi_split_in_name(shard->name);
    return open_shard(shards, shard, keep, err);
}

void fgi_shards_fini(fgi_shard_files *shards)
{
    for (size_t i = 0; i < shards->count; i++) {
        if (shards->list[i].fd >= 0 && !shards->list[i].is_inflated)
            (void)close(shards->list[i].fd);
        fgi_free(shards->list[i].path);
    }
    if (shards->has_inflated)
        (void)close(shards->inflated);
    fgi_free(shards->list);
    *shards = (fgi_shard_files){0};
}

/* ---- reading --------------------------------------------------------------------------------- */

static fg_status read_all(int fd, const fgi_shard_file *shard, uint64_t offset, void *data,
                          size_t size, fg_error *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got =
            pread(fd, (char *)data + done, size - done, (off_t)(shard->base + offset + done));
        if (got == 0)
            return fgi_fail(err, FG_EFORMAT,
                            "'%s': the file ends at byte %llu, but it had more bytes when it was "
                            "opened",
                            shard->path, (unsigned long long)(offset + done));
        if (got < 0 && errno != EINTR)
            return fgi_fail_errno(err, "read", shard->path);
        done += got > 0 ? (size_t)got : 0;
    }
    return FG_OK;
}

fg_status fgi_shard_read(const fgi_shard_file *shard, uint64_t offset, void *data, size_t size,
                         fg_error *err)
{
    if (shard->fd >= 0)
        return read_all(shard->fd, shard, offset, data, size, err);
    const int fd = open(shard->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fgi_fail_errno(err, "open", shard->path);
    const fg_status status = read_all(fd, shard, offset, data, size, err);
    (void)close(fd);
    return status;
}

fg_status fgi_window_get(fgi_window *w, uint64_t offset, size_t size, const unsigned char **out,
                         fg_error *err)
{
    if (offset < w->start || offset + size > w->start + w->size) {
        const uint64_t left = w->shard->size - offset;
        const size_t part = left < sizeof(w->data) ? (size_t)left : sizeof(w->data);
        w->size = 0;
        FGI_TRY(fgi_shard_read(w->shard, offset, w->data, part, err));
        w->start = offset;
        w->size = part;
    }
    *out = w->data + (offset - w->start);
    return FG_OK;
}

fg_status fgi_check_compression(fgi_window *w, fg_error *err)
{
    const unsigned char *data;
    const size_t size = w->shard->size < 8 ? (size_t)w->shard->size : 8;
    static const struct {
        size_t size;
        const char *magic, *name;
    } kinds[] = {{3, "\x1f\x8b\x08", "gzip"}, /* without its suffix */
                 {4, "\x28\xb5\x2f\xfd", "zstd"},
                 {5, "\xfd\x37zXZ", "xz"},
                 {3, "BZh", "bzip2"},
                 {4, "\x04\x22\x4d\x18", "lz4"}};
    if (size == 0)
        return FG_OK;
    FGI_TRY(fgi_window_get(w, 0, size, &data, err));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (size >= kinds[i].size && memcmp(data, kinds[i].magic, kinds[i].size) == 0)
            return fgi_fail(err, FG_EUNSUPPORTED,
                            "'%s' is compressed with %s, but samples are read at their offset\n"
                            "decompress the file first: %s -dc '%s' > FILE",
                            w->shard->path, kinds[i].name, kinds[i].name, w->shard->path);
    return FG_OK;
}

/* ---- sets of shards -------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const fgi_shard_file *)a)->path, ((const fgi_shard_file *)b)->path);
}

/* Length of the part of "PREFIX-NNNNN-of-NNNNN..." before the first number, and the numbers; 0 if
 * the name is not of this form. */
static size_t numbers_of(const char *name, int64_t *out_number, int64_t *out_total)
{
    const char *of = strstr(name, "-of-");
    if (of == NULL)
        return 0;
    const char *begin = of;
    while (begin > name && begin[-1] >= '0' && begin[-1] <= '9')
        begin--;
    const size_t digits = strspn(of + 4, "0123456789");
    if (begin == of || begin == name || begin[-1] != '-' ||
        !fgi_parse_i64((fgi_str){of + 4, digits}, out_total) ||
        !fgi_parse_i64((fgi_str){begin, (size_t)(of - begin)}, out_number))
        return 0;
    return (size_t)(begin - name);
}

static fg_status fail_missing(const char *set, size_t length, int64_t number, int64_t total,
                              fg_error *err)
{
    return fgi_fail(err, FG_ENOTFOUND, "shard %lld of '%.*s*-of-*' is missing: expected 0 to %lld",
                    (long long)number, (int)length, set, (long long)total - 1);
}

/* Checks that all shards of sets like train-00000-of-00010 exist. The list is sorted, so those of a
 * set are adjacent and in order. */
static fg_status check_complete(const fgi_shard_files *shards, fg_error *err)
{
    const char *set = NULL;
    size_t length = 0;
    int64_t expected = 0, set_total = 0;
    for (size_t i = 0; i <= shards->count; i++) {
        int64_t number = 0, total = 0;
        const char *name = i < shards->count ? shards->list[i].name : "";
        const size_t size = numbers_of(name, &number, &total);
        const bool is_same = set != NULL && size == length && memcmp(name, set, size) == 0;
        if (set != NULL && (is_same ? number > expected : expected < set_total))
            return fail_missing(set, length, expected, set_total, err);
        if (!is_same && number > 0)
            return fail_missing(name, size, 0, total, err);
        set = size > 0 ? name : NULL;
        length = size;
        set_total = total;
        expected = number + 1;
    }
    return FG_OK;
}

/* Adds the files of a folder that are shards or, if is_shard is NULL, match the pattern, sorted. */
static fg_status add_folder(const char *path, bool (*is_shard)(const char *name),
                            const char *pattern, fgi_shard_files *out, fg_error *err)
{
    const size_t first = out->count;
    DIR *folder = opendir(path);
    if (folder == NULL)
        return fgi_fail_errno(err, "open", path);
    fg_status status = FG_OK;
    for (const struct dirent *e; (e = fgi_folder_next(&folder)) != NULL;)
        if (status == FG_OK &&
            (is_shard != NULL ? is_shard(e->d_name) : fnmatch(pattern, e->d_name, 0) == 0)) {
            char *file = fgi_path_join(path, e->d_name);
            status = file == NULL ? fgi_no_memory(err) : add_shard(out, file, err);
            fgi_free(file);
        }
    if (status == FG_OK && out->count == first)
        return fgi_fail(err, FG_ENOTFOUND, "no file in the folder '%s' matches '%s'", path,
                        pattern);
    if (status == FG_OK)
        qsort(out->list + first, out->count - first, sizeof(*out->list), by_path);
    return status;
}

/* Adds a file, or those that match if the name of the file has wildcards. */
static fg_status add_glob(const char *pattern, fgi_shard_files *out, fg_error *err)
{
    const char *slash = strrchr(pattern, '/');
    const char *name = slash == NULL ? pattern : slash + 1;
    if (strpbrk(name, "*?[") == NULL)
        return add_shard(out, pattern, err);
    char *folder = fgi_path_parent(pattern);
    const fg_status status =
        folder == NULL ? fgi_no_memory(err) : add_folder(folder, NULL, name, out, err);
    fgi_free(folder);
    return status;
}

/* ---- braces ---------------------------------------------------------------------------------- */

static fg_status add_pattern(const char *pattern, int depth, fgi_shard_files *out, fg_error *err);

/* Adds the pattern with the braces replaced by `text`. */
static fg_status add_choice(const char *pattern, const char *open, const char *close, fgi_str text,
                            int depth, fgi_shard_files *out, fg_error *err)
{
    const size_t before = (size_t)(open - pattern), after = strlen(close + 1);
    char *one = fgi_alloc(before + text.size + after + 1);
    if (one == NULL)
        return fgi_no_memory(err);
    memcpy(one, pattern, before);
    memcpy(one + before, text.data, text.size);
    memcpy(one + before + text.size, close + 1, after + 1);
    const fg_status status = add_pattern(one, depth + 1, out, err);
    fgi_free(one);
    return status;
}

/* {first..last}, padded with zeros to the width of `first`. */
static fg_status add_range(const char *pattern, const char *open, const char *close,
                           const char *dots, int depth, fgi_shard_files *out, fg_error *err)
{
    int64_t first, last;
    const fgi_str left = {open + 1, (size_t)(dots - open - 1)};
    const fgi_str right = {dots + 2, (size_t)(close - dots - 2)};
    if (!fgi_parse_i64(left, &first) || !fgi_parse_i64(right, &last) || first < 0 || last < first ||
        last - first >= SHARDS_MAX || left.size > 20)
        return fgi_fail(err, FG_EINVAL, "'%s': expected a range of numbers such as {000..099}",
                        pattern);
    for (int64_t i = first; i <= last; i++) {
        char number[32];
        const int size =
            fgi_snprintf(number, sizeof(number), "%0*lld", (int)left.size, (long long)i);
        const fgi_str text = {number, (size_t)size};
        FGI_TRY(add_choice(pattern, open, close, text, depth, out, err));
    }
    return FG_OK;
}

static fg_status add_pattern(const char *pattern, int depth, fgi_shard_files *out, fg_error *err)
{
    const char *open = strchr(pattern, '{');
    const char *close = open == NULL ? NULL : strchr(open, '}');
    if (close == NULL)
        return add_glob(pattern, out, err);
    if (depth == MOST_BRACES)
        return fgi_fail(err, FG_EINVAL, "'%s': more than %d pairs of braces", pattern, MOST_BRACES);
    if (memchr(open + 1, '{', (size_t)(close - open - 1)) != NULL)
        return fgi_fail(err, FG_EINVAL, "'%s': braces in braces are not supported", pattern);
    const char *dots = memmem(open, (size_t)(close - open), "..", 2);
    if (dots != NULL)
        return add_range(pattern, open, close, dots, depth, out, err);
    for (const char *begin = open + 1; begin <= close;) {
        const char *comma = memchr(begin, ',', (size_t)(close - begin));
        const char *end = comma != NULL ? comma : close;
        const fgi_str text = {begin, (size_t)(end - begin)};
        FGI_TRY(add_choice(pattern, open, close, text, depth, out, err));
        begin = end + 1;
    }
    return FG_OK;
}

fg_status fgi_shards_open(const char *path, bool (*is_shard)(const char *name),
                          fgi_shard_files *out, fg_error *err)
{
    struct stat info;
    const bool exists = stat(path, &info) == 0;
    fg_status status;
    if (exists && S_ISDIR(info.st_mode)) {
        status = add_folder(path, is_shard, "names of this kind", out, err);
    } else if (exists || strpbrk(path, "{*?[") == NULL) {
        return add_shard(out, path, err);
    } else {
        status = add_pattern(path, 0, out, err);
    }
    /* braces name the shards themselves */
    if (status == FG_OK && strchr(path, '{') == NULL)
        FGI_TRY_CTX(check_complete(out, err), err, "'%s'", path);
    return status;
}
