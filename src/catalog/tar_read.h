/* tar_read.h - the members of a tar archive and where their bytes are.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_TAR_READ_H
#define FGI_CATALOG_TAR_READ_H

#include "base/buf.h"
#include "catalog/shards.h"

/* Zero-initialize it and set window.shard; free it with fgi_tar_fini. */
typedef struct fgi_tar {
    fgi_window window;
    uint64_t at;   /* byte offset of the next header */
    fgi_buf path;  /* of the current member */
    fgi_buf text;  /* of an extended header */
    bool has_path; /* `path` was set by an extended header of the next member */
    bool has_size;
    uint64_t size; /* also */
} fgi_tar;

typedef struct fgi_tar_member {
    const char *path;      /* until the next call */
    bool is_file;          /* else a folder, a link or a device */
    uint64_t header;       /* byte offset */
    uint64_t offset, size; /* of the content */
} fgi_tar_member;

/* The next member; *out_end at the end of the archive. Errors: FG_EFORMAT with the byte offset
 * (checksum, truncated, no end mark), FG_EUNSUPPORTED (compressed, sparse, several volumes). */
fg_status fgi_tar_next(fgi_tar *tar, fgi_tar_member *out, bool *out_end, fg_error *err);
void fgi_tar_fini(fgi_tar *tar);

#endif
