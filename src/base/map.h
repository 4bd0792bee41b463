/* map.h - a hash table from 128-bit hashes to pointers (open addressing, linear probing). Keys are
 * hashes; equal keys are assumed to mean equal objects.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_MAP_H
#define FGI_BASE_MAP_H

#include "base/hash.h"

typedef struct fgi_map_slot {
    fgi_hash key;
    void *value; /* NULL: empty */
} fgi_map_slot;

/* Zero-initialize it. One thread at a time. */
typedef struct fgi_map {
    fgi_map_slot *slots;
    size_t count, capacity; /* capacity is 0 or a power of two */
} fgi_map;

void fgi_map_fini(fgi_map *map);
/* Empties the table and keeps its memory. */
void fgi_map_clear(fgi_map *map);
/* The value of a key, or NULL. */
void *fgi_map_get(const fgi_map *map, fgi_hash key);
/* Sets or replaces a value, which must not be NULL. Returns false when out of memory. */
bool fgi_map_put(fgi_map *map, fgi_hash key, void *value);

#endif
