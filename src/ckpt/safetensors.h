/* safetensors.h - one tensor file: an 8-byte length, a JSON header, the tensors' data. Source:
 * "safetensors" format, https://github.com/huggingface/safetensors
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_SAFETENSORS_H
#define FGI_CKPT_SAFETENSORS_H

#include <fulgurite/ckpt.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "ckpt/manifest.h"

/* The limit of the format, so that a damaged length cannot exhaust memory. */
#define FGI_SAFETENSORS_MAX_HEADER 100000000u

/* An open file. If zero-initialized, it may be closed. The arena owns names and metadata. */
typedef struct fgi_safetensors {
    fgi_mapping mapping;
    fgi_arena arena;
    fg_tensor_info *tensors; /* in order of their data; in the arena */
    size_t count;
    fgi_map by_name;   /* name -> fg_tensor_info */
    fgi_map metadata;  /* key -> text, in the arena */
    size_t data_start; /* offset of the tensor data in the file */
} fgi_safetensors;

/* Maps and verifies a file. `part` is copied to each info. On failure *out is closed and zero. */
fg_status fgi_safetensors_open(const char *path, fg_ckpt_part part, fgi_safetensors *out,
                               fg_error *err);
/* The same for data in memory, which the caller owns; `path` is for messages. */
fg_status fgi_safetensors_parse(const char *path, const void *data, size_t size, fg_ckpt_part part,
                                fgi_safetensors *out, fg_error *err);
void fgi_safetensors_close(fgi_safetensors *file);

/* What a file has. metadata: as fg_safetensors_write. */
typedef struct fgi_tensors {
    const fg_ckpt_tensor *tensors;
    size_t count;
    const char *const *metadata;
} fgi_tensors;

/* Streams a file to an open descriptor and sets its length and checksum (XXH3-64) in *out. `path`
 * is for messages. */
fg_status fgi_safetensors_stream(int fd, const char *path, const fgi_tensors *content,
                                 fgi_manifest_file *out, fg_error *err);

#endif
