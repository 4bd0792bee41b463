/* progress_text.c - the text of the progress display: numbers, times, a bar, and one line with all
 * of them that fits the terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/progress/progress_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"

enum { BAR_MOST = 24, BAR_LEAST = 10 };
/* Room for numbers in later lines: a value has at most these characters with one digit, "1e-05". */
#define VALUE_ROOM "0.0000"
#define RATE_ROOM  "000,000"
#define TIME_ROOM  "0:00:00"

void fgi_progress_time(double seconds, char *out, size_t size)
{
    const int64_t s = seconds > 0 ? (int64_t)(seconds + 0.5) : 0;
    if (s < 3600)
        (void)snprintf(out, size, "%02d:%02d", (int)(s / 60), (int)(s % 60));
    else
        (void)snprintf(out, size, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60),
                       (int)(s % 60));
}

static bool is_loss(const char *name)
{
    const size_t size = strlen(name);
    return size >= 4 && strcmp(name + size - 4, "loss") == 0;
}

void fgi_progress_metrics(const fg_metric *metrics, size_t count, const char *prefix, int digits,
                          char *out, size_t size)
{
    size_t used = 0;
    const size_t skipped = strlen(prefix);
    out[0] = '\0';
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count && used < size; i++) {
            const char *name = metrics[i].name;
            if (is_loss(name) != (pass == 0))
                continue;
            if (strncmp(name, prefix, skipped) == 0)
                name += skipped;
            const int n = digits == 0 ? snprintf(out + used, size - used, "  %s " VALUE_ROOM, name)
                                      : fgi_snprintf(out + used, size - used, "  %s %.*g", name,
                                                     digits, metrics[i].value);
            used += n > 0 ? (size_t)n : 0;
        }
}

/* ---- the live line --------------------------------------------------------------------------- */

/* "[===>      ] " of `width` characters between the brackets; "" for 0. */
static void put_bar(const fgi_progress_view *v, int width, char *out)
{
    const int64_t done =
        v->batches > 0 ? (int64_t)((double)v->batch / (double)v->batches * width) : 0;
    out[0] = '\0';
    if (width == 0)
        return;
    *out++ = '[';
    for (int i = 0; i < width; i++)
        *out++ = i < done ? '=' : i == done ? '>' : ' ';
    (void)memcpy(out, "] ", 3);
}

/* "120/469"; "120 batches" for a source of unknown length. */
static void put_batches(const fgi_progress_view *v, char *out, size_t size)
{
    const char *batch = fgi_count_words((double)v->batch);
    if (v->batches < 0)
        (void)snprintf(out, size, "%s batch%s", batch, v->batch == 1 ? "" : "es");
    else
        (void)snprintf(out, size, "%s/%s", batch, fgi_count_words((double)v->batches));
}

/* "  2,345 samples/s" */
static void put_rate(const fgi_progress_view *v, char *out, size_t size)
{
    out[0] = '\0';
    if (!(v->samples_per_s > 0) || v->samples_per_s > 1e15)
        return;
    if (v->samples_per_s < 10)
        (void)fgi_snprintf(out, size, "  %.2g samples/s", v->samples_per_s);
    else
        (void)snprintf(out, size, "  %s samples/s", fgi_count_words(round(v->samples_per_s)));
}

/* "  00:12<00:31" */
static void put_times(const fgi_progress_view *v, char *out, size_t size)
{
    char elapsed[32], remaining[32] = "";
    fgi_progress_time(v->elapsed_s, elapsed, sizeof elapsed);
    if (v->remaining_s >= 0 && v->remaining_s < 1e9)
        fgi_progress_time(v->remaining_s, remaining, sizeof remaining);
    (void)snprintf(out, size, "  %s%s%s", elapsed, remaining[0] != '\0' ? "<" : "", remaining);
}

/* The length without the last metric, which follows a double space. */
static void drop_metric(char *metrics)
{
    size_t end = strlen(metrics);
    while (end > 0 && !(metrics[end] == ' ' && metrics[end - 1] == ' '))
        end--;
    metrics[end > 0 ? end - 1 : 0] = '\0';
}

/* ", run 12:40 left" */
static void put_left(double seconds, char *out, size_t size)
{
    char left[32];
    out[0] = '\0';
    if (!(seconds >= 0) || seconds >= 1e9)
        return;
    fgi_progress_time(seconds, left, sizeof left);
    (void)snprintf(out, size, ", run %s left", left);
}

void fgi_progress_line(const fgi_progress_view *v, size_t columns, char *out, size_t size)
{
    char bar[BAR_MOST + 4], batches[80], rate[64], times[80], left[64], metrics[256];
    const size_t room = columns > 1 ? columns - 1 : 1;
    int width = v->batches > 0 && !v->is_plain ? BAR_MOST : 0;
    put_batches(v, batches, sizeof batches);
    put_rate(v, rate, sizeof rate);
    put_times(v, times, sizeof times);
    put_left(v->run_s, left, sizeof left);
    (void)snprintf(metrics, sizeof metrics, "%s", v->metrics);
    for (;;) {
        put_bar(v, width, bar);
        const int length = snprintf(out, size, "%s  %s%s%s%s%s%s", v->label, bar, batches, rate,
                                    times, left, metrics);
        const size_t over = length > 0 && (size_t)length > room ? (size_t)length - room : 0;
        if (over == 0)
            break;
        if (width > BAR_LEAST)
            width = (size_t)(width - BAR_LEAST) > over ? width - (int)over : BAR_LEAST;
        else if (strstr(metrics + (metrics[0] != '\0'), "  ") != NULL)
            drop_metric(metrics);
        else if (rate[0] != '\0')
            rate[0] = '\0';
        else if (left[0] != '\0')
            left[0] = '\0';
        else if (times[0] != '\0')
            times[0] = '\0';
        else if (metrics[0] != '\0')
            metrics[0] = '\0';
        else if (width > 0)
            width = 0;
        else
            break;
    }
    if (room < size)
        out[room] = '\0';
}

/* ---- the line of an epoch -------------------------------------------------------------------- */

/* The first `most` of "  loss 0.5  acc 0.75" as "  train loss 0.5 acc 0.75". */
static void put_group(const char *name, const char *metrics, int most, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < most && *metrics != '\0'; i++) {
        const char *next = strstr(metrics + 1, "  ");
        const size_t length = next != NULL ? (size_t)(next - metrics) : strlen(metrics);
        const int n = snprintf(out + used, size - used, "%s%s%.*s", i == 0 ? "  " : "",
                               i == 0 ? name : "", (int)length - 1, metrics + 1);
        used += n > 0 ? (size_t)n : 0;
        if (used >= size)
            return;
        metrics += length;
    }
}

enum { NO_RATE = 1, THREE_VAL, NO_LEFT, ONE_TRAIN, TWO_VAL, NO_TIME, ONE_VAL, NO_TRAIN, NO_VAL };

static void put_part(char *out, size_t size, const char *before, const char *text, const char *room,
                     const char *after)
{
    const bool is_long = room != NULL && strlen(room) > strlen(text);
    out[0] = '\0';
    if (text[0] != '\0')
        (void)snprintf(out, size, "%s%s%s", before, is_long ? room : text, after);
}

/* The line without the parts that `omitted` says; digits 0: the longest one. Returns its length. */
static size_t put_epoch(const fgi_epoch_view *v, int omitted, int digits, char *out, size_t size)
{
    char metrics[320], train[320], val[320], rate[64] = "", time[48] = "", left[64] = "";
    const bool is_room = digits == 0, is_known = is_room && v->val_count == 0;
    fgi_progress_metrics(v->train, v->train_count, "train_", digits, metrics, sizeof metrics);
    put_group("train", metrics,
              omitted < ONE_TRAIN  ? 99
              : omitted < NO_TRAIN ? 1
                                   : 0,
              train, sizeof train);
    fgi_progress_metrics(is_known ? v->known : v->val, is_known ? v->known_count : v->val_count,
                         "val_", digits, metrics, sizeof metrics);
    put_group("val", metrics,
              omitted < THREE_VAL ? 99
              : omitted < TWO_VAL ? 3
              : omitted < ONE_VAL ? 2
              : omitted < NO_VAL  ? 1
                                  : 0,
              val, sizeof val);
    if (omitted < NO_RATE)
        put_part(rate, sizeof rate, "  ", v->rate, is_room ? RATE_ROOM : NULL, " samples/s");
    if (omitted < NO_TIME)
        put_part(time, sizeof time, "  ", v->time, is_room ? TIME_ROOM : NULL, "");
    if (omitted < NO_LEFT)
        put_part(left, sizeof left, ", run ", v->left, is_room ? TIME_ROOM : NULL, " left");
    const int length = snprintf(out, size, "%s%s%s%s%s%s", is_room ? v->longest : v->label, train,
                                val, rate, time, left);
    return length > 0 ? (size_t)length : 0;
}

void fgi_progress_epoch_line(const fgi_epoch_view *v, size_t columns, fgi_epoch_style *style,
                             char *out, size_t size)
{
    const size_t room = columns > 1 ? columns - 1 : 1;
    if (style->columns != columns)
        for (style->omitted = 0;
             style->omitted < NO_VAL && put_epoch(v, style->omitted, 0, out, size) > room;)
            style->omitted++;
    style->columns = columns;
    style->digits = 4;
    while (put_epoch(v, style->omitted, style->digits, out, size) > room && style->digits > 1)
        style->digits--;
    if (room < size)
        out[room] = '\0';
}
