/* elements.h - the numbers of a binary file, and their conversions on the way into a dataset.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_ELEMENTS_H
#define FGI_DATA_ELEMENTS_H

#include <fulgurite/dtype.h>
#include "data/block.h"

/* `count` numbers of one dtype at byte `offset` of a file whose content is in memory. */
typedef struct fgi_elements {
    const char *name; /* of the file, for messages */
    const unsigned char *file;
    size_t offset;
    int64_t count;
    fg_dtype dtype;
    bool is_big_endian;
} fgi_elements;

/* Fresh blocks. The first takes any integer or bool; a number that does not fit is FG_EFORMAT with
 * its byte offset. The second takes f64. The third keeps the dtype and gives the host's byte order.
 */
fg_status fgi_elements_to_s32(const fgi_elements *elements, fgi_block *out, fg_error *err);
fg_status fgi_elements_to_f32(const fgi_elements *elements, fgi_block *out, fg_error *err);
fg_status fgi_elements_to_host(const fgi_elements *elements, fgi_block *out, fg_error *err);

/* Largest label + 1; 0 when there is none or a negative one. */
int64_t fgi_count_classes(const int32_t *labels, int64_t count);

#endif
