/* ledger_windows.c - the time of the devices by windows of steps, of which a ledger holds a limited
 * number: each time there would be more, neighbors are merged.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ledger_parts.h"

static double seconds(int64_t ns) { return (double)ns * 1e-9; }

fg_idle fgi_idle_of(const fgi_totals *totals)
{
    const int64_t *part = totals->activity_ns;
    int64_t named = 0;
    for (int i = 0; i < FGI_ACTIVITIES; i++)
        named += part[i];
    return (fg_idle){
        .busy_s = seconds(totals->busy_ns),
        .idle_s = seconds(totals->idle_ns),
        .input_s = seconds(part[FGI_INPUT]),
        .upload_s = seconds(part[FGI_UPLOAD]),
        .compile_s = seconds(part[FGI_COMPILE]),
        .read_s = seconds(part[FGI_READ]),
        .checkpoint_s = seconds(part[FGI_CHECKPOINT]),
        .other_s = seconds(totals->idle_ns - named),
    };
}

static fgi_totals difference(const fgi_totals *to, const fgi_totals *from)
{
    fgi_totals d = {.busy_ns = to->busy_ns - from->busy_ns,
                    .idle_ns = to->idle_ns - from->idle_ns,
                    .samples = to->samples - from->samples};
    for (int i = 0; i < FGI_ACTIVITIES; i++)
        d.activity_ns[i] = to->activity_ns[i] - from->activity_ns[i];
    return d;
}

/* Appends a window to another one. */
static void append(fg_time_window *to, const fg_time_window *next)
{
    to->step = next->step;
    to->samples += next->samples;
    to->time.busy_s += next->time.busy_s;
    to->time.idle_s += next->time.idle_s;
    to->time.input_s += next->time.input_s;
    to->time.upload_s += next->time.upload_s;
    to->time.compile_s += next->time.compile_s;
    to->time.read_s += next->time.read_s;
    to->time.checkpoint_s += next->time.checkpoint_s;
    to->time.other_s += next->time.other_s;
}

static void merge_pairs(fgi_ledger *ledger)
{
    fg_time_window *all = ledger->window;
    for (size_t i = 0; i < FG_MAX_TIME_WINDOWS / 2; i++) {
        all[i] = all[2 * i];
        append(&all[i], &all[2 * i + 1]);
    }
    ledger->window_count = FG_MAX_TIME_WINDOWS / 2;
    ledger->merged *= 2;
    ledger->in_last = ledger->merged;
}

void fgi_ledger_add_window(fgi_ledger *ledger, int64_t step)
{
    const fgi_totals d = difference(&ledger->total, &ledger->window_start);
    const fg_time_window next = {.step = step, .samples = d.samples, .time = fgi_idle_of(&d)};
    ledger->window_start = ledger->total;
    if (d.busy_ns + d.idle_ns == 0) /* it only has the first launch */
        return;
    fg_time_window *last =
        ledger->window_count > 0 ? &ledger->window[ledger->window_count - 1] : NULL;
    if (last != NULL && last->step == step) { /* a validation at the end */
        append(last, &next);
        return;
    }
    if (ledger->merged == 0)
        ledger->merged = ledger->in_last = 1;
    if (ledger->window_count == FG_MAX_TIME_WINDOWS && ledger->in_last == ledger->merged)
        merge_pairs(ledger);
    if (last != NULL && ledger->in_last < ledger->merged) {
        append(last, &next);
        ledger->in_last++;
        return;
    }
    ledger->window[ledger->window_count++] = next;
    ledger->in_last = 1;
}
