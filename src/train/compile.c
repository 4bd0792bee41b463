/* compile.c - compiles the programs of a Trainer's steps without running them: for machines that
 * are not available, and to estimate what a run will need.
 *
 * It uses the same functions as training (stage.c), but no loader, no sums and no launches.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "train/result.h"
#include "train/stage.h"
#include "train/train_compile.h"
#include "train/trainer.h"

fg_status fgi_trainer_compile(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                              const fg_fit_data *data, const fgi_executable **out, fg_error *err)
{
    fg_error first = {0};
    *out = NULL;
    FGI_TRY(fgi_trainer_enter(trainer, task, data, err));
    fg_status status = fgi_trainer_prepare(trainer, task, kind == FGI_TRAIN, &first);
    if (status == FG_OK)
        status = fgi_stage_compile(trainer, kind, data, &first);
    if (status == FG_OK)
        *out = fgi_step_program_executable(fgi_stage_program(trainer->stage[kind]));
    return fgi_trainer_leave(trainer, status, &first, err);
}

/* Bytes of a variable on one device. */
static int64_t bytes_of(const fg_trainer *trainer, const fg_variable *variable)
{
    return (int64_t)fgi_sharding_bytes(fgi_client_mesh(trainer->client), fg_variable_type(variable),
                                       fgi_variable_sharding(variable));
}

fgi_state_bytes fgi_trainer_state_bytes(const fg_trainer *trainer)
{
    fgi_state_bytes bytes = {0};
    const size_t count = fg_module_variable_count(trainer->model.root);
    for (size_t i = 0; i < count; i++) {
        const fg_variable *variable = fg_module_variable_at(trainer->model.root, i);
        if (fg_variable_get_kind(variable) == FG_PARAMETER)
            bytes.parameters += bytes_of(trainer, variable);
        else
            bytes.buffers += bytes_of(trainer, variable);
    }
    for (size_t i = 0;
         trainer->model.optimizer && i < fg_optimizer_variable_count(trainer->model.optimizer); i++)
        bytes.optimizer += bytes_of(trainer, fg_optimizer_variable_at(trainer->model.optimizer, i));
    return bytes;
}
