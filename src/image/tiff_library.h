/* tiff_library.h - libtiff, which is loaded when the first TIFF file is read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_IMAGE_TIFF_LIBRARY_H
#define FGI_IMAGE_TIFF_LIBRARY_H

#include <tiffio.h>

/* The functions that are used, named as in libtiff without the prefix. */
typedef struct fgi_tiff_library {
    TIFFOpenOptions *(*open_options_alloc)(void);
    void (*open_options_free)(TIFFOpenOptions *);
    void (*set_max_alloc)(TIFFOpenOptions *, tmsize_t);
    void (*set_error_handler)(TIFFOpenOptions *, TIFFErrorHandlerExtR, void *);
    void (*set_warning_handler)(TIFFOpenOptions *, TIFFErrorHandlerExtR, void *);
    TIFF *(*client_open)(const char *, const char *, thandle_t, TIFFReadWriteProc,
                         TIFFReadWriteProc, TIFFSeekProc, TIFFCloseProc, TIFFSizeProc,
                         TIFFMapFileProc, TIFFUnmapFileProc, TIFFOpenOptions *);
    void (*close)(TIFF *);
    int (*get_field)(TIFF *, uint32_t, ...);
    int (*get_field_defaulted)(TIFF *, uint32_t, ...);
    int (*image_begin)(TIFFRGBAImage *, TIFF *, int, char[1024]);
    int (*image_get)(TIFFRGBAImage *, uint32_t *, uint32_t, uint32_t);
    void (*image_end)(TIFFRGBAImage *);
} fgi_tiff_library;

/* NULL if libtiff 4.5 or newer is not installed. Thread-safe. */
const fgi_tiff_library *fgi_tiff_library_load(void);

#endif
