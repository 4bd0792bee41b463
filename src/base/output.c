/* output.c - resolves the path of an output file, and replaces a file such that a crash at any
 * moment leaves either the old or the new content.
 *
 * Renaming over a path is only correct for regular files: it would replace /dev/stdout, a FIFO or a
 * symbolic link by a file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/temporary.h"
#include "base/text.h"

enum { MOST_LINKS = 40 }; /* as Linux follows */

/* ---- resolving a path ------------------------------------------------------------------------ */

/* N of /proc/self/fd/N, in any spelling of its folder; -1 for other paths. */
static int descriptor_of(const char *path)
{
    char folder[PATH_MAX], own[PATH_MAX];
    int64_t number;
    if (!fgi_parse_i64(fgi_str_of(fgi_after_last(path, '/')), &number) || number < 0 ||
        number > INT_MAX)
        return -1;
    char *parent = fgi_path_parent(path);
    const bool is_own = parent != NULL && realpath(parent, folder) != NULL &&
                        realpath("/proc/self/fd", own) != NULL && strcmp(folder, own) == 0;
    fgi_free(parent);
    return is_own ? (int)number : -1;
}

/* The target of a symbolic link, as a path from the current folder: a new string, or NULL if it
 * cannot be read. */
static char *follow(const char *path)
{
    char text[PATH_MAX];
    const ssize_t size = readlink(path, text, sizeof text - 1);
    if (size < 0)
        return NULL;
    text[size] = '\0';
    if (text[0] == '/')
        return fgi_strdup(text);
    char *parent = fgi_path_parent(path);
    char *joined = parent != NULL ? fgi_path_join(parent, text) : NULL;
    fgi_free(parent);
    return joined;
}

/* Follows symbolic links: sets out->target, and out->fd if the target is a descriptor of this
 * process, else -1. *out_mode is the st_mode of the target, 0 if it does not exist yet. */
static fg_status find_target(const char *path, fgi_output *out, mode_t *out_mode, fg_error *err)
{
    struct stat info;
    *out_mode = 0;
    out->target = fgi_strdup(path);
    for (int i = 0; out->target != NULL && i < MOST_LINKS; i++) {
        out->fd = descriptor_of(out->target);
        if (out->fd >= 0)
            return FG_OK;
        if (lstat(out->target, &info) != 0)
            return errno == ENOENT ? FG_OK : fgi_fail_errno(err, "write", path);
        *out_mode = info.st_mode;
        if (!S_ISLNK(info.st_mode))
            return FG_OK;
        char *next = follow(out->target);
        fgi_free(out->target);
        out->target = next;
        *out_mode = 0;
    }
    if (out->target == NULL)
        return fgi_no_memory(err);
    errno = ELOOP;
    return fgi_fail_errno(err, "write", path);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static fg_status open_beside(fgi_output *out, mode_t mode, fg_error *err)
{
    out->temporary = fgi_temporary_name(out->target, "tmp");
    if (out->temporary == NULL)
        return fgi_no_memory(err);
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (out->fd < 0)
        return fgi_fail_errno(err, "create", out->target);
    if (mode != 0 && fchmod(out->fd, mode & 07777) != 0 &&
        errno != EPERM) /* EPERM: the file system does not support modes */
        return fgi_fail_errno(err, "set the mode of", out->temporary);
    return FG_OK;
}

static fg_status open_directly(fgi_output *out, fg_error *err)
{
    out->fd = open(out->target, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return out->fd >= 0 ? FG_OK : fgi_fail_errno(err, "open", out->target);
}

static void fini(fgi_output *out)
{
    fgi_free(out->temporary);
    fgi_free(out->target);
    *out = (fgi_output){.fd = -1};
}

fg_status fgi_output_open(const char *path, fgi_output *out, fg_error *err)
{
    mode_t mode;
    *out = (fgi_output){.fd = -1};
    fg_status status = find_target(path, out, &mode, err);
    if (status == FG_OK && out->fd >= 0)
        out->borrows_fd = true;
    else if (status == FG_OK && S_ISDIR(mode))
        status = fgi_fail(err, FG_EIO, "cannot write '%s': it is a folder", path);
    else if (status == FG_OK)
        status = mode == 0 || S_ISREG(mode) ? open_beside(out, mode, err) : open_directly(out, err);
    if (status != FG_OK)
        (void)fgi_output_close(out, status, NULL);
    return status;
}

/* Makes the new name durable by syncing its folder. */
static fg_status take_name(const fgi_output *out, fg_error *err)
{
    char *folder = fgi_path_parent(out->target);
    if (folder == NULL)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    if (rename(out->temporary, out->target) != 0)
        status = fgi_fail_errno(err, "replace", out->target);
    if (status == FG_OK)
        status = fgi_folder_sync(folder, err);
    fgi_free(folder);
    return status;
}

fg_status fgi_output_close(fgi_output *out, fg_status status, fg_error *err)
{
    if (status == FG_OK && out->temporary != NULL && fsync(out->fd) != 0)
        status = fgi_fail_errno(err, "sync", out->target);
    /* the result of close matters too (NFS, quotas) */
    if (out->fd >= 0 && !out->borrows_fd && close(out->fd) != 0 && status == FG_OK)
        status = fgi_fail_errno(err, "close", out->target);
    if (status == FG_OK && out->temporary != NULL)
        status = take_name(out, err);
    if (status != FG_OK && out->temporary != NULL)
        (void)unlink(out->temporary);
    fini(out);
    return status;
}
