/* html.c - see html.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"
#include "base/print.h"

#include <string.h>

static const char style[] =
    "body{font:16px/1.5 sans-serif;color:#1c1c1c;background:#fff;max-width:62rem;margin:2rem auto;"
    "padding:0 1rem}\n"
    "h1{font-size:1.6rem}h2{font-size:1.3rem;margin-top:2.5rem;border-top:1px solid #bbb;"
    "padding-top:1rem}h3{font-size:1.05rem;margin-bottom:.3rem}\n"
    "table{border-collapse:collapse;margin:.5rem 0;font-size:.9rem}\n"
    "th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}\n"
    "td.n,th.n{text-align:right;white-space:nowrap}\n"
    "td.bar{vertical-align:middle}td.bar div{width:9rem}td.bar div "
    "div{background:#3667a6;height:.8rem}\n"
    ".stack{height:1.6rem;background:#eee;width:100%;overflow:hidden;border:1px solid #999}\n"
    ".stack div{float:left;height:100%}.key{display:inline-block;width:.8rem;height:.8rem;"
    "margin-right:.4rem}\n"
    ".good,.bad,.note{white-space:nowrap}p.note{white-space:normal}.good{color:#1b5e20;font-weight:"
    "bold}.bad{color:#b71c1c;font-weight:bold}\n"
    ".note{color:#555}img{width:30rem;max-width:100%}\n";

void fgi_html_begin(fgi_buf *out, const char *title)
{
    fgi_buf_puts(out, "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
                      "<head>\n<meta charset=\"utf-8\"/>\n"
                      "<meta name=\"viewport\" content=\"width=device-width\"/>\n");
    fgi_html_element(out, "title", title);
    fgi_buf_printf(out, "<style>\n%s</style>\n</head>\n<body>\n", style);
    fgi_html_element(out, "h1", title);
}

void fgi_html_end(fgi_buf *out) { fgi_buf_puts(out, "</body>\n</html>\n"); }

static bool is_not_xml(const unsigned char *at)
{
    if (*at < ' ')
        return *at != '\n' && *at != '\t';
    return at[0] == 0xef && at[1] == 0xbf && (at[2] == 0xbe || at[2] == 0xbf);
}

void fgi_html_text(fgi_buf *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (is_not_xml(at)) {
            fgi_buf_puts(out, "\xef\xbf\xbd"); /* the replacement character */
            at += *at < ' ' ? 0 : 2;
        } else if (*at == '<') {
            fgi_buf_puts(out, "&lt;");
        } else if (*at == '>') {
            fgi_buf_puts(out, "&gt;");
        } else if (*at == '&') {
            fgi_buf_puts(out, "&amp;");
        } else if (*at == '"') {
            fgi_buf_puts(out, "&quot;");
        } else if (*at == '\'') {
            fgi_buf_puts(out, "&#39;");
        } else {
            fgi_buf_putc(out, *at);
        }
    }
}

void fgi_html_element(fgi_buf *out, const char *tag, const char *text)
{
    fgi_buf_printf(out, "<%s>", tag);
    fgi_html_text(out, text);
    fgi_buf_printf(out, "</%s>\n", tag);
}

void fgi_html_bar_cell(fgi_buf *out, double fraction)
{
    const double part = fraction > 1 ? 1 : fraction > 0 ? fraction : 0;
    fgi_buf_printf(out, "<td class=\"bar\"><div><div style=\"width:%.1f%%\"></div></div></td>",
                   100 * part);
}

void fgi_html_image(fgi_buf *out, const char *svg, const char *words)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    fgi_buf_puts(out, "<img alt=\"");
    fgi_html_text(out, words);
    fgi_buf_puts(out, "\" src=\"data:image/svg+xml,");
    for (const unsigned char *at = (const unsigned char *)svg; *at != '\0'; at++)
        if (strchr(plain, *at) != NULL)
            fgi_buf_putc(out, *at);
        else
            fgi_buf_printf(out, "%%%02X", *at);
    fgi_buf_puts(out, "\"/>\n");
}
