/* jpeg_scan.h - what our entropy decoder needs to know about the current scan of a libjpeg decoder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_SCAN_H
#define FGI_IMAGE_JPEG_SCAN_H

#include <stdio.h>

#include <jpeglib.h>
#include "image/jpeg_huffman.h"

/* The Huffman tables of a decoder: DC, then AC. All zero at first; kept from image to image,
 * because most files use the same tables. */
typedef struct fgi_jpeg_tables {
    fgi_huffman_table table[2 * NUM_HUFF_TBLS];
} fgi_jpeg_tables;

/* Describes the scan that `info` has started, of at most FGI_HUFFMAN_BLOCKS blocks per MCU, which
 * is valid as long as `tables` are not changed. Returns -1, or the number of a Huffman table that
 * is missing or invalid. */
int fgi_jpeg_scan_describe(fgi_huffman_scan *out, fgi_jpeg_tables *tables, j_decompress_ptr info);

#endif
