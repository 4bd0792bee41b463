/* export_folder.h - a folder that files are written to: all of them or none, or file by file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACKER_EXPORT_FOLDER_H
#define FGI_PACKER_EXPORT_FOLDER_H

#include <fulgurite/base.h>
#include "base/buf.h"
#include "base/map.h"

/* Zero-initialize it. */
typedef struct fgi_export_folder {
    char *target;
    char *work;         /* the folder that is written; not `target` if that is new */
    char *temporary;    /* where a file is written before it replaces another one */
    fgi_map used;       /* hashes of the paths that were written */
    fgi_buf path, made; /* the current path; the folder that was made last */
} fgi_export_folder;

/* Opens the folder. If it does not exist, files are written to a temporary folder next to it.
 * Otherwise it must be empty, or `replace` set. FG_EINVAL, FG_ENOTFOUND, FG_EIO, FG_ENOMEM. */
fg_status fgi_export_open(const char *path, bool replace, fgi_export_folder *out, fg_error *err);

/* Writes a file at a relative path. *out_is_taken, without writing: another file has the path, or a
 * part of it. */
fg_status fgi_export_write(fgi_export_folder *folder, const char *relative, const void *data,
                           size_t size, bool *out_is_taken, fg_error *err);

/* With FG_OK, makes everything durable and gives the folder its name; with any other status,
 * removes a temporary folder. Frees the memory. Returns status, or the error that occurred. */
fg_status fgi_export_close(fgi_export_folder *folder, fg_status status, fg_error *err);

#endif
