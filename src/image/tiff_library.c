/* tiff_library.c - loads libtiff. TIFF is rare in training data, and libtiff brings five more
 * compression libraries and the C++ runtime into a process, so it is not linked. Its header is
 * needed to build, the library only to decode TIFF files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/tiff_library.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/library.h"

static fgi_tiff_library functions;
static bool is_loaded;

static void load(void)
{
    static const char *const names[] = {"libtiff.so.6", NULL};
    static const fgi_library_symbol symbols[] = {
        {"TIFFOpenOptionsAlloc", &functions.open_options_alloc},
        {"TIFFOpenOptionsFree", &functions.open_options_free},
        {"TIFFOpenOptionsSetMaxSingleMemAlloc", &functions.set_max_alloc},
        {"TIFFOpenOptionsSetErrorHandlerExtR", &functions.set_error_handler},
        {"TIFFOpenOptionsSetWarningHandlerExtR", &functions.set_warning_handler},
        {"TIFFClientOpenExt", &functions.client_open},
        {"TIFFClose", &functions.close},
        {"TIFFGetField", &functions.get_field},
        {"TIFFGetFieldDefaulted", &functions.get_field_defaulted},
        {"TIFFRGBAImageBegin", &functions.image_begin},
        {"TIFFRGBAImageGet", &functions.image_get},
        {"TIFFRGBAImageEnd", &functions.image_end},
    };
    is_loaded = fgi_library_load(names, symbols, sizeof(symbols) / sizeof(symbols[0]));
}

const fgi_tiff_library *fgi_tiff_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
