/* doc_lines.c - a document as lines for a terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/doc.h"

enum { COLUMNS = 80, CELL_MOST = 40, LINE_MOST = 4000, CELL_LEAST = 15, BAR = 30, FIELDS = 40 };

static void begin(fgi_doc *d, const char *title)
{
    if (*title == '\0')
        return;
    fgi_put_plain(d->out, title);
    fgi_buf_putc(d->out, '\n');
}

static void end(fgi_doc *d) { (void)d; }

/* A line below the last heading. */
static void item(fgi_doc *d, const char *words)
{
    fgi_buf_printf(d->out, "%*s", d->indent, "");
    fgi_put_plain(d->out, words);
    fgi_buf_putc(d->out, '\n');
}

static void say(fgi_doc *d, const char *class, const char *words)
{
    (void)class;
    item(d, words);
}

static void heading(fgi_doc *d, int level, const char *words)
{
    fgi_buf_puts(d->out, level == 2 ? "\n" : "");
    d->indent = 2 * (level - 2);
    item(d, words);
    d->indent += 2;
}

static void open_group(fgi_doc *d, int group) { (void)d, (void)group; }

static void close_group(fgi_doc *d, int group)
{
    fgi_buf_puts(d->out, group == FGI_CARDS ? "\n" : "");
}

/* "  name value, name value", in as many lines as they need. */
static void card(fgi_doc *d, const char *name, const char *words)
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

static void fact(fgi_doc *d, const char *name, const char *words)
{
    fgi_buf_printf(d->out, "%*s%-10s", d->indent, "", name);
    fgi_put_plain(d->out, words);
    fgi_buf_putc(d->out, '\n');
}

static void advice(fgi_doc *d, const fgi_advice *a)
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

/* ---- tables ---------------------------------------------------------------------------------- */

typedef struct column {
    const fgi_field *field;
    size_t width;
    double most; /* of bars */
} column;

/* The words of a cell, "-" for a number that is not known, cut if they are too long; returns their
 * columns. */
static size_t cell_words(fgi_buf *out, const column *c, const json_t *row, size_t most)
{
    fgi_buf raw = {0};
    size_t used = 0;
    fgi_buf_clear(out);
    fgi_field_put(&raw, c->field, row);
    if (c->field->kind == FGI_BAR)
        for (int i = 0; i < (int)lround(BAR * fgi_field_part(c->field, row, c->most)); i++)
            fgi_buf_putc(&raw, '#');
    fgi_put_plain(out, raw.size > 0 ? raw.data : fgi_field_is_number(c->field) ? "-" : "");
    out->failed = out->failed || raw.failed;
    fgi_buf_fini(&raw);
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

static void put_cell(fgi_buf *out, const column *c, const char *words, size_t width, int indent)
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
static void put_heads(fgi_buf *out, const column *columns, size_t count, int indent)
{
    bool has_names = false;
    for (size_t k = 0; k < count; k++)
        has_names = has_names || *columns[k].field->name != '\0';
    for (size_t k = 0; k < count && has_names; k++) {
        const char *name = columns[k].field->name;
        while (fgi_text_columns(name) > columns[k].width)
            name += fgi_utf8_length((const unsigned char *)name, strlen(name));
        put_cell(out, &columns[k], name, fgi_text_columns(name), k == 0 ? indent : 2);
    }
    if (has_names)
        put_line_end(out);
}

static void table(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows)
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
    put_heads(d->out, columns, count, d->indent);
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
            put_cell(d->out, &columns[k], cell.data != NULL ? cell.data : "", width,
                     k == 0 ? d->indent : 2);
        }
        put_line_end(d->out);
    }
    d->out->failed = d->out->failed || cell.failed;
    fgi_buf_fini(&cell);
}

const fgi_doc_form fgi_doc_lines = {begin, end,  heading, open_group, close_group, say,
                                    card,  item, fact,    table,      advice};
