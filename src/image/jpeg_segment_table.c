/* jpeg_segment_table.c - writes and reads the table of restart segments. Written once by the
 * transcoder; read for each image that is decoded, so reading is one pass over the sizes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_segment_table.h"

#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "image/little_endian.h"

enum {
    VERSION = 1,
    HEADER_BYTES = 16,
    MARKER_BYTES = 2,
    ESCAPE = 65535,
    SOI = 0xd8,
    RST0 = 0xd0,
    RST7 = 0xd7,
    SOS = 0xda,
    DRI = 0xdd
};

static const char magic[4] = {'F', 'G', 'S', 'T'};

static unsigned big16(const uint8_t *bytes) { return (unsigned)bytes[0] << 8 | bytes[1]; }

void fgi_jpeg_segment_table_fini(fgi_jpeg_segment_table *table)
{
    fgi_free(table->begin);
    *table = (fgi_jpeg_segment_table){0};
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Finds the first entropy-coded byte and the restart interval. Returns 0 if there is no scan. */
static size_t find_scan(const uint8_t *jpeg, size_t size, unsigned *interval)
{
    size_t at = 2;
    while (size - at >= 4 && jpeg[at] == 0xff) {
        const uint8_t marker = jpeg[at + 1];
        const size_t length = big16(jpeg + at + 2);
        if (length < 2 || length > size - at - 2)
            return 0;
        if (marker == DRI && length == 4)
            *interval = big16(jpeg + at + 4);
        at += 2 + length;
        if (marker == SOS)
            return at;
    }
    return 0;
}

/* The end of the segment that begins at `at`: the position of the next marker, or `size`. */
static size_t find_marker(const uint8_t *jpeg, size_t at, size_t size)
{
    while (at + 1 < size) {
        const uint8_t *found = memchr(jpeg + at, 0xff, size - 1 - at);
        if (found == NULL)
            return size;
        if (found[1] != 0)
            return (size_t)(found - jpeg);
        at = (size_t)(found - jpeg) + 2;
    }
    return size;
}

/* Appends the sizes; segments that need an escape are collected in `large`. */
static size_t put_sizes(const uint8_t *jpeg, size_t at, size_t size, fgi_buf *out, fgi_buf *large)
{
    size_t count = 0;
    for (bool is_last = false; !is_last; count++) {
        const size_t end = find_marker(jpeg, at, size);
        is_last = size - end < 2 || jpeg[end + 1] < RST0 || jpeg[end + 1] > RST7;
        fgi_put16(out, end - at < ESCAPE ? (unsigned)(end - at) : ESCAPE);
        if (end - at >= ESCAPE)
            fgi_put32(large, (uint32_t)(end - at));
        at = end + MARKER_BYTES;
    }
    return count;
}

fg_status fgi_jpeg_segment_table_write(const char *name, const uint8_t *jpeg, size_t jpeg_size,
                                       fgi_buf *out, fg_error *err)
{
    unsigned interval = 0;
    const size_t scan =
        jpeg_size >= 2 && jpeg[1] == SOI ? find_scan(jpeg, jpeg_size, &interval) : 0;
    if (scan == 0 || interval == 0 || jpeg_size > UINT32_MAX)
        return fgi_fail(err, FG_EFORMAT, "%s: not a JPEG with restart markers", name);
    fgi_buf sizes = {0}, large = {0};
    const size_t count = put_sizes(jpeg, scan, jpeg_size, &sizes, &large);
    fgi_buf_add(out, magic, sizeof(magic));
    fgi_put16(out, VERSION);
    fgi_put16(out, interval);
    fgi_put32(out, (uint32_t)scan);
    fgi_put32(out, (uint32_t)count);
    fgi_buf_add(out, sizes.data, sizes.size);
    if (large.size > 0)
        fgi_buf_add(out, large.data, large.size);
    out->failed |= sizes.failed || large.failed;
    fgi_buf_fini(&sizes);
    fgi_buf_fini(&large);
    return fgi_buf_status(out, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static fg_status reserve(fgi_jpeg_segment_table *table, size_t count, fg_error *err)
{
    if (count <= table->capacity)
        return FG_OK;
    size_t *begin = fgi_realloc(table->begin, count * sizeof(*begin));
    if (begin == NULL)
        return fgi_no_memory(err);
    table->begin = begin;
    table->capacity = count;
    return FG_OK;
}

static fg_status check_header(const char *name, const uint8_t *bytes, size_t size, fg_error *err)
{
    if (size < HEADER_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
        return fgi_fail(err, FG_EFORMAT, "%s: segment table: byte 0: expected 'FGST'", name);
    if (fgi_get16(bytes + 4) != VERSION)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: segment table: byte 4: version %u; this program reads version %d\n"
                        "update the program or transcode the image again",
                        name, fgi_get16(bytes + 4), VERSION);
    if (fgi_get16(bytes + 6) == 0 || fgi_get32(bytes + 12) == 0 ||
        fgi_get32(bytes + 12) > (size - HEADER_BYTES) / 2)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: segment table: byte 6: %u MCUs per segment, %" PRIu32
                        " segments: not possible in %zu bytes",
                        name, fgi_get16(bytes + 6), fgi_get32(bytes + 12), size);
    return FG_OK;
}

fg_status fgi_jpeg_segment_table_read(fgi_jpeg_segment_table *table, const char *name,
                                      const uint8_t *bytes, size_t size, size_t jpeg_size,
                                      fg_error *err)
{
    FGI_TRY(check_header(name, bytes, size, err));
    const size_t count = fgi_get32(bytes + 12);
    FGI_TRY(reserve(table, count + 1, err));
    size_t at = fgi_get32(bytes + 8), large = HEADER_BYTES + 2 * count;
    for (size_t i = 0; i < count; i++) {
        size_t segment = fgi_get16(bytes + HEADER_BYTES + 2 * i);
        if (segment == ESCAPE && size - large >= 4) {
            segment = fgi_get32(bytes + large);
            large += 4;
        }
        table->begin[i] = at;
        at += segment + MARKER_BYTES; /* of the last segment: the end-of-image marker */
    }
    table->begin[count] = at;
    table->interval = (int)fgi_get16(bytes + 6);
    table->count = count;
    if (large != size || at > jpeg_size)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: segment table: %zu of %zu bytes used; the segments end at byte %zu of "
                        "an image of %zu bytes",
                        name, large, size, at, jpeg_size);
    return FG_OK;
}
