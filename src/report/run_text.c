/* run_text.c - the report of a run as lines, and the words that its page shares.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/helpers.h"
#include "report/run_page.h"
#include "base/text.h"

enum { BAR = 30 };

/* Texts of files may contain terminal escape sequences. Lines of an error are separated by "; ". */
static void put_plain_size(fgi_buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            fgi_buf_puts(out, "; ");
        else
            fgi_buf_putc(out,
                         (char)((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i]));
}

void fgi_run_put_plain(fgi_buf *out, const char *text) { put_plain_size(out, text, strlen(text)); }

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
        fgi_run_put_plain(out, view->damage);
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
    fgi_run_put_plain(out,
                      *fgi_json_words(r, "state") != '\0' ? fgi_json_words(r, "state") : "unknown");
    if (isfinite(seconds))
        fgi_buf_printf(out, is_killed ? "; last report after %s" : " after %s",
                       fgi_duration_words(seconds, words));
    put_count(out, ", ", fgi_json_number(r, "steps"), " step");
    put_count(out, ", ", fgi_json_number(r, "epochs"), " epoch");
    put_number(out, ", ", fgi_json_number(r, "samples_per_s"), " samples/s");
    put_end(out, view);
}

void fgi_run_device_words(fgi_buf *out, const fgi_run_view *view)
{
    const json_t *device = json_object_get(view->report, "device");
    if (*fgi_json_words(device, "kind") == '\0')
        return;
    put_number(out, "", fgi_json_number(device, "count"), " x ");
    fgi_run_put_plain(out, fgi_json_words(device, "kind"));
    if (*fgi_json_words(device, "platform") != '\0') {
        fgi_buf_puts(out, " (");
        fgi_run_put_plain(out, fgi_json_words(device, "platform"));
        fgi_buf_putc(out, ')');
    }
}

const char *fgi_run_severity(const json_t *verdict)
{
    const char *severity = fgi_json_words(verdict, "severity");
    if (strcmp(severity, "high") == 0)
        return "high";
    return strcmp(severity, "medium") == 0 ? "medium" : "note";
}

size_t fgi_run_stage_size(const char *key)
{
    return strlen(key) - (fgi_ends_with(key, "_s") ? 2 : 0);
}

/* A member that is a string or another value; false if it is missing or null. */
static bool put_value(fgi_buf *out, const char *before, const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return false;
    fgi_buf_puts(out, before);
    if (json_is_string(value))
        fgi_run_put_plain(out, json_string_value(value));
    else
        fgi_json_print(out, value, JSON_ENCODE_ANY | JSON_COMPACT);
    return true;
}

void fgi_run_cause_words(fgi_buf *out, const json_t *cause)
{
    const size_t before = out->size;
    (void)put_value(out, "", json_object_get(cause, "what"));
    (void)put_value(out, out->size > before ? " of " : "", json_object_get(cause, "name"));
    if (put_value(out, out->size > before ? " was " : "was ", json_object_get(cause, "old")))
        (void)put_value(out, ", is ", json_object_get(cause, "new"));
    if (put_value(out, " (", json_object_get(cause, "at")))
        fgi_buf_putc(out, ')');
}

void fgi_run_gain_words(fgi_buf *out, const json_t *verdict)
{
    const json_t *rate = json_object_get(verdict, "samples_per_s");
    const double gain = fgi_json_number(verdict, "gain");
    const double from = fgi_json_number(rate, "from"), to = fgi_json_number(rate, "to");
    if (!isfinite(gain))
        return;
    fgi_buf_printf(out, " (would save up to %.*f %% of the time", gain < 0.0995 ? 1 : 0,
                   100 * gain);
    if (isfinite(from) && isfinite(to)) {
        put_number(out, ": from ", from, "");
        put_number(out, " to ", to, " samples/s");
    }
    fgi_buf_putc(out, ')');
}

/* ---- sections -------------------------------------------------------------------------------- */

static void put_verdicts(fgi_buf *out, const json_t *verdicts)
{
    static const char *const lines[] = {"detail", "action"};
    size_t i;
    json_t *v;
    json_array_foreach(verdicts, i, v)
    {
        fgi_buf_puts(out, i == 0 ? "\n" : "");
        fgi_buf_printf(out, "%-7s ", fgi_run_severity(v));
        fgi_run_put_plain(out, fgi_json_words(v, "title"));
        fgi_run_gain_words(out, v);
        fgi_buf_putc(out, '\n');
        for (size_t k = 0; k < 2; k++) {
            if (*fgi_json_words(v, lines[k]) == '\0')
                continue;
            fgi_buf_puts(out, k == 0 ? "        " : "        do: ");
            fgi_run_put_plain(out, fgi_json_words(v, lines[k]));
            fgi_buf_putc(out, '\n');
        }
    }
}

static void put_split(fgi_buf *out, const fgi_run_view *view)
{
    double parts[FGI_RUN_PARTS], sum = 0;
    char words[32];
    if (!fgi_run_split(view->report, parts))
        return;
    for (int i = 0; i < FGI_RUN_PARTS; i++)
        sum += parts[i] > 0 ? parts[i] : 0;
    fgi_buf_puts(out, "\ntime of the devices\n");
    for (int i = 0; i < FGI_RUN_PARTS; i++) {
        if (!(parts[i] >= 0))
            continue;
        fgi_buf_printf(out, "  %-11s %5.1f %%  %-12s ", fgi_run_parts[i].name, 100 * parts[i] / sum,
                       fgi_duration_words(parts[i], words));
        for (int k = 0; k < (int)lround(BAR * parts[i] / sum); k++)
            fgi_buf_putc(out, '#');
        while (out->size > 0 && !out->failed && out->data[out->size - 1] == ' ')
            out->data[--out->size] = '\0';
        fgi_buf_putc(out, '\n');
    }
}

/* "name: a X, b Y" of the known durations of an object; nothing if none is known. */
static void put_times(fgi_buf *out, const char *name, const json_t *o, const char *const *keys,
                      const char *const *names)
{
    char words[32];
    bool is_first = true;
    for (; *keys != NULL; keys++, names++) {
        const double value = fgi_json_number(o, *keys);
        if (!isfinite(value))
            continue;
        fgi_buf_printf(out, "%s%s%s %s", is_first ? name : "", is_first ? ": " : ", ", *names,
                       fgi_duration_words(value, words));
        is_first = false;
    }
    fgi_buf_puts(out, is_first ? "" : "\n");
}

static void put_loader(fgi_buf *out, const json_t *loader)
{
    const char *key, *separator = "  stages: ";
    char words[32];
    json_t *value;
    const double need = fgi_json_number(loader, "required_samples_per_s");
    const double have = fgi_json_number(loader, "delivered_samples_per_s");
    if (json_object_size(loader) == 0)
        return;
    fgi_buf_puts(out, "loader");
    put_count(out, ": ", fgi_json_number(loader, "workers"), " worker");
    (void)put_value(out, ", limited by ", json_object_get(loader, "bound_by"));
    put_number(out, ", delivers up to ", have, " samples/s");
    put_number(out, ", required ", need, " samples/s");
    fgi_buf_putc(out, '\n');
    json_object_foreach(json_object_get(loader, "stages"), key, value)
    {
        if (!json_is_number(value))
            continue;
        fgi_buf_puts(out, separator);
        put_plain_size(out, key, fgi_run_stage_size(key));
        fgi_buf_printf(out, " %s", fgi_duration_words(json_number_value(value), words));
        separator = ", ";
    }
    fgi_buf_puts(out, *separator == ',' ? "\n" : "");
    if (isfinite(fgi_json_number(loader, "queue_mean"))) {
        put_number(out, "  queue: ", fgi_json_number(loader, "queue_mean"), " batches ready");
        put_number(out, ", empty ", 100 * fgi_json_number(loader, "queue_empty"), " % of the time");
        fgi_buf_putc(out, '\n');
    }
    if (fgi_json_number(loader, "opens") > 0) {
        put_number(out, "  files: ", fgi_json_number(loader, "opens"), " opened");
        fgi_buf_printf(out, " in %s\n",
                       fgi_duration_words(fgi_json_number(loader, "open_seconds"), words));
    }
}

static void put_compiles(fgi_buf *out, const json_t *compiles)
{
    size_t i;
    json_t *one;
    char words[32];
    json_array_foreach(compiles, i, one)
    {
        fgi_buf_puts(out, i == 0 ? "compiles\n  " : "  ");
        fgi_run_put_plain(out, fgi_json_words(one, "program"));
        put_number(out, " at step ", fgi_json_number(one, "step"), "");
        fgi_buf_printf(out, ": %s", fgi_duration_words(fgi_json_number(one, "seconds"), words));
        fgi_buf_puts(out, json_is_true(json_object_get(one, "cached")) ? ", from the cache" : "");
        if (json_is_object(json_object_get(one, "cause"))) {
            fgi_buf_puts(out, "; ");
            fgi_run_cause_words(out, json_object_get(one, "cause"));
        }
        fgi_buf_putc(out, '\n');
    }
}

static void put_reads(fgi_buf *out, const json_t *reads)
{
    size_t i;
    json_t *one;
    char words[32];
    json_array_foreach(reads, i, one)
    {
        fgi_buf_puts(out, i == 0 ? "host reads\n  " : "  ");
        fgi_run_put_plain(out, fgi_json_words(one, "at"));
        const double count = fgi_json_number(one, "count");
        put_count(out, ": ", count, " read");
        if (isfinite(fgi_json_number(one, "bytes")))
            fgi_buf_printf(out, ", %s", fgi_bytes_words(fgi_json_number(one, "bytes")));
        if (isfinite(fgi_json_number(one, "wait_s")))
            fgi_buf_printf(out, ", waited %s",
                           fgi_duration_words(fgi_json_number(one, "wait_s"), words));
        fgi_buf_putc(out, '\n');
    }
}

static void put_use(fgi_buf *out, const json_t *use)
{
    const double bytes =
        fgi_json_number(use, "bytes_per_second") / fgi_json_number(use, "peak_bytes");
    const double flops = fgi_json_number(use, "flops_per_second");
    if (isfinite(fgi_json_number(use, "mxu"))) {
        put_number(out, "matrix units: ", 100 * fgi_json_number(use, "mxu"), " % of the peak");
        put_number(out, ", while busy ", 100 * fgi_json_number(use, "mxu_while_busy"), " %");
        put_number(out, ", ", 100 * fgi_json_number(use, "sixteen_bit"), " % of it in 16 bits");
        fgi_buf_puts(out, " (counted from the model)\n");
    }
    if (!isfinite(flops))
        return;
    put_number(out, "rates: ", flops / 1e9, " GFLOP/s");
    put_number(out, ", ", fgi_json_number(use, "bytes_per_second") / 1e9, " GB/s of memory");
    put_number(out, " (", 100 * bytes, " % of the peak)");
    put_number(out, ", ", fgi_json_number(use, "intensity"), " FLOPs per byte");
    put_number(out, ", ", 100 * fgi_json_number(use, "roofline"), " % of the roofline");
    fgi_buf_putc(out, '\n');
}

static void put_host(fgi_buf *out, const json_t *report)
{
    const json_t *memory = json_object_get(report, "memory");
    const json_t *host = json_object_get(report, "host");
    const double peak = fgi_json_number(memory, "peak_bytes");
    const double limit = fgi_json_number(memory, "limit_bytes");
    const double rss = fgi_json_number(host, "peak_rss_bytes");
    char words[32];
    if (isfinite(peak)) {
        fgi_buf_printf(out, "device memory: %s", fgi_bytes_words(peak));
        fgi_buf_printf(out, limit > 0 ? " of %s\n" : "\n", fgi_bytes_words(limit));
    }
    if (isfinite(rss))
        fgi_buf_printf(out, "host memory: %s\n", fgi_bytes_words(rss));
    if (!isfinite(fgi_json_number(host, "cpu_s")))
        return;
    fgi_buf_printf(out, "host CPU time: %s",
                   fgi_duration_words(fgi_json_number(host, "cpu_s"), words));
    put_count(out, " on ", fgi_json_number(host, "cpus"), " CPU");
    put_number(out, ", busy ", 100 * fgi_json_number(host, "cpu_fraction"), " % of the time");
    fgi_buf_putc(out, '\n');
}

/* The CPU times of the host's threads. */
static void put_workers(fgi_buf *out, const json_t *workers)
{
    size_t i;
    json_t *one;
    char words[32];
    json_array_foreach(workers, i, one)
    {
        fgi_buf_puts(out, i == 0 ? "  threads: " : ", ");
        fgi_run_put_plain(out, fgi_json_words(one, "name"));
        fgi_buf_printf(out, " %s", fgi_duration_words(fgi_json_number(one, "cpu_s"), words));
    }
    fgi_buf_puts(out, json_array_size(workers) > 0 ? "\n" : "");
}

/* The parts of a run that was resumed. */
static void put_history(fgi_buf *out, const json_t *history)
{
    size_t i;
    json_t *one;
    char words[32];
    if (json_array_size(history) < 2)
        return;
    fgi_buf_puts(out, "parts of the run\n");
    json_array_foreach(history, i, one)
    {
        fgi_buf_puts(out, "  ");
        fgi_run_put_plain(out, fgi_json_words(one, "started_at"));
        fgi_buf_puts(out, ": ");
        fgi_run_put_plain(out, fgi_json_words(one, "state"));
        fgi_buf_printf(out, " after %s",
                       fgi_duration_words(fgi_json_number(one, "seconds"), words));
        put_number(out, ", at step ", fgi_json_number(one, "steps"), "");
        fgi_buf_putc(out, '\n');
    }
}

static void put_metrics(fgi_buf *out, const fgi_run_view *view)
{
    bool has_window = false;
    for (size_t i = 0; i < view->metric_count; i++) {
        const fgi_run_metric *m = &view->metrics[i];
        const int64_t best = fgi_run_metric_best(m);
        if (i == 0)
            fgi_buf_printf(out, "\n%-20s %12s %12s %10s\n", "metric", "last", "best", "at step");
        const size_t start = out->size;
        fgi_run_put_plain(out, m->name);
        for (size_t k = out->size - start; k < 20; k++)
            fgi_buf_putc(out, ' ');
        fgi_buf_printf(out, " %12.6g", m->last);
        has_window |= m->is_window;
        if (best >= 0)
            fgi_buf_printf(out, " %12.6g %10.0f", m->y[best], m->x[best]);
        fgi_buf_putc(out, '\n');
    }
    if (has_window)
        fgi_buf_puts(out, "train_*: means over the steps since the previous log line\n");
}

void fgi_run_text_put(fgi_buf *out, const fgi_run_view *view)
{
    static const char *const step_keys[] = {"mean_s", "p5_s",  "p50_s", "p90_s",
                                            "p95_s",  "p99_s", "max_s", NULL};
    static const char *const step_names[] = {"mean", "p5", "p50", "p90", "p95", "p99", "max"};
    const json_t *r = view->report;
    fgi_buf_puts(out, "run: ");
    fgi_run_put_plain(out, view->folder);
    fgi_buf_putc(out, '\n');
    fgi_run_state_words(out, view);
    fgi_buf_putc(out, '\n');
    if (*fgi_json_words(json_object_get(r, "device"), "kind") != '\0') {
        fgi_buf_puts(out, "device: ");
        fgi_run_device_words(out, view);
        fgi_buf_putc(out, '\n');
    }
    put_verdicts(out, json_object_get(r, "verdicts"));
    put_split(out, view);
    fgi_buf_puts(out, r != NULL ? "\n" : "");
    put_times(out, "step time", json_object_get(r, "step_time"), step_keys, step_names);
    put_loader(out, json_object_get(r, "loader"));
    put_use(out, json_object_get(r, "utilization"));
    put_host(out, r);
    put_workers(out, json_object_get(json_object_get(r, "host"), "workers"));
    put_compiles(out, json_object_get(r, "compiles"));
    put_reads(out, json_object_get(r, "host_reads"));
    put_history(out, json_object_get(r, "history"));
    put_metrics(out, view);
}
