/* join.c - several optimizers as one: each trains the parameters that match its patterns, and has
 * its own loss, options, moments, schedule and loss scale.
 *
 * The joined optimizer has no parameters. Functions that apply to it apply to its parts, which the
 * module owns too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"
#include "optim/optimizer.h"
#include "trace/trace.h"

const char *fgi_optimizer_title(const fg_optimizer *o)
{
    return o->name != NULL ? o->name : o->row->entry.name;
}

size_t fgi_optimizer_loss_count(const fg_optimizer *o)
{
    return o->part_count > 0 ? o->part_count : 1;
}

size_t fgi_optimizer_loss_of(const fg_optimizer *o, size_t index)
{
    size_t i = 0;
    while (i + 1 < o->part_count && index >= o->parts[i + 1]->first)
        i++;
    return i;
}

size_t fg_optimizer_part_count(const fg_optimizer *optimizer) { return optimizer->part_count; }

fg_optimizer *fg_optimizer_part_at(const fg_optimizer *optimizer, size_t index)
{
    return index < optimizer->part_count ? optimizer->parts[index] : NULL;
}

const char *fg_optimizer_part_name(const fg_optimizer *optimizer, size_t index)
{
    return index < optimizer->part_count ? optimizer->parts[index]->name : NULL;
}

/* ---- who trains what ------------------------------------------------------------------------- */

static bool matches(const fg_optimizer_part *part, const char *name)
{
    bool does = false;
    for (size_t i = 0; i < part->parameters.count; i++)
        does = does || fnmatch(part->parameters.at[i], name, 0) == 0;
    return does;
}

/* The part that trains a parameter: the one with a pattern that matches, else the one without
 * patterns. */
static fg_status find_part(const fg_optimizer_part *parts, size_t count, const char *parameter,
                           size_t *out, fg_error *err)
{
    size_t found = count, rest = count;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].parameters.count == 0)
            rest = i;
        if (!matches(&parts[i], parameter))
            continue;
        if (found < count)
            return fgi_fail(err, FG_EINVAL,
                            "join: '%s' and '%s' both train '%s': narrow the patterns of one of "
                            "them",
                            parts[found].name, parts[i].name, parameter);
        found = i;
    }
    *out = found < count ? found : rest;
    if (*out < count)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "join: no optimizer trains '%s': add a pattern that matches it, such as "
                    "'%.*s*', or leave the patterns of one optimizer empty: it trains the rest",
                    parameter, (int)(strcspn(parameter, ".") + (strchr(parameter, '.') != NULL)),
                    parameter);
}

static fg_status check_parameters(const fg_optimizer *o, const fg_optimizer_part *parts,
                                  size_t count, fg_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < o->parameter_count; i++)
        FGI_TRY(find_part(parts, count, fg_variable_name(o->parameters[i]), &at, err));
    return FG_OK;
}

/* A pattern without a parameter is a mistake. */
static fg_status check_patterns(const fg_optimizer *o, const fg_optimizer_part *part, fg_error *err)
{
    char known[256];
    for (size_t i = 0; i < part->parameters.count; i++) {
        const char *pattern = part->parameters.at[i];
        const char **names = fgi_calloc(o->parameter_count, sizeof *names);
        size_t hits = 0;
        if (names == NULL)
            return fgi_no_memory(err);
        for (size_t k = 0; k < o->parameter_count; k++) {
            names[k] = fg_variable_name(o->parameters[k]);
            hits += fnmatch(pattern, names[k], 0) == 0;
        }
        const char *advice = fgi_suggest(pattern, names, o->parameter_count, known, sizeof known);
        const fg_status status =
            hits > 0 ? FG_OK
                     : fgi_fail(err, FG_ENOTFOUND, "join: '%s' of '%s' matches no parameter%s",
                                pattern, part->name, advice);
        fgi_free(names);
        FGI_TRY(status);
    }
    return FG_OK;
}

static fg_status check_part(const fg_module *root, const fg_optimizer_part *parts, size_t i,
                            fg_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    enum { LONGEST = 32 };
    const fg_optimizer_part *part = &parts[i];
    const char *name = part->name != NULL ? part->name : "";
    FGI_TRY_RESERVED(fg_optimizer_part, part, err);
    if (name[0] == '\0' || strlen(name) > LONGEST || name[strspn(name, letters)] != '\0')
        return fgi_fail(err, FG_EINVAL, "join: '%s': a name has 1 to %d letters, digits and '_'",
                        name, LONGEST);
    for (size_t k = 0; k < i; k++) {
        if (strcmp(parts[k].name, name) == 0 || parts[k].optimizer == part->optimizer)
            return fgi_fail(err, FG_EINVAL, "join: '%s' and '%s' have the same name or optimizer",
                            parts[k].name, name);
        if (parts[k].parameters.count == 0 && part->parameters.count == 0)
            return fgi_fail(err, FG_EINVAL,
                            "join: '%s' and '%s' have no patterns: only one can train the rest",
                            parts[k].name, name);
    }
    if (part->optimizer == NULL || part->optimizer->root != root ||
        part->optimizer->whole != part->optimizer || part->optimizer->part_count > 0 ||
        part->optimizer->place.has_run)
        return fgi_fail(err, FG_EINVAL,
                        "join: '%s': expected a new optimizer of this root that is not joined yet",
                        name);
    if (part->every < 0)
        return fgi_fail(err, FG_EINVAL, "join: '%s': every is %lld: expected 1 or more", name,
                        (long long)part->every);
    return check_patterns(part->optimizer, part, err);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Drops parameter `from`, or moves it to `to`. */
static void move(fg_optimizer *o, size_t from, size_t to, bool stays)
{
    for (int m = 0; m < FGI_MOMENTS; m++) {
        if (o->moment[m] == NULL)
            continue;
        if (!stays)
            fg_variable_destroy(o->moment[m][from]);
        else
            o->moment[m][to] = o->moment[m][from];
    }
    if (stays) {
        o->parameters[to] = o->parameters[from];
        if (o->group_of != NULL)
            o->group_of[to] = o->group_of[from];
    }
}

/* Leaves a part only its parameters: each was found a part (check_parameters). */
static fg_status restrict_to(fg_optimizer *o, const fg_optimizer_part *parts, size_t count,
                             size_t own, fg_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->parameter_count; i++) {
        size_t at = 0;
        const fg_status found =
            find_part(parts, count, fg_variable_name(o->parameters[i]), &at, NULL);
        move(o, i, kept, found == FG_OK && at == own);
        kept += at == own;
    }
    for (int m = 0; m < FGI_MOMENTS; m++)
        for (size_t i = kept; o->moment[m] != NULL && i < o->parameter_count; i++)
            o->moment[m][i] = NULL;
    o->parameter_count = kept;
    return kept > 0 ? FG_OK
                    : fgi_fail(err, FG_EINVAL, "join: '%s' has no parameters left to train",
                               parts[own].name);
}

/* Its variables are named after the part. */
static fg_status rename_variables(fg_optimizer *o, fg_error *err)
{
    const size_t skip = strlen(o->prefix);
    (void)fgi_snprintf(o->prefix, sizeof o->prefix, "optimizer.%s.", o->name);
    for (size_t i = 0; i < fg_optimizer_variable_count(o); i++) {
        fg_variable *variable = fg_optimizer_variable_at(o, i);
        fgi_buf name = {0};
        fgi_buf_printf(&name, "%s%s", o->prefix, fg_variable_name(variable) + skip);
        fg_status status = fgi_buf_status(&name, err);
        if (status == FG_OK)
            status = fgi_variable_rename(variable, name.data, err);
        fgi_buf_fini(&name);
        FGI_TRY(status);
    }
    return FG_OK;
}

/* A copy of its schedule, owned by the module. */
static fg_status take_schedule(fg_optimizer *o, const fg_schedule *given, fg_error *err)
{
    void *options = NULL;
    if (given == NULL)
        return FG_OK;
    fg_schedule *own = fg_module_attach(o->root, fgi_calloc(1, sizeof *own), fgi_free);
    if (own == NULL)
        return fgi_no_memory(err);
    o->schedule = own;
    FGI_TRY_CTX(fgi_schedule_complete(given, own, &options, err), err, "join: '%s'", o->name);
    return options == NULL || fg_module_attach(o->root, options, fgi_free) != NULL
               ? FG_OK
               : fgi_no_memory(err);
}

static fg_status add_part(fg_optimizer *whole, const fg_optimizer_part *parts, size_t count,
                          size_t i, fg_error *err)
{
    fg_optimizer *o = parts[i].optimizer;
    o->name = fgi_strdup(parts[i].name);
    if (o->name == NULL)
        return fgi_no_memory(err);
    FGI_TRY(restrict_to(o, parts, count, i, err));
    FGI_TRY(rename_variables(o, err));
    FGI_TRY(take_schedule(o, parts[i].schedule, err));
    o->every = parts[i].every > 0 ? parts[i].every : 1;
    o->first = fg_optimizer_parameter_count(whole);
    o->whole = whole;
    whole->parts[whole->part_count++] = o;
    return FG_OK;
}

/* "generator: adam, discriminator: sgd" */
static char *describe(const fg_optimizer *whole)
{
    fgi_buf text = {0};
    for (size_t i = 0; i < whole->part_count; i++)
        fgi_buf_printf(&text, "%s%s: %s", i > 0 ? ", " : "", whole->parts[i]->name,
                       fg_optimizer_name(whole->parts[i]));
    return fgi_buf_take(&text);
}

/* What is read of the whole is that of the first part. */
static fg_status join(fg_optimizer *whole, fg_module *root, const fg_optimizer_part *parts,
                      size_t count, fg_error *err)
{
    if (count == 0 || count > FG_MOST_PARTS)
        return fgi_fail(err, FG_EINVAL, "join: %zu optimizers: expected 1 to %d", count,
                        FG_MOST_PARTS);
    for (size_t i = 0; i < count; i++)
        FGI_TRY(check_part(root, parts, i, err));
    for (size_t i = 0; i < count; i++)
        FGI_TRY(check_parameters(parts[i].optimizer, parts, count, err));
    whole->parts = fgi_calloc(count, sizeof(fg_optimizer *));
    if (whole->parts == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++)
        FGI_TRY(add_part(whole, parts, count, i, err));
    whole->root = root;
    whole->base.hyper = whole->parts[0]->base.hyper;
    whole->schedule = whole->parts[0]->schedule;
    whole->name = describe(whole);
    fgi_optimizer_refresh(whole);
    return whole->name != NULL ? FG_OK : fgi_no_memory(err);
}

fg_optimizer *fg_optimizer_join(fg_module *root, const fg_optimizer_part *parts, size_t count)
{
    fg_error error = {0};
    if (root == NULL || fg_module_error(root, NULL) != FG_OK)
        return NULL;
    fg_optimizer *whole = fgi_optimizer_new();
    const fg_status status =
        whole != NULL ? join(whole, root, parts, count, &error) : fgi_no_memory(&error);
    if (status == FG_OK)
        return fg_module_attach(root, whole, fgi_optimizer_destroy);
    fg_module_fail(root, &error);
    for (size_t i = 0; whole != NULL && i < whole->part_count; i++)
        whole->parts[i]->whole = whole->parts[i];
    fgi_optimizer_destroy(whole);
    return NULL;
}
