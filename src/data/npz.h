/* npz.h - files of NumPy arrays: .npy, and the arrays of a .npz archive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_NPZ_H
#define FGI_DATA_NPZ_H

#include "input/block.h"

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
