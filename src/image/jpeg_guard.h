/* jpeg_guard.h - runs a function that calls libjpeg, so that no other code needs setjmp; and the
 * destination of compressed bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_JPEG_GUARD_H
#define FGI_IMAGE_JPEG_GUARD_H

#include <fulgurite/base.h>
#include "base/buf.h"
#include "image/jpeg_common.h"

/* More than this is refused: libjpeg allocates memory for the size that the header claims. */
#define FGI_JPEG_MAX_PIXELS ((int64_t)1 << 28)

/* Shared by the libjpeg objects of one task. One thread at a time; must not move while in use. */
typedef struct fgi_jpeg_guard {
    fgi_jpeg_errors errors; /* first: libjpeg gets a pointer to it */
    fgi_jpeg_source source;
    fgi_image_file file;
    struct jpeg_progress_mgr progress;
    struct jpeg_destination_mgr destination;
    fgi_buf *out; /* of a compressor */
    JOCTET chunk[4096];
} fgi_jpeg_guard;

/* Creates a decompressor or a compressor that reports to the guard. FG_ENOMEM. Call
 * jpeg_destroy_decompress or jpeg_destroy_compress; both accept an object that is all zeros. */
fg_status fgi_jpeg_guard_reader(fgi_jpeg_guard *guard, struct jpeg_decompress_struct *reader,
                                fg_error *err);
fg_status fgi_jpeg_guard_writer(fgi_jpeg_guard *guard, struct jpeg_compress_struct *writer,
                                fg_error *err);

/* Sets the input. The name and the bytes must remain valid while libjpeg reads. */
void fgi_jpeg_guard_input(fgi_jpeg_guard *guard, struct jpeg_decompress_struct *reader,
                          const char *name, const void *bytes, size_t size);
/* Sets the output: bytes are appended to `out`. */
void fgi_jpeg_guard_output(fgi_jpeg_guard *guard, struct jpeg_compress_struct *writer,
                           fgi_buf *out);

/* Calls fn(self), which may call libjpeg. If libjpeg fails, fn is left at once (it must not own
 * anything) and the error is returned: FG_EFORMAT "name: byte N: ...", FG_ENOMEM; FG_EINVAL from a
 * compressor. Damaged data is an error. */
fg_status fgi_jpeg_guard_run(fgi_jpeg_guard *guard, const char *name, void (*fn)(void *),
                             void *self, fg_error *err);

/* Inside fn: leaves it with this status; *guard->errors.err must already be filled in. */
_Noreturn void fgi_jpeg_guard_leave(fgi_jpeg_guard *guard, fg_status status);

/* Inside fn: reads the header and refuses sizes over FGI_JPEG_MAX_PIXELS. */
void fgi_jpeg_guard_header(fgi_jpeg_guard *guard, struct jpeg_decompress_struct *reader);

#endif
