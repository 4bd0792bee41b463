/* fuzz_jpeg_segment.c - a JPEG and its segment table: any bytes give an error or pixels. If the
 * JPEG can be transcoded, the result and its table can be read, and a crop decoded. Input: the size
 * of the JPEG (2 bytes, little-endian), the JPEG, the table.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "image/jpeg_markers.h"
#include "image/jpeg_segment.h"
#include "image/jpeg_transcode.h"

enum { WIDTH = 33, HEIGHT = 40, MOST_PIXELS = 1 << 18 };

static void check(fg_status status, const fg_error *err)
{
    if ((status != FG_OK) != (err->message[0] != '\0'))
        abort();
}

static void decode(fgi_jpeg_cropper *cropper, const fgi_jpeg_record *record,
                   const fgi_jpeg_crop *crop)
{
    static uint8_t pixels[HEIGHT * WIDTH * 3];
    fg_error err = {0};
    check(fgi_jpeg_segment_decode(cropper, record, crop, pixels, (size_t)crop->width * 3, &err),
          &err);
}

/* What the transcoder returns must be decoded without an error. */
static void transcode(fgi_jpeg_cropper *cropper, const uint8_t *jpeg, size_t size)
{
    fg_error err = {0};
    fgi_buf out = {0}, table = {0};
    uint8_t pixel[3];
    const fg_status status =
        fgi_jpeg_transcode_segments("input", jpeg, size, 3, &out, &table, &err);
    check(status, &err);
    const fgi_jpeg_record record = {"input", out.data, out.size, table.data, table.size};
    if (status == FG_OK &&
        fgi_jpeg_segment_decode(cropper, &record, &(fgi_jpeg_crop){0, 0, 1, 1, 1}, pixel, 3,
                                &err) == FG_EFORMAT)
        abort();
    fgi_buf_fini(&out);
    fgi_buf_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || (size_t)(data[0] | data[1] << 8) > size - 2)
        return 0;
    const size_t jpeg_size = (size_t)(data[0] | data[1] << 8);
    const fgi_jpeg_record record = {"input", data + 2, jpeg_size, data + 2 + jpeg_size,
                                    size - 2 - jpeg_size};
    const fgi_image_file file = {.name = "input", .data = data + 2, .size = jpeg_size};
    fgi_jpeg_header header;
    fgi_jpeg_cropper *cropper = NULL;
    fg_error err = {0};
    if (fgi_jpeg_header_read(&file, &header, &err) != FG_OK ||
        (int64_t)header.width * header.height > MOST_PIXELS)
        return 0;
    err = (fg_error){0};
    if (fgi_jpeg_cropper_create(&cropper, &err) != FG_OK)
        return 0;
    decode(cropper, &record, &(fgi_jpeg_crop){0, 0, 1, 1, 1});
    decode(cropper, &record, &(fgi_jpeg_crop){3, 20, WIDTH, HEIGHT, 1});
    decode(cropper, &record, &(fgi_jpeg_crop){2, 1, 7, 8, 2});
    transcode(cropper, data + 2, jpeg_size);
    fgi_jpeg_cropper_destroy(cropper);
    return 0;
}
