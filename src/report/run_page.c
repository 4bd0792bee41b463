/* run_page.c - the report of a run as an HTML page and as JSON. The metrics come first, then the
 * classes and samples of the validation, the verdicts, the time of the devices, and the details.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/run_page.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "report/chart.h"
#include "report/html.h"
#include "report/run_page_parts.h"

enum { WINDOWS_MAX = 512 };

static const json_t *part(const fgi_run_view *view, const char *key)
{
    return json_object_get(view->report, key);
}

/* ---- head ------------------------------------------------------------------------------------ */

/* The metric that selects the best checkpoint, else a loss; NULL: there is none. */
static const fgi_run_metric *main_metric(const fgi_run_view *view)
{
    const char *const names[] = {fgi_json_words(part(view, "settings"), "monitor"), "val_loss",
                                 "train_loss"};
    const fgi_run_metric *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && found == NULL; i++)
        found = fgi_run_view_metric(view, names[i]);
    return found;
}

static void put_best(fgi_buf *out, const fgi_run_metric *m)
{
    fgi_buf name = {0};
    const int64_t best = m != NULL ? fgi_run_metric_best(m) : -1;
    if (best < 0)
        return;
    fgi_buf_printf(&name, "best %s, step %.0f", m->name, m->x[best]);
    fgi_page_number(out, name.data != NULL ? name.data : "", NULL, m->y[best]);
    out->failed = out->failed || name.failed;
    fgi_buf_fini(&name);
}

/* The best values of the metrics that people look for. */
static void put_results(fgi_buf *out, const fgi_run_view *view)
{
    static const char *const names[] = {"val_acc", "val_f1", "val_rmse", "val_r2"};
    const fgi_run_metric *monitored = main_metric(view);
    if (monitored == NULL)
        return;
    fgi_buf_puts(out, "<div class=\"cards\">\n");
    put_best(out, monitored);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], monitored->name) != 0)
            put_best(out, fgi_run_view_metric(view, names[i]));
    fgi_buf_puts(out, "</div>\n");
}

static void put_cards(fgi_buf *out, const fgi_run_view *view)
{
    const json_t *r = view->report, *memory = part(view, "memory");
    char words[32];
    const double wall = fgi_json_number(part(view, "time"), "wall_s");
    const double peak = fgi_json_number(memory, "peak_bytes");
    fgi_buf_puts(out, "<div class=\"cards\">\n");
    fgi_page_card(out, "state",
                  r != NULL       ? fgi_json_words(r, "state")
                  : view->is_live ? "in progress"
                                  : "no report.json");
    fgi_page_card(out, "wall time", fgi_duration_words(fgi_json_number(r, "seconds"), words));
    fgi_page_number(out, "steps", NULL, fgi_json_number(r, "steps"));
    fgi_page_number(out, "epochs", NULL, fgi_json_number(r, "epochs"));
    fgi_page_number(out, "samples/s", NULL, fgi_json_number(r, "samples_per_s"));
    fgi_page_number(out, "devices busy", "%",
                    100 * fgi_json_number(part(view, "time"), "busy_s") / wall);
    fgi_page_number(out, "of peak FLOP/s (model)", "%",
                    100 * fgi_json_number(part(view, "utilization"), "mxu"));
    fgi_page_card(out, "device memory", isfinite(peak) ? fgi_bytes_words(peak) : "");
    fgi_buf_puts(out, "</div>\n");
}

static void put_verdict(fgi_buf *out, const json_t *v)
{
    const char *severity = fgi_run_severity(v);
    const bool is_high = *severity == 'h', is_medium = *severity == 'm';
    const double gain = fgi_json_number(v, "gain");
    fgi_buf_printf(out, "<div class=\"verdict%s%s\">\n<h3><span class=\"%s\">%s:</span> ",
                   is_high || is_medium ? " " : "", is_high || is_medium ? severity : "",
                   is_high     ? "bad"
                   : is_medium ? "warn"
                               : "note",
                   is_high     ? "High"
                   : is_medium ? "Medium"
                               : "Note");
    fgi_html_text(out, fgi_json_words(v, "title"));
    fgi_buf_puts(out, "</h3>\n");
    fgi_html_element(out, "p", fgi_json_words(v, "detail"));
    if (*fgi_json_words(v, "action") != '\0') {
        fgi_buf_puts(out, "<p><b>What to do:</b> ");
        fgi_html_text(out, fgi_json_words(v, "action"));
        fgi_buf_puts(out, "</p>\n");
    }
    if (isfinite(gain)) {
        const json_t *rate = json_object_get(v, "samples_per_s");
        const double from = fgi_json_number(rate, "from"), to = fgi_json_number(rate, "to");
        fgi_buf_printf(out, "<p class=\"note\">Would save up to %.*f %% of the time",
                       gain < 0.0995 ? 1 : 0, 100 * gain);
        if (isfinite(from) && isfinite(to)) {
            fgi_buf_printf(out, from < 1000 ? ": from %.4g" : ": from %.0f", from);
            fgi_buf_printf(out, to < 1000 ? " to %.4g samples/s" : " to %.0f samples/s", to);
        }
        fgi_buf_puts(out, ".</p>\n");
    }
    fgi_buf_puts(out, "</div>\n");
}

static void put_verdicts(fgi_buf *out, const fgi_run_view *view)
{
    const json_t *verdicts = part(view, "verdicts");
    size_t i;
    json_t *v;
    if (!json_is_array(verdicts))
        return;
    fgi_html_element(out, "h2", "Verdicts");
    if (json_array_size(verdicts) == 0)
        fgi_html_element(out, "p", "Nothing slows this run down noticeably.");
    json_array_foreach(verdicts, i, v) put_verdict(out, v);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void put_split(fgi_buf *out, const double parts[FGI_RUN_PARTS], double sum)
{
    static const char *const heads[] = {"", "#of the time", "#", "", NULL};
    fgi_buf_puts(out, "<div class=\"stack\" role=\"img\" aria-label=\"Busy and idle time, also in "
                      "the table below\">");
    for (int i = 0; i < FGI_RUN_PARTS; i++)
        if (parts[i] > 0)
            fgi_buf_printf(out, "<div class=\"s%d\" style=\"width:%.3f%%\" title=\"%s\"></div>", i,
                           99.99 * parts[i] / sum, fgi_run_parts[i].name);
    fgi_buf_puts(out, "</div>\n");
    fgi_html_table_begin(out, heads);
    for (int i = 0; i < FGI_RUN_PARTS; i++) {
        if (!(parts[i] >= 0))
            continue;
        fgi_buf_printf(out, "<tr><td class=\"name\"><span class=\"key s%d\"></span>%s</td>", i,
                       fgi_run_parts[i].name);
        fgi_html_percent_cell(out, parts[i], sum);
        fgi_html_time_cell(out, parts[i]);
        fgi_buf_printf(out, "<td class=\"more\">%s</td></tr>\n", fgi_run_parts[i].what);
    }
    fgi_html_table_end(out);
}

/* The parts of each window in percent, as areas over the steps. */
static void put_windows(fgi_buf *out, const json_t *windows)
{
    const size_t count = json_array_size(windows);
    const size_t used = count < WINDOWS_MAX ? count : WINDOWS_MAX;
    double *values = used > 1 ? fgi_calloc(used * (FGI_RUN_PARTS + 1), sizeof *values) : NULL;
    fgi_series series[FGI_RUN_PARTS];
    if (values == NULL) {
        out->failed = out->failed || used > 1;
        return;
    }
    for (size_t i = 0; i < used; i++) {
        const json_t *w = json_array_get(windows, i);
        double sum = 0;
        values[i] = fgi_json_number(w, "step");
        for (int p = 0; p < FGI_RUN_PARTS; p++)
            sum += fmax(0, fgi_json_number(w, fgi_run_parts[p].key));
        for (int p = 0; p < FGI_RUN_PARTS; p++)
            values[used * ((size_t)p + 1) + i] =
                sum > 0 ? 100 * fmax(0, fgi_json_number(w, fgi_run_parts[p].key)) / sum : 0;
    }
    for (int p = 0; p < FGI_RUN_PARTS; p++)
        series[p] =
            (fgi_series){fgi_run_parts[p].name, values, values + used * ((size_t)p + 1), used};
    fgi_chart_put_figure(out, &(fgi_chart){.title = "Percent of the time",
                                           .x_label = "steps",
                                           .series = series,
                                           .count = FGI_RUN_PARTS,
                                           .is_stacked = true});
    fgi_free(values);
}

static void put_rate(fgi_buf *out, const json_t *windows)
{
    const size_t count = json_array_size(windows);
    double *values = count > 1 ? fgi_calloc(2 * count, sizeof *values) : NULL;
    if (values == NULL) {
        out->failed = out->failed || count > 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = fgi_json_number(json_array_get(windows, i), "step");
        values[count + i] = fgi_json_number(json_array_get(windows, i), "samples_per_s");
    }
    const fgi_series one = {"samples/s", values, values + count, count};
    fgi_chart_put_figure(out, &(fgi_chart){.title = "Samples per second",
                                           .x_label = "steps",
                                           .series = &one,
                                           .count = 1,
                                           .color = 3});
    fgi_free(values);
}

static void put_time(fgi_buf *out, const fgi_run_view *view)
{
    double parts[FGI_RUN_PARTS], sum = 0;
    if (!fgi_run_split(view->report, parts))
        return;
    for (int i = 0; i < FGI_RUN_PARTS; i++)
        sum += parts[i] > 0 ? parts[i] : 0;
    fgi_html_element(out, "h2", "Where the time goes");
    put_split(out, parts, sum);
    fgi_buf_puts(out, "<div class=\"plots\">\n");
    put_windows(out, part(view, "windows"));
    put_rate(out, part(view, "windows"));
    fgi_buf_puts(out, "</div>\n");
}

static void put_step_time(fgi_buf *out, const fgi_run_view *view)
{
    static const char *const names[] = {"mean", "p5", "median", "p90", "p95", "p99", "max"};
    static const char *const keys[] = {"mean_s", "p5_s",  "p50_s", "p90_s",
                                       "p95_s",  "p99_s", "max_s"};
    const json_t *times = part(view, "step_time");
    if (!isfinite(fgi_json_number(times, "p50_s")))
        return;
    fgi_html_element(out, "h2", "Step time");
    fgi_buf_puts(out, "<div class=\"cards\">\n");
    fgi_page_number(out, "steps", NULL, fgi_json_number(times, "count"));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char words[32];
        fgi_page_card(out, names[i], fgi_duration_words(fgi_json_number(times, keys[i]), words));
    }
    fgi_buf_puts(out, "</div>\n");
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* "loss" of "train_loss" and "val_loss": both are drawn in one plot. */
static const char *subject_of(const char *name)
{
    if (strncmp(name, "train_", 6) == 0)
        return name + 6;
    return strncmp(name, "val_", 4) == 0 ? name + 4 : name;
}

/* The plot of metric i and of the others with its subject, unless an earlier one has drawn it. */
static void put_curves_of(fgi_buf *out, const fgi_run_view *view, size_t i)
{
    const char *subject = subject_of(view->metrics[i].name);
    fgi_series series[FGI_CHART_SERIES];
    size_t count = 0;
    for (size_t k = 0; k < i; k++)
        if (strcmp(subject_of(view->metrics[k].name), subject) == 0)
            return;
    for (size_t k = i; k < view->metric_count && count < FGI_CHART_SERIES; k++) {
        const fgi_run_metric *m = &view->metrics[k];
        if (strcmp(subject_of(m->name), subject) == 0)
            series[count++] = (fgi_series){m->name, m->x, m->y, m->count};
    }
    fgi_chart_put_figure(
        out,
        &(fgi_chart){
            .title = subject, .x_label = "steps", .series = series, .count = count, .color = 3});
}

enum { PASSES = 5 };

/* The monitored metric and its counterpart of training are drawn first, then the loss, other
 * metrics of validations, other metrics, and the learning rate. */
static int pass_of(const fgi_run_view *view, const char *name)
{
    const fgi_run_metric *first = main_metric(view);
    const char *subject = subject_of(name);
    if (first != NULL && strcmp(subject, subject_of(first->name)) == 0)
        return 0;
    if (strcmp(name, "lr") == 0)
        return PASSES - 1;
    for (size_t i = 0; i < view->metric_count; i++)
        if (strncmp(view->metrics[i].name, "val_", 4) == 0 &&
            strcmp(subject_of(view->metrics[i].name), subject) == 0)
            return strcmp(subject, "loss") == 0 ? 1 : 2;
    return 3;
}

static void put_metrics(fgi_buf *out, const fgi_run_view *view)
{
    static const char *const heads[] = {"metric", "#last", "#best", "#at step", NULL};
    if (view->metric_count == 0)
        return;
    fgi_html_element(out, "h2", "Metrics");
    fgi_buf_puts(out, "<div class=\"plots\">\n");
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < view->metric_count; i++)
            if (pass_of(view, view->metrics[i].name) == pass)
                put_curves_of(out, view, i);
    fgi_buf_puts(out, "</div>\n");
    fgi_html_table_begin(out, heads);
    for (size_t i = 0; i < view->metric_count; i++) {
        const fgi_run_metric *m = &view->metrics[i];
        const int64_t best = fgi_run_metric_best(m);
        fgi_buf_puts(out, "<tr>");
        fgi_html_cell(out, m->name);
        fgi_html_number_cell(out, m->last);
        fgi_html_number_cell(out, best >= 0 ? m->y[best] : (double)NAN);
        fgi_html_count_cell(out, best >= 0 ? m->x[best] : (double)NAN);
        fgi_buf_puts(out, "</tr>\n");
    }
    fgi_html_table_end(out);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void put_config(fgi_buf *out, const fgi_run_view *view)
{
    if (view->config == NULL)
        return;
    fgi_html_element(out, "h2", "Configuration");
    fgi_buf_puts(out, "<details><summary>config.yaml</summary>\n");
    fgi_html_element(out, "pre", view->config);
    fgi_buf_puts(out, "</details>\n");
}

void fgi_run_page_put(fgi_buf *out, const fgi_run_view *view)
{
    fgi_buf title = {0}, state = {0};
    fgi_buf_printf(&title, "Run %s", view->folder);
    fgi_run_state_words(&state, view);
    fgi_html_begin(out, title.data != NULL ? title.data : "Run");
    fgi_html_element(out, "p", state.data != NULL ? state.data : "");
    out->failed = out->failed || title.failed || state.failed;
    fgi_buf_fini(&title);
    fgi_buf_fini(&state);
    put_results(out, view);
    put_metrics(out, view);
    fgi_page_put_evaluation(out, view->report);
    fgi_html_element(out, "h2", "Run");
    put_cards(out, view);
    put_verdicts(out, view);
    put_time(out, view);
    put_step_time(out, view);
    fgi_page_put_use(out, view->report);
    fgi_page_put_loader(out, view->report);
    fgi_page_put_compiles(out, view->report);
    fgi_page_put_reads(out, view->report);
    fgi_page_put_history(out, view->report);
    fgi_page_put_machine(out, view);
    put_config(out, view);
    fgi_html_end(out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *metric_object(const fgi_run_metric *m)
{
    const int64_t best = fgi_run_metric_best(m);
    return json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)m->count, "last",
                     number_or_null(m->last), "best",
                     number_or_null(best >= 0 ? m->y[best] : (double)NAN), "best_step",
                     best >= 0 ? json_integer((json_int_t)m->x[best]) : json_null());
}

void fgi_run_json_put(fgi_buf *out, const fgi_run_view *view)
{
    json_t *metrics = json_object();
    for (size_t i = 0; i < view->metric_count; i++)
        (void)json_object_set_new(metrics, view->metrics[i].name, metric_object(&view->metrics[i]));
    json_t *root = json_pack("{s:s, s:O?, s:o, s:s?, s:o*}", "run", view->folder, "report",
                             view->report, "metrics", metrics, "config", view->config, "damage",
                             view->damage != NULL ? fgi_json_string(view->damage) : NULL);
    fgi_json_print(out, root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fgi_buf_putc(out, '\n');
    json_decref(root);
}
