/* distribute.c - shards the parameters of a module over a client's mesh, by rules and a strategy
 * (src/mesh/sharding.c).
 *
 * All shardings are computed before the first one is set, so that an error leaves the module
 * unchanged. Shardings are used elsewhere: src/pjrt/array.c uploads shards, src/trace/leaf.c
 * gathers parameters, src/optim shards moments like their parameters.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/dist.h>
#include "base/buf.h"
#include "base/error.h"
#include "base/reserved.h"
#include "trace/trace.h"

/* The next parameter at or after *index; NULL at the end. */
static fg_variable *next_parameter(const fg_module *root, size_t *index)
{
    fg_variable *variable = fg_module_variable_at(root, *index);
    while (variable != NULL && fg_variable_kind_of(variable) != FG_PARAMETER)
        variable = fg_module_variable_at(root, ++*index);
    ++*index;
    return variable;
}

static fg_status matches_nothing(const fg_module *root, const fg_sharding_rule *rule, fg_error *err)
{
    fgi_buf names = {0};
    size_t index = 0;
    const fg_variable *parameter = next_parameter(root, &index);
    for (int n = 0; parameter != NULL && n < 8; n++, parameter = next_parameter(root, &index))
        fgi_buf_printf(&names, "%s'%s'", n == 0 ? "" : ", ", fg_variable_name(parameter));
    const fg_status status = fgi_fail(
        err, FG_ENOTFOUND, "rule '%s' matches no parameter's name; the names are %s%s", rule->match,
        names.data != NULL ? names.data : "none", parameter != NULL ? ", ..." : "");
    fgi_buf_fini(&names);
    return status;
}

static fg_status check_rule(const fg_module *root, const fgi_mesh *mesh,
                            const fg_sharding_rule *rule, fg_error *err)
{
    size_t index = 0;
    FGI_TRY(fgi_rule_check(mesh, rule, err));
    const fg_variable *parameter = next_parameter(root, &index);
    while (parameter != NULL && !fgi_rule_matches(rule, fg_variable_name(parameter)))
        parameter = next_parameter(root, &index);
    return parameter != NULL ? FG_OK : matches_nothing(root, rule, err);
}

fg_status fg_module_distribute(fg_module *root, fg_client *client,
                               const fg_distribute_options *options, fg_error *err)
{
    static const fg_distribute_options defaults;
    const fg_distribute_options *o = options != NULL ? options : &defaults;
    FGI_TRY_RESERVED(fg_distribute_options, options, err);
    const fgi_mesh *mesh = fgi_client_mesh(client);
    const fgi_strategy *strategy;
    FGI_TRY(fg_module_error(root, err));
    FGI_TRY(fgi_strategy_find(o->strategy, &strategy, err));
    for (size_t i = 0; i < o->rule_count; i++)
        FGI_TRY(check_rule(root, mesh, &o->rules[i], err));
    for (int pass = 0; pass < 2; pass++) { /* check all rules before setting any sharding */
        size_t index = 0;
        fg_variable *variable = next_parameter(root, &index);
        for (; variable != NULL; variable = next_parameter(root, &index)) {
            fgi_sharding sharding;
            const fgi_parameter parameter = {fg_variable_name(variable), fg_variable_type(variable),
                                             fg_variable_file_axis(variable)};
            FGI_TRY(fgi_rules_apply(mesh, o->rules, o->rule_count, strategy, &parameter, &sharding,
                                    err));
            if (pass == 1)
                fgi_variable_set_sharding(variable, &sharding);
        }
    }
    return FG_OK;
}
