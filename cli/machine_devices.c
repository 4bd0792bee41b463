/* machine_devices.c - the accelerators of this machine: which can be used, and why others can't.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/device.h>
#include <fulgurite/host.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "input/json_file.h"
#include "devices.h"
#include "base/text.h"
#include "base/buf.h"
#include "base/print.h"

enum { MAX_PLACES = 32, MAX_TPUS = 64 };

/* What is known about one accelerator. */
typedef struct finding {
    const char *accelerator;
    fg_plugin_candidate places[MAX_PLACES];
    size_t place_count;
    fg_client *client; /* NULL: `err` says why */
    fg_error err;
} finding;

static void look(finding *f, const char *accelerator, const char *plugin_path)
{
    const fg_client_options opening = {
        .accelerator = accelerator, .plugin_path = plugin_path, .cache_dir = ""};
    f->accelerator = accelerator;
    if (fg_plugin_search(&opening, f->places, MAX_PLACES, &f->place_count, &f->err) != FG_OK)
        return;
    f->place_count = f->place_count < MAX_PLACES ? f->place_count : MAX_PLACES;
    if (fg_client_open(&opening, &f->client, &f->err) != FG_OK)
        f->client = NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The first line of the reason; the others list locations, which --places prints. */
static void print_reason(fgi_buf *out, const finding *f)
{
    fgi_buf_printf(out, "%-5s no   %.*s\n", f->accelerator, (int)strcspn(f->err.message, "\n"),
                   f->err.message);
}

static void print_devices(fgi_buf *out, const finding *f)
{
    const fg_client_info *info = fg_client_info_of(f->client);
    for (int i = 0; i < info->device_count; i++) {
        fg_error err = {0};
        fg_device_info device;
        if (fg_device_info_at(f->client, i, &device, &err) != FG_OK) {
            fgi_buf_printf(out, "%-5s no   device %d: %s\n", f->accelerator, i, err.message);
            continue;
        }
        fgi_buf_printf(out, "%-5s yes  device %d: %s", f->accelerator, i, device.kind);
        if (device.memory_limit_bytes > 0)
            fgi_buf_printf(out, ", %s", fgi_bytes_words((double)device.memory_limit_bytes));
        fgi_buf_printf(out, "; PJRT %d.%d, %s\n", info->api_major, info->api_minor,
                       info->plugin_path);
    }
}

static void print_places(fgi_buf *out, const finding *f)
{
    for (size_t i = 0; i < f->place_count; i++)
        fgi_buf_printf(out, "      %s  %s: %s\n", f->places[i].exists ? "there" : "  -  ",
                       f->places[i].source, f->places[i].path);
}

static void print_lines(fgi_buf *out, const finding *f, bool show_places)
{
    if (f->client != NULL)
        print_devices(out, f);
    else
        print_reason(out, f);
    if (show_places)
        print_places(out, f);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *device_object(const fg_client *client, int index)
{
    fg_error err = {0};
    fg_device_info device;
    if (fg_device_info_at(client, index, &device, &err) != FG_OK)
        return json_pack("{s:i, s:o}", "index", index, "error", fgi_json_name(err.message));
    return json_pack("{s:i, s:I, s:o, s:o, s:o}", "index", index, "id", (json_int_t)device.id,
                     "kind", fgi_json_name(device.kind), "description",
                     fgi_json_name(device.description), "memory_limit_bytes",
                     fgi_json_count(device.memory_limit_bytes));
}

static json_t *device_list(const fg_client *client)
{
    json_t *list = json_array();
    for (int i = 0; i < fg_client_info_of(client)->device_count; i++)
        (void)json_array_append_new(list, device_object(client, i));
    return list;
}

static json_t *finding_object(const finding *f)
{
    json_t *places = json_array();
    for (size_t i = 0; i < f->place_count; i++)
        (void)json_array_append_new(places,
                                    json_pack("{s:s, s:o, s:b}", "source", f->places[i].source,
                                              "path", fgi_json_name(f->places[i].path), "exists",
                                              (int)f->places[i].exists));
    if (f->client == NULL)
        return json_pack("{s:s, s:b, s:o, s:[], s:o}", "accelerator", f->accelerator, "usable", 0,
                         "reason", fgi_json_name(f->err.message), "devices", "places", places);
    const fg_client_info *info = fg_client_info_of(f->client);
    return json_pack("{s:s, s:b, s:n, s:o, s:o, s:[ii], s:o, s:o}", "accelerator", f->accelerator,
                     "usable", 1, "reason", "plugin", fgi_json_name(info->plugin_path),
                     "platform_version", fgi_json_name(info->platform_version), "pjrt_api",
                     info->api_major, info->api_minor, "devices", device_list(f->client), "places",
                     places);
}

/* ---- libtpu's counters ----------------------------------------------------------------------- */

static json_t *use_object(const fg_tpu_use *use)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "device", (json_int_t)use->device, "memory_used_bytes",
                     fgi_json_count(use->memory_used_bytes), "memory_total_bytes",
                     fgi_json_count(use->memory_total_bytes), "duty_cycle",
                     fgi_json_real(use->duty_cycle));
}

static void print_use(fgi_buf *out, const fg_tpu_use *use)
{
    fgi_buf_printf(out, "tpu %" PRId64, use->device);
    if (use->memory_used_bytes >= 0)
        fgi_buf_printf(out, "  memory %s", fgi_bytes_words((double)use->memory_used_bytes));
    if (use->memory_total_bytes > 0)
        fgi_buf_printf(out, " of %s", fgi_bytes_words((double)use->memory_total_bytes));
    if (isfinite(use->duty_cycle))
        fgi_buf_printf(out, "  busy %.1f %% (counter)", use->duty_cycle * 100);
    fgi_buf_putc(out, '\n');
}

fg_status devices_put_use(const char *address, bool as_json, fgi_buf *out, fg_error *err)
{
    fg_tpu_use use[MAX_TPUS];
    size_t count = 0;
    FGI_TRY(fg_tpu_use_read(address, use, MAX_TPUS, &count, err));
    json_t *list = json_array();
    for (size_t i = 0; i < count && i < MAX_TPUS; i++)
        if (as_json)
            (void)json_array_append_new(list, use_object(&use[i]));
        else
            print_use(out, &use[i]);
    if (as_json)
        fgi_json_put(out, json_pack("{s:O}", "devices", list),
                     JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(list);
    return FG_OK;
}

void devices_put(const char *plugin_path, bool with_places, bool as_json, fgi_buf *out)
{
    static const char *const accelerators[] = {"tpu", "cuda", "cpu"};
    static finding f;
    const char *taken = NULL; /* by default, the first that can be used */
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof(accelerators) / sizeof(accelerators[0]); i++) {
        f = (finding){.client = NULL};
        look(&f, accelerators[i], plugin_path);
        if (as_json)
            (void)json_array_append_new(list, finding_object(&f));
        else
            print_lines(out, &f, with_places);
        if (f.client != NULL && taken == NULL)
            taken = accelerators[i];
        fg_client_close(f.client);
    }
    if (as_json)
        fgi_json_put(out, json_pack("{s:O, s:s?}", "accelerators", list, "auto", taken),
                     JSON_INDENT(2));
    else if (taken != NULL)
        fgi_buf_printf(out, "auto       uses %s\n", taken);
    json_decref(list);
}
