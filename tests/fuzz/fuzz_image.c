/* fuzz_image.c - any bytes as an image file of any format: probed, decoded completely, and decoded
 * in part with tolerance for corruption. A decoded image has the size that its headers promise.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <fulgurite/image.h>

enum { MOST_PIXELS = 1 << 14 };

static void check_error(fg_status status, const fg_error *err)
{
    if (status != FG_OK && (err->status != status || err->message[0] == '\0'))
        abort();
}

static void decode(fg_image_decoder *decoder, const uint8_t *data, size_t size,
                   const fg_image_info *info)
{
    fg_error err = {0};
    fg_image image = {0};
    const fg_image_decode_options whole = {.max_pixels = MOST_PIXELS};
    fg_status status = fg_image_decode(decoder, "input", data, size, &whole, &image, &err);
    check_error(status, &err);
    if (status == FG_OK && (image.width != info->width || image.height != info->height))
        abort();
    const fg_image_decode_options part = {
        .channels = 1,
        .crop = {(double)info->width / 3, 0, (double)info->width / 2, (double)info->height / 2},
        .presize = {.rule = FG_IMAGE_PRESIZE_SHORT, .size = 4},
        .tolerate_corruption = true,
        .max_pixels = MOST_PIXELS};
    status = fg_image_decode(decoder, "input", data, size, &part, &image, &err);
    check_error(status, &err);
    fg_image_fini(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fg_error err = {0};
    fg_image_info info;
    fg_image_decoder *decoder;
    const fg_status status = fg_image_probe("input", data, size, &info, &err);
    check_error(status, &err);
    if (status != FG_OK || fg_image_decoder_create(&decoder, &err) != FG_OK)
        return 0;
    if (info.width < 1 || info.height < 1 || info.orientation < 1 || info.orientation > 8)
        abort();
    decode(decoder, data, size, &info);
    fg_image_decoder_destroy(decoder);
    return 0;
}
