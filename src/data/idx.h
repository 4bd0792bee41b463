/* idx.h - the IDX format, for fg_idx_load.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_IDX_H
#define FGI_DATA_IDX_H

#include <fulgurite/data.h>
#include "input/block.h"

/* The header of an IDX file; the elements, big-endian, follow at `offset` up to the end of the
 * file. */
typedef struct fgi_idx {
    fg_type type;
    size_t offset;
} fgi_idx;

/* Checks the header against the size of the content. `name` is for messages. */
fg_status fgi_idx_parse(const char *name, const unsigned char *data, size_t size, fgi_idx *out,
                        fg_error *err);

/* Creates a dataset from the contents of an images file and a labels file (or NULL); takes
 * ownership of both. */
fg_status fgi_idx_dataset(const char *const names[2], fgi_block *take_images,
                          fgi_block *take_labels, fg_dataset **out, fg_error *err);

#endif
