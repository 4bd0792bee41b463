/* library.h - shared libraries that are loaded when they are first needed. Their headers are needed
 * to build.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_LIBRARY_H
#define FGI_BASE_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Declares the functions that a file uses of a library, for example
 *
 *     #define FUNCTIONS(X) X(open, zip_open) X(close, zip_close)
 *     FGI_LIBRARY(libzip, FUNCTIONS, "libzip.so.4", "libzip.so.5")
 *
 * libzip_is_loaded() loads the first of the files that is installed; false if there is none or it
 * lacks one of the functions. After that, libzip.open() calls zip_open. It is thread-safe, and the
 * library stays loaded until the process ends. */
#define FGI_LIBRARY(name, functions, ...)                                                          \
    static struct {                                                                                \
        functions(FGI_LIBRARY_MEMBER)                                                              \
    } name;                                                                                        \
    static bool name##_is_loaded(void)                                                             \
    {                                                                                              \
        static const char *const files[] = {__VA_ARGS__, NULL};                                    \
        static const char *const symbols[] = {functions(FGI_LIBRARY_SYMBOL) NULL};                 \
        static atomic_int state;                                                                   \
        return fgi_library_load(files, symbols, &name, &state);                                    \
    }
#define FGI_LIBRARY_MEMBER(member, function) __typeof__(function) *(member);
#define FGI_LIBRARY_SYMBOL(member, function) #function,

/* Both lists end with NULL; `out` is a struct of as many function pointers. *state is 0 before the
 * first call. */
bool fgi_library_load(const char *const *files, const char *const *symbols, void *out,
                      atomic_int *state);

#endif
