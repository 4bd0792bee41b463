/* environment.c - detects the environment: Kaggle, Colab, a Google Cloud TPU VM or other; and
 * the slice that a TPU belongs to, from environment variables or the metadata server.
 *
 * Sources: Kaggle's and Colab's variables as printed in users' notebooks; the metadata attributes
 * tpu-env, accelerator-type and agent-worker-number as PyTorch/XLA reads them (tpu.py).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/chip.h>
#include <stdlib.h>
#include <string.h>

#include "host/doctor.h"
#include "host/http.h"

enum { METADATA_TIMEOUT_MS = 1000 };

static const char *place_of(const fg_host *host)
{
    const fgi_host *s = &host->source;
    if (fgi_host_variable(s, "KAGGLE_KERNEL_RUN_TYPE") || fgi_host_variable(s, "KAGGLE_URL_BASE"))
        return "kaggle";
    if (fgi_host_variable(s, "COLAB_RELEASE_TAG") || fgi_host_variable(s, "COLAB_BACKEND_VERSION"))
        return "colab";
    if (fgi_host_variable(s, "KUBERNETES_SERVICE_HOST") && host->scan.chips > 0)
        return "gke";
    if (host->is_google)
        return host->scan.chips > 0 ? "tpu-vm" : "gce";
    return "other";
}

static bool says_google(const fg_host *host)
{
    char text[64];
    return fgi_host_read(&host->source, "/sys/class/dmi/id/product_name", text, sizeof text) &&
           strncmp(text, "Google", 6) == 0;
}

/* The value of a line "NAME: 'value'" of tpu-env. */
static bool env_value(const char *text, const char *name, char *out, size_t size)
{
    const size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *value = line + length + 1;
        value += strspn(value, " '\"");
        (void)snprintf(out, size, "%.*s", (int)strcspn(value, "'\"\r\n"), value);
        return out[0] != '\0';
    }
    return false;
}

/* An attribute of the instance from the metadata server, or from a file in a test. False if it
 * cannot be read. */
static bool get_attribute(const fg_host *host, const char *attribute, char *out, size_t size)
{
    char url[512];
    if (!host->metadata)
        return false;
    (void)snprintf(url, sizeof url, "%s/computeMetadata/v1/instance/attributes/%s", host->metadata,
                   attribute);
    if (host->metadata[0] == '\0')
        return fgi_host_read(&host->source, url, out, size);
    fgi_buf answer = {0};
    const fgi_http_request request = {
        .url = url, .header = "Metadata-Flavor: Google", .timeout_ms = METADATA_TIMEOUT_MS};
    const fg_status status = fgi_http_send(&request, &answer, NULL);
    (void)snprintf(out, size, "%s", status == FG_OK && answer.data ? answer.data : "");
    fgi_buf_fini(&answer);
    return status == FG_OK;
}

/* The slice of a TPU VM from the metadata server, if the environment does not describe it. */
static void read_slice(fg_host *host)
{
    char text[4096], value[64], hosts[64];
    fgi_tpu_scan *scan = &host->scan;
    if (!get_attribute(host, "tpu-env", text, sizeof text))
        return;
    host->info.has_metadata = true;
    if (scan->type[0] == '\0' && env_value(text, "ACCELERATOR_TYPE", value, sizeof value))
        (void)snprintf(scan->type, sizeof scan->type, "%.31s", value);
    if (env_value(text, "WORKER_ID", value, sizeof value) && fgi_host_is_number(value))
        scan->worker = (int)strtol(value, NULL, 10);
    if (scan->slice_bounds[0] == 0 &&
        env_value(text, "CHIPS_PER_HOST_BOUNDS", value, sizeof value) &&
        env_value(text, "HOST_BOUNDS", hosts, sizeof hosts))
        (void)fgi_tpu_scan_set_slice(scan, value, hosts);
}

/* Properties that follow from the accelerator type. */
static void complete_slice(fg_host *host)
{
    fgi_tpu_scan *scan = &host->scan;
    const char *generation = NULL;
    int chips = 0;
    if (scan->type[0] == '\0' || !fgi_host_tpu_type(scan->type, &generation, &chips))
        return;
    if (scan->slice_chips == 0)
        scan->slice_chips = chips;
    if (scan->generation == NULL && scan->chips > 0) {
        scan->generation = generation;
        scan->detected_by = host->info.has_metadata ? "metadata" : "TPU_ACCELERATOR_TYPE";
    }
}

static void describe_tpu(fg_host *host)
{
    const fgi_tpu_scan *scan = &host->scan;
    fg_host_info *info = &host->info;
    const int *b = scan->slice_bounds;
    char topology[48] = "";
    info->tpu = scan->chips == 0 ? "" : scan->generation ? scan->generation : "unknown";
    info->tpu_detected_by = scan->detected_by ? scan->detected_by : "";
    info->tpu_type = fgi_doctor_keep(host, scan->type);
    info->tpu_chips = scan->chips;
    info->tpu_slice_chips = scan->slice_chips;
    info->tpu_hosts = scan->hosts;
    info->tpu_worker = scan->worker;
    if (b[0] > 0)
        (void)snprintf(topology, sizeof topology, b[2] > 1 ? "%dx%dx%d" : "%dx%d", b[0], b[1],
                       b[2]);
    info->tpu_topology = fgi_doctor_keep(host, topology);
    info->tpu_devices = scan->cores;
    for (size_t i = 0; i < fg_chip_count() && scan->generation; i++) {
        const fg_chip *c = fg_chip_at(i);
        if (c->generation && strcmp(c->generation, scan->generation) == 0) {
            info->tpu_devices = scan->chips * c->devices;
            info->tpu_device_bytes = c->memory_bytes / c->devices;
        }
    }
}

void fgi_doctor_environment(fg_host *host)
{
    host->is_google = says_google(host);
    host->info.place = place_of(host);
    const bool is_set = fgi_host_variable(&host->source, "TPU_SKIP_MDS_QUERY") != NULL;
    if (host->is_google && host->scan.chips > 0 && !is_set)
        read_slice(host);
    complete_slice(host);
    describe_tpu(host);
}
