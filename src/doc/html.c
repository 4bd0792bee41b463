/* html.c - see html.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "doc/html.h"
#include "base/print.h"
#include "doc/chart.h"

#include <math.h>
#include <string.h>

/* Colors with a contrast of at least 4.5 to the background, 3 for bars. Those of curves are in
 * fgi_chart_style. */
static const char colors[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c1c1c;--soft:#555;--line:#d4d4d4;--box:#f4f5f7;"
    "--good:#1b5e20;--bad:#b71c1c;--warn:#8a4b00;--bar:#3667a6}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e8e8e8;--soft:#a8b0b8;"
    "--line:#3a4047;--box:#1e2328;--good:#7fd18b;--bad:#ff8a80;--warn:#f0b060;--bar:#7fb0ea}}\n";

static const char style[] =
    "*{box-sizing:border-box}h1,h2,h3,p{overflow-wrap:anywhere}\n"
    "body{font:16px/1.5 sans-serif;color:var(--fg);background:var(--bg);max-width:64rem;"
    "margin:1.5rem auto;padding:0 1rem;overflow-wrap:break-word}\n"
    "h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.3rem;margin-top:2.2rem;border-top:1px "
    "solid var(--line);padding-top:1rem}h3{font-size:1.05rem;margin-bottom:.3rem}\n"
    ".wide{overflow-x:auto;max-width:100%}\n"
    "table{border-collapse:collapse;margin:.5rem 0;font-size:.9rem}\n"
    "th,td{padding:.2rem .7rem;overflow-wrap:anywhere;text-align:left;border-bottom:1px solid "
    "var(--line);"
    "vertical-align:top}\n"
    "td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "td.bar{vertical-align:middle}td.bar div{width:9rem}td.bar div "
    "div{background:var(--bar);height:.8rem}\n"
    ".stack{height:1.6rem;background:var(--box);width:100%;overflow:hidden;border:1px solid "
    "var(--soft)}\n"
    ".stack "
    "div{float:left;height:100%;background:currentColor}.key{display:inline-block;width:.8rem;"
    "height:.8rem;margin-right:.4rem;background:currentColor}\n"
    ".good,.bad,.note{white-space:nowrap}p.note{white-space:normal}.good{color:var(--good);"
    "font-weight:bold}.bad{color:var(--bad);font-weight:bold}.warn{color:var(--warn);"
    "font-weight:bold}\n"
    ".note{color:var(--soft)}img{width:30rem;max-width:100%}\n";

/* Of reports of runs. */
static const char run_style[] =
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem;"
    "margin:1rem 0}.cards div{background:var(--box);padding:.6rem .8rem;border-radius:.4rem}"
    ".cards b{display:block;font-size:1.25rem;line-height:1.3}.cards span{color:var(--soft);"
    "font-size:.85rem}\n"
    ".verdict{border-left:.35rem solid var(--soft);background:var(--box);padding:.5rem "
    ".9rem;margin:.7rem 0;border-radius:0 .4rem .4rem 0}.verdict.high{border-color:var(--bad)}"
    ".verdict.medium{border-color:var(--warn)}.verdict h3,.verdict p{margin:.15rem 0}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));"
    "gap:1rem}figure{margin:0;min-width:0;max-width:34rem}figcaption{font-weight:bold}svg{width:"
    "100%;height:auto;"
    "display:block}\n"
    ".legend{margin:.2rem 0;font-size:.85rem}.legend span{display:inline-block;margin-right:1rem}\n"
    ".matrix td{border:1px solid var(--line)}.matrix td,.matrix th{padding:.15rem .3rem}.matrix th "
    "span{writing-mode:vertical-rl;max-height:9rem;"
    "overflow-wrap:anywhere}.matrix th{text-align:center;vertical-align:bottom}.matrix "
    "td.hit{background:linear-gradient(color-mix(in srgb,var(--good) 35%,var(--bg)) 0 0) no-repeat}"
    ".matrix td.miss{background:linear-gradient(color-mix(in srgb,var(--bad) 35%,var(--bg)) 0 0) "
    "no-repeat}\n"
    ".samples{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.5rem,1fr));gap:.8rem}"
    ".samples img{width:100%;height:8rem;object-fit:contain;image-rendering:pixelated;background:"
    "var(--box)}.samples p{margin:.2rem 0;font-size:.85rem;line-height:1.3}\n"
    "pre{background:var(--box);padding:.8rem;overflow-x:auto;font-size:.85rem}"
    "summary{cursor:pointer}.name{white-space:nowrap}\n"
    "@media (max-width:640px){.matrix td,.matrix th{font-size:.75rem}}\n"
    "@media (max-width:480px){.more{display:none}th,td{padding:.2rem .4rem}"
    ".name{white-space:normal}td.bar div{width:4rem}.matrix td,.matrix th{padding:.1rem "
    ".15rem;font-size:"
    ".7rem}.matrix td:first-child{min-width:4rem}svg "
    "text{font-size:16px}.runs,.runs tbody,.runs tr,.runs td{display:block}.runs tr:first-child{"
    "display:none}.runs td:first-child{font-weight:bold;border:0}.runs td[data-run]{display:flex;"
    "justify-content:space-between;gap:1rem}.runs td[data-run]::before{content:attr(data-run);"
    "color:var(--soft)}}\n";

void fgi_html_begin(fgi_buf *out, const char *title)
{
    fgi_buf_puts(out,
                 "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
                 "<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    fgi_html_element(out, "title", title);
    fgi_buf_printf(out, "<style>\n%s%s%s%s</style>\n</head>\n<body>\n", colors, fgi_chart_style,
                   style, run_style);
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
    static const char marks[] = "<>&\"'";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        const char *mark = strchr(marks, *at);
        if (is_not_xml(at)) {
            fgi_buf_puts(out, "\xef\xbf\xbd"); /* the replacement character */
            at += *at < ' ' ? 0 : 2;
        } else if (mark != NULL) {
            fgi_buf_puts(out, entities[mark - marks]);
        } else {
            fgi_buf_putc(out, (char)*at);
        }
    }
}

void fgi_html_element(fgi_buf *out, const char *tag, const char *text)
{
    fgi_buf_printf(out, "<%s>", tag);
    fgi_html_text(out, text);
    fgi_buf_printf(out, "</%s>\n", tag);
}
