/* jpeg_markers.h - the headers of a JPEG file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_MARKERS_H
#define FGI_IMAGE_JPEG_MARKERS_H

#include "image/codec.h"

/* Sampling factors of Y, if those of both chroma components are 1: {3, 2, 2} is 4:2:0. */
typedef struct fgi_jpeg_sampling {
    uint8_t components, h, v; /* 1 or 3; 1 or 2 */
} fgi_jpeg_sampling;

typedef struct fgi_jpeg_header {
    int64_t width, height; /* as stored */
    int components, bits;
    int64_t samples;            /* of all components, at their resolutions; about */
    int orientation;            /* EXIF */
    fgi_jpeg_sampling sampling; /* no components: another one */
    bool is_progressive, is_arithmetic;
    size_t frame_offset; /* of the marker SOFn */
    size_t scan_offset;  /* of the marker of the first scan, SOS */
} fgi_jpeg_header;

/* Reads the markers up to the first scan. FG_EFORMAT, or FG_EUNSUPPORTED for lossless, hierarchical
 * and 12-bit files. */
fg_status fgi_jpeg_header_read(const fgi_image_file *file, fgi_jpeg_header *out, fg_error *err);

#endif
