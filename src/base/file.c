/* file.c - file functions for the rest of the library. A file descriptor lives within one call;
 * returned blocks and mappings belong to the caller.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/output.h"
#include "base/print.h"

fg_status fgi_fail_errno(fg_error *err, const char *what, const char *path)
{
    const int number = errno;
    fg_status status = FG_EIO;
    if (number == ENOENT || number == ENOTDIR)
        status = FG_ENOTFOUND;
    else if (number == ENOMEM)
        status = FG_ENOMEM;
    return fgi_fail(err, status, "cannot %s '%s': %s", what, path, fgi_errno_text(number));
}

/* Opens a file for reading and returns its size (0 if it has none, such as a pipe). `flags`:
 * O_NONBLOCK does not wait for the other end of a pipe. */
static fg_status open_to_read(const char *path, int flags, int *out_fd, struct stat *info,
                              fg_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return fgi_fail_errno(err, "open", path);
    fg_status status = FG_OK;
    if (fstat(fd, info) != 0)
        status = fgi_fail_errno(err, "access", path);
    else if (S_ISDIR(info->st_mode))
        status = fgi_fail(err, FG_EIO, "cannot read '%s': it is a folder", path);
    if (status == FG_OK)
        *out_fd = fd;
    else
        (void)close(fd);
    return status;
}

fg_status fgi_file_map(const char *path, fgi_mapping *out, fg_error *err)
{
    *out = (fgi_mapping){0};
    int fd = -1;
    struct stat info;
    FGI_TRY(open_to_read(path, O_NONBLOCK, &fd, &info, err));
    fg_status status = FG_OK;
    if (!S_ISREG(info.st_mode)) {
        status = fgi_fail(err, FG_EIO, "cannot map '%s': not a regular file", path);
    } else if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            status = fgi_fail_errno(err, "map", path);
        else
            *out = (fgi_mapping){.data = data, .size = (size_t)info.st_size};
    }
    if (status == FG_OK)
        status = fgi_file_refuse_open(path, fd, (uint64_t)info.st_size, err);
    if (status != FG_OK)
        fgi_file_unmap(out);
    (void)close(fd);
    return status;
}

void fgi_file_unmap(fgi_mapping *mapping)
{
    if (mapping->data != NULL)
        (void)munmap((void *)mapping->data, mapping->size);
    *mapping = (fgi_mapping){0};
}

/* Reads at most `size` bytes; fewer at the end of the file. */
static fg_status read_some(int fd, const char *path, char *data, size_t size, size_t *out_size,
                           fg_error *err)
{
    *out_size = 0;
    while (*out_size < size) {
        const ssize_t got = read(fd, data + *out_size, size - *out_size);
        if (got == 0)
            break;
        if (got > 0)
            *out_size += (size_t)got;
        else if (errno != EINTR)
            return fgi_fail_errno(err, "read", path);
    }
    return FG_OK;
}

/* Reads to the end in chunks, so that it also works for a file that grows or has no size. */
static fg_status read_to_end(int fd, const char *path, size_t expected, size_t limit_bytes,
                             char **data, size_t *size, fg_error *err)
{
    size_t capacity = 0, got;
    do {
        capacity = capacity == 0 ? expected + 1 : capacity * 2;
        if (capacity > limit_bytes + 1)
            capacity =
                limit_bytes + 1; /* one byte more than allowed shows that the file is too large */
        char *larger = fgi_realloc(*data, capacity + 1);
        if (larger == NULL)
            return fgi_no_memory(err);
        *data = larger;
        FGI_TRY(read_some(fd, path, *data + *size, capacity - *size, &got, err));
        *size += got;
        if (*size > limit_bytes)
            return fgi_fail(err, FG_EFORMAT, "'%s' is larger than the %zu bytes allowed here", path,
                            limit_bytes);
    } while (*size == capacity);
    (*data)[*size] = '\0';
    return FG_OK;
}

fg_status fgi_file_read(const char *path, size_t limit_bytes, char **out_data, size_t *out_size,
                        fg_error *err)
{
    *out_data = NULL;
    *out_size = 0;
    if (limit_bytes > SIZE_MAX / 4)
        limit_bytes = SIZE_MAX / 4; /* leaves room for the sums above */
    int fd = -1;
    struct stat info;
    FGI_TRY(open_to_read(path, 0, &fd, &info, err));
    const size_t expected = S_ISREG(info.st_mode) ? (size_t)info.st_size : 4096;
    fg_status status = read_to_end(fd, path, expected < limit_bytes ? expected : limit_bytes,
                                   limit_bytes, out_data, out_size, err);
    (void)close(fd);
    if (status == FG_OK)
        status = fgi_file_refuse(path, *out_data, *out_size, *out_size, err);
    if (status != FG_OK) {
        fgi_free(*out_data);
        *out_data = NULL;
        *out_size = 0;
    }
    return status;
}

fg_status fg_file_read(const char *path, void **out, size_t *out_size, fg_error *err)
{
    char *data;
    const fg_status status = fgi_file_read(path, SIZE_MAX, &data, out_size, err);
    *out = data;
    return status;
}

fg_status fgi_write_all(int fd, const char *path, const void *data, size_t size, fg_error *err)
{
    const char *at = data;
    while (size > 0) {
        const ssize_t done = write(fd, at, size);
        if (done < 0) {
            if (errno == EINTR)
                continue;
            return fgi_fail_errno(err, "write", path);
        }
        at += done;
        size -= (size_t)done;
    }
    return FG_OK;
}

char *fgi_path_parent(const char *path)
{
    char *folder = fgi_strdup(path);
    if (folder == NULL)
        return NULL;
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        fgi_free(folder);
        return fgi_strdup(".");
    }
    if (slash == folder)
        slash++;
    *slash = '\0';
    return folder;
}

fg_status fgi_path_is_in(const char *path, const char *folder, bool *out, fg_error *err)
{
    char there[PATH_MAX], here[PATH_MAX];
    char *parent = fgi_path_parent(path);
    *out = parent != NULL && *path != '\0' && realpath(parent, there) != NULL &&
           realpath(folder, here) != NULL && strcmp(there, here) == 0;
    const bool has_memory = parent != NULL;
    fgi_free(parent);
    return has_memory ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_folder_sync(const char *path, fg_error *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fgi_fail_errno(err, "open", path);
    fg_status status = FG_OK;
    if (fsync(fd) != 0 && errno != EINVAL) /* EINVAL: this file system does not support it */
        status = fgi_fail_errno(err, "sync", path);
    (void)close(fd);
    return status;
}

fg_status fgi_file_write_atomic(const char *path, const void *data, size_t size, fg_error *err)
{
    fgi_output out;
    FGI_TRY(fgi_output_open(path, &out, err));
    return fgi_output_close(&out, fgi_write_all(out.fd, path, data, size, err), err);
}

fg_status fg_file_write(const char *path, const void *data, size_t size, fg_error *err)
{
    if (path == NULL || *path == '\0' || (data == NULL && size > 0))
        return fgi_fail(err, FG_EINVAL, "fg_file_write: path or data is NULL");
    return fgi_file_write_atomic(path, data, size, err);
}

/* Creates one folder durably; it may exist already. */
static fg_status make_one(const char *path, fg_error *err)
{
    if (mkdir(path, 0777) == 0) {
        char *parent = fgi_path_parent(path);
        const fg_status status = parent != NULL ? fgi_folder_sync(parent, err) : fgi_no_memory(err);
        fgi_free(parent);
        return status;
    }
    const int number = errno;
    struct stat info;
    if (number == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return FG_OK;
    errno = number;
    return fgi_fail_errno(err, "create the folder", path);
}

fg_status fgi_folder_make(const char *path, fg_error *err)
{
    char *prefix = fgi_strdup(path);
    if (prefix == NULL)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    for (char *at = prefix; status == FG_OK && *at != '\0'; at++)
        if (*at == '/' && at != prefix) {
            *at = '\0';
            status = make_one(prefix, err);
            *at = '/';
        }
    if (status == FG_OK)
        status = make_one(prefix, err);
    fgi_free(prefix);
    return status;
}

DIR *fgi_folder_open_at(int at, const char *name, int flags)
{
    const int fd = openat(at, name, flags | O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL && fd >= 0)
        (void)close(fd);
    return folder;
}

/* Removes `name` in the folder `at` (AT_FDCWD: the current folder) with all its content. */
static int remove_tree(int at, const char *name)
{
    if (unlinkat(at, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM) /* Linux returns EISDIR for a folder, POSIX EPERM */
        return errno == ENOENT ? 0 : -1;
    DIR *folder = fgi_folder_open_at(at, name, O_NOFOLLOW);
    if (folder == NULL)
        return -1;
    int failure = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder); /* the stream is used by this thread only */
        if (entry == NULL)
            break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            remove_tree(dirfd(folder), entry->d_name) != 0) {
            failure = errno;
            break;
        }
    }
    failure = failure != 0 ? failure : errno;
    (void)closedir(folder);
    errno = failure;
    return failure == 0 ? unlinkat(at, name, AT_REMOVEDIR) : -1;
}

fg_status fgi_folder_remove(const char *path, fg_error *err)
{
    return remove_tree(AT_FDCWD, path) == 0 ? FG_OK : fgi_fail_errno(err, "remove", path);
}

const struct dirent *fgi_folder_next(DIR **folder)
{
    const struct dirent *entry = NULL;
    do
        entry = *folder != NULL ? readdir(*folder) : NULL;
    while (entry != NULL && entry->d_name[0] == '.');
    if (entry == NULL && *folder != NULL) {
        (void)closedir(*folder);
        *folder = NULL;
    }
    return entry;
}

bool fgi_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool fgi_is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool fgi_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

fgi_str fgi_path_name(const char *path)
{
    size_t end = strlen(path), begin;
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/';)
        begin--;
    return (fgi_str){path + begin, end - begin};
}

char *fgi_path_join(const char *folder, const char *name)
{
    const size_t size = strlen(folder);
    const char *slash = size == 0 || folder[size - 1] == '/' ? "" : "/";
    const size_t total = size + strlen(slash) + strlen(name) + 1;
    char *path = fgi_alloc(total);
    if (path != NULL)
        (void)snprintf(path, total, "%s%s%s", folder, slash, name);
    return path;
}

fg_status fgi_path_put(const char *folder, const char *name, char out[FGI_PATH_BYTES],
                       fg_error *err)
{
    const size_t size = strlen(folder);
    const bool has_slash = size == 0 || folder[size - 1] == '/';
    if (snprintf(out, FGI_PATH_BYTES, "%s%s%s", folder, has_slash ? "" : "/", name) <
        FGI_PATH_BYTES)
        return FG_OK;
    errno = ENAMETOOLONG;
    return fgi_fail_errno(err, "open", folder);
}

bool fgi_exists_in(const char *folder, const char *name)
{
    char path[FGI_PATH_BYTES];
    return fgi_path_put(folder, name, path, NULL) == FG_OK && fgi_file_exists(path);
}

fg_status fg_path_expand(const char *path, char **out, fg_error *err)
{
    const bool is_home = strncmp(path, "~/", 2) == 0;
    const char *home = is_home ? getenv("HOME") : NULL; /* NOLINT(concurrency-mt-unsafe) */
    *out = NULL;
    if (is_home && (home == NULL || *home == '\0'))
        return fgi_fail(err, FG_ENOTFOUND, "'%.300s': HOME is not set: write the absolute path",
                        path);
    *out = is_home ? fgi_path_join(home, path + 2) : fgi_strdup(path);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}
