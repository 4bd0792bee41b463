/* pack_out.h - the parts of the writer: the buffered file, one shard with its index, and the whole.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACK_OUT_H
#define FGI_PACK_OUT_H

#include "base/buf.h"
#include "base/hash.h"
#include "pack/pack_format.h"

/* ---- pack_out.c: a file that is written from front to back ----------------------------------- */

/* Zero-initialized, it is closed. */
typedef struct fgi_pack_out {
    int fd;
    char *path;
    unsigned char *buffer;
    size_t used;
    uint64_t at; /* position in the file of the first byte of the buffer */
} fgi_pack_out;

/* Opens `path` for writing at byte `at`; creates it if it does not exist, and cuts it there. */
fg_status fgi_pack_out_open(const char *path, uint64_t at, fgi_pack_out *out, fg_error *err);
/* Appends; the bytes may stay in the buffer. */
fg_status fgi_pack_out_put(fgi_pack_out *out, const void *data, size_t size, fg_error *err);
/* Appends zeros up to byte `position` of the file; a long range becomes a hole. */
fg_status fgi_pack_out_skip(fgi_pack_out *out, uint64_t position, fg_error *err);
fg_status fgi_pack_out_flush(fgi_pack_out *out, fg_error *err);
/* Closes the file; what is still in the buffer is lost. */
void fgi_pack_out_close(fgi_pack_out *out);
static inline uint64_t fgi_pack_out_position(const fgi_pack_out *out)
{
    return out->at + out->used;
}
/* pwrite until everything is written. */
fg_status fgi_pack_write_at(int fd, const char *path, const void *data, size_t size,
                            uint64_t offset, fg_error *err);

/* ---- pack_shard.c: one file, with its index in memory ---------------------------------------- */

typedef struct fgi_pack_shard {
    fgi_pack_page page; /* the header that the file will have */
    fgi_pack_out out;
    uint64_t end; /* of the last record */
    fgi_buf columns[FGI_PACK_KINDS];
    bool has_groups, has_labels;
} fgi_pack_shard;

/* Starts a new file; the identity in `page` (shard, first, options ...) is the caller's. */
fg_status fgi_pack_shard_start(fgi_pack_shard *shard, const char *path, fg_error *err);
/* Opens an existing file at the end of the records that were entered, and cuts it there. */
fg_status fgi_pack_shard_continue(fgi_pack_shard *shard, const char *path, fg_error *err);
/* Enters a record in the index. */
fg_status fgi_pack_shard_enter(fgi_pack_shard *shard, const fgi_pack_head *head, fg_error *err);
/* Writes the index after the last record, with class names and fields (may be empty). */
fg_status fgi_pack_shard_seal(fgi_pack_shard *shard, const fgi_buf *classes, const fgi_buf *fields,
                              fg_error *err);
/* Frees the index and closes the file. */
void fgi_pack_shard_close(fgi_pack_shard *shard);
/* Completes a sealed file: metadata, footer, sync, header, sync. */
fg_status fgi_pack_shard_finish(const char *path, fgi_pack_page *page, const char *metadata,
                                fg_error *err);

/* ---- the writer ------------------------------------------------------------------------------ */

struct fg_pack_writer {
    char *path; /* NAME.pack */
    uint64_t shard_bytes;
    bool is_set, replace;
    bool is_broken; /* a write has failed: only what is in the files counts */
    bool is_finished;
    int lock_fd;
    uint64_t count;
    fgi_hash hash;           /* of all record headers */
    fgi_pack_page identity;  /* what all headers have in common */
    fgi_buf classes, fields; /* contents of these sections */
    fgi_buf head;            /* the record header that is being written */
    fgi_pack_shard shard;    /* the last file */
    fgi_pack_page *sealed;   /* the headers of those before it */
    size_t sealed_count, sealed_capacity;
    fg_status (*kept)(void *kept_self, int64_t record, const fg_pack_entry *entry, const void *data,
                      size_t size, fg_error *err); /* or NULL */
    void *kept_self;
    bool is_rebuilt;     /* one file, whose pack may have others of a similar name */
    bool keeps_identity; /* a rebuilt file of a set: uuid and numbers are given */
};

/* "NAME.pack" or "NAME-00007.pack"; with ".partial". New strings; NULL when out of memory. */
char *fgi_pack_final_path(const fg_pack_writer *w, uint32_t shard);
char *fgi_pack_partial_path(const fg_pack_writer *w, uint32_t shard);
/* Seals the last file. */
fg_status fgi_pack_writer_seal(fg_pack_writer *w, fg_error *err);
/* Prepares the header of file `shard`, which is empty. */
void fgi_pack_writer_identify(fg_pack_writer *w, uint32_t shard);
/* Starts file `shard`. */
fg_status fgi_pack_writer_start(fg_pack_writer *w, uint32_t shard, fg_error *err);
/* Enters a record that is in the file already. */
fg_status fgi_pack_writer_enter(fg_pack_writer *w, const fgi_pack_head *head, fg_error *err);

/* pack_resume.c: takes the records of the partial files; starts the first file if there are none.
 */
fg_status fgi_pack_writer_resume(fg_pack_writer *w, fg_error *err);

#endif
