/* jpeg_sequential.c - decodes the MCUs of a scan in order, as libjpeg asks for them.
 *
 * The compressed bytes are copied without stuffing into a small buffer, piece by piece: the decoder
 * then appends eight bytes at a time without looking at them. Everything unexpected (an invalid
 * code, missing or left bytes) is left to libjpeg, which decodes the image again: so the errors and
 * the pixels of damaged files are libjpeg's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_sequential.h"

#include <string.h>

#include "base/alloc.h"
#include "image/jpeg_scan.h"

/* A symbol has at most 31 bits, and a block 64 symbols; a decoder reads 8 bytes ahead. */
enum { MCU_BYTES = FGI_HUFFMAN_BLOCKS * 64 * 31 / 8 + 16, PIECE = 1 << 15 };

struct fgi_jpeg_sequential {
    fgi_jpeg_tables tables;
    fgi_huffman_scan scan;
    fgi_huffman_stream stream;
    const uint8_t *end; /* of the bytes in `piece` */
    const JOCTET *next; /* the next byte of the file */
    size_t left;        /* bytes of the file, starting there */
    bool is_at_marker;  /* *next is the marker after the scan, or the file has ended */
    uint64_t mcus;      /* left */
    JBLOCK dump;        /* of blocks that are not required */
    uint8_t piece[PIECE + FGI_HUFFMAN_PAD];
};

fgi_jpeg_sequential *fgi_jpeg_sequential_create(void)
{
    return fgi_calloc(1, sizeof(fgi_jpeg_sequential));
}

void fgi_jpeg_sequential_destroy(fgi_jpeg_sequential *sequential) { fgi_free(sequential); }

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Copies bytes up to the next FF or at most `room`, and the FF if it is a stuffed one. Returns the
 * end of the copy. */
static uint8_t *copy_run(fgi_jpeg_sequential *s, uint8_t *out, size_t room)
{
    const size_t most = s->left < room ? s->left : room;
    const JOCTET *found = memchr(s->next, 0xff, most);
    const size_t plain = found == NULL ? most : (size_t)(found - s->next);
    memcpy(out, s->next, plain);
    out += plain;
    s->next += plain;
    s->left -= plain;
    s->is_at_marker = s->left == 0 || (found != NULL && (s->left < 2 || s->next[1] != 0));
    if (found == NULL || s->is_at_marker)
        return out;
    *out++ = 0xff;
    s->next += 2;
    s->left -= 2;
    return out;
}

/* Keeps the bytes that have not been read, and appends as many as there is room for. */
static void fill(fgi_jpeg_sequential *s)
{
    const size_t kept = (size_t)(s->end - s->stream.at);
    uint8_t *out = s->piece + kept, *const most = s->piece + PIECE;
    memmove(s->piece, s->stream.at, kept);
    while (out < most && !s->is_at_marker)
        out = copy_run(s, out, (size_t)(most - out));
    memset(out, 0, FGI_HUFFMAN_PAD);
    s->stream.at = s->piece;
    s->end = out;
}

/* ---- the scan -------------------------------------------------------------------------------- */

bool fgi_jpeg_sequential_start(fgi_jpeg_sequential *sequential, j_decompress_ptr info)
{
    fgi_jpeg_sequential *s = sequential;
    if (info->progressive_mode || info->arith_code || info->data_precision != 8 ||
        info->restart_interval != 0 || info->comps_in_scan != info->num_components ||
        info->blocks_in_MCU > FGI_HUFFMAN_BLOCKS ||
        fgi_jpeg_scan_describe(&s->scan, &s->tables, info) >= 0)
        return false;
    s->next = info->src->next_input_byte;
    s->left = info->src->bytes_in_buffer;
    s->is_at_marker = s->left == 0;
    s->mcus = (uint64_t)info->MCUs_per_row * info->MCU_rows_in_scan;
    s->stream = (fgi_huffman_stream){.at = s->piece};
    s->end = s->piece;
    return true;
}

/* The number of bits that were used after the end of the bytes, or minus those that are left. */
static ptrdiff_t excess_bits(const fgi_jpeg_sequential *s)
{
    return 8 * (s->stream.at - s->end) - (ptrdiff_t)s->stream.count;
}

/* After the last MCU, libjpeg reads the marker that follows. */
static bool finish(fgi_jpeg_sequential *s, j_decompress_ptr info)
{
    if (!s->is_at_marker || excess_bits(s) <= -8)
        return false;
    info->src->next_input_byte = s->next;
    info->src->bytes_in_buffer = s->left;
    return true;
}

bool fgi_jpeg_sequential_decode(fgi_jpeg_sequential *sequential, j_decompress_ptr info,
                                JBLOCKROW *blocks)
{
    fgi_jpeg_sequential *s = sequential;
    if (!s->is_at_marker && s->end - s->stream.at < MCU_BYTES)
        fill(s);
    for (int i = 0; i < s->scan.blocks; i++)
        if (!fgi_huffman_decode_block(&s->stream, &s->scan, i,
                                      blocks != NULL ? *blocks[i] : s->dump) ||
            excess_bits(s) > 0)
            return false;
    return --s->mcus > 0 || finish(s, info);
}
