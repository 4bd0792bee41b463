/* host.h - detects the environment (cloud or notebook), the TPU and the host's resources, and
 * diagnoses problems for training, with suggested fixes.
 *
 * Everything is read from files and environment variables, without loading a plugin. Nothing is
 * changed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_HOST_H
#define FULGURITE_HOST_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of inspecting a machine. Use it from one thread at a time. */
typedef struct fg_host fg_host;

typedef struct fg_host_options {
    const char *root;     /* folder to inspect instead of /: it contains sys, proc and dev;
                             environment variables are read from proc/self/environ and metadata
                             from computeMetadata/v1 in it                        [the machine] */
    const char *metadata; /* URL of the metadata server
                             ["http://" and $GCE_METADATA_HOST or metadata.google.internal] */
    bool no_network;      /* do not query the metadata server                           [false] */
    uint64_t reserved[4];
} fg_host_options;

/* Properties of a machine. Strings are borrowed from the fg_host. "" and 0 mean not known; for
 * bytes, -1 means not known. */
typedef struct fg_host_info {
    /* "kaggle" "colab" "tpu-vm" (Google Cloud, with a TPU) "gke" "gce" "other" */
    const char *place;
    /* TPU generation: "v2" "v3" "v4" "v5e" "v5p" "v6e" "7x"; "unknown"; "": no TPU */
    const char *tpu;
    const char
        *tpu_detected_by;       /* how it was detected: "PCI", "TPU_ACCELERATOR_TYPE", "metadata" */
    const char *tpu_type;       /* "v5litepod-8" */
    const char *tpu_topology;   /* chips of the slice along each axis: "2x4" */
    int tpu_chips, tpu_devices; /* chips and PJRT devices of this host */
    int tpu_slice_chips;        /* chips of the whole slice */
    int tpu_hosts, tpu_worker;  /* number of hosts of the slice; index of this one */
    double tpu_device_bytes;    /* HBM per device */
    const char *cpu_name;
    int cpus; /* CPUs available to this process, within its cgroup limits */
    int64_t memory_bytes, memory_free_bytes; /* RAM available to it, within its cgroup limits */
    int64_t shm_bytes;                       /* size of /dev/shm */
    int64_t temp_free_bytes;                 /* free space in /tmp */
    const char *hugepages;                   /* transparent hugepages: "always" "madvise" "never" */
    bool has_metadata;                       /* Google Cloud's metadata server responded */
} fg_host_info;

typedef enum fg_severity {
    FG_NOTE = 0,    /* information */
    FG_WARNING = 1, /* training works, but is slower or not configured as intended */
    FG_WRONG = 2    /* error: training on this machine's accelerator will fail or hang */
} fg_severity;

typedef struct fg_finding {
    fg_severity severity;
    const char *code;    /* stable identifier: "tpu-held" */
    const char *text;    /* one line, without a full stop */
    const char *command; /* suggested command or action, or "" */
} fg_finding;

/* A change to an environment variable that the findings recommend for training on this machine. */
typedef struct fg_host_variable {
    const char *name;
    const char *value; /* NULL: unset the variable */
} fg_host_variable;

/* Inspects the machine. Takes a few milliseconds, and up to two seconds if the metadata server is
 * queried (only on Google Cloud). options may be NULL. Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_host_open(const fg_host_options *options, fg_host **out,
                                          fg_error *err);
/* NULL is allowed. */
FG_API void fg_host_close(fg_host *host);

/* The machine's properties, findings and recommended variables. Borrowed for the host's lifetime;
 * NULL if index is out of range. */
FG_API const fg_host_info *fg_host_info_of(const fg_host *host);
FG_API size_t fg_host_finding_count(const fg_host *host);
FG_API const fg_finding *fg_host_finding_at(const fg_host *host, size_t index);
FG_API size_t fg_host_variable_count(const fg_host *host);
FG_API const fg_host_variable *fg_host_variable_at(const fg_host *host, size_t index);

/* ---- TPU usage of a running program ---------------------------------------------------------- */

/* Usage of one device, as libtpu reports it while a program runs on it. */
typedef struct fg_tpu_use {
    int64_t device;             /* device id of the runtime */
    int64_t memory_used_bytes;  /* HBM; -1: not reported */
    int64_t memory_total_bytes; /* HBM; -1: not reported */
    double duty_cycle;          /* fraction of the last seconds in which the chip was busy, 0 to 1;
                                   NaN: not reported */
    uint64_t reserved[4];       /* set to 0 */
} fg_tpu_use;

/* Queries the metrics server that libtpu opens in a training process on this machine. address is
 * "host:port"; NULL: localhost and the first port of TPU_RUNTIME_METRICS_PORTS, or 8431. Fills
 * out[0..capacity) in order of device and sets *out_count, which may exceed capacity. Waits at most
 * two seconds. Errors: FG_ENOTFOUND (libcurl is missing, or no device is reported), FG_EIO (no
 * server responds), FG_EFORMAT, FG_EDEVICE (the server returned an error), FG_ENOMEM. Thread-safe.
 */
FG_API FG_MUST_USE fg_status fg_tpu_use_read(const char *address, fg_tpu_use *out, size_t capacity,
                                             size_t *out_count, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
