/* alloc.h - the library's only way to the heap: counted, and able to fail on demand.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_ALLOC_H
#define FGI_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* NULL when out of memory. fgi_calloc checks count * size for overflow and clears. */
void *fgi_alloc(size_t size);
void *fgi_calloc(size_t count, size_t size);
void *fgi_realloc(void *block, size_t size);
char *fgi_strdup(const char *text);
void fgi_free(void *block);

/* Memory whose address is a multiple of 64 bytes, which PJRT can use without a copy. Free with
 * fgi_free_aligned. */
void *fgi_alloc_aligned(size_t size);
void fgi_free_aligned(void *block);

/* Makes room for one more element in a growing array: doubles capacity when full. Returns the
 * array (moved or not), or NULL when out of memory, the old array then being still valid. */
void *fgi_grow(void *array, size_t count, size_t *capacity, size_t element_size);

/* For tests: let the next `n` allocations of this process succeed and the one after fail, once;
 * a negative n turns the fault off. */
void fgi_alloc_fail_after(long n);
/* True when that failure has happened. */
bool fgi_alloc_has_failed(void);
/* Counts one allocation and says whether it is the one to fail: for resources that are got from
 * elsewhere than this file (threads, other libraries) and shall fail like an allocation. */
bool fgi_alloc_fault(void);
/* Blocks allocated and not yet freed. */
long fgi_alloc_live(void);

#endif
