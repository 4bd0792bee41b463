/* fulgurite devices: what can be trained on here, and why something can't.
 *
 * Each accelerator that the library knows is looked for and, where a plugin is found, opened. The
 * table goes to standard output; it is an answer, not a failure, when there is nothing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <fulgurite/device.h>
#include <fulgurite/host.h>

#include <fulgurite/report.h>

#include "commands.h"

enum { MAX_PLACES = 32, MAX_TPUS = 64 };

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

/* What was found out about one accelerator. */
typedef struct finding {
    const char *accelerator;
    fg_plugin_candidate places[MAX_PLACES];
    size_t place_count;
    fg_client *client; /* NULL: `err` says why */
    fg_error err;
} finding;

static void look(finding *f, const char *accelerator)
{
    const fg_client_options opening = {
        .accelerator = accelerator, .plugin_path = plugin_path, .cache_dir = ""};
    f->accelerator = accelerator;
    if (fg_plugin_search(accelerator, &opening, f->places, MAX_PLACES, &f->place_count, &f->err) !=
        FG_OK)
        return;
    f->place_count = f->place_count < MAX_PLACES ? f->place_count : MAX_PLACES;
    if (fg_client_open(&opening, &f->client, &f->err) != FG_OK)
        f->client = NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The reason's first line; the others tell the places, which --places lists better. */
static void print_reason(const finding *f)
{
    const char *end = strchr(f->err.message, '\n');
    const int size = end != NULL ? (int)(end - f->err.message) : (int)strlen(f->err.message);
    (void)printf("%-5s no   %.*s\n", f->accelerator, size, f->err.message);
}

static void print_devices(const finding *f)
{
    const fg_client_info *info = fg_client_get_info(f->client);
    for (int i = 0; i < info->device_count; i++) {
        fg_error err = {0};
        fg_device_info device;
        if (fg_device_get_info(f->client, i, &device, &err) != FG_OK) {
            (void)printf("%-5s no   device %d: %s\n", f->accelerator, i, err.message);
            continue;
        }
        (void)printf("%-5s yes  device %d: %s", f->accelerator, i, device.kind);
        if (device.memory_limit_bytes > 0)
            (void)printf(", %s", cli_bytes((double)device.memory_limit_bytes));
        (void)printf("; PJRT %d.%d, %s\n", info->api_major, info->api_minor, info->plugin_path);
    }
}

static void print_places(const finding *f)
{
    for (size_t i = 0; i < f->place_count; i++)
        (void)printf("      %s  %s: %s\n", f->places[i].exists ? "there" : "  -  ",
                     f->places[i].source, f->places[i].path);
}

static void print_lines(const finding *f)
{
    if (f->client != NULL)
        print_devices(f);
    else
        print_reason(f);
    if (show_places)
        print_places(f);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *known(int64_t bytes) { return bytes >= 0 ? json_integer(bytes) : json_null(); }

static json_t *device_list(const fg_client *client)
{
    json_t *list = json_array();
    for (int i = 0; i < fg_client_get_info(client)->device_count; i++) {
        fg_error err;
        fg_device_info device;
        if (fg_device_get_info(client, i, &device, &err) == FG_OK)
            json_array_append_new(list,
                                  json_pack("{s:i, s:I, s:s, s:s, s:o}", "index", i, "id",
                                            (json_int_t)device.id, "kind", device.kind,
                                            "description", device.description, "memory_limit_bytes",
                                            known(device.memory_limit_bytes)));
    }
    return list;
}

static json_t *finding_object(const finding *f)
{
    json_t *places = json_array();
    for (size_t i = 0; i < f->place_count; i++)
        json_array_append_new(places,
                              json_pack("{s:s, s:s, s:b}", "source", f->places[i].source, "path",
                                        f->places[i].path, "exists", (int)f->places[i].exists));
    if (f->client == NULL)
        return json_pack("{s:s, s:b, s:s, s:[], s:o}", "accelerator", f->accelerator, "usable", 0,
                         "reason", f->err.message, "devices", "places", places);
    const fg_client_info *info = fg_client_get_info(f->client);
    return json_pack("{s:s, s:b, s:n, s:s, s:s, s:[ii], s:o, s:o}", "accelerator", f->accelerator,
                     "usable", 1, "reason", "plugin", info->plugin_path, "platform_version",
                     info->platform_version, "pjrt_api", info->api_major, info->api_minor,
                     "devices", device_list(f->client), "places", places);
}

/* ---- libtpu's counters ------------------------------------------------------------------------
 */

static json_t *use_object(const fg_tpu_use *use)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "device", (json_int_t)use->device, "memory_used_bytes",
                     known(use->memory_used_bytes), "memory_total_bytes",
                     known(use->memory_total_bytes), "duty_cycle",
                     isfinite(use->duty_cycle) ? json_real(use->duty_cycle) : json_null());
}

static void print_use(const fg_tpu_use *use)
{
    (void)printf("tpu %" PRId64, use->device);
    if (use->memory_used_bytes >= 0)
        (void)printf("  memory %s", cli_bytes((double)use->memory_used_bytes));
    if (use->memory_total_bytes > 0)
        (void)printf(" of %s", cli_bytes((double)use->memory_total_bytes));
    if (isfinite(use->duty_cycle))
        (void)printf("  busy %.1f %% (counter)", use->duty_cycle * 100);
    (void)putchar('\n');
}

static int print_metrics(void)
{
    fg_error err = {0};
    fg_tpu_use use[MAX_TPUS];
    size_t count = 0;
    if (fg_tpu_use_read(*metrics != '\0' ? metrics : NULL, use, MAX_TPUS, &count, &err) != FG_OK)
        return fg_error_print(&err, "fulgurite devices");
    json_t *list = json_array();
    for (size_t i = 0; i < count && i < MAX_TPUS; i++)
        if (as_json)
            (void)json_array_append_new(list, use_object(&use[i]));
        else
            print_use(&use[i]);
    json_t *root = json_pack("{s:o}", "devices", list);
    if (as_json) {
        (void)json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        (void)putchar('\n');
    }
    json_decref(root);
    return CLI_DONE;
}

static int run(const cli_call *call)
{
    static const char *const accelerators[] = {"tpu", "cuda", "cpu"};
    (void)call;
    if (show_table) {
        fg_error err = {0};
        char *text = NULL;
        if (fg_report_chips(as_json, &text, &err) != FG_OK)
            return fg_error_print(&err, "fulgurite devices");
        (void)fputs(text, stdout);
        fg_report_free(text);
        return CLI_DONE;
    }
    if (metrics != NULL)
        return print_metrics();
    json_t *list = json_array();
    const char *taken = NULL; /* where nothing is asked for: the first that can be used */
    for (size_t i = 0; i < sizeof(accelerators) / sizeof(accelerators[0]); i++) {
        finding *f = cli_alloc(1, sizeof(*f));
        look(f, accelerators[i]);
        if (as_json)
            json_array_append_new(list, finding_object(f));
        else
            print_lines(f);
        if (f->client != NULL && taken == NULL)
            taken = accelerators[i];
        fg_client_close(f->client);
        free(f);
    }
    if (as_json) {
        json_t *root = json_pack("{s:O, s:s?}", "accelerators", list, "auto", taken);
        (void)json_dumpf(root, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        json_decref(root);
    } else if (taken != NULL) {
        (void)printf("auto       uses %s\n", taken);
    }
    json_decref(list);
    return CLI_DONE;
}

const cli_command cli_devices = {
    .name = "devices",
    .arguments = "",
    .summary = "list the available accelerators, and why others are not available",
    .details = "One line per device: the accelerator, whether it is available, its kind, memory "
               "and plugin, or the\n"
               "reason why it is not available.",
    .options = options,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
