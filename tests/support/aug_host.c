/* aug_host.c - augmentations in plain C, written from the definitions in aug.h.
 *
 * Random numbers and what is rounded to integers are computed in f32, as on devices; the rest in
 * double.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug_host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fgt.h"

fgi_key aug_host_key(uint64_t seed, int64_t epoch)
{
    return fgi_key_fold(fgi_key_fold_text(fgi_key_from_seed(seed), "samples"), (uint64_t)epoch);
}

float aug_host_uniform(const aug_draw *d, const char *purpose, int count, int i)
{
    uint32_t word[2];
    const int half = (count + 1) / 2;
    const uint64_t tag = fgi_checksum64(purpose, strlen(purpose)) + (uint64_t)d->repeat;
    fgi_threefry2x32(fgi_key_fold(d->key, tag), d->sample, (uint32_t)(i % half), word);
    return (float)(word[i / half] >> 8) * 0x1p-24F;
}

/* floor(u n), at most n - 1. */
static int below(float u, int n)
{
    const int k = (int)floorf(u * (float)n);
    return k < n ? k : n - 1;
}

/* ---- images ---------------------------------------------------------------------------------- */

aug_image aug_host_image(int h, int w, int c)
{
    const aug_image x = {h, w, c, calloc((size_t)(h * w * c) + 1, sizeof(float))};
    assert_non_null(x.at);
    return x;
}

void aug_host_free(aug_image image) { free(image.at); }

static float *pixel(aug_image x, int i, int k) { return x.at + (i * x.w + k) * x.c; }

static aug_image copied(aug_image x)
{
    const aug_image y = aug_host_image(x.h, x.w, x.c);
    memcpy(y.at, x.at, (size_t)(x.h * x.w * x.c) * sizeof(float));
    return y;
}

/* ---- geometry -------------------------------------------------------------------------------- */

aug_image aug_host_flip(aug_image x, const aug_draw *d, float p, bool vertical)
{
    const aug_image y = copied(x);
    if (aug_host_uniform(d, vertical ? "random_flip.vertical" : "random_flip", 1, 0) >= p)
        return y;
    for (int i = 0; i < x.h; i++)
        for (int k = 0; k < x.w; k++)
            memcpy(pixel(y, i, k), vertical ? pixel(x, x.h - 1 - i, k) : pixel(x, i, x.w - 1 - k),
                   (size_t)x.c * sizeof(float));
    return y;
}

/* The index of the element that is read at `at`, which may be outside 0 to n - 1; -1: none. */
static int continued(int at, int n, char mode)
{
    if (at >= 0 && at < n)
        return at;
    if (mode == 'r')
        return at < 0 ? -at : 2 * (n - 1) - at;
    return mode == 'c' ? -1 : at < 0 ? 0 : n - 1;
}

aug_image aug_host_crop(aug_image x, const aug_draw *d, int h, int w, int padding, char mode,
                        float fill)
{
    const aug_image y = aug_host_image(h, w, x.c);
    const int rows = x.h + 2 * padding - h + 1, columns = x.w + 2 * padding - w + 1;
    const int top = below(aug_host_uniform(d, "random_crop", 2, 0), rows) - padding;
    const int left = below(aug_host_uniform(d, "random_crop", 2, 1), columns) - padding;
    for (int i = 0; i < h; i++)
        for (int k = 0; k < w; k++) {
            const int row = continued(top + i, x.h, mode), column = continued(left + k, x.w, mode);
            for (int c = 0; c < x.c; c++)
                pixel(y, i, k)[c] = row < 0 || column < 0 ? fill : pixel(x, row, column)[c];
        }
    return y;
}

/* Draws top, left, height and width of a box; false if none of 10 fits. `less`: how much smaller
 * than the image it has to be. */
static bool draw_box(const aug_draw *d, const char *purpose, int count, int h, int w,
                     const double scale[2], const double ratio[2], int less, int box[4])
{
    const double area = (double)h * w;
    for (int try = 0; try < 10; try++) {
        const float s =
            aug_host_uniform(d, purpose, count, try) * (float)(area * scale[1] - area * scale[0]) +
            (float)(area * scale[0]);
        const float turn =
            aug_host_uniform(d, purpose, count, 10 + try) * (float)(log(ratio[1]) - log(ratio[0])) +
            (float)log(ratio[0]);
        box[3] = (int)floorf(sqrtf(s * expf(turn)) + 0.5F);
        box[2] = (int)floorf(sqrtf(s / expf(turn)) + 0.5F);
        if (box[3] < 1 || box[2] < 1 || box[3] > w - less || box[2] > h - less)
            continue;
        box[0] = below(aug_host_uniform(d, purpose, count, 20), h - box[2] + 1);
        box[1] = below(aug_host_uniform(d, purpose, count, 21), w - box[3] + 1);
        return true;
    }
    return false;
}

/* The weight of pixel k for place `to` of n, in the interval from first of `size` pixels. */
static double weight_of(int k, int to, int n, int first, int size)
{
    const double scale = (double)size / n, reach = scale > 1 ? scale : 1;
    const double away = fabs(k + 0.5 - (first + (to + 0.5) * scale)) / reach;
    return k < first || k >= first + size || away >= 1 ? 0 : 1 - away;
}

aug_image aug_host_resize(aug_image x, const int box[4], int h, int w)
{
    const aug_image y = aug_host_image(h, w, x.c);
    for (int i = 0; i < h; i++)
        for (int k = 0; k < w; k++)
            for (int c = 0; c < x.c; c++) {
                double sum = 0, weights = 0;
                for (int row = 0; row < x.h; row++)
                    for (int column = 0; column < x.w; column++) {
                        const double weight = weight_of(row, i, h, box[0], box[2]) *
                                              weight_of(column, k, w, box[1], box[3]);
                        sum += weight * (double)pixel(x, row, column)[c];
                        weights += weight;
                    }
                pixel(y, i, k)[c] = (float)(sum / weights);
            }
    return y;
}

aug_image aug_host_resized_crop(aug_image x, const aug_draw *d, int h, int w, const double scale[2],
                                const double ratio[2])
{
    int box[4];
    if (!draw_box(d, "random_resized_crop", 22, x.h, x.w, scale, ratio, 0, box)) {
        box[2] = x.h;
        box[3] = x.w;
        if ((double)x.w / x.h < ratio[0])
            box[2] = (int)floor(x.w / ratio[0] + 0.5);
        else if ((double)x.w / x.h > ratio[1])
            box[3] = (int)floor(x.h * ratio[1] + 0.5);
        box[0] = (x.h - box[2]) / 2;
        box[1] = (x.w - box[3]) / 2;
    }
    return aug_host_resize(x, box, h, w);
}

/* On the transposed image, so that the ratio is that of height to width. */
aug_image aug_host_erase(aug_image x, const aug_draw *d, float p, const double scale[2],
                         const double ratio[2], float value)
{
    const aug_image y = copied(x);
    int box[4];
    const bool is_there = draw_box(d, "random_erasing", 23, x.w, x.h, scale, ratio, 1, box);
    if (!is_there || aug_host_uniform(d, "random_erasing", 23, 22) >= p)
        return y;
    for (int i = box[1]; i < box[1] + box[3]; i++)
        for (int k = box[0]; k < box[0] + box[2]; k++)
            for (int c = 0; c < x.c; c++)
                pixel(y, i, k)[c] = value;
    return y;
}

/* ---- color ----------------------------------------------------------------------------------- */

static double gray_of(const float *rgb, int channels)
{
    return channels == 1
               ? (double)rgb[0]
               : 0.2989 * (double)rgb[0] + 0.587 * (double)rgb[1] + 0.114 * (double)rgb[2];
}

static float cut(double x) { return (float)(x < 0 ? 0 : x > 1 ? 1 : x); }

/* Hue as an angle by the hexagon's six sides, and back. */
static void turn_hue(float rgb[3], double shift)
{
    const double r = (double)rgb[0], g = (double)rgb[1], b = (double)rgb[2];
    const double most = fmax(r, fmax(g, b)), chroma = most - fmin(r, fmin(g, b));
    double hue = 0;
    if (chroma == 0)
        return;
    if (most == r)
        hue = (g - b) / chroma;
    else
        hue = most == g ? 2 + (b - r) / chroma : 4 + (r - g) / chroma;
    hue = fmod(hue + 6 * shift + 12, 6);
    const double rest = most - chroma, middle = rest + chroma * (1 - fabs(fmod(hue, 2) - 1));
    static const int order[6][3] = {{2, 1, 0}, {1, 2, 0}, {0, 2, 1},
                                    {0, 1, 2}, {1, 0, 2}, {2, 0, 1}};
    const double value[3] = {rest, middle, most};
    for (int i = 0; i < 3; i++)
        rgb[i] = (float)value[order[(int)hue % 6][i]];
}

aug_image aug_host_jitter(aug_image x, const aug_draw *d, const double strength[4])
{
    const aug_image y = copied(x);
    double factor[4], mean = 0;
    for (int i = 0; i < 4; i++) {
        const double low = i == 3 ? -strength[3] : fmax(0, 1 - strength[i]);
        const double high = i == 3 ? strength[3] : 1 + strength[i];
        factor[i] = low + (high - low) * (double)aug_host_uniform(d, "color_jitter", 4, i);
    }
    const int pixels = x.h * x.w;
    for (int i = 0; i < pixels * x.c; i++)
        y.at[i] = cut((double)y.at[i] * factor[0]);
    for (int i = 0; i < pixels; i++)
        mean += gray_of(y.at + i * x.c, x.c) / pixels;
    for (int i = 0; i < pixels * x.c; i++)
        y.at[i] = cut((double)y.at[i] * factor[1] + mean * (1 - factor[1]));
    for (int i = 0; i < pixels && x.c == 3; i++) {
        float *rgb = y.at + i * 3;
        const double gray = gray_of(rgb, 3);
        for (int c = 0; c < 3; c++)
            rgb[c] = cut((double)rgb[c] * factor[2] + gray * (1 - factor[2]));
        turn_hue(rgb, factor[3]);
    }
    return y;
}

aug_image aug_host_gray(aug_image x, const aug_draw *d, float p)
{
    const aug_image y = copied(x);
    if (aug_host_uniform(d, "grayscale", 1, 0) >= p)
        return y;
    for (int i = 0; i < x.h * x.w; i++) {
        const float gray = (float)gray_of(x.at + i * 3, 3);
        y.at[i * 3] = y.at[i * 3 + 1] = y.at[i * 3 + 2] = gray;
    }
    return y;
}

/* ---- affine maps, blur ----------------------------------------------------------------------- */

static double between(const aug_draw *d, const char *purpose, int count, int i, double low,
                      double high)
{
    return low + (high - low) * (double)aug_host_uniform(d, purpose, count, i);
}

static double pixel_or(aug_image x, int i, int k, int c, double fill)
{
    return i < 0 || k < 0 || i >= x.h || k >= x.w ? fill : (double)pixel(x, i, k)[c];
}

/* For each pixel of the result, the place that the map moves to it: the inverse by Cramer's rule.
 */
aug_image aug_host_affine(aug_image x, const aug_draw *d, const double numbers[5], double fill)
{
    static const char name[] = "random_affine";
    const double degree = acos(-1) / 180, t = numbers[1];
    const aug_image y = aug_host_image(x.h, x.w, x.c);
    const double angle = between(d, name, 5, 0, -numbers[0], numbers[0]) * degree;
    const double dx = between(d, name, 5, 1, -t * x.w, t * x.w);
    const double dy = between(d, name, 5, 2, -t * x.h, t * x.h);
    const double scale = between(d, name, 5, 3, numbers[2], numbers[3]);
    const double shear = tan(between(d, name, 5, 4, -numbers[4], numbers[4]) * degree);
    const double a = scale * cos(angle), b = scale * (-cos(angle) * shear - sin(angle));
    const double c = scale * sin(angle), e = scale * (cos(angle) - sin(angle) * shear);
    for (int i = 0; i < x.h; i++)
        for (int k = 0; k < x.w; k++) {
            const double u = k + 0.5 - x.w / 2.0 - dx, v = i + 0.5 - x.h / 2.0 - dy;
            const double column = (e * u - b * v) / (a * e - b * c) + x.w / 2.0 - 0.5;
            const double row = (a * v - c * u) / (a * e - b * c) + x.h / 2.0 - 0.5;
            const int top = (int)floor(row), left = (int)floor(column);
            for (int n = 0; n < x.c; n++) {
                const double r = row - top, s = column - left;
                const double upper = (1 - s) * pixel_or(x, top, left, n, fill) +
                                     s * pixel_or(x, top, left + 1, n, fill);
                const double lower = (1 - s) * pixel_or(x, top + 1, left, n, fill) +
                                     s * pixel_or(x, top + 1, left + 1, n, fill);
                pixel(y, i, k)[n] = (float)((1 - r) * upper + r * lower);
            }
        }
    return y;
}

aug_image aug_host_blur(aug_image x, const aug_draw *d, int size, double low, double high)
{
    const aug_image y = aug_host_image(x.h, x.w, x.c);
    const double sigma = between(d, "gaussian_blur", 1, 0, low, high);
    for (int i = 0; i < x.h; i++)
        for (int k = 0; k < x.w; k++)
            for (int c = 0; c < x.c; c++) {
                double sum = 0, weights = 0;
                for (int a = -size / 2; a <= size / 2; a++)
                    for (int b = -size / 2; b <= size / 2; b++) {
                        const double weight = exp(-0.5 * (a * a + b * b) / (sigma * sigma));
                        const int row = continued(i + a, x.h, 'r');
                        sum += weight * (double)pixel(x, row, continued(k + b, x.w, 'r'))[c];
                        weights += weight;
                    }
                pixel(y, i, k)[c] = (float)(sum / weights);
            }
    return y;
}
