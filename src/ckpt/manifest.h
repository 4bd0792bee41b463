/* manifest.h - what manifest.json of a checkpoint folder says: which files, how long, what sums.
 *
 *   {"format": "fulgurite-checkpoint", "format_version": 1, "library_version": "0.1.0",
 *    "sequence": 7, "files": [{"name": "model.safetensors", "bytes": 1234, "xxh3_64": "0f.."}]}
 *
 * Files beyond the first three are attachments. And, where several processes trained together,
 * "processes": 4, "writer": 0: that one wrote all.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_MANIFEST_H
#define FGI_CKPT_MANIFEST_H

#include <fulgurite/base.h>

#define FGI_CKPT_FORMAT_VERSION 1
#define FGI_CKPT_MODEL_FILE     "model.safetensors"
#define FGI_CKPT_STATE_FILE     "state.safetensors"
#define FGI_CKPT_JSON_FILE      "state.json"
#define FGI_CKPT_MANIFEST_FILE  "manifest.json"

enum {
    FGI_MANIFEST_MAX_FILES = 16,
    FGI_MANIFEST_MAX_BYTES = 64 << 10,
    FGI_MANIFEST_NAME_BYTES = 64
};

typedef struct fgi_manifest_file {
    char name[FGI_MANIFEST_NAME_BYTES];
    uint64_t bytes;
    uint64_t checksum; /* XXH3-64 */
} fgi_manifest_file;

/* Plain data: copy it by assignment. */
typedef struct fgi_manifest {
    char library_version[32];
    int64_t sequence;          /* counts the checkpoints of a folder: the newest has the highest */
    int64_t writer, processes; /* number of the process that wrote, and of how many; [0, 1] */
    size_t file_count;
    fgi_manifest_file files[FGI_MANIFEST_MAX_FILES];
} fgi_manifest;

/* `path` is for messages. The three files of a checkpoint are there when this gives FG_OK. */
fg_status fgi_manifest_parse(const char *path, const char *text, size_t size, fgi_manifest *out,
                             fg_error *err);
/* Reads manifest.json of a checkpoint folder. */
fg_status fgi_manifest_read(const char *folder, fgi_manifest *out, fg_error *err);
/* The text to be written, a fresh string (fgi_free); NULL when out of memory. */
char *fgi_manifest_format(const fgi_manifest *manifest);
/* Whether a file may have that name: letters, digits, '.', '_' and '-', no '.' at the start. */
bool fgi_manifest_is_name(const char *name);
/* The entry of that name, or NULL. */
const fgi_manifest_file *fgi_manifest_find(const fgi_manifest *manifest, const char *name);

/* Compares one file of the folder with its entry: length, and checksum unless told not to. */
fg_status fgi_manifest_check_file(const char *folder, const fgi_manifest_file *file,
                                  bool with_checksum, fg_error *err);

#endif
