/* chart.c - see chart.h: the axes, and the drawings as text and as SVG.
 *
 * As text, a chart is a grid of dots, 2 wide and 4 high in each braille character; in ASCII, each
 * character is one dot. Sizes are in characters; names may be UTF-8. Coordinates of SVG are pixels
 * of the view box, which is scaled to the page.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "doc/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "doc/html.h"
#include "doc/svg_library.h"
#include "input/json_file.h"

static const double fence = 4; /* interquartile ranges beyond which a value is an outlier */

enum { TICKS = 12 };

typedef struct chart_axis {
    double low, high;
    bool is_log;
    double tick[TICKS]; /* round values */
    int ticks;
} chart_axis;

typedef struct chart_axes {
    chart_axis x, y;
    size_t above, below; /* values that are drawn at the edge */
} chart_axes;

static bool has_point(const fgi_series *s, size_t i)
{
    return i < s->count && isfinite(s->y[i]) && (s->x == NULL || isfinite(s->x[i]));
}

/* Point i of series s: its value, or the sum of the areas. */
static double value_of(const fgi_chart *chart, size_t s, size_t i)
{
    double sum = 0;
    if (!chart->is_stacked)
        return chart->series[s].y[i];
    for (size_t k = 0; k <= s; k++)
        sum += chart->series[k].y[i] > 0 ? chart->series[k].y[i] : 0;
    return sum;
}

/* A value as a fraction of the axis, 0 to 1. */
static double place_on(const chart_axis *a, double value)
{
    const double low = a->is_log ? log10(a->low) : a->low;
    const double high = a->is_log ? log10(a->high) : a->high;
    const double at = !a->is_log ? value : value > 0 ? log10(value) : low;
    return fmin(1, fmax(0, (at - low) / (high - low)));
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, so that there are at most `most` steps. */
static double step_of(double range, int most)
{
    const double raw = range / most, power = pow(10, floor(log10(raw))), f = raw / power;
    return power * (f < 1 + 1e-9 ? 1 : f < 2 + 1e-9 ? 2 : f < 5 + 1e-9 ? 5 : 10);
}

static void find_ticks(chart_axis *a, double step)
{
    const double first = ceil(a->low / step - 1e-9);
    while (a->ticks < TICKS && (first + a->ticks) * step <= a->high + step * 1e-9) {
        a->tick[a->ticks] = (first + a->ticks) * step;
        a->ticks++;
    }
}

/* Powers of ten; of a short axis, also 2 and 5 times them, of a very short one, whole steps. */
static void find_log_ticks(chart_axis *a, int most)
{
    static const double factors[] = {1, 2, 5};
    const double decades = log10(a->high / a->low);
    const int each = decades < most / 2.5 ? 3 : 1, stride = (int)(decades / (most + 1)) + 1;
    const int first = (int)ceil(log10(a->low) - 1e-9) - (each > 1 ? 1 : 0);
    if (decades < 1)
        find_ticks(a, step_of(a->high - a->low, most));
    for (int power = first; decades >= 1 && power <= log10(a->high) + 1e-9; power += stride)
        for (int i = 0; i < each && a->ticks < TICKS; i++) {
            const double value = factors[i] * pow(10, power);
            if (value >= a->low * (1 - 1e-9) && value <= a->high * (1 + 1e-9))
                a->tick[a->ticks++] = value;
        }
}

/* "0.25", "120k", "610 MB" */
static const char *label_of(double value, const char *unit, char out[32])
{
    static const char prefixes[] = {'k', 'M', 'G', 'T', 'P'};
    int prefix = -1;
    for (double left = fabs(value);
         left >= (unit != NULL ? 1e3 : 1e4) || (prefix >= 0 && left >= 1e3); left /= 1e3) {
        if (prefix + 1 == (int)sizeof prefixes)
            break;
        prefix++;
    }
    const bool is_small = value != 0 && fabs(value) < 1e-4;
    (void)fgi_snprintf(out, 32, is_small ? "%.3g%s%.*s%s" : "%.6g%s%.*s%s",
                       value / pow(1e3, prefix + 1), unit != NULL ? " " : "", prefix >= 0 ? 1 : 0,
                       prefix >= 0 ? &prefixes[prefix] : "", unit != NULL ? unit : "");
    char *exponent = strstr(out, "e-0");
    if (exponent != NULL) /* "1e-05" */
        memmove(exponent + 2, exponent + 3, strlen(exponent + 3) + 1);
    return out;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fgi_chart_find_range(double *values, size_t count, double ratio, fgi_range *out)
{
    qsort(values, count, sizeof *values, compare_numbers);
    out->is_log = values[0] > 0 && values[count - 1] > ratio * values[0];
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

static void round_out(fgi_range *r, double step)
{
    r->low = step * floor(r->low / step + 1e-9);
    r->high = step * ceil(r->high / step - 1e-9);
}

/* The y axis of these values, which ends at whole steps; of a logarithmic one, at whole or half
 * powers of ten. Outliers may be within it after all, for that reason. */
static void find_y(const fgi_chart *chart, double *y, size_t count, int labels, chart_axes *out)
{
    static const double ratios[] = {
        [FGI_SCALE_AUTO] = 100, [FGI_SCALE_LINEAR] = HUGE_VAL, [FGI_SCALE_LOG] = 0};
    fgi_range r;
    fgi_chart_find_range(y, count, chart->is_stacked ? HUGE_VAL : ratios[chart->y], &r);
    if (chart->is_stacked || chart->y != FGI_SCALE_AUTO)
        r = (fgi_range){.low = y[0], .high = y[count - 1], .is_log = r.is_log};
    if (!r.is_log && (chart->is_stacked || (r.low >= 0 && r.low < r.high / 2)))
        r.low = 0;
    if (!(r.high > r.low)) {
        const double room = r.is_log ? 0.05 : fabs(r.high) > 0 ? fabs(r.high) / 10 : 1;
        r.low -= chart->is_stacked ? 0 : room;
        r.high += room;
    }
    const double step = r.is_log ? 0.5 : step_of(r.high - r.low, labels);
    if (r.is_log || !chart->is_stacked)
        round_out(&r, step);
    while (r.above > 0 && !(y[count - r.above] > r.high))
        r.above--;
    while (r.below > 0 && !(y[r.below - 1] < r.low))
        r.below--;
    out->above = r.above;
    out->below = r.below;
    out->y = (chart_axis){r.is_log ? pow(10, r.low) : r.low, r.is_log ? pow(10, r.high) : r.high,
                          .is_log = r.is_log};
    if (r.is_log)
        find_log_ticks(&out->y, labels);
    else
        find_ticks(&out->y, step);
}

/* The axes, with about so many labels. False if no value is finite. */
static bool find_axes(const fgi_chart *chart, int x_labels, int y_labels, chart_axes *out,
                      fgi_buf *failed)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    size_t most = 1, used = 0;
    *out = (chart_axes){0};
    for (size_t s = 0; s < chart->count; s++)
        most += chart->series[s].count;
    double *y = fgi_calloc(most, sizeof *y);
    failed->failed = failed->failed || y == NULL;
    for (size_t s = 0; y != NULL && s < chart->count; s++)
        for (size_t i = 0; i < chart->series[s].count; i++) {
            const fgi_series *one = &chart->series[s];
            const double value = value_of(chart, s, i);
            if (!has_point(one, i) || !isfinite(value))
                continue;
            y[used++] = value;
            low = one->x == NULL ? low : fmin(low, one->x[i]);
            high = one->x == NULL ? high : fmax(high, one->x[i]);
        }
    const bool has_points = used > 0 && low <= high;
    if (has_points)
        find_y(chart, y, used, y_labels, out);
    fgi_free(y);
    out->x = (chart_axis){low, high > low ? high : low + 1, .is_log = chart->is_log_x};
    if (has_points && chart->is_log_x)
        find_log_ticks(&out->x, x_labels);
    else if (has_points)
        find_ticks(&out->x,
                   fmax(step_of(out->x.high - out->x.low, x_labels), chart->has_real_x ? 0 : 1));
    return has_points;
}

/* The title, and " (log scale; 1 value above the plot)" if that is so. */
static void put_axes_title(fgi_buf *out, const fgi_chart *chart, const chart_axes *axes)
{
    const char *separator = " (";
    fgi_buf_puts(out, chart->title);
    if (chart->y == FGI_SCALE_AUTO && axes->y.is_log) {
        fgi_buf_puts(out, " (log scale");
        separator = "; ";
    }
    for (int k = 0; k < 2; k++) {
        const size_t count = k == 0 ? axes->above : axes->below;
        if (count == 0)
            continue;
        fgi_buf_printf(out, "%s%zu value%s %s the plot", separator, count, fgi_s(count),
                       k == 0 ? "above" : "below");
        separator = ", ";
    }
    fgi_buf_puts(out, *separator == ' ' ? "" : ")");
}

/* ---- text: the grid -------------------------------------------------------------------------- */

enum { MIN_COLUMNS = 30, MAX_COLUMNS = 400, MIN_ROWS = 5, MAX_ROWS = 100, LABEL_LEAST = 8 };

/* The mark of each series; the first is drawn with dots. */
static const char marks[] = {'\0', 'o', 'x', '+', '#'};

typedef struct grid {
    const fgi_chart *chart;
    chart_axes axes;
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
    return (int)lround((1 - place_on(&g->axes.y, value)) * (g->rows * g->dots_y - 1));
}

static void plot(grid *g, size_t s)
{
    const fgi_series *one = &g->chart->series[s];
    int last_x = -1, last_y = 0;
    for (int x = 0; one->x == NULL && one->count > 0 && x < g->columns; x++)
        set_dot(g, x * g->dots_x, dot_y(g, one->y[0]), '-');
    for (size_t i = 0; one->x != NULL && i < one->count; i++) {
        if (!has_point(one, i)) {
            last_x = -1;
            continue;
        }
        const double right = place_on(&g->axes.x, one->x[i]);
        const int x = (int)lround(right * (g->columns * g->dots_x - 1));
        const int y = dot_y(g, value_of(g->chart, s, i));
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
    const chart_axis *y = &g->axes.y;
    for (int i = 0; i < y->ticks; i++)
        if (dot_y(g, y->tick[i]) / g->dots_y == row)
            return label_of(y->tick[i], g->chart->y_unit, out);
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
    const chart_axis *x = &g->axes.x;
    const char *name = g->chart->x_label != NULL ? g->chart->x_label : "";
    char line[MAX_COLUMNS + 1] = "", text[32];
    bool is_tick[MAX_COLUMNS] = {false};
    int used = 0;
    memset(line, ' ', (size_t)g->columns);
    for (int i = 0; i < x->ticks; i++) {
        const int at = (int)lround(place_on(x, x->tick[i]) * (g->columns - 1));
        const int size = (int)strlen(label_of(x->tick[i], NULL, text));
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
        find_axes(chart, columns / 12, clamp(g.rows / 2 + 1, 2, 5), &g.axes, out);
    for (int i = 0; i < g.axes.y.ticks; i++)
        g.labels = clamp((int)strlen(label_of(g.axes.y.tick[i], chart->y_unit, text)), g.labels,
                         MIN_COLUMNS / 2);
    if (chart->title != NULL) {
        fgi_buf_printf(out, "%*s  ", g.labels, "");
        put_axes_title(out, chart, &g.axes);
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

/* ---- SVG ------------------------------------------------------------------------------------- */

enum { WIDTH = 480, HEIGHT = 250, LEFT = 58, RIGHT = 470, TOP = 8, BOTTOM = 208, BUCKETS = 400 };
enum { LABELS = 5, MARKED = 24 }; /* labels of an axis; a curve of fewer points has marks on them */
enum { TITLE = 28, LEGEND = 20, KEY = 16, LETTER = 7, PNG_WIDTH = 1200 };

/* s0 to s7 are the colors of series. Contrast to the background: at least 3, of text 4.5. */
const char fgi_chart_style[] =
    "svg text{fill:#555;font:13px sans-serif}svg .title{fill:#1c1c1c;font-weight:bold}"
    "svg .back{fill:#fff}svg .grid{stroke:#d4d4d4}svg .curve{fill:none;stroke:currentColor;"
    "stroke-width:2;stroke-linejoin:round}svg .limit{stroke-dasharray:6 4}"
    "svg .area,svg .dot{fill:currentColor}\n"
    ".s0{color:#2e7d5b}.s1{color:#c4661f}.s2{color:#8e5bb0}.s3{color:#3667a6}.s4{color:#c62828}"
    ".s5{color:#8a7400}.s6{color:#707070}.s7{color:#00838f}\n"
    "@media (prefers-color-scheme:dark){svg text{fill:#a8b0b8}svg .title{fill:#e8e8e8}"
    "svg .back{fill:#14171a}svg .grid{stroke:#3a4047}.s0{color:#4db888}.s1{color:#f0a060}"
    ".s2{color:#c39be0}.s3{color:#7fb0ea}.s4{color:#f08080}.s5{color:#d8c24a}.s6{color:#a0a0a0}"
    ".s7{color:#4fc3d0}}\n";

typedef struct drawing {
    fgi_buf *out;
    const fgi_chart *chart;
    chart_axes axes;
    double left; /* makes room for the labels of the y axis */
} drawing;

static int color_of(const drawing *d, size_t s)
{
    return (int)(((size_t)d->chart->color + s) % FGI_CHART_SERIES);
}

/* ---- axes ------------------------------------------------------------------------------------ */

static double place_x(const drawing *d, double x)
{
    return d->left + place_on(&d->axes.x, x) * (RIGHT - d->left);
}

static double place_y(const drawing *d, double y)
{
    return BOTTOM + place_on(&d->axes.y, y) * (TOP - BOTTOM);
}

/* Digits are at most 10.3 pixels wide. */
static bool find_svg_axes(drawing *d)
{
    char label[32];
    d->left = LEFT;
    if (!find_axes(d->chart, LABELS, LABELS, &d->axes, d->out))
        return false;
    for (int i = 0; i < d->axes.y.ticks; i++) {
        label_of(d->axes.y.tick[i], d->chart->y_unit, label);
        const size_t points = strchr(label, '.') != NULL;
        d->left = fmax(d->left, 8 + 10.3 * ((double)strlen(label) - 0.5 * (double)points));
    }
    return true;
}

static void put_axes(const drawing *d)
{
    char label[32];
    for (int i = 0; i < d->axes.x.ticks; i++) {
        const double at = place_x(d, d->axes.x.tick[i]);
        fgi_buf_printf(d->out,
                       "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text "
                       "x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                       at, at, BOTTOM, BOTTOM + 4, at, BOTTOM + 18,
                       at > RIGHT - 12 ? "end" : "middle",
                       label_of(d->axes.x.tick[i], NULL, label));
    }
    for (int i = 0; i < d->axes.y.ticks; i++) {
        const double at = place_y(d, d->axes.y.tick[i]);
        fgi_buf_printf(d->out,
                       "<line class=\"grid\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                       "x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                       d->left, RIGHT, at, at, d->left - 6, at + 4,
                       label_of(d->axes.y.tick[i], d->chart->y_unit, label));
    }
    if (d->chart->x_label == NULL)
        return;
    fgi_buf_printf(d->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                   (d->left + RIGHT) / 2, HEIGHT - 6);
    fgi_html_text(d->out, d->chart->x_label);
    fgi_buf_puts(d->out, "</text>\n");
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void put_point(const drawing *d, double x, double y)
{
    fgi_buf_printf(d->out, "%.1f,%.1f ", place_x(d, x), place_y(d, y));
}

/* The least and the greatest of the points [from, to), in their order. */
static void put_bucket(const drawing *d, const fgi_series *s, size_t from, size_t to)
{
    size_t low = from, high = from;
    for (size_t i = from; i < to; i++) {
        low = s->y[i] < s->y[low] ? i : low;
        high = s->y[i] > s->y[high] ? i : high;
    }
    const size_t first = low < high ? low : high, last = low < high ? high : low;
    put_point(d, s->x[first], s->y[first]);
    if (last != first)
        put_point(d, s->x[last], s->y[last]);
}

/* A run of points [from, to). */
static void put_line(const drawing *d, const fgi_series *s, size_t from, size_t to, int color)
{
    const size_t stride = s->count / BUCKETS + 1;
    for (size_t i = from; i < to && (to - from == 1 || s->count <= MARKED); i++)
        fgi_buf_printf(d->out, "<circle class=\"dot s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>\n",
                       color, place_x(d, s->x[i]), place_y(d, s->y[i]), to - from == 1 ? 4 : 3);
    if (to - from == 1)
        return;
    fgi_buf_printf(d->out, "<polyline class=\"curve s%d\" points=\"", color);
    for (size_t i = from; i < to; i += stride)
        put_bucket(d, s, i, i + stride < to ? i + stride : to);
    if (stride > 1)
        put_point(d, s->x[to - 1], s->y[to - 1]);
    fgi_buf_puts(d->out, "\"/>\n");
}

static void put_curve(const drawing *d, size_t s)
{
    const fgi_series *one = &d->chart->series[s];
    size_t from = 0;
    if (one->x == NULL && has_point(one, 0))
        fgi_buf_printf(d->out,
                       "<line class=\"curve limit s%d\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" "
                       "y2=\"%.1f\"/>\n",
                       color_of(d, s), d->left, RIGHT, place_y(d, one->y[0]),
                       place_y(d, one->y[0]));
    for (size_t i = 0; one->x != NULL && i <= one->count; i++) {
        if (has_point(one, i))
            continue;
        if (i > from)
            put_line(d, one, from, i, color_of(d, s));
        from = i + 1;
    }
}

/* The area between the sums up to series s - 1 and s. */
static void put_area(const drawing *d, size_t s)
{
    const fgi_series *one = &d->chart->series[s];
    fgi_buf_printf(d->out, "<polygon class=\"area s%d\" points=\"", color_of(d, s));
    for (size_t i = 0; i < one->count; i++)
        put_point(d, one->x[i], value_of(d->chart, s, i));
    for (size_t i = one->count; i > 0; i--)
        put_point(d, one->x[i - 1], s > 0 ? value_of(d->chart, s - 1, i - 1) : 0);
    fgi_buf_puts(d->out, "\"/>\n");
}

static void put_plot(const drawing *d)
{
    for (size_t s = 0; d->chart->is_stacked && s < d->chart->count; s++)
        put_area(d, s);
    put_axes(d);
    for (size_t s = 0; !d->chart->is_stacked && s < d->chart->count; s++)
        put_curve(d, s);
}

/* ---- in a page ------------------------------------------------------------------------------- */

/* The first finite value of a series, or the last; false if there is none. */
static bool find_end(const fgi_series *one, bool is_last, double *out)
{
    for (size_t i = 0; i < one->count; i++) {
        *out = one->y[is_last ? one->count - 1 - i : i];
        if (isfinite(*out))
            return true;
    }
    return false;
}

static void put_words(const drawing *d)
{
    double first, last;
    fgi_html_text(d->out, d->chart->title);
    for (size_t s = 0; s < d->chart->count; s++) {
        const fgi_series *one = &d->chart->series[s];
        if (!find_end(one, false, &first) || !find_end(one, true, &last))
            continue;
        fgi_buf_puts(d->out, s > 0 ? "; " : ": ");
        fgi_html_text(d->out, one->name);
        fgi_buf_printf(d->out, " from %.4g to %.4g", first, last);
    }
}

static void put_svg_title(const drawing *d)
{
    fgi_buf title = {0};
    put_axes_title(&title, d->chart, &d->axes);
    fgi_html_text(d->out, fgi_buf_text(&title));
    fgi_buf_fini_part(&title, d->out);
}

/* The title names a single curve. */
static void put_svg_legend(const drawing *d)
{
    fgi_buf_puts(d->out, "<p class=\"legend\">");
    for (size_t s = 0; s < d->chart->count; s++) {
        fgi_buf_printf(d->out, "<span><i class=\"key s%d\"></i>", color_of(d, s));
        fgi_html_text(d->out, d->chart->series[s].name);
        fgi_buf_puts(d->out, "</span> ");
    }
    fgi_buf_puts(d->out, "</p>\n");
}

void fgi_chart_put_figure(fgi_buf *out, const fgi_chart *chart)
{
    drawing d = {.out = out, .chart = chart};
    if (!find_svg_axes(&d))
        return;
    fgi_buf_puts(out, "<figure><figcaption>");
    put_svg_title(&d);
    fgi_buf_printf(out,
                   "</figcaption>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d "
                   "%d\" role=\"img\" aria-label=\"",
                   WIDTH, HEIGHT);
    put_words(&d);
    fgi_buf_puts(out, "\">\n");
    put_plot(&d);
    fgi_buf_puts(out, "</svg>\n");
    if (chart->count > 1)
        put_svg_legend(&d);
    fgi_buf_puts(out, "</figure>\n");
}

/* ---- a document ------------------------------------------------------------------------------ */

/* The legend below the plot, in as many lines as it needs; returns their height. `out` may be NULL.
 */
static int put_keys(fgi_buf *out, const drawing *d)
{
    int x = LEFT, y = HEIGHT + LEGEND - 6;
    for (size_t s = 0; s < d->chart->count; s++) {
        const char *name = d->chart->series[s].name;
        const int width = 2 * KEY + LETTER * (int)fgi_text_columns(name);
        if (x > LEFT && x + width > WIDTH) {
            x = LEFT;
            y += LEGEND;
        }
        if (out != NULL) {
            fgi_buf_printf(out,
                           "<rect class=\"dot s%d\" x=\"%d\" y=\"%d\" width=\"10\" height=\"10\"/>"
                           "<text x=\"%d\" y=\"%d\">",
                           color_of(d, s), x, y - 10, x + KEY, y);
            fgi_html_text(out, name);
            fgi_buf_puts(out, "</text>\n");
        }
        x += width;
    }
    return d->chart->count > 1 ? y + 6 - HEIGHT : 0;
}

static int height_of(const fgi_chart *chart)
{
    return TITLE + HEIGHT + put_keys(NULL, &(drawing){.chart = chart});
}

void fgi_chart_put_svg(fgi_buf *out, const fgi_chart *charts, size_t count)
{
    int height = 0, top = 0;
    for (size_t i = 0; i < count; i++)
        height += height_of(&charts[i]);
    fgi_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n<style>%s</style>\n"
                   "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n",
                   WIDTH, height, WIDTH, height, fgi_chart_style, WIDTH, height);
    for (size_t i = 0; i < count; i++) {
        drawing d = {.out = out, .chart = &charts[i]};
        const bool has_points = find_svg_axes(&d);
        fgi_buf_printf(out,
                       "<g transform=\"translate(0,%d)\">\n<text class=\"title\" x=\"%.1f\" "
                       "y=\"-8\">",
                       top + TITLE, d.left);
        put_svg_title(&d);
        fgi_buf_puts(out, "</text>\n");
        if (has_points)
            put_plot(&d);
        if (has_points && charts[i].count > 1)
            (void)put_keys(out, &d);
        fgi_buf_puts(out, "</g>\n");
        top += height_of(&charts[i]);
    }
    fgi_buf_puts(out, "</svg>\n");
}

fg_status fgi_chart_put_png(fgi_buf *out, const fgi_chart *charts, size_t count, fg_error *err)
{
    fgi_buf svg = {0};
    fgi_chart_put_svg(&svg, charts, count);
    fg_status status = fgi_buf_status(&svg, err);
    if (status == FG_OK)
        status = fgi_svg_to_png(svg.data, svg.size, PNG_WIDTH, out, err);
    fgi_buf_fini(&svg);
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

fg_status fgi_chart_file_check(const char *path, fg_error *err)
{
    static const char *const ends[] = {".csv", ".json", ".svg", ".png"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (fgi_ends_with(path, ends[i]))
            return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s': expected a file name that ends in .csv, .json, .svg or "
                    ".png",
                    path);
}

static fg_status put_file(const fgi_chart_file *f, const char *path, fgi_buf *out, fg_error *err)
{
    if (fgi_ends_with(path, ".png"))
        return fgi_chart_put_png(out, f->charts, f->count, err);
    if (fgi_ends_with(path, ".svg"))
        fgi_chart_put_svg(out, f->charts, f->count);
    else if (fgi_ends_with(path, ".csv"))
        f->put_csv(f->self, out);
    else
        fgi_json_put(out, f->json(f->self), JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    return fgi_buf_status(out, err);
}

fg_status fgi_chart_file_write(const fgi_chart_file *file, const char *path, fg_error *err)
{
    fgi_buf data = {0};
    fg_status status = fgi_chart_file_check(path, err);
    if (status == FG_OK)
        status = put_file(file, path, &data, err);
    if (status == FG_OK)
        status = fg_file_write(path, data.data, data.size, err);
    fgi_buf_fini(&data);
    return status;
}
