/* chart.c - the axes of a chart: their ranges and labels. See chart.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/text.h"

static const double fence = 4; /* interquartile ranges beyond which a value is an outlier */

bool fgi_chart_has_point(const fgi_series *s, size_t i)
{
    return i < s->count && isfinite(s->y[i]) && (s->x == NULL || isfinite(s->x[i]));
}

double fgi_chart_value(const fgi_chart *chart, size_t s, size_t i)
{
    double sum = 0;
    if (!chart->is_stacked)
        return chart->series[s].y[i];
    for (size_t k = 0; k <= s; k++)
        sum += chart->series[k].y[i] > 0 ? chart->series[k].y[i] : 0;
    return sum;
}

double fgi_axis_place(const fgi_chart_axis *a, double value)
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

static void find_ticks(fgi_chart_axis *a, double step)
{
    const double first = ceil(a->low / step - 1e-9);
    while (a->ticks < FGI_TICKS && (first + a->ticks) * step <= a->high + step * 1e-9) {
        a->tick[a->ticks] = (first + a->ticks) * step;
        a->ticks++;
    }
}

/* Powers of ten; of a short axis, also 2 and 5 times them, of a very short one, whole steps. */
static void find_log_ticks(fgi_chart_axis *a, int most)
{
    static const double factors[] = {1, 2, 5};
    const double decades = log10(a->high / a->low);
    const int each = decades < most / 2.5 ? 3 : 1, stride = (int)(decades / (most + 1)) + 1;
    const int first = (int)ceil(log10(a->low) - 1e-9) - (each > 1 ? 1 : 0);
    if (decades < 1)
        find_ticks(a, step_of(a->high - a->low, most));
    for (int power = first; decades >= 1 && power <= log10(a->high) + 1e-9; power += stride)
        for (int i = 0; i < each && a->ticks < FGI_TICKS; i++) {
            const double value = factors[i] * pow(10, power);
            if (value >= a->low * (1 - 1e-9) && value <= a->high * (1 + 1e-9))
                a->tick[a->ticks++] = value;
        }
}

const char *fgi_axis_label(double value, const char *unit, char out[32])
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
static void find_y(const fgi_chart *chart, double *y, size_t count, int labels, fgi_chart_axes *out)
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
    out->y = (fgi_chart_axis){r.is_log ? pow(10, r.low) : r.low,
                              r.is_log ? pow(10, r.high) : r.high, .is_log = r.is_log};
    if (r.is_log)
        find_log_ticks(&out->y, labels);
    else
        find_ticks(&out->y, step);
}

bool fgi_chart_find_axes(const fgi_chart *chart, int x_labels, int y_labels, fgi_chart_axes *out,
                         fgi_buf *failed)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    size_t most = 1, used = 0;
    *out = (fgi_chart_axes){0};
    for (size_t s = 0; s < chart->count; s++)
        most += chart->series[s].count;
    double *y = fgi_calloc(most, sizeof *y);
    failed->failed = failed->failed || y == NULL;
    for (size_t s = 0; y != NULL && s < chart->count; s++)
        for (size_t i = 0; i < chart->series[s].count; i++) {
            const fgi_series *one = &chart->series[s];
            const double value = fgi_chart_value(chart, s, i);
            if (!fgi_chart_has_point(one, i) || !isfinite(value))
                continue;
            y[used++] = value;
            low = one->x == NULL ? low : fmin(low, one->x[i]);
            high = one->x == NULL ? high : fmax(high, one->x[i]);
        }
    const bool has_points = used > 0 && low <= high;
    if (has_points)
        find_y(chart, y, used, y_labels, out);
    fgi_free(y);
    out->x = (fgi_chart_axis){low, high > low ? high : low + 1, .is_log = chart->is_log_x};
    if (has_points && chart->is_log_x)
        find_log_ticks(&out->x, x_labels);
    else if (has_points)
        find_ticks(&out->x,
                   fmax(step_of(out->x.high - out->x.low, x_labels), chart->has_real_x ? 0 : 1));
    return has_points;
}

void fgi_chart_put_title(fgi_buf *out, const fgi_chart *chart, const fgi_chart_axes *axes)
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
