/* catalog_read.c - the bytes of samples: whole files and parts of shards, into memory that the
 * caller reuses.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file_open.h"
#include "base/print.h"
#include "catalog/draft.h"

void fg_catalog_bytes_fini(fg_catalog_bytes *bytes)
{
    if (bytes == NULL)
        return;
    fgi_free(bytes->data);
    *bytes = (fg_catalog_bytes){0};
}

fg_status fgi_bytes_reserve(fg_catalog_bytes *bytes, uint64_t size, const char *name, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    if (size > FGI_SAMPLE_BYTES_MAX)
        return fgi_fail(err, FG_EFORMAT, "'%s' has %llu bytes, more than 2 GiB",
                        fgi_shown(name, shown), (unsigned long long)size);
    if (size > bytes->capacity || bytes->data == NULL) {
        const size_t larger = (size_t)size + (size_t)size / 4 + 4096;
        fgi_free(bytes->data); /* its content is not needed */
        bytes->data = fgi_alloc(larger);
        bytes->capacity = bytes->data != NULL ? larger : 0;
        if (bytes->data == NULL)
            return fgi_no_memory(err);
    }
    bytes->size = (size_t)size;
    return FG_OK;
}

static fg_status fail_file(const fg_catalog *c, const fgi_sample *s, const char *what,
                           const char *why, fg_status status, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    const bool is_absolute = s->path[0] == '/';
    return fgi_fail(err, status, "cannot %s '%s%s%s': %s", what, is_absolute ? "" : c->folder,
                    is_absolute ? "" : "/", fgi_shown(s->path, shown), why);
}

static fg_status read_open_file(const fg_catalog *c, const fgi_sample *s, int fd,
                                fg_catalog_bytes *bytes, fg_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fail_file(c, s, "access", fgi_errno_text(errno), FG_EIO, err);
    if (!S_ISREG(info.st_mode))
        return fail_file(c, s, "read", "not a regular file", FG_EIO, err);
    FGI_TRY(fgi_bytes_reserve(bytes, (uint64_t)info.st_size, s->name, err));
    size_t done = 0;
    while (done < bytes->size) {
        const ssize_t got = read(fd, bytes->data + done, bytes->size - done);
        if (got < 0 && errno != EINTR)
            return fail_file(c, s, "read", fgi_errno_text(errno), FG_EIO, err);
        if (got == 0) /* it has become shorter */
            return fail_file(c, s, "read", "the file was truncated while reading", FG_EIO, err);
        done += got > 0 ? (size_t)got : 0;
    }
    return FG_OK;
}

static fg_status open_file(const fg_catalog *catalog, const fgi_sample *sample, int *out_fd,
                           fg_error *err)
{
    char path[FGI_SHOWN_BYTES], folder[FGI_SHOWN_BYTES];
    *out_fd = fgi_open_counted(catalog->folder_fd, sample->path);
    if (*out_fd >= 0)
        return FG_OK;
    const int error = errno;
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    if (is_missing && sample->path[0] != '/' && access(catalog->folder, F_OK) != 0)
        return fgi_fail(err, FG_ENOTFOUND,
                        "cannot open '%s': its folder '%s' was removed or is no longer mounted",
                        fgi_shown(sample->path, path), fgi_shown(catalog->folder, folder));
    return fail_file(catalog, sample, "open", fgi_errno_text(error),
                     is_missing ? FG_ENOTFOUND : FG_EIO, err);
}

fg_status fgi_read_sample_file(const fg_catalog *catalog, const fgi_sample *sample,
                               fg_catalog_bytes *bytes, fg_error *err)
{
    int fd;
    FGI_TRY(open_file(catalog, sample, &fd, err));
    const fg_status status = read_open_file(catalog, sample, fd, bytes, err);
    (void)close(fd);
    return status;
}

/* A file that cannot be read like this has no ends: reading all of it says what is wrong. */
static fg_status read_ends_of_file(const fg_catalog *catalog, const fgi_sample *sample, void *first,
                                   void *last, size_t n, uint64_t *out_size, fg_error *err)
{
    int fd;
    struct stat info;
    FGI_TRY(open_file(catalog, sample, &fd, err));
    const bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    if (is_file && (uint64_t)info.st_size >= n && pread(fd, first, n, 0) == (ssize_t)n &&
        pread(fd, last, n, info.st_size - (off_t)n) == (ssize_t)n)
        *out_size = (uint64_t)info.st_size;
    (void)close(fd);
    return FG_OK;
}

fg_status fgi_catalog_read_ends(const fg_catalog *catalog, int64_t index, void *first, void *last,
                                size_t n, uint64_t *out_size, bool *out_is_known, fg_error *err)
{
    const fgi_sample *s = &catalog->samples[index];
    *out_size = 0;
    *out_is_known = s->path != NULL || catalog->kind->read == fgi_read_sample_range;
    if (s->path != NULL)
        return read_ends_of_file(catalog, s, first, last, n, out_size, err);
    if (!*out_is_known || s->size < n)
        return FG_OK;
    const fgi_shard_file *shard = &catalog->shards.list[s->shard];
    *out_size = s->size;
    FGI_TRY(fgi_shard_read(shard, s->offset, first, n, err));
    return fgi_shard_read(shard, s->offset + s->size - n, last, n, err);
}

static double later(double a, struct timespec b)
{
    return fmax(a, (double)b.tv_sec + 1e-9 * (double)b.tv_nsec);
}

double fgi_catalog_changed_s(const fg_catalog *catalog, int64_t index)
{
    static const int flags[] = {0, AT_SYMLINK_NOFOLLOW}; /* a link may name another file now */
    const fgi_sample *s = &catalog->samples[index];
    const int folder = s->path != NULL ? catalog->folder_fd : AT_FDCWD;
    const char *path = s->path != NULL ? s->path : catalog->shards.list[s->shard].path;
    double changed_s = 0;
    for (int i = 0; i < 2; i++) {
        struct stat info;
        if (fstatat(folder, path, &info, flags[i]) != 0)
            return (double)INFINITY;
        changed_s = later(later(changed_s, info.st_mtim), info.st_ctim);
    }
    return changed_s;
}

fg_status fgi_read_sample_range(const fg_catalog *catalog, const fgi_sample *sample,
                                fg_catalog_bytes *bytes, fg_error *err)
{
    FGI_TRY(fgi_bytes_reserve(bytes, sample->size, sample->name, err));
    return fgi_shard_read(&catalog->shards.list[sample->shard], sample->offset, bytes->data,
                          bytes->size, err);
}

uint64_t fgi_catalog_size(const fg_catalog *catalog, int64_t index)
{
    struct stat info;
    const fgi_sample *s = &catalog->samples[index];
    if (s->path == NULL)
        return s->size;
    return fstatat(catalog->folder_fd, s->path, &info, 0) == 0 ? (uint64_t)info.st_size : 0;
}
