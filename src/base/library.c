/* library.c - see library.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool fgi_library_load(const char *const *names, const fgi_library_symbol *symbols, size_t count)
{
    void *library = NULL;
    for (; library == NULL && *names != NULL; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return false;
    bool is_complete = true;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy(symbols[i].out, &symbol, sizeof(symbol));
        is_complete = is_complete && symbol != NULL;
    }
    return is_complete;
}
