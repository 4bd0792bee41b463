/* presize.c - rules for the size at which images are stored: parsing them, and applying them with
 * one interpolation. The sizes are those of torchvision's Resize and CenterCrop.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/presize.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/reserved.h"
#include "base/text.h"
#include "image/resize.h"

enum { LARGEST = 65535 };

/* ---- text ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    fg_image_presize_rule rule;
} rules[] = {{"short=", FG_IMAGE_PRESIZE_SHORT},
             {"max=", FG_IMAGE_PRESIZE_MAX},
             {"square=", FG_IMAGE_PRESIZE_SQUARE}};

static fg_status not_a_rule(const char *text, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL,
                    "expected 'none' or a rule such as 'short=256', 'max=400', 'square=224' or "
                    "'square=224,upscale', with a size of 1 to %d, got '%s'",
                    LARGEST, text);
}

/* "256" or "256,upscale" */
static bool parse_size(const char *text, fg_image_presize *out)
{
    static const char upscale[] = ",upscale";
    fgi_str number = fgi_str_of(text);
    const size_t length = sizeof upscale - 1;
    if (number.size > length && strcmp(text + number.size - length, upscale) == 0) {
        out->upscale = true;
        number.size -= length;
    }
    return number.size > 0 && number.data[0] >= '0' && number.data[0] <= '9' &&
           fgi_parse_i64(number, &out->size) && out->size >= 1 && out->size <= LARGEST;
}

fg_status fg_image_presize_parse(const char *text, fg_image_presize *out, fg_error *err)
{
    *out = (fg_image_presize){0};
    if (strcmp(text, "none") == 0)
        return FG_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const size_t length = strlen(rules[i].name);
        if (strncmp(text, rules[i].name, length) != 0 || !parse_size(text + length, out))
            continue;
        out->rule = rules[i].rule;
        return FG_OK;
    }
    *out = (fg_image_presize){0};
    return not_a_rule(text, err);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static fg_status check(const fg_image_presize *presize, fg_error *err)
{
    FGI_TRY_RESERVED(fg_image_presize, presize, err);
    const bool is_rule =
        presize->rule >= FG_IMAGE_PRESIZE_NONE && presize->rule <= FG_IMAGE_PRESIZE_SQUARE;
    const bool has_size = presize->size >= 1 && presize->size <= LARGEST;
    if (is_rule && (has_size || presize->rule == FG_IMAGE_PRESIZE_NONE))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "fg_image_presize: expected a rule and a size of 1 to %d, got %d and %" PRId64,
                    LARGEST, (int)presize->rule, presize->size);
}

static int64_t at_least_1(double value) { return value < 1 ? 1 : (int64_t)value; }

fg_status fgi_presize_plan_make(const fg_image_presize *presize, double width, double height,
                                fgi_presize_plan *out, fg_error *err)
{
    FGI_TRY(check(presize, err));
    const bool is_max = presize->rule == FG_IMAGE_PRESIZE_MAX;
    const double given = (width < height) != is_max ? width : height; /* side of the rule's size */
    const double size = (double)presize->size;
    *out = (fgi_presize_plan){at_least_1(width), at_least_1(height), 0, 0};
    if (presize->rule != FG_IMAGE_PRESIZE_NONE && (given > size || presize->upscale)) {
        out->resized_width = width == given ? presize->size : at_least_1(size * width / given);
        out->resized_height = height == given ? presize->size : at_least_1(size * height / given);
    }
    out->width = out->resized_width;
    out->height = out->resized_height;
    if (presize->rule == FG_IMAGE_PRESIZE_SQUARE)
        out->width = out->height = out->width < out->height ? out->width : out->height;
    return FG_OK;
}

fg_status fg_image_presize_size(const fg_image_presize *presize, int64_t *width, int64_t *height,
                                fg_error *err)
{
    fgi_presize_plan plan = {0};
    fg_status status =
        *width < 1 || *height < 1
            ? fgi_fail(err, FG_EINVAL,
                       "fg_image_presize_size: expected a size of at least 1x1, got %" PRId64
                       "x%" PRId64,
                       *width, *height)
            : fgi_presize_plan_make(presize, (double)*width, (double)*height, &plan, err);
    *width = plan.width;
    *height = plan.height;
    return status;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* The pixels in front of a centered crop: half of what is cut off, rounded half to even as Python's
 * round and so torchvision's CenterCrop do. */
static int64_t half_of(int64_t cut) { return (cut + (cut / 2) % 2) / 2; }

fg_status fgi_presize_apply(fg_image_decoder *decoder, const fgi_presize_plan *plan,
                            const fg_image *image, fg_image *out, fg_error *err)
{
    FGI_TRY(fg_image_reserve(out, plan->width, plan->height, image->channels, err));
    const fg_image_box all = image->region;
    const double dx = all.width / (double)plan->resized_width;
    const double dy = all.height / (double)plan->resized_height;
    const int64_t left = half_of(plan->resized_width - plan->width);
    const int64_t top = half_of(plan->resized_height - plan->height);
    const fgi_resize resize = {
        .box = {all.x + dx * (double)left, all.y + dy * (double)top, dx * (double)plan->width,
                dy * (double)plan->height},
        .within = all,
        .width = plan->width,
        .height = plan->height,
        .out = out->pixels,
    };
    return fgi_image_resize(decoder, image, &resize, err);
}
