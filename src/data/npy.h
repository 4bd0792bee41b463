/* npy.h - NumPy's array files, for fg_npy_open and fg_npy_write.
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

#endif
