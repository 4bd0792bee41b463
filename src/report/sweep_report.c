/* sweep_report.c - sweeps: reads sweep.json and the folders of the runs, ranks the runs, and writes
 * the report: the table, the monitored metric over each swept number, and the curves of the best
 * runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/reports.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/run_lock.h"
#include "base/text.h"
#include "doc/doc.h"
#include "report/run_view.h"

enum { OTHER_METRICS = 4, CURVES_MAX = 8, COLUMNS = 32 };
static const double log_range = 20; /* a wider range of values has a logarithmic axis */

typedef struct sweep {
    json_t *record;       /* sweep.json */
    fgi_run_view *run;    /* of each run; all 0 if it has no folder yet */
    size_t *order;        /* of the runs: the best first, then those without a value */
    size_t count, ranked; /* runs, and those that have a value */
    bool is_max;          /* higher values are better */
} sweep;

/* ---- members --------------------------------------------------------------------------------- */

/* A run's object in sweep.json. */
static const json_t *run_of(const sweep *view, size_t run)
{
    return json_array_get(json_object_get(view->record, "runs"), run);
}

static const char *name_of(const sweep *view, size_t run)
{
    return fgi_json_words(run_of(view, run), "name");
}

/* Its best value of the monitored metric; NaN: none. */
static double best_of(const sweep *view, size_t run)
{
    return fgi_json_number(run_of(view, run), "best");
}

/* The metric by which runs are compared; "" if no run has started. */
static const char *monitor_of(const sweep *view) { return fgi_json_words(view->record, "monitor"); }

static size_t count_state(const sweep *view, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++)
        count += strcmp(fgi_json_words(run_of(view, i), "state"), state) == 0;
    return count;
}

/* "finished: 3 of 4 runs; best val_loss 0.0812 with lr=0.003" */
static void put_words(fgi_buf *out, const sweep *view)
{
    const size_t failed = count_state(view, "failed");
    fgi_put_plain(out, fgi_json_words(view->record, "state"));
    fgi_buf_printf(out, ": %zu of %zu run%s", count_state(view, "finished"), view->count,
                   fgi_s(view->count));
    if (failed > 0)
        fgi_buf_printf(out, ", %zu failed", failed);
    if (view->ranked == 0)
        return;
    fgi_buf_puts(out, "; best ");
    fgi_put_plain(out, monitor_of(view));
    fgi_buf_printf(out, " %.6g with ", best_of(view, view->order[0]));
    fgi_put_plain(out, name_of(view, view->order[0]));
}

/* ---- reading --------------------------------------------------------------------------------- */

fg_status fgi_sweep_look(const char *folder, bool *out_is_sweep, fg_error *err)
{
    char *path = fgi_path_join(folder, "sweep.json");
    if (path == NULL)
        return fgi_no_memory(err);
    *out_is_sweep = fgi_file_exists(path);
    fgi_free(path);
    return FG_OK;
}

/* A run's name is that of a folder in the sweep's. */
static bool is_run(const json_t *run)
{
    const char *name = fgi_json_words(run, "name");
    return *name != '\0' && *name != '.' && strchr(name, '/') == NULL &&
           json_is_object(json_object_get(run, "settings"));
}

static fg_status check_record(const char *path, const json_t *record, fg_error *err)
{
    size_t i;
    const json_t *run;
    if (json_is_integer(json_object_get(record, "version")))
        FGI_TRY(fgi_run_check_version(path, record, err));
    if (!json_is_integer(json_object_get(record, "version")) ||
        !json_is_array(json_object_get(record, "keys")) ||
        !json_is_array(json_object_get(record, "runs")))
        return fgi_fail(err, FG_EFORMAT, "%s: expected an object with 'version', 'keys' and 'runs'",
                        path);
    json_array_foreach(json_object_get(record, "runs"), i, run) if (!is_run(run)) return fgi_fail(
        err, FG_EFORMAT, "%s: run %zu: expected an object with 'name' and 'settings'", path, i);
    return FG_OK;
}

/* A sweep that was killed could not write that it has ended. */
static void correct_state(json_t *record, const char *folder)
{
    fgi_holder holder;
    size_t i;
    json_t *run;
    if (strcmp(fgi_json_words(record, "state"), "running") != 0)
        return;
    const fgi_lock_state lock = fgi_lock_look(folder, &holder);
    if (lock != FGI_LOCK_FREE && lock != FGI_LOCK_DEAD)
        return;
    (void)json_object_set_new(record, "state", json_string("killed"));
    json_array_foreach(json_object_get(record, "runs"), i, run)
    {
        if (strcmp(fgi_json_words(run, "state"), "running") == 0)
            (void)json_object_set_new(run, "state", json_string("killed"));
    }
}

fg_status fgi_sweep_read(const char *folder, json_t **out, fg_error *err)
{
    FGI_TRY(fgi_run_json_read(folder, "sweep.json", check_record, out, err));
    correct_state(*out, folder);
    return FG_OK;
}

/* A run that has not started, or did not get to its first metrics, has no folder to read. */
static fg_status read_run(sweep *view, const char *folder, size_t run, fg_error *err)
{
    fg_error why = {0};
    char *path = fgi_path_join(folder, name_of(view, run));
    if (path == NULL)
        return fgi_no_memory(err);
    const fg_status status = fgi_run_view_open(path, &view->run[run], &why);
    fgi_free(path);
    if (status != FG_OK && status != FG_ENOTFOUND) {
        *err = why;
        return status;
    }
    return FG_OK;
}

/* Sorts by insertion: there are at most 1000 runs. */
static void rank(sweep *view)
{
    const double sign = view->is_max ? -1 : 1;
    for (size_t i = 0; i < view->count; i++) {
        const double value = sign * best_of(view, i);
        size_t at = i;
        for (; at > 0 && isfinite(value); at--) {
            const double before = sign * best_of(view, view->order[at - 1]);
            if (isfinite(before) && before <= value)
                break;
            view->order[at] = view->order[at - 1];
        }
        view->order[at] = i;
        view->ranked += isfinite(value);
    }
}

static fg_status open_sweep(const char *folder, sweep *out, fg_error *err)
{
    *out = (sweep){.count = 0};
    FGI_TRY(fgi_sweep_read(folder, &out->record, err));
    if (out->record == NULL)
        return fgi_fail(err, FG_ENOTFOUND, "'%s' contains no sweep.json", folder);
    const size_t count = json_array_size(json_object_get(out->record, "runs"));
    out->run = fgi_calloc(count + 1, sizeof *out->run);
    out->order = fgi_calloc(count + 1, sizeof *out->order);
    if (out->run == NULL || out->order == NULL)
        return fgi_no_memory(err);
    out->count = count;
    out->is_max = strcmp(fgi_json_words(out->record, "mode"), "max") == 0;
    for (size_t i = 0; i < count; i++)
        FGI_TRY(read_run(out, folder, i, err));
    rank(out);
    return FG_OK;
}

static void close_sweep(sweep *view)
{
    for (size_t i = 0; i < view->count; i++)
        fgi_run_view_close(&view->run[i]);
    fgi_free(view->run);
    fgi_free(view->order);
    json_decref(view->record);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* A column per swept key, then state, epochs, metrics and time. */
typedef struct table {
    fgi_field field[COLUMNS + 3];
    const char *group[COLUMNS]; /* the object that has the values; NULL: the run itself */
    const char *member[COLUMNS];
    char key[COLUMNS][16], best_name[96];
    size_t count;
} table;

static void add_column(table *t, const char *name, fgi_kind kind, const char *group,
                       const char *member)
{
    const size_t i = t->count;
    if (i == COLUMNS)
        return;
    (void)fgi_snprintf(t->key[i], sizeof t->key[i], "cells.%zu", i);
    t->field[i] = (fgi_field)FGI_FIELD(name, t->key[i], kind);
    t->group[i] = group;
    t->member[i] = member;
    t->count++;
}

static bool has_column(const table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->field[i].name, name) == 0)
            return true;
    return false;
}

/* The metrics of validations besides the monitored one; of training if there are none. */
static void add_metrics(const sweep *view, table *t, const char *prefix)
{
    int added = 0;
    for (size_t i = 0; i < view->count; i++) {
        const char *name;
        const json_t *value;
        json_object_foreach(json_object_get(run_of(view, i), "metrics"), name, value)
        {
            (void)value;
            if (strncmp(name, prefix, strlen(prefix)) != 0 || has_column(t, name) ||
                added == OTHER_METRICS)
                continue;
            add_column(t, name, FGI_FIGURE, "metrics", name);
            added++;
        }
    }
    if (added == 0 && *prefix == 'v')
        add_metrics(view, t, "train_");
}

static void put_error(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    fgi_put_plain(out, fgi_json_words(row, "error"));
}

static void find_columns(const sweep *view, table *t)
{
    size_t i;
    const json_t *key;
    *t = (table){.count = 0};
    json_array_foreach(json_object_get(view->record, "keys"), i, key)
    {
        const char *name = json_is_string(key) ? json_string_value(key) : "";
        add_column(t, name, FGI_FIGURE, "settings", name);
    }
    add_column(t, "state", FGI_WORDS, NULL, "state");
    add_column(t, "epochs", FGI_NUMBER, NULL, "epochs");
    (void)fgi_snprintf(t->best_name, sizeof t->best_name, "best %s", monitor_of(view));
    add_column(t, t->best_name, FGI_FIGURE, NULL, "best");
    add_metrics(view, t, "val_");
    add_column(t, "time", FGI_TIME, NULL, "seconds");
    t->field[t->count] = (fgi_field)FGI_FIELD_IN(FGI_LINES, "", "bar", FGI_BAR);
    t->field[t->count + 1] = (fgi_field){"error", NULL, FGI_WORDS, FGI_PAGE, put_error};
    t->field[t->count + 2] = (fgi_field)FGI_FIELDS_END;
}

/* The cells of a run, its best value as a bar, and its error. */
static json_t *row_of(const sweep *view, const table *t, size_t run, double low)
{
    const json_t *entry = run_of(view, run);
    json_t *cells = json_array();
    for (size_t i = 0; i < t->count; i++) {
        const json_t *from = t->group[i] != NULL ? json_object_get(entry, t->group[i]) : entry;
        json_t *value = json_object_get(from, t->member[i]);
        (void)json_array_append_new(
            cells, value == NULL || json_is_null(value) ? json_string("-") : json_incref(value));
    }
    return json_pack("{s:o, s:O?, s:o, s:s*}", "cells", cells, "error",
                     json_object_get(entry, "error"), "bar",
                     fgi_json_real(best_of(view, run) - low), "class",
                     view->ranked > 0 && run == view->order[0] ? "good" : NULL);
}

/* In lines, runs are in the order of their settings, as in sweep.json; in the page, the best is
 * first. Bars begin at zero, or at the smallest value if one is negative. */
static void put_table(fgi_doc *d, const sweep *view)
{
    table t;
    double low = 0;
    json_t *rows = json_array();
    find_columns(view, &t);
    for (size_t i = 0; i < view->count; i++)
        low = fmin(low, best_of(view, i));
    for (size_t i = 0; i < view->count; i++)
        (void)json_array_append_new(rows, row_of(view, &t, d->is_page ? view->order[i] : i, low));
    fgi_doc_rows(d, "runs", t.field, rows);
}

/* Why runs have failed: in lines, where a column would be too narrow. */
static void put_errors(fgi_doc *d, const sweep *view)
{
    for (size_t i = 0; i < view->count && !d->is_page; i++)
        if (*fgi_json_words(run_of(view, i), "error") != '\0')
            fgi_doc_say(d, NULL, "%s: %s", name_of(view, i),
                        fgi_json_words(run_of(view, i), "error"));
}

/* ---- the metric over a setting --------------------------------------------------------------- */

/* The points of the runs that have a value, sorted by x. False if a setting is not a number, or all
 * runs have the same. */
static bool points_of(const sweep *view, const char *key, double *x, double *y)
{
    for (size_t i = 0; i < view->ranked; i++) {
        double value;
        const json_t *settings = json_object_get(run_of(view, view->order[i]), "settings");
        if (!fgi_parse_f64(fgi_str_of(fgi_json_words(settings, key)), &value) || !isfinite(value))
            return false;
        size_t at = i;
        for (; at > 0 && x[at - 1] > value; at--) {
            x[at] = x[at - 1];
            y[at] = y[at - 1];
        }
        x[at] = value;
        y[at] = best_of(view, view->order[i]);
    }
    return view->ranked > 1 && x[0] < x[view->ranked - 1];
}

/* The best of the values with the same x, in place; returns the number of points. */
static size_t keep_best(const sweep *view, double *x, double *y)
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

static void put_setting(fgi_doc *d, const sweep *view, const char *key, double *x, double *y)
{
    fgi_buf title = {0};
    if (!points_of(view, key, x, y))
        return;
    const size_t count = keep_best(view, x, y);
    fgi_buf_printf(&title, "best %s by %s", monitor_of(view), key);
    const fgi_series series = {monitor_of(view), x, y, count};
    if (!title.failed)
        fgi_doc_chart(d, &(fgi_chart){.title = title.data,
                                      .x_label = key,
                                      .series = &series,
                                      .count = 1,
                                      .is_log_x = is_log(x, count),
                                      .has_real_x = true});
    fgi_buf_fini_part(&title, d->out);
}

static void put_settings(fgi_doc *d, const sweep *view)
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

static void put_curves(fgi_doc *d, const sweep *view, const char *name)
{
    fgi_series series[CURVES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < view->ranked && count < CURVES_MAX; i++) {
        const size_t run = view->order[i];
        const fgi_run_metric *m = fgi_run_view_metric(&view->run[run], name);
        series[count] = (fgi_series){.name = name_of(view, run)};
        if (m != NULL)
            series[count] = (fgi_series){name_of(view, run), m->x, m->y, m->count};
        count++;
    }
    fgi_doc_chart(
        d, &(fgi_chart){.title = name, .x_label = "steps", .series = series, .count = count});
}

static bool is_first(const sweep *view, size_t i, const char *name)
{
    for (size_t k = 0; k < i; k++)
        if (fgi_run_view_metric(&view->run[view->order[k]], name) != NULL)
            return false;
    return true;
}

static void put_doc(fgi_buf *out, const sweep *view, bool is_page)
{
    fgi_doc d;
    fgi_buf words = {0};
    fgi_doc_begin(&d, out, is_page, is_page ? "Sweep" : "");
    put_words(&words, view);
    fgi_doc_say(&d, NULL, "%s", fgi_buf_text(&words));
    if (is_page)
        fgi_doc_heading(&d, 2, "Runs, the best first");
    else
        fgi_buf_putc(out, '\n');
    put_table(&d, view);
    if (view->ranked > 0)
        fgi_doc_say(&d, "note", "best %s (%s is better)", monitor_of(view),
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
    fgi_buf_fini_part(&words, out);
}

fg_status fgi_sweep_report(const char *folder, fg_report_form form, fgi_buf *out, fg_error *err)
{
    sweep s;
    const fg_status status = open_sweep(folder, &s, err);
    if (status == FG_OK && form == FG_REPORT_JSON)
        fgi_json_put(out, json_incref(s.record), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    else if (status == FG_OK)
        put_doc(out, &s, form == FG_REPORT_HTML);
    close_sweep(&s);
    return status;
}
