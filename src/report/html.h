/* html.h - the parts of a page that stands alone: no script, nothing from the network. What is
 * written is HTML that is well-formed XML too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_HTML_H
#define FGI_REPORT_HTML_H

#include "report/helpers.h"

/* Everything before the first heading, and after the last table. */
void fgi_html_begin(FILE *out, const char *title);
void fgi_html_end(FILE *out);

/* Text, with what means something in HTML escaped and what XML cannot hold replaced. */
void fgi_html_text(FILE *out, const char *text);
/* <tag>text</tag> */
void fgi_html_element(FILE *out, const char *tag, const char *text);
/* A bar of this share (0 to 1) of a cell's width, as a cell of its own. */
void fgi_html_bar_cell(FILE *out, double fraction);
/* An SVG document as an image: it cannot run anything or reach the page around it. */
void fgi_html_image(FILE *out, const char *svg, const char *words);

#endif
