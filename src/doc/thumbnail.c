/* thumbnail.c - a sample of a dataset as a small picture; see doc.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "doc/doc.h"

#include <fulgurite/image.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

enum { SIDE = 96, SHARP = 48 }; /* pixels; smaller pictures are stored without loss */
enum { DARK = 32 };

/* The size of the image that a field may contain; false: it is none. */
static bool shape_of(const fg_type *type, const int64_t given[3], int64_t out[3])
{
    const int64_t count = fg_type_count(type);
    const bool is_given =
        given[0] > 0 && given[0] * given[1] * (given[2] > 0 ? given[2] : 1) == count;
    if (type->dtype != FG_U8 && type->dtype != FG_F32)
        return false;
    if (is_given)
        memcpy(out, given, 3 * sizeof *out);
    else if (type->rank == 2 || type->rank == 3)
        for (int i = 0; i < 3; i++)
            out[i] = i < type->rank ? type->dim[i] : 1;
    else
        return false;
    out[2] = out[2] > 0 ? out[2] : 1;
    return true; /* fg_image_reserve refuses other numbers of channels than 1 and 3 */
}

/* Writes the values as pixels: floats from their least to their greatest, and small integers, such
 * as 0 to 16, up to 255. */
static void put_pixels(const fg_type *type, const void *values, uint8_t *out)
{
    const size_t count = (size_t)fg_type_count(type);
    const float *real = values;
    float low = HUGE_VALF, high = -HUGE_VALF;
    if (type->dtype == FG_U8) {
        const uint8_t *bytes = values;
        uint8_t most = 0;
        for (size_t i = 0; i < count; i++)
            most = bytes[i] > most ? bytes[i] : most;
        const int scale = most > 0 && most < DARK ? 255 / most : 1;
        for (size_t i = 0; i < count; i++)
            out[i] = (uint8_t)(scale * bytes[i]);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        low = real[i] < low ? real[i] : low;
        high = real[i] > high ? real[i] : high;
    }
    for (size_t i = 0; i < count; i++) {
        const float part = high > low ? (real[i] - low) / (high - low) : 0;
        out[i] = part >= 0 && part <= 1 ? (uint8_t)lroundf(255 * part) : 0;
    }
}

/* Writes the pixels of a sample's first field, which has them or is what the device decodes. */
static bool put_image(const fg_dataset *dataset, const void *values, const int64_t size[3],
                      fg_image *out)
{
    const fg_image_encoding *encoding = fg_dataset_encoding(dataset);
    if (fg_image_reserve(out, size[1], size[0], (int)size[2], &(fg_error){0}) != FG_OK)
        return false;
    if (encoding != NULL)
        return fg_image_encoding_decode(encoding, values, out->pixels, &(fg_error){0}) == FG_OK;
    put_pixels(&fg_dataset_field(dataset, 0)->type, values, out->pixels);
    return true;
}

static bool read_image(const fg_dataset *dataset, int64_t index, const int64_t given[3],
                       fg_image *out)
{
    const fg_image_encoding *encoding = fg_dataset_encoding(dataset);
    int64_t size[3] = {0, 0, 3};
    void *fields[FG_MAX_FIELDS] = {NULL};
    const int count = fg_dataset_field_count(dataset);
    bool is_good = encoding != NULL || shape_of(&fg_dataset_field(dataset, 0)->type, given, size);
    if (encoding != NULL) {
        size[0] = encoding->height;
        size[1] = encoding->width;
    }
    for (int f = 0; is_good && f < count; f++) {
        fields[f] = fgi_calloc(1, fg_type_bytes(&fg_dataset_field(dataset, f)->type) + 1);
        is_good = fields[f] != NULL;
    }
    is_good = is_good && fg_dataset_read(dataset, index, fields, &(fg_error){0}) == FG_OK &&
              put_image(dataset, fields[0], size, out);
    for (int f = 0; f < count; f++)
        fgi_free(fields[f]);
    return is_good;
}

/* Makes an image that is larger than SIDE smaller. */
static bool shrink(const fg_image *image, fg_image *out)
{
    fg_image_decoder *decoder = NULL;
    fg_error err = {0};
    const double scale =
        (double)SIDE / (double)(image->width > image->height ? image->width : image->height);
    const int64_t width = (int64_t)fmax(1, scale * (double)image->width);
    const int64_t height = (int64_t)fmax(1, scale * (double)image->height);
    const bool is_good =
        fg_image_decoder_create(&decoder, &err) == FG_OK &&
        fg_image_reserve(out, width, height, image->channels, &err) == FG_OK &&
        fg_image_resize(decoder, image, width, height, NULL, out->pixels, &err) == FG_OK;
    fg_image_decoder_destroy(decoder);
    return is_good;
}

static void put_base64(fgi_buf *out, const uint8_t *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const uint32_t bits = (uint32_t)data[i] << 16 |
                              (i + 1 < size ? (uint32_t)data[i + 1] << 8 : 0) |
                              (i + 2 < size ? data[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            fgi_buf_putc(out, i + k > size ? '=' : digits[bits >> (18 - 6 * k) & 63]);
    }
}

char *fgi_thumbnail(const fg_dataset *dataset, int64_t index, const int64_t given[3])
{
    fg_image image = {0}, small = {0};
    fg_image_bytes bytes = {0};
    fgi_buf out = {0};
    fg_error err = {0};
    bool is_good = read_image(dataset, index, given, &image);
    const bool is_large = is_good && (image.width > SIDE || image.height > SIDE);
    const bool is_sharp = is_good && image.width <= SHARP && image.height <= SHARP;
    if (is_large)
        is_good = shrink(&image, &small);
    const fg_image *shown = is_large ? &small : &image;
    if (is_good)
        is_good = (is_sharp ? fg_image_encode_png(shown, NULL, &bytes, &err)
                            : fg_image_encode_jpeg(shown, NULL, &bytes, &err)) == FG_OK;
    if (is_good) {
        fgi_buf_puts(&out, is_sharp ? "data:image/png;base64," : "data:image/jpeg;base64,");
        put_base64(&out, bytes.data, bytes.size);
    }
    char *text = is_good ? fgi_buf_take(&out) : NULL;
    fgi_buf_fini(&out);
    fg_image_bytes_fini(&bytes);
    fg_image_fini(&small);
    fg_image_fini(&image);
    return text;
}
