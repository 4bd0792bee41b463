/* callback_state.c - state of callbacks in checkpoints: copied when a checkpoint is taken, loaded
 * before the first step of a run that resumes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/callback_state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "train/callbacks.h"

#define PREFIX "callback."

/* Whether a callback needs a unique name: for its state, or for its variables. */
static bool is_unique(const fg_callback_ops *ops)
{
    return ops->save != NULL || (ops->build != NULL && ops->name != NULL);
}

static bool has_unique(const fgi_callbacks *list, const char *name)
{
    size_t i = 0;
    while (i < fgi_callbacks_count(list) && (!is_unique(fgi_callbacks_ops(list, i)) ||
                                             strcmp(fgi_callbacks_ops(list, i)->name, name) != 0))
        i++;
    return i < fgi_callbacks_count(list);
}

/* Whether a callback with this name saves state. */
static bool has(const fgi_callbacks *list, const char *name)
{
    for (size_t i = 0; i < fgi_callbacks_count(list); i++) {
        const fg_callback_ops *ops = fgi_callbacks_ops(list, i);
        if (ops->save != NULL && strcmp(ops->name, name) == 0)
            return true;
    }
    return false;
}

fg_status fgi_callback_state_check(const fgi_callbacks *list, const fg_callback_ops *ops,
                                   fg_error *err)
{
    const bool has_state = ops->save != NULL || ops->load != NULL;
    if (has_state &&
        (ops->name == NULL || ops->name[0] == '\0' || ops->save == NULL || ops->load == NULL))
        return fgi_fail(err, FG_EINVAL,
                        "callback '%s': expected all of name, save and load, or neither save nor "
                        "load",
                        ops->name != NULL ? ops->name : "");
    if (is_unique(ops) && has_unique(list, ops->name))
        return fgi_fail(err, FG_EINVAL,
                        "there already is a callback '%s': callbacks with state or variables "
                        "require unique names",
                        ops->name);
    return FG_OK;
}

static fg_status save_one(const fg_callback_ops *ops, void *self, fgi_callback_state *out,
                          fg_error *err)
{
    fgi_buf name = {0};
    fgi_buf_printf(&name, PREFIX "%s", ops->name);
    const fg_status status = fgi_buf_status(&name, err);
    if (status == FG_OK)
        out->name = fgi_buf_take(&name);
    fgi_buf_fini(&name);
    FGI_TRY(status);
    out->size = ops->save(self, NULL, 0);
    if (out->size == 0)
        return FG_OK;
    out->bytes = fgi_alloc(out->size);
    if (out->bytes == NULL)
        return fgi_no_memory(err);
    const size_t size = ops->save(self, out->bytes, out->size);
    if (size != out->size)
        return fgi_fail(err, FG_EINVAL,
                        "callback '%s': save returned %zu bytes, then %zu: its state must not "
                        "change in between",
                        ops->name, out->size, size);
    return FG_OK;
}

fg_status fgi_callback_states_save(const fgi_callbacks *list, fgi_callback_state **out,
                                   size_t *out_count, fg_error *err)
{
    *out_count = 0;
    *out = fgi_calloc(fgi_callbacks_count(list) + 1, sizeof **out);
    if (*out == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < fgi_callbacks_count(list); i++) {
        const fg_callback_ops *ops = fgi_callbacks_ops(list, i);
        if (ops->save == NULL)
            continue;
        void *self = fgi_callbacks_self(list, i);
        const fg_status status = save_one(ops, self, &(*out)[(*out_count)++], err);
        if (status != FG_OK) {
            fgi_callback_states_free(*out, *out_count);
            *out = NULL;
            *out_count = 0;
            return status;
        }
    }
    return FG_OK;
}

void fgi_callback_states_free(fgi_callback_state *states, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fgi_free(states[i].name);
        fgi_free(states[i].bytes);
    }
    fgi_free(states);
}

/* Warns of state that no callback claims: the next checkpoint will not contain it. */
static void warn_of_unclaimed(const fgi_callbacks *list, const fg_ckpt *ckpt, const char *path)
{
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++) {
        const fg_tensor_info *info = fg_ckpt_info(ckpt, i);
        if (info->part != FG_CKPT_STATE || strncmp(info->name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        const char *name = info->name + strlen(PREFIX);
        if (!has(list, name))
            fgi_log(FG_LOG_WARNING,
                    "%s: contains the state of callback '%s', which this run does not have: it is "
                    "ignored",
                    path, name);
    }
}

static fg_status load_one(const fg_callback_ops *ops, void *self, const fg_ckpt *ckpt,
                          const char *path, fg_error *err)
{
    size_t index = 0;
    fgi_buf name = {0};
    fgi_buf_printf(&name, PREFIX "%s", ops->name);
    fg_status status = fgi_buf_status(&name, err);
    if (status != FG_OK)
        goto done;
    if (!fg_ckpt_find(ckpt, FG_CKPT_STATE, name.data, &index)) {
        fgi_log(FG_LOG_WARNING,
                "%s: contains no state of callback '%s', which starts from its initial state", path,
                ops->name);
        goto done;
    }
    status = ops->load(self, fg_ckpt_data(ckpt, index), fg_ckpt_info(ckpt, index)->size_bytes, err);
    if (status != FG_OK)
        status = fgi_context(err, status, "%s: the state of callback '%s'", path, ops->name);
done:
    fgi_buf_fini(&name);
    return status;
}

fg_status fgi_callback_states_load(const fgi_callbacks *list, const fg_ckpt *ckpt, const char *path,
                                   fg_error *err)
{
    for (size_t i = 0; i < fgi_callbacks_count(list); i++)
        if (fgi_callbacks_ops(list, i)->load != NULL)
            FGI_TRY(
                load_one(fgi_callbacks_ops(list, i), fgi_callbacks_self(list, i), ckpt, path, err));
    warn_of_unclaimed(list, ckpt, path);
    return FG_OK;
}
