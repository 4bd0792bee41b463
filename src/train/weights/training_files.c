/* training_files.c - files of loops without a Trainer: modules, optimizers and both together are
 * saved and loaded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/text.h"
#include "input/json_file.h"
#include "optim/optimizer.h"
#include "train/weights/weight_files.h"

/* ---- saving ---------------------------------------------------------------------------------- */

/* The number of steps done. */
static int64_t steps_done(const fg_optimizer *optimizer)
{
    if (optimizer != NULL && optimizer->part_count > 0) /* they may be updated one by one */
        optimizer = optimizer->parts[0];
    if (optimizer == NULL || !optimizer->place.has_run)
        return 0;
    return optimizer->place.step_now + (optimizer->place.has_begun ? 0 : 1);
}

/* The frozen parameters as a JSON list; fgi_buf_fini(out). */
static fg_status frozen_text(const fg_optimizer *optimizer, fgi_buf *out, fg_error *err)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; optimizer != NULL && i < fg_optimizer_parameter_count(optimizer); i++) {
        const fg_variable *parameter = fg_optimizer_parameter_at(optimizer, i);
        if (!fg_variable_is_trainable(parameter))
            ok = ok && json_array_append_new(list, json_string(fg_variable_name(parameter))) == 0;
    }
    ok = ok && fgi_json_write(list, JSON_COMPACT, out);
    json_decref(list);
    fgi_buf_putc(out, '\0');
    return ok ? fgi_buf_status(out, err) : fgi_no_memory(err);
}

fg_status fg_module_save(const fg_module *module, const char *path, fg_error *err)
{
    fgi_host_copy copy = {0};
    fg_status status;
    if (module == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_module_save: no module");
    FGI_TRY(fg_module_error(module, err));
    FGI_DONE(fgi_host_copy_init(&copy, module, NULL, 0, err));
    FGI_DONE(fgi_host_copy_model(&copy, module, err));
    FGI_DONE(fgi_host_copy_await(&copy, err));
    FGI_DONE(fgi_host_copy_turn(&copy, err));
    FGI_DONE(fg_safetensors_write(path, copy.tensors, copy.count, NULL, err));
done:
    fgi_host_copy_fini(&copy);
    return status;
}

fg_status fg_optimizer_save(const fg_optimizer *optimizer, const char *path, fg_error *err)
{
    fgi_host_copy copy = {0};
    fgi_buf frozen = {0};
    fg_status status;
    char steps[24];
    if (optimizer == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_optimizer_save: no optimizer");
    (void)snprintf(steps, sizeof steps, "%" PRId64, steps_done(optimizer));
    FGI_DONE(frozen_text(optimizer, &frozen, err));
    const char *const metadata[] = {FGI_STEP_KEY, steps, FGI_FROZEN_META, frozen.data, NULL};
    FGI_DONE(fgi_host_copy_init(&copy, NULL, optimizer, 0, err));
    FGI_DONE(fgi_host_copy_optimizer(&copy, optimizer, err));
    FGI_DONE(fgi_host_copy_await(&copy, err));
    FGI_DONE(fgi_host_copy_turn(&copy, err));
    FGI_DONE(fg_safetensors_write(path, copy.tensors, copy.count, metadata, err));
done:
    fgi_buf_fini(&frozen);
    fgi_host_copy_fini(&copy);
    return status;
}

static fg_status gather(fgi_host_copy *copy, const fg_module *module, const fg_optimizer *optimizer,
                        fg_error *err)
{
    FGI_TRY(fgi_host_copy_init(copy, module, optimizer, 0, err));
    FGI_TRY(fgi_host_copy_model(copy, module, err));
    if (optimizer != NULL)
        FGI_TRY(fgi_host_copy_optimizer(copy, optimizer, err));
    FGI_TRY(fgi_host_copy_state(copy, module, err));
    FGI_TRY(fgi_host_copy_await(copy, err));
    return fgi_host_copy_turn(copy, err);
}

fg_status fg_training_save(const char *path, const fg_module *module, const fg_optimizer *optimizer,
                           const fg_training_options *options, fg_error *err)
{
    static const fg_training_options none;
    const fg_training_options *o = options != NULL ? options : &none;
    const fg_client_info *info = o->client != NULL ? fg_client_info_of(o->client) : NULL;
    fgi_host_copy copy = {0};
    fgi_buf frozen = {0};
    fg_status status;
    char steps[24];
    if (module == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_training_save: no module");
    FGI_TRY_RESERVED(fg_training_options, options, err);
    FGI_TRY(fg_module_error(module, err));
    (void)snprintf(steps, sizeof steps, "%" PRId64, steps_done(optimizer));
    FGI_DONE(frozen_text(optimizer, &frozen, err));
    const char *const metadata[] = {FGI_STEP_KEY, steps, FGI_FROZEN_META, frozen.data, NULL};
    FGI_DONE(gather(&copy, module, optimizer, err));
    const fg_ckpt_content content = {.model = copy.tensors,
                                     .model_count = copy.model_count,
                                     .state = copy.tensors + copy.model_count,
                                     .state_count = copy.count - copy.model_count,
                                     .state_json = o->state_json,
                                     .process_index = info != NULL ? info->process_index : 0,
                                     .process_count = info != NULL ? info->process_count : 1,
                                     .attachments = o->attachments,
                                     .attachment_count = o->attachment_count,
                                     .metadata = metadata};
    FGI_DONE(fg_ckpt_save(path, &content, err));
done:
    fgi_buf_fini(&frozen);
    fgi_host_copy_fini(&copy);
    return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

fg_status fg_module_load(fg_module *module, const char *path, const fg_load_options *options,
                         fg_load_report *report, fg_error *err)
{
    fg_ckpt *ckpt = NULL;
    if (report != NULL)
        *report = (fg_load_report){0};
    if (module == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_module_load: no module");
    FGI_TRY(fg_module_error(module, err));
    FGI_TRY_RESERVED(fg_load_options, options, err);
    FGI_TRY(fg_ckpt_open(path, NULL, &ckpt, err));
    const fg_status status = fgi_weights_load(module, ckpt, path, options, report, err);
    fg_ckpt_close(ckpt);
    return status;
}

/* Reads the number of steps (-1: not recorded) and the frozen parameters (a new reference or NULL)
 * from the file's metadata, or from the Trainer's state.json. */
static int64_t look_up(const fg_ckpt *ckpt, const char *path, json_t **out_frozen)
{
    int64_t steps = -1;
    json_t *root = NULL, *frozen = NULL;
    const char *text = fg_ckpt_metadata(ckpt, FGI_STEP_KEY), *state = fg_ckpt_state_json(ckpt);
    const char *list = fg_ckpt_metadata(ckpt, FGI_FROZEN_META);
    if (state != NULL && fgi_json_parse(path, 0, state, strlen(state), &root, NULL) == FG_OK &&
        json_is_integer(json_object_get(root, "step")))
        steps = json_integer_value(json_object_get(root, "step"));
    if (list == NULL)
        frozen = json_incref(json_object_get(root, FGI_FROZEN_KEY));
    else if (fgi_json_parse(path, 0, list, strlen(list), &frozen, NULL) != FG_OK)
        frozen = NULL;
    if (text != NULL && !fgi_parse_i64(fgi_str_of(text), &steps))
        steps = -1;
    json_decref(root);
    *out_frozen = frozen;
    return steps;
}

static fg_status load_optimizer(fg_optimizer *optimizer, const fg_ckpt *ckpt, const char *path,
                                int64_t *out_steps, fg_error *err)
{
    const bool is_folder = fg_ckpt_state_json(ckpt) != NULL;
    json_t *frozen = NULL;
    fg_status status;
    *out_steps = look_up(ckpt, path, &frozen);
    if (*out_steps < 0)
        FGI_DONE(fgi_fail(err, FG_EFORMAT, "%s: does not contain the number of steps", path));
    FGI_DONE(fgi_optimizer_load(optimizer, ckpt, path, is_folder ? FG_CKPT_STATE : FG_CKPT_MODEL,
                                frozen, err));
    fg_optimizer_begin_step(optimizer, *out_steps);
done:
    json_decref(frozen);
    return status;
}

fg_status fg_optimizer_load(fg_optimizer *optimizer, const char *path, fg_error *err)
{
    fg_ckpt *ckpt = NULL;
    int64_t steps;
    if (optimizer == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_optimizer_load: no optimizer");
    FGI_TRY(fg_ckpt_open(path, NULL, &ckpt, err));
    const fg_status status = load_optimizer(optimizer, ckpt, path, &steps, err);
    fg_ckpt_close(ckpt);
    return status;
}

fg_status fg_training_load(const char *path, fg_module *module, fg_optimizer *optimizer,
                           int64_t *out_step, fg_error *err)
{
    fg_ckpt *ckpt = NULL;
    fg_status status;
    int64_t steps = 0;
    json_t *frozen = NULL;
    if (module == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_training_load: no module");
    FGI_TRY(fg_module_error(module, err));
    FGI_TRY(fg_ckpt_open(path, NULL, &ckpt, err));
    if (fg_ckpt_state_json(ckpt) == NULL)
        FGI_DONE(fgi_fail(err, FG_EINVAL,
                          "%s: is a file of weights, not a checkpoint to continue from\n"
                          "fg_module_load reads it",
                          path));
    FGI_DONE(fgi_weights_load(module, ckpt, path, NULL, NULL, err));
    FGI_DONE(fgi_module_state_load(module, ckpt, path, err));
    if (optimizer != NULL)
        FGI_DONE(load_optimizer(optimizer, ckpt, path, &steps, err));
    else
        steps = look_up(ckpt, path, &frozen);
    if (out_step != NULL)
        *out_step = steps;
done:
    json_decref(frozen);
    fg_ckpt_close(ckpt);
    return status;
}
