/* sweep_doc.c - the report of a sweep: the table, the monitored metric over each swept number, and
 * the curves of the best runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/text.h"
#include "doc/doc.h"
#include "report/sweep_view.h"

enum { CURVES_MAX = 8, COLUMNS = sizeof((fgi_sweep_table){0}.names) / sizeof(char *) };
static const double log_range = 20; /* a wider range of values has a logarithmic axis */

/* The cells of a run, "0", "1" and so on, its best value as a bar, and its error. */
static json_t *row_of(const fgi_sweep_view *view, const fgi_sweep_table *t, size_t run, double low)
{
    fgi_buf cell = {0};
    json_t *cells = json_array();
    for (size_t i = 0; i < t->columns; i++) {
        fgi_sweep_cell(view, t, run, i, &cell);
        (void)json_array_append_new(cells, fgi_json_string(cell.data));
    }
    fgi_buf_clear(&cell);
    fgi_put_plain(&cell, fgi_json_words(fgi_sweep_run(view, run), "error"));
    const double best = fgi_sweep_best(view, run);
    json_t *row = json_pack("{s:o, s:o, s:o}", "cells", cells, "error", fgi_json_string(cell.data),
                            "bar", isfinite(best) ? json_real(best - low) : json_null());
    if (view->ranked > 0 && run == view->order[0])
        (void)json_object_set_new(row, "class", json_string("good"));
    fgi_buf_fini(&cell);
    return row;
}

/* In lines, runs are in the order of their settings, as in sweep.json; in the page, the best is
 * first. Bars begin at zero, or at the smallest value if one is negative. */
static void put_table(fgi_doc *d, const fgi_sweep_view *view)
{
    fgi_sweep_table t;
    fgi_field fields[COLUMNS + 3];
    char keys[COLUMNS][16];
    double low = 0;
    json_t *rows = json_array();
    fgi_sweep_table_init(view, &t);
    for (size_t i = 0; i < t.columns; i++) {
        (void)fgi_snprintf(keys[i], sizeof keys[i], "cells.%zu", i);
        fields[i] =
            (fgi_field)FGI_FIELD(t.names[i], keys[i], t.is_number[i] ? FGI_FIGURE : FGI_WORDS);
    }
    fields[t.columns] = (fgi_field)FGI_FIELD_IN(FGI_LINES, "", "bar", FGI_BAR);
    fields[t.columns + 1] = (fgi_field)FGI_FIELD_IN(FGI_PAGE, "error", "error", FGI_WORDS);
    fields[t.columns + 2] = (fgi_field)FGI_FIELDS_END;
    for (size_t i = 0; i < view->count; i++)
        low = fmin(low, fgi_sweep_best(view, i));
    for (size_t i = 0; i < view->count; i++)
        (void)json_array_append_new(rows, row_of(view, &t, d->is_page ? view->order[i] : i, low));
    fgi_doc_table(d, "runs", fields, rows);
    json_decref(rows);
}

/* Why runs have failed: in lines, where a column would be too narrow. */
static void put_errors(fgi_doc *d, const fgi_sweep_view *view)
{
    for (size_t i = 0; i < view->count && !d->is_page; i++)
        if (*fgi_json_words(fgi_sweep_run(view, i), "error") != '\0')
            fgi_doc_say(d, NULL, "%s: %s", fgi_sweep_name(view, i),
                        fgi_json_words(fgi_sweep_run(view, i), "error"));
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

static void put_setting(fgi_doc *d, const fgi_sweep_view *view, const char *key, double *x,
                        double *y)
{
    fgi_buf title = {0};
    if (!points_of(view, key, x, y))
        return;
    const size_t count = keep_best(view, x, y);
    fgi_buf_printf(&title, "best %s by %s", fgi_sweep_monitor(view), key);
    const fgi_series series = {fgi_sweep_monitor(view), x, y, count};
    if (!title.failed)
        fgi_doc_chart(d, &(fgi_chart){.title = title.data,
                                      .x_label = key,
                                      .series = &series,
                                      .count = 1,
                                      .is_log_x = is_log(x, count),
                                      .has_real_x = true});
    d->out->failed |= title.failed;
    fgi_buf_fini(&title);
}

static void put_settings(fgi_doc *d, const fgi_sweep_view *view)
{
    size_t i;
    const json_t *key;
    double *x = fgi_calloc(2 * view->count + 1, sizeof *x);
    d->out->failed |= x == NULL;
    if (x != NULL)
        json_array_foreach(json_object_get(view->record, "keys"), i, key) if (json_is_string(key))
            put_setting(d, view, json_string_value(key), x, x + view->count);
    fgi_free(x);
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void put_curves(fgi_doc *d, const fgi_sweep_view *view, const char *name)
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
    fgi_doc_chart(
        d, &(fgi_chart){.title = name, .x_label = "steps", .series = series, .count = count});
}

static bool is_first(const fgi_sweep_view *view, size_t i, const char *name)
{
    for (size_t k = 0; k < i; k++)
        if (fgi_run_view_metric(&view->run[view->order[k]], name) != NULL)
            return false;
    return true;
}

void fgi_sweep_doc_put(fgi_buf *out, const fgi_sweep_view *view, bool is_page)
{
    fgi_doc d;
    fgi_buf words = {0};
    fgi_doc_begin(&d, out, is_page, is_page ? "Sweep" : "");
    fgi_sweep_words(&words, view);
    fgi_doc_say(&d, NULL, "%s", words.data != NULL ? words.data : "");
    if (is_page)
        fgi_doc_heading(&d, 2, "Runs, the best first");
    else
        fgi_buf_putc(out, '\n');
    put_table(&d, view);
    if (view->ranked > 0)
        fgi_doc_say(&d, "note", "best %s (%s is better)", fgi_sweep_monitor(view),
                    view->is_max ? "higher" : "lower");
    put_errors(&d, view);
    fgi_doc_heading(&d, 2, "Settings");
    put_settings(&d, view);
    fgi_doc_heading(&d, 2, view->ranked > CURVES_MAX ? "Metrics of the best runs" : "Metrics");
    for (size_t i = 0; i < view->ranked && i < CURVES_MAX; i++) {
        const fgi_run_view *run = &view->run[view->order[i]];
        for (size_t m = 0; m < run->metric_count; m++)
            if (is_first(view, i, run->metrics[m].name))
                put_curves(&d, view, run->metrics[m].name);
    }
    fgi_doc_end(&d);
    out->failed |= words.failed;
    fgi_buf_fini(&words);
}
