/* distribute.c - which parameter is split how: rules by name, then the strategy.
 *
 * A split is worked out for each parameter before the first one is set, so that a mistake leaves
 * the module as it was. What follows from a split is elsewhere: src/pjrt/split.c deals arrays out,
 * src/trace/leaf.c gathers parameters, src/optim lets its moments follow them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include <fulgurite/dist.h>
#include "base/buf.h"
#include "base/error.h"
#include "trace/trace.h"

/* Parameters of fewer elements are not worth the exchange (biases, norms). */
enum { FSDP_LEAST_ELEMENTS = 1024 };

typedef struct plan {
    const fg_module *root;
    const fg_distribute_options *options;
    int length[3]; /* of the mesh's axes, by FGI_SPLIT_ */
    bool is_fsdp;
} plan;

static fg_status check_strategy(const char *strategy, bool *out_is_fsdp, fg_error *err)
{
    *out_is_fsdp = strategy != NULL && strcmp(strategy, "fsdp") == 0;
    if (strategy == NULL || *out_is_fsdp || strcmp(strategy, "ddp") == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "strategy '%s': ddp or fsdp is wanted", strategy);
}

/* The next parameter at or after *index; NULL at the end. */
static fg_variable *next_parameter(const fg_module *root, size_t *index)
{
    fg_variable *variable = fg_module_variable_at(root, *index);
    while (variable != NULL && fg_variable_get_kind(variable) != FG_PARAMETER)
        variable = fg_module_variable_at(root, ++*index);
    ++*index;
    return variable;
}

static bool matches(const fg_split_rule *rule, const fg_variable *parameter)
{
    return fnmatch(rule->match, fg_variable_name(parameter), 0) == 0;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static fg_status matches_nothing(const fg_module *root, const fg_split_rule *rule, fg_error *err)
{
    fgi_buf names = {0};
    size_t index = 0;
    const fg_variable *parameter = next_parameter(root, &index);
    for (int n = 0; parameter != NULL && n < 8; n++, parameter = next_parameter(root, &index))
        fgi_buf_printf(&names, "%s'%s'", n == 0 ? "" : ", ", fg_variable_name(parameter));
    const fg_status status = fgi_fail(
        err, FG_ENOTFOUND, "rule '%s' matches the name of no parameter; there are %s%s",
        rule->match, names.data != NULL ? names.data : "none", parameter != NULL ? ", ..." : "");
    fgi_buf_fini(&names);
    return status;
}

static fg_status check_rule(const fg_module *root, const fg_split_rule *rule, fg_error *err)
{
    fgi_split split;
    size_t index = 0;
    if (rule->match == NULL || rule->match[0] == '\0')
        return fgi_fail(err, FG_EINVAL, "a rule without a pattern of names");
    FGI_TRY_CTX(fgi_split_parse(rule->split, &split, NULL, err), err, "rule '%s'", rule->match);
    const fg_variable *parameter = next_parameter(root, &index);
    while (parameter != NULL && !matches(rule, parameter))
        parameter = next_parameter(root, &index);
    return parameter != NULL ? FG_OK : matches_nothing(root, rule, err);
}

/* The rule's split turned into the order in memory. */
static fg_status apply_rule(const plan *p, const fg_split_rule *rule, const fg_variable *parameter,
                            fgi_split *out, fg_error *err)
{
    static const char *const axis_name[] = {"", "data", "model"};
    const fg_type *type = fg_variable_type(parameter);
    const int *file_axis = fg_variable_file_axis(parameter);
    fgi_split split;
    int words = 0;
    FGI_TRY(fgi_split_parse(rule->split, &split, &words, err));
    if (words > type->rank)
        return fgi_fail(err, FG_ESHAPE,
                        "rule '%s' splits %d dimensions; parameter '%s' has %d: use a pattern that "
                        "does not match it",
                        rule->match, words, fg_variable_name(parameter), type->rank);
    for (int i = 0; i < words; i++) {
        const int dim = file_axis != NULL ? file_axis[i] : i;
        const int parts = p->length[split.axis[i]];
        if (type->dim[dim] % parts != 0)
            return fgi_fail(err, FG_ESHAPE,
                            "rule '%s': dimension %d of parameter '%s' is %" PRId64
                            ", which the %d devices of the %s axis do not divide",
                            rule->match, i, fg_variable_name(parameter), type->dim[dim], parts,
                            axis_name[split.axis[i]]);
        out->axis[dim] = split.axis[i];
    }
    return FG_OK;
}

/* ---- strategy -------------------------------------------------------------------------------- */

/* Splits the largest dimension that can be, along the data axis. */
static void add_fsdp(const plan *p, const fg_type *type, fgi_split *out)
{
    int best = -1;
    for (int i = 0; i < type->rank; i++) {
        if (out->axis[i] == FGI_SPLIT_DATA)
            return; /* a rule has done it */
        if (out->axis[i] == FGI_SPLIT_NONE && type->dim[i] % p->length[FGI_SPLIT_DATA] == 0 &&
            (best < 0 || type->dim[i] > type->dim[best]))
            best = i;
    }
    if (best >= 0 && fg_type_count(type) >= FSDP_LEAST_ELEMENTS)
        out->axis[best] = FGI_SPLIT_DATA;
}

/* How the parameter is split, in the order in memory. */
static fg_status split_of(const plan *p, const fg_variable *parameter, fgi_split *out,
                          fg_error *err)
{
    const fg_distribute_options *o = p->options;
    size_t rule = 0;
    *out = (fgi_split){{0}};
    while (rule < o->rule_count && !matches(&o->rules[rule], parameter))
        rule++;
    if (rule < o->rule_count)
        FGI_TRY(apply_rule(p, &o->rules[rule], parameter, out, err));
    if (p->is_fsdp)
        add_fsdp(p, fg_variable_type(parameter), out);
    for (int i = 0; i < FG_MAX_RANK; i++) /* an axis of one device splits nothing */
        if (p->length[out->axis[i]] == 1)
            out->axis[i] = FGI_SPLIT_NONE;
    return FG_OK;
}

fg_status fg_module_distribute(fg_module *root, fg_client *client,
                               const fg_distribute_options *options, fg_error *err)
{
    static const fg_distribute_options defaults;
    plan p = {.root = root, .options = options != NULL ? options : &defaults};
    p.length[FGI_SPLIT_NONE] = 1;
    p.length[FGI_SPLIT_DATA] = fgi_client_mesh_data(client);
    p.length[FGI_SPLIT_MODEL] = fgi_client_mesh_model(client);
    FGI_TRY(fg_module_error(root, err));
    FGI_TRY(check_strategy(p.options->strategy, &p.is_fsdp, err));
    for (size_t i = 0; i < p.options->rule_count; i++)
        FGI_TRY(check_rule(root, &p.options->rules[i], err));
    for (int pass = 0; pass < 2; pass++) { /* all are checked before the first is set */
        size_t index = 0;
        fg_variable *parameter = next_parameter(root, &index);
        for (; parameter != NULL; parameter = next_parameter(root, &index)) {
            fgi_split split;
            FGI_TRY(split_of(&p, parameter, &split, err));
            if (pass == 1)
                fgi_variable_set_split(parameter, &split);
        }
    }
    return FG_OK;
}
