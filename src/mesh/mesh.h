/* mesh.h - devices arranged as an array with named axes, and how arrays are sharded over them.
 *
 * Needs neither a plugin nor a device: a mesh is numbers and names. A client makes one of its
 * devices (src/pjrt), the emitter writes it into programs (src/trace).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_MESH_MESH_H
#define FGI_MESH_MESH_H

#include <fulgurite/dtype.h>
#include <fulgurite/mesh.h>
#include "base/text.h"

/* ---- selecting devices: device_list.c -------------------------------------------------------- */

enum { FGI_DEVICES_MAX = 1024 };

/* Which devices a user selected: all (zero), the first so many, or a list. */
typedef struct fgi_device_list {
    int first;
    int count;
    int index[FGI_DEVICES_MAX];
} fgi_device_list;

/* The only parser of `devices` options. text may be NULL: all. Errors: FG_EINVAL. */
fg_status fgi_device_list_parse(const char *text, fgi_device_list *out, fg_error *err);
/* How many devices must exist; 0: any number. */
int fgi_device_list_needed(const fgi_device_list *list);
/* How many it selects; 0: all. */
int fgi_device_list_size(const fgi_device_list *list);
/* Writes the selected devices in ascending order; returns how many, 0 for all. */
size_t fgi_device_list_ascending(const fgi_device_list *list, int64_t *out);
/* Renumbers them as a plugin does that sees no others: the smallest becomes device 0. */
void fgi_device_list_renumber(fgi_device_list *list);
/* Keeps the selected ones of *count items of `size` bytes, in the order of the list. `platform` is
 * for messages. Errors: FG_ENOTFOUND. */
fg_status fgi_device_list_choose(const fgi_device_list *list, const char *platform, void *items,
                                 size_t size, int *count, fg_error *err);

/* ---- meshes: mesh.c -------------------------------------------------------------------------- */

/* A set of a mesh's axes: bit i is axis i. */
typedef unsigned char fgi_axis_set;

/* A device of any process. */
typedef struct fgi_mesh_device {
    int64_t id;      /* global */
    int process;     /* that owns it */
    int local_index; /* among this process's devices, in the order of the mesh; -1: another's */
} fgi_mesh_device;

/* Sorts devices by (process, id), the order that every process finds by itself, and numbers those
 * of `process`; -1: all of them. */
void fgi_mesh_sort_devices(fgi_mesh_device *devices, int count, int process);

typedef struct fgi_mesh {
    int axis_count;
    fg_mesh_axis axes[FG_MAX_MESH_AXES];
    int stride[FG_MAX_MESH_AXES]; /* from a device to its neighbour along the axis */
    fgi_axis_set batch, fsdp;
    int batch_shards; /* product of the sizes of the batch axes */
    int device_count; /* product of all sizes */
    const fgi_mesh_device *devices;
} fgi_mesh;

/* Lays `devices` out in their order, row by row; they are borrowed for the mesh's life. Errors,
 * which name the mesh: FG_EINVAL. */
fg_status fgi_mesh_init(fgi_mesh *mesh, const fg_mesh_options *options,
                        const fgi_mesh_device *devices, int device_count, fg_error *err);
/* The number in the mesh of this process's device `local_index`; -1: it has none. */
int fgi_mesh_device_number(const fgi_mesh *mesh, int local_index);
/* The axis of that name; -1: none. */
int fgi_mesh_find_axis(const fgi_mesh *mesh, fgi_str name);
/* "data=2,model=4". Returns out. */
const char *fgi_mesh_format(const fgi_mesh *mesh, char *out, size_t size);
/* The product of the sizes of some axes: the number of shards that they make of a dimension. */
int fgi_mesh_shards(const fgi_mesh *mesh, fgi_axis_set axes);
/* Which of these shards a device has, counted row by row. */
int fgi_mesh_shard_of(const fgi_mesh *mesh, fgi_axis_set axes, int device);
int fgi_mesh_coordinate(const fgi_mesh *mesh, int axis, int device);

/* ---- shardings: sharding.c ------------------------------------------------------------------- */

/* The axes that shard each dimension of an array; all zero: replicated. An axis shards at most one
 * dimension; the axes of a dimension count in the order of the mesh. */
typedef struct fgi_sharding {
    fgi_axis_set axes[FG_MAX_RANK];
} fgi_sharding;

/* True when no dimension is sharded, along an axis of whatever size. NULL is replicated. */
bool fgi_sharding_is_replicated(const fgi_sharding *sharding);
bool fgi_sharding_equal(const fgi_sharding *a, const fgi_sharding *b);
/* Removes the axes from all dimensions: what is left after a gather along them. */
fgi_sharding fgi_sharding_without(const fgi_sharding *sharding, fgi_axis_set axes);
/* The sharding of a batch: its first dimension over the mesh's batch axes. */
fgi_sharding fgi_sharding_of_batch(const fgi_mesh *mesh);
/* Reads a partition spec; "" and NULL are replicated. *out_count (may be NULL): how many words it
 * has. Error: FG_EINVAL. */
fg_status fgi_sharding_parse(const fgi_mesh *mesh, const char *spec, fgi_sharding *out,
                             int *out_count, fg_error *err);
/* Errors: FG_EINVAL (more dimensions than the array, an axis twice), FG_ESHAPE (a dimension that
 * cannot be sharded evenly). */
fg_status fgi_sharding_check(const fgi_mesh *mesh, const fg_type *type,
                             const fgi_sharding *sharding, fg_error *err);

/* The shard of an array that a device has, and where it is in the whole array. */
typedef struct fgi_shard {
    fg_type type;                /* of the shard */
    int64_t offset;              /* of its first element, in bytes */
    int64_t stride[FG_MAX_RANK]; /* of the whole array, in bytes */
    bool is_dense;               /* the shard is contiguous in the whole array */
    bool is_first;               /* no device of a lower number has the same shard */
} fgi_shard;

fgi_shard fgi_sharding_shard(const fgi_mesh *mesh, const fg_type *type,
                             const fgi_sharding *sharding, int device);
/* Bytes of a shard, the same on each device. */
size_t fgi_sharding_bytes(const fgi_mesh *mesh, const fg_type *type, const fgi_sharding *sharding);
/* Copies a shard's elements, dense, to their places in the whole array. */
void fgi_shard_scatter(const fgi_shard *shard, const void *from, void *to_whole);

/* ---- rules: sharding_rules.c
 * -------------------------------------------------------------------------- */

/* How a parameter is sharded that no rule matches, and the dimensions that a rule leaves. */
typedef struct fgi_strategy {
    const char *name;
    void (*extend)(const fgi_mesh *mesh, const fg_type *type, fgi_sharding *sharding);
} fgi_strategy;

/* "ddp" (NULL is the same) and "fsdp". Errors: FG_EINVAL. */
fg_status fgi_strategy_find(const char *name, const fgi_strategy **out, fg_error *err);

/* What a rule is applied to. */
typedef struct fgi_parameter {
    const char *name;
    const fg_type *type;  /* in memory */
    const int *file_axis; /* dimension in memory of each dimension in checkpoints; NULL: the same */
} fgi_parameter;

/* Whether the rule is well-formed. Errors: FG_EINVAL. */
fg_status fgi_rule_check(const fgi_mesh *mesh, const fg_sharding_rule *rule, fg_error *err);
bool fgi_rule_matches(const fg_sharding_rule *rule, const char *name);

/* The sharding of a parameter: the first rule that matches its name, then the strategy. Axes of
 * size 1 are left out. Errors: FG_EINVAL, FG_ESHAPE. */
fg_status fgi_rules_apply(const fgi_mesh *mesh, const fg_sharding_rule *rules, size_t count,
                          const fgi_strategy *strategy, const fgi_parameter *parameter,
                          fgi_sharding *out, fg_error *err);

#endif
