/* input_report.c - which part of a run limits its rate: the device, the host, uploads, or a stage
 * of the loader.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/watch/watch.h"

#include <math.h>
#include <string.h>

#include "base/print.h"

static const double hardly = 0.05; /* a device that waits for less of the time is the limit */

void fgi_input_report_load(fg_input_report *out, const fg_loader_stats *before,
                           const fg_loader_stats *after)
{
    const fg_loader_stages *a = &before->stages, *b = &after->stages;
    const double batches = (double)(after->batches - before->batches);
    const double ready =
        after->ready_mean * (double)after->batches - before->ready_mean * (double)before->batches;
    *out = (fg_input_report){
        .stages = {.read_s = b->read_s - a->read_s,
                   .decode_s = b->decode_s - a->decode_s,
                   .resize_s = b->resize_s - a->resize_s,
                   .copy_s = b->copy_s - a->copy_s,
                   .entropy_s = b->entropy_s - a->entropy_s,
                   .open_s = b->open_s - a->open_s,
                   .opens = b->opens - a->opens},
        .queue_mean = batches > 0 ? ready / batches : (double)NAN,
        .queue_empty = batches > 0 ? (double)(after->waits - before->waits) / batches : (double)NAN,
        .samples = after->rows - before->rows,
        .workers = after->workers};
}

static const char *limit_of(const fg_input_report *report, const fg_idle *idle)
{
    double fraction;
    const double all_s = idle->busy_s + idle->idle_s, input_s = idle->input_s + idle->upload_s;
    const double rest_s = idle->idle_s - input_s;
    if (input_s <= hardly * all_s)
        return rest_s > hardly * all_s ? "host" : "device";
    if (rest_s > input_s)
        return "host";
    return idle->upload_s > idle->input_s ? "upload"
                                          : fg_loader_slowest_stage(&report->stages, &fraction);
}

void fgi_input_report_judge(fg_input_report *out, const fg_idle *idle, double samples_per_busy_s)
{
    const fg_loader_stages *t = &out->stages;
    const double spent_s = t->read_s + t->entropy_s + t->decode_s + t->resize_s + t->copy_s;
    const int threads = out->workers > 0 ? out->workers : 1;
    const bool is_known =
        idle->busy_s > 0 && spent_s > 0 && out->samples > 0 && samples_per_busy_s > 0;
    out->delivered_samples_per_s = out->required_samples_per_s = out->waited = (double)NAN;
    out->bound_by = NULL;
    if (!is_known)
        return;
    out->delivered_samples_per_s = (double)out->samples * threads / spent_s;
    out->required_samples_per_s = samples_per_busy_s;
    out->waited = (idle->input_s + idle->upload_s) / (idle->busy_s + idle->idle_s);
    out->bound_by = limit_of(out, idle);
}

const char *fgi_input_words(const char *name)
{
    static const char *const words[][2] = {
        {"read", "reading"},      {"entropy", "entropy decoding"},
        {"decode", "decoding"},   {"resize", "resizing"},
        {"copy", "copying"},      {"upload", "uploads"},
        {"device", "the device"}, {"host", "the host"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], name) == 0)
            return words[i][1];
    return name;
}

/* Two digits, without an exponent. */
static void put_ratio(double ratio, char *out, size_t size)
{
    const int digits = ratio < 1 ? 2 : ratio < 10 ? 1 : 0;
    if (ratio > 100) /* more digits would say nothing */
        (void)fgi_snprintf(out, size, "more than 100");
    else
        (void)fgi_snprintf(out, size, "%.*f", digits, ratio);
}

const char *fg_input_report_format(const fg_input_report *report, char *out, size_t size)
{
    char ratio[64];
    double fraction;
    const char *stage = fg_loader_slowest_stage(&report->stages, &fraction);
    if (size > 0)
        out[0] = '\0';
    if (report->bound_by == NULL || stage == NULL)
        return out;
    put_ratio(report->delivered_samples_per_s / report->required_samples_per_s, ratio,
              sizeof ratio);
    (void)fgi_snprintf(out, size,
                       "bound by %s: the loader delivers %sx the required rate and spends %.0f %% "
                       "of its time on %s; the device waits for input %.0f %% of the time",
                       fgi_input_words(report->bound_by), ratio, 100 * fraction,
                       fgi_input_words(stage), 100 * report->waited);
    return out;
}
