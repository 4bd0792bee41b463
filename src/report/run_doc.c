/* run_doc.c - the report of a run: metrics, the last validation, verdicts, the time of the devices,
 * and the details; and the few lines at the end of a fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/reports.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "input/json_file.h"
#include "train/state/metrics.h"
#include "verdict/verdict.h"

enum { WINDOWS_MAX = 512 };

static const json_t *part(const fgi_run_view *view, const char *key)
{
    return json_object_get(view->report, key);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void put_number(fgi_buf *out, const char *before, double value, const char *after)
{
    if (isfinite(value))
        fgi_buf_printf(out, fabs(value) < 1000 ? "%s%.4g%s" : "%s%.0f%s", before, value, after);
}

/* A number of things, with their singular, " step". */
static void put_count(fgi_buf *out, const char *before, double count, const char *noun)
{
    put_number(out, before, count, noun);
    if (isfinite(count) && count != 1)
        fgi_buf_putc(out, 's');
}

/* Of a run without a report. */
static void put_rows(fgi_buf *out, const fgi_run_view *view)
{
    fgi_buf_printf(out, "%s%" PRId64 " row%s of metrics", view->is_live ? "in progress: " : "",
                   view->rows, fgi_s(view->rows));
    if (view->damage != NULL) {
        fgi_buf_puts(out, "; damaged: ");
        fgi_put_plain(out, view->damage);
    } else if (!view->is_live) {
        fgi_buf_puts(out, "; no report.json");
    }
}

/* A run that was killed has gone on after it last wrote its report. */
static void put_end(fgi_buf *out, const fgi_run_view *view)
{
    if (strcmp(fgi_json_words(view->report, "state"), "killed") != 0 ||
        !(view->last_step > fgi_json_number(view->report, "steps")))
        return;
    put_number(out, "; its metrics continue until step ", view->last_step, "");
    put_number(out, ", epoch ", view->last_epoch, "");
}

void fgi_run_state_words(fgi_buf *out, const fgi_run_view *view)
{
    char words[32];
    const json_t *r = view->report;
    const bool is_killed = strcmp(fgi_json_words(r, "state"), "killed") == 0;
    const double seconds = fgi_json_number(r, "seconds");
    if (r == NULL) {
        put_rows(out, view);
        return;
    }
    fgi_put_plain(out,
                  *fgi_json_words(r, "state") != '\0' ? fgi_json_words(r, "state") : "unknown");
    if (isfinite(seconds))
        fgi_buf_printf(out, is_killed ? "; last report after %s" : " after %s",
                       fgi_duration_words(seconds, words));
    put_count(out, ", ", fgi_json_number(r, "steps"), " step");
    put_count(out, ", ", fgi_json_number(r, "epochs"), " epoch");
    put_number(out, ", ", fgi_json_number(r, "samples_per_s"), " samples/s");
    put_end(out, view);
}

/* "8 x TPU v3 (tpu)"; nothing if it is unknown. */
static void put_device(fgi_buf *out, const fgi_field *field, const json_t *report)
{
    const json_t *device = json_object_get(report, "device");
    if (*fgi_json_words(device, "kind") == '\0')
        return;
    put_number(out, "", fgi_json_number(device, "count"), " x ");
    fgi_put_plain(out, fgi_json_words(device, "kind"));
    if (*fgi_json_words(device, "platform") != '\0') {
        fgi_buf_puts(out, " (");
        fgi_put_plain(out, fgi_json_words(device, "platform"));
        fgi_buf_putc(out, ')');
    }
}

/* "high", "medium" or "note" of a verdict. */
static const char *severity_of(const json_t *verdict)
{
    const char *severity = fgi_json_words(verdict, "severity");
    if (strcmp(severity, "high") == 0)
        return "high";
    return strcmp(severity, "medium") == 0 ? "medium" : "note";
}

/* The size of a loader stage's name in its key, "decode" in "decode_s". */
static size_t stage_size(const char *key)
{
    return strlen(key) - (fgi_ends_with(key, "_s") ? 2 : 0);
}

void fgi_run_gain_words(fgi_buf *out, const json_t *verdict)
{
    const json_t *rate = json_object_get(verdict, "samples_per_s");
    const double gain = fgi_json_number(verdict, "gain");
    const double from = fgi_json_number(rate, "from"), to = fgi_json_number(rate, "to");
    if (!isfinite(gain))
        return;
    fgi_buf_printf(out, "would save up to %.*f %% of the time", gain < 0.0995 ? 1 : 0, 100 * gain);
    if (isfinite(from) && isfinite(to)) {
        put_number(out, ": from ", from, "");
        put_number(out, " to ", to, " samples/s");
    }
}

/* ---- results and verdicts -------------------------------------------------------------------- */

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

static void put_best(fgi_doc *d, const fgi_run_metric *m)
{
    fgi_buf name = {0}, words = {0};
    const int64_t best = m != NULL ? fgi_run_metric_best(m) : -1;
    if (best < 0)
        return;
    fgi_buf_printf(&name, "best %s (step %.0f)", m->name, m->x[best]);
    fgi_kind_put(&words, FGI_NUMBER, m->y[best]);
    d->out->failed = d->out->failed || name.failed || words.failed;
    if (!d->out->failed)
        fgi_doc_card(d, name.data, words.data);
    fgi_buf_fini(&words);
    fgi_buf_fini(&name);
}

/* The best values of the monitored metric and of the headlines of the table. */
static void put_results(fgi_doc *d, const fgi_run_view *view)
{
    const fgi_run_metric *monitored = main_metric(view);
    if (monitored == NULL)
        return;
    put_best(d, monitored);
    for (size_t i = 0; i < fgi_metric_row_count; i++) {
        char name[64];
        (void)fgi_snprintf(name, sizeof name, "val_%s", fgi_metric_rows[i].name);
        if (fgi_metric_rows[i].is_headline && strcmp(name, monitored->name) != 0)
            put_best(d, fgi_run_view_metric(view, name));
    }
}

static void put_verdicts(fgi_doc *d, const json_t *verdicts)
{
    size_t i;
    const json_t *v;
    fgi_doc_heading(d, 2, "Verdicts");
    if (json_is_array(verdicts) && json_array_size(verdicts) == 0)
        fgi_doc_say(d, NULL, "Nothing slows this run down noticeably.");
    json_array_foreach(verdicts, i, v)
    {
        fgi_buf gain = {0};
        fgi_run_gain_words(&gain, v);
        d->out->failed = d->out->failed || gain.failed;
        fgi_doc_advice(d, &(fgi_advice){severity_of(v), fgi_json_words(v, "title"),
                                        fgi_json_words(v, "detail"), fgi_json_words(v, "action"),
                                        fgi_buf_text(&gain)});
        fgi_buf_fini(&gain);
    }
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
static void put_curves_of(fgi_doc *d, const fgi_run_view *view, size_t i)
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
    fgi_doc_chart(
        d, &(fgi_chart){
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

static json_t *metric_object(const fgi_run_metric *m)
{
    const int64_t best = fgi_run_metric_best(m);
    return json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)m->count, "last",
                     fgi_json_real(m->last), "best",
                     fgi_json_real(best >= 0 ? m->y[best] : (double)NAN), "best_step",
                     best >= 0 ? json_integer((json_int_t)m->x[best]) : json_null());
}

static json_t *metric_row(const fgi_run_metric *m, bool is_page)
{
    json_t *row = metric_object(m);
    (void)json_object_set_new(row, "name", json_string(m->name));
    if (!isfinite(m->last) && !is_page)
        (void)json_object_set_new(row, "last", json_string("nan"));
    return row;
}

static void put_metrics(fgi_doc *d, const fgi_run_view *view)
{
    static const fgi_field fields[] = {
        FGI_FIELD("metric", "name", FGI_WORDS), FGI_FIELD("last", "last", FGI_FIGURE),
        FGI_FIELD("best", "best", FGI_FIGURE), FGI_FIELD("at step", "best_step", FGI_COUNT),
        FGI_FIELDS_END};
    json_t *rows = json_array();
    bool has_window = false;
    fgi_doc_heading(d, 2, "Metrics");
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < view->metric_count; i++)
            if (pass_of(view, view->metrics[i].name) == pass)
                put_curves_of(d, view, i);
    for (size_t i = 0; i < view->metric_count; i++) {
        (void)json_array_append_new(rows, metric_row(&view->metrics[i], d->is_page));
        has_window = has_window || view->metrics[i].is_window;
    }
    fgi_doc_rows(d, NULL, fields, rows);
    if (has_window)
        fgi_doc_say(d, "note", "train_*: means over the steps since the previous log line");
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The parts of each window in percent, as areas over the steps. */
static void put_windows(fgi_doc *d, const json_t *windows)
{
    const size_t count = json_array_size(windows);
    const size_t used = count < WINDOWS_MAX ? count : WINDOWS_MAX;
    double *values = used > 1 ? fgi_calloc(used * (FGI_RUN_PARTS + 1), sizeof *values) : NULL;
    fgi_series series[FGI_RUN_PARTS];
    if (values == NULL) {
        d->out->failed = d->out->failed || used > 1;
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
    fgi_doc_chart(d, &(fgi_chart){.title = "Percent of the time",
                                  .x_label = "steps",
                                  .series = series,
                                  .count = FGI_RUN_PARTS,
                                  .is_stacked = true});
    fgi_free(values);
}

static void put_rate(fgi_doc *d, const json_t *windows)
{
    const size_t count = json_array_size(windows);
    double *values = count > 1 ? fgi_calloc(2 * count, sizeof *values) : NULL;
    if (values == NULL) {
        d->out->failed = d->out->failed || count > 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = fgi_json_number(json_array_get(windows, i), "step");
        values[count + i] = fgi_json_number(json_array_get(windows, i), "samples_per_s");
    }
    const fgi_series one = {"samples/s", values, values + count, count};
    fgi_doc_chart(d, &(fgi_chart){.title = "Samples per second",
                                  .x_label = "steps",
                                  .series = &one,
                                  .count = 1,
                                  .color = 3});
    fgi_free(values);
}

static void put_time(fgi_doc *d, const fgi_run_view *view)
{
    static const fgi_field fields[] = {FGI_FIELD("", "name", FGI_KEY),
                                       FGI_FIELD("of the time", "part", FGI_PERCENT),
                                       FGI_FIELD("", "seconds", FGI_TIME),
                                       FGI_FIELD_IN(FGI_LINES, "", "seconds", FGI_BAR),
                                       FGI_FIELD_IN(FGI_PAGE, "", "what", FGI_WORDS),
                                       FGI_FIELDS_END};
    double parts[FGI_RUN_PARTS], sum = 0;
    json_t *rows = json_array();
    if (fgi_run_split(view->report, parts)) {
        for (int i = 0; i < FGI_RUN_PARTS; i++)
            sum += parts[i] > 0 ? parts[i] : 0;
        for (int i = 0; i < FGI_RUN_PARTS; i++)
            if (parts[i] >= 0)
                (void)json_array_append_new(
                    rows, json_pack("{s:s, s:s, s:i, s:f, s:f}", "name", fgi_run_parts[i].name,
                                    "what", fgi_run_parts[i].what, "color", i, "seconds", parts[i],
                                    "part", parts[i] / sum));
        fgi_doc_heading(d, 2, "Where the time goes");
        fgi_doc_stack(d, rows, "seconds", sum);
        fgi_doc_table(d, NULL, fields, rows);
        put_windows(d, part(view, "windows"));
        put_rate(d, part(view, "windows"));
    }
    json_decref(rows);
}

/* ---- use of the devices ---------------------------------------------------------------------- */

/* The rate that memory and matrix units allow at each intensity, and the one that was achieved. */
static void put_roofline(fgi_doc *d, const json_t *use)
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
    fgi_doc_chart(d, &(fgi_chart){.title = "Roofline: FLOP/s of all devices",
                                  .x_label = "FLOPs per byte of memory traffic",
                                  .series = series,
                                  .count = 2,
                                  .y = FGI_SCALE_LOG,
                                  .is_log_x = true,
                                  .color = 3});
}

/* A rate in units of 10^9. */
static void put_giga(fgi_buf *out, const fgi_field *field, const json_t *report)
{
    fgi_kind_put(out, FGI_NUMBER,
                 fgi_json_number(json_object_get(report, "utilization"),
                                 *field->name == 'G' && field->name[1] == 'F'
                                     ? "flops_per_second"
                                     : "bytes_per_second") /
                     1e9);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void put_cause(fgi_buf *out, const fgi_field *field, const json_t *compile)
{
    fgi_run_cause_words(out, json_object_get(compile, "cause"));
}

static void put_cached(fgi_buf *out, const fgi_field *field, const json_t *compile)
{
    fgi_buf_puts(out, json_is_true(fgi_field_value(field, compile)) ? "from the cache" : "");
}

/* The stages of the loader, which are members of an object, as rows. */
static void put_stages(fgi_doc *d, json_t *stages)
{
    static const fgi_field fields[] = {FGI_FIELD("stage", "name", FGI_WORDS),
                                       FGI_FIELD("time of all workers", "seconds", FGI_TIME),
                                       FGI_FIELD("", "seconds", FGI_BAR), FGI_FIELDS_END};
    json_t *rows = json_array(), *value;
    const char *key;
    json_object_foreach(stages, key, value) if (json_number_value(value) > 0)(void)
        json_array_append_new(
            rows, json_pack("{s:s%, s:O}", "name", key, stage_size(key), "seconds", value));
    fgi_doc_rows(d, NULL, fields, rows);
}

/* ---- the report ------------------------------------------------------------------------------ */

static const fgi_field run_cards[] = {
    FGI_FIELD("task", "task", FGI_WORDS),
    FGI_FIELD("wall time", "seconds", FGI_TIME),
    FGI_FIELD("steps", "steps", FGI_NUMBER),
    FGI_FIELD("epochs", "epochs", FGI_NUMBER),
    FGI_FIELD("samples/s", "samples_per_s", FGI_NUMBER),
    FGI_FIELD("devices busy", "time.busy_s/time.wall_s", FGI_PERCENT),
    FGI_FIELD("of peak FLOP/s (model)", "utilization.mxu", FGI_PERCENT),
    FGI_FIELD("device memory", "memory.peak_bytes", FGI_BYTES),
    FGI_FIELDS_END};

static const fgi_field step_cards[] = {FGI_FIELD("steps", "step_time.count", FGI_NUMBER),
                                       FGI_FIELD("mean", "step_time.mean_s", FGI_TIME),
                                       FGI_FIELD("p5", "step_time.p5_s", FGI_TIME),
                                       FGI_FIELD("median", "step_time.p50_s", FGI_TIME),
                                       FGI_FIELD("p90", "step_time.p90_s", FGI_TIME),
                                       FGI_FIELD("p95", "step_time.p95_s", FGI_TIME),
                                       FGI_FIELD("p99", "step_time.p99_s", FGI_TIME),
                                       FGI_FIELD("max", "step_time.max_s", FGI_TIME),
                                       FGI_FIELDS_END};

static const fgi_field use_cards[] = {
    FGI_FIELD("of peak FLOP/s (model)", "utilization.mxu", FGI_PERCENT),
    FGI_FIELD("of peak FLOP/s while busy", "utilization.mxu_while_busy", FGI_PERCENT),
    FGI_FIELD("of the roofline", "utilization.roofline", FGI_PERCENT),
    FGI_FIELD("of the memory rate", "utilization.bytes_per_second/utilization.peak_bytes",
              FGI_PERCENT),
    FGI_FIELD("of matmuls in 16 bits", "utilization.sixteen_bit", FGI_PERCENT),
    FGI_FIELD_PUT("GFLOP/s", FGI_NUMBER, put_giga),
    FGI_FIELD_PUT("GB/s of memory", FGI_NUMBER, put_giga),
    FGI_FIELD("FLOPs per byte", "utilization.intensity", FGI_NUMBER),
    FGI_FIELDS_END};

static const fgi_field loader_cards[] = {
    FGI_FIELD("limited by", "loader.bound_by", FGI_WORDS),
    FGI_FIELD("workers", "loader.workers", FGI_NUMBER),
    FGI_FIELD("samples/s delivered", "loader.delivered_samples_per_s", FGI_NUMBER),
    FGI_FIELD("samples/s required", "loader.required_samples_per_s", FGI_NUMBER),
    FGI_FIELD("batches ready (mean)", "loader.queue_mean", FGI_NUMBER),
    FGI_FIELD("queue empty", "loader.queue_empty", FGI_PERCENT),
    FGI_FIELD("files opened", "loader.opens", FGI_NUMBER),
    FGI_FIELD("to open files", "loader.open_seconds", FGI_TIME),
    FGI_FIELDS_END};

static const fgi_field thread_fields[] = {FGI_FIELD("thread", "name", FGI_WORDS),
                                          FGI_FIELD("CPU time", "cpu_s", FGI_TIME),
                                          FGI_FIELD("", "cpu_s", FGI_BAR), FGI_FIELDS_END};

static const fgi_field compile_fields[] = {
    FGI_FIELD("program", "program", FGI_WORDS),   FGI_FIELD("step", "step", FGI_COUNT),
    FGI_FIELD("time", "seconds", FGI_TIME),       {"", "cached", FGI_WORDS, FGI_BOTH, put_cached},
    FGI_FIELD_PUT("cause", FGI_WORDS, put_cause), FGI_FIELDS_END};

static const fgi_field read_fields[] = {FGI_FIELD("read by", "at", FGI_WORDS),
                                        FGI_FIELD("times", "count", FGI_COUNT),
                                        FGI_FIELD("bytes", "bytes", FGI_BYTES),
                                        FGI_FIELD("waited", "wait_s", FGI_TIME), FGI_FIELDS_END};

static const fgi_field history_fields[] = {
    FGI_FIELD("started (UTC)", "started_at", FGI_WORDS), FGI_FIELD("ended", "state", FGI_WORDS),
    FGI_FIELD("after", "seconds", FGI_TIME), FGI_FIELD("at step", "steps", FGI_COUNT),
    FGI_FIELDS_END};

static const fgi_field machine_cards[] = {
    FGI_FIELD_PUT("devices", FGI_WORDS, put_device),
    FGI_FIELD("memory per device", "memory.limit_bytes", FGI_BYTES),
    FGI_FIELD("peak host memory", "host.peak_rss_bytes", FGI_BYTES),
    FGI_FIELD("CPU time of the host", "host.cpu_s", FGI_TIME),
    FGI_FIELD("CPUs", "host.cpus", FGI_NUMBER),
    FGI_FIELD("CPUs busy", "host.cpu_fraction", FGI_PERCENT),
    FGI_FIELD("started (UTC)", "started_at", FGI_WORDS),
    FGI_FIELDS_END};

static void put_details(fgi_doc *d, const fgi_run_view *view)
{
    const json_t *r = view->report, *history = part(view, "history");
    fgi_doc_heading(d, 2, "Step time");
    if (isfinite(fgi_json_number(part(view, "step_time"), "p50_s")))
        fgi_doc_cards(d, step_cards, r);
    fgi_doc_heading(d, 2, "Use of the devices");
    fgi_doc_cards(d, use_cards, r);
    put_roofline(d, part(view, "utilization"));
    fgi_doc_heading(d, 2, "Data loader");
    fgi_doc_cards(d, loader_cards, r);
    put_stages(d, json_object_get(part(view, "loader"), "stages"));
    fgi_doc_heading(d, 2, "Compiled programs");
    fgi_doc_table(d, NULL, compile_fields, part(view, "compiles"));
    fgi_doc_heading(d, 2, "Host reads");
    fgi_doc_table(d, NULL, read_fields, part(view, "host_reads"));
    fgi_doc_heading(d, 2, "Parts of the run");
    if (json_array_size(history) > 1)
        fgi_doc_table(d, NULL, history_fields, history);
}

static void put_machine(fgi_doc *d, const fgi_run_view *view)
{
    fgi_doc_heading(d, 2, "Machine");
    fgi_doc_cards(d, machine_cards, view->report);
    fgi_doc_table(d, NULL, thread_fields, json_object_get(part(view, "host"), "workers"));
}

static void put_doc(fgi_buf *out, const fgi_run_view *view, bool is_page)
{
    fgi_doc d;
    fgi_buf words = {0};
    fgi_buf_printf(&words, "Run %s", view->folder);
    fgi_doc_begin(&d, out, is_page, words.data != NULL ? words.data : "Run");
    fgi_buf_clear(&words);
    fgi_run_state_words(&words, view);
    fgi_doc_say(&d, NULL, "%s", fgi_buf_text(&words));
    fgi_buf_fini_part(&words, out);
    put_results(&d, view);
    put_metrics(&d, view);
    fgi_run_doc_evaluation(&d, view->report);
    put_verdicts(&d, part(view, "verdicts"));
    fgi_doc_heading(&d, 2, "Run");
    fgi_doc_cards(&d, run_cards, view->report);
    put_time(&d, view);
    put_details(&d, view);
    put_machine(&d, view);
    if (view->config != NULL) {
        fgi_doc_heading(&d, 2, "Configuration");
        fgi_doc_details(&d, "config.yaml", view->config);
    }
    fgi_doc_end(&d);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json(fgi_buf *out, const fgi_run_view *view)
{
    json_t *metrics = json_object();
    for (size_t i = 0; i < view->metric_count; i++)
        (void)json_object_set_new(metrics, view->metrics[i].name, metric_object(&view->metrics[i]));
    fgi_json_put(out,
                 json_pack("{s:s, s:O?, s:o, s:s?, s:o*}", "run", view->folder, "report",
                           view->report, "metrics", metrics, "config", view->config, "damage",
                           view->damage != NULL ? fgi_json_string(view->damage) : NULL),
                 JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

void fgi_run_report_put(fgi_buf *out, const fgi_run_view *view, fg_report_form form)
{
    if (form == FG_REPORT_JSON)
        put_json(out, view);
    else
        put_doc(out, view, form == FG_REPORT_HTML);
}

/* ---- the end of a fit ------------------------------------------------------------------------ */

enum { VERDICTS_MAX = 2 };
static const double worth_s = 1; /* what would save less is only in the report */

/* "; idle: other 7 %, input 1 %": the parts of at least one percent, the longest first. */
static void put_idle(fgi_buf *out, const double part[FGI_RUN_PARTS], double sum)
{
    bool is_done[FGI_RUN_PARTS] = {true}; /* busy */
    const char *separator = "; idle: ";
    for (;;) {
        int longest = -1;
        for (int i = 1; i < FGI_RUN_PARTS; i++)
            if (!is_done[i] && part[i] >= 0.01 * sum && (longest < 0 || part[i] > part[longest]))
                longest = i;
        if (longest < 0)
            return;
        is_done[longest] = true;
        fgi_buf_printf(out, "%s%s %.0f %%", separator, fgi_run_parts[longest].name,
                       100 * part[longest] / sum);
        separator = ", ";
    }
}

static void put_times(fgi_buf *out, const json_t *report)
{
    double part[FGI_RUN_PARTS], sum = 0;
    char median[32], p95[32];
    const json_t *times = json_object_get(report, "step_time");
    if (!fgi_run_split(report, part) || !isfinite(fgi_json_seconds(times, "p50")))
        return;
    for (int i = 0; i < FGI_RUN_PARTS; i++)
        sum += part[i] > 0 ? part[i] : 0;
    fgi_buf_printf(out, "time: %s per step (p95 %s); devices busy %.0f %%",
                   fgi_duration_words(fgi_json_seconds(times, "p50"), median),
                   fgi_duration_words(fgi_json_seconds(times, "p95"), p95), 100 * part[0] / sum);
    put_idle(out, part, sum);
    fgi_buf_putc(out, '\n');
}

void fgi_run_brief_put(fgi_buf *out, const json_t *report)
{
    size_t i, shown = 0;
    json_t *verdict;
    put_times(out, report);
    json_array_foreach(json_object_get(report, "verdicts"), i, verdict)
    {
        const char *severity = severity_of(verdict);
        const double saved_s =
            fgi_json_number(verdict, "gain") * fgi_json_number(report, "seconds");
        if (strcmp(severity, "note") == 0 || shown == VERDICTS_MAX)
            return;
        if (saved_s < worth_s)
            continue;
        fgi_buf gain = {0};
        shown++;
        fgi_buf_printf(out, "%s: ", severity);
        fgi_put_plain(out, fgi_json_words(verdict, "title"));
        fgi_run_gain_words(&gain, verdict);
        fgi_buf_printf(out, gain.size > 0 ? " (%s): " : ": ", gain.data);
        fgi_buf_fini(&gain);
        fgi_put_plain(out, fgi_json_words(verdict, "action"));
        fgi_buf_putc(out, '\n');
    }
}
