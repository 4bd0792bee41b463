/* mesh.h - device meshes with named axes, and how arrays are sharded over them.
 *
 * This folder needs neither a plugin nor a device: a mesh consists of numbers and names. A client
 * creates one for its devices (src/pjrt), and the emitter writes it into programs (src/trace).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_MESH_MESH_H
#define FGI_MESH_MESH_H

#include <fulgurite/dtype.h>
#include <fulgurite/mesh.h>
#include "base/text.h"

/* ---- selecting devices: device_list.c -------------------------------------------------------- */

enum { FGI_DEVICES_MAX = 1024 };

/* The devices that a user selected: all (zero), the first ones, or a list. */
typedef struct fgi_device_list {
    int first;
    int count;
    int index[FGI_DEVICES_MAX];
} fgi_device_list;

/* The only parser of `devices` options. text may be NULL: all. Errors: FG_EINVAL. */
fg_status fgi_device_list_parse(const char *text, fgi_device_list *out, fg_error *err);
/* The number of devices that must exist; 0: any number. */
int fgi_device_list_needed(const fgi_device_list *list);
/* The number of devices that it selects; 0: all. */
int fgi_device_list_size(const fgi_device_list *list);
/* Writes the selected devices in ascending order; returns their number, 0 for all. */
size_t fgi_device_list_ascending(const fgi_device_list *list, int64_t *out);
/* Renumbers them like a plugin that sees no other devices: the smallest becomes device 0. */
void fgi_device_list_renumber(fgi_device_list *list);
/* Keeps the selected ones of *count items of `size` bytes, in the order of the list. `platform` is
 * for messages. Errors: FG_ENOTFOUND. */
fg_status fgi_device_list_choose(const fgi_device_list *list, const char *platform, void *items,
                                 size_t size, int *count, fg_error *err);

/* Takes the word up to the next separator, without spaces around it, from *text, which is NULL
 * after the last one; false if there is none. */
bool fgi_next_word(const char **text, const char *end, char separator, fgi_str *out);

/* ---- meshes: mesh.c -------------------------------------------------------------------------- */

/* A set of a mesh's axes: bit i is axis i. */
typedef unsigned char fgi_axis_set;

/* A device of any process. */
typedef struct fgi_mesh_device {
    int64_t id;      /* global */
    int process;     /* that owns it */
    int local_index; /* index among this process's devices, in mesh order; -1: a device of another
                        process */
} fgi_mesh_device;

/* Sorts devices by (process, id), an order that every process computes by itself, and numbers those
 * of `process`; -1: all of them. */
void fgi_mesh_sort_devices(fgi_mesh_device *devices, int count, int process);

typedef struct fgi_mesh {
    int axis_count;
    fg_mesh_axis axes[FG_MAX_MESH_AXES];
    int stride[FG_MAX_MESH_AXES]; /* distance of neighboring devices along the axis */
    fgi_axis_set batch, fsdp;
    int batch_shards; /* product of the sizes of the batch axes */
    int device_count; /* product of all sizes */
    const fgi_mesh_device *devices;
} fgi_mesh;

/* Arranges `devices` in row-major order; they are borrowed for the mesh's lifetime. Errors, whose
 * messages contain the mesh: FG_EINVAL. */
fg_status fgi_mesh_init(fgi_mesh *mesh, const fg_mesh_options *options,
                        const fgi_mesh_device *devices, int device_count, fg_error *err);
/* The mesh index of this process's device `local_index`; -1: it has none. */
int fgi_mesh_device_number(const fgi_mesh *mesh, int local_index);
/* The axis with that name; -1: none. */
int fgi_mesh_find_axis(const fgi_mesh *mesh, fgi_str name);
/* "{data: 2, model: 4}"; -1: the size that the remaining devices give. Returns out. */
const char *fgi_mesh_format(const fgi_mesh *mesh, char *out, size_t size);
/* The product of the sizes of the axes: the number of shards if they shard a dimension. */
int fgi_mesh_shards(const fgi_mesh *mesh, fgi_axis_set axes);
/* Which of these shards a device has, in row-major order. */
int fgi_mesh_shard_of(const fgi_mesh *mesh, fgi_axis_set axes, int device);
int fgi_mesh_coordinate(const fgi_mesh *mesh, int axis, int device);

/* ---- shardings: sharding.c ------------------------------------------------------------------- */

/* The axes that shard each dimension of an array; all zero: replicated. An axis shards at most one
 * dimension; the axes of a dimension apply in mesh order. */
typedef struct fgi_sharding {
    fgi_axis_set axes[FG_MAX_RANK];
} fgi_sharding;

/* True if no dimension has an axis, of any size. NULL is replicated. */
bool fgi_sharding_is_replicated(const fgi_sharding *sharding);
bool fgi_sharding_equal(const fgi_sharding *a, const fgi_sharding *b);
/* Removes the axes from all dimensions: the sharding after a gather along them. */
fgi_sharding fgi_sharding_without(const fgi_sharding *sharding, fgi_axis_set axes);
/* The sharding of a batch: its first dimension along the mesh's batch axes. */
fgi_sharding fgi_sharding_of_batch(const fgi_mesh *mesh);
/* The sharding of a stack of such arrays, whose first dimension is not sharded. */
fgi_sharding fgi_sharding_stacked(const fgi_sharding *sharding);
/* Parses a partition spec; "" and NULL are replicated. *out_count (may be NULL): its number of
 * entries. Error: FG_EINVAL. */
fg_status fgi_sharding_parse(const fgi_mesh *mesh, const char *spec, fgi_sharding *out,
                             int *out_count, fg_error *err);
/* Errors: FG_EINVAL (more dimensions than the array, or an axis twice), FG_ESHAPE (a dimension
 * cannot be sharded evenly). */
fg_status fgi_sharding_check(const fgi_mesh *mesh, const fg_type *type,
                             const fgi_sharding *sharding, fg_error *err);

/* The shard of an array on a device, and its position in the whole array. */
typedef struct fgi_shard {
    fg_type type;                /* of the shard */
    int64_t offset;              /* offset of its first element, in bytes */
    int64_t stride[FG_MAX_RANK]; /* of the whole array, in bytes */
    bool is_dense;               /* the shard is contiguous in the whole array */
    bool is_first;               /* no device with a lower index has the same shard */
} fgi_shard;

fgi_shard fgi_sharding_shard(const fgi_mesh *mesh, const fg_type *type,
                             const fgi_sharding *sharding, int device);
/* Size of a shard in bytes; all devices have shards of this size. */
size_t fgi_sharding_bytes(const fgi_mesh *mesh, const fg_type *type, const fgi_sharding *sharding);
/* Copies the elements of a dense shard to their positions in the whole array. */
void fgi_shard_scatter(const fgi_shard *shard, const void *from, void *to_whole);

/* ---- rules ----------------------------------------------------------------------------------- */

/* The default sharding of a parameter: for parameters that no rule matches, and dimensions that a
 * rule does not shard. */
typedef struct fgi_strategy {
    const char *name;
    void (*extend)(const fgi_mesh *mesh, const fg_type *type,
                   fgi_sharding *sharding); /* NULL: shards nothing */
} fgi_strategy;

/* "ddp" (or NULL) and "fsdp". Errors: FG_EINVAL. */
fg_status fgi_strategy_find(const char *name, const fgi_strategy **out, fg_error *err);

/* The parameter that a rule is applied to. */
typedef struct fgi_parameter {
    const char *name;
    const fg_type *type;  /* in memory */
    const int *file_axis; /* dimension in memory of each dimension in checkpoints; NULL: the same */
} fgi_parameter;

/* Checks whether the rule is well-formed. Errors: FG_EINVAL. */
fg_status fgi_rule_check(const fgi_mesh *mesh, const fg_sharding_rule *rule, fg_error *err);
bool fgi_rule_matches(const fg_sharding_rule *rule, const char *name);

/* The sharding of a parameter: the first rule that matches its name, then the strategy. Axes of
 * size 1 are omitted. Errors: FG_EINVAL, FG_ESHAPE. */
fg_status fgi_rules_apply(const fgi_mesh *mesh, const fg_sharding_rule *rules, size_t count,
                          const fgi_strategy *strategy, const fgi_parameter *parameter,
                          fgi_sharding *out, fg_error *err);

#endif
