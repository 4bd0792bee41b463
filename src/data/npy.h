/* npy.h - NumPy's array files, .npy, and the arrays of a .npz archive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_NPY_H
#define FGI_DATA_NPY_H

#include <fulgurite/data.h>
#include "base/buf.h"
#include "input/block.h"

/* The header of a .npy file; the elements, little-endian and row-major, follow at `offset` up to
 * the end of the file. */
typedef struct fgi_npy {
    fg_type type;
    size_t offset;
} fgi_npy;

/* Checks the header against the size of the content. `name` is for messages. */
fg_status fgi_npy_parse(const char *name, const unsigned char *data, size_t size, fgi_npy *out,
                        fg_error *err);

/* Appends the header of a file with an array of this type; the elements follow. FG_EDTYPE,
 * FG_EINVAL; running out of memory is kept in out->failed. */
fg_status fgi_npy_header(const char *name, const fg_type *type, fgi_buf *out, fg_error *err);

/* The same without checks, to an empty buffer; `code`: the dtype's kind and bytes, as in '<f4'. */
void fgi_npy_put_header(fgi_buf *buf, const fg_type *type, const char *code);

/* Whether a path is that of a .npz archive, "a.npz", or of an array in it, "a.npz:x". */
bool fgi_npz_is(const char *path);
/* Whether the archive "a.npz" can be opened and has an array with this name, without ".npy". */
bool fgi_npz_has(const char *archive, const char *array);

/* The content of a .npy file: of the path, which may be compressed with gzip, or of an array in an
 * archive. "a.npz" without the name of an array is the only one of the archive. Errors:
 * FG_ENOTFOUND (no such file or array; the message lists the arrays), FG_EINVAL (several arrays and
 * no name), those of fgi_block_open and fgi_zip_read. */
fg_status fgi_array_open(const char *path, fgi_block *out, fg_error *err);

#endif
