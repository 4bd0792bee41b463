/* alloc.c - counts the blocks that the library holds, and makes one allocation fail on request of a
 * test. The counters are process-wide C11 atomics. The blocks are allocated by libc and owned by
 * the caller.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <fulgurite/base.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64, FIRST_CAPACITY = 8 };

static atomic_long live_blocks;
static atomic_long fault_countdown =
    -1; /* allocations until the one that fails; negative: disabled */
static atomic_bool fault_happened;

bool fgi_alloc_fault(void)
{
    long left = atomic_load_explicit(&fault_countdown, memory_order_relaxed);
    while (left >= 0) {
        /* at 0 the countdown becomes -1, so exactly one thread gets the failure */
        if (atomic_compare_exchange_weak(&fault_countdown, &left, left - 1)) {
            if (left == 0)
                atomic_store(&fault_happened, true);
            return left == 0;
        }
    }
    return false;
}

void fgi_alloc_fail_after(long n)
{
    atomic_store(&fault_happened, false);
    atomic_store(&fault_countdown, n < 0 ? -1 : n);
}

bool fgi_alloc_has_failed(void) { return atomic_load(&fault_happened); }

long fgi_alloc_live(void) { return atomic_load(&live_blocks); }

static void *counted(void *block)
{
    if (block != NULL)
        atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    return block;
}

/* malloc(0) may return NULL, which here means out of memory. */
static size_t at_least_one(size_t size) { return size == 0 ? 1 : size; }

void *fgi_alloc(size_t size)
{
    return fgi_alloc_fault() ? NULL : counted(malloc(at_least_one(size)));
}

void *fgi_alloc_for(void *has_failed, size_t size)
{
    void *block = fgi_alloc(size);
    if (block == NULL && has_failed != NULL)
        *(bool *)has_failed = true;
    return block;
}

void fgi_free_for(void *has_failed, void *block)
{
    (void)has_failed;
    fgi_free(block);
}

void *fgi_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || fgi_alloc_fault())
        return NULL;
    return counted(calloc(1, at_least_one(bytes)));
}

void *fgi_realloc(void *block, size_t size)
{
    if (block == NULL)
        return fgi_alloc(size);
    return fgi_alloc_fault() ? NULL : realloc(block, at_least_one(size));
}

char *fgi_strdup(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = fgi_alloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

char *fgi_strndup(const char *text, size_t size)
{
    const size_t length = strnlen(text, size);
    char *copy = fgi_calloc(length + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

void fgi_free(void *block)
{
    if (block == NULL)
        return;
    atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    free(block);
}

void fg_free(void *block) { fgi_free(block); }

void *fgi_alloc_aligned(size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT || fgi_alloc_fault())
        return NULL;
    const size_t rounded = (at_least_one(size) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return counted(aligned_alloc(ALIGNMENT, rounded));
}

void fgi_free_aligned(void *block) { fgi_free(block); }

void fgi_pages_drop(void *block, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), least = 1 << 20;
    const size_t before = (page - (uintptr_t)block % page) % page;
    if (block != NULL && size >= least)
        (void)madvise((char *)block + before, (size - before) / page * page, MADV_DONTNEED);
}

void *fgi_grow(void *array, size_t count, size_t *capacity, size_t element_size)
{
    if (count < *capacity)
        return array;
    size_t requested = FIRST_CAPACITY, bytes;
    if (*capacity != 0 && __builtin_mul_overflow(*capacity, (size_t)2, &requested))
        return NULL;
    if (__builtin_mul_overflow(requested, element_size, &bytes))
        return NULL;
    void *moved = fgi_realloc(array, bytes);
    if (moved != NULL)
        *capacity = requested;
    return moved;
}
