/* aug_host_levels.c - maps of pixel values, RandAugment, TrivialAugment, mixup and cutmix in plain
 * C, written from the definitions in aug.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aug_host.h"

#include <math.h>
#include <string.h>

#include "fgt.h"

static float cut(double x) { return (float)(x < 0 ? 0 : x > 1 ? 1 : x); }

static int byte_of(float x) { return (int)lround(255 * (double)cut((double)x)); }

static aug_image copied(aug_image x)
{
    const aug_image y = aug_host_image(x.h, x.w, x.c);
    memcpy(y.at, x.at, (size_t)(x.h * x.w * x.c) * sizeof(float));
    return y;
}

/* ---- one channel ----------------------------------------------------------------------------- */

static void stretch(aug_image y, int c)
{
    const int pixels = y.h * y.w;
    double least = 2, most = -1;
    for (int i = 0; i < pixels; i++) {
        least = fmin(least, (double)y.at[i * y.c + c]);
        most = fmax(most, (double)y.at[i * y.c + c]);
    }
    for (int i = 0; i < pixels && most > least; i++)
        y.at[i * y.c + c] = (float)(((double)y.at[i * y.c + c] - least) / (most - least));
}

/* The histogram, then the table of new levels: as Pillow's ImageOps.equalize. */
static void equalize(aug_image y, int c)
{
    int histogram[256] = {0}, table[256], most = 0;
    const int pixels = y.h * y.w;
    for (int i = 0; i < pixels; i++)
        histogram[byte_of(y.at[i * y.c + c])]++;
    for (int v = 0; v < 256; v++)
        most = histogram[v] > 0 ? v : most;
    const int step = (pixels - histogram[most]) / 255;
    int sum = step / 2;
    for (int v = 0; v < 256; v++) {
        table[v] = step == 0 ? v : sum / step > 255 ? 255 : sum / step;
        sum += histogram[v];
    }
    for (int i = 0; i < pixels; i++)
        y.at[i * y.c + c] = (float)(table[byte_of(y.at[i * y.c + c])] / 255.0);
}

/* ---- mixtures -------------------------------------------------------------------------------- */

static double gray_of(const aug_image x, int pixel)
{
    const float *v = x.at + pixel * x.c;
    return x.c == 1 ? (double)v[0]
                    : 0.2989 * (double)v[0] + 0.587 * (double)v[1] + 0.114 * (double)v[2];
}

static double smooth(aug_image x, int i, int k, int c)
{
    double sum = 0;
    if (i == 0 || k == 0 || i == x.h - 1 || k == x.w - 1)
        return (double)x.at[(i * x.w + k) * x.c + c];
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++)
            sum +=
                (a == 0 && b == 0 ? 5 : 1) * (double)x.at[((i + a) * x.w + k + b) * x.c + c] / 13;
    return sum;
}

static double other_of(aug_image x, aug_level level, int pixel, int c, double mean)
{
    switch (level) {
    case AUG_SHARPNESS: return smooth(x, pixel / x.w, pixel % x.w, c);
    case AUG_SATURATION: return gray_of(x, pixel);
    case AUG_CONTRAST: return mean;
    default: return 0;
    }
}

static void mix(aug_image x, aug_image y, aug_level level, double factor)
{
    double mean = 0;
    const int pixels = x.h * x.w;
    for (int i = 0; i < pixels; i++)
        mean += gray_of(x, i) / pixels;
    for (int i = 0; i < pixels * x.c; i++) {
        const double other = other_of(x, level, i / x.c, i % x.c, mean);
        y.at[i] = cut(factor * (double)x.at[i] + (1 - factor) * other);
    }
}

aug_image aug_host_level(aug_image x, aug_level level, double number)
{
    const aug_image y = copied(x);
    if (level >= AUG_SHARPNESS)
        mix(x, y, level, number);
    for (int c = 0; c < x.c && level == AUG_AUTOCONTRAST; c++)
        stretch(y, c);
    for (int c = 0; c < x.c && level == AUG_EQUALIZE; c++)
        equalize(y, c);
    for (int i = 0; i < x.h * x.w * x.c; i++) {
        const int byte = byte_of(x.at[i]);
        if (level == AUG_INVERT || (level == AUG_SOLARIZE && byte >= number))
            y.at[i] = 1 - x.at[i];
        if (level == AUG_POSTERIZE)
            y.at[i] = (float)((byte & (0xff << (8 - (int)number))) / 255.0);
    }
    return y;
}

aug_image aug_host_level_at(aug_image x, const aug_draw *d, const char *purpose, float p,
                            aug_level level, double number)
{
    return aug_host_uniform(d, purpose, 1, 0) < p ? aug_host_level(x, level, number) : copied(x);
}

/* ---- policies -------------------------------------------------------------------------------- */

static double pixel_or(aug_image x, double row, double column, int c, double fill)
{
    if (row < 0 || column < 0 || row >= x.h || column >= x.w)
        return fill;
    return (double)x.at[((int)row * x.w + (int)column) * x.c + c];
}

aug_image aug_host_sample(aug_image x, const double map[6], double fill, bool is_linear)
{
    const aug_image y = aug_host_image(x.h, x.w, x.c);
    for (int i = 0; i < x.h * x.w * x.c; i++) {
        const int c = i % x.c;
        const double u = i / x.c % x.w + 0.5 - x.w / 2.0, v = i / x.c / x.w + 0.5 - x.h / 2.0;
        const double column = map[0] * u + map[1] * v + map[2] + x.w / 2.0 - 0.5;
        const double row = map[3] * u + map[4] * v + map[5] + x.h / 2.0 - 0.5;
        const double top = floor(row), left = floor(column), r = row - top, s = column - left;
        const double upper =
            (1 - s) * pixel_or(x, top, left, c, fill) + s * pixel_or(x, top, left + 1, c, fill);
        const double lower = (1 - s) * pixel_or(x, top + 1, left, c, fill) +
                             s * pixel_or(x, top + 1, left + 1, c, fill);
        y.at[i] = (float)(is_linear ? (1 - r) * upper + r * lower
                                    : pixel_or(x, floor(row + 0.5), floor(column + 0.5), c, fill));
    }
    return y;
}

/* The ranges of a policy. */
typedef struct space {
    double shear, translate_x, translate_y, rotate, color, bits, fill;
    bool is_linear;
} space;

/* Operation k with magnitude number `bin` of 31 and a sign. */
static aug_image operated(aug_image x, int k, int bin, double sign, const space *s)
{
    const double part = bin / 30.0, m = sign * part;
    const double angle = k == 5 ? m * s->rotate * acos(-1) / 180 : 0;
    const double a = k == 1 ? m * s->shear : 0, b = k == 2 ? m * s->shear : 0;
    const double t = k == 3 ? sign * (int)(s->translate_x * bin / 30) : 0;
    const double v = k == 4 ? sign * (int)(s->translate_y * bin / 30) : 0;
    const double map[6] = {cos(angle),     a - sin(angle), a * x.h / 2 - t,
                           b + sin(angle), cos(angle),     b * x.w / 2 - v};
    static const aug_level levels[] = {AUG_BRIGHTNESS,   AUG_SATURATION, AUG_CONTRAST,
                                       AUG_SHARPNESS,    AUG_POSTERIZE,  AUG_SOLARIZE,
                                       AUG_AUTOCONTRAST, AUG_EQUALIZE};
    double number = 1 + m * s->color;
    if (k == 10)
        number = 8 - rint(part * s->bits);
    else if (k == 11)
        number = 255 - 8.5 * bin;
    return k < 6 ? aug_host_sample(x, map, s->fill, s->is_linear)
                 : aug_host_level(x, levels[k - 6], number);
}

static int below(float u, int n)
{
    const int k = (int)floorf(u * (float)n);
    return k < n ? k : n - 1;
}

aug_image aug_host_rand_augment(aug_image x, const aug_draw *d, int operations, int magnitude,
                                double fill, bool is_linear)
{
    static const char name[] = "rand_augment";
    const space s = {0.3, 150.0 / 331 * x.w, 150.0 / 331 * x.h, 30, 0.9, 4, fill, is_linear};
    aug_image y = copied(x);
    for (int i = 0; i < operations; i++) {
        const int k = below(aug_host_uniform(d, name, 2 * operations, 2 * i), 14);
        const double sign = aug_host_uniform(d, name, 2 * operations, 2 * i + 1) < 0.5F ? -1 : 1;
        const aug_image next = operated(y, k, magnitude, sign, &s);
        aug_host_free(y);
        y = next;
    }
    return y;
}

aug_image aug_host_trivial_augment(aug_image x, const aug_draw *d, double fill, bool is_linear)
{
    static const char name[] = "trivial_augment";
    const space s = {0.99, 32, 32, 135, 0.99, 6, fill, is_linear};
    return operated(x, below(aug_host_uniform(d, name, 3, 0), 14),
                    below(aug_host_uniform(d, name, 3, 1), 31),
                    aug_host_uniform(d, name, 3, 2) < 0.5F ? -1 : 1, &s);
}

/* ---- mixtures -------------------------------------------------------------------------------- */

/* Beta(alpha, alpha) out of a number of Student's distribution with 2 alpha degrees of freedom. */
static double beta(double u, double v, double alpha)
{
    const double freedom = 2 * alpha;
    const double t = sqrt(freedom * (pow(u, -2 / freedom) - 1)) * cos(2 * acos(-1) * v);
    return isinf(t) ? t > 0 : 0.5 + 0.5 * t / hypot(sqrt(freedom), t);
}

/* The box: first and last edge along an axis. */
static void edges(double place, double side, int extent, int out[2])
{
    const int center = (int)floor(place * extent), half = (int)floor(side / 2 * extent);
    out[0] = center - half > 0 ? center - half : 0;
    out[1] = center + half < extent ? center + half : extent;
}

aug_image aug_host_mix(aug_image x, aug_image next, const aug_draw *d, bool is_box, double alpha,
                       double p, double *weight)
{
    double u[5];
    int rows[2], columns[2];
    const aug_image y = copied(x);
    const int count = is_box ? 5 : 3;
    for (int i = 0; i < count; i++)
        u[i] = (double)aug_host_uniform(d, is_box ? "cutmix" : "mixup", count, i);
    *weight = u[2] < p ? beta(u[0], u[1], alpha) : 1;
    for (int i = 0; i < x.h * x.w * x.c && !is_box; i++)
        y.at[i] = (float)(*weight * (double)x.at[i] + (1 - *weight) * (double)next.at[i]);
    if (!is_box)
        return y;
    edges(u[3], sqrt(1 - *weight), x.h, rows);
    edges(u[4], sqrt(1 - *weight), x.w, columns);
    for (int i = rows[0]; i < rows[1]; i++)
        for (int k = columns[0]; k < columns[1]; k++)
            memcpy(y.at + (i * x.w + k) * x.c, next.at + (i * x.w + k) * x.c,
                   (size_t)x.c * sizeof(float));
    *weight = 1 - (rows[1] - rows[0]) * (columns[1] - columns[0]) / (double)(x.h * x.w);
    return y;
}
