/* sharding_rules.c - how a parameter is sharded: by rules for names, then by the strategy.
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
