/* load_state.c - what a checkpoint holds in addition to the model: variables of the optimizer and
 * state variables of the module.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "optim/optimizer.h"
#include "trace/trace.h"
#include "train/load_weights.h"
#include "train/state.h"

/* ---- names for messages ---------------------------------------------------------------------- */

/* A list of names for a message: the first few, and how many more. */
typedef struct name_list {
    fgi_buf text;
    size_t count;
} name_list;

static void list_name(name_list *list, const char *name)
{
    enum { SHOWN = 4 };
    if (list->count < SHOWN)
        fgi_buf_printf(&list->text, "%s'%s'", list->count > 0 ? ", " : "", name);
    else if (list->count == SHOWN)
        fgi_buf_puts(&list->text, ", ...");
    list->count++;
}

/* "path: what: 'a', 'b'", unless the list is empty. */
static void warn_of(const char *path, const char *what, name_list *list)
{
    if (list->count > 0 && list->text.data != NULL)
        fgi_log(FG_LOG_WARNING, "%s: %s: %s", path, what, list->text.data);
    fgi_buf_fini(&list->text);
}

/* ---- the optimizer --------------------------------------------------------------------------- */

/* Whether the parameter was frozen when the checkpoint was written. */
static bool was_frozen(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *other = json_string_value(json_array_get(list, i));
        if (other != NULL && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Warns if a run continues with other parameters frozen than before. */
static void compare_frozen(const fg_optimizer *optimizer, const json_t *frozen, const char *path)
{
    name_list now_trained = {0}, now_frozen = {0};
    for (size_t i = 0; i < fg_optimizer_parameter_count(optimizer); i++) {
        const fg_variable *parameter = fg_optimizer_parameter_at(optimizer, i);
        const char *name = fg_variable_name(parameter);
        const bool before = was_frozen(frozen, name), now = !fg_variable_is_trainable(parameter);
        if (before != now)
            list_name(now ? &now_frozen : &now_trained, name);
    }
    warn_of(path, "parameters that were frozen are trained now", &now_trained);
    warn_of(path, "parameters that were trained are frozen now", &now_frozen);
}

/* The checkpoint does not have this variable of the optimizer. */
static fg_status load_absent(fg_optimizer *optimizer, size_t i, const char *path,
                             const json_t *frozen, fg_error *err)
{
    fg_variable *variable = fg_optimizer_variable_at(optimizer, i);
    const char *name = fg_variable_name(variable);
    const fg_variable *parameter = fgi_optimizer_parameter_of(optimizer, name);
    int32_t step = 0;
    /* a run with another precision had no loss scale, and older versions no health */
    if (i >= fgi_optimizer_guard_first(optimizer) || fgi_optimizer_is_missed(name))
        return FG_OK;
    if (parameter == NULL || !was_frozen(frozen, fg_variable_name(parameter)))
        return fgi_fail(err, FG_EFORMAT, "%s: has no '%s', which the optimizer needs", path, name);
    FGI_TRY(fgi_variable_read_as(fg_optimizer_variable_at(optimizer, 0), &step, sizeof step,
                                 "optimizer", err));
    return fgi_optimizer_start_late(optimizer, parameter, step, err);
}

/* The variables that the checkpoint needs, and no updates missed but those it counts. */
static fg_status expect_variables(fg_optimizer *optimizer, const fg_ckpt *ckpt, fg_ckpt_part part,
                                  fg_error *err)
{
    const int32_t zero = 0;
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++)
        if (fg_ckpt_info(ckpt, i)->part == part)
            FGI_TRY(fgi_optimizer_expect(optimizer, fg_ckpt_info(ckpt, i)->name, err));
    for (size_t i = 0; i < fg_optimizer_variable_count(optimizer); i++) {
        fg_variable *variable = fg_optimizer_variable_at(optimizer, i);
        if (fgi_optimizer_is_missed(fg_variable_name(variable)))
            FGI_TRY(fg_variable_set(variable, &zero, sizeof zero, err));
    }
    return FG_OK;
}

fg_status fgi_optimizer_load(fg_optimizer *optimizer, const fg_ckpt *ckpt, const char *path,
                             fg_ckpt_part part, const json_t *frozen, fg_error *err)
{
    FGI_TRY(expect_variables(optimizer, ckpt, part, err));
    /* the first is the number of updates; loading an absent variable may add to the list */
    for (size_t i = 0; i < fg_optimizer_variable_count(optimizer); i++) {
        fg_variable *variable = fg_optimizer_variable_at(optimizer, i);
        size_t index = 0;
        if (fg_ckpt_find(ckpt, part, fg_variable_name(variable), &index))
            FGI_TRY(fgi_load_named(ckpt, path, part, fg_variable_name(variable), variable, err));
        else
            FGI_TRY(load_absent(optimizer, i, path, frozen, err));
    }
    compare_frozen(optimizer, frozen, path);
    return FG_OK;
}

/* ---- state of the module --------------------------------------------------------------------- */

/* Names in the checkpoint that match no variable of the module. */
static void list_extra(const fg_module *module, const fg_ckpt *ckpt, name_list *extra)
{
    const size_t skip = strlen(FGI_MODULE_STATE);
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++) {
        const fg_tensor_info *info = fg_ckpt_info(ckpt, i);
        if (info->part != FG_CKPT_STATE || strncmp(info->name, FGI_MODULE_STATE, skip) != 0)
            continue;
        const fg_variable *variable = fg_module_find(module, info->name + skip);
        if (variable == NULL || fg_variable_get_kind(variable) != FG_STATE)
            list_name(extra, info->name + skip);
    }
}

/* Checkpoints of older versions have none of it: such state keeps its initial value. */
fg_status fgi_module_state_load(const fg_module *module, const fg_ckpt *ckpt, const char *path,
                                fg_error *err)
{
    fg_status status = FG_OK;
    name_list missing = {0}, extra = {0};
    for (size_t i = 0; i < fg_module_variable_count(module) && status == FG_OK; i++) {
        fg_variable *variable = fg_module_variable_at(module, i);
        fgi_buf name = {0};
        size_t index = 0;
        if (fg_variable_get_kind(variable) != FG_STATE)
            continue;
        fgi_buf_printf(&name, FGI_MODULE_STATE "%s", fg_variable_name(variable));
        status = fgi_buf_status(&name, err);
        if (status == FG_OK && !fg_ckpt_find(ckpt, FG_CKPT_STATE, name.data, &index))
            list_name(&missing, fg_variable_name(variable));
        else if (status == FG_OK)
            status = fgi_load_named(ckpt, path, FG_CKPT_STATE, name.data, variable, err);
        fgi_buf_fini(&name);
    }
    list_extra(module, ckpt, &extra);
    warn_of(path,
            "state variables of the module that it does not contain keep their initial values",
            &missing);
    warn_of(path, "state variables in it that the module does not have are ignored", &extra);
    return status;
}
