/* hub_file.c - downloads one file of a model. blobs/ETAG.incomplete has what was received so far;
 * it is renamed when it is complete and verified. A lock on .locks/.../ETAG.lock, which
 * huggingface_hub uses too, keeps other processes from writing it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/sha256.h"
#include "base/temporary.h"
#include "base/thread.h"
#include "hub/hub_model.h"

enum { CHUNK_BYTES = 1 << 16 };

/* What is being written. */
typedef struct blob {
    const fgi_hub_file *file;
    const char *path;
    int fd;
    int64_t bytes;
    fgi_sha256 hash;
    fg_error why; /* of a failed write */
} blob;

static bool take(void *self, const void *data, size_t size)
{
    blob *b = self;
    if (b->bytes + (int64_t)size > b->file->size) {
        (void)fgi_fail(&b->why, FG_EFORMAT, "%s: received more than the %" PRId64 " bytes listed",
                       b->file->name, b->file->size);
        return false;
    }
    if (fgi_write_all(b->fd, b->path, data, size, &b->why) != FG_OK)
        return false;
    fgi_sha256_add(&b->hash, data, size);
    b->bytes += (int64_t)size;
    return true;
}

static bool restart(void *self)
{
    blob *b = self;
    b->bytes = 0;
    fgi_sha256_init(&b->hash);
    return ftruncate(b->fd, 0) == 0 && lseek(b->fd, 0, SEEK_SET) == 0;
}

/* Continues what an earlier download left. */
static fg_status read_rest(blob *b, fg_error *err)
{
    char chunk[CHUNK_BYTES];
    ssize_t got;
    fgi_sha256_init(&b->hash);
    while ((got = read(b->fd, chunk, sizeof chunk)) > 0) {
        fgi_sha256_add(&b->hash, chunk, (size_t)got);
        b->bytes += got;
    }
    const bool is_good = got == 0 && (b->bytes <= b->file->size || restart(b));
    return is_good ? FG_OK : fgi_fail_errno(err, "cannot read", b->path);
}

static fg_status verify(const fgi_hub *hub, blob *b, fg_error *err)
{
    char hash[65];
    fgi_sha256_end(&b->hash, hash);
    if (b->bytes == b->file->size && (!b->file->is_large || strcmp(hash, b->file->etag) == 0))
        return FG_OK;
    if (b->bytes == b->file->size)
        (void)fgi_fail(err, FG_EFORMAT,
                       "%s: %s: SHA-256 is %s, but the hub lists %s: it was removed, try again",
                       hub->name, b->file->name, hash, b->file->etag);
    else
        (void)fgi_fail(err, FG_EFORMAT,
                       "%s: %s: received %" PRId64 " bytes, but the hub lists %" PRId64
                       ": it was removed, try again",
                       hub->name, b->file->name, b->bytes, b->file->size);
    (void)unlink(b->path);
    return err->status;
}

static fg_status receive(const fgi_hub *hub, blob *b, fg_error *err)
{
    fgi_buf url = {0};
    FGI_TRY(read_rest(b, err));
    const fgi_hub_sink sink = {take, restart, b, &b->bytes};
    fgi_buf_printf(&url, "/%s/resolve/%s/%s", hub->id, hub->commit, b->file->name);
    fgi_hub_say(hub, "downloading %s: %s (%s)%s", hub->name, b->file->name,
                fgi_bytes_words((double)b->file->size), b->bytes > 0 ? ", continued" : "");
    fg_status status = fgi_buf_status(&url, err);
    if (status == FG_OK && b->bytes < b->file->size)
        status = fgi_hub_get(hub, url.data, b->file->name, &sink, err);
    fgi_buf_fini(&url);
    if (b->why.status != FG_OK)
        return fgi_fail(err, b->why.status, "%s: %s", hub->name, b->why.message);
    return status == FG_OK ? verify(hub, b, err) : status;
}

/* Writes the blob; its lock is held. */
static fg_status write_blob(const fgi_hub *hub, const fgi_hub_file *file, const char *path,
                            fg_error *err)
{
    char part[FGI_PATH_BYTES + 16];
    (void)snprintf(part, sizeof part, "%s.incomplete", path);
    blob b = {.file = file, .path = part, .fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0666)};
    if (b.fd < 0)
        return fgi_fail_errno(err, "cannot create", part);
    fg_status status = receive(hub, &b, err);
    if (status == FG_OK && fsync(b.fd) != 0)
        status = fgi_fail_errno(err, "cannot write", part);
    (void)close(b.fd);
    if (status == FG_OK && rename(part, path) != 0)
        status = fgi_fail_errno(err, "cannot create", path);
    return status;
}

/* Waits for other processes that download the file. */
static fg_status lock(const fgi_hub *hub, const fgi_hub_file *file, int *out_fd, fg_error *err)
{
    char folder[FGI_PATH_BYTES], path[FGI_PATH_BYTES], name[FGI_HUB_NAME + 8];
    bool is_reported = false;
    (void)snprintf(name, sizeof name, "%s.lock", file->etag);
    FGI_TRY(fgi_path_put(hub->cache, ".locks", folder, err));
    FGI_TRY(fgi_path_put(folder, fgi_after_last(hub->folder, '/'), path, err));
    FGI_TRY(fgi_folder_make(path, err));
    memcpy(folder, path, sizeof folder);
    FGI_TRY(fgi_path_put(folder, name, path, err));
    *out_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*out_fd < 0)
        return fgi_fail_errno(err, "cannot create", path);
    while (flock(*out_fd, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
        if (!is_reported)
            fgi_hub_say(hub, "%s: waiting for another process that downloads %s", hub->name,
                        file->name);
        is_reported = true;
        fgi_sleep(0.1);
    }
    return FG_OK;
}

/* snapshots/COMMIT/FILE -> ../../blobs/ETAG */
static fg_status link_blob(const fgi_hub *hub, const fgi_hub_file *file, fg_error *err)
{
    char folder[FGI_PATH_BYTES], path[FGI_PATH_BYTES], target[FGI_HUB_NAME + 16];
    FGI_TRY(fgi_path_put(hub->folder, "snapshots", path, err));
    FGI_TRY(fgi_path_put(path, hub->commit, folder, err));
    FGI_TRY(fgi_folder_make(folder, err));
    FGI_TRY(fgi_path_put(folder, file->name, path, err));
    (void)snprintf(target, sizeof target, "../../blobs/%s", file->etag);
    char *temporary = fgi_temporary_name(path, "tmp");
    if (temporary == NULL)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    if (symlink(target, temporary) != 0 || rename(temporary, path) != 0)
        status = fgi_fail_errno(err, "cannot create", path);
    fgi_free(temporary);
    return status;
}

fg_status fgi_hub_file_get(const fgi_hub *hub, const fgi_hub_file *file, fg_error *err)
{
    char folder[FGI_PATH_BYTES], path[FGI_PATH_BYTES];
    int fd = -1;
    FGI_TRY(fgi_path_put(hub->folder, "blobs", folder, err));
    FGI_TRY(fgi_path_put(folder, file->etag, path, err));
    if (!fgi_file_exists(path)) {
        FGI_TRY(fgi_folder_make(folder, err));
        fg_status status = lock(hub, file, &fd, err);
        if (status == FG_OK && !fgi_file_exists(path))
            status = write_blob(hub, file, path, err);
        if (fd >= 0)
            (void)close(fd);
        FGI_TRY(status);
    }
    return link_blob(hub, file, err);
}
