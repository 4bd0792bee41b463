/* plan_each.c - plans for several machines, one process after the other, as one JSON object.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/plan.h>
#include <string.h>

#include "recipe/run.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "input/json_file.h"

enum { MACHINES_MAX = 64 };

/* A machine that the caller named. */
typedef struct machine {
    const char *name;
    char described[sizeof(((fg_topology_info *)0)->machine)];
    int same_as; /* an earlier name of it; -1: none */
} machine;

typedef struct plans {
    fg_recipe_options recipe; /* topology: that of the machine being planned */
    const fg_plan_process *process;
    const fg_plan_events *events;
    char *names;      /* the machines' names point into it */
    char *input_rate; /* of the loader, from the first plan that measured it; NULL: none yet */
    machine machines[MACHINES_MAX];
    int count;
    json_t *found; /* array of the plans, in the order of the machines */
} plans;

/* ---- names ----------------------------------------------------------------------------------- */

static fg_status add_machine(plans *p, const char *name, fg_error *err)
{
    fg_topology_info info;
    if (*name == '\0' || p->count == MACHINES_MAX)
        return fgi_fail(err, FG_EINVAL, "expected 1 to %d names separated by commas", MACHINES_MAX);
    FGI_TRY(fg_topology_describe(name, &info, err));
    machine *m = &p->machines[p->count];
    *m = (machine){.name = name, .same_as = -1};
    memcpy(m->described, info.machine, sizeof(m->described));
    for (int i = 0; i < p->count && m->same_as < 0; i++)
        if (strcmp(p->machines[i].described, m->described) == 0)
            m->same_as = i;
    p->count++;
    return FG_OK;
}

static fg_status read_names(plans *p, const char *topologies, fg_error *err)
{
    p->names = fgi_strdup(topologies != NULL ? topologies : "");
    if (p->names == NULL)
        return fgi_no_memory(err);
    for (char *at = p->names; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL)
            *comma = '\0';
        FGI_TRY(add_machine(p, at, err));
        at = comma != NULL ? comma + 1 : NULL;
    }
    return FG_OK;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Appends a plan, which is released here, under the name of a machine. */
static fg_status append(plans *p, json_t *plan, const char *name, fg_error *err)
{
    const bool is_good = plan != NULL &&
                         json_object_set_new(plan, "name", json_string(name)) == 0 &&
                         json_array_append(p->found, plan) == 0;
    json_decref(plan);
    return is_good ? FG_OK : fgi_no_memory(err);
}

/* The plan of the same machine under its first name. */
static fg_status append_copy(plans *p, const machine *m, fg_error *err)
{
    json_t *plan = json_deep_copy(json_array_get(p->found, (size_t)m->same_as));
    if (plan != NULL)
        (void)json_object_set_new(plan, "same_as", json_string(p->machines[m->same_as].name));
    return append(p, plan, m->name, err);
}

/* A failure that does not depend on the machine, such as an error in the data, is the result for
 * all machines. */
static fg_status fail_all(plans *p, const json_t *plan, fg_error *err)
{
    (void)json_array_clear(p->found);
    for (int i = 0; i < p->count; i++)
        FGI_TRY(append(p, json_deep_copy(plan), p->machines[i].name, err));
    if (p->events->failed != NULL)
        p->events->failed(p->events->self, json_string_value(json_object_get(plan, "error")));
    return FG_OK;
}

/* What the process of a machine found; *out is held by the caller. */
static fg_status plan_one(plans *p, const machine *m, json_t **out, bool *out_is_common,
                          fg_error *err)
{
    char *text = NULL;
    p->recipe.topology = m->name;
    FGI_TRY(fg_recipe_plan_process(&p->recipe, p->process, &text, err));
    json_t *root = fgi_json_load(text, strlen(text), 0, NULL);
    *out = json_incref(json_array_get(json_object_get(root, "topologies"), 0));
    *out_is_common = json_is_true(json_object_get(root, "every_machine"));
    json_decref(root);
    fgi_free(text);
    if (p->recipe.input_rate == NULL)
        p->recipe.input_rate = p->input_rate = fgi_plan_input_text(*out);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status report(const plans *p, fg_error *err)
{
    fgi_buf text = {0};
    const json_t *last = json_array_get(p->found, json_array_size(p->found) - 1);
    if (p->events->planned == NULL)
        return FG_OK;
    char *plan = fgi_json_write(last, 0, &text) ? fgi_buf_take(&text) : NULL;
    if (plan != NULL)
        p->events->planned(p->events->self, plan);
    fgi_buf_fini(&text);
    fgi_free(plan);
    return plan != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status plan_machine(plans *p, const machine *m, bool *out_is_common, fg_error *err)
{
    json_t *plan = NULL;
    *out_is_common = false;
    if (m->same_as >= 0) {
        FGI_TRY(append_copy(p, m, err));
        return report(p, err);
    }
    if (p->events->begin != NULL)
        p->events->begin(p->events->self, m->name);
    FGI_TRY(plan_one(p, m, &plan, out_is_common, err));
    if (!*out_is_common) {
        FGI_TRY(append(p, plan, m->name, err));
        return report(p, err);
    }
    const fg_status status = fail_all(p, plan, err);
    json_decref(plan);
    return status;
}

static fg_status plan_all(plans *p, const char *topologies, fg_error *err)
{
    bool is_common = false;
    FGI_TRY(read_names(p, topologies, err));
    p->found = json_array();
    if (p->found == NULL)
        return fgi_no_memory(err);
    for (int i = 0; i < p->count && !is_common; i++)
        FGI_TRY(plan_machine(p, &p->machines[i], &is_common, err));
    return FG_OK;
}

/* ---- the object ------------------------------------------------------------------------------ */

static bool has_failed(const plans *p)
{
    for (size_t i = 0; i < json_array_size(p->found); i++)
        if (json_object_get(json_array_get(p->found, i), "error") != NULL)
            return true;
    return false;
}

static fg_status put_all(const plans *p, char **out, fg_error *err)
{
    fgi_buf text = {0};
    json_t *root = json_pack("{s:s, s:O}", "status", has_failed(p) ? "failed" : "done",
                             "topologies", p->found);
    if (root != NULL && fgi_json_write(root, JSON_INDENT(2), &text))
        *out = fgi_buf_take(&text);
    json_decref(root);
    fgi_buf_fini(&text);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fg_recipe_plan_machines(const fg_recipe_options *options, const fg_plan_process *process,
                                  const fg_plan_events *events, char **out, bool *out_has_failed,
                                  fg_error *err)
{
    static const fg_plan_events none;
    fg_error unused;
    *out = NULL;
    err = err != NULL ? err : &unused;
    FGI_TRY_RESERVED(fg_recipe_options, options, err);
    FGI_TRY_RESERVED(fg_plan_events, events, err);
    plans p = {.recipe = *options, .process = process, .events = events != NULL ? events : &none};
    fg_status status = plan_all(&p, options->topology, err);
    if (status == FG_OK)
        status = put_all(&p, out, err);
    if (out_has_failed != NULL)
        *out_has_failed = has_failed(&p);
    json_decref(p.found);
    fgi_free(p.input_rate);
    fgi_free(p.names);
    return status;
}
