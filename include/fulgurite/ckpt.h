/* ckpt.h - checkpoints: folders with the complete training state; and .safetensors files with
 * tensors only, single ones and folders of published weights.
 *
 * A checkpoint folder has four files: model.safetensors (parameters and buffers, under their
 * PyTorch and torchvision names), state.safetensors (other device state: optimizer moments,
 * averages, counters), state.json (everything else) and manifest.json (version, sizes, checksums).
 * It also has one file per attachment. A checkpoint appears under its name only when it is
 * complete.
 *
 * A folder of published weights, as transformers and timm write it, has model.safetensors, or the
 * shards that model.safetensors.index.json lists. All of its tensors are FG_CKPT_MODEL.
 *
 * Source: "safetensors" format, https://github.com/huggingface/safetensors
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

/* An open checkpoint; its files are memory-mapped. Thread-safe: it is immutable once opened. */
typedef struct fg_ckpt fg_ckpt;

/* The file of a checkpoint folder that contains a tensor; all tensors of a single file are
 * FG_CKPT_MODEL. */
typedef enum fg_ckpt_part {
    FG_CKPT_MODEL = 0, /* model.safetensors, or the single file */
    FG_CKPT_STATE = 1  /* state.safetensors */
} fg_ckpt_part;

/* One tensor of a checkpoint. Strings live as long as the checkpoint. */
typedef struct fg_tensor_info {
    const char *name;
    fg_type type;
    fg_ckpt_part part;
    uint64_t offset_bytes; /* offset of the first byte in the file */
    size_t size_bytes;
    const char *stored; /* "F8_E4M3[64,64]", as the file has it, of a tensor whose dtype or rank
                           fg_type cannot represent; NULL: others. Its type has the dtype
                           FG_DTYPE_NONE, and its shape, flattened if it has more than FG_MAX_RANK
                           dimensions. */
} fg_tensor_info;

typedef struct fg_ckpt_options {
    bool no_checksums; /* skip verifying checksums; sizes and structure are still checked [false] */
    uint64_t reserved[3];
} fg_ckpt_options;

/* Opens a checkpoint folder, a folder of published weights or a .safetensors file, and verifies all
 * of it: the manifest, sizes and checksums of a checkpoint folder; the index of shards, whose
 * tensors must each be in one of them; the header of each tensor file (lengths, names, dtypes, and
 * offsets without gaps or overlaps). options may be NULL. Errors: FG_EINVAL, FG_ENOTFOUND, FG_EIO,
 * FG_ENOMEM, FG_EFORMAT (the message has the file, the byte offset, what was expected and what was
 * found), FG_EUNSUPPORTED (a newer format version; weights as a pickle only). */
FG_API FG_MUST_USE fg_status fg_ckpt_open(const char *path, const fg_ckpt_options *options,
                                          fg_ckpt **out, fg_error *err);

/* Whether a folder, other than a checkpoint has the weights of a published model, if only as a
 * pickle, which fg_ckpt_open refuses. Thread-safe. */
FG_API bool fg_ckpt_is_published(const char *folder);

/* Opens a checkpoint of a run. `which` is "last" (if that one is damaged, the newest intact
 * checkpoint), "best", the name of a folder in RUN_DIR/checkpoints, or a path. run_dir may be NULL
 * if `which` is a path. Errors: those of fg_ckpt_open; FG_ENOTFOUND if the checkpoint does not
 * exist. */
FG_API FG_MUST_USE fg_status fg_ckpt_open_run(const char *run_dir, const char *which,
                                              const fg_ckpt_options *options, fg_ckpt **out,
                                              fg_error *err);

/* The path that was opened: a folder or a file. Borrowed for the checkpoint's lifetime. */
FG_API const char *fg_ckpt_path(const fg_ckpt *ckpt);

/* Unmaps the files. NULL is allowed. */
FG_API void fg_ckpt_close(fg_ckpt *ckpt);

/* Number of tensors in both parts together. */
FG_API size_t fg_ckpt_count(const fg_ckpt *ckpt);

/* Tensor `index`, in file order (model first); NULL if index is out of range. Borrowed for the
 * checkpoint's lifetime. */
FG_API const fg_tensor_info *fg_ckpt_info(const fg_ckpt *ckpt, size_t index);

/* The data of tensor `index` in the mapping: info->size_bytes bytes, little-endian, row-major; not
 * necessarily aligned (files from other writers). NULL if index is out of range. Borrowed, as
 * above. */
FG_API const void *fg_ckpt_data(const fg_ckpt *ckpt, size_t index);

/* Finds a tensor by name in one part: returns true and its index in *out_index, or false. */
FG_API bool fg_ckpt_find(const fg_ckpt *ckpt, fg_ckpt_part part, const char *name,
                         size_t *out_index);

/* The content of state.json, NUL-terminated; NULL for a single file. Borrowed, as above. */
FG_API const char *fg_ckpt_state_json(const fg_ckpt *ckpt);

/* An entry of the model file's __metadata__, or NULL. Borrowed, as above. */
FG_API const char *fg_ckpt_metadata(const fg_ckpt *ckpt, const char *key);

/* The content of an attachment by its name ("config.yaml"), NUL-terminated; NULL if it does not
 * exist. A single file keeps the attachments of the checkpoint that it was copied from. Borrowed,
 * as above. */
FG_API const char *fg_ckpt_attachment(const fg_ckpt *ckpt, const char *name);

/* ---- writing --------------------------------------------------------------------------------- */

/* A tensor to write: fg_type_bytes(&type) bytes, little-endian, row-major. */
typedef struct fg_ckpt_tensor {
    const char *name; /* UTF-8, not empty, not "__metadata__" */
    fg_type type;
    const void *data; /* may be NULL if the tensor has no elements */
} fg_ckpt_tensor;

/* Writes a .safetensors file atomically: `path` is either complete or unchanged. Tensors are
 * ordered by dtype (widest first) and then by name, as in the safetensors library, so equal tensors
 * give identical files. `metadata` is NULL or key, value, key, value ..., NULL. Errors: FG_EINVAL
 * (a name is duplicate, empty or not UTF-8), FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_safetensors_write(const char *path, const fg_ckpt_tensor *tensors,
                                                  size_t count, const char *const *metadata,
                                                  fg_error *err);

/* A text stored with a checkpoint under a name that you choose: how to build the model, what its
 * inputs mean. It is stored as a file in the folder and as the entry "fulgurite.NAME" in the model
 * file's __metadata__, so that a copy of model.safetensors alone contains it too. */
typedef struct fg_attachment {
    const char *name; /* file name: ASCII letters, digits, '.', '_' and '-', not starting with '.',
                         at most 63 bytes; not one of the four names listed at the top */
    const char *text; /* UTF-8, at most 64 MiB */
} fg_attachment;

/* Content of a checkpoint folder. */
typedef struct fg_ckpt_content {
    const fg_ckpt_tensor *model;
    size_t model_count;
    const fg_ckpt_tensor *state;
    size_t state_count;
    const char *state_json; /* a JSON object; NULL: {} */
    int process_index; /* rank of this process among process_count that have the same state: rank 0
                          writes; for the others a save does nothing                          [0] */
    int process_count; /* number of processes                                             [1] */
    const fg_attachment *attachments; /* at most 12                                     [none] */
    size_t attachment_count;
    const char *const *metadata; /* for the model file, as in fg_safetensors_write      [none] */
    uint64_t reserved[4];        /* must be 0 */
} fg_ckpt_content;

/* Writes the checkpoint folder `path` and creates missing parent folders. The files are written to
 * a temporary folder `path`.tmp.OWNER/ and synced to disk before that folder is renamed; an
 * existing checkpoint with that name is replaced. Temporary folders next to `path` that dead
 * processes left behind are removed: those of this machine immediately, those of other machines and
 * containers after one hour without writes. Save only one checkpoint at a time to the same parent
 * folder. With several processes, each may call it; manifest.json records how many there were and
 * which one wrote. Errors: FG_EINVAL, FG_EIO, FG_ENOMEM; the existing checkpoint is then unchanged.
 */
FG_API FG_MUST_USE fg_status fg_ckpt_save(const char *path, const fg_ckpt_content *content,
                                          fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
