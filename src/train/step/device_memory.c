/* device_memory.c - the device memory that a step needs, and whether it is available, as the
 * compiled program reports it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/step/stage.h"

#include <stdio.h>

#include "base/error.h"
#include "base/print.h"
#include "trace/trace.h"

/* Bytes of a variable on one device. */
static int64_t bytes_of(const fg_client *client, const fg_variable *variable)
{
    return (int64_t)fgi_sharding_bytes(fgi_client_mesh(client), fg_variable_type(variable),
                                       fgi_variable_sharding(variable));
}

fgi_state_bytes fgi_state_bytes_of(const fgi_model *model, const fg_client *client)
{
    fgi_state_bytes bytes = {0};
    const size_t count = fg_module_variable_count(model->root);
    const fg_optimizer *optimizer = model->optimizer;
    for (size_t i = 0; i < count; i++) {
        const fg_variable *variable = fg_module_variable_at(model->root, i);
        if (fg_variable_kind_of(variable) == FG_PARAMETER)
            bytes.parameters += bytes_of(client, variable);
        else
            bytes.buffers += bytes_of(client, variable);
    }
    for (size_t i = 0; optimizer != NULL && i < fg_optimizer_variable_count(optimizer); i++)
        bytes.optimizer += bytes_of(client, fg_optimizer_variable_at(optimizer, i));
    return bytes;
}

/* ---- memory of a program --------------------------------------------------------------------- */

int64_t fgi_memory_limit(const fg_client *client)
{
    int64_t least = -1;
    for (int i = 0; i < fg_client_info_of(client)->device_count; i++) {
        fg_device_info info;
        if (fg_device_info_at(client, i, &info, NULL) != FG_OK)
            return -1;
        if (info.memory_limit_bytes > 0 && (least < 0 || info.memory_limit_bytes < least))
            least = info.memory_limit_bytes;
    }
    return least;
}

/* Bytes of the first device that are in use. */
static int64_t used_bytes(const fg_client *client)
{
    fg_device_info info;
    const bool is_known = fg_device_info_at(client, 0, &info, NULL) == FG_OK;
    return is_known && info.memory_used_bytes > 0 ? info.memory_used_bytes : 0;
}

static int64_t least0(int64_t a) { return a > 0 ? a : 0; }

fg_status fgi_memory_of(const fgi_model *model, const fgi_stage *stage, fgi_memory *out,
                        fg_error *err)
{
    const fgi_program_cost cost = fgi_executable_cost(fgi_step_program_executable(stage->program));
    const fgi_state_bytes state = fgi_state_bytes_of(model, stage->client);
    const int64_t kept = state.parameters + state.buffers + state.optimizer;
    const int64_t arguments = least0(cost.argument_bytes), temp = least0(cost.temp_bytes);
    const int64_t outputs = least0(least0(cost.output_bytes) - least0(cost.alias_bytes));
    const int64_t need = arguments + outputs + temp + least0(cost.code_bytes);
    /* the compilers for GPUs and CPUs also report the peak, which is lower if arrays share memory
     */
    *out = (fgi_memory){.parameters = state.parameters + state.buffers,
                        .optimizer = state.optimizer,
                        .batch = least0(arguments - kept),
                        .activations = temp + outputs,
                        .program = least0(cost.code_bytes),
                        .need = need,
                        .limit = fgi_memory_limit(stage->client)};
    return FG_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

void fgi_memory_put(const fgi_memory *m, char *out, size_t size)
{
    (void)snprintf(out, size, "parameters %s, optimizer %s, batch %s, activations %s, program %s",
                   fgi_bytes_words((double)m->parameters), fgi_bytes_words((double)m->optimizer),
                   fgi_bytes_words((double)m->batch), fgi_bytes_words((double)m->activations),
                   fgi_bytes_words((double)m->program));
}

fg_status fgi_memory_check(const fgi_model *model, const fgi_stage *stage, fg_error *err)
{
    fgi_memory m;
    char parts[192];
    if (fgi_memory_of(model, stage, &m, NULL) != FG_OK || m.limit < 0)
        return FG_OK; /* unknown: the run will fail if it does not fit */
    /* the parameters may be on the device already; they must not count twice */
    const int64_t others = least0(used_bytes(stage->client) - m.parameters - m.optimizer);
    if (m.need <= m.limit - others)
        return FG_OK;
    fgi_memory_put(&m, parts, sizeof parts);
    return fgi_fail(
        err, FG_EDEVMEM, "the %sstep needs %s of each device's memory, which is %s%s%s: %s",
        fgi_stage_prefix(stage->kind), fgi_bytes_words((double)m.need),
        fgi_bytes_words((double)m.limit), others > 0 ? ", of which other arrays use " : "",
        others > 0 ? fgi_bytes_words((double)others) : "", parts);
}
