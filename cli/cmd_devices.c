/* fulgurite devices: lists the available accelerators, and why others are not available.
 *
 * Looks for each accelerator that the library supports and, if a plugin is found, opens it. The
 * table is written to standard output. Finding no accelerator is not a failure.
 *
 * SPDX-License-Identifier: Apache-2.0 */

#include "devices.h"
#include "out_file.h"

static bool as_json, show_places, show_table;
static const char *plugin_path, *metrics;
static const cli_option options[] = {
    CLI_FLAG('j', "json", &as_json, "print one JSON object"),
    CLI_FLAG('p', "places", &show_places, "list the locations searched for plugins"),
    CLI_FLAG('t', "table", &show_table,
             "print the peak performance of known accelerators, with sources, without probing"),
    CLI_OPTIONAL('m', "metrics", &metrics, "HOST:PORT",
                 "query memory use and duty cycle from a running program's libtpu"),
    CLI_TEXT(0, "plugin", &plugin_path, "FILE", "probe this PJRT plugin only"),
    CLI_END,
};

static int run(const cli_call *call)
{
    fg_error err = {0};
    fg_status status = FG_OK;
    fgi_buf text = {0};
    (void)call;
    if (show_table)
        chip_table_print(&text, as_json);
    else if (metrics != NULL)
        status = devices_put_use(*metrics != '\0' ? metrics : NULL, as_json, &text, &err);
    else
        devices_put(plugin_path, show_places, as_json, &text);
    return out_buf("devices", status, &text, &err);
}

const cli_command cli_devices = {
    .name = "devices",
    .arguments = "",
    .summary = "list the available accelerators, and why others are not available",
    .details = "One line per device: the accelerator, whether it is available, its kind, memory "
               "and plugin, or the reason why it is not available.",
    .options = options,
    .max_args = 0,
    .run = run,
};
