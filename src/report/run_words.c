/* run_words.c - words about a run: its state, its devices, causes and gains.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/run_doc.h"

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

void fgi_run_device_words(fgi_buf *out, const fgi_run_view *view)
{
    const json_t *device = json_object_get(view->report, "device");
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
