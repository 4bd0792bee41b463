/* callback_host_stats.c - the callback host_stats: adds processor time and memory of this process,
 * and the free memory of the machine, to each log line. From /proc and getrusage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "callback/callback_rows.h"

enum { PROC_MAX_BYTES = 1 << 16 };

/* At the previous line, or the start of the fit. */
typedef struct host_stats {
    int64_t wall_ns;
    double cpu_s;
} host_stats;

/* Seconds of processor time of all threads, in user and in kernel mode; NaN: unknown. */
static double cpu_seconds(void)
{
    struct rusage use;
    if (getrusage(RUSAGE_SELF, &use) != 0)
        return (double)NAN;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* The integer after `key` at the start of a line of a file of /proc (proc(5)); NaN if there is
 * none. */
static double read_number(const char *path, const char *key)
{
    char *text = NULL, *end = NULL;
    size_t size = 0;
    double number = (double)NAN;
    if (fgi_file_read(path, PROC_MAX_BYTES, &text, &size, NULL) != FG_OK)
        return number;
    const char *line = text;
    while (line != NULL && strncmp(line, key, strlen(key)) != 0) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    if (line != NULL) {
        const char *digits = line + strlen(key);
        const long long value = strtoll(digits, &end, 10);
        if (end != digits)
            number = (double)value;
    }
    fgi_free(text);
    return number;
}

static void start_window(host_stats *h)
{
    h->wall_ns = fgi_now_ns();
    h->cpu_s = cpu_seconds();
}

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    start_window(self);
    return FG_OK;
}

static fg_status on_measure(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    host_stats *h = self;
    const host_stats before = *h;
    start_window(h);
    const double wall_s = 1e-9 * (double)(h->wall_ns - before.wall_ns);
    if (wall_s > 0)
        fg_log_values_add(values, "host_cpu_percent", 100 * (h->cpu_s - before.cpu_s) / wall_s);
    fg_log_values_add(values, "host_rss_bytes", 1024 * read_number("/proc/self/status", "VmRSS:"));
    fg_log_values_add(values, "host_threads", read_number("/proc/self/status", "Threads:"));
    fg_log_values_add(values, "host_available_bytes",
                      1024 * read_number("/proc/meminfo", "MemAvailable:"));
    return FG_OK;
}

static const fg_callback_ops ops = {
    .name = "host_stats", .fit_start = on_fit_start, .measure = on_measure, .destroy = fg_free};

const fg_callback_entry fgi_host_stats_row = {
    .entry = {.name = "host_stats",
              .size = sizeof(host_stats),
              .help = "log this process's CPU use (100 % = one core), memory and threads, and the "
                      "machine's available memory"},
    .ops = &ops};
