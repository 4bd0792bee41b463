/* log_item.c - histograms, and copies of what loggers receive: items, and how a log begins.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/logger.h"

#include <math.h>
#include <string.h>

/* ---- histograms ------------------------------------------------------------------------------ */

static void add_to_range(fgi_histogram *h, double value)
{
    h->minimum = h->count == 0 || value < h->minimum ? value : h->minimum;
    h->maximum = h->count == 0 || value > h->maximum ? value : h->maximum;
    h->sum += value;
    h->sum_squares += value * value;
    h->count++;
}

/* The bins have the same width; all equal values are in one of width 1. */
static void place_edges(fgi_histogram *h)
{
    const bool is_flat = !(h->minimum < h->maximum);
    const double low = is_flat ? h->minimum - 0.5 : h->minimum;
    const double high = is_flat ? h->maximum + 0.5 : h->maximum;
    for (int i = 0; i <= FGI_LOG_BINS; i++) /* the difference may overflow, its parts don't */
        h->edges[i] =
            low * ((double)(FGI_LOG_BINS - i) / FGI_LOG_BINS) + high * ((double)i / FGI_LOG_BINS);
}

/* The last bin whose lower edge is at most the value. */
static int bin_of(const fgi_histogram *h, double value)
{
    int low = 0, high = FGI_LOG_BINS;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        *(value >= h->edges[middle] ? &low : &high) = middle;
    }
    return low;
}

/* IEEE 754 binary16. */
static double of_f16(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * HUGE_VAL;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

/* The upper half of a binary32. */
static double of_bf16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static double get(fg_dtype dtype, const void *data, size_t index)
{
    union {
        float f32;
        double f64;
        uint16_t bits;
    } value;
    const size_t size = fg_dtype_size(dtype);
    memcpy(&value, (const char *)data + index * size, size);
    switch (dtype) {
    case FG_F32: return (double)value.f32;
    case FG_F64: return value.f64;
    case FG_F16: return of_f16(value.bits);
    default: return of_bf16(value.bits);
    }
}

bool fgi_histogram_make(fg_dtype dtype, const void *data, size_t count, fgi_histogram *out)
{
    *out = (fgi_histogram){.count = 0};
    if (!fg_dtype_is_float(dtype))
        return false;
    for (size_t i = 0; i < count; i++)
        if (isfinite(get(dtype, data, i)))
            add_to_range(out, get(dtype, data, i));
    if (out->count == 0)
        return false;
    place_edges(out);
    for (size_t i = 0; i < count; i++)
        if (isfinite(get(dtype, data, i)))
            out->counts[bin_of(out, get(dtype, data, i))]++;
    return true;
}

fg_log_item fgi_histogram_item(const fgi_histogram *h, const char *name)
{
    return (fg_log_item){.kind = FG_LOG_HISTOGRAM,
                         .name = name,
                         .edges = h->edges,
                         .counts = h->counts,
                         .bins = FGI_LOG_BINS,
                         .minimum = h->minimum,
                         .maximum = h->maximum,
                         .sum = h->sum,
                         .sum_squares = h->sum_squares,
                         .count = h->count};
}

/* ---- copies ---------------------------------------------------------------------------------- */

static const void *copy_of(fgi_arena *arena, const void *data, size_t size, bool *is_good)
{
    const void *copy = data != NULL ? fgi_arena_copy(arena, data, size) : NULL;
    *is_good &= data == NULL || copy != NULL;
    return copy;
}

static const char *copy_text(fgi_arena *arena, const char *text, bool *is_good)
{
    return copy_of(arena, text, text != NULL ? strlen(text) + 1 : 0, is_good);
}

static const fg_log_node *copy_nodes(const fg_log_item *from, fgi_arena *arena, bool *is_good)
{
    fg_log_node *nodes =
        (fg_log_node *)copy_of(arena, from->nodes, from->node_count * sizeof *nodes, is_good);
    for (size_t i = 0; nodes != NULL && *is_good && i < from->node_count; i++) {
        nodes[i].name = copy_text(arena, nodes[i].name, is_good);
        nodes[i].op = copy_text(arena, nodes[i].op, is_good);
        nodes[i].inputs = copy_of(arena, nodes[i].inputs,
                                  nodes[i].input_count * sizeof *nodes[i].inputs, is_good);
    }
    return nodes;
}

bool fgi_log_item_own(fg_log_item *item, fgi_arena *arena)
{
    bool is_good = true;
    const size_t pixels = (size_t)(item->height * item->width * item->channels);
    item->name = copy_text(arena, item->name, &is_good);
    item->text = copy_text(arena, item->text, &is_good);
    item->pixels = copy_of(arena, item->pixels, pixels, &is_good);
    item->edges = copy_of(arena, item->edges, (item->bins + 1) * sizeof *item->edges, &is_good);
    item->counts = copy_of(arena, item->counts, item->bins * sizeof *item->counts, &is_good);
    item->nodes = copy_nodes(item, arena, &is_good);
    return is_good;
}

bool fgi_log_start_own(fg_log_start *start, fgi_arena *arena)
{
    bool is_good = true;
    const size_t size = start->setting_count * sizeof *start->settings;
    fg_log_setting *settings = (fg_log_setting *)copy_of(arena, start->settings, size, &is_good);
    for (size_t i = 0; settings != NULL && i < start->setting_count; i++) {
        settings[i].name = copy_text(arena, settings[i].name, &is_good);
        settings[i].value = copy_text(arena, settings[i].value, &is_good);
    }
    start->settings = settings;
    start->run_dir = copy_text(arena, start->run_dir, &is_good);
    start->history = copy_text(arena, start->history, &is_good);
    start->config = copy_text(arena, start->config, &is_good);
    return is_good;
}
