/* decode_images.c - images that the device decodes: what is stored, and which steps lead to pixels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/decode.h>
#include <inttypes.h>

#include "data/encoding.h"
#include "decode/coefficients.h"
#include "decode/planes.h"
#include "op/op.h"

/* Keeps an error unless x is what the encoding says. */
static bool check(fg_tensor x, const fg_image_encoding *encoding)
{
    char text[96];
    fg_error err = {.status = FG_OK};
    fg_trace *trace = fg_tensor_trace(x);
    const fg_type *type = fg_tensor_type(x);
    const fg_dtype dtype = encoding->coding == FG_IMAGE_DCT ? FG_S8 : FG_U8;
    if (fgi_encoding_check(encoding, &err) != FG_OK) {
        (void)fgi_trace_fail(trace, err.status, "decode_images: %s", err.message);
        return false;
    }
    const int64_t bytes = (int64_t)fgi_encoding_bytes(encoding);
    if (type->dtype == dtype && type->rank == 2 && type->dim[1] == bytes)
        return true;
    (void)fgi_trace_fail(trace, type->dtype == dtype ? FG_ESHAPE : FG_EDTYPE,
                         "decode_images: got %s: expected %s[B,%" PRId64 "] for images of %" PRId64
                         " x %" PRId64 " pixels",
                         fg_type_format(type, text, sizeof text), fg_dtype_name(dtype), bytes,
                         encoding->height, encoding->width);
    return false;
}

/* Plane `index` of u8[B,bytes], as integers f32[B,height,width]. */
static fg_tensor plane_of(fg_tensor x, const fgi_jpeg_coefficients *layout, int index)
{
    const int64_t batch = fg_tensor_dim(x, 0);
    int64_t offset = 0;
    for (int i = 0; i < index; i++)
        offset += (int64_t)layout->component[i].width * layout->component[i].height;
    const fgi_jpeg_component *c = &layout->component[index];
    const int64_t start[2] = {0, offset};
    const int64_t limit[2] = {batch, offset + (int64_t)c->width * c->height};
    const fg_tensor bytes = fg_slice(x, start, limit, NULL);
    const fg_tensor plane = fg_reshape(bytes, FG_DIMS(batch, c->height, c->width));
    return fg_add_scalar(fg_cast(plane, FG_F32), -128);
}

/* The samples of a component, from -128 to 127, at each pixel. */
static fg_tensor samples(fg_tensor x, const fg_image_encoding *encoding,
                         const fgi_jpeg_coefficients *layout, int index)
{
    const fgi_jpeg_component *c = &layout->component[index];
    const int high = encoding->high > 0 ? encoding->high : 1;
    const fg_tensor plane = encoding->coding == FG_IMAGE_DCT
                                ? fgi_decode_component(x, layout, high, index)
                                : plane_of(x, layout, index);
    return fgi_decode_upsample(plane, layout->h_max / c->h, layout->v_max / c->v, layout->height,
                               layout->width);
}

fg_tensor fg_decode_images(fg_tensor x, const fg_image_encoding *encoding)
{
    fgi_jpeg_coefficients layout;
    if (fgi_is_poison(x) || encoding == NULL || encoding->coding == FG_IMAGE_PIXELS)
        return x;
    if (!check(x, encoding))
        return fgi_poison(fg_tensor_trace(x));
    fgi_encoding_layout(encoding, &layout);
    const fg_tensor y = fg_add_scalar(samples(x, encoding, &layout, 0), 128);
    if (encoding->channels == 1 || layout.components == 1)
        return fgi_decode_gray(y, encoding->channels == 1 ? 1 : 3);
    return fgi_decode_rgb(y, samples(x, encoding, &layout, 1), samples(x, encoding, &layout, 2));
}
