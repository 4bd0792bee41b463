/* alloc.h - the library's only interface to the heap: it counts allocations and can make one fail.
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
char *fgi_strndup(const char *text, size_t size); /* at most the first bytes */
void fgi_free(void *block);

/* The same for libraries that call back: *has_failed (may be NULL) becomes true when out of memory,
 * which protobuf-c does not distinguish from invalid data. */
void *fgi_alloc_for(void *has_failed, size_t size);
void fgi_free_for(void *has_failed, void *block);

/* Memory aligned to 64 bytes, which PJRT can use without a copy. Free it with fgi_free_aligned. */
void *fgi_alloc_aligned(size_t size);
void fgi_free_aligned(void *block);

/* Returns the memory of the pages inside a block to the operating system, without freeing the
 * block: its content becomes undefined. For large blocks that are rarely used. NULL is allowed. */
void fgi_pages_drop(void *block, size_t size);

/* Makes room for one more element in a growing array; doubles the capacity when it is full. Returns
 * the array, which may have moved, or NULL when out of memory; the old array is then still valid.
 */
void *fgi_grow(void *array, size_t count, size_t *capacity, size_t element_size);

/* For tests: the next `n` allocations of this process succeed and the one after them fails, once. A
 * negative n disables this. */
void fgi_alloc_fail_after(long n);
/* True if that failure has occurred. */
bool fgi_alloc_has_failed(void);
/* Counts one allocation and returns whether it is the one that must fail: for resources that are
 * not allocated by this file (threads, other libraries) but should be able to fail like an
 * allocation. */
bool fgi_alloc_fault(void);
/* Number of blocks that are allocated and not yet freed. */
long fgi_alloc_live(void);

#endif
