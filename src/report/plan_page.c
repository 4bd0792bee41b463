/* plan_page.c - a page of results: all machines in one table, then memory, batches, layers,
 * collectives and input of each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/plan_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/chart.h"
#include "report/run_view.h"
#include "base/print.h"
#include "base/alloc.h"

enum { WORST_LAYERS = 12, SWEEP_MAX = 64, SMALL = 20 /* available / needed memory */ };

/* ---- cells ----------------------------------------------------------------------------------- */

static void verdict(fgi_buf *out, const json_t *o)
{
    const json_t *fits = json_object_get(o, "fits");
    const char *class = json_is_true(fits) ? "good" : json_is_false(fits) ? "bad" : "note";
    const char *words = json_is_true(fits)    ? "fits"
                        : json_is_false(fits) ? "does not fit"
                                              : "no verdict";
    fgi_buf_printf(out, "<span class=\"%s\">%s</span>", class, words);
}

/* ---- all machines ---------------------------------------------------------------------------- */

static void machine_row(fgi_buf *out, const json_t *o)
{
    const double need = fgi_json_number(o, "hbm_needed_bytes"),
                 limit = fgi_json_number(o, "hbm_available_bytes");
    fgi_buf_puts(out, "<tr>");
    fgi_html_cell(out, fgi_json_words(o, "name"));
    fgi_html_count_cell(out, fgi_json_number(o, "devices"));
    fgi_buf_puts(out, "<td>");
    verdict(out, o);
    fgi_buf_puts(out, "</td>");
    fgi_html_bytes_cell(out, need);
    fgi_html_bytes_cell(out, limit);
    fgi_html_bar_cell(out, limit > 0 && need >= 0 ? need / limit : 0);
    fgi_html_count_cell(out, fgi_json_number(o, "batch_size"));
    fgi_html_count_cell(out, fgi_json_number(o, "max_batch"));
    fgi_html_time_cell(out, fgi_json_number(o, "estimated_step_s"));
    fgi_html_number_cell(out, fgi_json_number(o, "estimated_samples_per_s"));
    fgi_buf_puts(out, "</tr>\n");
}

static void put_overview(fgi_buf *out, const json_t *machines)
{
    static const char *const heads[] = {"machine", "#devices", "memory", "#needed",    "#of", "",
                                        "#batch",  "#largest", "#step",  "#samples/s", NULL};
    size_t i;
    json_t *o;
    fgi_html_table_begin(out, heads);
    json_array_foreach(machines, i, o) machine_row(out, o);
    fgi_html_table_end(out);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const struct memory_part {
    const char *key, *name, *color;
} memory_parts[] = {
    {"parameter_bytes", "parameters", "#3667a6"},
    {"optimizer_bytes", "optimizer", "#7fa7d6"},
    {"batch_bytes", "batch", "#2e7d5b"},
    {"padding_bytes", "padding", "#c62828"},
    {"activation_bytes", "activations", "#e0a030"},
    {"program_bytes", "program", "#8e6bb0"},
};
enum { MEMORY_PARTS = sizeof memory_parts / sizeof memory_parts[0] };

static double memory_sum(const json_t *o)
{
    double sum = 0;
    for (size_t i = 0; i < MEMORY_PARTS; i++) {
        const double bytes = fgi_json_number(o, memory_parts[i].key);
        sum += bytes > 0 ? bytes : 0;
    }
    return sum;
}

static void memory_stack(fgi_buf *out, const json_t *o, double whole)
{
    fgi_buf_puts(out, "<div class=\"stack\">");
    for (size_t i = 0; i < MEMORY_PARTS; i++) {
        const double bytes = fgi_json_number(o, memory_parts[i].key);
        if (bytes > 0)
            fgi_buf_printf(out, "<div style=\"width:%.3f%%;background:%s\" title=\"%s %s\"></div>",
                           99.9 * bytes / whole, memory_parts[i].color, memory_parts[i].name,
                           fgi_bytes_words(bytes));
    }
    fgi_buf_puts(out, "</div>\n");
}

static void put_memory(fgi_buf *out, const json_t *o)
{
    static const char *const heads[] = {"", "#bytes", "#", "#of a device", NULL};
    const double sum = memory_sum(o), limit = fgi_json_number(o, "hbm_available_bytes");
    if (sum <= 0)
        return;
    fgi_html_element(out, "h3", "Memory per device");
    const bool is_small = limit > SMALL * sum;
    if (limit >= sum && !is_small)
        fgi_buf_printf(out, "<p class=\"note\">The whole bar is %s.</p>\n", fgi_bytes_words(limit));
    else if (limit > 0)
        fgi_buf_printf(out, "<p class=\"note\">%s: %s.</p>\n",
                       is_small ? "The bar shows what is needed; far more is available"
                                : "More than available",
                       fgi_bytes_words(limit));
    memory_stack(out, o, limit > sum && !is_small ? limit : sum);
    fgi_html_table_begin(out, heads);
    for (size_t i = 0; i < MEMORY_PARTS; i++) {
        const double bytes = fgi_json_number(o, memory_parts[i].key);
        if (!isfinite(bytes))
            continue;
        fgi_buf_printf(out, "<tr><td><span class=\"key\" style=\"background:%s\"></span>%s</td>",
                       memory_parts[i].color, memory_parts[i].name);
        fgi_html_count_cell(out, bytes);
        fgi_html_bytes_cell(out, bytes);
        fgi_html_percent_cell(out, bytes, limit);
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Columns of the sweep, by batch. */
typedef struct sweep {
    double batch[SWEEP_MAX], bytes[SWEEP_MAX], cycles[SWEEP_MAX];
    size_t count;
} sweep;

static double cycles_per_sample(const json_t *point)
{
    const double reported = fgi_json_number(point, "cycles_per_sample");
    return isfinite(reported)
               ? reported
               : fgi_json_number(point, "estimated_cycles") / fgi_json_number(point, "batch_size");
}

static void read_sweep(const json_t *o, sweep *out)
{
    size_t i;
    json_t *point;
    out->count = 0;
    json_array_foreach(json_object_get(o, "sweep"), i, point)
    {
        const size_t n = out->count;
        const double batch = fgi_json_number(point, "batch_size");
        if (!(batch > 0) || n == SWEEP_MAX)
            continue;
        out->batch[n] = batch;
        out->bytes[n] = fgi_json_number(point, "hbm_needed_bytes");
        out->cycles[n] = cycles_per_sample(point);
        out->count++;
    }
}

static size_t known(const double *values, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += isfinite(values[i]) ? 1 : 0;
    return n;
}

static double largest(const double *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = isfinite(values[i]) ? fmax(most, values[i]) : most;
    return most;
}

/* The memory of a device and the cycles of a sample, of batches with at least two known values. */
static void put_curves(fgi_buf *out, const sweep *s, double limit)
{
    const fgi_series memory[] = {{"needed", s->batch, s->bytes, s->count},
                                 {"available per device", NULL, &limit, limit > 0 ? 1 : 0}};
    const fgi_series cycles = {"cycles", s->batch, s->cycles, s->count};
    const fgi_chart charts[] = {
        {.title = "Memory per device by batch",
         .x_label = "batch of a device",
         .y_unit = "B",
         .series = memory,
         .count = limit > 0 ? 2 : 1,
         .y = limit > SMALL * largest(s->bytes, s->count) ? FGI_SCALE_LOG : FGI_SCALE_LINEAR,
         .is_log_x = true,
         .color = 3},
        {.title = "Cycles per sample by batch (compiler estimate)",
         .x_label = "batch of a device",
         .series = &cycles,
         .count = 1,
         .y = FGI_SCALE_LOG,
         .is_log_x = true,
         .color = 3}};
    fgi_buf_puts(out, "<div class=\"plots\">\n");
    for (int i = 0; i < 2; i++)
        if (known(charts[i].series->y, s->count) > 1)
            fgi_chart_put_figure(out, &charts[i]);
    fgi_buf_puts(out, "</div>\n");
}

static void sweep_table(fgi_buf *out, const json_t *o)
{
    static const char *const heads[] = {"#batch of a device", "", "#needed",
                                        "#cycles per sample", "", NULL};
    size_t i;
    json_t *point;
    double most = 0;
    json_array_foreach(json_object_get(o, "sweep"), i, point) most =
        fmax(most, cycles_per_sample(point));
    fgi_html_table_begin(out, heads);
    json_array_foreach(json_object_get(o, "sweep"), i, point)
    {
        const double cycles = cycles_per_sample(point);
        fgi_buf_puts(out, "<tr>");
        fgi_html_count_cell(out, fgi_json_number(point, "batch_size"));
        fgi_buf_puts(out, "<td>");
        verdict(out, point);
        fgi_buf_puts(out, "</td>");
        fgi_html_bytes_cell(out, fgi_json_number(point, "hbm_needed_bytes"));
        fgi_html_number_cell(out, cycles);
        fgi_html_bar_cell(out, most > 0 && isfinite(cycles) ? cycles / most : 0);
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

static void put_sweep(fgi_buf *out, const json_t *o)
{
    sweep s;
    read_sweep(o, &s);
    if (s.count == 0)
        return;
    const double limit = fgi_json_number(o, "hbm_available_bytes");
    fgi_html_element(out, "h3", "Batches");
    put_curves(out, &s, limit);
    sweep_table(out, o);
    const double filled = fgi_json_number(o, "saturation_batch");
    if (filled > 0)
        fgi_buf_printf(
            out,
            "<p>Starting at a batch of %.0f, cycles per sample are within a tenth of the "
            "least.</p>\n",
            filled);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* "129 is padded to 256"; the batch dimension is named. */
static void dimension_cell(fgi_buf *out, const json_t *dim)
{
    const double size = fgi_json_number(dim, "size"), padded = fgi_json_number(dim, "padded");
    fgi_buf_puts(out, "<td>");
    if (padded > size)
        fgi_buf_printf(out, "%s %.0f is padded to %.0f",
                       json_is_true(json_object_get(dim, "is_batch")) ? "batch" : "dimension", size,
                       padded);
    fgi_buf_puts(out, "</td>");
}

static void layer_row(fgi_buf *out, const json_t *layer, double all)
{
    char place[160] = "";
    const double cycles = fgi_json_number(layer, "cycles");
    const char *file = fgi_json_words(layer, "file");
    const double line = fgi_json_number(layer, "line");
    if (file[0] != '\0' && line > 0)
        (void)fgi_snprintf(place, sizeof place, "%s:%.0f", file, line);
    fgi_buf_puts(out, "<tr>");
    fgi_html_cell(out, fgi_json_words(layer, "name"));
    fgi_html_cell(out, place[0] != '\0' ? place : file);
    fgi_html_number_cell(out, cycles);
    fgi_html_bar_cell(out, all > 0 ? cycles / all : 0);
    fgi_html_percent_cell(out, cycles, all);
    fgi_html_number_cell(out, fgi_json_number(layer, "lost_cycles"));
    dimension_cell(out, json_object_get(layer, "worst_dimension"));
    fgi_buf_puts(out, "</tr>\n");
}

static void put_layers(fgi_buf *out, const json_t *analysis)
{
    static const char *const heads[] = {
        "layer", "place", "#cycles", "", "#of the step", "#lost to padding", "", NULL};
    const json_t *layers = json_object_get(analysis, "layers");
    const size_t count = json_array_size(layers);
    double all = fgi_json_number(analysis, "cycles");
    size_t i;
    json_t *layer;
    if (count == 0)
        return;
    if (!(all > 0)) {
        all = 0;
        json_array_foreach(layers, i, layer) all += fmax(0, fgi_json_number(layer, "cycles"));
    }
    fgi_html_element(out, "h3", "Layers");
    fgi_buf_printf(out,
                   "<p class=\"note\">Cycles are the compiler&#39;s estimate. %zu of %zu "
                   "layers, sorted by the cost of padding.</p>\n",
                   count < WORST_LAYERS ? count : WORST_LAYERS, count);
    fgi_html_table_begin(out, heads);
    for (i = 0; i < count && i < WORST_LAYERS; i++)
        layer_row(out, json_array_get(layers, i), all);
    fgi_html_table_end(out);
}

/* ---- collectives, slow operations, input ----------------------------------------------------- */

static void put_collectives(fgi_buf *out, const json_t *o, const json_t *analysis)
{
    static const char *const heads[] = {"collective", "#per step",        "#bytes", "",
                                        "algorithm",  "#time (estimate)", NULL};
    const json_t *list = json_object_get(analysis, "collectives");
    if (json_array_size(list) == 0)
        list = json_object_get(o, "collectives");
    size_t i;
    json_t *one;
    double most = 0;
    if (json_array_size(list) == 0)
        return;
    json_array_foreach(list, i, one) most = fmax(most, fgi_json_number(one, "bytes"));
    fgi_html_element(out, "h3", "Communication between devices");
    fgi_html_table_begin(out, heads);
    json_array_foreach(list, i, one)
    {
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, fgi_json_words(one, "kind"));
        fgi_html_count_cell(out, fgi_json_number(one, "count"));
        fgi_html_count_cell(out, fgi_json_number(one, "bytes"));
        fgi_html_bar_cell(out, most > 0 ? fgi_json_number(one, "bytes") / most : 0);
        fgi_html_cell(out, fgi_json_words(one, "algorithm"));
        fgi_html_time_cell(out, fgi_json_number(one, "seconds"));
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

static void put_slow(fgi_buf *out, const json_t *analysis)
{
    const json_t *list = json_object_get(analysis, "slow");
    size_t i;
    json_t *one;
    if (json_array_size(list) == 0)
        return;
    fgi_html_element(out, "h3", "Slow operations");
    fgi_buf_puts(out, "<ul>\n");
    json_array_foreach(list, i, one)
    {
        fgi_buf_printf(out, "<li>%.0f x ", fgi_json_number(one, "count"));
        fgi_html_text(out, fgi_json_words(one, "what"));
        if (fgi_json_words(one, "layer")[0] != '\0') {
            fgi_buf_puts(out, ", first in ");
            fgi_html_text(out, fgi_json_words(one, "layer"));
        }
        fgi_buf_puts(out, "</li>\n");
    }
    fgi_buf_puts(out, "</ul>\n");
}

static void put_input(fgi_buf *out, const json_t *o)
{
    static const char *const heads[] = {"", "#samples/s", "#per second", "", NULL};
    const bool is_shared = fgi_json_number(o, "hosts") > 1;
    const double need =
        fgi_json_number(o, is_shared ? "input_host_samples_per_s" : "input_needed_samples_per_s");
    const double fed = fgi_json_number(o, "input_measured_samples_per_s");
    if (!isfinite(need) || !isfinite(fed))
        return;
    const double most = fmax(need, fed);
    fgi_html_element(out, "h3", "Input");
    fgi_html_table_begin(out, heads);
    fgi_buf_puts(out, "<tr><td>required by the step (estimate)</td>");
    if (is_shared) {
        fgi_html_number_cell(out, fgi_json_number(o, "input_needed_samples_per_s"));
        fgi_html_bytes_cell(out, fgi_json_number(o, "input_needed_bytes_per_s"));
        fgi_buf_printf(out, "<td></td></tr>\n<tr><td>of that, each of %.0f hosts</td>",
                       fgi_json_number(o, "hosts"));
    }
    fgi_html_number_cell(out, need);
    fgi_html_bytes_cell(
        out, fgi_json_number(o, is_shared ? "input_host_bytes_per_s" : "input_needed_bytes_per_s"));
    fgi_html_bar_cell(out, need / most);
    fgi_buf_puts(out, "</tr>\n<tr><td>delivered by the loader on this host (measured)</td>");
    fgi_html_number_cell(out, fed);
    fgi_html_bytes_cell(out, fgi_json_number(o, "input_measured_bytes_per_s"));
    fgi_html_bar_cell(out, fed / most);
    fgi_buf_puts(out, "</tr>\n");
    fgi_html_table_end(out);
    const char *words = fgi_json_words(o, "input_verdict");
    if (words[0] != '\0')
        fgi_html_element(out, "p", words);
}

/* ---- page ------------------------------------------------------------------------------------ */

static void put_facts(fgi_buf *out, const json_t *o)
{
    static const struct {
        const char *key, *name;
    } rows[] = {{"device_kind", "device"},
                {"precision", "precision"},
                {"compiler", "compiler"},
                {"fingerprint", "program"}};
    fgi_html_table_begin(out, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (fgi_json_words(o, rows[i].key)[0] == '\0')
            continue;
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, rows[i].name);
        fgi_html_cell(out, fgi_json_words(o, rows[i].key));
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

static bool has_facts(const json_t *o)
{
    return fgi_json_words(o, "device_kind")[0] != '\0' ||
           fgi_json_words(o, "precision")[0] != '\0' || fgi_json_words(o, "compiler")[0] != '\0' ||
           fgi_json_words(o, "fingerprint")[0] != '\0';
}

static void put_machine(fgi_buf *out, const json_t *o)
{
    const json_t *analysis = json_object_get(o, "analysis");
    if (analysis == NULL)
        analysis = o;
    fgi_buf_puts(out, "<h2>");
    fgi_html_text(out, fgi_json_words(o, "name"));
    fgi_buf_puts(out, ": ");
    verdict(out, o);
    fgi_buf_puts(out, "</h2>\n");
    if (fgi_json_words(o, "reason")[0] != '\0')
        fgi_html_element(out, "p", fgi_json_words(o, "reason"));
    if (fgi_json_words(o, "error")[0] != '\0')
        fgi_html_element(out, "p", fgi_json_words(o, "error"));
    put_memory(out, o);
    put_sweep(out, o);
    put_layers(out, analysis);
    put_collectives(out, o, analysis);
    put_slow(out, analysis);
    put_input(out, o);
    if (has_facts(o))
        put_facts(out, o);
}

void fgi_plan_page_put(fgi_buf *out, const char *config_path, const json_t *root)
{
    const json_t *machines = json_object_get(root, "topologies");
    size_t i;
    json_t *o;
    fgi_html_begin(out, "Plan of a training step");
    if (config_path != NULL) {
        fgi_buf_puts(out, "<p>Configuration: ");
        fgi_html_text(out, config_path);
        fgi_buf_puts(out, "</p>\n");
    }
    fgi_html_element(
        out, "p",
        "Compiled for these machines and not run on them. Memory is what their compilers allocate; "
        "times and cycles are the compilers' estimates, not measurements. Batch sizes are samples "
        "per device; the largest one leaves a tenth of the memory free.");
    put_overview(out, machines);
    json_array_foreach(machines, i, o) put_machine(out, o);
    fgi_html_end(out);
}
