/* presize.h - sizes of presized images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_PRESIZE_H
#define FGI_IMAGE_PRESIZE_H

#include <fulgurite/image.h>

/* What becomes of an image: it is resized, then cropped around its center. */
typedef struct fgi_presize_plan {
    int64_t resized_width, resized_height;
    int64_t width, height; /* after cropping */
} fgi_presize_plan;

/* FG_EINVAL if the rule is invalid. */
fg_status fgi_presize_plan_make(const fg_image_presize *presize, double width, double height,
                                fgi_presize_plan *out, fg_error *err);
/* Applies the plan to the region of the image. */
fg_status fgi_presize_apply(fg_image_decoder *decoder, const fgi_presize_plan *plan,
                            const fg_image *image, fg_image *out, fg_error *err);

#endif
