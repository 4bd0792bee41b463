/* topology.h - machines that programs can be compiled for without having them: their names, and
 * their descriptions for the plugins.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PJRT_TOPOLOGY_H
#define FGI_PJRT_TOPOLOGY_H

#include "base/error.h"

/* Properties of a GPU that XLA's compiler needs. */
typedef struct fgi_gpu {
    const char *name;  /* "h100" */
    const char *model; /* name reported by the driver */
    int capability;    /* major; the minor number is 0 */
    int cores;         /* streaming multiprocessors */
    int lanes_per_core;
    double clock_ghz;
    int64_t memory_bytes, memory_bytes_per_s, cache_bytes;
    int shared_bytes_per_core, shared_bytes_per_block;
} fgi_gpu;

typedef struct fgi_topology_name {
    const char *accelerator; /* "tpu" or "cuda" */
    const char *generation;  /* "v5e", "7x", "h100" */
    char plugin_name[48];    /* the plugin's name: "v5e:2x4", "1x1x8" */
    const char *chip_config; /* libtpu's chip_config_name, NULL: its default */
    int64_t host_bounds[3];  /* chips of one host, 0: the plugin's default */
    int64_t chip_count;      /* chips, or GPUs; a chip can have two devices */
    const fgi_gpu *gpu;      /* NULL: a TPU */
} fgi_topology_name;

/* Parses a name: "v5e:2x4", "v3-8", "v5litepod-8", "kaggle", "colab", "h100", "h100:8". Needs no
 * plugin. Errors: FG_EINVAL, with the supported names. */
fg_status fgi_topology_parse(const char *text, fgi_topology_name *out, fg_error *err);

#endif
