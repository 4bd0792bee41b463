/* rules.c - diagnoses problems of a machine and suggests fixes. Each rule checks one thing and adds
 * findings; a healthy machine has only notes.
 *
 * Sources: the variables and their pitfalls as documented in PyTorch/XLA's tpu.py and reported by
 * its users; hugepages as in JAX's warning (cloud_tpu_init.py).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "host/doctor.h"
#include "base/print.h"
#include "base/text.h"

#define GIB (1024 * 1024 * 1024LL)

static const char *variable(const fg_host *host, const char *name)
{
    return fgi_host_variable(&host->source, name);
}

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
        fgi_doctor_find(host, FG_WRONG, "tpu-missing", command,
                        "environment variables indicate a TPU, but this machine has none (%s)",
                        looked);
    else
        fgi_doctor_find(host, FG_NOTE, "tpu-none", NULL, "no TPU (%s)", looked);
}

static void rule_nodes(fg_host *host)
{
    const fgi_tpu_scan *scan = &host->scan;
    if (scan->pci_chips > 0 && scan->node_count == 0)
        fgi_doctor_find(
            host, FG_WRONG, "tpu-no-node",
            "start the container with docker run --privileged --net=host",
            "%d TPU chip%s on the PCI bus, but neither /dev/accelN nor /dev/vfio/N exists",
            scan->pci_chips, scan->pci_chips == 1 ? " is" : "s are");
    if (scan->pci_unknown > 0)
        fgi_doctor_find(host, FG_NOTE, "tpu-unknown", NULL,
                        "%d PCI device%s made by Google %s an unknown device id (0x0056)",
                        scan->pci_unknown, fgi_s(scan->pci_unknown),
                        scan->pci_unknown == 1 ? "has" : "have");
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
        fgi_doctor_find(host, host->scan.chips > 0 ? FG_WRONG : FG_NOTE, "tpu-held", command, "%s",
                        text);
    else
        fgi_doctor_find(host, FG_NOTE, "tpu-stale-lock", NULL,
                        "%s, if libtpu reports that the TPU is in use", text);
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
        fgi_doctor_find(host, stale[i].severity, "stale-variable", command, "%s is '%.60s': %s",
                        stale[i].name, value, stale[i].why);
        fgi_doctor_fix(host, stale[i].name, NULL);
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
        fgi_doctor_find(host, FG_WRONG, "tpu-type", command,
                        "TPU_ACCELERATOR_TYPE is '%s', but the chips on the PCI bus are %s",
                        scan->type, scan->generation);
        fgi_doctor_fix(host, "TPU_ACCELERATOR_TYPE", type);
    }
    const bool is_set = variable(host, "TPU_CHIPS_PER_HOST_BOUNDS") != NULL; /* not a process's */
    if (is_set && b[0] > 0 && b[0] * b[1] * b[2] != scan->pci_chips && bounds) {
        (void)snprintf(command, sizeof command, "export TPU_CHIPS_PER_HOST_BOUNDS=%s", bounds);
        fgi_doctor_find(host, FG_WRONG, "tpu-bounds", command,
                        "TPU_CHIPS_PER_HOST_BOUNDS is %d,%d,%d, but this host has %d chips", b[0],
                        b[1], b[2], scan->pci_chips);
        fgi_doctor_fix(host, "TPU_CHIPS_PER_HOST_BOUNDS", bounds);
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
        fgi_doctor_fix(host, requested[i][0], requested[i][1]);
    }
    char command[300];
    (void)snprintf(command, sizeof command, "export%s%s", skips ? "" : " TPU_SKIP_MDS_QUERY=1",
                   missing);
    if (!skips) {
        fgi_doctor_find(
            host, FG_WRONG, "metadata-silent", command,
            "no metadata server responds: libtpu would retry for ten minutes at startup");
        fgi_doctor_fix(host, "TPU_SKIP_MDS_QUERY", "1");
    } else if (missing[0]) {
        fgi_doctor_find(
            host, FG_WARNING, "slice-not-configured", command,
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
    fgi_doctor_find(host, FG_WRONG, "slice-of-hosts", command,
                    "this is host %d of %d in a slice of %d chips (%s): libtpu waits for all "
                    "hosts, but this program trains on a single host; the suggested variables "
                    "restrict it to this host's %d chips",
                    scan->worker, scan->hosts, scan->slice_chips, scan->type, scan->chips);
    fgi_doctor_fix(host, "TPU_VISIBLE_CHIPS", chips);
    fgi_doctor_fix(host, "TPU_CHIPS_PER_PROCESS_BOUNDS", bounds);
    fgi_doctor_fix(host, "TPU_PROCESS_BOUNDS", "1,1,1");
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
            fgi_doctor_find(host, FG_NOTE, "variable-set", NULL, "%s is '%.100s': %s", names[i],
                            value, what[i]);
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
        fgi_doctor_find(host, FG_WARNING, "hugepages",
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
        fgi_doctor_find(host, FG_WARNING, "locked-memory",
                        "ulimit -l unlimited (docker run --ulimit memlock=-1)",
                        "only %s of memory can be locked, but libtpu locks the buffers that the "
                        "chips read",
                        fgi_bytes_words((double)bytes));
}

static void rule_room(fg_host *host)
{
    const fg_host_info *info = &host->info;
    if (info->memory_free_bytes >= 0 && info->memory_free_bytes < 2 * GIB)
        fgi_doctor_find(host, FG_WARNING, "memory", NULL,
                        "only %s of memory are available: compiling a large model may need more",
                        fgi_bytes_words((double)info->memory_free_bytes));
    if (info->temp_free_bytes >= 0 && info->temp_free_bytes < GIB)
        fgi_doctor_find(host, FG_WARNING, "disk", NULL, "only %s are free in /tmp",
                        fgi_bytes_words((double)info->temp_free_bytes));
    if (info->shm_bytes >= 0 && info->shm_bytes <= GIB / 16)
        fgi_doctor_find(host, FG_NOTE, "shm", NULL,
                        "/dev/shm has only %s; this is not a problem, because loader workers are "
                        "threads",
                        fgi_bytes_words((double)info->shm_bytes));
    if (info->tpu_chips > 0 && info->cpus > 0 && info->cpus < 4 * info->tpu_chips)
        fgi_doctor_find(host, FG_WARNING, "few-cpus", NULL,
                        "%d CPU%s %d chip%s: decode and resize images in advance", info->cpus,
                        info->cpus == 1 ? " feeds" : "s feed", info->tpu_chips,
                        fgi_s(info->tpu_chips));
}

void fgi_doctor_rules(fg_host *host)
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
