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

/* Numbers of xla.PrimitiveType. */
enum { FGI_FFI_F32 = 11, FGI_FFI_BF16 = 16 };

typedef struct fgi_ffi_buffer {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    int dtype;  /* FGI_FFI_F32 */
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

/* What the program says about the call; sorted by name. */
typedef struct fgi_ffi_attributes {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    int64_t count;
    const int *types;
    const void *const *names;
    const void *const *value;
} fgi_ffi_attributes;

typedef struct fgi_ffi_scalar {
    int dtype;
    const void *value;
} fgi_ffi_scalar;

typedef struct fgi_ffi_span { /* a string */
    const char *data;
    size_t size;
} fgi_ffi_span;

typedef struct fgi_ffi_array {
    int dtype;
    size_t count;
    const void *data;
} fgi_ffi_array;

typedef struct fgi_ffi_error {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    const char *message;
    int code; /* of absl::StatusCode */
} fgi_ffi_error;

typedef struct fgi_ffi_error_message {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    void *error;
    const char *message;
} fgi_ffi_error_message;

typedef struct fgi_ffi_error_destroy {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    void *error;
} fgi_ffi_error_destroy;

typedef struct fgi_ffi_schedule {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    const void *context;
    void (*task)(void *data);
    void *data;
} fgi_ffi_schedule;

typedef struct fgi_ffi_thread_count {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    const void *context;
    int64_t *count;
} fgi_ffi_thread_count;

typedef struct fgi_ffi_api {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    struct {
        size_t struct_size;
        fgi_ffi_extension *extensions;
        int major, minor;
    } version;
    const void *internal;
    void *(*error_create)(fgi_ffi_error *args);
    void (*error_message)(fgi_ffi_error_message *args);
    void (*error_destroy)(fgi_ffi_error_destroy *args);
    void (*unused[8])(void);
    void *(*schedule)(fgi_ffi_schedule *args);
    void *(*thread_count)(fgi_ffi_thread_count *args);
} fgi_ffi_api;

typedef struct fgi_ffi_call {
    size_t struct_size;
    fgi_ffi_extension *extensions;
    const fgi_ffi_api *api;
    const void *context;
    int stage;
    fgi_ffi_buffers in, out;
    fgi_ffi_attributes attributes;
} fgi_ffi_call;

/* Whether the call only asks which version of the interface the handler uses; then answers it. */
bool fgi_ffi_is_question(const fgi_ffi_call *call);
int64_t fgi_ffi_count(const fgi_ffi_buffer *buffer);
/* The last attribute, array<i64>. */
const int64_t *fgi_ffi_numbers(const fgi_ffi_call *call);
/* The call's error. If there are two attributes, the first one is the number of the call. */
void *fgi_ffi_fail(const fgi_ffi_call *call, const char *message);

#endif
