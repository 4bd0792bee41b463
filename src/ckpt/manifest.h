/* manifest.h - the manifest.json of a checkpoint folder: its files, their sizes and checksums.
 *
 *   {"format": "fulgurite-checkpoint", "format_version": 1, "library_version": "0.1.0",
 *    "sequence": 7, "files": [{"name": "model.safetensors", "bytes": 1234, "xxh3_64": "0f.."}]}
 *
 * Files after the first three are attachments. If several processes trained together, it also
 * contains "processes": 4, "writer": 0: the rank that wrote all files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_MANIFEST_H
#define FGI_CKPT_MANIFEST_H

#include <fulgurite/base.h>

#define FGI_CKPT_FORMAT_VERSION 1
#define FGI_CKPT_MODEL_FILE     "model.safetensors"
#define FGI_CKPT_INDEX_FILE     "model.safetensors.index.json" /* of published weights, in shards */
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
    int64_t sequence; /* number of the checkpoint in its folder: the newest has the highest */
    int64_t writer, processes; /* rank of the process that wrote, and number of processes; [0, 1] */
    size_t file_count;
    fgi_manifest_file files[FGI_MANIFEST_MAX_FILES];
} fgi_manifest;

/* Parses a manifest. `path` is for messages. On FG_OK, the manifest lists the three files of a
 * checkpoint. */
fg_status fgi_manifest_parse(const char *path, const char *text, size_t size, fgi_manifest *out,
                             fg_error *err);
/* Reads manifest.json of a checkpoint folder. */
fg_status fgi_manifest_read(const char *folder, fgi_manifest *out, fg_error *err);
/* The manifest as text, a new string (fgi_free); NULL when out of memory. */
char *fgi_manifest_format(const fgi_manifest *manifest);
/* Whether a file name is valid: letters, digits, '.', '_' and '-', not starting with '.'. */
bool fgi_manifest_is_name(const char *name);
/* The entry with that name, or NULL. */
const fgi_manifest_file *fgi_manifest_find(const fgi_manifest *manifest, const char *name);

/* Compares a file of the folder with its entry: its size, and its checksum unless disabled. */
fg_status fgi_manifest_check_file(const char *folder, const fgi_manifest_file *file,
                                  bool with_checksum, fg_error *err);

#endif
