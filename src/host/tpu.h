/* tpu.h - detects the TPUs of a machine without libtpu: the chips, the processes that use them, and
 * the variables that libtpu needs before it is loaded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HOST_TPU_H
#define FGI_HOST_TPU_H

#include "host/host.h"

enum { FGI_TPU_NODES_MAX = 16 };

/* Result of the detection. Counts are for this host unless stated otherwise; 0 or "" means not
 * known. */
typedef struct fgi_tpu_scan {
    const char *generation;  /* "v2" "v3" "v4" "v5e" "v5p" "v6e" "7x"; NULL: not known. Static */
    const char *detected_by; /* source of the generation: "PCI", "TPU_ACCELERATOR_TYPE"; static */
    int chips;               /* chips that this host can access */
    int cores;               /* PJRT devices of these chips */
    bool has_pci;            /* the PCI bus can be listed */
    int pci_devices;         /* devices of all vendors on it */
    int pci_chips;           /* TPUs among them */
    int pci_unknown;         /* accelerators made by Google with an unknown device id */
    int node_count;          /* device nodes of TPUs, of which the first ones are listed */
    char nodes[FGI_TPU_NODES_MAX][32]; /* "/dev/accel0", "/dev/vfio/0" */
    char type[32];                     /* "v5litepod-8" */
    int slice_chips;                   /* chips of the whole slice */
    int hosts, worker;                 /* hosts of the slice (1 if not known), index of this one */
    int host_bounds[3], slice_bounds[3]; /* chips per host, and of the slice: 2,4,1; 0: not known */
} fgi_tpu_scan;

/* Examines the PCI bus, the device nodes and the environment. Opens no device; takes well under a
 * millisecond. host may be NULL. Thread-safe. */
void fgi_host_tpu_scan(const fgi_host *host, fgi_tpu_scan *out);
/* Whether there is a usable TPU: on the PCI bus, or as /dev/accel0. */
bool fgi_host_has_tpu(const fgi_host *host);
/* What fgi_host_tpu_scan examined and found, for the error on a machine without a TPU: "PCI bus: 12
 * devices, no TPU; /dev/accelN, /dev/vfio/N: none; TPU_ACCELERATOR_TYPE: not set". */
void fgi_host_tpu_looked(const fgi_host *host, const fgi_tpu_scan *scan, char *out, size_t size);
/* Parses "v5litepod-8" into the generation (static) and the number of chips of the slice; false if
 * it is not a TPU type. */
bool fgi_host_tpu_type(const char *type, const char **out_generation, int *out_chips);
/* "v5litepod-8" for eight chips of v5e; "" for a generation that is not known. */
void fgi_host_tpu_type_name(const char *generation, int chips, char out[32]);
/* Sets the chips per host, "2,2,1", and with the hosts of the slice, "1,1,2", its size; false, with
 * the rest unchanged, if one of them is invalid. */
bool fgi_tpu_scan_set_slice(fgi_tpu_scan *scan, const char *per_host, const char *bounds);

/* ---- processes that use a device ------------------------------------------------------------- */

#define FGI_TPU_LOCK "/tmp/libtpu_lockfile"

/* A process other than this one that is using a device. */
typedef struct fgi_device_holder {
    int pid;           /* 0: a process that is not visible from here (in another container) */
    char name[64];     /* the beginning of its command line; "" if it cannot be read */
    char what[64];     /* what it uses: "/dev/accel0", "/tmp/libtpu_lockfile", "/dev/nvidia0" */
    int unreadable;    /* processes whose open files this user may not list */
    bool is_left_lock; /* no process is using a device, but an unlocked lock file exists */
} fgi_device_holder;

/* Finds a process that is using the accelerator ("tpu", "cuda"): by the lock on libtpu's lock file,
 * and by open device nodes. True if there is one; *out is filled in either way. host may be NULL.
 * For CUDA this is not an error: a GPU can be shared. Reads /proc of all processes: takes a few
 * milliseconds. Thread-safe. */
bool fgi_host_device_holder(const fgi_host *host, const char *accelerator, fgi_device_holder *out);
/* A description in one line: "process 812 (python train.py) is using /dev/accel0; wait until it
 * exits, or stop it: kill 812". */
void fgi_host_holder_text(const fgi_device_holder *holder, char *out, size_t size);

/* Explains why libtpu found no device: the process that uses the chips; or that there are none, and
 * where they were searched; then libtpu's message, without its advice to remove a lock file. */
void fgi_host_tpu_explain(const fgi_host *host, const char *words, char *out, size_t size);

/* ---- before libtpu is loaded ----------------------------------------------------------------- */

typedef struct fgi_variable {
    const char *name, *value; /* static; value NULL: unset the variable */
} fgi_variable;

enum { FGI_TPU_VARIABLES_MAX = 8 };

/* Variables that libtpu needs on this machine and that are not set. Without a chip on the PCI bus:
 * not to query the metadata server, which would take ten minutes during initialization, and the
 * variables that it then requires. compile_only adds those that let it be loaded besides another
 * process's libtpu and that disable its log file per process: only use it if no device is opened.
 * Returns their number. */
size_t fgi_host_tpu_variables(const fgi_host *host, bool compile_only,
                              fgi_variable out[FGI_TPU_VARIABLES_MAX]);
/* Sets them in this process. Call it before dlopen of libtpu, while no other thread reads the
 * environment. */
void fgi_host_tpu_prepare(bool compile_only);
/* Whether the variable was set by that function, and is therefore not information from the user or
 * the environment. */
bool fgi_host_is_prepared(const char *name);

#endif
