/* chart.c - see chart.h. Coordinates are pixels of the view box, which is scaled to the page.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "report/html.h"

enum { WIDTH = 480, HEIGHT = 250, LEFT = 58, RIGHT = 470, TOP = 8, BOTTOM = 208, BUCKETS = 400 };
enum { TICKS_MAX = 12, COLORS = 8 };
static const double log_range = 100;

typedef struct axis {
    double low, high, from, to; /* values and their pixels */
    bool is_log;
} axis;

typedef struct chart {
    fgi_buf *out;
    const fgi_draw_series *series;
    size_t count;
    const fgi_chart_options *o;
    axis x, y;
    fgi_draw_range range; /* of y: outliers are drawn at the edge */
} chart;

/* ---- axes ------------------------------------------------------------------------------------ */

static double place(const axis *a, double value)
{
    const double low = a->is_log ? log10(a->low) : a->low;
    const double high = a->is_log ? log10(a->high) : a->high;
    const double at = a->is_log ? log10(value) : value;
    return a->from + (at - low) / (high - low) * (a->to - a->from);
}

static void include(double *low, double *high, double value)
{
    *low = !(value >= *low) ? value : *low;
    *high = !(value <= *high) ? value : *high;
}

/* The sum of the first series up to s at point i; of curves, the value itself. */
static double height(const chart *c, size_t s, size_t i)
{
    double sum = 0;
    if (!c->o->is_stacked)
        return c->series[s].y[i];
    for (size_t k = 0; k <= s; k++)
        sum += c->series[k].y[i] > 0 ? c->series[k].y[i] : 0;
    return sum;
}

/* 1, 2 or 5 times a power of ten, so that there are at most `most` steps. */
static double step_of(double range, int most)
{
    const double raw = range / most, power = pow(10, floor(log10(raw))), f = raw / power;
    return power * (f <= 1 ? 1 : f <= 2 ? 2 : f <= 5 ? 5 : 10);
}

/* Extends a linear axis to whole steps. */
static void round_out(axis *a, int most)
{
    const double step = step_of(a->high - a->low, most);
    a->low = step * floor(a->low / step + 1e-9);
    a->high = step * ceil(a->high / step - 1e-9);
}

/* The values at which an axis has labels; returns how many. */
static int find_ticks(const chart *c, bool is_x, double out[TICKS_MAX])
{
    const axis *a = is_x ? &c->x : &c->y;
    int count = 0;
    if (a->is_log) {
        const int first = (int)ceil(log10(a->low) - 1e-9);
        const int last = (int)floor(log10(a->high) + 1e-9);
        for (int power = first; power <= last; power += (last - first) / TICKS_MAX + 1)
            out[count++] = pow(10, power);
        return count;
    }
    double step = step_of(a->high - a->low, 5);
    if (is_x && step < 1 && !c->o->has_real_x) /* steps are integers */
        step = 1;
    const double first = ceil(a->low / step - 1e-9);
    while (count < TICKS_MAX && (first + count) * step <= a->high + step * 1e-9) {
        out[count] = (first + count) * step;
        count++;
    }
    return count;
}

/* "0.25", "120k", "610M" */
static const char *label_of(double value, char out[32])
{
    static const char units[] = {'k', 'M', 'G', 'T', 'P'};
    int unit = -1;
    for (double left = fabs(value); left >= 1e5 || (unit >= 0 && left >= 1e3); left /= 1e3) {
        if (unit + 1 == (int)sizeof units)
            break;
        unit++;
    }
    const double scale = pow(1e3, unit + 1);
    (void)fgi_snprintf(out, 32, "%.6g%.*s", value / scale, unit >= 0 ? 1 : 0,
                       unit >= 0 ? &units[unit] : "");
    return out;
}

/* Makes room for the labels of the y axis; digits are at most 10.3 pixels wide. */
static void widen_margin(chart *c)
{
    double ticks[TICKS_MAX];
    char label[32];
    const int count = find_ticks(c, false, ticks);
    for (int i = 0; i < count; i++) {
        const size_t points = strchr(label_of(ticks[i], label), '.') != NULL;
        c->x.from = fmax(c->x.from, 8 + 10.3 * ((double)strlen(label) - 0.5 * (double)points));
    }
}

/* The y axis of these values. Outliers may be within it after all, because it ends at a round
 * number. */
static void find_y(chart *c, double *y, size_t count)
{
    const bool is_stacked = c->o->is_stacked;
    fgi_draw_range *r = &c->range;
    fgi_draw_find_range(y, count, is_stacked ? HUGE_VAL : c->o->is_log ? 0 : log_range, r);
    if (is_stacked || c->o->is_log) { /* they show all */
        r->low = y[0];
        r->high = y[count - 1];
    }
    if (!r->is_log && (is_stacked || (r->low >= 0 && r->low < r->high / 2)))
        r->low = 0;
    if (!(r->high > r->low)) {
        const double room = r->is_log ? 0.05 : fabs(r->high) > 0 ? fabs(r->high) / 10 : 1;
        r->low -= is_stacked ? 0 : room;
        r->high += room;
    }
    c->y = (axis){r->low, r->high, BOTTOM, TOP, r->is_log};
    if (r->is_log) {
        r->low = floor(r->low * 2) / 2;
        r->high = ceil(r->high * 2) / 2;
        c->y.low = pow(10, r->low);
        c->y.high = pow(10, r->high);
    } else if (!is_stacked) {
        round_out(&c->y, 5);
        r->low = c->y.low;
        r->high = c->y.high;
    }
    while (r->above > 0 && !(y[count - r->above] > r->high))
        r->above--;
    while (r->below > 0 && !(y[r->below - 1] < r->low))
        r->below--;
}

/* False if nothing can be drawn. */
static bool find_axes(chart *c)
{
    double low = NAN, high = NAN;
    size_t most = 1, used = 0;
    for (size_t s = 0; s < c->count; s++)
        most += c->series[s].count;
    double *y = fgi_calloc(most, sizeof *y);
    c->out->failed = c->out->failed || y == NULL;
    for (size_t s = 0; y != NULL && s < c->count; s++)
        for (size_t i = 0; i < c->series[s].count; i++) {
            y[used] = height(c, s, i);
            if (!isfinite(y[used]) || !isfinite(c->series[s].x[i]))
                continue;
            include(&low, &high, c->series[s].x[i]);
            used++;
        }
    if (used > 0)
        find_y(c, y, used);
    fgi_free(y);
    if (used == 0)
        return false;
    c->x = (axis){low, high > low ? high : low + 1, LEFT, RIGHT, c->o->is_log};
    widen_margin(c);
    return true;
}

static void put_tick(const chart *c, bool is_x, double value)
{
    const double at = place(is_x ? &c->x : &c->y, value);
    char label[32];
    if (is_x)
        fgi_buf_printf(c->out,
                       "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text "
                       "x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                       at, at, BOTTOM, BOTTOM + 4, at, BOTTOM + 18,
                       at > RIGHT - 12 ? "end" : "middle", label_of(value, label));
    else
        fgi_buf_printf(c->out,
                       "<line class=\"grid\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                       "x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                       c->x.from, RIGHT, at, at, c->x.from - 6, at + 4, label_of(value, label));
}

static void put_ticks(const chart *c, bool is_x)
{
    double ticks[TICKS_MAX];
    const int count = find_ticks(c, is_x, ticks);
    for (int i = 0; i < count; i++)
        put_tick(c, is_x, ticks[i]);
}

/* ---- curves ---------------------------------------------------------------------------------- */

static double place_y(const chart *c, double y)
{
    return place(&c->y, fmin(fmax(y, c->y.low), c->y.high));
}

static void put_point(const chart *c, double x, double y)
{
    fgi_buf_printf(c->out, "%.1f,%.1f ", place(&c->x, x), place_y(c, y));
}

/* The least and the greatest of the points [from, to), in their order. */
static void put_bucket(const chart *c, const fgi_draw_series *s, size_t from, size_t to)
{
    size_t low = from, high = from;
    for (size_t i = from; i < to; i++) {
        low = s->y[i] < s->y[low] ? i : low;
        high = s->y[i] > s->y[high] ? i : high;
    }
    const size_t first = low < high ? low : high, last = low < high ? high : low;
    put_point(c, s->x[first], s->y[first]);
    if (last != first)
        put_point(c, s->x[last], s->y[last]);
}

/* A run of finite points [from, to). */
static void put_line(const chart *c, const fgi_draw_series *s, size_t from, size_t to, int color)
{
    const size_t stride = s->count / BUCKETS + 1;
    if (to - from == 1) {
        fgi_buf_printf(c->out, "<circle class=\"dot s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                       color, place(&c->x, s->x[from]), place_y(c, s->y[from]));
        return;
    }
    fgi_buf_printf(c->out, "<polyline class=\"curve s%d\" points=\"", color);
    for (size_t i = from; i < to; i += stride)
        put_bucket(c, s, i, i + stride < to ? i + stride : to);
    if (stride > 1)
        put_point(c, s->x[to - 1], s->y[to - 1]);
    fgi_buf_puts(c->out, "\"/>\n");
}

static int color_of(const chart *c, size_t s) { return (int)((size_t)c->o->color + s) % COLORS; }

static void put_curve(const chart *c, size_t s)
{
    const fgi_draw_series *one = &c->series[s];
    size_t from = 0;
    for (size_t i = 0; i <= one->count; i++) {
        if (i < one->count && isfinite(one->x[i]) && isfinite(one->y[i]))
            continue;
        if (i > from)
            put_line(c, one, from, i, color_of(c, s));
        from = i + 1;
    }
}

/* The area between the sums up to series s - 1 and s. */
static void put_area(const chart *c, size_t s)
{
    const fgi_draw_series *one = &c->series[s];
    fgi_buf_printf(c->out, "<polygon class=\"area s%d\" points=\"", color_of(c, s));
    for (size_t i = 0; i < one->count; i++)
        put_point(c, one->x[i], height(c, s, i));
    for (size_t i = one->count; i > 0; i--)
        put_point(c, one->x[i - 1], s > 0 ? height(c, s - 1, i - 1) : 0);
    fgi_buf_puts(c->out, "\"/>\n");
}

/* ---- figure ---------------------------------------------------------------------------------- */

/* The first finite value of a series, or the last; false if there is none. */
static bool find_end(const fgi_draw_series *one, bool is_last, double *out)
{
    for (size_t i = 0; i < one->count; i++) {
        *out = one->y[is_last ? one->count - 1 - i : i];
        if (isfinite(*out))
            return true;
    }
    return false;
}

static void put_words(const chart *c)
{
    double first, last;
    fgi_html_text(c->out, c->o->title);
    for (size_t s = 0; s < c->count; s++) {
        const fgi_draw_series *one = &c->series[s];
        if (!find_end(one, false, &first) || !find_end(one, true, &last))
            continue;
        fgi_buf_puts(c->out, s > 0 ? "; " : ": ");
        fgi_html_text(c->out, one->name);
        fgi_buf_printf(c->out, " from %.4g to %.4g", first, last);
    }
}

/* The title names a single curve. */
static void put_legend(const chart *c)
{
    fgi_buf_puts(c->out, "<p class=\"legend\">");
    for (size_t s = 0; s < c->count; s++) {
        fgi_buf_printf(c->out, "<span><i class=\"key s%d\"></i>", color_of(c, s));
        fgi_html_text(c->out, c->series[s].name);
        fgi_buf_puts(c->out, "</span> ");
    }
    fgi_buf_puts(c->out, "</p>\n");
}

void fgi_chart_put(fgi_buf *out, const fgi_draw_series *series, size_t count,
                   const fgi_chart_options *options)
{
    chart c = {.out = out, .series = series, .count = count, .o = options};
    if (!find_axes(&c))
        return;
    fgi_buf_puts(out, "<figure><figcaption>");
    fgi_html_text(out, options->title);
    if (!options->is_log)
        fgi_draw_put_notes(out, &c.range);
    fgi_buf_printf(out,
                   "</figcaption>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d "
                   "%d\" role=\"img\" aria-label=\"",
                   WIDTH, HEIGHT);
    put_words(&c);
    fgi_buf_puts(out, "\">\n");
    for (size_t s = 0; options->is_stacked && s < count; s++)
        put_area(&c, s);
    put_ticks(&c, true);
    put_ticks(&c, false);
    for (size_t s = 0; !options->is_stacked && s < count; s++)
        put_curve(&c, s);
    fgi_buf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", (c.x.from + RIGHT) / 2,
                   HEIGHT - 6);
    fgi_html_text(out, options->x_label);
    fgi_buf_puts(out, "</text>\n</svg>\n");
    if (count > 1)
        put_legend(&c);
    fgi_buf_puts(out, "</figure>\n");
}
