/* tpu_scan.c - detects TPUs without libtpu: PCI ids, device nodes, and the description of the slice
 * in the environment. Sources of the ids and names: JAX (cloud_tpu_init.py), PyTorch/XLA (tpu.py),
 * tpu-info (device.py); of the names of types: Cloud TPU's "System architecture" pages.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/tpu.h"

#define PCI_FOLDER "/sys/bus/pci/devices"

static const struct generation {
    const char *name;
    unsigned device, subsystem; /* PCI ids; subsystem 0: any */
    int cores;                  /* PJRT devices per chip */
    bool is_vfio;               /* /dev/vfio/N, else /dev/accelN */
    const char *type;           /* name of the type before "-N" */
    int type_unit;              /* unit of N, as a fraction of a chip */
} generations[] = {
    {"v2", 0x0027, 0x004e, 2, false, "v2", 2},   {"v3", 0x0027, 0x004f, 2, false, "v3", 2},
    {"v4", 0x005e, 0, 1, false, "v4", 2},        {"v5p", 0x0062, 0, 1, true, "v5p", 2},
    {"v5e", 0x0063, 0, 1, true, "v5litepod", 1}, {"v6e", 0x006f, 0, 1, true, "v6e", 1},
    {"7x", 0x0076, 0, 2, true, "tpu7x", 2},
};
enum {
    GENERATIONS = sizeof generations / sizeof generations[0],
    GOOGLE = 0x1ae0,
    UNNAMED = 0x0056
};

static const struct generation *generation_named(const char *name)
{
    for (int i = 0; name && i < GENERATIONS; i++) {
        if (strcmp(generations[i].name, name) == 0)
            return &generations[i];
    }
    return NULL;
}

/* ---- the PCI bus ----------------------------------------------------------------------------- */

typedef struct walk {
    const fgi_host *host;
    fgi_tpu_scan *scan;
    const struct generation *found;
    char groups[FGI_TPU_NODES_MAX]
               [16]; /* IOMMU groups of the chips, after which nodes in /dev/vfio are named */
    int group_count;
    char slots[2 * FGI_TPU_NODES_MAX][16]; /* PCI addresses of the chips, without the function */
} walk;

static unsigned read_number(const fgi_host *host, const char *device, const char *leaf)
{
    char path[FGI_HOST_PATH_MAX], text[16];
    (void)snprintf(path, sizeof path, PCI_FOLDER "/%s/%s", device, leaf);
    return fgi_host_read(host, path, text, sizeof text) ? (unsigned)strtoul(text, NULL, 16) : 0;
}

/* A chip may have several functions at one address, one per core. */
static bool is_new_chip(walk *w, const char *device)
{
    const int count = w->scan->pci_chips;
    char slot[16];
    (void)snprintf(slot, sizeof slot, "%.*s", (int)strcspn(device, "."), device);
    for (int i = 0; i < count && i < 2 * FGI_TPU_NODES_MAX; i++) {
        if (strcmp(w->slots[i], slot) == 0)
            return false;
    }
    if (count < 2 * FGI_TPU_NODES_MAX)
        (void)snprintf(w->slots[count], sizeof w->slots[0], "%s", slot);
    return true;
}

static void keep_group(walk *w, const char *device)
{
    char path[FGI_HOST_PATH_MAX], target[FGI_HOST_PATH_MAX];
    (void)snprintf(path, sizeof path, PCI_FOLDER "/%s/iommu_group", device);
    if (w->group_count == FGI_TPU_NODES_MAX || !fgi_host_link(w->host, path, target, sizeof target))
        return;
    (void)snprintf(w->groups[w->group_count++], sizeof w->groups[0], "%.15s",
                   fgi_after_last(target, '/'));
}

/* The vendor id is not sufficient: Google's virtual network card and disk have the same. */
static bool look_at_device(void *self, const char *name)
{
    walk *w = self;
    w->scan->pci_devices++;
    if (read_number(w->host, name, "vendor") != GOOGLE)
        return true;
    const unsigned device = read_number(w->host, name, "device");
    const unsigned subsystem = read_number(w->host, name, "subsystem_device");
    w->scan->pci_unknown += device == UNNAMED;
    for (int i = 0; i < GENERATIONS; i++) {
        const struct generation *g = &generations[i];
        if (device != g->device)
            continue;
        /* an unreadable subsystem id does not distinguish v2 from v3: the environment may */
        if (g->subsystem == 0 || g->subsystem == subsystem)
            w->found = g;
        else if (subsystem != 0)
            continue;
        w->scan->pci_chips += is_new_chip(w, name);
        keep_group(w, name);
        break;
    }
    return true;
}

/* ---- device nodes ---------------------------------------------------------------------------- */

static void add_node(fgi_tpu_scan *scan, const char *folder, const char *name)
{
    if (scan->node_count < FGI_TPU_NODES_MAX)
        (void)snprintf(scan->nodes[scan->node_count], sizeof scan->nodes[0], "%s/%.20s", folder,
                       name);
    scan->node_count++;
}

static bool look_at_accel(void *self, const char *name)
{
    walk *w = self;
    if (strncmp(name, "accel", 5) == 0 && fgi_host_is_number(name + 5))
        add_node(w->scan, "/dev", name);
    return true;
}

/* Other devices are passed through VFIO too: a group must belong to one of the chips, if that is
 * known. */
static bool look_at_vfio(void *self, const char *name)
{
    walk *w = self;
    bool is_ours = w->group_count == 0;
    for (int i = 0; i < w->group_count; i++)
        is_ours = is_ours || strcmp(w->groups[i], name) == 0;
    if (is_ours && fgi_host_is_number(name))
        add_node(w->scan, "/dev/vfio", name);
    return true;
}

static int by_name(const void *a, const void *b) { return strverscmp(a, b); }

static void find_nodes(walk *w)
{
    (void)fgi_host_list(w->host, "/dev", look_at_accel, w);
    if (w->scan->pci_chips > 0 && w->scan->node_count == 0)
        (void)fgi_host_list(w->host, "/dev/vfio", look_at_vfio, w);
    const int named =
        w->scan->node_count < FGI_TPU_NODES_MAX ? w->scan->node_count : FGI_TPU_NODES_MAX;
    qsort(w->scan->nodes, (size_t)named, sizeof w->scan->nodes[0], by_name);
}

/* ---- the environment ------------------------------------------------------------------------- */

bool fgi_host_tpu_type(const char *type, const char **out_generation, int *out_chips)
{
    const char *dash = strrchr(type, '-');
    int64_t count;
    if (!dash || !fgi_parse_i64(fgi_str_of(dash + 1), &count) || count < 1 || count > 1 << 20)
        return false;
    for (int i = 0; i < GENERATIONS; i++) {
        const struct generation *g = &generations[i];
        const size_t size = strlen(g->type);
        if (size == (size_t)(dash - type) && strncmp(type, g->type, size) == 0) {
            *out_generation = g->name;
            *out_chips = ((int)count + g->type_unit - 1) / g->type_unit;
            return true;
        }
    }
    return false;
}

void fgi_host_tpu_type_name(const char *generation, int chips, char out[32])
{
    const struct generation *g = generation_named(generation);
    out[0] = '\0';
    if (g)
        (void)snprintf(out, 32, "%s-%d", g->type, chips * g->type_unit);
}

/* "2,4,1" */
static bool read_bounds(const char *text, int out[3])
{
    char *end;
    long bound[3];
    for (int i = 0; i < 3; i++) {
        bound[i] = strtol(text, &end, 10);
        if (end == text || bound[i] < 1 || bound[i] > 4096 || *end != (i < 2 ? ',' : '\0'))
            return false;
        text = end + 1;
    }
    for (int i = 0; i < 3; i++)
        out[i] = (int)bound[i];
    return true;
}

bool fgi_tpu_scan_set_slice(fgi_tpu_scan *scan, const char *per_host, const char *bounds)
{
    int chips[3], hosts[3];
    if (!read_bounds(per_host, chips))
        return false;
    memcpy(scan->host_bounds, chips, sizeof chips);
    if (!read_bounds(bounds, hosts))
        return false;
    for (int i = 0; i < 3; i++)
        scan->slice_bounds[i] = chips[i] * hosts[i];
    scan->hosts = hosts[0] * hosts[1] * hosts[2];
    scan->slice_chips = scan->slice_bounds[0] * scan->slice_bounds[1] * scan->slice_bounds[2];
    return true;
}

/* The value of a variable under its new or its old name. */
static const char *either(const fgi_host *host, const char *name, const char *old)
{
    const char *value = fgi_host_variable(host, name);
    return value ? value : fgi_host_variable(host, old);
}

static int count_names(const char *list)
{
    int count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* The description of a slice applies to this host only if it has a chip; `chips` is not set. */
static void read_environment(const fgi_host *host, fgi_tpu_scan *scan)
{
    const char *type = fgi_host_variable(host, "TPU_ACCELERATOR_TYPE");
    const char *per_host =
        either(host, "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS");
    const char *bounds = either(host, "TPU_HOST_BOUNDS", "TPU_PROCESS_BOUNDS");
    const char *worker = either(host, "TPU_WORKER_ID", "CLOUD_TPU_TASK_ID");
    const char *names = fgi_host_variable(host, "TPU_WORKER_HOSTNAMES");
    scan->hosts = names ? count_names(names) : 1;
    if (type)
        (void)snprintf(scan->type, sizeof scan->type, "%.31s", type);
    if (worker && fgi_host_is_number(worker) && strlen(worker) < 7)
        scan->worker = (int)strtol(worker, NULL, 10);
    if (per_host)
        (void)fgi_tpu_scan_set_slice(scan, per_host, bounds ? bounds : "");
}

void fgi_host_tpu_scan(const fgi_host *host, fgi_tpu_scan *out)
{
    walk w = {.host = host, .scan = out};
    const char *named = NULL;
    int named_chips = 0;
    *out = (fgi_tpu_scan){0};
    out->has_pci = fgi_host_list(host, PCI_FOLDER, look_at_device, &w);
    find_nodes(&w);
    read_environment(host, out);
    if (out->type[0] && fgi_host_tpu_type(out->type, &named, &named_chips) && out->slice_chips == 0)
        out->slice_chips = named_chips;
    out->chips = out->pci_chips > 0 ? out->pci_chips : out->node_count;
    const struct generation *g = w.found;
    if (g) {
        out->detected_by = "PCI";
    } else if (named && out->chips > 0) {
        g = generation_named(named);
        out->detected_by = "TPU_ACCELERATOR_TYPE";
    }
    out->generation = g ? g->name : NULL;
    out->cores = out->chips * (g ? g->cores : 1);
}

bool fgi_host_has_tpu(const fgi_host *host)
{
    fgi_tpu_scan scan;
    if (fgi_host_has(host, "/dev/accel0"))
        return true;
    fgi_host_tpu_scan(host, &scan);
    return scan.pci_chips > 0;
}

void fgi_host_tpu_looked(const fgi_host *host, const fgi_tpu_scan *scan, char *out, size_t size)
{
    char bus[64], nodes[80];
    const char *type = fgi_host_variable(host, "TPU_ACCELERATOR_TYPE");
    if (!scan->has_pci)
        (void)snprintf(bus, sizeof bus, "cannot be listed");
    else if (scan->pci_chips > 0)
        (void)snprintf(bus, sizeof bus, "%d TPU chip%s", scan->pci_chips, fgi_s(scan->pci_chips));
    else
        (void)snprintf(bus, sizeof bus, "%d device%s, no TPU%s", scan->pci_devices,
                       fgi_s(scan->pci_devices), scan->pci_unknown > 0 ? " known here" : "");
    if (scan->node_count > 0)
        (void)snprintf(nodes, sizeof nodes, "%d from %s on", scan->node_count, scan->nodes[0]);
    else
        (void)snprintf(nodes, sizeof nodes, "none");
    (void)snprintf(out, size,
                   "PCI bus (" PCI_FOLDER "): %s; /dev/accelN, /dev/vfio/N: %s; "
                   "TPU_ACCELERATOR_TYPE: %.40s",
                   bus, nodes, type ? type : "not set");
}
