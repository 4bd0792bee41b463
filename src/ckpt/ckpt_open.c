/* ckpt_open.c - opens checkpoint folders, folders of published weights and single tensor files, for
 * the public reading API.
 *
 * A checkpoint folder is checked against its manifest before its tensor files are parsed. A folder
 * of published weights has one tensor file or several with an index, as transformers writes them.
 * The fg_ckpt owns the mappings and the text of state.json; everything that it returns is borrowed
 * from them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ckpt.h>

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/reserved.h"
#include "input/json_file.h"
#include "ckpt/manifest.h"
#include "ckpt/safetensors.h"
#include "ckpt/series.h"

/* Far more than a trainer stores there; prevents reading a damaged file completely into memory. */
enum { STATE_JSON_MAX_BYTES = 256 << 20 };

struct fg_ckpt {
    fgi_safetensors *files; /* those of the model, then that of the state, of a checkpoint folder */
    size_t file_count, model_files;
    char *state_json;
    char *path;
};

static fg_status make_files(size_t count, fg_ckpt *ckpt, fg_error *err)
{
    ckpt->files = fgi_calloc(count + 1, sizeof *ckpt->files);
    return ckpt->files != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status load_file(const char *path, fg_ckpt_part part, fg_ckpt *ckpt, fg_error *err)
{
    FGI_TRY(fgi_safetensors_open(path, part, &ckpt->files[ckpt->file_count], err));
    ckpt->file_count++;
    ckpt->model_files += part == FG_CKPT_MODEL;
    return FG_OK;
}

static fg_status load_part(const char *folder, const char *name, fg_ckpt_part part, fg_ckpt *ckpt,
                           fg_error *err)
{
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    return load_file(path, part, ckpt, err);
}

/* ---- checkpoint folders ---------------------------------------------------------------------- */

static fg_status check_json(const char *path, const char *text, size_t size, fg_error *err)
{
    json_t *root;
    FGI_TRY(fgi_json_parse(path, 0, text, size, &root, err));
    const bool is_object = json_is_object(root);
    json_decref(root);
    return is_object ? FG_OK : fgi_fail(err, FG_EFORMAT, "%s: expected a JSON object", path);
}

static fg_status read_state_json(const char *folder, fg_ckpt *ckpt, fg_error *err)
{
    size_t size;
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, FGI_CKPT_JSON_FILE, path, err));
    FGI_TRY(fgi_file_read(path, STATE_JSON_MAX_BYTES, &ckpt->state_json, &size, err));
    return check_json(path, ckpt->state_json, size, err);
}

static fg_status open_checkpoint(const char *path, bool with_checksums, fg_ckpt *ckpt,
                                 fg_error *err)
{
    fgi_manifest manifest;
    FGI_TRY(make_files(2, ckpt, err));
    FGI_TRY(fgi_manifest_read(path, &manifest, err));
    for (size_t i = 0; i < manifest.file_count; i++)
        FGI_TRY(fgi_manifest_check_file(path, &manifest.files[i], with_checksums, err));
    FGI_TRY(load_part(path, FGI_CKPT_MODEL_FILE, FG_CKPT_MODEL, ckpt, err));
    FGI_TRY(load_part(path, FGI_CKPT_STATE_FILE, FG_CKPT_STATE, ckpt, err));
    return read_state_json(path, ckpt, err);
}

/* ---- folders of published weights ------------------------------------------------------------ */

/* The files of an index, in its order: an object {FILE: null}. */
static fg_status list_shards(const char *path, const json_t *map, json_t *files, fg_error *err)
{
    const char *tensor;
    json_t *file;
    json_object_foreach((json_t *)map, tensor, file)
    {
        const char *name = json_string_value(file);
        if (name == NULL || *name == '\0' || strchr(name, '/') != NULL)
            return fgi_fail(err, FG_EFORMAT,
                            "%s: weight_map: '%s': expected the name of a file in this folder",
                            path, tensor);
        if (json_object_set_new(files, name, json_null()) != 0)
            return fgi_no_memory(err);
    }
    if (json_object_size(files) == 0)
        return fgi_fail(err, FG_EFORMAT, "%s: expected \"weight_map\": {TENSOR: FILE, ...}", path);
    return FG_OK;
}

/* Each tensor must be in exactly one file, and in the index. */
static fg_status check_shards(const char *path, const json_t *map, const fg_ckpt *ckpt,
                              fg_error *err)
{
    const char *tensor;
    json_t *file;
    json_object_foreach((json_t *)map, tensor, file)
    {
        size_t index;
        if (!fg_ckpt_find(ckpt, FG_CKPT_MODEL, tensor, &index))
            return fgi_fail(err, FG_EFORMAT, "%s: weight_map: '%s' has no tensor '%s'", path,
                            json_string_value(file), tensor);
    }
    if (fg_ckpt_count(ckpt) != json_object_size(map))
        return fgi_fail(err, FG_EFORMAT, "%s: weight_map lists %zu tensors, but its files have %zu",
                        path, json_object_size(map), fg_ckpt_count(ckpt));
    return FG_OK;
}

/* How many tensors an index has in a file. */
static size_t count_in(const json_t *map, const char *name)
{
    const char *tensor;
    json_t *file;
    size_t count = 0;
    json_object_foreach((json_t *)map, tensor, file) count +=
        strcmp(json_string_value(file), name) == 0;
    return count;
}

static fg_status open_shards(const char *folder, fg_ckpt *ckpt, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    const char *name;
    char *text = NULL;
    size_t size;
    json_t *root = NULL, *files = json_object(), *unused;
    fg_status status;
    FGI_DONE(files != NULL ? FG_OK : fgi_no_memory(err));
    FGI_DONE(fgi_path_put(folder, FGI_CKPT_INDEX_FILE, path, err));
    FGI_DONE(fgi_file_read(path, STATE_JSON_MAX_BYTES, &text, &size, err));
    FGI_DONE(fgi_json_parse(path, 0, text, size, &root, err));
    const json_t *map = json_object_get(root, "weight_map");
    FGI_DONE(list_shards(path, map, files, err));
    FGI_DONE(make_files(json_object_size(files), ckpt, err));
    json_object_foreach(files, name, unused)
    {
        status = load_part(folder, name, FG_CKPT_MODEL, ckpt, err);
        if (status == FG_ENOTFOUND)
            (void)fgi_context(err, status, "%s lists '%s' for %zu of its tensors", path, name,
                              count_in(map, name));
        FGI_DONE(status);
    }
    FGI_DONE(check_shards(path, map, ckpt, err));
done:
    fgi_free(text);
    json_decref(root);
    json_decref(files);
    return status;
}

#define PICKLE_FILE "pytorch_model.bin"

bool fg_ckpt_is_published(const char *folder)
{
    return fgi_exists_in(folder, FGI_CKPT_MODEL_FILE) ||
           fgi_exists_in(folder, FGI_CKPT_INDEX_FILE) || fgi_exists_in(folder, PICKLE_FILE);
}

static fg_status open_folder(const char *path, bool with_checksums, fg_ckpt *ckpt, fg_error *err)
{
    if (fgi_exists_in(path, FGI_CKPT_MANIFEST_FILE))
        return open_checkpoint(path, with_checksums, ckpt, err);
    if (fgi_exists_in(path, FGI_CKPT_INDEX_FILE))
        return open_shards(path, ckpt, err);
    if (fgi_exists_in(path, FGI_CKPT_STATE_FILE))
        return open_checkpoint(path, with_checksums, ckpt, err);
    if (fgi_exists_in(path, FGI_CKPT_MODEL_FILE)) {
        FGI_TRY(make_files(1, ckpt, err));
        return load_part(path, FGI_CKPT_MODEL_FILE, FG_CKPT_MODEL, ckpt, err);
    }
    if (fgi_exists_in(path, PICKLE_FILE))
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: has " PICKLE_FILE ", a pickle, which can run any code when it is "
                        "read: expected " FGI_CKPT_MODEL_FILE "\n"
                        "if you trust it, convert it in Python: "
                        "AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER)",
                        path);
    return open_checkpoint(path, with_checksums, ckpt, err);
}

/* ---- the public functions -------------------------------------------------------------------- */

fg_status fg_ckpt_open(const char *path, const fg_ckpt_options *options, fg_ckpt **out,
                       fg_error *err)
{
    if (!out)
        return fgi_fail(err, FG_EINVAL,
                        "fg_ckpt_open: out is NULL: expected the address of a pointer");
    *out = NULL;
    if (!path || !*path)
        return fgi_fail(err, FG_EINVAL, "fg_ckpt_open: path is NULL or empty");
    FGI_TRY_RESERVED(fg_ckpt_options, options, err);
    const bool is_folder = fgi_is_folder(path);
    fg_ckpt *ckpt = fgi_calloc(1, sizeof(*ckpt));
    if (!ckpt)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    FGI_DONE((ckpt->path = fgi_strdup(path)) != NULL ? FG_OK : fgi_no_memory(err));
    if (is_folder) {
        status = open_folder(path, !(options && options->no_checksums), ckpt, err);
    } else {
        FGI_DONE(make_files(1, ckpt, err));
        status = load_file(path, FG_CKPT_MODEL, ckpt, err);
    }
done:
    if (status == FG_OK)
        *out = ckpt;
    else
        fg_ckpt_close(ckpt);
    return status;
}

fg_status fg_ckpt_open_run(const char *run_dir, const char *which, const fg_ckpt_options *options,
                           fg_ckpt **out, fg_error *err)
{
    if (!out || !which)
        return fgi_fail(
            err, FG_EINVAL,
            "fg_ckpt_open_run: which is NULL or empty: expected last, best, a name or a path");
    *out = NULL;
    FGI_TRY_RESERVED(fg_ckpt_options, options, err);
    char folder[FGI_PATH_BYTES], *path;
    if (run_dir != NULL)
        FGI_TRY(fgi_path_put(run_dir, "checkpoints", folder, err));
    FGI_TRY(fgi_ckpt_resolve(run_dir != NULL ? folder : NULL, which, &path, err));
    const fg_status status = fg_ckpt_open(path, options, out, err);
    fgi_free(path);
    return status;
}

const char *fg_ckpt_path(const fg_ckpt *ckpt) { return ckpt->path; }

void fg_ckpt_close(fg_ckpt *ckpt)
{
    if (!ckpt)
        return;
    for (size_t i = 0; i < ckpt->file_count; i++)
        fgi_safetensors_close(&ckpt->files[i]);
    fgi_free(ckpt->files);
    fgi_free(ckpt->state_json);
    fgi_free(ckpt->path);
    fgi_free(ckpt);
}

size_t fg_ckpt_count(const fg_ckpt *ckpt)
{
    size_t count = 0;
    for (size_t i = 0; i < ckpt->file_count; i++)
        count += ckpt->files[i].count;
    return count;
}

/* The file of tensor `*index`, which becomes the index in that file; NULL: there is none. */
static const fgi_safetensors *file_of(const fg_ckpt *ckpt, size_t *index)
{
    for (size_t i = 0; i < ckpt->file_count; *index -= ckpt->files[i++].count)
        if (*index < ckpt->files[i].count)
            return &ckpt->files[i];
    return NULL;
}

const fg_tensor_info *fg_ckpt_info(const fg_ckpt *ckpt, size_t index)
{
    const fgi_safetensors *file = file_of(ckpt, &index);
    return file ? &file->tensors[index] : NULL;
}

const void *fg_ckpt_data(const fg_ckpt *ckpt, size_t index)
{
    const fgi_safetensors *file = file_of(ckpt, &index);
    return file ? file->mapping.data + file->tensors[index].offset_bytes : NULL;
}

bool fg_ckpt_find(const fg_ckpt *ckpt, fg_ckpt_part part, const char *name, size_t *out_index)
{
    size_t before = 0;
    if ((unsigned)part > FG_CKPT_STATE)
        return false;
    for (size_t i = 0; i < ckpt->file_count; before += ckpt->files[i++].count) {
        const fgi_safetensors *file = &ckpt->files[i];
        const bool is_of_part = (i < ckpt->model_files) == (part == FG_CKPT_MODEL);
        const fg_tensor_info *info =
            is_of_part ? fgi_map_get(&file->by_name, fgi_hash_text(name)) : NULL;
        if (info != NULL) {
            *out_index = before + (size_t)(info - file->tensors);
            return true;
        }
    }
    return false;
}

const char *fg_ckpt_state_json(const fg_ckpt *ckpt) { return ckpt->state_json; }

const char *fg_ckpt_metadata(const fg_ckpt *ckpt, const char *key)
{
    return fgi_map_get(&ckpt->files[0].metadata, fgi_hash_text(key));
}
