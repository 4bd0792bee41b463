/* draw.c - see draw.h. All sizes are in characters; names may be UTF-8.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/helpers.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/text.h"

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

/* ---- confusion matrix ------------------------------------------------------------------------ */

/* The class's name, or its number in a static buffer. */
static const char *class_name(const char *const *names, size_t index)
{
    static _Thread_local char number[24];
    if (names != NULL && names[index] != NULL)
        return names[index];
    (void)fgi_snprintf(number, sizeof(number), "%zu", index);
    return number;
}

/* Prints a name in exactly `width` columns, right-aligned and truncated. */
static void print_name(fgi_buf *out, const char *name, size_t width)
{
    size_t used;
    const size_t bytes = fgi_text_fit(name, width, &used);
    fgi_buf_printf(out, "%*s%.*s", (int)(width - used), "", (int)bytes, name);
}

typedef struct matrix {
    const int64_t *counts;
    size_t n;
    const char *const *names;
    size_t name_width, cell_width;
} matrix;

static void measure(matrix *m)
{
    char number[24];
    m->name_width = strlen("true");
    m->cell_width = 1;
    for (size_t i = 0; i < m->n; i++) {
        const size_t width = fgi_text_columns(class_name(m->names, i));
        m->name_width = width > m->name_width ? width : m->name_width;
    }
    for (size_t i = 0; i < m->n * m->n; i++) {
        const int width = fgi_snprintf(number, sizeof(number), "%" PRId64, m->counts[i]);
        m->cell_width = (size_t)width > m->cell_width ? (size_t)width : m->cell_width;
    }
    m->name_width = m->name_width < 16 ? m->name_width : 16;
    for (size_t i = 0; i < m->n; i++) { /* column headings: wide enough for the names */
        const size_t width = fgi_text_columns(class_name(m->names, i));
        const size_t requested = width < 6 ? width : 6;
        m->cell_width = requested > m->cell_width ? requested : m->cell_width;
    }
}

static void print_fraction(fgi_buf *out, int64_t part, int64_t whole)
{
    if (whole > 0)
        fgi_buf_printf(out, "  %5.1f %%", 100.0 * (double)part / (double)whole);
    else
        fgi_buf_puts(out, "    n/a");
}

static void print_row(fgi_buf *out, const matrix *m, size_t row, bool is_ascii)
{
    int64_t sum = 0;
    print_name(out, class_name(m->names, row), m->name_width);
    fgi_buf_puts(out, is_ascii ? " |" : " \xe2\x94\x82");
    for (size_t column = 0; column < m->n; column++) {
        const int64_t count = m->counts[row * m->n + column];
        sum += count;
        if (count == 0)
            fgi_buf_printf(out, " %*s%s", (int)m->cell_width - 1, "", is_ascii ? "." : "\xc2\xb7");
        else
            fgi_buf_printf(out, " %*" PRId64, (int)m->cell_width, count);
    }
    print_fraction(out, m->counts[row * m->n + row], sum);
    fgi_buf_putc(out, '\n');
}

static void print_matrix(fgi_buf *out, const matrix *m, bool is_ascii)
{
    print_name(out, "true", m->name_width);
    fgi_buf_puts(out, is_ascii ? " |" : " \xe2\x94\x82");
    for (size_t i = 0; i < m->n; i++) {
        fgi_buf_putc(out, ' ');
        print_name(out, class_name(m->names, i), m->cell_width);
    }
    fgi_buf_puts(out, "  correct\n");
    for (size_t row = 0; row < m->n; row++)
        print_row(out, m, row, is_ascii);
}

/* For many classes: the most frequent confusions. */
static void print_worst(fgi_buf *out, const matrix *m)
{
    enum { MOST = 10 };
    int64_t limit = INT64_MAX;
    size_t limit_at = 0;
    for (int printed = 0; printed < MOST; printed++) {
        int64_t best = 0;
        size_t best_at = 0;
        for (size_t i = 0; i < m->n * m->n; i++) {
            const int64_t count = i / m->n == i % m->n ? 0 : m->counts[i];
            const bool is_next = count < limit || (count == limit && i > limit_at);
            if (is_next && count > best) {
                best = count;
                best_at = i;
            }
        }
        if (best == 0)
            return;
        fgi_buf_printf(out, "%8" PRId64 "  ", best);
        print_name(out, class_name(m->names, best_at / m->n), m->name_width);
        fgi_buf_puts(out, " predicted as ");
        fgi_buf_printf(out, "%s\n", class_name(m->names, best_at % m->n));
        limit = best;
        limit_at = best_at;
    }
}

void fgi_draw_confusion(fgi_buf *out, const int64_t *counts, size_t class_count,
                        const char *const *names, const fgi_draw_options *options)
{
    int64_t correct = 0, all = 0;
    matrix m = {.counts = counts, .n = class_count, .names = names};
    const size_t columns = (size_t)(options->columns > 0 ? options->columns : 80);
    measure(&m);
    for (size_t i = 0; i < class_count * class_count; i++)
        all += counts[i];
    for (size_t i = 0; i < class_count; i++)
        correct += counts[i * class_count + i];
    fgi_buf_printf(out, "%s: %" PRId64 " of %" PRId64 " correct",
                   options->title != NULL ? options->title : "confusion matrix", correct, all);
    print_fraction(out, correct, all);
    fgi_buf_puts(out, "\n");
    if (m.name_width + 2 + class_count * (m.cell_width + 1) + 9 <= columns)
        print_matrix(out, &m, options->is_ascii);
    else
        print_worst(out, &m);
}

/* ---- classes --------------------------------------------------------------------------------- */

enum { NAME_LEAST = 6, NAME_MOST = 24, NUMBERS_WIDTH = 38 };

/* By F1, unknown ones last, then by their order. */
static int compare_classes(const void *a, const void *b)
{
    const fgi_draw_class *x = *(const fgi_draw_class *const *)a,
                         *y = *(const fgi_draw_class *const *)b;
    const double f = isnan(x->f1) ? 2 : x->f1, g = isnan(y->f1) ? 2 : y->f1;
    return f != g ? (f > g) - (f < g) : (x > y) - (x < y);
}

static void print_class(fgi_buf *out, const fgi_draw_class *c, size_t width)
{
    const double fractions[] = {c->precision, c->recall, c->f1};
    print_name(out, c->name, width);
    fgi_buf_printf(out, "%9" PRId64, c->samples);
    for (int i = 0; i < 3; i++)
        if (isnan(fractions[i]))
            fgi_buf_printf(out, "%*s", i == 0 ? 11 : 9, "n/a");
        else
            fgi_buf_printf(out, "%*.1f %%", i == 0 ? 9 : 7, 100 * fractions[i]);
    fgi_buf_putc(out, '\n');
}

void fgi_draw_classes(fgi_buf *out, const fgi_draw_class *classes, size_t count,
                      const fgi_draw_options *options)
{
    const int columns = options->columns > 0 ? options->columns : 80;
    const size_t most = (size_t)clamp(columns - 1 - NUMBERS_WIDTH, NAME_LEAST, NAME_MOST);
    const size_t shown = count < FGI_DRAW_MAX_CLASSES ? count : FGI_DRAW_MAX_CLASSES;
    size_t width = strlen("class");
    const fgi_draw_class **order = fgi_calloc(count + 1, sizeof *order);
    if (order == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = &classes[i];
    if (count > shown)
        qsort(order, count, sizeof *order, compare_classes);
    for (size_t i = 0; i < shown; i++)
        width = fgi_text_columns(order[i]->name) > width ? fgi_text_columns(order[i]->name) : width;
    width = width < most ? width : most;
    print_name(out, "class", width);
    fgi_buf_puts(out, "  samples  precision   recall       F1\n");
    for (size_t i = 0; i < shown; i++)
        print_class(out, order[i], width);
    fgi_free(order);
}
