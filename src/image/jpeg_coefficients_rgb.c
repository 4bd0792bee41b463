/* jpeg_coefficients_rgb.c - both ends of the records of coefficients: pixels to coefficients (by
 * libjpeg), and the reference for what devices compute, coefficients to pixels in f32. Written to
 * be compared with, not to be fast.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_coefficients.h"

#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "image/jpeg_guard.h"

/* ---- pixels to coefficients ------------------------------------------------------------------ */

typedef struct encoder {
    fgi_jpeg_guard guard;
    struct jpeg_compress_struct writer;
    const fg_image *image;
    int quality;
    fgi_jpeg_sampling sampling;
    fgi_buf jpeg;
} encoder;

static void encode(void *self)
{
    encoder *e = self;
    struct jpeg_compress_struct *writer = &e->writer;
    fgi_jpeg_guard_output(&e->guard, writer, &e->jpeg);
    writer->image_width = (JDIMENSION)e->image->width;
    writer->image_height = (JDIMENSION)e->image->height;
    writer->input_components = 3;
    writer->in_color_space = JCS_RGB;
    jpeg_set_defaults(writer);
    if (e->sampling.components == 1)
        jpeg_set_colorspace(writer, JCS_GRAYSCALE);
    writer->comp_info[0].h_samp_factor = e->sampling.h;
    writer->comp_info[0].v_samp_factor = e->sampling.v;
    writer->dct_method = JDCT_ISLOW;
    jpeg_set_quality(writer, e->quality, TRUE);
    jpeg_start_compress(writer, TRUE);
    while (writer->next_scanline < writer->image_height) {
        JSAMPROW row =
            e->image->pixels + (size_t)writer->next_scanline * (size_t)e->image->width * 3;
        (void)jpeg_write_scanlines(writer, &row, 1);
    }
    jpeg_finish_compress(writer);
}

fg_status fgi_jpeg_coefficients_encode(const char *name, const fg_image *image, int quality,
                                       fgi_jpeg_sampling sampling, fgi_buf *out, fg_error *err)
{
    encoder *e = fgi_calloc(1, sizeof(*e));
    if (e == NULL)
        return fgi_no_memory(err);
    e->image = image;
    e->quality = quality;
    e->sampling = sampling;
    fg_status status = fgi_jpeg_guard_writer(&e->guard, &e->writer, err);
    if (status == FG_OK)
        status = fgi_jpeg_guard_run(&e->guard, name, encode, e, err);
    if (status == FG_OK)
        status = fgi_jpeg_coefficients_write(name, e->jpeg.data, e->jpeg.size, out, err);
    jpeg_destroy_compress(&e->writer);
    fgi_buf_fini(&e->jpeg);
    fgi_free(e);
    return status;
}

/* ---- coefficients to pixels ------------------------------------------------------------------ */

/* Zigzag index to v * 8 + u: along the diagonals u + v, in alternating direction. */
static void zigzag_order(int order[64])
{
    int z = 0;
    for (int sum = 0; sum < 15; sum++) {
        for (int i = 0; i <= sum; i++) {
            const int v = sum % 2 == 0 ? sum - i : i, u = sum - v;
            if (u < 8 && v < 8)
                order[z++] = 8 * v + u;
        }
    }
}

static double cosine(int position, int frequency)
{
    const double scale = frequency == 0 ? 0.5 / sqrt(2) : 0.5;
    return scale * cos((2 * position + 1) * frequency * 3.14159265358979323846 / 16);
}

void fgi_jpeg_coefficient_basis(float basis[64 * 64])
{
    int order[64];
    zigzag_order(order);
    for (int p = 0; p < 64; p++) {
        for (int z = 0; z < 64; z++)
            basis[64 * p + z] = (float)(cosine(p % 8, order[z] % 8) * cosine(p / 8, order[z] / 8));
    }
}

static float rounded(float value)
{
    const float integer = floorf(value + 0.5f);
    return integer < 0 ? 0 : integer > 255 ? 255 : integer;
}

/* Steps 1 to 3: the samples of a component, [height][width]. */
static void inverse_dct(const fgi_jpeg_coefficients *record, const fgi_jpeg_component *c,
                        const int16_t *coefficients, const float *basis, float *samples)
{
    for (int y = 0; y < c->height; y++) {
        for (int x = 0; x < c->width; x++) {
            const size_t block = c->first + (size_t)(y / 8) * (size_t)c->columns + (size_t)(x / 8);
            const float *row = basis + (y % 8 * 8 + x % 8) * 64;
            float sum = 0;
            for (size_t z = 0; z < 64; z++)
                sum += row[z] * (float)(coefficients[z * record->blocks + block] * c->quant[z]);
            samples[(size_t)y * (size_t)c->width + (size_t)x] = rounded(sum + 128);
        }
    }
}

/* Step 4 in one dimension: the two samples that output i is mixed from. */
static void neighbors(int i, int factor, int count, int *near, int *far)
{
    *near = i / factor;
    *far = factor == 1 ? *near : *near + (i % 2 == 0 ? -1 : 1);
    if (*near >= count)
        *near = count - 1;
    if (*far < 0)
        *far = 0;
    if (*far >= count)
        *far = count - 1;
}

/* Step 4: the component's value at a pixel. */
static float upsampled(const fgi_jpeg_component *c, const float *samples, int x, int y, int h,
                       int v)
{
    int x_near, x_far, y_near, y_far;
    neighbors(x, h, c->width, &x_near, &x_far);
    neighbors(y, v, c->height, &y_near, &y_far);
    const float *a = samples + (size_t)y_near * (size_t)c->width;
    const float *b = samples + (size_t)y_far * (size_t)c->width;
    const float value = 0.75f * (0.75f * a[x_near] + 0.25f * a[x_far]) +
                        0.25f * (0.75f * b[x_near] + 0.25f * b[x_far]);
    if (h == 2 && v == 2)
        return floorf(value + (x % 2 == 0 ? 0.5f : 0.4375f));
    if (h == 2 || v == 2)
        return floorf(value + ((h == 2 ? x : y) % 2 == 0 ? 0.25f : 0.5f));
    return value;
}

/* Step 5. */
static void to_rgb(const float ycc[3], float rgb[3])
{
    const float y = ycc[0], cb = ycc[1] - 128, cr = ycc[2] - 128;
    rgb[0] = rounded(y + 1.402f * cr);
    rgb[1] = rounded(y - 0.344136f * cb - 0.714136f * cr);
    rgb[2] = rounded(y + 1.772f * cb);
}

static void compose(const fgi_jpeg_coefficients *record, float *const samples[3], float *rgb)
{
    for (int y = 0; y < record->height; y++) {
        for (int x = 0; x < record->width; x++, rgb += 3) {
            float ycc[3] = {0, 128, 128};
            for (int i = 0; i < record->components; i++) {
                const fgi_jpeg_component *c = &record->component[i];
                ycc[i] = upsampled(c, samples[i], x, y, record->h_max / c->h, record->v_max / c->v);
            }
            to_rgb(ycc, rgb);
        }
    }
}

fg_status fgi_jpeg_coefficients_to_rgb(const fgi_jpeg_coefficients *record,
                                       const int16_t *coefficients, float *rgb, fg_error *err)
{
    float *basis = fgi_alloc(sizeof(float) * 64 * 64);
    float *samples[3] = {NULL, NULL, NULL};
    bool has_memory = basis != NULL;
    if (has_memory)
        fgi_jpeg_coefficient_basis(basis);
    for (int i = 0; i < record->components && has_memory; i++) {
        const fgi_jpeg_component *c = &record->component[i];
        samples[i] = fgi_alloc(sizeof(float) * (size_t)c->width * (size_t)c->height);
        has_memory = samples[i] != NULL;
        if (has_memory)
            inverse_dct(record, c, coefficients, basis, samples[i]);
    }
    if (has_memory)
        compose(record, samples, rgb);
    for (int i = 0; i < 3; i++)
        fgi_free(samples[i]);
    fgi_free(basis);
    return has_memory ? FG_OK : fgi_no_memory(err);
}
