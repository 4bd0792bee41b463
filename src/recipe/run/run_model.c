/* run_model.c - the checkpoint that a run evaluates, resumes from or initializes from: finding it,
 * comparing it with the configuration; and the attachments of the run's checkpoints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fulgurite/pack.h>

#include "recipe/folder/run_dir.h"
#include "recipe/run/run.h"
#include "recipe/run/run_compare.h"
#include "recipe/run/run_format.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/alloc.h"
#include "input/json_file.h"
#include "base/text.h"

bool fgi_run_is_evaluation(const fg_recipe *r)
{
    return r->kind == FG_RECIPE_VALIDATE || r->kind == FG_RECIPE_TEST ||
           r->kind == FG_RECIPE_PREDICT;
}

static const char *given(const char *text) { return text != NULL && *text != '\0' ? text : NULL; }

/* ---- a checkpoint instead of a configuration ------------------------------------------------- */

fg_status fgi_run_set_data(const fg_recipe *r, const char *path, fg_error *err)
{
    char key[FGI_RUN_KEY_SIZE];
    const fg_format_entry *format = NULL;
    const fg_data_part part = fgi_run_format_part(r->kind);
    if (r->c->data.format == NULL)
        return fgi_fail(err, FG_EINVAL, "'%s': data.format must be given, to know what this is",
                        path);
    FGI_TRY(fgi_run_format_find(r->c, &format, err));
    const char *input = fgi_run_format_input(format, part);
    const char *target = fgi_run_format_target(format, part);
    input = input != NULL ? input : format->files.train;
    if (input == NULL)
        return fgi_fail(err, FG_EINVAL, "'%s': data.format %s reads no files", path,
                        format->entry.name);
    if (target != NULL)
        return fgi_fail(err, FG_EINVAL,
                        "'%s': data.format %s needs two files: give data.%s and data.%s", path,
                        format->entry.name, input, target);
    (void)fgi_run_format_key(input, key);
    fgi_buf assignment = {0};
    fgi_buf_printf(&assignment, "%s=\"%s\"", key, path);
    fg_status status = fgi_buf_status(&assignment, err);
    if (status == FG_OK)
        status = fgi_config_override(r->c, assignment.data, err);
    fgi_buf_fini(&assignment);
    return status;
}

/* The format of a file or folder, as far as one of images, packs or tables is recognized; else
 * NULL. */
static const char *format_of(const char *path)
{
    fg_pack *pack = NULL;
    if (fgi_ends_in_one_of(path, FGI_CONFIG_TABLES))
        return "csv";
    if (fg_pack_open(path, NULL, &pack, NULL) == FG_OK) {
        fg_pack_close(pack);
        return "pack";
    }
    return fgi_is_folder(path) || fgi_ends_in_one_of(path, FGI_CONFIG_IMAGES) ? "images" : NULL;
}

static bool is_pixels(const char *format)
{
    return strcmp(format, "images") == 0 || strcmp(format, "pack") == 0;
}

fg_status fgi_run_adopt_format(fg_recipe *r, fg_error *err)
{
    char key[FGI_RUN_KEY_SIZE];
    const fg_format_entry *format = NULL;
    if (fgi_config_is_overridden(r->c, "data.format") || r->c->data.format == NULL)
        return FG_OK;
    FGI_TRY(fgi_run_format_find(r->c, &format, err));
    const char *trained = format->entry.name;
    const char *input = fgi_run_format_input(format, fgi_run_format_part(r->kind));
    const char *path = input != NULL
                           ? given(fg_option_string(r->c->values, fgi_run_format_key(input, key)))
                           : NULL;
    const char *found =
        path != NULL && fgi_config_is_overridden(r->c, key) ? format_of(path) : NULL;
    if (found == NULL || strcmp(found, trained) == 0)
        return FG_OK;
    if (strcmp(trained, "csv") == 0)
        return fgi_fail(
            err, FG_EINVAL,
            "'%s' contains images, but the model was trained on tables: expected a .csv "
            "file with the columns of its training data",
            path);
    if (!is_pixels(trained))
        return FG_OK;
    if (strcmp(found, "csv") == 0 && strcmp(trained, "images") == 0)
        return FG_OK; /* a list of files */
    r->data_format = is_pixels(found) ? found : "images";
    fgi_run_say(r, FG_LOG_INFO,
                "note: '%s' is read as data.format %s, not as %s, which the model was trained on",
                path, r->data_format, trained);
    return fgi_config_set(r->c, "data.format", r->data_format, "--data.format", err);
}

/* The checkpoint's configuration with the command line's overrides. */
static fg_status read_adopted(fg_recipe *r, fg_error *err)
{
    const char *path = fg_ckpt_path(r->origin.ckpt);
    const char *text = fg_ckpt_attachment(r->origin.ckpt, FGI_RUN_ORIGIN_CONFIG);
    char name[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(path, FGI_RUN_ORIGIN_CONFIG, name, err));
    fgi_config_destroy(r->c);
    r->c = fgi_config_create(r->options.registry, err);
    if (r->c == NULL)
        return err->status;
    FGI_TRY(fgi_config_read(r->c, name, text, strlen(text), err));
    for (size_t i = 0; i < r->options.override_count; i++)
        FGI_TRY(fgi_config_override(r->c, r->options.overrides[i], err));
    if (r->evaluate.data != NULL)
        FGI_TRY(fgi_run_set_data(r, r->evaluate.data, err));
    return fgi_run_adopt_format(r, err);
}

/* The checkpoint on the command line: its first argument, or --ckpt=PATH if no data are
 * configured. */
static const char *named(const fg_recipe *r)
{
    const char *ckpt = r->evaluate.ckpt;
    if (r->options.config != NULL)
        return fgi_run_origin_is_named(r->options.config) ? r->options.config : NULL;
    const bool is_alone = ckpt != NULL && r->c->data.format == NULL;
    return is_alone && fgi_run_origin_is_named(ckpt) ? ckpt : NULL;
}

fg_status fgi_run_name_published(const fg_recipe *r, const char *path, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL,
                    "'%s' is a published model: expected a configuration or a trained model\n"
                    "to use it: fulgurite %s --model.hf=%s",
                    path, r->command, path);
}

fg_status fgi_run_adopt(fg_recipe *r, fg_error *err)
{
    const char *arg = fgi_run_is_evaluation(r) ? named(r) : NULL;
    if (arg == NULL)
        return FG_OK;
    const char *which = arg == r->evaluate.ckpt ? NULL : r->evaluate.ckpt;
    const fg_status status =
        fgi_run_origin_open(arg, which, r->c->run.dir, r->options.registry, &r->origin, err);
    if (status == FG_EINVAL && r->evaluate.data == NULL && fgi_config_is_data(arg))
        (void)fgi_snprintf(
            err->message + strlen(err->message), sizeof(err->message) - strlen(err->message),
            "\nif it is data, name the model first: fulgurite %s last %.200s", r->command, arg);
    if (status != FG_OK)
        return status;
    if (r->origin.c == NULL && fgi_exists_in(fg_ckpt_path(r->origin.ckpt), "config.json"))
        return fgi_run_name_published(r, fg_ckpt_path(r->origin.ckpt), err);
    if (r->origin.c == NULL)
        return fgi_fail(
            err, FG_EINVAL,
            "%s: contains no configuration; it was written by another program or an older "
            "version\ngive the configuration too: fulgurite %s CONFIG --ckpt=PATH",
            fg_ckpt_path(r->origin.ckpt), r->command);
    r->is_adopted = true;
    return read_adopted(r, err);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static bool is_path(const char *which)
{
    return which != NULL && strcmp(which, "last") != 0 && strcmp(which, "best") != 0 &&
           access(which, F_OK) == 0;
}

/* `which` as the user wrote it: a keyword, a name within the run, or a path. */
static fg_status open_which(fg_recipe *r, const char *which, fg_error *err)
{
    return fgi_run_origin_open(is_path(which) ? which : NULL, is_path(which) ? NULL : which,
                               r->folder, r->options.registry, &r->origin, err);
}

static fg_status open_weights(fg_recipe *r, fg_error *err)
{
    r->is_start = true;
    return fgi_run_origin_open(given(r->c->model.weights), NULL, NULL, r->options.registry,
                               &r->origin, err);
}

static fg_status find_evaluated(fg_recipe *r, const char **out_resume, fg_error *err)
{
    const char *ckpt = r->evaluate.ckpt;
    fg_status status = FG_OK;
    if (r->origin.ckpt == NULL) {
        FGI_TRY(fgi_run_dir_existing(r->c, r->config_path, &r->folder, err));
        if (ckpt == NULL && given(r->c->model.weights) != NULL) {
            status = open_weights(r, err); /* the weights to use */
        } else if (ckpt == NULL && r->folder == NULL) {
            return fgi_fail(err, FG_EINVAL,
                            "no weights: give a run's folder or a checkpoint, --ckpt=PATH, or "
                            "model.weights");
        } else {
            status = open_which(r, ckpt, err);
        }
    } else if (r->origin.run_dir != NULL) {
        r->folder = fgi_strdup(r->origin.run_dir);
        status = r->folder != NULL ? FG_OK : fgi_no_memory(err);
    }
    FGI_TRY(status);
    *out_resume = r->is_start ? NULL : fg_ckpt_path(r->origin.ckpt);
    fgi_buf line = {0};
    fgi_run_origin_print(&r->origin, &line);
    if (line.data != NULL)
        fgi_run_say(r, FG_LOG_INFO, "%s", line.data);
    fgi_buf_fini(&line);
    return FG_OK;
}

/* The checkpoints of an earlier run are only deleted on request. The Trainer checks again after
 * locking the folder; if another process has locked it, the Trainer reports which. */
static fg_status may_be_used(const fg_recipe *r, fg_error *err)
{
    if (r->fit.overwrite || !fgi_run_dir_is_used(r->folder) || fgi_run_dir_is_live(r->folder))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s' holds the checkpoints of an earlier run\n"
                    "--resume continues it, --overwrite deletes it, --trainer.run_dir=FOLDER "
                    "trains elsewhere",
                    r->folder);
}

static fg_status find_new_folder(fg_recipe *r, fg_error *err)
{
    fgi_free(r->folder);
    FGI_TRY(fgi_run_dir_new(r->c, r->config_path, &r->is_claimed, &r->folder, err));
    return may_be_used(r, err);
}

/* Prepares a run that does not resume. */
static fg_status find_beginning(fg_recipe *r, const char **out_resume, fg_error *err)
{
    *out_resume = NULL;
    if (r->folder == NULL || r->c->run.dir == NULL) {
        const fg_status status = find_new_folder(r, err);
        if (status != FG_OK)
            return status;
    }
    return given(r->c->model.weights) != NULL ? open_weights(r, err) : FG_OK;
}

/* A checkpoint given by its path is resumed in the run that it belongs to, unless trainer.run_dir
 * is set. */
static fg_status find_run_of_path(fg_recipe *r, fg_error *err)
{
    if (r->c->run.dir != NULL)
        return FG_OK;
    fgi_free(r->folder);
    r->folder = NULL;
    if (r->origin.run_dir == NULL)
        return find_new_folder(r, err);
    r->folder = fgi_strdup(r->origin.run_dir);
    return r->folder != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status find_continued(fg_recipe *r, const char **out_resume, fg_error *err)
{
    const char *which = given(r->c->run.resume);
    fg_error why = {0};
    if (r->fit.fast_dev_run || r->kind == FG_RECIPE_FIND_LR ||
        r->kind == FG_RECIPE_BENCH) /* leaves no trace */
        return given(r->c->model.weights) != NULL ? open_weights(r, err) : FG_OK;
    if (which == NULL)
        return find_beginning(r, out_resume, err);
    const bool is_auto = strcmp(which, "auto") == 0;
    FGI_TRY(fgi_run_dir_existing(r->c, r->config_path, &r->folder, err));
    if (r->folder == NULL && is_auto)
        return find_beginning(r, out_resume, err);
    if (r->folder == NULL && !is_path(which))
        return fgi_fail(err, FG_EINVAL,
                        "--trainer.resume=%s: there is no earlier run of this configuration in "
                        "'runs' here (auto would start a new run)",
                        which);
    const fg_status status = open_which(r, is_auto ? "last" : which, &why);
    if (status == FG_OK) {
        *out_resume = fg_ckpt_path(r->origin.ckpt);
        return is_path(which) ? find_run_of_path(r, err) : FG_OK;
    }
    if (is_auto && status == FG_ENOTFOUND) {
        fgi_run_origin_close(&r->origin);
        return find_beginning(r, out_resume, err);
    }
    *err = why;
    return status;
}

fg_status fgi_run_find_origin(fg_recipe *r, const char **out_resume, fg_error *err)
{
    return fgi_run_is_evaluation(r) ? find_evaluated(r, out_resume, err)
                                    : find_continued(r, out_resume, err);
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Initializing from any weights is the user's choice, but using them in a model with a different
 * computation is rarely intended. */
static void warn_of_start(const fg_recipe *r)
{
    fgi_run_differences differences = {.text = ""};
    if (r->origin.c == NULL)
        return;
    fgi_run_compare_model(r->origin.c, r->c, &differences);
    if (differences.count > 0)
        fgi_run_say(r, FG_LOG_WARNING, "%s was trained with a different model:%s",
                    fg_ckpt_path(r->origin.ckpt), differences.text);
}

/* A run that resumes may be trained in another way, but not by mistake. A file that cannot be read,
 * such as one of a program with custom rows, is not compared. */
static void note_training(const fg_recipe *r)
{
    char more[48];
    fgi_run_differences differences = {.limit = sizeof(differences.text)};
    const char *text = fg_ckpt_attachment(r->origin.ckpt, FGI_RUN_ORIGIN_TRAINING);
    fgi_config *had = text != NULL ? fgi_config_create(r->options.registry, NULL) : NULL;
    if (had != NULL &&
        fgi_config_read(had, FGI_RUN_ORIGIN_TRAINING, text, strlen(text), &(fg_error){0}) == FG_OK)
        fgi_run_compare_training(had, r->c, &differences);
    if (differences.count > 0)
        fgi_run_say(r, FG_LOG_WARNING, "%s was trained with different settings:%s%s",
                    fg_ckpt_path(r->origin.ckpt), differences.text,
                    fgi_run_compare_more(&differences, more));
    fgi_config_destroy(had);
}

fg_status fgi_run_check_origin(const fg_recipe *r, fg_error *err)
{
    const bool is_evaluation = fgi_run_is_evaluation(r);
    fgi_run_differences differences = {.text = ""};
    if (r->origin.ckpt == NULL)
        return FG_OK;
    if (r->is_start && !is_evaluation) {
        warn_of_start(r);
        return FG_OK;
    }
    if (r->origin.c != NULL)
        fgi_run_compare_model(r->origin.c, r->c, &differences);
    if (r->origin.c != NULL && is_evaluation)
        fgi_run_compare_columns(r->origin.c, r->c, fgi_run_schema_target(&r->schema), &differences);
    if (r->origin.data != NULL) {
        json_t *here = fgi_run_task_describe(&r->task);
        fgi_run_compare_data(r->origin.data, here, &differences);
        json_decref(here);
    }
    if (r->kind == FG_RECIPE_FIT && differences.count == 0)
        note_training(r);
    return fgi_run_compare_fail(
        &differences, fg_ckpt_path(r->origin.ckpt),
        is_evaluation ? "leave CONFIG or these options out to use the checkpoint's own settings"
                      : "to train with other settings, start from its weights instead: "
                        "model.weights",
        err);
}

/* ---- initial weights ------------------------------------------------------------------------- */

fg_load_options fgi_run_weights_options(const fg_recipe *r)
{
    const fgi_config *c = r->c;
    return (fg_load_options){.prefix = given(c->model.weights_prefix),
                             .skip = c->model.weights_skip.at,
                             .skip_count = c->model.weights_skip.count,
                             .allow_missing = c->model.weights_partial,
                             .allow_mismatch = c->model.weights_partial,
                             .new_head = !fgi_run_is_evaluation(r),
                             .model = r->task.model_entry};
}

void fgi_run_say_weights(const fg_recipe *r)
{
    const fg_load_report *report = fg_trainer_load_report(r->trainer);
    if (report->entry_count > 0)
        fgi_run_say(r, FG_LOG_INFO, "%s", report->text);
}

/* ---- attachments of the run's checkpoints ---------------------------------------------------- */

static char *config_to_text(const fgi_config *c, void (*print)(const fgi_config *c, fgi_buf *out))
{
    fgi_buf text = {0};
    print(c, &text);
    return fgi_buf_take(&text);
}

fg_status fgi_run_attach(fg_recipe *r, fg_attachment *storage, fg_trainer_options *options,
                         fg_error *err)
{
    if (r->kind != FG_RECIPE_FIT)
        return FG_OK;
    json_t *data = fgi_run_task_describe(&r->task);
    r->attached_config = config_to_text(r->c, fgi_config_print_model);
    r->attached_training = config_to_text(r->c, fgi_config_print_training);
    r->attached_data = fgi_json_text(data, JSON_INDENT(1));
    json_decref(data);
    if (r->attached_config == NULL || r->attached_data == NULL || r->attached_training == NULL)
        return fgi_no_memory(err);
    storage[0] = (fg_attachment){FGI_RUN_ORIGIN_CONFIG, r->attached_config};
    storage[1] = (fg_attachment){FGI_RUN_ORIGIN_DATA, r->attached_data};
    storage[2] = (fg_attachment){FGI_RUN_ORIGIN_TRAINING, r->attached_training};
    options->checkpoints.attachments = storage;
    options->checkpoints.attachment_count = 3;
    return FG_OK;
}
