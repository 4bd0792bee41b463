/* mesh.h - device meshes, and how arrays are sharded over them.
 *
 * A mesh arranges the devices of all processes as an array with named axes, as JAX's Mesh and
 * PyTorch's DeviceMesh do. A program is written for the global batch; sharding is a property of the
 * arrays and variables that it reads, and XLA inserts the collectives. Every sharding therefore
 * computes the same result, up to the order of summation.
 *
 * Devices are numbered in row-major order: on the mesh {data: 2, model: 4}, device d has the
 * coordinates (d / 4, d % 4).
 *
 * A sharding is written as a partition spec with one entry per dimension: "data,none" shards the
 * first dimension along the axis `data` and does not shard the second; "data+fsdp" shards the first
 * dimension along two axes. An axis can shard at most one dimension. Dimensions without an entry
 * are not sharded.
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
    char name[FG_MAX_AXIS_NAME]; /* letters, digits and _, starting with a letter; not "none" */
    int size; /* devices along the axis; 0 or -1 on at most one axis: all remaining devices */
} fg_mesh_axis;

/* All zero: the axes "data" (all devices) and "model" (of size 1). */
typedef struct fg_mesh_options {
    fg_mesh_axis axes[FG_MAX_MESH_AXES]; /* slowest-varying axis first; an empty name ends the
                                            list. The product of the sizes must equal the number
                                            of devices */
    /* Sets of axes: bit i is axes[i]. Along batch_axes, the first dimension of a batch is sharded
     * [0: those of "data" and "fsdp" that exist]; along fsdp_axes, strategy "fsdp" shards
     * parameters ["fsdp" if it exists, else batch_axes]. */
    uint32_t batch_axes, fsdp_axes;
    uint64_t reserved[2];
} fg_mesh_options;

/* The mesh of a client (fg_client_info). */
typedef struct fg_mesh_info {
    int axis_count;
    fg_mesh_axis axes[FG_MAX_MESH_AXES]; /* with resolved sizes */
    int batch_shards; /* number of shards of a batch: the product of the batch axes' sizes */
} fg_mesh_info;

/* Sharding of the parameters whose names match a pattern. */
typedef struct fg_sharding_rule {
    const char *match;    /* glob pattern for full parameter names as in checkpoints ("fc1.weight"):
                           * matches any text, including dots; ? one character; [ab] a or b */
    const char *spec;     /* partition spec, "model,none", for the dimensions in checkpoint order,
                             which is PyTorch's ([out, in] for the weight of a linear layer) */
    uint64_t reserved[2]; /* set to 0 */
} fg_sharding_rule;

/* Parses a device selection (fg_client_options.devices) and writes its canonical form to out: "-1"
 * for all devices, "4" for the first four, "[0, 2]" for a list. Thread-safe. Errors: FG_EINVAL (not
 * a device selection, a duplicate device, or longer than `size` bytes). */
FG_API FG_MUST_USE fg_status fg_devices_format(const char *text, char *out, size_t size,
                                               fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
