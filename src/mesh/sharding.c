/* sharding.c - how an array is sharded over a mesh: partition specs, the shard on each device, its
 * position in the whole array, and how a parameter is sharded: by rules for names, then by the
 * strategy.
 *
 * A dimension that is sharded along some axes has as many equal shards as the product of the axes'
 * sizes.
 *
 * A strategy is a rule for every parameter that follows from its shape and the mesh: "ddp" shards
 * nothing; "fsdp" shards the largest dimension that is divisible by the mesh's fsdp axes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/reserved.h"
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

fgi_sharding fgi_sharding_stacked(const fgi_sharding *sharding)
{
    fgi_sharding stacked = {{0}};
    memcpy(stacked.axes + 1, sharding->axes, sizeof sharding->axes - sizeof sharding->axes[0]);
    return stacked;
}

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

/* Smaller parameters (biases, norms) are not worth the communication. */
enum { FSDP_LEAST_ELEMENTS = 1024 };

/* ---- strategies ------------------------------------------------------------------------------ */

/* The largest divisible dimension that no rule shards; if several are equal, the first one in
 * memory. */
static void extend_fsdp(const fgi_mesh *mesh, const fg_type *type, fgi_sharding *sharding)
{
    const int shards = fgi_mesh_shards(mesh, mesh->fsdp);
    int best = -1;
    for (int i = 0; i < type->rank; i++) {
        if ((sharding->axes[i] & mesh->fsdp) != 0)
            return; /* already sharded by a rule */
        if (sharding->axes[i] == 0 && type->dim[i] % shards == 0 &&
            (best < 0 || type->dim[i] > type->dim[best]))
            best = i;
    }
    if (best >= 0 && fg_type_count(type) >= FSDP_LEAST_ELEMENTS)
        sharding->axes[best] = mesh->fsdp;
}

fg_status fgi_strategy_find(const char *name, const fgi_strategy **out, fg_error *err)
{
    static const fgi_strategy strategies[] = {{"ddp", NULL}, {"fsdp", extend_fsdp}};
    *out = NULL;
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++)
        if (strcmp(name != NULL ? name : "ddp", strategies[i].name) == 0)
            *out = &strategies[i];
    return *out != NULL
               ? FG_OK
               : fgi_fail(err, FG_EINVAL, "unknown strategy '%s': expected ddp or fsdp", name);
}

/* ---- rules ----------------------------------------------------------------------------------- */

bool fgi_rule_matches(const fg_sharding_rule *rule, const char *name)
{
    return fnmatch(rule->match, name, 0) == 0;
}

fg_status fgi_rule_check(const fgi_mesh *mesh, const fg_sharding_rule *rule, fg_error *err)
{
    fgi_sharding sharding;
    FGI_TRY_RESERVED(fg_sharding_rule, rule, err);
    if (rule->match == NULL || rule->match[0] == '\0')
        return fgi_fail(err, FG_EINVAL,
                        "a sharding rule has no pattern: expected a pattern for parameter names");
    FGI_TRY_CTX(fgi_sharding_parse(mesh, rule->spec, &sharding, NULL, err), err, "rule '%s'",
                rule->match);
    return FG_OK;
}

/* The rule's sharding, in memory order. */
static fg_status apply_rule(const fgi_mesh *mesh, const fg_sharding_rule *rule,
                            const fgi_parameter *parameter, fgi_sharding *out, fg_error *err)
{
    const fg_type *type = parameter->type;
    fgi_sharding sharding;
    int words = 0;
    FGI_TRY(fgi_sharding_parse(mesh, rule->spec, &sharding, &words, err));
    if (words > type->rank)
        return fgi_fail(err, FG_ESHAPE,
                        "rule '%s' shards %d dimensions; parameter '%s' has %d: use a pattern that "
                        "does not match it",
                        rule->match, words, parameter->name, type->rank);
    for (int i = 0; i < words; i++) {
        const int dim = parameter->file_axis != NULL ? parameter->file_axis[i] : i;
        const int shards = fgi_mesh_shards(mesh, sharding.axes[i]);
        if (type->dim[dim] % shards != 0)
            return fgi_fail(err, FG_ESHAPE,
                            "rule '%s' shards dimension %d of parameter '%s' over %d devices, but "
                            "its size %" PRId64 " is not divisible by that",
                            rule->match, i, parameter->name, shards, type->dim[dim]);
        out->axes[dim] = sharding.axes[i];
    }
    return FG_OK;
}

static fgi_axis_set axes_of_size_one(const fgi_mesh *mesh)
{
    unsigned axes = 0;
    for (int i = 0; i < mesh->axis_count; i++)
        axes |= mesh->axes[i].size == 1 ? 1u << i : 0;
    return (fgi_axis_set)axes;
}

fg_status fgi_rules_apply(const fgi_mesh *mesh, const fg_sharding_rule *rules, size_t count,
                          const fgi_strategy *strategy, const fgi_parameter *parameter,
                          fgi_sharding *out, fg_error *err)
{
    size_t rule = 0;
    *out = (fgi_sharding){{0}};
    while (rule < count && !fgi_rule_matches(&rules[rule], parameter->name))
        rule++;
    if (rule < count)
        FGI_TRY(apply_rule(mesh, &rules[rule], parameter, out, err));
    if (strategy->extend != NULL)
        strategy->extend(mesh, parameter->type, out);
    *out = fgi_sharding_without(out, axes_of_size_one(mesh));
    return FG_OK;
}
