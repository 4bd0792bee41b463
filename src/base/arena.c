/* arena.c - a list of blocks, each twice as large as the previous one up to a limit, from which
 * memory is taken sequentially. The arena owns the blocks; memory taken from them is borrowed until
 * reset or fini.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <string.h>
#include "base/alloc.h"
#include "base/print.h"

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct fgi_arena_block {
    fgi_arena_block *older;
    size_t size; /* of `data` */
    _Alignas(ALIGNMENT) char data[];
};

void fgi_arena_init(fgi_arena *arena) { *arena = (fgi_arena){0}; }

static void free_blocks(fgi_arena_block *block)
{
    while (block != NULL) {
        fgi_arena_block *older = block->older;
        fgi_free(block);
        block = older;
    }
}

void fgi_arena_fini(fgi_arena *arena)
{
    free_blocks(arena->blocks);
    *arena = (fgi_arena){0};
}

void fgi_arena_reset(fgi_arena *arena)
{
    fgi_arena_block **largest = &arena->blocks;
    for (fgi_arena_block **at = &arena->blocks; *at != NULL; at = &(*at)->older)
        if ((*at)->size > (*largest)->size)
            largest = at;
    fgi_arena_block *kept = *largest;
    if (kept == NULL)
        return;
    *largest = kept->older;
    free_blocks(arena->blocks);
    kept->older = NULL;
    *arena = (fgi_arena){.blocks = kept, .next = kept->data, .end = kept->data + kept->size};
}

/* Adds a block with room for `size` bytes to the front of the list. */
static bool add_block(fgi_arena *arena, size_t size)
{
    size_t requested = FIRST_BLOCK;
    if (arena->blocks != NULL)
        requested =
            arena->blocks->size * 2 < LARGEST_BLOCK ? arena->blocks->size * 2 : LARGEST_BLOCK;
    if (requested < size)
        requested = size;
    if (requested > SIZE_MAX - sizeof(fgi_arena_block))
        return false;
    fgi_arena_block *block = fgi_alloc(sizeof(*block) + requested);
    if (block == NULL)
        return false;
    *block = (fgi_arena_block){.older = arena->blocks, .size = requested};
    *arena = (fgi_arena){.blocks = block, .next = block->data, .end = block->data + requested};
    return true;
}

/* `size` bytes of memory, not cleared. */
static void *cut(fgi_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (arena->next == NULL || rounded > (size_t)(arena->end - arena->next))
        if (!add_block(arena, rounded))
            return NULL;
    void *room = arena->next;
    arena->next += rounded;
    return room;
}

void *fgi_arena_alloc(fgi_arena *arena, size_t size)
{
    void *room = cut(arena, size);
    return room == NULL ? NULL : memset(room, 0, size);
}

void *fgi_arena_copy(fgi_arena *arena, const void *data, size_t size)
{
    void *room = cut(arena, size);
    if (room != NULL && size != 0)
        memcpy(room, data, size);
    return room;
}

char *fgi_arena_strdup(fgi_arena *arena, const char *text)
{
    return fgi_arena_copy(arena, text, strlen(text) + 1);
}

char *fgi_arena_printf(fgi_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = fgi_vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : cut(arena, (size_t)length + 1);
    if (text == NULL)
        return NULL;
    va_start(args, format);
    (void)fgi_vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
