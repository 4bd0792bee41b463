/* html.h - the parts of a page that stands alone: no script, nothing from the network. What is
 * written is HTML that is well-formed XML too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_HTML_H
#define FGI_REPORT_HTML_H

#include "report/helpers.h"
#include "base/buf.h"

/* Everything before the first heading, and after the last table. */
void fgi_html_begin(fgi_buf *out, const char *title);
void fgi_html_end(fgi_buf *out);

/* Text, with what means something in HTML escaped and what XML cannot hold replaced. */
void fgi_html_text(fgi_buf *out, const char *text);
/* <tag>text</tag> */
void fgi_html_element(fgi_buf *out, const char *tag, const char *text);
/* A table cell with a bar of this fraction (0 to 1) of its width. */
void fgi_html_bar_cell(fgi_buf *out, double fraction);
/* An SVG document as an image: it cannot run anything or reach the page around it. */
void fgi_html_image(fgi_buf *out, const char *svg, const char *words);

#endif
