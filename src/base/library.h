/* library.h - shared libraries that are loaded when they are first needed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_LIBRARY_H
#define FGI_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A function of a library, and the variable that receives its address. */
typedef struct fgi_library_symbol {
    const char *name;
    void *out; /* a pointer to a function pointer */
} fgi_library_symbol;

/* Loads the first of the libraries that is installed, and looks up its symbols. It stays loaded
 * until the process ends. `names` ends with NULL. False if none is installed or a symbol is
 * missing.
 */
bool fgi_library_load(const char *const *names, const fgi_library_symbol *symbols, size_t count);

#endif
