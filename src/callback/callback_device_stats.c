/* callback_device_stats.c - the callback device_stats: adds the memory of the devices to each log
 * line, as the plugin's allocator reports it. The device is not involved.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include <fulgurite/train.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "callback/callback_rows.h"

typedef struct device_stats {
    bool per_device;
} device_stats;

/* Bytes, NaN for a value that the plugin does not report. */
static double bytes(int64_t value) { return value >= 0 ? (double)value : (double)NAN; }

/* Adds used and peak bytes of device `index`. */
static void add_device(fg_log_values *values, int index, const fg_device_info *info)
{
    char name[64];
    (void)fgi_snprintf(name, sizeof name, "device%d_memory_used_bytes", index);
    fg_log_values_add(values, name, bytes(info->memory_used_bytes));
    (void)fgi_snprintf(name, sizeof name, "device%d_memory_peak_bytes", index);
    fg_log_values_add(values, name, bytes(info->memory_peak_bytes));
}

static fg_status on_measure(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    const device_stats *stats = self;
    const fg_client *client = fg_trainer_client(at->trainer);
    const int count = fg_client_info_of(client)->device_count;
    double used = (double)NAN, peak = (double)NAN, percent = (double)NAN;
    for (int i = 0; i < count; i++) {
        fg_device_info info;
        FGI_TRY(fg_device_info_at(client, i, &info, err));
        const double now = bytes(info.memory_used_bytes);
        used = fmax(used, now); /* fmax ignores NaN */
        peak = fmax(peak, bytes(info.memory_peak_bytes));
        if (info.memory_limit_bytes > 0)
            percent = fmax(percent, 100 * now / (double)info.memory_limit_bytes);
        if (stats->per_device)
            add_device(values, i, &info);
    }
    fg_log_values_add(values, "device_memory_used_bytes", used);
    fg_log_values_add(values, "device_memory_used_percent", percent);
    fg_log_values_add(values, "device_memory_peak_bytes", peak);
    return FG_OK;
}

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    const device_stats *stats = self;
    const fg_client *client = fg_trainer_client(at->trainer);
    const int count = fg_client_info_of(client)->device_count;
    fg_device_info info;
    if (stats->per_device && 2 * count + 3 > FG_MAX_LOG_VALUES)
        return fgi_fail(err, FG_EINVAL,
                        "device_stats: per_device adds 2 values for each of %d devices, but "
                        "callbacks can add %d values to a line: leave it out",
                        count, FG_MAX_LOG_VALUES);
    FGI_TRY(fg_device_info_at(client, 0, &info, err));
    if (info.memory_used_bytes < 0)
        fgi_log(FG_LOG_WARNING,
                "device_stats has no effect: the plugin for '%s' does not report device memory",
                info.kind);
    return FG_OK;
}

static const fg_option options[] = {
    FG_OPTION(device_stats, per_device, BOOL, "false", NULL, "true",
              "Also log the values of each device, for up to 14 devices."),
};

static const fg_callback_ops ops = {
    .name = "device_stats", .fit_start = on_fit_start, .measure = on_measure, .destroy = fg_free};

const fg_callback_entry fgi_device_stats_row = {
    .entry = {.name = "device_stats",
              .help =
                  "log the memory in use, its peak and the percentage of the limit, for the device "
                  "with the highest value; logs nothing if the plugin does not report memory",
              .spellings = "DeviceStatsMonitor",
              FG_OPTIONS(options, device_stats)},
    .ops = &ops};
