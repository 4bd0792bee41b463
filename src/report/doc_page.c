/* doc_page.c - a document as a page.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/doc.h"
#include "report/html.h"
#include "report/run_view.h"

static void begin(fgi_doc *d, const char *title) { fgi_html_begin(d->out, title); }

static void end(fgi_doc *d) { fgi_html_end(d->out); }

/* Words of which those after "\1class\1" have a style. */
static void put_styled(fgi_buf *out, const char *words)
{
    const char *end = strrchr(words, '\1'), *mark = end;
    while (mark != NULL && mark > words && (mark == end || *mark != '\1'))
        mark--;
    if (end == NULL || *mark != '\1') {
        fgi_html_text(out, words);
        return;
    }
    fgi_buf before = {0};
    fgi_buf_add(&before, words, (size_t)(mark - words));
    fgi_html_text(out, before.data != NULL ? before.data : "");
    fgi_buf_printf(out, "<span class=\"%.*s\">", (int)(end - mark) - 1, mark + 1);
    fgi_html_text(out, end + 1);
    fgi_buf_puts(out, "</span>");
    fgi_buf_fini(&before);
}

static void heading(fgi_doc *d, int level, const char *words)
{
    fgi_buf_printf(d->out, "<h%d>", level);
    put_styled(d->out, words);
    fgi_buf_printf(d->out, "</h%d>\n", level);
}

static void open_group(fgi_doc *d, int group)
{
    static const char *const tags[] = {[FGI_CARDS] = "<div class=\"cards\">\n",
                                       [FGI_PLOTS] = "<div class=\"plots\">\n",
                                       [FGI_LIST] = "<ul>\n",
                                       [FGI_ADVICE] = ""};
    fgi_buf_puts(d->out, tags[group]);
}

static void close_group(fgi_doc *d, int group)
{
    fgi_buf_puts(d->out, group == FGI_LIST ? "</ul>\n" : group == FGI_ADVICE ? "" : "</div>\n");
}

static void say(fgi_doc *d, const char *class, const char *words)
{
    if (class != NULL)
        fgi_buf_printf(d->out, "<p class=\"%s\">", class);
    else
        fgi_buf_puts(d->out, "<p>");
    fgi_html_text(d->out, words);
    fgi_buf_puts(d->out, "</p>\n");
}

static void card(fgi_doc *d, const char *name, const char *words)
{
    fgi_buf_puts(d->out, "<div><b>");
    fgi_html_text(d->out, words);
    fgi_buf_puts(d->out, "</b><span>");
    fgi_html_text(d->out, name);
    fgi_buf_puts(d->out, "</span></div>\n");
}

static void item(fgi_doc *d, const char *words) { fgi_html_element(d->out, "li", words); }

static void advice(fgi_doc *d, const fgi_advice *a)
{
    const bool is_high = *a->severity == 'h', is_medium = *a->severity == 'm';
    fgi_buf_printf(d->out, "<div class=\"verdict%s%s\">\n<h3><span class=\"%s\">%s:</span> ",
                   is_high || is_medium ? " " : "", is_high || is_medium ? a->severity : "",
                   is_high     ? "bad"
                   : is_medium ? "warn"
                               : "note",
                   is_high     ? "High"
                   : is_medium ? "Medium"
                               : "Note");
    fgi_html_text(d->out, a->title);
    fgi_buf_puts(d->out, "</h3>\n");
    fgi_html_element(d->out, "p", a->detail);
    if (*a->action != '\0') {
        fgi_buf_puts(d->out, "<p><b>What to do:</b> ");
        fgi_html_text(d->out, a->action);
        fgi_buf_puts(d->out, "</p>\n");
    }
    if (*a->gain != '\0') {
        fgi_buf_printf(d->out, "<p class=\"note\">%c", *a->gain - 'a' + 'A');
        fgi_html_text(d->out, a->gain + 1);
        fgi_buf_puts(d->out, ".</p>\n");
    }
    fgi_buf_puts(d->out, "</div>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_cell(fgi_buf *out, const fgi_field *f, const json_t *row, double most)
{
    static const char *const styles[] = {"good", "bad", "note"};
    const json_t *value = fgi_field_value(f, row);
    fgi_buf words = {0};
    if (f->kind == FGI_BAR) {
        if (isfinite(fgi_field_number(f, row)))
            fgi_buf_printf(out, "<div><div style=\"width:%.1f%%\"></div></div>",
                           100 * fgi_field_part(f, row, most));
        return;
    }
    fgi_field_put(&words, f, row);
    if (f->kind == FGI_FITS)
        fgi_buf_printf(out, "<span class=\"%s\">",
                       styles[json_is_true(value)    ? 0
                              : json_is_false(value) ? 1
                                                     : 2]);
    if (f->kind == FGI_KEY)
        fgi_buf_printf(out, "<span class=\"key s%.0f\"></span>", fgi_json_number(row, "color"));
    fgi_html_text(out, words.data != NULL ? words.data : "");
    fgi_buf_puts(out, f->kind == FGI_FITS ? "</span>" : "");
    out->failed = out->failed || words.failed;
    fgi_buf_fini(&words);
}

/* <td class="n good" data-run="NAME"> */
static void put_cell_tag(fgi_buf *out, const fgi_field *f, const json_t *row, const char *style,
                         bool has_name)
{
    const char *class = fgi_field_is_number(f)                                     ? "n"
                        : f->kind == FGI_BAR && isfinite(fgi_field_number(f, row)) ? "bar"
                        : f->kind == FGI_KEY                                       ? "name"
                                                                                   : "";
    fgi_buf_puts(out, "<td");
    if (*class != '\0' || *style != '\0')
        fgi_buf_printf(out, " class=\"%s%s%s\"", class, *class != '\0' && *style != '\0' ? " " : "",
                       style);
    if (has_name) {
        fgi_buf_puts(out, " data-run=\"");
        fgi_html_text(out, f->name);
        fgi_buf_putc(out, '"');
    }
    fgi_buf_putc(out, '>');
}

static void put_row(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *row,
                    const json_t *rows)
{
    const char *style = fgi_json_words(row, "class");
    fgi_buf_puts(d->out, "<tr>");
    for (const fgi_field *f = fields; f->name != NULL; f++) {
        if (f->where == FGI_LINES)
            continue;
        put_cell_tag(d->out, f, row, style, class != NULL && *f->name != '\0');
        put_cell(d->out, f, row, f->kind == FGI_BAR ? fgi_field_most(f, rows) : 0);
        fgi_buf_puts(d->out, "</td>");
        style = "";
    }
    fgi_buf_puts(d->out, "</tr>\n");
}

static void put_heads(fgi_buf *out, const fgi_field *fields)
{
    bool has_names = false;
    for (const fgi_field *f = fields; f->name != NULL; f++)
        has_names = has_names || *f->name != '\0';
    if (!has_names)
        return;
    fgi_buf_puts(out, "<tr>");
    for (; fields->name != NULL; fields++) {
        if (fields->where == FGI_LINES)
            continue;
        fgi_buf_puts(out, fgi_field_is_number(fields) ? "<th class=\"n\">" : "<th>");
        fgi_html_text(out, fields->name);
        fgi_buf_puts(out, "</th>");
    }
    fgi_buf_puts(out, "</tr>\n");
}

static void table(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows)
{
    size_t i;
    const json_t *row;
    fgi_buf_printf(d->out, "<div class=\"wide%s%s\"><table>\n", class != NULL ? " " : "",
                   class != NULL ? class : "");
    put_heads(d->out, fields);
    json_array_foreach(rows, i, row) put_row(d, class, fields, row, rows);
    fgi_buf_puts(d->out, "</table></div>\n");
}

const fgi_doc_form fgi_doc_page = {begin, end,  heading, open_group, close_group,
                                   say,   card, item,    table,      advice};
