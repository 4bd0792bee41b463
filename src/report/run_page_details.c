/* run_page_details.c - the sections of a run's page about its devices, data loader, compilations,
 * host reads and machine.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/run_page_parts.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/run_page.h"

void fgi_page_card(fgi_buf *out, const char *name, const char *words)
{
    if (*words == '\0')
        return;
    fgi_buf_puts(out, "<div><b>");
    fgi_html_text(out, words);
    fgi_buf_puts(out, "</b><span>");
    fgi_html_text(out, name);
    fgi_buf_puts(out, "</span></div>\n");
}

void fgi_page_number(fgi_buf *out, const char *name, const char *format, double value)
{
    fgi_buf words = {0};
    if (!isfinite(value))
        return;
    if (format == NULL)
        fgi_buf_printf(&words, fabs(value) < 1000 ? "%.4g" : "%.0f", value);
    else
        fgi_buf_printf(&words, "%.1f %%", value);
    fgi_page_card(out, name, words.data != NULL ? words.data : "");
    out->failed = out->failed || words.failed;
    fgi_buf_fini(&words);
}

/* ---- use of the devices ---------------------------------------------------------------------- */

/* The rate that memory and matrix units allow at each intensity, and the one that was achieved. */
static void put_roofline(fgi_buf *out, const json_t *use)
{
    enum { POINTS = 41 };
    static const double around = 30; /* on both sides */
    double x[POINTS], y[POINTS];
    const double flops = fgi_json_number(use, "flops_per_second");
    const double peak_flops = fgi_json_number(use, "peak_flops");
    const double peak_bytes = fgi_json_number(use, "peak_bytes");
    const double intensity = fgi_json_number(use, "intensity");
    const double ridge = peak_flops / peak_bytes;
    if (!(flops > 0) || !(intensity > 0) || !(ridge > 0) || !isfinite(ridge))
        return;
    const double low = fmin(intensity, ridge) / around, high = fmax(intensity, ridge) * around;
    for (int i = 0; i < POINTS; i++) {
        x[i] = low * pow(high / low, (double)i / (POINTS - 1));
        y[i] = fmin(peak_flops, x[i] * peak_bytes);
    }
    const fgi_series series[] = {{"limit of memory and matrix units", x, y, POINTS},
                                 {"this run", &intensity, &flops, 1}};
    fgi_buf_puts(out, "<div class=\"plots\">\n");
    fgi_chart_put_figure(out, &(fgi_chart){.title = "Roofline: FLOP/s of all devices",
                                           .x_label = "FLOPs per byte of memory traffic",
                                           .series = series,
                                           .count = 2,
                                           .y = FGI_SCALE_LOG,
                                           .is_log_x = true,
                                           .color = 3});
    fgi_buf_puts(out, "</div>\n");
}

void fgi_page_put_use(fgi_buf *out, const json_t *report)
{
    const json_t *use = json_object_get(report, "utilization");
    const double bytes =
        fgi_json_number(use, "bytes_per_second") / fgi_json_number(use, "peak_bytes");
    const double flops = fgi_json_number(use, "flops_per_second");
    if (!isfinite(fgi_json_number(use, "mxu")) && !isfinite(flops))
        return;
    fgi_html_element(out, "h2", "Use of the devices");
    fgi_buf_puts(out, "<div class=\"cards\">\n");
    fgi_page_number(out, "of peak FLOP/s (model)", "%", 100 * fgi_json_number(use, "mxu"));
    fgi_page_number(out, "of peak FLOP/s while busy", "%",
                    100 * fgi_json_number(use, "mxu_while_busy"));
    fgi_page_number(out, "of the roofline", "%", 100 * fgi_json_number(use, "roofline"));
    fgi_page_number(out, "of the memory rate", "%", 100 * bytes);
    fgi_page_number(out, "of matmuls in 16 bits", "%", 100 * fgi_json_number(use, "sixteen_bit"));
    fgi_page_number(out, "GFLOP/s", NULL, flops / 1e9);
    fgi_page_number(out, "FLOPs per byte", NULL, fgi_json_number(use, "intensity"));
    fgi_buf_puts(out, "</div>\n");
    put_roofline(out, use);
}

/* ---- data loader ----------------------------------------------------------------------------- */

static void put_stages(fgi_buf *out, const json_t *stages)
{
    const char *key;
    json_t *value;
    double most = 0;
    static const char *const heads[] = {"stage", "#time of all workers", "", NULL};
    json_object_foreach((json_t *)stages, key, value) most = fmax(most, json_number_value(value));
    if (!(most > 0))
        return;
    fgi_html_table_begin(out, heads);
    json_object_foreach((json_t *)stages, key, value)
    {
        char *name = fgi_strndup(key, fgi_run_stage_size(key));
        out->failed = out->failed || name == NULL;
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, name != NULL ? name : "");
        fgi_free(name);
        fgi_html_time_cell(out, json_number_value(value));
        fgi_html_bar_cell(out, json_number_value(value) / most);
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

/* The CPU time of the threads of the host. */
static void put_workers(fgi_buf *out, const json_t *workers)
{
    static const char *const heads[] = {"thread", "#CPU time", "", NULL};
    size_t i;
    json_t *one;
    double most = 0;
    json_array_foreach(workers, i, one) most = fmax(most, fgi_json_number(one, "cpu_s"));
    if (!(most > 0))
        return;
    fgi_html_table_begin(out, heads);
    json_array_foreach(workers, i, one)
    {
        const double cpu = fgi_json_number(one, "cpu_s");
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, fgi_json_words(one, "name"));
        fgi_html_time_cell(out, cpu);
        fgi_html_bar_cell(out, cpu / most);
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

void fgi_page_put_loader(fgi_buf *out, const json_t *report)
{
    const json_t *loader = json_object_get(report, "loader");
    const json_t *host = json_object_get(report, "host");
    char words[32];
    if (json_object_size(loader) == 0)
        return;
    fgi_html_element(out, "h2", "Data loader");
    fgi_buf_puts(out, "<div class=\"cards\">\n");
    fgi_page_card(out, "limited by", fgi_json_words(loader, "bound_by"));
    fgi_page_number(out, "workers", NULL, fgi_json_number(loader, "workers"));
    fgi_page_number(out, "samples/s delivered", NULL,
                    fgi_json_number(loader, "delivered_samples_per_s"));
    fgi_page_number(out, "samples/s required", NULL,
                    fgi_json_number(loader, "required_samples_per_s"));
    fgi_page_number(out, "batches ready, mean", NULL, fgi_json_number(loader, "queue_mean"));
    fgi_page_number(out, "queue empty", "%", 100 * fgi_json_number(loader, "queue_empty"));
    fgi_page_number(out, "files opened", NULL, fgi_json_number(loader, "opens"));
    fgi_page_card(out, "to open files",
                  fgi_duration_words(fgi_json_number(loader, "open_seconds"), words));
    fgi_page_number(out, "host CPUs busy", "%", 100 * fgi_json_number(host, "cpu_fraction"));
    fgi_buf_puts(out, "</div>\n");
    put_stages(out, json_object_get(loader, "stages"));
    put_workers(out, json_object_get(host, "workers"));
}

/* ---- compilations and reads ------------------------------------------------------------------ */

void fgi_page_put_compiles(fgi_buf *out, const json_t *report)
{
    static const char *const heads[] = {"program", "#step", "#time", "", "cause", NULL};
    const json_t *compiles = json_object_get(report, "compiles");
    size_t i;
    json_t *one;
    if (json_array_size(compiles) == 0)
        return;
    fgi_html_element(out, "h2", "Compiled programs");
    fgi_html_table_begin(out, heads);
    json_array_foreach(compiles, i, one)
    {
        fgi_buf cause = {0};
        fgi_run_cause_words(&cause, json_object_get(one, "cause"));
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, fgi_json_words(one, "program"));
        fgi_html_count_cell(out, fgi_json_number(one, "step"));
        fgi_html_time_cell(out, fgi_json_number(one, "seconds"));
        fgi_html_cell(out, json_is_true(json_object_get(one, "cached")) ? "from the cache" : "");
        fgi_html_cell(out, cause.data != NULL ? cause.data : "");
        fgi_buf_puts(out, "</tr>\n");
        out->failed = out->failed || cause.failed;
        fgi_buf_fini(&cause);
    }
    fgi_html_table_end(out);
}

void fgi_page_put_reads(fgi_buf *out, const json_t *report)
{
    static const char *const heads[] = {"read by", "#times", "#bytes", "#waited", NULL};
    const json_t *reads = json_object_get(report, "host_reads");
    size_t i;
    json_t *one;
    if (json_array_size(reads) == 0)
        return;
    fgi_html_element(out, "h2", "Host reads");
    fgi_html_table_begin(out, heads);
    json_array_foreach(reads, i, one)
    {
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, fgi_json_words(one, "at"));
        fgi_html_count_cell(out, fgi_json_number(one, "count"));
        fgi_html_bytes_cell(out, fgi_json_number(one, "bytes"));
        fgi_html_time_cell(out, fgi_json_number(one, "wait_s"));
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

/* ---- the run and its machine ----------------------------------------------------------------- */

void fgi_page_put_history(fgi_buf *out, const json_t *report)
{
    static const char *const heads[] = {"started (UTC)", "ended", "#after", "#at step", NULL};
    const json_t *history = json_object_get(report, "history");
    size_t i;
    json_t *one;
    if (json_array_size(history) < 2)
        return;
    fgi_html_element(out, "h2", "Parts of the run");
    fgi_html_table_begin(out, heads);
    json_array_foreach(history, i, one)
    {
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, fgi_json_words(one, "started_at"));
        fgi_html_cell(out, fgi_json_words(one, "state"));
        fgi_html_time_cell(out, fgi_json_number(one, "seconds"));
        fgi_html_count_cell(out, fgi_json_number(one, "steps"));
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

void fgi_page_put_machine(fgi_buf *out, const fgi_run_view *view)
{
    const json_t *host = json_object_get(view->report, "host");
    const json_t *memory = json_object_get(view->report, "memory");
    const double limit = fgi_json_number(memory, "limit_bytes");
    const double rss = fgi_json_number(host, "peak_rss_bytes");
    char words[32];
    fgi_buf device = {0};
    if (view->report == NULL)
        return;
    fgi_run_device_words(&device, view);
    fgi_html_element(out, "h2", "Machine");
    fgi_buf_puts(out, "<div class=\"cards\">\n");
    fgi_page_card(out, "devices", device.data != NULL ? device.data : "");
    fgi_page_card(out, "memory per device", limit > 0 ? fgi_bytes_words(limit) : "");
    fgi_page_card(out, "peak host memory", isfinite(rss) ? fgi_bytes_words(rss) : "");
    fgi_page_card(out, "CPU time of the host",
                  fgi_duration_words(fgi_json_number(host, "cpu_s"), words));
    fgi_page_number(out, "CPUs", NULL, fgi_json_number(host, "cpus"));
    fgi_page_card(out, "started (UTC)", fgi_json_words(view->report, "started_at"));
    fgi_buf_puts(out, "</div>\n");
    out->failed = out->failed || device.failed;
    fgi_buf_fini(&device);
}
