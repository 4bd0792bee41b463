/* png_common.c - libpng's callbacks for errors and memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/png_common.h"

#include "base/alloc.h"
#include "base/error.h"

void fgi_png_leave(png_structp png, fg_status status)
{
    fgi_png *self = png_get_error_ptr(png);
    self->status = status;
    png_longjmp(png, 1);
}

void fgi_png_on_error(png_structp png, png_const_charp message)
{
    fgi_png *self = png_get_error_ptr(png);
    if (self->is_out_of_memory)
        fgi_png_leave(png, fgi_no_memory(self->err));
    if (self->file == NULL)
        fgi_png_leave(png, fgi_fail(self->err, FG_EINVAL,
                                    "fg_image_encode_png: libpng reports '%s'", message));
    fgi_png_leave(png, fgi_fail(self->err, FG_EFORMAT, "%s: byte %zu: libpng reports '%s'",
                                self->file->name, self->offset, message));
}

/* Defects of metadata, which is not used. */
void fgi_png_on_warning(png_structp png, png_const_charp message) {}

png_voidp fgi_png_alloc(png_structp png, png_alloc_size_t size)
{
    fgi_png *self = png_get_mem_ptr(png);
    void *block = fgi_alloc(size);
    self->is_out_of_memory |= block == NULL;
    return block;
}

void fgi_png_free(png_structp png, png_voidp block) { fgi_free(block); }
