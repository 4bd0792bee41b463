/* png_common.h - libpng's error handling and memory.
 *
 * An error of libpng becomes an fg_error and a longjmp; call libpng after
 * `if (setjmp(png_jmpbuf(png)) != 0)`, in a function without other resources.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_PNG_COMMON_H
#define FGI_IMAGE_PNG_COMMON_H

#include <png.h>
#include "image/codec.h"

typedef struct fgi_png {
    const fgi_image_file *file; /* what is read; NULL when writing */
    size_t offset;              /* of the next byte to be read */
    bool is_out_of_memory;
    fg_error *err;
    fg_status status;
} fgi_png;

/* Callbacks for png_create_read_struct_2 and png_create_write_struct_2; their pointers are an
 * fgi_png. */
void fgi_png_on_error(png_structp png, png_const_charp message);
void fgi_png_on_warning(png_structp png, png_const_charp message);
png_voidp fgi_png_alloc(png_structp png, png_alloc_size_t size);
void fgi_png_free(png_structp png, png_voidp block);

/* Leaves libpng with this status, whose error is already filled in. */
void fgi_png_leave(png_structp png, fg_status status);

#endif
