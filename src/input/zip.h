/* zip.h - the files of a ZIP archive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_INPUT_ZIP_H
#define FGI_INPUT_ZIP_H

#include "input/block.h"

typedef struct fgi_zip fgi_zip;

/* Opens an archive and reads its directory. Errors: FG_ENOTFOUND, FG_EIO, FG_EFORMAT,
 * FG_EUNSUPPORTED (libzip is not installed), FG_ENOMEM. */
fg_status fgi_zip_open(const char *path, fgi_zip **out, fg_error *err);
/* The same from memory, which is borrowed; `name` is for messages. */
fg_status fgi_zip_open_memory(const char *name, const unsigned char *data, size_t size,
                              fgi_zip **out, fg_error *err);
void fgi_zip_close(fgi_zip *zip);

/* The files, in the order of the directory, and their names: any bytes. */
size_t fgi_zip_count(const fgi_zip *zip);
const char *fgi_zip_name(const fgi_zip *zip, size_t index);

/* Copies or decompresses the content of a file. The checksum is verified. Errors: FG_EFORMAT
 * (corrupt, or larger than FGI_LARGEST_INFLATED_BYTES when decompressed), FG_EUNSUPPORTED
 * (encrypted, or a compression method other than deflate), FG_ENOMEM. */
fg_status fgi_zip_read(fgi_zip *zip, size_t index, fgi_block *out, fg_error *err);

#endif
