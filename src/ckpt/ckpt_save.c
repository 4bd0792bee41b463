/* ckpt_save.c - writes tensor files and checkpoint folders so that a reader, after a crash at any
 * moment, finds either the old content or the new one.
 *
 * All files are written to a temporary folder (base/temporary.h) and synced, then that folder is
 * renamed and the parent folder is synced. An existing checkpoint with the same name is exchanged
 * with it in one system call if the file system supports that, and otherwise first renamed to
 * NAME.old.OWNER.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ckpt.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/output.h"
#include "base/reserved.h"
#include "base/temporary.h"
#include "ckpt/attach.h"
#include "input/json_file.h"
#include "ckpt/manifest.h"
#include "ckpt/safetensors.h"
#include "ckpt/series.h"

/* A new file that only this process writes. */
static fg_status create_file(const char *path, int *out_fd, fg_error *err)
{
    *out_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    return *out_fd >= 0 ? FG_OK : fgi_fail_errno(err, "create", path);
}

/* Syncs the content and closes the file; the result of close matters too (NFS, quotas). */
static fg_status finish_file(int fd, const char *path, fg_status status, fg_error *err)
{
    if (status == FG_OK && fsync(fd) != 0)
        status = fgi_fail_errno(err, "sync", path);
    if (close(fd) != 0 && status == FG_OK)
        status = fgi_fail_errno(err, "close", path);
    return status;
}

static fg_status write_tensors(const char *path, const fgi_tensors *tensors, fgi_manifest_file *out,
                               fg_error *err)
{
    int fd;
    FGI_TRY(create_file(path, &fd, err));
    return finish_file(fd, path, fgi_safetensors_stream(fd, path, tensors, out, err), err);
}

static fg_status write_text(const char *path, const char *text, fgi_manifest_file *out,
                            fg_error *err)
{
    int fd;
    const size_t size = strlen(text);
    out->bytes = size;
    out->checksum = fgi_checksum64(text, size);
    FGI_TRY(create_file(path, &fd, err));
    return finish_file(fd, path, fgi_write_all(fd, path, text, size, err), err);
}

fg_status fg_safetensors_write(const char *path, const fg_ckpt_tensor *tensors, size_t count,
                               const char *const *metadata, fg_error *err)
{
    if (!path || !*path || (count > 0 && !tensors))
        return fgi_fail(err, FG_EINVAL, "fg_safetensors_write: path or tensors is NULL");
    const fgi_tensors content = {tensors, count, metadata};
    fgi_manifest_file unused;
    fgi_output out;
    FGI_TRY(fgi_output_open(path, &out, err));
    return fgi_output_close(&out, fgi_safetensors_stream(out.fd, path, &content, &unused, err),
                            err);
}

/* Writes the model's tensors, with the attachments, because the file may be copied on its own. */
static fg_status write_model(const char *path, const fg_ckpt_content *content,
                             fgi_manifest_file *file, fg_error *err)
{
    const char **metadata =
        fgi_attach_metadata(content->metadata, content->attachments, content->attachment_count);
    if (!metadata)
        return fgi_no_memory(err);
    const fgi_tensors model = {content->model, content->model_count, metadata};
    const fg_status status = write_tensors(path, &model, file, err);
    fgi_free(metadata);
    return status;
}

/* Writes one of the files: `name` in `folder`, with its entry in the manifest. */
static fg_status write_part(const char *folder, const char *name, const char *text,
                            const fg_ckpt_content *content, fgi_manifest *manifest, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    fgi_manifest_file *file = &manifest->files[manifest->file_count++];
    FGI_TRY(fgi_path_put(folder, name, path, err));
    (void)snprintf(file->name, sizeof(file->name), "%s", name);
    if (strcmp(name, FGI_CKPT_MODEL_FILE) == 0)
        return write_model(path, content, file, err);
    if (strcmp(name, FGI_CKPT_STATE_FILE) == 0)
        return write_tensors(path, &(fgi_tensors){content->state, content->state_count, NULL}, file,
                             err);
    return write_text(path, text, file, err);
}

static fg_status write_manifest(const char *folder, const fgi_manifest *manifest, fg_error *err)
{
    fgi_manifest_file unused;
    char path[FGI_PATH_BYTES], *text = fgi_manifest_format(manifest);
    fg_status status = text != NULL ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK)
        status = fgi_path_put(folder, FGI_CKPT_MANIFEST_FILE, path, err);
    if (status == FG_OK)
        status = write_text(path, text, &unused, err);
    fgi_free(text);
    return status;
}

/* Writes the temporary folder; on FG_OK everything in it is durable. */
static fg_status write_folder(const char *folder, const fg_ckpt_content *content, int64_t sequence,
                              fg_error *err)
{
    fgi_manifest manifest = {.sequence = sequence,
                             .writer = content->process_index,
                             .processes = content->process_count > 0 ? content->process_count : 1};
    (void)snprintf(manifest.library_version, sizeof(manifest.library_version), "%s", fg_version());
    if (mkdir(folder, 0777) != 0)
        return fgi_fail_errno(err, "create the folder", folder);
    const char *json = content->state_json ? content->state_json : "{}";
    FGI_TRY(write_part(folder, FGI_CKPT_MODEL_FILE, NULL, content, &manifest, err));
    FGI_TRY(write_part(folder, FGI_CKPT_STATE_FILE, NULL, content, &manifest, err));
    FGI_TRY(write_part(folder, FGI_CKPT_JSON_FILE, json, content, &manifest, err));
    for (size_t i = 0; i < content->attachment_count; i++)
        FGI_TRY(write_part(folder, content->attachments[i].name, content->attachments[i].text,
                           content, &manifest, err));
    FGI_TRY(write_manifest(folder, &manifest, err));
    return fgi_folder_sync(folder, err);
}

/* For file systems that cannot exchange two folders: a crash between the two renames leaves the old
 * checkpoint as NAME.old.OWNER, which fgi_ckpt_resolve finds. */
static fg_status replace_in_two_steps(const char *temporary, const char *path, fg_error *err)
{
    char *aside = fgi_temporary_name(path, "old");
    if (!aside)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    if (rename(path, aside) != 0) {
        status = fgi_fail_errno(err, "move aside", path);
    } else if (rename(temporary, path) != 0) {
        status = fgi_fail_errno(err, "replace", path);
        (void)rename(aside, path);
    } else {
        fgi_ckpt_discard(aside);
    }
    fgi_free(aside);
    return status;
}

/* Renames the complete folder to its final name. */
static fg_status move_into_place(const char *temporary, const char *path, fg_error *err)
{
    if (!fgi_file_exists(path))
        return rename(temporary, path) == 0 ? FG_OK : fgi_fail_errno(err, "create", path);
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
        return replace_in_two_steps(temporary, path, err);
    fgi_ckpt_discard(temporary); /* the old checkpoint, after the exchange */
    return FG_OK;
}

/* Replacing deletes the old folder, so it must be a checkpoint. */
static fg_status check_target(const char *path, fg_error *err)
{
    if (fgi_file_exists(path) && !fgi_exists_in(path, FGI_CKPT_MANIFEST_FILE))
        return fgi_fail(err, FG_EINVAL, "'%s' exists and is not a checkpoint: it is not replaced",
                        path);
    return FG_OK;
}

static fg_status check_content(const fg_ckpt_content *content, fg_error *err)
{
    if (!content)
        return fgi_fail(err, FG_EINVAL, "fg_ckpt_save: content is NULL");
    const int processes = content->process_count > 0 ? content->process_count : 1;
    if (content->process_count < 0 || content->process_index < 0 ||
        content->process_index >= processes)
        return fgi_fail(err, FG_EINVAL,
                        "fg_ckpt_save: process %d of %d: expected an index from 0 to the count - 1",
                        content->process_index, content->process_count);
    FGI_TRY(fgi_attach_check("fg_ckpt_save", content->attachments, content->attachment_count, err));
    const char *text = content->state_json ? content->state_json : "{}";
    json_t *root;
    const fg_status status = fgi_json_parse("state_json", 0, text, strlen(text), &root, err);
    const bool is_object = json_is_object(root);
    json_decref(root);
    if (status == FG_ENOMEM || is_object)
        return status;
    if (status == FG_OK)
        return fgi_fail(err, FG_EINVAL, "fg_ckpt_save: state_json is not a JSON object");
    if (err)
        err->status = FG_EINVAL;
    return fgi_context(err, FG_EINVAL, "fg_ckpt_save");
}

static fg_status save(const char *path, const char *parent, const char *temporary,
                      const fg_ckpt_content *content, fg_error *err)
{
    int64_t sequence;
    FGI_TRY(fgi_folder_make(parent, err));
    FGI_TRY(check_target(path, err));
    FGI_TRY(fgi_ckpt_sweep(parent, err));
    FGI_TRY(fgi_ckpt_newest_sequence(parent, &sequence, err));
    FGI_TRY(write_folder(temporary, content, sequence + 1, err));
    FGI_TRY(move_into_place(temporary, path, err));
    return fgi_folder_sync(parent, err);
}

fg_status fg_ckpt_save(const char *path, const fg_ckpt_content *content, fg_error *err)
{
    if (!path || !*path)
        return fgi_fail(err, FG_EINVAL, "fg_ckpt_save: path is NULL or empty");
    FGI_TRY_RESERVED(fg_ckpt_content, content, err);
    FGI_TRY(check_content(content, err));
    if (content->process_index != 0)
        return FG_OK;
    char *name = fgi_strdup(path), *temporary = NULL, *parent = NULL;
    fg_status status = name ? FG_OK : fgi_no_memory(err);
    for (size_t end = strlen(path); status == FG_OK && end > 1 && path[end - 1] == '/'; end--)
        name[end - 1] = '\0';
    if (status == FG_OK) {
        temporary = fgi_temporary_name(name, "tmp");
        parent = fgi_path_parent(name);
        status =
            temporary && parent ? save(name, parent, temporary, content, err) : fgi_no_memory(err);
        if (status != FG_OK && temporary)
            fgi_ckpt_discard(temporary);
    }
    fgi_free(parent);
    fgi_free(temporary);
    fgi_free(name);
    return status;
}
