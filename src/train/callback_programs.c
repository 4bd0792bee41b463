/* callback_programs.c - functions of callbacks that change programs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/callback_programs.h"

#include "base/error.h"
#include "trace/trace.h"
#include "train/callbacks.h"
#include "train/trainer.h"

fg_status fgi_callbacks_build(const fg_trainer *trainer, fg_module *root, fg_error *err)
{
    const fgi_callbacks *list = trainer->callbacks;
    for (size_t i = 0; i < fgi_callbacks_count(list); i++) {
        const fg_callback_ops *ops = fgi_callbacks_ops(list, i);
        fg_error local = {0};
        if (ops->build == NULL)
            continue;
        fg_status status = ops->build(fgi_callbacks_self(list, i), root, &local);
        if (status == FG_OK)
            status = fg_module_error(root, &local);
        if (status != FG_OK)
            return fgi_fail(err, status, "callback '%s': %s", ops->name != NULL ? ops->name : "",
                            local.message[0] != '\0' ? local.message : "build failed");
    }
    return FG_OK;
}

void fgi_callbacks_update(const fg_trainer *trainer, fg_trace *trace)
{
    const fgi_callbacks *list = trainer->callbacks;
    for (size_t i = 0; i < fgi_callbacks_count(list); i++) {
        const fg_callback_ops *ops = fgi_callbacks_ops(list, i);
        if (ops->update != NULL && fg_trace_error(trace, NULL) == FG_OK)
            ops->update(fgi_callbacks_self(list, i), trace, trainer->model.optimizer);
    }
}

void fgi_callbacks_step_start(const fg_trainer *trainer)
{
    const fgi_callbacks *list = trainer->callbacks;
    if (!trainer->call.is_running || trainer->call.is_search)
        return;
    fg_progress at = fgi_progress_at(trainer);
    at.is_epoch_end = trainer->fit.ends_epoch;
    for (size_t i = 0; i < fgi_callbacks_count(list); i++) {
        const fg_callback_ops *ops = fgi_callbacks_ops(list, i);
        if (ops->step_start != NULL)
            ops->step_start(fgi_callbacks_self(list, i), &at, trainer->model.optimizer);
    }
}

static fg_tensor substitute(void *self, fg_trace *trace, fg_variable *variable)
{
    const fgi_callbacks *list = ((const fg_trainer *)self)->callbacks;
    fg_tensor value = {0};
    for (size_t i = 0; i < fgi_callbacks_count(list) && value.handle == 0; i++) {
        const fg_callback_ops *ops = fgi_callbacks_ops(list, i);
        if (ops->value != NULL && fg_variable_get_kind(variable) != FG_STATE)
            value = ops->value(fgi_callbacks_self(list, i), trace, variable);
    }
    return value;
}

void fgi_callbacks_substitute(fg_trainer *trainer, fg_trace *trace)
{
    const fgi_callbacks *list = trainer->callbacks;
    for (size_t i = 0; i < fgi_callbacks_count(list); i++)
        if (fgi_callbacks_ops(list, i)->value != NULL)
            trace->substitute = substitute;
    trace->substitute_self = trainer;
}
