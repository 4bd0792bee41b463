/* elements.h - the elements of a binary file, and their conversion.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_ELEMENTS_H
#define FGI_DATA_ELEMENTS_H

#include <fulgurite/dtype.h>
#include "input/block.h"

/* `count` elements of one dtype at byte `offset` of a file whose content is in memory. */
typedef struct fgi_elements {
    const char *name; /* name of the file, for messages */
    const unsigned char *file;
    size_t offset;
    int64_t count;
    fg_dtype dtype;
    bool is_big_endian;
} fgi_elements;

/* New blocks. The first function accepts any integer or bool; a value that does not fit is
 * FG_EFORMAT with its byte offset. The second accepts f64. The third keeps the dtype and converts
 * to the host's byte order. */
fg_status fgi_elements_to_s32(const fgi_elements *elements, fgi_block *out, fg_error *err);
fg_status fgi_elements_to_f32(const fgi_elements *elements, fgi_block *out, fg_error *err);
fg_status fgi_elements_to_host(const fgi_elements *elements, fgi_block *out, fg_error *err);

/* Largest label + 1; 0 if there are no labels or a negative one. */
int64_t fgi_count_classes(const int32_t *labels, int64_t count);

#endif
