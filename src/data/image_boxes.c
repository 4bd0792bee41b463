/* image_boxes.c - boxes in the middle of an image and random ones, from uniform numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/image_boxes.h"

#include <math.h>

enum { TRIES = 10, FIRST_RATIO = TRIES, PLACE = 2 * TRIES };

fg_image_box fgi_center_box(int64_t width, int64_t height, double ratio, double fraction)
{
    double w = (double)width, h = (double)height;
    if (w > h * ratio)
        w = h * ratio;
    else
        h = w / ratio;
    w *= fraction;
    h *= fraction;
    return (fg_image_box){
        .x = ((double)width - w) / 2, .y = ((double)height - h) / 2, .width = w, .height = h};
}

/* Uniform in [low, high), by counter i. */
static double between(fgi_key key, uint64_t i, double low, double high)
{
    return low + (high - low) * (double)fgi_rng_uniform(key, i);
}

/* Uniform among 0..n-1, by counter i. */
static double below(fgi_key key, uint64_t i, double n)
{
    return fmin(floor((double)fgi_rng_uniform(key, i) * n), n - 1);
}

/* The middle box of whole pixels for an image in which no random box fits. */
static fg_image_box fallback(double width, double height, const fgi_box_limits *limits)
{
    const double ratio = fmin(fmax(width / height, limits->ratio_min), limits->ratio_max);
    double w = width, h = height;
    if (w > h * ratio)
        w = fmax(floor(h * ratio + 0.5), 1);
    else
        h = fmin(fmax(floor(w / ratio + 0.5), 1), height);
    return (fg_image_box){
        .x = floor((width - w) / 2), .y = floor((height - h) / 2), .width = w, .height = h};
}

fg_image_box fgi_random_box(fgi_key key, int64_t width, int64_t height,
                            const fgi_box_limits *limits)
{
    const double image_w = (double)width, image_h = (double)height, area = image_w * image_h;
    for (uint64_t i = 0; i < TRIES; i++) {
        const double scale = area * between(key, i, limits->scale_min, limits->scale_max);
        const double ratio =
            exp(between(key, FIRST_RATIO + i, log(limits->ratio_min), log(limits->ratio_max)));
        const double w = floor(sqrt(scale * ratio) + 0.5), h = floor(sqrt(scale / ratio) + 0.5);
        if (w >= 1 && h >= 1 && w <= image_w && h <= image_h)
            return (fg_image_box){.x = below(key, PLACE, image_w - w + 1),
                                  .y = below(key, PLACE + 1, image_h - h + 1),
                                  .width = w,
                                  .height = h};
    }
    return fallback(image_w, image_h, limits);
}

fg_image_box fgi_window_box(fgi_key key, int64_t width, int64_t height, int64_t out_width,
                            int64_t out_height)
{
    const double image_w = (double)width, image_h = (double)height;
    double w = (double)out_width, h = (double)out_height;
    const double scale = fmin(fmin(image_w / w, image_h / h), 1);
    w = fmin(w * scale, image_w);
    h = fmin(h * scale, image_h);
    return (fg_image_box){.x = below(key, PLACE, floor(image_w - w) + 1),
                          .y = below(key, PLACE + 1, floor(image_h - h) + 1),
                          .width = w,
                          .height = h};
}
