/* chart_text.c - a chart in a terminal. It is a grid of dots, 2 wide and 4 high in each braille
 * character; in ASCII, each character is one dot. Sizes are in characters; names may be UTF-8.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "report/chart.h"

enum { MIN_COLUMNS = 30, MAX_COLUMNS = 400, MIN_ROWS = 5, MAX_ROWS = 100, LABEL_LEAST = 8 };

/* The mark of each series; the first is drawn with dots. */
static const char marks[] = {'\0', 'o', 'x', '+', '#'};

typedef struct grid {
    const fgi_chart *chart;
    fgi_chart_axes axes;
    bool is_ascii;
    int columns, rows;   /* of the area within the axes */
    int dots_x, dots_y;  /* dots per character */
    int labels;          /* columns of the labels of the y axis */
    unsigned char *dots; /* braille bits or 1, for each character */
    char *letters;       /* of the other series, 0: none */
} grid;

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void set_dot(grid *g, int x, int y, char letter)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    const int column = x / g->dots_x, row = y / g->dots_y;
    const size_t at = (size_t)row * (size_t)g->columns + (size_t)column;
    if (letter != 0)
        g->letters[at] = letter;
    else
        g->dots[at] |= g->dots_x == 2 ? bits[y % 4][x % 2] : 1;
}

/* A straight line between two dots, including both ends. */
static void set_line(grid *g, int x0, int y0, int x1, int y1)
{
    const int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        const double part = steps == 0 ? 0 : (double)i / steps;
        set_dot(g, x0 + (int)lround(part * (x1 - x0)), y0 + (int)lround(part * (y1 - y0)), 0);
    }
}

static int dot_y(const grid *g, double value)
{
    return (int)lround((1 - fgi_axis_place(&g->axes.y, value)) * (g->rows * g->dots_y - 1));
}

static void plot(grid *g, size_t s)
{
    const fgi_series *one = &g->chart->series[s];
    int last_x = -1, last_y = 0;
    for (int x = 0; one->x == NULL && one->count > 0 && x < g->columns; x++)
        set_dot(g, x * g->dots_x, dot_y(g, one->y[0]), '-');
    for (size_t i = 0; one->x != NULL && i < one->count; i++) {
        if (!fgi_chart_has_point(one, i)) {
            last_x = -1;
            continue;
        }
        const double right = fgi_axis_place(&g->axes.x, one->x[i]);
        const int x = (int)lround(right * (g->columns * g->dots_x - 1));
        const int y = dot_y(g, fgi_chart_value(g->chart, s, i));
        if (last_x >= 0 && s == 0)
            set_line(g, last_x, last_y, x, y);
        else
            set_dot(g, x, y, marks[s]);
        last_x = x;
        last_y = y;
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_cell(fgi_buf *out, const grid *g, size_t at)
{
    if (g->letters[at] != 0)
        fgi_buf_putc(out, g->letters[at]);
    else if (g->dots[at] == 0)
        fgi_buf_putc(out, ' ');
    else if (g->is_ascii)
        fgi_buf_putc(out, '*');
    else /* U+2800 and the dots' bits */
        fgi_buf_printf(out, "\xe2%c%c", 0xa0 + (g->dots[at] >> 6), 0x80 + (g->dots[at] & 0x3f));
}

/* The label of a row, which is that of the tick next to it; "" if it has none. */
static const char *row_label(const grid *g, int row, char out[32])
{
    const fgi_chart_axis *y = &g->axes.y;
    for (int i = 0; i < y->ticks; i++)
        if (dot_y(g, y->tick[i]) / g->dots_y == row)
            return fgi_axis_label(y->tick[i], g->chart->y_unit, out);
    return "";
}

static void put_rows(fgi_buf *out, const grid *g)
{
    for (int row = 0; row < g->rows; row++) {
        char text[32];
        const char *label = row_label(g, row, text);
        const bool is_tick = *label != '\0';
        fgi_buf_printf(out, "%*s %s", g->labels, label,
                       g->is_ascii ? is_tick ? "+" : "|"
                       : is_tick   ? "\xe2\x94\xa4"
                                   : "\xe2\x94\x82");
        for (int column = 0; column < g->columns; column++)
            put_cell(out, g, (size_t)row * (size_t)g->columns + (size_t)column);
        fgi_buf_trim(out);
        fgi_buf_putc(out, '\n');
    }
}

/* The line below the curves, and the labels below their ticks. What x is comes last. */
static void put_x_axis(fgi_buf *out, const grid *g)
{
    const fgi_chart_axis *x = &g->axes.x;
    const char *name = g->chart->x_label != NULL ? g->chart->x_label : "";
    char line[MAX_COLUMNS + 1] = "", text[32];
    bool is_tick[MAX_COLUMNS] = {false};
    int used = 0;
    memset(line, ' ', (size_t)g->columns);
    for (int i = 0; i < x->ticks; i++) {
        const int at = (int)lround(fgi_axis_place(x, x->tick[i]) * (g->columns - 1));
        const int size = (int)strlen(fgi_axis_label(x->tick[i], NULL, text));
        const int end = g->columns - (*name != '\0' ? (int)fgi_text_columns(name) + 1 : 0);
        const int from = clamp(at - size / 2, 0, g->columns - size);
        if ((used > 0 && from < used + 1) || from + size > end)
            continue;
        memcpy(line + from, text, (size_t)size);
        used = from + size;
        is_tick[at] = true;
    }
    fgi_buf_printf(out, "%*s %s", g->labels, "", g->is_ascii ? "+" : "\xe2\x94\x94");
    for (int i = 0; i < g->columns; i++)
        fgi_buf_puts(out, g->is_ascii  ? is_tick[i] ? "+" : "-"
                          : is_tick[i] ? "\xe2\x94\xac"
                                       : "\xe2\x94\x80");
    fgi_buf_printf(out, "\n%*s  %.*s%s", g->labels, "",
                   clamp(g->columns - (int)fgi_text_columns(name), used, g->columns), line, name);
    fgi_buf_trim(out);
    fgi_buf_putc(out, '\n');
}

static void put_legend(fgi_buf *out, const grid *g, size_t count)
{
    fgi_buf_printf(out, "%*s ", g->labels, "");
    for (size_t s = 0; s < count; s++)
        fgi_buf_printf(out, "%s%.*s %s", s > 0 ? "  " : " ", s > 0 || g->is_ascii ? 1 : 3,
                       g->chart->series[s].x == NULL ? "-"
                       : s > 0                       ? &marks[s]
                       : g->is_ascii                 ? "*"
                                                     : "\xe2\xa0\xa4",
                       g->chart->series[s].name);
    fgi_buf_putc(out, '\n');
}

/* The curves and axes, once their memory is there. */
static void put_grid(fgi_buf *out, grid *g, size_t count)
{
    for (size_t s = 0; s < count; s++)
        plot(g, s);
    put_rows(out, g);
    put_x_axis(out, g);
    put_legend(out, g, count);
}

void fgi_chart_put_text(fgi_buf *out, const fgi_chart *chart, fgi_chart_size size)
{
    grid g = {.chart = chart, .is_ascii = size.is_ascii, .labels = LABEL_LEAST};
    const int columns = clamp(size.columns > 0 ? size.columns : 80, MIN_COLUMNS, MAX_COLUMNS);
    const size_t count = chart->count < sizeof marks ? chart->count : sizeof marks;
    char text[32];
    g.rows = clamp(size.rows > 0 ? size.rows : 16, MIN_ROWS, MAX_ROWS);
    g.dots_x = size.is_ascii ? 1 : 2;
    g.dots_y = size.is_ascii ? 1 : 4;
    const bool has_points =
        fgi_chart_find_axes(chart, columns / 12, clamp(g.rows / 2 + 1, 2, 5), &g.axes, out);
    for (int i = 0; i < g.axes.y.ticks; i++)
        g.labels = clamp((int)strlen(fgi_axis_label(g.axes.y.tick[i], chart->y_unit, text)),
                         g.labels, MIN_COLUMNS / 2);
    if (chart->title != NULL) {
        fgi_buf_printf(out, "%*s  ", g.labels, "");
        fgi_chart_put_title(out, chart, &g.axes);
        fgi_buf_putc(out, '\n');
    }
    if (!has_points) {
        fgi_buf_printf(out, "%*s  (no numbers to draw)\n", g.labels, "");
        return;
    }
    g.columns = columns - g.labels - 2;
    g.dots = fgi_calloc((size_t)g.columns * (size_t)g.rows, 1);
    g.letters = fgi_calloc((size_t)g.columns * (size_t)g.rows, 1);
    out->failed = out->failed || g.dots == NULL || g.letters == NULL;
    if (!out->failed)
        put_grid(out, &g, count);
    fgi_free(g.letters);
    fgi_free(g.dots);
}
