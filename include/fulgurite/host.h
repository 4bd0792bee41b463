/* host.h - the machine and the place it is: which cloud or notebook, which TPU, what the host has,
 * what is wrong with it for training and what mends it.
 *
 * Everything is read from files and variables before any plugin is loaded; nothing is changed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_HOST_H
#define FULGURITE_HOST_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was found on a machine. One thread at a time. */
typedef struct fg_host fg_host;

typedef struct fg_host_options {
    const char *root;     /* a folder that stands for the machine: its /sys, /proc, /dev; variables
                             are then those of proc/self/environ in it, and of the metadata server
                             what lies under computeMetadata/v1 in it             [the machine] */
    const char *metadata; /* address of the metadata server          ["http://" and
                             $GCE_METADATA_HOST or metadata.google.internal] */
    bool no_network;      /* do not ask the metadata server                             [false] */
    uint64_t reserved[4];
} fg_host_options;

/* Facts. Strings are borrowed from the fg_host; "" or 0 is what nothing told, -1 bytes likewise. */
typedef struct fg_host_info {
    const char
        *place;      /* "kaggle" "colab" "tpu-vm" (Google Cloud, with a TPU) "gke" "gce" "other" */
    const char *tpu; /* generation: "v2" "v3" "v4" "v5e" "v5p" "v6e" "7x"; "unknown"; "" without */
    const char *tpu_detected_by; /* "PCI", "TPU_ACCELERATOR_TYPE", "metadata" */
    const char *tpu_type;        /* "v5litepod-8" */
    const char *tpu_topology;    /* chips of the slice along its axes: "2x4" */
    int tpu_chips, tpu_devices;  /* of this host; devices are what PJRT shows */
    int tpu_slice_chips;         /* of the whole slice */
    int tpu_hosts, tpu_worker;   /* hosts of the slice, this one's number */
    double tpu_device_bytes;     /* HBM of a device */
    const char *cpu_name;
    int cpus; /* that this process may use, limits of its cgroup included */
    int64_t memory_bytes, memory_free_bytes; /* likewise */
    int64_t shm_bytes;                       /* size of /dev/shm */
    int64_t temp_free_bytes;                 /* of /tmp */
    const char *hugepages;                   /* transparent ones: "always" "madvise" "never" */
    bool has_metadata;                       /* Google Cloud's metadata server answered */
} fg_host_info;

typedef enum fg_severity {
    FG_NOTE = 0,    /* good to know */
    FG_WARNING = 1, /* works, but slower or not as meant */
    FG_WRONG = 2    /* training on this machine's accelerator will fail or hang */
} fg_severity;

typedef struct fg_finding {
    fg_severity severity;
    const char *code;    /* a stable word: "tpu-held" */
    const char *text;    /* one line, no full stop */
    const char *command; /* what to type or to do, or "" */
} fg_finding;

/* A variable that findings want changed for a program that trains here. */
typedef struct fg_host_variable {
    const char *name;
    const char *value; /* NULL: to be unset */
} fg_host_variable;

/* Looks at the machine: some milliseconds, and up to two seconds where the metadata server is asked
 * (only on machines of Google Cloud). options may be NULL. Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_host_open(const fg_host_options *options, fg_host **out,
                                          fg_error *err);
/* NULL is allowed. */
FG_API void fg_host_close(fg_host *host);

/* Borrowed; they live as long as the host. NULL past the last. */
FG_API const fg_host_info *fg_host_get_info(const fg_host *host);
FG_API size_t fg_host_finding_count(const fg_host *host);
FG_API const fg_finding *fg_host_finding_at(const fg_host *host, size_t index);
FG_API size_t fg_host_variable_count(const fg_host *host);
FG_API const fg_host_variable *fg_host_variable_at(const fg_host *host, size_t index);

/* ---- a running program's TPU, from outside ----------------------------------------------------
 */

/* What libtpu counts of one device while a program runs on it. */
typedef struct fg_tpu_use {
    int64_t device;             /* the runtime's number of it */
    int64_t memory_used_bytes;  /* HBM, -1 where it is not told */
    int64_t memory_total_bytes; /* likewise */
    double duty_cycle; /* the share of the last seconds in which the chip was busy, 0 to 1; NaN */
    uint64_t reserved[4]; /* set to 0 */
} fg_tpu_use;

/* Asks the metrics server that libtpu opens in a training process of this machine. address is
 * "host:port", NULL for localhost and the first port of TPU_RUNTIME_METRICS_PORTS, or 8431. Fills
 * out[0..capacity) by ascending device and sets *out_count, which may exceed capacity. Waits two
 * seconds at most. Errors: FG_ENOTFOUND (no libcurl; no device is told of), FG_EIO (no server
 * answers), FG_EFORMAT, FG_EDEVICE (the server's own error), FG_ENOMEM. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_tpu_use_read(const char *address, fg_tpu_use *out, size_t capacity,
                                             size_t *out_count, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
