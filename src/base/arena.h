/* arena.h - memory that is freed all at once: for graphs, shapes and names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_ARENA_H
#define FGI_BASE_ARENA_H

#include <stddef.h>
#include <fulgurite/base.h>

typedef struct fgi_arena_block fgi_arena_block;

/* Zero-initialize it, or use fgi_arena_init. One thread at a time. */
typedef struct fgi_arena {
    fgi_arena_block *blocks; /* newest first */
    char *next, *end;
} fgi_arena;

void fgi_arena_init(fgi_arena *arena);
void fgi_arena_fini(fgi_arena *arena);
/* Empties the arena and keeps its largest block for reuse. */
void fgi_arena_reset(fgi_arena *arena);
/* Cleared memory, aligned to 16 bytes, or NULL when out of memory. */
void *fgi_arena_alloc(fgi_arena *arena, size_t size);
/* A copy of `size` bytes, or NULL when out of memory. */
void *fgi_arena_copy(fgi_arena *arena, const void *data, size_t size);
char *fgi_arena_strdup(fgi_arena *arena, const char *text);
char *fgi_arena_printf(fgi_arena *arena, const char *format, ...) FG_PRINTF(2, 3);

#endif
