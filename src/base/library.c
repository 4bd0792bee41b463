/* library.c - see library.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum { IS_LOADED = 1, IS_MISSING };

static int load(const char *const *files, const char *const *symbols, char *out)
{
    void *library = NULL;
    for (; library == NULL && *files != NULL; files++)
        library = dlopen(*files, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (; library != NULL && *symbols != NULL; symbols++, out += sizeof(void *)) {
        void *symbol = dlsym(library, *symbols);
        memcpy(out, &symbol, sizeof symbol);
        if (symbol == NULL)
            return IS_MISSING;
    }
    return library != NULL ? IS_LOADED : IS_MISSING;
}

bool fgi_library_load(const char *const *files, const char *const *symbols, void *out,
                      atomic_int *state)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load(state) == 0) {
        (void)pthread_mutex_lock(&mutex);
        if (atomic_load(state) == 0)
            atomic_store(state, load(files, symbols, out));
        (void)pthread_mutex_unlock(&mutex);
    }
    return atomic_load(state) == IS_LOADED;
}
