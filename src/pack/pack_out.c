/* pack_out.c - a file that is written from front to back through a buffer, so that small records
 * need few system calls. It is written with pwrite: a position is never implied.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pack/pack_out.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"

enum { BUFFER_BYTES = 1 << 20, HOLE_BYTES = 64 << 10 };

fg_status fgi_pack_write_at(int fd, const char *path, const void *data, size_t size,
                            uint64_t offset, fg_error *err)
{
    const char *at = data;
    while (size > 0) {
        const ssize_t done = pwrite(fd, at, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && (errno == ENOSPC || errno == EDQUOT))
            return fgi_fail(err, FG_EIO,
                            "cannot write '%s': %s: what was written is kept; free some space and "
                            "resume",
                            path, fgi_errno_text(errno));
        if (done < 0)
            return fgi_fail_errno(err, "write", path);
        at += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return FG_OK;
}

/* Not if it has that size already: ext4 would then write all of it when it is closed. */
static fg_status cut(int fd, const char *path, uint64_t size, fg_error *err)
{
    struct stat info;
    if (fstat(fd, &info) == 0 && (uint64_t)info.st_size == size)
        return FG_OK;
    return ftruncate(fd, (off_t)size) == 0 ? FG_OK : fgi_fail_errno(err, "truncate", path);
}

fg_status fgi_pack_out_open(const char *path, uint64_t at, fgi_pack_out *out, fg_error *err)
{
    *out = (fgi_pack_out){.fd = -1, .at = at};
    out->path = fgi_strdup(path);
    out->buffer = fgi_alloc(BUFFER_BYTES);
    fg_status status = FG_OK;
    if (out->path == NULL || out->buffer == NULL)
        status = fgi_no_memory(err);
    if (status == FG_OK && (out->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
        status = fgi_fail_errno(err, "create", path);
    if (status == FG_OK)
        status = cut(out->fd, path, at, err);
    if (status != FG_OK)
        fgi_pack_out_close(out);
    return status;
}

fg_status fgi_pack_out_flush(fgi_pack_out *out, fg_error *err)
{
    FGI_TRY(fgi_pack_write_at(out->fd, out->path, out->buffer, out->used, out->at, err));
    out->at += out->used;
    out->used = 0;
    return FG_OK;
}

fg_status fgi_pack_out_put(fgi_pack_out *out, const void *data, size_t size, fg_error *err)
{
    if (size > BUFFER_BYTES - out->used)
        FGI_TRY(fgi_pack_out_flush(out, err));
    if (size >= BUFFER_BYTES) {
        FGI_TRY(fgi_pack_write_at(out->fd, out->path, data, size, out->at, err));
        out->at += size;
        return FG_OK;
    }
    if (size > 0)
        memcpy(out->buffer + out->used, data, size);
    out->used += size;
    return FG_OK;
}

fg_status fgi_pack_out_skip(fgi_pack_out *out, uint64_t position, fg_error *err)
{
    static const unsigned char zeros[4096];
    if (position - fgi_pack_out_position(out) >= HOLE_BYTES) {
        FGI_TRY(fgi_pack_out_flush(out, err));
        out->at = position;
    }
    while (fgi_pack_out_position(out) < position) {
        const uint64_t left = position - fgi_pack_out_position(out);
        FGI_TRY(
            fgi_pack_out_put(out, zeros, left < sizeof zeros ? (size_t)left : sizeof zeros, err));
    }
    return FG_OK;
}

void fgi_pack_out_close(fgi_pack_out *out)
{
    if (out->buffer != NULL && out->fd >= 0)
        (void)close(out->fd);
    fgi_free(out->buffer);
    fgi_free(out->path);
    *out = (fgi_pack_out){.fd = -1};
}
