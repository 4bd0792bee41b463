/* wrong_control.h - sets what the loaded wrongpjrt.so changes, from the program that loaded it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WRONG_CONTROL_H
#define WRONG_CONTROL_H

#include <dlfcn.h>
#include <stdint.h>

enum { WRONG_SCALE, WRONG_NEGATE, WRONG_SWAP, WRONG_ZEROS, WRONG_NAN, WRONG_KINDS };
enum { WRONG_NEVER = -2, WRONG_ALWAYS = -1 };

/* Read number `read` from now on, starting at 0, is changed in one of these ways. */
typedef void wrong_set_fn(int64_t read, int kind, uint64_t seed);
/* The number of reads since then. */
typedef int64_t wrong_reads_fn(void);

static inline void wrong_set(const char *plugin, int64_t read, int kind, uint64_t seed)
{
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    wrong_set_fn *set;
    *(void **)&set = dlsym(library, "wrong_set_change");
    set(read, kind, seed);
    (void)dlclose(library);
}

static inline int64_t wrong_reads(const char *plugin)
{
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    wrong_reads_fn *reads;
    *(void **)&reads = dlsym(library, "wrong_read_count");
    const int64_t count = reads();
    (void)dlclose(library);
    return count;
}

#endif
