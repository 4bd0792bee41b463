/* run_origin.c - finds and opens the checkpoint named by the user (a run's folder, `last`, `best`,
 * a checkpoint's folder, a .safetensors file) and reads its attachments: config.yaml, the model's
 * part of the configuration, and data.json, which describes the data.
 *
 * Tensors are only listed here; the Trainer reads them and verifies checksums.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recipe/folder/run_origin.h"
#include "recipe/folder/run_dir.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/buf.h"
#include "input/json_file.h"

/* ---- paths ----------------------------------------------------------------------------------- */

static bool is_word(const char *arg)
{
    return strcmp(arg, "last") == 0 || strcmp(arg, "best") == 0;
}

/* Whether a name in checkpoints/ is that of a pointer: last, best, best-METRIC. */
static bool is_pointer_name(const char *name)
{
    return is_word(name) || strncmp(name, "best-", 5) == 0;
}

/* "a/b" of "a/b/c", "." of "c"; NULL when out of memory. */
static char *parent_of(const char *path)
{
    const char *name = fgi_after_last(path, '/');
    return name == path ? fgi_strdup(".") : fgi_strndup(path, (size_t)(name - path) - 1);
}

/* RUN of RUN/checkpoints/NAME; *out is NULL for other paths. */
static fg_status run_of(const char *path, char **out, fg_error *err)
{
    char *folder = parent_of(path);
    const bool is_run = folder != NULL && strcmp(fgi_after_last(folder, '/'), "checkpoints") == 0;
    *out = is_run ? parent_of(folder) : NULL;
    const bool is_good = folder != NULL && (!is_run || *out != NULL);
    fgi_free(folder);
    return is_good ? FG_OK : fgi_no_memory(err);
}

/* Whether a path is that of something in a folder `checkpoints`, which has no configurations. */
static bool is_in_checkpoints(const char *path)
{
    static const char folder[] = "checkpoints/";
    const char *found = strstr(path, folder);
    while (found != NULL && found != path && found[-1] != '/')
        found = strstr(found + 1, folder);
    return found != NULL && !fgi_ends_with(path, ".yaml") && !fgi_ends_with(path, ".yml");
}

bool fgi_run_origin_is_named(const char *arg)
{
    return is_word(arg) || fgi_is_folder(arg) || fgi_ends_with(arg, ".safetensors") ||
           is_in_checkpoints(arg);
}

/* ---- selection ------------------------------------------------------------------------------- */

/* A copy of the string; NULL for NULL. */
static fg_status copy(const char *text, char **out, fg_error *err)
{
    *out = text != NULL ? fgi_strdup(text) : NULL;
    return *out != NULL || text == NULL ? FG_OK : fgi_no_memory(err);
}

/* Fills run_dir and which from a folder or file without trailing slashes; *out_path is the path to
 * open if it cannot be found through the run. */
static fg_status look_at_path(const char *path, const char *which, fgi_run_origin *out,
                              char **out_path, fg_error *err)
{
    const bool is_checkpoint = fgi_is_folder(path) && fgi_exists_in(path, "manifest.json");
    const bool is_pointer = !fgi_is_folder(path) && is_pointer_name(fgi_after_last(path, '/'));
    if (is_pointer) {
        FGI_TRY(run_of(path, &out->run_dir, err));
        return copy(fgi_after_last(path, '/'), &out->which, err);
    }
    if (strcmp(fgi_after_last(path, '/'), "checkpoints") == 0) {
        out->run_dir = parent_of(path);
        return out->run_dir != NULL ? copy(which != NULL ? which : "", &out->which, err)
                                    : fgi_no_memory(err);
    }
    if (fgi_is_folder(path) && fgi_exists_in(path, "checkpoints")) {
        FGI_TRY(copy(path, &out->run_dir, err));
        return copy(which != NULL ? which : "", &out->which, err);
    }
    if (fgi_is_folder(path) && !is_checkpoint && !fg_ckpt_is_published(path))
        return fgi_fail(err, FG_EINVAL,
                        "'%s' is neither a run's folder (it has no 'checkpoints') nor a checkpoint "
                        "(it has no 'manifest.json') nor a folder of published weights (it has no "
                        "'model.safetensors')",
                        path);
    if (is_checkpoint) {
        FGI_TRY(run_of(path, &out->run_dir, err));
    } else { /* a file in a checkpoint's folder */
        char *folder = parent_of(path);
        const fg_status status =
            folder != NULL ? run_of(folder, &out->run_dir, err) : fgi_no_memory(err);
        fgi_free(folder);
        FGI_TRY(status);
    }
    return copy(path, out_path, err);
}

static fg_status two_names(const char *arg, const char *which, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL,
                    "'%s' and --ckpt=%s name different checkpoints: expected only one of them", arg,
                    which);
}

static fg_status look_at(const char *arg, const char *which, fgi_run_origin *out, char **out_path,
                         fg_error *err)
{
    size_t size = strlen(arg);
    while (size > 1 && arg[size - 1] == '/')
        size--;
    char *path = fgi_strndup(arg, size);
    if (path == NULL)
        return fgi_no_memory(err);
    const bool is_pointer = !fgi_is_folder(path) && is_pointer_name(fgi_after_last(path, '/'));
    fg_status status = look_at_path(path, which, out, out_path, err);
    if (status == FG_OK && which != NULL && (*out_path != NULL || is_pointer))
        status = two_names(arg, which, err);
    fgi_free(path);
    return status;
}

/* `last` is a run, the given folder or else the newest one; `best` also selects its checkpoint. */
static fg_status look_for_word(const char *word, const char *which, const char *run_dir,
                               fgi_run_origin *out, fg_error *err)
{
    const bool is_best = strcmp(word, "best") == 0;
    if (run_dir != NULL)
        FGI_TRY(copy(run_dir, &out->run_dir, err));
    else
        FGI_TRY(fgi_run_newest(&out->run_dir, err));
    if (out->run_dir == NULL)
        return fgi_fail(err, FG_ENOTFOUND,
                        "%s: there is no run in 'runs' here\n"
                        "give a run's folder, a checkpoint's folder or a .safetensors file",
                        word);
    if (run_dir == NULL && fgi_exists_in(out->run_dir, "sweep.json"))
        return fgi_fail(err, FG_ENOTFOUND,
                        "%s: '%s', the newest in 'runs', is a sweep: name one of its runs", word,
                        out->run_dir);
    if (run_dir == NULL && !fgi_exists_in(out->run_dir, "checkpoints"))
        return fgi_fail(err, FG_ENOTFOUND,
                        "%s: '%s', the newest run in 'runs', has no checkpoint: name another run",
                        word, out->run_dir);
    if (is_best && which != NULL && strcmp(which, "best") != 0)
        return two_names(word, which, err);
    return copy(is_best ? word : which != NULL ? which : "", &out->which, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A config.yaml written by an older or newer version may not be readable. */
static fg_status read_config(const fg_registry *registry, fgi_run_origin *out, fg_error *err)
{
    fg_error inner = {0};
    const char *text = fg_ckpt_attachment(out->ckpt, FGI_RUN_ORIGIN_CONFIG);
    if (text == NULL)
        return FG_OK;
    out->c = fgi_config_create(registry, err);
    if (out->c == NULL)
        return err->status;
    if (fgi_config_read(out->c, FGI_RUN_ORIGIN_CONFIG, text, strlen(text), &inner) == FG_OK)
        return FG_OK;
    fgi_config_destroy(out->c);
    out->c = NULL;
    if (inner.status == FG_ENOMEM)
        return fgi_no_memory(err);
    return fgi_fail(err, FG_EFORMAT,
                    "%s: its configuration cannot be read: %.300s\n"
                    "it was written by another version, or by a program with custom rows: use that "
                    "program, or set fg_recipe_options.registry",
                    fg_ckpt_path(out->ckpt), inner.message);
}

static fg_status read_data(fgi_run_origin *out, fg_error *err)
{
    json_error_t fault;
    const char *text = fg_ckpt_attachment(out->ckpt, FGI_RUN_ORIGIN_DATA);
    if (text == NULL)
        return FG_OK;
    out->data = fgi_json_load(text, strlen(text), JSON_REJECT_DUPLICATES, &fault);
    if (out->data == NULL)
        return fgi_fail(err, FG_EFORMAT, "%s: %s: line %d: %s", fg_ckpt_path(out->ckpt),
                        FGI_RUN_ORIGIN_DATA, fault.line, fault.text);
    return FG_OK;
}

fg_status fgi_run_origin_open(const char *arg, const char *which, const char *run_dir,
                              const fg_registry *registry, fgi_run_origin *out, fg_error *err)
{
    static const fg_ckpt_options quick = {.no_checksums = true};
    char *path = NULL;
    fg_status status = FG_OK;
    *out = (fgi_run_origin){0};
    if (arg != NULL && is_word(arg))
        status = look_for_word(arg, which, run_dir, out, err);
    else if (arg != NULL)
        status = look_at(arg, which, out, &path, err);
    else
        status = copy(run_dir, &out->run_dir, err);
    if (status == FG_OK && arg == NULL)
        status = copy(which != NULL ? which : "", &out->which, err);
    if (status == FG_OK && out->which != NULL && *out->which == '\0') {
        fgi_free(out->which);
        status = copy(fgi_exists_in(out->run_dir, "checkpoints/best") ? "best" : "last",
                      &out->which, err);
    }
    if (status == FG_OK && path != NULL)
        status = fg_ckpt_open(path, &quick, &out->ckpt, err);
    else if (status == FG_OK)
        status = fg_ckpt_open_run(out->run_dir, out->which, &quick, &out->ckpt, err);
    fgi_free(path);
    if (status == FG_OK)
        status = read_config(registry, out, err);
    return status == FG_OK ? read_data(out, err) : status;
}

void fgi_run_origin_close(fgi_run_origin *origin)
{
    fg_ckpt_close(origin->ckpt);
    if (origin->c != NULL)
        fgi_config_destroy(origin->c);
    json_decref(origin->data);
    fgi_free(origin->run_dir);
    fgi_free(origin->which);
    *origin = (fgi_run_origin){0};
}

/* ---- description ----------------------------------------------------------------------------- */

/* A counter from the model file's metadata, or else from state.json; -1: not known. */
static int64_t counter(const fgi_run_origin *origin, const char *metadata, const char *key)
{
    int64_t value = -1;
    const char *text = fg_ckpt_metadata(origin->ckpt, metadata);
    const char *state = fg_ckpt_state_json(origin->ckpt);
    if (text != NULL)
        return strtoll(text, NULL, 10);
    json_t *root = state != NULL ? fgi_json_load(state, strlen(state), 0, NULL) : NULL;
    if (json_is_integer(json_object_get(root, key)))
        value = json_integer_value(json_object_get(root, key));
    json_decref(root);
    return value;
}

void fgi_run_origin_print(const fgi_run_origin *origin, fgi_buf *out)
{
    const char *separator = " (";
    const int64_t step = counter(origin, "fulgurite.step", "step");
    const int64_t epoch = counter(origin, "fulgurite.epoch", "epoch");
    fgi_buf_printf(out, "checkpoint: %s", fg_ckpt_path(origin->ckpt));
    if (origin->run_dir != NULL) {
        fgi_buf_printf(out, "%srun %s", separator, origin->run_dir);
        separator = ", ";
    }
    if (origin->which != NULL && is_pointer_name(origin->which)) {
        fgi_buf_printf(out, "%s%s", separator, origin->which);
        separator = ", ";
    }
    if (step >= 0) {
        fgi_buf_printf(out, "%sstep %" PRId64 ", epoch %" PRId64, separator, step, epoch);
        separator = ", ";
    }
    fgi_buf_puts(out, strcmp(separator, ", ") == 0 ? ")" : "");
}
