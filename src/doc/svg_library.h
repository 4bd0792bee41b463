/* svg_library.h - pixels of an SVG document, with librsvg.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DOC_SVG_LIBRARY_H
#define FGI_DOC_SVG_LIBRARY_H

#include <fulgurite/base.h>

#include "base/buf.h"

/* Appends the document as a PNG file of that width. Errors: FG_ENOTFOUND (librsvg is not
 * installed), FG_EFORMAT (it refuses the document), FG_ENOMEM. Thread-safe. */
fg_status fgi_svg_to_png(const char *svg, size_t size, int width, fgi_buf *out, fg_error *err);

#endif
