/* jpeg_transcode.h - adds restart markers to a JPEG without changing its pixels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_TRANSCODE_H
#define FGI_IMAGE_JPEG_TRANSCODE_H

#include <fulgurite/base.h>
#include "base/buf.h"

enum {
    FGI_JPEG_SEGMENTS_AUTO = 0, /* one segment per MCU row up to 12 MCUs; otherwise 8 MCUs, or 4 for
                                   at least 2 megapixels, or a near divisor of the MCUs of a row */
    FGI_JPEG_SEGMENTS_ROWS = -1, /* one segment per MCU row */
};

/* Appends to `jpeg` the same image as a baseline JPEG with a restart marker after every
 * `mcus_per_segment` MCUs (1..65535, or one of the constants above), and to `table` its segment
 * table (jpeg_segment_table.h). Both should be empty; on failure their content is undefined.
 *
 * The quantized coefficients are those of the source, whatever its coding (baseline, progressive,
 * arithmetic, any restart interval); Huffman tables are optimized for the image. Exif (APP1, with
 * the orientation) and ICC profiles (APP2) are kept, other metadata is dropped. The orientation is
 * not applied. Equal input gives equal output.
 *
 * Errors: FG_EFORMAT "name: byte N: ..." for a damaged or truncated JPEG, FG_EINVAL if it
 * cannot be written as one baseline scan, or for mcus_per_segment; FG_ENOMEM. Thread-safe. */
fg_status fgi_jpeg_transcode_segments(const char *name, const void *bytes, size_t size,
                                      int mcus_per_segment, fgi_buf *jpeg, fgi_buf *table,
                                      fg_error *err);

#endif
