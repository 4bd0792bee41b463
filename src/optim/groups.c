/* groups.c - groups of parameters with separate options: by patterns of names, without weight
 * decay for biases and norms, and with learning rates that decay from layer to layer.
 *
 * A parameter's options are the optimizer's, replaced by those of every pattern that matches it, in
 * order. Parameters with the same rules share a group. The learning rate of a group is a multiple
 * of the optimizer's, so schedules, scaling and searches change all of them alike.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"
#include "optim/optimizer.h"
#include "option/option.h"

enum { MOST_PATTERNS = 64 };

/* ---- layers ---------------------------------------------------------------------------------- */

/* The size of the part of a name that names its layer: "h.3" of "h.3.attn.weight"; 0: none. */
static size_t layer_size(const char *name)
{
    for (const char *at = name; *at != '\0';) {
        const size_t size = strcspn(at, ".");
        if (size > 0 && strspn(at, "0123456789") == size)
            return (size_t)(at - name) + size;
        at += size + (at[size] == '.');
    }
    return 0;
}

/* The same if no name has a number: the module, "fc1" of "fc1.weight". */
static size_t module_size(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? (size_t)(dot - name) : strlen(name);
}

/* Numbers the layers of the parameters; returns the number of the last. What is before the first
 * numbered layer is layer 0, and what follows the last one is a layer too. */
static int number_layers(const fg_optimizer *o, int *out)
{
    size_t (*size_of)(const char *name) = module_size;
    const char *before = "";
    size_t before_size = 0, last = 0;
    int count = -1;
    for (size_t i = 0; i < o->parameter_count; i++)
        if (layer_size(fg_variable_name(o->parameters[i])) > 0)
            size_of = layer_size;
    for (size_t i = 0; i < o->parameter_count; i++) {
        const char *name = fg_variable_name(o->parameters[i]);
        const size_t size = size_of(name);
        count +=
            count < 0 || (size > 0 && (size != before_size || memcmp(name, before, size) != 0));
        out[i] = count;
        if (size == 0)
            continue;
        last = i;
        before = name;
        before_size = size;
    }
    if (last + 1 < o->parameter_count)
        count++;
    for (size_t i = last + 1; i < o->parameter_count; i++)
        out[i] = count;
    return count;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* The patterns that match a parameter, as bits. */
static uint64_t matches_of(const fg_string_map *patterns, const char *name)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < patterns->count; i++)
        bits |= (uint64_t)(fnmatch(patterns->at[i].key, name, 0) == 0) << i;
    return bits;
}

static fg_status matches_nothing(const fg_optimizer *o, const char *pattern, fg_error *err)
{
    char known[256];
    const char **names = fgi_calloc(o->parameter_count, sizeof *names);
    if (names == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < o->parameter_count; i++)
        names[i] = fg_variable_name(o->parameters[i]);
    const fg_status status =
        fgi_fail(err, FG_ENOTFOUND, "groups: '%s' matches no parameter%s", pattern,
                 fgi_suggest(pattern, names, o->parameter_count, known, sizeof known));
    fgi_free(names);
    return status;
}

static fg_status check_groups(const fg_optimizer *o, const fg_optimizer_groups *given,
                              fg_error *err)
{
    uint64_t all = 0;
    if (!(given->layer_decay > 0 && given->layer_decay <= 1))
        return fgi_fail(err, FG_EINVAL, "layer_decay: expected 0 < layer_decay <= 1, got %g",
                        given->layer_decay);
    if (given->groups.count > MOST_PATTERNS)
        return fgi_fail(err, FG_EINVAL, "groups: %zu patterns: expected at most %d",
                        given->groups.count, MOST_PATTERNS);
    for (size_t i = 0; i < o->parameter_count; i++)
        all |= matches_of(&given->groups, fg_variable_name(o->parameters[i]));
    for (size_t i = 0; i < given->groups.count; i++)
        if ((all >> i & 1) == 0)
            return matches_nothing(o, given->groups.at[i].key, err);
    return FG_OK;
}

/* The options of a group. */
static fg_status set_options(const fg_optimizer *o, const fg_optimizer_groups *given,
                             const fgi_group *g, fg_option_values *values, fg_error *err)
{
    if (g->is_vector && fg_option_find(values, "weight_decay") != NULL)
        FGI_TRY(fg_option_set(values, "weight_decay", "0", NULL, err));
    for (size_t i = 0; i < given->groups.count; i++)
        if ((g->rules >> i & 1) != 0)
            FGI_TRY_CTX(fg_option_set_all(values, given->groups.at[i].value, NULL, err), err,
                        "groups: '%s'", given->groups.at[i].key);
    return FG_OK;
}

static fg_status fill_group(const fg_optimizer *o, const fg_optimizer_groups *given, fgi_group *g,
                            fg_error *err)
{
    const fg_optimizer_entry *row = o->row;
    fg_option_values *values = NULL;
    FGI_TRY(fg_option_values_select(o->values, NULL, &row->entry, &values, err));
    fg_status status = set_options(o, given, g, values, err);
    if (status == FG_OK)
        status = fgi_row_create(&row->entry, values, &g->options, err);
    fg_option_values_destroy(values);
    FGI_TRY(status);
    fgi_row_keep_others(&row->entry, o->base.options, g->options);
    if (row->check != NULL)
        FGI_TRY_CTX(row->check(g->options, err), err, "groups");
    g->hyper = fgi_optimizer_hyper(row, g->options);
    if (o->base.hyper.lr == 0 && g->hyper.lr != 0)
        return fgi_fail(err, FG_EINVAL,
                        "groups: the learning rate of a group is a multiple of the optimizer's, "
                        "which is 0");
    const double factor = o->base.hyper.lr != 0 ? g->hyper.lr / o->base.hyper.lr : 1;
    g->lr_factor = factor * pow(given->layer_decay, g->layers_above);
    return FG_OK;
}

static bool has_same_rules(const fgi_group *a, const fgi_group *b)
{
    return a->rules == b->rules && a->is_vector == b->is_vector &&
           a->layers_above == b->layers_above;
}

/* The group with these rules, which is created if necessary. */
static fg_status find_group(fg_optimizer *o, const fg_optimizer_groups *given,
                            const fgi_group *wanted, size_t *out, fg_error *err)
{
    for (*out = 0; *out < o->group_count; ++*out)
        if (has_same_rules(&o->groups[*out], wanted))
            return FG_OK;
    o->groups[o->group_count] = *wanted;
    return fill_group(o, given, &o->groups[o->group_count++], err);
}

static fg_status sort_parameters(fg_optimizer *o, const fg_optimizer_groups *given, int *layer,
                                 fg_error *err)
{
    const int last = given->layer_decay < 1 ? number_layers(o, layer) : 0;
    for (size_t i = 0; i < o->parameter_count; i++) {
        const bool is_vector = fg_variable_type(o->parameters[i])->rank < 2;
        const fgi_group wanted = {
            .rules = matches_of(&given->groups, fg_variable_name(o->parameters[i])),
            .is_vector = is_vector && strcmp(given->no_decay, "none") != 0,
            .layers_above = last - layer[i]};
        FGI_TRY(find_group(o, given, &wanted, &o->group_of[i], err));
    }
    return FG_OK;
}

fg_status fg_optimizer_set_groups(fg_optimizer *optimizer, const fg_optimizer_groups *groups,
                                  fg_error *err)
{
    fg_optimizer *o = optimizer;
    fg_optimizer_groups given = *groups;
    FGI_TRY_RESERVED(fg_optimizer_groups, groups, err);
    if (o->part_count > 0)
        return fgi_fail(err, FG_EINVAL,
                        "groups: a joined optimizer has none: set those of its parts");
    given.layer_decay = given.layer_decay != 0 ? given.layer_decay : 1;
    given.no_decay = given.no_decay != NULL ? given.no_decay : "none";
    FGI_TRY(check_groups(o, &given, err));
    fgi_optimizer_free_groups(o);
    int *layer = fgi_calloc(o->parameter_count, sizeof *layer);
    o->groups = fgi_calloc(o->parameter_count, sizeof *o->groups);
    o->group_of = fgi_calloc(o->parameter_count, sizeof *o->group_of);
    fg_status status = layer != NULL && o->groups != NULL && o->group_of != NULL
                           ? sort_parameters(o, &given, layer, err)
                           : fgi_no_memory(err);
    fgi_free(layer);
    if (status == FG_OK)
        return fgi_optimizer_regroup(o, err);
    fgi_optimizer_free_groups(o);
    return status;
}

void fgi_optimizer_free_groups(fg_optimizer *o)
{
    for (size_t i = 0; i < o->group_count; i++)
        fgi_free(o->groups[i].options);
    fgi_free(o->groups);
    fgi_free(o->group_of);
    o->groups = NULL;
    o->group_of = NULL;
    o->group_count = 0;
}

/* ---- the line about them --------------------------------------------------------------------- */

static void put_count(const fg_optimizer *o, uint64_t bit, bool is_vector, fgi_buf *out)
{
    size_t count = 0;
    int64_t elements = 0;
    for (size_t i = 0; i < o->parameter_count && o->groups != NULL; i++) {
        const fgi_group *g = fgi_optimizer_group(o, i);
        if ((g->rules & bit) == 0 && !(is_vector && g->is_vector))
            continue;
        count++;
        elements += fg_type_count(fg_variable_type(o->parameters[i]));
    }
    fgi_buf_printf(out, "%zu parameter%s (%lld elements)", count, count == 1 ? "" : "s",
                   (long long)elements);
}

const char *fg_optimizer_describe_groups(const fg_optimizer *optimizer,
                                         const fg_optimizer_groups *groups, char *out, size_t size)
{
    const char *before = "";
    double least = 1;
    fgi_buf text = {0};
    for (size_t i = 0; i < groups->groups.count; i++) {
        const fg_string_pair *pair = &groups->groups.at[i];
        fgi_buf_printf(&text, "%s'%s' %s: ", before, pair->key, pair->value);
        put_count(optimizer, UINT64_C(1) << i, false, &text);
        before = "; ";
    }
    if (groups->no_decay != NULL && strcmp(groups->no_decay, "none") != 0) {
        fgi_buf_printf(&text, "%sno weight decay: ", before);
        put_count(optimizer, 0, true, &text);
        before = "; ";
    }
    for (size_t i = 0; i < optimizer->group_count; i++)
        least = fmin(least, pow(groups->layer_decay, optimizer->groups[i].layers_above));
    if (least < 1)
        fgi_buf_printf(&text, "%slayer_decay: learning rates from %.3g to 1 times optimizer.lr",
                       before, least);
    (void)fgi_snprintf(out, size, "%s", text.data != NULL ? text.data : "");
    fgi_buf_fini(&text);
    return out;
}
