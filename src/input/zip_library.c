/* zip_library.c - loads libzip. Archives of arrays (.npz) are rare, and libzip brings OpenSSL and
 * bzip2 into a process, so it is not linked: its header is needed to build, the library only to
 * open an archive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/zip_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static fgi_zip_library functions;
static bool is_loaded;

static void load(void)
{
    const struct {
        const char *name;
        void *out;
    } symbols[] = {
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
    void *library = dlopen("libzip.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        library = dlopen("libzip.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return;
    is_loaded = true;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy(symbols[i].out, &symbol, sizeof symbol);
        is_loaded = is_loaded && symbol != NULL;
    }
}

const fgi_zip_library *fgi_zip_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
