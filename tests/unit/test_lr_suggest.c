/* test_lr_suggest.c - suggestions from made curves whose answers are known.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdlib.h>

#include <fulgurite/tuner.h>

#include "base/buf.h"
#include "base/rng.h"
#include "golden.h"

enum { COUNT = 100, SEGMENTS = 3, SWEEPS = 200 };

/* The loss falls by FALL around the learning rate MIDDLE, and explodes above 0.5. */
#define LEVEL  2.3
#define FALL   1.2
#define MIDDLE 3e-3

static double lr[COUNT];

static void make_lr(double min, double max)
{
    for (int i = 0; i < COUNT; i++)
        lr[i] = min * pow(max / min, i / (COUNT - 1.0));
}

/* One sweep; returns the learning rates before it diverged. */
static size_t sweep(double fall, double noise, uint64_t stream, double *out)
{
    size_t count = 0;
    bool is_over = false;
    for (size_t i = 0; i < COUNT; i++) {
        const double x = log(lr[i]);
        const double loss = LEVEL - fall / (1 + exp(-(x - log(MIDDLE)) / 0.8)) +
                            exp(3 * (x - log(0.5))) +
                            noise * (double)fgi_rng_normal(fgi_key_from_seed(stream), i);
        is_over |= loss > 5;
        out[i] = is_over ? (double)NAN : loss;
        count = is_over ? count : i + 1;
    }
    return count;
}

/* Suggestions for SEGMENTS sweeps. */
static fg_lr_suggestions of_sweeps(double fall, double noise, uint64_t stream)
{
    double whole[SEGMENTS][COUNT], loss[SEGMENTS * COUNT], smoothed[COUNT];
    size_t count = 0;
    fg_error err = {0};
    fg_lr_suggestions out;
    for (uint64_t s = 0; s < SEGMENTS; s++) {
        const size_t own = sweep(fall, noise, SEGMENTS * stream + s, whole[s]);
        count = own > count ? own : count;
    }
    for (size_t s = 0; s < SEGMENTS; s++)
        memcpy(loss + s * count, whole[s], count * sizeof loss[0]);
    fgt_ok(
        fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = count, .segments = SEGMENTS},
                      smoothed, &out, &err));
    return out;
}

static void without_noise(void **state)
{
    (void)state;
    make_lr(1e-7, 10);
    const fg_lr_suggestions s = of_sweeps(FALL, 0, 1);
    assert_true(fabs(log(s.valley / MIDDLE)) < 0.2); /* one step is a factor of 1.2 */
    assert_true(fabs(log(s.steep / MIDDLE)) < 0.2);
    /* d loss / d x = 0 where the fall is slower than the explosion: at about 0.07 */
    assert_true(s.minimum > 4e-3 && s.minimum < 1e-2);
    assert_true(s.slide > 1e-4 && s.slide < s.valley);
    assert_true(fabs(s.fall - FALL) < 0.1);
    assert_int_equal(s.usable_segments, SEGMENTS);
    assert_true(s.valley_low <= s.valley && s.valley <= s.valley_high);
    assert_string_equal(s.note, "");
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rule of Lightning 2.5.3 and of the Kaggle TPU utility's plot, for one sweep smoothed by an
 * exponential mean: the steepest fall by the learning rate itself, or (by_index) by its index. */
static double steepest(const double *loss, size_t count, bool by_index)
{
    double mean = 0, lowest = HUGE_VAL, before[2] = {0, 0}, at = (double)NAN;
    for (size_t i = 0; i < count; i++) {
        mean = 0.98 * mean + 0.02 * loss[i];
        const double now = mean / (1 - pow(0.98, (double)i + 1));
        if (i > 1) {
            const double width = by_index ? 2 : lr[i] - lr[i - 2];
            const double slope = (now - before[0]) / width;
            at = slope < lowest ? lr[i - 1] : at;
            lowest = fmin(lowest, slope);
        }
        before[0] = before[1];
        before[1] = now;
    }
    return at;
}

/* numpy.gradient(losses)[i]. */
static double gradient(const double *losses, int count, int i)
{
    if (i == 0)
        return losses[1] - losses[0];
    if (i == count - 1)
        return losses[count - 1] - losses[count - 2];
    return (losses[i + 1] - losses[i - 1]) / 2;
}

/* fastai's slide(lrs, losses, num_it, lr_diff, thresh) of callback/schedule.py: the index of the
 * learning rate that it returns. */
static int fastai_slide(const double *losses, int count, int lr_diff, double thresh)
{
    int r_idx = -1, l_idx = r_idx - lr_diff, local_min_lr = count + l_idx;
    while (l_idx >= -count && fabs(gradient(losses, count, count + r_idx) -
                                   gradient(losses, count, count + l_idx)) > thresh) {
        local_min_lr = count + l_idx;
        r_idx--;
        l_idx--;
    }
    return local_min_lr;
}

/* On the smoothed curve, with the same interval and threshold, fastai's rule returns the last point
 * at which the slopes differ, and ours the next one to the left, at which they agree. */
static void slide_is_fastais(void **state)
{
    (void)state;
    double slide[SWEEPS];
    make_lr(1e-7, 10);
    for (int i = 0; i < SWEEPS; i++) {
        double loss[COUNT], smoothed[COUNT];
        fg_lr_suggestions s;
        fg_error err = {0};
        const int count = (int)sweep(FALL, i == 0 ? 0 : 0.1, (uint64_t)i, loss);
        fgt_ok(fg_lr_suggest(
            &(fg_lr_losses){.lr = lr, .loss = loss, .count = (size_t)count, .segments = 1},
            smoothed, &s, &err));
        const int same = fastai_slide(smoothed, count, count * 15 / 100 + 1, s.fall / 2 / count);
        fgt_close("slide", s.slide, lr[same - 1], 0, 1e-12);
        if (i == 0) /* without noise, fastai's own interval and threshold give the same */
            fgt_close("defaults", lr[fastai_slide(smoothed, count, 15, 0.005)], s.slide, 0, 1e-12);
        assert_true(s.slide < s.valley);
        slide[i] = s.slide;
    }
    const double clean = slide[0];
    qsort(slide, SWEEPS, sizeof slide[0], compare);
    assert_true(fabs(log(slide[SWEEPS / 2] / clean)) < 0.2);
    assert_true(slide[SWEEPS / 20] > clean / 2 && slide[SWEEPS - 1] < clean * 2);
}

/* Above the minimum, slopes agree where the loss is limited or rises steadily. */
static void slide_is_before_the_minimum(void **state)
{
    fg_error err = {0};
    double loss[COUNT];
    fg_lr_suggestions s;
    (void)state;
    make_lr(1e-7, 1e4);
    for (int i = 0; i < COUNT; i++)
        loss[i] = LEVEL - FALL / (1 + exp(-log(lr[i] / MIDDLE) / 0.8)) + 5 * fmax(log(lr[i]), 0);
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 1},
                         NULL, &s, &err));
    assert_true(s.slide > 1e-6 && s.slide < s.valley);
    for (int i = 0; i < COUNT; i++) {
        lr[i] = 1e-4 + i * 1e-3;
        loss[i] = LEVEL - FALL / (1 + exp(-log(lr[i] / MIDDLE) / 0.4)) + 20 * lr[i];
    }
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 1},
                         NULL, &s, &err));
    assert_true(s.valley < 1e-2 && (isnan(s.slide) || s.slide < s.valley));
}

/* A rule that differentiates by the learning rate instead of its logarithm finds the left edge. */
static void with_noise(void **state)
{
    (void)state;
    double valley[SWEEPS], steep[SWEEPS], minimum[SWEEPS], by_lr[SWEEPS], by_index[SWEEPS];
    make_lr(1e-7, 10);
    for (int i = 0; i < SWEEPS; i++) {
        const fg_lr_suggestions s = of_sweeps(FALL, 0.2, (uint64_t)i);
        assert_true(s.noise < s.fall / 6);
        valley[i] = s.valley;
        steep[i] = s.steep;
        minimum[i] = s.minimum;
        double losses[COUNT];
        const size_t count = sweep(FALL, 0.2, (uint64_t)i, losses);
        by_lr[i] = steepest(losses, count, false);
        by_index[i] = steepest(losses, count, true);
    }
    qsort(by_lr, SWEEPS, sizeof by_lr[0], compare);
    qsort(by_index, SWEEPS, sizeof by_index[0], compare);
    assert_true(by_lr[SWEEPS / 2] < 1e-6);
    /* by index: right in the middle, but as wrong for a tenth of the sweeps */
    assert_true(by_index[SWEEPS / 10] < MIDDLE / 100);
    qsort(valley, SWEEPS, sizeof valley[0], compare);
    qsort(steep, SWEEPS, sizeof steep[0], compare);
    qsort(minimum, SWEEPS, sizeof minimum[0], compare);
    assert_true(fabs(log(valley[SWEEPS / 2] / MIDDLE)) < 0.2);
    assert_true(valley[0] > MIDDLE / 3 && valley[SWEEPS - 1] < MIDDLE * 3);
    assert_true(fabs(log(steep[SWEEPS / 2] / MIDDLE)) < 0.3);
    assert_true(steep[0] > MIDDLE / 10 && steep[SWEEPS - 1] < MIDDLE * 10);
    assert_true(minimum[0] > 1e-3 && minimum[SWEEPS - 1] < 3e-2);
}

static void without_a_fall(void **state)
{
    (void)state;
    make_lr(1e-7, 10);
    for (int i = 0; i < SWEEPS; i++) {
        const fg_lr_suggestions s = of_sweeps(0, i % 2 == 0 ? 0.3 : 0, (uint64_t)i);
        assert_true(isnan(s.valley) && isnan(s.steep) && isnan(s.slide) && isnan(s.minimum));
        assert_true(isnan(s.valley_low) && isnan(s.valley_high));
        assert_int_equal(s.usable_segments, 0);
        assert_non_null(strstr(s.note, "the loss does not fall clearly between"));
    }
}

/* Evenly spaced learning rates of which only the first is low enough. */
static void divergence_at_the_start(void **state)
{
    fg_error err = {0};
    double loss[COUNT];
    fg_lr_suggestions s;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        lr[i] = 1e-7 + i * 0.1;
        loss[i] = LEVEL + 0.1 * fmin(i, 20);
    }
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 1},
                         NULL, &s, &err));
    assert_true(isnan(s.valley));
    assert_string_equal(s.note, "the loss does not fall clearly between the learning rates 1e-07 "
                                "and 9.9: it is lowest at 1e-07, one of the first; if it rises "
                                "from there, use a lower max_lr or an exponential sweep");
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = 5, .segments = 1}, NULL,
                         &s, &err));
    assert_string_equal(s.note, "the loss diverges after 5 steps, at the learning rate 0.4: use a "
                                "lower max_lr or an exponential sweep");
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = 1, .segments = 1}, NULL,
                         &s, &err));
    assert_string_equal(s.note, "the loss diverges after 1 step, at the learning rate 1e-07: use a "
                                "lower min_lr");
}

static void limits_that_hide_a_part(void **state)
{
    (void)state;
    make_lr(1e-3, 10); /* starts in the fall */
    fg_lr_suggestions s = of_sweeps(FALL, 0, 1);
    assert_string_equal(s.note, "the loss already falls at the lowest learning rate, 0.001: a "
                                "lower min_lr shows where the fall starts");
    make_lr(1e-7, 1e-2); /* ends in it */
    s = of_sweeps(FALL, 0, 1);
    assert_string_equal(s.note, "the loss still falls at the highest learning rate, 0.01: a higher "
                                "max_lr shows where it rises");
    assert_true(s.valley > 5e-4 && s.valley < 1e-2);
    make_lr(0.7, 10); /* only explodes */
    s = of_sweeps(FALL, 0, 1);
    assert_true(isnan(s.valley));
    assert_string_equal(s.note, "the loss diverges after 5 steps, at the learning rate 0.779401: "
                                "use a lower max_lr or an exponential sweep");
}

/* A sweep of evenly spaced learning rates has few points in the fall; and the segments stop at
 * different learning rates. */
static void other_spacings(void **state)
{
    (void)state;
    fg_error err = {0};
    double loss[2 * COUNT];
    fg_lr_suggestions s;
    for (int i = 0; i < COUNT; i++)
        lr[i] = 1e-4 + i * 2e-4;
    (void)sweep(FALL, 0, 1, loss);
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 1},
                         NULL, &s, &err));
    assert_true(fabs(log(s.valley / MIDDLE)) < 0.7);
    make_lr(1e-7, 10);
    const size_t count = sweep(FALL, 0, 1, loss);
    for (size_t i = 0; i < count; i++)
        loss[count + i] = i < count - 12 ? loss[i] : (double)NAN;
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = count, .segments = 2},
                         NULL, &s, &err));
    assert_true(fabs(log(s.valley / MIDDLE)) < 0.3);
}

/* Suggestions do not depend on the unit or the zero of the loss. */
static void losses_of_any_range(void **state)
{
    (void)state;
    fg_error err = {0};
    double loss[COUNT], other[COUNT];
    fg_lr_suggestions a, b;
    make_lr(1e-7, 10);
    const size_t count = sweep(FALL, 0.05, 3, loss);
    for (size_t i = 0; i < count; i++)
        other[i] = 1e6 * (loss[i] - 5); /* negative, large */
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = count, .segments = 1},
                         NULL, &a, &err));
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = other, .count = count, .segments = 1},
                         NULL, &b, &err));
    assert_true(fabs(a.valley - b.valley) <= 1e-9 * a.valley);
    assert_true(fabs(a.steep - b.steep) <= 1e-9 * a.steep);
    assert_true(fabs(a.slide - b.slide) <= 1e-9 * a.slide);
    assert_true(fabs(a.minimum - b.minimum) <= 1e-9 * a.minimum);
}

static void refused(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_lr_suggestions s;
    double loss[COUNT];
    make_lr(1e-7, 10);
    (void)sweep(FALL, 0, 1, loss);
    assert_int_equal(
        fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = 0, .segments = 1}, NULL, &s,
                      &err),
        FG_EINVAL);
    assert_int_equal(
        fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 0}, NULL,
                      &s, &err),
        FG_EINVAL);
    assert_int_equal(
        fg_lr_suggest(
            &(fg_lr_losses){
                .lr = lr, .loss = loss, .count = COUNT, .segments = 1, .smoothing = 1.5},
            NULL, &s, &err),
        FG_EINVAL);
    assert_int_equal(
        fg_lr_suggest(
            &(fg_lr_losses){
                .lr = lr, .loss = loss, .count = COUNT, .segments = 1, .smoothing = (double)NAN},
            NULL, &s, &err),
        FG_EINVAL);
    static const double ones[1025];
    assert_int_equal(
        fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = ones, .count = 1, .segments = 1025}, NULL,
                      &s, &err),
        FG_EINVAL);
    assert_int_equal(
        fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = ones, .count = 65537, .segments = 1}, NULL,
                      &s, &err),
        FG_EINVAL);
    assert_string_equal(err.message, "a curve of 65537 learning rates and 1 segments: expected 1 "
                                     "to 65536, and 1 to 1024");
    fgt_ok(fg_lr_suggest(
        &(fg_lr_losses){.lr = lr, .loss = ones, .count = 1, .segments = 1024, .smoothing = 1}, NULL,
        &s, &err)); /* the most */
    lr[7] = lr[6];
    assert_int_equal(
        fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 1}, NULL,
                      &s, &err),
        FG_EINVAL);
    assert_non_null(strstr(err.message, "learning rate 7 of the curve"));
    lr[0] = 0;
    assert_int_equal(
        fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 1}, NULL,
                      &s, &err),
        FG_EINVAL);
    make_lr(1e-7, 10);
    for (int i = 0; i < COUNT; i++)
        loss[i] = i % 2 == 0 ? (double)NAN : (double)INFINITY;
    fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = COUNT, .segments = 1},
                         NULL, &s, &err));
    assert_true(isnan(s.valley));
    assert_string_equal(s.note, "no loss is finite, not even at the lowest learning rate, 1e-07");
}

static fg_status scenario(void *self, fg_error *err)
{
    (void)self;
    fg_lr_suggestions s;
    double loss[COUNT];
    make_lr(1e-7, 10);
    const size_t count = sweep(FALL, 0, 1, loss);
    return fg_lr_suggest(&(fg_lr_losses){.lr = lr, .loss = loss, .count = count, .segments = 1},
                         NULL, &s, err);
}

static void out_of_memory(void **state)
{
    (void)state;
    fgt_fault_loop(scenario, NULL);
}

/* ---- whole suggestions ----------------------------------------------------------------------- */

static void put_suggestions(fgi_buf *out, const char *name, const fg_lr_suggestions *s,
                            const double *smoothed, size_t count)
{
    fgi_buf_printf(out,
                   "%s (%zu)\n  valley %.4g (%.4g to %.4g), steep %.4g, slide %.4g, minimum %.4g\n"
                   "  fall %.3g, noise %.1g, segments %d\n  smoothed",
                   name, count, s->valley, s->valley_low, s->valley_high, s->steep, s->slide,
                   s->minimum, s->fall, s->noise > 1e-9 ? s->noise : 0, s->usable_segments);
    for (size_t i = 0; i<count; i += count> 12 ? 12 : 1)
        fgi_buf_printf(out, " %.4g", smoothed[i]);
    fgi_buf_printf(out, "\n  %s\n", s->note);
}

/* Curves of a noise that is not random, as the golden file has them. */
static const struct {
    const char *name;
    size_t count;
    double min, max, fall, middle, noise, smoothing, offset;
    bool is_linear, has_holes;
} curves[] = {
    {"clear", 100, 1e-7, 10, 1.2, 3e-3, 0, 0, 0, false, false},
    {"noisy", 100, 1e-7, 10, 1.2, 3e-3, 0.1, 0, 0, false, false},
    {"smoother", 100, 1e-7, 10, 1.2, 3e-3, 0.1, 0.5, 0, false, false},
    {"rougher", 100, 1e-7, 10, 1.2, 3e-3, 0.1, 0.05, 0, false, false},
    {"holes", 100, 1e-7, 10, 1.2, 3e-3, 0.1, 0, 0, false, true},
    {"below zero", 100, 1e-7, 10, 1.2, 3e-3, 0.1, 0, -7, false, false},
    {"ten points", 10, 1e-7, 10, 1.2, 3e-3, 0, 0, 0, false, false},
    {"nine points", 9, 1e-7, 10, 1.2, 3e-3, 0, 0, 0, false, false},
    {"one point", 1, 1e-7, 10, 1.2, 3e-3, 0, 0, 0, false, false},
    {"still falls", 60, 1e-7, 3e-3, 1.2, 3e-3, 0, 0, 0, false, false},
    {"already falls", 60, 1e-3, 10, 1.2, 3e-3, 0, 0, 0, false, false},
    {"too little", 100, 1e-7, 10, 2e-3, 3e-3, 0, 0, 0, false, false},
    {"just enough", 100, 1e-7, 10, 4e-3, 3e-3, 0, 0, 0, false, false},
    {"too noisy", 100, 1e-7, 10, 0.3, 3e-3, 0.4, 0, 0, false, false},
    {"rises at the end", 60, 1e-7, 0.06, 1.2, 3e-3, 0, 0, 0, false, false},
    {"rises a little before", 60, 1e-7, 0.075, 1.2, 3e-3, 0, 0, 0, false, false},
    {"rises before", 60, 1e-7, 0.09, 1.2, 3e-3, 0, 0, 0, false, false},
    {"rises long before", 60, 1e-7, 0.12, 1.2, 3e-3, 0, 0, 0, false, false},
    {"only rises", 50, 0.3, 10, 0, 3e-3, 0, 0, 0, false, false},
    {"only rises, linear", 50, 0.3, 10, 0, 3e-3, 0, 0, 0, true, false},
    {"linear", 100, 1e-4, 0.02, 1.2, 3e-3, 0, 0, 0, true, false},
    {"thirty noisy points", 30, 1e-7, 10, 1.2, 3e-3, 0.1, 0, 0, false, false},
    {"as smooth as possible", 100, 1e-7, 10, 1.2, 3e-3, 0.1, 1, 0, false, false},
    {"three points, linear", 3, 1e-4, 0.02, 1.2, 3e-3, 0, 0, 0, true, false},
    {"two points, linear", 2, 1e-4, 0.02, 1.2, 3e-3, 0, 0, 0, true, false},
    {"lowest at the third", 12, 8e-3, 30, 1.2, 3e-3, 0, 0.01, 0, false, false},
    {"lowest at the fourth", 12, 4e-3, 30, 1.2, 3e-3, 0, 0.01, 0, false, false},
    {"lowest at the fifth", 12, 2e-3, 30, 1.2, 3e-3, 0, 0.01, 0, false, false},
    {"noise of a third", 100, 1e-7, 10, 0.3, 3e-3, 0.1, 0, 0, false, false},
    {"as much noise", 100, 1e-7, 10, 0.3, 3e-3, 0.3, 0, 0, false, false},
};

/* Two sweeps of curve k. */
static void make_curve(size_t k, double x[COUNT], double loss[2 * COUNT])
{
    const size_t count = curves[k].count;
    for (size_t i = 0; i < count; i++) {
        const double part = count > 1 ? (double)i / (double)(count - 1) : 0;
        x[i] = curves[k].is_linear ? curves[k].min + part * (curves[k].max - curves[k].min)
                                   : curves[k].min * pow(curves[k].max / curves[k].min, part);
        const double at = log(x[i]);
        for (size_t n = 0; n < 2; n++)
            loss[n * count + i] =
                curves[k].has_holes && (i + n) % 9 == 4
                    ? (double)NAN
                    : LEVEL + curves[k].offset -
                          curves[k].fall / (1 + exp(-(at - log(curves[k].middle)) / 0.8)) +
                          exp(3 * (at - log(0.5))) +
                          curves[k].noise * ((double)((i * 37 + n * 53) % 19) / 9 - 1);
    }
}

static void whole_suggestions(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (size_t k = 0; k < sizeof curves / sizeof curves[0]; k++) {
        double x[COUNT], loss[2 * COUNT], smoothed[COUNT];
        fg_lr_suggestions s;
        fg_error err = {0};
        make_curve(k, x, loss);
        fgt_ok(fg_lr_suggest(&(fg_lr_losses){.lr = x,
                                             .loss = loss,
                                             .count = curves[k].count,
                                             .segments = 2,
                                             .smoothing = curves[k].smoothing},
                             smoothed, &s, &err));
        put_suggestions(&out, curves[k].name, &s, smoothed, curves[k].count);
    }
    assert_non_null(out.data);
    fgt_golden("report/lr_suggestions.txt", out.data);
    fgi_buf_fini(&out);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(whole_suggestions),
    cmocka_unit_test(without_noise),
    cmocka_unit_test(with_noise),
    cmocka_unit_test(slide_is_fastais),
    cmocka_unit_test(without_a_fall),
    cmocka_unit_test(limits_that_hide_a_part),
    cmocka_unit_test(other_spacings),
    cmocka_unit_test(losses_of_any_range),
    cmocka_unit_test(refused),
    cmocka_unit_test(out_of_memory),
    cmocka_unit_test(slide_is_before_the_minimum),
    cmocka_unit_test(divergence_at_the_start),
};
FGT_MAIN(tests)
