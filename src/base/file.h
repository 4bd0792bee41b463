/* file.h - whole files, memory-mapped files, folders, and crash-safe writes. Error messages contain
 * the path and the operating system's message.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_FILE_H
#define FGI_BASE_FILE_H

#include <dirent.h>
#include <fulgurite/base.h>
#include "base/text.h"

/* A read-only mapping. A zero-initialized one is empty and may be unmapped. */
typedef struct fgi_mapping {
    const unsigned char *data; /* NULL for an empty file */
    size_t size;
} fgi_mapping;

fg_status fgi_file_map(const char *path, fgi_mapping *out, fg_error *err);
void fgi_file_unmap(fgi_mapping *mapping);

/* Reads the whole file into a NUL-terminated block (fgi_free); an error if it is larger than
 * limit_bytes. */
fg_status fgi_file_read(const char *path, size_t limit_bytes, char **out_data, size_t *out_size,
                        fg_error *err);

/* Internal name of fg_file_write. */
fg_status fgi_file_write_atomic(const char *path, const void *data, size_t size, fg_error *err);

/* write(2) until everything is written; handles EINTR and short writes. `path` is for the message.
 */
fg_status fgi_write_all(int fd, const char *path, const void *data, size_t size, fg_error *err);

/* fsync of a folder, which makes renames in it durable. */
fg_status fgi_folder_sync(const char *path, fg_error *err);
/* mkdir -p; each created folder is durable. */
fg_status fgi_folder_make(const char *path, fg_error *err);
/* rm -r; a missing folder is not an error. Never follows links. */
fg_status fgi_folder_remove(const char *path, fg_error *err);

/* Fails if the content is that of a Git LFS pointer (FG_EFORMAT), a Parquet file, a .zip archive or
 * a spreadsheet (FG_EUNSUPPORTED), which no reader supports; fgi_file_map and fgi_file_read do
 * this. `data` is the start of the file: FGI_FILE_START bytes or all. The second function reads it
 * from a descriptor, and ignores errors of reading. */
enum { FGI_FILE_START = 64 };
fg_status fgi_file_refuse(const char *path, const void *data, size_t size, uint64_t file_size,
                          fg_error *err);
fg_status fgi_file_refuse_open(const char *path, int fd, uint64_t file_size, fg_error *err);

/* Opens the folder `name` in the folder `at`, with further flags; NULL: errno says why. */
DIR *fgi_folder_open_at(int at, const char *name, int flags);
/* The next entry that is not hidden of a folder (opendir; NULL: it has none). After the last one,
 * returns NULL and closes it. One thread at a time. */
const struct dirent *fgi_folder_next(DIR **folder);

/* Whether fg_file_write can write a file: checks the type of the path, that its folder exists, and
 * permissions, and changes nothing. Errors: FG_EIO (the message has the reason), FG_ENOMEM.
 * Thread-safe. */
fg_status fgi_file_check(const char *path, fg_error *err);
bool fgi_file_exists(const char *path);
bool fgi_is_file(const char *path); /* or a link to one */
bool fgi_is_folder(const char *path);
/* "folder/name" as a new string (fgi_free), or NULL when out of memory. */
char *fgi_path_join(const char *folder, const char *name);
/* The most bytes of a path that the operating system opens, with its NUL. */
enum { FGI_PATH_BYTES = 4096 };
/* Writes "folder/name" to out. Error: FG_EIO (longer than that). */
fg_status fgi_path_put(const char *folder, const char *name, char out[FGI_PATH_BYTES],
                       fg_error *err);
/* The last name in a path, without the slashes behind it: "b" of "a/b/". */
fgi_str fgi_path_name(const char *path);
bool fgi_exists_in(const char *folder, const char *name);
/* The folder of `path` ("." if it has none) as a new string (fgi_free), or NULL when out of memory.
 */
char *fgi_path_parent(const char *path);
/* Whether the folder of `path` is `folder`, however the two are written; false if one of them does
 * not exist. */
fg_status fgi_path_is_in(const char *path, const char *folder, bool *out, fg_error *err);

/* Creates an error from errno: "cannot open 'path': No such file or directory". FG_ENOTFOUND if it
 * does not exist, FG_ENOMEM, else FG_EIO. */
fg_status fgi_fail_errno(fg_error *err, const char *what, const char *path);

#endif
