/* run_brief.c - the few lines of a report at the end of a fit: the time of a step, what the devices
 * waited for, and the most important verdicts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/run_doc.h"
#include "verdict/verdict.h"

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
        const char *severity = fgi_run_severity(verdict);
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
