/* safetensors.h - one tensor file: an 8-byte length, a JSON header, the tensors' bytes.
 * Source: "safetensors" format, https://github.com/huggingface/safetensors
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_SAFETENSORS_H
#define FGI_CKPT_SAFETENSORS_H

#include <fulgurite/ckpt.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"

/* The format's own limit, so that a damaged length cannot ask for the whole memory. */
#define FGI_SAFETENSORS_MAX_HEADER 100000000u

/* An open file. Zero-initialised it may be closed. Names and metadata live in the arena. */
typedef struct fgi_safetensors {
    fgi_mapping mapping;
    fgi_arena arena;
    fg_tensor_info *tensors; /* in the order of their bytes; in the arena */
    size_t count;
    fgi_map by_name;   /* name -> fg_tensor_info */
    fgi_map metadata;  /* key -> text in the arena */
    size_t data_start; /* offset of the first tensor byte in the file */
} fgi_safetensors;

/* Maps and checks a file. `part` is copied into each info. On failure *out is closed and zero. */
fg_status fgi_safetensors_open(const char *path, fg_ckpt_part part, fgi_safetensors *out,
                               fg_error *err);
/* The same for bytes in memory, which stay the caller's; `path` is for messages. */
fg_status fgi_safetensors_parse(const char *path, const void *data, size_t size, fg_ckpt_part part,
                                fgi_safetensors *out, fg_error *err);
void fgi_safetensors_close(fgi_safetensors *file);

/* Streams a file to an open descriptor and returns its length and checksum (XXH3-64). `path` is for
 * messages. metadata: as fg_safetensors_write. */
fg_status fgi_safetensors_stream(int fd, const char *path, const fg_ckpt_tensor *tensors,
                                 size_t count, const char *const *metadata, uint64_t *out_bytes,
                                 uint64_t *out_checksum, fg_error *err);

/* The format's name of a dtype ("F32"), and back; NULL and FG_DTYPE_NONE where there is none. */
const char *fgi_safetensors_dtype_name(fg_dtype dtype);
fg_dtype fgi_safetensors_dtype(const char *name);
/* The dtype's place in the format's order of storage: higher comes first in a file. */
int fgi_safetensors_dtype_rank(fg_dtype dtype);

#endif
