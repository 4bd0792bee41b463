/* ckpt.h - checkpoints: folders that hold the whole state of a training, and single .safetensors
 * files, which hold tensors only.
 *
 * A checkpoint folder has four files: model.safetensors (parameters and buffers, under the names
 * that PyTorch and torchvision give them), state.safetensors (what else lives on the device:
 * moments of the optimizer, averages, counters), state.json (everything else) and manifest.json
 * (version, sizes, checksums), and one file for each attachment. It appears under its name only
 * when it is complete. Source: "safetensors" format, https://github.com/huggingface/safetensors
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_CKPT_H
#define FULGURITE_CKPT_H

#include <fulgurite/base.h>
#include <fulgurite/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading --------------------------------------------------------------------------------- */

/* An open checkpoint; its files are mapped into memory. Thread-safe: nothing changes after open. */
typedef struct fg_ckpt fg_ckpt;

/* Which file of a checkpoint folder a tensor stands in; a single file is all model. */
typedef enum fg_ckpt_part {
    FG_CKPT_MODEL = 0, /* model.safetensors, or the single file */
    FG_CKPT_STATE = 1  /* state.safetensors */
} fg_ckpt_part;

/* One tensor of a checkpoint. Strings live as long as the checkpoint. */
typedef struct fg_tensor_info {
    const char *name;
    fg_type type;
    fg_ckpt_part part;
    uint64_t offset_bytes; /* of its first byte in the file */
    size_t size_bytes;
} fg_tensor_info;

typedef struct fg_ckpt_options {
    bool no_checksums; /* trust the files' content; sizes and structure are still checked [false] */
    uint64_t reserved[3];
} fg_ckpt_options;

/* Opens a checkpoint folder or a .safetensors file and checks it wholly: manifest, sizes and
 * checksums of a folder; the header of each tensor file (lengths, names, number formats, offsets
 * without holes and overlaps). Errors: FG_ENOTFOUND, FG_EIO, FG_ENOMEM, FG_EFORMAT (names the file,
 * the byte, what was expected and what was found), FG_EUNSUPPORTED (a newer format, or a number
 * format or rank that fg_type cannot hold). */
FG_API FG_MUST_USE fg_status fg_ckpt_open(const char *path, fg_ckpt **out, fg_error *err);

/* fg_ckpt_open with options, which may be NULL. */
FG_API FG_MUST_USE fg_status fg_ckpt_open_with(const char *path, const fg_ckpt_options *options,
                                               fg_ckpt **out, fg_error *err);

/* Opens a checkpoint of a run: `which` is "last" (the newest whole one when that is damaged),
 * "best", the name of a folder in RUN_DIR/checkpoints, or a path. run_dir may be NULL where `which`
 * is a path. Errors: those of fg_ckpt_open_with; FG_ENOTFOUND where there is no such checkpoint. */
FG_API FG_MUST_USE fg_status fg_ckpt_open_run(const char *run_dir, const char *which,
                                              const fg_ckpt_options *options, fg_ckpt **out,
                                              fg_error *err);

/* The path that was opened: a folder or a file. Borrowed, lives as long as the checkpoint. */
FG_API const char *fg_ckpt_path(const fg_ckpt *ckpt);

/* Unmaps the files. NULL is allowed. */
FG_API void fg_ckpt_close(fg_ckpt *ckpt);

/* Number of tensors, both parts together. */
FG_API size_t fg_ckpt_count(const fg_ckpt *ckpt);

/* The tensor of that number, in the order of the files (model first); NULL past the end. Borrowed,
 * lives as long as the checkpoint. */
FG_API const fg_tensor_info *fg_ckpt_info(const fg_ckpt *ckpt, size_t index);

/* The tensor's bytes in the mapping: little endian, row-major, info->size_bytes of them, perhaps
 * not aligned (files from elsewhere). NULL past the end. Borrowed, as above. */
FG_API const void *fg_ckpt_data(const fg_ckpt *ckpt, size_t index);

/* Looks for a name in one part: true and its number in *out_index, or false. */
FG_API bool fg_ckpt_find(const fg_ckpt *ckpt, fg_ckpt_part part, const char *name,
                         size_t *out_index);

/* The text of state.json, NUL-terminated; NULL for a single file. Borrowed, as above. */
FG_API const char *fg_ckpt_state_json(const fg_ckpt *ckpt);

/* An entry of the model file's __metadata__, or NULL. Borrowed, as above. */
FG_API const char *fg_ckpt_metadata(const fg_ckpt *ckpt, const char *key);

/* The text of an attachment by its name ("config.yaml"), NUL-terminated; NULL when there is none.
 * A single file has the attachments of the checkpoint that it was part of. Borrowed, as above. */
FG_API const char *fg_ckpt_attachment(const fg_ckpt *ckpt, const char *name);

/* ---- writing --------------------------------------------------------------------------------- */

/* A tensor to be written: fg_type_bytes(&type) bytes, little endian, row-major. */
typedef struct fg_ckpt_tensor {
    const char *name; /* UTF-8, not empty, not "__metadata__" */
    fg_type type;
    const void *data; /* may be NULL when the tensor has no elements */
} fg_ckpt_tensor;

/* Writes a .safetensors file, atomically: `path` is whole or what it was before. Tensors are laid
 * out by number format (widest first) and then by name, as the format's own library does, so equal
 * tensors give equal files. `metadata` is NULL or key, value, key, value ..., NULL.
 * Errors: FG_EINVAL (a name twice, empty or not UTF-8), FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_safetensors_write(const char *path, const fg_ckpt_tensor *tensors,
                                                  size_t count, const char *const *metadata,
                                                  fg_error *err);

/* A text that a checkpoint carries under a name of your own: how to build the model, what its
 * inputs mean. It becomes a file of the folder, and an entry "fulgurite.NAME" of the model file's
 * __metadata__, so that a copy of model.safetensors alone has it too. */
typedef struct fg_attachment {
    const char *name; /* of the file: ASCII letters, digits, '.', '_' and '-', not '.' first, at
                         most 63 bytes; not one of the library's own four names */
    const char *text; /* UTF-8, at most 64 MiB */
} fg_attachment;

/* What goes into a checkpoint folder. */
typedef struct fg_ckpt_content {
    const fg_ckpt_tensor *model;
    size_t model_count;
    const fg_ckpt_tensor *state;
    size_t state_count;
    const char *state_json; /* a JSON object; NULL: {} */
    int process_index;      /* of process_count that hold the same state: the first one writes, for
                               the others a save has nothing to do                              [0] */
    int process_count; /*                                                                  [1] */
    const fg_attachment *attachments; /* at most 12                                     [none] */
    size_t attachment_count;
    const char *const *metadata; /* of the model file, as in fg_safetensors_write       [none] */
    uint64_t reserved[4];        /* must be 0 */
} fg_ckpt_content;

/* Writes the checkpoint folder `path`, and its parents where they are missing. The files are
 * written into a temporary folder `path`.tmp.OWNER/ and reach the disk before that folder is
 * renamed; an older checkpoint of that name is replaced. Temporary folders that dead processes left
 * beside `path` are removed: of this machine at once, of other machines and containers when nothing
 * has been written there for an hour. One save at a time for folders of one parent. With several
 * processes each may call it; manifest.json tells how many there were and which one wrote. Errors:
 * FG_EINVAL, FG_EIO, FG_ENOMEM; the older checkpoint is then untouched. */
FG_API FG_MUST_USE fg_status fg_ckpt_save(const char *path, const fg_ckpt_content *content,
                                          fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
