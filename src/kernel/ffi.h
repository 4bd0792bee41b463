/* ffi.h - the part of XLA's binary interface for custom calls that the kernels use, version 0.1.
 * The wheel of the CPU plugin has no header for it: the order and the types of the members are
 * those of the binary interface. Source: XLA, xla/ffi/api/c_api.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_KERNEL_FFI_H
#define FGI_KERNEL_FFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fgi_ffi_extension {
    size_t struct_size;
    int type;
    struct fgi_ffi_extension *next;
} fgi_ffi_extension;

typedef struct fgi_ffi_buffer {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    int dtype;
    void *data; /* row-major */
    int64_t rank;
    const int64_t *dim;
} fgi_ffi_buffer;

typedef struct fgi_ffi_buffers {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    int64_t count;
    const int *types;
    const fgi_ffi_buffer *const *buffer;
} fgi_ffi_buffers;

typedef struct fgi_ffi_call {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    const void *api, *context;
    int stage;
    fgi_ffi_buffers in, out;
} fgi_ffi_call;

/* Whether the call only asks which version of the interface the handler uses; then answers it. */
bool fgi_ffi_is_question(const fgi_ffi_call *call);
int64_t fgi_ffi_count(const fgi_ffi_buffer *buffer);

#endif
