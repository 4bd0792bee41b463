/* ckpt_open.c - opens checkpoint folders and single tensor files, for the public reading API.
 *
 * A folder is checked against its manifest before its tensor files are parsed. The fg_ckpt owns the
 * mappings and the text of state.json; everything that it returns is borrowed from them.
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
    fgi_safetensors parts[2]; /* by fg_ckpt_part; the second one is empty for a single file */
    char *state_json;
    char *path;
};

static fg_status load_part(const char *folder, const char *name, fg_ckpt_part part, fg_ckpt *ckpt,
                           fg_error *err)
{
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    return fgi_safetensors_open(path, part, &ckpt->parts[part], err);
}

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

static fg_status open_folder(const char *path, bool with_checksums, fg_ckpt *ckpt, fg_error *err)
{
    fgi_manifest manifest;
    FGI_TRY(fgi_manifest_read(path, &manifest, err));
    for (size_t i = 0; i < manifest.file_count; i++)
        FGI_TRY(fgi_manifest_check_file(path, &manifest.files[i], with_checksums, err));
    FGI_TRY(load_part(path, FGI_CKPT_MODEL_FILE, FG_CKPT_MODEL, ckpt, err));
    FGI_TRY(load_part(path, FGI_CKPT_STATE_FILE, FG_CKPT_STATE, ckpt, err));
    return read_state_json(path, ckpt, err);
}

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
    status = is_folder
                 ? open_folder(path, !(options && options->no_checksums), ckpt, err)
                 : fgi_safetensors_open(path, FG_CKPT_MODEL, &ckpt->parts[FG_CKPT_MODEL], err);
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
    fgi_safetensors_close(&ckpt->parts[FG_CKPT_MODEL]);
    fgi_safetensors_close(&ckpt->parts[FG_CKPT_STATE]);
    fgi_free(ckpt->state_json);
    fgi_free(ckpt->path);
    fgi_free(ckpt);
}

size_t fg_ckpt_count(const fg_ckpt *ckpt)
{
    return ckpt->parts[FG_CKPT_MODEL].count + ckpt->parts[FG_CKPT_STATE].count;
}

const fg_tensor_info *fg_ckpt_info(const fg_ckpt *ckpt, size_t index)
{
    const fgi_safetensors *model = &ckpt->parts[FG_CKPT_MODEL], *state = model + 1;
    if (index < model->count)
        return &model->tensors[index];
    return index - model->count < state->count ? &state->tensors[index - model->count] : NULL;
}

const void *fg_ckpt_data(const fg_ckpt *ckpt, size_t index)
{
    const fg_tensor_info *info = fg_ckpt_info(ckpt, index);
    return info ? ckpt->parts[info->part].mapping.data + info->offset_bytes : NULL;
}

bool fg_ckpt_find(const fg_ckpt *ckpt, fg_ckpt_part part, const char *name, size_t *out_index)
{
    if ((unsigned)part > FG_CKPT_STATE)
        return false;
    const fgi_safetensors *file = &ckpt->parts[part];
    const fg_tensor_info *info = fgi_map_get(&file->by_name, fgi_hash_text(name));
    if (!info)
        return false;
    const size_t before = part == FG_CKPT_STATE ? ckpt->parts[FG_CKPT_MODEL].count : 0;
    *out_index = before + (size_t)(info - file->tensors);
    return true;
}

const char *fg_ckpt_state_json(const fg_ckpt *ckpt) { return ckpt->state_json; }

const char *fg_ckpt_metadata(const fg_ckpt *ckpt, const char *key)
{
    return fgi_map_get(&ckpt->parts[FG_CKPT_MODEL].metadata, fgi_hash_text(key));
}
