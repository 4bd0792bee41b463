/* jpeg_segment_table.h - the table of restart segments of a JPEG: where the entropy-coded bytes of
 * each run of MCUs begin, so that they can be decoded without those before them.
 *
 * Format, version 1, all integers little-endian:
 *
 *   offset  type          content
 *        0  u8[4]         "FGST"
 *        4  u16           version, 1
 *        6  u16           MCUs per segment, the JPEG's restart interval
 *        8  u32           byte offset of the first segment in the JPEG
 *       12  u32           number of segments, n
 *       16  u16[n]        size of each segment in bytes, without the marker that follows it; 65535
 *                         means that the size is in the list that follows
 *   16+2n   u32[...]      the sizes of those segments, in their order
 *
 * Segment i contains MCUs i * interval and following, in the order of the scan (left to right, top
 * to bottom); between segments i and i + 1 there is the 2-byte marker RSTm with m = i mod 8.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_SEGMENT_TABLE_H
#define FGI_IMAGE_JPEG_SEGMENT_TABLE_H

#include <fulgurite/base.h>
#include "base/buf.h"

/* A table that was read. Zero-initialize it; it can be read into again. */
typedef struct fgi_jpeg_segment_table {
    int interval;    /* MCUs per segment */
    size_t count;    /* of segments */
    size_t *begin;   /* begin[count + 1]: where the segments begin in the JPEG; segment i ends 2
                        bytes before begin[i + 1] */
    size_t capacity; /* of begin */
} fgi_jpeg_segment_table;

void fgi_jpeg_segment_table_fini(fgi_jpeg_segment_table *table);

/* Appends the table of a JPEG whose single scan has restart markers. FG_EFORMAT, FG_ENOMEM. */
fg_status fgi_jpeg_segment_table_write(const char *name, const uint8_t *jpeg, size_t jpeg_size,
                                       fgi_buf *out, fg_error *err);

/* Reads a table and checks it against the size of the JPEG. FG_EFORMAT, FG_ENOMEM. */
fg_status fgi_jpeg_segment_table_read(fgi_jpeg_segment_table *table, const char *name,
                                      const uint8_t *bytes, size_t size, size_t jpeg_size,
                                      fg_error *err);

#endif
