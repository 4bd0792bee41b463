/* encoding.c - how datasets store images that the device decodes: components, sizes, and their
 * pixels on the host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/encoding.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "image/ycc.h"

enum { LARGEST_SIDE = 65535 };

static int channels_of(const fg_image_encoding *encoding)
{
    return encoding->channels != 0 ? encoding->channels : 3;
}

/* FG_IMAGE_YCC420 has fixed sampling factors. */
static int components_of(const fg_image_encoding *encoding)
{
    return encoding->coding == FG_IMAGE_DCT && encoding->components != 0 ? encoding->components : 3;
}

static int factor_of(const fg_image_encoding *encoding, const int *factor, int component)
{
    if (encoding->coding == FG_IMAGE_YCC420)
        return component == 0 ? 2 : 1;
    return factor[component] != 0 ? factor[component] : 1;
}

fg_status fgi_encoding_check(const fg_image_encoding *e, fg_error *err)
{
    FGI_TRY_RESERVED(fg_image_encoding, e, err);
    const bool is_known = e->coding == FG_IMAGE_DCT || e->coding == FG_IMAGE_YCC420;
    if (e->coding == FG_IMAGE_PIXELS)
        return FG_OK;
    if (!is_known)
        return fgi_fail(err, FG_EINVAL, "unknown coding %d of images", (int)e->coding);
    if (e->height < 1 || e->width < 1 || e->height > LARGEST_SIDE || e->width > LARGEST_SIDE)
        return fgi_fail(err, FG_EINVAL,
                        "encoded images of %" PRId64 " x %" PRId64 " pixels: expected 1 to %d",
                        e->height, e->width, (int)LARGEST_SIDE);
    if ((channels_of(e) != 1 && channels_of(e) != 3) ||
        (components_of(e) != 1 && components_of(e) != 3))
        return fgi_fail(err, FG_EINVAL,
                        "encoded images with %d channels and %d components: expected 1 or 3",
                        e->channels, e->components);
    for (int i = 0; i < components_of(e); i++) {
        const int h = factor_of(e, e->h, i), v = factor_of(e, e->v, i);
        if (h < 1 || h > 2 || v < 1 || v > 2)
            return fgi_fail(err, FG_EINVAL,
                            "sampling factors %d x %d of component %d: expected 1 or 2", h, v, i);
    }
    if (e->high < 0 || e->high > 64)
        return fgi_fail(err, FG_EINVAL, "%d coefficients with high bytes: expected 1 to 64",
                        e->high);
    return FG_OK;
}

void fgi_encoding_layout(const fg_image_encoding *encoding, fgi_jpeg_coefficients *out)
{
    *out = (fgi_jpeg_coefficients){.width = (int)encoding->width,
                                   .height = (int)encoding->height,
                                   .components = components_of(encoding)};
    for (int i = 0; i < out->components; i++) {
        const bool is_gray = out->components == 1; /* its factors have no effect */
        out->component[i].h = is_gray ? 1 : factor_of(encoding, encoding->h, i);
        out->component[i].v = is_gray ? 1 : factor_of(encoding, encoding->v, i);
    }
    fgi_jpeg_coefficients_lay_out(out);
}

size_t fgi_encoding_bytes(const fg_image_encoding *encoding)
{
    fgi_jpeg_coefficients layout;
    size_t bytes = 0;
    if (encoding->coding == FG_IMAGE_PIXELS)
        return (size_t)encoding->height * (size_t)encoding->width * (size_t)channels_of(encoding);
    fgi_encoding_layout(encoding, &layout);
    if (encoding->coding == FG_IMAGE_DCT)
        return fgi_jpeg_entry_bytes(layout.components, layout.blocks,
                                    encoding->high > 0 ? encoding->high : 1);
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
    const bool a_plain = a == NULL || a->coding == FG_IMAGE_PIXELS;
    const bool b_plain = b == NULL || b->coding == FG_IMAGE_PIXELS;
    if (a_plain || b_plain)
        return a_plain && b_plain;
    bool equal = a->coding == b->coding && a->height == b->height && a->width == b->width &&
                 channels_of(a) == channels_of(b) && components_of(a) == components_of(b) &&
                 (a->high > 0 ? a->high : 1) == (b->high > 0 ? b->high : 1);
    for (int i = 0; equal && i < components_of(a); i++)
        equal = factor_of(a, a->h, i) == factor_of(b, b->h, i) &&
                factor_of(a, a->v, i) == factor_of(b, b->v, i);
    return equal;
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
        widen(entry, encoding->high > 0 ? encoding->high : 1, &layout, wide);
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
