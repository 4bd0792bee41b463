/* freeze.c - freezes the variables of a module whose names match a pattern.
 *
 * As in sharding rules, '*' matches any text, including dots. The pattern is checked before
 * anything is changed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/here.h"
#include "base/text.h"
#include "nn/layer.h"
#include "trace/trace.h"

enum { NAMES_SHOWN = 6 };

static bool matches(const fg_variable *variable, const char *pattern)
{
    return pattern == NULL || fnmatch(pattern, fg_variable_name(variable), 0) == 0;
}

/* Whether training would change the variable if it were not frozen. */
static bool is_trained(const fg_variable *variable)
{
    return fg_variable_kind_of(variable) != FG_STATE;
}

/* Edit distance between the pattern, read literally, and a prefix of the name of the same length.
 */
static size_t distance(const char *pattern, const char *name)
{
    char literal[128], begin[128];
    const size_t n = strcspn(pattern, "*?[");
    (void)snprintf(literal, sizeof literal, "%.*s", (int)(n < 127 ? n : 127), pattern);
    (void)snprintf(begin, sizeof begin, "%.*s", (int)strlen(literal), name);
    return fgi_edit_distance(literal, begin);
}

/* Adds the names at edit distance `wanted` from the pattern, up to NAMES_SHOWN in total. */
static int add_names(const fg_module *module, const char *pattern, size_t requested, int shown,
                     fgi_buf *out)
{
    for (size_t i = 0; i < fg_module_variable_count(module) && shown < NAMES_SHOWN; i++) {
        const fg_variable *variable = fg_module_variable_at(module, i);
        if (is_trained(variable) && distance(pattern, fg_variable_name(variable)) == requested)
            fgi_buf_printf(out, "%s'%s'", shown++ == 0 ? "" : ", ", fg_variable_name(variable));
    }
    return shown;
}

static fg_status matches_nothing(const fg_module *module, const char *pattern, fg_error *err)
{
    fgi_buf names = {0};
    int shown = 0;
    for (size_t edits = 0; edits < 128 && shown < NAMES_SHOWN; edits++)
        shown = add_names(module, pattern, edits, shown, &names);
    const char *list = names.data != NULL ? names.data : "none";
    const fg_status status = fgi_fail(
        err, FG_ENOTFOUND,
        "freeze '%s': matches no parameter or buffer of the module; the nearest names are %s\n"
        "'layer1.*' matches everything below layer1",
        pattern, list);
    fgi_buf_fini(&names);
    return status;
}

static fg_status set_trainable(fg_module *module, const char *pattern, bool trainable,
                               int64_t *out_count, fg_error *err)
{
    size_t found = 0;
    int64_t elements = 0;
    const char *file;
    int line;
    fgi_here_take(&file, &line);
    const size_t count = fg_module_variable_count(module);
    if (out_count != NULL)
        *out_count = 0;
    FGI_TRY(fg_module_error(module, err));
    for (size_t i = 0; i < count; i++) {
        fg_variable *variable = fg_module_variable_at(module, i);
        if (!is_trained(variable) || !matches(variable, pattern))
            continue;
        found++;
        fgi_variable_set_trainable_at(variable, trainable, file, line);
        if (fg_variable_kind_of(variable) == FG_PARAMETER)
            elements += fg_type_count(fg_variable_type(variable));
    }
    if (found == 0 && pattern != NULL)
        return matches_nothing(module, pattern, err);
    if (out_count != NULL)
        *out_count = elements;
    return FG_OK;
}

fg_status fg_module_freeze(fg_module *module, const char *pattern, int64_t *out_count,
                           fg_error *err)
{
    return set_trainable(module, pattern, false, out_count, err);
}

fg_status fg_module_unfreeze(fg_module *module, const char *pattern, int64_t *out_count,
                             fg_error *err)
{
    return set_trainable(module, pattern, true, out_count, err);
}

int64_t fg_module_frozen_count(const fg_module *module)
{
    int64_t elements = 0;
    for (size_t i = 0; i < fg_module_variable_count(module); i++) {
        const fg_variable *variable = fg_module_variable_at(module, i);
        if (fg_variable_kind_of(variable) == FG_PARAMETER && !fg_variable_is_trainable(variable))
            elements += fg_type_count(fg_variable_type(variable));
    }
    return elements;
}
