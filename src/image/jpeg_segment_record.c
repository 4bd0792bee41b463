/* jpeg_segment_record.c - puts a JPEG and its segment table together, and takes them apart.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_segment_record.h"

#include <inttypes.h>
#include "base/error.h"

enum {
    SIZE_BYTES = 4,      /* of the table's size */
    TABLE_LEAST = 16 + 2 /* a header and one segment */
};

void fgi_jpeg_record_append(fgi_buf *jpeg, const fgi_buf *table)
{
    const size_t n = table->size;
    const uint8_t size[SIZE_BYTES] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
                                      (uint8_t)(n >> 24)};
    jpeg->failed |= table->failed || n > UINT32_MAX;
    if (n > 0)
        fgi_buf_add(jpeg, table->data, n);
    fgi_buf_add(jpeg, size, sizeof(size));
}

fg_status fgi_jpeg_record_split(const char *name, const void *record, size_t size,
                                fgi_jpeg_record *out, fg_error *err)
{
    const uint8_t *bytes = record;
    *out = (fgi_jpeg_record){.name = name};
    if (size < SIZE_BYTES)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: a record of %zu bytes; expected a JPEG with a segment table", name,
                        size);
    const uint8_t *end = bytes + size - SIZE_BYTES;
    const uint32_t table =
        end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    if (table < TABLE_LEAST || table > size - SIZE_BYTES)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte %zu: a segment table of %" PRIu32
                        " bytes is not possible in a record of %zu bytes",
                        name, size - SIZE_BYTES, table, size);
    const size_t jpeg = size - SIZE_BYTES - table;
    if (jpeg < 2 || bytes[0] != 0xff || bytes[1] != 0xd8)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 0: expected a JPEG before the segment table",
                        name);
    *out = (fgi_jpeg_record){name, bytes, jpeg, bytes + jpeg, table};
    return FG_OK;
}
