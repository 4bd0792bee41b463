/* sharding.c - how an array is sharded over a mesh: partition specs, the shard on each device, and
 * its position in the whole array.
 *
 * A dimension that is sharded along some axes has as many equal shards as the product of the axes'
 * sizes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "mesh/mesh.h"

/* ---- partition specs ------------------------------------------------------------------------- */

/* Parses "data+fsdp", the axes of one dimension. `used` are those of the previous dimensions. */
static fg_status parse_word(const fgi_mesh *mesh, const char *spec, fgi_str word, unsigned used,
                            fgi_axis_set *out, fg_error *err)
{
    char text[256];
    unsigned axes = 0;
    fgi_str name;
    const char *rest = fgi_str_equal(word, "none") ? NULL : word.data;
    while (fgi_next_word(&rest, word.data + word.size, '+', &name)) {
        const int axis = fgi_mesh_find_axis(mesh, name);
        if (axis < 0)
            return fgi_fail(err, FG_EINVAL,
                            "partition spec \"%s\": '%.*s' is not an axis of the mesh %s: expected "
                            "one of its axes, or none, for each dimension",
                            spec, (int)name.size, name.data,
                            fgi_mesh_format(mesh, text, sizeof text));
        if (((used | axes) & 1u << axis) != 0)
            return fgi_fail(err, FG_EINVAL,
                            "partition spec \"%s\": axis '%s' is given twice: an axis can shard "
                            "only one dimension",
                            spec, mesh->axes[axis].name);
        if (axes >> axis != 0)
            return fgi_fail(err, FG_EINVAL,
                            "partition spec \"%s\": the axes '%.*s' of a dimension must be in the "
                            "order of the mesh %s",
                            spec, (int)word.size, word.data,
                            fgi_mesh_format(mesh, text, sizeof text));
        axes |= 1u << axis;
    }
    *out = (fgi_axis_set)axes;
    return FG_OK;
}

fg_status fgi_sharding_parse(const fgi_mesh *mesh, const char *spec, fgi_sharding *out,
                             int *out_count, fg_error *err)
{
    const char *rest = spec != NULL && spec[0] != '\0' ? spec : NULL;
    const char *end = rest != NULL ? rest + strlen(rest) : NULL;
    unsigned used = 0;
    int count = 0;
    fgi_str word;
    *out = (fgi_sharding){{0}};
    while (fgi_next_word(&rest, end, ',', &word)) {
        if (count == FG_MAX_RANK)
            return fgi_fail(err, FG_EINVAL, "partition spec \"%s\" has more than %d dimensions",
                            spec, FG_MAX_RANK);
        FGI_TRY(parse_word(mesh, spec, word, used, &out->axes[count], err));
        used |= out->axes[count++];
    }
    if (out_count != NULL)
        *out_count = count;
    return FG_OK;
}

/* ---- shardings ------------------------------------------------------------------------------- */

bool fgi_sharding_equal(const fgi_sharding *a, const fgi_sharding *b)
{
    return memcmp(a->axes, b->axes, sizeof a->axes) == 0;
}

bool fgi_sharding_is_replicated(const fgi_sharding *sharding)
{
    for (int i = 0; sharding != NULL && i < FG_MAX_RANK; i++)
        if (sharding->axes[i] != 0)
            return false;
    return true;
}

fgi_sharding fgi_sharding_without(const fgi_sharding *sharding, fgi_axis_set axes)
{
    fgi_sharding out = *sharding;
    for (int i = 0; i < FG_MAX_RANK; i++)
        out.axes[i] = (fgi_axis_set)(out.axes[i] & ~axes);
    return out;
}

fgi_sharding fgi_sharding_of_batch(const fgi_mesh *mesh) { return (fgi_sharding){{mesh->batch}}; }

fg_status fgi_sharding_check(const fgi_mesh *mesh, const fg_type *type,
                             const fgi_sharding *sharding, fg_error *err)
{
    char text[96];
    unsigned used = 0;
    for (int i = 0; sharding != NULL && i < FG_MAX_RANK; i++) {
        const fgi_axis_set axes = sharding->axes[i];
        const int shards = fgi_mesh_shards(mesh, axes);
        if (axes == 0)
            continue;
        if (i >= type->rank)
            return fgi_fail(err, FG_EINVAL,
                            "cannot shard dimension %d of array %s: the array has %d dimensions", i,
                            fg_type_format(type, text, sizeof text), type->rank);
        if (axes >> mesh->axis_count != 0 || (used & axes) != 0)
            return fgi_fail(
                err, FG_EINVAL,
                "cannot shard array %s this way: a mesh axis can shard only one dimension",
                fg_type_format(type, text, sizeof text));
        used |= axes;
        if (type->dim[i] % shards != 0)
            return fgi_fail(err, FG_ESHAPE,
                            "cannot shard dimension %d of array %s evenly over %d devices", i,
                            fg_type_format(type, text, sizeof text), shards);
    }
    return FG_OK;
}

/* ---- shards ---------------------------------------------------------------------------------- */

fgi_shard fgi_sharding_shard(const fgi_mesh *mesh, const fg_type *type,
                             const fgi_sharding *sharding, int device)
{
    fgi_shard shard = {.type = *type, .is_dense = true, .is_first = true};
    int64_t stride = (int64_t)fg_dtype_size(type->dtype);
    bool inner_is_cut = false;
    unsigned used = 0;
    for (int i = type->rank - 1; i >= 0; i--) {
        const fgi_axis_set axes = sharding != NULL ? sharding->axes[i] : 0;
        const int shards = fgi_mesh_shards(mesh, axes);
        const int64_t size = type->dim[i] / shards;
        used |= axes;
        shard.type.dim[i] = size;
        shard.stride[i] = stride;
        shard.offset += fgi_mesh_shard_of(mesh, axes, device) * size * stride;
        /* rows of the shard are not adjacent if a later dimension is sharded */
        shard.is_dense &= !inner_is_cut || size <= 1;
        inner_is_cut |= shards > 1;
        stride *= type->dim[i];
    }
    /* along an axis that does not shard the array, devices have copies: the first one is used */
    shard.is_first = fgi_mesh_shard_of(mesh, (fgi_axis_set)~used, device) == 0;
    return shard;
}

size_t fgi_sharding_bytes(const fgi_mesh *mesh, const fg_type *type, const fgi_sharding *sharding)
{
    const fgi_shard shard = fgi_sharding_shard(mesh, type, sharding, 0);
    return fg_type_bytes(&shard.type);
}

void fgi_shard_scatter(const fgi_shard *shard, const void *from, void *to_whole)
{
    const int rank = shard->type.rank;
    const size_t row = rank > 0
                           ? (size_t)shard->type.dim[rank - 1] * fg_dtype_size(shard->type.dtype)
                           : fg_dtype_size(shard->type.dtype);
    const int64_t rows = rank > 0 && shard->type.dim[rank - 1] > 0
                             ? fg_type_count(&shard->type) / shard->type.dim[rank - 1]
                             : rank == 0;
    int64_t index[FG_MAX_RANK] = {0};
    const char *source = from;
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = shard->offset;
        for (int i = 0; i < rank - 1; i++)
            at += index[i] * shard->stride[i];
        memcpy((char *)to_whole + at, source, row);
        source += row;
        for (int i = rank - 2; i >= 0; i--) {
            if (++index[i] < shard->type.dim[i])
                break;
            index[i] = 0;
        }
    }
}
