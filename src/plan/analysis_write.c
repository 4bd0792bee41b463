/* analysis_write.c - writes an analysis as JSON and as human-readable text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "plan/analysis.h"

enum { WORST = 5 };

static const char *const label = "compiler estimate, not measured";

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *seconds_or_null(double s) { return s >= 0 ? json_real(s) : json_null(); }

static double fraction(double part, double whole) { return whole > 0 ? part / whole : -1; }

static json_t *work_json(const fgi_plan_work *w)
{
    return json_pack("{s:f, s:f, s:f, s:o, s:f, s:f, s:o, s:o}", "cycles", w->cycles, "flops",
                     w->flops, "padded_flops", w->padded_flops, "useful_fraction",
                     seconds_or_null(fraction(w->flops, w->padded_flops)), "hbm_bytes", w->bytes,
                     "padded_hbm_bytes", w->padded_bytes, "useful_bytes_fraction",
                     seconds_or_null(fraction(w->bytes, w->padded_bytes)), "fraction_16bit",
                     seconds_or_null(fraction(w->flops_16bit, w->flops)));
}

static const char *kind_of(const fgi_plan_dim *d)
{
    if (!d->is_batch)
        return "width";
    return d->may_be_width ? "batch or width" : "batch";
}

static json_t *dim_json(const fgi_plan_dim *d)
{
    if (d->size == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:s}", "size", (json_int_t)d->size, "padded",
                     (json_int_t)d->padded, "unit", (json_int_t)d->unit, "kind", kind_of(d));
}

static json_t *layers_json(const fgi_plan_analysis *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->layer_count; i++) {
        const fgi_plan_layer *l = &a->layers[i];
        json_t *one = work_json(&l->work);
        (void)json_object_set_new(one, "name", json_string(l->name));
        (void)json_object_set_new(one, "file",
                                  l->file != NULL ? json_string(l->file) : json_null());
        (void)json_object_set_new(one, "line", json_integer(l->line));
        (void)json_object_set_new(one, "flops_fraction",
                                  seconds_or_null(fraction(l->work.flops, a->total.flops)));
        (void)json_object_set_new(one, "bytes_fraction",
                                  seconds_or_null(fraction(l->work.bytes, a->total.bytes)));
        (void)json_object_set_new(one, "lost_cycles", json_real(l->lost_cycles));
        (void)json_object_set_new(one, "worst_dimension", dim_json(&l->worst));
        (void)json_array_append_new(list, one);
    }
    return list;
}

static json_t *collectives_json(const fgi_plan_analysis *a)
{
    json_t *list = json_array();
    for (size_t i = 0; i < a->collective_count; i++) {
        const fgi_plan_collective *e = &a->collectives[i];
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:i, s:I, s:s, s:o}", "kind", fgi_collective_name(e->kind),
                            "count", e->count, "devices", e->group, "bytes", (json_int_t)e->bytes,
                            "algorithm", e->algorithm, "seconds", seconds_or_null(e->seconds)));
    }
    return list;
}

static json_t *slow_json(const fgi_plan_analysis *a)
{
    json_t *list = json_array();
    for (int k = 0; k < FGI_SLOW_KINDS; k++)
        if (a->slow[k].count > 0)
            (void)json_array_append_new(
                list,
                json_pack("{s:s, s:i, s:s}", "what", fgi_plan_slow_text((fgi_plan_slow_kind)k),
                          "count", a->slow[k].count, "layer",
                          a->slow[k].layer != NULL ? a->slow[k].layer : ""));
    return list;
}

void fgi_plan_put_json(const fgi_plan_analysis *a, fgi_buf *out)
{
    json_t *all = work_json(&a->total);
    const int64_t batch = a->machine.batch;
    (void)json_object_set_new(all, "label", json_string(label));
    (void)json_object_set_new(all, "cycles_per_sample",
                              seconds_or_null(batch > 0 ? a->total.cycles / (double)batch : -1));
    (void)json_object_set_new(all, "compute_s", seconds_or_null(a->compute_s));
    (void)json_object_set_new(all, "memory_s", seconds_or_null(a->memory_s));
    (void)json_object_set_new(all, "collective_s", seconds_or_null(a->collective_s));
    (void)json_object_set_new(all, "step_s", seconds_or_null(a->step_s));
    (void)json_object_set_new(all, "epoch_s", seconds_or_null(a->epoch_s));
    (void)json_object_set_new(all, "mxu_fraction", seconds_or_null(a->mxu_fraction));
    (void)json_object_set_new(all, "unknown_loops", json_integer(a->unknown_loops));
    (void)json_object_set_new(all, "collectives", collectives_json(a));
    (void)json_object_set_new(all, "slow", slow_json(a));
    (void)json_object_set_new(all, "layers", layers_json(a));
    if (!fgi_json_write(all, JSON_COMPACT | JSON_REAL_PRECISION(9), out))
        out->failed = true;
    json_decref(all);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "12.3 %", or "n/a". */
static const char *percent(char out[16], double value)
{
    (void)fgi_snprintf(out, 16, value >= 0 ? "%.3g %%" : "n/a", 100 * value);
    return out;
}

/* "84.2 us", "1.5 ms", "3 s", or "n/a". */
static const char *duration(char out[24], double s)
{
    const double unit = s < 1e-3 ? 1e-6 : s < 1 ? 1e-3 : 1;
    const char *name = s < 1e-3 ? "us" : s < 1 ? "ms" : "s";
    if (s < 0)
        (void)snprintf(out, 24, "n/a");
    else
        (void)fgi_snprintf(out, 24, "%.3g %s", s / unit, name);
    return out;
}

static void put_totals(const fgi_plan_analysis *a, fgi_buf *out)
{
    char one[24], two[24], three[24], fraction_text[16];
    const fgi_plan_work *t = &a->total;
    fgi_buf_printf(out, "training step on one device (%s)\n", label);
    fgi_buf_printf(out, "  time         %s: the maximum of compute %s and memory %s",
                   duration(one, a->step_s), duration(two, a->compute_s),
                   duration(three, a->memory_s));
    fgi_buf_printf(out, ", and communication %s\n", duration(one, a->collective_s));
    if (a->epoch_s >= 0)
        fgi_buf_printf(out, "  epoch        %s in %" PRId64 " step%s\n", duration(one, a->epoch_s),
                       a->machine.steps_per_epoch, fgi_s(a->machine.steps_per_epoch));
    fgi_buf_printf(out, "  cycles       %.0f", t->cycles);
    if (a->machine.batch > 0)
        fgi_buf_printf(out, ", %.0f per sample", t->cycles / (double)a->machine.batch);
    fgi_buf_printf(out, "; matrix units at %s of their peak\n",
                   percent(fraction_text, a->mxu_fraction));
    fgi_buf_printf(out, "  matmuls      %.4g flops", t->flops);
    fgi_buf_printf(out, ", %s useful", percent(fraction_text, fraction(t->flops, t->padded_flops)));
    fgi_buf_printf(out, ", %s with 16 bits or less\n",
                   percent(fraction_text, fraction(t->flops_16bit, t->flops)));
    fgi_buf_printf(out, "  main memory  %.4g bytes, %s useful\n", t->padded_bytes,
                   percent(fraction_text, fraction(t->bytes, t->padded_bytes)));
    if (a->unknown_loops > 0)
        fgi_buf_printf(out, "  %d loop%s of unknown length %s counted as one iteration\n",
                       a->unknown_loops, fgi_s(a->unknown_loops),
                       a->unknown_loops == 1 ? "is" : "are");
}

static void put_collectives(const fgi_plan_analysis *a, fgi_buf *out)
{
    char time[24];
    for (size_t i = 0; i < a->collective_count; i++) {
        const fgi_plan_collective *e = &a->collectives[i];
        fgi_buf_printf(out, "  %s x %d over %d devices: %" PRId64 " bytes, %s%s%s%s\n",
                       fgi_collective_name(e->kind), e->count, e->group, e->bytes,
                       duration(time, e->seconds), e->algorithm[0] != '\0' ? " (" : "",
                       e->algorithm, e->algorithm[0] != '\0' ? ")" : "");
    }
    for (int k = 0; k < FGI_SLOW_KINDS; k++)
        if (a->slow[k].count > 0)
            fgi_buf_printf(out, "  slow: %s (%d operation%s, first in %s)\n",
                           fgi_plan_slow_text((fgi_plan_slow_kind)k), a->slow[k].count,
                           fgi_s(a->slow[k].count),
                           a->slow[k].layer != NULL ? a->slow[k].layer : "?");
}

static bool is_same(const fgi_plan_dim *a, const fgi_plan_dim *b)
{
    return a->size == b->size && a->padded == b->padded && a->unit == b->unit &&
           strcmp(kind_of(a), kind_of(b)) == 0;
}

/* "a width of 129 is padded to 256: 128 or 256 would need no padding", below the first one of
 * `count` layers with this advice. */
static void put_advice(const fgi_plan_layer *layers, int count, int index, fgi_buf *out)
{
    const fgi_plan_dim *d = &layers[index].worst;
    const int64_t below = d->padded - d->unit;
    int same = 0;
    for (int i = 0; i < count; i++) {
        if (i == index && same > 0)
            return;
        same += is_same(&layers[i].worst, d);
    }
    fgi_buf_printf(out, "    a %s of %" PRId64 " is padded to %" PRId64 ": ", kind_of(d), d->size,
                   d->padded);
    if (below > 0)
        fgi_buf_printf(out, "%" PRId64 " or ", below);
    fgi_buf_printf(out, "%" PRId64 " would need no padding", d->padded);
    if (same > 1)
        fgi_buf_printf(out, " (%d of these layers)", same);
    fgi_buf_puts(out, "\n");
}

static int shown_layers(const fgi_plan_analysis *a)
{
    int count = 0;
    while (count < WORST && (size_t)count < a->layer_count && a->layers[count].lost_cycles > 0)
        count++;
    return count;
}

static void put_layers(const fgi_plan_analysis *a, fgi_buf *out)
{
    char useful[16], of_flops[16], of_cycles[16];
    const int count = shown_layers(a);
    if (count > 0)
        fgi_buf_puts(out, "layers with the largest loss to padding\n");
    for (int i = 0; i < count; i++) {
        const fgi_plan_layer *l = &a->layers[i];
        fgi_buf_printf(out, "  %s", l->name);
        if (l->file != NULL && l->line > 0)
            fgi_buf_printf(out, " (%s:%d)", l->file, l->line);
        fgi_buf_printf(out, ": %s of the work useful, %s of flops, %s of cycles\n",
                       percent(useful, fraction(l->work.flops, l->work.padded_flops)),
                       percent(of_flops, fraction(l->work.flops, a->total.flops)),
                       percent(of_cycles, fraction(l->work.cycles, a->total.cycles)));
        if (l->worst.padded > l->worst.size)
            put_advice(a->layers, count, i, out);
    }
}

void fgi_plan_put_text(const fgi_plan_analysis *a, fgi_buf *out)
{
    put_totals(a, out);
    put_collectives(a, out);
    put_layers(a, out);
}
