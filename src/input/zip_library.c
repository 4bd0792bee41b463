/* zip_library.c - loads libzip. Archives of arrays (.npz) are rare, and libzip brings OpenSSL and
 * bzip2 into a process, so it is not linked: its header is needed to build, the library only to
 * open an archive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/zip_library.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/library.h"

static fgi_zip_library functions;
static bool is_loaded;

static void load(void)
{
    static const char *const names[] = {"libzip.so.4", "libzip.so.5", NULL};
    static const fgi_library_symbol symbols[] = {
        {"zip_error_init", &functions.error_init},
        {"zip_error_fini", &functions.error_fini},
        {"zip_error_strerror", &functions.error_text},
        {"zip_source_buffer_create", &functions.source},
        {"zip_source_free", &functions.source_free},
        {"zip_open_from_source", &functions.open},
        {"zip_discard", &functions.close},
        {"zip_get_num_entries", &functions.count},
        {"zip_get_name", &functions.name},
        {"zip_stat_index", &functions.stat},
        {"zip_fopen_index", &functions.open_file},
        {"zip_fread", &functions.read},
        {"zip_file_get_error", &functions.file_error},
        {"zip_fclose", &functions.close_file},
        {"zip_get_error", &functions.zip_error},
    };
    is_loaded = fgi_library_load(names, symbols, sizeof(symbols) / sizeof(symbols[0]));
}

const fgi_zip_library *fgi_zip_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
