/* host_copy.c - copies variables to the host: all copies are started before waiting for the first,
 * and the elements are transposed to the layout of files afterwards, possibly on another thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/weights/weight_files.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/thread.h"
#include "trace/trace.h"

fg_status fgi_host_copy_init(fgi_host_copy *copy, const fg_module *module,
                             const fg_optimizer *optimizer, size_t more, fg_error *err)
{
    const size_t capacity = (module != NULL ? fg_module_variable_count(module) : 0) +
                            (optimizer != NULL ? fg_optimizer_variable_count(optimizer) : 0) +
                            more + 1;
    *copy = (fgi_host_copy){.tensors = fgi_calloc(capacity, sizeof *copy->tensors),
                            .blocks = fgi_calloc(capacity, sizeof *copy->blocks),
                            .arrived = fgi_calloc(capacity, sizeof *copy->arrived),
                            .variables = fgi_calloc(capacity, sizeof *copy->variables),
                            .names = fgi_calloc(capacity, sizeof *copy->names)};
    if (copy->tensors == NULL || copy->blocks == NULL || copy->arrived == NULL ||
        copy->variables == NULL || copy->names == NULL)
        return fgi_no_memory(err);
    return FG_OK;
}

void fgi_host_copy_fini(fgi_host_copy *copy)
{
    for (size_t i = 0; i < copy->count; i++) {
        if (copy->arrived[i] != NULL) {
            const fg_status late = fgi_event_wait(copy->arrived[i], NULL);
            (void)late; /* it writes to the block until then */
        }
        fgi_event_destroy(copy->arrived[i]);
        fgi_free(copy->blocks[i]);
        fgi_free(copy->names[i]);
    }
    fgi_free(copy->names);
    fgi_free(copy->variables);
    fgi_free(copy->arrived);
    fgi_free(copy->blocks);
    fgi_free(copy->tensors);
}

static fg_status start(fgi_host_copy *copy, const fg_variable *variable, fg_error *err)
{
    const size_t i = copy->count, size = fg_type_bytes(fg_variable_type(variable));
    copy->blocks[i] = fgi_alloc(size + 1);
    if (copy->blocks[i] == NULL)
        return fgi_no_memory(err);
    copy->count++;
    copy->variables[i] = variable;
    copy->tensors[i] =
        (fg_ckpt_tensor){.name = fg_variable_name(variable), .type = fgi_file_type(variable)};
    FGI_TRY_CTX(fgi_variable_download(variable, copy->blocks[i], size, &copy->arrived[i], err), err,
                "saving '%s'", fg_variable_name(variable));
    return FG_OK;
}

fg_status fgi_host_copy_model(fgi_host_copy *copy, const fg_module *module, fg_error *err)
{
    for (size_t i = 0; i < fg_module_variable_count(module); i++) {
        const fg_variable *variable = fg_module_variable_at(module, i);
        if (fg_variable_kind_of(variable) != FG_STATE)
            FGI_TRY(start(copy, variable, err));
    }
    copy->model_count = copy->count;
    return FG_OK;
}

fg_status fgi_host_copy_optimizer(fgi_host_copy *copy, const fg_optimizer *optimizer, fg_error *err)
{
    for (size_t i = 0; i < fg_optimizer_variable_count(optimizer); i++)
        FGI_TRY(start(copy, fg_optimizer_variable_at(optimizer, i), err));
    return FG_OK;
}

/* A variable of the module that is saved with those of the optimizer. */
static fg_status start_state(fgi_host_copy *copy, const fg_variable *variable, fg_error *err)
{
    fgi_buf name = {0};
    fgi_buf_printf(&name, FGI_MODULE_STATE "%s", fg_variable_name(variable));
    fg_status status = fgi_buf_status(&name, err);
    if (status == FG_OK)
        status = start(copy, variable, err);
    if (status == FG_OK) {
        copy->names[copy->count - 1] = fgi_buf_take(&name);
        copy->tensors[copy->count - 1].name = copy->names[copy->count - 1];
    }
    fgi_buf_fini(&name);
    return status;
}

fg_status fgi_host_copy_state(fgi_host_copy *copy, const fg_module *module, fg_error *err)
{
    for (size_t i = 0; i < fg_module_variable_count(module); i++) {
        const fg_variable *variable = fg_module_variable_at(module, i);
        if (fg_variable_kind_of(variable) == FG_STATE)
            FGI_TRY(start_state(copy, variable, err));
    }
    return FG_OK;
}

void fgi_host_copy_add(fgi_host_copy *copy, const char *name, fg_dtype dtype, size_t count,
                       const void *data)
{
    const fg_type type = {.dtype = dtype, .rank = 1, .dim = {(int64_t)count}};
    copy->tensors[copy->count++] = (fg_ckpt_tensor){.name = name, .type = type, .data = data};
}

fg_status fgi_host_copy_await(fgi_host_copy *copy, fg_error *err)
{
    const int64_t begin = fgi_now_ns();
    fg_client *client = NULL;
    int64_t bytes = 0;
    for (size_t i = 0; i < copy->count; i++) {
        if (copy->arrived[i] == NULL)
            continue;
        FGI_TRY_CTX(fgi_event_wait(copy->arrived[i], err), err, "saving '%s'",
                    fg_variable_name(copy->variables[i]));
        client = fgi_variable_client(copy->variables[i]);
        bytes += (int64_t)fg_type_bytes(fg_variable_type(copy->variables[i]));
        fgi_event_destroy(copy->arrived[i]);
        copy->arrived[i] = NULL;
    }
    if (client != NULL)
        fgi_client_count_read(client, "checkpoint", bytes, fgi_now_ns() - begin);
    return FG_OK;
}

fg_status fgi_host_copy_turn(fgi_host_copy *copy, fg_error *err)
{
    for (size_t i = 0; i < copy->count; i++) {
        if (copy->variables[i] == NULL)
            continue;
        FGI_TRY(fgi_to_file_order(copy->variables[i], &copy->blocks[i], err));
        copy->tensors[i].data = copy->blocks[i];
        copy->variables[i] = NULL;
    }
    return FG_OK;
}
