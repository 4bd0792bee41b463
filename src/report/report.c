/* report.c - the public functions: reports of runs and sweeps, and several runs side by side. The
 * comparison is one JSON object, {"runs": [...],
 * "rows": [{"section", "name", "values": [...]}]}, which the other forms present.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/report.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "input/json_file.h"
#include "report/run_view.h"
#include "report/reports.h"
#include "verdict/verdict.h"

enum { RUNS_MAX = 8 };

typedef struct comparison {
    fgi_run_view runs[RUNS_MAX];
    size_t count;
    json_t *rows;
} comparison;

/* ---- rows ------------------------------------------------------------------------------------ */

/* Takes the values; a row in which nothing is known is left out. */
static void add_row(comparison *c, const char *section, const char *name, json_t *values)
{
    size_t i, known = 0;
    json_t *value;
    json_array_foreach(values, i, value) known += !json_is_null(value);
    if (known > 0)
        (void)json_array_append_new(c->rows, json_pack("{s:s, s:s, s:O}", "section", section,
                                                       "name", name, "values", values));
    json_decref(values);
}

/* A member of report.json, or of an object in it. */
static void add_member(comparison *c, const char *section, const char *name, const char *object,
                       const char *key)
{
    json_t *values = json_array();
    for (size_t i = 0; i < c->count; i++) {
        const json_t *o = c->runs[i].report;
        json_t *value = json_object_get(object != NULL ? json_object_get(o, object) : o, key);
        (void)json_array_append(
            values, json_is_number(value) || json_is_string(value) ? value : json_null());
    }
    add_row(c, section, name, values);
}

static void add_split(comparison *c)
{
    for (int p = 0; p < FGI_RUN_PARTS; p++) {
        json_t *values = json_array();
        for (size_t i = 0; i < c->count; i++) {
            double parts[FGI_RUN_PARTS], sum = 0;
            const bool is_known = fgi_run_split(c->runs[i].report, parts);
            for (int k = 0; is_known && k < FGI_RUN_PARTS; k++)
                sum += parts[k] > 0 ? parts[k] : 0;
            (void)json_array_append_new(
                values, fgi_json_real(is_known && parts[p] >= 0 ? parts[p] / sum : (double)NAN));
        }
        add_row(c, "time", fgi_run_parts[p].name, values);
    }
}

static void add_metric(void *self, const char *name)
{
    comparison *c = self;
    json_t *last = json_array(), *best = json_array();
    fgi_buf words = {0};
    for (size_t i = 0; i < c->count; i++) {
        const fgi_run_metric *m = fgi_run_view_metric(&c->runs[i], name);
        const int64_t at = m != NULL ? fgi_run_metric_best(m) : -1;
        (void)json_array_append_new(last, fgi_json_real(m != NULL ? m->last : (double)NAN));
        (void)json_array_append_new(best, fgi_json_real(at >= 0 ? m->y[at] : (double)NAN));
    }
    add_row(c, "metrics", name, last);
    fgi_buf_printf(&words, "%s, best", name);
    add_row(c, "metrics", words.data != NULL ? words.data : "best", best);
    fgi_buf_fini(&words);
}

/* Whether an earlier run has the metric. */
static bool is_listed(const comparison *c, size_t run, const char *name)
{
    for (size_t i = 0; i < run; i++)
        if (fgi_run_view_metric(&c->runs[i], name) != NULL)
            return true;
    return false;
}

enum { PASSES = 3 };

/* Metrics of validations come first, the learning rate last. */
static int pass_of(const char *name)
{
    return strncmp(name, "val_", 4) == 0 ? 0 : strcmp(name, "lr") == 0 ? PASSES - 1 : 1;
}

/* Calls `put` for each metric of any run. */
static void each_metric(const comparison *c, void (*put)(void *self, const char *name), void *self)
{
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < c->count; i++)
            for (size_t m = 0; m < c->runs[i].metric_count; m++) {
                const char *name = c->runs[i].metrics[m].name;
                if (pass_of(name) == pass && !is_listed(c, i, name))
                    put(self, name);
            }
}

/* The keys of the configurations that are not the same in all runs that have one. */
static void add_config(comparison *c)
{
    json_t *configs[RUNS_MAX], *keys = json_object(), *unused;
    const char *key;
    for (size_t i = 0; i < c->count; i++) {
        configs[i] = c->runs[i].config != NULL ? fgi_config_lines(c->runs[i].config) : NULL;
        (void)json_object_update(keys, configs[i]);
    }
    json_object_foreach(keys, key, unused)
    {
        json_t *values = json_array();
        bool differs = false;
        for (size_t i = 0; i < c->count; i++) {
            json_t *value = json_object_get(configs[i], key);
            differs = differs || (configs[i] != NULL && !json_equal(value, unused));
            (void)json_array_append(values, value != NULL ? value : json_null());
        }
        if (differs)
            add_row(c, "configuration", key, values);
        else
            json_decref(values);
    }
    for (size_t i = 0; i < c->count; i++)
        json_decref(configs[i]);
    json_decref(keys);
}

static void compare(comparison *c)
{
    add_member(c, "run", "state", NULL, "state");
    add_member(c, "run", "wall time, s", NULL, "seconds");
    add_member(c, "run", "steps", NULL, "steps");
    add_member(c, "run", "epochs", NULL, "epochs");
    add_member(c, "run", "samples/s", NULL, "samples_per_s");
    add_member(c, "run", "median step, s", "step_time", "p50_s");
    add_member(c, "run", "device", "device", "kind");
    add_split(c);
    each_metric(c, add_metric, c);
    add_config(c);
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* A value: times are percentages. */
static void put_value(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    const json_t *value = fgi_field_value(field, row);
    const bool is_part = strcmp(fgi_json_words(row, "section"), "time") == 0;
    if (json_is_string(value))
        fgi_buf_puts(out, json_string_value(value));
    else if (json_is_number(value))
        fgi_kind_put(out, is_part ? FGI_PERCENT : FGI_WORDS, json_number_value(value));
    else
        fgi_buf_putc(out, '-');
}

/* The curves of a metric of all runs in one plot; a run without it keeps its color. */
typedef struct page {
    fgi_doc *d;
    const comparison *c;
} page;

static void put_curves(void *self, const char *name)
{
    const page *p = self;
    const comparison *c = p->c;
    fgi_series series[RUNS_MAX];
    for (size_t i = 0; i < c->count; i++) {
        const fgi_run_metric *m = fgi_run_view_metric(&c->runs[i], name);
        series[i] = (fgi_series){.name = c->runs[i].folder};
        if (m != NULL)
            series[i] = (fgi_series){c->runs[i].folder, m->x, m->y, m->count};
    }
    fgi_doc_chart(
        p->d, &(fgi_chart){.title = name, .x_label = "steps", .series = series, .count = c->count});
}

static void put_doc(fgi_buf *out, const comparison *c, bool is_page)
{
    fgi_doc d;
    fgi_field fields[RUNS_MAX + 2] = {FGI_FIELD("", "name", FGI_WORDS)};
    char keys[RUNS_MAX][16];
    for (size_t i = 0; i < c->count; i++) {
        (void)fgi_snprintf(keys[i], sizeof keys[i], "values.%zu", i);
        fields[i + 1] = (fgi_field){c->runs[i].folder, keys[i], FGI_WORDS, FGI_BOTH, put_value};
    }
    fields[c->count + 1] = (fgi_field)FGI_FIELDS_END;
    fgi_doc_begin(&d, out, is_page, is_page ? "Comparison of runs" : "");
    if (is_page)
        fgi_doc_heading(&d, 2, "Results, time and settings that differ");
    fgi_doc_table(&d, "runs narrow", fields, c->rows);
    fgi_doc_heading(&d, 2, "Metrics");
    each_metric(c, put_curves, &(page){&d, c});
    fgi_doc_end(&d);
}

static void put_json(fgi_buf *out, const comparison *c)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < c->count; i++)
        (void)json_array_append_new(runs, json_string(c->runs[i].folder));
    fgi_json_put(out, json_pack("{s:o, s:O}", "runs", runs, "rows", c->rows),
                 JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static fg_status make(comparison *c, const char *const *folders, fgi_buf *text, fg_report_form form,
                      fg_error *err)
{
    for (size_t i = 0; i < c->count; i++)
        FGI_TRY(fgi_run_view_open(folders[i], &c->runs[i], err));
    c->rows = json_array();
    if (c->rows == NULL)
        return fgi_no_memory(err);
    compare(c);
    if (form == FG_REPORT_JSON)
        put_json(text, c);
    else
        put_doc(text, c, form == FG_REPORT_HTML);
    return FG_OK;
}

/* Takes the text of a report. */
static fg_status take(fg_status status, fgi_buf *text, char **out, fg_error *err)
{
    if (status == FG_OK)
        status = fgi_buf_status(text, err);
    if (status == FG_OK)
        *out = fgi_buf_take(text);
    fgi_buf_fini(text);
    return status;
}

static fg_status check_form(fg_report_form form, fg_error *err)
{
    if ((unsigned)form > FG_REPORT_HTML)
        return fgi_fail(err, FG_EINVAL, "form %d: expected one of fg_report_form", (int)form);
    return FG_OK;
}

fg_status fg_report_compare(const char *const *folders, size_t count, fg_report_form form,
                            char **out, fg_error *err)
{
    fgi_buf text = {0};
    *out = NULL;
    if (count < 1 || count > RUNS_MAX)
        return fgi_fail(err, FG_EINVAL, "%zu runs: expected 1 to %d", count, RUNS_MAX);
    FGI_TRY(check_form(form, err));
    comparison *c = fgi_calloc(1, sizeof *c);
    if (c == NULL)
        return fgi_no_memory(err);
    c->count = count;
    const fg_status status = make(c, folders, &text, form, err);
    for (size_t i = 0; i < count; i++)
        fgi_run_view_close(&c->runs[i]);
    json_decref(c->rows);
    fgi_free(c);
    return take(status, &text, out, err);
}

/* ---- one run or sweep ------------------------------------------------------------------------ */

static fg_status put_run(const char *folder, fg_report_form form, fgi_buf *out, fg_error *err)
{
    fgi_run_view view;
    const fg_status status = fgi_run_view_open(folder, &view, err);
    if (status == FG_OK)
        fgi_run_report_put(out, &view, form);
    fgi_run_view_close(&view);
    return status;
}

fg_status fg_report_run(const char *folder, fg_report_form form, char **out, fg_error *err)
{
    fgi_buf text = {0};
    bool is_sweep = false;
    *out = NULL;
    FGI_TRY(check_form(form, err));
    FGI_TRY(fgi_sweep_look(folder, &is_sweep, err));
    return take((is_sweep ? fgi_sweep_report : put_run)(folder, form, &text, err), &text, out, err);
}
