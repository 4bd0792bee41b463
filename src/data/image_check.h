/* image_check.h - looks at the beginnings and ends of image files ahead of training, or decodes
 * them, so that a damaged file is found before the first step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_IMAGE_CHECK_H
#define FGI_DATA_IMAGE_CHECK_H

#include <fulgurite/images.h>
#include "catalog/draft.h"

/* Receives lines about a check; NULL: they are logged. */
typedef struct fgi_image_listener {
    fg_log_fn *say;
    void *self;
    bool is_fit; /* errors of damaged files say how to find them before training */
} fgi_image_listener;

/* A file that is not a complete image, or cannot be read. Called by several threads, one at a time.
 */
typedef void fgi_image_bad_fn(void *self, int64_t row, const fg_error *why);

typedef struct fgi_image_check_options {
    const fg_catalog *catalog;
    const int64_t *items; /* of the catalog, in the order of rows; NULL: all */
    int64_t count;        /* of rows */
    double seconds;       /* that it may take; 0: without a limit */
    double say_every_s;   /* between lines about the progress of decoding; 0: 5 */
    bool is_tolerant;     /* of corrupt JPEGs */
    fg_status (*decode)(void *self, int64_t row, fg_error *err); /* NULL: only the ends are read */
    fgi_image_bad_fn *bad;
    void *self;
    fgi_image_listener listener;
} fgi_image_check_options;

/* Reads the first and the last bytes of each file, and the whole file only if its image does not
 * end there; or decodes each file, with lines about the progress. Of more files
 * than the time allows, those that are checked are evenly spread. *out_checked: how many. Errors:
 * FG_ENOMEM, threads. */
fg_status fgi_image_check_files(const fgi_image_check_options *options, int64_t *out_checked,
                                fg_error *err);

void fgi_image_say(const fgi_image_listener *listener, fg_log_level level, const char *format, ...)
    FG_PRINTF(3, 4);

/* fg_images_create whose check has a listener. */
fg_status fgi_images_create(fg_catalog *catalog, const fg_images_options *options,
                            const fgi_image_listener *listener, fg_dataset **out, fg_error *err);

#endif
