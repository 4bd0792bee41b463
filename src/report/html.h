/* html.h - parts of a self-contained HTML page: no scripts, nothing from the network. The output is
 * HTML that is also well-formed XML.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_HTML_H
#define FGI_REPORT_HTML_H

#include "report/helpers.h"
#include "base/buf.h"

/* The start and the end of the page. */
void fgi_html_begin(fgi_buf *out, const char *title);
void fgi_html_end(fgi_buf *out);

/* Text, with HTML escaped and characters that are invalid in XML replaced. */
void fgi_html_text(fgi_buf *out, const char *text);
/* <tag>text</tag> */
void fgi_html_element(fgi_buf *out, const char *tag, const char *text);
/* A table with these headings, which end with NULL; those of number columns begin with '#'. heads
 * may be NULL. A table that is wider than the page can be scrolled. */
void fgi_html_table_begin(fgi_buf *out, const char *const *heads);
void fgi_html_table_end(fgi_buf *out);

/* Table cells; those of numbers are empty if the number is unknown. */
void fgi_html_cell(fgi_buf *out, const char *words);
void fgi_html_count_cell(fgi_buf *out, double value);
void fgi_html_number_cell(fgi_buf *out, double value);
void fgi_html_percent_cell(fgi_buf *out, double part, double whole);
void fgi_html_bytes_cell(fgi_buf *out, double bytes);
void fgi_html_time_cell(fgi_buf *out, double seconds);
/* A table cell with a bar of this fraction (0 to 1) of its width. */
void fgi_html_bar_cell(fgi_buf *out, double fraction);

#endif
