/* lr_suggest.c - learning rates that follow from a curve of the loss over the learning rate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/tuner.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"

/* A curve with fewer points has no suggestions. */
enum { MOST_POINTS = 1 << 16, MOST_SEGMENTS = 1 << 10, LEAST_POINTS = 10 };

static const double default_smoothing = 0.2;
/* A fall counts if it exceeds its noise by this factor, and this fraction of the level. */
static const double least_signal = 6, least_fall = 1e-3;

/* A curve while it is analyzed; arrays of `count` numbers. */
typedef struct curve {
    size_t count;
    int segments;
    double width;       /* of the fit, in x */
    const double *loss; /* [segments][count] */
    double *x;          /* logarithms of the learning rates */
    double *mean;       /* of the segments, limited to `limit` */
    double *smooth;
    double *slope;  /* of `smooth` over x */
    double *sorted; /* scratch */
    double level;   /* of the loss at the start */
    double limit;   /* larger losses count as this */
    size_t lowest;  /* index of the lowest smoothed loss */
} curve;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    if (count == 0)
        return (double)NAN;
    qsort(values, count, sizeof values[0], compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Points at the start that show the level of the loss. */
static size_t level_points(const curve *c)
{
    const size_t tenth = c->count / 10;
    return tenth > 3 ? tenth : 3;
}

/* ---- smoothing ------------------------------------------------------------------------------- */

/* The mean of the segments at a learning rate. A loss that is larger than `limit`, not finite or
 * missing counts as `limit`; if that is infinite, it does not count. */
static double mean_at(const curve *c, size_t i)
{
    double sum = 0, count = 0;
    for (int s = 0; s < c->segments; s++) {
        const double loss = c->loss[(size_t)s * c->count + i];
        const bool is_known = isfinite(loss) && loss <= c->limit;
        if (!is_known && isinf(c->limit))
            continue;
        sum += is_known ? loss : c->limit;
        count++;
    }
    return count > 0 ? sum / count : (double)NAN;
}

/* Half the width of the fit at a point: at least the distance to the fourth nearest one. */
static double reach_at(const curve *c, size_t i)
{
    size_t first = i, last = i;
    for (int found = 0; found < 4 && last - first + 1 < c->count; found++) {
        const bool has_left = first > 0, has_right = last + 1 < c->count;
        const bool is_left =
            has_left && (!has_right || c->x[i] - c->x[first - 1] < c->x[last + 1] - c->x[i]);
        if (is_left)
            first--;
        else
            last++;
    }
    const double left = c->x[i] - c->x[first], right = c->x[last] - c->x[i];
    return fmax(c->width / 2, 1.01 * fmax(left, right));
}

/* The tricube weight of point j in the fit at point i. */
static double weight_of(const curve *c, size_t i, size_t j, double reach)
{
    const double d = fabs(c->x[j] - c->x[i]) / reach;
    if (d >= 1 || isnan(c->mean[j]))
        return 0;
    const double cube = 1 - d * d * d;
    return cube * cube * cube;
}

/* Fits a line to the points around point i. */
static void smooth_at(curve *c, size_t i)
{
    const double reach = reach_at(c, i);
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (size_t j = 0; j < c->count; j++) {
        const double weight = weight_of(c, i, j, reach), x = c->x[j] - c->x[i];
        if (weight <= 0)
            continue;
        w += weight;
        wx += weight * x;
        wy += weight * c->mean[j];
        wxx += weight * x * x;
        wxy += weight * x * c->mean[j];
    }
    const double spread = w * wxx - wx * wx;
    const bool is_line = spread > 1e-12 * w * wxx;
    c->slope[i] = is_line ? (w * wxy - wx * wy) / spread : 0;
    c->smooth[i] = w > 0 ? (wy - c->slope[i] * wx) / w : (double)NAN;
}

/* Smooths with the current limit, and finds the level and the minimum. */
static void smooth(curve *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->mean[i] = mean_at(c, i);
    for (size_t i = 0; i < c->count; i++)
        smooth_at(c, i);
    size_t known = 0;
    for (size_t i = 0; i < level_points(c) && i < c->count; i++)
        if (!isnan(c->mean[i]))
            c->sorted[known++] = c->mean[i];
    c->level = median(c->sorted, known);
    c->lowest = 0;
    for (size_t i = 1; i < c->count; i++)
        if (c->smooth[i] < c->smooth[c->lowest])
            c->lowest = i;
}

/* Limits losses to as much above the level as the lowest one is below it. */
static void limit(curve *c)
{
    double lowest = INFINITY;
    for (size_t i = 0; i + 2 < c->count; i++) { /* the median of three in a row */
        memcpy(c->sorted, c->mean + i, 3 * sizeof c->sorted[0]);
        const double middle = median(c->sorted, 3);
        lowest = middle < lowest ? middle : lowest;
    }
    const double fall = fmax(c->level - lowest, 1e-3 * fabs(c->level));
    c->limit = c->level + fall;
}

/* ---- whether there is a fall ----------------------------------------------------------------- */

/* The standard error of the fall: of the smoothed loss, and of the median at the start. The spread
 * of the residuals up to the minimum is estimated by their median, which outliers do not change. */
static double noise_of(const curve *c)
{
    size_t known = 0;
    double w = 0, ww = 0;
    const double of_median = 1.5708 / (double)level_points(c); /* pi/2: of a normal sample */
    const size_t middle = c->lowest / 2;
    const double reach = reach_at(c, middle);
    for (size_t i = 0; i <= c->lowest; i++)
        if (!isnan(c->mean[i]))
            c->sorted[known++] = fabs(c->mean[i] - c->smooth[i]);
    for (size_t j = 0; j < c->count; j++) {
        const double weight = weight_of(c, middle, j, reach);
        w += weight;
        ww += weight * weight;
    }
    const double deviation = 1.4826 * median(c->sorted, known);
    return w > 0 ? deviation * sqrt(ww / (w * w) + of_median) : (double)NAN;
}

/* What to change if the loss rises too early in the curve. */
static const char *earlier(const curve *c, const double *lr)
{
    const bool is_linear =
        c->count > 2 && lr[c->count - 1] - lr[c->count - 2] < 2 * (lr[1] - lr[0]);
    return is_linear ? "a lower max_lr or an exponential sweep" : "a lower min_lr";
}

/* Whether the loss falls; if not, says so. */
static bool falls(const curve *c, const double *lr, fg_lr_suggestions *out)
{
    out->fall = c->level - c->smooth[c->lowest];
    out->noise = noise_of(c);
    if (isnan(c->level) || isnan(out->fall)) {
        (void)fgi_snprintf(out->note, sizeof out->note,
                           "no loss is finite, not even at the lowest learning rate, %g", lr[0]);
        return false;
    }
    const bool is_clear = out->fall > least_signal * out->noise;
    if (c->lowest > 2 && is_clear && out->fall > least_fall * fabs(c->level))
        return true;
    if (c->lowest < level_points(c)) /* the level may be that of the rise */
        (void)fgi_snprintf(out->note, sizeof out->note,
                           "the loss does not fall clearly between the learning rates %g and %g: "
                           "it is lowest at %g, one of the first; if it rises from there, use %s",
                           lr[0], lr[c->count - 1], lr[c->lowest], earlier(c, lr));
    else
        (void)fgi_snprintf(out->note, sizeof out->note,
                           "the loss does not fall clearly between the learning rates %g and %g: "
                           "its lowest value is %.3g below its level of %.3g at the start, and its "
                           "noise is %.2g",
                           lr[0], lr[c->count - 1], out->fall, c->level, out->noise);
    return false;
}

/* ---- suggestions ----------------------------------------------------------------------------- */

/* Where the loss falls from 25 % to 75 % of the way to its minimum, seen from there: noise at the
 * start is not part of it. */
static void find_fall(const curve *c, size_t *out_start, size_t *out_end)
{
    const double low = c->smooth[c->lowest], fall = c->level - low;
    size_t start = c->lowest, end;
    while (start > 0 && c->smooth[start] < c->level - 0.25 * fall)
        start--;
    end = start;
    while (end < c->lowest && c->smooth[end] > low + 0.25 * fall)
        end++;
    *out_start = start;
    *out_end = end;
}

static size_t find_steep(const curve *c, size_t start, size_t end)
{
    size_t best = start;
    for (size_t i = start; i <= end; i++)
        if (c->slope[i] < c->slope[best])
            best = i;
    return best;
}

/* The left end of an interval that slides to the left until the loss changes by nearly the same
 * from point to point at both ends: the difference is less than half of what it would be on average
 * if the whole fall was spread over the curve. At first, it ends at the minimum, or begins at the
 * valley if that is further to the left: where the loss rises or has diverged, the slopes at both
 * ends may be the same, too. */
static double find_slide(const curve *c, double valley)
{
    const size_t length = c->count * 15 / 100 + 1;
    const double fall = c->level - c->smooth[c->lowest];
    const double same = fall / 2 / (double)c->count;
    size_t latest = c->lowest + 1 < c->count ? c->lowest : c->count - 2;
    while (latest > length && exp(c->x[latest - length]) >= valley)
        latest--;
    for (size_t right = latest; right > length; right--) {
        const size_t left = right - length;
        const double at_left = (c->smooth[left + 1] - c->smooth[left - 1]) / 2;
        const double at_right = (c->smooth[right + 1] - c->smooth[right - 1]) / 2;
        if (fabs(at_left - at_right) <= same)
            return exp(c->x[left]);
    }
    return (double)NAN;
}

/* Names the limit of the sweep that hides a part of the fall. */
static void advise(const curve *c, const double *lr, size_t steep, fg_lr_suggestions *out)
{
    const size_t tenth = level_points(c);
    const double at_start = (c->smooth[tenth] - c->smooth[0]) / (c->x[tenth] - c->x[0]);
    if (c->lowest + 1 == c->count)
        (void)fgi_snprintf(out->note, sizeof out->note,
                           "the loss still falls at the highest learning rate, %g: a higher max_lr "
                           "shows where it rises",
                           lr[c->count - 1]);
    else if (at_start < c->slope[steep] / 4)
        (void)fgi_snprintf(out->note, sizeof out->note,
                           "the loss already falls at the lowest learning rate, %g: a lower min_lr "
                           "shows where the fall starts",
                           lr[0]);
}

/* Analyzes the curve; sets all of *out but the segments. */
static void suggest(curve *c, const double *lr, fg_lr_suggestions *out)
{
    const double nan = (double)NAN;
    size_t start, end;
    *out = (fg_lr_suggestions){.valley = nan,
                               .steep = nan,
                               .slide = nan,
                               .minimum = nan,
                               .valley_low = nan,
                               .valley_high = nan};
    c->limit = INFINITY;
    smooth(c);
    if (c->count < LEAST_POINTS) {
        (void)fgi_snprintf(out->note, sizeof out->note,
                           "the loss diverges after %zu step%s, at the learning rate %g: use %s",
                           c->count, fgi_s(c->count), lr[c->count - 1], earlier(c, lr));
        return;
    }
    limit(c);
    if (!isnan(c->limit))
        smooth(c);
    if (!falls(c, lr, out))
        return;
    find_fall(c, &start, &end);
    out->valley = exp((c->x[start] + c->x[end]) / 2);
    const size_t steep = find_steep(c, start, end);
    out->steep = lr[steep];
    out->slide = find_slide(c, out->valley);
    out->minimum = lr[c->lowest] / 10;
    advise(c, lr, steep, out);
}

/* The range of the valleys of single segments. */
static void compare_segments(const curve *whole, curve *scratch, const double *lr,
                             fg_lr_suggestions *out)
{
    for (int s = 0; s < whole->segments; s++) {
        fg_lr_suggestions one;
        scratch->segments = 1;
        scratch->loss = whole->loss + (size_t)s * whole->count;
        suggest(scratch, lr, &one);
        if (isnan(one.valley))
            continue;
        out->valley_low = fmin(one.valley, out->valley_low); /* the number, if the other is NaN */
        out->valley_high = fmax(one.valley, out->valley_high);
        out->usable_segments++;
    }
}

static fg_status check(const fg_lr_losses *losses, fg_error *err)
{
    const double *lr = losses->lr;
    FGI_TRY_RESERVED(fg_lr_losses, losses, err);
    if (losses->count < 1 || losses->count > MOST_POINTS || losses->segments < 1 ||
        losses->segments > MOST_SEGMENTS)
        return fgi_fail(err, FG_EINVAL,
                        "a curve of %zu learning rates and %d segments: expected 1 to %d, and 1 to "
                        "%d",
                        losses->count, losses->segments, MOST_POINTS, MOST_SEGMENTS);
    if (!(losses->smoothing >= 0 && losses->smoothing <= 1))
        return fgi_fail(err, FG_EINVAL, "smoothing is %g: expected 0 to 1", losses->smoothing);
    for (size_t i = 0; i < losses->count; i++)
        if (!(lr[i] > (i > 0 ? lr[i - 1] : 0)) || isinf(lr[i]))
            return fgi_fail(err, FG_EINVAL,
                            "learning rate %zu of the curve is %g: expected positive numbers that "
                            "increase",
                            i, lr[i]);
    return FG_OK;
}

fg_status fg_lr_suggest(const fg_lr_losses *losses, double *out_smoothed, fg_lr_suggestions *out,
                        fg_error *err)
{
    FGI_TRY(check(losses, err));
    const double *lr = losses->lr;
    const size_t count = losses->count;
    double *numbers = fgi_calloc(5 * count, sizeof *numbers);
    if (numbers == NULL)
        return fgi_no_memory(err);
    curve c = {.count = count,
               .segments = losses->segments,
               .loss = losses->loss,
               .x = numbers,
               .mean = numbers + count,
               .smooth = numbers + 2 * count,
               .slope = numbers + 3 * count,
               .sorted = numbers + 4 * count};
    for (size_t i = 0; i < count; i++)
        c.x[i] = log(lr[i]);
    c.width =
        (losses->smoothing > 0 ? losses->smoothing : default_smoothing) * (c.x[count - 1] - c.x[0]);
    suggest(&c, lr, out);
    if (out_smoothed != NULL)
        memcpy(out_smoothed, c.smooth, count * sizeof out_smoothed[0]);
    curve scratch = c;
    compare_segments(&c, &scratch, lr, out);
    fgi_free(numbers);
    return FG_OK;
}
