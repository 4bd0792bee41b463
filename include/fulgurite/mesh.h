/* mesh.h - device meshes, and how arrays are sharded over them.
 *
 * A mesh arranges the devices of all processes as an array with named axes, as JAX's Mesh and
 * PyTorch's DeviceMesh do. A program is written for the global batch; sharding is a property of the
 * arrays and variables that it reads, and XLA inserts the collectives. Every sharding therefore
 * computes the same result, up to the order of sums.
 *
 * Devices are numbered row by row: on a mesh of data=2,model=4 device d has the coordinates
 * (d / 4, d % 4).
 *
 * A sharding is written as a partition spec with a word per dimension: "data,none" shards the first
 * dimension along the axis `data` and replicates the second, "data+fsdp" shards the first one over
 * two axes. An axis shards at most one dimension; dimensions without a word are not sharded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_MESH_H
#define FULGURITE_MESH_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FG_MAX_MESH_AXES = 6, FG_MAX_AXIS_NAME = 24 };

typedef struct fg_mesh_axis {
    char name[FG_MAX_AXIS_NAME]; /* letters, digits and _, with a letter first; not "none" */
    int size; /* devices along the axis; 0 or -1, for one axis of a mesh: all that remain */
} fg_mesh_axis;

/* All zero: the axes "data" (all devices) and "model" (of size 1). */
typedef struct fg_mesh_options {
    fg_mesh_axis axes[FG_MAX_MESH_AXES]; /* the slowest varying first; ends at an empty name. The
                                            product of the sizes is the number of devices */
    const char *batch_axes; /* axes that the first dimension of a batch is sharded over, separated
                               by commas                  ["data" and "fsdp", those that exist] */
    const char *fsdp_axes;  /* axes that strategy "fsdp" shards parameters over
                                                        ["fsdp" if it exists, else batch_axes] */
    uint64_t reserved[2];
} fg_mesh_options;

/* Reads "data=2,fsdp=2,model=-1" into out->axes and resets the other fields; "" is the default
 * mesh. Does not know the number of devices: fg_client_open checks that. Thread-safe. Errors:
 * FG_EINVAL. */
FG_API FG_MUST_USE fg_status fg_mesh_parse(const char *text, fg_mesh_options *out, fg_error *err);

/* The mesh of a client (fg_client_info). */
typedef struct fg_mesh_info {
    int axis_count;
    fg_mesh_axis axes[FG_MAX_MESH_AXES]; /* with their sizes */
    int batch_shards; /* shards of a batch: the product of the sizes of the batch axes */
} fg_mesh_info;

/* How the parameters with certain names are sharded. */
typedef struct fg_sharding_rule {
    const char *match; /* full names of parameters as in checkpoints ("fc1.weight"); * matches any
                          text, dots included, ? one character, [ab] one of these */
    const char *spec;  /* partition spec, "model,none", with the dimensions in the order of
                          checkpoints, which is PyTorch's ([out, in] for a linear layer's weight) */
} fg_sharding_rule;

/* Reads a device selection (fg_client_options.devices) and writes its canonical form to out: "-1"
 * for all devices, "4" for the first four, "[0, 2]" for a list. Thread-safe. Errors: FG_EINVAL
 * (not a device selection, a device named twice, or more than `size` bytes). */
FG_API FG_MUST_USE fg_status fg_devices_format(const char *text, char *out, size_t size,
                                               fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
