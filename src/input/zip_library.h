/* zip_library.h - libzip, loaded when the first archive is opened.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_INPUT_ZIP_LIBRARY_H
#define FGI_INPUT_ZIP_LIBRARY_H

#include <zip.h>

/* The functions that are used; see zip.h. */
typedef struct fgi_zip_library {
    void (*error_init)(zip_error_t *error);
    void (*error_fini)(zip_error_t *error);
    const char *(*error_text)(zip_error_t *error);
    zip_source_t *(*source)(const void *data, zip_uint64_t size, int is_owned, zip_error_t *error);
    void (*source_free)(zip_source_t *source);
    zip_t *(*open)(zip_source_t *source, int flags, zip_error_t *error);
    void (*close)(zip_t *zip);
    zip_int64_t (*count)(zip_t *zip, zip_flags_t flags);
    const char *(*name)(zip_t *zip, zip_uint64_t index, zip_flags_t flags);
    int (*stat)(zip_t *zip, zip_uint64_t index, zip_flags_t flags, zip_stat_t *out);
    zip_file_t *(*open_file)(zip_t *zip, zip_uint64_t index, zip_flags_t flags);
    zip_int64_t (*read)(zip_file_t *file, void *out, zip_uint64_t size);
    zip_error_t *(*file_error)(zip_file_t *file);
    int (*close_file)(zip_file_t *file);
    zip_error_t *(*zip_error)(zip_t *zip);
} fgi_zip_library;

/* The functions, or NULL if the library is not installed. Thread-safe. */
const fgi_zip_library *fgi_zip_library_load(void);

#endif
