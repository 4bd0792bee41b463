/* profiler_api.h - the interface of PJRT's profiler extension (PJRT_Extension_Type_Profiler), which
 * the CPU plugin's wheel has no header for. The order and the types of the members are those of the
 * binary interface.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PJRT_PROFILER_API_H
#define FGI_PJRT_PROFILER_API_H

#include <pjrt_c_api.h>
#include <stddef.h>
#include <stdint.h>

/* The size that a plugin expects in struct_size: up to the end of the last member. */
#define FGI_PROFILER_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Both belong to the plugin. */
typedef struct fgi_plugin_profiler fgi_plugin_profiler;
typedef struct fgi_profiler_error fgi_profiler_error;

typedef struct fgi_profiler_error_free {
    size_t struct_size;
    void *priv;
    fgi_profiler_error *error;
} fgi_profiler_error_free;

typedef struct fgi_profiler_error_text {
    size_t struct_size;
    void *priv;
    const fgi_profiler_error *error;
    const char *message; /* out; lives as long as the error */
    size_t message_size; /* out */
} fgi_profiler_error_text;

typedef struct fgi_profiler_error_number {
    size_t struct_size;
    void *priv;
    const fgi_profiler_error *error;
    int code; /* out */
} fgi_profiler_error_number;

typedef struct fgi_profiler_create_args {
    size_t struct_size;
    const char *options; /* a serialized ProfileOptions */
    size_t options_size;
    fgi_plugin_profiler *profiler; /* out */
} fgi_profiler_create_args;

/* For start, stop and destroy. */
typedef struct fgi_profiler_args {
    size_t struct_size;
    fgi_plugin_profiler *profiler;
} fgi_profiler_args;

/* Called twice: without a buffer, which returns the size, and with one. */
typedef struct fgi_profiler_data_args {
    size_t struct_size;
    fgi_plugin_profiler *profiler;
    uint8_t *buffer;
    size_t buffer_size; /* out */
} fgi_profiler_data_args;

typedef struct fgi_profiler_api {
    size_t struct_size;
    void *priv;
    void (*error_destroy)(fgi_profiler_error_free *args);
    void (*error_message)(fgi_profiler_error_text *args);
    fgi_profiler_error *(*error_code)(fgi_profiler_error_number *args);
    fgi_profiler_error *(*create)(fgi_profiler_create_args *args);
    fgi_profiler_error *(*destroy)(fgi_profiler_args *args);
    fgi_profiler_error *(*start)(fgi_profiler_args *args);
    fgi_profiler_error *(*stop)(fgi_profiler_args *args);
    fgi_profiler_error *(*collect_data)(fgi_profiler_data_args *args);
} fgi_profiler_api;

/* In the plugin's list of extensions. */
typedef struct fgi_profiler_extension {
    PJRT_Extension_Base base;
    fgi_profiler_api *api; /* may be NULL */
} fgi_profiler_extension;

#endif
