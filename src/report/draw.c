/* draw.c - text plots, printed at the end of a run.
 *
 * A chart is a grid of dots, 2 wide and 4 high in each braille character; in ASCII, each character
 * is one dot. All sizes are in characters; names may be UTF-8.
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

enum { MIN_COLUMNS = 30, MAX_COLUMNS = 400, MIN_ROWS = 5, MAX_ROWS = 100, LABEL_LEAST = 8 };
static const double log_range =
    30;                        /* positive values with a larger range have a logarithmic axis */
static const double fence = 4; /* interquartile ranges beyond which a value is an outlier */

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* The mark of each series; the first is drawn with dots. */
static const char marks[FGI_DRAW_MAX_SERIES] = {'\0', 'o', 'x', '+', '#'};

typedef struct chart {
    int columns, rows;  /* of the area within the axes, in characters */
    int dots_x, dots_y; /* dots per character */
    int labels;         /* columns of the y axis and its labels */
    double x0, x1;
    fgi_draw_range y;    /* outliers are drawn at the edge */
    unsigned char *dots; /* braille bits or 1, for each character */
    char *letters;       /* of the other series, 0: none */
} chart;

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fgi_draw_find_range(double *values, size_t count, double log_ratio, fgi_draw_range *out)
{
    qsort(values, count, sizeof *values, compare_numbers);
    out->is_log = values[0] > 0 && values[count - 1] > log_ratio * values[0];
    for (size_t i = 0; out->is_log && i < count; i++)
        values[i] = log10(values[i]);
    const double q1 = values[count / 4], q3 = values[count - 1 - count / 4],
                 room = fence * (q3 - q1);
    const size_t most = count / 20 > 0 ? count / 20 : 1;
    size_t first = 0, last = count - 1;
    while (first < count / 4 && values[first] < q1 - room)
        first++;
    while (last > count - 1 - count / 4 && values[last] > q3 + room)
        last--;
    const bool is_clipped = count >= 5 && room > 0 && first + (count - 1 - last) <= most;
    out->below = is_clipped ? first : 0;
    out->above = is_clipped ? count - 1 - last : 0;
    out->low = values[out->below];
    out->high = values[count - 1 - out->above];
}

void fgi_draw_put_notes(fgi_buf *out, const fgi_draw_range *range)
{
    const char *separator = " (";
    if (range->is_log) {
        fgi_buf_printf(out, "%slog scale", separator);
        separator = "; ";
    }
    for (int k = 0; k < 2; k++) {
        const size_t count = k == 0 ? range->above : range->below;
        if (count == 0)
            continue;
        fgi_buf_printf(out, "%s%zu value%s %s the plot", separator, count, fgi_s(count),
                       k == 0 ? "above" : "below");
        separator = ", ";
    }
    fgi_buf_puts(out, *separator == ' ' ? "" : ")");
}

static bool find_range(const fgi_draw_series *series, size_t count, chart *c)
{
    size_t most = 0, used = 0;
    c->x0 = HUGE_VAL;
    c->x1 = -HUGE_VAL;
    for (size_t s = 0; s < count; s++)
        most += series[s].count;
    double *values = fgi_calloc(most + 1, sizeof *values);
    if (values == NULL)
        return false;
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < series[s].count; i++) {
            const double x = series[s].x[i], y = series[s].y[i];
            if (!isfinite(x) || !isfinite(y))
                continue;
            c->x0 = fmin(c->x0, x);
            c->x1 = fmax(c->x1, x);
            values[used++] = y;
        }
    if (used > 0)
        fgi_draw_find_range(values, used, log_range, &c->y);
    fgi_free(values);
    if (c->x0 == c->x1)
        c->x1 = c->x0 + 1;
    if (c->y.low == c->y.high) {
        c->y.low -= 0.5;
        c->y.high += 0.5;
    }
    return true;
}

static void set_dot(chart *c, int x, int y, char letter)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int column = x / c->dots_x, row = y / c->dots_y;
    if (x < 0 || y < 0 || column >= c->columns || row >= c->rows)
        return;
    const size_t at = (size_t)row * (size_t)c->columns + (size_t)column;
    if (letter != 0)
        c->letters[at] = letter;
    else
        c->dots[at] |= c->dots_x == 2 ? bits[y % 4][x % 2] : 1;
}

/* A straight line between two dots, including both ends. */
static void set_line(chart *c, int x0, int y0, int x1, int y1, char letter)
{
    const int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        const double part = steps == 0 ? 0 : (double)i / steps;
        set_dot(c, x0 + (int)lround(part * (x1 - x0)), y0 + (int)lround(part * (y1 - y0)), letter);
    }
}

static void plot(chart *c, const fgi_draw_series *s, char letter)
{
    bool has_last = false;
    int last_x = 0, last_y = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!isfinite(s->x[i]) || !isfinite(s->y[i])) {
            has_last = false;
            continue;
        }
        const double right = (s->x[i] - c->x0) / (c->x1 - c->x0);
        const double value = c->y.is_log ? log10(s->y[i]) : s->y[i];
        const double up = fmin(1, fmax(0, (value - c->y.low) / (c->y.high - c->y.low)));
        const int x = (int)lround(right * (c->columns * c->dots_x - 1));
        const int y = (int)lround((1 - up) * (c->rows * c->dots_y - 1));
        if (has_last && letter == 0)
            set_line(c, last_x, last_y, x, y, letter);
        else
            set_dot(c, x, y, letter);
        last_x = x;
        last_y = y;
        has_last = true;
    }
}

static void print_cell(fgi_buf *out, const chart *c, size_t at)
{
    if (c->letters[at] != 0)
        fgi_buf_putc(out, c->letters[at]);
    else if (c->dots[at] == 0)
        fgi_buf_putc(out, ' ');
    else if (c->dots_x == 1)
        fgi_buf_putc(out, '*');
    else /* U+2800 and the dots' bits */
        fgi_buf_printf(out, "\xe2%c%c", 0xa0 + (c->dots[at] >> 6), 0x80 + (c->dots[at] & 0x3f));
}

/* The label of a row of the y axis; "" if it has none. */
static const char *label_of(const chart *c, int row, char out[32])
{
    const double at = c->y.high + (double)row / (c->rows - 1) * (c->y.low - c->y.high);
    out[0] = '\0';
    if ((row % 4 == 0 && row + 2 < c->rows) || row == c->rows - 1)
        (void)fgi_snprintf(out, 32, "%.4g", c->y.is_log ? pow(10, at) : at);
    return out;
}

static void find_labels(chart *c)
{
    char label[32];
    c->labels = LABEL_LEAST;
    for (int row = 0; row < c->rows; row++) {
        const int length = (int)strlen(label_of(c, row, label));
        c->labels = length > c->labels ? length : c->labels;
    }
    c->labels += 2;
}

static void print_rows(fgi_buf *out, const chart *c, bool is_ascii)
{
    for (int row = 0; row < c->rows; row++) {
        char label[32];
        fgi_buf_printf(out, "%*s %s", c->labels - 2, label_of(c, row, label),
                       is_ascii ? "|" : "\xe2\x94\x82");
        for (int column = 0; column < c->columns; column++)
            print_cell(out, c, (size_t)row * (size_t)c->columns + (size_t)column);
        fgi_buf_putc(out, '\n');
    }
}

static void print_axis(fgi_buf *out, const chart *c, const fgi_draw_options *options)
{
    char left[32], right[64];
    fgi_buf_printf(out, "%*s%s", c->labels - 1, "", options->is_ascii ? "+" : "\xe2\x94\x94");
    for (int i = 0; i < c->columns; i++)
        fgi_buf_puts(out, options->is_ascii ? "-" : "\xe2\x94\x80");
    (void)fgi_snprintf(left, sizeof(left), "%.6g", c->x0);
    (void)fgi_snprintf(right, sizeof(right), "%.6g%s%s", c->x1, options->x_label != NULL ? " " : "",
                       options->x_label != NULL ? options->x_label : "");
    fgi_buf_printf(out, "\n%*s%s%*s\n", c->labels, "", left,
                   clamp(c->columns - (int)strlen(left), 0, MAX_COLUMNS), right);
}

static void print_legend(fgi_buf *out, const chart *c, const fgi_draw_series *series, size_t count,
                         const fgi_draw_options *options)
{
    fgi_buf_printf(out, "%*s", c->labels, "");
    for (size_t s = 0; s < count; s++) {
        const char mark[] = {marks[s], '\0'};
        fgi_buf_printf(out, "%s%s %s", s > 0 ? "   " : "",
                       s > 0               ? mark
                       : options->is_ascii ? "*"
                                           : "\xe2\xa0\xa4",
                       series[s].name);
    }
    fgi_buf_putc(out, '\n');
}

void fgi_draw_curves(fgi_buf *out, const fgi_draw_series *series, size_t count,
                     const fgi_draw_options *options)
{
    const int columns =
        clamp(options->columns > 0 ? options->columns : 80, MIN_COLUMNS, MAX_COLUMNS);
    const int rows = clamp(options->rows > 0 ? options->rows : 16, MIN_ROWS, MAX_ROWS);
    chart c = {.rows = rows};
    count = count < FGI_DRAW_MAX_SERIES ? count : FGI_DRAW_MAX_SERIES;
    c.dots_x = options->is_ascii ? 1 : 2;
    c.dots_y = options->is_ascii ? 1 : 4;
    if (!find_range(series, count, &c)) {
        out->failed = true;
        return;
    }
    find_labels(&c);
    c.columns = columns - c.labels;
    if (options->title != NULL) {
        fgi_buf_printf(out, "%*s%s", c.labels, "", options->title);
        fgi_draw_put_notes(out, &c.y);
        fgi_buf_putc(out, '\n');
    }
    if (!(c.x0 < c.x1)) {
        fgi_buf_printf(out, "%*s(no numbers to draw)\n", c.labels, "");
        return;
    }
    c.dots = fgi_calloc((size_t)c.columns * (size_t)rows, 1);
    c.letters = fgi_calloc((size_t)c.columns * (size_t)rows, 1);
    out->failed = out->failed || c.dots == NULL || c.letters == NULL;
    for (size_t s = 0; s < count && !out->failed; s++)
        plot(&c, &series[s], marks[s]);
    if (!out->failed)
        print_rows(out, &c, options->is_ascii);
    print_axis(out, &c, options);
    print_legend(out, &c, series, count, options);
    fgi_free(c.letters);
    fgi_free(c.dots);
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
