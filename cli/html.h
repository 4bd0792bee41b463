/* html.h - the parts of a page that stands alone: no script, nothing from the network. What is
 * written is HTML that is well-formed XML too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HTML_H
#define HTML_H

#include "cli.h"

/* Everything before the first heading, and after the last table. */
void html_begin(FILE *out, const char *title);
void html_end(FILE *out);

/* Text, with what means something in HTML escaped and what XML cannot hold replaced. */
void html_text(FILE *out, const char *text);
/* <tag>text</tag> */
void html_element(FILE *out, const char *tag, const char *text);
/* A bar of this share (0 to 1) of a cell's width, as a cell of its own. */
void html_bar_cell(FILE *out, double share);
/* An SVG document as an image: it cannot run anything or reach the page around it. */
void html_image(FILE *out, const char *svg, const char *words);

#endif
