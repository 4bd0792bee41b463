/* encoded.c - memory for encoded images, which grows by doubling.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/encoded.h"

#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"

enum { FIRST_CAPACITY = 1 << 14 };

void fg_image_bytes_fini(fg_image_bytes *bytes)
{
    if (bytes == NULL)
        return;
    fgi_free(bytes->data);
    *bytes = (fg_image_bytes){0};
}

fg_status fgi_image_bytes_grow(fg_image_bytes *bytes, fg_error *err)
{
    if (bytes->size < bytes->capacity)
        return FG_OK;
    const size_t capacity = bytes->capacity == 0 ? FIRST_CAPACITY : 2 * bytes->capacity;
    uint8_t *data = capacity < bytes->capacity ? NULL : fgi_realloc(bytes->data, capacity);
    if (data == NULL)
        return fgi_no_memory(err);
    bytes->data = data;
    bytes->capacity = capacity;
    return FG_OK;
}

fg_status fgi_image_bytes_add(fg_image_bytes *bytes, const void *data, size_t size, fg_error *err)
{
    const char *from = data;
    while (size > 0) {
        FGI_TRY(fgi_image_bytes_grow(bytes, err));
        const size_t room = bytes->capacity - bytes->size, part = size < room ? size : room;
        memcpy(bytes->data + bytes->size, from, part);
        bytes->size += part;
        from += part;
        size -= part;
    }
    return FG_OK;
}

fg_status fgi_image_check_encoding(const char *function, const fg_image *image, fg_image_bytes *out,
                                   fg_error *err)
{
    FGI_TRY_RESERVED(fg_image, image, err);
    FGI_TRY_RESERVED(fg_image_bytes, out, err);
    out->size = 0;
    const bool is_image = image->pixels != NULL && image->width >= 1 && image->height >= 1 &&
                          image->width <= INT32_MAX && image->height <= INT32_MAX &&
                          (image->channels == 1 || image->channels == 3);
    if (!is_image)
        return fgi_fail(err, FG_EINVAL,
                        "%s: expected an image with 1 or 3 channels, got %" PRId64 "x%" PRId64
                        " pixels with %d channels",
                        function, image->width, image->height, image->channels);
    return FG_OK;
}
