/* html.h - parts of a self-contained HTML page: no scripts, nothing from the network. The output is
 * HTML that is also well-formed XML.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DOC_HTML_H
#define FGI_DOC_HTML_H

#include "base/buf.h"

/* The start and the end of the page. */
void fgi_html_begin(fgi_buf *out, const char *title);
void fgi_html_end(fgi_buf *out);

/* Text, with HTML escaped and characters that are invalid in XML replaced. */
void fgi_html_text(fgi_buf *out, const char *text);
/* <tag>text</tag> */
void fgi_html_element(fgi_buf *out, const char *tag, const char *text);

#endif
