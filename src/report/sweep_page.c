/* sweep_page.c - the report of a sweep as a page: the table, the monitored metric over each swept
 * number, and the curves of the best runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/run_page.h"
#include "report/sweep_view.h"

enum { CURVES_MAX = 8 };
static const double log_range = 20; /* a wider range of values has a logarithmic axis */

static void put_row(fgi_buf *out, const fgi_sweep_view *view, const fgi_sweep_table *t, size_t run,
                    fgi_buf *cell)
{
    const bool is_best = view->ranked > 0 && run == view->order[0];
    fgi_buf_puts(out, "<tr>");
    for (size_t i = 0; i < t->columns; i++) {
        fgi_sweep_cell(view, t, run, i, cell);
        fgi_buf_puts(out, "<td data-run=\"");
        fgi_html_text(out, t->names[i]);
        fgi_buf_puts(out, i == 0 && is_best ? "\" class=\"n good\">"
                          : t->is_number[i] ? "\" class=\"n\">"
                                            : "\">");
        fgi_html_text(out, cell->data != NULL ? cell->data : "");
        fgi_buf_puts(out, "</td>");
    }
    fgi_buf_clear(cell);
    fgi_run_put_plain(cell, fgi_json_words(fgi_sweep_run(view, run), "error"));
    fgi_html_cell(out, cell->data != NULL ? cell->data : "");
    fgi_buf_puts(out, "</tr>\n");
}

static void put_table(fgi_buf *out, const fgi_sweep_view *view)
{
    fgi_sweep_table t;
    fgi_buf cell = {0};
    fgi_sweep_table_init(view, &t);
    fgi_buf_puts(out, "<div class=\"runs\">\n");
    fgi_html_table_begin(out, NULL);
    fgi_buf_puts(out, "<tr>");
    for (size_t i = 0; i < t.columns; i++) {
        fgi_buf_puts(out, t.is_number[i] ? "<th class=\"n\">" : "<th>");
        fgi_html_text(out, t.names[i]);
        fgi_buf_puts(out, "</th>");
    }
    fgi_buf_puts(out, "<th>error</th></tr>\n");
    for (size_t i = 0; i < view->count; i++)
        put_row(out, view, &t, view->order[i], &cell);
    fgi_html_table_end(out);
    fgi_buf_puts(out, "</div>\n");
    out->failed |= cell.failed;
    fgi_buf_fini(&cell);
}

/* ---- the metric over a setting --------------------------------------------------------------- */

/* The points of the runs that have a value, sorted by x. False if a setting is not a number, or all
 * runs have the same. */
static bool points_of(const fgi_sweep_view *view, const char *key, double *x, double *y)
{
    for (size_t i = 0; i < view->ranked; i++) {
        double value;
        const json_t *settings = json_object_get(fgi_sweep_run(view, view->order[i]), "settings");
        if (!fgi_parse_f64(fgi_str_of(fgi_json_words(settings, key)), &value) || !isfinite(value))
            return false;
        size_t at = i;
        for (; at > 0 && x[at - 1] > value; at--) {
            x[at] = x[at - 1];
            y[at] = y[at - 1];
        }
        x[at] = value;
        y[at] = fgi_sweep_best(view, view->order[i]);
    }
    return view->ranked > 1 && x[0] < x[view->ranked - 1];
}

/* The best of the values with the same x, in place; returns the number of points. */
static size_t keep_best(const fgi_sweep_view *view, double *x, double *y)
{
    size_t count = 0;
    for (size_t i = 0; i < view->ranked; i++) {
        if (count == 0 || x[count - 1] != x[i]) {
            x[count] = x[i];
            y[count++] = y[i];
        } else if (view->is_max ? y[i] > y[count - 1] : y[i] < y[count - 1]) {
            y[count - 1] = y[i];
        }
    }
    return count;
}

static bool is_log(const double *x, size_t count)
{
    return x[0] > 0 && x[count - 1] > log_range * x[0];
}

static void put_setting(fgi_buf *out, const fgi_sweep_view *view, const char *key, double *x,
                        double *y)
{
    fgi_buf title = {0};
    if (!points_of(view, key, x, y))
        return;
    const size_t count = keep_best(view, x, y);
    fgi_buf_printf(&title, "best %s by %s", fgi_sweep_monitor(view), key);
    const fgi_series series = {fgi_sweep_monitor(view), x, y, count};
    if (!title.failed)
        fgi_chart_put_figure(out, &(fgi_chart){.title = title.data,
                                               .x_label = key,
                                               .series = &series,
                                               .count = 1,
                                               .is_log_x = is_log(x, count),
                                               .has_real_x = true});
    out->failed |= title.failed;
    fgi_buf_fini(&title);
}

static void put_settings(fgi_buf *out, const fgi_sweep_view *view)
{
    size_t i;
    const json_t *key;
    double *x = fgi_calloc(2 * view->count + 1, sizeof *x);
    out->failed |= x == NULL;
    if (x != NULL)
        json_array_foreach(json_object_get(view->record, "keys"), i, key) if (json_is_string(key))
            put_setting(out, view, json_string_value(key), x, x + view->count);
    fgi_free(x);
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void put_curves(fgi_buf *out, const fgi_sweep_view *view, const char *name)
{
    fgi_series series[CURVES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < view->ranked && count < CURVES_MAX; i++) {
        const size_t run = view->order[i];
        const fgi_run_metric *m = fgi_run_view_metric(&view->run[run], name);
        series[count] = (fgi_series){.name = fgi_sweep_name(view, run)};
        if (m != NULL)
            series[count] = (fgi_series){fgi_sweep_name(view, run), m->x, m->y, m->count};
        count++;
    }
    fgi_chart_put_figure(
        out, &(fgi_chart){.title = name, .x_label = "steps", .series = series, .count = count});
}

static bool is_first(const fgi_sweep_view *view, size_t i, const char *name)
{
    for (size_t k = 0; k < i; k++)
        if (fgi_run_view_metric(&view->run[view->order[k]], name) != NULL)
            return false;
    return true;
}

void fgi_sweep_page_put(fgi_buf *out, const fgi_sweep_view *view)
{
    fgi_buf words = {0};
    fgi_html_begin(out, "Sweep");
    fgi_sweep_words(&words, view);
    fgi_html_element(out, "p", words.data != NULL ? words.data : "");
    fgi_html_element(out, "h2", "Runs, the best first");
    put_table(out, view);
    fgi_html_element(out, "h2", "Settings");
    fgi_buf_puts(out, "<div class=\"plots\">\n");
    put_settings(out, view);
    fgi_buf_puts(out, "</div>\n");
    fgi_html_element(out, "h2", view->ranked > CURVES_MAX ? "Metrics of the best runs" : "Metrics");
    fgi_buf_puts(out, "<div class=\"plots\">\n");
    for (size_t i = 0; i < view->ranked && i < CURVES_MAX; i++) {
        const fgi_run_view *run = &view->run[view->order[i]];
        for (size_t m = 0; m < run->metric_count; m++)
            if (is_first(view, i, run->metrics[m].name))
                put_curves(out, view, run->metrics[m].name);
    }
    fgi_buf_puts(out, "</div>\n");
    fgi_html_end(out);
    out->failed |= words.failed;
    fgi_buf_fini(&words);
}
