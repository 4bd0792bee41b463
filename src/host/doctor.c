/* doctor.c - fg_host: what is known about a machine, what is wrong with it for training, and how to
 * fix that. Properties are collected first: of the host, within the limits of a container's cgroup;
 * of the environment (Kaggle, Colab, a Google Cloud TPU VM or other); and of the slice that a TPU
 * belongs to, from environment variables or the metadata server. Then each rule checks one thing
 * and adds findings; a healthy machine has only notes.
 *
 * Sources: Kaggle's and Colab's variables as printed in users' notebooks; the metadata attributes
 * tpu-env, accelerator-type and agent-worker-number as PyTorch/XLA reads them (tpu.py); the
 * variables and their pitfalls as documented there and reported by its users; hugepages as in JAX's
 * warning (cloud_tpu_init.py).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/chip.h>
#include <fulgurite/host.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/resources.h"
#include "base/text.h"
#include "host/http.h"
#include "host/tpu.h"

enum {
    ENVIRONMENT_BYTES = 1 << 17,
    VARIABLES_MAX = 1024,
    CPUINFO_BYTES = 1 << 18,
    MOUNTS_BYTES = 1 << 17,
    METADATA_TIMEOUT_MS = 1000
};
#define GIB (1024 * 1024 * 1024LL)

enum { FINDINGS_MAX = 48, FIX_MAX = 32 };

struct fg_host {
    fgi_arena arena; /* every string below */
    fgi_host source;
    const char *metadata; /* URL of the metadata server; "": files; NULL: do not query it */
    fgi_tpu_scan scan;
    fg_host_info info;
    bool is_google; /* the firmware identifies the machine as Google Cloud */
    fg_finding findings[FINDINGS_MAX];
    size_t finding_count;
    fg_host_variable fix[FIX_MAX];
    size_t fix_count;
    bool has_failed; /* out of memory */
};

/* A copy in the arena; "" when out of memory, which is recorded. */
static const char *keep(fg_host *host, const char *text)
{
    const char *copy = fgi_arena_strdup(&host->arena, text);
    host->has_failed |= copy == NULL;
    return copy ? copy : "";
}

/* Adds a finding; command may be NULL. */
static FG_PRINTF(5, 6) void find(fg_host *host, fg_severity severity, const char *code,
                                 const char *command, const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (host->finding_count == FINDINGS_MAX)
        return;
    host->findings[host->finding_count++] =
        (fg_finding){.severity = severity,
                     .code = code,
                     .text = keep(host, text),
                     .command = command ? keep(host, command) : ""};
}

/* Recommends a change of a variable; the first recommendation for a name is kept. */
static void fix(fg_host *host, const char *name, const char *value)
{
    for (size_t i = 0; i < host->fix_count; i++) {
        if (strcmp(host->fix[i].name, name) == 0)
            return;
    }
    if (host->fix_count < FIX_MAX)
        host->fix[host->fix_count++] =
            (fg_host_variable){keep(host, name), value ? keep(host, value) : NULL};
}

/* ---- the host -------------------------------------------------------------------------------- */

/* The text after "name:" at the start of a line, up to the end of the line, or NULL. */
static char *field(char *text, const char *name)
{
    const size_t size = strlen(name);
    for (char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, size) != 0)
            continue;
        char *value = line + size + strspn(line + size, " \t");
        if (*value == ':')
            return value + 1 + strspn(value + 1, " \t");
    }
    return NULL;
}

/* A file that contains one number; -1 if it does not ("max", no file). */
static int64_t number_in(const fg_host *host, const char *path)
{
    char text[64], *end;
    if (!fgi_host_read(&host->source, path, text, sizeof text))
        return -1;
    const long long value = strtoll(text, &end, 10);
    return end != text && value >= 0 ? value : -1;
}

static void find_cpus(fg_host *host)
{
    char *text = fgi_calloc(1, CPUINFO_BYTES);
    host->info.cpu_name = "";
    if (!text) {
        host->has_failed = true;
        return;
    }
    if (fgi_host_read(&host->source, "/proc/cpuinfo", text, CPUINFO_BYTES)) {
        for (char *at = strstr(text, "processor"); at; at = strstr(at + 1, "\nprocessor"))
            host->info.cpus++;
        char *name = field(text, "model name");
        if (name) {
            name[strcspn(name, "\n")] = '\0';
            host->info.cpu_name = keep(host, name);
        }
    }
    if (!host->source.root)
        host->info.cpus = fgi_cpu_affinity();
    const int quota = fgi_cpu_quota(host->source.root ? host->source.root : "");
    if (quota > 0 && (host->info.cpus == 0 || quota < host->info.cpus))
        host->info.cpus = quota;
    fgi_free(text);
}

static int64_t kilobytes(char *text, const char *name)
{
    const char *value = field(text, name);
    return value ? strtoll(value, NULL, 10) * 1024 : -1;
}

static void find_memory(fg_host *host)
{
    char text[8192];
    fg_host_info *info = &host->info;
    info->memory_bytes = info->memory_free_bytes = -1;
    if (fgi_host_read(&host->source, "/proc/meminfo", text, sizeof text)) {
        info->memory_bytes = kilobytes(text, "MemTotal");
        info->memory_free_bytes = kilobytes(text, "MemAvailable");
    }
    int64_t limit = number_in(host, "/sys/fs/cgroup/memory.max");
    int64_t used = number_in(host, "/sys/fs/cgroup/memory.current");
    if (limit < 0) {
        limit = number_in(host, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
        used = number_in(host, "/sys/fs/cgroup/memory/memory.usage_in_bytes");
    }
    if (limit < 0 || (info->memory_bytes >= 0 && limit >= info->memory_bytes))
        return;
    info->memory_bytes = limit;
    if (used >= 0 && limit - used < info->memory_free_bytes)
        info->memory_free_bytes = limit > used ? limit - used : 0;
}

static int64_t disk_bytes(const fg_host *host, const char *path, bool is_free)
{
    char whole[FGI_HOST_PATH_MAX];
    struct statvfs disk;
    fgi_host_path(&host->source, path, whole);
    if (statvfs(whole, &disk) != 0)
        return -1;
    return (int64_t)((is_free ? disk.f_bavail : disk.f_blocks) * disk.f_frsize);
}

/* Bytes in the mount option "size=65536k". */
static int64_t size_option(const char *options)
{
    char *end;
    const char *at = strstr(options, "size=");
    if (!at)
        return -1;
    const long long value = strtoll(at + 5, &end, 10);
    const int64_t unit = *end == 'k' ? 1 << 10 : *end == 'm' ? 1 << 20 : *end == 'g' ? 1 << 30 : 1;
    return value * unit;
}

/* As the mount option says, else as the file system reports; -1 if it does not exist. */
static int64_t shm_bytes(fg_host *host)
{
    int64_t bytes = -1;
    bool is_there = false;
    char *text = fgi_calloc(1, MOUNTS_BYTES), *rest = text;
    if (!text)
        host->has_failed = true;
    else if (fgi_host_read(&host->source, "/proc/mounts", text, MOUNTS_BYTES)) {
        for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
            const char *at = strstr(line, " /dev/shm ");
            if (at) {
                is_there = true;
                bytes = size_option(at);
            }
        }
    }
    fgi_free(text);
    return bytes < 0 && (is_there || !host->source.root) ? disk_bytes(host, "/dev/shm", false)
                                                         : bytes;
}

/* The word in brackets of "always [madvise] never". */
static void find_hugepages(fg_host *host)
{
    char text[128];
    host->info.hugepages = "";
    if (!fgi_host_read(&host->source, "/sys/kernel/mm/transparent_hugepage/enabled", text,
                       sizeof text))
        return;
    char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;
    if (end) {
        *end = '\0';
        host->info.hugepages = keep(host, begin + 1);
    }
}

static void find_machine(fg_host *host)
{
    find_cpus(host);
    find_memory(host);
    find_hugepages(host);
    host->info.shm_bytes = shm_bytes(host);
    host->info.temp_free_bytes = disk_bytes(host, "/tmp", true);
}

/* ---- the environment ------------------------------------------------------------------------- */

static const char *variable(const fg_host *host, const char *name)
{
    return fgi_host_variable(&host->source, name);
}

static const char *place_of(const fg_host *host)
{
    if (variable(host, "KAGGLE_KERNEL_RUN_TYPE") || variable(host, "KAGGLE_URL_BASE"))
        return "kaggle";
    if (variable(host, "COLAB_RELEASE_TAG") || variable(host, "COLAB_BACKEND_VERSION"))
        return "colab";
    if (variable(host, "KUBERNETES_SERVICE_HOST") && host->scan.chips > 0)
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
static bool env_value(char *text, const char *name, char *out, size_t size)
{
    const char *value = field(text, name);
    if (value == NULL)
        return false;
    value += strspn(value, "'\"");
    (void)snprintf(out, size, "%.*s", (int)strcspn(value, "'\"\r\n"), value);
    return out[0] != '\0';
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
    info->tpu_type = keep(host, scan->type);
    info->tpu_chips = scan->chips;
    info->tpu_slice_chips = scan->slice_chips;
    info->tpu_hosts = scan->hosts;
    info->tpu_worker = scan->worker;
    if (b[0] > 0)
        (void)snprintf(topology, sizeof topology, b[2] > 1 ? "%dx%dx%d" : "%dx%d", b[0], b[1],
                       b[2]);
    info->tpu_topology = keep(host, topology);
    info->tpu_devices = scan->cores;
    for (size_t i = 0; i < fg_chip_count() && scan->generation; i++) {
        const fg_chip *c = fg_chip_at(i);
        if (c->generation && strcmp(c->generation, scan->generation) == 0) {
            info->tpu_devices = scan->chips * c->devices;
            info->tpu_device_bytes = c->memory_bytes / c->devices;
        }
    }
}

static void find_environment(fg_host *host)
{
    host->is_google = says_google(host);
    host->info.place = place_of(host);
    const bool is_set = variable(host, "TPU_SKIP_MDS_QUERY") != NULL;
    if (host->is_google && host->scan.chips > 0 && !is_set)
        read_slice(host);
    complete_slice(host);
    describe_tpu(host);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool is_place(const fg_host *host, const char *place)
{
    return strcmp(host->info.place, place) == 0;
}

/* ---- the chips ------------------------------------------------------------------------------- */

/* A TPU was requested, but the machine has none: this happens on Kaggle and Colab. */
static void rule_no_chip(fg_host *host)
{
    char looked[400];
    const char *type = variable(host, "TPU_ACCELERATOR_TYPE");
    const bool is_set = type || variable(host, "ISTPUVM") || variable(host, "COLAB_TPU_ADDR");
    const char *command = "run the program on a TPU VM";
    if (host->scan.chips > 0)
        return;
    if (is_place(host, "kaggle"))
        command = "Settings > Accelerator > TPU, then restart the session";
    else if (is_place(host, "colab"))
        command = "Runtime > Change runtime type > TPU, then reconnect";
    fgi_host_tpu_looked(&host->source, &host->scan, looked, sizeof looked);
    if (is_set)
        find(host, FG_WRONG, "tpu-missing", command,
             "environment variables indicate a TPU, but this machine has none (%s)", looked);
    else
        find(host, FG_NOTE, "tpu-none", NULL, "no TPU (%s)", looked);
}

static void rule_nodes(fg_host *host)
{
    const fgi_tpu_scan *scan = &host->scan;
    if (scan->pci_chips > 0 && scan->node_count == 0)
        find(host, FG_WRONG, "tpu-no-node",
             "start the container with docker run --privileged --net=host",
             "%d TPU chip%s on the PCI bus, but neither /dev/accelN nor /dev/vfio/N exists",
             scan->pci_chips, scan->pci_chips == 1 ? " is" : "s are");
    if (scan->pci_unknown > 0)
        find(host, FG_NOTE, "tpu-unknown", NULL,
             "%d PCI device%s made by Google %s an unknown device id (0x0056)", scan->pci_unknown,
             fgi_s(scan->pci_unknown), scan->pci_unknown == 1 ? "has" : "have");
}

static void rule_holder(fg_host *host)
{
    fgi_device_holder holder;
    char text[300], command[32] = "";
    const bool is_held = fgi_host_device_holder(&host->source, "tpu", &holder);
    if (!is_held && !holder.is_left_lock)
        return;
    fgi_host_holder_text(&holder, text, sizeof text);
    if (holder.pid > 0)
        (void)snprintf(command, sizeof command, "kill %d", holder.pid);
    if (is_held)
        find(host, host->scan.chips > 0 ? FG_WRONG : FG_NOTE, "tpu-held", command, "%s", text);
    else
        find(host, FG_NOTE, "tpu-stale-lock", NULL, "%s, if libtpu reports that the TPU is in use",
             text);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* One process uses all chips of a host: addresses of other processes only mislead libtpu ("Expected
 * 4 worker addresses, got 1"). */
static void rule_stale(fg_host *host)
{
    static const struct {
        const char *name, *why;
        fg_severity severity;
    } stale[] = {
        {"TPU_PROCESS_ADDRESSES", "here one process uses all chips", FG_WARNING},
        {"CLOUD_TPU_TASK_ID", "here one process uses all chips", FG_WARNING},
        {"TPU_PROCESS_PORT", "here one process uses all chips", FG_WARNING},
        {"XRT_TPU_CONFIG", "left over from a runtime that no longer exists", FG_NOTE},
        {"COLAB_TPU_ADDR", "left over from TPUs accessed over the network", FG_NOTE},
    };
    if (host->scan.hosts > 1)
        return;
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        char command[64];
        const char *value = variable(host, stale[i].name);
        if (!value)
            continue;
        (void)snprintf(command, sizeof command, "unset %s", stale[i].name);
        find(host, stale[i].severity, "stale-variable", command, "%s is '%.60s': %s", stale[i].name,
             value, stale[i].why);
        fix(host, stale[i].name, NULL);
    }
}

static const char *bounds_of(int chips)
{
    switch (chips) {
    case 1: return "1,1,1";
    case 4: return "2,2,1";
    case 8: return "2,4,1";
    default: return NULL;
    }
}

/* The environment must describe the chips of this machine. */
static void rule_mismatch(fg_host *host)
{
    const fgi_tpu_scan *scan = &host->scan;
    const int *b = scan->host_bounds;
    const char *generation = NULL, *bounds = bounds_of(scan->pci_chips);
    char type[32], command[64];
    int chips = 0;
    if (scan->pci_chips == 0 || !scan->generation)
        return;
    fgi_host_tpu_type_name(
        scan->generation,
        scan->slice_chips > 0 && scan->hosts > 1 ? scan->slice_chips : scan->pci_chips, type);
    (void)snprintf(command, sizeof command, "export TPU_ACCELERATOR_TYPE=%s", type);
    if (scan->type[0] && (!fgi_host_tpu_type(scan->type, &generation, &chips) ||
                          strcmp(generation, scan->generation) != 0)) {
        find(host, FG_WRONG, "tpu-type", command,
             "TPU_ACCELERATOR_TYPE is '%s', but the chips on the PCI bus are %s", scan->type,
             scan->generation);
        fix(host, "TPU_ACCELERATOR_TYPE", type);
    }
    const bool is_set = variable(host, "TPU_CHIPS_PER_HOST_BOUNDS") != NULL; /* not a process's */
    if (is_set && b[0] > 0 && b[0] * b[1] * b[2] != scan->pci_chips && bounds) {
        (void)snprintf(command, sizeof command, "export TPU_CHIPS_PER_HOST_BOUNDS=%s", bounds);
        find(host, FG_WRONG, "tpu-bounds", command,
             "TPU_CHIPS_PER_HOST_BOUNDS is %d,%d,%d, but this host has %d chips", b[0], b[1], b[2],
             scan->pci_chips);
        fix(host, "TPU_CHIPS_PER_HOST_BOUNDS", bounds);
    }
}

/* Without a metadata server, all its data must come from environment variables. */
static void rule_metadata(fg_host *host)
{
    const fgi_tpu_scan *scan = &host->scan;
    const bool skips = variable(host, "TPU_SKIP_MDS_QUERY") != NULL;
    const char *bounds = bounds_of(scan->chips);
    char type[32] = "", missing[200] = "";
    if (scan->chips == 0 || !scan->generation || scan->hosts > 1 || host->info.has_metadata ||
        (host->is_google && !skips && !host->metadata))
        return;
    fgi_host_tpu_type_name(scan->generation, scan->chips, type);
    const char *const requested[][2] = {{"TPU_ACCELERATOR_TYPE", type},
                                        {"TPU_CHIPS_PER_HOST_BOUNDS", bounds},
                                        {"TPU_HOST_BOUNDS", "1,1,1"},
                                        {"TPU_WORKER_ID", "0"},
                                        {"TPU_WORKER_HOSTNAMES", "localhost"}};
    for (size_t i = 0; i < sizeof requested / sizeof requested[0]; i++) {
        const size_t used = strlen(missing);
        if (variable(host, requested[i][0]) || !requested[i][1])
            continue;
        (void)snprintf(missing + used, sizeof missing - used, " %s=%s", requested[i][0],
                       requested[i][1]);
        fix(host, requested[i][0], requested[i][1]);
    }
    char command[300];
    (void)snprintf(command, sizeof command, "export%s%s", skips ? "" : " TPU_SKIP_MDS_QUERY=1",
                   missing);
    if (!skips) {
        find(host, FG_WRONG, "metadata-silent", command,
             "no metadata server responds: libtpu would retry for ten minutes at startup");
        fix(host, "TPU_SKIP_MDS_QUERY", "1");
    } else if (missing[0]) {
        find(host, FG_WARNING, "slice-not-configured", command,
             "TPU_SKIP_MDS_QUERY is set, but not all variables that libtpu then requires are");
    }
}

/* libtpu on one host of a slice waits for all other hosts. */
static void rule_hosts(fg_host *host)
{
    const fgi_tpu_scan *scan = &host->scan;
    const int *b = scan->host_bounds;
    char chips[64] = "", bounds[48], command[300];
    if (scan->chips == 0 || scan->hosts <= 1 || scan->chips > 8)
        return;
    for (int i = 0; i < scan->chips; i++)
        (void)snprintf(chips + strlen(chips), sizeof chips - strlen(chips), "%s%d", i ? "," : "",
                       i);
    if (b[0] > 0)
        (void)snprintf(bounds, sizeof bounds, "%d,%d,%d", b[0], b[1], b[2]);
    else
        (void)snprintf(bounds, sizeof bounds, "%s",
                       bounds_of(scan->chips) ? bounds_of(scan->chips) : "1,1,1");
    (void)snprintf(command, sizeof command,
                   "export TPU_VISIBLE_CHIPS=%s TPU_CHIPS_PER_PROCESS_BOUNDS=%s "
                   "TPU_PROCESS_BOUNDS=1,1,1",
                   chips, bounds);
    find(host, FG_WRONG, "slice-of-hosts", command,
         "this is host %d of %d in a slice of %d chips (%s): libtpu waits for all "
         "hosts, but this program trains on a single host; the suggested variables "
         "restrict it to this host's %d chips",
         scan->worker, scan->hosts, scan->slice_chips, scan->type, scan->chips);
    fix(host, "TPU_VISIBLE_CHIPS", chips);
    fix(host, "TPU_CHIPS_PER_PROCESS_BOUNDS", bounds);
    fix(host, "TPU_PROCESS_BOUNDS", "1,1,1");
}

static void rule_choices(fg_host *host)
{
    static const char *const names[] = {"TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES", "XLA_FLAGS",
                                        "LIBTPU_INIT_ARGS", "TPU_LIBRARY_PATH"};
    static const char *const what[] = {
        "only these chips are used", "only these chips are used",
        "passed to the compiler; an unknown flag terminates the process",
        "passed to libtpu as flags", "ignored: set FULGURITE_PLUGIN to the file instead"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = variable(host, names[i]);
        if (value)
            find(host, FG_NOTE, "variable-set", NULL, "%s is '%.100s': %s", names[i], value,
                 what[i]);
    }
}

/* ---- the host -------------------------------------------------------------------------------- */

static void rule_hugepages(fg_host *host)
{
    static const char *const affected[] = {"v5e", "v5p", "v6e", "7x"};
    bool is_affected = false;
    for (size_t i = 0; i < sizeof affected / sizeof affected[0]; i++)
        is_affected |= strcmp(host->info.tpu, affected[i]) == 0;
    if (is_affected && host->info.hugepages[0] && strcmp(host->info.hugepages, "always") != 0)
        find(host, FG_WARNING, "hugepages",
             "sudo sh -c 'echo always > /sys/kernel/mm/transparent_hugepage/enabled'",
             "transparent hugepages are '%s': libtpu starts and exits more slowly",
             host->info.hugepages);
}

/* Buffers that a TPU reads are pinned if it is accessed through VFIO. Bit 14 of the effective
 * capabilities removes the limit. */
static void rule_locked_memory(fg_host *host)
{
    char limits[4096], status[4096];
    if (host->scan.chips == 0 || strncmp(host->scan.nodes[0], "/dev/vfio", 9) != 0 ||
        !fgi_host_read(&host->source, "/proc/self/limits", limits, sizeof limits))
        return;
    const char *at = strstr(limits, "Max locked memory");
    const long long bytes = at ? strtoll(at + 17, NULL, 10) : 0; /* "unlimited" gives 0 */
    (void)fgi_host_read(&host->source, "/proc/self/status", status, sizeof status);
    const char *caps = strstr(status, "CapEff:");
    const bool is_free = caps && (strtoull(caps + 7, NULL, 16) >> 14 & 1);
    if (bytes > 0 && bytes < GIB && !is_free)
        find(host, FG_WARNING, "locked-memory",
             "ulimit -l unlimited (docker run --ulimit memlock=-1)",
             "only %s of memory can be locked, but libtpu locks the buffers that the "
             "chips read",
             fgi_bytes_words((double)bytes));
}

static void rule_room(fg_host *host)
{
    const fg_host_info *info = &host->info;
    if (info->memory_free_bytes >= 0 && info->memory_free_bytes < 2 * GIB)
        find(host, FG_WARNING, "memory", NULL,
             "only %s of memory are available: compiling a large model may need more",
             fgi_bytes_words((double)info->memory_free_bytes));
    if (info->temp_free_bytes >= 0 && info->temp_free_bytes < GIB)
        find(host, FG_WARNING, "disk", NULL, "only %s are free in /tmp",
             fgi_bytes_words((double)info->temp_free_bytes));
    if (info->shm_bytes >= 0 && info->shm_bytes <= GIB / 16)
        find(host, FG_NOTE, "shm", NULL,
             "/dev/shm has only %s; this is not a problem, because loader workers are "
             "threads",
             fgi_bytes_words((double)info->shm_bytes));
    if (info->tpu_chips > 0 && info->cpus > 0 && info->cpus < 4 * info->tpu_chips)
        find(host, FG_WARNING, "few-cpus", NULL,
             "%d CPU%s %d chip%s: decode and resize images in advance", info->cpus,
             info->cpus == 1 ? " feeds" : "s feed", info->tpu_chips, fgi_s(info->tpu_chips));
}

static void apply_rules(fg_host *host)
{
    rule_no_chip(host);
    rule_nodes(host);
    rule_holder(host);
    rule_stale(host);
    rule_mismatch(host);
    rule_metadata(host);
    rule_hosts(host);
    rule_choices(host);
    rule_hugepages(host);
    rule_locked_memory(host);
    rule_room(host);
}

/* ---- fg_host --------------------------------------------------------------------------------- */

/* Environment variables of a machine in a folder: NAME=value, each ended by NUL or a newline, which
 * is easier to write. */
static void read_environment(fg_host *host)
{
    char *text = fgi_arena_alloc(&host->arena, ENVIRONMENT_BYTES);
    const char **list = fgi_arena_alloc(&host->arena, (VARIABLES_MAX + 1) * sizeof *list);
    size_t count = 0, size = 0;
    char path[FGI_HOST_PATH_MAX];
    if (!text || !list) {
        host->has_failed = true;
        return;
    }
    fgi_host_path(&host->source, "/proc/self/environ", path);
    FILE *in = fopen(path, "re");
    if (in) {
        size = fread(text, 1, ENVIRONMENT_BYTES - 1, in);
        (void)fclose(in);
    }
    for (size_t at = 0; at < size && count < VARIABLES_MAX;) {
        list[count++] = text + at;
        while (at < size && text[at] != '\0' && text[at] != '\n')
            at++;
        text[at++] = '\0';
    }
    host->source.environment = list;
}

static void set_source(fg_host *host, const fg_host_options *options)
{
    const bool is_fake = options->root && *options->root;
    const char *name = fgi_host_variable(NULL, "GCE_METADATA_HOST");
    if (is_fake) {
        host->source.root = keep(host, options->root);
        read_environment(host);
    }
    if (options->metadata)
        host->metadata = keep(host, options->metadata);
    else if (is_fake)
        host->metadata = "";
    else if (!options->no_network)
        host->metadata =
            fgi_arena_printf(&host->arena, "http://%s", name ? name : "metadata.google.internal");
}

fg_status fg_host_open(const fg_host_options *options, fg_host **out, fg_error *err)
{
    static const fg_host_options none;
    *out = NULL;
    FGI_TRY_RESERVED(fg_host_options, options, err);
    fg_host *host = fgi_calloc(1, sizeof *host);
    if (!host)
        return fgi_no_memory(err);
    fgi_arena_init(&host->arena);
    set_source(host, options ? options : &none);
    fgi_host_tpu_scan(&host->source, &host->scan);
    find_machine(host);
    find_environment(host);
    apply_rules(host);
    if (host->has_failed) {
        fg_host_close(host);
        return fgi_no_memory(err);
    }
    *out = host;
    return FG_OK;
}

void fg_host_close(fg_host *host)
{
    if (!host)
        return;
    fgi_arena_fini(&host->arena);
    fgi_free(host);
}

const fg_host_info *fg_host_info_of(const fg_host *host) { return &host->info; }

size_t fg_host_finding_count(const fg_host *host) { return host->finding_count; }

const fg_finding *fg_host_finding_at(const fg_host *host, size_t index)
{
    return index < host->finding_count ? &host->findings[index] : NULL;
}

size_t fg_host_variable_count(const fg_host *host) { return host->fix_count; }

const fg_host_variable *fg_host_variable_at(const fg_host *host, size_t index)
{
    return index < host->fix_count ? &host->fix[index] : NULL;
}
