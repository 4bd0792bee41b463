/* module.c - the tree of modules: names, variables, ownership, the first error.
 *
 * A module keeps lists of what it owns: children and variables in the order of creation, attached
 * objects newest first. Names are looked up in two hash tables of the root. Each module keeps
 * counts of what is below it, so that the n-th variable is found in one descent.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/print.h"
#include "nn/layer.h"
#include "trace/precision.h"

typedef struct attached {
    void *object;
    void (*destroy)(void *object);
    struct attached *next;
} attached;

/* Members that only the root of a tree has. */
typedef struct tree {
    uint64_t seed;
    const fgi_precision *precision;
    fg_error error;
    fgi_map variables; /* full name -> variable */
    fgi_map modules;   /* full name -> module */
} tree;

struct fg_module {
    tree *tree;
    fg_module *parent, *first, *last, *next; /* first and last child; next sibling */
    char *name, *kind, *detail;
    fg_variable **variables;
    size_t variable_count, variable_capacity;
    attached *attached;
    size_t modules_below, variables_below; /* in this module and below */
    fg_type output;
    fg_kv_cache *cache; /* attached; NULL: none */
};

/* ---- errors ---------------------------------------------------------------------------------- */

fg_status fg_module_error(const fg_module *module, fg_error *err)
{
    if (module == NULL)
        return fgi_fail(err, FG_EINVAL, "the module is NULL: it was never built");
    const fg_error *error = &module->tree->error;
    if (err != NULL && error->status != FG_OK)
        *err = *error;
    return error->status;
}

void fg_module_fail(fg_module *module, const fg_error *err)
{
    if (module != NULL && module->tree->error.status == FG_OK)
        module->tree->error = *err;
}

void *fgi_module_fail(fg_module *module, fg_status status, const char *format, ...)
{
    fg_error error = {0};
    char text[sizeof error.message];
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fgi_fail(&error, status, "%s", text);
    fg_module_fail(module, &error);
    return NULL;
}

bool fgi_module_check_reserved(fg_module *module, fgi_reserved reserved)
{
    fg_error error = {0};
    if (fgi_check_reserved(reserved, &error) == FG_OK)
        return true;
    fg_module_fail(module, &error);
    return false;
}

static void *no_memory(fg_module *module)
{
    return fgi_module_fail(module, FG_ENOMEM, "out of memory");
}

static bool is_sound(const fg_module *module)
{
    return module != NULL && module->tree->error.status == FG_OK;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static void destroy_one(fg_module *module)
{
    while (module->attached != NULL) {
        attached *newest = module->attached;
        module->attached = newest->next;
        newest->destroy(newest->object);
        fgi_free(newest);
    }
    while (module->first != NULL) {
        fg_module *child = module->first;
        module->first = child->next;
        destroy_one(child);
    }
    for (size_t i = 0; i < module->variable_count; i++)
        fg_variable_destroy(module->variables[i]);
    fgi_free(module->variables);
    fgi_free(module->name);
    fgi_free(module->kind);
    fgi_free(module->detail);
    fgi_free(module);
}

fg_status fg_module_create(const char *name, uint64_t seed, fg_module **out, fg_error *err)
{
    *out = NULL;
    fg_module *root = fgi_calloc(1, sizeof *root);
    tree *t = fgi_calloc(1, sizeof *t);
    char *text = fgi_strdup(name != NULL ? name : "");
    if (root == NULL || t == NULL || text == NULL) {
        fgi_free(root);
        fgi_free(t);
        fgi_free(text);
        return fgi_no_memory(err);
    }
    t->seed = seed;
    t->precision = fgi_precision_find(NULL, NULL);
    root->tree = t;
    root->name = text;
    root->modules_below = 1;
    *out = root;
    return FG_OK;
}

void fg_module_destroy(fg_module *root)
{
    if (root == NULL || root->parent != NULL)
        return;
    tree *t = root->tree;
    destroy_one(root);
    fgi_map_fini(&t->variables);
    fgi_map_fini(&t->modules);
    fgi_free(t);
}

void fg_module_set_seed(fg_module *module, uint64_t seed)
{
    if (module != NULL)
        module->tree->seed = seed;
}

uint64_t fg_module_seed(const fg_module *module) { return module->tree->seed; }

void fg_module_set_precision(fg_module *module, const char *precision)
{
    fg_error error = {0};
    if (!is_sound(module))
        return;
    const fgi_precision *found = fgi_precision_find(precision, &error);
    if (found != NULL)
        module->tree->precision = found;
    else
        fg_module_fail(module, &error);
}

const char *fg_module_name(const fg_module *module) { return module->name; }

fg_kv_cache **fgi_module_kv_cache(fg_module *module) { return &module->cache; }

fg_module *fgi_module_parent(const fg_module *module) { return module->parent; }

fg_module *fg_module_root(fg_module *module)
{
    while (module != NULL && module->parent != NULL)
        module = module->parent;
    return module;
}

/* ---- building -------------------------------------------------------------------------------- */

/* "outer.name", or NULL when out of memory. */
static char *join(const char *outer, const char *name)
{
    if (outer[0] == '\0')
        return fgi_strdup(name);
    const size_t n = strlen(outer), m = strlen(name);
    char *joined = fgi_alloc(n + m + 2);
    if (joined != NULL) {
        memcpy(joined, outer, n);
        joined[n] = '.';
        memcpy(joined + n + 1, name, m + 1);
    }
    return joined;
}

/* The full name of a new child or variable of module; NULL after an error. */
static char *new_name(fg_module *module, const char *what, const fgi_map *taken, const char *name)
{
    if (name == NULL || name[0] == '\0')
        return fgi_module_fail(module, FG_EINVAL, "a %s of module '%s' needs a name", what,
                               module->name);
    char *full = join(module->name, name);
    if (full == NULL)
        return no_memory(module);
    if (fgi_map_get(taken, fgi_hash_text(full)) != NULL) {
        (void)fgi_module_fail(module, FG_EINVAL, "there is a %s '%s' already", what, full);
        fgi_free(full);
        return NULL;
    }
    return full;
}

fg_module *fg_module_child(fg_module *parent, const char *name)
{
    if (!is_sound(parent))
        return NULL;
    char *full = new_name(parent, "module", &parent->tree->modules, name);
    if (full == NULL)
        return NULL;
    fg_module *child = fgi_calloc(1, sizeof *child);
    if (child == NULL || !fgi_map_put(&parent->tree->modules, fgi_hash_text(full), child)) {
        fgi_free(child);
        fgi_free(full);
        return no_memory(parent);
    }
    child->tree = parent->tree;
    child->parent = parent;
    child->name = full;
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    for (fg_module *m = child; m != NULL; m = m->parent)
        m->modules_below++;
    return child;
}

/* The type of a new variable: if f32 was requested, it follows the tree's precision. Only trainable
 * variables become narrower: running statistics with 8 bits of precision would stop changing. */
static fg_type type_of(const fg_module *module, const fg_type *asked, fg_variable_kind kind)
{
    const fgi_precision *precision = module->tree->precision;
    fg_type type = *asked;
    if (type.dtype == FG_F32)
        type.dtype = kind == FG_PARAMETER ? precision->parameter : precision->data;
    return type;
}

fg_variable *fg_module_variable(fg_module *module, const char *name, const fg_type *type,
                                const fg_variable_options *options)
{
    if (!is_sound(module))
        return NULL;
    char *full = new_name(module, "variable", &module->tree->variables, name);
    if (full == NULL)
        return NULL;
    fg_variable_options o = options != NULL ? *options : (fg_variable_options){0};
    o.seed = module->tree->seed;
    const fg_type own = type_of(module, type, o.kind);
    fg_error error = {0};
    fg_variable *variable = NULL, **grown = fgi_grow(module->variables, module->variable_count,
                                                     &module->variable_capacity, sizeof *grown);
    module->variables = grown != NULL ? grown : module->variables;
    if (grown == NULL)
        (void)no_memory(module);
    else if (fg_variable_create(full, &own, &o, &variable, &error) != FG_OK)
        fg_module_fail(module, &error);
    else if (!fgi_map_put(&module->tree->variables, fgi_hash_text(full), variable))
        (void)no_memory(module);
    fgi_free(full);
    if (!is_sound(module)) {
        fg_variable_destroy(variable);
        return NULL;
    }
    module->variables[module->variable_count++] = variable;
    for (fg_module *m = module; m != NULL; m = m->parent)
        m->variables_below++;
    return variable;
}

void *fg_module_attach(fg_module *module, void *take_object, void (*destroy)(void *object))
{
    attached *link = is_sound(module) ? fgi_calloc(1, sizeof *link) : NULL;
    if (link == NULL) {
        if (is_sound(module))
            (void)no_memory(module);
        if (take_object != NULL)
            destroy(take_object);
        return NULL;
    }
    *link = (attached){.object = take_object, .destroy = destroy, .next = module->attached};
    module->attached = link;
    return take_object;
}

/* ---- lookup --------------------------------------------------------------------------------- */

size_t fg_module_variable_count(const fg_module *module)
{
    return module != NULL ? module->variables_below : 0;
}

fg_variable *fg_module_variable_at(const fg_module *module, size_t index)
{
    if (module == NULL || index >= module->variables_below)
        return NULL;
    while (index >= module->variable_count) {
        index -= module->variable_count;
        module = module->first;
        for (; index >= module->variables_below; module = module->next)
            index -= module->variables_below;
    }
    return module->variables[index];
}

fg_variable *fg_module_find(const fg_module *module, const char *name)
{
    if (module == NULL || name == NULL)
        return NULL;
    const size_t n = strlen(module->name);
    if (n > 0 && (strncmp(name, module->name, n) != 0 || name[n] != '.'))
        return NULL;
    return fgi_map_get(&module->tree->variables, fgi_hash_text(name));
}

static int64_t own_parameters(const fg_module *module)
{
    int64_t sum = 0;
    for (size_t i = 0; i < module->variable_count; i++)
        if (fg_variable_kind_of(module->variables[i]) == FG_PARAMETER)
            sum += fg_type_count(fg_variable_type(module->variables[i]));
    return sum;
}

int64_t fg_module_parameter_count(const fg_module *module)
{
    if (module == NULL)
        return 0;
    int64_t sum = own_parameters(module);
    for (const fg_module *child = module->first; child != NULL; child = child->next)
        sum += fg_module_parameter_count(child);
    return sum;
}

bool fg_module_info_at(fg_module *module, size_t index, fg_module_info *out)
{
    if (module == NULL || index >= module->modules_below)
        return false;
    int depth = 0;
    for (; index > 0; depth++) {
        index--;
        module = module->first;
        for (; index >= module->modules_below; module = module->next)
            index -= module->modules_below;
    }
    *out = (fg_module_info){.module = module,
                            .name = module->name,
                            .kind = module->kind != NULL ? module->kind : "",
                            .detail = module->detail != NULL ? module->detail : "",
                            .depth = depth,
                            .variable_count = module->variable_count,
                            .parameter_count = own_parameters(module),
                            .output = module->output};
    return true;
}

void fg_module_describe(fg_module *module, const char *kind, const char *detail)
{
    if (!is_sound(module))
        return;
    char *k = fgi_strdup(kind), *d = detail != NULL ? fgi_strdup(detail) : NULL;
    if (k == NULL || (detail != NULL && d == NULL)) {
        fgi_free(k);
        fgi_free(d);
        (void)no_memory(module);
        return;
    }
    fgi_free(module->kind);
    fgi_free(module->detail);
    module->kind = k;
    module->detail = d;
}

void fg_module_note_output(fg_module *module, fg_tensor output)
{
    if (module != NULL)
        module->output = *fg_tensor_type(output);
}
