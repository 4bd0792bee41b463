/* mesh.c - the axes of a device mesh, their sizes, and the coordinates of its devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "mesh/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* ---- the devices of all processes ------------------------------------------------------------ */

static int by_process_and_id(const void *a, const void *b)
{
    const fgi_mesh_device *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

void fgi_mesh_sort_devices(fgi_mesh_device *devices, int count, int process)
{
    int local = 0;
    qsort(devices, (size_t)count, sizeof *devices, by_process_and_id);
    for (int i = 0; i < count; i++)
        devices[i].local_index = process == -1 || devices[i].process == process ? local++ : -1;
}

int fgi_mesh_device_number(const fgi_mesh *mesh, int local_index)
{
    if (local_index < mesh->device_count && mesh->devices[local_index].local_index == local_index)
        return local_index; /* of one process, or of the first one */
    for (int i = 0; i < mesh->device_count; i++)
        if (mesh->devices[i].local_index == local_index)
            return i;
    return -1;
}

/* ---- axes ------------------------------------------------------------------------------------ */

int fgi_mesh_find_axis(const fgi_mesh *mesh, fgi_str name)
{
    int axis = mesh->axis_count - 1;
    while (axis >= 0 && !fgi_str_equal(name, mesh->axes[axis].name))
        axis--;
    return axis;
}

static bool is_axis_name(fgi_str name)
{
    if (name.size == 0 || name.size >= FG_MAX_AXIS_NAME || fgi_str_equal(name, "none") ||
        !fgi_is_alnum(name.data[0]) || (name.data[0] >= '0' && name.data[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (!fgi_is_alnum(name.data[i]) && name.data[i] != '_')
            return false;
    return true;
}

/* The axes of the options, with 0 as the size of the axis that has the remaining devices. */
static fg_status take_axes(fgi_mesh *mesh, const fg_mesh_options *options, fg_error *err)
{
    static const fg_mesh_axis defaults[] = {{"data", 0}, {"model", 1}};
    const bool is_default = options->axes[0].name[0] == '\0';
    const fg_mesh_axis *axes = is_default ? defaults : options->axes;
    const int most = is_default ? 2 : FG_MAX_MESH_AXES;
    for (int i = 0; i < most && axes[i].name[0] != '\0'; i++) {
        const fgi_str name = {axes[i].name, strnlen(axes[i].name, FG_MAX_AXIS_NAME)};
        if (!is_axis_name(name))
            return fgi_fail(err, FG_EINVAL,
                            "mesh: '%.*s' is not an axis name: expected 1 to %d letters, digits "
                            "and _, starting with a letter, and not 'none'",
                            (int)name.size, name.data, FG_MAX_AXIS_NAME - 1);
        if (fgi_mesh_find_axis(mesh, name) >= 0)
            return fgi_fail(err, FG_EINVAL, "mesh: axis '%s' is given twice", axes[i].name);
        if (axes[i].size < -1)
            return fgi_fail(err, FG_EINVAL,
                            "mesh: axis '%s' has size %d: expected 1 or more, or -1 for the "
                            "remaining devices",
                            axes[i].name, axes[i].size);
        mesh->axes[mesh->axis_count] = axes[i];
        if (axes[i].size == -1)
            mesh->axes[mesh->axis_count].size = 0;
        mesh->axis_count++;
    }
    return FG_OK;
}

const char *fgi_mesh_format(const fgi_mesh *mesh, char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < mesh->axis_count && used < size; i++)
        used += (size_t)snprintf(
            out + used, size - used, "%s%s: %d%s", i > 0 ? ", " : "{", mesh->axes[i].name,
            mesh->axes[i].size > 0 ? mesh->axes[i].size : -1, i + 1 == mesh->axis_count ? "}" : "");
    return out;
}

static fg_status misfit(const fgi_mesh *mesh, int device_count, fg_error *err)
{
    char text[256];
    return fgi_fail(err, FG_EINVAL,
                    "mesh %s does not match %d device%s: expected sizes whose product is %d, or "
                    "one axis of size -1 for the remaining devices",
                    fgi_mesh_format(mesh, text, sizeof text), device_count, fgi_s(device_count),
                    device_count);
}

/* Computes the size of the axis that has the remaining devices. */
static fg_status settle_sizes(fgi_mesh *mesh, int device_count, fg_error *err)
{
    int open = -1;
    int64_t product = 1;
    for (int i = 0; i < mesh->axis_count; i++) {
        if (mesh->axes[i].size == 0 && open >= 0)
            return fgi_fail(
                err, FG_EINVAL,
                "mesh: axes '%s' and '%s' both have no size: expected at most one axis of size -1",
                mesh->axes[open].name, mesh->axes[i].name);
        if (mesh->axes[i].size == 0)
            open = i;
        else
            product *= mesh->axes[i].size;
        if (product > device_count)
            return misfit(mesh, device_count, err);
    }
    if (open < 0 ? product != device_count : device_count % product != 0)
        return misfit(mesh, device_count, err);
    if (open >= 0)
        mesh->axes[open].size = device_count / (int)product;
    return FG_OK;
}

/* Checks that the axes of a set exist. */
static fg_status check_axes(const fgi_mesh *mesh, const char *option, uint32_t axes, fg_error *err)
{
    char names[256];
    if (axes >> mesh->axis_count == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "%s 0x%x: the mesh %s has only %d ax%ss", option,
                    (unsigned)axes, fgi_mesh_format(mesh, names, sizeof names), mesh->axis_count,
                    mesh->axis_count == 1 ? "i" : "e");
}

static fgi_axis_set named(const fgi_mesh *mesh, const char *name)
{
    const int axis = fgi_mesh_find_axis(mesh, fgi_str_of(name));
    return (fgi_axis_set)(axis >= 0 ? 1u << axis : 0);
}

/* Determines the axes that shard batches, and those that shard parameters with strategy fsdp. */
static fg_status settle_roles(fgi_mesh *mesh, const fg_mesh_options *options, fg_error *err)
{
    char names[256];
    FGI_TRY(check_axes(mesh, "batch_axes", options->batch_axes, err));
    FGI_TRY(check_axes(mesh, "fsdp_axes", options->fsdp_axes, err));
    mesh->batch = (fgi_axis_set)options->batch_axes;
    if (mesh->batch == 0)
        mesh->batch = named(mesh, "data") | named(mesh, "fsdp");
    if (mesh->batch == 0)
        return fgi_fail(err, FG_EINVAL,
                        "mesh %s has no axis 'data' or 'fsdp' to shard batches over: name an axis "
                        "data (of size 1 for no sharding), or set fg_mesh_options.batch_axes",
                        fgi_mesh_format(mesh, names, sizeof names));
    mesh->fsdp = (fgi_axis_set)options->fsdp_axes;
    if (mesh->fsdp == 0)
        mesh->fsdp = named(mesh, "fsdp");
    if (mesh->fsdp == 0)
        mesh->fsdp = mesh->batch;
    mesh->batch_shards = fgi_mesh_shards(mesh, mesh->batch);
    return FG_OK;
}

fg_status fgi_mesh_init(fgi_mesh *mesh, const fg_mesh_options *options,
                        const fgi_mesh_device *devices, int device_count, fg_error *err)
{
    *mesh = (fgi_mesh){.device_count = device_count, .devices = devices};
    FGI_TRY(take_axes(mesh, options, err));
    FGI_TRY(settle_sizes(mesh, device_count, err));
    int stride = 1;
    for (int i = mesh->axis_count - 1; i >= 0; i--) {
        mesh->stride[i] = stride;
        stride *= mesh->axes[i].size;
    }
    return settle_roles(mesh, options, err);
}

int fgi_mesh_shards(const fgi_mesh *mesh, fgi_axis_set axes)
{
    int shards = 1;
    for (int i = 0; i < mesh->axis_count; i++)
        shards *= (axes >> i & 1) != 0 ? mesh->axes[i].size : 1;
    return shards;
}

int fgi_mesh_coordinate(const fgi_mesh *mesh, int axis, int device)
{
    return device / mesh->stride[axis] % mesh->axes[axis].size;
}

int fgi_mesh_shard_of(const fgi_mesh *mesh, fgi_axis_set axes, int device)
{
    int shard = 0;
    for (int i = 0; i < mesh->axis_count; i++)
        if ((axes >> i & 1) != 0)
            shard = shard * mesh->axes[i].size + fgi_mesh_coordinate(mesh, i, device);
    return shard;
}
