/* doc.c - see doc.h. Holds headings back until something follows them, and opens and closes the
 * groups of cards, plots and items; the forms (doc_lines.c, doc_page.c) write.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "report/html.h"
#include "report/run_view.h"

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
    return field->kind >= FGI_FIGURE && field->kind <= FGI_PERCENT;
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

/* ---- blocks ---------------------------------------------------------------------------------- */

static const char *text_of(const fgi_buf *buf) { return buf->data != NULL ? buf->data : ""; }

static void done(fgi_doc *d, fgi_buf *words)
{
    d->out->failed = d->out->failed || words->failed;
    fgi_buf_fini(words);
}

/* Writes what was held back; enters a group. */
static void enter(fgi_doc *d, int group)
{
    if (d->group != group || d->heading.size > 0) {
        if (d->group != FGI_NO_GROUP)
            d->form->close(d, d->group);
        if (d->heading.size > 0)
            d->form->heading(d, d->level, d->heading.data);
        fgi_buf_clear(&d->heading);
        d->group = group;
        d->items = 0;
        if (group != FGI_NO_GROUP)
            d->form->open(d, group);
    }
}

void fgi_doc_begin(fgi_doc *d, fgi_buf *out, bool is_page, const char *title)
{
    *d =
        (fgi_doc){.out = out, .form = is_page ? &fgi_doc_page : &fgi_doc_lines, .is_page = is_page};
    d->form->begin(d, title);
}

void fgi_doc_end(fgi_doc *d)
{
    fgi_buf_clear(&d->heading);
    enter(d, FGI_NO_GROUP);
    d->form->end(d);
    done(d, &d->heading);
}

void fgi_doc_raw(fgi_doc *d) { enter(d, FGI_NO_GROUP); }

void fgi_doc_heading(fgi_doc *d, int level, const char *format, ...)
{
    va_list args;
    if (d->group != FGI_NO_GROUP)
        enter(d, FGI_NO_GROUP);
    /* a heading of parts stays before that of its first part */
    if (d->heading.size > 0 && level > d->level)
        enter(d, FGI_NO_GROUP);
    fgi_buf_clear(&d->heading);
    d->level = level;
    va_start(args, format);
    fgi_buf_vprintf(&d->heading, format, args);
    va_end(args);
}

void fgi_doc_say(fgi_doc *d, const char *class, const char *format, ...)
{
    fgi_buf words = {0};
    va_list args;
    va_start(args, format);
    fgi_buf_vprintf(&words, format, args);
    va_end(args);
    if (words.size > 0) {
        enter(d, FGI_NO_GROUP);
        d->form->say(d, class, words.data);
    }
    done(d, &words);
}

void fgi_doc_card(fgi_doc *d, const char *name, const char *words)
{
    if (*words == '\0')
        return;
    enter(d, FGI_CARDS);
    d->form->card(d, name, words);
    d->items++;
}

void fgi_doc_cards(fgi_doc *d, const fgi_field *fields, const json_t *o)
{
    fgi_buf words = {0};
    for (; fields->name != NULL; fields++) {
        fgi_buf_clear(&words);
        fgi_field_put(&words, fields, o);
        fgi_doc_card(d, fields->name, text_of(&words));
    }
    done(d, &words);
}

void fgi_doc_item(fgi_doc *d, const char *format, ...)
{
    fgi_buf words = {0};
    va_list args;
    va_start(args, format);
    fgi_buf_vprintf(&words, format, args);
    va_end(args);
    enter(d, FGI_LIST);
    d->form->item(d, text_of(&words));
    done(d, &words);
}

void fgi_doc_table(fgi_doc *d, const char *class, const fgi_field *fields, const json_t *rows)
{
    if (json_array_size(rows) == 0)
        return;
    enter(d, FGI_NO_GROUP);
    d->form->table(d, class, fields, rows);
}

void fgi_doc_advice(fgi_doc *d, const fgi_advice *advice)
{
    enter(d, FGI_ADVICE);
    d->form->advice(d, advice);
}

/* ---- blocks of the page ---------------------------------------------------------------------- */

void fgi_doc_stack(fgi_doc *d, const json_t *rows, const char *key, double whole)
{
    size_t i;
    const json_t *row;
    if (!d->is_page || json_array_size(rows) == 0)
        return;
    enter(d, FGI_NO_GROUP);
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
        enter(d, FGI_PLOTS);
        fgi_buf_add(d->out, figure.data, figure.size);
    }
    done(d, &figure);
}

void fgi_doc_details(fgi_doc *d, const char *summary, const char *text)
{
    if (!d->is_page)
        return;
    enter(d, FGI_NO_GROUP);
    fgi_buf_printf(d->out, "<details><summary>%s</summary>\n", summary);
    fgi_html_element(d->out, "pre", text);
    fgi_buf_puts(d->out, "</details>\n");
}
