/* chart_svg.c - charts as SVG: in a page, as a document, and as a PNG file, which librsvg makes
 * from the document. Coordinates are pixels of the view box, which is scaled to the page.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/svg_library.h"

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
    fgi_chart_axes axes;
    double left; /* makes room for the labels of the y axis */
} drawing;

static int color_of(const drawing *d, size_t s)
{
    return (int)(((size_t)d->chart->color + s) % FGI_CHART_SERIES);
}

/* ---- axes ------------------------------------------------------------------------------------ */

static double place_x(const drawing *d, double x)
{
    return d->left + fgi_axis_place(&d->axes.x, x) * (RIGHT - d->left);
}

static double place_y(const drawing *d, double y)
{
    return BOTTOM + fgi_axis_place(&d->axes.y, y) * (TOP - BOTTOM);
}

/* Digits are at most 10.3 pixels wide. */
static bool find_axes(drawing *d)
{
    char label[32];
    d->left = LEFT;
    if (!fgi_chart_find_axes(d->chart, LABELS, LABELS, &d->axes, d->out))
        return false;
    for (int i = 0; i < d->axes.y.ticks; i++) {
        fgi_axis_label(d->axes.y.tick[i], d->chart->y_unit, label);
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
                       fgi_axis_label(d->axes.x.tick[i], NULL, label));
    }
    for (int i = 0; i < d->axes.y.ticks; i++) {
        const double at = place_y(d, d->axes.y.tick[i]);
        fgi_buf_printf(d->out,
                       "<line class=\"grid\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                       "x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                       d->left, RIGHT, at, at, d->left - 6, at + 4,
                       fgi_axis_label(d->axes.y.tick[i], d->chart->y_unit, label));
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
    if (one->x == NULL && fgi_chart_has_point(one, 0))
        fgi_buf_printf(d->out,
                       "<line class=\"curve limit s%d\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" "
                       "y2=\"%.1f\"/>\n",
                       color_of(d, s), d->left, RIGHT, place_y(d, one->y[0]),
                       place_y(d, one->y[0]));
    for (size_t i = 0; one->x != NULL && i <= one->count; i++) {
        if (fgi_chart_has_point(one, i))
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
        put_point(d, one->x[i], fgi_chart_value(d->chart, s, i));
    for (size_t i = one->count; i > 0; i--)
        put_point(d, one->x[i - 1], s > 0 ? fgi_chart_value(d->chart, s - 1, i - 1) : 0);
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

static void put_title(const drawing *d)
{
    fgi_buf title = {0};
    fgi_chart_put_title(&title, d->chart, &d->axes);
    fgi_html_text(d->out, title.data != NULL ? title.data : "");
    d->out->failed = d->out->failed || title.failed;
    fgi_buf_fini(&title);
}

/* The title names a single curve. */
static void put_legend(const drawing *d)
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
    if (!find_axes(&d))
        return;
    fgi_buf_puts(out, "<figure><figcaption>");
    put_title(&d);
    fgi_buf_printf(out,
                   "</figcaption>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d "
                   "%d\" role=\"img\" aria-label=\"",
                   WIDTH, HEIGHT);
    put_words(&d);
    fgi_buf_puts(out, "\">\n");
    put_plot(&d);
    fgi_buf_puts(out, "</svg>\n");
    if (chart->count > 1)
        put_legend(&d);
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
        const bool has_points = find_axes(&d);
        fgi_buf_printf(out,
                       "<g transform=\"translate(0,%d)\">\n<text class=\"title\" x=\"%.1f\" "
                       "y=\"-8\">",
                       top + TITLE, d.left);
        put_title(&d);
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
    else if (!f->put_json(f->self, out))
        return fgi_no_memory(err);
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
