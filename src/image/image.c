/* image.c - the memory of images and decoders.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/decoder.h"

#include <inttypes.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"

/* Vector code may read this many bytes past the last pixel. */
enum { PADDING = 64 };

/* Grows to the exact size: decoded images of a data set quickly reach the largest one. */
fg_status fgi_pixel_block_reserve(fgi_pixel_block *block, size_t size, fg_error *err)
{
    if (size <= block->capacity)
        return FG_OK;
    fgi_pixel_block_fini(block);
    block->data = size > SIZE_MAX / 2 ? NULL : fgi_alloc_aligned(size + PADDING);
    if (block->data == NULL)
        return fgi_no_memory(err);
    block->capacity = size;
    return FG_OK;
}

void fgi_pixel_block_fini(fgi_pixel_block *block)
{
    fgi_free_aligned(block->data);
    *block = (fgi_pixel_block){0};
}

void fg_image_fini(fg_image *image)
{
    if (image == NULL)
        return;
    fgi_free_aligned(image->pixels);
    *image = (fg_image){0};
}

fg_status fg_image_reserve(fg_image *image, int64_t width, int64_t height, int channels,
                           fg_error *err)
{
    FGI_TRY_RESERVED(fg_image, image, err);
    if (width < 1 || height < 1 || (channels != 1 && channels != 3))
        return fgi_fail(err, FG_EINVAL,
                        "fg_image_reserve: expected a size of at least 1x1 and 1 or 3 channels, "
                        "got %" PRId64 "x%" PRId64 " and %d",
                        width, height, channels);
    if (width > INT64_MAX / 4 / height)
        return fgi_no_memory(err);
    fgi_pixel_block memory = {image->pixels, image->capacity};
    const fg_status status =
        fgi_pixel_block_reserve(&memory, (size_t)(width * height) * (size_t)channels, err);
    *image = (fg_image){.pixels = memory.data, .capacity = memory.capacity};
    if (status != FG_OK)
        return status;
    image->width = width;
    image->height = height;
    image->channels = channels;
    image->region = (fg_image_box){0, 0, (double)width, (double)height};
    return FG_OK;
}
