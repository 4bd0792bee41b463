/* encoding.c - how datasets store images that the device decodes: components, sizes, and their
 * pixels on the host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/encoding.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "image/ycc.h"

enum { LARGEST_SIDE = 65535 };

fg_image_encoding fgi_encoding_complete(const fg_image_encoding *encoding)
{
    static const fg_image_encoding none;
    fg_image_encoding e = encoding != NULL ? *encoding : none;
    const bool is_ycc = e.coding == FG_IMAGE_YCC420;
    e.channels = e.channels != 0 ? e.channels : 3;
    e.components = is_ycc || e.components == 0 ? 3 : e.components;
    e.high = e.high != 0 ? e.high : 1;
    for (int i = 0; i < 3; i++) {
        const bool is_fixed = is_ycc || e.components == 1; /* the factors of gray have no effect */
        const int fixed = is_ycc && i == 0 ? 2 : 1;
        e.h[i] = is_fixed ? fixed : e.h[i] != 0 ? e.h[i] : 1;
        e.v[i] = is_fixed ? fixed : e.v[i] != 0 ? e.v[i] : 1;
    }
    return e;
}

fg_status fgi_encoding_check(const fg_image_encoding *encoding, fg_error *err)
{
    FGI_TRY_RESERVED(fg_image_encoding, encoding, err);
    const fg_image_encoding e = fgi_encoding_complete(encoding);
    if (e.coding == FG_IMAGE_PIXELS)
        return FG_OK;
    if (e.coding != FG_IMAGE_DCT && e.coding != FG_IMAGE_YCC420)
        return fgi_fail(err, FG_EINVAL, "unknown coding %d of images", (int)e.coding);
    if (e.height < 1 || e.width < 1 || e.height > LARGEST_SIDE || e.width > LARGEST_SIDE)
        return fgi_fail(err, FG_EINVAL,
                        "encoded images of %" PRId64 " x %" PRId64 " pixels: expected 1 to %d",
                        e.height, e.width, (int)LARGEST_SIDE);
    if ((e.channels != 1 && e.channels != 3) || (e.components != 1 && e.components != 3))
        return fgi_fail(err, FG_EINVAL,
                        "encoded images with %d channels and %d components: expected 1 or 3",
                        e.channels, e.components);
    for (int i = 0; i < e.components; i++)
        if (e.h[i] < 1 || e.h[i] > 2 || e.v[i] < 1 || e.v[i] > 2)
            return fgi_fail(err, FG_EINVAL,
                            "sampling factors %d x %d of component %d: expected 1 or 2", e.h[i],
                            e.v[i], i);
    if (e.high < 1 || e.high > 64)
        return fgi_fail(err, FG_EINVAL, "%d coefficients with high bytes: expected 1 to 64",
                        e.high);
    return FG_OK;
}

void fgi_encoding_layout(const fg_image_encoding *encoding, fgi_jpeg_coefficients *out)
{
    const fg_image_encoding e = fgi_encoding_complete(encoding);
    *out = (fgi_jpeg_coefficients){
        .width = (int)e.width, .height = (int)e.height, .components = e.components};
    for (int i = 0; i < out->components; i++) {
        out->component[i].h = e.h[i];
        out->component[i].v = e.v[i];
    }
    fgi_jpeg_coefficients_lay_out(out);
}

size_t fgi_encoding_bytes(const fg_image_encoding *encoding)
{
    const fg_image_encoding e = fgi_encoding_complete(encoding);
    fgi_jpeg_coefficients layout;
    size_t bytes = 0;
    if (e.coding == FG_IMAGE_PIXELS)
        return (size_t)e.height * (size_t)e.width * (size_t)e.channels;
    fgi_encoding_layout(&e, &layout);
    if (e.coding == FG_IMAGE_DCT)
        return fgi_jpeg_entry_bytes(layout.components, layout.blocks, e.high);
    for (int i = 0; i < layout.components; i++)
        bytes += (size_t)layout.component[i].width * (size_t)layout.component[i].height;
    return bytes;
}

fg_type fg_image_encoding_type(const fg_image_encoding *encoding)
{
    if (encoding == NULL || encoding->coding == FG_IMAGE_PIXELS ||
        fgi_encoding_check(encoding, NULL) != FG_OK)
        return (fg_type){.dtype = FG_DTYPE_NONE};
    return (fg_type){.dtype = encoding->coding == FG_IMAGE_DCT ? FG_S8 : FG_U8,
                     .rank = 1,
                     .dim = {(int64_t)fgi_encoding_bytes(encoding)}};
}

bool fgi_encoding_equal(const fg_image_encoding *a, const fg_image_encoding *b)
{
    const fg_image_encoding x = fgi_encoding_complete(a), y = fgi_encoding_complete(b);
    if (x.coding == FG_IMAGE_PIXELS || y.coding == FG_IMAGE_PIXELS)
        return x.coding == y.coding;
    return x.coding == y.coding && x.height == y.height && x.width == y.width &&
           x.channels == y.channels && x.components == y.components && x.high == y.high &&
           memcmp(x.h, y.h, sizeof x.h) == 0 && memcmp(x.v, y.v, sizeof x.v) == 0;
}

/* ---- on the host ----------------------------------------------------------------------------- */

/* The coefficients of an entry of a batch, whose layout jpeg_coefficients.h describes; sets the
 * tables. */
static void widen(const int8_t *entry, int high, fgi_jpeg_coefficients *layout, int16_t *out)
{
    const size_t n = layout->blocks;
    const int8_t *table = entry + (64 + (size_t)high) * n;
    for (size_t z = 0; z < 64; z++) {
        const int8_t *low = entry + (z > 0 ? 1 + z : 0) * n;
        const int8_t *more = z == 0 ? entry + n : z < (size_t)high ? entry + (64 + z) * n : NULL;
        for (size_t i = 0; i < n; i++)
            out[z * n + i] = (int16_t)(low[i] + (more != NULL ? 256 * more[i] : 0));
    }
    for (int c = 0; c < layout->components; c++)
        for (int z = 0; z < 64; z++)
            layout->component[c].quant[z] =
                (uint16_t)(table[64 * c + z] + 256 * table[64 * (layout->components + c) + z]);
}

static fg_status decode_coefficients(const fg_image_encoding *encoding, const void *entry,
                                     uint8_t *out, fg_error *err)
{
    fgi_jpeg_coefficients layout;
    fgi_encoding_layout(encoding, &layout);
    const size_t values = 3 * (size_t)layout.width * (size_t)layout.height;
    int16_t *wide = fgi_alloc(64 * layout.blocks * sizeof *wide);
    float *rgb = fgi_alloc(values * sizeof *rgb);
    fg_status status = wide != NULL && rgb != NULL ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK) {
        widen(entry, fgi_encoding_complete(encoding).high, &layout, wide);
        status = fgi_jpeg_coefficients_to_rgb(&layout, wide, rgb, err);
    }
    for (size_t i = 0; i < values && status == FG_OK; i++)
        out[i] = (uint8_t)rgb[i];
    fgi_free(rgb);
    fgi_free(wide);
    return status;
}

fg_status fg_image_encoding_decode(const fg_image_encoding *encoding, const void *entry,
                                   uint8_t *rgb, fg_error *err)
{
    FGI_TRY(fgi_encoding_check(encoding, err));
    if (encoding->coding == FG_IMAGE_PIXELS)
        return fgi_fail(err, FG_EINVAL, "pixels need no decoding");
    if (encoding->coding == FG_IMAGE_DCT)
        return decode_coefficients(encoding, entry, rgb, err);
    fg_image image = {
        .pixels = rgb, .width = encoding->width, .height = encoding->height, .channels = 3};
    fgi_ycc_to_rgb(entry, encoding->width, encoding->height, 0, 0, &image);
    return FG_OK;
}
