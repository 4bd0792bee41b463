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
#include "doc/doc.h"
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

static const fgi_field fields[] = {FGI_FIELD("", "accelerator", FGI_WORDS),
                                   FGI_FIELD("", "usable", FGI_WORDS),
                                   FGI_FIELD("", "words", FGI_WORDS), FGI_FIELDS_END};

/* A document of one table; the rows are released. */
static void put_lines(fgi_buf *out, const fgi_field *shown, json_t *take_rows)
{
    fgi_doc d;
    fgi_doc_begin(&d, out, false, "");
    fgi_doc_rows(&d, NULL, shown, take_rows);
    fgi_doc_end(&d);
}

static void add_line(json_t *rows, const finding *f, const char *words)
{
    (void)json_array_append_new(rows, json_pack("{s:s, s:s, s:o}", "accelerator", f->accelerator,
                                                "usable", f->client != NULL ? "yes" : "no", "words",
                                                fgi_json_name(words)));
}

static void add_device(json_t *rows, const finding *f, int index)
{
    const fg_client_info *info = fg_client_info_of(f->client);
    fg_error err = {0};
    fg_device_info device;
    fgi_buf words = {0};
    fgi_buf_printf(&words, "device %d: ", index);
    if (fg_device_info_at(f->client, index, &device, &err) != FG_OK) {
        fgi_buf_puts(&words, err.message);
    } else {
        fgi_buf_puts(&words, device.kind);
        if (device.memory_limit_bytes > 0)
            fgi_buf_printf(&words, ", %s", fgi_bytes_words((double)device.memory_limit_bytes));
        fgi_buf_printf(&words, "; PJRT %d.%d, %s", info->api_major, info->api_minor,
                       info->plugin_path);
        if (info->kernels != NULL)
            fgi_buf_printf(&words, "; kernels: %s", info->kernels);
    }
    add_line(rows, f, fgi_buf_text(&words));
    fgi_buf_fini(&words);
}

/* Of a reason the first line; the others list locations, which --places prints. */
static void add_lines(json_t *rows, const finding *f, bool show_places)
{
    char reason[sizeof f->err.message];
    if (f->client == NULL) {
        (void)fgi_snprintf(reason, sizeof reason, "%.*s", (int)strcspn(f->err.message, "\n"),
                           f->err.message);
        add_line(rows, f, reason);
    }
    for (int i = 0; f->client != NULL && i < fg_client_info_of(f->client)->device_count; i++)
        add_device(rows, f, i);
    for (size_t i = 0; show_places && i < f->place_count; i++) {
        fgi_buf words = {0};
        fgi_buf_printf(&words, "      %s  %s: %s", f->places[i].exists ? "there" : "  -  ",
                       f->places[i].source, f->places[i].path);
        (void)json_array_append_new(rows, fgi_json_name(fgi_buf_text(&words)));
        fgi_buf_fini(&words);
    }
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
    return json_pack("{s:s, s:b, s:n, s:o, s:o, s:[ii], s:o, s:o, s:o}", "accelerator",
                     f->accelerator, "usable", 1, "reason", "plugin",
                     fgi_json_name(info->plugin_path), "platform_version",
                     fgi_json_name(info->platform_version), "pjrt_api", info->api_major,
                     info->api_minor, "kernels", fgi_json_string(info->kernels), "devices",
                     device_list(f->client), "places", places);
}

/* ---- libtpu's counters ----------------------------------------------------------------------- */

static json_t *use_object(const fg_tpu_use *use)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "device", (json_int_t)use->device, "memory_used_bytes",
                     fgi_json_count(use->memory_used_bytes), "memory_total_bytes",
                     fgi_json_count(use->memory_total_bytes), "duty_cycle",
                     fgi_json_real(use->duty_cycle));
}

static void put_memory(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    const double used = fgi_json_number(row, "memory_used_bytes"),
                 total = fgi_json_number(row, "memory_total_bytes");
    fgi_buf_puts(out, used >= 0 ? fgi_bytes_words(used) : "");
    if (total > 0)
        fgi_buf_printf(out, " of %s", fgi_bytes_words(total));
}

static const fgi_field use_fields[] = {
    FGI_FIELD("tpu", "device", FGI_COUNT), FGI_FIELD_PUT("memory", FGI_WORDS, put_memory),
    FGI_FIELD("busy (counter)", "duty_cycle", FGI_PERCENT), FGI_FIELDS_END};

fg_status devices_put_use(const char *address, bool as_json, fgi_buf *out, fg_error *err)
{
    fg_tpu_use use[MAX_TPUS];
    size_t count = 0;
    FGI_TRY(fg_tpu_use_read(address, use, MAX_TPUS, &count, err));
    json_t *list = json_array();
    for (size_t i = 0; i < count && i < MAX_TPUS; i++)
        (void)json_array_append_new(list, use_object(&use[i]));
    if (as_json)
        fgi_json_put(out, json_pack("{s:o}", "devices", list),
                     JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    else
        put_lines(out, use_fields, list);
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
            add_lines(list, &f, with_places);
        if (f.client != NULL && taken == NULL)
            taken = accelerators[i];
        fg_client_close(f.client);
    }
    if (as_json) {
        fgi_json_put(out, json_pack("{s:o, s:s?}", "accelerators", list, "auto", taken),
                     JSON_INDENT(2));
        return;
    }
    put_lines(out, fields, list);
    if (taken != NULL)
        fgi_buf_printf(out, "auto       uses %s\n", taken);
}
