/* jpeg_common.h - libjpeg's error handling and source of bytes, for all files that use it.
 *
 * An error of libjpeg becomes an fg_error and a longjmp to `errors.jump`, so call libjpeg as in
 *
 *     if (setjmp(errors.jump) != 0) {
 *         jpeg_abort_decompress(&info);
 *         return errors.status;
 *     }
 *
 * in a function without other resources: everything that must survive is in a struct of the caller.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_COMMON_H
#define FGI_IMAGE_JPEG_COMMON_H

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include "image/codec.h"

typedef struct fgi_jpeg_errors {
    struct jpeg_error_mgr base; /* first: libjpeg passes a pointer to it */
    jmp_buf jump;
    const char *name;  /* of the file, for messages */
    bool is_tolerant;  /* corrupt data are a warning, not an error */
    char warning[200]; /* the first one; "": none. Some are never errors (jpeg_common.c) */
    bool is_corrupt;   /* there was a warning that is an error unless is_tolerant */
    fg_error *err;
    fg_status status;
} fgi_jpeg_errors;

/* Fills `errors` and returns what info.err must point to. Set name, is_tolerant and err, and clear
 * the warnings, before each file. */
struct jpeg_error_mgr *fgi_jpeg_errors_init(fgi_jpeg_errors *errors);

/* Leaves libjpeg: longjmp to errors->jump with this status. errors->err must be filled in. */
_Noreturn void fgi_jpeg_leave(fgi_jpeg_errors *errors, fg_status status);

/* Bytes in memory. When they end before the image does, that is an error or, if is_tolerant, a
 * warning and the end of the image. */
typedef struct fgi_jpeg_source {
    struct jpeg_source_mgr base;
    const fgi_image_file *file;
} fgi_jpeg_source;

/* Makes `info` read the file, from its first byte. */
void fgi_jpeg_source_set(j_decompress_ptr info, fgi_jpeg_source *source,
                         const fgi_image_file *file);

/* The position of `info` in the file; approximate within entropy-coded data. */
size_t fgi_jpeg_offset(j_decompress_ptr info);

/* Limits the number of scans of a progressive file: each one visits all blocks of the image and can
 * be a few bytes long. `progress` must live as long as `info`. */
void fgi_jpeg_limit_scans(j_decompress_ptr info, struct jpeg_progress_mgr *progress);

#endif
