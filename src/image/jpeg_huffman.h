/* jpeg_huffman.h - decodes the blocks of a baseline JPEG into coefficients: of restart segments,
 * two segments at a time, or of a scan without restart markers, block by block.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_HUFFMAN_H
#define FGI_IMAGE_JPEG_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FGI_HUFFMAN_LOOKUP_BITS = 12,
    FGI_HUFFMAN_STRIDE = 72, /* coefficients from one block to the next: 64, and unused ones */
    FGI_HUFFMAN_BLOCKS = 10, /* per MCU, at most */
    FGI_HUFFMAN_PAD = 272    /* bytes that are read, at most, beyond the end of a segment */
};

/* What a prefix of the bit stream means: a Huffman code and the value bits that follow it. */
typedef struct fgi_huffman_entry {
    int16_t value;
    uint8_t run;  /* of zeros before the value; 64 for "end of block" */
    uint8_t bits; /* of code and value; 0 if they are longer than the prefix: `run` is then the
                     number of bits of the code, or 0 if that is longer too */
} fgi_huffman_entry;

typedef struct fgi_huffman_table {
    fgi_huffman_entry lookup[1 << FGI_HUFFMAN_LOOKUP_BITS];
    int32_t end[17];   /* by code length: the first number that is not a code */
    int32_t first[17]; /* the index of symbol of code 0 of this length */
    uint8_t symbol[256];
    uint8_t bits_of_source[17], symbols_of_source[256]; /* what it was built from */
    bool is_built, is_ac;
} fgi_huffman_table;

/* Builds a table from the contents of a DHT marker: bits[1..16] are the numbers of codes by length.
 * Does nothing if the table was built from the same. False if they are not a prefix code. */
bool fgi_huffman_build(fgi_huffman_table *table, const uint8_t bits[17], const uint8_t symbols[256],
                       bool is_ac);

/* The blocks of an MCU, in the order of the scan. */
typedef struct fgi_huffman_scan {
    int blocks;
    uint8_t component[FGI_HUFFMAN_BLOCKS]; /* 0..3: whose DC the block continues */
    const fgi_huffman_table *dc[FGI_HUFFMAN_BLOCKS], *ac[FGI_HUFFMAN_BLOCKS];
    int mcus_per_row;
} fgi_huffman_scan;

/* The MCUs whose coefficients are wanted: a rectangle. */
typedef struct fgi_huffman_window {
    int row, row_end, column, column_end;
    /* [row_end - row][column_end - column][blocks][FGI_HUFFMAN_STRIDE], natural order; must be 0 */
    int16_t *coefficients;
} fgi_huffman_window;

/* One segment: its bytes with byte stuffing, its first MCU, and how many MCUs to decode. */
typedef struct fgi_huffman_segment {
    const uint8_t *bytes;
    size_t size;
    int64_t mcu;
    int count;
    bool is_whole; /* count is the complete segment, so that no byte may be left */
} fgi_huffman_segment;

/* The buffers for bytes without stuffing: the size of the largest segment and FGI_HUFFMAN_PAD,
 * each.
 */
typedef struct fgi_huffman_scratch {
    uint8_t *bytes[2];
} fgi_huffman_scratch;

/* Decodes the segments and stores the MCUs that are in the window. Returns the index of a segment
 * that has an invalid code, the wrong length or a stray marker, or -1 if all are decoded. Never
 * reads outside a segment, nor writes outside the window and the scratch buffers. */
int fgi_huffman_decode(const fgi_huffman_scan *scan, const fgi_huffman_window *window,
                       const fgi_huffman_segment *segments, int count,
                       const fgi_huffman_scratch *scratch);

/* A position in bytes without stuffing, of which FGI_HUFFMAN_PAD follow the last one. Starts with
 * all zero but `at`. */
typedef struct fgi_huffman_stream {
    uint64_t bits;     /* the next bits, from the top; below the first `count`, bits of *at */
    unsigned count;    /* of valid bits, besides those of *at */
    const uint8_t *at; /* the next byte to append */
    uint16_t dc[4];    /* of each component's last block */
} fgi_huffman_stream;

/* Decodes block `block` of an MCU into out[64], natural order, which must be 0. Advances at most
 * 256 bytes. False at an invalid code and if there are more than 64 coefficients. */
bool fgi_huffman_decode_block(fgi_huffman_stream *stream, const fgi_huffman_scan *scan, int block,
                              int16_t *out);

#endif
