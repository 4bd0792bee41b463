/* jpeg_segment_record.h - the bytes of a JPEG with its segment table, as one record of a pack
 * (codec FG_PACK_JPEG_SEG): the JPEG file, its segment table (jpeg_segment_table.h), and the size
 * of the table in bytes, u32, little-endian. The JPEG comes first, so that a decoder that ignores
 * bytes after the end of the image reads the record as it is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_SEGMENT_RECORD_H
#define FGI_IMAGE_JPEG_SEGMENT_RECORD_H

#include <fulgurite/base.h>
#include "base/buf.h"
#include "image/jpeg_segment.h"

/* Appends the table and its size to `jpeg`, which then is the record. Running out of memory is kept
 * in jpeg->failed. */
void fgi_jpeg_record_append(fgi_buf *jpeg, const fgi_buf *table);

/* Finds the JPEG and the table in a record; the pointers in *out borrow from it. `name` is for
 * messages. The contents of the table are checked when it is read. Errors: FG_EFORMAT (the size of
 * the table is not possible, or the record does not begin with a JPEG). */
fg_status fgi_jpeg_record_split(const char *name, const void *record, size_t size,
                                fgi_jpeg_record *out, fg_error *err);

#endif
