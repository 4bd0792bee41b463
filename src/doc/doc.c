/* doc.c - see doc.h. Blocks hold headings back until something follows them, and open and close the
 * groups of cards, plots and items; one of two forms, lines or a page, writes them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "doc/doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/print.h"
#include "base/text.h"

/* ---- values ---------------------------------------------------------------------------------- */

static const json_t *member(const json_t *row, const char *key, size_t size)
{
    char name[64];
    for (size_t used = 0; used < size && row != NULL;) {
        const size_t length = strcspn(key + used, "./");
        (void)fgi_snprintf(name, sizeof name, "%.*s", (int)length, key + used);
        row = json_is_array(row) ? json_array_get(row, (size_t)strtoul(name, NULL, 10))
                                 : json_object_get(row, name);
        used += length + 1;
    }
    return row;
}

const json_t *fgi_field_value(const fgi_field *field, const json_t *row)
{
    return field->key != NULL ? member(row, field->key, strcspn(field->key, "/")) : NULL;
}

double fgi_field_number(const fgi_field *field, const json_t *row)
{
    const json_t *value = fgi_field_value(field, row);
    const char *whole = field->key != NULL ? strchr(field->key, '/') : NULL;
    const double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    if (whole == NULL)
        return number;
    value = member(row, whole + 1, strlen(whole + 1));
    const double all = json_is_number(value) ? json_number_value(value) : 0;
    return all > 0 ? number / all : (double)NAN;
}

bool fgi_field_is_number(const fgi_field *field)
{
    return field->kind >= FGI_FIGURE && field->kind <= FGI_CELL;
}

void fgi_kind_put(fgi_buf *out, fgi_kind kind, double value)
{
    char words[32];
    if (!isfinite(value))
        return;
    if (kind == FGI_BYTES)
        fgi_buf_puts(out, fgi_bytes_words(value));
    else if (kind == FGI_TIME)
        fgi_buf_puts(out, fgi_duration_words(value, words));
    else if (kind == FGI_PERCENT)
        fgi_buf_printf(out, "%.1f %%", 100 * value);
    else if (kind == FGI_NUMBER && (fabs(value) < 1000 || fabs(value) >= 1e12))
        fgi_buf_printf(out, "%.4g", value);
    else
        fgi_buf_printf(out, kind == FGI_WORDS || kind == FGI_FIGURE ? "%.6g" : "%.0f", value);
}

void fgi_field_put(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    const json_t *value = fgi_field_value(field, row);
    if (field->put != NULL)
        field->put(out, field, row);
    else if (field->kind == FGI_CELL)
        fgi_kind_put(out, FGI_COUNT,
                     json_number_value(value) > 0 ? json_number_value(value) : (double)NAN);
    else if (field->kind == FGI_FITS)
        fgi_buf_puts(out, json_is_true(value)    ? "fits"
                          : json_is_false(value) ? "does not fit"
                                                 : "no verdict");
    else if (json_is_number(value) && field->kind != FGI_BAR)
        fgi_kind_put(out, field->kind == FGI_KEY ? FGI_WORDS : field->kind,
                     fgi_field_number(field, row));
    else if (json_is_string(value))
        fgi_buf_puts(out, json_string_value(value));
}

double fgi_field_part(const fgi_field *field, const json_t *row, double most)
{
    const double part = fgi_field_number(field, row) / most;
    return part > 1 ? 1 : part > 0 ? part : 0;
}

double fgi_field_most(const fgi_field *field, const json_t *rows)
{
    double most = 0;
    size_t i;
    const json_t *row;
    if (strchr(field->key, '/') != NULL)
        return 1;
    json_array_foreach(rows, i, row) most = fmax(most, fgi_field_number(field, row));
    return most;
}

void fgi_put_plain(fgi_buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\n') /* lines of an error */
            fgi_buf_puts(out, "; ");
        else
            fgi_buf_putc(out, (char)((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text));
}

/* ---- forms ----------------------------------------------------------------------------------- */

enum group { NO_GROUP, CARDS, PLOTS, LIST, FACTS, ADVICE };

struct fgi_doc_form {
    void (*begin)(fgi_doc *d, const char *title);
    void (*end)(fgi_doc *d);
    void (*heading)(fgi_doc *d, int level, const char *words);
    void (*open)(fgi_doc *d, int group);
    void (*close)(fgi_doc *d, int group);
    void (*say)(fgi_doc *d, const char *class, const char *words);
    void (*card)(fgi_doc *d, const char *name, const char *words);
    void (*item)(fgi_doc *d, const char *words);
    void (*fact)(fgi_doc *d, const char *name, const char *words);
    void (*table)(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows);
    void (*advice)(fgi_doc *d, const fgi_advice *advice);
};
typedef struct fgi_doc_form form;

/* ---- lines of a terminal --------------------------------------------------------------------- */

enum { COLUMNS = 80, CELL_MOST = 40, LINE_MOST = 4000, CELL_LEAST = 15, BAR = 30, FIELDS = 40 };

static void lines_begin(fgi_doc *d, const char *title)
{
    if (*title == '\0')
        return;
    fgi_put_plain(d->out, title);
    fgi_buf_putc(d->out, '\n');
}

static void lines_end(fgi_doc *d) {}

/* A line below the last heading. */
static void lines_item(fgi_doc *d, const char *words)
{
    fgi_buf_printf(d->out, "%*s", d->indent, "");
    fgi_put_plain(d->out, words);
    fgi_buf_putc(d->out, '\n');
}

static void lines_say(fgi_doc *d, const char *class, const char *words) { lines_item(d, words); }

static void lines_heading(fgi_doc *d, int level, const char *words)
{
    fgi_buf_puts(d->out, level == 2 ? "\n" : "");
    d->indent = 2 * (level - 2);
    lines_item(d, words);
    d->indent += 2;
}

static void lines_open_group(fgi_doc *d, int group) {}

static void lines_close_group(fgi_doc *d, int group)
{
    fgi_buf_puts(d->out, group == CARDS ? "\n" : "");
}

/* "  name value, name value", in as many lines as they need. */
static void lines_card(fgi_doc *d, const char *name, const char *words)
{
    size_t start = d->out->size;
    while (start > 0 && d->out->data[start - 1] != '\n')
        start--;
    const size_t used = d->out->size - start;
    if (d->items > 0 && used + strlen(name) + strlen(words) + 3 <= COLUMNS)
        fgi_buf_puts(d->out, ", ");
    else
        fgi_buf_printf(d->out, "%s%*s", d->items > 0 ? ",\n" : "", d->indent, "");
    fgi_put_plain(d->out, name);
    fgi_buf_putc(d->out, ' ');
    fgi_put_plain(d->out, words);
}

static void lines_fact(fgi_doc *d, const char *name, const char *words)
{
    fgi_buf_printf(d->out, "%*s%-10s", d->indent, "", name);
    fgi_put_plain(d->out, words);
    fgi_buf_putc(d->out, '\n');
}

static void lines_advice(fgi_doc *d, const fgi_advice *a)
{
    const char *const lines[] = {a->detail, a->action};
    fgi_buf_printf(d->out, "%-7s ", a->severity);
    fgi_put_plain(d->out, a->title);
    if (*a->gain != '\0')
        fgi_buf_printf(d->out, " (%s)", a->gain);
    fgi_buf_putc(d->out, '\n');
    for (int i = 0; i < 2; i++)
        if (*lines[i] != '\0') {
            fgi_buf_puts(d->out, i == 0 ? "        " : "        do: ");
            fgi_put_plain(d->out, lines[i]);
            fgi_buf_putc(d->out, '\n');
        }
}

/* ---- tables of lines ------------------------------------------------------------------------- */

typedef struct column {
    const fgi_field *field;
    size_t width;
    double most; /* of bars */
} column;

/* The words of a cell, "-" for a number that is not known and "." for none in a matrix, cut if they
 * are too long; returns their columns. */
static size_t cell_words(fgi_buf *out, const column *c, const json_t *row, size_t most)
{
    fgi_buf raw = {0};
    size_t used = 0;
    fgi_buf_clear(out);
    fgi_field_put(&raw, c->field, row);
    if (c->field->kind == FGI_BAR)
        for (int i = 0; i < (int)lround(BAR * fgi_field_part(c->field, row, c->most)); i++)
            fgi_buf_putc(&raw, '#');
    fgi_put_plain(out, raw.size > 0                    ? raw.data
                       : c->field->kind == FGI_CELL    ? "."
                       : fgi_field_is_number(c->field) ? "-"
                                                       : "");
    fgi_buf_fini_part(&raw, out);
    if (out->data == NULL)
        return 0;
    const size_t all = fgi_text_columns(out->data);
    if (all <= most)
        return all;
    out->size = fgi_text_fit(out->data, most - 1, &used);
    out->data[out->size] = '\0';
    fgi_buf_putc(out, '~');
    return used + 1;
}

static void lines_put_cell(fgi_buf *out, const column *c, const char *words, size_t width,
                           int indent)
{
    const size_t padding = c->width > width ? c->width - width : 0;
    const bool is_right = fgi_field_is_number(c->field);
    fgi_buf_printf(out, "%*s%*s%s%*s", indent, "", is_right ? (int)padding : 0, "", words,
                   is_right ? 0 : (int)padding, "");
}

static size_t find_columns(const fgi_field *fields, const json_t *rows, size_t most, column *out,
                           fgi_buf *cell)
{
    size_t count = 0, i;
    const json_t *row;
    for (; fields->name != NULL && count < FIELDS; fields++) {
        column *c = &out[count];
        if (fields->where == FGI_PAGE)
            continue;
        *c = (column){fields, fgi_text_columns(fields->name), 1};
        if (fields->kind == FGI_BAR)
            c->most = fmax(fgi_field_most(fields, rows), 1e-300);
        json_array_foreach(rows, i, row)
        {
            const size_t width = cell_words(cell, c, row, most);
            c->width = width > c->width ? width : c->width;
        }
        count += c->width > 0;
    }
    return count;
}

/* Makes columns narrower, the widest first, until a line fits. */
static void narrow(column *columns, size_t count)
{
    for (size_t most = CELL_MOST, sum = COLUMNS + 1; most >= CELL_LEAST && sum > COLUMNS; most--) {
        sum = 0;
        for (size_t k = 0; k < count; k++) {
            if (columns[k].field->kind != FGI_BAR && columns[k].width > most)
                columns[k].width = most;
            sum += columns[k].width + 2;
        }
    }
}

static void put_line_end(fgi_buf *out)
{
    fgi_buf_trim(out);
    fgi_buf_putc(out, '\n');
}

/* The names, of which the end is kept if they are too long: they may be paths. */
static void lines_put_heads(fgi_buf *out, const column *columns, size_t count, int indent)
{
    bool has_names = false;
    for (size_t k = 0; k < count; k++)
        has_names = has_names || *columns[k].field->name != '\0';
    for (size_t k = 0; k < count && has_names; k++) {
        const char *name = columns[k].field->name;
        while (fgi_text_columns(name) > columns[k].width)
            name += fgi_utf8_length((const unsigned char *)name, strlen(name));
        lines_put_cell(out, &columns[k], name, fgi_text_columns(name), k == 0 ? indent : 2);
    }
    if (has_names)
        put_line_end(out);
}

static void lines_table(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows)
{
    column columns[FIELDS];
    fgi_buf cell = {0};
    const char *section = NULL;
    size_t i;
    const json_t *row;
    const size_t count =
        find_columns(fields, rows, class != NULL ? CELL_MOST : LINE_MOST, columns, &cell);
    if (class != NULL && strstr(class, "narrow") != NULL)
        narrow(columns, count);
    lines_put_heads(d->out, columns, count, d->indent);
    json_array_foreach(rows, i, row)
    {
        const char *next = fgi_json_words(row, "section");
        if (section != NULL && strcmp(section, next) != 0)
            fgi_buf_putc(d->out, '\n');
        section = next;
        if (json_is_string(row)) {
            fgi_buf_printf(d->out, "%*s%s\n", d->indent, "", json_string_value(row));
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            const size_t width = cell_words(&cell, &columns[k], row, columns[k].width);
            lines_put_cell(d->out, &columns[k], fgi_buf_text(&cell), width, k == 0 ? d->indent : 2);
        }
        put_line_end(d->out);
    }
    fgi_buf_fini_part(&cell, d->out);
}

static const form lines_form = {lines_begin,       lines_end,   lines_heading, lines_open_group,
                                lines_close_group, lines_say,   lines_card,    lines_item,
                                lines_fact,        lines_table, lines_advice};

/* ---- a page ---------------------------------------------------------------------------------- */

static void page_begin(fgi_doc *d, const char *title) { fgi_html_begin(d->out, title); }

static void page_end(fgi_doc *d) { fgi_html_end(d->out); }

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
    fgi_html_text(out, fgi_buf_text(&before));
    fgi_buf_printf(out, "<span class=\"%.*s\">", (int)(end - mark) - 1, mark + 1);
    fgi_html_text(out, end + 1);
    fgi_buf_puts(out, "</span>");
    fgi_buf_fini(&before);
}

static void page_heading(fgi_doc *d, int level, const char *words)
{
    fgi_buf_printf(d->out, "<h%d>", level);
    put_styled(d->out, words);
    fgi_buf_printf(d->out, "</h%d>\n", level);
}

static void page_open_group(fgi_doc *d, int group)
{
    static const char *const tags[] = {[CARDS] = "<div class=\"cards\">\n",
                                       [PLOTS] = "<div class=\"plots\">\n",
                                       [LIST] = "<ul>\n",
                                       [FACTS] = "<div class=\"wide\"><table>\n",
                                       [ADVICE] = ""};
    fgi_buf_puts(d->out, tags[group]);
}

static void page_close_group(fgi_doc *d, int group)
{
    static const char *const tags[] = {[CARDS] = "</div>\n",
                                       [PLOTS] = "</div>\n",
                                       [LIST] = "</ul>\n",
                                       [FACTS] = "</table></div>\n",
                                       [ADVICE] = ""};
    fgi_buf_puts(d->out, tags[group]);
}

static void page_say(fgi_doc *d, const char *class, const char *words)
{
    if (class != NULL)
        fgi_buf_printf(d->out, "<p class=\"%s\">", class);
    else
        fgi_buf_puts(d->out, "<p>");
    fgi_html_text(d->out, words);
    fgi_buf_puts(d->out, "</p>\n");
}

static void page_card(fgi_doc *d, const char *name, const char *words)
{
    fgi_buf_puts(d->out, "<div><b>");
    fgi_html_text(d->out, words);
    fgi_buf_puts(d->out, "</b><span>");
    fgi_html_text(d->out, name);
    fgi_buf_puts(d->out, "</span></div>\n");
}

static void page_item(fgi_doc *d, const char *words) { fgi_html_element(d->out, "li", words); }

static void page_fact(fgi_doc *d, const char *name, const char *words)
{
    fgi_buf_puts(d->out, "<tr><td>");
    fgi_html_text(d->out, name);
    fgi_buf_puts(d->out, "</td><td>");
    fgi_html_text(d->out, words);
    fgi_buf_puts(d->out, "</td></tr>\n");
}

static void page_advice(fgi_doc *d, const fgi_advice *a)
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

/* ---- tables of the page ---------------------------------------------------------------------- */

static void page_put_cell(fgi_buf *out, const fgi_field *f, const json_t *row, double most)
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
    fgi_html_text(out, fgi_buf_text(&words));
    fgi_buf_puts(out, f->kind == FGI_FITS ? "</span>" : "");
    fgi_buf_fini_part(&words, out);
}

/* <td class="n good" data-run="NAME">, or <td class="n hit" style="..."> */
static void put_cell_tag(fgi_buf *out, const fgi_field *f, const json_t *row, const char *style,
                         bool has_name)
{
    const char *class = fgi_field_is_number(f)                                     ? "n"
                        : f->kind == FGI_BAR && isfinite(fgi_field_number(f, row)) ? "bar"
                        : f->kind == FGI_KEY                                       ? "name"
                                                                                   : "";
    const double part = f->kind == FGI_CELL ? fgi_field_part(f, row, 1) : 0;
    if (part > 0)
        style = strcmp(f->key, fgi_json_words(row, "hit")) == 0 ? "hit" : "miss";
    fgi_buf_puts(out, "<td");
    if (*class != '\0' || *style != '\0')
        fgi_buf_printf(out, " class=\"%s%s%s\"", class, *class != '\0' && *style != '\0' ? " " : "",
                       style);
    if (part > 0)
        fgi_buf_printf(out, " style=\"background-size:%.0f%% 100%%\"", 100 * part);
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
    const bool has_names = class != NULL && strncmp(class, "runs", 4) == 0;
    fgi_buf_puts(d->out, "<tr>");
    for (const fgi_field *f = fields; f->name != NULL; f++) {
        if (f->where == FGI_LINES)
            continue;
        put_cell_tag(d->out, f, row, style, has_names && *f->name != '\0');
        page_put_cell(d->out, f, row, f->kind == FGI_BAR ? fgi_field_most(f, rows) : 0);
        fgi_buf_puts(d->out, "</td>");
        style = "";
    }
    fgi_buf_puts(d->out, "</tr>\n");
}

static void page_put_heads(fgi_buf *out, const fgi_field *fields)
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
        fgi_buf_puts(out, fields->kind == FGI_CELL      ? "<th><span>"
                          : fgi_field_is_number(fields) ? "<th class=\"n\">"
                                                        : "<th>");
        fgi_html_text(out, fields->name);
        fgi_buf_puts(out, fields->kind == FGI_CELL ? "</span></th>" : "</th>");
    }
    fgi_buf_puts(out, "</tr>\n");
}

/* Only pictures as this program writes them: rows may come from others. */
static bool is_picture(const char *uri)
{
    static const char *const starts[] = {"data:image/png;base64,", "data:image/jpeg;base64,"};
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=";
    for (size_t i = 0; i < 2; i++) {
        const size_t size = strlen(starts[i]);
        if (strncmp(uri, starts[i], size) == 0 && uri[size] != '\0')
            return uri[size + strspn(uri + size, plain)] == '\0';
    }
    return false;
}

static bool has_picture(const json_t *rows)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) if (is_picture(fgi_json_words(row, "image"))) return true;
    return false;
}

/* A row as a picture, its cells with their names, and the first cell. */
static void put_picture(fgi_buf *out, const fgi_field *fields, const json_t *row)
{
    const char *image = fgi_json_words(row, "image"), *separator = "";
    fgi_buf_puts(out, "<figure>");
    if (is_picture(image)) {
        fgi_buf_printf(out, "<img alt=\"%s ", fields->name);
        page_put_cell(out, fields, row, 0);
        fgi_buf_printf(out, "\" src=\"%s\"/>", image);
    }
    fgi_buf_puts(out, "<p>");
    for (const fgi_field *f = fields + 1; f->name != NULL; f++) {
        const json_t *value = fgi_field_value(f, row);
        if (!json_is_number(value) && !json_is_string(value))
            continue;
        fgi_buf_printf(out, "%s%s <b>", separator, f->name);
        page_put_cell(out, f, row, 0);
        fgi_buf_puts(out, "</b>");
        separator = ", ";
    }
    fgi_buf_puts(out, "</p><p class=\"note\">");
    page_put_cell(out, fields, row, 0);
    fgi_buf_puts(out, "</p></figure>\n");
}

static void page_table(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows)
{
    size_t i;
    const json_t *row;
    if (has_picture(rows)) {
        fgi_buf_puts(d->out, "<div class=\"samples\">\n");
        json_array_foreach(rows, i, row) put_picture(d->out, fields, row);
        fgi_buf_puts(d->out, "</div>\n");
        return;
    }
    fgi_buf_printf(d->out, "<div class=\"wide%s%s\"><table>\n", class != NULL ? " " : "",
                   class != NULL ? class : "");
    page_put_heads(d->out, fields);
    json_array_foreach(rows, i, row) put_row(d, class, fields, row, rows);
    fgi_buf_puts(d->out, "</table></div>\n");
}

static const form page_form = {page_begin,       page_end,   page_heading, page_open_group,
                               page_close_group, page_say,   page_card,    page_item,
                               page_fact,        page_table, page_advice};

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Writes what was held back; enters a group. */
static void enter(fgi_doc *d, int group)
{
    if (d->group != group || d->heading.size > 0) {
        if (d->group != NO_GROUP)
            d->form->close(d, d->group);
        if (d->heading.size > 0)
            d->form->heading(d, d->level, d->heading.data);
        fgi_buf_clear(&d->heading);
        d->group = group;
        d->items = 0;
        if (group != NO_GROUP)
            d->form->open(d, group);
    }
}

void fgi_doc_begin(fgi_doc *d, fgi_buf *out, bool is_page, const char *title)
{
    *d = (fgi_doc){.out = out, .form = is_page ? &page_form : &lines_form, .is_page = is_page};
    d->form->begin(d, title);
}

void fgi_doc_end(fgi_doc *d)
{
    fgi_buf_clear(&d->heading);
    enter(d, NO_GROUP);
    d->form->end(d);
    fgi_buf_fini_part(&d->heading, d->out);
}

void fgi_doc_heading(fgi_doc *d, int level, const char *format, ...)
{
    va_list args;
    if (d->group != NO_GROUP)
        enter(d, NO_GROUP);
    /* a heading of parts stays before that of its first part */
    if (d->heading.size > 0 && level > d->level)
        enter(d, NO_GROUP);
    fgi_buf_clear(&d->heading);
    d->level = level;
    va_start(args, format);
    fgi_buf_vprintf(&d->heading, format, args);
    va_end(args);
}

/* A block of words, in a group; none if there are no words, unless it is an item. */
FG_PRINTF(4, 0)
static void put_block(fgi_doc *d, int group, const char *name, const char *format, va_list args)
{
    fgi_buf words = {0};
    fgi_buf_vprintf(&words, format, args);
    if (words.size > 0 || group == LIST) {
        enter(d, group);
        if (group == FACTS)
            d->form->fact(d, name, words.data);
        else if (group == LIST)
            d->form->item(d, fgi_buf_text(&words));
        else
            d->form->say(d, name, words.data);
    }
    fgi_buf_fini_part(&words, d->out);
}

void fgi_doc_say(fgi_doc *d, const char *class, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_block(d, NO_GROUP, class, format, args);
    va_end(args);
}

void fgi_doc_item(fgi_doc *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_block(d, LIST, NULL, format, args);
    va_end(args);
}

void fgi_doc_fact(fgi_doc *d, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_block(d, FACTS, name, format, args);
    va_end(args);
}

void fgi_doc_card(fgi_doc *d, const char *name, const char *words)
{
    if (*words == '\0')
        return;
    enter(d, CARDS);
    d->form->card(d, name, words);
    d->items++;
}

void fgi_doc_cards(fgi_doc *d, const fgi_field *fields, const json_t *o)
{
    fgi_buf words = {0};
    for (; fields->name != NULL; fields++) {
        fgi_buf_clear(&words);
        fgi_field_put(&words, fields, o);
        fgi_doc_card(d, fields->name, fgi_buf_text(&words));
    }
    fgi_buf_fini_part(&words, d->out);
}

void fgi_doc_table(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows)
{
    if (json_array_size(rows) == 0)
        return;
    enter(d, NO_GROUP);
    d->form->table(d, class, fields, rows);
}

void fgi_doc_rows(fgi_doc *d, const char *class, const fgi_field *fields, json_t *take_rows)
{
    d->out->failed = d->out->failed || take_rows == NULL;
    fgi_doc_table(d, class, fields, take_rows);
    json_decref(take_rows);
}

void fgi_rows_insert(json_t *rows, json_t *take_row, const char *key, bool is_lowest_first,
                     size_t most)
{
    size_t at = json_array_size(rows);
    const double value = fgi_json_number(take_row, key);
    for (; at > 0; at--) {
        const double before = fgi_json_number(json_array_get(rows, at - 1), key);
        if (isfinite(before) && !(is_lowest_first ? value < before : value > before))
            break;
        if (!isfinite(before) && !isfinite(value))
            break;
    }
    (void)json_array_insert_new(rows, at, take_row);
    (void)json_array_remove(rows, most);
}

void fgi_doc_advice(fgi_doc *d, const fgi_advice *advice)
{
    enter(d, ADVICE);
    d->form->advice(d, advice);
}

/* ---- blocks of the page ---------------------------------------------------------------------- */

void fgi_doc_stack(fgi_doc *d, const json_t *rows, const char *key, double whole)
{
    size_t i;
    const json_t *row;
    if (!d->is_page || json_array_size(rows) == 0)
        return;
    enter(d, NO_GROUP);
    fgi_buf_puts(d->out, "<div class=\"stack\" role=\"img\" aria-label=\"The parts in the table "
                         "below\">");
    json_array_foreach(rows, i, row)
    {
        const double value = fgi_json_number(row, key);
        if (value > 0)
            fgi_buf_printf(
                d->out, "<div class=\"s%.0f\" style=\"width:%.3f%%\" title=\"%s\"></div>",
                fgi_json_number(row, "color"), 99.9 * value / whole, fgi_json_words(row, "name"));
    }
    fgi_buf_puts(d->out, "</div>\n");
}

void fgi_doc_chart(fgi_doc *d, const fgi_chart *chart)
{
    fgi_buf figure = {0};
    if (!d->is_page)
        return;
    fgi_chart_put_figure(&figure, chart);
    if (figure.size > 0) {
        enter(d, PLOTS);
        fgi_buf_add(d->out, figure.data, figure.size);
    }
    fgi_buf_fini_part(&figure, d->out);
}

void fgi_doc_details(fgi_doc *d, const char *summary, const char *text)
{
    if (!d->is_page)
        return;
    enter(d, NO_GROUP);
    fgi_buf_printf(d->out, "<details><summary>%s</summary>\n", summary);
    fgi_html_element(d->out, "pre", text);
    fgi_buf_puts(d->out, "</details>\n");
}
