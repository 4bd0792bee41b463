/* tpu.h - the TPUs of a machine, found without libtpu: which chips, who holds them, what libtpu
 * must be told before it is loaded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HOST_TPU_H
#define FGI_HOST_TPU_H

#include "host/host.h"

enum { FGI_TPU_NODES_MAX = 16 };

/* What was found. Counts are of this host unless said otherwise; 0 or "" is what nothing told. */
typedef struct fgi_tpu_scan {
    const char *generation;  /* "v2" "v3" "v4" "v5e" "v5p" "v6e" "7x"; NULL: not known. Static */
    const char *detected_by; /* what told the generation: "PCI", "TPU_ACCELERATOR_TYPE"; static */
    int chips;               /* chips that this host can drive */
    int cores;               /* devices that PJRT makes of them */
    bool has_pci;            /* the PCI bus could be listed */
    int pci_devices;         /* devices of all makers on it */
    int pci_chips;           /* TPUs among them */
    int pci_unknown;         /* accelerators of Google's with a number not known here */
    int node_count;          /* device nodes of TPUs, of which the first so many are named */
    char nodes[FGI_TPU_NODES_MAX][32]; /* "/dev/accel0", "/dev/vfio/0" */
    char type[32];                     /* "v5litepod-8" */
    int slice_chips;                   /* chips of the whole slice */
    int hosts, worker;                 /* hosts of the slice (1 when not told), this one's number */
    int host_bounds[3], slice_bounds[3]; /* chips a host, and of the slice: 2,4,1; 0: not told */
} fgi_tpu_scan;

/* Looks at the PCI bus, the device nodes and the environment. Opens no device; takes well under a
 * millisecond. host may be NULL. Thread-safe. */
void fgi_host_tpu_scan(const fgi_host *host, fgi_tpu_scan *out);
/* Whether there is a TPU to be driven: on the PCI bus, or as /dev/accel0. */
bool fgi_host_has_tpu(const fgi_host *host);
/* What fgi_host_tpu_scan looked at and saw, for the error of a machine without one: "PCI bus: 12
 * devices, no TPU; /dev/accelN, /dev/vfio/N: none; TPU_ACCELERATOR_TYPE: not set". */
void fgi_host_tpu_looked(const fgi_host *host, const fgi_tpu_scan *scan, char *out, size_t size);
/* "v5litepod-8" taken apart: the generation (static) and the chips of the slice; false for what is
 * no type of a TPU. */
bool fgi_host_tpu_type(const char *type, const char **out_generation, int *out_chips);

/* ---- who holds a device ---------------------------------------------------------------------- */

#define FGI_TPU_LOCK "/tmp/libtpu_lockfile"

/* A process other than this one that has a device. */
typedef struct fgi_device_holder {
    int pid;        /* 0: a process that cannot be seen from here (of another container) */
    char name[64];  /* its command line's beginning; "" where it cannot be read */
    char what[64];  /* what it holds: "/dev/accel0", "/tmp/libtpu_lockfile", "/dev/nvidia0" */
    int unreadable; /* processes whose open files we may not list */
    bool
        is_left_lock; /* nobody holds a device, and a lock file lies there that nobody has locked */
} fgi_device_holder;

/* Finds a process that holds the accelerator ("tpu", "cuda"): by the lock on libtpu's lock file,
 * and by open device nodes. True when there is one; *out is filled in either way. host may be NULL.
 * For CUDA a holder is no fault: a GPU can be shared. Reads /proc of all processes: some
 * milliseconds. Thread-safe. */
bool fgi_host_device_holder(const fgi_host *host, const char *accelerator, fgi_device_holder *out);
/* What to say of it, in one line: "process 812 (python train.py) holds /dev/accel0; end it: kill
 * 812". */
void fgi_host_holder_text(const fgi_device_holder *holder, char *out, size_t size);

/* Why libtpu gave no device, in whole: who holds the chips; or that there are none, and where they
 * were looked for; and libtpu's own words in the end, less its advice to remove a lock file. */
void fgi_host_tpu_explain(const fgi_host *host, const char *words, char *out, size_t size);

/* ---- before libtpu is loaded ----------------------------------------------------------------- */

typedef struct fgi_variable {
    const char *name, *value; /* static; value NULL: to be unset */
} fgi_variable;

enum { FGI_TPU_VARIABLES_MAX = 8 };

/* Variables that libtpu needs on this machine and that are not set: without a chip on the PCI bus
 * that it shall not ask the metadata server (it would, for ten minutes, while it is initialised),
 * and what it then complains of. compile_only adds what lets it be loaded beside another process's
 * libtpu, and keeps it from writing a log file a process: only right where no device is opened.
 * Returns how many. */
size_t fgi_host_tpu_variables(const fgi_host *host, bool compile_only,
                              fgi_variable out[FGI_TPU_VARIABLES_MAX]);
/* Sets them in this process. To be called before dlopen of libtpu, while no other thread reads the
 * environment. */
void fgi_host_tpu_prepare(bool compile_only);
/* Whether it was set by that, and so is nothing that the user or the place has told. */
bool fgi_host_is_prepared(const char *name);

#endif
