/* run_notes.c - hints about probable mistakes: relative paths, initial weights, a batch that is
 * larger than the data, no validation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fulgurite/hub.h>

#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "base/print.h"
#include "base/alloc.h"
#include "train/state/metrics.h"

void fgi_run_say(const fg_recipe *r, fg_log_level level, const char *format, ...)
{
    fgi_buf text = {0};
    va_list args;
    if (r->options.message == NULL)
        return;
    va_start(args, format);
    fgi_buf_vprintf(&text, format, args);
    va_end(args);
    r->options.message(r->options.message_self, level,
                       text.data != NULL ? text.data : "out of memory");
    fgi_buf_fini(&text);
}

/* The path of a file with that name in the configuration's folder, owned; NULL if there is none, or
 * if the folder is the working directory. */
static char *in_config_folder(const char *config_path, const char *path)
{
    const char *slash = config_path != NULL ? strrchr(config_path, '/') : NULL;
    if (slash == NULL)
        return NULL;
    fgi_buf text = {0};
    fgi_buf_printf(&text, "%.*s/%s", (int)(slash - config_path), config_path, path);
    char *there = fgi_buf_take(&text);
    fgi_buf_fini(&text);
    if (there != NULL && access(there, F_OK) == 0)
        return there;
    fgi_free(there);
    return NULL;
}

/* Adds the note if the error is about the file that the key names. */
static bool explain_path(const fg_recipe *r, const char *key, fg_error *err)
{
    char cwd[256];
    const char *path = fg_option_string(r->c->values, key);
    if (path == NULL || *path == '\0' || *path == '/' || fg_hub_is_name(path) ||
        strstr(err->message, "written hf:") != NULL || access(path, F_OK) == 0 ||
        strstr(err->message, path) == NULL)
        return false;
    char *there = in_config_folder(r->config_path, path);
    const size_t used = strlen(err->message), room = sizeof(err->message) - used;
    (void)fgi_snprintf(err->message + used, room,
                       "\n%s is relative to the working directory, %s%s%s%s", key,
                       getcwd(cwd, sizeof(cwd)) != NULL ? cwd : "which has no name",
                       there != NULL ? ", not to the configuration's folder: use --" : "",
                       there != NULL ? key : "", there != NULL ? "=" : "");
    if (there != NULL)
        (void)fgi_snprintf(err->message + strlen(err->message),
                           sizeof(err->message) - strlen(err->message), "%s", there);
    fgi_free(there);
    return true;
}

void fgi_run_explain_paths(const fg_recipe *r, fg_error *err)
{
    const fg_format_entry *format = NULL;
    if (explain_path(r, "model.hf", err) || explain_path(r, "model.weights", err) ||
        fgi_run_format_find(r->c, &format, &(fg_error){0}) != FG_OK)
        return;
    for (int part = 0; part <= (int)FG_PART_PREDICT; part++) {
        char key[FGI_RUN_KEY_SIZE];
        const char *input = fgi_run_format_input(format, (fg_data_part)part);
        const char *target = fgi_run_format_target(format, (fg_data_part)part);
        if ((input != NULL && explain_path(r, fgi_run_format_key(input, key), err)) ||
            (target != NULL && explain_path(r, fgi_run_format_key(target, key), err)))
            return;
    }
}

/* How many tensors of the file a model with default options has, under any published name; its
 * number of variables. */
static size_t count_matching(const fg_model_entry *row, const fg_ckpt *ckpt, size_t *out_variables)
{
    fg_module *root = NULL;
    fg_load_report report = {0};
    size_t unknown = fg_ckpt_count(ckpt);
    const fg_type image = {FG_F32, 3, {224, 224, 3}}, tokens = {FG_S32, 1, {8}};
    const fg_type series = {FG_F32, 2, {8, 1}}, values = {FG_F32, 1, {64}};
    const fg_model_options o = {.entry = row,
                                .input = row->takes_images   ? image
                                         : row->takes_tokens ? tokens
                                         : row->takes_series ? series
                                                             : values,
                                .outputs = 10,
                                .per_token = row->takes_tokens};
    const fg_load_options any = {.model = row};
    if (fg_module_create(NULL, 0, &root, NULL) == FG_OK && fg_model_create(root, &o) != NULL &&
        fg_module_load(root, fg_ckpt_path(ckpt), &any, &report, NULL) != FG_ENOMEM)
        unknown = report.counts[FG_LOAD_UNEXPECTED];
    *out_variables = report.entry_count;
    fg_load_report_fini(&report);
    fg_module_destroy(root);
    return fg_ckpt_count(ckpt) - unknown;
}

/* The model that has most of the tensors, at least half, and no more variables than another one
 * with as many; NULL: none. */
static const char *look_alike(const fg_recipe *r)
{
    const fg_registry *registry = r->c->registry;
    const char *best = NULL;
    size_t most = 0, least = 0, variables = 0;
    for (size_t i = 0; i < fg_registry_count(registry, FG_REGISTRY_MODEL); i++) {
        const fg_entry *row = fg_registry_at(registry, FG_REGISTRY_MODEL, i);
        const size_t count =
            count_matching((const fg_model_entry *)row, r->origin.ckpt, &variables);
        if (2 * count < fg_ckpt_count(r->origin.ckpt) || count < most ||
            (count == most && variables >= least))
            continue;
        best = row->name;
        most = count;
        least = variables;
    }
    return best;
}

void fgi_run_explain_weights(const fg_recipe *r, fg_error *err)
{
    size_t used = strlen(err->message);
    const char *path = r->is_start && r->origin.ckpt != NULL ? fg_ckpt_path(r->origin.ckpt) : NULL;
    if (path == NULL || (err->status != FG_ESHAPE && err->status != FG_EFORMAT) ||
        strncmp(err->message, path, strlen(path)) != 0)
        return;
    const bool is_foreign = fg_ckpt_state_json(r->origin.ckpt) == NULL;
    const char *like = is_foreign && r->task.model_entry != NULL ? look_alike(r) : NULL;
    if (like != NULL && strcmp(like, r->task.model_entry->entry.name) != 0)
        (void)fgi_snprintf(err->message + used, sizeof(err->message) - used,
                           "\nits tensors have the names of model %s", like);
    used = strlen(err->message);
    if (strstr(err->message, "the file has ") != NULL)
        return;
    (void)fgi_snprintf(err->message + used, sizeof(err->message) - used,
                       "\nto load the rest: model.weights_skip leaves variables out by name, "
                       "model.weights_partial=true all that are missing or have a different shape; "
                       "`fulgurite show` lists what the file has");
}

void fgi_run_warn_of_devices(const fg_recipe *r)
{
    const fg_client *client = fg_trainer_client(r->trainer);
    const int64_t devices = client != NULL ? fg_client_info_of(client)->mesh.batch_shards : 1;
    const int64_t batch = r->fit_data.batch_size;
    char keep[96] = "";
    if (devices < 2 || r->fit_data.global_batch_size > 0 ||
        fg_option_is_given(r->c->values, "trainer.lr_scaling"))
        return;
    if (batch % devices == 0)
        (void)fgi_snprintf(keep, sizeof(keep),
                           "; to keep the batch, set trainer.global_batch_size to %" PRId64
                           " in place of trainer.batch_size",
                           batch);
    fgi_run_say(r, FG_LOG_WARNING,
                "trainer.batch_size is per device: %" PRId64 " devices with %" PRId64
                " samples each train with batches of %" PRId64 ", so the results are not those of "
                "one device%s; trainer.lr_scaling adapts the learning rate; set it to none if the "
                "learning rate is right for this batch",
                devices, batch, batch * devices, keep);
}

void fgi_run_note_batch(const fg_recipe *r)
{
    const fg_client *client = fg_trainer_client(r->trainer);
    const int64_t samples = r->fit_data.train != NULL ? fg_dataset_count(r->fit_data.train) : -1;
    if (client == NULL || samples < 1)
        return;
    const int64_t rows = fg_client_info_of(client)->mesh.batch_shards;
    const int64_t batch = r->fit_data.global_batch_size > 0 ? r->fit_data.global_batch_size
                                                            : r->fit_data.batch_size * rows;
    if (batch <= samples)
        return;
    fgi_run_say(r, rows > 1 ? FG_LOG_WARNING : FG_LOG_INFO,
                "%sa batch has room for %" PRId64 " samples, but there %s only %" PRId64
                " for training: every epoch is one step, and the rest of the batch is padding; "
                "a smaller trainer.%s gives more steps and wastes less",
                rows > 1 ? "" : "note: ", batch, samples == 1 ? "is" : "are", samples,
                r->fit_data.global_batch_size > 0 ? "global_batch_size" : "batch_size");
}

/* Why a fit that has data for it does not validate; NULL: it does, or there are none. */
static const char *why_none(const fg_recipe *r)
{
    if (r->data.val == NULL)
        return NULL;
    if (fg_dataset_count(r->data.val) == 0)
        return "the validation data have no samples";
    if (fg_amount_of(r->c->trainer.limits.limit_val_batches, 1) == 0)
        return "trainer.limit_val_batches is 0";
    return fgi_run_validation_is_off(r)
               ? "trainer.val_every_epochs and trainer.val_every_steps are 0"
               : NULL;
}

static void note_no_data(const fg_recipe *r)
{
    const fg_format_entry *entry;
    fgi_buf keys = {0};
    if (fgi_run_format_find(r->c, &entry, NULL) == FG_OK)
        fgi_run_format_put_keys(entry, FG_PART_VAL, &keys);
    fgi_run_say(r, FG_LOG_INFO,
                "note: there will be no validation, because there are no data for it: set %s",
                keys.data != NULL ? keys.data : "data.val_fraction");
    fgi_buf_fini(&keys);
}

void fgi_run_note_validation(const fg_recipe *r)
{
    const char *why = why_none(r), *monitor = fgi_run_monitor(r);
    if (r->data.val == NULL)
        note_no_data(r);
    if (why != NULL)
        fgi_run_say(r, FG_LOG_INFO,
                    "note: there will be no validation, although there are data for it: %s", why);
    if ((why != NULL || r->fit_data.val == NULL) && !fgi_is_of_training(monitor))
        fgi_run_say(r, FG_LOG_WARNING,
                    "%s: %s is a validation metric, but there will be no validation, so there "
                    "will be no best checkpoint",
                    fgi_config_where(r->c, "trainer.monitor"), monitor);
}

void fgi_run_note_damaged(const fg_recipe *r, int64_t count, const char *first)
{
    const bool may_be_more = strcmp(r->c->data.format, "images") == 0 &&
                             strcmp(fg_option_string(r->c->values, "data.check"), "decode") != 0;
    fgi_run_say(r, FG_LOG_WARNING, "%" PRId64 " damaged training sample%s replaced by %s: %s%s",
                count, count == 1 ? " was" : "s were",
                count == 1 ? "another" : "others; the first one", first,
                may_be_more ? "; to find all damaged files before training, so that none is "
                              "used in some epochs, set data.check to decode"
                            : "");
}

void fgi_run_note_flawed(const fg_recipe *r, int64_t count, const char *first)
{
    fgi_run_say(r, FG_LOG_INFO, "%" PRId64 " image%s decoded with warnings; the first one: %s",
                count, count == 1 ? " was" : "s were", first);
}
