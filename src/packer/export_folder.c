/* export_folder.c - see export_folder.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "packer/export_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/temporary.h"
#include "base/text.h"

#define SUFFIX "export"

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status check_empty(const char *path, fg_error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return errno == ENOTDIR ? fgi_fail(err, FG_EINVAL, "'%s' exists and is not a folder", path)
                                : fgi_fail_errno(err, "open", path);
    bool is_empty = true;
    for (const struct dirent *entry; is_empty && (entry = readdir(folder)) != NULL;)
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    (void)closedir(folder);
    if (is_empty)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s' is not empty: give a new folder, or --force (replace) to write into it "
                    "and to replace files with the same names",
                    path);
}

/* Removes what a killed process has left: TARGET.export.MACHINE-PID-COUNT. */
static void remove_abandoned(const char *target)
{
    const char *name = fgi_after_last(target, '/');
    char *parent = fgi_path_parent(target);
    DIR *folder = parent != NULL ? opendir(parent) : NULL;
    fg_error ignored;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (fgi_temporary_base(entry->d_name, SUFFIX) != strlen(name) ||
            strncmp(entry->d_name, name, strlen(name)) != 0 ||
            !fgi_temporary_is_abandoned(parent, entry->d_name))
            continue;
        char *path = fgi_path_join(parent, entry->d_name);
        if (path != NULL)
            (void)fgi_folder_remove(path, &ignored);
        fgi_free(path);
    }
    if (folder != NULL)
        (void)closedir(folder);
    fgi_free(parent);
}

static fg_status open_new(fgi_export_folder *f, fg_error *err)
{
    remove_abandoned(f->target);
    f->work = fgi_temporary_name(f->target, SUFFIX);
    if (f->work == NULL)
        return fgi_no_memory(err);
    if (mkdir(f->work, 0777) == 0)
        return FG_OK;
    const fg_status status = fgi_fail_errno(err, "create the folder", f->work);
    fgi_free(f->work);
    f->work = NULL;
    return status;
}

static fg_status open_existing(fgi_export_folder *f, fg_error *err)
{
    f->work = fgi_strdup(f->target);
    char *file = f->work != NULL ? fgi_path_join(f->work, "fulgurite") : NULL;
    f->temporary = file != NULL ? fgi_temporary_name(file, SUFFIX) : NULL;
    fgi_free(file);
    return f->temporary != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_export_open(const char *path, bool replace, fgi_export_folder *out, fg_error *err)
{
    struct stat info;
    *out = (fgi_export_folder){.target = fgi_strdup(path)};
    if (out->target == NULL)
        return fgi_no_memory(err);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
        out->target[end - 1] = '\0';
    if (out->target[0] == '\0')
        return fgi_fail(err, FG_EINVAL, "the path of the folder is empty");
    if (lstat(out->target, &info) != 0 && errno == ENOENT)
        return open_new(out, err);
    fg_error inside;
    const fg_status status = check_empty(out->target, &inside);
    const bool is_folder = stat(out->target, &info) == 0 && S_ISDIR(info.st_mode);
    if (status != FG_OK && !(replace && is_folder && inside.status == FG_EINVAL)) {
        if (err != NULL)
            *err = inside;
        return status;
    }
    return open_existing(out, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_conflict(int number)
{
    return number == EEXIST || number == EISDIR || number == ENOTDIR;
}

/* Makes the folders of `path`, starting after the first `begin` bytes. */
static fg_status make_folders(fgi_export_folder *f, size_t begin, bool *out_is_taken, fg_error *err)
{
    const char *last = strrchr(f->path.data, '/');
    const size_t size = (size_t)(last - f->path.data);
    struct stat info;
    if (f->made.size == size && memcmp(f->made.data, f->path.data, size) == 0)
        return FG_OK;
    for (size_t i = begin; i <= size; i++) {
        if (f->path.data[i] != '/')
            continue;
        f->path.data[i] = '\0';
        int number = mkdir(f->path.data, 0777) == 0 ? 0 : errno;
        if (number == EEXIST && stat(f->path.data, &info) == 0 && S_ISDIR(info.st_mode))
            number = 0;
        const fg_status status =
            number == 0 || is_conflict(number)
                ? FG_OK
                : (errno = number, fgi_fail_errno(err, "create the folder", f->path.data));
        f->path.data[i] = '/';
        *out_is_taken = is_conflict(number);
        if (number != 0)
            return status;
    }
    fgi_buf_clear(&f->made);
    fgi_buf_add(&f->made, f->path.data, size);
    return fgi_buf_status(&f->made, err);
}

/* Creates a file that does not exist yet. */
static fg_status create(const char *path, const void *data, size_t size, bool *out_is_taken,
                        fg_error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *out_is_taken = fd < 0 && is_conflict(errno);
    if (fd < 0)
        return *out_is_taken ? FG_OK : fgi_fail_errno(err, "create", path);
    fg_status status = fgi_write_all(fd, path, data, size, err);
    if (close(fd) != 0 && status == FG_OK)
        status = fgi_fail_errno(err, "write", path);
    if (status != FG_OK)
        (void)unlink(path);
    return status;
}

static fg_status put_file(fgi_export_folder *f, const void *data, size_t size, bool *out_is_taken,
                          fg_error *err)
{
    if (f->temporary == NULL)
        return create(f->path.data, data, size, out_is_taken, err);
    FGI_TRY(create(f->temporary, data, size, out_is_taken, err));
    if (*out_is_taken || rename(f->temporary, f->path.data) == 0)
        return FG_OK;
    const int number = errno;
    (void)unlink(f->temporary);
    errno = number;
    *out_is_taken = is_conflict(number);
    return *out_is_taken ? FG_OK : fgi_fail_errno(err, "replace", f->path.data);
}

fg_status fgi_export_write(fgi_export_folder *folder, const char *relative, const void *data,
                           size_t size, bool *out_is_taken, fg_error *err)
{
    const fgi_hash key = fgi_hash_text(relative);
    *out_is_taken = fgi_map_get(&folder->used, key) != NULL;
    if (*out_is_taken)
        return FG_OK;
    fgi_buf_clear(&folder->path);
    fgi_buf_printf(&folder->path, "%s/%s", folder->work, relative);
    FGI_TRY(fgi_buf_status(&folder->path, err));
    FGI_TRY(make_folders(folder, strlen(folder->work) + 1, out_is_taken, err));
    if (!*out_is_taken)
        FGI_TRY(put_file(folder, data, size, out_is_taken, err));
    if (*out_is_taken || fgi_map_put(&folder->used, key, folder))
        return FG_OK;
    return fgi_no_memory(err);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* All files at once: an fsync of each would take far longer. */
static fg_status sync_all(const fgi_export_folder *f, fg_error *err)
{
    const int fd = f->work != NULL ? open(f->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const bool is_synced = fd >= 0 && syncfs(fd) == 0;
    const fg_status status = is_synced ? FG_OK : fgi_fail_errno(err, "sync", f->work);
    if (fd >= 0)
        (void)close(fd);
    return status;
}

static fg_status give_name(const fgi_export_folder *f, fg_error *err)
{
    if (rename(f->work, f->target) != 0)
        return fgi_fail_errno(err, "create", f->target);
    char *parent = fgi_path_parent(f->target);
    const fg_status status = parent != NULL ? fgi_folder_sync(parent, err) : fgi_no_memory(err);
    fgi_free(parent);
    return status;
}

fg_status fgi_export_close(fgi_export_folder *folder, fg_status status, fg_error *err)
{
    fg_error ignored;
    const bool is_new = folder->work != NULL && folder->temporary == NULL;
    if (status == FG_OK)
        status = sync_all(folder, err);
    if (status == FG_OK && is_new)
        status = give_name(folder, err);
    if (status != FG_OK && is_new)
        (void)fgi_folder_remove(folder->work, &ignored);
    fgi_map_fini(&folder->used);
    fgi_buf_fini(&folder->path);
    fgi_buf_fini(&folder->made);
    fgi_free(folder->temporary);
    fgi_free(folder->work);
    fgi_free(folder->target);
    return status;
}
